"""The text of a kernel: its file with the includes inlined, and what its signature says."""

from __future__ import annotations

import functools
import itertools
import posixpath
import re
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from simengine.errors import KernelCompileError, did_you_mean

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)".*', re.MULTILINE)
ONCE = re.compile(r"^[ \t]*#[ \t]*pragma[ \t]+once\b.*", re.MULTILINE)
KERNEL = re.compile(r'extern\s*"C"\s+__global__\s+void\s+(?:__launch_bounds__\s*\([^)]*\)\s*)?(\w+)\s*\(')
COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
SHAPE_NOTE = re.compile(r"\(\s*([\w+*, ]+?)\s*,?\s*\)")

SCALARS = {
    "real": None,
    "float": np.float32,
    "double": np.float64,
    "bool": np.bool_,
    "char": np.int8,
    "signed char": np.int8,
    "unsigned char": np.uint8,
    "short": np.int16,
    "unsigned short": np.uint16,
    "int": np.int32,
    "int32": np.int32,
    "unsigned": np.uint32,
    "unsigned int": np.uint32,
    "uint32": np.uint32,
    "long long": np.int64,
    "int64": np.int64,
    "unsigned long long": np.uint64,
    "uint64": np.uint64,
}
"""Types of scalars and of array elements; ``real`` is float32 or float64."""


@functools.cache
def kernels_folder() -> Path:
    """The folder of the kernels: in the installed package, or beside it in a checkout."""
    package = Path(__file__).resolve().parent.parent
    for folder in (package / "kernels_cuda", package.parent / "kernels_cuda"):
        if (folder / "platform.h").is_file():
            return folder
    raise KernelCompileError(f"the folder kernels_cuda is neither in {package} nor beside it: reinstall simengine")


@dataclass(frozen=True)
class Parameter:
    """One parameter of a kernel: its type as written, and for arrays and scalars the element type."""

    name: str
    type: str  # as in the text, without a trailing *
    kind: str  # array, scalar, struct, scratch
    element: str = ""  # of arrays and scalars, a key of SCALARS
    read_only: bool = False
    shape: tuple[str, ...] | None = None  # of an array, from a note such as /* (n, 3) */
    optional: bool = False  # the note says "optional": None may be given, a null pointer
    nonfinite: bool = False  # the note says "nonfinite": infinities and NaN are answers, which debug mode lets pass

    def dtype(self, precision: str) -> np.dtype:
        """NumPy dtype of the elements."""
        return np.dtype(precision if self.element == "real" else SCALARS[self.element])


@dataclass(frozen=True)
class Signature:
    """A kernel of a text: where its parameters stand, and what they are."""

    name: str
    parameters: tuple[Parameter, ...]
    start: int = field(compare=False)  # of the parameter list in the text
    end: int = field(compare=False)


@dataclass(frozen=True)
class Source:
    """A kernel's text before its includes are inlined. ``folder``: where its own includes are looked for first."""

    label: str
    text: str
    folder: Path | None
    ours: bool  # lies in kernels_cuda


def read_source(source) -> Source:
    """``source``: a file in kernels_cuda, a path of the user's, or the text itself (with a line break or a brace)."""
    if isinstance(source, str) and ("\n" in source or "{" in source):
        return Source("<text>", source, None, False)
    path = Path(source)
    inside = kernels_folder() / path
    for candidate, ours in ((path, False), (inside, True)) if path.exists() else ((inside, True),):
        if candidate.is_file():
            ours = ours or kernels_folder() in candidate.resolve().parents
            label = (
                f"kernels_cuda/{candidate.resolve().relative_to(kernels_folder()).as_posix()}" if ours else str(path)
            )
            return Source(label, candidate.read_text(encoding="utf-8"), candidate.resolve().parent, ours)
    known = [file.name for file in kernels_folder().glob("*.cu")]
    raise KernelCompileError(
        f"there is no file {str(source)!r}, neither here nor in kernels_cuda{did_you_mean(source, known)}"
    )


def inline(source: Source, headers: dict[str, str], first: str | None = None) -> str:
    """The text with every ``#include "..."`` replaced by its file under ``#line``, behind the header ``first``.

    A header is looked for in ``headers`` (name to text), then beside the file that includes it, then in kernels_cuda.
    ``#include <...>`` stays. A file with ``#pragma once`` is taken once.
    """
    pieces: list[str] = []
    once: set[str] = set()
    if first is not None:
        header = _find_header(first, None, headers, source.label, 0)
        _inline_into(pieces, header.label, header.text, header.folder, headers, once, ())
    _inline_into(pieces, source.label, source.text, source.folder, headers, once, ())
    return "".join(pieces)


def _inline_into(pieces, label, text, folder, headers, once, chain) -> None:
    if label in chain:
        raise KernelCompileError(f"{' includes '.join((*chain, label))}: a cycle of includes", file=label)
    if ONCE.search(text):
        once.add(label)
        text = ONCE.sub("", text)
    pieces.append(f'#line 1 "{label}"\n')
    number, copied = 1, 0
    for found in INCLUDE.finditer(text):
        pieces.append(text[copied : found.start()])
        number += text.count("\n", copied, found.start())
        copied = found.end()
        inner = _find_header(found[1], folder, headers, label, number)
        if inner.label not in once:
            _inline_into(pieces, inner.label, inner.text, inner.folder, headers, once, (*chain, label))
            pieces.append(f'#line {number + 1} "{label}"')
    pieces.append(text[copied:] if text.endswith("\n") else text[copied:] + "\n")


