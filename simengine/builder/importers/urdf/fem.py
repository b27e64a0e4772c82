"""``<fem>`` of a link, as Isaac Gym's users write it: a soft body of tetrahedra, which the builder keeps."""

from __future__ import annotations

from simengine.builder.frames import Pose, apply
from simengine.builder.importers.mesh_shelf import MeshShelf
from simengine.builder.importers.paths import read_file
from simengine.builder.importers.report import Notes
from simengine.builder.importers.urdf.attributes import TABLE
from simengine.builder.importers.urdf.document import Robot, Soft
from simengine.builder.importers.urdf.geometry import scaled_pose
from simengine.builder.importers.urdf.quantities import read_pose
from simengine.builder.importers.urdf.settings import number_of, settings
from simengine.builder.importers.xml_reader import Element
from simengine.builder.meshes.tetra_files import load_tetrahedra
from simengine.errors import AssetError


def parse_soft(element: Element, notes: Notes) -> Soft:
    """The soft body; its mesh is not read yet.

    Raises:
        AssetError: no mesh, or a number that is not what it must be.
    """
    frame = read_pose(element, notes)
    values = {}
    filename = ""
    for child in settings(notes, element, "fem"):
        if child.tag == "tetmesh":
            TABLE.check(notes, child, ())
            filename = child.string("filename")
        elif child.tag != "origin":
            values[child.tag] = number_of(child, lowest=0.0)
    if not filename:
        raise element.error("has no <tetmesh>: add it")
    return Soft(filename, frame, values, element)


def add_soft_bodies(builder, robot: Robot, bodies: dict[str, int], shelf: MeshShelf, scale: float) -> None:
    """Add the soft body of each link that has one, with its rest position on the link.

    Raises:
        AssetError: the mesh cannot be read.
    """
    for link in robot.links.values():
        if link.soft is None:
            continue
        soft = link.soft
        try:
            path = shelf.rules.resolve(soft.filename)
            file = load_tetrahedra(read_file(path, shelf.limits.file_bytes), path.name, shelf.limits)
        except AssetError as error:
            raise soft.element.error(str(error)) from None
        for repair in file.repairs:
            shelf.notes.note("repaired", f"mesh '{soft.filename}'", soft.element, repair)
        vertices = [_placed(point, scaled_pose(soft.frame, scale), scale) for point in file.vertices.tolist()]
        parameters = tuple(soft.values.items())
        builder.add_deformable(
            "soft", vertices, file.tetrahedra.tolist(), label=link.name, body=bodies[link.name], parameters=parameters
        )
        shelf.notes.keep("<fem>", soft.element, "a soft body among the builder's deformables")


def _placed(point: list[float], frame: Pose, scale: float) -> tuple[float, ...]:
    return apply(frame, tuple(part * scale for part in point))
