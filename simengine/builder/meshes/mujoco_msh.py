"""MuJoCo's own binary mesh (.msh, the older one): counts, then float32 and int32 tables."""

from __future__ import annotations

import numpy as np

from simengine.builder.meshes.mesh_file import MeshLimits
from simengine.errors import AssetError


def read_mujoco_msh(data: bytes, name: str, limits: MeshLimits, repairs: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Vertices (n, 3) and triangles (m, 3).

    The file is four int32, the numbers of vertices, normals, texture coordinates and faces; then their tables: three,
    three and two float32 each, three int32 indices each.
    """
    if len(data) < 16:
        raise AssetError(f"a MuJoCo mesh needs at least 16 bytes, this has {len(data)}: it is cut off", file=name)
    vertices, normals, coordinates, faces = (int(n) for n in np.frombuffer(data, "<i4", 4))
    limits.check(vertices, "vertices", name)
    limits.check_on(vertices, faces, "triangles", name)
    if normals not in (0, vertices) or coordinates not in (0, vertices):
        counts = f"{vertices} vertices, {normals} normals and {coordinates} texture coordinates"
        raise AssetError(f"is no mesh of Gmsh or MuJoCo: the header counts {counts}", file=name)
    needed = 16 + 12 * vertices + 12 * normals + 8 * coordinates + 12 * faces
    if needed != len(data):
        raise AssetError(f"the header asks for {needed} bytes, the file has {len(data)}: it is damaged", file=name)
    points = np.frombuffer(data, "<f4", 3 * vertices, 16).reshape(-1, 3).astype(np.float64)
    return points, np.frombuffer(data, "<i4", 3 * faces, needed - 12 * faces).reshape(-1, 3).astype(np.int64)
