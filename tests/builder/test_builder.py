"""ModelBuilder: what users add arrives in the model, defaults included; builders merge."""

import numpy as np
import pytest

import simengine as sim
from simengine.builder.masses import body_masses
from simengine.builder.template import compile_template
from simengine.enums import EqualityType, JointType, ShapeFlag, ShapeType
from tests.builder.scenes import chain, random_tree

GOOD = dict(mass=1, inertia=(1, 1, 1))


def arrays_of(builder):
    return compile_template(builder._elements, (), builder.gravity).arrays


def assert_same(a, b, tolerance=0.0):
    assert a.keys() == b.keys()
    for name in a:
        np.testing.assert_allclose(a[name], b[name], rtol=tolerance, atol=tolerance, err_msg=name)


def test_crate_of_the_guide():
    builder = sim.ModelBuilder(up_axis="Z", gravity=-9.81)
    wood = sim.Material(friction=0.6, restitution=0.1)
    crate = builder.add_body(xform=sim.transform(p=(0, 0, 1)), label="crate")
    builder.add_shape_box(crate, hx=0.2, hy=0.2, hz=0.2, density=500, material=wood)
    builder.add_ground_plane(material=wood)
    model = builder.finalize(device="cpu", precision="float64")
    assert (crate, model.body_count, model.shape_count, model.joint_dof_count, model.world_count) == (0, 1, 2, 6, 1)
    assert model.body_mass[0] == pytest.approx(500 * 0.064)
    np.testing.assert_allclose(model.body_inertia[0], np.eye(3) * 32 / 6 * 0.16, rtol=1e-14)
    np.testing.assert_array_equal(model.body_q[0], [0, 0, 1, 0, 0, 0, 1])
    np.testing.assert_array_equal(model.joint_q, [0, 0, 1, 0, 0, 0, 1])
    np.testing.assert_array_equal(model.gravity, [[0, 0, -9.81]])
    np.testing.assert_array_equal(model.shape_friction, [0.6, 0.6])
    np.testing.assert_array_equal(model.shape_body, [0, -1])
    assert model.body_label == ["crate"]
    assert model.shape_label == ["shape_0", "ground"]
    assert model.body_inverse_weight[0, 0] == pytest.approx(1 / 32)


@pytest.mark.parametrize("up, normal", [("X", (1, 0, 0)), ("Y", (0, 1, 0)), ("Z", (0, 0, 1))])
def test_gravity_and_ground_follow_the_up_axis(up, normal):
    builder = sim.ModelBuilder(up_axis=up, gravity=-2)
    builder.add_ground_plane(height=3)
    np.testing.assert_allclose(builder.gravity, np.multiply(normal, -2))
    xform = builder.shapes[0].xform
    np.testing.assert_allclose(xform[:3], np.multiply(normal, 3))
    from simengine.builder.frames import quat_rotate

    np.testing.assert_allclose(quat_rotate(xform[3:], (0, 0, 1)), normal, atol=1e-15)


def test_gravity_may_be_a_vector():
    assert sim.ModelBuilder(gravity=(1, 2, 3)).gravity == (1, 2, 3)


def test_joint_parameters_arrive_in_their_rows():
    builder = sim.ModelBuilder()
    for _ in range(2):
        builder.add_body(**GOOD)
    values = dict(
        limit_lower=-1, limit_upper=2, limit_ke=3, limit_kd=4, limit_margin=0.5, target_pos=5, target_vel=6,
        target_ke=7, target_kd=8, effort_limit=9, velocity_limit=10, armature=11, damping=12, friction=13,
        stiffness=14, spring_ref=15,
    )  # fmt: skip
    tuples = dict(limit_reference=(0.1, 0.2), limit_impedance=(0.3, 0.4, 0.5, 0.6, 7), friction_reference=(0.8, 0.9),
                  friction_impedance=(0.1, 0.2, 0.3, 0.4, 5))  # fmt: skip
    builder.add_joint_revolute(-1, 0)
    builder.add_joint_prismatic(0, 1, axis=(0, 3, 4), **values, **tuples)
    arrays = arrays_of(builder)
    for name, value in (values | tuples).items():
        np.testing.assert_allclose(arrays[f"joint_{name}"][1], value, err_msg=name)
    np.testing.assert_allclose(arrays["joint_axis"], [[0, 0, 1], [0, 0.6, 0.8]])
    defaults = dict(limit_reference=(0.02, 1), limit_impedance=(0.9, 0.95, 0.001, 0.5, 2), limit_lower=-np.inf,
                    limit_upper=np.inf, effort_limit=np.inf, velocity_limit=np.inf, damping=0, limit_ke=0)  # fmt: skip
    for name, value in defaults.items():
        np.testing.assert_array_equal(arrays[f"joint_{name}"][0], value, err_msg=name)


