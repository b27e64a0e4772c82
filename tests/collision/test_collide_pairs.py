"""Every collision routine on 2,000 random pairs: distance, witness points, symmetry, precision."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from simengine.enums import PAIR_CONTACTS, PRIMITIVE_ROUTINES, PairRoutine, ShapeType
from tests.collision import mujoco_pairs
from tests.collision.collision_pairs import (
    SHAPES,
    Found,
    Pairs,
    collide,
    compose,
    gaps,
    off_surface,
    random_pairs,
    random_rotations,
    searched_distance,
    turn,
)

REACH = 0.06
ROUTINES = list(PRIMITIVE_ROUTINES)
NAMES = [routine.name.lower() for routine in ROUTINES]
every_routine = pytest.mark.parametrize("routine", ROUTINES, ids=NAMES)

# What a manifold may cost the deepest distance (collide_shape.h, collide_box.h, collide_box_box.h): LINE_TOLERANCE of
# the radii, up to 1 m; FACE_PREFERENCE of a radius or half extent, up to 0.5 m, where boxes or the axis overlap;
# and APART_TOLERANCE of the reach for boxes apart.
TOLERANCE = {
    PairRoutine.CAPSULE_CAPSULE: 1e-4 * 1.0,
    PairRoutine.CAPSULE_BOX: 1e-3 * 0.5,
    PairRoutine.BOX_BOX: max(1e-3 * 0.5, 0.01 * REACH),
}


@functools.cache
def example(routine: PairRoutine) -> tuple[Pairs, Found]:
    """2,000 pairs and their contacts."""
    pairs = random_pairs(routine, 2000, seed=int(routine))
    return pairs, collide(pairs, REACH)


def deepest(pairs: Pairs, found: Found):
    """Those pairs that touch, with distance, normal and witness points of their deepest contact."""
    touching = found.count > 0
    distance = found.distance[touching]
    rows, best = np.arange(len(distance)), np.nanargmin(distance, 1)
    others = [values[touching][rows, best] for values in (found.normal, found.point0, found.point1)]
    return pairs[touching], distance[rows, best], *others


@every_routine
def test_the_examples_are_apart_touching_and_penetrating(routine):
    _, distance, *_ = deepest(*example(routine))
    count = len(distance)
    assert count >= 1500
    assert np.sum(distance > 1e-3) > 0.25 * count
    assert np.sum(np.abs(distance) <= 1e-3) > 0.15 * count
    assert np.sum(distance < -1e-3) > 0.25 * count


@every_routine
def test_no_direction_parts_the_shapes_further_than_the_deepest_contact_says(routine):
    """The gap along any direction is a lower bound of the distance; a contact never says less than the largest one."""
    pairs, distance, normal, *_ = deepest(*example(routine))
    best = searched_distance(pairs, normal, np.random.default_rng(5))
    assert np.max(best - distance) < 1e-12 + TOLERANCE.get(routine, 0)


@every_routine
def test_the_deepest_contact_is_no_further_than_the_witness_points_or_the_gap_along_its_normal(routine):
    """Upper bound: for shapes apart the witness points, for shapes that overlap the gap along the contact's own normal,
    which a manifold may miss where it stands for a line or a face."""
    pairs, distance, normal, point0, point1 = deepest(*example(routine))
    assert np.allclose(np.linalg.norm(normal, axis=1), 1, atol=1e-12)
    assert np.allclose(np.sum(normal * (point1 - point0), 1), distance, atol=1e-12)
    along = gaps(pairs, normal[:, None])[:, 0]
    exact = np.abs(along - distance) < 1e-10
    assert exact.mean() > (0.9 if routine in TOLERANCE else 0.9999)


@every_routine
def test_witness_points_lie_on_the_surfaces(routine):
    pairs, found = example(routine)
    row, column = np.nonzero(np.arange(8) < found.count[:, None])
    if routine == PairRoutine.PLANE_CAPSULE:  # the upper end's lowest point is inside a capsule that stands up
        row, column = np.arange(len(pairs))[found.count > 0], np.nanargmin(found.distance[found.count > 0], 1)
    first, second = pairs[row].shapes
    # both ends of a line of contact: on spheres about points of the axis, 0.1 rad off the capsule's surface at most
    loose = 0.5 * 0.1**2 / 2 if routine in (PairRoutine.CAPSULE_BOX, PairRoutine.CAPSULE_CAPSULE) else 0
    # corners just outside the other face are moved to its side: half of MERGED_CORNERS of at most 0.5 m, in x and y
    moved = 0.5e-3 * 0.5 * np.sqrt(2) if routine == PairRoutine.BOX_BOX else 0
    assert np.max(np.abs(off_surface(*first, found.point0[row, column]))) < 1e-12 + loose + moved
    assert np.max(np.abs(off_surface(*second, found.point1[row, column]))) < 1e-12 + moved


@every_routine
def test_contacts_are_in_order_of_features_and_no_more_than_there_is_room_for(routine):
    _, found = example(routine)
    assert found.count.max() <= PAIR_CONTACTS[routine]
    for k in range(1, found.count.max()):
        several = found.count > k
        assert np.all(found.feature[several, k] > found.feature[several, k - 1])
    assert np.nanmax(found.distance) < REACH


@every_routine
def test_a_rigid_motion_moves_the_contacts_with_it(routine):
    pairs, found = example(routine)
    motion = np.array([0.3, -1.2, 0.7, *random_rotations(np.random.default_rng(3), 1)[0]])
    moved = collide(pairs.moved(motion), REACH)
    assert np.array_equal(moved.count, found.count)
    assert np.array_equal(moved.feature, found.feature)
    tile = np.tile(motion, (len(pairs), 1))
    assert np.allclose(moved.distance, found.distance, atol=1e-9, equal_nan=True)
    assert np.allclose(moved.normal, turn(tile, found.normal), atol=1e-7, equal_nan=True)
    assert np.allclose(moved.point0, motion[:3] + turn(tile, found.point0), atol=1e-7, equal_nan=True)


@every_routine
def test_float32_finds_the_same_distance(routine):
    pairs, found = example(routine)
    rough = collide(pairs, REACH, "float32")
    both = (found.count > 0) & (rough.count > 0)
    difference = np.nanmin(found.distance[both], 1) - np.nanmin(rough.distance[both], 1)
    assert np.max(np.abs(difference)) < 1e-4 + TOLERANCE.get(routine, 0)
    unclear = (found.count > 0) != (rough.count > 0)
    assert np.all(np.nanmin(np.where(unclear[:, None], found.distance, REACH), 1) > REACH - 1e-4)
    assert np.mean(found.count == rough.count) > 0.99


@pytest.mark.parametrize("routine", [r for r in ROUTINES if SHAPES[r][0] == SHAPES[r][1]], ids=lambda r: r.name.lower())
def test_two_shapes_of_one_kind_can_be_exchanged(routine):
    pairs, found = example(routine)
    swapped = collide(Pairs(routine, pairs.pose1, pairs.size1, pairs.pose0, pairs.size0), REACH)
    touching = (found.count > 0) & (swapped.count > 0)
    difference = np.nanmin(found.distance[touching], 1) - np.nanmin(swapped.distance[touching], 1)
    assert np.max(np.abs(difference)) < 1e-12 + TOLERANCE.get(routine, 0)
    assert np.sum((found.count > 0) != (swapped.count > 0)) <= 2


@pytest.mark.parametrize(
    "routine", [r for r in ROUTINES if SHAPES[r][0] != ShapeType.PLANE], ids=lambda r: r.name.lower()
)
def test_distance_is_that_of_mujoco(routine):
    """mj_geomDistance; but for capsules whose axis meets the box, where MuJoCo's depth is 2 mm short of what the gap
    along any direction allows."""
    pairs, found = example(routine)
    theirs = mujoco_pairs.distances(pairs)
    ours = np.where(found.count > 0, np.nanmin(np.where(np.isnan(found.distance), np.inf, found.distance), 1), np.inf)
    outside = -pairs.size0[:, 0] if routine == PairRoutine.CAPSULE_BOX else -np.inf
    compared = (found.count > 0) & (theirs > outside)
    assert np.max(np.abs(theirs - ours)[compared]) < 1e-8 + TOLERANCE.get(routine, 0)
    assert np.all(theirs[found.count == 0] > REACH - 1e-9)


@pytest.mark.parametrize(
    "routine",
    [r for r in ROUTINES if r not in (PairRoutine.PLANE_BOX, PairRoutine.CAPSULE_BOX, PairRoutine.BOX_BOX)],
    ids=lambda r: r.name.lower(),
)
def test_contacts_are_those_of_mujoco(routine):
    """Midpoint, normal and distance of every contact; where one direction alone is deepest MuJoCo chooses the same
    points. Capsules nearly parallel, to which we give two contacts, are left out: fewer than 1 % of the pairs."""
    pairs, found = example(routine)
    theirs = mujoco_pairs.contacts(pairs, REACH)
    same = np.array([len(rows) for rows in theirs]) == found.count
    assert same.mean() > (0.99 if routine == PairRoutine.CAPSULE_CAPSULE else 0.9999)
    midpoint = 0.5 * (found.point0 + found.point1)
    for i in np.flatnonzero(same & (found.count > 0)):
        n = found.count[i]
        ours = np.column_stack([midpoint[i], found.normal[i], found.distance[i]])[:n]
        apart = np.abs(ours[:, None] - theirs[i][None]).max(-1)
        assert max(apart.min(0).max(), apart.min(1).max()) < 1e-9


@every_routine
@pytest.mark.parametrize("place", range(14))
def test_a_pose_that_is_not_finite_makes_no_contact_or_a_finite_one(routine, place):
    pairs = random_pairs(routine, 1, seed=0)
    for value in (np.nan, np.inf):
        pose0, pose1 = pairs.pose0.copy(), pairs.pose1.copy()
        (pose0 if place < 7 else pose1)[0, place % 7] = value
        found = collide(Pairs(routine, pose0, pairs.size0, pose1, pairs.size1), REACH)
        assert np.isfinite(found.distance[0, : found.count[0]]).all()


def test_the_transform_of_the_tests_is_a_rigid_motion():
    motion = np.array([1.0, 2, 3, 0, 0, np.sin(np.pi / 4), np.cos(np.pi / 4)])
    assert np.allclose(compose(motion, np.array([[1.0, 0, 0, 0, 0, 0, 1]]))[0, :3], [1, 3, 3])
