"""Transmissions: gears and tendons are the derivative of each motor's position by the joints' coordinates."""

import math

import pytest

import simengine as sim
from simengine.enums import JointType
from tests.builder.importers.urdf.texts import add, joint, links, refused, robot

LIMIT = '<limit lower="-1" upper="1" effort="12" velocity="1"/>'


def part(tag, name, reduction=None, role=None, more=""):
    inside = more
    inside += "" if reduction is None else f"<mechanicalReduction>{reduction}</mechanicalReduction>"
    inside += "" if role is None else f"<role>{role}</role>"
    return f'<{tag} name="{name}">{inside}</{tag}>'


def transmission(kind, *parts, name="t", prefix="transmission_interface/"):
    return f'<transmission name="{name}"><type>{prefix}{kind}</type>{"".join(parts)}</transmission>\n'


def two_joints(*transmissions):
    return robot(
        links(3)
        + joint("a", "l0", "l1", LIMIT, "revolute")
        + joint("b", "l1", "l2", LIMIT, "revolute")
        + "".join(transmissions)
    )


def test_a_simple_transmission_is_an_actuator_with_the_reduction_as_gear_and_the_effort_as_its_range(tmp_path):
    interface = "<hardwareInterface>EffortJointInterface</hardwareInterface>"
    text = two_joints(
        transmission("SimpleTransmission", part("joint", "b", more=interface), part("actuator", "motor", "-4"))
    )
    builder, report = add(tmp_path, text)
    (actuator,) = builder.actuators
    assert actuator.label == "motor"
    assert (actuator.transmission, builder.joints[actuator.target].label) == ("joint", "b")
    assert actuator.gear == (-4, 0, 0, 0, 0, 0)
    assert actuator.force_range == (-3, 3)  # 12 N m at the joint
    assert builder.custom == (("b/hardware_interface", "EffortJointInterface"),)
    assert report.read["transmissions"] == 1
    assert [note.what for note in report.kept] == ["<transmission>"]
    refused(tmp_path, text, "not simulated", line=7, unsupported="raise")


def test_kept_actuators_are_told_when_the_model_is_made(tmp_path):
    builder, _ = add(
        tmp_path, two_joints(transmission("SimpleTransmission", part("joint", "b"), part("actuator", "m")))
    )
    with pytest.warns(UserWarning, match="1 actuators"):
        model = builder.finalize(device="cpu")
    assert model.joint_type[-1] == JointType.REVOLUTE


def motor_positions(kind, x, joint_reductions, actuator_reductions):
    """As the header of ros_control writes them."""
    (x1, x2), (j1, j2), (a1, a2) = x, joint_reductions, actuator_reductions
    if kind == "DifferentialTransmission":
        return a1 * (j1 * x1 + j2 * x2), a2 * (j1 * x1 - j2 * x2)
    return a1 * j1 * x1, a2 * (x1 + j2 * x2)


@pytest.mark.parametrize("kind", ["DifferentialTransmission", "FourBarLinkageTransmission"])
def test_two_motors_on_two_joints_act_through_tendons(tmp_path, kind):
    joint_reductions, actuator_reductions = (1.5, -2.0), (-30.0, 40.0)
    text = two_joints(
        transmission(
            kind,
            # roles tell which is which, not their order
            part("actuator", "m2", actuator_reductions[1], "actuator2"),
            part("actuator", "m1", actuator_reductions[0], "actuator1"),
            part("joint", "b", joint_reductions[1], "joint2"),
            part("joint", "a", joint_reductions[0], "joint1"),
        )
    )
    builder, _ = add(tmp_path, text)
    assert [actuator.label for actuator in builder.actuators] == ["m1", "m2"]
    for index, actuator in enumerate(builder.actuators):
        coefficients = {builder.joints[j].label: c for j, c in builder.tendons[actuator.target].terms}
        for at, name in enumerate("ab"):
            step = [0.0, 0.0]
            step[at] = 1.0  # the map is linear
            expected = motor_positions(kind, step, joint_reductions, actuator_reductions)[index]
            assert actuator.gear[0] * coefficients.get(name, 0.0) == pytest.approx(expected, abs=1e-15)
        assert actuator.force_range == (-math.inf, math.inf)


def test_the_older_form_has_the_type_and_the_reduction_on_the_transmission(tmp_path):
    text = two_joints(
        '<transmission type="pr2_mechanism_model/SimpleTransmission" name="t"><actuator name="m"/><joint name="a"/>'
        "<mechanicalReduction>-50</mechanicalReduction></transmission>"
    )
    builder, _ = add(tmp_path, text)
    assert builder.actuators[0].gear[0] == -50


def test_equal_names_of_motors_are_set_apart(tmp_path):
    parts = (part("actuator", "m"),)
    text = two_joints(
        transmission("SimpleTransmission", part("joint", "a"), *parts, name="t"),
        transmission("SimpleTransmission", part("joint", "b"), *parts, name="u"),
    )
    builder, _ = add(tmp_path, text)
    assert [actuator.label for actuator in builder.actuators] == ["m", "m_1"]


def test_interfaces_of_all_transmissions_are_stored_at_once(tmp_path, monkeypatch):
    """Adding one to those before, again and again, takes a time that grows with the square of their number."""
    given, stored = sim.ModelBuilder.custom, []

    def store(builder, pairs):
        stored.append(1)
        given.fset(builder, pairs)

    monkeypatch.setattr(sim.ModelBuilder, "custom", property(given.fget, store))
    counts = []
    for number in (1, 5):
        stored.clear()
        ends = part("joint", "a", more="<hardwareInterface>E</hardwareInterface>"), part("actuator", "m")
        parts = [transmission("SimpleTransmission", *ends, name=f"t{i}") for i in range(number)]
        builder, _ = add(tmp_path, two_joints(*parts))
        assert builder.custom == (("a/hardware_interface", "E"),) * number
        counts.append(len(stored))
    assert counts[0] == counts[1]


@pytest.mark.parametrize(
    "text, words",
    [
        (transmission("HalfDifferentialTransmission", part("joint", "a"), part("actuator", "m")), "its type"),
        (transmission("SimpleTransmission"), "0 joints and 0 actuators"),
        (transmission("DifferentialTransmission", part("joint", "a"), part("actuator", "m")), "1 joints and 1"),
        (transmission("SimpleTransmission", part("joint", "c"), part("actuator", "m")), "not one coordinate"),
    ],
)
def test_what_is_no_transmission_of_a_known_kind_is_noted(tmp_path, text, words):
    robot_text = two_joints('<link name="l3"/>', joint("c", "l2", "l3", kind="fixed"), text)
    builder, report = add(tmp_path, robot_text)
    assert not builder.actuators
    (note,) = report.ignored
    assert words in note.reason
    refused(tmp_path, robot_text, words, strict=True)


def test_a_transmission_of_a_joint_that_is_not_there_is_refused(tmp_path):
    text = two_joints(transmission("SimpleTransmission", part("joint", "aa"), part("actuator", "m")))
    refused(tmp_path, text, "'aa'", "not in the file", "did you mean 'a'", line=7)
    for bad in ("0", "x"):
        text = two_joints(transmission("SimpleTransmission", part("joint", "a"), part("actuator", "m", bad)))
        refused(tmp_path, text, "mechanicalReduction", line=7)
