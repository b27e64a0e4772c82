"""``import simengine`` is light, and every name that it offers is there."""

import subprocess
import sys
from pathlib import Path

import pytest

import simengine as sim

ROOT = Path(__file__).resolve().parents[1]


def test_importing_touches_nothing_outside_the_core():
    script = (
        "import sys; before = set(sys.modules); import simengine\n"
        "print(*sorted({name.split('.')[0] for name in set(sys.modules) - before} - set(sys.stdlib_module_names)))"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() in (["simengine"], ["numpy", "simengine"])


@pytest.mark.parametrize("name", sorted({*sim._NAMES, *sim._SUBMODULES}))
def test_every_name_is_there(name):
    assert getattr(sim, name) is not None
    assert name in dir(sim)


def test_a_name_that_is_not_there_says_so_with_the_nearest():
    with pytest.raises(AttributeError, match="has no 'ModelBilder'; did you mean 'ModelBuilder'"):
        _ = sim.ModelBilder


def test_functions_are_not_hidden_by_modules_of_their_name():
    for name, module in sim._NAMES.items():
        assert module != f"simengine.{name}", f"sim.{name} would become the module once it is imported"


@pytest.mark.parametrize("name", ["Tape", "interop", "envs"])
def test_what_is_planned_is_said_not_to_be_there_yet(name):
    with pytest.raises(AttributeError, match=f"module 'simengine' has no '{name}'; it is not there yet"):
        getattr(sim, name)
    with pytest.raises(AttributeError, match=r"module 'simengine.solvers' has no 'XPBD'; it is not there yet"):
        _ = sim.solvers.XPBD
    assert name not in dir(sim)
