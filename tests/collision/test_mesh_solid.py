"""Closed meshes push out what they hold wholly inside, by the nearest way; open and inverted ones do not."""

from __future__ import annotations

import numpy as np
import pytest

import simengine as sim
from simengine.builder.frames import rotation_matrix
from simengine.builder.mesh_data import Mesh, convex_hull
from simengine.runtime.modes import emulated_lanes
from tests.collision.collision_pairs import random_rotations, unit
from tests.collision.mesh_overlaps import use_backward_trees
from tests.collision.test_collide_convex import CORNERS

HALF = np.array([0.5, 0.4, 0.3])
BLOCK = convex_hull(CORNERS * HALF)
SMALL = {
    "sphere": (0.05,),
    "capsule": (0.03, 0.04),
    "ellipsoid": (0.05, 0.03, 0.04),
    "cylinder": (0.03, 0.04),
    "box": (0.03, 0.04, 0.02),
    "cone": (0.03, 0.04),
    "convex_hull": (unit(np.random.default_rng(0).normal(size=(20, 3))) * 0.05,),
    "mesh": (convex_hull(unit(np.random.default_rng(0).normal(size=(20, 3))) * 0.05),),
}
GIVEN = dict(mass=1, inertia=(1, 1, 1))


def contacts_of(outer: Mesh, kind: str, pose, precision="float64", first=True, speed=0.0, **options):
    """Distances and normals, towards the small body, of its contacts with a mesh, added ``first`` or after it.

    ``speed``: of the body along x (m/s), in a step of 5 ms.
    """
    builder = sim.ModelBuilder()
    body = builder.add_body(xform=tuple(pose), **GIVEN)

    def add_small():
        getattr(builder, f"add_shape_{kind}")(body, *SMALL[kind])

    if not first:
        add_small()
    builder.add_shape_mesh(-1, outer, **options)
    if first:
        add_small()
    model = builder.finalize(device="cpu", precision=precision)
    state, contacts = model.state(), model.contacts()
    state.body_qd[body, 0] = speed
    sim.collide(model, state, contacts, dt=0.005)
    n = contacts.count[0]
    small = 1 if first else 0
    side = np.where(contacts.shape1[:n] == small, 1, -1)[:, None]
    return contacts.distance[:n], side * contacts.normal[:n]


def lowest(kind: str, pose, normal) -> float:
    """How far the body reaches against a direction, from the origin of its frame, by its own support function."""
    d = -rotation_matrix(pose[3:]).T @ normal
    size = SMALL[kind]
    if kind == "sphere":
        return size[0]
    if kind == "capsule":
        return size[0] + size[1] * abs(d[2])
    if kind == "ellipsoid":
        return np.linalg.norm(np.array(size) * d)
    if kind == "box":
        return float(np.abs(d) @ size)
    if kind == "cylinder":
        return size[0] * np.hypot(d[0], d[1]) + size[1] * abs(d[2])
    if kind == "cone":
        return max(size[1] * d[2], size[0] * np.hypot(d[0], d[1]) - size[1] * d[2])
    points = SMALL[kind][0]
    return float((getattr(points, "vertices", points) @ d).max())


@pytest.mark.parametrize("speed", [5.0, 12.0, 40.0])
@pytest.mark.parametrize("kind", ["sphere", "box", "mesh"])
def test_a_fast_body_that_a_mesh_holds_is_pushed_out_as_one_at_rest(kind, speed):
    pose = (0, 0, 0.1, 0, 0, 0, 1)  # its way of at most 0.2 m ends within
    still, moving = contacts_of(BLOCK, kind, pose), contacts_of(BLOCK, kind, pose, speed=speed)
    assert len(still[0]) == 1
    assert np.array_equal(moving[0], still[0]) and np.array_equal(moving[1], still[1])


