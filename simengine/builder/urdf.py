"""Reading a robot from a URDF file into a builder."""

from __future__ import annotations

import math
import os
import warnings
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path

from simengine.builder.frames import compose, quat_between
from simengine.builder.mesh_files import MeshLimits
from simengine.builder.paths import PathRules
from simengine.builder.report import ImportReport
from simengine.builder.template import compile_template
from simengine.builder.urdf_build import AXIS_Z, add_joints, add_links, add_mimics, add_root_joint
from simengine.builder.urdf_check import check_mimics, check_tree
from simengine.builder.urdf_document import Robot
from simengine.builder.urdf_geometry import LinkShapes, MeshShelf, load_shapes
from simengine.builder.urdf_mass import link_masses
from simengine.builder.urdf_parse import UNKNOWN, Notes, parse_robot
from simengine.builder.urdf_zero_pose import ZeroPose, is_driven
from simengine.builder.values import AXES, flag, number, pose
from simengine.builder.xml_reader import XmlLimits, read_xml
from simengine.errors import ModelError, did_you_mean


@dataclass(frozen=True)
class UrdfOptions:
    """Options of ``ModelBuilder.add_urdf``.

    Parameters
    ----------
    xform: pose (7 numbers) of the robot in the world; the file's z axis is then turned to the builder's up axis.
    floating: the root link moves freely (its free joint comes before all others); else it is fixed to the world.
    scale: metres per unit of length of the file. Inertias grow with its square; masses, efforts and damping stay.
    collapse_fixed_joints: merge links on fixed joints into the link that carries them.
    ignore_inertial: leave out all ``<inertial>``; each link has the mass of its geometry at ``default_density``.
    balance_inertia: replace the principal moments of an inertia that no body can have by their mean; else it is kept.
    self_collision: shapes of this robot may touch each other (never those of a link and its parent).
    filter_overlapping: of those, pairs that overlap where all coordinates are zero do not touch; the report lists them.
    drive_stiffness, drive_damping: of the drives of all joints with one axis and of planar joints (N m/rad or N/m;
        N m s/rad or N s/m); default 0: no drive.
    drive_frequency: instead of these, in Hz: with w = 2 pi frequency, stiffness w^2 M_ii and damping 2 w M_ii of each
        degree of freedom i, M the mass matrix where all coordinates are zero. Efforts stay within the file's limits.
        M_ii leaves out what a leg carries: a heavy robot that is to stand needs 10 Hz or more.
    velocity_limits: hold the file's velocity limits; else they are read and off.
    unsupported: "warn" (noted in the report; one warning tells of what was mended, looks wrong or is unknown) or
        "raise" for whatever the file has that is not read.
    strict: refuse elements and attributes that are not part of URDF.
    package_roots: folders that hold the packages of ``package://`` names. The folders above the file are looked at too.
    allow_paths: True, or folders: where files that the URDF names may lie besides its own folder or ROS package.
    label_prefix: stands before all labels with a "/", so that a robot can be added twice to one world.
    xml_limits, mesh_limits: caps on the sizes of the files; default XmlLimits(), MeshLimits().
    """

    xform: tuple | None = None
    floating: bool = False
    scale: float = 1.0
    collapse_fixed_joints: bool = False
    ignore_inertial: bool = False
    balance_inertia: bool = False
    self_collision: bool = True
    filter_overlapping: bool = True
    drive_stiffness: float | None = None
    drive_damping: float | None = None
    drive_frequency: float | None = None
    velocity_limits: bool = False
    unsupported: str = "warn"
    strict: bool = False
    package_roots: list = field(default_factory=list)
    allow_paths: bool | list = False
    label_prefix: str | None = None
    xml_limits: XmlLimits | None = None
    mesh_limits: MeshLimits | None = None

    def __post_init__(self):
        for option in fields(self):
            if option.type == "bool":
                flag(getattr(self, option.name), f"add_urdf, {option.name}")
        number(self.scale, "add_urdf, scale", positive=True)
        pose(self.xform, "add_urdf, xform")
        for name in ("drive_stiffness", "drive_damping"):
            if getattr(self, name) is not None:
                number(getattr(self, name), f"add_urdf, {name}", lowest=0.0)
        if self.drive_frequency is not None:
            number(self.drive_frequency, "add_urdf, drive_frequency", positive=True)
            if self.drive_stiffness is not None or self.drive_damping is not None:
                raise ModelError(
                    "is given together with drive_stiffness or drive_damping, which it sets; leave out one of them",
                    element="add_urdf, drive_frequency",
                )
        if not isinstance(self.label_prefix, str | None):
            raise ModelError(f"is {self.label_prefix!r}; it must be a str", element="add_urdf, label_prefix")
        if self.unsupported not in ("warn", "raise"):
            raise ModelError(f'is {self.unsupported!r}; it must be "warn" or "raise"', element="add_urdf, unsupported")


