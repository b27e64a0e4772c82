"""Pairs of meshes that touch, miss or overlap, and brute force in float64 for how they do."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import simengine as sim
from simengine.builder import mesh_collision
from simengine.builder.frames import rotation_matrix
from simengine.builder.mesh_data import Mesh, convex_hull
from tests.collision.collision_pairs import random_rotations, unit
from tests.collision.surface_pairs import star
from tests.collision.test_collide_convex import contacts_of, slabs


def prism(outline, cap, half: float) -> Mesh:
    """An outline (n, 2) between z = -half and half, whose triangles ``cap`` lists."""
    outline, cap, n = np.array(outline, float), np.array(cap), len(outline)
    vertices = np.concatenate([np.column_stack([outline, np.full(n, z)]) for z in (-half, half)])
    sides = [[i, (i + 1) % n, (i + 1) % n + n] for i in range(n)] + [[i, (i + 1) % n + n, i + n] for i in range(n)]
    mesh = Mesh(vertices, np.concatenate([cap[:, ::-1], cap + n, sides]))
    assert not mesh.solid_problem
    return mesh


def angle_piece() -> Mesh:
    """An L that stands on its longer side: 0.3 m long and high, 0.2 m wide, 0.1 m thick."""
    outline = [[0, 0], [0.3, 0], [0.3, 0.1], [0.1, 0.1], [0.1, 0.3], [0, 0.3]]
    flat = prism(outline, [[0, 1, 2], [0, 2, 3], [0, 3, 4], [0, 4, 5]], 0.1)
    return Mesh(np.asarray(flat.vertices)[:, [0, 2, 1]] * [1, -1, 1], flat.triangles)


def clamp() -> Mesh:
    outline = [[0, 0], [0.3, 0], [0.3, 0.3], [0.2, 0.3], [0.2, 0.1], [0.1, 0.1], [0.1, 0.3], [0, 0.3]]
    return prism(outline, [[0, 1, 4], [1, 2, 4], [2, 3, 4], [0, 4, 5], [0, 5, 7], [5, 6, 7]], 0.1)


def concave_meshes() -> list[Mesh]:
    import trimesh

    random = np.random.default_rng(0)
    ring = trimesh.creation.torus(0.2, 0.07, major_sections=14, minor_sections=8)
    tube = trimesh.creation.annulus(0.1, 0.2, 0.15, sections=12)
    made = [Mesh(m.vertices, m.faces) for m in (ring, tube)]
    return [star(random), star(random), angle_piece(), clamp(), *made]


def convex_meshes() -> list[Mesh]:
    """A box, a tetrahedron, a plate of 28 corners, a ball of random corners."""
    random = np.random.default_rng(1)
    corners = np.stack(np.meshgrid(*[[-1.0, 1]] * 3), -1).reshape(-1, 3)
    around = np.linspace(0, 2 * np.pi, 14, endpoint=False)
    rim = 0.3 * np.column_stack([np.cos(around), np.sin(around)])
    plate = np.concatenate([np.column_stack([rim, np.full(14, z)]) for z in (-0.03, 0.03)])
    points = [corners * [0.1, 0.2, 0.15], random.uniform(-0.4, 0.4, (4, 3)), plate]
    points.append(unit(random.normal(size=(20, 3))) * [0.2, 0.3, 0.25])
    return [convex_hull(p) for p in points]


def placed(mesh: Mesh, pose: np.ndarray) -> np.ndarray:
    """A mesh's vertices in the world."""
    return np.asarray(mesh.vertices) @ np.asarray(rotation_matrix(pose[3:])).T + pose[:3]


def edges_of(triangles: np.ndarray) -> np.ndarray:
    return np.unique(
        np.sort(np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])), axis=0
    )


# ---- seen along a direction


def axes_along(way: np.ndarray) -> np.ndarray:
    """Rows of a frame whose third axis is ``way``."""
    across = unit(np.cross(way, np.eye(3)[np.abs(way).argmin()]))
    return np.array([across, np.cross(way, across), way])


def heights_over(places: np.ndarray, vertices: np.ndarray, triangles: np.ndarray):
    """Heights (n, t) of triangles at places (n, 2), nan beside them, and which side of each (t,) is seen from above."""
    a, b, c = (vertices[triangles[:, i]] for i in range(3))
    area = (b[:, 0] - a[:, 0]) * (c[:, 1] - a[:, 1]) - (b[:, 1] - a[:, 1]) * (c[:, 0] - a[:, 0])
    flat = np.where(np.abs(area) < 1e-14, np.nan, area)
    x = places[:, None] - a[:, :2]
    u = (x[..., 0] * (c[:, 1] - a[:, 1]) - x[..., 1] * (c[:, 0] - a[:, 0])) / flat
    v = ((b[:, 0] - a[:, 0]) * x[..., 1] - (b[:, 1] - a[:, 1]) * x[..., 0]) / flat
    height = a[:, 2] + u * (b[:, 2] - a[:, 2]) + v * (c[:, 2] - a[:, 2])
    return np.where((u >= 0) & (v >= 0) & (u + v <= 1), height, np.nan), np.sign(area)


