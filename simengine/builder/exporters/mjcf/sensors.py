"""Sensors, by the attributes that each kind names its object with."""

from __future__ import annotations

from simengine.builder.exporters.mjcf.writer import Writer
from simengine.builder.exporters.xml_text import add, text
from simengine.builder.importers.mjcf.sensors import BETWEEN, ON_FRAME, ON_NOTHING
from simengine.builder.mechanisms import Sensor

FRAMES = {"body": "xbody", "body_inertial": "body", "shape": "geom", "site": "site"}
"""MJCF's words for the frames that sensors measure."""

KINDS = {"shape": "geom", "body_inertial": "body"}
"""MJCF's words for kinds of objects, where they differ from the builder's."""

DOF = "dof"
"""Parameter of a sensor on a joint of several axes: which of them; such an axis is a joint of the file."""


def write_sensors(writer: Writer) -> None:
    """All sensors; one of what is not in the file is noted."""
    for index, sensor in enumerate(writer.scene.elements.sensors):
        problem, attributes = _attributes(writer, sensor)
        if problem:
            writer.notes.lose(f"sensor {sensor.kind!r}", f"sensor {sensor.label!r}", f"{problem}: left out")
            continue
        name = writer.name("sensor", sensor.label, index)
        parameters = {key: text(value) for key, value in sensor.parameters if value is not None and key != DOF}
        add(writer.section("sensor"), sensor.kind, name=name, **attributes, **parameters)
        writer.notes.report.count("sensors")


def _attributes(writer: Writer, sensor: Sensor) -> tuple[str, dict]:
    """What stands against writing it, else ""; and the attributes that say what it is attached to."""
    names = [
        _name(writer, sensor.object_kind, sensor.object, dict(sensor.parameters).get(DOF, 0)),
        _name(writer, sensor.reference_kind, sensor.reference),
    ]
    if None in names:
        return "what it is attached to is not in the file as one thing", {}
    if sensor.kind == "plugin" or {"mesh", "camera"} & {key for key, _ in sensor.parameters}:
        return "it needs a plugin, camera or mesh that is not in the builder", {}
    if not names[0] and sensor.kind not in (*ON_NOTHING, "user", "contact"):
        return "it is attached to nothing", {}
    if sensor.kind in BETWEEN:
        return "", _between(sensor, *names)
    if sensor.kind in (*ON_FRAME, "user"):
        return "", _frame(sensor, *names)
    return "", {KINDS.get(sensor.object_kind, sensor.object_kind): names[0]} if names[0] else {}


def _name(writer: Writer, kind: str, index: int, dof: int = 0) -> str | None:
    """The name of what a sensor is attached to; "" for nothing, None for what is not in the file."""
    return "" if kind == "none" else writer.find(kind.removesuffix("_inertial"), index, dof)


def _between(sensor: Sensor, first: str, second: str) -> dict:
    result = {}
    for number, kind, name in (("1", sensor.object_kind, first), ("2", sensor.reference_kind, second)):
        if name:
            kind = KINDS.get(kind, kind)
            result["site" if kind == "site" else f"{kind}{number}"] = name
    return result


def _frame(sensor: Sensor, target: str, reference: str) -> dict:
    result = {}
    if target:
        result |= {"objtype": FRAMES.get(sensor.object_kind, sensor.object_kind), "objname": target}
    if reference and sensor.kind == "insidesite":
        result["site"] = reference
    elif reference:
        result |= {"reftype": FRAMES.get(sensor.reference_kind, sensor.reference_kind), "refname": reference}
    return result
