"""``<gazebo>``: what Gazebo's users say of links and joints where it means the same here; the rest is noted.

Gazebo looks for these blocks as children of ``<robot>``; ``reference`` names the link or joint that is meant.
"""

from __future__ import annotations

import math

from simengine.builder.importers.report import UNKNOWN, Notes
from simengine.builder.importers.urdf.attributes import TABLE
from simengine.builder.importers.urdf.document import AXIS_COUNT, Joint, Link, Loop, Robot
from simengine.builder.importers.urdf.quantities import LARGEST, pose_of
from simengine.builder.importers.urdf.settings import flag_of, number_of, settings, valued
from simengine.builder.importers.xml_reader import Element
from simengine.errors import did_you_mean

LOOPS = ("revolute", "prismatic", "ball", "fixed")

COLORS = {
    "Grey": (0.7, 0.7, 0.7),
    "DarkGrey": (0.175, 0.175, 0.175),
    "White": (1.0, 1.0, 1.0),
    "FlatBlack": (0.1, 0.1, 0.1),
    "Black": (0.0, 0.0, 0.0),
    "Red": (1.0, 0.0, 0.0),
    "Green": (0.0, 1.0, 0.0),
    "Blue": (0.0, 0.0, 1.0),
    "Yellow": (1.0, 1.0, 0.0),
    "Purple": (1.0, 0.0, 1.0),
    "Turquoise": (0.0, 1.0, 1.0),
    "Orange": (1.0, 0.5088, 0.0468),
    "SkyBlue": (0.13, 0.44, 0.70),
}
"""Diffuse colours of materials that come with Gazebo."""


def parse_gazebo(element: Element, robot: Robot, notes: Notes) -> None:
    """Set what a block says of the link, joint or robot that it refers to.

    Raises:
        AssetError: a value that is not what it must be.
    """
    TABLE.check(notes, Element(element.tag, element.attributes, element.file, element.line), ())
    reference = element.attributes.get("reference", "").strip()
    if not reference:
        _of_robot(element, robot, notes)
    elif reference in robot.links:
        _of_links(settings(notes, element, "<gazebo> of a link"), [robot.links[reference]], notes)
    elif reference in robot.joints:
        _of_joint(settings(notes, element, "<gazebo> of a joint"), robot.joints[reference], notes)
    else:
        hint = did_you_mean(reference, [*robot.links, *robot.joints])
        notes.ignore("<gazebo>", element, f"'{reference}' is neither a link nor a joint of the file{hint}")
        notes.count_subtree(element, "ignored")


def _of_robot(element: Element, robot: Robot, notes: Notes) -> None:
    found = settings(notes, element, "<gazebo> of the robot")
    _of_links([child for child in found if child.tag != "joint"], list(robot.links.values()), notes)
    for child in found:
        if child.tag == "joint":
            _loop(child, robot, notes)


def _of_links(found: list[Element], links: list[Link], notes: Notes) -> None:
    friction = [number_of(child, lowest=0.0) for child in found if child.tag in ("mu1", "mu2")]
    if friction and max(friction) > LARGEST:
        raise found[0].error(f"a friction of {max(friction):g} is beyond any surface")
    if friction:
        # mu1 acts along fdir1 and mu2 across; a material has one
        mean = sum(friction) / len(friction)
        if min(friction) != max(friction):
            notes.ignore("direction of friction", found[0], f"a material has none: {mean:g}, the mean, is taken")
        for link in links:
            link.surface["friction"] = mean
    for child in found:
        if child.tag == "selfCollide" and not flag_of(child):
            for link in links:
                link.self_collision = False
        elif child.tag in ("gravity", "turnGravityOff") and flag_of(child) == (child.tag == "turnGravityOff"):
            for link in links:
                link.weightless = True
            notes.keep(f"<{child.tag}>", child, "the weight of the link is lifted: Body.gravity_compensation is 1")
        elif child.tag == "material":
            _color(child, links, notes)


def _color(element: Element, links: list[Link], notes: Notes) -> None:
    word = valued(element).string("value")
    color = COLORS.get(word.removeprefix("Gazebo/"))
    if color is None:
        notes.ignore("<material>", element, f"'{word}' is not one of Gazebo's plain colours")
        return
    for link in links:
        for visual in link.visuals:
            visual.color = visual.color or (*color, 1.0)


def _of_joint(found: list[Element], joint: Joint, notes: Notes) -> None:
    for child in found:
        if AXIS_COUNT[joint.kind] != 1:
            notes.ignore(f"<{child.tag}>", child, f"a {joint.kind} joint has not one coordinate")
        elif child.tag == "springStiffness":
            joint.spring["stiffness"] = number_of(child, lowest=0.0)
        else:
            joint.spring["spring_ref"] = number_of(child)


def _loop(element: Element, robot: Robot, notes: Notes) -> None:
    """A joint in Gazebo's own format, which may join two links of the tree: it closes a loop."""
    TABLE.check(notes, Element(element.tag, element.attributes, element.file, element.line), (), "<joint> of Gazebo")
    name, kind = element.string("name"), element.string("type")
    if kind not in LOOPS:
        raise element.error(f"a loop is closed by a joint of type {', '.join(LOOPS)}, not '{kind}'")
    found = {child.tag: child for child in settings(notes, element, "<gazebo> of the robot, joint")}
    ends = []
    for role in ("parent", "child"):
        if role not in found:
            raise element.error(f"has no <{role}>: add it")
        link = valued(found[role]).string("value")
        if link not in robot.links:
            raise found[role].error(f"its {role} link '{link}' is not in the file{did_you_mean(link, robot.links)}")
        ends.append(link)
    if ends[0] == ends[1]:
        raise element.error(f"joins link '{ends[0]}' to itself: name another parent or child")
    frame = (0.0,) * 6
    if "pose" in found:
        for attribute in found["pose"].attributes:
            notes.ignore(f"attribute '{attribute}'", found["pose"], UNKNOWN)
        frame = valued(found["pose"]).numbers("value", 6)
    robot.loops.append(Loop(name, kind, *ends, pose_of(frame[:3], frame[3:]), _axis(found.get("axis"), notes), element))


def _axis(element: Element | None, notes: Notes) -> tuple[float, float, float]:
    """The ``<xyz>`` of an axis; Gazebo's default is z."""
    if element is None:
        return (0.0, 0.0, 1.0)
    for child in element.children:
        if child.tag != "xyz":
            notes.ignore(f"<{child.tag}>", child, "a joint that closes a loop has no limits, damping or friction")
    written = element.one("xyz")
    if written is None:
        return (0.0, 0.0, 1.0)
    axis = valued(written).numbers("value", 3)
    length = math.hypot(*axis)
    if length < 1e-9:
        raise written.error("the axis has zero length: give a direction")
    return tuple(part / length for part in axis)
