"""Queries of meshes: against brute force in float64, trimesh, closed forms, and every triangle by the same sums."""

from __future__ import annotations

import numpy as np
import pytest
import trimesh

import simengine as sim
from simengine.collision.mesh import Mesh
from simengine.errors import LaunchError, ModelError
from simengine.runtime import modes

EVERY_TRIANGLE = """
#include "mesh_query.h"

extern "C" __global__ void cast_at_all(int n, int faces, const real* corners, const real* origin, const real* direction,
                                       real* t, int* face, int* side) {
    for_each(i, n) {
        const ScaledRay ray(load_vec3(origin + 3 * i), load_vec3(direction + 3 * i));
        const ShearedRay sheared(ray);
        t[i] = REAL_INFINITY;
        face[i] = -1;
        side[i] = 0;
        for (int k = 0; k < faces; ++k) {
            RayHit hit;
            if (!ray_meets_triangle(sheared, corners + 9 * k, REAL_MAX, hit)) continue;
            side[i] += hit.side;
            if (hit.t * ray.scale < t[i]) {
                t[i] = hit.t * ray.scale;
                face[i] = k;
            }
        }
    }
}

extern "C" __global__ void closest_of_all(int n, int faces, const real* corners, const real* point, real* square,
                                          int* face) {
    for_each(i, n) {
        square[i] = REAL_MAX;
        face[i] = -1;
        for (int k = 0; k < faces; ++k) {
            const ClosestHit hit = Triangle(corners + 9 * k).prepared().closest(load_vec3(point + 3 * i));
            if (hit.square < square[i]) {
                square[i] = hit.square;
                face[i] = k;
            }
        }
    }
}
"""


def spiky(subdivisions: int = 3) -> trimesh.Trimesh:
    """A closed mesh with long spikes."""
    mesh = trimesh.creation.icosphere(subdivisions=subdivisions)
    mesh.vertices *= np.where(np.arange(len(mesh.vertices)) % 7 == 0, 2.5, 1.0)[:, None]
    return mesh


def soup(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Triangles of all sizes, some of them without area, that share nothing."""
    random = np.random.default_rng(seed)
    size = np.exp(random.normal(-3, 1.5, (n, 1, 1)))
    corners = random.uniform(-1, 1, (n, 1, 3)) + size * random.normal(size=(n, 3, 3))
    corners[::11, 1] = corners[::11, 0]
    corners[::13, 2] = 0.5 * (corners[::13, 0] + corners[::13, 1])
    return corners.reshape(-1, 3), np.arange(3 * n).reshape(-1, 3)


def brute_closest(triangles, points) -> tuple[np.ndarray, np.ndarray]:
    """Closest points and distances, by trimesh's routine on every triangle."""
    nearest = []
    for point in points:
        found = trimesh.triangles.closest_point(triangles, np.tile(point, (len(triangles), 1)))
        nearest.append(found[np.linalg.norm(found - point, axis=1).argmin()])
    nearest = np.array(nearest)
    return nearest, np.linalg.norm(nearest - points, axis=1)


def brute_winding(vertices, faces, points) -> np.ndarray:
    """Sum of the solid angles of all triangles over 4 pi (van Oosterom and Strackee)."""
    total = np.empty(len(points))
    for i, point in enumerate(points):
        a, b, c = (vertices[faces[:, k]] - point for k in range(3))
        x, y, z = (np.linalg.norm(v, axis=1) for v in (a, b, c))
        down = x * y * z + (a * b).sum(1) * z + (b * c).sum(1) * x + (c * a).sum(1) * y
        total[i] = (2 * np.arctan2((a * np.cross(b, c)).sum(1), down)).sum() / (4 * np.pi)
    return total


def torus() -> trimesh.Trimesh:
    return trimesh.creation.torus(0.35, 0.15, major_sections=64, minor_sections=32)


# closest points


@pytest.mark.parametrize(("precision", "tolerance"), [("float32", 2e-6), ("float64", 1e-14)])
def test_closest_points_of_a_spiky_mesh_are_those_of_brute_force(precision, tolerance, device):
    mesh = spiky(2)
    axis = np.linspace(-2.6, 2.6, 9)
    points = np.stack(np.meshgrid(axis, axis, axis), axis=-1).reshape(-1, 3)
    _, expected = brute_closest(mesh.triangles, points)
    inside = brute_winding(mesh.vertices, mesh.faces, points) > 0.5
    found = Mesh(device.asarray(mesh.vertices), mesh.faces, precision=precision)
    assert found.is_closed
    for sign in ("normal", "winding", None):
        hit = found.closest_point(device.asarray(points), sign=sign)
        distance, closest = sim.to_numpy(hit.distance), sim.to_numpy(hit.point)
        assert np.abs(np.abs(distance) - expected).max() < tolerance
        assert np.abs(np.linalg.norm(closest - points, axis=1) - expected).max() < tolerance
        assert np.array_equal(distance < 0, inside)
    assert np.array_equal(sim.to_numpy(found.contains(device.asarray(points))), inside)
    assert (sim.to_numpy(found.closest_point(device.asarray(points), sign="none").distance) >= 0).all()


def test_the_point_belongs_to_the_face_and_its_coordinates():
    vertices, faces = soup(300)
    mesh = Mesh(vertices, faces)
    points = np.random.default_rng(1).uniform(-1.5, 1.5, (400, 3))
    hit = mesh.closest_point(points)
    a, b, c = (vertices[faces[hit.face, k]] for k in range(3))
    u, v = hit.uv[:, :1], hit.uv[:, 1:]
    assert (u >= 0).all() and (v >= 0).all() and (u + v <= 1 + 1e-15).all()
    assert np.allclose(a + u * (b - a) + v * (c - a), hit.point, atol=1e-14)
    assert np.allclose(mesh.position_at(hit.face, hit.uv), hit.point, atol=1e-14)
    across = np.cross(b - a, c - a)
    area = np.linalg.norm(across, axis=1)
    wide = area > 1e-9
    assert np.allclose(hit.normal[wide], across[wide] / area[wide, None], atol=1e-9)


@pytest.mark.parametrize("sign", ["normal", "winding"])
def test_no_point_outside_a_tetrahedron_is_called_inside(sign, precision):
    vertices = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]], float)
    faces = [[0, 1, 2], [0, 3, 1], [0, 2, 3], [1, 3, 2]]
    random = np.random.default_rng(0)
    points = np.concatenate([random.uniform(-3, 3, (20_000, 3)), 1.2 * vertices, 0.999 * vertices])
    weights = np.linalg.solve(np.vstack([vertices.T, np.ones(4)]), np.column_stack([points, np.ones(len(points))]).T)
    least = weights.min(axis=0)
    clear = np.abs(least) > 1e-5
    distance = Mesh(vertices, faces, precision=precision).closest_point(points, sign=sign).distance
    assert np.array_equal((distance < 0)[clear], (least > 0)[clear])


