"""Rays from a body against the shapes of its world: lidars, depth cameras, range finders."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from simengine.builder.frames import rotation_matrix
from simengine.builder.values import AXES, pose
from simengine.checks import require_container, require_model
from simengine.containers import to_numpy
from simengine.enums import ShapeFlag
from simengine.errors import ModelError
from simengine.fixed import Fixed
from simengine.runtime.kernel import Kernel
from simengine.sensors.mesh_trees import mesh_trees
from simengine.sensors.png import write_png
from simengine.values import flag, is_whole, number

COUNTED = {"visible": ShapeFlag.VISIBLE, "collides": ShapeFlag.COLLIDES}


@dataclass
class RayHits:
    """What the rays of a sensor met, as arrays on the model's device that the next ``cast`` writes anew.

    distance: (worlds, rays) in m along the ray; infinite where nothing was met within ``max_distance``.
    normal: (worlds, rays, 3) of the surface, out of the shape, world axes; zero where nothing was met.
    shape: (worlds, rays) index of the shape; -1: none.
    """

    distance: object
    normal: object
    shape: object


class RayCaster(Fixed):
    """Rays fixed to a body, one set for each world; ``cast(state)`` finds the first shape that each meets.

    The rays see the shapes of their own world and the shared static ones, from either side of a surface. All arrays are
    made here: ``cast`` allocates nothing and can be captured. Triangles are watertight: a ray at an edge between two
    meets at least one of them. Rays meet the surface that a shape shows, whatever ``see`` says: that of a convex hull
    of a Mesh is the mesh, parts of which may lie inside the hull that other shapes touch.

    Parameters
    ----------
    model: the Model.
    directions: (rays, 3) in the sensor's frame; need not be of unit length.
    origins: (rays, 3) or (3,) in m, in the sensor's frame; default its origin.
    body: label of the body that carries the sensor, or its number within a world; -1: the world.
    xform: pose (7,) of the sensor on the body.
    max_distance: m, beyond which nothing is seen.
    see: "visible", "collides" or "all": which shapes count. see_self: those of the carrying body count too.

    These stay: for others make another sensor. To set an attribute raises AttributeError.
    Raises ModelError for a body that a world does not have, directions without length, or numbers that are not finite.
    """

    def __init__(
        self,
        model,
        directions,
        origins=None,
        *,
        body: str | int = -1,
        xform=None,
        max_distance: float = np.inf,
        see: str = "visible",
        see_self: bool = False,
    ):
        require_model("RayCaster", model)
        directions = _rows(directions, "directions")
        lengths = np.linalg.norm(directions, axis=1, keepdims=True)
        if not (lengths > 0).all():
            raise ModelError(f"RayCaster: direction {int(np.argmin(lengths))} is zero; give one with a length")
        origins = _rows(np.zeros(3) if origins is None else origins, "origins")
        if len(origins) not in (1, len(directions)):
            raise ModelError(
                f"RayCaster, origins: there are {len(origins)} of {len(directions)} rays; give one, or all"
            )
        origins = np.broadcast_to(origins, directions.shape)
        count = len(directions)
        max_distance = number(max_distance, "RayCaster, max_distance", positive=True, infinite=True)
        bodies = _bodies(model, body)
        mount = pose(xform, "RayCaster, xform")
        device, real = model.device, np.dtype(model.precision)
        self._local = device.asarray((directions / lengths).astype(real))
        hits = RayHits(
            device.zeros((model.world_count, count), real),
            device.zeros((model.world_count, count, 3), real),
            device.zeros((model.world_count, count), np.int32),
        )
        self._set(model=model, count=count, max_distance=max_distance, mount=mount, hits=hits)
        self._bodies = bodies
        self._launches = None
        self._arguments = {
            "model": model,
            "shape_pose": device.zeros((model.shape_count, 7), real),
            "sensor_body": device.asarray(bodies.astype(np.int32)),
            "shape_counts": device.asarray(_counted(model, see, see_self, bodies)),
            "mount": device.asarray(np.array(mount, real)),
            "origin": device.asarray(origins.astype(real)),
            "direction": self._local,
            "rays": count,
            "reach": max_distance,
            "distance": hits.distance,
            "normal": hits.normal,
            "hit_shape": hits.shape,
        } | mesh_trees(model)

    def cast(self, state) -> RayHits:
        """Cast all rays at ``state.body_q``; returns ``self.hits``, written anew."""
        require_container("RayCaster.cast", "state", state, "state", self.model)
        if self._launches is None:
            self._launches = self._prepare(state)
        for launch in self._launches:
            launch.exchange("body_q", state.body_q)
            launch()
        return self.hits

    def _prepare(self, state) -> tuple:
        """The two launches: shapes placed, then rays cast."""
        posed = {"model": self.model, "shape_pose": self._arguments["shape_pose"], "body_q": state.body_q}
        place = _kernel("place_ray_shapes").prepare(posed, items=self.model.shape_count)
        rays = self.model.world_count * self.count
        return place, _kernel("cast_rays").prepare(self._arguments | {"body_q": state.body_q}, items=rays)


def lidar(model, azimuths, elevations, **options) -> RayCaster:
    """A spinning lidar: a ray for each azimuth (rad, about z from x) at each elevation (rad, from the xy plane).

    Ray ``e * len(azimuths) + a`` has elevation e and azimuth a. ``options``: those of RayCaster.
    """
    azimuths, elevations = _angles(azimuths, "azimuths"), _angles(elevations, "elevations")
    e, a = np.meshgrid(elevations, azimuths, indexing="ij")
    directions = np.stack([np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)], axis=-1)
    return RayCaster(model, directions.reshape(-1, 3), **options)


class Camera(RayCaster):
    """A pinhole camera: one ray through the middle of each pixel, the first row of pixels at the top.

    ``width``, ``height`` in pixels; ``fov``: rad, the angle that the picture's height spans. It looks along -z of its
    frame with y up, as in USD and MuJoCo. Other parameters: those of RayCaster.
    """

    def __init__(self, model, width: int, height: int, fov: float, **options):
        for name, size in (("width", width), ("height", height)):
            number(size, f"Camera, {name}")
            if int(size) != size or not 1 <= size <= 1 << 14:
                raise ModelError(f"Camera, {name}: is {size!r}; it must be a whole number from 1 to {1 << 14}")
        fov = number(fov, "Camera, fov", positive=True)
        if fov >= np.pi:
            raise ModelError(f"Camera, fov: is {fov:g} rad; it must be below pi")
        self._set(width=int(width), height=int(height))
        half = np.tan(0.5 * fov)
        y = half * (1 - (2 * np.arange(height) + 1) / height)
        x = half * ((2 * np.arange(width) + 1) - width) / height
        rows, columns = np.meshgrid(y, x, indexing="ij")
        directions = np.stack([columns, rows, -np.ones_like(rows)], axis=-1).reshape(-1, 3)
        super().__init__(model, directions, **options)
        self._forward = -self._local[:, 2]  # cosine of the angle to the axis

    def depth(self, state):
        """Depth images (worlds, height, width): m along the camera's axis, infinite where nothing is seen."""
        return self._images(self.cast(state).distance * self._forward)

    def normals(self, state):
        """Images (worlds, height, width, 3) of surface normals in world axes, zero where nothing is seen."""
        return self._images(self.cast(state).normal)

    def picture(self, state, world: int = 0) -> np.ndarray:
        """A shaded picture (height, width, 3) uint8 of one world, in the colours of its shapes, lit from the eye."""
        if not is_whole(world) or not 0 <= world < self.model.world_count:
            raise ModelError(f"Camera.picture: world is {world!r}; there are {self.model.world_count}, counted from 0")
        hits = self.cast(state)
        device, real = self.model.device, np.dtype(self.model.precision)
        picture = device.zeros((self.count, 3), np.uint8)
        arguments = {
            "model": self.model,
            "normal": hits.normal[world],
            "hit_shape": hits.shape[world],
            "view": device.asarray(self._world_directions(state, world).astype(real)),
            "up": device.asarray(np.array(AXES[self.model.up_axis], real)),
            "picture": picture,
        }
        _kernel("shade_rays").launch(self.count, arguments)
        return to_numpy(picture).reshape(self.height, self.width, 3)

    def save_png(self, state, path, world: int = 0) -> None:
        """Write ``picture`` to a PNG file, whose name ends in .png; needs no display."""
        write_png(path, self.picture(state, world))

    def _world_directions(self, state, world: int) -> np.ndarray:
        """The rays' directions (rays, 3) in world axes."""
        turn = rotation_matrix(self.mount[3:])
        body = int(self._bodies[world])
        if body >= 0:
            turn = rotation_matrix(to_numpy(state.body_q[body])[3:]) @ turn
        return to_numpy(self._local).astype(float) @ turn.T

    def _images(self, rows):
        return rows.reshape(self.model.world_count, self.height, self.width, *rows.shape[2:])


