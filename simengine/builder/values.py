"""Poses, axes and inertias that builder methods are given, as plain Python values; see also simengine/values.py."""

from __future__ import annotations

import math
from collections.abc import Sized

from simengine.builder.frames import IDENTITY, Pose, Vector
from simengine.errors import ModelError
from simengine.values import numbers, written

AXES = {"X": (1.0, 0.0, 0.0), "Y": (0.0, 1.0, 0.0), "Z": (0.0, 0.0, 1.0)}


def pose(value, what: str) -> Pose:
    """A transform of 7 numbers (None: identity), its quaternion made unit; ModelError for a zero quaternion."""
    if value is None:
        return IDENTITY
    result = numbers(value, 7, what)
    return (*result[:3], *unit(result[3:], f"{what}, quaternion"))


def rgba(value, what: str) -> tuple[float, float, float, float]:
    """Red, green, blue and opacity (1 where it is left out); ModelError unless there are 3 or 4 finite numbers."""
    count = len(value) if isinstance(value, Sized) else 0
    if count not in (3, 4) or isinstance(value, str):
        raise ModelError(f"is {written(value)}; it must be 3 or 4 numbers: red, green, blue, opacity", element=what)
    return (*numbers(value, count, what), 1.0)[:4]


def unit(value: tuple[float, ...], what: str) -> tuple[float, ...]:
    """The vector or quaternion of length 1; ModelError where it is zero.

    What is of length 1 up to round-off stays as it is, so that doing this twice changes no bits.
    """
    if abs(sum(x * x for x in value) - 1.0) < 1e-14:
        return tuple(value)
    largest = max(abs(x) for x in value)
    if largest == 0:
        raise ModelError("is zero, so it has no direction; give one of length 1", element=what)
    value = tuple(x / largest for x in value)  # so that tiny and huge components neither vanish nor overflow
    length = math.sqrt(sum(x * x for x in value))
    return tuple(x / length for x in value)


def axis(value, what: str) -> Vector:
    """A unit vector from three numbers or from "X", "-Y" and the like."""
    if isinstance(value, str):
        name = value.upper().lstrip("+-")
        if name not in AXES or len(value) - len(name) > 1:
            raise ModelError(
                f'is {value!r}; it must be "X", "Y", "Z", one of them with a minus, or three numbers', element=what
            )
        sign = -1.0 if value.startswith("-") else 1.0
        return tuple(sign * x + 0.0 for x in AXES[name])
    return unit(numbers(value, 3, what), what)


def inertia_matrix(value, what: str) -> tuple[float, ...]:
    """Nine numbers, row by row, from a (3, 3) table, nine numbers, or the three of the diagonal."""
    try:
        rows = [tuple(row) if hasattr(row, "__len__") else (row,) for row in value]
    except TypeError:
        raise ModelError(f"is {value!r}; it must be 3 by 3 numbers", element=what) from None
    flat = [x for row in rows for x in row]
    if len(flat) == 3:
        a, b, c = numbers(flat, 3, what)
        return (a, 0.0, 0.0, 0.0, b, 0.0, 0.0, 0.0, c)
    return numbers(flat, 9, what)