def import_urdf(builder, path: str | os.PathLike, **options) -> ImportReport:
    """Add the robot of a URDF file to a builder's own world; on an error the builder is as it was.

    Labels of bodies and joints are the file's names; those of shapes are ``link/name``. Joints stand in the order of
    the file, after the one between the root link and the world. A coordinate whose limits leave out zero starts, and
    has its drive target, at the nearer limit.

    Args:
        builder: the ModelBuilder. Its ``default_material``, ``default_joint`` and ``default_density`` hold where the
            file says nothing.
        path: the file.
        options: fields of ``UrdfOptions``.

    Raises:
        AssetError: the file cannot be read or is refused: file, line and element.
        ModelError: an option is wrong, or a label is taken already.
        MissingExtraError: a collision is a mesh, and trimesh is not installed.
    """
    if not isinstance(path, str | os.PathLike):
        raise ModelError(f"is {path!r}; it must be a path, as a str or a Path", element="add_urdf, path")
    settings = _settings(options)
    report = ImportReport(os.fspath(path))
    notes = Notes(report, settings.strict, settings.unsupported)
    robot = parse_robot(read_xml(Path(path), "robot", limits=settings.xml_limits), notes)
    report.name = robot.name
    check_tree(robot)
    check_mimics(robot, notes)
    rules = PathRules(Path(path), settings.package_roots, settings.allow_paths)
    shapes = load_shapes(robot, MeshShelf(rules, settings.mesh_limits or MeshLimits(), notes), settings.scale)
    with _naming_lines(robot):
        scratch, bodies = _build(builder, robot, shapes, settings, notes)
        _check(scratch)
    _count(robot, shapes, report)
    _set_drives(scratch, settings, report)
    _start_within_limits(scratch, robot, notes)
    _merge(builder, scratch, bodies, robot, settings, report)
    _warn(report)
    return report


def _settings(options: dict) -> UrdfOptions:
    known = [option.name for option in fields(UrdfOptions)]
    for name in options:
        if name not in known:
            raise ModelError(f"has no option {name!r}{did_you_mean(name, known)}", element="add_urdf")
    return UrdfOptions(**options)


def _build(builder, robot: Robot, shapes: dict[str, LinkShapes], settings: UrdfOptions, notes: Notes):
    """The robot alone in a builder of its own, and the body of each link by its name."""
    masses = link_masses(
        robot,
        shapes,
        notes,
        scale=settings.scale,
        density=builder.default_density,
        floating=settings.floating,
        ignore_inertial=settings.ignore_inertial,
        balance_inertia=settings.balance_inertia,
    )
    if settings.floating and robot.root == "world":
        root = robot.links["world"].element
        notes.note("warned", "root link", root, "it is called 'world', but floats since floating=True")
    scratch = type(builder)(up_axis=builder.up_axis, gravity=builder.gravity)
    scratch.default_material, scratch.default_joint = builder.default_material, builder.default_joint
    bodies = add_links(scratch, robot, shapes, masses)
    upright = (0.0, 0.0, 0.0, *quat_between(AXIS_Z, AXES[builder.up_axis]))
    base = compose(pose(settings.xform, "add_urdf, xform"), upright)
    add_root_joint(scratch, robot, bodies[robot.root], base, settings.floating)
    joints = add_joints(scratch, robot, bodies, settings.scale, settings.velocity_limits)
    add_mimics(scratch, robot, joints, settings.scale, notes.report)
    return scratch, bodies


