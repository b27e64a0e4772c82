"""URDF text and options: what each becomes in the builder, and what is refused, with its line."""

import math
import sys

import mujoco
import numpy as np
import pytest

import simengine as sim
from simengine.enums import EqualityType, JointType, ShapeType
from tests.builder.importers.urdf.texts import (
    BALL,
    TETRAHEDRON,
    add,
    joint,
    links,
    mesh_link,
    one_link,
    refused,
    robot,
    two_links,
)

# ---- links and inertia


def test_inertia_is_turned_by_its_own_frame(tmp_path):
    rpy, diagonal = (0.3, -0.5, 1.1), (0.1, 0.2, 0.25)
    text = BALL.replace("<mass", f'<origin xyz="0.1 0.2 0.3" rpy="{rpy[0]} {rpy[1]} {rpy[2]}"/><mass')
    builder, _ = add(tmp_path, two_links(child=text))
    (roll, pitch, yaw) = rpy
    c, s = math.cos, math.sin
    turn_x = np.array([[1, 0, 0], [0, c(roll), -s(roll)], [0, s(roll), c(roll)]])
    turn_y = np.array([[c(pitch), 0, s(pitch)], [0, 1, 0], [-s(pitch), 0, c(pitch)]])
    turn_z = np.array([[c(yaw), -s(yaw), 0], [s(yaw), c(yaw), 0], [0, 0, 1]])
    turn = turn_z @ turn_y @ turn_x
    arm = builder.bodies[1]
    assert arm.mass == 2.0
    assert arm.com == pytest.approx((0.1, 0.2, 0.3))
    assert np.reshape(arm.inertia, (3, 3)) == pytest.approx(turn @ np.diag(diagonal) @ turn.T, abs=1e-14)


def test_ignore_inertial_takes_mass_from_collisions_else_visuals(tmp_path):
    ball, box = '<sphere radius="0.1"/>', '<box size="0.1 0.2 0.3"/>'
    child = BALL + f"<collision><geometry>{ball}</geometry></collision><visual><geometry>{box}</geometry></visual>"
    base = f"<visual><geometry>{box}</geometry></visual>"
    builder, report = add(tmp_path, two_links(child=child, base=base), ignore_inertial=True)
    density = builder.default_density
    assert builder.bodies[1].mass == pytest.approx(density * 4 / 3 * math.pi * 0.1**3)
    assert builder.bodies[0].mass == pytest.approx(density * 0.1 * 0.2 * 0.3)
    assert [note.what for note in report.ignored] == ["<inertial>"]


def test_default_density_holds_for_links_without_inertial(tmp_path):
    builder = sim.ModelBuilder()
    builder.default_density = 500.0
    shape = '<collision><geometry><box size="0.1 0.2 0.3"/></geometry></collision>'
    add(tmp_path, two_links(child=shape), builder=builder)
    assert builder.bodies[1].mass == pytest.approx(500.0 * 0.006)


def test_a_moving_link_without_mass_or_geometry_is_refused(tmp_path):
    refused(tmp_path, two_links(child=""), "arm", "no", "mass", line=3)
    zero = '<inertial><mass value="0"/><inertia ixx="0" iyy="0" izz="0"/></inertial>'
    refused(tmp_path, two_links(child=zero), "arm", line=3)


def test_a_link_without_mass_may_carry_one_that_has(tmp_path):
    text = robot(
        f'<link name="base"/><link name="middle"/><link name="tip">{BALL}</link>\n'
        '<joint name="a" type="continuous"><parent link="base"/><child link="middle"/></joint>\n'
        '<joint name="b" type="continuous"><parent link="middle"/><child link="tip"/><axis xyz="0 1 0"/></joint>'
    )
    builder, _ = add(tmp_path, text)
    assert [body.mass for body in builder.bodies] == [0.0, 0.0, 2.0]


def test_a_link_that_turns_without_inertia_is_refused_with_its_line(tmp_path):
    point = '<inertial><mass value="2"/><inertia ixx="0" iyy="0" izz="0"/></inertial>'
    refused(tmp_path, two_links(child=point), "arm", "inertia", line=3)


@pytest.mark.parametrize("value, word", [("-1", "negative"), ("nan", "decimal"), ("1e999", "too large"), ("", "empty")])
def test_bad_masses_are_refused(tmp_path, value, word):
    refused(tmp_path, two_links(child=BALL.replace('"2"', f'"{value}"')), word, line=3)


