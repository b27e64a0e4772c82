"""A checked URDF as elements of a builder: bodies, shapes, joints, joint equalities and loop joints."""

from __future__ import annotations

from dataclasses import replace

from simengine.builder.elements import WORLD
from simengine.builder.frames import IDENTITY, Pose, compose, inverse, quat_between, quat_rotate
from simengine.builder.importers.report import ImportReport, Notes
from simengine.builder.importers.urdf.document import HINGES, Joint, Robot
from simengine.builder.importers.urdf.geometry import LinkShapes, LoadedShape, scaled_pose
from simengine.builder.inertia import MassProperties
from simengine.builder.mesh_data import convex_hull
from simengine.builder.meshes.decompose import decompose
from simengine.enums import EqualityType, ShapeType
from simengine.errors import ModelError

AXIS_Z = (0.0, 0.0, 1.0)
MOST_PAIRS = 1_000_000  # that a file may keep from touching


def add_links(
    builder,
    robot: Robot,
    shapes: dict[str, LinkShapes],
    masses: dict[str, MassProperties],
    collision_meshes: str,
) -> dict[str, int]:
    """Add a body with its shapes for each link, in the order of the file; body index by link name."""
    apart: list[int] = []  # shapes of links that do not meet the rest of the robot
    first = len(builder.shapes)
    bodies = {}
    for name in robot.links:
        own = masses[name]
        body = builder.add_body(mass=own.mass, com=own.com, inertia=own.inertia, label=name)
        bodies[name] = body
        builder.bodies[body].gravity_compensation = float(robot.links[name].weightless)
        for shape in shapes[name].visuals:
            _add_shape(builder, body, shape, collides=False, visible=True, label=shape.label)
        # what collides is shown where there is nothing else to show
        options = {"collides": True, "visible": not shapes[name].visuals}
        if robot.links[name].surface:
            options["material"] = replace(builder.default_material, **robot.links[name].surface)
        before = len(builder.shapes)
        for shape in shapes[name].collisions:
            _add_collision(builder, body, shape, collision_meshes, options)
        if not robot.links[name].self_collision:
            apart += range(before, len(builder.shapes))
    _filter(builder, robot, apart, range(first, len(builder.shapes)))
    return bodies


def _filter(builder, robot: Robot, apart: list[int], shapes: range) -> None:
    if len(apart) * len(shapes) > MOST_PAIRS:
        raise robot.element.error(
            f"selfCollide is false for {len(apart)} of {len(shapes)} shapes, more than {MOST_PAIRS} pairs: remove it, "
            "and give self_collision=False"
        )
    for one in apart:
        for other in shapes:
            if other != one and builder.shapes[other].collides:
                builder.add_shape_collision_filter_pair(one, other)


def _add_collision(builder, body: int, shape: LoadedShape, collision_meshes: str, options: dict) -> None:
    """A collision, a mesh in the form that the option asks for."""
    if shape.type != ShapeType.MESH or collision_meshes == "mesh":
        _add_shape(builder, body, shape, label=shape.label, **options)
        return
    try:
        parts = [shape.mesh] if collision_meshes == "hull" else decompose(shape.mesh)
        for number, part in enumerate(parts):
            convex_hull(part.vertices, part.label)  # refused here, with its place in the file, where it is flat
            # a mesh that turned out to be convex is one part, and keeps its name
            label = shape.label if len(parts) == 1 else f"{shape.label}/{number}"
            builder.add_shape_convex_hull(body, part, label=label, xform=shape.frame, density=0.0, **options)
    except ModelError as error:
        raise shape.source.geometry.element.error(str(error)) from None


