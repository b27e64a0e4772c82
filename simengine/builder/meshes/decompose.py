"""Meshes cut into convex parts, by CoACD, cached by content."""

from __future__ import annotations

import numpy as np

from simengine.builder.mesh_data import Mesh, convex_hull
from simengine.builder.meshes.cache import Piece, cached_pieces
from simengine.errors import MissingExtraError, ModelError


def decompose(mesh: Mesh, threshold: float = 0.05, max_parts: int | None = None, seed: int = 0) -> list[Mesh]:
    """Convex meshes that together are nearly the mesh.

    Wei, Liu, Ling and Su, "Approximate convex decomposition for 3D meshes with collision-aware concavity and tree
    search", SIGGRAPH 2022. A surface that is not closed is closed first, on a grid, so its parts are a little larger.

    Args:
        threshold: the concavity that is left, from 0.01 (fine) to 1 (the hull): a length over the extent of the mesh.
        max_parts: at most so many; the concavity that is left may then be larger.
        seed: of the random search.

    Raises:
        ModelError: an argument outside its range, or a part without volume. MissingExtraError: CoACD or SciPy is
            missing.
    """
    if not 0.01 <= threshold <= 1.0:
        raise ModelError(f"threshold is {threshold}; it must be from 0.01 to 1", element=mesh.label)
    if max_parts is not None and max_parts < 1:
        raise ModelError(f"max_parts is {max_parts}; it must be 1 or more", element=mesh.label)
    settings = f"convex decomposition, threshold {threshold!r}, max_parts {max_parts}, seed {seed}"
    pieces = cached_pieces(
        settings, "coacd", [mesh.vertices, mesh.triangles], lambda: _make(mesh, threshold, max_parts, seed)
    )
    return [Mesh(*piece, label=f"{mesh.label}, part {number}") for number, piece in enumerate(pieces)]


def _make(mesh: Mesh, threshold: float, max_parts: int | None, seed: int) -> list[Piece]:
    try:
        import coacd
    except ImportError:
        raise MissingExtraError("coacd", "meshes", f"{mesh.label}: a convex decomposition") from None
    coacd.set_log_level("error")
    parts = coacd.run_coacd(
        coacd.Mesh(mesh.vertices, mesh.triangles),
        threshold=threshold,
        max_convex_hull=-1 if max_parts is None else max_parts,
        preprocess_mode="off" if not mesh.solid_problem else "on",
        seed=seed,
    )
    # the hull of each part: closed, and wound outwards
    hulls = [convex_hull(np.asarray(vertices, np.float64), f"a part of {mesh.label}") for vertices, _ in parts]
    return [(part.vertices, part.triangles) for part in hulls]
