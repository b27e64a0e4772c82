"""Fast bodies: nothing passes through a thin wall, what is met on the way, and when; what is slow keeps its bits."""

from __future__ import annotations

import numpy as np
import pytest

import simengine as sim
from simengine.builder.mesh_data import convex_hull
from simengine.enums import StatusBit
from simengine.errors import ModelError
from simengine.runtime.modes import debugging, emulated_lanes
from tests.collision.test_pipeline import many, rows

AT = sim.transform
SPEEDS = (30.0, 100.0, 300.0)  # m/s
DTS = (0.005, 1 / 60)
HALF = 0.005  # m, of a wall's thickness: its middle is the plane x = 0
FREE = ("joint_q", "joint_qd", "body_q", "body_qd")

# ---- bullets and walls


def octahedron(x: float, y: float, z: float) -> np.ndarray:
    return np.concatenate([np.diag([x, y, z]), -np.diag([x, y, z])])


BULLETS = {
    "sphere": lambda b, k, m: b.add_shape_sphere(k, 0.01, material=m),
    "box": lambda b, k, m: b.add_shape_box(k, 0.03, 0.02, 0.01, material=m),
    "capsule": lambda b, k, m: b.add_shape_capsule(k, 0.01, 0.05, material=m),
    "cylinder": lambda b, k, m: b.add_shape_cylinder(k, 0.02, 0.03, material=m),
    "hull": lambda b, k, m: b.add_shape_convex_hull(k, octahedron(0.05, 0.04, 0.03), material=m),
}


