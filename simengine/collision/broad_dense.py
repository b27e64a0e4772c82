"""Candidates of a world by comparing all boxes of it (kernels_cuda/broad_dense.h), in order and without a sort.

For worlds with too many pairs to list but few enough to look at all of them. The host lists once which CELL_ROWS shapes
are compared with which chunk of boxes: of every two shapes one has the lower rank, by type, then number, and only it
looks for the other.
"""

from __future__ import annotations

import itertools

import numpy as np

from simengine.collision.broad_phase import Search, ShapeTables, packed_plan
from simengine.collision.sort import ExclusiveScan
from simengine.enums import ShapeType
from simengine.errors import CapacityError

CELL_ROWS, BOX_LANES, CHUNK_STEPS = 8, 32, 8
"""As in broad_dense.h."""

CHUNK = BOX_LANES * CHUNK_STEPS

CELL_BYTES = 8 * BOX_LANES + 4 * CELL_ROWS + 2 * CELL_ROWS * CHUNK
"""sizeof(CellMemory)."""

MOST_CELLS = 1 << 24
"""Cells, about 2,000 tests each: beyond, lists and bits take gigabytes, and trees are many times quicker."""

PLACE_BLOCK = 64
"""Threads of a block that places shapes: small ones spread a few thousand shapes over the multiprocessors."""


