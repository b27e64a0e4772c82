"""Restitution: an approach faster than the threshold leaves with e times its speed, to 1e-4 of it."""

import numpy as np
import pytest

import simengine as sim
from tests.physics.physics_run import Run, worlds


def dropped_ball(restitution, gravity, height=1.0, radius=0.05):
    material = sim.Material(restitution=restitution)
    builder = sim.ModelBuilder(gravity=-gravity)
    builder.add_shape_sphere(builder.add_body(xform=sim.transform((0, 0, height + radius))), radius, material=material)
    builder.add_ground_plane(material=material)
    return builder


def ball(builder, mass, place, velocity=(0, 0, 0), radius=0.1):
    body = builder.add_body(
        mass=mass, inertia=(0.4 * mass * radius**2,) * 3, xform=sim.transform(place), velocity=(*velocity, 0, 0, 0)
    )
    builder.add_shape_sphere(body, radius, material=sim.Material(restitution=1.0, friction=0.0))


def test_rebound_height():
    """A ball dropped from h rises to e^2 h. The step of the impact is off by at most v dt of 1 m: 0.5 %."""
    g, dt = 10.0, 1e-3
    run = Run(worlds([dropped_ball(0.5, g), dropped_ball(0.8, g)]), dt)
    heights = run.record(1200, lambda r: r.poses[:, 2]) - 0.05
    tops = [heights[np.argmin(column[:600]) :, world].max() for world, column in enumerate(heights.T)]
    np.testing.assert_allclose(tops, [0.25, 0.64], rtol=1e-2)
    assert tops[1] / tops[0] == pytest.approx(2.56, rel=1e-2)


@pytest.mark.parametrize("time_constant", [0.02, 0.01])
def test_rebound_of_a_soft_contact_without_restitution(time_constant):
    """x'' = -2 w x' - w^2 x from x = 0 pushes until x'' = 0, at w t = 2, where x' = -e^-2 x'(0), for any w."""
    builder = sim.ModelBuilder(gravity=0)
    builder.default_material = sim.Material(time_constant=time_constant, impedance=(0.9, 0.9))
    builder.add_shape_sphere(builder.add_body(xform=sim.transform((0, 0, 0.1)), velocity=(0, 0, -4, 0, 0, 0)), 0.1)
    builder.add_ground_plane()
    run = Run(builder, 1e-4)
    run.step(1000)
    assert run.velocities[0, 2] == pytest.approx(4 * np.exp(-2), rel=0.01)


def test_slow_approach_does_not_bounce():
    """Below the restitution speed the contact is inelastic: a ball of e = 1 stays where it is put down."""
    run = Run(dropped_ball(1.0, 10.0, height=1e-4), 1e-3)
    heights = run.record(1000, lambda r: r.poses[0, 2])
    assert heights.max() <= 0.05 + 1e-4
    assert np.ptp(heights[-100:]) < 1e-7


def test_equal_masses_swap_their_speeds():
    """m v = m v1 + m v2 and v^2 = v1^2 + v2^2 give v1 = 0, v2 = v."""
    builder = sim.ModelBuilder(gravity=0)
    ball(builder, 1.0, (-0.205, 0, 0), (1, 0, 0))
    ball(builder, 1.0, (0, 0, 0))
    run = Run(builder, 1e-3)
    run.step(50)
    np.testing.assert_allclose(run.velocities[:, 0], [0, 1], atol=2e-4)
    np.testing.assert_allclose(run.velocities[:, 0].sum(), 1, rtol=1e-12)


@pytest.mark.parametrize("restitution", [0.25, 0.5, 1.0])
def test_unequal_masses(restitution):
    """v1 = (m1 - e m2)/(m1 + m2) v, v2 = (1 + e) m1/(m1 + m2) v."""
    m1, m2 = 3.0, 1.0
    builder = sim.ModelBuilder(gravity=0)
    ball(builder, m1, (-0.205, 0, 0), (1, 0, 0))
    ball(builder, m2, (0, 0, 0))
    for shape in builder.shapes:
        shape.material = sim.Material(restitution=restitution, friction=0.0)
    run = Run(builder, 1e-3)
    run.step(50)
    wanted = np.array([m1 - restitution * m2, (1 + restitution) * m1]) / (m1 + m2)
    np.testing.assert_allclose(run.velocities[:, 0], wanted, atol=2e-4)


