"""Mesh bytes: read with the right volume, mended with counts, or refused, never trusted."""

import struct
import sys
import textwrap
from pathlib import Path

import mujoco
import numpy as np
import pytest

from simengine.builder.meshes.files import FORMATS, MeshLimits, is_closed, load_mesh
from simengine.builder.meshes.glb import AXES
from simengine.errors import AssetError, ModelError
from tests.builder.meshes.mesh_samples import (
    FACES,
    OBJ,
    POINTS,
    ascii_stl,
    binary_ply,
    binary_stl,
    dae,
    glb,
    glb_scene,
    gmsh_22,
    mujoco_msh,
    volume,
)

TETRAHEDRON = POINTS[FACES]
SAMPLES = {
    "binary.stl": binary_stl(TETRAHEDRON),
    "solid.STL": binary_stl(TETRAHEDRON, header=b"solid but binary"),
    "text.stl": ascii_stl(TETRAHEDRON),
    "a.obj": OBJ.encode(),
    "mark.obj": b"\xef\xbb\xbf" + OBJ.encode(),
    "a.off": b"OFF\n4 4 6\n0 0 0\n1 0 0\n0 1 0\n0 0 1\n3 0 2 1\n3 0 1 3\n3 0 3 2\n3 1 2 3\n",
    "a.ply": binary_ply(POINTS, FACES),
    "a.glb": glb(*glb_scene()),
    "a.dae": dae(asset="<up_axis>Z_UP</up_axis>"),
    "mujoco.msh": mujoco_msh(),
    "surface.msh": gmsh_22(POINTS, FACES, kind=2),
    "solid.msh": gmsh_22(POINTS, [[0, 1, 2, 3]]),
}


def refused(data, name, *words, **limits):
    with pytest.raises(AssetError) as caught:
        load_mesh(data, name, MeshLimits(**limits) if limits else None)
    for word in (name, *words):
        assert word in str(caught.value)
    return caught.value


@pytest.mark.parametrize("name", SAMPLES)
def test_a_tetrahedron_is_read_from_each_format(name):
    mesh = load_mesh(SAMPLES[name], name)
    assert mesh.vertices.shape == (4, 3) and mesh.vertices.dtype == np.float64
    assert mesh.triangles.shape == (4, 3) and mesh.triangles.dtype == np.int32
    assert {tuple(row) for row in mesh.vertices.tolist()} == {tuple(row) for row in POINTS.tolist()}
    assert volume(mesh) == pytest.approx(1 / 6, rel=1e-12)
    assert is_closed(mesh.triangles)
    assert mesh.repairs == ([AXES] if name == "a.glb" else [])


def test_the_samples_are_of_all_formats():
    assert {name.rsplit(".", 1)[1].lower() for name in SAMPLES} == set(FORMATS)


@pytest.mark.parametrize("name", [name for name in SAMPLES if not name.endswith("obj")])  # nothing there says the end
@pytest.mark.parametrize("part", [0.0, 0.3, 0.6, 0.9])
def test_a_file_that_is_cut_off_is_refused(name, part):
    refused(SAMPLES[name][: int(len(SAMPLES[name]) * part)], name)


@pytest.mark.parametrize("cap", [{"triangles": 3}, {"vertices": 3}, {"file_bytes": 20}])
@pytest.mark.parametrize("name", SAMPLES)
def test_sizes_are_capped(name, cap):
    refused(SAMPLES[name], name, "cap", **cap)


@pytest.mark.parametrize("name", ["a.png", "a", "a.stl.exe", "a.3ds"])
def test_unknown_formats_are_refused(name):
    refused(OBJ.encode(), name, "stl, obj")


def test_broken_data_is_an_error_of_ours():
    refused(b"ply\nformat binary_little_endian 1.0\nelement vertex 4000000000\nproperty float x\nend_header\n", "a.ply")
    refused(b"OFF\n4 4 6\n0 0", "a.off")
    refused(b"\x00\x01garbage" * 30, "a.stl")


@pytest.mark.parametrize("name", FORMATS)
def test_an_empty_file_is_refused(name):
    refused(b"", f"a.{name}", "empty")
    refused(b" \n", f"a.{name}", "empty")


def test_more_triangles_than_vertices_can_have_are_refused():
    random = np.random.default_rng(0).integers(0, 200, (200_000, 3))
    refused(mujoco_msh(np.eye(200, 3), random), "a.msh", "200000 triangles on 200 vertices")


def test_materials_and_other_files_are_not_read(tmp_path, monkeypatch):
    opened = []
    monkeypatch.chdir(tmp_path)
    (tmp_path / "secret.mtl").write_text("newmtl m\nmap_Kd secret.png\n")
    sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "open" else None)
    load_mesh(("mtllib secret.mtl\nusemtl m\n" + OBJ).encode(), "a.obj")
    assert not [path for path in opened if "secret" in path]


