"""Equal rows are found, whatever their values, as numpy.unique finds them."""

import numpy as np
import pytest

from simengine.rows import first_equal, number_rows


@pytest.mark.parametrize("columns", [1, 2, 3, 4])
@pytest.mark.parametrize("kind", ["few", "large", "negative", "real"])
def test_groups_are_those_of_numpy_in_order_of_first_use(columns, kind):
    random = np.random.default_rng(columns)
    rows = random.integers(0, 4, (500, columns))
    if kind == "large":
        rows = rows * (1 << 60)
    elif kind == "negative":
        rows = rows - 2
    elif kind == "real":
        rows = rows * 0.1
    first, label = number_rows(rows)
    expected, places = np.unique(rows, axis=0, return_index=True)
    assert np.array_equal(first, np.sort(places))
    assert len(first) == len(expected)
    assert np.array_equal(rows[first][label], rows)


def test_zeros_of_both_signs_are_one_and_nans_are_not():
    first, label = number_rows(np.array([[0.0], [-0.0], [np.nan], [np.nan]]))
    assert first.tolist() == [0, 2, 3]
    assert label.tolist() == [0, 0, 1, 2]


def test_no_rows_have_no_groups():
    first, label = number_rows(np.zeros((0, 3)))
    assert len(first) == len(label) == 0


def test_equal_rows_have_the_number_of_the_first():
    random = np.random.default_rng(0)
    rows = random.integers(-2, 3, (500, 3)) * 0.5
    rows[::7] *= -1  # among them -0
    first = {}
    expected = [first.setdefault(tuple(row + 0.0), i) for i, row in enumerate(rows)]
    assert first_equal(rows).tolist() == expected
    assert first_equal(np.zeros((0, 3))).shape == (0,)


def test_rows_of_one_key_are_told_apart(monkeypatch):
    monkeypatch.setattr("simengine.rows._key", lambda rows: np.zeros(len(rows), np.uint64))
    first, label = number_rows(np.array([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0]]))
    assert first.tolist() == [0, 1]
    assert label.tolist() == [0, 1, 0]
