"""Which joints make the tree of the bodies, which close loops, and which way round each stands.

Joints in USD are a graph without a direction. The tree is a spanning forest from the world: joints that may not close
a loop are taken first (several axes), then those with a drive, with limits, the others in the file's order; those
excluded from articulations and distance joints last (Kruskal's algorithm).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from simengine.builder.frames import compose, inverse, quat_rotate
from simengine.builder.importers.usd.document import ANGULAR, LINEAR, Joint, Scene

WORLD = ""


@dataclass
class Branch:
    """A joint of the tree, and which of its bodies is the parent."""

    joint: Joint
    parent: str
    child: str

    @property
    def reversed(self) -> bool:
        """Whether the file's body1 is the parent."""
        return self.parent == self.joint.body1 and self.child == self.joint.body0


@dataclass
class Plan:
    """``branches`` and ``loops`` in the order of the file; ``roots``: bodies that float, with joints on them."""

    branches: list[Branch] = field(default_factory=list)
    loops: list[Joint] = field(default_factory=list)
    idle: list[Joint] = field(default_factory=list)  # between bodies that nothing moves
    roots: list[str] = field(default_factory=list)


def plan_tree(scene: Scene, preferred_roots: set[str]) -> Plan:
    """Choose the tree. ``preferred_roots``: bodies that carry an ArticulationRootAPI."""
    plan = Plan()
    grounded = {WORLD, *(path for path, body in scene.bodies.items() if body.kinematic)}
    group = {path: path for path in scene.bodies} | dict.fromkeys(grounded, WORLD)

    def top(path: str) -> str:
        while group[path] != path:
            group[path] = group[group[path]]
            path = group[path]
        return path

    chosen: set[str] = set()
    candidates = [joint for joint in scene.joints.values() if not joint.equality]
    for joint in sorted(candidates, key=_rank):
        one, two = top(joint.body0), top(joint.body1)
        if one != two:
            group[one if two == WORLD else two] = two if two == WORLD else one
            chosen.add(joint.path)
    around: dict[str, list[Joint]] = {path: [] for path in (*scene.bodies, WORLD)}
    for joint in scene.joints.values():
        if joint.path in chosen:
            around[joint.body0].append(joint)
            around[joint.body1].append(joint)
    parents = _directed(scene, around, grounded, preferred_roots, plan)
    for joint in scene.joints.values():
        if joint.path in chosen:
            child = joint.body1 if parents.get(joint.body1, (None, ""))[0] is joint else joint.body0
            plan.branches.append(Branch(joint, parents[child][1], child))
        elif joint.body0 in grounded and joint.body1 in grounded:
            plan.idle.append(joint)
        else:
            plan.loops.append(joint)
    return plan


def _rank(joint: Joint) -> tuple:
    closable = joint.kind != "axes" or len(joint.axes) < 2
    driven = any(axis.driven for axis in joint.axes)
    limited = any(axis.limited for axis in joint.axes) or min(joint.cone) < math.inf
    return (joint.excluded, joint.kind == "distance", closable, not driven, not limited)


def _directed(scene: Scene, around, grounded: set, preferred: set, plan: Plan) -> dict[str, tuple[Joint, str]]:
    """The joint above each body and the parent that it leads to, breadth first from what nothing moves, then roots."""
    parents: dict[str, tuple[Joint, str]] = {}
    reached = set(grounded)
    _spread([path for path in (WORLD, *scene.bodies) if path in grounded], around, reached, parents)
    seconds = {joint.body1 for joints in around.values() for joint in joints}
    by_choice = sorted(scene.bodies, key=lambda path: (path not in preferred, path in seconds))  # stable
    for path in by_choice:
        if path not in reached:
            reached.add(path)
            if around[path]:
                plan.roots.append(path)
            _spread([path], around, reached, parents)
    order = {path: number for number, path in enumerate(scene.bodies)}
    plan.roots.sort(key=order.get)
    return parents


def _spread(start: list[str], around, reached: set, parents: dict) -> None:
    waiting = list(start)
    while waiting:
        at = waiting.pop(0)
        for joint in around[at]:
            other = joint.body1 if joint.body0 == at else joint.body0
            if other not in reached:
                reached.add(other)
                parents[other] = (joint, at)
                waiting.append(other)


def turned_round(joint: Joint) -> tuple[Joint, bool]:
    """The joint with body1 as its parent: the same motion, each coordinate with the same sign.

    The inverse of successive motions is that of each in the other order; so axes change sign and order. Also returned:
    whether that is exact. It is not for linear and angular axes together, of which the linear ones come first here.
    """
    axes = [replace(axis, axis=tuple(-x for x in axis.axis)) for axis in reversed(joint.axes)]
    axes.sort(key=lambda axis: axis.kind != LINEAR)
    mixed = {axis.kind for axis in joint.axes} == {LINEAR, ANGULAR}
    if joint.kind == "ball" and not mixed:
        axes = list(joint.axes)
    turned = replace(joint, body0=joint.body1, body1=joint.body0, frame0=joint.frame1, frame1=joint.frame0, axes=axes)
    return turned, not mixed


def stacked(joints: list[Joint]) -> Joint | None:
    """Several joints of one axis each between two bodies, one after another, as one joint; None where it cannot be.

    Each leads from the parent to the child alone, so all have the same pose at zero: X = F0 F1^-1 (Newton's
    ``jointsAddMobility``; MJCF's joints of one body). Linear axes must come first, angular ones meet in a point.
    """
    first = joints[0]
    if any(joint.kind != "axes" or len(joint.axes) != 1 for joint in joints):
        return None
    axes = [replace(joint.axes[0], label=joint.label) for joint in joints]
    kinds = [axis.kind for axis in axes]
    if kinds != sorted(kinds, key=lambda kind: kind != LINEAR) or max(kinds.count(LINEAR), kinds.count(ANGULAR)) > 3:
        return None
    turning = [joint for joint in joints if joint.axes[0].kind == ANGULAR]
    anchor = (turning or joints)[0].frame1[:3]
    if any(math.dist(joint.frame1[:3], anchor) > 1e-5 for joint in turning):
        return None
    frame1 = (*anchor, 0.0, 0.0, 0.0, 1.0)
    rest = compose(first.frame0, inverse(first.frame1))
    moved = [
        replace(axis, axis=quat_rotate(joint.frame1[3:], axis.axis)) for axis, joint in zip(axes, joints, strict=True)
    ]
    return replace(first, axes=moved, frame0=compose(rest, frame1), frame1=frame1)
