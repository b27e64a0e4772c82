"""Worlds are islands: whatever is put into one of 64, the others keep their bits, and a broken one is named."""

import functools

import numpy as np
import pytest

import simengine as sim
from benchmarks.same_bits import Run
from simengine.enums import StatusBit
from simengine.runtime import emulated_lanes

# the solver warns of the masses that a test breaks
pytestmark = pytest.mark.filterwarnings("ignore:solvers.Featherstone:UserWarning")

SCENE, WORLDS, SICK, STEPS = "quadruped", 64, 37, 40
LINEAR, ANGULAR, JOINT = 1, 4, 9  # a dof of the base's velocity, of its spin, of a knee


def into(container: str, array: str, place, value):
    """What writes ``value`` into the entries ``place`` of the sick world's part of ``run.<container>.<array>``."""

    def spoil(run):
        found = getattr(getattr(run, container), array)
        part = found if len(found) == run.model.world_count else run.model.by_world(found)
        part[SICK if len(part) == WORLDS else len(part) // 2, place] = value

    return spoil


BROKEN = {
    "nan position": into("state", "joint_q", 2, np.nan),
    "nan joint angle": into("state", "joint_q", 9, np.nan),
    "infinite position": into("state", "joint_q", 0, np.inf),
    "nan speed": into("state", "joint_qd", LINEAR, np.nan),
    "speed -inf": into("state", "joint_qd", ANGULAR, -np.inf),
    "speed 1e20": into("state", "joint_qd", LINEAR, 1e20),
    "spin 1e20": into("state", "joint_qd", ANGULAR, 1e20),
    "joint rate 1e20": into("state", "joint_qd", JOINT, 1e20),
    "everything nan": into("state", "joint_q", slice(None), np.nan),
    "nan force": into("control", "body_f", (0, 2), np.nan),
    "nan mass": into("model", "body_mass", 0, np.nan),
    "negative mass": into("model", "body_mass", 0, -5.0),
    "nan gravity": into("model", "gravity", 2, np.nan),
}
"""What makes numbers of a world not finite."""

ODD = {
    "position 1e30": into("state", "joint_q", slice(0, 3), 1e30),
    "zero quaternion": into("state", "joint_q", slice(3, 7), 0.0),
    "huge quaternion": into("state", "joint_q", slice(3, 7), 1e30),
    "denormal speeds": into("state", "joint_qd", slice(None), 1e-42),
    "negative zeros": into("state", "joint_qd", slice(None), -0.0),
    "nan warm start": into("state", "featherstone_qacc", slice(None), np.nan),
    "friction -1": into("model", "shape_friction", slice(None), -1.0),
}
"""What a world may survive."""


def run_of(precision: str, device, worlds: int = WORLDS, **options) -> Run:
    return Run(SCENE, worlds, device, precision, **options)


@functools.cache
def healthy(precision: str, device, worlds: int = WORLDS) -> list[str]:
    """Hashes of a run in which nothing is spoilt; its worlds report nothing."""
    run = run_of(precision, device, worlds)
    run.step(STEPS)
    assert run.solver.check(run.state).ok
    return run.hashes()


def others(hashes: list[str], sick: int = SICK) -> list[str]:
    return hashes[:sick] + hashes[sick + 1 :]


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_world_is_named_and_the_others_keep_their_bits(kind, precision, device):
    run = run_of(precision, device)
    BROKEN[kind](run)
    run.step(STEPS)
    assert others(run.hashes()) == others(healthy(precision, device))
    words = f"not finite in world {SICK}, now first joint_q.*; world {SICK} first reported at step 1"
    with pytest.raises(sim.DivergenceError, match=words) as caught:
        run.solver.check(run.state)
    assert caught.value.worlds == (SICK,) and caught.value.step == 1
    status = run.solver.check(run.state, "ignore")
    assert status.worlds == (SICK,) and status.bits[0] & StatusBit.NOT_FINITE


@pytest.mark.parametrize("kind", ODD)
def test_an_odd_world_disturbs_no_other(kind, precision, device):
    run = run_of(precision, device)
    ODD[kind](run)
    run.step(STEPS)
    assert others(run.hashes()) == others(healthy(precision, device))
    assert set(run.solver.check(run.state, "ignore").worlds) <= {SICK}


@pytest.mark.parametrize("lanes", [1, 4, 32])
@pytest.mark.parametrize("kind", ["everything nan", "speed 1e20", "nan mass"])
def test_neighbours_on_emulated_lanes_keep_their_bits(kind, lanes, precision):
    """Three worlds, the sick one in the middle: the memory of a group passes from one world to the next."""
    plain, run = (run_of(precision, "cpu", worlds=3) for _ in range(2))
    BROKEN[kind](plain)
    BROKEN[kind](run)
    plain.step(STEPS)
    with emulated_lanes(lanes, seed=lanes):
        run.step(STEPS)
    assert run.hashes() == plain.hashes()
    assert others(run.hashes(), sick=1) == others(healthy(precision, "cpu", 3), sick=1)


def test_broken_contacts_of_one_world_disturb_no_other(precision, device):
    run, clean = (run_of(precision, device, collide=True) for _ in range(2))
    for each in (run, clean):
        each.step(10)
        sim.collide(each.model, each.state, each.contacts)
    first = int(run.contacts.world_start[SICK])
    assert int(run.contacts.count[SICK]) > 0
    run.contacts.normal[first] = np.nan
    for each in (run, clean):
        each.solver.step(each.state, each.next_state, each.control, each.contacts, 0.005)
        each.state, each.next_state = each.next_state, each.state
        each.step(10)
    assert others(run.hashes()) == others(clean.hashes())
    assert run.solver.check(run.state, "ignore").worlds == (SICK,)


@pytest.mark.parametrize("count", [-1, 2**31 - 1])
def test_a_wrong_count_of_contacts_in_one_world_disturbs_no_other(count, device):
    """Contacts may be written by the user: a count that the slab cannot hold stays that world's problem."""
    run, clean = (run_of("float32", device, collide=True) for _ in range(2))
    for each in (run, clean):
        each.step(10)
        sim.collide(each.model, each.state, each.contacts)
    run.contacts.count[SICK] = count
    for each in (run, clean):
        each.solver.step(each.state, each.next_state, each.control, each.contacts, 0.005)
        each.state, each.next_state = each.next_state, each.state
    assert others(run.hashes()) == others(clean.hashes())
    assert run.solver.check(run.state, "ignore").worlds == (SICK,)


def test_several_broken_worlds_are_all_named(device):
    run = run_of("float32", device)
    for world in (3, 20, 63):
        run.model.by_world(run.state.joint_qd)[world, LINEAR] = np.nan
    run.step(2)
    with pytest.raises(sim.DivergenceError, match="worlds 3, 20, 63") as caught:
        run.solver.check(run.state)
    assert caught.value.worlds == (3, 20, 63)


def test_a_broken_world_that_is_reset_runs_as_if_it_had_never_been(precision, device):
    run = run_of(precision, device)
    run.model.by_world(run.state.joint_qd)[SICK] = np.nan
    run.step(STEPS)
    mask = np.arange(WORLDS) == SICK
    sim.reset(run.model, run.state, world_mask=device.asarray(mask))
    assert run.solver.check(run.state).ok
    run.step(STEPS)
    clean = run_of(precision, device)
    clean.step(2 * STEPS)
    assert others(run.hashes()) == others(clean.hashes())
    assert run.hashes()[SICK] == healthy(precision, device)[SICK]
