"""What all parts of a USD export share: the stage, and where in it the elements of the scene stand."""

from __future__ import annotations

from collections.abc import Iterable

from simengine.builder.elements import WORLD
from simengine.builder.exporters.names import Names, identifier
from simengine.builder.exporters.report import ExportNotes
from simengine.builder.exporters.scene import Scene

ROOT = "/World"
JOINTS, MATERIALS, STATIC, MECHANISMS = (f"{ROOT}/{name}" for name in ("Joints", "Materials", "Static", "Mechanisms"))


class Writer:
    """A stage in metres and kilograms. ``paths``: of the prims of elements, by kind ("body", ...) and index."""

    def __init__(self, scene: Scene, notes: ExportNotes, up_axis: str):
        from pxr import Usd, UsdGeom, UsdPhysics

        self.scene, self.notes = scene, notes
        self.stage = Usd.Stage.CreateInMemory()
        UsdGeom.SetStageUpAxis(self.stage, up_axis)
        UsdGeom.SetStageMetersPerUnit(self.stage, 1.0)
        UsdPhysics.SetStageKilogramsPerUnit(self.stage, 1.0)
        self.root = UsdGeom.Xform.Define(self.stage, ROOT).GetPrim()
        self.stage.SetDefaultPrim(self.root)
        self.paths: dict[tuple[str, int], str] = {}
        taken = ("Joints", "Materials", "Static", "Mechanisms", "PhysicsScene")
        self._names: dict[str, Names] = {ROOT: Names("prim", None, identifier, taken)}

    def take(self, parent: str, label: str, kind: str = "", index: int | None = None) -> str:
        """A new path below ``parent`` for what has this label; that of element ``index`` where it is one."""
        names = self._names.setdefault(parent, Names("prim", None, identifier))
        path = f"{parent}/{names.take(label)}"
        if index is not None:
            self.paths[kind, index] = path
        return path

    def define(self, path: str, kind: str, label: str):
        """A prim of type ``kind``; its display name is the label where its name is not."""
        for scope in (JOINTS, MATERIALS, MECHANISMS):
            if path.startswith(f"{scope}/") and not self.stage.GetPrimAtPath(scope):
                self.stage.DefinePrim(scope, "Scope")
        if path.startswith(f"{STATIC}/") and not self.stage.GetPrimAtPath(STATIC):
            self.stage.DefinePrim(STATIC, "Xform")
        prim = self.stage.DefinePrim(path, kind)
        name_prim(prim, label)
        return prim

    def body_path(self, body: int) -> str:
        """The prim of a body; "" for the world."""
        return "" if body == WORLD else self.paths["body", body]


def name_prim(prim, label: str) -> None:
    """Keep a label that is no name of a prim."""
    if prim.GetName() != label:
        prim.SetDisplayName(label)


def author(prim, schema: str, **values) -> None:
    """Author attributes of a schema that usd-core does not know, and list the schema on the prim.

    Names have "__" for ":"; None is left out; numbers become double, tuples double[], words token.
    """
    from pxr import Sdf

    values = {name.replace("__", ":"): value for name, value in values.items() if value is not None}
    if not values:
        return
    if schema.endswith("API"):
        prim.AddAppliedSchema(schema)
    for name, value in values.items():
        if isinstance(value, bool):
            kind = Sdf.ValueTypeNames.Bool
        elif isinstance(value, int):
            kind = Sdf.ValueTypeNames.Int
        elif isinstance(value, str):
            kind = Sdf.ValueTypeNames.Token
        elif isinstance(value, Iterable):
            value = list(value)
            whole = all(isinstance(x, int) for x in value)
            kind = Sdf.ValueTypeNames.IntArray if whole else Sdf.ValueTypeNames.DoubleArray
        else:
            kind, value = Sdf.ValueTypeNames.Double, float(value)
        prim.CreateAttribute(name, kind, False, Sdf.VariabilityUniform).Set(value)


def relate(prim, name: str, paths: Iterable[str]) -> None:
    """A relationship to other prims."""
    prim.CreateRelationship(name, False).SetTargets(list(paths))
