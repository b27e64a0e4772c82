"""The way of every file into a builder: read into a scratch builder, checked there, and merged in one step.

An importer makes an ``Import``, adds what it reads to ``Import.scratch`` by the methods of ModelBuilder, notes what it
defaults, ignores, keeps and repairs, and calls ``finish``. On any error the user's builder is as it was.
"""

from __future__ import annotations

import importlib
import os
import warnings
from collections.abc import Callable
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

from simengine.builder.frames import Pose, Quaternion, compose, quat_between, quat_rotate
from simengine.builder.importers.mesh_shelf import MeshShelf
from simengine.builder.importers.options import ImportOptions
from simengine.builder.importers.overlaps import Overlaps, kept_overlaps
from simengine.builder.importers.paths import PathRules
from simengine.builder.importers.report import UNKNOWN, ImportReport, Note, Notes, Place
from simengine.builder.importers.zero_pose import ZeroPose, is_driven
from simengine.builder.meshes.files import MeshLimits
from simengine.builder.template import compile_template
from simengine.builder.values import AXES, pose
from simengine.errors import ModelError, warn_user
from simengine.values import flag

READERS = {
    "urdf": "simengine.builder.importers.urdf.urdf:import_urdf",
    "mjcf": "simengine.builder.importers.mjcf.mjcf:import_mjcf",
    "usd": "simengine.builder.importers.usd.usd:import_usd",
}
"""Module and function that reads each format."""


def import_file(builder, kind: str, source, options: dict) -> ImportReport:
    """Read a file into a builder by the importer of its format; with ``untrusted=True`` in a process of its own."""
    if flag(options.get("untrusted", False), "import, untrusted"):
        from simengine.builder.importers.untrusted import import_untrusted

        rest = {name: value for name, value in options.items() if name != "untrusted"}
        return import_untrusted(builder, READERS[kind], source, rest)
    module, _, name = READERS[kind].partition(":")
    return getattr(importlib.import_module(module), name)(builder, source, **options)


