"""Hashes of the final states of contact-rich runs, world by world: equal for every machine, form and number of lanes.

python benchmarks/same_bits.py --scene quadruped --precision float32 --device cpu --worlds 64 --steps 2000 --out a.json
python benchmarks/same_bits.py --compare a.json b.json
python benchmarks/same_bits.py --contacts --scene quadruped anymal
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from pathlib import Path

import numpy as np

import simengine as sim
from benchmarks import scenes

DT = 0.005  # s


def world_hashes(model: sim.Model, state: sim.State) -> list[str]:
    """A hash of all bits of each world's state, for worlds of one structure; all NaNs count as the same."""
    views = []
    for array in state.arrays().values():
        array = sim.to_numpy(array)
        if array.dtype.kind == "f":
            array = np.where(np.isnan(array), np.asarray(np.nan, array.dtype), array)
        views.append(np.ascontiguousarray(array.reshape(model.world_count, -1)))
    return [hashlib.sha256(b"".join(v[w].tobytes() for v in views)).hexdigest()[:16] for w in range(model.world_count)]


class Run:
    """A scene that steps, with noise on its joints."""

    def __init__(
        self, scene: str, worlds: int, device=None, precision: str = "float32", collide: bool = False, **solver
    ):
        self.model = scenes.model(scene, worlds, device, precision)
        self.solver = sim.solvers.Featherstone(self.model, **solver)
        self.state, self.next_state = self.model.state(), self.model.state()
        # the builder's poses are those of the kernels to round-off: sim.collide reads poses, a step reads coordinates
        sim.eval_fk(self.model, self.state)
        self.control = self.model.control()
        self.contacts = self.model.contacts() if collide else None
        self.noise = scenes.Noise(self.model, scenes.SCENES[scene].effort)

    def step(self, count: int = 1) -> None:
        for _ in range(count):
            self.noise.write(self.state, self.control)
            if self.contacts is not None:
                sim.collide(self.model, self.state, self.contacts, dt=DT)
            self.solver.step(self.state, self.next_state, self.control, self.contacts, dt=DT)
            self.state, self.next_state = self.next_state, self.state

    def measure_contacts(self, samples: int, every: int) -> dict[str, float]:
        """Means over worlds and over ``samples`` states, ``every`` steps apart: ``contacts`` of a world; ``robot``,
        those in which a block has no part; ``iterations`` of the solve; and ``changed``, the share of samples in which
        a world's number of contacts is not that of the sample before."""
        contacts = self.model.contacts()
        blocks = np.array(["block" in label for label in self.model.body_label])
        found, counts = np.zeros((samples, 3)), []
        for i in range(samples):
            self.step(every)
            sim.collide(self.model, self.state, contacts)
            counts.append(sim.to_numpy(contacts.count).copy())
            found[i] = counts[i].mean(), self._of_robot(contacts, blocks), sim.to_numpy(self.solver.iterations).mean()
        changed = np.diff(counts, axis=0) != 0
        return dict(zip(("contacts", "robot", "iterations", "changed"), (*found.mean(0), changed.mean()), strict=True))

    def _of_robot(self, contacts, blocks: np.ndarray) -> float:
        """Contacts of a world, on average, in which a body takes part that is no block."""
        starts, counts = sim.to_numpy(contacts.world_start), sim.to_numpy(contacts.count)
        slots = np.concatenate([np.arange(first, first + n) for first, n in zip(starts[:-1], counts, strict=True)])
        bodies = sim.to_numpy(self.model.shape_body)
        touching = np.zeros(len(slots), bool)
        for shapes in (contacts.shape0, contacts.shape1):
            body = bodies[sim.to_numpy(shapes)[slots]]
            touching |= (body >= 0) & ~blocks[body]
        return touching.sum() / self.model.world_count

    def hashes(self) -> list[str]:
        return world_hashes(self.model, self.state)


def step_together(runs: list[Run], count: int) -> None:
    """Advance runs of one GPU side by side, each on a stream of its own: a world alone leaves room for many."""
    (device,) = {run.model.device for run in runs}
    streams = [device.array_module.cuda.Stream(non_blocking=True) for _ in runs]
    device.synchronize()  # the arrays were made on the stream of this thread
    for _ in range(count):
        for run, stream in zip(runs, streams, strict=True):
            with stream:
                run.step()
    device.synchronize()


def compare(paths: list[str]) -> int:
    """Prints how many worlds differ, of those that both files have; returns the exit code."""
    first, *others = (json.loads(Path(p).read_text()) for p in paths)
    worst = 0
    for path, other in zip(paths[1:], others, strict=True):
        for key in sorted(first.keys() & other.keys()):
            pairs = list(zip(first[key], other[key], strict=False))
            differ = sum(a != b for a, b in pairs)
            worst = max(worst, differ)
            print(f"{key:50} {differ} of {len(pairs)} worlds differ from {path}")
    return int(worst > 0)


def print_contacts(args) -> int:
    """A row for each scene: contacts, those of the robot, iterations; and what ``check`` says of the end."""
    print(f"{'scene':22} {'precision':9} {'contacts':>9} {'robot':>7} {'iterations':>11} {'changed':>8}")
    for scene in args.scene:
        for precision in args.precision:
            run = Run(scene, args.worlds, args.device, precision)
            found = run.measure_contacts(max(args.steps // 20, 2), 20)
            row = f"{found['contacts']:9.1f} {found['robot']:7.1f} {found['iterations']:11.2f} {found['changed']:8.0%}"
            print(f"{scene:22} {precision:9} {row} {run.solver.check(run.state, 'ignore').message}", flush=True)
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scene", nargs="+", default=["quadruped"], choices=sorted(scenes.SCENES))
    parser.add_argument("--precision", nargs="+", default=["float32", "float64"])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--worlds", type=int, default=4)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--lanes", type=int, help="lanes of a world on a GPU")
    parser.add_argument("--specialise", choices=("auto", "yes", "no"), default="auto", help="form of the kernels")
    parser.add_argument("--out", help="write the hashes here (JSON)")
    parser.add_argument("--compare", nargs="+", help="compare files of hashes instead")
    parser.add_argument("--contacts", action="store_true", help="print what the scenes' contacts are instead")
    args = parser.parse_args()
    if args.compare:
        return compare(args.compare)
    if args.contacts:
        return print_contacts(args)
    form = {"auto": "auto", "yes": True, "no": False}[args.specialise]
    found = {}
    for scene in args.scene:
        for precision in args.precision:
            run = Run(scene, args.worlds, args.device, precision, lanes=args.lanes, specialise=form)
            run.step(args.steps)
            found[f"{scene} {precision} {args.steps} steps"] = run.hashes()
            print(f"{scene} {precision}: {run.hashes()[:4]}", flush=True)
    if args.out:
        Path(args.out).write_text(json.dumps(found, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
