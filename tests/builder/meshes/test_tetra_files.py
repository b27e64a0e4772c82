"""Tetrahedra of all formats: read with the right volume and surface, turned with counts, or refused."""

import numpy as np
import pytest

from simengine.builder.mesh_data import Mesh
from simengine.builder.meshes.files import load_mesh
from simengine.builder.meshes.mesh_file import MeshLimits
from simengine.builder.meshes.tetra_files import TETRA_FORMATS, load_tetrahedra
from simengine.errors import AssetError
from tests.builder.meshes.mesh_samples import gmsh_22, mujoco_msh, vtk

# a unit cube of six tetrahedra around the diagonal from corner 0 to corner 7
CUBE = np.array([[x, y, z] for z in (0, 1) for y in (0, 1) for x in (0, 1)], float)
SIX = [[0, 1, 3, 7], [0, 3, 2, 7], [0, 2, 6, 7], [0, 6, 4, 7], [0, 4, 5, 7], [0, 5, 1, 7]]
TET = "# made here\n" + "".join(f"v {x:g} {y:g} {z:g}\n" for x, y, z in CUBE) + "".join(
    f"t {a} {b} {c} {d}\n" for a, b, c, d in SIX
)  # fmt: skip
GMSH_41 = """$MeshFormat
4.1 0 8
$EndMeshFormat
$Entities
0 0 0 1
1 0 0 0 1 1 1 0 0
$EndEntities
$Nodes
2 8 10 80
3 1 0 5
10
20
30
40
50
0 0 0
1 0 0
0 1 0
1 1 0
0 0 1
2 5 1 3
60
70
80
1 0 1 0.5 0.5
0 1 1 0.5 0.5
1 1 1 0.5 0.5
$EndNodes
$Elements
2 7 1 7
2 5 2 1
1 10 20 40
3 1 4 6
2 10 20 40 80
3 10 40 30 80
4 10 30 70 80
5 10 70 50 80
6 10 50 60 80
7 10 60 20 80
$EndElements
$Surface
1 2 3
$EndSurface
"""
SAMPLES = {
    "a.tet": TET.encode(),
    "text22.msh": gmsh_22(CUBE, SIX),
    "tags.msh": gmsh_22(CUBE, SIX, tags=()),
    "binary22.msh": gmsh_22(CUBE, SIX, binary=True),
    "big22.msh": gmsh_22(CUBE, SIX, binary=True, order=">"),
    "text41.msh": GMSH_41.encode(),
    "windows41.msh": GMSH_41.replace("\n", "\r\n").encode(),
    "text.vtk": vtk(CUBE, SIX, [10] * 6),
    "binary.vtk": vtk(CUBE, SIX, [10] * 6, binary=True),
    "text5.vtk": vtk(CUBE, SIX, [10] * 6, by_offsets=True),
    "binary5.vtk": vtk(CUBE, SIX, [10] * 6, binary=True, by_offsets=True),
}


def volumes(file):
    a, b, c, d = (file.vertices[file.tetrahedra[:, i]] for i in range(4))
    return np.einsum("ni,ni->n", b - a, np.cross(c - a, d - a)) / 6


def refused(data, name, *words, **limits):
    with pytest.raises(AssetError) as caught:
        load_tetrahedra(data, name, MeshLimits(**limits))
    for word in (name, *words):
        assert word in str(caught.value)
    return caught.value


@pytest.mark.parametrize("name", SAMPLES)
def test_a_cube_of_six_is_read_from_each_format(name):
    file = load_tetrahedra(SAMPLES[name], name)
    assert file.vertices.shape == (8, 3) and file.vertices.dtype == np.float64
    assert file.tetrahedra.shape == (6, 4) and file.tetrahedra.dtype == np.int32
    np.testing.assert_allclose(volumes(file), 1 / 6)
    assert np.array_equal(file.vertices, CUBE)
    skin = Mesh(file.vertices, file.surface)
    assert file.surface.shape == (12, 3) and skin.solid_problem == ""
    assert skin.moments_about(CUBE.mean(axis=0))[0] == pytest.approx(1)
    assert file.repairs == []


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("part", [0.0, 0.1, 0.4, 0.7, 0.9])
def test_a_file_that_is_cut_off_is_refused(name, part):
    data = SAMPLES[name]
    cut = data[: int(len(data) * part)]
    if name == "a.tet":
        cut = cut.rstrip(b"0123456789 ")  # nothing in a .tet says where it ends: cut within a line
    refused(cut, name)


@pytest.mark.parametrize("cap", [{"tetrahedra": 5}, {"vertices": 7}, {"file_bytes": 20}])
@pytest.mark.parametrize("name", SAMPLES)
def test_sizes_are_capped(name, cap):
    refused(SAMPLES[name], name, "cap", **cap)


