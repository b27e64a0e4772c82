"""Builders of every kind of joint, at random poses, for the exporters' tests."""

from __future__ import annotations

import numpy as np

import simengine as sim


class Random:
    """Random parts from a seed."""

    def __init__(self, seed: int):
        self.rng = np.random.default_rng(seed)

    def pose(self) -> tuple:
        q = self.rng.normal(size=4)
        return (*(0.3 * self.rng.normal(size=3)), *(q / np.linalg.norm(q)))

    def axis(self) -> tuple:
        v = self.rng.normal(size=3)
        return tuple(v / np.linalg.norm(v))

    def inertia(self) -> np.ndarray:
        """One that a body can have: trace(C) 1 - C, C a second moment."""
        a = self.rng.normal(size=(3, 3))
        second = 0.01 * (a @ a.T + np.eye(3))
        return np.trace(second) * np.eye(3) - second

    def body(self, builder, **options) -> int:
        mass = self.rng.uniform(1.0, 2.0)
        return builder.add_body(mass=mass, com=0.1 * self.rng.normal(size=3), inertia=self.inertia(), **options)

    def frames(self) -> dict:
        return {"parent_xform": self.pose(), "child_xform": self.pose()}


def every_joint(seed: int, balls: bool = True) -> sim.ModelBuilder:
    """One robot with all kinds of joints, at random coordinates and rates; ``balls``: with quaternions among them."""
    r, builder = Random(seed), sim.ModelBuilder(gravity=(1.0, -2.0, -8.0))
    root = r.body(builder, label="root")
    builder.add_joint_free(-1, root, q=r.pose(), qd=r.rng.normal(size=6), label="base", **r.frames())
    hinge = r.body(builder, label="hinge")
    builder.add_joint_revolute(
        root, hinge, axis=r.axis(), q=0.7, qd=0.3, limit_lower=-1.0, damping=0.1, armature=0.01, stiffness=3.0,
        spring_ref=0.2, friction=0.1, label="hinge", **r.frames(),
    )  # fmt: skip
    slider = r.body(builder, label="slider")
    builder.add_joint_prismatic(hinge, slider, axis=r.axis(), q=-0.2, limit_lower=-0.5, limit_upper=0.1, **r.frames())
    two = r.body(builder, label="two")
    builder.add_joint_universal(slider, two, r.axis(), r.axis(), q=(0.3, -0.8), qd=(1.0, 2.0), **r.frames())
    five = r.body(builder, label="five")
    builder.add_joint_d6(
        two, five, linear_axes=[r.axis(), r.axis()], angular_axes=[r.axis(), r.axis(), r.axis()],
        q=r.rng.normal(size=5), qd=r.rng.normal(size=5), **r.frames(),
    )  # fmt: skip
    last = r.body(builder, label="fixed")
    builder.add_joint_fixed(five, last, **r.frames())
    if balls:
        ball = r.body(builder, label="ball")
        builder.add_joint_ball(last, ball, q=r.pose()[3:], qd=(1.0, 2.0, 3.0), damping=0.2, **r.frames())
        both = r.body(builder, label="both")
        builder.add_joint_d6(ball, both, linear_axes=[r.axis()], ball=True, q=(0.1, *r.pose()[3:]), **r.frames())
        loose = r.body(builder, label="loose")
        builder.add_joint_free(both, loose, q=r.pose(), **r.frames())
    first = builder.add_body(mass=0.0, inertia=(0.0, 0.0, 0.0), label="carried/first")
    builder.add_joint_revolute(root, first, axis=r.axis(), q=0.3, label="first", **r.frames())
    second = builder.add_body(mass=0.0, inertia=(0.0, 0.0, 0.0), label="carried/second")
    builder.add_joint_prismatic(first, second, axis=r.axis(), q=0.2, label="second", **r.frames())
    carried = r.body(builder, label="carried")
    builder.add_joint_revolute(second, carried, axis=r.axis(), q=0.5, label="third", **r.frames())
    r.body(builder, xform=r.pose(), label="floating")
    return builder
