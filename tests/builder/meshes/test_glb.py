"""GLB: nodes, transforms, strips and fans, interleaved and whole-number positions; what a file may not do."""

import json
import struct

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from simengine.builder.meshes.files import is_closed, load_mesh
from simengine.builder.meshes.glb import AXES
from tests.builder.meshes.mesh_samples import FACES, POINTS, glb, glb_scene, volume
from tests.builder.meshes.test_files import refused


def load(scene, binary):
    return load_mesh(glb(scene, binary), "a.glb")


def sorted_rows(table):
    return table[np.lexsort(table.T)]


def test_nested_nodes_move_their_meshes():
    turn = Rotation.from_rotvec([0.3, -0.5, 0.8])
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = Rotation.from_rotvec([0, 0, 1]).as_matrix() * 2, (5, 6, 7)
    nodes = [
        {"children": [1], "matrix": matrix.T.ravel().tolist()},
        {"mesh": 0, "rotation": turn.as_quat().tolist(), "scale": [1, 2, 3], "translation": [1, 2, 3]},
    ]
    mesh = load(*glb_scene(nodes=nodes))
    inner = turn.apply(POINTS * [1, 2, 3]) + [1, 2, 3]
    expected = inner @ matrix[:3, :3].T + matrix[:3, 3]
    np.testing.assert_allclose(sorted_rows(mesh.vertices), sorted_rows(expected), atol=1e-12)
    assert volume(mesh) == pytest.approx(8 * 6 / 6)


def test_a_mirrored_node_still_looks_outwards():
    mesh = load(*glb_scene(nodes=[{"mesh": 0, "scale": [-1, 1, 1]}]))
    assert volume(mesh) == pytest.approx(1 / 6)
    assert mesh.vertices[:, 0].min() == -1


def test_a_mesh_of_several_nodes_is_there_several_times():
    nodes = [{"children": [1, 2]}, {"mesh": 0}, {"mesh": 0, "translation": [5, 0, 0]}]
    mesh = load(*glb_scene(nodes=nodes))
    assert len(mesh.triangles) == 8
    assert volume(mesh) == pytest.approx(2 / 6)


def test_only_the_chosen_scene_counts_and_without_scenes_all_roots():
    nodes = [{"mesh": 0}, {"mesh": 0, "translation": [5, 0, 0]}, {"children": [1]}]
    scene, binary = glb_scene(nodes=nodes, scenes=[{"nodes": [0, 2]}, {"nodes": [2]}])
    assert len(load(scene, binary).triangles) == 8
    assert load({**scene, "scene": 1}, binary).vertices[:, 0].min() == 5
    del scene["scenes"]
    assert len(load(scene, binary).triangles) == 8


def primitive_scene(mode, corners):
    scene, binary = glb_scene(faces=corners)
    scene["meshes"][0]["primitives"][0]["mode"] = mode
    return scene, binary


def test_strips_and_fans():
    strip = load(*primitive_scene(5, [0, 1, 2, 3, 0, 1]))
    assert is_closed(strip.triangles) and abs(volume(strip)) == pytest.approx(1 / 6)
    fan = load(*primitive_scene(6, [0, 1, 2, 3, 1]))
    assert sorted(map(tuple, np.sort(fan.triangles, axis=1).tolist())) == [(0, 1, 2), (0, 1, 3), (0, 2, 3)]


def test_points_and_lines_are_left_out_and_counted():
    scene, binary = glb_scene()
    scene["meshes"][0]["primitives"] += [{"attributes": {"POSITION": 0}, "mode": mode} for mode in (0, 1)]
    assert load(scene, binary).repairs == [AXES, "2 primitives of points or lines left out"]
    scene["meshes"][0]["primitives"] = scene["meshes"][0]["primitives"][1:]
    refused(glb(scene, binary), "a.glb", "no triangles")


def test_triangles_without_indices():
    scene, _ = glb_scene()
    scene["meshes"][0]["primitives"] = [{"attributes": {"POSITION": 0}}]
    scene["accessors"] = [{"bufferView": 0, "componentType": 5126, "type": "VEC3", "count": 12, "byteOffset": 4}]
    scene["bufferViews"] = [{"buffer": 0, "byteLength": 12 * 20, "byteStride": 20}]
    table = np.zeros((12, 5), "<f4")
    table[:, 1:4] = POINTS[FACES].reshape(-1, 3)
    assert volume(load(scene, table.tobytes())) == pytest.approx(1 / 6)


@pytest.mark.parametrize("code, dtype", [(5120, "<i1"), (5121, "<u1"), (5122, "<i2"), (5123, "<u2")])
@pytest.mark.parametrize("normalized", [False, True])
def test_whole_number_positions(code, dtype, normalized):
    scene, _ = glb_scene(extensionsRequired=["KHR_mesh_quantization"])
    largest = np.iinfo(dtype).max
    scale = largest if normalized else 1
    positions = (POINTS * scale).astype(dtype)
    padded = np.zeros((4, 4), dtype)
    padded[:, :3] = positions
    step = padded.itemsize * 4
    scene["accessors"][0].update(componentType=code, normalized=normalized)
    scene["bufferViews"][0].update(byteLength=4 * step, byteStride=step)
    scene["bufferViews"][1].update(byteOffset=4 * step)
    binary = padded.tobytes() + np.asarray(FACES, "<u2").tobytes()
    assert volume(load(scene, binary)) == pytest.approx(1 / 6)


