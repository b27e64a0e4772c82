"""Simulation: frames are the steps that they stand for; files, interrupts and recorders see whole frames."""

import os
import signal
import threading

import numpy as np
import pytest

import simengine as sim
from simengine import simulation as module
from simengine.errors import AssetError, DivergenceError, LaunchError, ModelError

GRAVITY = 9.81


def falling_balls(worlds=2, device="cpu", precision="float64") -> sim.Model:
    """Each world: a ball of 0.1 m that falls from 0.5 m and rolls, on a plane that all share."""
    template = sim.ModelBuilder()
    ball = template.add_body(xform=sim.transform((0, 0, 0.5)), velocity=(0.4, 0, 0, 0, 0, 0), label="ball")
    template.add_shape_sphere(ball, 0.1)
    builder = sim.ModelBuilder(gravity=-GRAVITY)
    builder.replicate(template, worlds, spacing=1.0)
    builder.add_ground_plane()
    return builder.finalize(device=device, precision=precision)


def make(model, dt=1 / 60, substeps=4, **options) -> sim.Simulation:
    return sim.Simulation(model, sim.solvers.Featherstone(model), dt, substeps, **options)


def arrays(state) -> dict:
    return {name: sim.to_numpy(array).copy() for name, array in state.arrays().items()}


def assert_same_bits(one, other):
    for name, array in arrays(one).items():
        assert array.tobytes() == sim.to_numpy(getattr(other, name)).tobytes(), name


def steps_by_hand(model, solver, dt, count):
    state, next_state, control = model.state(), model.state(), model.control()
    for _ in range(count):
        solver.step(state, next_state, control, None, dt)
        state, next_state = next_state, state
    return state


@pytest.mark.parametrize("substeps", [1, 2, 3])
@pytest.mark.parametrize("frames", [1, 60])
def test_frames_are_the_steps_that_they_stand_for(device, substeps, frames):
    model = falling_balls(device=device)
    simulation = make(model, 1 / 100, substeps)
    state = simulation.state
    simulation.step(frames)
    expected = steps_by_hand(model, simulation.solver, 1 / 100 / substeps, frames * substeps)
    assert simulation.state is state
    assert_same_bits(state, expected)


def test_a_fall_takes_as_long_as_it_should():
    """Semi-implicit Euler in free fall: z_n = z_0 - g dt^2 n (n + 1) / 2, exactly."""
    simulation = make(falling_balls(1), dt=0.01, substeps=2)
    simulation.step(20)
    n, dt = 40, 0.005
    assert sim.to_numpy(simulation.state.body_q)[0, 2] == pytest.approx(
        0.5 - GRAVITY * dt**2 * n * (n + 1) / 2, abs=1e-12
    )
    assert simulation.frame_count == 20
    np.testing.assert_allclose(simulation.time, 0.2, rtol=1e-14)
    assert sim.to_numpy(simulation.state.step_count).tolist() == [40]


def test_many_calls_are_one_call():
    model = falling_balls()
    one, many = make(model, substeps=3), make(model, substeps=3)
    one.step(31)
    for frames in (1, 0, 2, 28):
        many.step(frames)
    assert_same_bits(one.state, many.state)
    assert many.frame_count == 31


def test_debug_mode_gives_the_same_bits():
    model = falling_balls()
    graph, direct = make(model, substeps=3), make(model, substeps=3)
    graph.step(10)
    with sim.runtime.modes.debugging():
        direct.step(10)
    assert_same_bits(graph.state, direct.state)


