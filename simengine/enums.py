"""The numbers that stand for kinds of things, shared by Python and the kernels (generated into ``enums.h``)."""

from enum import IntEnum, IntFlag

import numpy as np


class JointType(IntEnum):
    """Kinds of joints; coordinates and rates of each are in docs/conventions.md."""

    REVOLUTE = 0
    PRISMATIC = 1
    BALL = 2
    FREE = 3
    FIXED = 4
    UNIVERSAL = 5
    D6 = 6
    DISTANCE = 7


class DofKind(IntEnum):
    """What one degree of freedom does: slide along its axis, turn about it, or one of the three of a quaternion.

    A free joint is three LINEAR dofs along the parent's axes, then a ball.
    """

    LINEAR = 0
    ANGULAR = 1
    BALL_X = 2
    BALL_Y = 3
    BALL_Z = 4


class ShapeType(IntEnum):
    """Kinds of shapes. In a pair the shape of the smaller number comes first."""

    PLANE = 0
    HEIGHTFIELD = 1
    SPHERE = 2
    CAPSULE = 3
    ELLIPSOID = 4
    CYLINDER = 5
    BOX = 6
    CONE = 7
    CONVEX_HULL = 8
    MESH = 9
    SDF = 10


class PairRoutine(IntEnum):
    """Which function finds the contacts of a pair of shapes.

    Those up to BOX_BOX are named after the two types, and a step collides them by itself; what comes after them needs a
    kernel of its own. CONVEX there stands for any convex type for which there is no routine of its own.
    """

    PLANE_SPHERE = 0
    PLANE_CAPSULE = 1
    PLANE_ELLIPSOID = 2
    PLANE_CYLINDER = 3
    PLANE_BOX = 4
    SPHERE_SPHERE = 5
    SPHERE_CAPSULE = 6
    SPHERE_BOX = 7
    CAPSULE_CAPSULE = 8
    CAPSULE_BOX = 9
    BOX_BOX = 10
    PLANE_CONVEX = 11
    CONVEX_CONVEX = 12
    PLANE_MESH = 13
    HEIGHTFIELD_CONVEX = 14
    CONVEX_MESH = 15
    HEIGHTFIELD_MESH = 16
    MESH_MESH = 17
    PLANE_SDF = 18
    CONVEX_SDF = 19
    HEIGHTFIELD_SDF = 20
    MESH_SDF = 21
    SDF_SDF = 22


LAST_PRIMITIVE_ROUTINE = PairRoutine.BOX_BOX
PRIMITIVE_ROUTINES = tuple(routine for routine in PairRoutine if routine <= LAST_PRIMITIVE_ROUTINE)
"""The routines that a step runs by itself, each for the two types that it is named after."""

ROUTINE_FAMILIES = (
    PRIMITIVE_ROUTINES,
    (PairRoutine.PLANE_CONVEX, PairRoutine.CONVEX_CONVEX),
    (PairRoutine.PLANE_MESH,),
    (PairRoutine.HEIGHTFIELD_CONVEX, PairRoutine.CONVEX_MESH),
    (PairRoutine.HEIGHTFIELD_MESH, PairRoutine.MESH_MESH),
    tuple(routine for routine in PairRoutine if routine >= PairRoutine.PLANE_SDF),
)
"""Routines that share most of their code."""


def family_bits(tables) -> int:
    """The routines of all families of which one of the arrays of ``PairRoutine`` numbers has a member: bit r for
    routine r."""
    present = {routine for table in tables for routine in np.unique(table).tolist()}
    return sum(1 << routine for family in ROUTINE_FAMILIES if present & set(family) for routine in family)


class CombineMode(IntEnum):
    """How the values of two materials become one; the later wins when two differ."""

    AVERAGE = 0
    MINIMUM = 1
    MULTIPLY = 2
    MAXIMUM = 3
    MJCF = 4


class EqualityType(IntEnum):
    """Kinds of equality constraints and loop joints."""

    CONNECT = 0
    WELD = 1
    JOINT = 2
    DISTANCE = 3
    LOOP_REVOLUTE = 4
    LOOP_PRISMATIC = 5
    LOOP_BALL = 6
    LOOP_FIXED = 7


class BodyFlag(IntFlag):
    """Bits of ``body_flags``."""

    KINEMATIC = 1


class ShapeFlag(IntFlag):
    """Bits of ``shape_flags``."""

    COLLIDES = 1
    VISIBLE = 2


class LinkFlag(IntFlag):
    """Bits of ``link_flags`` in the topology."""

    KINEMATIC = 1
    SINGLE_FREE_BODY = 2
    FLOATING = 4


class Integrator(IntEnum):
    """Integrators of the Featherstone solver, see docs/conventions.md."""

    IMPLICIT = 0
    EULER = 1


class Cone(IntEnum):
    """Friction cones of the Featherstone solver."""

    ELLIPTIC = 0
    PYRAMIDAL = 1


class StatusBit(IntFlag):
    """Sticky bits of a world's status word."""

    NOT_FINITE = 1  # a coordinate or rate of the state became NaN or infinite
    NOT_CONVERGED = 2  # the constraint solve ended above its tolerance: at its iteration limit, or of the precision
    PIVOT = 4  # a pivot of the factorisation was not positive; the diagonal was raised
    CONTACT_OVERFLOW = 8  # contacts were lost: more than the slab holds, or such as are not of their world
    RESET_SOURCE = 16  # a reset named a world that its source does not have, or one of other sizes; nothing was copied


DENSE_DOFS = 4096
"""Degrees of freedom of a world up to which it has a mass matrix of its own, and ``dof_mask``; larger ones are worked
tree by tree."""

PAIR_CONTACTS = {
    PairRoutine.PLANE_SPHERE: 1,
    PairRoutine.PLANE_CAPSULE: 2,
    PairRoutine.PLANE_ELLIPSOID: 1,
    PairRoutine.PLANE_CYLINDER: 4,
    PairRoutine.PLANE_BOX: 4,
    PairRoutine.SPHERE_SPHERE: 1,
    PairRoutine.SPHERE_CAPSULE: 1,
    PairRoutine.SPHERE_BOX: 1,
    PairRoutine.CAPSULE_CAPSULE: 2,
    PairRoutine.CAPSULE_BOX: 2,
    PairRoutine.BOX_BOX: 8,
    PairRoutine.PLANE_CONVEX: 8,
    PairRoutine.CONVEX_CONVEX: 8,
    PairRoutine.PLANE_MESH: 9,
    PairRoutine.HEIGHTFIELD_CONVEX: 16,
    PairRoutine.CONVEX_MESH: 16,
    PairRoutine.HEIGHTFIELD_MESH: 16,
    PairRoutine.MESH_MESH: 16,
    PairRoutine.PLANE_SDF: 16,
    PairRoutine.CONVEX_SDF: 16,
    PairRoutine.HEIGHTFIELD_SDF: 16,
    PairRoutine.MESH_SDF: 16,
    PairRoutine.SDF_SDF: 16,
}
"""The most contacts that each routine makes."""


def pair_contacts(routines: np.ndarray) -> np.ndarray:
    """The most contacts that each of an array of ``PairRoutine`` numbers makes."""
    return np.array([PAIR_CONTACTS[routine] for routine in PairRoutine])[routines]
