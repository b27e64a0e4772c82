"""The table of what importers read: every line has the cells of the head."""

from __future__ import annotations

from pathlib import Path

from benchmarks.import_coverage import HEAD, row

PAGE = Path(__file__).parents[2] / "docs" / "import_coverage.md"
ACTUATED = """<mujoco><worldbody><body><joint name="j"/><geom size="0.1"/></body></worldbody>
<actuator><motor joint="j"/><motor joint="j"/></actuator></mujoco>"""


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def test_every_line_of_the_page_has_the_cells_of_its_head():
    head, _, *lines = (line for line in PAGE.read_text().splitlines() if line.startswith("|"))
    assert len(lines) > 100
    assert {len(cells(line)) for line in lines} == {len(cells(head))}


def test_a_line_has_the_cells_of_the_head(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # files here are read in this process
    head = cells(HEAD.splitlines()[-2])
    (tmp_path / "scene.xml").write_text(ACTUATED)
    found = dict(zip(head, cells(row(tmp_path / "scene.xml", tmp_path)), strict=True))
    assert (found["file"], found["elements kept"], found["unknown"]) == ("scene.xml", "2", "0")
    (tmp_path / "broken.xml").write_text("<mujoco>")
    found = dict(zip(head, cells(row(tmp_path / "broken.xml", tmp_path)), strict=True))
    assert found["read"] == "" and found["what is ignored or unknown"].startswith("refused: ")
