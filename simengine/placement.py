"""Where the shapes of a model's first world reach in its initial pose; how a robot stands compared with it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from simengine.containers import to_numpy
from simengine.enums import JointType, ShapeFlag, ShapeType


class Sunk(NamedTuple):
    """A shape that begins inside a plane of the world: their numbers, and how deep its lowest point is in m."""

    shape: int
    plane: int
    depth: float


class Stance(NamedTuple):
    """How a robot stands compared with its start pose, moved up or down until its lowest point is at height 0.

    ``sunk``: m that the root link is lower. ``tilt``: rad that it leans from there. ``height``: m of the robot.
    """

    sunk: float
    tilt: float
    height: float


def stance(model, state) -> Stance | None:
    """The stance of the first world's robot in ``state``; up is z. None: nothing of it collides, or its root link is
    fixed."""
    if not has_colliding_shape(model) or to_numpy(model.joint_type)[0] != JointType.FREE:
        return None
    top, bottom = reach(model, (0, 0, 1)), reach(model, (0, 0, -1))
    root = int(to_numpy(model.joint_child)[0])
    start, now = (to_numpy(poses)[root].astype(float) for poses in (model.body_q, state.body_q))
    up = _matrix(now[3:]) @ _matrix(start[3:]).T[:, 2]
    return Stance(start[2] + bottom - now[2], float(np.arccos(np.clip(up[2], -1.0, 1.0))), top + bottom)


def has_colliding_shape(model) -> bool:
    """Whether a shape of a body of world 0 collides."""
    own = slice(int(to_numpy(model.world_shape_start)[1]))
    flags, body = to_numpy(model.shape_flags)[own], to_numpy(model.shape_body)[own]
    return bool(((flags & ShapeFlag.COLLIDES != 0) & (body >= 0)).any())


def deepest(model) -> Sunk | None:
    """The shape of world 0 that is deepest inside an endless plane of the world that it collides with; None: none is.

    Shapes of bodies that nothing moves are left out.
    """
    arrays = ("flags", "type", "body", "size", "world", "contype", "conaffinity")
    flags, kind, body, size, world, own, other = (to_numpy(getattr(model, f"shape_{name}")) for name in arrays)
    collides = ((flags & ShapeFlag.COLLIDES) != 0) & (world <= 0)
    planes = np.flatnonzero(collides & (kind == ShapeType.PLANE) & (body < 0) & ~size[:, :2].any(axis=1))
    moves = body >= 0
    moves[moves] = to_numpy(model.body_inverse_weight)[body[moves], 0] > 0
    found = []
    for plane in planes.tolist():
        pose = to_numpy(model.shape_xform)[plane].astype(float)
        up = _matrix(pose[3:])[:, 2]
        meets = ((own & other[plane]) | (own[plane] & other)) != 0
        for shape in np.flatnonzero(collides & meets & (kind != ShapeType.PLANE) & moves).tolist():
            found.append(Sunk(shape, plane, float(up @ pose[:3]) + _shape_reach(model, shape, -up)))
    worst = max(found, key=lambda sunk: sunk.depth, default=None)
    return worst if worst is not None and worst.depth > 0 else None


def reach(model, direction) -> float | None:
    """The largest coordinate, along a unit vector (3,) of world axes, that a shape of world 0 reaches; m.

    Counts the shapes that collide, or all where none does; planes have no end and do not count. None: no shape.
    """
    direction = np.asarray(direction, float)
    count = int(to_numpy(model.world_shape_start)[1])
    flags = to_numpy(model.shape_flags)[:count]
    bounded = to_numpy(model.shape_type)[:count] != ShapeType.PLANE
    chosen = np.flatnonzero(bounded & ((flags & ShapeFlag.COLLIDES) != 0))
    if not chosen.size:
        chosen = np.flatnonzero(bounded)
    return max((_shape_reach(model, int(shape), direction) for shape in chosen), default=None)


def _shape_reach(model, shape: int, direction: np.ndarray) -> float:
    body = int(to_numpy(model.shape_body)[shape])
    pose = to_numpy(model.shape_xform)[shape].astype(float)
    origin, local = pose[:3], direction
    if body >= 0:
        frame = to_numpy(model.body_q)[body].astype(float)
        local = _matrix(frame[3:]).T @ direction
        origin = _matrix(frame[3:]) @ origin + frame[:3]
    local = _matrix(pose[3:]).T @ local
    return float(direction @ origin + _support(model, shape, local))


def _support(model, shape: int, d: np.ndarray) -> float:
    """The largest coordinate along the unit vector ``d`` of the shape's frame that the shape reaches."""
    kind = ShapeType(int(to_numpy(model.shape_type)[shape]))
    size = to_numpy(model.shape_size)[shape].astype(float)
    across = float(np.hypot(d[0], d[1]))
    if kind == ShapeType.SPHERE:
        return size[0]
    if kind == ShapeType.BOX:
        return float(np.abs(d) @ size)
    if kind == ShapeType.ELLIPSOID:
        return float(np.linalg.norm(d * size))
    if kind == ShapeType.CAPSULE:
        return float(size[0] + abs(d[2]) * size[1])
    if kind == ShapeType.CYLINDER:
        return float(size[0] * across + abs(d[2]) * size[1])
    if kind == ShapeType.CONE:
        return float(max(d[2] * size[1], size[0] * across - d[2] * size[1]))
    mesh = int(to_numpy(model.shape_mesh)[shape])
    start, end = to_numpy(model.mesh_point_start)[mesh : mesh + 2]
    return float((to_numpy(model.mesh_point)[start:end] @ (d * size)).max())


def _matrix(quaternion: np.ndarray) -> np.ndarray:
    """The rotation matrix of a quaternion (x, y, z, w)."""
    x, y, z, w = quaternion / np.linalg.norm(quaternion)
    return np.array(
        (
            (1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)),
            (2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)),
            (2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)),
        )
    )
