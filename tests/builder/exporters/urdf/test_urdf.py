"""The URDF exporter: read back by our importer, the builder's dynamics; loaded by MuJoCo."""

from __future__ import annotations

import math
import warnings

import mujoco
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simengine as sim
from simengine.builder.exporters.urdf.shapes import roll_pitch_yaw
from simengine.builder.frames import quat_from_axis_angle, quat_multiply, rotation_matrix
from simengine.errors import UnsupportedError
from tests.builder.exporters.random_robots import Random

IGNORED = pytest.mark.filterwarnings("ignore:.*(cannot hold|print the report|leaves out)")


def read(path, **options):
    builder = sim.ModelBuilder()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report = builder.add_urdf(path, **options)
    return builder, report


def mass_matrix(builder, q) -> np.ndarray:
    model = builder.finalize(device="cpu", precision="float64")
    state = model.state()
    state.joint_q[:] = q
    sim.eval_fk(model, state)
    return np.asarray(sim.eval_mass_matrix(model, state))[0]


def chains(seed: int) -> sim.ModelBuilder:
    """Joints of one and several axes about points that are no origins of bodies, on the world in two places."""
    r, builder = Random(seed), sim.ModelBuilder()
    arm = r.body(builder, label="arm")
    builder.add_joint_revolute(-1, arm, axis=r.axis(), **r.frames())
    two = r.body(builder, label="two")
    builder.add_joint_universal(arm, two, r.axis(), r.axis(), **r.frames())
    held = r.body(builder, label="held")
    builder.add_joint_fixed(two, held, **r.frames())
    five = r.body(builder, label="five")
    axes = {"linear_axes": [r.axis(), r.axis()], "angular_axes": [r.axis(), r.axis(), r.axis()]}
    builder.add_joint_d6(held, five, **axes, **r.frames())
    cart = r.body(builder, label="cart")
    builder.add_joint_prismatic(-1, cart, axis=r.axis(), **r.frames())
    return builder


@IGNORED
@pytest.mark.parametrize("seed", range(3))
def test_chains_of_single_joints_have_the_mass_matrix_of_the_whole(seed, tmp_path):
    builder = chains(seed)
    sim.export_urdf(builder, tmp_path / "out.urdf")
    again, _ = read(tmp_path / "out.urdf")
    q = np.random.default_rng(seed).normal(size=9)
    ours = mass_matrix(builder, q)
    np.testing.assert_allclose(mass_matrix(again, q), ours, atol=1e-9 * np.abs(ours).max())
    mj = mujoco.MjModel.from_xml_path(str(tmp_path / "out.urdf"))
    data = mujoco.MjData(mj)
    data.qpos[:] = q
    mujoco.mj_forward(mj, data)
    full = np.zeros((mj.nv, mj.nv))
    mujoco.mj_fullM(mj, data, full)
    np.testing.assert_allclose(full, ours, atol=1e-6 * np.abs(ours).max())  # its fullinertia stops at 1e-6


@given(st.lists(st.floats(-1.0, 1.0), min_size=4, max_size=4).filter(lambda q: sum(x * x for x in q) > 1e-4))
@settings(deadline=None)
def test_roll_pitch_yaw_give_the_rotation(q):
    q = tuple(np.array(q) / np.linalg.norm(q))
    check_angles(q)


@pytest.mark.parametrize("pitch", [math.pi / 2, -math.pi / 2, math.pi / 2 - 1e-9, math.pi / 2 - 1e-5])
def test_roll_pitch_yaw_give_the_rotation_at_gimbal_lock(pitch):
    turn = quat_from_axis_angle((0.0, 1.0, 0.0), pitch)
    for angle in (0.0, 0.4, 3.0):
        check_angles(quat_multiply(quat_from_axis_angle((0.0, 0.0, 1.0), angle), turn))


def check_angles(q) -> None:
    roll, pitch, yaw = roll_pitch_yaw(q)
    turn = quat_multiply(quat_from_axis_angle((0.0, 1.0, 0.0), pitch), quat_from_axis_angle((1.0, 0.0, 0.0), roll))
    whole = quat_multiply(quat_from_axis_angle((0.0, 0.0, 1.0), yaw), turn)
    np.testing.assert_allclose(rotation_matrix(whole), rotation_matrix(q), atol=1e-14)


@IGNORED
def test_a_planar_joint_that_the_importer_makes_is_planar_again(tmp_path):
    builder = sim.ModelBuilder()
    builder.add_body(mass=1.0, inertia=(1, 1, 1), label="base")
    builder.add_joint_fixed(-1, 0)
    body = builder.add_body(mass=1.0, inertia=(1, 1, 1), label="puck")
    builder.add_joint_d6(0, body, linear_axes=["X", "Y"], angular_axes=["Z"], damping=0.5, label="table")
    assert sim.export_urdf(builder, tmp_path / "out.urdf").written["planar joints"] == 1
    again, _ = read(tmp_path / "out.urdf")
    assert len(again.joints[1].dofs) == 3 and again.joints[1].dofs[0].damping == 0.5


