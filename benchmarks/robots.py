"""Steps per second of the robots in assets/, beside MuJoCo's C library on the same CPU in the same run.

    python -m benchmarks.robots                                # all robots and sizes, CPU and cuda:0 where there is one
    python -m benchmarks.robots --robots quadruped --worlds 1 --out out/robots.json

Each robot is held by drives of 5 Hz at its zero pose. "noise": efforts on the joints, uniform over the full range of
each, drawn afresh for each step. "settled": none. Ours are graphs of 16 steps, the time of drawing the noise
subtracted; MuJoCo gets its noise as an array: mj_step(m, d, nstep) without noise on one thread, mujoco.rollout
otherwise. MuJoCo has the same bodies, shapes, filters, materials and drives (tests/mujoco_models/exporter.py, checked
at the start of each run), its Newton solver, elliptic cones, implicitfast, and its own tolerance. All take 500 steps
first, then turns in rounds; median and 95th percentile are those of the rounds.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from dataclasses import dataclass, field
from pathlib import Path

import mujoco
import mujoco.rollout
import numpy as np

import simengine as sim
from benchmarks import scenes
from simengine.runtime import build, pool
from tests.mujoco_models import exporter

DT = 0.005  # s
WARM_UP, GRAPH, ROUNDS = 500, 16, 7
FREE_EFFORT = 30.0  # N m, of joints without a limit
HEIGHT = {"pendulum": -1.2, "arm": 0.0, "quadruped": 0.0}  # m, of the ground


def template(robot: str) -> sim.ModelBuilder:
    """One world of a robot, held by drives."""
    builder = sim.ModelBuilder()
    floating = scenes.SCENES[robot].floating
    xform = sim.transform((0, 0, 0.41 if floating else 0))
    builder.add_urdf(scenes.ASSETS / f"{robot}.urdf", floating=floating, xform=xform, drive_frequency=5.0)
    return builder


def make_model(robot: str, worlds: int, device, precision: str) -> sim.Model:
    """``worlds`` copies of a robot on the ground."""
    builder = sim.ModelBuilder()
    builder.replicate(template(robot), worlds)
    builder.add_ground_plane(HEIGHT[robot])
    return builder.finalize(device=device, precision=precision)


def noise_range(model: sim.Model) -> np.ndarray:
    """(nv,) the largest effort of each joint."""
    limit = sim.to_numpy(model.joint_effort_limit).copy()
    return np.where(np.isfinite(limit), limit, FREE_EFFORT)


@dataclass
class Row:
    """One line of the table. ``seconds``: of one step of one world, one value a round."""

    robot: str
    case: str
    engine: str
    device: str
    threads: int
    worlds: int
    precision: str
    contacts: float = 0.0
    iterations: float = 0.0
    constraint_rows: float = 0.0
    bytes_of_a_world: int = 0
    kernels_s: float = 0.0
    seconds: list = field(default_factory=list)

    def rate(self) -> float:
        return 1 / float(np.median(self.seconds))

    def as_data(self) -> dict:
        low, median, high = np.percentile(self.seconds, [5, 50, 95])
        return {**self.__dict__, "steps_per_s": 1 / median, "median_us": median * 1e6, "p95_us": high * 1e6,
                "p5_us": low * 1e6}  # fmt: skip


class Ours:
    """Our engine: warmed up and captured."""

    def __init__(self, robot: str, case: str, worlds: int, device: str, precision: str, threads: int):
        self.row = Row(robot, case, "simengine", device, threads, worlds, precision)
        if device == "cpu":
            sim.set_num_threads(max(threads, os.cpu_count() or 1))
        self.model = make_model(robot, worlds, device, precision)
        started = time.perf_counter()
        self.solver = sim.solvers.Featherstone(self.model, specialise=True)
        self.states = [self.model.state(), self.model.state()]
        self.control = self.model.control()
        self.noise = scenes.Noise(self.model, noise_range(self.model)) if case == "noise" else None
        self._step()
        self.row.kernels_s = time.perf_counter() - started
        for _ in range(WARM_UP):
            self._step()
        self.graph = self._capture(self._step)
        self.drawing = self._capture(self._draw) if self.noise is not None else None
        self.solver.check(self.states[0], "warn")
        self.repeat = self._fitting()
        self._describe()

    def _draw(self) -> None:
        if self.noise is not None:
            self.noise.write(self.states[0], self.control)

    def _step(self) -> None:
        self._draw()
        self.solver.step(*self.states, self.control, None, DT)
        self.states.reverse()

    def _capture(self, work) -> sim.runtime.capture.Graph:
        with sim.capture(self.model.device) as graph:
            for _ in range(GRAPH):
                work()
        return graph

    def _time(self, graph, repeat: int) -> float:
        """Seconds of ``repeat`` launches of a graph: by events on a GPU."""
        device = self.model.device
        if not device.is_cuda:
            sim.set_num_threads(self.row.threads)
            started = time.perf_counter()
            for _ in range(repeat):
                graph.launch()
            return time.perf_counter() - started
        cupy = device.array_module
        with device.context():
            begin, end = cupy.cuda.Event(), cupy.cuda.Event()
            device.synchronize()
            begin.record()
            for _ in range(repeat):
                graph.launch()
            end.record()
            end.synchronize()
            return cupy.cuda.get_elapsed_time(begin, end) / 1000

    def _fitting(self, wanted: float = 0.2) -> int:
        """How many launches take about ``wanted`` seconds."""
        self._time(self.graph, 1)
        return max(1, int(wanted / max(self._time(self.graph, 2) / 2, 1e-9)))

    def sample(self) -> None:
        """One round."""
        spent = self._time(self.graph, self.repeat)
        if self.noise is not None:
            spent -= self._time(self.drawing, self.repeat)
        self.row.seconds.append(spent / (self.repeat * GRAPH * self.row.worlds))

    def _describe(self) -> None:
        contacts = self.model.contacts()
        sim.collide(self.model, self.states[0], contacts)
        self.row.contacts = float(sim.to_numpy(contacts.count).mean())
        self.row.iterations = float(sim.to_numpy(self.solver.iterations).mean())
        owners = (self.model, *self.states, self.control)
        total = sum(getattr(owner, row.name).nbytes for owner in owners for row in owner.rows())
        self.row.bytes_of_a_world = total // self.row.worlds


class Theirs:
    """MuJoCo's C library."""

    def __init__(self, robot: str, case: str, threads: int):
        self.batch = 1 if threads == 1 else 32 * threads
        self.row = Row(robot, case, "MuJoCo C", "cpu", threads, self.batch, "float64")
        self.model = make_model(robot, 1, "cpu", "float64")
        self.twin = exporter.ModelTwin(self.model, DT)
        self.twin.put(self.model.state())
        self.data = [self.twin.data, *(mujoco.MjData(self.twin.model) for _ in range(threads - 1))]
        self.limit = self.twin.map @ noise_range(self.model)
        if scenes.SCENES[robot].floating:
            self.limit[:6] = 0
        self.pool = mujoco.rollout.Rollout(nthread=threads if threads > 1 else 0)
        self.random = np.random.default_rng(0)
        self.targets = self.data[0].ctrl.copy()
        self.starts = np.tile(self._get(), (self.batch, 1))
        self.steps = 100
        self.starts = self._run(self._controls(WARM_UP))[:, -1].copy()
        self._describe()
        self._fit()

    def _get(self) -> np.ndarray:
        spec = mujoco.mjtState.mjSTATE_FULLPHYSICS
        found = np.zeros(mujoco.mj_stateSize(self.twin.model, spec))
        mujoco.mj_getState(self.twin.model, self.data[0], found, spec)
        return found

    def _controls(self, steps: int) -> np.ndarray:
        """(batch, steps, nu + nv): targets, and the efforts of each step."""
        shape = (self.batch, steps, self.twin.model.nv)
        effort = self.random.uniform(-1, 1, shape) * self.limit if self.row.case == "noise" else np.zeros(shape)
        return np.concatenate([np.tile(self.targets, (self.batch, steps, 1)), effort], axis=2)

    def _run(self, controls: np.ndarray) -> np.ndarray:
        spec = mujoco.mjtState.mjSTATE_CTRL | mujoco.mjtState.mjSTATE_QFRC_APPLIED
        states, _ = self.pool.rollout(
            [self.twin.model] * self.batch, self.data, self.starts, controls, control_spec=int(spec)
        )
        return states

    def _describe(self) -> None:
        """Contacts and iterations, on average over single steps of noise."""
        data, found = self.data[0], []
        mujoco.mj_setState(self.twin.model, data, self.starts[0], mujoco.mjtState.mjSTATE_FULLPHYSICS)
        for control in self._controls(200)[0]:
            data.ctrl[:], data.qfrc_applied[:] = np.split(control, [self.twin.model.nu])
            mujoco.mj_step(self.twin.model, data)
            found.append((data.ncon, data.solver_niter[0], data.nefc))
        self.row.contacts, self.row.iterations, self.row.constraint_rows = map(float, np.mean(found, axis=0))

    def _fit(self) -> None:
        self.sample()
        self.steps = max(10, min(20000, int(0.2 / (self.row.seconds.pop() * self.batch / self.row.threads))))

    def sample(self) -> None:
        """One round."""
        mj, data = self.twin.model, self.data[0]
        if self.row.case == "settled" and self.row.threads == 1:
            mujoco.mj_setState(mj, data, self.starts[0], mujoco.mjtState.mjSTATE_FULLPHYSICS)
            mujoco.mj_step(mj, data, nstep=10)
            started = time.perf_counter()
            mujoco.mj_step(mj, data, nstep=self.steps)
        else:
            controls = self._controls(self.steps)
            started = time.perf_counter()
            self._run(controls)
        self.row.seconds.append((time.perf_counter() - started) / (self.steps * self.batch))


