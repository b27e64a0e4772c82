"""Groups of lanes that take several worlds find what one world at a time has, to the bit."""

from __future__ import annotations

import numpy as np
import pytest

import simengine as sim
from simengine.collision.pipeline import MANY_WORLDS, launch_of_many, worlds_of_group
from simengine.containers import to_numpy
from simengine.runtime import emulated_lanes
from tests.collision.collision_pairs import random_rotations

WORLDS = 11
SHAPES = (
    ("sphere", dict(radius=0.25)),
    ("capsule", dict(radius=0.15, half_height=0.2)),
    ("box", dict(hx=0.2, hy=0.3, hz=0.15)),
)
ROWS = (
    "shape0",
    "shape1",
    "feature",
    "parameter",
    "point0",
    "point1",
    "normal",
    "tangent",
    "distance",
    "time",
    "force",
)


def heap(bodies: int = 12, own_pair: bool = False) -> sim.ModelBuilder:
    """Free bodies piled into each other, some with two shapes; ``own_pair``: two of them as a contact pair."""
    random = np.random.default_rng(0)
    builder, shapes = sim.ModelBuilder(), []
    for i in range(bodies):
        place = sim.transform(p=random.uniform(-0.4, 0.4, 3) + [0, 0, 0.3], q=random_rotations(random, 1)[0])
        body = builder.add_body(xform=place)
        for kind, size in (SHAPES[i % 3], SHAPES[(i + 1) % 3])[: 1 + i % 2]:
            offset = sim.transform(p=random.uniform(-0.05, 0.05, 3), q=random_rotations(random, 1)[0])
            shapes.append(getattr(builder, f"add_shape_{kind}")(body, xform=offset, **size))
    if own_pair:
        builder.add_contact_pair(shapes[0], shapes[-1], margin=0.1, gap=2.0, friction=(0.5, 0.4, 0, 0, 0))
    return builder