def test_the_distance_of_a_torus_falls_along_its_gradient():
    mesh, offset = torus(), np.array([50.0, 50, 50])
    found = Mesh(mesh.vertices + offset, mesh.faces)
    points = np.random.default_rng(2).uniform(-0.6, 0.6, (300, 3)) + offset
    hit, step = found.closest_point(points), 1e-6
    gradient = (points - hit.point) / hit.distance[:, None]
    difference = np.empty_like(gradient)
    for axis in range(3):
        move = step * np.eye(3)[axis]
        ends = [found.closest_point(points + s * move).distance for s in (1, -1)]
        difference[:, axis] = (ends[0] - ends[1]) / (2 * step)
    smooth = np.abs(hit.distance) > 1e-3
    assert np.median(np.abs(gradient - difference)[smooth]) < 1e-8
    assert ((gradient - difference)[smooth] ** 2).sum(axis=1).mean() < 1e-3


def test_the_parameter_of_a_ray_changes_as_its_normal_says():
    mesh, offset = torus(), np.array([50.0, 50, 50])
    found, random = Mesh(mesh.vertices + offset, mesh.faces), np.random.default_rng(3)
    origin = offset + 2 * random.normal(size=(300, 3))
    target = offset + np.array([0.35, 0, 0]) + random.normal(0, 0.05, (300, 3))
    direction, step = target - origin, 1e-7
    hit = found.ray_cast(origin, direction)
    rate = np.einsum("ij,ij->i", hit.normal, direction)
    for axis in range(3):
        move = step * np.eye(3)[axis]
        moved, turned = found.ray_cast(origin + move, direction), found.ray_cast(origin, direction + move)
        met = (moved.face == hit.face) & (turned.face == hit.face) & (hit.face >= 0)
        assert met.sum() > 200
        slope = -hit.normal[met, axis] / rate[met]
        assert np.median(np.abs((moved.t[met] - hit.t[met]) / step - slope)) < 1e-5
        assert np.median(np.abs((turned.t[met] - hit.t[met]) / step - slope * hit.t[met])) < 1e-5


