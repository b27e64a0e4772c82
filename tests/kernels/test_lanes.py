"""lanes.h: collectives against NumPy, equal bits for any number of lanes, and faults that the emulation shows."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.kernels.harness import COMPILERS, PRECISIONS, Scratch, bits, call, library
from tests.kernels.lanes_kernel import MOST, TEXT

WORLDS = 12
GROUPS = [(lanes, seed) for lanes in (1, 4, 8, 16, 32) for seed in (0, 1, 2)]


def inputs(precision, seed=3):
    draw = np.random.default_rng(seed)
    x = (draw.standard_normal((WORLDS, MOST)) * 10.0 ** draw.integers(-3, 4, (WORLDS, MOST))).astype(precision)
    return x, draw.integers(0, 2, (WORLDS, MOST), np.int32)


def run(precision, n, m, x=None, keep=None, emulated=False, compiler="g++", **launch):
    """The outputs of the kernel `work` by name."""
    if x is None:
        x, keep = inputs(precision)
    out = {
        "sums": np.zeros((WORLDS, 3), precision),
        "most": np.zeros(WORLDS, precision),
        "kept": np.zeros((WORLDS, MOST), np.int32),
        "counts": np.zeros((WORLDS, 5), np.int32),
        "chain": np.zeros((WORLDS, MOST), precision),
    }
    size = 2 * MOST * x.itemsize
    loaded = library(TEXT, precision, compiler, ("SIM_EMULATED",) if emulated else ())
    call(loaded, "work", x, keep, n, m, *out.values(), WORLDS, Scratch(0, size), scratch=size, poison=True, **launch)
    return out


def sum_in_stated_shape(*ranges):
    """decision 3 of the design: 32 partials, each over its terms of each range in order, then a tree."""
    partial = np.full(32, -0.0, ranges[0].dtype)
    for terms in ranges:
        for i, term in enumerate(terms):
            partial[i % 32] += term
    for offset in (16, 8, 4, 2, 1):
        partial[:offset] += partial[offset : 2 * offset]
    return partial[0]


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("n", [1, 5, 32, 33, 100])
def test_collectives_on_one_lane(precision, n):
    x, keep = inputs(precision)
    m = 17
    out = run(precision, n, m)
    for world in range(WORLDS):
        row, flag = x[world], keep[world]
        assert out["sums"][world, 0] == sum_in_stated_shape(row[:n])
        assert out["sums"][world, 1] == sum_in_stated_shape(row[:n], (row * row)[:m])
        assert out["sums"][world, 2] == sum_in_stated_shape(row[:27])
        assert out["most"][world] == row[:n].max()
        chosen = np.flatnonzero(flag[:n])
        assert out["counts"][world].tolist() == [
            len(chosen), len(chosen), (flag[:n] * np.arange(n)).max(), int(row[0] > 0), 1,
        ]  # fmt: skip
        assert out["kept"][world, : len(chosen)].tolist() == chosen.tolist()
        assert (out["kept"][world, len(chosen) :] == -1).all()


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize(("lanes", "seed"), GROUPS)
def test_results_do_not_depend_on_the_number_of_lanes_or_their_order(precision, compiler, lanes, seed):
    for n, m in ((1, 1), (31, 40), (100, 33)):
        reference = run(precision, n, m)
        emulated = run(precision, n, m, emulated=True, compiler=compiler, lanes=lanes, seed=seed)
        for name, values in reference.items():
            same = bits(values) == bits(emulated[name]) if values.dtype.kind == "f" else values == emulated[name]
            assert same.all(), name


@pytest.mark.parametrize("n", [0, 1, 31, 100])
@pytest.mark.parametrize(("lanes", "seed"), [(0, 0), *GROUPS])
def test_what_is_wanted_is_listed_in_order(lanes, seed, n):
    keep = inputs("float32")[1]
    listed, numbers = np.full((WORLDS, MOST), -1, np.int32), np.zeros(WORLDS, np.int32)
    loaded = library(TEXT, "float32", "g++", ("SIM_EMULATED",) if lanes else ())
    launch = {"lanes": lanes, "seed": seed} if lanes else {}
    call(loaded, "list_marked", keep, n, listed, numbers, WORLDS, Scratch(0, 0), **launch)
    for world in range(WORLDS):
        wanted = np.flatnonzero(keep[world, :n])
        assert numbers[world] == len(wanted)
        assert listed[world].tolist() == [*wanted, *[-1] * (MOST - len(wanted))]


@pytest.mark.parametrize("lanes", [1, 4, 32])
def test_largest_is_nan_if_a_term_is_and_never_negative_zero(lanes):
    x, keep = inputs("float32")
    x[0, 40] = np.nan
    x[1] = -0.0
    x[2] = np.where(np.arange(MOST) % 2, 0.0, -0.0)
    out = run("float32", 60, 5, x, keep, emulated=True, lanes=lanes, seed=5)
    assert np.isnan(out["most"][0])
    assert not np.signbit(out["most"][1:3]).any()


def test_nothing_to_work_on():
    out = run("float64", 0, 0)
    assert (out["sums"][:, :2] == 0).all()
    assert (out["most"] == -np.inf).all()
    assert (out["counts"][:, :2] == 0).all()


def test_a_missing_sync_shows_in_the_emulation():
    x = np.arange(40, dtype=np.float32)
    right = np.roll(x, -1)
    y = np.zeros((WORLDS, 40), np.float32)
    arguments = ("without_sync", x, 40, y, WORLDS, Scratch(0, 160))
    call(library(TEXT, "float32", "g++", ("SIM_EMULATED",)), *arguments, scratch=160, lanes=4, seed=1, poison=True)
    assert (y != right).any()


def test_a_sum_over_lanes_shows_in_the_emulation():
    x, results = np.random.default_rng(1).standard_normal(100).astype(np.float32), set()
    for lanes in (1, 4, 32):
        y = np.zeros(1, np.float32)
        arguments = ("sum_by_lanes", x, 100, y, 1, Scratch(0, 16))
        call(library(TEXT, "float32", "g++", ("SIM_EMULATED",)), *arguments, scratch=16, lanes=lanes, seed=1)
        results.add(float(y[0]))
    assert len(results) > 1


CALL = """
import numpy as np
from tests.kernels.harness import Scratch, call, library
from tests.kernels.lanes_kernel import TEXT
call(library(TEXT, "float32", "g++", ("SIM_EMULATED",)), {}, Scratch(0, 16), scratch=16, lanes=4, seed=1)
"""


def words_of_the_end(call_arguments: str) -> str:
    """What a process says that is ended within a call of a kernel by emulated lanes."""
    here = Path(__file__).parent
    environment = {"PYTHONPATH": f"{here}:{here.parents[1]}", "PATH": "/usr/bin:/bin"}
    command = [sys.executable, "-c", CALL.format(call_arguments)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode < 0
    return done.stderr


def test_lanes_that_part_end_the_process_with_their_places():
    words = words_of_the_end('"parting", 1')
    assert "lane 0 is at any(), line" in words
    assert "lane 1 at sync(), line" in words


def keep_step(worlds, lanes=4):
    rounds = np.zeros(worlds, np.int32)
    arguments = ("keep_step", -1, -1, rounds, worlds, Scratch(0, 16))
    call(library(TEXT, "float32", "g++", ("SIM_EMULATED",)), *arguments, scratch=16, lanes=lanes, seed=1)
    return rounds


def test_worlds_keep_step_through_loops_of_unequal_length():
    assert keep_step(5).tolist() == [0, 1, 2, 3, 4]


def test_a_world_that_keeps_step_more_often_than_another_ends_the_process():
    words = words_of_the_end('"keep_step", 2, -1, np.zeros(5, np.int32), 5')
    assert "world slot 2 came to keep_step() 3 times, the world before it 2 times" in words


def test_a_lane_that_keeps_step_more_often_than_another_ends_the_process():
    words = words_of_the_end('"keep_step", -1, 3, np.zeros(5, np.int32), 5')
    assert "in world slot 0 emulated lane 0 is at the end, calls of keep_step(): 2, lane 3 at the end" in words


@pytest.mark.parametrize("defines", [(), ("SIM_EMULATED",)])
def test_poisoned_memory_is_nan_before_each_world(defines):
    y = np.zeros((3, 10))
    arguments = ("show_memory", y, 10, 3, Scratch(0, 80))
    call(library(TEXT, "float64", "g++", defines), *arguments, scratch=80, lanes=4, poison=True)
    assert np.isnan(y).all()
    call(library(TEXT, "float64", "g++", defines), *arguments, scratch=80, lanes=4)
    assert (y[0] == 0).all()
    assert (y[1:] == 1).all()
