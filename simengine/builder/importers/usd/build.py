"""A Scene as elements of a builder: bodies, joints of the tree, loops, shapes and filters."""

from __future__ import annotations

import math
from itertools import product

import numpy as np

from simengine.builder.elements import WORLD
from simengine.builder.frames import IDENTITY, Pose, compose, inverse
from simengine.builder.importers.report import Notes
from simengine.builder.importers.usd.coordinates import coordinates
from simengine.builder.importers.usd.document import ANGULAR, LINEAR, Joint, Part, Scene
from simengine.builder.importers.usd.names import paths_above
from simengine.builder.importers.usd.reading import Reader
from simengine.builder.importers.usd.tree import Branch, Plan, turned_round
from simengine.builder.importers.zero_pose import ZeroPose
from simengine.enums import ShapeType

APART = 1e-4  # m or rad: bodies that stand further from where their joint holds them are told of
ROUNDED = 9  # decimals of m and rad that are told: what is beyond comes from rounding


class Build:
    """Puts a scene into a builder.

    Attributes:
        bodies, joints: index by path; shapes, on_body: indices by path of their prim, and of their body. tree: the
            joints of the tree by path, as built.
    """

    def __init__(self, builder, scene: Scene, reader: Reader):
        self.builder, self.scene, self.reader = builder, scene, reader
        self.notes: Notes = reader.notes
        self.bodies: dict[str, int] = {}
        self.joints: dict[str, int] = {}
        self.shapes: dict[str, list[int]] = {}
        self.on_body: dict[str, list[int]] = {}
        self.tree: dict[str, Joint] = {}

    def add_bodies(self, plan: Plan) -> None:
        """Add the bodies in the order of the file; those that joints hold are placed by these."""
        held = {branch.child for branch in plan.branches}
        for path, body in self.scene.bodies.items():
            velocity = None if path in held or body.kinematic else body.velocity
            if body.velocity is not None and velocity is None:
                reason = "a joint moves it (PhysicsJointStateAPI says how), or it is kinematic"
                self.notes.ignore("velocity", self.reader.place(path), reason)
            index = self.builder.add_body(
                None if path in held else body.pose,
                mass=body.mass.mass,
                com=body.mass.com,
                inertia=body.mass.inertia,
                velocity=velocity,
                kinematic=body.kinematic,
                label=body.label,
            )
            self.bodies[path] = index
            if body.weightless:
                self.builder.bodies[index].gravity_compensation = body.weightless
                self.notes.keep("disableGravity", self.reader.place(path), "gravity compensation is not simulated yet")

    def index(self, path: str) -> int:
        """Index of a body by path; the world's for ""."""
        return self.bodies[path] if path else WORLD

    # joints

    def add_joints(self, plan: Plan) -> None:
        """Add free joints of floating trees, the joints of the trees, and those that close loops."""
        taken = {joint.label for joint in self.scene.joints.values()}
        for path in plan.roots:
            body = self.scene.bodies[path]
            label = f"{body.label}_free"
            while label in taken:
                label += "_"
            self.builder.add_joint_free(WORLD, self.bodies[path], q=body.pose, label=label)
        for branch in plan.branches:
            self._add_branch(branch)
        for joint in plan.loops:
            self._add_loop(joint)
        for joint in plan.idle:
            self.notes.ignore("joint", self.reader.place(joint.path), "nothing that it joins can move")

    def _pose(self, path: str) -> Pose:
        return self.scene.bodies[path].pose if path else IDENTITY

    def _add_branch(self, branch: Branch) -> None:
        joint, exact = turned_round(branch.joint) if branch.reversed else (branch.joint, True)
        place = self.reader.place(joint.path)
        if not exact:
            reason = "body1 is the parent: its linear axes are taken in the frame on body1, not on body0"
            self.notes.note("warned", "joint", place, reason)
        frames = [
            compose(self._pose(path), frame)
            for path, frame in ((joint.body0, joint.frame0), (joint.body1, joint.frame1))
        ]
        relative = compose(inverse(frames[0]), frames[1])
        ends = (self.index(branch.parent), self.index(branch.child))
        options = {
            "parent_xform": joint.frame0,
            "child_xform": joint.frame1,
            "label": joint.label,
            "collide_with_parent": joint.collides,
        }
        self.tree[joint.path] = joint
        if joint.kind == "distance":
            index = self.builder.add_joint_distance(*ends, *joint.distance, q=relative, **options)
        elif joint.kind == "fixed":
            self._check_apart(joint, *coordinates([], relative)[1:])
            index = self.builder.add_joint_fixed(*ends, **options)
        else:
            index = self._add_moving(joint, ends, relative, options)
        self.joints[joint.path] = index
        for dof, axis in zip(self.builder.joints[index].dofs, joint.axes, strict=False):
            dof.label = axis.label

    def dof_of(self, path: str) -> tuple[int, int] | None:
        """The joint of a prim and its degree of freedom there; None where the prim is no joint of a tree."""
        path, label = self.scene.stacked.get(path, (path, ""))
        if path not in self.joints:
            return None
        names = [axis.label for axis in self.tree[path].axes]
        return self.joints[path], names.index(label) if label else 0

    def _add_moving(self, joint: Joint, ends: tuple[int, int], relative: Pose, options: dict) -> int:
        linear = [axis for axis in joint.axes if axis.kind == LINEAR]
        angular = [axis for axis in joint.axes if axis.kind == ANGULAR]
        columns = self._columns(joint)
        is_ball = joint.kind == "ball"
        start, distance, angle = coordinates(linear if is_ball else joint.axes, relative)
        if is_ball:
            start, angle = [*start, *relative[3:]], 0.0
        self._check_apart(joint, distance, angle)
        start = self._started(joint, start, is_ball)
        rates = [axis.rate for axis in joint.axes]
        if any(rate is not None for rate in rates):
            options["qd"] = [rate or 0.0 for rate in rates]
        options |= columns | {"q": start}
        add = self.builder
        if is_ball and not linear:
            return add.add_joint_ball(*ends, swing=joint.cone, **options)
        axes = {"linear_axes": [axis.axis for axis in linear]}
        if is_ball:
            return add.add_joint_d6(*ends, ball=True, **axes, **options)
        if len(joint.axes) == 1:
            kind = add.add_joint_revolute if angular else add.add_joint_prismatic
            return kind(*ends, axis=joint.axes[0].axis, **options)
        if len(angular) == 2 and not linear:
            return add.add_joint_universal(*ends, *(axis.axis for axis in angular), **options)
        return add.add_joint_d6(*ends, angular_axes=[axis.axis for axis in angular], **axes, **options)

    def _columns(self, joint: Joint) -> dict:
        """Keywords of all degrees of freedom, one value for each."""
        default = self.builder.default_joint
        names = {name for axis in joint.axes for name in axis.dof}
        columns = {
            name: [axis.dof.get(name, getattr(default, name, 0.0)) for axis in joint.axes] for name in sorted(names)
        }
        if joint.kind != "ball" or len(joint.axes) > 3:
            columns["limit_lower"] = [axis.lower for axis in joint.axes]
            columns["limit_upper"] = [axis.upper for axis in joint.axes]
        return columns

    def _started(self, joint: Joint, start: list[float], is_ball: bool) -> list[float]:
        """The coordinates with those that the file's joint state says."""
        place = self.reader.place(joint.path)
        for number, axis in enumerate(joint.axes):
            if is_ball and axis.kind == ANGULAR:
                if axis.position:
                    self.notes.ignore(f"state of {axis.name}", place, "the poses of the bodies say where a ball stands")
                continue
            if axis.position is not None:
                if abs(axis.position - start[number]) > APART:
                    reason = (
                        f"{axis.position:g} by its state, {start[number]:g} by its bodies' poses: the state is taken"
                    )
                    self.notes.note("warned", "start", place, reason)
                start[number] = axis.position
            slack = 1e-6 * (1.0 + abs(start[number]))
            if not axis.lower - slack <= start[number] <= axis.upper + slack:
                reason = f"{start[number]:g} is outside the limits {axis.lower:g} to {axis.upper:g}: kept"
                self.notes.note("warned", "start", place, reason)
        return start

    def _check_apart(self, joint: Joint, distance: float, angle: float) -> None:
        size = 1.0 + max(math.dist(frame[:3], (0.0, 0.0, 0.0)) for frame in (joint.frame0, joint.frame1))
        if distance > APART * size or angle > APART:
            off = f"{round(distance, ROUNDED):.3g} m and {round(angle, ROUNDED):.3g} rad"
            reason = f"its bodies stand {off} off from where it holds them: it decides"
            self.notes.note("warned", "poses", self.reader.place(joint.path), reason)

    def _add_loop(self, joint: Joint) -> None:
        add, place = self.builder, self.reader.place(joint.path)
        ends = (self.index(joint.body0), self.index(joint.body1))
        frames = {"parent_xform": joint.frame0, "child_xform": joint.frame1, "label": joint.label}
        if joint.equality == "connect":
            add.add_equality_connect(*ends, joint.frame0[:3], joint.frame1[:3], label=joint.label)
        elif joint.equality == "weld":
            add.add_equality_weld(*ends, joint.frame0, joint.frame1, label=joint.label)
        elif joint.kind == "fixed":
            add.add_loop_joint_fixed(*ends, **frames)
        elif joint.kind == "distance":
            add.add_loop_joint_distance(*ends, *joint.distance, **frames)
        elif joint.kind == "ball" and len(joint.axes) == 3:
            add.add_loop_joint_ball(*ends, **frames)
        elif len(joint.axes) == 1:
            kind = add.add_loop_joint_revolute if joint.axes[0].kind == ANGULAR else add.add_loop_joint_prismatic
            kind(*ends, axis=joint.axes[0].axis, **frames)
        else:
            self.notes.ignore(
                "joint", place, f"it closes a loop, which a joint of {len(joint.axes)} axes cannot do yet"
            )
            return
        for name, value in joint.softness.items():
            setattr(add.equalities[-1], name, value)
        if any(axis.limited or axis.driven for axis in joint.axes) or min(joint.cone) < math.inf:
            self.notes.ignore("limits and drive", place, "it closes a loop: such joints have none yet")

    def scale_drives(self) -> None:
        """Turn gains that are accelerations into forces: times the inertia that the drive alone meets, 1 / (M^-1)_ii.

        M is the mass matrix at the initial coordinates.
        """
        joints = [(path, joint) for path, joint in self.tree.items() if any(axis.accelerates for axis in joint.axes)]
        if not joints:
            return
        from simengine.dynamics import eval_mass_matrix

        zero = ZeroPose(self.builder)
        try:
            response = np.diagonal(np.linalg.inv(np.asarray(eval_mass_matrix(zero.model, zero.state))[0]))
        except np.linalg.LinAlgError:
            problem = "its drive is an acceleration, but the bodies have no inertia at the start: give them a mass"
            raise self.reader.place(joints[0][0]).error(problem) from None
        starts = np.concatenate([[0], np.cumsum([len(joint.dofs) for joint in self.builder.joints])])
        for path, joint in joints:
            index = self.joints[path]
            for number, axis in enumerate(joint.axes):
                if axis.accelerates:
                    dof, inertia = self.builder.joints[index].dofs[number], 1.0 / response[starts[index] + number]
                    if not 0.0 < inertia < math.inf:
                        problem = f"its drive is an acceleration, but the inertia that it meets is {inertia}"
                        raise self.reader.place(path).error(problem)
                    dof.target_ke *= inertia
                    dof.target_kd *= inertia
            reason = "an acceleration drive: its gains are times the inertia that it meets at the start"
            self.notes.note("defaulted", "drive", self.reader.place(path), reason)

    # shapes

    def add_shapes(self) -> None:
        """Add the shapes in the order of the file."""
        for part in self.scene.parts:
            index = self._add_shape(part)
            self.shapes.setdefault(part.path, []).append(index)
            self.on_body.setdefault(part.body, []).append(index)

    def _add_shape(self, part: Part) -> int:
        geometry, add = part.geometry, self.builder
        options = {
            "xform": geometry.frame,
            "density": 0.0,
            "material": part.material,
            "collides": part.collides,
            "visible": part.visible,
            "margin": part.margin,
            "gap": part.gap,
            "mix": part.mix,
            "label": part.label,
        }
        if part.color is not None:
            options["color"] = part.color
        body, size = self.index(part.body), geometry.size
        if geometry.type == ShapeType.MESH:
            return add.add_shape_mesh(body, geometry.mesh, **options)
        if geometry.type == ShapeType.CONVEX_HULL:
            return add.add_shape_convex_hull(body, geometry.mesh, **options)
        if geometry.type == ShapeType.PLANE:
            return add.add_shape_plane(body, *size[:2], **options)
        kinds = {
            ShapeType.BOX: (add.add_shape_box, 3),
            ShapeType.SPHERE: (add.add_shape_sphere, 1),
            ShapeType.ELLIPSOID: (add.add_shape_ellipsoid, 3),
            ShapeType.CAPSULE: (add.add_shape_capsule, 2),
            ShapeType.CYLINDER: (add.add_shape_cylinder, 2),
            ShapeType.CONE: (add.add_shape_cone, 2),
        }
        method, count = kinds[geometry.type]
        return method(body, *size[:count], **options)

    def add_filters(self, plan: Plan) -> None:
        """Filter the pairs that the file names, and those of bodies that a loop or a static prim is joined to."""
        self._filter_named()
        for one, two in self.scene.groups:
            self._filter(*([i for path in paths for i in self.shapes.get(path, ())] for paths in (one, two)))
        for articulation in self.scene.articulations:
            if not articulation.self_collision:
                members = [i for path in articulation.bodies for i in self._of_body(path)]
                self._filter(members, members)
        loops = {joint.path for joint in plan.loops}
        for joint in self.scene.joints.values():
            if not joint.collides:
                if joint.path in loops:
                    self._filter(self._of_body(joint.body0), self._of_body(joint.body1))
                for static in joint.statics:
                    self._filter(self.shapes.get(static, []), self._of_body(joint.body0 or joint.body1))

    def _filter_named(self) -> None:
        """Filter the pairs of prims that the file names."""
        named = {path for pair in self.scene.filters for path in pair}
        below: dict[str, list[int]] = {path: [] for path in named}
        for at, found in self.shapes.items():
            for path in (at, *paths_above(at)):
                if path in named:
                    below[path] += found
        articulations = {one.path: one for one in self.scene.articulations}

        def colliders(path: str) -> list[int]:
            """Shapes of a prim: of its body where it is one, of the bodies of an articulation, else those below it."""
            if path in self.scene.bodies:
                return self._of_body(path)
            if path in articulations:
                return [i for body in articulations[path].bodies for i in self._of_body(body)]
            return below[path]

        for one, two in self.scene.filters:
            self._filter(colliders(one), colliders(two))

    def _filter(self, one: list[int], two: list[int]) -> None:
        shapes = self.builder.shapes
        for first, second in product(one, two):
            both = (shapes[first], shapes[second])
            if both[0].body != both[1].body and all(shape.collides for shape in both):
                self.builder.add_shape_collision_filter_pair(first, second)

    def _of_body(self, path: str) -> list[int]:
        return self.on_body.get(path, []) if path else []
