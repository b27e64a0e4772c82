"""The robots in assets/: their inertias are those of their shapes, and they stand and move as their README says."""

import math
import re
from pathlib import Path

import mujoco
import numpy as np
import pytest

import simengine as sim
from simengine.enums import PRIMITIVE_ROUTINES, ShapeType

ASSETS = Path(__file__).resolve().parents[2] / "assets"
ROBOTS = {"pendulum": (2, 1, 2.5), "cartpole": (3, 2, 2.5), "arm": (9, 7, 20.6), "quadruped": (17, 12, 13.1)}


def load(name, **options):
    builder = sim.ModelBuilder()
    report = builder.add_urdf(ASSETS / f"{name}.urdf", strict=True, unsupported="raise", **options)
    return builder, report


def test_every_robot_is_tested():
    assert {path.stem for path in ASSETS.glob("*.urdf")} == set(ROBOTS)


@pytest.mark.parametrize("name", ROBOTS)
def test_nothing_is_defaulted_ignored_or_repaired_and_the_readme_holds(name):
    builder, report = load(name)
    assert sum(report.counts().values()) == 0, str(report)
    linked, moving, mass = ROBOTS[name]
    model = builder.finalize(device="cpu", precision="float64")
    assert (model.body_count, model.joint_dof_count) == (linked, moving)
    assert model.body_mass.sum() == pytest.approx(mass)
    row = re.search(rf"\| `{name}.urdf` \|(.*)", (ASSETS / "README.md").read_text()).group(1)
    numbers = [float(x) for x in re.findall(r"[\d.]+", row)[:3]]
    assert numbers == pytest.approx([linked, moving, mass])


@pytest.mark.parametrize("name", ROBOTS)
def test_every_pair_of_shapes_is_one_that_a_step_collides_by_itself(name):
    kinds = {ShapeType[part] for routine in PRIMITIVE_ROUTINES for part in routine.name.split("_")}
    builder, _ = load(name)
    assert {shape.type for shape in builder.shapes} <= kinds
    builder.add_ground_plane()
    assert not builder.finalize(device="cpu").unsupported_pairs


@pytest.mark.parametrize("name", ROBOTS)
def test_inertias_are_those_of_the_shapes_as_mujoco_computes_them(name):
    text = (ASSETS / f"{name}.urdf").read_text()
    compiler = '<mujoco><compiler inertiafromgeom="true" fusestatic="false" discardvisual="true"/></mujoco></robot>'
    reference = mujoco.MjModel.from_xml_string(text.replace("</robot>", compiler))
    builder, _ = load(name)
    model = builder.finalize(device="cpu", precision="float64")
    compared = 0
    for body, label in enumerate(model.body_label):
        if model.body_mass[body] == 0.0:
            continue
        other = reference.body(label)
        ratio = model.body_mass[body] / other.mass[0]  # MuJoCo has 1000 kg/m3 throughout
        assert model.body_com[body] == pytest.approx(other.ipos, abs=1e-9)
        turn = np.zeros(9)
        mujoco.mju_quat2Mat(turn, other.iquat)
        turn = turn.reshape(3, 3)
        inertia = turn @ np.diag(other.inertia) @ turn.T * ratio
        assert np.abs(model.body_inertia[body] - inertia).max() <= 1e-8 * inertia.max()
        compared += 1
    assert compared == np.count_nonzero(model.body_mass)


def test_the_quadruped_stands_on_its_feet_at_zero():
    builder, _ = load("quadruped", floating=True, xform=sim.transform(p=(0, 0, 0.4 * math.cos(0.4) + 0.03)))
    model = builder.finalize(device="cpu", precision="float64")
    feet = model.find_bodies("*_foot")
    hips = model.find_bodies("*_hip")
    assert model.body_q[feet, 2] == pytest.approx(0.03)
    assert model.body_q[feet, 0] == pytest.approx(model.body_q[hips, 0])


def test_the_arm_reaches_1_38():
    builder, _ = load("arm")
    model = builder.finalize(device="cpu", precision="float64")
    assert model.body_q[model.find_bodies("tool")[0], :3] == pytest.approx((0, 0, 1.34))


def test_the_pendulum_swings_with_the_period_of_its_inertia():
    """Small swings: w^2 = m g l / I about the hinge, from the rod and bob of the README by hand."""
    rod, bob = math.pi * 0.02**2 * (0.9 + 4 / 3 * 0.02), 4 / 3 * math.pi * 0.08**3
    builder, _ = load("pendulum")
    model = builder.finalize(device="cpu", precision="float64")
    length = (rod * 0.47 + bob * 1.0) / (rod + bob)
    assert -model.body_com[1, 2] == pytest.approx(length, rel=1e-8)
    state = model.state()
    state.joint_q[0] = 1e-6
    stiffness = sim.eval_bias_force(model, state)[0] / 1e-6
    assert stiffness == pytest.approx(2.5 * 9.81 * length, rel=1e-6)