def sheet(side: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """A square of 2 m in the plane x = -HALF, of triangles that face -x."""
    y, z = np.meshgrid(np.linspace(-1, 1, side), np.linspace(-1, 1, side), indexing="ij")
    points = np.column_stack([np.full(y.size, -HALF), y.ravel(), z.ravel()])
    corner = (np.arange(side - 1)[:, None] * side + np.arange(side - 1)).ravel()
    first = np.column_stack([corner, corner + 1, corner + side])
    return points, np.concatenate([first, np.column_stack([corner + 1, corner + side + 1, corner + side])])


def block() -> np.ndarray:
    return np.array([(x, y, z) for x in (-HALF, HALF) for y in (-1, 1) for z in (-1, 1)], float)


def heavy_box(builder, material):
    body = builder.add_body(label="wall")
    builder.add_shape_box(body, HALF, 1, 1, density=1e6, material=material)


WALLS = {
    "static box": lambda b, m: b.add_shape_box(-1, HALF, 1, 1, material=m),
    "heavy box": heavy_box,
    "mesh sheet": lambda b, m: b.add_shape_mesh(-1, sheet(), material=m),
    "height field": lambda b, m: b.add_shape_heightfield(
        -1,
        np.zeros((9, 9)),
        1.0,
        1.0,
        0.5,
        xform=AT(p=(-HALF, 0, 0), q=sim.quat_from_axis_angle((0, 1, 0), -np.pi / 2)),
        material=m,
    ),
    "thin hull": lambda b, m: b.add_shape_convex_hull(-1, block(), material=m),
}


def finalized(builder, precision: str) -> sim.Model:
    """The model, with the memory of the solver in its states."""
    model = builder.finalize(device="cpu", precision=precision)
    sim.solvers.Featherstone(model, specialise=False)
    return model


class Shots:
    """Worlds with a wall and one bullet each, which flies at it."""

    def __init__(self, wall, precision, bullets=tuple(BULLETS), seed=0, count=12, spin=20.0, steepest=60.0, **material):
        rng, builder = np.random.default_rng(seed), sim.ModelBuilder(gravity=0.0)
        self.rates = []
        for bullet in bullets:
            for k in range(count):
                angle, around = np.deg2rad(rng.uniform(0, steepest)) * (k % 3 > 0), rng.uniform(0, 2 * np.pi)
                way = [np.cos(angle), np.sin(angle) * np.cos(around), np.sin(angle) * np.sin(around)]
                place = [0, *rng.uniform(-0.3, 0.3, 2)] - np.multiply(way, rng.uniform(0.4, 2.5))
                turn = rng.normal(size=4)
                world, material_of = (
                    sim.ModelBuilder(gravity=0.0),
                    sim.Material(**({"friction": 0.5, "time_constant": 0.034} | material)),
                )
                body = world.add_body(xform=AT(p=place, q=turn / np.linalg.norm(turn)))
                BULLETS[bullet](world, body, material_of)
                WALLS[wall](world, material_of)
                builder.replicate(world, 1)
                self.rates.append([*np.multiply(way, SPEEDS[k % len(SPEEDS)]), *rng.normal(size=3) * spin * (k % 2)])
        self.model = finalized(builder, precision)
        self.bodies = np.asarray(self.model.world_body_start)[:-1]
        self.has_wall_body = wall == "heavy box"

    def state(self):
        state = self.model.state()
        for world, rates in enumerate(self.rates):
            first = int(self.model.world_dof_start[world])
            state.joint_qd[first : first + 6] = rates
        sim.eval_fk(self.model, state)
        return state

    def depth(self, state) -> np.ndarray:
        """How far the middle of each bullet is beyond that of the wall, in front of which it ends up."""
        place = state.body_q[self.bodies, :3]
        wall = state.body_q[self.bodies + 1, 0] if self.has_wall_body else 0
        return np.where(np.abs(place[:, 1:]).max(axis=1) < 1, place[:, 0] - wall, -1)


def run(model, state, steps: int, dt: float, solver=None, contacts=None):
    """States after each of some steps."""
    solver, control = solver or sim.solvers.Featherstone(model, specialise=False), model.control()
    for _ in range(steps):
        state_out = model.state()
        if contacts is not None:
            sim.collide(model, state, contacts, dt)
        solver.step(state, state_out, control, contacts, dt)
        state = state_out
        yield state


def none_passes(shots: Shots, dt: float, **options) -> None:
    solver = sim.solvers.Featherstone(shots.model, specialise=False, **options)
    deepest = np.full(len(shots.bodies), -np.inf)
    for state in run(shots.model, shots.state(), round(0.15 / dt), dt, solver):
        deepest = np.maximum(deepest, shots.depth(state))
    # at 300 m/s a solve may end at the round-off of float32, above its tolerance
    allowed = StatusBit.NOT_CONVERGED if shots.model.precision == "float32" else 0
    assert not np.any(np.asarray(state.status) & ~allowed)
    assert deepest.max() < 0, np.flatnonzero(deepest >= 0)


@pytest.mark.parametrize("dt", DTS)
@pytest.mark.parametrize("wall", WALLS)
def test_nothing_passes_through_a_wall_of_1_cm(wall, dt):
    none_passes(Shots(wall, "float64", time_constant=2 * max(dt, 0.01)), dt)


@pytest.mark.parametrize("options", [dict(integrator="euler"), dict(cone="pyramidal")])
def test_nothing_passes_whatever_the_options_are(options):
    shots = Shots("static box", "float32", ("sphere", "capsule"), seed=1, spin=0, steepest=0, time_constant=0.011)
    none_passes(shots, DTS[0], **options)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 6))
@pytest.mark.parametrize("wall", WALLS)
def test_nothing_passes_many_times(wall, seed, precision):
    dt = DTS[seed % 2]
    none_passes(Shots(wall, precision, seed=seed, count=60, time_constant=2 * max(dt, 0.01)), dt)


def test_without_dt_a_bullet_does_pass():
    shots = Shots("static box", "float64", bullets=["sphere"], spin=0.0)
    state, contacts = shots.state(), shots.model.contacts()
    solver, control, other = sim.solvers.Featherstone(shots.model), shots.model.control(), shots.model.state()
    for _ in range(30):
        sim.collide(shots.model, state, contacts)
        solver.step(state, other, control, contacts, DTS[0])
        state, other = other, state
    assert shots.depth(state).max() > 0


