"""Elements that stand on a body: geoms, joints, sites and inertials, from XML to plain values."""

from __future__ import annotations

import math

import numpy as np

from simengine.builder.frames import Pose, Vector, rotation_matrix
from simengine.builder.importers.mjcf.defaults import DefaultClass
from simengine.builder.importers.mjcf.document import Compiler, Contact, Geom, Inertial, Joint, Reference, Site
from simengine.builder.importers.mjcf.values import Values, quat_from_z
from simengine.builder.importers.report import Notes
from simengine.builder.importers.xml_reader import Element
from simengine.builder.material import CONTACT_DIMENSIONS
from simengine.errors import with_article

GEOM_TYPES = ("plane", "hfield", "sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh", "sdf")
JOINT_TYPES = ("free", "ball", "slide", "hinge")
ELONGATED = ("capsule", "cylinder", "ellipsoid", "box")
PLAIN_COLOR = (0.5, 0.5, 0.5, 1.0)
"""A geom of this colour shows its material's."""
HELD = 1e-6
"""rad: the angle of a ball joint whose range is nothing."""
MATERIAL_FRICTION = (1.0, 0.005, 0.0001)


def read_geom(element: Element, compiler: Compiler, defaults: DefaultClass) -> Geom:
    """A geom; AssetError for what is malformed."""
    values = Values(element, compiler, defaults.of("geom"))
    kind = values.choice("type", GEOM_TYPES, "sphere")
    size = values.numbers("size", 3, (0.0, 0.0, 0.0), least=1)
    frame = values.pose()
    if values.has("fromto"):
        frame, size = _from_to(values, kind, size)
    color = values.numbers("rgba", 4, PLAIN_COLOR, lowest=0.0)
    return Geom(
        element,
        values.name("name"),
        kind,
        frame,
        size,
        compiler,
        _contact(values),
        mesh=_reference(values, "mesh"),
        hfield=_reference(values, "hfield"),
        material=_reference(values, "material"),
        color=None if color == PLAIN_COLOR else color,
        mass=values.number("mass", lowest=0.0) if values.has("mass") else None,
        density=values.number("density", 1000.0, lowest=0.0),
        shell=values.flag("shellinertia", False),
        fit_scale=values.number("fitscale", 1.0),
        group=values.whole("group", 0),
    )


def _reference(values: Values, kind: str) -> Reference | None:
    name = values.name(kind)
    return Reference(kind, name) if name else None


def _contact(values: Values) -> Contact:
    dimension = values.whole("condim", 3)
    if dimension not in CONTACT_DIMENSIONS:
        raise values.alone("condim").error(f"condim is {dimension}: it is one of 1, 3, 4, 6")
    return Contact(
        values.whole("contype", 1) % 2**32,
        values.whole("conaffinity", 1) % 2**32,
        dimension,
        values.numbers("friction", 3, MATERIAL_FRICTION, least=1, lowest=0.0),
        values.compliance(),
        values.whole("priority", 0),
        values.number("solmix", 1.0, lowest=0.0),
        values.number("margin", 0.0),
        values.number("gap", 0.0, lowest=0.0),
    )


def _from_to(values: Values, kind: str, size) -> tuple[Pose, tuple[float, ...]]:
    """Frame and size of a shape between two points; size[0] is its radius, or half its width."""
    if kind not in ELONGATED:
        raise values.element.error(f"{with_article(kind)} has no fromto: it is for {', '.join(ELONGATED)}")
    if values.has("mesh"):
        raise values.element.error("has mesh and fromto: give one of them")
    if any(values.numbers("pos", 3, (0.0, 0.0, 0.0))):
        raise values.element.error("has pos and fromto: give one of them")
    frame, half = segment(values)
    return frame, (size[0], half, 0.0) if kind in ("capsule", "cylinder") else (size[0], size[0], half)


def segment(values: Values) -> tuple[Pose, float]:
    """The frame in the middle of ``fromto``, its Z towards the first point, and half the length."""
    ends = values.numbers("fromto", 6)
    start, end = ends[:3], ends[3:]
    length = math.dist(start, end)
    if length < 1e-14:
        raise values.alone("fromto").error("the two points of fromto are one")
    axis: Vector = tuple((a - b) / length for a, b in zip(start, end, strict=True))
    middle = tuple(0.5 * (a + b) for a, b in zip(start, end, strict=True))
    return (*middle, *quat_from_z(axis)), 0.5 * length


