"""Joints: drives, limits, friction, springs, kinematic bodies, pendulums."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from scipy.special import ellipk

import simengine as sim
from tests.solvers.scenes import run, slider

G = 9.81


def test_a_stiff_drive_is_stable_and_monotone_at_a_long_step():
    """kp 5e5 N/m, critically damped, on 1 kg at 5 ms: no overshoot, no oscillation."""
    model = slider(target_ke=5e5, target_kd=2 * np.sqrt(5e5))
    solver, control = sim.solvers.Featherstone(model), model.control()
    control.joint_target_pos[0] = 1.0
    track = []
    run(solver, model.state(), control, 5e-3, 200, lambda i, s: track.append(float(s.joint_q[0])))
    assert np.all(np.diff(track) >= -1e-12) and max(track) <= 1 + 1e-9 and track[-1] == pytest.approx(1.0, abs=1e-9)


def test_a_stiff_drive_of_euler_diverges_at_that_step():
    model = slider(target_ke=5e5, target_kd=2 * np.sqrt(5e5))
    solver, control = sim.solvers.Featherstone(model, integrator="euler"), model.control()
    control.joint_target_pos[0] = 1.0
    with pytest.warns(UserWarning, match="euler unstable"):
        state = run(solver, model.state(), control, 5e-3, 20)
    assert abs(state.joint_q[0]) > 1e3


def test_implicit_drive_is_backward_euler():
    """(m + h kd + h^2 kp) v+ = m v - h kp (q - qt) + h kd vt."""
    m, kp, kd, h = 2.0, 300.0, 7.0, 0.02
    model = slider(mass=m, target_ke=kp, target_kd=kd)
    solver, control = sim.solvers.Featherstone(model), model.control()
    control.joint_target_pos[0], control.joint_target_vel[0] = 0.4, -0.3
    q, v = 0.0, 0.0
    for _ in range(30):
        v = (m * v - h * kp * (q - 0.4) + h * kd * -0.3) / (m + h * kd + h * h * kp)
        q += h * v
    state = run(solver, model.state(), control, h, 30)
    assert state.joint_q[0] == pytest.approx(q, rel=1e-9) and state.joint_qd[0] == pytest.approx(v, rel=1e-9)


@pytest.mark.parametrize("integrator", ["implicit", "euler"])
def test_effort_limit_is_reached_exactly(integrator):
    """Far from its target a drive gives its limit, 3 N on 2 kg."""
    model = slider(mass=2.0, target_ke=100.0, target_kd=1.0, effort_limit=3.0)
    solver = sim.solvers.Featherstone(model, integrator=integrator, outputs=("joint_drive_force",))
    control = model.control()
    control.joint_target_pos[0] = 10.0
    state = run(solver, model.state(), control, 1e-3, 100)
    assert state.joint_qd[0] == pytest.approx(3.0 / 2.0 * 0.1, rel=1e-12)
    assert solver.joint_drive_force[0] == 3.0


def test_a_drive_within_its_limit_is_the_drive_without_one():
    results = []
    for limit in (np.inf, 1e6):
        model = slider(target_ke=400.0, target_kd=5.0, effort_limit=limit, gravity=-9.81, axis="Z")
        state = run(sim.solvers.Featherstone(model), model.state(), model.control(), 5e-3, 100)
        results.append([state.joint_q[0], state.joint_qd[0]])
    assert results[0] == pytest.approx(results[1], rel=1e-9)


@pytest.mark.parametrize("gravity_axis", ["X"])
def test_a_saturated_drive_falls_with_the_rest_of_its_load(gravity_axis):
    """Effort limit 4 N holds 4 N of the 9.81 N: a = g - 4/m."""
    model = slider(axis="Z", gravity=-G, target_ke=1e5, target_kd=1e3, effort_limit=4.0)
    state = run(sim.solvers.Featherstone(model), model.state(), model.control(), 1e-3, 200)
    assert state.joint_qd[0] == pytest.approx(-(G - 4.0) * 0.2, rel=1e-2)


def test_dry_friction_holds_below_its_limit_and_brakes_above():
    """2 N of friction against 1.5 N: no motion but the creep of its impedance; against 5 N: (5 - 2)/m."""
    model = slider(friction=2.0)
    solver, control = sim.solvers.Featherstone(model), model.control()
    control.joint_f[0] = 1.5
    assert abs(run(solver, model.state(), control, 1e-3, 1000).joint_qd[0]) < 0.005
    control.joint_f[0] = 5.0
    assert run(solver, model.state(), control, 1e-3, 1000).joint_qd[0] == pytest.approx(3.0, rel=0.01)


@pytest.mark.parametrize("integrator", ["implicit", "euler"])
def test_velocity_limit_is_kept(integrator):
    """Within 1e-4 of what the effort would add in a step (impedance 0.9999)."""
    model = slider(velocity_limit=0.5)
    solver, control = sim.solvers.Featherstone(model, integrator=integrator), model.control()
    for sign in (1, -1):
        control.joint_f[0] = sign * 20.0
        highest = []
        run(solver, model.state(), control, 1e-3, 200, lambda i, s: highest.append(sign * s.joint_qd[0]))  # noqa: B023
        assert max(highest) == pytest.approx(0.5, abs=2 * 1e-4 * 20 * 1e-3)


def test_a_velocity_limit_that_is_met_exactly_is_solved_to_round_off(precision):
    """Steps that end at the limit to the last digit: the last part of the way is lost in the rates' digits."""
    for limit, effort, dt in itertools.product((0.5, 1.0, 2.0, 3.0), (1.0, 2.0, 5.0, 10.0), (1 / 480, 1 / 240, 2e-3)):
        builder = sim.ModelBuilder(gravity=0)
        wheel = builder.add_body(mass=2.0, inertia=0.5 * np.eye(3))
        builder.add_joint_revolute(-1, wheel, axis="Z", velocity_limit=limit)
        model = builder.finalize(device="cpu", precision=precision)
        solver, control = sim.solvers.Featherstone(model, specialise=False), model.control()
        control.joint_f[0] = effort
        state = run(solver, model.state(), control, dt, int(0.6 * limit / effort / dt) + 3)
        assert state.status[0] == 0 and state.joint_qd[0] == pytest.approx(limit, rel=1e-4)


