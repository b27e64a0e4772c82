"""Containers and reset on a GPU: the same values and bits as on the CPU, and arrays of the wrong device refused."""

import numpy as np
import pytest

from simengine.containers import to_numpy
from simengine.errors import ModelError
from simengine.runtime.capture import capture
from simengine.runtime.devices import get_device
from simengine.state import State
from simengine.world_reset import reset
from tests import two_bodies

pytestmark = pytest.mark.gpu
WORLDS = 37


def bits(container):
    return {name: to_numpy(array).tobytes() for name, array in container.arrays().items()}


@pytest.fixture
def models(precision):
    """The same model on both devices."""
    pair = [two_bodies.model(WORLDS, device, precision) for device in ("cpu", "cuda:0")]
    for model in pair:
        model.add_solver_rows("Featherstone")
    return pair


@pytest.fixture
def cupy():
    return get_device("cuda:0").array_module


def random_coordinates(model, seed=0):
    random, state = np.random.default_rng(seed), model.state()
    state.joint_q = model.device.asarray(random.normal(size=state.joint_q.shape).astype(model.precision))
    state.joint_qd = model.device.asarray(random.normal(size=state.joint_qd.shape).astype(model.precision))
    state.draw_count = model.device.asarray(np.arange(WORLDS))
    state.time = 3.5
    return state


def test_containers_hold_what_they_hold_on_the_cpu(models, cupy):
    on_cpu, on_gpu = models
    for make in ("state", "control", "contacts"):
        one, other = getattr(on_cpu, make)(), getattr(on_gpu, make)()
        assert bits(one) == bits(other)
        assert all(isinstance(array, cupy.ndarray) for array in other.arrays().values())
        assert bits(other.copy()) == bits(one)
    assert bits(on_cpu) == bits(on_gpu)
    assert on_gpu.structure_hashes() == on_cpu.structure_hashes()
    assert on_gpu.by_world(on_gpu.joint_q).shape == (WORLDS, 8)


def test_structs_hold_device_pointers(models):
    model = models[1]
    assert model.struct()["joint_q"] == model.joint_q.data.ptr
    assert model.groups[0].struct()["dof_mask"] == model.groups[0].dof_mask.data.ptr


def test_assignment_checks_the_device(models, cupy):
    on_cpu, on_gpu = (model.state() for model in models)
    with pytest.raises(ModelError, match=r"state\.joint_qd lives on cuda:0, got a NumPy array"):
        on_gpu.joint_qd = np.zeros(on_cpu.joint_qd.shape, on_cpu.precision)
    with pytest.raises(ModelError, match=r"state\.joint_qd lives on cpu, got a GPU array"):
        on_cpu.joint_qd = on_gpu.joint_qd
    array = on_gpu.joint_qd
    on_gpu.joint_qd = [0.5] * len(array)
    on_gpu.joint_qd += 1.0
    assert on_gpu.joint_qd is array and bool((array == 1.5).all())
    assert on_gpu.step_count.dtype == cupy.int64


def test_states_move_between_devices_bit_for_bit(models, tmp_path):
    on_cpu, on_gpu = models
    state = random_coordinates(on_gpu)
    moved = state.to("cpu")
    assert isinstance(moved.joint_q, np.ndarray) and bits(moved) == bits(state)
    target = on_cpu.state()
    target.assign(state)
    assert bits(target) == bits(state)
    state.save(tmp_path / "state.npz")
    assert bits(State.load(on_cpu, tmp_path / "state.npz")) == bits(state)
    assert bits(State.load(on_gpu, tmp_path / "state.npz")) == bits(state)


def test_reset_gives_the_bits_of_the_cpu(models):
    mask = np.random.default_rng(1).random(WORLDS) < 0.5
    rows = np.random.default_rng(2).integers(0, WORLDS, WORLDS).astype(np.int32)
    results = []
    for model in models:
        state, source = random_coordinates(model, 3), random_coordinates(model, 4)
        reset(model, state, model.device.asarray(mask), source=source, rows=model.device.asarray(rows))
        results.append(bits(state))
    assert results[0] == results[1]


def test_a_first_reset_can_be_captured(models):
    on_cpu, on_gpu = models
    mask = np.arange(WORLDS) % 3 == 0
    state, on_device = random_coordinates(on_gpu), on_gpu.device.asarray(mask)
    before = bits(state)
    with capture("cuda:0") as graph:
        reset(on_gpu, state, on_device)
    on_gpu.device.synchronize()
    assert bits(state) == before
    graph.launch()
    on_gpu.device.synchronize()
    expected = random_coordinates(on_cpu)
    reset(on_cpu, expected, mask)
    assert bits(state) == bits(expected)
