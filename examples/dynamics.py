"""Dynamics as functions: kinematics, mass matrix, Jacobian and inverse dynamics of an arm, and computed torques."""

from pathlib import Path

import numpy as np

import simengine as sim

ASSETS = Path(__file__).resolve().parent.parent / "assets"


def main(device=None) -> dict:
    builder = sim.ModelBuilder()
    builder.add_urdf(ASSETS / "arm.urdf")
    model = builder.finalize(device=device, precision="float64")
    state = model.state()
    state.joint_q = model.device.asarray(np.linspace(-0.6, 0.8, 7))
    state.joint_qd = model.device.asarray(np.linspace(0.5, -0.5, 7))

    sim.eval_fk(model, state)  # joint_q, joint_qd -> body_q, body_qd
    mass = sim.eval_mass_matrix(model, state)  # (worlds, nv, nv)
    jacobian = sim.eval_jacobian(model, state)  # (worlds, 6 * bodies, nv): linear at the COM, then angular, world axes
    bias = sim.eval_bias_force(model, state)  # Coriolis, centrifugal and gravity, (nv,)
    wanted = model.device.asarray(np.linspace(2.0, -1.0, 7))  # rad/s2
    torque = sim.eval_inverse_dynamics(model, state, wanted)  # (nv,)

    tool = int(model.find_bodies("tool")[0])
    velocity = (jacobian[0, 6 * tool : 6 * tool + 6] * state.joint_qd).sum(axis=1)
    print("tool at", state.body_q[tool, :3], "moves with", velocity)
    print("torques", torque)
    return {"mass": mass[0], "bias": bias, "wanted": wanted, "torque": torque, "tool": state.body_qd[tool] - velocity}


if __name__ == "__main__":
    main()
