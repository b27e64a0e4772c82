"""sim.reset: marked worlds go back, poses follow, all others keep their bits."""

import numpy as np
import pytest

import simengine
from simengine import structs, world_reset
from simengine.builder.builder import ModelBuilder
from simengine.enums import StatusBit
from simengine.errors import LaunchError, ModelError
from simengine.math import transform
from simengine.model import Model
from simengine.runtime.capture import capture
from simengine.runtime.kernel import Kernel, compile_cubin
from simengine.runtime.modes import debugging, emulated_lanes
from simengine.world_reset import reset
from tests import two_bodies

WORLDS = 5
KEPT = {"draw_count", "random_key"}


def disturbed(model, seed=0):
    """A state of random bits, as after a long run; quaternions are not even unit."""
    state, random = model.state(), np.random.default_rng(seed)
    for array in state.arrays().values():
        array.reshape(-1).view(np.uint8)[:] = random.integers(0, 256, array.nbytes)
    return state


def world_bits(state, world):
    """Bytes of each array that belong to one world."""
    model, worlds = state.model, state.model.world_count
    return {
        name: (array[world] if len(array) == worlds else model.by_world(array)[world]).tobytes()
        for name, array in state.arrays().items()
    }


@pytest.fixture(params=["float32", "float64"])
def model(request):
    model = two_bodies.model(WORLDS, precision=request.param)
    model.add_solver_rows("Featherstone")
    return model


def poses(joint_q):
    """body_q (2, 7) of the ball and the box on its hinge, in float64, by the product of the transforms."""
    p, (x, y, z, w) = joint_q[:3], joint_q[3:7]
    arm = np.array([1 - 2 * (y * y + z * z), 2 * (x * y + z * w), 2 * (x * z - y * w)]) * 0.5
    s, c = np.sin(joint_q[7] / 2), np.cos(joint_q[7] / 2)
    turned = [x * c - z * s, y * c + w * s, z * c + x * s, w * c - y * s]
    return np.array([[*p, x, y, z, w], [*(p + arm), *turned]])


def test_marked_worlds_start_again_and_others_keep_their_bits(model):
    state, mask = disturbed(model), np.array([True, False, True, False, False])
    before = state.copy()
    reset(model, state, mask)
    initial = model.state()
    for world in range(WORLDS):
        now, then, start = (world_bits(s, world) for s in (state, before, initial))
        if not mask[world]:
            assert now == then
            continue
        for name in now:
            assert now[name] == (then if name in KEPT else start)[name] or name in ("body_q", "body_qd"), name
    tolerance = 1e-6 if model.precision == "float32" else 1e-15
    np.testing.assert_allclose(model.by_world(state.body_q)[mask], model.by_world(model.body_q)[mask], atol=tolerance)
    np.testing.assert_array_equal(model.by_world(state.body_qd)[mask], 0)


def test_without_a_mask_all_worlds_start_again(model):
    state = disturbed(model)
    reset(model, state)
    for name in ("joint_q", "joint_qd", "time", "step_count", "status", "status_step", "featherstone_qacc"):
        np.testing.assert_array_equal(getattr(state, name), getattr(model.state(), name))


def test_an_empty_mask_changes_nothing(model):
    state = disturbed(model)
    before = state.copy()
    reset(model, state, np.zeros(WORLDS, bool))
    assert all(getattr(state, name).tobytes() == array.tobytes() for name, array in before.arrays().items())


def test_poses_and_velocities_follow_the_coordinates(model):
    source, random = model.state(), np.random.default_rng(3)
    q = model.by_world(source.joint_q)
    q[:] = random.normal(size=q.shape)
    q[:, 3:7] /= np.linalg.norm(q[:, 3:7], axis=1, keepdims=True)
    source.joint_qd[:] = random.normal(size=source.joint_qd.shape)
    state = disturbed(model)
    reset(model, state, source=source)
    np.testing.assert_array_equal(state.joint_q, source.joint_q)
    np.testing.assert_array_equal(state.joint_qd, source.joint_qd)
    tolerance = 1e-5 if model.precision == "float32" else 1e-12
    for world in range(WORLDS):
        expected = poses(q[world].astype(np.float64))
        np.testing.assert_allclose(model.by_world(state.body_q)[world], expected, atol=tolerance)
        # the velocity of the box, from how its pose changes in a small time (float64: second order in h)
        rates = model.by_world(source.joint_qd)[world].astype(np.float64)
        ball = model.by_world(state.body_qd)[world, 0]
        np.testing.assert_allclose(ball, rates[:6], atol=tolerance)
        arm = expected[1, :3] - expected[0, :3]
        np.testing.assert_allclose(
            model.by_world(state.body_qd)[world, 1, :3], rates[:3] + np.cross(rates[3:6], arm), atol=10 * tolerance
        )


