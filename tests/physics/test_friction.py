"""Coulomb friction of boxes and balls: what holds, what slides and how fast, what rolls and what tips.

Contacts have a stiffness in N/m unless said otherwise: their friction then gives way by far less than the default
material's, whose contacts creep and reach the sliding friction over its time constant of 20 ms. The friction law is
convex, so a contact that slides at v is lifted by dt mu v (A. Castro et al., "An Unconstrained Convex Formulation of
Compliant Contact", 2022, section on gliding); where that is more than it is pressed in by its load, it hops. The
stiffness is chosen such that it is not.
"""

import numpy as np
import pytest

import simengine as sim
from tests.physics.physics_run import Run, rotations, worlds

G = 9.81
STIFF = {"stiffness": 1e5, "dissipation": 1.0}


def on_slope(degrees, friction, half, **material):
    """A box that lies on a plane, seen along the slope: gravity leans to +x."""
    angle = np.radians(degrees)
    builder = sim.ModelBuilder(gravity=(G * np.sin(angle), 0, -G * np.cos(angle)))
    builder.default_material = sim.Material(friction=friction, **material)
    body = builder.add_body(xform=sim.transform((0, 0, half[2])))
    builder.add_shape_box(body, *half)
    builder.add_ground_plane()
    return builder


@pytest.mark.parametrize("material", [{}, STIFF], ids=["default", "stiff"])
def test_incline_grid(material):
    """Below atan(mu) - 2 degrees a flat box holds, above atan(mu) + 2 degrees it slides by at least 2 cm in 0.25 s."""
    cases = [(mu, degrees) for mu in (0.1, 0.3, 0.5, 0.7, 1.0) for degrees in (3, 10, 20, 30, 40)]
    run = Run(worlds([on_slope(degrees, mu, (0.2, 0.2, 0.05), **material) for mu, degrees in cases]), 1 / 1800)
    run.step(900)
    before = run.poses[:, 0]
    run.step(450)
    moved, speed = run.poses[:, 0] - before, run.velocities[:, 0]
    limit = np.array([np.degrees(np.arctan(mu)) for mu, _ in cases])
    degrees = np.array([d for _, d in cases])
    holds, slides = degrees < limit - 2, degrees > limit + 2
    assert holds.sum() + slides.sum() >= 24
    assert (np.abs(speed[holds]) < 0.1).all() and (np.abs(moved[holds]) < 0.02).all()
    assert (moved[slides] >= 0.02).all()


def test_kinetic_slide():
    """a = g (sin - mu cos) = 2.356287 at 30 degrees and mu 0.3."""
    dt = 1e-3
    run = Run(on_slope(30, 0.3, (0.2, 0.2, 0.05), **STIFF), dt)
    run.step(500)
    before = run.velocities[0, 0]
    run.step(500)
    assert (run.velocities[0, 0] - before) / (500 * dt) == pytest.approx(2.356287, rel=1e-3)


@pytest.mark.parametrize("friction", [0.5, 0.49])
def test_knife_edge_slope(friction):
    """On a slope of tan 0.5 a cube of mu 0.5 holds and one of 0.49 slides at g (sin - mu cos) = 0.0877.

    At the edge itself nothing stops a cube that once moves: it settles with more friction first.
    """
    g, dt, angle = 9.8, 0.025, np.arctan(0.5)
    builder = on_slope(np.degrees(angle), 1.0, (0.5, 0.5, 0.5), stiffness=1e6, dissipation=1.0)
    builder.gravity = (g * np.sin(angle), 0, -g * np.cos(angle))
    run = Run(builder, dt)
    run.step(200)
    run.model.shape_friction[:] = friction
    run.model.shape_static_friction[:] = friction
    place = run.poses[0, 0]
    run.step(80)
    t, moved = 80 * dt, run.poses[0, 0] - place
    if friction == 0.5:
        assert abs(moved) < 1e-3 and abs(run.velocities[0, 0]) < 1e-3
    else:
        assert run.velocities[0, 0] / t == pytest.approx(0.0877, rel=0.05)


@pytest.mark.parametrize("degrees", [0, 45])
def test_stopping_distance(degrees):
    """d = v0^2/(2 mu g), in every direction of the plane alike; then the box rests. The material is the default."""
    heading = np.array([np.cos(np.radians(degrees)), np.sin(np.radians(degrees))])

    def sliding_box(friction):
        builder = sim.ModelBuilder()
        builder.default_material = sim.Material(friction=friction)
        body = builder.add_body(xform=sim.transform((0, 0, 0.25)), velocity=(*(2 * heading), 0, 0, 0, 0))
        builder.add_shape_box(body, 0.25, 0.25, 0.25)
        builder.add_ground_plane()
        return builder

    run = Run(worlds([sliding_box(mu) for mu in (0.2, 0.4, 0.7)]), 1e-3)
    run.step(2000)
    np.testing.assert_allclose(run.poses[:, :2] @ heading, [1.019368, 0.509684, 0.291248], rtol=5e-3)
    assert np.abs(run.poses[:, :2] @ [-heading[1], heading[0]]).max() < 5e-3
    assert np.linalg.norm(run.velocities[:, :3], axis=1).max() < 1e-6


