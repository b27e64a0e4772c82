"""Kernels of users: files, texts, names, adjoints, sources shown; prepared launches."""

import threading

import numpy as np
import pytest

import simengine as sim
from simengine.errors import KernelCompileError, LaunchError
from simengine.runtime.devices import CPU, Device

WIND = """// a wind along x
#include "gust.h"
extern "C" __global__ void wind_force(int n, const real* particle_qd, real* particle_f, real speed) {
    for_each(i, n) particle_f[3 * i] += GUST * (speed - particle_qd[3 * i]);
}
extern "C" __global__ void wind_force_adjoint(int n, const real* adj_f, real* adj_qd) {
    for_each(i, n) adj_qd[3 * i] -= GUST * adj_f[3 * i];
}
"""

SCALE = 'extern "C" __global__ void scale(int n, real* x, real factor) { for_each(i, n) x[i] *= factor; }\n'


@pytest.fixture
def wind(tmp_path):
    (tmp_path / "gust.h").write_text("#pragma once\n#define GUST real(0.5)\n")
    (tmp_path / "wind.cu").write_text(WIND)
    return tmp_path / "wind.cu"


def test_a_users_file_runs_in_both_precisions_on_every_device(wind, device, precision):
    force = sim.Kernel(wind, name="wind_force", adjoint="wind_force_adjoint")
    qd = device.asarray(np.arange(9, dtype=precision).reshape(3, 3))
    f = device.zeros((3, 3), precision)
    force.launch(3, [qd, f, sim.real(4.0)])
    f = sim.to_numpy(f)
    assert f[:, 0].tolist() == [2.0, 0.5, -1.0]
    assert not f[:, 1:].any()
    assert force.adjoint.name == "wind_force_adjoint"


def test_a_name_that_is_not_there_is_an_error_with_the_names_that_are(wind):
    with pytest.raises(KernelCompileError, match=r"has no kernel .* wind_farce.*it has: wind_force, .*did you mean"):
        sim.Kernel(wind, name="wind_farce")
    with pytest.raises(KernelCompileError, match="wind_adjoint"):
        sim.Kernel(wind, name="wind_force", adjoint="wind_adjoint")


def test_show_source_is_readable_with_and_without_macros(wind):
    force = sim.Kernel(wind, name="wind_force")
    assert "GUST * (speed" in force.show_source(expand=False)
    expanded = force.show_source("float64")
    assert "GUST" not in expanded
    assert "real(0.5) * (speed" in expanded
    assert "typedef double real" in expanded


def test_defines_and_headers_are_part_of_the_kernel():
    text = '#include "size.h"\nextern "C" __global__ void f(int n, int* x) { for_each(i, n) x[i] = SIZE * FACTOR; }\n'
    results = []
    for size, factor in ((2, 3), (5, 7)):
        x = np.zeros(1, np.int32)
        sim.Kernel(text, "f", defines={"FACTOR": factor}, headers={"size.h": f"#define SIZE {size}\n"}).launch(1, [x])
        results.append(x[0])
    assert results == [6, 35]


def test_the_same_text_is_loaded_once():
    one, two = sim.Kernel(SCALE, "scale"), sim.Kernel(SCALE, "scale")
    assert one.cpu_function("float32").address == two.cpu_function("float32").address


def test_a_prepared_launch_runs_again_with_changed_scalars(device):
    x = device.asarray(np.ones(5))
    launch = sim.Kernel(SCALE, "scale").prepare([x, 2.0], items=5)
    launch()
    launch.set("factor", 5.0)
    launch()
    launch()
    assert sim.to_numpy(x).tolist() == [50.0] * 5
    other = device.asarray(np.ones(5))
    launch.set("x", other)
    launch()
    assert (sim.to_numpy(x).tolist(), sim.to_numpy(other).tolist()) == ([50.0] * 5, [5.0] * 5)
    with pytest.raises(LaunchError, match="has no argument 'y'"):
        launch.set("y", x)
    with pytest.raises(LaunchError, match="parameter factor: is a number"):
        launch.set("factor", "much")


def test_a_prepared_launch_keeps_its_arrays_alive():
    x = np.ones(1000)
    launch = sim.Kernel(SCALE, "scale").prepare([x, 2.0], items=1000)
    view = x[:]
    del x
    launch()
    assert np.all(view == 2.0)


def test_a_launch_of_no_items_does_nothing(device):
    sim.Kernel(SCALE, "scale").launch(0, [device.zeros((0,), np.float32), 2.0])


