"""add_mjcf: several files, options, what is kept, the report."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import simengine as sim
from simengine.builder.frames import apply, compose
from simengine.errors import AssetError, ModelError
from tests.builder.importers.mjcf.mujoco_facts import Answer, assert_near, check_all, facts_of, finalized, read

BOX = '<geom type="box" size=".1 .2 .3"/>'


def write(folder, files: dict[str, str]):
    """Write files; returns the first."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder / next(iter(files))


CHILD = """<mujoco model="arm"><compiler angle="radian" eulerseq="XYZ" autolimits="false"/><option gravity="0 0 -1"/>
<default><joint damping="3"/><default class="c"><geom density="10"/></default></default>
<worldbody><geom name="floor" size=".1" pos="0 0 -3"/><body name="a" pos="0 0 .1" euler=".1 .2 .3">
<joint name="j" ref=".3" range="-1 1" limited="true"/><geom name="g" class="c" type="box" size=".1 .2 .3"/>
<site name="s"/>
<frame name="f" pos="1 0 0" euler=".4 0 0"><body name="b"><joint name="k" axis="0 1 0"/><geom size=".1"/></body></frame>
</body></worldbody>
<actuator><motor name="m" joint="j"/><motor name="n" joint="k"/></actuator>
<sensor><accelerometer name="acc" site="s"/></sensor>
<contact><exclude body1="a" body2="b"/></contact></mujoco>"""


@pytest.mark.parametrize("what", ['body="a"', 'frame="f"', ""], ids=["a body", "a frame", "the world"])
def test_an_attached_model_is_as_mujoco_attaches_it(what, tmp_path):
    path = write(
        tmp_path,
        {
            "scene.xml": '<mujoco><default><geom density="7"/></default><asset><model name="x"'
            ' file="arms/arm.xml"/></asset>'
            '<worldbody><body name="base" pos="0 0 1" euler="0 0 30"><freejoint/><geom size=".2"/>'
            f'<frame pos="1 2 3" euler="30 0 0"><attach model="x" {what} prefix="l_"/></frame>'
            f'<attach model="x" {what} prefix="r_"/></body></worldbody></mujoco>',
            "arms/arm.xml": CHILD,
        },
    )
    answer = Answer(*read(path))
    facts = facts_of(path)
    check_all(facts, answer)
    m = facts["model"]
    assert [a.label for a in answer.builder.actuators] == [m.actuator(i).name for i in range(m.nu)]
    assert [s.label for s in answer.builder.sensors] == [m.sensor(i).name for i in range(m.nsensor)]


def test_includes_take_the_place_of_their_elements(tmp_path):
    path = write(
        tmp_path,
        {
            "scene.xml": '<mujoco><include file="parts/common.xml"/><worldbody><include file="parts/body.xml"/>'
            "</worldbody></mujoco>",
            "parts/common.xml": '<mujocoinclude><default><geom size=".3"/></default><include file="more.xml"/>'
            "</mujocoinclude>",
            "parts/more.xml": "<mujoco><option timestep='.01'/></mujoco>",
            "parts/body.xml": '<anything><body name="a"><joint/><geom/></body><body name="b"><joint/><geom/>'
            "</body></anything>",
        },
    )
    answer = Answer(*read(path))
    check_all(facts_of(path), answer)
    assert answer.builder.options.dt == 0.01


SCENE = f"""<mujoco><option gravity="1 2 -3"/>
<worldbody><geom type="plane" size="1 1 1" pos="0 0 -1"/><site name="w" pos="1 1 1"/>
<body name="a" pos="1 2 3" euler="10 20 30"><freejoint/>{BOX}</body>
<body name="m" mocap="true" pos="0 1 2">{BOX}</body>
<body name="b" pos="0 0 1" euler="0 40 0"><joint name="j" axis="0 1 0" ref="20"/>{BOX}
<body name="c" pos="1 0 0"><joint type="ball"/>{BOX}</body></body></worldbody>
<equality><connect body1="b" anchor="1 2 3"/><weld body1="a"/></equality>
<keyframe><key name="k" qpos="1 2 3 1 1 0 0 .5 0 1 0 0" qvel="1 2 3 4 5 6 7 8 9 10" mpos="7 8 9"/><key/></keyframe>
</mujoco>"""


