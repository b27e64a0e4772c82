"""sim.collide: order, slabs, frames, margins, and bits that depend on nothing but the world."""

from __future__ import annotations

import numpy as np
import pytest

import simengine as sim
from simengine.builder.mesh_data import Mesh
from simengine.collision.pipeline import _kernels, kernels_for
from simengine.containers import to_numpy
from simengine.enums import PRIMITIVE_ROUTINES, ROUTINE_FAMILIES, PairRoutine, family_bits
from simengine.errors import ModelError
from simengine.runtime import build, nvrtc
from simengine.runtime.kernel import Kernel, compile_cubin
from simengine.runtime.modes import emulated_lanes
from simengine.runtime.world_launch import WorldLaunch
from tests.collision.collision_pairs import Pairs, collide, compose, matrices, random_rotations

SHAPES = (
    ("sphere", dict(radius=0.25)),
    ("capsule", dict(radius=0.15, half_height=0.2)),
    ("box", dict(hx=0.2, hy=0.3, hz=0.15)),
    ("cylinder", dict(radius=0.2, half_height=0.2)),
    ("ellipsoid", dict(a=0.3, b=0.2, c=0.25)),
)


def heap(seed: int = 0, bodies: int = 15, **options) -> sim.ModelBuilder:
    """A world of free bodies of all kinds, one shape each, piled into each other."""
    random = np.random.default_rng(seed)
    builder = sim.ModelBuilder()
    for i in range(bodies):
        place = sim.transform(p=random.uniform(-0.4, 0.4, 3) + [0, 0, 0.3], q=random_rotations(random, 1)[0])
        body = builder.add_body(xform=place)
        kind, size = SHAPES[i % len(SHAPES)]
        offset = sim.transform(p=random.uniform(-0.05, 0.05, 3), q=random_rotations(random, 1)[0])
        getattr(builder, f"add_shape_{kind}")(body, xform=offset, **size, **options)
    return builder


def many(worlds: int, **options):
    """Worlds of like heaps on one shared ground, each disturbed; model, state and contacts."""
    builder = sim.ModelBuilder()
    builder.replicate(heap(), worlds)
    builder.add_ground_plane()
    model = builder.finalize(**options)
    state = model.state()
    random = np.random.default_rng(1)
    poses = to_numpy(model.body_q).copy()
    poses[:, :3] += 0.05 * random.normal(size=(model.body_count, 3))
    state.body_q = model.device.asarray(poses)
    return model, state, model.contacts()


def rows(model, contacts, world: int) -> dict[str, np.ndarray]:
    """The contacts of one world; shapes are counted from the world's first, the shared ones kept negative."""
    first, count = int(contacts.world_start[world]), int(contacts.count[world])
    found = {
        name: to_numpy(getattr(contacts, name))[first : first + count].copy()
        for name in ("shape0", "shape1", "feature", "point0", "point1", "normal", "tangent", "distance")
    }
    start, shared = int(model.world_shape_start[world]), int(model.world_shape_start[model.world_count])
    for name in ("shape0", "shape1"):
        found[name] = np.where(found[name] >= shared, shared - 1 - found[name], found[name] - start)
    return found


def assert_same(a: dict, b: dict) -> None:
    for name in a:
        assert np.array_equal(a[name], b[name]), name


def test_points_are_in_the_frames_of_their_bodies_and_distance_is_between_them(precision, device):
    model, state, contacts = many(3, device=device, precision=precision)
    sim.collide(model, state, contacts)
    body_q, body = to_numpy(state.body_q).astype(float), to_numpy(model.shape_body)
    total = 0
    for world in range(3):
        first = int(contacts.world_start[world])
        each = slice(first, first + int(contacts.count[world]))
        points = []
        for shape, point in (("shape0", "point0"), ("shape1", "point1")):
            owner = body[to_numpy(getattr(contacts, shape))[each]]
            pose = np.where(owner[:, None] < 0, [0, 0, 0, 0, 0, 0, 1.0], body_q[owner])
            local = to_numpy(getattr(contacts, point))[each].astype(float)
            points.append(pose[:, :3] + np.einsum("nij,nj->ni", matrices(pose[:, 3:]), local))
        normal, tangent = (to_numpy(getattr(contacts, name))[each].astype(float) for name in ("normal", "tangent"))
        distance = to_numpy(contacts.distance)[each].astype(float)
        tolerance = 1e-12 if precision == "float64" else 2e-6
        assert np.allclose(points[1] - points[0], distance[:, None] * normal, atol=tolerance)
        assert np.allclose(np.sum(normal * tangent, 1), 0, atol=tolerance)
        assert np.allclose(np.linalg.norm(tangent, axis=1), 1, atol=tolerance)
        assert np.all(distance < 0)
        total += len(distance)
    assert total > 30


