"""The steps that ``advise`` calls safe, against closed forms and runs on either side of them.

Its other warnings, of masses, have their tests with the solver.
"""

import numpy as np
import pytest

import simengine as sim
from tests.physics.physics_run import Run, worlds

G = 9.81
FALL = float(np.sqrt(2 * G))  # m/s, after 1 m


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


def low_damping(builder, dt):
    """The warnings of a damping ratio."""
    model = builder.finalize(device="cpu", precision="float64")
    return [a for a in sim.solvers.Featherstone(model).advise(dt) if "damping ratio" in a.problem]


def dropped_balls(ratio, dt, in_pair=False, speed=FALL, impedance=(0.95, 0.95, 0.001, 0.5, 2), **material):
    """Balls that fall to this speed and by up to a step's way more, in 32 worlds. ``in_pair``: the ratio is that of a
    contact pair, else of the material of balls and ground."""
    scenes = []
    for phase in np.arange(32) / 32:
        scene = sim.ModelBuilder(gravity=-G)
        if not in_pair:
            scene.default_material = sim.Material(damping_ratio=ratio, impedance=impedance, **material)
        drop = speed**2 / (2 * G) + phase * dt * speed
        ball = scene.add_shape_sphere(scene.add_body(xform=sim.transform((0, 0, 0.1 + drop))), 0.1, label="ball")
        ground = scene.add_ground_plane(label="floor")
        if in_pair:
            scene.add_contact_pair(ball, ground, reference=(0.02, ratio), impedance=impedance)
        scenes.append(scene)
    return worlds(scenes)


def dropped_slides(ratio, dt):
    """The same with slides and their limits."""
    scenes = []
    for phase in np.arange(32) / 32:
        scene = sim.ModelBuilder(gravity=-G)
        body = scene.add_body(mass=2.0, inertia=(0.1,) * 3)
        limit = dict(limit_lower=0.1, limit_reference=(0.02, ratio), limit_impedance=(0.95, 0.95))
        height = 1.1 + phase * dt * np.sqrt(2 * G)
        scene.add_joint_prismatic(-1, body, axis="Z", q=height, label="slide", **limit)
        scenes.append(scene)
    return worlds(scenes)


def highest_rebound(builder, dt):
    """How high a body comes after it was below 0.1 m, over how high it was before, both above 0.1 m; the most."""
    run = Run(builder, dt)
    drops, highest = run.poses[:, 2] - 0.1, np.full(32, -1.0)
    for _ in range(int(1.2 / dt)):
        run.step()
        highest = np.where(run.velocities[:, 2] > 0, np.maximum(highest, run.poses[:, 2] - 0.1), highest)
    return (highest / drops).max()


@pytest.mark.filterwarnings("ignore:solvers.Featherstone")
@pytest.mark.parametrize("dt", [0.0125, 1 / 240, 0.002, 0.001])
@pytest.mark.parametrize("scene", [dropped_balls, dropped_slides])
def test_damping_ratio_of_a_contact_or_limit(scene, dt):
    """Below the ratio called safe, some of the bodies rise higher than they fell from; above it, none does."""
    (found,) = low_damping(scene(0.005, dt), dt)
    assert found.element == ("shapes 'ball' and 'floor'" if scene == dropped_balls else "joint 'slide'")
    assert found.value == 0.005
    assert low_damping(scene(0.97 * found.safe, dt), dt)
    assert low_damping(scene(1.02 * found.safe, dt), dt) == []
    assert highest_rebound(scene(0.9 * found.safe, dt), dt) > 1.02
    assert highest_rebound(scene(1.02 * found.safe, dt), dt) < 1


@pytest.mark.filterwarnings("ignore:solvers.Featherstone")
def test_damping_ratio_of_a_contact_pair():
    """A pair's own ratio acts, not that of the materials."""
    dt = 1 / 240
    (found,) = low_damping(dropped_balls(0.05, dt, in_pair=True), dt)
    assert found.value == 0.05
    assert found.safe == low_damping(dropped_balls(0.05, dt), dt)[0].safe
    assert highest_rebound(dropped_balls(0.9 * found.safe, dt, in_pair=True), dt) > 1.02
    assert highest_rebound(dropped_balls(1.02 * found.safe, dt, in_pair=True), dt) < 1


@pytest.mark.filterwarnings("ignore:solvers.Featherstone")
@pytest.mark.parametrize("dt", [1 / 240, 0.0125])
def test_damping_ratio_where_the_impedance_rises_with_the_depth(dt):
    """Balls of several speeds: slow ones stay where the contact is weak."""
    curve, speeds = (0, 0.99, 0.02, 0.5, 6), (0.5, 1.0, 2.0, 4.4)
    (found,) = low_damping(dropped_balls(0.17, dt, impedance=curve), dt)
    assert found.safe > 1.2 * low_damping(dropped_balls(0.005, dt), dt)[0].safe
    for speed in speeds:
        assert highest_rebound(dropped_balls(0.17, dt, speed=speed, impedance=curve), dt) > 2
        assert highest_rebound(dropped_balls(1.02 * found.safe, dt, speed=speed, impedance=curve), dt) < 1
    assert highest_rebound(dropped_balls(0.9 * found.safe, dt, speed=0.5, impedance=curve), dt) > 1.5
    assert low_damping(dropped_balls(1.02 * found.safe, dt, impedance=curve), dt) == []