# ---- one body against another


def pair_model(first, second, precision="float64", worlds=1, **material):
    """Two bodies by functions of (builder, body, material); ``second`` may be on the world: body -1 is then passed."""
    template, shared = (
        sim.ModelBuilder(gravity=0.0),
        sim.Material(**({"friction": 0.0, "time_constant": 0.034} | material)),
    )
    for add in (first, second):
        if add is not None:
            add(template, shared)
    builder = sim.ModelBuilder(gravity=0.0)
    builder.replicate(template, worlds)
    return finalized(builder, precision)


def moving(kind: str, place=(0, 0, 0), q=(0, 0, 0, 1)):
    return lambda b, m: BULLETS[kind](b, b.add_body(xform=AT(p=place, q=q)), m)


def launched(model, *rates):
    state = model.state()
    state.joint_qd[:] = np.ravel(rates)
    sim.eval_fk(model, state)
    return state


def met(model, state, dt: float):
    contacts = model.contacts()
    sim.collide(model, state, contacts, dt)
    return contacts, int(contacts.count[0])


@pytest.mark.parametrize("speed", SPEEDS)
def test_a_sphere_meets_a_wall_when_and_where_it_should(speed, precision):
    gap, slope = 0.11, 0.5
    model = pair_model(moving("sphere", (-HALF - 0.01 - gap, 0.1, 0.2)), WALLS["static box"], precision)
    contacts, count = met(model, launched(model, (speed, slope * speed, 0, 3, 4, 5)), 1 / 60)
    close = 1e-4 if precision == "float32" else 2e-5
    assert count == 1
    assert contacts.time[0] == pytest.approx(gap / speed, abs=close / speed)
    assert contacts.distance[0] == pytest.approx(gap, abs=close)
    assert np.allclose(contacts.normal[0], (1, 0, 0), atol=1e-6)
    assert np.allclose(contacts.point1[0], (-HALF, 0.1 + slope * gap, 0.2), atol=2 * close)


def test_the_tip_of_a_spinning_rod_meets_a_wall_when_it_should(precision):
    half, radius, rate, height = 0.5, 0.01, 100.0, 0.2
    rod = sim.ModelBuilder(gravity=0.0)
    body = rod.add_body(xform=AT(q=sim.quat_from_axis_angle((0, 1, 0), np.pi / 2)))
    rod.add_shape_capsule(body, radius, half)
    rod.add_shape_box(-1, 1, HALF, 1, xform=AT(p=(0, -height - HALF, 0)))
    model = finalized(rod, precision)
    contacts, count = met(model, launched(model, (0, 0, 0, 0, 0, rate)), 0.005)
    angle = np.arcsin((height - radius) / half)  # at which half sin(angle) + radius = height
    assert count == 1
    assert contacts.time[0] == pytest.approx(angle / rate, rel=2e-3)
    wanted = -1 if contacts.shape0[0] == 0 else 1
    assert np.allclose(contacts.normal[0], (0, wanted, 0), atol=1e-3)
    states = list(run(model, launched(model, (0, 0, 0, 0, 0, rate)), 8, 0.005))
    assert min(float(tips(state.body_q[0], half)[:, 1].min()) for state in states) > -height - HALF


def tips(pose, half: float) -> np.ndarray:
    x, y, z, w = pose[3:]
    axis = np.array([2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)])
    return pose[:3] + np.outer([half, -half], axis)


def spun(pose, rates, times) -> np.ndarray:
    """Poses (n, 7) of a body with its centre at its origin after ``times``, at constant velocity and rate."""
    rate = np.linalg.norm(rates[3:])
    axis = np.divide(rates[3:], rate) if rate > 0 else np.array([1.0, 0, 0])
    half = 0.5 * rate * times[:, None]
    turn = np.hstack([np.sin(half) * axis, np.cos(half)])
    v, w, q = turn[:, :3], turn[:, 3:], pose[3:]
    vector = w * q[:3] + q[3] * v + np.cross(v, q[:3])
    scalar = w[:, 0] * q[3] - v @ q[:3]
    return np.column_stack([pose[:3] + times[:, None] * np.asarray(rates[:3]), vector, scalar])


