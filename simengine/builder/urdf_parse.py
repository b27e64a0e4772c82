"""URDF text to values: every element and attribute is read, or noted in the report as ignored, or refused.

The format is that of the ROS documentation (wiki.ros.org/urdf/XML), with the capsule that several tools write.
"""

from __future__ import annotations

import math

import numpy as np

from simengine.builder.frames import IDENTITY, Pose, quat_from_axis_angle, quat_multiply
from simengine.builder.report import ImportReport, Note
from simengine.builder.urdf_document import AXIS_COUNT, HINGES, Geometry, Inertial, Joint, Link, LinkShape, Mimic, Robot
from simengine.builder.xml_reader import Element

OTHER_PROGRAMS = "settings of other programs are not part of the robot"
ON_PURPOSE = {
    "transmission": "drives are set by the options of the import",
    "gazebo": OTHER_PROGRAMS,
    "mujoco": OTHER_PROGRAMS,
    "ros2_control": OTHER_PROGRAMS,
    "sensor": "sensors are not read from URDF",
    "safety_controller": "the limits of a controller on the real robot",
    "calibration": "the calibration of the real joint's encoder",
    "texture": "textures are not read",
    "verbose": "has no meaning here",
}
UNKNOWN = "not part of URDF (misspelt?)"


LARGEST = 1e15
"""In SI units no robot comes near; the product of two such numbers is still finite in float32."""


class Notes:
    """Notes for the report; ``strict`` refuses what is not part of URDF, ``unsupported="raise"`` what is not read."""

    def __init__(self, report: ImportReport, strict: bool, unsupported: str):
        self.report = report
        self.strict = strict
        self.unsupported = unsupported

    def note(self, section: str, what: str, element: Element, reason: str) -> None:
        """Put a note into a section of the report."""
        getattr(self.report, section).append(Note(what, f"{element} line {element.line}", reason))

    def ignore(self, what: str, element: Element, reason: str) -> None:
        """Note something that is passed over; refuse it where the user asked for that."""
        if self.unsupported == "raise" or (self.strict and reason == UNKNOWN):
            raise element.error(f"{what} is not read: {reason}")
        self.note("ignored", what, element, reason)

    def check(self, element: Element, attributes: tuple[str, ...], children: tuple[str, ...]) -> None:
        """Note whatever ``element`` holds besides these attributes and children."""
        for name in element.attributes:
            if name not in attributes:
                self.ignore(f"attribute '{name}'", element, UNKNOWN)
        for child in element.children:
            if child.tag not in children:
                self.ignore(f"<{child.tag}>", child, ON_PURPOSE.get(child.tag, UNKNOWN))
        if element.text:
            self.ignore("text", element, UNKNOWN)


def parse_robot(root: Element, notes: Notes) -> Robot:
    """The robot in a ``<robot>`` element; references between links and joints are not yet checked.

    Raises:
        AssetError: a name, number or element that is missing, repeated, malformed or out of its range.
    """
    _refuse_xacro(root)
    plain = tuple(name for name in root.attributes if name == "xmlns" or name.startswith("xmlns:"))
    notes.check(root, ("name", "version", *plain), ("link", "joint", "material"))
    robot = Robot(root.attributes.get("name", "").strip(), root)
    if not robot.name:
        notes.note("defaulted", "name of the robot", root, "empty")
    materials = _materials(root, notes)
    for element in root.all("link"):
        link = _link(element, materials, notes)
        if link.name in robot.links:
            first = robot.links[link.name].element.line
            raise element.error(f"two links are called '{link.name}', the first on line {first}: rename one")
        robot.links[link.name] = link
    for element in root.all("joint"):
        joint = _joint(element, notes)
        if joint.name in robot.joints:
            first = robot.joints[joint.name].element.line
            raise element.error(f"two joints are called '{joint.name}', the first on line {first}: rename one")
        robot.joints[joint.name] = joint
    return robot


def _quantities(element: Element, name: str, count: int, default: tuple[float, ...] | None = None) -> tuple[float, ...]:
    """Numbers of an attribute, none beyond LARGEST."""
    values = element.numbers(name, count, default)
    if max(map(abs, values)) > LARGEST:
        raise element.error(f"attribute '{name}' is {element.string(name)!r}: no robot has anything beyond {LARGEST:g}")
    return values


def _quantity(element: Element, name: str, default: float | None = None) -> float:
    return _quantities(element, name, 1, None if default is None else (default,))[0]


def _refuse_xacro(root: Element) -> None:
    """A xacro file is a program that makes a URDF; its root looks the same."""
    stack = [root]
    while stack:
        element = stack.pop()
        macro = element.tag.startswith("xacro:") or any("${" in v or "$(" in v for v in element.attributes.values())
        # other programs' settings may hold such text
        if macro and element.tag not in ON_PURPOSE:
            raise element.error("this is a xacro file, not yet a URDF: run 'xacro file.xacro > file.urdf' first")
        if element.tag not in ON_PURPOSE:
            stack += element.children


