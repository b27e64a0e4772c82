"""Rays against MuJoCo's, against signed distances found by bisection, and against triangles in exact arithmetic."""

import math
import zlib

import mujoco
import numpy as np
import pytest

import simengine as sim
from simengine.builder.frames import rotation_matrix
from simengine.builder.mesh_data import Mesh
from simengine.errors import AssetError, ModelError
from simengine.sensors.png import write_png

SHAPES = {
    "sphere": (("sphere", 0.4), lambda b, i, **o: b.add_shape_sphere(i, 0.4, **o)),
    "capsule": (("capsule", 0.2, 0.5), lambda b, i, **o: b.add_shape_capsule(i, 0.2, 0.5, **o)),
    "ellipsoid": (("ellipsoid", 0.5, 0.3, 0.2), lambda b, i, **o: b.add_shape_ellipsoid(i, 0.5, 0.3, 0.2, **o)),
    "cylinder": (("cylinder", 0.3, 0.4), lambda b, i, **o: b.add_shape_cylinder(i, 0.3, 0.4, **o)),
    "box": (("box", 0.3, 0.2, 0.5), lambda b, i, **o: b.add_shape_box(i, 0.3, 0.2, 0.5, **o)),
    "plane": (("plane", 1.0, 0.7, 0.1), lambda b, i, **o: b.add_shape_plane(i, 1.0, 0.7, **o)),
}


def scattered(count: int, seed: int):
    """Rays from a shell about the origin and from inside it, most of them towards it."""
    random = np.random.default_rng(seed)
    origins = random.normal(size=(count, 3))
    origins *= random.uniform(0.05, 2.0, size=(count, 1)) / np.linalg.norm(origins, axis=1, keepdims=True)
    directions = random.uniform(-0.5, 0.5, (count, 3)) - origins
    return origins, directions / np.linalg.norm(directions, axis=1, keepdims=True)


def one_shape(add, pose, precision="float64"):
    builder = sim.ModelBuilder()
    add(builder, -1, xform=pose)
    model = builder.finalize(device="cpu", precision=precision)
    return model, model.state()


@pytest.mark.parametrize("name", SHAPES)
def test_distances_are_those_of_mujoco(name):
    (kind, *size), add = SHAPES[name]
    pose = np.array([0.1, -0.2, 0.3, *sim.quat_from_axis_angle((1, 2, 3), 0.9)])
    model, state = one_shape(add, pose)
    turn = " ".join(map(str, np.roll(pose[3:], 1)))
    mj = mujoco.MjModel.from_xml_string(
        f'<mujoco><worldbody><geom type="{kind}" size="{" ".join(map(str, size))}" pos="0.1 -0.2 0.3" quat="{turn}"/>'
        "</worldbody></mujoco>"
    )
    data = mujoco.MjData(mj)
    mujoco.mj_forward(mj, data)
    origins, directions = scattered(2000, 1)
    if name == "plane":  # MuJoCo sees a plane from above alone
        up = np.array(rotation_matrix(pose[3:]))[:, 2]
        above = (origins - pose[:3]) @ up > 0
        origins, directions = origins[above], directions[above]
    hits = sim.sensors.RayCaster(model, directions, origins).cast(state)
    geom = np.zeros(1, np.int32)
    for i in range(len(origins)):
        expected = mujoco.mj_ray(mj, data, origins[i], directions[i], None, 1, -1, geom)
        if expected < 0:
            assert hits.shape[0, i] == -1
            assert np.isinf(hits.distance[0, i])
            assert not hits.normal[0, i].any()
        else:
            assert hits.distance[0, i] == pytest.approx(expected, abs=1e-9)
    assert 0.2 < np.isfinite(hits.distance).mean() < 1.0


def cone_distance(points):
    """Negative inside a cone of radius 0.4 and half height 0.5."""
    rho = np.hypot(points[..., 0], points[..., 1])
    return np.maximum(rho - 0.4 * (0.5 - points[..., 2]), np.abs(points[..., 2]) - 0.5)


