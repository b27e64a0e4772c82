"""Forward kinematics against MuJoCo, finite differences and rigid motions."""

import numpy as np
import pytest

import simengine as sim
from tests.dynamics.trees import (
    KINDS,
    TOLERANCE,
    compose,
    difference,
    model_of,
    random_quaternion,
    random_state,
    random_tree,
    state_of,
    to_matrix,
)
from tests.mujoco_models.exporter import MujocoTwin

EVERY_KIND = (*KINDS, "free")


@pytest.mark.parametrize("seed", range(4))
def test_poses_and_velocities_are_mujocos(seed, device, precision):
    tree = random_tree(seed, bodies=12, roots=3)
    twin, model = MujocoTwin(tree), model_of(tree, device, precision)
    q, qd = random_state(tree, np.random.default_rng(seed))
    state = state_of(model, q, qd)
    twin.set(q, qd)
    sim.eval_fk(model, state)
    positions, rotations = twin.poses()
    body_q = sim.to_numpy(state.body_q)
    assert difference(body_q[:, :3], positions) < TOLERANCE[precision]
    assert difference(np.array([to_matrix(pose[3:]) for pose in body_q]), rotations) < TOLERANCE[precision]
    assert difference(state.body_qd, (twin.jacobian() @ qd).reshape(-1, 6)) < TOLERANCE[precision]


def advanced(tree, q, qd, h: float) -> np.ndarray:
    """Coordinates after a time h at constant rates; the quaternion of a ball turns about fixed axes of its frame."""
    q = q.copy()
    starts = zip(tree.links, tree.starts("coord_count"), tree.starts("dof_count"), strict=True)
    for link, coord, dof in starts:
        count = len(link.dofs)
        q[coord : coord + count] += h * qd[dof : dof + count]
        if link.has_ball:
            omega = qd[dof + count : dof + count + 3]
            speed = np.linalg.norm(omega)
            axis = omega / speed if speed else omega
            turn = np.append(np.sin(h * speed / 2) * axis, np.cos(h * speed / 2))
            at = slice(coord + count, coord + count + 4)
            q[at] = compose(np.append(np.zeros(3), turn), np.append(np.zeros(3), q[at]))[3:]
    return q


@pytest.mark.parametrize("seed", range(4))
def test_velocities_are_the_rates_of_the_poses(seed):
    """Central differences of the poses, order 2: for free joints between bodies too, which MuJoCo does not have."""
    tree = random_tree(seed, kinds=EVERY_KIND)
    model = model_of(tree)
    q, qd = random_state(tree, np.random.default_rng(seed))
    state, h = state_of(model, q, qd), 1e-5
    sim.eval_fk(model, state)

    def placed(time):
        moved = state_of(model, advanced(tree, q, qd, time), qd)
        sim.eval_fk(model, moved)
        turns = np.array([to_matrix(pose[3:]) for pose in moved.body_q])
        return moved.body_q[:, :3] + np.einsum("nij,nj->ni", turns, model.body_com), turns

    (before, turned_before), (after, turned_after) = placed(-h), placed(h)
    assert difference(state.body_qd[:, :3], (after - before) / (2 * h)) < 1e-8
    spin = np.einsum("nij,nkj->nik", (turned_after - turned_before) / (2 * h), (turned_after + turned_before) / 2)
    omega = np.stack([spin[:, 2, 1], spin[:, 0, 2], spin[:, 1, 0]], axis=1)
    assert difference(state.body_qd[:, 3:], omega) < 1e-8


def test_quaternions_are_normalised_where_read():
    tree = random_tree(1, kinds=EVERY_KIND)
    model = model_of(tree)
    q, qd = random_state(tree, np.random.default_rng(1))
    unit, scaled = state_of(model, q, qd), state_of(model, q, qd)
    for link, start in zip(tree.links, tree.starts("coord_count"), strict=True):
        if link.has_ball:
            scaled.joint_q[start + len(link.dofs) : start + link.coord_count] *= 2.0  # exact
    given = scaled.joint_q.copy()
    sim.eval_fk(model, unit)
    sim.eval_fk(model, scaled)
    assert np.array_equal(unit.body_q, scaled.body_q)
    assert np.array_equal(scaled.joint_q, given)


def test_poses_move_with_the_base():
    """A rigid motion of all roots moves every body by it, and turns its velocity."""
    tree = random_tree(2)
    rng = np.random.default_rng(2)
    q, qd = random_state(tree, rng)
    state = state_of(model_of(tree), q, qd)
    sim.eval_fk(state.model, state)
    motion = np.concatenate([[3.0, -2.0, 1.0], random_quaternion(rng)])
    for link in tree.links:
        if link.parent < 0:
            link.parent_xform = compose(motion, link.parent_xform)
    moved = state_of(model_of(tree), q, qd)
    sim.eval_fk(moved.model, moved)
    for i in range(len(tree.links)):
        expected = compose(motion, state.body_q[i])
        assert difference(moved.body_q[i, :3], expected[:3]) < 1e-13
        assert difference(to_matrix(moved.body_q[i, 3:]), to_matrix(expected[3:])) < 1e-13
        turned = state.body_qd[i].reshape(2, 3) @ to_matrix(motion[3:]).T
        assert difference(moved.body_qd[i], turned.reshape(6)) < 1e-12


def test_only_marked_worlds_are_written(device):
    tree = random_tree(0, bodies=3, roots=1)
    model = model_of(tree, device, worlds=4)
    rng = np.random.default_rng(0)
    states = [random_state(tree, rng) for _ in range(4)]
    state = state_of(model, np.concatenate([q for q, _ in states]), np.concatenate([qd for _, qd in states]))
    state.body_q[:] = -1.0
    mask = device.asarray(np.array([True, False, False, True]))
    sim.eval_fk(model, state, world_mask=mask)
    poses = sim.to_numpy(model.by_world(state.body_q))
    assert np.all(poses[1:3] == -1.0)
    alone = state_of(model_of(tree, device), *states[3])
    sim.eval_fk(alone.model, alone)
    assert np.array_equal(poses[3], sim.to_numpy(alone.body_q))


def test_a_world_without_degrees_of_freedom_has_poses():
    builder = sim.ModelBuilder()
    body = builder.add_body(mass=1.0, inertia=np.eye(3))
    builder.add_joint_fixed(-1, body, parent_xform=sim.transform(p=(1, 2, 3)))
    model = builder.finalize(device="cpu", precision="float64")
    state = model.state()
    state.body_q[:] = 0.0
    sim.eval_fk(model, state)
    assert np.array_equal(state.body_q, [[1, 2, 3, 0, 0, 0, 1]])
    assert sim.eval_mass_matrix(model, state).shape == (1, 0, 0)
