"""Numbers and poses of a URDF's elements."""

from __future__ import annotations

from simengine.builder.frames import IDENTITY, Pose, quat_from_axis_angle, quat_multiply
from simengine.builder.importers.report import Notes
from simengine.builder.importers.urdf.attributes import TABLE
from simengine.builder.importers.xml_reader import Element

LARGEST = 1e15
"""In SI units no robot comes near; the product of two such numbers is still finite in float32."""


def quantities(element: Element, name: str, count: int, default: tuple[float, ...] | None = None) -> tuple[float, ...]:
    """Numbers of an attribute, none beyond LARGEST."""
    values = element.numbers(name, count, default)
    if max(map(abs, values)) > LARGEST:
        raise element.error(f"attribute '{name}' is {element.string(name)!r}: no robot has anything beyond {LARGEST:g}")
    return values


def quantity(element: Element, name: str, default: float | None = None) -> float:
    """One number of an attribute, not beyond LARGEST."""
    return quantities(element, name, 1, None if default is None else (default,))[0]


def read_pose(parent: Element, notes: Notes) -> Pose:
    """The ``<origin>`` of an element: xyz, and rpy about the fixed axes x, y, z: R = Rz(yaw) Ry(pitch) Rx(roll)."""
    element = parent.one("origin")
    if element is None:
        return IDENTITY
    TABLE.check(notes, element, ())
    position = quantities(element, "xyz", 3, (0.0, 0.0, 0.0))
    return pose_of(position, quantities(element, "rpy", 3, (0.0, 0.0, 0.0)))


def pose_of(position, rpy) -> Pose:
    """The pose of a position (m) and of roll, pitch, yaw (rad) about the fixed axes x, y, z."""
    roll, pitch, yaw = rpy
    turn = quat_multiply(quat_from_axis_angle((0.0, 1.0, 0.0), pitch), quat_from_axis_angle((1.0, 0.0, 0.0), roll))
    return (*position, *quat_multiply(quat_from_axis_angle((0.0, 0.0, 1.0), yaw), turn))
