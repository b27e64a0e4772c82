"""Prepared launches: arguments checked once, pointers kept, then called many times."""

from __future__ import annotations

import ctypes
import dataclasses
import itertools
import threading
from dataclasses import dataclass

import numpy as np

from simengine.errors import CapacityError, LaunchError, callsite
from simengine.runtime import arguments as checks
from simengine.runtime import modes, pool
from simengine.runtime.devices import Device

ITEMS_OF_A_CHUNK = 2048
"""Items of an element-wise kernel that are worth a chunk of their own on the CPU."""

ELEMENT_BLOCK = 256
WORLD_BLOCK = 512
"""Threads of a block on the GPU: element-wise, and at most of groups of lanes. Groups of a block keep in step and share
the fetching of instructions, so blocks are as large as a multiprocessor holds (docs/performance.md)."""

RESERVED_SHARED = 1024
"""Bytes of shared memory that the driver takes of each block."""

ALIGNMENT = 64

SCRATCH = np.dtype(
    [("base", "u8"), ("stride", "i8"), ("shared", "i4"), ("spill", "u8"), ("spill_stride", "i8")], align=True
)
"""Scratch of platform.h."""


NOTHING = np.zeros(1 << 14, np.uint8)
"""Passed for a container that is not given: counts of zero and null pointers. Longer than any struct of the table."""

NOTHING_ADDRESS = NOTHING.ctypes.data

_threads = threading.local()


class DebugSlot(ctypes.Structure):
    """SimDebugSlot of platform.h."""

    _fields_ = [
        ("code", ctypes.c_int),
        ("block", ctypes.c_int),
        ("name", ctypes.c_longlong),
        ("index", ctypes.c_longlong),
        ("size", ctypes.c_longlong),
    ]


