"""Time of one collision and of one distance of each pair of shapes, beside MuJoCo's: ``python -m benchmarks.pairs``.

Pairs are random: of sizes 0.05 to 0.5 m, along a random direction from 1 mm overlap to 1 mm apart. A world holds one
pair; all worlds are worked in one call. MuJoCo collides one pair a call (mj_collision on one thread, called from
Python, which costs about 1 microsecond).

``python -m benchmarks.pairs --deepest`` tells instead how far the deepest contact of convex shapes that cut surfaces of
triangles is from their distance: of shapes of about 0.1 m, in random poses, pushed into a convex mesh, a convex height
field and hills until they overlap by up to 1 mm, and by up to 10 cm; and the time of a collision of these.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time

import numpy as np

import simengine as sim
from simengine.builder.mesh_data import convex_hull
from simengine.collision import shape_distance

KINDS = {"sphere": 1, "capsule": 2, "ellipsoid": 3, "cylinder": 2, "box": 3, "cone": 2, "convex_hull": 0}
IN_MUJOCO = ("sphere", "capsule", "ellipsoid", "cylinder", "box")


def random_poses(random, n: int) -> np.ndarray:
    q = random.normal(size=(n, 4))
    return np.column_stack([np.zeros((n, 3)), q / np.linalg.norm(q, axis=1, keepdims=True)])


def build(kinds, n: int, precision: str, device: str | None):
    """A model of n worlds with a pair each, in touch, its state and the pairs."""
    random = np.random.default_rng(0)
    points = random.normal(size=(24, 3))
    points *= 0.25 / np.linalg.norm(points, axis=1, keepdims=True)
    template = sim.ModelBuilder()
    for kind in kinds:
        body = template.add_body(mass=1, inertia=(1, 1, 1))
        size = (points,) if kind == "convex_hull" else (0.1,) * KINDS[kind]
        getattr(template, f"add_shape_{kind}")(body, *size)
    builder = sim.ModelBuilder()
    builder.replicate(template, n)
    model = builder.finalize(device=device, precision=precision)
    size = np.array(sim.to_numpy(model.shape_size), float)
    for i, kind in enumerate(kinds):
        size[i::2, : KINDS[kind]] = random.uniform(0.05, 0.5, (n, KINDS[kind]))
    model.shape_size = model.device.asarray(size.astype(precision))
    radius = np.maximum(np.linalg.norm(size, axis=1), size.sum(1) * np.tile([k == "capsule" for k in kinds], n))
    radius[np.tile([k == "convex_hull" for k in kinds], n)] = 0.25
    model.shape_radius = model.device.asarray(radius.astype(precision))
    pairs = np.arange(2 * n).reshape(n, 2)
    pose = np.stack([random_poses(random, n), random_poses(random, n)], 1)
    pose[:, 1, :3] = random.normal(size=(n, 3))
    state = model.state()
    for gap in (0, 0, 0, random.uniform(-1e-3, 1e-3, n)):  # towards each other along the direction between them
        state.body_q = model.device.asarray(pose.reshape(-1, 7).astype(precision))
        found = shape_distance(model, state, pairs)
        distance, normal = (np.asarray(sim.to_numpy(x), float) for x in (found.distance, found.normal))
        pose[:, 1, :3] -= (distance - gap)[:, None] * normal
    state.body_q = model.device.asarray(pose.reshape(-1, 7).astype(precision))
    return model, state, pairs


def timed(run, device, rounds: int = 7) -> float:
    """Median seconds of a call."""
    run()
    times = []
    for _ in range(rounds):
        device.synchronize()
        start = time.perf_counter()
        run()
        device.synchronize()
        times.append(time.perf_counter() - start)
    return float(np.median(times))


def mujoco_time(kinds, model, state, pairs, count: int) -> float | None:
    """Seconds of mj_collision on one pair, mean of ``count`` pairs; None where MuJoCo lacks a shape or is missing."""
    try:
        import mujoco
    except ImportError:
        return None
    if not set(kinds) <= set(IN_MUJOCO):
        return None
    geoms = [f'<geom type="{kind}" size="1 1 1"/>' for kind in kinds]
    inertia = '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'
    bodies = f'<body mocap="true">{geoms[0]}</body><body><freejoint/>{inertia}{geoms[1]}</body>'
    theirs = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{bodies}</worldbody></mujoco>")
    data = mujoco.MjData(theirs)
    poses, sizes = (sim.to_numpy(x).astype(float) for x in (state.body_q, model.shape_size))
    theirs.geom_rbound[:], theirs.geom_aabb[:, 3:] = 2, 2
    total = 0.0
    for i in range(count):
        (a, b), (size0, size1) = poses[pairs[i]], sizes[pairs[i]]
        theirs.geom_size[0], theirs.geom_size[1] = size0, size1
        data.mocap_pos[0], data.mocap_quat[0] = a[:3], np.roll(a[3:], 1)
        data.qpos[:3], data.qpos[3:] = b[:3], np.roll(b[3:], 1)
        mujoco.mj_kinematics(theirs, data)
        start = time.perf_counter()
        mujoco.mj_collision(theirs, data)
        total += time.perf_counter() - start
    return total / count


def measure(kinds, n: int, precision: str, device: str | None) -> dict:
    model, state, pairs = build(kinds, n, precision, device)
    contacts = model.contacts()
    collide = timed(lambda: sim.collide(model, state, contacts), model.device) / n
    distance = timed(lambda: shape_distance(model, state, pairs), model.device) / n
    theirs = mujoco_time(kinds, model, state, pairs, min(n, 2000))
    return {
        "pair": "-".join(kinds),
        "collide_us": round(1e6 * collide, 3),
        "distance_us": round(1e6 * distance, 3),
        "mujoco_collision_us": None if theirs is None else round(1e6 * theirs, 3),
        "contacts": round(float(sim.to_numpy(contacts.count).mean()), 2),
    }


SIZES = {"sphere": (0.1,), "capsule": (0.06, 0.08), "ellipsoid": (0.1, 0.06, 0.08), "cylinder": (0.1, 0.08),
         "box": (0.1, 0.08, 0.06), "cone": (0.1, 0.1), "convex_hull": ()}  # fmt: skip
SURFACES = ("convex mesh", "convex field", "hills")
REACH = 0.8  # m: at this distance from a surface's origin no shape touches it


def add_surface(builder, name: str) -> None:
    random = np.random.default_rng(5)
    if name == "convex mesh":
        points = random.normal(size=(30, 3))
        builder.add_shape_mesh(-1, convex_hull(0.3 * points / np.linalg.norm(points, axis=1, keepdims=True)))
        return
    x, y = np.meshgrid(np.linspace(-1, 1, 11), np.linspace(-1, 1, 11))
    heights = -0.3 * x**2 - 0.2 * y**2 + 0.006 * x * y
    if name == "hills":
        heights = 0.12 * np.sin(5 * x + 1) * np.cos(4 * y) + random.uniform(0, 0.03, x.shape)
    builder.add_shape_heightfield(-1, heights, 1, 1, 1.0)


def overlapping(kind: str, surface: str, least: float, most: float, n: int, precision: str, device: str | None):
    """A model of n worlds in which a shape overlaps a surface by ``least`` to ``most`` m, its state and the pairs."""
    random, builder, template = np.random.default_rng(1), sim.ModelBuilder(), sim.ModelBuilder()
    hull = (random.normal(size=(14, 3)) * [0.1, 0.12, 0.08],) if kind == "convex_hull" else SIZES[kind]
    getattr(template, f"add_shape_{kind}")(template.add_body(mass=1, inertia=(1, 1, 1)), *hull)
    add_surface(builder, surface)
    builder.replicate(template, n)
    model = builder.finalize(device=device, precision=precision)
    body = np.array(sim.to_numpy(model.shape_body))
    pairs = np.column_stack([np.flatnonzero(body >= 0), np.full(n, np.flatnonzero(body < 0)[0])])
    state, pose, depth = model.state(), random_poses(random, n), random.uniform(least, most, n)
    way = (
        random.normal(size=(n, 3))
        if surface == "convex mesh"
        else random.uniform([-0.3, -0.3, 1], [0.3, 0.3, 1], (n, 3))
    )
    way /= np.linalg.norm(way, axis=1, keepdims=True)
    start = np.zeros((n, 3)) if surface == "convex mesh" else random.uniform([-0.5, -0.5, 0], [0.5, 0.5, 0], (n, 3))
    low, high = np.zeros((n, 1)), np.full((n, 1), REACH)
    for _ in range(40):
        middle = 0.5 * (low + high)
        pose[:, :3] = start + middle * way
        state.body_q = model.device.asarray(pose.astype(precision))
        deeper = np.asarray(sim.to_numpy(shape_distance(model, state, pairs).distance))[:, None] < -depth[:, None]
        low, high = np.where(deeper, middle, low), np.where(deeper, high, middle)
    pose[:, :3] = start + high * way
    state.body_q = model.device.asarray(pose.astype(precision))
    return model, state, pairs


def measure_deepest(kind: str, surface: str, least: float, most: float, options) -> dict:
    model, state, pairs = overlapping(kind, surface, least, most, options.worlds, options.precision, options.device)
    contacts = model.contacts()
    collide = timed(lambda: sim.collide(model, state, contacts), model.device, 3) / options.worlds
    depth = -np.asarray(sim.to_numpy(shape_distance(model, state, pairs).distance), float)
    found, start = sim.to_numpy(contacts.distance), sim.to_numpy(contacts.world_start)
    count = sim.to_numpy(contacts.count)
    deepest = np.array([-np.min(found[start[i] : start[i] + count[i]], initial=0) for i in range(len(depth))])
    cut = depth > 0  # else it was wholly inside
    off = (deepest - depth)[cut]
    return {"shape": kind, "surface": surface, "to_mm": 1e3 * most, "cut": int(cut.sum()),
            "within_0.1mm": round(100 * float(np.mean(np.abs(off) < 1e-4)), 1),
            "shallower_mm": round(1e3 * float(-off.min()), 4), "deeper_mm": round(1e3 * float(off.max()), 4),
            "collide_us": round(1e6 * collide, 1)}  # fmt: skip


def print_deepest(options) -> list[dict]:
    rows = []
    print("| shape | surface | mm, at most | pairs | % within 0.1 mm | mm shallower | mm deeper | collide us |")
    for surface, kind, (least, most) in itertools.product(SURFACES, SIZES, ((0, 1e-3), (1e-3, 0.1))):
        rows.append(row := measure_deepest(kind, surface, least, most, options))
        print("| " + " | ".join(str(x) for x in row.values()) + " |", flush=True)
    return rows


def print_times(options) -> list[dict]:
    rows = []
    print(f"{'pair':26s} collide us  distance us  MuJoCo us  contacts")
    for kinds in itertools.combinations_with_replacement(KINDS, 2):
        rows.append(row := measure(kinds, options.worlds, options.precision, options.device))
        theirs = "-" if row["mujoco_collision_us"] is None else f"{row['mujoco_collision_us']:.2f}"
        ours = f"{row['collide_us']:10.2f} {row['distance_us']:12.2f}"
        print(f"{row['pair']:26s} {ours} {theirs:>10s} {row['contacts']:9.2f}")
    return rows


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=4096)
    parser.add_argument("--deepest", action="store_true", help="deepest contacts beside distances, of surfaces")
    parser.add_argument("--device")
    parser.add_argument("--precision", default="float32")
    parser.add_argument("--threads", type=int, help="of the CPU")
    options = parser.parse_args()
    sim.set_num_threads(options.threads)
    rows = print_deepest(options) if options.deepest else print_times(options)
    print(json.dumps({"settings": vars(options), "pairs": rows}))
