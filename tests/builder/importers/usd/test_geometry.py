"""Gprims: sizes, axes, scales, mirrored and sheared ones, meshes of polygons, and what meshes collide as."""

from __future__ import annotations

import math

import numpy as np
import pytest
import trimesh

from simengine.builder.frames import apply, rotation_matrix
from simengine.enums import ShapeType
from simengine.errors import AssetError
from tests.builder.importers.usd.stages import load, notes, prim, scaled

CUBE_POINTS = "[" + ", ".join(f"({x}, {y}, {z})" for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)) + "]"
CUBE_FACES = "[0, 1, 3, 2, 4, 6, 7, 5, 0, 4, 5, 1, 2, 3, 7, 6, 0, 2, 6, 4, 1, 5, 7, 3]"
"""Six quadrangles looking outwards."""


def collider(kind, name="shape", **attributes):
    return prim(kind, name, "PhysicsCollisionAPI", **attributes)


def mesh(*schemas, points=CUBE_POINTS, counts="[4, 4, 4, 4, 4, 4]", faces=CUBE_FACES, **attributes):
    shape = {"points_points": points, "faceVertexCounts_ints": counts, "faceVertexIndices_ints": faces}
    return prim("Mesh", "shape", "PhysicsCollisionAPI", *schemas, **shape, **attributes)


def only(folder, *prims, **options):
    builder, report = load(folder, *prims, **options)
    (shape,) = builder.shapes
    return shape, report


@pytest.mark.parametrize(
    ("kind", "attributes", "expected", "size"),
    [
        ("Cube", {"size_double": 3.0}, ShapeType.BOX, (1.5, 1.5, 1.5)),
        ("Cube", {}, ShapeType.BOX, (1.0, 1.0, 1.0)),
        ("Sphere", {"radius_double": 0.5}, ShapeType.SPHERE, (0.5, 0, 0)),
        ("Capsule", {"radius_double": 0.2, "height_double": 3.0}, ShapeType.CAPSULE, (0.2, 1.5, 0)),
        ("Capsule", {}, ShapeType.CAPSULE, (0.5, 0.5, 0)),
        ("Capsule", {"height_double": 0.0}, ShapeType.SPHERE, (0.5, 0, 0)),
        (
            "Capsule_1",
            {"radiusTop_double": 0.2, "radiusBottom_double": 0.2, "height_double": 3.0},
            ShapeType.CAPSULE,
            (0.2, 1.5, 0),
        ),
        ("Cylinder", {"radius_double": 0.2, "height_double": 3.0}, ShapeType.CYLINDER, (0.2, 1.5, 0)),
        ("Cone", {"radius_double": 0.2, "height_double": 3.0}, ShapeType.CONE, (0.2, 1.5, 0)),
        ("Plane", {}, ShapeType.PLANE, (0, 0, 0)),
    ],
)
def test_gprims_have_their_sizes(tmp_path, kind, attributes, expected, size):
    shape, _ = only(tmp_path, collider(kind, **attributes))
    assert shape.type == expected
    np.testing.assert_allclose(shape.size, size)


@pytest.mark.parametrize("axis", ["X", "Y", "Z"])
@pytest.mark.parametrize("kind", ["Capsule", "Cylinder", "Cone", "Plane"])
def test_the_axis_of_a_gprim_is_z_of_its_shape(tmp_path, kind, axis):
    shape, _ = only(tmp_path, collider(kind, axis_token=f'"{axis}"'))
    along = rotation_matrix(shape.xform[3:]) @ (0, 0, 1)
    np.testing.assert_allclose(along, {"X": (1, 0, 0), "Y": (0, 1, 0), "Z": (0, 0, 1)}[axis], atol=1e-12)


def test_a_visual_plane_has_the_width_and_length_of_the_file(tmp_path):
    shape, _ = only(tmp_path, prim("Plane", "shape", width_double=2.0, length_double=6.0, axis_token='"Y"'))
    corner = apply(shape.xform, (*shape.size[:2], 0.0))
    np.testing.assert_allclose(np.abs(corner), (1.0, 0.0, 3.0), atol=1e-12)
    assert not shape.collides


def test_an_unevenly_scaled_sphere_is_an_ellipsoid(tmp_path):
    shape, report = only(tmp_path, collider("Sphere", radius_double=2.0, **scaled(1, 2, 3)))
    assert shape.type == ShapeType.ELLIPSOID
    np.testing.assert_allclose(shape.size, (2, 4, 6))
    assert "ellipsoid" in notes(report, "repaired")


