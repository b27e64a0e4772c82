"""Surfaces of triangles: contacts as those of the solid they bound, and none that inner edges would make."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import simengine as sim
from simengine.builder.mesh_data import Mesh, convex_hull
from simengine.enums import PAIR_CONTACTS, PairRoutine
from simengine.runtime.modes import emulated_lanes
from tests.collision.collision_pairs import random_rotations, turn, unit
from tests.collision.convex_pairs import KINDS, gaps
from tests.collision.distance_reference import least_exit
from tests.collision.surface_pairs import field_pairs, mesh_pairs
from tests.collision.test_collide_convex import AT, CORNERS, contacts_of, slabs

SHAPES = {
    "sphere": (0.1,),
    "capsule": (0.1, 0.2),
    "ellipsoid": (0.1, 0.2, 0.15),
    "cylinder": (0.1, 0.2),
    "box": (0.1, 0.2, 0.15),
    "cone": (0.1, 0.2),
    "convex_hull": (unit(np.random.default_rng(0).normal(size=(30, 3))) * [0.1, 0.2, 0.15],),
    "mesh": (convex_hull(unit(np.random.default_rng(0).normal(size=(30, 3))) * [0.1, 0.2, 0.15]),),
}
every_shape = pytest.mark.parametrize("shape", SHAPES)


def floor(n: int = 14, half: float = 1.5, jitter: float = 0.04, height=lambda x, y: 0 * x) -> Mesh:
    """A square of n x n cells with inner vertices moved in its plane, split along alternating diagonals."""
    x, y = (a.ravel() for a in np.meshgrid(np.linspace(-half, half, n + 1), np.linspace(-half, half, n + 1)))
    inner = (np.abs(x) < half) & (np.abs(y) < half)
    moves = np.random.default_rng(0).uniform(-jitter, jitter, (2, len(x))) * inner
    x, y = x + moves[0], y + moves[1]
    triangles = []
    for row in range(n):
        for column in range(n):
            a, b = row * (n + 1) + column, row * (n + 1) + column + 1
            c, d = b + n + 1, a + n + 1
            triangles += [[a, b, c], [a, c, d]] if (row + column) % 2 else [[a, b, d], [b, c, d]]
    return Mesh(np.column_stack([x, y, height(x, y)]), triangles)


def world(ground, shape: str, xform, precision="float64", reach: float = 0.0, scale=None):
    """Contacts of a body's shape with a static one, (method, arguments, options)."""
    builder = sim.ModelBuilder()
    method, arguments, options = ground
    getattr(builder, f"add_shape_{method}")(-1, *arguments, **options, gap=reach)
    getattr(builder, f"add_shape_{shape}")(builder.add_body(mass=1, inertia=(1, 1, 1), xform=xform), *SHAPES[shape])
    model = builder.finalize(device="cpu", precision=precision)
    (found,) = slabs(model, contacts_of(model, model.state()))
    return found


FLOORS = {
    "mesh": ("mesh", (floor(),), {}),
    "scaled mesh": ("mesh", (floor(),), dict(scale=(0.7, -1.2, 1))),
    "turned mesh": ("mesh", (floor(),), dict(xform=AT(q=sim.quat_from_axis_angle((0, 0, 1), 0.7)))),
    "height field": ("heightfield", (np.zeros((18, 23)), 1.5, 1.5, 0.2), {}),
}


@every_shape
@pytest.mark.parametrize("ground", FLOORS)
def test_a_triangulated_floor_touches_like_a_plane(ground, shape, precision):
    """Deepest distance and the normal of every contact, of bodies anywhere and in any pose: no inner edge shows."""
    random = np.random.default_rng(1)
    tolerance = 1e-9 if precision == "float64" else 5e-6
    for q in random_rotations(random, 12):
        place = [*random.uniform(-0.8, 0.8, 2), 0]
        plane = world(("plane", (), {}), shape, AT(p=(*place[:2], 5), q=q), reach=6.0)
        place[2] = 5 - plane["distance"].min() - random.choice([1e-4, 1e-3, 0.02])
        expected = world(("plane", (), {}), shape, AT(p=place, q=q), precision)
        found = world(FLOORS[ground], shape, AT(p=place, q=q), precision)
        assert len(found["distance"]) > 0
        side = 1 if found["shape0"][0] == 0 else -1
        assert np.allclose(side * found["normal"], [0, 0, 1], atol=1e-5)
        # of a disc that leans the plane has the lowest point itself, a reduction the deepest within 3e-4 of the radius
        assert abs(found["distance"].min() - expected["distance"].min()) < tolerance + 1e-4


