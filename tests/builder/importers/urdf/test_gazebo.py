"""What Gazebo's and Bullet's users write of links and joints, where it means the same here."""

import math

import numpy as np
import pytest

import simengine as sim
from simengine.builder import frames
from simengine.enums import EqualityType
from tests.builder.importers.urdf.texts import BALL, add, joint, links, refused, robot

SPHERE = "<geometry><sphere radius='0.1'/></geometry>"
SHAPES = f"<visual>{SPHERE}</visual><collision name='c'>{SPHERE}</collision>"


def shaped(count=3):
    made = "".join(f'<link name="l{i}">{BALL}{SHAPES}</link>\n' for i in range(count))
    return made + "".join(joint(f"j{i}", f"l{i}", f"l{i + 1}") for i in range(count - 1))


def gazebo(inside, reference=None):
    return f"<gazebo{'' if reference is None else f' reference={chr(34)}{reference}{chr(34)}'}>{inside}</gazebo>\n"


def friction(builder):
    return {shape.label: shape.material.friction for shape in builder.shapes if shape.collides}


def test_friction_of_a_link_is_that_of_its_collisions(tmp_path):
    text = robot(shaped() + gazebo("<mu1>0.3</mu1><mu2>0.3</mu2>", "l1") + gazebo('<mu1 value="0.5"/>', "l2"))
    builder, report = add(tmp_path, text)
    assert friction(builder) == {"l0/c": 1.0, "l1/c": 0.3, "l2/c": 0.5}
    assert not report.ignored


def test_two_different_frictions_become_their_mean_and_are_told(tmp_path):
    builder, report = add(tmp_path, robot(shaped() + gazebo("<mu1>0.2</mu1><mu2>0.6</mu2>", "l1")))
    assert friction(builder)["l1/c"] == pytest.approx(0.4)
    assert "0.4, the mean" in report.ignored[0].reason


@pytest.mark.parametrize("words", ["false", "0", "False"])
def test_a_link_without_self_collision_touches_nothing_of_the_robot(tmp_path, words):
    builder, _ = add(tmp_path, robot(shaped() + gazebo(f"<selfCollide>{words}</selfCollide>", "l2")))
    index = {shape.label: number for number, shape in enumerate(builder.shapes)}
    pairs = {tuple(sorted((index["l2/c"], index[f"l{i}/c"]))) for i in (0, 1)}
    assert builder._elements.filters == pairs
    builder, _ = add(tmp_path, robot(shaped() + gazebo("<selfCollide>true</selfCollide>", "l2")))
    assert not builder._elements.filters


def test_a_robot_without_self_collision(tmp_path):
    builder, _ = add(tmp_path, robot(shaped(4) + gazebo("<selfCollide>false</selfCollide>")))
    assert len(builder._elements.filters) == 6


def test_gazebos_colours_hold_where_the_visual_has_none(tmp_path):
    own = f'<visual>{SPHERE}<material name="m"><color rgba="0 1 0 1"/></material></visual>'
    text = robot(f'<link name="l">{SHAPES}{own}</link>{gazebo("<material>Gazebo/Red</material>", "l")}')
    builder, _ = add(tmp_path, text)
    assert [shape.color[:3] for shape in builder.shapes[:2]] == [(1, 0, 0), (0, 1, 0)]
    _, report = add(tmp_path, text.replace("Gazebo/Red", "Gazebo/WoodFloor"))
    assert "WoodFloor" in report.ignored[0].reason


@pytest.mark.parametrize("word", ["<gravity>false</gravity>", "<turnGravityOff>true</turnGravityOff>"])
def test_a_link_without_weight_is_kept(tmp_path, word):
    text = robot(shaped() + gazebo(word, "l1"))
    builder, report = add(tmp_path, text)
    assert [body.gravity_compensation for body in builder.bodies] == [0, 1, 0]
    assert len(report.kept) == 1
    refused(tmp_path, text, "not simulated", unsupported="raise")
    builder, report = add(tmp_path, robot(shaped() + gazebo("<gravity>true</gravity>", "l1")))
    assert [body.gravity_compensation for body in builder.bodies] == [0, 0, 0]


def test_a_spring_of_a_joint(tmp_path):
    spring = "<springStiffness>7</springStiffness><springReference>0.5</springReference>"
    builder, _ = add(tmp_path, robot(shaped() + gazebo(spring, "j1")))
    (dof,) = builder.joints[2].dofs
    assert (dof.stiffness, dof.spring_ref) == (7, 0.5)


def test_what_is_gazebos_own_is_noted_with_a_reason(tmp_path):
    text = robot(
        shaped()
        + gazebo("<kp>1e6</kp><sensor name='s' type='ray'><x>1</x></sensor><frob>1</frob>", "l1")
        + gazebo("<implicitSpringDamper>1</implicitSpringDamper>", "j0")
        + gazebo("<mu1>1</mu1>", "l9")
        + gazebo("<plugin name='p' filename='lib.so'/>")
    )
    _, report = add(tmp_path, text)
    notes = {note.what: note.reason for note in report.ignored}
    assert set(notes) == {"<kp>", "<sensor>", "<frob>", "<implicitSpringDamper>", "<gazebo>", "<plugin>"}
    assert "misspelt" in notes["<frob>"]
    assert "neither a link nor a joint" in notes["<gazebo>"]
    assert report.attributes["unknown"] == 1


