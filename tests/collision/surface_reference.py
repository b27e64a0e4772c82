"""The distance of a convex polyhedron and a surface that it cuts, by its definition (kernels_cuda/surface_exit.h), in
NumPy.

A way out for a triangle is a translation along a direction n by as much as brings the body in front of the plane square
to n that has the triangle and some feature of the surface behind it, a feature that pushes along n: a face along its
normal, a convex vertex, or convex edge between vertices that are not, along the directions in which none of its faces
reaches beyond it. A feature's shortest way counts if the box of the body, wider by it, meets that of one of its faces.
The shortest way of each triangle that is cut counts, and of all of them the longest.

The shortest way out of polyhedra is along the normal of a face of one of them, or square to an edge of each. The one
is the body, the other the hull of a triangle and the faces at a feature, continued without end; its edges go through
two vertices of the surface, or along one of its edges, and its faces through three, or along two of its edges. All
these directions are tried, with all features.
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
        """The triangles of each face, convex edge and vertex, a point of it, and vectors that stay behind it."""
        for t, corners in enumerate(self.triangles):
            sides = np.roll(corners, -1, 0) - corners
            yield [t], corners[0], unit(np.concatenate([sides, -sides]))
        convex = set()
        for vertex in np.unique(self.index):
            faces = list(np.flatnonzero((self.index == vertex).any(1)))
            point = self.triangles[faces][self.index[faces] == vertex][0]
            around = (self.triangles[faces] - point).reshape(-1, 3)
            around = unit(around[np.linalg.norm(around, axis=1) > 0])
            if (self.normals[faces] @ around.T).max() < BEHIND:
                convex.add(vertex)
                yield faces, point, around
        for ends, faces in self.edges().items():
            if len(faces) < 2 or ends & convex:
                continue
            corners = self.triangles[faces].reshape(-1, 3)
            one, other = (corners[list(self.index[faces].ravel()).index(end)] for end in sorted(ends))
            around = np.concatenate([corners - one, [one - other]])
            around = unit(around[np.linalg.norm(around, axis=1) > 0])
            if (self.normals[faces] @ around.T).max() < BEHIND:
                yield faces, one, around

    def edges(self) -> dict:
        """The triangles beside each edge, a set of two vertices."""
        found: dict = {}
        for t, corners in enumerate(self.index):
            for i in range(3):
                found.setdefault(frozenset((corners[i], corners[(i + 1) % 3])), []).append(t)
        return found


NEAR = 0.2
"""m: vertices of triangles whose boxes are further from the body's take part in no way that is looked for."""


def directions_of(vertices: np.ndarray, sides: np.ndarray, normals: np.ndarray, edges: np.ndarray) -> np.ndarray:
    n = len(vertices)
    i, j = np.triu_indices(n, 1)
    products = [np.cross((vertices[j] - vertices[i])[:, None], edges[None]).reshape(-1, 3)]
    for k in range(n - 2):
        i, j = np.triu_indices(n - k - 1, 1)
        rest = vertices[k + 1 :] - vertices[k]
        products.append(np.cross(rest[i], rest[j]))
    i, j = np.triu_indices(len(sides), 1)
    products.append(np.cross(sides[i], sides[j]))
    products = np.concatenate(products)
    size = np.linalg.norm(products, axis=1)
    products = products[size > 1e-9] / size[size > 1e-9, None]
    return np.concatenate([normals, -normals, products, -products])


def overlaps(points: np.ndarray, others: np.ndarray) -> bool:
    """Do the hulls of two sets of points meet? By linear programming."""
    n, m = len(points), len(others)
    both = np.vstack([np.hstack([points.T, -others.T]), np.repeat([[1.0, 0], [0, 1]], [n, m], axis=1)])
    return linprog(np.zeros(n + m), A_eq=both, b_eq=[0, 0, 0, 1, 1]).status == 0


def distance_of_cut(surface: Surface, points: np.ndarray, normals: np.ndarray, edges: np.ndarray) -> float:
    """The signed distance of the hull of ``points`` (k, 3), whose faces have ``normals`` and which has ``edges``, from
    a surface that it cuts."""
    low, high = surface.triangles.min(1), surface.triangles.max(1)
    box_gap = np.maximum(low - points.max(0), points.min(0) - high).max(1)  # of the boxes of triangles
    corners = surface.triangles[box_gap < NEAR]
    near = np.unique(corners.reshape(-1, 3), axis=0)
    sides = unit((np.roll(corners, -1, 1) - corners).reshape(-1, 3))
    sides = np.unique(np.round(sides * np.sign(sides @ [1, np.pi, np.e])[:, None], 12), axis=0)
    ways = np.concatenate([surface.normals, directions_of(near, sides, normals, edges)])
    lowest = (points @ ways.T).min(0)
    tops = (surface.triangles @ ways.T).max(1)  # (triangle, direction)
    shortest = np.full(len(surface.triangles), np.inf)
    for faces, point, around in surface.features():
        pushes = (around @ ways.T).max(0) < BEHIND
        if len(faces) == 1:
            pushes &= surface.normals[faces[0]] @ ways.T > 0
        depth = np.where(pushes, np.maximum(ways @ point, tops) - lowest, np.inf).min(1)
        counts = depth >= box_gap[faces].min() - 1e-12
        shortest = np.minimum(shortest, np.where(counts, depth, np.inf))
    cut = [t for t in range(len(surface.triangles)) if overlaps(points, surface.solid(t))]
    return -float(shortest[cut].max())
