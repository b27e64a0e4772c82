"""Gmsh's .msh, versions 2.2 and 4.1, text and binary: nodes, triangles and tetrahedra. Other sections are passed over.

Source of the layout: the Gmsh reference manual, "File formats".
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from simengine.builder.meshes.mesh_file import MeshLimits
from simengine.builder.meshes.polygons import triangulate
from simengine.builder.meshes.tetra import clean_tetrahedra
from simengine.builder.meshes.words import Words, parse_numbers
from simengine.errors import AssetError
from simengine.rows import number_rows

BLOCKS = 20_000  # of nodes, and of elements: one an entity of the geometry
# nodes of an element, by its type
_NODES = {
    1: 2, 2: 3, 3: 4, 4: 4, 5: 8, 6: 6, 7: 5, 8: 3, 9: 6, 10: 9, 11: 10, 12: 27, 13: 18, 14: 14, 15: 1, 16: 8, 17: 20,
    18: 15, 19: 13, 20: 9, 21: 10, 22: 12, 23: 15, 24: 15, 25: 21, 26: 4, 27: 5, 28: 6, 29: 20, 30: 35, 31: 56, 92: 64,
    93: 125,
}  # fmt: skip
_TRIANGLES, _QUADRANGLES, _TETRAHEDRA = (2, 9, 20, 21, 22, 23, 24, 25), (3, 10, 16), (4, 11, 29, 30, 31)
_POINTS_AND_LINES = (1, 8, 15, 26, 27, 28)
_TITLES = {title: re.compile(rb"\$" + title.encode() + rb"[ \t]*\r?\n") for title in ("Nodes", "Elements")}
_FORMAT = re.compile(rb"\s*\$MeshFormat\s+([0-9.]{1,8})\s+([01])\s+([0-9]{1,2})[ \t]*\r?\n")


@dataclass
class GmshFile:
    """Points (n, 3), and of each type of element the indices (m, corners of the type) of its points."""

    points: np.ndarray
    elements: dict[int, np.ndarray]

    def corners(self, types: tuple[int, ...], count: int) -> np.ndarray:
        """The first ``count`` points, its corners, of each element of these types."""
        found = [self.elements[kind][:, :count] for kind in types if kind in self.elements]
        return np.concatenate(found) if found else np.zeros((0, count), np.int64)


def is_gmsh(data: bytes) -> bool:
    """Whether a .msh is Gmsh's, not MuJoCo's."""
    return b"$MeshFormat" in data[:4096]


def read_gmsh_tetrahedra(data: bytes, name: str, limits: MeshLimits, repairs: list[str]):
    """Vertices (n, 3) and tetrahedra (m, 4) as in the file."""
    file = read_gmsh(data, name, limits)
    _note(file, _TETRAHEDRA, repairs)
    return file.points, file.corners(_TETRAHEDRA, 4)


def read_gmsh_surface(data: bytes, name: str, limits: MeshLimits, repairs: list[str]):
    """Vertices (n, 3) and triangles (m, 3): the surface of the tetrahedra, or where there are none the triangles."""
    file = read_gmsh(data, name, limits)
    tetrahedra = file.corners(_TETRAHEDRA, 4)
    _note(file, _TETRAHEDRA if len(tetrahedra) else _TRIANGLES + _QUADRANGLES, repairs)
    if len(tetrahedra):
        solid = clean_tetrahedra(file.points, tetrahedra, name, limits, repairs)
        return solid.vertices, solid.surface
    triangles, quadrangles = file.corners(_TRIANGLES, 3), file.corners(_QUADRANGLES, 4)
    pieces = triangulate(file.points, quadrangles.reshape(-1), np.full(len(quadrangles), 4), name)
    return file.points, np.concatenate([triangles, pieces.reshape(-1, 3)])


def _note(file: GmshFile, types: tuple[int, ...], repairs: list[str]) -> None:
    """Count, of the elements, those of ``types`` that are curved, and volumes that are no tetrahedra."""
    counts = {kind: len(rows) for kind, rows in file.elements.items()}
    curved = sum(count for kind, count in counts.items() if kind in types and _NODES[kind] > 4)
    known = _TETRAHEDRA + _TRIANGLES + _QUADRANGLES + _POINTS_AND_LINES
    others = sum(count for kind, count in counts.items() if kind not in known)
    if curved:
        repairs.append(f"{curved} elements with curved sides made straight")
    if others:
        repairs.append(f"{others} elements of other kinds left out")


def read_gmsh(data: bytes, name: str, limits: MeshLimits) -> GmshFile:
    """Points and elements of a file.

    Raises:
        AssetError: another version, sections that are absent or cut off, counts that do not fit, unknown or repeated
            numbers of nodes.
    """
    header = _FORMAT.match(data)
    if not header:
        raise AssetError("has no line of version, kind and size after $MeshFormat", file=name, line=2)
    version, is_binary, size = header[1].decode(), header[2] == b"1", int(header[3])
    if version not in ("2.2", "4.1", "2", "2.0", "2.1") or size != 8:
        raise AssetError(f"is version {version} with {size}-byte numbers: save it as 4.1 or 2.2", file=name, line=2)
    order = "<"
    if is_binary:
        order = ">" if data[header.end() : header.end() + 4] == b"\0\0\0\1" else "<"
    new = version == "4.1"
    body, end = _section(data, header.end(), "Nodes", name)
    source = _Binary(data, body, order, name, "Nodes") if is_binary else _Text(data[body:end], name, "Nodes")
    tags, points = (_new_nodes if new else _old_nodes)(source, limits)
    source.close()
    at = source.at if is_binary else end
    body, end = _section(data, at, "Elements", name)
    source = _Binary(data, body, order, name, "Elements") if is_binary else _Text(data[body:end], name, "Elements")
    elements = (_new_elements if new else _old_elements)(source, limits)
    source.close()
    return GmshFile(points, _indexed(tags, elements, name))


def _section(data: bytes, at: int, title: str, name: str) -> tuple[int, int]:
    """Where the content of a section begins and ends (for binary content: a first guess of the end)."""
    begin = _TITLES[title].search(data, at)
    end = data.find(b"$End" + title.encode(), begin.end()) if begin else -1
    if end < 0:
        raise AssetError(f"has no whole section ${title}: it is cut off or damaged", file=name)
    return begin.end(), end


class _Text:
    """The numbers of a section in order; ``at`` is the next word."""

    def __init__(self, text: bytes, name: str, title: str):
        self.words, self.at, self.name, self.title = Words(text, name), 0, name, title
        self.total = len(self.words.begin)

    def error(self, message: str) -> AssetError:
        return AssetError(f"section ${self.title}: {message}", file=self.name)

    def take(self, count: int, kind: str) -> np.ndarray:
        """The next numbers. ``kind``: "i4", "i8" (whole) or "f8"."""
        if count > self.total - self.at:
            raise self.error(f"{count} numbers are expected, {self.total - self.at} follow: it is cut off")
        if count == 0:
            return np.zeros(0, np.float64 if kind == "f8" else np.int64)
        begin, end = self.words.begin[self.at], self.words.end[self.at + count - 1]
        self.at += count
        numbers = parse_numbers(self.words.text[begin:end].tobytes(), np.float64 if kind == "f8" else np.int64)
        if len(numbers) != count:
            raise self.error("a word is not a number, or a line has too few")
        return numbers

    def whole(self, kind: str = "i8") -> int:
        return int(self.take(1, kind)[0])

    def room(self, rows: int, numbers: int, size: int) -> None:
        """Refuse a count of rows, of so many numbers, that what follows cannot hold."""
        if not 0 <= rows * numbers <= self.total - self.at:
            raise self.error(f"counts {rows} rows, but {self.total - self.at} numbers follow: it is damaged")

    def close(self) -> None:
        if self.at != self.total:
            raise self.error(f"{self.total - self.at} numbers more than it counts: it is damaged")


class _Binary:
    """The same for a binary section; ``at`` is a place in the file."""

    def __init__(self, data: bytes, at: int, order: str, name: str, title: str):
        self.data, self.at, self.order, self.name, self.title = data, at, order, name, title

    error = _Text.error

    def take(self, count: int, kind: str) -> np.ndarray:
        dtype = np.dtype(self.order + kind)
        self.room(count, 1, dtype.itemsize)
        numbers = np.frombuffer(self.data, dtype, count, self.at)
        self.at += numbers.nbytes
        return numbers.astype(np.float64 if kind == "f8" else np.int64)

    def whole(self, kind: str = "i8") -> int:
        return int(self.take(1, kind)[0])

    def room(self, rows: int, numbers: int, size: int) -> None:
        if not 0 <= rows * numbers * size <= len(self.data) - self.at:
            raise self.error(f"counts {rows} rows, but {len(self.data) - self.at} bytes follow: it is damaged")

    def close(self) -> None:
        if not self.data[self.at : self.at + 32].lstrip().startswith(b"$End" + self.title.encode()):
            raise self.error("does not end where its counts say: it is damaged")

    def text_count(self) -> int:
        """A line with a number as text, as version 2 has it in binary files too."""
        end = self.data.find(b"\n", self.at, self.at + 24)
        word = self.data[self.at : end].strip()
        if end < 0 or not word.isdigit():
            raise self.error("has no line with its count")
        self.at = end + 1
        return int(word)


def _old_nodes(source, limits: MeshLimits) -> tuple[np.ndarray, np.ndarray]:
    """Version 2: a count, then for each node its number and three coordinates."""
    count = source.text_count() if isinstance(source, _Binary) else source.whole()
    limits.check(count, "vertices", source.name)
    source.room(count, 4, 7)  # 28 bytes
    if isinstance(source, _Binary):
        record = np.dtype([("tag", source.order + "i4"), ("point", source.order + "f8", 3)])
        table = np.frombuffer(source.data, record, count, source.at)
        source.at += table.nbytes
        return table["tag"].astype(np.int64), table["point"].astype(np.float64)
    rows = source.take(4 * count, "f8").reshape(-1, 4)
    if (rows[:, 0] != np.floor(rows[:, 0])).any() or (np.abs(rows[:, 0]) > 2**53).any():
        raise source.error("the number of a node is not whole: a line has too few or too many numbers")
    return rows[:, 0].astype(np.int64), rows[:, 1:]


def _new_nodes(source, limits: MeshLimits) -> tuple[np.ndarray, np.ndarray]:
    """Version 4.1: blocks of numbers, then coordinates (and parameters on the entity, where it says so)."""
    blocks, total = _block_counts(source)
    limits.check(total, "vertices", source.name)
    source.room(total, 4, 8)
    tags, points, found = [np.zeros(0, np.int64)], [np.zeros((0, 3))], 0
    for _ in range(blocks):
        dimension, _, parametric = source.take(3, "i4").tolist()
        count = source.whole()
        width = 3 + (dimension if parametric else 0)
        if not 3 <= width <= 6:
            raise source.error(f"an entity has dimension {dimension}")
        source.room(count, 1 + width, 8)
        found += count
        tags.append(source.take(count, "i8"))
        points.append(source.take(count * width, "f8").reshape(-1, width)[:, :3])
    if found != total:
        raise source.error(f"counts {total} nodes, but its blocks hold {found}")
    return np.concatenate(tags), np.concatenate(points)


def _block_counts(source) -> tuple[int, int]:
    """The number of blocks and of what they hold; the smallest and largest number follow and are passed over."""
    blocks, total, _, _ = source.take(4, "i8").tolist()
    if not 0 <= blocks <= BLOCKS:
        raise source.error(f"has {blocks} blocks, more than the cap of {BLOCKS}")
    source.room(total, 1, 8)
    return blocks, total


def _old_elements(source, limits: MeshLimits) -> dict[int, list[np.ndarray]]:
    """Version 2: number, type, count of tags, tags, nodes; in binary, one header for several alike."""
    if isinstance(source, _Binary):
        count = source.text_count()
        limits.check(count, "tetrahedra", source.name)
        source.room(count, 1, 4)
        available = (len(source.data) - source.at) // 4
        stream = np.frombuffer(source.data, source.order + "i4", available, source.at).astype(np.int64)
        runs, end = _binary_runs(source, stream, count)
        source.at += 4 * end
    else:
        count = source.whole()
        limits.check(count, "tetrahedra", source.name)
        source.room(count, 4, 1)
        stream = source.take(source.total - 1, "i8")
        runs = _text_runs(source, stream, count)
    return _gathered(stream, runs)


def _text_runs(source: _Text, stream: np.ndarray, count: int) -> list[tuple[int, int, int, int]]:
    """As ``_binary_runs``, from lines that are each an element with a header of its own."""
    numbers, at, runs = stream.tolist(), 0, []
    width = len(numbers) // count if count else 0
    if width > 3 and width * count == len(numbers):
        lines = stream.reshape(count, width)
        kind, tags = numbers[1:3]
        if (lines[:, 1:3] == [kind, tags]).all() and width == 3 + tags + _NODES.get(kind, 0) and tags >= 0:
            return [(kind, 3 + tags, count, width)]
    for _ in range(count):
        kind, tags = numbers[at + 1 : at + 3] if at + 3 <= len(numbers) else (0, 0)
        if kind not in _NODES or not 0 <= tags <= len(numbers):
            raise source.error(f"element {len(runs) + 1} has type {kind} and {tags} tags: it is cut off or damaged")
        runs.append((kind, at + 3 + tags, 1, 0))
        at += 3 + tags + _NODES[kind]
    if at != len(numbers):
        raise source.error(f"counts {count} elements, which need {at} numbers; {len(numbers)} follow: it is damaged")
    return runs


def _binary_runs(source: _Binary, stream: np.ndarray, count: int) -> tuple[list, int]:
    """Of each header: type, place of the first node, number of elements, step to the next; and where the last ends."""
    at, found, runs = 0, 0, []
    while found < count:
        kind, number, tags = stream[at : at + 3].tolist() if at + 3 <= len(stream) else (0, 0, 0)
        step = 1 + tags + _NODES.get(kind, 0)
        if kind not in _NODES or number < 1 or tags < 0 or number * step > len(stream) - at - 3:
            raise source.error(f"a header of {number} elements of type {kind} with {tags} tags: it is damaged")
        runs.append((kind, at + 4 + tags, number, step))
        at += 3 + number * step
        found += number
    if found != count:
        raise source.error(f"counts {count} elements, but holds {found}")
    return runs, at


def _gathered(stream: np.ndarray, runs: list[tuple[int, int, int, int]]) -> dict[int, list[np.ndarray]]:
    """The numbers of the nodes of all elements, by type."""
    table = np.array(runs, np.int64).reshape(-1, 4)
    elements = {}
    for kind in np.unique(table[:, 0]).tolist():
        _, first, number, step = table[table[:, 0] == kind].T
        within = np.arange(number.sum()) - np.repeat(np.cumsum(number) - number, number)
        start = np.repeat(first, number) + within * np.repeat(step, number)
        elements[kind] = [stream[start[:, None] + np.arange(_NODES[kind])]]
    return elements


def _new_elements(source, limits: MeshLimits) -> dict[int, list[np.ndarray]]:
    """Version 4.1: blocks of elements of one type, each its number and its nodes."""
    blocks, total = _block_counts(source)
    limits.check(total, "tetrahedra", source.name)
    elements: dict[int, list[np.ndarray]] = {}
    found = 0
    for _ in range(blocks):
        _, _, kind = source.take(3, "i4").tolist()
        count = source.whole()
        if kind not in _NODES:
            raise source.error(f"has elements of type {kind}, which is not known")
        source.room(count, 1 + _NODES[kind], 8)
        found += count
        rows = source.take(count * (1 + _NODES[kind]), "i8").reshape(-1, 1 + _NODES[kind])
        elements.setdefault(kind, []).append(rows[:, 1:])
    if found != total:
        raise source.error(f"counts {total} elements, but its blocks hold {found}")
    return elements


def _indexed(tags: np.ndarray, elements: dict[int, list[np.ndarray]], name: str) -> dict[int, np.ndarray]:
    """Elements with the places of their nodes instead of their numbers."""
    if len(tags) == 0:
        raise AssetError("section $Nodes: has no nodes", file=name)
    first, _ = number_rows(tags[:, None])
    if len(first) < len(tags):
        raise AssetError("section $Nodes: two nodes have one number", file=name)
    order = np.argsort(tags)
    ascending = tags[order]
    result = {}
    for kind, parts in elements.items():
        numbers = np.concatenate(parts)
        place = np.searchsorted(ascending, numbers)
        found = (place < len(tags)) & (ascending[np.minimum(place, len(tags) - 1)] == numbers)
        if not found.all():
            raise AssetError(f"an element names node {numbers[~found][0]}, which is not in $Nodes", file=name)
        result[kind] = order[place]
    return result
