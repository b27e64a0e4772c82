"""Joints: which joint of the builder each becomes, its frames, limits, drives, starts, direction and loops."""

from __future__ import annotations

import math

import numpy as np
import pytest

from simengine.builder.frames import compose, inverse, quat_from_axis_angle, quat_rotate
from simengine.builder.template import compile_template
from simengine.enums import DofKind, EqualityType, JointType
from simengine.errors import AssetError
from tests.builder.importers.usd.stages import body, joint, load, notes, prim, translated

DEGREE = math.pi / 180.0
LOCKED = {"low": 1.0, "high": -1.0}


def generic(name, body0, body1, *schemas, **limits):
    """A generic joint; ``limits``: name of an axis and its (low, high)."""
    values = {}
    for axis, (low, high) in limits.items():
        values |= {f"limit__{axis}__physics__low_float": low, f"limit__{axis}__physics__high_float": high}
    applied = [f"PhysicsLimitAPI:{axis}" for axis in limits]
    return joint("PhysicsJoint", name, body0, body1, *applied, *schemas, **values)


def locked(*axes):
    return dict.fromkeys(axes, (1.0, -1.0))


def only(folder, *prims, **options):
    builder, report = load(folder, *prims, **options)
    return builder.joints[report.joints["/j"]], builder, report


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("PhysicsFixedJoint", JointType.FIXED),
        ("PhysicsRevoluteJoint", JointType.REVOLUTE),
        ("PhysicsPrismaticJoint", JointType.PRISMATIC),
        ("PhysicsSphericalJoint", JointType.BALL),
        ("PhysicsDistanceJoint", JointType.DISTANCE),
    ],
)
def test_types_of_joints(tmp_path, kind, expected):
    found, builder, _ = only(tmp_path, body("a"), body("b"), joint(kind, "j", "/a", "/b"))
    assert found.type == expected
    assert (found.parent, found.child) == (0, 1)
    assert builder.joints[0].type == JointType.FREE  # the base floats and comes first


@pytest.mark.parametrize(
    ("axes", "expected"),
    [
        ("transX transY transZ rotX rotY rotZ", JointType.FIXED),
        ("transX transY transZ rotY rotZ", JointType.REVOLUTE),
        ("transY transZ rotX rotY rotZ", JointType.PRISMATIC),
        ("transX transY transZ rotY", JointType.UNIVERSAL),
        ("transX transY transZ", JointType.BALL),
        ("rotX rotY rotZ", JointType.D6),
        ("transX rotX", JointType.D6),
        ("", JointType.D6),
    ],
)
def test_a_generic_joint_keeps_the_axes_that_are_not_locked(tmp_path, axes, expected):
    found, _, _ = only(tmp_path, body("a"), body("b"), generic("j", "/a", "/b", **locked(*axes.split())))
    assert found.type == expected
    assert len(found.dofs) == 6 - len(axes.split())


def test_a_generic_joint_with_limits_about_three_axes_has_a_coordinate_for_each(tmp_path):
    limits = locked("transX", "transY", "transZ") | {"rotX": (-10, 20), "rotY": (-30, 40), "rotZ": (-50, 60)}
    found, _, _ = only(tmp_path, body("a"), body("b"), generic("j", "/a", "/b", **limits))
    assert [dof.kind for dof in found.dofs] == [DofKind.ANGULAR] * 3
    np.testing.assert_allclose([dof.limit_lower for dof in found.dofs], np.array([-10, -30, -50]) * DEGREE)
    np.testing.assert_allclose([dof.limit_upper for dof in found.dofs], np.array([20, 40, 60]) * DEGREE)
    np.testing.assert_array_equal([dof.axis for dof in found.dofs], np.eye(3))


def test_limits_of_a_whole_turn_about_three_axes_leave_a_ball(tmp_path):
    limits = locked("transX", "transY", "transZ") | dict.fromkeys(("rotX", "rotY", "rotZ"), (-180, 180))
    found, _, _ = only(tmp_path, body("a"), body("b"), generic("j", "/a", "/b", **limits))
    assert found.type == JointType.BALL


