"""The .tet text of Isaac Gym: lines ``v x y z`` and ``t a b c d``, indices from 0."""

from __future__ import annotations

import numpy as np

from simengine.builder.meshes.mesh_file import MeshLimits
from simengine.builder.meshes.words import Words


def read_tet(data: bytes, name: str, limits: MeshLimits, repairs: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Vertices (n, 3) and tetrahedra (m, 4) as in the file. Other lines are left out and counted."""
    text = Words(data, name, b"#")
    points, solids = np.flatnonzero(text.lines_of(b"v")), np.flatnonzero(text.lines_of(b"t"))
    limits.check(len(points), "vertices", name)
    limits.check(len(solids), "tetrahedra", name)
    for rows, width, what in ((points, 4, "a vertex is not three numbers"), (solids, 5, "a tetrahedron is not four")):
        bad = np.flatnonzero(text.count[rows] != width)
        if len(bad):
            raise text.error(what, int(rows[bad[0]]))
    others = len(text) - len(points) - len(solids)
    if others:
        repairs.append(f"{others} lines that are neither vertices nor tetrahedra left out")
    vertices = text.numbers(text.start[points][:, None] + np.arange(1, 4), np.float64, "a vertex")
    return vertices, text.numbers(text.start[solids][:, None] + np.arange(1, 5), np.int64, "a tetrahedron")