def test_inertias(tmp_path):
    refused(tmp_path, two_links(child=BALL.replace('"0.1"', '"-0.1"')), "moments of inertia", line=3)
    refused(tmp_path, two_links(child=BALL.replace('ixy="0"', 'ixy="0.5"')), "moments of inertia", line=3)
    refused(tmp_path, two_links(child=BALL.replace('iyy="0.2" ', "")), "iyy", line=3)
    refused(tmp_path, two_links(child="<inertial/>"), "<mass>", line=3)


def test_an_impossible_inertia_is_kept_and_told_or_mended(tmp_path):
    child = BALL.replace("0.25", "0.9")
    builder, report = add(tmp_path, two_links(child=child))
    assert np.diagonal(np.reshape(builder.bodies[1].inertia, (3, 3))) == pytest.approx([0.1, 0.2, 0.9])
    assert len(report.warned) == 1 and "line 3" in report.warned[0].where
    builder, report = add(tmp_path, two_links(child=child), balance_inertia=True)
    assert np.diagonal(np.reshape(builder.bodies[1].inertia, (3, 3))) == pytest.approx([0.4, 0.4, 0.4])
    assert len(report.repaired) == 1
    with pytest.warns(UserWarning, match="1 kept though it looks wrong"):
        add(tmp_path, two_links(child=child), quiet=False)


# ---- joints


def test_all_joint_types(tmp_path):
    kinds = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")
    links = "".join(f'<link name="l{i}">{BALL}</link>' for i in range(7))
    joints = "".join(
        f'<joint name="{kind}" type="{kind}"><parent link="l{i}"/><child link="l{i + 1}"/><axis xyz="0 0.6 0.8"/>'
        '<limit lower="-1" upper="2" effort="3" velocity="4"/></joint>'
        for i, kind in enumerate(kinds)
    )
    builder, report = add(tmp_path, robot(links + joints))
    by_label = {joint.label: joint for joint in builder.joints}
    types = {"revolute": JointType.REVOLUTE, "continuous": JointType.REVOLUTE, "prismatic": JointType.PRISMATIC,
             "fixed": JointType.FIXED, "floating": JointType.FREE, "planar": JointType.D6}  # fmt: skip
    assert {kind: by_label[kind].type for kind in kinds} == types
    assert [joint.label for joint in builder.joints] == ["l0_fixed", *kinds]
    for kind in ("revolute", "prismatic"):
        (dof,) = by_label[kind].dofs
        assert (dof.limit_lower, dof.limit_upper, dof.effort_limit) == (-1, 2, 3)
        assert dof.velocity_limit == math.inf
    assert by_label["continuous"].dofs[0].limit_upper == math.inf
    assert by_label["continuous"].dofs[0].effort_limit == 3
    planar = np.array([dof.axis for dof in by_label["planar"].dofs])
    assert planar[2] == pytest.approx([0, 0.6, 0.8])
    assert planar @ planar.T == pytest.approx(np.eye(3), abs=1e-15)
    assert np.linalg.det(planar) == pytest.approx(1)
    assert {name: report.read[f"{name} joints"] for name in kinds} == dict.fromkeys(kinds, 1)
    builder.finalize(device="cpu")


def test_joint_frame_axis_and_dynamics(tmp_path):
    joint = ('<origin xyz="1 2 3" rpy="0 0 1.5707963267948966"/><axis xyz="0 0 2"/>'
             '<dynamics damping="0.5" friction="0.25"/><limit effort="1" velocity="2"/>')  # fmt: skip
    builder, report = add(tmp_path, two_links(joint))
    made = builder.joints[1]
    h = math.sqrt(0.5)
    assert made.parent_xform == pytest.approx((1, 2, 3, 0, 0, h, h))
    (dof,) = made.dofs
    assert dof.axis == (0, 0, 1)
    assert (dof.damping, dof.friction) == (0.5, 0.25)
    assert [note.what for note in report.repaired] == ["axis"]
    assert "lower and upper limit" in [note.what for note in report.defaulted]


def test_default_joint_holds_where_the_file_is_silent(tmp_path):
    builder = sim.ModelBuilder()
    builder.default_joint.armature = 0.01
    builder.default_joint.damping = 0.7
    add(tmp_path, two_links('<dynamics friction="1"/>'), builder=builder)
    (dof,) = builder.joints[1].dofs
    assert (dof.armature, dof.damping, dof.friction) == (0.01, 0.7, 1.0)


