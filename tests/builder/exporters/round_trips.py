"""Files of the reference data and of the repository: read, written to each format, read again; what may then differ.

``EXPLAINED`` holds, for each format, the differences that the format itself makes, with the reason. Most must be told
by the export report too: the rule then names the note. Whatever is not in the table is a fault.
"""

from __future__ import annotations

import ast
import math
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import simengine as sim
from simengine.builder.elements import WORLD
from simengine.builder.exporters.report import ExportNotes, ExportReport
from simengine.builder.exporters.scene import make_scene
from simengine.builder.exporters.urdf.joints import UNUSED as URDF_DOF_FIELDS
from simengine.builder.importers.report import ImportReport, Note
from tests.builder.exporters.compare import CONTACT_FIELDS, MATERIAL_FIELDS, Difference, differences

SUFFIXES = {"mjcf": ".xml", "urdf": ".urdf", "usd": ".usda"}
TOLERANCES = {"mjcf": 1e-9, "urdf": 1e-9, "usd": 2e-6}
"""USD's physics schemas are of single precision."""

PACKAGES = ("", "newton-assets", "IsaacGymEnvs", "example-robot-data/robots")


@dataclass(frozen=True)
class Rule:
    """Differences of one field that are no fault, where all that is given here holds.

    ``note``: what a note of a report must be about, and be about this very element or what it is part of.
    ``largest``: for numbers, how far apart they may be, relative to the largest or 1. ``only``: the values before and
    after that it holds for.
    """

    kind: str
    field: str
    reason: str
    note: str = ""
    largest: float | None = None
    only: Callable[[object, object], bool] | None = None

    def explains(self, difference: Difference, told: dict[str, set[str]]) -> bool:
        """``told``: what notes of reports are about, by the element that they name."""
        if (difference.kind, difference.field) != (self.kind, self.field):
            return False
        if self.note:
            about = set().union(*(told.get(place, ()) for place in difference.places))
            if not any(what.startswith(self.note) for what in about):
                return False
        if self.only is not None and not self.only(difference.before, difference.after):
            return False
        return self.largest is None or gap(difference) <= self.largest


def gap(difference: Difference) -> float:
    """How far apart two tables of numbers are, relative to the largest or 1."""
    a, b = np.asarray(difference.before, float), np.asarray(difference.after, float)
    return float(np.abs(a - b).max() / max(1.0, np.abs(a).max())) if a.shape == b.shape else math.inf


def rules(kind: str, fields: str, reason: str, note: str = "", **bounds) -> list[Rule]:
    return [Rule(kind, field, reason, note, **bounds) for field in fields.split(", ")]


def lost(before, after) -> bool:
    """Of an item: it was there."""
    return after is None


def gained(before, after) -> bool:
    """Of an item: it was not there."""
    return before is None


GEOMETRY = "type, size, position, orientation, surface, heights"
CONTACT = ", ".join([*CONTACT_FIELDS, *(f"material {name.removeprefix('shape_')}" for name in MATERIAL_FIELDS)])
DRIVE = "target_ke, target_kd, target_pos, target_vel"
EVERYTHING_OF_A_JOINT = "missing, added, parent, child, type, axes, anchor, dof labels"

KEPT_LOST = [
    *rules("deformable", "missing", "the exporters write none", "soft"),
    *rules("deformable", "missing", "the exporters write none", "cloth"),
    *rules("deformable", "missing", "the exporters write none", "cable"),
    *rules("deformable", "missing", "the exporters write none", "deformable"),
]

