"""Compiles kernels for GPUs with NVRTC, through ctypes: no GPU, no driver and no CuPy are needed."""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import re
import sys
from concurrent.futures import Executor
from pathlib import Path

from simengine.errors import KernelCompileError, MissingExtraError
from simengine.runtime import build, cache, source

OPTIONS = ("--std=c++17", "--fmad=false", "--device-as-default-execution-space")
"""Contraction off; denormals and IEEE division and root are NVRTC's defaults. Unmarked functions run on the device."""

QUICK = ("--Ofast-compile=mid", "--split-compile=0")
"""Leaves out costly optimisations, so that large kernels are compiled in a tenth of the time, and makes machine code of
the functions on all processors at once. No result depends on it."""

PREBUILT = ("collide_any.cu", "featherstone.cu", "model_update.cu")
PREBUILT_LANES, PREBUILT_PRECISION = (4, 8, 16, 32), "float32"
PREBUILT_ARCHES = ("sm_75", "sm_80", "sm_90", "sm_100", "sm_120")
"""What a wheel brings compiled: the general kernels that a first step waits for."""

INVALID_OPTION = 5
"""nvrtcResult NVRTC_ERROR_INVALID_OPTION: an NVRTC that does not know all of QUICK."""

LIBRARIES = ("libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so")

ERROR = re.compile(
    r"^(?P<file>[^\n(]+)\((?P<line>\d+)\): (?:catastrophic )?error(?: #[\w-]+)?: *(?P<message>.*)$", re.MULTILINE
)


@functools.cache
def library() -> ctypes.CDLL:
    """NVRTC of the packages nvidia-cuda-nvrtc (CUDA 13) or nvidia-cuda-nvrtc-cu12, else the system's."""
    for path in [*_packaged(), *LIBRARIES]:
        try:
            loaded = ctypes.CDLL(str(path))
        except OSError:
            continue
        loaded.nvrtcGetErrorString.restype = ctypes.c_char_p
        return loaded
    raise MissingExtraError("nvidia-cuda-nvrtc", "cuda13", "compiling a kernel for a GPU")


def _packaged() -> list[Path]:
    try:
        spec = importlib.util.find_spec("nvidia")
    except (ImportError, ValueError):
        return []
    places = [Path(place) for place in (spec.submodule_search_locations or [])] if spec else []
    found = []
    for pattern in ("cu13/lib/libnvrtc.so.*", "cuda_nvrtc/lib/libnvrtc.so.*"):
        found += [path for place in places for path in sorted(place.glob(pattern)) if ".alt." not in path.name]
    return found


def is_available() -> bool:
    """Whether NVRTC can be loaded."""
    try:
        library()
    except MissingExtraError:
        return False
    return True


@functools.cache
def version() -> str:
    """NVRTC's version, such as "13.0"."""
    major, minor = ctypes.c_int(), ctypes.c_int()
    _check(library().nvrtcVersion(ctypes.byref(major), ctypes.byref(minor)))
    return f"{major.value}.{minor.value}"


def compile_text(text: str, kernel: str, arch: str, quick: bool = False, label: str | None = None) -> Path:
    """The cubin of a text for an architecture such as "sm_90", from the cache or compiled now.

    ``quick``: compile in less time to code that may run slower. ``kernel`` and ``label`` as in build.compile_text.
    """
    if (path := find_compiled(text, arch, quick)) is not None:
        return path
    with build.compiling(label or kernel, arch), cache.work_folder() as work:
        made = Path(work) / "kernel.cubin"
        made.write_bytes(compile_bytes(text, kernel, _options(arch, quick)))
        return cache.store(_key(text, arch, quick), ".cubin", made, label or kernel)


def find_compiled(text: str, arch: str, quick: bool = False) -> Path | None:
    """The cubin of a text where it is prebuilt or cached, else None."""
    if quick and (brought := find_prebuilt(text, arch)) is not None:
        return brought
    return cache.find(_key(text, arch, quick), ".cubin")


def find_prebuilt(text: str, arch: str) -> Path | None:
    """The cubin of a text that a wheel brings, else None; it runs on the later GPUs of its generation too."""
    least = next((least for least in PREBUILT_ARCHES if least[:-1] == arch[:-1] and least <= arch), None)
    return None if least is None else build.find_prebuilt(_content_key(text, least))


def prebuild(target: Path, threads: Executor) -> dict[str, str]:
    """Compile the kernels of PREBUILT into ``target``; names of the files by what ``build.find_prebuilt`` is given.
    Nothing where NVRTC is not installed, which is said: they are then compiled when they are needed."""
    from simengine.runtime.kernel import Kernel, inlined

    if not is_available():
        print(
            "NVRTC is not installed (pip install nvidia-cuda-nvrtc): nothing is built for GPUs, whose kernels are "
            "compiled when they are first used",
            file=sys.stderr,
        )
        return {}

    def make(job: tuple[str, str, str, str]) -> tuple[str, str]:
        text, name, arch, cubin = job
        (target / cubin).write_bytes(compile_bytes(text, name, _options(arch, True)))
        return _content_key(text, arch), cubin

    jobs = []
    for file in PREBUILT:
        name = next(iter(source.signatures(inlined(file, {})[0])))
        for lanes in PREBUILT_LANES:
            text = Kernel(file, name).text(PREBUILT_PRECISION, "cuda", lanes)
            for arch in PREBUILT_ARCHES:
                jobs.append((text, name, arch, f"{Path(file).stem}-{PREBUILT_PRECISION}-{lanes}-{arch}.cubin"))
    return dict(threads.map(make, jobs))


def _content_key(text: str, arch: str) -> str:
    """What a prebuilt cubin is known by: its text and the options, whatever NVRTC compiled it."""
    return cache.key_of(text, " ".join(_options(arch, True)), arch)


def _options(arch: str, quick: bool) -> tuple[str, ...]:
    return (*OPTIONS, f"--gpu-architecture={arch}", *(QUICK if quick else ()))


def _key(text: str, arch: str, quick: bool) -> str:
    return cache.key_of(text, " ".join(_options(arch, quick)), f"nvrtc {version()} {library()._name}", arch)


def compile_bytes(text: str, kernel: str, options: tuple[str, ...]) -> bytes:
    """A cubin. Raises KernelCompileError with the file, the line and NVRTC's words."""
    nvrtc = library()
    program = ctypes.c_void_p()
    _check(nvrtc.nvrtcCreateProgram(ctypes.byref(program), text.encode(), f"{kernel}.cu".encode(), 0, None, None))
    try:
        words = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
        code = nvrtc.nvrtcCompileProgram(program, len(options), words)
        if code == INVALID_OPTION and options[-1] in QUICK:
            return compile_bytes(text, kernel, options[:-1])
        if code:
            output = _text_of(nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog, program)
            error = output.decode(errors="replace") or nvrtc.nvrtcGetErrorString(code).decode()
            raise build.compile_error(kernel, text, error, ERROR, f"nvrtc {' '.join(options)}")
        return _text_of(nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN, program, cut=0)
    finally:
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))


def _text_of(size_of, get, program, cut: int = 1) -> bytes:
    size = ctypes.c_size_t()
    _check(size_of(program, ctypes.byref(size)))
    buffer = ctypes.create_string_buffer(size.value)
    _check(get(program, buffer))
    return buffer.raw[: size.value - cut]


def _check(code: int) -> None:
    if code:
        raise KernelCompileError(f"NVRTC failed: {library().nvrtcGetErrorString(code).decode()}")
