"""Joint coordinates that a step reads beside the bodies that it does not."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import simengine as sim
from simengine.runtime import modes
from simengine.solvers.coordinates import disagreement


def two_worlds(precision: str = "float64") -> sim.Model:
    """A cart on a rail with a pole, twice; the second world starts turned and moving."""
    builder = sim.ModelBuilder()
    for q, qd in (([0.0], [0.0]), ([0.7], [2.0])):
        template = sim.ModelBuilder()
        cart = template.add_body(mass=1.0, inertia=(1, 1, 1), label="cart")
        pole = template.add_body(mass=0.1, inertia=(0.1, 0.1, 0.1), label="pole", com=(0, 0, 0.5))
        template.add_joint_prismatic(-1, cart, axis="X", q=[0.2], qd=qd)
        template.add_joint_revolute(cart, pole, axis="Y", q=q, qd=qd)
        builder.add_builder(template)
    return builder.finalize(device="cpu", precision=precision)


def test_states_that_the_builder_and_the_step_made_agree(precision):
    model = two_worlds(precision)
    solver = sim.solvers.Featherstone(model)
    state, other = model.state(), model.state()
    assert disagreement(state) is None
    for _ in range(10):
        solver.step(state, other, model.control(), None, 1e-2)
        state, other = other, state
        assert disagreement(state) is None
    state.body_q[:, 3:] *= -1
    assert disagreement(state) is None


@pytest.mark.parametrize("name, entry", [("body_q", 0), ("body_q", 4), ("body_qd", 0), ("body_qd", 5)])
def test_the_body_that_was_written_is_named_with_its_world(name, entry):
    model = two_worlds()
    state = model.state()
    getattr(state, name)[3, entry] += 0.25
    found = disagreement(state)
    assert found.startswith(f"{name} of body {model.body_label[3]!r} in world 1 is off by 0.2")
    sim.eval_fk(model, state)
    assert disagreement(state) is None


def test_bodies_that_were_written_count_after_inverse_kinematics():
    model = two_worlds()
    state = model.state()
    state.body_q[0, 0] += 0.25
    state.body_q[1, 0] += 0.25
    sim.eval_ik(model, state)
    assert disagreement(state) is None and state.joint_q[0] == pytest.approx(0.45)


def test_numbers_that_are_not_finite_are_left_to_the_step():
    state = two_worlds().state()
    state.joint_q[0] = np.nan
    assert disagreement(state) is None


def test_a_step_warns_once_and_in_debug_mode_alone():
    model = two_worlds()
    solver, state = sim.solvers.Featherstone(model), model.state()
    state.body_q[0, 0] = 1.0
    arguments = state, model.state(), model.control(), None, 1e-3
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with modes.debugging(False):
            solver.step(*arguments)
    with modes.debugging():
        with pytest.warns(UserWarning, match="body_q of body .*cart.* in world 0 is off by 0.8: call sim.eval_ik"):
            solver.step(*arguments)
        solver.step(*arguments)
