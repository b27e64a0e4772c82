"""Keyframes, and one for an initial state that the reference configuration of the file does not hold."""

from __future__ import annotations

from simengine.builder.elements import Joint
from simengine.builder.exporters.mjcf.joints import coordinates, rates, wxyz
from simengine.builder.exporters.mjcf.writer import Writer
from simengine.builder.exporters.scene import floats, has_ball
from simengine.builder.exporters.xml_text import add
from simengine.builder.frames import NO_TURN
from simengine.builder.mechanisms import Keyframe, input_count


def write_keyframes(writer: Writer, drive_inputs: list[float]) -> None:
    """``drive_inputs``: of the actuators that drives became, which stand after the others."""
    for index, key in enumerate(writer.scene.elements.keyframes):
        _write(writer, key, index, drive_inputs)
    _write_initial(writer, drive_inputs)


def _write_initial(writer: Writer, drive_inputs: list[float]) -> None:
    scene = writer.scene
    joints, coords, speeds = scene.elements.joints, scene.initial.coords, scene.initial.rates
    needed = any(drive_inputs) or any(map(any, speeds))
    for joint, q in zip(joints, coords, strict=True):
        needed |= _is_turned(joint, q)
    if not needed:
        return
    states = tuple((i, coords[i], speeds[i]) for i in range(len(joints)))
    key = Keyframe("initial", False, joints=states)
    _write(writer, key, None, drive_inputs)
    reason = "it holds coordinates of balls, rates and drive targets where the builder starts"
    writer.notes.rewrite("initial state", "keyframe 'initial'", reason)
    for joint, q, qd in zip(joints, coords, speeds, strict=True):
        if any(qd) or _is_turned(joint, q):
            reason = "rates, and coordinates of balls, are in the keyframe 'initial'"
            writer.notes.rewrite("initial state", f"joint {joint.label!r}", reason)


def _is_turned(joint: Joint, q: tuple) -> bool:
    """Whether the joint has a ball, on a body that does not float, that does not start at rest."""
    return has_ball(joint) and not floats(joint) and tuple(q[-4:]) != NO_TURN


def _write(writer: Writer, key: Keyframe, index: int | None, drive_inputs: list[float]) -> None:
    scene = writer.scene
    states = {joint: (q, qd) for joint, q, qd in key.joints}
    qpos: list[float] = []
    qvel: list[float] = []
    for one in writer.joints:
        joint = scene.elements.joints[one.joint]
        q, qd = states.get(one.joint, (scene.initial.coords[one.joint], (0.0,) * len(joint.dofs)))
        qpos += coordinates(one, joint, q or scene.initial.coords[one.joint])
        qvel += rates(one, joint, q or scene.initial.coords[one.joint], qd or (0.0,) * len(joint.dofs))
    given = {actuator: (inputs, activations) for actuator, inputs, activations in key.actuators}
    control: list[float] = []
    activations: list[float] = []
    for i, actuator in enumerate(scene.elements.actuators):
        if ("actuator", i) in writer.names:
            inputs, state = given.get(i, ((), ()))
            control += inputs or (0.0,) * input_count(actuator.gain[0], actuator.inputs)
            activations += state or (0.0,) * actuator.activations
    add(
        writer.section("keyframe"),
        "key",
        name=writer.name("keyframe", key.label, index),
        time=key.time or None,
        qpos=qpos or None,
        qvel=qvel if any(qvel) else None,
        act=activations if any(activations) else None,
        ctrl=[*control, *drive_inputs] if any(control) or any(drive_inputs) else None,
        **_mocap(writer, key),
    )
    writer.notes.report.count("keyframes")


def _mocap(writer: Writer, key: Keyframe) -> dict:
    """Poses of kinematic bodies, in the order of the file."""
    poses = dict(key.bodies)
    if not poses:
        return {}
    bodies = [i for i in writer.nodes if i >= 0 and writer.scene.elements.bodies[i].kinematic]
    found = [poses.get(i, writer.scene.initial.pose[i]) for i in bodies]
    return {"mpos": [x for p in found for x in p[:3]], "mquat": [x for p in found for x in wxyz(p[3:])]}