def test_velocity_limits_are_off_unless_asked_for(tmp_path):
    joint = '<limit lower="-1" upper="1" effort="5" velocity="3"/>'
    assert add(tmp_path, two_links(joint))[0].joints[1].dofs[0].velocity_limit == math.inf
    assert add(tmp_path, two_links(joint), velocity_limits=True)[0].joints[1].dofs[0].velocity_limit == 3
    zero = joint.replace('"3"', '"0"')
    builder, report = add(tmp_path, two_links(zero), velocity_limits=True)
    assert builder.joints[1].dofs[0].velocity_limit == math.inf
    assert [note.what for note in report.repaired] == ["velocity limit"]


def test_a_joint_starts_within_its_limits(tmp_path):
    joint = '<limit lower="0.5" upper="1" effort="5" velocity="3"/>'
    builder, report = add(tmp_path, two_links(joint))
    assert builder.joints[1].q == (0.5,)
    assert builder.joints[1].dofs[0].target_pos == 0.5
    assert any("0.5" in note.reason for note in report.defaulted)


@pytest.mark.parametrize(
    "text, words",
    [
        (two_links(kind="ball"), ("unknown", "revolute")),
        (two_links('<axis xyz="0 0 0"/>'), ("zero length",)),
        (two_links('<axis xyz="0 0"/>'), ("2 numbers, not 3",)),
        (two_links('<axis xyz="0 0 1"/><axis xyz="0 1 0"/>'), ("2 <axis>",)),
        (two_links('<limit lower="1" upper="-1"/>'), ("above",)),
        (two_links('<limit effort="-1"/>'), ("negative effort",)),
        (two_links('<limit velocity="-1"/>'), ("negative velocity",)),
        (two_links('<dynamics damping="-1"/>'), ("negative damping",)),
        (two_links('<dynamics friction="-1"/>'), ("negative friction",)),
        (two_links('<origin xyz="0 nan 0"/>'), ("decimal",)),
        (two_links().replace('type="revolute"', ""), ("'type'",)),
        (two_links().replace('name="j"', ""), ("'name'",)),
        (two_links().replace('<parent link="base"/>', ""), ("<parent>",)),
        (two_links().replace('<child link="arm"/>', ""), ("<child>",)),
        (two_links().replace('<child link="arm"/>', '<child link="arn"/>'), ("'arn'", "did you mean 'arm'")),
        (two_links().replace('<child link="arm"/>', '<child link="base"/>'), ("itself",)),
        (two_links('<mimic joint="j"/>'), ("follows itself",)),
        (two_links('<mimic joint="k"/>'), ("'k'", "not in the file")),
        (two_links('<mimic multiplier="2"/>'), ("'joint'",)),
    ],
)
def test_bad_joints_are_refused_with_their_line(tmp_path, text, words):
    refused(tmp_path, text, *words, line=4)


def test_a_limit_in_degrees_is_told(tmp_path):
    _, report = add(tmp_path, two_links('<limit lower="-90" upper="90" effort="1" velocity="1"/>'))
    assert "degrees" in report.warned[0].reason


@pytest.mark.parametrize(
    "text, words, line",
    [
        (links(3) + joint("a", "l0", "l1"), ("2 links have no parent", "l0, l2"), 4),
        (links(3) + joint("a", "l0", "l2") + joint("b", "l1", "l2"), ("already hangs on joint 'a'", "line 5"), 6),
        (links(2) + joint("a", "l0", "l1") + joint("b", "l1", "l0"), ("close a loop",), 1),
        (links(3) + joint("a", "l1", "l2") + joint("b", "l2", "l1"), ("loop",), None),
        (links(2) + joint("a", "l0", "l1") + joint("a", "l0", "l1"), ("two joints", "line 4"), 5),
        (links(1) + links(1), ("two links", "line 2"), 3),
        ("", ("no links",), 1),
        (
            links(3)
            + joint("a", "l0", "l1", '<mimic joint="b"/>')
            + joint("b", "l1", "l2", '<mimic joint="a" offset="1"/>'),
            ("circle",),
            None,
        ),
    ],
)
def test_what_is_not_a_tree_is_refused(tmp_path, text, words, line):
    refused(tmp_path, robot(text), *words, line=line)


def test_a_deep_chain_does_not_overflow(tmp_path):
    count = 1500
    text = robot(links(count) + "".join(joint(f"j{i}", f"l{i}", f"l{i + 1}") for i in range(count - 1)))
    builder, _ = add(tmp_path, text)
    assert len(builder.bodies) == count


