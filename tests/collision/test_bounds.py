"""Boxes about shapes, against points of their surfaces."""

import numpy as np
import pytest

import simengine as sim
from simengine.builder.frames import rotation_matrix

RANDOM = np.random.default_rng(5)


def sphere_points(count: int) -> np.ndarray:
    points = RANDOM.normal(size=(count, 3))
    return points / np.linalg.norm(points, axis=1, keepdims=True)


def circle_points(count: int) -> np.ndarray:
    angle = np.linspace(0, 2 * np.pi, count)
    return np.stack([np.cos(angle), np.sin(angle), 0 * angle], axis=1)


SIGNS = np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, -1).T
BALL, CIRCLE, UP = sphere_points(200_000), circle_points(200_000), np.array([0, 0, 1.0])
SHAPES = {
    "sphere": (lambda b, i, **o: b.add_shape_sphere(i, 0.4, **o), 0.4 * BALL),
    "box": (lambda b, i, **o: b.add_shape_box(i, 0.3, 0.2, 0.5, **o), SIGNS * (0.3, 0.2, 0.5)),
    "capsule": (
        lambda b, i, **o: b.add_shape_capsule(i, 0.2, 0.5, **o),
        np.vstack([0.2 * BALL + 0.5 * UP, 0.2 * BALL - 0.5 * UP]),
    ),
    "cylinder": (
        lambda b, i, **o: b.add_shape_cylinder(i, 0.3, 0.4, **o),
        np.vstack([0.3 * CIRCLE + 0.4 * UP, 0.3 * CIRCLE - 0.4 * UP]),
    ),
    "cone": (lambda b, i, **o: b.add_shape_cone(i, 0.4, 0.5, **o), np.vstack([0.4 * CIRCLE - 0.5 * UP, 0.5 * UP])),
    "ellipsoid": (lambda b, i, **o: b.add_shape_ellipsoid(i, 0.5, 0.3, 0.2, **o), BALL * (0.5, 0.3, 0.2)),
    "mesh": (
        lambda b, i, **o: b.add_shape_mesh(
            i, (SIGNS * 1.0, [[0, 1, 2], [3, 4, 5], [5, 6, 7]]), scale=(0.2, -0.3, 0.4), **o
        ),
        SIGNS * (0.2, -0.3, 0.4),
    ),
}


@pytest.mark.parametrize("name", SHAPES)
def test_a_box_holds_the_points_of_the_surface_and_no_more(name, precision):
    add, points = SHAPES[name]
    for seed in range(4):
        random = np.random.default_rng(seed)
        turn = sim.quat_from_axis_angle(random.normal(size=3), random.uniform(0, 3))
        body_pose, shape_pose = sim.transform((3, -2, 1), turn), sim.transform((0.1, 0.2, -0.3), turn[[1, 0, 2, 3]])
        builder = sim.ModelBuilder()
        body = builder.add_body(xform=body_pose, mass=1, inertia=(1, 1, 1))
        add(builder, body, xform=shape_pose, density=0, margin=0.02, gap=0.03)
        model = builder.finalize(device="cpu", precision=precision)
        moved = points @ rotation_matrix(shape_pose[3:]).T + shape_pose[:3]
        moved = moved @ rotation_matrix(body_pose[3:]).T + body_pose[:3]
        lower, upper = sim.collision.shape_bounds(model, model.state(), with_margin=False)
        close = 2e-6 if precision == "float32" else 1e-9
        # the points that reach furthest are found to the square of their spacing on a round surface
        np.testing.assert_allclose(lower[0], moved.min(axis=0), atol=3e-4 if len(points) > 8 else close)
        np.testing.assert_allclose(upper[0], moved.max(axis=0), atol=3e-4 if len(points) > 8 else close)
        assert (moved >= lower[0] - close).all()
        assert (moved <= upper[0] + close).all()
        wider = sim.collision.shape_bounds(model, model.state())
        np.testing.assert_allclose(wider[0][0], lower[0] - 0.05, atol=2e-6)
        np.testing.assert_allclose(wider[1][0], upper[0] + 0.05, atol=2e-6)


def test_a_plane_bounds_the_half_space_behind_it_or_everything():
    builder = sim.ModelBuilder()
    builder.add_shape_plane(-1, xform=sim.transform((0, 0, 0.5)))
    builder.add_shape_plane(-1, xform=sim.transform((0, 0, 0), sim.quat_from_axis_angle((1, 0, 0), 0.1)))
    model = builder.finalize(device="cpu")
    lower, upper = sim.collision.shape_bounds(model, model.state())
    assert np.isneginf(lower).all()
    assert np.isposinf(upper[1]).all()
    np.testing.assert_array_equal(upper[0], [np.inf, np.inf, 0.5])
