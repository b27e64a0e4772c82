"""sim.collision.shape_distance with planes, meshes and height fields, against their solids and each of their triangles.

A surface has the distance of its nearest triangle. Where it overlaps a shape its distance is that of its deepest
contact, found triangle by triangle: for convex solids that is the least way out, but for what edges take from it.
"""

from __future__ import annotations

import numpy as np
import pytest

import simengine as sim
from simengine.builder.mesh_data import convex_hull
from simengine.collision import shape_distance
from simengine.enums import ShapeType
from tests.collision.collision_pairs import random_rotations, turn, unit
from tests.collision.convex_pairs import HULLS, KINDS, Shapes, add_shape, bounding_radius, gaps, random_pairs
from tests.collision.distance_reference import least_exit, off_surface, upper_bounds
from tests.collision.surface_pairs import SurfacePairs, field_pairs, mesh_pairs, nearest_triangle_distance

ROUND = (ShapeType.SPHERE, ShapeType.CAPSULE, ShapeType.ELLIPSOID)
FACETED_TOUCH = 1e-3  # m: of a body that overlaps a surface by up to 1 mm at edges
TOUCH = 1e-9  # m: nearer to a touch any normal of a triangle will do
every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name.lower())
both_sizes = pytest.mark.parametrize("n", [60, pytest.param(10_000, marks=pytest.mark.slow)])


