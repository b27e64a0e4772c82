"""Contact: friction, impact and compliance against closed forms."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import simengine as sim
from tests.solvers.scenes import add_box, add_sphere, on_ground, run

G = 9.81


@pytest.mark.parametrize("e", [0.5, 0.8])
@pytest.mark.parametrize("cone", ["elliptic", "pyramidal"])
def test_rebound_height_is_restitution_squared(e, cone):
    """A sphere dropped from 1 m rises to e^2 h."""
    model = on_ground(add_sphere(0.05), 1.05, sim.Material(restitution=e), gravity=-10.0)
    track = []
    look = lambda i, s: track.append((s.body_q[0, 2] - 0.05, s.body_qd[0, 2]))  # noqa: E731
    run(sim.solvers.Featherstone(model, cone=cone), model.state(), model.control(), 1e-3, 1000, look)
    heights, speeds = np.array(track).T
    assert max(heights[int(np.argmax(speeds > 0)) :]) == pytest.approx(e * e, rel=0.015)


def test_without_restitution_a_sphere_stays_down():
    model = on_ground(add_sphere(0.05), 0.3, sim.Material())
    state = run(sim.solvers.Featherstone(model), model.state(), model.control(), 1e-3, 1500)
    assert state.body_q[0, 2] == pytest.approx(0.05, abs=1e-3) and abs(state.body_qd[0, 2]) < 1e-6


@pytest.mark.parametrize("cone", ["elliptic", "pyramidal"])
def test_sliding_acceleration_on_a_slope_is_that_of_coulomb(cone):
    """30 degrees, mu 0.3: a = g (sin - mu cos) = 2.356287, and sticking below atan(mu)."""
    slope = np.radians(30)
    model = on_ground(add_box((0.2, 0.2, 0.05)), 0.05, sim.Material(friction=0.3), slope=slope)
    speeds = []
    run(
        sim.solvers.Featherstone(model, cone=cone),
        model.state(),
        model.control(),
        1 / 1800,
        1350,
        lambda i, s: speeds.append(s.body_qd[0, 0]),
    )
    assert (speeds[-1] - speeds[449]) / (900 / 1800) == pytest.approx(2.356287, rel=0.01)


@pytest.mark.parametrize("friction, angle", [(0.1, 3), (0.3, 10), (0.3, 20), (0.7, 30), (0.7, 40), (1.0, 40)])
def test_a_box_on_an_incline_sticks_below_the_friction_angle_and_slides_above(friction, angle):
    model = on_ground(add_box((0.2, 0.2, 0.05)), 0.05, sim.Material(friction=friction), slope=np.radians(angle))
    solver, control = sim.solvers.Featherstone(model, impratio=10), model.control()
    settled = run(solver, model.state(), control, 1 / 1800, 900)
    x = float(settled.body_q[0, 0])
    state = run(solver, settled, control, 1 / 1800, 450)
    if angle < np.degrees(np.arctan(friction)):
        assert abs(state.body_q[0, 0] - x) < 0.02 and np.linalg.norm(state.body_qd[0, :3]) < 0.1
    else:
        assert state.body_q[0, 0] - x >= 0.02


@pytest.mark.parametrize("friction, distance", [(0.2, 1.019368), (0.4, 0.509684), (0.7, 0.291248)])
@pytest.mark.parametrize("direction", [0.0, 45.0])
def test_stopping_distance_of_the_elliptic_cone_has_no_direction(friction, distance, direction):
    """d = v0^2 / (2 mu g)."""
    along = np.array([np.cos(np.radians(direction)), np.sin(np.radians(direction)), 0.0])
    model = on_ground(
        add_box((0.25, 0.25, 0.25)),
        0.2499,
        sim.Material(friction=friction, time_constant=0.005),
        velocity=(*(2 * along), 0, 0, 0),
    )
    state = run(sim.solvers.Featherstone(model), model.state(), model.control(), 1e-3, 1500)
    assert state.body_q[0, :3] @ along == pytest.approx(distance, rel=0.01)
    assert abs(state.body_q[0, :3] @ [-along[1], along[0], 0]) < 1e-3 and np.linalg.norm(state.body_qd[0, :3]) < 0.05


@pytest.mark.parametrize("friction, speed", [(0.2, 1.0), (0.5, 2.0)])
def test_a_sliding_sphere_comes_to_roll_at_five_sevenths(friction, speed):
    """v = 5/7 v0 after t = 2 v0/(7 mu g), at x = 12 v0^2/(49 mu g)."""
    model = on_ground(
        add_sphere(0.1), 0.09999, sim.Material(friction=friction, time_constant=0.004), velocity=(speed, 0, 0, 0, 0, 0)
    )
    track = []
    dt = 1e-3
    run(
        sim.solvers.Featherstone(model),
        model.state(),
        model.control(),
        dt,
        400,
        lambda i, s: track.append((s.body_q[0, 0], s.body_qd[0, 0], s.body_qd[0, 4])),
    )
    x, v, w = np.array(track).T
    rolling = int(np.argmax(np.abs(v - 0.1 * w) < 1e-2 * speed))
    assert v[-1] == pytest.approx(5 / 7 * speed, rel=0.01)
    assert (rolling + 1) * dt == pytest.approx(2 * speed / (7 * friction * G), rel=0.05)
    assert x[rolling] == pytest.approx(12 * speed**2 / (49 * friction * G), rel=0.05)


@pytest.mark.parametrize("d", [0.3, 0.9, 0.99])
@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_rest_depth_of_the_impedance_form(d, precision):
    """g (1 - d) (tc z)^2 for a constant impedance d."""
    tc, ratio = 0.03, 1.2
    material = sim.Material(time_constant=tc, damping_ratio=ratio, impedance=(d, d, 0.001, 0.5, 2))
    model = on_ground(add_sphere(0.1), 0.1, material, precision=precision)
    state = run(sim.solvers.Featherstone(model), model.state(), model.control(), 2e-3, 3000)
    assert 0.1 - state.body_q[0, 2] == pytest.approx(G * (1 - d) * (tc * ratio) ** 2, rel=1e-3, abs=1e-7)


@pytest.mark.parametrize("cone", ["elliptic", "pyramidal"])
@pytest.mark.parametrize("contact_dim", [1, 3])
def test_rest_depth_of_a_stiffness_is_weight_over_stiffness(cone, contact_dim):
    """Both surfaces have the stiffness k: k/2 in series."""
    k = 5e3
    model = on_ground(add_sphere(0.1), 0.1, sim.Material(stiffness=k, dissipation=5.0, contact_dim=contact_dim))
    weight = float(model.body_mass[0]) * G
    state = run(sim.solvers.Featherstone(model, cone=cone), model.state(), model.control(), 1e-3, 6000)
    assert 0.1 - state.body_q[0, 2] == pytest.approx(weight / (k / 2), rel=1e-3)


@pytest.mark.parametrize("midpoint, power", [(0.5, 130), (0.5, 200), (0.1, 45), (0.01, 25), (0.3, 1.5), (0.5, 2)])
def test_an_impedance_of_any_power_holds_as_mujocos(midpoint, power, precision):
    solimp = (0.5, 0.95, 0.01, midpoint, power)
    model = on_ground(add_sphere(0.1), 0.1, sim.Material(impedance=solimp), precision=precision)
    state = run(sim.solvers.Featherstone(model), model.state(), model.control(), 2e-3, 500)
    m = mujoco.MjModel.from_xml_string(
        f'<mujoco><option timestep="2e-3"/><default><geom solimp="{" ".join(map(str, solimp))}"/></default><worldbody>'
        '<geom type="plane" size="1 1 1"/><body pos="0 0 .1"><freejoint/><geom size=".1"/></body></worldbody></mujoco>'
    )
    d = mujoco.MjData(m)
    for _ in range(500):
        mujoco.mj_step(m, d)
    assert state.body_q[0, 2] == pytest.approx(d.qpos[2], abs=1e-8 if precision == "float64" else 1e-6)


@pytest.mark.parametrize("depth, torque", [(1e-6, 100.0), (1e-3, 300.0), (1e-2, 3000.0)])
def test_a_roller_hinged_at_its_centre_is_braked_and_leaves_the_others_alone(depth, torque, precision):
    """Nothing yields along the normal: the contact is as stiff as what the roller's turning shows at its arm asks."""
    radius, friction, dt = 0.1, 0.5, 1e-3
    builder = sim.ModelBuilder()
    builder.default_material = sim.Material(friction=friction)
    roller = builder.add_body(xform=sim.transform((0, 0, radius - depth)))
    shape = builder.add_shape_sphere(roller, radius)
    builder.add_joint_revolute(-1, roller, axis="Y", parent_xform=sim.transform((0, 0, radius - depth)))
    ball = builder.add_body(xform=sim.transform((3, 0, 5)))
    builder.add_shape_sphere(ball, radius)
    builder.add_ground_plane()
    model = builder.finalize(device="cpu", precision=precision)
    solver, contacts, control = sim.solvers.Featherstone(model), model.contacts(), model.control()
    control.joint_f[0] = torque
    state, after = model.state(), model.state()
    speeds = []
    for _ in range(200):
        sim.collide(model, state, contacts)
        solver.step(state, after, control, contacts, dt)
        state, after = after, state
        speeds.append(float(state.joint_qd[0]))
    assert contacts.shape1[0] == shape and state.status[0] == 0
    along, _, normal = (float(x) for x in contacts.force[0])
    assert 0 < normal < 1e5 and along == pytest.approx(friction * normal, rel=1e-4)
    braked = (torque - along * (radius - 0.5 * depth)) / float(model.body_inertia[roller, 1, 1])
    assert (speeds[-1] - speeds[-2]) / dt == pytest.approx(braked, abs=1e-4 * torque / 0.0168)
    assert state.body_q[ball, 2] == pytest.approx(5 - 0.5 * G * dt * dt * 200 * 201, abs=2e-5)


