"""vector.h against NumPy."""

import numpy as np
import pytest

from tests.kernels.geometry_kernel import TEXT
from tests.kernels.harness import PRECISIONS, call, library

COUNT = 200


def run(a, b):
    out = np.zeros((len(a), 32), a.dtype)
    call(library(TEXT, str(a.dtype), "g++"), "vectors", a, b, out, len(a))
    return out


@pytest.mark.parametrize("precision", PRECISIONS)
def test_operations_agree_with_numpy(precision):
    draw = np.random.default_rng(0)
    a, b = draw.standard_normal((2, COUNT, 3)).astype(precision)
    out = run(a, b)
    size = np.linalg.norm(a.astype(float), axis=1, keepdims=True)
    unit = a / size
    expected = np.concatenate(
        [
            a + b,
            a - b,
            np.cross(a.astype(float), b),
            (a.astype(float) * b).sum(1, keepdims=True),
            size,
            size**2,
            unit,
            unit,
            b[:, :1].astype(float) * a + b,
            a * b,
            np.minimum(a, b),
            np.maximum(abs(a), -b),
            a[:, 2:] + 7 + a[:, 1:2],
            np.ones((COUNT, 1)),
        ],
        axis=1,
    )
    np.testing.assert_allclose(out, expected, rtol=0, atol=16 * np.finfo(precision).eps)


@pytest.mark.parametrize(("precision", "tiny"), [("float32", 1e-16), ("float64", 1e-170)])
def test_a_vector_of_no_length_is_replaced(precision, tiny):
    a, b = np.array([[0, 0, 0], [tiny, 0, 0], [-0.0, 0, tiny]], precision), np.array([[1, 2, 3]] * 3, precision)
    out = run(a, b)
    assert (out[:, 12:15] == 0).all()
    assert (out[:, 15:18] == b).all()


@pytest.mark.parametrize("precision", PRECISIONS)
def test_a_vector_that_is_not_finite_does_not_become_the_fallback(precision):
    a = np.array([[np.nan, 0, 0], [np.inf, 0, 0]], precision)
    out = run(a, np.ones_like(a))
    assert np.isnan(out[:, 12:18]).any(axis=1).all()
    assert (out[:, 31] == 0).all()


@pytest.mark.parametrize("scale", [1e-14, 1e-6, 1e6, 1e18])
def test_a_normalised_vector_is_unit_over_the_range_of_float32(scale):
    a = (np.random.default_rng(1).standard_normal((COUNT, 3)) * scale).astype(np.float32)
    unit = run(a, a)[:, 12:15].astype(float)
    np.testing.assert_allclose(np.linalg.norm(unit, axis=1), 1, atol=4e-7)
