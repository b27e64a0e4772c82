"""Memory and launches that build a grid of points (kernels_cuda/grid_build.cu)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simengine.collision import queries
from simengine.collision.sort import LANES

LAYOUT_BYTES = {np.dtype(np.float32): 96, np.dtype(np.float64): 128}
"""sizeof(GridLayout)."""

POINT_BYTES = {np.dtype(np.float32): 16, np.dtype(np.float64): 32}
"""sizeof(GridPoint)."""

BLOCK = 512
"""Lanes of a block on a GPU."""

EXTENT_TILES_OF_ONE = 2
"""Tiles of the points a multiprocessor, where the extents are found."""

WARPS = BLOCK // 32

COLUMNS, PARTS = 32, 16
"""As in grid_build.h."""


@dataclass(frozen=True)
class Sizes:
    """How the work is cut. No answer depends on it; the order of points beyond 2**bits does on ``bits``.

    ``bits``: the table has 2**bits places at most; ``buckets``: parts of it; ``tiles``: of the points, and
    ``extent_tiles`` where their extents are found; ``scatter_groups`` take the
    tiles by turns, on the CPU one each; ``rows``: of 32 points that a warp holds on a GPU, which makes ``BLOCK * rows``
    points a chunk of a block; ``digit_bits``: of a place that a block sorts by in one pass.
    """

    bits: int
    buckets: int
    tiles: int
    scatter_groups: int
    extent_tiles: int
    rows: int
    digit_bits: int

    @property
    def bucket_places(self) -> int:
        """Places of a bucket, at most."""
        return -(-(1 << self.bits) // self.buckets)

    def scratch(self, dtype, on_gpu: bool) -> dict[str, int]:
        """Bytes of scratch of a group: to count, to scatter, and to put a bucket in order."""
        count = 4 * self.buckets
        if not on_gpu:
            return {"count": count, "scatter": count + 4 * LANES, "order": 4 * (self.bucket_places + LANES)}
        chunk, places = BLOCK * self.rows, self.bucket_places
        scatter = chunk * POINT_BYTES[dtype] + 2 * WARPS * (self.buckets + 3)
        digits = min(places, 1 << self.digit_bits)
        work = max(2 * WARPS * (digits + 3), 2 * chunk + max(4 * chunk, 2 * chunk + 2 * places))
        order = chunk * POINT_BYTES[dtype] + 4 * (places + 1) + work
        return {"count": count, "scatter": scatter, "order": order}


DIGIT_BITS = 11
"""GRID_DIGIT_BITS of grid_build_block.h."""


def sizes_on_cpu(n: int, bits: int) -> Sizes:
    """Tiles and buckets that fit into a core's caches."""
    buckets, tiles, extent_tiles = min(2048, max(1, n // 4096)), min(64, -(-n // 16384)), min(1024, -(-n // 1024))
    return Sizes(bits, buckets, tiles, tiles, extent_tiles, rows=1, digit_bits=0)


def sizes_on_gpu(n: int, bits: int, dtype, limits: dict) -> Sizes:
    """Whole rounds of blocks on all multiprocessors, one each; as many points a bucket as a block can hold."""
    shared, processors = limits["MaxSharedMemoryPerBlockOptin"] - 1024, limits["MultiProcessorCount"]
    digit_bits = DIGIT_BITS if shared >= 230_000 else DIGIT_BITS - 1 if shared >= 90_000 else DIGIT_BITS - 2
    most_buckets, most_places = 1 << digit_bits, 4 << digit_bits
    counts = 2 * WARPS * (most_buckets + 3)
    scatter_rows = (shared - counts) // (BLOCK * POINT_BYTES[dtype])
    order_rows = min(  # whichever of the two `work` of `scratch` is
        (shared - 4 * most_places - 4 - counts) // (BLOCK * POINT_BYTES[dtype]),
        (shared - 6 * most_places - 4) // (BLOCK * (POINT_BYTES[dtype] + 6)),
    )
    rows = min(64 // dtype.itemsize, scatter_rows, order_rows)
    bits = min(bits, (most_buckets * most_places).bit_length() - 1)
    chunk = BLOCK * rows

    def rounds(points: int) -> int:
        return -(-n // (processors * points))

    buckets = min(most_buckets, processors * rounds(chunk * 15 // 16), max(1, n // 64))
    buckets = max(buckets, -(-(1 << bits) // most_places))
    tiles = min(processors * rounds(chunk), -(-n // BLOCK))
    extent_tiles = min(EXTENT_TILES_OF_ONE * processors, -(-n // BLOCK))
    return Sizes(bits, buckets, tiles, min(tiles, processors), extent_tiles, rows, digit_bits)


class GridBuild:
    """A build of a grid: ``launches`` in order, ``reading`` those that read ``points`` (n, 3), n > 0.

    They fill ``layout`` (GridLayout of hash_grid.h), ``starts`` (places of the table + 1), ``order`` (n), ``sorted``
    (3, n), ``sorted_group`` (n) where there are ``groups`` (n), and ``first_bad`` (1), the first point that is not
    finite, or n. They allocate nothing and can be captured. ``bits``: the table has at most 2**bits places.
    """

    def __init__(self, points, groups, group_count: int, bits: int, cell: float, period, device):
        n, dtype = len(points), points.dtype
        on_gpu = device.is_cuda
        sizes = sizes_on_gpu(n, bits, dtype, device.attributes) if on_gpu else sizes_on_cpu(n, bits)
        self.layout = device.zeros(LAYOUT_BYTES[dtype], np.uint8)
        self.first_bad = device.zeros(1, np.int32)
        self.starts = device.zeros((1 << sizes.bits) + 1, np.int32)
        self.order, self.sorted = device.empty(n, np.int32), device.empty((3, n), dtype)
        self.sorted_group = None if groups is None else device.empty(n, np.int32)
        # a row of the table: a word for each bucket, or where the runs of a tile begin, 16 bits each, whole 8 bytes
        row_words = 2 * -(-sizes.buckets // 4) if on_gpu else sizes.buckets
        values = {
            "groups_of_lanes": 1,
            "parts": -(-sizes.buckets // COLUMNS),
            "count": n,
            "extent_tiles": sizes.extent_tiles,
            "tiles": sizes.tiles,
            "scatter_groups": sizes.scatter_groups,
            "buckets": sizes.buckets,
            "rows": sizes.rows,
            "digit_bits": sizes.digit_bits,
            "bits": sizes.bits,
            "group_count": group_count,
            "cell": cell,
            "points": points,
            "groups": groups,
            "extents": device.empty((sizes.extent_tiles, 6), dtype),
            "bad": device.empty(sizes.extent_tiles, np.int32),
            "first_bad": self.first_bad,
            "layout": self.layout,
            "row_words": row_words,
            "table": device.empty((sizes.tiles, row_words), np.int32),
            "totals": device.empty(sizes.buckets, np.int32),
            "bucket_start": device.empty(sizes.buckets + 1, np.int32),
            "moved": device.empty(n * POINT_BYTES[dtype], np.uint8),
            "starts": self.starts,
            "order": self.order,
            "sorted": self.sorted,
            "sorted_group": self.sorted_group,
        }
        values |= dict(zip(("period_x", "period_y", "period_z"), period, strict=True))

        def launch(name, slots, scratch):
            kernel = queries.kernel("grid_build.cu", name)
            taken = {p.name: values[p.name] for p in kernel.parameters if p.kind != "scratch"}
            precision = dtype.name
            return kernel.prepare(taken, worlds=slots, lanes=BLOCK, scratch=scratch, precision=precision, device=device)

        scratch = sizes.scratch(dtype, on_gpu)
        extents = launch("grid_tile_extents", sizes.extent_tiles, 0)
        layout = launch("grid_layout", 1, 0)
        scatter = launch("grid_scatter", sizes.scatter_groups, scratch["scatter"])
        order = launch("grid_order", sizes.buckets, scratch["order"])
        counting = []
        if not on_gpu:
            count = launch("grid_count", sizes.tiles, scratch["count"])
            counting = [count, launch("grid_sum", values["parts"], 4 * COLUMNS * PARTS)]
        self.launches = [extents, layout, *counting, scatter, order]
        self.reading = [extents, *counting[:1], scatter]
