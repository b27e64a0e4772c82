"""Builders, reports and options as bytes between two processes that need not trust each other.

A message is a mark, the length of a JSON text, that text, and the bytes of the arrays that it names. Nothing is
unpickled: the JSON holds numbers, texts, and values of the classes below, whose fields must be those of the class and
of the types that it declares.

In the JSON a list stands for a tuple; a list, set, dict, array, enumeration, mesh or dataclass is an object of one key:
{"list": [...]}, {"set": [...]}, {"dict": [[key, value], ...]}, {"array": number}, {"enum": [class, value]},
{"mesh": number}, {"heights": [array, label]}, {"object": [class, {field: value}]}.
"""

from __future__ import annotations

import json
import math
import types
from collections import abc
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np

from simengine import enums
from simengine.builder import elements, mechanisms
from simengine.builder.importers.options import ChildLimits
from simengine.builder.importers.report import ImportReport
from simengine.builder.importers.usd.limits import UsdLimits
from simengine.builder.importers.xml_reader import XmlLimits
from simengine.builder.mesh_data import Mesh
from simengine.builder.meshes.mesh_file import MeshLimits
from simengine.errors import ModelError

MARK = b"simengine exchange 1\n"
DTYPES = ("<f8", "<f4", "<i8", "<i4", "|u1", "|b1")


def _classes(*roots: type) -> dict[str, type]:
    """Dataclasses by name: these, and all that their fields are declared to hold."""
    found: dict[str, type] = {}
    stack: list = list(roots)
    while stack:
        hint = stack.pop()
        stack += get_args(hint)
        if is_dataclass(hint) and hint not in (mechanisms.HeightField, found.get(hint.__name__)):
            found[hint.__name__] = hint
            stack += get_type_hints(hint).values()
    return found


CLASSES = _classes(elements.Elements, elements.JointConfig, ImportReport, XmlLimits, MeshLimits, UsdLimits, ChildLimits)
"""Dataclasses that may be sent."""

ENUMS = {name: kind for name, kind in vars(enums).items() if isinstance(kind, type) and issubclass(kind, Enum)}


class ExchangeError(Exception):
    """A value that cannot be sent, or bytes that are no message; the caller says what that means to its user."""


def encode(value) -> bytes:
    """The message that holds a value. Raises ExchangeError for what is not of the kinds above."""
    writer = _Writer()
    document = writer.plain(value)
    table = [[array.dtype.str, list(array.shape)] for array in writer.arrays]
    text = json.dumps({"arrays": table, "meshes": writer.meshes, "value": document}).encode()
    return b"".join([MARK, len(text).to_bytes(8, "little"), text, *(array.tobytes() for array in writer.arrays)])


def decode(data: bytes):
    """The value in a message. Raises ExchangeError for whatever is not as ``encode`` writes it."""
    if not data.startswith(MARK):
        raise ExchangeError("it does not begin as a message does")
    start = len(MARK) + 8
    end = start + int.from_bytes(data[len(MARK) : start], "little")
    if not start <= end <= len(data):
        raise ExchangeError("its length is wrong")
    try:
        document = json.loads(data[start:end])
        return _Reader(document, memoryview(data)[end:]).value(document["value"])
    except (ModelError, ValueError, TypeError, KeyError, IndexError, RecursionError, OverflowError) as error:
        raise ExchangeError(f"{type(error).__name__}: {error}") from None


class _Writer:
    """Values to JSON; collects the arrays, and the meshes, each of which is sent once."""

    def __init__(self):
        self.arrays: list[np.ndarray] = []
        self.meshes: list[list] = []
        self.numbers: dict[Mesh, dict[str, int]] = {}  # by mesh, then by its label

    def plain(self, value):
        if value is None or isinstance(value, bool | str):
            return value
        if isinstance(value, Enum):
            return {"enum": [type(value).__name__, int(value)]}
        if isinstance(value, np.generic):
            return self.plain(value.item())
        if isinstance(value, int | float):
            return value
        if isinstance(value, tuple):
            return [self.plain(part) for part in value]
        if isinstance(value, list):
            return {"list": [self.plain(part) for part in value]}
        if isinstance(value, set | frozenset):
            return {"set": [self.plain(part) for part in sorted(value)]}
        if isinstance(value, dict):
            return {"dict": [[self.plain(key), self.plain(part)] for key, part in value.items()]}
        if isinstance(value, np.ndarray):
            return {"array": self.array(value)}
        if isinstance(value, Mesh):
            return {"mesh": self.mesh(value)}
        if isinstance(value, mechanisms.HeightField):
            return {"heights": [self.array(value.heights), value.label]}
        if type(value).__name__ in CLASSES and type(value) is CLASSES[type(value).__name__]:
            return {
                "object": [
                    type(value).__name__,
                    {field.name: self.plain(getattr(value, field.name)) for field in fields(value)},
                ]
            }
        raise ExchangeError(f"a value of type {type(value).__name__} cannot be sent")

    def array(self, value: np.ndarray) -> int:
        if value.dtype.str not in DTYPES:
            raise ExchangeError(f"an array of {value.dtype} cannot be sent")
        self.arrays.append(value)
        return len(self.arrays) - 1

    def mesh(self, value: Mesh) -> int:
        by_label = self.numbers.setdefault(value, {})
        if value.label not in by_label:
            by_label[value.label] = len(self.meshes)
            self.meshes.append([self.array(value.vertices), self.array(value.triangles), value.label])
        return by_label[value.label]


