"""Composition: references, payloads, variants, instances, times, purposes, nesting, and the user's own stage."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from pxr import Usd, UsdGeom

from simengine.builder.builder import ModelBuilder
from simengine.builder.importers.usd.limits import UsdLimits
from simengine.errors import AssetError, MissingExtraError, ModelError
from tests.builder.importers.usd.stages import HEADER, body, joint, load, notes, prim, translated, write_stage

BALL = prim("Sphere", "ball", "PhysicsCollisionAPI", radius_double=0.5)
METRIC = HEADER.format(up="Z", metre=1, kilogram=1)


def part_file(folder, text=BALL, name="part.usda", root="root"):
    """A layer with a default prim that holds ``text``."""
    header = METRIC.replace("(\n", f'(\n    defaultPrim = "{root}"\n', 1)
    (folder / name).write_text(header + prim("Xform", root, inside=text))
    return name


@pytest.mark.parametrize("arc", ["references", "payload"])
def test_references_and_payloads_are_read(tmp_path, arc):
    name = part_file(tmp_path)
    builder, _ = load(tmp_path, prim("Xform", "a", meta=f"prepend {arc} = @./{name}@"))
    assert [shape.label for shape in builder.shapes] == ["ball"]


def test_sublayers_are_read(tmp_path):
    (tmp_path / "under.usda").write_text(METRIC + BALL)
    path = write_stage(tmp_path)
    path.write_text(METRIC.replace("(\n", "(\n    subLayers = [@./under.usda@]\n", 1))
    builder = ModelBuilder()
    builder.add_usd(path)
    assert len(builder.shapes) == 1


def test_variants_are_read_as_they_are_chosen(tmp_path):
    variants = """
    variantSet "size" = {
        "small" {
            over "ball" { double radius = 0.1 }
        }
        "large" {
            over "ball" { double radius = 9 }
        }
    }
"""
    variants = variants.replace("{ double", "{\n double").replace(" }\n        }", "\n }\n        }")
    meta = 'variants = {\n string size = "large"\n }\n prepend variantSets = "size"'
    plain = prim("Sphere", "ball", "PhysicsCollisionAPI")
    builder, _ = load(tmp_path, prim("Xform", "a", meta=meta, inside=variants + plain))
    assert builder.shapes[0].size[0] == pytest.approx(9)


def test_each_instance_is_read_once(tmp_path):
    name = part_file(tmp_path, body("link", inside=BALL))
    copies = [
        prim("Xform", f"copy{i}", meta=f"instanceable = true\nprepend references = @./{name}@", **translated(i, 0, 0))
        for i in range(3)
    ]
    builder, report = load(tmp_path, *copies)
    assert list(report.bodies) == [f"/copy{i}/link" for i in range(3)]
    assert [len([s for s in builder.shapes if s.body == b]) for b in range(3)] == [1, 1, 1]
    assert [builder.bodies[i].xform[0] for i in range(3)] == [0, 1, 2]


def test_instances_in_instances_are_read(tmp_path):
    inner = part_file(tmp_path, BALL, "inner.usda")
    nested = "\n".join(
        prim("Xform", f"n{i}", meta=f"instanceable = true\nprepend references = @./{inner}@") for i in range(2)
    )
    outer = part_file(tmp_path, nested, "outer.usda")
    builder, _ = load(
        tmp_path,
        *(prim("Xform", f"o{i}", meta=f"instanceable = true\nprepend references = @./{outer}@") for i in range(2)),
    )
    assert len(builder.shapes) == 4


def test_inactive_prims_are_not_read(tmp_path):
    builder, _ = load(tmp_path, prim("Xform", "a", inside=BALL, meta="active = false"))
    assert not builder.shapes


SAMPLES = """
    double radius = 1
    double radius.timeSamples = { 0: 2, 10: 4 }
    double3 xformOp:translate.timeSamples = { 0: (0, 0, 0), 10: (10, 0, 0) }
    uniform token[] xformOpOrder = ["xformOp:translate"]
