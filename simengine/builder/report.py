"""What an importer did with a file: what it read, defaulted, ignored, repaired and filtered, each with its place."""

from __future__ import annotations

from dataclasses import dataclass, field

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
        repaired: what was mended, and how. warned: what was kept as written though it looks wrong.
        filtered: pairs of shapes of this robot that overlap in its zero pose and so do not collide.
        bodies, joints: index in the builder by the file's name.
        shapes: indices of all shapes.
        mimics: (joint, its leader, multiplier, offset) of each joint equality that was described.
    """

    file: str
    name: str = ""
    read: dict[str, int] = field(default_factory=dict)
    defaulted: list[Note] = field(default_factory=list)
    ignored: list[Note] = field(default_factory=list)
    repaired: list[Note] = field(default_factory=list)
    warned: list[Note] = field(default_factory=list)
    filtered: list[Note] = field(default_factory=list)
    bodies: dict[str, int] = field(default_factory=dict)
    joints: dict[str, int] = field(default_factory=dict)
    shapes: list[int] = field(default_factory=list)
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
        return f"{self.name or self.file}: {read}" + (f"; {notes}" if notes else "")

    def __str__(self) -> str:
        lines = [f"{self.file}" + (f" ({self.name})" if self.name else "")]
        lines.append("  read: " + (", ".join(f"{number} {what}" for what, number in self.read.items()) or "nothing"))
        for section in SECTIONS:
            notes = getattr(self, section)
            if notes:
                lines.append(f"  {section}: {len(notes)}")
                lines += [f"    {line}" for line in _grouped(notes)]
        return "\n".join(lines)


SECTIONS = ("defaulted", "ignored", "repaired", "warned", "filtered")


def _grouped(notes: list[Note]) -> list[str]:
    """One line for each (what, reason), with the first few places."""
    groups: dict[tuple[str, str], list[str]] = {}
    for note in notes:
        groups.setdefault((note.what, note.reason), []).append(note.where)
    lines = []
    for (what, reason), places in groups.items():
        listed = ", ".join(places[:LISTED]) + (f", and {len(places) - LISTED} more" if len(places) > LISTED else "")
        times = f" x {len(places)}" if len(places) > 1 else ""
        lines.append(f"{what}{times}: {reason} [{listed}]")
    return lines