@pytest.mark.parametrize("kind", SMALL)
@pytest.mark.parametrize("first", [True, False])
def test_what_a_mesh_holds_is_pushed_out_by_the_nearest_way(kind, first):
    """Of one contact; along the normal of the face nearest to the middle (of a hull: to the mean of its vertices, of a
    mesh: to a vertex), as deep as the body's furthest point."""
    random = np.random.default_rng(1)
    for q in random_rotations(random, 6):
        place = random.uniform(-0.15, 0.15, 3)
        pose = np.array([*place, *q])
        distance, normal = contacts_of(BLOCK, kind, pose, first=first)
        assert len(distance) == 1
        n = normal[0]
        axis = int(np.abs(n).argmax())
        assert np.abs(np.abs(n) - np.eye(3)[axis]).max() < 1e-9
        face = HALF[axis] - np.sign(n[axis]) * place[axis]
        assert abs(distance[0] + face + lowest(kind, pose, n)) < 1e-9
        middle = place + rotation_matrix(q) @ np.mean(SMALL[kind][0], axis=0) if kind == "convex_hull" else place
        margins = np.concatenate([HALF - middle, HALF + middle])
        assert HALF[axis] - np.sign(n[axis]) * middle[axis] < margins.min() + (0.11 if kind == "mesh" else 1e-9)


def test_a_cavity_and_an_open_mesh_hold_nothing():
    shell = Mesh(np.concatenate([BLOCK.vertices, 0.9 * BLOCK.vertices]),
                 np.concatenate([BLOCK.triangles, BLOCK.triangles[:, ::-1] + len(BLOCK.vertices)]))  # fmt: skip
    lid_off = Mesh(BLOCK.vertices, BLOCK.triangles[1:])
    for mesh in (shell, lid_off):
        assert len(contacts_of(mesh, "sphere", (0.1, 0, 0, 0, 0, 0, 1))[0]) == 0
    assert len(contacts_of(BLOCK, "sphere", (0.1, 0, 0, 0, 0, 0, 1))[0]) == 1
    mirrored = contacts_of(BLOCK, "sphere", (0.1, 0, 0, 0, 0, 0, 1), scale=(-1, 1, 1))
    assert len(mirrored[0]) == 1 and np.isclose(mirrored[0][0], -0.35)


def test_an_inverted_mesh_and_one_with_triangles_without_area_hold_what_a_clean_one_does():
    place = (0.1, 0, 0, 0, 0, 0, 1)
    distance, normal = contacts_of(BLOCK, "sphere", place)[:2]
    with pytest.warns(UserWarning, match="wound inwards"):
        inverted = contacts_of(Mesh(BLOCK.vertices, BLOCK.triangles[:, ::-1]), "sphere", place)
    pinched = Mesh(BLOCK.vertices, np.concatenate([BLOCK.triangles, [[0, 0, 1], [2, 2, 2]]]))
    for found in (inverted, contacts_of(pinched, "sphere", place)):
        assert np.array_equal(found[0], distance) and np.array_equal(found[1], normal)


def test_a_body_outside_within_the_bounds_is_not_touched():
    """In the notch of an L, near and far from its edges."""
    outline = np.array([[0, 0], [1, 0], [1, 0.3], [0.3, 0.3], [0.3, 1], [0, 1]], float)
    low, high = (np.column_stack([outline, np.full(6, z)]) for z in (-0.2, 0.2))
    cap = np.array([[0, 1, 2], [0, 2, 3], [0, 3, 4], [0, 4, 5]])
    sides = [[i, (i + 1) % 6, (i + 1) % 6 + 6] for i in range(6)] + [[i, (i + 1) % 6 + 6, i + 6] for i in range(6)]
    notch = Mesh(np.concatenate([low, high]), np.concatenate([cap[:, ::-1], cap + 6, sides]))
    assert not notch.solid_problem
    random = np.random.default_rng(2)
    for place in random.uniform(0.36, 0.94, (20, 2)):
        assert len(contacts_of(notch, "sphere", (*place, 0, 0, 0, 0, 1))[0]) == 0
    held = contacts_of(notch, "sphere", (0.16, 0.14, 0, 0, 0, 0, 1))
    assert np.isclose(held[0][0], -0.19) and np.allclose(held[1][0], [0, -1, 0])


