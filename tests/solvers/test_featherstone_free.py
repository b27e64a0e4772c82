"""Free bodies: what closed forms and conservation laws say of the integrators."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import simengine as sim
from tests.solvers.scenes import free_body, run


def angular_momentum(state, inertia) -> np.ndarray:
    turn = Rotation.from_quat(state.body_q[0, 3:])
    return turn.apply(np.asarray(inertia) * turn.inv().apply(state.body_qd[0, 3:]))


def energy(state, inertia) -> float:
    body_rate = Rotation.from_quat(state.body_q[0, 3:]).inv().apply(state.body_qd[0, 3:])
    return 0.5 * float(np.asarray(inertia) @ body_rate**2)


@pytest.mark.parametrize("integrator", ["implicit", "euler"])
def test_free_fall_is_the_discrete_parabola_of_symplectic_euler(integrator):
    """z_n = h0 - g dt^2 n (n + 1)/2, v_n = -g dt n."""
    model = free_body(xform=(0, 0, 5, 0, 0, 0, 1), gravity=-10.0)
    solver = sim.solvers.Featherstone(model, integrator=integrator)
    dt, n = 1e-3, 500
    state = run(solver, model.state(), model.control(), dt, n)
    assert state.body_q[0, 2] == pytest.approx(5 - 10 * dt**2 * n * (n + 1) / 2, abs=1e-12)
    assert state.body_qd[0] == pytest.approx([0, 0, -10 * dt * n, 0, 0, 0], abs=1e-12)
    assert state.time[0] == pytest.approx(n * dt) and state.step_count[0] == n


def test_projectile_follows_its_parabola():
    """x = x0 + v0 t + g t^2/2, to the g dt t/2 of symplectic Euler."""
    builder = sim.ModelBuilder(up_axis="Y", gravity=-10.0)
    builder.add_body(mass=2.0, inertia=(1, 1, 1), xform=(0, 10, 0, 0, 0, 0, 1), velocity=(5, 10, 0, 0, 0, 0))
    model = builder.finalize(device="cpu", precision="float64")
    dt, n = 1e-3, 100
    state = run(sim.solvers.Featherstone(model), model.state(), model.control(), dt, n)
    t = n * dt
    assert state.body_q[0, :3] == pytest.approx([5 * t, 10 + 10 * t - 5 * t * t, 0], abs=1.01 * 10 * dt * t / 2)
    assert state.body_qd[0, :3] == pytest.approx([5, 10 - 10 * t, 0], abs=1e-12)


@pytest.mark.parametrize("integrator", ["implicit", "euler"])
def test_momentum_of_isolated_bodies_is_conserved(integrator):
    builder = sim.ModelBuilder(gravity=0.0)
    places = [(0, 0, 0), (100, 0, 0), (0, 100, 0), (0, 0, 100)]
    velocities = [(1, 0, 0, 0, 0, 0.5), (0, -1, 0, 0.3, 0, 0), (0, 0, 1.5, 0, -0.2, 0), (-0.5, 0.5, -0.5, 0, 0, -0.3)]
    for place, velocity in zip(places, velocities, strict=True):
        body = builder.add_body(xform=(*place, 0, 0, 0, 1), velocity=velocity)
        builder.add_shape_box(body, 0.5, 0.5, 0.5)
    model = builder.finalize(device="cpu", precision="float64")
    mass, inertia = model.body_mass, model.body_inertia[:, 0, 0]

    def momenta(state):
        linear = mass[:, None] * state.body_qd[:, :3]
        angular = np.cross(state.body_q[:, :3], linear) + inertia[:, None] * state.body_qd[:, 3:]
        return np.concatenate([linear.sum(0), angular.sum(0)])

    solver = sim.solvers.Featherstone(model, integrator=integrator)
    before = momenta(model.state())
    after = momenta(run(solver, model.state(), model.control(), 1e-3, 1000))
    assert after == pytest.approx(before, rel=1e-9, abs=1e-9 * np.abs(before).max())


def test_torque_free_body_follows_eulers_equations():
    """I w' = I w x w in body axes; angular momentum constant. First order: the error halves with dt."""
    inertia, rate = np.array([0.2, 0.5, 0.4]), np.array([0.7, -0.5, 0.9])
    errors = []
    for dt in (1e-3, 5e-4):
        model = free_body(inertia, velocity=(0, 0, 0, *rate))
        state = run(sim.solvers.Featherstone(model), model.state(), model.control(), dt, round(1 / dt))
        body_rate = Rotation.from_quat(state.body_q[0, 3:]).inv().apply(state.body_qd[0, 3:])
        errors.append(np.abs(body_rate - [0.512787, -0.261458, 1.072648]).max())
        assert np.linalg.norm(angular_momentum(state, inertia)) == pytest.approx(0.46010868, rel=dt)
    assert errors[0] < 1e-3 and errors[1] / errors[0] == pytest.approx(0.5, abs=0.02)


