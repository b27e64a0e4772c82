"""Writing a builder to a URDF file."""

from __future__ import annotations

import os
from pathlib import Path
from xml.etree import ElementTree

from simengine.builder.elements import WORLD
from simengine.builder.exporters.files import NewFiles
from simengine.builder.exporters.mesh_files import MeshFiles
from simengine.builder.exporters.mjcf.options import INTEGRATORS, OPTIONS
from simengine.builder.exporters.names import xml_name
from simengine.builder.exporters.report import ExportNotes, ExportReport
from simengine.builder.exporters.scene import Scene, make_scene
from simengine.builder.exporters.urdf.joints import (
    lose_contact_with_the_world,
    lose_joint_state,
    write_joint,
    write_loops,
    write_mimics,
    write_safety,
    write_transmissions,
)
from simengine.builder.exporters.urdf.plan import FileJoint, Plan, Planner, moving_massless
from simengine.builder.exporters.urdf.shapes import LinkShapes, origin, shapes_by_body, write_self_collision
from simengine.builder.exporters.xml_text import Node, add, document
from simengine.builder.frames import NO_TURN, compose, inverse, subtract
from simengine.builder.importers.urdf.mujoco_block import WORDS
from simengine.builder.inertia import MassProperties
from simengine.builder.mechanisms import KEPT

LEAST = 1e-14
"""kg and kg m2: what MuJoCo is told to give links without mass, for it takes none that moves below 1e-15."""


def export_urdf(
    builder, path: str | os.PathLike, *, strict: bool = False, world: int = 0, name: str | None = None
) -> ExportReport:
    """Write one world of a builder, with the static shapes that all worlds share, to a URDF file.

    The file has the builder's masses and joints. Frames of bodies move to their joints and joints of several axes
    become chains, as the format asks; the report says where. What only other programs read stands in their words:
    springs and loops in Gazebo's, surfaces in Bullet's, options and gravity in MuJoCo's. Numbers are written so that
    they are read back to the last bit; meshes go to OBJ files in a folder ``<stem>_meshes`` beside the file. Existing
    files of those names are replaced; on an error everything stays as it was.

    Args:
        builder: a ModelBuilder; it stays as it is.
        path: the file, ending in ``.urdf``.
        strict: refuse whatever URDF cannot hold; else the report lists it as ``lost``, and one warning says so.
        world: which of the builder's worlds.
        name: of the robot; default the file's stem.

    Raises:
        ModelError: an argument is wrong, or the builder is one that ``finalize`` refuses.
        UnsupportedError: with ``strict``, something cannot be written.
        AssetError: a file cannot be written.
    """
    files = NewFiles(path, (".urdf",), "export_urdf")
    notes = ExportNotes(path, "URDF", strict)
    scene = make_scene(builder, world, notes, ("Z",))
    planner = Planner(scene, notes)
    plan = planner.make()
    root = ElementTree.Element("robot", name=xml_name(name or Path(path).stem))
    _write_sites(scene, planner, notes)
    _write_settings(root, plan, scene, notes)
    _write_links(root, plan, scene, notes, MeshFiles(files))
    nodes = {one.name: write_joint(root, one, plan, scene, notes) for one in plan.joints}
    mimics = write_mimics(nodes, plan, scene, notes)
    write_loops(root, plan, scene, notes)
    custom = dict(scene.elements.custom)
    write_safety(nodes, custom)
    write_transmissions(root, plan, scene, notes, custom)
    explained = write_self_collision(root, plan, scene)
    lose_joint_state(scene, mimics, notes)
    lose_contact_with_the_world(scene, notes)
    _lose_rest(scene, notes, custom, explained)
    notes.report.files = files.write(document(root))
    notes.warn()
    return notes.report


def _write_sites(scene: Scene, planner: Planner, notes: ExportNotes) -> None:
    """Each site becomes a link without mass on a fixed joint, as named frames are in URDF."""
    plan = planner.plan
    for site in scene.elements.sites:
        link, joint = planner.link(site.label), planner.joint(f"{site.label}_site")
        frame = compose(inverse(plan.frames[site.body]), site.xform)
        plan.joints.append(FileJoint(joint, "fixed", plan.links[site.body], link, frame))
        notes.rewrite("site", f"site {site.label!r}", "written as a link on a fixed joint")


