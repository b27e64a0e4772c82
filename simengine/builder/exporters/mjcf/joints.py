"""Joints of an MJCF file: where their axes stand, their attributes, and their coordinates from ours.

A body of the file stands at its pose in the reference configuration: the initial coordinates, which MuJoCo calls
``ref``, with balls at rest. There MuJoCo takes anchors and axes in the frame of the body, one joint after the other,
so those of a chain of our joints are their world positions and directions there, seen from the body.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from simengine.builder.elements import Dof, Joint
from simengine.builder.exporters.mjcf.bodies import Carrier
from simengine.builder.exporters.report import ExportNotes
from simengine.builder.exporters.scene import Scene, floats, has_ball, relative
from simengine.builder.exporters.xml_text import finite
from simengine.builder.frames import (
    NO_TURN,
    Pose,
    Quaternion,
    add,
    compose,
    cross,
    inverse,
    quat_conjugate,
    quat_from_axis_angle,
    quat_multiply,
    quat_rotate,
    scale,
    subtract,
)
from simengine.builder.material import DEFAULT_IMPEDANCE, DEFAULT_REFERENCE
from simengine.enums import DofKind, JointType


@dataclass
class FileJoint:
    """A joint of the file: ``kind`` "slide", "hinge", "ball" or "free"; ``first`` of the dofs of joint ``joint``.

    ``anchor``, ``axis``: on the body. ``turn``: from the axes of our joint frame to those of the body (of a ball).
    """

    joint: int
    first: int
    kind: str
    name: str
    anchor: tuple = (0.0, 0.0, 0.0)
    axis: tuple = (0.0, 0.0, 1.0)
    turn: Quaternion = NO_TURN
    ref: float = 0.0


def file_joints(carrier: Carrier, scene: Scene, body_pose: Pose, parents: list[Pose], names) -> list[FileJoint]:
    """The joints of one body of the file, in order.

    ``body_pose``: of the body, ``parents``: of the body above each joint of the chain; world poses in the reference
    configuration. ``names``: a function from label to a name.
    """
    result = []
    for index, parent in zip(carrier.chain, parents, strict=True):
        joint = scene.elements.joints[index]
        if joint.type == JointType.FIXED:
            continue
        if floats(joint):
            result.append(FileJoint(index, 0, "free", names(joint.label)))
            continue
        result += _of_joint(index, joint, scene, relative(body_pose, parent), names)
    return result


def _of_joint(index: int, joint: Joint, scene: Scene, parent: Pose, names) -> list[FileJoint]:
    """``parent``: pose of the body above, in the frame of the file's body."""
    coords = scene.initial.coords[index]
    frame, found = compose(parent, joint.parent_xform), []
    scalars = [dof for dof in joint.dofs if dof.kind in (DofKind.LINEAR, DofKind.ANGULAR)]
    single = len(scalars) + has_ball(joint) == 1
    for i, dof in enumerate(scalars):
        kind = "slide" if dof.kind == DofKind.LINEAR else "hinge"
        name = names(_label(joint, i, single))
        found.append(FileJoint(index, i, kind, name, axis=quat_rotate(frame[3:], dof.axis), ref=coords[i]))
        if kind == "slide":
            frame = (*add(frame[:3], scale(found[-1].axis, coords[i])), *frame[3:])
        else:
            frame = (*frame[:3], *quat_multiply(frame[3:], quat_from_axis_angle(dof.axis, coords[i])))
    if has_ball(joint):
        name = names(_label(joint, len(scalars), single))
        found.append(FileJoint(index, len(scalars), "ball", name, turn=frame[3:]))
    for one in found:
        one.anchor = frame[:3]
    return found


def _label(joint: Joint, dof: int, single: bool) -> str:
    """The label of a joint of the file: of a joint of several axes those of its dofs, which may have none."""
    if single:
        return joint.label
    return joint.dofs[dof].label or f"{joint.label}_{dof}"


def attributes(one: FileJoint, joint: Joint, notes: ExportNotes) -> dict:
    """Attributes of ``<joint>``, those that differ from MuJoCo's defaults; what it cannot hold is noted."""
    count = {"free": 6, "ball": 3}.get(one.kind, 1)
    dofs = joint.dofs[one.first : one.first + count]
    dof, what = dofs[0], f"joint {joint.label!r}"
    result = {"type": one.kind}
    if one.kind != "free":
        result["pos"] = one.anchor
    if one.kind in ("slide", "hinge"):
        result |= {"axis": one.axis, "ref": one.ref or None}
    for field, attribute in (
        ("stiffness", "stiffness"),
        ("spring_ref", "springref"),
        ("damping", "damping"),
        ("armature", "armature"),
        ("friction", "frictionloss"),
    ):
        values = [getattr(own, field) for own in dofs]
        if len(set(values)) > 1:
            notes.lose(f"{field} that differs along the axes", what, f"the first was written: {values[0]:g}")
        result[attribute] = values[0] or None
    _lose_fields(dofs, what, notes)
    return result | _limits(one, joint, dof, notes) | _softness(dof)


