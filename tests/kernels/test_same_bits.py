"""The CPU and the GPU give the same bits: functions of numeric.h, random numbers, collectives on any lanes."""

import numpy as np
import pytest

from simengine.runtime import Kernel, devices
from tests.kernels import lanes_kernel, numeric_kernel, test_random
from tests.kernels.harness import PRECISIONS, bits
from tests.kernels.test_lanes import WORLDS, inputs
from tests.kernels.test_numeric import random_patterns, uniform

pytestmark = pytest.mark.gpu


def to(device, array):
    """A copy of an array on the device."""
    return devices.import_cupy().asarray(array) if device.is_cuda else np.array(array)


def on_both(kernel, arguments, outputs, **how):
    """Outputs of a kernel on the CPU and on the GPU. ``arguments``: NumPy arrays and scalars by name."""
    results = []
    for name in ("cpu", "cuda:0"):
        device = devices.get_device(name)
        given = {key: to(device, value) if isinstance(value, np.ndarray) else value for key, value in arguments.items()}
        kernel.prepare(given, device=device, **how)()
        devices.synchronize(device)
        results.append({key: given[key] if not device.is_cuda else given[key].get() for key in outputs})
    return results


def assert_same(results):
    for name, first in results[0].items():
        second = results[1][name]
        if first.dtype.kind == "f":
            first, second = bits(first), bits(second)
        np.testing.assert_array_equal(first, second, err_msg=name)


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("function", numeric_kernel.NAMES)
def test_functions(function, precision):
    kernel = Kernel(numeric_kernel.TEXT, "apply")
    for x, w in [
        (random_patterns(precision, 5), random_patterns(precision, 6)),
        (uniform(precision, -4, 4, 7), uniform(precision, -4, 4, 8)),
    ]:
        arguments = {
            "function": numeric_kernel.NAMES.index(function),
            "x": x,
            "w": w,
            "y": np.zeros_like(x),
            "n": len(x),
        }
        assert_same(on_both(kernel, arguments, ["y"], items=len(x)))


@pytest.mark.parametrize("precision", PRECISIONS)
def test_float_to_int(precision):
    x = np.concatenate([random_patterns(precision, 9), uniform(precision, -3e9, 3e9)])
    arguments = {"x": x, "y": np.zeros(len(x), np.int32), "n": len(x)}
    assert_same(on_both(Kernel(numeric_kernel.TEXT, "apply_to_int"), arguments, ["y"], items=len(x)))


@pytest.mark.parametrize("precision", PRECISIONS)
def test_random_numbers(precision):
    n = 100_000
    arguments = {
        "key": np.full(n, 12345, np.uint64),
        "counter": np.arange(n, dtype=np.int64),
        "purpose": 3,
        "element": 1,
        "uniform": np.zeros(n, precision),
        "normal": np.zeros(n, precision),
        "n": n,
    }
    assert_same(on_both(Kernel(test_random.TEXT, "numbers"), arguments, ["uniform", "normal"], items=n))


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("lanes", [1, 4, 8, 16, 32])
@pytest.mark.parametrize(("n", "m"), [(1, 1), (31, 40), (100, 33)])
def test_collectives(n, m, lanes, precision):
    x, keep = inputs(precision)
    most = lanes_kernel.MOST
    arguments = {
        "x": x,
        "keep": keep,
        "n": n,
        "m": m,
        "sums": np.zeros((WORLDS, 3), precision),
        "most": np.zeros(WORLDS, precision),
        "kept": np.zeros((WORLDS, most), np.int32),
        "counts": np.zeros((WORLDS, 5), np.int32),
        "chain": np.zeros((WORLDS, most), precision),
        "worlds": WORLDS,
    }
    outputs = ["sums", "most", "kept", "counts", "chain"]
    size = 2 * most * x.itemsize
    assert_same(
        on_both(Kernel(lanes_kernel.TEXT, "work"), arguments, outputs, worlds=WORLDS, lanes=lanes, scratch=size)
    )
