"""PLY: both byte orders and text, further properties, lists of all lengths, counts that do not fit."""

import numpy as np
import pytest

from simengine.builder.meshes.files import load_mesh
from tests.builder.meshes.mesh_samples import FACES, POINTS, binary_ply, volume
from tests.builder.meshes.test_files import refused

CUBE = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], float)
SIDES = [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]
MIXED = [*SIDES[:-1], SIDES[-1][:3], [1, 7, 3]]

TEXT = """ply
format ascii 1.0
comment made here
element vertex 4
property uchar red
property float z
property double y
property float x
element strip 2
property list int float numbers
element face 4
property list uchar float weights
property list uchar int vertex_index
property float quality
end_header
7 0 0 0
7 0 0 1
7 0 1 0
7 1 0 0
2 1.5 2.5
0
0 3 0 2 1 9
1 0.5 3 0 1 3 9
0 3 0 3 2 9
0 3 1 2 3 9
"""


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("index", ["int", "uchar", "ushort"])
@pytest.mark.parametrize("extra", [False, True])
@pytest.mark.parametrize("sides", [SIDES, MIXED])
def test_a_binary_cube(order, index, extra, sides):
    mesh = load_mesh(binary_ply(CUBE, sides, order, index, extra), "a.ply")
    assert volume(mesh) == pytest.approx(1)
    assert len(mesh.triangles) == 12


def test_text_with_properties_in_another_order_and_lists_besides():
    assert volume(load_mesh(TEXT.encode(), "a.ply")) == pytest.approx(1 / 6)
    assert volume(load_mesh(TEXT.replace("\n", "\r\n").encode(), "a.ply")) == pytest.approx(1 / 6)


@pytest.mark.parametrize("old, new, message", [
    ("ply\n", "pl\n", "header"),
    ("format ascii 1.0\n", "", "no line 'format'"),
    ("ascii", "morse", "line of the header"),
    ("element vertex 4", "element vertex -4", "line of the header"),
    ("element vertex 4", "element vertex 4000000000", "cap"),
    ("element vertex 4", "element vertex 400000", "cut off"),
    ("element face 4", "element face 5", "cut off"),
    ("element face 4", "element face 0", "cloud of points"),
    ("property float x", "property float w", "no property 'x'"),
    ("property float x", "property list uchar float x", "lists among the properties"),
    ("property float x", "property string x", "line of the header"),
    ("vertex_index", "others", "no list property"),
    ("list uchar int vertex_index", "list float int vertex_index", "line of the header"),
    ("element strip 2", "element face 2", "one element"),
    ("3 0 2 1 9", "3 0 2 4 9", "names vertex 4"),
    ("3 0 2 1 9", "3 0 2 -1 9", "names vertex -1"),
    ("3 0 2 1 9", "2 0 2 1 9", "fewer than 3"),
    ("3 0 2 1 9", "9 0 2 1 9", "fewer numbers"),
    ("3 0 2 1 9", "", "fewer numbers"),
    ("7 0 0 1", "7 0 0", "fewer numbers"),
    ("7 0 0 1", "7 0 0 x", "'x' is not a number"),
])  # fmt: skip
def test_text_that_does_not_fit_is_refused(old, new, message):
    refused(TEXT.replace(old, new, 1).encode(), "a.ply", message)


def test_an_error_in_the_body_has_its_line():
    assert refused(TEXT.replace("7 0 0 1", "7 0 0 x").encode(), "a.ply").line == 17


def test_a_long_header_is_capped():
    header = "ply\nformat ascii 1.0\n" + "property float x\nelement vertex 1\n" * 300 + "end_header\n"
    refused(header.replace("property", "element vertex 1\nproperty", 1).encode(), "a.ply", "more than 256")


@pytest.mark.parametrize("extra", [False, True])
def test_a_binary_file_cut_off_anywhere_is_refused(extra):
    data = binary_ply(POINTS, FACES, extra=extra)
    body = data.index(b"end_header") + 11
    for size in range(body, len(data)):
        refused(data[:size], "a.ply")


def test_lists_that_reach_beyond_the_end_are_refused():
    data = bytearray(binary_ply(POINTS, FACES))
    data[-13] = 255  # the count of the last face
    refused(bytes(data), "a.ply", "beyond the end")


def test_many_entries_that_would_have_to_be_walked_through_are_refused():
    header = (
        b"ply\nformat binary_little_endian 1.0\nelement strip 1000000\nproperty list uchar uchar numbers\n"
        b"element vertex 1\nproperty float x\nproperty float y\nproperty float z\n"
        b"element face 1\nproperty list uchar uchar vertex_indices\nend_header\n"
    )
    refused(header + bytes(1_000_016), "a.ply", "has lists")