@pytest.mark.parametrize("kinds", [("box", "capsule"), ("cylinder", "hull"), ("box", "box"), ("capsule", "capsule")])
def test_pairs_meet_when_10000_poses_on_their_way_say(kinds):
    dt, fine, rng = 1 / 60, 10_000, np.random.default_rng(4)
    times = np.linspace(0, dt, fine)
    many_worlds = pair_model(moving(kinds[0]), moving(kinds[1]), worlds=fine)
    compared = 0
    for _ in range(6):
        turns = rng.normal(size=(2, 4))
        poses = np.hstack(
            [[[0, 0, 0], [1.0, *rng.uniform(-0.04, 0.04, 2)]], turns / np.linalg.norm(turns, axis=1)[:, None]]
        )
        rates = np.hstack([[[60, 0, 0], [-40, *rng.normal(size=2)]], rng.normal(size=(2, 3)) * 15])
        model = pair_model(moving(kinds[0], poses[0, :3], poses[0, 3:]), moving(kinds[1], poses[1, :3], poses[1, 3:]))
        contacts, count = met(model, launched(model, rates), dt)
        state = many_worlds.state()
        state.body_q[0::2], state.body_q[1::2] = (spun(poses[i], rates[i], times) for i in range(2))
        pairs = np.arange(2 * fine).reshape(fine, 2)
        distance = sim.collision.shape_distance(many_worlds, state, pairs).distance
        touching = np.flatnonzero(distance <= 0)
        if not len(touching):
            assert count == 0 or np.all(contacts.time[:count] > 0)
            continue
        assert count > 0
        time, first = float(contacts.time[0]), times[touching[0]]
        assert np.ptp(contacts.time[:count]) == 0
        assert time <= first + times[1]
        assert np.interp(time, times, distance) < 1e-4  # touching, to within the tolerance of the search
        compared += 1
    assert compared >= 3


@pytest.mark.parametrize("kind", BULLETS)
def test_what_is_met_is_told_by_witness_points_that_come_together(kind):
    rates = (80, 5, 9, 8, 9, 10)
    model = pair_model(moving(kind, (-0.3, 0, 0.1), (0.5, 0.5, 0.1, 0.7)), WALLS["static box"])
    state = launched(model, rates)
    contacts, count = met(model, state, 0.005)
    assert count > 0 and np.all(contacts.time[:count] > 0)
    on_wall = 1 if int(contacts.shape1[0]) == 1 else 0
    for i in range(count):
        wall, own = (contacts.point1[i], contacts.point0[i])[:: 1 if on_wall else -1]
        here = place_of(state.body_q[0], own)
        normal = contacts.normal[i] * (1 if on_wall else -1)
        assert contacts.distance[i] == pytest.approx(normal @ (wall - here), abs=1e-9)
        there = place_of(spun(state.body_q[0], rates, contacts.time[i : i + 1])[0], own)
        across = (wall - there) - (normal @ (wall - there)) * normal
        assert np.linalg.norm(across) < 1e-9  # they stand opposite each other then


def place_of(pose, point) -> np.ndarray:
    u, w = pose[3:6] / np.linalg.norm(pose[3:]), pose[6] / np.linalg.norm(pose[3:])
    return pose[:3] + point + 2 * np.cross(u, w * point + np.cross(u, point))


@pytest.mark.parametrize("dt", DTS)
@pytest.mark.parametrize("wall", ["static box", "mesh sheet", "thin hull"])
@pytest.mark.parametrize("speed", SPEEDS)
def test_a_ball_bounces_off_with_its_restitution(wall, speed, dt):
    model = pair_model(moving("sphere", (-0.71, 0.1, 0.2)), WALLS[wall], restitution=0.5)
    *_, state = run(model, launched(model, (speed, 0, 0, 0, 0, 0)), round(0.1 / dt), dt)
    assert state.body_qd[0, 0] == pytest.approx(-0.5 * speed, rel=1e-3)
    assert state.body_q[0, 0] < 0