def test_a_sheared_sphere_is_the_ellipsoid_that_it_looks_like(tmp_path):
    inner = prim("Sphere", "shape", "PhysicsCollisionAPI", radius_double=1.0, **scaled(1, 1.0, 4))
    turned = prim(
        "Xform", "turned", inside=inner, xformOp__rotateX_double=40.0, xformOpOrder_order='["xformOp:rotateX"]'
    )
    shape, _ = only(tmp_path, prim("Xform", "outer", inside=turned, **scaled(1, 3, 1)))
    c, s = math.cos(math.radians(40)), math.sin(math.radians(40))
    matrix = np.diag([1, 3, 1]) @ np.array([[1, 0, 0], [0, c, -s], [0, s, c]]) @ np.diag([1, 1, 4])
    axes = rotation_matrix(shape.xform[3:])
    wanted = np.linalg.inv(matrix @ matrix.T)  # points p of the surface: p^T (A A^T)^-1 p = 1
    np.testing.assert_allclose(axes @ np.diag(1 / np.array(shape.size) ** 2) @ axes.T, wanted, atol=1e-9)


def test_a_sheared_box_is_a_hull_of_its_volume(tmp_path):
    inner = prim(
        "Cube", "shape", "PhysicsCollisionAPI", xformOp__rotateZ_double=30.0, xformOpOrder_order='["xformOp:rotateZ"]'
    )
    shape, report = only(tmp_path, prim("Xform", "outer", inside=inner, **scaled(1, 2, 3)))
    assert shape.type == ShapeType.CONVEX_HULL
    assert shape.mesh.moments[0] == pytest.approx(8 * 6)
    assert "hull" in notes(report, "repaired")


def test_a_cylinder_scaled_across_its_axis_is_a_hull_of_about_its_volume(tmp_path):
    shape, _ = only(tmp_path, collider("Cylinder", radius_double=1.0, height_double=2.0, **scaled(1, 2, 1)))
    assert shape.type == ShapeType.CONVEX_HULL
    assert shape.mesh.moments[0] == pytest.approx(2 * math.pi * 2, rel=5e-3)  # a prism of 48 sides


def test_a_capsule_scaled_along_its_axis_keeps_round_caps_and_says_so(tmp_path):
    shape, report = only(tmp_path, collider("Capsule", radius_double=1.0, height_double=2.0, **scaled(1, 1, 3)))
    assert shape.type == ShapeType.CAPSULE
    np.testing.assert_allclose(shape.size[:2], (1, 3))
    assert "caps" in notes(report, "repaired")


def test_a_mirrored_cone_points_the_other_way(tmp_path):
    shape, _ = only(tmp_path, collider("Cone", radius_double=1.0, height_double=2.0, **scaled(1, 1, -1)))
    np.testing.assert_allclose(apply(shape.xform, (0, 0, shape.size[1])), (0, 0, -1), atol=1e-12)


@pytest.mark.parametrize("kind", ["Cube", "Sphere", "Capsule", "Cylinder"])
def test_negative_scale_leaves_symmetric_solids_as_they_are(tmp_path, kind):
    shape, _ = only(tmp_path, collider(kind, **scaled(-1, 1, 1)))
    plain, _ = only(tmp_path, collider(kind))
    np.testing.assert_allclose(shape.size, plain.size)


def test_a_mirrored_mesh_still_looks_outwards(tmp_path):
    shape, _ = only(tmp_path, mesh(**scaled(-1, 2, 3)))
    assert trimesh.Trimesh(shape.mesh.vertices, shape.mesh.triangles, process=False).volume == pytest.approx(48)
    assert not shape.mesh.solid_problem


def test_a_left_handed_mesh_looks_outwards(tmp_path):
    backwards = "[" + ", ".join(reversed(CUBE_FACES.strip("[]").split(", "))) + "]"
    shape, _ = only(tmp_path, mesh(faces=backwards, orientation_token='"leftHanded"'))
    assert trimesh.Trimesh(shape.mesh.vertices, shape.mesh.triangles, process=False).volume == pytest.approx(8)


def test_a_closed_mesh_wound_inwards_is_turned_round_and_noted(tmp_path):
    backwards = "[" + ", ".join(reversed(CUBE_FACES.strip("[]").split(", "))) + "]"
    shape, report = only(tmp_path, mesh(faces=backwards))
    assert trimesh.Trimesh(shape.mesh.vertices, shape.mesh.triangles, process=False).volume == pytest.approx(8)
    assert "wound inwards; all are turned round" in notes(report, "repaired")
    _, report = only(tmp_path, mesh())
    assert not notes(report, "repaired")


def test_holes_are_left_out(tmp_path):
    shape, _ = only(tmp_path, mesh(holeIndices_ints="[0, 3]"))
    assert len(shape.mesh.triangles) == 8
    assert "open" in shape.mesh.solid_problem


