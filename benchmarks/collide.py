"""Collision alone: a pile of 10,000 boxes in one world, thousands of humanoids beside MuJoCo Warp's collisions, and
quadrupeds on hills.

    python -m benchmarks.collide --device cuda:0                              # the first two
    python -m benchmarks.collide --scenes pile --boxes 1000 10000 100000      # time against number
    python -m benchmarks.collide --scenes humanoid --humanoid humanoid.xml    # MuJoCo Warp where it is installed
    python -m benchmarks.collide --scenes terrain --cells 0.05 0.01 --worlds 4096

Both engines get the same states: of MuJoCo's C library after a second of random controls. Times are of captured graphs
on a GPU, wall times on the CPU; medians and 95th percentiles of the rounds; JSON with --out. The pile is a lattice
whose boxes are turned at random and overlap by some millimetres, some three pairs a box; --broad-phase names the ways
in which its pairs are found, --lanes how many lanes work a humanoid on a GPU.
"""

from __future__ import annotations

import argparse
import importlib.util
import itertools
import json
import time
from pathlib import Path

import numpy as np

import simengine as sim
from benchmarks.scenes import ASSETS
from simengine.collision.pipeline import simple_launch

HALF, SPACING = 0.1, 0.235  # m, of a box and of the lattice
SAMPLES, WARM_UP = 64, 500  # states that are dealt out to the worlds, and steps before them


def timed(model, call, rounds: int) -> list[float]:
    """Seconds of each round, of a graph on a GPU, after two calls that are not counted."""
    device = model.device
    call()
    if device.is_cuda:
        with sim.capture(device) as graph:
            call()
        call = graph.launch
    call()
    samples = []
    for _ in range(rounds):
        device.synchronize()
        begin = time.perf_counter()
        repeats = 20 if device.is_cuda else 1
        for _ in range(repeats):
            call()
        device.synchronize()
        samples.append((time.perf_counter() - begin) / repeats)
    return samples


def pile(boxes: int, device, precision: str, broad_phase: str | None = None):
    """One world of boxes that overlap their neighbours; the model and a state."""
    random = np.random.default_rng(0)
    side = int(np.ceil(boxes ** (1 / 3)))
    place = np.stack(np.meshgrid(*[np.arange(side)] * 3, indexing="ij"), -1).reshape(-1, 3)[:boxes] * SPACING
    turn = random.normal(size=(boxes, 4))
    pose = np.concatenate([place + [0, 0, HALF], turn / np.linalg.norm(turn, axis=1, keepdims=True)], 1)
    builder = sim.ModelBuilder()
    for _ in range(boxes):
        builder.add_shape_box(builder.add_body(), HALF, HALF, HALF)
    builder.add_ground_plane()
    model = builder.finalize(device=device, precision=precision, broad_phase=broad_phase)
    state = model.state()
    state.body_q = model.device.asarray(pose.astype(precision))
    return model, state


def row_of(what: str, engine: str, model_worlds: int, samples: list[float], contacts: float, memory: int) -> dict:
    median, high = np.percentile(samples, [50, 95])
    row = {"what": what, "engine": engine, "worlds": model_worlds, "ms": 1e3 * median, "p95_ms": 1e3 * high,
           "ns_per_world": 1e9 * median / model_worlds, "contacts": contacts, "MB": memory / 1e6}  # fmt: skip
    print(
        f"| {what} | {engine} | {model_worlds:,} | {row['ms']:.4f} | {row['p95_ms']:.4f} | {row['ns_per_world']:.2f} "
        f"| {contacts:.2f} | {row['MB']:.0f} |",
        flush=True,
    )
    return row


def used_memory(device) -> int:
    """Bytes of the device in use, of all programs; 0 on the CPU."""
    if not device.is_cuda:
        return 0
    import cupy

    free, total = cupy.cuda.runtime.memGetInfo()
    return total - free


