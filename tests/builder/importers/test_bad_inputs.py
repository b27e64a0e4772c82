"""Every row of the list of bad inputs (reference data, ``bad_inputs.md``): the stated policy is kept.

Nothing crashes, nothing is left half-built, nothing changes its meaning without a word. The cases are data, in the
modules of ``bad_inputs``.
"""

import os
import re
import tracemalloc
from pathlib import Path

import pytest

import simengine as sim
from tests.builder.importers.bad_inputs import meshes, physics, places, stages, text
from tests.builder.importers.bad_inputs.cases import FIX, READ, REJECT, WARN

CASES = [*text.CASES, *places.CASES, *meshes.CASES, *physics.CASES, *stages.CASES]
REFUSED = [case for case in CASES if case.policy == REJECT and case.kind in ("urdf", "mjcf", "usd")]
MOST = 500e6  # bytes

ELSEWHERE = {
    "YAML alias bombs": "test_no_yaml_is_read",
    "Collinear, coplanar": "test_flat_hulls_are_refused_by_name",
}
"""Rows with a test of their own, besides the cases."""


def name(case) -> str:
    return f"{case.kind}-{case.policy}-{re.sub('[^A-Za-z0-9]+', '_', case.row)[:40]}"


def told(report) -> list[str]:
    """What a report says of things that are not as they should be."""
    notes = (*report.ignored, *report.warned, *report.kept, *report.repaired, *report.defaulted)
    return [str(note) for note in notes]


@pytest.mark.parametrize("case", CASES, ids=name)
def test_the_stated_policy_is_kept(case, tmp_path):
    if any(callable(content) for content in case.files.values()) and os.name != "posix":
        pytest.skip("pipes, links and sparse files are those of POSIX")
    path = case.write(tmp_path)
    tracemalloc.start()
    try:
        if case.policy == REJECT:
            assert_refused(case, path)
        else:
            assert_read(case, path)
        assert tracemalloc.get_traced_memory()[1] < MOST
    finally:
        tracemalloc.stop()


def assert_refused(case, path: Path) -> None:
    with pytest.raises(sim.AssetError) as caught:
        case.read(path)
    message = str(caught.value)
    for word in case.words:
        assert word in message, message
    if caught.value.file is not None:
        assert Path(caught.value.file).name in {Path(name).name for name in case.files}, message
    assert path.name in message or caught.value.file is not None, message
    if case.line is not None:
        assert caught.value.line == case.line, message


def assert_read(case, path: Path) -> None:
    builder, result = case.read(path)
    if case.policy != READ:
        if builder is None:
            notes = result.repairs
        elif case.policy == FIX:
            notes = [str(note) for note in result.repaired]
        else:
            notes = told(result)
        for word in case.words:
            assert any(word in note for note in notes), notes
        assert notes
    if case.check is not None:
        assert case.check(builder, result)


@pytest.mark.parametrize("case", REFUSED[::5], ids=name)
def test_nothing_half_built_is_left_behind(case, tmp_path):
    path = case.write(tmp_path)
    builder = sim.ModelBuilder()
    builder.add_shape_sphere(-1, 1.0, label="mine")
    key = builder._elements.key()
    with pytest.raises(sim.AssetError):
        getattr(builder, f"add_{case.kind}")(path, **case.options)
    assert builder._elements.key() == key
    assert builder._given_gravity is None


def test_flat_hulls_are_refused_by_name():
    meshes.flat_hull_is_refused()


def test_no_yaml_is_read():
    """Alias bombs and unsafe tags need a reader of YAML."""
    package = Path(sim.__file__).parent
    assert not [
        file
        for file in package.rglob("*.py")
        if re.search(r"^\s*(import|from)\s+(ruamel|yaml)", file.read_text(), re.M)
    ]


def test_every_row_of_the_list_has_a_case(shared):
    listed = (shared / "reference/bad_inputs.md").read_text()
    rows = [line[2:] for line in listed.splitlines() if line.startswith("- ")]
    rows = [part for row in rows for part in re.split(r" (?=\d\d\. )", row)]
    rows = [re.sub(r"^\d\d\. ", "", row) for row in rows]
    assert len(rows) > 70
    words = [case.row for case in CASES] + list(ELSEWHERE)
    assert [row for row in rows if not any(row.startswith(word) for word in words)] == []
    unknown = {word for word in words if not any(row.startswith(word) for row in rows)}
    assert unknown == set()


@pytest.mark.parametrize("policy", [REJECT, FIX, WARN, READ])
def test_each_policy_has_cases(policy):
    assert any(case.policy == policy for case in CASES)