@pytest.mark.parametrize("friction, degrees", [(0.1, 45), (0.2, 70), (0.2, 80), (1.0, 80)])
def test_a_ball_that_glances_off_slides_by_coulombs_law(friction, degrees):
    angle, restitution = np.deg2rad(degrees), 0.5
    velocity = 100 * np.array([np.cos(angle), np.sin(angle), 0])
    place = -velocity * (0.2 / velocity[0]) + (0, -0.3, 0)
    model = pair_model(moving("sphere", place), WALLS["static box"], friction=friction, restitution=restitution)
    for state in run(model, launched(model, (*velocity, 0, 0, 0)), 8, 0.005):
        if state.body_qd[0, 0] < 0:
            break
    change = (1 + restitution) * velocity[0]
    slip_lost = min(friction * change, 2 / 7 * velocity[1])
    assert np.allclose(
        state.body_qd[0, :2], [-restitution * velocity[0], velocity[1] - slip_lost], rtol=2e-3, atol=0.02
    )
    assert state.body_qd[0, 5] == pytest.approx(-slip_lost / (0.4 * 0.01), rel=5e-3)  # spin of m r dv = 2/5 m r^2 w


@pytest.mark.parametrize("ratio", [1.0, 3.0])
def test_two_bullets_that_meet_do_not_pass_and_keep_their_momentum(ratio, precision):
    model = pair_model(moving("sphere", (-0.8, 0, 0)), moving("sphere", (0.8, 0, 0)), precision)
    model.body_mass[1] *= ratio
    model.body_inertia[1] *= ratio
    model.update()
    mass = np.asarray(model.body_mass, float)
    start = np.array([[100.0, 0, 0, 0, 0, 0], [-100.0, 0, 0, 0, 0, 0]])
    for state in run(model, launched(model, start), 12, 0.005):
        assert state.body_q[0, 0] < state.body_q[1, 0]
        tolerance = 1e-3 if precision == "float32" else 1e-9
        assert mass @ state.body_qd[:, 0] / mass.sum() == pytest.approx(
            mass @ start[:, 0] / mass.sum(), abs=100 * tolerance
        )
    apart = state.body_q[1, 0] - state.body_q[0, 0]
    assert apart == pytest.approx(0.02, abs=1e-3)
    assert state.body_qd[1, 0] - state.body_qd[0, 0] == pytest.approx(0, abs=0.5)


def test_a_fast_heavy_box_pushes_what_is_in_its_way():
    model = pair_model(moving("sphere", (0.3, 0, 0)), WALLS["heavy box"])
    for state in run(model, launched(model, (0, 0, 0, 0, 0, 0), (100, 0, 0, 0, 0, 0)), 20, 0.005):
        assert state.body_q[0, 0] > state.body_q[1, 0]
    assert state.body_qd[0, 0] > 95


@pytest.mark.parametrize("kind", BULLETS)
def test_what_passes_beside_an_edge_flies_on_as_if_there_were_nothing(kind):
    reach = {"sphere": 0.01, "box": 0.01, "capsule": 0.06, "cylinder": 0.03, "hull": 0.03}[kind]
    start = moving(kind, (-0.61, 0.1, 1 + reach + 1e-4))
    beside, alone = pair_model(start, WALLS["static box"], friction=1.0), pair_model(start, None)
    rates = (100, 0, 0, 0, 0, 3) if kind == "sphere" else (100, 0, 0, 0, 0, 0)
    free = run(alone, launched(alone, rates), 12, 0.005)
    for ours, theirs in zip(run(beside, launched(beside, rates), 12, 0.005), free, strict=True):
        assert all(np.array_equal(getattr(ours, name), getattr(theirs, name)) for name in FREE)
    assert ours.body_q[0, 0] > 0


