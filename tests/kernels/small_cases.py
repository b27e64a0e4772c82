"""Kernels on small cases, to be run under a checker of memory and races such as compute-sanitizer.

compute-sanitizer --tool memcheck python -m tests.kernels.small_cases cuda:0
compute-sanitizer --tool racecheck python -m tests.kernels.small_cases cuda:0 --lanes 8 --only "steps float32"

Prints what ran and a sum of what came out, which is the same on every device.
"""

from __future__ import annotations

import argparse
import zlib
from collections.abc import Callable
from functools import partial

import numpy as np

import simengine as sim
from simengine.collision import SDF, Bvh, HashGrid, Mesh, compact, exclusive_scan, sort_pairs


def sphere_mesh(rings: int = 8) -> tuple[np.ndarray, np.ndarray]:
    """The closed surface of a unit sphere: (vertices, faces)."""
    return SDF.sphere(1.0).to_grid(2.0 / rings, precision="float64", device="cpu").marching_cubes()


def sorts(device) -> list:
    random = np.random.default_rng(0)
    keys = device.asarray(random.integers(0, 1 << 20, 5000).astype(np.uint32))
    long_keys = device.asarray(random.integers(0, 1 << 50, 3000).astype(np.uint64))
    mask = device.asarray((random.random(3000) < 0.3).astype(np.uint8))
    return [*sort_pairs(keys), *sort_pairs(long_keys), exclusive_scan(keys.astype(np.int32)), compact(mask)]


def queries(device) -> list:
    random = np.random.default_rng(1)
    lower = random.random((700, 3)).astype(np.float32)
    groups = (np.arange(700) % 3).astype(np.int32)
    bvh = Bvh(device.asarray(lower), device.asarray(lower + 0.05), groups=device.asarray(groups))
    which = device.asarray(groups[:90].astype(np.int32))
    found = [*bvh.query_aabb(device.asarray(lower[:90]), device.asarray(lower[:90] + 0.1), group=which)]
    bvh.refit(device.asarray(lower + 0.01), device.asarray(lower + 0.06))
    found += bvh.nearest(device.asarray(lower[:90]), k=3, group=which)
    points = device.asarray(random.normal(size=(900, 3)).astype(np.float32))
    grid = HashGrid(cell_size=0.4)
    grid.build(points)
    found += grid.neighbors(points, radius=0.5)
    vertices, faces = sphere_mesh()
    mesh = Mesh(device.asarray(vertices.astype(np.float32)), faces)
    hit = mesh.ray_cast(points * 3, -points)
    near = mesh.closest_point(points)
    field = SDF.from_mesh(mesh, voxel=0.2)
    return [
        *found,
        hit.t,
        hit.face,
        near.distance,
        mesh.winding_number(points),
        field.sample(points),
        field.gradient(points),
    ]


