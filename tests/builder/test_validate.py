"""Every bad input is refused by name, with a way to mend it."""

import math

import numpy as np
import pytest

import simengine as sim
from simengine import ModelError
from tests.builder.scenes import chain

GOOD = dict(mass=1, inertia=(1, 1, 1))
NAN = float("nan")


def bodies(count=2, **values):
    builder = sim.ModelBuilder()
    for i in range(count):
        builder.add_body(**(GOOD | values), label=f"b{i}")
    return builder


@pytest.mark.parametrize(
    "values, message",
    [
        (dict(mass=-1), "body 'arm', mass: is -1.*0 or more"),
        (dict(mass=NAN), "body 'arm', mass: .*finite"),
        (dict(mass=math.inf, inertia=(1, 1, 1)), "body 'arm', mass: .*finite"),
        (dict(mass="heavy"), "body 'arm', mass: .*'heavy'"),
        (dict(mass=1, inertia=(1, 1, -1)), "body 'arm', inertia.*negative principal moment"),
        (dict(mass=1, inertia=[[1, 1, 0], [0, 1, 0], [0, 0, 1]]), "body 'arm', inertia.*not symmetric"),
        (dict(mass=1, inertia=(1, 1)), "body 'arm', inertia: has 2 numbers"),
        (dict(mass=1, inertia=(1, NAN, 1)), "body 'arm', inertia.*finite"),
        (dict(mass=0, inertia=(1, 1, 1)), "body 'arm', inertia.*the mass is"),
        (dict(inertia=(1, 1, 1)), "body 'arm': has an inertia but no mass"),
        (dict(mass=1, com=(0, 0, 1)), "body 'arm': has a centre of mass but no inertia"),
        (dict(xform=(0, 0, 0)), "body 'arm', xform: has 3 numbers; it must have 7"),
        (dict(xform=(0, 0, 0, 0, 0, 0, 0)), "body 'arm', xform, quaternion: is zero"),
        (dict(xform=(0, NAN, 0, 0, 0, 0, 1)), "body 'arm', xform: .*finite"),
        (dict(velocity=(1, 2, 3)), "body 'arm', velocity: has 3 numbers"),
    ],
)
def test_bad_bodies_are_refused_when_they_are_added(values, message):
    builder = sim.ModelBuilder()
    with pytest.raises(ModelError, match=message):
        builder.add_body(**values, label="arm")
    assert builder.bodies == []


@pytest.mark.parametrize(
    "values, message",
    [
        (dict(axis=(0, 0, 0)), "joint 'elbow', axis: is zero"),
        (dict(axis="W"), "joint 'elbow', axis: is 'W'"),
        (dict(axis=(1, NAN, 0)), "joint 'elbow', axis: .*finite"),
        (dict(limit_lower=1, limit_upper=-1), "joint 'elbow', limits: lower 1 is above upper -1; swap"),
        (dict(limit_lower=math.inf), "joint 'elbow', limits: .*holds no coordinate"),
        (dict(damping=-1), "joint 'elbow', damping: is -1"),
        (dict(stiffness=-1), "joint 'elbow', stiffness: is -1"),
        (dict(friction=-0.1), "joint 'elbow', friction: is -0.1"),
        (dict(armature=-0.1), "joint 'elbow', armature: is -0.1"),
        (dict(target_ke=-5), "joint 'elbow', target_ke: is -5"),
        (dict(target_kd=NAN), "joint 'elbow', target_kd: .*finite"),
        (dict(effort_limit=-5), "joint 'elbow', effort_limit: is -5"),
        (dict(velocity_limit=0), "joint 'elbow', velocity_limit: is 0; it must be positive"),
        (dict(limit_kd=3), "joint 'elbow': limit_kd acts only with limit_ke"),
        (dict(limit_reference=(0, 1)), "joint 'elbow', limit_reference.*positive"),
        (dict(limit_impedance=(2, 1)), "joint 'elbow', limit_impedance.*between 0 and 1"),
        (dict(q=(1, 2)), "joint 'elbow', q: has 2 numbers; it must have 1"),
        (dict(qd=NAN), "joint 'elbow', qd: .*finite"),
        (dict(parent_xform=(0,) * 7), "joint 'elbow', parent_xform, quaternion: is zero"),
        (dict(dampign=1), "joint 'elbow': a revolute joint has no dampign; did you mean 'damping'"),
        (dict(damping=(1, 2)), "joint 'elbow', damping: has 2 numbers; it must have 1"),
    ],
)
def test_bad_joints_are_refused_when_they_are_added(values, message):
    builder = bodies()
    with pytest.raises(ModelError, match=message):
        builder.add_joint_revolute(0, 1, **values, label="elbow")
    assert builder.joints == []
    builder.add_joint_revolute(0, 1, label="elbow")