def test_pyramid_stops_late_on_its_diagonal():
    """A four-sided pyramid grips by mu (|cos| + |sin|)^-1 at 45 degrees: the way is sqrt(2) times as long."""
    ways = {}
    for cone in ("elliptic", "pyramidal"):
        builder = sim.ModelBuilder()
        builder.default_material = sim.Material(friction=0.4)
        body = builder.add_body(xform=sim.transform((0, 0, 0.25)), velocity=(np.sqrt(2), np.sqrt(2), 0, 0, 0, 0))
        builder.add_shape_box(body, 0.25, 0.25, 0.25)
        builder.add_ground_plane()
        run = Run(builder, 1e-3, cone=cone)
        run.step(2000)
        ways[cone] = np.linalg.norm(run.poses[0, :2])
    assert ways["pyramidal"] / ways["elliptic"] == pytest.approx(np.sqrt(2), rel=1e-2)


def pushed_box(half):
    builder = sim.ModelBuilder()
    builder.default_material = sim.Material(friction=0.3, static_friction=0.5)
    body = builder.add_body(xform=sim.transform((0, 0, half[2] - 1e-5)))
    builder.add_shape_box(body, *half)
    builder.add_ground_plane()
    return builder


def push(run, share, seconds=2.0):
    """Push body 0 along x, rising to ``share`` of its weight halfway; its speed at the end."""
    steps, weight = round(seconds / run.dt), float(run.model.body_mass[0]) * G
    for k in range(steps):
        run.control.body_f[0, 0] = share * weight * min(1.0, 2 * k / steps)
        run.step()
    return run.velocities[0, 0]


def test_pushed_body_rises_within_a_pyramid():
    """Of the edges' residuals x_n +- mu x_t one alone pushes beyond half the limit: with f = p mu N the depth is
    2 (1 - p) of that at rest. It is the pyramid, not a loss of friction: the box holds up to its static friction."""
    depths = {}
    for share in (0.0, 0.35, 0.4, 0.45, 0.48):
        run = Run(pushed_box((0.2, 0.2, 0.02)), 1e-3, cone="pyramidal")
        assert push(run, share) < 0.005
        depths[share] = 0.02 - run.poses[0, 2]
    at_rest = depths.pop(0.0)
    rise = np.array([depth / at_rest for depth in depths.values()])
    np.testing.assert_allclose(rise, [2 * (1 - share / 0.5) for share in depths], rtol=0.02, atol=2e-3)
    assert push(Run(pushed_box((0.2, 0.2, 0.02)), 1e-3, cone="pyramidal"), 0.6) > 0.5


@pytest.mark.parametrize(
    "options, holds",
    [
        ({"cone": "elliptic"}, True),
        ({"cone": "pyramidal"}, False),
        ({"cone": "pyramidal", "stiction_speed": 0.02}, True),
    ],
    ids=["elliptic", "pyramidal", "pyramidal, higher stiction speed"],
)
def test_tall_box_hops_within_a_pyramid_and_loses_its_stiction(options, holds):
    speed = push(Run(pushed_box((0.1, 0.1, 0.1)), 1e-3, **options), 0.46)
    assert speed < 0.01 if holds else speed > 0.1


def test_slip_to_roll():
    """A ball that slides starts to roll: v = 5/7 v0 for any mu, after t = 2 v0/(7 mu g), x = 12 v0^2/(49 mu g)."""
    cases = {(0.2, 1.0): (0.145624, 0.124821), (0.5, 2.0): (0.116499, 0.199713)}
    radius, dt, material = 0.1, 1e-4, {"stiffness": 1e6, "dissipation": 1.0}

    def sliding_ball(friction, speed):
        builder = sim.ModelBuilder()
        builder.default_material = sim.Material(friction=friction, **material)
        body = builder.add_body(xform=sim.transform((0, 0, radius)), velocity=(speed, 0, 0, 0, 0, 0))
        builder.add_shape_sphere(body, radius)
        builder.add_ground_plane()
        return builder

    run = Run(worlds([sliding_ball(*case) for case in cases]), dt)
    rows = run.record(4000, lambda r: (r.velocities[:, 0], radius * r.velocities[:, 4], r.poses[:, 0]))
    speed, surface, place = np.moveaxis(rows, 1, 0)
    for world, ((_, start), (time, distance)) in enumerate(cases.items()):
        rolls = np.argmax(speed[:, world] - surface[:, world] < 1e-3 * start)
        assert rolls * dt == pytest.approx(time, rel=1e-2)
        assert place[rolls, world] == pytest.approx(distance, rel=1e-2)
        assert speed[-1, world] == pytest.approx(5 / 7 * start, rel=1e-3)


