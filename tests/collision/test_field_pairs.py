"""Distance fields against every other shape, in random configurations: a third apart, a third within 1 mm of touching,
a third overlapping.

Two errors are told apart. That of the routine: how much lower than what it found the field, linear between its nodes,
is anywhere on the other shape, by dense sampling. And that of the grid: how far the field's least value is from the
distance of the solid that it was made of, where that is a closed form.
``python -m tests.collision.test_field_pairs COUNT`` prints the figures of docs/contacts.md.
"""

from __future__ import annotations

import functools
import sys

import numpy as np
import pytest

import simengine as sim
from simengine.builder.distance_field import field_mesh
from simengine.builder.frames import IDENTITY, rotation_matrix
from simengine.collision import SDF
from tests.collision import field_scenes
from tests.collision.collision_pairs import random_rotations, unit
from tests.collision.field_reference import least_values
from tests.collision.field_scenes import HULL, bodies_over, brought_to, distances

HEIGHTS = 0.05 * np.random.default_rng(4).normal(size=(5, 6))
HEIGHT_CELL = (0.16, 0.12)
SHAPES = {"plane": ()} | field_scenes.SHAPES | {"heightfield": (HEIGHTS, 0.4, 0.3), "sdf": ()}
FIELDS = ("ball", "box", "ring")
VOXEL = 0.025


@functools.cache
def made(name: str) -> SDF:
    """Of a ball and a box by their closed forms, of a ring, which is not convex, from a mesh."""
    if name == "ring":
        fine = SDF.torus(0.2, 0.08).to_grid(0.01, precision="float64", device="cpu")
        mesh = sim.collision.Mesh(*fine.marching_cubes(), precision="float64", device="cpu")
        return SDF.from_mesh(mesh, VOXEL, sparse=False)
    form = SDF.sphere(0.2) if name == "ball" else SDF.box(0.2, 0.25, 0.1)
    return form.to_grid(VOXEL, sparse=False, precision="float64", device="cpu")


@functools.cache
def other_field() -> SDF:
    return SDF.torus(0.1, 0.06).to_grid(0.04, sparse=False, precision="float64", device="cpu")


