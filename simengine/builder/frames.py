"""Rigid transforms of a template, in plain Python floats: a pose is 7 numbers, position then quaternion (x, y, z, w).

Templates are small, so tuples of floats are quicker here than NumPy arrays; unlike them they compare and hash.
"""

from __future__ import annotations

import math

import numpy as np

Vector = tuple[float, float, float]
Quaternion = tuple[float, float, float, float]
Pose = tuple[float, ...]

IDENTITY: Pose = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
NO_TURN: Quaternion = (0.0, 0.0, 0.0, 1.0)


def cross(a: Vector, b: Vector) -> Vector:
    """Vector product."""
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def add(a: Vector, b: Vector) -> Vector:
    """Sum of two vectors."""
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


def subtract(a: Vector, b: Vector) -> Vector:
    """Difference of two vectors."""
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


def scale(a: Vector, s: float) -> Vector:
    """Vector times number."""
    return (a[0] * s, a[1] * s, a[2] * s)


def quat_multiply(a: Quaternion, b: Quaternion) -> Quaternion:
    """Rotation b, then a."""
    ax, ay, az, aw = a
    bx, by, bz, bw = b
    return (
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
        aw * bw - ax * bx - ay * by - az * bz,
    )


def quat_conjugate(q: Quaternion) -> Quaternion:
    """Inverse of a unit quaternion."""
    return (-q[0], -q[1], -q[2], q[3])


def quat_rotate(q: Quaternion, v: Vector) -> Vector:
    """The vector turned by a unit quaternion: v + 2 w (u x v) + 2 u x (u x v), u its vector part."""
    u = (q[0], q[1], q[2])
    t = scale(cross(u, v), 2.0)
    return add(add(v, scale(t, q[3])), cross(u, t))


def quat_from_axis_angle(axis: Vector, angle: float) -> Quaternion:
    """Rotation by ``angle`` (rad) about a unit axis."""
    s = math.sin(0.5 * angle)
    return (axis[0] * s, axis[1] * s, axis[2] * s, math.cos(0.5 * angle))


def quat_between(a: Vector, b: Vector) -> Quaternion:
    """The shortest rotation that turns unit vector ``a`` into unit vector ``b``."""
    c = cross(a, b)
    w = 1.0 + a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
    if w < 1e-12:  # opposite: half a turn about any axis at right angles to a
        other = (1.0, 0.0, 0.0) if abs(a[0]) < 0.9 else (0.0, 1.0, 0.0)
        c, w = cross(a, other), 0.0
    n = math.sqrt(c[0] ** 2 + c[1] ** 2 + c[2] ** 2 + w * w)
    return (c[0] / n, c[1] / n, c[2] / n, w / n)


def compose(a: Pose, b: Pose) -> Pose:
    """Pose b given in frame a, in the frame in which a is given."""
    return (*add(a[:3], quat_rotate(a[3:], b[:3])), *quat_multiply(a[3:], b[3:]))


def inverse(a: Pose) -> Pose:
    """The pose that undoes ``a``."""
    q = quat_conjugate(a[3:])
    return (*scale(quat_rotate(q, a[:3]), -1.0), *q)


def apply(a: Pose, point: Vector) -> Vector:
    """A point given in frame a, in the frame in which a is given."""
    return add(a[:3], quat_rotate(a[3:], point))


def rotation_matrix(q: Quaternion) -> np.ndarray:
    """(3, 3) matrix of a unit quaternion."""
    return np.array([quat_rotate(q, e) for e in ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))]).T


def quaternion_of(matrix: np.ndarray) -> Quaternion:
    """The unit quaternion of a rotation matrix (3, 3), from the largest of its four squares (Shepperd, 1978)."""
    trace = float(np.trace(matrix))
    squares = np.array([*(2.0 * np.diagonal(matrix) - trace + 1.0), trace + 1.0])  # four times x^2, y^2, z^2, w^2
    i = int(np.argmax(squares))
    if i == 3:
        turned = matrix - matrix.T
        value = np.array([turned[2, 1], turned[0, 2], turned[1, 0], squares[3]])
    else:
        j, k = (i + 1) % 3, (i + 2) % 3
        value = np.empty(4)
        value[i], value[3] = squares[i], matrix[k, j] - matrix[j, k]
        value[j], value[k] = matrix[j, i] + matrix[i, j], matrix[k, i] + matrix[i, k]
    value /= np.linalg.norm(value)
    return tuple(value.tolist())


def angle_between(a: Quaternion, b: Quaternion) -> float:
    """Angle in rad of the rotation that leads from one unit quaternion to the other (q and -q are the same)."""
    x, y, z, w = quat_multiply(quat_conjugate(a), b)
    return 2.0 * math.atan2(math.sqrt(x * x + y * y + z * z), abs(w))
