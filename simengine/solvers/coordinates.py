"""Do the coordinates that a solver does not read agree with those that it reads? Looked at in debug mode."""

from __future__ import annotations

import numpy as np

from simengine.containers import to_numpy
from simengine.dynamics import eval_fk
from simengine.runtime import modes

AGREEMENT = {"float32": 1e-4, "float64": 1e-8}
"""Differences of poses (m, or of unit quaternions) and velocities (m/s, rad/s) that count as round-off, for numbers of
size one; for larger ones in proportion."""


def disagreement(state) -> str | None:
    """In words, the body of ``state`` that is farthest from where ``joint_q`` and ``joint_qd`` put it, with its world;
    None where all agree to round-off. Bodies with numbers that are not finite are left out. Waits for the device."""
    placed = state.copy()
    with modes.debugging(False):  # a NaN is for the step to report
        eval_fk(state.model, placed)
    for name in ("body_q", "body_qd"):
        given, meant = (to_numpy(getattr(s, name)).astype(float) for s in (state, placed))
        if name == "body_q":  # q and -q are one rotation
            given[:, 3:] *= np.where((given[:, 3:] * meant[:, 3:]).sum(1, keepdims=True) < 0, -1.0, 1.0)
        off = np.abs(given - meant)
        off[~np.isfinite(off).all(1)] = 0
        if not off.size:
            return None
        size = 1 + np.nan_to_num(np.abs(meant), posinf=0, neginf=0).max()
        body = int(off.max(1).argmax())
        if off[body].max() > AGREEMENT[state.precision] * size:
            label, world = state.model.body_label[body], state.world_of(name, body)
            return f"{name} of body {label!r} in world {world} is off by {off[body].max():.3g}"
    return None