def test_block_tips_or_slides():
    """Half width over half height 0.3: it tips beyond atan 0.3 if mu is larger, else slides beyond atan mu."""
    half = (0.15, 0.3, 0.5)
    tip, slip = np.degrees(np.arctan(0.3)), np.degrees(np.arctan(0.2))
    cases = [(tip - 1, 1.0), (tip + 1, 1.0), (slip - 1, 0.2), (slip + 1, 0.2), (tip + 1, 0.2)]
    run = Run(worlds([on_slope(degrees, mu, half) for degrees, mu in cases]), 1e-3)
    run.step(2000)
    lean = np.degrees(np.arccos(np.clip(rotations(run.poses)[:, 2, 2], -1, 1)))
    moved = run.poses[:, 0]
    assert lean[1] > 45
    assert (np.delete(lean, 1) < 1).all()
    assert (moved[[0, 2]] < 0.01).all()
    assert (moved[[3, 4]] > 0.2).all()


def test_balls_roll_on_a_driven_box():
    """25 balls on a box that is pushed askew over a floor: box and balls move along the push, M a = F - mu N - 25 f.

    A ball of mass m rolls: the friction f = 0.211 N on it moves it by f/m and its surface by 3.5 f/m, which is the
    acceleration a = 0.7385 of the box; the floor resists by mu N = 137.34 N.
    """
    push, floor, balls, t, dt = 150.0, 0.4 * 35 * G, 25, 4.0, 1e-3
    box_acceleration = (push - floor) / (10 + balls / 3.5)
    assert [box_acceleration, box_acceleration / 3.5] == pytest.approx([0.7385, 0.211], rel=1e-3)
    heading = np.array([0.5, np.sqrt(0.75)])
    wood, rubber = (sim.Material(friction=mu, stiffness=1e5, dissipation=10.0) for mu in (0.4, 1.2))
    builder = sim.ModelBuilder()
    box = builder.add_body(mass=10.0, xform=sim.transform((0, 0, 0.5)))
    builder.add_shape_box(box, 10, 10, 0.5, material=wood)
    builder.add_ground_plane(material=wood)
    for x in (-4, -2, 0, 2, 4):
        for y in (-4, -2, 0, 2, 4):
            ball = builder.add_body(mass=1.0, xform=sim.transform((x, y, 1.5)))
            builder.add_shape_sphere(ball, 0.5, material=rubber)  # friction of the pair: 0.8
    run = Run(builder, dt)
    run.control.body_f[0, :2] = push * heading
    run.step(round(t / dt))
    wanted = np.outer([box_acceleration * t] + [box_acceleration / 3.5 * t] * balls, heading)
    np.testing.assert_allclose(np.linalg.norm(wanted[:2], axis=1), [2.954, 0.844], atol=5e-4)
    assert np.sqrt(((run.velocities[:, :2] - wanted) ** 2).sum(1).mean()) < 1e-3


def test_ball_rolls_down_a_slope():
    """A ball that does not slip takes a = 5/7 g sin by a friction of m g sin/3.5 (5.5e-4), at mu 1 on 15 degrees."""
    angle, radius, mass = np.radians(15), 0.05, 0.1
    builder = sim.ModelBuilder(gravity=(G * np.sin(angle), 0, -G * np.cos(angle)))
    builder.default_material = sim.Material(friction=1.0, stiffness=2e7, dissipation=30.0)
    builder.add_shape_sphere(builder.add_body(mass=mass, xform=sim.transform((0, 0, radius))), radius)
    builder.add_ground_plane()
    run = Run(builder, 1e-3, contacts=True)
    run.step(1000)
    assert run.velocities[0, 0] == pytest.approx(1.813582, rel=5.5e-4)
    assert radius * run.velocities[0, 4] == pytest.approx(1.813582, rel=5.5e-4)
    force = run.contacts.force[0]
    assert -force[0] == pytest.approx(mass * G * np.sin(angle) / 3.5, rel=5.5e-4)
    assert force[2] == pytest.approx(mass * G * np.cos(angle), rel=5.5e-4)


def test_box_on_a_turntable():
    """At 1 rad/s a box rides along within r = mu g/W^2 = 0.981 m of the axis and slips outwards beyond; 2 %."""
    dt, steps = 1e-3, 2000

    def table(place):
        builder = sim.ModelBuilder()
        builder.default_material = sim.Material(friction=0.1, stiffness=1e5, dissipation=10.0)
        disk = builder.add_body(kinematic=True, mass=1.0, inertia=(1, 1, 1))
        builder.add_shape_box(disk, 5, 5, 0.1)
        box = builder.add_body(xform=sim.transform((place, 0, 0.2)), velocity=(0, place, 0, 0, 0, 1))
        builder.add_shape_box(box, 0.1, 0.1, 0.1)
        return builder

    places = np.array([0.98, 1.02]) * 0.981
    run = Run(worlds([table(place) for place in places]), dt)
    for k in range(1, steps + 1):
        half = k * dt / 2
        run.control.kinematic_q[[0, 2]] = (0, 0, 0, 0, 0, np.sin(half), np.cos(half))
        run.step()
    boxes = run.poses[[1, 3], :2]
    moved = np.linalg.norm(boxes, axis=1) - places
    assert abs(moved[0]) < 5e-3
    assert moved[1] > 2e-2
    assert np.arctan2(boxes[0, 1], boxes[0, 0]) == pytest.approx(steps * dt, abs=1e-3)
