"""Worlds of all kinds of shapes that fall and slide, and a pile of 10,000 boxes: what the tests of equal bits, of
isolation and of capacity run. ``python -m tests.collision.moving_scenes`` prints hashes.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import json

import numpy as np

import simengine as sim
from simengine.builder.mesh_data import Mesh, convex_hull

DT = 0.005
STATE_ROWS = ("joint_q", "joint_qd", "body_q", "body_qd")
CONTACT_ROWS = ("shape0", "shape1", "feature", "point0", "point1", "normal", "tangent", "distance")


@functools.cache
def terrain() -> Mesh:
    """A wavy floor of triangles, 3 m by 3 m."""
    n = 12
    x, y = (a.ravel() for a in np.meshgrid(np.linspace(-1.5, 1.5, n + 1), np.linspace(-1.5, 1.5, n + 1)))
    corner = (np.arange(n)[:, None] * (n + 1) + np.arange(n)).ravel()
    faces = [[corner, corner + 1, corner + n + 2], [corner, corner + n + 2, corner + n + 1]]
    points = np.column_stack([x, y, 0.04 * np.sin(4 * x) * np.cos(3 * y)])
    return Mesh(points, np.concatenate([np.stack(face, 1) for face in faces]))


def template(ground: str) -> sim.ModelBuilder:
    """One world: nine bodies of all kinds over a mesh or a height field."""
    builder = sim.ModelBuilder()
    if ground == "mesh":
        builder.add_shape_mesh(-1, terrain())
    else:
        x, y = np.meshgrid(np.linspace(0, 9, 18), np.linspace(0, 9, 15))
        builder.add_shape_heightfield(-1, 0.04 * np.sin(x) * np.cos(y), 1.5, 1.5, 0.3)
    points = np.random.default_rng(0).normal(size=(16, 3))
    points *= np.array([0.1, 0.12, 0.08]) / np.linalg.norm(points, axis=1, keepdims=True)
    field = sim.collision.SDF.box(0.09, 0.08, 0.07).to_grid(0.03, device="cpu")
    add = (
        lambda b: builder.add_shape_sdf(b, field),
        lambda b: builder.add_shape_convex_hull(b, points),
        lambda b: builder.add_shape_mesh(b, convex_hull(1.2 * points)),
        lambda b: builder.add_shape_cone(b, 0.1, 0.1),
        lambda b: builder.add_shape_cylinder(b, 0.1, 0.08),
        lambda b: builder.add_shape_box(b, 0.1, 0.08, 0.06),
        lambda b: builder.add_shape_capsule(b, 0.06, 0.1),
        lambda b: builder.add_shape_ellipsoid(b, 0.12, 0.09, 0.07),
        lambda b: builder.add_shape_sphere(b, 0.08),
    )
    for i, shape in enumerate(add):
        place = sim.transform((0.16 * (i % 3) - 0.16, 0.16 * (i // 3) - 0.16, 0.2 + 0.07 * i))
        shape(builder.add_body(xform=place, velocity=(0.3, 0.1 * i, -0.5, 1, 2, 3)))
    return builder


class Run:
    """Worlds of like structure, each turned about the vertical and moved at random by its own number."""

    def __init__(
        self, ground: str, worlds: int, precision: str, first: int = 0, device="cpu", lanes: int | None = None
    ):
        builder = sim.ModelBuilder()
        builder.replicate(template(ground), worlds)
        self.model = builder.finalize(device=device, precision=precision)
        self.solver = sim.solvers.Featherstone(self.model, lanes=lanes)
        self.state, self.next_state = self.model.state(), self.model.state()
        self.control = self.model.control()
        q = self.model.by_world(self.state.joint_q)
        for world in range(worlds):
            random = np.random.default_rng(first + world)
            moves = random.normal(size=(q.shape[1] // 7, 3)) * 0.02
            for body, move in enumerate(moves):
                q[world, 7 * body : 7 * body + 3] += self.model.device.asarray(move.astype(precision))
        sim.eval_fk(self.model, self.state)

    def step(self, steps: int) -> Run:
        for _ in range(steps):
            self.solver.step(self.state, self.next_state, self.control, None, DT)
            self.state, self.next_state = self.next_state, self.state
        return self

    def hashes(self) -> list[str]:
        """Of the state of each world."""
        parts = [sim.to_numpy(self.model.by_world(getattr(self.state, name))) for name in STATE_ROWS]
        return [hashlib.sha256(b"".join(p[w].tobytes() for p in parts)).hexdigest()[:16] for w in range(len(parts[0]))]


@functools.cache
def pile(precision: str = "float32", broad_phase: str = "bvh", device: str = "cpu") -> sim.Model:
    """10,000 boxes of three sizes in a heap on a plane and a mesh."""
    template = sim.ModelBuilder()
    for i in range(10_000):
        x, y, z = i % 20, i // 20 % 20, i // 400
        place = sim.transform((0.19 * x + 0.003 * (z % 7), 0.19 * y + 0.004 * (z % 5), 0.1 + 0.19 * z))
        size = 0.09 + 0.005 * (i % 3)
        template.add_shape_box(template.add_body(xform=place), size, size, size)
    builder = sim.ModelBuilder()
    builder.add_builder(template)
    builder.add_ground_plane()
    builder.add_shape_mesh(-1, terrain(), xform=sim.transform((1.5, 1.5, 0)))
    return builder.finalize(device=device, precision=precision, broad_phase=broad_phase)


def pile_poses(precision: str) -> np.ndarray:
    """Poses (10000, 7) of the pile, shaken."""
    random = np.random.default_rng(1)
    poses = np.array(pile(precision).body_q, float)
    poses[:, :3] += random.normal(size=(len(poses), 3)) * 0.01
    poses[:, 3:] += random.normal(size=(len(poses), 4)) * 0.1
    poses[:, 3:] /= np.linalg.norm(poses[:, 3:], axis=1, keepdims=True)
    return poses.astype(precision)


def hash_of_contacts(model: sim.Model, contacts) -> str:
    """Of all contacts that there are, in order."""
    count = sim.to_numpy(contacts.count)
    starts = sim.to_numpy(contacts.world_start)
    text = hashlib.sha256(count.tobytes())
    for name in CONTACT_ROWS:
        values = sim.to_numpy(getattr(contacts, name))
        for world, n in enumerate(count):
            text.update(values[starts[world] : starts[world] + n].tobytes())
    return text.hexdigest()[:16]


def hash_of_pile(precision: str, broad_phase: str = "bvh", device: str = "cpu") -> str:
    model = pile(precision, broad_phase, device)
    state, contacts = model.state(), model.contacts()
    state.body_q = model.device.asarray(pile_poses(precision))
    sim.collide(model, state, contacts)
    return hash_of_contacts(model, contacts)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scene", choices=["mesh", "height field", "pile"])
    parser.add_argument("precision")
    parser.add_argument("steps", type=int)
    options = parser.parse_args()
    if options.scene == "pile":
        print(json.dumps([hash_of_pile(options.precision)]))
    else:
        print(json.dumps(Run(options.scene, 4, options.precision).step(options.steps).hashes()))
