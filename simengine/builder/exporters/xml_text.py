"""XML documents and the numbers in them."""

from __future__ import annotations

from collections.abc import Iterable
from xml.etree import ElementTree

Node = ElementTree.Element


ENDLESS = 1e16
"""Stands for infinity where a format asks for a number: importers take a number beyond 1e15 for none."""


def finite(lower: float, upper: float) -> tuple[float, float]:
    """A range with a number at each end."""
    return max(lower, -ENDLESS), min(upper, ENDLESS)


def number(value: float) -> str:
    """The shortest text that is read back as the same number; whole numbers without a point."""
    text = repr(float(value))
    return text.removesuffix(".0")


def numbers(values: Iterable[float]) -> str:
    """Numbers between blanks."""
    return " ".join(number(value) for value in values)


def add(parent: Node, tag: str, **attributes) -> Node:
    """A child element; attributes that are None are left out, numbers and tuples of numbers become text.

    A name that Python does not allow has a "_" at its end, which is taken off.
    """
    node = ElementTree.SubElement(parent, tag)
    for name, value in attributes.items():
        if value is not None:
            node.set(name.removesuffix("_"), text(value))
    return node


def text(value) -> str:
    """An attribute's value as text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    return numbers(value) if isinstance(value, Iterable) else number(value)


def document(root: Node) -> bytes:
    """The document as UTF-8, one element a line."""
    ElementTree.indent(root)
    return b'<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding="utf-8") + b"\n"
