"""Joints of a body: one of ours where they turn about one point, sliders first; else bodies without mass between."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from simengine.builder.elements import WORLD
from simengine.builder.frames import (
    IDENTITY,
    NO_TURN,
    Pose,
    Quaternion,
    add,
    compose,
    quat_conjugate,
    quat_from_axis_angle,
    quat_multiply,
    quat_rotate,
    scale,
)
from simengine.builder.importers.mjcf.document import Body, Document, Joint
from simengine.builder.importers.mjcf.softness import Softness
from simengine.builder.importers.report import Notes

if TYPE_CHECKING:
    from simengine.builder.importers.mjcf.build_tree import Labels, Placed
    from simengine.builder.importers.mjcf.masses import Weighed

AXES = 3  # of a kind that one joint of ours takes
SAME = 1e-12  # m: anchors that are closer are one


class JointBuilder:
    """Adds the joints of bodies to a scratch builder."""

    def __init__(self, scratch, document: Document, labels: Labels, placed: Placed, softness: Softness, notes: Notes):
        self.scratch, self.document, self.labels, self.placed = scratch, document, labels, placed
        self.softness, self.notes = softness, notes
        self.collide = "filterparent" in document.disabled
        self.alone = {
            reference.name
            for equality in document.equalities
            if equality.kind == "joint"
            for reference in (equality.first, equality.second)
            if reference is not None
        }
        self.roots = {id(body) for body in document.world.bodies}
        self.split: list[Body] = []
        self.grounded: set[int] = set()  # bodies fixed to the world, which MuJoCo lets touch what hangs on them

    def add_carriers(self, body: Body) -> list[int]:
        """Bodies without mass, one for each joint of ours but the last, before the body itself."""
        self._check(body)
        carriers = []
        for run in runs(body.joints, self.alone)[:-1]:
            name = run[-1].name
            label = self.labels.new("body", f"{body.name}/{name}" if body.name and name else "carrier")
            self.placed.places.setdefault(label, body.element)
            index = self.scratch.add_body(mass=0.0, inertia=(0.0, 0.0, 0.0), label=label)
            self.scratch.bodies[index].auto_label = not (body.name and name)
            carriers.append(index)
        if carriers:
            self.split.append(body)
            what = f"{len(carriers) + 1} joints in a row, with bodies without mass between them"
            self.notes.note("repaired", "joints of one body", body.element, what)
        return carriers

    def _check(self, body: Body) -> None:
        kinds = [joint.kind for joint in body.joints]
        if "free" in kinds and (len(kinds) > 1 or id(body) not in self.roots):
            raise body.element.error("a free joint is the only one of a child of the world")
        after = kinds[kinds.index("ball") + 1 :] if "ball" in kinds else []
        if "ball" in after or "hinge" in after:
            raise body.element.error("a ball joint is followed by another rotation: it turns freely already")
        if sum(3 if kind == "ball" else 1 for kind in kinds if kind != "free") > 6:
            raise body.element.error("has more than 6 degrees of freedom: spread them over several bodies")

    def add(self, body: Body, frame: Pose, parent: int, chain: list[int]) -> None:
        """The joints that move ``chain``, the carriers and then the body itself, which stands at ``frame``."""
        options = {"collide_with_parent": True} if self.collide or parent in self.grounded else {}
        joints = body.joints
        if not joints and (parent == WORLD or parent in self.grounded):
            self.grounded.add(chain[0])
        if not joints:
            label = self.labels.new("joint", f"joint_{len(self.scratch.joints)}")
            self.placed.places.setdefault(label, body.element)
            index = self.scratch.add_joint_fixed(parent, chain[0], parent_xform=frame, label=label, **options)
            self.scratch.joints[index].auto_label = True
        elif joints[0].kind == "free":
            self._free(joints[0], frame, chain[0], options)
        else:
            for run, child in zip(runs(joints, self.alone), chain, strict=True):
                self._run(run, frame, parent, child, options)
                parent, frame = child, IDENTITY

    def _free(self, joint: Joint, frame: Pose, child: int, options: dict) -> None:
        if joint.stiffness or joint.spring_damper[0]:
            self.notes.ignore("stiffness", joint.element, "a free joint has no spring")
        options = options | {
            "q": frame,
            "armature": joint.armature,
            "damping": joint.damping,
            "friction": joint.friction,
        }
        if joint.friction:
            options |= self._friction([joint])

        def make(label: str) -> int:
            return self.scratch.add_joint_free(WORLD, child, label=label, **options)

        index = self.labels.add(self.scratch.joints, "joint", joint, make)
        self.placed.joints[id(joint)] = (index, 0)

    def _friction(self, joints: list[Joint]) -> dict:
        both = [self.softness.both(joint.friction_compliance, joint.element, "friction") for joint in joints]
        return (
            {
                "friction_reference": [reference for reference, _ in both],
                "friction_impedance": [impedance for _, impedance in both],
            }
            if len(both) > 1
            else {"friction_reference": both[0][0], "friction_impedance": both[0][1]}
        )

    def _run(self, run: list[Joint], frame: Pose, parent: int, child: int, options: dict) -> None:
        """One joint of ours for several of the file's: sliders, then hinges or a ball about one anchor."""
        placing = _placing(run, frame)
        per_dof = [joint for joint in run for _ in range(3 if joint.kind == "ball" else 1)]
        options = options | self._dofs(per_dof) | {"parent_xform": placing[0], "child_xform": placing[1]}
        axes, kinds = placing[2], [joint.kind for joint in run]
        if any(joint.reference for joint in run):
            options["q"] = (
                *(joint.reference for joint in run if joint.kind != "ball"),
                *(NO_TURN if "ball" in kinds else ()),
            )
        scratch = self.scratch

        def make(label: str) -> int:
            ends = (parent, child)
            if kinds == ["hinge"]:
                return scratch.add_joint_revolute(*ends, axes[0], label=label, **options)
            if kinds == ["slide"]:
                return scratch.add_joint_prismatic(*ends, axes[0], label=label, **options)
            if kinds == ["ball"]:
                return scratch.add_joint_ball(*ends, label=label, **options)
            slides = kinds.count("slide")
            if "ball" in kinds:
                return scratch.add_joint_d6(*ends, linear_axes=axes[:slides], ball=True, label=label, **options)
            return scratch.add_joint_d6(
                *ends, linear_axes=axes[:slides], angular_axes=axes[slides:], label=label, **options
            )

        self._named(run, make)

    def _named(self, run: list[Joint], make) -> None:
        """Make a joint of several of the file's, named after them all, each dof after its own."""
        names = [joint.name for joint in run if joint.name]
        node = run[0]
        if len(run) > 1 and names:
            node = Joint(run[0].element, self.labels.new("joint", "+".join(names)), "hinge")
        index = self.labels.add(self.scratch.joints, "joint", node, make)
        joint, dof = self.scratch.joints[index], 0
        for own in run:
            self.placed.joints[id(own)] = (index, dof)
            self.placed.places.setdefault(own.name or joint.label, own.element)
            width = 3 if own.kind == "ball" else 1
            for part in joint.dofs[dof : dof + width]:
                part.label = own.name or "" if len(run) > 1 else ""
            if own.kind == "ball" and own.limits is not None:
                joint.angle_limit = own.limits[1]
            dof += width
            if own.kind != "ball":
                joint.dofs[dof - 1].target_pos = own.reference

    def _dofs(self, joints: list[Joint]) -> dict:
        """The keywords of a joint whose dofs are those of ``joints``, one for each."""
        limits = [self.softness.both(joint.limit_compliance, joint.element, "limit") for joint in joints]
        friction = [self.softness.both(joint.friction_compliance, joint.element, "friction") for joint in joints]
        result = {
            "armature": [joint.armature for joint in joints],
            "damping": [joint.damping for joint in joints],
            "stiffness": [joint.stiffness for joint in joints],
            "friction": [joint.friction for joint in joints],
            "spring_ref": [joint.spring_reference for joint in joints],
            "limit_margin": [joint.margin for joint in joints],
            "limit_reference": [reference for reference, _ in limits],
            "limit_impedance": [impedance for _, impedance in limits],
            "friction_reference": [reference for reference, _ in friction],
            "friction_impedance": [impedance for _, impedance in friction],
            "effort_limit": [self._effort(joint) for joint in joints],
        }
        ranges = [joint.limits if joint.limits and joint.kind != "ball" else (-math.inf, math.inf) for joint in joints]
        if any(joint.kind != "ball" for joint in joints):
            result |= {"limit_lower": [low for low, _ in ranges], "limit_upper": [high for _, high in ranges]}
        return result

    def _effort(self, joint: Joint) -> float:
        if joint.effort is None:
            return math.inf
        lower, upper = joint.effort
        if lower != -upper:
            largest = max(abs(lower), abs(upper))
            reason = f"{lower:g} to {upper:g} is not symmetric: the larger, {largest:g}, holds both ways"
            self.notes.note("warned", "actuatorfrcrange", joint.element, reason)
        return max(abs(lower), abs(upper))

    def filter_split(self, weighed: Weighed) -> None:
        """Shapes of a body do not touch those of its parent, though carriers stand between them."""
        if self.collide or not self.split:
            return
        parents = {id(child): body for body in self.document.world.tree() for child in body.bodies}

        def top(body: Body) -> Body:
            while body is not self.document.world and not body.joints and not body.mocap:
                body = parents[id(body)]
            return body

        shapes: dict[int, list[int]] = {}
        for body in self.document.world.tree():
            own = [self.placed.shapes[id(solid.geom)] for solid in weighed.solids[id(body)]]
            shapes.setdefault(id(top(body)), []).extend(own)
        for body in self.split:
            above = top(parents[id(body)])
            if above is not self.document.world:
                for first in shapes[id(body)]:
                    for second in shapes[id(above)]:
                        self.scratch.add_shape_collision_filter_pair(first, second)


