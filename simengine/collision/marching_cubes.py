"""The cases of marching cubes (Lorensen and Cline 1987), derived rather than listed.

Corner c of a cell is at (c & 1, c >> 1 & 1, c >> 2). Edge 4 axis + k starts at the k-th of the corners that are at 0
along the axis. On each face of the cell the surface runs so that every run of inside corners is cut off by itself: that
depends on the face alone, so neighbouring cells agree, also where four edges of a face are crossed, and the surface
has no cracks.
"""

from __future__ import annotations

import functools

import numpy as np


def _edge(a: int, b: int) -> int:
    """The edge between two corners."""
    low, axis = min(a, b), (a ^ b).bit_length() - 1
    starts = [corner for corner in range(8) if not corner >> axis & 1]
    return 4 * axis + starts.index(low)


def _faces() -> list[list[int]]:
    """The four corners of each face, counter-clockwise seen from outside."""
    found = []
    for axis in range(3):
        u, v = 1 << (axis + 1) % 3, 1 << (axis + 2) % 3  # u, v and the axis are right-handed
        ring = [0, u, u | v, v]
        found.append([corner | 1 << axis for corner in ring])
        found.append(ring[::-1])
    return found


FACES = _faces()


def _segments(inside: int) -> dict[int, int]:
    """From each crossed edge to the next on the surface's boundary: over the face on which the inside begins there."""
    follows = {}
    for ring in FACES:
        for k in range(4):
            before, corner = ring[k - 1], ring[k]
            if inside >> before & 1 or not inside >> corner & 1:
                continue
            last = k
            while inside >> ring[(last + 1) % 4] & 1:
                last += 1
            leaves = _edge(ring[last % 4], ring[(last + 1) % 4])
            follows[_edge(before, corner)] = leaves
    return follows


def _polygons(inside: int) -> list[list[int]]:
    """The loops of crossed edges, each turning counter-clockwise seen from outside of the surface."""
    follows, loops = _segments(inside), []
    while follows:
        start = next(iter(follows))
        loop = [start]
        while (edge := follows.pop(loop[-1])) != start:
            loop.append(edge)
        loops.append(loop)
    return loops


def _on_a_face(a: int, b: int) -> bool:
    """Whether two edges of the cell lie on one of its faces."""
    return any({*_ends(a), *_ends(b)} <= set(ring) for ring in FACES)


def _ends(edge: int) -> tuple[int, int]:
    axis, number = divmod(edge, 4)
    start = [corner for corner in range(8) if not corner >> axis & 1][number]
    return start, start | 1 << axis


def _triangles(loop: list[int]) -> list[tuple[int, int, int]] | None:
    """The loop cut into triangles by diagonals within the cell.

    A diagonal on a face could be the neighbour's as well, and four triangles would meet at it.
    """
    if len(loop) == 3:
        return [tuple(loop)]
    first, second = loop[0], loop[1]
    for k in range(2, len(loop)):
        sides = [(second, loop[k])] if k > 2 else []
        sides += [(first, loop[k])] if k < len(loop) - 1 else []
        if any(_on_a_face(*side) for side in sides):
            continue
        left = _triangles(loop[1 : k + 1]) if k > 2 else []
        right = _triangles([first, *loop[k:]]) if k < len(loop) - 1 else []
        if left is not None and right is not None:
            return [(first, second, loop[k]), *left, *right]
    return None


@functools.cache
def table() -> np.ndarray:
    """(256, 1 + 3 m) int32: for each set of inside corners the number of triangles, then their edges by threes."""
    rows = []
    for inside in range(256):
        rows.append([triangle for loop in _polygons(inside) for triangle in _triangles(loop)])
    most = max(len(row) for row in rows)
    result = np.zeros((256, 1 + 3 * most), np.int32)
    for inside, row in enumerate(rows):
        result[inside, 0] = len(row)
        result[inside, 1 : 1 + 3 * len(row)] = np.array(row, np.int32).reshape(-1)
    return result
