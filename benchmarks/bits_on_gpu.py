"""Long contact-rich runs on a GPU in many forms at once: how many worlds end otherwise than on the CPU.

    python -m benchmarks.bits_on_gpu                                       # all scenes and forms, both precisions
    python -m benchmarks.bits_on_gpu --scenes talos --forms crowd --limit 500

Forms: numbers of worlds and lanes ("worlds"), 4,096 worlds ("crowd"), contacts found before the step ("before"), the
specialised kernel ("specialised"), a state that comes from the CPU half-way ("moved"), and group memory full of NaN
("poison"). Each runs on a stream of its own and at its own pace, since a few worlds leave the GPU room for many. The
CPU's hashes come from a process beside (benchmarks/same_bits.py). Give a few scenes at a time: kernels that wait for
one slow world hold up those of other streams that share its queue.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import simengine as sim
from benchmarks import same_bits, scenes
from simengine.runtime import poisoned_scratch

REFERENCE_WORLDS = 64
BURST = 4
"""Steps that are queued at a time."""

FORMS = {
    "worlds": {
        "1 world, 32 lanes": dict(worlds=1, lanes=32),
        "64 worlds, 1 lane": dict(worlds=64, lanes=1),
        "64 worlds, 8 lanes": dict(worlds=64, lanes=8),
        "64 worlds, 32 lanes": dict(worlds=64, lanes=32),
    },
    "crowd": {"4,096 worlds, 32 lanes": dict(worlds=4096, lanes=32)},
    "before": {"found before": dict(lanes=32, collide=True)},
    "specialised": {f"specialised, {lanes} lanes": dict(lanes=lanes, specialise=True) for lanes in (8, 32)},
    "moved": {"moved half-way": dict(moved=True)},
    "poison": {
        "poison": dict(lanes=32, poison=True),
        "poison, found before": dict(lanes=32, poison=True, collide=True),
    },
}
NOT_SPECIALISED = "pile"  # it has more dofs than are specialised


class Form:
    """A run of a scene in one form, a burst of steps after the other on a stream of its own."""

    def __init__(
        self, case: tuple[str, str], name: str, steps: int, device, *, worlds=4, moved=False, poison=False, **run
    ):
        run.setdefault("specialise", False)
        self.case, self.name, self.steps, self.done, self.poison = case, name, steps, 0, poison
        scene, precision = case
        self.run = same_bits.Run(scene, worlds, device, precision, **run)
        if moved:
            self.begin_on_the_cpu(scene, precision, worlds)
        cuda = self.run.model.device.array_module.cuda
        self.stream, self.event = cuda.Stream(non_blocking=True), cuda.Event(disable_timing=True)

    def begin_on_the_cpu(self, scene: str, precision: str, worlds: int) -> None:
        first = same_bits.Run(scene, worlds, "cpu", precision, specialise=False)
        self.done = self.steps // 2
        first.step(self.done)
        with tempfile.TemporaryDirectory() as folder:
            first.state.save(Path(folder, "middle.npz"))
            self.run.state = sim.State.load(self.run.model, Path(folder, "middle.npz"))

    def go_on(self) -> bool:
        """Queue a burst where none is under way; whether there is more to come."""
        if self.done and not self.event.done:
            return True
        if self.done == self.steps:
            return False
        count = min(BURST, self.steps - self.done)
        with self.stream, poisoned_scratch() if self.poison else contextlib.nullcontext():
            self.run.step(count)
        self.event.record(self.stream)
        self.done += count
        return True


def forms_of(case: tuple[str, str], options) -> list[Form]:
    kinds = [kind for kind in options.forms if kind != "specialised" or case[0] != NOT_SPECIALISED]
    return [
        Form(case, name, options.steps, options.device, **form) for kind in kinds for name, form in FORMS[kind].items()
    ]


def start_references(cases, steps: int, folder: Path) -> subprocess.Popen:
    """A process that writes the CPU's hashes of all cases."""
    names = [list(dict.fromkeys(of)) for of in zip(*cases, strict=True)]
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.same_bits", "--device", "cpu", "--specialise", "no"]
    command += ["--scene", *names[0], "--precision", *names[1], "--steps", str(steps)]
    command += ["--worlds", str(REFERENCE_WORLDS), "--out", str(folder / "cpu.json")]
    return subprocess.Popen(command, cwd=scenes.REPOSITORY, stdout=subprocess.DEVNULL)


def run_all(forms: list[Form], limit: float) -> dict[Form, list[str]]:
    """Hashes of the forms that end within ``limit`` seconds; tells every half minute how far the slowest are."""
    begun = told = time.monotonic()
    found: dict[Form, list[str]] = {}
    left = list(forms)
    while left and time.monotonic() - begun < limit:
        for form in list(left):
            if not form.go_on():
                left.remove(form)
                found[form] = form.run.hashes()
        if time.monotonic() - told > 30:
            told = time.monotonic()
            slowest = sorted(left, key=lambda form: form.done)[:5]
            words = "; ".join(f"{' '.join(form.case)} {form.name} {form.done}" for form in slowest)
            print(f"{told - begun:.0f} s: {len(left)} of {len(forms)} left: {words}", flush=True)
    return found


def report(forms: list[Form], found: dict[Form, list[str]], expected: dict[str, list[str]]) -> int:
    """A row for each form; the number of worlds that differ or did not end."""
    wrong = 0
    for form in forms:
        scene, precision = form.case
        row = f"| {scene} | {precision} | {form.name} |"
        if form not in found:
            wrong += 1
            print(f"{row} got to step {form.done} of {form.steps} |")
            continue
        pairs = list(zip(found[form], expected[f"{scene} {precision} {form.steps} steps"], strict=False))
        if not pairs:
            raise RuntimeError(f"{form.name} of {scene} in {precision} has no world to compare")
        differ = sum(a != b for a, b in pairs)
        wrong += differ
        print(f"{row} {differ} of {len(pairs)} differ |")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenes", nargs="+", default=list(scenes.SCENES), choices=list(scenes.SCENES))
    parser.add_argument("--precisions", nargs="+", default=["float32", "float64"], choices=["float32", "float64"])
    parser.add_argument("--forms", nargs="+", default=list(FORMS), choices=list(FORMS))
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--limit", type=float, default=float("inf"), help="s, after which what is left is told")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # of what the robots' files hold that is not simulated, and advice
    cases = [(scene, precision) for scene in options.scenes for precision in options.precisions]
    with tempfile.TemporaryDirectory() as folder:
        references = start_references(cases, options.steps, Path(folder))
        forms = [form for case in cases for form in forms_of(case, options)]
        found = run_all(forms, options.limit)
        if references.wait():
            raise RuntimeError("the runs on the CPU failed")
        expected = json.loads(Path(folder, "cpu.json").read_text())
    return int(report(forms, found, expected) > 0)


if __name__ == "__main__":
    sys.exit(main())
