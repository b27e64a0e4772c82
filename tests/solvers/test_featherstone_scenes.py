"""Scenes of several bodies against what mechanics says of them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import simengine as sim
from tests.solvers.scenes import free_body, on_ground, run

G = 9.81


def test_an_ellipsoid_that_tumbles_down_a_slope_never_speeds_up_beyond_its_start():
    """Half axes (.05, .1, .15), 15 degrees, spin 30 rad/s, dt 2 ms, 10 s; more than 1000 steps in contact."""

    def add_ellipsoid(builder, body, material):
        builder.add_shape_ellipsoid(body, 0.05, 0.1, 0.15, material=material)

    model = on_ground(add_ellipsoid, 0.2, sim.Material(), slope=np.radians(15), velocity=(0, 0, 0, 0.1, 30.0, 0.2))
    solver, contacts, touched, speeds = sim.solvers.Featherstone(model), model.contacts(), [], []

    def look(i, state):
        speeds.append(np.linalg.norm(state.joint_qd))
        sim.collide(model, state, contacts)
        touched.append(int(contacts.count[0]))

    run(solver, model.state(), model.control(), 2e-3, 5000, look)
    assert max(speeds) < 2 * 30.0 and np.count_nonzero(touched) > 1000


def test_balls_roll_on_a_box_that_is_pulled_across_the_axes_of_the_cone():
    """Box 10 kg, 9 balls of 1 kg, 150 N along (.5, .866): the accelerations of rolling bodies.

    With friction F of the floor, f of each ball: M A = P - mu_b (M + n m) g - n f, m a = f, a ball on a moving box
    rolls with a = 2/7 A.
    """
    n, pull, mu = 9, 150.0, 0.4
    builder = sim.ModelBuilder()
    rough, slippery = sim.Material(friction=0.8), sim.Material(friction=mu)
    box = builder.add_body(xform=(0, 0, 0.4999, 0, 0, 0, 1), mass=10.0)
    builder.add_shape_box(box, 10.0, 10.0, 0.5, material=slippery)
    for x in (-2, 0, 2):
        for y in (-2, 0, 2):
            ball = builder.add_body(xform=(x, y, 1.4997, 0, 0, 0, 1), mass=1.0)
            builder.add_shape_sphere(ball, 0.5, material=rough)
    builder.add_ground_plane(material=slippery)
    model = builder.finalize(device="cpu", precision="float64")
    control, along = model.control(), np.array([0.5, np.sqrt(3) / 2, 0.0])
    control.body_f[0, :3] = pull * along
    state = run(sim.solvers.Featherstone(model), model.state(), control, 2e-3, 500)
    box_acceleration = (pull - mu * (10.0 + n) * G) / (10.0 + n * 2 / 7)
    assert state.body_qd[0, :3] @ along == pytest.approx(box_acceleration, rel=0.02)
    assert abs(state.body_qd[0, :2] @ [-along[1], along[0]]) < 0.01 * box_acceleration
    assert (state.body_qd[1:, :3] @ along).mean() == pytest.approx(2 / 7 * box_acceleration, rel=0.03)


def test_newtons_cradle_with_gaps_sends_one_ball_out():
    """Five equal balls, e 1, gaps of 1e-4 m: one in, one out, momentum and energy kept."""
    builder = sim.ModelBuilder(gravity=0.0)
    material, r = sim.Material(restitution=1.0, friction=0.0), 0.1
    for k in range(5):
        body = builder.add_body(xform=(k * (2 * r + 1e-4) + (-0.05 if k == 0 else 0.0), 0, 0, 0, 0, 0, 1), mass=1.0)
        builder.add_shape_sphere(body, r, material=material)
        builder.add_joint_prismatic(-1, body, axis="X", parent_xform=builder.bodies[body].xform, qd=(float(k == 0),))
    model = builder.finalize(device="cpu", precision="float64")
    state = run(sim.solvers.Featherstone(model), model.state(), model.control(), 2e-5, 4000)
    v = state.joint_qd
    assert v[4] > 0.99 and np.abs(v[:4]).max() < 0.01
    assert v.sum() == pytest.approx(1.0, rel=1e-9) and (v**2).sum() == pytest.approx(1.0, rel=5e-3)


def test_a_pyramid_of_three_cubes_puts_one_and_a_half_weights_on_each_foot():
    builder = sim.ModelBuilder()
    material = sim.Material(friction=1.0, time_constant=0.01)
    for x, z in ((-0.55, 0.5), (0.55, 0.5), (0.0, 1.5)):
        body = builder.add_body(xform=(x, 0, z - 1e-4, 0, 0, 0, 1))
        builder.add_shape_box(body, 0.5, 0.5, 0.5, material=material)
    builder.add_ground_plane(material=material)
    model = builder.finalize(device="cpu", precision="float64")
    solver, control, contacts = sim.solvers.Featherstone(model, impratio=20), model.control(), model.contacts()
    state = run(solver, model.state(), control, 1 / 240, 480)
    sim.collide(model, state, contacts)
    solver.step(state, model.state(), control, contacts, 1 / 240)
    n, weight = int(contacts.count[0]), float(model.body_mass[0]) * G
    normal = (contacts.force[:n] * contacts.normal[:n]).sum(1) * np.abs(contacts.normal[:n, 2])
    bodies = model.shape_body[contacts.shape1[:n]], model.shape_body[contacts.shape0[:n]]
    on_plane = bodies[1] < 0
    for foot in (0, 1):
        assert normal[on_plane & (bodies[0] == foot)].sum() == pytest.approx(1.5 * weight, rel=0.02)


def test_a_planar_chain_without_gravity_keeps_momentum_and_energy_to_first_order():
    """Five links floating in a plane: the drift of spin and energy halves with dt."""

    def drift(dt):
        builder = sim.ModelBuilder(gravity=0.0)
        parent = -1
        for k in range(5):
            body = builder.add_body(mass=1.0, com=(0.25, 0, 0), inertia=(1e-3, 0.02, 0.02))
            if k == 0:
                builder.add_joint_free(-1, body, qd=(0, 0, 0, 0, 0, 1.0))
            else:
                builder.add_joint_revolute(parent, body, axis="Z", parent_xform=(0.5, 0, 0, 0, 0, 0, 1), qd=(0.4 * k,))
            parent = body
        model = builder.finalize(device="cpu", precision="float64")
        solver, state = sim.solvers.Featherstone(model), model.state()
        sim.eval_fk(model, state)

        def totals(s):
            v, w = s.body_qd[:, :3], s.body_qd[:, 3:]
            com = s.body_q[:, :3] + Rotation.from_quat(s.body_q[:, 3:]).apply([0.25, 0, 0])
            spin = np.cross(com, v).sum(0)[2] + 0.02 * w[:, 2].sum()
            energy = 0.5 * (v**2).sum() + 0.01 * (w[:, 2] ** 2).sum()
            return np.array([spin, energy])

        before = totals(state)
        return np.abs(totals(run(solver, state, model.control(), dt, round(1 / dt))) / before - 1)

    coarse, fine = drift(2e-3), drift(1e-3)
    assert np.all(fine < 0.01) and fine[0] / coarse[0] == pytest.approx(0.5, abs=0.1)
    assert fine[1] / coarse[1] == pytest.approx(0.5, abs=0.1)


def test_an_axisymmetric_body_precesses_at_the_rate_of_the_closed_form():
    """In body axes the transverse rate turns at (1 - I3/I1) w3 against the spin's sense: w_x + i w_y ~ e^(-i n t)."""
    inertia, rate = np.array([0.3, 0.3, 0.5]), np.array([0.4, 0.0, 2.0])
    model = free_body(inertia, velocity=(0, 0, 0, *rate))
    dt, steps = 2e-4, 5000
    state = run(sim.solvers.Featherstone(model), model.state(), model.control(), dt, steps)
    found = Rotation.from_quat(state.body_q[0, 3:]).inv().apply(state.body_qd[0, 3:])
    n = (1 - inertia[2] / inertia[0]) * rate[2]
    turned = np.angle(complex(found[0], found[1]))
    assert turned == pytest.approx(-n * dt * steps, abs=2e-3) and found[2] == pytest.approx(2.0, rel=1e-6)
