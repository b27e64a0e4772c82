import dataclasses
from pathlib import Path

from simengine import importers_doc
from simengine.builder.importers.mjcf.mjcf import MjcfOptions
from simengine.builder.importers.urdf.urdf import UrdfOptions
from simengine.builder.importers.usd.usd import UsdOptions

PAGE = Path(__file__).resolve().parents[1] / "docs/importers.md"


def test_the_page_is_that_of_the_tables():
    assert PAGE.read_text(encoding="utf-8") == importers_doc.page(), (
        "run: python -m simengine.importers_doc docs/importers.md"
    )


def test_every_attribute_that_is_not_read_has_a_reason():
    for name in importers_doc.FORMATS:
        table = importers_doc.importlib.import_module(f"simengine.builder.importers.{name}.attributes").TABLE
        assert table.rows
        for row in table.rows.values():
            assert row.fate in ("read", "kept", "ignored")
            assert row.target or row.fate == "ignored", row
            assert row.reason or row.fate == "read", row
        assert all(table.ignored_elements.values())


def test_every_option_is_on_the_page_with_its_default():
    """Those of the classes that the importers take, whatever the parser of docstrings found of them."""
    text = PAGE.read_text(encoding="utf-8")
    for options in (UrdfOptions, MjcfOptions, UsdOptions):
        for option in dataclasses.fields(options):
            default = [] if option.default is dataclasses.MISSING else option.default
            assert f"| `{option.name}` | `{default!r}` | " in text, option.name


def test_what_a_docstring_says_of_two_names_is_said_of_each():
    text = "Something.\n\nParameters\n----------\na, b: one ``<x>``\n    | two <y>\nc: three: four\n\nRest: no."
    assert importers_doc.parameters(text) == {
        **dict.fromkeys("ab", "one `<x>` \\| two `<y>`"),
        "c": "three: four",
    }
