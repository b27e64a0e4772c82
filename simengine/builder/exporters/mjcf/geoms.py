"""Shapes as geoms, with their meshes and height fields."""

from __future__ import annotations

import numpy as np

from simengine.builder.elements import WORLD, Shape
from simengine.builder.exporters.mesh_files import SIDES, shape_mesh
from simengine.builder.exporters.mjcf.joints import place
from simengine.builder.exporters.mjcf.writer import Writer
from simengine.builder.exporters.xml_text import add
from simengine.builder.frames import IDENTITY, compose
from simengine.builder.material import DEFAULT_IMPEDANCE, DEFAULT_REFERENCE
from simengine.builder.mesh_data import Mesh, convex_hull
from simengine.enums import ShapeType
from simengine.errors import ModelError

SIZES = {
    ShapeType.SPHERE: ("sphere", 1),
    ShapeType.CAPSULE: ("capsule", 2),
    ShapeType.CYLINDER: ("cylinder", 2),
    ShapeType.BOX: ("box", 3),
    ShapeType.ELLIPSOID: ("ellipsoid", 3),
}
"""Types that MJCF has, with how many sizes each takes."""

HIDDEN_GROUP = 3
"""The first group of geoms that MuJoCo's viewers leave out unless asked."""

GREY = (0.5, 0.5, 0.5, 1.0)
"""The colour that MJCF gives what has none."""


