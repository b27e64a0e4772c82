"""Compiling for the CPU: compilers, errors, prebuilt libraries."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from simengine.errors import KernelCompileError
from simengine.runtime import build, cache, nvrtc, pool
from simengine.runtime.kernel import Kernel

ROOT = Path(__file__).resolve().parents[2]
PUT = 'extern "C" __global__ void put(int n, real* x) { for_each(i, n) x[i] = real(7); }\n'


def test_cxx_is_split_and_never_given_to_a_shell(tmp_path, monkeypatch):
    victim = tmp_path / "victim"
    monkeypatch.setenv("CXX", f"g++; touch {victim}")
    with pytest.raises(KernelCompileError, match=r"CXX='g\+\+; touch"):
        build.find_compiler()
    monkeypatch.setenv("CXX", f"g++ '$(touch {victim})'")
    assert build.find_compiler().command == ("g++", f"$(touch {victim})")
    with pytest.raises(KernelCompileError):
        build.run_compiler(build.find_compiler(), "int x;\n", tmp_path / "out.so", build.architecture())
    assert not victim.exists()


def test_without_any_compiler_the_error_says_how_to_get_one(monkeypatch):
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.setattr(build.importlib.util, "find_spec", lambda name: None)
    assert build.find_compiler() is None
    with pytest.raises(KernelCompileError, match=r"pip install \"simengine\[cpu-jit\]\""):
        build.require_compiler()


def test_a_compiler_that_comes_later_or_with_another_path_is_found(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setattr(build.importlib.util, "find_spec", lambda name: None)
    assert build.find_compiler() is None
    for name in ("g++", "c++"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
        assert build.find_compiler().command == ("g++",), "one that was found stays for its PATH"
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{tmp_path}")
    assert build.find_compiler().command == ("c++",)


def test_ziglang_takes_over_where_no_compiler_is_on_the_path(monkeypatch):
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", "/nonexistent")
    found = build.find_compiler()
    assert found.is_zig
    assert found.command == (sys.executable, "-m", "ziglang", "c++")


def test_a_compile_error_names_file_line_and_the_source_line(tmp_path):
    path = tmp_path / "wind.cu"
    path.write_text(
        '// wind\nextern "C" __global__ void wind(int n, real* x) {\n    for_each(i, n) x[i] = breeze;\n}\n'
    )
    with pytest.raises(KernelCompileError) as raised:
        Kernel(path, "wind").compile()
    assert raised.value.file == str(path)
    assert raised.value.line == 3
    assert "x[i] = breeze" in raised.value.excerpt
    assert "breeze" in str(raised.value)


def test_a_float_that_becomes_a_double_is_an_error():
    text = 'extern "C" __global__ void f(int n, float* x) { for_each(i, n) x[i] = float(x[i] * 0.1); }\n'
    with pytest.raises(KernelCompileError, match="double-promotion"):
        Kernel(text, "f").compile()


@pytest.mark.parametrize("compiler", ["g++", "ziglang"])
def test_what_compilers_may_order_as_they_like_is_an_error(compiler, monkeypatch):
    monkeypatch.setenv("CXX", compiler if compiler == "g++" else f"{sys.executable} -m ziglang c++")
    text = (
        "SIM_INLINE int sum(int a, int b) { return a + b; }\n"
        'extern "C" __global__ void f(int n, int* x) { for_each(i, n) { int k = i; x[i] = sum(--k, k); } }\n'
    )
    with pytest.raises(KernelCompileError, match="undefined|unsequenced"):
        Kernel(f"// {compiler}\n{text}", "f").compile()


def test_products_and_sums_are_not_contracted():
    text = (
        'extern "C" __global__ void f(int n, const double* a, double* out) '
        "{ for_each(i, n) out[i] = a[0] * a[1] + a[2]; }\n"
    )
    a, b = 1.0 + 2.0**-30, 1.0 - 2.0**-30
    out = np.zeros(1)
    Kernel(text, "f").launch(1, [np.array([a, b, -1.0]), out])
    assert out[0] == 0.0  # a b rounds to 1; fused it would be -2^-60


@pytest.mark.parametrize("compiler", ["g++", "clang++", "zig"])
def test_our_headers_and_pool_compile_without_a_warning(tmp_path, compiler):
    command = (sys.executable, "-m", "ziglang", "c++") if compiler == "zig" else (compiler,)
    if compiler != "zig" and build.shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    chosen = build.Compiler(command, compiler == "zig")
    for name, text in (("pool", pool.text()), ("put", Kernel(PUT, "put").text(debug=True))):
        build.run_compiler(chosen, text, tmp_path / f"{name}.so", build.architecture(), warnings=True)
        needed = subprocess.run(["readelf", "-d", tmp_path / f"{name}.so"], capture_output=True, text=True, check=True)
        assert "libstdc++" not in needed.stdout
        assert "libc++" not in needed.stdout


def test_only_prefixed_names_are_exported(tmp_path):
    text = Kernel('extern "C" __global__ void step(int n, real* x) { for_each(i, n) x[i] = real(1); }\n', "step").text()
    build.run_compiler(build.require_compiler(), text, tmp_path / "k.so", build.architecture())
    listed = subprocess.run(
        ["nm", "-D", "--defined-only", tmp_path / "k.so"], capture_output=True, text=True, check=True
    )
    names = [line.split()[-1] for line in listed.stdout.splitlines()]
    assert sorted(names) == ["simk_sizes_step", "simk_step"]


def test_a_kernel_named_like_a_function_of_the_c_library_is_still_ours():
    x = np.zeros(4)
    Kernel('extern "C" __global__ void step(int n, real* x) { for_each(i, n) x[i] = real(1); }\n', "step").launch(
        4, [x]
    )
    assert x.tolist() == [1, 1, 1, 1]


def test_a_prebuilt_library_is_used_only_while_its_text_and_flags_are_the_same(tmp_path, monkeypatch):
    monkeypatch.setenv("SIMENGINE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(cache, "_chosen", {})
    monkeypatch.setattr(build, "PREBUILT", ())
    monkeypatch.setattr(nvrtc, "PREBUILT", ())
    build.prebuild(tmp_path / "_prebuilt")
    manifest = json.loads((tmp_path / "_prebuilt" / "manifest.json").read_text())
    assert len(manifest) == 1
    monkeypatch.setattr(build, "prebuilt_folders", lambda: [tmp_path / "_prebuilt"])
    build._manifest.cache_clear()
    try:
        arch = build.machine()
        assert build.compile_text(pool.text(), "pool", arch).parent == tmp_path / "_prebuilt"
        assert build.compile_text(pool.text() + "// edited\n", "pool", arch).parent == tmp_path / "cache"
        monkeypatch.setattr(build, "FLAGS", (*build.FLAGS, "-DOTHER"))
        assert build.compile_text(pool.text(), "pool", arch).parent == tmp_path / "cache"
    finally:
        build._manifest.cache_clear()


@pytest.mark.parametrize("length", [9, 5000, -1])
def test_a_broken_library_in_the_cache_is_compiled_again(tmp_path, monkeypatch, length):
    monkeypatch.setenv("SIMENGINE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(cache, "_chosen", {})
    kernel = Kernel(PUT.replace("7", f"{length}"), "put")
    path = build.compile_text(kernel.text(), "put")
    path.write_bytes(path.read_bytes()[:length])
    x = np.zeros(2, np.float32)
    kernel.launch(2, [x])
    assert x.tolist() == [length, length]
    assert build.find_compiled(kernel.text()) is not None


def test_a_library_that_cannot_be_loaded_says_what_to_do(tmp_path):
    (tmp_path / "text.so").write_text("no library")
    with pytest.raises(KernelCompileError, match="cannot be loaded .* set SIMENGINE_CACHE_DIR"):
        build.open_library(tmp_path / "text.so", "put")


def test_works_where_the_cache_cannot_be_written(tmp_path):
    script = (
        "import warnings, numpy as np, simengine as sim\n"
        "x = np.zeros(3, np.float32)\n"
        "with warnings.catch_warnings(record=True) as caught:\n"
        "    warnings.simplefilter('always')\n"
        f"    sim.Kernel({PUT!r}, 'put').launch(3, [x])\n"
        f"    sim.Kernel({PUT.replace('7', '9')!r}, 'put').launch(3, [x])\n"
        "assert x.tolist() == [9, 9, 9], x\n"
        "assert len(caught) == 1, [str(w.message) for w in caught]\n"
        "assert 'kernel cache' in str(caught[0].message)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "SIMENGINE_CACHE_DIR": "/proc/nowhere"}
    subprocess.run([sys.executable, "-c", script], env=environment, check=True, timeout=120)