def test_a_ball_that_rolls_on_a_mesh_runs_into_a_wall_of_the_same_mesh():
    floor = [(-3, -1, 0), (0, -1, 0), (0, 1, 0), (-3, 1, 0), (0, -1, 2), (0, 1, 2)]
    mesh = (np.array(floor, float), np.array([[0, 1, 2], [0, 2, 3], [1, 4, 5], [1, 5, 2]]))
    builder = sim.ModelBuilder()
    body = builder.add_body(xform=AT(p=(-2.47, 0.1, 0.0999)))
    builder.add_shape_sphere(body, 0.1, material=sim.Material(friction=0))
    builder.add_shape_mesh(-1, mesh, material=sim.Material(friction=0))
    model = finalized(builder, "float64")
    for state in run(model, launched(model, (100, 0, 0, 0, 0, 0)), 12, 0.005):
        assert state.body_q[0, 0] < -0.09 and 0.09 < state.body_q[0, 2] < 0.2
    assert abs(state.body_qd[0, 0]) < 2


def test_the_ball_within_a_shape_is_the_largest_about_its_origin():
    builder = sim.ModelBuilder()
    builder.add_ground_plane()
    builder.add_shape_sphere(-1, 2)
    builder.add_shape_capsule(-1, 2, 5)
    builder.add_shape_cylinder(-1, 3, 1)
    builder.add_shape_ellipsoid(-1, 3, 4, 2)
    builder.add_shape_box(-1, 3, 4, 2)
    builder.add_shape_cone(-1, 3, 4)
    builder.add_shape_convex_hull(-1, octahedron(1, 2, 3), scale=(2, 1, 1))
    builder.add_shape_convex_hull(-1, octahedron(1, 2, 3) + (2, 0, 0))
    builder.add_shape_mesh(-1, sheet())
    model = builder.finalize(device="cpu", precision="float64")
    cone, hull = 12 / np.sqrt(64 + 9), 1 / np.sqrt(1 / 4 + 1 / 4 + 1 / 9)
    wanted = [np.inf, 2, 2, 1, 2, 2, cone, hull, 0, 0]
    assert np.allclose(model.shape_inradius, wanted, rtol=1e-12)


# ---- bits


def test_contacts_passed_in_give_the_bits_of_contacts_found_inside(precision):
    for wall in ("static box", "mesh sheet"):
        shots = Shots(wall, precision, seed=7, count=4)
        inside = run(shots.model, shots.state(), 30, DTS[0])
        passed = run(shots.model, shots.state(), 30, DTS[0], contacts=shots.model.contacts())
        for ours, theirs in zip(inside, passed, strict=True):
            assert all(np.array_equal(getattr(ours, name), getattr(theirs, name)) for name in FREE)


@pytest.mark.parametrize("wall", ["static box", "mesh sheet", "thin hull"])
def test_bits_do_not_depend_on_lanes(wall, precision):
    shots = Shots(wall, precision, seed=8, count=2)

    def last():
        *_, state = run(shots.model, shots.state(), 16, DTS[1])
        return state

    wanted = last()
    for lanes in (1, 4, 32):
        with emulated_lanes(lanes, lanes):
            found = last()
        assert all(np.array_equal(getattr(found, name), getattr(wanted, name)) for name in FREE), lanes


def swarm(broad_phase: str, precision: str) -> sim.Model:
    """Bullets of all kinds in one world, with walls."""
    rng, builder = np.random.default_rng(5), sim.ModelBuilder(gravity=0.0)
    material = sim.Material()
    for k in range(20):
        turn = rng.normal(size=4)
        body = builder.add_body(xform=AT(p=rng.uniform(-0.6, 0.6, 3), q=turn / np.linalg.norm(turn)))
        BULLETS[list(BULLETS)[k % len(BULLETS)]](builder, body, material)
    WALLS["static box"](builder, material)
    WALLS["mesh sheet"](builder, material)
    builder.add_ground_plane(-1.0)
    return builder.finalize(device="cpu", precision=precision, broad_phase=broad_phase)


