"""A robot from a file: it drops onto the ground and holds its pose; the run is saved, resumed and recorded."""

from pathlib import Path

import simengine as sim

ASSETS = Path(__file__).resolve().parent.parent / "assets"


def main(folder="out", device=None) -> sim.Simulation:
    builder = sim.ModelBuilder()
    report = builder.add_urdf(
        ASSETS / "quadruped.urdf", xform=sim.transform(p=(0, 0, 0.5)), floating=True, drive_frequency=5.0
    )
    print(report)  # what was read, what was defaulted, what was ignored and why
    builder.add_ground_plane()
    model = builder.finalize(device=device)
    feet = model.find_bodies("*_foot")  # labels by glob

    simulation = sim.Simulation(model, sim.solvers.Featherstone(model), dt=1 / 60, substeps=4)
    targets = model.by_world(simulation.control.joint_target_pos)  # (worlds, nv): the base's 6 first
    targets[:, 6:] = model.by_world(model.joint_q)[:, 7:]
    simulation.step(60)
    simulation.check()  # raises if any world overflowed or diverged

    file = Path(folder) / "robot.npz"
    file.parent.mkdir(parents=True, exist_ok=True)
    simulation.save(file)
    simulation.load(file)  # resumes bit for bit, in another process too
    with sim.viewers.UsdRecorder(file.with_suffix(".usdc"), model, frames_per_second=60) as recorder:
        simulation.recorder = recorder
        simulation.step(60)
    simulation.check()
    print("feet at heights", sim.to_numpy(simulation.state.body_q)[feet, 2])
    return simulation


if __name__ == "__main__":
    main()
