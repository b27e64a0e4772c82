"""What is no argument of a query or a sensor is refused by an error of simengine that names it."""

from __future__ import annotations

import numpy as np
import pytest

import simengine as sim
from simengine.collision import (
    SDF,
    Bvh,
    HashGrid,
    Mesh,
    compact,
    exclusive_scan,
    shape_bounds,
    shape_distance,
    sort_pairs,
)
from simengine.sensors import Camera, ContactSensor, RayCaster, lidar

LOWER = np.random.default_rng(0).random((20, 3))
UPPER = LOWER + 0.1
VERTICES = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]], float)
FACES = np.array([[0, 1, 2], [0, 3, 1], [0, 2, 3], [1, 3, 2]])
POINT, ALONG = LOWER[:1], [[1.0, 0, 0]]
KEYS = np.array([3, 1], np.uint32)

WRONG = {
    "text": "three",
    "object": object(),
    "dictionary": {"a": 1},
    "ragged": [[1, 2, 3], [1, 2]],
    "complex": np.array([[1j, 0, 0]]),
    "texts": np.array([["a", "b", "c"]]),
    "nan": [[np.nan, 0, 0]],
}


class Scene:
    """One of each thing that has methods."""

    def __init__(self):
        builder = sim.ModelBuilder()
        builder.add_shape_box(builder.add_body(label="cart"), 0.3, 0.2, 0.1)
        builder.add_shape_sphere(-1, 0.5)
        self.builder, self.model = builder, builder.finalize(device="cpu")
        self.state, self.contacts = self.model.state(), self.model.contacts()
        self.bvh, self.mesh, self.grid = Bvh(LOWER, UPPER), Mesh(VERTICES, FACES), HashGrid(0.3)
        self.grid.build(LOWER)
        self.sdf = SDF.from_mesh(self.mesh, 0.5)
        self.caster, self.camera = RayCaster(self.model, ALONG), Camera(self.model, 4, 4, 1.0)
        self.touch = ContactSensor(self.model, "cart")


@pytest.fixture(scope="module")
def scene() -> Scene:
    return Scene()