@functools.cache
def _kernel(name: str) -> Kernel:
    return Kernel("ray_cast.cu", name)


def _reals(values, message: str) -> np.ndarray:
    """An array of float64 from real numbers, on the host; ModelError of the message for anything else."""
    try:
        array = to_numpy(values)
    except (TypeError, ValueError):
        raise ModelError(message) from None
    if array.dtype.kind not in "iuf":
        raise ModelError(f"{message}; got {array.dtype}")
    return array.astype(float)


def _angles(values, what: str) -> np.ndarray:
    """Finite numbers (n,)."""
    angles = np.atleast_1d(_reals(values, f"lidar, {what}: must be numbers, in rad"))
    if angles.ndim != 1 or not len(angles) or not np.isfinite(angles).all():
        raise ModelError(f"lidar, {what}: must be finite numbers (n,), one or more; got {angles.shape}")
    return angles


def _rows(values, what: str) -> np.ndarray:
    """Finite numbers (n, 3)."""
    rows = _reals(values, f"RayCaster, {what}: must be numbers (rays, 3)")
    rows = rows.reshape(1, 3) if rows.shape == (3,) else rows
    if rows.ndim != 2 or rows.shape[1] != 3 or not len(rows):
        raise ModelError(f"RayCaster, {what}: must be numbers (rays, 3), one ray or more; got {rows.shape}")
    bad = np.flatnonzero(~np.isfinite(rows).all(axis=1))
    if bad.size:
        raise ModelError(f"RayCaster, {what}: must be finite numbers, but row {bad[0]} is {rows[bad[0]]}")
    return rows


