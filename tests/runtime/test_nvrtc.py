"""Compiling for GPUs where there is none."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest

import simengine as sim
from simengine.errors import KernelCompileError
from simengine.runtime import build, cache, kernel, nvrtc
from simengine.runtime.devices import Device
from simengine.runtime.kernel import Kernel, compile_cubin

pytestmark = pytest.mark.skipif(not nvrtc.is_available(), reason="needs NVRTC: pip install nvidia-cuda-nvrtc")

TEXT = """
#include "lanes.h"
SIM_FUNCTION real twice(real x) { return x + x; }
real unmarked(real x) { return twice(x); }
extern "C" __global__ void work(int worlds, const real* x, real* y, const Scratch scratch) {
    for_each_world(worlds, scratch, [&](Lanes& lanes, int world, char*) {
        const real total = lanes.sum_over(8, [&](int i) { return unmarked(x[8 * world + i]); });
        if (lanes.lane() == 0) y[world] = total;
    });
}
"""


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SIMENGINE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(cache, "_chosen", {})


@pytest.mark.parametrize("lanes", [1, 32])
def test_a_kernel_compiles_to_a_cubin_without_a_gpu_and_is_cached(precision, lanes):
    kernel = sim.Kernel(TEXT, "work")
    path = compile_cubin(kernel, "sm_90", precision, lanes)
    assert path.read_bytes()[:4] == b"\x7fELF"
    stamp = path.stat().st_mtime_ns
    assert compile_cubin(kernel, "sm_90", precision, lanes) == path
    assert path.stat().st_mtime_ns == stamp


def test_precision_lanes_architecture_and_debug_are_part_of_the_key():
    kernel = sim.Kernel(TEXT, "work")
    paths = {
        compile_cubin(kernel),
        compile_cubin(kernel, precision="float64"),
        compile_cubin(kernel, lanes=8),
        compile_cubin(kernel, "sm_80"),
        compile_cubin(kernel, debug=True),
        compile_cubin(kernel, poison=True),
    }
    assert len(paths) == 6


def test_contraction_is_off_and_denormals_are_kept():
    text = 'extern "C" __global__ void f(int n, float* x) { for_each(i, n) x[i] = x[i] * x[i] + x[i]; }\n'
    assert "--fmad=false" in nvrtc.OPTIONS
    assert not any("ftz" in option or "fast" in option for option in nvrtc.OPTIONS)
    assert compile_cubin(sim.Kernel(text, "f")).stat().st_size > 0


def test_an_error_names_file_line_and_the_source_line(tmp_path):
    path = tmp_path / "wind.cu"
    path.write_text('extern "C" __global__ void wind(int n, real* x) {\n    for_each(i, n) x[i] = breeze;\n}\n')
    with pytest.raises(KernelCompileError) as raised:
        compile_cubin(sim.Kernel(path, "wind"))
    assert raised.value.file == str(path)
    assert raised.value.line == 2
    assert "x[i] = breeze" in raised.value.excerpt
    assert 'identifier "breeze" is undefined' in str(raised.value)


def test_an_architecture_that_nvrtc_does_not_know_is_an_error():
    with pytest.raises(KernelCompileError, match="sm_1"):
        compile_cubin(sim.Kernel(TEXT, "work"), "sm_1")


def test_a_quick_compilation_is_another_one():
    quick = compile_cubin(sim.Kernel(TEXT, "work", quick=True))
    assert compile_cubin(sim.Kernel(TEXT, "work")) != quick
    assert nvrtc.find_compiled(sim.Kernel(TEXT, "work").text("float32", "cuda"), "sm_90", quick=True) == quick


def test_an_nvrtc_that_knows_no_quick_compilation_does_without(monkeypatch):
    monkeypatch.setattr(nvrtc, "QUICK", ("--no-such-option", "--nor-this"))
    text = sim.Kernel(TEXT, "work").text("float32", "cuda")
    assert nvrtc.compile_bytes(text, "work", (*nvrtc.OPTIONS, "--gpu-architecture=sm_90", *nvrtc.QUICK))


def test_what_a_wheel_brings_serves_its_generation_and_spares_nvrtc(tmp_path, monkeypatch):
    monkeypatch.setattr(build, "PREBUILT", ())
    monkeypatch.setattr(nvrtc, "PREBUILT", ("doctor.cu",))
    monkeypatch.setattr(nvrtc, "PREBUILT_LANES", (8,))
    monkeypatch.setattr(nvrtc, "PREBUILT_ARCHES", ("sm_75", "sm_80", "sm_100"))
    build.prebuild(tmp_path / "_prebuilt")
    monkeypatch.setattr(build, "prebuilt_folders", lambda: [tmp_path / "_prebuilt"])
    build._manifest.cache_clear()
    monkeypatch.setattr(nvrtc, "library", None)  # is not asked
    try:
        text = Kernel("doctor.cu", "doctor_probe").text("float32", "cuda", 8)
        for arch, least in (("sm_75", "sm_75"), ("sm_80", "sm_80"), ("sm_89", "sm_80"), ("sm_103", "sm_100")):
            path = nvrtc.compile_text(text, "doctor_probe", arch, quick=True)
            assert path == tmp_path / "_prebuilt" / f"doctor-float32-8-{least}.cubin"
            assert path.read_bytes()[:4] == b"\x7fELF"
        assert Kernel("doctor.cu", "doctor_probe", quick=True).text("float32", "cuda", 8) == text
        for other, arch in ((text, "sm_70"), (text, "sm_90"), (text, "sm_120"), (text + "// edited\n", "sm_80")):
            assert nvrtc.find_prebuilt(other, arch) is None
    finally:
        build._manifest.cache_clear()


def test_what_a_wheel_brings_and_a_gpu_refuses_is_compiled(tmp_path, monkeypatch, caplog):
    class Refused(Exception):
        pass

    class Module:
        def __init__(self, path):
            self.path = path

        def compile(self):
            if self.path == str(brought):
                raise Refused("no binary for this GPU")

    class Tegra(Device):
        arch = "sm_87"
        array_module = SimpleNamespace(
            RawModule=Module, cuda=SimpleNamespace(driver=SimpleNamespace(CUDADriverError=Refused))
        )

        def apart(self):
            return nullcontext()

    text, brought = sim.Kernel(TEXT, "work").text("float32", "cuda", 32), tmp_path / "brought.cubin"
    brought.write_bytes(b"for others")
    manifest = {nvrtc._content_key(text, "sm_80"): brought}
    monkeypatch.setattr(build, "_manifest", lambda: manifest)
    monkeypatch.setattr(kernel, "_modules", {})
    assert nvrtc.find_prebuilt(text, "sm_87") == brought
    loaded = kernel.load_module(text, "work", Tegra("cuda:0", 0, True), quick=True)
    assert cache.folder() in Path(loaded.cupy_module.path).parents
    assert "brought.cubin is not for sm_87" in caplog.text
    assert nvrtc.find_prebuilt(text, "sm_87") is None, "it is not tried again"


def test_a_wheels_kernels_are_compiled_several_at_once(tmp_path, monkeypatch):
    together = threading.Barrier(2, timeout=60)
    monkeypatch.setattr(nvrtc, "PREBUILT_ARCHES", ("sm_80", "sm_90"))
    monkeypatch.setattr(nvrtc, "PREBUILT_LANES", (8,))
    monkeypatch.setattr(nvrtc, "PREBUILT", ("doctor.cu",))
    monkeypatch.setattr(nvrtc, "compile_bytes", lambda text, name, options: bytes(together.wait()))
    with ThreadPoolExecutor(2) as threads:
        files = nvrtc.prebuild(tmp_path, threads).values()
    assert set(files) == {path.name for path in tmp_path.iterdir()} and len(files) == 2


def test_a_wheel_built_without_nvrtc_says_so(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(nvrtc, "is_available", lambda: False)
    with ThreadPoolExecutor(1) as threads:
        assert nvrtc.prebuild(tmp_path, threads) == {}
    assert "nothing is built for GPUs" in capsys.readouterr().err
