"""Values of prims: checked, in SI, by the table of attributes; and which attributes have been read."""

from __future__ import annotations

import math

import numpy as np

from simengine.builder.importers.report import UNKNOWN, Notes
from simengine.builder.importers.usd.attributes import APPEARANCE, DERIVED, row_of
from simengine.builder.importers.usd.units import Units
from simengine.errors import AssetError
from simengine.values import plain_float

UNUSED = "not used on this prim ({})"
HARMLESS = (APPEARANCE, DERIVED, UNUSED.format("Gprim"), UNUSED.format("Xformable"))
TIME_STEP = 0.002  # s: MuJoCo's, where a file names none
UNLIMITED = 1e37  # of what is written as the largest float32: no limit


class PrimPlace:
    """Where in a stage something stands: a prim, or one of its attributes."""

    def __init__(self, file: str, path, attribute: str = ""):
        self.file, self.path, self.attribute = file, str(path), attribute

    @property
    def where(self) -> str:
        return f"{self.path}.{self.attribute}" if self.attribute else self.path

    def error(self, message: str) -> AssetError:
        return AssetError(message, file=self.file, prim_path=self.path, element=self.attribute or None)


class Reader:
    """Reads attributes of a stage; each name must be in the table.

    ``seen`` holds the paths of the attributes that were read. ``dt``: the time step that the scene asks for (s).
    """

    def __init__(self, file: str, units: Units, notes: Notes):
        self.file, self.units, self.notes = file, units, notes
        self.dt = TIME_STEP
        self.seen: set[str] = set()
        self.authored: dict = {}  # names of the attributes and relationships that are written, by prim

    def place(self, prim, attribute: str = "") -> PrimPlace:
        """Where a prim, given by itself or by its path, or one of its attributes stands."""
        return PrimPlace(self.file, prim.GetPath() if hasattr(prim, "GetPath") else prim, attribute)

    def raw(self, prim, name: str):
        """The value as USD holds it, or None where the file does not say."""
        if prim not in self.authored:
            self.authored[prim] = frozenset(prim.GetAuthoredPropertyNames())
        if name not in self.authored[prim]:
            return None
        attribute = prim.GetAttribute(name)
        if not attribute or not attribute.HasAuthoredValue():
            return None
        self.seen.add(str(attribute.GetPath()))
        return attribute.Get()

    def number(self, prim, name: str, default: float, angular: bool = False, infinite: bool = False) -> float:
        """A number in SI; ``default`` (SI) where it is not written. The largest float32 counts as infinite.

        Raises AssetError for what is no number, NaN, or infinite where that is not allowed.
        """
        value = self.raw(prim, name)
        if value is None:
            return default
        try:
            number = plain_float(value)
        except (TypeError, ValueError):
            raise self.place(prim, name).error(f"is {_shown(value)}; it must be a number") from None
        if abs(number) > UNLIMITED:
            number = math.copysign(math.inf, number)
        if math.isnan(number) or (math.isinf(number) and not infinite):
            raise self.place(prim, name).error(f"is {number}; it must be finite")
        return number * self.units.factor(row_of(name).unit, angular)

    def least(self, prim, name: str, default: float, angular: bool = False, infinite: bool = False) -> float:
        """A number as by ``number`` that must be zero or more; -inf stands for the default."""
        value = self.number(prim, name, -math.inf, angular, infinite=True)
        if value == -math.inf:
            return default
        if value < 0.0 or (math.isinf(value) and not infinite):
            raise self.place(prim, name).error(f"is {self.raw(prim, name)}; it must be zero or more, and finite")
        return value

    def positive(self, prim, name: str) -> float | None:
        """A number where 0 stands for nothing written; None then, and where it is not written."""
        return self.least(prim, name, 0.0) or None

    def flag(self, prim, name: str, default: bool) -> bool:
        """True or False."""
        value = self.raw(prim, name)
        if value is None:
            return default
        if not isinstance(value, bool | int):
            raise self.place(prim, name).error(f"is {_shown(value)}; it must be true or false")
        return bool(value)

    def word(self, prim, name: str, default: str) -> str:
        """A token or string."""
        value = self.raw(prim, name)
        if value is None:
            return default
        if not isinstance(value, str):
            raise self.place(prim, name).error(f"is {_shown(value)}; it must be a word")
        return value

    def vector(self, prim, name: str, size: int, infinite: bool = False) -> np.ndarray | None:
        """Numbers (size,) in SI, or None where it is not written; AssetError for another size or NaN."""
        value = self.raw(prim, name)
        if value is None:
            return None
        try:
            numbers = np.array(value, np.float64).reshape(-1)
        except (TypeError, ValueError):
            numbers = np.zeros(0)
        bad = ~np.isfinite(numbers)
        if len(numbers) != size or np.isnan(numbers).any() or (bad.any() and not infinite):
            raise self.place(prim, name).error(f"is {_shown(value)}; it must be {size} finite numbers")
        return numbers * self.units.factor(row_of(name).unit)

    def numbers(self, prim, name: str) -> tuple[float, ...] | None:
        """Any number of finite numbers in SI, or None where it is not written."""
        value = self.raw(prim, name)
        if value is None:
            return None
        try:
            result = np.array(value, np.float64).reshape(-1) * self.units.factor(row_of(name).unit)
        except (TypeError, ValueError):
            raise self.place(prim, name).error(f"is {_shown(value)}; it must be numbers") from None
        if not np.isfinite(result).all():
            raise self.place(prim, name).error(f"is {_shown(value)}; all must be finite")
        return tuple(result.tolist())

    def quaternion(self, prim, name: str) -> tuple[float, float, float, float] | None:
        """A unit quaternion (x, y, z, w), or None where it is not written; AssetError for one of zeros."""
        value = self.raw(prim, name)
        if value is None:
            return None
        try:
            x, y, z = value.GetImaginary()
            numbers = np.array((x, y, z, value.GetReal()), np.float64)
        except (AttributeError, TypeError):
            raise self.place(prim, name).error(f"is {_shown(value)}; it must be a quaternion") from None
        if not np.isfinite(numbers).all():
            raise self.place(prim, name).error(f"is {_shown(value)}; it must be finite")
        length = float(np.linalg.norm(numbers))
        if not 0.0 < length < math.inf:
            raise self.place(prim, name).error(f"is {_shown(value)}, which is no rotation")
        return tuple((numbers / length).tolist())

    def targets(self, prim, name: str) -> list:
        """The paths that a relationship leads to."""
        relationship = prim.GetRelationship(name)
        if not relationship:
            return []
        self.seen.add(str(relationship.GetPath()))
        return list(relationship.GetForwardedTargets())


