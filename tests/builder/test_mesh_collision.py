"""Hulls with their faces, and trees over triangles: against trimesh, closed forms and brute force."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
import trimesh

import simengine as sim
from simengine.builder.mechanisms import HeightField
from simengine.builder.mesh_collision import (
    CONVEX_TESTS_AT_A_TIME,
    LEAF_TRIANGLES,
    collision_rows,
    grid_of,
    hull_of,
    neighbours,
    solidity_of,
    triangle_tree,
)
from simengine.builder.mesh_data import Mesh, surface_mesh
from simengine.enums import ShapeFlag, ShapeType
from simengine.errors import ModelError
from simengine.structure import check_arrays

CUBE = np.stack(np.meshgrid(*[[-1.0, 1]] * 3, indexing="ij"), -1).reshape(-1, 3)


def points_mesh(points) -> Mesh:
    """A mesh of these vertices and one triangle: of a hull the vertices alone count."""
    return Mesh(points, [[0, 1, 2]])


def around(normal: np.ndarray, corners: np.ndarray) -> float:
    """Twice the area of a polygon, positive where it runs counter-clockwise about the normal."""
    centred = corners - corners.mean(0)
    return float(np.cross(centred, np.roll(centred, -1, axis=0)).sum(0) @ normal)


def faces(hull):
    for face, normal in enumerate(hull.normal):
        yield normal, hull.points[hull.corner[hull.face_start[face] : hull.face_start[face + 1]]]


def test_a_cube_has_six_faces_of_four_corners_and_three_edges_at_each_vertex():
    hull = hull_of(points_mesh(np.concatenate([CUBE, 0.5 * CUBE, CUBE])))
    assert len(hull.points) == 8 and len(hull.normal) == 6
    assert np.diff(hull.face_start).tolist() == [4] * 6 and np.diff(hull.neighbour_start).tolist() == [3] * 8
    assert {tuple(np.round(n).astype(int)) for n in hull.normal} == {
        tuple(s * e) for e in np.eye(3, dtype=int) for s in (1, -1)
    }
    for normal, corners in faces(hull):
        assert np.allclose(corners @ normal, 1) and around(normal, corners) == pytest.approx(8)


@pytest.mark.parametrize("noise", [0, 1e-9])
def test_faces_of_a_prism_are_whole_though_their_corners_are_not_quite_in_a_plane(noise):
    turn = np.linspace(0, 2 * np.pi, 24, endpoint=False)
    points = np.concatenate([np.column_stack([np.cos(turn), np.sin(turn), 0 * turn + z]) for z in (-1, 1)])
    hull = hull_of(points_mesh(points + noise * np.random.default_rng(0).normal(size=points.shape)))
    sizes = np.sort(np.diff(hull.face_start))
    assert sizes.tolist() == [4] * 24 + [24] * 2


THIN = [(1, 1, 1e-5), (1, 1, 1e-7), (1, 1, 1e-9), (2e9, 2, 3), (1e6, 1, 1e-3), (1e12, 1, 1)]


@pytest.mark.parametrize("scale", THIN, ids=str)
def test_faces_of_a_thin_plate_or_needle_close_it(scale):
    """Each edge runs once in each sense, and Euler's formula holds: V - E + F = 2."""
    hull = hull_of(points_mesh(CUBE * scale))
    directed = [
        (int(a), int(b))
        for face in np.split(hull.corner, hull.face_start[1:-1])
        for a, b in zip(face, np.roll(face, -1), strict=True)
    ]
    assert len(set(directed)) == len(directed) and {(b, a) for a, b in directed} == set(directed)
    assert len(hull.points) - len(directed) // 2 + len(hull.normal) == 2
    np.testing.assert_allclose(np.linalg.norm(hull.normal, axis=1), 1.0)


