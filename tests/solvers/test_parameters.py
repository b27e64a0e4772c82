"""Numbers of a model that are none, as ``check`` tells them."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import simengine as sim

CASES = [
    ("shape_friction", -1, "of shape 'ground' which all worlds share"),
    ("shape_margin", 1, "of shape 'ball' in world 1"),
    ("joint_damping", 3, "of joint 'second' in world 1"),
    ("joint_q", 0, "of joint 'first' in world 0"),
    ("body_mass", 2, "of body 'upper' in world 1"),
    ("gravity", (1, 2), "of world 1"),
]


def model_of_two_worlds(device="cpu"):
    template = sim.ModelBuilder()
    upper, lower = (template.add_body(mass=1, inertia=(1, 1, 1), label=label) for label in ("upper", "lower"))
    template.add_joint_revolute(-1, upper, label="first")
    template.add_joint_revolute(upper, lower, label="second")
    template.add_shape_sphere(lower, 0.1, label="ball")
    builder = sim.ModelBuilder()
    builder.replicate(template, 2)
    builder.add_ground_plane(label="ground")
    return builder.finalize(device=device)


@pytest.mark.parametrize(("name", "index", "place"), CASES)
def test_a_nan_is_told_with_its_thing_and_world(name, index, place, device):
    model = model_of_two_worlds(device)
    solver, state = sim.solvers.Featherstone(model), model.state()
    assert solver.check(state).ok
    getattr(model, name)[index] = np.nan
    with pytest.raises(sim.ModelError, match=rf"model\.{name}\[.*\] is NaN, {place}"):
        solver.check(state)
    with pytest.warns(UserWarning, match=place):
        assert solver.check(state, "warn").ok
    getattr(model, name)[index] = 1.0
    assert solver.check(state).ok


def test_infinities_that_mean_something_are_none(device):
    model = model_of_two_worlds(device)
    solver = sim.solvers.Featherstone(model)
    assert np.isinf(sim.to_numpy(model.shape_radius)).any() and np.isinf(sim.to_numpy(model.joint_effort_limit)).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert solver.check(model.state(), "warn").ok
