"""Distance fields: closed forms, interpolation, surfaces and files."""

from __future__ import annotations

import json
import zipfile

import numpy as np
import pytest
import trimesh

import simengine as sim
from simengine.builder import Mesh as BuilderMesh
from simengine.collision.mesh import Mesh
from simengine.collision.sdf import SDF
from simengine.errors import AssetError, CapacityError, ModelError
from simengine.npz import write_npz

SHAPES = {
    "sphere": (SDF.sphere(0.4), trimesh.creation.icosphere(subdivisions=5, radius=0.4)),
    "box": (SDF.box(0.3, 0.2, 0.4), trimesh.creation.box((0.6, 0.4, 0.8))),
    "capsule": (SDF.capsule(0.2, 0.3), trimesh.creation.capsule(0.6, 0.2, count=(96, 96))),
    "cylinder": (SDF.cylinder(0.3, 0.4), trimesh.creation.cylinder(0.3, 0.8, sections=400)),
    "cone": (SDF.cone(0.3, 0.4), trimesh.creation.cone(0.3, 0.8, sections=400)),
    "torus": (SDF.torus(0.5, 0.2), trimesh.creation.torus(0.5, 0.2, major_sections=300, minor_sections=150)),
}


def shape(name: str):
    """The closed form, and a fine mesh of the shape in the same place."""
    form, mesh = SHAPES[name]
    if name == "cone":  # trimesh's stands on its base
        mesh = mesh.copy()
        mesh.apply_translation([0, 0, -0.4])
    return form, mesh


def surface(field: SDF, level: float = 0.0) -> trimesh.Trimesh:
    vertices, faces = (sim.to_numpy(array) for array in field.marching_cubes(level))
    return trimesh.Trimesh(vertices, faces, process=False)


# closed forms


@pytest.mark.parametrize("name", SHAPES)
def test_closed_forms_are_the_distance_to_a_fine_mesh(name, device):
    form, mesh = shape(name)
    points = np.random.default_rng(1).uniform(-0.9, 0.9, (2000, 3))
    expected = Mesh(mesh.vertices, mesh.faces).closest_point(points, sign="winding").distance
    tolerance = 1e-12 if name == "box" else 4e-4  # the chords of the mesh
    assert np.abs(sim.to_numpy(form.sample(device.asarray(points))) - expected).max() < tolerance


@pytest.mark.parametrize("name", [*SHAPES, "plane"])
def test_closed_forms_change_by_the_way_moved(name):
    form = SDF.plane() if name == "plane" else SHAPES[name][0]
    points, step = np.random.default_rng(2).uniform(-0.9, 0.9, (2000, 3)), 1e-6
    moves = step * np.eye(3)
    slope = np.stack([(form.sample(points + m) - form.sample(points - m)) / (2 * step) for m in moves], axis=1)
    size = np.linalg.norm(slope, axis=1)
    assert np.median(np.abs(size - 1)) < 1e-8 and size.max() < 1 + 1e-6


def test_sizes_of_closed_forms_must_be_positive():
    with pytest.raises(ModelError, match="positive"):
        SDF.box(1, 0, 1)
    with pytest.raises(ModelError, match="fills the hole"):
        SDF.torus(0.1, 0.2)
    with pytest.raises(ModelError, match="a plane has no end"):
        SDF.plane().to_grid(0.1)


# interpolation


@pytest.mark.parametrize(("precision", "tolerance"), [("float32", 1e-5), ("float64", 1e-13)])
def test_a_linear_field_comes_back_with_its_gradient(precision, tolerance, device):
    slope = np.array([1.0, -2, 3])
    field = SDF.from_function(
        lambda points: points @ device.asarray(slope) + 0.5,
        [-1, -1, -1],
        [1, 1.5, 1],
        0.1,
        sparse=False,
        precision=precision,
        device=device,
    )
    points = np.random.default_rng(3).uniform(-1, 1, (500, 3))
    value, gradient = (sim.to_numpy(array) for array in field.sample_with_gradient(device.asarray(points)))
    assert np.abs(value - (points @ slope + 0.5)).max() < tolerance
    assert np.abs(gradient - slope).max() < 20 * tolerance


def test_the_gradient_is_the_derivative_of_the_sample():
    field = SHAPES["torus"][0].to_grid(0.03, precision="float64")
    points, step = np.random.default_rng(4).uniform(-1.3, 1.3, (3000, 3)), 1e-7
    moves = step * np.eye(3)
    slope = np.stack([(field.sample(points + m) - field.sample(points - m)) / (2 * step) for m in moves], axis=1)
    wrong = np.abs(field.gradient(points) - slope).max(axis=1)
    assert np.mean(wrong > 1e-6) < 0.001  # points whose steps cross into another cell


