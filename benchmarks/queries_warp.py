"""Warp's meshes and hash grids, for queries.py: each function returns what to time."""

from __future__ import annotations

import numpy as np
import warp as wp

wp.config.quiet = True


@wp.kernel
def _count(grid: wp.uint64, points: wp.array(dtype=wp.vec3), radius: float, counts: wp.array(dtype=int)):
    i = wp.hash_grid_point_id(grid, wp.tid())
    place = points[i]
    count = int(0)  # noqa: RUF046, UP018 (Warp's way to declare a variable that changes)
    for j in wp.hash_grid_query(grid, place, radius):
        if wp.length_sq(place - points[j]) <= radius * radius:
            count += 1
    counts[i] = count


@wp.kernel
def _cast(mesh: wp.uint64, origin: wp.array(dtype=wp.vec3), way: wp.array(dtype=wp.vec3), t: wp.array(dtype=float)):
    i = wp.tid()
    found = wp.mesh_query_ray(mesh, origin[i], way[i], 1.0e6)
    t[i] = wp.where(found.result, found.t, -1.0)


@wp.kernel
def _closest(mesh: wp.uint64, points: wp.array(dtype=wp.vec3), distance: wp.array(dtype=float)):
    i = wp.tid()
    found = wp.mesh_query_point_no_sign(mesh, points[i], 1.0e6)
    distance[i] = wp.length(wp.mesh_eval_position(mesh, found.face, found.u, found.v) - points[i])


def captured(call):
    """What to call instead of ``call``: a graph of its launches, as ours are timed."""
    call()
    with wp.ScopedCapture() as capture:
        call()
    # the graph knows the addresses of the arrays alone: what holds them must live as long
    return lambda held=call: wp.capture_launch(capture.graph)


def mesh(vertices: np.ndarray, faces: np.ndarray, constructor: str) -> wp.Mesh:
    """A mesh and its tree; waits until it is there."""
    made = wp.Mesh(wp.array(vertices, dtype=wp.vec3), wp.array(faces.ravel(), dtype=int), bvh_constructor=constructor)
    wp.synchronize()
    return made


def rays(of: wp.Mesh, origin: np.ndarray, direction: np.ndarray):
    arrays = wp.array(origin, dtype=wp.vec3), wp.array(direction, dtype=wp.vec3), wp.zeros(len(origin), dtype=float)
    return captured(lambda: wp.launch(_cast, len(origin), [of.id, *arrays]))


def closest(of: wp.Mesh, points: np.ndarray):
    arrays = wp.array(points, dtype=wp.vec3), wp.zeros(len(points), dtype=float)
    return captured(lambda: wp.launch(_closest, len(points), [of.id, *arrays]))


def grid(points: np.ndarray, radius: float):
    array, made = wp.array(points, dtype=wp.vec3), wp.HashGrid(128, 128, 128)
    made.reserve(len(points))
    counts = wp.zeros(len(points), dtype=int)
    build = captured(lambda: made.build(array, radius))
    return build, captured(lambda: wp.launch(_count, len(points), [made.id, array, radius, counts]))