class Import:
    """One file on its way into a builder.

    Attributes:
        scratch: a ModelBuilder of the same up axis, gravity and defaults, to which the importer adds.
        report, notes: what is told of the file. paths: where files that it names may lie. meshes: those read so far.
    """

    def __init__(self, builder, path: str | os.PathLike, options: ImportOptions, caller: str):
        if not isinstance(path, str | os.PathLike):
            raise ModelError(f"is {path!r}; it must be a path, as a str or a Path", element=f"{caller}, path")
        if options.untrusted:
            raise ModelError("is an option of the methods of ModelBuilder alone", element=f"{caller}, untrusted")
        self.builder = builder
        self.path = Path(path)
        self.options = options
        self.report = ImportReport(os.fspath(path))
        self.notes = Notes(self.report, options.strict, options.unsupported)
        self.paths = PathRules(self.path, options.package_roots, options.allow_paths)
        self.meshes = MeshShelf(self.paths, options.mesh_limits or MeshLimits(), self.notes)
        self.scratch = type(builder)(up_axis=builder.up_axis, gravity=builder.gravity)
        self.scratch.default_material, self.scratch.default_joint = builder.default_material, builder.default_joint
        self.scratch.default_density = builder.default_density
        self.takes_gravity = False

    def base(self, up_axis: str = "Z") -> Pose:
        """Where the file's origin is put: ``xform`` after the turn from the file's up axis to the builder's."""
        return compose(pose(self.options.xform, "import, xform"), (0.0, 0.0, 0.0, *self._upright(up_axis)))

    def _upright(self, up_axis: str) -> Quaternion:
        """The turn from a file's up axis to the builder's."""
        return quat_between(AXES[up_axis], AXES[self.builder.up_axis])

    def set_gravity(self, vector, place: Place, up_axis: str = "Z") -> None:
        """Take gravity (m/s2, in the file's axes) from the file, unless the user's builder was given one.

        It is the world's: ``xform``, which puts what the file holds somewhere in the world, does not turn it.
        """
        turned = quat_rotate(self._upright(up_axis), tuple(map(float, vector)))
        self.scratch.gravity = turned
        given = self.builder._given_gravity
        self.takes_gravity = given is None
        if given is not None and max(abs(a - b) for a, b in zip(given, turned, strict=True)) > 1e-9:
            reason = f"it is {_listed(turned)}, but the builder was given {_listed(given)}, which stays"
            self.notes.note("warned", "gravity", place, reason)

    @cached_property
    def _zero_pose(self) -> ZeroPose:
        return ZeroPose(self.scratch)

    def filter_overlaps(self) -> None:
        """Filter pairs that overlap as the robot now stands, where the options ask for it.

        Call it while the coordinates are those in which the file draws the robot: its zero pose.
        """
        if not (self.options.self_collision and self.options.filter_overlapping):
            return
        found = kept_overlaps(self.scratch._elements, self._find_overlaps)
        if found.needed > found.held:
            looked = f"there are {found.needed} contacts, of which {found.held} were looked at"
            reason = f"{looked}; give self_collision=False"
            self.report.warned.append(Note("overlapping pairs", "zero pose", reason))
        for (first, second), depth in zip(found.pairs.tolist(), found.depth.tolist(), strict=True):
            self.scratch.add_shape_collision_filter_pair(first, second)
            names = " and ".join(self.scratch.shapes[i].label for i in (first, second))
            self.report.filtered.append(Note("pair", names, f"overlaps by {depth:.3g} m in the zero pose"))

    def _find_overlaps(self) -> Overlaps:
        return self._zero_pose.find_overlaps()

    def set_drives(self) -> None:
        """Set the drives that the options ask for; the file's own stay where they ask for none.

        Call it when the coordinates are the initial ones: the inertia that a drive holds is the one there.
        """
        options = self.options
        for joint in self.scratch.joints:
            if is_driven(joint.dofs):
                for dof in joint.dofs:
                    if options.drive_stiffness is not None:
                        dof.target_ke = float(options.drive_stiffness)
                    if options.drive_damping is not None:
                        dof.target_kd = float(options.drive_damping)
        if options.drive_frequency is not None:
            self._zero_pose.set_drives(options.drive_frequency)

    def check(self) -> None:
        """Refuse now what the user's own finalize would refuse."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the user's own finalize says it again
            compile_template(self.scratch._elements, (), self.scratch.gravity)

    def finish(self, bodies: dict[str, int]) -> ImportReport:
        """Put the checked scratch builder into the user's: the only step that touches it.

        ``bodies``: index in the scratch builder of each body by the file's name for it.
        """
        scratch, report, options = self.scratch, self.report, self.options
        mapping = scratch.collapse_fixed_joints() if options.collapse_fixed_joints else None
        names = [joint.label for joint in scratch.joints]
        offsets = self.builder.merge_builder(
            scratch, label_prefix=options.label_prefix, self_collision=options.self_collision
        )
        if self.takes_gravity:
            self.builder.gravity = scratch.gravity
        for name, body in bodies.items():
            index = body if mapping is None else mapping[body]
            report.bodies[name] = index + offsets.body if index >= 0 else index
        report.joints = {name: offsets.joint + index for index, name in enumerate(names)}
        report.shapes = list(range(offsets.shape, offsets.shape + len(scratch.shapes)))
        self._warn()
        return report

    def _warn(self) -> None:
        """One warning for what a user should look at; what was skipped on purpose is in the report alone."""
        report = self.report
        groups = {
            "repaired": report.repaired,
            "kept though it looks wrong": report.warned,
            "read but not simulated yet": report.kept,
            "unknown and skipped": [note for note in report.ignored if note.reason == UNKNOWN],
        }
        found = [f"{len(notes)} {what} (first: {notes[0]})" for what, notes in groups.items() if notes]
        if found:
            warn_user(f"{report.file}: {'; '.join(found)}; print the report for all")


def _listed(vector) -> str:
    return "(" + ", ".join(f"{x:g}" for x in vector) + ")"


@contextmanager
def naming_places(place_of: Callable[[str], Place]):
    """What a builder refuses, with the place in the file of the element whose label it names."""
    try:
        yield
    except ModelError as error:
        label = (error.element or "").partition("'")[2].partition("'")[0]
        raise place_of(label).error(str(error)) from None