def _bodies(model, body) -> np.ndarray:
    """The carrying body of each world (worlds,), -1 for the world."""
    starts = to_numpy(model.world_body_start).astype(int)
    if isinstance(body, str):
        found = model.find_bodies(body)
        worlds = to_numpy(model.body_world)[found]
        if len(found) != model.world_count or not np.array_equal(worlds, np.arange(model.world_count)):
            raise ModelError(f"RayCaster: {len(found)} bodies match {body!r}; there must be one in each world")
        return np.asarray(found, int)
    if not is_whole(body) or not -1 <= body < int(np.diff(starts).min()):
        raise ModelError(
            f"RayCaster: body is {body!r}; give -1 for the world, a label, or a number that every world has"
        )
    return np.full(model.world_count, -1) if int(body) < 0 else starts[:-1] + int(body)


def _counted(model, see: str, see_self: bool, bodies: np.ndarray) -> np.ndarray:
    """Which shapes the rays see (shapes,)."""
    if not isinstance(see, str) or see not in ("all", *COUNTED):
        raise ModelError(f"RayCaster: see is {see!r}; it is one of {', '.join(('all', *COUNTED))}")
    counted = np.ones(model.shape_count, bool)
    if see != "all":
        counted &= (to_numpy(model.shape_flags) & COUNTED[see]) != 0
    if not flag(see_self, "RayCaster, see_self"):
        counted &= ~np.isin(to_numpy(model.shape_body), bodies[bodies >= 0])
    return counted
