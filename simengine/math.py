"""Transforms and quaternions for scripts, as float64 NumPy arrays. Quaternions are (x, y, z, w)."""

from __future__ import annotations

import numpy as np

from simengine.errors import ModelError
from simengine.values import written


def transform(p=(0.0, 0.0, 0.0), q=(0.0, 0.0, 0.0, 1.0)) -> np.ndarray:
    """A transform (7,): position ``p`` (3,) in m, then the unit quaternion of ``q`` (4,).

    Raises ModelError where a number is not finite, a shape is wrong or the quaternion is zero.
    """
    return np.concatenate((_vector(p, 3, "p"), _unit(_vector(q, 4, "q"), "q")))


def quat_from_axis_angle(axis, angle: float) -> np.ndarray:
    """The rotation by ``angle`` (rad) about ``axis`` (3,), which need not be of unit length: a quaternion (4,)."""
    axis = _unit(_vector(axis, 3, "axis"), "axis")
    half = 0.5 * float(_vector(angle, 1, "angle")[0])
    return np.append(axis * np.sin(half), np.cos(half))


def quat_from_euler(angles, order: str = "xyz") -> np.ndarray:
    """The quaternion (4,) of three rotations by ``angles`` (3,) in rad about the axes named by ``order``.

    Each axis is that of the frame turned by the rotations before it: "xyz" is R_x(a0) R_y(a1) R_z(a2), MJCF's
    default; the roll, pitch and yaw of URDF are angles (yaw, pitch, roll) in the order "zyx".
    """
    angles = _vector(angles, 3, "angles")
    if len(order) != 3 or set(order) - set("xyz"):
        raise ModelError(f'order: three letters of x, y and z such as "xyz", got {order!r}')
    result = np.array((0.0, 0.0, 0.0, 1.0))
    for letter, angle in zip(order, angles, strict=True):
        result = quat_multiply(result, quat_from_axis_angle(np.eye(3)["xyz".index(letter)], angle))
    return result


def quat_multiply(a, b) -> np.ndarray:
    """The product (4,) of two quaternions: first the rotation b, then a."""
    (ax, ay, az, aw), (bx, by, bz, bw) = _vector(a, 4, "a"), _vector(b, 4, "b")
    return np.array(
        (
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by + ay * bw + az * bx - ax * bz,
            aw * bz + az * bw + ax * by - ay * bx,
            aw * bw - ax * bx - ay * by - az * bz,
        )
    )


def _vector(values, length: int, name: str) -> np.ndarray:
    try:
        vector = np.asarray(values, np.float64).reshape(-1)
    except (TypeError, ValueError, OverflowError) as error:
        raise ModelError(f"needs numbers, got {written(values)}", element=name) from error
    if vector.shape != (length,) or (length > 1 and np.ndim(values) != 1):
        raise ModelError(f"needs {length} numbers, got shape {np.shape(values)}", element=name)
    if not np.all(np.isfinite(vector)):
        raise ModelError(f"needs finite numbers, got {values!r}", element=name)
    return vector


def _unit(vector: np.ndarray, name: str) -> np.ndarray:
    length = np.linalg.norm(vector)
    if length == 0.0:
        raise ModelError("has length zero, so it has no direction", element=name)
    return vector / length
