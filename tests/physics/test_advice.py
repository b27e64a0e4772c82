"""The steps that ``advise`` calls safe, against closed forms and runs on either side of them.

Its other warnings, of masses, have their tests with the solver.
"""

import numpy as np
import pytest

import simengine as sim
from tests.physics.physics_run import Run, worlds

G = 9.81


def rod_on_hinge(inertia=1 / 12, **drive):
    builder = sim.ModelBuilder(gravity=0)
    rod = builder.add_body(mass=1.0, inertia=(inertia,) * 3)
    builder.add_joint_revolute(-1, rod, axis="Y", child_xform=sim.transform((0, 0, 0.5)), qd=[1e-6], **drive)
    return builder


def ball_with_spring(stiffness):
    builder = sim.ModelBuilder(gravity=0)
    body = builder.add_body(mass=1.0, inertia=(0.2, 0.2, 0.2))
    builder.add_joint_ball(-1, body, stiffness=stiffness, qd=(1e-6, -1e-6, 2e-6))
    return builder


def safe_step(builder, **options):
    """The smallest step that a warning of a step of 10 s calls safe."""
    model = builder.finalize(device="cpu", precision="float64")
    return min(advice.safe for advice in sim.solvers.Featherstone(model, **options).advise(10.0))


@pytest.mark.filterwarnings("ignore:solvers.Featherstone")
@pytest.mark.parametrize(
    ("builder", "limit"),
    [
        (rod_on_hinge(target_ke=400.0), 2 / np.sqrt(400 * 3)),  # inertia 1/3 about the hinge
        (rod_on_hinge(target_kd=20.0), 2 / (20 * 3)),
        (rod_on_hinge(target_ke=400.0, armature=1.0), 2 / np.sqrt(400 * 3 / 4)),
        (ball_with_spring(500.0), 2 / np.sqrt(500 / 0.2)),
    ],
    ids=["drive", "drive damping", "armature", "ball"],
)
def test_explicit_springs_and_drives(builder, limit):
    """q'' = -w^2 q is stable under semi-implicit Euler while h w < 2, v' = -c v while h c < 2."""
    assert safe_step(builder, integrator="euler") == pytest.approx(limit, rel=1e-9)
    calm, wild = Run(builder, 0.98 * limit, integrator="euler"), Run(builder, 1.02 * limit, integrator="euler")
    calm.step(1000)
    wild.step(100)
    assert np.abs(calm.qd).max() < 2e-5
    assert np.abs(wild.qd).max() > 4e-5
    steady = Run(builder, 100 * limit, integrator="implicit")
    assert steady.solver.advise(100 * limit) == []
    steady.step(100)
    assert np.abs(steady.qd).max() < 1e-6


@pytest.mark.filterwarnings("ignore:solvers.Featherstone")
def test_time_constant_of_a_contact():
    """A sphere rests g (1 - d)(tc z)^2 deep, with tc the one asked for up to dt = tc/2, and 2 dt beyond."""
    tc, ratio, d = 0.01, 0.8, 0.9
    builder = sim.ModelBuilder(gravity=-G)
    builder.default_material = sim.Material(time_constant=tc, damping_ratio=ratio, impedance=(d, d))
    builder.add_shape_sphere(builder.add_body(xform=sim.transform((0, 0, 0.1))), 0.1)
    builder.add_ground_plane()
    assert safe_step(builder) == pytest.approx(tc / 2)
    for dt, acts in ((0.0049, tc), (0.0075, 0.015), (0.01, 0.02)):
        run = Run(builder, dt)
        assert bool(run.solver.advise(dt)) == (dt > tc / 2)
        run.step(1500)
        assert 0.1 - run.poses[0, 2] == pytest.approx(G * (1 - d) * (acts * ratio) ** 2, rel=1e-3)


@pytest.mark.filterwarnings("ignore:solvers.Featherstone")
def test_time_constant_of_a_limit():
    """A slider that its weight presses on its limit passes it by g (1 - d)(tc z)^2, as a contact."""
    tc, ratio, d = 0.01, 0.8, 0.9
    builder = sim.ModelBuilder(gravity=-G)
    body = builder.add_body(mass=3.0, inertia=(0.1,) * 3)
    builder.add_joint_prismatic(
        -1, body, axis="Z", limit_lower=-0.02, limit_reference=(tc, ratio), limit_impedance=(d, d)
    )
    assert safe_step(builder) == pytest.approx(tc / 2)
    for dt, acts in ((0.0049, tc), (0.0075, 0.015), (0.01, 0.02)):
        run = Run(builder, dt)
        assert bool(run.solver.advise(dt)) == (dt > tc / 2)
        run.step(1500)
        assert -0.02 - run.q[0] == pytest.approx(G * (1 - d) * (acts * ratio) ** 2, rel=1e-3)


def test_nothing_is_advised_of_what_resolves():
    """Defaults at 1 ms, and stiff drives with the implicit integrator, draw no warning."""
    quiet = worlds([rod_on_hinge(target_ke=1e6, target_kd=1e3), ball_with_spring(1e6)])
    quiet.add_ground_plane()
    model = quiet.finalize(device="cpu", precision="float64")
    assert sim.solvers.Featherstone(model).advise(1e-3) == []
