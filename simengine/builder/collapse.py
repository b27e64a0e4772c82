"""Merging bodies that fixed joints hold together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from simengine.builder.elements import WORLD, Elements
from simengine.builder.frames import IDENTITY, Pose, compose, inverse
from simengine.builder.inertia import combine
from simengine.builder.masses import body_masses
from simengine.builder.mechanisms import KEPT, Renumber
from simengine.builder.pairs import structural_filter
from simengine.builder.template import floating_joints
from simengine.builder.topology import link_order
from simengine.enums import EqualityType, JointType
from simengine.errors import ModelError


def collapse_fixed_joints(elements: Elements, keep: Sequence[int] = ()) -> dict[int, int]:
    """Merge, in place, each body on a fixed joint that is not in ``keep`` into its parent; new body index by old.

    Exact: shapes, sites, joint frames and equality frames keep their places in space; mass properties add up. What
    becomes part of the world loses its mass. Pairs of shapes that could not touch before cannot after.
    """
    unknown = [j for j in keep if not 0 <= j < len(elements.joints)]
    if unknown:
        raise ModelError(
            f"keep names joint {unknown[0]}; there are {len(elements.joints)}, counted from 0",
            element="collapse_fixed_joints",
        )
    bodies, joints = elements.bodies, elements.joints
    order = link_order(bodies, [*joints, *floating_joints(elements)])
    gone = [j for j in order if j < len(joints) and joints[j].type == JointType.FIXED and j not in set(keep)]
    for j in gone:
        if bodies[joints[j].child].kinematic:
            raise ModelError(
                f"is kinematic, but joint {joints[j].label!r} fixes it; leave out the joint",
                element=f"body {bodies[joints[j].child].label!r}",
            )
    masses = body_masses(elements)
    before = structural_filter(bodies, joints, elements.shapes)
    host: dict[int, tuple[int, Pose]] = {WORLD: (WORLD, IDENTITY)}  # by old body: what it is part of, its pose there
    host |= {body: (body, IDENTITY) for body in range(len(bodies))}
    for j in gone:  # parents come first, so a parent's own place is known
        joint = joints[j]
        body, parent_pose = host[joint.parent]
        place = compose(joint.parent_xform, inverse(joint.child_xform))
        host[joint.child] = (body, compose(parent_pose, place))
    _merge_masses(elements, masses, host)
    _move(elements, host)
    mapping = _renumber(elements, set(gone), host)
    _keep_filters(elements, before)
    return mapping


def _merge_masses(elements: Elements, masses, host) -> None:
    """Bodies whose mass comes from shapes keep doing so; where a merged body had its own, the sum becomes explicit."""
    merged: dict[int, list[int]] = {}
    for old, (body, _) in host.items():
        if old not in (WORLD, body) and body != WORLD:
            merged.setdefault(body, []).append(old)
    for body, parts in merged.items():
        if all(elements.bodies[part].mass is None for part in (body, *parts)):
            continue
        total = combine([masses[body], *(masses[part].moved(host[part][1]) for part in parts)])
        own = elements.bodies[body]
        own.mass, own.com, own.inertia = (
            total.mass,
            tuple(map(float, total.com)),
            tuple(map(float, total.inertia.ravel())),
        )


def _move(elements: Elements, host) -> None:
    """Refer everything that stood on a merged body to the body it became part of."""
    for element in (*elements.shapes, *elements.sites):
        body, place = host[element.body]
        element.body, element.xform = body, compose(place, element.xform)
    for joint in elements.joints:
        body, place = host[joint.parent]
        joint.parent, joint.parent_xform = body, compose(place, joint.parent_xform)
    for equality in elements.equalities:
        if equality.type == EqualityType.JOINT:
            continue
        body, place = host[equality.object0]
        equality.object0, equality.xform0 = body, compose(place, equality.xform0)
        body, place = host[equality.object1]
        equality.object1, equality.xform1 = body, compose(place, equality.xform1)
        if equality.object0 == equality.object1:
            raise ModelError(
                f"joins bodies that became one, {elements.bodies[body].label!r}; keep their fixed joint "
                "(keep=), or leave out the equality",
                element=f"equality {equality.label!r}",
            )


def _renumber(elements: Elements, gone: set[int], host) -> dict[int, int]:
    """Drop merged bodies and their joints; new body index by old."""
    staying = [old for old in range(len(elements.bodies)) if host[old][0] == old]
    new = {WORLD: WORLD} | {old: index for index, old in enumerate(staying)}
    joints = [j for j in range(len(elements.joints)) if j not in gone]
    new_joint = {WORLD: WORLD} | {old: index for index, old in enumerate(joints)}
    elements.bodies[:] = [elements.bodies[old] for old in staying]
    elements.joints[:] = [elements.joints[old] for old in joints]
    for joint in elements.joints:
        joint.parent, joint.child = new[joint.parent], new[joint.child]
    for element in (*elements.shapes, *elements.sites):
        element.body = new[element.body]
    for kind, singular in KEPT.items():
        for element in getattr(elements, kind):
            element.renumber(_staying({"body": new, "joint": new_joint}, f"{singular} {element.label!r}"))
    for equality in elements.equalities:
        of_kind = new_joint if equality.type == EqualityType.JOINT else new
        equality.object0, equality.object1 = of_kind[equality.object0], of_kind[equality.object1]
    return {old: new[body] for old, (body, _) in host.items() if old != WORLD}


def _staying(numbers: dict[str, dict[int, int]], what: str) -> Renumber:
    """New indices of bodies and joints; ModelError for one that is merged."""

    def new(kind: str, index: int) -> int:
        if kind not in numbers:
            return index
        if index not in numbers[kind]:
            raise ModelError(f"refers to a {kind} that would be merged; keep its fixed joint (keep=)", element=what)
        return numbers[kind][index]

    return new


def _keep_filters(elements: Elements, before: np.ndarray) -> None:
    """Explicit filters for the pairs that the structure ruled out before and no longer does."""
    after = structural_filter(elements.bodies, elements.joints, elements.shapes)
    low, high = np.nonzero(np.triu(before & ~after, 1))
    elements.filters |= {(int(i), int(j)) for i, j in zip(low, high, strict=True)}
