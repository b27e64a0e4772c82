"""Distance fields as shapes of a builder: mass, storage, rays, files, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
import trimesh

import simengine as sim
from simengine.builder.distance_field import DistanceField, field_mesh
from simengine.builder.mesh_data import Mesh, convex_hull
from simengine.collision import SDF
from simengine.enums import ShapeType
from simengine.errors import AssetError, ModelError
from tests.collision.field_scenes import GIVEN, contacts_between


@pytest.fixture(scope="module")
def fields():
    made = {"box": SDF.box(0.2, 0.3, 0.1), "ring": SDF.torus(0.25, 0.08)}
    return {name: one.to_grid(0.04, precision="float64", device="cpu") for name, one in made.items()}


def sdf_of(field: DistanceField) -> SDF:
    block_of = np.flatnonzero(field.slot >= 0).astype(np.int32)
    return SDF(field.origin, field.voxel, field.blocks, np.inf, field.corner, field.slot, block_of, field.node)


def test_the_slope_bounds_every_difference():
    """Against samples of the interpolant itself, with and without nodes, in and between blocks."""
    sdf = SDF.torus(0.25, 0.08).to_grid(0.04, precision="float64", device="cpu")
    field = DistanceField.of(sdf, "ring")
    joined = sdf_of(field)
    random = np.random.default_rng(0)
    points = random.uniform(-0.6, 0.6, (20000, 3)) * [1, 1, 0.5]
    assert np.linalg.norm(joined.gradient(points), axis=1).max() <= field.slope + 1e-9 < 2.1
    step = 1e-3 * random.normal(size=points.shape)
    change = joined.sample(points + step) - joined.sample(points)
    assert (np.abs(change) <= field.slope * np.linalg.norm(step, axis=1) + 1e-12).all()
    near = np.abs(sdf.sample(points)) < 0.06
    assert np.abs(joined.sample(points) - sdf.sample(points))[near].max() < 1e-12
    assert sdf.sample(field.inner[None, :3])[0] == field.inner[3] < -0.06
    # the corner of the cell at the middle of a ball has slopes of 1 along all three edges
    moved = SDF.sphere(0.2).to_grid(0.04, sparse=False, precision="float64", device="cpu")
    ball = DistanceField.of(moved, "ball")
    assert np.isclose(ball.slope, np.sqrt(3))


TILT = trimesh.transformations.rotation_matrix(0.7, (1, 2, 3))


def tilted(*size: float):
    box = trimesh.creation.box(size)
    box.apply_transform(TILT)
    return box.vertices, box.faces


@pytest.mark.parametrize(
    ("solid", "voxel", "half"),
    [
        (SDF.box(0.005, 0.1, 0.1), 0.005, 0.005),
        (SDF.box(0.1, 0.02, 0.1), 0.007, 0.02),
        (SDF.sphere(0.1), 0.02, 0.1),
        (SDF.torus(0.2, 0.05), 0.01, 0.05),
        (SDF.box(0.05, 0.04, 0.03), 0.01, 0.03),
        (tilted(0.02, 0.3, 0.3), 0.005, 0.01),
        (tilted(0.3, 0.3, 0.3), 0.02, 0.15),
    ],
)
def test_half_of_what_a_solid_is_thick_is_found_between_its_walls(solid, voxel, half):
    """To within a voxel, since walls of a tilted solid meet between nodes, and never more; edges do not count."""
    found = field_mesh(solid, voxel, "solid").field.half_thickness
    assert half - voxel < found < half * (1 + 1e-6)


def test_the_surface_lies_on_the_field_and_closes(fields):
    mesh = field_mesh(fields["ring"], None, "ring")
    assert mesh.solid_problem == ""
    assert np.abs(fields["ring"].sample(mesh.vertices)).max() < 1e-12
    other = field_mesh(fields["box"], None, "ring")
    assert (
        mesh == field_mesh(fields["ring"], None, "another label")
        and mesh != other
        and mesh != Mesh(mesh.vertices, mesh.triangles)
    )


def test_mass_and_inertia_are_those_of_the_solid():
    """Of a ball of 0.1 m to what its surface is off at voxels of 5 mm, about (voxel / radius)^2 / 4."""
    builder = sim.ModelBuilder()
    builder.add_shape_sdf(builder.add_body(), SDF.sphere(0.1), voxel=0.005, density=500)
    model = builder.finalize(device="cpu", precision="float64")
    mass = 500 * 4 / 3 * np.pi * 1e-3
    assert np.isclose(model.body_mass[0], mass, rtol=3e-3)
    assert np.allclose(model.body_inertia[0], 0.4 * mass * 1e-2 * np.eye(3), rtol=5e-3, atol=1e-6)


def test_a_field_is_stored_once_and_survives_a_file(fields, tmp_path):
    template = sim.ModelBuilder()
    for x in (0, 2):
        template.add_shape_sdf(template.add_body(xform=(x, 0, 0.105, 0, 0, 0, 1), **GIVEN), fields["box"])
    builder = sim.ModelBuilder()
    builder.replicate(template, 3)
    builder.add_shape_sdf(-1, fields["ring"])
    builder.add_ground_plane()
    model = builder.finalize(device="cpu")
    assert model.mesh_count == 2 and (model.mesh_field_blocks > 0).all()
    model.save(tmp_path / "model.npz")
    loaded = sim.Model.load(tmp_path / "model.npz", device="cpu")
    one, other = contacts_between(model), contacts_between(loaded)
    assert len(one["feature"]) > 4 and all(one[name].tobytes() == other[name].tobytes() for name in one)


def test_rays_meet_the_surface_of_the_field():
    builder = sim.ModelBuilder()
    builder.add_shape_sdf(-1, SDF.sphere(0.2), voxel=0.02)
    model = builder.finalize(device="cpu", precision="float64")
    origins = [(x, 0.03, 1) for x in np.linspace(-0.15, 0.15, 7)]
    caster = sim.sensors.RayCaster(model, directions=[(0, 0, -1)] * 7, origins=origins)
    hits = caster.cast(model.state())
    expected = 1 - np.sqrt(0.04 - np.array(origins)[:, 0] ** 2 - 0.03**2)
    assert np.abs(hits.distance[0] - expected).max() < 2e-3  # voxel^2 / (4 radius), slanted
    assert (hits.shape[0] == 0).all()


def test_a_field_that_is_steep_between_its_blocks_says_so():
    """Values where there are no nodes are five times the distance there."""
    sdf = SDF.sphere(0.3).to_grid(0.01, precision="float64", device="cpu")
    grid = sdf.grid()
    coarse = np.where(np.abs(grid["coarse"]) > 0.1, 5 * grid["coarse"], grid["coarse"])
    block_of = np.flatnonzero(grid["slot"] >= 0).astype(np.int32)
    steep = SDF(sdf.origin, 0.01, sdf.blocks, np.inf, coarse, grid["slot"], block_of, grid["values"])
    field = DistanceField.of(steep, "steep")
    points = np.random.default_rng(0).uniform(-0.3, 0.3, (20000, 3))
    slopes = np.linalg.norm(sdf_of(field).gradient(points), axis=1)
    assert 4 < slopes.max() <= field.slope + 1e-9


@pytest.mark.parametrize(("sdf", "voxel", "message"), [
    (SDF.box(0.1, 0.1, 0.1), None, "voxel="),
    (SDF.box(0.1, 0.1, 0.1), 0.0, "voxel"),
    (SDF.box(0.1, 0.1, 0.1), np.nan, "voxel"),
    (SDF.plane(), 0.1, "bounds"),
    (None, 0.1, "NoneType"),
    ((np.zeros((0, 3)), np.zeros((0, 3), int)), 0.1, "one row"),
    (Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]]), 0.1, "no solid: 3 edges .*convex_hull.*SDF.from_mesh"),
    (sim.collision.Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]]), 0.1, "bounds no solid: 3 edges"),
])  # fmt: skip
def test_what_is_no_solid_is_refused(sdf, voxel, message):
    builder = sim.ModelBuilder()
    with pytest.raises(ModelError, match=message):
        builder.add_shape_sdf(-1, sdf, voxel=voxel)
    assert not builder.shapes


def test_a_misspelt_option_is_named_with_what_may_be_meant():
    builder = sim.ModelBuilder()
    for wrong, meant in (("voxl", "voxel"), ("densitty", "density")):
        with pytest.raises(ModelError, match=rf"an sdf has no '{wrong}'; did you mean '{meant}'\?; shapes take xform"):
            builder.add_shape_sdf(-1, SDF.sphere(0.1), **{wrong: 0.01})
    with pytest.raises(ModelError, match=r"a mesh has no 'scal'; did you mean 'scale'\?"):
        builder.add_shape_mesh(-1, None, scal=2)


def prism(outline, height: float) -> tuple[np.ndarray, np.ndarray]:
    """A prism over an outline that is counter-clockwise and star-shaped about its first corner."""
    n, outline = len(outline), np.asarray(outline, float)
    corners = np.concatenate([np.column_stack([outline, np.full(n, z)]) for z in (0.0, height)])
    faces = [(0, k + 1, k) for k in range(1, n - 1)] + [(n, n + k, n + k + 1) for k in range(1, n - 1)]
    for k in range(n):
        after = (k + 1) % n
        faces += [(k, after, after + n), (k, after + n, k + n)]
    return corners, np.array(faces)


def rectangle(x: float, y: float):
    return [(0, 0), (x, 0), (x, y), (0, y)]


BRACKET = [(0.05, 0.05), (0.05, 0.2), (0, 0.2), (0, 0), (0.3, 0), (0.3, 0.05)]


@pytest.mark.parametrize(("outline", "height", "voxel", "fillet"), [
    (rectangle(0.2, 0.2), 0.2, 0.025, 0), (rectangle(0.3, 0.2), 0.1, 0.05, 0), (rectangle(0.1, 0.1), 0.02, 0.01, 0),
    (rectangle(0.24, 0.16), 0.02, 0.01, 0), (rectangle(0.3, 0.1), 0.1, 0.05, 0), (BRACKET, 0.1, 0.025, 1),
    (BRACKET, 0.05, 0.0125, 1),
])  # fmt: skip
@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_parts_whose_sizes_are_multiples_of_the_voxel_become_whole_solids(outline, height, voxel, fillet, precision):
    """Of a hollow edge the corner of a voxel is filled, at most."""
    corners, faces = prism(outline, height)
    x, y = np.transpose(outline)
    exact = height * 0.5 * abs(x @ np.roll(y, -1) - y @ np.roll(x, -1))
    assert np.isclose(Mesh(corners, faces).moments[0], exact)
    builder = sim.ModelBuilder()
    mesh = sim.collision.Mesh(corners, faces, precision=precision, device="cpu")
    builder.add_shape_sdf(builder.add_body(), mesh, voxel=voxel, density=1.0)
    shape = builder.shapes[0].mesh
    assert shape.solid_problem == ""
    model = builder.finalize(device="cpu", precision="float64")
    more = model.body_mass[0] - exact
    assert -1e-4 * exact < more < 1e-4 * exact + fillet * height * voxel**2 / 2
    assert np.allclose(np.ptp(shape.vertices, axis=0), np.ptp(corners, axis=0), atol=1e-6)
    assert model.mesh_solid[0] > 0


def test_a_mesh_wound_inwards_becomes_the_same_field_with_a_warning():
    corners, faces = prism(rectangle(0.2, 0.2), 0.2)
    expected = field_mesh((corners, faces), 0.025, "block")
    builder = sim.ModelBuilder()
    with pytest.warns(UserWarning, match=r"distance field 'block': Mesh\(.* wound inwards.*turned round") as told:
        builder.add_shape_sdf(-1, (corners, faces[:, ::-1]), voxel=0.025, label="block")
    assert len(told) == 1 and told[0].filename == __file__
    assert builder.shapes[0].mesh == expected


def from_values(function, sparse=False) -> SDF:
    return SDF.from_function(function, [-0.2] * 3, [0.2] * 3, 0.05, sparse=sparse, precision="float64", device="cpu")


def jumps(points):
    """A ball whose sign is turned in half of what lies outside."""
    distance = np.linalg.norm(points, axis=1) - 0.1
    return np.where((distance > 0.4) & (points[:, 0] > 0) & (np.abs(points) < 0.6).all(axis=1), -distance, distance)


def test_fields_that_are_empty_leave_their_grid_or_hold_nan_are_refused():
    builder = sim.ModelBuilder()
    for function, message in (
        (lambda p: np.ones(len(p)), "negative nowhere"),
        (lambda p: p[:, 2], "edge of its grid"),
        (lambda p: -np.ones(len(p)), "negative everywhere"),
    ):
        for sparse in (False, True):
            with pytest.raises(ModelError, match=message):
                builder.add_shape_sdf(-1, from_values(function, sparse))
    with pytest.raises(ModelError, match="distance"):
        from_values(lambda p: np.full(len(p), np.nan))
    with pytest.raises(ModelError, match="voxel of its own"):
        builder.add_shape_sdf(-1, from_values(lambda p: np.linalg.norm(p, axis=1) - 0.1), voxel=0.1)
    leaping = SDF.from_function(jumps, [-0.8] * 3, [0.8] * 3, 0.02, precision="float64", device="cpu")
    with pytest.raises(ModelError, match="changes its sign.*sparse=False"):
        builder.add_shape_sdf(-1, leaping)


@pytest.mark.parametrize("primitive", [
    SDF.sphere(0.1), SDF.box(0.3, 0.1, 0.2), SDF.capsule(0.1, 0.3), SDF.cylinder(0.3, 0.1), SDF.cone(0.1, 0.3),
    SDF.torus(0.3, 0.1),
])  # fmt: skip
def test_voxels_larger_than_what_they_are_to_hold_are_refused_with_a_size_that_does(primitive):
    builder = sim.ModelBuilder()
    with pytest.raises(ModelError, match=r"use 0\.1 m or less"):
        builder.add_shape_sdf(-1, primitive, voxel=0.11)
    builder.add_shape_sdf(-1, primitive, voxel=0.1)


def test_voxels_larger_than_a_mesh_or_a_field_are_refused_with_a_size_that_does():
    corners = np.array(np.meshgrid([-0.3, 0.3], [-0.1, 0.1], [-0.2, 0.2])).reshape(3, -1).T
    mesh = convex_hull(corners)
    builder = sim.ModelBuilder()
    with pytest.raises(ModelError, match=r"use 0\.1 m or less"):
        builder.add_shape_sdf(-1, mesh, voxel=0.11)
    builder.add_shape_sdf(-1, mesh, voxel=0.1)
    small = SDF.from_function(
        lambda p: np.linalg.norm(p, axis=1) - 0.02, [-0.4] * 3, [0.4] * 3, 0.05, precision="float64", device="cpu"
    )
    with pytest.raises(ModelError, match=r"voxels of 0\.05 m.*use voxels of 0\.02 m or less"):
        builder.add_shape_sdf(-1, small)


def test_a_model_whose_field_does_not_fit_its_grid_is_refused(fields, tmp_path):
    builder = sim.ModelBuilder()
    builder.add_shape_sdf(-1, fields["box"])
    builder.add_shape_sphere(builder.add_body(), 0.1)
    model = builder.finalize(device="cpu")
    path = tmp_path / "model.npz"
    model.save(path)
    with np.load(path) as file:
        arrays = dict(file)
    for name, value in (("mesh_field_blocks", 1), ("field_slot", len(model.field_node)), ("mesh_field_voxel", 0)):
        spoilt = arrays | {f"model.{name}": arrays[f"model.{name}"] + value if value else arrays[f"model.{name}"] * 0}
        np.savez(path, **spoilt)
        with pytest.raises(AssetError, match=name):
            sim.Model.load(path, device="cpu")


@pytest.mark.parametrize("kind", ["urdf", "mjcf", "usd"])
def test_files_get_the_mesh_of_the_surface_and_say_so(kind, fields, tmp_path):
    builder = sim.ModelBuilder()
    builder.add_shape_sdf(builder.add_body(label="ring"), fields["ring"], density=300)
    path = tmp_path / {"urdf": "a.urdf", "mjcf": "a.xml", "usd": "a.usda"}[kind]
    with pytest.warns(UserWarning, match="distance field"):
        getattr(sim, f"export_{kind}")(builder, path)
    back = sim.ModelBuilder()
    getattr(back, f"add_{kind}")(path)
    assert back.shapes[0].type in (ShapeType.MESH, ShapeType.CONVEX_HULL)
    masses = [np.asarray(one.finalize(device="cpu").body_mass)[0] for one in (builder, back)]
    assert np.isclose(masses[0], masses[1], rtol=1e-5)


def test_bounds_hold_the_field_wherever_it_stands(fields):
    builder = sim.ModelBuilder()
    q = sim.quat_from_euler((0.4, 0.5, 0.6), order="xyz")
    builder.add_shape_sdf(-1, fields["ring"], xform=sim.transform((1, 2, 3), q))
    model = builder.finalize(device="cpu", precision="float64")
    lower, upper = sim.collision.shape_bounds(model, model.state())
    random = np.random.default_rng(1).uniform(-0.4, 0.4, (50000, 3))
    inside = random[fields["ring"].sample(random) < 0]
    from simengine.builder.frames import rotation_matrix

    placed = inside @ rotation_matrix(q).T + [1, 2, 3]
    assert (placed >= lower[0]).all() and (placed <= upper[0]).all()
    assert (placed.min(axis=0) - lower[0] < 0.06).all() and (upper[0] - placed.max(axis=0) < 0.06).all()
