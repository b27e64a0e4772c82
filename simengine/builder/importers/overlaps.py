"""Which shapes of a robot overlap where its file draws it: kept between runs, since meshes make it slow to find.

The rules of the folder are those of ``builder/meshes/cache.py``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from simengine.builder.elements import Elements
from simengine.builder.mesh_data import Mesh
from simengine.enums import ShapeType
from simengine.errors import AssetError
from simengine.npz import NpzReader, write_npz
from simengine.runtime import cache
from simengine.runtime.source import kernels_folder

log = logging.getLogger("simengine")

KIND, VERSION = "simengine overlaps", 1
KEPT = (ShapeType.MESH, ShapeType.CONVEX_HULL)


class Overlaps(NamedTuple):
    """pairs (n, 2) of shapes, each with the lower number first, and depth (n,) in m; ``held`` and ``needed``: contacts
    that were looked at, and that there were."""

    pairs: np.ndarray
    depth: np.ndarray
    held: int
    needed: int


def kept_overlaps(elements: Elements, find: Callable[[], Overlaps]) -> Overlaps:
    """What ``find()`` returns of the elements; of robots of meshes from the cache, where it was found before."""
    if not any(shape.collides and shape.type in KEPT for shape in elements.shapes):
        return find()
    key = cache.key_of(KIND, _kernels(), _text(elements.key()))
    path = cache.folder() / f"{key}{cache.MESH_SUFFIX}"
    if path.is_file():
        try:
            return _read(path, len(elements.shapes))
        except AssetError as error:
            log.warning("the cached overlaps %s are damaged: they are found again (%s)", path, error)
    found = find()
    numbers = {"held": found.held, "needed": found.needed, "count": len(found.depth)}
    header = {"format": KIND, "version": VERSION, **numbers}
    try:
        write_npz(path, header, {"pairs": found.pairs, "depth": found.depth})
    except AssetError as error:  # a full disk: they are found again another time
        log.warning("the cache does not keep overlaps: %s", error)
    return found


def _kernels() -> str:
    """What tells the kernels that find contacts from others."""
    files = sorted(kernels_folder().iterdir())
    return " ".join(f"{file.name} {facts.st_size} {facts.st_mtime_ns}" for file in files for facts in (file.stat(),))


def _text(value) -> str:
    """The content of a value as text; meshes by their digests."""
    if isinstance(value, Mesh):
        return value.digest.hex()
    if isinstance(value, tuple):
        return f"({','.join(map(_text, value))})"
    return f"{{{','.join(sorted(map(_text, value)))}}}" if isinstance(value, frozenset) else repr(value)


def _read(path, shapes: int) -> Overlaps:
    with NpzReader(path, KIND, VERSION) as reader:
        header = reader.header({"held": int, "needed": int, "count": int})
        reader.check_names({"pairs", "depth"})
        count = max(header["count"], 0)
        pairs = reader.array("pairs", (count, 2), np.dtype("<i8"))
        depth = reader.array("depth", (count,), np.dtype("<f8"))
        if pairs.min(initial=0) < 0 or pairs.max(initial=-1) >= shapes or not np.isfinite(depth).all():
            raise reader.error("holds shapes that are not there, or numbers that are not finite")
    return Overlaps(pairs, depth, header["held"], header["needed"])