def test_the_farthest_vertex_is_that_of_brute_force(device):
    mesh = spiky(2)
    points = np.random.default_rng(4).normal(size=(200, 3))
    vertex, distance = Mesh(device.asarray(mesh.vertices), mesh.faces).farthest_point(device.asarray(points))
    expected = np.linalg.norm(mesh.vertices[None] - points[:, None], axis=2)
    assert np.array_equal(sim.to_numpy(vertex), expected.argmax(axis=1))
    assert np.allclose(sim.to_numpy(distance), expected.max(axis=1), rtol=1e-14)


def test_many_points_are_answered_as_few_are(precision, device):
    mesh = trimesh.creation.icosphere(subdivisions=4)  # points of a large call are worked in another order
    found = Mesh(device.asarray(mesh.vertices), mesh.faces, precision=precision)
    points = np.random.default_rng(17).uniform(-2, 2, (5000, 3))
    hit = found.closest_point(device.asarray(points))
    for first in range(0, 5000, 1000):
        part = found.closest_point(device.asarray(points[first : first + 1000]))
        for name in ("distance", "point", "normal", "face", "uv"):
            whole = sim.to_numpy(getattr(hit, name))[first : first + 1000]
            assert np.array_equal(whole, sim.to_numpy(getattr(part, name)))


@pytest.mark.parametrize("sign", ["none", "normal", "winding"])
def test_lanes_that_walk_together_answer_as_one_does(sign, precision):
    mesh = spiky(2)
    found = Mesh(mesh.vertices, mesh.faces, precision=precision)
    points = np.random.default_rng(18).uniform(-2, 2, (70, 3))  # the last group of lanes is not full

    def answers():
        hit = found.closest_point(points, max_distance=0.8, sign=sign)
        return [np.asarray(getattr(hit, name)).tobytes() for name in ("distance", "point", "normal", "face", "uv")]

    expected = answers()
    for lanes, seed in ((1, 0), (4, 1), (32, 2)):
        with modes.emulated_lanes(lanes, seed=seed, poison=True):
            assert answers() == expected


@pytest.mark.parametrize("capacity", [1, 40])
def test_points_that_are_handed_on_are_answered_alike(capacity, precision, monkeypatch):
    mesh = spiky(3)
    found = Mesh(mesh.vertices, mesh.faces, precision=precision)
    points = np.random.default_rng(20).uniform(-0.4, 0.4, (70, 3))

    def answers():
        hit = found.closest_point(points, max_distance=1.2)
        return [np.asarray(getattr(hit, name)).tobytes() for name in ("distance", "point", "normal", "face", "uv")]

    expected, made = answers(), []
    monkeypatch.setattr("simengine.collision.mesh.late_limits", lambda together: (3, capacity))
    late = Mesh._late_batches
    monkeypatch.setattr(Mesh, "_late_batches", lambda *given: made.append(late(*given)) or made[-1])
    for lanes, seed in ((1, 0), (4, 1), (32, 2)):
        with modes.emulated_lanes(lanes, seed=seed, poison=True):
            assert answers() == expected
        count = made.pop()["late_count"]
        assert 0 < count[1] <= capacity and count[0] == 0


def test_ties_go_to_the_first_face():
    vertices, faces = soup(40)
    twice = Mesh(vertices, np.concatenate([faces, faces[::-1]]))
    points = np.random.default_rng(5).uniform(-1, 1, (200, 3))
    assert (twice.closest_point(points).face < 40).all()
    hit = twice.ray_cast(points, np.random.default_rng(6).normal(size=(200, 3)))
    assert (hit.face < 40).all() and (hit.face >= 0).any()


def test_faces_that_share_the_closest_point_may_be_told_one_for_another(precision):
    """A mesh kept about another place rounds otherwise: another face of the same vertex, at the same distance."""
    mesh = trimesh.creation.icosphere(subdivisions=3)
    found = Mesh(mesh.vertices, mesh.faces, precision=precision)
    moved = Mesh(mesh.vertices + [0.3, 0.2, 0.1], mesh.faces, precision=precision)
    moved.refit(mesh.vertices)
    vertex = np.random.default_rng(21).integers(0, len(mesh.vertices), 3000)
    points = mesh.vertices[vertex] * np.linspace(1.01, 1.5, 3000)[:, None]
    one, other = found.closest_point(points), moved.closest_point(points)
    for hit in (one, other):
        assert (mesh.faces[hit.face] == vertex[:, None]).any(axis=1).all()
    assert (one.face != other.face).any()
    tolerance = 1e-6 if precision == "float32" else 1e-14
    assert np.allclose(one.distance, other.distance, rtol=0, atol=tolerance)
    assert np.allclose(one.point, other.point, rtol=0, atol=tolerance)


# rays


