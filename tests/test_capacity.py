"""Room for contacts that runs out is told: which worlds, how many contacts there were, what to ask for."""

import re

import numpy as np
import pytest

import simengine as sim
from simengine.enums import StatusBit

DT = 0.005


def boxes(counts, precision="float64", device="cpu") -> sim.Model:
    """One world for each of ``counts``: so many boxes apart from each other on the ground, with four contacts each."""
    builder = sim.ModelBuilder()
    for count in counts:
        world = sim.ModelBuilder()
        for i in range(count):
            body = world.add_body(xform=sim.transform((i, 0, 0.0999)))
            world.add_shape_box(body, 0.1, 0.1, 0.1)
        builder.add_builder(world)
    builder.add_ground_plane()
    return builder.finalize(device=device, precision=precision)


def advance(model, solver, contacts, steps=1):
    """The state after some steps from the model's initial one."""
    state, other, control = model.state(), model.state(), model.control()
    for _ in range(steps):
        if contacts is not None:
            sim.collide(model, state, contacts)
        solver.step(state, other, control, contacts, DT)
        state, other = other, state
    return state


def test_worlds_that_lack_room_are_named_with_the_exact_need(precision, device):
    model = boxes((1, 3, 2), precision, device)
    solver, contacts = sim.solvers.Featherstone(model), model.contacts(capacity_per_world=5)
    state = advance(model, solver, contacts, 3)
    assert sim.to_numpy(contacts.count).tolist() == [4, 5, 5]
    assert sim.to_numpy(contacts.needed).tolist() == [4, 12, 8]
    with pytest.raises(sim.CapacityError) as caught:
        solver.check(state)
    message = str(caught.value)
    assert "worlds 1, 2" in message and "12 were needed, the slab holds 5" in message
    assert (caught.value.buffer, caught.value.needed, caught.value.had) == ("contacts", 12, 5)
    status = solver.check(state, "ignore")
    assert status.worlds == (1, 2) and status.bits == (StatusBit.CONTACT_OVERFLOW,) * 2


def test_what_the_message_asks_for_is_enough_and_one_less_is_not():
    model = boxes((3, 1))
    solver = sim.solvers.Featherstone(model)
    with pytest.raises(sim.CapacityError) as caught:
        solver.check(advance(model, solver, model.contacts(capacity_per_world=2)))
    enough = int(re.search(r"capacity_per_world=(\d+)", str(caught.value))[1])
    full = advance(model, solver, model.contacts(capacity_per_world=enough), 20)
    assert solver.check(full).ok
    inside = advance(model, solver, None, 20)
    assert full.joint_q.tobytes() == inside.joint_q.tobytes() and full.joint_qd.tobytes() == inside.joint_qd.tobytes()
    with pytest.raises(sim.CapacityError, match="world 0"):
        solver.check(advance(model, solver, model.contacts(capacity_per_world=enough - 1)))


def test_the_default_room_and_contacts_found_within_the_step_never_run_out():
    """Boxes turned about the vertical in one place, so that most pairs touch with octagons, the most they can."""
    builder = sim.ModelBuilder()
    for i in range(6):
        turn = sim.quat_from_axis_angle((0, 0, 1), 0.25 * i)
        builder.add_shape_box(builder.add_body(xform=sim.transform((0, 0, 0.08 + 0.001 * i), turn)), 0.1, 0.1, 0.1)
    builder.add_ground_plane()
    model = builder.finalize(device="cpu", precision="float64")
    solver, contacts = sim.solvers.Featherstone(model), model.contacts()
    state, inside = advance(model, solver, contacts), advance(model, solver, None)
    assert 100 < contacts.count[0] == contacts.needed[0] <= contacts.capacity[0] == 6 * 4 + 15 * 8
    assert not (state.status[0] | inside.status[0]) & StatusBit.CONTACT_OVERFLOW


