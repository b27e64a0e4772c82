"""The USD exporter: read by usd-core's own physics parser, and back by our importer."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

import simengine as sim
from simengine.builder.frames import rotation_matrix
from simengine.errors import UnsupportedError
from tests.builder.exporters.compare import differences
from tests.builder.exporters.random_robots import Random

pytest.importorskip("pxr")
IGNORED = pytest.mark.filterwarnings("ignore:.*(cannot hold|print the report|leaves out)")


def robot(up_axis: str = "Z") -> sim.ModelBuilder:
    """A tree of hinges, a slider, a ball and a fixed body, and a loose body, at rest at zero."""
    r, builder = Random(1), sim.ModelBuilder(up_axis=up_axis)
    base = r.body(builder, label="base")
    builder.add_joint_fixed(-1, base, **r.frames())
    arm = r.body(builder, label="1st arm/left")
    builder.add_joint_revolute(
        base, arm, axis=r.axis(), limit_lower=-0.5, limit_upper=1.0, target_ke=20.0, target_kd=2.0, target_pos=0.3,
        effort_limit=7.0, armature=0.05, damping=0.4, stiffness=3.0, spring_ref=0.2, friction=0.1, q=0.25, qd=0.5,
        velocity_limit=4.0, limit_reference=(0.03, 0.8), label="elbow", **r.frames(),
    )  # fmt: skip
    cart = r.body(builder, label="cart")
    builder.add_joint_prismatic(arm, cart, axis="-Y", q=0.1, limit_upper=0.4, label="rail", **r.frames())
    ball = r.body(builder, label="ball")
    builder.add_joint_ball(cart, ball, swing=(0.3, 0.4), q=(0.0, 0.0, 0.0, 1.0), label="socket", **r.frames())
    pair = r.body(builder, label="pair")
    builder.add_joint_universal(ball, pair, r.axis(), r.axis(), q=(0.1, 0.2), label="cardan", **r.frames())
    r.body(builder, xform=r.pose(), velocity=(1, 2, 3, 0.1, 0.2, 0.3), label="loose")
    builder.add_equality_connect(arm, pair, label="rod")
    surface = sim.Material(friction=0.4, static_friction=0.6, restitution=0.3, time_constant=0.05, contact_dim=4)
    builder.add_shape_box(arm, 0.1, 0.2, 0.3, material=surface, margin=0.01, gap=0.02, density=0.0, label="crate")
    builder.add_shape_ellipsoid(cart, 0.1, 0.2, 0.3, density=0.0, color=(0.1, 0.2, 0.3, 0.5))
    builder.add_shape_capsule(pair, 0.1, 0.2, density=0.0, collides=False)
    builder.add_shape_sphere(pair, 0.1, density=0.0, collides=False, visible=False)
    builder.add_shape_convex_hull(pair, 0.1 * r.rng.normal(size=(9, 3)), density=0.0)
    builder.add_ground_plane(height=-2.0)
    builder.add_shape_collision_filter_pair(0, 1)
    builder.add_site(cart, r.pose(), label="tip")
    return builder


@IGNORED
@pytest.mark.parametrize("suffix", [".usda", ".usdc", ".usd"])
@pytest.mark.parametrize("up_axis", ["Z", "Y", "X"])
def test_a_robot_comes_back_to_single_precision(up_axis, suffix, tmp_path):
    builder = robot(up_axis)
    sim.export_usd(builder, tmp_path / f"out{suffix}")
    again = sim.ModelBuilder(up_axis=up_axis)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        again.add_usd(tmp_path / f"out{suffix}", velocity_limits=True, filter_overlapping=False)
    found = {(one.kind, one.field) for one in differences(builder, again, 2e-6)}
    assert found <= {("joint", "dof labels")}, [str(one) for one in differences(builder, again, 2e-6)]


@IGNORED
def test_usds_own_parser_finds_the_bodies_joints_and_masses(tmp_path):
    from pxr import Usd, UsdPhysics

    builder = robot()
    sim.export_usd(builder, tmp_path / "out.usda")
    stage = Usd.Stage.Open(str(tmp_path / "out.usda"))
    objects = UsdPhysics.UsdPhysicsLoadStageFromPrimRange(stage, ["/"])
    found = {str(kind).rpartition(".")[2]: pair for kind, pair in objects.items()}
    labels = [body.label for body in builder.bodies]
    bodies = [stage.GetPrimAtPath(path) for path in found["RigidBody"][0]]
    assert sorted(prim.GetDisplayName() or prim.GetName() for prim in bodies) == sorted(labels)
    for prim in bodies:
        body = builder.bodies[labels.index(prim.GetDisplayName() or prim.GetName())]
        assert UsdPhysics.MassAPI(prim).GetMassAttr().Get() == pytest.approx(body.mass, rel=1e-6)
    assert len(found["RevoluteJoint"][0]) == 3  # the elbow, and the two of the cardan
    assert len(found["PrismaticJoint"][0]) == len(found["FixedJoint"][0]) == 1
    assert len(found["SphericalJoint"][0]) == 2  # the socket and the rod
    elbow = next(d for p, d in zip(*found["RevoluteJoint"], strict=True) if str(p).endswith("elbow"))
    assert (elbow.limit.lower, elbow.limit.upper) == pytest.approx((math.degrees(-0.5), math.degrees(1.0)), rel=1e-6)
    assert elbow.drive.stiffness == pytest.approx(math.radians(20.0), rel=1e-6)
    assert sorted(str(path) for path in found["Articulation"][0]) == ["/World/Joints/joint_0"]


@IGNORED
def test_masses_survive_a_stage_that_mujoco_and_newton_do_not_read(tmp_path):
    from pxr import Usd, UsdPhysics

    builder = sim.ModelBuilder()
    inertia = Random(2).inertia()
    builder.add_body(mass=1.5, com=(0.1, 0.2, 0.3), inertia=inertia, label="b")
    sim.export_usd(builder, tmp_path / "out.usda")
    stage = Usd.Stage.Open(str(tmp_path / "out.usda"))
    api = UsdPhysics.MassAPI(stage.GetPrimAtPath("/World/b"))
    turn = api.GetPrincipalAxesAttr().Get()
    axes = rotation_matrix((*turn.GetImaginary(), turn.GetReal()))
    np.testing.assert_allclose(axes @ np.diag(api.GetDiagonalInertiaAttr().Get()) @ axes.T, inertia, rtol=1e-5)


def test_what_usd_cannot_hold_is_told_and_refused_when_strict(tmp_path):
    builder = sim.ModelBuilder()
    body = builder.add_body(mass=1.0, inertia=(1, 1, 1), label="b")
    builder.add_joint_ball(-1, body, twist=(-1.0, 1.0), angle_limit=2.0, target_ke=1.0)
    builder.add_shape_sphere(body, 0.1, material=sim.Material(combine="mjcf"), density=0.0)
    builder.add_shape_heightfield(-1, [[0, 1], [2, 3]], 1.0, 1.0)
    builder.add_equality_weld(-1, body)
    builder.equalities[0].active = False
    builder.bodies[0].gravity_compensation = 0.5
    builder.add_keyframe("home")
    builder.add_sensor("clock", label="clock")
    with pytest.warns(UserWarning, match="things that USD cannot hold"):
        report = sim.export_usd(builder, tmp_path / "out.usda")
    assert {note.what for note in report.lost} == {
        "twist limit", "limit of the whole angle", "drive", "combine mode 'mjcf'", "height field", "inactive equality",
        "gravity compensation", "keyframe", "sensor",
    }  # fmt: skip
    with pytest.raises(UnsupportedError, match="USD cannot hold"):
        sim.export_usd(builder, tmp_path / "strict.usda", strict=True)
    assert not (tmp_path / "strict.usda").exists()
