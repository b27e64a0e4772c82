"""Equal bits, islands and capacity where meshes, hulls and height fields move, and for 10,000 boxes in one world."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import simengine as sim
from simengine.enums import StatusBit
from simengine.runtime import emulated_lanes
from tests.collision.moving_scenes import Run, hash_of_contacts, hash_of_pile, pile, pile_poses

pytestmark = pytest.mark.filterwarnings("ignore:solvers.Featherstone:UserWarning")

every_ground = pytest.mark.parametrize("ground", ["mesh", "height field"])
STEPS = 60


@pytest.fixture
def threads():
    """Sets the number of threads; puts the default back at the end."""
    yield sim.set_num_threads
    sim.set_num_threads(None)


def in_a_fresh_process(*arguments) -> list[str]:
    command = [sys.executable, "-W", "ignore", "-m", "tests.collision.moving_scenes", *map(str, arguments)]
    root = Path(__file__).resolve().parents[2]
    run = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


@every_ground
def test_moving_meshes_have_the_same_bits_from_any_threads_and_process(ground, precision, threads):
    expected = Run(ground, 4, precision).step(STEPS).hashes()
    assert len(set(expected)) == 4
    for count in (1, 2):
        threads(count)
        assert Run(ground, 4, precision).step(STEPS).hashes() == expected
    assert in_a_fresh_process(ground, precision, STEPS) == expected


@pytest.mark.slow
@every_ground
@pytest.mark.parametrize("compiler", ["g++", f"{sys.executable} -m ziglang c++"], ids=["g++", "clang"])
def test_moving_meshes_have_the_same_bits_from_any_compiler(ground, precision, compiler, monkeypatch):
    """Among them bodies whose axes are parallel, where zeros of either sign come up."""
    if "ziglang" in compiler and importlib.util.find_spec("ziglang") is None:
        pytest.skip("needs the package ziglang")
    expected = Run(ground, 4, precision).step(STEPS).hashes()
    monkeypatch.setenv("CXX", compiler)
    assert in_a_fresh_process(ground, precision, STEPS) == expected


@every_ground
@pytest.mark.parametrize(("lanes", "seed"), [(1, 0), (4, 1), (32, 2)])
def test_moving_meshes_have_the_same_bits_from_any_lanes_in_any_order(ground, lanes, seed, precision):
    run, plain = Run(ground, 2, precision).step(30), Run(ground, 2, precision).step(40)
    with emulated_lanes(lanes, seed=seed, poison=True):
        run.step(10)
    assert run.hashes() == plain.hashes()
    contacts = run.model.contacts()
    sim.collide(run.model, run.state, contacts)
    assert contacts.count.min() > 8


@every_ground
def test_a_world_of_moving_meshes_alone_is_number_37_of_64(ground, precision):
    many = Run(ground, 64, precision).step(STEPS)
    alone = Run(ground, 1, precision, first=37)
    alone.state.random_key = many.state.random_key[37:38]
    assert alone.step(STEPS).hashes()[0] == many.hashes()[37]


@every_ground
def test_a_world_of_meshes_that_is_not_finite_is_named_and_disturbs_no_other(ground):
    healthy, hurt = (Run(ground, 64, "float32").step(10) for _ in range(2))
    hurt.model.by_world(hurt.state.joint_q)[21, 3] = np.nan
    for run in (healthy, hurt):
        run.step(20)
    ours, theirs = hurt.hashes(), healthy.hashes()
    assert [w for w in range(64) if ours[w] != theirs[w]] == [21]
    status = hurt.solver.check(hurt.state, "ignore")
    assert list(status.worlds) == [21] and status.bits[0] & StatusBit.NOT_FINITE
    with pytest.raises(sim.DivergenceError, match="world 21"):
        hurt.solver.check(hurt.state)


@every_ground
def test_contacts_of_meshes_without_room_are_counted_exactly_and_named(ground):
    run = Run(ground, 3, "float64").step(STEPS)
    whole, small = run.model.contacts(), run.model.contacts(capacity_per_world=5)
    for contacts in (whole, small):
        sim.collide(run.model, run.state, contacts)
    assert whole.count.min() > 5 and np.array_equal(whole.count, whole.needed)
    assert np.array_equal(small.needed, whole.count) and np.all(small.count == 5)
    for world in range(3):
        first, cut = int(whole.world_start[world]), int(small.world_start[world])
        for name in ("shape0", "shape1", "feature", "point0", "normal", "distance"):
            whole_rows, cut_rows = getattr(whole, name)[first : first + 5], getattr(small, name)[cut : cut + 5]
            assert np.array_equal(whole_rows, cut_rows)
    run.solver.step(run.state, run.next_state, run.control, small, 0.005)
    with pytest.raises(sim.CapacityError, match=str(int(whole.count.max()))):
        run.solver.check(run.next_state)


@pytest.mark.slow
def test_a_pile_of_ten_thousand_boxes_has_the_same_bits_from_threads_lanes_and_process(precision, threads):
    expected = hash_of_pile(precision)
    for count in (1, 2):
        threads(count)
        assert hash_of_pile(precision) == expected
    threads(None)
    for broad_phase in ("bvh", "dense"):
        for lanes, seed in ((1, 0), (4, 1), (32, 2)):
            with emulated_lanes(lanes, seed=seed, poison=True):
                assert hash_of_pile(precision, broad_phase) == expected
    assert in_a_fresh_process("pile", precision, 0) == [expected]


@pytest.mark.slow
def test_a_pile_of_ten_thousand_boxes_counts_what_has_no_room():
    model = pile("float32")
    state, whole = model.state(), model.contacts()
    state.body_q = pile_poses("float32")
    sim.collide(model, state, whole)
    count = int(whole.count[0])
    assert count == int(whole.needed[0]) > 50_000
    small = model.contacts(capacity_per_world=20_000)
    sim.collide(model, state, small)
    assert int(small.count[0]) <= 20_000 and int(small.needed[0]) == count


@pytest.mark.slow
def test_a_call_with_poses_that_are_not_finite_leaves_nothing_behind():
    model = pile("float32")
    state, contacts = model.state(), model.contacts()
    state.body_q = pile_poses("float32")
    sim.collide(model, state, contacts)
    again = model.contacts()
    bad = model.state()
    bad.body_q = np.full_like(pile_poses("float32"), np.nan)
    sim.collide(model, bad, again)
    assert int(again.count[0]) == 0
    sim.collide(model, state, again)
    assert hash_of_contacts(model, again) == hash_of_contacts(model, contacts)
