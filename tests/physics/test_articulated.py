"""Bodies on joints: pendulums, tops, chains and efforts, against closed forms and high-order integration.

Semi-implicit Euler is of first order in the step along a trajectory, and symplectic on one hinge: its period is of
second order and its energy oscillates without drift.
"""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.special import ellipk

import simengine as sim
from tests.physics.physics_run import Run, crossings, rotations, worlds

INTEGRATORS = pytest.mark.parametrize("integrator", ["implicit", "euler"])


def pendulum(angle, gravity=9.81, radius=None):
    """A hinge about Y at the origin, 1 m below it a point mass, or a sphere of ``radius``."""
    builder = sim.ModelBuilder(gravity=-gravity)
    if radius is None:
        bob = builder.add_body(mass=1.0, inertia=(0, 0, 0))
    else:
        bob = builder.add_body()
        builder.add_shape_sphere(bob, radius)
    builder.add_joint_revolute(-1, bob, axis="Y", child_xform=sim.transform((0, 0, 1)), q=[angle])
    return builder


def chain(count, gravity, angles, rates=None, inertia=1 / 12, centre=0.5):
    """Links of 1 m and 1 kg on hinges about Y from the origin, hanging down at zero; ``angles`` from the vertical."""
    builder = sim.ModelBuilder(gravity=-gravity)
    parent = -1
    rates = np.zeros(count) if rates is None else rates
    for i, (angle, rate) in enumerate(zip(np.diff(angles, prepend=0), np.diff(rates, prepend=0), strict=True)):
        link = builder.add_body(mass=1.0, inertia=(inertia,) * 3)
        place = sim.transform((0, 0, 0 if i == 0 else centre - 1))
        builder.add_joint_revolute(
            parent, link, axis="Y", parent_xform=place, child_xform=sim.transform((0, 0, centre)), q=[angle], qd=[rate]
        )
        parent = link
    return builder


class PlanarChain:
    """Lagrange's equations of ``chain`` in the absolute angles, apart from the engine.

    M_ij = S_ij cos(a_i - a_j) + I d_ij with S_ij = sum over b of m c_bi c_bj, c_bi the arm of angle i to b's centre.
    """

    def __init__(self, count, gravity, inertia, centre):
        arm = np.tril(np.ones((count, count)), -1) + centre * np.eye(count)
        self.product, self.weight = arm.T @ arm, gravity * arm.sum(0)
        self.inertia = inertia * np.eye(count)

    def mass(self, a):
        return self.product * np.cos(a[:, None] - a) + self.inertia

    def rate(self, _, state):
        a, w = np.split(state, 2)
        force = -(self.product * np.sin(a[:, None] - a)) @ w**2 - self.weight * np.sin(a)
        return np.concatenate([w, np.linalg.solve(self.mass(a), force)])

    def at(self, angles, rates, times):
        start = np.concatenate([angles, rates])
        solution = solve_ivp(self.rate, (0, times[-1]), start, "DOP853", times, rtol=1e-12, atol=1e-12)
        return solution.y.T


def absolute(run):
    """Absolute angles and rates of a chain."""
    return np.concatenate([np.cumsum(run.q), np.cumsum(run.qd)])


@pytest.mark.parametrize("precision", ["float32", "float64"])
@INTEGRATORS
def test_small_pendulum(precision, integrator):
    """a0 cos(2 pi t/T), T = 2 pi sqrt(I/(m g L)), I about the pivot; mean error below 1 % of a0 over 3.5 periods."""
    g, radius, start, dt = 10.0, 0.01, 0.05, 1e-3
    period = 2 * np.pi * np.sqrt((1 + 0.4 * radius**2) / g)
    run = Run(pendulum(start, g, radius), dt, precision, integrator=integrator)
    angles = run.record(round(3.5 * period / dt), lambda r: r.q[0])
    t = dt * np.arange(len(angles))
    assert np.abs(angles - start * np.cos(2 * np.pi * t / period)).mean() < 0.01 * start


def test_large_angle_period():
    """T/T0 = (2/pi) K(sin^2(a0/2)); the error is of second order in dt, with that of the crossings far below 0.1 %."""
    dt, g = 1e-3, 9.81
    starts = np.radians([10, 45, 90, 120, 170])
    known = [1.0019072, 1.0399733, 1.1803406, 1.3728805, 2.4393627]
    run = Run(worlds([pendulum(a, g) for a in starts]), dt)
    angles = run.record(12000, lambda r: r.q)
    for world, (start, ratio) in enumerate(zip(starts, known, strict=True)):
        assert 2 / np.pi * ellipk(np.sin(start / 2) ** 2) == pytest.approx(ratio, rel=1e-6)
        period = 2 * np.diff(crossings(angles[:, world], dt)).mean()
        assert period == pytest.approx(ratio * 2 * np.pi / np.sqrt(g), rel=1e-5)
        if world == 2:
            assert period == pytest.approx(2.3678419, rel=1e-5)


