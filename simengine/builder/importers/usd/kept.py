"""What a stage holds besides bodies, joints and shapes: sites, equalities of joints, actuators, deformable bodies."""

from __future__ import annotations

import math

import numpy as np

from simengine.builder.frames import rotation_matrix
from simengine.builder.importers.front import Import
from simengine.builder.importers.usd.bodies import SITES, BodyReader
from simengine.builder.importers.usd.build import Build
from simengine.builder.importers.usd.document import ANGULAR
from simengine.builder.importers.usd.joints import equality_softness
from simengine.builder.importers.usd.names import labels_of
from simengine.builder.importers.usd.reading import applied, instances
from simengine.builder.meshes.tetra import clean_tetrahedra
from simengine.errors import AssetError

CLOTH, CURVES = "PhysicsSurfaceDeformableSimAPI", "PhysicsCurvesDeformableSimAPI"
MIMICS = {"NewtonMimicAPI", "MjcEqualityJointAPI", "PhysxMimicJointAPI"}
PARAMETERS = (
    *(f"physics:{name}" for name in ("density", "youngsModulus", "poissonsRatio", "thickness", "stretchStiffness")),
    *(f"physics:{name}" for name in ("shearStiffness", "bendStiffness", "dynamicFriction", "staticFriction")),
    *(f"physics:curves{name}Stiffness" for name in ("Stretch", "Shear", "Bend", "Twist")),
    *("physics:curvesThickness", "omniphysics:youngsModulus", "omniphysics:poissonsRatio", "omniphysics:density"),
    *("omniphysics:dynamicFriction", "omniphysics:staticFriction"),
)
"""What the materials of deformable bodies say."""


