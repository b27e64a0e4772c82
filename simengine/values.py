"""Arguments as plain Python values: each is checked where it comes in, and the error names it.

Containers and arrays of a model are checked in checks.py, arrays that queries are given in collision/queries.py.
"""

from __future__ import annotations

import math

import numpy as np

from simengine.errors import ModelError


def numbers(value, count: int, what: str, infinite: bool = False) -> tuple[float, ...]:
    """``count`` floats; finite unless ``infinite``, never NaN. ModelError naming ``what`` otherwise."""
    try:
        result = tuple(plain_float(x) for x in value)
    except (TypeError, ValueError):
        wanted = "a number" if count == 1 else f"{count} numbers"
        given = value[0] if count == 1 and isinstance(value, tuple) and len(value) == 1 else value
        raise ModelError(f"is {written(given)}; it must be {wanted}", element=what) from None
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


def each(value, count: int, what: str, infinite: bool = False) -> tuple[float, ...]:
    """``count`` floats from as many numbers, or from one number that holds for all."""
    if not hasattr(value, "__len__") or getattr(value, "ndim", 1) == 0:
        value = (value,) * count
    return numbers(value, count, what, infinite)


def plain_float(value) -> float:
    """``float(value)``, but TypeError for a text, even of digits, and for an array with axes, even of one number, and
    ValueError for what is beyond the range of floats."""
    if isinstance(value, str | bytes) or getattr(value, "ndim", 0):
        raise TypeError("a text or an array is no number")
    try:
        return float(value)
    except OverflowError:
        raise ValueError("it is beyond the range of floats") from None


def written(value) -> str:
    """``repr(value)`` for a message, but of a whole number beyond the range of floats, also among others, its length:
    Python refuses to write long ones."""
    if isinstance(value, tuple | list):
        return f"({', '.join(map(written, value))})"
    if is_whole(value) and abs(value) >= 2**1024:
        return f"a whole number of {int(value).bit_length()} bits"
    return repr(value)


def flag(value, what: str) -> bool:
    """True or False; ModelError naming ``what`` for anything else."""
    if not isinstance(value, bool | np.bool_):
        raise ModelError(f"is {value!r}; it must be True or False", element=what)
    return bool(value)


def is_whole(value) -> bool:
    """Whether it is a whole number, of Python or NumPy; True and False are none."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def whole(value, what: str, lowest: int = -(2**31), highest: int = 2**31 - 1) -> int:
    """A whole number of ``lowest`` .. ``highest``; ModelError naming ``what`` for anything else."""
    if not is_whole(value) or not lowest <= value <= highest:
        wide = (lowest, highest) == (-(2**31), 2**31 - 1)
        wanted = "of 32 bits" if wide else f"from {lowest} to {highest}"
        raise ModelError(f"is {written(value)}; it must be a whole number {wanted}", element=what)
    return int(value)


def mask(value, what: str) -> int:
    """32 bits as a whole number from 0 to 2^32 - 1, or as a signed one; ModelError naming ``what`` otherwise."""
    if isinstance(value, bool) or not hasattr(value, "__index__") or not -(2**31) <= int(value) < 2**32:
        raise ModelError(f"is {written(value)}; it must be a whole number of 32 bits", element=what)
    return int(value) % 2**32
