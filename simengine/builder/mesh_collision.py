"""What a model holds of its meshes to collide them: trees over triangles and their neighbours, and convex hulls."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from simengine.builder.mesh_data import Mesh, convex_hull
from simengine.enums import ShapeFlag, ShapeType
from simengine.surfaces import is_pinched, signed_volumes, welded

if TYPE_CHECKING:
    from simengine.builder.distance_field import DistanceField

NODES_OF_A_BLOCK = 9**3
"""Values of a block of a distance field, as in kernels_cuda/sdf.h."""

LEAF_TRIANGLES = 4
"""Triangles of a leaf of the tree, at most."""

FACE_TILT = 1e-4
"""rad: neighbouring triangles of a hull whose normals differ by less than this are one face."""


CONVEX_SLACK = 1e-7
"""A solid is convex when its vertices are in front of no face by more than this part of its extent."""

MOST_CONVEX_TESTS = 2 * 10**8
"""Vertices times triangles of a mesh that may be asked whether it is convex: a fifth of a second."""

CONVEX_TESTS_AT_A_TIME = 2**17
"""Of them, so that their distances stay in a processor's cache."""

FLATNESS = 1e-10
"""Points this part of their extent off a plane lie in it."""


def made_once(make: Callable[[Mesh], object]) -> Callable[[Mesh], object]:
    """``make``, whose result meshes of equal content share while one of them is held."""

    @functools.wraps(make)
    def made(mesh: Mesh):
        name = make.__name__
        if name not in mesh.made:
            mesh.made[name] = make(mesh)
        return mesh.made[name]

    return made


@dataclass(frozen=True)
class Hull:
    """A convex hull with its faces as polygons. Numbers are of its own vertices and corners.

    ``points`` (n, 3); ``neighbour_start`` (n + 1,) and ``neighbour``: the vertices that an edge joins to each;
    ``normal`` (f, 3) of the faces, ``face_start`` (f + 1,) and ``corner``: their vertices, counter-clockwise.
    """

    points: np.ndarray
    neighbour_start: np.ndarray
    neighbour: np.ndarray
    normal: np.ndarray
    face_start: np.ndarray
    corner: np.ndarray


@dataclass(frozen=True)
class TriangleTree:
    """A complete binary tree of boxes over triangles: ``order`` (t,) of the leaves, ``lower``, ``upper`` (nodes, 3).

    Node 1 is the root, nodes 2 i and 2 i + 1 are below node i, node 0 is unused. ``neighbour`` (t, 3): the triangle
    across each edge, -1 none.
    """

    order: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    neighbour: np.ndarray


