"""The table of attributes of a format: what each means here, or why it is passed over.

An importer looks here for what is known, and ``docs/importers.md`` is generated from here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from simengine.builder.importers.report import UNKNOWN, Notes
from simengine.builder.importers.xml_reader import Element

MEDIUM = "a medium about bodies (air, water) is not simulated"
NO_SLIP = "MuJoCo's pass against slip, after its solver, is not simulated"
NO_EQUALITY = "equalities are not simulated yet"
MIX = "the softness of both shapes of a pair counts alike"


@dataclass(frozen=True)
class Attribute:
    """One attribute of an element or schema.

    ``target``: the field of the builder that it becomes. ``unit``: of the value in the file, "" for none. ``default``:
    where it is absent. ``fate``: "read"; "kept" on the builder, but not simulated yet; "ignored". ``reason``: of these
    two, why.
    """

    element: str
    name: str
    target: str = ""
    unit: str = ""
    default: str = ""
    fate: str = "read"
    reason: str = ""


class AttributeTable:
    """All attributes of a format, by element and name; and its elements that are passed over, with the reason."""

    def __init__(self, format_name: str, attributes: Iterable[Attribute], ignored_elements: dict[str, str]):
        self.format = format_name
        self.ignored_elements = ignored_elements
        self.rows = {(row.element, row.name): row for row in attributes}

    def names(self, element: str) -> tuple[str, ...]:
        """Attributes that an element may have."""
        return tuple(name for of, name in self.rows if of == element)

    def check(self, notes: Notes, element: Element, children: tuple[str, ...], kind: str = "") -> None:
        """Count and note each attribute and child of an XML element by its fate; not what is kept at its default.

        ``children``: tags that the importer reads itself. ``kind``: the table's word for the element where that is not
        its tag.
        """
        for name, text in element.attributes.items():
            row = self.rows.get((kind or element.tag, name))
            if row is None:
                notes.ignore(f"attribute '{name}'", element, UNKNOWN)
            elif row.fate == "ignored":
                notes.ignore(f"attribute '{name}'", element, row.reason)
            elif row.fate == "kept" and not _alike(text, row.default):
                notes.keep(f"attribute '{name}'", element, row.reason)
            notes.count_attribute(row.fate if row else "unknown")
        for child in element.children:
            if child.tag not in children:
                notes.ignore(f"<{child.tag}>", child, self.ignored_elements.get(child.tag, UNKNOWN))
                notes.count_subtree(child, "ignored" if child.tag in self.ignored_elements else "unknown")
        if element.text:
            notes.ignore("text", element, UNKNOWN)


def _alike(text: str, default: str) -> bool:
    """Whether two texts are the same words or numbers."""
    try:
        return [*map(float, text.split())] == [*map(float, default.split())]
    except ValueError:
        return text.split() == default.split()


def attributes(element: str, *rows: tuple, fate: str = "read", reason: str = "") -> list[Attribute]:
    """Rows of one element: (name, target, unit, default), of which trailing ones may be left out."""
    return [Attribute(element, *row, fate=fate, reason=reason) for row in rows]