def _find_header(name, folder, headers, label, number) -> Source:
    if name in headers:
        return Source(f"generated/{name}", headers[name], folder, True)
    is_plain = not posixpath.isabs(name) and ".." not in name.split("/")
    for place in (folder, kernels_folder()):
        if place == kernels_folder() and is_plain:
            found = _own_header(place, name)
        else:
            found = place and _other_header(place, name)
        if found:
            return found
    known = [*headers, *(file.name for file in kernels_folder().glob("*.h"))]
    raise KernelCompileError(
        f"includes {name!r}, which is neither beside it nor in kernels_cuda{did_you_mean(name, known)}",
        file=label,
        line=number,
    )


def _own_header(folder: Path, name: str) -> Source | None:
    """From kernels_cuda, whose headers do not change while the package runs: each is read once."""
    try:
        text = _read_once(folder / name)
    except OSError:
        return None
    return Source(posixpath.normpath(f"kernels_cuda/{name}"), text, (folder / name).parent, True)


@functools.cache
def _read_once(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _other_header(folder: Path, name: str) -> Source | None:
    if not (folder / name).is_file():
        return None
    path = (folder / name).resolve()
    ours = kernels_folder() in path.parents
    shown = f"kernels_cuda/{path.relative_to(kernels_folder()).as_posix()}" if ours else str(folder / name)
    return Source(shown, path.read_text(encoding="utf-8"), path.parent, ours)


def blank_comments(text: str) -> str:
    """The text with every comment replaced by spaces; positions and line breaks stay, string literals too."""

    def blank(match):
        return match[0] if match[0][0] == '"' else "\n".join(" " * len(line) for line in match[0].split("\n"))

    return COMMENT.sub(blank, text)


def signatures(text: str) -> dict[str, Signature]:
    """All kernels of a text: ``extern "C" __global__ void name(parameters)``."""
    bare = blank_comments(text)
    found = {}
    for match in KERNEL.finditer(bare):
        end = bare.find(")", match.end())
        if end < 0:
            raise KernelCompileError("the list of parameters has no end", kernel=match[1])
        found[match[1]] = Signature(match[1], _parameters(text, bare, match[1], match.end(), end), match.end(), end)
    return found


def _parameters(text, bare, kernel, start, end) -> tuple[Parameter, ...]:
    cuts = [start - 1, *(start + m.start() for m in re.finditer(",", bare[start:end])), end]
    parameters = []
    for left, right in itertools.pairwise(cuts):
        declaration = bare[left + 1 : right].strip()
        if not declaration or declaration == "void":
            continue
        # a note stands before the comma, or after it on the same line
        line_end = text.find("\n", right)
        after = text[right:line_end] if line_end >= 0 else text[right:]
        next_token = re.search(r"\w", bare[right + 1 : right + 1 + len(after)])
        note = text[left + 1 : right] if left + 1 < right else ""
        skip = text.find("\n", left)
        if left >= start and 0 <= skip < right and not bare[left + 1 : skip].strip():
            note = text[skip:right]  # what stands before the line break belongs to the parameter before
        parameters.append(_parameter(kernel, declaration, note + ("" if next_token else after)))
    return tuple(parameters)


def _parameter(kernel: str, declaration: str, note: str) -> Parameter:
    read_only = bool(re.search(r"\bconst\b[^*]*\*|^[^*]*\bconst\b[^*]*$", declaration))
    words = re.sub(r"\b(?:const|__restrict__|__restrict|restrict|volatile|__grid_constant__)\b", " ", declaration)
    match = re.fullmatch(r"\s*([\w: ]+?)\s*(\**)\s*(?:&\s*)?(\w+)\s*", words)
    if not match or len(match[2]) > 1 or "&" in declaration:
        raise KernelCompileError(
            f"cannot read the parameter {declaration!r}: use pointers, scalars or structs by value", kernel=kernel
        )
    type_, star, name = " ".join(match[1].split()), match[2], match[3]
    said = " ".join(COMMENT.findall(note))
    optional, nonfinite = (bool(re.search(rf"\b{word}\b", said)) for word in ("optional", "nonfinite"))
    if type_ in ("long", "unsigned long", "size_t"):
        raise KernelCompileError(f"parameter {name}: write int64 or uint64, {type_} has no fixed size", kernel=kernel)
    if star:
        if type_ not in SCALARS:
            raise KernelCompileError(f"parameter {name}: an array of {type_} is not known here", kernel=kernel)
        return Parameter(name, type_, "array", type_, read_only, _shape(note), optional, nonfinite)
    if type_ in SCALARS:
        return Parameter(name, type_, "scalar", type_, True)
    if type_ == "Scratch":
        return Parameter(name, type_, "scratch")
    return Parameter(name, type_, "struct", read_only=type_.endswith("View"), optional=optional)


def _shape(note: str) -> tuple[str, ...] | None:
    for comment in COMMENT.findall(note):
        found = SHAPE_NOTE.search(comment)
        if found:
            return tuple(part.strip() for part in found[1].split(",") if part.strip())
    return None