@pytest.mark.parametrize("parent, child, message", [
    (5, 1, "parent: is 5; there are 2 bodies, counted from 0, -1 for the world"),
    (-2, 1, "parent: is -2"),
    (0, 2, "child: is 2; there are 2 bodies, counted from 0$"),
    (0, -1, "child: is -1"),
    (1, 1, "joins body 'b1' with itself"),
    ("b0", 1, "parent: is 'b0'; it must be the index"),
])  # fmt: skip
def test_joints_to_bodies_that_are_not_there_are_refused(parent, child, message):
    with pytest.raises(ModelError, match=f"joint 'elbow'.*{message}"):
        bodies().add_joint_revolute(parent, child, label="elbow")


def test_ball_and_free_joints_refuse_what_they_do_not_have():
    builder = bodies()
    with pytest.raises(ModelError, match="a ball joint has no limit_lower; give swing="):
        builder.add_joint_ball(0, 1, limit_lower=-1)
    with pytest.raises(ModelError, match="a free joint has no target_ke; leave it out"):
        builder.add_joint_free(-1, 0, target_ke=1)
    with pytest.raises(ModelError, match="swing limit: is -1; it must be positive"):
        builder.add_joint_ball(0, 1, swing=(-1, 1))
    with pytest.raises(ModelError, match="twist limit: lower 1 is above upper 0"):
        builder.add_joint_ball(0, 1, twist=(1, 0))
    with pytest.raises(ModelError, match="a d6 joint takes 1 to 3 axes"):
        builder.add_joint_d6(0, 1)


@pytest.mark.parametrize(
    "add, message",
    [
        (lambda b: b.add_shape_sphere(0, -0.1, label="s"), "shape 's', radius: is -0.1; it must be positive"),
        (lambda b: b.add_shape_sphere(0, 0, label="s"), "shape 's', radius: is 0"),
        (lambda b: b.add_shape_box(0, 0.1, NAN, 0.1, label="s"), "shape 's', size: .*finite"),
        (lambda b: b.add_shape_box(0, 0.1, 0.1, 0, label="s"), "shape 's', hz: is 0"),
        (lambda b: b.add_shape_capsule(0, 0.1, -1, label="s"), "shape 's', half_height: is -1"),
        (lambda b: b.add_shape_plane(0, hx=-1, label="s"), "shape 's', half size: is -1"),
        (lambda b: b.add_shape_sphere(7, 0.1, label="s"), "shape 's', body: is 7; there are 2 bodies"),
        (lambda b: b.add_shape_sphere(0, 0.1, density=-1, label="s"), "shape 's', density: is -1"),
        (lambda b: b.add_shape_sphere(0, 0.1, mass=-1, label="s"), "shape 's', mass: is -1"),
        (lambda b: b.add_shape_sphere(0, 0.1, mass=1, density=1, label="s"), "shape 's': has both density and mass"),
        (lambda b: b.add_shape_sphere(0, 0.1, thickness=0, label="s"), "shape 's', thickness: is 0"),
        (lambda b: b.add_shape_sphere(0, 0.1, margin=-1, label="s"), "shape 's', margin: is -1"),
        (lambda b: b.add_shape_sphere(0, 0.1, gap=-1, label="s"), "shape 's', gap: is -1"),
        (lambda b: b.add_shape_sphere(0, 0.1, material=0.5, label="s"), "shape 's', material: .*must be a Material"),
        (lambda b: b.add_shape_plane(0, mass=1, label="s"), "shape 's': a plane has no mass"),
        (lambda b: b.add_shape_plane(0, density=1, label="s"), "shape 's': a plane has no mass"),
        (lambda b: b.add_shape_mesh(0, (np.eye(3), [[0, 1, 2]]), scale=(1, 0, 1), density=0), "scale: is zero in one"),
        (lambda b: b.add_shape_heightfield(0, np.eye(2), 0, 1, label="s"), "shape 's', half size: is 0"),
        (lambda b: b.add_shape_heightfield(0, np.eye(2), 1, -1, label="s"), "shape 's', half size: is -1"),
        (lambda b: b.add_shape_heightfield(0, np.eye(2), 1, 1, base=-1), "base: is -1"),
        (lambda b: b.add_shape_heightfield(0, np.eye(2), 1, 1, mass=1, label="s"), "shape 's': a heightfield has no"),
        (
            lambda b: b.add_shape_heightfield(0, [[1, 2]], 1, 1, label="s"),
            "s: heights have shape .1, 2.; give at least",
        ),
        (
            lambda b: b.add_shape_heightfield(0, [[1, NAN], [0, 1]], 1, 1, label="s"),
            "s: .* row 0, column 1 is not finite",
        ),
        (lambda b: b.add_shape_heightfield(0, [["a"]], 1, 1, label="s"), "s: heights must be a table of real numbers"),
        (lambda b: b.add_shape_collision_filter_pair(0, 9), "shape collision filter: names shapes 0 and 9"),
        (lambda b: b.add_site(9), "site, body: is 9"),
    ],
)
def test_bad_shapes_and_sites_are_refused_when_they_are_added(add, message):
    builder = bodies()
    with pytest.raises(ModelError, match=message):
        add(builder)
    assert builder.shapes == []
    assert builder.sites == []


