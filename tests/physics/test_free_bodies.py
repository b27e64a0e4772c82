"""Bodies that nothing touches: ballistic motion, conserved momentum, and Euler's equations of a spinning body.

The integrator is semi-implicit Euler, v+ = v + h a and x+ = x + h v+: velocities of a constant force are exact and
positions are off by h a t / 2; errors of the rotation are of first order in h.
"""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.special import ellipk

import simengine as sim
from tests.physics.physics_run import Run, crossings, rotations, worlds


def ball(height=5.0, gravity=-10.0):
    builder = sim.ModelBuilder(gravity=gravity)
    builder.add_shape_sphere(builder.add_body(xform=sim.transform((0, 0, height))), 0.1)
    return builder


def spinning(inertia, spin, mass=1.0):
    """A free body without gravity whose axes start along those of the world."""
    builder = sim.ModelBuilder(gravity=0)
    builder.add_body(mass=mass, inertia=inertia, velocity=(0, 0, 0, *spin))
    return builder


def spinning_box(spin):
    builder = sim.ModelBuilder(gravity=0)
    body = builder.add_body(mass=1.0, velocity=(0, 0, 0, *spin))
    builder.add_shape_box(body, 0.1, 0.2, 0.3)
    return builder


def euler_equations(inertia, spin, times):
    """Spin in body axes (times, 3) of I w' = I w x w, to high order."""
    inertia = np.asarray(inertia, float)
    solution = solve_ivp(
        lambda t, w: np.cross(inertia * w, w) / inertia, (0, times[-1]), spin, "DOP853", times, rtol=1e-12, atol=1e-13
    )
    return solution.y.T


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_free_fall(precision):
    """z = h0 - g t^2/2 and v = -g t; the position is off by at most twice its g dt t/2, the speed by g dt."""
    g, dt, height = 10.0, 1e-3, 5.0
    run = Run(ball(height, -g), dt, precision)
    for k in range(1, 6):
        run.step(100)
        t = 0.1 * k
        assert abs(run.poses[0, 2] - (height - g * t * t / 2)) < 2 * (g * dt * t / 2)
        assert abs(run.velocities[0, 2] + g * t) < g * dt
        assert np.abs(run.poses[0, :2]).max() < 1e-4


@pytest.mark.parametrize("dt", [1e-2, 5e-3])
def test_drift_of_a_body_turned_about_a_frame_beside_its_centre(dt):
    """The frame's origin, r from a centre of mass that should rest, steps along the tangent: r w^2 dt/2 a second."""
    reach, spin, seconds = 0.3, 2.0, 5.0
    builder = sim.ModelBuilder(gravity=0)
    builder.add_body(mass=1.0, inertia=(0.1, 0.2, 0.3), com=(reach, 0, 0), velocity=(0, 0, 0, 0, 0, spin))
    run = Run(builder, dt)
    before = run.centres()[0]
    run.step(round(seconds / dt))
    drift = np.linalg.norm(run.centres()[0] - before)
    assert drift == pytest.approx(reach * spin**2 * dt / 2 * seconds, rel=0.02)


def test_free_fall_is_semi_implicit_euler():
    """z_n = h0 - g dt^2 n (n + 1) / 2 but for the rounding of n additions."""
    g, dt, height = 10.0, 1e-3, 5.0
    run = Run(ball(height, -g), dt)
    heights = run.record(500, lambda r: r.poses[0, 2])
    n = np.arange(501)
    np.testing.assert_allclose(heights, height - g * dt**2 * n * (n + 1) / 2, rtol=0, atol=500 * height * 2.3e-16)


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_projectile(precision):
    """p = p0 + v0 t + g t^2/2 with gravity along -y: all six components."""
    g, dt, t = 10.0, 1e-3, 0.1
    builder = sim.ModelBuilder(up_axis="Y", gravity=-g)
    body = builder.add_body(xform=sim.transform((0, 10, 0)), velocity=(5, 10, 0, 0, 0, 0))
    builder.add_shape_sphere(body, 0.1)
    run = Run(builder, dt, precision)
    run.step(100)
    position = np.array([5 * t, 10 + 10 * t - g * t * t / 2, 0])
    assert np.abs(run.poses[0, :3] - position).max() < 2 * (g * dt * t / 2)
    assert np.abs(run.velocities[0] - [5, 10 - g * t, 0, 0, 0, 0]).max() < g * dt


