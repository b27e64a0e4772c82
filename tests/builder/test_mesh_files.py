"""Mesh bytes: read with the right volume, mended with counts, or refused, never trusted."""

import json
import struct
import sys

import numpy as np
import pytest

from simengine.builder.mesh_files import FORMATS, MeshLimits, is_closed, load_mesh
from simengine.errors import AssetError, MissingExtraError

TETRAHEDRON = [((0, 0, 0), (0, 1, 0), (1, 0, 0)), ((0, 0, 0), (1, 0, 0), (0, 0, 1)),
               ((0, 0, 0), (0, 0, 1), (0, 1, 0)), ((1, 0, 0), (0, 1, 0), (0, 0, 1))]  # fmt: skip
OBJ = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"


def binary_stl(triangles, count=None, header=b""):
    body = b"".join(struct.pack("<12fH", 0, 0, 0, *np.ravel(t), 0) for t in triangles)
    return header.ljust(80, b"\0") + struct.pack("<I", len(triangles) if count is None else count) + body


def ascii_stl(triangles):
    facets = "".join(
        "facet normal 0 0 0\nouter loop\n"
        + "".join(f"vertex {x:g} {y:g} {z:g}\n" for x, y, z in t)
        + "endloop\nendfacet\n"
        for t in triangles
    )
    return f"solid x\n{facets}endsolid x\n".encode()


def volume(mesh):
    a, b, c = (mesh.vertices[mesh.triangles[:, i]] for i in range(3))
    return float(np.einsum("ni,ni->", a, np.cross(b, c)) / 6)


def refused(data, name, *words, **limits):
    with pytest.raises(AssetError) as caught:
        load_mesh(data, name, MeshLimits(**limits) if limits else None)
    for word in (name, *words):
        assert word in str(caught.value)
    return caught.value


@pytest.mark.parametrize(
    "data, name",
    [
        (binary_stl(TETRAHEDRON), "a.stl"),
        (binary_stl(TETRAHEDRON, header=b"solid but binary"), "a.STL"),
        (ascii_stl(TETRAHEDRON), "a.stl"),
        (OBJ.encode(), "a.obj"),
        (OBJ.replace("f 2 3 4", "f -3 -2 -1").encode(), "a.obj"),
        (OBJ.replace("f 1 3 2", "f 1/1/1 3//2 2/5").replace("v 0 0 1", "v 0 0 1\nvt 0 0\nvn 0 0 1").encode(), "a.obj"),
        (b"OFF\n4 4 6\n0 0 0\n1 0 0\n0 1 0\n0 0 1\n3 0 2 1\n3 0 1 3\n3 0 3 2\n3 1 2 3\n", "a.off"),
    ],
)
def test_a_tetrahedron_is_read_from_each_format(data, name):
    mesh = load_mesh(data, name)
    assert mesh.vertices.shape == (4, 3) and mesh.vertices.dtype == np.float64
    assert mesh.triangles.shape == (4, 3) and mesh.triangles.dtype == np.int32
    assert volume(mesh) == pytest.approx(1 / 6, rel=1e-12)
    assert is_closed(mesh.triangles)
    assert mesh.repairs == []


def test_files_by_others_have_the_volumes_that_others_found(shared):
    """The expected files were computed by trimesh, which mends in its own way; a closed mesh has one volume."""
    compared = 0
    for folder in ("trimesh/models", "mujoco/meshes", "IsaacGymEnvs/factory_and_tet"):
        files = json.loads((shared / "assets" / folder / "meshes.expected.json").read_text())["files"]
        for name, facts in files.items():
            if name.rsplit(".", 1)[-1].lower() not in FORMATS or "signed_volume" not in facts:
                continue
            mesh = load_mesh((shared / "assets" / folder / name).read_bytes(), name)
            assert volume(mesh) == pytest.approx(facts["signed_volume"], rel=1e-6), name
            compared += 1
    assert compared >= 20


def test_files_by_others_without_triangles_or_malformed_are_refused(shared):
    folder = shared / "assets/trimesh/models"
    for name in ("empty.obj", "empty.stl", "face_in_group_name.obj", "notenoughindices.obj", "points_ascii.ply",
                 "points_bin.ply", "emptyIO/obj_empty.obj", "emptyIO/stl_empty_ascii.stl", "emptyIO/stl_empty_bin.stl",
                 "emptyIO/ply_empty_ascii.ply"):  # fmt: skip
        refused((folder / name).read_bytes(), name)


def test_a_triangle_turned_over_leaves_the_surface_not_closed(shared):
    mesh = load_mesh((shared / "assets/mujoco/meshes/malformed_face.obj").read_bytes(), "malformed_face.obj")
    assert len(mesh.triangles) == 4
    assert not is_closed(mesh.triangles)


@pytest.mark.parametrize("count", [0, 3, 5, 0xFFFFFFFF])
def test_a_binary_stl_whose_count_does_not_fit_is_refused(count):
    refused(binary_stl(TETRAHEDRON, count), "a.stl", "bytes")


@pytest.mark.parametrize("size", [0, 10, 83, 100])
def test_a_cut_off_stl_is_refused(size):
    refused(binary_stl(TETRAHEDRON)[:size], "a.stl")