def _add_shape(builder, body: int, shape: LoadedShape, **options) -> None:
    options |= {"xform": shape.frame, "density": 0.0}
    if shape.source.color is not None:
        options["color"] = shape.source.color
    if shape.type == ShapeType.MESH:
        builder.add_shape_mesh(body, shape.mesh, **options)
    elif shape.type == ShapeType.BOX:
        builder.add_shape_box(body, *shape.size, **options)
    elif shape.type == ShapeType.SPHERE:
        builder.add_shape_sphere(body, shape.size[0], **options)
    elif shape.type == ShapeType.CYLINDER:
        builder.add_shape_cylinder(body, *shape.size[:2], **options)
    elif shape.size[1] == 0.0:  # a capsule without its cylinder
        builder.add_shape_sphere(body, shape.size[0], **options)
    else:
        builder.add_shape_capsule(body, *shape.size[:2], **options)


def add_root_joint(builder, robot: Robot, body: int, pose: Pose, floating: bool) -> None:
    """Join the root link to the world at ``pose``; before all other joints, so that a floating base comes first."""
    label = f"{robot.root}_{'free' if floating else 'fixed'}"
    while label in robot.joints:
        label += "_"
    if floating:
        builder.add_joint_free(WORLD, body, q=pose, label=label)
    else:
        builder.add_joint_fixed(WORLD, body, parent_xform=pose, label=label)


def add_joints(builder, robot: Robot, bodies: dict[str, int], scale: float, velocity_limits: bool) -> dict[str, int]:
    """Add the joints in the order of the file; joint index by name."""
    return {name: _add_joint(builder, joint, bodies, scale, velocity_limits) for name, joint in robot.joints.items()}


def _add_joint(builder, joint: Joint, bodies: dict[str, int], scale: float, velocity_limits: bool) -> int:
    ends = (bodies[joint.parent], bodies[joint.child])
    options: dict = {"parent_xform": scaled_pose(joint.frame, scale), "label": joint.name}
    if joint.kind == "fixed":
        return builder.add_joint_fixed(*ends, **options)
    if joint.kind == "floating":
        return builder.add_joint_free(*ends, **options)
    given = {"damping": joint.damping, "friction": joint.friction, "effort_limit": joint.effort}
    options |= {name: value for name, value in given.items() if value is not None} | joint.spring
    if joint.kind == "planar":
        if velocity_limits and joint.velocity is not None:
            options["velocity_limit"] = (joint.velocity * scale, joint.velocity * scale, joint.velocity)
        # the plane is at right angles to the axis; the child may also turn in it
        turn = quat_between(AXIS_Z, joint.axis)
        plane = (quat_rotate(turn, (1.0, 0.0, 0.0)), quat_rotate(turn, (0.0, 1.0, 0.0)))
        return builder.add_joint_d6(*ends, linear_axes=plane, angular_axes=(joint.axis,), **options)
    unit = 1.0 if joint.kind in HINGES else scale
    if "spring_ref" in options:
        options["spring_ref"] *= unit
    options |= {"axis": joint.axis, "limit_lower": joint.lower * unit, "limit_upper": joint.upper * unit}
    if velocity_limits and joint.velocity is not None:
        options["velocity_limit"] = joint.velocity * unit
    if joint.kind in HINGES:
        return builder.add_joint_revolute(*ends, **options)
    return builder.add_joint_prismatic(*ends, **options)


def add_mimics(builder, robot: Robot, joints: dict[str, int], scale: float, report: ImportReport) -> None:
    """Describe each mimic joint as a joint equality q = offset + multiplier * q of its leader."""
    for name, joint in robot.joints.items():
        if joint.mimic is None:
            continue
        unit = 1.0 if joint.kind in HINGES else scale
        leader_unit = 1.0 if robot.joints[joint.mimic.joint].kind in HINGES else scale
        multiplier, offset = joint.mimic.multiplier * unit / leader_unit, joint.mimic.offset * unit
        label = f"{name}_mimic"
        builder.add_equality_joint(joints[name], joints[joint.mimic.joint], (offset, multiplier), label=label)
        report.mimics.append((name, joint.mimic.joint, multiplier, offset))


