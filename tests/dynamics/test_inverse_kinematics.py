"""Inverse kinematics: what forward kinematics makes of any coordinates comes back, at all sizes of angles."""

import numpy as np
import pytest

import simengine as sim
from tests.dynamics.test_kinematics import EVERY_KIND
from tests.dynamics.trees import (
    Tree,
    difference,
    model_of,
    product,
    random_axes,
    random_link,
    random_state,
    random_tree,
    random_unit,
    state_of,
    to_matrix,
)


def round_trip(model, q, qd):
    """Coordinates and rates after FK and IK; the state's own are overwritten in between."""
    state = state_of(model, q, qd)
    sim.eval_fk(model, state)
    state.joint_q[:] = np.nan
    state.joint_qd[:] = np.nan
    sim.eval_ik(model, state)
    return sim.to_numpy(state.joint_q), sim.to_numpy(state.joint_qd)


def same_signs(tree: Tree, found, given):
    """``found`` with each quaternion brought to the sign of ``given``."""
    found = found.copy()
    for link, start in zip(tree.links, tree.starts("coord_count"), strict=True):
        if link.has_ball:
            at = slice(start + len(link.dofs), start + link.coord_count)
            found[at] *= np.sign(found[at] @ given[at])
    return found


@pytest.mark.parametrize("seed", range(6))
def test_random_trees_come_back(seed, device, precision):
    tree = random_tree(seed, kinds=EVERY_KIND)
    model = model_of(tree, device, precision)
    q, qd = random_state(tree, np.random.default_rng(seed))
    found_q, found_qd = round_trip(model, q, qd)
    tolerance = {"float64": 1e-12, "float32": 2e-5}[precision]
    assert difference(same_signs(tree, found_q, q), q) < tolerance
    assert difference(found_qd, qd) < 10 * tolerance


def one_joint(kind: str, seed: int = 0, axes=None):
    tree = Tree([random_link(np.random.default_rng(seed), kind, -1)], [0])
    link = tree.links[0]
    if axes is not None:
        link.dofs = [("angular", axis) for axis in axes]
        link.armature = np.zeros(len(axes))
    link.parent_xform = link.child_xform = np.array([0.1, -0.2, 0.3, 0.0, 0.0, 0.0, 1.0])
    return tree, model_of(tree)


@pytest.mark.parametrize("angle", [1e-6, -1e-3, 1.0, -3.0, 3.14159])
@pytest.mark.parametrize("axes", [1, 2, 3])
def test_small_and_large_angles_are_exact(angle, axes):
    """One angle at a time, the others zero or of order one: relative error 1e-9 at 1e-6 rad."""
    rng = np.random.default_rng(axes)
    _, model = one_joint("d6", axes=random_axes(rng, axes))
    for k in range(axes):
        if axes == 3 and k == 1 and abs(angle) > 1.1:
            continue  # beyond the range of the middle angle
        for others in (0.0, 0.8):
            q = np.full(axes, others)
            q[k] = angle
            found, _ = round_trip(model, q, np.zeros(axes))
            assert found == pytest.approx(q, rel=1e-9, abs=1e-15)


@pytest.mark.parametrize("given, turns", [(3.5, 1), (-3.5, -1), (7.0, 1), (-20.0, -3), (3.1, 0)])
def test_angles_come_out_within_half_a_turn(given, turns):
    _, model = one_joint("revolute")
    assert round_trip(model, [given], [0.0])[0][0] == pytest.approx(given - 2 * np.pi * turns, rel=1e-13)


def test_oblique_axes_of_a_universal_joint():
    rng = np.random.default_rng(3)
    for _ in range(50):
        axes = [random_unit(rng), random_unit(rng)]
        _, model = one_joint("universal", axes=axes)
        q, qd = rng.uniform(-3.1, 3.1, size=2), rng.normal(size=2)
        found_q, found_qd = round_trip(model, q, qd)
        assert found_q == pytest.approx(q, rel=1e-9)
        assert found_qd == pytest.approx(qd, rel=1e-9)