class Geoms:
    """Writes the shapes of a scene. ``touching``: shapes that collide in the file too."""

    def __init__(self, writer: Writer, moving: set[int]):
        """``moving``: bodies that move, on which MuJoCo allows no planes and height fields."""
        self.writer, self.moving = writer, moving
        self.touching: set[int] = set()
        self._meshes: dict[tuple, str] = {}
        self._fields: dict[tuple, str] = {}

    def add(self, index: int) -> None:
        """Write one shape, or note why it cannot be."""
        shape = self.writer.scene.elements.shapes[index]
        what = f"shape {shape.label!r}"
        geometry, collides = self._geometry(shape, what)
        if geometry is None:
            return
        pose = compose(shape.xform, geometry.pop("offset", IDENTITY))
        name = self.writer.name("shape", shape.label, index)
        contact = self._contact(shape, what) if collides else {"contype": 0, "conaffinity": 0}
        if collides:
            self.touching.add(index)
        color = None if shape.color == GREY else shape.color
        group = None if shape.visible else HIDDEN_GROUP
        add(
            self.writer.nodes[shape.body],
            "geom",
            name=name,
            **geometry,
            **place(pose),
            **_mass(shape),
            **contact,
            rgba=color,
            group=group,
        )
        self.writer.notes.report.count("geoms")

    def _geometry(self, shape: Shape, what: str) -> tuple[dict | None, bool]:
        """Attributes of the geometry, and whether it can collide; None where the shape cannot be written."""
        lose = self.writer.notes.lose
        if shape.type in SIZES:
            kind, count = SIZES[shape.type]
            return {"type": kind, "size": shape.size[:count]}, shape.collides
        if shape.type in (ShapeType.PLANE, ShapeType.HEIGHTFIELD) and shape.body in self.moving:
            lose(shape.type.name.lower(), what, "MuJoCo has them on bodies that do not move alone: left out")
            return None, False
        if shape.type == ShapeType.PLANE:
            return {"type": "plane", "size": (*shape.size[:2], 1.0)}, shape.collides
        if shape.type == ShapeType.HEIGHTFIELD:
            return self._height_field(shape, what), shape.collides
        if shape.type == ShapeType.CONE:
            lose("cone", what, f"written as a mesh of {SIDES} sides")
            return {"type": "mesh", "mesh": self._mesh(shape_mesh(shape), (1.0, 1.0, 1.0), "convex")}, shape.collides
        return self._mesh_geometry(shape, what)

    def _mesh_geometry(self, shape: Shape, what: str) -> tuple[dict | None, bool]:
        lose, collides = self.writer.notes.lose, shape.collides
        if len(np.unique(shape.mesh.vertices, axis=0)) < 4:
            lose("mesh", what, "MuJoCo takes none of fewer than 4 vertices: left out")
            return None, False
        if collides and not _encloses(shape.mesh):
            lose("collision with a flat mesh", what, "MuJoCo collides its hull, which is flat: it does not collide")
            collides = False
        elif collides and shape.type == ShapeType.MESH:
            lose("collision with the triangles of a mesh", what, "MuJoCo collides its convex hull")
        elif collides and shape.type == ShapeType.SDF:
            lose("distance field", what, "written as the mesh of its surface, whose convex hull MuJoCo collides")
        inertia = "convex" if shape.type == ShapeType.CONVEX_HULL and _encloses(shape.mesh) else "exact"
        if shape.mesh.solid_problem and inertia == "exact":
            inertia = "shell"
        return {"type": "mesh", "mesh": self._mesh(shape.mesh, shape.size, inertia)}, collides

    def _mesh(self, mesh: Mesh, scale: tuple, inertia: str) -> str:
        """The name of the mesh asset; ``inertia``: what MuJoCo takes for its solid."""
        key = (mesh, tuple(scale), inertia)
        if key not in self._meshes:
            name = self._meshes[key] = self.writer.name("mesh", mesh.label)
            factors = None if tuple(scale) == (1.0, 1.0, 1.0) else scale
            path = self.writer.meshes.path(mesh)
            add(self.writer.section("asset"), "mesh", name=name, file=path, scale=factors, inertia=inertia)
        return self._meshes[key]

    def _height_field(self, shape: Shape, what: str) -> dict:
        """MuJoCo scales the heights to 0..1 and then by the third size; the lowest lies at the geom's origin.

        Its rows go down along y, the first at the top.
        """
        heights = shape.heightfield.heights
        low, height = float(heights.min()), float(np.ptp(heights))
        base = low + shape.size[2]
        if base <= 0.0:
            self.writer.notes.lose("height field's base", what, "MuJoCo asks for one below the surface: 1 mm")
            base = 1e-3
        size = (*shape.size[:2], height or 1e-3, base)
        key = (shape.heightfield, size)
        if key not in self._fields:
            name = self._fields[key] = self.writer.name("height field", shape.heightfield.label)
            rows, columns = heights.shape
            elevation = (heights - low)[::-1].ravel()
            fields = {"nrow": rows, "ncol": columns, "elevation": elevation}
            add(self.writer.section("asset"), "hfield", name=name, size=size, **fields)
        return {"type": "hfield", "hfield": self._fields[key], "offset": (0.0, 0.0, low, 0.0, 0.0, 0.0, 1.0)}

    def _contact(self, shape: Shape, what: str) -> dict:
        material, lose = shape.material, self.writer.notes.lose
        if material.restitution > 0:
            lose("restitution", what, f"{material.restitution:g}: MJCF has none")
        if material.static_friction not in (None, material.friction):
            lose("static friction", what, f"{material.static_friction:g}: MJCF has one coefficient")
        if material.stiffness is not None:
            lose("contact stiffness in SI units", what, "MJCF's is per unit of mass: its defaults were written")
        if material.combine != "mjcf":
            note = self.writer.notes.rewrite if self.writer.scene.one_material else lose
            note(f"combine mode {material.combine!r}", what, "MuJoCo takes the larger of two values")
        friction = (material.friction, material.torsional, material.rolling)
        reference = (material.row()["shape_reference"], DEFAULT_REFERENCE)
        impedance = (material.row()["shape_impedance"], DEFAULT_IMPEDANCE)
        rows = {
            "friction": (friction, (1.0, 0.005, 0.0001)),
            "solref": reference,
            "solimp": impedance,
            "condim": (material.contact_dim, 3),
            "priority": (material.priority, 0),
            "solmix": (shape.mix, 1.0),
            "margin": (shape.margin, 0.0),
            "gap": (shape.gap, 0.0),
            "contype": (_signed(shape.contype), 1),
            "conaffinity": (_signed(shape.conaffinity), 1),
        }
        return {name: value for name, (value, default) in rows.items() if value != default}


def _signed(bits: int) -> int:
    """32 bits as the signed number that MuJoCo reads."""
    return bits - 2**32 if bits >= 2**31 else bits


def _mass(shape: Shape) -> dict:
    """Mass attributes; the bodies have inertials of their own, so they tell what the shape is of and no more."""
    if shape.type in (ShapeType.PLANE, ShapeType.HEIGHTFIELD) or shape.body == WORLD:
        return {}
    if shape.mass is not None:
        mass = {"mass": shape.mass}
    else:
        # MuJoCo's density of a shell is per area
        mass = {"density": shape.density * (1.0 if shape.thickness is None else shape.thickness)}
    meshes = (ShapeType.MESH, ShapeType.CONVEX_HULL, ShapeType.SDF, ShapeType.CONE)
    if shape.thickness is not None and shape.type not in meshes:
        mass["shellinertia"] = True
    return mass


def _encloses(mesh: Mesh) -> bool:
    """Whether the hull of a mesh has a volume."""
    try:
        convex_hull(mesh.vertices, mesh.label)
    except ModelError:
        return False
    return True
