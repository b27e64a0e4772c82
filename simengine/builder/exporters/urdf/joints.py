"""Joints of a URDF file: limits, friction, mimics, loops."""

from __future__ import annotations

import math

import numpy as np

from simengine.builder.elements import WORLD, Dof, Equality, JointConfig
from simengine.builder.exporters.report import ExportNotes
from simengine.builder.exporters.scene import Scene, has_ball
from simengine.builder.exporters.urdf.plan import FileJoint, Plan
from simengine.builder.exporters.urdf.shapes import origin, roll_pitch_yaw
from simengine.builder.exporters.xml_text import ENDLESS, Node, add, finite, numbers
from simengine.builder.frames import NO_TURN, compose, inverse
from simengine.builder.kinematics import largest_gap
from simengine.builder.material import DEFAULT_IMPEDANCE, DEFAULT_REFERENCE
from simengine.builder.mechanisms import Actuator
from simengine.builder.topology import FLOATING
from simengine.enums import EqualityType, JointType

LOOPS = {
    EqualityType.LOOP_REVOLUTE: "revolute",
    EqualityType.LOOP_PRISMATIC: "prismatic",
    EqualityType.LOOP_BALL: "ball",
    EqualityType.LOOP_FIXED: "fixed",
    EqualityType.CONNECT: "ball",
    EqualityType.WELD: "fixed",
}
"""Joints in Gazebo's own format that close loops."""

UNUSED = (
    "armature",
    "target_ke",
    "target_kd",
    "target_pos",
    "target_vel",
    "limit_ke",
    "limit_kd",
    "limit_reference",
    "limit_impedance",
    "limit_margin",
    "friction_reference",
    "friction_impedance",
)
"""Fields of degrees of freedom for which URDF has no place."""


def write_joint(root: Node, one: FileJoint, plan: Plan, scene: Scene, notes: ExportNotes) -> Node:
    """Write one joint with its limits, damping, friction and spring."""
    node = add(root, "joint", name=one.name, type=one.kind)
    origin(node, one.origin)
    add(node, "parent", link=one.parent)
    add(node, "child", link=one.child)
    notes.report.count(f"{one.kind} joints")
    if one.dof is None:
        return node
    joint = scene.elements.joints[one.source]
    what = f"joint {joint.label!r}"
    add(node, "axis", xyz=one.axis)
    _limit(node, one)
    if one.dof.damping or one.dof.friction:
        add(node, "dynamics", damping=one.dof.damping, friction=one.dof.friction)
    for dof in joint.dofs if one.kind == "planar" else [one.dof]:
        _lose_fields(dof, what, notes)
    spring = {"springStiffness": one.dof.stiffness, "springReference": one.dof.spring_ref}
    if any(spring.values()):
        if one.kind == "planar":
            notes.lose("spring", what, "a planar joint has none in URDF")
        elif one.name in (*plan.links.values(), *plan.extra):
            notes.lose("spring", what, "Gazebo's block for it would mean the link of that name")
        else:
            block = add(root, "gazebo", reference=one.name)
            for tag, value in spring.items():
                add(block, tag).text = numbers([value])
    return node


def _limit(node: Node, one: FileJoint) -> None:
    """``<limit>``: URDF asks for it on revolute and prismatic joints, with effort and velocity."""
    dof, span = one.dof, {}
    bounded = math.isfinite(dof.limit_lower) or math.isfinite(dof.limit_upper)
    if one.kind in ("revolute", "prismatic") and bounded:
        span = dict(zip(("lower", "upper"), finite(dof.limit_lower, dof.limit_upper), strict=True))
    if one.kind in ("revolute", "prismatic") or math.isfinite(dof.effort_limit) or math.isfinite(dof.velocity_limit):
        add(node, "limit", **span, effort=min(dof.effort_limit, ENDLESS), velocity=min(dof.velocity_limit, ENDLESS))


def _lose_fields(dof: Dof, what: str, notes: ExportNotes) -> None:
    default = JointConfig()
    for name in UNUSED:
        value, usual = getattr(dof, name), getattr(default, name, 0.0)
        if value != usual:
            notes.lose(name, what, f"{value}: URDF has no place for it")