@pytest.mark.parametrize("up", ["Z", "Y"])
def test_a_scene_is_placed_as_a_whole(up, tmp_path):
    path = write(tmp_path, {"scene.xml": SCENE})
    plain, _ = read(path)
    place = sim.transform(p=(1, -2, 3), q=sim.quat_from_axis_angle((1, 2, 3), 0.7))
    placed = sim.ModelBuilder(up_axis=up)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        placed.add_mjcf(path, xform=place)
    base = tuple(place)
    if up == "Y":
        base = compose(base, tuple(sim.transform(q=sim.quat_from_axis_angle((1, 0, 0), -np.pi / 2))))
    ours, theirs = Answer(placed, None).poses(), Answer(plain, None).poses()
    for moved, pose in zip(ours[:-1], theirs[:-1], strict=True):
        expected = compose(base, pose)
        assert_near(moved[:3], expected[:3], "position")
        assert abs(np.dot(moved[3:], expected[3:])) == pytest.approx(1.0)
    assert_near(placed.sites[0].xform[:3], apply(base, plain.sites[0].xform[:3]), "site")
    assert_near(placed.shapes[0].xform[:3], apply(base, plain.shapes[0].xform[:3]), "static shape")
    assert_near(placed.gravity, (1, 2, -3) if up == "Z" else (1, -3, -2), "gravity, of the world, which stays")
    for one, other in zip(placed.equalities, plain.equalities, strict=True):
        assert_near(one.xform0, other.xform0, "frame on a body")
        expected = compose(base, other.xform1)
        assert_near(one.xform1[:3], expected[:3], "frame on the world")
    check_keyframe(placed.keyframes[0], plain.keyframes[0], base)
    check_keyframe(placed.keyframes[1], plain.keyframes[1], base)


def check_keyframe(placed, plain, base) -> None:
    turn = (0, 0, 0, *base[3:])
    (free, q, qd), (_, hinge, _), (_, ball, _) = placed.joints[0], *placed.joints[1:]
    (_, q0, qd0), (_, hinge0, _), (_, ball0, _) = plain.joints
    assert free == plain.joints[0][0]
    expected = compose(base, q0)
    assert_near(q[:3], expected[:3], "position")
    assert abs(np.dot(q[3:], expected[3:])) == pytest.approx(1.0)
    assert_near(qd, (*apply(turn, qd0[:3]), *apply(turn, qd0[3:])), "rates")
    assert (hinge, ball) == (hinge0, ball0)
    assert_near(placed.bodies[0][1][:3], apply(base, plain.bodies[0][1][:3]), "mocap")


def test_a_keyframe_holds_the_numbers_of_the_file(tmp_path):
    builder, _ = read(write(tmp_path, {"scene.xml": SCENE}))
    key, empty = builder.keyframes
    (a, q, qd), (b, hinge, rate), (c, ball, turning) = key.joints
    assert [builder.bodies[builder.joints[j].child].label for j in (a, b, c)] == ["a", "b", "c"]
    half = 0.5**0.5
    assert_near(q, (1, 2, 3, half, 0, 0, half), "free joint")
    assert_near(qd, (1, 2, 3, 4, -6, 5), "its rates turn with it: a quarter about x")
    assert (hinge, rate, ball) == ((0.5,), (7.0,), (1.0, 0.0, 0.0, 0.0))
    assert_near(turning, (8, -9, -10), "half a turn about x")
    assert key.bodies[0][1][:3] == (7.0, 8.0, 9.0)
    assert empty.bodies[0][1][:3] == (0.0, 1.0, 2.0)
    assert_near(empty.joints[1][1], (np.radians(20),), "the file's pose")


def test_sensors_name_what_they_are_attached_to(tmp_path):
    path = write(
        tmp_path,
        {
            "scene.xml": '<mujoco><worldbody><site name="w"/><body name="b"><joint name="i"/><joint name="j"'
            ' axis="1 0 0"/>'
            '<geom name="g" size=".1"/><site name="s"/></body></worldbody><tendon><fixed name="t"><joint'
            ' joint="j" coef="2"/>'
            '</fixed></tendon><actuator><motor name="m" tendon="t"/></actuator><sensor><jointpos joint="j" noise=".1"/>'
            '<framepos objtype="body" objname="b" reftype="site" refname="w" cutoff="3"/><framequat'
            ' objtype="xbody" objname="b"/>'
            '<tendonpos tendon="t"/><actuatorfrc actuator="m"/><distance geom1="g" body2="world"/><touch'
            ' site="s"/><clock/>'
            '<subtreecom body="b"/><contact subtree1="b" geom2="g" data="found force" num="2"/></sensor></mujoco>'
        },
    )
    builder, report = read(path)
    found = [
        (s.kind, s.object_kind, s.object, s.reference_kind, s.reference, dict(s.parameters)) for s in builder.sensors
    ]
    assert found == [
        ("jointpos", "joint", 0, "none", -1, {"noise": 0.1, "dof": 1}),
        ("framepos", "body_inertial", 0, "site", 0, {"cutoff": 3.0}),
        ("framequat", "body", 0, "none", -1, {}),
        ("tendonpos", "tendon", 0, "none", -1, {}),
        ("actuatorfrc", "actuator", 0, "none", -1, {}),
        ("distance", "shape", 0, "body", -1, {}),
        ("touch", "site", 1, "none", -1, {}),
        ("clock", "none", -1, "none", -1, {}),
        ("subtreecom", "body", 0, "none", -1, {}),
        ("contact", "body", 0, "shape", 0, {"data": "found force", "num": 2.0}),
    ]
    (tendon,) = builder.tendons
    assert (tendon.terms, tendon.dofs) == (((0, 2.0),), (1,))
    assert report.attributes.get("unknown", 0) == 0


