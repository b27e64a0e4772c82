"""Reading a scene from an MJCF file into a builder."""

from __future__ import annotations

import os
from dataclasses import dataclass

from simengine.builder.importers.flags import turn_off
from simengine.builder.importers.front import Import, naming_places
from simengine.builder.importers.mjcf.build_constraints import ConstraintBuilder, Found
from simengine.builder.importers.mjcf.build_mechanisms import MechanismBuilder
from simengine.builder.importers.mjcf.build_tree import Placed, TreeBuilder
from simengine.builder.importers.mjcf.document import Document
from simengine.builder.importers.mjcf.masses import Weighed
from simengine.builder.importers.mjcf.parse import Context, parse_mjcf
from simengine.builder.importers.mjcf.reference import set_from_reference
from simengine.builder.importers.mjcf.simplify import simplify
from simengine.builder.importers.mjcf.softness import Softness
from simengine.builder.importers.mjcf.solids import SolidMaker
from simengine.builder.importers.options import ImportOptions
from simengine.builder.importers.report import ImportReport
from simengine.values import number

TIME_STEP = 0.002  # s: where the file does not say


@dataclass(frozen=True)
class MjcfOptions(ImportOptions):
    """Options of ``ModelBuilder.add_mjcf``: those of ``ImportOptions``, and these.

    Parameters
    ----------
    filter_overlapping: off by default: an MJCF file says itself which pairs do not touch.
    copies: how many elements <replicate> and <attach> may add.
    """

    filter_overlapping: bool = False
    copies: int = 10_000

    def __post_init__(self):
        super().__post_init__()
        number(self.copies, "add_mjcf, copies", lowest=0.0)


def import_mjcf(builder, path: str | os.PathLike, **options) -> ImportReport:
    """Add what an MJCF file describes to a builder's own world; on an error the builder is as it was.

    Labels are the file's names; those of unnamed geoms are ``body/type``. Bodies and joints stand in MuJoCo's order, so
    that ``joint_q`` is its ``qpos`` with quaternions as x, y, z, w. Several joints of a body become one, called
    ``a+b``, where they turn about one point; ``report.joints`` leads from each of the names to it. What is not
    simulated yet (tendons, actuators, sensors, ...) is kept on the builder and told in the report.

    Args:
        builder: the ModelBuilder. Its ``default_*`` are not used: MJCF has defaults of its own.
        path: the file.
        options: fields of ``MjcfOptions``.

    Raises:
        AssetError: the file, or one that it names, cannot be read or is refused: file, line and element.
        ModelError: an option is wrong, or a label is taken already.
        MissingExtraError: a mesh that collides or weighs needs an extra that is not installed.
    """
    job = Import(builder, path, MjcfOptions.of(options, "add_mjcf"), "add_mjcf")
    settings, notes = job.options, job.notes
    job.meshes.as_mujoco = True
    document = parse_mjcf(job.path, Context(job.paths, notes, settings.xml_limits, int(settings.copies)))
    job.report.name = document.name
    weighed = Weighed(document, SolidMaker(document, job.meshes), notes)
    simplify(document, weighed, notes)
    placed = Placed()
    with naming_places(lambda label: placed.places.get(label, document.element)):
        _build(job, document, weighed, placed)
        job.check()
        set_from_reference(job.scratch, document, placed, notes)
        turn_off(job, document.disabled)
    _count(document, placed, job.report)
    job.filter_overlaps()
    job.set_drives()
    labels = {
        joint.name: job.scratch.joints[placed.joints[id(joint)][0]].label
        for body in document.world.tree()
        for joint in body.joints
        if joint.name
    }
    report = job.finish({body.label: index for index, body in enumerate(job.scratch.bodies)})
    report.joints |= {name: report.joints[label] for name, label in labels.items()}
    return report


def _build(job: Import, document: Document, weighed: Weighed, placed: Placed) -> None:
    """The document in the scratch builder; ``placed`` is filled as it goes, so that errors find their places."""
    scratch, notes, base = job.scratch, job.notes, job.base()
    softness = Softness(notes, document.options.get("dt", TIME_STEP))
    _set_options(job, document)
    TreeBuilder(scratch, document, weighed, softness, notes, base, placed).build()
    found = Found(document, placed)
    constraints = ConstraintBuilder(scratch, document, found, softness, notes, base)
    constraints.exclude(weighed)
    constraints.pairs()
    constraints.equalities()
    MechanismBuilder(scratch, document, found, softness, notes, base).build()


def _set_options(job: Import, document: Document) -> None:
    options = job.scratch.options
    options.cone, options.integrator = "pyramidal", "euler"  # MuJoCo's, where the file does not say
    for name, value in document.options.items():
        setattr(options, name, value)
    options.turn(job.base()[3:])
    options.disabled, options.enabled = tuple(document.disabled), tuple(document.enabled)
    options.other = tuple(document.other)
    if "gravity" in document.disabled:
        job.set_gravity((0.0, 0.0, 0.0), document.element)
    elif document.gravity_element is not None:
        job.set_gravity(document.gravity, document.gravity_element)


def _count(document: Document, placed: Placed, report: ImportReport) -> None:
    report.count("bodies", len(placed.bodies) - 1)
    for body in document.world.tree():
        for joint in body.joints:
            report.count(f"{joint.kind} joints")
    report.count("geoms", len(placed.shapes))
    report.count("sites", len(placed.sites))
    report.count("contact pairs", len(document.pairs))
    report.count("excludes", len(document.excludes))
    for equality in document.equalities:
        report.count(f"{equality.kind} equalities")
    for tendon in document.tendons:
        report.count(f"{tendon.kind} tendons")
    for name in ("actuators", "sensors", "keyframes"):
        report.count(name, len(getattr(document, name)))
