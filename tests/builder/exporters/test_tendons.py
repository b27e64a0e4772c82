"""Tendons by MuJoCo's words: what MJCF and USD say of them is what MuJoCo reads, and what comes back."""

from __future__ import annotations

import math
import warnings

import mujoco
import numpy as np
import pytest

import simengine as sim
from simengine.builder.exporters.tendons import PLAIN, is_endless, tendon_attributes, tendon_ranges
from tests.builder.exporters.compare import differences

FIELDS = {
    "stiffness": 3.0, "damping": 0.2, "friction": 0.1, "armature": 0.01, "limit_margin": 0.02,
    "limit_reference": (0.03, 0.9), "limit_impedance": (0.8, 0.9, 0.002, 0.6, 3.0),
    "friction_reference": (0.04, 0.8), "friction_impedance": (0.7, 0.8, 0.003, 0.4, 1.0), "width": 0.01,
    "spring_length": (0.1, 0.2), "limit_lower": -0.5, "limit_upper": 1.5, "force_limit": (-2.0, 3.0),
}  # fmt: skip


def rope(**fields) -> sim.ModelBuilder:
    builder = sim.ModelBuilder()
    link = builder.add_body(mass=1.0, inertia=(1.0, 1.0, 1.0), label="link")
    builder.add_joint_revolute(-1, link, label="hinge")
    ends = [builder.add_site(-1, label="top", xform=sim.transform((0, 0, 1))), builder.add_site(link, label="tip")]
    path = tuple(sim.builder.mechanisms.PathPoint("site", end) for end in ends)
    builder.add_tendon(path=path, label="rope", **fields)
    return builder


def test_a_plain_tendon_says_nothing():
    assert tendon_attributes(PLAIN) == {}
    assert all(is_endless(span) for *_, span in tendon_ranges(PLAIN))
    assert not is_endless((-math.inf, 1.0))


def test_mujoco_reads_each_value_of_a_tendon(tmp_path):
    sim.export_mjcf(rope(**FIELDS), tmp_path / "out.xml")
    mj = mujoco.MjModel.from_xml_path(str(tmp_path / "out.xml"))
    read = {
        "stiffness": mj.tendon_stiffness, "damping": mj.tendon_damping, "friction": mj.tendon_frictionloss,
        "armature": mj.tendon_armature, "limit_margin": mj.tendon_margin, "limit_reference": mj.tendon_solref_lim,
        "limit_impedance": mj.tendon_solimp_lim, "friction_reference": mj.tendon_solref_fri,
        "friction_impedance": mj.tendon_solimp_fri, "width": mj.tendon_width, "spring_length": mj.tendon_lengthspring,
        "force_limit": mj.tendon_actfrcrange,
    }  # fmt: skip
    for field, values in read.items():
        np.testing.assert_allclose(np.ravel(values)[: np.size(FIELDS[field])], FIELDS[field], rtol=1e-6, err_msg=field)
    assert mj.tendon_range[0].tolist() == [-0.5, 1.5] and mj.tendon_limited[0] == 1


def again(builder, path) -> sim.ModelBuilder:
    """Written and read."""
    result = sim.ModelBuilder()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (sim.export_mjcf if path.suffix == ".xml" else sim.export_usd)(builder, path)
        (result.add_mjcf if path.suffix == ".xml" else result.add_usd)(path)
    return result


@pytest.mark.parametrize("fields", [FIELDS, {}, {"limit_upper": 2.0}], ids=["all", "none", "one end"])
def test_a_tendon_comes_back_from_mjcf(fields, tmp_path):
    builder = rope(**fields)
    found = differences(builder, again(builder, tmp_path / "out.xml"))
    assert [one for one in found if one.kind == "tendon"] == []


def test_a_tendon_comes_back_from_usd(tmp_path):
    pytest.importorskip("pxr")
    builder = rope(**FIELDS)
    builder.tendons[0].force_limit = PLAIN.force_limit  # which add_usd does not read
    found = differences(builder, again(builder, tmp_path / "out.usda"))
    assert [one for one in found if one.kind == "tendon"] == []


@pytest.mark.parametrize("suffix", [".xml", ".usda"])
def test_a_range_of_one_end_bounds_that_end_alone(suffix, tmp_path):
    """Infinity is refused by readers, so the other end is beyond anything."""
    if suffix == ".usda":
        pytest.importorskip("pxr")
    (tendon,) = again(rope(limit_upper=2.0), tmp_path / f"out{suffix}").tendons
    assert tendon.limit_upper == 2.0 and tendon.limit_lower < -1e15