def test_no_damping_ratio_is_enough_where_the_impedance_falls_steeply_with_the_depth():
    (found,) = low_damping(dropped_balls(1, 0.0125, impedance=(0.9, 1e-3, 0.01, 0.5, 2)), 0.0125)
    assert found.safe == np.inf and "raise" not in found.problem


@pytest.mark.filterwarnings("ignore:solvers.Featherstone")
@pytest.mark.parametrize("dt", [1 / 240, 0.0125])
def test_damping_ratio_of_a_contact_with_restitution(dt):
    """Restitution turns the body round within a step, from as deep as it came; then the contact acts on it."""
    (found,) = low_damping(dropped_balls(0.005, dt, restitution=0.3), dt)
    assert highest_rebound(dropped_balls(0.9 * found.safe, dt, restitution=0.3), dt) > 1.1
    assert highest_rebound(dropped_balls(1.02 * found.safe, dt, restitution=0.3), dt) < 1
    assert low_damping(dropped_balls(1.02 * found.safe, dt, restitution=0.3), dt) == []


def ball_on(ground, ball, shared=False):
    """A ball above the ground, of these materials; ``shared``: of a ground that belongs to no world."""
    scene, builder = sim.ModelBuilder(gravity=-G), sim.ModelBuilder(gravity=-G)
    scene.add_shape_sphere(scene.add_body(xform=sim.transform((0, 0, 1.1))), 0.1, material=ball)
    (builder if shared else scene).add_ground_plane(material=ground)
    builder.add_builder(scene)
    return builder


def test_damping_ratio_of_two_materials():
    """What acts is the mean of the two, or that of the higher priority; materials in N/m are damped by the step."""
    dt, low, high = 1 / 240, sim.Material(damping_ratio=0.05), sim.Material(damping_ratio=0.15)
    for shared in (False, True):
        assert [a.value for a in low_damping(ball_on(low, high, shared), dt)] == pytest.approx([0.1])
    assert low_damping(ball_on(low, sim.Material()), dt) == []
    assert low_damping(ball_on(sim.Material(stiffness=1e6), low), dt) == []
    first = sim.Material(damping_ratio=0.05, combine="mjcf", priority=1)
    assert [a.value for a in low_damping(ball_on(first, sim.Material()), dt)] == [0.05]


def test_damping_ratio_of_shapes_that_never_touch():
    """Masks, groups, filters and joints decide which pairs there are."""
    dt, low = 1 / 240, sim.Material(damping_ratio=0.05)

    def warned(filtered=False, fixed=False, **ball):
        builder = sim.ModelBuilder(gravity=-G)
        body = builder.add_body()
        sphere = builder.add_shape_sphere(body, 0.1, material=low, **ball)
        ground = builder.add_ground_plane(material=low, contype=1, conaffinity=1, collision_group=1)
        if filtered:
            builder.add_shape_collision_filter_pair(sphere, ground)
        if fixed:
            builder.add_joint_fixed(-1, body)
        return bool(low_damping(builder, dt))

    assert warned() and warned(contype=0, conaffinity=1) and warned(collision_group=1)
    assert not warned(contype=0, conaffinity=0) and not warned(contype=2, conaffinity=2)
    assert not warned(collision_group=2) and not warned(filtered=True) and not warned(fixed=True)


def test_impedance_of_a_contact_pair():
    """It acts with the damping ratio of the materials, in place of a stiffness too."""

    def found(ground, impedance):
        builder = sim.ModelBuilder(gravity=-G)
        body = builder.add_body(xform=sim.transform((0, 0, 1.1)))
        ball = builder.add_shape_sphere(body, 0.1, material=sim.Material(damping_ratio=0.17))
        builder.add_contact_pair(ball, builder.add_ground_plane(material=ground), impedance=impedance)
        return [advice.value for advice in low_damping(builder, 1 / 240)]

    soft, curve = sim.Material(damping_ratio=0.17), (0, 0.99, 0.02, 0.5, 6)
    stiff = sim.Material(stiffness=1e6)
    assert found(soft, None) == [] and found(soft, curve) == pytest.approx([0.17])
    assert found(stiff, None) == [] and found(stiff, curve) == []  # whose own ratio is 1


@pytest.mark.parametrize("dt", [1 / 30, 1 / 60, 0.01, 1 / 240, 0.002, 1e-3, 1e-4])
def test_default_damping_is_enough_at_any_step(dt):
    for builder in (dropped_slides(1, dt), ball_on(sim.Material(), sim.Material())):
        assert low_damping(builder, dt) == []


def test_nothing_is_advised_of_what_resolves():
    """Defaults at 1 ms, and stiff drives with the implicit integrator, draw no warning."""
    quiet = worlds([rod_on_hinge(target_ke=1e6, target_kd=1e3), ball_with_spring(1e6)])
    quiet.add_ground_plane()
    model = quiet.finalize(device="cpu", precision="float64")
    assert sim.solvers.Featherstone(model).advise(1e-3) == []