def read_site(element: Element, compiler: Compiler, defaults: DefaultClass) -> Site:
    """A site, of which only the frame is read."""
    values = Values(element, compiler, defaults.of("site"))
    frame = segment(values)[0] if values.has("fromto") else values.pose()
    return Site(element, values.name("name"), frame)


def read_free_joint(element: Element, compiler: Compiler) -> Joint:
    """A <freejoint>, which takes nothing from default classes."""
    values = Values(element, compiler)
    return Joint(element, values.name("name"), "free", align=_align(values))


def _align(values: Values) -> bool | None:
    word = values.choice("align", ("false", "true", "auto"), "auto")
    return None if word == "auto" else word == "true"


def read_joint(element: Element, compiler: Compiler, defaults: DefaultClass, notes: Notes) -> Joint:
    """A joint in radians; AssetError for what is malformed or negative."""
    values = Values(element, compiler, defaults.of("joint"))
    kind = values.choice("type", JOINT_TYPES, "hinge")
    angle = compiler.angle if kind == "hinge" else float
    joint = Joint(
        element,
        values.name("name"),
        kind,
        reference=angle(values.number("ref", 0.0)) if kind in ("hinge", "slide") else 0.0,
        stiffness=values.linear("stiffness", notes),
        spring_reference=angle(values.number("springref", 0.0)) if kind in ("hinge", "slide") else 0.0,
        spring_damper=values.numbers("springdamper", 2, (0.0, 0.0), lowest=0.0),
        damping=values.linear("damping", notes),
        armature=values.number("armature", 0.0, lowest=0.0),
        friction=values.number("frictionloss", 0.0, lowest=0.0),
        margin=values.number("margin", 0.0, lowest=0.0),
        limit_compliance=values.compliance("limit"),
        friction_compliance=values.compliance("friction"),
    )
    if (joint.spring_damper[0] > 0.0) != (joint.spring_damper[1] > 0.0):
        raise values.alone("springdamper").error("springdamper needs two positive numbers, or two zeros")
    if kind != "free":
        joint.position = values.numbers("pos", 3, joint.position)
        joint.limits = _limits(values, kind, notes)
    if kind in ("hinge", "slide"):
        joint.axis = values.direction("axis", joint.axis)
        joint.effort = values.limits("actuatorfrclimited", "actuatorfrcrange", notes)
    return joint


def _limits(values: Values, kind: str, notes: Notes) -> tuple[float, float] | None:
    limited = values.choice("limited", ("false", "true", "auto"), "auto")
    if kind == "ball" and limited == "true" and values.numbers("range", 2, (0.0, 0.0)) == (0.0, 0.0):
        notes.note("warned", "range", values.element, f"the ball may turn by no angle: by {HELD:g} rad")
        return (0.0, HELD)
    limits = values.limits("limited", "range", notes)
    if limits is None:
        return None
    if kind == "ball" and limits[0] != 0.0:
        raise values.element.error(
            f"the range of a ball joint is 0 and the largest angle, not {limits[0]:g} {limits[1]:g}"
        )
    return limits if kind == "slide" else tuple(values.compiler.angle(limit) for limit in limits)


def read_inertial(element: Element, compiler: Compiler) -> Inertial:
    """An <inertial>; its inertia in the axes of its frame."""
    values = Values(element, compiler)
    values.alone("pos")
    mass, diagonal = values.number("mass", lowest=0.0), values.numbers("diaginertia", 3, (0.0, 0.0, 0.0), lowest=0.0)
    inertia, frame = np.diag(diagonal), values.pose()
    if values.has("fullinertia"):
        if any(diagonal) or frame[3:] != (0.0, 0.0, 0.0, 1.0):
            raise element.error("has fullinertia and diaginertia or an orientation: give one of them")
        xx, yy, zz, xy, xz, yz = values.numbers("fullinertia", 6)
        inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        if np.linalg.eigvalsh(inertia)[0] <= 0.0:
            raise element.error("its fullinertia has a principal moment that is not positive")
    return Inertial(element, mass, frame, inertia)


def turned(inertial: Inertial) -> np.ndarray:
    """The inertia (3, 3) of an <inertial> in the axes of the body."""
    rotation = rotation_matrix(inertial.frame[3:])
    return rotation @ inertial.inertia @ rotation.T
