"""Rigid bodies of a stage, and the shapes on them and in the world."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from simengine.builder.frames import IDENTITY, compose, inverse
from simengine.builder.importers.attributes import MIX
from simengine.builder.importers.usd.attributes import IGNORED_PRIMS
from simengine.builder.importers.usd.document import Body, Part, Scene
from simengine.builder.importers.usd.frames import Frames, relative
from simengine.builder.importers.usd.geometry import (
    SHAPES,
    Geometry,
    GeometryReader,
    bounding_box,
    bounding_sphere,
)
from simengine.builder.importers.usd.masses import Masses
from simengine.builder.importers.usd.materials import Materials
from simengine.builder.importers.usd.names import labels_of
from simengine.builder.importers.usd.reading import Reader, applied
from simengine.builder.mesh_data import Mesh, convex_hull
from simengine.builder.meshes.decompose import decompose
from simengine.enums import ShapeType
from simengine.errors import AssetError, MissingExtraError, ModelError

SITES = ("NewtonSiteAPI", "MjcSiteAPI")
DEFORMABLE = ("PhysicsSurfaceDeformableSimAPI", "PhysicsVolumeDeformableSimAPI", "PhysicsCurvesDeformableSimAPI")
OTHER_PRIMS = ("MjcActuator", "MjcTendon", "MjcKeyframe", "NewtonActuator")
"""Types of prims that are read, though usd-core does not know them."""

SHOWN = ("default", "render")
CONVEX = 0.999  # share of its hull that a convex mesh fills
EXACT = ("none", "meshSimplification", "sdf")
"""Approximations for which the triangles themselves collide."""


class BodyReader:
    """Adds bodies and shapes to a Scene."""

    def __init__(self, scene: Scene, reader: Reader, frames: Frames, geometry: GeometryReader, density: float):
        self.scene, self.reader, self.frames, self.geometry = scene, reader, frames, geometry
        self.materials = Materials(reader)
        self.masses = Masses(reader, frames, self.materials, density)

    def add_bodies(self, prims: list) -> None:
        """Add a body for each prim with a RigidBodyAPI; one that is not enabled is part of the world."""
        enabled = []
        for prim in prims:
            if self.reader.flag(prim, "physics:rigidBodyEnabled", True):
                enabled.append(prim)
            else:
                reason = "rigidBodyEnabled is false: its shapes are part of the world"
                self.reader.notes.note("defaulted", "body", self.reader.place(prim), reason)
        labels = labels_of(enabled)
        for prim in enabled:
            path = str(prim.GetPath())
            self.scene.bodies[path] = Body(
                path,
                labels[path],
                self.frames.pose(prim),
                kinematic=self.reader.flag(prim, "physics:kinematicEnabled", False),
                velocity=self._velocity(prim),
                weightless=float(self.reader.flag(prim, "physxRigidBody:disableGravity", False)),
            )

    def _velocity(self, prim) -> tuple | None:
        """Velocity of the centre of mass and angular velocity in world axes; the file has them in the parent's axes."""
        linear = self.reader.vector(prim, "physics:velocity", 3)
        angular = self.reader.vector(prim, "physics:angularVelocity", 3)
        if (linear is None or not linear.any()) and (angular is None or not angular.any()):
            return None
        matrix, _ = self.frames.parent(prim)
        zero = np.zeros(3)
        linear = matrix @ ((zero if linear is None else linear) / self.reader.units.metre)
        axes = matrix / np.cbrt(abs(np.linalg.det(matrix)))
        angular = np.sign(np.linalg.det(axes)) * (axes @ (zero if angular is None else angular))
        return (*linear.tolist(), *angular.tolist())

    def body_of(self, prim) -> str:
        """The path of the body that a prim belongs to: itself or the nearest above it; "" for the world.

        As in UsdPhysics' own parser, one that resets its transform is on the body above it all the same.
        """
        while prim and not prim.IsPseudoRoot():
            path = str(prim.GetPath())
            if path in self.scene.bodies:
                return path
            prim = prim.GetParent()
        return ""

    # shapes

    def add_shapes(self, prims: list, colliders: dict[str, str], visuals: bool) -> None:
        """Add the shapes among ``prims`` in their order.

        ``colliders``: path of the body ("" for the world) by the path of each prim that UsdPhysics has as a shape.
        """
        from pxr import Usd

        registry = Usd.SchemaRegistry()
        labels = labels_of(prim for prim in prims if str(prim.GetTypeName()) in SHAPES)
        for prim in prims:
            path, kind, schemas = str(prim.GetPath()), str(prim.GetTypeName()), applied(prim)
            if any(name in DEFORMABLE for name in schemas) or kind == "TetMesh" or any(s in SITES for s in schemas):
                continue
            if kind and kind not in OTHER_PRIMS and registry.FindConcretePrimDefinition(kind) is None:
                self.reader.notes.ignore(f"{kind} prim", self.reader.place(prim), "a type that is not known here")
            elif kind in IGNORED_PRIMS:
                self.reader.notes.ignore(f"{kind} prim", self.reader.place(prim), IGNORED_PRIMS[kind])
            elif path in colliders and kind in SHAPES:
                self._add_collider(prim, labels[path], colliders[path])
            elif "PhysicsCollisionAPI" in schemas:
                reason = f"CollisionAPI is on a prim of type '{kind}', which has no surface"
                self.reader.notes.ignore("collider", self.reader.place(prim), reason)
            elif kind in SHAPES and visuals:
                self._add_visual(prim, labels[path])
            if kind == "GeomSubset" and prim.GetRelationship("material:binding:physics"):
                reason = "a collider has one physics material, that of the whole mesh"
                self.reader.notes.ignore("GeomSubset", self.reader.place(prim), reason)

    def _add_visual(self, prim, label: str) -> None:
        if not self._is_shown(prim):
            return
        body = self.body_of(prim)
        try:
            geometry = self.geometry.read(prim, self._affine(prim, body))
        except AssetError as error:  # what only shows may be missing, as a mesh file of a visual may
            self.reader.notes.note("ignored", "visual", self.reader.place(prim), str(error))
            return
        color = self.materials.color(prim)
        path = str(prim.GetPath())
        self.scene.parts.append(Part(path, label, body, geometry, collides=False, color=color))

    def _is_shown(self, prim) -> bool:
        from pxr import UsdGeom

        image = UsdGeom.Imageable(prim)
        for name in ("purpose", "visibility"):
            self.reader.raw(prim, name)
        return image.ComputePurpose() in SHOWN and image.ComputeVisibility() != "invisible"

    def _affine(self, prim, body: str):
        return relative(self.scene.bodies[body].pose if body else IDENTITY, self.frames.affine(prim))

    def _add_collider(self, prim, label: str, body: str) -> None:
        reader, path = self.reader, str(prim.GetPath())
        enabled = reader.flag(prim, "physics:collisionEnabled", True)
        geometry = self.geometry.read(prim, self._affine(prim, body))
        part = Part(path, label, body, geometry, self.materials.of(prim), enabled, enabled=enabled)
        part.visible, part.color = self._is_shown(prim), self.materials.color(prim)
        part.margin, part.gap = self._margins(prim)
        part.mix = reader.least(prim, "mjc:solmix", 1.0)
        if part.mix != 1.0:
            reader.notes.keep("attribute 'mjc:solmix'", reader.place(prim), MIX)
        if geometry.type == ShapeType.PLANE:
            geometry.size = (0.0, 0.0, 0.0)  # a plane collides without end
        if geometry.type != ShapeType.MESH:
            reader.raw(prim, "physics:approximation")  # of no meaning there: a primitive collides as itself
        if geometry.changed:
            reader.notes.note("repaired", "shape", reader.place(prim), geometry.changed)
        self.scene.parts += self._approximations(prim, part) if geometry.type == ShapeType.MESH else [part]

    def _margins(self, prim) -> tuple[float, float]:
        """Margin and gap: Newton's, else PhysX's offsets, else MuJoCo's."""
        reader = self.reader
        rest = max(reader.number(prim, "physxCollision:restOffset", 0.0, infinite=True), 0.0)
        contact = reader.number(prim, "physxCollision:contactOffset", -np.inf, infinite=True)
        margin = reader.least(prim, "newton:contactMargin", rest or reader.least(prim, "mjc:margin", 0.0))
        gap = max(contact - rest, 0.0) if np.isfinite(contact) else reader.least(prim, "mjc:gap", 0.0)
        return margin, reader.least(prim, "newton:contactGap", gap)

    def _approximations(self, prim, part: Part) -> list[Part]:
        """The mesh of a collider as what it collides as: triangles, hulls, a box or a ball."""
        reader = self.reader
        place = reader.place(prim, "physics:approximation")
        kind = reader.word(prim, "physics:approximation", "none")
        if kind in EXACT:
            if kind != "none":
                reader.notes.note("defaulted", kind, place, "it collides as its triangles")
            return [part]
        if kind == "boundingCube":
            return [replace(part, geometry=bounding_box(part.geometry))]
        if kind == "boundingSphere":
            return [replace(part, geometry=bounding_sphere(part.geometry))]
        if kind not in ("convexHull", "convexDecomposition"):
            reader.notes.note("warned", "approximation", place, f"'{kind}' is none: it collides as its triangles")
            return [part]
        if _is_planar(part.geometry.mesh.vertices):
            reason = "its points lie in one plane (coplanar), so there is no hull: it collides as its triangles"
            reader.notes.note("repaired", kind, place, reason)
            return [part]
        if kind == "convexDecomposition" and part.collides:
            return self._decomposed(prim, part)
        return [_hull(part)]

    def _decomposed(self, prim, part: Part) -> list[Part]:
        """Hulls that do not show, and the mesh itself, which weighs and shows."""
        reader = self.reader
        if _is_convex(part.geometry.mesh):
            return [_hull(part)]
        most = reader.number(prim, "physxConvexDecompositionCollision:maxConvexHulls", 32.0)
        try:
            meshes = decompose(part.geometry.mesh, max_parts=max(int(most), 1))
        except (MissingExtraError, ModelError) as error:
            reader.notes.note("defaulted", "convexDecomposition", reader.place(prim), f"one hull: {error}")
            return [_hull(part)]
        shown = replace(part, collides=False)
        hulls = [
            replace(
                part,
                label=f"{part.label}_part_{number}",
                geometry=Geometry(ShapeType.CONVEX_HULL, (1.0, 1.0, 1.0), part.geometry.frame, mesh),
                visible=False,
            )
            for number, mesh in enumerate(meshes)
        ]
        return [shown, *hulls]

    def weigh(self, prims: dict) -> None:
        """Set the mass properties of all bodies. ``prims``: by path."""
        of_body: dict[str, dict] = {path: {} for path in self.scene.bodies}  # the first part of each prim
        for part in self.scene.parts:
            if part.body and "PhysicsCollisionAPI" in applied(prims[part.path]):
                of_body[part.body].setdefault(part.path, (prims[part.path], part))
        for path, body in self.scene.bodies.items():
            body.mass = self.masses.body(prims[path], list(of_body[path].values()))

    def pose_on_body(self, prim) -> tuple[str, tuple]:
        """The body of a prim ("" for the world), and the prim's rigid frame on it."""
        body = self.body_of(prim)
        pose = self.frames.pose(prim)
        return body, compose(inverse(self.scene.bodies[body].pose), pose) if body else pose


def _hull(part: Part) -> Part:
    return replace(part, geometry=replace(part.geometry, type=ShapeType.CONVEX_HULL))


def _is_convex(mesh: Mesh) -> bool:
    """Whether a closed mesh fills its hull."""
    return not mesh.solid_problem and mesh.moments[0] > CONVEX * convex_hull(mesh.vertices, mesh.label).moments[0]


def _is_planar(points: np.ndarray) -> bool:
    spread = np.linalg.svd(points - points.mean(axis=0), compute_uv=False)
    return bool(spread[-1] <= 1e-9 * spread[0])
