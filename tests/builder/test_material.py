"""Material: defaults, the two forms of compliance, refusals."""

import pytest

from simengine import Material, ModelError


def test_defaults_are_those_of_the_conventions():
    row = Material().row()
    assert row["shape_friction"] == row["shape_static_friction"] == 1
    assert (row["shape_torsional_friction"], row["shape_rolling_friction"]) == (0.005, 0.0001)
    assert row["shape_reference"] == (0.02, 1)
    assert row["shape_impedance"] == (0.9, 0.95, 0.001, 0.5, 2)
    assert (row["shape_stiffness"], row["shape_restitution"], row["shape_contact_dim"]) == (0, 0, 3)


def test_static_friction_follows_friction_until_it_is_given():
    assert Material(friction=0.4).row()["shape_static_friction"] == 0.4
    assert Material(friction=0.4, static_friction=0.5).row()["shape_static_friction"] == 0.5


@pytest.mark.parametrize("reference", [{"time_constant": 0.02}, {"damping_ratio": 1}, {"impedance": (0.9,)}])
def test_both_forms_of_compliance_are_refused(reference):
    with pytest.raises(ModelError, match=f"{next(iter(reference))} and stiffness belong to two forms"):
        Material(stiffness=1e4, **reference)


def test_missing_impedance_numbers_take_the_default():
    assert Material(impedance=(0.5, 0.6)).row()["shape_impedance"] == (0.5, 0.6, 0.001, 0.5, 2)


@pytest.mark.parametrize(
    "values, message",
    [
        ({"friction": -1}, "friction is -1.*zero or more"),
        ({"friction": float("nan")}, "friction is nan.*finite"),
        ({"friction": "rough"}, "friction is 'rough'.*number"),
        ({"restitution": 1.5}, "restitution is 1.5.*between 0 and 1"),
        ({"time_constant": 0}, "time_constant is 0.*positive"),
        ({"damping_ratio": 0}, "damping_ratio is 0.*positive"),
        ({"stiffness": -5}, "stiffness is -5.*positive"),
        ({"dissipation": 1}, "dissipation is given without stiffness"),
        ({"impedance": (0.9, 1.5)}, "impedance is .*between 0 and 1"),
        ({"impedance": (0.9,) * 6}, "impedance has 6 numbers"),
        ({"static_friction": 0.5}, "static_friction 0.5 is below friction 1"),
        ({"combine": "sum"}, "combine is 'sum'.*average"),
        ({"contact_dim": 2}, "contact_dim is 2.*1, 3, 4, 6"),
    ],
)
def test_values_out_of_range_are_refused_by_name(values, message):
    with pytest.raises(ModelError, match=message):
        Material(**values)
