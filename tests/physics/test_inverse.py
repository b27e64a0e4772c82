"""The step and inverse dynamics tell the same story: what moved the robot is what was applied to it.

A humanoid of 29 degrees of freedom in random states, with contacts. The generalised force of the contacts is summed
here, from their reported forces and the Jacobians of the bodies, apart from the solver's own rows.
"""

import numpy as np
import pytest

import simengine as sim
from tests.physics.physics_run import Run, rotations


def humanoid():
    """A floating pelvis with torso and head, arms (ball, hinge) and legs (ball, hinge, universal)."""
    builder = sim.ModelBuilder()
    pelvis = builder.add_body(xform=sim.transform((0, 0, 1)))
    builder.add_shape_box(pelvis, 0.1, 0.15, 0.08)
    builder.add_joint_free(-1, pelvis)

    def limb(kind, parent, at, length, radius, **options):
        body = builder.add_body()
        builder.add_shape_capsule(body, radius, length / 2, xform=sim.transform((0, 0, -length / 2)))
        getattr(builder, f"add_joint_{kind}")(parent, body, parent_xform=sim.transform(at), **options)
        return body

    torso = builder.add_body()
    builder.add_shape_box(torso, 0.1, 0.2, 0.25, xform=sim.transform((0, 0, 0.25)))
    builder.add_joint_universal(pelvis, torso, parent_xform=sim.transform((0, 0, 0.1)))
    head = builder.add_body()
    builder.add_shape_sphere(head, 0.12, xform=sim.transform((0, 0, 0.12)))
    builder.add_joint_revolute(torso, head, axis="Z", parent_xform=sim.transform((0, 0, 0.52)))
    for side in (-1, 1):
        arm = limb("ball", torso, (0, 0.25 * side, 0.45), 0.3, 0.04)
        limb("revolute", arm, (0, 0, -0.32), 0.25, 0.03, axis="Y")
        thigh = limb("ball", pelvis, (0, 0.1 * side, -0.1), 0.4, 0.06)
        shin = limb("revolute", thigh, (0, 0, -0.42), 0.4, 0.05, axis="Y")
        limb("universal", shin, (0, 0, -0.44), 0.1, 0.05)
    builder.add_ground_plane()
    return builder


def set_random_state(run, rng, height):
    """Joints anywhere within a radian or so, rates of the order of 1, the pelvis at ``height``."""
    q = run.q
    starts, types = run.model.joint_q_start, run.model.joint_type
    for joint, kind in enumerate(types):
        part = q[starts[joint] : starts[joint + 1]]
        part[:] = rng.uniform(-0.8, 0.8, len(part))
        if kind in (sim.enums.JointType.BALL, sim.enums.JointType.FREE):
            part[-4:] = sim.quat_from_euler(rng.uniform(-0.8, 0.8, 3))
    q[:3] = 0, 0, height
    run.state.joint_q[:] = q
    run.state.joint_qd[:] = rng.normal(size=run.model.joint_dof_count)
    sim.eval_fk(run.model, run.state)


def contact_effort(run, poses, centres, jacobian):
    """J^T f (nv,) of the contacts at the poses of the bodies at which they were found."""
    contacts, total = run.contacts, np.zeros(run.model.joint_dof_count)
    turns = rotations(poses)

    def witness(shapes, points, i):
        body = int(run.model.shape_body[shapes[i]])
        return body, points[i] if body < 0 else poses[body, :3] + turns[body] @ points[i]

    for i in range(int(contacts.count[0])):
        force = contacts.force[i]
        body0, point0 = witness(contacts.shape0, contacts.point0, i)
        body1, point1 = witness(contacts.shape1, contacts.point1, i)
        for body, sign in ((body0, -1), (body1, 1)):
            if body >= 0:
                arm = (point0 + point1) / 2 - centres[body]
                total += sign * np.concatenate([force, np.cross(arm, force)]) @ jacobian[body]
    return total


