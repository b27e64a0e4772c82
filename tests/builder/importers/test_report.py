"""The report tells all that was noted, counts it, and stays short where one note repeats."""

from simengine.builder.importers.report import ImportReport, Note


def report():
    result = ImportReport("robot.urdf", "robot")
    result.count("links", 3)
    result.count("joints")
    result.count("joints")
    result.ignored += [Note("<gazebo>", f"<gazebo> line {i}", "other programs") for i in range(9)]
    result.defaulted.append(Note("axis", "<joint 'a'> line 4", "1 0 0"))
    return result


def test_counts():
    assert report().read == {"links": 3, "joints": 2}
    assert report().counts() == {"defaulted": 1, "ignored": 9, "kept": 0, "repaired": 0, "warned": 0, "filtered": 0}


def test_print_shows_every_section_that_has_notes_and_no_other():
    text = str(report())
    for word in ("robot.urdf", "3 links", "2 joints", "ignored: 9", "defaulted: 1", "<joint 'a'> line 4", "1 0 0"):
        assert word in text
    assert "repaired" not in text


def test_equal_notes_share_a_line_that_says_how_many():
    (line,) = [line for line in str(report()).splitlines() if "gazebo" in line]
    assert "x 9" in line and "line 0" in line and "and 3 more" in line


def test_summary_is_one_line():
    assert report().summary() == "robot: 3 links, 2 joints; 1 defaulted, 9 ignored"
    assert ImportReport("x").summary() == "x: nothing"
