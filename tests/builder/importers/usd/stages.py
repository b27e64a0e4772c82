"""Small stages written as text for tests."""

from __future__ import annotations

import warnings
from pathlib import Path

from simengine.builder.builder import ModelBuilder

HEADER = """#usda 1.0
(
    upAxis = "{up}"
    metersPerUnit = {metre}
    kilogramsPerUnit = {kilogram}
)
"""


def prim(kind: str, name: str, *schemas: str, inside: str = "", meta: str = "", **attributes) -> str:
    """A prim as text; ``__`` in the name of an attribute stands for a colon, values are written as they are.

    Names end in the type of the attribute, as in ``physics__mass_float``; a "rel" is a relationship to a path.
    """
    listed = ", ".join(f'"{schema}"' for schema in schemas)
    head = f"    prepend apiSchemas = [{listed}]\n" if listed else ""
    lines = [f'def {kind} "{name}" (\n{head}    {meta}\n)\n{{']
    for key, value in attributes.items():
        attribute, _, type_name = key.replace("__", ":").rpartition("_")
        lines.append(f"    {TYPES.get(type_name, type_name)} {attribute} = {value}")
    return "\n".join([*lines, inside, "}\n"])


TYPES = {
    "f3": "float3",
    "p3": "point3f",
    "v3": "vector3f",
    "d3": "double3",
    "quat": "quatf",
    "order": "uniform token[]",
    "floats": "float[]",
    "doubles": "double[]",
    "ints": "int[]",
    "points": "point3f[]",
}


def translated(x: float, y: float, z: float) -> dict:
    """Attributes of a prim that is moved by a translation."""
    return {"xformOp__translate_d3": f"({x}, {y}, {z})", "xformOpOrder_order": '["xformOp:translate"]'}


def scaled(x: float, y: float, z: float) -> dict:
    """Attributes of a prim that is scaled."""
    return {"xformOp__scale_d3": f"({x}, {y}, {z})", "xformOpOrder_order": '["xformOp:scale"]'}


def body(name: str, at=(0.0, 0.0, 0.0), inside: str = "", **attributes) -> str:
    """A rigid body of 1 kg with the inertia 0.1, 0.2, 0.3 kg m2, unless attributes say other."""
    given = {"physics__mass_float": 1.0, "physics__diagonalInertia_f3": "(0.1, 0.2, 0.3)"} | attributes
    return prim("Xform", name, "PhysicsRigidBodyAPI", "PhysicsMassAPI", inside=inside, **translated(*at), **given)


def joint(kind: str, name: str, body0: str = "", body1: str = "", *schemas: str, **attributes) -> str:
    """A joint between two paths, "" for the world."""
    ends = {f"physics__body{i}_rel": f"<{path}>" for i, path in enumerate((body0, body1)) if path}
    return prim(kind, name, *schemas, **ends, **attributes)


def follower(*schemas: str, **attributes) -> list[str]:
    """Two hinges on one body: "j", with schemas and attributes, and "lead"."""
    leader = joint("PhysicsRevoluteJoint", "lead", "/a", "/b")
    return [
        body("a"),
        body("b"),
        body("c"),
        leader,
        joint("PhysicsRevoluteJoint", "j", "/a", "/c", *schemas, **attributes),
    ]


def write_stage(
    folder: Path, *prims: str, up: str = "Z", metre: float = 1.0, kilogram: float = 1.0, name="scene.usda"
) -> Path:
    """Write prims as a file; returns its path."""
    path = folder / name
    path.write_text(HEADER.format(up=up, metre=metre, kilogram=kilogram) + "\n".join(prims))
    return path


def load(folder: Path, *prims: str, up: str = "Z", metre: float = 1.0, kilogram: float = 1.0, quiet=True, **options):
    """A builder with the prims, and the report. Overlaps are not looked for unless ``options`` ask for it."""
    path = write_stage(folder, *prims, up=up, metre=metre, kilogram=kilogram)
    builder = ModelBuilder()
    with warnings.catch_warnings():
        if quiet:
            warnings.simplefilter("ignore")
        report = builder.add_usd(path, **{"filter_overlapping": False} | options)
    return builder, report


def notes(report, section: str) -> str:
    """The notes of a section, one a line."""
    return "\n".join(str(note) for note in getattr(report, section))
