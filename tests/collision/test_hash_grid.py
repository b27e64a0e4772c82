"""Neighbours by a grid: those of brute force, wherever the points and whatever the cells."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.spatial import cKDTree

import simengine as sim
from simengine.collision.hash_grid import HashGrid
from simengine.errors import ModelError
from simengine.runtime import modes


def rows(found) -> list[np.ndarray]:
    offsets, indices = (sim.to_numpy(array) for array in found)
    assert offsets[0] == 0 and offsets[-1] == len(indices)
    return [indices[a:b] for a, b in itertools.pairwise(offsets)]


def brute(points, queries, radius, period=None) -> np.ndarray:
    """Who is within the radius (queries, points)."""
    apart = queries[:, None].astype(float) - points[None].astype(float)
    if period is not None:
        apart = apart - period * np.round(apart / period)
    return (apart**2).sum(axis=2) <= np.square(np.broadcast_to(radius, len(queries)), dtype=float)[:, None]


def assert_rows(found, expected) -> None:
    for row, mask in zip(rows(found), expected, strict=True):
        assert np.array_equal(row, np.flatnonzero(mask))


def places(kind: str, n: int) -> np.ndarray:
    random = np.random.default_rng(n)
    points = random.normal(size=(n, 3))
    return {
        "negative": points - 500,
        "far": points + 1e6,
        "wide": points * 1e5,
        "sheet": points * [1, 1, 0],
        "line": points * [0, 1, 0],
        "same": points * 0,
        "giant": np.where(np.arange(n)[:, None] == n // 2, 1e7, points),
    }.get(kind, points)


@pytest.mark.parametrize("cell", [0.02, 0.3, 50])
@pytest.mark.parametrize("kind", ["random", "negative", "far", "wide", "sheet", "line", "same", "giant"])
@pytest.mark.parametrize("n", [1, 2, 250])
def test_neighbours_are_those_of_brute_force(n, kind, cell, device):
    points = places(kind, n)
    queries = np.concatenate([points[: n // 2], points[: n // 2] + 0.1, np.full((1, 3), -3e5)])
    grid = HashGrid(cell)
    grid.build(device.asarray(points))
    radius = 3e4 if kind == "wide" and cell > 1 else 0.3
    assert_rows(grid.neighbors(radius=radius), brute(points, points, radius))
    expected = brute(points, queries, radius)
    assert_rows(grid.neighbors(device.asarray(queries), radius), expected)
    assert np.array_equal(sim.to_numpy(grid.count(device.asarray(queries), radius)), expected.sum(axis=1))


@pytest.mark.parametrize("radius", [0, 1e-3, 1.0, 7.5, 100])
def test_any_radius_does(radius):
    points = np.random.default_rng(1).uniform(-5, 5, (400, 3))
    grid = HashGrid(0.7)
    grid.build(points)
    assert_rows(grid.neighbors(radius=radius), brute(points, points, radius))
    each = np.random.default_rng(2).uniform(0, 3, 400)
    assert_rows(grid.neighbors(points, each), brute(points, points, each))


def test_a_jittered_lattice_has_the_pairs_of_brute_force(precision):
    lattice = np.stack(np.meshgrid(np.arange(16), np.arange(32), np.arange(16), indexing="ij"), axis=-1)
    points = lattice.reshape(-1, 3) + np.random.default_rng(3).uniform(-0.3, 0.3, (8192, 3))
    points = points.astype(precision)
    grid = HashGrid(1.0)
    grid.build(points)
    tree = cKDTree(points)
    assert np.array_equal(grid.count(radius=2.5), tree.query_ball_point(points, 2.5, return_length=True))
    found = rows(grid.neighbors(points[:300], 2.5))
    for row, expected in zip(found, tree.query_ball_point(points[:300], 2.5, return_sorted=True), strict=True):
        assert row.tolist() == expected


def test_a_periodic_box_joins_its_ends(device):
    grid = HashGrid(1.0, period=(4, 4, 4))
    grid.build(device.asarray([[-0.3, 0, 0], [3.9, 0, 0]]))
    assert sim.to_numpy(grid.count(radius=0.5)).tolist() == [2, 2]
    period = np.array([4.0, 3.0, 1e9])
    points = np.random.default_rng(4).uniform(-9, 9, (300, 3))
    for cell, radius in ((0.4, 0.9), (1.7, 0.9), (0.4, 1.9), (10, 2.5), (0.01, 0.3)):
        grid = HashGrid(cell, period=(4, 3, None))
        grid.build(device.asarray(points))
        assert_rows(grid.neighbors(radius=radius), brute(points, points, radius, period))


@pytest.mark.parametrize("count", [1, 3, 700])
def test_groups_do_not_see_each_other(count, device):
    random = np.random.default_rng(count)
    points, groups = random.uniform(-1, 1, (600, 3)), random.integers(0, count, 600)
    grid = HashGrid(0.4)
    grid.build(device.asarray(points), groups=groups, group_count=count)
    mine = groups[:, None] == groups[None]
    assert_rows(grid.neighbors(radius=0.5), brute(points, points, 0.5) & mine)
    of = random.integers(0, count, 50)
    found = grid.neighbors(device.asarray(points[:50]), 0.8, groups=device.asarray(of))
    assert_rows(found, brute(points, points[:50], 0.8) & (of[:, None] == groups[None]))


def test_thirty_grids_at_once():
    grids = []
    for seed in range(30):
        points = np.random.default_rng(seed).normal(size=(80 + seed, 3)) * (1 + seed)
        grids.append((HashGrid(0.5 + seed), points))
        grids[-1][0].build(points)
    for grid, points in grids:
        assert_rows(grid.neighbors(), brute(points, points, grid.cell_size))


def layout_numbers(grid) -> dict[str, np.ndarray]:
    """Fields of GridLayout of hash_grid.h."""
    kind = np.dtype([("origin", grid.dtype, 3), ("inverse", grid.dtype, 3), ("period", grid.dtype, 3),
                     ("bits", "i4", 4), ("places", "i4", 4), ("cells", "i4", 3), ("bucket_places", "i4")])  # fmt: skip
    layout = sim.to_numpy(grid._layout)[: kind.itemsize].view(kind)[0]
    return {name: layout[name] for name in kind.names}


@pytest.mark.parametrize("kind", ["even", "crowded", "outlier", "line"])
def test_points_are_sorted_by_their_places_and_those_of_a_place_by_index(kind, precision, device):
    """Many buckets and tiles: against a stable sort of the places, computed as the grid's text says."""
    random = np.random.default_rng(9)
    points = random.random((40_000, 3)) * [30, 20, 25]
    if kind == "crowded":
        points[:35_000] = points[:35_000] % 0.5 + 7
    if kind == "outlier":
        points[7] = [-3e5, 2e5, 1e5]
    points *= [1, 0, 0] if kind == "line" else 1
    groups = random.integers(0, 3, len(points))
    points = points.astype(precision)
    grid = HashGrid(0.9)
    grid.build(device.asarray(points), groups=groups, group_count=3)
    layout = layout_numbers(grid)
    assert np.array_equal(layout["origin"], points.min(axis=0))
    cells = np.floor((points - layout["origin"]) * layout["inverse"]).astype(int)
    assert np.array_equal(layout["cells"], cells.max(axis=0) + 1)
    low = np.concatenate([cells, groups[:, None]], axis=1) & ((1 << layout["bits"]) - 1)
    assert np.all(layout["places"] == np.minimum([*layout["cells"], 3], 1 << layout["bits"]))
    place = np.ravel_multi_index(low[:, ::-1].T, layout["places"][::-1])
    order = np.argsort(place, kind="stable")
    assert np.array_equal(sim.to_numpy(grid._order), order)
    assert np.array_equal(sim.to_numpy(grid._sorted), points[order].T)
    assert np.array_equal(sim.to_numpy(grid._sorted_group), groups[order])
    table = int(np.prod(layout["places"]))
    expected = np.searchsorted(place[order], np.arange(table + 1))
    assert np.array_equal(sim.to_numpy(grid._starts)[: table + 1], expected)


