"""Initial poses and velocities of the bodies of a template, from its joints (float64, once for each template).

States get theirs from the kernels; this gives ``finalize`` the initial coordinates of floating bodies, whose poses are
what the user gave, and the reference poses that the checks need.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from simengine.builder.elements import WORLD, Body, Joint
from simengine.builder.frames import (
    IDENTITY,
    Pose,
    Vector,
    add,
    angle_between,
    apply,
    compose,
    cross,
    inverse,
    quat_conjugate,
    quat_from_axis_angle,
    quat_multiply,
    quat_rotate,
    scale,
    subtract,
)
from simengine.builder.topology import FLOATING
from simengine.enums import DofKind

REST: tuple[Vector, Vector] = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))


@dataclass
class InitialState:
    """Of one template: coordinates and rates of each joint, pose of each body, velocity of each centre of mass.

    ``joint_frame``: world position of each joint's frame on its child. Velocities are linear then angular, world axes.
    """

    coords: list[tuple[float, ...]]
    rates: list[tuple[float, ...]]
    pose: list[Pose]
    velocity: list[tuple[float, ...]]
    joint_frame: list[Vector]


def initial_state(
    bodies: Sequence[Body], joints: Sequence[Joint], order: Sequence[int], coms: Sequence[Vector]
) -> InitialState:
    """Forward kinematics of the initial coordinates; a floating body without coordinates takes those of its pose.

    ``joints``: one for each body; ``order``: as ``link_order`` gives it; ``coms``: centres of mass in body frames.
    """
    count = len(bodies)
    result = InitialState([()] * count, [()] * count, [IDENTITY] * count, [(0.0,) * 6] * count, [(0.0,) * 3] * count)
    for j in order:
        joint, child = joints[j], joints[j].child
        if joint.parent == WORLD:
            parent, (parent_linear, parent_angular), parent_com = IDENTITY, REST, (0.0, 0.0, 0.0)
        else:
            parent = result.pose[joint.parent]
            motion = result.velocity[joint.parent]
            parent_linear, parent_angular = motion[:3], motion[3:]
            parent_com = apply(parent, coms[joint.parent])
        base = compose(parent, joint.parent_xform)
        q = joint.coords()
        if joint.q is None and joint.type in FLOATING and bodies[child].xform is not None:
            q = compose(inverse(base), compose(bodies[child].xform, joint.child_xform))
        qd = joint.qd or (0.0,) * len(joint.dofs)
        if joint.qd is None and bodies[child].velocity is not None:
            qd = _floating_rates(bodies[child], joint, base, q, coms[child])
        frame, linear, angular = _joint_motion(joint, base, q, qd)
        carried = add(parent_linear, cross(parent_angular, subtract(frame[:3], parent_com)))
        linear, angular = add(carried, linear), add(parent_angular, angular)
        pose = compose(frame, inverse(joint.child_xform))
        com_arm = subtract(apply(pose, coms[child]), frame[:3])
        result.coords[j], result.rates[j], result.joint_frame[j] = q, qd, frame[:3]
        result.pose[child] = pose
        result.velocity[child] = (*add(linear, cross(angular, com_arm)), *angular)
    return result


def _joint_motion(joint: Joint, base: Pose, q, qd) -> tuple[Pose, Vector, Vector]:
    """The joint frame on the child, and its velocity relative to the parent (of its origin, angular); world axes."""
    frame, linear, angular = base, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    for i, dof in enumerate(joint.dofs):
        direction = quat_rotate(frame[3:], dof.axis)
        if dof.kind == DofKind.LINEAR:
            frame = (*add(frame[:3], scale(direction, q[i])), *frame[3:])
            linear = add(linear, scale(direction, qd[i]))
        elif dof.kind == DofKind.ANGULAR:
            frame = (*frame[:3], *quat_multiply(frame[3:], quat_from_axis_angle(dof.axis, q[i])))
            angular = add(angular, scale(direction, qd[i]))
        elif dof.kind == DofKind.BALL_X:
            angular = add(angular, quat_rotate(frame[3:], qd[i : i + 3]))
            frame = (*frame[:3], *quat_multiply(frame[3:], q[i : i + 4]))
            break
    return frame, linear, angular


def _floating_rates(body: Body, joint: Joint, base: Pose, q, com: Vector) -> tuple[float, ...]:
    """Rates of a free joint on the world that give the body the velocity of its centre of mass that was asked for."""
    frame = compose(base, q)
    center = apply(compose(frame, inverse(joint.child_xform)), com)
    linear, angular = body.velocity[:3], body.velocity[3:]
    at_frame = add(linear, cross(angular, subtract(frame[:3], center)))
    back = quat_conjugate(base[3:])
    return (*quat_rotate(back, at_frame), *quat_rotate(back, angular))


def largest_gap(a: Pose, b: Pose) -> float:
    """Distance of two poses' origins in m, or the angle between them in rad, whichever is larger."""
    return max(math.dist(a[:3], b[:3]), angle_between(a[3:], b[3:]))