def rotation(model, q) -> np.ndarray:
    state = state_of(model, q, np.zeros(model.joint_dof_count))
    sim.eval_fk(model, state)
    return to_matrix(state.body_q[0, 3:])


@pytest.mark.parametrize("axes", ["xyz", "zyx", "zxz", "yxy"])
def test_any_three_angles_give_the_same_rotation(axes):
    """Over all ranges, where the angles are not unique: the rotation is, and the middle angle is the smaller."""
    unit = dict(zip("xyz", np.eye(3), strict=True))
    _, model = one_joint("d6", axes=[unit[name] for name in axes])
    rng = np.random.default_rng(0)
    for _ in range(100):
        q = rng.uniform(-np.pi, np.pi, size=3)
        found, _ = round_trip(model, q, np.zeros(3))
        assert np.abs(found).max() <= np.pi
        assert difference(rotation(model, found), rotation(model, q)) < 1e-13
        if axes[0] == axes[2]:
            assert 0 <= found[1] <= np.pi
        else:
            assert abs(found[1]) <= np.pi / 2 + 1e-12


@pytest.mark.parametrize("middle", [np.pi / 2, -np.pi / 2, np.pi / 2 - 1e-9])
def test_locked_outer_axes_still_give_the_rotation(middle):
    """Where the outer axes fall together the first angle is zero, and the rotation is reproduced."""
    _, model = one_joint("d6", axes=list(np.eye(3)))
    q = np.array([0.3, middle, 0.5])
    found, _ = round_trip(model, q, np.zeros(3))
    assert found[0] == 0
    assert difference(rotation(model, found), rotation(model, q)) < 1e-7


def test_oblique_slides_are_separated():
    """Three slides along axes that are not at right angles."""
    tree = Tree([random_link(np.random.default_rng(1), "fixed", -1)], [0])
    rng = np.random.default_rng(1)
    tree.links[0].kind = "d6"
    tree.links[0].dofs = [("linear", random_unit(rng)) for _ in range(3)] + [("angular", random_unit(rng))]
    tree.links[0].armature = np.zeros(4)
    q, qd = rng.normal(size=4), rng.normal(size=4)
    found_q, found_qd = round_trip(model_of(tree), q, qd)
    assert difference(found_q, q) < 1e-12
    assert difference(found_qd, qd) < 1e-12


def test_a_body_off_its_joint_gives_the_nearest_coordinates():
    """A hinge about z whose body is shifted and tilted about x: the turn about z that is nearest."""
    builder = sim.ModelBuilder()
    body = builder.add_body(mass=1.0, inertia=np.eye(3))
    builder.add_joint_revolute(-1, body, axis="Z")
    model = builder.finalize(device="cpu", precision="float64")
    state = model.state()
    angle, tilt = 0.7, 0.2
    turned = np.array([0, 0, np.sin(angle / 2), np.cos(angle / 2)])
    state.body_q[0, :3] = (0.2, 0.1, -0.3)
    state.body_q[0, 3:] = product(turned, np.array([np.sin(tilt / 2), 0, 0, np.cos(tilt / 2)]))
    sim.eval_ik(model, state)
    assert state.joint_q[0] == pytest.approx(angle, rel=1e-14)


def test_distance_joints_come_back_as_free_ones():
    builder = sim.ModelBuilder()
    body = builder.add_body(mass=1.0, inertia=np.eye(3))
    builder.add_joint_distance(-1, body, min_distance=0.1, max_distance=2.0, parent_xform=sim.transform(p=(1, 0, 0)))
    model = builder.finalize(device="cpu", precision="float64")
    rng = np.random.default_rng(0)
    q, qd = rng.normal(size=7), rng.normal(size=6)
    q[3:] /= np.linalg.norm(q[3:])
    found_q, found_qd = round_trip(model, q, qd)
    found_q[3:] *= np.sign(found_q[3:] @ q[3:])
    assert difference(found_q, q) < 1e-13
    assert difference(found_qd, qd) < 1e-13