def test_polygons_of_many_corners_are_cut(tmp_path):
    corners = [(math.cos(k), math.sin(k)) for k in np.arange(5) * 2 * math.pi / 5]
    points = "[" + ", ".join(f"({x}, {y}, {z})" for z in (0, 1) for x, y in corners) + "]"
    faces = (
        "[4, 3, 2, 1, 0, 5, 6, 7, 8, 9"
        + "".join(f", {k}, {(k + 1) % 5}, {(k + 1) % 5 + 5}, {k + 5}" for k in range(5))
        + "]"
    )
    shape, _ = only(tmp_path, mesh(points=points, counts="[5, 5, 4, 4, 4, 4, 4]", faces=faces))
    area = 2.5 * math.sin(2 * math.pi / 5)
    assert shape.mesh.moments[0] == pytest.approx(area, rel=1e-6)
    assert not shape.mesh.solid_problem


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"counts": "[4, 4]"}, "corners"),
        ({"counts": "[]"}, "no faces"),
        ({"faces": CUBE_FACES.replace("7", "8")}, "there are 8"),
        ({"faces": CUBE_FACES.replace("7", "-1")}, "there are 8"),
        ({"points": CUBE_POINTS.replace("(1, 1, 1)", "(1, nan, 1)")}, "not finite"),
        ({"counts": "[2, 4, 4, 4, 4, 6]"}, "at least 3"),
    ],
)
def test_broken_meshes_of_colliders_are_refused_and_of_visuals_left_out(tmp_path, change, words):
    with pytest.raises(AssetError, match=words) as caught:
        load(tmp_path, mesh(**change))
    assert caught.value.prim_path == "/shape"
    builder, report = load(tmp_path, mesh(**change).replace("PhysicsCollisionAPI", "NoAPI"))
    assert not builder.shapes
    assert "/shape" in notes(report, "ignored")


@pytest.mark.parametrize(
    "shape",
    [collider("Cube", size_double=0.0), collider("Sphere", radius_double=-1.0), collider("Cube", **scaled(1, 0, 1))],
)
def test_shapes_without_a_size_are_refused(tmp_path, shape):
    with pytest.raises(AssetError, match="positive|flattens"):
        load(tmp_path, shape)


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        ("none", ShapeType.MESH),
        ("meshSimplification", ShapeType.MESH),
        ("sdf", ShapeType.MESH),
        ("convexHull", ShapeType.CONVEX_HULL),
        ("convexDecomposition", ShapeType.CONVEX_HULL),
        ("boundingCube", ShapeType.BOX),
        ("boundingSphere", ShapeType.SPHERE),
    ],
)
def test_approximations_of_meshes(tmp_path, word, kind):
    shape, _ = only(
        tmp_path, mesh("PhysicsMeshCollisionAPI", physics__approximation_token=f'"{word}"', **scaled(1, 2, 3))
    )
    assert shape.type == kind
    if word == "boundingCube":
        np.testing.assert_allclose(shape.size, (1, 2, 3))
    if word == "boundingSphere":
        assert shape.size[0] == pytest.approx(math.sqrt(14))


def test_an_unknown_approximation_warns(tmp_path):
    shape, report = only(tmp_path, mesh("PhysicsMeshCollisionAPI", physics__approximation_token='"potato"'))
    assert shape.type == ShapeType.MESH
    assert "potato" in notes(report, "warned")


def test_a_flat_hull_collides_as_its_triangles_and_says_so(tmp_path):
    flat = mesh(
        "PhysicsMeshCollisionAPI",
        physics__approximation_token='"convexHull"',
        points="[(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)]",
        counts="[4]",
        faces="[0, 1, 2, 3]",
    )
    shape, report = only(tmp_path, flat)
    assert shape.type == ShapeType.MESH
    assert "coplanar" in notes(report, "repaired")


@pytest.mark.slow
def test_a_concave_mesh_is_cut_into_hulls_of_about_its_volume(tmp_path):
    """An L of three unit cubes, whose one hull would have the volume 3.5; the mesh itself stays to be seen."""
    outline = [(0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2)]
    points = "[" + ", ".join(f"({x}, {y}, {z})" for z in (0, 1) for x, y in outline) + "]"
    bottom, top = "3, 2, 1, 0, 5, 4, 3, 0", "6, 7, 8, 9, 6, 9, 10, 11"
    sides = ", ".join(f"{k}, {(k + 1) % 6}, {(k + 1) % 6 + 6}, {k + 6}" for k in range(6))
    concave = mesh(
        "PhysicsMeshCollisionAPI",
        physics__approximation_token='"convexDecomposition"',
        points=points,
        counts="[" + ", ".join(["4"] * 10) + "]",
        faces=f"[{bottom}, {top}, {sides}]",
    )
    builder, _ = load(tmp_path, concave)
    shown, *hulls = builder.shapes
    assert not shown.collides and shown.visible and shown.type == ShapeType.MESH
    assert len(hulls) >= 2
    assert all(hull.collides and not hull.visible for hull in hulls)
    assert sum(hull.mesh.moments[0] for hull in hulls) == pytest.approx(3.0, rel=0.1)