def test_skins_and_morphs_are_taken_at_rest_and_noted():
    scene, binary = glb_scene(nodes=[{"mesh": 0, "skin": 0}])
    scene["meshes"][0]["primitives"][0]["targets"] = [{"POSITION": 0}]
    assert load(scene, binary).repairs == [AXES, "2 skinned or morphed meshes taken at rest"]


def changed(**changes):
    """A scene with values put into its tables: ``accessors__0__count=5``."""
    scene, binary = glb_scene()
    for path, value in changes.items():
        *keys, last = [int(key) if key.isdigit() else key for key in path.split("__")]
        target = scene
        for key in keys:
            target = target[key]
        target[last] = value
    return glb(scene, binary)


@pytest.mark.parametrize("changes, message", [
    ({"accessors__0__count": 5}, "beyond its buffer view"),
    ({"accessors__0__count": 10**30}, "whole number"),
    ({"accessors__0__count": -1}, "whole number"),
    ({"accessors__0__count": True}, "whole number"),
    ({"accessors__0__byteOffset": 4}, "beyond its buffer view"),
    ({"accessors__0__type": "VEC2"}, "dense VEC3"),
    ({"accessors__0__sparse": {}}, "dense VEC3"),
    ({"accessors__0__bufferView": 9}, "no object 9 in 'bufferViews'"),
    ({"accessors__0__componentType": 5130}, "component type"),
    ({"accessors__0__componentType": [1]}, "component type"),
    ({"accessors__1__componentType": 5126}, "component type"),
    ({"accessors__1__count": 11}, "multiple of three"),
    ({"bufferViews__0__byteLength": 10**9}, "cut off"),
    ({"bufferViews__0__byteOffset": 10**9}, "cut off"),
    ({"bufferViews__0__byteStride": 4}, "byteStride"),
    ({"bufferViews__0__buffer": 1}, "outside the file"),
    ({"buffers__0__uri": "data.bin"}, "outside the file"),
    ({"buffers__0__uri": "http://localhost/data.bin"}, "outside the file"),
    ({"buffers": []}, "no object 0 in 'buffers'"),
    ({"nodes__0__children": [0]}, "its own ancestor"),
    ({"nodes__0__children": [7]}, "no object 7 in 'nodes'"),
    ({"nodes__0__children": "all"}, "must be a list"),
    ({"nodes__0__mesh": 3}, "no object 3 in 'meshes'"),
    ({"nodes__0__mesh": "x"}, "whole number"),
    ({"nodes__0__scale": [1, 2]}, "3 finite numbers"),
    ({"nodes__0__scale": [1, 2, float("nan")]}, "3 finite numbers"),
    ({"nodes__0__rotation": [0, 0, 0, 0]}, "zero quaternion"),
    ({"nodes__0__matrix": [1] * 15}, "16 finite numbers"),
    ({"nodes": 5}, "must be a list"),
    ({"nodes": [{"mesh": 0}] * 20_001}, "more than 20000 nodes"),
    ({"scene": 4}, "no object 4 in 'scenes'"),
    ({"meshes__0__primitives__0": 5}, "no object"),
    ({"meshes__0__primitives__0__attributes": {}}, "no POSITION"),
    ({"meshes__0__primitives__0__mode": "x"}, "whole number"),
    ({"meshes__0__primitives": [{"attributes": {"POSITION": 0}, "indices": 1}] * 30}, "again and again"),
    ({"extensionsRequired": ["KHR_draco_mesh_compression"]}, "KHR_draco_mesh_compression"),
    ({"extensionsRequired": [5]}, "requires the extension 5"),
])  # fmt: skip
def test_what_does_not_fit_is_refused(changes, message):
    refused(changed(**changes), "a.glb", message)


def test_nodes_that_multiply_a_mesh_are_capped():
    points = np.random.default_rng(0).normal(size=(5000, 3))
    nodes = [{"children": list(range(1, 300))}, *({"mesh": 0} for _ in range(299))]
    scene, binary = glb_scene(points, np.arange(4998), nodes)
    refused(glb(scene, binary), "a.glb", "more than 1000000 vertices")


@pytest.mark.parametrize("data, message", [
    (b"glTF" + struct.pack("<II", 1, 20) + bytes(8), "version 1"),
    (b"glTF" + struct.pack("<II", 2, 99) + bytes(8), "cut off"),
    (b"glTF" + struct.pack("<IIII", 2, 20, 99, 0x4E4F534A), "beyond the end"),
    (b"glTF" + struct.pack("<IIII", 2, 20, 0, 0x004E4942), "not JSON"),
    (b"glTF" + struct.pack("<IIII", 2, 24, 4, 0x4E4F534A) + b"[[[[", "JSON cannot be read"),
    (b"glTF" + struct.pack("<IIII", 2, 24, 4, 0x4E4F534A) + b"[  ]", "not an object"),
    (b"glTF" + struct.pack("<IIII", 2, 24, 4, 0x4E4F534A) + b'"\xff\xff"', "JSON cannot be read"),
    (b"gltf" + bytes(40), "header"),
])  # fmt: skip
def test_a_damaged_frame_is_refused(data, message):
    refused(data, "a.glb", message)


def test_json_nested_without_end_is_refused():
    text = b"[" * 100_000
    frame = struct.pack("<IIII", 2, 20 + len(text), len(text), 0x4E4F534A)
    refused(b"glTF" + frame + text, "a.glb", "JSON cannot be read")
    assert json.loads(b"[" * 100 + b"]" * 100)
