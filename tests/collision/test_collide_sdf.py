"""Shapes that are distance fields: distances against sampling, contacts, what rests on them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import simengine as sim
from simengine.builder.distance_field import field_mesh
from simengine.builder.frames import rotation_matrix
from simengine.builder.mesh_data import convex_hull
from simengine.collision import SDF
from simengine.runtime.modes import emulated_lanes
from tests.collision.collision_pairs import random_rotations, unit
from tests.collision.field_reference import least_value, least_values
from tests.collision.field_scenes import GIVEN, HULL, SHAPES, bodies_over, brought_to, contacts_between, distances
from tests.collision.test_rest_shapes import simulate

BOX = (0.2, 0.3, 0.1)
KIND = pytest.mark.parametrize("kind", SHAPES)


@pytest.fixture(scope="module")
def fields():
    """A box, whose field has edges, a ring, which is not convex, and a ball; with a value at every node."""
    made = {"box": SDF.box(*BOX), "ring": SDF.torus(0.25, 0.08), "ball": SDF.sphere(0.1)}
    return {name: one.to_grid(0.025, sparse=False, precision="float64", device="cpu") for name, one in made.items()}


def bowl(points):
    """A block of 0.6 x 0.6 x 0.3 m with a hollow of radius 0.35 m in its top; the hollow's floor is at height 0."""
    out = np.abs(points) - [0.3, 0.3, 0.15]
    block = np.linalg.norm(np.maximum(out, 0), axis=1) + np.minimum(out.max(axis=1), 0)
    return np.maximum(block, 0.35 - np.linalg.norm(points - [0, 0, 0.35], axis=1))


def over(field, kind: str, poses, precision: str, **options):
    """A model of a static field and bodies of a kind."""
    return bodies_over(("sdf", (field,)), (kind, SHAPES[kind]), poses, precision, **options)


def random_poses(field, kind: str, count: int, seed: int):
    random = np.random.default_rng(seed)
    ways = unit(random.normal(size=(count, 3)) * [1, 1, 0.4])
    poses = np.concatenate([0.5 * ways, random_rotations(random, count)], axis=1)
    pairs = [[0, i + 1] for i in range(count)]
    return brought_to(over(field, kind, poses, "float64"), pairs, poses, random, (0.005, 0.06), (-0.03, -0.003))


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


@KIND
@pytest.mark.parametrize("name", ["box", "ring"])
def test_contacts_lie_where_the_field_says(fields, kind, name):
    """Each is a point of the other shape with the field's value there, or of the field's surface; the deepest is that
    of the distance; features ascend and differ."""
    field = fields[name]
    poses = random_poses(field, kind, 9, 5)
    model = over(field, kind, poses, "float64", gap=0.004)
    found = contacts_between(model)
    pairs = [[0, i + 1] for i in range(9)]
    exact = lowest = distances(model, pairs)["distance"]
    if name == "box":  # the corners of the box go deeper than the field's least value: as deep as the solids overlap
        solids = bodies_over(("box", BOX), ("convex_hull" if kind == "mesh" else kind, SHAPES[kind]), poses, "float64")
        lowest = np.minimum(exact, distances(solids, pairs)["distance"])
    swapped = found["shape1"] == 0  # the field is the second shape of every pair
    assert swapped.all() and len(np.unique(found["shape0"])) >= 6
    body = found["shape0"] - 1
    turns = np.array([rotation_matrix(pose[3:]) for pose in poses])[body]
    on_body = np.einsum("nij,nj->ni", turns, found["point0"]) + poses[body, :3]
    assert np.abs(on_body + found["distance"][:, None] * found["normal"] - found["point1"]).max() < 1e-12
    of_vertex = (found["feature"] >> 29 & 3) == 1
    assert np.abs(field.sample(on_body) - found["distance"])[~of_vertex].max() < 1e-9
    assert np.abs(field.sample(found["point1"]))[of_vertex].max(initial=0) < 1e-9
    for i in np.unique(body):
        own = body == i
        deepest, step = found["distance"][own].min(), 3e-5 * field.voxel + 1e-4 * 0.4  # that of the reduction
        assert deepest < exact[i] + step
        assert deepest > lowest[i] - step - 2e-3 * of_vertex[own].any()  # a vertex is measured across the face
        assert (np.diff(found["feature"][own]) > 0).all() and own.sum() <= 16


