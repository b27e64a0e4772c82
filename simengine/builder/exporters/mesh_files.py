"""Meshes as OBJ files beside the main file, coordinates to the last bit; and meshes of shapes that a format lacks."""

from __future__ import annotations

import math
import re

import numpy as np

from simengine.builder.elements import Shape
from simengine.builder.exporters.files import NewFiles
from simengine.builder.mesh_data import Mesh, convex_hull
from simengine.enums import ShapeType

SIDES = 64
"""Corners of the circles of cones and ellipsoids that become meshes."""


class MeshFiles:
    """Each different mesh once. ``names`` holds the path of each written mesh from the main file."""

    def __init__(self, files: NewFiles):
        self.files = files
        self.names: dict[Mesh, str] = {}

    def path(self, mesh: Mesh) -> str:
        """The file of a mesh, added where it is new."""
        if mesh not in self.names:
            stem = re.split(r"[\\/]", mesh.label)[-1].rsplit(".", 1)[0]
            stem = re.sub(r"[^A-Za-z0-9_-]", "_", stem)[:60] or "mesh"
            self.names[mesh] = self.files.add(f"{stem}-{mesh.digest.hex()[:10]}.obj", obj_text(mesh))
        return self.names[mesh]


def obj_text(mesh: Mesh) -> bytes:
    """A Wavefront OBJ file; vertices count from 1."""
    vertices = [f"v {x!r} {y!r} {z!r}" for x, y, z in mesh.vertices.tolist()]
    faces = [f"f {a} {b} {c}" for a, b, c in (mesh.triangles + 1).tolist()]
    return "\n".join([*vertices, *faces, ""]).encode()


def shape_mesh(shape: Shape) -> Mesh:
    """A mesh of a cone or an ellipsoid, its corners on the surface."""
    if shape.type == ShapeType.CONE:
        radius, half = shape.size[:2]
        points = [*_circle(radius, -half), (0.0, 0.0, half)]
    else:
        a, b, c = shape.size
        rings = [math.pi * i / (SIDES // 2) for i in range(1, SIDES // 2)]
        points = [(0.0, 0.0, c), (0.0, 0.0, -c)]
        for polar in rings:
            points += [(a * x, b * y, c * math.cos(polar)) for x, y, _ in _circle(math.sin(polar), 0.0)]
    return convex_hull(np.array(points), shape.label)


def _circle(radius: float, height: float) -> list[tuple[float, float, float]]:
    turns = [2.0 * math.pi * i / SIDES for i in range(SIDES)]
    return [(radius * math.cos(turn), radius * math.sin(turn), height) for turn in turns]
