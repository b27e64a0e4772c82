"""Convex shapes that cut surfaces with hollows: their distance against its definition (surface_reference.py)."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import simengine as sim
from simengine.builder.frames import rotation_matrix
from simengine.builder.mesh_data import Mesh, convex_hull
from simengine.collision import shape_distance
from simengine.enums import ShapeType
from simengine.runtime.modes import emulated_lanes
from tests.collision.collision_pairs import random_rotations, unit
from tests.collision.convex_pairs import Shapes, add_shape
from tests.collision.mesh_overlaps import placed
from tests.collision.surface_pairs import star
from tests.collision.surface_reference import Surface, distance_of_cut
from tests.collision.test_mesh_overlap import block, largest_gap, same_bits

HALF, ROWS = 1.0, 9


@functools.cache
def hilly(rows: int = ROWS) -> np.ndarray:
    """Heights with tops, hollows and saddles."""
    x, y = np.meshgrid(np.linspace(-HALF, HALF, rows), np.linspace(-HALF, HALF, rows))
    return 0.12 * np.sin(5 * x + 1) * np.cos(4 * y) + np.random.default_rng(3).uniform(0, 0.03, x.shape)


def notched() -> Mesh:
    """An L, with an inner and outer edges."""
    outline = np.array([[0, 0], [1, 0], [1, 0.4], [0.4, 0.4], [0.4, 1], [0, 1]]) - 0.3
    low, high = (np.column_stack([outline, np.full(6, z)]) for z in (-0.3, 0.3))
    cap = np.array([[0, 1, 2], [0, 2, 3], [0, 3, 4], [0, 4, 5]])
    sides = [[i, (i + 1) % 6, (i + 1) % 6 + 6] for i in range(6)] + [[i, (i + 1) % 6 + 6, i + 6] for i in range(6)]
    return Mesh(np.concatenate([low, high]), np.concatenate([cap[:, ::-1], cap + 6, sides]))


def bodies(kind: ShapeType, n: int, seed: int, place) -> Shapes:
    random = np.random.default_rng(seed)
    pose = np.column_stack([[place(random) for _ in range(n)], random_rotations(random, n)])
    points = unit(random.normal(size=(n, 12, 3))) * random.uniform(0.05, 0.18, (n, 1, 3))
    if kind == ShapeType.BOX:
        return Shapes(kind, pose, random.uniform(0.04, 0.15, (n, 3)))
    return Shapes(kind, pose, np.ones((n, 3)), points)


def corners_of(shapes: Shapes, i: int) -> np.ndarray:
    """The corners of shape i in the world."""
    if shapes.points is None:
        local = np.stack(np.meshgrid(*[[-1.0, 1]] * 3, indexing="ij"), -1).reshape(-1, 3) * shapes.size[i]
    else:
        local = shapes.points[i]
    return local @ rotation_matrix(shapes.pose[i, 3:]).T + shapes.pose[i, :3]


def measured(shapes: Shapes, add_surface, precision: str):
    """Distances of the shapes to a surface, and the surface's vertices and triangles."""
    builder = sim.ModelBuilder()
    add_surface(builder)
    for i in range(len(shapes.pose)):
        add_shape(builder, builder.add_body(mass=1.0, inertia=np.eye(3), xform=tuple(shapes.pose[i])), shapes, i)
    model = builder.finalize(device="cpu", precision=precision)
    found = shape_distance(model, model.state(), [[0, i + 1] for i in range(len(shapes.pose))])
    off = found.point1 - found.point0 - found.distance[:, None] * found.normal
    assert np.max(np.abs(off)) < 1e-6
    return np.asarray(found.distance), model.mesh_point, model.mesh_triangle[: int(model.mesh_triangle_start[1])]


