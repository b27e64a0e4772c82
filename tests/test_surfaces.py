"""Surfaces of triangles: against trimesh, closed forms and counting one by one."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import trimesh

from simengine import surfaces

CUBE = trimesh.creation.box((1.0, 2.0, 3.0))
SHAPES = {
    "box": CUBE,
    "ball": trimesh.creation.icosphere(2),
    "ring": trimesh.creation.torus(1.0, 0.3, major_sections=12, minor_sections=8),
    "needle": trimesh.creation.box((1e-4, 1e-4, 1.0)),
    "grain": trimesh.creation.icosphere(1, radius=1e-9),
    "hill": trimesh.creation.icosphere(1, radius=1e9),
}


def test_the_boundary_is_what_edges_lack_of_their_reverse():
    random = np.random.default_rng(1)
    for _ in range(50):
        triangles = random.integers(0, 6, (random.integers(0, 15), 3))
        count = Counter()
        for a, b, c in triangles.tolist():
            if len({a, b, c}) == 3:
                count.update([(a, b), (b, c), (c, a)])
        lacking = {edge: times - count[edge[::-1]] for edge, times in count.items() if times > count[edge[::-1]]}
        edges = surfaces.edges_of(triangles, 6)
        assert dict(zip(map(tuple, edges.open.tolist()), edges.excess.tolist(), strict=True)) == lacking
        both = Counter(tuple(sorted(edge)) for edge in count.elements())
        assert edges.most == max(both.values(), default=0)


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("precision", [np.float32, np.float64])
def test_a_surface_is_wound_inwards_where_its_volume_is_negative(name, precision):
    mesh = SHAPES[name]
    assert mesh.volume > 0
    for shift in (0.0, 10.0 * mesh.extents):  # the middle of the vertices, not the origin, is what is seen from
        apart = (mesh.triangles + shift).reshape(-1, 3).astype(precision)  # each triangle with vertices of its own
        faces = np.arange(len(apart)).reshape(-1, 3)
        assert not surfaces.is_wound_inwards(apart, faces)
        assert surfaces.is_wound_inwards(apart, faces[:, ::-1])


def test_open_flat_mixed_and_empty_surfaces_are_wound_neither_way():
    corners, faces = np.array(CUBE.vertices), np.array(CUBE.faces)
    inwards = faces[:, ::-1]
    assert not surfaces.is_wound_inwards(corners, inwards[:-1])
    assert not surfaces.is_wound_inwards(corners, np.concatenate([inwards[1:], faces[:1]]))
    assert not surfaces.is_wound_inwards(corners, faces[:0])
    plate = np.array([[0, 0, 0], [1, 0, 0.1], [0, 1, 0.3]])
    for sides in ([[0, 1, 2], [0, 2, 1]], [[0, 2, 1], [0, 1, 2]]):
        assert not surfaces.is_wound_inwards(plate, np.array(sides))
    # a cavity runs the other way; what is pinched does not count
    both = np.concatenate([corners, 0.5 * corners])
    hollow = np.concatenate([faces, inwards + len(corners), [[0, 0, 7]]])
    assert not surfaces.is_wound_inwards(both, hollow) and surfaces.is_wound_inwards(both, hollow[:, ::-1])


def test_heights_are_twice_the_area_over_the_longest_edge():
    random = np.random.default_rng(2)
    vertices, triangles = random.normal(size=(30, 3)), random.integers(0, 30, (200, 3))
    height, longest = surfaces.heights(vertices, triangles)
    corners = vertices[triangles]
    area = trimesh.triangles.area(corners)
    sides = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).max(axis=1)
    assert np.allclose(longest, sides) and np.allclose(height * longest, 2 * area, atol=1e-12)
    assert surfaces.heights(vertices, np.array([[3, 3, 3]]))[0][0] == 0
