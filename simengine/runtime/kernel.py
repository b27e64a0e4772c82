"""Kernel: a CUDA C++ text that runs on the CPU and on GPUs."""

from __future__ import annotations

import ctypes
import functools
import logging
import os
import re
import tempfile
import threading
from collections.abc import Iterable
from pathlib import Path

from simengine.errors import KernelCompileError, LaunchError, callsite, did_you_mean
from simengine.fixed import Fixed
from simengine.runtime import arguments as checks
from simengine.runtime import build, cache, launch, modes, nvrtc, source
from simengine.runtime.devices import Device, get_device

log = logging.getLogger("simengine")

LANES = (1, 4, 8, 16, 32, 256, 512)
"""Sizes of a group of lanes; above 32 a group is a whole block."""

_libraries: dict[str, ctypes.CDLL] = {}
_modules: dict[tuple[str, int], object] = {}
_locks: dict[str, threading.Lock] = {}
_locks_guard = threading.Lock()


@functools.cache
def _generated_headers() -> dict[str, str]:
    from simengine import structs

    return structs.headers()


def inlined(name, headers: dict[str, str]) -> tuple[str, str]:
    """The text of a kernel's source behind platform.h, all includes inlined; and the source's label."""
    read = source.read_source(name)
    return (_inlined(read, headers) if headers or not read.ours else _inlined_own(read)), read.label


@functools.cache
def _inlined_own(read: source.Source) -> str:
    """Of a file of the package, whose headers do not change while it runs."""
    return _inlined(read, {})


def _inlined(read: source.Source, headers: dict[str, str]) -> str:
    return source.inline(read, {**_generated_headers(), **headers}, "platform.h")


def cpu_text(name: str, precision: str = "float32", **options) -> str:
    """The text that the host compiler is given for a kernel file."""
    return _finished(inlined(name, {})[0], precision, **options)


def _finished(
    text: str,
    precision: str,
    *,
    defines: dict | None = None,
    emulated: bool = False,
    debug: bool = False,
    gpu: dict | None = None,
) -> str:
    """The inlined text with its settings in front, checked arrays in debug, and for the CPU the trampolines behind."""
    settings = dict(defines or {})
    settings |= {"SIM_DOUBLE": 1} if precision == "float64" else {}
    settings |= {"SIM_EMULATED": 1} if emulated else {}
    settings |= {"SIM_DEBUG": 1} if debug else {}
    settings |= gpu or {}
    head = "".join(f"#define {name} {value}\n" for name, value in settings.items())
    kernels = _signatures(text).values()
    if debug:
        text = _with_checked_parameters(text, kernels)
    elif gpu is not None:
        text = _with_grid_constants(text, kernels)
    return head + text + (build.trampolines(kernels) if gpu is None else _size_tables(kernels))


def _size_tables(kernels: Iterable[source.Signature]) -> str:
    """For each kernel the sizes of its arguments, as constants that the host can read."""
    lines = ['#line 1 "generated/sizes"']
    for signature in kernels:
        lines.append(f'extern "C" __device__ int simk_sizes_{signature.name}[] = {{{build.size_list(signature)}}};')
    return "\n".join([*lines, ""])


def _with_grid_constants(text: str, kernels: Iterable[source.Signature]) -> str:
    """Structs that kernels take by value stay where a GPU's launch puts them: every thread would else copy all of a
    struct whose address a function is given (1.3 kB of a model) to memory of its own."""
    for signature in sorted(kernels, key=lambda s: -s.start):
        listed = text[signature.start : signature.end]
        for p in signature.parameters:
            if p.kind in ("struct", "scratch"):
                listed = re.sub(
                    rf"\bconst(\s+){p.type}(\s+){p.name}\b", rf"const\1__grid_constant__ {p.type}\2{p.name}", listed
                )
        text = text[: signature.start] + listed + text[signature.end :]
    return text


