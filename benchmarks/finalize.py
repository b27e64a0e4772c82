"""Time and host memory of ``finalize`` for many copies of a robot of 30 bodies: ``python benchmarks/finalize.py``."""

from __future__ import annotations

import argparse
import json
import resource
import time

import simengine as sim

LEGS, SEGMENTS = 4, 7  # and a trunk and a head: 30 bodies


def robot() -> sim.ModelBuilder:
    """A trunk with a head and four legs of seven segments."""
    builder = sim.ModelBuilder()
    trunk = builder.add_body(xform=sim.transform(p=(0, 0, 1)), label="trunk")
    builder.add_shape_box(trunk, 0.3, 0.2, 0.1)
    head = builder.add_body(label="head")
    builder.add_shape_sphere(head, 0.1)
    builder.add_joint_revolute(trunk, head, parent_xform=sim.transform(p=(0.3, 0, 0.2)))
    for leg in range(LEGS):
        parent, place = trunk, (0.25 * (1 - 2 * (leg % 2)), 0.2 * (1 - 2 * (leg // 2)), 0)
        for i in range(SEGMENTS):
            segment = builder.add_body(label=f"leg_{leg}_{i}")
            builder.add_shape_capsule(segment, 0.03, 0.05)
            builder.add_joint_revolute(parent, segment, axis="XYZ"[i % 3], parent_xform=sim.transform(p=place),
                                       limit_lower=-1, limit_upper=1, armature=0.01)  # fmt: skip
            parent, place = segment, (0, 0, -0.1)
    return builder


def measure(worlds: int, device: str | None, precision: str) -> dict:
    """Seconds of ``finalize`` after one on a single world, so that kernels are compiled, and the peak memory in MB."""
    robot().finalize(device=device, precision=precision)
    builder = sim.ModelBuilder()
    builder.add_ground_plane()
    builder.replicate(robot(), worlds)
    start = time.perf_counter()
    model = builder.finalize(device=device, precision=precision)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    return {"worlds": worlds, "bodies": model.body_count, "device": model.device.name, "precision": precision,
            "finalize_s": round(seconds, 3), "peak_host_memory_MB": round(peak)}  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=8192)
    parser.add_argument("--device")
    parser.add_argument("--precision", default="float32")
    options = parser.parse_args()
    print(json.dumps(measure(options.worlds, options.device, options.precision), indent=1))