MJCF = [
    *KEPT_LOST,
    *rules("shape", "material combine", "MuJoCo has one rule of its own", "combine mode"),
    *rules("shape", "material static_friction", "MJCF has one coefficient", "static friction"),
    *rules("shape", "material restitution", "MJCF has none", "restitution"),
    *rules("shape", "material stiffness, material dissipation", "not in MJCF", "contact stiffness in SI units"),
    *rules("shape", "type", "MuJoCo collides the hull of a mesh", "collision with the triangles of a mesh"),
    *rules("shape", f"{CONTACT}, collides, type", "MuJoCo cannot collide a flat mesh", "collision with a flat mesh"),
    *rules("shape", "surface", "meshes are of single precision in MuJoCo, and so in the importer", largest=1e-6),
    *rules("shape", GEOMETRY, "MJCF has no cones", "cone"),
    *rules("shape", "missing", "only on bodies that do not move", "plane"),
    *rules("shape", "missing", "MuJoCo asks for four vertices", "mesh"),
    *rules("joint", DRIVE, "drives are actuators", "drive"),
    *rules("actuator", "added", "drives are actuators", "drive"),
    *rules("keyframe", "added", "rates, balls and targets are in a keyframe", "initial state"),
    *rules("joint", "qd, q", "rates, and coordinates of balls, are in a keyframe", "initial state"),
    *rules("joint", "q, qd, axes, anchor", "coordinates are the body's pose", "frames of a free joint"),
    *rules("joint", "dof labels", "a joint of the file is one axis, and has a name", "name"),
    *rules("joint", "effort_limit", "a ball has none", "effort limit"),
    *rules("joint", "limit_ke, limit_kd", "not in MJCF", "limit stiffness in SI units"),
    *rules("joint", "velocity_limit", "not in MJCF", "velocity limit"),
    *rules("joint", "swing_limit, twist_limit", "not in MJCF", "swing and twist limits"),
    *rules("joint", "limit_upper", "MuJoCo's ranges have two ends", "range of one value", largest=1e-9),
    *rules(
        "joint", "type, dof labels", "a free joint between bodies is sliders and a ball", "free joint between bodies"
    ),
    *rules("joint", EVERYTHING_OF_A_JOINT, "joints of a massless body are those of the next", "massless body"),
    *rules("body", "missing, added", "MuJoCo has no massless bodies that move", "massless body"),
    *rules("body", "missing, added", "'world' is MuJoCo's own name", "name"),
    *rules("joint", "parent, missing, added", "'world' is MuJoCo's own name", "name"),
    *rules("body", "inertia, mass, first moment", "MuJoCo asks for some", "zero mass or inertia", largest=1e-12),
    *rules("body", "inertia", "MuJoCo refuses moments of no body", "inertia"),
    *rules("equality", "type, data, added", "a loop hinge is two connects", "loop hinge"),
    *rules("equality", "type", "loop joints are equalities", "loop joint"),
    *rules("equality", "missing", "MJCF has none", "loop prismatic"),
    *rules("site", "added", "points apart at the start are sites", "connect"),
    *rules("tendon", "width", "a fixed tendon is not drawn", "width"),
    *rules("contact pair", "added", "pairs that MuJoCo's filters would rule out", "contact"),
    *rules("scene", "option integrator", "where a file is silent MuJoCo's holds", only=lambda *v: v == (None, "euler")),
    *rules("scene", "option cone", "where a file is silent MuJoCo's holds", only=lambda *v: v == (None, "pyramidal")),
    *rules("scene", "custom", "only numbers and texts", "custom"),
]

