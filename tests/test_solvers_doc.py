from pathlib import Path

from simengine import solvers_doc

PAGE = Path(__file__).parent.parent / "docs" / "solvers.md"


def test_the_table_of_the_page_is_up_to_date():
    page = PAGE.read_text(encoding="utf-8")
    assert page == solvers_doc.with_table(page), "run: python -m simengine.solvers_doc docs/solvers.md"


def test_a_new_feature_comes_into_the_table_and_the_text_stays(monkeypatch, tmp_path):
    page = PAGE.read_text(encoding="utf-8")
    monkeypatch.setitem(solvers_doc.SUPPORTS, "Other", {"magic": "yes"})
    copy = tmp_path / "solvers.md"
    copy.write_text(page, encoding="utf-8")
    solvers_doc.main([str(copy)])
    changed = copy.read_text(encoding="utf-8")
    assert "| magic | no | yes |" in changed and "| particles | no | no |" in changed
    for part in (page.split(solvers_doc.FIRST)[0], page.split(solvers_doc.LAST)[1]):
        assert part in changed