def test_contacts_stand_in_the_order_of_pair_and_feature():
    model, state, contacts = many(4, device="cpu", precision="float64")
    sim.collide(model, state, contacts)
    tables = model.groups[0].tables
    own = int(model.world_shape_start[1] - model.world_shape_start[0])
    pairs = {(a, b): p for p, (a, b) in enumerate(zip(tables["pair_shape0"], tables["pair_shape1"], strict=True))}
    for world in range(4):
        found = rows(model, contacts, world)
        local = [np.where(found[name] < 0, own - 1 - found[name], found[name]) for name in ("shape0", "shape1")]
        order = [(pairs[a, b], feature) for a, b, feature in zip(*local, found["feature"], strict=True)]
        assert order == sorted(order) and len(set(order)) == len(order) > 5


def test_the_bounding_spheres_leave_out_no_pair_that_its_routine_finds_touching():
    model, state, contacts = many(4, device="cpu", precision="float64")
    sim.collide(model, state, contacts)
    tables, own = model.groups[0].tables, int(model.world_shape_start[1])
    shared = int(model.world_shape_start[model.world_count])
    for world in range(4):
        found = rows(model, contacts, world)
        for p, routine in enumerate(tables["pair_routine"]):
            if routine not in PRIMITIVE_ROUTINES:
                continue
            shapes = [int(tables[name][p]) for name in ("pair_shape0", "pair_shape1")]
            row = [shared + i - own if i >= own else world * own + i for i in shapes]
            poses = [_shape_pose(model, state, i) for i in row]
            sizes = [model.shape_size[i][None] for i in row]
            alone = collide(Pairs(PairRoutine(routine), poses[0], sizes[0], poses[1], sizes[1]), 0.0)
            label = [own - 1 - i if i >= own else i for i in shapes]
            listed = (found["shape0"] == label[0]) & (found["shape1"] == label[1])
            assert listed.sum() == alone.count[0]
            assert np.allclose(found["distance"][listed], alone.distance[0, : alone.count[0]], atol=1e-12)


def _shape_pose(model, state, shape: int) -> np.ndarray:
    body = model.shape_body[shape]
    return compose(
        state.body_q[body] if body >= 0 else np.array([0, 0, 0, 0, 0, 0, 1.0]), model.shape_xform[shape][None]
    )


@pytest.mark.parametrize("lanes", [1, 4, 32])
@pytest.mark.parametrize("seed", [0, 1])
def test_neither_lanes_nor_their_order_nor_old_memory_change_a_bit(precision, lanes, seed):
    model, state, contacts = many(5, device="cpu", precision=precision)
    sim.collide(model, state, contacts)
    other = model.contacts()
    with emulated_lanes(lanes, seed, poison=True):
        sim.collide(model, state, other)
    assert np.array_equal(contacts.count, other.count) and np.array_equal(contacts.needed, other.needed)
    for world in range(5):
        assert_same(rows(model, contacts, world), rows(model, other, world))


def test_a_world_alone_has_the_contacts_that_it_has_among_many():
    model, state, contacts = many(8, device="cpu", precision="float32")
    sim.collide(model, state, contacts)
    alone, its_state, its_contacts = many(1, device="cpu", precision="float32")
    for world in (0, 3, 7):
        its_state.body_q = model.by_world(state.body_q)[world].reshape(-1, 7)
        sim.collide(alone, its_state, its_contacts)
        assert_same(rows(alone, its_contacts, 0), rows(model, contacts, world))


def test_a_world_that_is_not_finite_disturbs_no_other():
    model, state, contacts = many(4, device="cpu", precision="float64")
    sim.collide(model, state, contacts)
    before = [rows(model, contacts, world) for world in range(4)]
    model.by_world(state.body_q)[2] = np.nan
    sim.collide(model, state, contacts)
    assert contacts.count[2] == 0
    for world in (0, 1, 3):
        assert_same(rows(model, contacts, world), before[world])


def test_a_slab_too_small_keeps_the_first_contacts_and_tells_how_many_there_were():
    model, state, contacts = many(3, device="cpu", precision="float64")
    sim.collide(model, state, contacts)
    small = model.contacts(capacity_per_world=4)
    sim.collide(model, state, small)
    assert np.array_equal(small.needed, contacts.count) and np.all(small.needed > 4)
    assert np.all(small.count == 4)
    for world in range(3):
        whole, cut = rows(model, contacts, world), rows(model, small, world)
        assert_same({name: values[:4] for name, values in whole.items()}, cut)


