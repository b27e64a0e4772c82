"""The pool of threads on which kernels run on the CPU (kernels_cuda/cpu_pool.cpp)."""

from __future__ import annotations

import ctypes
import functools
import os
from pathlib import Path

from simengine.errors import CapacityError, LaunchError, SimError
from simengine.runtime import source

MOST_THREADS = 1024


class Job(ctypes.Structure):
    """SimJob of cpu_pool.cpp: a kernel and the work it is given."""

    _fields_ = [
        ("kernel", ctypes.c_void_p),
        ("arguments", ctypes.c_void_p),
        ("items", ctypes.c_longlong),
        ("grain", ctypes.c_longlong),
        ("scratch", ctypes.c_longlong),
        ("lanes", ctypes.c_int),
        ("seed", ctypes.c_uint),
        ("poison", ctypes.c_int),
        ("padding", ctypes.c_int),
    ]


@functools.cache
def text() -> str:
    """The text of the pool, includes inlined."""
    return source.inline(source.read_source("cpu_pool.cpp"), {})


def _load() -> ctypes.CDLL:
    from simengine.runtime import build

    # built for any processor of the family: it is this library that tells what the processor can do
    arch = build.machine()
    library = build.open_library(build.compile_text(text(), "cpu_pool", arch), "cpu_pool")
    library.sim_pool_run.argtypes = [ctypes.c_void_p]
    library.sim_pool_run.restype = ctypes.c_int
    library.sim_pool_set_threads.argtypes = [ctypes.c_int]
    library.sim_pool_set_threads.restype = None
    return library


@functools.cache
def library() -> ctypes.CDLL:
    """The loaded pool, with the default number of threads."""
    loaded = _load()
    loaded.sim_pool_set_threads(default_threads())
    return loaded


@functools.cache
def cpu_level() -> int:
    """3 where the processor runs x86-64-v3, else 1."""
    return int(library().sim_cpu_level())


def set_num_threads(count: int | None) -> None:
    """How many threads kernels on the CPU use, the calling one among them; None: as many as this process may use.

    Results do not depend on it. Raises LaunchError for less than 1 or more than 1024.
    """
    if count is None:
        count = default_threads()
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= MOST_THREADS:
        raise LaunchError(f"set_num_threads takes a whole number from 1 to {MOST_THREADS}, or None; got {count!r}")
    library().sim_pool_set_threads(count)


def num_threads() -> int:
    """How many threads kernels on the CPU use."""
    return int(library().sim_pool_threads())


def default_threads() -> int:
    """Processors that this process may use: its affinity, and the quota of its control group, rounded up."""
    try:
        count = len(os.sched_getaffinity(0))
    except AttributeError:  # not on this system
        count = os.cpu_count() or 1
    quota = cgroup_quota()
    return max(1, min(count, MOST_THREADS, count if quota is None else -int(-quota // 1)))


def cgroup_quota(root: Path = Path("/sys/fs/cgroup"), membership: Path = Path("/proc/self/cgroup")) -> float | None:
    """Processors that the control group of this process may use (versions 2 and 1), or None where nothing limits it."""
    found = []
    for line in _read(membership).splitlines():
        _, controllers, path = (line.split(":", 2) + ["", ""])[:3]
        if controllers == "":
            folders = _up(root, path)
            found += [_quota(*(_read(folder / "cpu.max").split() + ["", ""])[:2]) for folder in folders]
        elif "cpu" in controllers.split(","):
            for folder in _up(root / "cpu", path):
                found.append(_quota(_read(folder / "cpu.cfs_quota_us"), _read(folder / "cpu.cfs_period_us")))
    limits = [quota for quota in found if quota is not None]
    return min(limits) if limits else None


def _up(root: Path, path: str) -> list[Path]:
    """The folder of a group and those above it: each may set a limit."""
    inner = root / path.strip("/")
    return [inner, *(parent for parent in inner.parents if parent == root or root in parent.parents)]


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""


def _quota(quota: str, period: str) -> float | None:
    try:
        return float(quota) / float(period) if float(quota) > 0 else None
    except (ValueError, ZeroDivisionError):
        return None


def failure(code: int, kernel: str, scratch: int) -> SimError:
    """The error for a code of ``sim_pool_run``."""
    if code == 1:
        message = f"no memory for the scratch of kernel {kernel}: use fewer threads or a smaller model"
        return CapacityError(message, buffer="scratch", needed=scratch, had=0)
    return LaunchError("a thread of the pool could not be started: lower sim.set_num_threads(n)", kernel=kernel)
