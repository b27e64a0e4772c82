"""Attributes of one MJCF element over those of its default class, as numbers, words, poses and compliances."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

import numpy as np

from simengine.builder.frames import (
    IDENTITY,
    NO_TURN,
    Pose,
    Quaternion,
    Vector,
    cross,
    quat_from_axis_angle,
    quat_multiply,
    quaternion_of,
)
from simengine.builder.importers.mjcf.document import Compiler, Compliance
from simengine.builder.importers.report import Notes
from simengine.builder.importers.xml_reader import Element
from simengine.builder.material import DEFAULT_IMPEDANCE, DEFAULT_REFERENCE
from simengine.errors import did_you_mean

Given = tuple[str, Element]
"""The text of an attribute, and the element on which it is written."""

ORIENTATIONS = ("quat", "axisangle", "xyaxes", "zaxis", "euler")
OVERLAID = (
    *("friction", "solref", "solimp", "solreflimit", "solimplimit", "solreffriction", "solimpfriction"),
    *("size", "damping", "stiffness"),
)
"""Lists of which leading numbers may be written alone; the rest stays as the default class has it."""
_DECIMALS = re.compile(r"[0-9eE.+\-\s]*")
SMALLEST = 1e-14  # a direction shorter than this has none
LARGEST = 1e15  # in SI units nothing is beyond
BOUNDED = frozenset(
    (
        *("pos", "size", "fromto", "scale", "refpos", "vertex", "ref", "springref", "springlength", "anchor"),
        *("mass", "density", "diaginertia", "fullinertia", "settotalmass"),
    )
)
"""Lengths, angles and masses, none of which may be beyond; of ranges, a number beyond means that there is none."""


def merged(inherited: Mapping[str, Given], element: Element) -> dict[str, Given]:
    """The attributes of an element over inherited ones; an orientation of its own replaces an inherited one."""
    result = dict(inherited)
    if any(name in element.attributes for name in ORIENTATIONS):
        for name in ORIENTATIONS:
            result.pop(name, None)
    for name, text in element.attributes.items():
        if name in OVERLAID and name in result:
            own, before = text.split(), result[name][0].split()
            text = " ".join(own + before[len(own) :])
        result[name] = (text, element)
    return result


class Values:
    """Reads typed attributes; what is wrong is refused with the line on which it is written."""

    def __init__(self, element: Element, compiler: Compiler, inherited: Mapping[str, Given] | None = None):
        self.element = element
        self.compiler = compiler
        self.given = merged(inherited or {}, element)

    def has(self, name: str) -> bool:
        """Whether the attribute is given, on the element or its class."""
        return name in self.given

    def alone(self, name: str) -> Element:
        """The element that the attribute is written on, with it and the name alone: its errors name both."""
        if name not in self.given:
            raise self.element.error(f"has no attribute '{name}': add it")
        text, origin = self.given[name]
        shown = {key: origin.attributes[key] for key in ("name", "class") if key in origin.attributes}
        return Element(origin.tag, {**shown, name: text}, origin.file, origin.line)

    def text(self, name: str, default: str | None = None) -> str:
        """The text; refused where it is absent without a default, or empty."""
        if name not in self.given and default is not None:
            return default
        return self.alone(name).string(name)

    def name(self, name: str) -> str | None:
        """A name, None where absent or empty (MuJoCo takes an empty name for none)."""
        return self.given[name][0] or None if name in self.given else None

    def number(self, name: str, default: float | None = None, lowest: float = -math.inf) -> float:
        """One number of at least ``lowest``."""
        if name not in self.given and default is not None:
            return default
        return self.numbers(name, 1, lowest=lowest)[0]

    def whole(self, name: str, default: int | None = None, lowest: int = -(2**31)) -> int:
        """One whole number of 32 bits."""
        if name not in self.given and default is not None:
            return default
        value = self.number(name)
        if value != int(value) or not lowest <= value < 2**32:
            raise self.alone(name).error(f"attribute '{name}' is {value:g}: it must be a whole number from {lowest} on")
        return int(value)

    def numbers(
        self,
        name: str,
        most: int,
        default: Sequence[float] | None = None,
        least: int | None = None,
        lowest: float = -math.inf,
    ) -> tuple[float, ...]:
        """From ``least`` (default ``most``) to ``most`` numbers; those left out are taken from the default."""
        if name not in self.given and default is not None:
            return tuple(default)
        source = self.alone(name)
        words = len(source.attributes[name].split())
        least = most if least is None else least
        if not least <= words <= most:
            wanted = f"{most}" if least == most else f"{least} to {most}"
            raise source.error(f"attribute '{name}' has {words} numbers, not {wanted}")
        result = source.numbers(name, words)
        _refuse_huge(source, name, result)
        for value in result:
            if value < lowest:
                raise source.error(f"attribute '{name}' holds {value:g}: it must be {lowest:g} or more")
        return (*result, *(default or ())[words:])

    def linear(self, name: str, notes: Notes) -> float:
        """The first of up to three coefficients of a polynomial; higher ones are noted and left out."""
        first, *higher = self.numbers(name, 3, (0.0, 0.0, 0.0), least=1)
        if first < 0.0:
            raise self.alone(name).error(f"attribute '{name}' is {first:g}: it must be 0 or more")
        if any(higher):
            notes.ignore(f"{name} beyond its linear part", self.element, "forces are linear")
        return first

    def table(self, name: str, width: int) -> np.ndarray | None:
        """A list of any length as rows of ``width`` numbers; None where absent."""
        if name not in self.given:
            return None
        source = self.alone(name)
        words = source.attributes[name].split()
        if len(words) % width or not words:
            count = len(words)
            raise source.error(f"attribute '{name}' has {count} numbers, which is not a positive multiple of {width}")
        result = _many(source, name, words)
        _refuse_huge(source, name, (result.min(), result.max()))
        return result.reshape(-1, width)

    def list(self, name: str) -> tuple[float, ...] | None:
        """A list of any length, also none; None where absent."""
        if name not in self.given:
            return None
        source = self.alone(name)
        words = source.attributes[name].split()
        return tuple(_many(source, name, words).tolist())

    def choice(self, name: str, words: Sequence[str], default: str) -> str:
        """One of some words."""
        if name not in self.given:
            return default
        value = self.text(name)
        if value not in words:
            hint = did_you_mean(value, words)
            raise self.alone(name).error(f"attribute '{name}' is '{value}': it is one of {', '.join(words)}{hint}")
        return value

    def flag(self, name: str, default: bool) -> bool:
        """true or false."""
        return self.choice(name, ("false", "true"), "true" if default else "false") == "true"

    def limits(self, limited: str, ranged: str, notes: Notes) -> tuple[float, float] | None:
        """The range where it is in force: ``effective_range``."""
        word = self.choice(limited, ("false", "true", "auto"), "auto")
        return effective_range(self.element, self.compiler, notes, ranged, word, self.numbers(ranged, 2, (0.0, 0.0)))

    def compliance(self, suffix: str = "") -> Compliance:
        """solref and solimp, with a suffix as in ``solreflimit``."""
        return Compliance(
            self.numbers(f"solref{suffix}", 2, DEFAULT_REFERENCE, least=1),
            self.numbers(f"solimp{suffix}", 5, DEFAULT_IMPEDANCE, least=1),
        )

    def direction(self, name: str, default: Vector | None = None) -> Vector:
        """Three numbers as a unit vector."""
        return self._unit(name, self.numbers(name, 3, default))

    def orientation(self) -> Quaternion:
        """quat, axisangle, xyaxes, zaxis or euler; two of them are refused."""
        own = [name for name in ORIENTATIONS if name in self.given]
        if len(own) > 1:
            raise self.element.error(f"has {' and '.join(own)}: give one orientation")
        return getattr(self, f"_{own[0]}")() if own else NO_TURN

    def pose(self) -> Pose:
        """pos and the orientation."""
        return (*self.numbers("pos", 3, IDENTITY[:3]), *self.orientation())

    def _unit(self, name: str, vector: Sequence[float]) -> tuple[float, ...]:
        largest = max(abs(part) for part in vector)
        if largest < SMALLEST:
            raise self.alone(name).error(f"attribute '{name}' has zero length: give a direction")
        length = math.hypot(*(part / largest for part in vector))
        return tuple(part / largest / length for part in vector)

    def _quat(self) -> Quaternion:
        return self.quaternion("quat")

    def quaternion(self, name: str, default: Quaternion = NO_TURN) -> Quaternion:
        """Four numbers w, x, y, z as a unit quaternion x, y, z, w."""
        if name not in self.given:
            return default
        w, x, y, z = self._unit(name, self.numbers(name, 4))
        return (x, y, z, w)

    def _axisangle(self) -> Quaternion:
        *axis, angle = self.numbers("axisangle", 4)
        return quat_from_axis_angle(self._unit("axisangle", axis), self.compiler.angle(angle))

    def _xyaxes(self) -> Quaternion:
        numbers = self.numbers("xyaxes", 6)
        x = self._unit("xyaxes", numbers[:3])
        along = sum(a * b for a, b in zip(x, numbers[3:], strict=True))
        y = self._unit("xyaxes", [b - along * a for a, b in zip(x, numbers[3:], strict=True)])
        return quaternion_of(np.column_stack((x, y, cross(x, y))))

    def _zaxis(self) -> Quaternion:
        return quat_from_z(self._unit("zaxis", self.numbers("zaxis", 3)))

    def _euler(self) -> Quaternion:
        return self.euler(self.numbers("euler", 3))

    def euler(self, angles: Sequence[float]) -> Quaternion:
        """Three angles of the file, about the axes of eulerseq: of the turned frame (x), or of the fixed one (X)."""
        result = NO_TURN
        for letter, angle in zip(self.compiler.euler_sequence, angles, strict=True):
            axis = tuple(float(letter.lower() == name) for name in "xyz")
            turn = quat_from_axis_angle(axis, self.compiler.angle(angle))
            result = quat_multiply(result, turn) if letter.islower() else quat_multiply(turn, result)
        return result


def _refuse_huge(source: Element, name: str, values: Sequence[float]) -> None:
    worst = max(values, key=abs, default=0.0)
    if name in BOUNDED and abs(worst) > LARGEST:
        raise source.error(f"attribute '{name}' holds {worst:g}: no robot has anything beyond {LARGEST:g}")


def _many(source: Element, name: str, words: list[str]) -> np.ndarray:
    """Words as finite numbers, quickly; what is wrong is found again, and told, by the slow way."""
    if _DECIMALS.fullmatch(source.attributes[name]):
        try:
            result = np.array(words, np.float64)
        except ValueError:
            result = np.array([np.nan])
        if np.isfinite(result).all():
            return result
    return np.array(source.numbers(name, len(words)))


def effective_range(
    element: Element, compiler: Compiler, notes: Notes, name: str, limited: str, given: tuple[float, ...]
) -> tuple[float, float] | None:
    """A range where it is in force: where ``limited`` is true, or auto and the first number is the smaller.

    As in MuJoCo, with autolimits="false" a range of which nothing says whether it limits is refused, and so is an empty
    one that does; an empty one of which nothing is said limits nothing, which is noted. A number beyond LARGEST limits
    nothing: so files write a range of one end.
    """
    lower, upper = given
    if limited == "true" and lower >= upper:
        raise element.error(f"its {name} {lower:g} to {upper:g} is empty: the first number must be the smaller")
    if limited == "auto" and lower != upper and not compiler.auto_limits:
        raise element.error(
            f"has a {name}, but autolimits is false and nothing says whether it limits: say limited='true'"
        )
    if limited == "auto" and lower >= upper and (lower or upper):
        notes.note("warned", name, element, f"{lower:g} to {upper:g} is empty, and so limits nothing, as in MuJoCo")
    if limited == "false" or lower >= upper:
        return None
    return (-math.inf if lower < -LARGEST else lower, math.inf if upper > LARGEST else upper)


def quat_from_z(z: Vector) -> Quaternion:
    """The shortest rotation that turns +Z to a unit vector; half a turn about X where it points to -Z, as MuJoCo's."""
    sine = math.hypot(z[0], z[1])
    angle = math.atan2(sine, z[2])
    axis = (-z[1] / sine, z[0] / sine, 0.0) if sine >= 1e-10 else (1.0, 0.0, 0.0)
    return quat_from_axis_angle(axis, angle)
