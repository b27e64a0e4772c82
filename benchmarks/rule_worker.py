"""One variant of the kernels in a process of its own: answers questions on its standard input (rule_prices.py asks).

The first line is the setup {variant, device, precision, lanes, compiler, arch}; each further line is a question:
{"do": "bits", "scene", "worlds", "steps": [1, 10, ...]} or {"do": "time", "scene", "worlds", "steps"}. Each answer is
one line of JSON.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import sys
import tempfile
import time
from pathlib import Path

from benchmarks import rule_variants
from simengine.runtime import build

WARM_UP = 300  # steps


def serve(setup: dict, answers) -> None:
    """Answer questions until the input ends."""
    if setup["compiler"]:
        os.environ["CXX"] = setup["compiler"]
    if setup["arch"]:
        build.architecture = lambda: setup["arch"]
    with tempfile.TemporaryDirectory() as folder:
        rule_variants.apply(setup["variant"], Path(folder))
        for line in sys.stdin:
            question = json.loads(line)
            answer = {"bits": bits, "time": seconds}[question.pop("do")](setup, **question)
            answers.write(json.dumps(answer) + "\n")
            answers.flush()


def _run(setup: dict, scene: str, worlds: int):
    import simengine as sim
    from benchmarks.same_bits import Run

    if setup["device"] == "cpu":
        sim.set_num_threads(1)
    solver = {"lanes": setup["lanes"]} if setup["lanes"] else {}
    return Run(scene, worlds, setup["device"], setup["precision"], specialise=False, **solver)


def bits(setup: dict, scene: str, worlds: int, steps: list[int]) -> dict:
    """Hashes of all worlds after each number of steps, and the mean number of contacts."""
    run = _run(setup, scene, worlds)
    hashes, done = {}, 0
    for count in steps:
        run.step(count - done)
        done = count
        hashes[count] = run.hashes()
    return {"hashes": hashes, "contacts": run.measure_contacts(samples=10, every=5)["contacts"]}


@functools.cache
def _timed(device: str, precision: str, lanes: int | None, scene: str, worlds: int):
    """A warm run, a graph of its noise and two steps, and a graph of the noise alone."""
    import simengine as sim

    run = _run({"device": device, "precision": precision, "lanes": lanes}, scene, worlds)
    run.step(WARM_UP)
    with sim.capture(run.model.device) as both:
        run.step(2)
    with sim.capture(run.model.device) as noise:
        for _ in range(2):
            run.noise.write(run.state, run.control)
    return run, both, noise


def seconds(setup: dict, scene: str, worlds: int, steps: int) -> dict:
    """Seconds a step takes, the noise on the joints subtracted."""
    import simengine as sim

    run, both, noise = _timed(setup["device"], setup["precision"], setup["lanes"], scene, worlds)
    spent = []
    for graph in (both, noise):
        graph.launch()
        sim.synchronize(run.model.device)
        start = time.perf_counter()
        for _ in range(steps // 2):
            graph.launch()
        sim.synchronize(run.model.device)
        spent.append(time.perf_counter() - start)
    return {
        "seconds": (spent[0] - spent[1]) / (steps // 2 * 2),
        "iterations": float(sim.to_numpy(run.solver.iterations).mean()),
    }


if __name__ == "__main__":
    # answers alone go to the standard output: what else is printed goes to the error output
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    with contextlib.redirect_stdout(sys.stderr):
        serve(json.loads(sys.stdin.readline()), out)
