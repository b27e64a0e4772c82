"""The point of a simplex nearest to the origin, against an exact search over its faces."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from simengine.runtime.kernel import Kernel

NEAREST = Kernel(
    """
    #include "simplex.h"
    extern "C" __global__ void nearest(int n, int corners, const real* w, real* point, real* weight, int* inside) {
        for_each(i, n) {
            vec3 corner[4];
            for (int k = 0; k < corners; ++k) corner[k] = load_vec3(w + 3 * (corners * i + k));
            const NearestOfSimplex found = nearest_of_simplex(corner, corners);
            store_vec3(point + 3 * i, found.inside ? zero_vec3() : found.point);
            for (int k = 0; k < 4; ++k) weight[4 * i + k] = found.weight[k];
            inside[i] = found.inside;
        }
    }
    """,
    "nearest",
)


def nearest(w: np.ndarray):
    n, corners, _ = w.shape
    point, weight, inside = np.zeros((n, 3), w.dtype), np.zeros((n, 4), w.dtype), np.zeros(n, np.int32)
    NEAREST.launch(n, [corners, np.ascontiguousarray(w), point, weight, inside])
    return point, weight, inside


def expected_distance(w: np.ndarray) -> float:
    """Over all faces whose affine hull's nearest point has no negative weight, the nearest."""
    best = np.inf
    for size in range(1, len(w) + 1):
        for face in itertools.combinations(range(len(w)), size):
            p = w[list(face)]
            edges = (p[1:] - p[0]).T
            t = np.linalg.lstsq(edges, -p[0], rcond=None)[0] if size > 1 else np.zeros(0)
            if np.all(t >= -1e-12) and t.sum() <= 1 + 1e-12:
                best = min(best, float(np.linalg.norm(p[0] + edges @ t)))
    return best


@pytest.mark.parametrize("corners", [1, 2, 3, 4])
@pytest.mark.parametrize("offset", [0.0, 0.5, 2.0])
def test_the_nearest_point_is_that_of_the_nearest_face(corners, offset):
    random = np.random.default_rng(corners)
    w = random.normal(size=(400, corners, 3)) + offset * random.normal(size=(400, 1, 3))
    point, weight, inside = nearest(w)
    distance = np.array([expected_distance(one) for one in w])
    assert np.allclose(np.linalg.norm(point, axis=1), distance, atol=1e-9)
    assert np.array_equal(inside.astype(bool), (distance < 1e-12) & (corners == 4))
    outside = inside == 0
    assert np.allclose(weight.sum(1)[outside], 1) and weight.min() >= 0
    assert np.allclose(np.einsum("nk,nki->ni", weight[:, :corners], w)[outside], point[outside], atol=1e-12)


@pytest.mark.parametrize("corners", [3, 4])
def test_corners_on_a_line_or_at_one_place_give_the_nearest_of_them(corners):
    line = np.array([[-1.0, 1, 0], [3, 1, 0], [0.5, 1, 0], [2, 1, 0]])[:corners]
    point, weight, _ = nearest(np.array([line, np.tile([[1.0, 2, 3]], (corners, 1))]))
    assert np.allclose(point, [[0, 1, 0], [1, 2, 3]], atol=1e-12) and np.allclose(weight.sum(1), 1)


@pytest.mark.parametrize("corners", [2, 3, 4])
def test_a_corner_near_the_origin_gives_the_nearest_point_its_digits(corners):
    """In float32, whichever corner it is, a thousandth as far as the others: what these lose to round-off is as much
    as how far a touch is."""
    random = np.random.default_rng(corners)
    w = random.normal(size=(400, corners, 3))
    w[np.arange(400), np.arange(400) % corners] *= 1e-3
    w = w.astype(np.float32)
    size = np.linalg.norm(w, axis=2).min(1)
    distance = np.array([expected_distance(one.astype(float)) for one in w])
    point, *_ = nearest(w)
    error = np.abs(np.linalg.norm(point.astype(float), axis=1) - distance) / size
    within = distance < 0.99 * size  # the corner itself is not the nearest point
    assert within.sum() > 150 and np.max(error) < 1e-5
