"""Gprims as shapes of the builder: sizes, frames, and meshes in metres; scales and shears of their transforms applied.

A scale that a primitive cannot take (USD allows any) turns it into another exact shape: a sphere becomes an ellipsoid,
what is sheared or unevenly scaled about its axis the convex hull of points on it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from simengine.builder.frames import Pose, apply, compose, quaternion_of
from simengine.builder.importers.usd.frames import Affine, is_flat, rotation_part
from simengine.builder.importers.usd.reading import Reader
from simengine.builder.mesh_data import WOUND_INWARDS, Mesh, convex_hull
from simengine.builder.meshes.clean import clean
from simengine.builder.meshes.mesh_file import MeshLimits
from simengine.builder.meshes.polygons import triangulate
from simengine.enums import ShapeType
from simengine.errors import AssetError

EVEN = 1e-6  # relative difference of scales that count as one, and shear that counts as none
HALF_TURN: Pose = (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)
AROUND, ALONG = 48, 12  # points of a hull around a round shape, and along a cap from rim to pole

TURNS = {
    "Z": np.eye(3),
    "X": np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]),
    "Y": np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]),
}
"""Rotations that lead Z to each axis, and X and Y to the two that follow it in the cycle X, Y, Z."""

SOLIDS = ("Cube", "Sphere", "Capsule", "Cylinder", "Cone", "Capsule_1", "Cylinder_1")
SHAPES = (*SOLIDS, "Plane", "Mesh")
"""Types of prims that are read as shapes."""


@dataclass
class Geometry:
    """A shape in the frame of its body: ``size`` as in ``shape_size``, ``mesh`` of MESH and CONVEX_HULL.

    ``changed``: what became of it other than its type says, for the report; empty for nothing.
    """

    type: ShapeType
    size: tuple[float, float, float]
    frame: Pose
    mesh: Mesh | None = None
    changed: str = ""


class GeometryReader:
    """Reads Gprims; meshes of equal content are one."""

    def __init__(self, reader: Reader, limits: MeshLimits):
        self.reader, self.limits = reader, limits

    def read(self, prim, affine: Affine) -> Geometry:
        """The shape of a prim under the map from its coordinates to metres in its body's frame.

        Raises:
            AssetError: sizes that are not positive, a transform that flattens it, a mesh that is none.
        """
        matrix, shift = affine
        place = self.reader.place(prim)
        if is_flat(matrix):
            raise place.error("its scale flattens it: give it a thickness")
        kind = str(prim.GetTypeName())
        if kind == "Mesh":
            return self._mesh(prim, matrix, shift)
        if kind == "Plane":
            return self._plane(prim, matrix, shift)
        turned = matrix if kind in ("Cube", "Sphere") else matrix @ TURNS[self._axis(prim)]
        rotation = rotation_part(turned)
        stretch = rotation.T @ turned
        scale = np.abs(np.diagonal(stretch))
        if kind == "Sphere":
            return self._sphere(prim, turned, shift, scale)
        frame = (*shift.tolist(), *quaternion_of(rotation))
        is_sheared = np.abs(stretch - np.diag(np.diagonal(stretch))).max() > EVEN * scale.max()
        is_uneven = kind != "Cube" and abs(scale[0] - scale[1]) > EVEN * scale.max()
        tapered = self._tapered(prim, kind)
        if is_sheared or is_uneven or tapered:
            return self._hull(prim, kind, stretch, frame, "tapered" if tapered else "scaled unevenly")
        return self._solid(prim, kind, scale, frame, bool(stretch[2, 2] < 0.0))

    def _solid(self, prim, kind: str, scale: np.ndarray, frame: Pose, mirrored: bool) -> Geometry:
        if kind == "Cube":
            half = 0.5 * self._size(prim, "size", 2.0) * scale
            return Geometry(ShapeType.BOX, tuple(half.tolist()), frame)
        radius, half = self._radius(prim, kind) * scale[0], 0.5 * self._height(prim, kind) * scale[2]
        if kind in ("Cylinder", "Cylinder_1"):
            return Geometry(ShapeType.CYLINDER, (radius, half, 0.0), frame)
        if kind == "Cone":
            if mirrored:
                frame = compose(frame, HALF_TURN)
            return Geometry(ShapeType.CONE, (radius, half, 0.0), frame)
        changed = ""
        if abs(scale[2] - scale[0]) > EVEN * scale.max():
            changed = "the scale along its axis lengthens its cylinder alone: its caps stay round"
        if half == 0.0:
            return Geometry(ShapeType.SPHERE, (radius, 0.0, 0.0), frame, changed=changed)
        return Geometry(ShapeType.CAPSULE, (radius, half, 0.0), frame, changed=changed)

    def _sphere(self, prim, matrix: np.ndarray, shift: np.ndarray, scale: np.ndarray) -> Geometry:
        """A map turns a ball of radius r into an ellipsoid of the semi-axes r s along u, with A = u s v^T."""
        radius = self._size(prim, "radius", 1.0)
        axes, stretch, _ = np.linalg.svd(matrix)
        if stretch[0] - stretch[2] <= EVEN * stretch[0]:
            frame = (*shift.tolist(), *quaternion_of(rotation_part(matrix)))
            return Geometry(ShapeType.SPHERE, (radius * float(scale.mean()), 0.0, 0.0), frame)
        rotation = rotation_part(matrix)
        stretched = rotation.T @ matrix
        if np.abs(stretched - np.diag(np.diagonal(stretched))).max() <= EVEN * stretch[0]:
            axes, stretch = rotation, scale  # unsheared: the semi-axes stay in the order of the file
        elif np.linalg.det(axes) < 0.0:
            axes = -axes
        frame = (*shift.tolist(), *quaternion_of(axes))
        size = tuple((radius * stretch).tolist())
        return Geometry(ShapeType.ELLIPSOID, size, frame, changed="scaled unevenly: an ellipsoid")

    def _hull(self, prim, kind: str, stretch: np.ndarray, frame: Pose, why: str) -> Geometry:
        """The hull of points on a solid of Z axis, under what its map does besides turning."""
        if kind == "Cube":
            half = 0.5 * self._size(prim, "size", 2.0)
            points = half * np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], float)
        else:
            bottom, top = self._radii(prim, kind)
            half = 0.5 * self._height(prim, kind)
            points = np.concatenate([_rim(bottom, -half), _rim(top, half)])
            if kind.startswith("Capsule"):
                points = np.concatenate([points, _cap(bottom, -half, -1.0), _cap(top, half, 1.0)])
        mesh = convex_hull(points @ stretch.T, str(prim.GetPath()))
        return Geometry(ShapeType.CONVEX_HULL, (1.0, 1.0, 1.0), frame, mesh, f"{why}: the convex hull of points on it")

    def _plane(self, prim, matrix: np.ndarray, shift: np.ndarray) -> Geometry:
        turned = matrix @ TURNS[self._axis(prim)]
        rotation = rotation_part(turned)
        scale = np.abs(np.diagonal(rotation.T @ turned))
        sizes = np.array([self._size(prim, "width", 2.0), self._size(prim, "length", 2.0)])
        if self._axis(prim) != "Z":  # the width lies along X, of a plane across X along Z
            sizes = sizes[::-1]
        sizes = sizes * scale[:2] / 2.0
        return Geometry(ShapeType.PLANE, (*sizes.tolist(), 0.0), (*shift.tolist(), *quaternion_of(rotation)))

    # meshes

    def _mesh(self, prim, matrix: np.ndarray, shift: np.ndarray) -> Geometry:
        points, triangles, repairs = self.surface(prim)
        rotation = rotation_part(matrix)
        if np.linalg.det(matrix) < 0.0:
            triangles = triangles[:, ::-1]
        mesh = Mesh(points @ (rotation.T @ matrix).T, triangles, str(prim.GetPath()))
        if mesh.is_wound_inwards:
            repairs.append(WOUND_INWARDS)
        frame = (*shift.tolist(), *quaternion_of(rotation))
        return Geometry(ShapeType.MESH, (1.0, 1.0, 1.0), frame, mesh.outward, "; ".join(repairs))

    def points(self, prim) -> np.ndarray:
        """Points (n, 3) of a prim in its own coordinates; AssetError for what are none."""
        value = self.reader.raw(prim, "points")
        place = self.reader.place(prim, "points")
        try:
            points = np.array(value if value is not None else [], np.float64)
        except (TypeError, ValueError):
            points = np.zeros(1)
        if points.size == 0:
            return np.zeros((0, 3))
        if points.ndim != 2 or points.shape[1] != 3:
            raise place.error("must be triples of numbers")
        if not np.isfinite(points).all():
            raise place.error("are not finite")
        if len(points) > self.limits.vertices:
            raise place.error(f"are {len(points)}, more than the cap of {self.limits.vertices}")
        return points

    def indices(self, prim, name: str, width: int = 1) -> np.ndarray:
        """Whole numbers (n,) or (n, width); AssetError for others."""
        value = self.reader.raw(prim, name)
        numbers = np.array(value if value is not None else [])
        if not numbers.size:
            return np.zeros((0, width) if width > 1 else 0, np.int64)
        if numbers.dtype.kind not in "iu" or numbers.size % width:
            raise self.reader.place(prim, name).error(f"must be whole numbers, {width} for each element")
        return numbers.astype(np.int64).reshape((-1, width) if width > 1 else -1)

    def surface(self, prim) -> tuple[np.ndarray, np.ndarray, list[str]]:
        """Points (n, 3) in the prim's own coordinates, triangles (m, 3) wound outwards, and what was mended.

        Polygons are cut into triangles, faces that are holes left out; a subdivided surface is its cage.

        Raises:
            AssetError: no faces, counts that do not fit, indices that lead nowhere.
        """
        place = self.reader.place(prim)
        points = self.points(prim)
        counts, corners = self.indices(prim, "faceVertexCounts"), self.indices(prim, "faceVertexIndices")
        if not len(counts) or not len(points):
            raise place.error("the mesh has no faces")
        if (counts < 3).any() or counts.sum() != len(corners):
            raise self.reader.place(prim, "faceVertexCounts").error(
                f"ask for {int(counts.sum())} corners, at least 3 a face; faceVertexIndices has {len(corners)}"
            )
        if corners.min() < 0 or corners.max() >= len(points):
            raise self.reader.place(prim, "faceVertexIndices").error(
                f"name points from {corners.min()} to {corners.max()}; there are {len(points)}, counted from 0"
            )
        self.limits.check(len(corners) - 2 * len(counts), "triangles", str(prim.GetPath()))
        holes = self.indices(prim, "holeIndices")
        holes = holes[(holes >= 0) & (holes < len(counts))]
        if len(holes):
            solid = np.ones(len(counts), bool)
            solid[holes] = False
            counts, corners = counts[solid], corners[np.repeat(solid, counts)]
        repairs: list[str] = []
        try:
            triangles = triangulate(points, corners, counts, str(prim.GetPath()))
            file = clean(points, triangles, str(prim.GetPath()), self.limits, repairs)
        except AssetError as error:
            raise place.error(str(error)) from None
        triangles = file.triangles
        if self.reader.word(prim, "orientation", "rightHanded") == "leftHanded":
            triangles = triangles[:, ::-1]
        self._note_subdivision(prim)
        return file.vertices, triangles, repairs

    def _note_subdivision(self, prim) -> None:
        scheme = self.reader.word(prim, "subdivisionScheme", "")
        if scheme not in ("", "none", "bilinear"):
            reason = f"its cage stands for the surface, which {scheme} would make smoother"
            self.reader.notes.note("defaulted", "subdivision", self.reader.place(prim), reason)

    # sizes

    def _axis(self, prim) -> str:
        axis = self.reader.word(prim, "axis", "Z")
        if axis not in TURNS:
            raise self.reader.place(prim, "axis").error(f"is {axis!r}; it must be X, Y or Z")
        return axis

    def _size(self, prim, name: str, default: float) -> float:
        """A size in the prim's own coordinates: its map turns it into metres."""
        value = self.reader.number(prim, name, default * self.reader.units.metre) / self.reader.units.metre
        if not value > 0.0:
            raise self.reader.place(prim, name).error(f"is {value:g}; it must be positive")
        return value

    def _height(self, prim, kind: str) -> float:
        default = 1.0 if kind.startswith("Capsule") else 2.0
        if kind.startswith("Capsule"):
            value = self.reader.number(prim, "height", default * self.reader.units.metre) / self.reader.units.metre
            if value == 0.0:
                return value
        return self._size(prim, "height", default)

    def _radius(self, prim, kind: str) -> float:
        return self._radii(prim, kind)[0]

    def _radii(self, prim, kind: str) -> tuple[float, float]:
        """Radii at the bottom and the top."""
        default = 0.5 if kind.startswith("Capsule") else 1.0
        if kind.endswith("_1"):
            return self._size(prim, "radiusBottom", default), self._size(prim, "radiusTop", default)
        radius = self._size(prim, "radius", default)
        return radius, radius if kind != "Cone" else 0.0

    def _tapered(self, prim, kind: str) -> bool:
        if not kind.endswith("_1"):
            return False
        bottom, top = self._radii(prim, kind)
        return abs(bottom - top) > EVEN * bottom