USD = [
    *rules("deformable", "parameters", "only those that have a name in USD", "parameter of a deformable"),
    *rules("shape", "material combine", "no schema has MuJoCo's rule", "combine mode 'mjcf'"),
    *rules("shape", "size", "USD's colliding planes are endless", "size of a plane"),
    *rules("shape", "contype, conaffinity, group", "masks are pairs of shapes", "masks and groups"),
    *rules("shape", GEOMETRY, "USD has no height fields", "height field"),
    *rules("shape", "type", "a hull that only shows is a mesh", "convex hull"),
    *rules("equality", "active", "no schema has it", "inactive equality"),
    *rules("joint", "q, qd, axes, anchor", "coordinates are the body's pose", "frames of a free joint"),
    *rules("joint", "dof labels", "several joints between two bodies have names of their own", "joint of several axes"),
    *rules("joint", f"{DRIVE}, effort_limit", "a spherical joint has none", "drive"),
    *rules("joint", "type", "a free joint between bodies is sliders and a ball", "free joint between bodies"),
    *rules("joint", "q, axes, dof labels", "frames turn along the sliders", "sliders with a ball"),
    *rules("joint", "armature", "a free body is on no joint", "armature"),
    *rules("joint", "damping", "a free body is on no joint", "damping"),
    *rules("joint", "friction", "a free body is on no joint", "friction"),
    *rules("joint", "angle_limit", "a spherical joint has none", "limit of the whole angle"),
    *rules("joint", "qd", "a spherical joint has none", "initial rates"),
    *rules("body", "mass, first moment, inertia", "0 stands for that of the shapes", "zero mass", largest=1e-8),
    *rules("body", "inertia", "0 stands for that of the shapes", "zero inertia", largest=1e-5),
    *rules("body", "gravity_compensation", "all or nothing", "gravity compensation"),
    *rules("tendon", "color", "its schema has none", "color"),
    *rules("actuator", "missing", "it has other inputs, or its target is no prim", "actuator"),
    *rules("sensor", "missing", "no schema that is read has it", "sensor"),
    *rules("keyframe", "missing", "readers do not agree on bodies on no joint", "keyframe"),
    *rules("keyframe", "time", "readers do not take it", "time of a keyframe"),
    *rules("keyframe", "rates", "readers do not take them", "rates of free joints and balls of a keyframe"),
    *rules("keyframe", "activations", "readers do not take them", "activations of a keyframe"),
    *rules("keyframe", "bodies", "readers do not take them", "poses of kinematic bodies of a keyframe"),
    *rules("keyframe", "actuators", "an actuator is not written", "actuator"),
    *rules("contact pair", "missing", "no schema that is read has it", "contact pair"),
    *rules("tendon equality", "missing", "no schema that is read has it", "tendon equality"),
    *rules("scene", "custom", "not written", "custom value"),
    *rules("scene", "pairs", "explicit pairs are not written", "contact pair"),
]

