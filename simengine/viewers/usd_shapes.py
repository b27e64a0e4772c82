"""Shapes of a model as USD prims."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from simengine.containers import to_numpy
from simengine.enums import ShapeType

ENDLESS = 50.0
"""m: half size at which a plane without end is drawn around the middle of the worlds."""

SHAPE_ROWS = ("shape_type", "shape_body", "shape_flags", "shape_xform", "shape_size", "shape_mesh", "shape_color")
MESH_ROWS = ("mesh_point_start", "mesh_triangle_start", "mesh_point", "mesh_triangle")


class ShapePrims:
    """Defines the prims of a model's shapes on a stage. ``reach``: m, how far worlds are from the stage's origin."""

    def __init__(self, model, stage, reach: float):
        self.stage = stage
        self.label = model.shape_label
        self._reach = reach
        self._rows = {name: to_numpy(getattr(model, name)) for name in (*SHAPE_ROWS, *MESH_ROWS)}
        self._meshes: dict[int, tuple] = {}
        self._makers: dict[int, Callable] = {
            ShapeType.PLANE: self._plane,
            **{kind: self._solid for kind in SOLIDS},
            ShapeType.MESH: self._mesh,
            ShapeType.HEIGHTFIELD: self._field,
            ShapeType.CONVEX_HULL: self._mesh,
            ShapeType.SDF: self._mesh,
        }

    def define(self, shape: int, path) -> None:
        """The prim of one shape at ``path``: geometry, pose on its body, colour."""
        rows = self._rows
        size = [float(x) for x in rows["shape_size"][shape]]
        scale, gprim = self._makers[int(rows["shape_type"][shape])](path, shape, size)
        set_pose(gprim, rows["shape_xform"][shape], scale)
        set_color(gprim, rows["shape_color"][shape])

    def _solid(self, path, shape, size):
        return define_solid(self.stage, path, ShapeType(int(self._rows["shape_type"][shape])), size)

    def _plane(self, path, shape, size):
        x, y = (half if half > 0.0 else ENDLESS + self._reach for half in size[:2])
        corners = np.array([(-x, -y, 0), (x, -y, 0), (x, y, 0), (-x, y, 0)], np.float32)
        return None, define_mesh(self.stage, path, corners, np.array([4], np.int32), np.arange(4, dtype=np.int32))

    def _mesh(self, path, shape, size):
        index = int(self._rows["shape_mesh"][shape])
        if index not in self._meshes:
            points, triangles = (self._rows[f"mesh_{what}_start"][index : index + 2] for what in ("point", "triangle"))
            corners = self._rows["mesh_triangle"][slice(*triangles)].astype(np.int32).reshape(-1)
            vertices = self._rows["mesh_point"][slice(*points)].astype(np.float32)
            self._meshes[index] = (vertices, np.full(len(corners) // 3, 3, np.int32), corners)
        return size, define_mesh(self.stage, path, *self._meshes[index])

    def _field(self, path, shape, size):
        return None, self._mesh(path, shape, size)[1]  # its mesh has its size


SOLIDS = {
    ShapeType.SPHERE: "Sphere",
    ShapeType.ELLIPSOID: "Sphere",
    ShapeType.BOX: "Cube",
    ShapeType.CAPSULE: "Capsule",
    ShapeType.CYLINDER: "Cylinder",
    ShapeType.CONE: "Cone",
}
"""Prims of the shapes that USD has itself."""


def define_solid(stage, path, kind: ShapeType, size) -> tuple:
    """The prim of a shape of SOLIDS, and the scale (3,) that it needs or None; ``size`` as in ``shape_size``.

    Capsules, cylinders and cones are along Z as here; USD's height of a capsule leaves the caps out too.
    """
    from pxr import UsdGeom

    gprim = getattr(UsdGeom, SOLIDS[kind]).Define(stage, path)
    if kind == ShapeType.BOX:
        gprim.CreateSizeAttr(2.0)
        return size, gprim
    if kind in (ShapeType.SPHERE, ShapeType.ELLIPSOID):
        gprim.CreateRadiusAttr(size[0] if kind == ShapeType.SPHERE else 1.0)
        return (size if kind == ShapeType.ELLIPSOID else None), gprim
    gprim.CreateAxisAttr(UsdGeom.Tokens.z)
    gprim.CreateRadiusAttr(size[0])
    gprim.CreateHeightAttr(2.0 * size[1])
    return None, gprim


def define_mesh(stage, path, points: np.ndarray, counts: np.ndarray, corners: np.ndarray):
    """A polygon mesh without subdivision: points (n, 3) float32, corners of each face and their indices (int32)."""
    from pxr import UsdGeom, Vt

    mesh = UsdGeom.Mesh.Define(stage, path)
    mesh.CreatePointsAttr(Vt.Vec3fArray.FromNumpy(points))
    mesh.CreateFaceVertexCountsAttr(Vt.IntArray.FromNumpy(counts))
    mesh.CreateFaceVertexIndicesAttr(Vt.IntArray.FromNumpy(corners))
    mesh.CreateSubdivisionSchemeAttr(UsdGeom.Tokens.none)
    mesh.CreateDoubleSidedAttr(True)
    return mesh


def set_color(gprim, color) -> None:
    """Author a colour (4,) and, where it is not opaque, the opacity; then the extent of the prim."""
    from pxr import Usd, UsdGeom, Vt

    gprim.CreateDisplayColorAttr(Vt.Vec3fArray([tuple(map(float, color[:3]))]))
    if color[3] < 1.0:
        gprim.CreateDisplayOpacityAttr(Vt.FloatArray([float(color[3])]))
    gprim.CreateExtentAttr(UsdGeom.Boundable.ComputeExtentFromPlugins(gprim, Usd.TimeCode.Default()))


def set_pose(xformable, pose, scale=None) -> tuple:
    """Author a pose (7,) as a translation and an orientation, and a scale where given; returns the first two ops."""
    from pxr import Gf, UsdGeom

    x, y, z, qx, qy, qz, qw = (float(value) for value in pose)
    translate = xformable.AddTranslateOp(UsdGeom.XformOp.PrecisionDouble)
    translate.Set(Gf.Vec3d(x, y, z))
    orient = xformable.AddOrientOp(UsdGeom.XformOp.PrecisionDouble)
    orient.Set(Gf.Quatd(qw, qx, qy, qz))
    if scale is not None:
        xformable.AddScaleOp(UsdGeom.XformOp.PrecisionDouble).Set(Gf.Vec3d(*(float(factor) for factor in scale)))
    return translate, orient
