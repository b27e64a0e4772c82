"""What a builder holds besides bodies, joints and shapes: tendons, actuators, sensors, keyframes, contact pairs,
deformable bodies and the options of a scene. But for contact pairs a model has no place for them yet; ``finalize`` says
so.

Elements refer to each other by index. ``renumber`` changes the indices when elements are merged or removed: it is given
a function (kind, index) -> new index, for the kinds "body", "joint", "shape", "site", "tendon", "actuator", "sensor".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any

import numpy as np

from simengine.builder.frames import Pose, Quaternion, quat_rotate
from simengine.builder.material import DEFAULT_IMPEDANCE, DEFAULT_REFERENCE
from simengine.errors import ModelError

Renumber = Callable[[str, int], int]

TRANSMISSIONS = {
    "joint": "joint",
    "joint_in_parent": "joint",
    "tendon": "tendon",
    "site": "site",
    "slider_crank": "site",
    "body": "body",
}
"""What an actuator may act through, and the kind of element that its target is."""

OBJECTS = ("body", "body_inertial", "joint", "shape", "site", "tendon", "actuator", "sensor", "equality", "none")
"""What a sensor may be attached to; ``body_inertial`` is the frame of a body's centre of mass."""


@dataclass(frozen=True)
class PathPoint:
    """One element of the path of a spatial tendon.

    kind "site": the tendon passes through site ``index``; "shape": it wraps about shape ``index`` (a sphere or
    cylinder), on the side of site ``side`` (-1: the shorter way); "pulley": what follows is another branch, whose
    length counts divided by ``divisor``.
    """

    kind: str
    index: int = -1
    side: int = -1
    divisor: float = 1.0


@dataclass
class Tendon:
    """A length that couples joints: fixed, sum of coefficient * coordinate; or spatial, along a path of sites.

    ``terms``: (joint, coefficient) of a fixed tendon; ``dofs``: of each which degree of freedom of its joint, empty:
    the first. ``path``: PathPoints of a spatial one. ``spring_length`` (lower, upper): the spring pulls outside that
    span; None: the length at the initial pose. SI units.
    """

    label: str
    auto_label: bool
    terms: tuple[tuple[int, float], ...] = ()
    dofs: tuple[int, ...] = ()
    path: tuple[PathPoint, ...] = ()
    stiffness: float = 0.0
    damping: float = 0.0
    friction: float = 0.0
    armature: float = 0.0
    spring_length: tuple[float, float] | None = None
    limit_lower: float = -inf
    limit_upper: float = inf
    limit_margin: float = 0.0
    limit_reference: tuple = DEFAULT_REFERENCE
    limit_impedance: tuple = DEFAULT_IMPEDANCE
    friction_reference: tuple = DEFAULT_REFERENCE
    friction_impedance: tuple = DEFAULT_IMPEDANCE
    force_limit: tuple[float, float] = (-inf, inf)  # of all actuators on it together
    width: float = 0.003
    color: tuple = (0.5, 0.5, 0.5, 1.0)

    def renumber(self, new: Renumber) -> None:
        self.terms = tuple((new("joint", joint), coefficient) for joint, coefficient in self.terms)
        self.path = tuple(_renumbered(point, new) for point in self.path)


def _renumbered(point: PathPoint, new: Renumber) -> PathPoint:
    if point.kind == "pulley":
        return point
    side = new("site", point.side) if point.side >= 0 else -1
    return replace(point, index=new(point.kind, point.index), side=side)


