"""Triangles as read made into a mesh: vertices merged, triangles of no use dropped and counted, windings made alike."""

from __future__ import annotations

import numpy as np

from simengine.builder.meshes.mesh_file import LARGEST, MeshFile, MeshLimits
from simengine.errors import AssetError
from simengine.rows import number_rows
from simengine.surfaces import heights, is_pinched, signed_volumes

SLIVER = 1e-12  # the height of a triangle over its longest edge, below which it is a line
WELD = 4.0 * 2.0**-24  # relative to the largest coordinate: twice the spacing of numbers in float32
SMALL, LARGE = 1e-4, 100.0  # m: parts of robots are in between


def clean(
    vertices: np.ndarray,
    triangles: np.ndarray,
    name: str,
    limits: MeshLimits,
    repairs: list[str],
    keep_all: bool = False,
) -> MeshFile:
    """Check and mend what a reader found: vertices (n, 3), triangles (m, 3) whole numbers.

    Vertices that no triangle uses are left out, equal ones are merged; triangles with a repeated vertex, of zero area,
    and repeated ones are dropped and counted in ``repairs``. ``keep_all``: vertices without a triangle and repeated
    triangles stay, and nothing is merged but what is equal.

    Raises:
        AssetError: no triangles (left), more than the cap, indices that lead nowhere, coordinates not finite.
    """
    if len(triangles) == 0:
        raise AssetError("the mesh has no triangles", file=name)
    limits.check(len(vertices), "vertices", name)
    limits.check_on(len(vertices), len(triangles), "triangles", name)
    if triangles.min() < 0 or triangles.max() >= len(vertices):
        raise AssetError(f"a triangle names a vertex outside 0 to {len(vertices) - 1}", file=name)
    used = np.full(len(vertices), keep_all)
    used[triangles.reshape(-1)] = True
    _check_finite(vertices, used, name)
    if not used.all():
        triangles = (np.cumsum(used) - 1)[triangles]
        vertices = vertices[used]
    first, label = number_rows(vertices)
    points, triangles = vertices[first] + 0.0, label.astype(np.int32)[triangles]  # + 0.0 makes -0 into 0
    triangles = _drop_pinched(triangles, repairs)
    if not keep_all:
        triangles = _drop_repeated(triangles, repairs)
        points, triangles = _weld(points, triangles, repairs)
    triangles = _drop_flat(points, triangles, repairs)
    if len(triangles) == 0:
        raise AssetError("all triangles of the mesh are degenerate", file=name)
    return MeshFile(np.ascontiguousarray(points), np.ascontiguousarray(triangles), repairs)


def _check_finite(vertices: np.ndarray, used: np.ndarray, name: str) -> None:
    bad = np.flatnonzero(used & ~(np.abs(vertices) <= LARGEST).all(axis=1))  # NaN compares false
    if len(bad):
        where = f"the first is number {bad[0]}, at {vertices[bad[0]]}"
        raise AssetError(f"{len(bad)} vertices are not finite or beyond {LARGEST:g}: {where}", file=name)


