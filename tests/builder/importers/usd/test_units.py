"""Units of the stage: every quantity is turned into SI once, and the up axis into the builder's."""

from __future__ import annotations

import numpy as np
import pytest

from simengine.builder.builder import ModelBuilder
from simengine.builder.importers.usd.attributes import TABLE
from simengine.builder.importers.usd.units import DIMENSIONS, Units
from simengine.dynamics import eval_bias_force, eval_mass_matrix
from simengine.errors import AssetError
from tests.builder.importers.usd.stages import joint, load, notes, prim, write_stage

QUANTITIES = {
    # how a number of SI is written in a stage of metre m, kilogram k
    "length": lambda x, m, k: x / m,
    "mass": lambda x, m, k: x / k,
    "density": lambda x, m, k: x * m**3 / k,
    "inertia": lambda x, m, k: x / (k * m**2),
    "force": lambda x, m, k: x / (k * m),
    "linear stiffness": lambda x, m, k: x / k,
    "angular stiffness": lambda x, m, k: x / (k * m**2),
}


def robot(metre: float, kilogram: float, up: str) -> list[str]:
    """A driven hinge on a sliding body with colliders of a density, the same in SI whatever the units."""
    q = {name: (lambda x, one=one: one(x, metre, kilogram)) for name, one in QUANTITIES.items()}
    length = q["length"]

    def at(x, y, z):  # a vector of a Z-up stage in this one: of Y up, y is up and z is the old -y
        x, y, z = (x, y, z) if up == "Z" else (x, z, -y)
        return f"({length(x)!r}, {length(y)!r}, {length(z)!r})"

    gravity = prim("PhysicsScene", "scene", physics__gravityMagnitude_float=length(5.0))
    return [gravity, *_links(q, at), _slide(q), _turn(q, at, up)]


def _links(q: dict, at) -> tuple[str, str]:
    ball = prim("Sphere", "ball", "PhysicsCollisionAPI", radius_double=q["length"](0.1))
    base = prim(
        "Xform",
        "base",
        "PhysicsRigidBodyAPI",
        "PhysicsMassAPI",
        inside=ball,
        physics__density_float=q["density"](2000.0),
    )
    arm = prim(
        "Xform",
        "arm",
        "PhysicsRigidBodyAPI",
        "PhysicsMassAPI",
        physics__mass_float=q["mass"](3.0),
        physics__centerOfMass_p3=at(0.3, 0.2, 0.1),
        physics__diagonalInertia_f3=f"({q['inertia'](0.5)!r}, {q['inertia'](0.5)!r}, {q['inertia'](0.5)!r})",
        xformOp__translate_d3=at(0.5, 0, 1.0),
        xformOpOrder_order='["xformOp:translate"]',
    )
    return base, arm


def _slide(q: dict) -> str:
    return joint(
        "PhysicsPrismaticJoint",
        "slide",
        "",
        "/base",
        "PhysicsDriveAPI:linear",
        "NewtonJointAPI",
        physics__axis_token='"X"',
        physics__upperLimit_float=q["length"](2.0),
        drive__linear__physics__stiffness_float=q["linear stiffness"](40.0),
        drive__linear__physics__damping_float=q["linear stiffness"](4.0),
        drive__linear__physics__maxForce_float=q["force"](9.0),
        drive__linear__physics__targetPosition_float=q["length"](0.7),
        newton__friction_float=q["force"](0.3),
        newton__armature_float=q["mass"](0.2),
    )


def _turn(q: dict, at, up: str) -> str:
    return joint(
        "PhysicsRevoluteJoint",
        "turn",
        "/base",
        "/arm",
        "PhysicsDriveAPI:angular",
        "PhysxJointAPI",
        "PhysxLimitAPI:angular",
        physics__axis_token=f'"{up}"',
        physics__localPos0_p3=at(0.5, 0, 1.0),
        physics__upperLimit_float=90.0,
        drive__angular__physics__stiffness_float=q["angular stiffness"](0.5),
        drive__angular__physics__damping_float=q["angular stiffness"](0.05),
        physxJoint__armature_float=q["inertia"](0.02),
        physxLimit__angular__stiffness_float=q["angular stiffness"](7.0),
        physxLimit__angular__damping_float=q["angular stiffness"](0.7),
    )


UNITS = [(1.0, 1.0, "Z"), (0.01, 1.0, "Z"), (1.0, 0.001, "Z"), (0.01, 0.001, "Y"), (10.0, 5.0, "Y")]