@INTEGRATORS
def test_pendulum_energy(integrator):
    """E = I w^2/2 + m g L (1 - cos a) keeps within 0.5 % for 2 s, and all of it is potential at the turning points."""
    g, radius, start, dt = 10.0, 0.01, 1.0, 1e-3
    run = Run(pendulum(start, g, radius), dt, integrator=integrator)
    angle, rate = run.record(2000, lambda r: (r.q[0], r.qd[0])).T
    kinetic = 0.5 * (1 + 0.4 * radius**2) * rate**2
    energy = kinetic + g * (1 - np.cos(angle))
    assert np.abs(energy - energy[0]).max() < 5e-3 * energy[0]
    turns = crossings(rate[1:], dt)
    assert len(turns) >= 1
    for t in turns:
        assert kinetic[1 + round(t / dt)] < 0.01 * energy[0]


def test_double_pendulum():
    """Two point masses from 90 degrees: the error halves with the step, and what is left after
    extrapolation, 2 x(dt/2) - x(dt), agrees with the solution to 1e-11 (table) and with Lagrange's equations."""
    known = {
        0.5: (0.57047205, 1.20387511, -2.78964577, -3.18806275),
        1.0: (-0.6250877, -1.03458509, -3.92227957, -1.30309925),
        2.0: (-0.48297153, -1.32404871, 3.06528819, 2.94927155),
        5.0: (-0.6271867, -1.30131555, 2.12540867, 3.88188873),
    }
    start = np.array([np.pi / 2, np.pi / 2])
    table = np.array(list(known.values()))
    exact = PlanarChain(2, 9.81, 0.0, 1.0).at(start, np.zeros(2), list(known))
    np.testing.assert_allclose(exact, table, atol=1e-7)
    found = []
    for dt in (2e-4, 1e-4):
        run, t0, rows = Run(chain(2, 9.81, start, inertia=0.0, centre=1.0), dt), 0.0, []
        for t in known:
            run.step(round((t - t0) / dt))
            t0 = t
            rows.append(absolute(run))
        found.append(np.array(rows))
    errors = [np.abs(rows - table).max(1) for rows in found]
    np.testing.assert_allclose(errors[0] / errors[1], 2, rtol=0.05)
    assert (errors[1] < [5e-4, 1e-3, 2e-3, 1e-2]).all()
    assert (np.abs(2 * found[1] - found[0] - table).max(1) < [1e-6, 1e-6, 1e-5, 1e-4]).all()


def test_double_pendulum_in_float32():
    """As above to 2 s: rounding stays below the error of the step."""
    wanted, dt = (-0.48297153, -1.32404871, 3.06528819, 2.94927155), 1e-3
    run = Run(chain(2, 9.81, [np.pi / 2] * 2, inertia=0.0, centre=1.0), dt, "float32")
    run.step(2000)
    assert np.abs(absolute(run) - wanted).max() < 2e-2


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_joint_effort(precision):
    """w = tau t/I of a box on a hinge and v = F t/m of a sphere on a slider, to one step's part."""
    dt, steps, effort = 1e-3, 300, 5.0
    builder = sim.ModelBuilder(gravity=0)
    box, ball = builder.add_body(), builder.add_body()
    builder.add_shape_box(box, 0.2, 0.2, 0.2, collides=False)
    builder.add_shape_sphere(ball, 0.1, collides=False)
    builder.add_joint_revolute(-1, box, axis="Z")
    builder.add_joint_prismatic(-1, ball, axis="X")
    run = Run(builder, dt, precision)
    run.control.joint_f[:] = effort
    run.step(steps)
    t, inertia, mass = steps * dt, 64 * 0.4**2 / 6, 1000 * 4 / 3 * np.pi * 0.1**3
    wanted = np.array([effort * t / inertia, effort * t / mass])
    assert (np.abs(run.qd - wanted) < wanted / steps).all()
    assert (np.abs(run.qd - wanted) < wanted * (1e-12 if precision == "float64" else 1e-4)).all()


def test_hinged_rod_dropped_from_horizontal():
    """Uniform rod of 1 m: a = 3 g/(2 L) at release, w = sqrt(3 g/L) at the bottom, m g/4 upwards on the pivot."""
    g, dt = 9.81, 1e-4
    rod = dict(mass=1.0, inertia=(1e-6, 1 / 12, 1 / 12))
    builder = sim.ModelBuilder(gravity=-g)
    body = builder.add_body(**rod)
    builder.add_joint_revolute(-1, body, axis="Y", child_xform=sim.transform((-0.5, 0, 0)))
    run = Run(builder, dt)
    run.step()
    assert run.qd[0] / dt == pytest.approx(14.715, rel=1e-9)
    angle, rate = run.record(round(0.6 / dt), lambda r: (r.q[0], r.qd[0])).T
    bottom = np.flatnonzero(angle < np.pi / 2)[-1]
    assert rate[bottom] == pytest.approx(5.424942, rel=1e-3)

    builder = sim.ModelBuilder(gravity=-g)
    body = builder.add_body(**rod)
    builder.add_joint_d6(-1, body, linear_axes=["X", "Z"], angular_axes=["Y"], child_xform=sim.transform((-0.5, 0, 0)))
    model = builder.finalize(device="cpu", precision="float64")
    reaction = sim.eval_inverse_dynamics(model, model.state(), np.array([0, 0, 1.5 * g]))
    np.testing.assert_allclose(reaction, [0, g / 4, 0], atol=1e-12)