def _with_checked_parameters(text: str, kernels: Iterable[source.Signature]) -> str:
    """Pointer parameters of kernels become checked arrays."""
    for signature in sorted(kernels, key=lambda s: -s.start):
        listed = ", ".join(
            f"{'const ' if p.kind != 'array' else ''}{build.c_type(p)} {p.name}" for p in signature.parameters
        )
        lines = text.count("\n", signature.start, signature.end)
        text = text[: signature.start] + listed + "\n" * lines + text[signature.end :]
    return text


class Kernel(Fixed):
    """A kernel of one text: ``sim.Kernel("wind.cu", name="wind_force")``.

    ``source``: a file in ``kernels_cuda/``, a path of your own, or the text itself. ``name``: of a function
    ``extern "C" __global__ void name(...)`` in it; its parameters are pointers (arrays; to const: read only), scalars
    and structs by value. ``real`` is float or double as the arrays are. A comment behind a parameter may state its
    shape, ``const real* x,  // (n, 3)``, that it is ``optional`` (None is then a null pointer), and that it may be
    ``nonfinite``: infinities and NaN are answers, or what the kernel leaves as it was, which debug mode lets pass.
    ``adjoint``: name of the kernel that differentiates it, in the same text. ``defines``: macros. ``headers``:
    generated headers by name, in place of the default ones. Includes are looked for in ``headers``, beside
    the file and in ``kernels_cuda``; ``platform.h`` is always there. ``quick``: compile for a GPU in less time, to code
    that may run slower; results do not depend on it.

    Raises KernelCompileError where the text cannot be read; it is compiled at the first launch.
    """

    def __init__(
        self,
        source,
        name: str,
        adjoint: str | None = None,
        defines: dict | None = None,
        headers: dict | None = None,
        quick: bool = False,
    ):
        defines, headers = dict(defines or {}), dict(headers or {})
        self._functions: dict = {}
        self._text, self._label = inlined(source, headers)
        signatures = _signatures(self._text)
        for wanted in (name, *([adjoint] if adjoint else [])):
            if wanted not in signatures:
                raise KernelCompileError(
                    f'has no kernel extern "C" __global__ void {wanted}(...); it has: {", ".join(signatures) or "none"}'
                    + did_you_mean(wanted, signatures),
                    kernel=name,
                    file=self._label,
                )
        self._set(
            source=source,
            name=name,
            quick=quick,
            defines=defines,
            headers=headers,
            parameters=signatures[name].parameters,
            adjoint=Kernel(source, adjoint, None, defines, headers, quick) if adjoint else None,
        )

    def __repr__(self) -> str:
        return f"<Kernel {self.name} of {self._label}>"

    # texts and compiled forms

    def text(self, precision: str = "float32", device: str | Device = "cpu", lanes: int = 32, **options) -> str:
        """What a compiler is given, includes inlined. Options: ``debug``, ``emulated`` (CPU), ``poison`` (GPU)."""
        if device == "cpu" or (isinstance(device, Device) and not device.is_cuda):
            return _finished(self._text, precision, defines=self.defines, **options)
        poison = options.pop("poison", False)
        settings = {"SIM_LANES": lanes, **({"SIM_POISON": 1} if poison else {})}
        return _finished(self._text, precision, defines=self.defines, gpu=settings, **options)

    def module_label(self, precision: str, lanes: int | None = None, **options) -> str:
        """What is compiled, in words: the file, or the kernel of a bare text; precision, and what else sets it apart.

        ``lanes``: of a group, on a GPU; ``options`` as for ``text``.
        """
        name = self.name if self._label == "<text>" else Path(self._label).name
        special = ["specialised"] if "SIM_SPECIALISED" in self.defines else []
        special += [f"routines {self.defines['SIM_ROUTINES']}"] if "SIM_ROUTINES" in self.defines else []
        words = [precision, *special, *([] if lanes is None else [f"{lanes} lanes"])]
        return " ".join([name, *words, *(word for word, on in options.items() if on)])

    def show_source(self, precision: str = "float32", expand: bool = True) -> str:
        """The text as the CPU's compiler sees it; with ``expand`` after macro expansion (needs a compiler)."""
        text = self.text(precision)
        if not expand:
            return text
        with tempfile.TemporaryDirectory() as work:
            target = Path(work) / "expanded.txt"
            build.run_compiler(
                build.require_compiler(), text, target, build.architecture(), self.name, only_expand=True
            )
            return target.read_text(encoding="utf-8")

    def compile(self, device: str | Device = "cpu", precision: str = "float32", lanes: int = 32) -> None:
        """Compile (or take from the cache) and load now, so that the first launch need not."""
        device = get_device(device)
        if device.is_cuda:
            self.gpu_function(device, precision, lanes)
        else:
            self.cpu_function(precision)

    def is_prebuilt(self, device: Device, precision: str, lanes: int) -> bool:
        """Does a wheel bring it compiled for a GPU?"""
        return self.quick and nvrtc.find_prebuilt(self.text(precision, device, lanes), device.arch) is not None

    def compile_into_cache(self, device: Device, precision: str, lanes: int) -> None:
        """Compile where neither a wheel nor the cache has it, without loading it: safe in a thread beside others."""
        if device.is_cuda:
            compile_cubin(self, device.arch, precision, lanes)
        else:
            build.compile_text(self.text(precision), self.name, label=self.module_label(precision))

    def cpu_function(self, precision: str, emulated: bool = False, debug: bool = False) -> CpuFunction:
        """The compiled kernel on the CPU."""
        key = ("cpu", precision, emulated, debug)
        if key not in self._functions:
            text = self.text(precision, emulated=emulated, debug=debug)
            library = load_library(text, self.name, self.module_label(precision, emulated=emulated, debug=debug))
            self._functions[key] = CpuFunction(library, self.name, len(self.parameters), debug)
        return self._functions[key]

    def gpu_function(self, device: Device, precision: str, lanes: int, debug: bool = False, poison: bool = False):
        """The compiled kernel on a GPU: a function of CuPy, and its module."""
        key = (device.name, precision, lanes, debug, poison)
        if key not in self._functions:
            text = self.text(precision, device, lanes, debug=debug, poison=poison)
            label = self.module_label(precision, lanes, debug=debug, poison=poison)
            module = load_module(text, self.name, device, self.quick, label)
            self._functions[key] = (module.function(self.name, len(self.parameters)), module)
        return self._functions[key]

    # launches

    def launch(
        self,
        n: int,
        arguments=(),
        *,
        precision: str | None = None,
        device: str | Device | None = None,
        label: str | None = None,
    ) -> None:
        """Run the kernel over ``n`` items.

        ``arguments``: a sequence in the order of the parameters, or a dict by name; a first integer parameter ``n`` may
        be left out. Every argument is checked by name (LaunchError) before anything runs. Precision and device are
        those of the arrays unless given.
        """
        self.prepare(arguments, items=n, precision=precision, device=device, label=label)()

    def prepare(
        self,
        arguments,
        *,
        items: int | None = None,
        worlds: int | None = None,
        lanes: int | None = None,
        scratch: int = 0,
        spill: int = 0,
        block: int | None = None,
        precision: str | None = None,
        device: str | Device | None = None,
        label: str | None = None,
    ) -> launch.PreparedLaunch:
        """A launch whose arguments are checked once and that can be called many times.

        ``items``: of an element-wise kernel; or ``worlds`` with ``lanes`` of a group (GPU; default 32) and ``scratch``,
        bytes for each group, with ``spill`` more in global memory. ``lanes`` of an element-wise kernel: those of the
        other kernels that are to come from the same module. ``block``: threads of a block (GPU). ``label``: its name in
        a profile. Arrays are kept alive and must not be resized; scalars and structs may be changed with ``set``.
        """
        if (items is None) == (worlds is None):
            raise LaunchError("give either items or worlds", kernel=self.name, site=callsite())
        count = items if worlds is None else worlds
        if isinstance(count, bool) or not hasattr(count, "__index__") or count < 0:
            raise LaunchError(
                f"the number of items must be a whole number, 0 or more; got {count!r}",
                kernel=self.name,
                site=callsite(),
            )
        if lanes is not None and lanes not in LANES:
            raise LaunchError(f"lanes must be one of {LANES}, got {lanes!r}", kernel=self.name, site=callsite())
        values = checks.match(self.name, self.parameters, arguments, int(count))
        given = [p for p in self.parameters if p.kind != "scratch"]
        device = None if device is None else get_device(device)
        device, precision = checks.infer(self.name, given, values, device, precision)
        lanes = lanes or (1 if worlds is None else 32)
        shape = launch.Shape(int(count), worlds is not None, lanes, scratch, spill, block)
        kind = launch.GpuLaunch if device.is_cuda else launch.CpuLaunch
        return kind(self, values, shape, device, precision, label or self.name, modes.debug)


