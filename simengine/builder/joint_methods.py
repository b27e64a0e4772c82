"""The part of ModelBuilder for joints, loops that joints close, and equality constraints."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from simengine.builder.elements import Equality, Joint
from simengine.builder.frames import NO_TURN
from simengine.builder.joints import BALL_KINDS, XYZ, ball_limits, make_joint
from simengine.builder.validate import check_equality
from simengine.builder.values import axis as axis_vector
from simengine.builder.values import pose
from simengine.enums import DofKind, EqualityType, JointType
from simengine.errors import ModelError
from simengine.values import flag, number, numbers


class JointMethods:
    """Methods of ModelBuilder, which gives ``_elements``, ``default_joint``, ``_label``, ``_append`` and what they
    require. Keywords of joints: see ModelBuilder."""

    def add_joint_revolute(self, parent: int, child: int, axis="Z", **options) -> int:
        """Add a hinge: the child turns about ``axis`` of the joint frame. Keywords: see ModelBuilder."""
        return self._add_joint(JointType.REVOLUTE, parent, child, (axis,), (DofKind.ANGULAR,), options)

    def add_joint_prismatic(self, parent: int, child: int, axis="Z", **options) -> int:
        """Add a slider: the child moves along ``axis`` of the joint frame. Keywords: see ModelBuilder."""
        return self._add_joint(JointType.PRISMATIC, parent, child, (axis,), (DofKind.LINEAR,), options)

    def add_joint_universal(self, parent: int, child: int, axis0="X", axis1="Y", **options) -> int:
        """Add two successive hinges: about ``axis0``, then about ``axis1`` in the frame so turned."""
        return self._add_joint(JointType.UNIVERSAL, parent, child, (axis0, axis1), (DofKind.ANGULAR,) * 2, options)

    def add_joint_ball(
        self, parent: int, child: int, swing=None, twist=None, angle_limit: float | None = None, **options
    ) -> int:
        """Add a ball joint: coordinates a quaternion, rates the child's angular velocity in the parent's joint frame.

        Limits (rad): ``swing`` (about y, about z), ``twist`` (lower, upper, about x), ``angle_limit`` (of the whole
        rotation, as MJCF's range). Other keywords: see ModelBuilder; three values, along x, y, z of the joint frame on
        the parent. Each axis has a ``friction`` of its own: about a diagonal of two it is sqrt(2) times as much.
        """
        limits = ball_limits(options.get("label") or "ball", swing, twist, angle_limit)
        return self._add_joint(JointType.BALL, parent, child, XYZ, BALL_KINDS, options, limits)

    def add_joint_fixed(self, parent: int, child: int, **options) -> int:
        """Add a joint that holds the child still on the parent; it has no parameters of motion."""
        return self._add_joint(JointType.FIXED, parent, child, (), (), options)

    def add_joint_free(self, parent: int, child: int, **options) -> int:
        """Add a joint of six degrees of freedom; without ``q`` the child starts at its ``xform``.

        Coordinates: pose of the joint frame on the child in that on the parent. Rates: velocity of its origin, then
        angular, in the parent's joint axes. Keywords ``armature``, ``damping``, ``friction`` and those of all joints.
        """
        kinds = (DofKind.LINEAR,) * 3 + BALL_KINDS
        return self._add_joint(JointType.FREE, parent, child, XYZ * 2, kinds, options)

    def add_joint_distance(
        self, parent: int, child: int, min_distance: float = 0.0, max_distance: float = inf, **options
    ) -> int:
        """Add a free joint whose frames' origins an equality constraint keeps between two distances (m)."""
        lower = number(min_distance, "distance joint, min_distance", lowest=0.0)
        upper = number(max_distance, "distance joint, max_distance", lowest=lower, infinite=True)
        kinds = (DofKind.LINEAR,) * 3 + BALL_KINDS
        index = self._add_joint(JointType.DISTANCE, parent, child, XYZ * 2, kinds, options)
        joint = self._elements.joints[index]
        self._add_equality(
            EqualityType.DISTANCE,
            parent,
            child,
            joint.parent_xform,
            joint.child_xform,
            (lower, upper),
            f"{joint.label}_distance",
        )
        return index

    def add_joint_d6(
        self,
        parent: int,
        child: int,
        linear_axes: Sequence = (),
        angular_axes: Sequence = (),
        ball: bool = False,
        **options,
    ) -> int:
        """Add any axes in the order given, linear first, each in the frame turned by those before it.

        ``ball``: instead of angular axes a ball follows the linear ones, with a quaternion as coordinates.
        """
        if ball and len(angular_axes):
            raise ModelError(
                "a d6 joint has either angular_axes or ball=True", element=f"joint {options.get('label')!r}"
            )
        if len(angular_axes) > 3 or len(linear_axes) > 3 or not (ball or len(angular_axes) or len(linear_axes)):
            raise ModelError(
                f"a d6 joint takes 1 to 3 axes of a kind, not {len(linear_axes)} linear and "
                f"{len(angular_axes)} angular; for none use add_joint_fixed"
            )
        kinds = (DofKind.LINEAR,) * len(linear_axes) + (BALL_KINDS if ball else (DofKind.ANGULAR,) * len(angular_axes))
        axes = (*linear_axes, *(XYZ if ball else angular_axes))
        return self._add_joint(JointType.D6, parent, child, axes, kinds, options)

    def _add_joint(
        self, joint_type: JointType, parent: int, child: int, axes, kinds, options: dict, limits: dict | None = None
    ) -> int:
        self._require_one_world("joint")
        options = dict(options)
        given = options.pop("label", None)
        label, auto = self._label("joint", given)
        what = f"joint {label!r}"
        self._require_body(parent, f"{what}, parent")
        self._require_body(child, f"{what}, child", world=False)
        if parent == child:
            raise ModelError(f"joins body {self._elements.bodies[child].label!r} with itself", element=what)
        joint = Joint(
            label,
            auto,
            joint_type,
            int(parent),
            int(child),
            parent_xform=pose(options.pop("parent_xform", None), f"{what}, parent_xform"),
            child_xform=pose(options.pop("child_xform", None), f"{what}, child_xform"),
            q=options.pop("q", None),
            qd=options.pop("qd", None),
            collide_with_parent=flag(options.pop("collide_with_parent", False), f"{what}, collide_with_parent"),
        )
        make_joint(joint, axes, kinds, options, self.default_joint, limits)
        return self._append("joint", self._elements.joints, joint)

    # loops and equalities

    def add_loop_joint_revolute(
        self, parent: int, child: int, axis="Z", parent_xform=None, child_xform=None, label: str | None = None
    ) -> int:
        """Close a loop by a hinge between two bodies of the tree; returns its index among equalities."""
        return self._add_loop(EqualityType.LOOP_REVOLUTE, parent, child, axis, parent_xform, child_xform, label)

    def add_loop_joint_prismatic(
        self, parent: int, child: int, axis="Z", parent_xform=None, child_xform=None, label: str | None = None
    ) -> int:
        """Close a loop by a slider; returns its index among equalities."""
        return self._add_loop(EqualityType.LOOP_PRISMATIC, parent, child, axis, parent_xform, child_xform, label)

    def add_loop_joint_ball(
        self, parent: int, child: int, parent_xform=None, child_xform=None, label: str | None = None
    ) -> int:
        """Close a loop by a ball joint; returns its index among equalities."""
        return self._add_loop(EqualityType.LOOP_BALL, parent, child, None, parent_xform, child_xform, label)

    def add_loop_joint_fixed(
        self, parent: int, child: int, parent_xform=None, child_xform=None, label: str | None = None
    ) -> int:
        """Close a loop by holding two bodies together; returns its index among equalities."""
        return self._add_loop(EqualityType.LOOP_FIXED, parent, child, None, parent_xform, child_xform, label)

    def add_loop_joint_distance(
        self,
        parent: int,
        child: int,
        min_distance: float = 0.0,
        max_distance: float = inf,
        parent_xform=None,
        child_xform=None,
        label: str | None = None,
    ) -> int:
        """Keep the origins of two frames between two distances (m); returns its index among equalities."""
        lower = number(min_distance, "distance loop joint, min_distance", lowest=0.0)
        upper = number(max_distance, "distance loop joint, max_distance", lowest=lower, infinite=True)
        return self._add_equality(
            EqualityType.DISTANCE, parent, child, parent_xform, child_xform, (lower, upper), label
        )

    def _add_loop(self, kind, parent, child, axis, parent_xform, child_xform, label) -> int:
        data = () if axis is None else axis_vector(axis, f"loop joint {label!r}, axis")
        return self._add_equality(kind, parent, child, parent_xform, child_xform, data, label)

    def add_equality_connect(
        self, body0: int, body1: int, point0=(0, 0, 0), point1=(0, 0, 0), label: str | None = None
    ) -> int:
        """Hold a point of one body on a point of another; the points (m) are in the frames of their bodies."""
        xforms = ((*numbers(point, 3, "equality, point"), *NO_TURN) for point in (point0, point1))
        return self._add_equality(EqualityType.CONNECT, body0, body1, *xforms, (), label)

    def add_equality_weld(self, body0: int, body1: int, xform0=None, xform1=None, label: str | None = None) -> int:
        """Hold a frame of one body on a frame of another."""
        return self._add_equality(EqualityType.WELD, body0, body1, xform0, xform1, (), label)

    def add_equality_joint(
        self, joint0: int, joint1: int = -1, polynomial=(0, 1, 0, 0, 0), label: str | None = None
    ) -> int:
        """Hold q0 = a0 + a1 q1 + ... + a4 q1^4 between the coordinates of two joints (joint1 -1: q0 = a0).

        Both have one degree of freedom; ``polynomial``: up to five coefficients.
        """
        polynomial = numbers(polynomial, len(polynomial), "equality, polynomial")
        if len(polynomial) > 5:
            raise ModelError(f"has {len(polynomial)} coefficients; at most five", element="equality, polynomial")
        return self._add_equality(EqualityType.JOINT, joint0, joint1, None, None, polynomial, label)

    def _add_equality(self, kind, object0, object1, xform0, xform1, data, label) -> int:
        self._require_one_world("equality")
        label, auto = self._label("equality", label)
        for thing in (object0, object1):
            if not hasattr(thing, "__index__"):
                raise ModelError(f"joins {thing!r}; it must be an index", element=f"equality {label!r}")
        equality = Equality(
            label,
            auto,
            kind,
            int(object0),
            int(object1),
            pose(xform0, f"equality {label!r}, first frame"),
            pose(xform1, f"equality {label!r}, second frame"),
            (*data, *(0.0,) * (8 - len(data))),
        )
        check_equality(equality, self._elements)
        return self._append("equality", self._elements.equalities, equality)
