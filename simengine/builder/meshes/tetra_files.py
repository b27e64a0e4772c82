"""Files of tetrahedra from strangers: bytes to vertices and tetrahedra, checked before anything is allocated."""

from __future__ import annotations

import numpy as np

from simengine.builder.meshes.gmsh import is_gmsh, read_gmsh_tetrahedra
from simengine.builder.meshes.mesh_file import MeshLimits, TetraFile
from simengine.builder.meshes.tet import read_tet
from simengine.builder.meshes.tetra import clean_tetrahedra
from simengine.builder.meshes.vtk import read_vtk
from simengine.errors import AssetError

_READERS = {"msh": read_gmsh_tetrahedra, "tet": read_tet, "vtk": read_vtk}
TETRA_FORMATS = tuple(_READERS)


@np.errstate(all="ignore")  # what is not finite is refused, with its place, not warned of
def load_tetrahedra(data: bytes, name: str, limits: MeshLimits | None = None) -> TetraFile:
    """Read tetrahedra from the bytes of a Gmsh .msh (2.2, 4.1), a .tet or a legacy .vtk file, text or binary.

    Tetrahedra of negative volume whose corners were only listed in the other order are turned and counted in
    ``repairs``. Coordinates are in the unit and the axes of the file.

    Args:
        data: the bytes.
        name: name of the file: its ending tells the format; it stands in messages.
        limits: caps; default MeshLimits().

    Raises:
        AssetError: unknown format, larger than a cap, sizes or indices that do not fit the data, no tetrahedra,
            numbers that are not finite, a tetrahedron without volume, tetrahedra that overlap.
    """
    limits = limits or MeshLimits()
    ending = name.rsplit(".", 1)[-1].lower() if "." in name else ""
    if ending not in _READERS:
        formats = ", ".join(TETRA_FORMATS)
        raise AssetError(f"tetrahedra are not read from '.{ending}': convert it to one of {formats}", file=name)
    if len(data) > limits.file_bytes:
        raise AssetError(f"has {len(data)} bytes, more than the cap of {limits.file_bytes}", file=name)
    data = data.removeprefix(b"\xef\xbb\xbf")
    if not data.strip():
        raise AssetError("the file is empty", file=name)
    if ending == "msh" and not is_gmsh(data):
        raise AssetError("is MuJoCo's .msh or no mesh at all: only Gmsh's holds tetrahedra", file=name)
    repairs: list[str] = []
    vertices, tetrahedra = _READERS[ending](data, name, limits, repairs)
    return clean_tetrahedra(vertices, tetrahedra, name, limits, repairs)