def listed(prim) -> list[str]:
    """Names of all schemas that a prim lists, with their instances; those that no library knows too."""
    written = prim.GetMetadata("apiSchemas")
    names = [str(name) for name in written.GetAppliedItems()] if hasattr(written, "GetAppliedItems") else []
    return list(dict.fromkeys([*names, *map(str, prim.GetAppliedSchemas())]))


def applied(prim) -> set[str]:
    """Names of all schemas that are applied to a prim, without their instances."""
    return {name.partition(":")[0] for name in listed(prim)}


def instances(prim, schema: str) -> list[str]:
    """The instances of a schema that are applied to a prim."""
    return [name.partition(":")[2] for name in listed(prim) if name.startswith(f"{schema}:")]


def count_attributes(prims, reader: Reader, keep_custom) -> None:
    """Count each authored attribute by its fate, and note those that were not read.

    ``keep_custom(name, value)`` takes those that are in no schema: attributes of the file's own.
    """
    notes = reader.notes
    for prim in prims:
        for attribute in prim.GetAuthoredAttributes():
            name = attribute.GetName()
            if not attribute.HasAuthoredValue():  # its value is blocked
                continue
            row, place = row_of(name), reader.place(prim)
            if row is not None and str(attribute.GetPath()) in reader.seen:
                notes.count_attribute(row.fate)
            elif row is None and attribute.IsCustom() and not _looks_standard(name):
                notes.count_attribute("kept")
                keep_custom(f"{prim.GetPath()}.{name}", attribute)
            elif row is None:
                notes.count_attribute("unknown")
                notes.ignore(f"attribute '{name}'", place, UNKNOWN)
            elif row.fate == "ignored":
                notes.count_attribute("ignored")
                _ignored(notes, name, place, row.reason)
            else:
                notes.count_attribute("ignored")
                _ignored(notes, name, place, UNUSED.format(row.element))


def _ignored(notes: Notes, name: str, place: PrimPlace, reason: str) -> None:
    """What only concerns appearance, or follows from other attributes, is no reason to refuse a file."""
    if reason in HARMLESS:
        notes.note("ignored", f"attribute '{name}'", place, reason)
    else:
        notes.ignore(f"attribute '{name}'", place, reason)


def _looks_standard(name: str) -> bool:
    namespace = name.partition(":")[0]
    return namespace in ("physics", "drive", "limit", "state") or namespace.startswith("physx")


def _shown(value) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
