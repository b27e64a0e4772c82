"""From the arguments of ``add_joint_*`` to a Joint: degrees of freedom, their axes and parameters."""

from __future__ import annotations

from dataclasses import fields
from math import inf

from simengine.builder.elements import Dof, Joint, JointConfig
from simengine.builder.material import checked_impedance
from simengine.builder.values import AXES, axis, pose
from simengine.enums import DofKind, JointType
from simengine.errors import ModelError, did_you_mean
from simengine.values import each, number, numbers

BALL_KINDS = (DofKind.BALL_X, DofKind.BALL_Y, DofKind.BALL_Z)
XYZ = tuple(AXES.values())

CONFIG = tuple(f.name for f in fields(JointConfig))
DOF_PARAMETERS = (*CONFIG, "spring_ref", "target_pos", "target_vel", "limit_lower", "limit_upper")
BALL_PARAMETERS = tuple(name for name in DOF_PARAMETERS if name not in ("limit_lower", "limit_upper"))
FREE_PARAMETERS = ("armature", "damping", "friction", "friction_reference", "friction_impedance")
ALLOWED = {
    JointType.FIXED: (),
    JointType.FREE: FREE_PARAMETERS,
    JointType.DISTANCE: FREE_PARAMETERS,
    JointType.BALL: BALL_PARAMETERS,
}
INFINITE = ("effort_limit", "velocity_limit", "limit_lower", "limit_upper")


def make_joint(joint: Joint, axes, kinds, parameters: dict, default: JointConfig, limits: dict | None = None) -> Joint:
    """Fill in the dofs and limits of ``joint``; ModelError naming the joint for what does not fit.

    ``axes``, ``kinds``: one for each dof. ``parameters``: the caller's keywords, each one value for all dofs or one
    for each; where missing, free joints take zero and others ``default``.
    """
    what = f"joint {joint.label!r}"
    allowed = ALLOWED.get(joint.type, DOF_PARAMETERS)
    for name in parameters:
        if name not in allowed:
            kind = joint.type.name.lower()
            known = name in DOF_PARAMETERS
            hint = _limits_hint(name, joint.type) if known else did_you_mean(name, allowed)
            raise ModelError(f"a {kind} joint has no {name}{hint}", element=what)
    if joint.type in (JointType.FREE, JointType.DISTANCE, JointType.FIXED):
        default = JointConfig()
    columns = {name: _column(name, parameters[name], len(kinds), what) for name in parameters}
    for i, (kind, direction) in enumerate(zip(kinds, axes, strict=True)):
        values = {name: getattr(default, name) for name in CONFIG}
        values |= {name: column[i] for name, column in columns.items()}
        joint.dofs.append(Dof(kind=kind, axis=axis(direction, f"{what}, axis"), **values))
    for name, value in (limits or {}).items():
        setattr(joint, name, value)
    check_joint(joint)
    return joint


def initial_coords(joint: Joint, q) -> tuple[float, ...]:
    """Initial coordinates of a joint as floats, with the quaternion of a ball made unit."""
    what = f"joint {joint.label!r}, q"
    q = each(q, joint.coord_count, what)
    if joint.coord_count > len(joint.dofs):
        q = (*q[:-4], *pose((0.0, 0.0, 0.0, *q[-4:]), what)[3:])
    return q


def check_joint(joint: Joint) -> None:
    """ModelError naming the joint, and the dof where it has several, for any parameter out of its range.

    Frames, axes and coordinates become tuples, of unit length where they are directions.
    """
    what = f"joint {joint.label!r}"
    for i, dof in enumerate(joint.dofs):
        check_dof(dof, what if len(joint.dofs) == 1 else f"{what}, dof {i}")
    joint.parent_xform = pose(joint.parent_xform, f"{what}, parent_xform")
    joint.child_xform = pose(joint.child_xform, f"{what}, child_xform")
    if joint.q is not None:
        joint.q = initial_coords(joint, joint.q)
    if joint.qd is not None:
        joint.qd = each(joint.qd, len(joint.dofs), f"{what}, qd")
    for limit in joint.swing_limit:
        number(limit, f"{what}, swing limit", positive=True, infinite=True)
    number(joint.angle_limit, f"{what}, angle limit", positive=True, infinite=True)
    _check_range(*numbers(joint.twist_limit, 2, f"{what}, twist limit", infinite=True), f"{what}, twist limit")


