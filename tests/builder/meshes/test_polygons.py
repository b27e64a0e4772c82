"""Polygons are cut into triangles that have their area and their sense, or are refused."""

import numpy as np
import pytest

from simengine.builder.meshes.polygons import CORNERS, triangulate
from simengine.errors import AssetError


def area_vectors(points, triangles):
    a, b, c = (points[triangles[:, i]] for i in range(3))
    return np.cross(b - a, c - a) / 2


def outline_area(points, outline):
    corners = points[outline]
    return np.cross(corners, np.roll(corners, -1, axis=0)).sum(axis=0) / 2


def check(points, outline):
    triangles = triangulate(points, np.array(outline), np.array([len(outline)]), "x")
    areas = area_vectors(points, triangles)
    total = outline_area(points, outline)
    np.testing.assert_allclose(areas.sum(axis=0), total, rtol=1e-12, atol=1e-14)
    assert (areas @ total >= -1e-12).all()
    assert len(triangles) == len(outline) - 2


@pytest.mark.parametrize("size", [3, 4, 5, 8, 100])
def test_a_regular_polygon_anywhere_in_space(size):
    angle = np.arange(size) * 2 * np.pi / size
    flat = np.stack([np.cos(angle), np.sin(angle), 0 * angle], axis=1)
    turn, _ = np.linalg.qr(np.random.default_rng(size).normal(size=(3, 3)))
    check(flat @ turn.T + [5, -3, 2], range(size))


@pytest.mark.parametrize("turn", range(4))
def test_a_dented_quadrangle_is_cut_through_its_dent(turn):
    points = np.array([[0, 0, 0], [2, 0, 0], [0.5, 0.5, 0], [0, 2, 0]])
    check(points, np.roll(np.arange(4), turn))


def test_a_bent_quadrangle_is_cut_along_its_shorter_diagonal():
    points = np.array([[0, 0, 0], [1, 0, 0], [3, 1, 0.1], [0, 1, 0]])
    triangles = triangulate(points, np.arange(4), np.array([4]), "x")
    assert {frozenset(t) for t in triangles.tolist()} == {frozenset((0, 1, 3)), frozenset((1, 2, 3))}


def test_a_polygon_that_one_of_its_corners_sees_whole_is_cut_from_there():
    points = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [2, 1, 0], [2, 2, 0], [0, 2, 0]], float)  # an L
    check(points, range(6))


def test_a_polygon_dented_from_several_sides_is_refused_with_its_line():
    angle = np.arange(20) * np.pi / 10
    radius = np.where(np.arange(20) % 2, 0.2, 1.0)
    star = np.stack([radius * np.cos(angle), radius * np.sin(angle), 0 * angle], axis=1)
    with pytest.raises(AssetError, match="20 corners is not convex") as caught:
        triangulate(star, np.arange(20), np.array([20]), "x.obj", [7])
    assert caught.value.line == 7


def test_polygons_of_all_sizes_keep_the_order_of_the_file():
    points = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], float)
    corners = np.array([0, 1, 2, 0, 1, 2, 3, 0, 2, 3])
    triangles = triangulate(points, corners, np.array([3, 4, 3]), "x")
    assert triangles.tolist() == [[0, 1, 2], [0, 1, 2], [0, 2, 3], [0, 2, 3]]


@pytest.mark.parametrize("count, message", [(2, "fewer than 3"), (CORNERS + 1, "cap")])
def test_polygons_of_too_few_or_too_many_corners_are_refused(count, message):
    with pytest.raises(AssetError, match=message):
        triangulate(np.zeros((1, 3)), np.zeros(count, int), np.array([count]), "x")


def test_no_polygons_are_no_triangles():
    assert triangulate(np.zeros((0, 3)), np.zeros(0, int), np.zeros(0, int), "x").shape == (0, 3)