@dataclass(frozen=True)
class Shape:
    """How much work a launch is: items or worlds, lanes of a group, bytes of scratch and spill of a group, and threads
    of a block."""

    count: int
    is_worlds: bool
    lanes: int
    scratch: int
    spill: int
    block: int | None

    @property
    def stride(self) -> int:
        """Bytes from one group's scratch to the next: whole 16 bytes."""
        return -(-self.scratch // 16) * 16

    @property
    def spill_stride(self) -> int:
        """Bytes from one group's spill to the next."""
        return -(-self.spill // 16) * 16


class PreparedLaunch:
    """A kernel with its arguments. Call it to run it. Made by ``Kernel.prepare``."""

    def __init__(self, kernel, arguments, shape: Shape, device: Device, precision: str, label: str, debug: bool):
        self.kernel, self.shape, self.device, self.precision, self.label, self.debug = (
            kernel,
            shape,
            device,
            precision,
            label,
            debug,
        )
        given = [p for p in kernel.parameters if p.kind != "scratch"]
        integers = {
            p.name: int(a)
            for p, a in zip(given, arguments, strict=True)
            if p.kind == "scalar" and isinstance(a, int | np.integer) and not isinstance(a, bool)
        }
        integers.setdefault("n", shape.count)
        self._checker = checks.Checker(kernel.name, device, precision, integers, debug)
        self._position = {p.name: i for i, p in enumerate(kernel.parameters)}
        views = ("View", "Arrays")
        self._container_position = {
            name: i for name, i in self._position.items() if kernel.parameters[i].type.endswith(views) and not debug
        }
        values = iter(arguments)
        sizes = self._argument_sizes()
        self._values = [
            self._scratch_value(p) if p.kind == "scratch" else self._checker.value(p, next(values), size)
            for p, size in zip(kernel.parameters, sizes, strict=True)
        ]
        self._containers: dict[int, object] = {}  # by position: those that took the place of the ones given at first
        self._place_arguments()

    def _place_arguments(self) -> None:
        """All arguments in one piece of memory, and the pointers to them that a launch is given."""
        sizes = (-(-len(value.bits) // ALIGNMENT) * ALIGNMENT for value in self._values)
        offsets = list(itertools.accumulate(sizes, initial=0))
        self._memory = np.zeros(offsets[-1] + ALIGNMENT, np.uint8)
        self._address = self._memory.ctypes.data
        start = -self._address % ALIGNMENT
        self._offsets = [start + offset for offset in offsets[:-1]]
        self._pointers = (ctypes.c_void_p * (len(self._values) + 1))()
        for position in range(len(self._values)):
            self._write(position)
        for position, container in self._containers.items():
            self._pointers[position] = NOTHING_ADDRESS if container is None else container.struct_address

    def _write(self, position: int) -> None:
        bits, offset = self._values[position].bits, self._offsets[position]
        self._memory[offset : offset + len(bits)] = np.frombuffer(bits, np.uint8)
        self._pointers[position] = self._address + offset

    def __call__(self) -> None:
        """Run it; a GPU works on while this returns."""
        if modes.special:
            self._run_in_modes()
        else:
            self._run()

    def set(self, name: str, argument) -> None:
        """Change an argument for the launches to come; checked as at the start."""
        position = self._position.get(name)
        parameter = None if position is None else self.kernel.parameters[position]
        if parameter is None or parameter.kind == "scratch":
            raise LaunchError(f"has no argument {name!r} that could be set", kernel=self.kernel.name, site=callsite())
        self._values[position] = self._checker.value(parameter, argument, self._argument_sizes()[position])
        self._containers.pop(position, None)
        self._write(position)

    def exchange(self, name: str, argument) -> None:
        """As ``set``, but a container, or None, takes the place of one of its kind at no cost and unchecked.

        In debug everything is set, since the arrays of containers are watched.
        """
        position = self._container_position.get(name)
        if position is None:
            self.set(name, argument)
            return
        if position not in self._containers:  # the one given at first need not live on
            self._values[position] = dataclasses.replace(self._values[position], keep=None, written=())
        self._containers[position] = argument
        self._pointers[position] = NOTHING_ADDRESS if argument is None else argument.struct_address

    def frozen(self) -> PreparedLaunch:
        """A copy that later changes of arguments leave as it is: what a capture keeps."""
        copy = object.__new__(type(self))
        copy.__dict__.update(self.__dict__)
        copy._values, copy._containers = list(self._values), dict(self._containers)
        copy._place_arguments()
        return copy

    def _run_in_modes(self) -> None:
        if modes.capture is not None:
            modes.capture.record(self)
        elif modes.profile is not None:
            modes.profile.time_launch(self.label, self.device, self._run_watched)
        else:
            self._run_watched()

    def _run_watched(self) -> None:
        self._run()
        if self.debug:
            self.device.synchronize()
            self._check_slot()
            written = itertools.chain.from_iterable(value.written for value in self._values)
            if problem := checks.finite_problem(written):
                raise LaunchError(
                    f"wrote a number that is not finite: {problem}", kernel=self.kernel.name, site=callsite()
                )

    def _check_slot(self) -> None:
        slot = self._take_slot()
        if slot is not None and slot.code:
            name = ctypes.string_at(slot.name).decode() if slot.name else "(an array without a name)"
            parameter = name.split(".")[0]
            problem = f"index {slot.index} is out of the bounds of {name}, which has {slot.size} elements"
            raise LaunchError(
                f"{problem} (block {slot.block})", kernel=self.kernel.name, parameter=parameter, site=callsite()
            )

    # what the devices do each in their way

    def _argument_sizes(self) -> list[int]:
        raise NotImplementedError

    def _scratch_value(self, parameter) -> checks.Value:
        raise NotImplementedError

    def _run(self) -> None:
        raise NotImplementedError

    def _take_slot(self) -> DebugSlot | None:
        raise NotImplementedError


class CpuLaunch(PreparedLaunch):
    """A launch on the CPU: one block of arguments in memory, and the pool's job."""

    def __init__(self, kernel, arguments, shape, device, precision, label, debug):
        self._function = kernel.cpu_function(precision, debug=debug)
        super().__init__(kernel, arguments, shape, device, precision, label, debug)
        self._pool_run = pool.library().sim_pool_run
        self._make_jobs()

    def _argument_sizes(self):
        return self._function.sizes

    def _scratch_value(self, parameter):
        value = np.array((0, self.shape.stride, 0, 0, self.shape.spill_stride), SCRATCH)
        return checks.Value(parameter, value.tobytes(), None)

    def _make_jobs(self) -> None:
        self._jobs: dict = {}
        self._job = self._make_job(self._function.address, False, 1, 0)
        self._job_address = ctypes.addressof(self._job)

    def _make_job(self, address: int, poison: bool, lanes: int, seed: int) -> pool.Job:
        return pool.Job(
            kernel=address,
            arguments=ctypes.addressof(self._pointers),
            items=self.shape.count,
            grain=1 if self.shape.is_worlds else ITEMS_OF_A_CHUNK,
            scratch=self.shape.stride + self.shape.spill_stride + ALIGNMENT,
            lanes=lanes,
            seed=seed,
            poison=poison,
        )

    def _run(self):
        address = self._job_address if not (modes.emulation or modes.poison) else self._special_job()
        code = self._pool_run(address)
        if code:
            raise pool.failure(code, self.kernel.name, self.shape.scratch)

    def _special_job(self) -> int:
        """The job for emulated lanes or poisoned scratch: made once for each."""
        key = (modes.emulation, modes.poison)
        if key not in self._jobs:
            if modes.emulation is None:
                self._jobs[key] = self._make_job(self._function.address, True, 1, 0)
            else:
                function = self.kernel.cpu_function(self.precision, emulated=True, debug=self.debug)
                self._jobs[key] = self._make_job(
                    function.address, modes.poison, modes.emulation.lanes, modes.emulation.seed
                )
        return ctypes.addressof(self._jobs[key])

    def _take_slot(self):
        function = self._function
        if modes.emulation is not None:
            function = self.kernel.cpu_function(self.precision, emulated=True, debug=True)
        found = DebugSlot.from_buffer_copy(function.slot)
        ctypes.memset(ctypes.addressof(function.slot), 0, ctypes.sizeof(DebugSlot))
        return found

    def run_recorded(self) -> None:
        """Run as part of a graph."""
        if self.debug:
            self._run_watched()
        else:
            self._run()

    def frozen(self):
        copy = super().frozen()
        copy._make_jobs()
        return copy


class GpuLaunch(PreparedLaunch):
    """A launch on a GPU through CuPy, on CuPy's current stream."""

    def __init__(self, kernel, arguments, shape, device, precision, label, debug):
        self._function, self._module = kernel.gpu_function(
            device, precision, shape.lanes, debug=debug, poison=modes.poison
        )
        self._choose_grid(kernel, shape, device)
        super().__init__(kernel, arguments, shape, device, precision, label, debug)
        cuda = device.array_module.cuda
        self._launch_kernel, self._current_stream = cuda.driver.launchKernel, cuda.get_current_stream
        # CUfunction, grid, block, bytes of shared memory
        self._how = (self._function.kernel.ptr, self._grid, 1, 1, self._block, 1, 1, self._shared)
        with device.context():
            self._bind_context()

    def _argument_sizes(self):
        return self._module.sizes[self.kernel.name]

    def _choose_grid(self, kernel, shape: Shape, device: Device) -> None:
        """Block, grid and shared memory, within the limits of device and kernel."""
        limits = device.attributes
        most = min(limits["MaxThreadsPerBlock"], self._function.max_threads_per_block)
        block = shape.block or min(most, self._world_block(shape, limits) if shape.is_worlds else ELEMENT_BLOCK)
        if block > most or block < 1 or (shape.is_worlds and block % shape.lanes):
            raise LaunchError(
                f"blocks of {block} threads do not fit: {device.name} runs this kernel with at most {most}, in whole "
                f"groups of {shape.lanes} lanes; give another block or fewer lanes",
                kernel=kernel.name,
                site=callsite(),
            )
        self._shared, self._global_scratch, self._spill = 0, None, None
        if not shape.is_worlds:
            multiprocessors = limits["MultiProcessorCount"]
            self._block, self._grid = block, max(1, min(-(-shape.count // block), multiprocessors * 32))
            return
        self._choose_world_grid(kernel, shape, device, block)

    def _world_block(self, shape: Shape, limits: dict) -> int:
        """Threads of a block: for a multiprocessor's share of the worlds, as many as its shared memory holds."""
        if shape.lanes > 32:
            return shape.lanes
        worlds = -(-shape.count // limits["MultiProcessorCount"])
        held = self._most_shared(limits) // shape.stride if shape.stride else worlds
        threads = min(max(1, min(worlds, held or worlds)) * shape.lanes, WORLD_BLOCK)
        return threads // 32 * 32 or threads

    def _most_shared(self, limits: dict) -> int:
        return limits["MaxSharedMemoryPerBlockOptin"] - self._function.shared_size_bytes

    def _choose_world_grid(self, kernel, shape: Shape, device: Device, block: int) -> None:
        most_shared = self._most_shared(device.attributes)
        groups = block // shape.lanes
        grid = max(1, -(-shape.count // groups))
        if groups * shape.stride <= most_shared:
            self._shared = groups * shape.stride
            # one function serves launches of several sizes: the limit only grows
            if self._shared > self._function.max_dynamic_shared_size_bytes:
                self._function.max_dynamic_shared_size_bytes = self._shared
            # of the memory that shared and cached data share, no more than the blocks that fit can use
            of_all = (self._shared + RESERVED_SHARED) * self._most_blocks(block, device.attributes)
            self._function.preferred_shared_memory_carveout = min(100, -(-100 * of_all // most_shared))
        if shape.spill or not self._shared:
            grid = min(grid, self._resident_blocks(device, block))
        if not self._shared:
            self._global_scratch = self._allocate(kernel, device, grid * groups * shape.stride)
        if shape.spill:
            self._spill = self._allocate(kernel, device, grid * groups * shape.spill_stride)
        self._block, self._grid = block, grid

    def _most_blocks(self, block: int, limits: dict) -> int:
        """Blocks that a multiprocessor has threads and registers for."""
        registers = -(-self._function.num_regs // 8) * 8 * block
        return max(
            1, min(limits["MaxThreadsPerMultiProcessor"] // block, limits["MaxRegistersPerMultiprocessor"] // registers)
        )

    def _resident_blocks(self, device: Device, block: int) -> int:
        driver = device.array_module.cuda.driver
        of_one = driver.occupancyMaxActiveBlocksPerMultiprocessor(self._function.kernel.ptr, block, self._shared)
        return max(1, of_one) * device.attributes["MultiProcessorCount"]

    @staticmethod
    def _allocate(kernel, device: Device, size: int):
        try:
            with device.apart():
                return device.empty((size,), np.uint8)
        except device.array_module.cuda.memory.OutOfMemoryError as error:
            raise CapacityError(
                f"no memory on {device.name} for the scratch of kernel {kernel.name}: {error}",
                buffer="scratch",
                needed=size,
                had=0,
            ) from error

    def _scratch_value(self, parameter):
        base, spill = (0 if a is None else a.data.ptr for a in (self._global_scratch, self._spill))
        shape, shared = self.shape, int(self._global_scratch is None)
        value = np.array((base, shape.stride, shared, spill, shape.spill_stride), SCRATCH)
        return checks.Value(parameter, value.tobytes(), (self._global_scratch, self._spill))

    def enqueue(self) -> None:
        """Put it on CuPy's current stream, whatever modes are on."""
        self._run()

    def _run(self):
        if self.shape.count == 0:
            return
        with self.device.context():
            self._bind_context()
            self._launch_kernel(*self._how, self._current_stream().ptr, ctypes.addressof(self._pointers), 0)

    def _bind_context(self) -> None:
        """The driver's launch needs a context that is current in the calling thread; the runtime makes it so."""
        if not getattr(_threads, "has_context", False):
            self.device.array_module.cuda.runtime.free(0)
            _threads.has_context = True

    def _take_slot(self):
        with self.device.context():
            memory = self._module.cupy_module.get_global("sim_debug_slot")
            found = DebugSlot()
            memory.copy_to_host(ctypes.c_void_p(ctypes.addressof(found)), ctypes.sizeof(found))
            memory.memset(0, ctypes.sizeof(found))
        return found
