"""Reading what a USD file or stage describes into a builder."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import partial

from simengine.builder.frames import Pose
from simengine.builder.importers.flags import turn_off
from simengine.builder.importers.front import Import, naming_places
from simengine.builder.importers.options import ImportOptions, check_kind
from simengine.builder.importers.report import ImportReport
from simengine.builder.importers.usd.bodies import BodyReader
from simengine.builder.importers.usd.build import Build
from simengine.builder.importers.usd.document import Scene
from simengine.builder.importers.usd.frames import Frames
from simengine.builder.importers.usd.geometry import GeometryReader
from simengine.builder.importers.usd.joints import JointReader
from simengine.builder.importers.usd.kept import Extras
from simengine.builder.importers.usd.keyframes import Keyframes
from simengine.builder.importers.usd.limits import UsdLimits
from simengine.builder.importers.usd.mechanisms import Mechanisms
from simengine.builder.importers.usd.parse import Found, find, parse
from simengine.builder.importers.usd.reading import PrimPlace, Reader, count_attributes
from simengine.builder.importers.usd.scenes import read_scenes
from simengine.builder.importers.usd.stage import (
    is_stage,
    open_stage,
    require_usd,
    stage_units,
    stage_up_axis,
    usd_messages,
)
from simengine.builder.importers.usd.tree import plan_tree
from simengine.builder.meshes.files import MeshLimits
from simengine.errors import ModelError
from simengine.values import number

CUSTOM = 64  # numbers of a custom attribute that is kept for the user


@dataclass(frozen=True)
class UsdOptions(ImportOptions):
    """Options of ``ModelBuilder.add_usd``: those of ``ImportOptions``, and these.

    Parameters
    ----------
    prim_path: the prim of which all that is at and below it is read; default all of the stage.
    time: time code of the values that are read; default the default values, as USD's own physics parser has them.
    visuals: read what is only seen too (shapes that do not collide).
    allow_missing: leave out layers that are not there, which is told; else they are refused.
    usd_limits: caps on the layers and the stage; default UsdLimits().
    """

    prim_path: str | None = None
    time: float | None = None
    visuals: bool = True
    allow_missing: bool = False
    usd_limits: UsdLimits | None = None

    def __post_init__(self):
        super().__post_init__()
        if self.prim_path is not None and not (isinstance(self.prim_path, str) and self.prim_path.startswith("/")):
            raise ModelError(
                f'is {self.prim_path!r}; it must be a path such as "/World/Robot"', element="import, prim_path"
            )
        if self.time is not None:
            number(self.time, "import, time")
        check_kind("usd_limits", self.usd_limits, UsdLimits)


def import_usd(builder, source, **options) -> ImportReport:
    """Add what a USD file or stage describes to a builder's own world; on an error the builder is as it was.

    Labels are the prims' displayName, else their names, and their full paths where two are alike. Keys of
    ``report.bodies`` and ``report.joints`` are prim paths. Every quantity is turned from the stage's units and up axis
    into SI and the builder's. Joints start where the poses of the bodies put them.

    Args:
        builder: the ModelBuilder. Its ``default_material``, ``default_joint`` and ``default_density`` hold where the
            file says nothing.
        source: path of a .usd, .usda, .usdc or .usdz file, or a Usd.Stage, which stays as it is.
        options: fields of ``UsdOptions``.

    Raises:
        AssetError: the file, or one that it is composed of, cannot be read or is refused: file, prim path, attribute.
        ModelError: an option is wrong, or a label is taken already.
        MissingExtraError: usd-core is not installed, or SciPy for a convex hull.
    """
    require_usd()
    settings = UsdOptions.of(options, "add_usd")
    job = Import(builder, _path(source), settings, "add_usd")
    with usd_messages(str(job.path)):  # its errors become ours wherever they come up
        stage = open_stage(job, source, settings)
        build = _read(job, stage)
    job.filter_overlaps()
    job.set_drives()
    return _finish(job, build)


def _read(job: Import, stage) -> Build:
    """Read a stage into the scratch builder."""
    settings, file = job.options, str(job.path)
    top = _top(stage, job)
    reader = Reader(file, stage_units(stage, file), job.notes)
    up_axis = stage_up_axis(stage, job)
    base = job.base(up_axis)
    found = find(stage, top, file)
    all_prims = found.prims if settings.prim_path is None else list(stage.Traverse())
    disabled = read_scenes(job, reader, all_prims, up_axis)
    reader.dt = job.scratch.options.dt or reader.dt
    scene = Scene()
    geometry = GeometryReader(reader, settings.mesh_limits or MeshLimits())
    bodies = BodyReader(scene, reader, Frames(reader, base), geometry, job.builder.default_density)
    joints = JointReader(reader, bodies, settings.velocity_limits, _in_degrees(reader, all_prims))
    build = Build(job.scratch, scene, reader)
    with naming_places(partial(_place, job, scene)):
        parse(stage, found, bodies, joints, settings.visuals)
        _build(job, build, bodies, found, base)
        job.check()
        build.scale_drives()
        turn_off(job, disabled)
    _count(job.report, scene, build, found)
    custom: list[tuple] = []
    count_attributes(found.prims, reader, partial(_keep_custom, job, custom))
    job.scratch.custom = tuple(custom)
    job.report.name = str(stage.GetDefaultPrim().GetName()) if stage.GetDefaultPrim() else top.GetName()
    return build


def _build(job: Import, build: Build, bodies: BodyReader, found: Found, base: Pose) -> None:
    scene = build.scene
    roots = {str(prim) for _, descriptor in found.roots for prim in descriptor.rootPrims}
    plan = plan_tree(scene, roots)
    build.add_bodies(plan)
    build.add_joints(plan)
    build.add_shapes()
    build.add_filters(plan)
    extras = Extras(job, build, bodies)
    sites = extras.add_sites(found.prims)
    extras.add_mimics(found.joints)
    extras.add_deformables(found.prims)
    Mechanisms(build, bodies, sites).add(found.prims)
    Keyframes(job, build, base).add(found.prims)


def _finish(job: Import, build: Build) -> ImportReport:
    """Merge, and name the joints in the report by the paths of their prims."""
    paths = {build.builder.joints[index].label: path for path, index in build.joints.items()}
    report = job.finish(build.bodies)
    report.joints = {paths.get(label, label): index for label, index in report.joints.items()}
    for part, (path, _) in build.scene.stacked.items():
        report.joints[part] = report.joints[path]
    return report


def _path(source) -> str | os.PathLike:
    if not is_stage(source):
        return source
    layer = source.GetRootLayer()
    return layer.realPath or layer.identifier


def _top(stage, job: Import):
    """The prim under which all is read."""
    path = job.options.prim_path
    if path is None:
        return stage.GetPseudoRoot()
    from pxr import Sdf

    prim = stage.GetPrimAtPath(path) if Sdf.Path.IsValidPathString(path)[0] else None
    if not prim:
        raise PrimPlace(str(job.path), path).error("there is no such prim in the stage")
    return prim


def _in_degrees(reader: Reader, prims: list) -> bool:
    """Whether MjcPhysics' angles are degrees: what the compiler option of the first scene says, else yes."""
    for prim in prims:
        if str(prim.GetTypeName()) == "PhysicsScene":
            return reader.word(prim, "mjc:compiler:angle", "degree") == "degree"
    return True


