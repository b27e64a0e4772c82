"""OFF (Geomview's object file format) as text."""

from __future__ import annotations

import numpy as np

from simengine.builder.meshes.mesh_file import MeshLimits
from simengine.builder.meshes.polygons import triangulate
from simengine.builder.meshes.words import Words, list_places
from simengine.errors import AssetError

# words after the three coordinates: colours, normals, texture coordinates
_EXTRA = {b"OFF": (0, 3, 4), b"COFF": (3, 4), b"NOFF": (3,), b"CNOFF": (6, 7), b"STOFF": (2,)}


def read_off(data: bytes, name: str, limits: MeshLimits, repairs: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Vertices (n, 3) and triangles (m, 3) of an OFF file; colours and normals are passed over."""
    text = Words(data, name, b"#")
    if not len(text) or text.word(0) not in _EXTRA:
        raise AssetError("does not begin with OFF: it is no (text) OFF file", file=name, line=1)
    row = 1
    sizes = np.arange(1, text.count[0])  # on the same line, or on the next
    if len(sizes) == 0 and len(text) > 1:
        sizes, row = text.start[1] + np.arange(text.count[1]), 2
    if not 2 <= len(sizes) <= 3:
        raise text.error("the numbers of vertices, faces and edges are expected", row - 1)
    vertices, faces = (int(n) for n in text.numbers(sizes[:2], np.int64, "the number of vertices or faces"))
    limits.check(vertices, "vertices", name)
    limits.check_on(vertices, faces, "triangles", name)
    if len(text) < row + vertices + faces:
        raise AssetError(
            f"the header counts {vertices} vertices and {faces} faces, but {len(text) - row} lines follow: it is cut "
            "off or damaged",
            file=name,
        )
    points = _vertices(text, row, vertices)
    return points, _triangles(text, row + vertices, faces, points, limits)


def _vertices(text: Words, row: int, count: int) -> np.ndarray:
    allowed = np.array([3 + extra for extra in _EXTRA[text.word(0)]])
    bad = np.flatnonzero(~np.isin(text.count[row : row + count], allowed))
    if len(bad):
        raise text.error("a vertex is not three numbers", row + int(bad[0]))
    positions = text.start[row : row + count, None] + np.arange(3)
    return text.numbers(positions, np.float64, "a vertex is not three numbers")


def _triangles(text: Words, row: int, count: int, points: np.ndarray, limits: MeshLimits) -> np.ndarray:
    rows = np.arange(row, row + count)
    counts = text.numbers(text.start[rows], np.int64, "the number of a face's corners")
    bad = np.flatnonzero((counts < 0) | (counts >= text.count[rows]))
    if len(bad):
        raise text.error("a face has fewer corners than it says", int(rows[bad[0]]))
    limits.check_on(len(points), int((counts - 2).clip(0).sum()), "triangles", text.name)
    positions, owner = list_places(text.start[rows] + 1, counts)
    corners = text.numbers(positions, np.int64, "an index of a face")
    bad = np.flatnonzero((corners < 0) | (corners >= len(points)))
    if len(bad):
        message = f"a face names vertex {corners[bad[0]]}; there are {len(points)}, counted from 0"
        raise text.error(message, int(rows[owner[bad[0]]]))
    return triangulate(points, corners, counts, text.name, text.line[rows])
