"""Bodies that rest on each other."""

import numpy as np
import pytest

import simengine as sim
from tests.physics.physics_run import Run, rotations

MATERIALS = {"default": {}, "stiff": {"stiffness": 1e7, "dissipation": 1.0}}


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("material", MATERIALS)
def test_aligned_stack(material, precision):
    """Five cubes of 1 m, dt 1/240, stand for 3 s: heights within 2 cm, aside by 1 cm at most, tilt below 1e-3."""
    builder = sim.ModelBuilder()
    builder.default_material = sim.Material(**MATERIALS[material])
    for level in range(5):
        builder.add_shape_box(builder.add_body(xform=sim.transform((0, 0, 0.5 + level))), 0.5, 0.5, 0.5)
    builder.add_ground_plane()
    run = Run(builder, 1 / 240, precision)
    run.step(720)
    np.testing.assert_allclose(run.poses[:, 2], 0.5 + np.arange(5), atol=0.02)
    assert np.abs(run.poses[:, :2]).max() < 0.01
    assert np.arccos(np.clip(rotations(run.poses)[:, 2, 2], -1, 1)).max() < 1e-3
    assert np.abs(run.velocities).max() < 1e-2


def test_stack_sinks_by_its_springs():
    """Springs k in series between the cubes: each contact below a level lets it sink by its load over 4 k/2."""
    stiffness, weight = 1e7, 1000 * 9.81
    builder = sim.ModelBuilder()
    builder.default_material = sim.Material(stiffness=stiffness, dissipation=1.0)
    for level in range(5):
        builder.add_shape_box(builder.add_body(xform=sim.transform((0, 0, 0.5 + level))), 0.5, 0.5, 0.5)
    builder.add_ground_plane()
    run = Run(builder, 1 / 240)
    run.step(2000)
    sunk = np.cumsum([load * weight / (4 * stiffness / 2) for load in (5, 4, 3, 2, 1)])
    np.testing.assert_allclose(0.5 + np.arange(5) - run.poses[:, 2], sunk, rtol=1e-3)
