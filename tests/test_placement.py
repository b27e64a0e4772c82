"""How far shapes reach, against points sampled on their surfaces."""

import math

import numpy as np
import pytest

import simengine as sim
from simengine.placement import deepest, reach, stance

BODY = sim.transform((1, -2, 0.5), (0.1, 0.7, -0.1, 0.7))
SHAPE = sim.transform((0.3, 0.1, -0.2), (0.36, 0.48, 0, 0.8))


def sphere_points(count=200_000) -> np.ndarray:
    points = np.random.default_rng(1).normal(size=(count, 3))
    return points / np.linalg.norm(points, axis=1, keepdims=True)


def disc_points(z) -> np.ndarray:
    angle = np.linspace(0, 2 * math.pi, 20_000)
    return np.stack([np.cos(angle), np.sin(angle), np.full_like(angle, z)], axis=1)


def capsule_points(radius, half):
    points = radius * sphere_points()
    return points + half * np.sign(points[:, 2:]) * (0, 0, 1)


TETRAHEDRON = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)], float)
FACES = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]
BOX = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], float)

SHAPES = {
    "sphere": (lambda b, **o: b.add_shape_sphere(0, 0.3, **o), 0.3 * sphere_points()),
    "box": (lambda b, **o: b.add_shape_box(0, 0.1, 0.2, 0.3, **o), BOX * (0.1, 0.2, 0.3)),
    "capsule": (lambda b, **o: b.add_shape_capsule(0, 0.1, 0.4, **o), capsule_points(0.1, 0.4)),
    "ellipsoid": (lambda b, **o: b.add_shape_ellipsoid(0, 0.1, 0.2, 0.4, **o), sphere_points() * (0.1, 0.2, 0.4)),
    "cylinder": (
        lambda b, **o: b.add_shape_cylinder(0, 0.1, 0.4, **o),
        np.concatenate([disc_points(-1), disc_points(1)]) * (0.1, 0.1, 0.4),
    ),
    "cone": (
        lambda b, **o: b.add_shape_cone(0, 0.1, 0.4, **o),
        np.concatenate([disc_points(-1) * (0.1, 0.1, 0.4), [(0, 0, 0.4)]]),
    ),
    "mesh": (lambda b, **o: b.add_shape_mesh(0, (TETRAHEDRON, FACES), scale=2.0, **o), 2 * TETRAHEDRON),
}


def moved(points, pose):
    x, y, z, w = pose[3:]
    axis = np.array([x, y, z])
    turned = points + 2 * np.cross(axis, np.cross(axis, points) + w * points)
    return turned + pose[:3]


@pytest.mark.parametrize("kind", SHAPES)
def test_reach_is_that_of_the_surface(kind):
    add, points = SHAPES[kind]
    builder = sim.ModelBuilder()
    builder.add_body(xform=BODY, label="body")
    add(builder, xform=SHAPE)
    builder.add_ground_plane()
    model = builder.finalize(device="cpu", precision="float64")
    points = moved(moved(points, SHAPE), BODY)
    for direction in ((0, 0, -1), (1, 0, 0), (0.6, 0, 0.8), (-0.48, 0.6, 0.64)):
        assert reach(model, direction) == pytest.approx((points @ direction).max(), abs=1e-4)


def test_only_what_collides_counts_where_something_does():
    builder = sim.ModelBuilder()
    body = builder.add_body()
    builder.add_shape_sphere(body, 0.5, collides=False)
    assert reach(builder.finalize(device="cpu"), (0, 0, 1)) == pytest.approx(0.5)
    builder.add_shape_sphere(body, 0.2)
    assert reach(builder.finalize(device="cpu"), (0, 0, 1)) == pytest.approx(0.2)


def test_planes_alone_reach_nowhere():
    builder = sim.ModelBuilder()
    builder.add_body(mass=1, inertia=(1, 1, 1))
    builder.add_ground_plane()
    assert reach(builder.finalize(device="cpu"), (0, 0, 1)) is None


@pytest.mark.parametrize("lifted", [0.0, 0.4])
def test_a_stance_is_told_from_where_the_robot_would_stand(lifted):
    """A box of 0.4 by 0.2 by 0.6 m, its frame 0.1 m below its centre, sunk by 0.05 m and leaning by 0.3 rad."""
    start = sim.transform((1, 2, 0.2 + lifted), sim.quat_from_axis_angle((0, 0, 1), 1.0))
    builder = sim.ModelBuilder()
    body = builder.add_body(xform=start)
    builder.add_shape_box(body, 0.2, 0.1, 0.3, xform=sim.transform((0, 0, 0.1)))
    builder.add_ground_plane()
    model = builder.finalize(device="cpu", precision="float64")
    state = model.state()
    assert stance(model, state) == pytest.approx((-lifted, 0.0, 0.6), abs=1e-7)
    state.body_q[0, 2] = 0.15
    axis = np.array((math.cos(1), math.sin(1), 0))  # the box's own x: the lean follows its turn about z
    state.body_q[0, 3:] = quaternion_product((*(axis * math.sin(0.15)), math.cos(0.15)), start[3:])
    assert stance(model, state) == pytest.approx((0.05, 0.3, 0.6), abs=1e-12)


def quaternion_product(a, b) -> np.ndarray:
    (*u, s), (*v, t) = a, b
    u, v = np.array(u), np.array(v)
    return np.array((*(s * v + t * u + np.cross(u, v)), s * t - u @ v))


def test_what_is_fixed_or_has_no_shape_has_no_stance():
    for fixed in (True, False):
        builder = sim.ModelBuilder()
        body = builder.add_body(mass=1, inertia=(1, 1, 1))
        if fixed:
            builder.add_joint_fixed(-1, body)
            builder.add_shape_sphere(body, 0.1)
        model = builder.finalize(device="cpu")
        assert stance(model, model.state()) is None


def test_the_deepest_shape_is_told_with_its_plane():
    """A box of 0.6 m, its centre 0.1 m above one plane and on another, of a slope of 3 to 4."""
    builder = sim.ModelBuilder()
    builder.add_ground_plane()
    slope = sim.transform((0, 0, 0.1), sim.quat_from_axis_angle((0, 1, 0), math.asin(0.6)))
    steep = builder.add_shape_plane(-1, xform=slope)
    box = builder.add_shape_box(builder.add_body(xform=sim.transform((0, 0, 0.1))), 0.3, 0.3, 0.3)
    deeper = builder.add_body(xform=sim.transform((0, 0, -0.7)))
    builder.add_shape_box(deeper, 0.3, 0.3, 0.3, contype=2, conaffinity=2)  # which meets no plane
    builder.add_shape_sphere(builder.add_body(xform=sim.transform((0, 0, 0.2))), 0.3)
    model = builder.finalize(device="cpu", precision="float64")
    assert deepest(model) == (box, steep, pytest.approx(0.3 * (0.6 + 0.8)))


def test_what_stands_or_does_not_move_is_inside_nothing():
    builder = sim.ModelBuilder()
    builder.add_ground_plane()
    builder.add_shape_box(builder.add_body(xform=sim.transform((0, 0, 0.3))), 0.3, 0.3, 0.3)
    held = builder.add_body()
    builder.add_joint_fixed(-1, held, parent_xform=sim.transform((0, 0, -1)))
    builder.add_shape_sphere(held, 0.1)
    assert deepest(builder.finalize(device="cpu", precision="float64")) is None