def test_velocity_limits_are_off_unless_set():
    model = slider()
    control = model.control()
    solver = sim.solvers.Featherstone(model)
    control.joint_f[0] = 20.0
    assert run(solver, model.state(), control, 1e-3, 100).joint_qd[0] == pytest.approx(2.0)


def test_limit_with_si_stiffness_rests_at_force_over_stiffness():
    model = slider(limit_upper=0.1, limit_ke=2e4, limit_kd=300.0)
    solver, control = sim.solvers.Featherstone(model), model.control()
    control.joint_f[0] = 50.0
    state = run(solver, model.state(), control, 2e-3, 2000)
    assert state.joint_q[0] == pytest.approx(0.1 + 50.0 / 2e4, rel=1e-6)


@pytest.mark.parametrize("lower, upper, effort", [(-0.2, 0.3, -5.0), (-0.2, 0.3, 5.0)])
def test_limit_stops_the_joint_at_its_position(lower, upper, effort):
    """Less than a millimetre beyond it, with the force that holds the effort."""
    model = slider(limit_lower=lower, limit_upper=upper, limit_reference=(0.005, 1.0))
    solver, control = sim.solvers.Featherstone(model, outputs=("joint_constraint_force",)), model.control()
    control.joint_f[0] = effort
    state = run(solver, model.state(), control, 1e-3, 2000)
    limit = upper if effort > 0 else lower
    assert 0 < (state.joint_q[0] - limit) * np.sign(effort) < 1e-3
    assert solver.joint_constraint_force[0] == pytest.approx(-effort, rel=1e-6)


