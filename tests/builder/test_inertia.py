"""Mass properties of shapes against MuJoCo, against quadrature over slices, and against each other."""

import mujoco
import numpy as np
import pytest

import simengine as sim
from simengine.builder.frames import quat_from_axis_angle
from simengine.builder.inertia import (
    NOTHING,
    MassProperties,
    breaks_triangle_inequality,
    combine,
    inertia_problem,
    principal_axes,
    shape_mass_properties,
    shell,
    solid,
)
from simengine.builder.mesh_data import Mesh, convex_hull
from simengine.enums import ShapeType
from simengine.errors import ModelError

POSE = (0.3, -0.2, 0.5, *quat_from_axis_angle((0.6, 0.0, 0.8), 0.7))
SIZES = {
    ShapeType.SPHERE: (0.3, 0.0, 0.0),
    ShapeType.BOX: (0.2, 0.35, 0.11),
    ShapeType.CAPSULE: (0.12, 0.4, 0.0),
    ShapeType.CYLINDER: (0.25, 0.4, 0.0),
    ShapeType.ELLIPSOID: (0.2, 0.35, 0.5),
    ShapeType.CONE: (0.25, 0.4, 0.0),
}
MUJOCO_TYPES = [t for t in SIZES if t != ShapeType.CONE]


def mujoco_inertia(shape_type, size, hollow):
    name = shape_type.name.lower()
    used = {"sphere": 1, "capsule": 2, "cylinder": 2}.get(name, 3)
    sizes = " ".join(str(s) for s in size[:used])
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><worldbody><body><freejoint/><geom type="{name}" size="{sizes}" density="7" '
        f'shellinertia="{str(hollow).lower()}"/></body></worldbody></mujoco>'
    )
    rotation = np.zeros(9)
    mujoco.mju_quat2Mat(rotation, model.body_iquat[1])
    rotation = rotation.reshape(3, 3)
    return model.body_mass[1], model.body_ipos[1], rotation @ np.diag(model.body_inertia[1]) @ rotation.T


@pytest.mark.parametrize("shape_type", MUJOCO_TYPES)
def test_solid_has_the_mass_and_inertia_that_mujoco_computes(shape_type):
    own = solid(shape_type, SIZES[shape_type]).scaled(7)
    mass, com, inertia = mujoco_inertia(shape_type, SIZES[shape_type], hollow=False)
    assert own.mass == pytest.approx(mass, rel=1e-12)
    np.testing.assert_allclose(own.com, com, atol=1e-14)
    np.testing.assert_allclose(own.inertia, inertia, rtol=1e-12, atol=1e-12 * np.abs(inertia).max())


@pytest.mark.parametrize("shape_type", [ShapeType.SPHERE, ShapeType.BOX, ShapeType.CAPSULE, ShapeType.CYLINDER])
def test_shell_has_the_mass_and_inertia_that_mujoco_computes(shape_type):
    own = shell(shape_type, SIZES[shape_type]).scaled(7)
    mass, com, inertia = mujoco_inertia(shape_type, SIZES[shape_type], hollow=True)
    assert own.mass == pytest.approx(mass, rel=1e-12)
    np.testing.assert_allclose(own.com, com, atol=1e-14)
    np.testing.assert_allclose(own.inertia, inertia, rtol=1e-12, atol=1e-12 * np.abs(inertia).max())


def slices(weights, heights, radii, disc):
    """Mass, height of the centre of mass and (across, along) inertia of stacked discs (or rings)."""
    mass, middle = weights.sum(), weights @ heights / weights.sum()
    along = (0.5 if disc else 1.0) * weights @ radii**2
    across = 0.5 * along + weights @ (heights - middle) ** 2
    return mass, middle, across, along


