"""A stage's physics as plain values in SI: bodies and what is not on one in the builder's world axes.

Each keeps its prim's path, which is its name in the report, and the label that it gets.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from simengine.builder.frames import IDENTITY, Pose, Vector
from simengine.builder.importers.usd.geometry import Geometry
from simengine.builder.inertia import NOTHING, MassProperties
from simengine.builder.material import Material

LINEAR, ANGULAR = "linear", "angular"


@dataclass
class Part:
    """A shape; ``body`` is the path of its body, "" for the world. ``enabled``: whether the file lets it collide."""

    path: str
    label: str
    body: str
    geometry: Geometry
    material: Material | None = None
    collides: bool = True
    visible: bool = True
    color: tuple | None = None
    margin: float = 0.0
    gap: float = 0.0
    mix: float = 1.0
    enabled: bool = True


@dataclass
class Body:
    """A rigid body; ``pose`` in the world, ``velocity`` of its centre of mass, then angular, or None."""

    path: str
    label: str
    pose: Pose
    kinematic: bool = False
    velocity: tuple | None = None
    mass: MassProperties = NOTHING
    weightless: float = 0.0  # share of its weight that is lifted


@dataclass
class Axis:
    """One degree of freedom: kind LINEAR or ANGULAR, along or about ``axis`` of the joint frame.

    ``label``: of the joint that it is in the file, where several add up to one. ``dof``: keywords of a joint in the
    builder. ``accelerates``: the drive's gains are accelerations for each unit of
    error. ``position``, ``rate``: where it starts, where the file says.
    """

    kind: str
    name: str
    axis: Vector
    label: str = ""
    lower: float = -math.inf
    upper: float = math.inf
    dof: dict = field(default_factory=dict)
    accelerates: bool = False
    position: float | None = None
    rate: float | None = None

    @property
    def limited(self) -> bool:
        """Whether it has a limit."""
        return self.lower > -math.inf or self.upper < math.inf

    @property
    def driven(self) -> bool:
        """Whether a drive acts on it."""
        return bool(self.dof.get("target_ke") or self.dof.get("target_kd"))


@dataclass
class Joint:
    """A joint; ``body0``, ``body1`` are paths, "" for the world; ``frame0``, ``frame1`` its frames on them.

    kind: "fixed", "axes" (one degree of freedom for each of ``axes``), "ball" or "distance".
    cone: largest swings about the second and third axis of the frame, whose first is the twist. distance: (least,
    most). equality: "connect" or "weld" where the file means a constraint and no joint of the tree.
    statics: the prims that it is attached to where these are on no body; where they are shapes, the body does not meet
    them.
    """

    path: str
    label: str
    kind: str
    body0: str
    body1: str
    frame0: Pose = IDENTITY
    frame1: Pose = IDENTITY
    axes: list[Axis] = field(default_factory=list)
    cone: tuple[float, float] = (math.inf, math.inf)
    distance: tuple[float, float] = (0.0, math.inf)
    excluded: bool = False
    collides: bool = False
    equality: str = ""
    statics: tuple[str, ...] = ()
    softness: dict = field(default_factory=dict)  # of a constraint: fields of the builder's equality


@dataclass
class Articulation:
    """Bodies that joints hold together under one ArticulationRootAPI."""

    path: str
    bodies: list[str]
    self_collision: bool = True
    stacked: bool = False


@dataclass
class Scene:
    """All of it, in the order of the stage.

    ``stacked``: (path of the joint, label of its axis) by the path of each joint that is a part of one.
    ``filters``: paths of prims whose shapes do not touch. ``groups``: sets of paths of shapes that do not.
    """

    bodies: dict[str, Body] = field(default_factory=dict)
    parts: list[Part] = field(default_factory=list)
    joints: dict[str, Joint] = field(default_factory=dict)
    articulations: list[Articulation] = field(default_factory=list)
    stacked: dict[str, tuple[str, str]] = field(default_factory=dict)
    filters: list[tuple[str, str]] = field(default_factory=list)
    groups: list[tuple[set, set]] = field(default_factory=list)
