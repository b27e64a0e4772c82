"""Names in a file: those that labels become where a format does not take them as they are, each once."""

from __future__ import annotations

import re
from collections.abc import Callable

from simengine.builder.exporters.report import ExportNotes

_NOT_XML = re.compile("[^\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Names:
    """Names of one kind of thing by label. ``valid`` turns a label into what the format allows.

    ``notes`` None: the label itself stands elsewhere in the file.
    """

    def __init__(self, kind: str, notes: ExportNotes | None, valid: Callable[[str], str], taken=()):
        self.kind, self.notes, self.valid = kind, notes, valid
        self.taken = set(taken)
        self._numbers: dict[str, int] = {}  # of each name that was taken more than once: all up to here are too

    def take(self, label: str) -> str:
        """A name for one thing more; noted where it is not its label."""
        name = valid = self.valid(label)
        while name in self.taken:
            number = self._numbers.get(valid, 1) + 1
            self._numbers[valid] = number
            name = f"{valid}_{number}"
        self.taken.add(name)
        if name != label and self.notes is not None:
            reason = "its own is taken" if name != valid or valid == label else "the format does not allow its own"
            self.notes.rewrite("name", f"{self.kind} {label!r}", f"called {name!r} in the file: {reason}")
        return name


def xml_name(label: str) -> str:
    """The label without characters that XML cannot hold, and without blanks at its ends."""
    return _NOT_XML.sub("_", label).strip() or "_"


def identifier(label: str) -> str:
    """The label as a name of a USD prim: letters, digits and underscores of ASCII."""
    return re.sub(r"^(?=[0-9])|[^A-Za-z0-9_]", "_", label) or "_"
