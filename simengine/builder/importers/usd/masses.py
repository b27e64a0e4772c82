"""Mass, centre of mass and inertia of bodies, by the rules of UsdPhysicsRigidBodyAPI::ComputeMassProperties.

Of a collider: its mass, else its density, else that of its body, of its material, 1000 kg/m3. Of a body: its mass, else
the sum of its colliders; a mass of the body scales theirs. A written centre of mass moves the reference point of the
inertia (parallel axis theorem), a written inertia replaces it. Zero stands for nothing written.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from simengine.builder.frames import rotation_matrix
from simengine.builder.importers.usd.document import Part
from simengine.builder.importers.usd.frames import Frames, rotation_part
from simengine.builder.importers.usd.geometry import Geometry
from simengine.builder.importers.usd.materials import Materials
from simengine.builder.importers.usd.reading import Reader
from simengine.builder.inertia import NOTHING, MassProperties, combine, principal_axes, shape_mass_properties, shell
from simengine.builder.mesh_data import convex_hull
from simengine.builder.meshes.mass import mesh_inertia
from simengine.enums import ShapeType
from simengine.errors import ModelError

WEIGHING = (
    *(f"physics:{name}" for name in ("mass", "density", "centerOfMass", "diagonalInertia", "principalAxes")),
    *("newton:inertia", "newton:massModel", "newton:shellThickness", "mjc:inertia", "mjc:shellinertia"),
)
SHELL = 0.001  # m: thickness of a shell whose file names none


class Masses:
    """Weighs bodies and shapes. ``density`` (kg/m3): where the file says nothing."""

    def __init__(self, reader: Reader, frames: Frames, materials: Materials, density: float):
        self.reader, self.frames, self.materials, self.density = reader, frames, materials, density

    def body(self, prim, colliders: list[tuple[object, Part]]) -> MassProperties:
        """Mass properties of a body in its own frame; its colliders are weighed where it does not say all itself.

        ``colliders``: (prim, part) of each, of which those that are switched off count where there are no others.
        """
        mass, com, inertia = self._written(prim)
        for one, _ in colliders:
            for name in WEIGHING:  # what the body says goes before what its colliders say
                self.reader.raw(one, name)
            self.materials.density(one)
        if mass is None and inertia is not None and not inertia.any() and self._says_massless(prim):
            return NOTHING
        if mass is not None and com is not None and inertia is not None:
            return MassProperties(mass, com, inertia)
        own_density = self.reader.positive(prim, "physics:density")
        weighed = [one for one in colliders if one[1].enabled] or colliders
        if weighed and not any(part.enabled for _, part in weighed):
            reason = "that of its colliders, though they are switched off"
            self.reader.notes.note("defaulted", "mass", self.reader.place(prim), reason)
        total = combine(self._collider(one, part, own_density) for one, part in weighed)
        return self._override(prim, total, mass, com, inertia)

    def _override(self, prim, total: MassProperties, mass, com, inertia) -> MassProperties:
        """The total with what is written in its place."""
        place, notes = self.reader.place(prim), self.reader.notes
        if total.mass == 0.0:
            if mass is None:
                return NOTHING
            center = np.zeros(3) if com is None else com
            if inertia is None:
                radius = (3.0 * mass / (4.0 * np.pi * self.density)) ** (1.0 / 3.0)
                inertia = 0.4 * mass * radius**2 * np.eye(3)
                reason = f"that of a ball of its mass at {self.density:g} kg/m3, since it has no collider"
                notes.note("defaulted", "inertia", place, reason)
            return MassProperties(mass, center, inertia)
        scaled = total.scaled(mass / total.mass) if mass is not None else total
        if com is not None:
            scaled = MassProperties(scaled.mass, com, scaled.about(com))
        if inertia is None:
            return scaled
        if self._leaves_axes_open(prim):
            _, axes = principal_axes(scaled.inertia)
            inertia = axes @ inertia @ axes.T
        return replace(scaled, inertia=inertia)

    def _leaves_axes_open(self, prim) -> bool:
        """Whether the moments are written but not their axes: then those are the axes of the colliders' inertia."""
        reader = self.reader
        return self._axes(prim) is None and not reader.numbers(prim, "newton:inertia")

    def _axes(self, prim):
        """Written principal axes as a quaternion; None for zeros too, the value of the schema."""
        value = self.reader.raw(prim, "physics:principalAxes")
        if hasattr(value, "GetLength") and value.GetLength() == 0.0:
            return None
        return self.reader.quaternion(prim, "physics:principalAxes")

    def _says_massless(self, prim) -> bool:
        """Both the mass and the whole inertia tensor are written as zero: so converters write a link without mass."""
        return self.reader.raw(prim, "physics:mass") == 0 and self.reader.numbers(prim, "newton:inertia") is not None

    def _written(self, prim) -> tuple[float | None, np.ndarray | None, np.ndarray | None]:
        """Mass, centre of mass in the prim's rigid frame and inertia about it, each None where it is not written."""
        reader = self.reader
        mass = reader.positive(prim, "physics:mass")
        com = reader.vector(prim, "physics:centerOfMass", 3, infinite=True)
        if com is not None:
            com = self._in_frame(prim, com) if np.isfinite(com).all() else None
        tensor = reader.numbers(prim, "newton:inertia")
        if tensor:
            if len(tensor) != 6:
                raise reader.place(prim, "newton:inertia").error(f"has {len(tensor)} numbers; it must have 6")
            for name in ("physics:diagonalInertia", "physics:principalAxes"):
                reader.raw(prim, name)  # which the tensor goes before
            xx, yy, zz, xy, xz, yz = tensor
            return mass, com, np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        diagonal = reader.vector(prim, "physics:diagonalInertia", 3)
        axes = self._axes(prim)
        if diagonal is None or not diagonal.any():
            return mass, com, None
        if (diagonal < 0.0).any():
            raise reader.place(prim, "physics:diagonalInertia").error(f"is {diagonal.tolist()}; none may be negative")
        turn = np.eye(3) if axes is None else rotation_matrix(axes)
        return mass, com, turn @ np.diag(diagonal) @ turn.T

    def _in_frame(self, prim, point: np.ndarray) -> np.ndarray:
        """A point of a prim's own coordinates (times the metre) in its rigid frame, in m: its scale applies."""
        matrix, _ = self.frames.affine(prim)
        return rotation_part(matrix).T @ matrix @ (point / self.reader.units.metre)

    def _collider(self, prim, part: Part, body_density: float | None) -> MassProperties:
        """Mass properties of a collider in the frame of its body."""
        reader = self.reader
        mass, com, inertia = (None, None, None) if part.path == part.body else self._written(prim)
        density = reader.positive(prim, "physics:density") or body_density or self.materials.density(prim)
        own = self._shape(prim, part.geometry, density or self.density)
        if own.mass == 0.0:
            return NOTHING
        if mass is not None:
            own = own.scaled(mass / own.mass)
        if com is not None:
            own = MassProperties(own.mass, com, own.about(com))
        if inertia is not None:
            own = replace(own, inertia=inertia)
        return own.moved(part.geometry.frame)

    def _shape(self, prim, geometry: Geometry, density: float) -> MassProperties:
        """Mass properties of a shape in its own frame."""
        reader, kind, mesh = self.reader, geometry.type, geometry.mesh
        try:
            if kind == ShapeType.PLANE:
                return NOTHING
            if reader.flag(prim, "mjc:shellinertia", False):  # the density is then that of the surface
                return shell(kind, geometry.size, mesh).scaled(density)
            if reader.word(prim, "newton:massModel", "solid") == "shell":
                thickness = reader.least(prim, "newton:shellThickness", SHELL) or SHELL
                return shell(kind, geometry.size, mesh).scaled(density * thickness)
            mode = reader.word(prim, "mjc:inertia", "") if mesh is not None else ""
            if mode in ("legacy", "convex", "exact"):
                volume, com, inertia = mesh_inertia(mesh, mode)
                return MassProperties(density * volume, com, density * inertia)
            if kind == ShapeType.MESH and mesh.solid_problem:
                reason = f"weighed as its convex hull, since {mesh.solid_problem}"
                reader.notes.note("repaired", "mesh", reader.place(prim), reason)
                kind, mesh = ShapeType.MESH, convex_hull(mesh.vertices, mesh.label)
            return shape_mass_properties(kind, geometry.size, density, mesh)
        except ModelError as error:
            raise reader.place(prim).error(f"its body needs a mass from it, but {error}") from None
