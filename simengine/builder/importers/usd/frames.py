"""Transforms of prims: affine maps into the builder's world in metres, and the rigid frames of bodies and shapes."""

from __future__ import annotations

import numpy as np

from simengine.builder.frames import Pose, quaternion_of, rotation_matrix
from simengine.builder.importers.usd.reading import Reader

Affine = tuple[np.ndarray, np.ndarray]
"""Matrix (3, 3) and vector (3,): x -> A x + t, from a prim's own coordinates to metres."""

FLAT = 1e-12  # determinant over the cube of the largest singular value, below which a prim is flattened


class Frames:
    """Poses of a stage's prims.

    ``base``: where the stage's origin is in the builder's world, with the turn from its up axis.
    """

    def __init__(self, reader: Reader, base: Pose):
        from pxr import UsdGeom

        self.reader = reader
        self.cache = UsdGeom.XformCache()
        self.turn, self.shift = rotation_matrix(base[3:]), np.array(base[:3])
        self.known: dict[str, Affine] = {}
        self.marked: set[str] = set()

    def affine(self, prim) -> Affine:
        """From the coordinates of a prim to the builder's world.

        Raises AssetError for a transform that is not finite or not affine.
        """
        path = str(prim.GetPath())
        if path not in self.known:
            matrix = np.array(self.cache.GetLocalToWorldTransform(prim), np.float64)  # rows are images: x' = x M
            if not np.isfinite(matrix).all() or np.abs(matrix[:, 3] - (0, 0, 0, 1)).max() > 1e-9:
                raise self.reader.place(prim).error("its transform is not finite, or no affine one")
            self._mark(prim)
            matrix[:, :3] *= self.reader.units.metre
            self.known[path] = (self.turn @ matrix[:3, :3].T, self.turn @ matrix[3, :3] + self.shift)
        return self.known[path]

    def _mark(self, prim) -> None:
        """Note that the transforms of a prim and of those above it have been read."""
        while prim and str(prim.GetPath()) not in self.marked:
            self.marked.add(str(prim.GetPath()))
            for name in prim.GetAuthoredPropertyNames():
                if name.startswith("xformOp:") or name == "xformOpOrder":
                    self.reader.seen.add(f"{prim.GetPath()}.{name}")
            prim = prim.GetParent()

    def world(self) -> Affine:
        """From the coordinates of the stage itself to the builder's world."""
        return self.turn * self.reader.units.metre, self.shift

    def parent(self, prim) -> Affine:
        """From the coordinates in which a prim's own transform is given to the builder's world."""
        from pxr import UsdGeom

        xformable = UsdGeom.Xformable(prim)
        if prim.GetParent().IsPseudoRoot() or (xformable and xformable.GetResetXformStack()):
            return self.world()
        return self.affine(prim.GetParent())

    def pose(self, prim) -> Pose:
        """The rigid frame of a prim: its origin, and the rotation nearest to its axes."""
        matrix, shift = self.affine(prim)
        return (*shift.tolist(), *quaternion_of(rotation_part(matrix)))


def rotation_part(matrix: np.ndarray) -> np.ndarray:
    """The rotation R of the polar form A = R S, S symmetric: S stretches where A keeps handedness, else mirrors too.

    (Higham, "Computing the polar decomposition", 1986: the nearest rotation, in the second case to -A.) A turned and
    then scaled frame comes out with its rotation, as UsdPhysics' own parser has it.
    """
    left, _, right = np.linalg.svd(matrix)
    rotation = left @ right
    return rotation if np.linalg.det(rotation) > 0.0 else -rotation


def is_flat(matrix: np.ndarray) -> bool:
    """Whether a map flattens what it maps."""
    stretch = np.linalg.svd(matrix, compute_uv=False)
    return not stretch[0] > 0.0 or float(np.prod(stretch / stretch[0])) < FLAT


def relative(owner: Pose, affine: Affine) -> Affine:
    """The map into the frame ``owner`` instead of the world."""
    turn = rotation_matrix(owner[3:])
    return turn.T @ affine[0], turn.T @ (affine[1] - np.array(owner[:3]))
