"""quaternion.h against SciPy's rotations and closed forms."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from tests.kernels.geometry_kernel import TEXT
from tests.kernels.harness import PRECISIONS, call, library

COUNT = 300


def same_rotation(got, expected, tolerance):
    sign = np.sign((got * expected).sum(axis=1, keepdims=True))
    np.testing.assert_allclose(got, sign * expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_rotations_agree_with_scipy(precision):
    draw = np.random.default_rng(0)
    p, q = draw.standard_normal((2, COUNT, 4)).astype(precision)
    v, angle = draw.standard_normal((COUNT, 3)).astype(precision), draw.uniform(-7, 7, COUNT).astype(precision)
    out = np.zeros((COUNT, 48), precision)
    call(library(TEXT, precision, "g++"), "quaternions", p, q, v, angle, out, COUNT)
    a, b, w = Rotation.from_quat(p.astype(float)), Rotation.from_quat(q.astype(float)), v.astype(float)
    tolerance = 32 * np.finfo(precision).eps
    same_rotation(out[:, 0:4], (a * b).as_quat(), tolerance)
    np.testing.assert_allclose(out[:, 4:7], a.apply(w), atol=tolerance)
    np.testing.assert_allclose(out[:, 7:10], a.apply(w, inverse=True), atol=tolerance)
    np.testing.assert_allclose(out[:, 10:19].reshape(-1, 3, 3), a.as_matrix(), atol=tolerance)
    same_rotation(out[:, 19:23], a.as_quat(), tolerance)
    axis = w / np.linalg.norm(w, axis=1, keepdims=True)
    same_rotation(out[:, 23:27], Rotation.from_rotvec(axis * angle[:, None].astype(float)).as_quat(), tolerance)
    np.testing.assert_allclose(out[:, 27:30], a.as_rotvec(), atol=tolerance)
    same_rotation(out[:, 30:34], Rotation.from_rotvec(w).as_quat(), tolerance)
    same_rotation(out[:, 34:38], (a * Rotation.from_rotvec(w * angle[:, None].astype(float))).as_quat(), tolerance)
    np.testing.assert_allclose(np.linalg.norm(out[:, 38:42].astype(float), axis=1), 1, atol=tolerance)


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("angle", [1e-12, 1e-6, 1e-3, 0.1, 1, 3, np.pi - 1e-3])
def test_rotation_vector_comes_back_with_full_relative_precision(precision, angle):
    axis = np.random.default_rng(1).standard_normal((COUNT, 3))
    v = (angle * axis / np.linalg.norm(axis, axis=1, keepdims=True)).astype(precision)
    out = np.zeros_like(v)
    call(library(TEXT, precision, "g++"), "rotation_round_trip", v, out, COUNT)
    np.testing.assert_allclose(out, v, rtol=0, atol=8 * angle * np.finfo(precision).eps)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_rotation_vector_takes_the_shorter_way_and_any_length(precision):
    q = np.array(
        [[0, 0, 0, 1], [0, 0, 0, -2], [0, 0, 3, 0], [0.6, 0, 0, -0.8], [-1.2, 0, 0, 1.6], [1e-30, 0, 0, 1]], precision
    )
    out = np.zeros((len(q), 7), precision)
    call(library(TEXT, precision, "g++"), "raw_quaternions", q, out, len(q))
    small = 2 * np.arctan2(0.6, 0.8)
    expected = [[0, 0, 0], [0, 0, 0], [0, 0, np.pi], [-small, 0, 0], [-small, 0, 0], [2e-30, 0, 0]]
    np.testing.assert_allclose(out[:, 4:], expected, rtol=4 * np.finfo(precision).eps)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_the_zero_quaternion_is_the_identity_and_nan_stays(precision):
    q = np.array([[0, 0, 0, 0], [np.nan, 0, 0, 1]], precision)
    out = np.zeros((2, 7), precision)
    call(library(TEXT, precision, "g++"), "raw_quaternions", q, out, 2)
    assert out[0, :4].tolist() == [0, 0, 0, 1]
    assert np.isnan(out[1]).any()


@pytest.mark.parametrize("index", range(4))
def test_matrix_to_quaternion_at_each_largest_component(index):
    draw = np.random.default_rng(index)
    q = draw.uniform(-0.1, 0.1, (COUNT, 4))
    q[:, index] = 1
    out = np.zeros((COUNT, 48))
    call(library(TEXT, "float64", "g++"), "quaternions", q, q, np.ones((COUNT, 3)), np.ones(COUNT), out, COUNT)
    same_rotation(out[:, 19:23], q / np.linalg.norm(q, axis=1, keepdims=True), 1e-15)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_transforms_compose_and_invert(precision):
    draw = np.random.default_rng(2)
    a, b = draw.standard_normal((2, COUNT, 7)).astype(precision)
    v = draw.standard_normal((COUNT, 3)).astype(precision)
    out = np.zeros((COUNT, 27), precision)
    call(library(TEXT, precision, "g++"), "transforms", a, b, v, out, COUNT)
    p, q = a.astype(float), b.astype(float)
    first, second = Rotation.from_quat(p[:, 3:]), Rotation.from_quat(q[:, 3:])
    tolerance = 32 * np.finfo(precision).eps
    np.testing.assert_allclose(out[:, :3], p[:, :3] + first.apply(q[:, :3]), atol=tolerance)
    same_rotation(out[:, 3:7], (first * second).as_quat(), tolerance)
    np.testing.assert_allclose(out[:, 7:14], np.tile([0, 0, 0, 0, 0, 0, 1.0], (COUNT, 1)), atol=tolerance)
    np.testing.assert_allclose(out[:, 14:17], p[:, :3] + first.apply(v.astype(float)), atol=tolerance)
    np.testing.assert_allclose(out[:, 17:20], v, atol=tolerance)
    np.testing.assert_array_equal(out[:, 20:23], a[:, :3])
