"""Legacy VTK files (.vtk), text and binary: the tetrahedra of an unstructured grid.

Source of the layout: "VTK file formats" of the VTK documentation. Version 5 lists the cells by offsets.
"""

from __future__ import annotations

import re

import numpy as np

from simengine.builder.meshes.mesh_file import MeshLimits
from simengine.builder.meshes.words import parse_numbers
from simengine.errors import AssetError

_TYPES = {
    b"float": "f4", b"double": "f8", b"char": "i1", b"unsigned_char": "u1", b"short": "i2", b"unsigned_short": "u2",
    b"int": "i4", b"unsigned_int": "u4", b"long": "i8", b"unsigned_long": "u8", b"vtktypeint64": "i8",
    b"vtktypeint32": "i4", b"vtkidtype": "i8",
}  # fmt: skip
_TETRAHEDRON, _CURVED_TETRAHEDRON = 10, 24
_VERSION = re.compile(rb"# vtk DataFile Version ([0-9]{1,2})\.[0-9]{1,3}[ \t]*\r?\n")
_TITLE = re.compile(rb"[A-Za-z_]{4}")  # of a section; numbers hold fewer letters together (1e-3, nan, inf)
_EMPTY_LINE = re.compile(rb"\r?\n[ \t]*\r?\n")
_WORD = re.compile(rb"[ \t\r\n]*([^ \t\r\n]{1,64})")