@IGNORED
def test_one_free_root_stands_alone_and_others_hang_on_a_world_link(tmp_path):
    builder = sim.ModelBuilder()
    builder.add_body(mass=1.0, inertia=(1, 1, 1), label="drone")
    report = sim.export_urdf(builder, tmp_path / "one.urdf")
    assert "world" not in [body.label for body in read(tmp_path / "one.urdf")[0].bodies]
    assert "free base" in [note.what for note in report.rewritten]
    builder.add_body(xform=(1, 2, 3, 0, 0, 0, 1), mass=1.0, inertia=(1, 1, 1), label="ball")
    builder.add_shape_box(-1, 1.0, 2.0, 0.1, xform=(0, 0, -1, 0, 0, 0, 1), label="floor")
    sim.export_urdf(builder, tmp_path / "two.urdf")
    again, _ = read(tmp_path / "two.urdf")
    assert [body.label for body in again.bodies] == ["world", "drone", "ball"]
    assert [shape.label for shape in again.shapes] == ["world/floor"]
    model = again.finalize(device="cpu", precision="float64")
    np.testing.assert_allclose(np.asarray(model.body_q)[2], (1, 2, 3, 0, 0, 0, 1))


@IGNORED
def test_mimics_loops_springs_motors_surfaces_and_options_are_read_back(tmp_path):
    r, builder = Random(7), sim.ModelBuilder(gravity=-3.7)
    base = r.body(builder, label="base")
    builder.add_joint_fixed(-1, base)
    a, b = r.body(builder, label="a"), r.body(builder, label="b")
    rubber = sim.Material(friction=0.7, restitution=0.25)
    builder.add_shape_sphere(a, 0.1, material=rubber, density=0.0)
    one = builder.add_joint_revolute(base, a, stiffness=4.0, spring_ref=0.3, effort_limit=6.0, label="one")
    two = builder.add_joint_revolute(base, b, label="two")
    builder.add_equality_joint(two, one, (0.1, -2.0), label="two_mimic")
    builder.add_loop_joint_revolute(a, b, axis="Y", label="loop")
    builder.add_actuator("joint", one, label="motor", gear=(3.0, 0, 0, 0, 0, 0), force_range=(-2.0, 2.0))
    builder.options.dt, builder.options.integrator = 0.005, "implicitfast"
    sim.export_urdf(builder, tmp_path / "out.urdf")
    again, _ = read(tmp_path / "out.urdf")
    assert again.equalities[0].data[:2] == (0.1, -2.0)
    assert again.equalities[1].label == "loop" and again.equalities[1].data[:3] == (0.0, 1.0, 0.0)
    hinge = next(joint for joint in again.joints if joint.label == "one").dofs[0]
    assert (hinge.stiffness, hinge.spring_ref, hinge.effort_limit) == (4.0, 0.3, 6.0)
    assert again.actuators == [builder.actuators[0]]
    assert again.shapes[0].material == rubber
    assert (again.options.dt, again.options.integrator) == (0.005, "implicitfast")
    assert again.gravity == pytest.approx((0.0, 0.0, -3.7))


def test_a_loop_that_is_open_at_zero_coordinates_is_lost(tmp_path):
    r, builder = Random(8), sim.ModelBuilder()
    base = builder.add_body(mass=1.0, inertia=(1, 1, 1), label="base")
    builder.add_joint_fixed(-1, base)
    for label in "ab":
        builder.add_joint_revolute(base, r.body(builder, label=label))
    builder.add_equality_connect(1, 2, point0=(0.1, 0.0, 0.0))
    with pytest.warns(UserWarning, match=r"open by 0\.1"):
        report = sim.export_urdf(builder, tmp_path / "out.urdf")
    assert [note.what for note in report.lost] == ["connect"]


def test_what_urdf_cannot_hold_is_told_and_refused_when_strict(tmp_path):
    builder = sim.ModelBuilder()
    base = builder.add_body(mass=1.0, inertia=(1, 1, 1), label="base")
    builder.add_joint_fixed(-1, base)
    arm = builder.add_body(mass=1.0, inertia=(1, 1, 1), label="arm")
    builder.add_joint_ball(base, arm, q=(1.0, 0.0, 0.0, 0.0), angle_limit=2.0, armature=0.1)
    builder.add_shape_plane(base)
    builder.add_shape_ellipsoid(arm, 0.1, 0.2, 0.3, margin=0.01, contype=2, density=0.0)
    builder.add_shape_sphere(arm, 0.1, collides=False, visible=False, density=0.0)
    builder.add_tendon("string", path=())
    builder.add_keyframe("home")
    builder.custom = [("note", "text")]
    with pytest.warns(UserWarning, match="things that URDF cannot hold"):
        report = sim.export_urdf(builder, tmp_path / "out.urdf")
    assert {note.what for note in report.lost} == {
        "ball", "initial coordinates", "limits of a ball", "armature", "plane", "ellipsoid", "margin", "contype",
        "shape", "tendon", "keyframe", "custom value",
    }  # fmt: skip
    with pytest.raises(UnsupportedError, match="URDF cannot hold"):
        sim.export_urdf(builder, tmp_path / "strict.urdf", strict=True)
    assert not (tmp_path / "strict.urdf").exists()