def many(worlds: int, precision: str, device="cpu", **options):
    """Worlds of heaps on a shared ground, each disturbed, a few with fast bodies; model and state."""
    builder = sim.ModelBuilder()
    builder.replicate(heap(**options), worlds)
    builder.add_ground_plane()
    model = builder.finalize(device=device, precision=precision)
    assert model.collides_in_step
    state, random = model.state(), np.random.default_rng(1)
    poses = to_numpy(model.body_q).copy()
    poses[:, :3] += 0.05 * random.normal(size=(model.body_count, 3))
    velocity = np.zeros((worlds, model.body_count // worlds, 6), precision)
    velocity[::4, 3] = [30, -20, 10, 5, 0, 40]
    state.body_q = model.device.asarray(poses)
    state.body_qd = model.device.asarray(velocity.reshape(-1, 6))
    return model, state


def found(model, state, contacts, worlds_of_each: int | None, dt: float) -> dict[str, bytes]:
    """All arrays of Contacts, what is beyond a world's count included; None: one world at a time."""
    for name in ("count", "needed", *ROWS):
        getattr(contacts, name)[...] = -7
    arguments = dict(body_q=state.body_q, body_qd=state.body_qd, dt=dt, contacts=contacts)
    if worlds_of_each is None:
        sim.collide(model, state, contacts, dt or None)
    else:
        launch_of_many(model, [worlds_of_each])(**arguments)
    return {name: getattr(contacts, name).tobytes() for name in ("count", "needed", *ROWS)}


@pytest.mark.parametrize("own_pair", [False, True], ids=["materials", "a pair of its own"])
@pytest.mark.parametrize("dt", [0.0, 0.01])
def test_several_worlds_by_a_group_have_the_bits_of_each_alone(dt, own_pair, precision):
    model, state = many(WORLDS, precision, own_pair=own_pair)
    contacts = model.contacts()
    expected = found(model, state, contacts, None, dt)
    count, times = contacts.count.copy(), contacts.time
    assert count.min() > 20 and np.any((times > 0) & (times < 1)) == (dt > 0)
    assert np.any(contacts.parameter >= 0) == own_pair
    for worlds in (1, 2, 4, 8):
        assert found(model, state, contacts, worlds, dt) == expected
    for lanes, seed in ((1, 0), (4, 1), (32, 2)):
        with emulated_lanes(lanes, seed=seed, poison=True):
            assert found(model, state, contacts, 4, dt) == expected


@pytest.mark.parametrize("parallel", [False, True])
def test_no_capsule_that_touches_is_passed_over(parallel, precision):
    random, template, builder = np.random.default_rng(5), sim.ModelBuilder(), sim.ModelBuilder()
    for _ in range(10):
        radius, half_height = 10 ** random.uniform([-2.5, -2], [-0.3, 0.5])
        reach = dict(gap=random.choice([0, 0.01, 0.1]), margin=random.choice([0, 0.02]))
        template.add_shape_capsule(template.add_body(), radius=radius, half_height=half_height, **reach)
    builder.replicate(template, 1000)
    model = builder.finalize(device="cpu", precision=precision)
    state, contacts = model.state(), model.contacts()
    place = random.uniform(-1, 1, (model.body_count, 3)) * 10 ** random.uniform(-1, 0.7, (model.body_count, 1))
    turns = random_rotations(random, model.body_count)
    turns[: 5000 * parallel : 2] = turns[1 : 5000 * parallel + 1 : 2]
    state.body_q = np.concatenate([place, turns], 1).astype(precision)
    expected = found(model, state, contacts, None, 0.0)
    assert contacts.count.sum() > 5000
    assert found(model, state, contacts, 4, 0.0) == expected


def test_contacts_without_room_are_left_out_and_counted(precision):
    model, state = many(WORLDS, precision)
    small = model.contacts(capacity_per_world=5)
    expected = found(model, state, small, None, 0.01)
    assert np.all(small.count == 5) and small.needed.min() > 20
    for lanes in (1, 32):
        with emulated_lanes(lanes, poison=True):
            assert found(model, state, small, 4, 0.01) == expected


def test_worlds_without_contacts_and_poses_that_are_not_finite_disturb_no_other():
    model, state = many(WORLDS, "float32")
    contacts, bodies = model.contacts(), model.body_count // WORLDS
    found(model, state, contacts, 4, 0.0)
    healthy = contacts.count.copy()
    state.body_q[:bodies, 2] += 100 * (1 + np.arange(bodies))  # far apart
    state.body_q[2 * bodies : 3 * bodies] = np.nan
    expected = found(model, state, contacts, None, 0.0)
    assert list(contacts.count[[0, 2]]) == [0, 0] and np.array_equal(contacts.count[3:], healthy[3:])
    with emulated_lanes(32, poison=True):
        assert found(model, state, contacts, 4, 0.0) == expected


def test_only_many_small_worlds_share_a_group():
    def group_of(worlds: int, bodies: int):
        builder = sim.ModelBuilder()
        builder.replicate(heap(bodies), worlds)
        builder.add_ground_plane()
        return builder.finalize(device="cpu").groups[0]

    assert worlds_of_group(group_of(MANY_WORLDS - 1, 3)) == 1
    assert worlds_of_group(group_of(MANY_WORLDS, 3)) == 4
    assert worlds_of_group(group_of(MANY_WORLDS, 24)) == 1  # hundreds of pairs


@pytest.mark.gpu
@pytest.mark.parametrize("dt", [0.0, 0.01])
def test_a_gpu_finds_the_bits_of_the_cpu(dt, precision):
    results = []
    for device in ("cpu", "cuda:0"):
        model, state = many(MANY_WORLDS + 3, precision, device)
        contacts = model.contacts(capacity_per_world=64)
        for name in ROWS:
            getattr(contacts, name)[...] = 0
        sim.collide(model, state, contacts, dt or None)
        results.append({name: to_numpy(getattr(contacts, name)) for name in ("count", "needed", *ROWS)})
        if device != "cpu":
            assert model.launches["collide"].name == "collide_many"
    for name, array in results[0].items():
        assert array.tobytes() == results[1][name].tobytes(), name
