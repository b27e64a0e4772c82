"""What is wrong with a shape is said by name when it is made or when the model is; what is odd collides as it should.

Meshes as queries are in test_mesh.py, grids in test_hash_grid.py.
"""

from __future__ import annotations

import numpy as np
import pytest

import simengine as sim
from simengine.builder import Mesh
from simengine.collision import HashGrid, shape_distance
from simengine.errors import ModelError

CORNERS = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]], float) * 0.2
FACES = np.array([[0, 1, 2], [0, 3, 1], [0, 2, 3], [1, 3, 2]])
TIP = np.array([0.2, 0.2, 0.25])
"""5 cm above the tip of the tetrahedron: there a ball of 10 cm overlaps it by 5 cm."""


def ball_on(vertices, faces, size: float = 1.0, precision: str = "float64", scale=1.0):
    """Contacts' distances and the shape distance of a ball over the tip, in units of ``size``."""
    builder = sim.ModelBuilder()
    builder.add_shape_mesh(-1, (vertices, faces), scale=scale)
    builder.add_shape_sphere(builder.add_body(xform=sim.transform(size * TIP)), 0.1 * size, density=1.0)
    model = builder.finalize(device="cpu", precision=precision)
    state, contacts = model.state(), model.contacts()
    sim.collide(model, state, contacts)
    distance = shape_distance(model, state, [[0, 1]]).distance[0] / size
    return contacts.distance[: int(contacts.count[0])] / size, float(distance)


@pytest.mark.parametrize(
    ("vertices", "faces", "message"),
    [
        (np.zeros((0, 3)), FACES[:0], r"vertices has shape \(0, 3\)"),
        (CORNERS, FACES[:0], r"triangles has shape \(0, 3\)"),
        (np.where(CORNERS > 0, np.nan, CORNERS), FACES, "vertex 0 is .* all coordinates must be finite"),
        (np.where(CORNERS > 0, np.inf, CORNERS), FACES, "vertex 0 is .* all coordinates must be finite"),
        (CORNERS, FACES + 2, r"triangle 0 names vertices \[2 3 4\]; there are 4"),
    ],
)
def test_what_is_no_mesh_is_refused_by_name(vertices, faces, message):
    with pytest.raises(ModelError, match=message):
        ball_on(vertices, faces)


def test_open_and_dirty_meshes_touch_as_clean_ones_do():
    clean, distance = ball_on(CORNERS, FACES)
    assert clean == pytest.approx(-0.05) and distance == pytest.approx(-0.05)
    repeated = np.concatenate([FACES, FACES])
    degenerate = np.concatenate([FACES, [[0, 0, 1], [2, 2, 2]]])
    for faces in (FACES[:2], repeated, degenerate):  # two faces alone: open
        found, distance = ball_on(CORNERS, faces)
        assert found == pytest.approx(clean) and distance == pytest.approx(-0.05)


def fallen(vertices, faces) -> np.ndarray:
    """Where a mesh of 0.4 m and a ball on it are after falling on a plate and each other for half a second."""
    builder = sim.ModelBuilder()
    builder.add_shape_box(-1, 1, 1, 0.1, xform=sim.transform((0, 0, -0.1)))
    builder.add_shape_mesh(builder.add_body(xform=sim.transform((0, 0, 0.25))), (vertices, faces), label="tent")
    builder.add_shape_sphere(builder.add_body(xform=sim.transform((0.05, 0.02, 0.6))), 0.1)
    model = builder.finalize(device="cpu", precision="float64")
    simulation = sim.Simulation(model, sim.solvers.Featherstone(model), dt=0.005)
    simulation.step(100)
    return np.asarray(simulation.state.body_q)


