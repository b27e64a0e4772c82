"""What the importers do with the attributes of a folder of robot files, as a table: ``make report``.

For each file: attributes read, kept (on the builder, not simulated yet), ignored on purpose, unknown; and the time to
read it, the median of three readings with the caches of hulls warm.
"""

from __future__ import annotations

import argparse
import statistics
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import simengine as sim
from simengine.cli_files import SUFFIXES, format_of, read_into

HEAD = """# Coverage of the importers

For each file of the collection of robots by others that the tests use: how many of its attributes are read, kept on the
builder without being simulated yet, ignored for a reason that the report gives, and unknown to the format; how many
elements are kept without being simulated; and the seconds to read it with its meshes (median of three, hulls cached).
Attributes of meshes are not counted; those of a kept element count as read where the element holds them. Made by
`make report ASSETS=folder`.

| file | read | kept | ignored | unknown | elements kept | s | what is ignored or unknown |
|---|---|---|---|---|---|---|---|
"""
OPTIONS = {"package_root": [], "allow_path": [], "trust": True, "strict": False}


def files(folder: Path) -> Iterator[Path]:
    """All files under a folder that are robots or scenes, not parts that others include."""
    for path in sorted(folder.rglob("*")):
        if path.suffix.lower() in SUFFIXES and path.with_suffix(".expected.json").exists():
            yield path


def row(path: Path, folder: Path) -> str:
    """One line of the table."""
    times = []
    options = SimpleNamespace(**OPTIONS | {"package_root": _package_roots(path, folder)})
    for _ in range(3):
        began = time.perf_counter()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                report = read_into(sim.ModelBuilder(), str(path), options)
        except sim.SimError as error:
            return _line(path.relative_to(folder), *[""] * 6, f"refused: {_short(_without(folder, error))}")
        times.append(time.perf_counter() - began)
    counts = [report.attributes.get(fate, 0) for fate in ("read", "kept", "ignored", "unknown")]
    ignored = ", ".join(dict.fromkeys(note.what for note in report.ignored)) or "-"
    counts.append(len(report.kept))
    return _line(path.relative_to(folder), *counts, f"{statistics.median(times):.3f}", _short(ignored))


def _line(*cells) -> str:
    return f"| {' | '.join(map(str, cells))} |\n"


def _package_roots(path: Path, folder: Path) -> list[str]:
    """Folders above a URDF, for its package:// names; other formats take none."""
    if format_of(path) != "urdf":
        return []
    return [str(parent) for parent in path.parents if parent.is_relative_to(folder)]


def _without(folder: Path, error: Exception) -> str:
    """The message without the place of the collection."""
    return str(error).replace(f"{folder.resolve()}/", "").replace(f"{folder}/", "")


def _short(text: str) -> str:
    text = " ".join(text.replace("|", "/").split())
    return text if len(text) <= 160 else text[:157] + "..."


def main() -> None:
    """Print the table, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--write", type=Path, help="page to write")
    options = parser.parse_args()
    page = HEAD + "".join(row(path, options.folder) for path in files(options.folder))
    if options.write:
        options.write.write_text(page, encoding="utf-8")
    print(page[len(HEAD.split("| file")[0]) :])


if __name__ == "__main__":
    main()
