"""Bodies at rest keep one manifold: no contact comes and goes or moves to another feature."""

from __future__ import annotations

import numpy as np
import pytest

import simengine as sim

LYING = sim.quat_from_axis_angle((0, 1, 0), np.pi / 2)


def stack(builder):
    for i in range(5):
        builder.add_shape_box(
            builder.add_body(xform=sim.transform(p=(0.001 * i, 0, 0.1 + 0.2 * i))), hx=0.1, hy=0.1, hz=0.1
        )


def bricks(builder):
    for i in range(5):
        place = sim.transform(p=(0.04 * (i % 2), 0, 0.05 + 0.1 * i))
        builder.add_shape_box(builder.add_body(xform=place), hx=0.2, hy=0.1, hz=0.05)


def log_over_an_edge(builder):
    builder.add_shape_box(builder.add_body(xform=sim.transform(p=(0, 0, 0.1))), hx=0.3, hy=0.3, hz=0.1)
    log = builder.add_body(xform=sim.transform(p=(0.1, 0, 0.25), q=LYING))
    builder.add_shape_capsule(log, radius=0.05, half_height=0.3)


def cylinder(builder):
    tilted = sim.transform(p=(0.1, 0, 0.11), q=sim.quat_from_axis_angle((1, 0, 0), 0.02))
    builder.add_shape_cylinder(builder.add_body(xform=tilted), radius=0.05, half_height=0.1)


def raft(builder):
    for y in (-0.25, 0.25):
        builder.add_shape_box(-1, hx=1, hy=0.05, hz=0.2, xform=sim.transform(p=(0, y, 0.2)))
    for p in ((0, -0.1, 0.1), (0, 0.1, 0.1), (0.03, 0, 0.28)):
        log = builder.add_body(xform=sim.transform(p=p, q=LYING))
        builder.add_shape_capsule(log, radius=0.1, half_height=0.4)


@pytest.mark.parametrize("scene", [stack, bricks, log_over_an_edge, cylinder, raft], ids=lambda f: f.__name__)
def test_bodies_at_rest_keep_their_contacts(scene, precision):
    builder = sim.ModelBuilder()
    scene(builder)
    builder.add_ground_plane()
    model = builder.finalize(device="cpu", precision=precision)
    solver = sim.solvers.Featherstone(model)
    state, next_state = model.state(), model.state()
    control, contacts = model.control(), model.contacts()
    manifolds = set()
    for step in range(2000):
        solver.step(state, next_state, control, None, 1 / 400)
        state, next_state = next_state, state
        if step >= 1600:
            sim.collide(model, state, contacts)
            n = int(contacts.count[0])
            manifolds.add(tuple(np.column_stack([contacts.shape0, contacts.shape1, contacts.feature])[:n].ravel()))
    assert len(manifolds) == 1 and n >= 4
    assert np.abs(state.body_qd).max() < 1e-3
