"""What the report of an export shows."""

from __future__ import annotations

import pytest

from simengine.builder.exporters.report import ExportNotes
from simengine.errors import UnsupportedError


def test_the_report_groups_notes_and_counts_what_was_written():
    notes = ExportNotes("robot.xml", "MJCF", strict=False)
    notes.report.count("bodies", 3)
    notes.report.count("sites", 0)
    for label in ("a", "b"):
        notes.lose("restitution", f"shape {label!r}", "MJCF has none")
    notes.rewrite("fixed joint", "joint 'j'", "it has no name")
    assert str(notes.report).splitlines() == [
        "robot.xml (MJCF)",
        "  written: 3 bodies",
        "  lost: 2",
        "    restitution x 2: MJCF has none [shape 'a', shape 'b']",
        "  rewritten: 1",
        "    fixed joint: it has no name [joint 'j']",
    ]
    assert notes.report.summary() == "robot.xml: 3 bodies; 2 lost, 1 rewritten"
    with pytest.warns(UserWarning, match=r"robot\.xml: 2 things that MJCF cannot hold \(first: restitution"):
        notes.warn()


def test_strict_refuses_what_is_lost_and_not_what_is_rewritten():
    notes = ExportNotes("robot.xml", "MJCF", strict=True)
    notes.rewrite("fixed joint", "joint 'j'", "it has no name")
    with pytest.raises(UnsupportedError, match="cannot hold restitution: MJCF has none") as caught:
        notes.lose("restitution", "shape 'a'", "MJCF has none")
    assert caught.value.elements == ("shape 'a'",) and caught.value.property == "restitution"
