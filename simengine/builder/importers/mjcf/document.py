"""An MJCF file as plain values in SI units, radians and this engine's quaternions (x, y, z, w), before it is built.

Defaults, includes, frames, replicas and attached models are resolved; references between elements are still names.
Every element keeps the XML element it came from, so that a later complaint can name its line.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from simengine.builder.frames import IDENTITY, Pose, Vector
from simengine.builder.importers.xml_reader import Element
from simengine.builder.material import DEFAULT_IMPEDANCE, DEFAULT_REFERENCE

WORLD_NAME = "world"


@dataclass(frozen=True)
class Reference:
    """The name of another element and its kind: a key of ``names.KINDS``."""

    kind: str
    name: str


@dataclass
class Node:
    """What has a place in the file and may have a name."""

    element: Element
    name: str | None


@dataclass
class Compiler:
    """How a file is to be understood: its <compiler>. ``folder``: of the file, relative to that of the main file."""

    degrees: bool = True
    euler_sequence: str = "xyz"
    auto_limits: bool = True
    mesh_folder: str = ""
    folder: str = ""
    strip_path: bool = False
    exact_inertia: bool = False
    inertia_from_geom: str = "auto"
    inertia_groups: tuple[int, int] = (0, 5)
    bound_mass: float = 0.0
    bound_inertia: float = 0.0
    balance_inertia: bool = False
    total_mass: float = -1.0
    fit_box: bool = False
    fuse_static: bool = False
    discard_visual: bool = False
    align_free: bool = False

    def angle(self, value: float) -> float:
        """An angle of the file in radians."""
        return math.radians(value) if self.degrees else value


@dataclass
class Compliance:
    """Soft constraint: ``reference`` (time constant, damping ratio), or (-stiffness, -damping); ``impedance``."""

    reference: tuple[float, float] = DEFAULT_REFERENCE
    impedance: tuple[float, ...] = DEFAULT_IMPEDANCE


@dataclass
class Contact:
    """Contact parameters of a geom; ``friction``: sliding, torsional, rolling."""

    contype: int
    conaffinity: int
    dimension: int
    friction: tuple[float, float, float]
    compliance: Compliance
    priority: int
    mix: float
    margin: float
    gap: float


@dataclass
class Geom(Node):
    """A geom. ``frame``: as written, fitting not yet applied; ``size``: half sizes as MuJoCo's; None: not written."""

    kind: str
    frame: Pose
    size: tuple[float, ...]
    compiler: Compiler
    contact: Contact
    mesh: Reference | None = None
    hfield: Reference | None = None
    material: Reference | None = None
    color: tuple[float, ...] | None = None
    mass: float | None = None
    density: float = 1000.0
    shell: bool = False
    fit_scale: float = 1.0
    group: int = 0

    @property
    def collides(self) -> bool:
        """Whether any bit lets it touch others."""
        return bool(self.contact.contype or self.contact.conaffinity)


@dataclass
class Joint(Node):
    """A joint of a body; kinds free, ball, slide, hinge. ``limits``: None where it has none.

    ``position``, ``axis``: in the body's frame. ``spring_damper``: (time constant, damping ratio), zeros: not given.
    """

    kind: str
    position: Vector = (0.0, 0.0, 0.0)
    axis: Vector = (0.0, 0.0, 1.0)
    reference: float = 0.0
    stiffness: float = 0.0
    spring_reference: float = 0.0
    spring_damper: tuple[float, float] = (0.0, 0.0)
    damping: float = 0.0
    armature: float = 0.0
    friction: float = 0.0
    limits: tuple[float, float] | None = None
    margin: float = 0.0
    limit_compliance: Compliance = field(default_factory=Compliance)
    friction_compliance: Compliance = field(default_factory=Compliance)
    effort: tuple[float, float] | None = None
    align: bool | None = None


@dataclass
class Site(Node):
    """A named frame."""

    frame: Pose


@dataclass
class Inertial:
    """An explicit <inertial>: ``frame`` of the centre of mass; ``inertia`` (3, 3) in the axes of that frame."""

    element: Element
    mass: float
    frame: Pose
    inertia: np.ndarray


@dataclass
class Body(Node):
    """A body with all that is on it; the world is one too. ``frame``: in its parent."""

    compiler: Compiler
    frame: Pose = IDENTITY
    inertial: Inertial | None = None
    mocap: bool = False
    gravity_compensation: float = 0.0
    may_fuse: bool = True
    joints: list[Joint] = field(default_factory=list)
    geoms: list[Geom] = field(default_factory=list)
    sites: list[Site] = field(default_factory=list)
    bodies: list[Body] = field(default_factory=list)

    def tree(self):
        """This body and all below it, parents first, in MuJoCo's order."""
        stack = [self]
        while stack:
            body = stack.pop()
            yield body
            stack.extend(reversed(body.bodies))


@dataclass
class Frame(Node):
    """A named <frame>: what it holds of ``body``, with poses in that body, and its outer frames' pose there."""

    body: Body
    outer: Pose
    content: Body


@dataclass
class MeshAsset(Node):
    """A mesh: a file, or vertices (and triangles) written out, or neither: MuJoCo or a plugin makes it.

    ``reference``: the pose that is taken off it first.
    """

    compiler: Compiler
    file: str
    vertices: np.ndarray | None
    triangles: np.ndarray | None
    scale: tuple[float, float, float]
    reference: Pose
    inertia: str