@pytest.mark.parametrize("seed", range(4))
def test_the_faces_of_a_random_hull_bound_it_and_edges_join_neighbours(seed):
    points = np.random.default_rng(seed).normal(size=(80, 3))
    hull = hull_of(points_mesh(points))
    reference = trimesh.convex.convex_hull(points)
    assert sum(around(n, c) for n, c in faces(hull)) / 2 == pytest.approx(reference.area)
    volume = sum(around(n, c) / 2 * (c[0] @ n) / 3 for n, c in faces(hull))
    assert volume == pytest.approx(reference.volume)
    for normal, corners in faces(hull):
        assert np.max(hull.points @ normal) < corners[0] @ normal + 1e-9
    edges = {tuple(sorted(map(tuple, e))) for e in np.round(reference.vertices[reference.edges_unique], 9)}
    ours = set()
    for i in range(len(hull.points)):
        for j in hull.neighbour[hull.neighbour_start[i] : hull.neighbour_start[i + 1]]:
            ours.add(tuple(sorted(map(tuple, np.round(hull.points[[i, j]], 9)))))
    assert ours == edges
    # climbing along them comes to the furthest vertex from any other
    for d in np.random.default_rng(1).normal(size=(50, 3)):
        height, best = hull.points @ d, 0
        while True:
            near = hull.neighbour[hull.neighbour_start[best] : hull.neighbour_start[best + 1]]
            if height[near].max() <= height[best]:
                break
            best = near[height[near].argmax()]
        assert best == height.argmax()


def test_points_in_a_plane_are_a_polygon_with_two_faces():
    turn = np.linspace(0, 2 * np.pi, 9, endpoint=False)
    tilt = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    points = np.column_stack([np.cos(turn), np.sin(turn), 0 * turn]) @ tilt
    hull = hull_of(points_mesh(np.concatenate([points, 0.5 * points, points])))
    assert len(hull.points) == 9 and np.diff(hull.face_start).tolist() == [9, 9]
    assert np.allclose(hull.normal[0], -hull.normal[1]) and np.diff(hull.neighbour_start).tolist() == [2] * 9
    for normal, corners in faces(hull):
        assert around(normal, corners) == pytest.approx(9 * np.sin(2 * np.pi / 9))


def test_points_on_a_line_have_no_hull():
    with pytest.raises(ModelError, match="on one line"):
        hull_of(points_mesh([[0, 0, 0], [1, 0, 0], [3, 0, 0]]))


@pytest.mark.parametrize("count", [1, 2, 4, 5, 63, 1000])
def test_nodes_hold_their_triangles_and_leaves_share_them_out(count):
    random = np.random.default_rng(count)
    mesh = Mesh(
        random.normal(size=(count + 2, 3)), random.permuted(np.tile(np.arange(count + 2), (count, 1)), axis=1)[:, :3]
    )
    tree = triangle_tree(mesh)
    leaves = len(tree.lower) // 2
    assert np.sort(tree.order).tolist() == list(range(count)) and leaves * LEAF_TRIANGLES >= count
    corners = mesh.vertices[mesh.triangles][tree.order]
    bounds = np.arange(leaves + 1) * count // leaves
    for leaf in range(leaves):
        node, own = leaves + leaf, corners[bounds[leaf] : bounds[leaf + 1]].reshape(-1, 3)
        assert len(own) > 0 and bounds[leaf + 1] - bounds[leaf] <= LEAF_TRIANGLES
        assert np.array_equal(tree.lower[node], own.min(0)) and np.array_equal(tree.upper[node], own.max(0))
        while node > 1:
            node //= 2
            assert np.all(tree.lower[node] <= own) and np.all(tree.upper[node] >= own)