def test_limits_of_sliders_are_lengths_and_of_hinges_angles(tmp_path):
    limits = {"physics__lowerLimit_float": -2.0, "physics__upperLimit_float": 3.0, "physics__axis_token": '"Y"'}
    slider, _, _ = only(
        tmp_path, body("a"), body("b"), joint("PhysicsPrismaticJoint", "j", "/a", "/b", **limits), metre=0.01
    )
    (dof,) = slider.dofs
    assert (dof.limit_lower, dof.limit_upper) == pytest.approx((-0.02, 0.03))
    assert dof.axis == (0.0, 1.0, 0.0)
    hinge, _, _ = only(
        tmp_path, body("a"), body("b"), joint("PhysicsRevoluteJoint", "j", "/a", "/b", **limits), metre=0.01
    )
    (dof,) = hinge.dofs
    assert (dof.limit_lower, dof.limit_upper) == pytest.approx((-2 * DEGREE, 3 * DEGREE))


@pytest.mark.parametrize("limits", [("5.0", "-5.0"), ("inf", "inf"), ("nan", "1.0")])
def test_limits_that_hold_nothing_are_refused(tmp_path, limits):
    values = dict(zip(("physics__lowerLimit_float", "physics__upperLimit_float"), limits, strict=True))
    with pytest.raises(AssetError) as caught:
        load(tmp_path, body("a"), body("b"), joint("PhysicsRevoluteJoint", "j", "/a", "/b", **values))
    assert caught.value.prim_path == "/j"


@pytest.mark.parametrize(("axis", "order"), [("X", "XYZ"), ("Y", "YZX"), ("Z", "ZXY")])
def test_the_cone_of_a_spherical_joint_tilts_its_axis(tmp_path, axis, order):
    """coneAngle0 is towards the next axis: the tilt about the one after that."""
    cone = {
        "physics__axis_token": f'"{axis}"',
        "physics__coneAngle0Limit_float": 20.0,
        "physics__coneAngle1Limit_float": 40.0,
    }
    found, _, _ = only(tmp_path, body("a"), body("b"), joint("PhysicsSphericalJoint", "j", "/a", "/b", **cone))
    unit = dict(zip("XYZ", np.eye(3), strict=True))
    for own, of_file in zip(np.eye(3), order, strict=True):
        np.testing.assert_allclose(quat_rotate(found.parent_xform[3:], tuple(own)), unit[of_file], atol=1e-12)
        np.testing.assert_allclose(quat_rotate(found.child_xform[3:], tuple(own)), unit[of_file], atol=1e-12)
    assert found.swing_limit == pytest.approx((40 * DEGREE, 20 * DEGREE))  # about y, about z
    towards_next = quat_rotate(quat_from_axis_angle((0, 0, 1), found.swing_limit[1]), (1.0, 0.0, 0.0))
    assert math.atan2(towards_next[1], towards_next[0]) == pytest.approx(20 * DEGREE)


def test_distance_joints_keep_two_points_between_two_distances(tmp_path):
    ends = {"physics__minDistance_float": 20.0, "physics__maxDistance_float": 50.0}
    _, builder, _ = only(
        tmp_path, body("a"), body("b", (30, 0, 0)), joint("PhysicsDistanceJoint", "j", "/a", "/b", **ends), metre=0.01
    )
    (equality,) = builder.equalities
    assert equality.type == EqualityType.DISTANCE
    assert equality.data[:2] == pytest.approx((0.2, 0.5))


# drives


