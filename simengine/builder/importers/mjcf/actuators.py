"""Actuators: each shortcut as gain, bias and dynamics with their parameters, as MuJoCo's compiler expands it."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from simengine.builder.importers.mjcf.dc_motor import set_dc_motor
from simengine.builder.importers.mjcf.document import Actuator, Compiler, Reference
from simengine.builder.importers.mjcf.values import Values, effective_range
from simengine.builder.importers.report import Notes
from simengine.builder.importers.xml_reader import Element

GAINS = ("fixed", "affine", "muscle", "dcmotor", "so3", "pid", "user")
BIASES = ("none", "affine", "muscle", "dcmotor", "so3", "user")
DYNAMICS = ("none", "integrator", "filter", "filterexact", "muscle", "dcmotor", "pid", "user")
INPUTS = ("pos", "vel", "ff", "voltage")
CHARTS = {"expmap": 3, "quat": 4}
TRANSMISSIONS = {
    "joint": ("joint", "joint"),
    "jointinparent": ("joint_in_parent", "joint"),
    "tendon": ("tendon", "tendon"),
    "cranksite": ("slider_crank", "site"),
    "site": ("site", "site"),
    "body": ("body", "body"),
}
"""The builder's word, and the kind of the target, for each attribute that names one."""
PARAMETERS = 10


def _padded(parameters) -> list[float]:
    return [*parameters, *(0.0,) * (PARAMETERS - len(parameters))]