def test_work_grows_as_the_chain_does(tmp_path):
    """Chains of links and of mimics, each hanging on the one before: the checks must not walk them again and again."""
    from simengine.builder.importers.report import ImportReport, Notes
    from simengine.builder.importers.urdf.check import check_mimics, check_tree
    from simengine.builder.importers.urdf.parse import parse_robot
    from simengine.builder.importers.xml_reader import read_xml

    count = 8_000
    joints = "".join(
        joint(f"j{i}", f"l{i}", f"l{i + 1}", f'<mimic joint="j{i + 1}"/>' if i < count - 2 else "")
        for i in range(count - 1)
    )
    names = "".join(f'<link name="l{i}"/>' for i in range(count))
    notes = Notes(ImportReport("r"), False, "warn")
    parsed = parse_robot(read_xml(robot(joints + names).encode(), "robot"), notes)
    check_tree(parsed)  # some 3e7 steps, if each link walked up to the root
    check_mimics(parsed, notes)
    assert parsed.root == "l0"


def test_joints_may_stand_in_any_order(tmp_path):
    builder, report = add(tmp_path, robot(joint("b", "l1", "l2") + links(3) + joint("a", "l0", "l1")))
    assert [joint.label for joint in builder.joints] == ["l0_fixed", "b", "a"]
    assert report.joints == {"l0_fixed": 0, "b": 1, "a": 2}
    builder.finalize(device="cpu")


def test_mimic_becomes_a_joint_equality(tmp_path):
    text = robot(
        links(4)
        + joint("a", "l0", "l1")
        + joint("b", "l1", "l2", '<mimic joint="a" multiplier="-2" offset="0.5"/>')
        + joint("c", "l2", "l3", '<limit lower="-9" upper="9" effort="1" velocity="1"/><mimic joint="b"/>', "prismatic")
    )
    builder, report = add(tmp_path, text, scale=0.1)
    first, second = builder.equalities
    assert first.type == second.type == EqualityType.JOINT
    assert (first.object0, first.object1) == (report.joints["b"], report.joints["a"])
    assert first.data[:3] == (0.5, -2, 0)
    assert second.data[:2] == pytest.approx((0, 0.1))  # metres of this scale for each radian of its leader
    assert report.mimics == [("b", "a", -2.0, 0.5), ("c", "b", 0.1, 0.0)]


def test_mimic_of_what_has_no_single_coordinate_is_skipped_and_told(tmp_path):
    text = links(3) + joint("a", "l0", "l1", kind="planar") + joint("b", "l1", "l2", '<mimic joint="a"/>')
    builder, report = add(tmp_path, robot(text))
    assert not builder.equalities
    assert [note.what for note in report.ignored] == ["<mimic>"]


# ---- placing and options


def test_floating_base_comes_first_at_the_given_pose(tmp_path):
    pose = sim.transform(p=(1, 2, 3), q=(0, 0, math.sqrt(0.5), math.sqrt(0.5)))
    builder, _ = add(tmp_path, two_links(), floating=True, xform=pose)
    model = builder.finalize(device="cpu", precision="float64")
    assert model.joint_type[0] == JointType.FREE
    assert model.joint_q[:7] == pytest.approx(pose)
    assert model.body_q[0] == pytest.approx(pose)


def test_fixed_base_stands_at_the_given_pose_in_a_builder_of_any_up_axis(tmp_path):
    builder, _ = add(tmp_path, two_links('<origin xyz="0 0 2"/>'), xform=sim.transform(p=(1, 0, 0)))
    assert builder.finalize(device="cpu", precision="float64").body_q[1, :3] == pytest.approx((1, 0, 2))
    up_y = sim.ModelBuilder(up_axis="Y")
    add(tmp_path, two_links('<origin xyz="0 0 2"/>'), builder=up_y, xform=sim.transform(p=(1, 0, 0)))
    assert up_y.finalize(device="cpu", precision="float64").body_q[1, :3] == pytest.approx((1, 2, 0), abs=1e-15)


