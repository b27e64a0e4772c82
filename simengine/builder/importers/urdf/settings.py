"""Settings that other programs write into a URDF as elements whose text, or attribute ``value``, is the value."""

from __future__ import annotations

from simengine.builder.importers.report import UNKNOWN, Notes
from simengine.builder.importers.urdf.attributes import TABLE
from simengine.builder.importers.xml_reader import Element

TRUE, FALSE = ("true", "1"), ("false", "0")


def settings(notes: Notes, element: Element, kind: str) -> list[Element]:
    """The children of ``element`` that the table reads for this kind; the others are noted by their fate."""
    read = []
    for child in element.children:
        row = TABLE.rows.get((kind, f"<{child.tag}>"))
        if row is not None and row.fate == "read":
            notes.count_attribute("read")
            read.append(child)
            continue
        notes.ignore(f"<{child.tag}>", child, UNKNOWN if row is None else row.reason)
        fate = "unknown" if row is None else row.fate
        notes.count_attribute(fate)
        notes.count_subtree(child, fate)
    return read


def valued(element: Element) -> Element:
    """The element with its text as its attribute ``value``, unless it has that."""
    if "value" in element.attributes:
        return element
    return Element(element.tag, {"value": element.text}, element.file, element.line)


def flag_of(element: Element) -> bool:
    """A setting that is true or false; refused where it is neither."""
    word = valued(element).string("value").lower()
    if word not in TRUE + FALSE:
        raise element.error(f"is '{word}': write true or false")
    return word in TRUE


def number_of(element: Element, lowest: float | None = None) -> float:
    """A setting that is a number, not below ``lowest``."""
    value = valued(element).number("value")
    if lowest is not None and value < lowest:
        raise element.error(f"is {value:g}: it must be {lowest:g} or more")
    return value