def test_two_stiffnesses_act_in_series():
    """1/k = 1/k0 + 1/k1."""
    builder = sim.ModelBuilder()
    body = builder.add_body(xform=(0, 0, 0.1, 0, 0, 0, 1))
    builder.add_shape_sphere(body, 0.1, material=sim.Material(stiffness=4e3, dissipation=5.0))
    builder.add_ground_plane(material=sim.Material(stiffness=1.2e4, dissipation=5.0))
    model = builder.finalize(device="cpu", precision="float64")
    state = run(sim.solvers.Featherstone(model), model.state(), model.control(), 1e-3, 6000)
    assert 0.1 - state.body_q[0, 2] == pytest.approx(float(model.body_mass[0]) * G / 3e3, rel=1e-3)


def test_friction_of_a_stiff_contact_holds_without_creep():
    """Compliance of the normal in N/m does not soften friction: slip below g h sin/1000 a second."""
    slope = np.radians(10)
    model = on_ground(
        add_box((0.2, 0.2, 0.05)), 0.05, sim.Material(friction=0.5, stiffness=2e4, dissipation=2.0), slope=slope
    )
    state = run(sim.solvers.Featherstone(model), model.state(), model.control(), 1e-3, 2000)
    assert abs(state.body_qd[0, 0]) < 2e-5


