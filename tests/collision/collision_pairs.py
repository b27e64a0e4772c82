"""Random pairs of shapes, the kernel that collides them, and what brute force over directions says of their distance.

The signed distance of two convex bodies is the largest gap over all directions,

    d = max over unit n of (min over B of n . x - max over A of n . x),

for bodies apart and for bodies that overlap (then it is minus the least translation that parts them). Every direction
gives a lower bound; so a contact's distance is right when its own normal attains it and no other direction exceeds it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from simengine.enums import PRIMITIVE_ROUTINES, PairRoutine, ShapeType
from simengine.runtime.kernel import Kernel

PAIR_KERNEL = Kernel(Path(__file__).parent / "pair_kernel.cu", "pair_contacts")

SHAPES = {routine: tuple(ShapeType[name] for name in routine.name.split("_")) for routine in PRIMITIVE_ROUTINES}


@dataclass
class Pairs:
    """n pairs of shapes of two kinds: poses (n, 7), sizes (n, 3)."""

    routine: PairRoutine
    pose0: np.ndarray
    size0: np.ndarray
    pose1: np.ndarray
    size1: np.ndarray

    @property
    def shapes(self):
        """(kind, pose, size) of the first and of the second."""
        kinds = SHAPES[self.routine]
        return (kinds[0], self.pose0, self.size0), (kinds[1], self.pose1, self.size1)

    def __len__(self):
        return len(self.pose0)

    def __getitem__(self, rows):
        return Pairs(self.routine, self.pose0[rows], self.size0[rows], self.pose1[rows], self.size1[rows])

    def moved(self, transform: np.ndarray) -> Pairs:
        """The same pairs after a rigid motion (7,)."""
        pose0, pose1 = compose(transform, self.pose0), compose(transform, self.pose1)
        return Pairs(self.routine, pose0, self.size0, pose1, self.size1)


@dataclass
class Found:
    """Contacts of n pairs, up to 8 each; what is beyond `count` is NaN."""

    count: np.ndarray
    feature: np.ndarray
    point0: np.ndarray
    normal: np.ndarray
    distance: np.ndarray

    @property
    def point1(self):
        return self.point0 + self.distance[..., None] * self.normal

    def deepest(self):
        """Index of the deepest contact of each pair, which must have one."""
        return np.nanargmin(self.distance, axis=1)


def collide(pairs: Pairs, reach: float, precision: str = "float64") -> Found:
    """Contacts of every pair within `reach`."""
    n, dtype = len(pairs), np.dtype(precision)
    arrays = [np.ascontiguousarray(a, dtype) for a in (pairs.pose0, pairs.size0, pairs.pose1, pairs.size1)]
    count, feature, rows = np.zeros(n, np.int32), np.full((n, 8), -1, np.int32), np.full((n, 8, 7), np.nan, dtype)
    PAIR_KERNEL.launch(n, [int(pairs.routine), reach, *arrays, count, feature, rows])
    rows = rows.astype(np.float64)
    return Found(count, feature, rows[..., :3], rows[..., 3:6], rows[..., 6])


# ---- rotations


def matrices(q: np.ndarray) -> np.ndarray:
    """Rotation matrices (..., 3, 3) of unit quaternions (..., 4), x, y, z, w."""
    x, y, z, w = np.moveaxis(q, -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), (0, 1), (-2, -1))


def turn(pose: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Vectors of the poses' frames in world axes; both may have further axes behind the first."""
    rotation = matrices(pose[:, 3:])
    return np.einsum("nij,n...j->n...i", rotation, v)


def unturn(pose: np.ndarray, v: np.ndarray) -> np.ndarray:
    return np.einsum("nji,n...j->n...i", matrices(pose[:, 3:]), v)


def compose(a: np.ndarray, poses: np.ndarray) -> np.ndarray:
    """Poses (n, 7) after the transform a (7,)."""
    (x, y, z, w), (bx, by, bz, bw) = a[3:], poses[:, 3:].T
    q = [
        w * bx + x * bw + y * bz - z * by,
        w * by - x * bz + y * bw + z * bx,
        w * bz + x * by - y * bx + z * bw,
        w * bw - x * bx - y * by - z * bz,
    ]
    return np.column_stack([a[:3] + poses[:, :3] @ matrices(a[3:]).T, np.array(q).T])


