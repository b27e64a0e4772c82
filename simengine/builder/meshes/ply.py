"""PLY (Stanford polygons): text, little and big endian; further properties and elements are passed over."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from simengine.builder.meshes.mesh_file import MeshLimits
from simengine.builder.meshes.polygons import triangulate
from simengine.builder.meshes.words import Words, list_places
from simengine.errors import AssetError

_TYPES = {
    "char": "i1", "uchar": "u1", "short": "i2", "ushort": "u2", "int": "i4", "uint": "u4", "float": "f4",
    "double": "f8", "int8": "i1", "uint8": "u1", "int16": "i2", "uint16": "u2", "int32": "i4", "uint32": "u4",
    "float32": "f4", "float64": "f8",
}  # fmt: skip
_INDICES = ("vertex_indices", "vertex_index")
LISTS = 100_000  # entries, of an element that is passed over but has to be walked through
BLOCK = 1 << 17  # lists at a time, so that the memory of a large file does not multiply
_HEADER_BYTES = 1 << 20
_ENTRIES = 256  # elements and properties of a header


@dataclass
class _Property:
    name: str
    dtype: np.dtype
    count_dtype: np.dtype | None = None  # of a list


@dataclass
class _Element:
    name: str
    count: int
    properties: list[_Property] = field(default_factory=list)


def read_ply(data: bytes, name: str, limits: MeshLimits, repairs: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Vertices (n, 3) and triangles (m, 3) of a PLY file. A cloud of points, without faces, is refused."""
    elements, encoding, body, lines = _header(data, name)
    names = [element.name for element in elements]
    if names.count("vertex") != 1 or names.count("face") > 1:
        raise AssetError("one element 'vertex' and one 'face' are expected", file=name)
    if "face" not in names or elements[names.index("face")].count == 0:
        raise AssetError("is a cloud of points: it has no triangles", file=name)
    vertices, faces = (elements[names.index(title)].count for title in ("vertex", "face"))
    limits.check(vertices, "vertices", name)
    limits.check_on(vertices, faces, "triangles", name)
    if encoding == "ascii":
        points, corners, counts = _read_text(Words(data[body:], name, first_line=lines + 1), elements)
    else:
        order = "<" if encoding == "binary_little_endian" else ">"
        points, corners, counts = _read_binary(data, body, name, elements, order)
    limits.check_on(len(points), int((counts - 2).clip(0).sum()), "triangles", name)
    if len(corners) and (corners.min() < 0 or corners.max() >= len(points)):
        bad = int(np.argmax((corners < 0) | (corners >= len(points))))
        message = f"a face names vertex {corners[bad]}; there are {len(points)}, counted from 0"
        raise AssetError(message, file=name)
    return points, triangulate(points, corners, counts, name)


def _header(data: bytes, name: str) -> tuple[list[_Element], str, int, int]:
    """The elements, the encoding, where the body begins and how many lines stand above it."""
    end = data.find(b"end_header", 0, _HEADER_BYTES)
    after = data.find(b"\n", end, end + 16) + 1 if end >= 0 else 0
    if not data.startswith((b"ply\n", b"ply\r\n")) or not after:
        raise AssetError("does not begin with a PLY header that ends in 'end_header'", file=name)
    elements: list[_Element] = []
    encoding, entries = "", 0
    for number, line in enumerate(data[:end].decode("latin-1").split("\n")[1:], 2):
        words = line.split()
        if not words or words[0] in ("comment", "obj_info"):
            continue
        entries += 1
        try:
            if words[0] == "format" and words[1] in ("ascii", "binary_little_endian", "binary_big_endian"):
                encoding = words[1]
            elif words[0] == "element" and words[2].isascii() and words[2].isdecimal() and len(words[2]) < 16:
                elements.append(_Element(words[1], int(words[2])))
            elif words[0] == "property":
                elements[-1].properties.append(_property(words))
            else:
                raise KeyError
        except (KeyError, IndexError):
            message = f"this line of the header is not understood: {line.strip()[:60]!r}"
            raise AssetError(message, file=name, line=number) from None
        if entries > _ENTRIES:
            raise AssetError(f"the header has more than {_ENTRIES} elements and properties", file=name, line=number)
    if not encoding:
        raise AssetError("the header has no line 'format'", file=name)
    return elements, encoding, after, data.count(b"\n", 0, after)


