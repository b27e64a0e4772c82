"""Names in files: valid, each once, and told where they are not the label."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from simengine.builder.exporters.names import Names, identifier, xml_name
from simengine.builder.exporters.report import ExportNotes
from simengine.builder.exporters.xml_text import add, document, number


@given(st.lists(st.text(), unique=True))
def test_prims_get_different_valid_names(labels):
    names = Names("prim", None, identifier)
    taken = [names.take(label) for label in labels]
    assert len(set(taken)) == len(taken)
    assert all(re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", name) for name in taken)


@given(st.text())
def test_names_and_texts_survive_xml(label):
    name = xml_name(label)
    root = ElementTree.Element("a")
    add(root, "b", name=name)
    again = ElementTree.fromstring(document(root))
    assert again[0].get("name") == name and name.strip() == name


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_survive_as_text(value):
    assert float(number(value)) == value


def test_a_changed_name_is_told_with_the_reason():
    notes = ExportNotes("f", "X", False)
    names = Names("body", notes, xml_name)
    assert [names.take(label) for label in ("a", "a", "b\0")] == ["a", "a_2", "b_"]
    assert [note.reason for note in notes.report.rewritten] == [
        "called 'a_2' in the file: its own is taken",
        "called 'b_' in the file: the format does not allow its own",
    ]


class Asked(set):
    """Names, counting how often they are asked for."""

    count = 0

    def __contains__(self, name):
        self.count += 1
        return super().__contains__(name)


def test_equal_labels_are_numbered_without_trying_all_numbers_again():
    names = Names("body", None, xml_name, taken=("a_3",))
    names.taken = Asked(names.taken)
    assert [names.take("a") for _ in range(4)] == ["a", "a_2", "a_4", "a_5"]
    for _ in range(500):
        names.take("b")
    assert names.taken.count < 2000