def test_solid_cone_is_the_sum_of_its_slices():
    r, h = 0.25, 0.4
    u, w = np.polynomial.legendre.leggauss(20)
    radii = r * (1 - u) / 2
    mass, middle, across, along = slices(np.pi * radii**2 * w * h, u * h, radii, disc=True)
    own = solid(ShapeType.CONE, (r, h, 0))
    assert own.mass == pytest.approx(mass, rel=1e-13)
    np.testing.assert_allclose(own.com, [0, 0, middle], atol=1e-14)
    np.testing.assert_allclose(own.inertia, np.diag([across, across, along]), atol=1e-14)


def test_shell_of_a_cone_is_the_sum_of_its_rings_and_base():
    r, h = 0.25, 0.4
    u, w = np.polynomial.legendre.leggauss(20)
    radii = r * (1 - u) / 2
    slant = np.hypot(r, 2 * h) / (2 * h)
    side = slices(2 * np.pi * radii * slant * w * h, u * h, radii, disc=False)
    base = (np.pi * r * r, -h, np.pi * r**4 / 4, np.pi * r**4 / 2)
    mass = side[0] + base[0]
    middle = (side[0] * side[1] + base[0] * base[1]) / mass
    across = sum(part[2] + part[0] * (part[1] - middle) ** 2 for part in (side, base))
    own = shell(ShapeType.CONE, (r, h, 0))
    assert own.mass == pytest.approx(mass, rel=1e-13)
    np.testing.assert_allclose(own.com, [0, 0, middle], atol=1e-14)
    np.testing.assert_allclose(own.inertia, np.diag([across, across, side[3] + base[3]]), atol=1e-14)


def test_area_of_a_spheroid_has_its_closed_form():
    a, c = 0.5, 0.2  # oblate: 2 pi a^2 (1 + (1 - e^2) / e atanh e)
    e = np.sqrt(1 - c * c / (a * a))
    area = 2 * np.pi * a * a * (1 + (1 - e * e) / e * np.arctanh(e))
    assert shell(ShapeType.ELLIPSOID, (a, a, c)).mass == pytest.approx(area, rel=1e-12)


def test_shell_of_a_round_ellipsoid_is_that_of_a_sphere():
    own = shell(ShapeType.ELLIPSOID, (0.3, 0.3, 0.3))
    sphere = shell(ShapeType.SPHERE, (0.3, 0, 0))
    assert own.mass == pytest.approx(sphere.mass, rel=1e-13)
    np.testing.assert_allclose(own.inertia, sphere.inertia, rtol=1e-12, atol=1e-14)


EVEN = {ShapeType.SPHERE: (0.3, 0.0, 0.0), ShapeType.BOX: (0.3, 0.3, 0.3), ShapeType.CYLINDER: (0.3, 0.3, 0.0)}


@pytest.mark.parametrize("shape_type, size", EVEN.items())
def test_shell_is_the_growth_of_a_solid_whose_surface_lies_evenly_about_its_centre(shape_type, size):
    dt = 1e-4
    grown, shrunk = (solid(shape_type, tuple(s + d if s else 0.0 for s in size)) for d in (dt, -dt))
    own = shell(shape_type, size)
    assert own.mass == pytest.approx((grown.mass - shrunk.mass) / (2 * dt), rel=1e-6)
    np.testing.assert_allclose(own.inertia, (grown.inertia - shrunk.inertia) / (2 * dt), rtol=1e-6, atol=1e-12)


def box_mesh(hx, hy, hz, offset=(0, 0, 0)):
    corners = np.array([[x, y, z] for x in (-hx, hx) for y in (-hy, hy) for z in (-hz, hz)]) + offset
    faces = [(0, 1, 3), (0, 3, 2), (4, 6, 7), (4, 7, 5), (0, 4, 5), (0, 5, 1),
             (2, 3, 7), (2, 7, 6), (0, 2, 6), (0, 6, 4), (1, 5, 7), (1, 7, 3)]  # fmt: skip
    return Mesh(corners, faces)


