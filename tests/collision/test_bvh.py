"""Trees over boxes: answers are those of testing every box, whatever the tree."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import simengine as sim
from simengine.collision.bvh import LEVELS, STACK, Bvh, Plan
from simengine.errors import ModelError
from simengine.runtime import modes

KINDS = ("random", "equal", "line", "giant", "flat", "chain")
QUERIES = 50


def boxes(kind: str, n: int, seed: int = 0, dtype=np.float64):
    """Corners (n, 3) of random and of adversarial boxes."""
    random = np.random.default_rng(seed)
    center, half = random.random((n, 3)), 0.05 * random.random((n, 3))
    if kind == "equal":
        center[:], half[:] = 0.5, 0.05
    if kind == "line":
        center[:, 1:] = 0.25
    if kind == "giant" and n:
        center[n // 2], half[n // 2] = 0, 1e6
    if kind == "flat":
        half[:, 2] = 0
    if kind == "chain":  # each near the last, at half the distance
        center, half = 0.5 ** np.minimum(np.arange(n), 900)[:, None] * np.ones(3), np.zeros((n, 3))
    return (center - half).astype(dtype), (center + half).astype(dtype)


def rows(offsets, indices) -> list[np.ndarray]:
    offsets, indices = sim.to_numpy(offsets), sim.to_numpy(indices)
    assert offsets[0] == 0 and offsets[-1] == len(indices)
    return [indices[a:b] for a, b in itertools.pairwise(offsets)]


def assert_rows(found, expected: np.ndarray) -> None:
    """Lists of hits against a table (queries, boxes) of bool."""
    for row, mask in zip(rows(*found), expected, strict=True):
        assert np.array_equal(row, np.flatnonzero(mask))


def meets(low, high, lower, upper) -> np.ndarray:
    return ((low[None] <= upper[:, None]) & (high[None] >= lower[:, None])).all(axis=2)


def distances(low, high, points) -> np.ndarray:
    apart = np.maximum(np.maximum(low[None] - points[:, None], points[:, None] - high[None]), 0)
    return np.sqrt((apart**2).sum(axis=2))


def enters(low, high, origin, direction) -> np.ndarray:
    """t at which rays enter boxes (queries, boxes), infinite where they miss."""
    with np.errstate(divide="ignore", invalid="ignore"):
        t0 = (low[None] - origin[:, None]) / direction[:, None]
        t1 = (high[None] - origin[:, None]) / direction[:, None]
    still = np.broadcast_to(direction[:, None] == 0, t0.shape)
    inside = (low[None] <= origin[:, None]) & (origin[:, None] <= high[None])
    first = np.where(still, np.where(inside, -np.inf, np.inf), np.minimum(t0, t1)).max(axis=2)
    last = np.where(still, np.where(inside, np.inf, -np.inf), np.maximum(t0, t1)).min(axis=2)
    first = np.maximum(first, 0)
    return np.where(first <= last, first, np.inf)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [0, 1, 2, 4, 5, 9, 130, 700])
def test_answers_are_those_of_every_box(n, kind, device):
    low, high = boxes(kind, n)
    tree = Bvh(device.asarray(low), device.asarray(high))
    random = np.random.default_rng(1)
    lower = random.random((QUERIES, 3))
    upper = lower + 0.2 * random.random((QUERIES, 3))
    assert_rows(tree.query_aabb(device.asarray(lower), device.asarray(upper)), meets(low, high, lower, upper))

    points, radius = random.normal(0.5, 0.5, (QUERIES, 3)), random.random(QUERIES)
    apart = distances(low, high, points)
    assert_rows(tree.query_sphere(device.asarray(points), device.asarray(radius)), apart <= radius[:, None])

    direction = random.random((QUERIES, 3)) - points
    direction[::7, 0] = 0
    t = enters(low, high, points, direction)
    rays = device.asarray(points), device.asarray(direction)
    assert_rows(tree.query_ray(*rays), t < np.inf)
    assert_rows(tree.query_ray(*rays, max_distance=0.5), t <= 0.5)
    assert np.array_equal(sim.to_numpy(tree.ray_any(*rays)), (t < np.inf).any(axis=1))
    index, first = (sim.to_numpy(array) for array in tree.ray_first(*rays))
    hit = (t < np.inf).any(axis=1)
    assert np.array_equal(index >= 0, hit)
    if n:
        assert np.allclose(first[hit], t.min(axis=1)[hit], rtol=1e-13, atol=1e-13)
        index, near = (sim.to_numpy(array) for array in tree.nearest(device.asarray(points), k=5))
        count = min(n, 5)
        assert np.allclose(near[:, :count], np.sort(apart, axis=1)[:, :count], rtol=1e-14)
        assert np.allclose(np.take_along_axis(apart, index[:, :count], axis=1), near[:, :count], rtol=1e-14)
        assert (index[:, count:] == -1).all() and np.isinf(near[:, count:]).all()


def test_float32_boxes_are_found_as_in_float64():
    low, high = boxes("random", 3000, dtype=np.float32)
    tree = Bvh(low, high)
    assert tree.dtype == np.float32
    lower = np.random.default_rng(2).random((QUERIES, 3)).astype(np.float32)
    upper = lower + np.float32(0.25)
    assert_rows(tree.query_aabb(lower, upper), meets(low, high, lower, upper))


def test_ties_go_to_the_lowest_index(device):
    low, high = boxes("equal", 300)
    tree = Bvh(device.asarray(low), device.asarray(high))
    index, _ = tree.nearest(device.asarray([[0.0, 0, 0], [0.5, 0.5, 0.5]]), k=4)
    assert sim.to_numpy(index).tolist() == [[0, 1, 2, 3]] * 2
    index, t = tree.ray_first(device.asarray([[0.0, 0.5, 0.5]]), device.asarray([[2.0, 0, 0]]))
    assert int(index[0]) == 0 and float(t[0]) == pytest.approx(0.225)


def test_many_points_are_answered_as_few_are(device):
    low, high = boxes("random", 5000)
    tree = Bvh(device.asarray(low), device.asarray(high))
    points = np.random.default_rng(7).uniform(-1, 2, (5000, 3))
    index, distance = (sim.to_numpy(array) for array in tree.nearest(device.asarray(points), k=3))
    for first in range(0, 5000, 1000):
        part = tree.nearest(device.asarray(points[first : first + 1000]), k=3)
        assert np.array_equal(index[first : first + 1000], sim.to_numpy(part[0]))
        assert np.array_equal(distance[first : first + 1000], sim.to_numpy(part[1]))


def test_rays_along_faces_meet_the_boxes(device):
    grid = np.stack(np.meshgrid(*[np.arange(6.0)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    tree = Bvh(device.asarray(grid), device.asarray(grid + 1))
    for axis in range(3):
        origin = np.stack(np.meshgrid(*[np.arange(7.0)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
        origin[:, axis] = -2
        direction = np.zeros((len(origin), 3))
        direction[:, axis] = 3
        found = tree.query_ray(device.asarray(origin), device.asarray(direction))
        assert_rows(found, enters(grid, grid + 1, origin, direction) < np.inf)
        assert min(len(row) for row in rows(*found)) >= 6


def test_groups_do_not_see_each_other(device):
    random = np.random.default_rng(3)
    low, high = boxes("random", 2000)
    groups = random.integers(0, 40, 2000)
    groups[groups == 17] = 16  # one without boxes
    tree = Bvh(device.asarray(low), device.asarray(high), groups=groups)
    lower, of = random.random((QUERIES, 3)), random.integers(0, 40, QUERIES)
    of[0] = 17
    upper = lower + 0.4
    found = tree.query_aabb(device.asarray(lower), device.asarray(upper), group=device.asarray(of))
    assert_rows(found, meets(low, high, lower, upper) & (groups[None] == of[:, None]))
    index, _ = tree.nearest(device.asarray(lower), group=device.asarray(of))
    apart = np.where(groups[None] == of[:, None], distances(low, high, lower), np.inf)
    expected = np.where(np.isinf(apart).all(axis=1), -1, apart.argmin(axis=1))
    assert np.array_equal(sim.to_numpy(index)[:, 0], expected)
    with pytest.raises(ModelError, match="say which with group="):
        tree.query_aabb(device.asarray(lower), device.asarray(upper))
    with pytest.raises(ModelError, match=r"group\[1\] is 40"):
        tree.nearest(device.asarray(lower[:2]), group=device.asarray([0, 40]))


def test_thirty_structures_at_once(device):
    trees = []
    for seed in range(30):
        low, high = boxes("random", 100 + seed, seed)
        trees.append((Bvh(device.asarray(low), device.asarray(high)), low, high))
    lower = np.random.default_rng(4).random((10, 3))
    for tree, low, high in trees:
        found = tree.query_aabb(device.asarray(lower), device.asarray(lower + 0.3))
        assert_rows(found, meets(low, high, lower, lower + 0.3))


@pytest.mark.parametrize("captured", [False, True])
@pytest.mark.parametrize("action", ["refit", "rebuild"])
def test_moved_boxes_are_found_where_they_are(action, captured, device):
    low, high = boxes("random", 1500)
    tree = Bvh(device.asarray(low), device.asarray(high))
    moved_low, moved_high = boxes("line", 1500, seed=9)
    arrays = device.asarray(low), device.asarray(high)
    if captured:
        with sim.capture(device) as graph:
            getattr(tree, action)(*arrays)
    arrays[0][:], arrays[1][:] = device.asarray(moved_low), device.asarray(moved_high)
    graph.launch() if captured else getattr(tree, action)(*arrays)
    tree.check()
    lower = np.random.default_rng(5).random((QUERIES, 3)) * [1, 0.5, 0.5]
    found = tree.query_aabb(device.asarray(lower), device.asarray(lower + 0.2))
    assert_rows(found, meets(moved_low, moved_high, lower, lower + 0.2))


def test_answers_do_not_depend_on_history():
    low, high = boxes("random", 1000)
    fresh, used = Bvh(low, high), Bvh(*boxes("line", 1000, seed=7))
    used.refit(low, high)
    points = np.random.default_rng(6).normal(0.5, 0.5, (300, 3))
    for a, b in zip(fresh.nearest(points, k=3), used.nearest(points, k=3), strict=True):
        assert np.array_equal(a, b)
    for a, b in zip(fresh.ray_first(points, 0.5 - points), used.ray_first(points, 0.5 - points), strict=True):
        assert np.array_equal(a, b)


def test_a_million_meters_away_boxes_keep_their_digits(device):
    low, high = boxes("random", 500)
    low, high = low + 1e6, high + 1e6
    tree = Bvh(device.asarray(low), device.asarray(high))
    points = np.random.default_rng(8).random((QUERIES, 3)) + 1e6
    _, near = tree.nearest(device.asarray(points))
    assert np.allclose(sim.to_numpy(near)[:, 0], distances(low, high, points).min(axis=1), atol=1e-9)


def test_what_is_no_box_is_refused_by_its_index(device):
    low, high = boxes("random", 400)
    for wrong, message in ((np.nan, r"lower\[250, 1\] is nan"), (np.inf, r"lower\[250, 1\] is inf"), (9, "box 250")):
        bad = low.copy()
        bad[250, 1] = wrong
        with pytest.raises(ModelError, match=message):
            Bvh(device.asarray(bad), device.asarray(high))
    tree = Bvh(device.asarray(low), device.asarray(high))
    with pytest.raises(ModelError, match=r"direction\[1\]"):
        tree.ray_any(device.asarray(low[:2]), device.asarray([[1.0, 0, 0], [0, 0, 0]]))
    with pytest.raises(ModelError, match=r"radius\[0\]"):
        tree.query_sphere(device.asarray(low[:1]), -1.0)
    with pytest.raises(ModelError, match="400 are expected"):
        tree.refit(device.asarray(low[:3]), device.asarray(high[:3]))
    with pytest.raises(ModelError, match=r"groups\[0\] is -1"):
        Bvh(low[:1], high[:1], groups=np.array([-1]))


def test_a_box_that_turns_bad_within_a_graph_is_in_no_answer(device):
    low, high = boxes("random", 600)
    tree = Bvh(device.asarray(low), device.asarray(high))
    arrays = device.asarray(low), device.asarray(high)
    with sim.capture(device) as graph:
        tree.rebuild(*arrays)
    arrays[1][7, 2], arrays[0][300] = np.nan, np.inf
    graph.launch()
    with pytest.raises(ModelError, match="box 7"):
        tree.check()
    lower = np.full((1, 3), -1.0)
    expected = np.ones((1, 600), bool)
    expected[0, [7, 300]] = False
    assert_rows(tree.query_aabb(device.asarray(lower), device.asarray(lower + 3)), expected)
    assert_rows(tree.query_sphere(device.asarray(lower), 1e3), expected)


@pytest.mark.parametrize("n", [300, 20_000])
def test_a_box_far_away_does_not_spoil_the_tree(n):
    low, high = boxes("random", n)
    low[n // 3], high[n // 3] = 1e6, 1e6 + 1

    def area_of_nodes(tree):
        """Sum of the areas of nodes but those that hold the far box: rays and points meet nodes in proportion."""
        bounds = tree._trees._bounds[: tree._trees.node_count()]
        size = (bounds[:, 3:] - bounds[:, :3])[bounds[:, 3] < 10]
        return (size * np.roll(size, 1, axis=1)).sum()

    others = np.arange(n) != n // 3
    assert area_of_nodes(Bvh(low, high)) < 1.6 * area_of_nodes(Bvh(low[others], high[others]))


def test_lanes_and_threads_build_the_same_tree():
    low, high = boxes("random", 2500, dtype=np.float32)
    groups = np.random.default_rng(0).integers(0, 5, 2500)

    def build():
        trees = Bvh(low, high, groups=groups)._trees
        return trees.nodes.tobytes(), trees.primitives.tobytes(), trees.roots.tobytes()

    expected = build()
    for lanes, seed in ((1, 0), (4, 1), (32, 2)):
        with modes.emulated_lanes(lanes, seed=seed):
            assert build() == expected
    try:
        for threads in (1, 3):
            sim.set_num_threads(threads)
            assert build() == expected
    finally:
        sim.set_num_threads(None)


def children_of(tree: Bvh) -> np.ndarray:
    """Children (nodes, 8) as bvh.h has them."""
    size = 112 if tree.dtype == np.float64 else 96
    nodes = tree._trees.nodes.reshape(-1, size)[: tree._trees.node_count()]
    return nodes[:, size - 32 :].copy().view(np.int32)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 3, 4, 5, 30, 3000])
def test_each_box_is_in_one_leaf_and_leaves_of_a_node_stand_together(n, kind):
    tree = Bvh(*boxes(kind, n))
    assert np.array_equal(np.sort(tree._trees.primitives), np.arange(n))
    taken = np.zeros(n, int)
    for children in children_of(tree).astype(np.int64):
        leaves = ~children[(children < 0) & (children > -(2**31))]
        spans = sorted((leaf // 4, leaf // 4 + leaf % 4 + 1) for leaf in leaves)
        assert all(end == begin for (_, end), (begin, _) in itertools.pairwise(spans))
        for begin, end in spans:
            taken[begin:end] += 1
            assert (np.diff(tree._trees.primitives[begin:end]) > 0).all()
    assert (taken == 1).all()


def depth(tree: Bvh) -> int:
    """Nodes on the longest path."""
    children = children_of(tree)
    deepest, level = 0, [int(tree._trees.roots[0])]
    while level:
        deepest += 1
        level = [child for node in level for child in children[node] if child >= 0]
    return deepest


@pytest.mark.parametrize("kind", KINDS)
def test_no_tree_is_deeper_than_walks_allow(kind):
    tree = Bvh(*boxes(kind, 2000))
    bound = LEVELS * (len(tree._trees._plan.stages) + 4)
    assert depth(tree) <= min(STACK, bound)


@pytest.mark.parametrize("sizes", [[2**27 - 1], [1] * 5000, [0, 7, 128, 129, 513, 0, 100_000]])
def test_the_plan_of_a_build_bounds_the_depth_of_any_tree(sizes):
    plan = Plan(np.array(sizes))
    last = plan.stages[-1]
    assert LEVELS * (len(plan.stages) + 3) <= STACK
    assert plan.nodes == 2 * sum(sizes) - sum(size > 0 for size in sizes)
    assert (last[:, 5] >= 0).all()
    for before, after in zip(plan.stages[:-1], plan.stages[1:], strict=True):
        assert after[:, 1].sum() == before[before[:, 5] < 0, 2].sum()
        assert after[0, 0] == 0 and np.array_equal(after[1:, 0], np.cumsum(after[:-1, 1]))


def test_a_box_that_is_turned_inside_out_is_no_question(device):
    """As it is no box of a tree."""
    tree = Bvh(device.asarray(np.zeros((2, 3))), device.asarray(np.ones((2, 3))))
    lower = np.array([[0, 0, 0], [0, 0.5, 0]])
    assert len(sim.to_numpy(tree.query_aabb(device.asarray(lower), device.asarray(lower))[1])) == 4
    with pytest.raises(ModelError, match=r"box 1 is \[0.0, 0.5, 0.0\] to \[1.0, 0.25, 1.0\]: lower must be"):
        tree.query_aabb(device.asarray(lower), device.asarray(np.array([[1, 1, 1], [1, 0.25, 1]])))
