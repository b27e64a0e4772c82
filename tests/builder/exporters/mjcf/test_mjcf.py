"""The MJCF exporter against MuJoCo's library: it loads the file and finds the builder's own dynamics and contacts."""

from __future__ import annotations

import math
import re
import warnings

import mujoco
import numpy as np
import pytest

import simengine as sim
from simengine.builder.exporters.mjcf.constraints import shifted
from simengine.builder.exporters.report import ExportNotes
from simengine.builder.exporters.scene import make_scene, relative
from simengine.builder.frames import compose
from simengine.errors import UnsupportedError
from tests.builder.exporters.random_robots import Random, every_joint


class Twin:
    """A builder and MuJoCo's model of its export, both where the builder starts."""

    def __init__(self, builder, tmp_path):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.report = sim.export_mjcf(builder, tmp_path / "out.xml")
            self.model = builder.finalize(device="cpu", precision="float64")
        self.mj = mujoco.MjModel.from_xml_path(str(tmp_path / "out.xml"))
        self.data = mujoco.MjData(self.mj)
        key = mujoco.mj_name2id(self.mj, mujoco.mjtObj.mjOBJ_KEY, "initial")
        if key >= 0:
            mujoco.mj_resetDataKeyframe(self.mj, self.data, key)
        mujoco.mj_forward(self.mj, self.data)
        self.state = self.model.state()
        sim.eval_fk(self.model, self.state)
        ids = [mujoco.mj_name2id(self.mj, mujoco.mjtObj.mjOBJ_BODY, label) for label in self.model.body_label]
        self.pairs = [(body, index) for body, index in enumerate(ids) if index >= 0]

    def jacobians(self) -> tuple[np.ndarray, np.ndarray]:
        """Ours and MuJoCo's (6 bodies, nv) of the centres of mass of the bodies that both have."""
        whole = np.asarray(sim.eval_jacobian(self.model, self.state))[0]
        ours, theirs = [], []
        for body, index in self.pairs:
            linear, angular = np.zeros((3, self.mj.nv)), np.zeros((3, self.mj.nv))
            mujoco.mj_jacBodyCom(self.mj, self.data, linear, angular, index)
            theirs += [linear, angular]
            ours.append(whole[6 * body : 6 * body + 6])
        return np.concatenate(ours), np.concatenate(theirs)


@pytest.mark.parametrize("seed", range(3))
def test_mujoco_finds_the_poses_velocities_mass_matrix_and_gravity_of_every_joint(seed, tmp_path):
    twin = Twin(every_joint(seed), tmp_path)
    poses = np.asarray(twin.state.body_q)
    for body, index in twin.pairs:
        np.testing.assert_allclose(twin.data.xpos[index], poses[body, :3], atol=1e-12)
        turn = np.roll(twin.data.xquat[index], -1)
        assert abs(turn @ poses[body, 3:]) == pytest.approx(1.0, abs=1e-12)
    ours, theirs = twin.jacobians()
    # rates of the two engines: both give the same twists, theirs @ map = ours
    rates = np.linalg.lstsq(theirs, ours, rcond=None)[0]
    np.testing.assert_allclose(theirs @ rates, ours, atol=1e-10)
    np.testing.assert_allclose(theirs @ twin.data.qvel, ours @ np.asarray(twin.state.joint_qd), atol=1e-10)
    full = np.zeros((twin.mj.nv, twin.mj.nv))
    mujoco.mj_fullM(twin.mj, twin.data, full)
    mass = np.asarray(sim.eval_mass_matrix(twin.model, twin.state))[0]
    np.testing.assert_allclose(rates.T @ full @ rates, mass, atol=1e-9 * np.abs(mass).max())
    twin.state.joint_qd[:] = 0.0
    twin.data.qvel[:] = 0.0
    mujoco.mj_forward(twin.mj, twin.data)
    gravity = np.asarray(sim.eval_bias_force(twin.model, twin.state))
    np.testing.assert_allclose(rates.T @ twin.data.qfrc_bias, gravity, atol=1e-9 * np.abs(gravity).max())


def test_coriolis_forces_of_hinges_and_sliders_agree(tmp_path):
    r, builder = Random(5), sim.ModelBuilder()
    parent = -1
    for i in range(6):
        body = r.body(builder)
        add = builder.add_joint_prismatic if i % 3 == 2 else builder.add_joint_revolute
        add(parent, body, axis=r.axis(), q=r.rng.normal(), qd=r.rng.normal(), **r.frames())
        parent = body
    twin = Twin(builder, tmp_path)
    bias = np.asarray(sim.eval_bias_force(twin.model, twin.state))
    np.testing.assert_allclose(twin.data.qvel, np.asarray(twin.state.joint_qd), atol=1e-15)
    np.testing.assert_allclose(twin.data.qfrc_bias, bias, atol=1e-9 * np.abs(bias).max())