def joined_one_by_one(vertices: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """What ``neighbours`` says, edge by edge: the n-th triangle along an edge has the n-th against it; one that names a
    vertex twice has none."""
    number: dict[tuple, int] = {}
    corners = [[number.setdefault(tuple(vertices[i] + 0.0), len(number)) for i in t] for t in triangles]
    along: dict[tuple, list] = {}
    for t, corner in enumerate(corners):
        for k in range(3):
            if len(set(corner)) == 3:
                along.setdefault((corner[k], corner[(k + 1) % 3]), []).append((t, k))
    found = np.full((len(triangles), 3), -1)
    for (start, end), places in along.items():
        for place, (other, _) in zip(places, along.get((end, start), []), strict=False):
            found[place] = other
    return found


def test_where_many_triangles_meet_each_has_the_next_against_it():
    random = np.random.default_rng(0)
    for _ in range(500):
        vertices = random.integers(0, 2, (random.integers(1, 9), 3)) - 0.0
        triangles = random.integers(0, len(vertices), (random.integers(0, 20), 3))
        assert np.array_equal(neighbours(vertices, triangles), joined_one_by_one(vertices, triangles))


def test_triangles_that_name_a_vertex_twice_leave_a_solid_as_it_is():
    box = trimesh.creation.box((2, 2, 2))
    pinched = np.concatenate([box.faces, [[0, 0, 7], [3, 5, 3]]])
    for faces, solid in ((box.faces, 2), (pinched, 2), (pinched[1:], 0), (np.concatenate([box.faces, [[0, 3, 7]]]), 0)):
        mesh = Mesh(box.vertices, faces)
        names = {"shape_type": [ShapeType.MESH], "shape_mesh": [0], "shape_flags": [ShapeFlag.COLLIDES]}
        rows = collision_rows([mesh], names)
        assert rows["mesh_solid"].tolist() == [solid]
    with_pinched = neighbours(box.vertices, pinched)
    assert np.array_equal(with_pinched[:12], neighbours(box.vertices, box.faces)) and (with_pinched[12:] == -1).all()


def test_two_convex_parts_apart_are_a_solid_that_is_not_convex_in_either_order():
    """At each edge both parts are: the vertices of one are in front of faces of the other."""
    ball, grain = trimesh.creation.icosphere(4), trimesh.creation.box((0.1, 0.1, 0.1))
    grain.apply_translation((1.2, 0.3, 0))
    assert len(ball.vertices) * len(ball.faces) > 2 * CONVEX_TESTS_AT_A_TIME
    for parts, solid in (([ball], 2), ([ball, grain], 1), ([grain, ball], 1)):
        whole = trimesh.util.concatenate(parts)
        assert solidity_of(Mesh(whole.vertices, whole.faces)) == solid


def test_neighbours_are_those_of_trimesh_and_of_merged_vertices():
    ball = trimesh.creation.icosphere(2)
    found = neighbours(ball.vertices, ball.faces)
    expected = {tuple(sorted(map(int, pair))) for pair in ball.face_adjacency}
    assert {tuple(sorted((i, int(j)))) for i, row in enumerate(found) for j in row} == expected
    soup = ball.vertices[ball.faces].reshape(-1, 3)  # each triangle with vertices of its own
    assert np.array_equal(neighbours(soup, np.arange(len(soup)).reshape(-1, 3)), found)
    for t, row in enumerate(found):
        for edge, other in enumerate(row):
            shared = {int(ball.faces[t][edge]), int(ball.faces[t][(edge + 1) % 3])}
            assert shared <= set(map(int, ball.faces[other]))


def test_open_edges_have_no_neighbour():
    found = neighbours(np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]]), np.array([[0, 1, 2], [1, 3, 2]]))
    assert found.tolist() == [[-1, 1, -1], [-1, -1, 0]]


def test_only_what_collides_gets_a_tree_or_a_hull():
    mesh, other = Mesh(CUBE, [[0, 1, 2], [1, 3, 2]]), Mesh(2 * CUBE, [[0, 1, 2]])
    builder = sim.ModelBuilder()
    builder.add_shape_mesh(-1, mesh, collides=False)
    builder.add_shape_convex_hull(-1, other)
    model = builder.finalize(device="cpu")
    assert model.mesh_node_start.tolist() == [0, 0, 0] and model.mesh_hull_point_start.tolist() == [0, 0, 8]
    assert np.all(model.mesh_neighbour == -1)
    rows = collision_rows([], {name: np.zeros(0, int) for name in ("shape_type", "shape_mesh", "shape_flags")})
    assert rows["mesh_grid"].shape == (0, 2) and rows["hull_point"].shape == (0, 3)