"""
SAMPLES = SAMPLES.replace("{ ", "{\n ").replace(" }", "\n }").replace(", 10:", ",\n 10:")


@pytest.mark.parametrize(("time", "radius", "x"), [(0, 2, 0), (5.0, 3, 5), (10, 4, 10), (99, 4, 10)])
def test_values_are_those_of_the_time(tmp_path, time, radius, x):
    builder, _ = load(tmp_path, prim("Sphere", "s", "PhysicsCollisionAPI", inside=SAMPLES), time=time)
    assert builder.shapes[0].size[0] == pytest.approx(radius)
    assert builder.shapes[0].xform[0] == pytest.approx(x)


def test_without_a_time_defaults_count_and_values_at_times_alone_are_told_of(tmp_path):
    builder, report = load(tmp_path, prim("Sphere", "s", "PhysicsCollisionAPI", inside=SAMPLES))
    assert builder.shapes[0].size[0] == pytest.approx(1)
    assert builder.shapes[0].xform[0] == 0
    warned = notes(report, "warned")
    assert "/s.xformOp:translate" in warned and "radius" not in warned


def test_values_of_physics_at_times_beside_a_default_are_told_of(tmp_path):
    sampled = body("a").replace(
        "float physics:mass", "float physics:mass.timeSamples = {0: 5, 1: 7}\nfloat physics:mass"
    )
    builder, report = load(tmp_path, sampled)
    assert builder.bodies[0].mass == 1
    assert "values at times (/a.physics:mass)" in notes(report, "warned")
    builder, report = load(tmp_path, sampled, time=1.0)
    assert builder.bodies[0].mass == 7
    assert not report.warned


@pytest.mark.parametrize("arc", ["sublayer", "reference"])
@pytest.mark.parametrize(
    ("name", "units"),
    [("upAxis", {"up": "Y"}), ("metersPerUnit", {"metre": 0.01}), ("kilogramsPerUnit", {"kilogram": 2})],
)
def test_layers_of_other_units_than_the_stage_warn(tmp_path, arc, name, units):
    """Their numbers count as the stage's: so USD composes them."""
    write_stage(tmp_path, BALL, name="part.usda", **units)
    write_stage(tmp_path, BALL, name="same.usda")
    referring = prim("", "a", meta="references = @part.usda@</ball>") + prim(
        "", "b", meta="references = @same.usda@</ball>"
    )
    path = write_stage(tmp_path, referring if arc == "reference" else "")
    if arc == "sublayer":
        path.write_text(path.read_text().replace("(\n", "(\n    subLayers = [@part.usda@, @same.usda@]\n", 1))
    builder = ModelBuilder()
    with pytest.warns(UserWarning, match=name):
        report = builder.add_usd(path)
    assert [(note.what, note.where) for note in report.warned] == [(name, str(tmp_path / "part.usda"))]
    assert builder.shapes[0].size[0] == 0.5


@pytest.mark.parametrize(
    ("purpose", "collides_shown", "seen"),
    [("default", True, True), ("render", True, True), ("proxy", False, False), ("guide", False, False)],
)
def test_purposes_decide_what_shows_not_what_collides(tmp_path, purpose, collides_shown, seen):
    collider = prim("Sphere", "c", "PhysicsCollisionAPI", purpose_token=f'"{purpose}"')
    visual = prim("Sphere", "v", purpose_token=f'"{purpose}"')
    builder, _ = load(tmp_path, collider, visual)
    by_name = {shape.label: shape for shape in builder.shapes}
    assert by_name["c"].collides and by_name["c"].visible == collides_shown
    assert ("v" in by_name) == seen


def test_purpose_and_visibility_are_inherited(tmp_path):
    hidden = prim("Xform", "h", inside=prim("Sphere", "v"), visibility_token='"invisible"')
    guide = prim("Xform", "g", inside=prim("Sphere", "w"), purpose_token='"guide"')
    assert not load(tmp_path, hidden, guide)[0].shapes


def test_visuals_may_be_left_out(tmp_path):
    builder, _ = load(tmp_path, prim("Sphere", "v"), BALL, visuals=False)
    assert [shape.label for shape in builder.shapes] == ["ball"]