def test_rows_take_worlds_of_a_bank(model):
    bank = two_bodies.model(2, precision=model.precision)
    source = bank.state()
    source.joint_q[7::8] = [0.5, -0.5]
    state = disturbed(model)
    reset(model, state, np.array([1, 1, 0, 1, 1], bool), source=source, rows=np.array([1, 0, 0, 1, 0], np.int32))
    angles = model.by_world(state.joint_q)[:, 7]
    np.testing.assert_array_equal(angles[[0, 1, 3, 4]], np.array([-0.5, 0.5, -0.5, 0.5]))


def test_rows_without_a_source_take_other_worlds_initial_coordinates(model):
    model.by_world(model.joint_q)[:, 7] = np.arange(WORLDS) / 8
    state = model.state()
    reset(model, state, rows=np.arange(WORLDS, dtype=np.int32)[::-1].copy())
    np.testing.assert_array_equal(model.by_world(state.joint_q)[:, 7], np.arange(WORLDS)[::-1] / 8)


@pytest.mark.parametrize("row", [-1, 2, 2**31 - 1, -(2**31)])
def test_a_row_that_is_not_there_leaves_the_world_and_says_so(model, row):
    source = two_bodies.model(2, precision=model.precision).state()
    state = model.state()
    state.joint_qd[:] = 1.0
    state.status[:] = int(StatusBit.PIVOT)
    state.status_step[:] = 3
    before = state.copy()
    reset(model, state, source=source, rows=np.array([0, row, 1, 0, 1], np.int32))
    np.testing.assert_array_equal(state.status, [0, StatusBit.PIVOT | StatusBit.RESET_SOURCE, 0, 0, 0])
    state.status[1] = before.status[1]
    assert world_bits(state, 1) == world_bits(before, 1)


def test_changed_initial_coordinates_are_taken(model):
    model.by_world(model.joint_q)[:, 7] = 0.75
    state = disturbed(model)
    reset(model, state)
    np.testing.assert_array_equal(model.by_world(state.joint_q)[:, 7], 0.75)


@pytest.mark.parametrize("lanes", [1, 4, 32])
def test_bits_do_not_depend_on_lanes_or_what_memory_held(model, lanes):
    source, random = model.state(), np.random.default_rng(5)
    source.joint_q[:] = random.normal(size=source.joint_q.shape)
    source.joint_qd[:] = random.normal(size=source.joint_qd.shape)
    plain, emulated = disturbed(model), disturbed(model)
    reset(model, plain, source=source)
    with emulated_lanes(lanes, seed=lanes):
        reset(model, emulated, source=source)
    for name, array in plain.arrays().items():
        assert getattr(emulated, name).tobytes() == array.tobytes(), name


def test_wrong_arguments_are_refused_by_name(model):
    state = model.state()
    other = two_bodies.model(WORLDS, precision=model.precision)
    with pytest.raises(ModelError, match="the state belongs to another model"):
        reset(model, other.state())
    with pytest.raises(ModelError, match="source must be a State, got Control"):
        reset(model, state, source=model.control())
    with pytest.raises(ModelError, match=r"world_mask must have shape \(5,\) .* got \(4,\)"):
        reset(model, state, np.zeros(4, bool))
    with pytest.raises(ModelError, match="world_mask .* dtype bool, got .* int64"):
        reset(model, state, np.zeros(5, np.int64))
    with pytest.raises(ModelError, match="world_mask must be an array of bool on cpu, got a list"):
        reset(model, state, [True] * 5)
    with pytest.raises(ModelError, match="rows .* dtype int32, got .* int64"):
        reset(model, state, rows=np.zeros(5, np.int64))
    with pytest.raises(ModelError, match="source is the state itself"):
        reset(model, state, source=state, rows=np.zeros(5, np.int32))
    precision = "float64" if model.precision == "float32" else "float32"
    with pytest.raises(ModelError, match=f"source is {precision} on cpu"):
        reset(model, state, source=two_bodies.model(WORLDS, precision=precision).state())


def test_a_source_of_other_joints_is_refused(model):
    tables = two_bodies.topology(WORLDS)
    tables["dof_kind"][6] = 0
    other = Model(
        two_bodies.arrays(WORLDS), two_bodies.labels(WORLDS), [tables], device="cpu", precision=model.precision
    )
    with pytest.raises(ModelError, match="the source's model has other joints"):
        reset(model, model.state(), source=other.state())


