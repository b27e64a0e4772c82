"""The distance of a convex polyhedron and a surface that it cuts, by its definition (kernels_cuda/surface_exit.h), in
NumPy.

A way out for a triangle is a translation along a direction n by as much as brings the body in front of the plane square
to n that has the triangle and some feature of the surface behind it, a feature that pushes along n: a face along its
normal, a convex vertex, or convex edge between vertices that are not, along the directions in which none of its faces
reaches beyond it. That by the triangle's own face counts, and a feature's shortest way if the box of the body, wider by
it, meets that of one of its faces. The shortest way of each triangle that is cut counts, of all of them the longest.

The shortest way out of polyhedra is along the normal of a face of one of them, or square to an edge of each. The one
is the body, the other the hull of a triangle and the faces at a feature, continued without end; an edge of it is one of
the feature or of the triangle, or leads from the feature to a corner of the triangle, and its faces hold two of these.
All these directions are tried.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import linprog

from tests.collision.collision_pairs import unit

BEHIND = 1e-7
"""Sine of the angle by which what lies in a plane may be in front of it."""


@dataclass
class Surface:
    """``triangles`` (t, 3, 3) in the world, of vertices ``index`` (t, 3); ``floor``: solid from there up, or None."""

    triangles: np.ndarray
    index: np.ndarray
    floor: float | None
    normals: np.ndarray = field(init=False)

    def __post_init__(self):
        a, b, c = np.moveaxis(self.triangles, 1, 0)
        self.normals = unit(np.cross(b - a, c - a))

    def solid(self, t: int) -> np.ndarray:
        """The corners of the triangle, or of the prism below it."""
        corners = self.triangles[t]
        if self.floor is None:
            return corners
        return np.concatenate([corners, corners * [1, 1, 0] + [0, 0, self.floor]])

    def features(self):
        """The triangles of each face (by number), convex vertex and edge, a point of it, and vectors that stay behind
        it. An edge of one triangle alone is convex."""
        for t, corners in enumerate(self.triangles):
            sides = np.roll(corners, -1, 0) - corners
            yield [t], corners[0], self.behind(np.concatenate([sides, -sides]))
        convex = set()
        for vertex in np.unique(self.index):
            faces = list(np.flatnonzero((self.index == vertex).any(1)))
            point = self.triangles[faces][self.index[faces] == vertex][0]
            around = self.behind((self.triangles[faces] - point).reshape(-1, 3))
            if (self.normals[faces] @ around.T).max() < BEHIND:
                convex.add(vertex)
                yield faces, point, around
        for ends, faces in self.edges().items():
            if ends & convex:
                continue
            corners = self.triangles[faces].reshape(-1, 3)
            one, other = (corners[list(self.index[faces].ravel()).index(end)] for end in sorted(ends))
            around = self.behind(np.concatenate([corners - one, [one - other]]))
            if (self.normals[faces] @ around.T).max() < BEHIND:
                yield faces, one, around

    def behind(self, vectors: np.ndarray) -> np.ndarray:
        """Unit vectors along those that have a length, and into the solid below."""
        down = np.zeros((0, 3)) if self.floor is None else np.array([[0, 0, -1.0]])
        return unit(np.concatenate([vectors[np.linalg.norm(vectors, axis=1) > 0], down]))

    def edges(self) -> dict:
        """The triangles beside each edge, a set of two vertices."""
        found: dict = {}
        for t, corners in enumerate(self.index):
            for i in range(3):
                found.setdefault(frozenset((corners[i], corners[(i + 1) % 3])), []).append(t)
        return found


def products(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.cross(a[:, None], b[None]).reshape(-1, 3)


def directions_of(lines: np.ndarray, normals: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Unit vectors, both ways: the ``normals`` of one polyhedron; square to one of its ``edges`` and one of ``lines``,
    or to two of these."""
    found = np.concatenate([products(lines, lines), products(lines, edges)])
    size = np.linalg.norm(found, axis=1)
    found = np.concatenate([normals, found[size > 1e-9] / size[size > 1e-9, None]])
    return np.concatenate([found, -found])


def overlaps(points: np.ndarray, others: np.ndarray) -> bool:
    """Do the hulls of two sets of points meet? By linear programming."""
    if (points.max(0) < others.min(0)).any() or (others.max(0) < points.min(0)).any():
        return False
    n, m = len(points), len(others)
    both = np.vstack([np.hstack([points.T, -others.T]), np.repeat([[1.0, 0], [0, 1]], [n, m], axis=1)])
    return linprog(np.zeros(n + m), A_eq=both, b_eq=[0, 0, 0, 1, 1]).status == 0


def distance_of_cut(surface: Surface, points: np.ndarray, normals: np.ndarray, edges: np.ndarray) -> float:
    """The signed distance of the hull of ``points`` (k, 3), whose faces have ``normals`` and which has ``edges``, from
    a surface that it cuts."""
    low, high = surface.triangles.min(1), surface.triangles.max(1)
    box_gap = np.maximum(low - points.max(0), points.min(0) - high).max(1)  # of the boxes of triangles
    features = list(surface.features())
    cut = [t for t in range(len(surface.triangles)) if overlaps(points, surface.solid(t))]
    ways = [shortest_way(surface, features, box_gap, t, points, normals, edges) for t in cut]
    return -max(ways)


def shortest_way(surface: Surface, features, box_gap, t: int, points, normals, edges) -> float:
    """For triangle ``t``."""
    corners = surface.triangles[t]
    shortest = np.inf
    for number, (faces, point, around) in enumerate(features):
        gap = -np.inf if number == t else box_gap[faces].min()  # faces come first
        if gap > shortest:
            continue
        lines = np.concatenate([around, np.roll(corners, -1, 0) - corners, corners - point])
        ways = directions_of(lines, normals, edges)
        pushes = (ways @ around.T).max(1) < BEHIND
        if len(faces) == 1:
            pushes &= ways @ surface.normals[faces[0]] > 0
        ways = ways[pushes]
        top = np.maximum(ways @ point, (ways @ corners.T).max(1))
        depth = np.min(top - (ways @ points.T).min(1), initial=np.inf)
        if depth >= gap - 1e-12:
            shortest = min(shortest, depth)
    return shortest
