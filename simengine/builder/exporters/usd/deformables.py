"""Soft bodies, cloth and cables as TetMesh, Mesh and BasisCurves, with the schemas that tell them from shapes."""

from __future__ import annotations

import numpy as np

from simengine.builder.elements import WORLD
from simengine.builder.exporters.usd.writer import MATERIALS, STATIC, Writer
from simengine.builder.importers.usd.kept import CLOTH, CURVES, PARAMETERS
from simengine.builder.mechanisms import Deformable
from simengine.viewers.usd_shapes import define_mesh


def write_deformables(writer: Writer) -> None:
    """All deformables; what is none of the three kinds, or branches, is noted."""
    for index, deformable in enumerate(writer.scene.elements.deformables):
        what = f"deformable {deformable.label!r}"
        counts = strands(deformable) if deformable.kind == "cable" else []
        if counts is None:
            writer.notes.lose("cable", what, "its pieces are not strands of points in their order: left out")
            continue
        parent = STATIC if deformable.body == WORLD else writer.body_path(deformable.body)
        path = writer.take(parent, deformable.label, "deformable", index)
        writer.define(path, "Xform", deformable.label)  # makes the parent; its type is set below
        prim = _define(writer, path, deformable, counts)
        _bind(writer, prim, deformable, what)
        writer.notes.report.count("deformables")


def strands(deformable: Deformable) -> list[int] | None:
    """How many points each strand of a cable has, where its pieces join points in their order; else None."""
    pieces = set(deformable.elements)
    if any(last != first + 1 for first, last in pieces) or len(pieces) != len(deformable.elements):
        return None
    counts = [1]
    for point in range(1, len(deformable.vertices)):
        if (point - 1, point) in pieces:
            counts[-1] += 1
        else:
            counts.append(1)
    return counts if min(counts) > 1 else None


def _define(writer: Writer, path: str, deformable: Deformable, counts: list[int]):
    from pxr import UsdGeom, Vt

    points = np.array(deformable.vertices, np.float32)
    elements = np.array(deformable.elements, np.int32)
    if deformable.kind == "soft":
        tets = UsdGeom.TetMesh.Define(writer.stage, path)
        tets.CreatePointsAttr(Vt.Vec3fArray.FromNumpy(points))
        tets.CreateTetVertexIndicesAttr(Vt.Vec4iArray.FromNumpy(elements))
        return tets.GetPrim()
    if deformable.kind == "cloth":
        mesh = define_mesh(writer.stage, path, points, np.full(len(elements), 3, np.int32), elements.reshape(-1))
        mesh.GetPrim().AddAppliedSchema(CLOTH)
        return mesh.GetPrim()
    curves = UsdGeom.BasisCurves.Define(writer.stage, path)
    curves.CreateTypeAttr(UsdGeom.Tokens.linear)
    curves.CreatePointsAttr(Vt.Vec3fArray.FromNumpy(points))
    curves.CreateCurveVertexCountsAttr(counts)
    curves.GetPrim().AddAppliedSchema(CURVES)
    return curves.GetPrim()


def _bind(writer: Writer, prim, deformable: Deformable, what: str) -> None:
    """A material with the parameters that have a name in USD."""
    from pxr import Sdf, UsdShade

    known = {name: value for name, value in deformable.parameters if name in PARAMETERS}
    for name, value in deformable.parameters:
        if name not in known:
            writer.notes.lose("parameter of a deformable", what, f"{name}, {value}: it is none of USD's")
    if not known:
        return
    path = writer.take(MATERIALS, "material")
    material = writer.define(path, "Material", path.rpartition("/")[2])
    material.AddAppliedSchema("PhysicsDeformableMaterialAPI")
    for name, value in known.items():
        material.CreateAttribute(name, Sdf.ValueTypeNames.Float, False).Set(float(value))
    binding = UsdShade.MaterialBindingAPI.Apply(prim)
    binding.Bind(UsdShade.Material(material), UsdShade.Tokens.weakerThanDescendants, "physics")