class CpuFunction:
    """A kernel in a loaded library. ``address`` of its trampoline; ``sizes`` of its arguments in bytes."""

    def __init__(self, library: ctypes.CDLL, name: str, count: int, debug: bool):
        self.library = library
        self.address = ctypes.cast(getattr(library, f"simk_{name}"), ctypes.c_void_p).value
        self.sizes = list((ctypes.c_int * (count + 1)).in_dll(library, f"simk_sizes_{name}"))[:count]
        self.slot = launch.DebugSlot.in_dll(library, "sim_debug_slot") if debug else None


class GpuModule:
    """A loaded cubin. ``sizes``: of the arguments of each kernel taken from it, in bytes."""

    def __init__(self, path: Path, device: Device):
        self.device = device
        self.sizes: dict[str, list[int]] = {}
        with device.apart():
            self.cupy_module = device.array_module.RawModule(path=str(path))
            self.cupy_module.compile()  # loads it now

    def function(self, name: str, count: int):
        """A function of CuPy; reads its sizes."""
        with self.device.apart():
            sizes = (ctypes.c_int * (count + 1))()
            memory = self.cupy_module.get_global(f"simk_sizes_{name}")
            memory.copy_to_host(ctypes.c_void_p(ctypes.addressof(sizes)), ctypes.sizeof(sizes))
            self.sizes[name] = list(sizes)[:count]
            return self.cupy_module.get_function(name)


