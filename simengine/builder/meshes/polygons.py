"""Polygons of a mesh file cut into triangles."""

from __future__ import annotations

import numpy as np

from simengine.errors import AssetError

ROUND_OFF = 1e-9  # relative to the largest triangle of a polygon: turned over by less than this is flat
CORNERS = 10_000  # of a polygon
WORK = 4_000_000  # corners of polygons that are no fans from their first corner, tried as centres of fans
BLOCK = 100_000  # corners at a time, so that the memory of a large file does not multiply


def triangulate(points: np.ndarray, corners: np.ndarray, counts: np.ndarray, name: str, lines=None) -> np.ndarray:
    """Cut polygons into triangles (m, 3), in the order of the file.

    A quadrangle is cut along its shorter diagonal that lies inside, a polygon of more corners as a fan from its first
    corner that sees all others.

    Args:
        points: coordinates (n, 3); corners: indices of all polygons one after another, checked to be inside;
        counts: corners of each polygon; name: the file; lines: line of each polygon, for messages.

    Raises:
        AssetError: a polygon with fewer than 3 corners, or one that no fan covers (dented from several sides).
    """
    if (counts == 3).all():
        return corners.reshape(-1, 3)
    if (counts < 3).any():
        face = int(np.argmax(counts < 3))
        raise _error(f"a face has {counts[face]} corners, fewer than 3", face, name, lines)
    if counts.max() > CORNERS:
        face = int(np.argmax(counts))
        raise _error(f"a polygon has {counts[face]} corners, more than the cap of {CORNERS}", face, name, lines)
    starts = np.cumsum(counts) - counts
    by_size = np.argsort(counts, kind="stable")
    sizes, firsts = np.unique(counts[by_size], return_index=True)
    cutter = _Cutter(points)
    pieces, owners = [], []
    for size, group in zip(sizes.tolist(), np.split(by_size, firsts[1:]), strict=True):
        step = max(BLOCK // size, 1)
        for at in range(0, len(group), step):
            faces = group[at : at + step]
            fans, is_covered = cutter.cut(corners[starts[faces][:, None] + np.arange(size)])
            if not is_covered.all():
                face = int(faces[np.argmin(is_covered)])
                problem = f"a polygon with {size} corners is not convex, nor a fan from one of its corners"
                raise _error(f"{problem}: triangulate the mesh", face, name, lines)
            pieces.append(fans.reshape(-1, 3))
            owners.append(np.repeat(faces, size - 2))
    return np.concatenate(pieces)[np.argsort(np.concatenate(owners), kind="stable")]


class _Cutter:
    """Cuts polygons into fans. The work on those that are not fans from their first corner is limited."""

    def __init__(self, points: np.ndarray):
        self.points, self.left = points, WORK

    def cut(self, polygons: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Fans (m, n - 2, 3) of polygons (m, n), and whether each turns over no triangle (m,)."""
        count, size = polygons.shape
        if size == 3:
            return polygons[:, None], np.ones(count, bool)
        vertices = self.points[polygons]
        vertices = vertices - vertices[:, :1]
        start = np.zeros(count, np.int64)
        if size == 4:
            diagonals = ((vertices[:, [2, 3]] - vertices[:, [0, 1]]) ** 2).sum(axis=2)
            start = (diagonals[:, 1] < diagonals[:, 0]).astype(np.int64)
        first = start.copy()
        is_covered = _covers(vertices, start)
        for step in range(1, size):
            dented = np.flatnonzero(~is_covered)
            self.left -= len(dented) * size
            if len(dented) == 0 or self.left < 0:
                break
            start[dented] = (first[dented] + step) % size
            is_covered[dented] = _covers(vertices[dented], start[dented])
        turned = np.take_along_axis(polygons, (start[:, None] + np.arange(size)) % size, axis=1)
        return np.stack(
            [np.repeat(turned[:, :1], size - 2, axis=1), turned[:, 1:-1], turned[:, 2:]], axis=2
        ), is_covered


def _covers(vertices: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Whether all triangles of the fans look along the polygons' normals (Newell: the sum of their areas)."""
    size = vertices.shape[1]
    turned = np.take_along_axis(vertices, ((start[:, None] + np.arange(size)) % size)[:, :, None], axis=1)
    spokes = turned[:, 1:] - turned[:, :1]
    areas = np.cross(spokes[:, :-1], spokes[:, 1:])
    along = np.einsum("mni,mi->mn", areas, areas.sum(axis=1))
    return ~(along.min(axis=1) < -ROUND_OFF * np.abs(along).max(axis=1))  # what is not finite is refused later


def _error(message: str, face: int, name: str, lines) -> AssetError:
    line = None if lines is None else int(lines[face])
    return AssetError(message if lines is not None else f"face {face}: {message}", file=name, line=line)
