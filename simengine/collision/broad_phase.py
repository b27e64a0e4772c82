"""Contacts of worlds whose pairs of shapes are too many to list (kernels_cuda/broad_phase.h, narrow_phase.h).

Each ``collide`` places all shapes, finds the candidates of each world in the order of their two shapes, collides them
tile by tile, and writes the contacts in that order. Candidates are found in trees of boxes (``TreeSearch``), where
those of each moving shape are counted, listed and sorted, or by comparing all boxes (broad_dense.py). So nothing
depends on the way, and the contacts are those of a list of pairs.

All memory is made at the first call for a Contacts: for as many candidates as its slabs hold contacts. Where a world
has more, the shapes from the first on whose candidates do not fit are left out (of all boxes: the candidates that do
not fit), and their contacts are only counted, so that ``contacts.needed`` stays exact.
"""

from __future__ import annotations

import functools

import numpy as np

from simengine import enums
from simengine.collision.bvh import BoxTrees
from simengine.collision.sort import ExclusiveScan, RadixSort
from simengine.containers import to_numpy
from simengine.enums import ShapeFlag, ShapeType
from simengine.errors import CapacityError
from simengine.pair_routines import routine_table
from simengine.runtime import modes
from simengine.runtime.kernel import Kernel

CONTACTS_OF_A_SHAPE = 32
"""Contacts for which a slab has room by default, for each shape that moves and each explicit pair."""

LEAST_CONTACTS, LEAST_CANDIDATES = 64, 32

CONTACT_BYTES = {"float32": 18 * 4 + 6 * 4, "float64": 18 * 8 + 6 * 4}
PLACE_BYTES = {"float32": 10 * 4, "float64": 10 * 8}
"""sizeof(Contact) and sizeof(ShapePlace)."""

TILE, LANES, LANES_OF_RECORDS = 32, 32, 32
"""Candidates of a tile, lanes that work it on a GPU, and lanes for which a group has records (broad_phase.h)."""

LOST_GROUPS = 1024
"""Groups of lanes, at most, that count the contacts of candidates without room."""

MOST_COUNTED = 2**31 - 1
"""Candidates and contacts are counted in 32 bits."""

BLOCK = 128
"""Threads of a block on a GPU: tiles and cells take different times, and the slowest keeps its block."""


def searched_contacts(model) -> np.ndarray:
    """Room for contacts (worlds,) by default."""
    rows = np.diff(SearchTables(model).row_start)
    return np.maximum(CONTACTS_OF_A_SHAPE * rows, LEAST_CONTACTS).astype(np.int64)


class ShapeTables:
    """What every search knows of the shapes, on the host.

    ``group`` (shapes,): the world of each, or the number of worlds for shared ones; ``collides``, ``endless``,
    ``moves`` (shapes,) bool. ``most``: contacts of a pair at most; ``primitive``: whether all pairs are such as a step
    collides by itself.
    """

    def __init__(self, model):
        self.worlds = worlds = model.world_count
        arrays = {name: to_numpy(getattr(model, f"shape_{name}")) for name in ("type", "flags", "world", "immovable")}
        self.type = arrays["type"]
        self.group = np.where(arrays["world"] < 0, worlds, arrays["world"])
        self.collides = (arrays["flags"] & ShapeFlag.COLLIDES) != 0
        self.endless, self.moves = self.type <= ShapeType.HEIGHTFIELD, arrays["immovable"] == 0
        present = np.unique(self.type[self.collides | self.explicit(model)])
        self.routines = routine_table()
        routines = self.routines[np.ix_(present, present)]
        routines = routines[routines >= 0]
        self.primitive = bool((routines <= enums.LAST_PRIMITIVE_ROUTINE).all())
        self.most = max((enums.PAIR_CONTACTS[enums.PairRoutine(routine)] for routine in routines), default=1)

    @staticmethod
    def explicit(model) -> np.ndarray:
        """Which shapes (shapes,) are of an explicit pair."""
        found = np.zeros(model.shape_count, bool)
        found[to_numpy(model.explicit_shape0)] = found[to_numpy(model.explicit_shape1)] = True
        return found