@INTEGRATORS
@pytest.mark.parametrize(("spin", "rate"), [(100.0, 2.01263), (100.0, 77.987), (200.0, 0.98709), (200.0, 159.013)])
def test_heavy_top_precesses_steadily(integrator, spin, rate):
    """Disk of 1 kg on a ball joint: I1 cos(a) W^2 - I3 w3 W + m g l = 0 for the rate W of precession at tilt a.

    The tilt drifts in proportion to dt, by about 100 rad/s2 dt here.
    """
    g, length, radius, tilt, dt = 9.81, 0.1, 0.1, np.pi / 3, 1e-5
    axial, transverse = 0.5 * radius**2, 0.25 * radius**2
    roots = np.roots([(transverse + length**2) * np.cos(tilt), -axial * spin, g * length])
    assert np.abs(roots / rate - 1).min() < 1e-5
    axis = np.array([np.sin(tilt), 0, np.cos(tilt)])
    total = spin * axis + rate * (np.array([0, 0, 1]) - np.cos(tilt) * axis)
    builder = sim.ModelBuilder(gravity=-g)
    disk = builder.add_body(mass=1.0, inertia=(transverse, transverse, axial))
    turn = sim.quat_from_axis_angle((0, 1, 0), tilt)
    builder.add_joint_ball(-1, disk, child_xform=sim.transform((0, 0, -length)), q=turn, qd=total)
    run = Run(builder, dt, integrator=integrator)
    steps = round(min(1.0, 2 * np.pi / rate) / dt)
    every = steps // 50
    axes = [axis]
    for _ in range(50):
        run.step(every)
        axes.append(rotations(run.poses)[0, :, 2])
    axes = np.array(axes)
    azimuth = np.unwrap(np.arctan2(axes[:, 1], axes[:, 0]))
    assert azimuth[-1] / (50 * every * dt) == pytest.approx(rate, rel=1e-2)
    assert np.abs(np.arccos(axes[:, 2]) - tilt).max() < 3e-3


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_heavy_body_on_light_link_stays_in_its_plane(precision):
    """A link of 10 g and a body of 50 kg on ball joints start in a vertical plane: nothing leads out of it."""
    builder = sim.ModelBuilder()
    link = builder.add_body(mass=0.01, inertia=(1e-3, 1e-3, 1e-4))
    heavy = builder.add_body(mass=50.0, inertia=(2.0, 2.0, 2.0))
    plane = 0.7  # of the azimuth of the plane of motion
    normal = np.array([-np.sin(plane), np.cos(plane), 0])
    builder.add_joint_ball(-1, link, child_xform=sim.transform((0, 0, 0.5)), q=sim.quat_from_axis_angle(normal, -0.8))
    builder.add_joint_ball(
        link, heavy, parent_xform=sim.transform((0, 0, -0.5)), child_xform=sim.transform((0, 0, 0.2)),
        q=sim.quat_from_axis_angle(normal, 0.5),
    )  # fmt: skip
    run = Run(builder, 1e-3, precision)
    swing, across = 0.0, 0.0
    for _ in range(500):
        run.step(20)
        centres = run.poses[:, :3]
        across = max(across, np.abs(np.arcsin(centres @ normal / np.linalg.norm(centres, axis=1))).max())
        swing = max(swing, np.linalg.norm(centres[1, :2]))
    assert swing > 0.5
    assert across < 1e-3


def test_planar_chain_for_a_long_time():
    """Five links from a pivot, no gravity: energy and angular momentum about the pivot are constant.

    Their drift and the distance from Lagrange's equations halve with the step.
    """
    angles, rates = np.array([0.3, -0.4, 0.9, 0.2, -1.0]), np.array([0.5, -0.2, 0.8, 1.0, -0.6])
    exact = PlanarChain(5, 0.0, 1 / 12, 0.5).at(angles, rates, [4.0])[0]
    drifts, distances = [], []
    for dt in (1e-3, 5e-4):
        run = Run(chain(5, 0.0, angles, rates), dt)
        energy, momentum = run.body_energy().sum(), run.body_momentum()[1].sum(0)
        worst = np.zeros(2)
        for _ in range(100):
            run.step(round(0.04 / dt))
            change = run.body_energy().sum() / energy - 1, (run.body_momentum()[1].sum(0) - momentum)[1] / momentum[1]
            worst = np.maximum(worst, np.abs(change))
        drifts.append(worst)
        distances.append(np.abs(absolute(run) - exact).max())
    assert (drifts[0] < 1e-2).all()
    np.testing.assert_allclose(drifts[0] / drifts[1], 2, rtol=0.1)
    assert distances[0] < 2e-2
    assert distances[0] / distances[1] == pytest.approx(2, rel=0.1)
