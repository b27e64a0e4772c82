"""``<transmission>``: how motors act on joints, as ros_control defines it, into actuators that the builder keeps.

With x the coordinates of the joints, n_j their reductions and n_a those of the actuators, the position of a motor is

    simple        n_a x
    differential  n_a1 (n_j1 x1 + n_j2 x2)  and  n_a2 (n_j1 x1 - n_j2 x2)
    four-bar      n_a1 n_j1 x1              and  n_a2 (x1 + n_j2 x2)

(offsets left out), and its torque acts on each joint times the derivative of that position by the joint's coordinate:
an actuator with gear n_a on the joint, or on a tendon with the other factors as coefficients. For the four-bar linkage
the header of ros_control gives efforts that do not conserve power with its own velocities; the velocities are followed.
"""

from __future__ import annotations

from simengine.builder.importers.free_labels import FreeLabels
from simengine.builder.importers.report import Notes
from simengine.builder.importers.urdf.attributes import TABLE
from simengine.builder.importers.urdf.document import AXIS_COUNT, End, Robot, Transmission
from simengine.builder.importers.urdf.settings import number_of, settings
from simengine.builder.importers.xml_reader import Element
from simengine.errors import did_you_mean

KINDS = {"SimpleTransmission": 1, "DifferentialTransmission": 2, "FourBarLinkageTransmission": 2}
"""Kinds of transmission, and how many joints and actuators each has."""


def parse_transmission(element: Element, robot: Robot, notes: Notes) -> None:
    """Add a transmission to the robot, or note why it is passed over.

    Raises:
        AssetError: a joint that is not in the file, or a reduction that is zero or no number.
    """
    _count_attributes(element, notes)
    found = settings(notes, element, "transmission")
    kinds = [child.text for child in found if child.tag == "type"] or [element.attributes.get("type", "")]
    kind = kinds[0].strip().replace("::", "/").rpartition("/")[2]
    if kind not in KINDS:
        notes.ignore("<transmission>", element, f"its type '{kinds[0]}' is not one of {', '.join(KINDS)}")
        return
    reduction = 1.0  # of the whole, in the older form of the format
    for child in found:
        if child.tag == "mechanicalReduction":
            reduction *= _reduction(child)
    joints = [_end(child, "joint", notes) for child in found if child.tag == "joint"]
    actuators = [_end(child, "actuator", notes) for child in found if child.tag == "actuator"]
    for joint in joints:
        if joint.name not in robot.joints:
            hint = did_you_mean(joint.name, robot.joints)
            raise joint.element.error(f"joint '{joint.name}' is not in the file{hint}")
    count = KINDS[kind]
    if (len(joints), len(actuators)) != (count, count):
        reason = f"it has {len(joints)} joints and {len(actuators)} actuators, where a {kind} has {count} of each"
        notes.ignore("<transmission>", element, reason)
        return
    still = [joint.name for joint in joints if AXIS_COUNT[robot.joints[joint.name].kind] != 1]
    if still:
        notes.ignore("<transmission>", element, f"joint '{still[0]}' has not one coordinate to act on")
        return
    for actuator in actuators:
        actuator.reduction *= reduction
    joints.sort(key=lambda end: end.role)
    actuators.sort(key=lambda end: end.role)
    name = element.attributes.get("name", "").strip() or joints[0].name
    robot.transmissions.append(Transmission(name, kind, joints, actuators, element))


def _count_attributes(element: Element, notes: Notes, kind: str = "") -> None:
    TABLE.check(notes, Element(element.tag, element.attributes, element.file, element.line), (), kind)


def _end(element: Element, tag: str, notes: Notes) -> End:
    kind = f"{tag} of a transmission"
    _count_attributes(element, notes, kind)
    end = End(element.string("name"), 1.0, (), "", element)
    for child in settings(notes, element, kind):
        if child.tag == "mechanicalReduction":
            end.reduction = _reduction(child)
        elif child.tag == "role":
            end.role = child.text
        else:
            end.interfaces += (child.text,)
    return end


def _reduction(element: Element) -> float:
    value = number_of(element)
    if value == 0.0:
        raise element.error("is 0: a reduction of 0 moves nothing")
    return value


def add_transmissions(builder, robot: Robot, joints: dict[str, int], notes: Notes) -> None:
    """Add the actuators of each transmission; ``joints``: index in the builder by name."""
    labels, interfaces = FreeLabels(), []
    for transmission in robot.transmissions:
        made = []
        for index, actuator in enumerate(transmission.actuators):
            label = labels.take(actuator.name)
            made.append(label)
            options = {"gear": (actuator.reduction, 0.0, 0.0, 0.0, 0.0, 0.0), "label": label}
            if KINDS[transmission.kind] == 1:
                joint = transmission.joints[0].name
                effort = robot.joints[joint].effort
                if effort is not None:
                    most = effort / abs(actuator.reduction)
                    options["force_range"] = (-most, most)
                builder.add_actuator("joint", joints[joint], **options)
            else:
                terms = _terms(transmission, index, joints)
                tendon = builder.add_tendon(label=f"{transmission.name}/{label}", terms=terms)
                builder.add_actuator("tendon", tendon, **options)
        for end in (*transmission.joints, *transmission.actuators):
            if end.interfaces:
                interfaces.append((f"{end.name}/hardware_interface", " ".join(end.interfaces)))
        reason = f"{', '.join(made)} among the builder's actuators"
        notes.keep("<transmission>", transmission.element, reason)
    builder.custom = (*builder.custom, *interfaces)


def _terms(transmission: Transmission, index: int, joints: dict[str, int]) -> tuple[tuple[int, float], ...]:
    """(joint, derivative of the position of motor ``index`` by it, without the motor's own reduction)."""
    first, second = transmission.joints
    if transmission.kind == "DifferentialTransmission":
        factors = (first.reduction, second.reduction if index == 0 else -second.reduction)
    else:
        factors = (first.reduction, 0.0) if index == 0 else (1.0, second.reduction)
    ends = zip((first, second), factors, strict=True)
    return tuple((joints[end.name], factor) for end, factor in ends if factor)