def test_a_captured_reset_runs_when_it_is_launched(model):
    state, mask = disturbed(model), np.zeros(WORLDS, bool)
    before = state.copy()
    with capture(model.device) as graph:
        reset(model, state, mask)
    assert all(getattr(state, name).tobytes() == array.tobytes() for name, array in before.arrays().items())
    mask[3] = True  # read when the graph runs
    graph.launch()
    expected = before.copy()
    reset(model, expected, mask)
    for name, array in expected.arrays().items():
        assert getattr(state, name).tobytes() == array.tobytes(), name
    assert world_bits(state, 3) != world_bits(before, 3)


def test_assignment_within_a_capture_is_refused(model):
    state = model.state()
    with (
        pytest.raises(LaunchError, match=r"state\.joint_qd was assigned to within sim\.capture"),
        capture(model.device),
    ):
        state.joint_qd = 1.0


def two_kinds_of_worlds(precision):
    """Worlds 0, 2, 3: a pendulum; worlds 1, 4: a free ball."""
    pendulum, ball = ModelBuilder(), ModelBuilder()
    rod = pendulum.add_body(mass=1.0, inertia=np.eye(3), label="rod")
    pendulum.add_joint_revolute(-1, rod, axis=(0, 1, 0), label="hinge")
    ball.add_body(mass=1.0, inertia=np.eye(3), xform=transform(p=(0, 0, 2)), label="ball")
    builder = ModelBuilder()
    for template in (pendulum, ball, pendulum, pendulum, ball):
        builder.add_builder(template)
    return builder.finalize(device="cpu", precision=precision)


def test_worlds_of_different_structure_are_reset_each_to_its_own(precision):
    model = two_kinds_of_worlds(precision)
    assert [list(group.worlds) for group in model.groups] == [[0, 2, 3], [1, 4]]
    model.joint_q[[0, 8, 9]] = [0.1, 0.2, 0.3]
    state = model.state()
    state.joint_q[:] = 0.5
    state.joint_qd[:] = 1.0
    reset(model, state, np.array([True, True, False, True, False]))
    q = state.joint_q
    np.testing.assert_array_equal(q[[0, 8, 9]], model.joint_q[[0, 8, 9]] * [1, 0, 1] + np.array([0, 0.5, 0]))
    np.testing.assert_array_equal(q[1:8], model.joint_q[1:8])
    np.testing.assert_array_equal(q[10:], np.full(7, 0.5))
    np.testing.assert_array_equal(state.joint_qd, [0] * 7 + [1] + [0] + [1] * 6)
    np.testing.assert_array_equal(state.body_q[1], [0, 0, 2, 0, 0, 0, 1])


def test_a_row_of_another_batch_group_is_refused_on_the_device(precision):
    model = two_kinds_of_worlds(precision)
    state = model.state()
    state.step_count[:] = 9
    reset(model, state, rows=np.array([2, 0, 2, 3, 1], np.int32))
    np.testing.assert_array_equal(state.status, [0, StatusBit.RESET_SOURCE, 0, 0, 0])
    np.testing.assert_array_equal(state.status_step, [0, 9, 0, 0, 0])


def test_reset_compiles_for_gpus(precision):
    for name in ("reset_worlds", "reset_memory_bytes"):
        assert compile_cubin(Kernel("reset.cu", name), "sm_90", precision, lanes=8).stat().st_size > 0


def test_debug_builds_check_bounds_and_give_the_same_bits(model):
    plain, checked = disturbed(model), disturbed(model)
    for state in (plain, checked):
        state.joint_qd[:] = state.featherstone_qacc[:] = state.body_qd[:] = 0
        state.joint_q[:] = model.joint_q
        state.body_q[:] = model.body_q
    mask = np.array([True, False, True, False, True])
    reset(model, plain, mask)
    with debugging():
        reset(model, checked, mask)
    for name, array in plain.arrays().items():
        assert getattr(checked, name).tobytes() == array.tobytes(), name


def test_the_specialised_kernel_gives_the_same_bits(model, monkeypatch):
    headers = structs.headers(model.groups[0].tables)
    special = Kernel("reset.cu", "reset_worlds", headers=headers, defines={"SIM_SPECIALISED": 1})
    measure = world_reset._kernel("reset_memory_bytes")
    source, random = model.state(), np.random.default_rng(5)
    source.joint_q[:] = random.normal(size=source.joint_q.shape)
    source.joint_qd[:] = random.normal(size=source.joint_qd.shape)
    general, specialised = disturbed(model), disturbed(model)
    reset(model, general, source=source)
    monkeypatch.setattr(world_reset, "_kernel", {"reset_worlds": special, "reset_memory_bytes": measure}.get)
    model.launches.clear()
    reset(model, specialised, source=source)
    for name, array in general.arrays().items():
        assert getattr(specialised, name).tobytes() == array.tobytes(), name


def test_the_name_of_the_package_is_the_function():
    assert simengine.reset is reset
