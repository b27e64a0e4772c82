"""Writing a builder to a USD file."""

from __future__ import annotations

import math
import os
import tempfile
from pathlib import Path

from simengine.builder.exporters.files import NewFiles
from simengine.builder.exporters.report import ExportNotes, ExportReport
from simengine.builder.exporters.scene import disabled_flags, make_scene
from simengine.builder.exporters.usd.bodies import write_body
from simengine.builder.exporters.usd.deformables import write_deformables
from simengine.builder.exporters.usd.joints import Joints, write_articulations
from simengine.builder.exporters.usd.mechanisms import lose_rest, write_actuators, write_sites, write_tendons
from simengine.builder.exporters.usd.shapes import Shapes, write_filters
from simengine.builder.exporters.usd.states import write_keyframes
from simengine.builder.exporters.usd.writer import ROOT, Writer, author
from simengine.errors import AssetError, MissingExtraError

SUFFIXES = (".usda", ".usdc", ".usd")
OPTIONS = ("integrator", "cone", "impratio", "iterations", "tolerance", "density", "viscosity", "wind", "magnetic")


def export_usd(builder, path: str | os.PathLike, *, strict: bool = False, world: int = 0) -> ExportReport:
    """Write one world of a builder, with the static shapes that all worlds share, to a USD file.

    UsdPhysics holds bodies, masses, colliders, materials, joints, limits and drives; attributes of Newton's and of
    MuJoCo's schemas what it lacks (armature, springs, friction, softness, tendons, actuators), of PhysX's the initial
    coordinates. Metres, kilograms; labels that are no names of prims are their display names. UsdPhysics' numbers are
    of single precision. An existing file of that name is replaced whole; on an error it stays as it was.

    Args:
        builder: a ModelBuilder; it stays as it is.
        path: the file, ending in ``.usda`` (text), ``.usdc`` (compact) or ``.usd``.
        strict: refuse whatever USD cannot hold; else the report lists it as ``lost``, and one warning says so.
        world: which of the builder's worlds.

    Raises:
        ModelError: an argument is wrong, or the builder is one that ``finalize`` refuses.
        UnsupportedError: with ``strict``, something cannot be written.
        AssetError: the file cannot be written. MissingExtraError: usd-core is not installed.
    """
    try:
        import pxr  # noqa: F401
    except ImportError:
        raise MissingExtraError("usd-core", "usd", "writing USD") from None
    files = NewFiles(path, SUFFIXES, "export_usd")
    notes = ExportNotes(path, "USD", strict)
    scene = make_scene(builder, world, notes, ("Z", "Y"))
    writer = Writer(scene, notes, builder.up_axis if builder.up_axis in ("Y", "Z") else "Z")
    _write_scene(writer)
    for index in range(len(scene.elements.bodies)):
        write_body(writer, index)
    shapes, joints = Shapes(writer), Joints(writer)
    for index in range(len(scene.elements.shapes)):
        shapes.add(index)
    for index in range(len(scene.elements.joints)):
        joints.add(index)
    for index in range(len(scene.elements.equalities)):
        joints.add_equality(index)
    write_articulations(writer, joints)
    write_filters(writer)
    write_sites(writer)
    write_tendons(writer, joints)
    write_actuators(writer, joints)
    write_keyframes(writer)
    write_deformables(writer)
    lose_rest(writer)
    notes.report.files = files.write(_data(writer.stage, files.path))
    notes.warn()
    return notes.report


def _write_scene(writer: Writer) -> None:
    """Gravity and options."""
    from pxr import Gf, UsdPhysics

    options, gravity = writer.scene.elements.options, writer.scene.gravity
    scene = UsdPhysics.Scene.Define(writer.stage, f"{ROOT}/PhysicsScene")
    strength = math.sqrt(sum(x * x for x in gravity))
    scene.CreateGravityMagnitudeAttr(strength)
    if strength:
        scene.CreateGravityDirectionAttr(Gf.Vec3f(*(x / strength for x in gravity)))
    prim = scene.GetPrim()
    author(prim, "MjcSceneAPI", mjc__compiler__angle="radian", mjc__option__timestep=options.dt)
    author(prim, "MjcSceneAPI", **{f"mjc__option__{name}": getattr(options, name) for name in OPTIONS})
    author(prim, "MjcSceneAPI", **{f"mjc__option__{name}": value for name, value in options.other})
    disabled = disabled_flags(writer.scene, writer.notes)
    flags = {name: False for name in disabled} | {name: True for name in options.enabled}
    author(prim, "MjcSceneAPI", **{f"mjc__flag__{name}": value for name, value in flags.items()})


def _data(stage, path: Path) -> bytes:
    """The bytes of the file: USD writes its compact form to files alone."""
    layer = stage.GetRootLayer()
    if path.suffix.lower() == ".usda":
        return layer.ExportToString().encode()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / f"stage{path.suffix.lower()}"
        if not layer.Export(str(place)):
            raise AssetError("cannot be written by usd-core", file=path)
        return place.read_bytes()
