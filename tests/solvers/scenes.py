"""Small scenes that the tests of the Featherstone solver share."""

from __future__ import annotations

import numpy as np

import simengine as sim


def run(solver, state, control, dt: float, steps: int, each=None):
    """Advance ``steps`` steps; ``each(i, state)`` sees every new state. Returns the last one."""
    other = state.copy()
    for i in range(steps):
        solver.step(state, other, control, None, dt)
        state, other = other, state
        if each is not None:
            each(i, state)
    return state


def free_body(
    inertia=(1.0, 1.0, 1.0),
    mass: float = 1.0,
    velocity=(0.0,) * 6,
    xform=None,
    gravity: float = 0.0,
    precision: str = "float64",
):
    """A model of one body without shapes that floats."""
    builder = sim.ModelBuilder(gravity=gravity)
    builder.add_body(mass=mass, inertia=inertia, velocity=velocity, xform=xform)
    return builder.finalize(device="cpu", precision=precision)


def slider(mass: float = 1.0, gravity: float = 0.0, axis="X", precision: str = "float64", **options):
    """A model of one body on a prismatic joint."""
    builder = sim.ModelBuilder(gravity=gravity)
    body = builder.add_body(mass=mass, inertia=(1.0, 1.0, 1.0))
    builder.add_joint_prismatic(-1, body, axis=axis, **options)
    return builder.finalize(device="cpu", precision=precision)


def on_ground(
    add_shape,
    height: float,
    material,
    slope: float = 0.0,
    gravity: float = -9.81,
    velocity=(0.0,) * 6,
    precision="float64",
):
    """A model of one body above a ground plane; ``slope`` (rad) tilts gravity towards +x instead of the plane."""
    builder = sim.ModelBuilder(gravity=(-gravity * np.sin(slope), 0.0, gravity * np.cos(slope)))
    body = builder.add_body(xform=(0, 0, height, 0, 0, 0, 1), velocity=velocity)
    add_shape(builder, body, material)
    builder.add_ground_plane(material=material)
    return builder.finalize(device="cpu", precision=precision)


def add_box(half):
    """Adds a box with half extents ``half``."""
    return lambda builder, body, material: builder.add_shape_box(body, *half, material=material)


def add_sphere(radius):
    """Adds a sphere."""
    return lambda builder, body, material: builder.add_shape_sphere(body, radius, material=material)