@contextmanager
def _naming_lines(robot: Robot):
    """What a builder refuses, with the line of the link or joint that it names."""
    try:
        yield
    except ModelError as error:
        name = (error.element or "").partition("'")[2].partition("'")[0]
        named = robot.links.get(name.partition("/")[0]) or robot.joints.get(name)
        raise (named.element if named else robot.element).error(str(error)) from None


def _check(scratch) -> None:
    """Refuse now what the user's own finalize would refuse."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the user's own finalize says it again
        compile_template(scratch._elements, (), scratch.gravity)


def _count(robot: Robot, shapes: dict[str, LinkShapes], report: ImportReport) -> None:
    report.count("links", len(robot.links))
    report.count("inertials", sum(link.inertial is not None for link in robot.links.values()))
    for joint in robot.joints.values():
        report.count(f"{joint.kind} joints")
    report.count("position limits", sum(joint.upper < math.inf for joint in robot.joints.values()))
    report.count("effort limits", sum(joint.effort is not None for joint in robot.joints.values()))
    report.count("mimic joints (as joint equalities)", len(report.mimics))
    for kind in ("visuals", "collisions"):
        report.count(kind, sum(len(getattr(of_link, kind)) for of_link in shapes.values()))


def _set_drives(scratch, settings: UrdfOptions, report: ImportReport) -> None:
    """Drives, and filters of what overlaps, both found where all coordinates are zero."""
    for joint in scratch.joints:
        if is_driven(joint.dofs):
            for dof in joint.dofs:
                if settings.drive_stiffness is not None:
                    dof.target_ke = float(settings.drive_stiffness)
                if settings.drive_damping is not None:
                    dof.target_kd = float(settings.drive_damping)
    overlapping = settings.self_collision and settings.filter_overlapping
    if settings.drive_frequency is None and not overlapping:
        return
    zero = ZeroPose(scratch)
    if settings.drive_frequency is not None:
        zero.set_drives(settings.drive_frequency)
    if overlapping:
        zero.filter_overlaps(report)


def _start_within_limits(scratch, robot: Robot, notes: Notes) -> None:
    for joint in scratch.joints:
        if len(joint.dofs) != 1 or joint.label not in robot.joints:
            continue
        (dof,) = joint.dofs
        start = min(max(0.0, dof.limit_lower), dof.limit_upper)
        if start != 0.0:
            joint.q, dof.target_pos = (start,), start
            reason = f"{start:g}, the limit nearer to 0, which is outside the limits"
            notes.note("defaulted", "start and drive target", robot.joints[joint.label].element, reason)


def _merge(builder, scratch, bodies: dict[str, int], robot: Robot, settings: UrdfOptions, report) -> None:
    """Put the finished robot into the user's builder: the only step that touches it."""
    mapping = scratch.collapse_fixed_joints() if settings.collapse_fixed_joints else None
    names = [joint.label for joint in scratch.joints]
    offsets = builder.merge_builder(scratch, label_prefix=settings.label_prefix, self_collision=settings.self_collision)
    for name, body in bodies.items():
        index = body if mapping is None else mapping[body]
        report.bodies[name] = index + offsets.body if index >= 0 else index
    report.joints = {name: offsets.joint + index for index, name in enumerate(names)}
    report.shapes = list(range(offsets.shape, offsets.shape + len(scratch.shapes)))


def _warn(report: ImportReport) -> None:
    """One warning for what a user should look at; what was skipped on purpose is in the report alone."""
    groups = {
        "repaired": report.repaired,
        "kept though it looks wrong": report.warned,
        "unknown and skipped": [note for note in report.ignored if note.reason == UNKNOWN],
    }
    found = [f"{len(notes)} {what} (first: {notes[0]})" for what, notes in groups.items() if notes]
    if found:
        warnings.warn(f"{report.file}: {'; '.join(found)}; print the report for all", stacklevel=4)
