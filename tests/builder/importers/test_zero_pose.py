"""Drives from the inertia that each joint moves, and pairs that overlap in the zero pose."""

import math

import pytest

import simengine as sim

LINK = """<link name="{name}"><inertial><origin xyz="{com}"/><mass value="2"/><inertia ixx="0.1" iyy="0.2" izz="0.25"/>
</inertial>{shapes}</link>"""
W = 2 * math.pi * 2.0


def link(name, com="0 0 0", shapes=""):
    return LINK.format(name=name, com=com, shapes=shapes)


def joint(name, kind, parent, child, inside=""):
    return f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>{inside}</joint>'


def add(tmp_path, *parts, **options):
    path = tmp_path / "robot.urdf"
    path.write_text(f'<robot name="r">{"".join(parts)}</robot>')
    builder = sim.ModelBuilder()
    return builder, builder.add_urdf(path, **options)


def gains(builder, label):
    (made,) = [made for made in builder.joints if made.label == label]
    return [(dof.target_ke, dof.target_kd) for dof in made.dofs]


def test_a_hinge_is_driven_by_the_inertia_about_its_axis(tmp_path):
    # about x, at distance 3 and 4 from the centre of mass: I = 0.1 + 2 (3^2 + 4^2)
    parts = link("base"), link("arm", com="5 3 4"), joint("j", "continuous", "base", "arm")
    builder, _ = add(tmp_path, *parts, drive_frequency=2.0)
    assert gains(builder, "j") == [pytest.approx((W * W * 50.1, 2 * W * 50.1), rel=1e-12)]


def test_a_joint_moves_all_that_hangs_on_it_and_its_armature(tmp_path):
    chain = [link(name) for name in ("base", "a", "b")]
    chain += [joint("slide", "prismatic", "base", "a"), joint("turn", "continuous", "a", "b", '<origin xyz="0 0 7"/>')]
    builder, _ = add(tmp_path, *chain, drive_frequency=2.0)
    assert gains(builder, "slide") == [pytest.approx((W * W * 4, 2 * W * 4), rel=1e-12)]
    assert gains(builder, "turn") == [pytest.approx((W * W * 0.1, 2 * W * 0.1), rel=1e-12)]
    builder = sim.ModelBuilder()
    builder.default_joint.armature = 3.0
    builder.add_urdf(tmp_path / "robot.urdf", drive_frequency=2.0)
    assert gains(builder, "slide") == [pytest.approx((W * W * 7, 2 * W * 7), rel=1e-12)]


@pytest.mark.parametrize("floating", [False, True])
def test_drives_hold_the_inertia_where_the_robot_starts(tmp_path, floating):
    """The elbow starts at its limit of 90 degrees: I about the shoulder is that of the bent arm, not of the straight.

    With I = 0.25 and m = 2 of both links, the second 0.5 m from an elbow 1 m out: I + I + m (1 + 0.5^2 + cos(elbow)).
    """
    limits = '<origin xyz="1 0 0"/><axis xyz="0 0 1"/><limit lower="{}" upper="2" effort="1" velocity="1"/>'
    links = link("base"), link("upper"), link("lower", com="0.5 0 0")
    shoulder = joint("shoulder", "continuous", "base", "upper", '<axis xyz="0 0 1"/>')
    for lower, elbow in ((-1, 0.0), (math.pi / 2, math.pi / 2)):
        bend = joint("elbow", "revolute", "upper", "lower", limits.format(lower))
        builder, _ = add(tmp_path, *links, shoulder, bend, drive_frequency=2.0, floating=floating)
        moved = 0.25 + 0.25 + 2 * (1 + 0.25 + math.cos(elbow))
        assert gains(builder, "shoulder") == [pytest.approx((W * W * moved, 2 * W * moved), rel=1e-9)]
        assert gains(builder, "elbow") == [pytest.approx((W * W * 0.75, 2 * W * 0.75), rel=1e-9)]


def test_the_base_of_a_floating_robot_is_not_driven_and_planar_joints_are(tmp_path):
    parts = link("base"), link("arm"), joint("j", "planar", "base", "arm", '<axis xyz="0 0 1"/>')
    builder, _ = add(tmp_path, *parts, drive_frequency=2.0, floating=True)
    assert gains(builder, "base_free") == [(0, 0)] * 6
    assert [ke for ke, _ in gains(builder, "j")] == pytest.approx([W * W * 2, W * W * 2, W * W * 0.25], rel=1e-12)