def test_spatial_tendons_keep_their_path(tmp_path):
    path = write(
        tmp_path,
        {
            "scene.xml": '<mujoco><worldbody><site name="a"/><geom name="g" type="cylinder" size=".1 .2"/><site'
            ' name="x" pos="0 1 0"/>'
            '<body name="b" pos="1 0 0"><joint/><geom size=".1"/><site name="c"/><site name="d"/></body>'
            "</worldbody><tendon>"
            '<spatial name="t" springlength=".3" range="0 1" width=".01" rgba="1 0 0 1"><site site="a"/><geom'
            ' geom="g" sidesite="x"/>'
            '<site site="c"/><pulley divisor="2"/><site site="c"/><site site="d"/></spatial></tendon></mujoco>'
        },
    )
    builder, _ = read(path)
    (tendon,) = builder.tendons
    assert [(p.kind, p.index, p.side, p.divisor) for p in tendon.path] == [
        ("site", 0, -1, 1.0),
        ("shape", 0, 1, 1.0),
        ("site", 2, -1, 1.0),
        ("pulley", -1, -1, 2.0),
        ("site", 2, -1, 1.0),
        ("site", 3, -1, 1.0),
    ]
    assert (tendon.spring_length, tendon.limit_upper, tendon.width) == ((0.3, 0.3), 1.0, 0.01)


def test_custom_data_is_kept(tmp_path):
    path = write(
        tmp_path,
        {
            "scene.xml": '<mujoco><custom><numeric name="n" data="1 2" size="3"/><text name="t" data="hello"/>'
            '<text name="v"><![CDATA[a < b]]></text>'
            '<tuple name="u">'
            '<element objtype="body" objname="b" prm="4"/></tuple></custom><worldbody><body name="b"/>'
            "</worldbody></mujoco>"
        },
    )
    builder, _ = read(path)
    assert builder.custom == (("n", (1.0, 2.0, 0.0)), ("t", "hello"), ("v", "a < b"), ("u", (("body", "b", 4.0),)))


def test_colours_come_from_geoms_else_materials(tmp_path):
    path = write(
        tmp_path,
        {
            "scene.xml": '<mujoco><asset><material name="red" rgba="1 0 0 1"/></asset><worldbody><geom size=".1"'
            ' material="red"/>'
            '<geom size=".1" material="red" rgba="0 1 0 1"/><geom size=".1"/></worldbody></mujoco>'
        },
    )
    builder, _ = read(path)
    assert [shape.color for shape in builder.shapes] == [(1, 0, 0, 1), (0, 1, 0, 1), (0.5, 0.5, 0.5, 1)]


def test_an_error_leaves_the_builder_as_it_was(tmp_path):
    path = write(
        tmp_path,
        {
            "scene.xml": f'<mujoco><worldbody><body name="a"><joint/>{BOX}</body><body name="b"><joint/></body>'
            f"</worldbody></mujoco>"
        },
    )
    builder = sim.ModelBuilder()
    builder.add_body(mass=1.0, inertia=(1, 1, 1), label="mine")
    before = builder._elements.key()
    with pytest.raises(AssetError, match=r"scene.xml:1: <body 'b'>.*mass"):
        builder.add_mjcf(path)
    assert builder._elements.key() == before


def test_a_file_can_be_added_twice_under_prefixes(tmp_path):
    path = write(tmp_path, {"scene.xml": SCENE})
    builder = sim.ModelBuilder()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        builder.add_mjcf(path, label_prefix="left")
        report = builder.add_mjcf(path, label_prefix="right")
    assert builder.bodies[report.bodies["a"]].label == "right/a"
    with pytest.raises(ModelError, match="label_prefix"):
        read_into(builder, path, label_prefix="left")
    finalized(builder)