URDF = [
    *KEPT_LOST,
    *(rule for name in URDF_DOF_FIELDS for rule in rules("joint", name, "not in URDF", name)),
    *(rule for name in CONTACT_FIELDS for rule in rules("shape", name, "not in URDF", name)),
    *rules("joint", "armature", "a floating joint has none", "armature"),
    *rules("joint", "damping", "a floating joint has none", "damping"),
    *rules("joint", "friction", "a floating joint has none", "friction"),
    *rules("joint", "target_pos, target_vel", "a drive that is off has no target", "target_k"),
    *rules("joint", "q", "URDF has none; the importer starts within the limits", "initial coordinates"),
    *rules("joint", "q, axes, anchor", "free joints count from where they start", "coordinates of a free joint"),
    *rules("joint", "qd", "not in URDF", "initial rates"),
    *rules("joint", "swing_limit, twist_limit, angle_limit", "its hinges have none", "limits of a ball"),
    *rules("joint", EVERYTHING_OF_A_JOINT, "a chain of joints of one axis", "joint of several axes"),
    *rules("joint", EVERYTHING_OF_A_JOINT, "three hinges", "ball"),
    *rules("body", "missing, added", "links between the joints of a chain", "joint of several axes"),
    *rules("joint", "stiffness, spring_ref", "a planar or floating joint has none", "spring"),
    *rules("body", "position", "frames move to the joints", "frame of a body"),
    *rules("body", "kinematic", "not in URDF", "kinematic body"),
    *rules("body", "gravity_compensation", "all or nothing", "gravity compensation"),
    *rules("body", "mass, first moment, inertia", "MuJoCo's reader asks for some", largest=1e-12),
    *rules("shape", "missing", "not in URDF", "plane"),
    *rules("shape", "material torsional_friction, material rolling_friction", "no effect", "unused friction"),
    *rules("shape", GEOMETRY, "written as a mesh", "height field"),
    *rules("shape", GEOMETRY, "written as a mesh", "ellipsoid"),
    *rules("shape", GEOMETRY, "written as a mesh", "cone"),
    *rules("shape", "type", "hulls are meshes that an option makes hulls", "convex hull"),
    *rules("shape", "color", "collisions have none", "color"),
    *rules("shape", "visible", "collisions of a link without visuals are shown", "hidden shape"),
    *rules("shape", "added, visible", "what shows and collides is two things in URDF", "shape"),
    *rules("shape", "missing", "it neither shows nor collides", "shape"),
    *(
        rule
        for name in ("static friction", "time constant", "damping ratio", "impedance", "stiffness", "dissipation")
        for rule in rules("shape", f"material {name.replace(' ', '_')}, material reference", "not in URDF", name)
    ),
    *rules("shape", "material combine", "not in URDF", "combine of materials"),
    *rules("shape", "material priority", "not in URDF", "priority of materials"),
    *rules("shape", "material contact_dim", "URDF has friction always", "contact dimension"),
    *rules("shape", CONTACT, "a link has one surface", "materials that differ on one link"),
    *rules("equality", "type, data, turn", "loops are Gazebo's joints", "connect"),
    *rules("equality", "type, data, turn", "loops are Gazebo's joints", "weld"),
    *rules("equality", "reference, impedance, torque_scale", "not in URDF", "softness"),
    *rules("equality", "missing", "not in URDF", "joint equality"),
    *rules("equality", "missing", "open at zero coordinates", "connect"),
    *rules("equality", "missing", "open at zero coordinates", "weld"),
    *rules("equality", "missing", "open at zero coordinates", "loop"),
    *rules("equality", "missing", "not in URDF", "distance"),
    *rules("site", "missing", "sites are links", "site"),
    *rules("tendon", "missing", "not in URDF", "tendon"),
    *rules("actuator", "missing", "only plain motors on one joint", "actuator"),
    *rules("sensor", "missing", "not in URDF", "sensor"),
    *rules("keyframe", "missing", "not in URDF", "keyframe"),
    *rules("contact pair", "missing", "not in URDF", "contact pair"),
    *rules("tendon equality", "missing", "not in URDF", "tendon equality"),
    *rules("scene", "custom", "not in URDF", "custom value"),
    *rules("scene", "pairs", "add_urdf filters those that overlap", "collision filters", only=gained),
    *rules("scene", "pairs", "planes are lost", "plane", only=lost),
    *rules("scene", "pairs", "masks and groups are lost", "contype"),
    *rules("scene", "pairs", "masks and groups are lost", "conaffinity"),
    *rules("scene", "pairs", "add_urdf filters pairs that overlap at zero coordinates", "pair", only=lost),
    *rules("scene", "pairs", "URDF's children do not touch their parents", "contact with the parent", only=lost),
    *rules("scene", "pairs", "bodies that stand still do not touch each other", "kinematic body", only=gained),
    *rules("scene", "pairs", "links of a chain stand between", "joint of several axes", only=gained),
    *rules("scene", "option disabled, option enabled, option other", "not in URDF", "option"),
    *rules("scene", "option integrator", "MuJoCo has no such one", "integrator"),
]

EXPLAINED = {"mjcf": MJCF, "urdf": URDF, "usd": USD}


def read(path: Path, roots: Path | None = None, **options):
    """A builder with what the file holds."""
    builder = sim.ModelBuilder()
    read_into(builder, path, roots, **options)
    return builder


def read_into(builder, path: Path, roots: Path | None = None, **options) -> ImportReport:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if path.suffix == ".urdf":
            packages = [] if roots is None else [roots / name for name in PACKAGES]
            return builder.add_urdf(path, allow_paths=True, package_roots=packages, **options)
        if path.suffix == ".xml":
            return builder.add_mjcf(path, allow_paths=True, **options)
        return builder.add_usd(path, **options)