def test_a_cone_is_met_where_its_inequality_first_turns():
    model, state = one_shape(lambda b, i, **o: b.add_shape_cone(i, 0.4, 0.5, **o), None)
    origins, directions = scattered(500, 2)
    hits = sim.sensors.RayCaster(model, directions, origins).cast(state)
    t = np.linspace(0, 4, 20001)
    for i in range(len(origins)):
        inside = cone_distance(origins[i] + t[:, None] * directions[i]) < 0
        changes = np.flatnonzero(inside[1:] != inside[:-1])
        if not changes.size:
            assert np.isinf(hits.distance[0, i]) or _grazes(origins[i], directions[i], hits.distance[0, i])
            continue
        low, high = t[changes[0]], t[changes[0] + 1]
        for _ in range(60):
            middle = 0.5 * (low + high)
            same = (cone_distance(origins[i] + middle * directions[i]) < 0) == inside[changes[0]]
            low, high = (middle, high) if same else (low, middle)
        assert hits.distance[0, i] == pytest.approx(low, abs=1e-9)


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_a_cone_is_met_at_its_apex(precision):
    """By rays that go on inside of it, from above and with the cone anyhow in space."""
    random, opening = np.random.default_rng(4), np.arctan2(0.1, 0.2)
    tilt, around = random.uniform(0, 0.9 * opening, 300), random.uniform(0, 2 * np.pi, 300)
    down = np.column_stack([np.sin(tilt) * np.cos(around), np.sin(tilt) * np.sin(around), -np.cos(tilt)])
    down[0] = (0, 0, -1)
    for turn in ((0, 0, 0, 1), sim.quat_from_axis_angle((1, 2, -1), 0.7)):
        builder = sim.ModelBuilder()
        place = sim.transform((0.3, -0.2, 0.4), turn)
        builder.add_shape_cone(-1, 0.1, 0.1, xform=place)
        model = builder.finalize(device="cpu", precision=precision)
        origins, directions = np.array([0, 0, 0.1]) - down, down
        caster = sim.sensors.RayCaster(model, directions, origins, body=-1, xform=place)
        found = caster.cast(model.state()).distance[0]
        assert np.abs(found - 1).max() < (3e-6 if precision == "float32" else 1e-12)


def _grazes(origin, direction, t) -> bool:
    """Whether a meeting is one that steps of 0.2 mm may pass over."""
    return abs(cone_distance(origin + t * direction)) < 1e-9


def test_a_plane_is_seen_from_below_too():
    model, state = one_shape(lambda b, i, **o: b.add_shape_plane(i, **o), None)
    hits = sim.sensors.RayCaster(model, [(0.6, 0, 0.8), (0, 0, -1)], (0, 0, -2)).cast(state)
    np.testing.assert_allclose(hits.distance[0], [2.5, np.inf], rtol=1e-15)


@pytest.mark.parametrize("name", [*SHAPES, "cone"])
def test_normals_are_unit_and_out_of_the_shape(name):
    add = SHAPES[name][1] if name != "cone" else lambda b, i, **o: b.add_shape_cone(i, 0.4, 0.5, **o)
    pose = sim.transform((0.1, 0.2, 0.3), sim.quat_from_axis_angle((3, 1, 2), 1.2))
    model, state = one_shape(add, pose)
    origins, directions = scattered(500, 3)
    first = sim.sensors.RayCaster(model, directions, origins).cast(state)
    met = np.flatnonzero(np.isfinite(first.distance[0]))
    normal, distance = first.normal[0, met].copy(), first.distance[0, met].copy()
    np.testing.assert_allclose(np.linalg.norm(normal, axis=1), 1, atol=1e-12)
    # from just outside, back along the normal, the surface is as far as the step that was taken
    points = origins[met] + distance[:, None] * directions[met] + 1e-4 * normal
    back = sim.sensors.RayCaster(model, -normal, points).cast(state)
    np.testing.assert_allclose(back.distance[0], 1e-4, atol=1e-7)


