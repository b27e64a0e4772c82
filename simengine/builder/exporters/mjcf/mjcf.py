"""Writing a builder to an MJCF file, MuJoCo's format."""

from __future__ import annotations

import os
from pathlib import Path

from simengine.builder.elements import WORLD
from simengine.builder.exporters.files import NewFiles
from simengine.builder.exporters.mjcf.bodies import Carrier, inertial, needs_mass, note_merged, plan_bodies
from simengine.builder.exporters.mjcf.constraints import Constraints
from simengine.builder.exporters.mjcf.contacts import RigidParts, write_contacts
from simengine.builder.exporters.mjcf.geoms import Geoms
from simengine.builder.exporters.mjcf.joints import attributes, file_joints, place
from simengine.builder.exporters.mjcf.mechanisms import (
    write_actuators,
    write_drives,
    write_tendons,
)
from simengine.builder.exporters.mjcf.options import write_custom, write_options
from simengine.builder.exporters.mjcf.sensors import write_sensors
from simengine.builder.exporters.mjcf.states import write_keyframes
from simengine.builder.exporters.mjcf.writer import Writer
from simengine.builder.exporters.names import xml_name
from simengine.builder.exporters.report import ExportNotes, ExportReport
from simengine.builder.exporters.scene import Scene, floats, make_scene, relative
from simengine.builder.exporters.xml_text import add, document
from simengine.builder.frames import IDENTITY, Pose
from simengine.builder.topology import FLOATING
from simengine.enums import JointType

UP_AXES = ("Z",)


def export_mjcf(builder, path: str | os.PathLike, *, strict: bool = False, world: int = 0) -> ExportReport:
    """Write one world of a builder, with the static shapes that all worlds share, to an MJCF file.

    MuJoCo's model of the file has the builder's masses, joints, coordinates and contacts: its ``qpos0`` is the initial
    state (joint coordinates as ``ref``), balls and rates excepted, which a keyframe ``initial`` holds. Numbers are
    written so that they are read back to the last bit; meshes go to OBJ files in a folder ``<stem>_meshes`` beside the
    file. Existing files of those names are replaced; on an error everything stays as it was.

    Args:
        builder: a ModelBuilder; it stays as it is.
        path: the file, ending in ``.xml`` or ``.mjcf``.
        strict: refuse whatever MJCF cannot hold; else the report lists it as ``lost``, and one warning says so.
        world: which of the builder's worlds.

    Raises:
        ModelError: an argument is wrong, or the builder is one that ``finalize`` refuses.
        UnsupportedError: with ``strict``, something cannot be written.
        AssetError: a file cannot be written.
    """
    files = NewFiles(path, (".xml", ".mjcf"), "export_mjcf")
    notes = ExportNotes(path, "MJCF", strict)
    scene = make_scene(builder, world, notes, UP_AXES)
    writer = Writer(scene, notes, files, xml_name(Path(path).stem))
    write_options(writer)
    write_custom(writer)
    constraints = _write_tree(writer)
    drive_inputs = _write_mechanisms(writer, constraints)
    write_keyframes(writer, drive_inputs)
    for deformable in scene.elements.deformables:
        notes.lose(f"{deformable.kind}", f"deformable {deformable.label!r}", "left out")
    notes.report.files = files.write(document(writer.finish()))
    notes.warn()
    return notes.report


def _write_tree(writer: Writer) -> Constraints:
    """Bodies with their joints, shapes and sites; what touches. Returns what writes equalities."""
    scene, elements = writer.scene, writer.scene.elements
    carriers = plan_bodies(scene)
    note_merged(carriers, scene, writer.notes)
    poses = [*scene.reference().pose, IDENTITY]  # the last is that of WORLD, -1
    parts = RigidParts(carriers, writer)
    moving = {body for body, part in parts.part.items() if part != WORLD}
    for carrier in carriers:
        _write_body(writer, carrier, poses)
    geoms = Geoms(writer, moving)
    for index in range(len(elements.shapes)):
        geoms.add(index)
    for index, site in enumerate(elements.sites):
        name = writer.name("site", site.label, index)
        add(writer.nodes[site.body], "site", name=name, **place(site.xform))
    writer.notes.report.count("sites", len(elements.sites))
    write_contacts(writer, carriers, geoms.touching)
    return Constraints(writer, poses)


def _write_body(writer: Writer, carrier: Carrier, poses: list[Pose]) -> None:
    scene, notes = writer.scene, writer.notes
    body = scene.elements.bodies[carrier.body]
    name = writer.name("body", body.label, carrier.body)
    node = add(
        writer.nodes[carrier.parent],
        "body",
        name=name,
        mocap=True if body.kinematic else None,
        **place(relative(poses[carrier.parent], poses[carrier.body])),
        gravcomp=body.gravity_compensation or None,
    )
    writer.nodes[carrier.body] = node
    notes.report.count("bodies")
    needs = needs_mass(carrier, scene)
    add(node, "inertial", **inertial(scene.masses[carrier.body], needs, body.label, notes))
    if body.kinematic:
        _note_kinematic(scene, carrier, writer)
        return
    parents = [poses[scene.elements.joints[j].parent] for j in carrier.chain]
    joints = file_joints(carrier, scene, poses[carrier.body], parents, lambda label: writer.name("joint", label))
    writer.joints += joints
    for one in joints:
        joint = scene.elements.joints[one.joint]
        add(node, "joint", name=one.name, **attributes(one, joint, notes))
        notes.report.count(f"{one.kind} joints")
    _note_joints(scene, carrier, writer)


def _note_kinematic(scene: Scene, carrier: Carrier, writer: Writer) -> None:
    for index in carrier.chain:
        if not scene.is_anonymous(index):
            label = scene.elements.joints[index].label
            writer.notes.rewrite("joint of a kinematic body", f"joint {label!r}", "its body is a mocap body, on none")


def _note_joints(scene: Scene, carrier: Carrier, writer: Writer) -> None:
    """Joints that come back in another form."""
    for index in carrier.chain:
        joint, what = scene.elements.joints[index], f"joint {scene.elements.joints[index].label!r}"
        if floats(joint) and (joint.parent_xform != IDENTITY or joint.child_xform != IDENTITY):
            reason = "its coordinates in the file are the pose of the body in the world"
            writer.notes.rewrite("frames of a free joint", what, reason)
        elif joint.type in FLOATING and not floats(joint):
            writer.notes.rewrite("free joint between bodies", what, "written as three slides and a ball")
        elif joint.type == JointType.FIXED and not joint.auto_label:
            writer.notes.rewrite("fixed joint", what, "in the file its body has no joint, and it has no name")
        elif len(joint.dofs) > 1 and joint.type not in (*FLOATING, JointType.BALL):
            named = [one.name for one in writer.joints if one.joint == index]
            if not all(dof.label for dof in joint.dofs[: len(named)]):
                reason = f"each axis is a joint of the file, and has a name: {', '.join(named)}"
                writer.notes.rewrite("name", what, reason)


def _write_mechanisms(writer: Writer, constraints: Constraints) -> list[float]:
    """Tendons, equalities, actuators, drives and sensors; returns the inputs of the drives."""
    write_tendons(writer)
    for index in range(len(writer.scene.elements.equalities)):
        constraints.add(index)
    for index in range(len(writer.scene.elements.tendon_equalities)):
        constraints.add_tendon_equality(index)
    write_actuators(writer)
    drive_inputs = write_drives(writer)
    write_sensors(writer)
    return drive_inputs
