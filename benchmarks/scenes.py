"""Scenes of benchmarks and of the tests of equal bits: robots on the ground, driven by noise of their worlds' keys."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

import simengine as sim

REPOSITORY = Path(__file__).resolve().parent.parent
ASSETS = REPOSITORY / "assets"
SHARED_ASSETS = REPOSITORY.parent / "shared" / "assets"

NOISE = """
#include "random.h"

// Effort on each dof: uniform in +-scale, drawn from its world's key at every eighth of its world's steps.
extern "C" __global__ void noise_effort(const int n,
                                        const int* world,    // (n)
                                        const int* element,  // (n) dof within its world
                                        const real* scale,   // (n) N or N m
                                        const unsigned long long* key, const long long* step,
                                        real* effort)        // (n)
{
    for_each(i, n) {
        const int w = world[i];
        effort[i] = scale[i] * (real(2) * random_uniform(key[w], step[w] / 8, 1u, unsigned(element[i])) - real(1));
    }
}
"""


@dataclass(frozen=True)
class Scene:
    """A robot file, how it stands in its world, and what it meets there."""

    path: Path | None
    floating: bool
    height: float  # m, of the base
    ground: float  # m, of the plane
    effort: float  # N or N m, amplitude of the noise
    pen: float  # m, half width of the four walls about the origin that keep robot and blocks together
    blocks: int = 0  # loose boxes on the ground about the robot, for robots that alone touch too little
    self_collision: bool = True


# A world of each has 8 contacts on average or more (same_bits.py --contacts prints them). Alone the pendulum and the
# cart-pole can have 2 and 4, the arm about 4, Talos 8 with both soles flat; its links, meshes that overlap each other,
# meet all else alone.
SCENES = {
    "free_bodies_and_chain": Scene(None, True, 0.0, 0.0, 0.5, 2.0),
    "pile": Scene(None, True, 0.0, 0.0, 0.5, 2.0, 8),  # more than 32 contacts and 64 dofs
    "pendulum": Scene(ASSETS / "pendulum.urdf", False, 0.0, -1.0, 60.0, 1.2, 3),
    "cartpole": Scene(ASSETS / "cartpole.urdf", False, 0.0, -0.4, 20.0, 0.9, 3, self_collision=False),
    "arm": Scene(ASSETS / "arm.urdf", False, 0.1, 0.0, 10.0, 0.6, 3),
    "quadruped": Scene(ASSETS / "quadruped.urdf", True, 0.41, 0.0, 5.0, 0.5, 2),
    "anymal": Scene(
        SHARED_ASSETS / "newton-assets/anymal_c_simple_description/urdf/anymal.urdf", True, 0.62, 0.0, 10.0, 0.7
    ),
    "talos": Scene(
        SHARED_ASSETS / "example-robot-data/robots/talos_data/robots/talos_reduced.urdf",
        True,
        1.1,
        0.0,
        20.0,
        0.6,
        2,
        self_collision=False,
    ),
}

BLOCK = (0.15, 0.1, 0.08)  # m, half extents


def _free_bodies_and_chain() -> sim.ModelBuilder:
    """A ball and a box that bounce, a capsule and a cylinder, and a chain of five links of mixed joints, on a plane."""
    builder = sim.ModelBuilder()
    builder.default_material = sim.Material(friction=0.7)
    rubber = sim.Material(friction=0.7, restitution=0.9)
    shapes = (
        lambda b: builder.add_shape_sphere(b, 0.1, material=rubber),
        lambda b: builder.add_shape_box(b, 0.15, 0.1, 0.08, material=rubber),
        lambda b: builder.add_shape_capsule(b, 0.06, 0.15),
        lambda b: builder.add_shape_cylinder(b, 0.09, 0.12),
    )
    for i, add in enumerate(shapes):
        add(builder.add_body(xform=sim.transform((0.5 * i, 1.0, 0.3 + 0.1 * i)), velocity=(0.3, -0.2, 0, 1, 2, 3)))
    parent = -1
    for i in range(5):
        link = builder.add_body()
        builder.add_shape_capsule(link, 0.05, 0.12, xform=sim.transform((0, 0, -0.15)))
        frames = {"parent_xform": sim.transform((0, 0, 0.6 if i == 0 else -0.3)), "label": f"chain{i}"}
        if i == 0:  # it starts level and falls
            frames["q"] = (1.4,)
        if i == 2:
            builder.add_joint_ball(parent, link, **frames)
        elif i == 3:
            builder.add_joint_universal(parent, link, **frames)
        else:
            builder.add_joint_revolute(parent, link, axis="XYXXY"[i], limit_lower=-1.5, limit_upper=1.5, **frames)
        parent = link
    return builder


def template(name: str, **options) -> sim.ModelBuilder:
    """The builder of one world of a scene; ``options`` go to ``add_urdf``."""
    scene = SCENES[name]
    if scene.path is None:
        builder = _free_bodies_and_chain()
    else:
        builder = sim.ModelBuilder()
        xform = sim.transform((0, 0, scene.height))
        options.setdefault("self_collision", scene.self_collision)
        builder.add_urdf(scene.path, floating=scene.floating, xform=xform, **options)
    return builder


def _add_blocks(builder: sim.ModelBuilder, scene: Scene) -> None:
    """Boxes about the robot, askew, in a row of pairs: one on the ground and one across it, so that moving bodies touch
    each other from the start."""
    for i in range(scene.blocks):
        pair, layer = divmod(i, 2)
        x = 0.45 * pair + 0.1 * layer - 0.1
        z = scene.ground + (2 * layer + 1) * (BLOCK[2] + 0.001)
        turn = sim.quat_from_axis_angle((0, 0, 1), 0.3 + i)
        block = builder.add_body(xform=sim.transform((x, 0.1, z), turn), label=f"block{i}")
        builder.add_shape_box(block, *BLOCK, density=200)


def _add_walls(builder: sim.ModelBuilder, half_width: float) -> None:
    """Four endless planes that face the origin."""
    for i in range(4):
        towards = sim.quat_from_axis_angle((0, 0, 1), 0.5 * np.pi * i)
        x, y = -half_width * np.cos(0.5 * np.pi * i), -half_width * np.sin(0.5 * np.pi * i)
        upright = sim.math.quat_multiply(towards, sim.quat_from_axis_angle((0, 1, 0), 0.5 * np.pi))
        builder.add_shape_plane(xform=sim.transform((x, y, 0), upright), label=f"wall{i}")


def model(name: str, worlds: int = 1, device=None, precision: str = "float32", seed: int = 0, **options) -> sim.Model:
    """The model of a scene with its ground, walls and blocks, ``worlds`` times; ``options`` go to ``add_urdf``."""
    scene = SCENES[name]
    builder = sim.ModelBuilder()
    world = template(name, **options)
    _add_blocks(world, scene)
    builder.replicate(world, worlds)
    # the ground comes last: so the last pairs of shapes touch, and what lanes leave undone at the end of a scan shows
    _add_walls(builder, scene.pen)
    builder.add_ground_plane(scene.ground)
    return builder.finalize(device=device, precision=precision, seed=seed)


class Noise:
    """Random efforts on the joints (none on a floating base): each world's are those of its key and its step."""

    def __init__(self, model: sim.Model, amplitude: float):
        worlds, nv = model.world_count, model.joint_dof_count
        starts = sim.to_numpy(model.world_dof_start)
        world = np.repeat(np.arange(worlds, dtype=np.int32), np.diff(starts))
        scale = np.full(nv, amplitude, model.precision)
        dof_starts, types = sim.to_numpy(model.joint_qd_start), sim.to_numpy(model.joint_type)
        for joint in np.flatnonzero(np.diff(dof_starts) == 6):
            if types[joint] == sim.enums.JointType.FREE:
                scale[dof_starts[joint] : dof_starts[joint + 1]] = 0
        asarray = model.device.asarray
        self.arrays = [asarray(world), asarray((np.arange(nv) - starts[world]).astype(np.int32)), asarray(scale)]
        self.kernel = sim.Kernel(NOISE, name="noise_effort")
        self.count = nv

    def write(self, state: sim.State, control: sim.Control) -> None:
        """Fill ``control.joint_f`` for the step that starts at ``state``."""
        self.kernel.launch(self.count, [*self.arrays, state.random_key, state.step_count, control.joint_f])