@pytest.mark.parametrize("kind", ["sphere", "box", "mesh"])
def test_a_body_that_starts_inside_leaves_and_rests_on_top(kind):
    builder = sim.ModelBuilder()
    builder.add_shape_mesh(-1, BLOCK)
    body = builder.add_body(xform=(0.05, 0.02, 0.22, 0, 0, 0, 1))
    getattr(builder, f"add_shape_{kind}")(body, *SMALL[kind])
    model = builder.finalize(device="cpu", precision="float64")
    solver, state, after, control = sim.solvers.Featherstone(model), model.state(), model.state(), model.control()
    for _ in range(600):
        solver.step(state, after, control, None, 0.002)
        state, after = after, state
    assert state.body_q[0, 2] > 0.3 or np.abs(state.body_q[0, :2]).max() > 0.4  # above it, or thrown off its side


@pytest.mark.parametrize("lanes", [1, 4, 32])
def test_bits_do_not_depend_on_lanes(lanes, precision):
    builder = sim.ModelBuilder()
    builder.add_shape_mesh(-1, BLOCK)
    for number, (kind, q) in enumerate(zip(SMALL, random_rotations(np.random.default_rng(3), len(SMALL)), strict=True)):
        body = builder.add_body(xform=(0.1 * number - 0.35, 0.05, -0.05, *q), **GIVEN)
        getattr(builder, f"add_shape_{kind}")(body, *SMALL[kind], collision_group=number)
    model = builder.finalize(device="cpu", precision=precision)
    plain, other = model.contacts(), model.contacts()
    sim.collide(model, model.state(), plain)
    with emulated_lanes(lanes, 1, poison=True):
        sim.collide(model, model.state(), other)
    assert plain.count[0] == len(SMALL)
    for name in ("count", "feature", "point0", "point1", "normal", "tangent", "distance"):
        assert getattr(plain, name).tobytes() == getattr(other, name).tobytes()


SLIVERS = np.array(
    [
        [-0.0673, -0.195, 0.0142],
        [-0.0446, -0.189, 0.0125],
        [0.0669, 0.1041, -0.0214],
        [0.0669, 0.0935, -0.0306],
        [-0.0675, -0.195, 0.0142],
        [-0.0675, -0.189, 0.0143],
        [-0.0675, 0.0937, 0.0143],
        [-0.0675, 0.1003, 0.0142],
        [-0.0405, 0.1003, 0.0121],
        [-0.0051, 0.0937, 0.0093],
    ]
)
"""Corners of a convex solid, some of whose triangles are a thousand times as long as wide."""


def deepest_contact(builder):
    """Distance and normal of the deepest contact of shapes 0 and 1, and what shape_distance says of them."""
    model = builder.finalize(device="cpu", precision="float64")
    state, contacts = model.state(), model.contacts()
    sim.collide(model, state, contacts)
    found = contacts.distance[: int(contacts.count[0])]
    deepest = int(np.argmin(found))
    return found[deepest], contacts.normal[deepest], sim.collision.shape_distance(model, state, [[0, 1]]).distance[0]


def test_a_sliver_of_a_mesh_pushes_nothing_along_itself():
    """The solid sinks 3.68 mm into the flat top of a box: as deep as its lowest corner."""
    turn = np.array([0.1804, -0.1811, 0.9538, 0.1579])
    turn /= np.linalg.norm(turn)
    builder = sim.ModelBuilder()
    body = builder.add_body(xform=sim.transform((-0.0004, 0.0017, 0.04), turn))
    builder.add_shape_mesh(body, convex_hull(SLIVERS))
    builder.add_shape_box(-1, 1, 1, 0.2, xform=sim.transform((0, 0, -0.2)))
    distance, normal, expected = deepest_contact(builder)
    lowest = 0.04 + (SLIVERS @ rotation_matrix(turn).T)[:, 2].min()
    assert lowest == pytest.approx(-0.00368, abs=1e-5)
    assert distance == pytest.approx(lowest, abs=1e-9) and expected == pytest.approx(lowest, abs=1e-9)
    assert abs(normal[2]) == pytest.approx(1)


