"""Random articulated trees, built twice: with our builder and as MJCF for MuJoCo, and the map between their states.

MuJoCo measures the angular velocity of free and ball joints in the child's axes and the linear one of a free joint at
the body's origin; ``MujocoTwin`` maps our rates to its own, qd' = T qd, and efforts back with T^T.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

import simengine as sim

GRAVITY = (0.4, -1.3, -9.6)
KINDS = ("revolute", "prismatic", "ball", "fixed", "universal", "d6", "d6_ball")
ANGLE = 1.0
"""Turns are drawn within this (rad): angles of three successive axes up to 27 degrees off a right angle are unique."""


@dataclass
class Link:
    """A body and the joint that moves it.

    ``dofs``: ("linear" or "angular", axis) of the degrees of freedom but those of a quaternion, which stands last
    (kinds "ball", "d6_ball" and "free"). ``armature``: one value for each degree of freedom.
    """

    kind: str
    parent: int
    parent_xform: np.ndarray
    child_xform: np.ndarray
    mass: float
    com: np.ndarray
    inertia: np.ndarray
    dofs: list = field(default_factory=list)
    armature: np.ndarray = field(default_factory=lambda: np.zeros(0))

    @property
    def has_ball(self) -> bool:
        return self.kind in ("ball", "d6_ball", "free")

    @property
    def coord_count(self) -> int:
        return len(self.dofs) + 4 * self.has_ball

    @property
    def dof_count(self) -> int:
        return len(self.dofs) + 3 * self.has_ball


@dataclass
class Tree:
    """Links in the order of their bodies. ``joint_order``: the order in which joints are added, the user's order."""

    links: list[Link]
    joint_order: list[int]

    def starts(self, what: str) -> list[int]:
        """First coordinate or dof of each link in the user's order; ``what`` is "coord_count" or "dof_count"."""
        result, total = [0] * len(self.links), 0
        for i in self.joint_order:
            result[i] = total
            total += getattr(self.links[i], what)
        return result

    def total(self, what: str) -> int:
        return sum(getattr(link, what) for link in self.links)


def to_matrix(q) -> np.ndarray:
    """Rotation matrix of a quaternion x, y, z, w."""
    x, y, z, w = q
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def product(a, b) -> np.ndarray:
    """Quaternion product, x, y, z, w."""
    return np.concatenate([a[3] * b[:3] + b[3] * a[:3] + np.cross(a[:3], b[:3]), [a[3] * b[3] - a[:3] @ b[:3]]])


def conjugate(q) -> np.ndarray:
    return np.array([-q[0], -q[1], -q[2], q[3]])


def compose(a, b) -> np.ndarray:
    """Transform b, then a: seven numbers."""
    return np.concatenate([a[:3] + to_matrix(a[3:]) @ b[:3], product(a[3:], b[3:])])


def inverse(a) -> np.ndarray:
    q = conjugate(a[3:])
    return np.concatenate([to_matrix(q) @ -a[:3], q])


def random_quaternion(rng) -> np.ndarray:
    q = rng.normal(size=4)
    return q / np.linalg.norm(q)


def random_xform(rng, size: float = 0.3) -> np.ndarray:
    return np.concatenate([size * rng.normal(size=3), random_quaternion(rng)])


def random_unit(rng) -> np.ndarray:
    v = rng.normal(size=3)
    return v / np.linalg.norm(v)


def random_axes(rng, count: int) -> list[np.ndarray]:
    """Unit axes, each at right angles to the one before and the last within 30 degrees of all others' normal."""
    turn = to_matrix(random_quaternion(rng))
    axes = [turn[:, 0], turn[:, 1], turn[:, 2] + 0.5 * rng.uniform(-1, 1) * turn[:, 0]]
    return [axis / np.linalg.norm(axis) for axis in axes[:count]]


def random_inertia(rng, mass: float) -> np.ndarray:
    """Of a few point masses: it obeys the triangle inequality, with axes of its own."""
    points = 0.2 * rng.normal(size=(6, 3))
    return mass / 6 * sum(p @ p * np.eye(3) - np.outer(p, p) for p in points)


def random_dofs(rng, kind: str) -> list:
    if kind == "free":
        return [("linear", axis) for axis in np.eye(3)]
    slides = {"prismatic": 1, "d6": rng.integers(0, 4), "d6_ball": rng.integers(1, 4)}.get(kind, 0)
    turns = {"revolute": 1, "universal": 2, "d6": rng.integers(1, 4)}.get(kind, 0)
    kinds = ("linear",) * slides + ("angular",) * turns
    return list(zip(kinds, random_axes(rng, slides) + random_axes(rng, turns), strict=True))