def test_rays_meet_what_an_independent_intersection_finds(precision):
    mesh = spiky(2)
    random = np.random.default_rng(7)
    origin, target = 4 * random.normal(size=(300, 3)), random.uniform(-1, 1, (300, 3))
    hit = Mesh(mesh.vertices, mesh.faces, precision=precision).ray_cast(origin, target - origin)
    # Cramer's rule for a + u (b - a) + v (c - a) = o + t d, every ray with every face
    a, b, c = (mesh.vertices[mesh.faces[:, k]][None] for k in range(3))
    sides = np.stack(np.broadcast_arrays(b - a, c - a, -(target - origin)[:, None]), axis=-1)
    u, v, t = np.moveaxis(np.linalg.solve(sides, (origin[:, None] - a)[..., None])[..., 0], -1, 0)
    inside = (u >= 0) & (v >= 0) & (u + v <= 1) & (t >= 0)
    expected = np.where(inside, t, np.inf).min(axis=1)
    met = np.isfinite(expected)
    assert np.array_equal(np.isfinite(hit.t), met)
    assert np.abs(hit.t[met] - expected[met]).max() < (1e-5 if precision == "float32" else 1e-12)
    assert np.allclose(hit.point[met], (origin + expected[:, None] * (target - origin))[met], atol=1e-4)
    assert (hit.face[~met] == -1).all() and np.isnan(hit.point[~met]).all() and not hit.normal[~met].any()


def plate(n: int, skew: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """A square of n by n cells, each of two triangles, in the plane z = skew (x + y)."""
    x, y = (axis.reshape(-1) for axis in np.meshgrid(np.arange(n + 1.0), np.arange(n + 1.0), indexing="ij"))
    corner = (np.arange(n)[:, None] * (n + 1) + np.arange(n)).reshape(-1)
    first = np.stack([corner, corner + n + 1, corner + n + 2], axis=1)
    second = np.stack([corner, corner + n + 2, corner + 1], axis=1)
    return np.stack([x, y, skew * (x + y)], axis=1) / n, np.concatenate([first, second])


@pytest.mark.parametrize("skew", [0.0, 0.37])
@pytest.mark.parametrize("slanted", [False, True])
def test_a_ray_through_an_edge_or_a_vertex_meets_one_triangle(slanted, skew, precision, device):
    n = 12
    vertices, faces = plate(n, skew)
    mesh = Mesh(device.asarray(vertices), faces, precision=precision)
    edges = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    targets = [vertices]
    for share in (0.5, 0.25, 1 / 3):
        targets.append((1 - share) * vertices[edges[:, 0]] + share * vertices[edges[:, 1]])
    targets = np.concatenate(targets)
    targets = targets[((targets[:, :2] > 1e-9) & (targets[:, :2] < 1 - 1e-9)).all(axis=1)]
    way = np.array([0.3, -0.2, 1]) if slanted else np.array([0, 0, 1.0])
    for sign in (1, -1):
        origin, direction = targets - sign * way, np.tile(sign * way, (len(targets), 1))
        offsets, _ = mesh.ray_all(device.asarray(origin), device.asarray(direction))
        assert (np.diff(sim.to_numpy(offsets)) == 1).all()
        assert (sim.to_numpy(mesh.ray_cast(device.asarray(origin), device.asarray(direction)).face) >= 0).all()


def test_rays_on_the_diagonal_of_a_square_all_hit(precision):
    vertices = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], float)
    mesh = Mesh(vertices, [[0, 1, 2], [0, 2, 3]], precision=precision)
    place = np.linspace(0, 1, 902)[1:-1]
    origin = np.stack([place, place, np.ones(900)], axis=1)
    direction = np.tile([0.0, 0, -1], (900, 1))
    hit = mesh.ray_cast(origin, direction)
    assert np.abs(hit.t - 1).max() < 2 * np.finfo(precision).eps
    offsets, _ = mesh.ray_all(origin, direction)
    assert np.array_equal(np.diff(offsets), np.ones(900))


@pytest.mark.parametrize("shape", ["sphere", "box", "spiky"])
def test_a_ray_through_a_vertex_of_a_closed_surface_goes_in_and_out(shape, precision):
    of_shape = {"sphere": trimesh.creation.icosphere(subdivisions=3), "box": trimesh.creation.box(), "spiky": spiky(2)}
    mesh = of_shape[shape]
    found = Mesh(mesh.vertices, mesh.faces, precision=precision)
    targets = np.concatenate([mesh.vertices, mesh.triangles_center, mesh.vertices[mesh.edges_unique].mean(axis=1)])
    for start in (np.array([5.0, 0, 0]), np.array([0, 0, -7.0]), np.array([3, -4, 2.0])):
        offsets, _ = found.ray_all(np.tile(start, (len(targets), 1)), targets - start)
        hits = np.diff(offsets)
        assert (hits % 2 == 0).all()
    assert found.contains(np.zeros((1, 3)))[0]


