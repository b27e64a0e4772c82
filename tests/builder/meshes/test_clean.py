"""What is mended in a surface: dropped, merged, turned over, with counts."""

import numpy as np
import pytest

from simengine.builder.mesh_data import Mesh
from simengine.builder.meshes.clean import is_closed, orient, size_problem
from simengine.builder.meshes.files import load_mesh
from simengine.errors import AssetError
from tests.builder.meshes.mesh_samples import FACES, OBJ, POINTS, binary_stl, volume
from tests.builder.meshes.test_files import refused


def sphere(subdivisions=3):
    """A closed surface, wound outwards: an octahedron whose triangles are cut in four again and again."""
    points = np.array([[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]], float)
    triangles = np.array([[0, 2, 4], [2, 1, 4], [1, 3, 4], [3, 0, 4], [2, 0, 5], [1, 2, 5], [3, 1, 5], [0, 3, 5]])
    corners = points[triangles]
    for _ in range(subdivisions):
        a, b, c = corners[:, 0], corners[:, 1], corners[:, 2]
        ab, bc, ca = ((p + q) / 2 for p, q in ((a, b), (b, c), (c, a)))
        corners = np.concatenate([np.stack(t, axis=1) for t in ((a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca))])
        corners /= np.linalg.norm(corners, axis=2, keepdims=True)
    points, triangles = np.unique(np.round(corners.reshape(-1, 3), 12), axis=0, return_inverse=True)
    return points, triangles.reshape(-1, 3)


def test_degenerate_and_repeated_triangles_are_dropped_and_counted():
    extra = "f 1 1 2\nf 2 4 1\nf 4 1 2\nv 2 0 0\nv 3 0 0\nf 2 5 6\nv 1 1e-13 0\nf 1 2 7\n"
    mesh = load_mesh((OBJ + extra).encode(), "a.obj")
    assert len(mesh.triangles) == 4
    assert volume(mesh) == pytest.approx(1 / 6)
    assert mesh.repairs == [
        "1 triangles with a repeated vertex dropped",
        "2 repeated triangles dropped",
        "2 triangles of zero area dropped",
    ]


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


def test_corners_that_differ_by_round_off_are_merged_where_this_closes_the_surface():
    points, triangles = sphere()
    random = np.random.default_rng(0)
    corners = (points + 5)[triangles].astype(np.float32)
    shaken = np.where(random.random(corners.shape) < 0.1, np.nextafter(corners, np.float32(0)), corners)
    mesh = load_mesh(binary_stl(shaken), "a.stl")
    assert len(mesh.vertices) == len(points)
    assert is_closed(mesh.triangles)
    distinct = len(np.unique(shaken.reshape(-1, 3), axis=0))
    assert mesh.repairs == [f"{distinct - len(points)} vertices within round-off of others merged"]
    opened = load_mesh(binary_stl(shaken[:-1]), "a.stl")
    assert opened.repairs == [] and len(opened.vertices) > len(points)


def test_a_mesh_smaller_than_the_round_off_of_its_place_stays():
    text = "v 1 1 1\nv 1.00000001 1 1\nv 1 1.00000001 1\nf 1 2 3\n"
    mesh = load_mesh(text.encode(), "a.obj")
    assert len(mesh.triangles) == 1 and mesh.repairs == []


def test_a_gap_wider_than_round_off_stays_open():
    points, triangles = sphere()
    corners = points[triangles]
    corners[0, 0] += 1e-5
    assert not is_closed(load_mesh(binary_stl(corners), "a.stl").triangles)


# --- winding


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 1.0])
def test_a_surface_with_triangles_turned_over_is_wound_outwards(seed, share):
    points, triangles = sphere()
    is_turned = np.random.default_rng(seed).random(len(triangles)) < share
    mixed = np.where(is_turned[:, None], triangles[:, ::-1], triangles)
    repairs = []
    mended = orient(points, mixed, "x", repairs)
    assert Mesh(points, mended).solid_problem == ""
    assert (
        Mesh(points, mended).moments_about(np.zeros(3))[0] == Mesh(points, triangles).moments_about(np.zeros(3))[0] > 4
    )
    assert repairs == [f"{int(is_turned.sum())} triangles turned over, so that all look outwards"]


def test_a_good_surface_is_left_as_it_is_and_a_cavity_stays_one():
    points, triangles = sphere(1)
    repairs = []
    assert np.array_equal(orient(points, triangles, "x", repairs), triangles)
    hollow = np.concatenate([triangles, triangles[:, ::-1] + len(points)])
    both = np.concatenate([points, points / 2])
    assert np.array_equal(orient(both, hollow, "x", repairs), hollow)
    assert repairs == []


def test_pieces_are_turned_one_by_one():
    points, triangles = sphere(1)
    both = np.concatenate([points, points + 5])
    second = triangles + len(points)
    second[3] = second[3, ::-1]
    mended = orient(both, np.concatenate([triangles, second[:, ::-1]]), "x", [])
    assert Mesh(both, mended).moments[0] == pytest.approx(2 * Mesh(points, triangles).moments[0])


def test_an_open_surface_is_wound_alike():
    points, triangles = sphere()
    cap = triangles[points[triangles][:, :, 2].mean(axis=1) > 0.3]
    mixed = cap.copy()
    mixed[::3] = mixed[::3, ::-1]
    mended = orient(points, mixed, "x", [])
    assert "open" in Mesh(points, mended).solid_problem
    assert np.array_equal(mended, cap) or np.array_equal(mended, cap[:, ::-1])


def test_a_surface_with_one_side_is_refused():
    # a Moebius band of 12 quadrangles: the strip's ends are joined with a half turn
    angle = np.arange(12) * 2 * np.pi / 12
    edge = [
        np.stack([np.cos(angle) * (1 + s * np.cos(angle / 2)), np.sin(angle) * (1 + s * np.cos(angle / 2)),
                  s * np.sin(angle / 2)], axis=1)
        for s in (-0.3, 0.3)
    ]  # fmt: skip
    triangles = []
    for i in range(12):
        a, b = i, 12 + i
        c, d = (i + 1, 13 + i) if i < 11 else (12, 0)
        triangles += [[a, c, b], [c, d, b]]
    with pytest.raises(AssetError, match="one side only"):
        orient(np.concatenate(edge), np.array(triangles), "x", [])


def test_a_file_is_wound_alike_where_asked():
    text = OBJ.replace("f 1 2 4", "f 1 4 2").encode()
    assert not is_closed(load_mesh(text, "a.obj").triangles)
    mesh = load_mesh(text, "a.obj", orient_triangles=True)
    assert is_closed(mesh.triangles) and volume(mesh) == pytest.approx(1 / 6)
    assert mesh.repairs == ["1 triangles turned over, so that all look outwards"]


@pytest.mark.parametrize("size, said", [(1.0, ""), (150.0, "millimetres"), (1e-5, "scale"), (0.001, ""), (99.0, "")])
def test_an_implausible_size_is_said(size, said):
    problem = size_problem(POINTS * size)
    assert said in problem and bool(problem) == bool(said)
    assert size_problem(POINTS * size * 1000, unit=0.001) == problem


def test_closed_means_that_each_edge_is_passed_both_ways():
    assert is_closed(FACES)
    assert not is_closed(FACES[:3])
    assert not is_closed(np.concatenate([FACES[:3], FACES[3:, ::-1]]))
