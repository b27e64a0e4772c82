"""Contacts of worlds whose pairs of shapes are too many to list (kernels_cuda/broad_phase.h, narrow_phase.h).

Each ``collide`` places all shapes, builds a tree of boxes for each world and one for the shared shapes, counts the
candidates of each moving shape, lists them where they have room, sorts them by their two shapes, collides each, and
writes the contacts in that order. So nothing depends on the trees, and the contacts are those of a list of pairs.

All memory is made at the first call for a Contacts: for as many candidates as its slabs hold contacts. Where a world
has more, the shapes from the first on whose candidates do not fit are left out, and their contacts are only counted, so
that ``contacts.needed`` stays exact.
"""

from __future__ import annotations

import functools

import numpy as np

from simengine import enums
from simengine.builder.pairs import routine_table
from simengine.collision.bvh import BoxTrees
from simengine.collision.sort import ExclusiveScan, RadixSort
from simengine.containers import to_numpy
from simengine.enums import ShapeFlag, ShapeType
from simengine.runtime import modes
from simengine.runtime.kernel import Kernel

CONTACTS_OF_A_SHAPE = 32
"""Contacts for which a slab has room by default, for each shape that moves and each explicit pair."""

LEAST_CONTACTS, LEAST_CANDIDATES = 64, 32

CONTACT_BYTES = {"float32": 17 * 4 + 5 * 4, "float64": 17 * 8 + 6 * 4}
PLACE_BYTES = {"float32": 10 * 4, "float64": 10 * 8}
"""sizeof(Contact) and sizeof(ShapePlace)."""


def searched_contacts(model) -> np.ndarray:
    """Room for contacts (worlds,) by default."""
    rows = np.diff(SearchTables(model).row_start)
    return np.maximum(CONTACTS_OF_A_SHAPE * rows, LEAST_CONTACTS).astype(np.int64)


class SearchTables:
    """What a search reads besides the model, on the host.

    ``row``, ``row_start``: shapes that move and, as ~i, explicit pairs, by world. ``member``, ``group``: the shapes in
    trees, and the tree of each: its world, or the last for shared ones. ``most``: contacts of a pair at most.
    """

    def __init__(self, model):
        worlds = model.world_count
        arrays = {name: to_numpy(getattr(model, f"shape_{name}")) for name in ("type", "flags", "world", "immovable")}
        group = np.where(arrays["world"] < 0, worlds, arrays["world"])
        collides = (arrays["flags"] & ShapeFlag.COLLIDES) != 0
        endless, moves = arrays["type"] <= ShapeType.HEIGHTFIELD, arrays["immovable"] == 0
        shapes = np.flatnonzero(collides & moves)
        explicit = group[to_numpy(model.explicit_shape0)]
        row = np.concatenate([shapes, ~np.arange(len(explicit))])
        row_world = np.concatenate([group[shapes], explicit])
        order = np.argsort(row_world, kind="stable")
        self.row, self.row_start = row[order], np.searchsorted(row_world[order], np.arange(worlds + 1))
        self.member = np.flatnonzero(collides & ~endless)
        self.group = group[self.member]
        self.box_of = np.full(len(group), -1, np.int32)
        self.box_of[self.member] = np.arange(len(self.member))
        listed, still = np.flatnonzero(collides & endless), np.flatnonzero(collides & ~endless & ~moves)
        starts = np.arange(worlds + 2)
        self.lists = [listed, np.searchsorted(group[listed], starts), still, np.searchsorted(group[still], starts)]
        own = np.bincount(group, minlength=worlds + 1)
        self.shape_bits = int(max(own[:-1].max(initial=0) + own[-1] - 1, 1)).bit_length()
        self.bits = (worlds - 1).bit_length() + 2 * self.shape_bits
        present = np.unique(arrays["type"][collides])
        self.routines = routine_table()
        routines = self.routines[np.ix_(present, present)]
        routines = routines[routines >= 0]
        self.primitive = bool((routines <= enums.LAST_PRIMITIVE_ROUTINE).all())
        self.most = max((enums.PAIR_CONTACTS[enums.PairRoutine(routine)] for routine in routines), default=1)

    def plan(self) -> np.ndarray:
        """All lists in one array, as SearchView of broad_phase.h reads them."""
        pieces = [self.row, self.row_start, self.member, *self.lists, self.routines.astype(int).ravel()]
        begins = 2 + len(pieces) + np.cumsum([0, *(len(piece) for piece in pieces[:-1])])
        return np.concatenate([[len(ShapeType), self.shape_bits], begins, *pieces]).astype(np.int32)


