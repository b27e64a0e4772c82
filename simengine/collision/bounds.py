"""Boxes along the axes of the world about shapes."""

from __future__ import annotations

import functools

import numpy as np

from simengine.checks import checked_mask, require_container
from simengine.runtime.kernel import Kernel


def shape_bounds(model, state, with_margin: bool = True):
    """The smallest boxes along the axes of the world about all shapes at ``state.body_q``: lower, upper (shapes, 3), m.

    ``with_margin``: each box reaches further by the shape's margin and gap. A plane has no end: its box is all of
    space, or the half behind it where its normal is along an axis.
    """
    require_container("shape_bounds", "state", state, "state", model)
    real = np.dtype(model.precision)
    lower, upper = (model.device.zeros((model.shape_count, 3), real) for _ in range(2))
    arguments = {"model": model, "body_q": state.body_q, "with_margin": with_margin, "lower": lower, "upper": upper}
    _kernel().launch(model.shape_count, arguments)
    return lower, upper


def update_shape_radii(model, world_mask=None) -> None:
    """Find ``model.shape_radius`` and ``shape_inradius`` anew of shapes whose ``shape_size`` was written.

    ``world_mask`` (worlds,) bool on the model's device: which worlds; default all. Of others the bits stay.
    """
    names = ("shape_radius", "shape_inradius", "shape_radius_size")
    arguments = {"model": model, "world_mask": checked_mask("update", model, world_mask)}
    arguments |= {name: getattr(model, name) for name in names}
    _radii_kernel().launch(model.shape_count, arguments)


@functools.cache
def _kernel() -> Kernel:
    return Kernel("shape_bounds.cu", "find_shape_bounds")


@functools.cache
def _radii_kernel() -> Kernel:
    return Kernel("shape_radii.cu", "update_shape_radii")
