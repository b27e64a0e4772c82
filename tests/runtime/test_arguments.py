"""Arguments of a launch are checked by name before anything runs."""

import ctypes
import os

import numpy as np
import pytest

import simengine as sim
from simengine.errors import LaunchError

TEXT = """
struct Pair { real first; int second; };
extern "C" __global__ void work(int n, const real* q /* (n, 3) */, real* out /* (2*n+1) */, real gain, int times,
                                const int* map /* (n), optional */) {
    for_each(i, n) out[i] = gain * real(times) * q[3 * i] + (map ? real(map[i]) : real(0));
}
extern "C" __global__ void use_pair(int n, const Pair pair, real* out) {
    for_each(i, n) out[i] = pair.first * real(pair.second);
}
extern "C" __global__ void narrow(int n, unsigned char small, bool flag, int64 big, double* out) {
    for_each(i, n) out[i] = double(small) + (flag ? 1000.0 : 0.0) + double(big);
}
"""
WORK = sim.Kernel(TEXT, "work")
PAIR = sim.Kernel(TEXT, "use_pair")
NARROW = sim.Kernel(TEXT, "narrow")


def good(n=4, dtype=np.float32):
    q = np.arange(3 * n, dtype=dtype).reshape(n, 3)
    return {"q": q, "out": np.zeros(2 * n + 1, dtype), "gain": 2.0, "times": 3, "map": None}


def refused(change, match, n=4):
    arguments = {**good(), **change}
    with pytest.raises(LaunchError, match=match) as raised:
        WORK.launch(n, arguments)
    assert raised.value.kernel == "work"
    assert not np.any(good()["out"])
    return raised.value


def test_arguments_by_name_by_place_and_with_n_give_the_same():
    results = []
    for make in (lambda a: a, lambda a: list(a.values()), lambda a: [4, *a.values()], lambda a: {"n": 4, **a}):
        arguments = good()
        WORK.launch(4, make(arguments))
        results.append(arguments["out"])
    np.testing.assert_array_equal(results[0][:4], 6 * good()["q"][:, 0])
    assert all(np.array_equal(result, results[0]) for result in results)


def test_precision_is_that_of_the_arrays(precision):
    arguments = good(dtype=precision)
    WORK.launch(4, {**arguments, "gain": sim.real(0.1)})
    expected = (np.dtype(precision).type(0.1) * np.dtype(precision).type(3)) * arguments["q"][:, 0]
    np.testing.assert_array_equal(arguments["out"][:4], expected)


@pytest.mark.parametrize(
    ("change", "parameter", "match"),
    [
        ({"q": [1.0, 2.0]}, "q", "is an array of float32 on cpu, got list"),
        ({"q": None}, "q", "got None .it is not marked optional"),
        ({"q": np.zeros((4, 3), np.float16)}, "q", r"float32 \(real\), got float16; convert it with .astype"),
        ({"out": np.zeros(9)}, "out", "is an array of float32 .* got float64"),
        ({"q": np.zeros((4, 2), np.float32)}, "q", r"must have shape \(4, 3\) \(n, 3\), got \(4, 2\)"),
        ({"q": np.zeros(12, np.float32)}, "q", r"must have shape \(4, 3\)"),
        ({"out": np.zeros(8, np.float32)}, "out", r"must have shape \(9,\)"),
        ({"q": np.zeros((3, 4), np.float32).T}, "q", "must be contiguous"),
        ({"q": np.zeros((4, 6), np.float32)[:, ::2]}, "q", "must be contiguous"),
        ({"map": np.zeros(4, np.int64)}, "map", "is an array of int32 .* got int64"),
        ({"gain": "much"}, "gain", "is a number"),
        ({"gain": np.zeros(2)}, "gain", "is a number"),
        ({"times": 2.5}, "times", "is int, got the float 2.5"),
        ({"times": sim.real(2)}, "times", "is int"),
        ({"times": 2**31}, "times", "is int .-2147483648 to 2147483647., got 2147483648"),
    ],
)
def test_a_wrong_argument_is_named_with_the_users_call(change, parameter, match):
    error = refused(change, match)
    assert error.parameter == parameter
    assert os.path.basename(__file__) in error.site


def test_an_array_that_is_written_must_be_writable_one_that_is_read_need_not():
    frozen = good()
    frozen["q"].flags.writeable = False
    WORK.launch(4, frozen)
    frozen["out"].flags.writeable = False
    with pytest.raises(LaunchError, match="parameter out: is written by the kernel, but the array is read-only"):
        WORK.launch(4, frozen)


def test_missing_unknown_and_surplus_arguments_are_named():
    arguments = good()
    with pytest.raises(
        LaunchError, match="takes 6 arguments .n, q, out, gain, times, map, of which n may be left out., got 2"
    ):
        WORK.launch(4, [arguments["q"], arguments["out"]])
    del arguments["gain"]
    with pytest.raises(LaunchError, match="missing gain; unknown gian"):
        WORK.launch(4, {**arguments, "gian": 1.0})


@pytest.mark.parametrize("count", [-1, 2.5, "4", None, True])
def test_a_count_that_is_no_whole_number_is_refused(count):
    with pytest.raises(LaunchError, match="items"):
        WORK.launch(count, good())


def test_unaligned_arrays_are_refused():
    memory = np.zeros(49, np.uint8)
    q = memory[1:].view(np.float32).reshape(4, 3)
    assert not q.flags.aligned
    refused({"q": q}, "is not aligned")


def test_a_struct_is_passed_by_value_as_numpy_or_ctypes():
    layout = np.dtype([("first", np.float64), ("second", np.int32)], align=True)

    class Pair(ctypes.Structure):
        _fields_ = (("first", ctypes.c_double), ("second", ctypes.c_int))

    for pair in (np.array((1.5, 4), layout), np.array((1.5, 4), layout)[()], Pair(1.5, 4)):
        out = np.zeros(2)
        PAIR.launch(2, [pair, out])
        assert out.tolist() == [6.0, 6.0]


def test_a_struct_of_another_size_is_refused():
    with pytest.raises(LaunchError, match="parameter pair: Pair has 16 bytes in the kernel, got 8"):
        PAIR.launch(2, [np.array((1.5,), [("first", np.float64)]), np.zeros(2)])
    with pytest.raises(LaunchError, match="parameter pair: is a Pair by value, got float"):
        PAIR.launch(2, [1.5, np.zeros(2)])


def test_small_and_large_integers_keep_their_values_and_limits():
    out = np.zeros(1)
    NARROW.launch(1, [255, True, 2**40, out])
    assert out[0] == 255 + 1000 + 2**40
    with pytest.raises(LaunchError, match=r"parameter small: is unsigned char \(0 to 255\), got 256"):
        NARROW.launch(1, [256, True, 0, out])


def test_mixed_precisions_are_refused_by_name():
    error = refused({"out": np.zeros(9)}, "got float64")
    assert error.parameter == "out"


@pytest.mark.gpu
def test_an_array_of_another_device_is_refused():
    import cupy

    refused({"out": cupy.zeros(9, np.float32)}, "parameter out: must live on cpu")
