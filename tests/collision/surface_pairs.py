"""Random pairs of a convex shape with a mesh or a height field, and their distances by solids or by triangles."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import simengine as sim
from simengine.builder.mesh_data import Mesh, convex_hull
from simengine.collision import shape_distance
from simengine.enums import ShapeType
from tests.collision.collision_pairs import random_rotations, turn, unit
from tests.collision.convex_pairs import (
    HULLS,
    Shapes,
    add_shape,
    bounding_radius,
    hull_points,
    random_pairs,
    random_sizes,
)
from tests.collision.distance_reference import nearest_of_hull

FIELD_HALF, FIELD_POINTS, FIELD_FLOOR = 1.0, 9, -10.0


@dataclass
class SurfacePairs:
    """n convex shapes ``a`` over surfaces; ``solid``: the hulls of those (their surface, where they are convex).

    ``surfaces``: the meshes, or arrays of heights; pair i has surface i % HULLS.
    """

    a: Shapes
    solid: Shapes
    surfaces: list

    def placed(self, precision: str = "float64"):
        """A model in which each world holds a pair, its state, and the pairs of its shapes, the convex one first."""
        n, builder = len(self.a.pose), sim.ModelBuilder()
        for world in range(HULLS):
            template = sim.ModelBuilder()
            add_shape(template, template.add_body(mass=1.0, inertia=np.eye(3)), self.a, world)
            if isinstance(self.surfaces[world], Mesh):
                template.add_shape_mesh(template.add_body(mass=1.0, inertia=np.eye(3)), self.surfaces[world])
            else:
                template.add_body(mass=1.0, inertia=np.eye(3))
                template.add_shape_heightfield(-1, self.surfaces[world], FIELD_HALF, FIELD_HALF, 0.5)
            builder.replicate(template, len(range(world, n, HULLS)))
        model = builder.finalize(device="cpu", precision=precision)
        order = np.argsort(np.arange(n) % HULLS, kind="stable")  # world -> pair
        state = model.state()
        state.body_q = np.stack([self.a.pose[order], self.solid.pose[order]], 1).reshape(-1, 7).astype(precision)
        convex = np.flatnonzero(np.asarray(model.shape_type) == self.a.kind)
        size, radius = np.array(model.shape_size), np.array(model.shape_radius)
        size[convex], radius[convex] = self.a.size[order], bounding_radius(self.a)[order]
        model.shape_size, model.shape_radius = size, radius
        pairs = np.empty((n, 2), np.int32)
        pairs[order] = np.column_stack([convex, np.setdiff1d(np.arange(model.shape_count), convex)])
        return model, state, pairs

    def measure(self, precision: str = "float64"):
        """Distance, normal and witness points of each pair, from the convex shape to the surface; float64."""
        found = shape_distance(*self.placed(precision))
        return [np.asarray(x, float) for x in (found.distance, found.normal, found.point0, found.point1)]


def star(random) -> Mesh:
    """A closed mesh with spikes and hollows of 80 triangles."""
    import trimesh

    ball = trimesh.creation.icosphere(subdivisions=1)
    return Mesh(ball.vertices * random.uniform(0.12, 0.4, (len(ball.vertices), 1)), ball.faces)


def mesh_pairs(kind: ShapeType, n: int, seed: int, convex: bool) -> SurfacePairs:
    """Shapes near convex meshes, or near stars and placed then by the hulls of those."""
    a, solid = random_pairs((kind, ShapeType.CONVEX_HULL), n, seed)
    if convex:
        return SurfacePairs(a, solid, [convex_hull(np.unique(solid.points[i], axis=0)) for i in range(HULLS)])
    random = np.random.default_rng(seed)
    meshes = [star(random) for _ in range(HULLS)]
    points = np.array([mesh.vertices for mesh in meshes])[np.arange(n) % HULLS]
    way = unit(random.normal(size=(n, 3)))
    solid = Shapes(ShapeType.CONVEX_HULL, solid.pose, np.ones((n, 3)), points)
    gap = random.uniform(-0.25, 0.05, (n, 1))  # into the hollows
    a.pose[:, :3] = 0
    a.pose[:, :3] = (solid.support(way[:, None]) - a.support(-way[:, None]))[:, 0] + gap * way
    return SurfacePairs(a, solid, meshes)


def field_pairs(kind: ShapeType, n: int, seed: int) -> SurfacePairs:
    """Shapes over height fields that are convex solids: a third apart, a third within 1 mm, a third deeper."""
    random = np.random.default_rng(seed)
    along = np.linspace(-FIELD_HALF, FIELD_HALF, FIELD_POINTS)
    x, y = np.meshgrid(along, along)
    bends = random.uniform(0.05, 0.5, (HULLS, 2, 1, 1))
    heights = list(-bends[:, 0] * x**2 - bends[:, 1] * y**2 + 0.02 * bends[:, 0] * x * y)
    tops = np.array([np.column_stack([x.ravel(), y.ravel(), z.ravel()]) for z in heights])
    points = np.concatenate([tops, tops * [1, 1, 0] + [0, 0, FIELD_FLOOR]], 1)
    identity = np.tile([0.0, 0, 0, 0, 0, 0, 1], (n, 1))
    solid = Shapes(ShapeType.CONVEX_HULL, identity, np.ones((n, 3)), points[np.arange(n) % HULLS])
    hulls = None
    if kind == ShapeType.CONVEX_HULL:
        some = [hull_points(random, i) for i in range(HULLS)]
        most = max(map(len, some))
        hulls = np.array([np.resize(hull, (most, 3)) for hull in some])[np.arange(n) % HULLS]
    pose = np.column_stack([np.zeros((n, 3)), random_rotations(random, n)])
    a = Shapes(kind, pose, random_sizes(random, kind, n), hulls)
    bound = 0.45 * bends[np.arange(n) % HULLS, :, 0, 0]  # within the slopes of the solid, clear of its rim
    way = unit(np.column_stack([random.uniform(-bound, bound), np.ones(n)]))
    gap = np.choose(np.arange(n) % 3, [random.uniform(*e, n) for e in ((1e-3, 0.05), (-1e-3, 1e-3), (-0.02, -1e-3))])
    touch = solid.support(way[:, None])[:, 0] - a.support(-way[:, None])[:, 0]
    a.pose[:, :3] = touch + gap[:, None] * way
    return SurfacePairs(a, solid, heights)


def nearest_triangle_distance(a: Shapes, mesh: Mesh, pose: np.ndarray, distance: float, normal: np.ndarray) -> float:
    """The distance of one shape to the nearest triangle of a mesh, each of which is parted from the shape along some
    direction by ``distance``, or measured by itself."""
    triangles = np.asarray(mesh.vertices)[np.asarray(mesh.triangles)]
    count = len(triangles)
    each = Shapes(ShapeType.CONVEX_HULL, np.tile(pose, (count, 1)), np.ones((count, 3)), triangles)
    points = None if a.points is None else np.repeat(a.points, count, 0)
    shapes = Shapes(a.kind, np.repeat(a.pose, count, 0), np.repeat(a.size, count, 0), points)
    across = turn(each.pose, unit(np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])))
    towards = pose[:3] + turn(each.pose, triangles.mean(1)) - a.pose[:, :3]
    ways = np.stack([np.tile(normal, (count, 1)), across, -across, unit(towards)], 1)
    gap = np.sum(ways * (each.support(-ways) - shapes.support(ways)), -1)
    near = np.flatnonzero(gap.max(1) <= max(distance, gap.max(1).min()) + 1e-9)
    best = ways[near, gap[near].argmax(1)]
    return float(nearest_of_hull(shapes[near], each[near], best).min())
