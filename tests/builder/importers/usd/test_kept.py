"""Joints that follow joints, by the schemas of Newton, PhysX and MuJoCo."""

from __future__ import annotations

import math

import pytest

from simengine.enums import EqualityType
from simengine.errors import AssetError
from tests.builder.importers.usd.stages import body, follower, joint, load, notes

DEGREE = math.pi / 180


@pytest.mark.parametrize(
    ("schema", "attributes", "expected"),
    [
        (
            "NewtonMimicAPI",
            {"newton__mimicJoint_rel": "</lead>", "newton__mimicCoef0_float": 90.0, "newton__mimicCoef1_float": -2.0},
            (math.pi / 2, -2),
        ),
        (
            "PhysxMimicJointAPI:rotX",
            {
                "physxMimicJoint__rotX__referenceJoint_rel": "</lead>",
                "physxMimicJoint__rotX__gearing_float": 2.0,
                "physxMimicJoint__rotX__offset_float": 90.0,
            },
            (-math.pi / 2, -2),
        ),
        (
            "MjcEqualityJointAPI",
            {
                "mjc__target_rel": "</lead>",
                "mjc__coef0_double": 0.5,
                "mjc__coef1_double": 3.0,
                "mjc__coef2_double": 4.0,
            },
            (0.5, 3, 4),
        ),
    ],
)
def test_joints_that_follow_joints(tmp_path, schema, attributes, expected):
    builder, report = load(tmp_path, *follower(schema, **attributes))
    (equality,) = builder.equalities
    assert equality.type == EqualityType.JOINT
    assert (equality.object0, equality.object1) == (report.joints["/j"], report.joints["/lead"])
    assert equality.data[: len(expected)] == pytest.approx(expected)
    assert report.mimics[0][:2] == ("j", "lead")


@pytest.mark.parametrize("schema", ["NewtonMimicAPI", "MjcEqualityJointAPI"])
def test_a_follower_that_is_switched_off_follows_nothing_and_that_is_told(tmp_path, schema):
    off = {"newton__mimicJoint_rel": "</lead>", "newton__mimicEnabled_bool": "false"}
    builder, report = load(tmp_path, *follower(schema, **off))
    assert not builder.equalities
    assert "mimic (/j)" in notes(report, "defaulted")


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({}, (0.0, 1.0, 0.0)),
        ({"newton__mimicCoef0_float": 90.0, "newton__mimicCoef1_float": -2.0}, (math.pi / 2, -2.0, 0.0)),
        ({"newton__mimicCoef1_float": -2.0, "mjc__coef2_double": 3.0}, (0.0, -2.0, 3.0)),
        ({"mjc__coef0_double": 0.5, "mjc__coef1_double": 4.0, "newton__mimicCoef1_float": -2.0}, (0.5, 4.0, 0.0)),
    ],
)
def test_mujocos_polynomial_takes_what_it_leaves_out_from_newtons_mimic(tmp_path, more, expected):
    tied = {"newton__mimicJoint_rel": "</lead>"} | more
    builder, report = load(tmp_path, *follower("NewtonMimicAPI", "MjcEqualityJointAPI", **tied))
    (equality,) = builder.equalities
    assert equality.object1 == report.joints["/lead"]
    assert equality.data[:3] == pytest.approx(expected)


def test_newtons_ratio_of_a_hinge_that_follows_a_slider_is_in_degrees(tmp_path):
    """Ten degrees for each centimetre, whichever schema says so."""
    leader = joint("PhysicsPrismaticJoint", "lead", "/a", "/b")
    tied = {"newton__mimicJoint_rel": "</lead>", "newton__mimicCoef1_float": 10.0}
    for schemas in (["NewtonMimicAPI"], ["NewtonMimicAPI", "MjcEqualityJointAPI"]):
        hinge = joint("PhysicsRevoluteJoint", "j", "/a", "/c", *schemas, **tied)
        builder, _ = load(tmp_path, body("a"), body("b"), body("c"), leader, hinge, metre=0.01)
        assert builder.equalities[0].data[:2] == pytest.approx((0.0, 1000 * DEGREE))


def test_two_leaders_warn_and_mujocos_counts(tmp_path):
    tied = {"newton__mimicJoint_rel": "</other>", "mjc__target_rel": "</lead>"}
    other = joint("PhysicsRevoluteJoint", "other", "/a", "/d")
    prims = [body("d"), other, *follower("NewtonMimicAPI", "MjcEqualityJointAPI", **tied)]
    builder, report = load(tmp_path, *prims)
    assert builder.equalities[0].object1 == report.joints["/lead"]
    assert "mjc:target counts" in notes(report, "warned")


@pytest.mark.parametrize("target", ["</nowhere>", "</j>"])
def test_followers_of_what_is_not_there_or_of_themselves_are_refused(tmp_path, target):
    with pytest.raises(AssetError, match="follows"):
        load(tmp_path, *follower("NewtonMimicAPI", newton__mimicJoint_rel=target))


def test_lengths_of_polynomials_are_turned_into_metres(tmp_path):
    """q = c0 + c1 q' of sliders in centimetres: c0 is a length, c1 a ratio; c2 is per length."""
    leader = joint("PhysicsPrismaticJoint", "lead", "/a", "/b")
    mjc = {"mjc__target_rel": "</lead>", "mjc__coef0_double": 5.0, "mjc__coef1_double": 2.0, "mjc__coef2_double": 3.0}
    slider = joint("PhysicsPrismaticJoint", "j", "/a", "/c", "MjcEqualityJointAPI", **mjc)
    builder, _ = load(tmp_path, body("a"), body("b"), body("c"), leader, slider, metre=0.01)
    assert builder.equalities[0].data[:3] == pytest.approx((0.05, 2.0, 300.0))
