"""MuJoCo's solref and solimp on colliders, joints and equalities."""

from __future__ import annotations

import pytest

from simengine.errors import AssetError
from tests.builder.importers.usd.stages import follower, load, notes, prim

DIRECT = {"mjc__solref_doubles": "[-2500, -40]"}
TIME_AND_RATIO = pytest.approx((0.05, 0.4))
"""2 / B and B / (2 sqrt(K)), see MuJoCo's documentation of solref."""


def test_the_direct_form_of_solref_is_converted(tmp_path):
    builder, report = load(tmp_path, prim("Sphere", "s", "PhysicsCollisionAPI", "MjcCollisionAPI", **DIRECT))
    found = builder.shapes[0].material
    assert (found.time_constant, found.damping_ratio) == TIME_AND_RATIO
    limits = {f"mjc__solref{what}_doubles": "[-2500, -40]" for what in ("limit", "friction")}
    tied = {"mjc__target_rel": "</lead>"} | DIRECT | limits
    builder, report = load(tmp_path, *follower("MjcEqualityJointAPI", "MjcJointAPI", **tied))
    (dof,) = builder.joints[report.joints["/j"]].dofs
    for reference in (builder.equalities[0].reference, dof.limit_reference, dof.friction_reference):
        assert reference == TIME_AND_RATIO
    assert "mjc:solreflimit" in notes(report, "defaulted")


def test_softness_of_another_length_is_refused_or_filled_up(tmp_path):
    ball = prim("Sphere", "s", "PhysicsCollisionAPI", mjc__solimp_doubles="[0.8]")
    assert load(tmp_path, ball)[0].shapes[0].material.impedance == (0.8, 0.95, 0.001, 0.5, 2.0)
    for name, value in (("solref", "[0.02]"), ("solimp", "[1, 1, 1, 1, 1, 1]")):
        with pytest.raises(AssetError, match=f"mjc:{name}"):
            load(tmp_path, prim("Sphere", "s", "PhysicsCollisionAPI", **{f"mjc__{name}_doubles": value}))


@pytest.mark.parametrize(("reference", "kept"), [("[0.02, 1]", []), ("[0.1, 1]", ["softness of an equality"])])
def test_the_softness_of_an_equality_is_told_as_not_simulated(tmp_path, reference, kept):
    tied = {"mjc__target_rel": "</lead>", "mjc__solref_doubles": reference}
    _, report = load(tmp_path, *follower("MjcEqualityJointAPI", **tied))
    assert [note.what for note in report.kept] == kept