def test_defaults_of_the_builder_reach_joints_and_shapes_but_not_free_joints():
    builder = sim.ModelBuilder()
    builder.default_joint.armature = 0.25
    builder.default_density = 2.0
    builder.default_material = sim.Material(friction=0.3)
    builder.add_body()
    builder.add_body()
    builder.add_joint_free(-1, 0)
    builder.add_joint_universal(0, 1, damping=(1, 2))
    builder.add_shape_box(0, 0.5, 0.5, 0.5)
    builder.add_shape_box(1, 0.5, 0.5, 0.5, density=3)
    arrays = arrays_of(builder)
    np.testing.assert_array_equal(arrays["joint_armature"], [0] * 6 + [0.25] * 2)
    np.testing.assert_array_equal(arrays["joint_damping"], [0] * 6 + [1, 2])
    np.testing.assert_allclose(arrays["body_mass"], [2, 3])
    np.testing.assert_array_equal(arrays["shape_friction"], [0.3, 0.3])


def test_coordinates_and_rates_of_each_joint_type():
    sizes = {"revolute": (1, 1), "prismatic": (1, 1), "ball": (4, 3), "free": (7, 6), "fixed": (0, 0),
             "universal": (2, 2), "distance": (7, 6)}  # fmt: skip
    builder = sim.ModelBuilder()
    for kind in sizes:
        getattr(builder, f"add_joint_{kind}")(-1, builder.add_body(**GOOD))
    builder.add_joint_d6(-1, builder.add_body(**GOOD), linear_axes=["X"], angular_axes=["Y", "Z"])
    builder.add_joint_d6(-1, builder.add_body(**GOOD), linear_axes=["X"], ball=True)
    arrays = arrays_of(builder)
    widths = [*sizes.values(), (3, 3), (5, 4)]
    np.testing.assert_array_equal(np.diff([*arrays["joint_q_start"], len(arrays["joint_q"])]), [w[0] for w in widths])
    np.testing.assert_array_equal(np.diff([*arrays["joint_qd_start"], len(arrays["joint_qd"])]), [w[1] for w in widths])
    names = [*(kind.upper() for kind in sizes), "D6", "D6"]
    np.testing.assert_array_equal(arrays["joint_type"], [JointType[name] for name in names])
    assert arrays["joint_q"][arrays["joint_q_start"][2] + 3] == 1  # a ball starts as the unit quaternion


def test_ball_limits_arrive():
    builder = sim.ModelBuilder()
    for _ in range(3):
        builder.add_body(**GOOD)
    builder.add_joint_ball(-1, 0, swing=(0.1, 0.2), twist=(-0.3, 0.4))
    builder.add_joint_ball(-1, 1, angle_limit=0.5)
    builder.add_joint_ball(-1, 2)
    arrays = arrays_of(builder)
    inf = np.inf
    np.testing.assert_array_equal(arrays["joint_swing_limit"], [[0.1, 0.2], [inf, inf], [inf, inf]])
    np.testing.assert_array_equal(arrays["joint_twist_limit"], [[-0.3, 0.4], [-inf, inf], [-inf, inf]])
    np.testing.assert_array_equal(arrays["joint_angle_limit"], [inf, 0.5, inf])


