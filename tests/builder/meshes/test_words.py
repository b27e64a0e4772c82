"""Words of a text: where they are, their lines, and the numbers that they are."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simengine.builder.meshes.words import Words, list_places, parse_numbers
from simengine.errors import AssetError


@given(st.text(alphabet=" \t\n\r\v\fab#\\1.-", max_size=60))
def test_words_and_lines_are_those_of_python(text):
    data = text.encode()
    table = Words(data, "x")
    words = [table.word(i) for i in range(len(table.begin))]
    assert words == data.split()
    if b"\r" in data and b"\n" not in data:
        return  # lines end in the carriage return there
    lines = [(number, line.split()) for number, line in enumerate(data.split(b"\n"), 1) if line.split()]
    assert table.line.tolist() == [number for number, _ in lines]
    assert table.count.tolist() == [len(line) for _, line in lines]
    assert [table.word(i) for i in table.start] == [line[0] for _, line in lines]


@given(st.text(alphabet=" \nab#", max_size=40))
def test_comments_are_passed_over(text):
    data = text.encode()
    table = Words(data, "x", comment=b"#")
    expected = [word for line in data.split(b"\n") for word in line.split(b"#")[0].split()]
    assert [table.word(i) for i in range(len(table.begin))] == expected


def test_joined_lines_are_one_and_later_lines_keep_their_numbers():
    table = Words(b"a \\\nb\\\r\nc\nd", "x", joint=b"\\")
    assert table.count.tolist() == [3, 1]
    assert table.line.tolist() == [1, 4]


def test_old_line_ends_are_lines():
    assert Words(b"a\rb\rc", "x").line.tolist() == [1, 2, 3]


def test_lines_are_found_by_their_first_word():
    table = Words(b"v 1\nvn 2\nV 3\n v 4\nx v\n", "x")
    assert table.lines_of(b"v").tolist() == [True, False, True, True, False]
    assert table.lines_of(b"vn").tolist() == [False, True, False, False, False]


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20))
def test_numbers_are_read_as_python_reads_them(values):
    table = Words(" ".join(map(repr, values)).encode(), "x")
    assert table.numbers(np.arange(len(values)), np.float64, "n").tolist() == values


@pytest.mark.parametrize("bad", ["x", "1_0", "0x1", "1,5", "1-2", "--1", "1e", "1.5.5", "-", "\0", "1" * 20 + "x"])
@pytest.mark.parametrize("dtype", [np.float64, np.int64])
@pytest.mark.parametrize("place", [0, 1, 70, 99])
def test_a_word_that_is_no_number_is_named_with_its_line(bad, dtype, place):
    words = [str(n) for n in range(100)]
    words[place] = bad
    table = Words("\n".join(words).encode(), "a.txt")
    with pytest.raises(AssetError) as caught:
        table.numbers(np.arange(100), dtype, "a thing")
    assert caught.value.line == place + 1
    assert repr(bad[:40])[1:-1] in str(caught.value)


@pytest.mark.parametrize("bad", ["1.5", "nan", "-", "+"])
def test_a_word_that_is_no_whole_number_is_refused(bad):
    with pytest.raises(AssetError, match="whole number"):
        Words(b"1 " + bad.encode(), "x").numbers(np.arange(2), np.int64, "n")


def test_positions_in_any_order_keep_their_shape():
    table = Words(b"1 2 3 4 5 6", "x")
    assert table.numbers(np.array([[2, 0], [5, 1]]), np.int64, "n").tolist() == [[3, 1], [6, 2]]


def test_numbers_beyond_the_range_are_the_largest():
    assert parse_numbers(b"99999999999999999999 1", np.int64).tolist() == [2**63 - 1, 1]
    assert parse_numbers(b"1e999 -1e999", np.float64).tolist() == [np.inf, -np.inf]


def test_items_of_lists_are_numbered_one_list_after_another():
    places, owner = list_places(np.array([10, 20, 5]), np.array([2, 0, 3]))
    assert places.tolist() == [10, 11, 5, 6, 7]
    assert owner.tolist() == [0, 0, 2, 2, 2]