@pytest.mark.parametrize("substeps", [1, 2])
def test_a_frame_is_captured_once_and_again_when_kernels_change(monkeypatch, device, substeps):
    """On the CPU a step from each of the two states; on a GPU a frame, from both where it is an odd number of steps."""
    model = falling_balls(device=device)
    graphs = 1 if device.is_cuda and substeps == 2 else 2
    simulation = make(model, 1 / 100, substeps)
    made = []
    capture = module.capture
    monkeypatch.setattr(module, "capture", lambda device: made.append(device) or capture(device))
    simulation.step(4)
    simulation.step(3)
    assert len(made) == graphs
    monkeypatch.setattr(type(simulation.solver), "kernel_changes", 7)
    simulation.step(4)
    simulation.step(1)
    assert len(made) == 2 * graphs
    assert_same_bits(simulation.state, steps_by_hand(model, simulation.solver, 1 / 100 / substeps, 12 * substeps))


def test_contacts_that_are_collected_change_no_bit():
    model = falling_balls()
    without, collected = make(model), make(model, contacts=model.contacts())
    for simulation in (without, collected):
        simulation.step(90)
    assert_same_bits(without.state, collected.state)
    assert sim.to_numpy(collected.contacts.count).tolist() == [1, 1]
    # at rest the plane carries the ball's weight
    weight = float(sim.to_numpy(model.body_mass)[0]) * GRAVITY
    assert sim.to_numpy(collected.contacts.force)[0, 2] == pytest.approx(weight, rel=1e-3)


@pytest.mark.parametrize("substeps", [2, 3])
def test_a_saved_run_goes_on_bit_for_bit(tmp_path, substeps):
    model = falling_balls()
    whole, first = make(model, substeps=substeps), make(model, substeps=substeps)
    whole.step(60)
    first.step(25)
    first.save(tmp_path / "run.npz")
    resumed = make(falling_balls(), substeps=substeps)
    resumed.load(tmp_path / "run.npz")
    resumed.step(35)
    assert_same_bits(whole.state, resumed.state)


def test_a_file_of_another_model_is_refused(tmp_path):
    make(falling_balls(2)).save(tmp_path / "run.npz")
    with pytest.raises(ModelError, match="another model"):
        make(falling_balls(3)).load(tmp_path / "run.npz")
    with pytest.raises(AssetError):
        make(falling_balls(2)).load(__file__)


def test_a_reset_between_steps_starts_over():
    model = falling_balls()
    simulation, fresh = make(model, substeps=3), make(model, substeps=3)
    simulation.step(7)
    sim.reset(model, simulation.state)
    simulation.step(5)
    fresh.step(5)
    np.testing.assert_array_equal(sim.to_numpy(simulation.state.body_q), sim.to_numpy(fresh.state.body_q))


def test_control_is_read_at_every_frame():
    model = falling_balls(1)
    simulation = make(model, 0.01, 1)
    simulation.step(3)
    weight = float(sim.to_numpy(model.body_mass)[0]) * GRAVITY
    simulation.control.body_f[0, 2] = weight
    before = sim.to_numpy(simulation.state.body_qd)[0, 2].copy()
    simulation.step(5)
    assert sim.to_numpy(simulation.state.body_qd)[0, 2] == pytest.approx(before, abs=1e-12)


def kept_state(model, frames=43):
    """A state of a run that is under way, the ball on the ground: warm starts and all."""
    run = make(model, 1 / 100, 1)
    run.step(frames)
    return run.state.copy()


@pytest.mark.parametrize("substeps", [1, 2, 3])
@pytest.mark.parametrize("before", [0, 1, 2, 7])
def test_a_state_that_is_set_is_gone_on_from(tmp_path, device, before, substeps):
    model = falling_balls(device=device)
    kept_state(model).save(tmp_path / "run.npz")
    simulation, fresh = make(model, 1 / 100, substeps), make(model, 1 / 100, substeps)
    state = simulation.state
    simulation.step(before)
    simulation.state = sim.State.load(model, tmp_path / "run.npz")
    fresh.load(tmp_path / "run.npz")
    assert simulation.state is state
    for frames in (0, 1, 4):
        simulation.step(frames)
        fresh.step(frames)
        assert_same_bits(simulation.state, fresh.state)
    assert simulation.frame_count == before + 5