def test_a_clip_about_a_bar_is_pushed_across_the_bar_not_along_it():
    """A clip whose slot is 8 cm wide, about a bar of 7.9 cm that stands 1 mm beside its middle."""
    outline = [(-6, -30), (-4, -30), (-4, 0), (4, 0), (4, -30), (6, -30), (6, 5), (-6, 5)]
    ends = [(7, 0, 1), (7, 1, 2), (7, 2, 3), (3, 4, 5), (3, 5, 6), (3, 6, 7)]
    low = np.array([(x / 100, y / 100, -0.1) for x, y in outline])
    vertices = np.concatenate([low, low + (0, 0, 0.2)])
    sides = [(i, (i + 1) % 8, (i + 1) % 8 + 8) for i in range(8)] + [(i, (i + 1) % 8 + 8, i + 8) for i in range(8)]
    faces = [*sides, *((a, c, b) for a, b, c in ends), *((a + 8, b + 8, c + 8) for a, b, c in ends)]
    builder = sim.ModelBuilder()
    builder.add_shape_mesh(builder.add_body(), (vertices, faces))
    builder.add_shape_box(-1, 0.0395, 0.03, 0.5, xform=sim.transform((0.001, -0.031, 0)))
    distance, normal, expected = deepest_contact(builder)
    assert distance == pytest.approx(-0.0005, abs=1e-9) and expected == pytest.approx(-0.0005, abs=1e-9)
    assert abs(normal[0]) == pytest.approx(1)


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_a_hull_that_touches_a_closed_mesh_is_not_held_by_it(precision):
    """Its vertices lie on the surface: round-off says of some that they are inside."""
    tolerance = 1e-6 if precision == "float32" else 1e-12
    for place in np.random.default_rng(3).uniform(-0.3, 0.3, (30, 2)):
        builder = sim.ModelBuilder()
        body = builder.add_body(xform=sim.transform((*place, 0.375)))  # of numbers that are sums of powers of two
        builder.add_shape_convex_hull(body, 0.125 * CORNERS)
        builder.add_shape_mesh(-1, convex_hull(CORNERS * (0.5, 0.5, 0.25)))
        model = builder.finalize(device="cpu", precision=precision)
        contacts = model.contacts()
        sim.collide(model, model.state(), contacts)
        found = slice(int(contacts.count[0]))
        assert np.all(np.abs(contacts.distance[found]) < tolerance), place
        assert np.all(np.abs(contacts.normal[found, 2]) > 0.99), place