def test_dzhanibekov_flip_takes_the_period_of_the_closed_form():
    """I = (1, 2, 3), w0 = (.01, 1, 0): the middle rate first changes sign at 10.3773 s."""
    model = free_body((1.0, 2.0, 3.0), velocity=(0, 0, 0, 0.01, 1.0, 0.0))
    signs = []

    def look(i, state):
        signs.append(Rotation.from_quat(state.body_q[0, 3:]).inv().apply(state.body_qd[0, 3:])[1] > 0)

    dt = 1e-3
    run(sim.solvers.Featherstone(model), model.state(), model.control(), dt, 11000, look)
    assert (signs.index(False) + 1) * dt == pytest.approx(10.3773, rel=0.01)


@pytest.mark.parametrize("rate", [(0.05, 5.0, 0.05), (20.0, 0.05, 0.05)])
def test_implicit_gyroscopic_torque_never_gains_energy(rate):
    inertia = (1.0, 2.0, 3.0)
    model = free_body(inertia, velocity=(0, 0, 0, *rate))
    start, highest = energy(model.state(), inertia), []
    run(
        sim.solvers.Featherstone(model),
        model.state(),
        model.control(),
        5e-3,
        4000,
        lambda i, s: highest.append(energy(s, inertia)),
    )
    assert max(highest) < 1.01 * start


def test_integrators_differ_in_the_sign_of_their_energy_error():
    """The explicit gyroscopic torque gains energy, the implicit one loses a little; both nearly keep momentum."""
    inertia, rate = (1.0, 2.0, 3.0), (1.0, 2.0, 3.0)
    ratio = {}
    for integrator in ("euler", "implicit"):
        model = free_body(inertia, velocity=(0, 0, 0, *rate))
        solver, begin = sim.solvers.Featherstone(model, integrator=integrator), model.state()
        state = run(solver, model.state(), model.control(), 0.01, 500)
        ratio[integrator] = energy(state, inertia) / energy(begin, inertia)
        drift = angular_momentum(state, inertia) - angular_momentum(begin, inertia)
        assert np.abs(drift).max() < 0.05 * np.linalg.norm(angular_momentum(begin, inertia))
    assert ratio["euler"] > 1.01 and 0.8 < ratio["implicit"] < 1.0


def test_constant_spin_turns_by_the_exponential_map_exactly():
    model = free_body((1.0, 1.0, 1.0), velocity=(0, 0, 0, 3.0, -2.0, 1.0))
    state = run(sim.solvers.Featherstone(model), model.state(), model.control(), 0.01, 100)
    wanted = Rotation.from_rotvec([3.0, -2.0, 1.0])
    assert (Rotation.from_quat(state.body_q[0, 3:]).inv() * wanted).magnitude() < 1e-12


def test_body_force_and_torque_act_in_world_axes_about_the_centre_of_mass():
    builder = sim.ModelBuilder(gravity=0.0)
    turn = Rotation.from_rotvec([0.3, -0.5, 0.8])
    builder.add_body(mass=2.0, com=(0.1, 0.2, -0.3), inertia=(0.5, 0.5, 0.5), xform=(1, 2, 3, *turn.as_quat()))
    model = builder.finalize(device="cpu", precision="float64")
    control = model.control()
    control.body_f = [[1.0, -2.0, 3.0, 0.1, 0.2, -0.4]]
    state = run(sim.solvers.Featherstone(model), model.state(), control, 1e-3, 1)
    assert state.body_qd[0] == pytest.approx(np.array([0.5, -1.0, 1.5, 0.2, 0.4, -0.8]) * 1e-3, rel=1e-6)


