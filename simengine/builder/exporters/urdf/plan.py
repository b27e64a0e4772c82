"""The links of a URDF file: which bodies, in what frames, and by which joints they hang together.

In URDF a joint stands at the origin of its child link. So the frame of a body that turns about another point is moved
there. A joint of several axes becomes a chain of joints of one axis, with links without mass in between. A link
``world`` carries what stands in the world, where one root link alone does not tell it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from simengine.builder.elements import WORLD, Dof, Joint
from simengine.builder.exporters.names import Names, xml_name
from simengine.builder.exporters.report import ExportNotes
from simengine.builder.exporters.scene import Scene, floats, has_ball, is_identity
from simengine.builder.frames import IDENTITY, NO_TURN, Pose, compose, inverse, quat_between, quat_rotate
from simengine.builder.joints import XYZ
from simengine.builder.topology import FLOATING
from simengine.enums import DofKind, JointType

AXIS_Z = (0.0, 0.0, 1.0)
CLOSE = 1e-12


@dataclass
class FileJoint:
    """A joint of the file; ``dof``: of the scene's joint ``source``, None for the first of a planar or free one."""

    name: str
    kind: str
    parent: str
    child: str
    origin: Pose = IDENTITY
    axis: tuple = (1.0, 0.0, 0.0)
    source: int | None = None
    dof: Dof | None = None


@dataclass
class Plan:
    """``links``: name of the link of each body (WORLD too, where there is one). ``frames``: of each link on its body.

    ``extra``: names of links that stand for no body. ``names_of``: the file's joint of each joint that is one.
    """

    links: dict[int, str] = field(default_factory=dict)
    frames: dict[int, Pose] = field(default_factory=dict)
    extra: list[str] = field(default_factory=list)
    joints: list[FileJoint] = field(default_factory=list)
    names_of: dict[int, str] = field(default_factory=dict)


