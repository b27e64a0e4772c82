"""COLLADA (.dae): the triangles of its scene, moved by its nodes, in metres with Z up.

Read through the project's XML reader, which refuses document types and entities. Source of the layout: COLLADA 1.4.1
specification (Khronos).
"""

from __future__ import annotations

from math import radians

import numpy as np

from simengine.builder.importers.xml_reader import Element, XmlLimits, read_xml
from simengine.builder.meshes.mesh_file import MeshLimits
from simengine.builder.meshes.polygons import triangulate
from simengine.builder.meshes.scene import OBJECTS, SceneMesh, fan_triangles, strip_triangles
from simengine.builder.meshes.words import parse_numbers

ELEMENTS = 100_000  # of the file
DEPTH = 128  # of nodes, those that are instances included
# to X right, Y into the picture, Z up
_UP = {
    "X_UP": np.array([[0, -1, 0], [0, 0, -1], [1, 0, 0]], float),
    "Y_UP": np.array([[1, 0, 0], [0, 0, -1], [0, 1, 0]], float),
    "Z_UP": np.eye(3),
}
_PRIMITIVES = ("triangles", "polylist", "polygons", "tristrips", "trifans")
_NOT_SURFACES = ("lines", "linestrips")


def read_dae(data: bytes, name: str, limits: MeshLimits, repairs: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Vertices (n, 3) in metres with Z up, as the asset's unit and up axis say, and triangles (m, 3).

    Meshes may be used by several nodes, and nodes by several instances. Skins and morphs are left at rest and noted;
    lines, splines and convex hulls of other meshes are left out and noted. Materials are not read.
    """
    root = read_xml(data, "COLLADA", name, XmlLimits(file_bytes=limits.file_bytes, elements=ELEMENTS))
    file = _File(root, limits, repairs)
    mesh = SceneMesh(name, limits)
    for geometry, transform in file.placed_geometries():
        for points, triangles in file.pieces(geometry):
            mesh.add(points, triangles, transform, file.vertices_read)
    file.note_what_is_left_out()
    return mesh.result()


class _File:
    """The elements of a file by their ids, and what was read of them."""

    def __init__(self, root: Element, limits: MeshLimits, repairs: list[str]):
        self.root, self.limits, self.repairs = root, limits, repairs
        self.by_id: dict[str, Element] = {}
        stack = [root]
        while stack:
            element = stack.pop()
            if "id" in element.attributes:
                self.by_id.setdefault(element.attributes["id"], element)
            stack.extend(reversed(element.children))
        self.read: dict[int, list[tuple[np.ndarray, np.ndarray]]] = {}
        self.tables: dict[int, np.ndarray] = {}
        self.left_out: dict[str, int] = {}
        self.vertices_read = self.pieces_read = 0

    def target(self, element: Element, attribute: str, *tags: str) -> Element:
        """The element that a reference ``#id`` leads to, which must be in this file and have one of the tags."""
        reference = element.string(attribute)
        if not reference.startswith("#"):
            raise element.error(f"refers to '{reference[:60]}', outside this file, which is refused: write it in")
        found = self.by_id.get(reference[1:])
        if found is None or found.tag not in tags:
            raise element.error(f"refers to '{reference[:60]}', but there is no such <{'> or <'.join(tags)}>")
        return found

    def leave_out(self, what: str) -> None:
        self.left_out[what] = self.left_out.get(what, 0) + 1

    def note_what_is_left_out(self) -> None:
        """Add to the repairs what the scene has besides rigid triangles."""
        self.repairs.extend(f"{count} {what}" for what, count in sorted(self.left_out.items()))

    def placed_geometries(self) -> list[tuple[Element, np.ndarray]]:
        """Each <geometry> that the scene places, with its transform (4, 4) to metres and Z up."""
        asset = self.root.one("asset")
        unit = asset.one("unit") if asset else None
        up = asset.one("up_axis") if asset else None
        axis = up.text if up else "Y_UP"
        if axis not in _UP:
            raise up.error(f"the axis {axis[:20]!r} is none of {', '.join(_UP)}")
        meters = unit.number("meter", 1.0) if unit else 1.0
        if not meters > 0.0:
            raise unit.error(f"a unit of {meters} m: it must be positive")
        top = np.eye(4)
        top[:3, :3] = _UP[axis] * meters
        scene = self._scene()
        if scene is None:
            libraries = self.root.all("library_geometries")
            return [(geometry, top) for library in libraries for geometry in library.all("geometry")]
        return self._walk(scene, top)

    def _scene(self) -> Element | None:
        """The scene that is used, else the first; None where there is none."""
        chosen = self.root.one("scene")
        instance = chosen.one("instance_visual_scene") if chosen else None
        if instance:
            return self.target(instance, "url", "visual_scene")
        for library in self.root.all("library_visual_scenes"):
            for scene in library.all("visual_scene"):
                return scene
        return None

    def _walk(self, scene: Element, top: np.ndarray) -> list[tuple[Element, np.ndarray]]:
        placed, nodes = [], 0
        stack = [(node, top, 1) for node in reversed(scene.all("node"))]
        while stack:
            node, parent, depth = stack.pop()
            nodes += 1
            if nodes > OBJECTS:
                raise node.error(f"the scene has more than {OBJECTS} nodes, their instances counted")
            if depth > DEPTH:
                raise node.error(f"nodes are nested more than {DEPTH} deep, or are instances of themselves")
            transform = parent @ _transform(node)
            for child in node.children:
                if child.tag == "node":
                    stack.append((child, transform, depth + 1))
                elif child.tag == "instance_node":
                    stack.append((self.target(child, "url", "node"), transform, depth + 1))
                elif child.tag == "instance_geometry":
                    placed.append((self.target(child, "url", "geometry"), transform))
                elif child.tag == "instance_controller":
                    placed.append((self._skinned(child), transform))
        return placed

    def _skinned(self, instance: Element) -> Element:
        """The geometry that a skin or a morph deforms."""
        controller, steps = self.target(instance, "url", "controller"), 0
        self.leave_out("skinned or morphed meshes taken at rest")
        while controller.tag == "controller":
            kind = controller.one("skin") or controller.one("morph")
            steps += 1
            if kind is None or steps > DEPTH:
                raise controller.error("has neither a <skin> nor a <morph> of a geometry")
            controller = self.target(kind, "source", "geometry", "controller")
        return controller

    def pieces(self, geometry: Element) -> list[tuple[np.ndarray, np.ndarray]]:
        """Points (n, 3) and triangles (m, 3) of each primitive of a geometry; read once."""
        if id(geometry) in self.read:
            return self.read[id(geometry)]
        found = []
        mesh = geometry.one("mesh")
        if mesh is None:
            self.leave_out("geometries without a mesh (splines, convex hulls) left out")
        for element in mesh.children if mesh else ():
            if element.tag in _NOT_SURFACES:
                self.leave_out(f"primitives <{element.tag}> left out")
            elif element.tag in _PRIMITIVES and (element.all("p") or element.all("ph")):
                self.pieces_read += 1
                if self.pieces_read > OBJECTS:
                    raise element.error(f"there are more than {OBJECTS} primitives")
                found.append(self._piece(element))
        self.read[id(geometry)] = found
        return found

    def _piece(self, element: Element) -> tuple[np.ndarray, np.ndarray]:
        inputs = element.all("input")
        vertex = next((entry for entry in inputs if entry.attributes.get("semantic") == "VERTEX"), None)
        if vertex is None:
            raise element.error("has no <input> with the semantic VERTEX")
        points = self._positions(self.target(vertex, "source", "vertices"))
        offset, width = _whole(vertex, "offset", 0), 1 + max(_whole(entry, "offset", 0) for entry in inputs)
        if width > 64:
            raise element.error(f"an <input> has offset {width - 1}, above the cap of 63")
        if element.all("ph"):
            raise element.error("has polygons with holes: triangulate the mesh")
        corners, counts = _corners(element, offset, width, len(points))
        self.vertices_read += len(points)
        self.limits.check(self.vertices_read, "vertices", element.file, element.line)
        return points, self._triangles(element, corners, counts, points)

    def _triangles(self, element: Element, corners: np.ndarray, counts: np.ndarray, points: np.ndarray) -> np.ndarray:
        """The triangles of a primitive from its corners one after another, and how many each <p> has."""
        if element.tag in ("tristrips", "trifans"):
            cut = strip_triangles if element.tag == "tristrips" else fan_triangles
            return np.concatenate([cut(part) for part in np.split(corners, np.cumsum(counts)[:-1])])
        if element.tag == "triangles":
            if len(corners) % 3:
                raise element.error(f"{len(corners)} corners of triangles are not a multiple of three")
            return corners.reshape(-1, 3)
        if element.tag == "polylist":
            counts = _numbers(element.need("vcount"), np.int64)
        if (counts < 0).any() or (counts > len(corners)).any() or counts.sum() != len(corners):
            raise element.error(f"its <vcount> does not fit the {len(corners)} corners of its <p>")
        return triangulate(points, corners, counts, element.file, np.full(len(counts), element.line))

    def _positions(self, vertices: Element) -> np.ndarray:
        """The coordinates (n, 3) that a <vertices> names."""
        if id(vertices) not in self.tables:
            entries = [entry for entry in vertices.all("input") if entry.attributes.get("semantic") == "POSITION"]
            if len(entries) != 1:
                raise vertices.error("must have one <input> with the semantic POSITION")
            self.tables[id(vertices)] = self._source(self.target(entries[0], "source", "source"))
        return self.tables[id(vertices)]

    def _source(self, source: Element) -> np.ndarray:
        accessor = source.need("technique_common").need("accessor")
        array = self.target(accessor, "source", "float_array")
        numbers = _numbers(array, np.float64)
        count, stride, offset = (
            _whole(accessor, key, value) for key, value in (("count", -1), ("stride", 1), ("offset", 0))
        )
        if stride < 3 or offset + count * stride - (stride - 3) > len(numbers):
            raise accessor.error(
                f"{count} points in steps of {stride} do not fit the {len(numbers)} numbers of {array}"
            )
        self.limits.check(count, "vertices", source.file, source.line)
        places = offset + np.arange(count)[:, None] * stride + np.arange(3)
        return numbers[places]


def _numbers(element: Element, dtype) -> np.ndarray:
    """The text of an element as numbers."""
    return _parsed(element, element.text, len(element.text.split()), dtype)


def _parsed(element: Element, text: str, count: int, dtype) -> np.ndarray:
    numbers = parse_numbers(text.encode(), dtype)
    if len(numbers) != count:
        raise element.error("holds a word that is not a number")
    return numbers


def _whole(element: Element, attribute: str, default: int) -> int:
    """An attribute as a whole number from 0; absent, the default, or refused where that is negative."""
    word = element.attributes.get(attribute, str(default)).strip()
    if not (word.isascii() and word.isdigit() and len(word) < 12):
        raise element.error(f"attribute '{attribute}' must be a whole number from 0")
    return int(word)


def _corners(primitive: Element, offset: int, width: int, points: int) -> tuple[np.ndarray, np.ndarray]:
    """The vertex indices of all <p>, in which each corner has ``width`` indices, and how many corners each has."""
    parts = primitive.all("p")
    counts = np.array([len(part.text.split()) for part in parts])
    if (counts % width).any():
        bad = int(np.argmax(counts % width > 0))
        raise parts[bad].error(f"has {counts[bad]} indices, not a multiple of {width}")
    numbers = _parsed(primitive, " ".join(part.text for part in parts), int(counts.sum()), np.int64)
    corners = numbers.reshape(-1, width)[:, offset]
    bad = np.flatnonzero((corners < 0) | (corners >= points))
    if len(bad):
        raise primitive.error(f"a face names vertex {corners[bad[0]]}; there are {points}, counted from 0")
    return corners, counts // width


def _transform(node: Element) -> np.ndarray:
    """Of a node to its parent (4, 4): its transformations, in order."""
    transform = np.eye(4)
    for child in node.children:
        if child.tag in ("lookat", "skew"):
            raise child.error("is not read: write it as a <matrix>")
        if child.tag in ("matrix", "translate", "rotate", "scale"):
            transform = transform @ _step(child)
    return transform


def _step(element: Element) -> np.ndarray:
    numbers = _numbers(element, np.float64)
    wanted = {"matrix": 16, "translate": 3, "rotate": 4, "scale": 3}[element.tag]
    if len(numbers) != wanted or not (np.abs(numbers) <= 1e30).all():
        raise element.error(f"must be {wanted} finite numbers")
    step = np.eye(4)
    if element.tag == "matrix":
        step = numbers.reshape(4, 4)
    elif element.tag == "translate":
        step[:3, 3] = numbers
    elif element.tag == "scale":
        step[:3, :3] = np.diag(numbers)
    elif length := float(np.linalg.norm(numbers[:3])):
        x, y, z = numbers[:3] / length
        angle = radians(numbers[3])
        cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
        step[:3, :3] = np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross  # Rodrigues
    elif numbers[3]:
        raise element.error("turns about an axis of length zero")
    return step
