"""A GPU computes the bits of the CPU, whatever the number of worlds and lanes."""

import pytest

from benchmarks import same_bits
from simengine.runtime import poisoned_scratch
from tests.bits.bits_forms import CASES, CROWD, reference, start

# robots from files get advice of their solver at the first step
pytestmark = [pytest.mark.gpu, pytest.mark.filterwarnings("ignore:solvers.Featherstone:UserWarning")]

GPU = "cuda:0"


def differing(forms: dict[str, same_bits.Run], steps: int, expected: tuple[str, ...]) -> list[str]:
    """The forms whose worlds do not end as ``expected``, of which a run may have fewer or more."""
    same_bits.step_together(list(forms.values()), steps)
    found = {name: tuple(run.hashes()) for name, run in forms.items()}
    assert all(len(found[name]) == run.model.world_count for name, run in forms.items())
    return [name for name, worlds in found.items() if worlds[: len(expected)] != expected[: len(worlds)]]


@pytest.mark.parametrize(("scene", "precision", "steps"), CASES)
def test_any_number_of_worlds_and_lanes(scene, precision, steps):
    forms = {
        f"{worlds} worlds, {lanes} lanes": start(scene, precision, worlds, device=GPU, lanes=lanes)
        for worlds in (1, CROWD, 4096)
        for lanes in (1, 8, 32)
    }
    assert differing(forms, steps, reference(scene, precision, steps, CROWD)) == []


@pytest.mark.parametrize(("scene", "precision", "steps"), CASES)
def test_the_specialised_kernel(scene, precision, steps):
    forms = {f"{lanes} lanes": start(scene, precision, device=GPU, lanes=lanes, specialise=True) for lanes in (8, 32)}
    assert differing(forms, steps, reference(scene, precision, steps)) == []
    assert all(run.solver.wait_for_kernels() for run in forms.values())


@pytest.mark.parametrize(("scene", "precision", "steps"), CASES)
def test_memory_of_the_group_holds_anything_at_the_start(scene, precision, steps):
    with poisoned_scratch():
        forms = {
            f"contacts found {when}": start(scene, precision, device=GPU, lanes=32, collide=before)
            for when, before in (("inside", False), ("before", True))
        }
        assert differing(forms, steps, reference(scene, precision, steps)) == []


@pytest.mark.parametrize(("scene", "precision", "steps"), CASES)
def test_a_state_that_moves_between_the_machines(scene, precision, steps, tmp_path):
    """Half of the run on the CPU, the other half on the GPU, by way of a saved state."""
    first, second = start(scene, precision), start(scene, precision, device=GPU)
    first.step(steps // 2)
    first.state.save(tmp_path / "middle.npz")
    second.state = type(second.state).load(second.model, tmp_path / "middle.npz")
    second.step(steps - steps // 2)
    assert tuple(second.hashes()) == reference(scene, precision, steps)
