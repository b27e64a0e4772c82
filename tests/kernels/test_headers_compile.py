"""Each header compiles alone, with no warning, under every compiler that the kernels meet."""

import tempfile
from pathlib import Path

import pytest

from simengine.errors import KernelCompileError
from simengine.runtime import build, nvrtc
from tests.kernels.harness import COMPILERS, PRECISIONS, device_text, full_text, local_bytes
from tests.kernels.lanes_kernel import TEXT as LANES

HEADERS = ("platform.h", "numeric.h", "lanes.h", "vector.h", "matrix.h", "quaternion.h", "spatial.h", "random.h")

OTHER_FORMS = [("lanes.h", ("SIM_EMULATED",)), ("fibres.h", ()), ("spatial.h", ("SIM_DEBUG",))]
CPU_FORMS = [(header, ()) for header in HEADERS] + OTHER_FORMS

# NVRTC without the option that makes unmarked functions device functions: headers mark theirs
STRICT = tuple(option for option in nvrtc.OPTIONS if "default-execution-space" not in option)


def compile_cpu(text, compiler):
    """The library's bytes."""
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "kernel.so"
        build.run_compiler(COMPILERS[compiler], text, made, build.architecture(), "test", warnings=True)
        return made.read_bytes()


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize(("header", "defines"), CPU_FORMS)
def test_header_compiles_alone_on_the_cpu(header, defines, compiler, precision):
    text = full_text(f'#include "{header}"\n', precision, defines)
    compile_cpu(text, compiler)


@pytest.mark.skipif(not nvrtc.is_available(), reason="needs NVRTC (package nvidia-cuda-nvrtc)")
@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("header", HEADERS)
def test_header_compiles_alone_under_nvrtc(header, precision):
    text = device_text(f'#include "{header}"\n', precision)
    assert nvrtc.compile_bytes(text, header, (*STRICT, "--gpu-architecture=sm_90"))


@pytest.mark.skipif(not nvrtc.is_available(), reason="needs NVRTC (package nvidia-cuda-nvrtc)")
@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("lanes", [4, 8, 16, 32])
def test_collectives_of_several_lanes_use_no_local_memory(lanes, precision):
    text = device_text(LANES, precision, (f"SIM_LANES {lanes}",))
    cubin = nvrtc.compile_bytes(text, "lanes", (*STRICT, "--gpu-architecture=sm_90"))
    frames = local_bytes(cubin)
    assert len(frames) >= 5  # one a kernel
    assert max(frames) == 0


@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_compiled_kernel_needs_no_cpp_library(compiler):
    code = compile_cpu(full_text(LANES, "float32", ("SIM_EMULATED",)), compiler)
    assert b"libc.so" in code  # the names of needed libraries stand in the file
    assert b"libstdc++" not in code
    assert b"libc++" not in code


def test_a_double_constant_in_float_code_is_refused():
    wrong = '#include "numeric.h"\nextern "C" __global__ void wrong(real* x) { x[0] = float(x[0] * 0.5); }\n'
    with pytest.raises(KernelCompileError, match="double"):
        compile_cpu(full_text(wrong, "float32"), "g++")