def test_open_mesh_is_refused_early_only_where_its_mass_counts():
    builder = sim.ModelBuilder()
    builder.add_body(label="from shapes")
    builder.add_body(**GOOD)
    triangle = (np.eye(3), [[0, 1, 2]])
    with pytest.raises(ModelError, match=r"shape 'flag'.*open"):
        builder.add_shape_mesh(0, triangle, label="flag")
    builder.add_shape_mesh(1, triangle, label="flag")
    builder.add_shape_mesh(-1, triangle)


@pytest.mark.parametrize(
    "add, message",
    [
        (lambda b: b.add_equality_connect(0, 9), "body: is 9"),
        (lambda b: b.add_equality_weld("b1", 0), "joins 'b1'; it must be an index"),
        (lambda b: b.add_equality_weld(1, 1), "joins a thing with itself"),
        (lambda b: b.add_equality_joint(0, 5), "joint: is 5"),
        (lambda b: b.add_equality_joint(0, polynomial=(1,) * 6), "has 6 coefficients"),
        (lambda b: b.add_equality_joint(1), "joint 'ball' has 3 degrees of freedom; it must have one"),
        (lambda b: b.add_loop_joint_revolute(0, 1, axis=(0, 0, 0)), "axis: is zero"),
        (lambda b: b.add_joint_distance(-1, 2, min_distance=2, max_distance=1), "max_distance: is 1; it must be 2"),
    ],
)
def test_bad_equalities_are_refused(add, message):
    builder = bodies(3)
    builder.add_joint_revolute(-1, 0)
    builder.add_joint_ball(0, 1, label="ball")
    with pytest.raises(ModelError, match=message):
        add(builder)
    assert builder.equalities == []


@pytest.mark.parametrize("kind, add", [
    ("body", lambda b: b.add_body(label="x")),
    ("joint", lambda b: b.add_joint_fixed(-1, b.add_body(), label="x")),
    ("shape", lambda b: b.add_shape_sphere(-1, 1, label="x")),
    ("site", lambda b: b.add_site(-1, label="x")),
    ("equality", lambda b: b.add_equality_weld(0, -1, label="x")),
])  # fmt: skip
def test_duplicate_labels_are_refused(kind, add):
    builder = sim.ModelBuilder()
    builder.add_body()
    add(builder)
    with pytest.raises(ModelError, match=f"{kind} label 'x': is taken"):
        add(builder)


def test_made_up_labels_avoid_given_ones():
    builder = sim.ModelBuilder()
    builder.add_body(label="body_1")
    assert [builder.bodies[builder.add_body()].label for _ in range(2)] == ["body_2", "body_3"]


# what finalize finds


def assert_refused(builder, message):
    with pytest.raises(ModelError, match=message):
        builder.finalize(device="cpu")


def test_moving_body_without_mass_is_refused():
    builder = chain(2)
    builder.add_joint_revolute(1, builder.add_body(label="tip"))
    assert_refused(builder, "body 'tip': moves, but neither it nor what hangs on it has a mass")


def test_body_whose_shapes_have_no_density_is_refused():
    builder = sim.ModelBuilder()
    builder.add_shape_sphere(builder.add_body(label="ghost"), 0.1, density=0)
    assert_refused(builder, "body 'ghost': moves, but .* mass")


def test_massless_link_that_carries_others_and_massless_fixed_frame_are_taken():
    builder = chain(1)
    empty, tip = builder.add_body(), builder.add_body(**GOOD)
    builder.add_joint_revolute(0, empty, axis="X")
    builder.add_joint_revolute(empty, tip, axis="Y")
    builder.add_joint_fixed(tip, builder.add_body(label="frame"))
    model = builder.finalize(device="cpu")
    assert model.body_mass[empty] == 0


def test_mass_without_inertia_is_refused():
    builder = sim.ModelBuilder()
    builder.add_body(mass=2, label="dot")
    assert_refused(builder, "body 'dot': has mass 2 but neither inertia nor a shape with density")