def step_and_invert(run):
    """One step: rates before and after, coordinates before, M a + bias of a = (v+ - v)/h, and J^T f."""
    poses, centres, q, qd = run.poses, run.centres(), run.q, run.qd
    jacobian = sim.eval_jacobian(run.model, run.state)[0].reshape(run.model.body_count, 6, -1)
    start = run.state.copy()
    run.step()
    inverse = sim.eval_inverse_dynamics(run.model, start, (run.qd - qd) / run.dt)
    return q, qd, run.qd, inverse, contact_effort(run, poses, centres, jacobian)


@pytest.mark.parametrize("cone", ["elliptic", "pyramidal"])
@pytest.mark.parametrize("integrator", ["implicit", "euler"])
def test_forces_of_a_humanoid_in_contact(integrator, cone):
    """M a + bias = effort + J^T f at the state where the step began."""
    rng, contacts = np.random.default_rng(0), 0
    run = Run(humanoid(), 1e-3, contacts=True, integrator=integrator, cone=cone, outputs="joint_constraint_force")
    for height in np.linspace(0.3, 1.2, 8):
        set_random_state(run, rng, height)
        run.control.joint_f[:] = rng.normal(scale=20, size=run.model.joint_dof_count)
        _, _, _, inverse, pushed = step_and_invert(run)
        contacts += int(run.contacts.count[0])
        scale = np.abs(inverse).max()
        np.testing.assert_allclose(inverse, run.control.joint_f + pushed, atol=1e-6 * scale)
        np.testing.assert_allclose(run.solver.joint_constraint_force, pushed, atol=1e-6 * scale)
    assert contacts >= 40


@pytest.mark.parametrize("integrator", ["implicit", "euler"])
def test_damping_springs_and_drives_in_discrete_time(integrator):
    """M a + bias = effort - B v+ - K (q* - q0) - kp (q* - qt) - kd (v* - vt) + J^T f.

    The damping is that of the end of the step; q*, v* of springs and drives are q + h v+, v+ with ``implicit`` and q, v
    with ``euler``. Springs and drives are on the joints of one and two axes.
    """
    rng = np.random.default_rng(1)
    builder = humanoid()
    for joint in builder.joints[1:]:
        for dof in joint.dofs:
            dof.damping = rng.uniform(0, 5)
            if joint.type != sim.enums.JointType.BALL:
                dof.stiffness, dof.spring_ref = rng.uniform(0, 50), rng.normal()
                dof.target_ke, dof.target_kd, dof.target_pos = rng.uniform(0, 200), rng.uniform(0, 9), rng.normal()
    run = Run(builder, 2e-3, contacts=True, integrator=integrator)
    model, dt = run.model, run.dt
    axis = np.flatnonzero(model.joint_stiffness)
    coord = np.concatenate(
        [
            np.arange(model.joint_q_start[j], model.joint_q_start[j + 1])
            for j in range(model.joint_count)
            if model.joint_qd_start[j] in axis
        ]
    )
    for height in np.linspace(0.3, 1.2, 6):
        set_random_state(run, rng, height)
        run.control.joint_target_vel[:] = rng.normal(size=model.joint_dof_count)
        q, v, after, inverse, pushed = step_and_invert(run)
        seen_q, seen_v = (q[coord] + dt * after[axis], after[axis]) if integrator == "implicit" else (q[coord], v[axis])
        wanted = pushed - model.joint_damping * after
        wanted[axis] -= model.joint_stiffness[axis] * (seen_q - model.joint_spring_ref[axis])
        wanted[axis] -= model.joint_target_ke[axis] * (seen_q - run.control.joint_target_pos[axis])
        wanted[axis] -= model.joint_target_kd[axis] * (seen_v - run.control.joint_target_vel[axis])
        np.testing.assert_allclose(inverse, wanted, atol=1e-6 * np.abs(inverse).max())
