"""A long fuzzing run: ``python -m tests.fuzz.run --minutes 30 --target all`` (urdf, mjcf, usd, mesh or all).

Workers try damaged and random files until the time is over, each in a process with a limit of memory; a file that takes
longer than a few seconds, or that ends the process, is a finding as an unexpected error is. Findings lie in out/fuzz
with the error in a text beside them, one for each distinct error. The exit code is the number of them, at most 99.
With ``--atheris`` (where that package is installed) its coverage guides the damage instead.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from hashlib import sha1
from pathlib import Path
from random import Random

from tests.fuzz import seeds
from tests.fuzz.targets import TARGETS, Finding, attempt, drawn, prepare

OUT = Path("out/fuzz")
MEMORY = 4 << 30  # bytes of a worker's address space
SLOW = 10  # s of a processor that one file may take, so that other load on the machine is no finding
STUCK = 60  # s on the clock
BATCH = 60.0  # s that one worker works


class _Slow(BaseException):
    """One file takes too long."""


def main(arguments: list[str] | None = None) -> int:
    """Run workers until the time is over; returns the number of findings."""
    options = _parser().parse_args(arguments)
    OUT.mkdir(parents=True, exist_ok=True)
    if options.worker:
        return _work(options)
    end = time.monotonic() + 60.0 * options.minutes
    targets = TARGETS if options.target == "all" else (options.target,)
    totals = {target: {"tried": 0, "read": 0} for target in targets}
    seed = options.seed
    while (left := end - time.monotonic()) > 0.0:
        target = targets[seed % len(targets)]
        seconds = min(BATCH, left / len(targets) if seed - options.seed < len(targets) else left)
        _run_worker(target, seed, seconds, options.atheris, totals[target])
        seed += 1
    for target, total in totals.items():
        print(f"{target}: {total['tried']} files tried, {total['read']} of them read")
    found = sorted(OUT.glob("*.txt"))
    for text in found:
        print(f"finding: {text}: {text.read_text().splitlines()[0]}")
    return min(len(found), 99)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--target", choices=(*TARGETS, "all"), default="all")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--atheris", action="store_true", help="let the package atheris guide the damage")
    parser.add_argument("--seconds", type=float, default=BATCH, help=argparse.SUPPRESS)
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    return parser


def _run_worker(target: str, seed: int, seconds: float, atheris: bool, total: dict) -> None:
    """One worker process; where it crashes, the file that it was trying is a finding."""
    command = [sys.executable, "-m", "tests.fuzz.run", "--worker", "--target", target, "--seed", str(seed)]
    command += ["--seconds", str(seconds), *(["--atheris"] if atheris else [])]
    ended = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    for line in ended.stdout.splitlines():
        if line.startswith("{"):
            for key, number in json.loads(line).items():
                total[key] += number
    current = OUT / f"current-{target}"
    if ended.returncode and current.exists():
        name, _, data = current.read_bytes().partition(b"\n")
        last = ended.stderr.strip().splitlines()[-1:] or [""]
        _save(target, name.decode(), data, f"the process ended with {ended.returncode}: {last[0][:200]}")
    elif ended.returncode:
        print(ended.stderr, file=sys.stderr)
        raise SystemExit("a worker did not start")


def _work(options: argparse.Namespace) -> int:
    """Try files until the time is over; print the counts."""
    _limit()
    kind = options.target
    known = [*seeds.of(kind), *seeds.of_reference_data(kind)]
    counts = {"tried": 0, "read": 0}
    end = time.monotonic() + options.seconds
    current = OUT / f"current-{kind}"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder)

        def one(name: str, data: bytes) -> None:
            current.write_bytes(name.encode() + b"\n" + data)
            _try(kind, name, data, folder, counts)

        if options.atheris:
            _guided(known, one, options)
        random = Random(options.seed)
        while time.monotonic() < end:
            one(*drawn(random, kind, known))
    print(json.dumps(counts), flush=True)
    current.unlink(missing_ok=True)
    return 0


def _try(kind: str, name: str, data: bytes, folder: Path, counts: dict) -> None:
    signal.setitimer(signal.ITIMER_PROF, SLOW)
    signal.setitimer(signal.ITIMER_REAL, STUCK)
    try:
        counts["read"] += attempt(kind, name, data, folder)
    except Finding as finding:
        _save(kind, name, data, str(finding))
    except _Slow:
        _save(kind, name, data, f"takes more than {SLOW} s of a processor, or {STUCK} s")
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
    counts["tried"] += 1


def _guided(known: list[tuple[str, bytes]], one, options: argparse.Namespace) -> None:
    """Let atheris choose the bytes; it ends the process when its time is over."""
    import atheris

    names = sorted({name for name, _ in known})
    corpus = OUT / f"corpus-{options.target}"
    corpus.mkdir(exist_ok=True)
    for name, data in known:
        (corpus / sha1(data).hexdigest()).write_bytes(bytes([names.index(name)]) + data)
    atheris.Setup(
        [sys.argv[0], f"-max_total_time={int(options.seconds)}", str(corpus)],
        lambda data: one(names[data[0] % len(names)], data[1:]) if data else None,
    )
    atheris.Fuzz()


def _limit() -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    def stop(*_):
        raise _Slow

    signal.signal(signal.SIGALRM, stop)
    signal.signal(signal.SIGPROF, stop)


def _save(kind: str, name: str, data: bytes, message: str) -> None:
    """The file and the error; one of each kind of error."""
    words = message.partition(": ")[0]
    stem = OUT / f"{kind}-{sha1(words.encode()).hexdigest()[:10]}"
    if stem.with_suffix(".txt").exists():
        return
    ending = name.rsplit(".", 1)[-1]
    Path(f"{stem}.{ending}").write_bytes(data)
    stem.with_suffix(".txt").write_text(f"{message}\n(file {name}, {len(data)} bytes, process {os.getpid()})\n")


if __name__ == "__main__":
    raise SystemExit(main())
