"""Spheres and capsules: lines of contact, and configurations in which no direction is given."""

from __future__ import annotations

import numpy as np
import pytest

from simengine.enums import PairRoutine
from tests.collision.collision_pairs import Pairs, collide, gaps, random_rotations, turn, unit


def pairs(routine, pose0, size0, pose1, size1) -> Pairs:
    rows = [np.atleast_2d(np.asarray(a, float)) for a in (pose0, size0, pose1, size1)]
    n = max(len(row) for row in rows)
    return Pairs(routine, *(np.broadcast_to(row, (n, row.shape[1])).copy() for row in rows))


def trembling(random, n, position, size):
    """Poses near an upright one at `position`, off by random shifts and turns of order `size`."""
    q = np.column_stack([random.normal(size=(n, 3)) * size / 2, np.ones(n)])
    return np.column_stack([np.asarray(position) + random.normal(size=(n, 3)) * size, unit(q)])


ORIGIN = [0, 0, 0, 0, 0, 0, 1.0]


def test_coincident_centres_have_a_normal_and_the_whole_depth():
    found = collide(pairs(PairRoutine.SPHERE_SPHERE, ORIGIN, [0.2, 0, 0], ORIGIN, [0.3, 0, 0]), 0.0)
    assert found.count[0] == 1 and np.isclose(found.distance[0, 0], -0.5)
    assert np.isclose(np.linalg.norm(found.normal[0, 0]), 1)


def test_a_centre_on_the_axis_of_a_capsule_is_pushed_across_it():
    random = np.random.default_rng(1)
    pose = np.column_stack([random.normal(size=(100, 3)), random_rotations(random, 100)])
    axis = turn(pose, np.tile([0, 0, 1.0], (100, 1)))
    centre = pose[:, :3] + random.uniform(-0.3, 0.3, (100, 1)) * axis
    sphere = np.column_stack([centre, random_rotations(random, 100)])
    found = collide(pairs(PairRoutine.SPHERE_CAPSULE, sphere, [0.1, 0, 0], pose, [0.2, 0.3, 0]), 0.0)
    assert np.allclose(found.distance[:, 0], -0.3, atol=1e-9)
    # the centre is on the axis to round-off only: whatever the direction, it is a unit vector
    assert np.allclose(np.linalg.norm(found.normal[:, 0], axis=1), 1)
    exact = collide(pairs(PairRoutine.SPHERE_CAPSULE, ORIGIN, [0.1, 0, 0], ORIGIN, [0.2, 0.3, 0]), 0.0)
    assert np.isclose(exact.normal[0, 0] @ [0, 0, 1], 0) and np.isclose(exact.distance[0, 0], -0.3)


def test_axes_that_cross_part_along_their_common_perpendicular():
    crossed = [0, 0, 0.1, np.sin(0.5), 0, 0, np.cos(0.5)]
    found = collide(pairs(PairRoutine.CAPSULE_CAPSULE, ORIGIN, [0.1, 0.5, 0], crossed, [0.1, 0.5, 0]), 0.0)
    assert found.count[0] == 1 and np.isclose(found.distance[0, 0], -0.2)
    assert np.allclose(np.abs(found.normal[0, 0]), [1, 0, 0])


@pytest.mark.parametrize("shift", [0.0, 0.1, 0.7])
def test_axes_on_one_line_part_across_it_or_along_it(shift):
    """Beside each other there are two contacts; end to end one, along the axis."""
    size, above = [0.1, 0.3, 0], [0, 0, shift, 0, 0, 0, 1]
    found = collide(pairs(PairRoutine.CAPSULE_CAPSULE, ORIGIN, size, above, size), 0.0)
    if shift == 0.7:
        assert found.count[0] == 1 and np.isclose(found.distance[0, 0], -0.1)
        assert np.allclose(found.normal[0, 0], [0, 0, 1])
    else:
        assert found.count[0] == 2 and np.allclose(found.distance[0, :2], -0.2)
        assert np.allclose(found.normal[0, :2] @ [0, 0, 1], 0)


@pytest.mark.parametrize("size", [0, 1e-12, 1e-9, 1e-7, 1e-5, 1e-4])
@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_capsules_side_by_side_keep_both_ends_of_their_common_stretch(size, precision):
    pose = trembling(np.random.default_rng(2), 500, [0.199, 0, 0.2], size)
    found = collide(pairs(PairRoutine.CAPSULE_CAPSULE, ORIGIN, [0.1, 0.5, 0], pose, [0.1, 0.5, 0]), 0.0, precision)
    assert np.all(found.count == 2)
    assert np.allclose(np.sort(found.point0[:, :2, 2], 1), [-0.3, 0.5], atol=1e-3)
    assert np.allclose(found.distance[:, :2], -1e-3, atol=6 * size + 1e-6)


def test_nearly_parallel_capsules_say_the_right_distance():
    """Against the gap along the true common direction, from a fine search along both axes."""
    random = np.random.default_rng(3)
    pose = trembling(random, 1000, [0.2, 0, 0.1], 0.05)
    both = pairs(PairRoutine.CAPSULE_CAPSULE, ORIGIN, [0.1, 0.5, 0], pose, [0.1, 0.4, 0])
    found = collide(both, 1.0)
    s = np.linspace(-0.5, 0.5, 1001)
    axis = turn(pose, np.tile([0, 0, 1.0], (1000, 1)))
    point = np.stack([0 * s, 0 * s, s], -1)[None] - pose[:, None, :3]
    along = np.clip(np.einsum("nki,ni->nk", point, axis), -0.4, 0.4)
    distance = np.linalg.norm(point - along[..., None] * axis[:, None], axis=-1).min(1) - 0.2
    ours = np.nanmin(found.distance, 1)
    assert np.all(ours < distance + 1e-4 * 0.2 + 1e-12)
    assert np.all(ours > distance - 1e-3**2 / 0.2)  # the search's step squared over the distance of the axes
    single = found.count == 1
    assert np.allclose(gaps(both[single], found.normal[single, :1])[:, 0], ours[single], atol=1e-12)


def test_a_capsule_of_no_length_is_a_sphere():
    random = np.random.default_rng(4)
    pose = np.column_stack([random.normal(size=(200, 3)), random_rotations(random, 200)])
    other = np.column_stack([random.normal(size=(200, 3)), random_rotations(random, 200)])
    spheres = collide(pairs(PairRoutine.SPHERE_SPHERE, pose, [0.3, 0, 0], other, [0.4, 0, 0]), 9.0)
    for routine in (PairRoutine.SPHERE_CAPSULE, PairRoutine.CAPSULE_CAPSULE):
        found = collide(pairs(routine, pose, [0.3, 0, 0], other, [0.4, 0, 0]), 9.0)
        assert np.all(found.count == 1)
        assert np.allclose(found.distance[:, 0], spheres.distance[:, 0])
        assert np.allclose(found.normal[:, 0], spheres.normal[:, 0])
