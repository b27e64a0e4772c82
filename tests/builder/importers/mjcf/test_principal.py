"""Principal axes in MuJoCo's order and signs, against its library."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from simengine.builder.frames import rotation_matrix
from simengine.builder.importers.mjcf.principal import mujoco_principal_axes


def random_inertia(rng) -> np.ndarray:
    points = rng.normal(size=(5, 3)) * rng.uniform(0.1, 2.0, 3)
    second = points.T @ points
    return np.trace(second) * np.eye(3) - second


@pytest.mark.parametrize("seed", range(20))
def test_axes_and_moments_give_the_matrix_back_the_largest_first(seed):
    inertia = random_inertia(np.random.default_rng(seed))
    moments, turn = mujoco_principal_axes(inertia)
    rotation = rotation_matrix(turn)
    np.testing.assert_allclose(rotation @ np.diag(moments) @ rotation.T, inertia, atol=1e-11 * np.abs(inertia).max())
    np.testing.assert_allclose(moments, np.linalg.eigvalsh(inertia)[::-1], rtol=1e-11)
    assert np.linalg.det(rotation) == pytest.approx(1.0)


@pytest.mark.parametrize("seed", range(20))
def test_the_rotation_is_mujocos_sign_by_sign(seed):
    inertia = random_inertia(np.random.default_rng(seed))
    full = " ".join(repr(float(inertia[i])) for i in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)))
    body = f'<body><joint/><inertial pos="0 0 0" mass="1" fullinertia="{full}"/></body>'
    m = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{body}</worldbody></mujoco>")
    moments, turn = mujoco_principal_axes(inertia)
    np.testing.assert_allclose(moments, m.body_inertia[1], rtol=1e-9)
    assert abs(np.dot(np.roll(turn, 1), m.body_iquat[1])) == pytest.approx(1.0, abs=1e-9)


def test_equal_moments_keep_the_axes_that_the_matrix_is_given_in():
    noise = 1e-16 * np.random.default_rng(0).normal(size=(3, 3))
    moments, turn = mujoco_principal_axes(np.eye(3) + noise + noise.T)
    assert turn == (0.0, 0.0, 0.0, 1.0)
    assert moments == pytest.approx((1.0, 1.0, 1.0))