def write(builder, path: Path) -> ExportReport:
    """Write a builder in the format of the suffix."""
    export = {".xml": sim.export_mjcf, ".urdf": sim.export_urdf}.get(path.suffix, sim.export_usd)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return export(builder, path)


def read_again(builder, path: Path, report: ExportReport):
    """The file that ``write`` made, with the options that the format needs to say the same; and the report."""
    options: dict = {}
    if path.suffix != ".xml":
        options["velocity_limits"] = True
    if path.suffix not in (".xml", ".urdf"):
        options["filter_overlapping"] = False
    if any(note.what == "free base" for note in report.rewritten):
        scene = make_scene(builder, 0, ExportNotes("", "", False), ("Z",))
        base = scene.elements.joints[scene.below[WORLD][0]].child
        options |= {"floating": True, "xform": scene.initial.pose[base]}
    again = sim.ModelBuilder()
    imported = read_into(again, path, **options)
    if path.suffix == ".urdf":
        without_extra_links(again, report)
        plain_shape_labels(again, imported, builder)
    return again, imported


def without_extra_links(builder, report: ExportReport) -> None:
    """Take out the links that stand for the world and for sites: what hangs on them hangs on what carries them."""
    sites = [note.where.removeprefix("site ") for note in report.rewritten if note.what == "site"]
    extra = {f"{ast.literal_eval(label)}_site" for label in sites}
    if any(note.what == "world" for note in report.rewritten):
        extra.add(builder.joints[0].label)
    keep = [index for index, joint in enumerate(builder.joints) if joint.label not in extra]
    builder.collapse_fixed_joints(keep)


def plain_shape_labels(builder, report: ImportReport, original) -> None:
    """Give shapes the labels that they have in the original, without the link's name or a number, which URDF adds.

    Where a shape became a visual and a collision, it is the one that collides as the original does. In the report too.
    """
    collides = {shape.label: shape.collides for shape in original.shapes}
    given, called = [shape.label for shape in builder.shapes], {}
    for as_original in (True, False):
        for label, shape in zip(given, builder.shapes, strict=True):
            free = [name for name in _shorter(label) if name in collides and name not in called.values()]
            free = [name for name in free if not as_original or collides[name] == shape.collides]
            if free and label not in called:
                called[label] = free[0]
    by_name = {name: label for label, name in called.items()}
    for label in given:  # whose own label another got takes that one's
        if label not in called and label in by_name:
            called[label] = by_name[label]
    for label, shape in zip(given, builder.shapes, strict=True):
        shape.label = called.get(label, label)
    for i, note in enumerate(report.filtered):
        first = next(a for a in given if note.where.startswith(f"{a} and ") and note.where[len(a) + 5 :] in given)
        second = note.where[len(first) + 5 :]
        where = f"shapes {called.get(first, first)!r} and {called.get(second, second)!r}"
        report.filtered[i] = Note(note.what, where, note.reason)


def _shorter(label: str) -> list[str]:
    """The label, without the first names of its path, and these without a number at the end."""
    parts = label.split("/")
    paths = ["/".join(parts[i:]) for i in range(len(parts))]
    return [*paths, *(re.sub(r"_\d+$", "", path) for path in paths)]


def told(exported: ExportReport, imported: ImportReport) -> dict[str, set[str]]:
    """What the notes of an export and of the import after it are about, by the element that they name."""
    found: dict[str, set[str]] = {}
    for note in (*exported.lost, *exported.rewritten, *imported.filtered):
        found.setdefault(note.where, set()).add(note.what)
    return found


def unexplained(before, format_name: str, folder: Path) -> list[Difference]:
    """Write a builder, read it again, and return the differences that no rule explains."""
    path = folder / f"out{SUFFIXES[format_name]}"
    report = write(before, path)
    after, imported = read_again(before, path, report)
    found, about = (
        differences(before, after, TOLERANCES[format_name], zero=format_name == "urdf"),
        told(report, imported),
    )
    return [one for one in found if not any(rule.explains(one, about) for rule in EXPLAINED[format_name])]
