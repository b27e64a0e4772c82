"""Mass properties: the precedence of OpenUSD's own ComputeMassProperties, units, shells, and bodies that say little."""

from __future__ import annotations

import math

import numpy as np
import pytest
from pxr import Gf, Usd, UsdGeom, UsdPhysics

from simengine.errors import AssetError
from tests.builder.importers.usd.stages import body, joint, load, notes, prim, scaled, translated


def cube(name, at=(0, 0, 0), *schemas, **attributes):
    return prim(
        "Cube",
        name,
        "PhysicsCollisionAPI",
        "PhysicsMassAPI",
        *schemas,
        size_double=1.0,
        **translated(*at),
        **attributes,
    )


def bare(*inside, **attributes):
    return prim("Xform", "b", "PhysicsRigidBodyAPI", "PhysicsMassAPI", inside="\n".join(inside), **attributes)


MATERIAL = prim("Material", "m", "PhysicsMaterialAPI", physics__density_float=3.0)
BOUND = {"material__binding__physics_rel": "</m>"}
COM = "physics__centerOfMass_p3"
INERTIA = "physics__diagonalInertia_f3"

CASES = {
    "nothing": bare(cube("c")),
    "density of the material": bare(cube("c", (0, 0, 0), "MaterialBindingAPI", **BOUND)),
    "density of the body before the material's": bare(
        cube("c", (0, 0, 0), "MaterialBindingAPI", **BOUND), physics__density_float=2.0
    ),
    "density of the collider before the body's": bare(
        cube("c", physics__density_float=5.0), physics__density_float=2.0
    ),
    "mass of the collider before its density": bare(cube("c", physics__density_float=5.0, physics__mass_float=7.0)),
    "mass of the body before its colliders'": bare(
        cube("c", physics__mass_float=7.0), cube("d", (2, 0, 0), physics__density_float=1.0), physics__mass_float=11.0
    ),
    "a mass and a density": bare(cube("c", physics__mass_float=7.0), cube("d", (2, 0, 0)), physics__density_float=3.0),
    "a centre moves the inertia": bare(cube("c"), **{COM: "(1, 0, 0)"}),
    "a centre with a mass": bare(cube("c"), **{COM: "(1, 0, 0)"}, physics__mass_float=2.0),
    "an inertia with the mass of the colliders": bare(cube("c"), **{INERTIA: "(1, 2, 2.5)"}),
    "a centre of a collider": bare(cube("c", **{COM: "(1, 0, 0)"})),
    "all of a collider": bare(cube("c", physics__mass_float=1.0, **{COM: "(1, 0, 0)", INERTIA: "(1, 2, 2.5)"})),
    "an inertia of a collider": bare(cube("c", **{INERTIA: "(1, 2, 2.5)"})),
    "inertia and mass with the centre of the colliders": bare(
        cube("c"), cube("d", (2, 1, 0)), physics__mass_float=2.0, **{INERTIA: "(1, 2, 2.5)"}
    ),
    "zeros stand for nothing": bare(
        cube("c"), physics__mass_float=0.0, physics__density_float=0.0, **{INERTIA: "(0, 0, 0)"}
    ),
    "principal axes": bare(
        cube("c"), physics__mass_float=2.0, physics__principalAxes_quatf="(0.8, 0.6, 0, 0)", **{INERTIA: "(1, 2, 2.5)"}
    ),
}


def by_openusd(path):
    """Mass, centre and inertia of OpenUSD's own computation for unit cubes, in stage units."""
    stage = Usd.Stage.Open(str(path))
    rigid = UsdPhysics.RigidBodyAPI(stage.GetPrimAtPath("/b"))

    def cube_information(prim):
        information = UsdPhysics.RigidBodyAPI.MassInformation()
        information.volume, information.inertia = 1.0, Gf.Matrix3f(1.0 / 6.0)
        information.centerOfMass, information.localRot = Gf.Vec3f(0.0), Gf.Quatf(1.0)
        information.localPos = Gf.Vec3f(UsdGeom.Xformable(prim).GetLocalTransformation().ExtractTranslation())
        return information

    mass, diagonal, center, axes = rigid.ComputeMassProperties(cube_information)
    turn = np.array(Gf.Matrix3d(Gf.Quatd(axes))).T
    return mass, np.array(center), turn @ np.diag(diagonal) @ turn.T


@pytest.mark.parametrize("case", CASES)
def test_masses_follow_openusd(tmp_path, case):
    builder, report = load(tmp_path, MATERIAL, CASES[case])
    found = builder.bodies[report.bodies["/b"]]
    mass, center, inertia = by_openusd(tmp_path / "scene.usda")
    assert found.mass == pytest.approx(mass, rel=1e-6)
    np.testing.assert_allclose(found.com, center, atol=1e-6)
    np.testing.assert_allclose(np.reshape(found.inertia, (3, 3)), inertia, atol=1e-5 * np.abs(inertia).max())


def test_scale_moves_the_centre_of_mass(tmp_path):
    builder, _ = load(tmp_path, bare(cube("c"), physics__mass_float=2.0, **{COM: "(1, 0, 0)"}, **scaled(2, 3, 4)))
    np.testing.assert_allclose(builder.bodies[0].com, (2, 0, 0))


