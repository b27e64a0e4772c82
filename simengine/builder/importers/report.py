"""What an importer did with a file: what it read, defaulted, ignored, repaired and filtered, each with its place."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from simengine.errors import AssetError, printable

UNKNOWN = "not part of the format (misspelt?)"
LISTED = 6  # places printed for one kind of note


@dataclass(frozen=True)
class Note:
    """One thing that an importer did.

    what: the kind of thing ("<transmission>", "joint limit"); where: element and line; reason: why, or what it did.
    """

    what: str
    where: str
    reason: str

    def __str__(self) -> str:
        return f"{self.what} ({self.where}): {self.reason}"


@dataclass
class ImportReport:
    """The outcome of one import; ``print(report)`` shows it all.

    Attributes:
        file: the file that was read. name: name of the robot or scene in it.
        read: how many of each thing were read, by name.
        defaulted: values that the file left out and what was taken. ignored: what was passed over, and why.
        kept: what was read and is on the builder, but is not simulated yet.
        repaired: what was mended, and how. warned: what was kept as written though it looks wrong.
        filtered: pairs of shapes of this robot that overlap in its zero pose and so do not collide.
        bodies, joints: index in the builder by the file's name.
        shapes: indices of all shapes.
        attributes: how many attributes of the file were read, kept, ignored on purpose, or unknown.
        mimics: (joint, its leader, multiplier, offset) of each joint equality that was described.
    """

    file: str
    name: str = ""
    read: dict[str, int] = field(default_factory=dict)
    defaulted: list[Note] = field(default_factory=list)
    ignored: list[Note] = field(default_factory=list)
    kept: list[Note] = field(default_factory=list)
    repaired: list[Note] = field(default_factory=list)
    warned: list[Note] = field(default_factory=list)
    filtered: list[Note] = field(default_factory=list)
    bodies: dict[str, int] = field(default_factory=dict)
    joints: dict[str, int] = field(default_factory=dict)
    shapes: list[int] = field(default_factory=list)
    attributes: dict[str, int] = field(default_factory=dict)
    mimics: list[tuple[str, str, float, float]] = field(default_factory=list)

    def count(self, what: str, number: int = 1) -> None:
        """Count something that was read; none adds no line."""
        if number:
            self.read[what] = self.read.get(what, 0) + number

    def counts(self) -> dict[str, int]:
        """How many notes of each kind there are."""
        return {name: len(getattr(self, name)) for name in SECTIONS}

    def summary(self) -> str:
        """One line: what was read, and how many notes there are of each kind."""
        read = ", ".join(f"{number} {what}" for what, number in self.read.items()) or "nothing"
        notes = ", ".join(f"{number} {name}" for name, number in self.counts().items() if number)
        return f"{printable(self.name or self.file)}: {read}" + (f"; {notes}" if notes else "")

    def __str__(self) -> str:
        lines = [printable(self.file) + (f" ({printable(self.name)})" if self.name else "")]
        lines.append("  read: " + (", ".join(f"{number} {what}" for what, number in self.read.items()) or "nothing"))
        for section in SECTIONS:
            notes = getattr(self, section)
            if notes:
                lines.append(f"  {section}: {len(notes)}")
                lines += [f"    {line}" for line in grouped(notes)]
        return "\n".join(lines)


SECTIONS = ("defaulted", "ignored", "kept", "repaired", "warned", "filtered")


class Place(Protocol):
    """Where in a file something stands: an XML element, a prim."""

    @property
    def where(self) -> str:
        """Words for the report: element and line, or prim path."""

    def error(self, message: str) -> AssetError:
        """An error about this place; the caller raises it."""


class Notes:
    """Notes for the report; ``strict`` refuses what would be ignored, ``unsupported="raise"`` what is only kept."""

    def __init__(self, report: ImportReport, strict: bool, unsupported: str):
        self.report = report
        self.strict = strict
        self.unsupported = unsupported

    def note(self, section: str, what: str, place: Place, reason: str) -> None:
        """Put a note into a section of the report."""
        getattr(self.report, section).append(Note(what, place.where, reason))

    def ignore(self, what: str, place: Place, reason: str) -> None:
        """Note something that is passed over; refuse it where the user asked for that."""
        if self.strict:
            raise place.error(f"{what} is not read: {reason}")
        self.note("ignored", what, place, reason)

    def keep(self, what: str, place: Place, reason: str) -> None:
        """Note something that is on the builder but not simulated; refuse it where the user asked for that."""
        if self.unsupported == "raise":
            raise place.error(f"{what} is not simulated yet: {reason}")
        self.note("kept", what, place, reason)

    def count_attribute(self, fate: str, number: int = 1) -> None:
        """Count attributes of the file: "read", "kept", "ignored" or "unknown"."""
        self.report.attributes[fate] = self.report.attributes.get(fate, 0) + number

    def count_subtree(self, element, fate: str) -> None:
        """Count the attributes of an XML element that is passed over, and of all in it."""
        stack = [element]
        while stack:
            one = stack.pop()
            self.count_attribute(fate, len(one.attributes))
            stack += one.children


def grouped(notes: list[Note]) -> list[str]:
    """One line for each (what, reason), with the first few places."""
    groups: dict[tuple[str, str], list[str]] = {}
    for note in notes:
        groups.setdefault((note.what, note.reason), []).append(note.where)
    lines = []
    for (what, reason), places in groups.items():
        listed = ", ".join(places[:LISTED]) + (f", and {len(places) - LISTED} more" if len(places) > LISTED else "")
        times = f" x {len(places)}" if len(places) > 1 else ""
        lines.append(_one_line(f"{what}{times}: {reason} [{listed}]"))
    return lines


def _one_line(text: str) -> str:
    """The text with escapes for the line breaks and control characters of names in it."""
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)