def test_margins_and_gaps_of_both_shapes_widen_the_reach():
    for height, made in ((0.0999, True), (0.1001, False)):
        builder = sim.ModelBuilder()
        body = builder.add_body(xform=sim.transform(p=(0, 0, 0.5 + height)))
        builder.add_shape_sphere(body, radius=0.5, margin=0.01, gap=0.02)
        builder.add_ground_plane(margin=0.03, gap=0.04)
        model = builder.finalize(device="cpu", precision="float64")
        contacts = model.contacts()
        sim.collide(model, model.state(), contacts)
        assert (contacts.count[0] == 1) == made


def test_the_tangent_is_the_conventions():
    """y, or z where |n.y| >= 0.5, made orthogonal to the normal; for a capsule on a plane its axis, laid into it."""
    model, state, contacts = many(6, device="cpu", precision="float64")
    sim.collide(model, state, contacts)
    seen = 0
    for world in range(6):
        found = rows(model, contacts, world)
        kinds = np.where(found["shape1"] < 0, -1, found["shape1"] % 5)
        plane = found["shape0"] < 0
        for n, t, capsule in zip(found["normal"], found["tangent"], plane & (kinds == 1), strict=True):
            if capsule:
                continue
            start = np.array([0, 1, 0]) if abs(n[1]) < 0.5 else np.array([0, 0, 1])
            expected = start - (start @ n) * n
            assert np.allclose(t, expected / np.linalg.norm(expected), atol=1e-12)
            seen += 1
    assert seen > 50
    builder = sim.ModelBuilder()
    q = sim.quat_from_axis_angle((0.6, 0.8, 0), 1.2)
    body = builder.add_body(xform=sim.transform(p=(0, 0, 0.1), q=q))
    builder.add_shape_capsule(body, radius=0.1, half_height=0.2)
    builder.add_ground_plane()
    model = builder.finalize(device="cpu", precision="float64")
    contacts = model.contacts()
    sim.collide(model, model.state(), contacts)
    axis = matrices(np.asarray(q)[None])[0] @ [0, 0, 1]
    flat = axis * [1, 1, 0] / np.linalg.norm(axis[:2])
    assert np.allclose(contacts.tangent[0], flat, atol=1e-12)


LOAD = Kernel(
    """
    #include "collide_any.h"
    #include "contact_slab.h"
    // point, distance and margin of every contact: found in the world (`from_slab` 0) or read from its slab
    extern "C" __global__ void load(const ModelView model, const TopologyView topology, const real* body_q,
                                    const ContactsArrays contacts, int from_slab, int room, real* values, int* lost,
                                    const Scratch scratch) {
        const Topology t(topology);
        for_each_world(t.worlds(), scratch, [&](Lanes& lanes, int slot, GroupMemory bytes) {
            MemoryBump bump(bytes.fast), slow(bytes.slow);
            Transform* link_pose = bump.take<Transform>(t.links());
            ContactMemory m = take_contact_memory(bump, slow, t);
            const int world = t.world(slot), first = model.world_body_start[world];
            for (int i = lanes.lane(); i < t.links(); i += lanes.count())
                link_pose[i] = i == 0 ? identity_transform() : load_transform(&body_q[7 * (first + t.link_body(i))]);
            lanes.sync();
            int left_out = 0;
            const int count = from_slab ? load_contacts(lanes, t, model, contacts, world, link_pose, m, left_out)
                                        : collide_world<AllPairs>(lanes, t, model, world, link_pose, m);
            if (lanes.lane() == 0) lost[world] = left_out;
            for (int i = lanes.lane(); i < count; i += lanes.count()) {
                real* row = values + 8 * (room * world + i);
                store_vec3(row, m[i].point);
                row[3] = m[i].distance;
                row[4] = m[i].margin;
                row[5] = real(m[i].link0);
                row[6] = real(m[i].link1);
                row[7] = real(m[i].feature);
            }
        });
    }
    """,
    "load",
)


def load(model, state, contacts, from_slab: bool):
    values, lost = np.full((model.world_count, 300, 8), np.nan, model.precision), np.zeros(model.world_count, np.int32)
    inputs = dict(model=model, topology=model.groups[0], body_q=state.body_q, contacts=contacts)
    outputs = dict(from_slab=int(from_slab), room=300, values=values, lost=lost)
    LOAD.prepare(inputs | outputs, worlds=model.world_count, scratch=1 << 16, spill=1 << 19)()
    return values, lost