def touching_shift(one, other, way: np.ndarray) -> float:
    """How far the second of two (vertices, triangles) is to go along ``way`` to touch the first as it would coming from
    far along it; -inf: it passes by. The largest shift of a vertex to a face, or of an edge to an edge."""
    frame = axes_along(way)
    (p, s), (q, t) = ((np.asarray(v) @ frame.T, np.asarray(f)) for v, f in (one, other))
    e, f = edges_of(s), edges_of(t)
    a, along_a, b, along_b = (
        p[e[:, 0]][:, None],
        (p[e[:, 1]] - p[e[:, 0]])[:, None],
        q[f[:, 0]],
        q[f[:, 1]] - q[f[:, 0]],
    )
    area = along_a[..., 0] * along_b[:, 1] - along_a[..., 1] * along_b[:, 0]
    area = np.where(np.abs(area) < 1e-14, np.nan, area)
    x = b - a
    u = (x[..., 0] * along_b[:, 1] - x[..., 1] * along_b[:, 0]) / area
    v = (x[..., 0] * along_a[..., 1] - x[..., 1] * along_a[..., 0]) / area
    crosses = (u >= 0) & (u <= 1) & (v >= 0) & (v <= 1)
    edge = a[..., 2] + u * along_a[..., 2] - b[:, 2] - v * along_b[:, 2]
    shifts = (
        heights_over(q[:, :2], p, s)[0] - q[:, 2:],
        p[:, 2:] - heights_over(p[:, :2], q, t)[0],
        np.where(crosses, edge, np.nan),
    )
    return max(float(np.nanmax(x, initial=-np.inf)) if np.isfinite(x).any() else -np.inf for x in shifts)


def common_bounds(one, other):
    """Bounds of the overlap of two boxes about vertices."""
    return np.maximum(one.min(0), other.min(0)), np.minimum(one.max(0), other.max(0))


def common_volume(one, other, bounds, n: int = 40) -> float:
    """The volume that two closed (vertices, triangles) share: on n x n lines along z through ``bounds``, the lengths
    inside both."""
    lower, upper = bounds
    steps = (np.arange(n) + 0.37) / n
    places = np.stack(np.meshgrid(*(lower[k] + steps * (upper[k] - lower[k]) for k in range(2))), -1).reshape(-1, 2)
    heights, changes = [], []
    for vertices, triangles in (one, other):
        height, side = heights_over(places, vertices, np.asarray(triangles))
        heights.append(np.where(np.isnan(height), np.inf, height))
        changes.append(np.where(np.isnan(height), 0, -side))
    height, owner = np.concatenate(heights, 1), np.repeat([0, 1], [heights[0].shape[1], heights[1].shape[1]])
    order = np.argsort(height, axis=1)
    height = np.take_along_axis(height, order, 1)
    change = np.take_along_axis(np.concatenate(changes, 1), order, 1)
    within = [np.cumsum(change * (owner[order] == k), 1)[:, :-1] > 0.5 for k in range(2)]
    last = np.isfinite(height[:, 1:])
    length = np.where(last, height[:, 1:], 0) - np.where(last, height[:, :-1], 0)
    cell = np.prod((upper - lower)[:2]) / n**2
    return float(np.sum(length * (within[0] & within[1])) * cell)


# ---- pairs


def random_places(meshes: list[Mesh], n: int, seed: int, deepest: float):
    """Numbers (n, 2) of meshes, poses (n, 2, 7) and gaps (n,) along a random way: a third apart by up to 5 cm, a third
    within 1 mm, a third deeper, by up to ``deepest``."""
    random = np.random.default_rng(seed)
    which, pose, gap = np.zeros((n, 2), int), np.zeros((n, 2, 7)), np.zeros(n)
    for i in range(n):
        while True:
            which[i] = random.integers(0, len(meshes), 2)
            pose[i, :, 3:] = random_rotations(random, 2)
            way = unit(random.normal(size=3))
            beside = 0.05 * random.normal(size=3)
            pose[i, 0, :3], pose[i, 1, :3] = 0, beside - beside @ way * way
            one, other = ((placed(meshes[k], p), meshes[k].triangles) for k, p in zip(which[i], pose[i], strict=True))
            shift = touching_shift(one, other, way)
            if np.isfinite(shift):
                break
        gap[i] = random.uniform(*((1e-3, 0.05), (-1e-3, 1e-3), (-deepest, -1e-3))[i % 3])
        pose[i, 1, :3] += (shift + gap[i]) * way
    return which, pose, gap


def contacts_at(meshes: list[Mesh], which: np.ndarray, pose: np.ndarray, precision: str):
    """A model in which each world holds one pair, its state, for each pair its world, and its contacts."""
    builder = sim.ModelBuilder()
    kinds, kind = np.unique(which, axis=0, return_inverse=True)
    kind = kind.reshape(-1)
    for number, pair in enumerate(kinds):
        template = sim.ModelBuilder()
        for k in pair:
            template.add_shape_mesh(template.add_body(mass=1.0, inertia=np.eye(3)), meshes[k])
        builder.replicate(template, int(np.sum(kind == number)))
    order = np.argsort(kind, kind="stable")
    model = builder.finalize(device="cpu", precision=precision)
    state = model.state()
    state.body_q = pose[order].reshape(-1, 7).astype(precision)
    worlds = np.argsort(order)
    found = list(slabs(model, contacts_of(model, state)))
    return model, state, worlds, [found[world] for world in worlds]


def use_backward_trees(monkeypatch) -> None:
    """Trees of wide boxes, whose leaves hold the triangles backwards."""
    tree_of = mesh_collision.triangle_tree

    def backwards(mesh: Mesh):
        tree = tree_of(mesh)
        lower, upper = tree.lower.copy(), tree.upper.copy()
        lower[2:], upper[2:] = lower[1], upper[1]
        return replace(tree, order=tree.order[::-1].copy(), lower=lower, upper=upper)

    monkeypatch.setattr(mesh_collision, "triangle_tree", backwards)