def test_drives_turn_from_degrees_to_radians(tmp_path):
    drive = {
        "drive__angular__physics__stiffness_float": 2.0,
        "drive__angular__physics__damping_float": 0.5,
        "drive__angular__physics__targetPosition_float": 90.0,
        "drive__angular__physics__targetVelocity_float": -180.0,
        "drive__angular__physics__maxForce_float": 7.0,
    }
    hinge = joint("PhysicsRevoluteJoint", "j", "/a", "/b", "PhysicsDriveAPI:angular", **drive)
    (dof,) = only(tmp_path, body("a"), body("b"), hinge)[0].dofs
    assert dof.target_ke == pytest.approx(2.0 / DEGREE)
    assert dof.target_kd == pytest.approx(0.5 / DEGREE)
    assert dof.target_pos == pytest.approx(math.pi / 2)
    assert dof.target_vel == pytest.approx(-math.pi)
    assert dof.effort_limit == 7.0


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("turn", ["(0, 0, 0, 0)", "(nan, 0, 0, 0)"])
def test_a_turn_of_a_joint_frame_that_is_none_is_refused(tmp_path, number, turn):
    name = f"physics__localRot{number}_quat"
    with pytest.raises(AssetError, match=f"localRot{number}") as caught:
        load(tmp_path, body("a"), body("b"), joint("PhysicsFixedJoint", "j", "/a", "/b", **{name: turn}))
    assert caught.value.prim_path == "/j"


@pytest.mark.parametrize("axis", ["transX", "transY", "transZ", "rotX", "rotY", "rotZ"])
def test_each_axis_of_a_generic_joint_has_its_own_drive(tmp_path, axis):
    name = f"drive__{axis}__physics"
    drive = {f"{name}__stiffness_float": 3.0, f"{name}__maxForce_float": "inf"}
    others = [one for one in ("transX", "transY", "transZ", "rotX", "rotY", "rotZ") if one != axis]
    limits = {}
    for one in others:
        limits |= {f"limit__{one}__physics__low_float": 1, f"limit__{one}__physics__high_float": -1}
    d6 = joint("PhysicsJoint", "j", "/a", "/b", f"PhysicsDriveAPI:{axis}", **limits, **drive)
    (dof,) = only(tmp_path, body("a"), body("b"), d6)[0].dofs
    assert dof.target_ke == pytest.approx(3.0 / (DEGREE if axis.startswith("rot") else 1.0))
    assert dof.effort_limit == math.inf


def test_an_acceleration_drive_is_scaled_by_the_inertia_that_it_meets(tmp_path):
    """A hinge on the world about the x axis of a body with Ixx = 0.1 kg m2."""
    drive = {"drive__angular__physics__type_token": '"acceleration"', "drive__angular__physics__stiffness_float": 10.0}
    hinge = joint("PhysicsRevoluteJoint", "j", "", "/a", "PhysicsDriveAPI:angular", **drive)
    found, _, report = only(tmp_path, body("a"), hinge)
    assert found.dofs[0].target_ke == pytest.approx(10.0 / DEGREE * 0.1)
    assert "acceleration" in notes(report, "defaulted")


def test_an_acceleration_drive_of_a_body_too_far_away_to_have_an_inertia_is_refused(tmp_path):
    drive = {"drive__angular__physics__type_token": '"acceleration"', "drive__angular__physics__stiffness_float": 10.0}
    hinge = joint("PhysicsRevoluteJoint", "j", "/a", "/b", "PhysicsDriveAPI:angular", **drive)
    loose = joint("PhysicsJoint", "k", "/b", "/c")
    with pytest.raises(AssetError, match="the inertia that it meets is"):
        load(tmp_path, body("a"), body("b", at=(0, 0, -1e308)), body("c", at=(1, 2, 3)), hinge, loose)


def test_the_largest_float_is_no_limit(tmp_path):
    drive = {"drive__linear__physics__maxForce_float": 3.4028235e38, "drive__linear__physics__stiffness_float": 1.0}
    slider = joint("PhysicsPrismaticJoint", "j", "/a", "/b", "PhysicsDriveAPI:linear", **drive)
    assert only(tmp_path, body("a"), body("b"), slider)[0].dofs[0].effort_limit == math.inf


# where joints stand


def poses(builder):
    """Initial pose of each body."""
    return compile_template(builder._elements, (), builder.gravity).arrays["body_q"]