def test_nested_bodies_are_bodies_of_their_own(tmp_path):
    """As UsdPhysics' own parser has them: the inner one moves on its own, its shapes are its own."""
    inner = body("inner", (0, 0, 1), inside=BALL)
    builder, report = load(
        tmp_path, body("outer", (0, 0, 1), inside=inner + prim("Cube", "box", "PhysicsCollisionAPI"))
    )
    assert list(report.bodies) == ["/outer", "/outer/inner"]
    assert builder.bodies[1].xform[2] == pytest.approx(2)
    assert [shape.body for shape in builder.shapes] == [1, 0]
    assert "nested body (/outer/inner)" in notes(report, "warned")


def test_nested_bodies_that_reset_their_transform_or_are_on_joints_do_not_warn(tmp_path):
    reset = body("inner").replace('["xformOp', '["!resetXformStack!", "xformOp')
    assert not load(tmp_path, body("outer", inside=reset))[1].warned
    hinge = prim("PhysicsRevoluteJoint", "j", physics__body0_rel="</outer>", physics__body1_rel="</outer/inner>")
    _, report = load(tmp_path, body("outer", inside=body("inner")), hinge)
    assert not report.warned
    assert "/outer/inner" in notes(report, "defaulted")


def test_a_nested_body_is_part_of_one_that_has_nothing_to_weigh(tmp_path):
    """As the documentation of RigidBodyAPI has it; the outer one would move without mass otherwise."""
    inner = prim("Sphere", "inner", "PhysicsRigidBodyAPI", "PhysicsCollisionAPI", **translated(0, 0, 2))
    outer = prim("Xform", "outer", "PhysicsRigidBodyAPI", inside=inner, **translated(1, 0, 0))
    builder, report = load(tmp_path, outer)
    assert list(report.bodies) == ["/outer"]
    assert builder.shapes[0].body == 0
    assert builder.shapes[0].xform[:3] == pytest.approx((0, 0, 2))
    assert builder.bodies[0].mass == pytest.approx(1000 * 4 / 3 * np.pi)
    assert builder.bodies[0].com == pytest.approx((0, 0, 2))
    assert "part of /outer" in notes(report, "warned")


def test_a_nested_body_with_a_mass_that_would_be_lost_is_no_part(tmp_path):
    outer = prim("Xform", "outer", "PhysicsRigidBodyAPI", inside=body("inner"))
    with pytest.raises(AssetError, match="nor what hangs on it has a mass"):
        load(tmp_path, outer)


def test_a_shape_that_resets_its_transform_stays_on_its_body_where_it_stands(tmp_path):
    """As UsdPhysics' own parser has it."""
    loose = prim(
        "Sphere",
        "s",
        "PhysicsCollisionAPI",
        xformOp__translate_d3="(5, 0, 0)",
        xformOpOrder_order='["!resetXformStack!", "xformOp:translate"]',
    )
    builder, _ = load(tmp_path, body("a", (1, 1, 1), inside=loose))
    assert builder.shapes[0].body == 0
    np.testing.assert_allclose(builder.shapes[0].xform[:3], (4, -1, -1))


def test_a_body_that_is_not_enabled_is_part_of_the_world(tmp_path):
    builder, report = load(tmp_path, body("a", (1, 0, 0), inside=BALL, physics__rigidBodyEnabled_bool="false"))
    assert not builder.bodies and builder.shapes[0].body == -1
    assert "rigidBodyEnabled" in notes(report, "defaulted")


def test_velocities_turn_with_the_parent_and_from_degrees(tmp_path):
    moving = body("a", physics__velocity_v3="(1, 0, 0)", physics__angularVelocity_v3="(0, 180, 0)")
    parent = prim("Xform", "p", inside=moving, xformOp__rotateZ_double=90.0, xformOpOrder_order='["xformOp:rotateZ"]')
    builder, _ = load(tmp_path, parent, metre=0.01)
    np.testing.assert_allclose(builder.bodies[0].velocity, (0, 0.01, 0, -np.pi, 0, 0), atol=1e-12)


