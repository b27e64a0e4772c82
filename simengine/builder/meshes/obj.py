"""Wavefront OBJ: vertices and faces; all objects and groups are one mesh."""

from __future__ import annotations

import numpy as np

from simengine.builder.meshes.mesh_file import MeshLimits
from simengine.builder.meshes.polygons import triangulate
from simengine.builder.meshes.words import Words, list_places

_IN_INDICES = np.zeros(256, bool)
_IN_INDICES[list(b"0123456789+-/")] = True
_NO_FACES = {
    b"curv": "free-form curves",
    b"curv2": "free-form curves",
    b"surf": "free-form surfaces",
    b"l": "lines",
    b"p": "points",
}


def read_obj(
    data: bytes, name: str, limits: MeshLimits, repairs: list[str], first_object_only: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Vertices (n, 3) and triangles (m, 3) of an OBJ file.

    Indices count from 1, negative ones back from the last vertex above the face. Materials, texture coordinates and
    normals are passed over; no other file is opened. ``first_object_only`` leaves out the faces of all objects and
    groups but the first that has any; vertices stay.
    """
    text = Words(data, name, b"#", b"\\")
    is_vertex, is_face = text.lines_of(b"v"), text.lines_of(b"f")
    for keyword, plural in _NO_FACES.items():
        if count := int(text.lines_of(keyword).sum()):
            repairs.append(f"{count} {plural} left out")
    limits.check(int(is_vertex.sum()), "vertices", name)
    limits.check_on(int(is_vertex.sum()), int((text.count[is_face] - 3).clip(0).sum()), "triangles", name)
    points = _vertices(text, np.flatnonzero(is_vertex))
    faces = np.flatnonzero(is_face)
    if first_object_only:
        faces = _of_first_object(faces, text, repairs)
    counts = text.count[faces] - 1
    corners = _corners(text, faces, counts, np.cumsum(is_vertex)[faces], len(points))
    return points, triangulate(points, corners, counts, name, text.line[faces])


def _of_first_object(faces: np.ndarray, text: Words, repairs: list[str]) -> np.ndarray:
    """The faces above the first line ``o`` or ``g`` that has a face above it."""
    borders = np.flatnonzero(text.lines_of(b"o") | text.lines_of(b"g"))
    after = borders[borders > faces[0]] if len(faces) else borders
    first = faces[faces < after[0]] if len(faces) and len(after) else faces
    if len(first) < len(faces):
        repairs.append(f"{len(faces) - len(first)} faces of further objects left out, as MuJoCo does")
    return first


def _vertices(text: Words, rows: np.ndarray) -> np.ndarray:
    short = np.flatnonzero(text.count[rows] < 4)
    if len(short):
        raise text.error("a vertex is not three numbers", int(rows[short[0]]))
    return text.numbers(text.start[rows][:, None] + np.arange(1, 4), np.float64, "a vertex is not three numbers")


def _corners(text: Words, faces: np.ndarray, counts: np.ndarray, above: np.ndarray, points: int) -> np.ndarray:
    """Vertex indices from 0 of all corners one after another."""
    positions, owner = list_places(text.start[faces] + 1, counts)
    _cut_at_slashes(text, positions, faces[owner])
    values = text.numbers(positions, np.int64, "an index of a face")
    indices = np.where(values > 0, values - 1, above[owner] + values)
    bad = np.flatnonzero((values == 0) | (indices < 0) | (indices >= points))
    if len(bad):
        value, row = int(values[bad[0]]), int(owner[bad[0]])
        if value > 0:
            rule = f"there are {points} vertices (they count from 1)"
        else:
            rule = f"they count from 1, or back from -1 over the {above[row]} above it"
        raise text.error(f"a face names vertex {value}, but {rule}", int(faces[row]))
    return indices


def _cut_at_slashes(text: Words, positions: np.ndarray, rows: np.ndarray) -> None:
    """Let each of the words, ``vertex/texture/normal`` in lines ``rows``, end at its first slash."""
    slashes = np.flatnonzero(text.text == ord("/"))
    if len(slashes) == 0 or len(positions) == 0:
        return
    owner = np.searchsorted(text.begin[positions], slashes, side="right") - 1
    is_inside = (owner >= 0) & (slashes < text.end[positions[owner]])
    slashes, owner = slashes[is_inside], owner[is_inside]
    strange = np.append(0, np.cumsum(~_IN_INDICES[text.text], dtype=np.int32))
    is_bad = strange[text.end[positions]] > strange[text.begin[positions]]
    is_bad |= np.bincount(owner, minlength=len(positions)) > 2
    if is_bad.any():
        index = int(np.argmax(is_bad))
        word = text.word(int(positions[index]))[:40].decode("latin-1")
        raise text.error(f"{word!r} is not an index of a face", int(rows[index]))
    first = np.ones(len(owner), bool)
    first[1:] = owner[1:] != owner[:-1]
    text.end[positions[owner[first]]] = slashes[first]
