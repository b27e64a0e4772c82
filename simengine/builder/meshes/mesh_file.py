"""What the readers of mesh files return, and the caps that they keep to."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from simengine.errors import AssetError

LARGEST = 1e15  # in any unit of length; products of two such coordinates are still finite in float32
MOST_PER_VERTEX = 32  # triangles or tetrahedra; where there are few of them, more
FEW = 100_000


@dataclass(frozen=True)
class MeshLimits:
    """Caps on one mesh file; above them it is refused."""

    file_bytes: int = 256 << 20
    vertices: int = 15_000_000
    triangles: int = 5_000_000
    tetrahedra: int = 5_000_000

    def check(self, count: int, what: str, name: str, line: int | None = None) -> None:
        """Refuse a file, before anything is allocated, that has or claims more of something than its cap.

        ``what`` is the name of a cap: "vertices", "triangles", "tetrahedra".
        """
        cap = getattr(self, what)
        if not 0 <= count <= cap:
            problem = "a negative number" if count < 0 else f"more than the cap of {cap}"
            raise AssetError(f"has {count} {what}, {problem}", file=name, line=line)

    def check_on(self, vertices: int, count: int, what: str, name: str) -> None:
        """As ``check``, and refuse more than so many vertices can have: about two triangles or six tetrahedra each."""
        self.check(count, what, name)
        if count > FEW and count > MOST_PER_VERTEX * vertices:
            raise AssetError(f"has {count} {what} on {vertices} vertices: it is damaged", file=name)


@dataclass
class MeshFile:
    """A mesh as read: vertices (n, 3) float64 in the file's unit, triangles (m, 3) int32, and what was mended."""

    vertices: np.ndarray
    triangles: np.ndarray
    repairs: list[str] = field(default_factory=list)


@dataclass
class TetraFile:
    """Tetrahedra as read.

    vertices (n, 3) float64 in the file's unit; tetrahedra (m, 4) int32, of positive volume: (b-a) . ((c-a) x (d-a)) > 0
    for corners a, b, c, d; surface (k, 3) int32, the faces of one tetrahedron alone, wound outwards; repairs, what was
    mended.
    """

    vertices: np.ndarray
    tetrahedra: np.ndarray
    surface: np.ndarray
    repairs: list[str] = field(default_factory=list)
