"""MuJoCo's distances and contacts of the same pairs of shapes."""

from __future__ import annotations

import mujoco
import numpy as np

from simengine.enums import ShapeType
from tests.collision.collision_pairs import SHAPES, Pairs

_WORDS = {
    ShapeType.PLANE: ("plane", "0 0 .1"),
    ShapeType.SPHERE: ("sphere", "1"),
    ShapeType.CAPSULE: ("capsule", "1 1"),
    ShapeType.ELLIPSOID: ("ellipsoid", "1 1 1"),
    ShapeType.CYLINDER: ("cylinder", "1 1"),
    ShapeType.BOX: ("box", "1 1 1"),
}


def _model(kinds, margin: float):
    """The first geom on a mocap body, the second on a free one: two mocap bodies would not collide."""
    geoms = [f'<geom type="{_WORDS[kind][0]}" size="{_WORDS[kind][1]}" margin="{margin / 2}"/>' for kind in kinds]
    inertia = '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'
    bodies = f'<body mocap="true">{geoms[0]}</body><body><freejoint/>{inertia}{geoms[1]}</body>'
    option = '<option ccd_tolerance="1e-14" ccd_iterations="500"/>'
    return mujoco.MjModel.from_xml_string(f"<mujoco>{option}<worldbody>{bodies}</worldbody></mujoco>")


def _placed(pairs: Pairs, margin: float):
    """Yields (model, data) for every pair, kinematics done."""
    return _placed_shapes(SHAPES[pairs.routine], pairs.pose0, pairs.size0, pairs.pose1, pairs.size1, margin)


def _placed_shapes(kinds, pose0, size0, pose1, size1, margin: float):
    model = _model(kinds, margin)
    data = mujoco.MjData(model)
    for i in range(len(pose0)):
        for geom, size in enumerate((size0[i], size1[i])):
            model.geom_size[geom] = size
            model.geom_rbound[geom] = 0 if model.geom_type[geom] == mujoco.mjtGeom.mjGEOM_PLANE else 10
            model.geom_aabb[geom, 3:] = 10
        data.mocap_pos[0], data.mocap_quat[0] = pose0[i, :3], np.roll(pose0[i, 3:], 1)
        data.qpos[:3], data.qpos[3:] = pose1[i, :3], np.roll(pose1[i, 3:], 1)
        mujoco.mj_kinematics(model, data)
        yield model, data


def distances(pairs: Pairs) -> np.ndarray:
    """mj_geomDistance of every pair."""
    return np.array([mujoco.mj_geomDistance(model, data, 0, 1, 10.0, None) for model, data in _placed(pairs, 0.0)])


def distances_of(kinds, pose0, size0, pose1, size1) -> np.ndarray:
    """mj_geomDistance of shapes of two kinds: poses (n, 7), sizes (n, 3)."""
    placed = _placed_shapes(kinds, pose0, size0, pose1, size1, 0.0)
    return np.array([mujoco.mj_geomDistance(model, data, 0, 1, 10.0, None) for model, data in placed])


def contacts(pairs: Pairs, reach: float) -> list[np.ndarray]:
    """For each pair MuJoCo's contacts within `reach`: rows (midpoint, normal from first to second, distance)."""
    rows = []
    for model, data in _placed(pairs, reach):
        mujoco.mj_collision(model, data)
        found = [np.concatenate([c.pos, c.frame[:3] * (1 if c.geom[0] == 0 else -1), [c.dist]]) for c in data.contact]
        rows.append(np.array(found).reshape(-1, 7))
    return rows