def measure_pile(options) -> list[dict]:
    rows = []
    for boxes, way in itertools.product(options.boxes, options.broad_phase):
        before = used_memory(sim.get_device(options.device))
        model, state = pile(int(boxes), options.device, options.precision, None if way == "auto" else way)
        contacts = model.contacts()
        samples = timed(model, lambda m=model, s=state, c=contacts: sim.collide(m, s, c), options.rounds)
        count, needed = (int(sim.to_numpy(x)[0]) for x in (contacts.count, contacts.needed))
        assert count == needed, f"{needed} contacts, room for {count}"
        what = f"pile of {int(boxes):,} boxes, {model.broad_phase}"
        rows.append(row_of(what, "simengine", 1, samples, count, used_memory(model.device) - before))
    return rows


def humanoid_states(path: Path) -> tuple[np.ndarray, list[str]]:
    """qpos (SAMPLES, nq) of MuJoCo's C library after steps with random controls."""
    import mujoco

    model = mujoco.MjModel.from_xml_path(str(path))
    random, found = np.random.default_rng(0), []
    for _ in range(SAMPLES):
        data = mujoco.MjData(model)
        for _ in range(WARM_UP):
            data.ctrl[:] = random.uniform(-1, 1, model.nu)
            mujoco.mj_step(model, data)
        found.append(data.qpos.copy())
    return np.array(found)


def measure_humanoid(options) -> list[dict]:
    qpos, rows = humanoid_states(options.humanoid), []
    for worlds, lanes in itertools.product(options.worlds, options.lanes):
        dealt = qpos[np.arange(worlds) % SAMPLES]
        before = used_memory(sim.get_device(options.device))
        template, builder = sim.ModelBuilder(), sim.ModelBuilder()
        template.add_mjcf(options.humanoid)
        builder.replicate(template, worlds)
        model = builder.finalize(device=options.device, precision=options.precision)
        state = model.state()
        ours = np.concatenate([dealt[:, :3], np.roll(dealt[:, 3:7], -1, axis=1), dealt[:, 7:]], 1)
        state.joint_q = model.device.asarray(ours.ravel().astype(options.precision))
        sim.eval_fk(model, state)
        contacts = model.contacts()
        simple_launch(model, lanes or None)
        samples = timed(model, lambda m=model, s=state, c=contacts: sim.collide(m, s, c), options.rounds)
        mean = float(sim.to_numpy(contacts.count).mean())
        what = f"humanoids, {lanes} lanes" if lanes else "humanoids"
        rows.append(row_of(what, "simengine", worlds, samples, mean, used_memory(model.device) - before))
        if model.device.is_cuda and importlib.util.find_spec("mujoco_warp"):
            rows.append(mujoco_warp_row(options, worlds, dealt))
    return rows


def mujoco_warp_row(options, worlds: int, qpos: np.ndarray) -> dict:
    """MuJoCo Warp's collision stage on the same states, in a graph."""
    import mujoco
    import mujoco_warp
    import warp

    warp.config.quiet = True
    model = mujoco.MjModel.from_xml_path(str(options.humanoid))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    before = used_memory(sim.get_device(options.device))
    m, d = mujoco_warp.put_model(model), mujoco_warp.put_data(model, data, nworld=worlds, nconmax=32, njmax=96)
    d.qpos.assign(qpos.astype(np.float32))
    mujoco_warp.forward(m, d)
    mujoco_warp.collision(m, d)
    with warp.ScopedCapture() as capture:
        mujoco_warp.collision(m, d)
    samples = []
    for _ in range(options.rounds):
        warp.synchronize()
        begin = time.perf_counter()
        for _ in range(20):
            warp.capture_launch(capture.graph)
        warp.synchronize()
        samples.append((time.perf_counter() - begin) / 20)
    mean = float(d.nacon.numpy()[0]) / worlds
    memory = used_memory(sim.get_device(options.device)) - before
    return row_of("humanoids", "MuJoCo Warp", worlds, samples, mean, memory)


def hills(cell: float, noise: float = 0.002) -> np.ndarray:
    """Heights (m) of 4 x 4 m in cells of ``cell``: smooth hills of 5 cm and some roughness."""
    x = np.linspace(-2, 2, round(4 / cell) + 1)
    smooth = 0.05 * np.sin(5 * x)[:, None] * np.sin(4 * x)
    return smooth + noise * np.random.default_rng(0).random((len(x), len(x)))


