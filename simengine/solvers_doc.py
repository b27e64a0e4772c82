"""Writes the table in docs/solvers.md, of what solvers support: ``python -m simengine.solvers_doc docs/solvers.md``."""

from __future__ import annotations

import sys
from pathlib import Path

from simengine.solvers import featherstone

SUPPORTS = {"Featherstone": featherstone.SUPPORTS}
"""The support table of each solver."""

FIRST, LAST = "<!-- table: python -m simengine.solvers_doc docs/solvers.md -->", "<!-- end of table -->"


def with_table(page: str) -> str:
    """The text of the page with its table, between ``FIRST`` and ``LAST``, made anew."""
    before, rest = page.split(FIRST)
    features = dict.fromkeys(feature for table in SUPPORTS.values() for feature in table)
    lines = [
        f"| feature | {' | '.join(f'`{name}`' for name in SUPPORTS)} |",
        "|---" * (1 + len(SUPPORTS)) + "|",
        *(f"| {f} | {' | '.join(table.get(f, 'no') for table in SUPPORTS.values())} |" for f in features),
    ]
    return "\n".join([before + FIRST, "", *lines, "", LAST]) + rest.split(LAST)[1]


def main(arguments: list[str]) -> None:
    """Write the table into the page at the path given."""
    if len(arguments) != 1:
        raise SystemExit("usage: python -m simengine.solvers_doc PATH")
    page = Path(arguments[0])
    page.write_text(with_table(page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
