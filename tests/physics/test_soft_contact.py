"""Compliance and contact forces at rest, and a body that tumbles down a slope."""

import numpy as np
import pytest

import simengine as sim
from tests.physics.physics_run import Run, worlds

G = 9.81


def resting_sphere(slide=True, **material):
    """A sphere that touches the ground, free or on a vertical slider."""
    builder = sim.ModelBuilder(gravity=-G)
    builder.default_material = sim.Material(friction=0.0, **material)
    body = builder.add_body(xform=sim.transform((0, 0, 0.1)))
    builder.add_shape_sphere(body, 0.1)
    if slide:
        builder.add_joint_prismatic(-1, body, axis="Z", parent_xform=sim.transform((0, 0, 0.1)))
    builder.add_ground_plane()
    return builder


@pytest.mark.parametrize("slide", [False, True], ids=["free", "slider"])
@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_rest_depth_of_an_impedance(precision, slide):
    """R f = (1 - d)/d f/m and K d r with K = 1/(d tc z)^2 balance at r = g (1 - d) (tc z)^2."""
    cases = [(d, tc, z) for d in (0.3, 0.9, 0.99) for tc, z in ((0.02, 1.0), (0.05, 0.7))]
    materials = [dict(time_constant=tc, damping_ratio=z, impedance=(d, d)) for d, tc, z in cases]
    run = Run(worlds([resting_sphere(slide, **material) for material in materials]), 2e-3, precision)
    run.step(2000)
    wanted = [G * (1 - d) * (tc * z) ** 2 for d, tc, z in cases]
    np.testing.assert_allclose(0.1 - run.poses[:, 2], wanted, rtol=1e-3)


def test_rest_depth_under_a_load():
    """R f = (1 - d)/d f/m holds for f = (n + 1) m g: under n times its weight a body rests n + 1 times as deep."""
    run = Run(worlds([resting_sphere(time_constant=0.01, impedance=(0.9, 0.9))] * 3), 2e-3)
    loads = np.array([0.0, 10.0, 100.0])
    run.control.body_f[:, 2] = -loads * run.model.body_mass * G
    run.step(2000)
    np.testing.assert_allclose(0.1 - run.poses[:, 2], (loads + 1) * G * 0.1 * 0.01**2, rtol=1e-3)


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_rest_depth_of_a_stiffness(precision):
    """Two springs k in series carry m g at r = 2 m g/k, whatever the step and the joint."""
    mass, stiffnesses = 1000 * 4 / 3 * np.pi * 0.1**3, (1e4, 1e5, 1e6)
    for dt in (1e-3, 5e-3):
        cases = [resting_sphere(slide, stiffness=k, dissipation=10.0) for k in stiffnesses for slide in (False, True)]
        run = Run(worlds(cases), dt, precision)
        run.step(2000)
        wanted = np.repeat([2 * mass * G / k for k in stiffnesses], 2)
        np.testing.assert_allclose(0.1 - run.poses[:, 2], wanted, rtol=1e-3)


def contact_sums(run):
    """Normal force between each pair of bodies (-1: the ground) of a world, in N."""
    body = sim.to_numpy(run.model.shape_body)
    sums = {}
    for i in range(int(run.contacts.count[0])):
        pair = tuple(sorted((int(body[run.contacts.shape0[i]]), int(body[run.contacts.shape1[i]]))))
        sums[pair] = sums.get(pair, 0.0) + float(run.contacts.force[i] @ run.contacts.normal[i])
    return sums, int(run.contacts.count[0])


@pytest.mark.parametrize("integrator", ["implicit", "euler"])
def test_contact_forces_carry_the_weight(integrator):
    """The normal forces of a body at rest sum to m g, over however many contacts."""
    for shape, height, mass, contacts in (
        (lambda b, x: b.add_shape_sphere(x, 0.25), 0.25, 1000 * 4 / 3 * np.pi * 0.25**3, 1),
        (lambda b, x: b.add_shape_sphere(x, 0.5, density=2000), 0.5, 2000 * 4 / 3 * np.pi * 0.5**3, 1),
        (lambda b, x: b.add_shape_box(x, 0.5, 0.5, 0.5), 0.5, 1000.0, 4),
    ):
        builder = sim.ModelBuilder(gravity=-G)
        shape(builder, builder.add_body(xform=sim.transform((0, 0, height))))
        builder.add_ground_plane()
        run = Run(builder, 1e-3, contacts=True, integrator=integrator)
        run.step(2000)
        sums, count = contact_sums(run)
        assert count == contacts
        assert sums[-1, 0] == pytest.approx(mass * G, rel=1e-6)


def test_pyramid_of_three_cubes():
    """Two cubes carry half of the third each: 1.5 m g on the ground below each, 0.5 m g between."""
    builder = sim.ModelBuilder(gravity=-G)
    for place in ((-0.55, 0, 0.5), (0.55, 0, 0.5), (0, 0, 1.5)):
        builder.add_shape_box(builder.add_body(xform=sim.transform(place)), 0.5, 0.5, 0.5)
    builder.add_ground_plane()
    run = Run(builder, 1e-3, contacts=True)
    run.step(3000)
    sums, _ = contact_sums(run)
    weight = 1000 * G
    wanted = {(-1, 0): 1.5, (-1, 1): 1.5, (0, 2): 0.5, (1, 2): 0.5}
    assert set(sums) == set(wanted)
    for pair, share in wanted.items():
        assert sums[pair] == pytest.approx(share * weight, rel=2e-3)


def test_tumbling_ellipsoid_on_a_slope():
    """Spun at 30 rad/s above a slope of 15 degrees, for 10 s: |v| stays below twice its start, in contact or not."""
    builder = sim.ModelBuilder(gravity=-G)
    body = builder.add_body(mass=1.0, xform=sim.transform((0, 0, 0.2)), velocity=(0, 0, 0, 30, 0, 0))
    builder.add_shape_ellipsoid(body, 0.05, 0.1, 0.15)
    builder.add_shape_plane(-1, xform=sim.transform(q=sim.quat_from_axis_angle((0, 1, 0), np.radians(15))))
    run = Run(builder, 2e-3, contacts=True, integrator="implicit")
    speeds, touching = np.moveaxis(
        run.record(5000, lambda r: (np.linalg.norm(r.velocities[0]), r.contacts.count[0] > 0)), 1, 0
    )
    assert speeds.max() < 2 * speeds[0]
    assert touching.sum() > 1000