def _property(words: list[str]) -> _Property:
    if words[1] == "list":
        counts = np.dtype(_TYPES[words[2]])
        if counts.kind == "f":
            raise KeyError
        return _Property(words[4], np.dtype(_TYPES[words[3]]), counts)
    return _Property(words[2], np.dtype(_TYPES[words[1]]))


def _place(element: _Element, wanted: tuple[str, ...], is_list: bool, name: str) -> int:
    """Where a property stands in its element."""
    for place, entry in enumerate(element.properties):
        if entry.name in wanted and (entry.count_dtype is not None) == is_list:
            return place
    raise AssetError(f"element '{element.name}' has no {'list ' if is_list else ''}property '{wanted[0]}'", file=name)


def _axes(element: _Element, name: str) -> list[int]:
    if any(entry.count_dtype is not None for entry in element.properties):
        raise AssetError("lists among the properties of vertices are not read", file=name)
    return [_place(element, (axis,), False, name) for axis in "xyz"]


def _read_text(text: Words, elements: list[_Element]):
    """Points, and corners and counts of faces, from one line for each of the elements' entries."""
    row = 0
    points, corners, counts = np.zeros((0, 3)), np.zeros(0, np.int64), np.zeros(0, np.int64)
    for element in elements:
        rows = np.arange(row, row + element.count) if element.count <= len(text) - row else None
        if rows is None:
            message = f"{element.count} entries of '{element.name}' are announced, {len(text) - row} lines follow"
            raise AssetError(f"{message}: it is cut off or damaged", file=text.name)
        row += element.count
        if element.name == "vertex":
            axes = _axes(element, text.name)
            short = np.flatnonzero(text.count[rows] < len(element.properties))
            if len(short):
                raise text.error("a vertex has fewer numbers than properties", int(rows[short[0]]))
            points = text.numbers(text.start[rows][:, None] + np.array(axes), np.float64, "a vertex")
        elif element.name == "face":
            corners, counts = _text_faces(text, rows, element)
    return points, corners, counts


def _text_faces(text: Words, rows: np.ndarray, element: _Element) -> tuple[np.ndarray, np.ndarray]:
    place = _place(element, _INDICES, True, text.name)
    at = text.start[rows].copy()
    end = at + text.count[rows]
    for entry in element.properties[: place + 1]:
        beyond = np.flatnonzero(at >= end)
        if len(beyond):
            raise text.error("a face has fewer numbers than properties", int(rows[beyond[0]]))
        if entry.count_dtype is None:
            at += 1
            continue
        counts = text.numbers(at, np.int64, "the length of a list")
        bad = np.flatnonzero((counts < 0) | (counts >= end - at))
        if len(bad):
            raise text.error("a face has fewer numbers than it says", int(rows[bad[0]]))
        at += 1 + counts
    positions, _ = list_places(at - counts, counts)
    return text.numbers(positions, np.int64, "an index of a face"), counts


