"""Mesh files from strangers: bytes to vertices and triangles, checked before anything is allocated.

Each format has a reader of its own that is given bytes alone: no other file is opened, and no materials are read.
"""

from __future__ import annotations

import numpy as np

from simengine.builder.meshes.clean import clean, is_closed, orient, size_problem
from simengine.builder.meshes.dae import read_dae
from simengine.builder.meshes.glb import read_glb
from simengine.builder.meshes.gmsh import is_gmsh, read_gmsh_surface
from simengine.builder.meshes.hull import hull
from simengine.builder.meshes.mesh_file import LARGEST, MeshFile, MeshLimits, TetraFile
from simengine.builder.meshes.mujoco_msh import read_mujoco_msh
from simengine.builder.meshes.obj import read_obj
from simengine.builder.meshes.off import read_off
from simengine.builder.meshes.ply import read_ply
from simengine.builder.meshes.stl import read_stl
from simengine.builder.meshes.tetra_files import load_tetrahedra
from simengine.errors import AssetError, ModelError

__all__ = [
    "FORMATS",
    "LARGEST",
    "MeshFile",
    "MeshLimits",
    "TetraFile",
    "is_closed",
    "load_mesh",
    "load_tetrahedra",
    "size_problem",
]


def _read_msh(data: bytes, name: str, limits: MeshLimits, repairs: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Gmsh's files and MuJoCo's have one ending: the first begin with a text."""
    reader = read_gmsh_surface if is_gmsh(data) else read_mujoco_msh
    return reader(data, name, limits, repairs)


_READERS = {
    "stl": read_stl,
    "obj": read_obj,
    "ply": read_ply,
    "off": read_off,
    "glb": read_glb,
    "dae": read_dae,
    "msh": _read_msh,
}
FORMATS = tuple(_READERS)


@np.errstate(all="ignore")  # what is not finite is refused, with its place, not warned of
def load_mesh(
    data: bytes,
    name: str,
    limits: MeshLimits | None = None,
    orient_triangles: bool = False,
    as_mujoco: bool = False,
) -> MeshFile:
    """Read a surface from the bytes of an STL, OBJ, PLY, OFF, GLB, DAE or MSH file.

    STL, PLY and MSH may be text or binary; an MSH is MuJoCo's or Gmsh's (2.2, 4.1: its triangles, or the surface of
    its tetrahedra). All bodies of the file become one mesh, moved by its nodes where the format has them. Equal
    vertices are merged; degenerate and repeated triangles are dropped and counted in ``repairs``. Polygons are cut into
    triangles; one that no fan covers is refused. Coordinates are in the unit and the axes of the file; those of DAE,
    which states both, are in metres with Z up.

    Args:
        data: the bytes.
        name: name of the file: its ending tells the format; it stands in messages.
        limits: caps; default MeshLimits().
        orient_triangles: wind the triangles alike and outwards (``clean.orient``); else they stay as they are.
        as_mujoco: what MuJoCo's compiler makes of the file, for masses equal to its own: coordinates rounded to
            float32, the faces of the first object of an OBJ alone, vertices without a triangle (they shape the hull)
            and repeated triangles kept; the hull of the vertices where there are no triangles.

    Raises:
        ModelError: no bytes, or no name.
        AssetError: unknown format, larger than a cap, sizes or indices that do not fit the data, no triangles,
            numbers that are not finite.
        MissingExtraError: with ``as_mujoco``, a hull is needed and SciPy is not installed.
    """
    if not isinstance(data, bytes | bytearray) or not isinstance(name, str):
        reason = "takes the bytes of a file and its name, as in load_mesh(Path('a.obj').read_bytes(), 'a.obj')"
        raise ModelError(f"{reason}; got {type(data).__name__} and {type(name).__name__}", element="load_mesh")
    limits = limits or MeshLimits()
    ending = name.rsplit(".", 1)[-1].lower() if "." in name else ""
    if ending not in _READERS:
        raise AssetError(f"mesh format '.{ending}' is not read: convert it to one of {', '.join(FORMATS)}", file=name)
    if len(data) > limits.file_bytes:
        raise AssetError(f"has {len(data)} bytes, more than the cap of {limits.file_bytes}", file=name)
    data = data.removeprefix(b"\xef\xbb\xbf")
    if not data.strip():
        raise AssetError("the mesh file is empty", file=name)
    repairs: list[str] = []
    if as_mujoco and ending == "obj":
        vertices, triangles = read_obj(data, name, limits, repairs, first_object_only=True)
    else:
        vertices, triangles = _READERS[ending](data, name, limits, repairs)
    if as_mujoco:
        vertices, triangles = _as_mujoco(vertices, triangles, name, repairs)
    mesh = clean(vertices, triangles, name, limits, repairs, keep_all=as_mujoco)
    if orient_triangles:
        mesh.triangles = orient(mesh.vertices, mesh.triangles, name, repairs)
    return mesh


def _as_mujoco(vertices: np.ndarray, triangles: np.ndarray, name: str, repairs: list[str]):
    """Vertices in float32 precision, and where there are no triangles those of their hull."""
    vertices = vertices.clip(-LARGEST * 10, LARGEST * 10).astype(np.float32).astype(np.float64)  # NaN stays
    if len(triangles) or not len(vertices) or not (np.abs(vertices) <= LARGEST).all():
        return vertices, triangles
    repairs.append("no triangles: the hull of the vertices")
    try:
        return hull(vertices, name)
    except ModelError as error:
        raise AssetError(str(error), file=name) from None