class DenseTables(ShapeTables):
    """What a search by all boxes reads besides the model, on the host.

    ``cell`` (cells, 6): world, first row, rows, chunk, number of the first row's count, and from a row's count to the
    next one's. ``cell_start``, ``count_start`` (worlds + 1,). ``row``: shape of each row. ``member``: shape of each
    place among the boxes, -1 none; a chunk's places are ``chunk_start[c]`` to ``chunk_start[c + 1]``.
    """

    def __init__(self, model):
        super().__init__(model)
        worked = self.collides | self.explicit(model)
        order = np.lexsort((np.arange(len(self.type)), self.type))
        self.rank = np.empty(len(order), np.int64)
        self.rank[order] = np.arange(len(order))
        shapes = np.flatnonzero(worked)
        starts = np.searchsorted(self.group[shapes], np.arange(self.worlds + 2))
        of_group = [shapes[begin:end] for begin, end in itertools.pairwise(starts)]
        _require_few([len(shapes) for shapes in of_group])
        self._place_boxes(of_group)
        self._list_cells(of_group)

    def _place_boxes(self, of_group: list[np.ndarray]) -> None:
        """Chunks of up to CHUNK shapes of one group, box k of ``steps`` x 32 at 32 (k % steps) + k // steps."""
        self.place_of = np.full(len(self.type), -1, np.int64)
        members, chunk_start, self._chunks_of, self._top = [], [0], [], []
        for shapes in of_group:
            first = len(chunk_start) - 1
            for begin in range(0, len(shapes), CHUNK):
                chunk = shapes[begin : begin + CHUNK]
                steps = -(-len(chunk) // BOX_LANES)
                k = np.arange(len(chunk))
                place = BOX_LANES * (k % steps) + k // steps
                member = np.full(BOX_LANES * steps, -1, np.int64)
                member[place] = chunk
                self.place_of[chunk] = chunk_start[-1] + place
                members.append(member)
                chunk_start.append(chunk_start[-1] + len(member))
                self._top.append(self.rank[chunk].max())
            self._chunks_of.append(np.arange(first, len(chunk_start) - 1))
        self.member = np.concatenate([np.zeros(0, np.int64), *members])
        self.chunk_start = np.array(chunk_start)

    def _list_cells(self, of_group: list[np.ndarray]) -> None:
        """CELL_ROWS rows of a world against each chunk that has a shape of higher rank than one of them; the cells of a
        chunk side by side, so that neighbouring groups of lanes read the same boxes."""
        top, shared = np.array(self._top), self._chunks_of[-1]
        cells, rows, cell_start, count_start = [], [], [0], [0]
        number, counted, listed = 0, 0, 0
        for world in range(self.worlds):
            of_world = [np.zeros((0, 6), np.int64)]
            for shapes, with_shared in ((of_group[world], True), (of_group[-1], False)):
                own = self._chunks_of[world]
                chunks = np.concatenate([own, shared]) if with_shared else own
                for begin in range(0, len(shapes), CELL_ROWS):
                    few = shapes[begin : begin + CELL_ROWS]
                    facing = chunks[top[chunks] > self.rank[few].min()]
                    if not len(facing):
                        continue
                    cell = np.empty((len(facing), 6), np.int64)
                    cell[:, :3], cell[:, 3], cell[:, 5] = (world, number, len(few)), facing, len(facing)
                    cell[:, 4] = counted + np.arange(len(facing))
                    of_world.append(cell)
                    rows.append(few)
                    number, counted, listed = number + len(few), counted + len(few) * len(facing), listed + len(facing)
            found = np.concatenate(of_world)
            cells.append(found[np.argsort(found[:, 3], kind="stable")])
            cell_start.append(listed)
            count_start.append(counted)
        self.cell = np.concatenate([np.zeros((0, 6), np.int64), *cells])
        self.row = np.concatenate([np.zeros(0, np.int64), *rows])
        self.cell_start, self.count_start, self.counts = np.array(cell_start), np.array(count_start), counted

    def plan(self) -> np.ndarray:
        """All lists in one array, as DenseView of broad_dense.h reads them."""
        pieces = [self.cell.ravel(), self.cell_start, self.count_start, self.row, self.chunk_start, self.member]
        pieces += [self.place_of, self.rank, self.routines.astype(int).ravel()]
        return packed_plan([len(ShapeType)], pieces)


def _require_few(sizes: list[int]) -> None:
    """CapacityError where groups of so many shapes, the last of them the shared ones, would need too many cells."""
    rows, chunks = (-(-np.array(sizes, np.int64) // size) for size in (CELL_ROWS, CHUNK))
    cells = int((rows[:-1] * (chunks[:-1] + chunks[-1]) + rows[-1] * chunks[:-1]).sum())
    if cells > MOST_CELLS:
        message = 'comparing all boxes takes too many cells; finalize with broad_phase="bvh"'
        raise CapacityError(message, buffer='broad_phase="dense"', needed=cells, had=MOST_CELLS)


class DenseSearch(Search):
    """Candidates from comparing all boxes. What meets is kept as one bit a test: 25 MB for 200 million."""

    def __init__(self, model, contacts, state, dt: float):
        tables = DenseTables(model)
        super().__init__(model, contacts, state, dt, tables, tables.cell_start)

    def _find(self) -> None:
        model, tables, device = self._model, self._tables, self._model.device
        real, cells = np.dtype(model.precision), len(tables.cell)
        chunks = len(tables.chunk_start) - 1
        counts = device.zeros(tables.counts, np.int32)
        offsets = ExclusiveScan(counts)
        boxes = np.full((len(tables.member) // BOX_LANES, 6, BOX_LANES), np.finfo(real).max, real)
        boxes[:, 3:] *= -1  # places of no shape meet nothing
        self._known |= {
            "cells": cells, "counts": counts, "offsets": offsets.offsets, "boxes": device.asarray(boxes.ravel()),
            "bounds": device.zeros((model.shape_count, 6), real), "numbers": tables.counts,
            "meets": device.zeros((cells, BOX_LANES), np.uint64), "extents": device.zeros(6 * chunks, real),
            "extents_of_chunks": 6 * chunks,
        }  # fmt: skip
        self._add_items("broad_dense.cu", "dense_place", model.shape_count, block=PLACE_BLOCK)
        self._add_groups("broad_dense.cu", "dense_extents", 6 * chunks, 0)
        self._add_groups("broad_dense.cu", "dense_meet", cells, 0)
        self._add_groups("broad_dense.cu", "dense_count", cells, CELL_BYTES)
        self._launches.append(offsets)
        self._add_groups("broad_dense.cu", "dense_list", cells, CELL_BYTES)

    def _lost(self, narrow: str) -> None:
        self._add_groups(narrow, "narrow_lost_dense", self._known["groups"], CELL_BYTES)