def random_rotations(random, n: int) -> np.ndarray:
    q = random.normal(size=(n, 4))
    return q / np.linalg.norm(q, axis=1, keepdims=True)


def unit(v: np.ndarray) -> np.ndarray:
    return v / np.linalg.norm(v, axis=-1, keepdims=True)


# ---- shapes


def local_support(kind: ShapeType, size: np.ndarray, d: np.ndarray) -> np.ndarray:
    """The furthest point of each shape along directions (n, ..., 3) of its own frame."""
    size = size.reshape(size.shape[:1] + (1,) * (d.ndim - 2) + size.shape[1:])
    if kind == ShapeType.SPHERE:
        return size[..., :1] * unit(d)
    if kind == ShapeType.CAPSULE:
        axis = np.zeros_like(d)
        axis[..., 2] = np.where(d[..., 2] < 0, -1, 1) * size[..., 1]
        return axis + size[..., :1] * unit(d)
    if kind == ShapeType.BOX:
        return np.where(d < 0, -1, 1) * size
    if kind == ShapeType.ELLIPSOID:
        return size**2 * d / np.linalg.norm(size * d, axis=-1, keepdims=True)
    assert kind == ShapeType.CYLINDER
    flat = np.maximum(np.linalg.norm(d[..., :2], axis=-1, keepdims=True), 1e-300)
    return np.concatenate([size[..., :1] * d[..., :2] / flat, np.where(d[..., 2:] < 0, -1, 1) * size[..., 1:2]], -1)


def support(kind, pose, size, d):
    """The furthest point of each shape along world directions (n, ..., 3)."""
    centre = pose[:, :3].reshape((len(pose),) + (1,) * (d.ndim - 2) + (3,))
    return centre + turn(pose, local_support(kind, size, unturn(pose, d)))


def off_surface(kind, pose, size, x):
    """How far points (n, 3) are from the surface of each shape, to first order."""
    p = unturn(pose, x - pose[:, :3])
    if kind == ShapeType.PLANE:
        return p[:, 2]
    if kind == ShapeType.SPHERE:
        return np.linalg.norm(p, axis=1) - size[:, 0]
    if kind == ShapeType.CAPSULE:
        p[:, 2] -= np.clip(p[:, 2], -size[:, 1], size[:, 1])
        return np.linalg.norm(p, axis=1) - size[:, 0]
    if kind == ShapeType.BOX:
        return np.max(np.abs(p) - size, axis=1)
    if kind == ShapeType.ELLIPSOID:
        return (np.linalg.norm(p / size, axis=1) - 1) * size.min(1)
    return np.maximum(np.hypot(p[:, 0], p[:, 1]) - size[:, 0], np.abs(p[:, 2]) - size[:, 1])


def gaps(pairs: Pairs, directions: np.ndarray) -> np.ndarray:
    """Gap of each pair along unit directions (n, k, 3) from the first shape to the second."""
    first, second = pairs.shapes
    if first[0] == ShapeType.PLANE:
        first_reach = np.sum(directions * first[1][:, None, :3], -1)
    else:
        first_reach = np.sum(directions * support(*first, directions), -1)
    return np.sum(directions * support(*second, -directions), -1) - first_reach


def searched_distance(pairs: Pairs, start: np.ndarray, random) -> np.ndarray:
    """The largest gap that a search over directions finds: anywhere, around `start` (n, 3), and along the directions
    that matter for polytopes (axes of both frames and their products)."""
    n = len(pairs)
    if SHAPES[pairs.routine][0] == ShapeType.PLANE:
        return gaps(pairs, turn(pairs.pose0, np.tile([0.0, 0, 1], (n, 1)))[:, None])[:, 0]
    axes0 = np.swapaxes(matrices(pairs.pose0[:, 3:]), 1, 2)
    axes1 = np.swapaxes(matrices(pairs.pose1[:, 3:]), 1, 2)
    products = np.cross(axes0[:, :, None], axes1[:, None]).reshape(n, 9, 3)
    fixed = np.concatenate([axes0, axes1, products], 1)
    found = unit(random.normal(size=(n, 400, 3)))
    wide = start[:, None] + np.geomspace(1e-6, 0.3, 200)[:, None] * random.normal(size=(n, 200, 3))
    directions = np.concatenate([unit(fixed + 1e-300), -unit(fixed + 1e-300), found, unit(wide)], 1)
    return np.nanmax(gaps(pairs, directions), 1)