def test_a_mesh_turned_inside_out_is_turned_round_with_a_warning_and_falls_as_the_other():
    expected = fallen(CORNERS, FACES)
    with pytest.warns(UserWarning, match=r"shape 'tent': Mesh\('tent', 4 .* wound inwards.*turned round") as told:
        found = fallen(CORNERS, FACES[:, ::-1])
    assert len(told) == 1 and told[0].filename == __file__
    assert np.array_equal(found, expected)


def test_a_mesh_put_into_a_shape_inside_out_is_turned_round_by_finalize():
    builder = sim.ModelBuilder()
    builder.add_shape_mesh(-1, (CORNERS, FACES), label="tent")
    builder.shapes[0].mesh = Mesh(CORNERS, FACES[:, ::-1])
    with pytest.warns(UserWarning, match="shape 'tent': .* wound inwards"):
        model = builder.finalize(device="cpu")
    assert model.mesh_solid.tolist() == [2] and np.array_equal(model.mesh_triangle, FACES)


def test_a_mesh_that_crosses_itself_touches_by_each_of_its_sheets():
    twice = np.concatenate([CORNERS, CORNERS + [0.1, 0, 0]])
    found, distance = ball_on(twice, np.concatenate([FACES, FACES + 4]))
    assert distance == pytest.approx(-0.05) and found.min() == pytest.approx(-0.05) and len(found) >= 2


@pytest.mark.parametrize("size", [1e-9, 1e-6, 1e6, 1e9])
def test_meshes_of_any_size_touch_the_same(size):
    found, distance = ball_on(size * CORNERS, FACES, size)
    assert found == pytest.approx([-0.05]) and distance == pytest.approx(-0.05)
    found, distance = ball_on(size * CORNERS, FACES, scale=1 / size)
    assert found == pytest.approx([-0.05]) and distance == pytest.approx(-0.05)


@pytest.mark.parametrize("size", [1e-5, 1e5])
def test_single_precision_holds_meshes_of_ten_micrometres_and_of_a_hundred_kilometres(size):
    found, distance = ball_on(size * CORNERS, FACES, size, "float32")
    assert found == pytest.approx([-0.05], abs=1e-5) and distance == pytest.approx(-0.05, abs=1e-5)


@pytest.mark.parametrize("size", [1e-9, 1e-7, 1e7, 1e9])
@pytest.mark.parametrize("kind", ["mesh", "heightfield"])
def test_single_precision_touches_surfaces_of_a_nanometre_and_of_a_million_kilometres(kind, size):
    """Under a ball, and under a box, which touches by edges and corners."""
    for shape in ("sphere", "box"):
        builder = sim.ModelBuilder()
        surface = ((size * CORNERS, FACES),) if kind == "mesh" else (np.full((4, 4), 0.2 * size), size, size, size)
        getattr(builder, f"add_shape_{kind}")(-1, *surface)
        body = builder.add_body(xform=sim.transform(size * TIP), mass=1.0, inertia=(1, 1, 1))
        getattr(builder, f"add_shape_{shape}")(body, *[0.1 * size] * SIZES[shape])
        model = builder.finalize(device="cpu", precision="float32")
        contacts = model.contacts()
        sim.collide(model, model.state(), contacts)
        assert contacts.distance[: int(contacts.count[0])].min() / size == pytest.approx(-0.05, abs=1e-5)
        assert shape_distance(model, model.state(), [[0, 1]]).distance[0] / size == pytest.approx(-0.05, abs=1e-5)


@pytest.mark.parametrize(
    ("size", "precision", "wanted"),
    [(1e-12, "float32", "larger"), (1e12, "float32", "smaller"), (1e-17, "float64", "larger")],
)
def test_surfaces_beyond_a_precision_are_refused_by_name(size, precision, wanted):
    for kind, *surface in (("mesh", (size * CORNERS, FACES)), ("heightfield", np.zeros((3, 3)), size, size, size)):
        builder = sim.ModelBuilder()
        getattr(builder, f"add_shape_{kind}")(-1, *surface, label="dust")
        with pytest.raises(ModelError, match=f"shape 'dust'.* reaches .* m from its origin; .*make it {wanted}"):
            builder.finalize(device="cpu", precision=precision)