def test_loops_equalities_and_distances_are_rows():
    builder = chain(3)
    frame = (0, 0, 1, 0, 0, 0, 1)
    distance = builder.add_joint_distance(-1, builder.add_body(**GOOD), 0.5, 2, parent_xform=frame, label="rope")
    added = [
        builder.add_loop_joint_revolute(0, 2, axis="Y", parent_xform=frame),
        builder.add_loop_joint_prismatic(0, 2),
        builder.add_loop_joint_ball(0, -1),
        builder.add_loop_joint_fixed(0, 2),
        builder.add_equality_connect(0, 1, (1, 2, 3), (4, 5, 6)),
        builder.add_equality_weld(0, 1, frame, frame),
        builder.add_equality_joint(0, 1, (0.5, 2)),
        builder.add_equality_joint(2, polynomial=(0.25,)),
    ]
    assert (distance, added) == (3, [1, 2, 3, 4, 5, 6, 7, 8])
    arrays = arrays_of(builder)
    kinds = (
        "DISTANCE",
        "LOOP_REVOLUTE",
        "LOOP_PRISMATIC",
        "LOOP_BALL",
        "LOOP_FIXED",
        "CONNECT",
        "WELD",
        "JOINT",
        "JOINT",
    )
    np.testing.assert_array_equal(arrays["equality_type"], [EqualityType[kind] for kind in kinds])
    np.testing.assert_array_equal(arrays["equality_object0"], [-1, 0, 0, 0, 0, 0, 0, 0, 2])
    np.testing.assert_array_equal(arrays["equality_object1"], [3, 2, 2, -1, 2, 1, 1, 1, -1])
    np.testing.assert_array_equal(arrays["equality_data"][0, :2], [0.5, 2])
    np.testing.assert_array_equal(arrays["equality_data"][1, :3], [0, 1, 0])
    np.testing.assert_array_equal(arrays["equality_data"][7:, :3], [[0.5, 2, 0], [0.25, 0, 0]])
    np.testing.assert_array_equal(
        arrays["equality_xform0"][[0, 1, 5, 6], :3], [(0, 0, 1), (0, 0, 1), (1, 2, 3), (0, 0, 1)]
    )
    np.testing.assert_array_equal(arrays["equality_xform1"][5, :3], (4, 5, 6))


def test_shape_sizes_flags_and_bounding_spheres():
    builder = sim.ModelBuilder()
    body = builder.add_body()
    builder.add_shape_sphere(body, 1)
    builder.add_shape_box(body, 1, 2, 2)
    builder.add_shape_capsule(body, 1, 2)
    builder.add_shape_cylinder(body, 3, 4)
    builder.add_shape_cone(body, 3, 4)
    builder.add_shape_ellipsoid(body, 1, 3, 2)
    builder.add_shape_plane(hx=1, visible=False)
    points = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], float)
    builder.add_shape_convex_hull(body, points, scale=(1, 2, 2), collides=False)
    arrays = arrays_of(builder)
    np.testing.assert_allclose(arrays["shape_radius"], [1, 3, 3, 5, 5, 3, np.inf, 3])
    np.testing.assert_array_equal(arrays["shape_size"][[0, 2, 6]], [[1, 0, 0], [1, 2, 0], [1, 0, 0]])
    np.testing.assert_array_equal(arrays["shape_mesh"], [-1] * 7 + [0])
    both = ShapeFlag.COLLIDES | ShapeFlag.VISIBLE
    np.testing.assert_array_equal(arrays["shape_flags"], [both] * 6 + [ShapeFlag.COLLIDES, ShapeFlag.VISIBLE])
    assert arrays["shape_type"][7] == ShapeType.CONVEX_HULL


def test_given_mass_scales_the_distribution_of_the_shapes():
    builder = sim.ModelBuilder()
    for mass in (None, 3.0):
        body = builder.add_body(mass=mass)
        builder.add_shape_box(body, 0.1, 0.2, 0.3, xform=(1, 0, 0, 0, 0, 0, 1))
        builder.add_shape_sphere(body, 0.1)
    free, given = body_masses(builder._elements)
    assert given.mass == 3
    np.testing.assert_allclose(given.com, free.com)
    np.testing.assert_allclose(given.inertia, free.inertia * 3 / free.mass)


def test_shapes_add_nothing_to_a_body_that_was_given_its_inertia():
    builder = sim.ModelBuilder()
    builder.add_shape_sphere(builder.add_body(mass=2, com=(1, 0, 0), inertia=(3, 4, 5)), 0.1)
    (own,) = body_masses(builder._elements)
    assert own.mass == 2
    np.testing.assert_array_equal(own.com, (1, 0, 0))
    np.testing.assert_array_equal(own.inertia, np.diag([3, 4, 5]))


