"""Random pairs of convex shapes in a model, and brute force over directions for their signed distance.

The signed distance is the largest gap over all directions (collision_pairs.py); every direction bounds it from below.
For shapes apart the distance of any point of one to any point of the other bounds it from above.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import simengine as sim
from simengine.enums import ShapeType
from tests.collision.collision_pairs import matrices, random_rotations, turn, unit, unturn

KINDS = (
    ShapeType.SPHERE,
    ShapeType.CAPSULE,
    ShapeType.ELLIPSOID,
    ShapeType.CYLINDER,
    ShapeType.BOX,
    ShapeType.CONE,
    ShapeType.CONVEX_HULL,
)
PAIRS = [(a, b) for i, a in enumerate(KINDS) for b in KINDS[i:]]
HULLS = 12


@dataclass
class Shapes:
    """n shapes of one kind: poses (n, 7), sizes (n, 3), and for hulls points (n, k, 3), some of them repeated."""

    kind: ShapeType
    pose: np.ndarray
    size: np.ndarray
    points: np.ndarray | None = None

    def __getitem__(self, rows) -> Shapes:
        points = None if self.points is None else self.points[rows]
        return Shapes(self.kind, self.pose[rows], self.size[rows], points)

    def support(self, d: np.ndarray) -> np.ndarray:
        """The furthest points along world directions (n, k, 3)."""
        return self.pose[:, None, :3] + turn(self.pose, self._local_support(unturn(self.pose, d)))

    def _local_support(self, d: np.ndarray) -> np.ndarray:
        size = self.size[:, None]
        side = np.where(d < 0, -1.0, 1.0)
        flat = d[..., :2] / np.maximum(np.linalg.norm(d[..., :2], axis=-1, keepdims=True), 1e-300)
        match self.kind:
            case ShapeType.SPHERE:
                return size[..., :1] * unit(d)
            case ShapeType.CAPSULE:
                return size[..., :1] * unit(d) + side * size[..., 1:2] * [0, 0, 1]
            case ShapeType.BOX:
                return side * size
            case ShapeType.ELLIPSOID:
                return size**2 * d / np.linalg.norm(size * d, axis=-1, keepdims=True)
            case ShapeType.CYLINDER:
                return np.concatenate([size[..., :1] * flat, side[..., 2:] * size[..., 1:2]], -1)
            case ShapeType.CONE:
                rim = np.concatenate([size[..., :1] * flat, -size[..., 1:2] + 0 * flat[..., :1]], -1)
                apex = size[..., 1:2] * [0, 0, 1] + 0 * d
                return np.where(np.sum((apex - rim) * d, -1, keepdims=True) > 0, apex, rim)
        heights = np.einsum("nki,npi->nkp", d, self.points)
        return np.take_along_axis(self.points, heights.argmax(-1)[..., None], 1)

    def outside(self, x: np.ndarray) -> np.ndarray:
        """How far points (n, 3) are outside, to first order; negative inside (of a hull: -inf, see hull_violation)."""
        p, size = unturn(self.pose, x - self.pose[:, :3]), self.size
        across = np.hypot(p[:, 0], p[:, 1])
        match self.kind:
            case ShapeType.SPHERE:
                return np.linalg.norm(p, axis=1) - size[:, 0]
            case ShapeType.CAPSULE:
                p[:, 2] -= np.clip(p[:, 2], -size[:, 1], size[:, 1])
                return np.linalg.norm(p, axis=1) - size[:, 0]
            case ShapeType.BOX:
                return np.max(np.abs(p) - size, axis=1)
            case ShapeType.ELLIPSOID:
                return (np.linalg.norm(p / size, axis=1) - 1) * size.min(1)
            case ShapeType.CYLINDER:
                return np.maximum(across - size[:, 0], np.abs(p[:, 2]) - size[:, 1])
            case ShapeType.CONE:
                slope = unit(np.column_stack([2 * size[:, 1], size[:, 0]]))
                side = slope[:, 0] * across + slope[:, 1] * (p[:, 2] - size[:, 1])
                return np.maximum(side, -size[:, 1] - p[:, 2])
        normal, offset = zip(*(_planes(points) for points in self.points), strict=True)
        return np.array([np.max(n @ y + o) for n, o, y in zip(normal, offset, p, strict=True)])

    def normals(self) -> np.ndarray:
        """Directions (n, k, 3) of the world that matter: axes, and the normals of a hull's faces."""
        if self.points is None:
            return np.swapaxes(matrices(self.pose[:, 3:]), 1, 2)
        planes = [_planes(points)[0] for points in self.points]
        most = max(map(len, planes))
        return turn(self.pose, np.array([np.resize(normal, (most, 3)) for normal in planes]))

    def edges(self) -> np.ndarray:
        """Directions (n, k, 3) of the world along edges: axes, or the edges of a hull."""
        if self.points is None:
            return np.swapaxes(matrices(self.pose[:, 3:]), 1, 2)
        edges = [_edges(points) for points in self.points]
        most = max(map(len, edges))
        return turn(self.pose, np.array([np.resize(edge, (most, 3)) for edge in edges]))


