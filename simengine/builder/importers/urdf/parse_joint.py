"""``<joint>`` to values: frames, axis, limits, dynamics, mimic, and the soft limits of ``<safety_controller>``."""

from __future__ import annotations

import math

from simengine.builder.importers.report import Notes
from simengine.builder.importers.urdf.attributes import SAFETY_NAMES, TABLE
from simengine.builder.importers.urdf.document import AXIS_COUNT, HINGES, Joint, Mimic
from simengine.builder.importers.urdf.quantities import LARGEST, quantity, read_pose
from simengine.builder.importers.xml_reader import Element


def parse_joint(element: Element, notes: Notes, soft_limits: bool) -> Joint:
    """The joint; ``soft_limits``: its limits are narrowed to those of its ``<safety_controller>``."""
    children = ("origin", "parent", "child", "axis", "limit", "dynamics", "mimic", "safety_controller")
    TABLE.check(notes, element, children)
    kind = element.string("type")
    if kind not in AXIS_COUNT:
        raise element.error(f"joint type '{kind}' is unknown: it is one of {', '.join(AXIS_COUNT)}")
    ends = []
    for tag in ("parent", "child"):
        end = element.need(tag)
        TABLE.check(notes, end, ())
        ends.append(end.string("link"))
    joint = Joint(element.string("name"), kind, *ends, element, read_pose(element, notes))
    _axis(joint, notes)
    _limit(joint, notes)
    _safety(joint, notes, soft_limits)
    _dynamics(joint, notes)
    _mimic(joint, notes)
    return joint


def _axis(joint: Joint, notes: Notes) -> None:
    element = joint.element.one("axis")
    if joint.kind in ("fixed", "floating"):
        return
    if element is None:
        notes.note("defaulted", "axis", joint.element, "1 0 0")
        return
    TABLE.check(notes, element, ())
    axis = element.numbers("xyz", 3)
    length = math.hypot(*axis)
    if length < 1e-9:
        raise element.error(f"joint '{joint.name}' has an axis of zero length: give a direction")
    if abs(length - 1.0) > 1e-3:  # within: the rounding of the file
        notes.note("repaired", "axis", joint.element, f"length {length:.6g} made 1")
    joint.axis = tuple(part / length for part in axis)


def _limit(joint: Joint, notes: Notes) -> None:
    element = joint.element.one("limit")
    bounded = joint.kind in ("revolute", "prismatic")
    if element is None:
        if bounded:
            notes.note("defaulted", "<limit>", joint.element, "no limits, any effort")
        return
    TABLE.check(notes, element, ())
    if joint.kind in ("fixed", "floating"):
        notes.ignore("<limit>", joint.element, f"a {joint.kind} joint has none")
        return
    if bounded and "lower" not in element.attributes and "upper" not in element.attributes:
        # the format's own default, 0 for each, would lock the joint
        notes.note("defaulted", "lower and upper limit", joint.element, "none")
    elif bounded:
        # the format's own default is 0
        joint.lower, joint.upper = _limit_value(element, "lower", notes), _limit_value(element, "upper", notes)
        for name in ("lower", "upper"):
            if name not in element.attributes:
                notes.note("defaulted", f"{name} limit", joint.element, "0, the format's default")
        if joint.lower > joint.upper:
            raise element.error(
                f"joint '{joint.name}' has lower limit {joint.lower:g} above upper limit {joint.upper:g}: exchange them"
            )
        if joint.kind == "revolute" and max(-joint.lower, joint.upper) > 4.0 * math.pi:
            notes.note("warned", "limit", joint.element, "more than two turns: is it in degrees? URDF has radians")
    elif "lower" in element.attributes or "upper" in element.attributes:
        notes.ignore("lower and upper limit", joint.element, f"a {joint.kind} joint has none")
    for name in ("effort", "velocity"):
        if name not in element.attributes:
            notes.note("defaulted", f"{name} limit", joint.element, "none")
            continue
        value = _limit_value(element, name, notes)
        if value < 0.0:
            raise element.error(f"joint '{joint.name}' has the negative {name} limit {value:g}: write its size")
        if value == 0.0:
            notes.note("repaired", f"{name} limit", joint.element, "0 means that none was set: no limit")
            continue
        setattr(joint, name, value)


def _safety(joint: Joint, notes: Notes, soft_limits: bool) -> None:
    """Soft limits: absent or equal ones (the format's default is 0 for both) bound nothing."""
    element = joint.element.one("safety_controller")
    if element is None:
        return
    TABLE.check(notes, element, (), "safety_controller, with soft_limits=True" if soft_limits else element.tag)
    values = {name: quantity(element, name) for name in SAFETY_NAMES if name in element.attributes}
    lower, upper = values.get("soft_lower_limit", 0.0), values.get("soft_upper_limit", 0.0)
    if lower > upper:
        raise element.error(
            f"joint '{joint.name}' has soft lower limit {lower:g} above soft upper limit {upper:g}: exchange them"
        )
    if not soft_limits:
        joint.safety = values
    elif lower < upper and joint.kind in ("revolute", "prismatic"):
        joint.lower, joint.upper = max(joint.lower, lower), min(joint.upper, upper)
        if joint.lower > joint.upper:
            raise element.error(
                f"the soft limits {lower:g} to {upper:g} lie outside the limits of joint '{joint.name}'"
            )


def _limit_value(element: Element, name: str, notes: Notes) -> float:
    """A limit (0 where absent), infinite beyond LARGEST: some files so write that there is none."""
    value = element.number(name, 0.0)
    if abs(value) <= LARGEST:
        return value
    notes.note("repaired", f"{name} limit", element, f"{value:g} means that there is none")
    return math.copysign(math.inf, value)


def _dynamics(joint: Joint, notes: Notes) -> None:
    element = joint.element.one("dynamics")
    if element is None:
        return
    TABLE.check(notes, element, ())
    if joint.kind in ("fixed", "floating"):
        notes.ignore("<dynamics>", joint.element, f"it is not applied to a {joint.kind} joint")
        return
    for name in ("damping", "friction"):
        if name not in element.attributes:
            continue
        value = quantity(element, name)
        if value < 0.0:
            raise element.error(f"joint '{joint.name}' has the negative {name} {value:g}: it must be zero or more")
        setattr(joint, name, value)


def _mimic(joint: Joint, notes: Notes) -> None:
    element = joint.element.one("mimic")
    if element is None:
        return
    TABLE.check(notes, element, ())
    multiplier, offset = quantity(element, "multiplier", 1.0), quantity(element, "offset", 0.0)
    mimic = Mimic(element.string("joint"), multiplier, offset, element)
    if joint.kind not in (*HINGES, "prismatic"):
        notes.ignore("<mimic>", joint.element, f"a {joint.kind} joint has not one coordinate to follow with")
        return
    joint.mimic = mimic