def test_merging_two_builders_is_describing_both_in_one():
    both = random_tree(1)
    offsets = both.merge_builder(random_tree(2), label_prefix="second")
    assert tuple(offsets) == (12, 12, 0, 0, 1)
    assert both.bodies[12].label == "second/body_0"
    first, second, merged = (arrays_of(b) for b in (random_tree(1), random_tree(2), both))
    for name in merged:
        if name in ("joint_parent", "joint_child", "joint_q_start", "joint_qd_start") or name.startswith(
            "equality_object"
        ):
            continue
        np.testing.assert_array_equal(merged[name], np.concatenate([first[name], second[name]]), err_msg=name)
    expected = np.concatenate(
        [first["joint_parent"], np.where(second["joint_parent"] < 0, -1, second["joint_parent"] + 12)]
    )
    np.testing.assert_array_equal(merged["joint_parent"], expected)
    np.testing.assert_array_equal(
        merged["equality_object1"], [*first["equality_object1"], *second["equality_object1"] + 12]
    )


@pytest.mark.parametrize("seed", range(3))
def test_merged_with_a_transform_everything_moves_as_one(seed):
    from simengine.builder import frames
    from tests.builder.scenes import random_pose

    xform = random_pose(np.random.default_rng(seed))
    original, moved = random_tree(seed), sim.ModelBuilder()
    for builder in (original,):
        builder.add_body((1, 2, 3, 0, 0, 0, 1), **GOOD, velocity=(1, 2, 3, 4, 5, 6))
        builder.add_body(**GOOD)
        builder.add_ground_plane()
    moved.merge_builder(original, xform=xform)
    a, b = arrays_of(original), arrays_of(moved)
    rotation = frames.rotation_matrix(xform[3:])
    for body in range(len(a["body_q"])):
        expected = frames.compose(xform, tuple(a["body_q"][body]))
        np.testing.assert_allclose(b["body_q"][body, :3], expected[:3], atol=1e-11)
        assert frames.angle_between(tuple(b["body_q"][body, 3:]), expected[3:]) < 1e-7
        for part in (slice(0, 3), slice(3, 6)):
            np.testing.assert_allclose(b["body_qd"][body, part], rotation @ a["body_qd"][body, part], atol=1e-10)
    np.testing.assert_allclose(b["shape_xform"][-1, :3], xform[:3])


def test_merging_renames_made_up_labels_and_refuses_given_ones_that_clash():
    builder, other = chain(1), sim.ModelBuilder()
    other.add_body(**GOOD)
    builder.merge_builder(other)
    builder.merge_builder(other)
    assert [body.label for body in builder.bodies] == ["link_0", "body_0", "body_2"]
    with pytest.raises(sim.ModelError, match="body label 'link_0': is taken; give label_prefix="):
        builder.merge_builder(chain(1))
    assert len(builder.bodies) == 3


def test_merging_without_self_collision_filters_its_shapes_alone():
    builder = sim.ModelBuilder()
    builder.add_shape_sphere(builder.add_body(), 1)
    builder.merge_builder(chain(4), self_collision=False)
    t = compile_template(builder._elements, (), builder.gravity).topology
    assert {tuple(sorted(p)) for p in zip(t["pair_shape0"], t["pair_shape1"], strict=True)} == {
        (0, i) for i in range(1, 5)
    }


def test_texts_are_no_numbers_and_no_truth_values():
    builder = sim.ModelBuilder()
    body = builder.add_body()
    for call, message in (
        (lambda: builder.add_shape_sphere(body, "1"), "size: is .* it must be 3 numbers"),
        (lambda: builder.add_shape_sphere(body, 1, collides="no"), "collides: is 'no'; it must be True or False"),
        (lambda: builder.add_shape_sphere(body, 1, visible="no"), "visible: is 'no'; it must be True or False"),
        (lambda: builder.add_body(kinematic="no"), "kinematic: is 'no'; it must be True or False"),
        (lambda: builder.add_body(mass="3"), "mass: is '3'; it must be a number"),
        (lambda: builder.add_joint_revolute(-1, body, damping="1"), "damping: is '1'; it must be a number"),
        (lambda: builder.add_joint_revolute(-1, body, collide_with_parent="no"), "collide_with_parent: is 'no'; it"),
        (lambda: sim.Material(friction="1"), "friction is '1'; it must be a number"),
        (lambda: sim.ModelBuilder(gravity="9"), "gravity: is '9'; it must be 3 numbers"),
    ):
        with pytest.raises(sim.ModelError, match=message):
            call()
    assert (len(builder.bodies), len(builder.shapes), len(builder.joints)) == (1, 0, 0)