@pytest.mark.parametrize("offset", [0, 1000])
def test_the_tree_hides_nothing_that_arithmetic_finds(offset, precision):
    vertices, faces = soup(900)
    mesh = Mesh(vertices + offset, faces, precision=precision)
    corners = mesh._vertices[faces].reshape(-1, 9)
    random, n = np.random.default_rng(8), 1500
    origin = random.uniform(-2, 2, (n, 3))
    origin[::5] *= 1000  # from far away
    target = vertices[random.integers(0, len(vertices), n)]  # through vertices
    target[::2] += random.normal(0, 0.1, (len(target[::2]), 3))
    direction = target - origin
    direction[::9, 1] = 0
    origin, direction = mesh._local(origin + offset), direction.astype(mesh.dtype)
    t, face, side = np.empty(n, mesh.dtype), np.empty(n, np.int32), np.empty(n, np.int32)
    kernel = sim.Kernel(EVERY_TRIANGLE, "cast_at_all")
    kernel.launch(n, [len(faces), corners, origin, direction, t, face, side])
    mesh.center[:] = 0  # origins are local already
    hit = mesh.ray_cast(origin, direction)
    assert np.array_equal(hit.face, face) and np.array_equal(hit.t, t)
    square, near = np.empty(n, mesh.dtype), np.empty(n, np.int32)
    sim.Kernel(EVERY_TRIANGLE, "closest_of_all").launch(n, [len(faces), corners, origin, square, near])
    assert np.array_equal(mesh.closest_point(origin, sign="none").face, near)


# windings and dirty meshes


def test_the_winding_number_of_open_surfaces_is_the_sum_of_solid_angles(device):
    sphere = trimesh.creation.icosphere(subdivisions=2)
    points = np.random.default_rng(9).uniform(-1.5, 1.5, (200, 3))
    bowl = sphere.faces[sphere.triangles_center[:, 2] < 0.3]
    random = np.random.default_rng(10)
    cases = [bowl, sphere.faces[random.random(len(sphere.faces)) < 0.7], sphere.faces[:1], sphere.faces[:, ::-1]]
    for faces in cases:
        found = Mesh(device.asarray(sphere.vertices), faces)
        expected = brute_winding(sphere.vertices, faces, points)
        assert np.abs(sim.to_numpy(found.winding_number(device.asarray(points))) - expected).max() < 1e-12
    vertices, faces = soup(60)
    assert np.abs(Mesh(vertices, faces).winding_number(points) - brute_winding(vertices, faces, points)).max() < 1e-12


def test_a_surface_that_crosses_itself_and_one_turned_round_have_an_inside():
    sphere = trimesh.creation.icosphere(subdivisions=3)
    vertices = np.concatenate([sphere.vertices, sphere.vertices + [1, 0, 0]])
    faces = np.concatenate([sphere.faces, sphere.faces + len(sphere.vertices)])
    points = np.random.default_rng(11).uniform(-2, 3, (2000, 3))
    radius = np.minimum(np.linalg.norm(points, axis=1), np.linalg.norm(points - [1, 0, 0], axis=1))
    clear = np.abs(radius - 1) > 0.02
    for turned in (faces, faces[:, ::-1]):
        mesh = Mesh(vertices, turned)
        assert np.array_equal(mesh.contains(points)[clear], (radius < 1)[clear])
        assert np.array_equal((mesh.closest_point(points, sign="winding").distance < 0)[clear], (radius < 1)[clear])
    assert Mesh(vertices, faces).winding_number(np.array([[0.5, 0, 0]]))[0] == 2


def cube_distance(points) -> np.ndarray:
    """Of the cube from -0.5 to 0.5 along each axis."""
    gap = np.abs(points) - 0.5
    return np.linalg.norm(np.maximum(gap, 0), axis=1) + np.minimum(gap.max(axis=1), 0)


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("sign", [None, "normal", "winding"])
def test_a_cube_turned_inside_out_is_negative_inside_and_told_of_once(precision, sign, device):
    cube = trimesh.creation.box((1, 1, 1))
    vertices, inwards = device.asarray(np.array(cube.vertices)), cube.faces[:, ::-1]
    points = np.random.default_rng(0).uniform(-0.8, 0.8, (2000, 3))
    mesh = Mesh(vertices, inwards, precision=precision)
    if sign == "winding":
        found = mesh.closest_point(device.asarray(points), sign=sign)
    else:
        with pytest.warns(UserWarning, match="Mesh of 8 vertices and 12 faces.* wound inwards.*faces") as told:
            for _ in range(2):
                found = mesh.closest_point(device.asarray(points), sign=sign)
        assert len(told) == 1 and told[0].filename == __file__
    assert mesh.is_wound_inwards and not Mesh(vertices, cube.faces).is_wound_inwards
    assert np.abs(sim.to_numpy(found.distance) - cube_distance(points)).max() < 1e-6
    assert np.array_equal(sim.to_numpy(mesh.faces), inwards)  # kept, and so are the normals
    outwards = sim.to_numpy(found.point) @ np.eye(3) * 2
    assert (np.einsum("ni,ni->n", outwards, sim.to_numpy(found.normal)) < 0).all()
    near = mesh.closest_point(device.asarray(np.full((1, 3), 9.0)), max_distance=0.1, sign=sign)
    assert float(near.distance[0]) == np.inf