SIZES = {"sphere": 1, "box": 3, "capsule": 2, "cylinder": 2, "cone": 2, "ellipsoid": 3}


@pytest.mark.parametrize("kind", SIZES)
@pytest.mark.parametrize("wrong", [0.0, -1.0, np.nan, np.inf])
def test_shapes_without_size_are_refused_by_name(kind, wrong):
    for place in range(SIZES[kind]):
        size = [0.1] * SIZES[kind]
        size[place] = wrong
        builder = sim.ModelBuilder()
        with pytest.raises(ModelError, match=r"shape 'pebble', .*(must be positive|must be finite)"):
            getattr(builder, f"add_shape_{kind}")(-1, *size, label="pebble")
            builder.finalize(device="cpu")


@pytest.mark.parametrize("scale", [0.0, np.nan, (1, 0, 1)])
def test_a_mesh_scaled_to_nothing_is_refused_by_name(scale):
    with pytest.raises(ModelError, match="scale: is"):
        ball_on(CORNERS, FACES, scale=scale)


@pytest.mark.parametrize(
    ("points", "message"),
    [
        (np.zeros((0, 3)), "at least one row"),
        (np.zeros((5, 3)), "enclose no volume"),
        (np.arange(12.0).reshape(4, 3), "enclose no volume"),
        (np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0.0]]), "enclose no volume"),
        (np.full((5, 3), np.nan), "must be finite"),
    ],
)
def test_points_without_a_hull_are_refused_by_name(points, message):
    with pytest.raises(ModelError, match=f"convex hull: .*{message}"):
        sim.ModelBuilder().add_shape_convex_hull(-1, points)


@pytest.mark.parametrize(
    ("heights", "message"),
    [
        (np.zeros((1, 5)), r"shape \(1, 5\); give at least 2 rows and 2 columns"),
        (np.zeros((5, 1)), r"shape \(5, 1\); give at least 2 rows and 2 columns"),
        (np.zeros((0, 0)), "at least 2 rows and 2 columns"),
        (np.zeros(3), "at least 2 rows and 2 columns"),
        (np.full((3, 3), np.nan), "row 0, column 0 is not finite"),
    ],
)
def test_heights_that_are_no_field_are_refused(heights, message):
    with pytest.raises(ModelError, match=message):
        sim.ModelBuilder().add_shape_heightfield(-1, heights, 1, 1)


def test_two_rows_and_two_columns_are_a_field():
    builder = sim.ModelBuilder()
    builder.add_shape_heightfield(-1, np.zeros((2, 2)), 1, 1)
    builder.add_shape_sphere(builder.add_body(xform=sim.transform((0.2, -0.3, 0.09))), 0.1)
    model = builder.finalize(device="cpu", precision="float64")
    contacts = model.contacts()
    sim.collide(model, model.state(), contacts)
    assert contacts.distance[: int(contacts.count[0])] == pytest.approx([-0.01])


@pytest.mark.parametrize("radius", [-1e-9, -1.0, np.nan])
def test_a_radius_that_is_none_is_refused(radius):
    grid = HashGrid(1.0)
    grid.build(np.eye(3))
    with pytest.raises(ModelError, match=r"radius\[0\] is"):
        grid.neighbors(radius=radius)


@pytest.mark.parametrize("cell", [1e-3, 1.0, 1e4])
def test_radius_zero_meets_what_is_there_and_one_beyond_the_scene_everything(cell):
    points = np.random.default_rng(0).normal(size=(60, 3))
    points[7] = points[3]
    grid = HashGrid(cell)
    grid.build(points)
    assert grid.count(radius=0.0).tolist() == [2 if i in (3, 7) else 1 for i in range(60)]
    assert grid.count(radius=1e3).tolist() == [60] * 60
