"""Devices: the CPU and the GPUs that CuPy sees. Nothing is touched before it is asked for."""

from __future__ import annotations

import functools
import importlib.util
import logging
import sys
from contextlib import ExitStack, contextmanager, nullcontext

import numpy as np

from simengine.errors import DeviceError, ModelError
from simengine.runtime import modes

log = logging.getLogger("simengine")


class Device:
    """One device: ``cpu`` or ``cuda:<index>``. Get it from ``sim.get_device``.

    Attributes: ``name`` (str), ``is_cuda`` (bool), ``index`` (int, 0 for the CPU).
    """

    def __init__(self, name: str, index: int, is_cuda: bool):
        self.name, self.index, self.is_cuda = name, index, is_cuda

    @property
    def array_module(self):
        """NumPy or CuPy."""
        return import_cupy() if self.is_cuda else np

    @functools.cached_property
    def arch(self) -> str:
        """Architecture of a GPU as compilers name it, such as ``sm_90``; ``cpu`` for the CPU."""
        return "sm_" + import_cupy().cuda.Device(self.index).compute_capability if self.is_cuda else "cpu"

    @functools.cached_property
    def attributes(self) -> dict[str, int]:
        """Limits of a GPU by CUDA's names, such as ``MaxThreadsPerBlock``; empty for the CPU."""
        return dict(import_cupy().cuda.Device(self.index).attributes) if self.is_cuda else {}

    def context(self):
        """Context manager within which CuPy works on this device."""
        return import_cupy().cuda.Device(self.index) if self.is_cuda else nullcontext()

    @contextmanager
    def apart(self):
        """Context manager for work that a capture going on does not see: on a GPU a stream and allocator of its own."""
        with modes.apart(), self.context(), ExitStack() as stack:
            if self.is_cuda:
                cuda = import_cupy().cuda
                stack.enter_context(cuda.Stream(non_blocking=True))
                stack.enter_context(cuda.using_allocator(import_cupy().get_default_memory_pool().malloc))
            yield

    def empty(self, shape, dtype):
        """An array with undefined values; raises while a capture is on."""
        modes.refuse_while_capturing("an array was made")
        with self.context():
            return self.array_module.empty(shape, dtype)

    def zeros(self, shape, dtype):
        """An array of zeros; raises while a capture is on."""
        modes.refuse_while_capturing("an array was made")
        with self.context():
            return self.array_module.zeros(shape, dtype)

    def asarray(self, values, dtype=None):
        """``values`` as a contiguous array of this device, copied only where needed; raises while a capture is on."""
        modes.refuse_while_capturing("an array was made")
        with self.context():
            return self.array_module.ascontiguousarray(self.array_module.asarray(values, dtype))

    def synchronize(self) -> None:
        """Wait until all work given to this device is done."""
        if self.is_cuda:
            import_cupy().cuda.Device(self.index).synchronize()

    def __eq__(self, other) -> bool:
        return isinstance(other, Device) and other.name == self.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return self.name


CPU = Device("cpu", 0, False)


def import_cupy():
    """CuPy; DeviceError with the command that installs it where it is missing."""
    try:
        import cupy
    except ImportError:
        raise DeviceError(
            'a GPU needs CuPy, which is not installed: pip install "simengine[cuda13]" (driver 580 or newer) or '
            '"simengine[cuda12]" (driver 525 or newer); or use device="cpu"'
        ) from None
    return cupy


@functools.cache
def gpu_count() -> int:
    """GPUs that CuPy can use; 0 where CuPy, a driver or a GPU is missing (``gpu_problem`` says which)."""
    if importlib.util.find_spec("cupy") is None:
        return 0
    try:
        return int(import_cupy().cuda.runtime.getDeviceCount())
    except Exception:  # CuPy raises its own classes, which cannot be named without importing them
        return 0


def gpu_problem() -> str | None:
    """What keeps this machine from using a GPU and how to mend it, or None."""
    if gpu_count() > 0:
        return None
    try:
        count = import_cupy().cuda.runtime.getDeviceCount()
    except DeviceError as error:
        return str(error)
    except Exception as error:
        return (
            f"CuPy is installed but finds no usable NVIDIA driver ({type(error).__name__}: {error}); install or update "
            'the driver (580 or newer for cuda13, 525 for cuda12), or use device="cpu"'
        )
    return f'CuPy and a driver are there but {count} GPUs are visible (see CUDA_VISIBLE_DEVICES); or use device="cpu"'


@functools.cache
def _gpu(index: int) -> Device:
    return Device(f"cuda:{index}", index, True)


def devices() -> list[Device]:
    """All devices of this machine: the CPU, then the GPUs."""
    return [CPU, *(_gpu(index) for index in range(gpu_count()))]


def get_device(name: str | Device | None = None) -> Device:
    """The device of that name: "cpu", "cuda" (the first GPU) or "cuda:<index>".

    None is the default: "cuda:0" where CuPy and a GPU are there, else "cpu". Raises DeviceError that says what is
    missing where a GPU is asked for and cannot be used.
    """
    if isinstance(name, Device):
        return name
    if name is None:
        return _default()
    if not isinstance(name, str):
        raise DeviceError(f'a device is named by a string such as "cpu" or "cuda:0", got {type(name).__name__}')
    if name == "cpu":
        return CPU
    kind, _, number = name.partition(":")
    if kind != "cuda" or not (number.isdecimal() or name == "cuda"):
        raise DeviceError(f'there is no device {name!r}; use "cpu", "cuda" or "cuda:<index>"')
    if problem := gpu_problem():
        raise DeviceError(f"device {name!r} cannot be used: {problem}")
    index = int(number or 0)
    if index >= gpu_count():
        raise DeviceError(f"device {name!r} cannot be used: this machine has {gpu_count()} GPUs, cuda:0 is the first")
    return _gpu(index)


@functools.cache
def _default() -> Device:
    if gpu_count() > 0:
        return _gpu(0)
    if importlib.util.find_spec("cupy") is not None:
        log.warning("the default device is the CPU: %s", gpu_problem())
    return CPU


def device_of(array) -> Device:
    """The device that an array lives on; ModelError for what is no array of NumPy or CuPy."""
    if isinstance(array, np.ndarray):
        return CPU
    if hasattr(array, "__cuda_array_interface__") and hasattr(array, "device"):
        return _gpu(int(getattr(array.device, "id", array.device)))
    raise ModelError(f"expected an array of NumPy or CuPy, got {type(array).__name__}")


def synchronize(device: str | Device | None = None) -> None:
    """Wait until all work given to ``device`` is done; None: all devices in use."""
    if device is not None:
        get_device(device).synchronize()
        return
    for index in range(gpu_count() if _cuda_in_use() else 0):
        _gpu(index).synchronize()


def _cuda_in_use() -> bool:
    return "cupy" in sys.modules
