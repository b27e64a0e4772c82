"""Where a joint stands: its coordinates from the poses of the bodies that it joins."""

from __future__ import annotations

import math

import numpy as np

from simengine.builder.frames import NO_TURN, Pose, angle_between, quat_from_axis_angle, quat_multiply, rotation_matrix
from simengine.builder.importers.usd.document import ANGULAR, LINEAR, Axis


def coordinates(axes: list[Axis], relative: Pose) -> tuple[list[float], float, float]:
    """Coordinates of successive axes, linear ones first, that lead to a pose of the child's joint frame.

    Args:
        axes: of the joint, unit vectors at right angles to each other among those of a kind.
        relative: pose of the child's joint frame in the parent's.

    Returns:
        the coordinates (m, rad), and how far they stay off: distance in m and angle in rad.
    """
    linear = [axis for axis in axes if axis.kind == LINEAR]
    angular = [axis for axis in axes if axis.kind == ANGULAR]
    offset = np.array(relative[:3])
    along = [float(offset @ np.array(axis.axis)) for axis in linear]
    left = offset - sum((q * np.array(axis.axis) for q, axis in zip(along, linear, strict=True)), np.zeros(3))
    angles = _angles([axis.axis for axis in angular], relative[3:])
    angles = [_within(angle, axis) for angle, axis in zip(angles, angular, strict=True)]
    turn = NO_TURN
    for angle, axis in zip(angles, angular, strict=True):
        turn = quat_multiply(turn, quat_from_axis_angle(axis.axis, angle))
    return along + angles, float(np.linalg.norm(left)), angle_between(turn, relative[3:])


def _angles(axes: list, turn) -> list[float]:
    """Angles of up to three successive rotations about axes at right angles to each other.

    Of one: the angle of the rotation's part about it. Of several: R = Rx(a) Ry(b) Rz(c) in the basis of the first axis,
    the second and their product.
    """
    if not axes:
        return []
    first = np.array(axes[0])
    if len(axes) == 1:
        return [2.0 * math.atan2(float(np.array(turn[:3]) @ first), turn[3])]
    second = np.array(axes[1])
    third = np.cross(first, second)
    basis = np.stack([first, second, third], axis=1)
    m = basis.T @ rotation_matrix(turn) @ basis
    b = math.asin(min(max(m[0, 2], -1.0), 1.0))
    if abs(m[0, 2]) > 1.0 - 1e-12:  # the first and third axis coincide
        a, c = math.atan2(m[2, 1], m[1, 1]), 0.0
    else:
        a, c = math.atan2(-m[1, 2], m[2, 2]), math.atan2(-m[0, 1], m[0, 0])
    if len(axes) == 2:
        return [a, b]
    return [a, b, c if float(third @ np.array(axes[2])) > 0.0 else -c]


def _within(angle: float, axis: Axis) -> float:
    """The angle in (-pi, pi], or the whole turns off it that lie within the limits."""
    angle = math.remainder(angle, 2.0 * math.pi)
    if axis.lower <= angle <= axis.upper:
        return angle
    for turns in (1, -1):
        if axis.lower <= angle + 2.0 * math.pi * turns <= axis.upper:
            return angle + 2.0 * math.pi * turns
    return angle
