"""Contact stiffness of a material beside what MjcPhysics says of the contacts of its collider."""

from __future__ import annotations

import pytest

from simengine.errors import AssetError
from tests.builder.importers.usd.stages import load, notes, prim

STIFFNESSES = {
    "newton": {"newton__contactStiffness_float": 3000.0},
    "physx": {"physxMaterial__compliantContactStiffness_float": 3000.0},
}


def collider(stiffness: dict, **attributes) -> list[str]:
    """A ball with a material of that stiffness, and attributes of its own."""
    material = prim("Material", "m", "PhysicsMaterialAPI", "NewtonMaterialAPI", **stiffness)
    schemas = ("PhysicsCollisionAPI", "MaterialBindingAPI")
    return [material, prim("Sphere", "s", *schemas, material__binding__physics_rel="</m>", **attributes)]


@pytest.mark.parametrize("stiffness", STIFFNESSES.values(), ids=STIFFNESSES)
@pytest.mark.parametrize(
    ("attributes", "field", "value"),
    [({"mjc__condim_int": 4}, "contact_dim", 4), ({"mjc__priority_int": 2}, "priority", 2)],
)
def test_stiffness_stays_where_the_collider_says_nothing_of_compliance(tmp_path, stiffness, attributes, field, value):
    builder, report = load(tmp_path, *collider(stiffness, **attributes), strict=True)
    material = builder.shapes[0].material
    assert material.stiffness == 3000
    assert getattr(material, field) == value
    assert not report.ignored


def test_a_solref_goes_before_stiffness_and_that_is_told(tmp_path):
    solref = {"mjc__solref_doubles": "[0.01, 2]", "mjc__solimp_doubles": "[0.8, 0.9]"}
    builder, report = load(tmp_path, *collider(STIFFNESSES["newton"], **solref))
    material = builder.shapes[0].material
    assert (material.time_constant, material.damping_ratio, material.stiffness) == (0.01, 2, None)
    assert material.impedance == (0.8, 0.9, 0.001, 0.5, 2)
    assert "contact stiffness (/s): mjc:solref counts" in notes(report, "ignored")
    with pytest.raises(AssetError, match="contact stiffness is not read"):
        load(tmp_path, *collider(STIFFNESSES["newton"], **solref), strict=True)


def test_stiffness_goes_before_a_solimp_alone_and_that_is_told(tmp_path):
    solimp = {"mjc__solimp_doubles": "[0.8, 0.9]"}
    builder, report = load(tmp_path, *collider(STIFFNESSES["newton"], **solimp))
    assert (builder.shapes[0].material.stiffness, builder.shapes[0].material.impedance) == (3000, None)
    assert "mjc:solimp (/s)" in notes(report, "ignored")
    builder, report = load(tmp_path, *collider({}, **solimp))
    assert builder.shapes[0].material.impedance == (0.8, 0.9, 0.001, 0.5, 2)
    assert "solimp" not in notes(report, "ignored")


@pytest.mark.parametrize(("mix", "kept"), [(1.0, []), (3.0, ["attribute 'mjc:solmix'"])])
def test_a_weight_of_the_softness_is_told_as_not_simulated(tmp_path, mix, kept):
    ball = prim("Sphere", "ball", "PhysicsCollisionAPI", mjc__solmix_double=mix)
    builder, report = load(tmp_path, ball)
    assert builder.shapes[0].mix == mix
    assert [note.what for note in report.kept] == kept