CALLS = [
    ("lower", lambda s, x: Bvh(x, UPPER)),
    ("upper", lambda s, x: Bvh(LOWER, x)),
    ("groups", lambda s, x: Bvh(LOWER, UPPER, groups=x)),
    ("group_count", lambda s, x: Bvh(LOWER, UPPER, groups=np.zeros(20, int), group_count=x)),
    ("device", lambda s, x: Bvh(LOWER, UPPER, device=x)),
    ("lower", lambda s, x: s.bvh.refit(x, UPPER)),
    ("upper", lambda s, x: s.bvh.rebuild(LOWER, x)),
    ("upper", lambda s, x: s.bvh.query_aabb(POINT, x)),
    ("center", lambda s, x: s.bvh.query_sphere(x, 1.0)),
    ("radius", lambda s, x: s.bvh.query_sphere(POINT, x)),
    ("direction", lambda s, x: s.bvh.query_ray(POINT, x)),
    ("max_distance", lambda s, x: s.bvh.ray_first(POINT, ALONG, x)),
    ("group", lambda s, x: s.bvh.ray_any(POINT, ALONG, group=x)),
    ("k", lambda s, x: s.bvh.nearest(POINT, k=x)),
    ("vertices", lambda s, x: Mesh(x, FACES)),
    ("faces", lambda s, x: Mesh(VERTICES, x)),
    ("velocities", lambda s, x: Mesh(VERTICES, FACES, velocities=x)),
    ("precision", lambda s, x: Mesh(VERTICES, FACES, precision=x)),
    ("vertices", lambda s, x: s.mesh.refit(x)),
    ("origin", lambda s, x: s.mesh.ray_cast(x, ALONG)),
    ("points", lambda s, x: s.mesh.closest_point(x)),
    ("sign", lambda s, x: s.mesh.closest_point(POINT, sign=x)),
    ("points", lambda s, x: s.mesh.contains(x)),
    ("face", lambda s, x: s.mesh.position_at(x, [[0, 0]])),
    ("uv", lambda s, x: s.mesh.velocity_at([0], x)),
    ("cell_size", lambda s, x: HashGrid(x)),
    ("period", lambda s, x: HashGrid(1.0, period=x)),
    ("points", lambda s, x: HashGrid(1.0).build(x)),
    ("groups", lambda s, x: HashGrid(1.0).build(LOWER, groups=x)),
    ("points", lambda s, x: s.grid.neighbors(x)),
    ("radius", lambda s, x: s.grid.count(POINT, x)),
    ("Mesh", lambda s, x: SDF.from_mesh(x, 0.1)),
    ("voxel", lambda s, x: SDF.from_mesh(s.mesh, x)),
    ("margin", lambda s, x: SDF.from_mesh(s.mesh, 0.5, margin=x)),
    ("points", lambda s, x: s.sdf.gradient(x)),
    ("level", lambda s, x: s.sdf.marching_cubes(x)),
    ("function", lambda s, x: SDF.from_function(x, [-1] * 3, [1] * 3, 0.5)),
    ("function", lambda s, x: SDF.from_function(lambda points: x, [-1] * 3, [1] * 3, 0.5)),
    ("lower", lambda s, x: SDF.from_function(SDF.sphere(0.5).sample, x, [1] * 3, 0.5)),
    ("sphere", lambda s, x: SDF.sphere(x)),
    ("capsule", lambda s, x: SDF.capsule(0.1, x)),
    ("torus", lambda s, x: SDF.torus(x, 0.1)),
    ("keys", lambda s, x: sort_pairs(x)),
    ("bits", lambda s, x: sort_pairs(KEYS, bits=x)),
    ("terms", lambda s, x: exclusive_scan(x)),
    ("Model", lambda s, x: sim.collide(x, s.state, s.contacts)),
    ("state", lambda s, x: sim.collide(s.model, x, s.contacts)),
    ("contacts", lambda s, x: sim.collide(s.model, s.state, x)),
    ("dt", lambda s, x: sim.collide(s.model, s.state, s.contacts, x)),
    ("Model", lambda s, x: shape_distance(x, s.state, [[0, 1]])),
    ("pairs", lambda s, x: shape_distance(s.model, s.state, x)),
    ("state", lambda s, x: shape_bounds(s.model, x)),
    ("Model", lambda s, x: RayCaster(x, ALONG)),
    ("direction", lambda s, x: RayCaster(s.model, x)),
    ("origins", lambda s, x: RayCaster(s.model, ALONG, x)),
    ("bod", lambda s, x: RayCaster(s.model, ALONG, body=x)),
    ("xform", lambda s, x: RayCaster(s.model, ALONG, xform=x)),
    ("max_distance", lambda s, x: RayCaster(s.model, ALONG, max_distance=x)),
    ("see", lambda s, x: RayCaster(s.model, ALONG, see=x)),
    ("see_self", lambda s, x: RayCaster(s.model, ALONG, see_self=x)),
    ("state", lambda s, x: s.caster.cast(x)),
    ("azimuths", lambda s, x: lidar(s.model, x, [0.0])),
    ("width", lambda s, x: Camera(s.model, x, 4, 1.0)),
    ("fov", lambda s, x: Camera(s.model, 4, 4, x)),
    ("world", lambda s, x: s.camera.picture(s.state, x)),
    ("Model", lambda s, x: ContactSensor(x, "cart")),
    ("body", lambda s, x: ContactSensor(s.model, x)),
    ("other", lambda s, x: ContactSensor(s.model, "cart", x)),
    ("threshold", lambda s, x: ContactSensor(s.model, "cart", threshold=x)),
    ("contacts", lambda s, x: s.touch.read(x)),
    ("state", lambda s, x: s.touch.read(s.contacts, x)),
    ("capacity_per_world", lambda s, x: s.model.contacts(x)),
    ("broad_phase", lambda s, x: s.builder.finalize(device="cpu", broad_phase=x)),
]


@pytest.mark.parametrize("number", range(len(CALLS)), ids=lambda i: f"{i}-{CALLS[i][0]}")
def test_what_is_none_is_refused_by_name(scene, number):
    word, call = CALLS[number]
    for kind, value in WRONG.items():
        with pytest.raises(sim.SimError) as error:
            call(scene, value)
        assert word in str(error.value) or str(value) in str(error.value), (kind, str(error.value))


def test_a_mask_must_be_an_array():
    with pytest.raises(sim.ModelError, match="mask must be an array"):
        compact([1, 0])


@pytest.mark.parametrize("name", ["save", "load"])
def test_a_file_is_named_by_a_path(scene, name):
    for value in (None, 3, {"a": 1}):
        with pytest.raises(sim.ModelError, match="a file is named by a str or a Path, got"):
            getattr(scene.sdf, name)(value)


def test_groups_with_huge_gaps_are_refused_with_the_most_there_may_be():
    with pytest.raises(
        sim.CapacityError, match=r"number them from 0 on without gaps \(needed 1000000001, had 16777216\)"
    ):
        Bvh(LOWER, UPPER, groups=np.full(20, 10**9))
    with pytest.raises(
        sim.ModelError, match="group_count: is 1000000000.0; it must be a whole number from 1 to 16777216"
    ):
        Bvh(LOWER, UPPER, groups=np.zeros(20, int), group_count=1e9)


def test_forces_without_contacts_name_where_they_come_from(scene):
    with pytest.raises(sim.ModelError, match=r"got no contacts; .*model.contacts\(\).*Simulation\(contacts=contacts\)"):
        scene.touch.read(None)
    with pytest.raises(sim.ModelError, match="Simulation: got a State as the contacts; give a Contacts made by"):
        sim.Simulation(scene.model, sim.solvers.Featherstone(scene.model), 0.01, contacts=scene.state)