def test_light_ball_on_heavy_ball():
    """Dropped together from h with e = 1, masses 1 to 1e4: the heavy one bounces first, the light one leaves at 3 v."""
    g, height, gap, dt = 10.0, 1.0, 1e-3, 1e-4
    builder = sim.ModelBuilder(gravity=-g)
    ball(builder, 1e4, (0, 0, height + 0.1))
    ball(builder, 1.0, (0, 0, height + 0.3 + gap))
    builder.add_ground_plane(material=sim.Material(restitution=1.0, friction=0.0))
    run = Run(builder, dt)
    speeds, places = np.moveaxis(run.record(6000, lambda r: (r.velocities[:, 2], r.poses[:, 2])), 1, 0)
    impact = np.sqrt(2 * g * height)
    assert speeds[:, 1].max() == pytest.approx(3 * impact, rel=1e-2)
    rise = speeds[-1, 1] ** 2 / (2 * g) + places[-1, 1] - (0.3 + gap)
    assert rise == pytest.approx(9 * height, rel=1e-2)


FORMS = {"impedance": {}, "stiffness": {"stiffness": 1e5}}


@pytest.mark.parametrize("cone", ["elliptic", "pyramidal"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("friction", [1.0, 0.1])
@pytest.mark.parametrize("dt", [1 / 240, 1e-3, 1e-4])
def test_an_oblique_bounce_takes_the_impulse_of_coulombs_law(dt, friction, form, cone):
    """A ball of r and I = 2/5 m r2 meets the ground with v = (3, 0, -3): friction takes J = min(mu (1 + e) 3, 2/7 3)
    of its velocity, what ends the slip, and spins it by 5/2 J/r. It meets up to 3 dt deep, which shortens its lever."""
    radius, restitution, speed = 0.1, 0.8, 3.0
    material = sim.Material(friction=friction, restitution=restitution, **FORMS[form])
    builder = sim.ModelBuilder(gravity=0)
    builder.default_material = material
    start = sim.transform((0, 0, radius + 0.5 * speed * dt))
    builder.add_shape_sphere(builder.add_body(xform=start, velocity=(speed, 0, -speed, 0, 0, 0)), radius)
    builder.add_ground_plane()
    run = Run(builder, dt, cone=cone)
    run.step(5)
    taken = min(friction * (1 + restitution) * speed, speed * 2 / 7)
    depth, soft = speed * dt, 1e-2 if cone == "pyramidal" else 1e-3  # m/s, of rows that yield
    np.testing.assert_allclose(run.velocities[0, 0], speed - taken, atol=soft + 12 * depth)
    np.testing.assert_allclose(run.velocities[0, 2], restitution * speed, atol=1e-3)
    np.testing.assert_allclose(run.velocities[0, 4], 2.5 * taken / radius, atol=25 * soft + 70 * depth)
    assert np.abs(run.velocities[0, [1, 3, 5]]).max() < 1e-9


@pytest.mark.parametrize("friction", [0.05, 0.3, 2.0])
def test_spinning_balls_that_meet_off_centre(friction):
    """Impulses of two rigid balls along the normal, (1 + e) v_n / (1/m1 + 1/m2), and against the slip u of their
    surfaces, the lesser of mu times that and what ends it, |u| / (7/2 (1/m1 + 1/m2))."""
    rng, radius, dt, restitution = np.random.default_rng(3), 0.1, 1e-5, 0.7
    masses, templates, wanted = np.array([2.0, 0.5]), [], []
    for _ in range(20):
        n = rng.normal(size=3)
        n /= np.linalg.norm(n)
        v, w = rng.normal(size=(2, 3)), 5 * rng.normal(size=(2, 3))
        v += np.outer([1, -1], 2 * n)
        builder = sim.ModelBuilder(gravity=0)
        for place, mass, velocity, spin in zip((-radius * n, (radius - 1e-7) * n), masses, v, w, strict=True):
            inertia = (0.4 * mass * radius**2,) * 3
            body = builder.add_body(mass=mass, inertia=inertia, xform=sim.transform(place), velocity=(*velocity, *spin))
            builder.add_shape_sphere(body, radius, material=sim.Material(friction=friction, restitution=restitution))
        templates.append(builder)
        approach = n @ (v[1] - v[0])
        slip = (v[1] + np.cross(w[1], -radius * n)) - (v[0] + np.cross(w[0], radius * n))
        slip -= (n @ slip) * n
        yields, size = (1 / masses).sum(), np.linalg.norm(slip)
        normal = -(1 + restitution) * approach / yields
        impulse = normal * n - min(friction * normal, size / (3.5 * yields)) * slip / size
        turn = np.array([np.cross(radius * n, -impulse), np.cross(-radius * n, impulse)])
        wanted.append(
            np.hstack([v + np.outer([-1, 1] / masses, impulse), w + turn / (0.4 * masses * radius**2)[:, None]])
        )
    run = Run(worlds(templates), dt)
    before = run.body_energy().reshape(-1, 2).sum(1)
    run.step(2)
    np.testing.assert_allclose(run.velocities, np.concatenate(wanted), atol=2e-2)
    assert (run.body_energy().reshape(-1, 2).sum(1) < before).all()


@pytest.mark.parametrize("frictions", [(1.0, 0.3), (0.3, 1.0)])
def test_a_bounce_with_a_friction_for_each_tangent(frictions):
    """A ball of (10, 0, -3) or (0, 10, -3) that slips to the end loses mu (1 + e) 3 by the friction of that way."""
    dt, restitution, left = 1e-4, 0.8, []
    for way in (0, 1):
        velocity = [0.0, 0, -3, 0, 0, 0]
        velocity[way] = 10.0
        builder = sim.ModelBuilder(gravity=0)
        builder.default_material = sim.Material(restitution=restitution)
        body = builder.add_body(xform=sim.transform((0, 0, 0.1 + 1.5 * dt)), velocity=velocity)
        ball, ground = builder.add_shape_sphere(body, 0.1), builder.add_ground_plane()
        builder.add_contact_pair(ball, ground, friction=(*frictions, 0, 0, 0), contact_dim=3)
        run = Run(builder, dt)
        run.step(5)
        left.append(run.velocities[0, way])
    # friction 1 would take 5.4 of 10, more than the 2/7 that end the slip
    wanted = [10 - min(mu * (1 + restitution) * 3, 10 * 2 / 7) for mu in frictions]
    np.testing.assert_allclose(sorted(left), sorted(wanted), atol=1e-2)
    assert left[0] > left[1] if frictions == (1.0, 0.3) else left[0] < left[1]


@pytest.mark.parametrize("friction", [0.2, 1.0])
def test_a_wheel_on_a_hinge_that_is_struck_through_its_centre(friction, precision):
    """Nothing yields along the normal; the rim takes the speed of what rubs on it, 1 m/s, at 0.1 m."""
    builder = sim.ModelBuilder(gravity=0)
    builder.default_material = sim.Material(friction=friction, restitution=0.8)
    wheel = builder.add_body()
    builder.add_shape_sphere(wheel, 0.1)
    builder.add_joint_revolute(-1, wheel, axis="Y")
    striker = builder.add_body(kinematic=True, xform=sim.transform((-0.1995, 0, 0)), velocity=(1, 0, 1, 0, 0, 0))
    builder.add_shape_sphere(striker, 0.1)
    run = Run(builder, 1e-3, precision)
    run.control.kinematic_q[striker] = sim.transform((-0.1985, 0, 1e-3))
    run.step(1)
    assert np.abs(run.velocities[0, [0, 1, 2, 3, 5]]).max() < 1e-6
    assert run.velocities[0, 4] == pytest.approx(10, abs=0.1)