def test_scale_is_that_of_a_file_in_millimetres(tmp_path):
    def text(metre):
        shape = (
            f'<collision><origin xyz="{metre} 0 0"/><geometry><sphere radius="{metre / 10}"/></geometry></collision>'
        )
        child = BALL + shape
        if metre != 1:
            child = child.replace('"0.1"', '"1e5"').replace('"0.2"', '"2e5"').replace('"0.25"', '"2.5e5"')
        limits = f'<limit lower="{-metre}" upper="{metre}" effort="7" velocity="{metre}"/>'
        return two_links(f'<origin xyz="0 {metre} 0"/>{limits}', kind="prismatic", child=child)

    metres, _ = add(tmp_path, text(1), velocity_limits=True)
    millimetres, _ = add(tmp_path, text(1000), velocity_limits=True, scale=0.001)
    assert millimetres.bodies[1].inertia == pytest.approx(metres.bodies[1].inertia)
    assert millimetres.bodies[1].mass == metres.bodies[1].mass
    assert millimetres.joints[1].parent_xform == pytest.approx(metres.joints[1].parent_xform)
    for name in ("limit_lower", "limit_upper", "velocity_limit", "effort_limit"):
        assert getattr(millimetres.joints[1].dofs[0], name) == pytest.approx(getattr(metres.joints[1].dofs[0], name))
    assert millimetres.shapes[0].size == pytest.approx(metres.shapes[0].size)
    assert millimetres.shapes[0].xform == pytest.approx(metres.shapes[0].xform)


def test_a_robot_can_be_added_twice_with_prefixes_and_indices_are_told(tmp_path):
    builder, first = add(tmp_path, two_links(), label_prefix="left")
    _, second = add(tmp_path, two_links(), builder=builder, label_prefix="right")
    assert [body.label for body in builder.bodies] == ["left/base", "left/arm", "right/base", "right/arm"]
    assert first.bodies == {"base": 0, "arm": 1}
    assert second.bodies == {"base": 2, "arm": 3}
    assert second.joints == {"base_fixed": 2, "j": 3}
    before = (len(builder.bodies), len(builder.joints))
    with pytest.raises(sim.ModelError, match="label_prefix"):
        add(tmp_path, two_links(), builder=builder, label_prefix="right")
    assert (len(builder.bodies), len(builder.joints)) == before


def test_an_error_leaves_a_builder_in_use_as_it_was(tmp_path):
    builder, _ = add(tmp_path, two_links())
    key = builder._elements.key()
    for text in (two_links(child=""), two_links("<mimic/>"), "<robot", robot(links(2), "other")):
        with pytest.raises(sim.AssetError):
            add(tmp_path, text, builder=builder, label_prefix="x")
    assert builder._elements.key() == key
    add(tmp_path, two_links(), builder=builder, label_prefix="x")
    builder.finalize(device="cpu")


def test_collapsed_links_are_told_where_they_went(tmp_path):
    text = robot(links(3) + joint("a", "l0", "l1") + joint("b", "l1", "l2", kind="fixed"))
    builder, report = add(tmp_path, text, collapse_fixed_joints=True)
    assert [body.label for body in builder.bodies] == ["l1"]
    assert report.bodies == {"l0": -1, "l1": 0, "l2": 0}
    assert report.joints == {"a": 0}
    assert builder.bodies[0].mass == 4


def test_drives(tmp_path):
    builder, _ = add(tmp_path, two_links(), drive_stiffness=50, drive_damping=4)
    assert (builder.joints[1].dofs[0].target_ke, builder.joints[1].dofs[0].target_kd) == (50, 4)
    builder, _ = add(tmp_path, two_links())
    assert (builder.joints[1].dofs[0].target_ke, builder.joints[1].dofs[0].target_kd) == (0, 0)
    with pytest.raises(sim.ModelError, match="drive_frequency"):
        add(tmp_path, two_links(), drive_stiffness=50, drive_frequency=1)


@pytest.mark.parametrize(
    "name, value",
    [
        ("scale", 0),
        ("scale", math.nan),
        ("drive_frequency", -1),
        ("drive_damping", -1),
        ("unsupported", "ignore"),
        ("xform", (1, 2, 3)),
    ],
)
def test_bad_options_are_refused_by_name(tmp_path, name, value):
    with pytest.raises(sim.ModelError, match=name):
        add(tmp_path, two_links(), **{name: value})


def test_an_unknown_option_is_refused(tmp_path):
    with pytest.raises(sim.ModelError, match="add_urdf: has no option 'floatng'; did you mean 'floating'"):
        add(tmp_path, two_links(), floatng=True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"floating": "yes"}, "import, floating: is 'yes'; it must be True or False"),
        ({"self_collision": 1}, "import, self_collision: is 1; it must be True or False"),
        ({"drive_frequency": "5"}, "import, drive_frequency: is '5'; it must be a number"),
        ({"package_roots": 5}, "package_roots or allow_paths: is 5; it must be a list of folders"),
        ({"allow_paths": [b"/"]}, r"package_roots or allow_paths: is \[b'/'\]; it must be a list of folders"),
        ({"label_prefix": 5}, "import, label_prefix: is 5; it must be a str"),
    ],
)
def test_options_of_the_wrong_kind_are_refused_by_name(tmp_path, options, message):
    with pytest.raises(sim.ModelError, match=message):
        add(tmp_path, two_links(), **options)