class _Reader:
    """JSON to values; raises ValueError, TypeError, KeyError or IndexError for what is not as it should be."""

    def __init__(self, document: dict, data: memoryview):
        self.arrays = self._arrays(document["arrays"], data)
        self.meshes = [self._mesh(*row) for row in document["meshes"]]

    def _arrays(self, table: list, data: memoryview) -> list[np.ndarray]:
        arrays, offset = [], 0
        for dtype, shape in table:
            if dtype not in DTYPES or not all(type(size) is int and size >= 0 for size in shape):
                raise ValueError(f"an array is said to be {dtype!r} {shape!r}")
            length = math.prod(shape) * np.dtype(dtype).itemsize
            if offset + length > len(data):
                raise ValueError("an array is cut off")
            arrays.append(np.frombuffer(data[offset : offset + length], dtype).reshape(shape))
            offset += length
        if offset != len(data):
            raise ValueError("bytes are left over")
        return arrays

    def _mesh(self, vertices: int, triangles: int, label: str) -> Mesh:
        return Mesh(self._array(vertices), self._array(triangles), _text(label))

    def _array(self, number) -> np.ndarray:
        return self.arrays[_index(number)]

    def value(self, document):
        if document is None or isinstance(document, bool | int | float | str):
            return document
        if isinstance(document, list):
            return tuple(self.value(part) for part in document)
        ((kind, content),) = document.items()
        if kind == "list":
            return [self.value(part) for part in content]
        if kind == "set":
            return {self.value(part) for part in content}
        if kind == "dict":
            return {self.value(key): self.value(part) for key, part in content}
        if kind == "array":
            return self._array(content).copy()
        if kind == "enum":
            name, number = content
            return ENUMS[name](number)
        if kind == "mesh":
            return self.meshes[_index(content)]
        if kind == "heights":
            heights, label = content
            return mechanisms.HeightField(self._array(heights), _text(label))
        if kind == "object":
            name, values = content
            return self._object(CLASSES[name], values)
        raise ValueError(f"{kind!r} is no kind of value")

    def _object(self, kind: type, values: dict):
        hints = _hints(kind)
        if values.keys() != hints.keys():
            raise ValueError(f"a {kind.__name__} has other fields than {', '.join(values)}")
        read = {name: self.value(value) for name, value in values.items()}
        for name, value in read.items():
            if not matches(value, hints[name]):
                raise ValueError(f"{kind.__name__}.{name} is of type {type(value).__name__}, not {hints[name]}")
        return kind(**read)


@cache
def _hints(kind: type) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind)}


def _index(number) -> int:
    if type(number) is not int or number < 0:
        raise ValueError(f"{number!r} is no index")
    return number


def _text(label) -> str:
    if not isinstance(label, str):
        raise ValueError(f"{label!r} is no text")
    return label


def matches(value, hint) -> bool:
    """Whether a value is of a declared type. A whole number is a float too; ``object`` is any plain value."""
    origin, arguments = get_origin(hint), get_args(hint)
    if hint in (Any, object):
        return not is_dataclass(value)
    if origin in (Union, types.UnionType):
        return any(matches(value, one) for one in arguments)
    if origin is tuple:
        if not isinstance(value, tuple):
            return False
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return all(matches(part, arguments[0]) for part in value)
        return len(value) == len(arguments) and all(map(matches, value, arguments))
    if origin in (list, set, abc.Sequence):
        return isinstance(value, origin) and all(matches(part, arguments[0]) for part in value)
    if origin is dict:
        key, content = arguments
        return isinstance(value, dict) and all(matches(k, key) and matches(v, content) for k, v in value.items())
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return value is None if hint is types.NoneType else isinstance(value, hint)
