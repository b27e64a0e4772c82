"""XML from strangers: a small tree of elements with line numbers, or an ``AssetError`` that names the line.

Expat is run with document types refused, so there are no entities, no external references and no expansion; depth,
size and counts are capped before a tree is kept. Numbers are read without the locale and must be finite.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from simengine.builder.importers.paths import read_file
from simengine.errors import AssetError

ENCODINGS = ("utf-8", "utf-16", "utf-16le", "utf-16be", "iso-8859-1", "latin-1", "latin1", "us-ascii", "ascii")

# A decimal number; float() would also take underscores, other scripts' digits, "nan" and "inf".
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


@dataclass(frozen=True)
class XmlLimits:
    """Caps on one document; above them it is refused."""

    file_bytes: int = 64 << 20
    depth: int = 128
    elements: int = 1_000_000
    attributes: int = 256  # of one element
    attribute_characters: int = 16 << 20  # of one value: MJCF writes meshes inline


@dataclass
class Element:
    """One element: its tag, attributes (text), children in order, own text, and where it stands."""

    tag: str
    attributes: dict[str, str]
    file: str
    line: int
    children: list[Element] = field(default_factory=list)
    text: str = ""

    def __str__(self) -> str:
        name = self.attributes.get("name") or self.attributes.get("link") or self.attributes.get("joint")
        return f"<{self.tag} {name!r}>" if name else f"<{self.tag}>"

    @property
    def where(self) -> str:
        """The element and its line, for a report."""
        return f"{self} line {self.line}"

    def error(self, message: str) -> AssetError:
        """An error about this element; the caller raises it."""
        return AssetError(message, file=self.file, line=self.line, element=str(self))

    def all(self, tag: str) -> list[Element]:
        """Children with this tag, in order."""
        return [child for child in self.children if child.tag == tag]

    def one(self, tag: str) -> Element | None:
        """The child with this tag, or None; two of them are refused."""
        found = self.all(tag)
        if len(found) > 1:
            raise found[1].error(
                f"one of {len(found)} <{tag}> elements of {self}, where one is allowed: remove the others"
            )
        return found[0] if found else None

    def need(self, tag: str) -> Element:
        """The child with this tag; refused where there is none."""
        child = self.one(tag)
        if child is None:
            raise self.error(f"has no <{tag}>: add it")
        return child

    def string(self, name: str, default: str | None = None) -> str:
        """The attribute's text without blanks at its ends; refused where absent (without a default) or empty."""
        text = self.attributes.get(name)
        if text is None:
            if default is None:
                raise self.error(f"has no attribute '{name}': add it")
            return default
        if not text.strip():
            raise self.error(f"attribute '{name}' is empty: give it a value")
        return text.strip()

    def number(self, name: str, default: float | None = None) -> float:
        """The attribute as one finite number."""
        if name not in self.attributes and default is not None:
            return default
        return self._parse(name, self.string(name))

    def numbers(self, name: str, count: int, default: tuple[float, ...] | None = None) -> tuple[float, ...]:
        """The attribute as ``count`` finite numbers between blanks."""
        if name not in self.attributes and default is not None:
            return default
        words = self.string(name).split()
        if len(words) != count:
            raise self.error(f"attribute '{name}' has {len(words)} numbers, not {count}: {self._quote(name)}")
        return tuple(self._parse(name, word) for word in words)

    def _parse(self, name: str, word: str) -> float:
        if not _NUMBER.fullmatch(word):
            raise self.error(
                f"attribute '{name}' is not a decimal number: {self._quote(name)} (write digits, a point for "
                "the fraction and e for the exponent; nan and inf are refused)"
            )
        value = float(word)
        if not math.isfinite(value):
            raise self.error(f"attribute '{name}' is too large for a number: {self._quote(name)}")
        return value

    def _quote(self, name: str) -> str:
        text = self.attributes[name]
        return repr(text if len(text) <= 60 else text[:57] + "...")


