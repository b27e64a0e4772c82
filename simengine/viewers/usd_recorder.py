"""UsdRecorder: bodies and their shapes once, their poses at every frame, in a file that any USD viewer opens."""

from __future__ import annotations

import math
import os
import re
from pathlib import Path

import numpy as np

from simengine.containers import to_numpy
from simengine.enums import ShapeFlag
from simengine.errors import MissingExtraError, ModelError, shortened, warn_user
from simengine.files import cannot_write
from simengine.fixed import Fixed
from simengine.values import number

SUFFIXES = (".usdc", ".usda", ".usd")
ROOT = "/World"


class UsdRecorder(Fixed):
    """Records poses of bodies and writes them, on ``close``, as time samples to a USD file.

    Parameters
    ----------
    path: the file, ``.usdc`` (compact), ``.usda`` (text) or ``.usd``. Missing folders above it are made. It is written
        beside and renamed, so a file of that name is replaced whole or stays.
    model: the Model whose states are recorded.
    frames_per_second: of the file; a frame at t seconds has the time code t * frames_per_second.
    worlds: indices of the worlds to record, default all. They stand ``model.world_offset`` apart (``spacing`` of
        ``ModelBuilder.replicate``).

    Metres and kilograms; up is the model's up axis (of a model with X up the root prim is turned, since USD knows Y and
    Z alone). Bodies are Xform prims ``/World/world_<index>/<label>``; shapes that are not visible are left out. Use it
    as a context manager, or call ``close``. Raises MissingExtraError without the package usd-core, ModelError for
    arguments that cannot be, AssetError where the file cannot be written.
    """

    def __init__(self, path: str | os.PathLike, model, frames_per_second: float = 60.0, worlds=None):
        _require_usd()
        path = Path(path)
        if path.suffix not in SUFFIXES:
            raise ModelError(f"{path} must end in {', '.join(SUFFIXES)}", element="UsdRecorder, path")
        rate = number(frames_per_second, "UsdRecorder, frames_per_second", positive=True)
        worlds = _checked_worlds(worlds, model.world_count)
        self._set(path=path, model=model, frames_per_second=rate, worlds=worlds)
        starts = to_numpy(model.world_body_start)
        self._bodies = np.concatenate([np.arange(starts[w], starts[w + 1]) for w in worlds])
        self._on_device = model.device.asarray(self._bodies)
        self._times: list[float] = []
        self._poses: list[np.ndarray] = []
        self._closed = False
        self._beside = path.with_name(f".{path.stem}-{os.getpid()}{path.suffix}")
        self._try_place()

    @property
    def frame_count(self) -> int:
        """Frames recorded so far."""
        return len(self._times)

    def write(self, state, seconds: float) -> None:
        """Record the body poses of ``state`` as the frame at ``seconds``, which must grow. Waits for the device."""
        if self._closed:
            raise ModelError("is closed: make another for another file", element=f"recorder of {self.path}")
        if not math.isfinite(seconds) or (self._times and seconds <= self._times[-1]):
            last = f", the last is at {self._times[-1]} s" if self._times else ""
            raise ModelError(f"a frame at {seconds} s{last}; times must grow", element=f"recorder of {self.path}")
        self._poses.append(to_numpy(state.body_q[self._on_device]).astype(np.float64))
        self._times.append(float(seconds))

    def close(self) -> None:
        """Write the file; a second call does nothing. Warns of poses that are not finite, which are left out."""
        if self._closed:
            return
        self._closed = True
        stage = self._make_stage()
        try:
            stage.GetRootLayer().Export(str(self._beside))
            os.replace(self._beside, self.path)
        except OSError as error:
            raise cannot_write(self.path, error) from error
        finally:
            self._beside.unlink(missing_ok=True)
        self._poses.clear()

    def _try_place(self) -> None:
        """Find out before a long run, not after it, that the file cannot be written."""
        if self.path.is_dir():
            raise ModelError(f"{self.path} is a folder; name a file in it", element="UsdRecorder, path")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._beside.touch()
            self._beside.unlink()
        except OSError as error:
            raise cannot_write(self.path, error) from error

    def __enter__(self) -> UsdRecorder:
        return self

    def __exit__(self, *error) -> None:
        self.close()

    def _make_stage(self):
        from pxr import Usd, UsdGeom, UsdPhysics

        stage = Usd.Stage.CreateInMemory()
        UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.y if self.model.up_axis == "Y" else UsdGeom.Tokens.z)
        UsdGeom.SetStageMetersPerUnit(stage, 1.0)
        UsdPhysics.SetStageKilogramsPerUnit(stage, 1.0)
        stage.SetTimeCodesPerSecond(self.frames_per_second)
        stage.SetFramesPerSecond(self.frames_per_second)
        codes = np.array(self._times) * self.frames_per_second
        codes = np.where(np.abs(codes - np.rint(codes)) < 1e-6, np.rint(codes), codes)  # whole frames have whole codes
        if len(codes):
            stage.SetStartTimeCode(float(codes[0]))
            stage.SetEndTimeCode(float(codes[-1]))
        root = UsdGeom.Xform.Define(stage, ROOT)
        stage.SetDefaultPrim(root.GetPrim())
        if self.model.up_axis == "X":
            root.AddRotateYOp().Set(-90.0)
        scene = _Scene(self, stage, codes)
        scene.define()
        scene.write_samples()
        return stage