def test_points_on_a_capsule_are_on_its_surface_where_a_thin_ring_passes_through_it():
    """The middle of the ring, where its field is least, passes by the equators of the balls at the capsule's ends:
    inside, also of the balls' inner halves."""
    field = SDF.torus(0.2, 0.03).to_grid(0.01, sparse=False, precision="float64", device="cpu")
    x, z = np.meshgrid([0.16, 0.165, 0.18, 0.24], [0.06, 0.07, 0.09, 0.11])
    places = np.stack([x, 0 * x, z], axis=-1).reshape(-1, 3)
    places = np.concatenate([places, places * [1, 1, -1]])
    poses = np.concatenate([places, np.tile([0.0, 0, 0, 1], (len(places), 1))], axis=1)
    model = over(field, "capsule", poses, "float64")
    capsule = SDF.capsule(*SHAPES["capsule"])
    found = distances(model, [[0, i + 1] for i in range(len(poses))])
    assert np.abs(capsule.sample(found["point1"] - places)).max() < 1e-9
    assert np.abs(field.sample(found["point1"]) - found["distance"]).max() < 1e-9
    reference = least_values(field, "capsule", SHAPES["capsule"], np.tile(np.eye(3), (len(poses), 1, 1)), places)
    assert np.abs(found["distance"] - reference).max() < 1e-6
    contacts = contacts_between(model)
    assert len(np.unique(contacts["shape0"])) == len(poses)
    assert np.abs(capsule.sample(contacts["point0"])).max() < 1e-9


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


def plate(side: int):
    """A square of 0.8 m in the plane z = 0, of small triangles."""
    along = np.linspace(-0.4, 0.4, side)
    points = np.stack([*np.meshgrid(along, along, indexing="ij"), np.zeros((side, side))], axis=2).reshape(-1, 3)
    corner = (np.arange(side - 1)[:, None] * side + np.arange(side - 1)).ravel()
    first = np.column_stack([corner, corner + side, corner + side + 1])
    return points, np.concatenate([first, np.column_stack([corner, corner + side + 1, corner + 1])])


@pytest.mark.parametrize(
    ("kind", "on"), [(kind, on) for kind in RESTING for on in ("box", "bowl")] + [("field", "mesh")]
)
def test_what_rests_stays(kind, on):
    """After 3 s a body on the field drifts by less than 0.1 mm in 3 s, and in time jitters by less than 1 mm/s. So does
    a field on a mesh, whose edges and corners meet its rounded rim."""
    if on == "mesh":
        field, place = plate(41), (0.013, 0.007, 0.1)
    elif on == "box":
        field, place = SDF.box(0.3, 0.3, 0.1).to_grid(0.02, precision="float64", device="cpu"), (0.013, 0.007, 0.1)
    else:  # in the middle: a ball off it would roll for ever
        field = SDF.from_function(
            bowl, [-0.38] * 2 + [-0.23], [0.38] * 2 + [0.23], 0.02, precision="float64", device="cpu"
        )
        place = (0, 0, 0.03)
    shape, arguments, height, q = RESTING[kind]
    builder = sim.ModelBuilder()
    if on == "mesh":
        builder.add_shape_mesh(-1, field, xform=sim.transform(p=(0, 0, 0.1)))
    else:
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


FULL = [(4, floor, voxel, 2.0, 3.0) for floor in ("box", "field") for voxel in (0.02, 0.0125)]


@pytest.mark.parametrize(
    ("count", "floor", "voxel", "settle", "seconds"),
    [(3, "box", 0.0125, 1.0, 0.4), *(pytest.param(*case, marks=pytest.mark.slow) for case in FULL)],
)
def test_stacks_of_fields_stand(count, floor, voxel, settle, seconds, precision):
    """Boxes as fields, each set off a little, so that corners of one are over the rounded rims of the next. They drift
    by less than 0.1 mm in 3 s and move by less than 0.1 mm/s (rad/s), on the same contacts in all steps."""
    builder = sim.ModelBuilder()
    if floor == "field":
        field = SDF.box(0.3, 0.3, 0.1).to_grid(0.02, precision="float64", device="cpu")
        builder.add_shape_sdf(-1, field, xform=sim.transform(p=(0, 0, -0.1)))
    else:
        builder.add_shape_box(-1, 0.5, 0.5, 0.1, xform=sim.transform(p=(0, 0, -0.1)))
    block = SDF.box(0.1, 0.08, 0.05).to_grid(voxel, precision="float64", device="cpu")
    for i in range(count):
        place = (0.013 + 0.002 * i, 0.007 + 0.001 * i, 0.05 + 0.1 * i)
        builder.add_shape_sdf(builder.add_body(xform=sim.transform(p=place)), block)
    places, speed, manifolds = simulate(builder.finalize(device="cpu", precision=precision), seconds, settle)
    assert np.linalg.norm(places - places[0], axis=2).max() < 1e-4 * seconds / 3
    assert speed < 1e-4
    assert len(manifolds) == 1


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


# ---- fast bodies

FAST = {
    "sphere": ("sphere", (0.03,), 0.045),
    "box": ("box", (0.03, 0.05, 0.02), 0.035),
    "ball field": ("sdf", (SDF.sphere(0.03), 0.015), 0.045),
    "box field": ("sdf", (SDF.box(0.03, 0.05, 0.02), 0.01), 0.042),
}
"""Kind, what it is given, and the height that it must come down to; contacts at the rims of two fields lean sideways,
and stop it sooner."""


