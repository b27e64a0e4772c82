"""Mass matrix, Jacobian, bias and inverse dynamics against MuJoCo, Lagrange's equations and conservation."""

import numpy as np
import pytest

import simengine as sim
from tests.dynamics.test_kinematics import EVERY_KIND, advanced
from tests.dynamics.trees import (
    GRAVITY,
    TOLERANCE,
    add_to_builder,
    difference,
    model_of,
    random_state,
    random_tree,
    state_of,
    to_matrix,
)
from tests.mujoco_models.exporter import MujocoTwin


@pytest.mark.parametrize("seed", range(4))
def test_all_are_mujocos(seed, device, precision):
    tree = random_tree(seed, bodies=12, roots=3)
    twin, model = MujocoTwin(tree), model_of(tree, device, precision)
    rng = np.random.default_rng(10 + seed)
    q, qd = random_state(tree, rng)
    qdd = rng.normal(size=qd.shape)
    state = state_of(model, q, qd)
    twin.set(q, qd)
    mass, bias = twin.mass_matrix(), twin.bias()
    tolerance = TOLERANCE[precision]
    assert difference(sim.eval_mass_matrix(model, state)[0], mass) < tolerance
    assert difference(sim.eval_jacobian(model, state)[0], twin.jacobian()) < tolerance
    assert difference(sim.eval_bias_force(model, state), bias) < tolerance
    effort = sim.eval_inverse_dynamics(model, state, device.asarray(qdd.astype(precision)))
    assert difference(effort, mass @ qdd + bias) < tolerance


def case(seed: int):
    tree = random_tree(seed, kinds=EVERY_KIND)
    rng = np.random.default_rng(seed)
    q, qd = random_state(tree, rng)
    return tree, model_of(tree), q, qd, rng


@pytest.mark.parametrize("seed", range(3))
def test_jacobian_times_rates_is_velocity(seed):
    _, model, q, qd, _ = case(seed)
    state = state_of(model, q, qd)
    sim.eval_fk(model, state)
    velocity = sim.eval_jacobian(model, state)[0] @ qd
    assert difference(velocity.reshape(-1, 6), state.body_qd) < 1e-13


@pytest.mark.parametrize("seed", range(3))
def test_mass_matrix_is_symmetric_positive_definite_and_zero_between_trees(seed):
    tree, model, q, qd, _ = case(seed)
    mass = sim.eval_mass_matrix(model, state_of(model, q, qd))[0]
    assert np.array_equal(mass, mass.T)
    assert np.linalg.eigvalsh(mass).min() > 0
    tree_of_dof = np.zeros(len(mass), int)
    for i, (link, start) in enumerate(zip(tree.links, tree.starts("dof_count"), strict=True)):
        root = i
        while tree.links[root].parent >= 0:
            root = tree.links[root].parent
        tree_of_dof[start : start + link.dof_count] = root
    apart = tree_of_dof[:, None] != tree_of_dof[None, :]
    assert apart.any()
    assert np.all(mass[apart] == 0)


def kinetic_energy(model, state) -> float:
    """Of the bodies one by one: m v^2 / 2 + w I w / 2 about their centres of mass."""
    sim.eval_fk(model, state)
    energy = 0.0
    for i, (pose, velocity) in enumerate(zip(state.body_q, state.body_qd, strict=True)):
        omega = to_matrix(pose[3:]).T @ velocity[3:]
        energy += 0.5 * model.body_mass[i] * velocity[:3] @ velocity[:3] + 0.5 * omega @ model.body_inertia[i] @ omega
    return energy


def potential_energy(model, state) -> float:
    sim.eval_fk(model, state)
    coms = [pose[:3] + to_matrix(pose[3:]) @ com for pose, com in zip(state.body_q, model.body_com, strict=True)]
    return -float(model.body_mass @ (np.array(coms) @ GRAVITY))


