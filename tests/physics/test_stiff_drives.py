"""Drives far stiffer than the step resolves: 5e5 N/m on 1 kg, 3.5 rad a step at 5 ms, with the implicit integrator."""

import numpy as np
import pytest

import simengine as sim
from tests.physics.physics_run import Run, worlds

MASS, KP, DT = 1.0, 5e5, 5e-3
CRITICAL = 2 * np.sqrt(KP * MASS)


def slider(kd, limit=np.inf, gravity=0.0, target=0.1):
    builder = sim.ModelBuilder(gravity=-gravity)
    body = builder.add_body(mass=MASS, inertia=(0.01,) * 3)
    builder.add_joint_prismatic(-1, body, axis="Z", target_ke=KP, target_kd=kd, target_pos=target, effort_limit=limit)
    return builder


def implicit_euler(kd, limit, gravity, target, steps):
    """Positions and efforts of m a = f - m g, f = -kp (x+ - target) - kd v+ kept within +-limit, step by step."""
    x = v = 0.0
    rows = []
    for _ in range(steps):
        pull = -KP * (x + DT * v - target) - kd * v  # the effort of no acceleration; it falls by `slope` for each unit
        slope = DT * kd + DT**2 * KP
        effort = np.clip(pull - slope * (pull - MASS * gravity) / (MASS + slope), -limit, limit)
        v += DT * (effort / MASS - gravity)
        x += DT * v
        rows.append((x, effort))
    return np.array(rows)


def drive(run):
    return run.q, sim.to_numpy(run.solver.joint_drive_force).astype(float)


@pytest.mark.parametrize(("precision", "tolerance"), [("float32", 1e-5), ("float64", 1e-9)])
def test_stiff_drive_is_stable_and_monotone(precision, tolerance):
    """Critically damped it nears its target in every step and never passes it."""
    run = Run(slider(CRITICAL), DT, precision)
    error = 0.1 - run.record(200, lambda r: r.q[0])
    assert (np.diff(error) <= 1e-7).all()
    assert error[1] < error[0] and error.min() > -tolerance
    assert abs(error[-1]) < tolerance
    wanted = implicit_euler(CRITICAL, np.inf, 0.0, 0.1, 200)[:, 0]
    np.testing.assert_allclose(0.1 - error[1:], wanted, atol=tolerance)


def test_stiff_spring_without_damping_decays():
    """Implicit Euler shrinks x' = v, v' = -k x by 1/sqrt(1 + h^2 k/m) a step."""
    run = Run(slider(0.0), DT)
    wanted = implicit_euler(0.0, np.inf, 0.0, 0.1, 50)[:, 0]
    np.testing.assert_allclose(run.record(50, lambda r: r.q[0])[1:], wanted, atol=1e-12)
    assert abs(run.q[0] - 0.1) <= 0.1 * (1 + DT**2 * KP / MASS) ** -24.5


def test_explicit_drive_of_that_stiffness_diverges():
    """h sqrt(k/m) = 3.5 is beyond 2, the limit of semi-implicit Euler."""
    run = Run(slider(0.0), DT, integrator="euler")
    with pytest.warns(UserWarning, match="unstable"):
        run.step(20)
    assert abs(run.q[0]) > 1e6


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_effort_limit_is_reached_exactly(precision):
    """Far from its target the drive gives its limit to the last bit and the mass m v = limit t, either way."""
    limits, steps = (50.0, 1000.0), 10
    builders = [slider(CRITICAL, limit, target=sign * 20) for limit in limits for sign in (1, -1)]
    run = Run(worlds(builders), DT, precision, outputs="joint_drive_force")
    wanted = np.array([sign * limit for limit in limits for sign in (1, -1)])
    for k in range(1, steps + 1):
        run.step()
        assert (drive(run)[1] == wanted).all()
        np.testing.assert_allclose(run.qd, wanted * k * DT / MASS, rtol=1e-12 if precision == "float64" else 2e-6)


def test_limited_drive_follows_implicit_euler():
    """In and out of saturation, over- and undershooting: the trajectory is that of the scalar equation."""
    cases = [(kd, limit, g) for kd in (0.0, 30.0, CRITICAL) for limit in (15.0, 200.0, 5e4) for g in (0.0, 9.81)]
    run = Run(
        worlds([slider(kd, limit, g) for kd, limit, g in cases]), DT, outputs="joint_drive_force", tolerance=1e-13
    )
    rows = run.record(100, drive)[1:]
    saturated = 0
    for world, (kd, limit, gravity) in enumerate(cases):
        wanted = implicit_euler(kd, limit, gravity, 0.1, 100)
        np.testing.assert_allclose(rows[:, 0, world], wanted[:, 0], atol=1e-8)
        assert (np.abs(rows[:, 1, world]) <= limit).all()
        full = np.abs(wanted[:, 1]) == limit
        saturated += full.sum()
        assert (np.abs(rows[full, 1, world]) == limit).all()
    assert 100 < saturated < 1700


def test_drive_too_weak_for_the_load():
    """A drive of 5 N under 9.81 N of weight gives way at g - 5 N/m; one of 20 N holds, m g/kp below its target."""
    run = Run(worlds([slider(CRITICAL, limit, 9.81, target=0.0) for limit in (5.0, 20.0)]), DT)
    run.step(100)
    assert run.qd[0] == pytest.approx(-(9.81 - 5.0) * 100 * DT, rel=1e-9)
    assert run.q[1] == pytest.approx(-MASS * 9.81 / KP, rel=1e-6)