def test_a_driven_joint_moves_as_a_critical_oscillator_of_that_frequency(tmp_path):
    """x'' = -w^2 x - 2 w x' from x0 at rest: x = x0 (1 + w t) exp(-w t)."""
    parts = link("base"), link("arm", com="0 0 1"), joint("j", "continuous", "base", "arm", '<axis xyz="0 0 1"/>')
    builder, _ = add(tmp_path, *parts, drive_frequency=2.0)
    builder.joints[1].q = (0.3,)
    model = builder.finalize(device="cpu", precision="float64")
    solver = sim.solvers.Featherstone(model, integrator="euler")
    state, following = model.state(), model.state()
    control = model.control()
    steps, dt = 2000, 1e-4
    for _ in range(steps):
        solver.step(state, following, control, None, dt)
        state, following = following, state
    t = steps * dt
    # a method of first order with step dt: error of size x0 w dt
    assert state.joint_q[0] == pytest.approx(0.3 * (1 + W * t) * math.exp(-W * t), abs=0.3 * W * dt)


def sphere(radius, x=0.0):
    return f'<collision><origin xyz="{x} 0 0"/><geometry><sphere radius="{radius}"/></geometry></collision>'


THREE = (
    joint("j", "continuous", "a", "b", '<origin xyz="1 0 0"/>'),
    joint("k", "continuous", "b", "c", '<origin xyz="1 0 0"/>'),
)


def test_pairs_that_overlap_in_the_zero_pose_are_filtered_and_listed(tmp_path):
    # a and c are 2 apart: radii 1.2 and 0.9 overlap by 0.1; a parent and its child never touch anyway
    parts = link("a", shapes=sphere(1.2)), link("b", shapes=sphere(0.9)), link("c", shapes=sphere(0.9)), *THREE
    builder, report = add(tmp_path, *parts)
    assert builder._elements.filters == {(0, 2)}
    (note,) = report.filtered
    assert "a/collision and c/collision" in note.where and "0.1 m" in note.reason
    builder, report = add(tmp_path, *parts, filter_overlapping=False)
    assert not builder._elements.filters and not report.filtered


def test_pairs_apart_or_touching_still_collide(tmp_path):
    for radius in (0.5, 0.8):
        parts = link("a", shapes=sphere(1.2)), link("b"), link("c", shapes=sphere(radius)), *THREE
        builder, report = add(tmp_path, *parts)
        assert not builder._elements.filters and not report.filtered
        assert builder.finalize(device="cpu").contacts_needed()[0] == 1


def test_overlaps_are_those_of_the_zero_pose_whatever_the_limits(tmp_path):
    # at zero a and c are 2 apart; at the limit from which the robot starts c stands beside a
    limits = '<origin xyz="1 0 0"/><axis xyz="0 0 1"/><limit lower="3" upper="3.2" effort="1" velocity="1"/>'
    parts = [
        link("a", shapes=sphere(0.6)),
        link("b"),
        link("c", shapes=sphere(0.6)),
        joint("j", "revolute", "a", "b", limits),
    ]
    builder, report = add(tmp_path, *parts, THREE[1])
    assert builder.joints[1].q == (3,)
    assert not report.filtered
    _, report = add(tmp_path, *parts, THREE[1], drive_frequency=2.0)  # drives look at where the robot starts
    assert not report.filtered
    parts[2] = link("c", shapes=sphere(1.5))
    _, report = add(tmp_path, *parts, THREE[1], drive_frequency=2.0)
    assert "overlaps by 0.1 m" in report.filtered[0].reason


def test_without_self_collision_no_pair_of_the_robot_is_left(tmp_path):
    parts = link("a", shapes=sphere(0.2)), link("b"), link("c", shapes=sphere(0.2)), *THREE
    builder, report = add(tmp_path, *parts, self_collision=False)
    assert builder.finalize(device="cpu").contacts_needed()[0] == 0
    assert not report.filtered


def test_more_overlaps_than_there_is_room_for_are_told(tmp_path, monkeypatch):
    """A slab smaller than the robot needs, as that of a robot with a hundred million pairs would be."""
    from simengine.model import Model

    make = Model.contacts
    monkeypatch.setattr(Model, "contacts", lambda model: make(model, capacity_per_world=2))
    ball = '<collision><geometry><sphere radius="1"/></geometry></collision>'
    links = [link(f"l{i}", shapes=ball) for i in range(4)]
    joints = [joint(f"j{i}", "continuous", "l0", f"l{i + 1}") for i in range(3)]
    with pytest.warns(UserWarning, match="1 kept though it looks wrong"):
        _, report = add(tmp_path, *links, *joints)
    assert len(report.filtered) == 2
    assert "of which 2 were looked at" in report.warned[0].reason