class Pairs:
    """A field and many bodies about it; of planes and height fields, which stand still, the field is the body."""

    def __init__(self, name: str, kind: str, count: int, seed: int):
        self.name, self.kind, self.count, self.field = name, kind, count, made(name)
        self.moves_field = kind in ("plane", "heightfield")
        self.models = {precision: self._model(precision) for precision in ("float64", "float32")}
        self.poses = self._poses(np.random.default_rng(seed))

    def _model(self, precision: str):
        own, other = ("sdf", (field_mesh(self.field, None, "field"),)), (self.kind, SHAPES[self.kind])
        if self.kind == "sdf":
            other = "sdf", (field_mesh(other_field(), None, "other"),)
        still, moving = (other, own) if self.moves_field else (own, other)
        return bodies_over(still, moving, [IDENTITY] * self.count, precision)

    @property
    def pairs(self) -> np.ndarray:
        """The field, and the other shape."""
        moving = np.arange(1, self.count + 1)
        return np.stack([moving, 0 * moving] if self.moves_field else [0 * moving, moving], axis=1)

    def distances(self, precision: str, poses):
        """From the field to the other shape."""
        return distances(self.models[precision], self.pairs, poses)

    def _poses(self, random):
        spread = {"plane": (0.3, 0.3, 0), "heightfield": (0.25, 0.2, 0)}.get(self.kind, (0, 0, 0))
        ways = unit(random.normal(size=(self.count, 3)) * [1, 1, 0.5])
        start = random.uniform(-1, 1, (self.count, 3)) * spread + 0.35 * ways
        if self.moves_field:
            start = random.uniform(-1, 1, (self.count, 3)) * spread + [0, 0, 0.2]
        poses = np.concatenate([start, random_rotations(random, self.count)], axis=1)
        return brought_to(self.models["float64"], self.pairs, poses, random, (0.002, 0.05), (-0.03, -0.001))

    def reference(self, chosen=slice(None), grid: int = 1) -> np.ndarray:
        """The least value of the field on the other shape; of two fields of each on the other's surface, each triangle
        sampled by ``grid``; over a plane also the height of the field's surface."""
        turns = np.array([rotation_matrix(q) for q in self.poses[chosen, 3:]])
        places = self.poses[chosen, :3]
        back = np.swapaxes(turns, 1, 2), -np.einsum("nji,nj->ni", turns, places)
        if self.kind == "plane":
            surface = field_mesh(self.field, None, "field")
            least = least_values(self.field, "plane", (0.6,), *back)
            heights = np.einsum("nj,kj->nk", turns[:, 2], surface.vertices) + places[:, 2:]
            return np.minimum(least, heights.min(axis=1))
        if self.kind == "heightfield":
            return least_values(self.field, "triangles", height_triangles(), *back, grid=6)
        if self.kind == "sdf":
            other = other_field()
            ours, theirs = (field_mesh(one, None, "field") for one in (self.field, other))
            one = least_values(self.field, "triangles", theirs.vertices[theirs.triangles], turns, places, grid=grid)
            return np.minimum(one, least_values(other, "triangles", ours.vertices[ours.triangles], *back, grid=grid))
        if self.kind in ("convex_hull", "mesh"):
            return least_values(self.field, "triangles", HULL.vertices[HULL.triangles], turns, places, grid=6)
        return least_values(self.field, self.kind, SHAPES[self.kind], turns, places)

    def errors(self) -> dict[str, np.ndarray]:
        """What is above the reference in both precisions, and what differs between them."""
        expected = self.reference()
        exact, single = (self.distances(precision, self.poses) for precision in ("float64", "float32"))
        for grid in (8, 32) if self.kind == "sdf" else ():  # where the samples before were too few
            coarse = np.flatnonzero(expected - exact["distance"] > 5e-5)
            if len(coarse):
                expected[coarse] = self.reference(coarse, grid)
        assert (expected > 1e-3).any() and (np.abs(expected) < 1e-3).any() and (expected < -1e-3).any()
        self.check_points(exact)
        return {
            "float64": np.maximum(exact["distance"] - expected, 0),
            "float32": np.maximum(single["distance"] - expected, 0),
            "between": np.abs(single["distance"] - exact["distance"]),
            "reference": np.maximum(expected - exact["distance"], 0),
        }

    def check_points(self, found) -> None:
        """The points lie along the normal; that of the other shape on its surface, where the field has the value."""
        across = found["point1"] - found["point0"] - found["distance"][:, None] * found["normal"]
        assert np.abs(across).max() < 1e-12
        if self.kind in ("plane", "sdf"):
            return
        turns = np.array([rotation_matrix(q) for q in self.poses[:, 3:]])
        there = np.einsum("nji,nj->ni", turns, found["point1"] - self.poses[:, :3])
        in_field, on_shape = (there, found["point1"]) if self.moves_field else (found["point1"], there)
        assert np.abs(self.field.sample(in_field) - found["distance"]).max() < 1e-9
        assert np.abs(off_surface(self.kind, on_shape)).max() < 1e-9


def off_surface(kind: str, points) -> np.ndarray:
    """How far points are from the surface of a shape of SHAPES in its own frame."""
    if kind == "ellipsoid":
        return np.linalg.norm(points / SHAPES[kind], axis=1) - 1
    if kind in ("convex_hull", "mesh", "heightfield"):
        corners = height_triangles() if kind == "heightfield" else HULL.vertices[HULL.triangles]
        faces = np.arange(3 * len(corners)).reshape(-1, 3)
        mesh = sim.collision.Mesh(corners.reshape(-1, 3), faces, precision="float64", device="cpu")
        return mesh.closest_point(points).distance
    return getattr(SDF, kind)(*SHAPES[kind]).sample(points)


