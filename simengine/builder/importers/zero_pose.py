"""What only a running model tells of a robot: the inertia that each joint moves, and what overlaps in the zero pose.

The zero pose is the one in which the file draws the robot: in URDF all coordinates are zero there.
"""

from __future__ import annotations

import math
import warnings

import numpy as np

from simengine.builder.elements import Dof
from simengine.builder.importers.overlaps import Overlaps
from simengine.enums import DofKind

TOUCH = 1e-6  # m: shapes that overlap by less only touch


class ZeroPose:
    """A throw-away model of one robot, on the CPU in float64; where it stands, as the builder holds it when it is made.

    It has no inverse weights, which no question here needs and which take long for a thousand bodies.
    """

    def __init__(self, builder):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # the user's own finalize says it again
            self.model = builder._model("cpu", "float64", 0, "pairs")
        self.builder = builder
        self.state = self.model.state()

    def set_drives(self, frequency: float) -> None:
        """Drives of stiffness w^2 M_ii and damping 2 w M_ii, w = 2 pi frequency: critical for each dof by itself.

        M is the mass matrix at the coordinates that the builder holds now.
        """
        from simengine.dynamics import eval_mass_matrix

        initial = self.model.state()
        q = [x for joint in self.builder.joints for x in joint.coords()]
        initial.joint_q[: len(q)] = q  # after these stand the free joints that finalize adds
        inertia = np.diagonal(np.asarray(eval_mass_matrix(self.model, initial))[0])
        w = 2.0 * math.pi * frequency
        start = 0
        for joint in self.builder.joints:
            for index, dof in enumerate(joint.dofs):
                if is_driven(joint.dofs):
                    dof.target_ke = float(w * w * inertia[start + index])
                    dof.target_kd = float(2.0 * w * inertia[start + index])
            start += len(joint.dofs)

    def find_overlaps(self) -> Overlaps:
        """The pairs of shapes that overlap."""
        from simengine.collision.pipeline import collide

        contacts = self.model.contacts()
        collide(self.model, self.state, contacts)
        held, needed = int(contacts.count[0]), int(contacts.needed[0])
        deepest: dict[tuple[int, int], float] = {}
        for slot in range(held):
            pair = tuple(sorted((int(contacts.shape0[slot]), int(contacts.shape1[slot]))))
            deepest[pair] = min(deepest.get(pair, 0.0), float(contacts.distance[slot]))
        found = sorted(pair for pair, distance in deepest.items() if distance < -TOUCH)
        depth = np.array([-deepest[pair] for pair in found])
        return Overlaps(np.array(found, np.int64).reshape(-1, 2), depth, held, needed)


def is_driven(dofs: list[Dof]) -> bool:
    """Whether a joint takes a drive: all but fixed joints and those with a free rotation."""
    return bool(dofs) and all(dof.kind in (DofKind.LINEAR, DofKind.ANGULAR) for dof in dofs)