@pytest.mark.parametrize("captured", [False, True])
def test_rebuilding_finds_points_where_they_are(captured, device):
    points = device.asarray(np.random.default_rng(5).normal(size=(500, 3)))
    grid = HashGrid(0.5)
    grid.build(points)
    moved = np.random.default_rng(6).normal(size=(500, 3)) * [30, 1, 0.1] + 100
    if captured:
        with sim.capture(device) as graph:
            grid.build(points)
    points[:] = device.asarray(moved)
    graph.launch() if captured else grid.build(points)
    grid.check()
    assert_rows(grid.neighbors(radius=0.7), brute(moved, moved, 0.7))


@pytest.mark.parametrize("period", [None, np.array([4.0, 4.0, 4.0])], ids=["open", "periodic"])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_point_that_turns_bad_within_a_graph_is_nobodys_neighbour(device, period, bad):
    points = np.random.default_rng(7).normal(size=(200, 3))
    expected = brute(points, points[:20], 0.9, period)
    expected[:, 33] = False
    array = device.asarray(points)
    grid = HashGrid(0.5, period=period)
    grid.build(array)
    with sim.capture(device) as graph:
        grid.build(array)
    array[33, 1] = bad
    graph.launch()
    with pytest.raises(ModelError, match=r"points\[33\]"):
        grid.check()
    assert_rows(grid.neighbors(device.asarray(points[:20]), 0.9), expected)