@pytest.mark.parametrize("way", ["bvh", "dense"])
def test_searched_pairs_have_the_bits_of_listed_ones(precision, way):
    found = []
    rates = np.random.default_rng(6).normal(size=(20, 6)) * ([80] * 3 + [20] * 3)
    for broad_phase in ("pairs", way):
        model = swarm(broad_phase, precision)
        contacts = model.contacts()
        sim.collide(model, launched(model, rates), contacts, 0.005)
        found.append((contacts, int(contacts.count[0]), model))
    (listed, count, model), (searched, again, _) = found
    assert count == again > 10 and np.sum(listed.time[:count] > 0) > 5
    for row in model.contacts().rows():
        if row.shape[0] == "contact_slots":
            assert np.array_equal(getattr(listed, row.name)[:count], getattr(searched, row.name)[:count]), row.name


@pytest.mark.parametrize("wall", ["box", "mesh"])
@pytest.mark.parametrize("broad_phase", ["pairs", "bvh", "dense"])
def test_a_body_that_is_just_fast_enough_is_followed_however_pairs_are_found(broad_phase, wall, precision):
    """A ball of 0.1 m that moves by 0.0985 m in a step, beside a wall of 2 mm: half of what the two are thick is
    0.0978 m. Beside a mesh it is 0.0969 m."""
    builder = sim.ModelBuilder(gravity=0.0)
    body = builder.add_body(xform=sim.transform((-0.102, 0, 0)))
    builder.add_shape_sphere(body, 0.1)
    if wall == "box":
        builder.add_shape_box(-1, 0.001, 1.0, 1.0)
    else:
        corners = np.array([(x, y, z) for x in (-0.001, 0.001) for y in (-1, 1) for z in (-1, 1)], float)
        builder.add_shape_mesh(-1, convex_hull(corners))
    model = builder.finalize(device="cpu", precision=precision, broad_phase=broad_phase)
    state, contacts = model.state(), model.contacts()
    state.body_qd[0] = [19.7, 0, 0, 0, 0, 0]
    sim.collide(model, state, contacts, dt=0.005)
    assert int(contacts.count[0]) >= 1 and contacts.time[0] > 0


def test_slow_scenes_keep_their_bits(precision):
    model, state, contacts = many(3, device="cpu", precision=precision)
    state.body_qd[:] = np.random.default_rng(0).normal(size=state.body_qd.shape) * 0.2
    sim.collide(model, state, contacts)
    still = [rows(model, contacts, world) for world in range(model.world_count)]
    again = model.contacts()
    sim.collide(model, state, again, dt=0.002)
    assert int(contacts.count.sum()) > 20 and not np.any(again.time)
    for world, wanted in enumerate(still):
        found = rows(model, again, world)
        assert all(np.array_equal(found[name], wanted[name]) for name in wanted)


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e20, 1e12])
def test_a_world_of_absurd_speed_ends_and_disturbs_no_other(value, precision):
    for wall in ("static box", "mesh sheet"):
        shots = Shots(wall, precision, seed=9, count=2)
        healthy, broken = shots.state(), shots.state()
        broken.joint_qd[:6] = value
        others = np.arange(6, len(shots.rates) * 6)
        with debugging(False):
            sim.eval_fk(shots.model, broken)
            ours = list(run(shots.model, broken, 6, DTS[0]))
        theirs = list(run(shots.model, healthy, 6, DTS[0]))
        assert np.array_equal(ours[-1].joint_qd[others], theirs[-1].joint_qd[others])


@pytest.mark.parametrize("dt", [0, -0.1, np.nan, np.inf, "soon", True])
def test_a_step_that_is_no_time_is_refused(dt):
    model = pair_model(moving("sphere"), WALLS["static box"])
    with pytest.raises(ModelError, match="collide: dt is"):
        sim.collide(model, model.state(), model.contacts(), dt)