class Planner:
    """Makes the plan of a scene."""

    def __init__(self, scene: Scene, notes: ExportNotes):
        self.scene, self.notes = scene, notes
        self.link_names = Names("body", notes, xml_name)
        self.joint_names = Names("joint", notes, xml_name)
        self.plan = Plan()

    def make(self) -> Plan:
        plan, scene = self.plan, self.scene
        for index, body in enumerate(scene.elements.bodies):
            plan.links[index] = self.link_names.take(body.label)
            plan.frames[index] = self._frame(index)
        plan.frames[WORLD] = IDENTITY
        roots = scene.below.get(WORLD, [])
        alone = len(roots) == 1 and self._stands_alone(roots[0])
        if not alone:
            name = plan.links[WORLD] = "world"
            while name in self.link_names.taken:
                name = plan.links[WORLD] = f"{name}_"
            self.link_names.taken.add(name)
            self.notes.rewrite("world", "scene", f"a link {name!r} carries what stands in the world")
        for index, joint in enumerate(scene.elements.joints):
            if not (alone and index == roots[0]):
                self._add_joint(index, joint)
        return plan

    def link(self, label: str) -> str:
        """The name of a link that stands for no body."""
        name = self.link_names.take(label)
        self.plan.extra.append(name)
        return name

    def joint(self, label: str) -> str:
        """The name of a joint that stands for none of the scene."""
        return self.joint_names.take(label)

    def _stands_alone(self, index: int) -> bool:
        """Whether the root needs no link ``world`` above it, though its pose may then be lost."""
        elements = self.scene.elements
        joint = elements.joints[index]
        if any(element.body == WORLD for element in (*elements.shapes, *elements.sites)):
            return False
        what = f"joint {joint.label!r}"
        if joint.type == JointType.FREE:
            self.notes.rewrite("free base", what, "add_urdf(floating=True) makes it again: URDF leaves it open")
            if not is_identity(self.scene.initial.pose[joint.child]):
                self.notes.lose("pose of the base", what, "URDF has none: give xform= on import")
            return True
        return joint.type == JointType.FIXED and is_identity(compose(joint.parent_xform, inverse(joint.child_xform)))

    def _frame(self, body: int) -> Pose:
        """The link's frame on the body."""
        joint = self.scene.elements.joints[self.scene.joint_of[body]]
        turns = any(dof.kind != DofKind.LINEAR for dof in joint.dofs) and joint.type not in FLOATING
        point = joint.child_xform[:3]
        if not turns or not any(point):
            return IDENTITY
        label = self.scene.elements.bodies[body].label
        self.notes.rewrite("frame of a body", f"body {label!r}", f"moved to its joint {joint.label!r}, as URDF asks")
        return (*point, *NO_TURN)

    def _add_joint(self, index: int, joint: Joint) -> None:
        plan = self.plan
        parent, child = plan.links[joint.parent], plan.links[joint.child]
        base = compose(inverse(plan.frames[joint.parent]), joint.parent_xform)
        origin = compose(base, compose(inverse(joint.child_xform), plan.frames[joint.child]))
        turn = joint.child_xform[3:]
        if joint.type in FLOATING:
            q = self.scene.initial.coords[index]
            origin = compose(compose(base, q), compose(inverse(joint.child_xform), plan.frames[joint.child]))
            name = self.joint_names.take(joint.label)
            self._append(index, FileJoint(name, "floating", parent, child, origin, source=index))
            what = f"joint {joint.label!r}"
            self.notes.rewrite("coordinates of a free joint", what, "in the file they count from where it starts")
            return
        if joint.type == JointType.FIXED:
            name = self.joint_names.take(joint.label)
            self._append(index, FileJoint(name, "fixed", parent, child, origin, source=index))
            return
        axes = [(dof, quat_rotate(turn, dof.axis)) for dof in self._single(joint)]
        if len(axes) == 1:
            dof, axis = axes[0]
            name = self.joint_names.take(joint.label)
            self._append(index, FileJoint(name, kind_of(dof), parent, child, origin, axis, index, dof))
        elif is_planar(joint, [axis for _, axis in axes]):
            name = self.joint_names.take(joint.label)
            self._append(index, FileJoint(name, "planar", parent, child, origin, axes[2][1], index, joint.dofs[0]))
        else:
            self._add_chain(index, joint, axes, (parent, child, origin))

    def _append(self, index: int, joint: FileJoint) -> None:
        self.plan.joints.append(joint)
        self.plan.names_of[index] = joint.name

    def _single(self, joint: Joint) -> list[Dof]:
        """The dofs, a ball as three hinges."""
        if has_ball(joint):
            reason = "written as three hinges about x, y and z, which are singular where the second is at 90 degrees"
            self.notes.lose("ball", f"joint {joint.label!r}", reason)
        count = len(joint.dofs) - 3 * has_ball(joint)
        hinges = [
            Dof(**(vars(dof) | {"kind": DofKind.ANGULAR, "axis": axis}))
            for dof, axis in zip(joint.dofs[count:], XYZ, strict=False)
        ]
        return [*joint.dofs[:count], *hinges]

    def _add_chain(self, index: int, joint: Joint, axes: list, ends: tuple) -> None:
        parent, child, origin = ends
        body = self.scene.elements.bodies[joint.child].label
        reason = "written as a chain of joints of one axis, with links without mass in between"
        self.notes.rewrite("joint of several axes", f"joint {joint.label!r}", reason)
        for i, (dof, axis) in enumerate(axes):
            last = i == len(axes) - 1
            name = self.joint_names.take(f"{joint.label}_{i}")
            below = child if last else self.link(f"{body}/{joint.label}_{i}")
            self.plan.joints.append(FileJoint(name, kind_of(dof), parent, below, origin, axis, index, dof))
            parent, origin = below, IDENTITY


def kind_of(dof: Dof) -> str:
    """URDF's type of a joint of one axis."""
    if dof.kind == DofKind.LINEAR:
        return "prismatic"
    return "continuous" if np.isinf([dof.limit_lower, dof.limit_upper]).all() else "revolute"


def is_planar(joint: Joint, axes: list) -> bool:
    """Whether the axes are those that the importer gives a planar joint, and alike in all that URDF says once."""
    kinds = [dof.kind for dof in joint.dofs]
    if kinds != [DofKind.LINEAR, DofKind.LINEAR, DofKind.ANGULAR]:
        return False
    if any(np.isfinite([dof.limit_lower, dof.limit_upper]).any() for dof in joint.dofs):
        return False
    if len({(dof.damping, dof.friction, dof.effort_limit) for dof in joint.dofs}) > 1:
        return False
    turn = quat_between(AXIS_Z, axes[2])
    plane = (quat_rotate(turn, (1.0, 0.0, 0.0)), quat_rotate(turn, (0.0, 1.0, 0.0)))
    return bool(np.abs(np.subtract(axes[:2], plane)).max() <= CLOSE)


def moving_massless(plan: Plan, scene: Scene) -> bool:
    """Whether a link without mass moves, which MuJoCo takes only with a bound on masses."""
    held = {
        i for i in scene.order if scene.elements.joints[i].type == JointType.FIXED or floats(scene.elements.joints[i])
    }
    bodies = [joint.child for i, joint in enumerate(scene.elements.joints) if i not in held]
    inner = [joint for joint in plan.joints if joint.child in plan.extra and joint.kind != "fixed"]
    return bool(inner) or any(scene.masses[body].mass == 0 for body in bodies)