@pytest.mark.parametrize("sparse", [True, False])
def test_a_field_of_a_mesh_is_its_distance(sparse, precision):
    mesh = trimesh.creation.icosphere(subdivisions=2)
    voxel = 0.05
    field = SDF.from_mesh(Mesh(mesh.vertices, mesh.faces, precision=precision), voxel, sparse=sparse)
    points = np.random.default_rng(5).uniform(-1.1, 1.1, (2000, 3))
    expected = Mesh(mesh.vertices, mesh.faces).closest_point(points).distance
    # a distance between nodes differs from the interpolant by no more than the way to a node
    near = np.abs(expected) < 2 * voxel
    assert np.abs(field.sample(points) - expected)[near].max() < 0.2 * voxel
    assert np.abs(field.sample(points) - expected).max() < np.sqrt(3) * voxel * (8 if sparse else 1)
    assert np.array_equal(field.sample(points)[~near] < 0, expected[~near] < 0)


def test_a_sparse_field_holds_near_the_surface_what_a_dense_one_does():
    mesh = trimesh.creation.icosphere(subdivisions=2)
    made = Mesh(mesh.vertices, mesh.faces, precision="float32")
    sparse, dense = SDF.from_mesh(made, 0.05), SDF.from_mesh(made, 0.05, sparse=False)
    assert len(sparse._values) < 0.9 * len(dense._values)
    points = 1.02 * mesh.vertices
    assert np.array_equal(sparse.sample(points), dense.sample(points))
    for a, b in zip(sparse.marching_cubes(), dense.marching_cubes(), strict=True):
        assert np.array_equal(a, b)


def test_outside_the_grid_the_way_there_is_added():
    field = SHAPES["sphere"][0].to_grid(0.02, precision="float64")
    away = np.array([[5.0, 0, 0], [0, -300, 0], [3, 3, 3]])
    distance = np.linalg.norm(away, axis=1) - 0.4
    assert (field.sample(away) >= distance - 1e-3).all() and (field.sample(away) < distance + 0.5).all()


def test_far_from_the_origin_a_field_keeps_its_digits():
    shift = np.array([1e6, -1e6, 1e6])
    mesh = trimesh.creation.box()
    field = SDF.from_mesh(Mesh(mesh.vertices + shift, mesh.faces, precision="float32"), 0.05)
    points = np.random.default_rng(6).uniform(-0.55, 0.55, (300, 3))
    expected = SDF.box(0.5, 0.5, 0.5).sample(points)
    near = np.abs(expected) < 0.05
    assert np.abs(field.sample(points + shift) - expected)[near].max() < 0.03


# surfaces


def test_the_surface_of_a_sphere_has_its_area_and_grows_with_it(device):
    field = SDF.sphere(0.5).to_grid(1 / 60, device=device)
    ball = surface(field)
    assert ball.is_watertight and ball.is_winding_consistent and ball.euler_number == 2
    assert ball.area == pytest.approx(np.pi, abs=1e-2) and ball.volume == pytest.approx(np.pi / 6, abs=1e-2)
    rate = (surface(field, 0.01).area - surface(field, -0.01).area) / 0.02
    assert rate == pytest.approx(8 * np.pi * 0.5, abs=1e-2)


@pytest.mark.parametrize("name", SHAPES)
def test_surfaces_of_shapes_are_closed_and_hold_their_volume(name):
    form, mesh = shape(name)
    found = surface(form.to_grid(0.02, precision="float64"))
    assert found.is_watertight and found.is_winding_consistent
    assert found.volume == pytest.approx(mesh.volume, rel=0.02)


@pytest.mark.parametrize("seed", range(3))
def test_noise_has_a_closed_surface(seed):
    random = np.random.default_rng(seed)
    noise = random.normal(size=(25, 25, 25))

    def function(points):
        node = np.rint(points).astype(int) + 8
        inside = (np.abs(points) < 8).all(axis=1)
        return np.where(inside, noise[tuple(np.clip(node, 0, 24).T)], 1.0)

    field = SDF.from_function(function, [-8] * 3, [8] * 3, 1.0, sparse=False, precision="float64")
    found = surface(field)
    assert len(found.faces) > 3000 and found.is_watertight and found.is_winding_consistent


def directed_edges(found: trimesh.Trimesh) -> np.ndarray:
    """Edges (e, 2) of a surface whose vertices at equal positions are one, each in the sense of its triangle."""
    _, number = np.unique(found.vertices, axis=0, return_inverse=True)
    corners = number.reshape(-1)[found.faces]
    return np.stack([corners, np.roll(corners, -1, axis=1)], axis=2).reshape(-1, 2)