def test_contacts_read_from_their_slabs_have_the_bits_of_those_found_in_the_world(precision):
    model, state, contacts = many(4, device="cpu", precision=precision)
    sim.collide(model, state, contacts)
    found, _ = load(model, state, contacts, from_slab=False)
    read, lost = load(model, state, contacts, from_slab=True)
    assert np.array_equal(found, read, equal_nan=True)
    assert np.sum(~np.isnan(read[..., 0])) == contacts.count.sum() and np.all(lost == 0)


def test_contacts_of_shapes_that_a_world_does_not_have_are_left_out_and_counted():
    model, state, contacts = many(2, device="cpu", precision="float64")
    sim.collide(model, state, contacts)
    before, _ = load(model, state, contacts, from_slab=True)
    contacts.shape0[1] = -5
    contacts.shape1[3] = int(model.world_shape_start[1]) + 1  # of the other world
    contacts.shape0[int(contacts.world_start[1])] = model.shape_count + 7
    read, lost = load(model, state, contacts, from_slab=True)
    assert lost.tolist() == [2, 1]
    n = int(contacts.count[0])
    assert np.array_equal(read[0, : n - 2], before[0, [i for i in range(n) if i not in (1, 3)]])


def test_contacts_beyond_the_slab_count_as_lost():
    model, state, _ = many(2, device="cpu", precision="float64")
    small = model.contacts(capacity_per_world=3)
    sim.collide(model, state, small)
    _, lost = load(model, state, small, from_slab=True)
    assert np.array_equal(lost, small.needed - 3)


def test_the_state_is_only_read_and_forces_are_cleared():
    model, state, contacts = many(2, device="cpu", precision="float64")
    before = state.copy()
    contacts.force = 7.0
    sim.collide(model, state, contacts)
    assert np.array_equal(before.body_q, state.body_q) and np.array_equal(before.status, state.status)
    assert np.all(contacts.force[: int(contacts.count[0])] == 0)


def test_worlds_of_different_structure_each_fill_their_own_slab():
    builder = sim.ModelBuilder()
    builder.replicate(heap(seed=0, bodies=15), 2)
    builder.replicate(heap(seed=1, bodies=6), 2)
    builder.add_ground_plane()
    model = builder.finalize(device="cpu", precision="float64")
    contacts = model.contacts()
    sim.collide(model, model.state(), contacts)
    assert len(model.groups) == 2
    assert contacts.count[0] == contacts.count[1] > 0 and contacts.count[2] == contacts.count[3] > 0
    assert_same(rows(model, contacts, 0), rows(model, contacts, 1))
    assert_same(rows(model, contacts, 2), rows(model, contacts, 3))


def test_what_belongs_to_another_model_is_refused_by_name():
    model, state, contacts = many(1, device="cpu", precision="float64")
    _, its_state, its_contacts = many(1, device="cpu", precision="float64")
    with pytest.raises(ModelError, match=r"the state belongs to another model; make it with model\.state"):
        sim.collide(model, its_state, contacts)
    with pytest.raises(ModelError, match="the contacts belong"):
        sim.collide(model, state, its_contacts)
    with pytest.raises(ModelError, match="got a State as the contacts"):
        sim.collide(model, state, state)
    with pytest.raises(ModelError, match="got a Contacts as the state"):
        sim.collide(model, contacts, contacts)


def test_a_captured_call_finds_what_a_direct_one_does(device):
    model, state, contacts = many(3, device=device, precision="float32")
    direct = model.contacts()
    sim.collide(model, state, direct)
    sim.collide(model, state, contacts)
    contacts.count = 0
    with sim.capture(model.device) as graph:
        sim.collide(model, state, contacts)
    assert not to_numpy(contacts.count).any()
    graph.launch()
    for world in range(3):
        assert_same(rows(model, contacts, world), rows(model, direct, world))


def test_each_routine_is_of_one_family_and_bits_are_those_of_the_families():
    assert sorted(routine for family in ROUTINE_FAMILIES for routine in family) == list(PairRoutine)
    assert family_bits([[PairRoutine.MESH_MESH], []]) == 0b11 << PairRoutine.HEIGHTFIELD_MESH
    assert family_bits([np.arange(len(PairRoutine))]) == (1 << len(PairRoutine)) - 1
    assert family_bits([]) == 0