def test_velocities_of_bodies_on_joints_are_told_of(tmp_path):
    moving = body("a", physics__velocity_v3="(1, 0, 0)")
    _, report = load(tmp_path, moving, joint("PhysicsRevoluteJoint", "j", "", "/a"))
    assert "velocity" in notes(report, "ignored")


def test_what_is_under_a_prim_alone_is_read(tmp_path):
    prims = (body("a"), body("b"), joint("PhysicsRevoluteJoint", "j", "/a", "/b"))
    _, report = load(
        tmp_path, prim("Xform", "w", inside="\n".join(prims).replace("</", "</w/")), body("other"), prim_path="/w"
    )
    assert list(report.bodies) == ["/w/a", "/w/b"]
    with pytest.raises(AssetError, match="no such prim"):
        load(tmp_path, body("a"), prim_path="/nowhere")


def test_a_joint_that_leads_out_of_what_is_read_is_to_the_world_and_told_of(tmp_path):
    prims = (body("a"), prim("Xform", "w", inside=body("b") + joint("PhysicsRevoluteJoint", "j", "/a", "/w/b")))
    builder, report = load(tmp_path, *prims, prim_path="/w")
    assert [one.label for one in builder.bodies] == ["b"]
    assert builder.joints[0].parent == -1
    assert "/a is a body that is not read" in notes(report, "warned")


@pytest.mark.parametrize(
    "options",
    [
        {"prim_path": "relative"},
        {"time": float("nan")},
        {"time": "now"},
        {"tiem": 1},
        {"usd_limits": 3},
        {"usd_limits": {"prims": 3}},
    ],
)
def test_wrong_options_are_refused(tmp_path, options):
    with pytest.raises(ModelError):
        load(tmp_path, body("a"), **options)


def test_a_users_stage_is_read_and_stays_as_it_is(tmp_path):
    name = part_file(tmp_path)
    path = write_stage(tmp_path, prim("Xform", "a", meta=f"instanceable = true\nprepend references = @./{name}@"))
    stage = Usd.Stage.Open(str(path))
    stage.GetPrimAtPath("/a").SetInstanceable(True)
    UsdGeom.Xformable(stage.GetPrimAtPath("/a")).AddTranslateOp().Set((1, 2, 3))  # an edit that is not saved
    before = stage.ExportToString()
    builder = ModelBuilder()
    builder.add_usd(stage)
    np.testing.assert_allclose(builder.shapes[0].xform[:3], (1, 2, 3))
    assert stage.ExportToString() == before
    assert stage.GetPrimAtPath("/a").IsInstance()
    assert stage.GetSessionLayer().empty


def test_a_stage_in_memory_is_read(tmp_path):
    stage = Usd.Stage.CreateInMemory()
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    stage.DefinePrim("/s", "Sphere").ApplyAPI("PhysicsCollisionAPI")
    builder = ModelBuilder()
    builder.add_usd(stage)
    assert builder.shapes[0].size[0] == pytest.approx(1.0)


def test_a_file_that_changed_is_read_anew(tmp_path):
    path = write_stage(tmp_path, prim("Sphere", "s", radius_double=1.0))
    held = Usd.Stage.Open(str(path))
    path.write_text(path.read_text().replace("radius = 1.0", "radius = 2.0") + "# longer\n")
    builder = ModelBuilder()
    builder.add_usd(path)
    assert builder.shapes[0].size[0] == 2.0
    assert held


def test_more_prims_than_the_cap_are_refused(tmp_path):
    prims = [prim("Xform", f"p{i}") for i in range(20)]
    with pytest.raises(AssetError, match="more prims"):
        load(tmp_path, *prims, usd_limits=UsdLimits(prims=10))


def test_without_the_package_the_command_that_installs_it_is_told(tmp_path, monkeypatch):
    path = write_stage(tmp_path, body("a"))
    monkeypatch.setitem(sys.modules, "pxr", None)
    with pytest.raises(MissingExtraError, match=r"simengine\[usd\]"):
        ModelBuilder().add_usd(path)
