"""Mass, centre of mass and inertia of shapes and of their unions.

Solids have closed forms (any table of moments of inertia). A hollow shape is a thin shell: its mass,
density * area * thickness, lies on the surface, ends and base included.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import pi, sqrt

import numpy as np

from simengine.builder.frames import Pose, rotation_matrix
from simengine.builder.mesh_data import Mesh, convex_hull
from simengine.enums import ShapeType
from simengine.errors import ModelError, with_article

MESH_TYPES = (ShapeType.MESH, ShapeType.CONVEX_HULL, ShapeType.HEIGHTFIELD, ShapeType.SDF)
"""Shapes that hold a mesh: of a convex hull the points that it is the hull of, of a height field and of a distance
field its surface."""


@dataclass(frozen=True)
class MassProperties:
    """``mass`` (kg), ``com`` (3,) in m and ``inertia`` (3, 3) in kg m2 about the centre of mass, in one frame."""

    mass: float
    com: np.ndarray
    inertia: np.ndarray

    def scaled(self, factor: float) -> MassProperties:
        """The same distribution with ``factor`` times the mass."""
        return MassProperties(self.mass * factor, self.com, self.inertia * factor)

    def moved(self, pose: Pose) -> MassProperties:
        """The same matter seen from the frame in which ``pose`` is given."""
        rotation = rotation_matrix(pose[3:])
        return MassProperties(self.mass, np.array(pose[:3]) + rotation @ self.com, rotation @ self.inertia @ rotation.T)

    def about(self, point) -> np.ndarray:
        """Inertia (3, 3) about a point (parallel axis theorem): I + m (d.d 1 - d d^T)."""
        d = self.com - np.asarray(point)
        return self.inertia + self.mass * (d @ d * np.eye(3) - np.outer(d, d))


NOTHING = MassProperties(0.0, np.zeros(3), np.zeros((3, 3)))


def combine(parts) -> MassProperties:
    """The union of several MassProperties given in one frame."""
    parts = list(parts)
    mass = sum(part.mass for part in parts)
    if mass == 0.0:
        return NOTHING
    com = sum(part.mass * part.com for part in parts) / mass
    return MassProperties(mass, com, sum(part.about(com) for part in parts))


def shape_mass_properties(
    shape_type: ShapeType,
    size,
    density: float,
    mesh: Mesh | None = None,
    mass: float | None = None,
    thickness: float | None = None,
    what: str = "shape",
) -> MassProperties:
    """Mass properties of one shape in its own frame.

    ``size`` as in ``shape_size`` of the table; ``density`` in kg/m3; ``mass`` in kg replaces the density; ``thickness``
    in m makes the shape hollow. Raises ModelError for a mesh that bounds no solid, naming ``what``.
    """
    if thickness is None:
        unit = solid(shape_type, size, mesh, what)
    else:
        unit = shell(shape_type, size, mesh).scaled(thickness)
    if unit.mass <= 0:
        raise ModelError(f"{what} has no volume, so no mass; give it another size, or density=0")
    return unit.scaled(density if mass is None else mass / unit.mass)


def solid(shape_type: ShapeType, size, mesh: Mesh | None = None, what: str = "shape") -> MassProperties:
    """A solid shape of density 1 kg/m3, in its own frame. Raises ModelError where it is too large for a number."""
    try:
        unit = _solid(shape_type, size, mesh, what)
        finite = bool(np.isfinite(unit.inertia).all())
    except OverflowError:
        finite = False
    if not finite:
        raise ModelError(f"{what} is too large for its inertia to be a number; give it a smaller size")
    return unit


def _solid(shape_type: ShapeType, size, mesh: Mesh | None, what: str) -> MassProperties:
    if shape_type in (ShapeType.MESH, ShapeType.SDF):
        return _solid_mesh(mesh, size, what)
    if shape_type == ShapeType.CONVEX_HULL:
        return _solid_mesh(convex_hull(mesh.vertices, mesh.label), size, what)
    x, y, z = (float(s) for s in size)
    if shape_type == ShapeType.SPHERE:
        m = 4.0 / 3.0 * pi * x**3
        return _centered(m, *(0.4 * m * x * x,) * 3)
    if shape_type == ShapeType.BOX:
        m = 8.0 * x * y * z
        return _centered(m, m / 3 * (y * y + z * z), m / 3 * (x * x + z * z), m / 3 * (x * x + y * y))
    if shape_type == ShapeType.ELLIPSOID:
        m = 4.0 / 3.0 * pi * x * y * z
        return _centered(m, m / 5 * (y * y + z * z), m / 5 * (x * x + z * z), m / 5 * (x * x + y * y))
    r, h = x, y
    if shape_type == ShapeType.CAPSULE:
        # a cylinder and two hemispheres, whose own centres of mass lie 3/8 r beyond its ends
        m, caps = 2.0 * pi * r * r * h, 4.0 / 3.0 * pi * r**3
        across = m * (r * r / 4 + h * h / 3) + caps * (0.4 * r * r + h * h + 0.75 * h * r)
        return _centered(m + caps, across, across, (0.5 * m + 0.4 * caps) * r * r)
    if shape_type == ShapeType.CYLINDER:
        m = 2.0 * pi * r * r * h
        across = m * (r * r / 4 + h * h / 3)
        return _centered(m, across, across, 0.5 * m * r * r)
    if shape_type == ShapeType.CONE:
        # base at -h, apex at +h
        m = 2.0 / 3.0 * pi * r * r * h
        across = m * 3 / 20 * (r * r + h * h)
        return MassProperties(m, np.array([0.0, 0.0, -h / 2]), np.diag([across, across, 0.3 * m * r * r]))
    raise ModelError(f"{what}: a {shape_type.name.lower()} has no mass; give density=0")


def shell(shape_type: ShapeType, size, mesh: Mesh | None = None) -> MassProperties:
    """The closed surface of a shape with 1 kg/m2, in its own frame."""
    if shape_type in (ShapeType.MESH, ShapeType.SDF):
        return _from_moments(*mesh.surface_moments(size))
    if shape_type == ShapeType.CONVEX_HULL:
        return _from_moments(*convex_hull(mesh.vertices, mesh.label).surface_moments(size))
    x, y, z = (float(s) for s in size)
    if shape_type == ShapeType.SPHERE:
        m = 4.0 * pi * x * x
        return _centered(m, *(2.0 / 3.0 * m * x * x,) * 3)
    if shape_type == ShapeType.BOX:
        mx, my, mz = 8 * y * z, 8 * x * z, 8 * x * y  # the two faces across each axis
        second = np.array([x * x * (mx + (my + mz) / 3), y * y * (my + (mx + mz) / 3), z * z * (mz + (mx + my) / 3)])
        return _centered(mx + my + mz, *(second.sum() - second))
    if shape_type == ShapeType.ELLIPSOID:
        return _ellipsoid_shell(x, y, z)
    r, h = x, y
    if shape_type == ShapeType.CAPSULE:
        # a tube and two hemispherical shells, whose own centres of mass lie r/2 beyond its ends
        m, caps = 4.0 * pi * r * h, 4.0 * pi * r * r
        across = m * (r * r / 2 + h * h / 3) + caps * (2.0 / 3.0 * r * r + h * h + h * r)
        return _centered(m + caps, across, across, (m + 2.0 / 3.0 * caps) * r * r)
    if shape_type == ShapeType.CYLINDER:
        m, ends = 4.0 * pi * r * h, 2.0 * pi * r * r
        across = m * (r * r / 2 + h * h / 3) + ends * (r * r / 4 + h * h)
        return _centered(m + ends, across, across, (m + 0.5 * ends) * r * r)
    if shape_type == ShapeType.CONE:
        # of the side, the mass at distance t H from the apex is proportional to t: variance along the axis H^2 / 18
        side, base, height = pi * r * sqrt(r * r + 4 * h * h), pi * r * r, 2 * h
        slope = MassProperties(
            side,
            np.array([0, 0, -h + height / 3]),
            side * np.diag([r * r / 4 + height**2 / 18, r * r / 4 + height**2 / 18, r * r / 2]),
        )
        disc = MassProperties(base, np.array([0, 0, -h]), base * np.diag([r * r / 4, r * r / 4, r * r / 2]))
        return combine([slope, disc])
    raise ModelError(f"{with_article(shape_type.name.lower())} has no mass; give density=0")


def inertia_problem(mass: float, inertia: np.ndarray) -> str:
    """What makes an inertia (3, 3) impossible for ``mass``: asymmetry or a negative principal moment; else empty."""
    size = np.abs(inertia).max()
    if np.abs(inertia - inertia.T).max() > 1e-6 * size:
        return "is not symmetric"
    principal = np.linalg.eigvalsh(inertia)
    if principal[0] < -1e-9 * size:
        return f"has a negative principal moment {principal[0]:g}"
    if mass == 0 and size > 0:
        return "is not zero, but the mass is"
    return ""


def breaks_triangle_inequality(inertia: np.ndarray) -> bool:
    """Whether the largest principal moment exceeds the sum of the others, as no distribution of mass can have it."""
    a, b, c = np.linalg.eigvalsh(inertia)
    return c - a - b > 1e-6 * c


def principal_axes(inertia: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Principal moments (3,) of a symmetric inertia (3, 3), none negative, and their axes: a rotation's columns.

    Jacobi's rotations lead to the axes near those that the inertia is given in; one that is diagonal keeps them,
    whatever their order (Golub and Van Loan, Matrix Computations, 8.5).
    """
    axes, left = np.eye(3), inertia.copy()
    for _ in range(50):
        i, j = max(((0, 1), (0, 2), (1, 2)), key=lambda pair: abs(left[pair]))
        if abs(left[i, j]) <= 1e-16 * np.abs(left).max():
            break
        slope = (left[j, j] - left[i, i]) / (2.0 * left[i, j])
        t = (1.0 if slope >= 0.0 else -1.0) / (abs(slope) + np.sqrt(slope * slope + 1.0))
        cosine = 1.0 / np.sqrt(t * t + 1.0)
        turn = np.eye(3)
        turn[i, i] = turn[j, j] = cosine
        turn[i, j], turn[j, i] = t * cosine, -t * cosine
        left, axes = turn.T @ left @ turn, axes @ turn
        left[i, j] = left[j, i] = 0.0
    return np.diagonal(left).clip(0.0), axes


