"""STL, binary and text."""

from __future__ import annotations

import numpy as np

from simengine.builder.meshes.mesh_file import MeshLimits
from simengine.builder.meshes.words import Words
from simengine.errors import AssetError

_RECORD = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])


def read_stl(data: bytes, name: str, limits: MeshLimits, repairs: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Corners (3 m, 3) and triangles (m, 3) of an STL file; all its solids are one mesh. Normals are passed over."""
    if is_binary(data, name):
        count = (len(data) - 84) // _RECORD.itemsize
        limits.check(count, "triangles", name)
        corners = np.frombuffer(data, _RECORD, count, 84)["corners"].reshape(-1, 3).astype(np.float64)
    else:
        corners = _text_corners(data, name, limits)
    return corners, np.arange(len(corners)).reshape(-1, 3)


def is_binary(data: bytes, name: str) -> bool:
    """True for 80 bytes, a count, and 50 bytes a triangle; False for what begins with "solid" otherwise.

    A binary file may begin with "solid" too: the size decides. Raises AssetError where it is neither.
    """
    count = int(np.frombuffer(data, "<u4", 1, 80)[0]) if len(data) >= 84 else 0
    if len(data) >= 84 and len(data) == 84 + _RECORD.itemsize * count:
        return True
    if data.lstrip()[:5].lower() == b"solid" and b"\0" not in data:
        return False
    if len(data) < 84:
        raise AssetError(f"a binary STL needs at least 84 bytes, this has {len(data)}: the file is cut off", file=name)
    raise AssetError(
        f"the STL header counts {count} triangles ({84 + 50 * count} bytes) but the file has {len(data)} bytes: it is "
        "cut off or damaged",
        file=name,
    )


def _text_corners(data: bytes, name: str, limits: MeshLimits) -> np.ndarray:
    text = Words(data, name)
    marks = {b"vertex": 1, b"outer": 2, b"endloop": 3}
    kind = np.zeros(len(text), np.int8)
    for keyword, mark in marks.items():
        kind[text.lines_of(keyword)] = mark
    rows = np.flatnonzero(kind)
    sequence = kind[rows]
    whole = sequence[: len(sequence) // 5 * 5].reshape(-1, 5)
    bad = np.flatnonzero((whole != [2, 1, 1, 1, 3]).any(axis=1))
    if len(bad):
        raise text.error("a facet is not 'outer loop', three vertices, 'endloop'", int(rows[5 * bad[0]]))
    if len(sequence) % 5 or not text.lines_of(b"endsolid")[-1]:
        raise text.error("the file does not end in 'endsolid': it is cut off", len(text) - 1)
    limits.check(len(whole), "triangles", name)
    vertices = rows[sequence == 1]
    bad = np.flatnonzero(text.count[vertices] != 4)
    if len(bad):
        raise text.error("a vertex is not three numbers", int(vertices[bad[0]]))
    positions = text.start[vertices][:, None] + np.arange(1, 4)
    return text.numbers(positions, np.float64, "a vertex is not three numbers")