def height_triangles() -> np.ndarray:
    """As docs/conventions.md has them: cells are cut from their first corner to the one across."""
    rows, columns = HEIGHTS.shape
    y, x = np.meshgrid(np.linspace(-0.3, 0.3, rows), np.linspace(-0.4, 0.4, columns), indexing="ij")
    grid = np.stack([x, y, HEIGHTS], axis=2)
    a, b, c, d = grid[:-1, :-1], grid[:-1, 1:], grid[1:, 1:], grid[1:, :-1]
    return np.concatenate([np.stack(t, axis=2).reshape(-1, 3, 3) for t in ((a, b, c), (a, c, d))])


def check(name: str, kind: str, count: int, seed: int) -> None:
    errors = Pairs(name, kind, count, seed).errors()
    assert errors["float64"].max() < 1e-6
    assert errors["float32"].max() < 1e-4 and errors["between"].max() < 1e-4
    if kind in ("plane", "sdf"):  # whose points are not asked for the field's value; the reference samples that densely
        assert errors["reference"].max() < (1e-4 if kind == "sdf" else 5e-4)


# ---- the grid


CLOSED = {"ball": ("sphere", "capsule", "cylinder", "box", "cone"), "box": ("sphere",)}


def grid_errors(name: str, kind: str, count: int, seed: int) -> np.ndarray:
    """Of the least value, against the distance of the solids: of a ball to a shape that of its middle, less its radius;
    of a box to a ball the other way round, where they do not overlap by more than 1 mm: inside of an edge the way to
    the nearest face is shorter than that back over the edge."""
    pairs = Pairs(name, kind, count, seed)
    found = pairs.distances("float64", pairs.poses)["distance"]
    if name == "box":
        exact = SDF.box(0.2, 0.25, 0.1).sample(np.ascontiguousarray(pairs.poses[:, :3])) - SHAPES[kind][0]
        return (found - exact)[exact > -1e-3]
    turns = np.array([rotation_matrix(q) for q in pairs.poses[:, 3:]])
    middle = -np.einsum("nji,nj->ni", turns, pairs.poses[:, :3])
    return found - (getattr(SDF, kind)(*SHAPES[kind]).sample(middle) - 0.2)


@pytest.mark.parametrize(("name", "kind"), [(name, kind) for name, kinds in CLOSED.items() for kind in kinds])
def test_a_field_is_off_its_solid_by_what_its_grid_is(name, kind):
    """Of a ball between nothing and three times voxel^2 / (8 radius), what linear pieces are off along three axes; of a
    box, whose edges are rounded, less than a third of a voxel."""
    errors = grid_errors(name, kind, 99, 3)
    if name == "ball":
        assert errors.min() > -1e-6 and errors.max() < 3 * VOXEL**2 / (8 * 0.2)
    else:
        assert np.abs(errors).max() < VOXEL / 3 and np.abs(np.median(errors)) < VOXEL / 50


ALL = [(name, kind) for name in FIELDS for kind in SHAPES]


@pytest.mark.parametrize(("name", "kind"), ALL)
def test_no_point_of_a_shape_is_deeper_in_a_field_than_its_distance(name, kind):
    check(name, kind, 99 if kind != "sdf" else 30, 1)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "kind"), ALL)
def test_the_same_in_ten_thousand_configurations(name, kind):
    check(name, kind, 10_000, 2)


if __name__ == "__main__":
    chosen = [pair for pair in ALL if not sys.argv[2:] or "-".join(pair) in sys.argv[2:]]
    for name, kind in chosen:
        errors = Pairs(name, kind, int(sys.argv[1]), 2).errors()
        columns = [np.quantile(errors[key], (0.5, 0.99, 0.999, 1)) for key in errors]
        print(
            f"| {name}, {kind} | " + " | ".join(", ".join(f"{x:.0e}" for x in column) for column in columns), flush=True
        )
