"""Sort, scan and compaction: against NumPy, whatever the tiles, lanes and threads."""

from __future__ import annotations

import numpy as np
import pytest

import simengine as sim
from simengine.collision.sort import ExclusiveScan, KeyStarts, RadixSort, compact, exclusive_scan, sort_pairs
from simengine.errors import ModelError
from simengine.runtime import modes

SIZES = (0, 1, 2, 33, 2049, 40_000)


def keys_of(kind: str, n: int, dtype) -> np.ndarray:
    random = np.random.default_rng(n)
    most = np.iinfo(dtype).max
    if kind == "random":
        return random.integers(0, most, n, dtype=dtype, endpoint=True)
    if kind == "equal":
        return np.full(n, most, dtype)
    if kind == "few":
        return random.integers(0, 3, n).astype(dtype)
    return np.arange(n, dtype=dtype)[::-1].copy()  # descending


@pytest.mark.parametrize("kind", ["random", "equal", "few", "descending"])
@pytest.mark.parametrize("dtype", [np.uint32, np.uint64])
@pytest.mark.parametrize("n", SIZES)
def test_pairs_are_in_the_order_of_a_stable_sort(n, dtype, kind, device):
    keys = keys_of(kind, n, dtype)
    order = np.argsort(keys, kind="stable")
    found, positions = sort_pairs(device.asarray(keys))
    assert np.array_equal(sim.to_numpy(found), keys[order])
    assert np.array_equal(sim.to_numpy(positions), order)


@pytest.mark.parametrize("bits", [1, 8, 11, 12, 23])
def test_keys_of_few_bits_take_their_values_along(bits, device):
    random = np.random.default_rng(bits)
    keys = random.integers(0, 1 << bits, 5000).astype(np.uint32)
    values = random.permutation(5000).astype(np.int32)
    found, moved = sort_pairs(device.asarray(keys), device.asarray(values), bits)
    order = np.argsort(keys, kind="stable")
    assert np.array_equal(sim.to_numpy(found), keys[order])
    assert np.array_equal(sim.to_numpy(moved), values[order])


@pytest.mark.parametrize("n", SIZES)
def test_a_scan_sums_beyond_32_bits(n, device):
    terms = np.random.default_rng(n).integers(0, 2**31 - 1, n, endpoint=True).astype(np.int32)
    expected = np.concatenate([[0], np.cumsum(terms, dtype=np.int64)])
    assert np.array_equal(sim.to_numpy(exclusive_scan(device.asarray(terms))), expected)


@pytest.mark.parametrize("share", [0, 0.3, 1])
@pytest.mark.parametrize("n", SIZES)
def test_compaction_keeps_order(n, share, device):
    mask = np.random.default_rng(n).random(n) < share
    assert np.array_equal(sim.to_numpy(compact(device.asarray(mask))), np.flatnonzero(mask))


@pytest.mark.parametrize("kind", ["random", "first", "last", "sparse"])
@pytest.mark.parametrize("n", [0, 1, 500])
def test_starts_of_keys_are_those_of_a_bisection(n, kind, device):
    bins = 1000
    random = np.random.default_rng(n)
    keys = {"first": np.zeros(n), "last": np.full(n, bins - 1), "sparse": random.choice([7, 500, 998], n)}
    keys = np.sort(keys.get(kind, random.integers(0, bins, n))).astype(np.uint32)
    starts = KeyStarts(device.asarray(keys), bins)
    starts()
    assert np.array_equal(sim.to_numpy(starts.starts), np.searchsorted(keys, np.arange(bins + 1)))


def test_lanes_and_threads_do_not_matter():
    keys = keys_of("few", 20_000, np.uint32) << np.uint32(13)
    expected = np.argsort(keys, kind="stable")
    terms = np.random.default_rng(1).integers(0, 2**31 - 1, 5000).astype(np.int32)
    sums = np.concatenate([[0], np.cumsum(terms, dtype=np.int64)])
    for lanes, seed in ((1, 0), (4, 1), (32, 2)):
        with modes.emulated_lanes(lanes, seed=seed):
            assert np.array_equal(sort_pairs(keys)[1], expected)
            assert np.array_equal(exclusive_scan(terms), sums)
    try:
        for threads in (1, 3):
            sim.set_num_threads(threads)
            assert np.array_equal(sort_pairs(keys)[1], expected)
    finally:
        sim.set_num_threads(None)


def test_a_graph_sorts_what_the_arrays_hold_by_then(device):
    keys = device.zeros(3000, np.uint32)
    sort = RadixSort(keys)
    scan = ExclusiveScan(sort.sorted_values)
    with sim.capture(device) as graph:
        sort()
        scan()
    values = keys_of("random", 3000, np.uint32)
    keys[:] = device.asarray(values)
    graph.launch()
    order = np.argsort(values, kind="stable")
    assert np.array_equal(sim.to_numpy(sort.sorted_values), order)
    assert np.array_equal(sim.to_numpy(scan.offsets)[1:], np.cumsum(order))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sort_pairs(np.zeros(3, np.int32)), "uint32 or uint64"),
        (lambda: sort_pairs([1, 2]), "array of NumPy or CuPy"),
        (lambda: RadixSort(np.zeros(3, np.uint32), bits=33), "0 to 32"),
        (lambda: sort_pairs(np.zeros(3, np.uint32), bits=0), "bits: is 0; it must be a whole number from 1 to 32"),
        (lambda: sort_pairs(np.zeros(3, np.uint32), bits=33), "from 1 to 32"),
        (lambda: sort_pairs(np.zeros(3, np.uint64), bits=65), "from 1 to 64"),
        (lambda: sort_pairs(np.zeros(3, np.uint64), bits=2.0), "bits: is 2.0"),
        (lambda: sort_pairs(np.array([3, 4, 0], np.uint32), bits=2), r"keys\[1\] is 4; .* below 2\*\*2"),
        (lambda: sort_pairs(np.array([0, 2**63], np.uint64), bits=63), r"keys\[1\] .* below 2\*\*63"),
        (lambda: exclusive_scan(np.zeros(3)), "int32"),
    ],
)
def test_what_cannot_be_sorted_is_refused(call, message):
    with pytest.raises(ModelError, match=message):
        call()