def check_dof(dof: Dof, what: str) -> None:
    """ModelError naming ``what`` for a parameter out of its range."""
    for name in (
        "armature",
        "damping",
        "stiffness",
        "friction",
        "target_ke",
        "target_kd",
        "limit_ke",
        "limit_kd",
        "limit_margin",
    ):
        number(getattr(dof, name), f"{what}, {name}", lowest=0.0)
    for name in ("spring_ref", "target_pos", "target_vel"):
        number(getattr(dof, name), f"{what}, {name}")
    number(dof.effort_limit, f"{what}, effort_limit", lowest=0.0, infinite=True)
    number(dof.velocity_limit, f"{what}, velocity_limit", positive=True, infinite=True)
    number(dof.limit_lower, f"{what}, limit_lower", infinite=True)
    number(dof.limit_upper, f"{what}, limit_upper", infinite=True)
    _check_range(dof.limit_lower, dof.limit_upper, f"{what}, limits")
    for name in ("limit_reference", "friction_reference"):
        for value in numbers(getattr(dof, name), 2, f"{what}, {name}"):
            number(value, f"{what}, {name} (time constant, damping ratio)", positive=True)
    for name in ("limit_impedance", "friction_impedance"):
        checked_impedance(getattr(dof, name), f"{what}, {name}")
    if dof.limit_kd > 0 and dof.limit_ke == 0:
        raise ModelError("limit_kd acts only with limit_ke; give limit_ke too, or use limit_reference", element=what)
    dof.axis = axis(dof.axis, f"{what}, axis")


def ball_limits(label: str, swing, twist, angle_limit) -> dict:
    """The limits of a ball joint by field name; ModelError where a range is no range."""
    what = f"joint {label!r}"
    limits = {}
    if swing is not None:
        limits["swing_limit"] = numbers(swing, 2, f"{what}, swing", infinite=True)
    if twist is not None:
        limits["twist_limit"] = numbers(twist, 2, f"{what}, twist", infinite=True)
    if angle_limit is not None:
        limits["angle_limit"] = number(angle_limit, f"{what}, angle_limit", infinite=True)
    return limits


def _check_range(lower: float, upper: float, what: str) -> None:
    if lower > upper:
        raise ModelError(f"lower {lower:g} is above upper {upper:g}; swap them", element=what)
    if lower == inf or upper == -inf:
        raise ModelError(f"({lower:g}, {upper:g}) holds no coordinate; leave out the limit to have none", element=what)


def _column(name: str, value, count: int, what: str) -> tuple:
    """One value of a parameter for each dof."""
    what = f"{what}, {name}"
    if name.endswith("_impedance"):
        value = value if hasattr(value[0], "__len__") else (value,) * count
        column = tuple(checked_impedance(v, what) for v in value)
    elif name.endswith("_reference"):
        value = value if hasattr(value[0], "__len__") else (value,) * count
        column = tuple(numbers(v, 2, what) for v in value)
    else:
        column = each(value, count, what, infinite=name in INFINITE)
    if len(column) != count:
        raise ModelError(f"has {len(column)} entries for {count} degrees of freedom", element=what)
    return column


def _limits_hint(name: str, joint_type: JointType) -> str:
    if joint_type == JointType.BALL and name.startswith("limit_"):
        return "; give swing=(y, z), twist=(lower, upper) or angle_limit"
    return "; leave it out"
