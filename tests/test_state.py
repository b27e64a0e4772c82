"""State, Control and Contacts: initial values, copies, checked assignment, memory of solvers, slabs."""

import copy
import pickle

import numpy as np
import pytest

import simengine as sim
from simengine import state as state_module
from simengine.errors import ModelError
from simengine.state import bytes_per_slot, slab_sizes
from tests import two_bodies


@pytest.fixture
def model():
    return two_bodies.model(3)


def test_a_new_state_is_the_initial_one(model):
    state = model.state()
    for name in ("joint_q", "joint_qd", "body_q", "body_qd", "random_key"):
        np.testing.assert_array_equal(getattr(state, name), getattr(model, name))
        assert not np.shares_memory(getattr(state, name), getattr(model, name))
    for name in ("time", "step_count", "draw_count", "status"):
        np.testing.assert_array_equal(getattr(state, name), np.zeros(3))
    assert (state.time.dtype, state.step_count.dtype, state.status.dtype) == (np.float64, np.int64, np.int32)


def test_states_carry_the_memory_of_solvers_made_before(model):
    early = model.state()
    model.add_solver_rows("Featherstone")
    late = model.state()
    np.testing.assert_array_equal(late.featherstone_qacc, np.zeros(21))
    late.require_rows("Featherstone")
    with pytest.raises(ModelError, match=r"made before solvers.Featherstone.*make the solver first"):
        early.require_rows("Featherstone")
    with pytest.raises(AttributeError, match="carries no featherstone_qacc"):
        _ = early.featherstone_qacc
    assert early.struct()["featherstone_qacc"] == 0
    assert late.struct()["featherstone_qacc"] == late.featherstone_qacc.ctypes.data
    with pytest.raises(ModelError, match="only one of the two carries the memory of Featherstone"):
        late.assign(early)


def test_copy_is_equal_and_apart(model):
    model.add_solver_rows("Featherstone")
    state = model.state()
    state.joint_qd[:] = np.arange(21)
    state.draw_count[:] = 7
    twin = state.copy()
    for name, array in state.arrays().items():
        np.testing.assert_array_equal(getattr(twin, name), array)
        assert not np.shares_memory(getattr(twin, name), array)


def test_assign_copies_everything(model):
    source, target = model.state(), model.state()
    source.joint_q[:] = np.arange(24)
    source.time[:] = [1.0, 2.0, 3.0]
    before = target.joint_q
    target.assign(source)
    assert target.joint_q is before
    for name, array in source.arrays().items():
        np.testing.assert_array_equal(getattr(target, name), array)


def test_assign_refuses_another_kind_size_or_precision(model):
    state = model.state()
    with pytest.raises(ModelError, match="wants a State, got Control"):
        state.assign(model.control())
    with pytest.raises(ModelError, match="sizes differ"):
        state.assign(two_bodies.model(2).state())
    with pytest.raises(ModelError, match="this one is float64, the other float32"):
        state.assign(two_bodies.model(3, precision="float32").state())


def test_assign_refuses_a_model_of_the_same_sizes_and_another_structure():
    def one_joint(kind):
        builder = sim.ModelBuilder()
        getattr(builder, f"add_joint_{kind}")(-1, builder.add_body(mass=1.0, inertia=(1, 1, 1)))
        return builder.finalize(device="cpu")

    state, twin, other = (one_joint(kind).state() for kind in ("revolute", "revolute", "prismatic"))
    twin.joint_q[:], other.joint_q[:] = 2.0, 3.0
    state.assign(twin)
    with pytest.raises(ModelError, match="state.assign: the other is of another model; these differ:.*joint_type"):
        state.assign(other)
    assert state.joint_q.tolist() == [2.0]


def test_assignment_copies_and_never_rebinds(model):
    state = model.state()
    array, pointer = state.joint_qd, state.joint_qd.ctypes.data
    state.joint_qd = np.full(21, 2.0)
    state.joint_qd += 1.0
    state.joint_qd *= 2
    assert state.joint_qd is array and array.ctypes.data == pointer
    np.testing.assert_array_equal(array, np.full(21, 6.0))


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("joint_q", np.zeros(23), r"state.joint_q has shape \(24,\), got \(23,\)"),
        ("joint_q", np.zeros((24, 1)), r"state.joint_q has shape \(24,\), got \(24, 1\)"),
        ("body_q", np.zeros((6, 6)), r"state.body_q has shape \(6, 7\), got \(6, 6\)"),
        ("status", np.zeros(3), r"state.status is int32, got float64.*astype\('int32'\)"),
        ("status", [0, 0.5, 0], "state.status wants int32 values"),
        ("status", [0, 2**40, 0], "state.status wants int32 values"),
        ("joint_q", np.zeros(24, complex), "state.joint_q is float64, got complex128"),
        ("joint_q", "standing", "state.joint_q wants float64 values"),
        ("joint_q", None, "state.joint_q wants float64 values"),
        ("joint_q", [[1.0], [1.0, 2.0]], "state.joint_q wants float64 values"),
    ],
)
def test_wrong_values_are_refused_by_name(model, name, value, message):
    state = model.state()
    before = getattr(state, name).copy()
    with pytest.raises(ModelError, match=message):
        setattr(state, name, value)
    np.testing.assert_array_equal(getattr(state, name), before)


