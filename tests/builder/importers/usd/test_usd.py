"""What is told of a file: labels, the report, strictness; scenes, materials, filters, and what is kept."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

from simengine.builder.builder import ModelBuilder
from simengine.builder.importers.usd.attributes import TABLE
from simengine.builder.material import Material
from simengine.errors import AssetError, ModelError
from tests.builder.importers.usd.stages import body, joint, load, notes, prim, scaled, translated, write_stage

BALL = prim("Sphere", "ball", "PhysicsCollisionAPI", radius_double=0.5)
DEGREE = math.pi / 180


def pairs(builder):
    """Labels of the pairs of shapes that are filtered."""
    shapes = builder.shapes
    return {frozenset((shapes[i].label, shapes[j].label)) for i, j in builder._elements.filters}


# labels and report


def test_labels_are_display_names_else_names_else_paths(tmp_path):
    named = body("x1").replace("(\n", '(\n    displayName = "Left Foot"\n', 1)
    twice = [prim("Xform", f"w{i}", inside=body("link", (i, 0, 0))) for i in range(2)]
    builder, report = load(tmp_path, named, body("plain"), *twice)
    assert [one.label for one in builder.bodies] == ["Left Foot", "plain", "/w0/link", "/w1/link"]
    assert list(report.bodies) == ["/x1", "/plain", "/w0/link", "/w1/link"]


def test_keys_of_the_report_are_paths_of_prims(tmp_path):
    builder = ModelBuilder()
    builder.add_body(mass=1, inertia=(1, 1, 1))
    path = write_stage(tmp_path, body("a"), body("b"), joint("PhysicsRevoluteJoint", "j", "/a", "/b"))
    report = builder.add_usd(path, label_prefix="robot")
    assert report.bodies == {"/a": 1, "/b": 2}
    assert builder.joints[report.joints["/j"]].label == "robot/j"
    assert builder.bodies[1].label == "robot/a"


def test_a_file_can_be_added_twice_with_prefixes_and_not_without(tmp_path):
    path = write_stage(tmp_path, body("a"))
    builder = ModelBuilder()
    builder.add_usd(path, label_prefix="one")
    builder.add_usd(path, label_prefix="two")
    assert [one.label for one in builder.bodies] == ["one/a", "two/a"]
    with pytest.raises(ModelError, match="taken"):
        builder.add_usd(path, label_prefix="two")
    assert len(builder.bodies) == 2


def test_an_error_leaves_the_builder_as_it_was(tmp_path):
    path = write_stage(tmp_path, body("a"), joint("PhysicsFixedJoint", "j", "/a", "/nowhere"), up="Y")
    builder = ModelBuilder()
    before = builder._elements.key()
    with pytest.raises(AssetError):
        builder.add_usd(path)
    assert builder._elements.key() == before
    assert builder._given_gravity is None


def test_fixed_joints_may_be_collapsed(tmp_path):
    prims = (
        body("a"),
        body("b", (1, 0, 0)),
        joint("PhysicsFixedJoint", "j", "/a", "/b", physics__localPos0_p3="(1, 0, 0)"),
    )
    builder, report = load(tmp_path, *prims, collapse_fixed_joints=True)
    assert len(builder.bodies) == 1
    assert report.bodies == {"/a": 0, "/b": 0}
    assert builder.bodies[0].mass == 2


def test_unknown_attributes_of_physics_warn_and_are_refused_where_strict(tmp_path):
    typo = body("a", physics__linearVelocity_v3="(1, 0, 0)")
    with pytest.warns(UserWarning, match="linearVelocity"):
        _, report = load(tmp_path, typo, quiet=False)
    assert report.attributes["unknown"] == 1
    with pytest.raises(AssetError, match="linearVelocity") as caught:
        load(tmp_path, typo, strict=True)
    assert caught.value.prim_path == "/a"


def test_strict_takes_a_file_of_which_all_is_read_and_appearance(tmp_path):
    ball = prim(
        "Sphere", "s", "PhysicsCollisionAPI", extent_points="[(-1, -1, -1), (1, 1, 1)]", doubleSided_bool="true"
    )
    load(tmp_path, body("a", inside=ball), prim("DistantLight", "sun", inputs__intensity_float=3.0), strict=True)


def test_a_misspelt_order_of_transforms_is_told(tmp_path):
    ball = prim("Sphere", "s", "PhysicsCollisionAPI", xformOp__translate_d3="(1, 0, 0)")
    ball = ball.replace("double3", 'uniform token[] xformOpOrders = ["xformOp:translate"]\ndouble3', 1)
    _, report = load(tmp_path, ball)
    assert "xformOpOrders" in notes(report, "ignored")
    assert report.attributes["unknown"] == 1


def test_attributes_of_schemas_that_are_not_used_are_named(tmp_path):
    _, report = load(tmp_path, prim("Xform", "x", physics__mass_float=3.0))
    assert "physics:mass" in notes(report, "ignored")
    with pytest.raises(AssetError, match="physics:mass"):
        load(tmp_path, prim("Xform", "x", physics__mass_float=3.0), strict=True)


def test_custom_attributes_are_kept_for_the_user(tmp_path):
    own = body("a", **{"my__color_string": '"red"', "my__gains_doubles": "[1, 2, 3]"}).replace(
        "string my", "custom string my"
    )
    builder, report = load(tmp_path, own.replace("double[] my", "custom double[] my"))
    assert dict(builder.custom) == {"/a.my:color": "red", "/a.my:gains": (1.0, 2.0, 3.0)}
    assert report.attributes["kept"] == 2


def test_custom_attributes_are_kept_in_the_order_of_the_file(tmp_path):
    lines = "\n".join(f"custom int my:n{i:04d} = {i}" for i in range(2000))
    builder, _ = load(tmp_path, prim("Xform", "a", inside=lines), prim("Xform", "b", inside="custom int my:n = -1"))
    assert builder.custom == (*((f"/a.my:n{i:04d}", i) for i in range(2000)), ("/b.my:n", -1))


def test_files_without_physics_are_scenery(tmp_path):
    builder, report = load(tmp_path, prim("Sphere", "s"), prim("Cube", "c"))
    assert [shape.collides for shape in builder.shapes] == [False, False]
    assert report.read["visuals"] == 2


@pytest.mark.parametrize("source", [3, None, ["a.usda"]])
def test_sources_that_are_no_path_are_refused(source):
    with pytest.raises(ModelError, match="path"):
        ModelBuilder().add_usd(source)


def test_colliders_on_what_is_no_gprim_are_named(tmp_path):
    builder, report = load(tmp_path, prim("Scope", "x", "PhysicsCollisionAPI", inside=prim("Sphere", "s")))
    assert "no surface" in notes(report, "ignored")
    assert [shape.collides for shape in builder.shapes] == [False]


@pytest.mark.parametrize("kind", ["Points", "PointInstancer", "BasisCurves", "NurbsPatch"])
def test_prims_that_are_passed_over_are_named(tmp_path, kind):
    _, report = load(tmp_path, prim(kind, "x"))
    assert f"{kind} prim (/x)" in notes(report, "ignored")


def test_prototypes_of_point_instancers_are_not_there_by_themselves(tmp_path):
    inside = prim("Xform", "prototypes", inside=BALL + body("a"))
    builder, _ = load(tmp_path, prim("PointInstancer", "many", inside=inside))
    assert not builder.shapes and not builder.bodies


def test_types_of_prims_that_no_schema_has_are_named(tmp_path):
    _, report = load(tmp_path, prim("PhysxPhysicsGearJoint", "gear"))
    assert "PhysxPhysicsGearJoint prim (/gear)" in notes(report, "ignored")


def test_physics_materials_of_parts_of_a_mesh_are_named(tmp_path):
    subset = prim("GeomSubset", "half", "MaterialBindingAPI", indices_ints="[0]", material__binding__physics_rel="</m>")
    triangle = {
        "points_points": "[(0, 0, 0), (1, 0, 0), (0, 1, 0)]",
        "faceVertexCounts_ints": "[3]",
        "faceVertexIndices_ints": "[0, 1, 2]",
    }
    mesh = prim("Mesh", "mesh", "PhysicsCollisionAPI", inside=subset, **triangle)
    _, report = load(tmp_path, prim("Material", "m", "PhysicsMaterialAPI"), mesh)
    assert "one physics material" in notes(report, "ignored")


@pytest.mark.parametrize("value", ['"3"', "[1]", "(1, 2)"])
def test_values_of_another_type_are_refused(tmp_path, value):
    kind = {'"': "string", "[": "floats", "(": "float2"}[value[0]]
    wrong = prim("Xform", "a", "PhysicsRigidBodyAPI", "PhysicsMassAPI", **{f"physics__mass_{kind}": value})
    with pytest.raises(AssetError, match="physics:mass"):
        load(tmp_path, wrong)


def test_every_row_of_the_table_that_is_ignored_or_kept_has_a_reason():
    for row in TABLE.rows.values():
        assert bool(row.reason) == (row.fate != "read"), row
        assert row.fate != "read" or row.target, row


# scenes


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({}, (0, 0, -9.81)),
        ({"physics__gravityMagnitude_float": "-inf"}, (0, 0, -9.81)),
        ({"physics__gravityDirection_v3": "(0, 0, 0)"}, (0, 0, -9.81)),
        ({"physics__gravityDirection_v3": "(3, 0, 4)", "physics__gravityMagnitude_float": 5.0}, (3, 0, 4)),
        ({"physics__gravityMagnitude_float": 0.0}, (0, 0, 0)),
        ({"newton__gravityEnabled_bool": "false"}, (0, 0, 0)),
    ],
)
def test_gravity(tmp_path, attributes, expected):
    builder, _ = load(tmp_path, prim("PhysicsScene", "s", **attributes))
    np.testing.assert_allclose(builder.gravity, expected, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("value", ["inf", "nan"])
def test_gravity_that_is_not_finite_is_refused(tmp_path, value):
    with pytest.raises(AssetError, match="gravityMagnitude"):
        load(tmp_path, prim("PhysicsScene", "s", physics__gravityMagnitude_float=value))


def test_the_users_gravity_stays_and_that_is_told(tmp_path):
    path = write_stage(tmp_path, prim("PhysicsScene", "s", physics__gravityMagnitude_float=1.0))
    builder = ModelBuilder(gravity=-3.0)
    with pytest.warns(UserWarning, match="gravity"):
        builder.add_usd(path)
    assert builder.gravity == (0, 0, -3)


def test_several_scenes_the_first_counts_and_owners_do_not_touch(tmp_path):
    scenes = [prim("PhysicsScene", f"s{i}", physics__gravityMagnitude_float=float(i + 1)) for i in range(2)]
    owned = [
        prim(
            "Sphere",
            f"ball{i}",
            "PhysicsCollisionAPI",
            physics__simulationOwner_rel=f"</s{i % 2}>",
            **translated(5 * i, 0, 0),
        )
        for i in range(3)
    ]
    builder, report = load(tmp_path, *scenes, *(body(f"b{i}", inside=one) for i, one in enumerate(owned)))
    np.testing.assert_allclose(builder.gravity, (0, 0, -1))
    assert "its gravity differs" in notes(report, "warned")
    assert pairs(builder) == {frozenset(("ball0", "ball1")), frozenset(("ball1", "ball2"))}


def test_options_of_a_scene_are_kept(tmp_path):
    options = {
        "mjc__option__timestep_double": 0.004,
        "mjc__option__integrator_token": '"implicitfast"',
        "mjc__option__iterations_int": 7,
        "mjc__option__noslip_iterations_int": 3,
        "mjc__option__density_double": 1.2,
        "mjc__option__viscosity_double": 0.0,
        "mjc__flag__contact_bool": "false",
        "newton__timeStepsPerSecond_int": 500,
    }
    builder, report = load(tmp_path, prim("PhysicsScene", "s", **options))
    kept = [note.what for note in report.kept]
    assert kept == ["attribute 'mjc:option:density'", "attribute 'mjc:option:noslip_iterations'"]
    found = builder.options
    assert (found.dt, found.integrator, found.iterations) == (0.004, "implicitfast", 7)
    assert found.disabled == ("contact",)
    assert found.other == (("noslip_iterations", "3"),)


# materials


MATERIAL = {
    "physics__staticFriction_float": 0.7,
    "physics__dynamicFriction_float": 0.5,
    "physics__restitution_float": 0.25,
}


def bound(material: str, **attributes) -> str:
    return prim(
        "Sphere",
        "s",
        "PhysicsCollisionAPI",
        "MaterialBindingAPI",
        material__binding__physics_rel=f"<{material}>",
        **attributes,
    )


def test_materials_that_are_bound_for_physics(tmp_path):
    material = prim("Material", "m", "PhysicsMaterialAPI", **MATERIAL)
    builder, _ = load(tmp_path, material, bound("/m"))
    found = builder.shapes[0].material
    assert (found.friction, found.static_friction, found.restitution) == pytest.approx((0.5, 0.7, 0.25))


def test_materials_are_bound_from_above_and_for_all_purposes(tmp_path):
    material = prim("Material", "m", "PhysicsMaterialAPI", **MATERIAL)
    above = prim("Xform", "x", "MaterialBindingAPI", inside=BALL, material__binding_rel="</m>")
    builder, _ = load(tmp_path, material, above)
    assert builder.shapes[0].material.friction == pytest.approx(0.5)


def test_without_a_material_the_builders_own_counts(tmp_path):
    path = write_stage(tmp_path, BALL, prim("Material", "looks"))
    builder = ModelBuilder()
    builder.default_material = Material(friction=0.123)
    builder.add_usd(path)
    assert builder.shapes[0].material.friction == 0.123


def test_static_friction_below_the_dynamic_one_is_mended(tmp_path):
    material = prim("Material", "m", "PhysicsMaterialAPI", physics__dynamicFriction_float=0.5)
    builder, report = load(tmp_path, material, bound("/m"))
    assert builder.shapes[0].material.static_friction == 0.5
    assert "static friction" in notes(report, "repaired")


def test_what_newton_physx_and_mujoco_add_to_materials(tmp_path):
    newton = {
        "newton__torsionalFriction_float": 1.0,
        "newton__rollingFriction_float": 2.0,
        "newton__contactStiffness_float": 3.0,
    }
    material = prim(
        "Material",
        "m",
        "PhysicsMaterialAPI",
        "NewtonMaterialAPI",
        **newton,
        physxMaterial__frictionCombineMode_token='"max"',
    )
    builder, _ = load(tmp_path, material, bound("/m"), metre=0.01)
    found = builder.shapes[0].material
    assert (found.torsional, found.rolling, found.stiffness) == pytest.approx((0.01, 0.02, 3.0))
    assert found.combine == "maximum"
    contact = {
        "mjc__solref_doubles": "[0.01, 2]",
        "mjc__solimp_doubles": "[0.8, 0.9, 0.002, 0.4, 3]",
        "mjc__condim_int": 4,
        "mjc__priority_int": 5,
    }
    builder, _ = load(tmp_path, material, bound("/m", **contact), metre=0.01)
    found = builder.shapes[0].material
    assert (found.time_constant, found.damping_ratio, found.contact_dim, found.priority) == (0.01, 2, 4, 5)
    assert found.impedance == (0.8, 0.9, 0.002, 0.4, 3)
    assert found.stiffness is None


def test_friction_out_of_its_range_is_refused(tmp_path):
    with pytest.raises(AssetError, match="dynamicFriction") as caught:
        load(tmp_path, prim("Material", "m", "PhysicsMaterialAPI", physics__dynamicFriction_float=-1.0), bound("/m"))
    assert caught.value.prim_path == "/m"


@pytest.mark.parametrize(
    ("attributes", "margin", "gap"),
    [
        ({"newton__contactMargin_float": 2.0, "newton__contactGap_float": 3.0}, 0.02, 0.03),
        ({"newton__contactGap_float": "-inf"}, 0, 0),
        ({"physxCollision__restOffset_float": 1.0, "physxCollision__contactOffset_float": 5.0}, 0.01, 0.04),
        ({"physxCollision__restOffset_float": "-inf", "physxCollision__contactOffset_float": "-inf"}, 0, 0),
        ({"mjc__margin_double": 2.0, "mjc__gap_double": 1.0}, 0.02, 0.01),
    ],
)
def test_contact_offsets_become_margin_and_gap(tmp_path, attributes, margin, gap):
    builder, _ = load(tmp_path, prim("Sphere", "s", "PhysicsCollisionAPI", **attributes), metre=0.01)
    assert builder.shapes[0].margin == pytest.approx(margin)
    assert builder.shapes[0].gap == pytest.approx(gap)


def test_colors(tmp_path):
    color = {"primvars__displayColor_color3f[]": "[(1, 0.5, 0)]", "primvars__displayOpacity_floats": "[0.25]"}
    builder, _ = load(tmp_path, prim("Sphere", "s", **color))
    assert builder.shapes[0].color == pytest.approx((1, 0.5, 0, 0.25))


# who touches whom


def three(*extra: str, at=5.0) -> list[str]:
    """Three bodies far from each other with a ball each, x, y and z."""
    balls = [prim("Sphere", name, "PhysicsCollisionAPI", radius_double=0.5) for name in "xyz"]
    return [
        body(f"b_{name}", (at * i, 0, 0), inside=one) for i, (name, one) in enumerate(zip("xyz", balls, strict=True))
    ] + list(extra)


def test_filtered_pairs_of_bodies_and_colliders(tmp_path):
    prims = three()
    prims[0] = (
        prims[0]
        .replace('"PhysicsMassAPI"', '"PhysicsMassAPI", "PhysicsFilteredPairsAPI"')
        .replace("float physics:mass", "rel physics:filteredPairs = </b_y>\n    float physics:mass")
    )
    assert pairs(load(tmp_path, *prims)[0]) == {frozenset("xy")}
    prims[0] = prims[0].replace("</b_y>", "[</b_y/y>, </b_z>]")
    assert pairs(load(tmp_path, *prims)[0]) == {frozenset("xy"), frozenset("xz")}


def group(name: str, members: str, filtered: str = "", **attributes) -> str:
    relations = {"collection__colliders__includes_rel": members}
    if filtered:
        relations["physics__filteredGroups_rel"] = filtered
    return prim("PhysicsCollisionGroup", name, "CollectionAPI:colliders", **relations, **attributes)


def test_collision_groups(tmp_path):
    groups = (group("g", "</b_x>", "</h>"), group("h", "[</b_y>, </b_z>]"))
    assert pairs(load(tmp_path, *three(*groups))[0]) == {frozenset("xy"), frozenset("xz")}


def test_a_group_that_filters_itself(tmp_path):
    groups = (group("g", "[</b_x>, </b_y>]", "</g>"), group("h", "</b_z>"))
    assert pairs(load(tmp_path, *three(*groups))[0]) == {frozenset("xy")}


def test_inverted_groups_touch_only_those_that_they_name(tmp_path):
    groups = (
        group("g", "</b_x>", "</h>", physics__invertFilteredGroups_bool="true"),
        group("h", "</b_y>"),
        group("i", "</b_z>"),
    )
    assert pairs(load(tmp_path, *three(*groups))[0]) == {frozenset("xz")}


def test_merged_groups_count_as_one(tmp_path):
    merged = {"physics__mergeGroup_string": '"one"'}
    groups = (group("g", "</b_x>", "</i>", **merged), group("h", "</b_y>", **merged), group("i", "</b_z>"))
    assert pairs(load(tmp_path, *three(*groups))[0]) == {frozenset("xz"), frozenset("yz")}


@pytest.mark.parametrize(
    "attribute", ["physxArticulation__enabledSelfCollisions_bool", "newton__selfCollisionEnabled_bool"]
)
def test_articulations_without_self_collision(tmp_path, attribute):
    hinges = [
        joint("PhysicsRevoluteJoint", f"j{i}", f"/r/b_{one}", f"/r/b_{two}", physics__localPos0_p3="(5, 0, 0)")
        for i, (one, two) in enumerate(("xy", "yz"))
    ]
    root = prim(
        "Xform", "r", "PhysicsArticulationRootAPI", inside="\n".join([*three(), *hinges]), **{attribute: "false"}
    )
    builder, _ = load(tmp_path, root)
    assert pairs(builder) >= {frozenset("xz"), frozenset("xy"), frozenset("yz")}


def test_joined_bodies_touch_only_where_the_joint_lets_them(tmp_path):
    for word, expected in (("true", True), ("false", False)):
        hinge = joint(
            "PhysicsRevoluteJoint",
            "j",
            "/b_x",
            "/b_y",
            physics__localPos0_p3="(5, 0, 0)",
            physics__collisionEnabled_bool=word,
        )
        builder, report = load(tmp_path, *three(hinge))
        assert builder.joints[report.joints["/j"]].collide_with_parent is expected


def test_a_body_does_not_touch_the_static_prim_that_it_is_joined_to(tmp_path):
    post = prim("Cube", "post", "PhysicsCollisionAPI", **translated(0, 0, -9))
    hinge = joint("PhysicsRevoluteJoint", "j", "/post", "/b_x", physics__localPos0_p3="(0, 0, 9)")
    builder, _ = load(tmp_path, post, *three(hinge))
    assert pairs(builder) == {frozenset(("post", "x"))}


def test_a_joint_to_the_prim_above_all_filters_nothing(tmp_path):
    """Converters join the base of a robot to the prim that holds it, and the ground with it."""
    ground = prim("Cube", "ground", "PhysicsCollisionAPI", **translated(0, 0, -9))
    fixed = joint("PhysicsFixedJoint", "j", "/r", "/r/b_x")
    builder, _ = load(tmp_path, prim("Xform", "r", inside="".join([ground, *three(fixed)])))
    assert not pairs(builder)


def test_nested_articulation_roots_warn(tmp_path):
    inner = prim(
        "Xform",
        "i",
        "PhysicsArticulationRootAPI",
        inside=body("c") + body("d") + joint("PhysicsRevoluteJoint", "k", "/r/i/c", "/r/i/d"),
    )
    outer = prim(
        "Xform",
        "r",
        "PhysicsArticulationRootAPI",
        inside=body("a") + body("b") + joint("PhysicsRevoluteJoint", "j", "/r/a", "/r/b") + inner,
    )
    _, report = load(tmp_path, outer)
    assert "articulation root" in notes(report, "warned")


# what other schemas add


def test_what_mujoco_adds_to_joints(tmp_path):
    mjc = {
        "mjc__stiffness_double": 2.0,
        "mjc__springref_double": 30.0,
        "mjc__damping_double": 0.5,
        "mjc__armature_double": 0.25,
        "mjc__frictionloss_double": 0.125,
        "mjc__solreflimit_doubles": "[0.03, 0.8]",
    }
    for angle, factor in (("degree", DEGREE), ("radian", 1.0)):
        scene = prim("PhysicsScene", "s", mjc__compiler__angle_token=f'"{angle}"')
        builder, report = load(
            tmp_path, scene, body("a"), body("b"), joint("PhysicsRevoluteJoint", "j", "/a", "/b", "MjcJointAPI", **mjc)
        )
        (dof,) = builder.joints[report.joints["/j"]].dofs
        assert (dof.stiffness, dof.damping, dof.armature, dof.friction) == (2, 0.5, 0.25, 0.125)
        assert dof.spring_ref == pytest.approx(30 * factor)
        assert dof.limit_reference == (0.03, 0.8)


def test_newton_goes_before_physx_and_physx_before_mujoco(tmp_path):
    values = {"newton__armature_float": 1.0, "physxJoint__armature_float": 2.0, "mjc__armature_double": 3.0}
    for first in (1.0, 2.0, 3.0):
        builder, report = load(tmp_path, body("a"), body("b"), joint("PhysicsRevoluteJoint", "j", "/a", "/b", **values))
        assert builder.joints[report.joints["/j"]].dofs[0].armature == first
        values.pop(next(iter(values)))


@pytest.mark.parametrize("on", [True, False])
def test_velocity_limits_are_used_where_the_user_asks(tmp_path, on):
    hinge = joint("PhysicsRevoluteJoint", "j", "/a", "/b", newton__velocityLimit_float=180.0)
    builder, report = load(tmp_path, body("a"), body("b"), hinge, velocity_limits=on)
    assert builder.joints[report.joints["/j"]].dofs[0].velocity_limit == pytest.approx(math.pi if on else math.inf)


# what is kept


def test_actuators_and_tendons_of_mujoco_are_kept(tmp_path):
    hinge = joint("PhysicsRevoluteJoint", "j", "/a", "/b")
    tendon = prim(
        "MjcTendon",
        "t",
        mjc__type_token='"fixed"',
        mjc__path_rel="</j>",
        mjc__path__coef_doubles="[0.5]",
        mjc__range__max_double=2.0,
    )
    motor = {
        "mjc__gainPrm_doubles": "[10, 0, 0]",
        "mjc__biasType_token": '"affine"',
        "mjc__biasPrm_doubles": "[0, -10, -1]",
    }
    on_joint = prim("MjcActuator", "m", mjc__target_rel="</j>", mjc__ctrlRange__max_double=3.0, **motor)
    on_tendon = prim("MjcActuator", "n", mjc__target_rel="</t>")
    builder, report = load(tmp_path, body("a"), body("b"), hinge, tendon, on_joint, on_tendon)
    (kept,) = builder.tendons
    assert kept.terms == ((report.joints["/j"], 0.5),)
    assert (kept.limit_lower, kept.limit_upper) == (0, 2)
    first, second = builder.actuators
    assert (first.transmission, first.target) == ("joint", report.joints["/j"])
    assert first.gain == ("fixed", (10, 0, 0)) and first.bias == ("affine", (0, -10, -1))
    assert first.control_range == (0, 3)
    assert (second.transmission, second.target) == ("tendon", 0)
    with pytest.raises(AssetError, match="not simulated"):
        load(tmp_path, body("a"), body("b"), hinge, tendon, unsupported="raise")


def test_fixed_tendons_of_physx_are_kept_per_radian(tmp_path):
    name = "physxTendon__t__"
    root = joint(
        "PhysicsRevoluteJoint",
        "j",
        "/a",
        "/b",
        "PhysxTendonAxisRootAPI:t",
        **{f"{name}gearing_floats": "[2]", f"{name}stiffness_float": 5.0, f"{name}restLength_float": 0.1},
    )
    other = joint("PhysicsPrismaticJoint", "k", "/b", "/c", "PhysxTendonAxisAPI:t", **{f"{name}gearing_floats": "[3]"})
    builder, report = load(tmp_path, body("a"), body("b"), body("c"), root, other)
    (kept,) = builder.tendons
    assert kept.terms == ((report.joints["/j"], pytest.approx(2 / DEGREE)), (report.joints["/k"], pytest.approx(3)))
    assert kept.stiffness == 5 and kept.spring_length == pytest.approx((0.1, 0.1))


def test_spatial_tendons_of_physx_run_from_root_to_leaf(tmp_path):
    def attached(kind, name, at, parent=""):
        attributes = {f"physxTendon__{name}__localPos_p3": at}
        if parent:
            attributes[f"physxTendon__{name}__parentAttachment_token"] = f'"{parent}"'
        return f"PhysxTendonAttachment{kind}API:{name}", attributes

    prims = []
    for letter, (schema, attributes) in zip(
        "abc",
        [
            attached("Root", "r", "(1, 0, 0)"),
            attached("", "m", "(0, 1, 0)", "r"),
            attached("Leaf", "l", "(0, 0, 1)", "m"),
        ],
        strict=True,
    ):
        prims.append(body(letter, **attributes).replace('"PhysicsMassAPI"', f'"PhysicsMassAPI", "{schema}"'))
    builder, _ = load(tmp_path, *prims)
    (kept,) = builder.tendons
    assert [builder.sites[point.index].body for point in kept.path] == [0, 1, 2]
    np.testing.assert_allclose([builder.sites[point.index].xform[:3] for point in kept.path], np.eye(3))


def test_sites_are_frames_without_a_shape(tmp_path):
    site = prim("Sphere", "tip", "NewtonSiteAPI", **translated(0, 0, 2))
    builder, _ = load(tmp_path, body("a", (5, 0, 0), inside=site))
    assert not builder.shapes
    (found,) = builder.sites
    assert (found.label, found.body) == ("tip", 0)
    np.testing.assert_allclose(found.xform[:3], (0, 0, 2))


def test_tetrahedra_are_kept_as_soft_bodies(tmp_path):
    material = prim(
        "Material",
        "m",
        "PhysicsVolumeDeformableMaterialAPI",
        physics__youngsModulus_float=2.0,
        physics__density_float=3.0,
    )
    tet = prim(
        "TetMesh",
        "soft",
        "MaterialBindingAPI",
        points_points="[(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]",
        **{"tetVertexIndices_int4[]": "[(0, 1, 3, 2)]"},
        material__binding__physics_rel="</m>",
        **scaled(2, 2, 2),
    )
    builder, report = load(tmp_path, material, tet, metre=0.1)
    (kept,) = builder.deformables
    assert kept.kind == "soft" and kept.body == -1
    corners = np.array(kept.vertices)[list(kept.elements[0])]
    assert np.linalg.det(corners[1:] - corners[0]) == pytest.approx(0.2**3)  # turned to a positive volume
    assert dict(kept.parameters) == {"physics:density": pytest.approx(3000), "physics:youngsModulus": pytest.approx(20)}
    assert "soft body" in notes(report, "kept") and "turned" in notes(report, "repaired")


@pytest.mark.parametrize("indices", ["[(0, 1, 2, 9)]", "[(0, 1, 2, 2)]", "[(0, 1, 2, -1)]"])
def test_broken_tetrahedra_are_refused(tmp_path, indices):
    points = "[(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]"
    with pytest.raises(AssetError) as caught:
        load(tmp_path, prim("TetMesh", "soft", points_points=points, **{"tetVertexIndices_int4[]": indices}))
    assert caught.value.prim_path == "/soft"


def test_cloth_and_cables_are_kept(tmp_path):
    cloth = prim(
        "Mesh",
        "cloth",
        "PhysicsSurfaceDeformableSimAPI",
        points_points="[(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)]",
        faceVertexCounts_ints="[4]",
        faceVertexIndices_ints="[0, 1, 2, 3]",
    )
    points = "[(0, 0, 0), (1, 0, 0), (2, 0, 0), (5, 0, 0), (6, 0, 0)]"
    cable = prim(
        "BasisCurves", "cable", "PhysicsCurvesDeformableSimAPI", points_points=points, curveVertexCounts_ints="[3, 2]"
    )
    builder, _ = load(tmp_path, cloth, cable)
    assert [(one.label, one.kind) for one in builder.deformables] == [("cloth", "cloth"), ("cable", "cable")]
    assert len(builder.deformables[0].elements) == 2
    assert builder.deformables[1].elements == ((0, 1), (1, 2), (3, 4))
    assert not builder.shapes


def test_gravity_that_is_off_for_a_body_is_kept(tmp_path):
    builder, report = load(tmp_path, body("a", physxRigidBody__disableGravity_bool="true"))
    assert builder.bodies[0].gravity_compensation == 1
    assert "disableGravity" in notes(report, "kept")


def test_nothing_is_said_of_a_plain_file(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load(tmp_path, prim("PhysicsScene", "s"), body("a", inside=BALL), quiet=False)


def test_keyframes_are_kept_in_mujocos_order(tmp_path):
    """A floating base of centimetres, then the hinge of the body in it: qpos is position, w x y z, angle."""
    inner = body("b") + joint("PhysicsRevoluteJoint", "j", "/a", "/a/b")
    key = prim("MjcKeyframe", "home", mjc__qpos_doubles="[100, 200, 300, 0, 1, 0, 0, 0.5]", mjc__ctrl_doubles="[7]")
    motor = prim("MjcActuator", "m", mjc__target_rel="</a/j>")
    builder, report = load(tmp_path, body("a", inside=inner), key, motor, metre=0.01)
    (kept,) = builder.keyframes
    (free, base, _), (hinge, angle, _) = kept.joints
    assert (free, hinge) == (0, report.joints["/a/j"])
    assert base == pytest.approx((1, 2, 3, 1, 0, 0, 0)) and angle == (0.5,)
    assert kept.actuators == ((0, (7.0,), ()),)


def test_keyframes_that_do_not_fit_are_named(tmp_path):
    key = prim("MjcKeyframe", "home", mjc__qpos_doubles="[1, 2, 3]")
    builder, report = load(tmp_path, body("a"), body("b"), joint("PhysicsRevoluteJoint", "j", "/a", "/b"), key)
    assert not builder.keyframes
    assert "mjc:qpos has 3" in notes(report, "ignored")