def test_tetrahedra_listed_in_the_other_order_are_turned():
    text = TET.replace("t 0 1 3 7", "t 1 0 3 7").replace("t 0 5 1 7", "t 0 1 5 7")
    file = load_tetrahedra(text.encode(), "a.tet")
    np.testing.assert_allclose(volumes(file), 1 / 6)
    assert file.repairs == ["2 tetrahedra with corners in the other order turned"]


def test_an_inverted_tetrahedron_is_refused():
    # corner 4 of the second is pushed through the face that both share, to the side of the first
    points = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0.1, 0.1, 0.5]]
    refused(gmsh_22(points, [[0, 1, 2, 3], [0, 2, 1, 4]]), "a.msh", "one side of the face", "inverted")


@pytest.mark.parametrize("old, new, words", [
    ("t 0 1 3 7", "t 0 1 3 8", ["names vertices", "there are 8"]),
    ("t 0 1 3 7", "t 0 1 3 -1", ["names vertices"]),
    ("t 0 1 3 7", "t 0 1 3", ["not four"]),
    ("t 0 1 3 7", "t 0 1 3 7 7", ["not four"]),
    ("t 0 1 3 7", "t 0 1 3 x", ["'x' is not a whole number"]),
    ("t 0 1 3 7", "t 0 1 3 3", ["1 tetrahedra have no volume"]),
    ("t 0 1 3 7", "t 0 1 3 2", ["1 tetrahedra have no volume, the first is number 0"]),
    ("t 0 1 3 7", "t 0 3 2 7", ["more than two"]),
    ("v 0 0 0", "v 0 0 nan", ["finite"]),
    ("v 0 0 0", "v 0 0 1e300", ["finite"]),
    ("v 0 0 0", "v 0 0", ["three numbers"]),
])  # fmt: skip
def test_tetrahedra_that_are_none_are_refused(old, new, words):
    refused(TET.replace(old, new).encode(), "a.tet", *words)


def test_a_face_of_three_tetrahedra_is_refused():
    points = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, -1], [0.2, 0.2, -2]]
    refused(gmsh_22(points, [[0, 1, 2, 3], [0, 2, 1, 4], [0, 2, 1, 5]]), "a.msh", "more than two")


def test_what_is_left_out_is_counted():
    file = load_tetrahedra((TET + "v 9 9 9\nf 0 1 2\n").encode(), "a.tet")
    assert file.repairs == [
        "1 lines that are neither vertices nor tetrahedra left out", "1 vertices that no tetrahedron uses left out",
    ]  # fmt: skip
    cells = [*SIX, [0, 1], list(range(8)), [0, 1, 2, 3, 4, 5, 6, 7, 0, 1]]
    file = load_tetrahedra(vtk(CUBE, cells[:8], [10] * 6 + [3, 12]), "a.vtk")
    assert file.repairs == ["2 elements of other kinds left out"]


def test_curved_tetrahedra_keep_their_corners():
    points = np.concatenate([CUBE[[0, 1, 2, 4]], np.full((6, 3), 0.25)])
    for data, name in ((vtk(points, [range(10)], [24]), "a.vtk"), (gmsh_22(points, [range(10)], kind=11), "a.msh")):
        file = load_tetrahedra(data, name)
        assert volumes(file).tolist() == [1 / 6]
        assert file.repairs == [
            "1 elements with curved sides made straight",
            "6 vertices that no tetrahedron uses left out",
        ]


@pytest.mark.parametrize("old, new, words", [
    ("4.1 0 8", "4.0 0 8", ["version 4.0"]),
    ("4.1 0 8", "4.1 0 4", ["4-byte"]),
    ("4.1 0 8", "one", ["version, kind and size"]),
    ("$Nodes", "$Points", ["no whole section $Nodes"]),
    ("$EndNodes", "", ["no whole section $Nodes"]),
    ("2 8 10 80", "2 9 10 80", ["$Nodes"]),
    ("2 8 10 80", "2 -8 10 80", ["$Nodes"]),
    ("2 8 10 80", "200000 8 10 80", ["blocks"]),
    ("2 8 10 80", "2 8000000000 10 80", ["$Nodes"]),
    ("2 5 1 3\n", "9 5 1 3\n", ["dimension 9"]),
    ("3 1 0 5", "3 1 0 -5", ["$Nodes"]),
    ("3 1 0 5", "3 1 0 99", ["$Nodes"]),
    ("20\n", "10\n", ["two nodes have one number"]),
    ("2 10 20 40 80", "2 10 20 40 85", ["names node 85"]),
    ("2 10 20 40 80", "2 10 20 40", ["$Elements"]),
    ("2 10 20 40 80", "2 10 20 40 x", ["$Elements"]),
    ("2 10 20 40 80\n", "", ["$Elements"]),
    ("3 1 4 6", "3 1 4 5", ["$Elements"]),
    ("3 1 4 6", "3 1 77 6", ["type 77"]),
    ("3 1 4 6", "3 1 2 6", ["$Elements"]),
    ("1 0 1 0.5 0.5", "1 0 1 0.5", ["$Nodes"]),
])  # fmt: skip
def test_gmsh_sections_that_do_not_fit_are_refused(old, new, words):
    refused(GMSH_41.replace(old, new, 1).encode(), "a.msh", *words)