def thrown(kind: str, speed: float, spin, place=(-0.15, 0.01, 0.2)):
    """A body that flies down at a field, a wall of 1 cm."""
    wall = SDF.box(0.3, 0.3, 0.005).to_grid(0.005, sparse=False, precision="float64", device="cpu")
    builder = sim.ModelBuilder(gravity=0.0)
    builder.add_shape_sdf(-1, wall)
    body = builder.add_body(xform=(*place, 0, 0, 0, 1), velocity=(0, 0, -speed, *spin))
    getattr(builder, f"add_shape_{FAST[kind][0]}")(body, *FAST[kind][1])
    return builder.finalize(device="cpu", precision="float64")


def heights(model, steps: int, dt: float) -> np.ndarray:
    solver, state, after, control = sim.solvers.Featherstone(model), model.state(), model.state(), model.control()
    found = []
    for _ in range(steps):
        solver.step(state, after, control, None, dt)
        state, after = after, state
        found.append(state.body_q[0, 2])
    return np.array(found)


@pytest.mark.parametrize("speed", [30.0, 100.0, 300.0])
@pytest.mark.parametrize("kind", FAST)
def test_nothing_goes_through_a_thin_wall_of_a_field(kind, speed):
    """In a step of 5 ms: it is stopped where they meet, not before, and the other side is not reached."""
    found = heights(thrown(kind, speed, (0, 0, 0)), 20, 0.005)
    assert found.min() > 0.005
    assert found.min() < FAST[kind][2]  # the wall begins at 0.005


@pytest.mark.parametrize("spin", [(20, 30, 10), (0, 500, 300)])
@pytest.mark.parametrize("kind", FAST)
def test_what_spins_does_not_go_through_either(kind, spin):
    for speed in (100.0, 300.0):
        assert heights(thrown(kind, speed, spin), 20, 0.005).min() > 0.005


@pytest.mark.parametrize("axis", [(0, 0, 1), (0, 1, 0)])
@pytest.mark.parametrize("kind", FAST)
def test_what_turns_so_fast_that_rounds_run_out_does_not_go_through(kind, axis):
    """Eight turns a step: 64 rounds end centimetres above the wall, further than half of what the pair is thick."""
    model = thrown(kind, 30.0, 1e4 * np.array(axis), (-0.1, 0.01, 0.07))
    assert len(contacts_between(model, 0.005)["feature"]) > 0
    assert heights(model, 8, 0.005).min() > 0.005


def test_what_passes_by_is_left_alone():
    """A ball that spins, beside a wall that it comes no nearer to than 2 cm; and one that flies past its rim."""
    beside = (0.0, 0.0, 0.055)
    throws = [(beside, 0.0, (0, 200, 300)), (beside, 0.0, (0, 6000, 8000)), ((-0.36, 0.0, 0.5), 300.0, (0, 0, 0))]
    for place, speed, spin in throws:
        model = thrown("ball field", speed, spin, place)
        assert len(contacts_between(model, 0.005)["feature"]) == 0
        assert np.allclose(heights(model, 3, 0.005), place[2] - speed * 0.005 * np.arange(1, 4), atol=1e-9)


# ---- what no answer depends on


def shuffled(model, seed: int, path):
    """The trees of all meshes replaced by ones that exclude nothing, with the triangles of each in a random order."""
    random = np.random.default_rng(seed)
    model.save(path)
    with np.load(path) as file:
        arrays = dict(file)
    for first, end in itertools.pairwise(arrays["model.mesh_triangle_start"]):
        arrays["model.mesh_order"][first:end] = random.permutation(arrays["model.mesh_order"][first:end])
    arrays["model.mesh_lower"][:], arrays["model.mesh_upper"][:] = -1e3, 1e3
    np.savez(path, **arrays)
    return sim.Model.load(path, device="cpu")