@pytest.mark.parametrize(
    "inside, words",
    [
        ("<mu1>-1</mu1>", "0 or more"),
        ("<mu1>nan</mu1>", "decimal"),
        ("<mu1/>", "empty"),
        ("<mu2>1e300</mu2>", "beyond"),
        ("<selfCollide>maybe</selfCollide>", "true or false"),
    ],
)
def test_bad_values_are_refused(tmp_path, inside, words):
    refused(tmp_path, robot(shaped() + gazebo(inside, "l1")), words, line=7)


# ---- loops


def loop(kind="ball", inside="<pose>0.1 0.2 0.3 0.4 0.5 0.6</pose>", ends=("l0", "l2"), name="closing"):
    tags = "".join(f"<{tag}>{link}</{tag}>" for tag, link in zip(("parent", "child"), ends, strict=True))
    return gazebo(f'<joint name="{name}" type="{kind}">{tags}{inside}</joint>')


def placed(count=3):
    origin = '<origin xyz="0.3 -0.1 0.2" rpy="0.2 0.4 -0.7"/><axis xyz="0 1 0"/>'
    return links(count) + "".join(joint(f"j{i}", f"l{i}", f"l{i + 1}", origin) for i in range(count - 1))


@pytest.mark.parametrize("kind", ["ball", "revolute", "prismatic", "fixed"])
@pytest.mark.parametrize("scale", [1.0, 0.01])
def test_a_loop_joint_is_closed_in_the_zero_pose(tmp_path, kind, scale):
    builder, report = add(tmp_path, robot(placed() + loop(kind)), scale=scale)
    (equality,) = builder.equalities
    assert equality.type == EqualityType[f"LOOP_{kind.upper()}"]
    assert equality.label == "closing"
    assert report.read["loop joints"] == 1
    model = builder.finalize(device="cpu", precision="float64")
    state = model.state()
    sim.eval_fk(model, state)
    ends = [
        frames.compose(tuple(state.body_q[body]), xform)
        for body, xform in ((equality.object0, equality.xform0), (equality.object1, equality.xform1))
    ]
    np.testing.assert_allclose(ends[0][:3], ends[1][:3], atol=1e-15)
    assert abs(np.dot(ends[0][3:], ends[1][3:])) == pytest.approx(1.0, abs=1e-14)
    np.testing.assert_allclose(equality.xform1[:3], np.array((0.1, 0.2, 0.3)) * scale)


def test_the_axis_of_a_loop_joint_is_z_unless_written(tmp_path):
    builder, _ = add(tmp_path, robot(placed() + loop("revolute", "")))
    assert builder.equalities[0].data[:3] == (0, 0, 1)
    axis = "<axis><xyz>0 3 4</xyz><limit><lower>0</lower></limit></axis>"
    builder, report = add(tmp_path, robot(placed() + loop("revolute", axis)))
    assert builder.equalities[0].data[:3] == pytest.approx((0, 0.6, 0.8))
    assert [note.what for note in report.ignored] == ["<limit>"]


@pytest.mark.parametrize(
    "text, words",
    [
        (loop("screw"), "screw"),
        (loop(ends=("l0", "l7")), "'l7' is not in the file"),
        (loop(ends=("l1", "l1")), "itself"),
        (loop(inside="<pose>1 2 3</pose>"), "3 numbers, not 6"),
        (loop("revolute", "<axis><xyz>0 0 0</xyz></axis>"), "zero length"),
        (gazebo('<joint name="x" type="ball"><parent>l0</parent></joint>'), "<child>"),
    ],
)
def test_bad_loops_are_refused(tmp_path, text, words):
    refused(tmp_path, robot(placed() + text), words, line=7)


# ---- Bullet's <contact>


def test_bullets_contact_is_the_surface_of_the_collisions(tmp_path):
    contact = (
        '<contact><lateral_friction value="0.7"/><spinning_friction value="0.02"/><restitution value="0.5"/>'
        '<inertia_scaling value="3"/></contact>'
    )
    text = robot(f'<link name="l">{SHAPES}{contact}</link>')
    builder, report = add(tmp_path, text)
    material = builder.shapes[1].material
    assert (material.friction, material.torsional, material.restitution) == (0.7, 0.02, 0.5)
    assert material.contact_dim == 4  # friction about the normal
    assert [note.what for note in report.ignored] == ["<inertia_scaling>"]
    builder, _ = add(tmp_path, text.replace("spinning", "rolling"))
    assert (builder.shapes[1].material.rolling, builder.shapes[1].material.contact_dim) == (0.02, 6)
    refused(tmp_path, text.replace('"0.5"', '"1.5"'), "restitution", line=2)
    assert math.isclose(builder.shapes[0].material.friction, 1.0)