@pytest.mark.parametrize("path", [None, b"robot.urdf", 3])
def test_what_is_no_path_is_refused(path):
    with pytest.raises(sim.ModelError, match=f"add_urdf, path: is {path!r}; it must be a path"):
        sim.ModelBuilder().add_urdf(path)


# ---- shapes, colours, meshes


def test_shapes(tmp_path):
    builder, report = add(
        tmp_path,
        one_link(
            "".join(
                f"<collision><geometry>{geometry}</geometry></collision>"
                for geometry in (
                    '<box size="2 4 6"/>',
                    '<sphere radius="1"/>',
                    '<cylinder radius="1" length="4"/>',
                    '<capsule radius="1" length="4"/>',
                    '<capsule radius="1" length="0"/>',
                )
            )
        ),
    )
    kinds = [ShapeType.BOX, ShapeType.SPHERE, ShapeType.CYLINDER, ShapeType.CAPSULE, ShapeType.SPHERE]
    assert [shape.type for shape in builder.shapes] == kinds
    sizes = [(1, 2, 3), (1, 0, 0), (1, 2, 0), (1, 2, 0), (1, 0, 0)]
    assert [shape.size for shape in builder.shapes] == sizes
    assert [shape.label for shape in builder.shapes[:2]] == ["base/collision", "base/collision_1"]
    assert report.shapes == [0, 1, 2, 3, 4]
    assert all(shape.density == 0 for shape in builder.shapes)


def test_visuals_show_and_collisions_collide_and_show_where_there_is_nothing_else(tmp_path):
    both = '<visual name="see"><geometry><box size="1 1 1"/></geometry></visual>'
    both += '<collision name="hit"><geometry><sphere radius="1"/></geometry></collision>'
    builder, _ = add(tmp_path, one_link(both))
    assert [(s.label, s.visible, s.collides) for s in builder.shapes] == [
        ("base/see", True, False),
        ("base/hit", False, True),
    ]
    builder, _ = add(tmp_path, one_link(both[both.index("<collision") :]))
    assert [(s.visible, s.collides) for s in builder.shapes] == [(True, True)]


def test_equal_names_of_shapes_are_set_apart_and_told(tmp_path):
    one = '<collision name="hit"><geometry><sphere radius="1"/></geometry></collision>'
    builder, report = add(tmp_path, one_link(one + one))
    assert [shape.label for shape in builder.shapes] == ["base/hit", "base/hit_1"]
    assert len(report.repaired) == 1 and "'base/hit_1'" in report.repaired[0].reason


@pytest.mark.parametrize(
    "inside",
    [
        '<collision><geometry><sphere radius="1e16"/></geometry></collision>',
        '<visual><origin xyz="0 1e300 0"/><geometry><sphere radius="1"/></geometry></visual>',
        BALL.replace('"2"', '"1e200"'),
        BALL.replace('"0.25"', '"1e39"'),
    ],
)
def test_numbers_beyond_any_robot_are_refused(tmp_path, inside):
    refused(tmp_path, one_link(inside), "1e+15", line=2)


def test_a_huge_limit_means_none(tmp_path):
    builder, report = add(tmp_path, two_links('<limit lower="-1e100" upper="1e30" effort="1e20" velocity="1"/>'))
    (dof,) = builder.joints[1].dofs
    assert (dof.limit_lower, dof.limit_upper, dof.effort_limit) == (-math.inf, math.inf, math.inf)
    assert len(report.repaired) == 3
    refused(tmp_path, two_links('<limit lower="1e100" upper="1e200"/>'), line=4)


def visual(material):
    return f'<visual><geometry><sphere radius="1"/></geometry>{material}</visual>'