class SearchTables(ShapeTables):
    """What a search in trees reads besides the model, on the host.

    ``row``, ``row_start``: shapes that move and, as ~i, explicit pairs, by world. ``member``, ``tree``: the shapes in
    trees, and the tree of each: its world, or the last for shared ones.
    """

    def __init__(self, model):
        super().__init__(model)
        worlds, group = self.worlds, self.group
        shapes = np.flatnonzero(self.collides & self.moves)
        explicit = group[to_numpy(model.explicit_shape0)]
        row = np.concatenate([shapes, ~np.arange(len(explicit))])
        row_world = np.concatenate([group[shapes], explicit])
        order = np.argsort(row_world, kind="stable")
        self.row, self.row_start = row[order], np.searchsorted(row_world[order], np.arange(worlds + 1))
        self.member = np.flatnonzero(self.collides & ~self.endless)
        self.tree = group[self.member]
        self.box_of = np.full(len(group), -1, np.int32)
        self.box_of[self.member] = np.arange(len(self.member))
        listed = np.flatnonzero(self.collides & self.endless)
        still = np.flatnonzero(self.collides & ~self.endless & ~self.moves)
        starts = np.arange(worlds + 2)
        self.lists = [listed, np.searchsorted(group[listed], starts), still, np.searchsorted(group[still], starts)]
        own = np.bincount(group, minlength=worlds + 1)
        self.shape_bits = int(max(own[:-1].max(initial=0) + own[-1] - 1, 1)).bit_length()
        self.bits = (worlds - 1).bit_length() + 2 * self.shape_bits

    def plan(self) -> np.ndarray:
        """All lists in one array, as SearchView of broad_phase.h reads them."""
        pieces = [self.row, self.row_start, self.member, *self.lists, self.routines.astype(int).ravel()]
        return packed_plan([len(ShapeType), self.shape_bits], pieces)


def packed_plan(numbers: list[int], pieces: list[np.ndarray]) -> np.ndarray:
    """One int32 array: the numbers, where each piece begins, and the pieces."""
    begins = len(numbers) + len(pieces) + np.cumsum([0, *(len(piece) for piece in pieces[:-1])])
    return np.concatenate([numbers, begins, *pieces]).astype(np.int32)


def require_room(slots: int, of_a_row: int) -> None:
    """CapacityError where more candidates are to be kept, or contacts of one shape counted, than 32 bits tell."""
    if slots > MOST_COUNTED:
        message = "the slabs of all worlds have room for too many candidates; give model.contacts a lower capacity"
        raise CapacityError(message, buffer="collide", needed=slots, had=MOST_COUNTED)
    if of_a_row > MOST_COUNTED:
        message = "a shape may have more contacts than can be counted; the model has too many shapes"
        raise CapacityError(message, buffer="collide", needed=of_a_row, had=MOST_COUNTED)


