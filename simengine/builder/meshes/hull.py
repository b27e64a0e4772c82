"""Convex hulls of points, by Qhull through SciPy, cached by content."""

from __future__ import annotations

import numpy as np

from simengine.builder.meshes.cache import Piece, cached_pieces
from simengine.errors import MissingExtraError, ModelError

CACHED = 2000
"""Points from which a hull is cached: below, making it takes no longer than finding it."""


def hull(points: np.ndarray, label: str) -> Piece:
    """Vertices (n, 3), a part of ``points`` (k, 3) in their order, and triangles (m, 3) of the hull, wound outwards.

    Raises:
        ModelError: the points lie in one plane. MissingExtraError: SciPy is missing.
    """
    if len(points) < CACHED:
        return _make(points, label)
    return cached_pieces("convex hull", "scipy", [points], lambda: [_make(points, label)])[0]


def _make(points: np.ndarray, label: str) -> Piece:
    try:
        from scipy.spatial import ConvexHull, QhullError
    except ImportError:
        raise MissingExtraError("scipy", "meshes", f"{label}: a convex hull") from None
    try:
        found = ConvexHull(points)
    except (QhullError, ValueError):
        raise ModelError(
            f"{label}: the {len(points)} points lie in one plane or on one line (coplanar), so they enclose no volume; "
            "use a mesh with a shell thickness, or a thin box"
        ) from None
    order = np.sort(found.vertices)
    triangles = np.searchsorted(order, found.simplices).astype(np.int32)
    a, b, c = (points[corner] for corner in found.simplices.T)
    inwards = np.einsum("ni,ni->n", np.cross(b - a, c - a), found.equations[:, :3]) < 0
    triangles[inwards] = triangles[inwards][:, ::-1]
    return points[order], triangles