def check(shapes: Shapes, add_surface, floor: float | None, least: int) -> None:
    single, *_ = measured(shapes, add_surface, "float32")
    distance, vertices, index = measured(shapes, add_surface, "float64")
    surface = Surface(vertices[index], index, floor)
    cut = np.flatnonzero(distance <= 0)
    assert len(cut) >= least
    for i in cut:
        corners = corners_of(shapes, i)
        expected = distance_of_cut(surface, corners, *(x[i] for x in (shapes.normals(), shapes.edges())))
        assert abs(distance[i] - expected) < 1e-6 and abs(single[i] - expected) < 1e-4


every_kind = pytest.mark.parametrize("kind", [ShapeType.BOX, ShapeType.CONVEX_HULL], ids=lambda kind: kind.name.lower())


def sizes(n: int):
    """The definition takes 0.1 s for a body."""
    return pytest.mark.parametrize("n", [n, pytest.param(200, marks=pytest.mark.slow)])


@sizes(10)
@every_kind
def test_a_body_in_a_spiky_mesh_leaves_it_by_the_ways_that_it_has(kind, n):
    def place(random):
        return unit(random.normal(size=3)) * random.uniform(0.25, 0.4)

    mesh = star(np.random.default_rng(0))
    check(bodies(kind, n, 1, place), lambda builder: builder.add_shape_mesh(-1, mesh), None, n // 2)


@sizes(30)
@every_kind
def test_a_body_in_a_notch_leaves_it_by_the_ways_that_it_has(kind, n):
    def place(random):
        return random.uniform([-0.35, -0.35, -0.35], [0.5, 0.5, 0.35])

    check(bodies(kind, n, 2, place), lambda builder: builder.add_shape_mesh(-1, notched()), None, n // 3)


@sizes(12)
@pytest.mark.parametrize(("lowest", "highest"), [(0.0, 0.15), (-0.2, -0.1)], ids=["in the top", "deep"])
@every_kind
def test_a_body_on_hilly_ground_leaves_it_by_the_ways_that_it_has(kind, lowest, highest, n):
    def place(random):
        return random.uniform([-0.5, -0.5, lowest], [0.5, 0.5, highest])

    check(bodies(kind, n, 3, place), lambda builder: builder.add_shape_heightfield(-1, hilly(), HALF, HALF, 0.5), -5.0,
          n // 3)  # fmt: skip


def test_a_ball_in_a_valley_is_as_deep_as_in_the_deeper_slope(precision):
    """Slopes of 45 and 30 degrees."""
    steep, flat = 1.0, np.tan(np.pi / 6)
    x = np.array([-1.0, 0, 1])
    heights = np.tile(np.where(x < 0, -steep * x, flat * x), (3, 1))
    builder = sim.ModelBuilder()
    builder.add_shape_heightfield(-1, heights, 1, 1, 0.5)
    middle = np.array([0.02, 0.1, 0.17])
    builder.add_shape_sphere(builder.add_body(xform=sim.transform(middle)), 0.2)
    model = builder.finalize(device="cpu", precision=precision)
    found = shape_distance(model, model.state(), [[0, 1]])
    slopes = unit(np.array([[steep, 0, 1], [-flat, 0, 1]]))
    heights_over = slopes @ middle - 0.2
    tolerance = 1e-6 if precision == "float64" else 1e-4
    assert found.distance[0] == pytest.approx(heights_over.min(), abs=tolerance) and (heights_over < 0).all()
    assert np.allclose(found.normal[0], slopes[heights_over.argmin()], atol=10 * tolerance)


def pillar(facets: int, kind: str) -> Mesh:
    """A convex solid whose top has one vertex in its middle, at the origin, with as many faces: a cone, blunt or sharp,
    of facets that differ in width, or a roof of two slopes."""
    around = 2 * np.pi * np.arange(facets) / facets
    if kind == "sharp":
        around = np.sort(np.random.default_rng(facets).uniform(0, 2 * np.pi, facets))
    rim = np.column_stack([np.cos(around), np.sin(around)])
    fall = {"blunt": 0.3, "sharp": 2.0, "roof": 0.5 * np.abs(rim[:, 1])}[kind]
    top = np.column_stack([rim, np.full(facets, -fall) if kind != "roof" else -fall])
    vertices = np.concatenate([top, top * [1, 1, 0] - [0, 0, 3], [[0, 0, 0], [0, 0, -3]]])
    i, j = np.arange(facets), np.roll(np.arange(facets), -1)
    low, tip = facets, np.full(facets, 2 * facets)
    faces = [[i, j, tip], [j + low, i + low, tip + 1], [i + low, j + low, j], [i + low, j, i]]
    mesh = Mesh(vertices, np.concatenate([np.column_stack(face) for face in faces]))
    assert not mesh.solid_problem
    return mesh


@pytest.mark.parametrize("facets", [16, 64, 65, 100, 300])
def test_a_ball_on_a_tip_of_any_number_of_facets_is_pushed_up(facets, precision):
    builder = sim.ModelBuilder()
    builder.add_shape_mesh(-1, pillar(facets, "blunt"))
    builder.add_shape_sphere(builder.add_body(xform=sim.transform((0, 0, 0.05))), 0.1)
    model = builder.finalize(device="cpu", precision=precision)
    found = shape_distance(model, model.state(), [[0, 1]])
    tolerance = 1e-6 if precision == "float64" else 1e-4
    assert found.distance[0] == pytest.approx(-0.05, abs=tolerance)
    assert np.allclose(found.normal[0], [0, 0, 1], atol=10 * tolerance)


@pytest.mark.parametrize("kind", ["blunt", "sharp", "roof"])
@pytest.mark.parametrize("facets", [64, 65, 100, pytest.param(300, marks=pytest.mark.slow)])
def test_boxes_about_a_tip_of_many_facets_are_as_deep_as_in_its_solid(facets, kind, precision):
    """By separating axes."""
    random, n, half = np.random.default_rng(facets), 8, np.array([0.1, 0.15, 0.05])
    pose = np.column_stack([random.uniform([-0.1, -0.1, -0.1], [0.1, 0.1, 0.1], (n, 3)), random_rotations(random, n)])
    mesh, box = pillar(facets, kind), block(*half)
    builder = sim.ModelBuilder()
    builder.add_shape_mesh(-1, mesh)
    for place in pose:
        builder.add_shape_box(builder.add_body(xform=tuple(place)), *half)
    model = builder.finalize(device="cpu", precision=precision)
    found = np.asarray(shape_distance(model, model.state(), [[0, i + 1] for i in range(n)]).distance)
    cut = np.flatnonzero(found <= 0)
    assert len(cut) >= n // 2
    hull = convex_hull(mesh.vertices)
    solid = np.asarray(hull.vertices), np.asarray(hull.triangles)
    for i in cut:
        expected = largest_gap(solid, (placed(box, pose[i]), box.triangles))
        assert found[i] == pytest.approx(expected, abs=1e-6 if precision == "float64" else 1e-4)


@pytest.mark.parametrize("seed", range(4))
def test_a_ball_in_a_flat_face_of_many_triangles_is_as_deep_as_in_its_plane(seed, precision):
    """All are as deep behind their plane, many boxes meet the ball, and few triangles, whatever their numbers."""
    random, facets, radius = np.random.default_rng(seed), 100, 0.01
    post = pillar(facets, "blunt")
    vertices = np.array(post.vertices)
    vertices[:facets, 2] = 0.0  # the top is flat
    mesh = Mesh(vertices, random.permutation(np.array(post.triangles)))
    places = np.column_stack([random.uniform(-0.6, 0.6, (24, 2)), random.uniform(0.5 * radius, radius, 24)])
    builder = sim.ModelBuilder()
    builder.add_shape_mesh(-1, mesh)
    for place in places:
        builder.add_shape_sphere(builder.add_body(xform=sim.transform(place)), radius)
    model = builder.finalize(device="cpu", precision=precision)
    found = shape_distance(model, model.state(), [[0, i + 1] for i in range(len(places))])
    tolerance = 1e-9 if precision == "float64" else 1e-6
    assert np.max(np.abs(np.asarray(found.distance) - (places[:, 2] - radius))) < tolerance
    assert np.max(np.abs(np.asarray(found.normal) - [0, 0, 1])) < 1e-5


def test_a_triangle_without_area_at_an_ellipsoid_on_an_edge_gives_no_normal(precision):
    """A round one as good as touches the edge of a sheet, beside which three corners lie on a line."""
    gap = 1e-10 if precision == "float64" else 2.0**-22
    corners = np.array(
        [[-2.0, -2, 0], [2, -2, 0], [2, 0, 0], [-2, 0, 0], [-0.1, -0.1, 0], [0, -0.1, 0], [0.1, -0.1, 0]]
    )
    normal = np.array([0, 0.6, 0.8])
    builder = sim.ModelBuilder()
    builder.add_shape_mesh(-1, Mesh(corners, [[0, 1, 2], [0, 2, 3], [4, 5, 6]]))
    builder.add_shape_ellipsoid(builder.add_body(xform=sim.transform((1 + gap) * normal)), 1.0, 1.0, 1.0)
    model = builder.finalize(device="cpu", precision=precision)
    found = shape_distance(model, model.state(), [[0, 1]])
    assert np.allclose(found.normal[0], normal, atol=1e-6 if precision == "float64" else 1e-3)
    assert found.distance[0] == pytest.approx(gap, abs=1e-12 if precision == "float64" else 1e-6)


def spiky(random) -> Mesh:
    """A closed mesh of 1,280 triangles, of which a body cuts hundreds."""
    import trimesh

    ball = trimesh.creation.icosphere(subdivisions=3)
    return Mesh(ball.vertices * random.uniform(0.3, 0.4, (len(ball.vertices), 1)), ball.faces)


AXES = np.diag([0.2, 0.1, 0.15])
GROUND = {
    "spiky": lambda builder, random: builder.add_shape_mesh(-1, spiky(random)),
    "hilly": lambda builder, random: builder.add_shape_heightfield(-1, hilly(65), HALF, HALF, 0.5),
    "rough": lambda builder, random: builder.add_shape_heightfield(-1, random.normal(0, 0.01, (65, 65)), HALF, HALF),
}
BODY = {
    "box": lambda builder, body: builder.add_shape_box(body, 0.15, 0.1, 0.08),
    "cylinder": lambda builder, body: builder.add_shape_cylinder(body, 0.1, 0.15),
    "ellipsoid": lambda builder, body: builder.add_shape_ellipsoid(body, 0.15, 0.15, 0.05),
    "hull": lambda builder, body: builder.add_shape_convex_hull(body, np.concatenate([AXES, -AXES])),
}


@pytest.mark.parametrize(("lanes", "seed"), [(4, 1), (32, 2)])
@pytest.mark.parametrize("body", BODY)
@pytest.mark.parametrize("ground", GROUND)
def test_lanes_that_share_a_surface_have_the_bits_of_one(ground, body, lanes, seed, precision):
    random, worlds = np.random.default_rng(3), 12
    template = sim.ModelBuilder()
    GROUND[ground](template, random)
    BODY[body](template, template.add_body(mass=1.0, inertia=np.eye(3)))
    builder = sim.ModelBuilder()
    builder.replicate(template, worlds)
    model = builder.finalize(device="cpu", precision=precision)
    state, one, many = model.state(), model.contacts(), model.contacts()
    places = unit(random.normal(size=(worlds, 3))) * random.uniform(0.2, 0.5, (worlds, 1))
    if ground != "spiky":
        places = random.uniform([-0.5, -0.5, -0.15], [0.5, 0.5, 0.15], (worlds, 3))
    state.body_q = np.column_stack([places, random_rotations(random, worlds)]).astype(precision)
    sim.collide(model, state, one)
    with emulated_lanes(lanes, seed, poison=True):
        sim.collide(model, state, many)
    assert same_bits(one, many)
    assert np.count_nonzero(one.count) >= 8 and one.distance.min() < -0.02
