"""``model.update`` of large worlds works tree by tree, and finds what that of the whole world does."""

import numpy as np
import pytest

import simengine as sim
from simengine import dynamics
from simengine.containers import to_numpy
from simengine.runtime.modes import emulated_lanes
from tests.dynamics.trees import add_to_builder, random_tree

DERIVED = ("body_inverse_weight", "dof_inverse_weight", "body_q", "body_qd")


def forest(precision, device="cpu"):
    """Three worlds of five random trees of all joints."""
    template = sim.ModelBuilder()
    add_to_builder(template, random_tree(3, bodies=24, roots=5))
    builder = sim.ModelBuilder()
    builder.replicate(template, 3)
    return builder.finalize(device=device, precision=precision)


def updated(model, mask=None):
    """What an update derives, from arrays that held nothing of it."""
    for name in DERIVED:
        setattr(model, name, -7.0)
    model.update(mask)
    return {name: to_numpy(getattr(model, name)).copy() for name in DERIVED}


@pytest.mark.parametrize("lanes", [None, 1, 4, 32])
def test_trees_give_the_bits_of_whole_worlds(precision, lanes, monkeypatch):
    model = forest(precision)
    whole = updated(model)
    monkeypatch.setattr(dynamics, "DENSE_DOFS", 0)
    if lanes is None:
        trees = updated(model)
    else:
        with emulated_lanes(lanes, 1, poison=True):
            trees = updated(model)
    for name in DERIVED:
        np.testing.assert_array_equal(trees[name], whole[name], err_msg=name)


def test_worlds_that_are_not_marked_keep_what_they_have(monkeypatch):
    model = forest("float64")
    whole = updated(model)
    monkeypatch.setattr(dynamics, "DENSE_DOFS", 0)
    some = updated(model, np.array([True, False, True]))
    each = model.body_count // 3
    for name in ("body_inverse_weight", "body_q"):
        assert np.all(some[name][each : 2 * each] == -7.0)
        np.testing.assert_array_equal(some[name][2 * each :], whole[name][2 * each :])


def test_many_free_bodies_have_the_weights_of_one():
    """800 bodies of 4,800 degrees of freedom: 1 / mass and the mean of the inverse inertia, and no mass matrix."""
    builder = sim.ModelBuilder()
    for i in range(800):
        body = builder.add_body(mass=2.0, inertia=(0.1, 0.2, 0.25), xform=sim.transform((i, 0, 0)))
        builder.add_shape_sphere(body, 0.1, density=0, conaffinity=0)
    model = builder.finalize(device="cpu", precision="float64")
    turning = (1 / 0.1 + 1 / 0.2 + 1 / 0.25) / 3
    np.testing.assert_allclose(model.body_inverse_weight, np.tile([0.5, turning], (800, 1)), rtol=1e-12)
    np.testing.assert_allclose(model.body_q[:, 0], np.arange(800.0))
    assert model.groups[0].counts()["mask_words"] == 0
    with pytest.raises(sim.UnsupportedError, match="at most 4096 degrees of freedom; this model has one of 4800"):
        sim.eval_mass_matrix(model, model.state())
    with pytest.raises(sim.UnsupportedError, match="solvers.Featherstone serves worlds of at most 4096"):
        sim.solvers.Featherstone(model)
    state = model.state()
    state.joint_q[0] = 7.0
    sim.eval_fk(model, state)
    assert state.body_q[0, 0] == 7.0
