"""Writes docs/arrays.md from the table of arrays: ``python -m simengine.arrays_doc docs/arrays.md``."""

from __future__ import annotations

import sys
from pathlib import Path

from simengine import schema

TITLES = {
    "model": "Model",
    "state": "State",
    "control": "Control",
    "contacts": "Contacts",
    "topology": "Topology of a batch group",
}


def arrays_page() -> str:
    """The text of docs/arrays.md."""
    lines = [
        "# Arrays",
        "",
        "Generated from `simengine/schema.py` by `python -m simengine.arrays_doc docs/arrays.md`; edit the table.",
        "",
        "`real` is float32 or float64, as chosen in `finalize(precision=...)`. A size such as `joints+1` is that of an",
        "array of offsets: what belongs to joint i lies from entry i up to entry i + 1. Worlds follow one another.",
        "Rows with a yes under gradient are differentiable.",
        "",
        "## Counts",
        "",
        "| name | counts |",
        "|---|---|",
        *(f"| `{name}` | {meaning} |" for name, meaning in schema.COUNTS.items()),
    ]
    for owner, title in TITLES.items():
        lines += ["", f"## {title}", "", "| name | shape | type | unit | frame | gradient | meaning |"]
        lines.append("|---|---|---|---|---|---|---|")
        lines += [_line(row) for row in schema.rows(owner)]
    return "\n".join([*lines, ""])


def _line(row: schema.Array) -> str:
    shape = ", ".join(str(size) for size in row.shape)
    meaning = row.meaning + (f" (memory of `solvers.{row.solver}`)" if row.solver else "")
    gradient = "yes" if row.differentiable else ""
    return f"| `{row.name}` | ({shape}) | {row.dtype} | {row.unit} | {row.frame} | {gradient} | {meaning} |"


def main(arguments: list[str]) -> None:
    """Write the page to the path given."""
    if len(arguments) != 1:
        raise SystemExit("usage: python -m simengine.arrays_doc PATH")
    Path(arguments[0]).write_text(arrays_page(), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