def test_the_way_out_does_not_depend_on_the_tree(monkeypatch):
    """To the bit: of a cube's middle all faces are as near; over an edge between two triangles of a face both are."""
    import trimesh

    cube = trimesh.creation.box((1.0, 1.0, 1.0)).subdivide().subdivide()
    cube = Mesh(cube.vertices, cube.faces)
    places = [(0, 0, 0), (0.1, 0, 0), (0, 0.05, 0.02), (0.2, 0.1, 0.0), (0.25, 0.25, 0.3)]

    def found():
        builder = sim.ModelBuilder()
        for place in places:
            world = sim.ModelBuilder()
            world.add_shape_mesh(-1, cube)
            world.add_shape_sphere(world.add_body(xform=sim.transform(place)), 0.05)
            builder.replicate(world, 1)
        model = builder.finalize(device="cpu", precision="float64")
        contacts = model.contacts()
        sim.collide(model, model.state(), contacts)
        assert contacts.count.tolist() == [1] * len(places)
        return contacts, model.mesh_order

    one, order = found()
    use_backward_trees(monkeypatch)
    other, backward = found()
    assert not np.array_equal(order, backward)
    for name in ("distance", "normal", "feature", "point0"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name


def test_vertices_that_no_triangle_uses_touch_nothing():
    """A block that would stand on them, 0.2 m below it, and one that another mesh would hold by them."""
    loose = Mesh(np.concatenate([[(0, 0, -0.7)], 0.2 * BLOCK.vertices]), BLOCK.triangles + 1)
    builder = sim.ModelBuilder()
    builder.add_shape_mesh(builder.add_body(**GIVEN, xform=sim.transform((0, 0, 0.6))), loose)
    builder.add_ground_plane()
    builder.add_shape_mesh(-1, BLOCK, xform=sim.transform((0, 0, -5)))
    model = builder.finalize(device="cpu")
    contacts = model.contacts()
    sim.collide(model, model.state(), contacts)
    assert contacts.count[0] == 0
    assert len(model.mesh_point) == 2 * len(BLOCK.vertices)
    assert abs(model.shape_radius[0] - 0.2 * np.linalg.norm(HALF)) < 1e-6


@pytest.mark.parametrize("first", [True, False])
def test_a_mesh_deep_in_a_thin_plate_is_as_deep_for_a_fast_body_as_for_one_at_rest(first):
    """A ring, pushed into a plate of 1 cm and a square metre beyond the middle of it."""
    import trimesh

    ring = trimesh.creation.torus(0.0375, 0.0125, major_sections=24, minor_sections=12)
    ring = (ring.vertices, ring.faces)
    for x in (-0.0045, 0.0, 0.0045):  # the front is at x + 0.0125
        found = []
        for speed in (0.0, 4.0):
            builder = sim.ModelBuilder(gravity=0.0)
            body = builder.add_body(xform=sim.transform((x, 0.01, 0.05), (0, np.sqrt(0.5), 0, np.sqrt(0.5))))
            if first:
                builder.add_shape_mesh(body, ring)
            builder.add_shape_box(-1, 0.005, 0.5, 0.5)
            if not first:
                builder.add_shape_mesh(body, ring)
            model = builder.finalize(device="cpu", precision="float64")
            state, contacts = model.state(), model.contacts()
            state.body_qd[body] = [speed, 0, 0, 0, 0, 0]
            sim.collide(model, state, contacts, dt=0.005)
            n = contacts.count[0]
            found.append(contacts.distance[:n].min())
        assert np.abs(np.array(found) + 0.0175 - abs(x)).max() < 1e-12


def test_a_ring_thrown_at_a_thin_box_comes_back():
    import trimesh

    ring = trimesh.creation.torus(0.0375, 0.0125, major_sections=24, minor_sections=12)
    builder = sim.ModelBuilder(gravity=0.0)
    builder.add_shape_box(-1, 0.005, 1, 1)
    turn = (0.5063, 0.5057, -0.68899, -0.115)
    body = builder.add_body(xform=sim.transform((-0.4843, 0.0126, 0.0488), turn))
    builder.add_shape_mesh(body, (ring.vertices, ring.faces), density=1000)
    model = builder.finalize(device="cpu", precision="float64")
    solver, state, after, control = sim.solvers.Featherstone(model), model.state(), model.state(), model.control()
    state.joint_qd[:] = (4, 0, 0, 0, 0, 0)
    contacts = model.contacts()
    for _ in range(80):
        sim.collide(model, state, contacts, dt=0.005)
        assert np.abs(contacts.point1[: contacts.count[0]]).max(initial=0) < 0.0501  # on the ring, not far beside it
        solver.step(state, after, control, None, 0.005)
        state, after = after, state
    assert state.body_q[0, 0] < -0.0125 and np.linalg.norm(state.joint_qd[:3]) < 4
