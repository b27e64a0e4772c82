"""Units of a stage: each quantity of the file is turned into SI once, by the dimension that its attribute has."""

from __future__ import annotations

import math
from dataclasses import dataclass

DIMENSIONS = {
    "": (0, 0, 0),
    "s": (0, 0, 0),
    "Hz": (0, 0, 0),
    "radians": (0, 0, 0),
    "degrees": (0, 0, 1),
    "degrees/s": (0, 0, 1),
    "distance": (1, 0, 0),
    "distance/s": (1, 0, 0),
    "distance/s2": (1, 0, 0),
    "distance/degree": (1, 0, -1),
    "mass": (0, 1, 0),
    "mass/distance3": (-3, 1, 0),
    "mass distance2": (2, 1, 0),
    "force": (1, 1, 0),
    "force/distance": (0, 1, 0),
    "force s/distance": (0, 1, 0),
    "force/distance2": (-1, 1, 0),
    "torque": (2, 1, 0),
    "torque/radian": (2, 1, 0),
    "torque s/radian": (2, 1, 0),
    "torque/degree": (2, 1, -1),
    "torque s/degree": (2, 1, -1),
    "1/s2": (0, 0, 0),
    "1/s": (0, 0, 0),
    "1/(degree s2)": (0, 0, -1),
    "1/(degree s)": (0, 0, -1),
}
"""Powers of length, mass and angle in each unit; distance and mass are the stage's own, degrees become radians.

Accelerations of drives are in rad/s2 for an error in degrees, as PhysX takes them.
"""


@dataclass(frozen=True)
class Units:
    """``metre``: metres in one distance of the stage (metersPerUnit); ``kilogram``: kilograms in one mass."""

    metre: float
    kilogram: float

    def factor(self, unit: str, angular: bool = False) -> float:
        """What a number in ``unit``, a key of DIMENSIONS, is multiplied with to be SI.

        ``a or b`` is a of a linear and b of an angular degree of freedom.
        """
        linear, alternative, turning = unit.partition(" or ")
        length, mass, angle = DIMENSIONS[turning if alternative and angular else linear]
        return self.metre**length * self.kilogram**mass * (math.pi / 180.0) ** angle
