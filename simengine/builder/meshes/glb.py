"""GLB (binary glTF 2.0): the triangles of its scene, moved by its nodes."""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np

from simengine.builder.meshes.mesh_file import MeshLimits
from simengine.builder.meshes.scene import OBJECTS, SceneMesh, fan_triangles, strip_triangles
from simengine.errors import AssetError, printable

AXES = "axes kept as in the file, though glTF means Y up: turn the shape where it lies on its side"
JSON_BYTES = 4 << 20
_JSON_CHUNK, _BINARY_CHUNK = 0x4E4F534A, 0x004E4942
_COMPONENTS = {5120: "<i1", 5121: "<u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
# extensions that a file may require without a change to its triangles; quantization allows whole numbers as positions
_HARMLESS = ("KHR_materials_", "KHR_texture_", "KHR_lights_", "KHR_mesh_quantization", "EXT_texture_", "KHR_animation_")
_TRIANGLES, _STRIP, _FAN = 4, 5, 6


def read_glb(data: bytes, name: str, limits: MeshLimits, repairs: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Vertices (n, 3) in the axes of the file, as its nodes place them, and triangles (m, 3).

    glTF means Y up; tools that read it into robots differ in whether they turn it, so that ``repairs`` says it is not.
    Meshes may be used by several nodes. Buffers must be inside the file. Skins and morph targets are left at rest and
    noted; primitives of points and lines are left out and noted.
    """
    scene, binary = _chunks(data, name)
    repairs.append(AXES)
    file = _File(scene, binary, name, limits, repairs)
    mesh = SceneMesh(name, limits)
    for index, transform in file.placed_meshes():
        for points, triangles in file.primitives(index):
            mesh.add(points, triangles, transform, file.vertices_read)
    file.note_what_is_left_out()
    return mesh.result()


def _chunks(data: bytes, name: str) -> tuple[dict, bytes]:
    """The scene description, and the binary chunk (empty where there is none)."""
    if len(data) < 20 or data[:4] != b"glTF":
        raise AssetError("does not begin with the header of a GLB file", file=name)
    version, total = (int(n) for n in np.frombuffer(data, "<u4", 2, 4))
    if version != 2:
        raise AssetError(f"is glTF version {version}; version 2 is read", file=name)
    if total != len(data):
        raise AssetError(f"the header says {total} bytes, the file has {len(data)}: it is cut off", file=name)
    chunks, at = [], 12
    while at + 8 <= len(data) and len(chunks) < 2:
        size, kind = (int(n) for n in np.frombuffer(data, "<u4", 2, at))
        if at + 8 + size > len(data):
            raise AssetError(f"a chunk of {size} bytes reaches beyond the end of the file", file=name)
        chunks.append((kind, data[at + 8 : at + 8 + size]))
        at += 8 + size
    if not chunks or chunks[0][0] != _JSON_CHUNK:
        raise AssetError("has no description of a scene (its first chunk is not JSON)", file=name)
    binary = chunks[1][1] if len(chunks) > 1 and chunks[1][0] == _BINARY_CHUNK else b""
    return _parse_json(chunks[0][1], name), binary


def _parse_json(text: bytes, name: str) -> dict:
    if len(text) > JSON_BYTES:
        raise AssetError(f"its JSON has {len(text)} bytes, more than the cap of {JSON_BYTES}", file=name)
    try:
        scene = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise AssetError(f"its JSON cannot be read: {str(error)[:200]}", file=name) from None
    if not isinstance(scene, dict):
        raise AssetError("its JSON is not an object", file=name)
    return scene


@dataclass
class _File:
    """The JSON of a file, read with suspicion, and its binary chunk."""

    scene: dict
    binary: bytes
    name: str
    limits: MeshLimits
    repairs: list[str]

    def __post_init__(self):
        required = self.scene.get("extensionsRequired", [])
        for extension in required if isinstance(required, list) else [required]:
            if not (isinstance(extension, str) and extension.startswith(_HARMLESS)):
                said = printable(str(extension)[:60])
                raise self.error(f"requires the extension {said}, which is not read: export it without")
        if len(self.rows(self.scene, "nodes")) > OBJECTS:
            raise self.error(f"has more than {OBJECTS} nodes")
        self.vertices_read = self.bytes_read = self.primitives_read = 0
        self.left_out = 0
        self.deformed = 0
        self.read: dict[int, list[tuple[np.ndarray, np.ndarray]]] = {}

    def error(self, message: str) -> AssetError:
        return AssetError(message, file=self.name)

    def entry(self, table: str, index) -> dict:
        """One object of a table of the file, by its index."""
        rows = self.scene.get(table, [])
        if isinstance(index, bool) or not isinstance(index, int) or not isinstance(rows, list):
            raise self.error(f"an index into '{table}' is not a whole number, or '{table}' is no list")
        if not 0 <= index < len(rows) or not isinstance(rows[index], dict):
            raise self.error(f"there is no object {index} in '{table}'")
        return rows[index]

    def whole(self, owner: dict, key: str, default: int | None = None) -> int:
        """A whole number from 0."""
        value = owner.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 40:
            raise self.error(f"'{key}' must be a whole number from 0, not {str(value)[:40]!r}")
        return value

    def rows(self, owner: dict, key: str) -> list:
        """A list, empty where absent."""
        value = owner.get(key, [])
        if not isinstance(value, list):
            raise self.error(f"'{key}' must be a list")
        return value

    def numbers(self, owner: dict, key: str, default: tuple) -> np.ndarray:
        """As many finite numbers as the default has."""
        value = owner.get(key, default)
        good = isinstance(value, list | tuple) and len(value) == len(default)
        if not good or not all(isinstance(x, int | float) and abs(x) <= 1e30 for x in value):
            raise self.error(f"'{key}' of a node must be {len(default)} finite numbers")
        return np.array(value, np.float64)

    def placed_meshes(self) -> list[tuple[int, np.ndarray]]:
        """Mesh index and transform (4, 4) of each node of the scene that has a mesh, parents first."""
        stack = [(index, np.eye(4)) for index in self._roots()]
        seen: set[int] = set()
        placed = []
        while stack:
            index, parent = stack.pop()
            node = self.entry("nodes", index)
            if index in seen:
                raise self.error(f"node {index} has two parents, or is its own ancestor")
            seen.add(index)
            transform = parent @ self._transform(node)
            if "mesh" in node:
                placed.append((self.whole(node, "mesh"), transform))
                self.deformed += "skin" in node
            stack.extend((child, transform) for child in self.rows(node, "children"))
        return placed

    def _roots(self) -> list:
        """Nodes of the default scene, else of the first; where there are no scenes, those that are no one's child."""
        if self.rows(self.scene, "scenes"):
            return self.rows(self.entry("scenes", self.whole(self.scene, "scene", 0)), "nodes")
        nodes = range(len(self.rows(self.scene, "nodes")))
        children = [child for index in nodes for child in self.rows(self.entry("nodes", index), "children")]
        below = {child for child in children if isinstance(child, int)}
        return [index for index in nodes if index not in below]

    def _transform(self, node: dict) -> np.ndarray:
        """Of a node to its parent: a matrix by columns, or translation * rotation * scale."""
        if "matrix" in node:
            return self.numbers(node, "matrix", tuple(np.eye(4).ravel())).reshape(4, 4).T
        x, y, z, w = self.numbers(node, "rotation", (0, 0, 0, 1))
        length = x * x + y * y + z * z + w * w
        if length < 1e-12:
            raise self.error("the rotation of a node is a zero quaternion")
        s = 2.0 / length
        rotation = np.array(
            [
                [1 - s * (y * y + z * z), s * (x * y - z * w), s * (x * z + y * w)],
                [s * (x * y + z * w), 1 - s * (x * x + z * z), s * (y * z - x * w)],
                [s * (x * z - y * w), s * (y * z + x * w), 1 - s * (x * x + y * y)],
            ]
        )
        transform = np.eye(4)
        transform[:3, :3] = rotation * self.numbers(node, "scale", (1, 1, 1))
        transform[:3, 3] = self.numbers(node, "translation", (0, 0, 0))
        return transform

    def primitives(self, index: int) -> list[tuple[np.ndarray, np.ndarray]]:
        """Points (n, 3) and triangles (m, 3) of each primitive of a mesh; read once."""
        if index not in self.read:
            mesh, found = self.entry("meshes", index), []
            for primitive in self.rows(mesh, "primitives"):
                if not isinstance(primitive, dict):
                    raise self.error("a primitive of a mesh is no object")
                mode = self.whole(primitive, "mode", _TRIANGLES)
                if mode not in (_TRIANGLES, _STRIP, _FAN):
                    self.left_out += 1
                    continue
                self.deformed += "targets" in primitive
                found.append(self._primitive(primitive, mode))
            self.read[index] = found
        return self.read[index]

    def _primitive(self, primitive: dict, mode: int) -> tuple[np.ndarray, np.ndarray]:
        self.primitives_read += 1
        if self.primitives_read > OBJECTS:
            raise self.error(f"has more than {OBJECTS} primitives")
        attributes = primitive.get("attributes")
        if not isinstance(attributes, dict) or "POSITION" not in attributes:
            raise self.error("a primitive of a mesh has no POSITION")
        points = self._accessor(attributes["POSITION"], "VEC3")
        self.vertices_read += len(points)
        self.limits.check(self.vertices_read, "vertices", self.name)
        if "indices" in primitive:
            corners = self._accessor(primitive["indices"], "SCALAR").astype(np.int64)
        else:
            corners = np.arange(len(points))
        if len(corners) and corners.max() >= len(points):
            raise self.error(f"a triangle names vertex {corners.max()}; there are {len(points)}, counted from 0")
        if mode == _TRIANGLES:
            if len(corners) % 3:
                raise self.error(f"{len(corners)} corners of triangles are not a multiple of three")
            return points, corners.reshape(-1, 3)
        return points, strip_triangles(corners) if mode == _STRIP else fan_triangles(corners)

    def _accessor(self, index, kind: str) -> np.ndarray:
        """The numbers of an accessor: (count, 3) float64 for VEC3, (count,) whole numbers for SCALAR."""
        accessor = self.entry("accessors", index)
        if accessor.get("type") != kind or "sparse" in accessor or "bufferView" not in accessor:
            raise self.error(f"accessor {index} must be a dense {kind} with a bufferView")
        code = accessor.get("componentType")
        component = np.dtype(_COMPONENTS[code]) if isinstance(code, int) and code in _COMPONENTS else None
        if component is None or (kind == "SCALAR" and component.kind != "u"):
            raise self.error(f"accessor {index} has a component type that does not fit: {str(code)[:20]}")
        count = self.whole(accessor, "count")
        width = 3 if kind == "VEC3" else 1
        offset, stride = self._view(accessor, count, width * component.itemsize)
        self.bytes_read += count * width * component.itemsize
        if self.bytes_read > 4 * len(self.binary):
            raise self.error("its accessors read the same bytes again and again")
        table = np.ndarray((count, width), component, self.binary, offset, (stride, component.itemsize))
        if kind == "SCALAR":
            return table[:, 0]
        if component.kind != "f" and accessor.get("normalized") is True:
            return np.maximum(table / float(np.iinfo(component).max), -1.0)
        return table.astype(np.float64)

    def _view(self, accessor: dict, count: int, size: int) -> tuple[int, int]:
        """Where in the binary chunk the elements begin, and the bytes from one to the next."""
        view = self.entry("bufferViews", accessor["bufferView"])
        buffer_index = self.whole(view, "buffer")
        if buffer_index != 0 or "uri" in self.entry("buffers", 0):
            raise self.error("its data lies outside the file (a buffer with a uri): save it as one GLB file")
        start, length = self.whole(view, "byteOffset", 0), self.whole(view, "byteLength")
        stride = self.whole(view, "byteStride", size)
        if stride < size:
            raise self.error(f"'byteStride' is {stride}, less than the {size} bytes of an element")
        offset = self.whole(accessor, "byteOffset", 0)
        if start + length > len(self.binary):
            message = f"a buffer view ends at byte {start + length}, the binary chunk has {len(self.binary)}"
            raise self.error(f"{message}: it is cut off or damaged")
        if count and offset + stride * (count - 1) + size > length:
            raise self.error(f"an accessor of {count} elements reaches beyond its buffer view of {length} bytes")
        return start + offset if count else 0, stride

    def note_what_is_left_out(self) -> None:
        """Add to the repairs what the scene has besides rigid triangles."""
        if self.left_out:
            self.repairs.append(f"{self.left_out} primitives of points or lines left out")
        if self.deformed:
            self.repairs.append(f"{self.deformed} skinned or morphed meshes taken at rest")
