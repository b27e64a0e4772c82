"""The table of URDF's attributes: the parser knows what it says, and real files hold little else."""

import warnings
import xml.etree.ElementTree as tree

import pytest

import simengine as sim
from simengine.builder.importers.urdf.attributes import TABLE
from tests.builder.importers.urdf.texts import add, two_links


def test_each_row_says_what_becomes_of_its_attribute():
    for row in TABLE.rows.values():
        assert row.fate in ("read", "kept", "ignored")
        assert (row.fate == "read") != bool(row.reason), row
        if row.fate == "ignored":
            assert not row.target, row
        if row.element not in ("robot", "joint"):
            assert row.fate != "read" or row.target, row


def test_counts_of_attributes_are_those_of_the_file(tmp_path):
    text = two_links('<limit lower="-1" upper="1" effort="2" velocity="3" jerk="4"/><calibration rising="1" x="2"/>')
    text = text.replace("<joint", '<joint colour="red"')
    _, report = add(tmp_path, text)
    in_file = sum(len(element.attrib) for element in tree.fromstring(text).iter())
    assert sum(report.attributes.values()) == in_file
    assert report.attributes == {"read": 18, "ignored": 3, "unknown": 1}


UNKNOWN = {
    "undefined.urdf": 10,  # made to hold what is not part of the format
}


def test_every_attribute_of_real_robots_is_read_or_justified(shared):
    for path in sorted((shared / "assets").rglob("*.urdf")):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            try:
                report = sim.ModelBuilder().add_urdf(path, filter_overlapping=False)
            except sim.AssetError:
                continue  # those that are refused stand in test_urdf_expected
        assert report.attributes.get("unknown", 0) == UNKNOWN.get(path.name, 0), path
        assert report.attributes["read"] > 0


@pytest.mark.parametrize("name", ["box", "fem", "transmission", "gazebo", "safety_controller"])
def test_elements_of_the_format_are_in_the_table(name):
    assert TABLE.names(name)
