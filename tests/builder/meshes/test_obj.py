"""OBJ: indices of all spellings, polygons, objects, and what is refused with its line."""

from math import cos, pi, sin

import pytest

from simengine.builder.meshes.files import is_closed, load_mesh
from tests.builder.meshes.mesh_samples import OBJ, volume
from tests.builder.meshes.test_files import refused


@pytest.mark.parametrize("text", [
    OBJ.replace("f 2 3 4", "f -3 -2 -1"),
    OBJ.replace("f 1 3 2", "f 1/1/1 3//2 2/5").replace("v 0 0 1", "v 0 0 1\nvt 0 0\nvn 0 0 1"),
    OBJ.replace("f 1 3 2", "f 1/-1/-1 3/-1 2//-1"),
    OBJ.replace("v 1 0 0", "v 1 0 0 0.5 0.5 0.5").replace("\n", "  # said\r\n"),
    OBJ.replace("f 1 3 2", "f 1 3\\\n 2"),
    "\n\n" + OBJ.replace("v ", "  v\t"),
    OBJ.rstrip("\n"),
])  # fmt: skip
def test_spellings_of_one_tetrahedron(text):
    mesh = load_mesh(text.encode(), "a.obj")
    assert volume(mesh) == pytest.approx(1 / 6)
    assert is_closed(mesh.triangles)
    assert mesh.repairs == []


@pytest.mark.parametrize("face", [
    "f 0 1 2", "f 1 2 5", "f 1 2 -5", "f 1 2", "f", "f 1 x 2", "f 1 2 99999999999999999999", "f 1/a 2 3",
    "f 1/1/1/1 2 3", "f 1.5 2 3", "f /1 2 3", "f 1_0 2 3", "f - 2 3",
])  # fmt: skip
def test_indices_that_are_none_are_refused_with_their_line(face):
    assert refused((OBJ + "\n# x\n" + face + "\n" + "f 1 2 3").encode(), "a.obj").line == 11


def test_a_face_before_its_vertices_counts_from_those_of_the_whole_file_and_back_from_those_above():
    assert volume(load_mesh(("f 2 3 4\n" + OBJ.replace("f 2 3 4\n", "")).encode(), "a.obj")) == pytest.approx(1 / 6)
    refused(("f -1 -2 -3\n" + OBJ).encode(), "a.obj", "back from -1 over the 0 above")


@pytest.mark.parametrize("vertex", ["v 1 2", "v 1 2 x", "v", "v 1 2 3_0", "v 1,0 2 3"])
def test_vertices_that_are_none_are_refused_with_their_line(vertex):
    assert refused((OBJ + vertex).encode(), "a.obj", "three numbers").line == 9


def test_a_convex_polygon_is_cut_and_a_star_refused():
    square = b"v 0 0 0\nv 2 0 0\nv 2 2 0\nv 0 2 0\nf 1 2 3 4\n"
    assert len(load_mesh(square, "a.obj").triangles) == 2
    star = "".join(
        f"v {(0.2 if i % 2 else 1) * cos(i * pi / 10)} {(0.2 if i % 2 else 1) * sin(i * pi / 10)} 0\n"
        for i in range(20)
    )
    numbers = " ".join(map(str, range(1, 21)))
    assert refused(f"{star}f {numbers}\n".encode(), "a.obj", "convex").line == 21


def test_objects_of_one_file_become_one_mesh():
    away = "v 50 0 0\nv 51 0 0\nv 50 1 0\nv 50 0 1\nf 5 7 6\nf 5 6 8\nf 5 8 7\nf 6 7 8\n"
    mesh = load_mesh(f"o one\n{OBJ}o two\n{away}".encode(), "a.obj")
    assert len(mesh.triangles) == 8
    assert volume(mesh) == pytest.approx(2 / 6)
    assert mesh.vertices[:, 0].max() == 51


@pytest.mark.parametrize(
    "text", ["# nothing", "v 0 0 0\nv 1 0 0\n", "v 0 0 0\nv 1 0 0\nl 1 2\n", "g f 1 2 3\nv 0 0 0\n"]
)
def test_files_without_triangles_are_refused(text):
    refused(text.encode(), "a.obj", "no triangles")


def test_lines_points_and_curves_are_left_out_and_counted():
    mesh = load_mesh((OBJ + "l 1 2\np 1\ncurv 0 1 1 2\nsurf 0 1 0 1 1 2\nsurf 0 1 0 1 1 2\n").encode(), "a.obj")
    assert sorted(mesh.repairs) == [
        "1 free-form curves left out", "1 lines left out", "1 points left out", "2 free-form surfaces left out",
    ]  # fmt: skip


@pytest.mark.parametrize("bad", ["nan", "inf", "1e999", "1e16"])
def test_vertices_that_are_not_finite_are_refused_where_a_face_uses_them(bad):
    refused(OBJ.replace("v 1 0 0", f"v {bad} 0 0").encode(), "a.obj", "finite")
    assert len(load_mesh(f"{OBJ}v {bad} 0 0\n".encode(), "a.obj").triangles) == 4
