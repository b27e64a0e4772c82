"""Space queries beside their peers: trees and rays (Embree, Warp), grids (cKDTree, Warp), sorts (NumPy), and growth.

python -m benchmarks.queries --device cpu --threads 1                  # beside embreex, scipy and NumPy where installed
python -m benchmarks.queries --device cuda:0                           # beside Warp where installed
python -m benchmarks.queries --growth --sizes 1e3 1e4 1e5 1e6 1e7      # time against number, slope fitted

On the CPU with one thread, times are CPU seconds of the process, which then runs on one processor: another load on the
machine does not enter, and Embree's and SciPy's own threads have no more. Else they are wall times, on a GPU of a
captured graph and with what is queued done. Medians of --rounds; JSON with --out.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import time

import numpy as np

import simengine as sim
from simengine.collision.bvh import Bvh, QueryOrder
from simengine.collision.hash_grid import HashGrid
from simengine.collision.mesh import Mesh
from simengine.collision.sort import RadixSort
from simengine.runtime.devices import get_device

RADIUS = 1.9  # m, about 29 neighbours at one point a cubic metre


class Clock:
    """Times calls on a device; collects rows (what, size, engine, milliseconds, rate)."""

    def __init__(self, device: str, threads: int | None, rounds: int):
        self.device, self.rounds, self.rows = get_device(device), rounds, []
        self.cpu_time = not self.device.is_cuda and threads == 1
        if not self.device.is_cuda:
            sim.set_num_threads(threads)
        if self.cpu_time and hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

    def now(self) -> float:
        self.device.synchronize()
        return time.process_time() if self.cpu_time else time.perf_counter()

    def seconds(self, call, rounds: int | None = None) -> float:
        """Median time of a call, after one that is not counted; short ones are repeated."""
        call()
        begin = self.now()
        call()
        once = max(self.now() - begin, 1e-6)
        repeats = int(max(1, min(100, 0.01 // once)))
        samples = []
        for _ in range(rounds or self.rounds):
            begin = self.now()
            for _ in range(repeats):
                call()
            samples.append((self.now() - begin) / repeats)
        return float(np.median(samples))

    def graph(self, call):
        """What to call instead: on a GPU a graph of its launches."""
        if not self.device.is_cuda:
            return call
        call()
        with sim.capture(self.device) as graph:
            call()
        return graph.launch

    def add(
        self, what: str, size: int, engine: str, call, items: int | None = None, rounds: int | None = None
    ) -> float:
        seconds = self.seconds(call, rounds)
        rate = (items or size) / seconds / 1e6
        self.rows.append({"what": what, "size": size, "engine": engine, "ms": 1e3 * seconds, "M/s": rate})
        print(f"| {what} | {size:,} | {engine} | {1e3 * seconds:.3f} | {rate:.3f} |", flush=True)
        return seconds


def bumpy_sphere(n: int) -> tuple[np.ndarray, np.ndarray]:
    """About 4 n^2 triangles: a sphere with waves on it (vertices float32, faces int32)."""
    u, v = np.linspace(0, 2 * np.pi, 2 * n, endpoint=False), np.linspace(1e-3, np.pi - 1e-3, n)
    u, v = np.meshgrid(u, v)
    radius = 1 + 0.1 * np.sin(9 * u) * np.sin(11 * v)
    points = radius[..., None] * np.stack([np.sin(v) * np.cos(u), np.sin(v) * np.sin(u), np.cos(v)], axis=-1)
    row, column = np.arange(n - 1)[:, None] * 2 * n, np.arange(2 * n)[None]
    following = (column + 1) % (2 * n)
    a, b, c, d = row + column, row + following, row + 2 * n + column, row + 2 * n + following
    faces = np.concatenate([np.stack([a, c, b], -1).reshape(-1, 3), np.stack([b, c, d], -1).reshape(-1, 3)])
    return points.reshape(-1, 3).astype(np.float32), faces.astype(np.int32)


def ray_sets(count: int) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Incoherent rays from round the sphere to points within, and a camera's parallel ones."""
    random = np.random.default_rng(0)
    origin = random.normal(size=(count, 3))
    origin *= 3 / np.linalg.norm(origin, axis=1, keepdims=True)
    incoherent = origin, random.uniform(-0.8, 0.8, (count, 3)) - origin
    side = int(count**0.5)
    x, y = np.meshgrid(np.linspace(-0.9, 0.9, side), np.linspace(-0.9, 0.9, side))
    camera = np.stack([x, y, np.full_like(x, 3)], -1).reshape(-1, 3), np.tile([0.0, 0, -1], (side * side, 1))
    return {
        name: (start.astype(np.float32), (way / np.linalg.norm(way, axis=1, keepdims=True)).astype(np.float32))
        for name, (start, way) in (("incoherent", incoherent), ("coherent", camera))
    }


