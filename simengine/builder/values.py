"""Arguments of builder methods as plain Python values: each is checked where it comes in, and the error names it."""

from __future__ import annotations

import math

import numpy as np

from simengine.builder.frames import IDENTITY, Pose, Vector
from simengine.errors import ModelError

AXES = {"X": (1.0, 0.0, 0.0), "Y": (0.0, 1.0, 0.0), "Z": (0.0, 0.0, 1.0)}


def numbers(value, count: int, what: str, infinite: bool = False) -> tuple[float, ...]:
    """``count`` floats; finite unless ``infinite``, never NaN. ModelError naming ``what`` otherwise."""
    try:
        result = tuple(plain_float(x) for x in value)
    except (TypeError, ValueError):
        wanted = "a number" if count == 1 else f"{count} numbers"
        given = value[0] if count == 1 and isinstance(value, tuple) and len(value) == 1 else value
        raise ModelError(f"is {given!r}; it must be {wanted}", element=what) from None
    if len(result) != count:
        raise ModelError(f"has {len(result)} numbers; it must have {count}", element=what)
    if not all(math.isfinite(x) or (infinite and not math.isnan(x)) for x in result):
        shown = result[0] if count == 1 else result
        raise ModelError(f"is {shown}; it must be {'a number' if infinite else 'finite'}", element=what)
    return result


def number(value, what: str, lowest: float = -math.inf, positive: bool = False, infinite: bool = False) -> float:
    """One float, at least ``lowest`` (above 0 where ``positive``); ModelError naming ``what`` otherwise."""
    (result,) = numbers((value,), 1, what, infinite)
    if positive and result <= 0:
        raise ModelError(f"is {result:g}; it must be positive", element=what)
    if result < lowest:
        raise ModelError(f"is {result:g}; it must be {lowest:g} or more", element=what)
    return result


def plain_float(value) -> float:
    """``float(value)``, but TypeError for a text, even of digits."""
    if isinstance(value, str | bytes):
        raise TypeError("a text is no number")
    return float(value)


def flag(value, what: str) -> bool:
    """True or False; ModelError naming ``what`` for anything else."""
    if not isinstance(value, bool | np.bool_):
        raise ModelError(f"is {value!r}; it must be True or False", element=what)
    return bool(value)


def is_whole(value) -> bool:
    """Whether it is a whole number, of Python or NumPy; True and False are none."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def whole(value, what: str) -> int:
    """A whole number of 32 bits, with a sign; ModelError naming ``what`` for anything else."""
    if not is_whole(value) or not -(2**31) <= value < 2**31:
        raise ModelError(f"is {value!r}; it must be a whole number of 32 bits", element=what)
    return int(value)


def mask(value, what: str) -> int:
    """32 bits as a whole number from 0 to 2^32 - 1, or as a signed one; ModelError naming ``what`` otherwise."""
    if isinstance(value, bool) or not hasattr(value, "__index__") or not -(2**31) <= int(value) < 2**32:
        raise ModelError(f"is {value!r}; it must be a whole number of 32 bits", element=what)
    return int(value) % 2**32


def pose(value, what: str) -> Pose:
    """A transform of 7 numbers (None: identity), its quaternion made unit; ModelError for a zero quaternion."""
    if value is None:
        return IDENTITY
    result = numbers(value, 7, what)
    return (*result[:3], *unit(result[3:], f"{what}, quaternion"))


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


def each(value, count: int, what: str, infinite: bool = False) -> tuple[float, ...]:
    """``count`` floats from as many numbers, or from one number that holds for all."""
    if not hasattr(value, "__len__"):
        value = (value,) * count
    return numbers(value, count, what, infinite)