def test_undamped_stiffness_returns_the_impact_speed_as_the_step_shrinks():
    """Without dissipation a spring gives back the impact; implicit Euler loses a part in proportion to dt."""

    def lost_share(dt):
        model, speeds = on_ground(add_sphere(0.05), 0.3, sim.Material(stiffness=1e4), gravity=-10.0), []
        solver = sim.solvers.Featherstone(model)
        run(solver, model.state(), model.control(), dt, round(0.35 / dt), lambda i, s: speeds.append(s.body_qd[0, 2]))
        return 1 - max(speeds) / -min(speeds)

    lost = [lost_share(2e-4), lost_share(1e-4)]
    assert 0 < lost[1] < 0.05 and lost[1] / lost[0] == pytest.approx(0.5, abs=0.1)


@pytest.mark.parametrize("pull, moves", [(0.55, False), (0.65, True)])
def test_static_friction_holds_until_its_own_limit_and_then_lets_go(pull, moves):
    """mu 0.3, static 0.6: held at 0.55 m g; once slipping, accelerated by (pull - 0.3) g."""
    model = on_ground(
        add_box((0.2, 0.2, 0.05)), 0.0499, sim.Material(friction=0.3, static_friction=0.6, time_constant=0.005)
    )
    solver, control = sim.solvers.Featherstone(model, impratio=20), model.control()
    settled = run(solver, model.state(), control, 1e-3, 300)
    control.body_f[0, 0] = pull * float(model.body_mass[0]) * G
    control.body_f[0, 4] = control.body_f[0, 0] * -0.05  # as if drawn at the ground: no tilting
    state = run(solver, settled, control, 1e-3, 500)
    if moves:
        assert state.body_qd[0, 0] == pytest.approx((pull - 0.3) * G * 0.5, rel=0.05)
    else:
        assert abs(state.body_qd[0, 0]) < 1e-2