def read_vtk(data: bytes, name: str, limits: MeshLimits, repairs: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Vertices (n, 3) and tetrahedra (m, 4) as in the file. Cells of other kinds are left out and counted."""
    header = _VERSION.match(data)
    title_end = data.find(b"\n", header.end(), header.end() + 1024) if header else -1
    if title_end < 0:
        raise AssetError("does not begin with '# vtk DataFile Version' and a title", file=name, line=1)
    file = _Sections(data, title_end + 1, name)
    kind = file.word()
    if kind not in (b"ASCII", b"BINARY"):
        raise file.error("the third line is neither ASCII nor BINARY")
    file.is_binary = kind == b"BINARY"
    if (file.word(), file.word()) != (b"DATASET", b"UNSTRUCTURED_GRID"):
        raise file.error("is no UNSTRUCTURED_GRID")
    points = types = offsets = connectivity = None
    while points is None or types is None or connectivity is None:
        title = file.word()
        if title == b"POINTS":
            count, dtype = file.count(), file.type()
            limits.check(count, "vertices", name)
            points = file.numbers(3 * count, dtype).astype(np.float64).reshape(-1, 3)
        elif title == b"CELLS":
            offsets, connectivity = _cells(file, int(header[1]) >= 5, limits)
        elif title == b"CELL_TYPES":
            count = file.count()
            limits.check(count, "tetrahedra", name)
            types = file.numbers(count, "i4")
        elif title == b"METADATA":
            file.skip_metadata()
        else:
            said = title.decode("latin-1")
            raise file.error(f"{said!r} stands where POINTS, CELLS or CELL_TYPES are expected")
    return points, _tetrahedra(file, offsets, connectivity, types, repairs)


def _cells(file: _Sections, by_offsets: bool, limits: MeshLimits) -> tuple[np.ndarray, np.ndarray]:
    """Offsets (cells + 1) of each cell's points, and the points of all cells."""
    count, size = file.count(), file.count()
    limits.check(count, "tetrahedra", file.name)
    if by_offsets:
        tables = []
        for title, length in ((b"OFFSETS", count), (b"CONNECTIVITY", size)):
            if file.word() != title:
                raise file.error(f"{title.decode()} is expected in CELLS")
            tables.append(file.numbers(length, file.type()).astype(np.int64))
        offsets, connectivity = tables
    else:
        stream = file.numbers(size, "i4").astype(np.int64)
        offsets, is_point = _old_offsets(file, stream, count)
        connectivity = stream[is_point]
    if len(offsets) == 0 or offsets[0] != 0 or offsets[-1] != len(connectivity) or (np.diff(offsets) < 0).any():
        raise file.error("the cells do not fit their list of points: it is damaged")
    return offsets, connectivity


def _old_offsets(file: _Sections, stream: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """From a list where each cell is its number of points, then the points."""
    if count and len(stream) % count == 0:
        cells = stream.reshape(count, -1)
        if cells.shape[1] and (cells[:, 0] == cells.shape[1] - 1).all():
            return np.arange(count + 1) * (cells.shape[1] - 1), np.arange(len(stream)) % cells.shape[1] > 0
    numbers, at, heads = stream.tolist(), 0, []
    for _ in range(count):
        if not (at < len(numbers) and numbers[at] >= 0):
            break
        heads.append(at)
        at += 1 + numbers[at]
    if at != len(numbers) or len(heads) != count:
        raise file.error("the cells do not fit their list of points: it is damaged")
    is_point = np.ones(len(numbers), bool)
    is_point[heads] = False
    return np.append(0, np.cumsum(stream[heads])), is_point


def _tetrahedra(file: _Sections, offsets, connectivity, types, repairs: list[str]) -> np.ndarray:
    lengths = np.diff(offsets)
    if len(lengths) != len(types):
        raise file.error(f"has {len(lengths)} cells, but types of {len(types)}")
    is_tetrahedron = ((types == _TETRAHEDRON) & (lengths == 4)) | ((types == _CURVED_TETRAHEDRON) & (lengths == 10))
    if (((types == _TETRAHEDRON) | (types == _CURVED_TETRAHEDRON)) & ~is_tetrahedron).any():
        raise file.error("a tetrahedron has not four points (ten where its edges are curved)")
    curved = int((is_tetrahedron & (lengths == 10)).sum())
    if curved:
        repairs.append(f"{curved} elements with curved sides made straight")
    if len(types) - is_tetrahedron.sum():
        repairs.append(f"{int(len(types) - is_tetrahedron.sum())} elements of other kinds left out")
    return connectivity[offsets[:-1][is_tetrahedron][:, None] + np.arange(4)]


class _Sections:
    """The words and numbers of a file in order, from the place ``at``."""

    def __init__(self, data: bytes, at: int, name: str):
        self.data, self.at, self.name, self.is_binary = data, at, name, False

    def error(self, message: str) -> AssetError:
        line = None if self.is_binary else self.data.count(b"\n", 0, self.at) + 1
        return AssetError(message, file=self.name, line=line)

    def word(self) -> bytes:
        found = _WORD.match(self.data, self.at)
        if not found:
            raise self.error("ends too early: it is cut off")
        self.at = found.end()
        return found[1]

    def count(self) -> int:
        word = self.word()
        if not word.isdigit() or len(word) > 12:
            raise self.error(f"a count is expected, not {word.decode('latin-1')!r}")
        return int(word)

    def type(self) -> str:
        word = self.word()
        if word.lower() not in _TYPES:
            raise self.error(f"{word.decode('latin-1')!r} is no type of numbers that is read")
        return _TYPES[word.lower()]

    def numbers(self, count: int, dtype: str) -> np.ndarray:
        """The next numbers. Binary ones are big-endian and begin on a new line; text ends before the next title."""
        if not self.is_binary:
            title = _TITLE.search(self.data, self.at)
            end = title.start() if title else len(self.data)
            values = parse_numbers(self.data[self.at : end], np.float64 if dtype[0] == "f" else np.int64)
            if len(values) != count:
                raise self.error(
                    f"{count} numbers are announced, {len(values)} follow (none where a word is no number)"
                )
            self.at = end
            return values
        begin = self.data.find(b"\n", self.at, self.at + 64) + 1
        size = count * np.dtype(dtype).itemsize
        if begin == 0 or size > len(self.data) - begin:
            raise self.error(f"{count} numbers are announced ({size} bytes), more than follow: it is cut off")
        self.at = begin + size
        return np.frombuffer(self.data, ">" + dtype, count, begin)

    def skip_metadata(self) -> None:
        """Up to the empty line that ends it."""
        end = _EMPTY_LINE.search(self.data, self.at)
        if not end:
            raise self.error("METADATA does not end in an empty line")
        self.at = end.end()
