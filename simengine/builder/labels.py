"""Labels of all worlds, made when they are asked for: a model of many copies stores those of its templates alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


class TiledLabels(Sequence):
    """A read-only list of str: the labels of each world in turn, then ``last``.

    ``templates``: labels of each template. ``template_of_world`` (worlds,): which one a world has. ``prefixes``: what
    stands before the labels of a world, by world, where it is not empty.
    """

    def __init__(
        self,
        templates: Sequence[tuple[str, ...]],
        template_of_world: np.ndarray,
        prefixes: dict[int, str],
        last: tuple[str, ...] = (),
    ):
        self._templates = tuple(templates)
        self._template_of_world = np.asarray(template_of_world, int)
        self._prefixes = prefixes
        self._last = last
        sizes = np.array([len(labels) for labels in self._templates], int)[self._template_of_world]
        self._starts = np.concatenate([[0], np.cumsum(sizes)])

    def __len__(self) -> int:
        return int(self._starts[-1]) + len(self._last)

    def __getitem__(self, index):
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        i = index.__index__()
        i += len(self) if i < 0 else 0
        if not 0 <= i < len(self):
            raise IndexError(f"label {index} of {len(self)}")
        if i >= self._starts[-1]:
            return self._last[i - int(self._starts[-1])]
        world = int(np.searchsorted(self._starts, i, side="right")) - 1
        label = self._templates[self._template_of_world[world]][i - int(self._starts[world])]
        return self._prefixes.get(world, "") + label

    def __iter__(self):
        for world, template in enumerate(self._template_of_world):
            prefix = self._prefixes.get(world, "")
            for label in self._templates[template]:
                yield prefix + label
        yield from self._last

    def __eq__(self, other) -> bool:
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    __hash__ = None

    def __repr__(self) -> str:
        shown = ", ".join(repr(label) for label in self[:5])
        return f"[{shown}{', ...' if len(self) > 5 else ''}] ({len(self)} labels)"