def test_coordinates_limits_springs_and_friction_are_mujocos(tmp_path):
    builder = every_joint(1, balls=False)
    twin = Twin(builder, tmp_path)
    joint = twin.mj.joint("hinge")
    assert twin.mj.qpos0[joint.qposadr[0]] == 0.7
    assert twin.mj.qpos_spring[joint.qposadr[0]] == 0.2
    assert (joint.stiffness[0], joint.damping[0], joint.armature[0]) == (3.0, 0.1, 0.01)
    assert twin.mj.dof_frictionloss[joint.dofadr[0]] == 0.1
    assert joint.limited[0] and joint.range[0] == -1.0 and joint.range[1] >= 1e15


def test_massless_bodies_become_joints_of_the_next(tmp_path):
    twin = Twin(every_joint(2), tmp_path)
    carried = twin.mj.body("carried")
    names = [twin.mj.joint(int(carried.jntadr[0]) + i).name for i in range(int(carried.jntnum[0]))]
    assert names == ["first", "second", "third"]
    assert [note.where for note in twin.report.rewritten if note.what == "massless body"] == [
        "body 'carried/first'",
        "body 'carried/second'",
    ]


def test_equalities_are_met_where_the_builder_says_so(tmp_path):
    r, builder = Random(3), sim.ModelBuilder()
    bodies = [r.body(builder, xform=r.pose(), label=f"b{i}") for i in range(4)]
    scene = make_scene(builder, 0, ExportNotes("", "", False), ("Z",))
    a, b, c, d = (scene.initial.pose[body] for body in bodies)
    builder.add_equality_weld(bodies[0], bodies[1], xform0=relative(a, b), label="weld")  # where they start
    frame = r.pose()
    turned = compose(relative(a, b), frame)
    builder.add_equality_weld(bodies[0], bodies[1], xform0=turned, xform1=frame, label="weld at a frame")
    builder.add_equality_connect(bodies[2], bodies[3], point0=relative(c, d)[:3], label="connect")
    builder.add_equality_connect(bodies[2], bodies[3], point1=(0.1, 0.2, 0.3), label="apart")
    for i, axis in enumerate("XYZ"):
        link = r.body(builder, label=f"link{i}")
        builder.add_joint_revolute(-1, link, axis=axis, q=(0.2, 0.4, -0.3)[i], label=f"j{i}")
    polynomial = (0.1, 0.5, -0.3, 0.2, 0.7)
    builder.add_equality_joint(0, 1, polynomial, label="joint")
    builder.add_equality_joint(2, polynomial=(-0.3,), label="held")
    twin = Twin(builder, tmp_path)
    residuals = {
        twin.mj.equality(i).name: twin.data.efc_pos[(twin.data.efc_id == i) & (twin.data.efc_type == 0)]
        for i in range(twin.mj.neq)
    }
    for name in ("weld", "weld at a frame", "connect", "held"):
        np.testing.assert_allclose(residuals[name], 0.0, atol=1e-9)
    x = 0.4
    wanted = 0.2 - sum(k * x**power for power, k in enumerate(polynomial))
    np.testing.assert_allclose(residuals["joint"], wanted, atol=1e-12)
    ends = np.array(c[:3]) - np.array(compose(d, (0.1, 0.2, 0.3, 0.0, 0.0, 0.0, 1.0))[:3])
    np.testing.assert_allclose(residuals["apart"], ends, atol=1e-9)


def test_a_distance_becomes_the_range_of_a_tendon(tmp_path):
    r, builder = Random(4), sim.ModelBuilder()
    body = r.body(builder, label="weight")
    builder.add_joint_distance(-1, body, 0.2, 0.5, q=(0.3, 0.0, 0.4, 0.0, 0.0, 0.0, 1.0), label="rope")
    twin = Twin(builder, tmp_path)
    tendon = twin.mj.tendon("rope_distance").id
    assert list(twin.mj.tendon_range[tendon]) == [0.2, 0.5]
    assert twin.data.ten_length[0] == pytest.approx(0.5, abs=1e-12)


def test_taylors_shift_moves_a_polynomial():
    p = np.polynomial.Polynomial((0.3, -1.0, 0.5, 2.0, -0.7))
    moved = np.polynomial.Polynomial(shifted(p.coef, 0.6))
    x = np.linspace(-2, 2, 7)
    np.testing.assert_allclose(moved(x), p(x + 0.6), atol=1e-12)


