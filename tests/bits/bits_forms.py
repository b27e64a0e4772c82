"""The runs that the tests of equal bits compare (scene, precision, number of steps), and forms of their kernels."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import warnings
from contextlib import contextmanager

import pytest

import simengine as sim
from benchmarks import same_bits, scenes
from simengine.runtime import build
from simengine.runtime import kernel as kernels
from simengine.solvers import featherstone
from tests.conftest import skip_or_fail

WORLDS, CROWD = 4, 64
QUICK_STEPS, STEPS = 120, 2000
QUICK_SCENES = ("free_bodies_and_chain", "quadruped")
PRECISIONS = ("float32", "float64")
NOT_SPECIALISED = "pile"  # it has more dofs than are specialised

CASES = [
    *(pytest.param(scene, p, QUICK_STEPS, id=f"{scene}-{p}") for scene in QUICK_SCENES for p in PRECISIONS),
    *(
        pytest.param(scene, p, STEPS, id=f"{scene}-{p}-long", marks=pytest.mark.slow)
        for scene in scenes.SCENES
        for p in PRECISIONS
    ),
]
"""Parameters (scene, precision, steps): a few short runs always, all scenes for 2,000 steps under the marker slow."""


def start(scene: str, precision: str, worlds: int = WORLDS, device="cpu", **options) -> same_bits.Run:
    """A run of a scene at its first step, of the general kernels; skipped where the robot's file is not there."""
    options.setdefault("specialise", False)
    path = scenes.SCENES[scene].path
    if path is not None and not path.is_file():
        skip_or_fail(f"the robot of the scene {scene} is not at {path}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what the robots' files hold that is not read or not collided
        return same_bits.Run(scene, worlds, device, precision, **options)


def hashes(scene: str, precision: str, steps: int, **options) -> list[str]:
    """Hashes of the final state of each world of a run."""
    run = start(scene, precision, **options)
    run.step(steps)
    return run.hashes()


@functools.cache
def reference(scene: str, precision: str, steps: int, worlds: int = WORLDS) -> tuple[str, ...]:
    """Hashes of the plain run: this process, the default number of threads, one lane, the general kernel."""
    run = start(scene, precision, worlds)
    run.step(steps)
    status = run.solver.check(run.state, "ignore")
    assert not any(bits & sim.enums.StatusBit.NOT_FINITE for bits in status.bits), status.message
    found = tuple(run.hashes())
    assert len(set(found)) == worlds, "worlds of different noise must differ, or the hashes tell nothing"
    return found


@contextmanager
def kernels_compiled_anew(monkeypatch):
    """Within the block solvers made anew compile their kernels anew, under what $CXX or a test says then."""
    with monkeypatch.context() as patch:
        patch.setattr(build, "find_prebuilt", lambda key: None)
        patch.setattr(kernels, "_libraries", {})
        patch.setattr(featherstone, "_kernel", functools.cache(functools.partial(sim.Kernel, "featherstone.cu")))
        yield


def in_a_fresh_process(scene: str, precision: str, steps: int, folder, **environment) -> list[str]:
    """Hashes that benchmarks/same_bits.py writes in a process of its own."""
    out = folder / "hashes.json"
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.same_bits", "--scene", scene, "--out", str(out)]
    command += ["--precision", precision, "--worlds", str(WORLDS), "--steps", str(steps), "--device", "cpu"]
    run = subprocess.run(
        command, cwd=scenes.REPOSITORY, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    (found,) = json.loads(out.read_text()).values()
    return found