def assert_closed_manifold(found: trimesh.Trimesh) -> None:
    edges = directed_edges(found)
    assert (edges[:, 0] != edges[:, 1]).all()
    _, times = np.unique(edges, axis=0, return_counts=True)
    assert len(edges) and (times == 1).all()  # each once in a sense
    assert {(b, a) for a, b in edges.tolist()} == set(map(tuple, edges.tolist()))  # and once in the other


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("seed", range(4))
def test_nodes_on_the_level_leave_the_surface_a_closed_manifold(seed, precision):
    """Values of -1, 0 and 1 at random, most of them 1, 0 or -1 in turn: all cases, and vertices at nodes everywhere."""
    random = np.random.default_rng(seed)
    shares = [(0.2, 0.6, 0.2), (0.05, 0.1, 0.85), (0.8, 0.15, 0.05), (0.3, 0.3, 0.4)][seed]
    values = np.full((17, 17, 17), 1.0)
    values[1:-1, 1:-1, 1:-1] = random.choice([-1.0, 0.0, 1.0], (15, 15, 15), p=shares)

    def function(points):
        return values[tuple(np.rint(points / 0.1).astype(int).T)]

    field = SDF.from_function(function, [0] * 3, [1.6] * 3, 0.1, sparse=False, precision=precision)
    found = surface(field)
    assert_closed_manifold(found)
    # every node at or below 0 is inside, every other one outside
    nodes = 0.1 * np.stack(np.meshgrid(*[np.arange(17)] * 3, indexing="ij"), -1).reshape(-1, 3)
    mesh = Mesh(found.vertices.astype(np.float64), found.faces)
    assert np.array_equal(mesh.contains(nodes), values.ravel() <= 0)


@pytest.mark.parametrize("noise", [0.0, 1e-16, 1e-9])
def test_a_box_whose_faces_lie_on_nodes_comes_out_whole_in_spite_of_round_off(noise):
    random = np.random.default_rng(0)

    def function(points):
        gap = np.abs(points) - [0.2, 0.1, 0.3]
        exact = np.linalg.norm(np.maximum(gap, 0), axis=1) + np.minimum(gap.max(axis=1), 0)
        return exact + noise * random.normal(size=len(points))

    field = SDF.from_function(function, [-0.8] * 3, [0.8] * 3, 0.1, sparse=False, precision="float64")
    found = surface(field)
    assert_closed_manifold(found)
    assert found.volume == pytest.approx(8 * 0.2 * 0.1 * 0.3, rel=1e-6)
    assert np.allclose(found.bounds, [[-0.2, -0.1, -0.3], [0.2, 0.1, 0.3]], atol=1e-8)


def test_a_field_without_a_surface_has_an_empty_one(device):
    field = SDF.from_function(lambda p: p[:, 0] * 0 + 5, [0] * 3, [1] * 3, 0.1, sparse=False, device=device)
    vertices, faces = field.marching_cubes()
    assert vertices.shape == (0, 3) and faces.shape == (0, 3)


def test_a_surface_that_leaves_the_grid_ends_there():
    field = SDF.from_function(SDF.plane().sample, [-1] * 3, [1] * 3, 0.125, precision="float64")
    found = surface(field)
    assert found.area == pytest.approx(4) and np.abs(found.vertices[:, 2]).max() < 1e-8 * 0.125 * 2


# files and bad input


def test_a_saved_field_comes_back(tmp_path, precision):
    field = SHAPES["torus"][0].to_grid(0.05, precision=precision)
    field.save(tmp_path / "ring.npz")
    again = SDF.load(tmp_path / "ring.npz")
    points = np.random.default_rng(7).uniform(-1, 1, (500, 3))
    assert again.dtype == field.dtype and np.array_equal(again.sample(points), field.sample(points))
    for a, b in zip(again.marching_cubes(), field.marching_cubes(), strict=True):
        assert np.array_equal(a, b)


@pytest.mark.parametrize(
    "change",
    [
        {"blocks": [1, 1]},
        {"blocks": [10**9, 1, 1]},
        {"blocks": [1.5, 1, 1]},
        {"held": -1},
        {"held": 10**6},
        {"voxel": 0.0},
        {"voxel": float("nan")},
        {"origin": [0.0, 0.0, float("inf")]},
        {"origin": ["a", 0.0, 0.0]},
        {"precision": "float16"},
        {"version": 2},
        {"format": "simengine state"},
    ],
)
def test_a_file_with_an_impossible_header_is_refused(tmp_path, change):
    field = SHAPES["sphere"][0].to_grid(0.1)
    field.save(tmp_path / "good.npz")
    with zipfile.ZipFile(tmp_path / "good.npz") as archive:
        arrays = {name: np.load(archive.open(f"{name}.npy")) for name in ("header", "coarse", "slot", "values")}
    header = json.loads(arrays.pop("header").tobytes()) | change
    write_npz(tmp_path / "bad.npz", header, arrays)
    with pytest.raises(AssetError, match=r"bad\.npz"):
        SDF.load(tmp_path / "bad.npz")