def measure(robot: str, case: str, worlds: list[int], devices: list[str], precisions: list[str]) -> list[Row]:
    """All rows of a robot and a case, timed in turns."""
    every = pool.default_threads()
    threads = sorted({1, every})
    runs: list = [Theirs(robot, case, count) for count in threads]
    for device in devices:
        for precision in precisions:
            for count in worlds:
                for used in threads if device == "cpu" and count > 1 else [1]:
                    runs.append(Ours(robot, case, count, device, precision, used))
    for _ in range(ROUNDS):
        for run in runs:
            run.sample()
    return [run.row for run in runs]


def print_table(rows: list[Row]) -> None:
    """Rates, and the ratio to MuJoCo with as many threads (on a GPU: with all)."""
    head = f"{'robot':10} {'case':8} {'engine':10} {'device':7} {'prec':8} {'thr':>3} {'worlds':>6} {'steps/s':>12} "
    print(
        head + f"{'median us':>10} {'p95 us':>10} {'contacts':>8} {'iters':>6} {'kB/world':>8} {'kernels s':>9}  ratio"
    )
    for row in rows:
        data = row.as_data()
        peers = [r for r in rows if r.engine != "simengine" and (r.robot, r.case) == (row.robot, row.case)]
        like = [r for r in peers if r.threads == row.threads and row.device == "cpu"] or peers[-1:]
        ratio = f"{row.rate() / like[0].rate():.2f}" if row.engine == "simengine" and like else ""
        print(
            f"{row.robot:10} {row.case:8} {row.engine:10} {row.device:7} {row.precision:8} {row.threads:3} "
            f"{row.worlds:6} {data['steps_per_s']:12.0f} {data['median_us']:10.3f} {data['p95_us']:10.3f} "
            f"{row.contacts:8.2f} {row.iterations:6.2f} {row.bytes_of_a_world / 1e3:8.1f} {row.kernels_s:9.2f} "
            f"{ratio:>6}",
            flush=True,
        )