def test_forces_of_a_cube_at_rest_sum_to_its_weight():
    """Four contacts carry m g together, and contacts.force is the force on the second shape."""
    model = on_ground(add_box((0.5, 0.5, 0.5)), 0.4999, sim.Material())
    solver, control, contacts = sim.solvers.Featherstone(model), model.control(), model.contacts()
    state = run(solver, model.state(), control, 1 / 240, 720)
    sim.collide(model, state, contacts)
    solver.step(state, model.state(), control, contacts, 1 / 240)
    n = int(contacts.count[0])
    assert n == 4
    weight = float(model.body_mass[0]) * G
    assert contacts.force[:n].sum(0) == pytest.approx([0, 0, weight], rel=1e-5, abs=1e-6 * weight)
    assert contacts.force[:n, 2] == pytest.approx(np.full(4, weight / 4), rel=1e-3)


def test_a_stack_of_five_cubes_stands():
    builder = sim.ModelBuilder()
    for k in range(5):
        body = builder.add_body(xform=(0, 0, 0.5 + k, 0, 0, 0, 1))
        builder.add_shape_box(body, 0.5, 0.5, 0.5)
    builder.add_ground_plane()
    model = builder.finalize(device="cpu", precision="float64")
    solver = sim.solvers.Featherstone(model)
    state = run(solver, model.state(), model.control(), 1 / 240, 720)
    assert state.body_q[:, 2] == pytest.approx(0.5 + np.arange(5), abs=0.02)
    assert np.abs(state.body_q[:, :2]).max() < 0.01 and 2 * np.abs(state.body_q[:, 3:6]).max() < 1e-3
    assert solver.check(state).ok


def test_equal_balls_swap_their_speeds():
    builder = sim.ModelBuilder(gravity=0.0)
    for x, v in ((0.0, 1.0), (0.5, 0.0)):
        body = builder.add_body(xform=(x, 0, 0, 0, 0, 0, 1), velocity=(v, 0, 0, 0, 0, 0))
        builder.add_shape_sphere(body, 0.1, material=sim.Material(restitution=1.0, friction=0.0))
    model = builder.finalize(device="cpu", precision="float64")
    state = run(sim.solvers.Featherstone(model), model.state(), model.control(), 1e-3, 500)
    assert state.body_qd[:, 0] == pytest.approx([0.0, 1.0], abs=1e-3)


def test_a_light_ball_on_a_heavy_one_leaves_at_three_times_the_speed():
    """Masses 1 to 10^4, both falling at v, the heavy one turned first by the ground: 3 v (1 %)."""
    builder = sim.ModelBuilder(gravity=0.0)
    bouncy = sim.Material(restitution=1.0, friction=0.0)
    for z, r, mass in ((0.5002, 0.5, 1e4), (1.1101, 0.1, 1.0)):
        body = builder.add_body(xform=(0, 0, z, 0, 0, 0, 1), velocity=(0, 0, -1, 0, 0, 0), mass=mass)
        builder.add_shape_sphere(body, r, material=bouncy)
    builder.add_ground_plane(material=bouncy)
    model = builder.finalize(device="cpu", precision="float64")
    state = run(sim.solvers.Featherstone(model), model.state(), model.control(), 1e-4, 400)
    assert state.body_qd[1, 2] == pytest.approx(3.0, rel=0.01)


@pytest.mark.parametrize("angle, topples", [(24.0, False), (29.0, True)])
def test_a_block_topples_where_the_slope_exceeds_width_over_height(angle, topples):
    """b = 0.5 h: tan 26.565 degrees is the limit; friction high enough not to slide."""
    model = on_ground(
        add_box((0.1, 0.1, 0.2)), 0.2, sim.Material(friction=1.0, time_constant=0.005), slope=np.radians(angle)
    )
    state = run(sim.solvers.Featherstone(model), model.state(), model.control(), 1e-3, 1500)
    assert (2 * np.arcsin(abs(state.body_q[0, 4])) > 0.5) == topples