CUBE_CORNERS = np.array(trimesh.creation.box((1, 1, 1)).vertices)


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("more", [
    [[0, 0, 7]],  # a line across the middle
    [[0, 7, 7], [1, 6, 1]],
    [[0, 8, 7], [0, 7, 8]],  # and one of three corners in a line, on both sides
    [[0, 1, 7], [0, 7, 1]],  # a wall across the middle, of two sides
], ids=["line", "lines", "flat", "wall"])  # fmt: skip
def test_what_holds_nothing_inside_a_cube_leaves_its_inside_negative(more, precision, device):
    faces = np.concatenate([trimesh.creation.box((1, 1, 1)).faces, more])
    corners = np.concatenate([CUBE_CORNERS, [(CUBE_CORNERS[0] + CUBE_CORNERS[7]) / 2]])
    points = np.random.default_rng(1).uniform(-0.7, 0.7, (5000, 3))
    mesh = Mesh(device.asarray(corners), faces, precision=precision)
    assert mesh.is_closed
    distance, exact = sim.to_numpy(mesh.closest_point(device.asarray(points)).distance), cube_distance(points)
    clear = np.abs(exact) > 1e-6
    assert np.array_equal((distance < 0)[clear], (exact < 0)[clear])
    assert np.allclose(distance[exact > 0], exact[exact > 0], atol=1e-6)  # outside they are not the nearest


def test_repeated_vertices_are_taken_for_one():
    mesh = trimesh.creation.icosphere(subdivisions=2)
    apart = Mesh(mesh.triangles.reshape(-1, 3), np.arange(3 * len(mesh.faces)).reshape(-1, 3))
    points = np.concatenate([1.2 * mesh.vertices, 0.9 * mesh.vertices])
    assert apart.is_closed
    assert np.array_equal(apart.closest_point(points).distance < 0, np.linalg.norm(points, axis=1) < 1)


def test_duplicate_and_degenerate_triangles_do_no_harm():
    mesh = trimesh.creation.icosphere(subdivisions=2)
    a, b, _ = mesh.faces[0]
    dirty = np.concatenate([mesh.faces, [[a, a, b], [a, a, a]], [mesh.faces[5], mesh.faces[5][::-1]]])
    points = np.random.default_rng(12).uniform(-1.5, 1.5, (500, 3))
    clean, found = Mesh(mesh.vertices, mesh.faces), Mesh(mesh.vertices, dirty)
    assert found.is_closed
    distance = found.closest_point(points, sign="winding").distance
    assert np.allclose(distance, clean.closest_point(points).distance, rtol=1e-14, atol=1e-15)
    way = np.random.default_rng(13).normal(size=(500, 3))
    assert np.array_equal(found.ray_cast(points, way).t, clean.ray_cast(points, way).t)
    line = Mesh(np.array([[0, 0, 0], [1, 0, 0], [2, 0, 0.0]]), [[0, 1, 2]])
    assert np.isinf(line.ray_cast([[0.5, 0, 1]], [[0, 0, -1.0]]).t[0])
    assert line.closest_point(np.array([[1.5, 3, 0]])).distance[0] == 3


@pytest.mark.parametrize("size", [1e-9, 1e9])
def test_meshes_of_any_size_are_met(size, precision):
    mesh = trimesh.creation.icosphere(subdivisions=2)
    found = Mesh(size * mesh.vertices, mesh.faces, precision=precision)
    points = np.random.default_rng(14).normal(size=(300, 3))
    _, expected = brute_closest(mesh.triangles, points)
    tolerance = 2e-6 if precision == "float32" else 1e-12
    assert np.abs(np.abs(found.closest_point(size * points).distance) / size - expected).max() < tolerance
    away = 3 * points / np.linalg.norm(points, axis=1)[:, None]
    hit = found.ray_cast(size * away, -size * away)
    assert np.abs(3 - 3 * hit.t - 0.98).max() < 0.03


