"""The kernels of kinematics and dynamics compile for a GPU with none present, and can be captured."""

import numpy as np
import pytest

import simengine as sim
from simengine import structs
from simengine.runtime import Kernel, compile_cubin
from tests.dynamics.trees import model_of, random_state, random_tree, state_of

FILES = {"eval.cu": "eval_fk", "model_update.cu": "model_update"}


@pytest.mark.parametrize("file", FILES)
def test_kernels_compile_for_a_gpu(file, precision):
    assert compile_cubin(Kernel(file, FILES[file]), "sm_90", precision, lanes=16).stat().st_size > 0


@pytest.mark.slow
@pytest.mark.parametrize("lanes", [1, 32])
@pytest.mark.parametrize("file", FILES)
def test_specialised_kernels_compile_for_a_gpu(file, lanes, precision):
    headers = structs.headers(model_of(random_tree(0)).groups[0].tables)
    kernel = Kernel(file, FILES[file], defines={"SIM_SPECIALISED": 1}, headers=headers)
    assert compile_cubin(kernel, "sm_90", precision, lanes).stat().st_size > 0


def test_forward_kinematics_can_be_captured(device):
    tree = random_tree(0, bodies=4, roots=1)
    q, qd = random_state(tree, np.random.default_rng(0))
    state = state_of(model_of(tree, device), q, qd)
    sim.eval_fk(state.model, state)
    expected = sim.to_numpy(state.body_q).copy()
    state.body_q[:] = 0.0
    with sim.capture(device) as graph:
        sim.eval_fk(state.model, state)
    assert not sim.to_numpy(state.body_q).any()
    graph.launch()
    assert np.array_equal(sim.to_numpy(state.body_q), expected)
