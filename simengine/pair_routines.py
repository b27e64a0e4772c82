"""The routine that collides each pair of types of shapes."""

from __future__ import annotations

import itertools

import numpy as np

from simengine import enums
from simengine.enums import PairRoutine, ShapeType

CONVEX_TYPES = tuple(ShapeType(number) for number in range(ShapeType.SPHERE, ShapeType.MESH))
"""Types of shapes that are one convex body each."""


def _routines() -> dict[tuple[ShapeType, ShapeType], PairRoutine]:
    found = {pair: PairRoutine.CONVEX_CONVEX for pair in itertools.combinations_with_replacement(CONVEX_TYPES, 2)}
    for kind in CONVEX_TYPES:
        found[ShapeType.PLANE, kind] = PairRoutine.PLANE_CONVEX
        found[ShapeType.HEIGHTFIELD, kind] = PairRoutine.HEIGHTFIELD_CONVEX
        found[kind, ShapeType.MESH] = PairRoutine.CONVEX_MESH
        found[kind, ShapeType.SDF] = PairRoutine.CONVEX_SDF
    found[ShapeType.PLANE, ShapeType.MESH] = PairRoutine.PLANE_MESH
    found[ShapeType.HEIGHTFIELD, ShapeType.MESH] = PairRoutine.HEIGHTFIELD_MESH
    found[ShapeType.MESH, ShapeType.MESH] = PairRoutine.MESH_MESH
    for kind in (ShapeType.PLANE, ShapeType.HEIGHTFIELD, ShapeType.MESH, ShapeType.SDF):
        found[kind, ShapeType.SDF] = PairRoutine[f"{kind.name}_SDF"]
    for routine in enums.PRIMITIVE_ROUTINES:
        first, second = (ShapeType[name] for name in routine.name.split("_"))
        found[first, second] = routine
    return found


ROUTINES = _routines()
"""Routine of each pair of shape types, the smaller type first; others (plane with plane or height field, two height
fields) have none."""


def routine_table() -> np.ndarray:
    """The routine of two types (types, types) int8, the smaller type first; -1 for those that have none."""
    lookup = np.full((len(ShapeType), len(ShapeType)), -1, np.int8)
    for (a, b), routine in ROUTINES.items():
        lookup[a, b] = routine
    return lookup
