"""Facts of space queries on a larger scale than beside each of them: signs on a dense lattice, many meshes at once."""

from __future__ import annotations

import numpy as np
import pytest
import trimesh

from simengine.collision import HashGrid, Mesh
from tests.collision.test_mesh import brute_closest, brute_winding, spiky


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_a_lattice_of_32_cubed_points_has_the_signs_and_distances_of_brute_force(precision):
    mesh = spiky(2)
    axis = np.linspace(-2.6, 2.6, 32)
    points = np.stack(np.meshgrid(axis, axis, axis), axis=-1).reshape(-1, 3)
    inside = brute_winding(mesh.vertices, mesh.faces, points) > 0.5
    found = Mesh(mesh.vertices, mesh.faces, precision=precision)
    some = np.random.default_rng(0).choice(len(points), 3000, replace=False)
    _, expected = brute_closest(mesh.triangles, points[some])
    for sign in ("normal", "winding"):
        distance = found.closest_point(points, sign=sign).distance
        assert np.array_equal(distance < 0, inside)
        assert np.abs(np.abs(distance[some]) - expected).max() < (1e-14 if precision == "float64" else 1e-5)
    assert np.array_equal(found.contains(points), inside)


def test_thirty_meshes_at_once_answer_each_for_itself():
    meshes = []
    for seed in range(30):
        ball = trimesh.creation.icosphere(subdivisions=1, radius=1 + 0.1 * seed)
        meshes.append((Mesh(ball.vertices + seed, ball.faces), ball))
    points = np.random.default_rng(1).normal(size=(20, 3))
    for seed, (mesh, ball) in enumerate(meshes):
        _, expected = brute_closest(ball.triangles, points)
        assert np.abs(np.abs(mesh.closest_point(points + seed).distance) - expected).max() < 1e-13


@pytest.mark.parametrize("cell", [0.5, 1.0, 8.0])
def test_a_jittered_lattice_of_16_by_32_by_16_has_the_pairs_of_brute_force(cell):
    lattice = np.stack(np.meshgrid(np.arange(16), np.arange(32), np.arange(16), indexing="ij"), axis=-1)
    points = lattice.reshape(-1, 3) + np.random.default_rng(3).uniform(-0.3, 0.3, (8192, 3))
    grid = HashGrid(cell)
    grid.build(points)
    some = np.random.default_rng(4).choice(8192, 400, replace=False)
    apart = np.linalg.norm(points[some, None] - points[None], axis=2)
    assert np.array_equal(grid.count(points[some], 2.5), (apart <= 2.5).sum(1))
