"""Bounds of the signed distance of two convex shapes that no program under test has a say in.

From below: the gap along any direction (collision_pairs.py). From above, for shapes apart: the distance of a point of
one to a point of the other. From above, for shapes that overlap: the Minkowski difference D = A - B holds the hull P of
any of its points, so the least translation that parts the shapes, min over n of h_D(n), is at least the distance of the
origin to the nearest facet of P. P is refined (scipy's Qhull) where facets are near, until both bounds meet.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls
from scipy.spatial import ConvexHull

from simengine.enums import ShapeType
from tests.collision.collision_pairs import unit, unturn
from tests.collision.convex_pairs import Shapes, bounding_radius, gaps, random_pairs

ROUNDS = 60
CLOSED = 1e-9  # m: bounds nearer than this have met


@dataclass
class Errors:
    """What was measured on n pairs, in m, at most: ``distance`` from the truth, ``normal``: the gap along it is that
    much below the distance, ``witness``: points outside their shapes, behind the planes square to the normal that
    support these, or off the line along the normal. Where faces are parallel any opposite points have none of this."""

    distance: np.ndarray
    normal: np.ndarray
    witness: np.ndarray


def spread_directions(n: int) -> np.ndarray:
    """n directions, evenly over the sphere (a Fibonacci lattice)."""
    k = np.arange(n) + 0.5
    z, turn = 1 - 2 * k / n, np.pi * (1 + 5**0.5) * k
    return np.column_stack([np.sqrt(1 - z * z) * np.cos(turn), np.sqrt(1 - z * z) * np.sin(turn), z])


SPREAD = spread_directions(60)
RINGS = np.array([0.1, 0.01, 1e-3, 1e-4, 1e-5])


def around(normal: np.ndarray) -> np.ndarray:
    """Directions (n, 41, 3): ``normal`` (n, 3) and rings a little off it."""
    across = unit(np.cross(normal, np.eye(3)[np.abs(normal).argmin(1)]))
    frame = np.stack([across, np.cross(normal, across)], 1)
    angle = np.arange(8) * np.pi / 4
    ring = (RINGS[:, None, None] * np.column_stack([np.cos(angle), np.sin(angle)])).reshape(-1, 2)
    return unit(normal[:, None] + np.concatenate([np.zeros((len(normal), 1, 3)), ring @ frame], 1))


def least_exit(a: Shapes, b: Shapes, normal: np.ndarray) -> float:
    """A bound from below of min over n of h(n) for one pair, h that of A - B; refined below h(normal). Where it is less
    than that by more than CLOSED the bounds did not meet, or there is a shorter way out."""

    def points(directions):
        return (a.support(directions[None]) - b.support(-directions[None]))[0]

    directions = np.concatenate([SPREAD, *(part[0] for s in (a, b) for part in (s.normals(), -s.normals()))])
    cloud = points(np.concatenate([directions, around(normal[None])[0]]))
    known = -gaps(a, b, normal[None, None])[0, 0]
    for _ in range(ROUNDS):
        hull = ConvexHull(cloud, qhull_options="Qt Pp")
        facets = np.unique(hull.equations, axis=0)
        normal, offset = facets[:, :3], -facets[:, 3]
        near = offset < known - CLOSED
        if not near.any():
            break
        new = points(normal[near])
        height = np.sum(new * normal[near], 1)
        known = min(known, height.min())
        grows = height > offset[near] + CLOSED
        if not grows.any():
            break
        cloud = np.concatenate([cloud[hull.vertices], np.unique(new[grows], axis=0)])
    return float(offset.min())


def off_surface(shapes: Shapes, x: np.ndarray) -> np.ndarray:
    """How far points are outside a shape, at most (m); 0 inside."""
    if shapes.kind == ShapeType.ELLIPSOID:  # along the way to the middle
        p = unturn(shapes.pose, x - shapes.pose[:, :3])
        level = np.linalg.norm(p / shapes.size, axis=1)
        return np.linalg.norm(p, axis=1) * np.maximum(1 - 1 / np.maximum(level, 1e-9), 0)
    return np.maximum(shapes.outside(x), 0)


def witness_errors(a: Shapes, b: Shapes, distance, normal, point0, point1) -> np.ndarray:
    """``Errors.witness`` of pairs: 0 where each point is on its shape, furthest along or against the normal."""
    n = unit(normal)
    below0 = np.sum(n * (a.support(n[:, None])[:, 0] - point0), 1)
    below1 = np.sum(-n * (b.support(-n[:, None])[:, 0] - point1), 1)
    apart = np.linalg.norm(point1 - point0 - distance[:, None] * normal, axis=1)
    return np.max([off_surface(a, point0), off_surface(b, point1), below0, below1, apart], axis=0)


def nearest_of_hull(a: Shapes, b: Shapes, normal: np.ndarray) -> np.ndarray:
    """A bound from above of the distance of pairs that are apart: of the origin to the hull of those points of A - B
    that are furthest along ``normal`` (n, 3) and along directions a little off it (Lawson and Hanson 1974)."""
    ways = around(normal)
    cloud = a.support(ways) - b.support(-ways)
    return np.array([_refined(a[i : i + 1], b[i : i + 1], points) for i, points in enumerate(cloud)])


def _nearest_in_hull(points: np.ndarray) -> np.ndarray:
    """The point of the hull of ``points`` nearest to the origin, of two tries: SciPy's nnls may stop early."""
    found = []
    for scale in (1.0, 10.0):
        weight, _ = nnls(np.vstack([scale * points.T, np.ones(len(points))]), np.array([0, 0, 0, 1.0]))
        found.append(weight @ points / weight.sum())
    return min(found, key=np.linalg.norm)