def test_rays_at_the_edges_and_corners_of_a_grid_of_triangles_pass_none_by():
    n = 8
    x, y = np.meshgrid(np.arange(n + 1.0), np.arange(n + 1.0), indexing="ij")
    points = np.stack([x, y, 0.1 * np.sin(3 * x + 5 * y)], axis=-1).reshape(-1, 3)
    low = (np.arange(n)[:, None] * (n + 1) + np.arange(n)).reshape(-1, 1)
    triangles = np.vstack([np.hstack([low, low + n + 1, low + n + 2]), np.hstack([low, low + n + 2, low + 1])])
    for precision in ("float32", "float64"):
        builder = sim.ModelBuilder()
        builder.add_shape_mesh(-1, (points, triangles), xform=sim.transform((0.3, 0.1, 0.2)))
        model = builder.finalize(device="cpu", precision=precision)
        inner = points[((points[:, :2] > 0) & (points[:, :2] < n)).all(axis=1)]
        middles = 0.5 * (points[triangles] + points[np.roll(triangles, 1, axis=1)]).reshape(-1, 3)
        middles = middles[((middles[:, :2] > 0) & (middles[:, :2] < n)).all(axis=1)]
        targets = np.vstack([inner, middles]) + (0.3, 0.1, 0.2)
        eye = np.array([3.7, 4.1, 9.0])
        hits = sim.sensors.RayCaster(model, targets - eye, eye).cast(model.state())
        distance = np.linalg.norm(targets - eye, axis=1)
        np.testing.assert_allclose(hits.distance[0], distance, rtol=1e-5 if precision == "float32" else 1e-12)