def crowd(seed: int) -> sim.ModelBuilder:
    """Spheres that all overlap, on bodies of a tree and on the world, with filters of every kind."""
    rng, builder = np.random.default_rng(seed), sim.ModelBuilder()
    held = builder.add_body(mass=1.0, inertia=(1.0, 1.0, 1.0))
    builder.add_joint_fixed(-1, held)
    bodies = [held]
    for i in range(6):
        body = builder.add_body(mass=1.0, inertia=(1.0, 1.0, 1.0))
        parent = int(rng.choice([-1, *bodies]))
        if i == 3:
            builder.add_joint_fixed(parent, body)
        else:
            builder.add_joint_revolute(parent, body, collide_with_parent=bool(rng.random() < 0.3))
        bodies.append(body)
    for i in range(18):
        builder.add_shape_sphere(
            int(rng.choice([-1, *bodies])), 0.1, xform=(*(0.02 * rng.normal(size=3)), 0, 0, 0, 1), density=0.0,
            contype=int(rng.choice([1, 1, 2, 3])), conaffinity=int(rng.choice([1, 1, 2])),
            collision_group=int(rng.choice([-1, -1, 0, 1])), collides=bool(rng.random() < 0.9), label=f"s{i}",
        )  # fmt: skip
    for _ in range(12):
        i, k = rng.choice(18, 2, replace=False)
        builder.add_shape_collision_filter_pair(int(i), int(k))
    builder.add_contact_pair(0, 1)
    return builder


@pytest.mark.parametrize("seed", range(5))
def test_the_same_shapes_touch_in_mujoco(seed, tmp_path):
    builder = crowd(seed)
    twin = Twin(builder, tmp_path)
    twin.mj.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_MIDPHASE)
    mujoco.mj_forward(twin.mj, twin.data)
    found = {frozenset(twin.mj.geom(int(geom)).name for geom in pair) for pair in twin.data.contact.geom}
    tables = twin.model.groups[0].tables
    label = twin.model.shape_label
    ours = {
        frozenset((label[int(i)], label[int(k)]))
        for i, k in zip(tables["pair_shape0"], tables["pair_shape1"], strict=True)
    }
    assert found == ours and len(ours) > 5


@pytest.mark.parametrize("priority", [0, 2])
def test_a_pair_has_what_mujoco_makes_of_its_geoms_where_it_says_nothing_itself(priority, tmp_path):
    """The same geoms in touch by a pair, written from a filter or as such, and by MuJoCo's own rules."""
    builder = sim.ModelBuilder()
    parent, child = (builder.add_body(mass=1.0, inertia=(1.0, 1.0, 1.0)) for _ in range(2))
    builder.add_joint_revolute(parent, child, collide_with_parent=True)
    surfaces = (
        sim.Material(friction=0.4, torsional=0.02, rolling=0.003, combine="mjcf", priority=priority),
        sim.Material(friction=0.7, time_constant=0.05, damping_ratio=0.7, combine="mjcf", contact_dim=4),
        sim.Material(friction=0.1, impedance=(0.5, 0.8, 0.02, 0.3, 3.0), combine="mjcf", contact_dim=1),
    )
    for body, material, margin in zip((parent, child, -1), surfaces, (0.01, 0.02, 0.03), strict=True):
        builder.add_shape_sphere(body, 0.1, xform=(0.01 * body, 0, 0, 0, 0, 0, 1), material=material, margin=margin)
    builder.shapes[1].mix = 3.0
    builder.add_contact_pair(0, 2, label="told", friction=(0.2, 0.3, 0.0, 0.0, 0.0))
    twin = Twin(builder, tmp_path)
    assert [note.what for note in twin.report.rewritten].count("contact pair") == 1
    text = (tmp_path / "out.xml").read_text(encoding="utf-8")
    found = []
    for words in (text, re.sub(r"<contact>.*</contact>", "", text, flags=re.DOTALL)):
        model = mujoco.MjModel.from_xml_string(words)
        model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_FILTERPARENT)
        data = mujoco.MjData(model)
        mujoco.mj_forward(model, data)
        found.append({tuple(sorted((int(c.geom1), int(c.geom2)))): c for c in data.contact})
    assert len(twin.mj.pair_dim) == 2 and sorted(found[0]) == sorted(found[1]) and len(found[0]) == 3
    for pair, contact in found[0].items():
        other = found[1][pair]
        for name in ("solref", "solimp", "includemargin", "dim", "dist"):
            np.testing.assert_allclose(
                getattr(contact, name), getattr(other, name), rtol=1e-12, err_msg=f"{pair} {name}"
            )
        told = twin.mj.pair("told").geom1[0] in pair and twin.mj.pair("told").geom2[0] in pair
        np.testing.assert_allclose(contact.friction[:2], (0.2, 0.3) if told else other.friction[:2])