@pytest.mark.parametrize("seed", range(3))
def test_kinetic_energy_of_the_matrix_is_that_of_the_bodies(seed):
    _, model, q, qd, _ = case(seed)
    state = state_of(model, q, qd)
    mass = sim.eval_mass_matrix(model, state)[0] - np.diag(model.joint_armature)
    assert 0.5 * qd @ mass @ qd == pytest.approx(kinetic_energy(model, state), rel=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_inverse_dynamics_is_mass_times_acceleration_and_bias(seed):
    _, model, q, qd, rng = case(seed)
    state, qdd = state_of(model, q, qd), rng.normal(size=len(qd))
    expected = sim.eval_mass_matrix(model, state)[0] @ qdd + sim.eval_bias_force(model, state)
    assert difference(sim.eval_inverse_dynamics(model, state, qdd), expected) < 1e-12


@pytest.mark.parametrize("seed", range(3))
def test_bias_of_rest_is_the_gradient_of_the_potential(seed):
    """Central differences along each rate, order 2."""
    tree, model, q, qd, _ = case(seed)
    h, gradient = 1e-5, np.zeros(len(qd))
    for k in range(len(qd)):
        unit = np.zeros(len(qd))
        unit[k] = 1.0
        ends = [advanced(tree, q, unit, s * h) for s in (-1, 1)]
        low, high = (potential_energy(model, state_of(model, end, 0 * qd)) for end in ends)
        gradient[k] = (high - low) / (2 * h)
    assert difference(sim.eval_bias_force(model, state_of(model, q, 0 * qd)), gradient) < 1e-8


@pytest.mark.parametrize("seed", range(3))
def test_power_of_the_efforts_is_the_rate_of_the_energy(seed):
    """At constant rates: qd . ID(q, qd, 0) = d/dt (T + V), by central differences of order 2."""
    tree, model, q, qd, _ = case(seed)
    h = 1e-5

    def energy(time):
        state = state_of(model, advanced(tree, q, qd, time), qd)
        return kinetic_energy(model, state) + potential_energy(model, state)

    power = qd @ sim.eval_inverse_dynamics(model, state_of(model, q, qd), 0 * qd)
    assert power == pytest.approx((energy(h) - energy(-h)) / (2 * h), rel=1e-7)


def test_free_body_needs_eulers_torque():
    """Torque-free motion of a free body about its centre: moment = w x (R I R^T w) in world axes."""
    builder = sim.ModelBuilder(gravity=0.0)
    body = builder.add_body(mass=2.0, inertia=np.diag([0.2, 0.5, 0.4]))
    builder.add_joint_free(-1, body)
    model = builder.finalize(device="cpu", precision="float64")
    rng = np.random.default_rng(0)
    q = rng.normal(size=7)
    q[3:] /= np.linalg.norm(q[3:])
    qd = rng.normal(size=6)
    turn = to_matrix(q[3:])
    moment = np.cross(qd[3:], turn @ np.diag([0.2, 0.5, 0.4]) @ turn.T @ qd[3:])
    assert difference(sim.eval_bias_force(model, state_of(model, q, qd)), np.append(np.zeros(3), moment)) < 1e-13


def test_pendulum_has_its_textbook_values():
    """Rod of length 2 l hung at its end: M = I + m l^2 + armature, bias = m g l sin(angle)."""
    m, length, inertia, armature, g = 1.5, 0.4, 0.08, 0.02, 9.81
    builder = sim.ModelBuilder(gravity=-g)
    rod = builder.add_body(mass=m, inertia=np.diag([inertia, inertia, 1e-3]), com=(0, 0, -length))
    builder.add_joint_revolute(-1, rod, axis=(0, 1, 0), armature=armature)
    model = builder.finalize(device="cpu", precision="float64")
    state = state_of(model, [0.7], [3.0])
    assert sim.eval_mass_matrix(model, state)[0, 0, 0] == pytest.approx(inertia + m * length**2 + armature, rel=1e-14)
    assert sim.eval_bias_force(model, state)[0] == pytest.approx(m * g * length * np.sin(0.7), rel=1e-14)


def test_dynamics_do_not_depend_on_where_a_floating_robot_is():
    """In float32, 1 km from the origin, a chain keeps all digits of its mass matrix and bias."""
    tree = random_tree(5, bodies=6, roots=1)
    model = model_of(tree, precision="float32")
    q, qd = random_state(tree, np.random.default_rng(5))
    start = tree.starts("coord_count")[0]
    q[start : start + 3] = 0.0
    near = state_of(model, q, qd)
    q[start : start + 3] = (1024.0, -2048.0, 512.0)
    far = state_of(model, q, qd)
    assert difference(sim.eval_mass_matrix(model, far), sim.eval_mass_matrix(model, near)) < 1e-6
    assert difference(sim.eval_bias_force(model, far), sim.eval_bias_force(model, near)) < 1e-6


def test_out_is_written_and_returned():
    _, model, q, qd, _ = case(0)
    state = state_of(model, q, qd)
    for function in (sim.eval_mass_matrix, sim.eval_jacobian, sim.eval_bias_force):
        expected = function(model, state)
        out = np.full_like(expected, np.nan)
        assert function(model, state, out=out) is out
        assert np.array_equal(out, expected)


def test_worlds_of_different_structure_are_evaluated_together():
    trees = [random_tree(seed, bodies=4 + seed, roots=1) for seed in range(3)]
    builder = sim.ModelBuilder(gravity=GRAVITY)
    for tree in trees:
        template = sim.ModelBuilder(gravity=GRAVITY)
        add_to_builder(template, tree)
        builder.replicate(template, 2)
    model = builder.finalize(device="cpu", precision="float64")
    states = [random_state(tree, np.random.default_rng(i)) for i, tree in enumerate(trees) for _ in range(2)]
    state = state_of(model, np.concatenate([q for q, _ in states]), np.concatenate([qd for _, qd in states]))
    sim.eval_fk(model, state)
    bias = sim.eval_bias_force(model, state)
    poses, efforts = [], []
    for i, (q, qd) in enumerate(states):
        alone = state_of(model_of(trees[i // 2]), q, qd)
        sim.eval_fk(alone.model, alone)
        poses.append(alone.body_q)
        efforts.append(sim.eval_bias_force(alone.model, alone))
    assert np.array_equal(state.body_q, np.concatenate(poses))
    assert np.array_equal(bias, np.concatenate(efforts))
