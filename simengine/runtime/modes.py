"""What is switched on around a launch: capture, profile, emulated lanes, poisoned scratch, debugging.

A launch looks at ``modes.special`` alone: False means that it may call its function and be done. A capture and a
profile are on in all threads, so that a launch of another thread is refused or counted; the rest is each thread's own.
"""

from __future__ import annotations

import os
import sys
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType

from simengine.errors import LaunchError


@dataclass(frozen=True)
class Emulation:
    """Lanes of a group on the CPU, run as fibres in an order drawn from ``seed``."""

    lanes: int
    seed: int


DEBUG = os.environ.get("SIMENGINE_DEBUG", "") not in ("", "0")


class _Thread(threading.local):
    """What is on in one thread. ``is_apart``: it does what the capture does not see."""

    emulation: Emulation | None = None
    poison = False
    debug = DEBUG
    is_apart = False


class _Modes(ModuleType):
    """This module: what a thread has of its own is looked up in the thread that asks."""

    @property
    def capture(self):
        """The capture that is on (capture.py), in whatever thread, or None."""
        return None if _thread.is_apart else _capture

    @property
    def emulation(self) -> Emulation | None:
        return _thread.emulation

    @property
    def poison(self) -> bool:
        return _thread.poison

    @property
    def debug(self) -> bool:
        return _thread.debug


sys.modules[__name__].__class__ = _Modes

special: bool = DEBUG
profile = None  # the profile that is on (profiling.py), or None
_capture = None
_thread = _Thread()
_blocks = 0
_lock = threading.Lock()


@contextmanager
def _looked_at():
    """Within it launches of all threads look at what is on."""
    global special, _blocks
    with _lock:
        _blocks += 1
        special = True
    try:
        yield
    finally:
        with _lock:
            _blocks -= 1
            special = DEBUG or _blocks > 0


@contextmanager
def _switched(**values):
    """Set some switches of this thread within a block."""
    before = {name: getattr(_thread, name) for name in values}
    with _looked_at():
        vars(_thread).update(values)
        try:
            yield
        finally:
            vars(_thread).update(before)


def apart():
    """Context manager: what this thread does within it a capture does not see, and other threads are left to theirs."""
    return _switched(is_apart=True)


@contextmanager
def capturing(graph):
    """Have ``graph`` take up the launches within a block. Raises LaunchError where a capture is on in any thread."""
    global _capture
    with _looked_at():
        with _lock:
            if _capture is not None:
                raise _refusal("a second capture was begun")
            _capture = graph
        try:
            yield
        finally:
            _capture = None


@contextmanager
def profiling(found):
    """Have ``found`` time the launches of all threads within a block."""
    global profile
    with _looked_at():
        profile = found
        try:
            yield
        finally:
            profile = None


def emulated_lanes(count: int, seed: int = 0, poison: bool = True):
    """Context manager: kernels that this thread launches on the CPU within it run each group as ``count`` fibres.

    Between barriers the fibres run in an order drawn from ``seed``. ``poison``: fill the memory of a group with NaN
    bytes before each world. Results must not depend on any of this; it is slow and meant for tests.
    """
    if not 1 <= count <= 32 or count & (count - 1):
        raise LaunchError(f"emulated lanes must be 1, 2, 4, 8, 16 or 32, got {count}")
    return _switched(emulation=Emulation(count, seed), poison=poison or _thread.debug)


def poisoned_scratch():
    """Context manager: on the CPU the memory of a group is filled with NaN bytes before each world, for this thread."""
    return _switched(poison=True)


def debugging(on: bool = True):
    """Context manager: as the environment variable SIMENGINE_DEBUG=1, for launches that this thread prepares and makes
    within it."""
    return _switched(debug=on)


def refuse_while_capturing(what: str) -> None:
    """Raise LaunchError where a capture is on."""
    if _capture is not None and not _thread.is_apart:
        raise _refusal(what)


def _refusal(what: str) -> LaunchError:
    return LaunchError(f"{what} within sim.capture: a graph replays launches only; do it before the capture")