@pytest.mark.parametrize("integrator", ["implicit", "euler"])
@pytest.mark.parametrize(("precision", "tolerance"), [("float32", 5e-4), ("float64", 1e-11)])
def test_momentum_of_isolated_bodies(integrator, precision, tolerance):
    """Four cubes, up to 100 m from the origin: linear momentum m v and angular momentum m r x v + I w are constant."""
    rates = [(1, 0, 0, 0, 0, 0.5), (0, -1, 0, 0.3, 0, 0), (0, 0, 1.5, 0, -0.2, 0), (-0.5, 0.5, -0.5, 0, 0, -0.3)]
    builder = sim.ModelBuilder(gravity=0)
    for place, rate in zip(np.vstack([np.zeros(3), 100 * np.eye(3)]), rates, strict=True):
        body = builder.add_body(xform=sim.transform(place), velocity=rate)
        builder.add_shape_box(body, 0.5, 0.5, 0.5)
    run = Run(builder, 1e-3, precision, integrator=integrator)
    before = [total.sum(0) for total in run.body_momentum()]
    run.step(1000)
    for was, now in zip(before, run.body_momentum(), strict=True):
        assert np.linalg.norm(now.sum(0) - was) < tolerance * np.linalg.norm(was)


@pytest.mark.parametrize("integrator", ["implicit", "euler"])
def test_torque_free_asymmetric_body(integrator):
    """I w' = I w x w: the spin after 1 s, and L = R I w fixed in the world; both to first order in dt."""
    inertia, spin, wanted = (0.2, 0.5, 0.4), (0.7, -0.5, 0.9), (0.512787, -0.261458, 1.072648)
    np.testing.assert_allclose(euler_equations(inertia, spin, [1.0])[0], wanted, atol=1e-6)
    errors = []
    for dt in (1e-2, 5e-3):
        run = Run(spinning(inertia, spin), dt, integrator=integrator)
        momentum = run.body_momentum()[1][0]
        assert np.linalg.norm(momentum) == pytest.approx(0.46010868, abs=1e-8)
        run.step(round(0.2 / dt))
        assert np.linalg.norm(run.body_momentum()[1][0] - momentum) < 5e-3
        run.step(round(0.8 / dt))
        errors.append(np.linalg.norm(run.spins()[0] - wanted))
    assert errors[0] < 1e-2 * np.linalg.norm(wanted)
    assert errors[0] / errors[1] == pytest.approx(2, rel=0.1)


@pytest.mark.parametrize("integrator", ["implicit", "euler"])
def test_dzhanibekov_flips(integrator):
    """I = (1, 2, 3), w0 = (e, 1, 0): w2 is a Jacobi function, zero after a quarter of 4 K(k^2)/w_p, then every half.

    A body that circles about axis 1, as L^2 < 2 E I2 says, has w_p^2 = (I2 - I1) (2 E I3 - L^2) / (I1 I2 I3) and
    k^2 = (I3 - I2) (L^2 - 2 E I1) / ((I2 - I1) (2 E I3 - L^2)) (Landau and Lifshitz, Mechanics, section 37).
    """
    dt, every, starts = 1e-3, 10, (0.01, 0.001)
    run = Run(worlds([spinning((1, 2, 3), (e, 1, 0)) for e in starts]), dt, integrator=integrator)
    spins = [run.spins()[:, 1]]
    for _ in range(4500):
        run.step(every)
        spins.append(run.spins()[:, 1])
    for world, (e, known) in enumerate(zip(starts, (41.5092, 57.4628), strict=True)):
        period = _flip_period(1.0, 2.0, 3.0, e)
        assert period == pytest.approx(known, abs=1e-4)
        flips = crossings(np.array(spins)[:, world], every * dt)
        assert flips[0] == pytest.approx(period / 4, rel=1e-2)
        np.testing.assert_allclose(np.diff(flips), period / 2, rtol=1e-2)


def _flip_period(i1, i2, i3, e):
    """4 K(k^2)/w_p of the spin (e, 1, 0) about the axes of inertia i1 < i2 < i3."""
    energy2, momentum2 = i1 * e * e + i2, (i1 * e) ** 2 + i2**2  # 2 E and L^2
    rate = np.sqrt((i2 - i1) * (energy2 * i3 - momentum2) / (i1 * i2 * i3))
    k2 = (i3 - i2) * (momentum2 - energy2 * i1) / ((i2 - i1) * (energy2 * i3 - momentum2))
    return 4 * ellipk(k2) / rate