@every_shape
def test_contacts_are_few_in_order_and_bits_do_not_depend_on_lanes(shape, precision):
    builder = sim.ModelBuilder()
    builder.add_shape_mesh(-1, floor(height=lambda x, y: 0.1 * np.sin(5 * x) * np.cos(4 * y)))
    random = np.random.default_rng(3)
    for q in random_rotations(random, 6):
        place = AT(p=(*random.uniform(-0.8, 0.8, 2), random.uniform(0, 0.1)), q=q)
        getattr(builder, f"add_shape_{shape}")(builder.add_body(mass=1, inertia=(1, 1, 1), xform=place), *SHAPES[shape])
    model = builder.finalize(device="cpu", precision=precision)
    state = model.state()
    plain, other = contacts_of(model, state), model.contacts()
    with emulated_lanes(4, 1, poison=True):
        sim.collide(model, state, other)
    for name in ("count", "feature", "point0", "point1", "normal", "tangent", "distance"):
        assert getattr(plain, name).tobytes() == getattr(other, name).tobytes()
    (found,) = slabs(model, plain)
    assert len(found["feature"]) > 3
    pair = found["shape0"] * 100 + found["shape1"]
    for one in np.unique(pair):
        features = found["feature"][pair == one]
        assert np.all(np.diff(features) > 0) and len(features) <= PAIR_CONTACTS[PairRoutine.CONVEX_MESH]


@pytest.mark.parametrize("shape", ["sphere", "capsule", "ellipsoid", "cylinder", "box", "cone", "convex_hull"])
def test_the_mesh_of_a_box_touches_like_the_box(shape):
    """Faces, edges and corners, by at most 4 mm: deepest distance and its normal."""
    random = np.random.default_rng(7)
    block = np.array([0.4, 0.3, 0.5])
    mesh, box = ("mesh", (convex_hull(CORNERS * block),), {}), ("box", tuple(block), {})
    touched = 0
    for q in random_rotations(random, 24):
        way = unit(random.normal(size=3) * random.choice([0.02, 1, 1], 3))
        far = AT(p=3 * way, q=q)
        apart = world(box, shape, far, reach=4.0)["distance"].min()
        for _ in range(6):  # towards the middle until it overlaps
            place = np.array(far[:3]) - (apart + 0.002) * way
            far = AT(p=place, q=q)
            apart = world(box, shape, far, reach=4.0)["distance"].min()
            if apart < -1e-4:
                break
        expected, found = world(box, shape, far), world(mesh, shape, far)
        if not -0.004 < apart < -1e-4:
            continue
        touched += 1
        assert len(found["distance"]) > 0
        best, ours = np.argmin(expected["distance"]), np.argmin(found["distance"])
        assert abs(found["distance"][ours] - expected["distance"][best]) < 3e-4
        out = [
            n if first == 0 else -n
            for n, first in (
                (expected["normal"][best], expected["shape0"][0]),
                (found["normal"][ours], found["shape0"][0]),
            )
        ]
        assert out[0] @ out[1] > 0.99
    assert touched > 12


def test_a_ball_on_an_edge_and_on_a_corner_is_pushed_between_the_faces():
    mesh = ("mesh", (convex_hull(CORNERS),), {})
    for way in (np.array([1, 0, 1.0]), np.array([1, 1, 1.0])):
        middle = np.minimum(way, 1) + unit(way) * 0.0999
        found = world(mesh, "sphere", AT(p=middle))
        assert len(found["distance"]) == 1
        assert np.allclose(-found["normal"][0] if found["shape0"][0] == 1 else found["normal"][0], unit(way), atol=1e-6)
        assert found["distance"][0] == pytest.approx(-1e-4, abs=1e-9)


def test_a_ball_in_a_valley_touches_both_slopes():
    valley = Mesh(
        [[-1, -1, 1], [-1, 1, 1], [0, -1, 0], [0, 1, 0], [1, -1, 1], [1, 1, 1]],
        [[0, 2, 3], [0, 3, 1], [2, 4, 5], [2, 5, 3]],
    )
    found = world(("mesh", (valley,), {}), "sphere", AT(p=(0, 0.2, 0.1 * np.sqrt(2) - 1e-4)))
    assert len(found["distance"]) == 2
    assert np.allclose(np.abs(found["normal"][:, 0]), np.sqrt(0.5)) and np.prod(found["normal"][:, 0]) < 0
    assert np.allclose(found["distance"], -1e-4 * np.sqrt(0.5), atol=1e-12)


