"""The table of arrays: consistent in itself, and the page made from it up to date."""

from pathlib import Path

import pytest

from simengine import schema, structs
from simengine.arrays_doc import arrays_page

ROOT = Path(__file__).resolve().parent.parent


def test_names_are_unique_within_an_owner():
    for owner in structs.OWNERS:
        names = [row.name for row in schema.rows(owner)]
        assert len(names) == len(set(names)), owner


@pytest.mark.parametrize("row", schema.TABLE, ids=lambda row: f"{row.owner}.{row.name}")
def test_a_row_says_what_is_needed(row):
    assert row.owner in structs.OWNERS
    assert row.dtype in structs.C_TYPES
    assert row.meaning
    assert row.shape and isinstance(row.shape[0], str)
    for size in row.shape:
        assert isinstance(size, int) or size.removesuffix("+1") in schema.COUNTS
    if row.solver:
        assert row.owner == "state" and row.name.startswith(row.solver.lower() + "_")


def test_each_count_of_the_worlds_has_offsets_that_end_at_it():
    offsets = {row.name: row for row in schema.rows("model")}
    for count in schema.PER_WORLD:
        row = offsets[schema.world_start(count)]
        assert (row.shape, row.dtype, row.indexes) == (("worlds+1",), "int32", count)


INDICES = [row for row in schema.rows("model") if row.indexes or row.is_offsets]


@pytest.mark.parametrize("row", INDICES, ids=lambda row: row.name)
def test_indices_are_whole_numbers_of_a_known_count(row):
    assert row.indexes in schema.COUNTS
    assert row.dtype == "int32"
    assert row.least in ((0,) if row.is_offsets else (0, -1))


def test_counts_do_not_clash_with_rows():
    for owner in structs.OWNERS:
        assert not set(schema.counts(owner)) & {row.name for row in schema.rows(owner)}


def test_arrays_page_is_up_to_date():
    page = (ROOT / "docs" / "arrays.md").read_text(encoding="utf-8")
    assert page == arrays_page(), "run: python -m simengine.arrays_doc docs/arrays.md"
