"""Shapes as visuals and collisions of their link."""

from __future__ import annotations

import math
from xml.etree import ElementTree

import numpy as np

from simengine.builder.elements import DEFAULT_MATERIAL, WORLD, Shape
from simengine.builder.exporters.mesh_files import SIDES, MeshFiles, shape_mesh
from simengine.builder.exporters.report import ExportNotes
from simengine.builder.exporters.scene import Scene
from simengine.builder.exporters.urdf.plan import Plan
from simengine.builder.exporters.xml_text import Node, add
from simengine.builder.frames import Pose, compose, inverse, rotation_matrix
from simengine.builder.pairs import structural_filter
from simengine.enums import ShapeType

GREY = (0.7, 0.7, 0.7, 1.0)
"""The colour of a shape that none is given."""

UNUSED = {"margin": 0.0, "gap": 0.0, "group": -1, "contype": 1, "conaffinity": 1, "mix": 1.0}
"""Fields of shapes for which URDF has no place, with their defaults."""

SURFACE = {
    "lateral_friction": "friction",
    "spinning_friction": "torsional",
    "rolling_friction": "rolling",
    "restitution": "restitution",
}
"""What Bullet's ``<contact>`` says of a link's surface."""

DIMENSIONS = {"torsional": 4, "rolling": 6}
"""Contact dimensions from which a field of the surface acts."""


class LinkShapes:
    """Writes the shapes of links. ``one_material``: all that collides in the scene is of one."""

    def __init__(self, meshes: MeshFiles, notes: ExportNotes, one_material: bool):
        self.meshes, self.notes, self.one_material = meshes, notes, one_material

    def write(self, link: Node, name: str, shapes: list[Shape], frame: Pose) -> None:
        """``frame``: of the link on its body."""
        collisions = [shape for shape in shapes if shape.collides]
        drawn = any(shape.visible and not shape.collides for shape in shapes)
        taken: set[str] = set()
        for shape in shapes:
            what = f"shape {shape.label!r}"
            geometry = self._geometry(shape, what)
            if geometry is None:
                continue
            if not shape.collides and not shape.visible:
                self.notes.lose("shape", what, "it neither collides nor shows, and URDF has no third kind: left out")
                continue
            placed = compose(inverse(frame), shape.xform)
            own = self._name(shape, name, taken)
            if shape.visible and not (shape.collides and not drawn):
                node = self._element(link, "visual", own, placed, geometry)
                if shape.color != GREY:
                    self._color(node, shape)
                if shape.collides:
                    self.notes.rewrite("shape", what, "written as a visual and a collision")
            if shape.collides:
                self._element(link, "collision", own, placed, geometry)
                if not shape.visible and not drawn:
                    self.notes.lose("hidden shape", what, "collisions of a link without visuals are shown")
                if shape.color != GREY:
                    self.notes.lose("color", what, "of a link's collisions, which have none in URDF")
            self._lose_fields(shape, what)
        if collisions:
            self._surface(link, name, collisions)

    def _name(self, shape: Shape, link: str, taken: set[str]) -> str | None:
        """The file's name of a shape: none where its label is the one that it gets without."""
        own = shape.label.removeprefix(f"{link}/")
        kind = "collision" if shape.collides else "visual"
        if own == kind and kind not in taken:
            taken.add(kind)
            return None
        return own

    def _element(self, link: Node, tag: str, name: str | None, pose: Pose, geometry: Node) -> Node:
        node = add(link, tag, name=name)
        origin(node, pose)
        node.append(geometry)
        self.notes.report.count(f"{tag}s")
        return node

    def _color(self, node: Node, shape: Shape) -> None:
        name = "color_" + "_".join(f"{round(255 * x):02x}" for x in shape.color)
        add(add(node, "material", name=name), "color", rgba=shape.color)

    def _geometry(self, shape: Shape, what: str) -> Node | None:
        node = ElementTree.Element("geometry")
        x, y, z = shape.size
        if shape.type == ShapeType.PLANE:
            self.notes.lose("plane", what, "URDF has none: left out")
            return None
        if shape.type == ShapeType.BOX:
            add(node, "box", size=(2 * x, 2 * y, 2 * z))
        elif shape.type == ShapeType.SPHERE:
            add(node, "sphere", radius=x)
        elif shape.type in (ShapeType.CYLINDER, ShapeType.CAPSULE):
            add(node, shape.type.name.lower(), radius=x, length=2 * y)
        elif shape.type in (ShapeType.CONE, ShapeType.ELLIPSOID):
            self.notes.lose(shape.type.name.lower(), what, f"written as a mesh of {SIDES} sides")
            add(node, "mesh", filename=self.meshes.path(shape_mesh(shape)))
        else:
            self._mesh(node, shape, what)
        return node

    def _mesh(self, node: Node, shape: Shape, what: str) -> None:
        scale = None if shape.size == (1.0, 1.0, 1.0) else shape.size
        if shape.type == ShapeType.HEIGHTFIELD:
            self.notes.lose("height field", what, "written as the mesh of its surface")
            scale = None
        elif shape.type == ShapeType.SDF:
            self.notes.lose("distance field", what, "written as the mesh of its surface")
        elif shape.type == ShapeType.CONVEX_HULL and shape.collides:
            reason = 'written as its mesh; add_urdf(collision_meshes="hull") makes hulls of collisions'
            self.notes.rewrite("convex hull", what, reason)
        add(node, "mesh", filename=self.meshes.path(shape.mesh), scale=scale)

    def _lose_fields(self, shape: Shape, what: str) -> None:
        for name, default in UNUSED.items():
            if getattr(shape, name) != default:
                self.notes.lose(name, what, f"{getattr(shape, name)}: URDF has no place for it")

    def _surface(self, link: Node, name: str, collisions: list[Shape]) -> None:
        """Bullet's ``<contact>``: one material for all collisions of a link."""
        material, what = collisions[0].material, f"link {name!r}"
        if any(shape.material != material for shape in collisions):
            self.notes.lose("materials that differ on one link", what, "that of the first collision was written")
        values = {}
        for tag, field in SURFACE.items():
            value, needed = getattr(material, field), DIMENSIONS.get(field, 1)
            if material.contact_dim >= needed > 1 or (needed == 1 and value != getattr(DEFAULT_MATERIAL, field)):
                values[tag] = value
            elif value != getattr(DEFAULT_MATERIAL, field):
                reason = f"{field}, {value:g}: without effect at contact dimension {material.contact_dim}"
                self.notes.rewrite("unused friction", what, reason)
        if material.contact_dim == 1:
            self.notes.lose("contact dimension", what, "1: URDF has friction always")
        if values:
            node = add(link, "contact")
            for tag, value in values.items():
                add(node, tag, value=value)
        for field in ("static_friction", "time_constant", "damping_ratio", "impedance", "stiffness", "dissipation"):
            if getattr(material, field) is not None:
                self.notes.lose(field.replace("_", " "), what, f"{getattr(material, field)}: URDF has no place for it")
        for field in ("combine", "priority"):
            if getattr(material, field) != getattr(DEFAULT_MATERIAL, field):
                note = self.notes.rewrite if self.one_material else self.notes.lose
                note(f"{field} of materials", what, f"{getattr(material, field)}: URDF has no place for it")


