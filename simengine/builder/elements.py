"""What a builder holds: one dataclass for each kind of element, of plain values that compare by content."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from math import inf

import numpy as np

from simengine import schema
from simengine.builder.frames import IDENTITY, Pose, Vector
from simengine.builder.material import DEFAULT_IMPEDANCE, DEFAULT_REFERENCE, Material
from simengine.builder.mechanisms import (
    KEPT,
    Actuator,
    ContactPair,
    Deformable,
    HeightField,
    Keyframe,
    SceneOptions,
    Sensor,
    Tendon,
    TendonEquality,
)
from simengine.builder.mesh_data import Mesh
from simengine.enums import DofKind, EqualityType, JointType, ShapeType

WORLD = -1
DEFAULT_MATERIAL = Material()


@dataclass
class Body:
    """A rigid body. ``mass`` None: from its shapes. ``inertia`` None: that of its shapes, scaled to ``mass``."""

    label: str
    auto_label: bool
    xform: Pose | None = None  # body frame in the world; None where it was not given
    velocity: tuple | None = None  # of the centre of mass, then angular; world axes
    mass: float | None = None
    com: Vector | None = None
    inertia: tuple | None = None  # (9,), about the centre of mass, body axes
    kinematic: bool = False
    gravity_compensation: float = 0.0  # share of its weight that is lifted; kept, not simulated


@dataclass
class JointConfig:
    """Parameters of one degree of freedom that have a default for all joints (``builder.default_joint``).

    Units: N/m or N m/rad, N s/m or N m s/rad, N or N m, kg or kg m2. ``*_reference`` is (time constant in s, damping
    ratio), ``*_impedance`` (d0, dmax, width, midpoint, power); ``limit_ke`` > 0 replaces the reference form of limits.
    """

    armature: float = 0.0
    damping: float = 0.0
    stiffness: float = 0.0
    friction: float = 0.0
    friction_reference: tuple = DEFAULT_REFERENCE
    friction_impedance: tuple = DEFAULT_IMPEDANCE
    target_ke: float = 0.0
    target_kd: float = 0.0
    effort_limit: float = inf
    velocity_limit: float = inf
    limit_ke: float = 0.0
    limit_kd: float = 0.0
    limit_reference: tuple = DEFAULT_REFERENCE
    limit_impedance: tuple = DEFAULT_IMPEDANCE
    limit_margin: float = 0.0


@dataclass
class Dof(JointConfig):
    """One degree of freedom of a joint. ``label``: its name in a file that has one joint for each, else empty."""

    kind: DofKind = DofKind.ANGULAR
    axis: Vector = (0.0, 0.0, 1.0)
    spring_ref: float = 0.0
    target_pos: float = 0.0
    target_vel: float = 0.0
    limit_lower: float = -inf
    limit_upper: float = inf
    label: str = ""


@dataclass
class Joint:
    """A tree joint. ``q``, ``qd``: initial coordinates and rates, None where they were not given."""

    label: str
    auto_label: bool
    type: JointType
    parent: int
    child: int
    parent_xform: Pose = IDENTITY
    child_xform: Pose = IDENTITY
    dofs: list[Dof] = field(default_factory=list)
    q: tuple | None = None
    qd: tuple | None = None
    swing_limit: tuple = (inf, inf)
    twist_limit: tuple = (-inf, inf)
    angle_limit: float = inf
    collide_with_parent: bool = False

    @property
    def coord_count(self) -> int:
        """Number of coordinates: one for each dof, and one more for the quaternion of a ball."""
        return len(self.dofs) + any(dof.kind == DofKind.BALL_X for dof in self.dofs)

    def coords(self) -> tuple[float, ...]:
        """The initial coordinates; where none were given, those at which the joint frames coincide."""
        if self.q is not None:
            return self.q
        ball = self.coord_count > len(self.dofs)
        return (0.0,) * (self.coord_count - ball) + (1.0,) * ball


@dataclass
class Shape:
    """A shape on a body. ``density`` in kg/m3, or ``mass`` in kg; ``thickness`` in m makes it hollow.

    Two shapes may touch where a bit of ``contype`` of the one is set in ``conaffinity`` of the other. ``mix``: weight
    of its compliance in that of a pair, as MJCF's solmix; kept, not simulated.
    """

    label: str
    auto_label: bool
    type: ShapeType
    body: int
    xform: Pose = IDENTITY
    size: Vector = (0.0, 0.0, 0.0)
    mesh: Mesh | None = None
    heightfield: HeightField | None = None
    density: float = 0.0
    mass: float | None = None
    thickness: float | None = None
    material: Material = DEFAULT_MATERIAL
    collides: bool = True
    visible: bool = True
    margin: float = 0.0
    gap: float = 0.0
    group: int = -1
    contype: int = 1
    conaffinity: int = 1
    mix: float = 1.0
    color: tuple = (0.7, 0.7, 0.7, 1.0)


@dataclass
class Site:
    """A named frame on a body."""

    label: str
    auto_label: bool
    body: int
    xform: Pose = IDENTITY


@dataclass
class Equality:
    """An equality constraint or a loop joint, between bodies or joints.

    ``active`` at the start; ``reference`` and ``impedance``: its softness, as of limits; ``torque_scale`` (m): of a
    weld, by which its angular error counts against that of the position; kept, not simulated.
    """

    label: str
    auto_label: bool
    type: EqualityType
    object0: int
    object1: int
    xform0: Pose = IDENTITY
    xform1: Pose = IDENTITY
    data: tuple = (0.0,) * 8
    active: bool = True
    reference: tuple = DEFAULT_REFERENCE
    impedance: tuple = DEFAULT_IMPEDANCE
    torque_scale: float = 1.0


KINDS = {**schema.ELEMENTS, **KEPT}
"""Lists of elements, and the name of one of each."""


@dataclass
class Elements:
    """All elements of one world. ``filters``: pairs (lower shape, higher shape) that do not collide.

    ``custom``: (name, value) pairs of a file for its user.
    """

    bodies: list[Body] = field(default_factory=list)
    joints: list[Joint] = field(default_factory=list)
    shapes: list[Shape] = field(default_factory=list)
    sites: list[Site] = field(default_factory=list)
    equalities: list[Equality] = field(default_factory=list)
    tendons: list[Tendon] = field(default_factory=list)
    actuators: list[Actuator] = field(default_factory=list)
    sensors: list[Sensor] = field(default_factory=list)
    keyframes: list[Keyframe] = field(default_factory=list)
    contact_pairs: list[ContactPair] = field(default_factory=list)
    deformables: list[Deformable] = field(default_factory=list)
    tendon_equalities: list[TendonEquality] = field(default_factory=list)
    filters: set[tuple[int, int]] = field(default_factory=set)
    options: SceneOptions = field(default_factory=SceneOptions)
    custom: tuple[tuple[str, object], ...] = ()

    def copy(self) -> Elements:
        """A copy that shares nothing that can be changed."""
        result = Elements(*([copy.copy(element) for element in getattr(self, kind)] for kind in KINDS))
        for joint in result.joints:
            joint.dofs = [copy.copy(dof) for dof in joint.dofs]
        result.filters = set(self.filters)
        result.options, result.custom = copy.copy(self.options), self.custom
        return result

    def key(self) -> tuple:
        """The content as a value that can be hashed: equal keys, equal worlds."""
        kinds = tuple(tuple(_frozen(element) for element in getattr(self, kind)) for kind in KINDS)
        return (*kinds, frozenset(self.filters), _frozen(self.options), _hashable(self.custom))


def _frozen(element) -> tuple:
    return tuple(_hashable(value) for value in vars(element).values())


def _hashable(value):
    """Dofs as tuples of their fields; lists and arrays, which users may have put into fields, as tuples."""
    if isinstance(value, Dof):
        return _frozen(value)
    if isinstance(value, list | tuple | np.ndarray):
        return tuple(_hashable(x) for x in value)
    return value