@dataclass
class HeightAsset(Node):
    """A height field: ``size`` (x and y half sizes, height, base); heights from 0 to 1, rows along y; or a file."""

    compiler: Compiler
    size: tuple[float, float, float, float]
    heights: np.ndarray | None
    file: str


@dataclass
class Material(Node):
    """A material; only its colour is kept."""

    color: tuple[float, ...]


@dataclass
class Pair(Node):
    """An explicit contact pair. ``friction``: five numbers; ``friction_reference`` (0, 0): as ``reference``."""

    geoms: tuple[Reference, Reference]
    dimension: int
    friction: tuple[float, ...]
    reference: tuple
    friction_reference: tuple
    impedance: tuple
    margin: float
    gap: float


@dataclass
class Exclude(Node):
    """Two bodies whose geoms do not touch."""

    bodies: tuple[Reference, Reference]


@dataclass
class Equality(Node):
    """Kinds connect, weld (``anchor``, ``pose``), joint and tendon (``coefficients``)."""

    kind: str
    first: Reference
    second: Reference | None
    active: bool
    compliance: Compliance
    anchor: Vector = (0.0, 0.0, 0.0)
    pose: Pose | None = None
    torque_scale: float = 1.0
    coefficients: tuple[float, ...] = ()


@dataclass
class PathStep:
    """A step of a tendon: a joint with its coefficient, a site, a geom (``side``: a site), or a pulley's divisor."""

    element: Element
    kind: str
    target: Reference | None = None
    side: Reference | None = None
    number: float = 1.0


@dataclass
class Tendon(Node):
    """A fixed or spatial tendon. ``spring_length`` None: the length at the initial pose."""

    kind: str
    path: list[PathStep]
    stiffness: float
    damping: float
    friction: float
    armature: float
    spring_length: tuple[float, float] | None
    limits: tuple[float, float] | None
    margin: float
    limit_compliance: Compliance
    friction_compliance: Compliance
    force: tuple[float, float] | None
    width: float
    color: tuple[float, ...] | None
    material: Reference | None


@dataclass
class Actuator(Node):
    """An actuator as MuJoCo expands it: gain, bias and dynamics with their parameters. Ranges None: none."""

    kind: str
    transmission: str
    target: Reference
    reference: Reference | None
    gear: tuple[float, ...]
    gain: tuple[str, tuple[float, ...]]
    bias: tuple[str, tuple[float, ...]]
    dynamics: tuple[str, tuple[float, ...]]
    activations: int
    control: tuple[float, float] | None
    force: tuple[float, float] | None
    activation: tuple[float, float] | None
    inherit_range: float
    length_range: tuple[float, float]
    crank_length: float
    early: bool
    group: int
    inputs: tuple[str, ...]
    damping: float
    armature: float


@dataclass
class Sensor(Node):
    """A sensor: what it measures, where, and in what frame; None: nothing, the world's."""

    kind: str
    target: tuple[str, Reference] | None
    reference: tuple[str, Reference] | None
    parameters: tuple[tuple[str, object], ...]


@dataclass
class Keyframe(Node):
    """A state: (joint, coordinates, rates), (actuator, inputs, activations), (mocap body, position, quaternion), in
    MuJoCo's forms; None: as in the model. What it does not name is as in the model too."""

    time: float
    joints: list[tuple[Joint, tuple | None, tuple | None]]
    actuators: list[tuple[Actuator, tuple | None, tuple | None]]
    bodies: list[tuple[Body, tuple | None, tuple | None]]


@dataclass
class Tuple(Node):
    """A custom tuple: (kind of object, object, number); of a kind that is passed over its name alone."""

    members: tuple[tuple[str, Reference | str, float], ...]


@dataclass
class Document:
    """All of a file."""

    name: str
    element: Element
    compiler: Compiler
    world: Body
    options: dict = field(default_factory=dict)
    gravity: Vector = (0.0, 0.0, -9.81)
    gravity_element: Element | None = None
    disabled: dict[str, Element] = field(default_factory=dict)  # flags, and where they stand
    enabled: dict[str, Element] = field(default_factory=dict)
    other: list[tuple[str, str]] = field(default_factory=list)
    meshes: list[MeshAsset] = field(default_factory=list)
    hfields: list[HeightAsset] = field(default_factory=list)
    materials: list[Material] = field(default_factory=list)
    models: dict[str, Document] = field(default_factory=dict)
    frames: list[Frame] = field(default_factory=list)
    pairs: list[Pair] = field(default_factory=list)
    excludes: list[Exclude] = field(default_factory=list)
    tendons: list[Tendon] = field(default_factory=list)
    equalities: list[Equality] = field(default_factory=list)
    actuators: list[Actuator] = field(default_factory=list)
    sensors: list[Sensor] = field(default_factory=list)
    tuples: list[Tuple] = field(default_factory=list)
    keyframes: list[Keyframe] = field(default_factory=list)
    custom: list[tuple[str, object]] = field(default_factory=list)

    def paired(self) -> set[str]:
        """The names of geoms of explicit pairs, which touch whatever their masks say."""
        return {reference.name for pair in self.pairs for reference in pair.geoms}
