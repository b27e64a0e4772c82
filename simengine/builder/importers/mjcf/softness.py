"""MuJoCo's solref and solimp in the forms that this engine takes: always time constant and damping ratio."""

from __future__ import annotations

import math

from simengine.builder.importers.mjcf.document import Compliance
from simengine.builder.importers.report import Notes, Place
from simengine.builder.material import DEFAULT_REFERENCE

LEAST, MOST = 1e-4, 1e4
"""Damping ratios that stand for no damping and for no stiffness."""
LEAST_IMPEDANCE, MOST_IMPEDANCE = 1e-4, 0.9999
"""MuJoCo's mjMINIMP and mjMAXIMP, the bounds of impedances and midpoints; the same in kernels_cuda/constraint.h."""
NOTHING = 1e3  # s: the time constant of a constraint that does nothing


class Softness:
    """Converts compliances; ``dt`` is the time step (s) that the file asks for."""

    def __init__(self, notes: Notes, dt: float):
        self.notes = notes
        self.dt = dt

    def reference(self, given: tuple[float, ...], place: Place, what: str) -> tuple[float, float]:
        """(time constant, damping ratio) of a solref.

        Two numbers that are not positive are (-K, -B): reference acceleration -B/dmax v - K/dmax^2 r. The other form
        is -2/(dmax tc) v - 1/(dmax tc dr)^2 r, so that tc = 2/B and dr = B / (2 sqrt(K)), exactly.
        """
        first, second = given
        if first > 0.0 and second > 0.0:
            return first, second
        if first > 0.0 or second > 0.0:
            reason = f"{first:g} {second:g} mixes two forms: MuJoCo then takes its default, 0.02 1, and so do we"
            self.notes.note("warned", what, place, reason)
            return DEFAULT_REFERENCE
        stiffness, damping = -first, -second
        if damping > 0.0 and stiffness > 0.0:
            result = 2.0 / damping, 0.5 * damping / math.sqrt(stiffness)
            reason = f"{first:g} {second:g} is time constant {result[0]:.6g} s, damping ratio {result[1]:.6g}"
            section = "defaulted"
            if result[0] < 2.0 * self.dt:
                section, reason = "warned", reason + ", which solvers raise to two time steps"
            self.notes.note(section, what, place, reason)
            return result
        if stiffness > 0.0:
            result = 1.0 / (LEAST * math.sqrt(stiffness)), LEAST
        elif damping > 0.0:
            result = 2.0 / damping, MOST
        else:
            result = NOTHING, 1.0
        reason = f"{first:g} {second:g} has no damping or no stiffness; the nearest is {result[0]:.6g} {result[1]:.6g}"
        self.notes.note("warned", what, place, reason)
        return result

    def impedance(self, given: tuple[float, ...], place: Place, what: str) -> tuple[float, ...]:
        """A solimp within the bounds that MuJoCo too, and our kernels, keep it in when they simulate."""
        d0, dmax, width, midpoint, power = given
        result = (
            min(max(d0, LEAST_IMPEDANCE), MOST_IMPEDANCE),
            min(max(dmax, LEAST_IMPEDANCE), MOST_IMPEDANCE),
            max(width, 0.0),
            min(max(midpoint, LEAST_IMPEDANCE), MOST_IMPEDANCE),
            max(power, 1.0),
        )
        if result != tuple(given):
            self.notes.note("repaired", what, place, f"{given} put within bounds: {result}")
        return result

    def both(self, compliance: Compliance, place: Place, suffix: str = "") -> tuple[tuple, tuple]:
        """Reference and impedance of a compliance."""
        return (
            self.reference(compliance.reference, place, f"solref{suffix}"),
            self.impedance(compliance.impedance, place, f"solimp{suffix}"),
        )
