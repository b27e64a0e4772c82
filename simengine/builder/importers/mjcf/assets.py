"""<asset>: meshes, height fields and the colours of materials."""

from __future__ import annotations

import posixpath
from pathlib import Path

import numpy as np

from simengine.builder.importers.mjcf.builtin import builtin_mesh
from simengine.builder.importers.mjcf.document import Compiler, HeightAsset, Material, MeshAsset
from simengine.builder.importers.mjcf.png import read_png_red
from simengine.builder.importers.mjcf.values import Values
from simengine.builder.importers.paths import PathRules, read_file
from simengine.builder.mechanisms import HeightField
from simengine.errors import AssetError

INERTIA_MODES = ("convex", "exact", "legacy", "shell")
HEIGHTS = 2_500_000  # of one field: its triangles are then as many as a mesh file may have
FILE_BYTES = 256 << 20


def stem(file: str) -> str:
    """The name of a file without folders and ending: the name of an asset that has none."""
    return posixpath.splitext(posixpath.basename(file))[0]


def asset_path(compiler: Compiler, file: str) -> str:
    """A file of an asset, relative to the folder of the main file."""
    if compiler.strip_path:
        file = posixpath.basename(file.replace("\\", "/"))
    return posixpath.join(compiler.folder, compiler.mesh_folder, file)


def read_mesh(values: Values) -> MeshAsset:
    """A mesh as written; its file is read when a geom needs it."""
    file = values.text("file", "")
    made = values.has("builtin") or bool(values.element.all("plugin"))
    vertices, faces = values.table("vertex", 3), values.table("face", 3)
    if (vertices is not None) + bool(file) + made != 1:
        raise values.element.error("a mesh has either a file or vertices (or is builtin): give one of them")
    made_here = builtin_mesh(values) if values.has("builtin") else None
    if made_here is not None:
        vertices, faces = made_here
    if faces is not None and made_here is None:
        if vertices is None:
            raise values.element.error("has faces without vertices: give both")
        if (faces != np.floor(faces)).any() or faces.min() < 0 or faces.max() >= len(vertices):
            raise values.alone("face").error(f"face: indices must be whole numbers from 0 to {len(vertices) - 1}")
    scale = values.numbers("scale", 3, (1.0, 1.0, 1.0))
    if 0.0 in scale:
        raise values.alone("scale").error("the scale of a mesh has a zero: it would be flat")
    name = values.name("name") or stem(file)
    if not name:
        raise values.element.error("a mesh without a file needs a name: give it")
    return MeshAsset(
        values.element,
        name,
        values.compiler,
        file,
        vertices,
        None if faces is None else faces.astype(np.int32),
        scale,
        (*values.numbers("refpos", 3, (0.0, 0.0, 0.0)), *values.quaternion("refquat")),
        values.choice("inertia", INERTIA_MODES, "exact" if values.compiler.exact_inertia else "legacy"),
    )


def read_material(values: Values) -> Material:
    """A material, of which the colour is read."""
    return Material(values.element, values.text("name"), values.numbers("rgba", 4, (1.0, 1.0, 1.0, 1.0), lowest=0.0))


def read_hfield(values: Values) -> HeightAsset:
    """A height field as written: rows from the top, as in the file, are turned to rows along y."""
    file = values.text("file", "")
    rows, columns = values.whole("nrow", 0, lowest=0), values.whole("ncol", 0, lowest=0)
    size = values.numbers("size", 4)
    if min(size) <= 0.0:
        raise values.alone("size").error("the sizes of a height field must be positive")
    heights = None
    if file:
        if rows or columns or values.has("elevation"):
            raise values.element.error("a height field has either a file or nrow, ncol and elevation")
    else:
        if min(rows, columns) < 2 or rows * columns > HEIGHTS:
            raise values.element.error(f"nrow and ncol must be at least 2, and {HEIGHTS} heights at most")
        heights = np.zeros((rows, columns))
        given = values.list("elevation")
        if given is not None:
            if len(given) != rows * columns:
                raise values.alone("elevation").error(f"has {len(given)} heights, not nrow * ncol = {rows * columns}")
            heights = np.array(given).reshape(rows, columns)[::-1]
    name = values.name("name") or stem(file)
    if not name:
        raise values.element.error("a height field without a file needs a name: give it")
    return HeightAsset(values.element, name, values.compiler, size, heights, file)


def load_hfield(asset: HeightAsset, paths: PathRules, read: dict[Path, np.ndarray]) -> HeightField:
    """The heights in metres above the lowest; they are first stretched to 0 to 1, as MuJoCo does.

    ``read``: the files read so far.

    Raises:
        AssetError: the file is absent, not allowed, or neither a PNG nor MuJoCo's own format.
    """
    heights = asset.heights
    if heights is None:
        try:
            path = paths.resolve(asset_path(asset.compiler, asset.file))
            if path not in read:
                read[path] = _heights(read_file(path, FILE_BYTES), path.name)
            heights = read[path]
        except AssetError as error:
            raise asset.element.error(str(error)) from None
        if min(heights.shape) < 2 or not np.isfinite(heights).all():
            raise asset.element.error("the heights must be finite, in at least 2 rows and columns")
    span = np.ptp(heights)
    unit = (heights - heights.min()) / (span if span > 1e-14 else 1.0)
    return HeightField(unit * asset.size[2], label=asset.name)


def _heights(data: bytes, name: str) -> np.ndarray:
    if data[:8] == b"\x89PNG\r\n\x1a\n":
        return read_png_red(data, name, HEIGHTS).astype(np.float64)[::-1]
    if len(data) < 8:
        raise AssetError("a height field file needs at least 8 bytes", file=name)
    rows, columns = (int(n) for n in np.frombuffer(data, "<i4", 2))
    if rows < 1 or columns < 1 or len(data) != 8 + 4 * rows * columns:
        raise AssetError(
            f"the header counts {rows} rows and {columns} columns, which does not fit the {len(data)} bytes", file=name
        )
    return np.frombuffer(data, "<f4", rows * columns, 8).reshape(rows, columns).astype(np.float64)