def _write_settings(root: Node, plan: Plan, scene: Scene, notes: ExportNotes) -> None:
    """``<mujoco>``: what its reader needs to take the file as it is, and the options of the scene."""
    options = scene.elements.options
    compiler, option = {}, {}
    if any(shape.mesh is not None or shape.type.name in ("CONE", "ELLIPSOID") for shape in scene.elements.shapes):
        compiler["strippath"] = False
    if moving_massless(plan, scene):
        compiler |= {"boundmass": LEAST, "boundinertia": LEAST}
    for field, attribute in OPTIONS.items():
        value = getattr(options, field)
        if field == "integrator" and value is not None:
            value = INTEGRATORS.get(value)
            if value not in WORDS["integrator"]:
                notes.lose(f"integrator {options.integrator!r}", "scene", "URDF's readers have no such one")
                continue
        option[attribute] = value
    if tuple(scene.gravity) != (0.0, 0.0, -9.81):
        option["gravity"] = tuple(x + 0.0 for x in scene.gravity)
    option = {key: value for key, value in option.items() if value is not None}
    if compiler or option:
        block = add(root, "mujoco")
        for tag, values in (("compiler", compiler), ("option", option)):
            if values:
                add(block, tag, **values)


def _write_links(root: Node, plan: Plan, scene: Scene, notes: ExportNotes, meshes: MeshFiles) -> None:
    shapes = shapes_by_body(scene.elements.shapes)
    writer = LinkShapes(meshes, notes, scene.one_material)
    if WORLD in plan.links:
        node = add(root, "link", name=plan.links[WORLD])
        writer.write(node, plan.links[WORLD], shapes[WORLD], plan.frames[WORLD])
    for index, body in enumerate(scene.elements.bodies):
        name = plan.links[index]
        node = add(root, "link", name=name)
        notes.report.count("links")
        _inertial(node, scene.masses[index], plan.frames[index], bool(shapes.get(index)))
        writer.write(node, name, shapes.get(index, []), plan.frames[index])
        if body.gravity_compensation == 1.0:
            add(add(root, "gazebo", reference=name), "turnGravityOff").text = "true"
        elif body.gravity_compensation:
            what = f"{body.gravity_compensation:g}: Gazebo has all or nothing"
            notes.lose("gravity compensation", f"body {body.label!r}", what)
        if body.kinematic:
            notes.lose("kinematic body", f"body {body.label!r}", "URDF has none: it moves freely")
    for name in plan.extra:
        add(root, "link", name=name)


def _inertial(link: Node, own: MassProperties, frame, has_shapes: bool) -> None:
    """The inertia about the centre of mass in the link's axes.

    A mass of zero is written where there are shapes, from which readers would otherwise make one.
    """
    if own.mass == 0 and not has_shapes:
        return
    node = add(link, "inertial")
    center = subtract(tuple(own.com), frame[:3])
    origin(node, (*center, *NO_TURN))
    add(node, "mass", value=own.mass)
    inertia = 0.5 * (own.inertia + own.inertia.T)
    names = {"ixx": (0, 0), "ixy": (0, 1), "ixz": (0, 2), "iyy": (1, 1), "iyz": (1, 2), "izz": (2, 2)}
    add(node, "inertia", **{key: inertia[at] for key, at in names.items()})


def _lose_rest(scene: Scene, notes: ExportNotes, custom: dict, filtered: bool) -> None:
    """What has no place at all. ``custom``: values that are left; ``filtered``: no filters are."""
    elements = scene.elements
    for plural, singular in KEPT.items():
        for element in getattr(elements, plural) if plural != "actuators" else ():  # those are transmissions
            notes.lose(singular, f"{singular} {element.label!r}", "URDF has none: left out")
    for name in custom:
        notes.lose("custom value", f"custom {name!r}", "URDF has no place for it")
    if elements.filters and not filtered:
        reason = f"{len(elements.filters)} pairs of shapes do not touch: add_urdf filters those that overlap alone"
        notes.lose("collision filters", "scene", reason)
    options = elements.options
    for name in (*options.disabled, *options.enabled, *(name for name, _ in options.other)):
        notes.lose("option", f"option {name!r}", "URDF has no place for it")
