"""A model made by hand, without the builder: a floating ball with a hinged box, and a ground that all worlds share."""

from __future__ import annotations

import numpy as np

from simengine import schema
from simengine.containers import shape_of
from simengine.model import Model

BODIES, JOINTS, COORDS, DOFS, SHAPES = 2, 2, 8, 7, 2


def topology(worlds: int) -> dict[str, np.ndarray]:
    """Topology of one batch group of ``worlds`` such worlds; pairs: ball and box against the ground, 1 + 4 contacts."""
    tables = {
        "group_world": range(worlds),
        "link_parent": [-1, 0, 1],
        "link_body": [-1, 0, 1],
        "link_joint": [-1, 0, 1],
        "link_dof_start": [0, 0, 6],
        "link_dof_count": [0, 6, 1],
        "link_root": [0, 1, 1],
        "link_depth": [0, 1, 2],
        "link_flags": [0, 0, 0],
        "dof_link": [1, 1, 1, 1, 1, 1, 2],
        "dof_kind": [0, 0, 0, 2, 3, 4, 1],
        "dof_user": range(7),
        "dof_coord": [0, 1, 2, 3, 3, 3, 7],
        "dof_parent": [-1, 0, 1, 2, 3, 4, 5],
        "dof_depth": range(7),
        "dof_tree_start": [0] * 7,
        "dof_tree_end": [7] * 7,
        "dof_mask": [2 ** (i + 1) - 1 for i in range(7)],
        "shape_link": [1, 2, 0],
        "pair_shape0": [2, 2],
        "pair_shape1": [0, 1],
        "pair_routine": [0, 4],
        "pair_slot": [0, 1],
        "pair_parameter": [-1, -1],
    }
    return {name: np.array(values, np.int32) for name, values in tables.items()}


def arrays(worlds: int) -> dict[str, np.ndarray]:
    """All rows of owner "model" in float64; what is not named here is zero."""
    counts = {name: 0 for name in schema.counts("model")}
    counts |= {"worlds": worlds, "bodies": BODIES * worlds, "joints": JOINTS * worlds, "coords": COORDS * worlds}
    counts |= {"dofs": DOFS * worlds, "shapes": SHAPES * worlds + 1}
    values = {
        row.name: np.zeros(shape_of(row, counts), np.float64 if row.dtype == "real" else row.dtype)
        for row in schema.rows("model")
    }
    each, starts = np.arange(worlds), np.arange(worlds + 1)
    values["gravity"][:, 2] = -9.81
    for name, size in (("body", BODIES), ("joint", JOINTS), ("coord", COORDS), ("dof", DOFS), ("shape", SHAPES)):
        values[f"world_{name}_start"][:] = size * starts
    values["random_key"][:] = each
    values["body_mass"][:] = np.tile([2.0, 1.0], worlds)
    values["body_inertia"][:] = np.eye(3) * np.tile([0.02, 0.01], worlds)[:, None, None]
    values["body_world"][:] = np.repeat(each, BODIES)
    values["joint_type"][:] = np.tile([3, 0], worlds)
    values["joint_parent"][:] = np.stack([np.full(worlds, -1), BODIES * each], 1).ravel()
    values["joint_child"][:] = np.stack([BODIES * each, BODIES * each + 1], 1).ravel()
    values["joint_q_start"][:] = [*np.stack([COORDS * each, COORDS * each + 7], 1).ravel(), COORDS * worlds]
    values["joint_qd_start"][:] = [*np.stack([DOFS * each, DOFS * each + 6], 1).ravel(), DOFS * worlds]
    values["joint_parent_xform"][:, 6] = values["joint_child_xform"][:, 6] = 1.0
    values["joint_parent_xform"][1::2, 0] = 0.5
    values["joint_q"][:] = np.tile([0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.25], worlds)
    values["joint_axis"][:] = np.tile(np.vstack([np.eye(3), np.eye(3), [0, 1, 0]]), (worlds, 1))
    values["body_q"][:] = np.tile([[0, 0, 1, 0, 0, 0, 1], [0.5, 0, 1, 0, np.sin(0.125), 0, np.cos(0.125)]], (worlds, 1))
    values["joint_target_pos"][:] = np.tile([0, 0, 0, 0, 0, 0, 0.25], worlds)
    values["shape_type"][:] = [*np.tile([2, 6], worlds), 0]
    values["shape_body"][:] = [*range(BODIES * worlds), -1]
    values["shape_world"][:] = [*np.repeat(each, SHAPES), -1]
    values["shape_mesh"][:] = -1
    values["shape_xform"][:, 6] = 1.0
    values["shape_size"][:] = [*np.tile([[0.1, 0, 0], [0.1, 0.1, 0.1]], (worlds, 1)), [0, 0, 0]]
    values["shape_friction"][:] = 1.0
    return values


def labels(worlds: int) -> dict[str, list[str]]:
    """Labels of all worlds."""
    each = range(worlds)
    return {
        "body": [f"world_{i}/{name}" for i in each for name in ("ball", "box")],
        "joint": [f"world_{i}/{name}" for i in each for name in ("float", "hinge")],
        "shape": [f"world_{i}/{name}" for i in each for name in ("ball_shape", "box_shape")] + ["ground"],
    }


def model(worlds: int = 3, device: str = "cpu", precision: str = "float64") -> Model:
    """The model itself."""
    return Model(arrays(worlds), labels(worlds), [topology(worlds)], device=device, precision=precision)
