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
            ShapeType.SPHERE: self._sphere,
            ShapeType.BOX: self._box,
            ShapeType.CAPSULE: self._capsule,
            ShapeType.CYLINDER: self._cylinder,
            ShapeType.CONE: self._cone,
            ShapeType.ELLIPSOID: self._ellipsoid,
            ShapeType.MESH: self._mesh,
            ShapeType.CONVEX_HULL: self._mesh,
        }

    def define(self, shape: int, path) -> None:
        """The prim of one shape at ``path``: geometry, pose on its body, colour."""
        from pxr import Usd, UsdGeom, Vt

        rows = self._rows
        size = [float(x) for x in rows["shape_size"][shape]]
        scale, gprim = self._makers[int(rows["shape_type"][shape])](path, shape, size)
        set_pose(gprim, rows["shape_xform"][shape], scale)
        color = rows["shape_color"][shape]
        gprim.CreateDisplayColorAttr(Vt.Vec3fArray([tuple(map(float, color[:3]))]))
        if color[3] < 1.0:
            gprim.CreateDisplayOpacityAttr(Vt.FloatArray([float(color[3])]))
        extent = UsdGeom.Boundable.ComputeExtentFromPlugins(gprim, Usd.TimeCode.Default())
        gprim.CreateExtentAttr(extent)

    # one function for each kind: (scale or None, the prim)

    def _sphere(self, path, shape, size):
        from pxr import UsdGeom

        sphere = UsdGeom.Sphere.Define(self.stage, path)
        sphere.CreateRadiusAttr(size[0])
        return None, sphere

    def _ellipsoid(self, path, shape, size):
        return size, self._sphere(path, shape, (1.0,))[1]

    def _box(self, path, shape, size):
        from pxr import UsdGeom

        cube = UsdGeom.Cube.Define(self.stage, path)
        cube.CreateSizeAttr(2.0)
        return size, cube

    def _upright(self, kind: str, path, size):
        """A capsule, cylinder or cone: along Z as here; USD's height of a capsule leaves the caps out too."""
        from pxr import UsdGeom

        gprim = getattr(UsdGeom, kind).Define(self.stage, path)
        gprim.CreateAxisAttr(UsdGeom.Tokens.z)
        gprim.CreateRadiusAttr(size[0])
        gprim.CreateHeightAttr(2.0 * size[1])
        return None, gprim

    def _capsule(self, path, shape, size):
        return self._upright("Capsule", path, size)

    def _cylinder(self, path, shape, size):
        return self._upright("Cylinder", path, size)

    def _cone(self, path, shape, size):
        return self._upright("Cone", path, size)

    def _plane(self, path, shape, size):
        x, y = (half if half > 0.0 else ENDLESS + self._reach for half in size[:2])
        corners = np.array([(-x, -y, 0), (x, -y, 0), (x, y, 0), (-x, y, 0)], np.float32)
        return None, self._define_mesh(path, corners, np.array([4], np.int32), np.arange(4, dtype=np.int32))

    def _mesh(self, path, shape, size):
        index = int(self._rows["shape_mesh"][shape])
        if index not in self._meshes:
            points, triangles = (self._rows[f"mesh_{what}_start"][index : index + 2] for what in ("point", "triangle"))
            corners = self._rows["mesh_triangle"][slice(*triangles)].astype(np.int32).reshape(-1)
            vertices = self._rows["mesh_point"][slice(*points)].astype(np.float32)
            self._meshes[index] = (vertices, np.full(len(corners) // 3, 3, np.int32), corners)
        return size, self._define_mesh(path, *self._meshes[index])

    def _define_mesh(self, path, points, counts, corners):
        from pxr import UsdGeom, Vt

        mesh = UsdGeom.Mesh.Define(self.stage, path)
        mesh.CreatePointsAttr(Vt.Vec3fArray.FromNumpy(points))
        mesh.CreateFaceVertexCountsAttr(Vt.IntArray.FromNumpy(counts))
        mesh.CreateFaceVertexIndicesAttr(Vt.IntArray.FromNumpy(corners))
        mesh.CreateSubdivisionSchemeAttr(UsdGeom.Tokens.none)
        mesh.CreateDoubleSidedAttr(True)
        return mesh


def set_pose(xformable, pose, scale=None) -> tuple:
    """Author a pose (7,) as a translation and an orientation, and a scale where given; returns the first two ops."""
    from pxr import Gf, UsdGeom

    x, y, z, qx, qy, qz, qw = (float(value) for value in pose)
    translate = xformable.AddTranslateOp(UsdGeom.XformOp.PrecisionDouble)
    translate.Set(Gf.Vec3d(x, y, z))
    orient = xformable.AddOrientOp(UsdGeom.XformOp.PrecisionDouble)
    orient.Set(Gf.Quatd(qw, qx, qy, qz))
    if scale is not None:
        xformable.AddScaleOp().Set(Gf.Vec3f(*scale))
    return translate, orient
