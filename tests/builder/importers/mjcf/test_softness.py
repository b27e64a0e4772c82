"""solref in MuJoCo's two forms, against its library: converted ones give the same acceleration."""

from __future__ import annotations

import mujoco
import pytest

from simengine.builder.importers.mjcf.softness import Softness
from simengine.builder.importers.report import ImportReport, Notes


def acceleration(solref: str, solimp: str = "0.9 0.95 0.001 0.5 2") -> float:
    """Of a sphere 0.3 mm in a plane, falling at 0.1 m/s: MuJoCo's contact with this solref."""
    m = mujoco.MjModel.from_xml_string(
        f'<mujoco><option timestep="1e-4"/><default><geom solref="{solref}" solimp="{solimp}"/></default><worldbody>'
        '<geom type="plane" size="1 1 1"/><body pos="0 0 .0997"><freejoint/><geom size=".1"/></body></worldbody>'
        "</mujoco>"
    )
    d = mujoco.MjData(m)
    d.qvel[2] = -0.1
    mujoco.mj_forward(m, d)
    return d.qacc[2]


@pytest.mark.parametrize("stiffness, damping", [(1000.0, 30.0), (1e6, 300.0), (50.0, 200.0)])
def test_a_negative_solref_is_converted_exactly(stiffness, damping):
    report = ImportReport("")
    softness = Softness(Notes(report, False, "warn"), 1e-4)
    time, ratio = softness.reference((-stiffness, -damping), PLACE, "solref")
    written = acceleration(f"{-stiffness} {-damping}")
    assert acceleration(f"{time!r} {ratio!r}") == pytest.approx(written, rel=1e-9)
    assert len(report.defaulted) + len(report.warned) == 1


class _Place:
    where = "here"


PLACE = _Place()


@pytest.mark.parametrize("given", [(-1e4, 0.0), (0.0, -30.0), (0.0, 0.0)])
def test_a_solref_without_stiffness_or_damping_becomes_the_nearest_form(given):
    report = ImportReport("")
    time, ratio = Softness(Notes(report, False, "warn"), 0.002).reference(given, PLACE, "solref")
    stiffness, damping = 1.0 / (time * ratio) ** 2, 2.0 / time
    assert stiffness == pytest.approx(-given[0], rel=1e-9, abs=1e-5)
    assert damping == pytest.approx(-given[1], rel=1e-9, abs=0.05)
    assert len(report.warned) == 1


@pytest.mark.parametrize(
    "given", ["0 1 0.001 0.5 2", "2 -1 -1 3 0", "0.9 0.95 0.001 0 3", "1 0.5 0.0001 1 1", "-1 0.00005 0.001 0.5 2"]
)
def test_an_impedance_is_put_within_mujocos_bounds(given):
    report = ImportReport("")
    numbers = tuple(map(float, given.split()))
    bounded = Softness(Notes(report, False, "warn"), 0.002).impedance(numbers, PLACE, "solimp")
    assert all(1e-4 <= bounded[i] <= 0.9999 for i in (0, 1, 3))
    assert bounded[2] >= 0.0 and bounded[4] >= 1.0
    assert len(report.repaired) == 1
    text = " ".join(map(repr, bounded))
    assert acceleration("0.02 1", text) == pytest.approx(acceleration("0.02 1", given), rel=1e-12)


def test_an_impedance_within_bounds_is_left_alone():
    report = ImportReport("")
    given = (1e-4, 0.9999, 0.0, 0.9999, 1.0)
    assert Softness(Notes(report, False, "warn"), 0.002).impedance(given, PLACE, "solimp") == given
    assert not report.repaired


def test_a_mixed_solref_is_the_default_as_in_mujoco():
    report = ImportReport("")
    assert Softness(Notes(report, False, "warn"), 0.002).reference((0.01, -1.0), PLACE, "solref") == (0.02, 1.0)
    assert acceleration("0.01 -1") == pytest.approx(acceleration("0.02 1"), rel=1e-9)
    assert len(report.warned) == 1