class Search:
    """The launches and the memory of one model's search, for the capacities of one Contacts."""

    def __init__(self, model, contacts, body_q):
        self._model, device, tables = model, model.device, SearchTables(model)
        real, worlds = np.dtype(model.precision), model.world_count
        room = np.maximum(contacts.capacity, LEAST_CANDIDATES)
        rows, total = len(tables.row), int(room.sum())
        self._launches: list = []
        self._reading: list = []
        empty, zeros = device.empty, device.zeros
        self.plan = plan = device.asarray(tables.plan())
        wide = tables.bits > 32
        lower, upper = (zeros((len(tables.member), 3), real) for _ in range(2))
        places = empty(model.shape_count * PLACE_BYTES[model.precision], np.uint8)
        box_of = device.asarray(tables.box_of)
        trees = BoxTrees(lower, upper, tables.group, worlds + 1, device)
        counts, kept, kept_end, lost = (zeros(n, np.int32) for n in (rows, worlds, worlds, rows))
        row_offsets, world_first = ExclusiveScan(counts), ExclusiveScan(kept)
        keys = empty(total, np.uint64 if wide else np.uint32)
        sort = RadixSort(keys, None, tables.bits)
        found, worlds_of = zeros(total, np.int32), zeros(total, np.int32)
        contact_offsets = ExclusiveScan(found)
        records = empty(total * tables.most * CONTACT_BYTES[model.precision], np.uint8)
        bytes_of = {"keys": keys.view(np.uint8), "wide": wide}
        first = {"world_first": world_first.offsets, "total": world_first.offsets[worlds:]}
        placed = {"places": places, "box_of": box_of, "lower": lower, "upper": upper, **trees.arrays()}
        known = {"model": model, "plan": plan, "body_q": body_q, "contacts": contacts, "kept_end": kept_end}
        known |= {"offsets": row_offsets.offsets, "counts": counts, "kept": kept, "lost": lost}
        known |= {"room": device.asarray(room.astype(np.int32)), "most": tables.most, "records": records}
        known |= placed | first | bytes_of
        of_candidates = {"offsets": contact_offsets.offsets, "counts": found, "worlds_of": worlds_of}
        of_candidates |= {"keys": sort.sorted_keys.view(np.uint8)}
        narrow = "narrow_primitives.cu" if tables.primitive else "narrow_phase.cu"
        self._add("broad_phase.cu", "broad_place", model.shape_count, known)
        self._launches.append(trees.build)
        self._add("broad_phase.cu", "broad_count", rows, known)
        self._launches.append(row_offsets)
        self._add("broad_phase.cu", "broad_fit", worlds, known)
        self._launches.append(world_first)
        self._add("broad_phase.cu", "broad_clear", total, known)
        self._add("broad_phase.cu", "broad_list", rows, known)
        self._launches.append(sort)
        self._add(narrow, "narrow_candidates", total, known | of_candidates)
        self._launches.append(contact_offsets)
        self._add(narrow, "narrow_lost", rows, known)
        self._add("broad_phase.cu", "broad_store", total, known | of_candidates)
        self._add("broad_phase.cu", "broad_finish", worlds, known | {"offsets": contact_offsets.offsets})

    def _add(self, file: str, name: str, items: int, known: dict) -> None:
        """A launch with the arguments that its kernel has; those that read poses are given them at each call."""
        kernel = _kernel(file, name)
        names = [parameter.name for parameter in kernel.parameters if parameter.name != "n"]
        arguments = {name: known[name] for name in names}
        model = self._model
        launch = kernel.prepare(arguments, items=items, precision=model.precision, device=model.device, label="collide")
        self._launches.append(launch)
        if "body_q" in names:
            self._reading.append(launch)

    def __call__(self, body_q) -> None:
        """Contacts at ``body_q``."""
        for launch in self._reading:
            launch.set("body_q", body_q)
        for launch in self._launches:
            launch()


def collide_searched(model, state, contacts) -> None:
    """``sim.collide`` for a model whose pairs are searched for."""
    key = (modes.debug, modes.poison)
    search = contacts.searches.get(key)
    if search is None and modes.capture is None:
        search = contacts.searches[key] = Search(model, contacts, state.body_q)
    elif search is None:
        with model.device.apart():
            search = contacts.searches[key] = Search(model, contacts, state.body_q)
            to_numpy(search.plan[:1])  # waits until the memory is ready, which the capture does not see
    search(state.body_q)


@functools.cache
def _kernel(file: str, name: str) -> Kernel:
    return Kernel(file, name)
