"""The comparison that the round trips lean on sees what differs, and nothing else."""

from __future__ import annotations

import copy

import pytest

import simengine as sim
from simengine.builder.frames import compose, quat_conjugate, quat_rotate
from tests.builder.exporters.compare import differences
from tests.builder.exporters.random_robots import every_joint


def scene() -> sim.ModelBuilder:
    builder = every_joint(0)
    builder.add_shape_box(0, 0.1, 0.2, 0.3, density=0.0, label="box")
    builder.add_site(1, label="tip")
    builder.add_equality_connect(0, 1, label="rod")
    builder.add_actuator("joint", 1, label="motor")
    return builder


def test_a_builder_does_not_differ_from_itself():
    assert differences(scene(), scene()) == []


CHANGES = {
    ("body", "root", "mass"): lambda b: setattr(b.bodies[0], "mass", b.bodies[0].mass + 1e-6),
    ("body", "root", "inertia"): lambda b: setattr(b.bodies[0], "inertia", tuple(2 * x for x in b.bodies[0].inertia)),
    ("joint", "hinge", "damping"): lambda b: setattr(b.joints[1].dofs[0], "damping", 0.2),
    ("joint", "hinge", "q"): lambda b: setattr(b.joints[1], "q", (0.71,)),
    ("joint", "hinge", "axes"): lambda b: setattr(b.joints[1].dofs[0], "axis", (0.0, 0.0, 1.0)),
    ("joint", "hinge", "anchor"): lambda b: setattr(b.joints[1], "parent_xform", (9, 9, 9, 0, 0, 0, 1)),
    ("shape", "box", "size"): lambda b: setattr(b.shapes[0], "size", (0.1, 0.2, 0.4)),
    ("shape", "box", "position"): lambda b: setattr(b.shapes[0], "xform", (0, 0, 1, 0, 0, 0, 1)),
    ("shape", "box", "material friction"): lambda b: setattr(b.shapes[0], "material", sim.Material(friction=0.3)),
    ("shape", "box", "color"): lambda b: setattr(b.shapes[0], "color", (0.0, 0.0, 0.0, 1.0)),
    ("site", "tip", "position"): lambda b: setattr(b.sites[0], "xform", (0, 0, 1, 0, 0, 0, 1)),
    ("equality", "rod", "point0"): lambda b: setattr(b.equalities[0], "xform0", (0, 0, 1, 0, 0, 0, 1)),
    ("actuator", "motor", "gear"): lambda b: setattr(b.actuators[0], "gear", (2.0, 0, 0, 0, 0, 0)),
    ("scene", "", "gravity"): lambda b: setattr(b, "gravity", -1.0),
    ("scene", "", "option dt"): lambda b: setattr(b.options, "dt", 0.01),
    ("scene", "", "custom"): lambda b: setattr(b, "custom", [("a", 1.0)]),
}


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: f"{change[0]} {change[2]}")
def test_each_change_is_seen(change):
    changed = scene()
    CHANGES[change](changed)
    assert change in {(one.kind, one.label, one.field) for one in differences(scene(), changed)}


def test_what_is_added_or_missing_is_seen():
    more = scene()
    more.add_body(mass=1.0, inertia=(1, 1, 1), label="new")
    more.add_shape_sphere(3, 0.1, density=0.0, label="ball")
    added = {(one.kind, one.field) for one in differences(scene(), more)}
    missing = {(one.kind, one.field) for one in differences(more, scene())}
    assert added == {("body", "added"), ("joint", "added"), ("shape", "added"), ("scene", "pairs")}
    assert missing == {("body", "missing"), ("joint", "missing"), ("shape", "missing"), ("scene", "pairs")}


def test_another_choice_of_frames_is_no_difference():
    moved = scene()
    joint = moved.joints[1]
    turn = (0.0, 0.0, 0.0, 0.5, 0.5, 0.5, 0.5)  # both joint frames turned alike, and the axis back
    joint.parent_xform, joint.child_xform = compose(joint.parent_xform, turn), compose(joint.child_xform, turn)
    joint.dofs[0] = copy.copy(joint.dofs[0])
    joint.dofs[0].axis = quat_rotate(quat_conjugate(turn[3:]), joint.dofs[0].axis)
    assert differences(scene(), moved) == []