def lose_joint_state(scene: Scene, mimics: set[int], notes: ExportNotes) -> None:
    """Note initial coordinates and rates, limits of balls, and what free joints have. ``mimics``: see write_mimics."""
    starts = _starts(scene, mimics)
    for index, joint in enumerate(scene.elements.joints):
        what, coords, start = f"joint {joint.label!r}", scene.initial.coords[index], starts[index]
        if joint.type not in FLOATING and tuple(coords) != start:
            coords, start = (tuple(round(x, 6) for x in values) for values in (coords, start))
            notes.lose("initial coordinates", what, f"{coords}: URDF has none, and its readers start at {start}")
        if any(scene.initial.rates[index]):
            notes.lose("initial rates", what, "URDF has none")
        limits = (*joint.swing_limit, joint.twist_limit[1], -joint.twist_limit[0], joint.angle_limit)
        if min(limits) < math.inf:
            notes.lose("limits of a ball", what, "its three hinges have none")
        if joint.coord_count == 7:
            for name in ("armature", "damping", "friction"):
                if any(getattr(dof, name) for dof in joint.dofs):
                    notes.lose(name, what, "a floating joint has none")
        if joint.collide_with_parent:
            notes.lose("contact with the parent", what, "URDF has no place for it")


def lose_contact_with_the_world(scene: Scene, notes: ExportNotes) -> None:
    """Note joints on the world: all that stands there is one rigid link, which what moves on it does not touch."""
    elements = scene.elements
    leader = {WORLD: WORLD}  # of each body the first of those that fixed joints hold together
    for index in scene.order:
        joint = elements.joints[index]
        leader[joint.child] = leader[joint.parent] if joint.type == JointType.FIXED else joint.child
    part = np.array([leader[shape.body] for shape in elements.shapes], int)
    meeting = set(part[scene.allowed_pairs()[part == WORLD].any(axis=0)].tolist())
    for joint in elements.joints:
        if leader[joint.parent] == WORLD and joint.child in meeting and not joint.collide_with_parent:
            reason = "what stands in the world becomes its parent link, which add_urdf does not let it touch"
            notes.lose("contact with the parent", f"joint {joint.label!r}", reason)


def _starts(scene: Scene, mimics: set[int]) -> list[tuple[float, ...]]:
    """Where readers of the file start each joint: at 0, of one axis within its limits, or where its leader has it."""
    starts = []
    for joint in scene.elements.joints:
        start = [0.0] * len(joint.dofs)
        if len(joint.dofs) == 1:
            start = [min(max(0.0, joint.dofs[0].limit_lower), joint.dofs[0].limit_upper)]
        starts.append((*start[:-3], *NO_TURN) if has_ball(joint) else tuple(start))
    rules = [scene.elements.equalities[index] for index in mimics]
    waiting = {rule.object0: rule for rule in rules}
    while waiting:
        ready = [one for one, rule in waiting.items() if rule.object1 not in waiting]
        if not ready:  # joints that lead each other
            break
        for one in ready:
            rule = waiting.pop(one)
            starts[one] = (rule.data[0] + rule.data[1] * starts[rule.object1][0],)
    return starts


def write_mimics(nodes: dict[str, Node], plan: Plan, scene: Scene, notes: ExportNotes) -> set[int]:
    """Joint equalities q = a0 + a1 * leader as ``<mimic>``; the indices of those written."""
    written, followers = set(), set()
    for index, equality in enumerate(scene.elements.equalities):
        if equality.type != EqualityType.JOINT:
            continue
        follower, leader = plan.names_of[equality.object0], plan.names_of.get(equality.object1)
        linear = not any(equality.data[2:5])
        if leader is None or not linear or follower in followers or not equality.active:
            what = f"equality {equality.label!r}"
            notes.lose("joint equality", what, "URDF has one straight line to one leader for each joint: left out")
            continue
        followers.add(follower)
        written.add(index)
        offset, multiplier = equality.data[:2]
        add(nodes[follower], "mimic", joint=leader, multiplier=multiplier, offset=offset)
        _lose_softness(equality, notes)
        notes.report.count("mimics")
        if equality.label != f"{follower}_mimic":
            notes.rewrite("name", f"equality {equality.label!r}", f"comes back as '{follower}_mimic'")
    return written