def test_a_surface_is_touched_from_its_front_alone():
    below = world(FLOORS["mesh"], "sphere", AT(p=(0.1, 0.2, -0.101)), reach=0.05)
    assert len(below["distance"]) == 0
    solid = world(FLOORS["height field"], "sphere", AT(p=(0.1, 0.2, -0.15)))
    side = 1 if solid["shape0"][0] == 0 else -1
    assert solid["distance"].min() == pytest.approx(-0.25) and np.allclose(side * solid["normal"], [0, 0, 1])


def test_open_edges_hold_what_rolls_over_them():
    found = world(FLOORS["mesh"], "sphere", AT(p=(1.55, 0, np.sqrt(0.1**2 - 0.05**2) - 1e-4)))
    assert len(found["distance"]) >= 1
    normal = -found["normal"][0] if found["shape0"][0] == 1 else found["normal"][0]
    assert normal[0] > 0.45 and normal[2] > 0.8


def test_triangles_of_no_area_and_repeated_ones_change_nothing():
    mesh = floor()
    first = np.asarray(mesh.triangles)
    worse = Mesh(mesh.vertices, np.concatenate([first, [[0, 0, 1], [5, 5, 5], [0, 1, 0]], first[:40]]))
    for shape in ("sphere", "box", "cylinder"):
        height = 0.15 if shape == "box" else 0.2 if shape == "cylinder" else 0.1
        place = AT(p=(-1.2, -1.1, height - 1e-4))
        clean, dirty = (world(("mesh", (m,), {}), shape, place) for m in (mesh, worse))
        assert np.allclose(np.sort(clean["distance"]), np.sort(dirty["distance"]), atol=1e-12)
        assert len(clean["distance"]) == len(dirty["distance"])


def test_a_mesh_far_from_its_origin_touches_the_same(precision):
    """Triangles are taken relative to the body: 1 km away float32 has 6e-5 m."""
    far = Mesh(np.asarray(floor().vertices) + [1000, 0, 0], floor().triangles)
    found = world(("mesh", (far,), dict(xform=AT(p=(-1000, 0, 0)))), "box", AT(p=(0.1, 0.1, 0.1499)), precision)
    assert len(found["distance"]) == 4
    assert np.allclose(found["distance"], -1e-4, atol=1e-9 if precision == "float64" else 1e-6)


def test_a_mesh_lies_on_a_mesh_and_on_a_plane_by_its_vertices():
    slab = convex_hull(CORNERS * [0.2, 0.1, 0.05])
    for ground in (FLOORS["mesh"], FLOORS["height field"], ("plane", (), {})):
        builder = sim.ModelBuilder()
        getattr(builder, f"add_shape_{ground[0]}")(-1, *ground[1], **ground[2])
        builder.add_shape_mesh(builder.add_body(xform=AT(p=(0.1, 0.2, 0.0499))), slab)
        model = builder.finalize(device="cpu", precision="float64")
        (found,) = slabs(model, contacts_of(model, model.state()))
        points = found["point0"] if found["shape0"][0] == 1 else found["point1"]
        corners = {tuple(np.sign(np.round(p[:2], 3))) for p in points}
        assert len(corners) == 4 and np.allclose(found["distance"], -1e-4, atol=1e-7)


def test_contacts_do_not_depend_on_the_order_of_the_triangles():
    mesh = floor(height=lambda x, y: 0.05 * np.sin(4 * x))
    order = np.random.default_rng(0).permutation(len(mesh.triangles))
    other = Mesh(mesh.vertices, np.asarray(mesh.triangles)[order])
    q = sim.quat_from_axis_angle((0, 0, 1), 0.4)
    one, two = (world(("mesh", (m,), {}), "box", AT(p=(0.1, 0.1, 0.17), q=q)) for m in (mesh, other))
    sort = [np.lexsort(np.round(x["point0"], 9).T) for x in (one, two)]
    assert len(one["distance"]) == len(two["distance"]) > 2
    assert np.allclose(one["distance"][sort[0]], two["distance"][sort[1]], atol=1e-9)


def test_the_frame_of_a_contact_is_that_of_the_bodies():
    """Witness points lie on the surface and on the body, that far apart."""
    pose = AT(p=(0.3, -0.2, 0.1), q=random_rotations(np.random.default_rng(2), 1)[0])
    up = turn(np.array([pose]), np.array([[0, 0, 1.0]]))[0]
    found = world(("mesh", (floor(),), dict(xform=pose)), "sphere", AT(p=np.array(pose[:3]) + 0.0995 * up))
    assert found["distance"][0] == pytest.approx(-5e-4, abs=1e-12)
    on_mesh, on_ball = (
        (found["point1"], found["point0"]) if found["shape0"][0] == 1 else (found["point0"], found["point1"])
    )
    assert np.allclose(on_mesh[0], pose[:3], atol=1e-9) and np.allclose(np.linalg.norm(on_ball[0]), 0.1)