@pytest.mark.parametrize("make", [solid, shell])
def test_mesh_of_a_box_has_the_mass_properties_of_the_box(make):
    offset = np.array([3.0, -2.0, 5.0])
    own = make(ShapeType.MESH, (1, 1, 1), box_mesh(0.2, 0.35, 0.11, offset))
    box = make(ShapeType.BOX, (0.2, 0.35, 0.11))
    assert own.mass == pytest.approx(box.mass, rel=1e-12)
    np.testing.assert_allclose(own.com, offset, rtol=1e-13)
    np.testing.assert_allclose(own.inertia, box.inertia, atol=1e-12)


@pytest.mark.parametrize("make", [solid, shell])
@pytest.mark.parametrize("scale", [(2.0, 0.5, 1.5), (-2.0, 0.5, 1.5), (-2.0, -0.5, -1.5)])
def test_scaled_and_mirrored_mesh_is_the_scaled_box(make, scale):
    own = make(ShapeType.MESH, scale, box_mesh(0.2, 0.35, 0.11, (1, 1, 1)))
    box = make(ShapeType.BOX, tuple(abs(s) * h for s, h in zip(scale, (0.2, 0.35, 0.11), strict=True)))
    assert own.mass == pytest.approx(box.mass, rel=1e-12)
    np.testing.assert_allclose(own.com, scale, rtol=1e-12)
    np.testing.assert_allclose(own.inertia, box.inertia, rtol=1e-10, atol=1e-12)


def test_mesh_turned_inside_out_has_the_same_mass_properties():
    mesh = box_mesh(0.2, 0.35, 0.11, (1, 0, 0))
    turned = Mesh(mesh.vertices, mesh.triangles[:, ::-1])
    own, other = (solid(ShapeType.MESH, (1, 1, 1), m) for m in (mesh, turned))
    assert own.mass == pytest.approx(other.mass, rel=1e-14)
    np.testing.assert_allclose(own.inertia, other.inertia, rtol=1e-12, atol=1e-15)


def test_open_mesh_is_refused_as_a_solid_and_taken_as_a_shell():
    mesh = box_mesh(0.2, 0.35, 0.11)
    lidless = Mesh(mesh.vertices, mesh.triangles[:-2])
    with pytest.raises(ModelError, match=r"'lid'.*open.*add_shape_convex_hull.*thickness"):
        shape_mass_properties(ShapeType.MESH, (1, 1, 1), 1000, lidless, what="shape 'lid'")
    own = shape_mass_properties(ShapeType.MESH, (1, 1, 1), 1000, lidless, thickness=0.01)
    area = 8 * (0.2 * 0.35 + 0.35 * 0.11 + 0.2 * 0.11) - 4 * 0.2 * 0.35
    assert own.mass == pytest.approx(10 * area, rel=1e-12)


def test_mesh_of_mixed_winding_is_refused_as_a_solid():
    mesh = box_mesh(0.2, 0.35, 0.11)
    triangles = mesh.triangles.copy()
    triangles[3] = triangles[3, ::-1]
    with pytest.raises(ModelError, match="winding"):
        solid(ShapeType.MESH, (1, 1, 1), Mesh(mesh.vertices, triangles), "shape 'x'")


def test_convex_hull_of_points_in_a_box_is_the_box():
    points = np.vstack([box_mesh(0.2, 0.35, 0.11).vertices, np.random.default_rng(0).uniform(-0.1, 0.1, (50, 3))])
    own = solid(ShapeType.CONVEX_HULL, (1, 1, 1), convex_hull(points))
    box = solid(ShapeType.BOX, (0.2, 0.35, 0.11))
    assert own.mass == pytest.approx(box.mass, rel=1e-12)
    np.testing.assert_allclose(own.inertia, box.inertia, atol=1e-12)


def test_halves_of_a_box_combine_to_the_box():
    half = solid(ShapeType.BOX, (0.1, 0.35, 0.11))
    whole = combine(half.moved((x, 0, 0, 0, 0, 0, 1)) for x in (-0.1, 0.1))
    box = solid(ShapeType.BOX, (0.2, 0.35, 0.11))
    assert whole.mass == pytest.approx(box.mass, rel=1e-14)
    np.testing.assert_allclose(whole.com, 0, atol=1e-15)
    np.testing.assert_allclose(whole.inertia, box.inertia, atol=1e-14)


