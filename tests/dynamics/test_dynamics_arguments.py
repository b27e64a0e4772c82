"""What the functions of section 4 refuse, by name."""

import numpy as np
import pytest

import simengine as sim
from tests.dynamics.trees import model_of, random_tree


@pytest.fixture(scope="module")
def model():
    return model_of(random_tree(0, bodies=3, roots=1))


def test_worlds_that_differ_have_no_common_matrix():
    builder = sim.ModelBuilder()
    for bodies in (1, 1, 2):
        template = sim.ModelBuilder()
        for _ in range(bodies):
            template.add_body(mass=1.0, inertia=np.eye(3))
        builder.replicate(template, 1)
    model = builder.finalize(device="cpu", precision="float64")
    for function in (sim.eval_mass_matrix, sim.eval_jacobian):
        with pytest.raises(sim.ModelError, match="world 0 has 6 dofs, world 2 has 12"):
            function(model, model.state())
    assert sim.eval_bias_force(model, model.state()).shape == (24,)


def test_a_state_of_another_model_is_refused(model):
    other = model_of(random_tree(1, bodies=4, roots=1))
    with pytest.raises(sim.ModelError, match="the state belongs to another model"):
        sim.eval_fk(model, other.state())
    alike = model_of(random_tree(0, bodies=3, roots=1))
    with pytest.raises(sim.ModelError, match="the state belongs to another model"):
        sim.eval_ik(model, alike.state())
    with pytest.raises(sim.ModelError, match="got a dict"):
        sim.eval_fk(model, {})


def test_arrays_of_another_shape_or_dtype_are_refused(model):
    state, nv = model.state(), model.joint_dof_count
    with pytest.raises(sim.ModelError, match=r"joint_qdd must have shape .* got \(1,\)"):
        sim.eval_inverse_dynamics(model, state, np.zeros(1))
    with pytest.raises(sim.ModelError, match=r"joint_qdd .* float32"):
        sim.eval_inverse_dynamics(model, state, np.zeros(nv, np.float32))
    with pytest.raises(sim.ModelError, match="joint_qdd must be an array"):
        sim.eval_inverse_dynamics(model, state, [0.0] * nv)
    with pytest.raises(sim.ModelError, match="eval_mass_matrix, out"):
        sim.eval_mass_matrix(model, state, out=np.zeros((nv, nv)))
    with pytest.raises(sim.LaunchError, match="mass: must be contiguous"):
        sim.eval_mass_matrix(model, state, out=np.zeros((1, nv, 2 * nv))[:, :, ::2])


def test_a_mask_must_be_of_bools_one_for_each_world(model):
    for mask in ([True], np.ones(1, np.int32), np.ones(2, bool)):
        with pytest.raises(sim.ModelError, match="world_mask must"):
            sim.eval_fk(model, model.state(), world_mask=mask)
        with pytest.raises(sim.ModelError, match="world_mask must"):
            model.update(world_mask=mask)