def _refined(a: Shapes, b: Shapes, points: np.ndarray) -> float:
    """The distance of the origin to the hull of ``points`` and of those beyond it that are nearer."""
    points = np.unique(points, axis=0)
    for _ in range(ROUNDS):
        nearest = _nearest_in_hull(points)
        distance = np.linalg.norm(nearest)
        way = -nearest[None, None] / max(distance, 1e-300)
        new = (a.support(way) - b.support(-way))[0]
        if distance + float(new[0] @ way[0, 0]) < CLOSED:
            break
        points = np.concatenate([points, new])
    return float(distance)


def core(shapes: Shapes) -> tuple[Shapes, np.ndarray]:
    """What a ball is swept round to make the shapes, and the ball's radius: spheres and capsules as boxes without
    width."""
    if shapes.kind not in (ShapeType.SPHERE, ShapeType.CAPSULE):
        return shapes, np.zeros(len(shapes.pose))
    half = shapes.size[:, 1:2] * [0, 0, 1] * (shapes.kind == ShapeType.CAPSULE)
    return Shapes(ShapeType.BOX, shapes.pose, half), shapes.size[:, 0]


def upper_bounds(a: Shapes, b: Shapes, normal: np.ndarray) -> np.ndarray:
    """Bounds of the signed distances from above; ``normal``: where to look for those of cores apart."""
    (a, radius_a), (b, radius_b) = core(a), core(b)
    gap = gaps(a, b, normal[:, None])[:, 0]
    bound = np.empty(len(gap))
    apart = gap >= -CLOSED
    bound[apart] = nearest_of_hull(a[apart], b[apart], normal[apart])
    for i in np.flatnonzero(~apart):
        bound[i] = -least_exit(a[i : i + 1], b[i : i + 1], normal[i])
    return bound - radius_a - radius_b


def convex_errors(a: Shapes, b: Shapes, normal: np.ndarray, measured) -> list[Errors]:
    """Of each of ``measured``, (distance, normal, point0, point1) of all pairs. ``normal``: the bounds start from it
    and have to meet."""
    above, below = upper_bounds(a, b, normal), gaps(a, b, normal[:, None])[:, 0]
    result = []
    for distance, way, point0, point1 in measured:
        loss = above - gaps(a, b, unit(way)[:, None])[:, 0]
        result.append(
            Errors(
                np.maximum(np.abs(above - distance), np.abs(distance - below)),
                np.maximum(loss, 0),
                witness_errors(a, b, distance, way, point0, point1),
            )
        )
    return result


def balanced_pairs(kinds, n: int, seed: int, distance_of):
    """Yields batches (a, b, rows) of n rows in all: a third more than 1 mm apart, a third within 1 mm of touching, a
    third deeper, by ``distance_of(a, b)``; none (but of two spheres) whose bounding spheres are apart."""
    wanted = np.full(3, n // 3) + (np.arange(3) < n % 3)
    while wanted.any():
        a, b = random_pairs(kinds, min(500, 4 * n), seed)
        seed += 1
        kind = np.digitize(distance_of(a, b), [-1e-3, 1e-3])
        centres = np.linalg.norm(a.pose[:, :3] - b.pose[:, :3], axis=1)
        settled = (centres > bounding_radius(a) + bounding_radius(b)) & (kinds != (ShapeType.SPHERE,) * 2)
        rank = np.zeros(len(kind), int)
        for k in range(3):
            mine = (kind == k) & ~settled
            rank[mine] = np.arange(mine.sum())
        rows = np.flatnonzero((rank < wanted[kind]) & ~settled)
        wanted -= np.bincount(kind[rows], minlength=3)
        yield a, b, rows
