"""The shapes of a URDF in the units of the engine: metres, half extents, meshes read and scaled."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from simengine.builder.frames import Pose
from simengine.builder.frames import scale as times
from simengine.builder.mesh_data import Mesh
from simengine.builder.mesh_files import MeshFile, MeshLimits, load_mesh
from simengine.builder.paths import MissingFile, PathRules, read_file
from simengine.builder.urdf_document import LinkShape, Robot
from simengine.builder.urdf_parse import Notes
from simengine.builder.xml_reader import Element
from simengine.enums import ShapeType
from simengine.errors import AssetError, MissingExtraError

LARGE = 100.0  # m: a mesh of a robot beyond this was probably written in millimetres


@dataclass
class LoadedShape:
    """A visual or collision ready for the builder; ``size`` as in ``shape_size``, ``frame`` on the link, in m."""

    label: str
    type: ShapeType
    size: tuple[float, float, float]
    frame: Pose
    source: LinkShape
    mesh: Mesh | None = None


@dataclass
class LinkShapes:
    """The shapes of one link."""

    visuals: list[LoadedShape]
    collisions: list[LoadedShape]


def scaled_pose(pose: Pose, scale: float) -> Pose:
    """The pose with its position in metres."""
    return (*times(pose[:3], scale), *pose[3:])


class UnreadableMesh(AssetError):
    """A mesh file that was found but holds no mesh that can be read."""


class MeshShelf:
    """Meshes that were read, so that each file is read once and each (file, scale) is one mesh."""

    def __init__(self, rules: PathRules, limits: MeshLimits, notes: Notes):
        self.rules = rules
        self.limits = limits
        self.notes = notes
        self.files: dict = {}
        self.meshes: dict = {}

    def get(self, shape: LinkShape, scale: float) -> Mesh:
        """The mesh of a shape in metres, mirrored ones with their winding turned so that it still looks outwards.

        Raises:
            MissingFile: there is no such file. UnreadableMesh: its content is refused.
            AssetError: its path is refused. MissingExtraError: trimesh is not installed.
            They do not say where in the URDF it is named.
        """
        element, filename = shape.geometry.element, shape.geometry.filename
        path = self.rules.resolve(filename)
        if path not in self.files:
            self.files[path] = self._read(path, filename, element)
        factors = tuple(part * scale for part in shape.geometry.size)
        key = (path, factors)
        if key not in self.meshes:
            file = self.files[path]
            mirrored = math.prod(factors) < 0.0
            triangles = file.triangles[:, ::-1] if mirrored else file.triangles
            mesh = Mesh(file.vertices * np.array(factors), triangles, label=filename)
            extent = float(np.ptp(mesh.vertices, axis=0).max())
            if extent > LARGE:
                reason = f"it is {extent:.4g} m large: is it in millimetres? Give it scale='0.001 0.001 0.001'"
                self.notes.note("warned", f"mesh '{filename}'", element, reason)
            self.meshes[key] = mesh
        return self.meshes[key]

    def _read(self, path: Path, filename: str, element: Element) -> MeshFile:
        data = read_file(path, self.limits.file_bytes)
        try:
            file = load_mesh(data, path.name, self.limits)
        except AssetError as error:
            raise UnreadableMesh(str(error)) from None
        for repair in file.repairs:
            self.notes.note("repaired", f"mesh '{filename}'", element, repair)
        return file


def load_shapes(robot: Robot, shelf: MeshShelf, scale: float) -> dict[str, LinkShapes]:
    """The shapes of each link, by its name. A visual that cannot be read is left out and noted.

    Raises:
        AssetError: a collision's mesh is absent or cannot be read, or a path is not allowed.
    """
    used: set[str] = set()
    result = {}
    for link in robot.links.values():
        result[link.name] = of_link = LinkShapes([], [])
        for shape in link.visuals:
            try:
                of_link.visuals.append(_load(shape, _label(link.name, shape, used, shelf.notes), shelf, scale))
            except (MissingFile, MissingExtraError, UnreadableMesh) as error:
                shelf.notes.ignore("<visual>", shape.geometry.element, str(error))
            except AssetError as error:
                raise shape.geometry.element.error(str(error)) from None
        for shape in link.collisions:
            try:
                of_link.collisions.append(_load(shape, _label(link.name, shape, used, shelf.notes), shelf, scale))
            except AssetError as error:
                raise shape.geometry.element.error(str(error)) from None
    return result


def _label(link: str, shape: LinkShape, used: set[str], notes: Notes) -> str:
    """The link's name, and the file's name of the shape or its kind; a number sets equal ones apart."""
    base = f"{link}/{shape.name or shape.element.tag}"
    label, number = base, 1
    while label in used:
        label, number = f"{base}_{number}", number + 1
    if shape.name and label != base:
        notes.note("repaired", f"name '{shape.name}'", shape.element, f"taken in this link: called '{label}'")
    used.add(label)
    return label


def _load(shape: LinkShape, label: str, shelf: MeshShelf, scale: float) -> LoadedShape:
    kind, size = shape.geometry.kind, tuple(part * scale for part in shape.geometry.size)
    frame = scaled_pose(shape.frame, scale)
    if kind == "mesh":
        mesh = shelf.get(shape, scale)
        return LoadedShape(label, ShapeType.MESH, (1.0, 1.0, 1.0), frame, shape, mesh)
    if kind == "box":
        return LoadedShape(label, ShapeType.BOX, tuple(part / 2.0 for part in size), frame, shape)
    if kind == "sphere":
        return LoadedShape(label, ShapeType.SPHERE, (size[0], 0.0, 0.0), frame, shape)
    # the length of a capsule is that of its cylinder
    kind = ShapeType.CYLINDER if kind == "cylinder" else ShapeType.CAPSULE
    return LoadedShape(label, kind, (size[0], size[1] / 2.0, 0.0), frame, shape)