def mesh_queries(clock: Clock, triangles: int, rays: int) -> None:
    """Build, refit, rays and closest points of one mesh, the kernels alone, then the peers'."""
    device = clock.device
    vertices, faces = bumpy_sphere(max(4, round((triangles / 4) ** 0.5)))
    mesh, size = Mesh(device.asarray(vertices), faces), len(faces)
    clock.add("BVH build", size, "simengine", clock.graph(lambda: (mesh._bounds(), mesh._trees.build())))
    clock.add("BVH refit", size, "simengine", clock.graph(mesh._trees.refit))
    for name, (origin, direction) in ray_sets(rays).items():
        count = len(origin)
        out = mesh._outputs(count, t=(), face=None, uv=(2,), point=(3,), normal=(3,))
        prepared, _, _ = mesh._rays(device.asarray(origin), device.asarray(direction), np.inf)
        cast = mesh._prepare("mesh_ray_cast", count, mesh._trees.arrays() | prepared | out)
        clock.add(f"rays, {name}", size, "simengine", cast, count)
    points = np.random.default_rng(1).uniform(-1.3, 1.3, (rays, 3)).astype(np.float32)
    out = mesh._outputs(rays, distance=(), face=None, uv=(2,), closest=(3,), normal=(3,))
    arguments = {
        "faces": mesh.faces,
        "vertices": mesh._vertices,
        "sign": 0,
        "point": mesh._local(device.asarray(points)),
    }
    arguments |= dict.fromkeys(("welded", "corner_start", "corner")) | mesh._boundary_arguments(False) | out
    arguments["max_distance"] = device.asarray(np.full(rays, np.inf, np.float32))
    order = QueryOrder(mesh._trees, arguments["point"])
    closest = mesh._closest_launch(rays, arguments | {"turn": order.turn})
    clock.add("closest points", size, "simengine", clock.graph(lambda: (order(), closest())), rays)
    if not device.is_cuda and importlib.util.find_spec("embreex"):
        embree(clock, vertices, faces, rays)
    if device.is_cuda and importlib.util.find_spec("warp"):
        warp_mesh(clock, vertices, faces, points, rays)


def embree(clock: Clock, vertices, faces, rays: int) -> None:
    """Embree through embreex: its build (lazy, hence one ray) and single rays."""
    from embreex.mesh_construction import TriangleMesh
    from embreex.rtcore_scene import EmbreeScene

    def make():
        scene = EmbreeScene()
        TriangleMesh(scene, vertices[faces])
        scene.run(vertices[:1], vertices[:1] + np.float32(1))
        return scene

    scene, size = make(), len(faces)
    clock.add("BVH build", size, "Embree", make, rounds=min(2, clock.rounds))
    for name, (origin, direction) in ray_sets(rays).items():
        cast = clock.add(
            f"rays, {name}", size, "Embree", lambda o=origin, d=direction: scene.run(o, d, output=1), len(origin)
        )
        assert cast > 0


def warp_mesh(clock: Clock, vertices, faces, points, rays: int) -> None:
    """Warp's meshes: LBVH built on the device, and the SAH tree built on the host."""
    from benchmarks import queries_warp as peer

    size = len(faces)
    for constructor in ("lbvh", "sah"):
        engine = f"Warp {constructor}"
        mesh = peer.mesh(vertices, faces, constructor)
        clock.add("BVH build", size, engine, lambda c=constructor: peer.mesh(vertices, faces, c), rounds=2)
        clock.add("BVH refit", size, engine, peer.captured(mesh.refit))
        for name, (origin, direction) in ray_sets(rays).items():
            clock.add(f"rays, {name}", size, engine, peer.rays(mesh, origin, direction), len(origin))
        clock.add("closest points", size, engine, peer.closest(mesh, points), rays)


