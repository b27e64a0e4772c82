"""``doctor``: what this machine has, what is missing and how to mend it, and a bare kernel run on each device."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import platform
import sys
from dataclasses import dataclass

import numpy as np

from simengine.errors import SimError
from simengine.runtime import build, cache, devices, nvrtc, pool

EXTRAS = {
    "cupy": ("cuda13", "GPUs"),
    "pxr": ("usd", "USD recording"),
    "scipy": ("meshes", "convex hulls"),
    "coacd": ("meshes", "convex decomposition"),
    "ziglang": ("cpu-jit", "compiling kernels where no compiler is installed"),
}
"""Module, the extra that brings it, and what it is for."""


@dataclass(frozen=True)
class Finding:
    """One line of a report. ``good``: True, False (something does not work), or None (an extra that is not there)."""

    name: str
    good: bool | None
    detail: str
    mend: str = ""

    def __str__(self) -> str:
        mark = {True: "ok     ", False: "PROBLEM", None: "absent "}[self.good]
        return f"{mark}  {self.name}: {self.detail}" + (f"\n         mend: {self.mend}" if self.mend else "")


def doctor() -> list[Finding]:
    """Findings about Python, extras, compilers, the cache and every device; nothing raises."""
    findings = [
        Finding(
            "python",
            True,
            f"{platform.python_version()} on {sys.platform} {platform.machine()}, NumPy {np.__version__}",
        )
    ]
    findings += [_extra(module) for module in EXTRAS]
    findings += [_compiler(), _nvrtc(), _cache(), _processor()]
    findings += [_run_on(device) for device in devices.devices()]
    if problem := devices.gpu_problem():
        findings.append(Finding("GPU", None, "none can be used", problem))
    return findings


def _extra(module: str) -> Finding:
    extra, purpose = EXTRAS[module]
    if importlib.util.find_spec(module) is None:
        return Finding(
            f"extra {extra}", None, f"{module} is not installed ({purpose})", f'pip install "simengine[{extra}]"'
        )
    packages = importlib.metadata.packages_distributions().get(module, [module])
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in sorted(set(packages)))
    return Finding(f"extra {extra}", True, f"{versions} ({purpose})")


def _compiler() -> Finding:
    prebuilt = any((place / "manifest.json").is_file() for place in build.prebuilt_folders())
    has = "general kernels are prebuilt" if prebuilt else "no prebuilt kernels (a checkout)"
    try:
        found = build.find_compiler()
    except SimError as error:
        return Finding("C++ compiler", False, str(error))
    if found is None:
        advice = 'pip install "simengine[cpu-jit]"'
        return Finding("C++ compiler", None if prebuilt else False, f"none; {has}", advice)
    return Finding("C++ compiler", True, f"{' '.join(found.command)}; {has}")


def _nvrtc() -> Finding:
    if nvrtc.is_available():
        return Finding("NVRTC", True, f"{nvrtc.version()} at {nvrtc.library()._name}")
    return Finding("NVRTC", None, "not found (compiles kernels for GPUs)", 'pip install "simengine[cuda13]"')


def _cache() -> Finding:
    wanted, used = cache.wanted_folder(), cache.folder()
    if used != wanted:
        return Finding(
            "kernel cache",
            False,
            f"{wanted} cannot be used, {used} for now",
            "set SIMENGINE_CACHE_DIR to a folder of your own",
        )
    held = cache.entries()
    return Finding(
        "kernel cache", True, f"{used}: {len(held)} kernels, {sum(entry['bytes'] for entry in held) / 1e6:.1f} MB"
    )


def _processor() -> Finding:
    try:
        return Finding("processor", True, f"{build.architecture()}, {pool.num_threads()} threads")
    except SimError as error:
        return Finding("processor", False, str(error))


def _run_on(device: devices.Device) -> Finding:
    from simengine.runtime.kernel import Kernel

    name = f"kernel on {device.name}"
    try:
        x = device.asarray(np.arange(1000, dtype=np.float32))
        y = device.zeros((1000,), np.float32)
        Kernel("doctor.cu", "doctor_probe").launch(1000, [x, y])
        device.synchronize()
        values = y.get() if device.is_cuda else y
    except Exception as error:  # whatever is wrong with this machine is a finding
        return Finding(name, False, f"{type(error).__name__}: {error}")
    right = bool(np.array_equal(values, 2 * np.arange(1000, dtype=np.float32) + 1))
    detail = f"runs ({_title(device)})" if right else "gave wrong numbers"
    return Finding(name, right, detail, "" if right else "report this with the output of simengine doctor")


def _title(device: devices.Device) -> str:
    if not device.is_cuda:
        return build.architecture()
    facts = device.array_module.cuda.runtime.getDeviceProperties(device.index)
    return f"{facts['name'].decode()}, {device.arch}, {facts['totalGlobalMem'] / 2**30:.0f} GiB"
