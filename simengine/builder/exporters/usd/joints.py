"""Joints, and equalities between bodies or joints.

UsdPhysics joins two frames, each on its body. Its axis is one of the frame's; so both frames are turned until that
is the joint's. A joint of several axes becomes several joints between its two bodies, which Newton's schemas let add up
in their order.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from simengine.builder.elements import WORLD, Dof, Equality, Joint
from simengine.builder.exporters.scene import floats, has_ball
from simengine.builder.exporters.usd.writer import JOINTS, Writer, author, relate
from simengine.builder.frames import IDENTITY, NO_TURN, Pose, compose, quat_between, quaternion_of
from simengine.builder.joints import XYZ
from simengine.builder.material import DEFAULT_IMPEDANCE, DEFAULT_REFERENCE
from simengine.builder.topology import FLOATING
from simengine.enums import DofKind, EqualityType, JointType

KINDS = {
    EqualityType.CONNECT: ("PhysicsSphericalJoint", "MjcEqualityConnectAPI"),
    EqualityType.WELD: ("PhysicsFixedJoint", "MjcEqualityWeldAPI"),
    EqualityType.LOOP_BALL: ("PhysicsSphericalJoint", None),
    EqualityType.LOOP_FIXED: ("PhysicsFixedJoint", None),
    EqualityType.LOOP_REVOLUTE: ("PhysicsRevoluteJoint", None),
    EqualityType.LOOP_PRISMATIC: ("PhysicsPrismaticJoint", None),
    EqualityType.DISTANCE: ("PhysicsDistanceJoint", None),
}
"""Type of the prim of an equality between bodies, and the schema that tells it from a loop joint."""


class Joints:
    """Writes the joints and equalities of a scene. ``prims``: of each joint, by its index."""

    def __init__(self, writer: Writer):
        self.writer = writer
        self.prims: dict[int, list] = {}

    def add(self, index: int) -> None:
        """Write one joint; a free one on the world is none."""
        joint = self.writer.scene.elements.joints[index]
        what = f"joint {joint.label!r}"
        self.prims[index] = []
        if floats(joint):
            self._note_free(joint, index, what)
            return
        if joint.type == JointType.FIXED:
            self._define(index, joint, joint.label, "PhysicsFixedJoint", NO_TURN)
        elif joint.type in FLOATING:
            self._define(index, joint, joint.label, "PhysicsJoint", NO_TURN)
            self.writer.notes.rewrite("free joint between bodies", what, "comes back as three sliders and a ball")
        elif joint.type == JointType.BALL:
            self._ball(index, joint, joint.label, 0)
        else:
            self._several(index, joint, what)
        self.writer.notes.report.count("joints", len(self.prims[index]))

    def _several(self, index: int, joint: Joint, what: str) -> None:
        """A joint of one axis, or of several: sliders and hinges one after another; sliders with a ball as one."""
        if has_ball(joint):
            self._sliders_and_ball(index, joint, what)
            return
        single = len(joint.dofs) == 1
        for i, dof in enumerate(joint.dofs):
            self._axis(index, joint, joint.label if single else dof.label or f"{joint.label}_{i}", i)
        if not single:
            self.prims[index][0].SetDisplayName(joint.label)
            self.writer.notes.rewrite("joint of several axes", what, "written as several joints, which add up")

    def _sliders_and_ball(self, index: int, joint: Joint, what: str) -> None:
        """A generic joint: free turns, free sliders along its first axes, the other directions locked."""
        from pxr import UsdPhysics

        sliders = joint.dofs[:-3]
        turn = slider_frame([dof.axis for dof in sliders])
        if turn is None:
            self.writer.notes.lose("sliders with a ball", what, "not at right angles: written along X, Y, Z instead")
            turn = NO_TURN
        elif turn != NO_TURN:
            self.writer.notes.rewrite("sliders with a ball", what, "its frames are turned along its sliders")
        prim = self._define(index, joint, joint.label, "PhysicsJoint", turn)
        for letter, dof in itertools.zip_longest("XYZ", sliders):
            if dof is not None and dof.limit_lower == -math.inf and dof.limit_upper == math.inf:
                continue
            limit = UsdPhysics.LimitAPI.Apply(prim, f"trans{letter}")
            limit.CreateLowAttr(1.0 if dof is None else dof.limit_lower)
            limit.CreateHighAttr(-1.0 if dof is None else dof.limit_upper)
        self._alike(joint.dofs, what)
        if any(dof.target_ke or dof.target_kd for dof in joint.dofs) or any(self.writer.scene.initial.rates[index]):
            self.writer.notes.lose("drive and initial rates", what, "of sliders with a ball they are not written")
        self._mjc(prim, joint.dofs[0])

    def _alike(self, dofs: list[Dof], what: str) -> None:
        """Note what differs along the axes of a joint that says it once."""
        for name in ("armature", "damping", "friction", "stiffness"):
            if len({getattr(dof, name) for dof in dofs}) > 1:
                self.writer.notes.lose(f"{name} that differs along the axes", what, "the first was written")

    def _note_free(self, joint: Joint, index: int, what: str) -> None:
        if joint.parent_xform != IDENTITY or joint.child_xform != IDENTITY:
            reason = "its coordinates come back as the pose of the body in the world"
            self.writer.notes.rewrite("frames of a free joint", what, reason)
        if not self.writer.scene.is_anonymous(index):
            self.writer.notes.rewrite("free joint", what, "a body on no joint is free in USD: its label is not written")
        for name in ("armature", "damping", "friction"):
            if any(getattr(dof, name) for dof in joint.dofs):
                self.writer.notes.lose(name, what, "a free body has no joint that could hold it")

    def _define(self, index: int, joint: Joint, label: str, kind: str, turn):
        """The prim of a joint, with its frames turned by ``turn``."""
        path = self.writer.take(JOINTS, label)
        prim = self.writer.define(path, kind, label)
        self.prims[index].append(prim)
        self._place(prim, (joint.parent, joint.child), (joint.parent_xform, joint.child_xform), turn)
        if joint.collide_with_parent:
            from pxr import UsdPhysics

            UsdPhysics.Joint(prim).CreateCollisionEnabledAttr(True)
        return prim

    def _place(self, prim, bodies: tuple[int, int], frames: tuple[Pose, Pose], turn) -> None:
        from pxr import Gf, UsdPhysics

        api = UsdPhysics.Joint(prim)
        for end, (body, frame) in enumerate(zip(bodies, frames, strict=True)):
            if body != WORLD:
                relate(prim, f"physics:body{end}", [self.writer.body_path(body)])
            x, y, z, qx, qy, qz, qw = map(float, compose(frame, (0.0, 0.0, 0.0, *turn)))
            getattr(api, f"CreateLocalPos{end}Attr")(Gf.Vec3f(x, y, z))
            getattr(api, f"CreateLocalRot{end}Attr")(Gf.Quatf(qw, qx, qy, qz))

    def _axis(self, index: int, joint: Joint, label: str, i: int) -> None:
        """A hinge or slider about one axis of a joint."""
        from pxr import UsdPhysics

        dof = joint.dofs[i]
        linear = dof.kind == DofKind.LINEAR
        token, turn = axis_frame(dof.axis)
        kind = "PhysicsPrismaticJoint" if linear else "PhysicsRevoluteJoint"
        prim = self._define(index, joint, label, kind, turn)
        api = (UsdPhysics.PrismaticJoint if linear else UsdPhysics.RevoluteJoint)(prim)
        api.CreateAxisAttr(token)
        unit = 1.0 if linear else math.degrees(1.0)
        if dof.limit_lower > -math.inf:
            api.CreateLowerLimitAttr(dof.limit_lower * unit)
        if dof.limit_upper < math.inf:
            api.CreateUpperLimitAttr(dof.limit_upper * unit)
        self._state(prim, "linear" if linear else "angular", index, i, unit)
        self._dof(prim, dof, "linear" if linear else "angular", unit)

    def _state(self, prim, name: str, index: int, i: int, unit: float) -> None:
        """Where the coordinate starts, in the words of PhysX's schema."""
        initial = self.writer.scene.initial
        position, rate = initial.coords[index][i] * unit, initial.rates[index][i] * unit
        if position or rate:
            prim.AddAppliedSchema(f"PhysicsJointStateAPI:{name}")
            from pxr import Sdf

            for field, value in (("position", position), ("velocity", rate)):
                kind = Sdf.ValueTypeNames.Float
                prim.CreateAttribute(f"state:{name}:physics:{field}", kind, False).Set(value)

    def _dof(self, prim, dof: Dof, name: str, unit: float) -> None:
        """Drive, springs, friction and softness."""
        from pxr import UsdPhysics

        if dof.target_ke or dof.target_kd or dof.effort_limit < math.inf:
            drive = UsdPhysics.DriveAPI.Apply(prim, name)
            drive.CreateTypeAttr(UsdPhysics.Tokens.force)
            drive.CreateStiffnessAttr(dof.target_ke / unit)
            drive.CreateDampingAttr(dof.target_kd / unit)
            drive.CreateTargetPositionAttr(dof.target_pos * unit)
            drive.CreateTargetVelocityAttr(dof.target_vel * unit)
            if dof.effort_limit < math.inf:
                drive.CreateMaxForceAttr(dof.effort_limit)
        elif dof.target_pos or dof.target_vel:
            drive = UsdPhysics.DriveAPI.Apply(prim, name)
            drive.CreateTargetPositionAttr(dof.target_pos * unit)
            drive.CreateTargetVelocityAttr(dof.target_vel * unit)
        author(
            prim,
            "NewtonJointAPI",
            newton__velocityLimit=dof.velocity_limit * unit if dof.velocity_limit < math.inf else None,
            newton__limitStiffness=dof.limit_ke / unit or None,
            newton__limitDamping=dof.limit_kd / unit or None,
        )
        self._mjc(prim, dof)

    def _mjc(self, prim, dof: Dof) -> None:
        author(
            prim,
            "MjcJointAPI",
            mjc__armature=dof.armature or None,
            mjc__damping=dof.damping or None,
            mjc__frictionloss=dof.friction or None,
            mjc__stiffness=dof.stiffness or None,
            mjc__springref=dof.spring_ref or None,
            mjc__margin=dof.limit_margin or None,
            mjc__solreflimit=_unless(dof.limit_reference, DEFAULT_REFERENCE),
            mjc__solimplimit=_unless(dof.limit_impedance, DEFAULT_IMPEDANCE),
            mjc__solreffriction=_unless(dof.friction_reference, DEFAULT_REFERENCE),
            mjc__solimpfriction=_unless(dof.friction_impedance, DEFAULT_IMPEDANCE),
        )

    def _ball(self, index: int, joint: Joint, label: str, first: int) -> None:
        from pxr import UsdPhysics

        what, lose = f"joint {joint.label!r}", self.writer.notes.lose
        prim = self._define(index, joint, label, "PhysicsSphericalJoint", NO_TURN)
        api = UsdPhysics.SphericalJoint(prim)
        api.CreateAxisAttr(UsdPhysics.Tokens.x)
        about_y, about_z = joint.swing_limit
        # the first cone angle bounds the tilt of X towards Y, which is a turn about Z
        for cone, limit in enumerate((about_z, about_y)):
            if limit < math.inf:
                getattr(api, f"CreateConeAngle{cone}LimitAttr")(math.degrees(limit))
        if joint.twist_limit != (-math.inf, math.inf):
            lose("twist limit", what, "a spherical joint has none in USD")
        if joint.angle_limit < math.inf:
            lose("limit of the whole angle", what, "a spherical joint has none in USD")
        dofs = joint.dofs[first:]
        self._alike(dofs, what)
        if any(dof.target_ke or dof.target_kd or dof.effort_limit < math.inf for dof in dofs):
            lose("drive", what, "a spherical joint has none in USD")
        if any(self.writer.scene.initial.rates[index][first:]):
            lose("initial rates", what, "a spherical joint has none in USD")
        self._mjc(prim, dofs[0])

    # equalities

    def path(self, joint: int, dof: int = 0) -> str | None:
        """The prim of a degree of freedom; None where the joint has none."""
        prims = self.prims[joint]
        return str(prims[dof if len(prims) > 1 else 0].GetPath()) if prims else None

    def add_equality(self, index: int) -> None:
        """Write one equality, or note why it cannot be."""
        equality = self.writer.scene.elements.equalities[index]
        if equality.type == EqualityType.JOINT:
            self._joint_equality(equality)
            return
        kind, schema = KINDS[equality.type]
        path = self.writer.take(JOINTS, equality.label, "equality", index)
        prim = self.writer.define(path, kind, equality.label)
        turn = NO_TURN
        if kind in ("PhysicsRevoluteJoint", "PhysicsPrismaticJoint"):
            token, turn = axis_frame(equality.data[:3])
            prim.GetAttribute("physics:axis").Set(token)
        bodies = (equality.object0, equality.object1)
        self._place(prim, bodies, (equality.xform0, equality.xform1), turn)
        self._close(prim, equality, schema)
        self.writer.notes.report.count("equalities")

    def _close(self, prim, equality: Equality, schema: str | None) -> None:
        from pxr import UsdPhysics

        api = UsdPhysics.Joint(prim)
        api.CreateExcludeFromArticulationAttr(True)
        api.CreateCollisionEnabledAttr(True)
        if equality.type == EqualityType.DISTANCE:
            lower, upper = equality.data[:2]
            distance = UsdPhysics.DistanceJoint(prim)
            distance.CreateMinDistanceAttr(lower or -1.0)
            distance.CreateMaxDistanceAttr(upper if upper < math.inf else -1.0)
        if schema is not None:
            prim.AddAppliedSchema(schema)
        self._softness(prim, equality)

    def _softness(self, prim, equality: Equality) -> None:
        what = f"equality {equality.label!r}"
        if not equality.active:
            self.writer.notes.lose("inactive equality", what, "no schema has it: comes back active")
        author(
            prim,
            "MjcEqualityAPI",
            mjc__torqueScale=None if equality.torque_scale == 1.0 else equality.torque_scale,
            mjc__solref=_unless(equality.reference, DEFAULT_REFERENCE),
            mjc__solimp=_unless(equality.impedance, DEFAULT_IMPEDANCE),
        )

    def _joint_equality(self, equality: Equality) -> None:
        """On the joint that follows, with the leader as its target."""
        what = f"equality {equality.label!r}"
        (prim,) = self.prims[equality.object0]
        if "MjcEqualityJointAPI" in str(prim.GetMetadata("apiSchemas")):
            self.writer.notes.lose("joint equality", what, "its joint has one already, and USD has one for each")
            return
        author(prim, "MjcEqualityJointAPI", **{f"mjc__coef{i}": float(x) for i, x in enumerate(equality.data[:5])})
        if equality.object1 != WORLD:
            relate(prim, "mjc:target", [self.path(equality.object1)])
        self.writer.notes.rewrite("name", what, "an equality of joints is part of its joint's prim")
        self._softness(prim, equality)
        self.writer.notes.report.count("equalities")


