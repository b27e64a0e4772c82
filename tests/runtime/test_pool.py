"""The pool of threads: same results for any number, several callers, fork, rounding mode, quotas."""

import ctypes
import ctypes.util
import os
import shutil
import signal
import subprocess
import threading
import traceback
from pathlib import Path

import numpy as np
import pytest

from simengine.errors import CapacityError, LaunchError
from simengine.runtime import pool, source
from simengine.runtime.kernel import Kernel

COUNT_UP = Kernel(
    """
extern "C" __global__ void count_up(int n, int* visits, real* value) {
    for_each(i, n) {
        visits[i] += 1;
        value[i] = real(i) * real(0.1) + real(1) / (real(1) + real(i));
    }
}
""",
    "count_up",
)

ROUND = Kernel(
    """
extern "C" __global__ void add(int n, const float* a, const float* b, float* sum) {
    for_each(i, n) sum[i] = a[i] + b[i];
}
""",
    "add",
)


@pytest.fixture(autouse=True)
def threads_as_before():
    before = pool.num_threads()
    yield
    pool.set_num_threads(before)


def count_up(n):
    visits, value = np.zeros(n, np.int32), np.zeros(n)
    COUNT_UP.launch(n, [visits, value])
    return visits, value


@pytest.mark.parametrize("threads", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("n", [0, 1, 2047, 2048, 2049, 100_003])
def test_every_item_is_visited_once_by_any_number_of_threads(threads, n):
    pool.set_num_threads(threads)
    visits, value = count_up(n)
    assert np.all(visits == 1)
    i = np.arange(n)
    np.testing.assert_array_equal(value, i * 0.1 + 1 / (1.0 + i))


def test_the_number_of_threads_can_go_up_and_down_between_jobs():
    for threads in (4, 1, 2, 6, 2, 4):
        pool.set_num_threads(threads)
        assert pool.num_threads() == threads
        for _ in range(20):
            visits, _ = count_up(50_000)
            assert np.all(visits == 1)


@pytest.mark.parametrize("wrong", [0, -1, 1025, 2.0, "two", True])
def test_a_number_of_threads_that_makes_no_sense_is_refused(wrong):
    with pytest.raises(LaunchError, match="set_num_threads"):
        pool.set_num_threads(wrong)


def test_several_python_threads_may_launch_at_once():
    pool.set_num_threads(3)
    failures = []

    def work():
        try:
            for _ in range(50):
                visits, _ = count_up(20_000)
                assert np.all(visits == 1)
        except BaseException:
            failures.append(traceback.format_exc())

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(timeout=60)
    assert not any(worker.is_alive() for worker in workers)
    assert failures == []


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_of_fork_starts_a_pool_of_its_own():
    pool.set_num_threads(4)
    count_up(100_000)
    for _ in range(5):
        child = os.fork()
        if child == 0:
            signal.alarm(20)  # a child that hangs is ended
            visits, _ = count_up(100_000)
            os._exit(0 if np.all(visits == 1) else 1)
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 0
    visits, _ = count_up(100_000)
    assert np.all(visits == 1)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("n", [16, 50_000])
def test_rounding_is_to_nearest_whatever_the_caller_set_and_the_callers_mode_comes_back(threads, n):
    library = ctypes.CDLL(ctypes.util.find_library("m"))
    upward = 0x800 if os.uname().machine == "x86_64" else 0x400000
    pool.set_num_threads(threads)
    a, b, total = np.full(n, 1, np.float32), np.full(n, 2.0**-26, np.float32), np.zeros(n, np.float32)
    ROUND.launch(n, [a, b, total])
    assert np.all(total == 1)
    assert library.fesetround(upward) == 0
    try:
        prepared = ROUND.prepare([a, b, total], items=n)
        prepared()
        assert library.fegetround() == upward
    finally:
        library.fesetround(0)
    assert np.all(total == 1)


def test_denormals_are_kept():
    tiny = np.full(50_000, np.finfo(np.float32).tiny / 4, np.float32)
    total = np.zeros_like(tiny)
    ROUND.launch(tiny.size, [tiny, tiny, total])
    assert np.all(total == tiny * 2)
    assert np.all(total > 0)


def test_scratch_that_does_not_fit_into_memory_is_an_error():
    kernel = Kernel(
        'extern "C" __global__ void f(int n, real* x, const Scratch scratch) { for_each(i, n) x[i] = real(1); }\n', "f"
    )
    with pytest.raises(CapacityError, match="scratch"):
        kernel.prepare([np.zeros(4)], worlds=4, scratch=1 << 60)()


def test_the_quota_of_a_control_group_limits_the_default(tmp_path):
    group = tmp_path / "fs" / "user" / "job"
    group.mkdir(parents=True)
    (tmp_path / "membership").write_text("0::/user/job\n")
    (group / "cpu.max").write_text("max 100000\n")
    assert pool.cgroup_quota(tmp_path / "fs", tmp_path / "membership") is None
    (group.parent / "cpu.max").write_text("150000 100000\n")
    assert pool.cgroup_quota(tmp_path / "fs", tmp_path / "membership") == 1.5
    (tmp_path / "membership1").write_text("5:cpu,cpuacct:/job\n")
    old = tmp_path / "fs" / "cpu" / "job"
    old.mkdir(parents=True)
    (old / "cpu.cfs_quota_us").write_text("200000")
    (old / "cpu.cfs_period_us").write_text("100000")
    assert pool.cgroup_quota(tmp_path / "fs", tmp_path / "membership1") == 2.0


def test_the_default_is_no_more_than_the_affinity():
    assert 1 <= pool.default_threads() <= len(os.sched_getaffinity(0))


@pytest.mark.slow
@pytest.mark.parametrize("sanitizer", ["thread", "address,undefined"])
def test_a_sanitizer_finds_nothing(tmp_path, sanitizer):
    if shutil.which("g++") is None:
        pytest.skip("g++ is not installed")
    harness, program = Path(__file__).parent / "pool_race.cpp", tmp_path / "race"
    flags = ["-std=c++17", "-O1", "-g", f"-fsanitize={sanitizer}", "-pthread", f"-I{source.kernels_folder()}"]
    built = subprocess.run(
        ["g++", *flags, str(harness), "-o", str(program)], capture_output=True, text=True, check=False
    )
    if "cannot find" in built.stderr:
        pytest.skip(f"this compiler has no -fsanitize={sanitizer}")
    assert built.returncode == 0, built.stderr
    # the thread sanitizer needs a fixed layout of memory
    prefix = ["setarch", "-R"] if shutil.which("setarch") else []
    done = subprocess.run([*prefix, str(program)], capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stderr) == (0, "")
