"""The search for pairs of large worlds: the contacts, order and bits of a list of pairs, whatever the trees."""

from __future__ import annotations

import gc
import tracemalloc
import weakref

import numpy as np
import pytest

import simengine as sim
from simengine.collision.broad_phase import require_room
from simengine.containers import to_numpy
from simengine.runtime.modes import debugging, emulated_lanes
from tests.collision.collision_pairs import random_rotations
from tests.collision.test_pipeline import assert_same, heap, rows

BOX_CORNERS = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], float)
BOX_TRIANGLES = np.array(
    [(0, 1, 3), (0, 3, 2), (4, 6, 7), (4, 7, 5), (0, 4, 5), (0, 5, 1), (2, 3, 7), (2, 7, 6), (0, 2, 6), (0, 6, 4),
     (1, 5, 7), (1, 7, 3)]
)  # fmt: skip


@pytest.fixture(params=["bvh", "dense"])
def way(request) -> str:
    """How pairs are searched for."""
    return request.param


def add_any_shape(builder, body: int, number: int, random, primitive: bool, **options) -> int:
    """A shape of one of all kinds, near the origin of its body."""
    options["xform"] = sim.transform(p=random.uniform(-0.05, 0.05, 3), q=random_rotations(random, 1)[0])
    size = random.uniform(0.1, 0.3, 3)
    kinds = (
        lambda: builder.add_shape_sphere(body, size[0], **options),
        lambda: builder.add_shape_capsule(body, 0.5 * size[0], size[1], **options),
        lambda: builder.add_shape_box(body, *size, **options),
        lambda: builder.add_shape_ellipsoid(body, *size, **options),
        lambda: builder.add_shape_cylinder(body, size[0], size[1], **options),
        lambda: builder.add_shape_cone(body, size[0], size[1], **options),
        lambda: builder.add_shape_convex_hull(body, size * random.normal(size=(12, 3)), **options),
        lambda: builder.add_shape_mesh(body, (BOX_CORNERS, BOX_TRIANGLES), scale=size, **options),
    )
    return kinds[number % (3 if primitive else len(kinds))]()


def zoo(seed: int, bodies: int, primitive: bool) -> sim.ModelBuilder:
    """A world to which every rule applies: chains, bodies fixed together and to the world, kinematic ones, shapes of
    the world, planes on bodies, groups, masks, filters, explicit pairs, margins and gaps."""
    random = np.random.default_rng(seed)
    builder = sim.ModelBuilder()
    side = 0.35 * bodies ** (1 / 3)
    shapes = []
    for i in range(bodies):
        place = sim.transform(p=random.uniform(-side, side, 3), q=random_rotations(random, 1)[0])
        jointed = i % 5 == 3 or i % 13 == 9 or i % 29 == 11
        body = builder.add_body(
            xform=None if jointed else place, kinematic=i % 17 == 5 and not jointed, mass=1.0, inertia=(1, 1, 1)
        )
        if i % 5 == 3:
            builder.add_joint_revolute(body - 1, body, parent_xform=sim.transform((0.2, 0, 0)))
        elif i % 13 == 9:
            builder.add_joint_fixed(body - 1, body, parent_xform=sim.transform((0.2, 0, 0)))
        elif i % 29 == 11:
            builder.add_joint_fixed(-1, body, parent_xform=place)
        for _ in range(1 + i % 2):
            masks = {"contype": 1 << int(random.integers(2)), "conaffinity": int(random.integers(1, 4))}
            group = int(random.choice([-1, -1, -1, 1, 2]))
            gaps = {"margin": random.uniform(0, 0.02), "gap": random.uniform(0, 0.02)}
            shapes.append(
                add_any_shape(builder, body, i, random, primitive, collision_group=group, **masks, **gaps, density=0)
            )
    for _ in range(4):
        shapes.append(add_any_shape(builder, -1, 2, random, primitive))
    builder.add_shape_plane(-1, xform=sim.transform((0, 0, -0.5 * side), (0.1, 0, 0, 0.995)))
    builder.add_shape_plane(0, xform=sim.transform((0, 0, -0.3)), density=0)
    builder.add_shape_sphere(1, 0.2, collides=False, density=0)
    builder.filter_shapes(shapes[10:30:2])
    named = {tuple(sorted(pair)) for pair in random.choice(shapes, (12, 2)).tolist() if pair[0] != pair[1]}
    for k, pair in enumerate(sorted(named | {(shapes[-2], shapes[-1])}, reverse=True)):
        builder.add_contact_pair(*pair, margin=0.1 if k % 3 == 0 else None, gap=0.2 if k % 2 == 0 else None)
    return builder