@pytest.mark.parametrize(("kind", "size"), [("free", 7), ("ball", 4)])
def test_a_zero_quaternion_among_initial_coordinates_is_refused(kind, size):
    builder = sim.ModelBuilder()
    body = builder.add_body(mass=1, inertia=(1, 1, 1))
    add = getattr(builder, f"add_joint_{kind}")
    with pytest.raises(sim.ModelError, match=r"joint 'j', q, quaternion: is zero"):
        add(-1, body, q=(0,) * size, label="j")
    add(-1, body, label="j")
    builder.joints[0].q = (0,) * size
    with pytest.raises(sim.ModelError, match=r"joint 'j', q, quaternion: is zero"):
        builder.finalize(device="cpu")


def test_what_is_misspelt_gets_a_hint():
    builder = sim.ModelBuilder()
    with pytest.raises(AttributeError, match="ModelBuilder has no 'add_shape_spere'; did you mean 'add_shape_sphere'"):
        builder.add_shape_spere(0, 1)


def test_unknown_keywords_are_refused():
    builder = chain(1)
    with pytest.raises(sim.ModelError, match=r"a sphere has no 'densiti'; did you mean 'density'\?; shapes take xf"):
        builder.add_shape_sphere(0, 0.1, densiti=1)
    with pytest.raises(sim.ModelError, match=r"shape: a plane has no 'friction'; shapes take .*material, .*label"):
        builder.add_ground_plane(friction=1)
    with pytest.raises(sim.ModelError, match="shape: an ellipsoid has no 'friction'"):
        builder.add_shape_ellipsoid(0, 0.1, 0.2, 0.3, friction=1)


def test_a_colour_is_three_numbers_or_four():
    builder = chain(1)
    three, four = (builder.add_shape_sphere(0, 0.1, color=color) for color in (np.array([1, 0.5, 0]), (1, 0.5, 0, 0.2)))
    builder.shapes[four].color = (0, 0.5, 1)
    colors = builder.finalize(device="cpu").shape_color
    np.testing.assert_allclose(colors[[three, four]], [[1, 0.5, 0, 1], [0, 0.5, 1, 1]])


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"color": 5}, "color: is 5; it must be 3 or 4 numbers: red, green, blue, opacity"),
        ({"color": "red"}, "color: is 'red'; it must be 3 or 4 numbers"),
        ({"color": (1, 0)}, r"color: is \(1, 0\); it must be 3 or 4 numbers"),
        ({"color": (1, 0, "b")}, r"color: is \(1, 0, 'b'\); it must be 3 numbers"),
        ({"collision_group": "a"}, "collision_group: is 'a'; it must be a whole number of 32 bits"),
        ({"collision_group": 2**31}, "collision_group: is 2147483648; it must be a whole number"),
    ],
)
def test_options_of_the_wrong_kind_are_refused_by_name(option, message):
    with pytest.raises(sim.ModelError, match=f"shape 'crate', {message}"):
        chain(1).add_shape_sphere(0, 0.1, label="crate", **option)


def test_what_a_builder_does_not_know_is_not_taken():
    builder = sim.ModelBuilder()
    with pytest.raises(AttributeError, match="default_densty is unknown; did you mean 'default_density'"):
        builder.default_densty = 100
    with pytest.raises(AttributeError, match=r"up_axis cannot be set"):
        builder.up_axis = "Y"
    with pytest.raises(sim.ModelError, match="builder.default_material: is 3; it must be a Material"):
        builder.default_material = 3
    with pytest.raises(sim.ModelError, match="builder.default_joint: is .*; it must be a JointConfig"):
        builder.default_joint = {"armature": 1}
