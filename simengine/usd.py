"""Poses of bodies written onto the prims of a user's own USD stage, by the names that ``add_usd`` gives them."""

from __future__ import annotations

import math

import numpy as np

from simengine.builder.frames import Pose, compose, inverse, quat_between, quaternion_of, rotation_matrix, scale
from simengine.builder.importers.usd.frames import rotation_part
from simengine.builder.importers.usd.names import labels_of
from simengine.builder.importers.usd.stage import require_usd
from simengine.builder.values import AXES, pose
from simengine.containers import to_numpy
from simengine.errors import ModelError, shortened, warn_user
from simengine.state import State
from simengine.values import number

SAME = 1e-6  # relative to the largest entry: matrices that differ by less are equal


def write(stage, state, world: int = 0, *, prim_path=None, label_prefix=None, xform=None, time=None) -> int:
    """Write the poses of a world's bodies onto the rigid-body prims of a stage; returns how many were written.

    A prim gets the pose of the body with its label: its displayName, else its name, its full path where two are alike,
    as ``ModelBuilder.add_usd`` names bodies. The units, the up axis, parents and scales of the stage are taken into
    account. Where the prim's transform is a translation and an orientation (and a scale), these are set; any other one
    is replaced by a matrix. Opinions go to the stage's edit target; nothing is saved. Waits for the device.

    Args:
        stage: a Usd.Stage.
        state: a State; its model's bodies are those of the stage.
        world: which world's bodies.
        prim_path, label_prefix, xform: as they were given to ``add_usd``.
        time: time code of the values; default the default values.

    Raises:
        ModelError: an argument is of another kind, or the time not finite; no such world, no body belongs to a prim, a
            pose is not finite, a prim is part of an instance.
        MissingExtraError: usd-core is not installed.
    """
    require_usd()
    from pxr import Usd, UsdGeom

    if not isinstance(stage, Usd.Stage):
        raise ModelError(f"is {stage!r}; it must be a Usd.Stage", element="usd.write, stage")
    if not isinstance(state, State):
        raise ModelError(f"is {state!r}; it must be a State, as model.state() makes it", element="usd.write, state")
    if not isinstance(label_prefix, str | None):
        raise ModelError(f"is {label_prefix!r}; it must be a str", element="usd.write, label_prefix")
    code = Usd.TimeCode.Default() if time is None else Usd.TimeCode(number(time, "usd.write, time"))
    bodies = _body_poses(state, world)
    prims = _rigid_bodies(stage, prim_path)
    labels = labels_of(prims)
    prefix = f"{label_prefix}/" if label_prefix else ""
    chosen = [
        (prim, bodies[prefix + labels[str(prim.GetPath())]])
        for prim in prims
        if prefix + labels[str(prim.GetPath())] in bodies
    ]
    if not chosen:
        known = shortened(bodies) or "no bodies"
        raise ModelError(f"no rigid body of the stage is one of the model's ({known})", element="usd.write")
    if left := [str(prim.GetPath()) for prim in prims if prefix + labels[str(prim.GetPath())] not in bodies]:
        warn_user(f"{len(left)} rigid bodies of the stage have none in the model: {shortened(left)}")
    cache = UsdGeom.XformCache(code)
    into_stage = _into_stage(stage, state.model.up_axis, xform)
    old = {prim.GetPath(): _matrix(cache.GetLocalToWorldTransform(prim)) for prim, _ in chosen}
    for prim, wanted in chosen:  # in the order of the stage: parents come first
        target = _placed(old[prim.GetPath()], into_stage(wanted))
        cache.Clear()
        _set_world(prim, target, cache, code)
    return len(chosen)


def _body_poses(state, world: int) -> dict[str, Pose]:
    """Pose of each body of a world by its label."""
    model = state.model
    if isinstance(world, bool) or not hasattr(world, "__index__") or not 0 <= int(world) < model.world_count:
        raise ModelError(f"is {world!r}; there are {model.world_count} worlds", element="usd.write, world")
    starts = to_numpy(model.world_body_start)
    first, last = int(starts[world]), int(starts[world + 1])
    poses = to_numpy(state.body_q)[first:last].astype(np.float64)
    labels = model.body_label[first:last]
    bad = np.flatnonzero(~np.isfinite(poses).all(axis=1))
    if bad.size:
        raise ModelError(f"its pose is {poses[bad[0]]}; it must be finite", element=f"body {labels[bad[0]]!r}")
    return {label: pose(one, f"body {label!r}") for label, one in zip(labels, poses.tolist(), strict=True)}