def test_joints_start_where_the_bodies_stand(tmp_path):
    """The child is turned by 30 degrees about the hinge, and 0.4 m along the slider."""
    half = 15 * DEGREE
    turned = prim(
        "Xform",
        "b",
        "PhysicsRigidBodyAPI",
        "PhysicsMassAPI",
        physics__mass_float=1.0,
        physics__diagonalInertia_f3="(0.1, 0.1, 0.1)",
        xformOp__orient_quatd=f"({math.cos(half)}, {math.sin(half)}, 0, 0)",
        xformOpOrder_order='["xformOp:orient"]',
    )
    hinge, _, _ = only(tmp_path, body("a"), turned, joint("PhysicsRevoluteJoint", "j", "/a", "/b"))
    assert hinge.q == pytest.approx((30 * DEGREE,))
    slider, builder, report = only(
        tmp_path, body("a"), body("b", (0.4, 0, 0)), joint("PhysicsPrismaticJoint", "j", "/a", "/b")
    )
    assert slider.q == pytest.approx((0.4,))
    np.testing.assert_allclose(poses(builder)[1][:3], (0.4, 0, 0), atol=1e-12)
    assert not report.warned


def test_coordinates_of_a_universal_joint_reproduce_the_pose(tmp_path):
    q = (0.4, -0.7)
    turn = compose(
        (0, 0, 0, *quat_from_axis_angle((1.0, 0, 0), q[0])), (0, 0, 0, *quat_from_axis_angle((0, 0, 1.0), q[1]))
    )
    x, y, z, w = turn[3:]
    turned = prim(
        "Xform",
        "b",
        "PhysicsRigidBodyAPI",
        "PhysicsMassAPI",
        physics__mass_float=1.0,
        physics__diagonalInertia_f3="(0.1, 0.1, 0.1)",
        xformOp__orient_quatd=f"({w!r}, {x!r}, {y!r}, {z!r})",
        xformOpOrder_order='["xformOp:orient"]',
    )
    limits = locked("transX", "transY", "transZ", "rotY")
    found, builder, report = only(tmp_path, body("a"), turned, generic("j", "/a", "/b", **limits))
    np.testing.assert_allclose(found.q, q, atol=1e-9)
    np.testing.assert_allclose(np.abs(poses(builder)[1][3:] @ np.array(turn[3:])), 1.0, atol=1e-12)
    assert not report.warned


def test_a_joint_state_goes_before_the_poses_and_is_told_of(tmp_path):
    state = {"state__angular__physics__position_float": 20.0, "state__angular__physics__velocity_float": 90.0}
    hinge = joint("PhysicsRevoluteJoint", "j", "/a", "/b", "PhysicsJointStateAPI:angular", **state)
    found, _, report = only(tmp_path, body("a"), body("b"), hinge)
    assert found.q == pytest.approx((20 * DEGREE,))
    assert found.qd == pytest.approx((math.pi / 2,))
    assert "the state is taken" in notes(report, "warned")


def test_bodies_that_stand_off_their_joint_are_told_of(tmp_path):
    _, _, report = only(tmp_path, body("a"), body("b", (0, 2, 0)), joint("PhysicsRevoluteJoint", "j", "/a", "/b"))
    assert "stand 2 m and 0 rad off" in notes(report, "warned")


def test_rounding_is_not_told_as_a_distance(tmp_path):
    """Of two bodies at one place in a turned frame, one is turned by 0.6 rad: 1e-16 m is what rounding leaves."""
    turn = {"xformOp__orient_quatd": "(0.9553364891256060, 0.1706168733, 0.1706168733, 0.1706168733)"}
    order = {"xformOpOrder_order": '["xformOp:translate", "xformOp:orient"]'}
    one = prim("Xform", "q", xformOp__translate_d3="(0.1, 0.7, 0.3)", inside=body("b"), **turn, **order)
    other = prim("Xform", "r", inside=body("a", (0, 0, 0.3)), **translated(0.1, 0.7, 0))
    frame = prim("Xform", "p", xformOp__translate_d3="(3, 5, 7)", inside=one + other, **turn, **order)
    _, _, report = only(tmp_path, frame, joint("PhysicsFixedJoint", "j", "/p/r/a", "/p/q/b"))
    (told,) = (note.reason for note in report.warned if note.what == "poses")
    assert "stand 0 m and 0.6 rad off" in told


