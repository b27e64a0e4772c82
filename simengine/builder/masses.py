"""Mass properties of the bodies of one world: as given, or from their shapes."""

from __future__ import annotations

import numpy as np

from simengine.builder.elements import WORLD, Body, Elements, Shape
from simengine.builder.inertia import NOTHING, MassProperties, combine, shape_mass_properties
from simengine.errors import ModelError


def shape_masses(shape: Shape) -> MassProperties:
    """Mass properties of a shape in the frame of its body; nothing for density 0, and for shapes of the world."""
    if shape.body == WORLD or (shape.density if shape.mass is None else shape.mass) == 0:
        return NOTHING
    properties = shape_mass_properties(
        shape.type, shape.size, shape.density, shape.mesh, shape.mass, shape.thickness, f"shape {shape.label!r}"
    )
    return properties.moved(shape.xform)


def body_masses(elements: Elements) -> list[MassProperties]:
    """Mass properties of each body in its own frame.

    Mass and inertia given: those. Mass alone given: the shapes' distribution scaled to it. Neither: the shapes'.
    Raises ModelError for a body with a mass whose inertia nothing tells.
    """
    shapes: list[list[Shape]] = [[] for _ in elements.bodies]
    for shape in elements.shapes:
        if shape.body != WORLD:
            shapes[shape.body].append(shape)
    return [_body(body, own) for body, own in zip(elements.bodies, shapes, strict=True)]


def _body(body: Body, shapes: list[Shape]) -> MassProperties:
    if body.inertia is not None:
        com = np.array(body.com if body.com is not None else (0.0, 0.0, 0.0))
        return MassProperties(body.mass, com, np.array(body.inertia).reshape(3, 3))
    if body.mass == 0:
        return NOTHING
    total = combine(shape_masses(shape) for shape in shapes)
    if body.mass is None:
        return total
    if total.mass == 0:
        raise ModelError(
            f"has mass {body.mass:g} but neither inertia nor a shape with density from which it would follow; "
            "give inertia=, or add a shape with a density",
            element=f"body {body.label!r}",
        )
    return total.scaled(body.mass / total.mass)