def origin(node: Node, pose: Pose) -> None:
    """``<origin>``, left out where it is the identity."""
    values = {}
    if any(pose[:3]):
        values["xyz"] = pose[:3]
    angles = roll_pitch_yaw(pose[3:])
    if any(angles):
        values["rpy"] = angles
    if values:
        add(node, "origin", **values)


def roll_pitch_yaw(q: tuple) -> tuple[float, float, float]:
    """Angles with R = Rz(yaw) Ry(pitch) Rx(roll).

    Yaw first; pitch and roll are those of Rz(-yaw) R, so that what is lost in yaw where pitch is 90 degrees, and only
    the sum or difference of both others counts, is made up for in roll.
    """
    r = rotation_matrix(q)
    yaw = math.atan2(r[1, 0], r[0, 0])
    c, s = math.cos(yaw), math.sin(yaw)
    pitch = math.atan2(-r[2, 0], c * r[0, 0] + s * r[1, 0])
    roll = math.atan2(s * r[0, 2] - c * r[1, 2], c * r[1, 1] - s * r[0, 1])
    return roll + 0.0, pitch + 0.0, yaw + 0.0


def shapes_by_body(shapes: list[Shape]) -> dict[int, list[Shape]]:
    """Shapes of each body, WORLD too, in order."""
    found: dict[int, list[Shape]] = {WORLD: []}
    for shape in shapes:
        found.setdefault(shape.body, []).append(shape)
    return found


def write_self_collision(root: Node, plan: Plan, scene: Scene) -> bool:
    """``<selfCollide>`` false for links that meet no other link; whether that is all that filters do."""
    shapes = scene.elements.shapes
    if not shapes:
        return True
    structural = structural_filter(scene.elements.bodies, scene.elements.joints, shapes)
    collides = np.array([shape.collides for shape in shapes])
    body = np.array([shape.body for shape in shapes])
    may = ~structural & collides[:, None] & collides[None, :]
    apart = may & ~scene.allowed_pairs()
    own = {int(b): collides & (body == b) for b in body[collides] if b != WORLD}
    alone = [b for b, of_body in own.items() if apart[of_body].any() and (apart[of_body] == may[of_body]).all()]
    for b in alone:
        add(add(root, "gazebo", reference=plan.links[b]), "selfCollide").text = "false"
    meets = ~np.isin(body, alone)
    return not (apart & meets[:, None] & meets[None, :]).any()
