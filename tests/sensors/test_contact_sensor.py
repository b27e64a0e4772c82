"""Sums of contact forces over bodies against statics, against sums in NumPy, and what a sensor refuses."""

import numpy as np
import pytest

import simengine as sim
from simengine.builder.frames import rotation_matrix
from simengine.errors import ModelError

WEIGHT = 64.0 * 9.81  # of a box of 0.4 m and the default density


def stack(count: int = 3) -> sim.ModelBuilder:
    """Boxes on each other, on a plane of their own world."""
    builder = sim.ModelBuilder()
    for i in range(count):
        body = builder.add_body(xform=(0, 0, 0.2 + 0.4 * i, 0, 0, 0, 1), label=f"box_{i}")
        builder.add_shape_box(body, 0.2, 0.2, 0.2)
    builder.add_shape_plane(-1)
    return builder


def heap() -> sim.ModelBuilder:
    """Boxes and balls that overlap a little, with centres of mass off their origins."""
    builder, rng = sim.ModelBuilder(), np.random.default_rng(4)
    for i in range(8):
        turn = sim.quat_from_axis_angle(rng.normal(size=3), rng.uniform(0, 3))
        place = (*rng.uniform(-0.2, 0.2, 2), 0.05 + 0.06 * i)
        body = builder.add_body(
            xform=sim.transform(place, turn), velocity=tuple(rng.normal(size=6)), label=f"thing_{i}"
        )
        offset = sim.transform(tuple(rng.uniform(-0.05, 0.05, 3)))
        if i % 2:
            builder.add_shape_box(body, 0.12, 0.1, 0.08, xform=offset, gap=0.02)
        else:
            builder.add_shape_sphere(body, 0.12, xform=offset, gap=0.02)
    builder.add_shape_plane(-1)
    return builder


def stepped(model, steps: int = 0, dt: float = 0.005):
    """The contacts of a step behind ``steps`` others, with their forces, and the state that they were found at."""
    solver, control = sim.solvers.Featherstone(model, tolerance=1e-12), model.control()
    state, after, contacts = model.state(), model.state(), model.contacts()
    for _ in range(steps):
        solver.step(state, after, control, None, dt)
        state, after = after, state
    sim.collide(model, state, contacts)
    solver.step(state, after, control, contacts, dt)
    return contacts, state


def pose(state, body: int):
    """Rotation matrix and place of a body, -1 the world."""
    return (np.eye(3), np.zeros(3)) if body < 0 else (rotation_matrix(state.body_q[body, 3:]), state.body_q[body, :3])


def sums(model, contacts, state, world: int, body: int, others, threshold: float = 0.0):
    """Force, torque, count and greatest normal force on a body of ``others`` (None: all), by plain sums."""
    force, torque, count, greatest = np.zeros(3), np.zeros(3), 0, 0.0
    turn, place = pose(state, body)
    centre = place if body < 0 else place + turn @ model.body_com[body]
    first = int(contacts.world_start[world])
    for i in range(first, first + int(contacts.count[world])):
        ends = [int(model.shape_body[shape[i]]) for shape in (contacts.shape0, contacts.shape1)]
        if body not in ends or (others is not None and ends[1 - ends.index(body)] not in others):
            continue
        points = [contacts.point0[i], contacts.point1[i]]
        for k, end in enumerate(ends):
            turn, place = pose(state, end)
            points[k] = place + turn @ points[k]
        f = contacts.force[i] * (1 if ends.index(body) else -1)
        force, torque = force + f, torque + np.cross(np.mean(points, 0) - centre, f)
        normal = contacts.force[i] @ contacts.normal[i]
        count, greatest = count + (normal > threshold), max(greatest, normal)
    return force, torque, count, greatest


def test_each_box_of_a_stack_feels_its_own_weight_and_what_passes_through_it():
    model = stack().finalize(device="cpu", precision="float64")
    contacts, state = stepped(model, 1500)
    sensor = sim.sensors.ContactSensor(model, "box_*", ["box_*", -1])
    readings = sensor.read(contacts, state)
    assert readings.pairs.shape == (1, 3, 4, 3)
    up = readings.pairs[0, :, :, 2] / WEIGHT
    wanted = [[0, -2, 0, 3], [2, 0, -1, 0], [0, 1, 0, 0]]
    assert up == pytest.approx(np.array(wanted), abs=1e-5)
    assert readings.force[0] == pytest.approx(np.tile([0, 0, WEIGHT], (3, 1)), abs=1e-5 * WEIGHT)
    assert readings.torque == pytest.approx(0, abs=1e-4 * WEIGHT)
    assert readings.count.tolist() == [[8, 8, 4]] and readings.in_contact.all()
    assert readings.greatest[0] == pytest.approx(np.array([3, 2, 1]) * WEIGHT / 4, rel=1e-3)


