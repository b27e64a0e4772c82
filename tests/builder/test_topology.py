"""Topology tables against what they mean, computed by brute force from the joints."""

import numpy as np
import pytest

import simengine as sim
from simengine.builder.template import compile_template, floating_joints
from simengine.enums import DofKind, LinkFlag
from tests.builder.scenes import chain, random_tree


def topology_of(builder):
    return compile_template(builder._elements, (), builder.gravity).topology


def bare(count):
    builder = sim.ModelBuilder()
    for _ in range(count):
        builder.add_body(mass=1, inertia=(1, 1, 1))
    return builder


def test_links_go_depth_first_with_siblings_in_the_order_of_joints():
    builder = bare(6)
    for parent, child in ((3, 1), (-1, 3), (3, 0), (0, 2), (-1, 4), (4, 5)):
        builder.add_joint_revolute(parent, child)
    t = topology_of(builder)
    np.testing.assert_array_equal(t["link_body"], [-1, 3, 1, 0, 2, 4, 5])
    np.testing.assert_array_equal(t["link_joint"], [-1, 1, 0, 2, 3, 4, 5])
    np.testing.assert_array_equal(t["link_parent"], [-1, 0, 1, 1, 3, 0, 5])
    np.testing.assert_array_equal(t["link_root"], [0, 1, 1, 1, 1, 5, 5])
    np.testing.assert_array_equal(t["link_depth"], [0, 1, 2, 2, 3, 1, 2])
    np.testing.assert_array_equal(t["dof_user"], [1, 0, 2, 3, 4, 5])


def test_user_order_is_kept_where_it_is_depth_first():
    t = topology_of(chain(5))
    np.testing.assert_array_equal(t["link_joint"], [-1, 0, 1, 2, 3, 4])
    np.testing.assert_array_equal(t["dof_user"], range(5))


@pytest.mark.parametrize("seed", range(3))
def test_tables_of_a_random_tree_agree_with_its_joints(seed):
    builder = random_tree(seed, 40)
    joints = [*builder.joints, *floating_joints(builder._elements)]
    t = topology_of(builder)
    joint_of_body = {joint.child: j for j, joint in enumerate(joints)}
    link_of_body = {body: link for link, body in enumerate(t["link_body"])}
    dof_start = np.cumsum([0, *(len(joint.dofs) for joint in joints)])
    coord_start = np.cumsum([0, *(joint.coord_count for joint in joints)])
    on_path = []
    for link in range(1, len(t["link_body"])):
        body = t["link_body"][link]
        joint = joints[joint_of_body[body]]
        assert t["link_joint"][link] == joint_of_body[body]
        assert t["link_parent"][link] == link_of_body[joint.parent] < link
        path, at = [], body
        while at != -1:
            path.append(at)
            at = joints[joint_of_body[at]].parent
        assert t["link_body"][t["link_root"][link]] == path[-1]
        assert t["link_depth"][link] == len(path)
        dofs = np.arange(t["link_dof_count"][link]) + t["link_dof_start"][link]
        assert len(dofs) == len(joint.dofs)
        for i, dof in enumerate(dofs):
            assert t["dof_link"][dof] == link
            assert t["dof_kind"][dof] == joint.dofs[i].kind
            assert t["dof_user"][dof] == dof_start[joint_of_body[body]] + i
            first = next(k for k, d in enumerate(joint.dofs) if d.kind == DofKind.BALL_X or k == i)
            assert t["dof_coord"][dof] == coord_start[joint_of_body[body]] + first
            above = {
                d for other in path[1:] for d in range(len(t["dof_link"])) if t["link_body"][t["dof_link"][d]] == other
            }
            on_path.append(above | set(dofs[: i + 1].tolist()))
    words = -(-len(t["dof_link"]) // 32)
    masks = t["dof_mask"].view(np.uint32).reshape(-1, words)
    for dof, expected in enumerate(on_path):
        bits = {i for i in range(len(on_path)) if masks[dof, i // 32] >> (i % 32) & 1}
        assert bits == expected
        assert t["dof_parent"][dof] == max(expected - {dof}, default=-1)
        assert t["dof_depth"][dof] == len(expected) - 1
        tree = [other for other, path in enumerate(on_path) if min(path) == min(expected)]
        assert tree == list(range(t["dof_tree_start"][dof], t["dof_tree_end"][dof]))


def test_single_free_bodies_and_kinematic_ones_are_flagged():
    builder = bare(4)
    builder.add_joint_revolute(2, 3)
    builder.bodies[1].kinematic = True
    t = topology_of(builder)
    flags = {body: flag for body, flag in zip(t["link_body"], t["link_flags"], strict=True)}
    single = LinkFlag.SINGLE_FREE_BODY
    floating = LinkFlag.FLOATING
    assert flags == {-1: 0, 0: single | floating, 1: single | floating | LinkFlag.KINEMATIC, 2: floating, 3: 0}


def test_bodies_without_joint_get_free_joints_after_the_others_in_body_order():
    builder = sim.ModelBuilder()
    for x in range(4):
        builder.add_body((x, 0, 0, 0, 0, 0, 1), mass=1, inertia=(1, 1, 1), label=f"b{x}")
    builder.add_joint_revolute(-1, 2, parent_xform=(2, 0, 0, 0, 0, 0, 1), label="hinge")
    template = compile_template(builder._elements, (), builder.gravity)
    assert template.labels["joint"] == ("hinge", "b0_free", "b1_free", "b3_free")
    np.testing.assert_array_equal(template.arrays["joint_child"], [2, 0, 1, 3])
    np.testing.assert_array_equal(template.arrays["joint_q"][[1, 8, 15]], [0, 1, 3])


def test_a_cycle_is_named():
    builder = sim.ModelBuilder()
    for name in ("a", "b", "c", "d"):
        builder.add_body(mass=1, inertia=(1, 1, 1), label=name)
    for parent, child in ((0, 1), (1, 2), (2, 0), (2, 3)):
        builder.add_joint_revolute(parent, child)
    with pytest.raises(sim.ModelError, match=r"form a cycle: .*'a' -> 'b' -> 'c'|'b' -> 'c' -> 'a'|'c' -> 'a' -> 'b'"):
        topology_of(builder)


def test_two_joints_on_one_child_are_named():
    builder = bare(2)
    builder.add_joint_revolute(-1, 1, label="first")
    builder.add_joint_revolute(0, 1, label="second")
    with pytest.raises(sim.ModelError, match=r"body 'body_1'.*'first' and 'second'.*add_loop_joint"):
        topology_of(builder)


def test_a_world_without_bodies_has_one_link_and_no_dofs():
    builder = sim.ModelBuilder()
    builder.add_ground_plane()
    t = topology_of(builder)
    assert len(t["link_parent"]) == 1
    assert len(t["dof_link"]) == len(t["dof_mask"]) == len(t["pair_shape0"]) == 0
