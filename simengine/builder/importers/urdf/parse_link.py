"""``<link>`` to values: inertial, visuals, collisions, and the ``<contact>`` that Bullet's users write."""

from __future__ import annotations

import numpy as np

from simengine.builder.importers.report import Notes
from simengine.builder.importers.urdf.attributes import TABLE
from simengine.builder.importers.urdf.document import Geometry, Inertial, Link, LinkShape
from simengine.builder.importers.urdf.fem import parse_soft
from simengine.builder.importers.urdf.quantities import quantities, quantity, read_pose
from simengine.builder.importers.urdf.settings import number_of, settings
from simengine.builder.importers.xml_reader import Element


def read_color(material: Element, notes: Notes) -> tuple[float, ...] | None:
    TABLE.check(notes, material, ("color",))
    element = material.one("color")
    if element is None:
        return None
    TABLE.check(notes, element, ())
    given = element.numbers("rgba", 4)
    color = tuple(min(max(part, 0.0), 1.0) for part in given)
    if color != given:
        notes.note("repaired", "colour", element, "moved into the range 0 to 1")
    return color


def parse_link(element: Element, materials: dict[str, tuple[float, ...]], notes: Notes) -> Link:
    TABLE.check(notes, element, ("inertial", "visual", "collision", "contact", "fem"))
    link = Link(element.string("name"), element)
    inertial = element.one("inertial")
    if inertial is not None:
        link.inertial = _inertial(inertial, link, notes)
    for child in element.all("visual"):
        shape = _shape(child, notes)
        if shape is None:
            continue
        material = child.one("material")
        if material is not None:
            shape.color = read_color(material, notes)
            name = material.attributes.get("name", "").strip()
            if shape.color is None:
                shape.color = materials.get(name)
            if shape.color is None:
                notes.ignore(f"material '{name}'", material, "no colour is given for this name")
        link.visuals.append(shape)
    for child in element.all("collision"):
        shape = _shape(child, notes)
        if shape is not None:
            if child.one("material") is not None:
                notes.ignore("<material>", child, "in URDF it is a colour, which a collision does not show")
            link.collisions.append(shape)
    soft = element.one("fem")
    if soft is not None:
        link.soft = parse_soft(soft, notes)
    contact = element.one("contact")
    if contact is not None:
        _contact(contact, link, notes)
    return link


def _inertial(element: Element, link: Link, notes: Notes) -> Inertial:
    TABLE.check(notes, element, ("origin", "mass", "inertia"))
    mass_element = element.need("mass")
    TABLE.check(notes, mass_element, ())
    mass = quantity(mass_element, "value")
    if mass < 0.0:
        raise mass_element.error(f"link '{link.name}' has the negative mass {mass:g} kg: write its mass")
    if 0.0 < mass < 1e-6:
        notes.note("warned", f"mass of '{link.name}'", mass_element, f"{mass:g} kg is hardly any: another unit?")
    frame = read_pose(element, notes)
    written = element.one("inertia")
    if written is None:
        return Inertial(mass, frame, None, element)
    TABLE.check(notes, written, ())
    xx, yy, zz = (quantity(written, name) for name in ("ixx", "iyy", "izz"))
    xy, xz, yz = (quantity(written, name, 0.0) for name in ("ixy", "ixz", "iyz"))
    inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    moments = np.linalg.eigvalsh(inertia)
    if moments[0] < -1e-9 * max(abs(moments[0]), abs(moments[2])):
        raise written.error(
            f"link '{link.name}' has principal moments of inertia {moments[0]:.6g}, {moments[1]:.6g}, "
            f"{moments[2]:.6g} kg m2: none may be negative"
        )
    return Inertial(mass, frame, inertia, element)


SIZES = {"box": ("size",), "sphere": ("radius",), "cylinder": ("radius", "length"), "capsule": ("radius", "length")}


def _shape(element: Element, notes: Notes) -> LinkShape | None:
    """A visual or collision; None (noted) where its geometry is of a kind that is not read."""
    TABLE.check(notes, element, ("origin", "geometry", "material"))
    holder = element.need("geometry")
    kinds = [child for child in holder.children if child.tag in SIZES or child.tag == "mesh"]
    TABLE.check(notes, holder, (*SIZES, "mesh"))
    if not kinds:
        if holder.children and element.tag == "visual":
            return None
        raise holder.error(f"no geometry of a kind that is read: {', '.join(SIZES)}, mesh")
    if len(kinds) > 1:
        raise holder.error(f"{len(kinds)} geometries of one <{element.tag}>: give each a <{element.tag}> of its own")
    frame = read_pose(element, notes)
    return LinkShape(element.attributes.get("name", "").strip(), frame, _geometry(kinds[0], notes), element)


def _geometry(element: Element, notes: Notes) -> Geometry:
    kind = element.tag
    if kind == "mesh":
        TABLE.check(notes, element, ())
        scale = quantities(element, "scale", 3, (1.0, 1.0, 1.0))
        if 0.0 in scale:
            raise element.error(f"the scale {scale} of a mesh has a zero: it would be flat")
        return Geometry(kind, scale, element, element.string("filename"))
    TABLE.check(notes, element, ())
    size = quantities(element, "size", 3) if kind == "box" else tuple(quantity(element, name) for name in SIZES[kind])
    # a capsule without its cylinder is a sphere
    if any(part < 0.0 or (part == 0.0 and (kind, i) != ("capsule", 1)) for i, part in enumerate(size)):
        raise element.error(f"the size is {' '.join(f'{part:g}' for part in size)}: sizes must be positive")
    return Geometry(kind, size, element)


CONTACT = {
    "lateral_friction": "friction",
    "spinning_friction": "torsional",
    "rolling_friction": "rolling",
    "restitution": "restitution",
}


def _contact(element: Element, link: Link, notes: Notes) -> None:
    """The surface of the link's collisions, as Bullet's users write it; contacts get the dimensions that it needs."""
    for child in settings(notes, element, "<contact> of Bullet"):
        field = CONTACT[child.tag]
        value = number_of(child, lowest=0.0)
        if field == "restitution" and value > 1.0:
            raise child.error(f"is {value:g}: a restitution lies between 0 and 1")
        link.surface[field] = value
    if link.surface.get("rolling"):
        link.surface["contact_dim"] = 6
    elif link.surface.get("torsional"):
        link.surface["contact_dim"] = 4
