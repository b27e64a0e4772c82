"""The table of attributes against the schema that MuJoCo's library prints."""

from __future__ import annotations

import re

import mujoco
import numpy as np
import pytest

from simengine.builder.importers.mjcf.attributes import SHORTCUTS, TABLE
from simengine.builder.importers.mjcf.sensors import SENSORS
from tests.builder.importers.mjcf.mujoco_facts import read

KINDS = {
    ("tuple", "element"): "tuple element",
    ("equality", "joint"): "equality joint",
    ("equality", "tendon"): "equality tendon",
    ("fixed", "joint"): "tendon joint",
    ("spatial", "site"): "tendon site",
    ("spatial", "geom"): "tendon geom",
}
"""The table's word for an element, by the one that it stands in."""


def schema() -> list[tuple[tuple[str, ...], list[str]]]:
    """Each element with those it stands in, and its attributes."""
    found: list[tuple[tuple[str, ...], list[str]]] = []
    for line in mujoco.mj_printSchema(False, False).splitlines():
        start = re.match(r"( *)(\(world\))?(\w+) \(.\) *(.*)", line)
        if start:
            depth = len(start[1]) // 3
            above = (found and next((path for path, _ in reversed(found) if len(path) == depth), ())) or ()
            found.append(((*above, start[3]), start[4].split()))
        elif line.strip():
            found[-1][1].extend(line.split())
    return found


def kind_of(path: tuple[str, ...]) -> str:
    tag, above = path[-1], path[-2] if len(path) > 1 else ""
    if above == "sensor":
        return "sensor"
    return KINDS.get((above, tag), tag)


def is_passed_over(path: tuple[str, ...]) -> bool:
    return any(tag in TABLE.ignored_elements and tag != "skin" for tag in path) or "skin" in path


def test_every_attribute_of_mjcf_is_in_the_table():
    assert len(schema()) > 150
    missing = []
    for path, names in schema():
        if is_passed_over(path):
            continue
        kind = kind_of(path)
        missing += [f"{'/'.join(path)} {name}" for name in names if (kind, name) not in TABLE.rows]
    assert not missing


def test_every_element_of_mjcf_is_read_or_passed_over_for_a_reason():
    kinds = {element for element, _ in TABLE.rows}
    containers = {"asset", "contact", "equality", "tendon", "actuator", "sensor", "keyframe", "custom", "worldbody"}
    unknown = [
        path
        for path, _ in schema()
        if not is_passed_over(path) and kind_of(path) not in kinds | containers | {"mujoco"}
    ]
    assert not unknown


def test_the_kinds_of_actuators_and_sensors_are_those_of_mjcf():
    tags: dict[str, set[str]] = {"actuator": set(), "sensor": set()}
    for path, _ in schema():
        if len(path) == 3 and path[1] in tags:
            tags[path[1]].add(path[2])
    assert tags["actuator"] - {"plugin"} == set(SHORTCUTS)
    assert tags["sensor"] <= set(SENSORS)


def test_what_is_not_read_has_a_reason():
    assert not [row for row in TABLE.rows.values() if row.fate != "read" and not row.reason]


BALL = """<mujoco><option {option}/><worldbody><geom size=".1" solref=".02 1" {floor}/><body pos="0 0 .1" {body}>
<freejoint/><geom size=".1" solref=".1 1"/></body><body name="held"><geom size=".1"/></body></worldbody>
<equality><weld body1="held" {equality}/></equality></mujoco>"""
EMPTY = {"option": "", "floor": "", "body": "", "equality": ""}


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("floor", 'solmix="3"'),
        ("body", 'gravcomp="1"'),
        ("option", 'density="1.2"'),
        ("option", 'wind="0 1 0"'),
        ("option", 'noslip_iterations="3"'),
        ("equality", 'solref=".1 1"'),
        ("equality", 'solimp=".9 .95 .01"'),
        ("equality", 'torquescale="2"'),
        ("equality", 'active="false"'),
    ],
)
def test_what_asks_for_what_is_not_simulated_is_told_and_what_asks_for_nothing_is_not(place, text, tmp_path):
    name = text.partition("=")[0]
    (tmp_path / "scene.xml").write_text(BALL.format(**EMPTY | {place: text}))
    assert [note.what for note in read(tmp_path / "scene.xml")[1].kept] == [f"attribute '{name}'"]
    row = next(row for (_, own), row in TABLE.rows.items() if own == name and row.fate == "kept")
    (tmp_path / "scene.xml").write_text(BALL.format(**EMPTY | {place: f'{name}=" {row.default}"'}))
    assert not read(tmp_path / "scene.xml")[1].kept


def test_in_mujoco_solmix_shifts_the_softness_of_a_pair():
    """Which is why it is told: here both shapes count alike."""
    found = []
    for floor in ('solmix="1"', 'solmix="3"'):
        m = mujoco.MjModel.from_xml_string(BALL.format(**EMPTY | {"floor": floor}))
        d = mujoco.MjData(m)
        mujoco.mj_forward(m, d)
        found.append(d.contact[0].solref[0])
    np.testing.assert_allclose(found, [0.06, 0.04])
