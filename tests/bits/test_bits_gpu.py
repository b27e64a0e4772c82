"""A GPU computes the bits of the CPU, whatever the number of worlds and lanes."""

import pytest

from benchmarks import same_bits
from simengine.runtime import poisoned_scratch
from tests.bits.bits_forms import CASES, CROWD, NOT_SPECIALISED, QUICK_STEPS, reference, start

# robots from files get advice of their solver at the first step
pytestmark = [pytest.mark.gpu, pytest.mark.filterwarnings("ignore:solvers.Featherstone:UserWarning")]
every_case = pytest.mark.parametrize(("scene", "precision", "steps"), CASES)

GPU = "cuda:0"


def runs(scene: str, precision: str, forms: dict[str, dict]) -> dict[str, same_bits.Run]:
    """A run of a scene on the GPU in each form: the options of ``start`` under a name."""
    return {name: start(scene, precision, **{"device": GPU, **options}) for name, options in forms.items()}


def differing(found: dict[str, same_bits.Run], scene: str, precision: str, steps: int) -> list[str]:
    """The forms in which a world, each by its number, does not end as on the CPU."""
    hashes = {name: tuple(run.hashes()) for name, run in found.items()}
    assert all(len(hashes[name]) == run.model.world_count for name, run in found.items())
    expected = reference(scene, precision, steps, CROWD)
    return [name for name, ends in hashes.items() if ends[:CROWD] != expected[: len(ends)]]


@every_case
def test_any_number_of_worlds_and_lanes(scene, precision, steps):
    """Short runs of any number of worlds by any of lanes; long ones of each number of both, which is a third of the
    work: 4,096 worlds by one lane each take most of it."""
    together = [(worlds, lanes) for worlds in (1, CROWD, 4096) for lanes in (1, 8, 32)]
    if steps > QUICK_STEPS:
        together = [(worlds, lanes) for worlds, lanes in together if worlds == CROWD or lanes == 32]
    forms = {f"{worlds} worlds, {lanes} lanes": {"worlds": worlds, "lanes": lanes} for worlds, lanes in together}
    found = runs(scene, precision, forms)
    same_bits.step_together(list(found.values()), steps)
    assert differing(found, scene, precision, steps) == []


@pytest.mark.parametrize(("scene", "precision", "steps"), [case for case in CASES if case.values[0] != NOT_SPECIALISED])
def test_the_specialised_kernel(scene, precision, steps):
    found = runs(scene, precision, {f"{lanes} lanes": {"lanes": lanes, "specialise": True} for lanes in (8, 32)})
    same_bits.step_together(list(found.values()), steps)
    assert differing(found, scene, precision, steps) == []
    assert all(run.solver.wait_for_kernels() for run in found.values())


@every_case
@pytest.mark.parametrize("collide", [False, True], ids=["found inside", "found before"])
def test_memory_of_the_group_holds_anything_at_the_start(scene, precision, steps, collide):
    with poisoned_scratch():
        found = runs(scene, precision, {"": {"lanes": 32, "collide": collide}})
        same_bits.step_together(list(found.values()), steps)
        assert differing(found, scene, precision, steps) == []


@every_case
def test_a_state_that_moves_between_the_machines(scene, precision, steps, tmp_path):
    """Half of the run on the CPU, the other half on the GPU, by way of a saved state."""
    first, second = start(scene, precision), start(scene, precision, device=GPU)
    first.step(steps // 2)
    first.state.save(tmp_path / "middle.npz")
    second.state = type(second.state).load(second.model, tmp_path / "middle.npz")
    second.step(steps - steps // 2)
    assert differing({"": second}, scene, precision, steps) == []