def test_the_torque_about_the_centre_of_mass_balances_what_turns_a_body_at_rest():
    """A box with its mass off the middle, at rest under 20 N m about y and 10 N along x at its centre of mass."""
    builder = sim.ModelBuilder()
    body = builder.add_body(xform=(0, 0, 0.2, 0, 0, 0, 1), mass=50, com=(0.05, 0.02, -0.04), inertia=(1, 1, 1))
    builder.add_shape_box(body, 0.2, 0.2, 0.2, density=0)
    builder.add_ground_plane()
    model = builder.finalize(device="cpu", precision="float64")
    solver, control = sim.solvers.Featherstone(model, tolerance=1e-13, impratio=100), model.control()
    control.body_f[0] = [10, 0, 0, 0, 20, 0]
    state, after, contacts = model.state(), model.state(), model.contacts()
    for _ in range(1001):
        sim.collide(model, state, contacts)
        solver.step(state, after, control, contacts, 0.005)
        state, after = after, state
    readings = sim.sensors.ContactSensor(model, body).read(contacts, after)
    assert readings.force[0, 0] == pytest.approx([-10, 0, 50 * 9.81], abs=1e-3)
    assert readings.torque[0, 0] == pytest.approx([0, -20, 0], abs=1e-3)


@pytest.mark.parametrize("other, columns", [(None, 0), (["thing_1", "thing_[2-5]"], 5), (-1, 1), ([7, 0], 2)])
def test_all_readings_are_the_plain_sums(other, columns):
    builder = sim.ModelBuilder()
    builder.replicate(heap(), 2)
    model = builder.finalize(device="cpu", precision="float64")
    model.body_com[:, 0] += np.linspace(0, 0.03, model.body_count)
    contacts, state = stepped(model, 3)
    sensor = sim.sensors.ContactSensor(model, "thing_*", other, threshold=2.0)
    readings = sensor.read(contacts, state)
    assert (readings.pairs is None) == (columns == 0)
    touched = 0
    for world in range(2):
        for i in range(8):
            body = int(sensor.bodies[world, i])
            assert body == 8 * world + i
            others = None if columns == 0 else [int(o) for o in sensor.others[world]]
            force, torque, count, greatest = sums(model, contacts, state, world, body, others, 2.0)
            assert readings.force[world, i] == pytest.approx(force, abs=1e-9)
            assert readings.torque[world, i] == pytest.approx(torque, abs=1e-9)
            assert (readings.count[world, i], readings.in_contact[world, i]) == (count, count > 0)
            assert readings.greatest[world, i] == pytest.approx(greatest, abs=1e-9)
            for k in range(columns):
                assert readings.pairs[world, i, k] == pytest.approx(
                    sums(model, contacts, state, world, body, [others[k]])[0], abs=1e-9
                )
            touched += count
    assert touched > 1


def test_the_world_is_a_sensor_too():
    """It feels the weight of all, and about the origin the moment of where it rests."""
    builder = stack(1)
    builder.bodies[0].xform = (2.0, 0, 0.2, 0, 0, 0, 1)
    model = builder.finalize(device="cpu", precision="float64")
    contacts, state = stepped(model, 600)
    readings = sim.sensors.ContactSensor(model, -1, "box_0").read(contacts, state)
    assert readings.force[0, 0] == pytest.approx([0, 0, -WEIGHT], abs=1e-5 * WEIGHT)
    assert readings.torque[0, 0] == pytest.approx([0, 2 * WEIGHT, 0], abs=1e-4 * WEIGHT)
    assert readings.pairs[0, 0, 0] == pytest.approx(readings.force[0, 0])


def test_without_a_state_torques_are_zero_and_all_else_is_the_same():
    model = heap().finalize(device="cpu")
    contacts, state = stepped(model, 3)
    sensor = sim.sensors.ContactSensor(model, "*", "*")
    with_state = {name: values.copy() for name, values in vars(sensor.read(contacts, state)).items()}
    without = vars(sensor.read(contacts))
    assert np.abs(with_state.pop("torque")).max() > 0 and not without["torque"].any()
    for name, values in with_state.items():
        np.testing.assert_array_equal(without[name], values)


def test_forces_are_zero_until_a_step_writes_them():
    model = stack().finalize(device="cpu")
    contacts, state = model.contacts(), model.state()
    sim.collide(model, state, contacts)
    readings = sim.sensors.ContactSensor(model, "*").read(contacts, state)
    assert contacts.count[0] > 0 and not readings.force.any() and not readings.in_contact.any()


