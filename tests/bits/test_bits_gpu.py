"""A GPU computes the bits of the CPU, whatever the number of worlds and lanes."""

import pytest

from simengine.runtime import poisoned_scratch
from tests.bits.bits_forms import CASES, CROWD, hashes, reference, start

# robots from files get advice of their solver at the first step
pytestmark = [pytest.mark.gpu, pytest.mark.filterwarnings("ignore:solvers.Featherstone:UserWarning")]

GPU = "cuda:0"


@pytest.mark.parametrize("lanes", [1, 8, 32])
@pytest.mark.parametrize("worlds", [1, CROWD, 4096])
@pytest.mark.parametrize(("scene", "precision", "steps"), CASES)
def test_any_number_of_worlds_and_lanes(scene, precision, steps, worlds, lanes):
    found = hashes(scene, precision, steps, worlds=worlds, device=GPU, lanes=lanes)
    expected = reference(scene, precision, steps, CROWD)
    assert len(found) == worlds
    assert tuple(found[:CROWD]) == expected[:worlds]


@pytest.mark.parametrize("lanes", [8, 32])
@pytest.mark.parametrize(("scene", "precision", "steps"), CASES)
def test_the_specialised_kernel(scene, precision, steps, lanes):
    run = start(scene, precision, device=GPU, lanes=lanes, specialise=True)
    run.step(steps)
    assert run.solver.wait_for_kernels()
    assert tuple(run.hashes()) == reference(scene, precision, steps)


@pytest.mark.parametrize("collide", [False, True], ids=["inside", "before"])
@pytest.mark.parametrize(("scene", "precision", "steps"), CASES)
def test_memory_of_the_group_holds_anything_at_the_start(scene, precision, steps, collide):
    with poisoned_scratch():
        found = hashes(scene, precision, steps, device=GPU, lanes=32, collide=collide)
    assert tuple(found) == reference(scene, precision, steps)


@pytest.mark.parametrize(("scene", "precision", "steps"), CASES)
def test_a_state_that_moves_between_the_machines(scene, precision, steps, tmp_path):
    """Half of the run on the CPU, the other half on the GPU, by way of a saved state."""
    first, second = start(scene, precision), start(scene, precision, device=GPU)
    first.step(steps // 2)
    first.state.save(tmp_path / "middle.npz")
    second.state = type(second.state).load(second.model, tmp_path / "middle.npz")
    second.step(steps - steps // 2)
    assert tuple(second.hashes()) == reference(scene, precision, steps)