def runs(joints: list[Joint], alone: set[str]) -> list[list[Joint]]:
    """Joints of a body in groups that one joint of ours can be: up to three sliders, then up to three hinges or a ball
    about one point. Those named in ``alone`` stand by themselves."""
    result: list[list[Joint]] = []
    for joint in joints:
        if not result or not _fits(result[-1], joint, alone):
            result.append([])
        result[-1].append(joint)
    return result


def _fits(run: list[Joint], joint: Joint, alone: set[str]) -> bool:
    if joint.name in alone or any(other.name in alone for other in run):
        return False
    turning = [other for other in run if other.kind != "slide"]
    if joint.kind == "slide":
        return not turning and len(run) < AXES
    if not turning:
        return True
    same = np.allclose(joint.position, turning[0].position, rtol=0.0, atol=SAME)
    return joint.kind == "hinge" and turning[0].kind == "hinge" and len(turning) < AXES and same


def _placing(run: list[Joint], frame: Pose) -> tuple[Pose, Pose, list]:
    """Frames on parent and child, and the axes, such that the coordinates of the file's pose are its ``ref``.

    MuJoCo moves the body by M1(q1 - r1) M2(q2 - r2) ... in its own frame. M(q - r) = M(q) M(-r): the constant turns
    M(-r) pass to the child's side, turning the axes after them; those of sliders go to the parent's.
    """
    turning = [joint for joint in run if joint.kind != "slide"]
    anchor = (turning or run)[0].position
    shift, turn, axes = (0.0, 0.0, 0.0), NO_TURN, []
    for joint in run:
        if joint.kind == "slide":
            shift = add(shift, scale(joint.axis, -joint.reference))
            axes.append(joint.axis)
        elif joint.kind == "hinge":
            axes.append(quat_rotate(turn, joint.axis))
            back: Quaternion = quat_from_axis_angle(joint.axis, -joint.reference)
            turn = quat_multiply(turn, back) if joint.reference else turn
    parent = compose(frame, (*add(anchor, shift), *NO_TURN))
    return parent, (*anchor, *quat_conjugate(turn)), axes