@pytest.mark.parametrize("substeps", [1, 2, 3])
@pytest.mark.parametrize("before", [0, 1, 2])
def test_a_control_that_is_set_drives_the_steps_to_come(device, before, substeps):
    model = falling_balls(device=device)
    pushed, state = model.control(), kept_state(model)
    model.by_world(pushed.body_f)[:, 0, 0] = 3.0
    simulation, fresh = make(model, 1 / 100, substeps), make(model, 1 / 100, substeps)
    control = simulation.control
    simulation.step(before)
    simulation.state, simulation.control = state, pushed
    fresh.state.assign(state)
    fresh.control.assign(pushed)
    assert simulation.control is control
    pushed.clear()  # what was set is a copy
    simulation.step(5)
    fresh.step(5)
    assert_same_bits(simulation.state, fresh.state)
    assert float(simulation.state.body_qd[0, 0]) > float(state.body_qd[0, 0]) + 0.01


@pytest.mark.parametrize("substeps", [1, 2])
def test_a_recorder_may_set_the_state_amid_a_call(substeps):
    model = falling_balls()
    start = kept_state(model)
    simulation, fresh = make(model, 1 / 100, substeps), make(model, 1 / 100, substeps)
    simulation.recorder = Watcher(at=4, call=lambda: setattr(simulation, "state", start))
    simulation.step(8)
    fresh.state = start
    fresh.step(5)
    assert_same_bits(simulation.state, fresh.state)


def test_a_state_or_control_that_does_not_fit_is_refused():
    simulation = make(falling_balls())
    simulation.step(1)
    before = simulation.state.copy()
    other = falling_balls(3)
    sim.solvers.Featherstone(other)
    for name, given in (("state", other.state()), ("control", other.control())):
        with pytest.raises(ModelError, match=f"{name}.assign wants a {name.capitalize()}, got NoneType"):
            setattr(simulation, name, None)
        with pytest.raises(ModelError, match=f"{name}.assign: sizes differ"):
            setattr(simulation, name, given)
    assert_same_bits(simulation.state, before)


def test_what_cannot_be_set_leaves_the_run_as_it_is():
    model = falling_balls()
    simulation, untouched = make(model), make(model)
    simulation.step(2)
    values = {"dt": 0.5, "substeps": 1, "model": None, "solver": None, "contacts": model.contacts(), "frame_count": 0}
    for name, value in values.items():
        with pytest.raises(AttributeError, match=f"Simulation.{name} cannot be set; options are given to the constr"):
            setattr(simulation, name, value)
    simulation.step(3)
    untouched.step(5)
    assert_same_bits(simulation.state, untouched.state)


def test_check_names_the_world_that_went_wrong():
    model = falling_balls(3)
    simulation = make(model)
    simulation.step(2)
    assert simulation.check().ok
    simulation.model.by_world(simulation.state.joint_qd)[1, 0] = np.nan
    simulation.step(1)
    with pytest.raises(DivergenceError) as error:
        simulation.check()
    assert error.value.worlds == (1,)
    assert simulation.check("ignore").worlds == (1,)


class Watcher:
    """A recorder that keeps what it is given, and calls something at one frame."""

    def __init__(self, at=None, call=None):
        self.seen, self.at, self.call = [], at, call

    @property
    def frame_count(self):
        return len(self.seen)

    def write(self, state, seconds):
        self.seen.append((seconds, sim.to_numpy(state.body_q).copy()))
        if len(self.seen) == self.at:
            self.call()


@pytest.mark.parametrize("substeps", [1, 2])
def test_a_recorder_gets_the_start_and_every_frame(substeps):
    model = falling_balls(1)
    watcher = Watcher()
    simulation = make(model, 0.01, substeps, recorder=watcher)
    simulation.step(3)
    simulation.step(2)
    assert [seconds for seconds, _ in watcher.seen] == pytest.approx([0, 0.01, 0.02, 0.03, 0.04, 0.05])
    for frame, (_, body_q) in enumerate(watcher.seen):
        expected = steps_by_hand(model, simulation.solver, 0.01 / substeps, frame * substeps)
        np.testing.assert_array_equal(body_q, sim.to_numpy(expected.body_q))