def test_heavy_top_precesses_as_the_steady_solution():
    """Disk m 1, R .1, l .1 from a ball joint: I1 cos(th) W^2 - I3 w3 W + m g l = 0; w3 = 100 gives W = 2.01263."""
    builder = sim.ModelBuilder(gravity=-9.81)
    tilt = Rotation.from_rotvec([0, np.radians(60), 0])
    body = builder.add_body(mass=1.0, com=(0, 0, 0.1), inertia=(0.0025, 0.0025, 0.005))
    precession = 2.01263
    axis = tilt.apply([0, 0, 1])
    transverse = np.array([0, 0, precession]) - precession * axis[2] * axis
    builder.add_joint_ball(-1, body, q=tuple(tilt.as_quat()), qd=tuple(100.0 * axis + transverse))
    model = builder.finalize(device="cpu", precision="float64")
    angles = []

    def look(i, state):
        x, y, _ = Rotation.from_quat(state.joint_q).apply([0, 0, 1])
        angles.append(np.arctan2(y, x))

    run(sim.solvers.Featherstone(model), model.state(), model.control(), 1e-4, 10000, look)
    turned = np.unwrap(angles)
    assert (turned[-1] - turned[0]) / (1e-4 * 9999) == pytest.approx(precession, rel=0.01)


def test_double_pendulum_follows_its_equations():
    """Point masses 1 on rods 1, both at 90 degrees: against the ordinary differential equation, order one in dt."""

    def rates(t, y):
        a, b, va, vb = y
        d, g = a - b, 9.81
        den = 3 - np.cos(2 * d)
        fa = (-3 * g * np.sin(a) - g * np.sin(a - 2 * b) - 2 * np.sin(d) * (vb**2 + va**2 * np.cos(d))) / den
        fb = 2 * np.sin(d) * (2 * va**2 + 2 * g * np.cos(a) + vb**2 * np.cos(d)) / den
        return [va, vb, fa, fb]

    exact = solve_ivp(rates, (0, 1), [np.pi / 2, np.pi / 2, 0, 0], rtol=1e-10, atol=1e-10).y[:, -1]
    assert exact == pytest.approx([-0.6250877, -1.03458509, -3.92227957, -1.30309925], abs=1e-5)
    builder = sim.ModelBuilder(gravity=-9.81)
    parent = -1
    for k, q in enumerate((np.pi / 2, 0.0)):
        body = builder.add_body(mass=1.0, com=(0, 0, -1), inertia=(1e-9,) * 3)
        builder.add_joint_revolute(parent, body, axis="Y", parent_xform=(0, 0, -1.0 * k, 0, 0, 0, 1), q=(q,))
        parent = body
    model = builder.finalize(device="cpu", precision="float64")
    errors = []
    for dt in (2e-4, 1e-4):
        state = run(sim.solvers.Featherstone(model), model.state(), model.control(), dt, round(1 / dt))
        q, v = state.joint_q, state.joint_qd
        found = np.array([q[0], q[0] + q[1], v[0], v[0] + v[1]])
        errors.append(np.abs(found - exact).max())
    assert errors[1] < 5e-3 and errors[1] / errors[0] == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize("scale", [1e-18, 1e-12, 1e12])
def test_a_grain_turns_as_a_large_body_of_its_shape_does_in_single_precision(scale):
    """Euler's equations know ratios of inertia alone; 1e-18 kg m^2 is that of a sphere of 60 micrometres."""
    rate, inertia = (3.0, -5.0, 2.0), np.array([0.2, 0.5, 0.4])
    found = []
    for factor in (1.0, scale):
        model = free_body(factor * inertia, mass=factor, velocity=(0, 0, 0, *rate), precision="float32")
        found.append(run(sim.solvers.Featherstone(model), model.state(), model.control(), 5e-3, 100).body_qd[0])
    assert found[1] == pytest.approx(np.asarray(found[0]), abs=1e-4)
