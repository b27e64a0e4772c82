"""Sites, tendons and actuators by the schemas of MjcPhysics."""

from __future__ import annotations

from simengine.builder.elements import WORLD
from simengine.builder.exporters.tendons import PLAIN, is_endless, tendon_attributes, tendon_ranges
from simengine.builder.exporters.usd.joints import Joints
from simengine.builder.exporters.usd.writer import MECHANISMS, STATIC, Writer, author, relate
from simengine.builder.exporters.xml_text import finite
from simengine.builder.mechanisms import KEPT, TRANSMISSIONS, Actuator, Tendon
from simengine.viewers.usd_shapes import set_pose

REST = ("sensors", "contact_pairs", "tendon_equalities")
"""Kept elements that no schema holds."""


def write_sites(writer: Writer) -> None:
    """Sites as Xforms of their body."""
    from pxr import UsdGeom

    for index, site in enumerate(writer.scene.elements.sites):
        parent = STATIC if site.body == WORLD else writer.body_path(site.body)
        prim = writer.define(writer.take(parent, site.label, "site", index), "Xform", site.label)
        prim.AddAppliedSchema("MjcSiteAPI")
        set_pose(UsdGeom.Xformable(prim), site.xform)
    writer.notes.report.count("sites", len(writer.scene.elements.sites))


def write_tendons(writer: Writer, joints: Joints) -> None:
    """Tendons; one that names what is no prim of its own is noted."""
    for index, tendon in enumerate(writer.scene.elements.tendons):
        steps = _steps(writer, joints, tendon)
        if steps is None:
            writer.notes.lose("tendon", f"tendon {tendon.label!r}", "something on its way is not one prim: left out")
            continue
        prim = writer.define(writer.take(MECHANISMS, tendon.label, "tendon", index), "MjcTendon", tendon.label)
        targets = list(dict.fromkeys(path for path, *_ in steps))
        relate(prim, "mjc:path", targets)
        author(prim, "MjcTendon", mjc__path__indices=[targets.index(path) for path, *_ in steps])
        if tendon.terms:
            author(prim, "MjcTendon", mjc__type="fixed", mjc__path__coef=[float(c) for _, c in tendon.terms])
        else:
            _spatial(prim, tendon, steps)
        author(prim, "MjcTendon", **_tendon(tendon))
        if tuple(tendon.color) != PLAIN.color:
            writer.notes.lose("color", f"tendon {tendon.label!r}", "its schema has none")
        writer.notes.report.count("tendons")


def _steps(writer: Writer, joints: Joints, tendon: Tendon) -> list | None:
    """(path, branch, path of the side site) of each step; None where one is missing."""
    if tendon.terms:
        dofs = tendon.dofs or (0,) * len(tendon.terms)
        found = [(joints.path(joint, dof), 0, None) for (joint, _), dof in zip(tendon.terms, dofs, strict=True)]
        return None if any(path is None for path, *_ in found) else found
    found, branch = [], 0
    for point in tendon.path:
        if point.kind == "pulley":
            branch += 1
            continue
        side = writer.paths.get(("site", point.side)) if point.side >= 0 else None
        found.append((writer.paths.get((point.kind, point.index)), branch, side))
    return None if any(path is None for path, *_ in found) else found


def _spatial(prim, tendon: Tendon, steps: list) -> None:
    divisors = [1.0, *(point.divisor for point in tendon.path if point.kind == "pulley")]
    if len(divisors) > 1:
        author(prim, "MjcTendon", mjc__path__segments=[branch for _, branch, _ in steps], mjc__path__divisors=divisors)
    sides = list(dict.fromkeys(side for *_, side in steps if side))
    if sides:
        relate(prim, "mjc:sideSites", sides)
        indices = [sides.index(side) if side else -1 for *_, side in steps]
        author(prim, "MjcTendon", mjc__sideSites__indices=indices)


def _tendon(tendon: Tendon) -> dict:
    result = {f"mjc__{name}": value for name, value in tendon_attributes(tendon).items()}
    for flag, name, span in tendon_ranges(tendon):
        result |= _range(flag, name, span)
    return result


def _range(flag: str, name: str, span: tuple[float, float]) -> dict:
    """A range and the flag that it holds; nothing where both ends are infinite."""
    if is_endless(span):
        return {}
    lower, upper = finite(*span)  # as MJCF's, for readers that refuse what is infinite
    return {f"mjc__{flag}": "true", f"mjc__{name}__min": lower, f"mjc__{name}__max": upper}


def write_actuators(writer: Writer, joints: Joints) -> None:
    """Actuators; one of what is no prim of its own is noted."""
    for index, actuator in enumerate(writer.scene.elements.actuators):
        what, kind = f"actuator {actuator.label!r}", TRANSMISSIONS[actuator.transmission]
        target = writer.paths.get((kind, actuator.target))
        if kind == "joint":
            target = joints.path(actuator.target, actuator.dof)
        if target is None or actuator.inputs:
            reason = "it has other inputs than one command" if target else f"its {kind} is no prim"
            writer.notes.lose("actuator", what, f"{reason}: left out")
            continue
        prim = writer.define(writer.take(MECHANISMS, actuator.label, "actuator", index), "MjcActuator", actuator.label)
        relate(prim, "mjc:target", [target])
        if actuator.reference >= 0:
            name = "mjc:sliderSite" if actuator.transmission == "slider_crank" else "mjc:refSite"
            relate(prim, name, [writer.paths["site", actuator.reference]])
        author(prim, "MjcActuator", **_actuator(actuator))
        writer.notes.report.count("actuators")


def _actuator(actuator: Actuator) -> dict:
    result = {}
    for name, (kind, parameters) in (
        ("gain", actuator.gain),
        ("bias", actuator.bias),
        ("dyn", actuator.dynamics),
    ):
        result[f"mjc__{name}Type"] = kind
        if parameters:
            result[f"mjc__{name}Prm"] = [float(x) for x in parameters]
    result["mjc__gear"] = [float(x) for x in actuator.gear]
    if actuator.activations:
        result["mjc__actDim"] = actuator.activations
    if actuator.early:
        result["mjc__actEarly"] = True
    if actuator.crank_length:
        result["mjc__crankLength"] = actuator.crank_length
    if actuator.transmission == "joint_in_parent":
        result["mjc__jointInParent"] = True
    if tuple(actuator.length_range) != (0.0, 0.0):
        result |= {"mjc__lengthRange__min": actuator.length_range[0], "mjc__lengthRange__max": actuator.length_range[1]}
    result |= _range("ctrlLimited", "ctrlRange", actuator.control_range)
    result |= _range("forceLimited", "forceRange", actuator.force_range)
    return result | _range("actLimited", "actRange", actuator.activation_range)


def lose_rest(writer: Writer) -> None:
    """Note what no schema holds."""
    elements = writer.scene.elements
    for plural in REST:
        singular = KEPT[plural]
        for element in getattr(elements, plural):
            writer.notes.lose(singular, f"{singular} {element.label!r}", "no schema that is read has it: left out")
    for name, _ in elements.custom:
        writer.notes.lose("custom value", f"custom {name!r}", "left out")
