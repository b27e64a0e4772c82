"""Surfaces of triangles, on the host: where they are open, which triangles are flat, which way they are wound.

Builders and queries ask the same of their meshes. Vertices at equal positions count as one: files repeat them for each
triangle.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from simengine.rows import first_equal

BLOCK = 1 << 17
"""Triangles that are worked at a time, so that the memory of a large mesh does not multiply."""

NO_VOLUME = 1e-12
"""A closed surface that holds less than this part of the cube of its extent is wound neither way."""


def welded(vertices: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """The triangles (m, 3), their corners the first of the vertices (n, 3) at each place."""
    return first_equal(vertices.astype(np.float64, copy=False))[triangles]


def is_pinched(triangles: np.ndarray) -> np.ndarray:
    """Which of the triangles (m, 3) name a vertex twice."""
    a, b, c = triangles.T
    return (a == b) | (b == c) | (c == a)


class Edges(NamedTuple):
    """How triangles meet at their edges.

    ``open`` (e, 2): the edges that are used in one sense more often than in the other, and ``excess`` (e,), how much
    more; none: the surface is closed, and its triangles are wound alike. ``most``: how many triangles use one edge.
    """

    open: np.ndarray
    excess: np.ndarray
    most: int


def edges_of(triangles: np.ndarray, vertex_count: int) -> Edges:
    """The edges of triangles (m, 3); those that name a vertex twice do not count."""
    triangles = triangles[~is_pinched(triangles)].astype(np.int64)
    start, end = triangles.reshape(-1), np.roll(triangles, -1, axis=1).reshape(-1)
    key = 2 * (np.minimum(start, end) * vertex_count + np.maximum(start, end)) + (start > end)
    key.sort()
    edge = key >> 1
    begins = np.flatnonzero(np.diff(edge, prepend=-1))
    uses = np.diff(begins, append=len(key))
    balance = uses - 2 * np.add.reduceat(key & 1, begins) if len(key) else uses
    found = np.flatnonzero(balance)
    pairs = np.stack(np.divmod(edge[begins[found]], max(vertex_count, 1)), axis=1)
    pairs[balance[found] < 0] = pairs[balance[found] < 0][:, ::-1]
    return Edges(pairs.astype(np.int32), np.abs(balance[found]).astype(np.int32), int(uses.max(initial=0)))


def is_wound_inwards(vertices: np.ndarray, triangles: np.ndarray) -> bool:
    """Whether a surface is closed and, as a whole, wound clockwise seen from outside: its signed volume is negative."""
    if not len(triangles):
        return False
    vertices = vertices.astype(np.float64, copy=False)
    extent = float(np.ptp(vertices, axis=0).max())
    with np.errstate(over="ignore", invalid="ignore"):  # sizes that no model takes
        volume = float(signed_volumes(vertices, triangles, vertices.mean(axis=0)).sum())
    if not volume < -NO_VOLUME * extent**3:
        return False
    return len(edges_of(welded(vertices, triangles), len(vertices)).open) == 0


def signed_volumes(vertices: np.ndarray, triangles: np.ndarray, point) -> np.ndarray:
    """Volumes (m,) of the tetrahedra from a point to each triangle, positive where it is seen from inside."""
    from_point = np.ascontiguousarray((vertices - point).T)  # axis by axis: a third of the time of rows
    (ax, ay, az), (bx, by, bz), (cx, cy, cz) = ([axis.take(corner) for axis in from_point] for corner in triangles.T)
    return (ax * (by * cz - bz * cy) + ay * (bz * cx - bx * cz) + az * (bx * cy - by * cx)) / 6.0


def heights(vertices: np.ndarray, triangles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The least height of each triangle and its longest edge (m,), in m."""
    height, longest = np.empty(len(triangles)), np.empty(len(triangles))
    for at, part in zip(range(0, len(triangles), BLOCK), _parts(triangles), strict=True):
        a, b, c = (vertices.take(corner, axis=0) for corner in part.T)
        double_area = np.sqrt((np.cross(b - a, c - a) ** 2).sum(axis=1))
        edge = np.sqrt(np.max([((q - p) ** 2).sum(axis=1) for p, q in ((a, b), (b, c), (c, a))], axis=0))
        longest[at : at + BLOCK] = edge
        height[at : at + BLOCK] = double_area / np.maximum(edge, np.finfo(np.float64).tiny)
    return height, longest


def _parts(triangles: np.ndarray):
    return (triangles[at : at + BLOCK] for at in range(0, len(triangles), BLOCK))