def test_height_fields_keep_their_heights(tmp_path):
    rng, builder = np.random.default_rng(0), sim.ModelBuilder()
    heights = rng.normal(size=(4, 5))
    builder.add_shape_heightfield(-1, heights, 2.0, 1.5, base=5.0, xform=(1, 2, 3, 0, 0, 0, 1), label="hills")
    sim.export_mjcf(builder, tmp_path / "out.xml", strict=True)
    mj = mujoco.MjModel.from_xml_path(str(tmp_path / "out.xml"))
    geom, size = mj.geom("hills"), mj.hfield_size[0]
    written = mj.hfield_data.reshape(4, 5) * size[2] + geom.pos[2] - 3.0
    np.testing.assert_allclose(written, heights, atol=1e-6)  # MuJoCo holds them in single precision
    np.testing.assert_allclose(size[:2], (2.0, 1.5))
    assert geom.pos[2] - size[3] == pytest.approx(3.0 - 5.0)


def test_a_drive_is_an_actuator_of_the_same_force(tmp_path):
    builder = sim.ModelBuilder()
    link = builder.add_body(mass=1.0, inertia=(1.0, 1.0, 1.0))
    builder.add_joint_revolute(
        -1, link, target_ke=30.0, target_kd=2.0, target_pos=0.6, target_vel=0.5, effort_limit=8.0, q=0.2, qd=-0.4
    )
    twin = Twin(builder, tmp_path)
    # 30 (0.6 - 0.2) + 2 (0.5 + 0.4) = 13.8, held at 8
    assert twin.data.actuator_force[0] == pytest.approx(13.8)
    assert twin.data.qfrc_actuator[0] == pytest.approx(8.0)


THREE_HINGES = """<mujoco><worldbody><body name="arm"><joint name="a" axis="1 0 0"/><joint axis="0 1 0"/>
<joint name="c"/><geom size=".1"/></body></worldbody>{}</mujoco>"""


def imported(tmp_path, text: str, **options) -> sim.ModelBuilder:
    (tmp_path / "in.xml").write_text(text)
    builder = sim.ModelBuilder()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        builder.add_mjcf(tmp_path / "in.xml", **options)
    return builder


def test_a_sensor_stays_on_its_own_axis_of_a_joint_of_several(tmp_path):
    sensors = '<sensor><jointpos name="first" joint="a"/><jointvel name="last" joint="c"/></sensor>'
    twin = Twin(imported(tmp_path, THREE_HINGES.format(sensors)), tmp_path)
    names = {twin.mj.sensor(i).name: twin.mj.joint(int(twin.mj.sensor_objid[i])).name for i in range(twin.mj.nsensor)}
    assert names == {"first": "a", "last": "c"}
    again = sim.ModelBuilder()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        again.add_mjcf(tmp_path / "out.xml")
    assert [dict(sensor.parameters).get("dof", 0) for sensor in again.sensors] == [0, 2]


def test_a_sensor_of_a_universal_joints_second_axis_is_written(tmp_path):
    builder = sim.ModelBuilder()
    arm = builder.add_body(mass=1.0, inertia=(1.0, 1.0, 1.0))
    joint = builder.add_joint_universal(-1, arm, axis0=(1, 0, 0), axis1=(0, 1, 0), label="u")
    builder.add_sensor("jointpos", object_kind="joint", object=joint, parameters=(("dof", 1),))
    twin = Twin(builder, tmp_path)
    assert twin.mj.joint(int(twin.mj.sensor_objid[0])).name == "u_1"
    assert not twin.report.lost


def test_drives_act_on_axes_that_the_file_gave_no_name(tmp_path):
    builder = imported(tmp_path, THREE_HINGES.format(""), drive_stiffness=7.0)
    twin = Twin(builder, tmp_path)
    assert twin.mj.nu == 3
    assert twin.mj.actuator_trnid[:, 0].tolist() == [0, 1, 2]
    assert len({twin.mj.joint(i).name for i in range(3)} - {""}) == 3


