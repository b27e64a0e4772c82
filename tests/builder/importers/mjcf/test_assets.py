"""Meshes and height fields of MJCF files against MuJoCo's library."""

from __future__ import annotations

import struct
import zlib

import mujoco
import numpy as np
import pytest

from simengine.errors import AssetError
from tests.builder.importers.mjcf.mujoco_facts import Answer, check_all, facts_of, read

# an L-shaped prism: closed, not convex, without symmetry once scaled
OUTLINE = np.array([(0, 0), (3, 0), (3, 1), (1, 1), (1, 2), (0, 2)], float)


def prism() -> tuple[np.ndarray, list[tuple[int, int, int]]]:
    points = np.vstack([np.column_stack([OUTLINE, np.full(6, z)]) for z in (0.0, 0.7)])
    caps = [(0, 1, 2), (0, 2, 3), (0, 3, 4), (0, 4, 5)]
    faces = [(c, b, a) for a, b, c in caps] + [(a + 6, b + 6, c + 6) for a, b, c in caps]
    for i in range(6):
        j = (i + 1) % 6
        faces += [(i, j, j + 6), (i, j + 6, i + 6)]
    return points, faces


def write_obj(path) -> None:
    points, faces = prism()
    lines = ["v " + " ".join(map(repr, map(float, point))) for point in points]
    lines += ["f " + " ".join(str(i + 1) for i in face) for face in faces]
    path.write_text("\n".join(lines))


def compare(text: str, tmp_path) -> Answer:
    path = tmp_path / "scene.xml"
    path.write_text(text)
    answer = Answer(*read(path))
    check_all(facts_of(path), answer)
    return answer


def scene(asset: str, geom: str, compiler: str = "") -> str:
    body = f'<body pos="0 0 1"><joint axis="1 2 3"/><geom {geom} mesh="m" pos="1 2 3" euler="20 30 40"/></body>'
    return f"<mujoco>{compiler}<asset>{asset}</asset><worldbody>{body}</worldbody></mujoco>"


def mesh(attributes: str = "") -> str:
    return f'<mesh name="m" file="m.obj" {attributes}/>'


@pytest.mark.parametrize("mode", ["convex", "exact", "legacy", "shell"])
@pytest.mark.parametrize(
    "attributes",
    ["", 'scale=".5 .3 .2"', 'scale="-.5 .3 .2"', 'refpos="1 2 3" refquat="1 2 3 4" scale=".5 .3 .2"'],
    ids=["plain", "scaled", "mirrored", "referred"],
)
def test_the_inertia_of_a_mesh_is_mujocos(mode, attributes, tmp_path):
    write_obj(tmp_path / "m.obj")
    compare(scene(mesh(f'inertia="{mode}" {attributes}'), 'type="mesh"'), tmp_path)


@pytest.mark.parametrize("kind", ["sphere", "capsule", "cylinder", "ellipsoid", "box"])
@pytest.mark.parametrize("fit_box", ["true", "false"])
def test_a_shape_fitted_to_a_mesh_is_mujocos(kind, fit_box, tmp_path):
    write_obj(tmp_path / "m.obj")
    stretched = mesh('scale=".2 .3 2"')  # long along z, so that a capsule has a cylinder
    compiler = f'<compiler fitaabb="{fit_box}"/>'
    compare(scene(stretched, f'type="{kind}" fitscale="1.2"', compiler), tmp_path)


def numbers(rows) -> str:
    return " ".join(f"{x:g}" for row in rows for x in row)


def test_a_mesh_written_out_is_mujocos(tmp_path):
    points, faces = prism()
    asset = f'<mesh name="m" vertex="{numbers(points)}" face="{numbers(faces)}" inertia="exact"/>'
    compare(scene(asset, 'type="mesh"'), tmp_path)


def test_points_alone_are_their_hull(tmp_path):
    asset = f'<mesh name="m" vertex="{numbers(prism()[0])}" inertia="convex"/>'
    compare(scene(asset, 'type="mesh"'), tmp_path)


BUILTIN = {
    "sphere": "3",
    "coarse sphere": "0",
    "hemisphere": "2",
    "cone": "7 0",
    "truncated cone": "5 .4",
    "supersphere": "12 .5 1.5",
    "pinched supersphere": "9 3 .7",
    "supertorus": "15 .3 .8 1.2",
}


@pytest.mark.parametrize("name", BUILTIN)
@pytest.mark.parametrize("mode", ["legacy", "convex", "shell"])
def test_a_mesh_by_a_formula_is_mujocos(name, mode, tmp_path):
    kind = name.split()[-1]
    asset = f'<mesh name="m" builtin="{kind}" params="{BUILTIN[name]}" scale="1 .7 .4" inertia="{mode}"/>'
    compare(scene(asset, 'type="mesh"'), tmp_path)


@pytest.mark.parametrize("scale", ["1 1 1", "1 -1 1"])
def test_a_closed_mesh_wound_inwards_is_turned_round_and_noted(scale, tmp_path):
    points, faces = prism()
    for turn, count in ((1, 0), (-1, 1)):
        listed = numbers([face[::turn] for face in faces])
        asset = f'<mesh name="m" vertex="{numbers(points)}" face="{listed}" inertia="exact" scale="{scale}"/>'
        path = tmp_path / "scene.xml"
        path.write_text(scene(asset, 'type="mesh"'))
        builder, report = read(path)
        (shape,) = builder.shapes
        assert shape.mesh.moments_about((0, 0, 0))[0] > 0
        assert sum("wound inwards" in note.reason and "'m'" in note.what for note in report.repaired) == count


