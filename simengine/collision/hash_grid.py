"""Neighbours of points through a grid of cells (kernels_cuda/hash_grid.h, hash_grid.cu)."""

from __future__ import annotations

import numpy as np

from simengine.collision import queries
from simengine.collision.bvh import checked_groups
from simengine.collision.grid_build import GridBuild
from simengine.errors import ModelError
from simengine.fixed import Fixed
from simengine.runtime import modes
from simengine.values import number

MOST_BITS = 24
"""The table has at most 2**24 places."""

LEAST_LENGTH = 1e-18
"""m, of a cell and of a period: their reciprocals must stay within float32."""


class HashGrid(Fixed):
    """Points sorted by cells: ``grid = sim.collision.HashGrid(cell_size); grid.build(points)``.

    ``cell_size`` in m, best about the radius of the queries (any radius gives the right answer). Points may lie
    anywhere: the cells begin at the least coordinates, whatever they are. ``period``: lengths in m of a periodic box
    from the origin along x, y, z, 0 or None for an axis that does not repeat; of a point's images the nearest counts.
    Both stay: for others make another grid.

    ``build`` may be called again with other points, and within ``sim.capture`` with as many points as before.
    Answers do not depend on cells or order: lists are in ascending index order. Raises ModelError for a cell size or
    period that is not positive and finite, and for points that are not finite, with their index.
    """

    def __init__(self, cell_size: float, period=None):
        cell_size = _length(cell_size, "cell_size")
        period = (0, 0, 0) if period is None else period
        if not hasattr(period, "__len__") or len(period) != 3:
            raise ModelError(f"period must be three lengths (0 or None: the axis does not repeat), got {period!r}")
        period = tuple(0.0 if _is_zero(length) else _length(length, "period") for length in period)
        self._set(cell_size=cell_size, period=period)
        self._points = None

    def __len__(self) -> int:
        return 0 if self._points is None else len(self._points)

    def build(self, points, groups=None, group_count: int | None = None, device=None) -> None:
        """Sort ``points`` (n, 3) in m into the grid, which has its own copy of them, in its order.

        ``groups`` (n,) whole numbers of 0 .. group_count-1: points have neighbours in their own group only (a world,
        say). Within ``sim.capture``: as many points, on the same device, in the same precision, and no other groups
        than before (``groups`` is left out then).
        """
        device = queries.device_for(points, device)
        dtype = queries.float_dtype(points)
        points = queries.vectors("points", points, dtype, device)
        if modes.capture is None:
            self._prepare(points, groups, group_count, dtype, device)
        elif self._points is None or points.shape != self._points.shape or groups is not None:
            raise ModelError("within sim.capture build takes as many points as before, and no groups")
        if points is not self._points:
            for launch in self._reading:
                launch.set("points", points)
            self._points = points
        for launch in self._launches:
            launch()

    def _prepare(self, points, groups, group_count, dtype, device) -> None:
        """Memory and launches, made anew where the points differ in number, precision, device or groups."""
        n = len(points)
        groups, group_count = checked_groups(groups, group_count, n, device)
        same = self._points is not None and len(self) == n and self.dtype == dtype and self.device is device
        if same and groups is None and self._groups is None:
            return
        self._points = None
        self._set(device=device, dtype=dtype, group_count=group_count)
        self._groups = None if groups is None else device.asarray(groups, np.int32)
        self._launches = self._reading = ()
        if n:
            bits = min(MOST_BITS, max(4, (n - 1).bit_length()))
            build = GridBuild(points, self._groups, group_count, bits, self.cell_size, self.period, device)
            self._layout, self._first_bad, self._starts = build.layout, build.first_bad, build.starts
            self._order, self._sorted, self._sorted_group = build.order, build.sorted, build.sorted_group
            self._launches, self._reading = build.launches, build.reading
        self._points = points

    def check(self) -> None:
        """Raise ModelError where the last build found a point that is not finite (builds that were captured do not
        look). Such points are nobody's neighbours. Waits for the device."""
        if len(self) and (bad := int(self._first_bad[0])) < len(self):
            raise ModelError(f"points[{bad}] is {self._points[bad].tolist()}; coordinates must be finite")

    def arrays(self) -> dict:
        """What ``grid_view`` of hash_grid.h takes, by name, for kernels of your own: layout, starts, order, sorted,
        sorted_group (None without groups) and count. They stay the same arrays while the number of points does."""
        if not len(self):
            raise ModelError("the grid holds no points yet: call build(points) first")
        arrays = {"layout": self._layout, "starts": self._starts, "order": self._order, "sorted": self._sorted}
        return arrays | {"sorted_group": self._sorted_group, "count": len(self)}

    def count(self, points=None, radius=None, groups=None):
        """How many points are within ``radius`` of each of ``points``, as in ``neighbors``: (m,) int32."""
        arguments, count = self._query_arguments(points, radius, groups)
        counts = self.device.zeros(count, np.int32)
        if count and len(self):
            self._prepare_query(count, arguments | {"offsets": None, "counts": counts, "out": None})()
        return counts

    def neighbors(self, points=None, radius=None, groups=None):
        """The points of the grid within ``radius`` (m, or (m,) for each) of each of ``points`` (m, 3).

        Returns offsets (m+1,) int64 and indices int32, ascending for each point: a point of the grid is in its own
        list. ``points`` None: those of the grid, in their own groups. ``radius`` None: the cell size. ``groups``:
        the group of each of ``points``, where the grid has groups. Waits for the device to learn how many there are.
        """
        arguments, count = self._query_arguments(points, radius, groups)
        if not len(self):
            return self.device.zeros(count + 1, np.int64), self.device.empty(0, np.int32)

        def prepare(offsets, counts, out):
            return self._prepare_query(count, arguments | {"offsets": offsets, "counts": counts, "out": out})

        return queries.lists(prepare, count, self.device)

    def _query_arguments(self, points, radius, groups) -> tuple[dict, int]:
        if self._points is None:
            raise ModelError("the grid holds no points yet: call build(points) first")
        own = points is None
        points = None if own else queries.vectors("points", points, self.dtype, self.device)
        count = len(self) if own else len(points)
        radius = queries.numbers("radius", self.cell_size if radius is None else radius, self.dtype, self.device, count)
        if groups is not None:
            groups = queries.indices("groups", groups, self.device, count, self.group_count)
            groups = groups[self._order] if own and len(self) else groups
        elif not own and self._groups is not None:
            raise ModelError("the grid has groups: give the group of each point with groups=")
        return {"point": points, "radius": radius, "group": groups}, count

    def _prepare_query(self, count: int, arguments: dict):
        arguments = self.arrays() | arguments | {"n": count}
        kernel = queries.kernel("hash_grid.cu", "grid_query")
        return kernel.prepare(arguments, items=count, precision=self.dtype.name, device=self.device)


def _is_zero(length) -> bool:
    return length is None or (isinstance(length, int | float | np.number) and length == 0)


def _length(value, what: str) -> float:
    return number(value, what, lowest=LEAST_LENGTH, positive=True)
