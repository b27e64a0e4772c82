"""Compiles test kernels for the CPU with each compiler at hand and calls them, below the runtime's launch.

Tests of the headers stand on this, so that they choose compiler, instruction set, precision and emulated lanes.
"""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import shutil
import struct
import sys
import tempfile
from pathlib import Path

import numpy as np

from simengine.runtime import build, cache, source

COMPILERS = {}
if shutil.which("g++"):
    COMPILERS["g++"] = build.Compiler(("g++",), False)
if importlib.util.find_spec("ziglang"):
    COMPILERS["clang"] = build.Compiler((sys.executable, "-m", "ziglang", "c++"), True)

PRECISIONS = ("float32", "float64")


class Launch(ctypes.Structure):
    """CpuLaunch of platform.h."""

    _fields_ = [
        ("chunk", ctypes.c_int),
        ("chunks", ctypes.c_int),
        ("lanes", ctypes.c_int),
        ("seed", ctypes.c_uint),
        ("poison", ctypes.c_int),
        ("padding", ctypes.c_int),
        ("scratch", ctypes.c_void_p),
    ]


class Scratch(ctypes.Structure):
    """Scratch of platform.h."""

    _fields_ = [
        ("base", ctypes.c_void_p),
        ("stride", ctypes.c_longlong),
        ("shared", ctypes.c_int),
        ("spill", ctypes.c_void_p),
        ("spill_stride", ctypes.c_longlong),
    ]


def full_text(text: str, precision: str, defines: tuple[str, ...] = ()) -> str:
    """A test kernel's text for the host: definitions, the text with includes inlined, trampolines."""
    inlined = device_text(text, precision, defines)
    return inlined + build.trampolines(source.signatures(inlined).values())


def device_text(text: str, precision: str, defines: tuple[str, ...] = ()) -> str:
    """A test kernel's text for NVRTC: definitions (a name, or a name and its value), the text with includes inlined."""
    words = [*defines, *(["SIM_DOUBLE"] if precision == "float64" else [])]
    head = "".join(f"#define {word if ' ' in word else word + ' 1'}\n" for word in words)
    return head + source.inline(source.Source("test", text, None, False), {})


@functools.cache
def library(text: str, precision: str, compiler: str, defines: tuple[str, ...] = (), arch: str = "") -> ctypes.CDLL:
    """The loaded library of a test kernel, warnings being errors."""
    arch = arch or build.architecture()
    complete = full_text(text, precision, defines)
    key = cache.key_of("test", build.library_key(complete, COMPILERS[compiler], arch))
    path = cache.find(key, ".so")
    if path is None:
        with tempfile.TemporaryDirectory() as folder:
            made = Path(folder) / "kernel.so"
            build.run_compiler(COMPILERS[compiler], complete, made, arch, "test", warnings=True)
            path = cache.store(key, ".so", made)
    return ctypes.CDLL(str(path))


def call(
    loaded: ctypes.CDLL, name: str, *arguments, lanes: int = 1, seed: int = 0, poison: bool = False, scratch: int = 0
):
    """Call a kernel of ``library`` in this thread: arrays by pointer, int and ctypes values by value.

    ``scratch``: bytes of a group's memory; the parameter of type Scratch is given as ``Scratch(0, scratch)`` besides.
    """
    memory = np.zeros(scratch + 64, np.uint8)
    start = -memory.ctypes.data % 64
    launch = Launch(0, 1, lanes, seed, int(poison), 0, memory.ctypes.data + start)
    values = []
    for argument in arguments:
        if isinstance(argument, np.ndarray):
            assert argument.flags.c_contiguous
            values.append(ctypes.c_void_p(argument.ctypes.data))
        elif isinstance(argument, int):
            values.append(ctypes.c_int(argument))
        else:
            values.append(argument)
    pointers = (ctypes.c_void_p * max(len(values), 1))(*(ctypes.addressof(value) for value in values))
    getattr(loaded, f"simk_{name}")(pointers, ctypes.byref(launch))


def bits(array: np.ndarray) -> np.ndarray:
    """The bits of an array of floats, all NaNs alike."""
    whole = np.where(np.isnan(array), np.array(np.nan, array.dtype), array)
    return whole.view(np.uint32 if array.dtype == np.float32 else np.uint64)


def ulps(got: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """Error in units in the last place of the exact result (given in extended precision); 0 where both are the same."""
    with np.errstate(all="ignore"):
        rounded = exact.astype(got.dtype)
        unit = np.maximum(np.spacing(np.abs(rounded)), np.finfo(got.dtype).smallest_subnormal).astype(np.longdouble)
        error = np.abs(got.astype(np.longdouble) - exact) / unit
    return np.where((got == rounded) | (np.isnan(got) & np.isnan(rounded)), 0, error).astype(np.float64)


def local_bytes(cubin: bytes) -> list[int]:
    """Bytes of local memory of each function of a cubin: the attribute EIATTR_FRAME_SIZE of its section .nv.info."""
    (start,) = struct.unpack_from("<Q", cubin, 0x28)
    size, count, names = struct.unpack_from("<3H", cubin, 0x3A)
    headers = [struct.unpack_from("<2I4Q", cubin, start + i * size) for i in range(count)]
    name_table = headers[names][4]
    frames = []
    for name, _, _, _, offset, length in headers:
        if cubin[name_table + name :].split(b"\0", 1)[0] != b".nv.info":
            continue
        place = offset
        while place < offset + length:
            kind, attribute, value = struct.unpack_from("<2BH", cubin, place)
            if attribute == 0x11:
                frames.append(struct.unpack_from("<2I", cubin, place + 4)[1])
            place += 4 + (value if kind == 4 else 0)
    return frames