@pytest.mark.parametrize("turn", [0.0, np.pi / 4])
@pytest.mark.parametrize(
    "axis, torque", [((1, 0, 0), 0.2), ((1, 1, 0), 0.2 * np.sqrt(2)), ((1, 1, 1), 0.2 * np.sqrt(3))]
)
def test_dry_friction_of_a_ball_acts_on_each_axis_of_the_parent(axis, torque, turn):
    """However the child is turned: in 0.1 s a torque takes as much of the speed of 0.1 kg m2, in rad/s."""
    builder = sim.ModelBuilder(gravity=0.0)
    body = builder.add_body(mass=1.0, inertia=(0.1, 0.1, 0.1))
    builder.add_joint_ball(-1, body, friction=0.2, friction_reference=(2e-3, 1.0))
    model = builder.finalize(device="cpu", precision="float64")
    solver, state = sim.solvers.Featherstone(model), model.state()
    state.joint_q[:] = Rotation.from_rotvec([0, 0, turn]).as_quat()
    state.joint_qd[:] = 5 * np.array(axis) / np.linalg.norm(axis)
    state = run(solver, state, model.control(), 1e-3, 100)
    assert 5 - np.linalg.norm(state.joint_qd) == pytest.approx(torque, rel=1e-6)


def rolling(turns: float, wrapped: bool, **drive):
    """A wheel under a block, driven on a plane for 0.4 s; its angle begins ``turns`` turns on and is wrapped midway."""
    builder = sim.ModelBuilder()
    block = builder.add_body(mass=5.0, inertia=(1, 1, 1))
    builder.add_joint_d6(-1, block, linear_axes=["X", "Z"], q=(0.0, 0.1))
    wheel = builder.add_body()
    lying = sim.quat_from_axis_angle((1, 0, 0), np.pi / 2)
    builder.add_shape_capsule(wheel, 0.1, 0.05, xform=sim.transform(q=lying))
    hinge = builder.add_joint_revolute(block, wheel, axis="Y", damping=0.01, friction=0.02, **drive)
    builder.add_ground_plane()
    model = builder.finalize(device="cpu", precision="float64")
    solver, state, control = sim.solvers.Featherstone(model), model.state(), model.control()
    angle, dof, away = model.joint_q_start[hinge], model.joint_qd_start[hinge], 2 * np.pi * turns

    def add(amount):
        state.joint_q[angle] += amount
        control.joint_target_pos[dof] += amount

    add(away)
    state = run(solver, state, control, 2e-3, 100)
    if wrapped:
        add(-away)
    state = run(solver, state, control, 2e-3, 100)
    if not wrapped:
        add(-away)
    return state


@pytest.mark.parametrize("drive", [dict(target_vel=20.0, target_kd=2.0), dict(target_pos=3.0, target_ke=9.0)], ids=str)
def test_turns_taken_off_a_continuous_joint_change_nothing_else(drive):
    kept, wrapped = (rolling(14, is_wrapped, **drive) for is_wrapped in (False, True))
    for name in ("joint_q", "joint_qd", "body_q", "body_qd"):
        np.testing.assert_allclose(getattr(wrapped, name), getattr(kept, name), atol=1e-10, err_msg=name)
    assert kept.joint_q[0] > 0.02  # it has rolled


def ball_model(**limits):
    builder = sim.ModelBuilder(gravity=0.0)
    body = builder.add_body(mass=1.0, inertia=(0.1, 0.1, 0.1))
    builder.add_joint_ball(-1, body, damping=0.2, limit_reference=(0.005, 1.0), **limits)
    return builder.finalize(device="cpu", precision="float64")


def pushed_ball(model, torque):
    solver, control = sim.solvers.Featherstone(model), model.control()
    control.joint_f = torque
    return Rotation.from_quat(run(solver, model.state(), control, 1e-3, 4000).joint_q)


