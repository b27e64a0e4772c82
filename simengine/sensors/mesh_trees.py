"""Trees over the triangles of a model's meshes, one for each, in the frames of the meshes."""

from __future__ import annotations

import weakref

import numpy as np

from simengine.collision.bvh import BoxTrees
from simengine.containers import to_numpy

_trees: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()


def mesh_trees(model) -> dict:
    """``nodes``, ``roots``, ``primitives``, ``packed`` of the trees, as ``BvhView`` of bvh.h takes them: width 9.

    Root i is that of mesh i. They are built once for a model.
    """
    if model not in _trees:
        _trees[model] = _build(model)
    return _trees[model].arrays()


def _build(model) -> BoxTrees:
    device, real = model.device, np.dtype(model.precision)
    point_start, triangle_start = (to_numpy(getattr(model, f"mesh_{kind}_start")) for kind in ("point", "triangle"))
    count = len(triangle_start) - 1
    mesh_of = np.repeat(np.arange(count), np.diff(triangle_start))
    faces = to_numpy(model.mesh_triangle) + point_start[mesh_of, None]
    corners = to_numpy(model.mesh_point)[faces].astype(real)
    lower, upper = (device.asarray(end(corners, axis=1).reshape(-1, 3)) for end in (np.min, np.max))
    triangles = {"faces": device.asarray(faces.astype(np.int32)), "vertices": model.mesh_point}
    trees = BoxTrees(lower, upper, mesh_of, count, device, triangles)
    trees.build()
    return trees