def read_xml(
    source: str | Path | bytes, root: str | None, name: str | None = None, limits: XmlLimits | None = None
) -> Element:
    """Read a document whose root element is ``root`` (None: any).

    Args:
        source: path of a file, or the bytes of one.
        root: tag that the root element must have; None: any.
        name: name for messages where ``source`` is bytes.
        limits: caps; default ``XmlLimits()``.

    Raises:
        AssetError: the file cannot be read, is not well formed, declares a document type or entities, uses an
            encoding other than UTF-8, UTF-16, Latin-1 and ASCII, exceeds a cap, or has another root.
    """
    limits = limits or XmlLimits()
    if isinstance(source, bytes):
        data, file = source, name or "<bytes>"
    else:
        data, file = read_file(Path(source), limits.file_bytes), str(source)
    if len(data) > limits.file_bytes:
        raise AssetError(f"the document has {len(data)} bytes, more than the cap of {limits.file_bytes}", file=file)
    if not data.strip(b"\xef\xbb\xbf\xff\xfe \t\r\n\0"):
        raise AssetError(f"the file is empty: {f'a <{root}>' if root else 'an'} element was expected", file=file)
    reader = _Reader(file, limits)
    element = reader.read(data)
    if root is not None and element.tag != root:
        raise element.error(f"the root element is <{element.tag}>, not <{root}>: this is another kind of file")
    return element


class _Reader:
    """Expat's handlers: build the tree, count against the caps, refuse what is not plain data."""

    def __init__(self, file: str, limits: XmlLimits):
        self.file = file
        self.limits = limits
        self.stack: list[Element] = []
        self.text: list[list[str]] = []
        self.root: Element | None = None
        self.count = 0
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.ordered_attributes = True
        self.parser.XmlDeclHandler = self.declaration
        self.parser.StartDoctypeDeclHandler = self.document_type
        self.parser.EntityDeclHandler = self.entity
        self.parser.ExternalEntityRefHandler = self.entity
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.characters

    def read(self, data: bytes) -> Element:
        try:
            self.parser.Parse(data, True)
        except expat.ExpatError as error:
            raise AssetError(
                f"not well-formed XML: {expat.ErrorString(error.code)} (column {error.offset + 1}): mend the file",
                file=self.file,
                line=error.lineno,
            ) from None
        except (ValueError, LookupError) as error:  # from the table of an encoding that expat does not know
            raise self.error(f"the encoding cannot be read ({error}): save the file as UTF-8") from None
        return self.root

    def error(self, message: str) -> AssetError:
        return AssetError(message, file=self.file, line=self.parser.CurrentLineNumber)

    def declaration(self, version, encoding, standalone) -> None:
        if encoding is not None and encoding.lower() not in ENCODINGS:
            raise self.error(f"encoding '{encoding}' is not read: save the file as UTF-8")

    def document_type(self, *_) -> None:
        raise self.error("a document type (<!DOCTYPE>) is refused, since it can define entities: remove it")

    def entity(self, *_) -> None:
        raise self.error("entities and external references are refused: write their text out")

    def start(self, tag: str, pairs: list[str]) -> None:
        self.count += 1
        if self.count > self.limits.elements:
            raise self.error(f"more than {self.limits.elements} elements")
        if len(self.stack) >= self.limits.depth:
            raise self.error(f"elements are nested more than {self.limits.depth} deep")
        if len(pairs) > 2 * self.limits.attributes:
            raise self.error(f"<{tag}> has {len(pairs) // 2} attributes, more than the cap of {self.limits.attributes}")
        attributes = dict(zip(pairs[::2], pairs[1::2], strict=True))
        for key, value in attributes.items():
            if len(value) > self.limits.attribute_characters:
                raise self.error(
                    f"attribute '{key}' of <{tag}> has {len(value)} characters, more than the cap of "
                    f"{self.limits.attribute_characters}"
                )
        element = Element(tag, attributes, self.file, self.parser.CurrentLineNumber)
        if self.stack:
            self.stack[-1].children.append(element)
        else:
            self.root = element
        self.stack.append(element)
        self.text.append([])

    def end(self, tag: str) -> None:
        self.stack.pop().text = "".join(self.text.pop()).strip()

    def characters(self, text: str) -> None:
        self.text[-1].append(text)
