"""What the options of ``simengine run`` must be, checked before anything is read or built; errors name the option."""

from __future__ import annotations

import math
from pathlib import Path

from simengine.cli_files import refuse_source
from simengine.errors import ModelError
from simengine.runtime.pool import MOST_THREADS
from simengine.viewers.usd_recorder import SUFFIXES

MOST_FRAMES = 10**9
MOST_FREQUENCY = 1e5
"""Hz of drives: beyond, their stiffness is far from what single precision can weigh against gravity."""


def check_run(options) -> None:
    """ModelError for an option that cannot be."""
    _check_time(options)
    frequency = options.drive_frequency
    if frequency is not None and not 0 <= frequency <= MOST_FREQUENCY:
        reason = f"is {frequency:g}; it must be a number of Hz up to {MOST_FREQUENCY:g}, or 0 for no drives"
        raise ModelError(reason, element="--drive-frequency")
    if not (math.isfinite(options.noise) and options.noise >= 0):
        raise ModelError("must be 0 or more", element="--noise")
    if options.threads and options.threads > MOST_THREADS:
        raise ModelError(f"is {options.threads}; at most {MOST_THREADS} are used", element="--threads")
    _check_place(options)
    if options.record is not None:
        if Path(options.record).suffix not in SUFFIXES:
            raise ModelError(f"{options.record!r} must end in {', '.join(SUFFIXES)}", element="--record")
        refuse_source(options.file, options.record, "--record")


def _check_time(options) -> None:
    for name in ("seconds", "dt"):
        value = getattr(options, name)
        if not (math.isfinite(value) and value > 0):
            raise ModelError(f"is {value!r}; give a positive number of seconds", element=f"--{name}")
    if options.seconds < options.dt:
        raise ModelError(f"is {options.seconds}, less than one frame of {options.dt:.3g} s", element="--seconds")
    frames = options.seconds / options.dt
    if frames > MOST_FRAMES:
        reason = f"are {frames:.3g} frames of {options.dt:.3g} s (--dt); at most {MOST_FRAMES:g} are simulated"
        raise ModelError(f"{options.seconds:g} s {reason}", element="--seconds")


def _check_place(options) -> None:
    if options.height is not None and not math.isfinite(options.height):
        raise ModelError(f"is {options.height}; give a number of metres", element="--height")
    if options.xform is None:
        return
    if len(options.xform) not in (3, 7):
        raise ModelError(f"has {len(options.xform)} numbers; give 3 or 7", element="--xform")
    if not all(map(math.isfinite, options.xform)):
        raise ModelError("needs finite numbers", element="--xform")
    if len(options.xform) == 7 and not math.hypot(*options.xform[3:]) > 0:
        raise ModelError("its quaternion, the last four numbers, has length zero; try 0 0 0 1", element="--xform")
