"""The collision headers alone, the kernels under each compiler without a warning, and the same bits from all."""

from __future__ import annotations

import ctypes
import functools
import tempfile
from pathlib import Path

import numpy as np
import pytest

import simengine as sim
from simengine.containers import to_numpy
from simengine.enums import PRIMITIVE_ROUTINES
from simengine.runtime import build, nvrtc
from simengine.runtime.kernel import Kernel
from tests.collision.collision_pairs import PAIR_KERNEL, collide, random_pairs
from tests.collision.test_pipeline import many
from tests.kernels import harness

HEADERS = (
    "collide_shape.h",
    "collide_plane.h",
    "collide_sphere_capsule.h",
    "collide_box.h",
    "collide_box_box.h",
    "collide.h",
    "collide_many.h",
    "collide_state.h",
    "contact.h",
    "contact_slab.h",
)

compilers = pytest.mark.parametrize("compiler", harness.COMPILERS)


@functools.cache
def compiled(text: str, compiler: str) -> ctypes.CDLL:
    """The loaded library of a whole text; warnings are errors."""
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "kernel.so"
        build.run_compiler(harness.COMPILERS[compiler], text, made, build.architecture(), "test", warnings=True)
        return ctypes.CDLL(str(made))


@pytest.mark.parametrize("header", HEADERS)
def test_a_header_compiles_alone(header):
    text = f'#include "{header}"\nextern "C" __global__ void nothing(int n) {{ for_each(i, n) {{ (void)i; }} }}\n'
    compiled(Kernel(text, "nothing").text("float32"), next(iter(harness.COMPILERS)))


@compilers
def test_the_kernels_compile_without_a_warning(compiler, precision):
    compiled(Kernel("collide.cu", "collide").text(precision), compiler)


@pytest.mark.skipif(not nvrtc.is_available(), reason="needs NVRTC (package nvidia-cuda-nvrtc)")
@pytest.mark.parametrize("lanes", [1, 8, 32])
def test_the_kernels_compile_for_a_gpu(lanes, precision):
    text = Kernel("collide.cu", "collide").text(precision, "cuda", lanes)
    assert nvrtc.compile_bytes(text, "collide", (*nvrtc.OPTIONS, "--gpu-architecture=sm_90"))


@compilers
def test_every_compiler_finds_the_same_bits(compiler, precision):
    library, dtype = compiled(PAIR_KERNEL.text(precision), compiler), np.dtype(precision)
    for routine in PRIMITIVE_ROUTINES:
        pairs = random_pairs(routine, 500, seed=20 + int(routine))
        expected = collide(pairs, 0.06, precision)
        arrays = [np.ascontiguousarray(a, dtype) for a in (pairs.pose0, pairs.size0, pairs.pose1, pairs.size1)]
        count, feature = np.zeros(500, np.int32), np.full((500, 8), -1, np.int32)
        rows = np.full((500, 8, 7), np.nan, dtype)
        reach = ctypes.c_float(0.06) if precision == "float32" else ctypes.c_double(0.06)
        harness.call(library, "pair_contacts", 500, int(routine), reach, *arrays, count, feature, rows)
        assert np.array_equal(count, expected.count) and np.array_equal(feature, expected.feature)
        assert np.array_equal(rows[..., :3], expected.point0, equal_nan=True)
        assert np.array_equal(rows[..., 3:6], expected.normal, equal_nan=True)
        assert np.array_equal(rows[..., 6], expected.distance, equal_nan=True)


@pytest.mark.gpu
def test_a_gpu_finds_the_bits_of_the_cpu(precision):
    found = {}
    for device in ("cpu", "cuda:0"):
        model, state, contacts = many(33, device=device, precision=precision)
        sim.collide(model, state, contacts)
        count = to_numpy(contacts.count)
        used = np.concatenate(
            [s + np.arange(n) for s, n in zip(to_numpy(contacts.world_start)[:-1], count, strict=True)]
        )
        names = ("shape0", "shape1", "feature", "point0", "point1", "normal", "tangent", "distance")
        found[device] = [count, *(to_numpy(getattr(contacts, name))[used] for name in names)]
    for cpu, gpu in zip(found["cpu"], found["cuda:0"], strict=True):
        assert np.array_equal(cpu, gpu)
