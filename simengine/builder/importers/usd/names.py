"""Names of prims: labels, and paths.

A label is the displayName where one is written, else the prim's name; where two are alike, their full paths.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable


def labels_of(prims: Iterable) -> dict[str, str]:
    """The label of each prim by its path."""
    names = {str(prim.GetPath()): _name(prim) for prim in prims}
    times = Counter(names.values())
    return {path: name if times[name] == 1 else path for path, name in names.items()}


def paths_above(path: str) -> list[str]:
    """The paths of all prims above one, the nearest first."""
    parts = path.split("/")
    return ["/".join(parts[:count]) for count in range(len(parts) - 1, 1, -1)]


def _name(prim) -> str:
    return prim.GetDisplayName().strip() or prim.GetName()