def in_parts(make, n: int):
    """Pairs by ``make(count, seed)``, in parts of at most 500."""
    for seed in range((n + 499) // 500):
        yield make(min(n, 500), seed)


def check_convex(pairs: SurfacePairs, kind: ShapeType) -> None:
    """Convex solids: exact where apart, in both precisions; exact too in touch for round bodies, else nearly so."""
    distance, normal, point0, point1 = pairs.measure()
    single = pairs.measure("float32")[0]
    assert np.max(np.abs(np.linalg.norm(normal, axis=1) - 1)) < 1e-9
    assert np.max(np.abs(point1 - point0 - distance[:, None] * normal)) < 1e-9
    apart = distance > TOUCH
    a, solid = pairs.a[apart], pairs.solid[apart]
    assert np.max(np.abs(upper_bounds(a, solid, normal[apart]) - distance[apart])) < 1e-6
    assert np.max(np.abs(gaps(a, solid, normal[apart, None])[:, 0] - distance[apart])) < 5e-6
    assert np.max(np.abs(single - distance)[apart]) < 1e-4
    differs = np.abs(single - distance)[distance > -1e-3]
    assert np.quantile(differs, 0.99) < (1e-4 if kind in ROUND else FACETED_TOUCH)
    assert np.max(differs) < (1e-4 if kind in ROUND else 20 * FACETED_TOUCH)
    assert np.max(off_surface(a, point0[apart])) < 5e-5
    gap = gaps(pairs.a, pairs.solid, normal[:, None])[:, 0]
    overlapping = np.flatnonzero(distance < -TOUCH)
    assert (gap[overlapping] < 0).all()
    for i in overlapping[gap[overlapping] > -3e-3]:
        exact = -least_exit(pairs.a[i : i + 1], pairs.solid[i : i + 1], normal[i])
        if exact > -1e-3:
            assert abs(distance[i] - exact) < (1e-6 if kind in ROUND else FACETED_TOUCH)


@both_sizes
@every_kind
def test_a_convex_mesh_is_as_far_as_its_solid(kind, n):
    for pairs in in_parts(lambda count, seed: mesh_pairs(kind, count, seed, convex=True), n):
        check_convex(pairs, kind)


@both_sizes
@every_kind
def test_a_height_field_is_as_far_as_the_solid_below_it(kind, n):
    for pairs in in_parts(lambda count, seed: field_pairs(kind, count, seed), n):
        check_convex(pairs, kind)


@pytest.mark.parametrize("n", [24, pytest.param(10_000, marks=pytest.mark.slow)])
@every_kind
def test_a_mesh_with_hollows_is_as_far_as_its_nearest_triangle(kind, n):
    for pairs in in_parts(lambda count, seed: mesh_pairs(kind, count, seed, convex=False), n):
        distance, normal, *_ = pairs.measure()
        single = pairs.measure("float32")[0]
        apart = np.flatnonzero(distance > 0)
        assert len(apart) > 0.1 * len(distance)
        assert np.max(np.abs(single - distance)[apart]) < 1e-4
        for i in apart:
            mesh, pose = pairs.surfaces[i % HULLS], pairs.solid.pose[i]
            expected = nearest_triangle_distance(pairs.a[i : i + 1], mesh, pose, distance[i], normal[i])
            assert abs(distance[i] - expected) < 1e-6


@every_kind
def test_ten_thousand_shapes_over_planes_are_as_high_as_their_lowest_points(kind, precision):
    n = 10_000
    a, _ = random_pairs((kind, ShapeType.BOX), n, seed=1)
    random = np.random.default_rng(2)
    plane_pose = np.column_stack([random.uniform(-1, 1, (n, 3)), random_rotations(random, n)])
    up = turn(plane_pose, np.tile([0.0, 0, 1], (n, 1)))
    gap = np.choose(np.arange(n) % 3, [random.uniform(*e, n) for e in ((1e-3, 0.05), (-1e-3, 1e-3), (-0.1, -1e-3))])
    across = random.uniform(-0.5, 0.5, (n, 3))
    foot = plane_pose[:, :3] + across - np.sum(across * up, 1, keepdims=True) * up
    a.pose[:, :3] = 0
    a.pose[:, :3] = foot + gap[:, None] * up - a.support(-up[:, None])[:, 0]
    found = over_planes(a, plane_pose, precision)
    tolerance = 1e-12 if precision == "float64" else 2e-6
    distance, normal, on_plane, on_shape = found
    assert np.max(np.abs(distance - gap)) < tolerance and np.max(np.abs(normal - up)) < tolerance
    assert np.max(np.abs(np.sum((on_plane - plane_pose[:, :3]) * up, 1))) < tolerance
    assert np.max(np.abs(np.sum((on_shape - plane_pose[:, :3]) * up, 1) - gap)) < tolerance
    assert np.max(off_surface(a, on_shape)) < 10 * tolerance


def over_planes(a: Shapes, plane_pose: np.ndarray, precision: str):
    """Distance, normal, points of the planes and of the shapes, planes on bodies of their own."""
    n = len(a.pose)
    template_count = HULLS if a.points is not None else 1
    planes = sim.ModelBuilder()
    for world in range(template_count):
        template = sim.ModelBuilder()
        add_shape(template, template.add_body(mass=1.0, inertia=np.eye(3)), a, world)
        template.add_shape_plane(template.add_body(mass=1.0, inertia=np.eye(3)))
        planes.replicate(template, len(range(world, n, template_count)))
    model = planes.finalize(device="cpu", precision=precision)
    order = np.argsort(np.arange(n) % template_count, kind="stable")
    state = model.state()
    state.body_q = np.stack([a.pose[order], plane_pose[order]], 1).reshape(-1, 7).astype(precision)
    size, radius = np.array(model.shape_size), np.array(model.shape_radius)
    size[::2], radius[::2] = a.size[order], bounding_radius(a)[order]
    model.shape_size, model.shape_radius = size, radius
    found = shape_distance(model, state, np.arange(2 * n, dtype=np.int32).reshape(n, 2)[:, ::-1])
    back = np.empty(n, int)
    back[order] = np.arange(n)
    return [np.asarray(x, float)[back] for x in (found.distance, found.normal, found.point0, found.point1)]


@pytest.mark.parametrize("other", ["mesh", "height field"])
def test_a_convex_mesh_over_a_surface_is_as_far_as_its_hull(other, precision):
    """Mesh and mesh, mesh and height field: a mesh apart is as far as the convex hull of the same points."""
    random = np.random.default_rng(9)
    builder = sim.ModelBuilder()
    x, y = np.meshgrid(np.linspace(0, 7, 12), np.linspace(0, 7, 12))
    if other == "mesh":
        mesh = convex_hull(unit(random.normal(size=(40, 3))) * [0.8, 0.6, 0.3])
        builder.add_shape_mesh(-1, mesh)
    else:
        builder.add_shape_heightfield(-1, 0.1 * np.sin(x) * np.cos(y), 1, 1, 0.3)
    for q in random_rotations(random, 40):
        points = unit(random.normal(size=(12, 3))) * random.uniform(0.1, 0.3, 3)
        place = sim.transform(p=[*random.uniform(-0.6, 0.6, 2), random.uniform(0.5, 0.9)], q=q)
        builder.add_shape_mesh(-1, convex_hull(points), xform=place)
        builder.add_shape_convex_hull(-1, points, xform=place)
    model = builder.finalize(device="cpu", precision=precision)
    number = np.arange(40)
    state = model.state()
    zero = np.zeros(40, int)
    as_mesh = shape_distance(model, state, np.column_stack([zero, 1 + 2 * number]))
    as_hull = shape_distance(model, state, np.column_stack([zero, 2 + 2 * number]))
    apart = np.asarray(as_hull.distance) > 0
    assert apart.sum() > 20
    difference = np.abs(np.asarray(as_mesh.distance, float) - np.asarray(as_hull.distance, float))
    assert np.max(difference[apart]) < (1e-9 if precision == "float64" else 1e-5)
    assert (np.asarray(as_mesh.distance)[~apart] <= 0).all()