def _centered(mass: float, ixx: float, iyy: float, izz: float) -> MassProperties:
    return MassProperties(mass, np.zeros(3), np.diag([ixx, iyy, izz]))


def _from_moments(mass: float, first: np.ndarray, second: np.ndarray) -> MassProperties:
    """From the integrals of 1, x and x x^T; inertia = trace(C) 1 - C, C the second moment about the centre of mass."""
    if mass <= 0:
        return NOTHING
    com = first / mass
    central = second - mass * np.outer(com, com)
    return MassProperties(mass, com, np.trace(central) * np.eye(3) - central)


def _solid_mesh(mesh: Mesh, scale, what: str) -> MassProperties:
    if mesh.solid_problem:
        raise ModelError(
            f"{what}: {mesh!r} bounds no solid: {mesh.solid_problem}. Use its convex hull (add_shape_convex_hull), "
            "or make it a shell (thickness=...), or give density=0 and the mass to the body"
        )
    volume, first, second = mesh.moments
    s = np.asarray(scale, float)
    factor = abs(s.prod())
    return _from_moments(volume * factor, first * s * factor, second * np.outer(s, s) * factor)


def _ellipsoid_shell(a: float, b: float, c: float) -> MassProperties:
    """By quadrature over u = z / c (Gauss) and the azimuth (trapezoids): the area has no elementary closed form."""
    u, weights = np.polynomial.legendre.leggauss(256)
    azimuth = np.arange(256) * (2 * pi / 256)
    u, cos, sin = u[:, None], np.cos(azimuth), np.sin(azimuth)
    s2 = 1 - u * u
    stretch = np.sqrt(s2 * ((b * c * cos) ** 2 + (a * c * sin) ** 2) + (a * b * u) ** 2)
    area = stretch * weights[:, None] * (2 * pi / 256)
    second = np.array([(area * x2).sum() for x2 in (s2 * (a * cos) ** 2, s2 * (b * sin) ** 2, (c * u) ** 2)])
    return _centered(area.sum(), *(second.sum() - second))