_HULL_CACHE: dict = {}


def _hull(points: np.ndarray):
    from scipy.spatial import ConvexHull

    key = points.tobytes()
    if key not in _HULL_CACHE:
        _HULL_CACHE[key] = ConvexHull(np.unique(points, axis=0))
    return _HULL_CACHE[key]


def _planes(points: np.ndarray):
    hull = _hull(points)
    return hull.equations[:, :3], hull.equations[:, 3]


def _edges(points: np.ndarray) -> np.ndarray:
    hull = _hull(points)
    pairs = np.unique(
        np.sort(np.concatenate([hull.simplices[:, [0, 1]], hull.simplices[:, [1, 2]], hull.simplices[:, [2, 0]]]), 1),
        axis=0,
    )
    return unit(hull.points[pairs[:, 1]] - hull.points[pairs[:, 0]])


def hull_points(random, index: int) -> np.ndarray:
    """Vertices of one of a few hulls: round, boxy (coplanar points), a tetrahedron, a thin plate."""
    kind = index % 4
    if kind == 0:
        return unit(random.normal(size=(random.integers(8, 30), 3))) * random.uniform(0.1, 0.5, 3)
    if kind == 1:
        grid = np.stack(np.meshgrid(*[[-1.0, 0, 1]] * 3), -1).reshape(-1, 3)
        return grid * random.uniform(0.1, 0.5, 3)
    if kind == 2:
        return random.uniform(-0.5, 0.5, (4, 3))
    around = np.linspace(0, 2 * np.pi, 14, endpoint=False)
    rim = np.column_stack([np.cos(around), np.sin(around)]) * random.uniform(0.1, 0.5, 2)
    return np.concatenate([np.column_stack([rim, np.full(14, z)]) for z in (-0.02, 0.03)])


def random_sizes(random, kind: ShapeType, n: int) -> np.ndarray:
    size = random.uniform(0.05, 0.5, (n, 3))
    if kind == ShapeType.SPHERE:
        size[:, 1:] = 0
    if kind in (ShapeType.CAPSULE, ShapeType.CYLINDER, ShapeType.CONE):
        size[:, 2] = 0
    if kind == ShapeType.CONVEX_HULL:
        size[:] = 1
    return size


def gaps(a: Shapes, b: Shapes, directions: np.ndarray) -> np.ndarray:
    """Gap of each pair along unit directions (n, k, 3) from the first shape to the second."""
    return np.sum(directions * (b.support(-directions) - a.support(directions)), -1)


def random_pairs(kinds, n: int, seed: int):
    """n pairs in a model: a third apart, a third within 1 mm of touching, a third penetrating by up to 0.1 m.

    Along a direction (any, one that matters to either shape, or a product of two of those) the supporting planes of the
    two are set the wanted gap apart, and in half of the cases the second shape is slid along the first's. Returns the
    model, its state, and the two Shapes.
    """
    random = np.random.default_rng(seed)
    each = np.arange(n)
    both = []
    for kind in kinds:
        pose = np.column_stack([random.uniform(-1, 1, (n, 3)), random_rotations(random, n)])
        points = None
        if kind == ShapeType.CONVEX_HULL:
            hulls = [hull_points(random, i) for i in range(HULLS)]
            most = max(map(len, hulls))
            points = np.array([np.resize(hull, (most, 3)) for hull in hulls])[each % HULLS]
        both.append(Shapes(kind, pose, random_sizes(random, kind, n), points))
    a, b = both
    ways = [unit(random.normal(size=(n, 3)))]
    for shapes in both:
        normals = shapes.normals()
        ways.append(normals[each, random.integers(0, normals.shape[1], n)])
    edges = [shapes.edges()[each, random.integers(0, shapes.edges().shape[1], n)] for shapes in both]
    ways.append(unit(np.cross(*edges) + 1e-9 * random.normal(size=(n, 3))))
    way = np.array(ways)[random.integers(0, 4, n), each] * random.choice([-1.0, 1.0], (n, 1))
    gap = np.choose(each % 3, [random.uniform(*ends, n) for ends in ((1e-3, 0.05), (-1e-3, 1e-3), (-0.1, -1e-3))])
    b.pose[:, :3] = 0
    b.pose[:, :3] = (a.support(way[:, None]) - b.support(-way[:, None]))[:, 0] + gap[:, None] * way
    slide = random.uniform(-0.15, 0.15, (n, 3)) * (random.uniform(size=(n, 1)) < 0.5)
    b.pose[:, :3] += slide - np.sum(slide * way, 1, keepdims=True) * way
    return a, b


