"""Shapes that are distance fields: distances against sampling, contacts, what rests on them."""

from __future__ import annotations

import numpy as np
import pytest

import simengine as sim
from simengine.builder.distance_field import field_mesh
from simengine.builder.frames import rotation_matrix
from simengine.builder.mesh_data import convex_hull
from simengine.collision import SDF
from simengine.runtime.modes import emulated_lanes
from tests.collision.collision_pairs import random_rotations, unit
from tests.collision.field_reference import least_value

POINTS = unit(np.random.default_rng(0).normal(size=(16, 3))) * [0.1, 0.16, 0.12]
HULL = convex_hull(POINTS)
SHAPES = {
    "sphere": (0.1,),
    "capsule": (0.05, 0.1),
    "ellipsoid": (0.1, 0.15, 0.07),
    "cylinder": (0.08, 0.1),
    "box": (0.1, 0.15, 0.08),
    "cone": (0.1, 0.1),
    "convex_hull": (HULL,),
    "mesh": (HULL,),
}
KIND = pytest.mark.parametrize("kind", SHAPES)
GIVEN = dict(mass=1, inertia=(1, 1, 1))


@pytest.fixture(scope="module")
def fields():
    """A box, whose field has edges, and a ring, which is not convex; with a value at every node."""
    made = {"box": SDF.box(0.2, 0.3, 0.1), "ring": SDF.torus(0.25, 0.08)}
    return {name: one.to_grid(0.025, sparse=False, precision="float64", device="cpu") for name, one in made.items()}


def bowl(points):
    """A block of 0.6 x 0.6 x 0.3 m with a hollow of radius 0.35 m in its top; the hollow's floor is at height 0."""
    out = np.abs(points) - [0.3, 0.3, 0.15]
    block = np.linalg.norm(np.maximum(out, 0), axis=1) + np.minimum(out.max(axis=1), 0)
    return np.maximum(block, 0.35 - np.linalg.norm(points - [0, 0, 0.35], axis=1))


def bodies_over(field, kind: str, poses, precision: str, **options):
    """A model of a static field, shape 0, and bodies of one shape each that touch nothing else."""
    builder = sim.ModelBuilder()
    builder.add_shape_sdf(-1, field)
    for number, pose in enumerate(poses):
        body = builder.add_body(xform=tuple(pose), **GIVEN)
        getattr(builder, f"add_shape_{kind}")(body, *SHAPES[kind], collision_group=number, **options)
    return builder.finalize(device="cpu", precision=precision)


def distances(model, pairs):
    found = sim.collision.shape_distance(model, model.state(), pairs)
    return {name: np.asarray(getattr(found, name), float) for name in ("distance", "point0", "point1", "normal")}


