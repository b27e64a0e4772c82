"""Scenes of a distance field and many bodies about it: the shapes, the models, and poses at wanted distances."""

from __future__ import annotations

import numpy as np

import simengine as sim
from simengine.builder.mesh_data import convex_hull
from tests.collision.collision_pairs import unit

POINTS = unit(np.random.default_rng(0).normal(size=(16, 3))) * [0.1, 0.16, 0.12]
HULL = convex_hull(POINTS)
SHAPES = {
    "sphere": (0.1,),
    "capsule": (0.05, 0.1),
    "ellipsoid": (0.1, 0.15, 0.07),
    "cylinder": (0.08, 0.1),
    "box": (0.1, 0.15, 0.08),
    "cone": (0.1, 0.1),
    "convex_hull": (HULL,),
    "mesh": (HULL,),
}
"""What ``add_shape_...`` of each kind is given after the body."""

GIVEN = dict(mass=1, inertia=(1, 1, 1))


def bodies_over(still: tuple, moving: tuple, poses, precision: str, **options):
    """A model of a static shape, number 0, and bodies of one shape each that touch nothing else.

    ``still``, ``moving``: a kind, and what ``add_shape_...`` is given after the body.
    """
    builder = sim.ModelBuilder()
    getattr(builder, f"add_shape_{still[0]}")(-1, *still[1])
    for number, pose in enumerate(poses):
        body = builder.add_body(xform=tuple(pose), **GIVEN)
        getattr(builder, f"add_shape_{moving[0]}")(body, *moving[1], collision_group=number, **options)
    return builder.finalize(device="cpu", precision=precision)


def distances(model, pairs, poses=None) -> dict[str, np.ndarray]:
    """What ``shape_distance`` finds, in float64; ``poses`` (bodies, 7): other than the model's own."""
    state = model.state()
    if poses is not None:
        state.body_q[:] = poses
    found = sim.collision.shape_distance(model, state, pairs)
    return {name: np.asarray(getattr(found, name), float) for name in ("distance", "point0", "point1", "normal")}


def contacts_between(model, dt=None) -> dict[str, np.ndarray]:
    """The contacts of a model's one world in its first state."""
    contacts = model.contacts()
    sim.collide(model, model.state(), contacts, dt)
    names = ("shape0", "shape1", "feature", "point0", "point1", "normal", "distance")
    return {name: np.asarray(getattr(contacts, name))[: contacts.count[0]] for name in names}


def brought_to(model, pairs, poses, random, apart, deep) -> np.ndarray:
    """Poses (n, 7) of bodies moved along the distance of their pairs: a third ``apart``, a third within 1 mm of
    touching, a third ``deep`` (least and largest distance, m)."""
    count, side = len(poses), np.where(np.asarray(pairs)[:, :1] == 0, 1.0, -1.0)  # normals lead to the second shape
    third = count // 3
    wanted = np.concatenate([
        random.uniform(*apart, count - 2 * third),
        random.uniform(-1e-3, 1e-3, third),
        random.uniform(*deep, third),
    ])  # fmt: skip
    for _ in range(4):
        found = distances(model, pairs, poses)
        poses[:, :3] += side * (wanted - found["distance"])[:, None] * found["normal"]
    return poses