@pytest.mark.parametrize("face", ["f 0 1 2", "f 1 2 5", "f 1 2 -5", "f 1 2", "f 1 x 2", "f 1 2 99999999999999999999"])
def test_obj_indices_outside_are_refused(face):
    refused((OBJ + face).encode(), "a.obj")


def test_an_obj_index_error_has_its_line():
    assert refused((OBJ + "f 1 2 7").encode(), "a.obj", "7").line == 9


def test_a_convex_polygon_is_cut_and_a_concave_one_refused():
    square = b"v 0 0 0\nv 2 0 0\nv 2 2 0\nv 0 2 0\nf 1 2 3 4\n"
    mesh = load_mesh(square, "a.obj")
    assert len(mesh.triangles) == 2
    arrow = square.replace(b"v 2 2 0", b"v 0.5 0.5 0")
    assert refused(arrow, "a.obj", "convex").line == 5


def test_objects_of_one_file_become_one_mesh():
    away = "v 50 0 0\nv 51 0 0\nv 50 1 0\nv 50 0 1\nf 5 7 6\nf 5 6 8\nf 5 8 7\nf 6 7 8\n"
    mesh = load_mesh(f"o one\n{OBJ}o two\n{away}".encode(), "a.obj")
    assert len(mesh.triangles) == 8
    assert volume(mesh) == pytest.approx(2 / 6)
    assert mesh.vertices[:, 0].max() == 51


@pytest.mark.parametrize("text", ["", "v 0 0 0\nv 1 0 0\n", "# nothing", "v 0 0 0\nv 1 0 0\nl 1 2\n", "v 1 2\nf 1 1 1"])
def test_files_without_triangles_are_refused(text):
    refused(text.encode(), "a.obj")
    refused(
        b"ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\nproperty float z\n"
        b"end_header\n0 0 0\n",
        "a.ply",
    )


@pytest.mark.parametrize("bad", ["nan", "inf", "1e999", "1e16"])
def test_vertices_that_are_not_finite_are_refused(bad):
    refused(OBJ.replace("v 1 0 0", f"v {bad} 0 0").encode(), "a.obj", "finite")
    triangles = np.array(TETRAHEDRON, float)
    triangles[1, 1, 0] = float(bad)
    refused(binary_stl(triangles), "a.stl", "finite")


def test_degenerate_and_repeated_triangles_are_dropped_and_counted():
    extra = "f 1 1 2\nf 2 4 1\nf 4 1 2\nv 2 0 0\nv 3 0 0\nf 2 5 6\n"
    mesh = load_mesh((OBJ + extra).encode(), "a.obj")
    assert len(mesh.triangles) == 4
    assert volume(mesh) == pytest.approx(1 / 6)
    text = "; ".join(mesh.repairs)
    assert "1 triangles with a repeated vertex" in text
    assert "1 triangles of zero area" in text
    assert "2 repeated triangles" in text


def test_both_sides_of_a_sheet_are_kept():
    mesh = load_mesh(b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\nf 1 3 2\n", "a.obj")
    assert len(mesh.triangles) == 2 and mesh.repairs == []


def test_a_flat_triangle_that_closes_a_surface_stays():
    # the edge from 1 to 2 is split by 5 on one side only: the flat triangle 1 5 2 joins both sides
    text = OBJ.replace("f 1 3 2", "v 0.5 0 0\nf 1 3 5\nf 5 3 2\nf 1 5 2")
    mesh = load_mesh(text.encode(), "a.obj")
    assert is_closed(mesh.triangles)
    assert volume(mesh) == pytest.approx(1 / 6)


def test_only_degenerate_triangles_are_refused():
    refused(b"v 0 0 0\nv 1 0 0\nv 2 0 0\nf 1 2 3\n", "a.obj", "degenerate")


def test_sizes_are_capped():
    refused(binary_stl(TETRAHEDRON), "a.stl", "cap", triangles=3)
    refused(OBJ.encode(), "a.obj", "cap", triangles=3)
    refused(OBJ.encode(), "a.obj", "cap", file_bytes=20)


@pytest.mark.parametrize("name", ["a.dae", "a.png", "a", "a.stl.exe"])
def test_unknown_formats_are_refused(name):
    refused(OBJ.encode(), name, "stl, obj")


def test_broken_data_is_an_error_of_ours():
    refused(b"ply\nformat binary_little_endian 1.0\nelement vertex 4000000000\nproperty float x\nend_header\n", "a.ply")
    refused(b"OFF\n4 4 6\n0 0", "a.off")
    refused(b"\x00\x01garbage" * 30, "a.stl")


def test_materials_and_other_files_are_not_read(tmp_path, monkeypatch):
    opened = []
    monkeypatch.chdir(tmp_path)
    (tmp_path / "secret.mtl").write_text("newmtl m\nmap_Kd secret.png\n")
    sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "open" else None)
    load_mesh(("mtllib secret.mtl\nusemtl m\n" + OBJ).encode(), "a.obj")
    assert not [path for path in opened if "secret" in path]


def test_without_trimesh_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "trimesh", None)
    with pytest.raises(MissingExtraError, match=r"simengine\[meshes\]"):
        load_mesh(OBJ.encode(), "a.obj")