def test_lanes_and_threads_do_not_matter():
    points = np.random.default_rng(8).normal(size=(20_000, 3)).astype(np.float32)  # several buckets and tiles

    def answers():
        grid = HashGrid(0.3)
        grid.build(points)
        offsets, indices = grid.neighbors(points[:3000], radius=0.2)
        return offsets.tobytes(), indices.tobytes(), grid._layout.tobytes(), grid._order.tobytes()

    expected = answers()
    for lanes, seed in ((1, 0), (4, 1), (32, 2)):
        with modes.emulated_lanes(lanes, seed=seed):
            assert answers() == expected
    try:
        for threads in (1, 3):
            sim.set_num_threads(threads)
            assert answers() == expected
    finally:
        sim.set_num_threads(None)


def test_no_points_are_no_neighbours(device):
    grid = HashGrid(1.0)
    grid.build(device.asarray(np.zeros((0, 3))))
    assert_rows(grid.neighbors(device.asarray(np.ones((3, 3)))), np.zeros((3, 0), bool))
    assert sim.to_numpy(grid.count(device.asarray(np.ones((3, 3))))).tolist() == [0, 0, 0]
    assert len(rows(grid.neighbors())) == 0


@pytest.mark.parametrize("size", [0, -1, np.nan, np.inf, "wide"])
def test_a_cell_size_that_is_none_is_refused(size):
    with pytest.raises(ModelError, match="cell_size: is"):
        HashGrid(size)


def test_what_is_no_query_is_refused():
    grid = HashGrid(1.0)
    with pytest.raises(ModelError, match=r"call build\(points\) first"):
        grid.neighbors(np.zeros((1, 3)))
    with pytest.raises(ModelError, match=r"points\[1, 2\] is nan"):
        grid.build([[0, 0, 0], [0, 0, np.nan]])
    grid.build(np.eye(3), groups=[0, 0, 1])
    with pytest.raises(ModelError, match="give the group of each point"):
        grid.neighbors(np.eye(3))
    with pytest.raises(ModelError, match=r"groups\[2\] is 2"):
        grid.neighbors(np.eye(3), groups=np.array([0, 1, 2]))
    with pytest.raises(ModelError, match=r"radius\[0\] is -1"):
        grid.neighbors(radius=-1)
    with pytest.raises(ModelError, match=r"radius\[0\] is nan"):
        grid.neighbors(radius=np.nan)
    with pytest.raises(ModelError, match="period: is -2; it must be positive"):
        HashGrid(1.0, period=(1, -2, 0))
