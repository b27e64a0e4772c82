"""The table of explained differences explains no more than it says."""

from __future__ import annotations

import pytest

import simengine as sim
from simengine.builder.exporters.report import ExportNotes
from simengine.builder.importers.report import ImportReport, Note
from tests.builder.exporters.compare import differences
from tests.builder.exporters.round_trips import EXPLAINED, Rule, told

TETRAHEDRON = ([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)], [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)])


def arm(**joint) -> sim.ModelBuilder:
    """Two links on hinges "a" and "b"; ``joint``: fields of the second."""
    builder = sim.ModelBuilder()
    first = builder.add_body(mass=1.0, inertia=(1, 1, 1), label="first")
    builder.add_joint_revolute(-1, first, label="a")
    second = builder.add_body(mass=1.0, inertia=(1, 1, 1), label="second")
    builder.add_joint_revolute(first, second, label="b", **joint)
    return builder


def explained(found: list, format_name: str, *notes: Note) -> list[bool]:
    exported = ExportNotes("f", "X", False)
    exported.report.lost += notes
    about = told(exported.report, ImportReport("f"))
    return [any(rule.explains(one, about) for rule in EXPLAINED[format_name]) for one in found]


def test_a_note_explains_the_element_that_it_names_alone():
    found = differences(arm(armature=0.5), arm())
    assert [(one.label, one.field) for one in found] == [("b", "armature")]
    assert explained(found, "urdf", Note("armature", "joint 'b'", "")) == [True]
    assert explained(found, "urdf", Note("armature", "joint 'a'", "")) == [False]
    assert explained(found, "urdf", Note("damping", "joint 'b'", "")) == [False]


def test_each_rule_asks_for_a_note_or_bounds_what_may_differ():
    loose = [rule for table in EXPLAINED.values() for rule in table if not rule.note]
    assert loose and all(rule.largest is not None or rule.only is not None for rule in loose)
    assert max(rule.largest for rule in loose if rule.largest is not None) <= 1e-6


@pytest.mark.parametrize("format_name", EXPLAINED)
def test_another_initial_coordinate_needs_a_note(format_name):
    found = differences(arm(), arm(q=0.2))
    assert {one.field for one in found if one.kind == "joint"} >= {"q"}
    assert not any(explained([one for one in found if one.field == "q"], format_name))


@pytest.mark.parametrize("format_name", EXPLAINED)
def test_a_mesh_that_is_a_little_larger_is_a_fault(format_name):
    def meshed(scale: float) -> sim.ModelBuilder:
        builder = sim.ModelBuilder()
        points = [[scale * x for x in point] for point in TETRAHEDRON[0]]
        builder.add_shape_mesh(-1, (points, TETRAHEDRON[1]), density=0.0, label="rock")
        return builder

    found = differences(meshed(1.0), meshed(1.00001))
    assert [one.field for one in found] == ["surface"]
    assert explained(found, format_name) == [False]


@pytest.mark.parametrize("format_name", EXPLAINED)
def test_a_pair_that_no_longer_touches_needs_a_note_about_it(format_name):
    def crowd(filtered: bool) -> sim.ModelBuilder:
        builder = sim.ModelBuilder()
        shapes = [
            builder.add_shape_sphere(builder.add_body(label=f"b{i}"), 0.1, xform=(i, 0, 0, 0, 0, 0, 1), label=f"s{i}")
            for i in range(3)
        ]
        if filtered:
            builder.add_shape_collision_filter_pair(shapes[0], shapes[1])
        return builder

    found = differences(crowd(False), crowd(True))
    assert [(one.field, one.before, one.after) for one in found] == [("pairs", ("s0", "s1"), None)]
    assert explained(found, format_name, Note("collision filters", "scene", "")) == [False]
    assert explained(found, format_name, Note("contype", "shape 's2'", "")) == [False]


def test_a_bound_holds_beside_a_note():
    (found,) = differences(arm(armature=0.5), arm(armature=0.6))
    about = {"joint 'b'": {"armature"}}
    assert Rule("joint", "armature", "", "armature", largest=0.2).explains(found, about)
    assert not Rule("joint", "armature", "", "armature", largest=0.05).explains(found, about)
    assert not Rule("joint", "armature", "", "armature", only=lambda before, after: after is None).explains(
        found, about
    )
