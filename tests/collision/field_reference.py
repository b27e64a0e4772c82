"""The least value of a distance field on the surface of a body, by sampling: dense first, then closer about the lowest
samples. Surfaces are maps of the unit square, by polar angles and triangles folded from the square: others than those
of kernels_cuda/field_patch.h."""

from __future__ import annotations

import numpy as np


def _ball(center, axes, first=0.0, last=np.pi):
    """Between two angles from the z axis."""

    def surface(u, v):
        polar, turn = first + (last - first) * v, 2 * np.pi * u
        unit = np.stack([np.sin(polar) * np.cos(turn), np.sin(polar) * np.sin(turn), np.cos(polar)], axis=-1)
        return np.asarray(center) + np.asarray(axes) * unit

    return surface


def _turned(r0, z0, r1, z1):
    def surface(u, v):
        radius, turn = r0 + (r1 - r0) * v, 2 * np.pi * u
        return np.stack([radius * np.cos(turn), radius * np.sin(turn), z0 + (z1 - z0) * v], axis=-1)

    return surface


def _triangle(a, b, c):
    def surface(u, v):
        over = u + v > 1
        s, t = np.where(over, 1 - u, u)[..., None], np.where(over, 1 - v, v)[..., None]
        return a + s * (b - a) + t * (c - a)

    return surface


def _rectangle(middle, one, other):
    def surface(u, v):
        return (
            np.asarray(middle) + (2 * u - 1)[..., None] * np.asarray(one) + (2 * v - 1)[..., None] * np.asarray(other)
        )

    return surface


def surfaces(kind: str, size) -> list:
    """Maps from (u, v) in the unit square to points (..., 3); ``size`` as of the builder's shapes, of "triangles" the
    corners (n, 3, 3), of a "plane" the half size of the square that is looked at."""
    if kind == "sphere":
        return [_ball((0, 0, 0), (size[0],) * 3)]
    if kind == "ellipsoid":
        return [_ball((0, 0, 0), size)]
    if kind == "plane":
        return [_rectangle((0, 0, 0), (size[0], 0, 0), (0, size[0], 0))]
    if kind == "triangles":
        return [_triangle(*corners) for corners in size]
    if kind == "box":
        x, y, z = np.diag(size)
        pairs = ((x, y, z), (y, z, x), (z, x, y))
        return [_rectangle(side * middle, one, other) for middle, one, other in pairs for side in (-1, 1)]
    r, h = size
    if kind == "capsule":
        caps = _ball((0, 0, h), (r, r, r), last=np.pi / 2), _ball((0, 0, -h), (r, r, r), first=np.pi / 2)
        return [*caps, _turned(r, -h, r, h)]
    if kind == "cylinder":
        return [_turned(r, -h, r, h), _turned(0, h, r, h), _turned(0, -h, r, -h)]
    return [_turned(0, h, r, -h), _turned(0, -h, r, -h)]


def least_value(sdf, kind: str, size, rotation, position, grid=40, starts=12, rounds=26) -> float:
    """Least value of ``sdf`` on a body turned by ``rotation`` (3, 3) and moved to ``position``."""

    def value(surface, u, v):
        points = surface(u, v) @ np.asarray(rotation).T + position
        return np.asarray(sdf.sample(points.reshape(-1, 3)), float).reshape(u.shape)

    best = np.inf
    along = np.linspace(0, 1, grid)
    all_u, all_v = (axis.ravel() for axis in np.meshgrid(along, along))
    step = np.linspace(-1, 1, 7)
    around_u, around_v = (axis.ravel() for axis in np.meshgrid(step, step))
    for surface in surfaces(kind, size):
        found = value(surface, all_u, all_v)
        lowest = np.argsort(found)[:starts]
        u, v, reach = all_u[lowest], all_v[lowest], 1 / grid
        for _ in range(rounds):
            near_u = np.clip(u[:, None] + reach * around_u, 0, 1)
            near_v = np.clip(v[:, None] + reach * around_v, 0, 1)
            found = value(surface, near_u, near_v)
            row, column = np.arange(len(u)), found.argmin(axis=1)
            u, v, reach = near_u[row, column], near_v[row, column], 0.6 * reach
        best = min(best, found.min())
    return best


def least_values(sdf, kind: str, size, rotations, positions, grid=24, starts=16, rounds=26) -> np.ndarray:
    """``least_value`` of many bodies at once: the lowest samples of all surfaces together are looked closer about."""
    maps = surfaces(kind, size)
    along = (np.arange(grid) + 0.5) / grid
    along = np.concatenate([[0], along, [1]])
    all_u, all_v = (axis.ravel() for axis in np.meshgrid(along, along))
    step = np.linspace(-1, 1, 7)
    around_u, around_v = (axis.ravel() for axis in np.meshgrid(step, step))
    coarse = np.concatenate([surface(all_u, all_v) for surface in maps])
    which, all_u, all_v = (
        np.repeat(np.arange(len(maps)), len(all_u)),
        np.tile(all_u, len(maps)),
        np.tile(all_v, len(maps)),
    )
    found = np.empty(len(positions))
    chunk = max(1, 2_000_000 // len(coarse))
    for first in range(0, len(positions), chunk):
        turn, place = rotations[first : first + chunk], positions[first : first + chunk]

        def value(points, turn=turn, place=place):
            moved = np.einsum("nij,nkj->nki", turn, points) + place[:, None]
            return np.asarray(sdf.sample(moved.reshape(-1, 3)), float).reshape(moved.shape[:2])

        lowest = np.argpartition(value(np.broadcast_to(coarse, (len(turn), *coarse.shape))), starts, axis=1)[:, :starts]
        surface, u, v, reach = which[lowest], all_u[lowest], all_v[lowest], 1.5 / grid
        for _ in range(rounds):
            near_u = np.clip(u[..., None] + reach * around_u, 0, 1)
            near_v = np.clip(v[..., None] + reach * around_v, 0, 1)
            points = np.empty((*near_u.shape, 3))
            for number in np.unique(surface):
                own = surface == number
                points[own] = maps[number](near_u[own], near_v[own])
            found_here = value(points.reshape(len(turn), -1, 3)).reshape(near_u.shape)
            best = found_here.argmin(axis=2)[..., None]
            u, v = (np.take_along_axis(axis, best, axis=2)[..., 0] for axis in (near_u, near_v))
            reach *= 0.6
        found[first : first + chunk] = found_here.min(axis=(1, 2))
    return found