@dataclass
class Actuator:
    """A force generator: force = gain(length, velocity) * input + bias(length, velocity), times ``gear``.

    ``transmission``: a key of TRANSMISSIONS; ``target``: index of what it acts on, ``dof``: of a joint with several
    degrees of freedom that one of which ``gear[0]`` holds; ``reference``: the site in whose
    frame a site's force is given, or the slider's site of a slider crank (-1: none). ``gain``, ``bias``, ``dynamics``:
    kind and up to ten parameters, with the meanings of MuJoCo's affine, fixed, muscle, dcmotor, integrator, filter and
    filterexact. Ranges are (lower, upper), infinite where there is none.
    """

    label: str
    auto_label: bool
    transmission: str
    target: int
    reference: int = -1
    gear: tuple = (1.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    gain: tuple = ("fixed", (1.0,))
    bias: tuple = ("none", ())
    dynamics: tuple = ("none", ())
    activations: int = 0
    control_range: tuple[float, float] = (-inf, inf)
    force_range: tuple[float, float] = (-inf, inf)
    activation_range: tuple[float, float] = (-inf, inf)
    length_range: tuple[float, float] = (0.0, 0.0)
    crank_length: float = 0.0
    early: bool = False  # activations advance before the force is found
    group: int = 0
    dof: int = 0
    inputs: tuple[str, ...] = ()  # where it has others than one command: pos, vel, ff, voltage, expmap, quat

    def renumber(self, new: Renumber) -> None:
        self.target = new(TRANSMISSIONS[self.transmission], self.target)
        self.reference = new("site", self.reference) if self.reference >= 0 else -1


def input_count(gain: str, inputs: tuple[str, ...]) -> int:
    """How many numbers control an actuator with a ``gain`` of this kind and these ``inputs``."""
    if gain == "so3":
        return 4 if "quat" in inputs else 3
    if gain in ("pid", "dcmotor"):
        return 0 if inputs == ("none",) else len(inputs)
    return 1


@dataclass
class Sensor:
    """A named measurement: its kind (a word of the file's format), what it is attached to, and its parameters.

    ``object_kind``, ``object``: a word of OBJECTS and an index; ``reference_kind``, ``reference``: the frame in which
    it measures ("none": the world's). ``parameters``: (name, value) pairs.
    """

    label: str
    auto_label: bool
    kind: str
    object_kind: str = "none"
    object: int = -1
    reference_kind: str = "none"
    reference: int = -1
    parameters: tuple[tuple[str, Any], ...] = ()

    def renumber(self, new: Renumber) -> None:
        self.object = _object(self.object_kind, self.object, new)
        self.reference = _object(self.reference_kind, self.reference, new)


def _object(kind: str, index: int, new: Renumber) -> int:
    return index if kind == "none" or index < 0 else new(kind.removesuffix("_inertial"), index)


@dataclass
class Keyframe:
    """A named state: (joint, coordinates, rates), (actuator, inputs, activations), (kinematic body, pose).

    Inputs are a tuple, of as many numbers as the actuator takes (``input_count``).
    """

    label: str
    auto_label: bool
    time: float = 0.0
    joints: tuple[tuple[int, tuple, tuple], ...] = ()
    actuators: tuple[tuple[int, tuple, tuple], ...] = ()
    bodies: tuple[tuple[int, Pose], ...] = ()

    def __post_init__(self):
        try:
            self.actuators = tuple((index, tuple(inputs), tuple(states)) for index, inputs, states in self.actuators)
        except (TypeError, ValueError):
            raise ModelError(
                f"actuators are {self.actuators!r}; give (actuator, (its inputs, ...), (its activations, ...))",
                element=f"keyframe {self.label!r}",
            ) from None

    def renumber(self, new: Renumber) -> None:
        self.joints = tuple((new("joint", joint), *values) for joint, *values in self.joints)
        self.actuators = tuple((new("actuator", actuator), *values) for actuator, *values in self.actuators)
        self.bodies = tuple((new("body", body), pose) for body, pose in self.bodies)


@dataclass
class ContactPair:
    """Two shapes that may touch whatever filters say, with contact parameters of their own (None: those of the shapes).

    ``friction``: along the two tangents, about the normal (m), about the two tangents (m); static friction is the same.
    ``reference``, ``friction_reference``: time constant (s) and damping ratio, the second of the tangents where the
    cone is elliptic (None: as ``reference``). ``reference`` or ``impedance`` take the place of a stiffness in N/m.
    ``margin``, ``gap``: m, of the pair.
    """

    label: str
    auto_label: bool
    shape0: int
    shape1: int
    contact_dim: int | None = None
    friction: tuple | None = None
    reference: tuple | None = None
    friction_reference: tuple | None = None
    impedance: tuple | None = None
    margin: float | None = None
    gap: float | None = None

    def renumber(self, new: Renumber) -> None:
        self.shape0, self.shape1 = new("shape", self.shape0), new("shape", self.shape1)


@dataclass
class TendonEquality:
    """Holds the length of a tendon at a polynomial of that of another: l0 = a0 + a1 l1 + ... + a4 l1^4.

    Lengths count from those at the initial pose. ``tendon1`` -1: l0 = a0. The rest as of ``Equality``.
    """

    label: str
    auto_label: bool
    tendon0: int
    tendon1: int = -1
    polynomial: tuple = (0.0, 1.0, 0.0, 0.0, 0.0)
    active: bool = True
    reference: tuple = DEFAULT_REFERENCE
    impedance: tuple = DEFAULT_IMPEDANCE

    def renumber(self, new: Renumber) -> None:
        self.tendon0 = new("tendon", self.tendon0)
        self.tendon1 = new("tendon", self.tendon1) if self.tendon1 >= 0 else -1


@dataclass
class Deformable:
    """A deformable body: ``kind`` "cable" (n, 2), "cloth" (n, 3) or "soft" (n, 4) of ``elements``, vertex indices.

    ``vertices`` (m, 3) in m, on ``body`` (-1: the world) where they are placed at the start. ``parameters``: (name,
    value) pairs with the file's own names, SI units.
    """

    label: str
    auto_label: bool
    kind: str
    vertices: tuple
    elements: tuple
    body: int = -1
    parameters: tuple[tuple[str, Any], ...] = ()

    def renumber(self, new: Renumber) -> None:
        self.body = new("body", self.body)


@dataclass
class SceneOptions:
    """What a file asks of a simulation; None where it does not say. ``Simulation`` and solvers are told by the user.

    ``dt`` in s; ``density`` (kg/m3), ``viscosity`` (Pa s) and ``wind`` (m/s) of the medium; ``magnetic``: flux, as the
    file's magnetometers measure it; ``disabled``, ``enabled``: names of the file's flags; ``other``: (name, text) of
    options of other engines. Wind and flux are in world axes, and turn with what stands on the world.
    """

    dt: float | None = None
    integrator: str | None = None
    cone: str | None = None
    impratio: float | None = None
    iterations: int | None = None
    tolerance: float | None = None
    density: float | None = None
    viscosity: float | None = None
    wind: tuple | None = None
    magnetic: tuple | None = None
    disabled: tuple[str, ...] = ()
    enabled: tuple[str, ...] = ()
    other: tuple[tuple[str, str], ...] = ()

    def turn(self, by: Quaternion) -> None:
        """Turn what has a direction in the world."""
        self.wind = quat_rotate(by, self.wind) if self.wind else self.wind
        self.magnetic = quat_rotate(by, self.magnetic) if self.magnetic else self.magnetic


KEPT = {
    "tendons": "tendon",
    "actuators": "actuator",
    "sensors": "sensor",
    "keyframes": "keyframe",
    "contact_pairs": "contact pair",
    "deformables": "deformable",
    "tendon_equalities": "tendon equality",
}
"""Lists of a builder besides those of ``schema.ELEMENTS``, and the name of one element of each."""


@dataclass(frozen=True, eq=False)
class HeightField:
    """Heights (rows along y, columns along x) in m on an even grid; immutable, compared by content."""

    heights: np.ndarray
    label: str = "height field"
    _content: bytes = field(init=False, repr=False)

    def __post_init__(self):
        try:
            if np.iscomplexobj(self.heights):
                raise TypeError("complex numbers are no heights")
            heights = np.array(self.heights, np.float64)
        except (TypeError, ValueError, OverflowError):
            raise ModelError(f"{self.label}: heights must be a table of real numbers") from None
        if heights.ndim != 2 or min(heights.shape) < 2:
            raise ModelError(f"{self.label}: heights have shape {heights.shape}; give at least 2 rows and 2 columns")
        bad = np.argwhere(~np.isfinite(heights))
        if bad.size:
            raise ModelError(f"{self.label}: the height in row {bad[0][0]}, column {bad[0][1]} is not finite")
        heights.setflags(write=False)
        object.__setattr__(self, "heights", heights)
        object.__setattr__(self, "_content", repr(heights.shape).encode() + heights.tobytes())

    def __eq__(self, other) -> bool:
        return isinstance(other, HeightField) and self._content == other._content

    def __hash__(self) -> int:
        return hash(self._content)