def swing_twist(rotation) -> tuple[float, float, float]:
    """Twist about x first, then the swing (0, y, z): the angles twist, swing y, swing z."""
    x, _, _, w = rotation.as_quat()
    twist = 2 * np.arctan2(x, w)
    swing = (rotation * Rotation.from_rotvec([twist, 0, 0]).inv()).as_quat()
    return (twist + np.pi) % (2 * np.pi) - np.pi, 2 * np.arctan2(swing[1], swing[3]), 2 * np.arctan2(swing[2], swing[3])


@pytest.mark.parametrize("torque", [(1.0, 0, 0), (0, 1.0, -1.0), (0.4, -0.7, 0.3)])
def test_ball_angle_limit_stops_the_rotation(torque):
    turned = pushed_ball(ball_model(angle_limit=0.6), torque)
    assert turned.magnitude() == pytest.approx(0.6, abs=5e-3)


@pytest.mark.parametrize("axis, sign", [(1, 1), (1, -1), (2, 1), (2, -1)])
def test_ball_swing_limits_stop_about_y_and_z(axis, sign):
    torque = np.zeros(3)
    torque[axis] = sign
    turned = pushed_ball(ball_model(swing=(0.4, 0.7)), torque)
    angles = swing_twist(turned)
    assert angles[axis] == pytest.approx(sign * (0.4, 0.7)[axis - 1], abs=5e-3)


@pytest.mark.parametrize("torque, limit", [(1.0, 0.5), (-1.0, -0.3)])
def test_ball_twist_limits_stop_about_x_while_it_swings(torque, limit):
    turned = pushed_ball(ball_model(twist=(-0.3, 0.5), swing=(0.4, 0.1)), (torque, 1.0, 0.0))
    twist, swing_y, _ = swing_twist(turned)
    assert twist == pytest.approx(limit, abs=1e-2) and swing_y == pytest.approx(0.4, abs=1e-2)


def test_a_ball_drive_turns_to_its_target_rotation_vector():
    builder = sim.ModelBuilder(gravity=0.0)
    body = builder.add_body(mass=1.0, inertia=(0.1, 0.2, 0.3))
    builder.add_joint_ball(-1, body, target_ke=50.0, target_kd=6.0)
    model = builder.finalize(device="cpu", precision="float64")
    solver, control = sim.solvers.Featherstone(model), model.control()
    control.joint_target_pos = [0.5, -0.9, 0.3]
    state = run(solver, model.state(), control, 5e-3, 1000)
    assert Rotation.from_quat(state.joint_q).as_rotvec() == pytest.approx([0.5, -0.9, 0.3], abs=1e-6)


# ---- kinematic bodies


def test_a_kinematic_body_is_where_it_is_told_and_carries_what_lies_on_it():
    builder = sim.ModelBuilder(gravity=-G)
    table = builder.add_body(kinematic=True, mass=1.0, inertia=(1, 1, 1), xform=(0, 0, 0, 0, 0, 0, 1))
    builder.add_shape_box(table, 1.0, 1.0, 0.05)
    box = builder.add_body(xform=(0.2, 0, 0.1499, 0, 0, 0, 1))
    builder.add_shape_box(box, 0.1, 0.1, 0.1)
    model = builder.finalize(device="cpu", precision="float64")
    solver, control = sim.solvers.Featherstone(model, impratio=20), model.control()
    state, other, dt = model.state(), model.state(), 2e-3
    for i in range(500):
        t = (i + 1) * dt
        turn = Rotation.from_rotvec([0, 0, 0.5 * t])
        control.kinematic_q[0] = [0.1 * t, 0.0, 0.02 * t, *turn.as_quat()]
        solver.step(state, other, control, None, dt)
        state, other = other, state
        assert state.body_q[0, :3] == pytest.approx([0.1 * t, 0, 0.02 * t], abs=1e-9)
    assert (Rotation.from_quat(state.body_q[0, 3:]).inv() * turn).magnitude() < 1e-9
    carried = np.array([0.1 * t, 0, 0]) + turn.apply([0.2, 0, 0])
    assert state.body_q[1, :2] == pytest.approx(carried[:2], abs=2e-3)
    assert state.body_q[1, 2] == pytest.approx(0.02 * t + 0.15, abs=2e-3)


