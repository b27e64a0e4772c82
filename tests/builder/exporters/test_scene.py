"""Which world of a builder is written, and that the builder stays as it is."""

from __future__ import annotations

import warnings

import mujoco
import numpy as np
import pytest

import simengine as sim
from simengine.errors import ModelError
from tests.builder.exporters.compare import differences
from tests.builder.exporters.random_robots import every_joint
from tests.builder.exporters.round_trips import read


def ball(label: str, radius: float) -> sim.ModelBuilder:
    builder = sim.ModelBuilder()
    body = builder.add_body(label=label)
    builder.add_shape_sphere(body, radius)
    return builder


@pytest.mark.filterwarnings("ignore:.*cannot hold")
@pytest.mark.parametrize("suffix", [".xml", ".urdf", ".usda"])
def test_an_export_changes_nothing_in_the_builder(suffix, tmp_path):
    builder = every_joint(0)
    builder.add_ground_plane()
    before = builder._elements.key()
    export = {".xml": sim.export_mjcf, ".urdf": sim.export_urdf, ".usda": sim.export_usd}[suffix]
    export(builder, tmp_path / f"out{suffix}")
    assert builder._elements.key() == before


@pytest.mark.filterwarnings("ignore:.*cannot hold")
def test_one_of_many_worlds_is_written_with_the_shared_shapes(tmp_path):
    builder = sim.ModelBuilder()
    builder.replicate(ball("ball", 0.1), 3)
    builder.add_ground_plane()
    report = sim.export_mjcf(builder, tmp_path / "out.xml")
    assert [note.what for note in report.rewritten if "worlds" in note.what] == ["3 worlds"]
    again = read(tmp_path / "out.xml")
    assert [body.label for body in again.bodies] == ["ball"]
    assert [shape.label for shape in again.shapes] == ["ground", "shape_0"]


@pytest.mark.filterwarnings("ignore:.*cannot hold")
def test_worlds_that_differ_are_told_and_chosen_by_number(tmp_path):
    builder = sim.ModelBuilder()
    builder.replicate(ball("small", 0.1), 2)
    builder.add_builder(ball("large", 0.5), label_prefix="giant")
    report = sim.export_mjcf(builder, tmp_path / "out.xml", world=2)
    assert [note.what for note in report.lost if "worlds" in note.what] == ["3 worlds"]
    assert [body.label for body in read(tmp_path / "out.xml").bodies] == ["giant/large"]
    for world in (3, -1, True, 1.0):
        with pytest.raises(ModelError, match="number of one of the 3 worlds"):
            sim.export_mjcf(builder, tmp_path / "out.xml", world=world)


def test_what_finalize_refuses_is_refused(tmp_path):
    builder = sim.ModelBuilder()
    builder.add_body(mass=1.0)
    with pytest.raises(ModelError, match="neither inertia nor a shape"):
        sim.export_urdf(builder, tmp_path / "out.urdf")


@pytest.mark.filterwarnings("ignore:.*cannot hold")
@pytest.mark.parametrize("up_axis", ["X", "Y"])
def test_a_builder_with_another_up_axis_is_turned_and_turned_back(up_axis, tmp_path):
    builder = sim.ModelBuilder(up_axis=up_axis)
    body = builder.add_body(xform=(1, 2, 3, 0, 0, 0, 1), label="crate")
    builder.add_shape_box(body, 0.1, 0.2, 0.3, material=sim.Material(combine="mjcf"), density=0.0, mass=None)
    builder.bodies[0].mass, builder.bodies[0].inertia = 1.0, (1, 0, 0, 0, 2, 0, 0, 0, 2.5)
    builder.add_ground_plane(material=sim.Material(combine="mjcf"))
    sim.export_mjcf(builder, tmp_path / "out.xml")
    again = sim.ModelBuilder(up_axis=up_axis)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        again.add_mjcf(tmp_path / "out.xml")
    assert again.gravity == pytest.approx(builder.gravity)
    found = {(one.kind, one.field) for one in differences(builder, again)}
    assert found <= {("scene", "option integrator"), ("scene", "option cone")}


@pytest.mark.parametrize("export", [sim.export_mjcf, sim.export_usd])
@pytest.mark.parametrize("up", ["X", "Y", "Z"])
def test_wind_and_flux_come_back_in_a_builder_of_the_same_up_axis(tmp_path, export, up):
    builder = sim.ModelBuilder(up_axis=up)
    builder.add_shape_sphere(builder.add_body(label="a"), 0.1)
    builder.options.wind, builder.options.magnetic = (1.0, 2.0, 3.0), (0.0, -0.5, 0.25)
    path = tmp_path / ("a.xml" if export is sim.export_mjcf else "a.usda")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        export(builder, path)
        back = sim.ModelBuilder(up_axis=up)
        (back.add_mjcf if export is sim.export_mjcf else back.add_usd)(path)
    np.testing.assert_allclose(back.options.wind, builder.options.wind, atol=1e-12)
    np.testing.assert_allclose(back.options.magnetic, builder.options.magnetic, atol=1e-12)


def test_wind_blows_along_the_files_own_axes(tmp_path):
    """A builder with Y up is written with Z up: what blew along y, upwards, blows along z in the file."""
    builder = sim.ModelBuilder(up_axis="Y")
    builder.add_shape_sphere(builder.add_body(label="a"), 0.1)
    builder.options.wind = (0.0, 2.0, 0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        sim.export_mjcf(builder, tmp_path / "a.xml")
    wind = mujoco.MjModel.from_xml_path(str(tmp_path / "a.xml")).opt.wind
    np.testing.assert_allclose(wind, (0, 0, 2), atol=1e-12)