def test_far_from_the_origin_torques_keep_their_digits():
    """In single precision 1,000 m away: the torque of known forces, whose arms are differences of large numbers."""
    readings = []
    for precision, away in (("float32", 1000.0), ("float64", 0.0)):
        builder = stack(2)
        for body in builder.bodies:
            body.xform = (away, away, *body.xform[2:])
        model = builder.finalize(device="cpu", precision=precision)
        contacts, state = model.contacts(), model.state()
        sim.collide(model, state, contacts)
        contacts.force[:] = [1.0, -2.0, 3.0]
        readings.append(sim.sensors.ContactSensor(model, "*").read(contacts, state).torque[0, 1].astype(float))
    assert readings[0] == pytest.approx(readings[1], rel=1e-5)


def test_what_is_not_a_number_stays_in_its_world():
    builder = sim.ModelBuilder()
    builder.replicate(heap(), 3)
    model = builder.finalize(device="cpu")
    contacts, state = stepped(model, 3)
    sensor = sim.sensors.ContactSensor(model, "thing_*", -1)
    before = {name: values.copy() for name, values in vars(sensor.read(contacts, state)).items()}
    first, end = (int(contacts.world_start[i]) for i in (1, 2))
    contacts.force[first:end] = np.nan
    contacts.shape0[first:end:2] = 1 << 30
    state.body_q[8:16] = np.inf
    after = vars(sensor.read(contacts, state))
    for name, values in before.items():
        np.testing.assert_array_equal(after[name][[0, 2]], values[[0, 2]])


def test_shapes_that_are_not_of_the_world_and_counts_beyond_the_slab_are_passed_over():
    model = heap().finalize(device="cpu")
    contacts, state = stepped(model, 3)
    sensor = sim.sensors.ContactSensor(model, "*")
    used = int(contacts.count[0])
    contacts.force[:] = 1.0
    contacts.shape1[:used] = [-5, 1 << 30, 9][: min(used, 3)] + [-1] * (used - 3)
    contacts.shape1[used:] = -1
    contacts.count[0] = 1 << 30
    assert not sensor.read(contacts, state).force.any()


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_bits_do_not_depend_on_threads_or_on_other_worlds_and_a_capture_replays(precision):
    one, many = heap(), sim.ModelBuilder()
    many.replicate(heap(), 5)
    results = []
    for builder in (one, many):
        model = builder.finalize(device="cpu", precision=precision)
        contacts, state = stepped(model, 3)
        sensor = sim.sensors.ContactSensor(model, "thing_*", ["thing_*", -1])
        results.append([values.copy() for values in vars(sensor.read(contacts, state)).values()])
    for alone, among in zip(*results, strict=True):
        for world in range(5):
            np.testing.assert_array_equal(among[world], alone[0])
    try:
        sim.set_num_threads(1)
        np.testing.assert_array_equal(sensor.read(contacts, state).pairs, results[1][-1])
    finally:
        sim.set_num_threads(None)
    with sim.capture("cpu") as graph:
        sensor.read(contacts, state)
    contacts.force *= 2
    graph.launch()
    np.testing.assert_array_equal(sensor.readings.force, 2 * results[1][0])


@pytest.mark.parametrize(
    ("body", "options", "message"),
    [
        ("nobody", {}, "no body label matches 'nobody'"),
        (9, {}, "body: got 9"),
        (-2, {}, "body: got -2"),
        (True, {}, "body: got True"),
        (1.5, {}, "body: got 1.5"),
        ([], {}, "body: is empty"),
        (["thing_0", 0], {}, "names 'thing_0' twice"),
        (0, {"other": [-1, -1]}, "other: names the world twice"),
        (0, {"threshold": -1}, "threshold"),
    ],
)
def test_bad_sensors_are_refused(body, options, message):
    builder = sim.ModelBuilder()
    builder.replicate(heap(), 2)
    model = builder.finalize(device="cpu")
    with pytest.raises(ModelError, match=message):
        sim.sensors.ContactSensor(model, body, **options)


def test_a_label_must_match_equally_many_bodies_of_each_world():
    builder = sim.ModelBuilder()
    builder.replicate(stack(2), 2)
    builder.replicate(stack(3), 1)
    model = builder.finalize(device="cpu")
    assert sim.sensors.ContactSensor(model, "box_[01]").bodies.tolist() == [[0, 1], [2, 3], [4, 5]]
    with pytest.raises(ModelError, match="'box_2' matches 0 bodies in world 0 and 1 in world 2"):
        sim.sensors.ContactSensor(model, 0, "box_2")
    with pytest.raises(ModelError, match="body: got 2"):
        sim.sensors.ContactSensor(model, 2)


def test_containers_of_another_model_are_refused():
    model, other = stack().finalize(device="cpu"), stack().finalize(device="cpu")
    sensor = sim.sensors.ContactSensor(model, "*")
    with pytest.raises(ModelError, match="the contacts belong to another model; make them with"):
        sensor.read(other.contacts())
    with pytest.raises(ModelError, match="belongs to another model"):
        sensor.read(model.contacts(), other.state())
    with pytest.raises(ModelError, match="wants a Model"):
        sim.sensors.ContactSensor(stack(), "*")