@dataclass
class ActuatorFields:
    """MuJoCo's description of an actuator, which default classes hold too; ``kind``: the shortcut that wrote it."""

    kind: str = "general"
    gain: str = "fixed"
    gain_parameters: list[float] = field(default_factory=lambda: _padded((1.0,)))
    bias: str = "none"
    bias_parameters: list[float] = field(default_factory=lambda: _padded(()))
    dynamics: str = "none"
    dynamics_parameters: list[float] = field(default_factory=lambda: _padded((1.0,)))
    activations: int = -1  # -1: as many as the dynamics have
    inputs: tuple[str, ...] = ()
    control: tuple[float, ...] = (0.0, 0.0)
    force: tuple[float, ...] = (0.0, 0.0)
    activation: tuple[float, ...] = (0.0, 0.0)
    limited: dict[str, str] = field(default_factory=lambda: dict.fromkeys(("ctrl", "force", "act"), "auto"))
    length_range: tuple[float, ...] = (0.0, 0.0)
    gear: tuple[float, ...] = (1.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    crank_length: float = 0.0
    inherit_range: float = 0.0
    early: bool = False
    group: int = 0
    damping: float = 0.0
    armature: float = 0.0
    parent: ActuatorFields | None = None  # of the class above

    def set_force(self, gain: tuple, bias: tuple = ("none",), dynamics: tuple = ("none", 1.0)) -> None:
        """Set the kinds, and all parameters: those that are not given to zero."""
        self.gain, self.gain_parameters = gain[0], _padded(gain[1:])
        self.bias, self.bias_parameters = bias[0], _padded(bias[1:])
        self.dynamics, self.dynamics_parameters = dynamics[0], _padded(dynamics[1:])
        self.activations, self.early = -1, False


FORCE = (
    *("gain", "gain_parameters", "bias", "bias_parameters", "dynamics", "dynamics_parameters"),
    *("activations", "inputs", "early"),
)
"""What says how an actuator makes its force."""
OWN_GAIN = {"damper": "affine", "muscle": "muscle", "dcmotor": "dcmotor", "orientation": "so3", "pid": "pid"}
"""The gain of each shortcut; "fixed" of the others."""


def below(fields: ActuatorFields) -> ActuatorFields:
    """What a class starts with whose parent class gives ``fields``."""
    return replace(_copied(fields), parent=fields)


def _copied(fields: ActuatorFields) -> ActuatorFields:
    result = copy.copy(fields)
    for name in ("gain_parameters", "bias_parameters", "dynamics_parameters"):
        setattr(result, name, list(getattr(fields, name)))
    result.limited = dict(fields.limited)
    return result


def _force_source(fields: ActuatorFields, kind: str) -> ActuatorFields:
    """The fields that a shortcut takes its parameters from, as in MuJoCo 4: those of the nearest class that was written
    with the same shortcut, or with <general> and the shortcut's gain; else those that MJCF starts with."""
    source: ActuatorFields | None = fields
    while source is not None:
        if source.kind == kind or (source.kind == "general" and source.gain == OWN_GAIN.get(kind, "fixed")):
            return source
        source = source.parent
    return ActuatorFields()


def read_actuator(element: Element, compiler: Compiler, inherited: ActuatorFields) -> ActuatorFields:
    """The fields of an actuator, or of the actuators of a default class, over inherited ones."""
    fields, values = _copied(inherited), Values(element, compiler)
    if element.tag != "general":
        source = _copied(_force_source(inherited, element.tag))
        for name in FORCE:
            setattr(fields, name, getattr(source, name))
    fields.kind = element.tag
    fields.control = values.numbers("ctrlrange", 2, fields.control)
    fields.force = values.numbers("forcerange", 2, fields.force)
    fields.activation = values.numbers("actrange", 2, fields.activation)
    for name in fields.limited:
        fields.limited[name] = values.choice(f"{name}limited", ("false", "true", "auto"), fields.limited[name])
    fields.length_range = values.numbers("lengthrange", 2, fields.length_range)
    fields.gear = values.numbers("gear", 6, fields.gear, least=1)
    fields.crank_length = values.number("cranklength", fields.crank_length)
    fields.group = values.whole("group", fields.group)
    fields.damping = values.numbers("damping", 3, (fields.damping, 0.0, 0.0), least=1, lowest=0.0)[0]
    fields.armature = values.number("armature", fields.armature, lowest=0.0)
    fields.inherit_range = values.number("inheritrange", fields.inherit_range, lowest=0.0)
    EXPANSIONS[element.tag](fields, values)
    return fields


def make_actuator(element: Element, compiler: Compiler, fields: ActuatorFields, notes: Notes) -> Actuator:
    """An actuator with what it acts on; refused where it has no target, or several, or a range is none."""
    values = Values(element, compiler)
    given = [name for name in TRANSMISSIONS if values.has(name)]
    if len(given) != 1:
        what = " and ".join(given) or "no target"
        raise element.error(f"has {what}: give one of {', '.join(TRANSMISSIONS)}")
    transmission, kind = TRANSMISSIONS[given[0]]
    target = Reference(kind, values.text(given[0]))
    named = {"site": "refsite", "slider_crank": "slidersite"}.get(transmission, "")
    reference = Reference("site", values.text(named)) if values.has(named) else None
    if transmission == "slider_crank":
        if reference is None:
            raise element.error("has a cranksite but no slidersite: add it")
        if fields.crank_length <= 0.0:
            raise element.error("has a cranksite, but its cranklength is not positive")

    def limits(name: str, given: tuple[float, ...]) -> tuple[float, float] | None:
        inherited = fields.inherit_range and given == (0.0, 0.0)
        limited = "auto" if inherited else fields.limited[name]
        return effective_range(element, compiler, notes, f"{name}range", limited, given)

    return Actuator(
        element,
        values.name("name"),
        element.tag,
        transmission,
        target,
        reference,
        fields.gear,
        (fields.gain, tuple(fields.gain_parameters)),
        (fields.bias, tuple(fields.bias_parameters)),
        (fields.dynamics, tuple(fields.dynamics_parameters)),
        _activations(fields, element),
        limits("ctrl", fields.control),
        limits("force", fields.force),
        limits("act", fields.activation),
        fields.inherit_range,
        fields.length_range,
        fields.crank_length,
        fields.early,
        fields.group,
        fields.inputs,
        fields.damping,
        fields.armature,
    )


def _activations(fields: ActuatorFields, element: Element) -> int:
    """How many numbers its state has."""
    if fields.dynamics == "pid":
        return (fields.dynamics_parameters[1] > 0.0) + (fields.gain_parameters[0] > 0.0)
    if fields.gain == "so3" and fields.dynamics == "integrator":
        return 3
    if fields.activations < 0:
        return 0 if fields.dynamics in ("none", "dcmotor") else 1
    if fields.activations and fields.dynamics == "none":
        raise element.error(f"has {fields.activations} activations (actdim) but no dynamics: set dyntype")
    return fields.activations


def _parameters(values: Values, name: str, before: list[float]) -> list[float]:
    """A list of up to ten parameters, those left out as before."""
    return list(values.numbers(name, PARAMETERS, before, least=1))


def _inputs(fields: ActuatorFields, values: Values) -> None:
    if values.has("input"):
        words = tuple(values.given["input"][0].split())
        if any(word not in (*INPUTS, *CHARTS, "none", "pressure") for word in words):
            raise values.alone("input").error(f"attribute 'input' is not a list of {', '.join((*INPUTS, *CHARTS))}")
        fields.inputs = words


def _general(fields: ActuatorFields, values: Values) -> None:
    fields.gain = values.choice("gaintype", GAINS, fields.gain)
    fields.bias = values.choice("biastype", BIASES, fields.bias)
    fields.dynamics = values.choice("dyntype", DYNAMICS, fields.dynamics)
    fields.gain_parameters = _parameters(values, "gainprm", fields.gain_parameters)
    fields.bias_parameters = _parameters(values, "biasprm", fields.bias_parameters)
    fields.dynamics_parameters = _parameters(values, "dynprm", fields.dynamics_parameters)
    fields.activations = values.whole("actdim", fields.activations, lowest=-1)
    fields.early = values.flag("actearly", fields.early)
    _inputs(fields, values)


def _motor(fields: ActuatorFields, values: Values) -> None:
    fields.set_force(("fixed", 1.0))


def _servo(fields: ActuatorFields, values: Values, stiffness: float) -> tuple:
    """bias = -kp length - kv velocity; a positive third parameter stands for a damping ratio, resolved when built."""
    damping = fields.bias_parameters[2]
    if values.has("kv") and values.has("dampratio"):
        raise values.element.error("has kv and dampratio: give one of them")
    if values.has("kv"):
        damping = -values.number("kv", lowest=0.0)
    if values.has("dampratio"):
        damping = values.number("dampratio", lowest=0.0)
    return ("affine", 0.0, -stiffness, damping)


def _position(fields: ActuatorFields, values: Values) -> None:
    stiffness = values.number("kp", fields.gain_parameters[0])
    filtered = fields.dynamics == "filterexact"
    time = values.number("timeconst", fields.dynamics_parameters[0] if filtered else 0.0, lowest=0.0)
    dynamics = ("filterexact", time) if time else ("none", 1.0)
    fields.set_force(("fixed", stiffness), _servo(fields, values, stiffness), dynamics)
    if fields.inherit_range and fields.control != (0.0, 0.0):
        raise values.element.error("has ctrlrange and inheritrange: give one of them")


def _intvelocity(fields: ActuatorFields, values: Values) -> None:
    stiffness = values.number("kp", fields.gain_parameters[0])
    fields.set_force(("fixed", stiffness), _servo(fields, values, stiffness), ("integrator", 1.0))
    if fields.inherit_range and fields.activation != (0.0, 0.0):
        raise values.element.error("has actrange and inheritrange: give one of them")


def _orientation(fields: ActuatorFields, values: Values) -> None:
    stiffness = values.number("kp", fields.gain_parameters[0])
    _, *bias = _servo(fields, values, stiffness)
    fields.set_force(("so3", stiffness), ("so3", *bias))
    fields.inputs = fields.inputs or ("expmap",)
    _inputs(fields, values)


def _pid(fields: ActuatorFields, values: Values) -> None:
    """gain: ki; dynamics: imax, slewmax; states for the slewed setpoint and for the integral, where they are used."""
    if fields.gain != "pid":  # nothing inherited
        fields.set_force(("pid",), ("affine", 0.0, -1.0), ("none",))
        fields.inputs = ("pos", "vel")
    servo = _servo(fields, values, values.number("kp", -fields.bias_parameters[1]))
    integral = values.number("ki", fields.gain_parameters[0])
    slew = values.number("slewmax", fields.dynamics_parameters[1], lowest=0.0)
    bound = values.number("imax", fields.dynamics_parameters[0], lowest=0.0)
    dynamics = ("pid" if integral or slew else "none", bound if integral else 0.0, slew)
    fields.set_force(("pid", integral), servo, dynamics)
    fields.control = values.numbers("posrange", 2, fields.control)
    _inputs(fields, values)


def _velocity(fields: ActuatorFields, values: Values) -> None:
    gain = values.number("kv", fields.gain_parameters[0])
    fields.set_force(("fixed", gain), ("affine", 0.0, 0.0, -gain))


def _damper(fields: ActuatorFields, values: Values) -> None:
    before = -fields.gain_parameters[2] if fields.gain == "affine" else 0.0
    fields.set_force(("affine", 0.0, 0.0, -values.number("kv", before, lowest=0.0)))
    _positive_control(fields, values)


def _positive_control(fields: ActuatorFields, values: Values) -> None:
    fields.limited["ctrl"] = "true"
    if min(fields.control) < 0.0:
        raise values.element.error(f"its ctrlrange starts at {min(fields.control):g}: it must be 0 or more")


def _cylinder(fields: ActuatorFields, values: Values) -> None:
    time = values.number("timeconst", fields.dynamics_parameters[0])
    bias = values.numbers("bias", 3, fields.bias_parameters[:3])
    area = values.number("area", fields.gain_parameters[0])
    if values.has("diameter"):
        area = 0.25 * math.pi * values.number("diameter", lowest=0.0) ** 2
    fields.set_force(("fixed", area), ("affine", *bias), ("filter", time))


MUSCLE = {"force": 2, "scale": 3, "lmin": 4, "lmax": 5, "vmax": 6, "fpmax": 7, "fvmax": 8}
"""Where each attribute of a muscle stands among the parameters of its gain."""
MUSCLE_GAIN = (0.75, 1.05, -1.0, 200.0, 0.5, 1.6, 1.5, 1.3, 1.2)


def _muscle(fields: ActuatorFields, values: Values) -> None:
    gain, dynamics = fields.gain_parameters, fields.dynamics_parameters
    for i, default in enumerate(MUSCLE_GAIN):
        if gain[i] == float(i == 0):  # MuJoCo's sign that nothing was given
            gain[i] = default
    dynamics[0] = 0.01 if dynamics[0] == 1.0 else dynamics[0]
    dynamics[1] = 0.04 if dynamics[1] == 0.0 else dynamics[1]
    dynamics[2] = values.number("tausmooth", dynamics[2], lowest=0.0)
    dynamics[:2] = _nonnegative(values.numbers("timeconst", 2, (-1.0, -1.0)), dynamics)
    gain[:2] = _nonnegative(values.numbers("range", 2, (-1.0, -1.0)), gain)
    for name, i in MUSCLE.items():
        (gain[i],) = _nonnegative((values.number(name, -1.0),), gain[i:])
    if gain[0] >= gain[1] or not gain[4] < 1.0 < gain[5] or min(gain[3], *gain[6:9]) <= 0.0:
        raise values.element.error(
            "a muscle needs range[0] < range[1], lmin < 1 < lmax, and positive scale, vmax, fpmax and fvmax"
        )
    fields.bias_parameters[:9] = gain[:9]
    fields.gain, fields.bias, fields.dynamics = "muscle", "muscle", "muscle"


def _nonnegative(given, before) -> list[float]:
    """Given numbers; a negative one stands for that before."""
    return [new if new >= 0.0 else old for new, old in zip(given, before, strict=False)]


def _adhesion(fields: ActuatorFields, values: Values) -> None:
    fields.set_force(("fixed", values.number("gain", fields.gain_parameters[0], lowest=0.0)))
    _positive_control(fields, values)


EXPANSIONS: dict[str, Callable[[ActuatorFields, Values], None]] = {
    "general": _general,
    "motor": _motor,
    "position": _position,
    "velocity": _velocity,
    "intvelocity": _intvelocity,
    "orientation": _orientation,
    "pid": _pid,
    "damper": _damper,
    "cylinder": _cylinder,
    "muscle": _muscle,
    "adhesion": _adhesion,
    "dcmotor": set_dc_motor,
}
"""What each kind of actuator makes of its attributes."""