def collision_rows(meshes: Sequence[Mesh], shapes: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The rows of a model over ``mesh_nodes`` and hulls, float64.

    ``shapes``: its rows ``shape_type``, ``shape_mesh`` and ``shape_flags``; what collides with nothing gets neither
    tree nor hull. Raises ModelError where the points of a hull lie on one line, MissingExtraError without SciPy.
    """
    collides = (np.asarray(shapes["shape_flags"]) & ShapeFlag.COLLIDES) != 0
    kinds, of = np.asarray(shapes["shape_type"])[collides], np.asarray(shapes["shape_mesh"])[collides]
    hulled = set(of[kinds == ShapeType.CONVEX_HULL].tolist())
    fields = set(of[kinds == ShapeType.HEIGHTFIELD].tolist())
    distances = set(of[kinds == ShapeType.SDF].tolist())
    surfaces = fields | distances | set(of[kinds == ShapeType.MESH].tolist())
    hulls = [hull_of(mesh) if i in hulled else None for i, mesh in enumerate(meshes)]
    trees = [triangle_tree(mesh) if i in surfaces else None for i, mesh in enumerate(meshes)]
    seen = set(np.asarray(shapes["shape_mesh"])[np.asarray(shapes["shape_type"]) == ShapeType.HEIGHTFIELD].tolist())
    grids = [grid_of(mesh) if i in seen else (0, 0) for i, mesh in enumerate(meshes)]  # rays ask for it too
    grid_rows = {"mesh_grid": np.array(grids, np.int32).reshape(-1, 2)}
    solids = [mesh.field if i in distances else None for i, mesh in enumerate(meshes)]
    return _hull_rows(hulls) | _tree_rows(meshes, trees) | grid_rows | _field_rows(solids)


def _field_rows(fields: Sequence[DistanceField | None]) -> dict[str, np.ndarray]:
    known = [field for field in fields if field is not None]
    held = np.cumsum([0, *(len(field.node) for field in known)])
    slots = [_moved(field.slot, first) for field, first in zip(known, held, strict=False)]

    def starts(name: str) -> np.ndarray:
        return np.cumsum([0, *(0 if field is None else len(getattr(field, name)) for field in fields)]).astype(np.int32)

    def each(name: str, width: int) -> np.ndarray:
        values = [np.zeros(width) if field is None else np.reshape(getattr(field, name), width) for field in fields]
        return np.array(values, float).reshape(len(fields), width)

    return {
        "mesh_field_blocks": each("blocks", 3).astype(np.int32),
        "mesh_field_origin": each("origin", 3),
        "mesh_field_voxel": each("voxel", 1)[:, 0],
        "mesh_field_slope": each("slope", 1)[:, 0],
        "mesh_field_inner": each("inner", 4),
        "mesh_field_corner_start": starts("corner"),
        "mesh_field_block_start": starts("slot"),
        "field_corner": _joined([field.corner for field in known], (0,)),
        "field_slot": _joined(slots, (0,)).astype(np.int32),
        "field_node": _joined([field.node.reshape(len(field.node), -1) for field in known], (0, NODES_OF_A_BLOCK)),
    }


def grid_of(mesh: Mesh) -> tuple[int, int]:
    """Rows and columns of the vertices of a height field's surface, as ``mesh_data.surface_mesh`` numbers them."""
    columns = int(mesh.triangles[0, 2]) - 1
    return len(mesh.vertices) // columns, columns


# ---- hulls


@made_once
def hull_of(mesh: Mesh) -> Hull:
    """The convex hull of a mesh's vertices; of points in one plane a polygon with two faces."""
    flat = _flat_outline(mesh.vertices)
    if flat is not None:
        points, polygons = flat, [np.arange(len(flat)), np.arange(len(flat))[::-1]]
    else:
        hull = convex_hull(mesh.vertices, mesh.label)
        points, polygons = hull.vertices, _faces_of(hull.vertices, hull.triangles)
    sizes = np.array([len(polygon) for polygon in polygons])
    starts, corner = np.concatenate([[0], np.cumsum(sizes)]), np.concatenate(polygons)
    after = np.arange(len(corner)) + 1
    after[starts[1:] - 1] = starts[:-1]
    edges = np.stack([corner, corner[after]], axis=1)
    normal = np.add.reduceat(
        np.cross(
            points[corner] - points[corner[np.repeat(starts[:-1], sizes)]], points[corner[after]] - points[corner]
        ),
        starts[:-1],
    )  # twice the area
    edges = np.unique(np.concatenate([edges, edges[:, ::-1]]), axis=0)
    return Hull(
        points,
        np.searchsorted(edges[:, 0], np.arange(len(points) + 1)),
        edges[:, 1],
        normal / np.linalg.norm(normal, axis=1, keepdims=True),
        starts,
        corner,
    )


def _flat_outline(points: np.ndarray) -> np.ndarray | None:
    """The corners of the convex hull of points in one plane, in order; None where they span a solid, or only a line."""
    centred = points - points.mean(axis=0)
    _, spread, axes = np.linalg.svd(centred, full_matrices=False)
    size = spread.max(initial=0)
    if (len(spread) > 2 and spread[2] > FLATNESS * size) or len(spread) < 2 or spread[1] <= FLATNESS * size:
        return None
    flat = centred @ axes[:2].T
    order = np.lexsort(flat.T[::-1])
    chains = []
    for way in (order, order[::-1]):  # the lower and the upper chain (Andrew 1979)
        chain: list[int] = []
        for i in way:
            while len(chain) > 1 and _turn(*flat[[chain[-2], chain[-1], i]]) <= 1e-12 * size * size:
                chain.pop()
            chain.append(i)
        chains += chain[:-1]
    return points[chains]


def _turn(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> float:
    """Twice the area of a triangle in the plane, positive where it turns left."""
    return float((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))


def _faces_of(points: np.ndarray, triangles: np.ndarray) -> list[np.ndarray]:
    """The corners of each face: of triangles alone in their plane, and round patches of neighbours in one plane."""
    corners = points[triangles]
    cross = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    area = np.linalg.norm(cross, axis=1)
    normal = cross / np.maximum(area, 1e-300)[:, None]
    one = np.repeat(np.arange(len(triangles)), 3)
    other = neighbours(points, triangles).ravel()
    one, other = one[(other >= 0) & (area[one] >= area[other])], other[(other >= 0) & (area[one] >= area[other])]
    flat = FACE_TILT * np.linalg.norm(np.ptp(points, axis=0))
    height = np.abs(np.einsum("nki,ni->nk", corners[other] - corners[one][:, :1], normal[one])).max(axis=1)
    tilt = np.linalg.norm(normal[one] - normal[other], axis=1)
    joined = (height < 0.01 * flat) & ((tilt < FACE_TILT) | (area[other] < 1e-6 * area[one]))
    group = _connected(len(triangles), one[joined], other[joined])
    numbers, sizes = np.unique(group, return_counts=True)
    alone = np.isin(group, numbers[sizes == 1])
    faces = list(triangles[alone])
    for number in numbers[sizes > 1]:
        patch = np.flatnonzero(group == number)
        largest = patch[area[patch].argmax()]
        off = np.abs((corners[patch] - corners[largest, 0]) @ normal[largest]).max()
        outline = _outline(triangles[patch]) if off < flat else None
        # what bends stays apart, and what closes on itself, as both sides of a thin plate and all of a needle do
        faces += list(triangles[patch]) if outline is None else [outline]
    return faces


def _connected(count: int, one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """The lowest number among all that pairs join to each of ``count`` things."""
    group = np.arange(count)
    while True:
        before = group.copy()
        np.minimum.at(group, one, group[other])
        np.minimum.at(group, other, group[one])
        group = group[group]
        if np.array_equal(group, before):
            return group


def _outline(triangles: np.ndarray) -> np.ndarray | None:
    """The vertices round a patch of triangles, from the lowest number on; None where its rim is not one loop."""
    edges = [tuple(edge) for t in triangles.tolist() for edge in ((t[0], t[1]), (t[1], t[2]), (t[2], t[0]))]
    inner = set(edges)
    rim = [(a, b) for a, b in edges if (b, a) not in inner]
    if not rim:
        return None
    after = dict(rim)
    first = at = min(after)
    outline = []
    while True:
        outline.append(at)
        at = after[at]
        if at == first or len(outline) > len(after):
            return np.array(outline) if len(outline) == len(rim) else None


def _hull_rows(hulls: Sequence[Hull | None]) -> dict[str, np.ndarray]:
    known = [hull for hull in hulls if hull is not None]
    points = np.cumsum([0, *(0 if hull is None else len(hull.points) for hull in hulls)])
    faces = np.cumsum([0, *(0 if hull is None else len(hull.normal) for hull in hulls)])
    first = [start for start, hull in zip(points, hulls, strict=False) if hull is not None]
    return {
        "mesh_hull_point_start": points.astype(np.int32),
        "mesh_hull_face_start": faces.astype(np.int32),
        "hull_point": _joined([hull.points for hull in known], (0, 3)),
        "hull_neighbour_start": _joined_starts([hull.neighbour_start for hull in known]),
        "hull_neighbour": _joined([h.neighbour + n for h, n in zip(known, first, strict=True)], (0,)).astype(np.int32),
        "hull_face_normal": _joined([hull.normal for hull in known], (0, 3)),
        "hull_face_start": _joined_starts([hull.face_start for hull in known]),
        "hull_corner": _joined([h.corner + n for h, n in zip(known, first, strict=True)], (0,)).astype(np.int32),
    }


def _joined(arrays: Sequence[np.ndarray], empty: tuple) -> np.ndarray:
    return np.concatenate([np.zeros(empty), *arrays]) if arrays else np.zeros(empty)


def _joined_starts(starts: Sequence[np.ndarray]) -> np.ndarray:
    sizes = [np.diff(start) for start in starts]
    return np.concatenate([[0], np.cumsum(_joined(sizes, (0,)))]).astype(np.int32)


# ---- triangles


@made_once
def triangle_tree(mesh: Mesh) -> TriangleTree:
    """The tree over a mesh's triangles, sorted along a space-filling curve (Morton 1966) through their middles."""
    a, b, c = (mesh.vertices.take(corner, axis=0) for corner in mesh.triangles.T)
    lower, upper = np.minimum(np.minimum(a, b), c), np.maximum(np.maximum(a, b), c)
    middle = 0.5 * (lower + upper)
    extent = max(np.ptp(middle, axis=0).max(), 1e-300)
    cell = np.minimum((middle - middle.min(axis=0)) / extent * 2**21, 2**21 - 1).astype(np.uint64)
    code = sum(_spread(cell[:, axis]) << np.uint64(axis) for axis in range(3))
    order = np.argsort(code, kind="stable")
    count = len(order)
    leaves = 1
    while leaves * LEAF_TRIANGLES < count:
        leaves *= 2
    starts = np.arange(leaves) * count // leaves
    nodes_lower, nodes_upper = np.zeros((2 * leaves, 3)), np.zeros((2 * leaves, 3))
    nodes_lower[leaves:] = np.minimum.reduceat(lower[order], starts)
    nodes_upper[leaves:] = np.maximum.reduceat(upper[order], starts)
    level = leaves
    while level > 1:
        below = slice(level, 2 * level)
        level //= 2
        nodes_lower[level : 2 * level] = nodes_lower[below].reshape(level, 2, 3).min(axis=1)
        nodes_upper[level : 2 * level] = nodes_upper[below].reshape(level, 2, 3).max(axis=1)
    return TriangleTree(order, nodes_lower, nodes_upper, neighbours(mesh.vertices, mesh.triangles))


def _spread(cell: np.ndarray) -> np.ndarray:
    """21 bits to every third bit of 63."""
    x = cell.astype(np.uint64)
    for shift, mask in (
        (32, 0x1F00000000FFFF),
        (16, 0x1F0000FF0000FF),
        (8, 0x100F00F00F00F00F),
        (4, 0x10C30C30C30C30C3),
        (2, 0x1249249249249249),
    ):
        x = (x | (x << np.uint64(shift))) & np.uint64(mask)
    return x


def neighbours(vertices: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """The triangle (t, 3) across the edge from corner i to i + 1, -1 where there is none.

    Vertices at equal positions count as one. Where more than two triangles meet at an edge, those that run along it in
    opposite senses are joined in their order. A triangle that names a vertex twice has no neighbours, and is none.
    """
    corners = welded(vertices, triangles)
    pinched = is_pinched(corners)
    if pinched.any():
        found = np.full((len(triangles), 3), -1, np.int32)
        kept = np.flatnonzero(~pinched)
        beside = _neighbours(corners[kept].astype(np.int64), len(vertices))
        found[kept] = np.where(beside < 0, -1, kept[beside])
        return found
    return _neighbours(corners.astype(np.int64), len(vertices))


def _neighbours(corners: np.ndarray, vertex_count: int) -> np.ndarray:
    """As ``neighbours``, of triangles by the first vertex at each place, none of which is pinched."""
    start, end = corners.ravel(), corners.take((1, 2, 0), axis=1).ravel()
    key = 2 * (np.minimum(start, end) * vertex_count + np.maximum(start, end)) + (start > end)
    order = np.argsort(key, kind="stable")  # edge by edge, first those that run along it one way
    one, other = _opposite_pairs(key[order])
    one, other = order[one], order[other]
    found = np.full(len(order), -1, np.int32)
    found[one], found[other] = other // 3, one // 3
    return found.reshape(-1, 3)


def _opposite_pairs(key: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Places of edges that belong together, of a sorted ``key``: twice a number, and one more for the other sense."""
    last = np.flatnonzero((key[:-1] ^ key[1:]) == 1) + 1 if len(key) else np.zeros(0, int)  # one sense, then the other
    if (key[:-1] != key[1:]).all():
        return last - 1, last
    begins = np.flatnonzero(np.diff(key, prepend=-1))
    forth = last - begins[np.searchsorted(begins, last) - 1]  # how many of that edge run one way, and the other
    back = np.append(begins, len(key))[np.searchsorted(begins, last) + 1] - last
    pairs = np.minimum(forth, back)
    rank = np.arange(pairs.sum()) - np.repeat(np.cumsum(pairs) - pairs, pairs)
    return np.repeat(last - forth, pairs) + rank, np.repeat(last, pairs) + rank


def _tree_rows(meshes: Sequence[Mesh], trees: Sequence[TriangleTree | None]) -> dict[str, np.ndarray]:
    first = np.cumsum([0, *(len(mesh.triangles) for mesh in meshes)])[:-1]
    order, neighbour = [], []
    for start, mesh, tree in zip(first, meshes, trees, strict=True):
        count = len(mesh.triangles)
        order.append(start + (np.arange(count) if tree is None else tree.order))
        neighbour.append(np.full((count, 3), -1) if tree is None else _moved(tree.neighbour, start))
    known = [tree for tree in trees if tree is not None]
    nodes = np.cumsum([0, *(0 if tree is None else len(tree.lower) for tree in trees)])
    return {
        "mesh_solid": np.array(
            [0 if tree is None else solidity_of(mesh) for mesh, tree in zip(meshes, trees, strict=True)], np.int32
        ).reshape(-1),
        "mesh_order": _joined(order, (0,)).astype(np.int32),
        "mesh_neighbour": _joined(neighbour, (0, 3)).astype(np.int32),
        "mesh_node_start": nodes.astype(np.int32),
        "mesh_lower": _joined([tree.lower for tree in known], (0, 3)),
        "mesh_upper": _joined([tree.upper for tree in known], (0, 3)),
    }


@made_once
def solidity_of(mesh: Mesh) -> int:
    """1 where each edge has two triangles, which run along it in opposite senses, and the volume is positive; 2 where
    the solid is convex as well; else 0. Triangles that name a vertex twice do not count."""
    across = triangle_tree(mesh).neighbour
    lone = (across < 0).any(axis=1)
    if lone.any() and not is_pinched(welded(mesh.vertices, mesh.triangles))[lone].all():
        return 0
    if not signed_volumes(mesh.vertices, mesh.triangles, mesh.vertices.mean(axis=0)).sum() > 0:
        return 0
    return 2 if _is_convex(mesh.vertices, mesh.triangles, across) else 1


def _is_convex(points: np.ndarray, triangles: np.ndarray, neighbour: np.ndarray) -> bool:
    """Whether no vertex is in front of a face, but for round-off. Of solids too large to ask all: False."""
    corners = points[triangles]
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    area = np.linalg.norm(normal, axis=1)
    normal /= np.maximum(area, 1e-300)[:, None]
    slack = CONVEX_SLACK * np.ptp(points, axis=0).max()
    offset = np.einsum("ni,ni->n", normal, corners[:, 0])
    beside = np.einsum("ni,neki->nek", normal, corners[neighbour]) - offset[:, None, None]
    used = np.flatnonzero(area > 0)
    if beside[used].max(initial=0) > slack or len(points) * len(triangles) > MOST_CONVEX_TESTS:
        return False
    columns = np.ascontiguousarray(points.T)
    some = max(1, CONVEX_TESTS_AT_A_TIME // len(points))
    parts = (used[first : first + some] for first in range(0, len(used), some))
    return all(((normal[part] @ columns).max(axis=1) - offset[part]).max() <= slack for part in parts)


def _moved(numbers: np.ndarray, by: int) -> np.ndarray:
    return np.where(numbers < 0, -1, numbers + by)