def add_loops(builder, robot: Robot, bodies: dict[str, int], scale: float) -> None:
    """Close each loop where the bodies stand when all coordinates are zero."""
    poses = _zero_poses(robot, scale)
    for loop in robot.loops:
        child_xform = scaled_pose(loop.frame, scale)
        parent_xform = compose(inverse(poses[loop.parent]), compose(poses[loop.child], child_xform))
        options = {"parent_xform": parent_xform, "child_xform": child_xform, "label": loop.name}
        if loop.kind in ("revolute", "prismatic"):
            options["axis"] = loop.axis
        getattr(builder, f"add_loop_joint_{loop.kind}")(bodies[loop.parent], bodies[loop.child], **options)


def _zero_poses(robot: Robot, scale: float) -> dict[str, Pose]:
    """The pose of each link in the root link where all coordinates are zero."""
    above = robot.parent_joint()
    poses = {robot.root: IDENTITY}
    for name in robot.links:
        path = []
        while name not in poses:
            path.append(name)
            name = above[name].parent
        for child in reversed(path):
            joint = above[child]
            poses[child] = compose(poses[joint.parent], scaled_pose(joint.frame, scale))
    return poses


def keep_safety(builder, robot: Robot) -> None:
    """The values of each ``<safety_controller>`` as (joint/safety_controller, ((name, value), ...)) for the user."""
    kept = [(f"{joint.name}/safety_controller", tuple(joint.safety.items())) for joint in robot.joints.values()
            if joint.safety]  # fmt: skip
    builder.custom = (*builder.custom, *kept)


def start_within_limits(builder, robot: Robot, notes: Notes) -> None:
    """Start each coordinate at 0, or at the limit nearer to it; one that mimics where its leader has it."""
    made = {joint.label: joint for joint in builder.joints}
    for name, joint in robot.joints.items():
        if len(made[name].dofs) == 1 and joint.mimic is None:
            (dof,) = made[name].dofs
            start = min(max(0.0, dof.limit_lower), dof.limit_upper)
            if start != 0.0:
                made[name].q, dof.target_pos = (start,), start
                reason = f"{start:g}, the limit nearer to 0, which is outside the limits"
                notes.note("defaulted", "start and drive target", joint.element, reason)
    _start_mimics(builder, robot, notes)


def _start_mimics(builder, robot: Robot, notes: Notes) -> None:
    made = {joint.label: joint for joint in builder.joints}
    equalities = [equality for equality in builder.equalities if equality.type == EqualityType.JOINT]
    rules = {builder.joints[equality.object0].label: equality.data[:2] for equality in equalities}
    starts = {name: made[name].coords()[0] for name in robot.joints if name not in rules and len(made[name].dofs) == 1}
    for name, joint in robot.joints.items():
        if joint.mimic is None:
            continue
        chain = [name]  # up to a joint whose start is known
        while chain[-1] not in starts:
            chain.append(robot.joints[chain[-1]].mimic.joint)
        value = starts[chain.pop()]
        for follower in reversed(chain):
            offset, multiplier = rules[follower]
            value = starts[follower] = offset + multiplier * value
        value = starts[name]
        (dof,) = made[name].dofs
        dof.target_pos = value
        if value != 0.0:
            made[name].q = (value,)
            notes.note("defaulted", "start", joint.element, f"{value:g}, where its leader has it")
        if not dof.limit_lower - 1e-9 <= value <= dof.limit_upper + 1e-9:
            reason = f"it starts at {value:g}, where its leader has it, outside its limits"
            notes.note("warned", "<mimic>", joint.mimic.element, reason)


def leave_mimics_free(builder, robot: Robot) -> None:
    """Take the drives off joints that mimic: their equalities move them."""
    for made in builder.joints:
        if made.label in robot.joints and robot.joints[made.label].mimic is not None:
            (dof,) = made.dofs
            dof.target_ke = dof.target_kd = 0.0
