"""Meshes that MJCF makes by formulas: sphere, hemisphere, cone, supersphere and supertorus."""

from __future__ import annotations

import math

import numpy as np

from simengine.builder.importers.mjcf.values import Values
from simengine.builder.mesh_data import convex_hull

FINEST = 500
"""Segments of a supersphere or supertorus."""


def builtin_mesh(values: Values) -> tuple[np.ndarray, np.ndarray] | None:
    """Vertices (n, 3) and triangles (m, 3) of a builtin mesh, None for a kind that is not made here.

    Raises:
        AssetError: its params are not those of its kind.
    """
    kind = values.text("builtin")
    if kind not in PARAMETERS:
        return None
    make, names = PARAMETERS[kind]
    given = values.numbers("params", len(names))
    for name, value in zip(names, given, strict=True):
        lowest, highest, whole = RANGES[name]
        if not lowest <= value <= highest or (whole and value != int(value)):
            what = "a whole number" if whole else "a number"
            raise values.alone("params").error(f"{name} is {value:g}: it must be {what} from {lowest:g} to {highest:g}")
    return make(*(int(value) if RANGES[name][2] else value for name, value in zip(names, given, strict=True)))


def _sphere(subdivision: int) -> tuple[np.ndarray, np.ndarray]:
    """An icosahedron whose edges are halved again and again, the middles put on the sphere."""
    golden = 0.5 * (1.0 + math.sqrt(5.0))
    corners = [(0.0, a, b) for a in (-1.0, 1.0) for b in (-golden, golden)]
    points = np.array([np.roll(corner, turn) for turn in range(3) for corner in corners])
    mesh = convex_hull(points / math.hypot(1.0, golden), "sphere")
    vertices, triangles = mesh.vertices, mesh.triangles
    for _ in range(subdivision):
        edges = np.sort(triangles[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1)
        unique, inverse = np.unique(edges, axis=0, return_inverse=True)
        middles = vertices[unique].mean(axis=1)
        between = len(vertices) + inverse.reshape(-1, 3)
        vertices = np.vstack([vertices, middles / np.linalg.norm(middles, axis=1, keepdims=True)])
        a, b, c = triangles.T
        ab, bc, ca = between.T
        triangles = np.concatenate([np.stack(t, axis=1) for t in ((a, ab, ca), (b, bc, ab), (c, ca, bc), (ab, bc, ca))])
    return vertices, triangles


def _hemisphere(resolution: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of a pyramid between the pole and a square on the equator, put on the sphere; solid."""
    pole, equator = np.array([0.0, 0.0, 1.0]), np.eye(3)[[0, 1, 0, 1]] * np.array([[1.0], [1.0], [-1.0], [-1.0]])
    points = [pole]
    for row in range(1, resolution + 2):
        down = row / (resolution + 1)
        ends = pole + down * (equator - pole)
        for side in range(4):
            points += [ends[side] + i / row * (ends[(side + 1) % 4] - ends[side]) for i in range(row)]
    points = np.array(points)
    mesh = convex_hull(points / np.linalg.norm(points, axis=1, keepdims=True), "hemisphere")
    return mesh.vertices, mesh.triangles


def _cone(corners: int, radius: float) -> tuple[np.ndarray, np.ndarray]:
    """A polygon at z = -1 and a smaller one, or a point, at z = 1."""
    angle = 2.0 * np.pi * np.arange(corners) / corners
    ring = np.stack([np.cos(angle), np.sin(angle), np.full(corners, -1.0)], axis=1)
    top = ring * (radius, radius, -1.0) if radius > 0.0 else np.array([[0.0, 0.0, 1.0]])
    mesh = convex_hull(np.vstack([ring, top]), "cone")
    return mesh.vertices, mesh.triangles


def _power(value: np.ndarray, exponent: float) -> np.ndarray:
    return np.sign(value) * np.abs(value) ** exponent


def _supersphere(segments: int, east: float, north: float) -> tuple[np.ndarray, np.ndarray]:
    """x, y, z = cos^n v cos^e u, cos^n v sin^e u, sin^n v, powers with the sign of their base."""
    u = -np.pi + 2.0 * np.pi * np.arange(segments) / segments
    v = -0.5 * np.pi + np.pi * np.arange(1, segments)[:, None] / segments
    flat = _power(np.cos(v), north)
    rings = np.stack(
        [flat * _power(np.cos(u), east), flat * _power(np.sin(u), east), _power(np.sin(v), north) + 0.0 * u], axis=2
    )
    vertices = np.vstack([[(0.0, 0.0, -1.0)], rings.reshape(-1, 3), [(0.0, 0.0, 1.0)]])
    around, following = np.arange(segments), (np.arange(segments) + 1) % segments
    last = 1 + (segments - 2) * segments
    bands = [_band(1 + i * segments + around, 1 + i * segments + following, segments) for i in range(segments - 2)]
    south = np.stack([0 * around, 1 + following, 1 + around], axis=1)
    north_cap = np.stack([last + around, last + following, 0 * around + len(vertices) - 1], axis=1)
    return vertices, np.concatenate([south, *bands, north_cap])


def _band(here: np.ndarray, beside: np.ndarray, step: int) -> np.ndarray:
    """Two triangles for each quadrangle between a ring and the next one."""
    first, second = (here, beside, here + step), (beside, beside + step, here + step)
    return np.concatenate([np.stack(first, axis=1), np.stack(second, axis=1)])


def _supertorus(segments: int, radius: float, minor: float, major: float) -> tuple[np.ndarray, np.ndarray]:
    """x, y, z = (1 + r cos^s v) cos^t u, (1 + r cos^s v) sin^t u, r sin^s v."""
    u = 2.0 * np.pi * np.arange(segments)[:, None] / segments
    v = 2.0 * np.pi * np.arange(segments) / segments
    away = 1.0 + radius * _power(np.cos(v), minor)
    points = np.stack(
        [away * _power(np.cos(u), major), away * _power(np.sin(u), major), radius * _power(np.sin(v), minor) + 0.0 * u],
        axis=2,
    )
    i, j = (index.reshape(-1) for index in np.meshgrid(range(segments), range(segments), indexing="ij"))
    next_i, next_j = (i + 1) % segments, (j + 1) % segments
    a, b, c, d = (p * segments + q for p, q in ((i, j), (next_i, j), (next_i, next_j), (i, next_j)))
    triangles = np.concatenate([np.stack([a, b, d], axis=1), np.stack([b, c, d], axis=1)])
    return points.reshape(-1, 3), triangles


PARAMETERS = {
    "sphere": (_sphere, ("subdivision",)),
    "hemisphere": (_hemisphere, ("resolution",)),
    "cone": (_cone, ("nvert", "radius of the top")),
    "supersphere": (_supersphere, ("segments", "e", "n")),
    "supertorus": (_supertorus, ("segments", "radius", "s", "t")),
}
RANGES = {
    "subdivision": (0, 4, True),
    "resolution": (0, 10, True),
    "nvert": (3, 10_000, True),
    "radius of the top": (0.0, 1.0, False),
    "segments": (3, FINEST, True),
    "radius": (1e-6, 1.0, False),
    "e": (0.0, 100.0, False),
    "n": (0.0, 100.0, False),
    "s": (1e-6, 100.0, False),
    "t": (1e-6, 100.0, False),
}
"""Lowest, highest, and whether it is a whole number."""