# ---- pendulums and chains


def pendulum(angle: float, length: float = 1.0, radius: float = 0.01, gravity: float = -10.0):
    builder = sim.ModelBuilder(gravity=gravity)
    body = builder.add_body()
    builder.add_shape_sphere(body, radius, xform=(0, 0, -length, 0, 0, 0, 1))
    builder.add_joint_revolute(-1, body, axis="Y", q=(angle,))
    return builder.finalize(device="cpu", precision="float64")


def period(model, dt: float, seconds: float) -> float:
    """Twice the time between the first two downward and upward passages, by linear interpolation."""
    angles = []
    run(
        sim.solvers.Featherstone(model),
        model.state(),
        model.control(),
        dt,
        round(seconds / dt),
        lambda i, s: angles.append(float(s.joint_q[0])),
    )
    q = np.array(angles)
    at = np.flatnonzero(q[:-1] * q[1:] < 0)
    times = (at + 1 + q[at] / (q[at] - q[at + 1])) * dt
    return 2 * (times[1] - times[0])


def test_small_pendulum_swings_as_a_cosine():
    """th0 cos(2 pi t/T), T = 2 pi sqrt(I/(m g L)), mean error below 1 % of th0."""
    model = pendulum(0.05)
    t0 = 2 * np.pi * np.sqrt((1.0 + 0.4 * 0.01**2) / 10.0)
    angles = []
    run(
        sim.solvers.Featherstone(model),
        model.state(),
        model.control(),
        1e-3,
        round(3.5 * t0 / 1e-3),
        lambda i, s: angles.append(float(s.joint_q[0])),
    )
    t = 1e-3 * np.arange(1, len(angles) + 1)
    assert np.abs(np.array(angles) - 0.05 * np.cos(2 * np.pi * t / t0)).mean() < 0.01 * 0.05


@pytest.mark.parametrize("degrees", [10, 45, 90, 120, 170])
def test_large_pendulum_has_the_period_of_the_elliptic_integral(degrees):
    """T/T0 = (2/pi) K(sin^2(th0/2))."""
    t0 = 2 * np.pi * np.sqrt((1.0 + 0.4 * 0.01**2) / 10.0)
    wanted = t0 * 2 / np.pi * ellipk(np.sin(np.radians(degrees) / 2) ** 2)
    assert period(pendulum(np.radians(degrees)), 5e-4, 2.2 * wanted) == pytest.approx(wanted, rel=1e-3)


def test_pendulum_energy_does_not_drift():
    model = pendulum(1.0)
    mass = float(model.body_mass[0])
    inertia = mass * (1.0 + 0.4 * 0.01**2)
    energies = []

    def look(i, s):
        energies.append(0.5 * inertia * s.joint_qd[0] ** 2 + mass * 10.0 * (1 - np.cos(s.joint_q[0])))

    run(sim.solvers.Featherstone(model), model.state(), model.control(), 1e-3, 2000, look)
    assert np.abs(np.array(energies) / energies[0] - 1).max() < 5e-3


def test_joint_efforts_accelerate_by_newtons_law():
    """w = tau t/I and v = F t/m, to the last bits: a constant force is exact."""
    builder = sim.ModelBuilder(gravity=0.0)
    turning, sliding = builder.add_body(), builder.add_body()
    builder.add_shape_box(turning, 0.2, 0.2, 0.2)
    builder.add_shape_sphere(sliding, 0.1)
    builder.add_joint_revolute(-1, turning, axis="Z")
    builder.add_joint_prismatic(-1, sliding, axis="X", parent_xform=(5, 0, 0, 0, 0, 0, 1))
    model = builder.finalize(device="cpu", precision="float64")
    solver, control = sim.solvers.Featherstone(model), model.control()
    control.joint_f = 5.0
    state = run(solver, model.state(), control, 1e-3, 300)
    wanted = [5 * 0.3 / model.body_inertia[0, 2, 2], 5 * 0.3 / model.body_mass[1]]
    assert state.joint_qd == pytest.approx(wanted, rel=1e-9)