def read_pose(parent: Element, notes: Notes) -> Pose:
    """The ``<origin>`` of an element: xyz, and rpy about the fixed axes x, y, z: R = Rz(yaw) Ry(pitch) Rx(roll)."""
    element = parent.one("origin")
    if element is None:
        return IDENTITY
    notes.check(element, ("xyz", "rpy"), ())
    position = _quantities(element, "xyz", 3, (0.0, 0.0, 0.0))
    roll, pitch, yaw = _quantities(element, "rpy", 3, (0.0, 0.0, 0.0))
    turn = quat_multiply(quat_from_axis_angle((0.0, 1.0, 0.0), pitch), quat_from_axis_angle((1.0, 0.0, 0.0), roll))
    return (*position, *quat_multiply(quat_from_axis_angle((0.0, 0.0, 1.0), yaw), turn))


def _materials(root: Element, notes: Notes) -> dict[str, tuple[float, ...]]:
    """Colours by the name of the material: those of the robot, then those that a visual defines for others to use."""
    materials: dict[str, tuple[float, ...]] = {}
    for element in root.all("material"):
        name, color = element.string("name"), _color(element, notes)
        if color is None:
            continue
        if materials.setdefault(name, color) != color:
            raise element.error(f"material '{name}' is defined twice with different colours: rename one")
    for link in root.all("link"):
        for visual in link.all("visual"):
            element = visual.one("material")
            if element is not None and element.attributes.get("name", "").strip() and element.one("color") is not None:
                materials.setdefault(element.string("name"), element.one("color").numbers("rgba", 4))
    return materials


def _color(material: Element, notes: Notes) -> tuple[float, ...] | None:
    notes.check(material, ("name",), ("color",))
    element = material.one("color")
    if element is None:
        return None
    notes.check(element, ("rgba",), ())
    given = element.numbers("rgba", 4)
    color = tuple(min(max(part, 0.0), 1.0) for part in given)
    if color != given:
        notes.note("repaired", "colour", element, "moved into the range 0 to 1")
    return color


def _link(element: Element, materials: dict[str, tuple[float, ...]], notes: Notes) -> Link:
    notes.check(element, ("name",), ("inertial", "visual", "collision"))
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
            shape.color = _color(material, notes)
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
    return link


