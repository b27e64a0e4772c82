"""Thousands of robots in one graph: random pushes, and a reset of those that fell, all on the device."""

import sys
from pathlib import Path

import numpy as np

import simengine as sim

ASSETS = Path(__file__).resolve().parent.parent / "assets"
FALLEN = 0.2  # m: height of the trunk below which a robot counts as fallen


def main(worlds=64, steps=400, device=None) -> tuple[sim.Model, sim.State, int]:
    template = sim.ModelBuilder()
    template.add_urdf(ASSETS / "quadruped.urdf", floating=True, xform=sim.transform((0, 0, 0.42)), drive_frequency=5.0)
    builder = sim.ModelBuilder()
    builder.replicate(template, worlds)
    builder.add_ground_plane()
    model = builder.finalize(device=device)
    solver = sim.solvers.Featherstone(model)
    state, next_state, control = model.state(), model.state(), model.control()

    dt = 1 / 240
    for _ in range(2):  # compiles and allocates; nothing may do so within a capture
        solver.step(state, next_state, control, None, dt)
        state, next_state = next_state, state
    with sim.capture(model.device) as graph:  # nothing runs while capturing
        solver.step(state, next_state, control, None, dt)  # primitives only: collides inside the step
        solver.step(next_state, state, control, None, dt)

    random = np.random.default_rng(0)
    fallen = model.device.zeros(worlds, np.bool_)
    trunk = model.by_world(state.body_q)[:, 0]  # (worlds, 7) view, no copy
    resets = 0
    for launch in range(steps // 2):
        if launch % 20 == 0:
            pushes = random.uniform(-60, 60, (worlds, 3)).astype(model.precision)
            model.by_world(control.body_f)[:, 0, :3] = model.device.asarray(pushes)  # N, on the trunk
        graph.launch()
        fallen[:] = trunk[:, 2] < FALLEN
        resets += int(fallen.sum())
        sim.reset(model, state, world_mask=fallen)  # the others keep their bits
    solver.check(state)
    print(f"{worlds} worlds, {steps} steps each, {resets} resets")
    return model, state, resets


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
