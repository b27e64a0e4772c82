"""Elements moved, renamed and put together: what ``merge_builder``, ``add_builder`` and ``replicate`` do."""

from __future__ import annotations

import math
from dataclasses import fields

import numpy as np

from simengine.builder.elements import KINDS, WORLD, Elements, Equality
from simengine.builder.frames import IDENTITY, NO_TURN, Pose, compose, inverse, quat_rotate
from simengine.builder.mechanisms import KEPT, SceneOptions
from simengine.builder.values import AXES
from simengine.enums import EqualityType, JointType
from simengine.errors import ModelError


def moved(elements: Elements, xform: Pose) -> Elements:
    """A copy in which everything that stands on the world is moved by ``xform``.

    A free joint on the world keeps its frame there and gets new coordinates; other joints' frames move.
    """
    result = elements.copy()
    if xform == IDENTITY:
        return result
    for body in result.bodies:
        if body.xform is not None:
            body.xform = compose(xform, body.xform)
        if body.velocity is not None:
            body.velocity = (*quat_rotate(xform[3:], body.velocity[:3]), *quat_rotate(xform[3:], body.velocity[3:]))
    turned: dict[int, Pose] = {}  # free joints whose coordinates change, and by which pose
    for index, joint in enumerate(result.joints):
        if joint.parent != WORLD:
            continue
        if joint.type == JointType.FREE and (joint.q is not None or result.bodies[joint.child].xform is not None):
            in_joint = compose(inverse(joint.parent_xform), compose(xform, joint.parent_xform))
            turned[index] = in_joint
            if joint.q is not None:
                joint.q = compose(in_joint, joint.q)
            if joint.qd is not None:
                joint.qd = (*quat_rotate(in_joint[3:], joint.qd[:3]), *quat_rotate(in_joint[3:], joint.qd[3:]))
        else:
            joint.parent_xform = compose(xform, joint.parent_xform)
    for element in (*result.shapes, *result.sites):
        if element.body == WORLD:
            element.xform = compose(xform, element.xform)
    result.options.turn(xform[3:])
    for equality in result.equalities:
        _move_equality(equality, xform)
    for keyframe in result.keyframes:
        keyframe.joints = tuple(_moved_coordinates(*state, turned) for state in keyframe.joints)
        keyframe.bodies = tuple((body, compose(xform, at)) for body, at in keyframe.bodies)
    for deformable in result.deformables:
        if deformable.body == WORLD:
            deformable.vertices = tuple(compose(xform, (*p, *NO_TURN))[:3] for p in deformable.vertices)
    moved_bodies = {joint.child for joint in result.joints}
    for index, body in enumerate(result.bodies):
        if index not in moved_bodies and body.xform is None:
            body.xform = xform
    return result


def _moved_coordinates(joint: int, q: tuple, qd: tuple, turned: dict[int, Pose]) -> tuple[int, tuple, tuple]:
    """The coordinates and rates of one joint in a keyframe, as ``moved`` changes those of free joints on the world."""
    if joint not in turned:
        return joint, q, qd
    turn = turned[joint]
    q = compose(turn, q) if q else q
    qd = (*quat_rotate(turn[3:], qd[:3]), *quat_rotate(turn[3:], qd[3:])) if qd else qd
    return joint, q, qd


def _move_equality(equality: Equality, xform: Pose) -> None:
    if equality.type == EqualityType.JOINT:
        return
    if equality.object0 == WORLD:
        equality.xform0 = compose(xform, equality.xform0)
    if equality.object1 == WORLD:
        equality.xform1 = compose(xform, equality.xform1)


def rename(elements: Elements, prefix: str | None, taken: dict[str, set[str]]) -> None:
    """Put a prefix before all labels and enter them in ``taken``; made-up labels that clash are made anew.

    ModelError, with ``taken`` as it was, where a given label is taken.
    """
    found: dict[str, set[str]] = {}
    for kind, singular in KINDS.items():
        names = found[singular] = set(taken.get(singular, ()))
        for element in getattr(elements, kind):
            label = f"{prefix}/{element.label}" if prefix else element.label
            if label in names and not element.auto_label:
                raise ModelError("is taken; give label_prefix=", element=f"{singular} label {label!r}")
            number = len(names)
            while label in names:
                label, number = f"{singular}_{number}", number + 1
            element.label = label
            names.add(label)
    taken.update(found)


def append(elements: Elements, more: Elements) -> None:
    """Append ``more``, which is used up, renumbering what it refers to."""
    before = {singular: len(getattr(elements, kind)) for kind, singular in KINDS.items()}
    body, joint, shape = before["body"], before["joint"], before["shape"]

    def shifted(index: int, by: int) -> int:
        return index if index == WORLD else index + by

    for kind in KEPT:
        for element in getattr(more, kind):
            element.renumber(lambda of, index: shifted(index, before[of]))
    for j in more.joints:
        j.parent, j.child = shifted(j.parent, body), j.child + body
    for element in (*more.shapes, *more.sites):
        element.body = shifted(element.body, body)
    for equality in more.equalities:
        by = joint if equality.type == EqualityType.JOINT else body
        equality.object0, equality.object1 = shifted(equality.object0, by), shifted(equality.object1, by)
    for kind in KINDS:
        getattr(elements, kind).extend(getattr(more, kind))
    elements.filters |= {(i + shape, j + shape) for i, j in more.filters}
    for option in fields(SceneOptions):  # the first that says something decides
        if getattr(elements.options, option.name) in (None, ()):
            setattr(elements.options, option.name, getattr(more.options, option.name))
    elements.custom += more.custom


def grid(count: int, spacing: float, up_axis: str) -> np.ndarray:
    """Places (count, 3) on a square grid across the up axis, ``spacing`` m apart, its middle at the origin."""
    side = math.isqrt(count - 1) + 1
    across = [i for i, name in enumerate(AXES) if name != up_axis]
    places = np.zeros((count, 3))
    index = np.arange(count)
    places[:, across] = np.stack([index % side, index // side], axis=1) * spacing
    return places - 0.5 * (places.min(axis=0) + places.max(axis=0))