def write_loops(root: Node, plan: Plan, scene: Scene, notes: ExportNotes) -> None:
    """Equalities between bodies as loop joints in Gazebo's format, where they are closed at zero coordinates."""
    poses = [*scene.at_zero().pose, (0.0,) * 6 + (1.0,)]
    for equality in scene.elements.equalities:
        what = f"equality {equality.label!r}"
        if equality.type == EqualityType.JOINT:
            continue
        kind = LOOPS.get(equality.type)
        problem = "Gazebo has no such joint" if kind is None else _loop_problem(equality, plan, poses)
        if problem:
            notes.lose(equality.type.name.lower().replace("_", " "), what, f"{problem}: left out")
            continue
        if equality.type in (EqualityType.CONNECT, EqualityType.WELD):
            notes.rewrite(equality.type.name.lower(), what, f"written as a {kind} joint that closes a loop")
        _write_loop(root, equality, kind, plan)
        _lose_softness(equality, notes)
        notes.report.count("loop joints")


def _lose_softness(equality: Equality, notes: ExportNotes) -> None:
    softness = (tuple(equality.reference), tuple(equality.impedance), equality.torque_scale)
    if softness != (DEFAULT_REFERENCE, DEFAULT_IMPEDANCE, 1.0):
        notes.lose("softness", f"equality {equality.label!r}", f"{softness}: URDF has no place for it")


def _loop_problem(equality: Equality, plan: Plan, poses: list) -> str:
    if WORLD in (equality.object0, equality.object1) and WORLD not in plan.links:
        return "it holds a body in the world, which is no link"
    if not equality.active:
        return "it is not active"
    frames = [
        compose(poses[b], x) for b, x in ((equality.object0, equality.xform0), (equality.object1, equality.xform1))
    ]
    if equality.type in (EqualityType.CONNECT, EqualityType.LOOP_BALL):
        gap = math.dist(frames[0][:3], frames[1][:3])
    else:
        gap = largest_gap(*frames)
    return f"it is open by {gap:.3g} where all coordinates are zero, and URDF closes it there" if gap > 1e-9 else ""


def _write_loop(root: Node, equality: Equality, kind: str, plan: Plan) -> None:
    block = add(add(root, "gazebo"), "joint", name=equality.label, type=kind)
    add(block, "parent").text = plan.links[equality.object0]
    add(block, "child").text = plan.links[equality.object1]
    pose = compose(inverse(plan.frames[equality.object1]), equality.xform1)
    add(block, "pose").text = numbers((*pose[:3], *roll_pitch_yaw(pose[3:])))
    if kind in ("revolute", "prismatic"):
        add(add(block, "axis"), "xyz").text = numbers(equality.data[:3])


def write_safety(nodes: dict[str, Node], custom: dict) -> None:
    """Limits of real controllers, which the importer keeps as custom values; those written are taken out of them."""
    for name, node in nodes.items():
        values = custom.get(f"{name}/safety_controller")
        if values is not None:
            add(node, "safety_controller", **dict(values))
            del custom[f"{name}/safety_controller"]


def write_transmissions(root: Node, plan: Plan, scene: Scene, notes: ExportNotes, custom: dict) -> None:
    """Plain motors on one joint as simple transmissions; other actuators are noted.

    ``custom``: values of the scene, among them hardware interfaces; those written are taken out.
    """
    for actuator in scene.elements.actuators:
        name = plan.names_of.get(actuator.target) if actuator.transmission == "joint" else None
        joint = scene.elements.joints[actuator.target] if name else None
        if name is None or len(joint.dofs) != 1 or not _is_motor(actuator, joint.dofs[0].effort_limit):
            what = f"actuator {actuator.label!r}"
            notes.lose("actuator", what, "URDF has plain motors on one joint alone: left out")
            continue
        node = add(root, "transmission", name=actuator.label)
        add(node, "type").text = "transmission_interface/SimpleTransmission"
        motor = add(node, "joint", name=name), add(node, "actuator", name=actuator.label)
        for end, label in zip(motor, (name, actuator.label), strict=True):
            for interface in custom.pop(f"{label}/hardware_interface", "").split():
                add(end, "hardwareInterface").text = interface
        add(motor[1], "mechanicalReduction").text = numbers([actuator.gear[0]])
        notes.report.count("transmissions")


def _is_motor(actuator: Actuator, effort: float) -> bool:
    """Force = input times gear, up to what the effort limit of the joint leaves."""
    if not actuator.gear[0]:
        return False
    most = effort / abs(actuator.gear[0])
    motor = Actuator(
        actuator.label,
        actuator.auto_label,
        "joint",
        actuator.target,
        gear=(actuator.gear[0], 0.0, 0.0, 0.0, 0.0, 0.0),
        force_range=(-most, most),
    )
    return motor == actuator
