"""sim.collision.shape_distance: every pair against brute force over directions, MuJoCo and closed forms."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import simengine as sim
from simengine.collision import shape_distance
from simengine.enums import ShapeType
from simengine.errors import ModelError
from tests.collision import mujoco_pairs
from tests.collision.collision_pairs import random_rotations, turn, unit
from tests.collision.convex_pairs import KINDS, PAIRS, Shapes, gaps, model_of, random_pairs, searched_distance
from tests.collision.distance_reference import balanced_pairs, convex_errors, witness_errors

NAMES = ["-".join(kind.name.lower() for kind in kinds) for kinds in PAIRS]
every_pair = pytest.mark.parametrize("kinds", PAIRS, ids=NAMES)


def measure(a: Shapes, b: Shapes, precision: str = "float64", swapped: bool = False):
    """Distance, normal and witness points of each pair, float64."""
    model, state, pairs = model_of(a, b, precision)
    found = shape_distance(model, state, pairs[:, ::-1] if swapped else pairs)
    return [np.asarray(x, float) for x in (found.distance, found.normal, found.point0, found.point1)]


@functools.cache
def example(kinds, n: int = 99):
    a, b = random_pairs(kinds, n, seed=KINDS.index(kinds[0]) * 10 + KINDS.index(kinds[1]))
    return a, b, measure(a, b)


@every_pair
def test_distance_is_that_of_brute_force(kinds):
    """The gap along the normal, which bounds the distance from below, is the distance; no direction parts the shapes
    further; and the nearest points are on the shapes, opposite to each other."""
    a, b, found = example(kinds)
    distance, normal = found[:2]
    touching = np.abs(distance) < 1e-3
    assert np.mean(distance > 1e-3) > 0.2 and np.mean(distance < -1e-3) > 0.15 and touching.mean() > 0.1
    assert np.max(np.abs(np.linalg.norm(normal, axis=1) - 1)) < 1e-9
    assert np.max(np.abs(gaps(a, b, normal[:, None])[:, 0] - distance)) < 1e-6
    assert np.max(searched_distance(a, b, normal, np.random.default_rng(3)) - distance) < 1e-6
    assert np.max(witness_errors(a, b, *found)) < 1e-6


@every_pair
def test_float32_is_within_a_tenth_of_a_millimetre(kinds):
    a, b, found = example(kinds)
    single = measure(a, b, "float32")
    assert np.max(np.abs(single[0] - found[0])) < 1e-4
    assert np.max(np.abs(gaps(a, b, unit(single[1])[:, None])[:, 0] - found[0])) < 1e-4
    assert np.max(witness_errors(a, b, *single)) < 1e-4


@every_pair
def test_exchanged_shapes_have_the_same_distance_and_the_opposite_normal(kinds):
    a, b, found = example(kinds)
    distance, normal, point0, point1 = measure(a, b, swapped=True)
    assert np.max(np.abs(distance - found[0])) < 1e-9
    same = np.linalg.norm(normal + found[1], axis=1) < 1e-4
    assert same.mean() > 0.97  # else two ways out are as short
    assert np.allclose(point1 - point0, distance[:, None] * normal, atol=1e-12)


@pytest.mark.parametrize("n", [45, pytest.param(10_000, marks=pytest.mark.slow)])
@every_pair
def test_distance_of_random_pairs_lies_between_its_bounds(kinds, n):
    """Within 1e-6 m in float64 and 1e-4 m in float32 of bounds from both sides, as is the gap along the normal; and the
    nearest points as far off their shapes and that line."""
    exact = []

    def distance_of(a, b):
        exact[:] = measure(a, b)
        return exact[0]

    errors = {"float64": [], "float32": []}
    for a, b, rows in balanced_pairs(kinds, n, 100, distance_of):
        measured = [[x[rows] for x in found] for found in (exact, measure(a, b, "float32"))]
        for name, found in zip(errors, convex_errors(a[rows], b[rows], measured[0][1], measured), strict=True):
            errors[name].append(np.column_stack([found.distance, found.normal, found.witness]))
    for name, limit in (("float64", 1e-6), ("float32", 1e-4)):
        found = np.concatenate(errors[name])
        assert len(found) == n and (found.max(0) < limit).all()


MUJOCO_KINDS = (ShapeType.SPHERE, ShapeType.CAPSULE, ShapeType.ELLIPSOID, ShapeType.CYLINDER, ShapeType.BOX)


@pytest.mark.parametrize(
    "kinds", [p for p in PAIRS if set(p) <= set(MUJOCO_KINDS)], ids=lambda k: "-".join(x.name for x in k)
)
def test_distance_apart_is_that_of_mujoco(kinds):
    a, b, (distance, *_) = example(kinds)
    rows = np.flatnonzero(distance > 1e-3)
    theirs = mujoco_pairs.distances_of(kinds, *(x[rows] for x in (a.pose, a.size, b.pose, b.size)))
    assert len(rows) > 15 and np.max(np.abs(theirs - distance[rows])) < 2e-6


# ---- degenerate configurations

TURNS = {"aligned": (0, 0, 0, 1), "quarter turn and upside down": (np.sqrt(0.5), np.sqrt(0.5), 0, 0)}


def shapes_at(kind: ShapeType, places, q, size) -> Shapes:
    n = len(places)
    pose = np.column_stack([places, np.tile(q, (n, 1))])
    points = None
    if kind == ShapeType.CONVEX_HULL:
        corners = np.stack(np.meshgrid(*[[-1.0, 1]] * 3, indexing="ij"), -1).reshape(-1, 3) * size
        points, size = np.tile(corners, (n, 1, 1)), (1, 1, 1)
    own = {ShapeType.SPHERE: (1, 0, 0), ShapeType.CAPSULE: (1, 1, 0), ShapeType.CYLINDER: (1, 1, 0)}
    own |= {ShapeType.CONE: (1, 1, 0)}
    return Shapes(kind, pose, np.tile(np.multiply(size, own.get(kind, (1, 1, 1))), (n, 1)), points)


@pytest.mark.parametrize("turn", TURNS)
@every_pair
def test_coincident_parallel_and_touching_shapes(kinds, turn, precision):
    """Centres that coincide or lie on one axis; parallel edges and faces, apart, flush and overlapping; to the last
    digit where these meet, and to a thousandth of it off."""
    size = (0.25, 0.5, 0.125)
    steps = np.array([0, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 1.0, 0.5 + 1e-5, 0.75 - 1e-5, 1e-7])
    ways = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, -1], [1, 1, 0], [1, 0, 1]])
    places = (steps[:, None, None] * ways).reshape(-1, 3)
    a = shapes_at(kinds[0], np.zeros_like(places), (0, 0, 0, 1), size)
    b = shapes_at(kinds[1], places, TURNS[turn], size)
    distance, normal, point0, point1 = measure(a, b, precision)
    best = searched_distance(a, b, normal, np.random.default_rng(0))
    tolerance = 1e-6 if precision == "float64" else 1e-4
    assert np.isfinite(normal).all() and np.isfinite(point0).all() and np.isfinite(point1).all()
    assert np.max(np.abs(best - distance)) < tolerance


def test_spheres_and_boxes_about_one_point_leave_each_other_by_the_shortest_way(precision):
    a, b = (shapes_at(ShapeType.SPHERE, np.zeros((1, 3)), (0, 0, 0, 1), (r, 0, 0)) for r in (0.3, 0.2))
    assert measure(a, b, precision)[0] == pytest.approx(-0.5, abs=1e-6)
    a, b = (shapes_at(ShapeType.BOX, np.zeros((1, 3)), (0, 0, 0, 1), h) for h in ((0.3, 0.2, 0.1), (0.4, 0.25, 0.5)))
    distance, normal, *_ = measure(a, b, precision)
    assert distance == pytest.approx(-0.45, abs=1e-6) and np.abs(normal[0, 1]) == pytest.approx(1)


@pytest.mark.parametrize("scale", [1e-6, 1e-3, 1e4])
def test_small_and_large_shapes_are_measured_in_their_own_size(scale, precision):
    a, b = random_pairs((ShapeType.CYLINDER, ShapeType.CONVEX_HULL), 60, seed=5)
    whole = measure(a, b)[0]
    for shapes in (a, b):
        shapes.pose[:, :3] *= scale
        shapes.size = shapes.size * scale
        if shapes.points is not None:
            shapes.points, shapes.size = shapes.points * scale, shapes.size / scale
    scaled = measure(a, b, precision)[0] / scale
    assert np.max(np.abs(scaled - whole)) < (1e-7 if precision == "float64" else 1e-4)


# ---- planes, meshes, height fields


def scene(*add, precision="float64"):
    """Static shapes by (method, arguments, options); their model and state."""
    builder = sim.ModelBuilder()
    for method, arguments, options in add:
        getattr(builder, f"add_shape_{method}")(-1, *arguments, **options)
    model = builder.finalize(device="cpu", precision=precision)
    return model, model.state()


def test_distance_over_a_plane_is_the_height_of_the_lowest_point():
    q = sim.quat_from_axis_angle((1, 0, 0), 0.4)
    ground = ("plane", (), dict(xform=sim.transform(p=(0, 0, 0.1))))
    at = dict(xform=sim.transform(p=(1, 2, 1), q=q))
    points = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]]) * 0.3
    down = np.array([0, -np.sin(0.4), -np.cos(0.4)])  # the plane's -normal, in the shape
    lowest = {
        ("sphere", (0.2,)): 0.2,
        ("capsule", (0.1, 0.2)): 0.1 + 0.2 * np.cos(0.4),
        ("box", (0.1, 0.2, 0.3)): 0.2 * np.sin(0.4) + 0.3 * np.cos(0.4),
        ("ellipsoid", (0.1, 0.2, 0.3)): np.linalg.norm(np.array([0.1, 0.2, 0.3]) * down),
        ("cylinder", (0.2, 0.3)): 0.2 * np.sin(0.4) + 0.3 * np.cos(0.4),
        ("cone", (0.2, 0.3)): 0.2 * np.sin(0.4) + 0.3 * np.cos(0.4),
    }
    shapes = [(name, size, at) for name, size in lowest]
    shapes += [("convex_hull", (points,), at), ("mesh", ((points, [[0, 1, 2], [1, 2, 3]]),), at)]
    model, state = scene(ground, *shapes)
    found = shape_distance(model, state, [[0, i] for i in range(1, 9)])
    expected = [0.9 - depth for depth in lowest.values()] + [0.9 - np.max(points @ down)] * 2
    assert np.allclose(found.distance, expected, atol=1e-12)
    assert np.allclose(found.normal, [0, 0, 1]) and np.allclose(found.point0[:, 2], 0.1)
    back = shape_distance(model, state, [[i, 0] for i in range(1, 9)])
    assert np.allclose(back.distance, expected, atol=1e-12) and np.allclose(back.normal, [0, 0, -1])


def point_triangle_distance(p, triangles) -> float:
    """By projection on the plane, the edges and the corners of each triangle."""
    a, b, c = np.moveaxis(triangles, 1, 0)
    n = np.cross(b - a, c - a)
    foot = p - (np.sum((p - a) * n, 1) / np.sum(n * n, 1))[:, None] * n
    inside = np.ones(len(a), bool)
    best = np.inf
    for u, v in ((a, b), (b, c), (c, a)):
        inside &= np.sum(np.cross(v - u, foot - u) * n, 1) >= 0
        t = np.clip(np.sum((p - u) * (v - u), 1) / np.sum((v - u) ** 2, 1), 0, 1)
        best = min(best, np.linalg.norm(p - u - t[:, None] * (v - u), axis=1).min())
    return min(best, np.linalg.norm(p - foot, axis=1)[inside].min(initial=np.inf))


@pytest.mark.parametrize("scale", [(1, 1, 1), (0.5, 2, 1), (-1, 1, 1)])
def test_a_ball_is_as_far_from_a_mesh_as_its_middle_less_its_radius(scale):
    random = np.random.default_rng(2)
    vertices = unit(random.normal(size=(60, 3))) * random.uniform(0.4, 1, (60, 1))
    triangles = np.array([t for t in random.integers(0, 60, (80, 3)) if len(set(t)) == 3])
    pose = sim.transform(p=(0.3, -0.2, 0.5), q=random_rotations(random, 1)[0])
    places = unit(random.normal(size=(40, 3))) * random.uniform(1.5, 3, (40, 1))
    balls = [("sphere", (0.05,), dict(xform=sim.transform(p=place))) for place in places]
    model, state = scene(("mesh", ((vertices, triangles),), dict(xform=pose, scale=scale)), *balls)
    found = shape_distance(model, state, [[0, i + 1] for i in range(40)])

    world = np.array(pose[:3]) + turn(np.array([pose]), (vertices * scale)[None])[0]
    expected = [point_triangle_distance(place, world[triangles]) - 0.05 for place in places]
    assert np.allclose(found.distance, expected, atol=1e-9)
    assert np.allclose(np.linalg.norm(places - found.point0, axis=1) - 0.05, expected, atol=1e-9)


def test_a_mesh_of_a_box_is_as_far_from_any_shape_as_the_box():
    random = np.random.default_rng(4)
    corners = np.stack(np.meshgrid(*[[-1.0, 1]] * 3), -1).reshape(-1, 3) * [0.3, 0.2, 0.4]
    from simengine.builder.mesh_data import convex_hull

    pose = dict(xform=sim.transform(p=(0.1, 0.2, 0.3), q=random_rotations(random, 1)[0]))
    small = convex_hull(random.normal(size=(20, 3)) * 0.1)
    kinds = [("sphere", (0.1,)), ("capsule", (0.1, 0.2)), ("ellipsoid", (0.1, 0.2, 0.15)), ("cylinder", (0.1, 0.2))]
    kinds += [("box", (0.1, 0.2, 0.3)), ("cone", (0.1, 0.2)), ("convex_hull", (small,)), ("mesh", (small,))]
    others = []
    for name, size in kinds:
        for _ in range(12):
            place = np.array(pose["xform"][:3]) + unit(random.normal(size=3)) * random.uniform(0.75, 1.5)
            others.append((name, size, dict(xform=sim.transform(p=place, q=random_rotations(random, 1)[0]))))
    model, state = scene(("mesh", (convex_hull(corners),), pose), ("box", (0.3, 0.2, 0.4), pose), *others)
    numbers = np.arange(2, len(others) + 2)
    mesh = shape_distance(model, state, np.column_stack([0 * numbers, numbers]))
    box = shape_distance(model, state, np.column_stack([0 * numbers + 1, numbers]))
    apart = box.distance > 1e-6
    assert apart.sum() > 70
    assert np.allclose(mesh.distance[apart], box.distance[apart], atol=1e-9)
    assert np.allclose(mesh.normal[apart], box.normal[apart], atol=1e-4)


def test_a_ball_over_a_height_field_is_as_far_as_from_its_triangles():
    random = np.random.default_rng(6)
    heights = random.uniform(-0.2, 0.2, (9, 13))
    places = np.column_stack([random.uniform(-1.2, 1.2, (40, 2)), random.uniform(0.4, 1, 40)])
    balls = [("sphere", (0.1,), dict(xform=sim.transform(p=place))) for place in places]
    field = ("heightfield", (heights, 1.5, 1.0, 0.5), {})
    model, state = scene(field, *balls)
    found = shape_distance(model, state, [[0, i + 1] for i in range(40)])
    vertices, triangles = np.asarray(model.mesh_point), np.asarray(model.mesh_triangle)
    over = np.abs(places[:, 1]) < 1
    expected = np.array([point_triangle_distance(place, vertices[triangles]) - 0.1 for place in places])
    assert np.allclose(found.distance[over], expected[over], atol=1e-9)


def test_what_has_no_distance_is_refused_by_name():
    model, state = scene(("plane", (), {}), ("plane", (), {}), ("sphere", (0.1,), {}))
    with pytest.raises(ModelError, match="pair 1 is plane and plane, which have no distance"):
        shape_distance(model, state, [[0, 2], [0, 1]])
    with pytest.raises(ModelError, match=r"pair 0 is \[0 3\]; the model has shapes 0 to 2"):
        shape_distance(model, state, [[0, 3]])
    with pytest.raises(ModelError, match=r"pairs must be whole numbers \(n, 2\)"):
        shape_distance(model, state, [0.5, 1])


def test_no_pairs_have_no_distances():
    model, state = scene(("plane", (), {}), ("sphere", (0.1,), {}))
    for none in ([], (), np.zeros((0, 2), int), np.zeros(0)):
        found = shape_distance(model, state, none)
        assert found.distance.shape == (0,) and found.point0.shape == found.normal.shape == (0, 3)


def test_shapes_follow_the_bodies_of_the_state():
    builder = sim.ModelBuilder()
    for _ in range(2):
        body = builder.add_body()
        builder.add_shape_sphere(body, 0.1, xform=sim.transform(p=(0, 0, 0.5)))
    model = builder.finalize(device="cpu", precision="float64")
    state = model.state()
    state.body_q[1, :3] = (3, 0, 0)
    state.body_q[1, 3:] = (1, 0, 0, 0)  # upside down
    found = shape_distance(model, state, [[0, 1]])
    assert found.distance[0] == pytest.approx(np.hypot(3, 1) - 0.2)


def test_the_pairs_of_the_tests_cover_every_convex_kind():
    assert set(KINDS) == {ShapeType(kind) for kind in range(ShapeType.SPHERE, ShapeType.MESH)}
    assert len(PAIRS) == 28