@pytest.mark.parametrize("dt", [None, 0.005])
def test_nothing_depends_on_the_shape_of_a_tree(dt, precision, tmp_path):
    """Contacts and distances, to the bit, of pairs with small and large triangles, at rest and followed."""
    flat = np.array([[-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]], float)
    forms = SDF.torus(0.2, 0.08), SDF.box(0.1, 0.08, 0.05), SDF.sphere(0.1)
    ring, small, ball = (one.to_grid(0.04, sparse=False, precision="float64", device="cpu") for one in forms)
    builder = sim.ModelBuilder()
    builder.add_shape_sdf(-1, ring)
    builder.add_shape_mesh(-1, (flat, [[0, 1, 2], [0, 2, 3]]), xform=sim.transform(p=(0, 0, 0.081)))
    q = sim.quat_from_axis_angle((1, 2, 3), 0.1)
    speed = dict(velocity=(1, -2, -60, 20, 30, 0)) if dt else {}
    height = 0.2 if dt else 0.0
    for x, shape in ((-0.2, ("sdf", (small,))), (0.0, ("mesh", (HULL,))), (0.2, ("sdf", (ball,)))):
        body = builder.add_body(xform=(x, 0.02, 0.12 + height, *q), **speed, **GIVEN)
        getattr(builder, f"add_shape_{shape[0]}")(body, *shape[1])
    model = builder.finalize(device="cpu", precision=precision)
    made = [model, *(shuffled(model, seed, tmp_path / "model.npz") for seed in (1, 2))]
    plain, *others = (contacts_between(one, dt) for one in made)
    assert len(plain["feature"]) > 12
    pairs = [[0, 2], [0, 3], [0, 4], [1, 2], [1, 4], [2, 4]]
    apart = [sim.collision.shape_distance(one, one.state(), pairs) for one in made]
    for other, distance in zip(others, apart[1:], strict=True):
        assert all(values.tobytes() == other[name].tobytes() for name, values in plain.items())
        for name in ("distance", "point0", "point1", "normal"):
            assert getattr(distance, name).tobytes() == getattr(apart[0], name).tobytes()


def test_numbers_of_contacts_tell_the_triangle_on_surfaces_of_very_many():
    """Two balls of one field on a height field, over triangles whose numbers differ by 65,536: 18 of the 28 bits of a
    number are the triangle's, the rest its part's."""
    side, cells = 0.02, 256

    def balls(points):
        return np.minimum(*(np.linalg.norm(points - [0, y, 0], axis=1) for y in (-2.56, 2.56))) - 0.03

    end = np.array([0.05, 2.61, 0.05])
    field = SDF.from_function(balls, -end, end, 0.004, precision="float64", device="cpu")
    builder = sim.ModelBuilder()
    half = 0.5 * side * cells
    builder.add_shape_heightfield(-1, np.zeros((2 * cells + 1, cells + 1)), half, 2 * half)
    builder.add_shape_sdf(builder.add_body(xform=(0.0137, 0.0063, 0.029, 0, 0, 0, 1), **GIVEN), field)
    found = contacts_between(builder.finalize(device="cpu", precision="float64"))
    assert len(np.unique(found["feature"])) == len(found["feature"])
    of_triangle = (found["feature"] >> 29) == 2
    triangle = (found["feature"][of_triangle] & (1 << 28) - 1) >> 10
    cell = triangle % (2 * cells * cells)
    place = found["point0"][of_triangle]  # of the first shape, which stands still
    row, column = (place[:, 1] + 2 * half) / side, (place[:, 0] + half) / side
    assert np.abs(cell // cells + 0.5 - row).max() <= 0.501 and np.abs(cell % cells + 0.5 - column).max() <= 0.501
    assert (cell < 65536).any() and (cell > 65536).any()


# ---- fields that are no true distances


def test_a_field_that_rises_faster_than_distance_between_its_blocks_is_searched_as_it_is():
    """Beyond the blocks that hold nodes its values are five times a ball's: the least on a box that reaches there."""
    sparse = SDF.sphere(0.3).to_grid(0.01, precision="float64", device="cpu")
    grid = sparse.grid()
    far = np.abs(grid["coarse"]) > 0.1
    coarse = np.where(far, 5 * grid["coarse"], grid["coarse"])
    block_of = np.flatnonzero(grid["slot"] >= 0).astype(np.int32)
    steep = SDF(sparse.origin, 0.01, sparse.blocks, np.inf, coarse, grid["slot"], block_of, grid["values"])
    held = field_mesh(steep, None, "steep").field
    field = SDF(held.origin, held.voxel, held.blocks, np.inf, held.corner, held.slot, block_of, held.node)
    random = np.random.default_rng(0)
    q = random_rotations(random, 12)
    poses = np.concatenate([random.uniform(-0.25, 0.25, (12, 3)), q], axis=1)
    builder = sim.ModelBuilder()
    builder.add_shape_sdf(-1, steep)
    for number, pose in enumerate(poses):
        builder.add_shape_box(builder.add_body(xform=tuple(pose), **GIVEN), 0.1, 0.15, 0.08, collision_group=number)
    found = distances(builder.finalize(device="cpu", precision="float64"), [[0, i + 1] for i in range(12)])
    expected = [least_value(field, "box", (0.1, 0.15, 0.08), rotation_matrix(p[3:]), p[:3]) for p in poses]
    assert np.abs(field.sample(found["point1"]) - found["distance"]).max() < 1e-9
    assert (found["distance"] - expected).max() < 1e-6
    assert min(expected) < -0.5  # steep, not deep