def test_colours(tmp_path):
    materials = (
        '<material name="red"/>',
        '<material name="own"><color rgba="0 1 0 0.5"/></material>',
        '<material name="own"/>',
        '<material name=""><color rgba="0 0 2 1"/></material>',
        '<material name="none"/>',
    )
    link = "".join(visual(material) for material in materials)
    text = robot(f'<material name="red"><color rgba="1 0 0 1"/></material><link name="l">{link}</link>')
    builder, report = add(tmp_path, text)
    colors = [shape.color for shape in builder.shapes]
    assert colors[:4] == [(1, 0, 0, 1), (0, 1, 0, 0.5), (0, 1, 0, 0.5), (0, 0, 1, 1)]
    assert [note.what for note in report.ignored] == ["material 'none'"]
    assert [note.what for note in report.repaired] == ["colour"]


def test_two_colours_of_one_name_are_refused(tmp_path):
    text = "".join(f'<material name="m"><color rgba="{c} 0 0 1"/></material>\n' for c in (0, 1))
    refused(tmp_path, robot(text + '<link name="l"/>'), "'m'", "twice", line=3)


@pytest.mark.parametrize(
    "geometry, word",
    [
        ('<box size="1 0 1"/>', "positive"),
        ('<box size="1 -1 1"/>', "positive"),
        ('<sphere radius="0"/>', "positive"),
        ('<sphere radius="nan"/>', "decimal"),
        ("<sphere/>", "radius"),
        ('<cylinder radius="1" length="-1"/>', "positive"),
        ('<mesh filename="a.obj" scale="1 0 1"/>', "zero"),
        ('<mesh filename=""/>', "empty"),
        ("<mesh/>", "filename"),
        ("", "no geometry"),
        ('<torus radius="1"/>', "no geometry"),
        ('<sphere radius="1"/><sphere radius="2"/>', "2 geometries"),
    ],
)
def test_bad_geometry_is_refused(tmp_path, geometry, word):
    refused(tmp_path, one_link(f"<collision><geometry>{geometry}</geometry></collision>"), word, line=2)


def test_a_mirrored_mesh_keeps_its_outside_and_its_inertia(tmp_path):
    (tmp_path / "a.obj").write_text(TETRAHEDRON)

    def mass(scale):
        builder, _ = add(tmp_path, mesh_link(extra=f'scale="{scale}"'), ignore_inertial=True)
        mesh = builder.shapes[0].mesh
        a, b, c = (mesh.vertices[mesh.triangles[:, i]] for i in range(3))
        assert np.einsum("ni,ni->", a, np.cross(b, c)) / 6 == pytest.approx(1.0)  # outwards: 1/6 of a cube of 2 x 3
        return builder.bodies[0]

    plain, mirrored = mass("1 2 3"), mass("1 -2 3")
    assert mirrored.mass == pytest.approx(plain.mass)
    assert mirrored.com == pytest.approx(np.array(plain.com) * (1, -1, 1))
    sign = np.array([[1, -1, 1], [-1, 1, -1], [1, -1, 1]])
    assert np.reshape(mirrored.inertia, (3, 3)) == pytest.approx(np.reshape(plain.inertia, (3, 3)) * sign)


def test_a_missing_mesh_is_refused_for_a_collision_and_skipped_for_a_visual(tmp_path):
    refused(tmp_path, mesh_link(), "a.obj", "not found", line=2)
    refused(tmp_path, mesh_link("package://no_such/a.obj"), "package_roots", line=2)
    for name in ("a.obj", "package://no_such/a.obj"):
        builder, report = add(tmp_path, mesh_link(name, "visual"))
        assert not builder.shapes
        assert name in report.ignored[0].reason
    (tmp_path / "a.obj").write_text("v 0 0 nan\n")
    refused(tmp_path, mesh_link(), "a.obj", "triangles", line=2)
    _, report = add(tmp_path, mesh_link(tag="visual"))
    assert "triangles" in report.ignored[0].reason


@pytest.mark.parametrize("tag", ["visual", "collision"])
@pytest.mark.parametrize("name", ["../a.obj", "/etc/passwd", "http://example.org/a.obj", "A.obj", "..\\a.obj"])
def test_paths_that_are_not_allowed_are_refused_for_both(tmp_path, tag, name):
    (tmp_path / "a.obj").write_text(TETRAHEDRON)
    refused(tmp_path, mesh_link(name, tag), line=2)


def test_a_mesh_outside_is_read_where_the_user_allows_it(tmp_path):
    folder = tmp_path / "urdf"
    folder.mkdir()
    (tmp_path / "a.obj").write_text(TETRAHEDRON)
    builder, report = add(folder, mesh_link("../a.obj"), allow_paths=[tmp_path])
    assert builder.shapes[0].type == ShapeType.MESH
    builder, report = add(folder, mesh_link(f"package://{tmp_path.name}/a.obj"))
    assert report.read["collisions"] == 1


