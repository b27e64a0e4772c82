"""Which shapes of one world may touch, and the routine for each pair."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simengine import enums
from simengine.builder.elements import WORLD, Body, Joint, Shape
from simengine.enums import JointType, PairRoutine, ShapeType

ROUTINES = {tuple(ShapeType[name] for name in routine.name.split("_")): routine for routine in PairRoutine}
"""Routine of each pair of shape types, the smaller type first; other pairs have none yet."""


@dataclass
class PairTable:
    """Pairs of shapes of one world: ``first``, ``second``, ``routine`` (n,), in order of (first, second).

    ``unsupported``: how many pairs of two types (names, lower case) no routine collides; they are not in the table.
    """

    first: np.ndarray
    second: np.ndarray
    routine: np.ndarray
    unsupported: dict[tuple[str, str], int]

    def arrays(self) -> dict[str, np.ndarray]:
        """The pair rows of owner ``topology``."""
        contacts = enums.pair_contacts(self.routine)
        return {
            "pair_shape0": self.first.astype(np.int32),
            "pair_shape1": self.second.astype(np.int32),
            "pair_routine": self.routine.astype(np.int32),
            "pair_slot": (np.cumsum(contacts) - contacts).astype(np.int32),
        }


class RigidGroups:
    """Bodies that fixed joints hold together count as one when shapes are filtered.

    ``group`` (bodies,) numbers them; ``immovable`` (bodies,) marks those fixed to the world or kinematic;
    ``linked`` holds the pairs of groups (both ways) that a joint joins, with the shapes of which do not collide.
    """

    def __init__(self, bodies: Sequence[Body], joints: Sequence[Joint]):
        leader = list(range(len(bodies)))

        def find(body: int) -> int:
            while leader[body] != body:
                body = leader[body]
            return body

        for joint in joints:
            if joint.type == JointType.FIXED and joint.parent != WORLD:
                leader[find(joint.child)] = find(joint.parent)
        self.group = np.array([find(body) for body in range(len(bodies))], int)
        held = {self.group[j.child] for j in joints if j.type == JointType.FIXED and j.parent == WORLD}
        held |= {self.group[i] for i, body in enumerate(bodies) if body.kinematic}
        self.immovable = np.array([group in held for group in self.group], bool)
        self.linked = set()
        for joint in joints:
            if joint.parent != WORLD and joint.type != JointType.FIXED and not joint.collide_with_parent:
                a, b = self.group[joint.parent], self.group[joint.child]
                self.linked |= {(a, b), (b, a)}


def structural_filter(bodies: Sequence[Body], joints: Sequence[Joint], shapes: Sequence[Shape]) -> np.ndarray:
    """Symmetric (n, n) bool over shapes: True where bodies and joints alone rule a contact out.

    Shapes of one body or of bodies fixed together, of a parent and its child (but never of the world and its
    children), and of two bodies that nothing moves.
    """
    rigid = RigidGroups(bodies, joints)
    body = np.array([shape.body for shape in shapes], int).reshape(-1)
    static = body == WORLD
    group = np.where(static, -1, rigid.group[body] if len(bodies) else -1)
    immovable = np.where(static, True, rigid.immovable[body] if len(bodies) else True)
    together = group[:, None] == group[None, :]
    if rigid.linked:
        count = len(bodies)
        joined = np.isin(group[:, None] * count + group[None, :], [a * count + b for a, b in rigid.linked])
        together |= joined & ~(static[:, None] | static[None, :])
    return together | (immovable[:, None] & immovable[None, :])


def find_pairs(
    bodies: Sequence[Body], joints: Sequence[Joint], shapes: Sequence[Shape], filters: set[tuple[int, int]]
) -> PairTable:
    """All pairs of shapes of one world that may touch.

    ``joints``: one for each body. A pair is ruled out by ``structural_filter``, by ``filters``, by shapes that do not
    collide, and by groups: two shapes of different groups, neither of them -1, do not touch.
    """
    ruled_out = structural_filter(bodies, joints, shapes)
    group = np.array([shape.group for shape in shapes], int)
    ruled_out |= (group[:, None] != group[None, :]) & (group[:, None] != -1) & (group[None, :] != -1)
    idle = ~np.array([shape.collides for shape in shapes], bool)
    ruled_out |= idle[:, None] | idle[None, :]
    i, j = filter_indices(filters)
    ruled_out[i, j] = True
    low, high = np.nonzero(np.triu(~ruled_out, 1))
    types = np.array([shape.type for shape in shapes], int)
    swap = types[low] > types[high]
    first, second = np.where(swap, high, low), np.where(swap, low, high)
    order = np.lexsort((second, first))
    first, second = first[order], second[order]
    lookup = np.full((len(ShapeType), len(ShapeType)), -1)
    for (a, b), routine in ROUTINES.items():
        lookup[a, b] = routine
    routine = lookup[types[first], types[second]] if len(first) else np.zeros(0, int)
    known = routine >= 0
    missing = np.bincount(types[first[~known]] * len(ShapeType) + types[second[~known]])
    unsupported = {
        tuple(ShapeType(kind).name.lower() for kind in divmod(pair, len(ShapeType))): int(missing[pair])
        for pair in np.flatnonzero(missing)
    }
    return PairTable(first[known], second[known], routine[known], unsupported)


def filter_indices(filters: set[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    """The lower and the higher shape of each filtered pair, as two arrays."""
    indices = np.fromiter(itertools.chain.from_iterable(filters), int, 2 * len(filters))
    return indices[::2], indices[1::2]
