"""Labels that are not taken yet, in time that grows with their number alone."""

from __future__ import annotations

from collections.abc import Iterable


class FreeLabels:
    """Labels in use; ``take`` gives one more."""

    def __init__(self, taken: Iterable[str] = ()):
        self._taken = set(taken)
        self._next: dict[str, int] = {}  # by what was wanted: the number to try next

    def take(self, wanted: str) -> str:
        """``wanted``, or where it is taken ``wanted_1``, ``wanted_2``, ...: the first that is free."""
        label = wanted
        while label in self._taken:
            number = self._next.get(wanted, 1)
            self._next[wanted] = number + 1
            label = f"{wanted}_{number}"
        self._taken.add(label)
        return label
