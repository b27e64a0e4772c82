"""A plane against shapes: which points make the manifold, and that it does not wander."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from simengine.enums import PairRoutine
from tests.collision import mujoco_pairs
from tests.collision.collision_pairs import Pairs, collide, random_pairs, random_rotations, turn, unturn

IDENTITY = np.array([0, 0, 0, 0, 0, 0, 1.0])


def on_ground(routine, pose, size, ground_size=(0, 0, 0)) -> Pairs:
    """Shapes of one size at poses (n, 7) over the plane z = 0."""
    grounds, ground_sizes, sizes = (
        np.tile(np.asarray(row, float), (len(pose), 1)) for row in (IDENTITY, ground_size, size)
    )
    return Pairs(routine, grounds, ground_sizes, pose, sizes)


def tilted(random, n, angle, height):
    """Poses (n, 7) tilted by `angle` about random horizontal axes after any turn about z."""
    around, spin = random.uniform(0, 2 * np.pi, n), random.uniform(0, 2 * np.pi, n)
    s, c = np.sin(angle / 2), np.cos(angle / 2)
    spin_s, spin_c = np.sin(spin / 2), np.cos(spin / 2)
    x, y = s * np.cos(around), s * np.sin(around)  # tilt (x, y, 0, c) after spin (0, 0, spin_s, spin_c)
    q = np.column_stack([x * spin_c + y * spin_s, y * spin_c - x * spin_s, c * spin_s, c * spin_c])
    return np.column_stack([np.zeros((n, 2)), np.full(n, height), q])


def test_a_box_touches_with_every_corner_within_reach_while_these_are_at_most_four():
    pairs = random_pairs(PairRoutine.PLANE_BOX, 3000, seed=1)
    signs = np.array(list(itertools.product([-1, 1], repeat=3)))
    corners = pairs.pose1[:, None, :3] + turn(pairs.pose1, signs * pairs.size1[:, None])
    normal = turn(pairs.pose0, np.tile([0, 0, 1.0], (3000, 1)))
    heights = np.einsum("nki,ni->nk", corners - pairs.pose0[:, None, :3], normal)
    reach = 0.0
    within = np.sort(np.where(heights < reach, heights, np.inf), 1)
    few = np.sum(heights < reach, 1) <= 4
    found = collide(pairs, reach)
    ours = np.sort(np.where(np.isnan(found.distance), np.inf, found.distance), 1)
    finite = np.isfinite(within)
    ordinary = few & (found.count == finite.sum(1))
    assert few.mean() > 0.95 and ordinary[few].mean() > 0.995  # the rest are sunk deeper than an edge is long
    assert np.allclose(ours[ordinary][finite[ordinary]], within[ordinary][finite[ordinary]], atol=1e-12)
    theirs = mujoco_pairs.contacts(pairs[ordinary], reach)
    assert [len(rows) for rows in theirs] == found.count[ordinary].tolist()


def test_a_box_at_rest_touches_with_the_four_corners_of_its_lower_face_however_it_trembles():
    random = np.random.default_rng(2)
    for tilt in (0, 1e-12, 1e-9, 1e-6, 1e-4):
        pose = tilted(random, 200, tilt, 0.01 - 1e-4)
        for precision in ("float64", "float32"):
            found = collide(on_ground(PairRoutine.PLANE_BOX, pose, (0.2, 0.1, 0.01)), 1e-3, precision)
            assert np.all(found.count == 4)
            assert np.all(found.feature[:, :4] == [0, 1, 2, 3])


def test_a_cylinder_at_rest_keeps_four_fixed_points_of_its_lower_rim():
    random = np.random.default_rng(3)
    for tilt in (0, 1e-12, 1e-8, 1e-5, 0.9e-3):
        pose = tilted(random, 200, tilt, 0.1 - 1e-4)
        found = collide(on_ground(PairRoutine.PLANE_CYLINDER, pose, (0.05, 0.1, 0)), 1e-3)
        assert np.all(found.count == 4)
        assert np.all(found.feature[:, :4] == [4, 5, 6, 7])
        # the lowest point of a tilted rim is missed by at most (1 - cos 45 deg) sin(tilt) radii
        lowest = 0.1 - 1e-4 - 0.1 * np.cos(tilt) - 0.05 * np.sin(tilt)
        assert np.all(found.distance[:, :4].min(1) - lowest < 0.3e-3 * 0.05)
        disc = pose[:, :3] + turn(pose, np.tile([0, 0, -0.1], (200, 1)))
        assert np.allclose(found.point1[:, :4].mean(1), disc, atol=1e-12)


def test_a_lying_cylinder_touches_along_its_line_and_a_rolling_rim_at_its_lowest_point():
    lying = np.array([[0, 0, 0.05 - 1e-4, np.sin(np.pi / 4), 0, 0, np.cos(np.pi / 4)]])
    found = collide(on_ground(PairRoutine.PLANE_CYLINDER, lying, (0.05, 0.1, 0)), 0.0)
    assert found.count[0] == 2 and set(found.feature[0, :2]) == {0, 1}
    assert np.allclose(np.sort(found.point0[0, :2, 1]), [-0.1, 0.1])
    assert np.allclose(found.distance[0, :2], -1e-4)
    leaning = tilted(np.random.default_rng(4), 100, 0.5, 0.1 * np.cos(0.5) + 0.05 * np.sin(0.5) - 1e-5)
    found = collide(on_ground(PairRoutine.PLANE_CYLINDER, leaning, (0.05, 0.1, 0)), 0.0)
    assert np.all(found.count == 1) and np.allclose(found.distance[:, 0], -1e-5)


def test_an_ellipsoid_touches_where_its_normal_is_the_planes():
    pairs = random_pairs(PairRoutine.PLANE_ELLIPSOID, 500, seed=5)
    found = collide(pairs, 1.0)
    local = unturn(pairs.pose1, found.point1[:, 0] - pairs.pose1[:, :3])
    gradient = turn(pairs.pose1, local / pairs.size1**2)
    gradient /= np.linalg.norm(gradient, axis=1, keepdims=True)
    assert np.allclose(gradient, -found.normal[:, 0], atol=1e-9)


def test_a_plane_collides_beyond_the_rectangle_that_is_drawn():
    random = np.random.default_rng(6)
    pose = np.column_stack([random.uniform(-3, 3, (1000, 2)), np.full(1000, 0.05), random_rotations(random, 1000)])
    for size in ((1, 2, 0), (1, 0, 0)):
        found = collide(on_ground(PairRoutine.PLANE_SPHERE, pose, (0.1, 0, 0), ground_size=size), 0.0)
        assert np.all(found.count == 1) and np.allclose(found.distance[:, 0], -0.05)


@pytest.mark.parametrize("depth", [1e-6, 0.01, 5.0])
def test_what_is_below_the_plane_is_pushed_up(depth):
    pose = np.array([[0, 0, -depth, 0, 0, 0, 1.0]])
    found = collide(on_ground(PairRoutine.PLANE_SPHERE, pose, (0.1, 0, 0)), 0.0)
    assert np.allclose(found.normal[0, 0], [0, 0, 1]) and np.isclose(found.distance[0, 0], -depth - 0.1)