class _Scene:
    """The prims of one recording."""

    def __init__(self, recorder: UsdRecorder, stage, codes: np.ndarray):
        from simengine.viewers.usd_shapes import ShapePrims

        model = recorder.model
        self.recorder, self.model, self.stage, self.codes = recorder, model, stage, codes
        offsets = model.world_offset[recorder.worlds]
        self.shapes = ShapePrims(model, stage, float(np.abs(offsets).max(initial=0.0)))
        bodies = recorder._bodies
        self.poses = np.stack(recorder._poses) if recorder._poses else to_numpy(model.body_q)[bodies][None]
        visible = (to_numpy(model.shape_flags) & ShapeFlag.VISIBLE) != 0
        shape_body, shape_world = to_numpy(model.shape_body), to_numpy(model.shape_world)
        self.shapes_of_body: dict[int, list[int]] = {}
        self.static_shapes: dict[int, list[int]] = {}
        for shape in np.flatnonzero(visible).tolist():
            if shape_body[shape] < 0:
                self.static_shapes.setdefault(int(shape_world[shape]), []).append(shape)
            else:
                self.shapes_of_body.setdefault(int(shape_body[shape]), []).append(shape)
        self.left_out: list[str] = []
        self.samples: list[tuple] = []  # (paths of translation and orientation, time codes, poses) of each moving body

    def define(self) -> None:
        from pxr import UsdGeom

        names = _Names(f"world_{world}" for world in self.recorder.worlds)
        self._define_shapes(self.static_shapes.get(-1, []), ROOT, names)
        starts = to_numpy(self.model.world_body_start)
        column = 0
        for world in self.recorder.worlds:
            path = f"{ROOT}/world_{world}"
            xform = UsdGeom.Xform.Define(self.stage, path)
            xform.AddTranslateOp().Set(tuple(map(float, self.model.world_offset[world])))
            names = _Names()
            self._define_shapes(self.static_shapes.get(world, []), path, names)
            for body in range(starts[world], starts[world + 1]):
                self._define_body(body, column, f"{path}/{names.take(self.model.body_label[body])}")
                column += 1
        if self.left_out:
            warn_user(
                f"{self.recorder.path}: poses that are not finite were left out: {shortened(self.left_out)}",
            )

    def _define_body(self, body: int, column: int, path: str) -> None:
        from pxr import UsdGeom

        xform = UsdGeom.Xform.Define(self.stage, path)
        xform.GetPrim().SetDisplayName(self.model.body_label[body])
        self._define_poses(xform, body, column)
        self._define_shapes(self.shapes_of_body.get(body, []), path, _Names())

    def _define_poses(self, xform, body: int, column: int) -> None:
        from simengine.viewers.usd_shapes import set_pose

        poses, codes = self.poses[:, column], self.codes
        finite = np.isfinite(poses).all(axis=1)
        if not finite.all():
            world = int(to_numpy(self.model.body_world)[body])
            bad = np.flatnonzero(~finite)
            self.left_out.append(
                f"{len(bad)} of {self.model.body_label[body]!r} in world {world} from frame {bad[0]} on"
            )
            poses, codes = poses[finite], codes[finite[: len(codes)]]
        poses = continuous(poses)
        ops = set_pose(xform, poses[0] if len(poses) else (0, 0, 0, 0, 0, 0, 1))
        if len(poses) < 2 or (poses == poses[0]).all():
            return
        self.samples.append(([op.GetAttr().GetPath() for op in ops], codes, poses))

    def write_samples(self) -> None:
        """Author the poses, straight to the layer: by the stage each sample takes three times as long."""
        from pxr import Gf, Sdf

        write = self.stage.GetRootLayer().SetTimeSample
        with Sdf.ChangeBlock():
            for (translate, orient), codes, poses in self.samples:
                for code, (x, y, z, qx, qy, qz, qw) in zip(codes.tolist(), poses.tolist(), strict=True):
                    write(translate, code, Gf.Vec3d(x, y, z))
                    write(orient, code, Gf.Quatd(qw, qx, qy, qz))

    def _define_shapes(self, shapes: list[int], path: str, names: _Names) -> None:
        for shape in shapes:
            label = self.shapes.label[shape]
            self.shapes.define(shape, f"{path}/{names.take(label.rsplit('/', 1)[-1])}")


class _Names:
    """Names of the prims under one parent: valid identifiers, each once, none of those that are ``taken``."""

    def __init__(self, taken=()):
        self._taken = set(taken)

    def take(self, label: str) -> str:
        name = valid = re.sub(r"^(?=\d)|[^A-Za-z0-9_]", "_", label)
        number = 1
        while name in self._taken:
            number += 1
            name = f"{valid}_{number}"
        self._taken.add(name)
        return name


def continuous(poses: np.ndarray) -> np.ndarray:
    """Poses (n, 7) with quaternions of unit length whose signs follow on one another: viewers blend between samples."""
    result = poses.copy()
    quats = result[:, 3:]
    quats /= np.linalg.norm(quats, axis=1, keepdims=True)
    if len(quats) > 1:
        turns = np.einsum("ij,ij->i", quats[1:], quats[:-1]) < 0
        quats[1:][np.cumsum(turns) % 2 == 1] *= -1.0
    return result


def _checked_worlds(worlds, count: int) -> list[int]:
    """``worlds`` as a list of indices; ModelError unless each is one of the model's, once."""
    found = list(range(count)) if worlds is None else [int(world) for world in worlds]
    if not found or len(set(found)) != len(found) or min(found) < 0 or max(found) >= count:
        raise ModelError(f"are {worlds!r}; give different indices below {count}", element="UsdRecorder, worlds")
    return found


def _require_usd() -> None:
    try:
        import pxr  # noqa: F401
    except ImportError:
        raise MissingExtraError("usd-core", "usd", "recording to USD") from None
