"""Compiles kernels for the CPU. All flags stand here; the wheel's build calls ``python -m simengine.runtime.build``."""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import functools
import importlib.util
import json
import logging
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from simengine.errors import KernelCompileError
from simengine.progress import note_if_long
from simengine.runtime import cache, modes, source

log = logging.getLogger("simengine")

FLAGS = (
    "-std=c++17",
    "-O3",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fno-exceptions",
    "-fno-rtti",
    "-fno-threadsafe-statics",
    "-fvisibility=hidden",
    "-fPIC",
    "-shared",
    "-pthread",
    "-Wdouble-promotion",
    "-Werror=double-promotion",
    "-Wsequence-point",
    "-Werror=sequence-point",
)

WARNINGS = ("-Wall", "-Werror")
"""Added where our own kernels are checked; not on users' machines, whose compilers may know new warnings."""

ARCHITECTURES = {
    "x86-64-v3": (("-march=x86-64-v3",), ("-mcpu=x86_64_v3",)),
    "x86-64": (("-march=x86-64",), ("-mcpu=x86_64",)),
    "aarch64": ((), ("-mcpu=generic",)),
}
"""Flags of g++ and clang, and of ziglang, which else tunes for this very machine."""

PREBUILT = (
    "bvh_build.cu",
    "bvh_query.cu",
    "broad_dense.cu",
    "broad_phase.cu",
    "collide.cu",
    "collide_any.cu",
    "collide_sdf.cu",
    "distance_sdf.cu",
    "contact_sensor.cu",
    "doctor.cu",
    "eval.cu",
    "featherstone.cu",
    "grid_build.cu",
    "hash_grid.cu",
    "mesh_query.cu",
    "model_update.cu",
    "narrow_phase.cu",
    "narrow_primitives.cu",
    "narrow_sdf.cu",
    "ray_cast.cu",
    "reset.cu",
    "scan.cu",
    "sdf.cu",
    "shape_distance.cu",
    "shape_radii.cu",
    "sort.cu",
)
"""Kernels of general form that a wheel brings compiled."""

MOST_COMPILERS = 8
"""That run at once where a wheel is built: one may take 1 GB of memory."""