def test_a_start_outside_the_limits_is_kept_and_told_of(tmp_path):
    limits = {"physics__lowerLimit_float": 30.0, "physics__upperLimit_float": 60.0}
    found, _, report = only(tmp_path, body("a"), body("b"), joint("PhysicsRevoluteJoint", "j", "/a", "/b", **limits))
    assert found.q == (0.0,)
    assert "outside the limits" in notes(report, "warned")


def test_frames_of_scaled_parents_are_in_metres(tmp_path):
    frames = {"physics__localPos0_p3": "(1, 2, 3)", "physics__localPos1_p3": "(1, 0, 0)"}
    inside = body("b", (1, 0, 0)) + joint("PhysicsFixedJoint", "j", "/s/a", "/s/b", **frames)
    scaled = prim(
        "Xform", "s", inside=body("a") + inside, xformOp__scale_d3="(2, 2, 2)", xformOpOrder_order='["xformOp:scale"]'
    )
    builder, report = load(tmp_path, scaled, metre=0.1)
    found = builder.joints[report.joints["/s/j"]]
    np.testing.assert_allclose(found.parent_xform[:3], (0.2, 0.4, 0.6))
    np.testing.assert_allclose(found.child_xform[:3], (0.2, 0, 0))


def test_a_joint_to_a_prim_below_a_body_is_on_that_body(tmp_path):
    inner = prim("Xform", "frame", xformOp__translate_d3="(0, 0, 2)", xformOpOrder_order='["xformOp:translate"]')
    hinge = joint("PhysicsRevoluteJoint", "j", "/a/frame", "/b", physics__localPos0_p3="(1, 0, 0)")
    found, _, _ = only(tmp_path, body("a", inside=inner), body("b", (1, 0, 2)), hinge)
    assert found.parent == 0
    np.testing.assert_allclose(found.parent_xform[:3], (1, 0, 2))


def test_a_joint_to_a_static_prim_is_to_the_world_where_that_stands(tmp_path):
    post = prim("Xform", "post", xformOp__translate_d3="(0, 0, 2)", xformOpOrder_order='["xformOp:translate"]')
    hinge = joint("PhysicsRevoluteJoint", "j", "/post", "/b", physics__localPos0_p3="(1, 0, 0)")
    found, _, _ = only(tmp_path, post, body("b", (1, 0, 2)), hinge)
    assert found.parent == -1
    np.testing.assert_allclose(found.parent_xform[:3], (1, 0, 2))


# which way round


def test_a_hinge_with_the_world_as_body1_turns_the_same_way(tmp_path):
    """q is the motion of body1 in body0 whichever is the parent: with the body as body0 it turns the other way."""
    frames = {"physics__localPos0_p3": "(0, 0, 1)", "physics__localPos1_p3": "(0, 0, 3)"}
    hinge = joint(
        "PhysicsRevoluteJoint", "j", "/a", "", **frames, physics__lowerLimit_float=-10.0, physics__upperLimit_float=20.0
    )
    found, builder, _ = only(tmp_path, body("a", (0, 0, 2)), hinge)
    assert found.parent == -1 and found.child == 0
    (dof,) = found.dofs
    assert (dof.limit_lower, dof.limit_upper) == pytest.approx((-10 * DEGREE, 20 * DEGREE))
    found.q = (0.3,)
    pose = tuple(poses(builder)[0])
    relative = compose(inverse(compose(pose, (0, 0, 1, 0, 0, 0, 1))), (0, 0, 3, 0, 0, 0, 1))  # body1's frame in body0's
    assert 2 * math.atan2(relative[3], relative[6]) == pytest.approx(0.3)
    np.testing.assert_allclose(relative[:3], 0, atol=1e-12)


