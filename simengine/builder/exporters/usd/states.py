"""Keyframes by MjcPhysics' schema: coordinates in the order of the bodies, as MuJoCo has them."""

from __future__ import annotations

from simengine.builder.elements import Joint
from simengine.builder.exporters.mjcf.joints import wxyz
from simengine.builder.exporters.scene import floats, has_ball
from simengine.builder.exporters.usd.writer import MECHANISMS, Writer, author
from simengine.builder.frames import compose, inverse
from simengine.builder.mechanisms import Keyframe, input_count


def write_keyframes(writer: Writer) -> None:
    """All keyframes; what the schema lacks is noted."""
    scene = writer.scene
    joints = scene.elements.joints
    order = sorted((i for i, joint in enumerate(joints) if joint.dofs), key=lambda i: joints[i].child)
    alone = [i for i in order if floats(joints[i]) and joints[i].child not in scene.below]
    for index, key in enumerate(scene.elements.keyframes):
        what = f"keyframe {key.label!r}"
        if alone or not key.joints:
            reason = "readers do not agree on bodies that are on no joint" if alone else "it has no coordinates"
            writer.notes.lose("keyframe", what, f"{reason}: left out")
            continue
        prim = writer.define(writer.take(MECHANISMS, key.label, "keyframe", index), "MjcKeyframe", key.label)
        author(prim, "MjcKeyframe", **_values(writer, key, order))
        _note(writer, key, what)
        writer.notes.report.count("keyframes")


def _values(writer: Writer, key: Keyframe, order: list[int]) -> dict:
    scene = writer.scene
    states = {joint: (q, qd) for joint, q, qd in key.joints}
    qpos: list[float] = []
    qvel: list[float] = []
    for index in order:
        joint = scene.elements.joints[index]
        q, qd = states.get(index, ((), ()))
        qpos += coordinates(joint, q or scene.initial.coords[index])
        qvel += qd if qd and not has_ball(joint) else (0.0,) * len(joint.dofs)
    inputs = {actuator: values for actuator, values, _ in key.actuators}
    actuators = scene.elements.actuators
    written = all(("actuator", i) in writer.paths for i in range(len(actuators)))
    controls = [
        value
        for i, actuator in enumerate(actuators)
        for value in inputs.get(i) or (0.0,) * input_count(actuator.gain[0], actuator.inputs)
    ]
    return {
        "mjc__qpos": qpos,
        "mjc__qvel": qvel if any(qvel) else None,
        "mjc__ctrl": controls if written and any(controls) else None,
    }


def coordinates(joint: Joint, q: tuple) -> tuple[float, ...]:
    """Of a free joint on the world the pose of its body; quaternions w, x, y, z."""
    if floats(joint):
        pose = compose(compose(joint.parent_xform, q), inverse(joint.child_xform))
        return (*pose[:3], *wxyz(pose[3:]))
    return (*q[:-4], *wxyz(q[-4:])) if has_ball(joint) else tuple(q)


def _note(writer: Writer, key: Keyframe, what: str) -> None:
    joints = writer.scene.elements.joints
    turning = any(any(qd) and has_ball(joints[joint]) for joint, _, qd in key.joints)
    activated = any(any(activations) for *_, activations in key.actuators)
    lacking = {
        "time": key.time,
        "rates of free joints and balls": turning,
        "activations": activated,
        "poses of kinematic bodies": key.bodies,
    }
    for name, given in lacking.items():
        if given:
            writer.notes.lose(f"{name} of a keyframe", what, "readers do not take them: left out")