def test_items_or_worlds_are_given_and_lanes_are_a_known_number():
    kernel = sim.Kernel(SCALE, "scale")
    x = np.ones(3)
    with pytest.raises(LaunchError, match="either items or worlds"):
        kernel.prepare([x, 2.0])
    with pytest.raises(LaunchError, match="either items or worlds"):
        kernel.prepare([x, 2.0], items=3, worlds=3)
    with pytest.raises(LaunchError, match="lanes must be one of"):
        kernel.prepare([x, 2.0], worlds=3, lanes=5)
    with pytest.raises(LaunchError, match="precision must be"):
        kernel.prepare([x, 2.0], items=3, precision="float16")


def test_a_kernel_that_uses_every_general_header_sees_the_generated_structs():
    text = '#include "arrays.h"\nextern "C" __global__ void f(int n, const ModelView model, int* out) '
    text += "{ for_each(i, n) out[i] = model.bodies; }\n"
    assert sim.Kernel(text, "f").cpu_function("float32").sizes[1] > 8
    assert CPU.name == "cpu"


REVERSE = """
#include "lanes.h"
// each group turns its world's row round through the whole of its memory
extern "C" __global__ void reverse(int worlds, int size, const real* x, real* y, const Scratch scratch) {
    for_each_world(worlds, scratch, [&](Lanes& lanes, int world, char* memory) {
        real* row = (real*)memory;
        for (int i = lanes.lane(); i < size; i += lanes.count()) row[i] = x[world * size + i];
        lanes.sync();
        for (int i = lanes.lane(); i < size; i += lanes.count()) y[world * size + i] = row[size - 1 - i];
    });
}
"""


@pytest.mark.parametrize("lanes", [1, 8, 32])
@pytest.mark.parametrize("size", [1, 1000, 12_000, 40_000, 100_000])
def test_scratch_of_any_size_is_each_groups_own(device, size, lanes):
    """On a GPU these sizes fit into shared memory many times, once at most, and not at all."""
    worlds = 1_000_000 if size == 1 else 300
    x = np.random.default_rng(0).random((worlds, size), np.float32)
    y = device.zeros((worlds, size), np.float32)
    kernel = sim.Kernel(REVERSE, "reverse")
    kernel.prepare([worlds, size, device.asarray(x), y], worlds=worlds, lanes=lanes, scratch=4 * size)()
    np.testing.assert_array_equal(sim.to_numpy(y), x[:, ::-1])


def test_launches_of_one_kernel_with_little_and_much_scratch_run_in_any_order(device):
    kernel = sim.Kernel(REVERSE, "reverse")
    launches = []
    for size in (20_000, 10, 5000):
        x = device.asarray(np.arange(3 * size, dtype=np.float32).reshape(3, size))
        y = device.zeros((3, size), np.float32)
        launches.append((kernel.prepare([3, size, x, y], worlds=3, lanes=32, scratch=4 * size), x, y))
    for launch, x, y in reversed(launches):
        launch()
        np.testing.assert_array_equal(sim.to_numpy(y), sim.to_numpy(x)[:, ::-1])


def test_a_thread_that_never_used_the_device_may_launch(device):
    x = device.asarray(np.ones(5))
    launch = sim.Kernel(SCALE, "scale").prepare([x, 2.0], items=5)
    worker = threading.Thread(target=launch)
    worker.start()
    worker.join()
    device.synchronize()
    assert sim.to_numpy(x).tolist() == [2.0] * 5


@pytest.mark.gpu
def test_launches_go_to_cupys_current_stream():
    import cupy

    x = cupy.zeros(1 << 22)
    launch = sim.Kernel(SCALE, "scale").prepare([x, 2.0], items=x.size)
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        x += 1
        launch()
        total = x.sum()
    stream.synchronize()
    assert float(total) == 2.0 * x.size


@pytest.mark.gpu
def test_blocks_beyond_the_devices_limit_are_refused():
    import cupy

    x = cupy.ones(3)
    with pytest.raises(LaunchError, match="blocks of 4096 threads do not fit"):
        sim.Kernel(SCALE, "scale").prepare([x, 2.0], items=3, block=4096)


def test_structs_stay_where_a_gpus_launch_puts_them():
    """Else each thread copies a struct whose address a function takes to memory of its own."""
    kernel = sim.Kernel("collide.cu", "collide")
    for lanes in (8, 32):
        text = kernel.text(device=Device("cuda:0", 0, True), lanes=lanes)
        for struct in ("ModelView model", "TopologyView topology", "ContactsArrays contacts", "Scratch scratch"):
            assert f"const __grid_constant__ {struct}" in text
    assert "__grid_constant__" not in kernel.text()