ERROR = re.compile(r"^(?P<file>[^\n:]+):(?P<line>\d+):(?:\d+:)? (?:fatal )?error: (?P<message>.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Compiler:
    """A C++ compiler: the words that call it, and what tells it from others."""

    command: tuple[str, ...]
    is_zig: bool

    @functools.cached_property
    def identity(self) -> str:
        """Changes when the compiler does: the resolved programs with their size and date."""
        facts = []
        for word in self.command:
            path = shutil.which(word)
            if path:
                real = os.path.realpath(path)
                stats = os.stat(real)
                facts.append(f"{real}:{stats.st_size}:{stats.st_mtime_ns}")
            else:
                facts.append(word)
        if self.is_zig and (spec := importlib.util.find_spec("ziglang")):
            facts.append(f"{spec.origin}:{os.stat(spec.origin).st_mtime_ns}")
        return "\n".join(facts)


_compilers: dict[tuple[str | None, str | None], Compiler] = {}


def find_compiler() -> Compiler | None:
    """The first of $CXX, c++, g++, clang++ and the package ziglang, or None. $CXX is split, never given to a shell.

    One that was found stays for this $CXX and $PATH: each kernel asks, and a search is slow on some file systems.
    """
    key = (os.environ.get("CXX"), os.environ.get("PATH"))
    if key not in _compilers and (found := _search_compiler(key[0])):
        _compilers[key] = found
    return _compilers.get(key)


def _search_compiler(named: str | None) -> Compiler | None:
    if named:
        words = tuple(shlex.split(named))
        if not words or shutil.which(words[0]) is None:
            raise KernelCompileError(
                f"the compiler of the environment variable CXX={named!r} is not there: mend or unset CXX"
            )
        return Compiler(words, any("zig" in os.path.basename(word) for word in words))
    for name in ("c++", "g++", "clang++"):
        if shutil.which(name):
            return Compiler((name,), False)
    if importlib.util.find_spec("ziglang") is not None:
        return Compiler((sys.executable, "-m", "ziglang", "c++"), True)
    return None


def require_compiler() -> Compiler:
    """As ``find_compiler``; KernelCompileError that says how to get one where there is none."""
    found = find_compiler()
    if found is None:
        raise KernelCompileError(
            'no C++ compiler is there (looked for $CXX, c++, g++, clang++): pip install "simengine[cpu-jit]" brings one'
        )
    return found


def machine() -> str:
    """This machine's processor family: x86-64 or aarch64."""
    name = platform.machine().lower()
    if name in ("x86_64", "amd64"):
        return "x86-64"
    if name in ("aarch64", "arm64"):
        return "aarch64"
    raise KernelCompileError(f"kernels do not run on a {name} processor; x86-64 and aarch64 are known")


@functools.cache
def architecture() -> str:
    """The key of ARCHITECTURES that this machine runs."""
    if machine() == "aarch64":
        return "aarch64"
    from simengine.runtime import pool

    return "x86-64-v3" if pool.cpu_level() >= 3 else "x86-64"


def options(compiler: Compiler, arch: str, warnings: bool = False) -> list[str]:
    """All options of a compilation but the names of files."""
    flags = [*FLAGS, *ARCHITECTURES[arch][compiler.is_zig], *(WARNINGS if warnings else ())]
    if compiler.is_zig:
        return [*flags, "-nostdlib++"]
    # the C++ library is not needed and not linked
    return [*flags, *(("-Wl,--as-needed", "-Wl,-Bsymbolic") if sys.platform == "linux" else ())]


def content_key(text: str, arch: str) -> str:
    """What a prebuilt library is known by: its text and the flags, whoever compiled it."""
    return cache.key_of(text, " ".join(FLAGS), arch)


def compile_text(text: str, kernel: str = "", arch: str | None = None, label: str | None = None) -> Path:
    """The shared library of a text: prebuilt, cached or compiled now. Raises KernelCompileError.

    ``kernel``: its name in errors. ``label``: of the text in the log, in a profile and in the cache; default the name.
    """
    arch = arch or architecture()
    if (path := find_compiled(text, arch)) is not None:
        return path
    compiler = require_compiler()
    key = library_key(text, compiler, arch)
    with compiling(label or kernel, arch), cache.work_folder() as work:
        made = Path(work) / "kernel.so"
        run_compiler(compiler, text, made, arch, kernel)
        return cache.store(key, ".so", made, label or kernel)


@contextlib.contextmanager
def compiling(label: str, arch: str) -> Iterator[None]:
    """Around a compilation that all wait for: a person is told if it is long, and it is noted at its end."""
    started = time.perf_counter()
    with note_if_long(f"simengine compiles {label or 'kernels'} for {arch}; done once, then kept in {cache.folder()}"):
        yield
    note_compilation(label, arch, time.perf_counter() - started)


def note_compilation(label: str, arch: str, seconds: float) -> None:
    """Log a compilation, and count it where a profile is on."""
    log.info("compiled %s for %s in %.2f s", label or "kernels", arch, seconds)
    if modes.profile is not None:
        modes.profile.add_compile(label, seconds)


def open_library(path: Path, kernel: str = "") -> ctypes.CDLL:
    """Load a compiled library; KernelCompileError where that fails."""
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        advice = "reinstall simengine" if path.parent in prebuilt_folders() else "set SIMENGINE_CACHE_DIR elsewhere"
        message = f"the compiled library cannot be loaded ({error}): {advice}"
        raise KernelCompileError(message, kernel=kernel) from error


def find_compiled(text: str, arch: str | None = None) -> Path | None:
    """The shared library of a text where it is prebuilt or cached, else None."""
    arch = arch or architecture()
    if (built := find_prebuilt(content_key(text, arch))) is not None:
        return built
    compiler = find_compiler()
    return None if compiler is None else cache.find(library_key(text, compiler, arch), ".so")


def library_key(text: str, compiler: Compiler, arch: str) -> str:
    """Key of a compiled text in the cache: text, options, compiler and architecture."""
    return cache.key_of(text, " ".join(options(compiler, arch)), compiler.identity, arch)


def run_compiler(
    compiler: Compiler,
    text: str,
    target: Path,
    arch: str,
    kernel: str = "",
    *,
    warnings: bool = False,
    only_expand: bool = False,
) -> None:
    """Compile ``text`` into the shared library ``target``, or expand its macros into it. Raises KernelCompileError."""
    written = target.with_suffix(".cpp")
    written.write_text(text, encoding="utf-8")
    flags = ["-E", "-P", "-std=c++17"] if only_expand else options(compiler, arch, warnings)
    command = [*compiler.command, *flags, "-x", "c++", str(written), "-o", str(target)]
    if not only_expand:
        command += ["-x", "none", "-lm"] if not compiler.is_zig else ["-lm"]
    environment = dict(os.environ)
    environment["LC_ALL"] = "C"
    if compiler.is_zig:
        environment.setdefault("ZIG_GLOBAL_CACHE_DIR", str(cache.folder() / "zig"))
        environment["ZIG_LOCAL_CACHE_DIR"] = str(target.parent / "zig-local")
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=target.parent, check=False)
    if done.returncode != 0 or not target.exists():
        raise compile_error(kernel, text, done.stderr + done.stdout, ERROR, " ".join(command))


def compile_error(kernel: str, text: str, words: str, pattern: re.Pattern, command: str) -> KernelCompileError:
    """The compiler's words as a KernelCompileError: the first error with its file, line and source line."""
    found = pattern.search(words)
    if not found:
        return KernelCompileError(f"the compiler failed: {command}", kernel=kernel, log=words or "(it said nothing)")
    line = int(found["line"])
    excerpt = line_of(text, found["file"], line)
    return KernelCompileError(
        found["message"], kernel=kernel, file=found["file"], line=line, excerpt=excerpt, log=words
    )


