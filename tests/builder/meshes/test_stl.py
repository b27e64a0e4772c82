"""STL: sizes that fit, facets that are whole, all solids of a file."""

import numpy as np
import pytest

from simengine.builder.meshes.files import load_mesh
from tests.builder.meshes.mesh_samples import FACES, POINTS, ascii_stl, binary_stl, volume
from tests.builder.meshes.test_files import refused

TETRAHEDRON = POINTS[FACES]


@pytest.mark.parametrize("count", [0, 3, 5, 0xFFFFFFFF])
def test_a_binary_file_whose_count_does_not_fit_is_refused(count):
    refused(binary_stl(TETRAHEDRON, count), "a.stl", "bytes")


@pytest.mark.parametrize("size", [0, 10, 83, 100])
def test_a_cut_off_file_is_refused(size):
    refused(binary_stl(TETRAHEDRON)[:size], "a.stl")


def test_several_solids_are_one_mesh():
    away = TETRAHEDRON + [10, 0, 0]
    mesh = load_mesh(ascii_stl(TETRAHEDRON, "one vertex") + ascii_stl(away, "outer loop"), "a.stl")
    assert len(mesh.triangles) == 8
    assert volume(mesh) == pytest.approx(2 / 6)


@pytest.mark.parametrize("old, new, message", [
    ("endloop", "", "facet"),
    ("vertex 0 0 0\n", "", "facet"),
    ("vertex 0 0 0\n", "vertex 0 0\n", "three numbers"),
    ("vertex 0 0 0\n", "vertex 0 0 x\n", "'x' is not a number"),
    ("endsolid", "", "cut off"),
])  # fmt: skip
def test_text_that_is_not_whole_is_refused_with_a_line(old, new, message):
    text = ascii_stl(TETRAHEDRON).decode().replace(old, new, 1)
    assert refused(text.encode(), "a.stl", message).line


def test_keywords_in_capitals_are_read():
    assert len(load_mesh(ascii_stl(TETRAHEDRON).upper(), "a.stl").triangles) == 4


@pytest.mark.parametrize("bad", ["nan", "inf", "1e16"])
def test_corners_that_are_not_finite_are_refused(bad):
    triangles = np.array(TETRAHEDRON)
    triangles[1, 1, 0] = float(bad)
    refused(binary_stl(triangles), "a.stl", "finite")
    refused(ascii_stl(triangles), "a.stl", "finite")