def every_shape(builder: sim.ModelBuilder) -> None:
    """One body of each shape, close together above a terrain of triangles."""
    vertices, faces = sphere_mesh()
    mesh = (0.2 * vertices, faces)
    field = SDF.box(0.15, 0.15, 0.15).to_grid(0.05, device="cpu")
    shapes = [
        lambda b: builder.add_shape_sphere(b, 0.15),
        lambda b: builder.add_shape_capsule(b, 0.1, 0.1),
        lambda b: builder.add_shape_box(b, 0.15, 0.1, 0.1),
        lambda b: builder.add_shape_ellipsoid(b, 0.15, 0.1, 0.12),
        lambda b: builder.add_shape_cylinder(b, 0.12, 0.1),
        lambda b: builder.add_shape_cone(b, 0.15, 0.12),
        lambda b: builder.add_shape_convex_hull(b, 0.2 * vertices),
        lambda b: builder.add_shape_mesh(b, mesh),
        lambda b: builder.add_shape_sdf(b, field),
    ]
    for k, add in enumerate(2 * shapes):
        place = (0.25 * (k % 3), 0.25 * (k // 3 % 3), 0.1 + 0.25 * (k // 9))
        add(builder.add_body(xform=sim.transform(place), velocity=(0, 0, -40.0 * (k % 2), 0, 1, 0)))


def scene(device, broad_phase: str | None, precision: str) -> tuple:
    builder, robot = sim.ModelBuilder(), sim.ModelBuilder()
    every_shape(robot)
    builder.replicate(robot, 2)
    height = 0.05 * np.random.default_rng(2).random((6, 6))
    builder.add_shape_heightfield(-1, height, 2.0, 2.0)
    builder.add_ground_plane()
    model = builder.finalize(device=device, precision=precision, broad_phase=broad_phase)
    return model, model.state(), model.contacts()


def collision(device, precision: str, broad_phase: str) -> list:
    model, state, contacts = scene(device, broad_phase, precision)
    sim.collide(model, state, contacts)
    found = [contacts.count.copy(), contacts.distance.copy()]
    sim.collide(model, state, contacts, dt=5e-3)
    return [*found, contacts.count, contacts.distance, contacts.time]


def shared(device, precision: str) -> list:
    """Bodies sunk into surfaces of many triangles, whose pairs the lanes of a world share."""
    builder, robot = sim.ModelBuilder(), sim.ModelBuilder()
    for k in range(6):
        body = robot.add_body(xform=sim.transform((0.3 * (k % 3), 0.3 * (k // 3), 0.48 - 0.02 * k)))
        if k % 2:
            robot.add_shape_box(body, 0.25, 0.2, 0.1)
        else:
            robot.add_shape_cone(body, 0.2, 0.2)
    builder.replicate(robot, 2)
    vertices, faces = sphere_mesh(16)
    builder.add_shape_mesh(-1, (0.5 * vertices, faces))
    height = 0.02 * np.random.default_rng(3).random((40, 40))
    builder.add_shape_heightfield(-1, height, 1.0, 1.0, xform=sim.transform((0, 0, 0.3)))
    model = builder.finalize(device=device, precision=precision)
    state, contacts = model.state(), model.contacts()
    sim.collide(model, state, contacts)
    return [contacts.count, contacts.distance, contacts.normal]


def meshes(device, precision: str) -> list:
    """Meshes that overlap each other and a plane, as they stand and followed: a text without the other shapes."""
    builder, robot = sim.ModelBuilder(), sim.ModelBuilder()
    vertices, faces = sphere_mesh()
    for k in range(4):
        place = sim.transform((0.25 * k, 0.02 * k, 0.15 + 0.03 * k))
        body = robot.add_body(xform=place, velocity=(0, 0, -60.0 * (k % 2), 0, 1, 0))
        robot.add_shape_mesh(body, (0.2 * vertices * (1, 1 - 0.2 * (k % 2), 1), faces))
    builder.replicate(robot, 2)
    builder.add_ground_plane()
    model = builder.finalize(device=device, precision=precision)
    state, contacts = model.state(), model.contacts()
    sim.collide(model, state, contacts)
    found = [contacts.count.copy(), contacts.distance.copy(), contacts.normal.copy()]
    sim.collide(model, state, contacts, dt=5e-3)
    return [*found, contacts.distance, contacts.time]


def steps(device, precision: str, lanes: int) -> list:
    model, _, contacts = scene(device, None, precision)
    solver = sim.solvers.Featherstone(model, lanes=lanes)
    state, after, control = model.state(), model.state(), model.control()
    touch = sim.sensors.ContactSensor(model, body="*")
    for _ in range(3):
        sim.collide(model, state, contacts, dt=2e-3)
        solver.step(state, after, control, contacts, 2e-3)
        state, after = after, state
    caster = sim.sensors.RayCaster(model, directions=[(0, 0, -1), (1, 0, 0.1)], body=-1, xform=sim.transform((0, 0, 2)))
    return [state.joint_q, touch.read(contacts, state).force, caster.cast(state).distance]


def primitives(device, precision: str, lanes: int) -> list:
    """Steps that collide by themselves, of shapes with closed forms: the kernels are far smaller than of all pairs."""
    builder, robot = sim.ModelBuilder(), sim.ModelBuilder()
    pole = robot.add_body(xform=sim.transform((0, 0, 0.5)))
    robot.add_joint_revolute(-1, pole, axis=(0, 1, 0), parent_xform=sim.transform((0, 0, 0.8)))
    robot.add_shape_capsule(pole, 0.05, 0.3)
    for k, add in enumerate((robot.add_shape_sphere, robot.add_shape_box)):
        body = robot.add_body(xform=sim.transform((0.1, 0.02 * k, 0.1 + 0.19 * k)))
        add(body, *(0.1, 0.1, 0.1)[: 1 + 2 * k])
    builder.replicate(robot, 2)
    builder.add_ground_plane()
    model = builder.finalize(device=device, precision=precision)
    solver = sim.solvers.Featherstone(model, lanes=lanes, specialise=False)
    state, after, control = model.state(), model.state(), model.control()
    for _ in range(5):
        solver.step(state, after, control, None, 2e-3)
        state, after = after, state
    return [state.joint_q, state.joint_qd, solver.iterations]


def checksum(arrays: list) -> str:
    """CRC-32 of the bytes of arrays, wherever they are."""
    total = 0
    for array in arrays:
        array = array if isinstance(array, np.ndarray) else array.get()
        total = zlib.crc32(np.ascontiguousarray(array).tobytes(), total)
    return f"{total:08x}"


def cases(device, lanes: int) -> dict[str, Callable[[], list]]:
    """All of them by name."""
    named = {"sorts": partial(sorts, device), "queries": partial(queries, device)}
    for precision in ("float32", "float64"):
        for broad_phase in ("pairs", "bvh", "dense"):
            named[f"collision {precision} {broad_phase}"] = partial(collision, device, precision, broad_phase)
        named[f"shared {precision}"] = partial(shared, device, precision)
        named[f"meshes {precision}"] = partial(meshes, device, precision)
        named[f"steps {precision}"] = partial(steps, device, precision, lanes)
        named[f"primitives {precision}"] = partial(primitives, device, precision, lanes)
    return named


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("device")
    parser.add_argument("--lanes", type=int, default=32)
    parser.add_argument(
        "--only", default="", help="those whose name has this: under a checker each compiles for minutes"
    )
    options = parser.parse_args()
    named = cases(sim.get_device(options.device), options.lanes)
    chosen = [name for name in named if options.only in name]
    if not chosen:
        parser.error(f"--only {options.only}: none of {', '.join(named)}")
    for name in chosen:
        print(name, checksum(named[name]()), flush=True)


if __name__ == "__main__":
    main()
