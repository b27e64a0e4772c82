"""Whether the links and joints of a URDF make one tree, and whether mimic joints have someone to follow."""

from __future__ import annotations

from simengine.builder.importers.report import Notes
from simengine.builder.importers.urdf.document import AXIS_COUNT, Joint, Robot
from simengine.errors import did_you_mean, shortened

LOOPS = "URDF has no closed loops (a <joint> of Gazebo's format in a <gazebo> block may close one)"


def check_tree(robot: Robot) -> None:
    """Set ``robot.root``.

    Raises:
        AssetError: no links, a joint to a link that is not there or to itself, a link with two parents, a cycle, or
            more than one link without a parent.
    """
    if not robot.links:
        raise robot.element.error("the robot has no links: add one")
    above: dict[str, Joint] = {}
    for joint in robot.joints.values():
        for role, name in (("parent", joint.parent), ("child", joint.child)):
            if name not in robot.links:
                hint = did_you_mean(name, robot.links)
                raise joint.element.error(f"its {role} link '{name}' is not in the file{hint}")
        if joint.parent == joint.child:
            raise joint.element.error(f"joins link '{joint.parent}' to itself: name another parent or child")
        if joint.child in above:
            raise joint.element.error(
                f"link '{joint.child}' already hangs on joint '{above[joint.child].name}' (line "
                f"{above[joint.child].element.line}): a link has one parent; {LOOPS}"
            )
        above[joint.child] = joint
    roots = [name for name in robot.links if name not in above]
    if not roots:
        raise robot.element.error(
            f"every link has a parent: the joints {shortened(robot.joints)} close a loop; {LOOPS}"
        )
    if len(roots) > 1:
        second = robot.links[roots[1]]
        raise second.element.error(
            f"{len(roots)} links have no parent ({shortened(roots)}): join all but one of them to the others"
        )
    robot.root = roots[0]
    reached = {robot.root}
    for name in robot.links:
        path: dict[str, None] = {}
        while name not in reached:
            path[name] = None
            joint = above[name]
            name = joint.parent
            if name in path:
                raise joint.element.error(f"closes a loop of links through '{name}'; {LOOPS}")
        reached.update(path)


def check_mimics(robot: Robot, notes: Notes) -> None:
    """Drop (noted) what cannot be followed.

    Raises:
        AssetError: a mimic joint follows itself, a joint that is not there, or in a circle.
    """
    for joint in robot.joints.values():
        if joint.mimic is None:
            continue
        leader = robot.joints.get(joint.mimic.joint)
        element = joint.mimic.element
        if leader is None:
            hint = did_you_mean(joint.mimic.joint, robot.joints)
            raise element.error(f"joint '{joint.name}' follows '{joint.mimic.joint}', which is not in the file{hint}")
        if leader is joint:
            raise element.error(f"joint '{joint.name}' follows itself: name another joint")
        if AXIS_COUNT[leader.kind] != 1:
            notes.ignore("<mimic>", element, f"its leader is a {leader.kind} joint, which has not one coordinate")
            joint.mimic = None
    led: set[str] = set()  # joints whose chain of leaders has an end
    for joint in robot.joints.values():
        path: dict[str, None] = {}
        while joint.mimic is not None and joint.name not in led:
            path[joint.name] = None
            joint = robot.joints[joint.mimic.joint]
            if joint.name in path:
                circle = shortened(list(path))
                raise joint.mimic.element.error(f"mimic joints follow each other in a circle: {circle}")
        led.update(path)
