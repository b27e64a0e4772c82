"""A GPU computes the bits of the CPU, whatever the number of worlds and lanes."""

import pytest

from benchmarks import same_bits
from simengine.runtime import poisoned_scratch
from tests.bits.bits_forms import CROWD, NOT_SPECIALISED, QUICK_STEPS, SIDE_BY_SIDE, reference, start

# robots from files get advice of their solver at the first step
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.filterwarnings("ignore:solvers.Featherstone:UserWarning"),
    pytest.mark.parametrize(("cases", "steps"), SIDE_BY_SIDE),
]

GPU = "cuda:0"


def runs(cases: list[tuple[str, str]], forms: dict[str, dict]) -> dict[tuple[str, str, str], same_bits.Run]:
    """A run on the GPU of each scene and precision in each form: the options of ``start`` under a name."""
    return {
        (*case, name): start(*case, **{"device": GPU, **options}) for case in cases for name, options in forms.items()
    }


def differing(found: dict[tuple[str, str, str], same_bits.Run], steps: int) -> list[tuple[str, str, str]]:
    """The runs whose worlds, each by its number, do not end as on the CPU."""
    hashes = {name: tuple(run.hashes()) for name, run in found.items()}
    assert all(len(hashes[name]) == run.model.world_count for name, run in found.items())
    expected = {case: reference(*case, steps, CROWD) for case in {name[:2] for name in found}}
    return [name for name, ends in hashes.items() if ends[:CROWD] != expected[name[:2]][: len(ends)]]


def test_any_number_of_worlds_and_lanes(cases, steps):
    """Short runs of any number of worlds by any of lanes; long ones of each number of both, which is a third of the
    work: 4,096 worlds by one lane each take most of it."""
    together = [(worlds, lanes) for worlds in (1, CROWD, 4096) for lanes in (1, 8, 32)]
    if steps > QUICK_STEPS:
        together = [(worlds, lanes) for worlds, lanes in together if worlds == CROWD or lanes == 32]
    forms = {f"{worlds} worlds, {lanes} lanes": {"worlds": worlds, "lanes": lanes} for worlds, lanes in together}
    found = runs(cases, forms)
    same_bits.step_together(list(found.values()), steps)
    assert differing(found, steps) == []


def test_the_specialised_kernel(cases, steps):
    cases = [case for case in cases if case[0] != NOT_SPECIALISED]
    found = runs(cases, {f"{lanes} lanes": {"lanes": lanes, "specialise": True} for lanes in (8, 32)})
    same_bits.step_together(list(found.values()), steps)
    assert differing(found, steps) == []
    assert all(run.solver.wait_for_kernels() for run in found.values())


def test_memory_of_the_group_holds_anything_at_the_start(cases, steps):
    forms = {"contacts found inside": {"lanes": 32}, "contacts found before": {"lanes": 32, "collide": True}}
    with poisoned_scratch():
        found = runs(cases, forms)
        same_bits.step_together(list(found.values()), steps)
        assert differing(found, steps) == []


def test_a_state_that_moves_between_the_machines(cases, steps, tmp_path):
    """Half of the run on the CPU, the other half on the GPU, by way of a saved state."""
    first, second = runs(cases, {"": {"device": "cpu"}}), runs(cases, {"": {}})
    for run, after in zip(first.values(), second.values(), strict=True):
        run.step(steps // 2)
        run.state.save(tmp_path / "middle.npz")
        after.state = type(after.state).load(after.model, tmp_path / "middle.npz")
    same_bits.step_together(list(second.values()), steps - steps // 2)
    assert differing(second, steps) == []