def _inertial(element: Element, link: Link, notes: Notes) -> Inertial:
    notes.check(element, (), ("origin", "mass", "inertia"))
    mass_element = element.need("mass")
    notes.check(mass_element, ("value",), ())
    mass = _quantity(mass_element, "value")
    if mass < 0.0:
        raise mass_element.error(f"link '{link.name}' has the negative mass {mass:g} kg: write its mass")
    if 0.0 < mass < 1e-6:
        notes.note("warned", f"mass of '{link.name}'", mass_element, f"{mass:g} kg is hardly any: another unit?")
    frame = read_pose(element, notes)
    written = element.one("inertia")
    if written is None:
        return Inertial(mass, frame, None, element)
    notes.check(written, ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"), ())
    xx, yy, zz = (_quantity(written, name) for name in ("ixx", "iyy", "izz"))
    xy, xz, yz = (_quantity(written, name, 0.0) for name in ("ixy", "ixz", "iyz"))
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
    notes.check(element, ("name",), ("origin", "geometry", "material"))
    holder = element.need("geometry")
    kinds = [child for child in holder.children if child.tag in SIZES or child.tag == "mesh"]
    notes.check(holder, (), (*SIZES, "mesh"))
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
        notes.check(element, ("filename", "scale"), ())
        scale = _quantities(element, "scale", 3, (1.0, 1.0, 1.0))
        if 0.0 in scale:
            raise element.error(f"the scale {scale} of a mesh has a zero: it would be flat")
        return Geometry(kind, scale, element, element.string("filename"))
    notes.check(element, SIZES[kind], ())
    size = _quantities(element, "size", 3) if kind == "box" else tuple(_quantity(element, name) for name in SIZES[kind])
    # a capsule without its cylinder is a sphere
    if any(part < 0.0 or (part == 0.0 and (kind, i) != ("capsule", 1)) for i, part in enumerate(size)):
        raise element.error(f"the size is {' '.join(f'{part:g}' for part in size)}: sizes must be positive")
    return Geometry(kind, size, element)


def _joint(element: Element, notes: Notes) -> Joint:
    children = ("origin", "parent", "child", "axis", "limit", "dynamics", "mimic")
    notes.check(element, ("name", "type"), children)
    kind = element.string("type")
    if kind not in AXIS_COUNT:
        raise element.error(f"joint type '{kind}' is unknown: it is one of {', '.join(AXIS_COUNT)}")
    ends = []
    for tag in ("parent", "child"):
        end = element.need(tag)
        notes.check(end, ("link",), ())
        ends.append(end.string("link"))
    joint = Joint(element.string("name"), kind, *ends, element, read_pose(element, notes))
    _axis(joint, notes)
    _limit(joint, notes)
    _dynamics(joint, notes)
    _mimic(joint, notes)
    return joint


def _axis(joint: Joint, notes: Notes) -> None:
    element = joint.element.one("axis")
    if joint.kind in ("fixed", "floating"):
        return
    if element is None:
        notes.note("defaulted", "axis", joint.element, "1 0 0")
        return
    notes.check(element, ("xyz",), ())
    axis = element.numbers("xyz", 3)
    length = math.hypot(*axis)
    if length < 1e-9:
        raise element.error(f"joint '{joint.name}' has an axis of zero length: give a direction")
    if abs(length - 1.0) > 1e-3:  # within: the rounding of the file
        notes.note("repaired", "axis", joint.element, f"length {length:.6g} made 1")
    joint.axis = tuple(part / length for part in axis)


def _limit(joint: Joint, notes: Notes) -> None:
    element = joint.element.one("limit")
    bounded = joint.kind in ("revolute", "prismatic")
    if element is None:
        if bounded:
            notes.note("defaulted", "<limit>", joint.element, "no limits, any effort")
        return
    notes.check(element, ("lower", "upper", "effort", "velocity"), ())
    if joint.kind in ("fixed", "floating"):
        notes.ignore("<limit>", joint.element, f"a {joint.kind} joint has none")
        return
    if bounded and "lower" not in element.attributes and "upper" not in element.attributes:
        # the format's own default, 0 for each, would lock the joint
        notes.note("defaulted", "lower and upper limit", joint.element, "none")
    elif bounded:
        # the format's own default is 0
        joint.lower, joint.upper = _limit_value(element, "lower", notes), _limit_value(element, "upper", notes)
        for name in ("lower", "upper"):
            if name not in element.attributes:
                notes.note("defaulted", f"{name} limit", joint.element, "0, the format's default")
        if joint.lower > joint.upper:
            raise element.error(
                f"joint '{joint.name}' has lower limit {joint.lower:g} above upper limit {joint.upper:g}: exchange them"
            )
        if joint.kind == "revolute" and max(-joint.lower, joint.upper) > 4.0 * math.pi:
            notes.note("warned", "limit", joint.element, "more than two turns: is it in degrees? URDF has radians")
    elif "lower" in element.attributes or "upper" in element.attributes:
        notes.ignore("lower and upper limit", joint.element, f"a {joint.kind} joint has none")
    for name in ("effort", "velocity"):
        if name not in element.attributes:
            notes.note("defaulted", f"{name} limit", joint.element, "none")
            continue
        value = _limit_value(element, name, notes)
        if value < 0.0:
            raise element.error(f"joint '{joint.name}' has the negative {name} limit {value:g}: write its size")
        if value == 0.0:
            notes.note("repaired", f"{name} limit", joint.element, "0 means that none was set: no limit")
            continue
        setattr(joint, name, value)


def _limit_value(element: Element, name: str, notes: Notes) -> float:
    """A limit (0 where absent), infinite beyond LARGEST: some files so write that there is none."""
    value = element.number(name, 0.0)
    if abs(value) <= LARGEST:
        return value
    notes.note("repaired", f"{name} limit", element, f"{value:g} means that there is none")
    return math.copysign(math.inf, value)


def _dynamics(joint: Joint, notes: Notes) -> None:
    element = joint.element.one("dynamics")
    if element is None:
        return
    notes.check(element, ("damping", "friction"), ())
    if joint.kind in ("fixed", "floating"):
        notes.ignore("<dynamics>", joint.element, f"it is not applied to a {joint.kind} joint")
        return
    for name in ("damping", "friction"):
        if name not in element.attributes:
            continue
        value = _quantity(element, name)
        if value < 0.0:
            raise element.error(f"joint '{joint.name}' has the negative {name} {value:g}: it must be zero or more")
        setattr(joint, name, value)


def _mimic(joint: Joint, notes: Notes) -> None:
    element = joint.element.one("mimic")
    if element is None:
        return
    notes.check(element, ("joint", "multiplier", "offset"), ())
    multiplier, offset = _quantity(element, "multiplier", 1.0), _quantity(element, "offset", 0.0)
    mimic = Mimic(element.string("joint"), multiplier, offset, element)
    if joint.kind not in (*HINGES, "prismatic"):
        notes.ignore("<mimic>", joint.element, f"a {joint.kind} joint has not one coordinate to follow with")
        return
    joint.mimic = mimic
