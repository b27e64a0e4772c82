"""Elements of a model that a solver tells of, each once however many worlds are alike."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np

from simengine.containers import to_numpy


class Element(NamedTuple):
    """``index`` in the model, of the first world that has it; ``where``: in which worlds, in words."""

    index: int
    name: str
    where: str


def elements_once(model, kind: str, chosen: np.ndarray, labels=None) -> list[Element]:
    """The elements that are ``chosen`` in any world, in order. Those at the same place within worlds of one batch group
    are told once. ``labels``: default those of the model."""
    labels = getattr(model, f"{kind}_label") if labels is None else labels
    starts, groups = to_numpy(getattr(model, f"world_{kind}_start")), to_numpy(model.world_group)
    shared = model.world_count  # what stands after the last world's belongs to all of them
    first: dict[tuple[int, int], int] = {}
    found: Counter = Counter()
    indices = np.flatnonzero(chosen)
    worlds = np.searchsorted(starts, indices, side="right") - 1
    for index, world in zip(indices.tolist(), worlds.tolist(), strict=True):
        key = (-1 if world == shared else int(groups[world]), index - int(starts[world]))
        first.setdefault(key, index)
        found[key] += 1

    def where(key: tuple[int, int]) -> str:
        if model.world_count == 1:
            return ""
        if key[0] < 0:
            return "shared by all worlds"
        return "in each world" if found[key] == model.world_count else "in some worlds"

    return [Element(index, labels[index], where(key)) for key, index in first.items()]


def number_in_words(elements: list[Element]) -> str:
    """How many there are: "2 in each world, 1 shared by all worlds"."""
    counts = Counter(element.where for element in elements)
    return ", ".join(f"{count} {where}".strip() for where, count in counts.items())
