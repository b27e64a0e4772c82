"""spatial.h against six-by-six matrices in NumPy, float64."""

import numpy as np

from tests.kernels.geometry_kernel import TEXT
from tests.kernels.harness import call, library
from tests.kernels.test_matrix import pack, skew

COUNT = 200
ZERO = np.zeros((COUNT, 3, 3))


def motion_cross(m):
    """Matrix of m x for motions (linear, angular): [[w, v], [0, w]]."""
    w, v = skew(m[:, 3:]), skew(m[:, :3])
    return np.block([[w, v], [ZERO, w]])


def motion_shift(r):
    """Matrix that takes a motion to the reference point r: [[1, -[r]], [0, 1]]."""
    one = np.tile(np.eye(3), (COUNT, 1, 1))
    return np.block([[one, -skew(r)], [ZERO, one]])


def apply(matrix, vector):
    return np.einsum("nij,nj->ni", matrix, vector)


def close(got, expected):
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-13 * (1 + abs(expected).max()))


def test_cross_products_shifts_and_power():
    draw = np.random.default_rng(0)
    a, b, f = draw.standard_normal((3, COUNT, 6))
    r = draw.standard_normal((COUNT, 3))
    out = np.zeros((COUNT, 50))
    call(library(TEXT, "float64", "g++"), "spatial_vectors", a, b, f, r, out, COUNT)
    close(out[:, 0:6], apply(motion_cross(a), b))
    close(out[:, 6:12], apply(-motion_cross(a).transpose(0, 2, 1), f))
    close(out[:, 12], (a * f).sum(axis=1))
    close(out[:, 13], out[:, 12])
    close(out[:, 14:20], apply(motion_shift(r), a))
    close(out[:, 20:26], apply(np.linalg.inv(motion_shift(r)).transpose(0, 2, 1), f))
    close(out[:, 26:32], np.concatenate([f[:, :3], np.cross(r, f[:, :3])], axis=1))
    close(out[:, 32:38], np.concatenate([np.cross(r, b[:, 3:]), b[:, 3:]], axis=1))
    close(out[:, 38:44], r[:, :1] * a + b - np.concatenate([r, 0 * r], axis=1))
    np.testing.assert_array_equal(out[:, 44:50], np.concatenate([a[:, ::2], f[:, 1::2]], axis=1))


def test_rotation_about_a_line_leaves_its_points_at_rest():
    draw = np.random.default_rng(1)
    b, r = draw.standard_normal((COUNT, 6)), draw.standard_normal((COUNT, 3))
    out = np.zeros((COUNT, 50))
    call(library(TEXT, "float64", "g++"), "spatial_vectors", b, b, b, r, out, COUNT)
    close(apply(motion_shift(r), out[:, 32:38])[:, :3], np.zeros((COUNT, 3)))


def test_inertia_and_stiffness():
    draw = np.random.default_rng(2)
    mass, com, r = draw.uniform(0.1, 5, COUNT), draw.standard_normal((COUNT, 3)), draw.standard_normal((COUNT, 3))
    half, other, v = (
        draw.standard_normal((COUNT, 3, 3)),
        draw.standard_normal((COUNT, 3, 3)),
        draw.standard_normal((COUNT, 6)),
    )
    inertia, w = half @ half.transpose(0, 2, 1), other @ other.transpose(0, 2, 1)
    rotation, _ = np.linalg.qr(draw.standard_normal((COUNT, 3, 3)))
    out = np.zeros((COUNT, 28))
    call(
        library(TEXT, "float64", "g++"), "spatial_matrices",
        mass, com, pack(inertia), rotation, pack(w), r, v, out, COUNT,
    )  # fmt: skip
    about_com = np.block(
        [[mass[:, None, None] * np.eye(3), ZERO], [ZERO, rotation @ inertia @ rotation.transpose(0, 2, 1)]]
    )
    to_com = motion_shift(com)
    body = to_com.transpose(0, 2, 1) @ about_com @ to_com
    x = motion_shift(r)[:, :3]
    contact = x.transpose(0, 2, 1) @ w @ x
    close(out[:, 0:6], apply(body, v))
    close(out[:, 6:12], apply(contact, v))
    close(out[:, 12:18], apply(2 * contact, v))
    close(out[:, 18:24], apply(2 * body, v))