def test_mesh_scale_and_height_field_are_those_of_the_shape():
    tetrahedron = (
        np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]]),
        [[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]],
    )
    builder = sim.ModelBuilder()
    builder.add_shape_mesh(-1, tetrahedron, scale=(-2, 3, 4))
    builder.add_shape_heightfield(-1, [[0, 0, 0], [0, 1, 0], [0, 0, 0]], 1, 2, xform=sim.transform((10, 0, 0)))
    model = builder.finalize(device="cpu", precision="float64")
    down = (0, 0, -1)
    hits = sim.sensors.RayCaster(model, [down] * 3, [(-0.5, 0.75, 9), (10, 0, 9), (10.5, 0, 9)]).cast(model.state())
    np.testing.assert_allclose(hits.distance[0], [9 - 4 * 0.5, 8, 8.5], atol=1e-12)
    normal = np.cross([-2, 0, -4], [0, 3, -4])
    np.testing.assert_allclose(hits.normal[0, 0], -normal / np.linalg.norm(normal), atol=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_a_height_field_its_sides_and_its_underside_are_met_as_in_mujoco(seed, precision):
    random, (hx, hy, base), count = np.random.default_rng(seed), (1.2, 0.8, 0.4), 400
    heights = random.uniform(0, 1, random.integers(2, 7, 2))
    heights[0, 0], heights[-1, -1] = 0, 1  # MuJoCo scales them to this
    origins = random.uniform(-3, 3, (count, 3))
    held = (np.abs(origins) < (hx, hy, 1)).all(axis=1)  # whoever is inside sees it from within
    origins[held, 2] += 3
    directions = random.uniform(-1, 1, (count, 3)) * (hx, hy, 0.8) - origins
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    model, state = one_shape(
        lambda b, i, xform: b.add_shape_heightfield(i, heights, hx, hy, base=base, collides=seed < 3), None, precision
    )
    found = sim.sensors.RayCaster(model, directions, origins).cast(state)
    rows, columns = heights.shape
    asset = f'<hfield name="h" nrow="{rows}" ncol="{columns}" size="{hx} {hy} 1 {base}"/>'
    body = '<geom type="hfield" hfield="h"/>'
    twin = mujoco.MjModel.from_xml_string(f"<mujoco><asset>{asset}</asset><worldbody>{body}</worldbody></mujoco>")
    twin.hfield_data[:] = heights.ravel()
    data, geom = mujoco.MjData(twin), np.zeros(1, np.int32)
    mujoco.mj_forward(twin, data)
    rays = zip(origins, directions, strict=True)
    wanted = np.array([mujoco.mj_ray(twin, data, *ray, None, 1, -1, geom) for ray in rays])
    wanted[wanted < 0] = np.inf
    np.testing.assert_allclose(found.distance[0], wanted, atol=1e-4 if precision == "float32" else 1e-6)
    of_sides = np.isfinite(wanted) & (np.abs(found.normal[0, :, 2]) < 1e-6)
    assert of_sides.sum() > count / 5 and (found.normal[0, :, 2] == -1).any()
    assert ((found.normal[0] * directions).sum(axis=1)[np.isfinite(wanted)] < 0).all()


@pytest.mark.parametrize("heights", [np.zeros((4, 5)), np.maximum(np.linspace(-1, 1, 20).reshape(4, 5), 0)])
def test_a_height_field_that_touches_its_own_underside_shows_its_surface(heights, precision):
    """Where it is at height 0 and the base is 0: from above all normals point up, whatever round-off says."""
    random, count = np.random.default_rng(4), 2000
    targets = random.uniform(-0.99, 0.99, (count, 3)) * (1, 1, 0)
    origins = targets + random.uniform(-1, 1, (count, 3)) * (2, 2, 0) + (0, 0, 3)
    directions = (targets - origins) / np.linalg.norm(targets - origins, axis=1, keepdims=True)
    model, state = one_shape(lambda b, i, xform: b.add_shape_heightfield(i, heights, 1, 1), None, precision)
    found = sim.sensors.RayCaster(model, directions, origins).cast(state)
    hit = np.isfinite(found.distance[0])
    assert hit.sum() > 0.9 * count and ((found.normal[0] * directions).sum(axis=1)[hit] < 0).all()
    if not heights.any():
        np.testing.assert_allclose(found.normal[0, hit], [[0, 0, 1]] * int(hit.sum()), atol=1e-6)


@pytest.mark.gpu
def test_rays_on_a_gpu_have_the_bits_of_a_cpu(precision):
    """Of all primitives, a mesh, a hull, a height field and its sides."""
    builder, random = sim.ModelBuilder(), np.random.default_rng(5)
    adders = [add for _, add in SHAPES.values()]
    adders.append(lambda b, i, **o: b.add_shape_cone(i, 0.4, 0.5, **o))
    adders.append(lambda b, i, **o: b.add_shape_heightfield(i, random.uniform(0, 1, (4, 5)), 0.7, 0.5, base=0.2, **o))
    adders.append(lambda b, i, **o: b.add_shape_convex_hull(i, random.normal(size=(30, 3)) * 0.3, **o))
    for place, add in enumerate(adders):
        turn = random.normal(size=4)
        add(builder, -1, xform=sim.transform((0.9 * place, 0, 0), tuple(turn / np.linalg.norm(turn))))
    origins, directions = scattered(5000, 6)
    origins[:, 0] += random.uniform(0, 0.9 * len(adders), len(origins))
    found = []
    for device in ("cpu", "cuda:0"):
        model = builder.finalize(device=device, precision=precision)
        hits = sim.sensors.RayCaster(model, directions, origins).cast(model.state())
        found.append([sim.to_numpy(array) for array in (hits.distance, hits.normal, hits.shape)])
    assert set(range(len(adders))) <= set(found[0][2].ravel().tolist())
    for on_cpu, on_gpu in zip(*found, strict=True):
        np.testing.assert_array_equal(on_cpu, on_gpu)


def two_balls() -> sim.ModelBuilder:
    builder = sim.ModelBuilder()
    eye = builder.add_body(xform=sim.transform((0, 0, 1), sim.quat_from_axis_angle((0, 0, 1), 0.5)), label="eye")
    builder.add_shape_sphere(eye, 0.1)
    ball = builder.add_body(xform=sim.transform((3, 0, 1)), label="ball")
    builder.add_shape_sphere(ball, 0.5)
    return builder


def test_a_sensor_moves_with_its_body_sees_its_own_world_and_the_shared_shapes():
    builder = sim.ModelBuilder()
    builder.replicate(two_balls(), 2)
    builder.add_ground_plane()
    model = builder.finalize(device="cpu", precision="float64")
    state = model.state()
    caster = sim.sensors.RayCaster(model, [(math.cos(-0.5), math.sin(-0.5), 0), (0, 0, -1), (0, 0, 1)], body="eye")
    hits = caster.cast(state)
    np.testing.assert_allclose(hits.distance, [[2.5, 1, np.inf]] * 2, atol=1e-12)
    np.testing.assert_array_equal(hits.shape, [[1, 4, -1], [3, 4, -1]])
    state.body_q[3, 2] = 7.0  # the ball of the second world
    np.testing.assert_allclose(caster.cast(state).distance, [[2.5, 1, np.inf], [np.inf, 1, np.inf]], atol=1e-12)


@pytest.mark.parametrize("body", [0, 1])
def test_the_carrying_body_may_be_given_by_its_number(body):
    builder = sim.ModelBuilder()
    builder.replicate(two_balls(), 2)
    model = builder.finalize(device="cpu", precision="float64")
    caster = sim.sensors.RayCaster(model, [(0, 0, 1)], body=body, see_self=True)
    hits = caster.cast(model.state())  # from the middle of its ball
    np.testing.assert_allclose(hits.distance, [[(0.1, 0.5)[body]]] * 2, rtol=1e-12)
    np.testing.assert_array_equal(hits.shape, [[body], [2 + body]])


def test_a_convex_hull_of_a_mesh_is_met_at_the_mesh():
    """A tetrahedron with a dent in its base: a ray from below goes into the dent, whatever shapes are to be seen."""
    points = [(1, 0, 0), (-0.5, 0.9, 0), (-0.5, -0.9, 0), (0, 0, 1), (0, 0, 0.5)]
    faces = [(0, 1, 3), (1, 2, 3), (2, 0, 3), (1, 0, 4), (2, 1, 4), (0, 2, 4)]
    builder = sim.ModelBuilder()
    builder.add_shape_convex_hull(-1, Mesh(points, faces))
    model = builder.finalize(device="cpu", precision="float64")
    for see in ("visible", "collides"):
        hits = sim.sensors.RayCaster(model, [(0, 0, 1)], (0.01, 0.0, -1), see=see).cast(model.state())
        assert hits.distance[0, 0] == pytest.approx(1 + 0.5 * (1 - 0.01), rel=1e-12)


def test_own_shapes_hidden_shapes_and_what_is_too_far_are_not_seen():
    builder = two_balls()
    builder.shapes[1].visible = False
    model = builder.finalize(device="cpu", precision="float64")
    state, ahead = model.state(), [(math.cos(-0.5), math.sin(-0.5), 0)]

    def distance(**options) -> float:
        return sim.sensors.RayCaster(model, ahead, body="eye", **options).cast(state).distance[0, 0]

    assert np.isinf(distance())
    assert distance(see="collides") == pytest.approx(2.5)
    assert distance(see="all", see_self=True) == pytest.approx(0.1)
    assert np.isinf(distance(see="all", max_distance=2.4))


def test_a_lidar_in_a_round_room_measures_its_radius():
    builder = sim.ModelBuilder()
    builder.add_shape_cylinder(-1, 3.0, 10.0)
    model = builder.finalize(device="cpu", precision="float64")
    elevations = np.radians([-20, 0, 10])
    lidar = sim.sensors.lidar(model, np.linspace(0, 2 * np.pi, 36, endpoint=False), elevations)
    distance = lidar.cast(model.state()).distance.reshape(3, 36)
    np.testing.assert_allclose(distance, np.repeat(3 / np.cos(elevations)[:, None], 36, axis=1), rtol=1e-12)


def test_depth_of_a_wall_is_the_same_in_all_pixels_and_pixels_are_where_they_should_be():
    builder = sim.ModelBuilder()
    builder.add_shape_box(-1, 50, 50, 0.5, xform=sim.transform((0, 0, -4.5)))
    builder.add_shape_sphere(-1, 0.3, xform=sim.transform((1, 1, -3)))
    model = builder.finalize(device="cpu", precision="float64")
    camera = sim.sensors.Camera(model, 64, 48, math.radians(60))
    state = model.state()
    depth, normals = camera.depth(state).copy(), camera.normals(state)
    assert depth.shape == (1, 48, 64)
    wall = depth[0] > 3.5
    np.testing.assert_allclose(depth[0][wall], 4, rtol=1e-12)
    np.testing.assert_allclose(normals[0][wall], np.tile((0, 0, 1.0), (wall.sum(), 1)), atol=1e-12)
    rows, columns = np.nonzero(~wall)
    # the ball is up and to the right, about the pixel onto which its centre is projected
    scale = 24 / math.tan(math.radians(30))
    assert rows.mean() == pytest.approx(23.5 - scale / 3, abs=0.7)
    assert columns.mean() == pytest.approx(31.5 + scale / 3, abs=0.7)


def test_a_picture_shows_colours_and_is_written_as_png(tmp_path):
    builder = sim.ModelBuilder()
    builder.add_shape_sphere(-1, 1, xform=sim.transform((0, 0, -3)), color=(1, 0, 0))
    model = builder.finalize(device="cpu")
    camera = sim.sensors.Camera(model, 33, 21, 0.6)
    state, path = model.state(), tmp_path / "picture.png"
    picture = camera.picture(state)
    middle, corner = picture[10, 16], picture[0, 0]
    assert middle[0] > 150
    assert not middle[1:].any()
    assert corner[2] > 200
    camera.save_png(state, path)
    np.testing.assert_array_equal(read_png(path.read_bytes()), picture)
    assert [file.name for file in tmp_path.iterdir()] == ["picture.png"]


def read_png(data: bytes) -> np.ndarray:
    """The picture in a PNG without filters."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = (int.from_bytes(data[i : i + 4], "big") for i in (16, 20))
    start = data.index(b"IDAT") + 4
    rows = np.frombuffer(zlib.decompress(data[start:]), np.uint8).reshape(height, 3 * width + 1)
    assert not rows[:, 0].any()
    return rows[:, 1:].reshape(height, width, 3)


def test_bits_do_not_depend_on_threads_and_a_capture_replays():
    builder = sim.ModelBuilder()
    builder.replicate(two_balls(), 3)
    model = builder.finalize(device="cpu")
    state = model.state()
    _, directions = scattered(500, 4)
    caster = sim.sensors.RayCaster(model, directions, body="eye", see="all")
    first = caster.cast(state).distance.copy()
    try:
        sim.set_num_threads(1)
        np.testing.assert_array_equal(caster.cast(state).distance, first)
    finally:
        sim.set_num_threads(None)
    with sim.capture("cpu") as graph:
        caster.cast(state)
    state.body_q[1, 0] += 0.25
    graph.launch()
    changed = caster.hits.distance.copy()
    assert not np.array_equal(changed, first)
    np.testing.assert_array_equal(caster.cast(state).distance, changed)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([(0, 0, 0)],), {}, "direction 0 is zero"),
        (([(0, 0, np.nan)],), {}, "directions: must be finite"),
        (([(0, 0)],), {}, r"directions: must be numbers \(rays, 3\)"),
        (([(0, 0, 1), (np.nan, 0, 0)],), {}, r"directions: must be finite numbers, but row 1 is \[nan"),
        (([(0, 0, 1)],), {"body": "nobody"}, "no body label matches 'nobody'"),
        (([(0, 0, 1)],), {"body": "*"}, r"2 bodies match '\*'"),
        (([(0, 0, 1)],), {"body": 7}, "body is 7"),
        (([(0, 0, 1)],), {"body": 2}, "body is 2"),
        (([(0, 0, 1)],), {"body": -2}, "body is -2"),
        (([(0, 0, 1)],), {"see": "red"}, "see is 'red'"),
        (([(0, 0, 1)],), {"max_distance": 0}, "must be positive"),
    ],
)
def test_wrong_sensors_are_refused(arguments, options, message):
    model = two_balls().finalize(device="cpu")
    with pytest.raises(ModelError, match=message):
        sim.sensors.RayCaster(model, *arguments, **options)


def test_a_picture_has_the_modes_of_any_new_file_and_replaces_whole_files(tmp_path, monkeypatch):
    path, picture = tmp_path / "x.png", np.zeros((2, 2, 3), np.uint8)
    write_png(path, picture)
    (tmp_path / "plain").write_bytes(b"")
    assert path.stat().st_mode == (tmp_path / "plain").stat().st_mode
    before = path.read_bytes()
    monkeypatch.setattr("os.fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(AssetError, match="x.png: cannot be written: No space left"):
        write_png(path, picture + 255)
    assert path.read_bytes() == before
    assert {file.name for file in tmp_path.iterdir()} == {"x.png", "plain"}


def test_every_name_of_the_package_is_there():
    assert {name: callable(getattr(sim.sensors, name)) for name in sim.sensors.__all__} == {
        "Camera": True,
        "ContactReadings": True,
        "ContactSensor": True,
        "RayCaster": True,
        "RayHits": True,
        "lidar": True,
    }
    assert not hasattr(sim.sensors.Camera, "lidar")  # a camera has rays of its own


def test_wrong_pictures_are_refused(tmp_path):
    with pytest.raises(ModelError, match="write_png"):
        write_png(tmp_path / "x.png", np.zeros((2, 2), np.uint8))
    for name, message in (("x.jpg", "path is 'x.jpg'; a PNG file is written"), ("x", "ends in .png"), (3, "got int")):
        with pytest.raises(ModelError, match=message):
            write_png(name, np.zeros((2, 2, 3), np.uint8))
    with pytest.raises(ModelError, match="fov"):
        sim.sensors.Camera(two_balls().finalize(device="cpu"), 4, 4, 3.2)


def test_what_is_no_number_is_refused_by_name():
    model = two_balls().finalize(device="cpu")
    for size in ("a", None, np.inf, 1.5, 0, 1 << 15):
        with pytest.raises(ModelError, match="Camera, width"):
            sim.sensors.Camera(model, size, 4, 1.0)
        with pytest.raises(ModelError, match="Camera, height"):
            sim.sensors.Camera(model, 4, size, 1.0)
    for angles in ("a", None, [], [np.nan], [[0.0, 1.0]]):
        with pytest.raises(ModelError, match="lidar, azimuths"):
            sim.sensors.lidar(model, angles, 0.0)
        with pytest.raises(ModelError, match="lidar, elevations"):
            sim.sensors.lidar(model, 0.0, angles)
    for origins in ("a", (0.0, 1.0), np.zeros((3, 3))):
        with pytest.raises(ModelError, match="RayCaster, origins"):
            sim.sensors.RayCaster(model, [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0)], origins)