def random_poses(field, kind: str, count: int, seed: int):
    """A third apart, a third within 1 mm of touching, a third deeper; found by moving bodies along the distance."""
    random = np.random.default_rng(seed)
    ways = unit(random.normal(size=(count, 3)) * [1, 1, 0.4])
    poses = np.concatenate([0.5 * ways, random_rotations(random, count)], axis=1)
    wanted = np.concatenate([
        random.uniform(0.005, 0.06, count - 2 * (count // 3)),
        random.uniform(-1e-3, 1e-3, count // 3),
        random.uniform(-0.03, -0.003, count // 3),
    ])  # fmt: skip
    pairs = [[0, i + 1] for i in range(count)]
    for _ in range(4):
        found = distances(bodies_over(field, kind, poses, "float64"), pairs)
        poses[:, :3] += (wanted - found["distance"])[:, None] * found["normal"]
    return poses


def reference(field, kind: str, pose) -> float:
    as_triangles = kind in ("convex_hull", "mesh")
    size = HULL.vertices[HULL.triangles] if as_triangles else SHAPES[kind]
    dense = dict(grid=10, starts=4) if as_triangles else {}
    kind = "triangles" if as_triangles else kind
    return least_value(field, kind, size, rotation_matrix(pose[3:]), pose[:3], **dense)


def off_surface(kind: str, point) -> float:
    """How far a point is from the surface of a shape of SHAPES in its own frame."""
    if kind == "ellipsoid":
        return np.linalg.norm(point / SHAPES[kind]) - 1
    if kind in ("convex_hull", "mesh"):
        return float(sim.collision.Mesh(HULL.vertices, HULL.triangles).closest_point(point[None]).distance[0])
    return float(getattr(SDF, kind)(*SHAPES[kind]).sample(point[None])[0])


def check_distances(fields, kind: str, name: str, count: int, seed: int) -> None:
    field = fields[name]
    poses = random_poses(field, kind, count, seed)
    pairs = [[0, i + 1] for i in range(count)]
    exact = distances(bodies_over(field, kind, poses, "float64"), pairs)
    single = distances(bodies_over(field, kind, poses, "float32"), pairs)
    expected = np.array([reference(field, kind, pose) for pose in poses])
    assert (expected > 0.004).any() and (np.abs(expected) < 1.5e-3).any() and (expected < -0.002).any()
    # the field has that value at a point of the surface, and nowhere that sampling looks a lower one
    assert (exact["distance"] - expected).max() < 1e-6 and (single["distance"] - expected).max() < 1e-4
    assert np.abs(single["distance"] - exact["distance"]).max() < 1e-4
    for point, pose in zip(exact["point1"], poses, strict=True):
        assert abs(off_surface(kind, rotation_matrix(pose[3:]).T @ (point - pose[:3]))) < 1e-9
    across = exact["point1"] - exact["point0"] - exact["distance"][:, None] * exact["normal"]
    assert np.abs(across).max() < 1e-12
    assert np.abs(field.sample(exact["point1"]) - exact["distance"]).max() < 1e-9


@KIND
@pytest.mark.parametrize("name", ["box", "ring"])
def test_distance_is_the_least_value_of_the_field_on_the_other_shape(fields, kind, name):
    check_distances(fields, kind, name, 6, 1)


@pytest.mark.slow
@KIND
@pytest.mark.parametrize("name", ["box", "ring"])
def test_distance_in_many_random_configurations(fields, kind, name):
    check_distances(fields, kind, name, 120, 2)


def test_distance_to_planes_height_fields_and_fields_is_the_least_value(fields):
    """Of two fields the least of the one on the surface of the other, and the other way round."""
    random = np.random.default_rng(4)
    field, other = (
        fields["ring"],
        SDF.box(0.1, 0.15, 0.08).to_grid(0.04, sparse=False, precision="float64", device="cpu"),
    )
    heights = 0.05 * random.normal(size=(4, 5))
    surface = field_mesh(other, None, "other")
    for q, height in zip(random_rotations(random, 5), (0.2, 0.1, 0.05, 0.3, 0.0), strict=True):
        pose = np.array([0.05, -0.02, height, *q])
        builder = sim.ModelBuilder()
        builder.add_shape_plane()
        builder.add_shape_heightfield(-1, heights, 0.3, 0.4)
        builder.add_shape_sdf(-1, other, xform=sim.transform(p=(0, 0, -0.1)))
        builder.add_shape_sdf(builder.add_body(xform=tuple(pose), **GIVEN), field)
        found = distances(builder.finalize(device="cpu", precision="float64"), [[3, 0], [1, 3], [2, 3]])["distance"]
        turn = rotation_matrix(pose[3:])
        into = (turn.T, -turn.T @ pose[:3])
        lowest = (field_mesh(field, None, "f").vertices @ turn.T + pose[:3])[:, 2].min()
        assert found[0] < min(least_value(field, "plane", (0.6,), *into), lowest) + 1e-6
        assert found[0] > lowest - 2e-3  # as deep as the surface bulges within a cell
        y, x = np.meshgrid(np.linspace(-0.4, 0.4, 4), np.linspace(-0.3, 0.3, 5), indexing="ij")
        grid = np.stack([x, y, heights], axis=2)
        a, b, c, d = grid[:-1, :-1], grid[:-1, 1:], grid[1:, 1:], grid[1:, :-1]
        cells = np.concatenate([np.stack(t, axis=2).reshape(-1, 3, 3) for t in ((a, b, c), (a, c, d))])
        assert abs(found[1] - least_value(field, "triangles", cells, *into, grid=16)) < 1e-6
        below = np.array([0, 0, 0.1])
        ours = field_mesh(field, None, "f").vertices @ turn.T + pose[:3]
        theirs = (surface.vertices - below - pose[:3]) @ turn
        least = min(other.sample(ours + below).min(), field.sample(theirs).min())
        assert least - 5e-3 < found[2] < least + 1e-6  # of vertices alone, which the least value is near to


# ---- contacts


def contacts_between(model):
    contacts = model.contacts()
    sim.collide(model, model.state(), contacts)
    names = ("shape0", "shape1", "feature", "point0", "point1", "normal", "distance")
    return {name: np.asarray(getattr(contacts, name))[: contacts.count[0]] for name in names}


@KIND
@pytest.mark.parametrize("name", ["box", "ring"])
def test_contacts_lie_where_the_field_says(fields, kind, name):
    """Each is a point of the other shape with the field's value there, or of the field's surface; the deepest is that
    of the distance; features ascend and differ."""
    field = fields[name]
    poses = random_poses(field, kind, 9, 5)
    model = bodies_over(field, kind, poses, "float64", gap=0.004)
    found = contacts_between(model)
    exact = distances(model, [[0, i + 1] for i in range(9)])["distance"]
    swapped = found["shape1"] == 0  # the field is the second shape of every pair
    assert swapped.all() and len(np.unique(found["shape0"])) >= 6
    body = found["shape0"] - 1
    turns = np.array([rotation_matrix(pose[3:]) for pose in poses])[body]
    on_body = np.einsum("nij,nj->ni", turns, found["point0"]) + poses[body, :3]
    assert np.abs(on_body + found["distance"][:, None] * found["normal"] - found["point1"]).max() < 1e-12
    of_vertex = (found["feature"] >> 28 & 1) == 1
    assert np.abs(field.sample(on_body) - found["distance"])[~of_vertex].max() < 1e-9
    assert np.abs(field.sample(found["point1"]))[of_vertex].max(initial=0) < 1e-9
    for i in np.unique(body):
        own = body == i
        deepest, step = found["distance"][own].min(), 3e-5 * field.voxel + 1e-4 * 0.4  # that of the reduction
        assert deepest < exact[i] + step
        assert deepest > exact[i] - step - 2e-3 * of_vertex[own].any()  # a vertex is measured across the face
        assert (np.diff(found["feature"][own]) > 0).all() and own.sum() <= 16


@pytest.mark.parametrize("other", ["plane", "box", "sphere", "mesh"])
def test_what_lies_wholly_inside_is_pushed_out(other):
    """A small ball of a field in a solid: by the nearest way, as deep as the ball's far side."""
    ball = SDF.sphere(0.05).to_grid(0.01, precision="float64", device="cpu")
    builder = sim.ModelBuilder()
    corners = np.array(np.meshgrid([-0.5, 0.5], [-0.4, 0.4], [-0.3, 0.3])).reshape(3, -1).T
    arguments = {"plane": (), "box": (0.5, 0.4, 0.3), "sphere": (0.4,), "mesh": (convex_hull(corners),)}[other]
    top = {"plane": 0.0, "box": 0.3, "sphere": 0.4, "mesh": 0.3}[other]
    getattr(builder, f"add_shape_{other}")(-1, *arguments)
    builder.add_shape_sdf(builder.add_body(xform=(0, 0, top - 0.1, 0, 0, 0, 1), **GIVEN), ball)
    model = builder.finalize(device="cpu", precision="float64")
    found = contacts_between(model)
    deepest = found["distance"].argmin()
    assert abs(found["distance"][deepest] + 0.15) < 1e-9
    assert np.abs(found["normal"][deepest] - [0, 0, 1]).max() < 1e-9
    if other != "mesh":  # whose surface alone is measured to
        assert abs(distances(model, [[0, 1]])["distance"][0] + 0.15) < 1e-9


RESTING = {
    "sphere": ("sphere", (0.1,), 0.1, (0, 0, 0, 1)),
    "box": ("box", (0.1, 0.08, 0.05), 0.05, (0, 0, 0, 1)),
    "capsule": ("capsule", (0.05, 0.1), 0.05, sim.quat_from_axis_angle((1, 0, 0), np.pi / 2)),
    "field": ("sdf", (SDF.box(0.1, 0.08, 0.05), 0.02), 0.05, (0, 0, 0, 1)),
}


@pytest.mark.parametrize("on", ["box", "bowl"])
@pytest.mark.parametrize("kind", RESTING)
def test_what_rests_stays(kind, on):
    """After 3 s a body on the field drifts by less than 0.1 mm in 3 s, and in time jitters by less than 1 mm/s."""
    if on == "box":
        field, place = SDF.box(0.3, 0.3, 0.1).to_grid(0.02, precision="float64", device="cpu"), (0.013, 0.007, 0.1)
    else:  # in the middle: a ball off it would roll for ever
        field = SDF.from_function(
            bowl, [-0.38] * 2 + [-0.23], [0.38] * 2 + [0.23], 0.02, precision="float64", device="cpu"
        )
        place = (0, 0, 0.03)
    shape, arguments, height, q = RESTING[kind]
    builder = sim.ModelBuilder()
    builder.add_shape_sdf(-1, field)
    body = builder.add_body(xform=(*place[:2], place[2] + height, *q))
    getattr(builder, f"add_shape_{shape}")(body, *arguments)
    model = builder.finalize(device="cpu", precision="float64")
    solver, state, after, control = sim.solvers.Featherstone(model), model.state(), model.state(), model.control()
    track, speed = [], []
    for step in range(1200):
        solver.step(state, after, control, None, 0.005)
        state, after = after, state
        if step >= 600:
            track.append(state.body_q[0, :3].copy())
            speed.append(np.abs(state.body_qd[0, :3]).max())
    assert np.linalg.norm(np.array(track) - track[0], axis=1).max() < 1e-4
    assert max(speed) < 1e-3
    assert 0.04 < track[-1][2] < 0.22


@pytest.mark.parametrize("lanes", [1, 4, 32])
def test_bits_do_not_depend_on_lanes(fields, lanes, precision):
    builder = sim.ModelBuilder()
    builder.add_ground_plane()
    builder.add_shape_heightfield(-1, np.zeros((3, 3)), 0.5, 0.5, xform=sim.transform(p=(0, 0, 0.01)))
    builder.add_shape_sdf(-1, fields["ring"])
    random = np.random.default_rng(6)
    for kind, q in zip([*SHAPES, "sdf"], random_rotations(random, len(SHAPES) + 1), strict=True):
        place = (*random.uniform(-0.2, 0.2, 2), 0.12)
        arguments = (SDF.box(0.1, 0.08, 0.05), 0.04) if kind == "sdf" else SHAPES[kind]
        getattr(builder, f"add_shape_{kind}")(builder.add_body(xform=(*place, *q), **GIVEN), *arguments)
    model = builder.finalize(device="cpu", precision=precision)
    plain, other = model.contacts(), model.contacts()
    sim.collide(model, model.state(), plain)
    for shuffle in (1, 2):
        with emulated_lanes(lanes, shuffle, poison=True):
            sim.collide(model, model.state(), other)
        assert plain.count[0] > 30
        for name in ("count", "feature", "point0", "point1", "normal", "tangent", "distance"):
            assert getattr(plain, name).tobytes() == getattr(other, name).tobytes()


def test_a_search_for_pairs_finds_the_contacts_of_a_list(fields):
    builder = sim.ModelBuilder()
    builder.add_shape_sdf(-1, fields["box"])
    for x in (-0.1, 0.05, 0.14):
        builder.add_shape_box(builder.add_body(xform=(x, 0, 0.12, 0, 0, 0, 1), **GIVEN), 0.05, 0.05, 0.03)
    models = [builder.finalize(device="cpu", broad_phase=way) for way in ("pairs", "bvh")]
    listed, searched = (contacts_between(model) for model in models)
    assert len(listed["feature"]) >= 12
    for name, values in listed.items():
        assert values.tobytes() == searched[name].tobytes(), name


@pytest.mark.parametrize(("kind", "speed"), [("sphere", 30.0), ("sphere", 100.0), ("sphere", 300.0), ("sdf", 100.0)])
def test_nothing_goes_through_a_thin_wall_of_a_field(kind, speed):
    """A ball or a field against a wall of 1 cm, in a step of 5 ms: it is stopped where they meet, not before, and the
    other side is not reached."""
    wall = SDF.box(0.3, 0.3, 0.005).to_grid(0.005, sparse=False, precision="float64", device="cpu")
    builder = sim.ModelBuilder(gravity=0.0)
    builder.add_shape_sdf(-1, wall)
    body = builder.add_body(xform=(-0.15, 0.01, 0.2, 0, 0, 0, 1), velocity=(0, 0, -speed, 0, 0, 0))
    getattr(builder, f"add_shape_{kind}")(body, *{"sphere": (0.03,), "sdf": (SDF.sphere(0.03), 0.015)}[kind])
    model = builder.finalize(device="cpu", precision="float64")
    solver, state, after, control = sim.solvers.Featherstone(model), model.state(), model.state(), model.control()
    nearest = 1.0
    for _ in range(20):
        solver.step(state, after, control, None, 0.005)
        state, after = after, state
        assert state.body_q[0, 2] > 0.02
        nearest = min(nearest, state.body_q[0, 2])
    assert nearest < 0.045  # the wall begins at 0.005, the ball reaches 0.03
