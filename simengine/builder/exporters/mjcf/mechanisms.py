"""Tendons, actuators and drives."""

from __future__ import annotations

from simengine.builder.exporters.mjcf.writer import Writer
from simengine.builder.exporters.tendons import PLAIN, is_endless, tendon_attributes, tendon_ranges
from simengine.builder.exporters.xml_text import add, finite
from simengine.builder.mechanisms import TRANSMISSIONS, Actuator, Tendon

TRANSMISSION_ATTRIBUTES = {"joint_in_parent": "jointinparent", "slider_crank": "cranksite"}
"""Attribute that names an actuator's target, where it is not its transmission."""


def write_tendons(writer: Writer) -> None:
    """All tendons; one that names what is not in the file is noted."""
    for index, tendon in enumerate(writer.scene.elements.tendons):
        steps = _fixed_steps(writer, tendon) if tendon.terms else _path_steps(writer, tendon)
        if steps is None:
            writer.notes.lose("tendon", f"tendon {tendon.label!r}", "something on its way could not be written")
            continue
        tag = "fixed" if tendon.terms else "spatial"
        name = writer.name("tendon", tendon.label, index)
        node = add(writer.section("tendon"), tag, name=name, **_tendon(tendon))
        for step, attributes in steps:
            add(node, step, **attributes)
        if tendon.terms and tendon.width != PLAIN.width:
            reason = f"{tendon.width:g}: of a fixed tendon, which is not drawn, MJCF has none"
            writer.notes.rewrite("width", f"tendon {tendon.label!r}", reason)
        writer.notes.report.count("tendons")


def _tendon(tendon: Tendon) -> dict:
    result = tendon_attributes(tendon)
    if tendon.terms:
        result.pop("width", None)  # which is noted
    elif tuple(tendon.color) != PLAIN.color:
        result["rgba"] = tendon.color
    for flag, name, span in tendon_ranges(tendon):
        result |= _limits(flag, name, span)
    return result


def _limits(flag: str, name: str, span: tuple[float, float]) -> dict:
    """A range and the flag that it holds; nothing where both ends are infinite."""
    return {} if is_endless(span) else {flag: "true", name: finite(*span)}


def _fixed_steps(writer: Writer, tendon: Tendon) -> list | None:
    dofs = tendon.dofs or (0,) * len(tendon.terms)
    names = [writer.joint_name(joint, dof) for (joint, _), dof in zip(tendon.terms, dofs, strict=True)]
    if None in names:
        return None
    return [("joint", {"joint": n, "coef": c}) for n, (_, c) in zip(names, tendon.terms, strict=True)]


def _path_steps(writer: Writer, tendon: Tendon) -> list | None:
    steps = []
    for point in tendon.path:
        if point.kind == "pulley":
            steps.append(("pulley", {"divisor": point.divisor}))
            continue
        name = writer.names.get((point.kind, point.index))
        side = writer.names.get(("site", point.side))
        if name is None:
            return None
        step = {"site": name} if point.kind == "site" else {"geom": name, "sidesite": side}
        steps.append(("geom" if point.kind == "shape" else "site", step))
    return steps


def write_actuators(writer: Writer) -> None:
    """All actuators in their general form; one of what is not in the file is noted."""
    for index, actuator in enumerate(writer.scene.elements.actuators):
        what = f"actuator {actuator.label!r}"
        kind = TRANSMISSIONS[actuator.transmission]
        target = writer.find(kind, actuator.target, actuator.dof)
        if target is None:
            writer.notes.lose("actuator", what, f"its {kind} is not in the file as one")
            continue
        attributes = {TRANSMISSION_ATTRIBUTES.get(actuator.transmission, kind): target}
        if actuator.reference >= 0:
            name = "slidersite" if actuator.transmission == "slider_crank" else "refsite"
            attributes[name] = writer.names["site", actuator.reference]
        name = writer.name("actuator", actuator.label, index)
        add(writer.section("actuator"), "general", name=name, **attributes, **_actuator(actuator))
        writer.notes.report.count("actuators")


def _actuator(actuator: Actuator) -> dict:
    own_size = actuator.dynamics[0] != "pid" and actuator.gain[0] != "so3"  # of these MuJoCo knows the size itself
    rows = {
        "gear": (tuple(actuator.gear), (1.0, 0.0, 0.0, 0.0, 0.0, 0.0)),
        "lengthrange": (tuple(actuator.length_range), (0.0, 0.0)),
        "cranklength": (actuator.crank_length, 0.0),
        "group": (actuator.group, 0),
        "actearly": (actuator.early, False),
    }
    result = {name: value for name, (value, default) in rows.items() if value != default}
    for name, (kind, parameters) in (
        ("dyn", actuator.dynamics),
        ("gain", actuator.gain),
        ("bias", actuator.bias),
    ):
        result[f"{name}type"] = kind
        if parameters:
            result[f"{name}prm"] = parameters
    if actuator.activations and (actuator.dynamics[0] == "user" or actuator.activations > 1) and own_size:
        result["actdim"] = actuator.activations
    if actuator.inputs:
        result["input"] = " ".join(actuator.inputs)
    result |= _limits("ctrllimited", "ctrlrange", actuator.control_range)
    result |= _limits("forcelimited", "forcerange", actuator.force_range)
    return result | _limits("actlimited", "actrange", actuator.activation_range)


def write_drives(writer: Writer) -> list[float]:
    """Drives as position actuators after all others; returns their inputs, the targets.

    Force = ke (target - q) + kd (target rate - qd): gain ke, bias (kd * target rate, -ke, -kd). Without ke the input
    is the target rate.
    """
    inputs = []
    for one in writer.joints:
        joint = writer.scene.elements.joints[one.joint]
        dof = joint.dofs[one.first]
        if one.kind not in ("slide", "hinge") or not (dof.target_ke > 0 or dof.target_kd > 0):
            continue
        ke, kd = dof.target_ke, dof.target_kd
        name = writer.name("actuator", f"{one.name}_drive")
        add(
            writer.section("actuator"),
            "general",
            name=name,
            joint=one.name,
            gaintype="fixed",
            gainprm=(ke or kd,),
            biastype="affine",
            biasprm=(kd * dof.target_vel if ke else 0.0, -ke, -kd),
        )
        inputs.append(dof.target_pos if ke else dof.target_vel)
        writer.notes.rewrite("drive", f"joint {joint.label!r}", f"written as the actuator {name!r}")
        writer.notes.report.count("drives")
    return inputs
