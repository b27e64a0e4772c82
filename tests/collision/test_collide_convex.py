"""Manifolds of convex pairs: as deep as the shapes are, on their faces, few, in order, and steady."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import simengine as sim
from simengine.collision import shape_distance
from simengine.containers import to_numpy
from simengine.enums import PAIR_CONTACTS, PairRoutine, ShapeType
from simengine.runtime.modes import emulated_lanes
from tests.collision.collision_pairs import random_rotations, turn
from tests.collision.convex_pairs import KINDS, PAIRS, model_of, random_pairs

OTHER = [p for p in PAIRS if ShapeType.SPHERE not in p or p[1] > ShapeType.BOX or p[1] in (4, 5)]
OTHER = [p for p in OTHER if p not in ((3, 3), (3, 6), (6, 6))]
every_pair = pytest.mark.parametrize("kinds", OTHER, ids=lambda k: "-".join(x.name.lower() for x in k))
REACH = 0.03

CORNERS = np.stack(np.meshgrid(*[[-1.0, 1]] * 3, indexing="ij"), -1).reshape(-1, 3)


def contacts_of(model, state):
    contacts = model.contacts()
    sim.collide(model, state, contacts)
    return contacts


def with_reach(model):
    model.shape_gap = np.full(model.shape_count, REACH / 2, model.precision)
    return model


@functools.cache
def example(kinds):
    a, b = random_pairs(kinds, 120, seed=20)
    model, state, pairs = model_of(a, b, "float64")
    return a, b, model, state, pairs, contacts_of(with_reach(model), state)


def slabs(model, contacts):
    """For each world a dict of its contacts, witness points in the world."""
    for world in range(model.world_count):
        first = int(contacts.world_start[world])
        rows = slice(first, first + int(contacts.count[world]))
        names = ("shape0", "shape1", "feature", "point0", "point1", "normal", "distance")
        yield {name: to_numpy(getattr(contacts, name))[rows] for name in names}


@every_pair
def test_the_deepest_contact_is_as_deep_as_the_shapes(kinds):
    _, _, model, state, pairs, contacts = example(kinds)
    expected = np.asarray(shape_distance(model, state, pairs).distance)[np.argsort(pairs[:, 0])]
    # a corner within the slack of a side, on a face that leans by up to 10 degrees, is deeper by their product
    unit = np.asarray(model.shape_radius).reshape(-1, 2).sum(1)
    touching = 0
    for found, distance, size in zip(slabs(model, contacts), expected, unit, strict=True):
        if len(found["distance"]) == 0:
            assert distance > REACH - 1e-4 * size
            continue
        touching += 1
        assert abs(found["distance"].min() - distance) < 4e-4 * size
        assert found["distance"].min() > distance - 1e-4 * size and found["distance"].max() < REACH
    assert touching > 60


@every_pair
def test_contacts_are_few_in_order_and_on_the_surfaces(kinds):
    a, b, model, state, pairs, contacts = example(kinds)
    body_q = np.asarray(state.body_q)
    pair_of_world = np.argsort(pairs[:, 0])
    for world, found in enumerate(slabs(model, contacts)):
        n = len(found["feature"])
        assert n <= PAIR_CONTACTS[PairRoutine.CONVEX_CONVEX] and np.all(np.diff(found["feature"]) > 0)
        if n == 0:
            continue
        row = np.full(n, pair_of_world[world])
        own = [body_q[2 * world + (0 if kind_first else 1)] for kind_first in (True, False)]
        first_is_a = found["shape0"][0] % 2 == 0
        for shapes, pose, name in (
            (a, own[0], "point0" if first_is_a else "point1"),
            (b, own[1], "point1" if first_is_a else "point0"),
        ):
            points = pose[:3] + turn(np.tile(pose, (n, 1)), found[name])
            size = np.asarray(model.shape_radius)[2 * world : 2 * world + 2].sum()
            # corners beyond the other face's side by the slack, lines that are not quite parallel
            assert np.max(shapes[row].outside(points)) < 3e-3 * size
        assert np.all(np.abs(np.linalg.norm(found["normal"], axis=1) - 1) < 1e-9)


@every_pair
def test_bits_do_not_depend_on_lanes(kinds, precision):
    a, b = random_pairs(kinds, 8, seed=3)
    model, state, _ = model_of(a, b, precision)
    plain = contacts_of(with_reach(model), state)
    other = model.contacts()
    with emulated_lanes(4, 1, poison=True):
        sim.collide(model, state, other)
    for name in ("count", "feature", "point0", "point1", "normal", "tangent", "distance"):
        assert getattr(plain, name).tobytes() == getattr(other, name).tobytes()


# ---- scenes whose manifolds are known


def two(first, second, precision="float64", reach=0.0):
    """Contacts of a static shape and one of a body: (method, arguments, transform) each."""
    builder = sim.ModelBuilder()
    for body, (method, arguments, xform) in ((-1, first), (builder.add_body(), second)):
        getattr(builder, f"add_shape_{method}")(body, *arguments, xform=xform, gap=reach / 2)
    model = builder.finalize(device="cpu", precision=precision)
    (found,) = slabs(model, contacts_of(model, model.state()))
    return found


AT = sim.transform
SLAB = ("box", (0.5, 0.4, 0.1), AT(p=(0, 0, -0.1)))


def test_a_hull_of_a_box_touches_as_the_box_does(precision):
    spin = sim.quat_from_axis_angle((0, 0, 1), 0.5)
    place = AT(p=(0.2, 0.1, 0.0995), q=spin)
    box = two(SLAB, ("box", (0.3, 0.2, 0.1), place), precision)
    hull = two(SLAB, ("convex_hull", (CORNERS * [0.3, 0.2, 0.1],), place), precision)
    assert len(box["distance"]) == len(hull["distance"])
    up = hull["normal"] * np.sign(hull["normal"][:, 2:])
    assert np.allclose(up, [0, 0, 1], atol=1e-5) and np.allclose(hull["distance"], -5e-4, atol=2e-6)

    def places(found):
        points = [np.round(x, 2) for x in (found["point0"] if found["shape0"][0] == 0 else found["point1"])]
        return {tuple(np.abs(x[:2]) + 0.0) for x in points}

    assert places(box) == places(hull)


@pytest.mark.parametrize(
    ("shape", "count"),
    [
        (("cylinder", (0.1, 0.2), AT(p=(0, 0, 0.1999))), 8),
        (("cone", (0.1, 0.2), AT(p=(0, 0, 0.1999))), 8),
        (("cylinder", (0.1, 0.2), AT(p=(0, 0, 0.0999), q=sim.quat_from_axis_angle((0, 1, 0), np.pi / 2))), 2),
        (("ellipsoid", (0.1, 0.2, 0.3), AT(p=(0, 0, 0.2999))), 1),
        (("convex_hull", (CORNERS * 0.1,), AT(p=(0, 0, 0.0999))), 4),
    ],
    ids=lambda x: x[0] if isinstance(x, tuple) else str(x),
)
@pytest.mark.parametrize(
    "ground", [SLAB, ("convex_hull", (CORNERS * 0.4,), AT(p=(0, 0, -0.4))), ("plane", (), AT())], ids=lambda g: g[0]
)
def test_what_lies_on_a_flat_face_touches_it_along_its_own(ground, shape, count, precision):
    found = two(ground, shape, precision)
    if ground[0] == "plane" and shape[0] == "cylinder":  # which the step collides by itself
        count = min(count, 4)
    assert len(found["distance"]) == count
    assert np.allclose(np.abs(found["normal"][:, 2]), 1, atol=1e-5)
    assert np.allclose(found["distance"], -1e-4, atol=2e-6 if precision == "float32" else 1e-7)


def test_parallel_cylinders_touch_along_a_line():
    lying = sim.quat_from_axis_angle((0, 1, 0), np.pi / 2)
    found = two(("cylinder", (0.1, 0.5), AT(q=lying)), ("cylinder", (0.1, 0.2), AT(p=(0.4, 0, 0.1999), q=lying)))
    assert len(found["distance"]) == 2 and np.allclose(found["distance"], -1e-4, atol=1e-7)
    ends = np.sort(found["point0"][:, 0] if found["shape0"][0] == 0 else found["point1"][:, 0])
    assert np.allclose(ends, [0.2, 0.5], atol=1e-6)  # the common stretch


def test_the_manifold_of_a_trembling_box_on_a_hull_stays():
    random = np.random.default_rng(0)
    features = set()
    for _ in range(30):
        wobble = sim.quat_from_axis_angle(tuple(random.normal(size=3)), 1e-6 * random.normal())
        place = AT(p=(0.03, 0.02, 0.0999 + 1e-6 * random.normal()), q=wobble)
        found = two(("convex_hull", (CORNERS * 0.4,), AT(p=(0, 0, -0.4))), ("box", (0.1, 0.1, 0.1), place))
        features.add(tuple(found["feature"]))
    assert len(features) == 1 and len(found["feature"]) == 4


def test_every_contact_of_a_many_sided_face_is_thinned_to_what_holds_it():
    around = np.linspace(0, 2 * np.pi, 50, endpoint=False)
    disc = np.concatenate(
        [np.column_stack([0.2 * np.cos(around), 0.2 * np.sin(around), 0 * around + z]) for z in (-0.1, 0.1)]
    )
    found = two(SLAB, ("convex_hull", (disc,), AT(p=(0, 0, 0.0999))))
    points = found["point0"] if found["shape0"][0] == 1 else found["point1"]
    assert len(points) == 8
    angles = np.sort(np.arctan2(points[:, 1], points[:, 0]))
    assert np.max(np.diff(np.append(angles, angles[0] + 2 * np.pi))) < 1.2


def test_a_pose_that_is_not_finite_makes_no_contact_or_a_finite_one():
    for kinds in OTHER[::3]:
        a, b = random_pairs(kinds, 1, seed=0)
        for place in range(7):
            model, state, _ = model_of(a, b, "float64")
            state.body_q[1, place] = np.nan
            found = contacts_of(with_reach(model), state)
            assert np.isfinite(found.distance[: int(found.count[0])]).all()


def test_a_random_pile_of_convex_shapes_is_the_same_from_any_thread_count():
    builder = sim.ModelBuilder()
    random = np.random.default_rng(1)
    for kind in KINDS:
        for q in random_rotations(random, 3):
            body = builder.add_body(xform=AT(p=random.uniform(-0.3, 0.3, 3), q=q))
            size = random.uniform(0.1, 0.3, 3)
            match kind:
                case ShapeType.CONVEX_HULL:
                    builder.add_shape_convex_hull(body, random.normal(size=(20, 3)) * 0.15)
                case _:
                    needed = {"SPHERE": 1, "CAPSULE": 2, "CYLINDER": 2, "CONE": 2}.get(kind.name, 3)
                    getattr(builder, f"add_shape_{kind.name.lower()}")(body, *size[:needed])
    model = builder.finalize(device="cpu", precision="float32")
    state = model.state()
    one = contacts_of(model, state)
    sim.set_num_threads(1)
    try:
        other = contacts_of(model, state)
    finally:
        sim.set_num_threads(None)
    assert int(one.count[0]) > 100
    for name in ("count", "feature", "point0", "distance", "normal"):
        assert getattr(one, name).tobytes() == getattr(other, name).tobytes()
