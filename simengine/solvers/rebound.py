"""How a contact or a limit of the impedance form throws back: one row of contact_rows.h by itself, in float64.

A row is (time constant, damping ratio, the five numbers of its impedance, restitution): (n, 8) of them.
"""

from __future__ import annotations

import numpy as np

SPEEDS = np.geomspace(0.1, 10, 12)
"""m/s or rad/s, the speeds of approach that are tried: the impedance changes with the depth."""

PLACES = np.arange(1, 33) / 32
"""Depths at which the surface is first met, as shares of the way of a step."""

MOST_STEPS = 300
"""A body that is in contact for longer has a step too short beside its oscillation to gain."""

RATIOS, LEAST_RATIO, MOST_RATIO = 30, 1e-9, 10.0
"""How many damping ratios are tried at once, twice, to find one that is enough, the least and the largest of them."""

LEAST_IMPEDANCE, MOST_IMPEDANCE = 1e-4, 0.9999
"""Those of constraint.h."""


def rebound(rows: np.ndarray, dt: float, restitution_speed: float) -> np.ndarray:
    """Speed after over speed before, at most, of a body that meets each of the rows with steps of ``dt``: (n,).

    A lone row of impedance d gives its body the acceleration (1 - d) a + d r, where a is what it has without the row
    and r = -b v - k d x at depth -x, with b = 2 / (m tc), k = 1 / (m tc z)^2 and d(x) = m once it is deep. Beside a
    contact's, a is next to nothing, and rows do not pull. So with the step and the speed of approach as units and
    p = (dt / tc) (d / m), the velocity is first raised by max(0, -2 p v - (p / z)^2 x), or by -d (1 + e) v where the
    restitution e acts, and then the place by the velocity. A time constant below 2 dt is raised to it.
    """
    time_constant, damping_ratio, _, deep, *_, restitution = rows.T[:, :, None, None]
    damping_ratio = np.maximum(np.abs(damping_ratio), LEAST_RATIO)
    rate = dt / (np.maximum(time_constant, 2 * dt) * np.clip(deep, LEAST_IMPEDANCE, MOST_IMPEDANCE))
    speed = SPEEDS[:, None]
    x = np.broadcast_to(-PLACES, (len(rows), len(SPEEDS), len(PLACES)))
    v = np.full(x.shape, -1.0)
    for _ in range(MOST_STEPS):
        p = rate * impedance(rows[:, 2:7], x * speed * dt)
        bounces = (restitution > 0) & (-v * speed > restitution_speed)
        push = np.maximum(0, -2 * p * v - np.square(p / damping_ratio) * x)
        push = np.where(bounces, -MOST_IMPEDANCE * (1 + restitution) * v, push)
        push = np.where(x < 0, push, 0)
        if not push.any():
            break
        v = v + push
        x = x + v
    return v.max(axis=(1, 2))


def impedance(parameters: np.ndarray, x: np.ndarray) -> np.ndarray:
    """d(x) of constraint.h, of (n, 5) parameters and (n, speeds, places)."""
    first, deep, width, middle, power = parameters.T[:, :, None, None]
    first, deep, middle = (np.clip(value, LEAST_IMPEDANCE, MOST_IMPEDANCE) for value in (first, deep, middle))
    share = np.minimum(np.abs(x) / np.maximum(width, 1e-15), 1)
    near = share <= middle
    part = np.where(near, middle, 1 - middle)  # of the width, on this side of the midpoint
    bent = part * (np.where(near, share, 1 - share) / part) ** np.maximum(power, 1)
    return first + np.where(near, bent, 1 - bent) * (deep - first)


def least_ratio(row: np.ndarray, dt: float, restitution_speed: float) -> float:
    """The damping ratio from which on no body leaves a row faster than it came, of one (8,) that throws back faster;
    infinity where none up to MOST_RATIO is enough."""
    low = max(row[1], LEAST_RATIO)
    high = max(MOST_RATIO, low)
    for _ in range(2):
        many = np.tile(row, (RATIOS, 1))
        many[:, 1] = np.geomspace(low, high, RATIOS)
        gaining = int(np.flatnonzero(rebound(many, dt, restitution_speed) > 1).max(initial=0))
        if gaining == RATIOS - 1:
            return np.inf
        low, high = many[gaining : gaining + 2, 1]
    return float(high)