def line_of(text: str, file: str, line: int) -> str:
    """The source line that ``#line`` marks as line ``line`` of ``file``."""
    current, number = "", 1
    for row in text.splitlines():
        if marker := re.match(r'#line (\d+) "(.*)"', row):
            current, number = marker[2], int(marker[1])
            continue
        if current == file and number == line:
            return row
        number += 1
    return ""


def trampolines(kernels: Iterable[source.Signature]) -> str:
    """For each kernel the function that the CPU's launch calls, ``simk_<name>``, and the sizes of its arguments."""
    lines = ['#line 1 "generated/trampolines"']
    for signature in kernels:
        values = [_value(parameter, i) for i, parameter in enumerate(signature.parameters)]
        lines += [
            f'extern "C" SIM_EXPORT void simk_{signature.name}(void** arguments, const CpuLaunch* launch) {{',
            "    const CpuLaunch* const outer = sim_launch;",
            "    sim_launch = launch;",
            *([] if values else ["    (void)arguments;"]),
            f"    {signature.name}({', '.join(values)});",
            "    sim_launch = outer;",
            "}",
            f'extern "C" {{ SIM_EXPORT int simk_sizes_{signature.name}[] = {{{size_list(signature)}}}; }}',
        ]
    return "\n".join([*lines, ""])


def _value(parameter: source.Parameter, position: int) -> str:
    if parameter.kind == "scratch":
        return f"sim_own_scratch(*static_cast<Scratch*>(arguments[{position}]), launch)"
    return f"*static_cast<{c_type(parameter)}*>(arguments[{position}])"


def size_list(signature: source.Signature) -> str:
    """The sizes of a kernel's arguments in bytes as C expressions, and a zero at the end."""
    return ", ".join([*(f"int(sizeof({c_type(parameter)}))" for parameter in signature.parameters), "0"])


def c_type(parameter: source.Parameter) -> str:
    """The type of a parameter that holds its value."""
    if parameter.kind != "array":
        return parameter.type
    return f"SIM_ARRAY({'const ' if parameter.read_only else ''}{parameter.type})"


# ---- what a wheel brings -------------------------------------------------------------------------------------------


def prebuilt_folders() -> list[Path]:
    """Folders in which a wheel's build left compiled kernels."""
    import simengine

    return [Path(place) / "_prebuilt" for place in simengine.__path__]


@functools.cache
def _manifest() -> dict[str, Path]:
    found: dict[str, Path] = {}
    for place in prebuilt_folders():
        if (place / "manifest.json").is_file():
            names = json.loads((place / "manifest.json").read_text(encoding="utf-8"))
            found.update({key: place / name for key, name in names.items()})
    return found


def find_prebuilt(key: str) -> Path | None:
    """The prebuilt library whose text and flags have this key, or None: then the kernel is compiled."""
    path = _manifest().get(key)
    return path if path is not None and path.is_file() else None


def forget_prebuilt(path: Path) -> bool:
    """Leave a prebuilt file out in this process from now on; whether it was one."""
    keys = [key for key, known in _manifest().items() if known == path]
    for key in keys:
        del _manifest()[key]
    return bool(keys)


def prebuild(target: Path) -> list[str]:
    """Compile the pool and the general kernels of PREBUILT into ``target``, and where NVRTC is installed those of
    ``nvrtc.PREBUILT`` for GPUs, with a manifest; returns the file names."""
    from simengine.runtime import nvrtc, pool
    from simengine.runtime.kernel import cpu_text

    compiler = require_compiler()
    arches = ("x86-64-v3", "x86-64") if machine() == "x86-64" else ("aarch64",)
    jobs = [("pool", pool.text(), arches[-1])]
    for name in PREBUILT:
        for precision in ("float32", "float64"):
            text = cpu_text(name, precision)
            jobs += [(f"{Path(name).stem}-{precision}", text, arch) for arch in arches]
    target.mkdir(parents=True, exist_ok=True)

    def make(job: tuple[str, str, str]) -> tuple[str, str]:
        label, text, arch = job
        library = f"{label}-{arch}.so"
        run_compiler(compiler, text, target / library, arch, label)
        (target / library).with_suffix(".cpp").unlink()
        return content_key(text, arch), library

    with ThreadPoolExecutor(min(pool.default_threads(), MOST_COMPILERS)) as threads:
        manifest = dict(threads.map(make, jobs)) | nvrtc.prebuild(target, threads)
    (target / "manifest.json").write_text(json.dumps(manifest, indent=1), encoding="utf-8")
    return list(manifest.values())


def main(arguments: list[str] | None = None) -> int:
    """Command line of the wheel's build."""
    parser = argparse.ArgumentParser(prog="python -m simengine.runtime.build", description=main.__doc__)
    parser.add_argument("target", type=Path, help="folder that the compiled kernels are put into")
    for name in prebuild(parser.parse_args(arguments).target.resolve()):
        print(name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
