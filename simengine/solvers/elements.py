"""Elements of a model that a solver tells of, each once however many worlds are alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from simengine.containers import to_numpy


class Element(NamedTuple):
    """``index`` in the model, of the first world that has it; ``where``: in which worlds, in words."""

    index: int
    name: str
    where: str


def elements_once(model, kind: str, chosen: np.ndarray, name: Callable[[int], str] | None = None) -> list[Element]:
    """The elements that are ``chosen`` in any world, in order. Those at the same place within worlds of one batch group
    are told once. ``name``: of an element by its index; default the model's label of it."""
    name = getattr(model, f"{kind}_label").__getitem__ if name is None else name
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

    return [Element(index, name(index), where(key)) for key, index in first.items()]


def shapes_in_contacts(model) -> np.ndarray:
    """(shapes,) bool: those of a listed pair whose contact dimension is that of its shapes, not one of its own."""
    found = np.zeros(model.shape_count, bool)
    starts, pair_starts = to_numpy(model.world_shape_start), to_numpy(model.world_contact_pair_start)
    follows = to_numpy(model.contact_pair_dim) == 0
    for group in model.groups:
        worlds, parameter = group.worlds, group.tables["pair_parameter"]
        own_count = starts[worlds[0] + 1] - starts[worlds[0]]
        explicit = parameter >= 0
        is_used = follows[pair_starts[worlds, None] + parameter[explicit]]
        for end in (group.tables["pair_shape0"], group.tables["pair_shape1"]):
            for local, used in ((np.unique(end[~explicit]), True), (end[explicit], is_used)):
                index = np.where(local < own_count, starts[worlds, None] + local, starts[-1] - own_count + local)
                found[index[used]] = True
    return found


def number_in_words(elements: list[Element]) -> str:
    """How many there are: "2 in each world, 1 shared by all worlds"."""
    counts = Counter(element.where for element in elements)
    return ", ".join(f"{count} {where}".strip() for where, count in counts.items())
