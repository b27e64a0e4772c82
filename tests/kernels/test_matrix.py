"""matrix.h against NumPy in float64."""

import numpy as np

from tests.kernels.geometry_kernel import TEXT
from tests.kernels.harness import call, library

COUNT = 200


def pack(s):
    """The six numbers of symmetric matrices (n, 3, 3)."""
    return np.stack([s[:, 0, 0], s[:, 1, 1], s[:, 2, 2], s[:, 0, 1], s[:, 0, 2], s[:, 1, 2]], axis=1)


def skew(v):
    zero = np.zeros(len(v))
    x, y, z = v.T
    return np.stack([zero, -z, y, z, zero, -x, -y, x, zero], axis=1).reshape(-1, 3, 3)


def run():
    draw = np.random.default_rng(0)
    m, half, v = (
        draw.standard_normal((COUNT, 3, 3)),
        draw.standard_normal((COUNT, 3, 3)),
        draw.standard_normal((COUNT, 3)),
    )
    s = half @ half.transpose(0, 2, 1) + 0.1 * np.eye(3)
    out = np.zeros((COUNT, 80))
    call(library(TEXT, "float64", "g++"), "matrices", m, pack(s), v, out, COUNT)
    return m, s, v, out


def test_products_and_transposes():
    m, s, v, out = run()
    check = [
        (0, np.einsum("nij,nj->ni", m, v)),
        (3, np.einsum("nji,nj->ni", m, v)),
        (6, (m @ m.transpose(0, 2, 1)).reshape(COUNT, 9)),
        (25, skew(v).reshape(COUNT, 9)),
        (34, np.einsum("nij,nj->ni", s, v)),
        (46, pack(m @ s @ m.transpose(0, 2, 1))),
        (52, pack(skew(v).transpose(0, 2, 1) @ skew(v))),
        (58, pack(v[:, :, None] * v[:, None, :])),
        (65, np.trace(s, axis1=1, axis2=2)[:, None]),
        (66, pack((v[:, 0, None, None] + 2) * s)),
        (72, m[:, :, 2]),
        (75, m[:, 1, 2, None]),
    ]
    for start, expected in check:
        np.testing.assert_allclose(
            out[:, start : start + expected.shape[1]], expected, rtol=0, atol=1e-13 * (1 + abs(expected).max())
        )


def test_inverses_determinants_and_solutions():
    m, s, v, out = run()
    condition, condition_s = np.linalg.cond(m)[:, None], np.linalg.cond(s)[:, None]
    inverse, inverse_s = np.linalg.inv(m).reshape(COUNT, 9), pack(np.linalg.inv(s))
    scale, scale_s = abs(inverse).max(axis=1, keepdims=True), abs(inverse_s).max(axis=1, keepdims=True)
    assert (abs(out[:, 15:24] - inverse) <= 1e-14 * condition**2 * scale).all()
    assert (abs(out[:, 40:46] - inverse_s) <= 1e-14 * condition_s**2 * scale_s).all()
    solution = np.linalg.solve(s, v[:, :, None])[:, :, 0]
    assert (abs(out[:, 37:40] - solution) <= 1e-15 * condition_s * abs(solution).max(axis=1, keepdims=True) * 10).all()
    np.testing.assert_allclose(out[:, 24], np.linalg.det(m), atol=1e-13)
    np.testing.assert_allclose(out[:, 64], np.linalg.det(s), rtol=1e-10)


def test_a_singular_matrix_has_no_finite_inverse():
    singular = np.array([[[1.0, 2, 3], [2, 4, 6], [1, 0, 1]]])
    out = np.zeros((1, 80))
    call(library(TEXT, "float64", "g++"), "matrices", singular, np.zeros((1, 6)), np.ones((1, 3)), out, 1)
    assert not np.isfinite(out[0, 15:24]).any()
    assert not np.isfinite(out[0, 37:46]).any()
