"""Tetrahedra as read made into a mesh: checked, turned to positive volume, with the surface that they enclose."""

from __future__ import annotations

import numpy as np

from simengine.builder.meshes.mesh_file import LARGEST, MeshLimits, TetraFile
from simengine.errors import AssetError
from simengine.rows import number_rows

FLAT = 1e-12  # six volumes of a tetrahedron over the cube of its longest edge, below which it is flat
_FACES = np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]])  # looking outwards where the volume is positive


def clean_tetrahedra(
    vertices: np.ndarray, tetrahedra: np.ndarray, name: str, limits: MeshLimits, repairs: list[str]
) -> TetraFile:
    """Check and mend what a reader found: vertices (n, 3), tetrahedra (m, 4) whole numbers.

    Vertices that no tetrahedron uses are left out. A tetrahedron of negative volume is turned where its corners were
    just listed in the other order: then it meets each neighbour from the other side of their face.

    Raises:
        AssetError: no tetrahedra, indices that lead nowhere, coordinates not finite, a volume of zero, tetrahedra that
            overlap (inverted or repeated ones), a face of more than two.
    """
    if len(tetrahedra) == 0:
        raise AssetError("has no tetrahedra", file=name)
    limits.check_on(len(vertices), len(tetrahedra), "tetrahedra", name)
    bad = np.flatnonzero(((tetrahedra < 0) | (tetrahedra >= len(vertices))).any(axis=1))
    if len(bad):
        names = f"tetrahedron {bad[0]} names vertices {tetrahedra[bad[0]]}"
        raise AssetError(f"{names}; there are {len(vertices)}, counted from 0", file=name)
    tetrahedra = tetrahedra.astype(np.int32)
    used = np.zeros(len(vertices), bool)
    used[tetrahedra.reshape(-1)] = True
    bad = np.flatnonzero(used & ~(np.abs(vertices) <= LARGEST).all(axis=1))
    if len(bad):
        where = f"vertex {bad[0]} is at {vertices[bad[0]]}"
        raise AssetError(f"{where}: coordinates must be finite and within {LARGEST:g}", file=name)
    if not used.all():
        repairs.append(f"{int((~used).sum())} vertices that no tetrahedron uses left out")
        tetrahedra = (np.cumsum(used, dtype=np.int32) - 1)[tetrahedra]
        vertices = vertices[used]
    tetrahedra = _turned(vertices, tetrahedra, name, repairs)
    surface = boundary(tetrahedra, name)
    return TetraFile(np.ascontiguousarray(vertices), tetrahedra, surface, repairs)


def _turned(vertices: np.ndarray, tetrahedra: np.ndarray, name: str, repairs: list[str]) -> np.ndarray:
    """The tetrahedra with positive volumes: of negative ones the last two corners change places."""
    a, b, c, d = (vertices.take(corner, axis=0) for corner in tetrahedra.T)
    volumes = np.einsum("ni,ni->n", b - a, np.cross(c - a, d - a))
    edges = ((a, b), (a, c), (a, d), (b, c), (b, d), (c, d))
    longest = np.sqrt(np.max([((q - p) ** 2).sum(axis=1) for p, q in edges], axis=0))
    flat = np.flatnonzero(np.abs(volumes) <= FLAT * longest**3)
    if len(flat):
        raise AssetError(f"{len(flat)} tetrahedra have no volume, the first is number {flat[0]}", file=name)
    is_negative = volumes < 0
    if is_negative.any():
        repairs.append(f"{int(is_negative.sum())} tetrahedra with corners in the other order turned")
        tetrahedra = tetrahedra.copy()
        tetrahedra[is_negative] = tetrahedra[is_negative][:, [0, 1, 3, 2]]
    return tetrahedra


def boundary(tetrahedra: np.ndarray, name: str) -> np.ndarray:
    """The faces (k, 3) that belong to one tetrahedron alone, outwards, for tetrahedra (m, 4) of positive volume.

    Raises:
        AssetError: two tetrahedra lie on one side of their face, or a face belongs to more than two.
    """
    faces = tetrahedra[:, _FACES].reshape(-1, 3)
    _, label = number_rows(np.sort(faces, axis=1))
    count = np.bincount(label)
    if count.max() > 2:
        owner = int(np.argmax(count[label] > 2)) // 4
        raise AssetError(f"a face of tetrahedron {owner} belongs to more than two tetrahedra", file=name)
    order = np.argsort(label, kind="stable")
    first = (np.cumsum(count) - count)[count == 2]
    one, two = order[first], order[first + 1]
    same = np.flatnonzero(_is_even(faces[one]) == _is_even(faces[two]))
    if len(same):
        pair = f"tetrahedra {one[same[0]] // 4} and {two[same[0]] // 4}"
        raise AssetError(
            f"{len(same)} pairs of tetrahedra lie on one side of the face that they share, the first are {pair}: some "
            "are inverted or repeated",
            file=name,
        )
    return faces[count[label] == 1]


def _is_even(faces: np.ndarray) -> np.ndarray:
    """Whether the corners of each face are an even permutation of the ascending ones."""
    a, b, c = faces.T
    return (a < b).astype(int) + (b < c) + (c < a) == 2