def grid_queries(clock: Clock, count: int) -> None:
    """Build and query of a grid of random points, then the peers'."""
    device = clock.device
    points = (np.random.default_rng(0).random((count, 3)) * count ** (1 / 3)).astype(np.float32)
    array = device.asarray(points)
    grid = HashGrid(RADIUS)
    grid.build(array)

    def build():
        for launch in grid._launches:
            launch()

    clock.add("grid build", count, "simengine", clock.graph(build))
    arguments, _ = grid._query_arguments(None, None, None)
    counts = device.empty(count, np.int32)
    query = grid._prepare_query(count, arguments | {"offsets": None, "counts": counts, "out": None})
    clock.add("grid count", count, "simengine", query)
    clock.add("grid lists", count, "simengine", grid.neighbors, rounds=2)
    if not device.is_cuda and importlib.util.find_spec("scipy"):
        from scipy.spatial import cKDTree

        tree = cKDTree(points)
        clock.add("grid build", count, "cKDTree", lambda: cKDTree(points), rounds=1)
        clock.add(
            "grid build", count, "cKDTree, quick", lambda: cKDTree(points, balanced_tree=False, compact_nodes=False)
        )
        ask = points[:: max(1, count // 100_000)]
        engine = f"cKDTree, {len(ask):,} queries"
        clock.add(
            "grid count", count, engine, lambda: tree.query_ball_point(ask, RADIUS, return_length=True), len(ask), 1
        )
        clock.add("grid lists", count, engine, lambda: tree.query_ball_point(ask, RADIUS), len(ask), 1)
    if device.is_cuda and importlib.util.find_spec("warp"):
        from benchmarks import queries_warp as peer

        build, query = peer.grid(points, RADIUS)
        clock.add("grid build", count, "Warp", build)
        clock.add("grid count", count, "Warp", query)


def sorts(clock: Clock, count: int) -> None:
    """Stable sorts of pairs."""
    for dtype, bits in ((np.uint32, 30), (np.uint64, 60)):
        keys = np.random.default_rng(0).integers(0, 1 << bits, count).astype(dtype)
        sort = RadixSort(clock.device.asarray(keys), None, bits)
        clock.add(f"sort of {bits} bits", count, "simengine", clock.graph(sort))
        if not clock.device.is_cuda:
            clock.add(f"sort of {bits} bits", count, "NumPy", lambda k=keys: k[np.argsort(k, kind="stable")], rounds=2)


def growth(clock: Clock, sizes: list[int]) -> None:
    """Time against number, and the slope of its logarithms: 1 is linear."""
    found: dict[str, list[float]] = {}
    for size in sizes:
        random, device = np.random.default_rng(0), clock.device
        center = random.random((size, 3)).astype(np.float32) * np.float32(size ** (1 / 3))
        tree = Bvh(device.asarray(center - np.float32(0.2)), device.asarray(center + np.float32(0.2)))
        grid = HashGrid(1.0)
        grid.build(device.asarray(center))
        sort = RadixSort(device.asarray(random.integers(0, 2**30, size).astype(np.uint32)), None, 30)
        own = device.asarray(center)
        calls = {
            "sort": clock.graph(sort),
            "BVH build": clock.graph(tree._trees.build),
            "BVH refit": clock.graph(tree._trees.refit),
            "grid build": clock.graph(lambda g=grid: [launch() for launch in g._launches]),
            "grid count": lambda g=grid: g.count(),
            "nearest box": lambda t=tree, p=own: t.nearest(p),
        }
        for name, call in calls.items():
            found.setdefault(name, []).append(clock.add(f"growth, {name}", size, "simengine", call))
    for name, seconds in found.items():
        slope = np.polyfit(np.log(sizes), np.log(seconds), 1)[0]
        clock.rows.append({"what": f"slope, {name}", "sizes": sizes, "slope": float(slope)})
        print(f"{name}: time grows as n^{slope:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=None, help="on the CPU; 1 measures CPU time")
    parser.add_argument("--triangles", type=float, default=1_048_576)
    parser.add_argument("--rays", type=float, default=None, help="default 200,000 on the CPU, 1,048,576 on a GPU")
    parser.add_argument("--points", type=float, nargs="*", default=None, help="default 1e6; on a GPU 1e6 and 8e6")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--growth", action="store_true", help="time against number instead")
    parser.add_argument("--sizes", type=float, nargs="+", default=[1e3, 1e4, 1e5, 1e6])
    parser.add_argument("--out", help="a file for the rows as JSON")
    options = parser.parse_args()
    clock = Clock(options.device, options.threads, options.rounds)
    on_gpu = clock.device.is_cuda
    print("| what | size | engine | ms | M/s |\n|---|---|---|---|---|")
    if options.growth:
        growth(clock, [int(size) for size in options.sizes])
    else:
        mesh_queries(clock, int(options.triangles), int(options.rays or (1 << 20 if on_gpu else 200_000)))
        for count in options.points or ([1e6, 8e6] if on_gpu else [1e6]):
            grid_queries(clock, int(count))
        sorts(clock, 1_000_000)
    if options.out:
        with open(options.out, "w", encoding="utf-8") as file:
            json.dump({"options": vars(options), "rows": clock.rows}, file, indent=1)


if __name__ == "__main__":
    main()
