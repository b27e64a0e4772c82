"""Spatial tendons of MjcPhysics that wrap about shapes, and the sites on whose side they do."""

from __future__ import annotations

import warnings

import pytest

from simengine import export_usd
from simengine.builder.builder import ModelBuilder
from simengine.builder.mechanisms import PathPoint
from simengine.errors import AssetError
from tests.builder.importers.usd.stages import body, load, notes, prim, translated

PLACES = {"start": (-1, 0, 0), "end": (1, 0, 0), "side": (0, 0, 0.5)}
WRAPPED = """<mujoco>
  <worldbody>
    <site name="start" pos="-1 0 0"/>
    <geom name="drum" type="sphere" size="0.2"/>
    <geom name="roll" type="cylinder" size="0.1 1" pos="0.5 0 0"/>
    <site name="side" pos="0 0 0.5"/>
    <site name="end" pos="1 0 0"/>
    <body pos="2 0 0"><joint type="slide"/><geom size="0.1"/><site name="tip"/></body>
  </worldbody>
  <tendon>
    <spatial name="t">
      <site site="start"/><geom geom="drum" sidesite="side"/><site site="end"/>
      <pulley divisor="2"/>
      <site site="end"/><geom geom="roll"/><site site="tip"/>
      <geom geom="drum" sidesite="start"/><site site="start"/>
    </spatial>
  </tendon>
</mujoco>"""


def wrapped(sites: str | None, indices: str | None, path="</start>, </a/drum>, </end>") -> list[str]:
    """A tendon from a site about a ball to a site."""
    marks = [prim("Xform", name, "MjcSiteAPI", **translated(*at)) for name, at in PLACES.items()]
    drum = prim("Sphere", "drum", "PhysicsCollisionAPI", radius_double=0.2)
    given = {"mjc__sideSites_rel": f"[{sites}]"} if sites else {}
    given |= {"mjc__sideSites__indices_ints": indices} if indices else {}
    tendon = prim("MjcTendon", "t", mjc__path_rel=f"[{path}]", **given)
    return [body("a", inside=drum), *marks, tendon]


def named(builder, point: PathPoint) -> tuple:
    """Kind, label of what it is, label of the side site, divisor."""
    elements = {"site": builder.sites, "shape": builder.shapes}
    label = "" if point.kind == "pulley" else elements[point.kind][point.index].label
    return point.kind, label, builder.sites[point.side].label if point.side >= 0 else "", point.divisor


@pytest.mark.parametrize(
    ("sites", "indices", "side"),
    [
        ("</side>", "[-1, 0, -1]", "side"),
        ("</end>, </side>", "[-1, 1, -1]", "side"),
        ("</side>", "[-1, -1, -1]", ""),
        (None, "[]", ""),
        (None, None, ""),
    ],
)
def test_a_tendon_wraps_on_the_side_of_its_side_site(tmp_path, sites, indices, side):
    builder, report = load(tmp_path, *wrapped(sites, indices))
    (tendon,) = builder.tendons
    assert [named(builder, point) for point in tendon.path] == [
        ("site", "start", "", 1.0),
        ("shape", "drum", side, 1.0),
        ("site", "end", "", 1.0),
    ]
    assert "sideSites" not in notes(report, "ignored")


@pytest.mark.parametrize(
    ("sites", "indices", "words"),
    [
        ("</side>", None, "0 numbers for 3 points"),
        ("</side>", "[0]", "1 numbers for 3 points"),
        ("</side>", "[-1, 1, -1]", "1 targets"),
        ("</side>", "[-1, -2, -1]", "1 targets"),
        (None, "[-1, 0, -1]", "0 targets"),
        ("</a/drum>", "[-1, 0, -1]", "which is no site"),
    ],
)
def test_side_sites_that_do_not_fit_are_refused(tmp_path, sites, indices, words):
    with pytest.raises(AssetError, match=words) as caught:
        load(tmp_path, *wrapped(sites, indices))
    assert caught.value.prim_path == "/t"


def test_a_side_of_what_is_no_shape_is_told(tmp_path):
    builder, report = load(tmp_path, *wrapped("</side>", "[0, 0, -1]"))
    assert [point.side >= 0 for point in builder.tendons[0].path] == [False, True, False]
    assert "side site (/t): /start is no shape" in notes(report, "ignored")


def test_a_tendon_of_mujoco_comes_back_from_usd_with_its_side_sites(tmp_path):
    (tmp_path / "wrapped.xml").write_text(WRAPPED)
    first, again = ModelBuilder(), ModelBuilder()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        first.add_mjcf(tmp_path / "wrapped.xml")
        export_usd(first, tmp_path / "wrapped.usda")
        again.add_usd(tmp_path / "wrapped.usda")
    wanted, found = ([named(builder, point) for point in builder.tendons[0].path] for builder in (first, again))
    assert found == wanted
    assert [side for _, _, side, _ in found if side] == ["side", "start"]
