"""Transforms and quaternions against rotation matrices."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import simengine as sim
from simengine.errors import ModelError


def test_a_transform_is_position_then_unit_quaternion():
    np.testing.assert_array_equal(sim.transform(), [0, 0, 0, 0, 0, 0, 1])
    np.testing.assert_allclose(sim.transform((1, 2, 3), (0, 0, 3, 4)), [1, 2, 3, 0, 0, 0.6, 0.8], rtol=1e-15)


def test_axis_angle_is_the_rotation_about_the_axis():
    axis, angle = np.array([1.0, -2.0, 0.5]), 2.3
    found = Rotation.from_quat(sim.quat_from_axis_angle(axis, angle)).as_matrix()
    expected = Rotation.from_rotvec(angle * axis / np.linalg.norm(axis)).as_matrix()
    np.testing.assert_allclose(found, expected, atol=1e-15)


@pytest.mark.parametrize("order", ["xyz", "zyx", "zxz", "yzx", "xyx"])
def test_euler_angles_turn_about_the_axes_of_the_turned_frame(order):
    angles = (0.3, -1.1, 2.0)
    found = Rotation.from_quat(sim.quat_from_euler(angles, order)).as_matrix()
    np.testing.assert_allclose(found, Rotation.from_euler(order.upper(), angles).as_matrix(), atol=1e-15)


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: sim.transform(p=(1, 2)), "p: needs 3 numbers, got shape"),
        (lambda: sim.transform(p=[[1, 2, 3]]), "p: needs 3 numbers"),
        (lambda: sim.transform(p=(1, 2, np.nan)), "p: needs finite numbers"),
        (lambda: sim.transform(q=(0, 0, 0, 0)), "q: has length zero"),
        (lambda: sim.quat_from_axis_angle((0, 0, 0), 1), "axis: has length zero"),
        (lambda: sim.quat_from_axis_angle("xyz", 1), "axis: needs numbers"),
        (lambda: sim.quat_from_euler((1, 2, 3), "xyw"), "order: three letters"),
    ],
)
def test_what_is_no_rotation_is_refused_by_name(call, match):
    with pytest.raises(ModelError, match=match):
        call()