def test_a_body_takes_its_colliders_solids(tmp_path):
    """A ball of 0.1 m at 500 kg/m3: m = 4/3 pi r^3 rho, I = 2/5 m r^2; in centimetres and grams."""
    ball = prim("Sphere", "s", "PhysicsCollisionAPI", radius_double=10.0)
    builder, _ = load(tmp_path, bare(ball, physics__density_float=0.5), metre=0.01, kilogram=0.001)
    mass = 4 / 3 * math.pi * 0.1**3 * 500
    assert builder.bodies[0].mass == pytest.approx(mass)
    np.testing.assert_allclose(np.diag(np.reshape(builder.bodies[0].inertia, (3, 3))), 0.4 * mass * 0.01)


def test_colliders_that_are_off_weigh_where_there_are_no_others(tmp_path):
    off = cube("c", physics__collisionEnabled_bool="false")
    builder, report = load(tmp_path, bare(off))
    assert builder.bodies[0].mass == pytest.approx(1000)
    assert "switched off" in notes(report, "defaulted")
    builder, _ = load(tmp_path, bare(off, cube("d", physics__mass_float=2.0)))
    assert builder.bodies[0].mass == pytest.approx(2)


def test_what_is_only_seen_weighs_nothing(tmp_path):
    builder, _ = load(tmp_path, bare(cube("c", physics__mass_float=2.0), prim("Cube", "seen", size_double=5.0)))
    assert builder.bodies[0].mass == pytest.approx(2)


def test_an_inertia_tensor_of_newton_goes_before_the_diagonal(tmp_path):
    tensor = {"newton__inertia_doubles": "[2, 3, 4, 0.1, 0.2, 0.3]", INERTIA: "(9, 9, 9)", "physics__mass_float": 1.0}
    builder, _ = load(tmp_path, bare(**tensor, **{COM: "(0, 0, 0)"}), kilogram=2.0)
    wanted = np.array([[2, 0.1, 0.2], [0.1, 3, 0.3], [0.2, 0.3, 4]]) * 2
    np.testing.assert_allclose(np.reshape(builder.bodies[0].inertia, (3, 3)), wanted)


def test_a_mass_and_a_tensor_of_zeros_mean_no_mass(tmp_path):
    """So converters write a link without mass; a collider then weighs nothing either."""
    empty = {"newton__inertia_doubles": "[0, 0, 0, 0, 0, 0]", "physics__mass_float": 0.0}
    hung = joint("PhysicsFixedJoint", "j", "/a", "/b")
    builder, report = load(tmp_path, body("a"), bare(cube("c"), **empty), hung)
    assert builder.bodies[report.bodies["/b"]].mass == 0


def test_shells_weigh_by_their_surface(tmp_path):
    """Newton: density * area * thickness. A cube of 1 m, 1 kg/m3, 0.01 m thick."""
    shell = cube("c", newton__massModel_token='"shell"', newton__shellThickness_float=0.01, physics__density_float=1.0)
    builder, _ = load(tmp_path, bare(shell))
    assert builder.bodies[0].mass == pytest.approx(6 * 0.01)


def test_a_body_with_a_mass_and_nothing_else_is_a_ball(tmp_path):
    builder, report = load(tmp_path, bare(physics__mass_float=2.0))
    radius = (3 * 2 / (4 * math.pi * 1000)) ** (1 / 3)
    np.testing.assert_allclose(np.diag(np.reshape(builder.bodies[0].inertia, (3, 3))), 0.4 * 2 * radius**2)
    assert "ball" in notes(report, "defaulted")


@pytest.mark.parametrize(
    ("attributes", "words"),
    [
        ({"physics__mass_float": -1.0}, "physics:mass"),
        ({"physics__mass_float": "nan"}, "physics:mass"),
        ({"physics__density_float": "inf"}, "physics:density"),
        ({"physics__mass_float": 1.0, INERTIA: "(-1, 1, 1)"}, "physics:diagonalInertia"),
        ({"physics__mass_float": 1.0, INERTIA: "(nan, 1, 1)"}, "physics:diagonalInertia"),
        ({"physics__mass_float": 1.0, "newton__inertia_doubles": "[1, 2]"}, "newton:inertia"),
    ],
)
def test_masses_that_cannot_be_are_refused(tmp_path, attributes, words):
    with pytest.raises(AssetError, match=words) as caught:
        load(tmp_path, bare(cube("c"), **attributes))
    assert caught.value.prim_path == "/b"


def test_a_moving_body_without_mass_is_refused_by_name(tmp_path):
    with pytest.raises(AssetError, match="mass") as caught:
        load(tmp_path, bare())
    assert caught.value.prim_path == "/b"


def test_an_open_mesh_is_weighed_as_its_hull_and_that_is_told(tmp_path):
    points = "[(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]"
    shape = {
        "points_points": points,
        "faceVertexCounts_ints": "[3, 3, 3]",
        "faceVertexIndices_ints": "[0, 2, 1, 0, 1, 3, 0, 3, 2]",
    }
    builder, report = load(tmp_path, bare(prim("Mesh", "s", "PhysicsCollisionAPI", **shape)))
    assert builder.bodies[0].mass == pytest.approx(1000 / 6)
    assert "hull" in notes(report, "repaired")