# ---- configurations


def random_sizes(random, kind: ShapeType, n: int) -> np.ndarray:
    size = random.uniform(0.05, 0.5, (n, 3))
    if kind == ShapeType.PLANE:
        size[:] = 0
    if kind == ShapeType.SPHERE:
        size[:, 1:] = 0
    if kind in (ShapeType.CAPSULE, ShapeType.CYLINDER):
        size[:, 2] = 0
    return size


def _feature(random, kind, pose):
    """For each shape a direction along which it touches with more than a point (normal of a face, across an axis), and
    two directions (n, 2, 3) along which it may then slide."""
    n = len(pose)
    if kind == ShapeType.CAPSULE:
        around = unit(np.column_stack([random.normal(size=(n, 2)), np.zeros(n)]))
        return turn(pose, around), turn(pose, np.tile([[0.0, 0, 1], [0, 0, 0]], (n, 1, 1)))
    axis = random.integers(0, 3, n)
    frame = turn(pose, np.tile(np.eye(3), (n, 1, 1))) if kind == ShapeType.BOX else np.zeros((n, 3, 3))
    way = turn(pose, np.eye(3)[axis]) * random.choice([-1.0, 1.0], (n, 1))
    return way, frame[np.arange(n)[:, None], np.column_stack([axis + 1, axis + 2]) % 3]


def random_pairs(routine: PairRoutine, n: int, seed: int) -> Pairs:
    """n pairs: about a third apart, a third within 1 mm of touching, a third penetrating.

    Along a direction (any, one of a feature of either shape, or a product of two axes) the supporting planes of the two
    are set the wanted gap apart; then the second is slid along the feature.
    """
    random = np.random.default_rng(seed)
    kinds = SHAPES[routine]
    pose0 = np.column_stack([random.uniform(-1, 1, (n, 3)), random_rotations(random, n)])
    pose1 = np.column_stack([np.zeros((n, 3)), random_rotations(random, n)])
    size0, size1 = random_sizes(random, kinds[0], n), random_sizes(random, kinds[1], n)
    features = [_feature(random, kind, pose) for kind, pose in zip(kinds, (pose0, pose1), strict=True)]
    axes = np.stack([turn(pose, np.eye(3)[random.integers(0, 3, n)]) for pose in (pose0, pose1)], 1)
    ways = [unit(random.normal(size=(n, 3))), features[0][0], features[1][0], unit(np.cross(axes[:, 0], axes[:, 1]))]
    slides = [np.zeros((n, 2, 3)), features[0][1], features[1][1], axes if kinds[1] == ShapeType.BOX else 0 * axes]
    choice, each = random.integers(0, 4, n), np.arange(n)
    way, slide = np.array(ways)[choice, each], np.array(slides)[choice, each]
    if kinds[0] == ShapeType.PLANE:
        way = turn(pose0, np.tile([0.0, 0, 1], (n, 1)))
    gap = np.choose(each % 3, [random.uniform(*ends, n) for ends in ((1e-3, 0.05), (-1e-3, 1e-3), (-0.1, -1e-3))])

    pairs = Pairs(routine, pose0, size0, pose1, size1)
    touched = pose0[:, :3] if kinds[0] == ShapeType.PLANE else support(*pairs.shapes[0], way)
    pose1[:, :3] += touched + gap[:, None] * way - support(*pairs.shapes[1], -way)
    pose1[:, :3] += np.einsum("nk,nki->ni", random.uniform(-0.15, 0.15, (n, 2)), slide)
    return pairs