def both(make, way, precision="float64", device="cpu"):
    """The model with listed pairs and that with a search, each with state and contacts."""
    found = []
    for broad_phase in ("pairs", way):
        model = make().finalize(device=device, precision=precision, broad_phase=broad_phase)
        assert model.broad_phase == broad_phase
        found.append((model, model.state(), model.contacts(capacity_per_world=20_000)))
    return found


def worlds_of(*templates, ground: bool = True, field: bool = False):
    """A builder of worlds on shared static shapes."""
    builder = sim.ModelBuilder()
    for template in templates:
        builder.add_builder(template)
    if ground:
        builder.add_ground_plane()
        builder.add_shape_box(-1, 3, 3, 0.1, xform=sim.transform((0, 0, -0.4)))
        builder.add_shape_sphere(-1, 0.5)
    if field:
        heights = np.random.default_rng(5).uniform(-0.2, 0.2, (6, 7))
        builder.add_shape_heightfield(-1, heights, 2, 2, base=0.5)
    return builder


def assert_same_contacts(a, b, least: int = 1) -> None:
    (model, _, contacts), (other, _, its_contacts) = a, b
    assert to_numpy(contacts.count).tolist() == to_numpy(its_contacts.count).tolist()
    assert to_numpy(contacts.needed).tolist() == to_numpy(its_contacts.needed).tolist()
    assert to_numpy(contacts.count).min() >= least
    for world in range(model.world_count):
        assert_same(rows(model, contacts, world), rows(other, its_contacts, world))


@pytest.mark.parametrize(("bodies", "primitive"), [(150, True), (80, False)])
def test_contacts_are_those_of_listed_pairs_to_the_bit(bodies, primitive, way, precision, device):
    templates = [zoo(seed, bodies, primitive) for seed in (0, 0, 1)]
    listed, searched = both(lambda: worlds_of(*templates, field=not primitive), way, precision, device)
    for model, state, contacts in (listed, searched):
        sim.collide(model, state, contacts)
    assert_same_contacts(listed, searched, 100)
    assert len(searched[0].groups[0].tables["pair_routine"]) == 0
    assert searched[0].unsupported_pairs == listed[0].unsupported_pairs


def test_they_stay_the_same_as_bodies_move(way):
    """Far apart, in a heap, all in one place, along the axes, and deep below a height field."""
    listed, searched = both(lambda: worlds_of(*(zoo(seed, 40, False) for seed in (2, 3)), field=True), way)
    random = np.random.default_rng(0)
    for spread in (1.0, 10.0, 0.05, 0.0):
        poses = np.concatenate([spread * random.normal(size=(80, 3)), random_rotations(random, 80)], axis=1)
        if spread == 0.0:
            poses[:, 3:] = [0, 0, 0, 1]
        poses[::9, 2] -= 2.5
        for model, state, contacts in (listed, searched):
            state.body_q = poses
            sim.collide(model, state, contacts)
        assert_same_contacts(listed, searched, 0)


def test_pairs_far_from_the_origin_and_touching_within_rounding_are_found(way, precision):
    """Rows of spheres whose surfaces are apart by the reach, give or take a few units in the last place."""
    far = 1000.0

    def row():
        builder = sim.ModelBuilder()
        for i in range(60):
            body = builder.add_body(xform=sim.transform((far + i * 0.203, -far, 0)))
            builder.add_shape_sphere(body, 0.1, gap=0.0015)
        return builder

    listed, searched = both(row, way, precision)
    for model, state, contacts in (listed, searched):
        sim.collide(model, state, contacts)
    assert_same_contacts(listed, searched, 0)


def test_boxes_that_a_quick_test_refuses_have_no_contacts(way, precision):
    """A lattice of boxes, long and flat ones too, turned at random: near each other at every angle."""
    random = np.random.default_rng(7)
    builder = sim.ModelBuilder()
    for place in np.stack(np.meshgrid(*[np.arange(5)] * 3, indexing="ij"), -1).reshape(-1, 3):
        body = builder.add_body(xform=sim.transform(p=0.22 * place, q=random_rotations(random, 1)[0]))
        builder.add_shape_box(body, *random.uniform(0.03, 0.15, 3), gap=random.choice([0, 0.01, 0.1]))
    listed, searched = both(lambda: builder, way, precision)
    for model, state, contacts in (listed, searched):
        sim.collide(model, state, contacts)
    assert_same_contacts(listed, searched, 200)


