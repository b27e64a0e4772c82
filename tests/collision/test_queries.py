"""Arguments of space queries, kernels of a user's own over the structures, and the script of the page."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest

import simengine as sim
from simengine.builder.mesh_data import convex_hull
from simengine.collision import Bvh, Mesh, queries
from simengine.errors import ModelError
from simengine.runtime.devices import CPU
from simengine.runtime.modes import debugging

WEIGHTS = """
#include "hash_grid.h"
#include "mesh_query.h"

// for each point the sum of the indices of its neighbours, and whether the ray up meets the mesh
extern "C" __global__ void look(int n, const real* point, real radius, const unsigned char* layout, const int* starts,
                                const int* order, const real* sorted, const int* sorted_group /* optional */, int count,
                                const unsigned char* nodes, const int* roots, const int* primitives,
                                const real* packed, int* sum, int* above) {
    const GridView grid = grid_view(layout, starts, order, sorted, sorted_group, count);
    const BvhView mesh(nodes, roots, primitives, packed, 9);
    for_each(i, n) {
        const vec3 p = load_vec3(point + 3 * i);
        int total = 0, hits = 0;
        grid_neighbors(grid, p, radius, 0, [&](int index) { total += index; });
        const ScaledRay ray(p, {real(0), real(0), real(1)});
        const ShearedRay sheared(ray);
        const real farthest = REAL_MAX;
        bvh_visit_ray(mesh, roots[0], BvhRay(ray.origin, ray.direction), farthest, [&](int first, int number) {
            RayHit hit;
            for (int k = first; k < first + number; ++k)
                hits += ray_meets_triangle(sheared, mesh.packed + 9 * k, farthest, hit);
            return false;
        });
        sum[i] = total;
        above[i] = hits;
    }
}
"""


def test_a_kernel_of_ones_own_walks_grids_and_meshes(device, precision):
    points = np.random.default_rng(0).normal(size=(400, 3)).astype(precision)
    grid = sim.collision.HashGrid(0.5)
    grid.build(device.asarray(points))
    roof = np.array([[-1, -1, 0], [1, -1, 0], [0, 1, 0]], precision)
    mesh = sim.collision.Mesh(device.asarray(roof), [[0, 1, 2]])
    assert not mesh.center.any()  # so that the kernel's points are the mesh's
    total, above = device.zeros(400, np.int32), device.zeros(400, np.int32)
    arguments = {"point": device.asarray(points), "radius": sim.real(0.6), "sum": total, "above": above}
    sim.Kernel(WEIGHTS, "look").launch(400, arguments | grid.arrays() | mesh.arrays(), device=device)
    near = ((points[:, None] - points[None]) ** 2).sum(axis=2) <= 0.36
    assert np.array_equal(sim.to_numpy(total), near @ np.arange(400))
    up = np.tile(np.array([0, 0, 1], precision), (400, 1))
    offsets, _ = mesh.ray_all(device.asarray(points), device.asarray(up))
    assert np.array_equal(sim.to_numpy(above), np.diff(sim.to_numpy(offsets))) and sim.to_numpy(above).any()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1.0, 2.0], r"shape \(n, 3\)"),
        ([[1.0, 2.0]], r"shape \(n, 3\)"),
        ([[0, 0, 1], [0, np.nan, 0]], r"points\[1, 1\] is nan"),
        ([[0, 0, -1e19]], r"points\[0, 2\] is -1e\+19"),
        ("three", "array of numbers"),
    ],
)
def test_points_that_are_none_are_refused_by_name_and_index(values, message):
    with pytest.raises(ModelError, match=message):
        queries.vectors("points", values, np.dtype(np.float64), CPU)


def test_a_single_point_counts_as_a_row_and_none_as_no_rows():
    dtype = np.dtype(np.float32)
    assert queries.vectors("points", [1, 2, 3], dtype, CPU).tolist() == [[1, 2, 3]]
    assert queries.vectors("points", [], dtype, CPU).shape == (0, 3)


@pytest.mark.parametrize(
    ("values", "message"),
    [(-1, r"radius\[0\] is -1"), ([1, np.nan], r"radius\[1\] is nan"), ([1, 2, 3], r"shape \(2,\)")],
)
def test_numbers_that_are_none_are_refused(values, message):
    with pytest.raises(ModelError, match=message):
        queries.numbers("radius", values, np.dtype(np.float32), CPU, 2)


def test_the_script_of_the_page_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    page = (Path(__file__).resolve().parents[2] / "docs" / "queries.md").read_text(encoding="utf-8")
    lines = page.split("## A script\n")[1].split("\n## ")[0].splitlines()
    script = "\n".join(line[4:] for line in lines if line.startswith("    ") or not line)
    (tmp_path / "script.py").write_text(script, encoding="utf-8")
    names = runpy.run_path(str(tmp_path / "script.py"))
    assert "True" in capsys.readouterr().out and len(names["faces"]) > 100


def test_what_is_not_there_is_an_answer_in_debug_mode_too(device):
    """A ray that meets nothing, a surface beyond the reach, fewer boxes than were asked for."""
    box = convex_hull(np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], float))
    builder = sim.ModelBuilder()
    builder.add_shape_mesh(-1, box)
    model = builder.finalize(device=device.name)
    away = device.asarray(np.array([[5, 0, 0]], np.float32))
    with debugging():
        mesh = Mesh(device.asarray(box.vertices.astype(np.float32)), box.triangles)
        assert np.isinf(sim.to_numpy(mesh.ray_cast(away, away).t)).all()
        assert np.isinf(sim.to_numpy(mesh.closest_point(away, max_distance=1.0).distance)).all()
        bvh = Bvh(away, away + 1)
        assert np.isinf(sim.to_numpy(bvh.nearest(away, k=2)[1])[0, 1])
        caster = sim.sensors.RayCaster(model, directions=[(1, 0, 0)], body=-1, xform=sim.transform((5, 0, 0)))
        assert np.isinf(sim.to_numpy(caster.cast(model.state()).distance)).all()
