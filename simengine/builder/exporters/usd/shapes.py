"""Shapes as Gprims of their body."""

from __future__ import annotations

import numpy as np

from simengine.builder.elements import WORLD, Shape
from simengine.builder.exporters.usd.materials import Materials
from simengine.builder.exporters.usd.writer import STATIC, Writer, author, name_prim
from simengine.builder.pairs import structural_filter
from simengine.enums import ShapeType
from simengine.viewers.usd_shapes import SOLIDS, define_mesh, define_solid, set_color, set_pose

ENDLESS = 1000.0
"""m: edges at which a plane without end is drawn; as a collider USD's plane has no end in any case."""


class Shapes:
    """Writes the shapes of a scene."""

    def __init__(self, writer: Writer):
        self.writer = writer
        self.materials = Materials(writer)

    def add(self, index: int) -> None:
        """Write one shape."""
        from pxr import UsdGeom, UsdPhysics

        writer = self.writer
        shape = writer.scene.elements.shapes[index]
        parent = STATIC if shape.body == WORLD else writer.body_path(shape.body)
        own = shape.label.rpartition("/")[2] or shape.label
        path = writer.take(parent, own, "shape", index)
        if shape.body == WORLD:
            writer.define(path, "Xform", shape.label)  # makes the parent; the type is set below
        scale, gprim = self._geometry(path, shape)
        prim = gprim.GetPrim()
        name_prim(prim, shape.label)
        set_pose(gprim, shape.xform, scale)
        set_color(gprim, shape.color)
        if not shape.visible:
            gprim.CreateVisibilityAttr(UsdGeom.Tokens.invisible)
        if not shape.collides and not shape.visible:
            # readers leave out what neither shows nor collides, but not a collider that is off
            UsdPhysics.CollisionAPI.Apply(prim).CreateCollisionEnabledAttr(False)
        if shape.collides:
            UsdPhysics.CollisionAPI.Apply(prim)
            self.materials.bind(prim, shape)
            author(
                prim,
                "NewtonCollisionAPI",
                newton__contactMargin=shape.margin or None,
                newton__contactGap=shape.gap or None,
            )
        writer.notes.report.count("colliders" if shape.collides else "visuals")

    def _geometry(self, path: str, shape: Shape) -> tuple:
        """(scale or None, the prim)."""
        from pxr import UsdGeom

        if shape.type in SOLIDS:
            return define_solid(self.writer.stage, path, shape.type, shape.size)
        if shape.type == ShapeType.PLANE:
            if any(shape.size) and shape.collides:
                reason = "USD's colliding planes have no end: its size is only drawn"
                self.writer.notes.rewrite("size of a plane", f"shape {shape.label!r}", reason)
            plane = UsdGeom.Plane.Define(self.writer.stage, path)
            plane.CreateAxisAttr(UsdGeom.Tokens.z)
            plane.CreateWidthAttr(2.0 * shape.size[0] or ENDLESS)
            plane.CreateLengthAttr(2.0 * shape.size[1] or ENDLESS)
            return None, plane
        return self._mesh(path, shape)

    def _mesh(self, path: str, shape: Shape) -> tuple:
        from pxr import UsdPhysics

        what, notes = f"shape {shape.label!r}", self.writer.notes
        corners = shape.mesh.triangles.reshape(-1)
        points = shape.mesh.vertices.astype(np.float32)
        counts = np.full(len(shape.mesh.triangles), 3, np.int32)
        mesh = define_mesh(self.writer.stage, path, points, counts, np.ascontiguousarray(corners, np.int32))
        if shape.type == ShapeType.HEIGHTFIELD:
            notes.lose("height field", what, "USD has none: written as the mesh of its surface")
        elif shape.type == ShapeType.SDF:
            notes.lose("distance field", what, "USD has none: written as the mesh of its surface")
        elif shape.type == ShapeType.CONVEX_HULL and not shape.collides:
            notes.rewrite("convex hull", what, "it only shows, so it is written as its mesh")
        if shape.collides:
            hull = shape.type == ShapeType.CONVEX_HULL
            api = UsdPhysics.MeshCollisionAPI.Apply(mesh.GetPrim())
            api.CreateApproximationAttr(UsdPhysics.Tokens.convexHull if hull else UsdPhysics.Tokens.none)
        return (None if shape.type == ShapeType.HEIGHTFIELD else shape.size), mesh


def write_filters(writer: Writer) -> None:
    """Pairs that do not touch, by body where all of two bodies' shapes do not.

    What USD rules out itself (shapes of one body, of a body and its parent) needs no filter.
    """
    from pxr import UsdPhysics

    elements = writer.scene.elements
    shapes = elements.shapes
    if not shapes:
        return
    structural = structural_filter(elements.bodies, elements.joints, shapes)
    collides = np.array([shape.collides for shape in shapes])
    may = np.triu(~structural & collides[:, None] & collides[None, :], 1)
    apart = may & ~writer.scene.allowed_pairs()
    between: dict[tuple[int, int], list[int]] = {}  # of two bodies: pairs that could touch, pairs that do not
    for pairs, column in ((may, 0), (apart, 1)):
        for i, k in np.argwhere(pairs):
            ends = tuple(sorted((shapes[i].body, shapes[k].body)))
            between.setdefault(ends, [0, 0])[column] += 1
    whole = {ends for ends, (could, do_not) in between.items() if could == do_not and WORLD not in ends}
    targets: dict[str, list[str]] = {}
    for one, other in sorted(whole):
        targets.setdefault(writer.paths["body", one], []).append(writer.paths["body", other])
    for i, k in np.argwhere(apart):
        if tuple(sorted((shapes[i].body, shapes[k].body))) not in whole:
            targets.setdefault(writer.paths["shape", int(i)], []).append(writer.paths["shape", int(k)])
    for path, others in targets.items():
        api = UsdPhysics.FilteredPairsAPI.Apply(writer.stage.GetPrimAtPath(path))
        api.CreateFilteredPairsRel().SetTargets(others)
    writer.notes.report.count("filtered pairs", sum(map(len, targets.values())))
    masked = [s.label for s in shapes if (s.contype, s.conaffinity, s.group) != (1, 1, -1) and s.collides]
    for label in masked:
        writer.notes.rewrite("masks and groups", f"shape {label!r}", "written as filtered pairs")