def add_terrain(builder: sim.ModelBuilder, heights: np.ndarray, kind: str) -> None:
    """The same surface as a height field or as a mesh that is open below."""
    if kind == "height field":
        builder.add_shape_heightfield(-1, heights, 2.0, 2.0)
        return
    rows, columns = heights.shape
    y, x = np.meshgrid(np.linspace(-2, 2, rows), np.linspace(-2, 2, columns), indexing="ij")
    first = (np.arange(rows - 1)[:, None] * columns + np.arange(columns - 1)).ravel()
    a, b, c, d = first, first + 1, first + columns + 1, first + columns
    faces = np.concatenate([np.stack(three, 1) for three in ((a, b, c), (a, c, d))])
    builder.add_shape_mesh(-1, (np.stack([x, y, heights], -1).reshape(-1, 3), faces))


def measure_terrain(options) -> list[dict]:
    """Quadrupeds that have fallen onto hills and hold a pose, each from another place."""
    rows = []
    for worlds, cell, kind in itertools.product(options.worlds, options.cells, ("height field", "mesh")):
        before = used_memory(sim.get_device(options.device))
        robot, builder = sim.ModelBuilder(), sim.ModelBuilder()
        place = sim.transform((0, 0, 0.5))
        robot.add_urdf(ASSETS / "quadruped.urdf", floating=True, xform=place, drive_frequency=5.0)
        builder.replicate(robot, worlds)
        add_terrain(builder, hills(cell), kind)
        model = builder.finalize(device=options.device, precision=options.precision)
        solver = sim.solvers.Featherstone(model)
        state, other, control, contacts = model.state(), model.state(), model.control(), model.contacts()
        start = sim.to_numpy(state.joint_q).reshape(worlds, -1).copy()
        start[:, :2] += np.random.default_rng(1).uniform(-1, 1, (worlds, 2))
        state.joint_q = model.device.asarray(start.ravel().astype(options.precision))
        for _ in range(100):
            solver.step(state, other, control, None, dt=0.005)
            state, other = other, state
        samples = timed(model, lambda m=model, s=state, c=contacts: sim.collide(m, s, c), options.rounds)
        what = f"quadrupeds, {kind}, cells of {100 * cell:g} cm"
        mean = float(sim.to_numpy(contacts.count).mean())
        rows.append(row_of(what, "simengine", worlds, samples, mean, used_memory(model.device) - before))
    return rows


SCENES = {"pile": measure_pile, "humanoid": measure_humanoid, "terrain": measure_terrain}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default=sim.devices()[-1].name)
    parser.add_argument("--precision", default="float32", choices=["float32", "float64"])
    parser.add_argument("--scenes", nargs="+", default=["pile", "humanoid"], choices=list(SCENES))
    parser.add_argument("--boxes", nargs="+", type=float, default=[10_000])
    parser.add_argument("--broad-phase", nargs="+", default=["auto"], choices=["auto", "bvh", "dense", "pairs"])
    parser.add_argument("--lanes", nargs="+", type=int, default=[0], choices=[0, 1, 4, 8, 16, 32], help="0: by itself")
    parser.add_argument("--worlds", nargs="+", type=int, default=[8192])
    parser.add_argument("--cells", nargs="+", type=float, default=[0.05, 0.01], help="m, of the terrain")
    parser.add_argument("--humanoid", type=Path, default=Path("../shared/peers/scenes/mjw_humanoid.xml"))
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--out", type=Path, help="a file for the rows as JSON")
    options = parser.parse_args()
    print("| what | engine | worlds | ms | p95 ms | ns a world | contacts a world | MB |")
    print("|---|---|---|---|---|---|---|---|")
    rows = [row for scene in options.scenes for row in SCENES[scene](options)]
    if options.out:
        found = {"options": {k: str(v) for k, v in vars(options).items()}, "rows": rows}
        options.out.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
