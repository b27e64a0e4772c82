"""MuJoCo's solref and solimp on prims, as fields of the builder: by the same rules as those of an MJCF file."""

from __future__ import annotations

from simengine.builder.importers.mjcf.softness import Softness
from simengine.builder.importers.usd.reading import Reader
from simengine.builder.material import DEFAULT_IMPEDANCE


def reference_of(reader: Reader, prim, name: str) -> tuple[float, float] | None:
    """Time constant and damping ratio, from either form of a solref; None where it is not written."""
    given = reader.numbers(prim, name)
    if given is None:
        return None
    if len(given) != 2:
        raise reader.place(prim, name).error(f"has {len(given)} numbers; it must have 2")
    return Softness(reader.notes, reader.dt).reference(given, reader.place(prim, name), name)


def impedance_of(reader: Reader, prim, name: str) -> tuple[float, ...] | None:
    """The five numbers of a solimp, those that are left out MuJoCo's own; None where it is not written."""
    given = reader.numbers(prim, name)
    if given is None:
        return None
    if len(given) > 5:
        raise reader.place(prim, name).error(f"has {len(given)} numbers; at most 5")
    place = reader.place(prim, name)
    return Softness(reader.notes, reader.dt).impedance((*given, *DEFAULT_IMPEDANCE[len(given) :]), place, name)