def test_a_turned_round_universal_joint_reproduces_the_same_motion(tmp_path):
    d6 = generic("j", "/a", "", **locked("transX", "transY", "transZ", "rotZ"))
    found, builder, _ = only(tmp_path, body("a"), d6)
    assert found.parent == -1
    about_x, about_y = 0.3, -0.5  # of body1 in body0: first about x, then about y
    assert [tuple(np.abs(dof.axis)) for dof in found.dofs] == [(0, 1, 0), (1, 0, 0)]
    found.q = (about_y, about_x)
    pose = tuple(poses(builder)[0])
    wanted = compose(
        (0, 0, 0, *quat_from_axis_angle((1.0, 0, 0), about_x)), (0, 0, 0, *quat_from_axis_angle((0, 1.0, 0), about_y))
    )
    np.testing.assert_allclose(np.abs(np.array(inverse(pose)[3:]) @ np.array(wanted[3:])), 1.0, atol=1e-12)


def test_the_articulation_root_is_the_root(tmp_path):
    root = body("b").replace('"PhysicsMassAPI"', '"PhysicsMassAPI", "PhysicsArticulationRootAPI"')
    found, builder, _ = only(tmp_path, body("a"), root, joint("PhysicsRevoluteJoint", "j", "/a", "/b"))
    assert (builder.bodies[found.parent].label, builder.bodies[found.child].label) == ("b", "a")


# loops


def chain(*closing):
    """Four bodies in a ring of hinges about z, and what closes it."""
    hinge = {"physics__axis_token": '"Z"'}
    links = [body(name) for name in "abcd"]
    links += [
        joint("PhysicsRevoluteJoint", f"h{i}", f"/{one}", f"/{two}", **hinge)
        for i, (one, two) in enumerate(("ab", "bc", "cd"))
    ]
    return [*links, *closing]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("PhysicsRevoluteJoint", EqualityType.LOOP_REVOLUTE),
        ("PhysicsPrismaticJoint", EqualityType.LOOP_PRISMATIC),
        ("PhysicsSphericalJoint", EqualityType.LOOP_BALL),
        ("PhysicsFixedJoint", EqualityType.LOOP_FIXED),
        ("PhysicsDistanceJoint", EqualityType.DISTANCE),
    ],
)
def test_a_joint_that_closes_a_loop_becomes_an_equality(tmp_path, kind, expected):
    frames = {"physics__localPos0_p3": "(1, 2, 3)", "physics__localPos1_p3": "(1, 2, 3)"}
    builder, report = load(tmp_path, *chain(joint(kind, "close", "/d", "/a", **frames)))
    (equality,) = builder.equalities
    assert equality.type == expected
    assert (equality.object0, equality.object1) == (3, 0)
    np.testing.assert_allclose(equality.xform0[:3], (1, 2, 3))
    assert "/close" not in report.joints


def test_an_excluded_joint_closes_the_loop_whatever_its_place(tmp_path):
    prims = chain(joint("PhysicsRevoluteJoint", "close", "/d", "/a"))
    prims[4] = prims[4].replace(
        "rel physics:body0", "bool physics:excludeFromArticulation = true\n    rel physics:body0"
    )
    builder, _ = load(tmp_path, *prims)
    assert [equality.label for equality in builder.equalities] == ["h0"]


def test_a_driven_joint_stays_in_the_tree(tmp_path):
    drive = {"drive__angular__physics__stiffness_float": 1.0}
    builder, report = load(
        tmp_path, *chain(joint("PhysicsRevoluteJoint", "close", "/d", "/a", "PhysicsDriveAPI:angular", **drive))
    )
    assert "/close" in report.joints
    assert [equality.label for equality in builder.equalities] == ["h2"]


def test_an_excluded_joint_that_alone_holds_a_body_is_in_the_tree(tmp_path):
    welded = joint("PhysicsFixedJoint", "j", "", "/a", physics__excludeFromArticulation_bool="true")
    found, _, _ = only(tmp_path, body("a"), welded)
    assert found.type == JointType.FIXED


