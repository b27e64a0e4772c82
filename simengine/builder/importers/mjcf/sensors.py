"""<sensor>: what each sensor is attached to, from XML to plain values."""

from __future__ import annotations

from simengine.builder.importers.mjcf.document import Reference, Sensor
from simengine.builder.importers.mjcf.values import Values

ON_SITE = (
    *("touch", "accelerometer", "velocimeter", "gyro", "force", "torque", "magnetometer", "camprojection"),
    *("rangefinder",),
)
ON_JOINT = (
    *("jointpos", "jointvel", "jointactuatorfrc", "ballquat", "ballangvel"),
    *("jointlimitpos", "jointlimitvel", "jointlimitfrc"),
)
ON_TENDON = ("tendonpos", "tendonvel", "tendonactuatorfrc", "tendonlimitpos", "tendonlimitvel", "tendonlimitfrc")
ON_ACTUATOR = ("actuatorpos", "actuatorvel", "actuatorfrc")
ON_BODY = ("subtreecom", "subtreelinvel", "subtreeangmom")
ON_FRAME = (
    *("framepos", "framequat", "framexaxis", "frameyaxis", "framezaxis", "framelinvel", "frameangvel"),
    *("framelinacc", "frameangacc", "insidesite"),
)
BETWEEN = ("distance", "normal", "fromto", "contact")
ON_NOTHING = ("e_potential", "e_kinetic", "clock")
OTHER = ("tactile", "user", "plugin")
SENSORS = (*ON_SITE, *ON_JOINT, *ON_TENDON, *ON_ACTUATOR, *ON_BODY, *ON_FRAME, *BETWEEN, *ON_NOTHING, *OTHER)

TARGETS = {
    kind: target
    for target, kinds in (
        ("site", ON_SITE),
        ("joint", ON_JOINT),
        ("tendon", ON_TENDON),
        ("actuator", ON_ACTUATOR),
        ("body", ON_BODY),
    )
    for kind in kinds
}
"""The attribute that names what a sensor is attached to, which is also its kind."""

FRAMES = {
    "body": ("body_inertial", "body"),
    "xbody": ("body", "body"),
    "geom": ("shape", "geom"),
    "site": ("site", "site"),
}
"""The builder's word for a frame, and the namespace of its name, for MJCF's words: ``body`` is the inertial frame."""

PARAMETERS = ("cutoff", "noise", "data", "reduce", "num", "dim", "datatype", "needstage", "enclosed", "mesh", "camera")
NUMBERS = ("cutoff", "noise", "num", "dim")

Attached = tuple[str, Reference] | None


def read_sensor(values: Values) -> Sensor:
    """A sensor; AssetError where it is attached to nothing, though its kind must be."""
    kind = values.element.tag
    target, reference = _attached(values, kind)
    parameters = []
    for name in PARAMETERS:
        if values.has(name):
            parameters.append((name, values.number(name) if name in NUMBERS else values.text(name)))
    return Sensor(values.element, values.name("name"), kind, target, reference, tuple(parameters))


def _attached(values: Values, kind: str) -> tuple[Attached, Attached]:
    if kind == "rangefinder" and values.has("camera"):
        return None, None  # cameras are passed over; the name stays among the parameters
    if kind in TARGETS:
        name = TARGETS[kind]
        return (name, Reference(name, values.text(name))), None
    if kind in ON_FRAME or kind in ("user", "plugin"):
        target = _frame(values, "objtype", "objname", required=kind in ON_FRAME)
        if kind == "insidesite":
            return target, ("site", Reference("site", values.text("site")))
        return target, _frame(values, "reftype", "refname", required=False)
    if kind in BETWEEN:
        if kind == "contact" and values.has("site"):
            first: Attached = ("site", Reference("site", values.text("site")))
        else:
            first = _either(values, "1", required=kind != "contact")
        return first, _either(values, "2", required=kind != "contact")
    if kind == "tactile":
        return ("shape", Reference("geom", values.text("geom"))), None
    return None, None


def _frame(values: Values, type_name: str, name: str, required: bool) -> Attached:
    if not values.has(type_name) and not required:
        return None
    word = values.text(type_name)
    if word == "camera" or (word not in FRAMES and not required):
        return None
    if word not in FRAMES:
        raise values.alone(type_name).error(
            f"attribute '{type_name}' is '{word}': it is one of {', '.join(FRAMES)}, camera"
        )
    kind, namespace = FRAMES[word]
    return kind, Reference(namespace, values.text(name))


def _either(values: Values, number: str, required: bool) -> Attached:
    """A geom, a body, or all bodies below one."""
    for attribute, kind, namespace in (
        ("geom", "shape", "geom"),
        ("body", "body", "body"),
        ("subtree", "body", "body"),
    ):
        if values.has(attribute + number):
            return kind, Reference(namespace, values.text(attribute + number))
    if required:
        raise values.element.error(f"give geom{number} or body{number}")
    return None