def check_twin(robot: str) -> dict[str, float]:
    """Differences of the two engines in float64 after a second of noise, the largest of ten states."""
    model = make_model(robot, 1, "cpu", "float64")
    solver = sim.solvers.Featherstone(model, specialise=False)
    states, control = [model.state(), model.state()], model.control()
    noise, worst = scenes.Noise(model, noise_range(model)), {}
    for step in range(200):
        noise.write(states[0], control)
        if step % 20 == 19:
            for name, value in exporter.differences(model, states[0], control, DT).items():
                worst[name] = max(worst.get(name, 0.0), value)
        solver.step(*states, control, None, DT)
        states.reverse()
    return worst


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--robots", nargs="+", default=list(HEIGHT), choices=list(HEIGHT))
    parser.add_argument("--cases", nargs="+", default=["noise", "settled"], choices=["noise", "settled"])
    parser.add_argument("--worlds", nargs="+", type=int, default=[1, 64, 4096, 8192])
    parser.add_argument("--devices", nargs="+", default=[device.name for device in sim.devices()][:2])
    parser.add_argument("--precisions", nargs="+", default=["float32"], choices=["float32", "float64"])
    parser.add_argument("--out", type=Path, default=Path("out/robots.json"))
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    rows: list[Row] = []
    checks = {robot: check_twin(robot) for robot in args.robots}
    for robot, worst in checks.items():
        print(f"{robot}: MuJoCo's twin differs by " + ", ".join(f"{k} {v:.1e}" for k, v in worst.items()))
    for robot in args.robots:
        for case in args.cases:
            found = measure(robot, case, args.worlds, args.devices, args.precisions)
            print_table(found)
            rows += found
    args.out.parent.mkdir(parents=True, exist_ok=True)
    settings = {"dt": DT, "warm_up": WARM_UP, "graph": GRAPH, "rounds": ROUNDS, "mujoco": mujoco.__version__,
                "processor": build.architecture(), "load": os.getloadavg()}  # fmt: skip
    report = {"settings": settings, "checks": checks, "rows": [row.as_data() for row in rows]}
    args.out.write_text(json.dumps(report, indent=1), encoding="utf-8")
    print(f"written to {args.out}")


if __name__ == "__main__":
    main()