@pytest.mark.parametrize("substeps", [1, 2])
def test_an_interrupt_leaves_a_whole_frame(substeps):
    model = falling_balls()
    simulation = make(model, 1 / 100, substeps)
    simulation.recorder = Watcher(at=4, call=lambda: os.kill(os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        simulation.step(1000)
    assert simulation.frame_count == 3
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert_same_bits(simulation.state, steps_by_hand(model, simulation.solver, 1 / 100 / substeps, 3 * substeps))
    simulation.step(2)
    assert_same_bits(simulation.state, steps_by_hand(model, simulation.solver, 1 / 100 / substeps, 5 * substeps))


@pytest.mark.parametrize("debug", [False, True])
def test_an_interrupt_in_a_long_frame_leaves_a_whole_step(monkeypatch, debug):
    model = falling_balls()
    simulation = make(model, 10.0, 1000)
    simulation.recorder = Watcher()
    simulation._make_graphs()
    name, calls = "_launch_step" if debug else "_replay", []
    advance = getattr(simulation, name)

    def interrupted(pair):
        calls.append(advance(pair))
        if len(calls) == 5:
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(simulation, name, interrupted)
    with sim.runtime.modes.debugging(debug), pytest.raises(KeyboardInterrupt):
        simulation.step(3)
    assert (simulation.frame_count, simulation.recorder.frame_count) == (0, 1)
    np.testing.assert_allclose(simulation.time, 5 * 0.01, rtol=1e-14)
    assert_same_bits(simulation.state, steps_by_hand(model, simulation.solver, 0.01, 5))


def test_a_handler_of_the_user_is_called_between_frames():
    simulation = make(falling_balls())
    simulation.recorder = Watcher(at=3, call=lambda: os.kill(os.getpid(), signal.SIGINT))
    called_at = []
    before = signal.signal(signal.SIGINT, lambda number, frame: called_at.append(simulation.frame_count))
    try:
        simulation.step(6)
    finally:
        signal.signal(signal.SIGINT, before)
    assert called_at == [2]
    assert simulation.frame_count == 6


def test_steps_in_another_thread():
    model = falling_balls()
    simulation = make(model)
    thread = threading.Thread(target=simulation.step, args=(4,))
    thread.start()
    thread.join()
    assert_same_bits(simulation.state, steps_by_hand(model, simulation.solver, 1 / 240, 16))


def test_advice_is_given_once(monkeypatch):
    model = falling_balls(1)
    solver = sim.solvers.Featherstone(model)
    asked = []
    monkeypatch.setattr(
        type(solver), "advise", lambda _, dt: asked.append(dt) or ["hinge 'knee': too stiff (5; safe: 2)"]
    )
    simulation = sim.Simulation(model, solver, 1 / 50, 4)
    with pytest.warns(UserWarning, match="Featherstone: hinge 'knee': too stiff"):
        simulation.step(2)
    simulation.step(2)
    assert asked == [pytest.approx(1 / 200)]


@pytest.mark.parametrize("dt", [0, -1, np.nan, np.inf, "fast"])
def test_a_frame_must_have_a_length(dt):
    with pytest.raises(ModelError, match="dt is"):
        make(falling_balls(1), dt=dt)


@pytest.mark.parametrize("substeps", [0, 1.5, True, "many"])
def test_substeps_must_be_a_count(substeps):
    with pytest.raises(ModelError, match="Simulation, substeps: is"):
        make(falling_balls(1), substeps=substeps)


def test_frames_must_be_a_count():
    simulation = make(falling_balls(1))
    with pytest.raises(ModelError, match="Simulation, frames: is -1"):
        simulation.step(-1)
    with pytest.raises(LaunchError, match=r"Simulation.step was called"), sim.capture("cpu"):
        simulation.step(1)
