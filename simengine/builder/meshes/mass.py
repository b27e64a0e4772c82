"""Volume, centre of mass and inertia of meshes in the four ways of MJCF's attribute ``inertia``."""

from __future__ import annotations

from enum import StrEnum

import numpy as np

from simengine.builder.mesh_data import Mesh, convex_hull
from simengine.errors import ModelError


class MeshInertia(StrEnum):
    """How a mesh is turned into matter."""

    EXACT = "exact"  # what the surface encloses
    LEGACY = "legacy"  # pyramids from each triangle to a centre, all counted as positive
    CONVEX = "convex"  # the solid hull
    SHELL = "shell"  # the surface, thin


def mesh_inertia(mesh: Mesh, mode: str = "exact") -> tuple[float, np.ndarray, np.ndarray]:
    """Mass properties of a mesh of unit density, as MuJoCo's compiler finds them (``mjCMesh::Process``).

    - exact: the signed volume. A surface that is inside out as a whole is turned.
    - legacy: the pyramids between the triangles and the centroid of the surface give the centre of mass; those between
      the triangles and the centre of mass give volume and inertia. Each counts as positive, so a concave mesh is too
      heavy. It is what MJCF defaults to, and works for open meshes.
    - convex: the signed volume of the hull. - shell: mass on the surface alone.

    Returns:
        volume in m3 (shell: area in m2); centre of mass (3,) in m; inertia (3, 3) about it in m5 (shell: m4), in the
        axes of the mesh.

    Raises:
        ModelError: no such mode, a surface that bounds no solid (exact), no volume or area. MissingExtraError: convex
            where SciPy is missing.
    """
    if mode not in list(MeshInertia):
        raise ModelError(f"inertia mode {mode!r} is none of {', '.join(MeshInertia)}", element=mesh.label)
    if mode == MeshInertia.EXACT and mesh.solid_problem:
        raise ModelError(
            f"bounds no solid: {mesh.solid_problem}. Ask for convex, shell or legacy inertia, or mend the mesh",
            element=mesh.label,
        )
    if mode == MeshInertia.LEGACY:
        size, com, second = _legacy_moments(mesh)
    else:
        if mode == MeshInertia.SHELL:
            size, first, second = mesh.surface_moments((1.0, 1.0, 1.0))
        else:
            solid = convex_hull(mesh.vertices, mesh.label) if mode == MeshInertia.CONVEX else mesh
            size, first, second = solid.moments
        com = first / size if size > 0.0 else first
        second = second - size * np.outer(com, com)
    if not size > 0.0:
        what = "area" if mode == MeshInertia.SHELL else "volume"
        raise ModelError(f"has no {what}: ask for shell inertia, or give the body its mass", element=mesh.label)
    return size, com, np.trace(second) * np.eye(3) - second


def _legacy_moments(mesh: Mesh) -> tuple[float, np.ndarray, np.ndarray]:
    """Volume, centre of mass and second moment about it."""
    area, first, _ = mesh.surface_moments((1.0, 1.0, 1.0))
    if not area > 0.0:
        return 0.0, np.zeros(3), np.zeros((3, 3))
    centroid = first / area
    volume, first, _ = mesh.moments_about(centroid, absolute=True)
    com = centroid + first / volume if volume > 0.0 else centroid
    volume, _, second = mesh.moments_about(com, absolute=True)
    return volume, com, second
