"""Principal axes of an inertia, in the order and with the signs that MuJoCo's compiler gives them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from simengine.builder.frames import IDENTITY, NO_TURN, Pose, Quaternion, quat_multiply, rotation_matrix
from simengine.builder.inertia import MassProperties

SMALL = 1e-12
"""MuJoCo's threshold, in the unit of the matrix: what is smaller off the diagonal is dropped, whatever the size of the
rest (so the inertia of a mesh of a few millimetres may lose its products)."""


@dataclass
class PrincipalMass:
    """``mass`` (kg); ``frame`` (7): the centre of mass and the principal axes; ``moments`` (3,) in kg m2."""

    mass: float = 0.0
    frame: Pose = IDENTITY
    moments: tuple[float, ...] = (0.0, 0.0, 0.0)

    def properties(self) -> MassProperties:
        """The same as a matrix in the axes in which ``frame`` is given."""
        rotation = rotation_matrix(self.frame[3:])
        inertia = rotation @ np.diag(self.moments) @ rotation.T
        return MassProperties(self.mass, np.array(self.frame[:3]), 0.5 * (inertia + inertia.T))


def principal_mass(properties: MassProperties) -> PrincipalMass:
    """From a matrix to principal axes."""
    moments, turn = mujoco_principal_axes(properties.inertia)
    return PrincipalMass(properties.mass, (*map(float, properties.com), *turn), moments)


def mujoco_principal_axes(inertia: np.ndarray) -> tuple[tuple[float, ...], Quaternion]:
    """Moments, the largest first, and the rotation to their axes, by Jacobi's method.

    Each step turns about the axis across the largest element off the diagonal so that it vanishes; equal moments keep
    the axes that the matrix is given in.
    """
    turn = NO_TURN
    for _ in range(500):
        rotation = rotation_matrix(turn)
        diagonal = rotation.T @ inertia @ rotation
        row, column = max(((0, 1), (0, 2), (1, 2)), key=lambda pair: (abs(diagonal[pair]), pair))
        if abs(diagonal[row, column]) < SMALL:
            break
        angle = _jacobi_angle(diagonal[row, row], diagonal[column, column], diagonal[row, column])
        if abs(angle) < 1e-13:
            break
        axis = 3 - row - column
        turn = _turned(turn, axis, -angle if axis == 1 else angle)  # about y the plane is passed from z to x
    moments = [float(diagonal[i, i]) for i in range(3)]
    for first in (0, 1, 0):
        if moments[first] + SMALL < moments[first + 1]:
            moments[first], moments[first + 1] = moments[first + 1], moments[first]
            turn = _turned(turn, (first + 2) % 3, math.pi / 2)
    return tuple(moments), turn


def _jacobi_angle(a: float, b: float, off: float) -> float:
    """The smaller angle whose tangent t solves t^2 + 2 tau t = 1, tau = (b - a) / (2 off); negative for tau >= 0."""
    tau = (b - a) / (2.0 * off)
    return -math.copysign(math.atan(1.0 / (abs(tau) + math.hypot(1.0, tau))), tau)


def _turned(q: Quaternion, axis: int, angle: float) -> Quaternion:
    """A rotation followed by one about an axis of its own frame."""
    parts = [0.0, 0.0, 0.0, math.cos(0.5 * angle)]
    parts[axis] = math.sin(0.5 * angle)
    product = quat_multiply(q, tuple(parts))
    length = math.sqrt(sum(part * part for part in product))
    return tuple(part / length for part in product)