def read_into(builder, path, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return builder.add_mjcf(path, **options)


def test_strict_refuses_what_would_be_ignored(tmp_path):
    text = '<mujoco><visual><map znear="1"/></visual><worldbody><geom size=".1" colour="1"/></worldbody></mujoco>'
    path = write(tmp_path, {"scene.xml": text})
    with pytest.raises(AssetError, match=r"scene.xml:1.*visual"):
        read(path, strict=True)
    _, report = read(path)
    assert [note.what for note in report.ignored] == ["<visual>", "attribute 'colour'"]
    assert report.attributes == {"ignored": 1, "read": 1, "unknown": 1}


def test_unsupported_raise_refuses_what_is_only_kept(tmp_path):
    body = f'<body><joint name="j"/>{BOX}</body>'
    text = f'<mujoco><worldbody>{body}</worldbody><actuator><motor joint="j"/></actuator></mujoco>'
    path = write(tmp_path, {"scene.xml": text})
    with pytest.raises(AssetError, match="motor.*not simulated yet"):
        read(path, unsupported="raise")
    _, report = read(path)
    assert [note.what for note in report.kept] == ["<motor>"]


def test_unnamed_elements_get_labels_that_the_file_does_not_use(tmp_path):
    text = (
        f'<mujoco><worldbody><geom size=".1"/><body name="joint_1">{BOX}{BOX}</body><body name="body_1"><joint/>'
        f'<geom name="body_1/box" size=".1"/>{BOX}</body><body><joint name="joint_2"/>{BOX}</body></worldbody></mujoco>'
    )
    builder, _ = read(write(tmp_path, {"scene.xml": text}))
    assert [body.label for body in builder.bodies] == ["joint_1", "body_1", "body_2"]
    assert [joint.label for joint in builder.joints] == ["joint_0", "joint_1", "joint_2"]
    labels = [shape.label for shape in builder.shapes]
    assert labels == ["world/sphere", "joint_1/box", "joint_1/box_1", "body_1/box", "body_1/box_1", "body_2/box"]
    assert [joint.auto_label for joint in builder.joints] == [True, True, False]


def test_joints_about_different_points_have_a_body_without_mass_between(tmp_path):
    text = (
        '<mujoco><worldbody><body name="b"><joint name="i" axis="1 0 0"/><joint name="j" pos="0 0 1"/>'
        f"{BOX}</body></worldbody></mujoco>"
    )
    builder, report = read(write(tmp_path, {"scene.xml": text}))
    assert [(body.label, body.mass) for body in builder.bodies] == [("b/i", 0.0), ("b", pytest.approx(48.0))]
    assert [note.what for note in report.repaired] == ["joints of one body"]


def test_a_joint_of_an_equality_stands_alone(tmp_path):
    text = (
        '<mujoco><worldbody><body name="b"><joint name="i" axis="1 0 0"/><joint name="j" axis="0 1 0" ref="10"/>'
        f'<joint name="k" axis="0 0 1"/>{BOX}</body></worldbody><equality><joint joint1="j" joint2="i"'
        f' polycoef="1 2 3"/>'
        "</equality></mujoco>"
    )
    builder, _ = read(write(tmp_path, {"scene.xml": text}))
    assert [joint.label for joint in builder.joints] == ["i", "j", "k"]
    (equality,) = builder.equalities
    assert (equality.object0, equality.object1) == (1, 0)
    assert_near(equality.data[:3], (1 + np.radians(10), 2, 3), "polynomial")


def test_the_time_of_the_largest_scene_is_short(shared):
    """Not a time, but what decides it: each mesh is read once, and weighed only where its weight is asked for."""
    builder, _ = read(shared / "assets/mujoco_warp/aloha_pot/scene.xml")
    meshes = [shape.mesh for shape in builder.shapes if shape.mesh is not None]
    assert len({id(mesh) for mesh in meshes}) == len(set(meshes)) < len(meshes)


def test_fixed_joints_can_be_collapsed(tmp_path):
    text = (
        f'<mujoco><worldbody><body name="a">{BOX}<body name="b" pos="0 0 1"><joint name="i" axis="1 0 0"/>'
        f'<joint name="j" axis="0 1 0"/>{BOX}<body name="c" pos="0 0 1">{BOX}<body name="d"><joint name="k"/>{BOX}'
        "</body></body></body></body></worldbody></mujoco>"
    )
    builder, report = read(write(tmp_path, {"scene.xml": text}), collapse_fixed_joints=True)
    assert [body.label for body in builder.bodies] == ["b", "d"]
    assert [builder.joints[report.joints[name]].label for name in ("i", "j", "k")] == ["i+j", "i+j", "k"]
    assert (report.bodies["a"], report.bodies["c"]) == (-1, 0)


def test_what_an_attached_model_leaves_behind_is_told(tmp_path):
    path = write(
        tmp_path,
        {
            "scene.xml": '<mujoco><asset><model name="x" file="x.xml"/></asset><worldbody>'
            '<attach model="x" prefix="p"/>'
            "</worldbody></mujoco>",
            "x.xml": '<mujoco><option timestep="1"/><custom><text name="t" data="d"/></custom><worldbody/>'
            '<keyframe><key name="k"/></keyframe></mujoco>',
        },
    )
    builder, report = read(path)
    assert [note.what for note in report.ignored] == ["<option> of an attached model", "custom 't'"]
    assert builder.options.dt is None


def test_exact_inertia_of_older_files_is_that_of_the_meshes(tmp_path):
    vertex, face = "0 0 0 1 0 0 0 1 0 0 0 1", "0 2 1 0 1 3 0 3 2 1 2 3"
    masses = []
    for compiler, inertia in (('exactmeshinertia="true"', ""), ("", 'inertia="exact"')):
        text = (
            f"<mujoco><compiler {compiler}/><asset>"
            f'<mesh name="m" vertex="{vertex}" face="{face}" {inertia}/></asset>'
            '<worldbody><body><joint/><geom type="mesh" mesh="m"/></body></worldbody></mujoco>'
        )
        builder, _ = read(write(tmp_path, {"scene.xml": text}))
        masses.append((builder.bodies[0].mass, builder.bodies[0].inertia))
    assert masses[0] == masses[1]
    assert masses[0][0] == pytest.approx(1000 / 6)


@pytest.mark.parametrize("what", ['body="a"', 'frame="f"', ""], ids=["a body", "a frame", "the world"])
def test_keyframes_of_attached_models_come_with_them(what, tmp_path):
    path = write(
        tmp_path,
        {
            "scene.xml": '<mujoco><asset><model name="x" file="x.xml"/></asset><worldbody><body name="p">'
            f'<joint name="pj" ref="30"/>{BOX}<attach model="x" {what} prefix="l_"/>'
            f'<attach model="x" {what} prefix="r_"/>'
            '</body></worldbody><actuator><motor name="pm" joint="pj"/></actuator></mujoco>',
            "x.xml": f'<mujoco><worldbody><frame name="f"><body name="a"><joint name="j"/>{BOX}<body name="b">'
            f'<joint name="k" type="ball"/>{BOX}</body></body></frame></worldbody><actuator><motor name="m" joint="j"/>'
            '</actuator><keyframe><key name="K" qpos="1 0 1 0 0" qvel="1 2 3 4" ctrl="5" time="3"/></keyframe>'
            "</mujoco>",
        },
    )
    builder, _ = read(path)
    m = facts_of(path)["model"]
    assert [key.label for key in builder.keyframes] == [m.key(i).name for i in range(m.nkey)] == ["l_K", "r_K"]
    for i, key in enumerate(builder.keyframes):
        assert key.time == m.key_time[i]
        assert [given for _, given, _ in key.actuators] == list(m.key_ctrl[i])
        coords = {builder.joints[joint].label: q for joint, q, _ in key.joints}
        theirs = {m.joint(j).name: m.key_qpos[i][m.jnt_qposadr[j] :] for j in range(m.njnt)}
        for name in ("pj", "l_j", "r_j"):
            assert_near(coords[name], theirs[name][:1], name, scale=1.0)
        for name in ("l_k", "r_k"):
            assert_near(coords[name], np.roll(theirs[name][:4], -1), name)


def test_a_keyframe_of_a_model_attached_in_a_replica_is_told(tmp_path):
    path = write(
        tmp_path,
        {
            "scene.xml": '<mujoco><asset><model name="x" file="x.xml"/></asset><worldbody><replicate count="2">'
            '<attach model="x" body="a" prefix="l_"/></replicate></worldbody></mujoco>',
            "x.xml": f'<mujoco><worldbody><body name="a"><joint name="j"/>{BOX}</body></worldbody>'
            '<keyframe><key name="K" qpos="1"/></keyframe></mujoco>',
        },
    )
    builder, report = read(path)
    assert [joint.label for joint in builder.joints] == ["l_j0", "l_j1"]
    assert [note.what for note in report.ignored] == ["<key>"]
    assert not builder.keyframes
