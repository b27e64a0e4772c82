"""Captured launches: nothing runs while capturing, and a replay gives what direct calls give."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import numpy as np
import pytest

import simengine as sim
from simengine.errors import LaunchError
from simengine.runtime import modes
from simengine.runtime.devices import CPU

ADD = sim.Kernel('extern "C" __global__ void add(int n, real* x, real y) { for_each(i, n) x[i] += y; }\n', "add")
SCALE = sim.Kernel('extern "C" __global__ void scale(int n, real* x, real y) { for_each(i, n) x[i] *= y; }\n', "scale")
N = 5000


def test_nothing_runs_while_capturing_and_a_replay_equals_direct_calls(device):
    start = np.linspace(-1, 1, N)
    direct, replayed = device.asarray(start.copy()), device.asarray(start.copy())
    for _ in range(3):
        ADD.launch(N, [direct, 0.25])
        SCALE.launch(N, [direct, 1.5])
    add, scale = ADD.prepare([replayed, 0.25], items=N), SCALE.prepare([replayed, 1.5], items=N)
    with sim.capture(device) as graph:
        add()
        scale()
    np.testing.assert_array_equal(sim.to_numpy(replayed), start)
    assert len(graph) == 2
    for _ in range(3):
        graph.launch()
    device.synchronize()
    np.testing.assert_array_equal(sim.to_numpy(replayed), sim.to_numpy(direct))


def test_scalars_are_frozen_at_the_capture(device):
    x = device.zeros((N,), np.float64)
    add = ADD.prepare([x, 1.0], items=N)
    with sim.capture(device) as graph:
        add()
        add.set("y", 10.0)
        add()
    add.set("y", 1000.0)
    graph.launch()
    assert np.all(sim.to_numpy(x) == 11.0)


def test_a_graph_keeps_what_it_needs_alive(device):
    x = device.zeros((N,), np.float64)
    with sim.capture(device) as graph:
        ADD.prepare([x, 1.0], items=N)()
    graph.launch()
    assert np.all(sim.to_numpy(x) == 1.0)


def test_making_an_array_a_second_capture_and_launching_a_graph_raise_within_a_capture(device):
    with sim.capture(device) as graph:
        for make in (
            lambda: device.zeros((3,), np.float32),
            lambda: device.empty((3,), np.float32),
            lambda: device.asarray([1.0]),
        ):
            with pytest.raises(LaunchError, match=r"an array was made within sim\.capture"):
                make()
        with pytest.raises(LaunchError, match="a second capture"), sim.capture(device):
            pass
        with pytest.raises(LaunchError, match="not complete"):
            graph.launch()
    assert modes.capture is None


def test_a_capture_that_failed_cannot_be_launched_and_leaves_no_trace(device):
    x = device.zeros((N,), np.float64)
    add = ADD.prepare([x, 1.0], items=N)
    with pytest.raises(ZeroDivisionError), sim.capture(device) as graph:
        add()
        raise ZeroDivisionError
    with pytest.raises(LaunchError, match="not complete"):
        graph.launch()
    add()
    assert np.all(sim.to_numpy(x) == 1.0)


def test_another_thread_may_not_launch_into_a_capture():
    add = ADD.prepare([np.zeros(3), 1.0], items=3)
    found = []

    def work():
        with pytest.raises(LaunchError, match="another thread"):
            add()
        found.append(True)

    with sim.capture(CPU) as graph:
        worker = threading.Thread(target=work)
        worker.start()
        worker.join()
    assert found == [True]
    assert len(graph) == 0


def test_work_apart_in_another_thread_leaves_a_capture_on():
    x, y = np.zeros(3), np.zeros(3)
    add, other = (ADD.prepare([values, 1.0], items=3) for values in (x, y))
    with ThreadPoolExecutor(1) as thread, ExitStack() as first, ExitStack() as second:

        def there(call, *arguments):
            return thread.submit(call, *arguments).result()

        there(first.enter_context, CPU.apart())
        with sim.capture(CPU) as graph:
            there(other)
            there(first.close)
            add()
            there(second.enter_context, CPU.apart())
            add()
            there(second.close)
            add()
    assert len(graph) == 3
    assert x.tolist() == [0, 0, 0] and y.tolist() == [1, 1, 1]
    assert modes.capture is None


@pytest.mark.gpu
def test_cupy_arrays_made_within_a_capture_raise():
    import cupy

    with sim.capture("cuda:0"), pytest.raises(LaunchError, match=r"array of .* bytes was made within sim\.capture"):
        cupy.zeros(1 << 20)


@pytest.mark.gpu
def test_a_kernel_of_another_device_may_not_be_captured():
    x = np.zeros(3)
    with sim.capture("cuda:0"), pytest.raises(LaunchError, match="the kernel runs on cpu, the capture is on cuda:0"):
        ADD.launch(3, [x, 1.0])
