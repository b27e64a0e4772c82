"""The functions of section 4 give the same bits for any number of lanes, in any order of them, and in a batch."""

import functools

import numpy as np
import pytest

import simengine as sim
from simengine import dynamics, structs
from simengine.runtime import Kernel, emulated_lanes
from tests.dynamics.test_kinematics import EVERY_KIND
from tests.dynamics.trees import model_of, random_state, random_tree, state_of


def everything(model, q, qd, qdd) -> dict[str, np.ndarray]:
    """Results of every function, by name."""
    state = state_of(model, q, qd)
    sim.eval_fk(model, state)
    results = {"body_q": state.body_q.copy(), "body_qd": state.body_qd.copy()}
    sim.eval_ik(model, state)
    results |= {"joint_q": state.joint_q.copy(), "joint_qd": state.joint_qd.copy()}
    state = state_of(model, q, qd)
    results["mass"] = sim.eval_mass_matrix(model, state)
    results["jacobian"] = sim.eval_jacobian(model, state)
    results["bias"] = sim.eval_bias_force(model, state)
    results["effort"] = sim.eval_inverse_dynamics(model, state, qdd)
    model.update()
    return results | {"bodies": model.body_inverse_weight.copy(), "dofs": model.dof_inverse_weight.copy()}


def specialise(monkeypatch, model, **constants):
    """Let the functions run kernels in which the topology of this model is a constant, as are ``constants``."""
    headers = structs.headers(model.groups[0].tables)

    @functools.cache
    def kernel(name):
        file = "model_update.cu" if name.startswith("model_update") else "eval.cu"
        return Kernel(file, name, defines={"SIM_SPECIALISED": 1, **constants}, headers=headers)

    monkeypatch.setattr(dynamics, "_kernel", kernel)


def test_constant_topology_does_not_matter(monkeypatch, precision):
    tree = random_tree(3, bodies=10, kinds=EVERY_KIND, roots=3)
    model = model_of(tree, precision=precision)
    rng = np.random.default_rng(3)
    q, qd = random_state(tree, rng)
    qdd = rng.normal(size=qd.shape).astype(precision)
    expected = everything(model, q, qd, qdd)
    specialise(monkeypatch, model)
    for name, value in everything(model, q, qd, qdd).items():
        assert value.tobytes() == expected[name].tobytes(), name


def test_loops_to_the_end_of_constant_tables_by_lanes_do_not_matter(monkeypatch, precision):
    """The form that a GPU unrolls, by emulated lanes."""
    tree = random_tree(3, bodies=5, kinds=EVERY_KIND, roots=2)
    model = model_of(tree, precision=precision)
    rng = np.random.default_rng(3)
    q, qd = random_state(tree, rng)
    qdd = rng.normal(size=qd.shape).astype(precision)
    expected = everything(model, q, qd, qdd)
    specialise(monkeypatch, model, SIM_LANES=8)
    with emulated_lanes(8, seed=1):
        found = everything(model, q, qd, qdd)
    for name, value in found.items():
        assert value.tobytes() == expected[name].tobytes(), name


@pytest.mark.gpu
def test_a_gpu_has_the_bits_of_the_cpu(monkeypatch, precision):
    tree = random_tree(3, bodies=10, kinds=EVERY_KIND, roots=3)
    q, qd = random_state(tree, np.random.default_rng(3))
    expected = everything(model_of(tree, precision=precision), q, qd, qd.astype(precision))
    model = model_of(tree, "cuda:0", precision)
    given = model.device.asarray(qd.astype(precision))
    general = everything(model, q, qd, given)
    specialise(monkeypatch, model)
    special = everything(model, q, qd, given)
    for name, value in expected.items():
        assert value.tobytes() == sim.to_numpy(general[name]).tobytes(), name
        assert value.tobytes() == sim.to_numpy(special[name]).tobytes(), name


@pytest.mark.parametrize("lanes", [1, 4, 32])
@pytest.mark.parametrize("shuffle", [1, 2])
def test_lanes_do_not_matter(lanes, shuffle, precision):
    tree = random_tree(3, bodies=10, kinds=EVERY_KIND, roots=3)
    model = model_of(tree, precision=precision)
    rng = np.random.default_rng(3)
    q, qd = random_state(tree, rng)
    qdd = rng.normal(size=qd.shape).astype(precision)
    expected = everything(model, q, qd, qdd)
    with emulated_lanes(lanes, seed=shuffle):
        found = everything(model, q, qd, qdd)
    for name, value in expected.items():
        assert value.tobytes() == found[name].tobytes(), name


def test_a_world_is_the_same_alone_and_among_others():
    tree = random_tree(4, bodies=6, roots=2)
    rng = np.random.default_rng(4)
    states = [random_state(tree, rng) for _ in range(5)]
    many, alone = model_of(tree, worlds=5), model_of(tree)
    q, qd = (np.concatenate(values) for values in zip(*states, strict=True))
    together = everything(many, q, qd, qd)
    for world, (q, qd) in enumerate(states):
        for name, value in everything(alone, q, qd, qd).items():
            assert np.split(together[name], 5)[world].tobytes() == value.tobytes(), name


def test_a_world_of_nan_does_not_touch_its_neighbours():
    tree = random_tree(4, bodies=6, roots=2)
    q, qd = random_state(tree, np.random.default_rng(4))
    model = model_of(tree, worlds=3)
    clean = everything(model, np.tile(q, 3), np.tile(qd, 3), np.tile(qd, 3))
    bad = np.tile(qd, 3)
    bad[len(qd) : 2 * len(qd)] = np.nan
    for name, value in everything(model, np.tile(q, 3), bad, np.tile(qd, 3)).items():
        for world in (0, 2):
            assert np.split(value, 3)[world].tobytes() == np.split(clean[name], 3)[world].tobytes(), name