def _weld(points: np.ndarray, triangles: np.ndarray, repairs: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Merge vertices that differ by round-off, as programs write them who compute each triangle alone (STL).

    Only where this closes a surface that is open. Along each axis, coordinates with smaller gaps than the round-off
    count as one.
    """
    if is_closed(triangles):
        return points, triangles
    gap = WELD * np.abs(points).max()
    ranks = np.empty(points.shape, np.int64)
    for axis in range(3):
        order = np.argsort(points[:, axis])
        ranks[order, axis] = np.cumsum(np.diff(points[order, axis], prepend=-np.inf) > gap)
    first, label = number_rows(ranks)
    welded, notes = label.astype(np.int32)[triangles], []
    kept = _drop_repeated(_drop_pinched(welded, notes), notes)
    # a mesh that is smaller than the round-off of its place would vanish
    if len(first) == len(points) or 2 * len(kept) < len(triangles) or not is_closed(kept):
        return points, triangles
    repairs.extend([f"{len(points) - len(first)} vertices within round-off of others merged", *notes])
    return points[first], kept


def _drop_pinched(triangles: np.ndarray, repairs: list[str]) -> np.ndarray:
    pinched = is_pinched(triangles)
    if not pinched.any():
        return triangles
    repairs.append(f"{int(pinched.sum())} triangles with a repeated vertex dropped")
    return triangles[~pinched]


def _drop_repeated(triangles: np.ndarray, repairs: list[str]) -> np.ndarray:
    """Drop triangles that repeat another one with the same winding; a back side in the same place stays."""
    turn = np.argmin(triangles, axis=1)[:, None]
    first, _ = number_rows(np.take_along_axis(triangles, (turn + np.arange(3)) % 3, axis=1))
    if len(first) == len(triangles):
        return triangles
    repairs.append(f"{len(triangles) - len(first)} repeated triangles dropped")
    return triangles[first]


def _drop_flat(points: np.ndarray, triangles: np.ndarray, repairs: list[str]) -> np.ndarray:
    """Drop triangles whose corners lie in a line."""
    height, longest = heights(points, triangles)
    flat = height <= SLIVER * longest
    # dropping one may tear a surface that is closed now; there it stays, it has no area or volume
    if not flat.any() or (is_closed(triangles) and not is_closed(triangles[~flat])):
        return triangles
    repairs.append(f"{int(flat.sum())} triangles of zero area dropped")
    return triangles[~flat]


def is_closed(triangles: np.ndarray) -> bool:
    """Whether each edge is passed as often one way as the other: a closed surface, wound alike."""
    start, end = _directed_edges(triangles)
    n = max(int(triangles.max(initial=0)) + 1, 1)
    return np.array_equal(np.sort(start * n + end), np.sort(end * n + start))


def _directed_edges(triangles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Start and end of the edges of all triangles: edge k, of three a triangle, from corner k to the next."""
    corners = triangles.astype(np.int64)
    return corners.reshape(-1), corners[:, [1, 2, 0]].reshape(-1)


def orient(points: np.ndarray, triangles: np.ndarray, name: str, repairs: list[str]) -> np.ndarray:
    """Wind the triangles (m, 3) alike, by a walk over the edges that two of them share, and outwards.

    A piece that was wound alike keeps its sense, so that a cavity stays one; a piece that had to be mended is turned
    so that its signed volume is positive; a surface inside out as a whole is turned. The count goes into ``repairs``.

    Raises:
        AssetError: there is no such winding (a one-sided surface).
    """
    piece, is_turned = _walk(triangles, name)
    turned = np.where(is_turned[:, None], triangles[:, ::-1], triangles)
    middle = points.mean(axis=0)
    volumes = np.bincount(piece, signed_volumes(points, turned, middle))
    mended = np.bincount(piece, is_turned) > 0
    is_turned ^= (mended & (volumes < 0))[piece]
    turned = np.where(is_turned[:, None], triangles[:, ::-1], triangles)
    if signed_volumes(points, turned, middle).sum() < 0 and is_closed(turned):
        is_turned = ~is_turned
        turned = triangles[:, ::-1] if is_turned.all() else np.where(is_turned[:, None], triangles[:, ::-1], triangles)
    if is_turned.any():
        repairs.append(f"{int(is_turned.sum())} triangles turned over, so that all look outwards")
    return np.ascontiguousarray(turned)


def _walk(triangles: np.ndarray, name: str) -> tuple[np.ndarray, np.ndarray]:
    """The piece of each triangle, and whether it is wound against the first of its piece."""
    neighbors = _neighbors(triangles)
    piece, is_turned = [-1] * len(triangles), [False] * len(triangles)
    pieces = 0
    for seed in range(len(triangles)):
        if piece[seed] >= 0:
            continue
        piece[seed], stack = pieces, [seed]
        while stack:
            at = stack.pop()
            for other, is_against in neighbors[at]:
                wanted = is_turned[at] != is_against
                if piece[other] < 0:
                    piece[other], is_turned[other] = pieces, wanted
                    stack.append(other)
                elif is_turned[other] != wanted:
                    raise AssetError("the triangles cannot be wound alike: the surface has one side only", file=name)
        pieces += 1
    return np.array(piece), np.array(is_turned)


def _neighbors(triangles: np.ndarray) -> list[list[tuple[int, bool]]]:
    """For each triangle those beyond the edges that two share, and whether both pass the edge the same way."""
    start, end = _directed_edges(triangles)
    low, high = np.minimum(start, end), np.maximum(start, end)
    _, label = number_rows(np.stack([low, high], axis=1))
    order = np.argsort(label, kind="stable")
    count = np.bincount(label)
    firsts = (np.cumsum(count) - count)[count == 2]
    one, two = order[firsts], order[firsts + 1]
    neighbors: list[list[tuple[int, bool]]] = [[] for _ in range(len(triangles))]
    for i, j, is_against in zip(
        (one // 3).tolist(), (two // 3).tolist(), (start[one] == start[two]).tolist(), strict=True
    ):
        neighbors[i].append((j, is_against))
        neighbors[j].append((i, is_against))
    return neighbors


def size_problem(vertices: np.ndarray, unit: float = 1.0) -> str:
    """What is implausible about the extent of a mesh (vertices times ``unit`` in m) of a robot; else empty."""
    extent = float(np.ptp(vertices, axis=0).max()) * abs(unit)
    if extent > LARGE:
        return f"it is {extent:.4g} m large: is it in millimetres? Give it scale='0.001 0.001 0.001'"
    if extent < SMALL:
        return f"it is {extent:.4g} m large: is its scale given twice?"
    return ""
