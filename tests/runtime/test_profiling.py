"""Profiles count what ran, by label and kind."""

import time

import numpy as np
import pytest

import simengine as sim
from simengine.errors import LaunchError
from simengine.runtime import background, cache, modes, pool, profiling


def kernel(constant):
    return sim.Kernel(
        f'extern "C" __global__ void put(int n, real* x) {{ for_each(i, n) x[i] = real({constant}); }}\n', "put"
    )


def test_launches_and_compilations_are_counted_by_label(device, tmp_path, monkeypatch):
    monkeypatch.setenv("SIMENGINE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(cache, "_chosen", {})
    pool.library()  # the test counts the kernel's compilation alone
    x = device.zeros((10,), np.float32)
    with sim.profile() as found:
        kernel(11.5).launch(10, [x], label="first")
        for _ in range(3):
            kernel(11.5).launch(10, [x], label="second")
    kernel(11.5).launch(10, [x], label="after")
    assert {(row.kind, row.label): row.calls for row in found.rows()} == {
        ("compile", "put float32 1 lanes" if device.is_cuda else "put float32"): 1,
        ("run", "first"): 1,
        ("run", "second"): 3,
    }
    assert found.seconds("compile") > 0
    assert found.seconds("run") > 0
    assert found.seconds("read back") == 0
    table = str(found).splitlines()
    assert len(table) == 4
    assert table[0].split() == ["what", "label", "calls", "total", "ms", "mean", "us"]


def test_read_backs_are_counted():
    class OnDevice:
        def get(self):
            return np.ones(3)

    with sim.profile() as found:
        assert profiling.read_back(OnDevice(), "joint_q").tolist() == [1, 1, 1]
    assert [(row.kind, row.label, row.calls) for row in found.rows()] == [("read back", "joint_q", 1)]


def test_a_graph_is_one_row():
    x = np.zeros(10, np.float32)
    launch = kernel(2).prepare([x], items=10)
    with sim.capture("cpu") as graph:
        launch()
        launch()
    with sim.profile() as found:
        graph.launch()
    assert [(row.label, row.calls) for row in found.rows()] == [("graph", 1)]
    assert np.all(x == 2)


def test_profiles_do_not_nest_and_end_with_their_block():
    with sim.profile(), pytest.raises(LaunchError, match="do not nest"), sim.profile():
        pass
    assert modes.profile is None
    assert modes.special == modes.debug


def test_a_compilation_in_the_background_is_counted_when_its_end_is_seen(tmp_path, monkeypatch):
    monkeypatch.setenv("SIMENGINE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(cache, "_chosen", {})
    with sim.profile() as found:
        compilation = background.Compilation(kernel(12.5).text(), "put", "cpu", "put float32")
        while not compilation.poll():
            time.sleep(0.01)
    assert compilation.error is None
    (row,) = found.rows()
    assert (row.kind, row.label, row.calls) == ("compile", "put float32", 1)
    assert row.seconds > 0