def test_names_that_axes_get_and_states_in_a_keyframe_are_told_by_joint(tmp_path):
    builder = sim.ModelBuilder()
    arm = builder.add_body(mass=1.0, inertia=(1.0, 1.0, 1.0))
    builder.add_joint_universal(-1, arm, axis0=(1, 0, 0), axis1=(0, 1, 0), label="u")
    tip = builder.add_body(mass=1.0, inertia=(1.0, 1.0, 1.0))
    builder.add_joint_revolute(arm, tip, qd=0.5, label="r")
    report = Twin(builder, tmp_path).report
    assert [(note.what, note.where) for note in report.rewritten] == [
        ("name", "joint 'u'"), ("initial state", "keyframe 'initial'"), ("initial state", "joint 'r'"),
    ]  # fmt: skip


def test_what_mjcf_cannot_hold_is_told_and_refused_when_strict(tmp_path):
    builder = sim.ModelBuilder()
    rubber = sim.Material(restitution=0.5, static_friction=2.0, stiffness=1e4)
    body = builder.add_body(mass=1.0, inertia=(1.0, 1.0, 3.0), label="odd")
    builder.add_joint_ball(-1, body, swing=(1.0, 1.0), target_ke=5.0, velocity_limit=3.0)
    builder.add_shape_sphere(body, 0.1, material=rubber)
    builder.add_shape_cone(body, 0.1, 0.2)
    builder.add_shape_plane(body)
    other = builder.add_body(mass=1.0, inertia=(1.0, 1.0, 1.0))
    builder.add_joint_revolute(body, other, limit_lower=0.5, limit_upper=0.5, q=0.5, limit_ke=10.0)
    builder.add_loop_joint_prismatic(-1, other)
    with pytest.warns(UserWarning, match="things that MJCF cannot hold"):
        report = sim.export_mjcf(builder, tmp_path / "out.xml")
    assert {note.what for note in report.lost} == {
        "restitution", "static friction", "contact stiffness in SI units", "combine mode 'average'", "cone", "plane",
        "swing and twist limits", "drive", "velocity limit", "range of one value", "limit stiffness in SI units",
        "loop prismatic", "inertia",
    }  # fmt: skip
    mujoco.MjModel.from_xml_path(str(tmp_path / "out.xml"))
    with pytest.raises(UnsupportedError, match="MJCF cannot hold"):
        sim.export_mjcf(builder, tmp_path / "strict.xml", strict=True)
    assert not (tmp_path / "strict.xml").exists()


def test_labels_that_xml_must_escape_come_back(tmp_path):
    builder = sim.ModelBuilder()
    for label in ('<a> & "b"', "tab\tin it", "line\nbreak", "world", "żółw ✓", " blank "):
        body = builder.add_body(mass=1.0, inertia=(1.0, 1.0, 1.0), label=label)
        builder.add_joint_revolute(-1, body, label=label)
    report = sim.export_mjcf(builder, tmp_path / "out.xml")
    mj = mujoco.MjModel.from_xml_path(str(tmp_path / "out.xml"))
    bodies = [mj.body(i).name for i in range(1, mj.nbody)]
    assert bodies == ['<a> & "b"', "tab_in it", "line_break", "world_2", "żółw ✓", "blank"]
    renamed = [note.where for note in report.rewritten if note.what == "name" and note.where.startswith("body")]
    assert len(renamed) == 4


def test_numbers_are_read_back_to_the_last_bit(tmp_path):
    builder = sim.ModelBuilder()
    x = math.pi * 1e-7
    body = builder.add_body(mass=x, com=(x, 1 / 3, 0.0), inertia=(x, x, x), label="b")
    builder.add_joint_prismatic(-1, body, damping=x, label="j")
    sim.export_mjcf(builder, tmp_path / "out.xml")
    mj = mujoco.MjModel.from_xml_path(str(tmp_path / "out.xml"))
    assert mj.body("b").mass[0] == x and list(mj.body("b").ipos) == [x, 1 / 3, 0.0] and mj.dof_damping[0] == x


@pytest.mark.filterwarnings("ignore:.*MJCF cannot hold")
def test_masses_of_flat_bodies_and_points_are_taken_by_mujoco(tmp_path):
    builder = sim.ModelBuilder()
    plate = builder.add_body(mass=1.0, inertia=(0.1, 0.2, 0.1 + 0.2), label="plate")
    builder.add_joint_revolute(-1, plate)
    point = builder.add_body(mass=1.0, inertia=(0.0, 0.0, 0.0), label="point")
    builder.add_joint_prismatic(plate, point)
    report = sim.export_mjcf(builder, tmp_path / "out.xml")
    mj = mujoco.MjModel.from_xml_path(str(tmp_path / "out.xml"))
    np.testing.assert_allclose(mj.body("plate").inertia, (0.1, 0.2, 0.3), rtol=1e-11)
    np.testing.assert_allclose(mj.body("point").inertia, 1e-14)
    assert [note.where for note in report.lost] == ["body 'point'"]