@pytest.mark.parametrize("old, new", [
    (b"\n6\n", b"\n7\n"), (b"\n6\n", b"\n5\n"), (b"\n8\n", b"\n9\n"), (b"\n8\n", b"\n7\n"), (b"\n8\n", b"\n-8\n"),
    (b"2.2 0 8", b"2.2 1 8"), (b"1 4 2 1 2 10", b"1 4 9 1 2 10"), (b"1 4 2 1 2 10", b"1 4 -2 1 2 10"),
    (b"1 4 2 1 2 10", b"1 99 2 1 2 10"), (b"1 4 2 1 2 10", b"1 4 2 1 2 11"), (b"10 0.0", b"10.5 0.0"),
])  # fmt: skip
def test_old_gmsh_sections_that_do_not_fit_are_refused(old, new):
    data = SAMPLES["text22.msh"]
    assert old in data
    refused(data.replace(old, new, 1), "a.msh")


def test_a_surface_of_gmsh_holds_no_tetrahedra_and_mixed_elements_are_told_apart():
    squares = gmsh_22(CUBE, [[0, 1, 3, 2], [4, 5, 7, 6]], kind=3)
    refused(squares, "a.msh", "no tetrahedra")
    assert len(load_mesh(squares, "a.msh").triangles) == 4
    lines = SAMPLES["text22.msh"].replace(b"$Elements\n6\n", b"$Elements\n8\n1 15 0 10\n1 1 1 5 10 20\n")
    assert load_tetrahedra(lines, "a.msh").repairs == []
    prisms = SAMPLES["text22.msh"].replace(b"$Elements\n6\n", b"$Elements\n7\n1 6 0 10 20 30 40 50 60\n")
    assert load_tetrahedra(prisms, "a.msh").repairs == ["1 elements of other kinds left out"]
    assert load_mesh(prisms, "a.msh").repairs == ["1 elements of other kinds left out"]


def test_the_surface_of_a_solid_file_is_a_mesh():
    mesh = load_mesh(SAMPLES["text41.msh"], "a.msh")
    assert Mesh(mesh.vertices, mesh.triangles).moments[0] == pytest.approx(1)


@pytest.mark.parametrize("old, new, words", [
    (b"# vtk", b"# vpk", ["does not begin"]),
    (b"ASCII", b"MORSE", ["neither ASCII nor BINARY"]),
    (b"UNSTRUCTURED_GRID", b"POLYDATA", ["no UNSTRUCTURED_GRID"]),
    (b"POINTS 8 double", b"POINTS 9 double", ["announced"]),
    (b"POINTS 8 double", b"POINTS 8000000000 double", ["cap"]),
    (b"POINTS 8 double", b"POINTS 8 string", ["no type of numbers"]),
    (b"POINTS 8 double", b"POINTS x double", ["count is expected"]),
    (b"CELLS 6 30", b"CELLS 7 30", ["do not fit"]),
    (b"CELLS 6 30", b"CELLS 6 31", ["announced"]),
    (b"CELLS 6 30", b"LINES 6 30", ["stands where"]),
    (b"CELL_TYPES 6", b"CELL_TYPES 5", ["announced"]),
    (b"4 0 1 3 7", b"5 0 1 3 7", ["do not fit"]),
    (b"4 0 1 3 7", b"-4 0 1 3 7", ["do not fit"]),
    (b"4 0 1 3 7", b"4 0 1 3 8", ["names vertices"]),
    (b"4 0 1 3 7", b"4 0 1 3 x", ["announced"]),
    (b"10 10 10", b"11 10 24", ["has not four points"]),
])  # fmt: skip
def test_vtk_sections_that_do_not_fit_are_refused(old, new, words):
    data = SAMPLES["text.vtk"]
    changed = data.replace(b"a title with POINTS in it", b"t").replace(old, new, 1)
    assert old in data
    refused(changed, "a.vtk", *words)


@pytest.mark.parametrize("name", ["a.obj", "a", "a.vtu"])
def test_formats_without_tetrahedra_are_refused(name):
    refused(TET.encode(), name, ", ".join(TETRA_FORMATS))


def test_a_mujoco_msh_is_refused_and_an_empty_file_too():
    refused(mujoco_msh(), "a.msh", "only Gmsh's")
    for ending in TETRA_FORMATS:
        refused(b" \n", f"a.{ending}", "empty")
