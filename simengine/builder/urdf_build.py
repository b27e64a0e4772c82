"""A checked URDF as elements of a builder: bodies, shapes, joints and joint equalities."""

from __future__ import annotations

from simengine.builder.elements import WORLD
from simengine.builder.frames import Pose, quat_between, quat_rotate
from simengine.builder.inertia import MassProperties
from simengine.builder.report import ImportReport
from simengine.builder.urdf_document import HINGES, Joint, Robot
from simengine.builder.urdf_geometry import LinkShapes, LoadedShape, scaled_pose
from simengine.enums import ShapeType

AXIS_Z = (0.0, 0.0, 1.0)


def add_links(
    builder, robot: Robot, shapes: dict[str, LinkShapes], masses: dict[str, MassProperties]
) -> dict[str, int]:
    """Add a body with its shapes for each link, in the order of the file; body index by link name."""
    bodies = {}
    for name in robot.links:
        own = masses[name]
        body = builder.add_body(mass=own.mass, com=own.com, inertia=own.inertia, label=name)
        bodies[name] = body
        for shape in shapes[name].visuals:
            _add_shape(builder, body, shape, collides=False, visible=True)
        for shape in shapes[name].collisions:
            # what collides is shown where there is nothing else to show
            _add_shape(builder, body, shape, collides=True, visible=not shapes[name].visuals)
    return bodies


def _add_shape(builder, body: int, shape: LoadedShape, collides: bool, visible: bool) -> None:
    options = {"xform": shape.frame, "density": 0.0, "collides": collides, "visible": visible, "label": shape.label}
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
    options |= {name: value for name, value in given.items() if value is not None}
    if joint.kind == "planar":
        if velocity_limits and joint.velocity is not None:
            options["velocity_limit"] = (joint.velocity * scale, joint.velocity * scale, joint.velocity)
        # the plane is at right angles to the axis; the child may also turn in it
        turn = quat_between(AXIS_Z, joint.axis)
        plane = (quat_rotate(turn, (1.0, 0.0, 0.0)), quat_rotate(turn, (0.0, 1.0, 0.0)))
        return builder.add_joint_d6(*ends, linear_axes=plane, angular_axes=(joint.axis,), **options)
    unit = 1.0 if joint.kind in HINGES else scale
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
