"""The shapes of a URDF in the units of the engine: metres, half extents, meshes read and scaled."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath

from simengine.builder.frames import Pose
from simengine.builder.frames import scale as times
from simengine.builder.importers.free_labels import FreeLabels
from simengine.builder.importers.mesh_shelf import MeshShelf, UnreadableMesh
from simengine.builder.importers.paths import MissingFile
from simengine.builder.importers.report import Notes
from simengine.builder.importers.urdf.document import LinkShape, MujocoSettings, Robot
from simengine.builder.mesh_data import Mesh
from simengine.enums import ShapeType
from simengine.errors import AssetError, MissingExtraError


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


def load_shapes(robot: Robot, shelf: MeshShelf, scale: float) -> dict[str, LinkShapes]:
    """The shapes of each link, by its name. A visual that cannot be read is left out and noted.

    Raises:
        AssetError: a collision's mesh is absent or cannot be read, or a path is not allowed.
    """
    labels = FreeLabels()
    result = {}
    for link in robot.links.values():
        result[link.name] = of_link = LinkShapes([], [])
        for shape in link.visuals:
            try:
                label = _label(link.name, shape, labels, shelf.notes)
                of_link.visuals.append(_load(shape, label, shelf, scale, robot.mujoco))
            except (MissingFile, MissingExtraError, UnreadableMesh) as error:
                shelf.notes.ignore("<visual>", shape.geometry.element, str(error))
            except AssetError as error:
                raise shape.geometry.element.error(str(error)) from None
        for shape in link.collisions:
            try:
                label = _label(link.name, shape, labels, shelf.notes)
                of_link.collisions.append(_load(shape, label, shelf, scale, robot.mujoco))
            except AssetError as error:
                raise shape.geometry.element.error(str(error)) from None
    return result


def _label(link: str, shape: LinkShape, labels: FreeLabels, notes: Notes) -> str:
    """The link's name, and the file's name of the shape or its kind; a number sets equal ones apart."""
    base = f"{link}/{shape.name or shape.element.tag}"
    label = labels.take(base)
    if shape.name and label != base:
        notes.note("repaired", f"name '{shape.name}'", shape.element, f"taken in this link: called '{label}'")
    return label


def _load(shape: LinkShape, label: str, shelf: MeshShelf, scale: float, mujoco: MujocoSettings) -> LoadedShape:
    kind, size = shape.geometry.kind, tuple(part * scale for part in shape.geometry.size)
    frame = scaled_pose(shape.frame, scale)
    if kind == "mesh":
        factors = tuple(part * scale for part in shape.geometry.size)
        mesh = _mesh(shape, shelf, factors, mujoco)
        return LoadedShape(label, ShapeType.MESH, (1.0, 1.0, 1.0), frame, shape, mesh)
    if kind == "box":
        return LoadedShape(label, ShapeType.BOX, tuple(part / 2.0 for part in size), frame, shape)
    if kind == "sphere":
        return LoadedShape(label, ShapeType.SPHERE, (size[0], 0.0, 0.0), frame, shape)
    # the length of a capsule is that of its cylinder
    kind = ShapeType.CYLINDER if kind == "cylinder" else ShapeType.CAPSULE
    return LoadedShape(label, kind, (size[0], size[1] / 2.0, 0.0), frame, shape)


def _mesh(shape: LinkShape, shelf: MeshShelf, factors: tuple[float, ...], mujoco: MujocoSettings) -> Mesh:
    """The mesh where the URDF says; else, in a file with settings for MuJoCo, where that would look for it."""
    element, name = shape.geometry.element, shape.geometry.filename
    try:
        return shelf.get(name, factors, element)
    except UnreadableMesh:
        raise
    except AssetError as error:
        if mujoco.mesh_folder is None:
            raise
        inside = name.rpartition("/")[2] if mujoco.strip_path else name.partition("://")[2] or name
        try:
            return shelf.get(str(PurePosixPath(mujoco.mesh_folder, inside)), factors, element)
        except MissingFile:
            raise error from None