def _place(job: Import, scene: Scene, label: str) -> PrimPlace:
    """The prim that a label belongs to, else the whole file."""
    for one in (*scene.bodies.values(), *scene.joints.values(), *scene.parts):
        if one.label == label:
            return PrimPlace(str(job.path), one.path)
    return PrimPlace(str(job.path), "/")


def _count(report: ImportReport, scene: Scene, build: Build, found: Found) -> None:
    report.count("prims", len(found.prims))
    report.count("bodies", len(scene.bodies))
    for joint in scene.joints.values():
        kind = joint.kind if joint.kind != "axes" else f"{len(joint.axes)}-axis"
        report.count(f"{joint.equality or kind} joints")
    report.count("articulations", len(scene.articulations))
    report.count("colliders", len({part.path for part in scene.parts if part.enabled and part.path in found.shapes}))
    report.count("visuals", len({part.path for part in scene.parts if part.path not in found.shapes}))
    report.count("sites", len(build.builder.sites))
    for kind in ("tendons", "actuators", "keyframes", "deformables"):
        report.count(kind, len(getattr(build.builder, kind)))


def _keep_custom(job: Import, kept: list, name: str, attribute) -> None:
    """Add an attribute that is in no schema to what is kept for the user, where it is small."""
    if "asset" in str(attribute.GetTypeName()):
        value = None
    else:
        value = _plain(attribute.Get())
    place = PrimPlace(str(job.path), attribute.GetPrim().GetPath(), attribute.GetName())
    if value is None:
        job.notes.note("ignored", "custom attribute", place, f"a file name, or more than {CUSTOM} numbers")
    else:
        kept.append((name, value))


def _plain(value):
    """A value of USD as numbers, texts and tuples of them; None where it is large or of another kind."""
    if isinstance(value, bool | int | float | str):
        return value
    if hasattr(value, "GetImaginary"):
        return (*map(float, value.GetImaginary()), float(value.GetReal()))
    if hasattr(value, "__len__") and len(value) <= CUSTOM:
        parts = tuple(_plain(one) for one in value)
        return None if any(part is None for part in parts) else parts
    return None
