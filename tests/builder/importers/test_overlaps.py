"""Overlaps of a robot's meshes in the cache: found once, found again where anything changed or is damaged."""

import logging

import pytest

from simengine.builder.importers import overlaps
from simengine.builder.importers.zero_pose import ZeroPose
from simengine.runtime import cache
from tests.builder.importers.test_zero_pose import THREE, add, link

CUBE = """v -1 -1 -1\nv 1 -1 -1\nv 1 1 -1\nv -1 1 -1\nv -1 -1 1\nv 1 -1 1\nv 1 1 1\nv -1 1 1
f 1 4 3 2\nf 5 6 7 8\nf 1 2 6 5\nf 2 3 7 6\nf 3 4 8 7\nf 4 1 5 8\n"""


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SIMENGINE_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def searches(monkeypatch):
    """The overlaps that were searched for."""
    found, find = [], ZeroPose.find_overlaps
    monkeypatch.setattr(ZeroPose, "find_overlaps", lambda self: found.append(find(self)) or found[-1])
    return found


def cube(half):
    """A cube of a file."""
    mesh = f'<mesh filename="cube.obj" scale="{half} {half} {half}"/>'
    return f"<collision><geometry>{mesh}</geometry></collision>"


def read(tmp_path, half, **options):
    """A robot whose first and last links, 2 m from each other, overlap where ``half`` is above 0.75."""
    (tmp_path / "cube.obj").write_text(CUBE)
    parts = link("a", shapes=cube(1.25)), link("b"), link("c", shapes=cube(half)), *THREE
    return add(tmp_path, *parts, **options)


def test_they_are_searched_for_once(tmp_path, searches):
    first, report = read(tmp_path, 1.0)
    again, kept = read(tmp_path, 1.0)
    assert len(searches) == 1
    assert first._elements.filters == again._elements.filters == {(0, 1)}
    assert [str(note) for note in report.filtered] == [str(note) for note in kept.filtered]
    assert "overlaps by 0.25 m" in kept.filtered[0].reason


def test_none_is_an_answer_too(tmp_path, searches):
    for _ in range(2):
        builder, report = read(tmp_path, 0.7)
        assert not builder._elements.filters and not report.filtered
    assert len(searches) == 1


def test_another_robot_or_other_kernels_are_searched_anew(tmp_path, searches, monkeypatch):
    read(tmp_path, 1.0)
    read(tmp_path, 1.1)
    assert len(searches) == 2
    monkeypatch.setattr(overlaps, "_kernels", lambda: "others")
    read(tmp_path, 1.1)
    assert len(searches) == 3


def test_drives_are_those_of_a_search(tmp_path, searches):
    first, again = (read(tmp_path, 1.0, drive_frequency=2.0)[0] for _ in range(2))
    stiffness, kept = ([dof.target_ke for joint in each.joints for dof in joint.dofs] for each in (first, again))
    assert len(searches) == 1 and len(stiffness) == 2 and min(stiffness) > 0 and stiffness == kept


def test_a_damaged_file_is_told_of_and_made_again(tmp_path, searches, caplog):
    read(tmp_path, 1.0)
    (kept,) = [path for path in cache.folder().iterdir() if b"overlaps" in path.read_bytes()]
    kept.write_bytes(kept.read_bytes()[:-40])
    with caplog.at_level(logging.WARNING, "simengine"):
        builder, _ = read(tmp_path, 1.0)
    assert builder._elements.filters == {(0, 1)} and len(searches) == 2
    assert "are damaged: they are found again" in caplog.text


def test_robots_of_primitives_leave_nothing_behind(tmp_path, searches):
    shape = '<collision><geometry><sphere radius="1.2"/></geometry></collision>'
    for _ in range(2):
        add(tmp_path, link("a", shapes=shape), link("b"), link("c", shapes=shape), *THREE)
    assert len(searches) == 2
    assert not [path for path in cache.folder().iterdir() if path.suffix == cache.MESH_SUFFIX]
