"""What space queries share: arguments as arrays of one precision on one device, and lists of hits."""

from __future__ import annotations

import functools

import numpy as np

from simengine.collision.sort import ExclusiveScan
from simengine.containers import to_numpy
from simengine.errors import ModelError
from simengine.runtime import devices, modes
from simengine.runtime.arguments import is_array
from simengine.runtime.kernel import Kernel

LARGEST = 1e18
"""Coordinates may be no larger: their squares and products must stay within float32."""


@functools.cache
def kernel(file: str, name: str) -> Kernel:
    """A kernel of kernels_cuda by file and name."""
    return Kernel(file, name)


def device_for(array, device=None) -> devices.Device:
    """The device that is asked for, else that of the array, else the CPU for lists and the like."""
    if device is not None:
        return devices.get_device(device)
    return devices.device_of(array) if is_array(array) else devices.CPU


def float_dtype(*arrays) -> np.dtype:
    """float64 where one of the arrays is, else float32."""
    wide = any(getattr(array, "dtype", None) == np.float64 for array in arrays)
    return np.dtype(np.float64 if wide else np.float32)


def vectors(name: str, values, dtype, device, count: int | None = None):
    """``values`` as a contiguous array (n, 3) of dtype on the device; a single vector counts as one row.

    Raises ModelError for another shape, another device, and for what is not finite, with its index. (Numbers are not
    looked at while a capture is on: that would wait for the device.)
    """
    array = (_array if modes.capture is None else _captured)(name, values, dtype, device)
    if array.ndim == 1 and array.shape[0] == 3:
        array = array.reshape(1, 3)
    if array.size == 0:
        array = array.reshape(0, 3)
    if array.ndim != 2 or array.shape[1] != 3:
        raise ModelError(f"{name} must have shape (n, 3), got {tuple(array.shape)}")
    if count is not None and len(array) != count:
        raise ModelError(f"{name} has {len(array)} rows where {count} are expected")
    require_numbers(name, array)
    return array


def numbers(name: str, values, dtype, device, count: int, least: float = 0.0):
    """``values``, one number or (n,), as an array (n,): none below ``least`` or NaN (infinity is allowed)."""
    array = _array(name, values, dtype, device)
    if array.shape == (1,):
        array = device.asarray(device.array_module.full(count, float(array[0]), dtype))
    if array.shape != (count,):
        raise ModelError(f"{name} must be one number or have shape ({count},), got {tuple(array.shape)}")
    if modes.capture is None:
        wrong = ~(array >= least)
        if bool(wrong.any()):
            index = int(wrong.argmax())
            raise ModelError(f"{name}[{index}] is {float(array[index])}; it must be a number of at least {least:g}")
    return array


def indices(name: str, values, device, count: int | None, bound: int, least: int = 0):
    """``values`` (n,) as int32, each of ``least`` .. bound-1; ``count`` None: however many there are."""
    array = _array(name, values, None, device)
    count = array.size if count is None else count
    if array.shape == (1,) and array.dtype.kind in "iu":
        array = device.array_module.full(count, int(array[0]), array.dtype)
    if array.dtype.kind not in "iu" or array.shape != (count,):
        raise ModelError(f"{name} must be whole numbers of shape ({count},), got {array.dtype} {tuple(array.shape)}")
    if modes.capture is None and count:
        wrong = (array < least) | (array >= bound)
        if bool(wrong.any()):
            index = int(wrong.argmax())
            raise ModelError(f"{name}[{index}] is {int(array[index])}; it must be {least} to {bound - 1}")
    return device.asarray(array, np.int32)


def table(name: str, values, dtype, device, count: int, columns: int):
    """``values`` as an array (count, columns) of dtype on the device; a single row counts as one of them."""
    array = _array(name, values, dtype, device)
    array = array.reshape(1, columns) if array.shape == (columns,) and count == 1 else array
    if array.shape != (count, columns):
        raise ModelError(f"{name} must have shape ({count}, {columns}), got {tuple(array.shape)}")
    return array


def on_host(name: str, values) -> np.ndarray:
    """``values`` as an array of NumPy; ModelError for what is no array, such as rows of different lengths."""
    try:
        return to_numpy(values)
    except (TypeError, ValueError, OverflowError):
        raise ModelError(f"{name} must be an array of numbers, got {type(values).__name__}") from None


def require_numbers(name: str, array) -> None:
    """ModelError, with the index, where an element is not finite or larger than LARGEST."""
    if modes.capture is not None or array.size == 0:
        return
    module = np if isinstance(array, np.ndarray) else devices.import_cupy()
    wrong = ~(module.abs(array) <= LARGEST)
    if not bool(wrong.any()):
        return
    flat = int(wrong.ravel().argmax())
    index = ", ".join(str(int(i)) for i in np.unravel_index(flat, array.shape))
    value = float(array.ravel()[flat])
    raise ModelError(f"{name}[{index}] is {value}; coordinates must be finite and at most {LARGEST:g}")


def require_ordered(lower, upper) -> None:
    """ModelError, with the index, where a box (lower, upper) is turned inside out."""
    if modes.capture is not None or lower.size == 0:
        return
    wrong = (lower > upper).any(axis=1)
    if bool(wrong.any()):
        i = int(wrong.argmax())
        raise ModelError(f"box {i} is {lower[i].tolist()} to {upper[i].tolist()}: lower must be nowhere above upper")


def require_directions(name: str, array) -> None:
    """ModelError, with the index, where a vector is (nearly) zero or longer than 1e30."""
    if modes.capture is not None or array.size == 0:
        return
    longest = abs(array).max(axis=1)
    wrong = ~((longest > 1e-30) & (longest < 1e30))
    if bool(wrong.any()):
        index = int(wrong.argmax())
        raise ModelError(f"{name}[{index}] is {array[index].tolist()}: a ray needs a direction that is not zero")


def _array(name: str, values, dtype, device):
    if is_array(values) and devices.device_of(values) != device:
        place = devices.device_of(values)
        raise ModelError(f"{name} is on {place}, the structure on {device}; copy it there first")
    try:
        array = device.asarray(values)
    except (TypeError, ValueError, OverflowError):
        raise ModelError(f"{name} must be an array of numbers, got {type(values).__name__}") from None
    if array.dtype.kind not in "iuf" and array.size:
        raise ModelError(f"{name} must be an array of numbers, got {type(values).__name__} of {array.dtype}")
    return device.asarray(array, dtype)


def _captured(name: str, values, dtype, device):
    """``values`` as it is: within a capture no array can be made."""
    if not is_array(values) or values.dtype != dtype or not values.flags.c_contiguous:
        raise ModelError(f"{name} must be a contiguous array of {dtype} on {device} within sim.capture")
    return values


def lists(prepare, count: int, device):
    """Lists of hits as (offsets (n+1,) int64, indices int32): ``prepare(offsets, counts, out)`` makes the launch.

    It is called twice: to count, with offsets and out None, and to write. Waits for the device in between, to learn
    how many hits there are.
    """
    modes.refuse_while_capturing("a query that makes lists was called")
    counts = device.empty(count, np.int32)
    if count:
        prepare(None, counts, None)()
    scan = ExclusiveScan(counts)
    scan()
    out = device.empty(int(scan.offsets[-1]), np.int32)
    if len(out):
        prepare(scan.offsets, counts, out)()
    return scan.offsets, out
