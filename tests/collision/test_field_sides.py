"""Convex shapes at the sides of a height field, which are those of its solid: against a hull of the same form."""

from __future__ import annotations

import numpy as np
import pytest

import simengine as sim
from simengine.builder.mesh_data import convex_hull
from simengine.collision import shape_distance

BODIES = {
    "sphere": lambda b, i: b.add_shape_sphere(i, 0.1),
    "capsule": lambda b, i: b.add_shape_capsule(i, 0.05, 0.08),
    "ellipsoid": lambda b, i: b.add_shape_ellipsoid(i, 0.1, 0.06, 0.08),
    "cylinder": lambda b, i: b.add_shape_cylinder(i, 0.08, 0.1),
    "box": lambda b, i: b.add_shape_box(i, 0.1, 0.07, 0.05),
    "cone": lambda b, i: b.add_shape_cone(i, 0.1, 0.1),
    "hull": lambda b, i: b.add_shape_convex_hull(i, convex_hull(HULL)),
}
HULL = np.random.default_rng(8).normal(size=(20, 3)) * 0.07
DEEP = 5.0  # m, of the solid's base


def slope(random) -> sim.ModelBuilder:
    """A world of a field that is a plane, level or not, and its solid as a hull."""
    by_x, by_y = random.uniform(-0.3, 0.3, 2) * (random.random() < 0.6)
    builder, points = sim.ModelBuilder(), np.linspace(-1, 1, random.integers(2, 8))
    builder.add_shape_heightfield(-1, 0.5 + by_x * points[None, :] + by_y * points[:, None], 1, 1, base=DEEP)
    corners = [(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-DEEP, 0.5 + by_x * x + by_y * y)]
    builder.add_shape_convex_hull(-1, convex_hull(np.array(corners)))
    return builder


def beside(random):
    """A pose near one of the sides or their edges, below the rim and above it."""
    along, off, turn = random.uniform(-1.1, 1.1), 1 + random.uniform(-0.15, 0.12), random.normal(size=4)
    place = [(off, along), (-off, along), (along, off), (along, -off)][random.integers(4)]
    return sim.transform((*place, random.uniform(-0.3, 0.9)), tuple(turn / np.linalg.norm(turn)))


@pytest.mark.parametrize("name", BODIES)
def test_the_distance_and_the_deepest_contact_are_those_of_the_solid(name, precision, device):
    random, worlds = np.random.default_rng(list(BODIES).index(name)), 80
    builder = sim.ModelBuilder()
    for _ in range(worlds):
        world = slope(random)
        BODIES[name](world, world.add_body(xform=beside(random)))
        builder.add_builder(world)
    model = builder.finalize(device=device, precision=precision)
    state, contacts = model.state(), model.contacts()
    first = 3 * np.arange(worlds)
    kinds = sim.to_numpy(model.shape_type)
    of_field, of_solid = (
        sim.to_numpy(
            shape_distance(model, state, [p if kinds[p[0]] <= kinds[p[1]] else p[::-1] for p in pairs]).distance
        )
        for pairs in (np.column_stack([first + i, first + 2]).tolist() for i in (0, 1))
    )
    tolerance = 1e-4 if precision == "float32" else 1e-6
    np.testing.assert_allclose(of_field, of_solid, atol=tolerance)
    assert (of_solid < -0.01).sum() > worlds / 3
    sim.collide(model, state, contacts)
    deepest = np.zeros(worlds)
    starts, counts, one, other, distance = (
        sim.to_numpy(getattr(contacts, name)) for name in ("world_start", "count", "shape0", "shape1", "distance")
    )
    for world in range(worlds):
        own = slice(starts[world], starts[world] + counts[world])
        of_the_field = (one[own] == first[world]) | (other[own] == first[world])
        deepest[world] = distance[own][of_the_field].min(initial=0)
    np.testing.assert_allclose(deepest, np.minimum(of_solid, 0), atol=tolerance)


@pytest.mark.parametrize("name", BODIES)
def test_a_body_that_meets_a_side_below_the_rim_is_not_thrown_up(name):
    builder = sim.ModelBuilder()
    builder.default_material = sim.Material(friction=0)
    builder.add_ground_plane()
    builder.add_shape_heightfield(-1, np.full((5, 5), 0.6), 1, 1)
    body = builder.add_body(xform=sim.transform((1.5, 0, 0.12)), velocity=(-2, 0, 0, 0, 0, 0))
    BODIES[name](builder, body)
    model = builder.finalize(device="cpu", precision="float64")
    solver, state, out, control = sim.solvers.Featherstone(model), model.state(), model.state(), model.control()
    highest, nearest = 0.0, 2.0
    for _ in range(400):
        solver.step(state, out, control, None, 2e-3)
        state, out = out, state
        highest, nearest = max(highest, state.body_q[0, 2]), min(nearest, state.body_q[0, 0])
    assert nearest < 1.15, "it came to the side"
    assert highest < 0.25 and np.linalg.norm(state.body_qd[0, :3]) < 2
