"""From nothing to the first step, in fresh processes: each robot in assets/, cold and warm.

    python -m benchmarks.start                       # on the CPU, and on cuda:0 where there is one
    python -m benchmarks.start --devices cpu --robots quadruped --rounds 5 --out out/start.json
    python -m benchmarks.start --robots path/to/any.urdf

Cold: the cache of compiled kernels is empty. Warm: it holds what the run before left, the specialised kernels too. The
general kernels are those that a wheel brings, for a GPU those of a first step: where the package has none they are
built first, apart. With --compile a GPU is brought none: "cold" is what a checkout takes.
"first step" runs from the robot's file to the end of a step: reading, finalize, solver, states, step. Apart stand
"import" (of simengine), "names" (what it loads when its names are first used) and "context" (of a GPU).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
FLOATING = {"pendulum": False, "cartpole": False, "arm": False, "quadruped": True}
PHASES = ("import", "names", "context", "read", "finalize", "solver", "step", "first step", "specialised")

CHILD = """
import json, sys, time, warnings
warnings.simplefilter("ignore")
robot, floating, device, precision, prebuilt, compiles, wait = json.loads(sys.argv[1])
seconds, last = {}, time.perf_counter()
def phase(name):
    global last
    seconds[name], last = time.perf_counter() - last, time.perf_counter()
import simengine as sim
phase("import")
sim.ModelBuilder, sim.solvers.Featherstone
phase("names")
from simengine.runtime import build, nvrtc
if compiles:
    nvrtc.find_prebuilt = lambda text, arch: None
if prebuilt:
    build.prebuilt_folders = lambda: [__import__("pathlib").Path(prebuilt)]
if device != "cpu":
    sim.get_device(device).zeros(1, "f4")
    sim.synchronize(device)
phase("context")
builder = sim.ModelBuilder()
builder.add_urdf(robot, floating=floating, drive_frequency=5.0)
builder.add_ground_plane()
phase("read")
model = builder.finalize(device=device, precision=precision)
phase("finalize")
solver = sim.solvers.Featherstone(model)
phase("solver")
states, control = [model.state(), model.state()], model.control()
solver.step(*states, control, None, 0.005)
sim.synchronize(device)
phase("step")
seconds["first step"] = sum(seconds[name] for name in ("read", "finalize", "solver", "step"))
if wait:
    solver.wait_for_kernels()
    solver.step(*states, control, None, 0.005)
    sim.synchronize(device)
    phase("specialised")
print(json.dumps(seconds))
"""


def run_child(*arguments, cache: str) -> dict[str, float]:
    """Seconds of each phase in a fresh process with its own caches of kernels: the engine's, and that which CUDA keeps
    of what NVRTC and the driver compiled. Python's compiled modules are kept, as an installation brings them."""
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), "SIMENGINE_CACHE_DIR": cache}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    environment["CUDA_CACHE_PATH"] = str(Path(cache, "cuda"))
    command = [sys.executable, "-c", CHILD, json.dumps(arguments)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def prebuilt_kernels(folder: Path) -> str:
    """The folder of the kernels that a wheel would bring, or "" where the package has them."""
    from simengine.runtime import build

    if any((place / "manifest.json").is_file() for place in build.prebuilt_folders()):
        return ""
    build.prebuild(folder)
    return str(folder)


def measure(robot: str, device: str, precision: str, prebuilt: str, compiles: bool, rounds: int) -> list[dict]:
    """One row for each round, cold and then warm."""
    rows = []
    urdf, floating = str(REPOSITORY / "assets" / f"{robot}.urdf"), FLOATING.get(robot, True)
    if robot not in FLOATING:
        urdf, robot = robot, Path(robot).stem
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as cache:
            for kind in ("cold", "warm"):
                wait = kind == "cold"
                seconds = run_child(urdf, floating, device, precision, prebuilt, compiles, wait, cache=cache)
                rows.append({"robot": robot, "device": device, "precision": precision, "kind": kind, **seconds})
    return rows


def print_table(rows: list[dict]) -> None:
    """The median of the rounds."""
    print(f"{'robot':10} {'device':7} {'start':5} " + " ".join(f"{name:>11}" for name in PHASES) + "   (s, medians)")
    keys = dict.fromkeys((row["robot"], row["device"], row["kind"]) for row in rows)
    for key in keys:
        found = [row for row in rows if (row["robot"], row["device"], row["kind"]) == key]
        cells = []
        for name in PHASES:
            values = sorted(row[name] for row in found if name in row)
            cells.append(f"{values[len(values) // 2]:11.3f}" if values else f"{'':11}")
        print(f"{key[0]:10} {key[1]:7} {key[2]:5} " + " ".join(cells))


def main() -> None:
    import simengine as sim

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--robots", nargs="+", default=list(FLOATING), help="of assets/, or files")
    parser.add_argument("--devices", nargs="+", default=[device.name for device in sim.devices()][:2])
    parser.add_argument("--precision", default="float32", choices=["float32", "float64"])
    parser.add_argument("--compile", action="store_true", help="bring no kernels for GPUs")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path("out/start.json"))
    args = parser.parse_args()
    rows: list[dict] = []
    with tempfile.TemporaryDirectory() as folder:
        prebuilt = prebuilt_kernels(Path(folder))  # reading a robot needs some, whatever the device
        for device in args.devices:
            for robot in args.robots:
                rows += measure(robot, device, args.precision, prebuilt, args.compile, args.rounds)
    print_table(rows)
    brought = "built as for a wheel" if prebuilt else "those of the wheel"
    where = ", on the CPU alone" if args.compile else ""
    print(f"processors {os.cpu_count()}, load {os.getloadavg()[0]:.1f}; general kernels are {brought}{where}")
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text(json.dumps({"load": os.getloadavg(), "rows": rows}, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
