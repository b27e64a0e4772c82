"""Hulls and decompositions kept between runs, in the cache folder of this user, named by what they were made from.

The rules of the folder are those of compiled kernels (``runtime/cache.py``): it belongs to this user, is no link, and
others cannot write to it; else a private temporary one is used. Entries are checked files of plain arrays (``npz.py``);
one that is damaged is made anew.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version

import numpy as np

from simengine.errors import AssetError, MissingExtraError
from simengine.npz import NpzReader, write_npz
from simengine.runtime import cache

log = logging.getLogger("simengine")

KIND, VERSION = "simengine meshes", 1

Piece = tuple[np.ndarray, np.ndarray]
"""Vertices (n, 3) float64 and triangles (m, 3) int32."""


def cached_pieces(
    settings: str, package: str, tables: list[np.ndarray], make: Callable[[], list[Piece]]
) -> list[Piece]:
    """What ``make()`` returns, from the cache where it was made before.

    Args:
        settings: what is made, and all parameters.
        package: the library that makes it; its version is part of the key.
        tables: the arrays that it is made from.

    Raises:
        MissingExtraError: the package is not installed.
    """
    try:
        maker = f"{package} {version(package)}"
    except PackageNotFoundError:
        raise MissingExtraError(package, "meshes", settings) from None
    contents = [f"{table.dtype.str} {table.shape} {_digest(table)}" for table in tables]
    path = cache.folder() / f"{cache.key_of(settings, maker, *contents)}{cache.MESH_SUFFIX}"
    if path.is_file():
        try:
            return _read(path)
        except AssetError as error:
            log.warning("the cached meshes %s are damaged: they are made again (%s)", path, error)
    pieces = [
        (np.ascontiguousarray(vertices, np.float64), np.ascontiguousarray(triangles, np.int32))
        for vertices, triangles in make()
    ]
    _write(path, settings, pieces)
    return pieces


def _digest(table: np.ndarray) -> str:
    return hashlib.sha256(np.ascontiguousarray(table)).hexdigest()


def _write(path, settings: str, pieces: list[Piece]) -> None:
    sizes = [[len(vertices), len(triangles)] for vertices, triangles in pieces]
    header = {"format": KIND, "version": VERSION, "settings": settings, "sizes": sizes}
    vertices, triangles = (np.concatenate(tables) for tables in zip(*pieces, strict=True))
    try:
        write_npz(path, header, {"vertices": vertices, "triangles": triangles})
    except AssetError as error:  # a full disk: the pieces are made again another time
        log.warning("the cache does not keep %s: %s", settings, error)


def _read(path) -> list[Piece]:
    with NpzReader(path, KIND, VERSION) as reader:
        sizes = reader.header({"settings": str, "sizes": list})["sizes"]
        reader.check_names({"vertices", "triangles"})
        if not sizes or not all(_is_size(size) for size in sizes):
            raise reader.error("its header has no sizes")
        counts = np.array(sizes, np.int64)
        vertices = reader.array("vertices", (int(counts[:, 0].sum()), 3), np.dtype("<f8"))
        triangles = reader.array("triangles", (int(counts[:, 1].sum()), 3), np.dtype("<i4"))
        pieces = list(
            zip(
                *(
                    np.split(table, np.cumsum(ends)[:-1])
                    for table, ends in zip((vertices, triangles), counts.T, strict=True)
                ),
                strict=True,
            )
        )
        for points, corners in pieces:
            if not np.isfinite(points).all() or corners.min(initial=0) < 0 or corners.max(initial=-1) >= len(points):
                raise reader.error("holds indices that lead nowhere, or numbers that are not finite")
    return pieces


def _is_size(size) -> bool:
    return isinstance(size, list) and len(size) == 2 and all(type(n) is int and 0 < n < 1 << 31 for n in size)