def test_in_debug_mode_the_same_is_found(way):
    model = worlds_of(heap(0, 30), heap(1, 25)).finalize(device="cpu", precision="float32", broad_phase=way)
    state, one, other = model.state(), model.contacts(), model.contacts()
    sim.collide(model, state, one)
    with debugging():
        sim.collide(model, state, other)
    assert_same_contacts((model, state, one), (model, state, other), 20)


@pytest.mark.parametrize("lanes", [1, 4, 32])
def test_neither_lanes_nor_old_memory_change_a_bit(lanes, way):
    model = worlds_of(heap(0, 30), heap(1, 25)).finalize(device="cpu", precision="float32", broad_phase=way)
    state, one, other = model.state(), model.contacts(), model.contacts()
    sim.collide(model, state, one)
    with emulated_lanes(lanes, 1, poison=True):
        sim.collide(model, state, other)
    assert_same_contacts((model, state, one), (model, state, other), 20)


def test_a_world_alone_has_the_contacts_that_it_has_among_many(way):
    many = worlds_of(*(heap(seed, 30) for seed in range(4))).finalize(device="cpu", broad_phase=way)
    contacts = many.contacts()
    sim.collide(many, many.state(), contacts)
    for world in range(4):
        alone = worlds_of(heap(world, 30)).finalize(device="cpu", broad_phase=way)
        its_contacts = alone.contacts()
        sim.collide(alone, alone.state(), its_contacts)
        assert_same(rows(alone, its_contacts, 0), rows(many, contacts, world))


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e30])
def test_what_is_not_finite_disturbs_no_other_world(bad, way):
    listed, searched = both(lambda: worlds_of(*(heap(seed, 30) for seed in range(3))), way)
    for model, state, contacts in (listed, searched):
        model.by_world(state.body_q)[1][::2] = bad
        sim.collide(model, state, contacts)
    assert_same_contacts(listed, searched, 0)
    assert listed[2].count[0] > 50


def test_a_slab_too_small_keeps_the_first_contacts_and_tells_how_many_there_were(way):
    model = worlds_of(*(heap(seed, 40) for seed in range(3))).finalize(device="cpu", broad_phase=way)
    state, whole, small = model.state(), model.contacts(), model.contacts(capacity_per_world=80)
    sim.collide(model, state, whole)
    sim.collide(model, state, small)
    assert np.all(whole.count > 80) and np.array_equal(whole.count, whole.needed)
    assert np.array_equal(small.needed, whole.needed)


def test_candidates_without_room_are_counted_exactly_and_their_world_alone_lacks_them(way):
    """There is room for as many candidates as contacts: 80 spheres in one place make 3,160 pairs."""
    crowd = sim.ModelBuilder()
    for i in range(80):
        crowd.add_shape_sphere(crowd.add_body(xform=sim.transform((1e-3 * i, 0, 0))), 0.1)
    model = worlds_of(heap(0, 20), crowd, heap(1, 20), ground=False).finalize(device="cpu", broad_phase=way)
    state, whole, small = model.state(), model.contacts(capacity_per_world=7000), model.contacts(400)
    sim.collide(model, state, whole)
    sim.collide(model, state, small)
    assert whole.count[1] == whole.needed[1] == small.needed[1] == 80 * 79 // 2
    fits = 79 + 78 + 77 + 76 + 75  # a sixth sphere's pairs do not: trees leave it out, else single pairs are left out
    assert small.count[1] == (fits if way == "bvh" else 400)
    assert set(rows(model, small, 1)["shape0"][:fits]) == set(range(5))
    for world in (0, 2):
        assert_same(rows(model, small, world), rows(model, whole, world))


@pytest.mark.parametrize("lanes", [1, 32])
def test_contacts_beyond_32_bits_are_counted_as_the_greatest_number_and_others_exactly(lanes):
    """Of three worlds, with 5 contacts each that had room: sums of 20,001 rows, of two beyond 2^31, and of none."""
    contacts = worlds_of(heap(0, 1), heap(0, 1), heap(0, 1)).finalize(device="cpu", broad_phase="bvh").contacts()
    lost = np.concatenate([np.full(20_001, 98_765), [2**31 - 1, 2**31 - 1], [77]]).astype(np.int32)
    arguments = {
        "worlds": 3, "tile_start": np.arange(4, dtype=np.int32), "tile_offsets": np.array([0, 5, 10, 15]),
        "dropped": np.array([1, 1, 0], np.int32), "lost_start": np.array([0, 20_001, 20_003, 20_004], np.int32),
        "lost": lost, "contacts": contacts,
    }  # fmt: skip
    with emulated_lanes(lanes, seed=1):
        sim.Kernel("broad_phase.cu", "broad_finish").prepare(arguments, worlds=3, precision="float32")()
    assert contacts.needed.tolist() == [5 + 20_001 * 98_765, 2**31 - 1, 5]
    assert contacts.count.tolist() == [5, 5, 5]


