"""What an exporter did with a builder: what it wrote, what it wrote in another form, and what it could not write."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from simengine.builder.importers.report import Note, grouped
from simengine.errors import UnsupportedError, warn_user

SECTIONS = ("lost", "rewritten")


@dataclass
class ExportReport:
    """The outcome of one export; ``print(report)`` shows it all.

    Attributes:
        file: the file that was written. format: "MJCF", "URDF" or "USD".
        written: how many of each thing were written, by name. files: all files, the main one last.
        lost: what the format cannot hold: left out, or replaced by what comes near, as the reason says.
        rewritten: what means the same in the file but will come back from it in another form.
    """

    file: str
    format: str
    written: dict[str, int] = field(default_factory=dict)
    files: list[str] = field(default_factory=list)
    lost: list[Note] = field(default_factory=list)
    rewritten: list[Note] = field(default_factory=list)

    def count(self, what: str, number: int = 1) -> None:
        """Count something that was written; none adds no line."""
        if number:
            self.written[what] = self.written.get(what, 0) + number

    def summary(self) -> str:
        """One line: what was written, and how many notes there are of each kind."""
        written = ", ".join(f"{number} {what}" for what, number in self.written.items()) or "nothing"
        notes = ", ".join(f"{len(getattr(self, name))} {name}" for name in SECTIONS if getattr(self, name))
        return f"{self.file}: {written}" + (f"; {notes}" if notes else "")

    def __str__(self) -> str:
        written = ", ".join(f"{number} {what}" for what, number in self.written.items()) or "nothing"
        lines = [f"{self.file} ({self.format})", f"  written: {written}"]
        for section in SECTIONS:
            notes = getattr(self, section)
            if notes:
                lines.append(f"  {section}: {len(notes)}")
                lines += [f"    {line}" for line in grouped(notes)]
        return "\n".join(lines)


class ExportNotes:
    """Notes for the report; ``strict`` refuses what would be lost."""

    def __init__(self, path: str | os.PathLike, format_name: str, strict: bool):
        self.report = ExportReport(os.fspath(path), format_name)
        self.strict = strict

    def lose(self, what: str, element: str, reason: str) -> None:
        """Note what the format cannot hold. ``element``: kind and label of what has it, "joint 'knee'" say.

        Raises UnsupportedError where nothing may be lost.
        """
        if self.strict:
            raise UnsupportedError(
                f"{self.report.file}: {self.report.format} cannot hold {what}: {reason}; leave out strict=True to "
                "write the rest",
                property=what,
                elements=(element,),
            )
        self.report.lost.append(Note(what, element, reason))

    def rewrite(self, what: str, element: str, reason: str) -> None:
        """Note what is written in another form that means the same."""
        self.report.rewritten.append(Note(what, element, reason))

    def warn(self) -> None:
        """One warning for all that was lost."""
        lost = self.report.lost
        if lost:
            warn_user(
                f"{self.report.file}: {len(lost)} things that {self.report.format} cannot hold (first: {lost[0]}); "
                "print the report for all",
            )