def model_of(a: Shapes, b: Shapes, precision: str):
    """A model in which world i holds pair i, its state, and the pairs of its shapes."""
    n = len(a.pose)
    hulls = HULLS if ShapeType.CONVEX_HULL in (a.kind, b.kind) else 1
    builder = sim.ModelBuilder()
    for world in range(min(n, hulls)):
        template = sim.ModelBuilder()
        for shapes in (a, b):
            add_shape(template, template.add_body(mass=1.0, inertia=np.eye(3)), shapes, world)
        builder.replicate(template, len(range(world, n, hulls)))
    model = builder.finalize(device="cpu", precision=precision)
    state = model.state()
    order = np.argsort(np.arange(n) % hulls, kind="stable")  # world -> pair
    state.body_q = np.stack([a.pose[order], b.pose[order]], 1).reshape(-1, 7).astype(precision)
    size = np.stack([a.size[order], b.size[order]], 1).reshape(-1, 3).astype(precision)
    model.shape_size = size
    radius = [bounding_radius(shapes)[order] for shapes in (a, b)]
    model.shape_radius = np.stack(radius, 1).ravel().astype(precision)
    pairs = np.empty((n, 2), np.int32)
    pairs[order] = np.arange(2 * n).reshape(n, 2)
    return model, state, pairs


def add_shape(builder, body: int, shapes: Shapes, i: int) -> None:
    if shapes.kind == ShapeType.CONVEX_HULL:
        builder.add_shape_convex_hull(body, np.unique(shapes.points[i], axis=0))
        return
    names = {"sphere": 1, "capsule": 2, "ellipsoid": 3, "cylinder": 2, "box": 3, "cone": 2}
    name = shapes.kind.name.lower()
    getattr(builder, f"add_shape_{name}")(body, *shapes.size[i, : names[name]])


def bounding_radius(shapes: Shapes) -> np.ndarray:
    x, y = shapes.size[:, 0], shapes.size[:, 1]
    match shapes.kind:
        case ShapeType.SPHERE | ShapeType.CAPSULE:
            return x + y
        case ShapeType.BOX:
            return np.linalg.norm(shapes.size, axis=1)
        case ShapeType.ELLIPSOID:
            return shapes.size.max(1)
        case ShapeType.CONVEX_HULL:
            return np.linalg.norm(shapes.points, axis=2).max(1)
    return np.hypot(x, y)


def searched_distance(a: Shapes, b: Shapes, start: np.ndarray, random, rounds: int = 20) -> np.ndarray:
    """The largest gap that a search over directions finds: everywhere, along what matters to polytopes, and around the
    best and around ``start`` (n, 3) in ever smaller circles."""
    n = len(start)
    products = np.cross(a.edges()[:, :, None], b.edges()[:, None]).reshape(n, -1, 3)
    size = np.linalg.norm(products, axis=-1, keepdims=True)
    products = np.where(size > 1e-9, products / np.maximum(size, 1e-300), [1.0, 0, 0])
    fixed = np.concatenate([a.normals(), b.normals(), products], 1)
    anywhere = unit(random.normal(size=(n, 500, 3)))
    best = np.full((n, 6), -np.inf)
    way = np.zeros((n, 6, 3))
    for directions in (fixed, -fixed, anywhere, start[:, None]):
        for part in np.array_split(np.arange(directions.shape[1]), max(1, directions.shape[1] // 500)):
            found = gaps(a, b, directions[:, part])
            values = np.concatenate([best, found], 1)
            choices = np.concatenate([way, directions[:, part]], 1)
            order = np.argsort(-values, axis=1)[:, :6]
            best = np.take_along_axis(values, order, 1)
            way = np.take_along_axis(choices, order[..., None], 1)
    for width in np.geomspace(0.2, 1e-7, rounds):
        near = unit(way[:, :, None] + width * random.normal(size=(n, 6, 12, 3)))
        found = gaps(a, b, near.reshape(n, -1, 3)).reshape(n, 6, 12)
        better = found.max(2) > best
        chosen = np.take_along_axis(near, found.argmax(2)[..., None, None], 2)[:, :, 0]
        best = np.where(better, found.max(2), best)
        way = np.where(better[..., None], chosen, way)
    return best.max(1)