def test_without_scipy_the_mass_of_an_open_mesh_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.spatial", None)
    (tmp_path / "a.obj").write_text(TETRAHEDRON.replace("f 2 3 4\n", ""))
    builder = sim.ModelBuilder()
    with pytest.raises(sim.MissingExtraError, match="meshes"):
        add(tmp_path, mesh_link(), builder=builder, ignore_inertial=True)
    assert not builder.bodies


def test_a_mesh_in_millimetres_is_told(tmp_path):
    (tmp_path / "a.obj").write_text(TETRAHEDRON.replace("1 0 0", "500 0 0"))
    _, report = add(tmp_path, mesh_link())
    assert "millimetres" in report.warned[0].reason


# ---- what is not read


def test_unknown_parts_are_noted_or_refused(tmp_path):
    text = two_links('<limits lower="1"/>').replace("<joint", '<joint colour="red"')
    _, report = add(tmp_path, text)
    assert [note.what for note in report.ignored] == ["attribute 'colour'", "<limits>"]
    with pytest.warns(UserWarning, match="2 unknown"):
        add(tmp_path, text, quiet=False)
    assert report.attributes == {"read": 14, "unknown": 2}
    refused(tmp_path, text, "colour", line=4, strict=True)
    refused(tmp_path, two_links('<limits lower="1"/>'), "<limits>", "not part of the format", line=4, strict=True)


def test_what_is_ignored_for_a_reason_gives_no_warning_but_strict_refuses_it(tmp_path):
    text = two_links('<calibration rising="1"/>').replace("</robot>", "<gazebo><static>true</static></gazebo></robot>")
    _, report = add(tmp_path, text, quiet=False)
    assert sorted(note.what for note in report.ignored) == ["<calibration>", "<static>"]
    assert report.attributes["ignored"] == 2
    refused(tmp_path, text, "calibration", line=4, strict=True)


def test_xacro_is_refused_with_a_hint(tmp_path):
    refused(tmp_path, robot('<xacro:property name="a" value="1"/><link name="l"/>').replace(
        "<robot", '<robot xmlns:xacro="http://ros.org/wiki/xacro"'), "run 'xacro", line=2)  # fmt: skip
    refused(tmp_path, two_links('<origin xyz="0 0 ${height}"/>'), "run 'xacro", line=4)


def test_other_files_are_refused(tmp_path):
    refused(tmp_path, "<mujoco/>", "<mujoco>", line=1)
    with pytest.raises(sim.AssetError, match=r"no_such\.urdf"):
        sim.ModelBuilder().add_urdf(tmp_path / "no_such.urdf")
    with pytest.raises(sim.AssetError, match="regular file"):
        sim.ModelBuilder().add_urdf(tmp_path)


def test_mass_matrix_equals_that_of_mujocos_own_reader(tmp_path):
    """Two joints with turned frames, turned inertias and off-diagonal terms, at a random state."""
    inertia = BALL.replace('ixy="0"', 'ixy="0.01"').replace('iyz="0"', 'iyz="-0.02"')
    inertia = inertia.replace("<mass", '<origin xyz="0.1 -0.2 0.3" rpy="0.4 0.5 0.6"/><mass')
    frame = '<origin xyz="0.3 0.1 -0.2" rpy="0.7 -0.4 1.2"/><axis xyz="0.6 0 0.8"/>'
    text = robot(
        f'<link name="l0"/><link name="l1">{inertia}</link><link name="l2">{inertia}</link>'
        + joint("a", "l0", "l1", frame)
        + joint("b", "l1", "l2", frame + '<limit lower="-9" upper="9" effort="1" velocity="1"/>', "prismatic")
    )
    reference = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(reference)
    data.qpos[:] = (0.7, -0.3)
    data.qvel[:] = (1.1, 0.4)
    mujoco.mj_forward(reference, data)
    full = np.zeros((2, 2))
    mujoco.mj_fullM(reference, data, full)
    builder, _ = add(tmp_path, text)
    model = builder.finalize(device="cpu", precision="float64")
    state = model.state()
    state.joint_q[:], state.joint_qd[:] = data.qpos, data.qvel
    assert sim.eval_mass_matrix(model, state)[0] == pytest.approx(full, rel=1e-9)
    assert sim.eval_bias_force(model, state) == pytest.approx(data.qfrc_bias, rel=1e-9)