@IGNORED
def test_meshes_are_written_exactly_and_once(tmp_path):
    rng, builder = np.random.default_rng(0), sim.ModelBuilder()
    body = builder.add_body(mass=1.0, inertia=(1, 1, 1), label="b")
    builder.add_joint_fixed(-1, body)
    points, faces = rng.normal(size=(4, 3)), [(0, 1, 2), (0, 3, 1), (1, 3, 2), (0, 2, 3)]
    builder.add_shape_mesh(body, (points, faces), density=0.0, label="b/one")
    builder.add_shape_mesh(body, (points, faces), scale=(1, 2, 3), density=0.0, label="b/two")
    report = sim.export_urdf(builder, tmp_path / "out.urdf")
    assert len(report.files) == 2
    again, _ = read(tmp_path / "out.urdf")
    for shape, scale in zip(again.shapes, ((1, 1, 1), (1, 2, 3)), strict=True):
        found = {tuple(point) for point in shape.mesh.vertices}
        assert found == {tuple(point) for point in points * scale}


def notes_of(builder, tmp_path) -> dict[str, list[str]]:
    """What is lost, by its element."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report = sim.export_urdf(builder, tmp_path / "out.urdf")
    found: dict[str, list[str]] = {}
    for note in report.lost:
        found.setdefault(note.where, []).append(note.what)
    return found


def test_a_start_that_readers_take_otherwise_is_told(tmp_path):
    """Zero lies outside the limits of the leader: readers start it, and what follows it, within them."""
    builder = sim.ModelBuilder()
    parent, joints = -1, []
    for label, limits in (("base", {}), ("leader", {"limit_lower": 0.5, "limit_upper": 1.0}), ("follower", {})):
        body = builder.add_body(mass=1.0, inertia=(1.0, 1.0, 1.0), label=f"{label}_link")
        joints.append(builder.add_joint_revolute(parent, body, label=label, **limits))
        parent = body
    builder.add_equality_joint(joints[2], joints[1], (0.25, 2.0))
    told = {f"joint '{label}'": ["initial coordinates"] for label in ("leader", "follower")}
    assert notes_of(builder, tmp_path) == told
    again = sim.ModelBuilder()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        again.add_urdf(tmp_path / "out.urdf")
    starts = {joint.label: joint.coords()[0] for joint in again.joints if joint.dofs}
    assert starts == {"base": 0.0, "leader": 0.5, "follower": 1.25}


def test_softness_of_equalities_is_told(tmp_path):
    builder = sim.ModelBuilder()
    joints = []
    for i in range(2):
        body = builder.add_body(mass=1.0, inertia=(1.0, 1.0, 1.0), label=f"link{i}")
        joints.append(builder.add_joint_revolute(-1, body, label=f"j{i}"))
    builder.add_equality_joint(joints[1], joints[0], label="soft")
    builder.equalities[0].reference = (0.1, 1.0)
    assert notes_of(builder, tmp_path) == {"equality 'soft'": ["softness"]}


def test_bodies_that_no_longer_meet_the_ground_are_told(tmp_path):
    builder = sim.ModelBuilder()
    builder.add_shape_box(-1, 1.0, 1.0, 0.1, label="ground", density=0.0)
    ball = builder.add_body(label="ball")
    builder.add_joint_free(-1, ball, label="free")
    builder.add_shape_sphere(ball, 0.1, label="sphere")
    base = builder.add_body(mass=1.0, inertia=(1.0, 1.0, 1.0), label="base")
    builder.add_joint_fixed(-1, base, label="held")
    arm = builder.add_body(mass=1.0, inertia=(1.0, 1.0, 1.0), label="arm")
    builder.add_joint_revolute(base, arm, label="hinge")
    hand = builder.add_body(mass=1.0, inertia=(1.0, 1.0, 1.0), label="hand")
    builder.add_joint_fixed(arm, hand, label="wrist")
    builder.add_shape_sphere(hand, 0.1, density=0.0, label="fist")
    assert notes_of(builder, tmp_path) == {
        "joint 'free'": ["contact with the parent"], "joint 'hinge'": ["contact with the parent"],
    }  # fmt: skip
