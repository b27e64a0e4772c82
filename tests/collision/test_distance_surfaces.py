"""sim.collision.shape_distance with planes, meshes and height fields, against their solids and each of their triangles.

A surface has the distance of its nearest triangle, and where it cuts a shape that of kernels_cuda/surface_exit.h: for
convex solids the least way out (other surfaces: test_surface_exit.py).
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
from tests.collision.distance_reference import off_surface, upper_bounds, witness_errors
from tests.collision.surface_pairs import SurfacePairs, field_pairs, mesh_pairs, nearest_triangle_distance

every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name.lower())
both_sizes = pytest.mark.parametrize("n", [60, pytest.param(10_000, marks=pytest.mark.slow)])


def in_parts(make, n: int):
    """Pairs by ``make(count, seed)``, in parts of at most 500."""
    for seed in range((n + 499) // 500):
        yield make(min(n, 500), seed)


def check_convex(pairs: SurfacePairs) -> None:
    """Convex solids: the distance, the normal and the nearest points, apart, touching and overlapping, in both
    precisions."""
    found = pairs.measure()
    truth = upper_bounds(pairs.a, pairs.solid, found[1])
    check_measured(pairs, found, truth, 1e-6, 1e-6)
    check_measured(pairs, pairs.measure("float32"), truth, 1e-4, 2e-3)


def check_measured(pairs: SurfacePairs, found, truth: np.ndarray, tolerance: float, lean: float) -> None:
    """``lean``: m, how much the solid, as a whole up to 2 m wide, may reach over the plane square to the normal: in
    float32 a normal at a vertex is known to 2e-3 rad."""
    distance, normal, point0, point1 = found
    n = unit(normal)
    assert np.max(np.abs(n - normal)) < 1e-6
    assert np.max(np.abs(distance - truth)) < tolerance
    assert np.max(np.abs(gaps(pairs.a, pairs.solid, n[:, None])[:, 0] - truth)) < lean
    outside = np.maximum(off_surface(pairs.a, point0), off_surface(pairs.solid, point1))
    apart = np.linalg.norm(point1 - point0 - distance[:, None] * normal, axis=1)
    assert outside.max() < 2 * tolerance and apart.max() < tolerance
    assert np.max(witness_errors(pairs.a, pairs.solid, *found)) < lean


@both_sizes
@every_kind
def test_a_convex_mesh_is_as_far_as_its_solid(kind, n):
    for pairs in in_parts(lambda count, seed: mesh_pairs(kind, count, seed, convex=True), n):
        check_convex(pairs)


@both_sizes
@every_kind
def test_a_height_field_is_as_far_as_the_solid_below_it(kind, n):
    for pairs in in_parts(lambda count, seed: field_pairs(kind, count, seed), n):
        check_convex(pairs)


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