def test_a_world_with_room_is_not_disturbed_by_one_without():
    model = boxes((1, 3))
    solver = sim.solvers.Featherstone(model)
    short = advance(model, solver, model.contacts(capacity_per_world=4), 50)
    full = advance(model, solver, model.contacts(), 50)
    assert short.status.tolist() == [0, StatusBit.CONTACT_OVERFLOW]
    assert short.joint_q[:7].tobytes() == full.joint_q[:7].tobytes()
    assert np.abs(short.joint_q[7:] - full.joint_q[7:]).max() > 1e-3  # a box without its contacts falls


def test_the_report_stays_until_the_reset_though_later_steps_have_room():
    model = boxes((2,))
    solver, contacts = sim.solvers.Featherstone(model), model.contacts(capacity_per_world=5)
    state, other, control = model.state(), model.state(), model.control()
    sim.collide(model, state, contacts)
    solver.step(state, other, control, contacts, DT)
    other.joint_q[2] = other.joint_q[9] = 5.0  # in the air
    sim.eval_fk(model, other)
    sim.collide(model, other, contacts)
    solver.step(other, state, control, contacts, DT)
    assert contacts.needed[0] == 0
    with pytest.raises(sim.CapacityError, match=r"world 0 \(at an earlier step.*no more than 16 can come"):
        solver.check(state)
    sim.reset(model, state)
    assert solver.check(state).ok


def test_a_warning_says_the_same():
    model = boxes((2,))
    solver = sim.solvers.Featherstone(model)
    state = advance(model, solver, model.contacts(capacity_per_world=1))
    with pytest.warns(UserWarning, match="left out in world 0: 8 were needed, the slab holds 1"):
        solver.check(state, "warn")


def test_a_simulation_reports_it():
    model = boxes((1, 2))
    solver = sim.solvers.Featherstone(model)
    simulation = sim.Simulation(model, solver, DT, contacts=model.contacts(capacity_per_world=6))
    simulation.step(3)
    with pytest.raises(sim.CapacityError, match="world 1: 8 were needed, the slab holds 6"):
        simulation.check()


@pytest.mark.parametrize("capacity", [0, -1, 2.5, "12", True])
def test_a_capacity_that_is_no_positive_number_is_refused(capacity):
    with pytest.raises(sim.ModelError, match="capacity_per_world must be a positive integer"):
        boxes((1,)).contacts(capacity)


def test_a_capacity_beyond_all_indices_is_refused_before_anything_is_allocated():
    with pytest.raises(sim.ModelError, match="give a lower capacity_per_world"):
        boxes((1, 1, 1)).contacts(10**9)


@pytest.mark.parametrize(
    ("name", "index", "value", "told"),
    [
        ("count", 1, -5, r"contacts\.count\[1\] is -5; it must be 0 or more"),
        ("shape1", 7, 99, r"contacts\.shape1\[7\] is 99, which is no shape of world 1"),
        ("shape0", 8, -1, r"contacts\.shape0\[8\] is -1, which is no shape of world 1"),
        ("shape0", 8, 0, r"contacts\.shape0\[8\] is 0, which is no shape of world 1"),
        ("parameter", 9, 2, r"contacts\.parameter\[9\] is 2, which is no contact pair of world 1"),
    ],
)
def test_contacts_filled_in_wrong_are_named_and_no_more_room_is_asked_for(name, index, value, told):
    model = boxes((1, 1))
    solver, contacts = sim.solvers.Featherstone(model), model.contacts(capacity_per_world=6)
    state, other = model.state(), model.state()
    sim.collide(model, state, contacts)
    getattr(contacts, name)[index] = value
    solver.step(state, other, model.control(), contacts, DT)
    with pytest.raises(sim.CapacityError, match=f"left out in world 1: {told}") as caught:
        solver.check(other)
    assert "capacity_per_world" not in str(caught.value)
    sim.collide(model, state, contacts)  # right again: what was wrong is no longer seen, but room was not the cause
    with pytest.raises(sim.CapacityError, match="at an earlier step") as caught:
        solver.check(other)
    assert "capacity_per_world" not in str(caught.value)