def random_link(rng, kind: str, parent: int) -> Link:
    mass = rng.uniform(0.2, 3.0)
    com, inertia = 0.1 * rng.normal(size=3), random_inertia(rng, mass)
    link = Link(kind, parent, random_xform(rng), random_xform(rng), mass, com, inertia)
    link.dofs = random_dofs(rng, kind)
    link.armature = rng.uniform(0, 0.2, size=link.dof_count) * (kind != "free")
    if link.has_ball:
        link.armature[-3:] = link.armature[-1]
    return link


def random_tree(seed: int, bodies: int = 9, kinds=KINDS, roots: int = 2, free_root: bool = True) -> Tree:
    """A forest of ``roots`` trees; the first root floats where ``free_root``. Joints are added in a shuffled order."""
    rng = np.random.default_rng(seed)
    links = []
    for i in range(bodies):
        parent = -1 if i < roots else int(rng.integers(max(0, i - 4), i))
        kind = "free" if free_root and i == 0 else kinds[rng.integers(len(kinds))]
        links.append(random_link(rng, kind, parent))
    return Tree(links, [int(i) for i in rng.permutation(bodies)])


def random_state(tree: Tree, rng, speed: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates and rates in the user's order."""
    q, starts = np.zeros(tree.total("coord_count")), tree.starts("coord_count")
    for link, start in zip(tree.links, starts, strict=True):
        end = start + link.coord_count
        q[start:end] = rng.uniform(-ANGLE, ANGLE, size=link.coord_count)
        if link.has_ball:
            q[end - 4 : end] = random_quaternion(rng)
    return q, speed * rng.normal(size=tree.total("dof_count"))


def add_to_builder(builder, tree: Tree) -> None:
    """Add the tree's bodies and joints to a builder."""
    bodies = [
        builder.add_body(mass=link.mass, com=link.com, inertia=link.inertia, label=f"body{i}")
        for i, link in enumerate(tree.links)
    ]
    for i in tree.joint_order:
        link = tree.links[i]
        common = dict(
            parent=-1 if link.parent < 0 else bodies[link.parent],
            child=bodies[i],
            label=f"joint{i}",
            parent_xform=link.parent_xform,
            child_xform=link.child_xform,
        )
        axes = [axis for _, axis in link.dofs]
        linear = [axis for kind, axis in link.dofs if kind == "linear"]
        if link.kind == "fixed":
            builder.add_joint_fixed(**common)
        elif link.kind == "free":
            builder.add_joint_free(**common)
        elif link.kind == "ball":
            builder.add_joint_ball(**common, armature=link.armature)
        elif link.kind == "universal":
            builder.add_joint_universal(**common, axis0=axes[0], axis1=axes[1], armature=link.armature)
        elif link.kind == "d6":
            angular = [axis for kind, axis in link.dofs if kind == "angular"]
            builder.add_joint_d6(**common, linear_axes=linear, angular_axes=angular, armature=link.armature)
        elif link.kind == "d6_ball":
            builder.add_joint_d6(**common, linear_axes=linear, ball=True, armature=link.armature)
        else:
            add = builder.add_joint_revolute if link.kind == "revolute" else builder.add_joint_prismatic
            add(**common, axis=axes[0], armature=link.armature[0])


def builder_of(tree: Tree):
    """A builder with the tree as its one world."""
    builder = sim.ModelBuilder(gravity=GRAVITY)
    add_to_builder(builder, tree)
    return builder


def model_of(tree: Tree, device="cpu", precision: str = "float64", worlds: int = 1):
    """The tree's model, in ``worlds`` like worlds."""
    if worlds == 1:
        return builder_of(tree).finalize(device=device, precision=precision)
    builder = sim.ModelBuilder(gravity=GRAVITY)
    builder.replicate(builder_of(tree), worlds)
    return builder.finalize(device=device, precision=precision)


def state_of(model, q, qd):
    """A state of the model with coordinates and rates of all worlds."""
    state = model.state()
    state.joint_q = state.device.asarray(np.asarray(q, model.precision))
    state.joint_qd = state.device.asarray(np.asarray(qd, model.precision))
    return state


def difference(found, expected) -> float:
    """Largest difference over the largest magnitude of what is expected."""
    found, expected = np.asarray(sim.to_numpy(found), np.float64), np.asarray(expected, np.float64)
    assert found.shape == expected.shape
    return float(np.abs(found - expected).max() / max(np.abs(expected).max(), 1e-300))


TOLERANCE = {"float64": 1e-9, "float32": 1e-4}
"""Largest relative difference from a float64 reference."""