def _rigid_bodies(stage, prim_path: str | None) -> list:
    """The prims with an enabled RigidBodyAPI, those of instances too, in the order of the stage."""
    from pxr import Sdf, Usd, UsdPhysics

    if prim_path is not None and not (isinstance(prim_path, str) and Sdf.Path.IsValidPathString(prim_path)[0]):
        raise ModelError(f'is {prim_path!r}; it must be a path such as "/World/Robot"', element="usd.write, prim_path")
    top = stage.GetPseudoRoot() if prim_path is None else stage.GetPrimAtPath(prim_path)
    if not top:
        raise ModelError(f"there is no prim {prim_path}", element="usd.write, prim_path")
    found = []
    for prim in Usd.PrimRange(top, Usd.TraverseInstanceProxies()):
        if prim.HasAPI(UsdPhysics.RigidBodyAPI) and UsdPhysics.RigidBodyAPI(prim).GetRigidBodyEnabledAttr().Get():
            if prim.IsInstanceProxy():
                raise ModelError(
                    f"{prim.GetPath()} is part of an instance, which cannot be written to: make it not instanceable",
                    element="usd.write",
                )
            found.append(prim)
    return found


def _into_stage(stage, up_axis: str, xform):
    """The function from poses of the builder's world to those of the stage, in its units."""
    from pxr import UsdGeom

    metre = UsdGeom.GetStageMetersPerUnit(stage)
    given = stage.GetMetadata("upAxis") if stage.HasAuthoredMetadata("upAxis") else "Y"
    own = AXES[given if given in AXES else "Y"]
    base = compose(pose(xform, "usd.write, xform"), (0.0, 0.0, 0.0, *quat_between(own, AXES[up_axis])))

    def turned(one: Pose) -> Pose:
        local = compose(inverse(base), one)
        return (*scale(local[:3], 1.0 / metre), *local[3:])

    return turned


def _matrix(matrix) -> np.ndarray:
    """A matrix of USD, whose rows are images, as one whose columns are."""
    return np.array(matrix, np.float64).T


def _placed(old: np.ndarray, wanted: Pose) -> np.ndarray:
    """The prim's matrix in the world with another rigid part; what it scales and shears stays."""
    stretch = rotation_part(old[:3, :3]).T @ old[:3, :3]
    result = np.eye(4)
    result[:3, :3] = rotation_matrix(wanted[3:]) @ stretch
    result[:3, 3] = wanted[:3]
    return result


def _set_world(prim, target: np.ndarray, cache, code) -> None:
    """Give a prim the transform that leads to ``target`` in the world."""
    from pxr import Gf, UsdGeom

    xformable = UsdGeom.Xformable(prim)
    resets = xformable.GetResetXformStack()
    parent = np.eye(4) if resets else _matrix(cache.GetParentToWorldTransform(prim))
    if abs(np.linalg.det(parent)) < 1e-300:
        raise ModelError(f"the prims above {prim.GetPath()} flatten it", element="usd.write")
    local = np.linalg.solve(parent, target)
    if _set_parts(xformable, local, code):
        return
    operation = xformable.MakeMatrixXform()
    if resets:
        xformable.SetXformOpOrder([operation], True)
    operation.Set(Gf.Matrix4d(*local.T.ravel().tolist()), code)


def _set_parts(xformable, local: np.ndarray, code) -> bool:
    """Set translation and orientation where these (and a scale) are all there is, and say whether that was enough."""
    from pxr import Gf, UsdGeom

    operations = xformable.GetOrderedXformOps()
    names = [operation.GetOpName() for operation in operations]
    if names not in (["xformOp:translate", "xformOp:orient"], ["xformOp:translate", "xformOp:orient", "xformOp:scale"]):
        return False
    factors = np.array(operations[2].Get(code), np.float64) if len(operations) == 3 else np.ones(3)
    if (factors == 0.0).any():
        return False
    turn = local[:3, :3] / factors
    rotation = rotation_part(turn)
    if np.abs(turn - rotation).max() > SAME * np.abs(turn).max() or not math.isclose(
        np.linalg.det(turn), 1.0, rel_tol=1e-5
    ):
        return False
    x, y, z, w = quaternion_of(rotation)
    kinds = {
        UsdGeom.XformOp.PrecisionDouble: (Gf.Vec3d, Gf.Quatd),
        UsdGeom.XformOp.PrecisionFloat: (Gf.Vec3f, Gf.Quatf),
    }
    translate, orient = operations[:2]
    half = (Gf.Vec3h, Gf.Quath)
    translate.Set(kinds.get(translate.GetPrecision(), half)[0](*local[:3, 3].tolist()), code)
    orient.Set(kinds.get(orient.GetPrecision(), half)[1](w, x, y, z), code)
    return True