@pytest.mark.parametrize(("metre", "kilogram", "up"), UNITS[1:])
def test_the_same_robot_in_other_units_is_the_same_robot(tmp_path, metre, kilogram, up):
    models = []
    for number, units in enumerate((UNITS[0], (metre, kilogram, up))):
        folder = tmp_path / str(number)
        folder.mkdir()
        builder, _ = load(folder, *robot(*units), metre=units[0], kilogram=units[1], up=units[2])
        model = builder.finalize(device="cpu", precision="float64")
        state = model.state()
        models.append((builder, eval_mass_matrix(model, state), eval_bias_force(model, state)))
    (one, mass, bias), (two, mass2, bias2) = models
    np.testing.assert_allclose(mass2, mass, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(bias2, bias, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(two.gravity, (0, 0, -5), rtol=1e-6, atol=1e-12)
    for joint0, joint1 in zip(one.joints, two.joints, strict=True):
        for dof0, dof1 in zip(joint0.dofs, joint1.dofs, strict=True):
            for field, value in vars(dof0).items():
                if isinstance(value, float):
                    assert getattr(dof1, field) == pytest.approx(value, rel=1e-5), field


def test_the_numbers_of_si_are_those_of_the_file(tmp_path):
    builder, report = load(tmp_path, *robot(0.01, 0.001, "Y"), metre=0.01, kilogram=0.001, up="Y")
    (slide,), (turn,) = (builder.joints[report.joints[path]].dofs for path in ("/slide", "/turn"))
    degree = np.pi / 180
    wanted = {
        "target_ke": 40,
        "target_kd": 4,
        "effort_limit": 9,
        "target_pos": 0.7,
        "limit_upper": 2,
        "friction": 0.3,
        "armature": 0.2,
    }
    for field, value in wanted.items():
        assert getattr(slide, field) == pytest.approx(value, rel=1e-6), field
    wanted = {
        "target_ke": 0.5 / degree,
        "target_kd": 0.05 / degree,
        "armature": 0.02,
        "limit_ke": 7 / degree,
        "limit_kd": 0.7 / degree,
    }
    for field, value in wanted.items():
        assert getattr(turn, field) == pytest.approx(value, rel=1e-6), field
    assert builder.bodies[0].mass == pytest.approx(2000 * 4 / 3 * np.pi * 0.1**3)


def test_a_stage_that_says_nothing_is_in_centimetres_with_y_up(tmp_path):
    path = tmp_path / "plain.usda"
    path.write_text(
        "#usda 1.0\n"
        + prim(
            "Sphere",
            "s",
            "PhysicsCollisionAPI",
            radius_double=1.0,
            xformOp__translate_d3="(0, 100, 0)",
            xformOpOrder_order='["xformOp:translate"]',
        )
    )
    builder = ModelBuilder()
    builder.add_usd(path)
    assert builder.shapes[0].size[0] == pytest.approx(0.01)
    np.testing.assert_allclose(builder.shapes[0].xform[:3], (0, 0, 1), atol=1e-12)


@pytest.mark.parametrize("up", ["X", "Y", "Z"])
def test_what_is_up_in_the_file_is_up_in_the_builder(tmp_path, up):
    at = {"X": "(3, 0, 0)", "Y": "(0, 3, 0)", "Z": "(0, 0, 3)"}[up]
    sphere = prim(
        "Sphere", "s", "PhysicsCollisionAPI", xformOp__translate_d3=at, xformOpOrder_order='["xformOp:translate"]'
    )
    builder, _ = load(tmp_path, sphere, up=up)
    np.testing.assert_allclose(builder.shapes[0].xform[:3], (0, 0, 3), atol=1e-12)
    np.testing.assert_allclose(builder.gravity, (0, 0, -9.81), atol=1e-12)


def test_an_up_axis_that_is_none_warns(tmp_path):
    _, report = load(tmp_path, prim("Xform", "x"), up="sideways")
    assert "sideways" in notes(report, "warned")


@pytest.mark.parametrize(("name", "value"), [("metre", 0), ("metre", -1), ("metre", 1e300), ("kilogram", 0)])
def test_units_must_be_positive(tmp_path, name, value):
    with pytest.raises(AssetError, match="PerUnit"):
        load(tmp_path, prim("Xform", "x"), **{name: value})


def test_every_unit_of_the_table_has_a_dimension():
    units = Units(0.01, 0.001)
    for row in TABLE.rows.values():
        for angular in (False, True):
            assert units.factor(row.unit, angular) > 0
    assert units.factor("torque/degree") == pytest.approx(0.01**2 * 0.001 * 180 / np.pi)
    assert set(DIMENSIONS) >= {"", "distance", "mass"}


def test_xform_places_the_file_after_the_turn_of_its_up_axis(tmp_path):
    path = write_stage(
        tmp_path,
        prim(
            "Sphere",
            "s",
            "PhysicsCollisionAPI",
            xformOp__translate_d3="(1, 2, 3)",
            xformOpOrder_order='["xformOp:translate"]',
        ),
        up="Y",
    )
    builder = ModelBuilder()
    builder.add_usd(path, xform=(10, 0, 0, 0, 0, 0, 1))
    np.testing.assert_allclose(builder.shapes[0].xform[:3], (11, -3, 2), atol=1e-12)
