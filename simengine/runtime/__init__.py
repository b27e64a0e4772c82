"""Devices, compilation, launches: what runs the kernels. The names below are loaded when they are asked for."""

from simengine.lazy import lazy_names

_NAMES = {
    "Kernel": "simengine.runtime.kernel",
    "real": "simengine.runtime.arguments",
    "compile_cubin": "simengine.runtime.kernel",
    "emulated_lanes": "simengine.runtime.modes",
    "poisoned_scratch": "simengine.runtime.modes",
    "debugging": "simengine.runtime.modes",
    "Device": "simengine.runtime.devices",
    "get_device": "simengine.runtime.devices",
    "device_of": "simengine.runtime.devices",
    "synchronize": "simengine.runtime.devices",
    "set_num_threads": "simengine.runtime.pool",
    "num_threads": "simengine.runtime.pool",
    "doctor": "simengine.runtime.diagnosis",
}

__getattr__, __dir__ = lazy_names(__name__, _NAMES)
