"""The routine of each pair of types of shapes."""

from __future__ import annotations

import itertools

from simengine.enums import PairRoutine, ShapeType
from simengine.pair_routines import ROUTINES, routine_table

SURFACES = (ShapeType.PLANE, ShapeType.HEIGHTFIELD)


def test_every_routine_has_a_pair_of_types():
    assert set(ROUTINES.values()) == set(PairRoutine)


def test_all_pairs_but_those_of_planes_and_height_fields_have_one_routine():
    table = routine_table()
    for first, second in itertools.product(ShapeType, repeat=2):
        lacks = first > second or (first in SURFACES and second in SURFACES)
        assert table[first, second] == (-1 if lacks else ROUTINES[first, second])
