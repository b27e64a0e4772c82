"""Initial poses and velocities of templates: differences of poses, the kernels, closed forms."""

import numpy as np
import pytest

import simengine as sim
from simengine.builder import frames
from simengine.builder.template import compile_template
from simengine.enums import DofKind
from tests.builder.scenes import random_tree


def compiled(builder):
    return compile_template(builder._elements, (), builder.gravity).arrays


def advanced(builder, dt):
    """The same tree with each joint's coordinates dt later at constant rates."""
    for joint in builder.joints:
        q = list(joint.q)
        for i, dof in enumerate(joint.dofs):
            if dof.kind < DofKind.BALL_X:
                q[i] += dt * joint.qd[i]
            elif dof.kind == DofKind.BALL_X:
                rate = np.array(joint.qd[i : i + 3])
                speed = np.linalg.norm(rate)
                q[i : i + 4] = frames.quat_multiply(frames.quat_from_axis_angle(rate / speed, speed * dt), q[i : i + 4])
        joint.q = tuple(q)
    return builder


@pytest.mark.parametrize("seed", range(4))
def test_body_velocities_are_the_rates_of_change_of_poses(seed):
    dt = 1e-5
    now = compiled(random_tree(seed))
    later, earlier = (compiled(advanced(random_tree(seed), sign * dt)) for sign in (1, -1))
    for body in range(len(now["body_mass"])):
        com = tuple(now["body_com"][body])
        after, before = (frames.apply(tuple(a["body_q"][body]), com) for a in (later, earlier))
        linear = (np.array(after) - before) / (2 * dt)
        turn = frames.quat_multiply(
            tuple(later["body_q"][body, 3:]), frames.quat_conjugate(tuple(earlier["body_q"][body, 3:]))
        )
        angular = 2 * np.array(turn[:3]) * np.sign(turn[3]) / (2 * dt)
        size = 1 + np.abs(now["body_qd"]).max()
        np.testing.assert_allclose(now["body_qd"][body], [*linear, *angular], atol=1e-8 * size**3)


@pytest.mark.parametrize("seed", range(2))
def test_poses_and_velocities_are_those_of_the_kernels(seed):
    model = random_tree(seed).finalize(device="cpu", precision="float64")
    state = model.state()
    state.body_q[:] = 0
    state.body_qd[:] = 0
    sim.eval_fk(model, state)
    sign = np.sign(np.sum(state.body_q[:, 3:] * model.body_q[:, 3:], axis=1))[:, None]
    np.testing.assert_allclose(state.body_q[:, :3], model.body_q[:, :3], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(state.body_q[:, 3:] * sign, model.body_q[:, 3:], atol=1e-12)
    np.testing.assert_allclose(state.body_qd, model.body_qd, rtol=1e-11, atol=1e-11 * np.abs(model.body_qd).max())


def test_floating_body_starts_at_its_pose_with_its_velocity():
    builder = sim.ModelBuilder()
    q = frames.quat_from_axis_angle((0.0, 0.6, 0.8), 0.7)
    velocity = (1.0, 2.0, 3.0, -0.5, 0.2, 0.9)
    builder.add_body((1, 2, 3, *q), mass=1, com=(0.1, 0.2, 0.3), inertia=(1, 1, 1), velocity=velocity)
    arrays = compiled(builder)
    np.testing.assert_allclose(arrays["joint_q"], (1, 2, 3, *q), atol=1e-15)
    np.testing.assert_allclose(arrays["body_q"][0], (1, 2, 3, *q), atol=1e-15)
    np.testing.assert_allclose(arrays["body_qd"][0], velocity, atol=1e-14)
    arm = -np.array(frames.quat_rotate(q, (0.1, 0.2, 0.3)))
    np.testing.assert_allclose(arrays["joint_qd"][:3], velocity[:3] + np.cross(velocity[3:], arm), atol=1e-14)


def test_free_joint_with_frames_takes_its_coordinates_from_the_pose_of_its_body():
    rng = np.random.default_rng(3)
    from tests.builder.scenes import random_pose

    parent_xform, child_xform, xform = (random_pose(rng) for _ in range(3))
    builder = sim.ModelBuilder()
    body = builder.add_body(xform, mass=1, inertia=(1, 1, 1))
    builder.add_joint_free(-1, body, parent_xform=parent_xform, child_xform=child_xform)
    arrays = compiled(builder)
    np.testing.assert_allclose(arrays["body_q"][0], xform, atol=1e-14)
    joint_frame = frames.compose(parent_xform, tuple(arrays["joint_q"]))
    np.testing.assert_allclose(joint_frame, frames.compose(xform, child_xform), atol=1e-14)


def test_pendulum_hangs_where_its_angle_puts_it():
    builder = sim.ModelBuilder()
    body = builder.add_body(mass=1, inertia=(1, 1, 1))
    builder.add_joint_revolute(-1, body, axis="Y", child_xform=(0, 0, 2, 0, 0, 0, 1), q=0.3, qd=2)
    arrays = compiled(builder)
    np.testing.assert_allclose(arrays["body_q"][0, :3], [-2 * np.sin(0.3), 0, -2 * np.cos(0.3)], atol=1e-15)
    np.testing.assert_allclose(arrays["body_qd"][0], [-4 * np.cos(0.3), 0, 4 * np.sin(0.3), 0, 2, 0], atol=1e-14)
