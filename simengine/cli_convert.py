"""``simengine convert``: a robot file in another format."""

from __future__ import annotations

import warnings
from pathlib import Path

import simengine as sim
from simengine.cli_files import SUFFIXES, read_into, refuse_source
from simengine.errors import AssetError


def convert(options) -> int:
    """Read one file and write another, of the format that its ending names; returns the exit code."""
    target = Path(options.output)
    kind = SUFFIXES.get(target.suffix.lower())
    if kind is None or target.suffix.lower() == ".usdz":
        endings = ", ".join(ending for ending in SUFFIXES if ending != ".usdz")
        raise AssetError(f"cannot be written: its ending must be one of {endings}", file=options.output)
    refuse_source(options.file, options.output, "OUTPUT")
    builder = sim.ModelBuilder()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the reports hold it all
        read = read_into(builder, options.file, options, velocity_limits=True)
        _make_folder(target)
        written = getattr(sim, f"export_{kind}")(builder, target)
    print(read)
    print()
    print(written)
    return 0


def _make_folder(target: Path) -> None:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise AssetError(f"cannot be written: no folder {target.parent}: {error.strerror}", file=target) from error
