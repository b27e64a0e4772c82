"""Debugging, poisoned scratch and emulated lanes."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

import simengine as sim
from simengine.errors import LaunchError
from simengine.runtime import modes

ROOT = Path(__file__).resolve().parents[2]

SHIFT = """
extern "C" __global__ void shift(int n, const real* source, real* target, int by) {
    for_each(i, n) target[i] = source[i + by];
}
"""

WORLDS = """
#include "lanes.h"
// scratch: one value a lane of 32; each lane reads its neighbour's after the barrier
extern "C" __global__ void turn(int worlds, const real* x, real* y, const Scratch scratch) {
    for_each_world(worlds, scratch, [&](Lanes& lanes, int world, char* memory) {
        real* values = (real*)memory;
        for (int i = lanes.lane(); i < 32; i += lanes.count()) values[i] = x[32 * world + i];
        BARRIER
        for (int i = lanes.lane(); i < 32; i += lanes.count()) y[32 * world + i] = values[(i + 1) % 32];
    });
}
"""

LEFTOVER = """
#include "lanes.h"
extern "C" __global__ void leftover(int worlds, real* y, const Scratch scratch) {
    for_each_world(worlds, scratch, [&](Lanes& lanes, int world, char* memory) {
        real* value = (real*)memory;
        if (lanes.lane() == 0) y[world] = value[0];
        lanes.sync();
        if (lanes.lane() == 0) value[0] = real(1);
    });
}
"""


SPILLED = """
#include "lanes.h"
extern "C" __global__ void spilled(int worlds, real* y, const Scratch scratch) {
    for_each_world(worlds, scratch, [&](Lanes& lanes, int world, GroupMemory memory) {
        real* last = (real*)(memory.slow + scratch.spill_stride) - 1;
        if (lanes.lane() == 0) y[world] = *last;
        lanes.sync();
        if (lanes.lane() == 0) *last = real(1);
    });
}
"""


def shift(n, by, size=8):
    source, target = np.arange(size, dtype=np.float32), np.zeros(n, np.float32)
    sim.Kernel(SHIFT, "shift").launch(n, [source, target, by])
    return target


@pytest.mark.parametrize(("by", "index"), [(3, 8), (-2, -2)])
def test_an_index_out_of_bounds_names_kernel_array_index_and_size(by, index):
    with modes.debugging(), pytest.raises(LaunchError) as raised:
        shift(6, by) if by > 0 else shift(1, by)
    assert raised.value.kernel == "shift"
    assert raised.value.parameter == "source"
    assert f"index {index} is out of the bounds of source, which has 8 elements" in str(raised.value)
    assert os.path.basename(__file__) in raised.value.site


def test_debugging_is_each_threads_own():
    before = modes.debug
    stack = ExitStack()
    with ThreadPoolExecutor(1) as thread:

        def there(call, *arguments):
            return thread.submit(call, *arguments).result()

        with modes.debugging(not before):
            there(stack.enter_context, modes.debugging(before))
            assert modes.debug != before
        there(stack.close)
        assert there(lambda: modes.debug) == modes.debug == before


def test_debugging_leaves_right_kernels_as_they_are_and_reports_each_launch_anew():
    with modes.debugging():
        assert shift(5, 3).tolist() == [3, 4, 5, 6, 7]
        for _ in range(2):
            with pytest.raises(LaunchError):
                shift(6, 3)
        assert shift(5, 3).tolist() == [3, 4, 5, 6, 7]


def test_an_index_out_of_bounds_is_found_on_the_gpu_too(device):
    source, target = device.zeros((8,), np.float32), device.zeros((6,), np.float32)
    with modes.debugging(), pytest.raises(LaunchError, match="index 8 is out of the bounds of source"):
        sim.Kernel(SHIFT, "shift").launch(6, [source, target, 3])


@pytest.mark.parametrize(("bad", "word"), [(np.nan, "NaN"), (np.inf, "infinite")])
def test_a_number_that_is_not_finite_names_array_and_element(device, bad, word):
    values = np.arange(8, dtype=np.float32)
    values[5] = bad
    source, target = device.asarray(values), device.zeros((4,), np.float32)
    kernel = sim.Kernel(SHIFT, "shift")
    kernel.launch(4, [source, target, 3])
    with modes.debugging(), pytest.raises(LaunchError, match=rf"not finite: target\[2\] is {word}"):
        kernel.launch(4, [source, target, 3])


def test_numbers_that_are_not_finite_pass_where_they_are_answers(device):
    text = SHIFT.replace("real* target", "real* target /* nonfinite */")
    source, target = device.asarray(np.array([np.inf, np.nan], np.float32)), device.zeros((2,), np.float32)
    with modes.debugging():
        sim.Kernel(text, "shift").launch(2, [source, target, 0])
    found = sim.to_numpy(target)
    assert np.isinf(found[0]) and np.isnan(found[1])


STATE = """
#include "arrays.h"
extern "C" __global__ void put(int n, const ModelView model, StateArrays state, ContactsArrays contacts) {  // optional
    for_each(i, n) {
        state.joint_q[i] = real(1) / (real(i) - real(11)) + real(contacts.contact_slots);
        state.featherstone_qacc[0] = model.body_mass[0];
    }
}
"""


def test_arrays_of_containers_are_checked_and_the_world_is_named(device):
    from tests import two_bodies

    model = two_bodies.model(3, device.name)
    model.add_solver_rows("Featherstone")
    state = model.state()
    kernel = sim.Kernel(STATE, "put")
    kernel.launch(12, [model, state, None])
    with modes.debugging(), pytest.raises(LaunchError, match=r"state\.joint_q\[11\] is infinite, world 1"):
        kernel.launch(12, [model, state, None])
    with (
        modes.debugging(),
        pytest.raises(LaunchError, match="index 24 is out of the bounds of state.joint_q, which has 24"),
    ):
        kernel.launch(25, [model, state, None])


def test_memory_of_a_solver_that_a_state_lacks_is_out_of_bounds():
    from tests import two_bodies

    model = two_bodies.model(3)
    state = model.state()
    with modes.debugging(), pytest.raises(LaunchError, match="index 0 is out of the bounds of state.featherstone_qacc"):
        sim.Kernel(STATE, "put").launch(3, [model, state, None])


def test_the_environment_variable_switches_debugging_on_and_errors_carry_the_call():
    script = (
        "import numpy as np, simengine as sim\n"
        f"kernel = sim.Kernel({SHIFT!r}, 'shift')\n"
        "try:\n"
        "    kernel.launch(6, [np.zeros(8), np.zeros(6), 3])\n"
        "except sim.LaunchError as error:\n"
        "    print(error)\n"
        "try:\n"
        "    sim.transform(p=(1, 2))\n"
        "except sim.ModelError as error:\n"
        "    print(error.__notes__)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "SIMENGINE_DEBUG": "1"}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert "index 8 is out of the bounds of source" in done.stdout
    assert "<string>:4" in done.stdout
    assert "called at " in done.stdout
    assert "<string>:8" in done.stdout


def turn(barrier):
    kernel = sim.Kernel(WORLDS.replace("BARRIER", barrier), "turn")
    x = np.arange(64, dtype=np.float32)
    y = np.zeros_like(x)
    kernel.prepare([2, x, y], worlds=2, scratch=128)()
    return y


def test_emulated_lanes_give_the_same_as_one_lane_and_find_a_missing_barrier():
    expected = turn("lanes.sync();")
    np.testing.assert_array_equal(expected.reshape(2, 32), np.roll(np.arange(64).reshape(2, 32), -1, axis=1))
    for lanes in (1, 4, 32):
        for seed in (1, 2):
            with sim.runtime.emulated_lanes(lanes, seed):
                np.testing.assert_array_equal(turn("lanes.sync();"), expected)
    with sim.runtime.emulated_lanes(32, 1):
        assert not np.array_equal(turn(""), expected)


def test_a_launch_prepared_outside_runs_emulated_within():
    kernel = sim.Kernel(WORLDS.replace("BARRIER", ""), "turn")
    x = np.arange(32, dtype=np.float32)
    y = np.zeros_like(x)
    launch = kernel.prepare([1, x, y], worlds=1, scratch=128)
    launch()
    right = y.copy()
    with sim.runtime.emulated_lanes(32, 1):
        launch()
    assert not np.array_equal(y, right)
    launch()
    np.testing.assert_array_equal(y, right)


@pytest.mark.parametrize("lanes", [0, 3, 64])
def test_a_number_of_emulated_lanes_that_makes_no_sense_is_refused(lanes):
    with pytest.raises(LaunchError, match="emulated lanes"):
        sim.runtime.emulated_lanes(lanes)


def test_poisoned_scratch_holds_nan_at_the_start_of_every_world(device):
    y = device.zeros((50,), np.float32)
    with sim.runtime.poisoned_scratch():
        sim.Kernel(LEFTOVER, "leftover").prepare([50, y], worlds=50, scratch=64, lanes=4)()
    assert np.all(np.isnan(sim.to_numpy(y)))


def test_poison_reaches_to_the_end_of_the_spill(device):
    y = device.zeros((50,), np.float32)
    launch = sim.Kernel(SPILLED, "spilled").prepare([50, y], worlds=50, scratch=64, spill=1000, lanes=4)
    with sim.runtime.poisoned_scratch():
        if device.is_cuda:  # there it is part of the kernel
            launch = sim.Kernel(SPILLED, "spilled").prepare([50, y], worlds=50, scratch=64, spill=1000, lanes=4)
        launch()
    assert np.all(np.isnan(sim.to_numpy(y)))


@pytest.mark.parametrize("lanes", [1, 4, 32])
def test_poison_reaches_to_the_end_of_the_spill_of_emulated_lanes(lanes):
    y = np.zeros(50, np.float32)
    with sim.runtime.emulated_lanes(lanes, seed=1):
        sim.Kernel(SPILLED, "spilled").prepare([50, y], worlds=50, scratch=64, spill=1000)()
    assert np.all(np.isnan(y))


def test_switches_come_back_after_an_error():
    with pytest.raises(ZeroDivisionError), modes.poisoned_scratch():
        assert modes.special
        raise ZeroDivisionError
    assert not modes.poison
