"""Merging of a tile's clusters: the pairs are those that a plain reading of the rule gives, whoever works them."""

from __future__ import annotations

import numpy as np
import pytest

import simengine as sim
from simengine.collision.bvh import TILE
from simengine.runtime import modes

WINDOW, HIGHEST = 4, 20

MERGE = """
#include "bvh_merge.h"

extern "C" __global__ void merge(int worlds, int count, int target, int highest, const real* box /* (count, 6) */,
                                 const int* height /* (count) */, int* children, real* boxes, int* infos, int* marks,
                                 int* left, Scratch scratch) {
    for_each_world(worlds, scratch, [&](Lanes& lanes, int, char* memory) {
        TileMemory& m = small_memory<TileMemory>(memory);
        for_lanes(i, 0, count) {
            m.id[i] = i;
            m.info[i] = pack_info({height[i], 1, 0, 1});
            for (int a = 0; a < 6; ++a) m.box[a][i] = box[6 * i + a];
        }
        lanes.sync();
        merge_tile(lanes, m, BinaryNodes{children, boxes, infos, marks}, count, target, count, highest);
        for_lanes(i, 0, target) left[i] = m.id[i];
    });
}
"""


def half_area(low, high) -> float:
    x, y, z = high - low
    return x * y + y * z + z * x


def merged(low, high, heights, target: int):
    """Children of each new node, and the clusters that are left: of all pairs in the window that may grow each cluster
    takes the one of least area, and pairs that take each other merge, in the order of their second clusters."""
    clusters = [(i, low[i], high[i], heights[i]) for i in range(len(low))]
    children, window = [], WINDOW
    while len(clusters) > target:
        choice = {}
        for i, (_, a, b, height) in enumerate(clusters):
            near = [j for j in range(max(0, i - window), min(len(clusters), i + window + 1)) if j != i]
            near = [j for j in near if max(height, clusters[j][3]) < HIGHEST]
            areas = {j: half_area(np.minimum(a, clusters[j][1]), np.maximum(b, clusters[j][2])) for j in near}
            choice[i] = min(areas, key=lambda j: (areas[j], i ^ j)) if areas else None
        seconds = [
            j for j in range(len(clusters)) if choice[j] is not None and choice[j] < j and choice[choice[j]] == j
        ]
        for j in seconds[: len(clusters) - target]:
            first, second = clusters[choice[j]], clusters[j]
            node = len(low) + len(children)
            children.append((first[0], second[0]))
            box = np.minimum(first[1], second[1]), np.maximum(first[2], second[2])
            clusters[choice[j]], clusters[j] = (node, *box, max(first[3], second[3]) + 1), None
        window = WINDOW if seconds else 2 * window
        clusters = [cluster for cluster in clusters if cluster is not None]
    return children, [cluster[0] for cluster in clusters]


def merge(low, high, heights, target: int, device):
    count = len(low)
    made = {"children": np.zeros((2 * count, 2), np.int32), "boxes": np.zeros((2 * count, 6))}
    made |= {name: np.zeros(2 * count, np.int32) for name in ("infos", "marks")} | {"left": np.zeros(target, np.int32)}
    made = {name: device.asarray(array) for name, array in made.items()}
    given = {"box": device.asarray(np.hstack([low, high])), "height": device.asarray(heights.astype(np.int32))}
    sizes = {"worlds": 1, "count": count, "target": target, "highest": HIGHEST}
    shape = {"worlds": 1, "lanes": 32, "scratch": (TILE + 4) * (7 * 8 + 8) + 3 * TILE}
    kernel = sim.Kernel(MERGE, "merge")
    kernel.prepare(sizes | given | made, precision="float64", device=device, **shape)()
    children = sim.to_numpy(made["children"])[count : 2 * count - target]
    return [tuple(pair) for pair in children.tolist()], sim.to_numpy(made["left"]).tolist()


def walk(count: int, seed: int):
    """Boxes along a path, as neighbours on a curve are."""
    random = np.random.default_rng(seed)
    center = np.cumsum(random.normal(size=(count, 3)), axis=0)
    half = random.random((count, 3))
    return center - half, center + half


@pytest.mark.parametrize(("count", "target"), [(1, 1), (2, 1), (5, 1), (37, 10), (127, 32), (128, 32), (128, 1)])
def test_pairs_are_those_of_least_area_within_the_window(count, target, device):
    low, high = walk(count, count)
    heights = np.zeros(count, int)
    assert merge(low, high, heights, target, device) == merged(low, high, heights, target)


@pytest.mark.parametrize("apart", [6, 9, 20])
def test_where_nobody_in_the_window_may_grow_it_is_widened(apart, device):
    low, high = walk(128, apart)
    heights = np.full(128, HIGHEST)
    heights[::apart] = 0
    target = 128 - len(heights[::apart]) // 2
    assert merge(low, high, heights, target, device) == merged(low, high, heights, target)


@pytest.mark.parametrize("lanes", [1, 4, 32])
def test_no_number_of_lanes_changes_the_pairs(lanes):
    low, high = walk(128, 7)
    heights = np.arange(128) % 5 * 5
    expected = merged(low, high, heights, 60)
    for seed in range(3):
        with modes.emulated_lanes(lanes, seed=seed):
            assert merge(low, high, heights, 60, sim.get_device("cpu")) == expected
