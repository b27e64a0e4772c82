"""Equal rows of a table, found by sorting one number for each row. np.unique with axis=0 takes ten times as long."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def number_rows(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Number the distinct rows of a table (n, k) in the order of their first use; -0 equals 0, a NaN equals nothing.

    Returns:
        first (groups,): the first row of each group, ascending; label (n,): the group of each row.
    """
    first, label = _number([_key(rows)])
    if (rows[first[label]] != rows).any():  # two rows of one key, or a NaN
        first, label = _number(rows.T)
    return first, label


def first_equal(rows: np.ndarray) -> np.ndarray:
    """The number (n,) of the first row equal to each, of a table (n, k); -0 equals 0, a NaN equals nothing."""
    first, label = number_rows(rows)
    return first[label]


def _number(columns: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    order = np.argsort(columns[0], kind="stable") if len(columns) == 1 else np.lexsort(columns[::-1])
    is_start = np.zeros(len(order), bool)
    is_start[:1] = True
    for column in columns:
        ascending = column.take(order)
        is_start[1:] |= ascending[1:] != ascending[:-1]
    first = order[is_start]  # the sort is stable: the first of equal rows stays first
    by_use = np.argsort(first)
    rank = np.empty(len(first), np.int64)
    rank[by_use] = np.arange(len(first))
    label = np.empty(len(order), np.int64)
    label[order] = rank[np.cumsum(is_start) - 1]
    return first[by_use], label


def _key(rows: np.ndarray) -> np.ndarray:
    """One number for each row, the same for equal rows, hardly ever for others: the row itself where small whole
    numbers from 0 allow it, else a hash."""
    if rows.dtype.kind != "f" and len(rows):
        base = int(rows.max()) + 1
        if int(rows.min()) >= 0 and base ** rows.shape[1] < 1 << 62:
            return rows.astype(np.int64) @ base ** np.arange(rows.shape[1])[::-1]
    wide = rows.astype(np.float64 if rows.dtype.kind == "f" else np.int64) + 0  # + 0 makes -0 into 0
    key = np.zeros(len(rows), np.uint64)
    for column in np.ascontiguousarray(wide).view(np.uint64).T:
        key = (key ^ column) * np.uint64(0x9E3779B97F4A7C15)
        key ^= key >> np.uint64(29)
    return key
