"""OFF: headers, colours, and counts that do not fit."""

import pytest

from simengine.builder.meshes.files import load_mesh
from tests.builder.meshes.mesh_samples import volume
from tests.builder.meshes.test_files import refused

OFF = "OFF\n4 4 6\n0 0 0\n1 0 0\n0 1 0\n0 0 1\n3 0 2 1\n3 0 1 3\n3 0 3 2\n3 1 2 3\n"


@pytest.mark.parametrize("text", [
    OFF,
    OFF.replace("OFF\n4 4 6", "OFF 4 4 6"),
    OFF.replace("4 4 6", "4 4"),
    OFF.replace("\n", " # said\n"),
    OFF.replace("3 0 2 1", "3 0 2 1 255 0 0"),
    OFF.replace("OFF", "COFF").replace("0 0 0\n", "0 0 0 1 1 1 1\n").replace("1 0 0\n", "1 0 0 1 1 1 1\n")
    .replace("0 1 0\n", "0 1 0 1 1 1 1\n").replace("0 0 1\n", "0 0 1 1 1 1 1\n"),
])  # fmt: skip
def test_spellings_of_one_tetrahedron(text):
    assert volume(load_mesh(text.encode(), "a.off")) == pytest.approx(1 / 6)


@pytest.mark.parametrize("old, new, message", [
    ("OFF", "NO", "does not begin with OFF"),
    ("OFF", "4OFF", "does not begin with OFF"),
    ("4 4 6", "4", "numbers of vertices, faces and edges"),
    ("4 4 6", "4 x 6", "'x' is not a whole number"),
    ("4 4 6", "5 4 6", "cut off"),
    ("4 4 6", "-4 4 6", "negative"),
    ("4 4 6", "4 5 6", "cut off"),
    ("4 4 6", "4 4000000000 6", "cap"),
    ("3 0 2 1", "4 0 2 1", "fewer corners"),
    ("3 0 2 1", "-3 0 2 1", "fewer corners"),
    ("3 0 2 1", "2 0 2 1", "fewer than 3"),
    ("3 0 2 1", "3 0 2 4", "names vertex 4"),
    ("3 0 2 1", "3 0 2 -1", "names vertex -1"),
    ("1 0 0\n", "1 0\n", "three numbers"),
    ("1 0 0\n", "1 0 0 5\n", "three numbers"),
    ("1 0 0\n", "1 0 y\n", "'y' is not a number"),
])  # fmt: skip
def test_what_does_not_fit_is_refused(old, new, message):
    refused(OFF.replace(old, new, 1).encode(), "a.off", message)
