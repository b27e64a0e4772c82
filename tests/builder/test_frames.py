"""Transforms of templates against rotation matrices."""

import numpy as np
import pytest

from simengine.builder import frames


def random_pose(rng):
    q = rng.normal(size=4)
    return (*rng.normal(size=3), *(q / np.linalg.norm(q)))


def matrix(pose):
    """4 by 4 matrix by the textbook formula for a quaternion (x, y, z, w)."""
    x, y, z, w = pose[3:]
    rotation = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    result = np.eye(4)
    result[:3, :3], result[:3, 3] = rotation, pose[:3]
    return result


def test_compose_inverse_and_apply_are_products_of_matrices():
    rng = np.random.default_rng(0)
    for _ in range(20):
        a, b, point = random_pose(rng), random_pose(rng), rng.normal(size=3)
        np.testing.assert_allclose(matrix(frames.compose(a, b)), matrix(a) @ matrix(b), atol=1e-14)
        np.testing.assert_allclose(matrix(frames.inverse(a)), np.linalg.inv(matrix(a)), atol=1e-14)
        np.testing.assert_allclose(frames.apply(a, tuple(point)), (matrix(a) @ [*point, 1])[:3], atol=1e-14)
        np.testing.assert_allclose(frames.rotation_matrix(a[3:]), matrix(a)[:3, :3], atol=1e-14)


@pytest.mark.parametrize("target", [(0, 0, 1), (0, 0, -1), (1, 0, 0), (0.6, 0, 0.8), (0, -1, 0)])
@pytest.mark.parametrize("start", [(0, 0, 1), (0, 1, 0), (-1, 0, 0)])
def test_quat_between_turns_one_vector_into_the_other(start, target):
    q = frames.quat_between(start, target)
    np.testing.assert_allclose(frames.quat_rotate(q, start), target, atol=1e-14)
    assert np.linalg.norm(q) == pytest.approx(1, abs=1e-15)


def test_angle_between_is_the_angle_turned_whatever_the_sign():
    a = frames.quat_from_axis_angle((0.0, 0.6, 0.8), 0.4)
    b = frames.quat_multiply(a, frames.quat_from_axis_angle((1.0, 0.0, 0.0), 1e-7))
    assert frames.angle_between(a, b) == pytest.approx(1e-7, rel=1e-6)
    assert frames.angle_between(a, tuple(-x for x in b)) == pytest.approx(1e-7, rel=1e-6)


def test_the_quaternion_of_a_matrix_is_the_one_that_made_it():
    rng = np.random.default_rng(4)
    turns = [random_pose(rng)[3:] for _ in range(50)]
    turns += [(0, 0, 0, 1), (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0.6, -0.8, 0, 0), (0, 0.6, 0.8, 0)]
    for q in turns:
        found = frames.quaternion_of(matrix((0, 0, 0, *q))[:3, :3])
        assert abs(np.dot(found, q)) == pytest.approx(1.0, abs=1e-15)
