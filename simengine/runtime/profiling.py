"""``sim.profile``: where the time goes, by label: compiling, running, reading back."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from simengine.errors import LaunchError, callsite
from simengine.runtime import modes
from simengine.runtime.devices import Device

KINDS = ("compile", "run", "read back")


@dataclass
class Row:
    """Calls and seconds of one kind under one label."""

    label: str
    kind: str
    calls: int = 0
    seconds: float = 0.0


class Profile:
    """Times by kind and label. ``rows()`` gives them as data; printing gives a table."""

    def __init__(self):
        self._rows: dict[tuple[str, str], Row] = {}
        self._events: list[tuple[str, object, object]] = []

    def _add(self, kind: str, label: str, seconds: float) -> None:
        row = self._rows.setdefault((kind, label), Row(label, kind))
        row.calls += 1
        row.seconds += seconds

    def add_compile(self, label: str, seconds: float) -> None:
        """Count one compilation."""
        self._add("compile", label, seconds)

    def add_read_back(self, label: str, seconds: float) -> None:
        """Count one copy from a device to the host, with the wait for what was still running."""
        self._add("read back", label, seconds)

    def time_launch(self, label: str, device: Device, run: Callable[[], None]) -> None:
        """Run a launch and count its time: on a GPU its own time there, by events, without waiting."""
        if not device.is_cuda:
            started = time.perf_counter()
            run()
            self._add("run", label, time.perf_counter() - started)
            return
        cupy = device.array_module
        with device.context():
            begin, end = cupy.cuda.Event(), cupy.cuda.Event()
            begin.record()
            run()
            end.record()
        self._events.append((label, begin, end))

    def _collect(self) -> None:
        events, self._events = self._events, []
        for label, begin, end in events:
            import cupy

            end.synchronize()
            self._add("run", label, cupy.cuda.get_elapsed_time(begin, end) / 1000)

    def rows(self) -> list[Row]:
        """All rows, by kind, then the slowest first."""
        self._collect()
        return sorted(self._rows.values(), key=lambda row: (KINDS.index(row.kind), -row.seconds))

    def seconds(self, kind: str) -> float:
        """Seconds of one kind: "compile", "run" or "read back"."""
        return sum(row.seconds for row in self.rows() if row.kind == kind)

    def __str__(self) -> str:
        rows = self.rows()
        width = max([len(row.label) for row in rows] + [len("label")])
        lines = [f"{'what':9}  {'label':{width}}  {'calls':>8}  {'total ms':>10}  {'mean us':>10}"]
        for row in rows:
            mean = row.seconds / row.calls * 1e6
            lines.append(f"{row.kind:9}  {row.label:{width}}  {row.calls:8}  {row.seconds * 1e3:10.3f}  {mean:10.2f}")
        return "\n".join(lines)


@contextmanager
def profile() -> Iterator[Profile]:
    """Time all launches, compilations and read-backs within the block: ``with sim.profile() as p: ...; print(p)``."""
    if modes.profile is not None:
        raise LaunchError("a profile is already on: profiles do not nest", site=callsite())
    found = Profile()
    with modes.profiling(found):
        yield found


def read_back(array, label: str = "array"):
    """A CuPy array as a NumPy array, its time counted where a profile is on."""
    if modes.profile is None:
        return array.get()
    started = time.perf_counter()
    values = array.get()
    modes.profile.add_read_back(label, time.perf_counter() - started)
    return values
