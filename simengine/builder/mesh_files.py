"""Mesh files from strangers: bytes to vertices and triangles, checked before and after a library reads them.

trimesh reads the formats. It is given bytes alone: no resolver, so that no other file is opened, and no materials.
"""

from __future__ import annotations

import io
import re
from dataclasses import dataclass, field

import numpy as np

from simengine.errors import AssetError, MissingExtraError

FORMATS = ("stl", "obj", "ply", "off")
LARGEST = 1e15  # in any unit of length; products of two such coordinates are still finite in float32


@dataclass(frozen=True)
class MeshLimits:
    """Caps on one mesh file; above them it is refused."""

    file_bytes: int = 256 << 20
    triangles: int = 5_000_000


@dataclass
class MeshFile:
    """A mesh as read: vertices (n, 3) float64 in the file's unit, triangles (m, 3) int32, and what was mended."""

    vertices: np.ndarray
    triangles: np.ndarray
    repairs: list[str] = field(default_factory=list)


def load_mesh(data: bytes, name: str, limits: MeshLimits | None = None) -> MeshFile:
    """Read a mesh from the bytes of an STL (binary, ASCII), OBJ, PLY or OFF file.

    All bodies of the file become one mesh. Equal vertices are merged; degenerate and repeated triangles are dropped
    and counted in ``repairs``. Polygons are cut into triangles; one that is not convex is refused.

    Args:
        data: the bytes.
        name: name of the file: its ending tells the format; it stands in messages.

    Raises:
        AssetError: unknown format, larger than a cap, sizes or indices that do not fit the data, no triangles,
            numbers that are not finite.
        MissingExtraError: trimesh is not installed.
    """
    limits = limits or MeshLimits()
    ending = name.rsplit(".", 1)[-1].lower() if "." in name else ""
    if ending not in FORMATS:
        raise AssetError(f"mesh format '.{ending}' is not read: convert it to one of {', '.join(FORMATS)}", file=name)
    if len(data) > limits.file_bytes:
        raise AssetError(f"has {len(data)} bytes, more than the cap of {limits.file_bytes}", file=name)
    if not data.strip():
        raise AssetError("the mesh file is empty", file=name)
    repairs: list[str] = []
    if ending == "stl":
        binary = _check_stl(data, name, limits)
        kind = "stl" if binary else "stl_ascii"
    else:
        kind = ending
        if ending == "obj":
            _check_obj(data, name, limits, repairs)
    vertices, triangles = _parse(data, kind, name)
    return _clean(vertices, triangles, name, limits, repairs)


def _parse(data: bytes, kind: str, name: str) -> tuple[np.ndarray, np.ndarray]:
    try:
        import trimesh
    except ImportError:
        raise MissingExtraError("trimesh", "meshes", f"reading the mesh {name}") from None
    options = {} if kind.startswith("stl") or kind == "off" else {"skip_materials": True}
    try:
        # none of the formats has transforms between a scene and its meshes
        scene = trimesh.load_scene(io.BytesIO(data), file_type=kind, process=False, **options)
        meshes = [mesh for mesh in scene.geometry.values() if hasattr(mesh, "faces")]
    except MemoryError:
        raise
    except Exception as error:
        raise AssetError(f"cannot be read as a mesh: {type(error).__name__}: {error}", file=name) from None
    if not meshes:
        raise AssetError("the mesh has no triangles", file=name)
    starts = np.cumsum([0] + [len(mesh.vertices) for mesh in meshes])
    vertices = np.concatenate([np.asarray(mesh.vertices, np.float64).reshape(-1, 3) for mesh in meshes])
    triangles = np.concatenate(
        [np.asarray(mesh.faces, np.int64).reshape(-1, 3) + start for mesh, start in zip(meshes, starts, strict=False)]
    )
    return vertices, triangles


def _check_stl(data: bytes, name: str, limits: MeshLimits) -> bool:
    """True for binary: 80 bytes, a count, 50 bytes a triangle. Text where that does not fit and it starts so."""
    # a binary file may start with "solid" too: the size decides
    if len(data) >= 84:
        count = int(np.frombuffer(data, "<u4", 1, 80)[0])
        if len(data) == 84 + 50 * count:
            if count > limits.triangles:
                raise AssetError(f"has {count} triangles, more than the cap of {limits.triangles}", file=name)
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


_FACE_INDEX = re.compile(rb"[+-]?[0-9]+(?:/[+-]?[0-9]*){0,2}")


def _check_obj(data: bytes, name: str, limits: MeshLimits, repairs: list[str]) -> None:
    """Face indices: from 1, negative ones count back from the last vertex, none beyond; polygons convex."""
    points: list[tuple[float, float, float]] = []
    polygons: list[tuple[int, list[int]]] = []
    curves = triangles = 0
    last = (-1, 0)  # the largest index and its line
    text = data.replace(b"\\\r\n", b" ").replace(b"\\\n", b" ")
    for line, words in ((n, w.split()) for n, w in enumerate(text.splitlines(), 1)):
        if not words:
            continue
        if words[0] == b"v":
            try:
                points.append(tuple(float(word) for word in words[1:4]))
            except ValueError:
                raise AssetError("a vertex is not three numbers", file=name, line=line) from None
            if len(points[-1]) != 3:
                raise AssetError("a vertex is not three numbers", file=name, line=line)
        elif words[0] == b"f":
            indices = _obj_face(words[1:], len(points), name, line)
            last = max(last, (max(indices), line))
            triangles += len(indices) - 2
            if triangles > limits.triangles:
                raise AssetError(f"has more triangles than the cap of {limits.triangles}", file=name, line=line)
            if len(indices) > 3:
                polygons.append((line, indices))
        elif words[0] in (b"curv", b"curv2", b"surf"):
            curves += 1
    if curves:
        repairs.append(f"{curves} free-form curves and surfaces left out")
    if not triangles:
        raise AssetError("the mesh has no triangles", file=name)
    if last[0] >= len(points):
        raise AssetError(
            f"a face names vertex {last[0] + 1}, but there are {len(points)} vertices (they count from 1)",
            file=name,
            line=last[1],
        )
    array = np.array(points, np.float64)
    for line, indices in polygons:
        if not _convex(array[indices]):
            raise AssetError(
                f"a polygon with {len(indices)} corners is not convex: triangulate the mesh", file=name, line=line
            )