@pytest.mark.filterwarnings("ignore:(overflow|invalid value):RuntimeWarning")
def test_inertias_beyond_all_numbers_are_refused_by_name():
    builder = sim.ModelBuilder()
    body = builder.add_body(mass=1e300, com=(0, 0, 0), inertia=(1e300, 1e300, 1e300), label="planet")
    builder.add_joint_revolute(-1, body, child_xform=(1e60, 0, 0, 0, 0, 0, 1), label="orbit")
    assert_refused(builder, "body 'planet': its inertia about joint 'orbit' is too large")


def test_point_mass_may_not_spin_freely_but_may_swing():
    builder = sim.ModelBuilder()
    body = builder.add_body(mass=1, com=(0, 0, -1), inertia=(0, 0, 0), label="bob")
    assert_refused(builder, "body 'bob': turns about joint 'bob_free' without any inertia")
    joint = builder.add_joint_revolute(-1, body, axis="Z", label="spin")
    assert_refused(builder, "body 'bob': turns about joint 'spin' without any inertia")
    builder.joints[joint].dofs[0].armature = 0.1
    builder.finalize(device="cpu")
    builder.joints[joint].dofs[0].armature = 0
    builder.joints[joint].dofs[0].axis = (0.0, 1.0, 0.0)
    builder.finalize(device="cpu")


def test_impossible_but_positive_inertia_is_kept_with_a_warning():
    builder = sim.ModelBuilder()
    builder.add_body(mass=1, inertia=(1, 1, 3), label="odd")
    with pytest.warns(UserWarning, match=r"1 of \d+ bodies with a principal moment .*: odd"):
        model = builder.finalize(device="cpu", precision="float64")
    np.testing.assert_array_equal(model.body_inertia[0], np.diag([1, 1, 3.0]))


def test_kinematic_body_on_a_hinge_is_refused():
    builder = chain(1)
    builder.bodies[0].kinematic = True
    assert_refused(builder, "body 'link_0': is kinematic, but joint 'hinge_0' .revolute. moves it")


def test_velocity_of_a_jointed_body_is_refused():
    builder = chain(1)
    builder.bodies[0].velocity = (1.0,) * 6
    assert_refused(builder, "body 'link_0': has a velocity, but joint 'hinge_0' moves it; give the joint qd=")


def test_pose_that_the_joint_denies_is_warned_of():
    builder = chain(1)
    builder.bodies[0].xform = (0, 0, 2, 0, 0, 0, 1)
    with pytest.warns(UserWarning, match=r"1 of \d+ bodies not at the given xform.*'link_0' at \(0.0, 0.0, 1.0\)"):
        builder.finalize(device="cpu")
    builder.bodies[0].xform = (0, 0, 1, 0, 0, 0, -1)
    builder.finalize(device="cpu")


@pytest.mark.parametrize("spoil, message", [
    (lambda b: setattr(b.bodies[0], "mass", -1.0), "body 'link_0', mass: is -1"),
    (lambda b: setattr(b.joints[1].dofs[0], "damping", NAN), "joint 'hinge_1', damping: .*finite"),
    (lambda b: setattr(b.joints[1], "parent", 9), "joint 'hinge_1', parent: is 9"),
    (lambda b: setattr(b.joints[1], "q", (1.0, 2.0)), "joint 'hinge_1', q: has 2 numbers"),
    (lambda b: setattr(b.shapes[0], "size", (0.1, -1.0, 0.0)), "shape 'capsule_0', half_height: is -1"),
    (lambda b: setattr(b.shapes[0], "body", 9), "shape 'capsule_0', body: is 9"),
    (lambda b: setattr(b.bodies[1], "label", "link_0"), "body label 'link_0': stands twice"),
])  # fmt: skip
def test_fields_spoilt_after_adding_are_found_by_finalize(spoil, message):
    builder = chain(2)
    spoil(builder)
    assert_refused(builder, message)


def test_quaternions_are_made_unit():
    builder = sim.ModelBuilder()
    body = builder.add_body((0, 0, 0, 0, 0, 3, 4), **GOOD)
    np.testing.assert_allclose(builder.bodies[body].xform[3:], (0, 0, 0.6, 0.8))
    builder.add_joint_ball(-1, body, q=(2, 0, 0, 0))
    assert builder.joints[0].q == (1, 0, 0, 0)


def test_unknown_up_axis_precision_and_gradients_are_refused():
    with pytest.raises(ModelError, match="up_axis is 'W'"):
        sim.ModelBuilder(up_axis="W")
    with pytest.raises(ModelError, match="precision is 'float16'"):
        chain(1).finalize(device="cpu", precision="float16")
    with pytest.raises(sim.UnsupportedError, match="requires_grad=False"):
        chain(1).finalize(device="cpu", requires_grad=True)
    with pytest.raises(ModelError, match=r"gravity: .*finite"):
        sim.ModelBuilder(gravity=NAN)
    with pytest.raises(ModelError, match="voxel="):
        sim.ModelBuilder().add_shape_sdf(-1, None)