def test_a_rod_dropped_from_horizontal():
    """Uniform, L 1: angular acceleration 3 g/(2 L) = 14.715 at first, 5.424942 rad/s at the bottom."""
    builder = sim.ModelBuilder(gravity=-G)
    body = builder.add_body(mass=1.0, com=(0.5, 0, 0), inertia=(1e-9, 1 / 12, 1 / 12))
    builder.add_joint_revolute(-1, body, axis="Y")
    model = builder.finalize(device="cpu", precision="float64")
    solver = sim.solvers.Featherstone(model)
    first = run(solver, model.state(), model.control(), 1e-5, 1)
    assert first.joint_qd[0] / 1e-5 == pytest.approx(14.715, rel=1e-6)
    rates = []
    run(
        solver,
        model.state(),
        model.control(),
        1e-4,
        6000,
        lambda i, s: rates.append((float(s.joint_q[0]), float(s.joint_qd[0]))),
    )
    q, v = np.array(rates).T
    assert v[int(np.argmax(q > np.pi / 2))] == pytest.approx(5.424942, rel=1e-3)


def test_a_heavy_body_on_a_light_link_stays_in_its_plane():
    """Mass ratio 1000 on a chain of two hinged links and a ball joint, started in plane: out of plane stays 0."""
    builder = sim.ModelBuilder(gravity=-G)
    light = builder.add_body(mass=0.01, com=(0, 0, -0.5), inertia=(1e-4, 1e-4, 1e-5))
    heavy = builder.add_body(mass=10.0, com=(0, 0, -0.5), inertia=(1.0, 1.0, 0.1))
    builder.add_joint_ball(-1, light, q=(0, np.sin(0.4), 0, np.cos(0.4)))
    builder.add_joint_ball(light, heavy, parent_xform=(0, 0, -1, 0, 0, 0, 1), q=(0, np.sin(-0.2), 0, np.cos(-0.2)))
    model = builder.finalize(device="cpu", precision="float64")
    worst = []
    run(
        sim.solvers.Featherstone(model),
        model.state(),
        model.control(),
        1e-3,
        5000,
        lambda i, s: worst.append(np.abs(s.joint_q[[0, 2, 4, 6]]).max()),
    )
    assert max(worst) < 1e-3


def test_inverse_dynamics_of_the_accelerations_returns_the_efforts():
    """Without damping and contact: M a + bias = joint_f (both sides at the start of the step)."""
    builder = sim.ModelBuilder(gravity=-G)
    parent, rng = -1, np.random.default_rng(0)
    for k in range(4):
        body = builder.add_body(mass=1.0 + k, com=rng.normal(size=3) * 0.1, inertia=(0.1, 0.12, 0.15))
        frame = (*rng.normal(size=3) * 0.3, 0, 0, 0, 1)
        if k == 2:
            builder.add_joint_ball(parent, body, parent_xform=frame)
        else:
            builder.add_joint_revolute(parent, body, axis=rng.normal(size=3), parent_xform=frame, armature=0.1)
        parent = body
    model = builder.finalize(device="cpu", precision="float64")
    for integrator in ("implicit", "euler"):
        solver = sim.solvers.Featherstone(model, integrator=integrator)
        state, out, control = model.state(), model.state(), model.control()
        state.joint_qd, control.joint_f = rng.normal(size=6), rng.normal(size=6)
        solver.step(state, out, control, None, 1e-3)
        effort = sim.eval_inverse_dynamics(model, state, (out.joint_qd - state.joint_qd) / 1e-3)
        assert effort == pytest.approx(control.joint_f, abs=1e-9)