@pytest.mark.parametrize("n", [240, pytest.param(6000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name.lower())
def test_what_overlaps_a_convex_mesh_a_little_touches_it_and_is_not_thrown_out(kind, n, precision):
    """Overlaps of 0.01 to 1 mm, of faces, edges and vertices, sharp ones too: there is a contact, none is much deeper
    than the overlap, and the deepest is seldom much shallower."""
    touching = 0
    depths = []
    for seed in range(n // 240):
        pairs = mesh_pairs(kind, 240, seed, convex=True)
        model, state, numbers = pairs.placed(precision)
        _, normal, *_ = pairs.measure()
        gap = gaps(pairs.a, pairs.solid, normal[:, None])[:, 0]
        contacts = contacts_of(model, state)
        found = list(slabs(model, contacts))
        world = np.asarray(model.shape_world)[numbers[:, 0]]
        for i in np.flatnonzero((gap < -1e-5) & (gap > -3e-3)):
            exact = -least_exit(pairs.a[i : i + 1], pairs.solid[i : i + 1], normal[i])
            if not -1e-3 < exact < -1e-5:
                continue
            touching += 1
            distances = found[world[i]]["distance"]
            assert len(distances) > 0
            depths.append((exact, distances.min()))
    exact, deepest = np.array(depths).T
    assert np.all(deepest > 6 * exact - 1e-3) and np.mean(deepest < 0.5 * exact + 2e-5) > 0.97
    assert touching > n // 20


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name.lower())
def test_what_overlaps_a_surface_at_any_depth_touches_it(kind, precision):
    """Convex meshes and fields, by 0.1 mm to some centimetres."""
    for pairs in (mesh_pairs(kind, 300, 7, convex=True), field_pairs(kind, 300, 7)):
        distance = pairs.measure()[0]
        model, state, numbers = pairs.placed(precision)
        found = list(slabs(model, contacts_of(model, state)))
        world = np.asarray(model.shape_world)[numbers[:, 0]]
        cut = np.flatnonzero(distance < -1e-4)
        assert len(cut) > 60 and all(len(found[world[i]]["distance"]) > 0 for i in cut)


def test_a_ball_touches_a_round_mesh_wherever_it_lies(precision):
    """On faces, on ridges between faces a few degrees apart, and on vertices: as deep as the nearest triangle says."""
    import trimesh

    ball = trimesh.creation.icosphere(subdivisions=2)
    ridges = unit(ball.vertices[ball.edges_unique].mean(1))
    ways = np.concatenate([unit(np.random.default_rng(0).normal(size=(20, 3))), ball.vertices[::20], ridges[::24]])
    query = sim.collision.Mesh(ball.vertices, ball.faces)
    near, far = np.ones(len(ways)), np.full(len(ways), 1.2)
    for _ in range(50):  # to where the nearest triangle is 1e-4 m within the ball
        middle = 0.5 * (near + far)
        deep = query.closest_point(middle[:, None] * ways).distance < 0.1 - 1e-4
        near, far = np.where(deep, middle, near), np.where(deep, far, middle)
    for way, height in zip(ways, far, strict=True):
        found = world(("mesh", ((ball.vertices, ball.faces),), {}), "sphere", AT(p=height * way), precision)
        assert found["distance"].min() == pytest.approx(-1e-4, abs=1e-9 if precision == "float64" else 1e-6)


@pytest.mark.parametrize("radius", [0.1, 3.0])
def test_a_height_field_is_solid_below_its_base_too_under_each_body(radius):
    found = []
    for base in (0.0, 1.0, 50.0):
        builder = sim.ModelBuilder()
        builder.add_shape_heightfield(-1, np.full((5, 5), -5.0), 1, 1, base)
        body = builder.add_body(xform=sim.transform((0.1, 0.2, -5 + 0.5 * radius)))
        builder.add_shape_sphere(body, radius)
        model = builder.finalize(device="cpu", precision="float64")
        contacts = model.contacts()
        sim.collide(model, model.state(), contacts)
        assert contacts.count[0] == 1 and contacts.distance[0] == pytest.approx(-0.5 * radius, abs=1e-9)
        found.append(contacts.normal[0])
    assert np.allclose(found, [0, 0, 1], atol=1e-9)


def ring(around: int, about: int) -> Mesh:
    """A torus of radii 0.1 and 0.035 m."""
    u, v = (2 * np.pi * a.ravel() for a in np.meshgrid(np.arange(around) / around, np.arange(about) / about))
    out = 0.1 + 0.035 * np.cos(v)
    corner = np.arange(around * about).reshape(about, around)
    right, up, over = np.roll(corner, -1, 1), np.roll(corner, -1, 0), np.roll(corner, (-1, -1), (0, 1))
    triangles = np.stack([[corner, right, over], [corner, over, up]]).transpose(0, 2, 3, 1).reshape(-1, 3)
    return Mesh(np.column_stack([out * np.cos(u), out * np.sin(u), 0.035 * np.sin(v)]), triangles)


@pytest.mark.parametrize("half", [0.15, 0.3, 1.0, 4.0])
@pytest.mark.parametrize("turned", [False, True])
def test_a_mesh_on_a_box_is_as_deep_as_it_is_however_large_the_box(half, turned):
    mesh = ring(32, 32)
    # the deepest contact may be left out where others are nearly as deep (DEEPER_CONTACT, STEPS_PER_RADIUS)
    shallower = 5e-4 * 0.135 if turned else 1e-6
    for i, q in enumerate(random_rotations(np.random.default_rng(2), 6) if turned else np.array([[0.0, 0, 0, 1]])):
        for depth in (5e-4, 1e-4):
            lowest = turn(np.array([[0, 0, 0, *q]]), mesh.vertices[None])[0, :, 2].min()
            builder = sim.ModelBuilder()
            body = builder.add_body(mass=1, inertia=(1, 1, 1), xform=AT((0, 0, -lowest - depth), q))
            builder.add_shape_mesh(body, mesh)
            builder.add_shape_box(-1, half, half, 0.1, xform=AT((0, 0, -0.1)))
            model = builder.finalize(device="cpu", precision="float64")
            contacts = contacts_of(model, model.state())
            n = contacts.count[0]
            assert n > 0
            assert -1e-6 < contacts.distance[:n].min() + depth < shallower, (i, depth)
            assert np.abs(np.abs(contacts.normal[:n, 2]) - 1).max() < 1e-6, (i, depth)


def cuboid(hx: float, hy: float, hz: float) -> Mesh:
    """The mesh of a box: two triangles a face."""
    return convex_hull(np.array(list(itertools.product((-hx, hx), (-hy, hy), (-hz, hz)))))


GROUNDS = {
    "box": ("box", (1.0, 1.0, 0.1)),
    "hull": ("convex_hull", (cuboid(1.0, 1.0, 0.1).vertices,)),
    "mesh": ("mesh", (cuboid(1.0, 1.0, 0.1),)),
}
CUBES = {
    "box": ("box", (0.1, 0.1, 0.1)),
    "hull": ("convex_hull", (cuboid(0.1, 0.1, 0.1).vertices,)),
    "mesh": ("mesh", (cuboid(0.1, 0.1, 0.1),)),
}


@pytest.mark.parametrize("ground_last", [False, True])
@pytest.mark.parametrize("cube", CUBES)
@pytest.mark.parametrize("ground", GROUNDS)
def test_a_cube_on_a_larger_one_touches_with_its_four_corners(ground, cube, ground_last, precision):
    """Whatever they are made of and whichever comes first: the corners themselves, none of them twice."""
    builder = sim.ModelBuilder()

    def add(shapes, name, body, z):
        method, arguments = shapes[name]
        getattr(builder, f"add_shape_{method}")(body, *arguments, xform=sim.transform((0, 0, z)))

    if not ground_last:
        add(GROUNDS, ground, -1, -0.1)
    body = builder.add_body(xform=sim.transform((0.013, 0.02, 0.1 - 1e-3)))
    add(CUBES, cube, body, 0)
    if ground_last:
        add(GROUNDS, ground, -1, -0.1)
    model = builder.finalize(device="cpu", precision=precision)
    contacts = contacts_of(model, model.state())
    count = contacts.count[0]
    on_cube = contacts.point0 if model.shape_body[contacts.shape0[0]] == body else contacts.point1
    tolerance = {"float32": 1e-7, "float64": 1e-15}[precision]
    assert count == 4 and len({tuple(np.sign(p[:2])) for p in on_cube[:count]}) == 4
    np.testing.assert_allclose(np.abs(on_cube[:count, :2]), 0.1, atol=tolerance)
    np.testing.assert_allclose(contacts.distance[:count], -1e-3, atol=tolerance)
