"""TiledLabels behave as the list of str that they stand for."""

import pytest

from simengine.builder.labels import TiledLabels

LABELS = TiledLabels([("a", "b"), ("c",), ()], [0, 1, 0, 2, 1], {1: "x/", 2: "y/"}, ("ground",))
EXPECTED = ["a", "b", "x/c", "y/a", "y/b", "c", "ground"]


def test_it_reads_as_the_list():
    assert len(LABELS) == 7
    assert list(LABELS) == EXPECTED
    assert [LABELS[i] for i in range(-7, 7)] == [EXPECTED[i] for i in range(-7, 7)]
    assert LABELS[1:6:2] == EXPECTED[1:6:2]
    assert LABELS == EXPECTED
    assert EXPECTED[:-1] != LABELS
    assert "y/b" in LABELS and "z" not in LABELS
    assert LABELS.index("ground") == 6


@pytest.mark.parametrize("index", [7, -8])
def test_an_index_outside_raises(index):
    with pytest.raises(IndexError, match="of 7"):
        LABELS[index]
