"""World launches: arguments are exchanged, launches and memory are not made anew, modes and captures keep apart."""

import gc
import itertools
import threading
import weakref

import numpy as np
import pytest

import simengine as sim
from simengine import structs
from simengine.errors import KernelCompileError, LaunchError
from simengine.runtime import launch, modes
from simengine.runtime.world_launch import lanes_for

DT = 1e-3


@pytest.fixture
def model():
    """Two batch groups: a ball that falls, and two of them."""
    one, two = sim.ModelBuilder(), sim.ModelBuilder()
    for builder, balls in ((one, 1), (two, 2)):
        for i in range(balls):
            builder.add_shape_sphere(builder.add_body(xform=sim.transform((i, 0, 1))), radius=0.1)
    builder = sim.ModelBuilder()
    builder.replicate(one, 2)
    builder.replicate(two, 2)
    return builder.finalize(device="cpu", precision="float64")


@pytest.fixture
def solver(model):
    return sim.solvers.Featherstone(model, specialise=False)


@pytest.fixture
def made(monkeypatch):
    """Launches that are prepared from now on."""
    found, init = [], launch.CpuLaunch.__init__

    def note(self, *arguments):
        init(self, *arguments)
        found.append(self.label)

    monkeypatch.setattr(launch.CpuLaunch, "__init__", note)
    return found


def fall(steps):
    """Height of a ball after so many semi-implicit steps from 1 m at rest."""
    return 1 - 9.81 * DT**2 * steps * (steps + 1) / 2


def test_a_rollout_over_many_states_prepares_one_launch_for_each_group(model, solver, made):
    states, control = [model.state() for _ in range(101)], model.control()
    for before, after in itertools.pairwise(states):
        solver.step(before, after, control, None, DT)
    assert made.count("featherstone_step") == len(model.groups) == 2
    for steps in (0, 1, 50, 100):
        np.testing.assert_allclose(states[steps].body_q[:, 2], fall(steps), rtol=1e-12)


def test_kinematics_collisions_and_resets_prepare_one_launch_for_each_group(model, made):
    states, contacts = [model.state() for _ in range(5)], model.contacts()
    for state in states:
        sim.collide(model, state, contacts)
        sim.eval_fk(model, state)
        sim.eval_bias_force(model, state)
        sim.reset(model, state)
    counts = {label: made.count(label) for label in ("collide", "eval_fk", "eval_bias_force", "reset")}
    assert counts == dict.fromkeys(counts, 2)


def test_modes_that_come_on_after_the_first_step_act(model, solver):
    state, other, control = model.state(), model.state(), model.control()
    solver.step(state, other, control, None, DT)
    state.joint_qd[3] = np.nan
    with modes.debugging(), pytest.raises(LaunchError, match="state_out.* is NaN, world 0"):
        solver.step(state, other, control, None, DT)
    with modes.debugging():
        sim.eval_fk(model, model.state())
        with pytest.raises(LaunchError, match="not finite"):
            sim.eval_fk(model, state)


def test_states_that_come_and_go_in_debug_are_the_ones_that_are_watched(model, solver):
    states, control = [model.state() for _ in range(4)], model.control()
    with modes.debugging():
        for before, after in itertools.pairwise(states):
            solver.step(before, after, control, None, DT)
    np.testing.assert_allclose(states[3].body_q[:, 2], fall(3), rtol=1e-12)


def test_contacts_are_given_left_out_and_given_again(model, solver):
    state, other, control, contacts = model.state(), model.state(), model.control(), model.contacts()
    for given in (contacts, None, contacts):
        solver.step(state, other, control, given, DT)
        np.testing.assert_allclose(other.body_q[:, 2], fall(1), rtol=1e-12)


def test_a_graph_keeps_the_containers_and_dt_that_it_captured(model, solver):
    states, control = [model.state() for _ in range(4)], model.control()
    solver.step(states[0], states[1], control, None, DT)
    with sim.capture("cpu") as graph:
        solver.step(states[0], states[1], control, None, DT)
        solver.step(states[1], states[2], control, None, DT)
    solver.step(states[2], states[3], control, None, 10 * DT)
    kept = weakref.ref(states[1])
    del states[1]
    gc.collect()
    assert kept() is not None
    states[1].body_q[:] = 0
    graph.launch()
    np.testing.assert_allclose(states[1].body_q[:, 2], fall(2), rtol=1e-12)


def test_no_more_than_the_last_containers_are_kept_alive(model, solver):
    states, control = [model.state() for _ in range(5)], model.control()
    for before, after in itertools.pairwise(states):
        solver.step(before, after, control, None, DT)
    kept = [weakref.ref(state) for state in states]
    del states, before, after
    gc.collect()
    assert [reference() is not None for reference in kept] == [False, False, False, True, True]


def test_threads_do_not_mix_their_arguments(model):
    """Each thread poses its own state over and over."""
    wrong = []

    def work(height):
        state = model.state()
        state.joint_q[2::7] = height
        for _ in range(300):
            state.body_q[:] = 0
            sim.eval_fk(model, state)
            if not np.all(state.body_q[:, 2] == height):
                wrong.append(height)

    threads = [threading.Thread(target=work, args=(float(i),)) for i in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def on_the_ground(add_shape) -> tuple[sim.Model, sim.solvers.Featherstone]:
    builder = sim.ModelBuilder()
    add_shape(builder, builder.add_body(xform=sim.transform((0, 0, 1))))
    builder.add_ground_plane()
    model = builder.finalize(device="cpu")
    return model, sim.solvers.Featherstone(model, specialise=False)


def first_step(model, solver):
    solver.step(model.state(), model.state(), model.control(), None, DT)


def test_what_a_first_step_needs_is_compiled_at_the_same_time(monkeypatch):
    """The compilations of collision and of the step wait for each other: one by one they would not end."""
    both, compiled = threading.Barrier(2, timeout=20), []

    def compile_beside_the_other(kernel, *arguments):
        both.wait()
        compiled.append(kernel.name)

    monkeypatch.setattr(sim.Kernel, "compile_into_cache", compile_beside_the_other)
    first_step(*on_the_ground(lambda builder, body: builder.add_shape_cone(body, 0.1, 0.2)))
    assert sorted(compiled) == ["collide_joints", "featherstone_step"]


def test_a_step_that_collides_by_itself_has_nothing_to_compile_beside_it(monkeypatch):
    monkeypatch.setattr(sim.Kernel, "compile_into_cache", lambda *arguments: pytest.fail("compiled in a thread"))
    first_step(*on_the_ground(lambda builder, body: builder.add_shape_sphere(body, 0.1)))


def test_what_does_not_compile_beside_another_is_told(monkeypatch):
    def fail(kernel, *arguments):
        raise KernelCompileError("no room", kernel=kernel.name)

    monkeypatch.setattr(sim.Kernel, "compile_into_cache", fail)
    with pytest.raises(KernelCompileError, match="collide_joints.*no room"):
        first_step(*on_the_ground(lambda builder, body: builder.add_shape_cone(body, 0.1, 0.2)))


def test_what_is_passed_for_a_container_that_is_not_given_is_long_enough():
    for owner in structs.OWNERS:
        assert structs.struct_dtype(owner).itemsize <= launch.NOTHING.nbytes
    assert not launch.NOTHING.any()


def test_lanes_follow_the_size_of_a_world():
    assert [lanes_for(count) for count in (1, 4, 5, 16, 17, 100)] == [4, 4, 8, 16, 32, 32]
