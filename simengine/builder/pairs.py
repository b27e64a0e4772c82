"""Which shapes of one world may touch, and the routine for each pair."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simengine import enums
from simengine.builder.elements import WORLD, Body, Joint, Shape
from simengine.enums import JointType, ShapeType
from simengine.pair_routines import routine_table

LISTED_PAIRS, COUNTED_PAIRS = 200_000, 50_000_000
"""How many pairs of a world are listed at most, and up to how many that there may be are counted to find out."""

BLOCK = 1 << 20
"""Pairs that are looked at in one piece."""


@dataclass
class PairTable:
    """Pairs of shapes of one world: ``first``, ``second``, ``routine`` (n,), in order of (first, second).

    ``parameter`` (n,): contact pair of the world that each is, -1 none. Pairs of two types that no routine collides are
    not in the table.
    """

    first: np.ndarray
    second: np.ndarray
    routine: np.ndarray
    parameter: np.ndarray

    @classmethod
    def empty(cls) -> PairTable:
        """A table of no pair."""
        return cls(*(np.zeros(0, np.int32) for _ in range(4)))

    def arrays(self) -> dict[str, np.ndarray]:
        """The pair rows of owner ``topology``."""
        contacts = enums.pair_contacts(self.routine)
        return {
            "pair_shape0": self.first.astype(np.int32, copy=False),
            "pair_shape1": self.second.astype(np.int32, copy=False),
            "pair_routine": self.routine.astype(np.int32),
            "pair_slot": (np.cumsum(contacts) - contacts).astype(np.int32),
            "pair_parameter": self.parameter.astype(np.int32),
        }


class RigidGroups:
    """Bodies that fixed joints hold together count as one when shapes are filtered.

    ``group`` (bodies,) numbers them; ``immovable`` (bodies,) marks those fixed to the world or kinematic;
    ``parent`` (bodies,) is the group that a joint moves this one against, where their shapes do not collide; -1 none.
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
        above = np.full(len(bodies), -1)
        for joint in joints:
            if joint.parent != WORLD and joint.type != JointType.FIXED and not joint.collide_with_parent:
                above[self.group[joint.child]] = self.group[joint.parent]
        self.parent = above[self.group] if len(bodies) else above