# far away, moving, precision


def test_a_mesh_far_from_the_origin_keeps_its_digits(precision):
    mesh = trimesh.creation.icosphere(subdivisions=3)
    random = np.random.default_rng(15)
    points = random.uniform(-1.5, 1.5, (200, 3))
    # positions that float64 holds exactly at 1e7, so that the same mesh is meant
    vertices, points = (np.round(array * 2**20) / 2**20 for array in (mesh.vertices, points))
    near, far = (Mesh(vertices + shift, mesh.faces, precision=precision) for shift in (0, 1e7))
    assert np.allclose(far.center, 1e7, atol=1)
    apart = np.abs(far.closest_point(points + 1e7).distance - near.closest_point(points).distance)
    assert apart.max() < (1e-6 if precision == "float32" else 1e-14)
    hit = far.ray_cast(points + 1e7, -points)
    assert np.allclose(hit.t, near.ray_cast(points, -points).t, rtol=1e-5 if precision == "float32" else 1e-12)
    assert hit.point.dtype == np.float64
    assert np.nanmax(np.abs(hit.point - 1e7 - near.ray_cast(points, -points).point)) < 1e-6


@pytest.mark.parametrize("sign", ["normal", "winding"])
@pytest.mark.parametrize("inwards", [False, True])
@pytest.mark.filterwarnings("ignore:.*wound inwards")
def test_points_far_away_are_outside(sign, inwards, precision, device):
    """However a distance of 10 to 1e17 m rounds."""
    faces = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
    corners = device.asarray(np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]]))
    mesh = Mesh(corners, faces[:, ::-1] if inwards else faces, precision=precision)
    way = np.random.default_rng(0).normal(size=(500, 3))
    way /= np.linalg.norm(way, axis=1)[:, None]
    for far in 10.0 ** np.arange(1, 18):
        distance = sim.to_numpy(mesh.closest_point(device.asarray(far * way), sign=sign).distance)
        assert np.allclose(distance, far, rtol=0.1, atol=1), far
    assert sim.to_numpy(mesh.closest_point(device.asarray(np.full((1, 3), 0.2)), sign=sign).distance)[0] < 0


def test_an_open_mesh_is_negative_behind_its_faces_by_normals():
    """Wherever that is."""
    sheet = Mesh(np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0.0]]), [[0, 1, 2]])
    points = np.array([[0.2, 0.2, 3.0], [0.2, 0.2, -3.0]])
    assert np.array_equal(sheet.closest_point(points, sign="normal").distance, [3, -3])


@pytest.mark.parametrize("captured", [False, True])
@pytest.mark.parametrize("action", ["refit", "rebuild"])
def test_a_moved_mesh_is_met_where_it_is(action, captured, precision, device):
    mesh = spiky(2)
    start = device.asarray(mesh.vertices, precision)
    found = Mesh(start, mesh.faces)
    moved = (mesh.vertices[:, [1, 2, 0]] * [1.3, 0.8, 1] + [0.2, 0, 0.1]).astype(precision)
    speed = (0.1 * mesh.vertices).astype(precision)
    vertices, velocities = start.copy(), device.zeros(start.shape, precision)
    if captured:
        with sim.capture(device) as graph:
            getattr(found, action)(vertices, velocities)
    vertices[:], velocities[:] = device.asarray(moved), device.asarray(speed)
    graph.launch() if captured else getattr(found, action)(vertices, velocities)
    fresh = Mesh(device.asarray(moved), mesh.faces)
    fresh.center[:] = found.center
    fresh.refit(device.asarray(moved))
    points = device.asarray(np.random.default_rng(16).uniform(-2, 2, (300, 3)), precision)
    hit, expected = found.closest_point(points), fresh.closest_point(points)
    for name in ("distance", "point", "normal", "face", "uv"):
        assert np.array_equal(sim.to_numpy(getattr(hit, name)), sim.to_numpy(getattr(expected, name)))
    corners = speed[mesh.faces[sim.to_numpy(hit.face)]]
    uv = sim.to_numpy(hit.uv)
    weights = np.column_stack([1 - uv.sum(axis=1), uv])
    by_hand = np.einsum("nk,nkc->nc", weights, corners)
    assert np.allclose(sim.to_numpy(found.velocity_at(hit.face, hit.uv)), by_hand, atol=1e-6)


