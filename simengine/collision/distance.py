"""Signed distances between shapes of a model. The kernel is kernels_cuda/shape_distance.cu."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from simengine.checks import require_container
from simengine.collision import queries
from simengine.containers import to_numpy
from simengine.enums import ShapeType
from simengine.errors import ModelError
from simengine.runtime import modes
from simengine.runtime.kernel import Kernel


@dataclass(frozen=True)
class ShapeDistance:
    """For each pair of shapes, arrays on the model's device.

    ``distance`` (n,) in m, negative where they overlap; ``point0``, ``point1`` (n, 3) in m, the points of the two
    shapes between which it lies, and ``normal`` (n, 3), from the first shape to the second, in world axes:
    point1 - point0 = distance * normal.
    """

    distance: Any
    point0: Any
    point1: Any
    normal: Any


def shape_distance(model, state, pairs) -> ShapeDistance:
    """The signed distance between shapes at ``state.body_q``.

    ``pairs`` (n, 2): shapes as rows of the model, in any order and whether or not they may collide. Margins and gaps
    play no part. Of convex shapes that overlap the distance is minus the least translation that parts them, and the
    points are those that this brings together. A plane is endless and solid below, a height field solid below. A mesh
    is its surface: a shape that it holds wholly inside is apart from it. Of a convex shape that cuts a surface each
    triangle is left by the shortest translation along which the surface pushes near there, and the distance is minus
    the longest of these: of a convex solid minus the least translation that parts them. Of a mesh that cuts a surface
    it is that of the deepest contact. With a distance field: the least value of the field on the other's surface (of a
    plane also the height of the lowest vertex of the field's surface); of a convex shape that holds the field's
    deepest point also that of the ball about it that the solid holds.

    Raises ModelError for shapes that the model does not have, and for pairs of planes and height fields. Methods:
    Gilbert, Johnson and Keerthi 1988; van den Bergen 2001 (kernels_cuda/gjk.h, epa.h, convex.h).
    """
    require_container("shape_distance", "state", state, "state", model)
    modes.refuse_while_capturing("shape_distance makes arrays")
    wanted = _checked_pairs(model, pairs)
    n, zeros = len(wanted), functools.partial(model.device.zeros, dtype=model.precision)
    found = ShapeDistance(zeros(n), zeros((n, 3)), zeros((n, 3)), zeros((n, 3)))
    if n:
        arrays = dict(model=model, body_q=state.body_q, pairs=model.device.asarray(wanted), **vars(found))
        has_fields = bool((to_numpy(model.shape_type)[wanted] == ShapeType.SDF).any())
        _kernel("distance_sdf.cu" if has_fields else "shape_distance.cu").launch(
            n, arrays, precision=model.precision, device=model.device
        )
    return found


def _checked_pairs(model, pairs) -> np.ndarray:
    wanted = queries.on_host("shape_distance: pairs", pairs)
    if wanted.shape == (0,):
        wanted = np.zeros((0, 2), np.int32)
    if wanted.ndim != 2 or wanted.shape[1] != 2 or wanted.dtype.kind not in "iu":
        raise ModelError(f"shape_distance: pairs must be whole numbers (n, 2), got {wanted.dtype} {wanted.shape}")
    wrong = np.argwhere((wanted < 0) | (wanted >= model.shape_count))
    if wrong.size:
        row = int(wrong[0][0])
        last = model.shape_count - 1
        raise ModelError(f"shape_distance: pair {row} is {wanted[row]}; the model has shapes 0 to {last}")
    types = to_numpy(model.shape_type)[wanted]
    flat = np.flatnonzero((types <= ShapeType.HEIGHTFIELD).all(axis=1))
    if flat.size:
        names = " and ".join(ShapeType(kind).name.lower() for kind in types[flat[0]])
        raise ModelError(f"shape_distance: pair {int(flat[0])} is {names}, which have no distance")
    return np.ascontiguousarray(wanted, np.int32)


@functools.cache
def _kernel(file: str) -> Kernel:
    return Kernel(file, "shape_distance", quick=True)
