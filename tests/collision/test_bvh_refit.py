"""Boxes of nodes: planes hold what is below them and lie close to it; packed numbers are those of the primitives."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from simengine.collision.bvh import Bvh
from simengine.collision.mesh import Mesh
from simengine.runtime import modes


def node_type(dtype) -> np.dtype:
    """BvhNode of bvh.h."""
    exponent = np.int16 if dtype == np.float64 else np.int8
    planes = [("lower", np.uint8, (3, 8)), ("upper", np.uint8, (3, 8))]
    return np.dtype([("origin", dtype, 3), ("exponent", exponent, 4), *planes, ("child", np.int32, 8)])


def scattered(n: int, seed: int, dtype):
    """Boxes of all sizes, from one point's to far larger than their distance; some differ by a few units in the last
    place of their coordinates."""
    random = np.random.default_rng(seed)
    center = random.normal(size=(n, 3)) * 10.0 ** random.uniform(-6, 6, (n, 1))
    center[: n // 3] = 1e6
    half = 10.0 ** random.uniform(-9, 3, (n, 3)) * (random.random((n, 1)) < 0.8)
    return (center - half).astype(dtype), (center + half).astype(dtype)


def primitives_below(trees, nodes, child: int) -> np.ndarray:
    if child < 0:
        first, count = divmod(~child, 4)
        return trees.primitives[first : first + count + 1]
    children = nodes[child]["child"]
    return np.concatenate([primitives_below(trees, nodes, int(c)) for c in children[children != -(2**31)]])


def plane(node, axis: int, q: int) -> Fraction:
    return Fraction(float(node["origin"][axis])) + q * Fraction(2) ** int(node["exponent"][axis])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [5, 40, 300])
def test_planes_hold_what_is_below_and_are_at_most_two_steps_away(n, dtype):
    low, high = scattered(n, n, dtype)
    trees = Bvh(low, high)._trees
    nodes = trees.nodes.view(node_type(np.dtype(dtype)))[: trees.node_count()]
    for node in nodes:
        used = int(node["exponent"][3]) & 255
        assert [bool(used >> c & 1) for c in range(8)] == (node["child"] != -(2**31)).tolist()
        for c in np.flatnonzero(node["child"] != -(2**31)):
            below = primitives_below(trees, nodes, int(node["child"][c]))
            for axis in range(3):
                least, most = low[below, axis].min(), high[below, axis].max()
                from_q, to_q = int(node["lower"][axis, c]), int(node["upper"][axis, c])
                assert dtype(float(plane(node, axis, from_q))) <= least < plane(node, axis, from_q + 2)
                assert dtype(float(plane(node, axis, to_q))) >= most
                assert to_q == 0 or most > plane(node, axis, to_q - 2)


def surface(n: int):
    """A wavy sheet with about n triangles, and one vertex that is not finite."""
    side = int(np.sqrt(n / 2)) + 1
    x, y = np.meshgrid(np.arange(side + 1.0), np.arange(side + 1.0), indexing="ij")
    vertices = np.stack([x, y, np.sin(x) * np.cos(y)], axis=-1).reshape(-1, 3)
    a = (np.arange(side)[:, None] * (side + 1) + np.arange(side)).ravel()
    faces = np.concatenate([np.stack([a, a + 1, a + side + 1], 1), np.stack([a + 1, a + side + 2, a + side + 1], 1)])
    return vertices, faces.astype(np.int32)


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("n", [2, 33, 700])
def test_packed_numbers_are_those_of_the_primitives_in_their_places(n, precision):
    mesh = Mesh(*surface(n), precision=precision)
    trees = mesh._trees
    expected = mesh._vertices[mesh.faces[trees.primitives]].reshape(-1, 9)
    assert np.array_equal(trees.packed, expected)
    low, high = scattered(n, 1, precision)
    boxes = Bvh(low, high)._trees
    assert np.array_equal(boxes.packed, np.hstack([low, high])[boxes.primitives])


@pytest.mark.parametrize("lanes", [4, 8, 32])
def test_no_number_of_lanes_changes_a_refit(lanes):
    vertices, faces = surface(500)
    moved = vertices * [1, 2, -0.5]
    moved[17, 1] = np.inf
    low, high = scattered(400, 2, np.float32)

    def refit():
        mesh, boxes = Mesh(vertices, faces), Bvh(low, high)
        mesh._vertices[:] = moved
        boxes._lower[30] = np.nan
        for trees in (mesh._trees, boxes._trees):
            trees.refit()
            made = trees.node_count()
            yield trees.nodes.tobytes(), trees.packed.tobytes(), trees._bounds[:made].tobytes()

    expected = list(refit())
    with modes.emulated_lanes(lanes, seed=lanes, poison=True):
        assert list(refit()) == expected