def slider_frame(axes: list) -> tuple | None:
    """The turn that leads X, Y, Z in turn to the axes; None where they are not at right angles, or left-handed."""
    first = np.array(axes[0])
    second = np.array(axes[1]) if len(axes) > 1 else None
    if second is None:
        second = np.cross((0.0, 0.0, 1.0), first)
        if np.linalg.norm(second) < 0.1:
            second = np.cross((1.0, 0.0, 0.0), first)
        second = second / np.linalg.norm(second)
    third = np.array(axes[2]) if len(axes) > 2 else np.cross(first, second)
    matrix = np.stack([first, second, third], axis=1)
    if np.abs(matrix.T @ matrix - np.eye(3)).max() > 1e-9 or np.linalg.det(matrix) < 0:
        return None
    return quaternion_of(matrix)


def axis_frame(axis) -> tuple[str, tuple]:
    """A USD axis, and the turn of the frame that leads it to ``axis``."""
    for token, direction in zip("XYZ", XYZ, strict=True):
        if tuple(axis) == direction:
            return token, NO_TURN
    return "X", quat_between(XYZ[0], tuple(axis))


def write_articulations(writer: Writer, joints: Joints) -> None:
    """The root of each tree: its joint on the world, or its body where that is free."""
    from pxr import UsdPhysics

    scene = writer.scene
    for root in scene.below.get(WORLD, []):
        body = scene.elements.joints[root].child
        prims = joints.prims[root]
        if body not in scene.below and len(prims) < 2:
            continue
        on_joint = prims and body in scene.below
        prim = prims[0] if on_joint else writer.stage.GetPrimAtPath(writer.body_path(body))
        UsdPhysics.ArticulationRootAPI.Apply(prim)
        if any(len(joints.prims[j]) > 1 for j in _tree(scene, root)):
            author(prim, "NewtonArticulationRootAPI", newton__jointsAddMobility=True)


def _tree(scene, root: int) -> list[int]:
    """All joints of the tree whose root joint this is."""
    found, waiting = [], [root]
    while waiting:
        joint = waiting.pop()
        found.append(joint)
        waiting += scene.below.get(scene.elements.joints[joint].child, [])
    return found


def _unless(value, default):
    return None if tuple(value) == default else tuple(map(float, value))
