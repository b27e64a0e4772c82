"""Reading a robot from a URDF file into a builder."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from functools import partial

from simengine.builder.importers.front import Import, naming_places
from simengine.builder.importers.options import ImportOptions
from simengine.builder.importers.report import ImportReport
from simengine.builder.importers.urdf.build import (
    add_joints,
    add_links,
    add_loops,
    add_mimics,
    add_root_joint,
    keep_safety,
    leave_mimics_free,
    start_within_limits,
)
from simengine.builder.importers.urdf.check import check_mimics, check_tree
from simengine.builder.importers.urdf.document import Robot
from simengine.builder.importers.urdf.fem import add_soft_bodies
from simengine.builder.importers.urdf.geometry import LinkShapes, load_shapes
from simengine.builder.importers.urdf.mass import link_masses
from simengine.builder.importers.urdf.parse import parse_robot
from simengine.builder.importers.urdf.transmissions import add_transmissions
from simengine.builder.importers.xml_reader import Element, read_xml
from simengine.errors import ModelError
from simengine.values import number

COLLISION_MESHES = ("mesh", "hull", "decompose")


@dataclass(frozen=True)
class UrdfOptions(ImportOptions):
    """Options of ``ModelBuilder.add_urdf``: those of ``ImportOptions``, and these.

    Parameters
    ----------
    floating: the root link moves freely (its free joint comes before all others); else it is fixed to the world.
    scale: metres per unit of length of the file. Inertias grow with its square; masses, efforts and damping stay.
    ignore_inertial: leave out all ``<inertial>``; each link has the mass of its geometry at ``default_density``.
    balance_inertia: replace the principal moments of an inertia that no body can have by their mean; else it is kept.
    soft_limits: narrow the limits of joints to those of their ``<safety_controller>``; else these are only kept.
    collision_meshes: "mesh": meshes collide as their triangles; "hull": as the convex hulls of their vertices;
        "decompose": as the convex parts that CoACD cuts them into, cached (extra ``meshes``).
    """

    floating: bool = False
    scale: float = 1.0
    ignore_inertial: bool = False
    balance_inertia: bool = False
    soft_limits: bool = False
    collision_meshes: str = "mesh"

    def __post_init__(self):
        super().__post_init__()
        number(self.scale, "add_urdf, scale", positive=True)
        if self.collision_meshes not in COLLISION_MESHES:
            words = ", ".join(f'"{word}"' for word in COLLISION_MESHES)
            raise ModelError(
                f"is {self.collision_meshes!r}; it is one of {words}", element="add_urdf, collision_meshes"
            )


def import_urdf(builder, path: str | os.PathLike, **options) -> ImportReport:
    """Add the robot of a URDF file to a builder's own world; on an error the builder is as it was.

    Labels of bodies and joints are the file's names; those of shapes are ``link/name``. Joints stand in the order of
    the file, after the one between the root link and the world. A coordinate whose limits leave out zero starts, and
    has its drive target, at the nearer limit; a joint that mimics starts where its leader has it, and has no drive.
    What a transmission says becomes actuators, which are kept.

    Args:
        builder: the ModelBuilder. Its ``default_material``, ``default_joint`` and ``default_density`` hold where the
            file says nothing.
        path: the file.
        options: fields of ``UrdfOptions``.

    Raises:
        AssetError: the file cannot be read or is refused: file, line and element.
        ModelError: an option is wrong, or a label is taken already.
        MissingExtraError: a hull or a decomposition is needed, and SciPy or CoACD is not installed.
    """
    job = Import(builder, path, UrdfOptions.of(options, "add_urdf"), "add_urdf")
    settings, notes = job.options, job.notes
    robot = parse_robot(read_xml(job.path, "robot", limits=settings.xml_limits), notes, settings.soft_limits)
    job.report.name = robot.name
    check_tree(robot)
    check_mimics(robot, notes)
    shapes = load_shapes(robot, job.meshes, settings.scale)
    with naming_places(partial(_place, robot)):
        bodies = _build(job, robot, shapes)
        job.check()
    _count(robot, shapes, job.report)
    job.filter_overlaps()  # where all coordinates are zero
    start_within_limits(job.scratch, robot, notes)
    job.set_drives()
    leave_mimics_free(job.scratch, robot)
    return job.finish(bodies)


def _build(job: Import, robot: Robot, shapes: dict[str, LinkShapes]) -> dict[str, int]:
    """The robot in the scratch builder; the body of each link by its name."""
    settings, notes = job.options, job.notes
    masses = link_masses(
        robot,
        shapes,
        notes,
        scale=settings.scale,
        density=job.builder.default_density,
        floating=settings.floating,
        ignore_inertial=settings.ignore_inertial or robot.mujoco.ignore_inertial,
        balance_inertia=settings.balance_inertia or robot.mujoco.balance_inertia,
    )
    if settings.floating and robot.root == "world":
        root = robot.links["world"].element
        notes.note("warned", "root link", root, "it is called 'world', but floats since floating=True")
    bodies = add_links(job.scratch, robot, shapes, masses, settings.collision_meshes)
    add_root_joint(job.scratch, robot, bodies[robot.root], job.base(), settings.floating)
    joints = add_joints(job.scratch, robot, bodies, settings.scale, settings.velocity_limits)
    add_mimics(job.scratch, robot, joints, settings.scale, job.report)
    add_soft_bodies(job.scratch, robot, bodies, job.meshes, settings.scale)
    add_loops(job.scratch, robot, bodies, settings.scale)
    add_transmissions(job.scratch, robot, joints, notes)
    keep_safety(job.scratch, robot)
    _take_options(job, robot)
    return bodies


def _take_options(job: Import, robot: Robot) -> None:
    """What ``<mujoco>`` says of the simulation."""
    for name, value in robot.mujoco.options.items():
        setattr(job.scratch.options, name, value)
    job.scratch.options.turn(job.base()[3:])
    if robot.mujoco.gravity is not None:
        job.set_gravity(robot.mujoco.gravity, robot.mujoco.element)


def _place(robot: Robot, label: str) -> Element:
    """The link or joint that a label belongs to, else the whole robot."""
    named = robot.links.get(label.partition("/")[0]) or robot.joints.get(label)
    return named.element if named else robot.element


def _count(robot: Robot, shapes: dict[str, LinkShapes], report: ImportReport) -> None:
    report.count("links", len(robot.links))
    report.count("inertials", sum(link.inertial is not None for link in robot.links.values()))
    for joint in robot.joints.values():
        report.count(f"{joint.kind} joints")
    report.count("position limits", sum(joint.upper < math.inf for joint in robot.joints.values()))
    report.count("effort limits", sum(joint.effort is not None for joint in robot.joints.values()))
    report.count("mimic joints (as joint equalities)", len(report.mimics))
    report.count("loop joints", len(robot.loops))
    report.count("transmissions", len(robot.transmissions))
    for kind in ("visuals", "collisions"):
        report.count(kind, sum(len(getattr(of_link, kind)) for of_link in shapes.values()))
