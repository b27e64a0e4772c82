"""A sphere and a capsule against a box: inside, on the surface, lying on a face, an edge, over an edge."""

from __future__ import annotations

import numpy as np
import pytest

from simengine.enums import PairRoutine
from tests.collision.collision_pairs import collide
from tests.collision.test_collide_sphere_capsule import ORIGIN, pairs

BOX = [0.3, 0.2, 0.1]
ALONG_X = [0, np.sin(np.pi / 4), 0, np.cos(np.pi / 4)]  # turns z to x


def sphere_on_box(centre, radius=0.05, reach=0.0):
    pose = np.column_stack([np.atleast_2d(centre), np.tile([0, 0, 0, 1.0], (len(np.atleast_2d(centre)), 1))])
    return collide(pairs(PairRoutine.SPHERE_BOX, pose, [radius, 0, 0], ORIGIN, BOX), reach)


def capsule_on_box(position, q, size, reach=0.0, precision="float64"):
    pose = np.column_stack([np.atleast_2d(position), np.atleast_2d(q)])
    return collide(pairs(PairRoutine.CAPSULE_BOX, pose, size, ORIGIN, BOX), reach, precision)


def test_a_centre_inside_the_box_leaves_by_the_nearest_face():
    random = np.random.default_rng(1)
    centre = random.uniform(-1, 1, (1000, 3)) * BOX
    found = sphere_on_box(centre)
    room = np.array(BOX) - np.abs(centre)
    assert np.allclose(found.distance[:, 0], -room.min(1) - 0.05)
    rows, face = np.arange(1000), room.argmin(1)
    assert np.allclose(-found.normal[rows, 0, face], np.sign(centre[rows, face]))
    assert np.allclose(np.abs(found.point1[rows, 0, face]), np.array(BOX)[face])


@pytest.mark.parametrize("centre", [[0, 0, 0], [0, 0, 0.1], [0.3, 0.2, 0.1], [0.3, -0.2, 0], [-0.1, 0.2, 0]])
def test_a_centre_in_the_middle_or_on_face_edge_and_corner_has_a_normal(centre):
    found = sphere_on_box(centre)
    depth = (np.array(BOX) - np.abs(centre)).min()
    assert found.count[0] == 1 and np.isclose(found.distance[0, 0], -depth - 0.05)
    assert np.isclose(np.linalg.norm(found.normal[0, 0]), 1)


def test_distance_and_normal_are_continuous_across_the_surface():
    heights = 0.1 + np.array([-1e-6, -1e-9, 0, 1e-9, 1e-6])
    found = sphere_on_box(np.column_stack([np.zeros((5, 2)), heights]))
    assert np.allclose(found.normal[:, 0], [0, 0, -1])
    assert np.allclose(found.distance[:, 0], heights - 0.1 - 0.05, atol=1e-15)


@pytest.mark.parametrize("tremble", [0, 1e-12, 1e-9, 1e-7, 1e-5])
@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_a_capsule_lying_on_a_face_touches_at_both_ends_of_what_is_over_it(tremble, precision):
    random = np.random.default_rng(2)
    q = np.array(ALONG_X) + tremble * random.normal(size=(300, 4))
    q /= np.linalg.norm(q, axis=1, keepdims=True)
    for middle, ends in ((0.0, [-0.15, 0.15]), (0.25, [0.1, 0.3])):  # within the face; hanging over its edge
        position = [middle, 0.05, 0.149] + tremble * random.normal(size=(300, 3))
        found = capsule_on_box(position, q, [0.05, 0.15, 0], precision=precision)
        assert np.all(found.count == 2)
        assert np.allclose(np.sort(found.point1[:, :2, 0], 1), ends, atol=1e-3)
        assert np.allclose(found.distance[:, :2], -1e-3, atol=8 * tremble + 1e-6)
        assert np.allclose(found.normal[:, :2], [0, 0, -1], atol=1e-3)


def test_a_capsule_lying_along_an_edge_touches_at_both_ends():
    direction = np.array([0, 1, 1]) / np.sqrt(2)
    position = np.array([0.1, 0.2, 0.1]) + 0.049 * direction
    found = capsule_on_box(position, ALONG_X, [0.05, 0.1, 0])
    assert found.count[0] == 2
    assert np.allclose(found.normal[0, :2], -direction) and np.allclose(found.distance[0, :2], -1e-3)
    assert np.allclose(np.sort(found.point1[0, :2, 0]), [0, 0.2])


def test_a_capsule_across_an_edge_touches_once():
    """The axis runs from above the face down past the edge x = 0.3, z = 0.1, slanting along y."""
    direction = np.array([1, 0.4, -1]) / np.linalg.norm([1, 0.4, -1])
    half = np.cross([0, 0, 1], direction)
    q = np.append(half, 1 + direction[2])
    found = capsule_on_box([0.33, 0, 0.13], q / np.linalg.norm(q), [0.05, 0.3, 0])
    assert found.count[0] == 1
    assert np.allclose(found.normal[0, 0], -np.array([1, 0, 1]) / np.sqrt(2))
    assert np.isclose(found.distance[0, 0], 0.03 * np.sqrt(2) - 0.05)
    assert np.allclose(found.point1[0, 0, [0, 2]], [0.3, 0.1])


def test_a_capsule_sunk_into_a_face_leaves_by_it():
    found = capsule_on_box([0, 0, 0.09], ALONG_X, [0.05, 0.1, 0])
    assert found.count[0] == 2
    assert np.allclose(found.normal[0, :2], [0, 0, -1]) and np.allclose(found.distance[0, :2], -0.06)
    upright = capsule_on_box([0, 0, 0.15], [0, 0, 0, 1], [0.05, 0.1, 0])
    assert upright.count[0] == 1 and np.isclose(upright.distance[0, 0], -0.1)
    assert np.allclose(upright.point0[0, 0], [0, 0, 0])


def test_depth_is_continuous_while_the_axis_sinks_through_the_surface():
    heights = 0.1 + np.linspace(-1e-3, 1e-3, 401)
    found = capsule_on_box(np.column_stack([np.zeros((401, 2)), heights]), np.tile(ALONG_X, (401, 1)), [0.05, 0.1, 0])
    assert np.all(found.count == 2)
    assert np.allclose(found.distance[:, :2], (heights - 0.15)[:, None], atol=1e-12)


def test_a_capsule_of_no_length_is_a_sphere():
    random = np.random.default_rng(3)
    centre = random.uniform(-0.5, 0.5, (500, 3))
    found = capsule_on_box(centre, np.tile(ALONG_X, (500, 1)), [0.05, 0, 0], reach=9)
    sphere = sphere_on_box(centre, reach=9)
    assert np.allclose(np.nanmin(found.distance, 1), sphere.distance[:, 0], atol=1e-9)