def test_a_file_whose_blocks_are_not_its_own_is_refused(tmp_path):
    field = SHAPES["sphere"][0].to_grid(0.1)
    field._slot = field._slot + 1
    field.save(tmp_path / "bad.npz")
    with pytest.raises(AssetError, match="table of blocks"):
        SDF.load(tmp_path / "bad.npz")


@pytest.mark.parametrize("name", ["coarse", "values"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_file_of_values_that_are_not_finite_is_refused(tmp_path, name, value):
    field = SHAPES["sphere"][0].to_grid(0.1)
    field.save(tmp_path / "good.npz")
    with zipfile.ZipFile(tmp_path / "good.npz") as archive:
        arrays = {part: np.load(archive.open(f"{part}.npy")) for part in ("header", "coarse", "slot", "values")}
    header = json.loads(arrays.pop("header").tobytes())
    arrays[name].flat[1] = value
    write_npz(tmp_path / "bad.npz", header, arrays)
    with pytest.raises(AssetError, match=r"bad\.npz.*not finite"):
        SDF.load(tmp_path / "bad.npz")


def test_what_cannot_be_a_field_is_refused():
    box = trimesh.creation.box()
    mesh = Mesh(box.vertices, box.faces)
    for voxel in (0, -1, np.nan):
        with pytest.raises(ModelError, match="voxel"):
            SDF.from_mesh(mesh, voxel)
    for margin in (-1, -1e-9, np.nan, np.inf, "1"):
        with pytest.raises(ModelError, match="margin"):
            SDF.from_mesh(mesh, 0.1, margin=margin)
        with pytest.raises(ModelError, match="margin"):
            SDF.sphere(0.5).to_grid(0.1, margin=margin)
    with pytest.raises(ModelError, match="no faces"):
        SDF.from_mesh(Mesh(np.zeros((0, 3)), np.zeros((0, 3), int)), 0.1)
    for voxel, margin in ((1e-4, 0), (1e-320, 0), (1e-130, 0), (0.1, 1e300), (0.1, 1e308)):
        with pytest.raises(CapacityError, match="larger voxel"):
            SDF.from_mesh(mesh, voxel, margin=margin)
    with pytest.raises(ModelError, match="sparse: is 'no'"):
        SDF.from_mesh(mesh, 0.2, sparse="no")
    with pytest.raises(ModelError, match="beyond"):
        SDF.from_mesh(mesh, 0.2).marching_cubes(level=0.5)
    with pytest.raises(ModelError, match=r"points\[0, 1\] is nan"):
        SDF.from_mesh(mesh, 0.2).sample([[0, np.nan, 0]])
    with pytest.raises(ModelError, match="must return"):
        SDF.from_function(lambda p: p, [0] * 3, [1] * 3, 0.5)


@pytest.mark.parametrize("name", ["smoke.vdb", "level.NVDB"])
def test_volumes_of_other_programs_are_refused_with_a_way_to_bring_them_in(tmp_path, name):
    with pytest.raises(AssetError, match=r"from_function"):
        SDF.load(tmp_path / name)


@pytest.mark.parametrize("name", [*SHAPES, "plane"])
def test_what_needs_a_grid_says_how_to_make_one(name, tmp_path):
    form = SDF.plane() if name == "plane" else SHAPES[name][0]
    points = np.zeros((1, 3))
    for ask in (
        lambda: form.gradient(points),
        lambda: form.sample_with_gradient(points),
        form.marching_cubes,
        lambda: form.save(tmp_path / "field.npz"),
    ):
        with pytest.raises(ModelError, match="grid"):
            ask()
    assert not list(tmp_path.iterdir())


def test_voxels_larger_than_a_primitive_are_refused():
    with pytest.raises(ModelError, match="use 0.2 m or less"):
        SDF.cylinder(0.3, 0.2).to_grid(0.3)


def test_a_short_capsule_is_no_thinner_than_its_radius():
    """Voxels of half the radius are fine enough, whatever the length of its axis."""
    field = SDF.capsule(0.1, 0.01).to_grid(0.05, device="cpu")
    assert field.sample(np.array([[0.0, 0.0, 0.0], [0.2, 0.0, 0.0]])) == pytest.approx([-0.1, 0.1], abs=0.01)


def test_another_mesh_is_refused_with_the_way_to_convert_it():
    box = trimesh.creation.box()
    for given, arguments in (
        (BuilderMesh(box.vertices, box.faces), r"\(mesh\.vertices, mesh\.triangles\), got a simengine"),
        (box, r"\(mesh\.vertices, mesh\.faces\), got a trimesh"),
        ((box.vertices, box.faces), r"\(vertices, faces\), got a builtins\.tuple"),
    ):
        with pytest.raises(ModelError, match=rf"wants sim\.collision\.Mesh{arguments}"):
            SDF.from_mesh(given, 0.1)