def test_no_library_is_needed_to_read_a_mesh(monkeypatch):
    for library in ("trimesh", "scipy", "scipy.spatial", "collada"):
        monkeypatch.setitem(sys.modules, library, None)
    for name, data in SAMPLES.items():
        load_mesh(data, name)


# --- as MuJoCo reads a file


def mujoco_mesh(data: bytes, name: str):
    xml = f"""<mujoco><asset><mesh name="m" file="{name}"/></asset>
    <worldbody><geom type="mesh" mesh="m"/></worldbody></mujoco>"""
    return mujoco.MjModel.from_xml_string(xml, {name: data})


def test_as_mujoco_repeated_triangles_and_lone_vertices_stay_and_the_first_object_counts():
    text = f"v 5 5 5\no one\n{OBJ}f -4 -2 -3\nv 9 9 9\no two\nf -1 -2 -3\n".replace("f 1 3 2", "f 2 4 3")
    text = text.replace("f 1 2 4", "f 2 3 5").replace("f 1 4 3", "f 2 5 4").replace("f 2 3 4", "f 3 4 5")
    mesh = load_mesh(text.encode(), "a.obj", as_mujoco=True)
    theirs = mujoco_mesh(text.encode(), "a.obj")
    assert len(mesh.triangles) == theirs.mesh_facenum[0] == 5
    assert len(mesh.vertices) == theirs.mesh_vertnum[0] == 6
    assert mesh.repairs == ["1 faces of further objects left out, as MuJoCo does"]
    ours = load_mesh(text.encode(), "a.obj")
    assert len(ours.triangles) == 5 and len(ours.vertices) == 5
    assert ours.repairs == ["1 repeated triangles dropped"]


def test_as_mujoco_coordinates_are_those_of_float32():
    text = OBJ.replace("v 1 0 0", "v 1.23456789012 0 0").encode()
    assert load_mesh(text, "a.obj", as_mujoco=True).vertices.max() == np.float32(1.23456789012)
    assert load_mesh(text, "a.obj").vertices.max() == 1.23456789012


def test_as_mujoco_vertices_alone_make_their_hull():
    text = "".join(f"v {x} {y} {z}\n" for x in (0, 1) for y in (0, 2) for z in (0, 3)).encode()
    mesh = load_mesh(text, "a.obj", as_mujoco=True)
    assert mujoco_mesh(text, "a.obj").mesh_facenum[0] == len(mesh.triangles) == 12
    assert volume(mesh) == pytest.approx(6)
    assert mesh.repairs == ["no triangles: the hull of the vertices"]
    refused(text, "a.obj", "no triangles")
    with pytest.raises(AssetError, match="coplanar"):
        load_mesh(b"v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\n", "a.obj", as_mujoco=True)
    with pytest.raises(AssetError, match="no triangles"):
        load_mesh(b"v nan 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\n", "a.obj", as_mujoco=True)


def test_mujoco_and_gmsh_meshes_of_one_ending_are_told_apart_by_content():
    assert load_mesh(mujoco_msh(normals=4, coordinates=4), "a.msh").triangles.shape == (4, 3)
    assert mujoco_mesh(mujoco_msh(), "a.msh").mesh_facenum[0] == 4
    refused(mujoco_msh(normals=3), "a.msh", "no mesh of Gmsh or MuJoCo")
    refused(mujoco_msh() + b"\0", "a.msh", "the file has 113")
    refused(struct.pack("<4i", -1, 0, 0, 1), "a.msh", "negative")
    refused(struct.pack("<4i", 0x7FFFFFFF, 0, 0, 0x7FFFFFFF), "a.msh", "cap")
    refused(mujoco_msh(faces=[[0, 1, 4]]), "a.msh", "outside 0 to 3")


def test_the_script_of_the_page_about_meshes():
    page = Path(__file__).parents[3] / "docs" / "meshes.md"
    script = page.read_text(encoding="utf-8").split("asked.\n", 1)[1].split("## Formats")[0]
    names: dict = {}
    exec(textwrap.dedent(script), names)
    assert names["volume"] == pytest.approx(1 / 6)
    assert names["hull"].solid_problem == ""


@pytest.mark.parametrize("arguments", [("a.obj", "a.obj"), (b"v 0 0 0", None), (Path("a.obj"), "a.obj")])
def test_what_is_no_bytes_and_name_is_refused_with_the_call_that_is_right(arguments):
    with pytest.raises(ModelError, match=r"load_mesh\(Path\('a.obj'\).read_bytes\(\), 'a.obj'\)"):
        load_mesh(*arguments)
