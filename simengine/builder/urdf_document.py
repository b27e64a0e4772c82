"""A URDF file as plain values, in the file's own units and frames, before anything is built.

Poses are 7 numbers (position, then quaternion x, y, z, w). Each value keeps the XML element it came from, so that a
later complaint can name its line.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from simengine.builder.frames import IDENTITY, Pose
from simengine.builder.xml_reader import Element

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
class Link:
    """A link; its shapes in the order of the file."""

    name: str
    element: Element
    inertial: Inertial | None = None
    visuals: list[LinkShape] = field(default_factory=list)
    collisions: list[LinkShape] = field(default_factory=list)


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


@dataclass
class Robot:
    """All links and joints by name, in the order of the file."""

    name: str
    element: Element
    links: dict[str, Link] = field(default_factory=dict)
    joints: dict[str, Joint] = field(default_factory=dict)
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
