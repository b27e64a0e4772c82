"""Options of the scene and what it holds for its user."""

from __future__ import annotations

from collections.abc import Sequence

from simengine.builder.exporters.mjcf.writer import Writer
from simengine.builder.exporters.scene import disabled_flags
from simengine.builder.exporters.xml_text import add, text
from simengine.builder.importers.mjcf.attributes import TABLE
from simengine.builder.importers.mjcf.options import INTEGRATORS as READ

OPTIONS = {
    "dt": "timestep",
    "integrator": "integrator",
    "cone": "cone",
    "impratio": "impratio",
    "iterations": "iterations",
    "tolerance": "tolerance",
    "density": "density",
    "viscosity": "viscosity",
    "wind": "wind",
    "magnetic": "magnetic",
}
INTEGRATORS = {ours: theirs for theirs, ours in READ.items()}
EARTH = (0.0, 0.0, -9.81)
"""MuJoCo's own gravity."""


def write_options(writer: Writer) -> None:
    """``<compiler>`` and ``<option>``."""
    options, notes = writer.scene.elements.options, writer.notes
    known = TABLE.names("option")
    writer.section("compiler").set("angle", "radian")
    values = {}
    for field, attribute in OPTIONS.items():
        value = getattr(options, field)
        if field == "integrator" and value is not None:
            if value not in INTEGRATORS:
                notes.lose(f"integrator {value!r}", "scene", "MuJoCo has no such one")
                continue
            value = INTEGRATORS[value]
        values[attribute] = value
    gravity = tuple(x + 0.0 for x in writer.scene.gravity)
    if any(abs(x - e) > 0 for x, e in zip(gravity, EARTH, strict=True)):
        values["gravity"] = gravity
    values |= {name: value for name, value in options.other if name in known}
    for name, _ in options.other:
        if name not in known:
            notes.lose("option", f"option {name!r}", "it is not one of MuJoCo's")
    section = writer.section("option")
    for name, value in values.items():
        if value is not None:
            section.set(name, text(value))
    flags = {flag: "disable" for flag in disabled_flags(writer.scene, notes)}
    flags |= {flag: "enable" for flag in options.enabled}
    if flags:
        add(section, "flag", **flags)


def write_custom(writer: Writer) -> None:
    """(name, value) pairs as ``<numeric>`` or ``<text>``."""
    for name, value in writer.scene.elements.custom:
        if isinstance(value, str | bool):
            add(writer.section("custom"), "text", name=writer.name("custom value", name), data=text(value))
        elif isinstance(value, float | int) or (
            isinstance(value, Sequence) and value and all(isinstance(x, float | int) for x in value)
        ):
            add(writer.section("custom"), "numeric", name=writer.name("custom value", name), data=value)
        else:
            writer.notes.lose("custom value", f"custom {name!r}", "it is neither numbers nor text")
            continue
        writer.notes.report.count("custom entries")