def test_kinematic_bodies_are_what_others_hang_on(tmp_path):
    mover = body("a", (0, 0, 1), physics__kinematicEnabled_bool="true")
    found, builder, _ = only(tmp_path, mover, body("b", (0, 0, 1)), joint("PhysicsRevoluteJoint", "j", "/b", "/a"))
    assert builder.bodies[0].kinematic
    assert (found.parent, found.child) == (0, 1)


# joints that are passed over or refused


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (joint("PhysicsFixedJoint", "j", "/a", "/b", physics__jointEnabled_bool="false"), "jointEnabled"),
        (joint("PhysicsFixedJoint", "j", "/a", "/a"), "both of its ends"),
        (joint("PhysicsFixedJoint", "j"), "neither of its ends"),
    ],
)
def test_joints_that_do_nothing_are_named(tmp_path, text, words):
    builder, report = load(tmp_path, body("a"), body("b"), text)
    assert not builder.joints
    assert words in notes(report, "ignored")


def test_a_joint_to_a_prim_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(AssetError, match="/nowhere") as caught:
        load(tmp_path, body("a"), joint("PhysicsFixedJoint", "j", "/a", "/nowhere"))
    assert caught.value.element == "physics:body1"


def test_breaking_is_told_of(tmp_path):
    _, _, report = only(
        tmp_path, body("a"), body("b"), joint("PhysicsFixedJoint", "j", "/a", "/b", physics__breakForce_float=5.0)
    )
    assert "do not break" in notes(report, "ignored")


def test_stacked_joints_that_add_up_are_one_joint(tmp_path):
    """Newton's jointsAddMobility: a slider along x, then a hinge about z."""
    root = prim(
        "Xform",
        "r",
        "PhysicsArticulationRootAPI",
        "NewtonArticulationRootAPI",
        newton__jointsAddMobility_bool="true",
        inside=body("a")
        + body("b")
        + joint("PhysicsPrismaticJoint", "slide", "/r/a", "/r/b")
        + joint("PhysicsRevoluteJoint", "turn", "/r/a", "/r/b", physics__axis_token='"Z"'),
    )
    motor = prim("MjcActuator", "m", mjc__target_rel="</r/turn>")
    builder, report = load(tmp_path, root, motor)
    assert report.joints["/r/turn"] == report.joints["/r/slide"]
    found = builder.joints[report.joints["/r/slide"]]
    assert [dof.kind for dof in found.dofs] == [DofKind.LINEAR, DofKind.ANGULAR]
    assert [dof.label for dof in found.dofs] == ["slide", "turn"]
    np.testing.assert_allclose([dof.axis for dof in found.dofs], [(1, 0, 0), (0, 0, 1)], atol=1e-12)
    assert (builder.actuators[0].target, builder.actuators[0].dof) == (report.joints["/r/slide"], 1)


def test_stacked_joints_that_cannot_be_one_are_refused(tmp_path):
    """Two hinges whose axes do not meet."""
    hinges = joint("PhysicsRevoluteJoint", "one", "/r/a", "/r/b")
    hinges += joint(
        "PhysicsRevoluteJoint",
        "two",
        "/r/a",
        "/r/b",
        physics__localPos0_p3="(0, 1, 0)",
        physics__localPos1_p3="(0, 1, 0)",
    )
    root = prim(
        "Xform",
        "r",
        "PhysicsArticulationRootAPI",
        inside=body("a") + body("b") + hinges,
        newton__jointsAddMobility_bool="true",
    )
    with pytest.raises(AssetError, match="jointsAddMobility"):
        load(tmp_path, root)


def test_joints_of_one_pair_constrain_where_they_do_not_add_up(tmp_path):
    prims = [
        body("a"),
        body("b"),
        joint("PhysicsPrismaticJoint", "slide", "/a", "/b"),
        joint("PhysicsRevoluteJoint", "turn", "/a", "/b"),
    ]
    builder, _ = load(tmp_path, *prims)
    assert len(builder.joints) == 2 and len(builder.equalities) == 1
