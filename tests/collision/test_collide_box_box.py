"""Two boxes: the manifold of resting faces, edges, corners, and that it stays while they tremble."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial import ConvexHull, HalfspaceIntersection

from simengine.enums import PairRoutine
from tests.collision.collision_pairs import collide, random_rotations, turn
from tests.collision.test_collide_sphere_capsule import ORIGIN, pairs, trembling


def boxes(pose0, size0, pose1, size1, reach=0.0, precision="float64"):
    return collide(pairs(PairRoutine.BOX_BOX, pose0, size0, pose1, size1), reach, precision)


def upright(x, y, z, angle):
    return [x, y, z, 0, 0, np.sin(angle / 2), np.cos(angle / 2)]


def overlap_planes(half0, half1, x, y, angle):
    """Half-planes (n, 3), normal . p + offset <= 0, of two rectangles, the second turned and shifted."""
    c, s = np.cos(angle), np.sin(angle)
    planes = [[1, 0, -half0[0]], [-1, 0, -half0[0]], [0, 1, -half0[1]], [0, -1, -half0[1]]]
    for nx, ny, half in ((c, s, half1[0]), (-s, c, half1[1])):
        planes += [[nx, ny, -half - (nx * x + ny * y)], [-nx, -ny, -half + (nx * x + ny * y)]]
    return np.array(planes)


def test_faces_that_rest_on_each_other_touch_at_the_corners_of_their_common_part():
    """To MERGED_CORNERS of the smallest half extent: every contact is within it of the common part, the hull of the
    contacts has its area, and most manifolds have exactly its corners."""
    random = np.random.default_rng(1)
    compared = exact = 0
    for _ in range(300):
        half0, half1 = random.uniform(0.1, 0.5, (2, 3))
        x, y, angle = *random.uniform(-0.5, 0.5, 2), random.uniform(-np.pi, np.pi)
        planes = overlap_planes(half0, half1, x, y, angle)
        samples = random.uniform(-1, 1, (2000, 2)) * half0[:2]
        room = -(samples @ planes[:, :2].T + planes[:, 2]).max(1)
        if room.max() < 0.01:
            continue
        polygon = HalfspaceIntersection(planes, samples[room.argmax()]).intersections
        found = boxes(ORIGIN, half0, upright(x, y, half0[2] + half1[2] - 1e-4, angle), half1)
        n = found.count[0]
        assert np.allclose(found.normal[0, :n], [0, 0, 1]) and np.allclose(found.distance[0, :n], -1e-4)
        ours = found.point0[0, :n, :2]
        merge = 1e-3 * min(*half0[:2], *half1[:2])
        assert np.max(ours @ planes[:, :2].T + planes[:, 2]) < merge
        hull, true = ConvexHull(ours), ConvexHull(polygon)  # in the plane `area` is the perimeter, `volume` the area
        assert abs(hull.volume - true.volume) < merge * true.area
        apart = np.linalg.norm(ours[:, None] - polygon[None], axis=-1)
        exact += max(apart.min(1).max(), apart.min(0).max()) < 0.1 * merge
        compared += 1
    assert compared > 150 and exact > 0.95 * compared


@pytest.mark.parametrize("tremble", [0, 1e-12, 1e-9, 1e-7, 1e-6, 1e-5])
@pytest.mark.parametrize("precision", ["float64", "float32"])
@pytest.mark.parametrize("shift", [0.0, 0.15], ids=["flush", "half over"])
def test_equal_cubes_on_each_other_keep_four_contacts_at_the_corners(tremble, precision, shift):
    pose = trembling(np.random.default_rng(2), 500, [shift, 0, 0.6 - 1e-3], tremble)
    found = boxes(ORIGIN, [0.3] * 3, pose, [0.3] * 3, precision=precision)
    assert np.all(found.count == 4)
    assert np.all(found.feature[:, :4] // 16 == 2)  # the face z of the first
    corners = np.array([[x, y] for x in (shift - 0.3, 0.3) for y in (-0.3, 0.3)])
    apart = np.linalg.norm(found.point0[:, :4, None, :2] - corners, axis=-1)
    assert apart.min(1).max() < 1e-3 and apart.min(2).max() < 1e-3


def test_a_small_box_on_a_large_one_keeps_its_corners():
    pose = trembling(np.random.default_rng(3), 200, [3, 2, 0.51 - 1e-5], 1e-7)
    found = boxes(ORIGIN, [10, 10, 0.5], pose, [0.02, 0.01, 0.01])
    assert np.all(found.count == 4) and np.all(found.feature == found.feature[0])


def test_a_corner_sunk_into_a_face_is_one_contact():
    axis = np.array([1, -1, 0]) / np.sqrt(2)
    angle = np.arctan(np.sqrt(2))  # stands the cube on a corner
    pose = [0, 0, 0.5 + 0.2 * np.sqrt(3) - 1e-3, *(np.sin(angle / 2) * axis), np.cos(angle / 2)]
    found = boxes(ORIGIN, [1, 1, 0.5], pose, [0.2] * 3)
    assert found.count[0] == 1
    assert np.isclose(found.distance[0, 0], -1e-3) and np.allclose(found.normal[0, 0], [0, 0, 1])
    assert np.allclose(found.point1[0, 0], [0, 0, 0.5 - 1e-3])


def test_crossed_edges_touch_at_their_crossing():
    """Two bars turned 45 degrees about their lengths, one along x below, one along y above."""
    s, c = np.sin(np.pi / 8), np.cos(np.pi / 8)
    below, above = [0, 0, 0, s, 0, 0, c], [0.1, 0.2, 0.2 * np.sqrt(2) - 1e-3, 0, s, 0, c]
    found = boxes(below, [0.5, 0.1, 0.1], above, [0.1, 0.5, 0.1])
    assert found.count[0] == 1 and found.feature[0, 0] >= 16 * 6
    assert np.isclose(found.distance[0, 0], -1e-3) and np.allclose(found.normal[0, 0], [0, 0, 1])
    assert np.allclose(found.point0[0, 0], [0.1, 0, 0.1 * np.sqrt(2)])


@pytest.mark.parametrize("offset", [(0.03, 0.04, 0.0), (0.02, 0.02, 0.03), (0.0, 0.0, 0.05)])
def test_boxes_apart_touch_at_their_nearest_points(offset):
    """Aligned boxes: edge beside edge, corner before corner, face before face."""
    size = np.array([0.2, 0.3, 0.1])
    second = [*(2 * size * (np.array(offset) > 0) + offset), 0, 0, 0, 1]
    found = boxes(ORIGIN, size, second, size, reach=0.1)
    assert np.isclose(np.nanmin(found.distance), np.linalg.norm(offset))
    assert np.allclose(found.normal[0, 0], np.array(offset) / np.linalg.norm(offset))


def test_boxes_that_rest_at_a_margin_keep_their_manifold():
    """Surfaces 1 mm apart within reach of 2 mm, overhanging: the same four corners however they tremble."""
    pose = trembling(np.random.default_rng(4), 300, [0.15, 0.1, 0.601], 1e-6)
    found = boxes(ORIGIN, [0.3] * 3, pose, [0.3] * 3, reach=2e-3)
    assert np.all(found.count == 4) and np.all(found.feature[:, :4] // 16 == 2)


def test_the_same_box_twice_has_a_normal_and_its_least_thickness():
    random = np.random.default_rng(5)
    pose = np.column_stack([random.normal(size=(50, 3)), random_rotations(random, 50)])
    found = boxes(pose, [0.3, 0.1, 0.2], pose, [0.3, 0.1, 0.2])
    assert np.all(found.count >= 4)
    assert np.allclose(np.nanmin(found.distance, 1), -0.2)
    assert np.allclose(np.abs(np.sum(found.normal[:, 0] * turn(pose, np.tile([0, 1.0, 0], (50, 1))), 1)), 1)


def test_a_box_inside_another_leaves_by_the_nearest_face():
    found = boxes(ORIGIN, [1, 1, 1], [0, 0.7, 0.1, 0, 0, 0, 1], [0.1] * 3)
    assert found.count[0] == 4
    assert np.allclose(found.normal[0, :4], [0, 1, 0]) and np.allclose(found.distance[0, :4], -0.4)
