"""Every MJCF file that has an expected file, which MuJoCo wrote: counts, options, bodies, joints, geoms, dynamics."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from simengine.builder.frames import apply, compose, inverse
from simengine.enums import EqualityType
from tests.builder.importers.mjcf.mujoco_facts import (
    Answer,
    answer_poses,
    assert_near,
    assert_same_turn,
    check_bodies,
    check_dynamics,
    check_geoms,
    check_joints,
    expected_files,
    load_expected,
    read,
    xyzw,
)

SHARED = Path(__file__).resolve().parents[5] / "shared"
FILES = expected_files(SHARED) if SHARED.is_dir() else []
IDS = [str(path.parent.name + "/" + path.name.removesuffix(".expected.json")) for path in FILES]
KEPT_COUNTS = {"nu": "actuators", "ntendon": "tendons", "nsensor": "sensors", "nkey": "keyframes", "nsite": "sites"}


@cache
def imported(path: Path):
    facts = load_expected(path)
    return facts, Answer(*read(path.parent / facts["file"]))


@pytest.fixture(params=FILES, ids=IDS)
def case(request, shared):
    return imported(request.param)


def test_there_are_as_many_expected_files_as_the_index_tells(shared):
    assert len(FILES) == 43


def test_counts(case):
    facts, answer = case
    builder, counts = answer.builder, facts["counts"]
    assert len(answer.bodies) == counts["nbody"] - 1
    assert len(answer.joints) == counts["njnt"]
    assert len(builder.shapes) == counts["ngeom"]
    for name, kind in KEPT_COUNTS.items():
        assert len(getattr(builder, kind)) == counts[name], kind
    assert len(builder.equalities) + len(builder.tendon_equalities) == counts["neq"]
    assert sum(joint.coord_count for joint in builder.joints) == counts["nq"]
    assert sum(len(joint.dofs) for joint in builder.joints) == counts["nv"]
    assert sum(actuator.activations for actuator in builder.actuators) == counts["na"]
    assert len(builder.contact_pairs) == counts["npair"]
    assert sum(body.kinematic for body in builder.bodies) == counts["nmocap"]


def test_options(case):
    facts, answer = case
    builder, option = answer.builder, facts["option"]
    ours = builder.options
    gravity = (0.0, 0.0, 0.0) if "gravity" in ours.disabled else option["gravity"]
    assert_near(builder.gravity, gravity, "gravity", scale=1.0)
    assert (ours.dt or 0.002) == option["timestep"]
    assert (ours.integrator, ours.cone) == (option["integrator"], option["cone"])
    assert (ours.impratio or 1.0, ours.iterations or 100) == (option["impratio"], option["iterations"])
    assert (ours.density or 0.0, ours.viscosity or 0.0) == (option["density"], option["viscosity"])
    assert list(ours.wind or (0.0, 0.0, 0.0)) == option["wind"]
    assert bin(option["disableflags"]).count("1") == len(ours.disabled)
    assert bin(option["enableflags"]).count("1") == len(ours.enabled)


def test_bodies(case):
    check_bodies(*case)


def test_joints(case):
    check_joints(*case)


def test_geoms(case):
    check_geoms(*case)


def test_dynamics(case):
    check_dynamics(*case)


def _body_name(builder, index: int) -> str:
    return "world" if index < 0 else builder.bodies[index].label


def test_equalities(case):
    facts, answer = case
    builder, poses = answer.builder, answer_poses(answer)
    joint_kinds = {fact["name"]: fact for fact in facts["joints"]}
    ours = iter(builder.equalities)
    for fact in facts["equalities"]:
        if fact["type"] == "tendon":
            continue
        equality, data = next(ours), fact["data"]
        assert equality.active == fact["active"]
        if fact["type"] == "joint":
            assert equality.type == EqualityType.JOINT
            assert answer.report.joints[fact["a"]] == equality.object0
            # MuJoCo's polynomial is in differences from ref
            reference = joint_kinds[fact["a"]]["ref"]
            other = joint_kinds[fact["b"]]["ref"] if fact["b"] else 0.0
            for q in (-0.3, 0.0, 0.7):
                powers = (q - other) ** np.arange(5)
                value = reference + (np.dot(data[:5], powers) if fact["b"] else data[0])
                assert_near(
                    np.dot(equality.data[:5], q ** np.arange(5) if fact["b"] else [1, 0, 0, 0, 0]),
                    value,
                    "polynomial",
                    scale=1.0,
                )
            continue
        assert equality.type == EqualityType[fact["type"].upper()]
        if fact["object"] == "site":
            sites = {site.label: site for site in builder.sites}
            for name, body, frame in (
                (fact["a"], equality.object0, equality.xform0),
                (fact["b"], equality.object1, equality.xform1),
            ):
                assert (sites[name].body, sites[name].xform[:3]) == (body, frame[:3])
            continue
        for name, body in ((fact["a"], equality.object0), (fact["b"], equality.object1)):
            assert name.startswith("#") or _body_name(builder, body) == name
        if fact["type"] == "connect":
            assert_near(equality.xform0[:3], data[:3], "anchor", scale=1.0)
            assert_near(equality.xform1[:3], data[3:6], "anchor on the second", scale=1.0)
        else:
            assert_near(equality.xform1[:3], data[:3], "anchor", scale=1.0)
            assert_near(equality.xform0[:3], data[3:6], "relative position", scale=1.0)
            relative = compose(equality.xform0, inverse(equality.xform1))
            assert_same_turn(relative[3:], xyzw(data[6:10]), "relative turn")
            assert_near(equality.torque_scale, data[10], "torque scale")
        first = apply(poses[equality.object0], equality.xform0[:3])
        second = apply(poses[equality.object1], equality.xform1[:3])
        if fact["type"] == "connect":
            assert math.dist(first, second) < 1e-6, "a connect by bodies holds at the initial pose"


def test_tendons(case):
    facts, answer = case
    builder = answer.builder
    for tendon, fact in zip(builder.tendons, facts["tendons"], strict=True):
        assert fact["name"].startswith("#") or tendon.label == fact["name"]
        assert bool(tendon.terms) == (fact["kind"] == "fixed")
        limits = (tendon.limit_lower, tendon.limit_upper)
        assert np.isfinite(limits).all() == fact["limited"]
        if fact["limited"]:
            assert_near(limits, fact["range"], "range")
        for name, value in (
            ("stiffness", tendon.stiffness),
            ("damping", tendon.damping),
            ("armature", tendon.armature),
        ):
            if name in fact:
                assert_near(value, np.ravel(fact[name])[0], name)
        if fact["kind"] == "fixed":
            dofs = tendon.dofs or (0,) * len(tendon.terms)
            ours = {}
            for (joint, coefficient), dof in zip(tendon.terms, dofs, strict=True):
                ours[builder.joints[joint].dofs[dof].label or builder.joints[joint].label] = coefficient
            assert ours == fact["coef"]
        else:
            kinds = [point.kind for point in tendon.path]
            assert kinds.count("site") == fact["wraps"].get("site", 0)
            assert kinds.count("pulley") == fact["wraps"].get("pulley", 0)


def test_actuators(case):
    facts, answer = case
    words = {"jointinparent": "joint_in_parent", "slidercrank": "slider_crank"}
    for actuator, fact in zip(answer.builder.actuators, facts["actuators"], strict=True):
        assert fact["name"].startswith("#") or actuator.label == fact["name"]
        assert actuator.transmission == words.get(fact["transmission"], fact["transmission"])
        assert list(actuator.gear) == fact["gear"]
        assert (actuator.gain[0], actuator.bias[0]) == (fact["gaintype"], fact["biastype"])
        assert_near(actuator.gain[1][:3], fact["gainprm3"], "gain")
        assert_near(actuator.bias[1][:3], fact["biasprm3"], "bias")
        for name, limits in (("ctrlrange", actuator.control_range), ("forcerange", actuator.force_range)):
            assert np.isfinite(limits).all() == (fact[name] is not None)
            if fact[name] is not None:
                assert_near(limits, fact[name], name)


def test_keyframes(case):
    facts, answer = case
    builder = answer.builder
    starts = np.cumsum([0, *(joint.coord_count for joint in builder.joints)])
    for key, fact in zip(builder.keyframes, facts["keyframes"], strict=False):  # the file lists the first few
        assert fact["name"].startswith("#") or key.label == fact["name"]
        coords = {joint: values for joint, values, _ in key.joints}
        for (j, first, kind), joint in zip(answer.joints, facts["joints"], strict=True):
            at, own = joint["qposadr"], coords[j]
            if kind in ("hinge", "slide"):
                assert_near(own[first], fact["qpos"][at], "keyframe", scale=1.0)
                continue
            offset = first + (3 if kind == "free" else 0)
            assert_near(own[first:offset], fact["qpos"][at : at + offset - first], "position")
            quat = np.array(fact["qpos"][at + offset - first : at + offset - first + 4])
            quat = quat / np.linalg.norm(quat) if quat.any() else np.array([1.0, 0.0, 0.0, 0.0])
            assert_same_turn(own[offset : offset + 4], xyzw(quat), "keyframe")
    assert starts[-1] == facts["counts"]["nq"]


def test_coordinates_start_at_qpos0(case):
    facts, answer = case
    builder = answer.builder
    for (j, first, kind), joint in zip(answer.joints, facts["joints"], strict=True):
        at, own = joint["qposadr"], builder.joints[j].coords()
        if kind in ("hinge", "slide"):
            assert_near(own[first], facts["qpos0"][at], "qpos0", scale=1.0)
        elif kind == "free":
            assert_near(own[:3], facts["qpos0"][at : at + 3], "qpos0", scale=1.0)
            assert_same_turn(own[3:], xyzw(facts["qpos0"][at + 3 : at + 7]), "qpos0")


def test_total_mass(case):
    facts, answer = case
    assert_near(sum(body.mass for body in answer.builder.bodies), facts["total_mass"], "total mass")


def test_nothing_is_unknown(case):
    _, answer = case
    assert answer.report.attributes.get("unknown", 0) == 0
