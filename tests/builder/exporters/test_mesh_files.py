"""Meshes of exports: exact, named by content; and meshes that stand for shapes."""

from __future__ import annotations

import math

import numpy as np
import pytest
import trimesh

import simengine as sim
from simengine.builder.exporters.files import NewFiles
from simengine.builder.exporters.mesh_files import MeshFiles, obj_text, shape_mesh
from simengine.builder.mesh_data import Mesh
from simengine.builder.meshes.files import load_mesh

TETRAHEDRON = [(0, 2, 1), (0, 1, 3), (1, 2, 3), (0, 3, 2)]


def test_coordinates_are_read_back_to_the_last_bit():
    points = np.random.default_rng(0).normal(size=(4, 3)) * (1e-9, 1.0, 1e9)
    read = load_mesh(obj_text(Mesh(points, TETRAHEDRON)), "m.obj")
    assert {tuple(p) for p in read.vertices} == {tuple(p) for p in points}


def test_a_mesh_is_written_once_under_a_name_of_its_content(tmp_path):
    files = NewFiles(tmp_path / "a.xml", (".xml",), "export")
    meshes = MeshFiles(files)
    points = np.eye(4, 3)
    one, same, other = (
        Mesh(p, TETRAHEDRON, label) for p, label in ((points, "x/a.stl"), (points, "b"), (2 * points, "a"))
    )
    assert meshes.path(one) == meshes.path(same) != meshes.path(other)
    assert meshes.path(one).startswith("a_meshes/a-") and len(files.others) == 2


@pytest.mark.parametrize("kind", ["cone", "ellipsoid"])
def test_meshes_that_stand_for_shapes_lie_inside_and_nearly_fill_them(kind):
    builder = sim.ModelBuilder()
    if kind == "cone":
        builder.add_shape_cone(-1, 0.3, 0.5)
        volume = math.pi * 0.3**2 * 1.0 / 3
    else:
        builder.add_shape_ellipsoid(-1, 0.1, 0.2, 0.3)
        volume = 4 / 3 * math.pi * 0.1 * 0.2 * 0.3
    mesh = shape_mesh(builder.shapes[0])
    solid = trimesh.Trimesh(mesh.vertices, mesh.triangles, process=False)
    assert solid.is_watertight
    # an inscribed polygon of n corners lacks 1 - sin(2 pi / n) / (2 pi / n) of its circle, about 2 pi^2 / (3 n^2)
    assert 0.99 * volume < solid.volume < volume