def test_numbers_are_those_of_all_meshes_together():
    builder = sim.ModelBuilder()
    for scale in (1, 2):
        builder.add_shape_convex_hull(-1, scale * CUBE)
        builder.add_shape_mesh(-1, Mesh(scale * 3 * CUBE, [[0, 1, 2], [1, 3, 2]]))
    model = builder.finalize(device="cpu", precision="float64")
    second = model.mesh_hull_point_start[2]
    corner = model.hull_corner[model.hull_face_start[model.mesh_hull_face_start[2]] :]
    assert second == 8 and corner.min() == 8 and model.hull_neighbour[-24:].min() == 8
    start = int(model.mesh_triangle_start[3])
    assert model.mesh_neighbour[start:].max() == start + 1 and np.sort(model.mesh_order[start:]).tolist() == [
        start,
        start + 1,
    ]


def test_a_height_field_knows_its_rows_and_columns():
    field = HeightField(np.zeros((4, 7)))
    assert grid_of(surface_mesh(field, 1, 2)) == (4, 7)
    builder = sim.ModelBuilder()
    builder.add_shape_heightfield(-1, field, 1, 2)
    model = builder.finalize(device="cpu")
    assert model.mesh_grid.tolist() == [[4, 7]]
    assert model.shape_radius[0] == pytest.approx(np.sqrt(5))


@pytest.mark.parametrize(
    ("name", "place", "value", "said"),
    [
        ("mesh_triangle", (0, 0), 8, "mesh_triangle names what another mesh has"),
        ("mesh_order", (0,), 3, "mesh_order names what another mesh has"),
        ("mesh_neighbour", (0, 1), 3, "mesh_neighbour names what another mesh has"),
        ("mesh_node_start", (1,), 0, "type mesh has a mesh without"),
        ("mesh_grid", (1, 0), 3, "mesh_grid does not fit"),
        ("mesh_grid", (1,), (0, 0), "type heightfield has a mesh without"),
        ("mesh_hull_point_start", (3,), 0, "mesh_hull_point_start must rise"),
        ("hull_corner", (0,), 80, "hull_corner"),
    ],
)
def test_arrays_that_would_lead_kernels_astray_are_refused(name, place, value, said):
    builder = sim.ModelBuilder()
    builder.add_shape_mesh(-1, Mesh(CUBE, [[0, 1, 2], [1, 3, 2]]))
    builder.add_shape_heightfield(-1, np.zeros((2, 3)), 1, 1)
    builder.add_shape_convex_hull(-1, CUBE)
    model = builder.finalize(device="cpu")
    arrays = {key: array.copy() for key, array in model.arrays().items()}
    check_arrays(arrays, model.counts())
    arrays[name][place] = value
    with pytest.raises(ModelError, match=said):
        check_arrays(arrays, model.counts())


@pytest.fixture
def no_collector():
    """What goes, goes with the last reference to it."""
    gc.disable()
    yield
    gc.enable()


def test_what_is_made_of_a_mesh_is_shared_by_equal_meshes_and_freed_with_the_last(no_collector):
    first, second = points_mesh(CUBE / 3), points_mesh(CUBE / 3)
    for make in (hull_of, triangle_tree):
        assert make(first) is make(second)
    assert solidity_of(first) == solidity_of(second) == 0
    held = [weakref.ref(thing) for thing in (first, hull_of(first), triangle_tree(first))]
    del first
    assert held[0]() is None
    assert [make(second) for make in (hull_of, triangle_tree)] == [thing() for thing in held[1:]]
    del second
    assert [thing() for thing in held] == [None, None, None]
