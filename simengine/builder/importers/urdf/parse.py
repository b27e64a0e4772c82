"""URDF text to values: every element and attribute is read, or noted in the report as ignored, or refused.

The format is that of the ROS documentation (wiki.ros.org/urdf/XML), with the capsule that several tools write and what
Gazebo, ros_control, MuJoCo and Bullet add to it (``attributes.TABLE``).
"""

from __future__ import annotations

from simengine.builder.importers.report import Notes
from simengine.builder.importers.urdf.attributes import TABLE
from simengine.builder.importers.urdf.document import Robot
from simengine.builder.importers.urdf.gazebo import parse_gazebo
from simengine.builder.importers.urdf.mujoco_block import parse_mujoco
from simengine.builder.importers.urdf.parse_joint import parse_joint
from simengine.builder.importers.urdf.parse_link import parse_link, read_color
from simengine.builder.importers.urdf.transmissions import parse_transmission
from simengine.builder.importers.xml_reader import Element

FOREIGN = ("gazebo", "mujoco", "ros2_control", "transmission", "sensor", "plugin")
"""Elements of other programs, which may hold text that looks like a macro."""


def parse_robot(root: Element, notes: Notes, soft_limits: bool = False) -> Robot:
    """The robot in a ``<robot>`` element; references between links and joints are not yet checked.

    Raises:
        AssetError: a name, number or element that is missing, repeated, malformed or out of its range.
    """
    _refuse_xacro(root)
    for name in [name for name in root.attributes if name == "xmlns" or name.startswith("xmlns:")]:
        del root.attributes[name]  # the name of a vocabulary, no attribute
    TABLE.check(notes, root, ("link", "joint", "material", "gazebo", "transmission", "mujoco"))
    robot = Robot(root.attributes.get("name", "").strip(), root)
    if not robot.name:
        notes.note("defaulted", "name of the robot", root, "empty")
    materials = _materials(root, notes)
    for element in root.all("link"):
        link = parse_link(element, materials, notes)
        if link.name in robot.links:
            first = robot.links[link.name].element.line
            raise element.error(f"two links are called '{link.name}', the first on line {first}: rename one")
        robot.links[link.name] = link
    for element in root.all("joint"):
        joint = parse_joint(element, notes, soft_limits)
        if joint.name in robot.joints:
            first = robot.joints[joint.name].element.line
            raise element.error(f"two joints are called '{joint.name}', the first on line {first}: rename one")
        robot.joints[joint.name] = joint
    for element in root.all("gazebo"):
        parse_gazebo(element, robot, notes)
    for element in root.all("transmission"):
        parse_transmission(element, robot, notes)
    parse_mujoco(root, robot, notes)
    return robot


def _refuse_xacro(root: Element) -> None:
    """A xacro file is a program that makes a URDF; its root looks the same."""
    stack = [root]
    while stack:
        element = stack.pop()
        macro = element.tag.startswith("xacro:") or any("${" in v or "$(" in v for v in element.attributes.values())
        if macro and element.tag not in FOREIGN:
            raise element.error("this is a xacro file, not yet a URDF: run 'xacro file.xacro > file.urdf' first")
        if element.tag not in FOREIGN:
            stack += element.children


def _materials(root: Element, notes: Notes) -> dict[str, tuple[float, ...]]:
    """Colours by the name of the material: those of the robot, then those that a visual defines for others to use."""
    materials: dict[str, tuple[float, ...]] = {}
    for element in root.all("material"):
        name, color = element.string("name"), read_color(element, notes)
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