def test_implicit_gyroscopic_torque_gains_no_energy():
    """A box about its middle axis and fast about another for 100 s: E stays at or below its start (1 % at most)."""
    run = Run(worlds([spinning_box((0.05, 5, 0.05)), spinning_box((20, 0.05, 0.05))]), 5e-3, integrator="implicit")
    start = run.body_energy()
    highest = start.copy()
    for _ in range(2000):
        run.step(10)
        highest = np.maximum(highest, run.body_energy())
    assert (highest <= 1.01 * start).all()


@pytest.mark.parametrize(("integrator", "low", "high"), [("implicit", 0.9, 1.0), ("euler", 1.01, 1.15)])
def test_energy_is_the_fingerprint_of_the_integrator(integrator, low, high):
    """The explicit gyroscopic torque feeds a tumbling body, the implicit one drains it mildly; L drifts little."""
    run = Run(spinning_box((1, 2, 3)), 0.01, integrator=integrator)
    energy, momentum = run.body_energy()[0], run.body_momentum()[1][0]
    run.step(500)
    assert low < run.body_energy()[0] / energy < high
    assert np.linalg.norm(run.body_momentum()[1][0] - momentum) < 0.05


@pytest.mark.parametrize("dt", [1e-4, 1e-3])
def test_box_about_a_principal_axis(dt):
    """A box that turns about a principal axis: E = 5.0010416 J, a straight line and a constant spin, to round-off."""
    builder = sim.ModelBuilder(gravity=0)
    body = builder.add_body(mass=10.0, velocity=(-0.9, 0.4, 0.1, 0.5, 0, 0))
    builder.add_shape_box(body, 0.05, 0.2, 0.45)
    run = Run(builder, dt)
    np.testing.assert_allclose(
        np.diag(sim.to_numpy(run.model.body_inertia)[0]), [0.808333, 0.683333, 0.141667], atol=5e-7
    )
    steps, t = round(1 / dt), 1.0
    run.step(steps)
    rounding = steps * 2.3e-16
    assert run.body_energy()[0] == pytest.approx(5.001041625, abs=1e-7)  # from inertias of six digits
    np.testing.assert_allclose(run.poses[0, :3], np.array([-0.9, 0.4, 0.1]) * t, atol=rounding)
    np.testing.assert_allclose(run.velocities[0], [-0.9, 0.4, 0.1, 0.5, 0, 0], atol=rounding)
    half = 0.5 * t / 2
    np.testing.assert_allclose(run.poses[0, 3:], [np.sin(half), 0, 0, np.cos(half)], atol=rounding)


@pytest.mark.parametrize("integrator", ["implicit", "euler"])
def test_torque_free_symmetric_cylinder(integrator):
    """The axis turns about L at |L|/I1 while the body turns about its axis at (1 - I3/I1) w3.

    R(t) = exp(L t/I1) R(0) exp(z (1 - I3/I1) w3 t) (Kane and Levinson, Dynamics, section 1.13). First order in dt.
    """
    transverse, axial = 0.2125, 0.1
    spin, t = np.array([0.5, 0.8, 2.0]), 2.0
    momentum = np.array([transverse, transverse, axial]) * spin
    wanted = _rotation(momentum / transverse * t) @ _rotation((0, 0, (1 - axial / transverse) * spin[2] * t))
    relative_rate = (1 - axial / transverse) * spin[2]
    errors = []
    for dt in (2e-3, 1e-3):
        run = Run(spinning((transverse, transverse, axial), spin), dt, integrator=integrator)
        run.step(round(t / dt))
        angle = -relative_rate * t
        turned = [
            np.cos(angle) * spin[0] - np.sin(angle) * spin[1],
            np.sin(angle) * spin[0] + np.cos(angle) * spin[1],
            spin[2],
        ]
        assert np.linalg.norm(run.spins()[0] - turned) < dt * t * np.linalg.norm(spin) ** 2
        errors.append(np.linalg.norm(rotations(run.poses)[0] - wanted))
    assert errors[0] < 2e-3 * t * np.linalg.norm(spin) ** 2
    assert errors[0] / errors[1] == pytest.approx(2, rel=0.1)


def _rotation(vector):
    """Rotation matrix of a rotation vector, by Rodrigues' formula."""
    angle = np.linalg.norm(vector)
    x, y, z = np.asarray(vector) / angle
    skew = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * skew + (1 - np.cos(angle)) * skew @ skew
