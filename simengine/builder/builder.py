"""ModelBuilder: describes bodies, joints, shapes and worlds, and compiles them into a Model."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from math import inf
from typing import NamedTuple

import numpy as np

from simengine.builder import collapse, compose
from simengine.builder.elements import WORLD, Body, Elements, Equality, Joint, JointConfig, Shape, Site
from simengine.builder.finalize import assemble, choose_search
from simengine.builder.frames import IDENTITY, NO_TURN, quat_between
from simengine.builder.inertia import MESH_TYPES
from simengine.builder.joints import BALL_KINDS, XYZ, ball_limits, make_joint
from simengine.builder.masses import shape_masses
from simengine.builder.material import Material
from simengine.builder.mechanism_methods import MechanismMethods
from simengine.builder.mechanisms import HeightField
from simengine.builder.mesh_data import Mesh, as_mesh, convex_hull, surface_mesh
from simengine.builder.template import compile_template
from simengine.builder.validate import MASSLESS, check_body, check_equality, check_shape
from simengine.builder.values import AXES, each, flag, inertia_matrix, mask, number, numbers, pose, whole
from simengine.builder.values import axis as axis_vector
from simengine.enums import DofKind, EqualityType, JointType, ShapeType
from simengine.errors import ModelError, UnsupportedError, did_you_mean

EARTH = 9.81


class Offsets(NamedTuple):
    """Where the elements of a merged builder begin in the builder that took them in."""

    body: int
    joint: int
    shape: int
    site: int
    equality: int


class ModelBuilder(MechanismMethods):
    """A scene being described; ``finalize`` makes a Model of it.

    Methods return the index of what they add. SI units, radians; transforms are 7 numbers, position and quaternion
    (x, y, z, w); body -1 is the world; axes are "X", "-Y", ... or three numbers. A builder is one world until
    ``replicate`` or ``add_builder`` gives it worlds; then what it holds itself are static shapes that all worlds share.

    Joints take these keywords, one value for all degrees of freedom of the joint or one for each: ``limit_lower``,
    ``limit_upper`` (m or rad), ``limit_ke``, ``limit_kd`` (SI stiffness and damping of the limits) or
    ``limit_reference``, ``limit_impedance``; ``limit_margin``; ``target_pos``, ``target_vel``, ``target_ke``,
    ``target_kd`` (drive), ``effort_limit`` (of the drive), ``velocity_limit``; ``armature``, ``damping``,
    ``stiffness`` and ``spring_ref``; ``friction`` (dry, N or N m), ``friction_reference``, ``friction_impedance``.
    Besides: ``parent_xform``, ``child_xform`` (joint frame on each body), ``q``, ``qd`` (initial coordinates and
    rates), ``collide_with_parent`` (default False) and ``label``. Where a keyword is left out,
    ``builder.default_joint`` (a JointConfig) gives the value; free and distance joints take zero.

    Shapes take ``xform`` (pose on the body); ``density`` (kg/m3, default ``builder.default_density``) or ``mass`` (kg);
    ``thickness`` (m: a hollow shape, a shell of that thickness); ``material`` (default ``builder.default_material``);
    ``collides``, ``visible``; ``margin``, ``gap`` (m); ``collision_group`` (default -1, which meets every group; two
    other groups do not meet); ``contype``, ``conaffinity`` (bits; two shapes may touch where a bit of the one's
    contype is in the other's conaffinity); ``mix`` (weight of its compliance in a pair's); ``color`` (red, green,
    blue, opacity) and ``label``.

    All raise ModelError, naming the element, for values that cannot be; what concerns several elements is checked by
    ``finalize``. Labels are unique among elements of one kind of a world; where none is given one is made.
    """

    def __init__(self, up_axis: str = "Z", gravity: float | Sequence[float] | None = None):
        """``gravity`` (m/s2): along the up axis (negative is down), or a vector; default -9.81."""
        if up_axis not in AXES:
            raise ModelError(f'up_axis is {up_axis!r}; it must be "X", "Y" or "Z"')
        self.up_axis = up_axis
        self.default_material = Material()
        self.default_joint = JointConfig()
        self.default_density = 1000.0
        self._elements = Elements()
        self._labels: dict[str, set[str]] = {}
        self._given_gravity = None
        if gravity is not None:
            self.gravity = gravity
        self._templates: dict[tuple, int] = {}  # (content, gravity) of each distinct world, and its number
        self._template_elements: list[tuple[Elements, tuple | None]] = []
        self._runs: list[tuple[int, int]] = []  # (template, how many worlds), in order
        self._prefixes: dict[int, str] = {}
        self._offsets: list[np.ndarray] = []  # of each run: where viewers show its worlds (worlds, 3)

    @property
    def gravity(self) -> tuple[float, ...]:
        """Acceleration of gravity (3,) in m/s2, world axes; may be set to a number along the up axis or a vector.

        Worlds of a template take the template's where it was set there, else that of the builder they are added to.
        """
        return self._given_gravity or tuple(-EARTH * x if x else 0.0 for x in AXES[self.up_axis])

    @gravity.setter
    def gravity(self, value) -> None:
        if hasattr(value, "__len__"):
            self._given_gravity = numbers(value, 3, "gravity")
        else:
            strength = number(value, "gravity")
            self._given_gravity = tuple(strength * x if x else 0.0 for x in AXES[self.up_axis])

    @property
    def bodies(self) -> list[Body]:
        """The bodies of this builder's own world; their fields may be changed until ``finalize``."""
        return self._elements.bodies

    @property
    def joints(self) -> list[Joint]:
        """The joints of this builder's own world; their fields may be changed until ``finalize``."""
        return self._elements.joints

    @property
    def shapes(self) -> list[Shape]:
        """The shapes of this builder's own world (or the shared static ones); their fields may be changed."""
        return self._elements.shapes

    @property
    def sites(self) -> list[Site]:
        """The sites of this builder's own world; their fields may be changed until ``finalize``."""
        return self._elements.sites

    @property
    def equalities(self) -> list[Equality]:
        """The equality constraints and loop joints of this builder's own world."""
        return self._elements.equalities

    @property
    def world_count(self) -> int:
        """Worlds that were added; 0 for a builder that is one world itself."""
        return sum(count for _, count in self._runs)

    # bodies and sites

    def add_body(
        self,
        xform=None,
        *,
        mass: float | None = None,
        com=None,
        inertia=None,
        velocity=None,
        kinematic: bool = False,
        label: str | None = None,
    ) -> int:
        """Add a rigid body; without a joint it floats freely from ``xform`` (pose of the body frame in the world).

        ``inertia`` ((3, 3) or its diagonal, kg m2): about the centre of mass ``com`` (m), in the axes of the body; with
        it ``mass`` (kg) is needed and shapes add nothing. ``mass`` alone: the distribution is that of the shapes.
        Neither: mass, centre and inertia are those of the shapes. ``velocity`` (6): of the centre of mass, then
        angular, world axes, for a floating body. ``kinematic``: follows ``control.kinematic_q``, moved by nothing.
        """
        self._require_one_world("body")
        label, auto = self._label("body", label)
        what = f"body {label!r}"
        body = Body(
            label,
            auto,
            xform=None if xform is None else pose(xform, f"{what}, xform"),
            velocity=None if velocity is None else numbers(velocity, 6, f"{what}, velocity"),
            mass=None if mass is None else number(mass, f"{what}, mass", lowest=0.0),
            com=None if com is None else numbers(com, 3, f"{what}, com"),
            inertia=None if inertia is None else inertia_matrix(inertia, f"{what}, inertia"),
            kinematic=flag(kinematic, f"{what}, kinematic"),
        )
        check_body(body)
        return self._append("body", self._elements.bodies, body)

    def add_site(self, body: int, xform=None, label: str | None = None) -> int:
        """Add a named frame on a body (-1: the world); ``xform``: its pose there."""
        self._require_one_world("site")
        self._require_body(body, "site, body")
        label, auto = self._label("site", label)
        site = Site(label, auto, body, pose(xform, f"site {label!r}, xform"))
        return self._append("site", self._elements.sites, site)

    # joints

    def add_joint_revolute(self, parent: int, child: int, axis="Z", **options) -> int:
        """Add a hinge: the child turns about ``axis`` of the joint frame. Keywords: see the class."""
        return self._add_joint(JointType.REVOLUTE, parent, child, (axis,), (DofKind.ANGULAR,), options)

    def add_joint_prismatic(self, parent: int, child: int, axis="Z", **options) -> int:
        """Add a slider: the child moves along ``axis`` of the joint frame. Keywords: see the class."""
        return self._add_joint(JointType.PRISMATIC, parent, child, (axis,), (DofKind.LINEAR,), options)

    def add_joint_universal(self, parent: int, child: int, axis0="X", axis1="Y", **options) -> int:
        """Add two successive hinges: about ``axis0``, then about ``axis1`` in the frame so turned."""
        return self._add_joint(JointType.UNIVERSAL, parent, child, (axis0, axis1), (DofKind.ANGULAR,) * 2, options)

    def add_joint_ball(
        self, parent: int, child: int, swing=None, twist=None, angle_limit: float | None = None, **options
    ) -> int:
        """Add a ball joint: coordinates a quaternion, rates the child's angular velocity in the parent's joint frame.

        Limits (rad): ``swing`` (about y, about z), ``twist`` (lower, upper, about x), ``angle_limit`` (of the whole
        rotation, as MJCF's range). Other keywords: see the class; three values, along x, y, z.
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

    # shapes

    def add_shape_plane(self, body: int = WORLD, hx: float = 0.0, hy: float = 0.0, **options) -> int:
        """Add a plane with normal +Z of its frame; half sizes in m, 0 endless. It has no mass."""
        return self._add_shape(ShapeType.PLANE, body, (hx, hy, 0.0), **options)

    def add_ground_plane(self, height: float = 0.0, **options) -> int:
        """Add an endless plane of the world across the up axis, at ``height`` (m)."""
        up = AXES[self.up_axis]
        height = number(height, "ground plane, height")
        options.setdefault("label", None if "ground" in self._labels.get("shape", ()) else "ground")
        xform = (*(height * x for x in up), *quat_between(AXES["Z"], up))
        return self.add_shape_plane(WORLD, xform=xform, **options)

    def add_shape_sphere(self, body: int, radius: float, **options) -> int:
        """Add a sphere; ``radius`` in m."""
        return self._add_shape(ShapeType.SPHERE, body, (radius, 0.0, 0.0), **options)

    def add_shape_box(self, body: int, hx: float, hy: float, hz: float, **options) -> int:
        """Add a box; half extents in m."""
        return self._add_shape(ShapeType.BOX, body, (hx, hy, hz), **options)

    def add_shape_capsule(self, body: int, radius: float, half_height: float, **options) -> int:
        """Add a capsule along Z; ``half_height`` (m) is that of the cylinder, without the caps."""
        return self._add_shape(ShapeType.CAPSULE, body, (radius, half_height, 0.0), **options)

    def add_shape_cylinder(self, body: int, radius: float, half_height: float, **options) -> int:
        """Add a cylinder along Z; radius and half height in m."""
        return self._add_shape(ShapeType.CYLINDER, body, (radius, half_height, 0.0), **options)

    def add_shape_cone(self, body: int, radius: float, half_height: float, **options) -> int:
        """Add a cone along Z: base at -half_height, apex at +half_height (m)."""
        return self._add_shape(ShapeType.CONE, body, (radius, half_height, 0.0), **options)

    def add_shape_ellipsoid(self, body: int, a: float, b: float, c: float, **options) -> int:
        """Add an ellipsoid; semi-axes along x, y, z in m."""
        return self._add_shape(ShapeType.ELLIPSOID, body, (a, b, c), **options)

    def add_shape_mesh(self, body: int, mesh, scale=(1.0, 1.0, 1.0), **options) -> int:
        """Add a triangle mesh: a Mesh, or (vertices, triangles). ``scale``: a factor for each axis, or one for all.

        For a mass it must be closed, or have a ``thickness``, or the body must be given its mass and inertia.
        """
        mesh = as_mesh(mesh, options.get("label") or "mesh")
        return self._add_shape(ShapeType.MESH, body, each(scale, 3, "mesh, scale"), mesh, **options)

    def add_shape_convex_hull(self, body: int, points, scale=(1.0, 1.0, 1.0), **options) -> int:
        """Add the convex hull of points (n, 3), which needs SciPy (extra ``meshes``), or of a Mesh.

        Of a Mesh the triangles are kept for viewers; what collides and weighs is the hull of its vertices.
        """
        mesh = points if isinstance(points, Mesh) else convex_hull(points, options.get("label") or "convex hull")
        return self._add_shape(ShapeType.CONVEX_HULL, body, each(scale, 3, "convex hull, scale"), mesh, **options)

    def add_shape_heightfield(self, body: int, heights, hx: float, hy: float, base: float = 0.0, **options) -> int:
        """Add a height field: ``heights`` (rows along y, columns along x; m), a table of numbers or a HeightField.

        It spans -hx to hx and -hy to hy (m) about the shape's origin; below the surface it is solid down to ``base``
        (m, positive) under height 0. It has no mass.
        """
        field = heights if isinstance(heights, HeightField) else HeightField(heights, options.get("label") or "heights")
        size = (hx, hy, number(base, "height field, base", lowest=0.0))
        return self._add_shape(
            ShapeType.HEIGHTFIELD, body, size, surface_mesh(field, hx, hy), heightfield=field, **options
        )

    def add_shape_sdf(self, body: int, sdf, voxel: float | None = None, **options) -> int:
        """Add a solid given by a distance field, negative inside: a ``sim.collision.SDF``, in the shape's frame.

        With ``voxel`` (m) a field of that resolution is made of a primitive (``SDF.box(...)`` and its like), a closed
        Mesh, or (vertices, triangles). It collides as the field says, linear between nodes; viewers, rays and files see
        the triangles of its surface (marching cubes), from which the mass follows. The surface must not leave the grid.
        """
        from simengine.builder.distance_field import FieldMesh, field_mesh

        mesh = sdf if isinstance(sdf, FieldMesh) else field_mesh(sdf, voxel, options.get("label") or "sdf")
        return self._add_shape(ShapeType.SDF, body, (1.0, 1.0, 1.0), mesh, **options)

    def _add_shape(
        self,
        kind: ShapeType,
        body: int,
        size,
        mesh: Mesh | None = None,
        heightfield: HeightField | None = None,
        **options,
    ) -> int:
        known = self._add_known_shape.__kwdefaults__
        for name in options:
            if name not in known:
                what = f"a {kind.name.lower()} has no {name!r}{did_you_mean(name, known)}"
                raise ModelError(f"{what}; shapes take {', '.join(known)}", element="shape")
        return self._add_known_shape(kind, body, size, mesh, heightfield, **options)

    def _add_known_shape(
        self,
        kind: ShapeType,
        body: int,
        size,
        mesh: Mesh | None,
        heightfield: HeightField | None,
        *,
        xform=None,
        density: float | None = None,
        mass: float | None = None,
        thickness: float | None = None,
        material: Material | None = None,
        collides: bool = True,
        visible: bool = True,
        margin: float = 0.0,
        gap: float = 0.0,
        collision_group: int = -1,
        contype: int = 1,
        conaffinity: int = 1,
        mix: float = 1.0,
        color=(0.7, 0.7, 0.7, 1.0),
        label: str | None = None,
    ) -> int:
        label, auto = self._label("shape", label)
        what = f"shape {label!r}"
        self._require_shape_options(what, body, density, mass, material)
        default = 0.0 if kind in MASSLESS else self.default_density
        color = numbers(color, 3 if np.shape(color) == (3,) else 4, f"{what}, color")
        shape = Shape(
            label,
            auto,
            kind,
            int(body),
            pose(xform, f"{what}, xform"),
            numbers(size, 3, f"{what}, size"),
            mesh,
            heightfield,
            density=number(default if density is None else density, f"{what}, density", lowest=0.0),
            mass=None if mass is None else number(mass, f"{what}, mass", lowest=0.0),
            thickness=None if thickness is None else number(thickness, f"{what}, thickness", positive=True),
            material=material or self.default_material,
            collides=flag(collides, f"{what}, collides"),
            visible=flag(visible, f"{what}, visible"),
            margin=number(margin, f"{what}, margin"),
            gap=number(gap, f"{what}, gap"),
            group=whole(collision_group, f"{what}, collision_group"),
            contype=mask(contype, f"{what}, contype"),
            conaffinity=mask(conaffinity, f"{what}, conaffinity"),
            mix=number(mix, f"{what}, mix", lowest=0.0),
            color=(*color, 1.0) if len(color) == 3 else color,
        )
        check_shape(shape)
        if kind in MESH_TYPES and body != WORLD and self._elements.bodies[body].inertia is None:
            shape_masses(shape)
        return self._append("shape", self._elements.shapes, shape)

    def _require_shape_options(self, what: str, body: int, density, mass, material) -> None:
        if self._runs and body != WORLD:
            raise ModelError("is on a body, but bodies are in worlds only; add it to the template", element=what)
        self._require_body(body, f"{what}, body")
        if density is not None and mass is not None:
            raise ModelError("has both density and mass; give one of them", element=what)
        if material is not None and not isinstance(material, Material):
            raise ModelError(f"is {material!r}; it must be a Material", element=f"{what}, material")

    def add_shape_collision_filter_pair(self, shape0: int, shape1: int) -> None:
        """Let two shapes of this builder never touch."""
        pair = (min(shape0, shape1), max(shape0, shape1))
        count = len(self._elements.shapes)
        if shape0 == shape1 or pair[0] < 0 or pair[1] >= count:
            raise ModelError(
                f"names shapes {shape0} and {shape1}; give two different ones below {count}",
                element="shape collision filter",
            )
        self._elements.filters.add(pair)

    def filter_shapes(self, shapes: Sequence[int]) -> None:
        """Let none of these shapes touch another of them (a robot without self-collision)."""
        shapes = np.array(list(shapes), int)
        for shape0, shape1 in itertools.pairwise(np.sort(shapes)):
            self.add_shape_collision_filter_pair(int(shape0), int(shape1))
        first, second = (shapes[i] for i in np.triu_indices(len(shapes), 1))
        low, high = np.minimum(first, second), np.maximum(first, second)
        self._elements.filters.update(zip(low.tolist(), high.tolist(), strict=True))

    # other builders and worlds

    def merge_builder(
        self, other: ModelBuilder, xform=None, label_prefix: str | None = None, self_collision: bool = True
    ) -> Offsets:
        """Add all elements of another builder to this builder's own world.

        ``xform`` moves them; ``label_prefix`` stands before their labels with a "/"; without ``self_collision`` their
        shapes do not touch one another. Returns where their indices begin here.
        """
        if other is self:
            raise ModelError("merge_builder: a builder cannot take in itself; make another")
        self._require_mergeable(other, "merge_builder")
        moved = compose.moved(other._elements, pose(xform, "merge_builder, xform"))
        if moved.bodies or moved.joints or moved.sites or moved.equalities:
            self._require_one_world("body")
        compose.rename(moved, label_prefix, self._labels)
        offsets = Offsets(
            *(len(of_kind) for of_kind in (self.bodies, self.joints, self.shapes, self.sites, self.equalities))
        )
        compose.append(self._elements, moved)
        if not self_collision:
            self.filter_shapes(range(offsets.shape, len(self.shapes)))
        return offsets

    def add_builder(self, other: ModelBuilder, xform=None, label_prefix: str | None = None) -> int:
        """Add another builder as a new world; returns its number.

        ``xform`` moves what it holds; ``label_prefix`` stands before its labels with a "/". Bodies of different worlds
        never meet. The other builder is copied: later changes to it do not show.
        """
        world = self._add_worlds(other, 1, pose(xform, "add_builder, xform"), "add_builder")
        if label_prefix:
            self._prefixes[world] = f"{label_prefix}/"
        return world

    def replicate(self, template: ModelBuilder, count: int, spacing: float = 0.0) -> int:
        """Add ``count`` worlds like ``template``; returns the number of the first.

        Every copy starts where the template does; labels are those of the template, in each world. ``spacing`` (m) is
        for viewers alone, which show the copies on a square grid (``model.world_offset``). The template is copied:
        later changes to it do not show.
        """
        number(count, "replicate, count")
        if int(count) != count or count < 1:
            raise ModelError(f"replicate: count is {count!r}; it must be a whole number of 1 or more")
        spacing = number(spacing, "replicate, spacing", lowest=0.0)
        first = self._add_worlds(template, int(count), IDENTITY, "replicate")
        self._offsets[-1] = compose.grid(int(count), spacing, self.up_axis)
        return first

    def _add_worlds(self, other: ModelBuilder, count: int, xform, caller: str) -> int:
        if other is self:
            raise ModelError(f"{caller}: a builder cannot hold itself; make another for the worlds")
        self._require_mergeable(other, caller)
        for kind, own in (
            ("bodies", self.bodies),
            ("joints", self.joints),
            ("sites", self.sites),
            ("equalities", self.equalities),
        ):
            if own:
                raise ModelError(
                    f"{caller}: this builder holds {kind} itself ({own[0].label!r}); a builder of worlds "
                    "holds static shapes alone, so move them into a template"
                )
        elements = compose.moved(other._elements, xform)
        content = (elements.key(), other._given_gravity)
        known = self._templates.setdefault(content, len(self._template_elements))
        if known == len(self._template_elements):
            self._template_elements.append((elements, other._given_gravity))
        world = self.world_count
        self._runs.append((known, count))
        self._offsets.append(np.zeros((count, 3)))
        return world

    def _require_mergeable(self, other: ModelBuilder, caller: str) -> None:
        if not isinstance(other, ModelBuilder):
            raise ModelError(f"{caller}: got a {type(other).__name__}; it takes a ModelBuilder")
        if other._runs:
            raise ModelError(f"{caller}: the other builder has {other.world_count} worlds itself; add their templates")
        if other.up_axis != self.up_axis:
            raise ModelError(f"{caller}: up_axis is {self.up_axis!r} here and {other.up_axis!r} there; make both alike")

    def collapse_fixed_joints(self, keep: Sequence[int] = ()) -> dict[int, int]:
        """Merge each body that a fixed joint holds into its parent; joints in ``keep`` (indices) stay.

        Shapes, sites and joints move with it, mass and inertia add up by the parallel axis theorem, and pairs of shapes
        that did not touch before do not after. Bodies and joints are renumbered. Returns the new index of each body
        (-1: it became part of the world) by its old one.
        """
        elements = self._elements.copy()
        mapping = collapse.collapse_fixed_joints(elements, keep)
        self._elements = elements
        self._labels["body"] = {body.label for body in self.bodies}
        self._labels["joint"] = {joint.label for joint in self.joints}
        return mapping

    # files

    def add_urdf(self, path, **options):
        """Add a robot from a URDF file; returns an ImportReport. Options: those of ``UrdfOptions``."""
        from simengine.builder.importers.front import import_file

        return import_file(self, "urdf", path, options)

    def add_mjcf(self, path, **options):
        """Add what an MJCF file describes; returns an ImportReport. Options: those of ``MjcfOptions``."""
        from simengine.builder.importers.front import import_file

        return import_file(self, "mjcf", path, options)

    def add_usd(self, source, **options):
        """Add what a USD file or stage describes; returns an ImportReport. Options: those of ``UsdOptions``."""
        from simengine.builder.importers.front import import_file

        return import_file(self, "usd", source, options)

    def __getattr__(self, name: str):
        raise AttributeError(f"ModelBuilder has no {name!r}{did_you_mean(name, dir(type(self)))}")

    # compiling

    def finalize(
        self,
        device=None,
        precision: str = "float32",
        requires_grad: bool = False,
        seed: int = 0,
        broad_phase: str | None = None,
    ):
        """Check everything and make a Model on ``device`` ("cuda:0" where there is a GPU, else "cpu").

        ``precision``: "float32" or "float64". ``seed``: of the worlds' random numbers. Worlds of equal structure form a
        batch group. ``broad_phase``: "pairs" lists the pairs of shapes that may touch, which small worlds do; "bvh" and
        "dense" search for them at each ``collide``, in trees of boxes or by comparing all boxes of a world; None
        searches where a world has more than 200,000 such pairs, in the quicker way. All find the same contacts, in the
        same order and bits. The builder stays as it is and can be used again. Raises
        ModelError naming the element that is wrong, UnsupportedError for ``requires_grad``, which no solver serves yet.
        """
        if requires_grad:
            raise UnsupportedError(
                "gradients are not there yet; finalize with requires_grad=False", property="requires_grad"
            )
        if precision not in ("float32", "float64"):
            raise ModelError(f'precision is {precision!r}; it must be "float32" or "float64"')
        self._warn_of_kept()
        named = isinstance(broad_phase, str) and broad_phase in ("pairs", "bvh", "dense")
        if broad_phase is not None and not named:
            raise ModelError(f'broad_phase is {broad_phase!r}; it must be "pairs", "bvh", "dense" or None')
        model = self._model(device, precision, seed, broad_phase)
        model.update()
        return model

    def _model(self, device, precision: str, seed: int, broad_phase: str | None = None):
        """The model without its inverse weights, which ``Model.update`` computes."""
        from simengine.model import Model
        from simengine.runtime.devices import get_device

        device = get_device(device)
        data = self._assemble(precision, seed, broad_phase)
        if data.broad_phase == "search":
            data.broad_phase = choose_search(data.arrays, device.is_cuda)
        return Model(
            data.arrays,
            data.labels,
            data.topologies,
            device,
            precision,
            up_axis=self.up_axis,
            unsupported_pairs=data.unsupported_pairs,
            world_offset=np.concatenate(self._offsets) if self._offsets else None,
            broad_phase=data.broad_phase,
        )

    def _assemble(self, precision: str, seed: int, broad_phase: str | None = None):
        """The host arrays of the model (ModelData)."""
        if not self._runs:
            template = compile_template(self._elements, (), self.gravity, broad_phase)
            return assemble([template], np.zeros(1, int), {}, (), precision, seed)
        templates = [
            compile_template(elements, self.shapes, gravity or self.gravity, broad_phase)
            for elements, gravity in self._template_elements
        ]
        numbers, counts = zip(*self._runs, strict=True)
        return assemble(templates, np.repeat(numbers, counts), self._prefixes, self.shapes, precision, seed)

    # names and references

    def _label(self, kind: str, label: str | None) -> tuple[str, bool]:
        """The label to use, and whether it was made here; ModelError where it is taken."""
        taken = self._labels.setdefault(kind, set())
        if label is not None:
            if not isinstance(label, str) or not label:
                raise ModelError(f"is {label!r}; it must be a string, not empty", element=f"{kind} label")
            if label in taken:
                raise ModelError(
                    "is taken; labels of one kind must differ in a world", element=f"{kind} label {label!r}"
                )
            return label, False
        index = len(taken)
        while f"{kind}_{index}" in taken:
            index += 1
        return f"{kind}_{index}", True

    def _append(self, kind: str, elements: list, element) -> int:
        self._labels[kind].add(element.label)
        elements.append(element)
        return len(elements) - 1

    def _require_one_world(self, kind: str) -> None:
        if self._runs:
            raise ModelError(
                f"a {kind} must be in a world, and this builder holds {self.world_count} of them; add it to "
                "the template, or as a world by add_builder"
            )

    def _require_body(self, body: int, what: str, world: bool = True) -> None:
        count = len(self._elements.bodies)
        if not hasattr(body, "__index__"):
            raise ModelError(f"is {body!r}; it must be the index that add_body returned", element=what)
        if not (0 <= body < count or (world and body == WORLD)):
            or_world = ", -1 for the world" if world else ""
            raise ModelError(f"is {body}; there are {count} bodies, counted from 0{or_world}", element=what)