def test_float64_is_refused_where_the_model_is_float32():
    state = two_bodies.model(1, precision="float32").state()
    with pytest.raises(ModelError, match=r"state\.joint_q is float32, got float64"):
        state.joint_q = np.zeros(8)
    state.joint_q = [0.5] * 8
    np.testing.assert_array_equal(state.joint_q, np.full(8, np.float32(0.5)))


def test_a_gpu_array_is_refused_on_the_cpu(model):
    class OnGpu:
        dtype, shape, __cuda_array_interface__ = np.dtype(np.float64), (24,), {}

    with pytest.raises(ModelError, match=r"state\.joint_q lives on cpu, got a GPU array"):
        model.state().joint_q = OnGpu()


def test_containers_are_not_pickled(model):
    for value in (model, model.state(), model.control(), model.contacts()):
        with pytest.raises(TypeError, match=r"use save\(path\) and load"):
            pickle.dumps(value)
        with pytest.raises(TypeError, match=r"use save\(path\) and load"):
            copy.deepcopy(value)


def test_control_starts_at_the_targets_and_clears_to_them(model):
    control = model.control()
    control.joint_f[:] = 3.0
    control.body_f[:] = 1.0
    control.joint_target_pos[:] = -1.0
    control.kinematic_q[:] = 0.0
    control.clear()
    np.testing.assert_array_equal(control.joint_f, np.zeros(21))
    np.testing.assert_array_equal(control.body_f, np.zeros((6, 6)))
    np.testing.assert_array_equal(control.joint_target_pos, model.joint_target_pos)
    np.testing.assert_array_equal(control.kinematic_q, model.body_q)


def test_slabs_hold_the_worst_case(model):
    contacts = model.contacts()
    np.testing.assert_array_equal(contacts.world_start, [0, 5, 10, 15])
    assert contacts.normal.shape == (15, 3) and contacts.count.shape == (3,) and not contacts.cut
    with pytest.raises(ModelError, match=r"contacts\.world_start is part of the structure"):
        contacts.world_start = 0
    for own in (contacts, contacts.copy()):
        with pytest.raises(ValueError, match="read-only"):
            own.world_start[0] = -1


def test_slabs_of_a_stated_size(model):
    contacts = model.contacts(capacity_per_world=2)
    np.testing.assert_array_equal(contacts.world_start, [0, 2, 4, 6])
    assert contacts.cut
    assert not model.contacts(capacity_per_world=5).cut
    for wrong in (0, -1, 2.5, True):
        with pytest.raises(ModelError, match="capacity_per_world must be a positive integer"):
            model.contacts(capacity_per_world=wrong)
    twin = model.contacts(capacity_per_world=2)
    contacts.distance[:] = -0.25
    twin.assign(contacts)
    np.testing.assert_array_equal(twin.distance, contacts.distance)
    with pytest.raises(ModelError, match="contact slots are more than 715827882"):
        model.contacts(capacity_per_world=715827882 // 3 + 1)
    with pytest.raises(ModelError, match="slabs of the two differ"):
        contacts.assign(model.contacts())


def test_contacts_copy_keeps_the_slabs(model):
    contacts = model.contacts(capacity_per_world=2)
    contacts.count[:] = [1, 0, 2]
    twin = contacts.copy()
    np.testing.assert_array_equal(twin.count, [1, 0, 2])
    np.testing.assert_array_equal(twin.world_start, contacts.world_start)
    assert twin.cut


def test_a_contact_takes_the_bytes_of_its_arrays(model):
    # 4 integers; two points, normal, tangent and force of 3 numbers, the distance and the time
    assert bytes_per_slot("float64") == 4 * 4 + 17 * 8
    contacts = model.contacts()
    held = sum(array.nbytes for array in contacts.arrays().values() if len(array) == 15)
    assert held == 15 * bytes_per_slot("float64")


@pytest.mark.parametrize("seed", range(5))
def test_cut_slabs_share_the_memory_evenly(monkeypatch, seed):
    needed = np.random.default_rng(seed).integers(0, 50, 40)
    budget = int(needed.sum() // 2)
    monkeypatch.setattr(state_module, "CONTACT_MEMORY_CAP", budget * bytes_per_slot("float32"))
    sizes = slab_sizes(needed, "float32", None)
    share = sizes.max()
    np.testing.assert_array_equal(sizes, np.minimum(needed, share))
    assert sizes.sum() <= budget < np.minimum(needed, share + 1).sum()


def test_moving_to_the_same_device_copies(model):
    state = model.state()
    state.joint_qd[:] = 2.0
    moved = state.to("cpu")
    np.testing.assert_array_equal(moved.joint_qd, state.joint_qd)
    assert not np.shares_memory(moved.joint_qd, state.joint_qd)


def test_entries_know_their_world(model):
    state, contacts = model.state(), model.contacts(capacity_per_world=2)
    assert [state.world_of("joint_qd", i) for i in (0, 6, 7, 20)] == [0, 0, 1, 2]
    assert [state.world_of("body_q", i) for i in (1, 2, 5)] == [0, 1, 2]
    assert [state.world_of("time", i) for i in range(3)] == [0, 1, 2]
    assert [contacts.world_of("distance", i) for i in (0, 1, 2, 5)] == [0, 0, 1, 2]
    assert [contacts.world_of("count", i) for i in range(3)] == [0, 1, 2]
    assert [model.world_of("shape_size", i) for i in (1, 2, 6)] == [0, 1, -1]  # the ground is no single world's
