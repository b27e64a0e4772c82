"""A kernel of your own: one text, run by the CPU and by a GPU, writes the forces that the next step takes."""

from pathlib import Path

import simengine as sim

DRAG, WIND = 2.0, 4.0  # N s/m, m/s


def main(device=None, seconds=1.0, dt=0.001) -> tuple[float, float]:
    builder = sim.ModelBuilder(gravity=0)
    ball = builder.add_body(label="ball")
    builder.add_shape_sphere(ball, 0.1)
    model = builder.finalize(device=device)
    solver = sim.solvers.Featherstone(model)
    state, next_state, control = model.state(), model.state(), model.control()

    force = sim.Kernel(Path(__file__).with_name("wind.cu"), name="wind_force")
    for _ in range(round(seconds / dt)):
        arguments = [state.body_qd, control.body_f, sim.real(DRAG), sim.real(WIND)]  # checked by name, dtype and shape
        force.launch(model.body_count, arguments)
        solver.step(state, next_state, control, None, dt)
        state, next_state = next_state, state
    speed, mass = float(state.body_qd[ball, 0]), float(model.body_mass[ball])
    print(f"a ball of {mass:.3f} kg moves at {speed:.4f} m/s after {seconds} s in a wind of {WIND} m/s")
    return speed, mass


if __name__ == "__main__":
    main()