def _softness(dof: Dof) -> dict:
    names = {
        "solreflimit": (dof.limit_reference, DEFAULT_REFERENCE),
        "solimplimit": (dof.limit_impedance, DEFAULT_IMPEDANCE),
        "solreffriction": (dof.friction_reference, DEFAULT_REFERENCE),
        "solimpfriction": (dof.friction_impedance, DEFAULT_IMPEDANCE),
    }
    return {name: value for name, (value, default) in names.items() if tuple(value) != default}


def _limits(one: FileJoint, joint: Joint, dof: Dof, notes: ExportNotes) -> dict:
    what = f"joint {joint.label!r}"
    result = {"margin": dof.limit_margin or None}
    if one.kind == "ball":
        if joint.swing_limit != (math.inf, math.inf) or joint.twist_limit != (-math.inf, math.inf):
            notes.lose("swing and twist limits", what, "of a ball MuJoCo limits the whole angle alone")
        if joint.angle_limit < math.inf:
            result |= {"limited": "true", "range": (0.0, joint.angle_limit)}
    elif one.kind != "free":
        if dof.limit_lower > -math.inf or dof.limit_upper < math.inf:
            result |= {"limited": "true", "range": _range(dof.limit_lower, dof.limit_upper, what, notes)}
        if dof.effort_limit < math.inf:
            effort = (-dof.effort_limit, dof.effort_limit)
            result |= {"actuatorfrclimited": "true", "actuatorfrcrange": _range(*effort, what, notes)}
    return result


def _range(lower: float, upper: float, what: str, notes: ExportNotes) -> tuple[float, float]:
    """Two finite numbers, the second above the first."""
    if lower == upper:
        notes.lose("range of one value", what, f"MuJoCo asks for two: {lower:g} was made 1e-10 wide")
        upper = lower + 1e-10 * max(1.0, abs(lower))
    return finite(lower, upper)


def _lose_fields(dofs: list[Dof], what: str, notes: ExportNotes) -> None:
    ball = len(dofs) > 1
    for dof in dofs:
        if dof.velocity_limit < math.inf:
            notes.lose("velocity limit", what, f"{dof.velocity_limit:g}: MJCF has none")
        if dof.limit_ke > 0:
            notes.lose("limit stiffness in SI units", what, "MJCF has the reference form alone, which was written")
        if ball and (dof.target_ke > 0 or dof.target_kd > 0):
            notes.lose("drive", what, "of a ball or free joint: MJCF has none")
        if ball and dof.effort_limit < math.inf:
            notes.lose("effort limit", what, "of a ball or free joint: MJCF has none")


def coordinates(one: FileJoint, joint: Joint, q: tuple) -> tuple[float, ...]:
    """The file's coordinates of our ``q`` of the whole joint: scalars alike, a ball's quaternion w, x, y, z."""
    if one.kind == "free":
        pose = compose(compose(joint.parent_xform, q), inverse(joint.child_xform))
        return (*pose[:3], *wxyz(pose[3:]))
    if one.kind == "ball":
        return wxyz(quat_multiply(quat_multiply(one.turn, q[one.first :]), quat_conjugate(one.turn)))
    return (q[one.first],)


def rates(one: FileJoint, joint: Joint, q: tuple, qd: tuple) -> tuple[float, ...]:
    """The file's rates: MuJoCo's angular velocities are in the axes of the child, linear ones of the body's origin."""
    if one.kind == "free":
        frame = compose(joint.parent_xform, q)
        pose = compose(frame, inverse(joint.child_xform))
        base = joint.parent_xform[3:]
        linear, angular = quat_rotate(base, qd[:3]), quat_rotate(base, qd[3:])
        linear = add(linear, cross(angular, subtract(pose[:3], frame[:3])))
        return (*linear, *quat_rotate(quat_conjugate(pose[3:]), angular))
    if one.kind == "ball":
        local = quat_multiply(one.turn, quat_conjugate(q[one.first :]))
        return quat_rotate(local, qd[one.first : one.first + 3])
    return (qd[one.first],)


def wxyz(q: Quaternion) -> tuple[float, ...]:
    """A quaternion as MJCF writes it."""
    return (q[3], q[0], q[1], q[2])


def place(pose: Pose) -> dict:
    """Attributes of a pose, without those that are the default."""
    result = {}
    if np.any(pose[:3]):
        result["pos"] = pose[:3]
    if np.any(pose[3:6]):
        result["quat"] = wxyz(pose[3:])
    return result