def test_moved_and_combined_bodies_agree_with_a_cloud_of_point_masses():
    rng = np.random.default_rng(1)
    masses, points = rng.uniform(0.1, 2, 12), rng.normal(size=(12, 3))
    whole = combine(MassProperties(m, p, np.zeros((3, 3))) for m, p in zip(masses, points, strict=True)).moved(POSE)
    axis, angle = np.array([0.6, 0, 0.8]), 0.7
    skew = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    rotation = np.eye(3) + np.sin(angle) * skew + (1 - np.cos(angle)) * skew @ skew
    placed = points @ rotation.T + POSE[:3]
    com = masses @ placed / masses.sum()
    d = placed - com
    inertia = sum(m * (x @ x * np.eye(3) - np.outer(x, x)) for m, x in zip(masses, d, strict=True))
    np.testing.assert_allclose(whole.com, com, atol=1e-13)
    np.testing.assert_allclose(whole.inertia, inertia, atol=1e-12)


def test_mass_replaces_density():
    by_mass = shape_mass_properties(ShapeType.BOX, SIZES[ShapeType.BOX], 123.0, mass=2.0)
    volume = 8 * np.prod(SIZES[ShapeType.BOX])
    by_density = shape_mass_properties(ShapeType.BOX, SIZES[ShapeType.BOX], 2.0 / volume)
    assert by_mass.mass == 2.0
    np.testing.assert_allclose(by_mass.inertia, by_density.inertia, rtol=1e-14)


def test_nothing_combines_to_nothing():
    assert combine([]) is NOTHING
    assert combine([NOTHING, NOTHING]).mass == 0


def test_impossible_inertias_are_named():
    assert "symmetric" in inertia_problem(1, np.array([[1, 0.1, 0], [0, 1, 0], [0, 0, 1.0]]))
    assert "negative principal moment" in inertia_problem(1, np.diag([1, 1, -0.1]))
    assert "mass" in inertia_problem(0, np.eye(3))
    assert inertia_problem(1, np.diag([1, 2, 3.0])) == ""
    assert breaks_triangle_inequality(np.diag([1, 1, 2.1]))
    assert not breaks_triangle_inequality(np.diag([1, 1, 2.0]))


@pytest.mark.parametrize("radius", [1e80, 1e110, 1e300])
def test_a_shape_too_large_for_an_inertia_is_refused_by_name(radius):
    builder = sim.ModelBuilder()
    builder.add_shape_sphere(builder.add_body(), radius, label="planet")
    with pytest.raises(sim.ModelError, match="shape 'planet' is too large"):
        builder.finalize(device="cpu")


@pytest.mark.parametrize(
    "moments", [(1.0, 2.0, 2.5), (3.0, 3.0, 3.0), (2.0, 1.0, 1.0), (1e-9, 1.0, 1.0), (5.0, 0.0, 0.0)]
)
def test_principal_axes_are_those_that_made_the_inertia(moments):
    rng = np.random.default_rng(7)
    for _ in range(20):
        turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        inertia = turn @ np.diag(moments) @ turn.T
        inertia = 0.5 * (inertia + inertia.T)
        found, axes = principal_axes(inertia)
        np.testing.assert_allclose(np.sort(found), np.sort(moments), atol=1e-15 * max(moments) * 8)
        np.testing.assert_allclose(axes @ np.diag(found) @ axes.T, inertia, atol=1e-15 * max(moments) * 8)
        np.testing.assert_allclose(axes.T @ axes, np.eye(3), atol=4e-15)
        assert np.linalg.det(axes) > 0.0 and found.min() >= 0.0


def test_a_diagonal_inertia_keeps_its_axes_and_their_order():
    moments, axes = principal_axes(np.diag([3.0, 1.0, 2.0]))
    assert moments.tolist() == [3.0, 1.0, 2.0] and np.array_equal(axes, np.eye(3))