@functools.lru_cache(maxsize=256)
def _signatures(text: str) -> dict[str, source.Signature]:
    return source.signatures(text)


def _lock_of(key: str) -> threading.Lock:
    with _locks_guard:
        return _locks.setdefault(key, threading.Lock())


def load_library(text: str, kernel: str, label: str | None = None) -> ctypes.CDLL:
    """The loaded library of a text, compiled where neither a wheel nor the cache has it."""
    key = cache.key_of(text, os.environ.get("CXX", ""))
    if key not in _libraries:
        with _lock_of(key):
            if key not in _libraries:
                _libraries[key] = build.open_library(build.compile_text(text, kernel, label=label), kernel)
    return _libraries[key]


def load_module(text: str, kernel: str, device: Device, quick: bool = False, label: str | None = None):
    """The CuPy module of a text on a GPU, compiled where the cache has none."""
    key = (cache.key_of(text, device.arch, str(quick)), device.index)
    if key not in _modules:
        with _lock_of(f"{key}"):
            if key not in _modules:
                _modules[key] = _load_module(text, kernel, device, quick, label)
    return _modules[key]


def _load_module(text: str, kernel: str, device: Device, quick: bool, label: str | None) -> GpuModule:
    """What a wheel brings a GPU may refuse, as those of Tegra do: then it is compiled."""
    path = nvrtc.compile_text(text, kernel, device.arch, quick, label)
    try:
        return GpuModule(path, device)
    except device.array_module.cuda.driver.CUDADriverError as error:
        if not build.forget_prebuilt(path):
            raise
        log.warning("the prebuilt kernel %s is not for %s (%s): it is compiled", path.name, device.arch, error)
    return GpuModule(nvrtc.compile_text(text, kernel, device.arch, quick, label), device)


def compile_cubin(kernel: Kernel, arch: str = "sm_90", precision: str = "float32", lanes: int = 32, **options) -> Path:
    """Compile a kernel for a GPU architecture; no GPU is needed. Returns the cubin's path in the cache."""
    text = kernel.text(precision, "cuda", lanes, **options)
    return nvrtc.compile_text(text, kernel.name, arch, kernel.quick, kernel.module_label(precision, lanes, **options))
