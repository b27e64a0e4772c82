"""A triangle mesh as the builder holds it: checked, immutable, compared by content."""

from __future__ import annotations

import hashlib
from functools import cached_property
from weakref import WeakValueDictionary

import numpy as np

from simengine.builder.mechanisms import HeightField
from simengine.builder.meshes.hull import hull
from simengine.errors import ModelError, warn_user, with_article
from simengine.fixed import Fixed
from simengine.surfaces import is_pinched, is_wound_inwards, welded

WOUND_INWARDS = "its triangles were wound inwards; all are turned round"
"""What importers note of a mesh where they take ``Mesh.outward``."""


class Made(dict):
    """What was made of a mesh's content, by name."""


_made: WeakValueDictionary[bytes, Made] = WeakValueDictionary()


class Mesh(Fixed):
    """Triangles in the frame of the shape that uses them.

    ``vertices`` (n, 3) in m, ``triangles`` (m, 3) vertex indices, counter-clockwise seen from outside. Both are copied
    and cannot be written. Meshes of equal content are equal; a model stores each once. Raises ModelError, naming
    ``label``, for wrong shapes, numbers that are not finite, and indices that lead nowhere.
    """

    _free = ("label",)

    def __init__(self, vertices, triangles, label: str = "mesh"):
        vertices = _table(vertices, np.float64, f"{label}: vertices")
        triangles = _table(triangles, np.int32, f"{label}: triangles")
        self._set(label=label, vertices=vertices, triangles=triangles)
        bad = np.flatnonzero(~np.isfinite(self.vertices).all(axis=1))
        if bad.size:
            raise ModelError(f"{label}: vertex {bad[0]} is {self.vertices[bad[0]]}; all coordinates must be finite")
        bad = np.flatnonzero(((self.triangles < 0) | (self.triangles >= len(self.vertices))).any(axis=1))
        if bad.size:
            raise ModelError(
                f"{label}: triangle {bad[0]} names vertices {self.triangles[bad[0]]}; there are {len(self.vertices)}, "
                "counted from 0"
            )

    @cached_property
    def digest(self) -> bytes:
        """A hash of the content."""
        content = hashlib.blake2b(self.vertices.tobytes(), digest_size=16)
        content.update(self.triangles.tobytes())
        return content.digest()

    @cached_property
    def made(self) -> Made:
        """Shared by the meshes of this content, and gone with the last of them."""
        return _made.setdefault(self.digest, Made())

    @cached_property
    def used(self) -> np.ndarray:
        """Whether a triangle names it, of each vertex (n,)."""
        named = np.zeros(len(self.vertices), bool)
        named[self.triangles] = True
        return named

    def __eq__(self, other) -> bool:
        return self is other or (isinstance(other, Mesh) and self.digest == other.digest)

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        return f"Mesh({self.label!r}, {len(self.vertices)} vertices, {len(self.triangles)} triangles)"

    @cached_property
    def solid_problem(self) -> str:
        """Why the surface does not bound a solid; empty where it does.

        Vertices at equal positions count as one, as in files that repeat them for each triangle. In a closed surface
        with one sense of winding each directed edge occurs once and its reverse once.
        """
        corners = welded(self.vertices, self.triangles)
        corners = corners[~is_pinched(corners)]
        start, end = corners.ravel(), np.roll(corners, -1, axis=1).ravel()
        n = len(self.vertices)
        edges = np.sort(start * n + end)
        is_repeated = edges[1:] == edges[:-1]
        if not is_repeated.any() and np.array_equal(edges, np.sort(end * n + start)):
            return ""
        edges, times = np.unique(edges, return_counts=True)
        if is_repeated.any():
            return f"{int((times > 1).sum())} edges are used twice in the same sense (winding differs or not manifold)"
        alone = ~np.isin(edges % n * n + edges // n, edges)
        if alone.any():
            return f"it is open: {int(alone.sum())} edges belong to one triangle alone"
        return ""

    @cached_property
    def _turned(self) -> Mesh | None:
        if not is_wound_inwards(self.vertices, self.triangles):
            return None
        return Mesh(self.vertices, self.triangles[:, ::-1], self.label)

    @property
    def is_wound_inwards(self) -> bool:
        """Whether it is closed and its triangles, as a whole, run clockwise seen from outside."""
        return self._turned is not None

    @property
    def outward(self) -> Mesh:
        """The same surface wound outwards: this mesh, or one with all triangles turned round."""
        return self._turned or self

    @cached_property
    def moments(self) -> tuple[float, np.ndarray, np.ndarray]:
        """Volume (m3), its first moment (3,) and second moment (3, 3) about the origin of the mesh.

        Signed tetrahedra from the mean vertex to each triangle; a surface that is inside out as a whole is turned.
        """
        center = self.vertices.mean(axis=0)
        volume, first, second = self.moments_about(center)
        if volume < 0:
            volume, first, second = -volume, -first, -second
        second = second + np.outer(first, center) + np.outer(center, first) + volume * np.outer(center, center)
        return volume, first + volume * center, second

    def moments_about(self, center, absolute: bool = False) -> tuple[float, np.ndarray, np.ndarray]:
        """Volume, first (3,) and second moment (3, 3), about a point, of the tetrahedra from it to each triangle.

        Those seen from inside out count as negative; with ``absolute``, as positive.
        """
        a, b, c = (self.vertices[self.triangles[:, i]] - center for i in range(3))
        volumes = np.einsum("ni,ni->n", a, np.cross(b, c)) / 6.0
        return _weighted_moments(np.abs(volumes) if absolute else volumes, a, b, c, 0.25, 0.05)

    def surface_moments(self, scale) -> tuple[float, np.ndarray, np.ndarray]:
        """Area (m2), its first moment (3,) and second moment (3, 3) about the origin, scaled by ``scale`` (3,)."""
        points = self.vertices * np.asarray(scale)
        a, b, c = (points[self.triangles[:, i]] for i in range(3))
        areas = 0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1)
        return _weighted_moments(areas, a, b, c, 1.0 / 3.0, 1.0 / 12.0)