def _obj_face(words: list[bytes], points: int, name: str, line: int) -> list[int]:
    if len(words) < 3:
        raise AssetError(f"a face has {len(words)} corners, fewer than 3", file=name, line=line)
    indices = []
    for word in words:
        if not _FACE_INDEX.fullmatch(word):
            raise AssetError(f"'{word.decode('latin-1')}' is not an index of a face", file=name, line=line)
        value = int(word.partition(b"/")[0])
        index = value - 1 if value > 0 else points + value
        if value == 0 or index < 0:
            raise AssetError(
                f"a face names vertex {value}: they count from 1, or back from -1 over the {points} above it",
                file=name,
                line=line,
            )
        indices.append(index)
    return indices


def _convex(corners: np.ndarray) -> bool:
    """Whether a polygon turns one way about its Newell normal, to round-off."""
    following = np.roll(corners, -1, axis=0)
    normal = np.cross(corners, following).sum(axis=0)
    edges = following - corners
    turns = np.cross(edges, np.roll(edges, -1, axis=0)) @ normal
    return bool(turns.min() >= -1e-9 * np.abs(turns).max())


def _clean(vertices: np.ndarray, triangles: np.ndarray, name: str, limits: MeshLimits, repairs: list[str]) -> MeshFile:
    if len(triangles) == 0:
        raise AssetError("the mesh has no triangles", file=name)
    if len(triangles) > limits.triangles:
        raise AssetError(f"has {len(triangles)} triangles, more than the cap of {limits.triangles}", file=name)
    if triangles.min() < 0 or triangles.max() >= len(vertices):
        raise AssetError(f"a triangle names a vertex outside 0 to {len(vertices) - 1}", file=name)
    used = np.unique(triangles)
    # NaN compares false
    bad = used[~(np.abs(vertices[used]) <= LARGEST).all(axis=1)]
    if len(bad):
        where = f"the first is number {bad[0]}, at {vertices[bad[0]]}"
        raise AssetError(f"{len(bad)} vertices are not finite or beyond {LARGEST:g}: {where}", file=name)
    # merge vertices with the same coordinates, keeping the order of their first use; + 0.0 makes -0 into 0
    points, first, inverse = np.unique(vertices[used] + 0.0, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    points = points[order]
    triangles = rank[inverse.reshape(-1)][np.searchsorted(used, triangles)]
    triangles = _drop_degenerate(points, triangles, repairs)
    triangles = _drop_repeated(triangles, repairs)
    if len(triangles) == 0:
        raise AssetError("all triangles of the mesh are degenerate", file=name)
    return MeshFile(np.ascontiguousarray(points), triangles.astype(np.int32), repairs)


def _drop_degenerate(points: np.ndarray, triangles: np.ndarray, repairs: list[str]) -> np.ndarray:
    a, b, c = triangles.T
    pinched = (a == b) | (b == c) | (c == a)
    if pinched.any():
        repairs.append(f"{int(pinched.sum())} triangles with a repeated vertex dropped")
        triangles = triangles[~pinched]
    edges = points[triangles[:, [1, 2, 0]]] - points[triangles]
    double_area = np.linalg.norm(np.cross(edges[:, 0], edges[:, 1]), axis=1)
    longest = (edges**2).sum(axis=2).max(axis=1)
    flat = double_area <= 1e-12 * longest
    # three vertices in a line: dropping the triangle would tear a surface that is closed now; it has no area or volume
    if flat.any() and not (is_closed(triangles) and not is_closed(triangles[~flat])):
        repairs.append(f"{int(flat.sum())} triangles of zero area dropped")
        triangles = triangles[~flat]
    return triangles


def _drop_repeated(triangles: np.ndarray, repairs: list[str]) -> np.ndarray:
    """Drop triangles that repeat another one with the same winding; a back side in the same place stays."""
    turn = np.argmin(triangles, axis=1)[:, None]
    rotated = np.take_along_axis(triangles, (turn + np.arange(3)) % 3, axis=1)
    _, first = np.unique(rotated, axis=0, return_index=True)
    if len(first) < len(triangles):
        repairs.append(f"{len(triangles) - len(first)} repeated triangles dropped")
        triangles = triangles[np.sort(first)]
    return triangles


def is_closed(triangles: np.ndarray) -> bool:
    """Whether each edge is passed as often one way as the other: a closed surface, wound alike."""
    edges = triangles[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2)
    forward, count = np.unique(edges, axis=0, return_counts=True)
    backward, back_count = np.unique(edges[:, ::-1], axis=0, return_counts=True)
    return bool(forward.shape == backward.shape and (forward == backward).all() and (count == back_count).all())
