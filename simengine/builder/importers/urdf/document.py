"""A URDF file as plain values, in the file's own units and frames, before anything is built.

Poses are 7 numbers (position, then quaternion x, y, z, w). Each value keeps the XML element it came from, so that a
later complaint can name its line.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from simengine.builder.frames import IDENTITY, Pose
from simengine.builder.importers.xml_reader import Element

AXIS_COUNT = {"revolute": 1, "continuous": 1, "prismatic": 1, "fixed": 0, "planar": 3, "floating": 6}
"""Degrees of freedom of each type of joint."""

HINGES = ("revolute", "continuous")


@dataclass
class Inertial:
    """mass (kg); frame: the centre of mass and the axes of ``inertia`` (3, 3) on the link; None: not written."""

    mass: float
    frame: Pose
    inertia: np.ndarray | None
    element: Element


@dataclass
class Geometry:
    """kind: box (size), sphere (radius), cylinder and capsule (radius, length), mesh (scale and ``filename``)."""

    kind: str
    size: tuple[float, ...]
    element: Element
    filename: str = ""


@dataclass
class LinkShape:
    """A visual or collision element of a link; ``color`` is red, green, blue, opacity, or None."""

    name: str
    frame: Pose
    geometry: Geometry
    element: Element
    color: tuple[float, ...] | None = None


@dataclass
class Soft:
    """A soft body: a file of tetrahedra, their frame on the link, and the material's numbers by the file's names."""

    filename: str
    frame: Pose
    values: dict[str, float]
    element: Element


@dataclass
class Link:
    """A link; its shapes in the order of the file.

    ``surface``: fields of its Material that the file sets. ``self_collision``: its shapes meet others of the robot.
    """

    name: str
    element: Element
    inertial: Inertial | None = None
    visuals: list[LinkShape] = field(default_factory=list)
    collisions: list[LinkShape] = field(default_factory=list)
    surface: dict[str, float] = field(default_factory=dict)
    self_collision: bool = True
    weightless: bool = False
    soft: Soft | None = None


@dataclass
class Mimic:
    """This joint's coordinate = multiplier * that of ``joint`` + offset."""

    joint: str
    multiplier: float
    offset: float
    element: Element


@dataclass
class Joint:
    """A joint: ``frame`` is the child link's frame in the parent link's at zero, ``axis`` a unit vector in it.

    None: the file does not say.
    """

    name: str
    kind: str
    parent: str
    child: str
    element: Element
    frame: Pose = IDENTITY
    axis: tuple[float, float, float] = (1.0, 0.0, 0.0)
    lower: float = -math.inf
    upper: float = math.inf
    effort: float | None = None
    velocity: float | None = None
    damping: float | None = None
    friction: float | None = None
    mimic: Mimic | None = None
    spring: dict[str, float] = field(default_factory=dict)  # stiffness, spring_ref
    safety: dict[str, float] = field(default_factory=dict)  # of <safety_controller>, where it is kept


@dataclass
class End:
    """A joint or an actuator of a transmission, with its reduction and its hardware interfaces."""

    name: str
    reduction: float
    interfaces: tuple[str, ...]
    role: str
    element: Element


@dataclass
class Transmission:
    """How motors act on joints; ``kind``: a key of ``transmissions.KINDS``."""

    name: str
    kind: str
    joints: list[End]
    actuators: list[End]
    element: Element


@dataclass
class Loop:
    """A joint that closes a loop; ``frame``: of the joint on the child, ``axis`` in it."""

    name: str
    kind: str
    parent: str
    child: str
    frame: Pose
    axis: tuple[float, float, float]
    element: Element


@dataclass
class MujocoSettings:
    """What ``<mujoco>`` asks of the reader; ``mesh_folder`` None: no such block."""

    mesh_folder: str | None = None
    strip_path: bool = True
    balance_inertia: bool = False
    least_mass: float = 0.0
    least_inertia: float = 0.0
    total_mass: float | None = None
    fused: bool = True  # what is fixed to the world does not count in total_mass
    ignore_inertial: bool = False
    gravity: tuple[float, ...] | None = None
    options: dict[str, object] = field(default_factory=dict)  # of SceneOptions
    element: Element | None = None


@dataclass
class Robot:
    """All links and joints by name, in the order of the file."""

    name: str
    element: Element
    links: dict[str, Link] = field(default_factory=dict)
    joints: dict[str, Joint] = field(default_factory=dict)
    transmissions: list[Transmission] = field(default_factory=list)
    loops: list[Loop] = field(default_factory=list)
    mujoco: MujocoSettings = field(default_factory=MujocoSettings)
    root: str = ""

    def parent_joint(self) -> dict[str, Joint]:
        """The joint above each link, by the link's name; the root has none."""
        return {joint.child: joint for joint in self.joints.values()}

    def rigid_groups(self) -> dict[str, str]:
        """For each link the uppermost link that it hangs on by fixed joints alone (itself, where its joint moves)."""
        above = self.parent_joint()
        group: dict[str, str] = {}
        for name in self.links:
            path = []
            while name not in group and name in above and above[name].kind == "fixed":
                path.append(name)
                name = above[name].parent
            top = group.setdefault(name, name)
            group.update(dict.fromkeys(path, top))
        return group
