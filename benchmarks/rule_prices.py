"""What each rule of equal bits costs, and in how many worlds the bits differ without it.

    python -m benchmarks.rule_prices --device cpu
    python -m benchmarks.rule_prices --device cuda:0 --lanes 32 16 8 4 1 --worlds 8192 1 --out out/rule_prices.json

Each variant of the kernels (benchmarks/rule_variants.py) runs in a process of its own; the processes take turns in
rounds, and the median counts. Differences are counted against the CPU's kernels as shipped, where there is a
compiler, else against the first variant.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks.rule_variants import VARIANTS

ROOT = Path(__file__).resolve().parent.parent
SHIPPED = "same bits"
STEPS = (1, 10, 100, 1000)


def setup(
    variant: str, device: str, precision: str, lanes: int | None = None, compiler: str = "", arch: str = ""
) -> dict:
    """What a worker is told."""
    return dict(variant=variant, device=device, precision=precision, lanes=lanes, compiler=compiler, arch=arch)


def title(what: dict) -> str:
    """How a row is called."""
    parts = [what["device"], what["precision"]]
    parts += [f"{what['lanes']} lanes"] if what["lanes"] else []
    parts += ["clang" if "zig" in what["compiler"] else what["compiler"]] if what["compiler"] else []
    parts += [what["arch"]] if what["arch"] else []
    return f"{what['variant']} ({', '.join(parts)})"


class Worker:
    """A process that runs one variant."""

    def __init__(self, what: dict):
        self.what = what
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-m", "benchmarks.rule_worker"]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=environment
        )
        self._write(what)

    def _write(self, message: dict) -> None:
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def ask(self, do: str, **question) -> dict:
        """Put a question; raises RuntimeError where the worker ended (its own words are on the error output)."""
        self._write({"do": do, **question})
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the worker of {title(self.what)} ended with code {self.process.wait()}")
        return json.loads(line)

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait()


def plan(args) -> list[dict]:
    """All rows: the shipped kernels first, which all others are compared with."""
    rows = []
    compilers = ["g++"] if shutil.which("g++") else []
    if importlib.util.find_spec("ziglang"):
        compilers.append(f"{sys.executable} -m ziglang c++")
    for precision in args.precision:
        if compilers:
            rows.append(setup(SHIPPED, "cpu", precision, compiler=compilers[0]))
        if args.device == "cpu":
            names = [name for name, variant in VARIANTS.items() if "cpu" in variant.devices and name != SHIPPED]
            rows += [setup(name, "cpu", precision, compiler=compilers[0]) for name in names]
            rows += [setup(SHIPPED, "cpu", precision, compiler=other) for other in compilers[1:]]
            if platform.machine() in ("x86_64", "AMD64"):
                rows.append(setup(SHIPPED, "cpu", precision, compiler=compilers[0], arch="x86-64"))
        else:
            rows += [setup(SHIPPED, args.device, precision, lanes) for lanes in args.lanes]
            names = [name for name, variant in VARIANTS.items() if "cuda" in variant.devices and name != SHIPPED]
            rows += [setup(name, args.device, precision, lanes) for lanes in args.price_lanes for name in names]
    if not rows:
        raise SystemExit("no C++ compiler is there: install g++ or ziglang")
    return [row for row in rows if not args.variants or row["variant"] in (SHIPPED, *args.variants)]


def measure(args, rows: list[dict]) -> list[dict]:
    """The rows with bits and times."""
    workers = [Worker(row) for row in rows]
    try:
        with ThreadPoolExecutor(args.jobs) as jobs:
            ask = dict(scene=args.scene, worlds=args.bit_worlds, steps=[s for s in STEPS if s <= args.most_steps])
            found = list(jobs.map(lambda worker: worker.ask("bits", **ask), workers))
        times = {(i, worlds): [] for i in range(len(rows)) for worlds in args.worlds}
        for round_ in range(args.rounds + 1):
            for i, worker in enumerate(workers):
                on_gpu = rows[i]["device"] != "cpu"
                for worlds in args.worlds if on_gpu or args.device == "cpu" else ():
                    answer = worker.ask("time", scene=args.scene, worlds=worlds, steps=args.steps)
                    if round_:  # the first round warms up
                        times[i, worlds].append(answer["seconds"])
    finally:
        for worker in workers:
            worker.close()
    return [_row(rows, found, times, args.worlds, i) for i in range(len(rows))]


def _row(rows: list[dict], found: list[dict], times: dict, worlds: list[int], i: int) -> dict:
    reference = next(j for j, row in enumerate(rows) if row["precision"] == rows[i]["precision"])
    price = next(
        j for j, row in enumerate(rows)
        if row["variant"] == SHIPPED and all(row[key] == rows[i][key] for key in ("device", "precision", "lanes"))
    )  # fmt: skip
    row = {**rows[i], "title": title(rows[i]), "contacts": found[i]["contacts"], "time": {}}
    row["differ"] = {
        steps: sum(a != b for a, b in zip(hashes, found[reference]["hashes"][steps], strict=True))
        for steps, hashes in found[i]["hashes"].items()
    }
    for count in worlds:
        if times[i, count]:
            middle, base = statistics.median(times[i, count]), statistics.median(times[price, count])
            row["time"][count] = {
                "microseconds": 1e6 * middle,
                "steps_per_second": count / middle,
                "against_same_bits": middle / base - 1,
            }
    return row


def show(args, rows: list[dict]) -> None:
    """The table."""
    steps = list(rows[0]["differ"])
    print(
        f"{args.scene}; worlds of {args.bit_worlds} that differ after {' / '.join(steps)} steps; "
        "us a step (against same bits)"
    )
    for row in rows:
        differ = " / ".join(f"{row['differ'][s]:3d}" for s in steps)
        spent = "   ".join(
            f"{worlds} worlds {t['microseconds']:9.1f} ({100 * t['against_same_bits']:+6.1f} %)"
            for worlds, t in row["time"].items()
        )
        print(f"{row['title']:70} {differ}   {spent}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scene", default="quadruped")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--precision", nargs="+", default=["float32"])
    parser.add_argument("--variants", nargs="*", choices=list(VARIANTS), help="only these (default: all)")
    parser.add_argument(
        "--lanes", type=int, nargs="+", default=[32, 16, 8, 4, 1], help="lanes of the shipped kernels (GPU)"
    )
    parser.add_argument(
        "--price-lanes", type=int, nargs="+", default=[32], help="lanes of the variants (GPU); among --lanes"
    )
    parser.add_argument(
        "--worlds", type=int, nargs="+", help="worlds of the timing (default 64 on the CPU, 8192 and 1 on a GPU)"
    )
    parser.add_argument("--bit-worlds", type=int, default=64)
    parser.add_argument("--most-steps", type=int, default=1000)
    parser.add_argument("--steps", type=int, default=50, help="steps of one timing")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes that compile at once")
    parser.add_argument("--out", type=Path, help="write the rows here (JSON)")
    args = parser.parse_args()
    args.worlds = args.worlds or ([64] if args.device == "cpu" else [8192, 1])
    if not set(args.price_lanes) <= set(args.lanes):
        parser.error(
            "--price-lanes must be among --lanes: a price is counted against the shipped kernel of as many lanes"
        )
    rows = measure(args, plan(args))
    show(args, rows)
    if args.out:
        args.out.parent.mkdir(parents=True, exist_ok=True)
        settings = {key: str(value) if isinstance(value, Path) else value for key, value in vars(args).items()}
        args.out.write_text(json.dumps({"settings": settings, "machine": platform.processor(), "rows": rows}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
