"""Writes docs/importers.md, the options of each importer and what it does with each attribute.

Run as ``python -m simengine.importers_doc PATH``.
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from dataclasses import MISSING, fields
from pathlib import Path

from simengine.builder.importers.options import ImportOptions

FORMATS = ("urdf", "mjcf", "usd")

HEAD = """# What importers read

Generated from the tables and the options of the importers: `python -m simengine.importers_doc docs/importers.md`.

*read*: becomes the field of the builder that is named. *kept*: is on the builder, but is not simulated yet; the report
names it, and `unsupported="raise"` refuses it. *ignored*: passed over for the reason given; the report names it, and
`strict=True` refuses it. What is not listed is ignored as unknown. How each format is read, and where documents and
practice differ: [URDF](urdf.md), [MJCF](mjcf.md), [USD](usd.md), [meshes](meshes.md).

## Options of all formats

Given by name, to `add_urdf`, `add_mjcf` and `add_usd` alike. What one format alone has, or has another default for,
stands with it below.

"""


def page() -> str:
    """The text of the page."""
    return HEAD + options_table(ImportOptions) + "".join(_format(name) for name in FORMATS)


def options_table(cls) -> str:
    """A table of the options that a dataclass has itself: name, default, and what its docstring says of each."""
    meanings = parameters(inspect.getdoc(cls))
    lines = ["| option | default | meaning |", "|---|---|---|"]
    for option in fields(cls):
        if option.name in cls.__annotations__:
            default = option.default_factory() if option.default is MISSING else option.default
            lines.append(f"| `{option.name}` | `{default!r}` | {meanings[option.name]} |")
    return "\n".join(lines) + "\n"


def parameters(docstring: str) -> dict[str, str]:
    """What the section Parameters of a docstring says of each name; ``a, b: text`` says it of both."""
    section = docstring.partition("Parameters\n----------\n")[2].partition("\n\n")[0]
    found = {}
    for entry in re.split(r"\n(?! )", section):
        names, _, meaning = " ".join(entry.split()).partition(": ")
        meaning = re.sub(r"(?<!`)<\w+>", r"`\g<0>`", meaning.replace("``", "`").replace("|", "\\|"))
        found |= dict.fromkeys(names.split(", "), meaning)
    return found


def _format(name: str) -> str:
    table = importlib.import_module(f"simengine.builder.importers.{name}.attributes").TABLE
    options = getattr(importlib.import_module(f"simengine.builder.importers.{name}.{name}"), f"{name.title()}Options")
    lines = [f"\n## {table.format}\n", f"### Options of `add_{name}`\n", options_table(options)]
    elements = dict.fromkeys(element for element, _ in table.rows)
    for element in elements:
        lines += [
            f"### `{element}`\n",
            "| attribute | fate | becomes, or why not | unit | default |",
            "|---|---|---|---|---|",
        ]
        for (of, _), row in table.rows.items():
            if of == element:
                meaning = "; ".join(filter(None, (row.target, row.reason)))
                lines.append(f"| `{row.name}` | {row.fate} | {meaning} | {row.unit} | {row.default} |")
        lines.append("")
    if table.ignored_elements:
        lines += ["### Elements passed over\n", "| element | why |", "|---|---|"]
        lines += [f"| `{element}` | {reason} |" for element, reason in table.ignored_elements.items()]
        lines.append("")
    return "\n".join(lines)


def main(arguments: list[str]) -> None:
    """Write the page to the path given."""
    if len(arguments) != 1:
        raise SystemExit("usage: python -m simengine.importers_doc PATH")
    Path(arguments[0]).write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