def test_rooms_and_rows_beyond_32_bits_are_refused():
    require_room(2**31 - 1, 2**31 - 1)
    with pytest.raises(sim.CapacityError, match=r"lower capacity \(needed 2147483648, had 2147483647\)"):
        require_room(2**31, 1)
    with pytest.raises(sim.CapacityError, match="too many shapes"):
        require_room(1, 2**31)


def test_a_captured_call_finds_what_a_direct_one_does(way, device):
    model = worlds_of(heap(0, 30), heap(1, 30)).finalize(device=device, broad_phase=way)
    state, direct, contacts = model.state(), model.contacts(), model.contacts()
    sim.collide(model, state, direct)
    with sim.capture(model.device) as graph:
        sim.collide(model, state, contacts)
    assert not to_numpy(contacts.count).any()
    graph.launch()
    assert_same_contacts((model, state, direct), (model, state, contacts), 20)


def test_later_calls_allocate_nothing_and_read_the_state_that_they_are_given(way):
    model = worlds_of(heap(0, 60)).finalize(device="cpu", broad_phase=way)
    state, other, contacts = model.state(), model.state(), model.contacts()
    other.body_q = other.body_q + np.array([0, 0, 50, 0, 0, 0, 0], np.float32)
    for one in (state, other, state):
        sim.collide(model, one, contacts)
    tracemalloc.start()
    sim.collide(model, other, contacts)
    apart = int(contacts.count[0])
    sim.collide(model, state, contacts)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20_000 and contacts.count[0] > apart


def test_contacts_are_freed_with_the_last_reference_and_a_graph_keeps_what_it_needs(way):
    model = worlds_of(zoo(1, 12, True)).finalize(device="cpu", broad_phase=way)
    state, contacts = model.state(), model.contacts()
    sim.collide(model, state, contacts)
    with sim.capture("cpu") as graph:
        sim.collide(model, state, contacts)
    count, found = contacts.count, contacts.count.copy()
    freed = weakref.ref(contacts)
    gc.disable()
    try:
        del contacts
        assert freed() is None
    finally:
        gc.enable()
    count[:] = 0
    graph.launch()
    assert found.any() and np.array_equal(count, found)


def test_worlds_of_many_pairs_are_searched_by_themselves():
    def spheres(count, **options):
        builder = sim.ModelBuilder()
        for i in range(count):
            builder.add_shape_sphere(builder.add_body(xform=sim.transform((i, 0, 0))), 0.1, **options)
        return builder

    assert spheres(600).finalize(device="cpu").broad_phase == "pairs"  # 179,700
    assert spheres(700).finalize(device="cpu").broad_phase == "dense"  # 244,650
    apart = spheres(350, collision_group=1)
    for i in range(350):
        apart.add_shape_sphere(apart.add_body(xform=sim.transform((i, 5, 0))), 0.1, collision_group=2)
    assert apart.finalize(device="cpu").broad_phase == "pairs"  # 122,150 of 244,650 may touch
    mixed = worlds_of(spheres(700), spheres(3)).finalize(device="cpu")
    assert mixed.broad_phase == "dense" and not any(len(group.tables["pair_slot"]) for group in mixed.groups)
    with pytest.raises(sim.ModelError, match="broad_phase is \"?'?sap"):
        spheres(1).finalize(device="cpu", broad_phase="sap")


def test_a_saved_model_searches_as_before(tmp_path, way):
    model = worlds_of(zoo(0, 60, True), ground=False).finalize(device="cpu", broad_phase=way)
    model.save(tmp_path / "model.npz")
    loaded = sim.Model.load(tmp_path / "model.npz", device="cpu")
    found = []
    for one in (model, loaded):
        contacts = one.contacts()
        sim.collide(one, one.state(), contacts)
        found.append((one, None, contacts))
    assert loaded.broad_phase == way
    assert_same_contacts(*found, 20)


def test_featherstone_refuses_by_name(way):
    model = heap(0, 5).finalize(device="cpu", broad_phase=way)
    with pytest.raises(sim.UnsupportedError, match='finalize with broad_phase="pairs"'):
        sim.solvers.Featherstone(model)