def bounding_box(geometry: Geometry) -> Geometry:
    """The box about a mesh along the axes of its frame."""
    lower, upper = geometry.mesh.vertices.min(axis=0), geometry.mesh.vertices.max(axis=0)
    half = np.maximum((upper - lower) / 2.0, 1e-6 * float((upper - lower).max()))
    return Geometry(ShapeType.BOX, tuple(half.tolist()), _shifted(geometry.frame, (lower + upper) / 2.0))


def bounding_sphere(geometry: Geometry) -> Geometry:
    """The sphere about a mesh's bounding box' middle that holds its vertices."""
    vertices = geometry.mesh.vertices
    middle = (vertices.min(axis=0) + vertices.max(axis=0)) / 2.0
    radius = float(np.linalg.norm(vertices - middle, axis=1).max())
    return Geometry(ShapeType.SPHERE, (radius, 0.0, 0.0), _shifted(geometry.frame, middle))


def _shifted(frame: Pose, point: np.ndarray) -> Pose:
    return (*apply(frame, tuple(point.tolist())), *frame[3:])


def _rim(radius: float, height: float) -> np.ndarray:
    turn = np.arange(AROUND) * (2.0 * math.pi / AROUND)
    return np.stack([radius * np.cos(turn), radius * np.sin(turn), np.full(AROUND, height)], axis=1)


def _cap(radius: float, height: float, up: float) -> np.ndarray:
    rise = np.arange(1, ALONG) * (0.5 * math.pi / ALONG)
    rings = [_rim(radius * math.cos(t), height + up * radius * math.sin(t)) for t in rise]
    return np.concatenate([*rings, [[0.0, 0.0, height + up * radius]]])
