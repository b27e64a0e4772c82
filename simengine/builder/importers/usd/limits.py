"""Caps on a USD file and all that it is composed of."""

from __future__ import annotations

from dataclasses import dataclass, fields

from simengine.errors import ModelError


@dataclass(frozen=True)
class UsdLimits:
    """Caps; above them a file is refused. Whole numbers, else ModelError.

    layer_bytes: of one layer or package. total_bytes: of all. layers: how many a stage is composed of. prims: of the
    composed stage, each copy of an instance counted. nesting: prims in prims, brackets in brackets, references that
    lead to references. package_entries: files in one .usdz.
    """

    layer_bytes: int = 256 << 20
    total_bytes: int = 1 << 30
    layers: int = 2_000
    prims: int = 500_000
    nesting: int = 150
    package_entries: int = 10_000

    def __post_init__(self):
        for cap in fields(self):
            value = getattr(self, cap.name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise ModelError(f"is {value!r}; it must be a whole number", element=f"UsdLimits, {cap.name}")