class Extras:
    """Adds to a builder what refers to bodies and joints that are there."""

    def __init__(self, job: Import, build: Build, bodies: BodyReader):
        self.job, self.build, self.bodies = job, build, bodies
        self.builder, self.reader = build.builder, build.reader

    # sites

    def add_sites(self, prims: list) -> dict[str, int]:
        """Add a site for each Gprim that is one; index by path."""
        found = [prim for prim in prims if any(name in SITES for name in applied(prim))]
        labels, sites = labels_of(found), {}
        for prim in found:
            body, pose = self.bodies.pose_on_body(prim)
            path = str(prim.GetPath())
            sites[path] = self.builder.add_site(self.build.index(body), pose, label=labels[path])
        return sites

    # joints that follow joints

    def add_mimics(self, prims: list) -> None:
        """Add a joint equality for each NewtonMimicAPI, PhysxMimicJointAPI and MjcEqualityJointAPI."""
        for prim in prims:
            schemas = applied(prim)
            if not schemas & MIMICS:
                continue
            if str(prim.GetPath()) not in self.build.tree:
                reason = "it has not one degree of freedom of its own in the tree"
                self.reader.notes.ignore("mimic", self.reader.place(prim), reason)
                continue
            if not self.reader.flag(prim, "newton:mimicEnabled", True):
                self.reader.notes.note("defaulted", "mimic", self.reader.place(prim), "mimicEnabled is false: no tie")
            elif "MjcEqualityJointAPI" in schemas:
                self._follow_mujoco(prim)
            elif "NewtonMimicAPI" in schemas:
                self._follow(prim, self.reader.targets(prim, "newton:mimicJoint"), self._newton_terms(prim))
            for axis in instances(prim, "PhysxMimicJointAPI"):
                self._follow_physx(prim, axis)

    def _newton_terms(self, prim) -> tuple[float, float]:
        """Offset in m or rad, and the ratio in the stage's distances or degrees."""
        offset = self.reader.number(prim, "newton:mimicCoef0", 0.0, self._turns(str(prim.GetPath())))
        return offset, self.reader.number(prim, "newton:mimicCoef1", 1.0)

    def _follow_mujoco(self, prim) -> None:
        """MuJoCo's polynomial; its converter leaves the leader and the first terms to NewtonMimicAPI where it can."""
        reader = self.reader
        leader = reader.targets(prim, "mjc:target")
        newton = reader.targets(prim, "newton:mimicJoint")
        if leader and newton and leader != newton:
            reason = f"it follows {newton[0]} by newton:mimicJoint: mjc:target counts, {leader[0]}"
            reader.notes.note("warned", "mimic", reader.place(prim), reason)
        path = str(prim.GetPath())
        offset, ratio = self._newton_terms(prim)
        first = offset if self._turns(path) else offset / reader.units.metre
        if leads := [str(one) for one in newton if str(one) in self.build.tree]:
            ratio *= self._degree(path) / self._degree(leads[0])
        defaults = (first, ratio, 0.0, 0.0, 0.0)
        terms = [reader.number(prim, f"mjc:coef{power}", default) for power, default in enumerate(defaults)]
        self._follow(prim, leader or newton, terms, in_radians=True)

    def _follow_physx(self, prim, axis: str) -> None:
        """PhysX: q + gearing * q of the leader + offset = 0."""
        reader, prefix = self.reader, f"physxMimicJoint:{axis}"
        reader.raw(prim, f"{prefix}:referenceJointAxis")
        gearing = reader.number(prim, f"{prefix}:gearing", 1.0)
        offset = reader.number(prim, f"{prefix}:offset", 0.0, self._turns(str(prim.GetPath())))
        self._follow(prim, reader.targets(prim, f"{prefix}:referenceJoint"), (-offset, -gearing))

    def _degree(self, path: str) -> float:
        """What NewtonMimicAPI's ratio counts coordinates in, in MuJoCo's unit of them."""
        return math.pi / 180.0 if self._turns(path) else 1.0

    def _turns(self, path: str) -> bool:
        return any(axis.kind == ANGULAR for axis in self.build.tree[path].axes)

    def _follow(self, prim, leader: list, polynomial, in_radians: bool = False) -> None:
        """q = sum of a_k q_leader^k; in MuJoCo's form lengths are the stage's, angles radians."""
        path, place, notes = str(prim.GetPath()), self.reader.place(prim), self.reader.notes
        if len(leader) > 1:
            raise place.error(f"follows {len(leader)} joints; it must be one")
        follower, joint = self.build.joints[path], self.build.tree[path]
        target = str(leader[0]) if leader else ""
        if target and target not in self.build.tree:
            raise place.error(f"follows {target}, which is no joint of a tree")
        if len(joint.axes) != 1 or (target and len(self.build.tree[target].axes) != 1):
            notes.ignore("mimic", place, "it or the joint that it follows has not one degree of freedom")
            return
        if target == path:
            raise place.error("follows itself")
        units = self.reader.units
        own = 1.0 if self._turns(path) else units.metre
        led = 1.0 if not target or self._turns(target) else units.metre
        if in_radians:
            values = [value * own / led**power for power, value in enumerate(polynomial)]
        else:
            degrees = units.factor("distance or degrees", self._turns(path))
            of_leader = units.factor("distance or degrees", bool(target) and self._turns(target))
            values = [polynomial[0], polynomial[1] * degrees / of_leader]
        index = self.build.joints[target] if target else -1
        self.builder.add_equality_joint(follower, index, values, label=f"{joint.label}_mimic")
        for name, value in equality_softness(self.reader, prim).items():
            setattr(self.builder.equalities[-1], name, value)
        self.job.report.mimics.append(
            (joint.label, self.build.tree[target].label if target else "", values[1], values[0])
        )

    # deformable bodies

    def add_deformables(self, prims: list) -> None:
        """Keep TetMesh prims, and meshes and curves that are cloth and cables."""
        kinds = {}
        for prim in prims:
            schemas = applied(prim)
            if str(prim.GetTypeName()) == "TetMesh":
                kinds[prim] = "soft"
            elif CLOTH in schemas:
                kinds[prim] = "cloth"
            elif CURVES in schemas:
                kinds[prim] = "cable"
        labels = labels_of(kinds)
        for prim, kind in kinds.items():
            self._add_deformable(prim, kind, labels[str(prim.GetPath())])

    def _add_deformable(self, prim, kind: str, label: str) -> None:
        read = {"soft": self._tetrahedra, "cloth": self._cloth, "cable": self._cable}[kind]
        vertices, elements = read(prim)
        body = self.bodies.body_of(prim)
        matrix, shift = self.bodies.frames.affine(prim)
        points = vertices @ matrix.T + shift
        if body:
            pose = self.bodies.scene.bodies[body].pose
            points = (points - np.array(pose[:3])) @ rotation_matrix(pose[3:])
        material = self.bodies.materials.bound(prim)
        parameters = [] if material is None else self._parameters(material)
        self.builder.add_deformable(
            kind,
            points.tolist(),
            elements.tolist(),
            label=label,
            body=self.build.index(body),
            parameters=tuple(parameters),
        )
        self.reader.notes.keep(f"{kind} body", self.reader.place(prim), "deformable bodies are not simulated yet")

    def _parameters(self, material) -> list[tuple[str, float]]:
        present = [name for name in PARAMETERS if self.reader.raw(material, name) is not None]
        return [(name, self.reader.number(material, name, 0.0, infinite=True)) for name in present]

    def _tetrahedra(self, prim) -> tuple[np.ndarray, np.ndarray]:
        geometry = self.bodies.geometry
        points, tetrahedra = geometry.points(prim), geometry.indices(prim, "tetVertexIndices", 4)
        repairs: list[str] = []
        try:
            mesh = clean_tetrahedra(points, tetrahedra, str(prim.GetPath()), geometry.limits, repairs)
        except AssetError as error:
            raise self.reader.place(prim).error(str(error)) from None
        self.reader.raw(prim, "orientation")
        for repair in repairs:
            self.reader.notes.note("repaired", "TetMesh", self.reader.place(prim), repair)
        return mesh.vertices, mesh.tetrahedra

    def _cloth(self, prim) -> tuple[np.ndarray, np.ndarray]:
        points, triangles, repairs = self.bodies.geometry.surface(prim)
        for repair in repairs:
            self.reader.notes.note("repaired", "cloth", self.reader.place(prim), repair)
        return points, triangles

    def _cable(self, prim) -> tuple[np.ndarray, np.ndarray]:
        """The points of curves, joined by straight pieces."""
        geometry = self.bodies.geometry
        points, counts = geometry.points(prim), geometry.indices(prim, "curveVertexCounts")
        if not len(points) or counts.sum() != len(points) or (counts < 2).any():
            raise self.reader.place(prim, "curveVertexCounts").error(
                f"are {counts.tolist()[:8]}; they must be 2 or more each, together the {len(points)} points"
            )
        first = np.arange(len(points))
        last = np.cumsum(counts) - 1
        first = np.delete(first, last)
        return points, np.stack([first, first + 1], axis=1)
