"""The final state of a contact-rich run has the same bits however it is computed on the CPU."""

import shutil
import sys

import pytest

import simengine as sim
from benchmarks import scenes
from simengine.runtime import build, cache, emulated_lanes, poisoned_scratch, pool
from simengine.solvers import featherstone
from tests.bits.bits_forms import (
    CASES,
    CROWD,
    NOT_SPECIALISED,
    STEPS,
    WORLDS,
    hashes,
    in_a_fresh_process,
    kernels_compiled_anew,
    reference,
    start,
)

# robots from files get advice of their solver at the first step
pytestmark = pytest.mark.filterwarnings("ignore:solvers.Featherstone:UserWarning")

NUMBER = 37
"""The world of a crowd that also runs alone."""


@pytest.fixture
def threads():
    """Sets the number of threads; puts the default back at the end."""
    yield sim.set_num_threads
    sim.set_num_threads(None)


@pytest.mark.slow
@pytest.mark.parametrize("scene", scenes.SCENES)
def test_scenes_are_rich_in_contacts(scene):
    run = start(scene, "float32")
    found = run.measure_contacts(STEPS // 20, 20)
    assert found["contacts"] >= 8 and found["robot"] > 0.1 and found["changed"] > 0.05, found


@pytest.mark.parametrize(("scene", "precision", "steps"), CASES)
def test_a_second_run_and_any_number_of_threads(scene, precision, steps, threads):
    for count in (1, 2, 4):
        threads(count)
        assert pool.num_threads() == count
        assert tuple(hashes(scene, precision, steps)) == reference(scene, precision, steps), count


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("lanes", [1, 4, 32])
@pytest.mark.parametrize(("scene", "precision", "steps"), CASES)
def test_any_number_of_lanes_in_any_order_over_poisoned_memory(scene, precision, steps, lanes, seed):
    run = start(scene, precision, worlds=2)
    with emulated_lanes(lanes, seed=seed):
        run.step(steps)
    assert tuple(run.hashes()) == reference(scene, precision, steps)[:2]


@pytest.mark.parametrize("lanes", [4, 32])
def test_more_contacts_and_dofs_than_lanes(lanes, precision):
    run, plain = (start("pile", precision, worlds=1) for _ in range(2))
    plain.step(40)
    with emulated_lanes(lanes, seed=lanes):
        run.step(40)
    contacts = plain.model.contacts()
    sim.collide(plain.model, plain.state, contacts)
    assert contacts.count[0] > 32 and plain.model.joint_dof_count > 64
    assert run.hashes() == plain.hashes()


@pytest.mark.parametrize(("scene", "precision", "steps"), CASES)
def test_memory_of_the_group_holds_anything_at_the_start(scene, precision, steps):
    with poisoned_scratch():
        found = hashes(scene, precision, steps)
    assert tuple(found) == reference(scene, precision, steps)


@pytest.mark.parametrize(("scene", "precision", "steps"), CASES)
def test_contacts_found_within_the_step_or_before_it(scene, precision, steps):
    assert tuple(hashes(scene, precision, steps, collide=True)) == reference(scene, precision, steps)


@pytest.mark.parametrize(("scene", "precision", "steps"), CASES)
def test_a_fresh_process(scene, precision, steps, tmp_path):
    assert tuple(in_a_fresh_process(scene, precision, steps, tmp_path)) == reference(scene, precision, steps)


@pytest.mark.parametrize(("scene", "precision", "steps"), CASES)
def test_a_world_alone_is_the_one_among_many(scene, precision, steps):
    many = start(scene, precision, worlds=CROWD)
    alone = start(scene, precision, worlds=1)
    alone.state.random_key = many.state.random_key[NUMBER : NUMBER + 1]
    for run in (many, alone):
        run.step(steps)
    assert many.hashes()[NUMBER] == alone.hashes()[0]
    assert tuple(many.hashes()[:WORLDS]) == reference(scene, precision, steps)


@pytest.mark.parametrize(("scene", "precision", "steps"), CASES)
def test_save_and_load_in_the_middle(scene, precision, steps, tmp_path):
    run = start(scene, precision)
    run.step(steps // 2)
    run.state.save(tmp_path / "middle.npz")
    other = start(scene, precision)
    other.state = sim.State.load(other.model, tmp_path / "middle.npz")
    other.step(steps - steps // 2)
    assert tuple(other.hashes()) == reference(scene, precision, steps)


LONG_SPECIALISED = [case for case in CASES if case.values[2] == STEPS and case.values[0] != NOT_SPECIALISED]


@pytest.mark.parametrize(
    ("scene", "precision", "steps"),
    [*(case for case in CASES if case.values[0] == "quadruped" and case.values[2] != STEPS), *LONG_SPECIALISED],
)  # a compilation for each scene: of the short runs one is enough
def test_the_specialised_kernel_from_the_start_and_from_the_middle(scene, precision, steps):
    special, run = start(scene, precision, specialise=True), start(scene, precision)
    special.step(steps // 2)
    assert special.solver.wait_for_kernels() and not run.solver.wait_for_kernels()
    run.step(steps // 2)
    assert special.hashes() == run.hashes()
    special.next_state.assign(run.state)  # what the general kernel left
    special.state, special.next_state = special.next_state, special.state
    special.step(steps - steps // 2)
    assert tuple(special.hashes()) == reference(scene, precision, steps)


@pytest.mark.slow
@pytest.mark.parametrize("lanes", [1, 4, 32])
@pytest.mark.parametrize(("scene", "precision", "steps"), LONG_SPECIALISED)
def test_the_specialised_kernel_on_any_number_of_lanes(scene, precision, steps, lanes):
    run = start(scene, precision, worlds=2, specialise=True)
    with emulated_lanes(lanes, seed=lanes):
        run.step(steps)
    assert tuple(run.hashes()) == reference(scene, precision, steps)[:2]


@pytest.mark.parametrize("compiler", ["g++", "ziglang"])
@pytest.mark.parametrize(("scene", "precision", "steps"), CASES)
def test_any_compiler(scene, precision, steps, compiler, monkeypatch):
    if compiler == "g++" and shutil.which("g++") is None:
        pytest.skip("g++ is not installed")
    monkeypatch.setenv("CXX", compiler if compiler == "g++" else f"{sys.executable} -m ziglang c++")
    with kernels_compiled_anew(monkeypatch):
        found = hashes(scene, precision, steps)
        text = featherstone._kernel("featherstone_step").text(precision)
    assert cache.find(build.library_key(text, build.find_compiler(), build.architecture()), ".so") is not None
    assert tuple(found) == reference(scene, precision, steps)


@pytest.mark.slow
@pytest.mark.skipif(build.machine() != "x86-64", reason="the baseline is that of x86-64")
@pytest.mark.parametrize(("scene", "precision", "steps"), [case for case in CASES if case.values[2] == STEPS])
def test_processors_without_fused_multiply_add(scene, precision, steps, monkeypatch):
    monkeypatch.setattr(build, "architecture", lambda: "x86-64")
    with kernels_compiled_anew(monkeypatch):
        found = hashes(scene, precision, steps)
        text = featherstone._kernel("featherstone_step").text(precision)
    assert cache.find(build.library_key(text, build.find_compiler(), "x86-64"), ".so") is not None
    assert tuple(found) == reference(scene, precision, steps)


def test_a_world_beside_worlds_of_other_structure(precision):
    """Three worlds of two structures, each against a model of its own with its random key."""
    names = ("quadruped", "free_bodies_and_chain", "quadruped")
    mixed = stepped_together(names, precision)
    for world, name in enumerate(names):
        alone = stepped_together((name,), precision, key=mixed.random_key[world])
        for rows, starts in (
            (("joint_q",), mixed.model.world_coord_start),
            (("joint_qd", "featherstone_qacc"), mixed.model.world_dof_start),
            (("body_q", "body_qd"), mixed.model.world_body_start),
        ):
            for row in rows:
                part = getattr(mixed, row)[starts[world] : starts[world + 1]]
                assert part.tobytes() == getattr(alone, row).tobytes(), (world, row)


def stepped_together(names, precision, key=None) -> sim.State:
    """The state after 120 noisy steps of a model with one world of each scene, on one ground."""
    builder = sim.ModelBuilder()
    for name in names:
        builder.add_builder(scenes.template(name))
    builder.add_ground_plane()
    model = builder.finalize(device="cpu", precision=precision)
    solver, noise = sim.solvers.Featherstone(model, specialise=False), scenes.Noise(model, 3.0)
    state, other, control = model.state(), model.state(), model.control()
    if key is not None:
        state.random_key[0] = key
    for _ in range(120):
        noise.write(state, control)
        solver.step(state, other, control, None, 0.005)
        state, other = other, state
    assert solver.check(state).ok
    return state