def _weighted_moments(weights, a, b, c, first_factor, second_factor):
    """Moments of simplices on a, b, c (and the origin): sums of w f (a+b+c) and of w g ((a+b+c)^2 + a2 + b2 + c2)."""
    total = a + b + c
    first = first_factor * (weights @ total)
    second = sum(np.einsum("n,ni,nj->ij", weights, x, x) for x in (total, a, b, c)) * second_factor
    return float(weights.sum()), first, second


def surface_mesh(field: HeightField, hx: float, hy: float) -> Mesh:
    """The surface of a height field over -hx..hx, -hy..hy (m): each cell cut along the diagonal from its low corner."""
    rows, columns = field.heights.shape
    y, x = np.meshgrid(np.linspace(-hy, hy, rows), np.linspace(-hx, hx, columns), indexing="ij")
    corner = (np.arange(rows - 1)[:, None] * columns + np.arange(columns - 1)).reshape(-1, 1)
    right, up = corner + 1, corner + columns
    triangles = np.concatenate([np.hstack([corner, right, up + 1]), np.hstack([corner, up + 1, up])])
    return Mesh(np.stack([x, y, field.heights], axis=2).reshape(-1, 3), triangles, field.label)


def convex_hull(points, label: str = "convex hull") -> Mesh:
    """The convex hull of points (n, 3) as a closed Mesh wound outwards (Qhull through SciPy).

    Hulls of many points are kept in the cache folder (``meshes/cache.py``). Raises ModelError where the points lie in
    one plane, MissingExtraError where SciPy is missing.
    """
    points = _table(points, np.float64, f"{label}: points")
    if not np.isfinite(points).all():
        raise ModelError(f"{label}: all coordinates must be finite")
    return Mesh(*hull(points, label), label)


def told_outward(mesh: Mesh, what: str) -> Mesh:
    """``mesh.outward``; a warning names ``what`` and the mesh where it was wound inwards."""
    if mesh.is_wound_inwards:
        reason = "is closed and wound inwards, so all its triangles are turned round (triangles[:, ::-1])"
        warn_user(f"{what}: {mesh!r} {reason}")
    return mesh.outward


def as_mesh(given, label: str, others: str = "a Mesh") -> Mesh:
    """``given`` as a Mesh: one, or (vertices, triangles). Raises ModelError, naming ``label``; ``others``: what else
    could have been given.
    """
    if isinstance(given, Mesh):
        return given
    if isinstance(given, list | tuple) and len(given) == 2:
        return Mesh(*given, label)
    raise ModelError(f"is {with_article(type(given).__name__)}; give {others} or (vertices, triangles)", element=label)


def _table(values, dtype, what: str) -> np.ndarray:
    try:
        given = np.asarray(values)
        table = np.array(given, dtype=dtype)
    except (TypeError, ValueError, OverflowError):
        raise ModelError(f"{what} must be a table of numbers with three columns") from None
    if table.ndim != 2 or table.shape[1] != 3 or not len(table):
        raise ModelError(f"{what} has shape {table.shape}; it must be (n, 3) with at least one row")
    if dtype == np.int32 and (given.dtype.kind not in "iu" or not np.array_equal(table, given)):
        raise ModelError(f"{what} must be whole numbers of 32 bits, got {given.dtype}")
    table.flags.writeable = False
    return table
