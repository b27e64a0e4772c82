"""Every kernel file compiles: for a GPU with no GPU present, and on the CPU without a warning."""

import sys
from pathlib import Path

import pytest

from simengine.runtime import build, nvrtc, source
from simengine.runtime.kernel import Kernel, compile_cubin, cpu_text, inlined

FILES = sorted(path.name for path in source.kernels_folder().glob("*.cu"))

needs_nvrtc = pytest.mark.skipif(not nvrtc.is_available(), reason="needs NVRTC: pip install nvidia-cuda-nvrtc")


def first_kernel(file: str, quick: bool = False) -> Kernel:
    return Kernel(file, next(iter(source.signatures(inlined(file, {})[0]))), quick=quick)


def test_all_files_for_the_wheel_are_there():
    assert set(build.PREBUILT) <= set(FILES)


@needs_nvrtc
@pytest.mark.parametrize("file", FILES)
def test_compiles_for_a_gpu(file, precision):
    path = compile_cubin(first_kernel(file, quick=True), "sm_90", precision, lanes=8)
    assert path.read_bytes()[:4] == b"\x7fELF"


@needs_nvrtc
@pytest.mark.slow
@pytest.mark.parametrize(
    ("arch", "lanes", "options"),
    [
        ("sm_90", 1, {}),
        ("sm_90", 4, {}),
        ("sm_90", 16, {}),
        ("sm_90", 32, {}),
        ("sm_90", 32, {"debug": True}),
        ("sm_90", 32, {"poison": True}),
        ("sm_75", 32, {}),
        ("sm_80", 32, {}),
        ("sm_120", 32, {}),
    ],
)
@pytest.mark.parametrize("file", FILES)
def test_compiles_for_other_gpus_lanes_and_in_debug(file, arch, lanes, options, precision):
    path = compile_cubin(first_kernel(file, quick=True), arch, precision, lanes, **options)
    assert path.read_bytes()[:4] == b"\x7fELF"


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"debug": True}, {"emulated": True}], ids=["plain", "debug", "emulated"])
@pytest.mark.parametrize("compiler", ["g++", "ziglang"])
@pytest.mark.parametrize("file", FILES)
def test_compiles_on_the_cpu_without_a_warning(file, compiler, options, precision, tmp_path):
    if compiler == "ziglang":
        pytest.importorskip("ziglang")
        chosen = build.Compiler((sys.executable, "-m", "ziglang", "c++"), True)
    elif build.shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    else:
        chosen = build.Compiler((compiler,), False)
    target = Path(tmp_path) / "kernel.so"
    build.run_compiler(chosen, cpu_text(file, precision, **options), target, build.architecture(), file, warnings=True)
    assert target.stat().st_size > 0
