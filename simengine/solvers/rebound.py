"""How a contact or a limit of the impedance form throws back: one row of contact_rows.h by itself, in float64."""

from __future__ import annotations

import numpy as np

PHASES = 64
"""Places within a step at which the surface may be reached."""

MOST_STEPS = 1000
"""A body that is in contact for longer has a step too short beside its oscillation to gain."""

RATIOS = np.geomspace(1e-4, 1.0, 1000)
"""Damping ratios that are tried; at 1 nothing swings."""


def rebound(time_constant, damping_ratio, dt: float) -> np.ndarray:
    """Speed after over speed before, at most, of a fast body in a contact with these (n,) and steps of ``dt``.

    A lone row of impedance d gives its body the acceleration (1 - d) a + d r, where a is what it has without the row
    and r = -b v - k d x at depth -x, with b = 2 / (d tc), k = 1 / (d tc z)^2 where the impedance has reached its most.
    Beside a contact's, a is next to nothing, and rows do not pull. So with the step and the speed of approach as units,
    p = dt / tc, the velocity is first raised by max(0, -2 p v - (p / z)^2 x), and then the place by the velocity. The
    body is first met at a depth of 0 to 1. A time constant below 2 dt is raised to it.
    """
    p = (dt / np.maximum(time_constant, 2 * dt))[:, None]
    damping, stiffness = 2 * p, np.square(p / np.asarray(damping_ratio)[:, None])
    x = np.broadcast_to(-np.arange(1, PHASES + 1) / PHASES, (len(p), PHASES))
    v = np.full(x.shape, -1.0)
    for _ in range(MOST_STEPS):
        push = np.where(x < 0, np.maximum(0, -damping * v - stiffness * x), 0)
        if not push.any():
            break
        v = v + push
        x = x + v
    return v.max(axis=1)


def least_ratio(time_constant: float, dt: float) -> float:
    """The damping ratio from which on no body leaves a contact with this time constant faster than it came."""
    gains = rebound(np.full(len(RATIOS), time_constant), RATIOS, dt) > 1
    return float(RATIOS[1:][gains[:-1]].max(initial=RATIOS[0]))
