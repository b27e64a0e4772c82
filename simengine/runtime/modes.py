"""What is switched on around a launch: capture, profile, emulated lanes, poisoned scratch, debugging.

A launch looks at ``modes.special`` alone: False means that it may call its function and be done.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass

from simengine.errors import LaunchError


@dataclass(frozen=True)
class Emulation:
    """Lanes of a group on the CPU, run as fibres in an order drawn from ``seed``."""

    lanes: int
    seed: int


special: bool = False
capture = None  # the capture that is on (capture.py), or None
profile = None  # the profile that is on (profiling.py), or None
emulation: Emulation | None = None
poison: bool = False
debug: bool = os.environ.get("SIMENGINE_DEBUG", "") not in ("", "0")


def _refresh() -> None:
    global special
    special = bool(capture is not None or profile or emulation or poison or debug)


_refresh()


@contextmanager
def switched(**values):
    """Set some of this module's switches within a block."""
    before = {name: globals()[name] for name in values}
    globals().update(values)
    _refresh()
    try:
        yield
    finally:
        globals().update(before)
        _refresh()


def emulated_lanes(count: int, seed: int = 0, poison: bool = True):
    """Context manager: kernels launched on the CPU within it run each group as ``count`` fibres.

    Between barriers the fibres run in an order drawn from ``seed``. ``poison``: fill the memory of a group with NaN
    bytes before each world. Results must not depend on any of this; it is slow and meant for tests.
    """
    if not 1 <= count <= 32 or count & (count - 1):
        raise LaunchError(f"emulated lanes must be 1, 2, 4, 8, 16 or 32, got {count}")
    return switched(emulation=Emulation(count, seed), poison=poison or debug)


def poisoned_scratch():
    """Context manager: on the CPU the memory of a group is filled with NaN bytes before each world."""
    return switched(poison=True)


def debugging(on: bool = True):
    """Context manager: as the environment variable SIMENGINE_DEBUG=1, for launches prepared and made within it."""
    return switched(debug=on)


def refuse_while_capturing(what: str) -> None:
    """Raise LaunchError where a capture is on."""
    if capture is not None:
        raise LaunchError(f"{what} within sim.capture: a graph replays launches only; do it before the capture")