class Search:
    """The launches and the memory of one model's search, for the capacities of one Contacts.

    A kind of search says with ``_find`` how candidates come to be, and with ``_lost`` how the contacts of those without
    room are counted, of each row or cell; ``lost_start`` (worlds + 1,): the first of each world.
    """

    def __init__(self, model, contacts, state, dt: float, tables: ShapeTables, lost_start: np.ndarray):
        self._model, self._tables = model, tables
        device, worlds = model.device, model.world_count
        self._launches: list = []
        self._reading: list = []
        empty, zeros, asarray = device.empty, device.zeros, device.asarray
        self.room = np.maximum(contacts.capacity, LEAST_CANDIDATES).astype(np.int32)
        tiles_of = -(-self.room.astype(np.int64) // TILE)
        tile_start = np.concatenate([[0], np.cumsum(tiles_of)])
        tiles = int(tile_start[-1])
        slots = tiles * TILE
        require_room(slots, model.shape_count * tables.most)
        tile_start = tile_start.astype(np.int32)
        self.plan = asarray(tables.plan())
        tile_contacts, kept, dropped = (zeros(n, np.int32) for n in (tiles, worlds, worlds))
        offsets = ExclusiveScan(tile_contacts)
        self._known = {
            "model": model, "contacts": contacts, "body_q": state.body_q, "body_qd": state.body_qd, "dt": dt,
            "plan": self.plan, "places": empty(model.shape_count * PLACE_BYTES[model.precision], np.uint8),
            "room": asarray(self.room), "room_start": asarray(tile_start[:-1] * TILE), "kept": kept,
            "dropped": dropped, "candidates": empty(4 * slots, np.int32),
            "records": empty(slots * tables.most * CONTACT_BYTES[model.precision], np.uint8), "most": tables.most,
            "tiles": tiles, "worlds": worlds, "groups": min(LOST_GROUPS, slots // LANES_OF_RECORDS),
            "tile_world": asarray(np.repeat(np.arange(worlds, dtype=np.int32), tiles_of)),
            "tile_start": asarray(tile_start), "tile_contacts": tile_contacts, "tile_offsets": offsets.offsets,
            "lost": zeros(int(lost_start[-1]), np.int32), "lost_start": asarray(lost_start.astype(np.int32)),
        }  # fmt: skip
        self._find()
        narrow = "narrow_sdf.cu" if model.collides_fields else "narrow_phase.cu"
        narrow = "narrow_primitives.cu" if tables.primitive else narrow
        counts = {"counts": zeros(slots, np.int32)}
        self._add_groups(narrow, "narrow_candidates", tiles, 4 * TILE, counts)
        self._launches.append(offsets)
        self._add_groups("broad_phase.cu", "broad_store", tiles, 4 * TILE * tables.most, counts)
        self._lost(narrow)
        self._add_groups("broad_phase.cu", "broad_finish", worlds, 0)

    def _find(self) -> None:
        raise NotImplementedError

    def _lost(self, narrow: str) -> None:
        raise NotImplementedError

    def _add_items(self, file: str, name: str, items: int, own: dict | None = None, block: int | None = None) -> None:
        """A launch over items, with the arguments that its kernel has."""
        self._add(file, name, own, items=items, block=block)

    def _add_groups(self, file: str, name: str, groups: int, scratch: int, own: dict | None = None) -> None:
        """A launch whose groups of lanes have ``scratch`` bytes each."""
        self._add(file, name, own, worlds=groups, lanes=LANES, scratch=scratch, block=BLOCK)

    def _add(self, file: str, name: str, own: dict | None, **shape) -> None:
        kernel, known = _kernel(file, name), self._known | (own or {})
        names = [p.name for p in kernel.parameters if p.name != "n" and p.kind != "scratch"]
        arguments = {name: known[name] for name in names}
        model = self._model
        launch = kernel.prepare(arguments, **shape, precision=model.precision, device=model.device, label="collide")
        self._launches.append(launch)
        if "body_q" in names:
            self._reading.append(launch)

    def __call__(self, state, dt: float) -> None:
        """Contacts at ``state.body_q``; fast shapes are followed for ``dt``."""
        for launch in self._reading:
            launch.set("body_q", state.body_q)
            launch.set("body_qd", state.body_qd)
            launch.set("dt", dt)
        for launch in self._launches:
            launch()


class TreeSearch(Search):
    """Candidates from trees of boxes, sorted."""

    def __init__(self, model, contacts, state, dt: float):
        tables = SearchTables(model)
        super().__init__(model, contacts, state, dt, tables, tables.row_start)

    def _find(self) -> None:
        model, tables, device = self._model, self._tables, self._model.device
        worlds, rows, total = model.world_count, len(tables.row), int(self.room.sum())
        wide = tables.bits > 32
        lower, upper = (device.zeros((len(tables.member), 3), np.dtype(model.precision)) for _ in range(2))
        trees = BoxTrees(lower, upper, tables.tree, worlds + 1, device)
        counts, kept_end = device.zeros(rows, np.int32), device.zeros(worlds, np.int32)
        row_offsets, world_first = ExclusiveScan(counts), ExclusiveScan(self._known["kept"])
        keys = device.empty(total, np.uint64 if wide else np.uint32)
        sort = RadixSort(keys, None, tables.bits)
        self._known |= {
            "rows": rows, "box_of": device.asarray(tables.box_of), "lower": lower, "upper": upper, **trees.arrays(),
            "counts": counts, "offsets": row_offsets.offsets, "kept_end": kept_end, "wide": wide,
            "world_first": world_first.offsets, "total": world_first.offsets[worlds:],
            "keys": keys.view(np.uint8), "sorted_keys": sort.sorted_keys.view(np.uint8),
        }  # fmt: skip
        file = "broad_phase.cu"
        self._add_items(file, "broad_place", model.shape_count)
        self._launches.append(trees.build)
        self._add_items(file, "broad_count", rows)
        self._launches.append(row_offsets)
        self._add_items(file, "broad_fit", worlds)
        self._launches.append(world_first)
        self._add_items(file, "broad_clear", total)
        self._add_items(file, "broad_list", rows)
        self._launches.append(sort)
        self._add_items(file, "broad_unpack", total)

    def _lost(self, narrow: str) -> None:
        self._add_groups(narrow, "narrow_lost", self._known["groups"], 0)


def collide_searched(model, state, contacts, dt: float) -> None:
    """``sim.collide`` for a model whose pairs are searched for; ``dt`` 0: no shape is followed."""
    key = (modes.debug, modes.poison)
    search = contacts.searches.get(key)
    if search is None and modes.capture is None:
        search = contacts.searches[key] = _search(model, contacts, state, dt)
    elif search is None:
        with model.device.apart():
            search = contacts.searches[key] = _search(model, contacts, state, dt)
            to_numpy(search.plan[:1])  # waits until the memory is ready, which the capture does not see
    search(state, dt)


def _search(model, contacts, state, dt: float) -> Search:
    from simengine.collision.broad_dense import DenseSearch

    kind = DenseSearch if model.broad_phase == "dense" else TreeSearch
    return kind(model, contacts.same_arrays(), state, dt)


QUICKLY_COMPILED = ("narrow_phase.cu", "narrow_sdf.cu")
"""Files that would else take a quarter of a minute or more, for code that is some percent faster."""


@functools.cache
def _kernel(file: str, name: str) -> Kernel:
    return Kernel(file, name, quick=file in QUICKLY_COMPILED)
