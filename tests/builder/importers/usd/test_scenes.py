"""Gravity of several files in one builder: that of the one that says it, whichever is read first."""

from __future__ import annotations

import itertools

import pytest

from simengine.builder.builder import ModelBuilder
from tests.builder.importers.usd.stages import load, notes, prim, write_stage

LUNAR = """<mujoco><option gravity="0 0 -1.62"/></mujoco>"""
SILENT = {"no scene": [], "a scene that says nothing": [prim("PhysicsScene", "s")]}


def read(builder, folder, kind: str, prims: list[str]) -> None:
    if kind == "usd":
        builder.add_usd(write_stage(folder, *prims, up="Y"))
    else:
        (folder / "scene.xml").write_text(LUNAR)
        builder.add_mjcf(folder / "scene.xml")


@pytest.mark.parametrize("prims", SILENT.values(), ids=SILENT)
@pytest.mark.parametrize("order", list(itertools.permutations(("usd", "mjcf"))))
def test_a_stage_that_says_nothing_of_gravity_leaves_it_to_the_other_file(tmp_path, prims, order):
    builder = ModelBuilder()
    for kind in order:
        read(builder, tmp_path, kind, prims)
    assert builder.gravity == pytest.approx((0, 0, -1.62))


@pytest.mark.parametrize("prims", SILENT.values(), ids=SILENT)
def test_a_stage_that_says_nothing_of_gravity_sets_none_and_tells_whose_counts(tmp_path, prims):
    builder, report = load(tmp_path, *prims)
    assert builder._given_gravity is None
    assert "(0, 0, -9.81) m/s2" in notes(report, "defaulted")
    builder = ModelBuilder(gravity=0.0)
    report = builder.add_usd(write_stage(tmp_path, *prims))
    assert builder.gravity == (0, 0, 0)
    assert not report.warned


@pytest.mark.parametrize(
    "said",
    [
        {"physics__gravityMagnitude_float": 9.81},
        {"physics__gravityDirection_v3": "(0, 0, -1)"},
        {"newton__gravityEnabled_bool": "true"},
    ],
)
def test_a_scene_that_says_something_of_gravity_counts_before_later_files(tmp_path, said):
    builder, _ = load(tmp_path, prim("PhysicsScene", "s", **said))
    with pytest.warns(UserWarning, match="gravity"):
        read(builder, tmp_path, "mjcf", [])
    assert builder.gravity == pytest.approx((0, 0, -9.81), rel=1e-6)