@pytest.mark.parametrize("action", ["refit", "rebuild"])
@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_a_vertex_that_turns_bad_within_a_graph_is_in_no_answer(wrong, action, device):
    vertices, faces = soup(300)
    mesh, given = Mesh(device.asarray(vertices), faces), device.asarray(vertices.copy())
    with sim.capture(device) as graph:
        getattr(mesh, action)(given)
    given[faces[7, 1], 2], given[faces[250, 0]] = wrong, wrong
    graph.launch()
    good = np.delete(np.arange(300), [7, 250])
    points = np.random.default_rng(9).uniform(-1, 1, (200, 3))
    rest = Mesh(vertices, faces[good])
    found = mesh.closest_point(device.asarray(points), sign="none")
    assert np.array_equal(sim.to_numpy(found.face), good[rest.closest_point(points, sign="none").face])
    hit, expected = mesh.ray_cast(device.asarray(points), device.asarray(-points)), rest.ray_cast(points, -points)
    assert np.array_equal(sim.to_numpy(hit.face), np.where(expected.face < 0, -1, good[expected.face]))


def test_answers_have_the_precision_of_the_points():
    mesh = trimesh.creation.box()
    found = Mesh(mesh.vertices, mesh.faces, precision="float32")
    for dtype in (np.float32, np.float64):
        hit = found.closest_point(np.ones((2, 3), dtype))
        assert hit.distance.dtype == hit.point.dtype == hit.normal.dtype == dtype
        assert found.ray_cast(np.ones((2, 3), dtype), -np.ones((2, 3))).t.dtype == dtype


def test_a_mesh_without_faces_is_never_met(device):
    empty = Mesh(device.asarray(np.zeros((0, 3))), np.zeros((0, 3), int))
    points = device.asarray(np.ones((4, 3)))
    hit = empty.closest_point(points)
    assert np.isinf(sim.to_numpy(hit.distance)).all() and (sim.to_numpy(hit.face) == -1).all()
    assert np.isinf(sim.to_numpy(empty.ray_cast(points, points).t)).all()
    assert not sim.to_numpy(empty.ray_any(points, points)).any() and not sim.to_numpy(empty.contains(points)).any()
    assert len(Mesh(device.asarray(np.eye(3)), [[0, 1, 2]]).closest_point(device.asarray(np.zeros((0, 3)))).face) == 0


def test_limits_of_distance_hold():
    mesh = trimesh.creation.box()
    found = Mesh(mesh.vertices, mesh.faces)
    hit = found.closest_point([[2.0, 0, 0], [0.6, 0, 0]], max_distance=[1.0, 0.2])
    assert np.isinf(hit.distance[0]) and hit.face[0] == -1 and hit.distance[1] == pytest.approx(0.1)
    ray = found.ray_cast([[2.0, 0, 0]] * 2, [[-2.0, 0, 0]] * 2, max_distance=[0.7, 0.76])
    assert np.isinf(ray.t[0]) and ray.t[1] == 0.75
    assert found.ray_any([[2.0, 0, 0]] * 2, [[-2.0, 0, 0]] * 2, max_distance=[0.7, 0.76]).tolist() == [False, True]


@pytest.mark.parametrize(
    ("vertices", "faces", "message"),
    [
        ([[0, 0, np.nan]], [[0, 0, 0]], r"vertices\[0, 2\] is nan"),
        ([[0, 0, 1e19]], [[0, 0, 0]], r"at most 1e\+18"),
        (np.eye(3), [[0, 1, 3]], r"faces\[0\] is \[0, 1, 3\]"),
        (np.eye(3), [[0.0, 1, 2]], "whole numbers"),
        (np.eye(4), [[0, 1, 2]], r"shape \(n, 3\)"),
        (np.eye(3), [[0, 1]], r"shape \(f, 3\)"),
    ],
)
def test_what_is_no_mesh_is_refused(vertices, faces, message):
    with pytest.raises(ModelError, match=message):
        Mesh(np.array(vertices, float), np.array(faces))


def test_what_is_no_query_is_refused():
    mesh = Mesh(np.eye(3), [[0, 1, 2]])
    with pytest.raises(ModelError, match=r"points\[1, 0\] is inf"):
        mesh.closest_point([[0, 0, 0], [np.inf, 0, 0]])
    with pytest.raises(ModelError, match=r"direction\[0\] is \[0.0, 0.0, 0.0\]"):
        mesh.ray_cast([[0, 0, 0]], [[0, 0, 0]])
    with pytest.raises(ModelError, match="sign must be"):
        mesh.closest_point([[0, 0, 0]], sign="parity")
    with pytest.raises(ModelError, match="3 are expected"):
        mesh.refit(np.eye(3)[:2])
    with pytest.raises(LaunchError, match="within sim.capture"), sim.capture("cpu"):
        mesh.ray_cast(np.zeros((1, 3)), np.ones((1, 3)))