def test_what_a_gpu_is_given_has_the_routines_of_all_groups(monkeypatch):
    """Of worlds of two kinds, pairs of their own among them; and with a distance field. On a CPU all are there."""
    builder, meshes, pair = sim.ModelBuilder(), bodies_on_a_floor("meshes on a plane"), sim.ModelBuilder()
    body = pair.add_body()
    ball = pair.add_shape_sphere(body, radius=0.1, contype=0, conaffinity=0)
    hull = pair.add_shape_convex_hull(-1, np.eye(4, 3), contype=0, conaffinity=0)
    pair.add_contact_pair(ball, hull)
    builder.replicate(meshes, 2)
    builder.replicate(pair, 3)
    model = builder.finalize(device="cpu")
    assert len(model.groups) == 2
    assert _kernels(model)("collide_any").defines == {}
    monkeypatch.setattr(model.device, "arch", "sm_90")
    monkeypatch.setattr(model.device, "is_cuda", True)
    bits = int(_kernels(model)("collide_any").defines["SIM_ROUTINES"].removesuffix("ull"), 16)
    for group in model.groups:
        assert all(bits >> routine & 1 for routine in group.tables["pair_routine"])
    assert not bits >> PairRoutine.CONVEX_MESH & 1
    assert "routines 0x" in _kernels(model)("collide_any").module_label("float32", 8)
    monkeypatch.setattr(build, "find_prebuilt", lambda key: "of a wheel")
    assert _kernels(model)("collide_any").defines == {}


@pytest.mark.skipif(not nvrtc.is_available(), reason="needs NVRTC: pip install nvidia-cuda-nvrtc")
@pytest.mark.parametrize("family", ROUTINE_FAMILIES, ids=lambda family: family[0].name)
def test_each_family_by_itself_compiles_for_a_gpu(family, precision):
    file = "collide_sdf.cu" if PairRoutine.SDF_SDF in family else "collide_any.cu"
    path = compile_cubin(kernels_for(file, family_bits([family]))("collide_any"), "sm_90", precision, lanes=8)
    assert path.read_bytes()[:4] == b"\x7fELF"


def bodies_on_a_floor(kind: str) -> sim.ModelBuilder:
    """Boxes as meshes in a heap on a plane, or spheres, boxes and hulls on a floor of triangles."""
    builder, corners = sim.ModelBuilder(), np.stack(np.meshgrid(*[[-0.1, 0.1]] * 3, indexing="ij"), -1).reshape(-1, 3)
    faces = [[0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1], [2, 3, 7], [2, 7, 6], [0, 2, 6],
             [0, 6, 4], [1, 5, 7], [1, 7, 3]]  # fmt: skip
    if kind == "meshes on a plane":
        builder.add_ground_plane()
    else:
        builder.add_shape_mesh(-1, Mesh([[-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]], [[0, 1, 2], [0, 2, 3]]))
    random = np.random.default_rng(3)
    for i in range(9):
        pose = sim.transform(p=random.uniform(-0.15, 0.15, 3) + [0, 0, 0.1], q=random_rotations(random, 1)[0])
        body = builder.add_body(xform=pose)
        if kind == "meshes on a plane":
            builder.add_shape_mesh(body, Mesh(corners, faces))
        elif i % 3 == 2:
            builder.add_shape_convex_hull(body, corners)
        else:
            builder.add_shape_sphere(body, radius=0.1) if i % 3 else builder.add_shape_box(body, hx=0.1, hy=0.1, hz=0.1)
    return builder


@pytest.mark.parametrize(
    ("kind", "left_out"),
    [("meshes on a plane", PairRoutine.MESH_MESH), ("bodies on a mesh", PairRoutine.CONVEX_MESH)],
)
def test_a_text_for_the_pairs_of_a_model_finds_what_that_for_all_does(kind, left_out):
    """On a CPU that for all is prebuilt; a GPU is given the other."""
    model = bodies_on_a_floor(kind).finalize(device="cpu", precision="float64")
    state = model.state()
    routines = model.groups[0].tables["pair_routine"]
    found = {}
    for bits in (None, family_bits([routines]), family_bits([routines[routines != left_out]])):
        kernels, constants = kernels_for("collide_any.cu", bits), {"model": model}
        launch = WorldLaunch(model, "collide_any", "collide_any_memory_bytes", [kernels], [1], constants=constants)
        contacts = model.contacts()
        launch(body_q=state.body_q, body_qd=state.body_qd, dt=0.0, contacts=contacts)
        found[bits] = rows(model, contacts, 0)
    whole, own, less = found.values()
    assert len(whole["shape0"]) > 20
    for name, values in whole.items():
        assert np.array_equal(values, own[name]), name
    assert 0 < len(less["shape0"]) < len(whole["shape0"])
