"""Text files of numbers as a table of words, read without a loop over words or lines."""

from __future__ import annotations

import re

import numpy as np

from simengine.errors import AssetError

_BLANK = np.zeros(256, bool)
_LONE_SIGN = re.compile(rb"[+-](?![0-9])")
_BLANK[list(b" \t\r\n\v\f")] = True


class Words:
    """Where the words between blanks of a text are, and where its lines begin.

    ``begin`` and ``end`` (words,): places in ``text``. Of each line that has words: ``start`` (its first word),
    ``count`` (its words) and ``line`` (its number, from 1). What follows the character ``comment`` on a line is passed
    over; a line that ends in the character ``joint`` goes on in the next.
    """

    def __init__(self, data: bytes, name: str, comment: bytes = b"", joint: bytes = b"", first_line: int = 1):
        self.name = name
        text = np.frombuffer(data, np.uint8)
        if comment and comment in data:
            text = _without_comments(text, comment[0])
        breaks = _places(text == 10)
        if len(breaks) == 0 and b"\r" in data:  # old Macintosh
            breaks = _places(text == 13)
        ends = breaks
        if joint and joint in data:
            text, ends = _joined(text, breaks, joint[0])
        self.text = text
        is_word = np.zeros(len(text) + 2, bool)
        np.logical_not(_BLANK[text], out=is_word[1:-1])
        borders = _places(is_word[1:] != is_word[:-1])
        self.begin, self.end = borders[::2], borders[1::2]
        is_first = np.ones(len(self.begin), bool)
        line_of_word = np.searchsorted(ends, self.begin).astype(np.int32)
        is_first[1:] = line_of_word[1:] != line_of_word[:-1]
        self.start = _places(is_first)
        self.count = np.diff(self.start, append=len(self.begin))
        self.line = np.searchsorted(breaks, self.begin[self.start]) + first_line

    def __len__(self) -> int:
        """How many lines have words."""
        return len(self.start)

    def word(self, position: int) -> bytes:
        """One word."""
        return self.text[self.begin[position] : self.end[position]].tobytes()

    def lines_of(self, keyword: bytes) -> np.ndarray:
        """Whether each line begins with this word, in small letters or capitals."""
        begin = self.begin[self.start]
        is_same = self.end[self.start] - begin == len(keyword)
        for offset, letter in enumerate(keyword.lower()):
            at = begin[is_same] + offset
            is_same[is_same] = (self.text[at] | 0x20 if 97 <= letter <= 122 else self.text[at]) == letter
        return is_same

    def error(self, message: str, index: int) -> AssetError:
        """An error at the line with this index, for the caller to raise."""
        line = int(self.line[min(index, len(self.line) - 1)]) if len(self.line) else 1
        return AssetError(message, file=self.name, line=line)

    def numbers(self, positions: np.ndarray, dtype, what: str) -> np.ndarray:
        """The words at these positions as numbers, int64 or float64, in the positions' shape.

        Raises:
            AssetError: a word that is none; the first is named with its line.
        """
        flat = positions.reshape(-1)
        order = None
        if len(flat) > 1 and (np.diff(flat) <= 0).any():
            order = np.argsort(flat)
            flat = flat[order]
        values = parse_numbers(self._only(flat), dtype)
        if len(values) != len(flat):
            raise self._bad_number(flat, dtype, what)
        if order is not None:
            values = values[np.argsort(order)]
        return values.reshape(positions.shape)

    def _only(self, positions: np.ndarray) -> bytes:
        """The text with blanks for all words but these (ascending)."""
        change = np.zeros(len(self.text) + 1, np.int8)
        change[self.begin[positions]] = 1
        change[self.end[positions]] -= 1  # where a word ends none begins
        kept = np.cumsum(change[:-1], dtype=np.int8).view(bool)
        return np.where(kept, self.text, np.uint8(32)).tobytes()

    def _bad_number(self, positions: np.ndarray, dtype, what: str) -> AssetError:
        """An error at the first of the words (ascending) that is not one number; found by halving."""
        low, high = 0, len(positions)
        while high - low > 1:
            middle = (low + high) // 2
            if len(parse_numbers(self._only(positions[low:middle]), dtype)) == middle - low:
                low = middle
            else:
                high = middle
        row = int(np.searchsorted(self.start, positions[low], side="right")) - 1
        kind = "a number" if np.dtype(dtype).kind == "f" else "a whole number"
        word = self.word(int(positions[low]))[:40].decode("latin-1")
        return self.error(f"{what}: {word!r} is not {kind}", row)


def parse_numbers(text: bytes, dtype) -> np.ndarray:
    """The numbers in a text between blanks; int64 (too large ones saturate) or float64.

    None of them where a word is no number. A word that holds several, "1-2", gives several: compare the count.
    """
    if not text.strip():
        return np.zeros(0, dtype)
    if np.dtype(dtype).kind == "i" and (b"-" in text or b"+" in text) and _LONE_SIGN.search(text):  # it reads as 0
        return np.zeros(0, dtype)
    try:
        return np.fromstring(text, dtype, sep=" ")
    except (ValueError, DeprecationWarning):  # NumPy before 2.4 warns, and gives what it read
        return np.zeros(0, dtype)


def _places(mask: np.ndarray) -> np.ndarray:
    return np.flatnonzero(mask).astype(np.int32 if len(mask) < 1 << 31 else np.int64)


def _without_comments(text: np.ndarray, mark: int) -> np.ndarray:
    """The text with blanks for each mark and what follows it on its line."""
    breaks, marks = _places(text == 10), _places(text == mark)
    line = np.searchsorted(breaks, marks)
    first = np.ones(len(marks), bool)
    first[1:] = line[1:] != line[:-1]
    ends = np.append(breaks, len(text))
    change = np.zeros(len(text) + 1, np.int8)
    change[marks[first]] = 1
    change[ends[line[first]]] -= 1
    return np.where(np.cumsum(change[:-1], dtype=np.int8).view(bool), np.uint8(32), text)


def _joined(text: np.ndarray, breaks: np.ndarray, mark: int) -> tuple[np.ndarray, np.ndarray]:
    """The text with blanks for each mark before a line break, and the line breaks that stay."""
    last = breaks - 1 - ((breaks > 0) & (text[breaks - 1] == 13))
    is_joint = (last >= 0) & (text[last] == mark)
    text = text.copy()
    text[last[is_joint]] = 32
    return text, breaks[~is_joint]


def list_places(start: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For lists that begin at ``start`` (n,) and have ``counts`` items: the place of each item, and whose it is."""
    owner = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
    first = np.cumsum(counts) - counts
    return np.arange(len(owner), dtype=np.int64) + (start - first)[owner], owner