def _read_binary(data: bytes, at: int, name: str, elements: list[_Element], order: str):
    points, corners, counts = np.zeros((0, 3)), np.zeros(0, np.int64), np.zeros(0, np.int64)
    for element in elements:
        lists = [entry for entry in element.properties if entry.count_dtype is not None]
        least = sum((entry.count_dtype or entry.dtype).itemsize for entry in element.properties)
        if element.count * least > len(data) - at or (least == 0 and element.count):
            message = f"{element.count} entries of '{element.name}' need at least {element.count * least} bytes"
            raise AssetError(f"{message}, {len(data) - at} follow: it is cut off or damaged", file=name)
        if element.name == "vertex":
            axes = _axes(element, name)
            table = np.frombuffer(data, _record(element, order), element.count, at)
            points = np.stack([table[f"p{axis}"].astype(np.float64) for axis in axes], axis=1)
            at += element.count * least
        elif element.name == "face":
            wanted = _place(element, _INDICES, True, name)
            at, starts, counts = _walk(data, at, name, element, wanted, order)
            corners = _gather(data, starts, counts, element.properties[wanted].dtype.newbyteorder(order))
        elif lists and element.count > LISTS:
            raise AssetError(f"element '{element.name}' has lists and more than {LISTS} entries", file=name)
        elif lists:
            at, _, _ = _walk(data, at, name, element, 0, order)
        else:
            at += element.count * least
    return points, corners, counts


def _record(element: _Element, order: str) -> np.dtype:
    """One entry without lists, as a record with fields p0, p1, ..."""
    return np.dtype([(f"p{place}", entry.dtype.newbyteorder(order)) for place, entry in enumerate(element.properties)])


def _walk(data: bytes, at: int, name: str, element: _Element, wanted: int, order: str):
    """Where an element with lists ends; where in the data the wanted list of each entry begins, and its length."""
    lists = [place for place, entry in enumerate(element.properties) if entry.count_dtype is not None]
    if lists == [wanted] and (found := _alike(data, at, element, wanted, order)):
        return found
    steps = [
        (place == wanted, (entry.count_dtype or entry.dtype).itemsize, entry.dtype.itemsize, entry.count_dtype)
        for place, entry in enumerate(element.properties)
    ]
    endian = "little" if order == "<" else "big"
    starts, lengths, end = [], [], len(data)
    for index in range(element.count):
        for is_wanted, head, item, is_list in steps:
            start = at + head
            if is_list:
                length = data[at] if head == 1 and at < end else int.from_bytes(data[at:start], endian)
                at = start + length * item
                if is_wanted:
                    starts.append(start)
                    lengths.append(length)
            else:
                at = start
        if at > end:
            message = f"entry {index} of '{element.name}' reaches beyond the end: it is cut off or damaged"
            raise AssetError(message, file=name)
    return at, np.array(starts, np.int64), np.array(lengths, np.int64)


def _alike(data: bytes, at: int, element: _Element, wanted: int, order: str):
    """What ``_walk`` finds, at once, where the list of all entries is as long as that of the first; else None."""
    head = sum(entry.dtype.itemsize for entry in element.properties[:wanted])
    tail = sum(entry.dtype.itemsize for entry in element.properties[wanted + 1 :])
    entry = element.properties[wanted]
    count_dtype = entry.count_dtype.newbyteorder(order)
    start = head + count_dtype.itemsize
    if at + start > len(data):
        return None
    length = int(np.frombuffer(data, count_dtype, 1, at + head)[0])
    step = start + length * entry.dtype.itemsize + tail
    if length < 0 or at + step * element.count > len(data):
        return None
    lengths = np.ndarray((element.count,), count_dtype, data, at + head, (step,))
    if (lengths != length).any():
        return None
    return at + step * element.count, at + start + step * np.arange(element.count), np.full(element.count, length)


def _gather(data: bytes, starts: np.ndarray, lengths: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """All items of lists one after another, as int64."""
    text = np.frombuffer(data, np.uint8)
    items = np.empty(int(lengths.sum()), np.int64)
    ends = np.cumsum(lengths)
    by_length = np.argsort(lengths, kind="stable")
    distinct, firsts = np.unique(lengths[by_length], return_index=True)
    for length, lists in zip(distinct.tolist(), np.split(by_length, firsts[1:]), strict=True):
        for at in range(0, len(lists), BLOCK):
            block = lists[at : at + BLOCK]
            raw = text[starts[block][:, None] + np.arange(length * dtype.itemsize)]
            items[(ends[block] - length)[:, None] + np.arange(length)] = raw.view(dtype) if length else 0
    return items
