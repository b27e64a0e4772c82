"""Mesh: checks, identity, closedness; convex hulls."""

import sys

import numpy as np
import pytest
import trimesh

import simengine as sim
from simengine import MissingExtraError, ModelError
from simengine.builder.mesh_data import Mesh, convex_hull

TETRAHEDRON = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], float)
FACES = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])


def test_equal_content_is_one_mesh():
    assert Mesh(TETRAHEDRON, FACES) == Mesh(TETRAHEDRON.tolist(), FACES.tolist(), label="other")
    assert Mesh(TETRAHEDRON, FACES) != Mesh(TETRAHEDRON, FACES[:, ::-1])
    assert len({Mesh(TETRAHEDRON, FACES), Mesh(TETRAHEDRON.copy(), FACES)}) == 1


def test_content_cannot_be_changed():
    source = TETRAHEDRON.copy()
    mesh = Mesh(source, FACES)
    source[0] = 9
    assert mesh.vertices[0, 0] == 0
    with pytest.raises(ValueError):
        mesh.vertices[0] = 1


def test_volume_and_first_moment_of_a_tetrahedron():
    volume, first, second = Mesh(TETRAHEDRON, FACES).moments
    assert volume == pytest.approx(1 / 6, rel=1e-14)
    np.testing.assert_allclose(first, np.full(3, 1 / 24), rtol=1e-13)
    # of the unit simplex: integral of x^2 is 1/60, of x y 1/120
    np.testing.assert_allclose(second, np.full((3, 3), 1 / 120) + np.eye(3) / 120, rtol=1e-12)


def test_triangle_soup_is_closed_where_its_corners_meet():
    corners = TETRAHEDRON[FACES].reshape(-1, 3)
    assert Mesh(corners, np.arange(12).reshape(4, 3)).solid_problem == ""
    assert "3 edges belong to one triangle alone" in Mesh(corners[:9], np.arange(9).reshape(3, 3)).solid_problem


@pytest.mark.parametrize(
    "vertices, triangles, message",
    [
        (TETRAHEDRON, [[0, 1, 4]], r"triangle 0 names vertices \[0 1 4\]; there are 4"),
        (TETRAHEDRON, [[0, 1, -1]], "triangle 0"),
        (TETRAHEDRON * [1, np.nan, 1], FACES, "vertex 0 .*finite"),
        (TETRAHEDRON[:, :2], FACES, r"vertices has shape \(4, 2\)"),
        (TETRAHEDRON, np.zeros((0, 3)), "triangles has shape"),
        (TETRAHEDRON, [[0, 1, 1.5]], "whole numbers"),
        (TETRAHEDRON, np.asarray(FACES, float), "triangles must be whole numbers of 32 bits, got float64"),
        (TETRAHEDRON, [[0, 1, 2**32]], "triangles"),
        ([["a", 1, 2]], FACES, "numbers with three columns"),
    ],
)
def test_bad_tables_are_refused_by_name(vertices, triangles, message):
    with pytest.raises(ModelError, match=f"rock.*{message}"):
        Mesh(vertices, triangles, label="rock")


def test_hull_faces_look_outwards_and_hold_all_points():
    points = np.random.default_rng(0).normal(size=(60, 3))
    hull = convex_hull(points)
    corners = hull.vertices[hull.triangles]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    heights = np.einsum("ni,nmi->nm", normals, points[None] - corners[:, :1])
    assert hull.solid_problem == ""
    assert heights.max() < 1e-12


@pytest.mark.parametrize("flat", [np.eye(3), np.random.default_rng(0).normal(size=(9, 3)) * [1, 1, 0]])
def test_hull_of_coplanar_points_is_refused(flat):
    with pytest.raises(ModelError, match=r"coplanar.*shell"):
        convex_hull(flat)


def test_hull_without_scipy_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.spatial", None)
    with pytest.raises(MissingExtraError, match=r"convex hull needs the package scipy.*simengine\[meshes\]"):
        convex_hull(TETRAHEDRON)


@pytest.mark.parametrize("given", [np.zeros((3, 3)), "robot.obj", [np.zeros((3, 3))], None], ids=repr)
def test_what_is_no_mesh_is_refused_with_what_to_give(given):
    with pytest.raises(ModelError, match=r"pebble.* is an? \w+; give a Mesh or \(vertices, triangles\)"):
        sim.ModelBuilder().add_shape_mesh(-1, given, label="pebble")


def test_a_mesh_wound_inwards_has_one_that_is_wound_outwards():
    ball = trimesh.creation.icosphere(1)
    mesh, inwards = Mesh(ball.vertices, ball.faces), Mesh(ball.vertices, ball.faces[:, ::-1], "bowl")
    assert mesh.outward is mesh and not mesh.is_wound_inwards
    assert inwards.is_wound_inwards and inwards.outward == mesh and inwards.outward.label == "bowl"
    assert inwards.outward is inwards.outward
    open_ = Mesh(ball.vertices, ball.faces[1:, ::-1])
    assert open_.outward is open_