def test_folders_of_meshes_and_names_by_file(tmp_path):
    (tmp_path / "meshes" / "sub").mkdir(parents=True)
    write_obj(tmp_path / "meshes" / "sub" / "m.obj")
    compare(scene('<mesh file="sub/m.obj"/>', 'type="mesh"', '<compiler meshdir="meshes"/>'), tmp_path)


def test_strippath_takes_the_name_alone(tmp_path):
    write_obj(tmp_path / "m.obj")
    asset = '<mesh name="m" file="/home/someone/m.obj"/>'
    compare(scene(asset, 'type="mesh"', '<compiler strippath="true"/>'), tmp_path)


def test_a_mesh_that_collides_is_its_hull_and_one_that_does_not_is_itself(tmp_path):
    write_obj(tmp_path / "m.obj")
    geoms = '<geom type="mesh" mesh="m"/><geom type="mesh" mesh="m" contype="0" conaffinity="0"/>'
    text = f"<mujoco><asset>{mesh()}</asset><worldbody>{geoms}</worldbody></mujoco>"
    answer = compare(text, tmp_path)
    assert [shape.type.name for shape in answer.builder.shapes] == ["CONVEX_HULL", "MESH"]
    assert answer.builder.shapes[0].mesh is answer.builder.shapes[1].mesh


def field(rest: str) -> str:
    return (
        f'<mujoco><asset><hfield name="h" size="1 2 .5 .1" {rest}/></asset>'
        '<worldbody><geom type="hfield" hfield="h"/></worldbody></mujoco>'
    )


def check_field(text: str, tmp_path) -> None:
    path = tmp_path / "scene.xml"
    path.write_text(text)
    m = mujoco.MjModel.from_xml_path(str(path))
    builder, _ = read(path)
    (shape,) = builder.shapes
    theirs = m.hfield_data.reshape(m.hfield_nrow[0], m.hfield_ncol[0]) * m.hfield_size[0][2]
    np.testing.assert_allclose(shape.heightfield.heights, theirs, atol=1e-7)
    np.testing.assert_allclose(shape.size, m.hfield_size[0][[0, 1, 3]])


def png(pixels: np.ndarray, bits: int, kind: int, filters: list[int]) -> bytes:
    """A PNG whose lines are written with the given filters (undone by the reader)."""
    rows, columns, channels = pixels.shape
    data = pixels.astype(">u2" if bits == 16 else "u1").tobytes()
    width, step = columns * channels * bits // 8, channels * bits // 8
    lines = [np.frombuffer(data, "u1", width, row * width).astype(int) for row in range(rows)]
    packed, above = b"", np.zeros(width, int)
    for row, line in enumerate(lines):
        left = np.concatenate([np.zeros(step, int), line[:-step]])
        corner = np.concatenate([np.zeros(step, int), above[:-step]])
        paeth = [
            min((abs(b - c), 0, a), (abs(a - c), 1, b), (abs(a + b - 2 * c), 2, c))[2]
            for a, b, c in zip(left, above, corner, strict=True)
        ]
        guess = [0 * line, left, above, (left + above) // 2, np.array(paeth)][filters[row % len(filters)]]
        packed += bytes([filters[row % len(filters)], *((line - guess) % 256)])
        above = line
    header = struct.pack(">IIBBBBB", columns, rows, bits, kind, 0, 0, 0)

    def chunk(name: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))

    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(packed)) + chunk(b"IEND", b"")


def test_heights_in_the_file_are_mujocos(tmp_path):
    check_field(field('nrow="2" ncol="3" elevation="1 2 3 4 5 9"'), tmp_path)
    check_field(field('nrow="2" ncol="3"'), tmp_path)


def test_heights_in_mujocos_own_file_are_mujocos(tmp_path):
    heights = np.random.default_rng(0).uniform(-1, 4, (5, 3)).astype("<f4")
    (tmp_path / "h.bin").write_bytes(struct.pack("<ii", 5, 3) + heights.tobytes())
    check_field(field('file="h.bin"'), tmp_path)


@pytest.mark.parametrize("bits, kind, channels", [(8, 0, 1), (8, 2, 3), (8, 4, 2), (8, 6, 4), (16, 0, 1)])
def test_heights_in_a_png_are_mujocos(bits, kind, channels, tmp_path):
    pixels = np.random.default_rng(kind).integers(0, 2**bits, (7, 5, channels))
    (tmp_path / "h.png").write_bytes(png(pixels, bits, kind, [0, 1, 2, 3, 4]))
    check_field(field('file="h.png"'), tmp_path)


def test_a_damaged_or_huge_png_is_refused(tmp_path):
    whole = png(np.zeros((4, 4, 1)), 8, 0, [0])
    bomb = bytearray(whole)
    bomb[16:24] = struct.pack(">II", 65535, 65535)
    path = tmp_path / "scene.xml"
    path.write_text(field('file="h.png"'))
    for data in (whole[:-30], whole[:20], bytes(bomb), whole.replace(b"IDAT", b"JDAT"), b"\x89PNG\r\n\x1a\n"):
        (tmp_path / "h.png").write_bytes(data)
        with pytest.raises(AssetError, match=r"scene.xml:1"):
            read(path)