class PairRules:
    """Which of the shapes of one world may touch, block by block.

    A pair is ruled out by bodies and joints (``structural``), by ``filters``, by shapes that do not collide, by groups
    (two shapes of different groups, neither of them -1, do not touch), and by masks (no bit of the one's ``contype`` is
    in the other's ``conaffinity``). Pairs in ``explicit`` may touch in any case. ``joints``: one for each body.

    ``explicit`` (pairs, 2): sorted, the lower shape first; ``explicit_number`` (pairs,): where each was in the list.

    ``rigid`` (n,): the leading body of those that are fixed together, -1 the world; ``linked`` (n,): the leading body
    of the parent that the shape does not touch, -1 none; ``immovable`` (n,) bool.
    """

    def __init__(
        self,
        bodies: Sequence[Body],
        joints: Sequence[Joint],
        shapes: Sequence[Shape],
        filters: set[tuple[int, int]] = frozenset(),
        explicit: Sequence[tuple[int, int]] = (),
    ):
        groups = RigidGroups(bodies, joints)
        body = np.array([shape.body for shape in shapes], int).reshape(-1)
        static = body == WORLD
        self.rigid = np.where(static, -1, groups.group[body] if len(bodies) else -1).astype(np.int32)
        self.linked = np.where(static, -1, groups.parent[body] if len(bodies) else -1).astype(np.int32)
        self.immovable = np.where(static, True, groups.immovable[body] if len(bodies) else True)
        self.group = np.array([shape.group for shape in shapes], int)
        self.contype, self.conaffinity = (
            np.array([getattr(shape, name) for shape in shapes], np.int64) for name in ("contype", "conaffinity")
        )
        self.collides = np.array([shape.collides for shape in shapes], bool)
        self.type = np.array([shape.type for shape in shapes], int)
        self.explicit, self.explicit_number = np.unique(
            np.sort(np.array(explicit, int).reshape(-1, 2), axis=1), axis=0, return_index=True
        )
        low, high = filter_indices(filters)
        self.filtered = np.unique(np.stack([low, high], axis=1), axis=0)
        self._filtered_rows, self._explicit_rows = _both_ways(self.filtered), _both_ways(self.explicit)

    def part(self, shapes: np.ndarray) -> PairRules:
        """The rules among some shapes, given in ascending order and numbered anew."""
        place = np.full(len(self.type), -1)
        place[shapes] = np.arange(len(shapes))
        result = copy.copy(self)
        for name in ("rigid", "linked", "immovable", "group", "contype", "conaffinity", "collides", "type"):
            setattr(result, name, getattr(self, name)[shapes])
        for name in ("filtered", "explicit"):
            pairs = place[getattr(self, name)]
            pairs = pairs[(pairs >= 0).all(axis=1)]
            setattr(result, name, pairs)
            setattr(result, f"_{name}_rows", _both_ways(pairs))
        return result

    def touchable(self) -> np.ndarray:
        """The shapes that collide or are of an explicit pair, ascending."""
        counts = self.collides.copy()
        counts[self.explicit.ravel()] = True
        return np.flatnonzero(counts)

    def structural(self, rows: slice) -> np.ndarray:
        """(rows, n) bool: True where bodies and joints alone rule a contact out.

        Shapes of one body or of bodies fixed together, of a parent and its child (but never of the world and its
        children), and of two bodies that nothing moves.
        """
        rigid = self.rigid[rows, None]
        out = rigid == self.rigid
        if (self.linked >= 0).any():
            linked = self.linked[rows, None]
            out |= (linked == self.rigid) & (linked >= 0)
            out |= (rigid == self.linked) & (rigid >= 0)
        if self.immovable.any():
            out |= self.immovable[rows, None] & self.immovable
        return out

    def allowed(self, rows: slice) -> np.ndarray:
        """(rows, n) bool, False on the diagonal: which shapes may touch those of ``rows``, a slice with both ends."""
        out = self.structural(rows)
        np.logical_not(out, out=out)
        if (self.group != -1).any():
            group = self.group[rows, None]
            out &= (group == self.group) | (group == -1) | (self.group == -1)
        if not np.bitwise_and.reduce(self.contype & self.conaffinity):  # no bit is common to all
            meets = (self.contype[rows, None] & self.conaffinity) != 0
            meets |= (self.conaffinity[rows, None] & self.contype) != 0
            out &= meets
        if not self.collides.all():
            out &= self.collides[rows, None] & self.collides
        for pairs, value in ((self._filtered_rows, False), (self._explicit_rows, True)):
            first, last = np.searchsorted(pairs[:, 0], (rows.start, rows.stop))
            out[pairs[first:last, 0] - rows.start, pairs[first:last, 1]] = value
        return out

    def ordered(self, rows: slice) -> np.ndarray:
        """(rows, n) bool: the shapes that may touch those of ``rows`` and come second in the pair.

        The first of a pair has the smaller ShapeType or, of two alike, the smaller number.
        """
        place = np.argsort(np.argsort(self.type, kind="stable"), kind="stable").astype(np.int32)
        out = place[rows, None] < place
        out &= self.allowed(rows)
        return out

    def explicit_numbers(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Which of the explicit pairs each pair of shapes (n,), (n,) is, as they were listed; -1 none."""
        if not len(self.explicit):
            return np.full(len(first), -1, np.int32)
        count = len(self.type)
        keys = self.explicit @ np.array([count, 1])
        wanted = np.minimum(first, second).astype(np.int64) * count + np.maximum(first, second)
        at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        return np.where(keys[at] == wanted, self.explicit_number[at], -1).astype(np.int32)

    def blocks(self):
        """Slices of rows, such that a block of pairs takes a few MB."""
        count = len(self.type)
        step = max(1, BLOCK // max(count, 1))
        return (slice(begin, min(begin + step, count)) for begin in range(0, count, step))


def _both_ways(pairs: np.ndarray) -> np.ndarray:
    """Each pair and its reverse, sorted."""
    return np.unique(np.concatenate([pairs, pairs[:, ::-1]]), axis=0)


def structural_filter(bodies: Sequence[Body], joints: Sequence[Joint], shapes: Sequence[Shape]) -> np.ndarray:
    """Symmetric (n, n) bool over shapes: ``PairRules.structural`` of all of them."""
    return PairRules(bodies, joints, shapes).structural(slice(0, len(shapes)))


def may_touch(
    bodies: Sequence[Body],
    joints: Sequence[Joint],
    shapes: Sequence[Shape],
    filters: set[tuple[int, int]],
    explicit: Sequence[tuple[int, int]] = (),
) -> np.ndarray:
    """Symmetric (n, n) bool over shapes: ``PairRules.allowed`` of all of them."""
    return PairRules(bodies, joints, shapes, filters, explicit).allowed(slice(0, len(shapes)))


def list_pairs(rules: PairRules) -> PairTable:
    """All pairs that may touch, block by block: memory grows with the pairs, and shapes that never do cost nothing."""
    lookup, own = routine_table(), rules.touchable().astype(np.int32)
    whole, rules = rules, rules.part(own)
    counts, seconds, routines = [], [], []
    for rows in rules.blocks():
        mask = rules.ordered(rows)
        routine = lookup[rules.type[rows]][:, rules.type]
        mask &= routine >= 0
        counts.append(mask.sum(axis=1))
        seconds.append(own[np.flatnonzero(mask) % mask.shape[1]])
        routines.append(routine[mask])
    counts = np.concatenate(counts) if counts else np.zeros(0, int)
    second = np.concatenate([np.zeros(0, np.int32), *seconds])
    routine = np.concatenate([np.zeros(0, np.int8), *routines])
    first = np.repeat(own, counts)
    return PairTable(first, second, routine, whole.explicit_numbers(first, second))


def choose_broad_phase(rules: PairRules) -> str:
    """ "pairs" for a world of at most LISTED_PAIRS pairs that may touch, else "search"."""
    movable = int((rules.collides & ~rules.immovable).sum())
    most = movable * (movable - 1) // 2 + movable * (int(rules.collides.sum()) - movable) + len(rules.explicit)
    if most <= LISTED_PAIRS:
        return "pairs"
    if most > COUNTED_PAIRS:
        return "search"
    found = 0
    for rows in rules.blocks():
        found += int(np.count_nonzero(rules.ordered(rows)))
        if found > LISTED_PAIRS:
            return "search"
    return "pairs"


def count_unsupported(rules: PairRules) -> dict[tuple[str, str], int]:
    """How many pairs that may touch are of two types (names, lower case) that no routine collides."""
    rules = rules.part(rules.touchable())
    lookup, kinds = routine_table(), len(ShapeType)
    present = np.unique(rules.type)
    lacking = [kind for kind in present if (lookup[kind, present[present >= kind]] < 0).any()]
    missing = np.zeros(kinds * kinds, np.int64)
    for rows in rules.blocks():
        if not np.isin(rules.type[rows], lacking).any():
            continue
        first, second = np.nonzero(rules.ordered(rows))
        types = rules.type[rows.start + first], rules.type[second]
        without = lookup[types] < 0
        missing += np.bincount((types[0] * kinds + types[1])[without], minlength=kinds * kinds)
    return {
        tuple(ShapeType(kind).name.lower() for kind in divmod(int(pair), kinds)): int(missing[pair])
        for pair in np.flatnonzero(missing)
    }


def filter_indices(filters: set[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    """The lower and the higher shape of each filtered pair, as two arrays."""
    indices = np.fromiter(itertools.chain.from_iterable(filters), int, 2 * len(filters))
    return indices[::2], indices[1::2]
