"""The tree of bodies: <worldbody> with its frames, replicas and attached models, to Body objects."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from simengine.builder.frames import IDENTITY, Pose, add, apply, compose, inverse, quat_rotate
from simengine.builder.importers.mjcf.attributes import TABLE
from simengine.builder.importers.mjcf.defaults import DefaultClass, Defaults
from simengine.builder.importers.mjcf.document import Body, Document, Frame
from simengine.builder.importers.mjcf.elements import (
    read_free_joint,
    read_geom,
    read_inertial,
    read_joint,
    read_site,
)
from simengine.builder.importers.mjcf.keyframes import attached, body_pairs
from simengine.builder.importers.mjcf.names import (
    ASSETS,
    Referring,
    Rename,
    copy_referring,
    count_nodes,
    depth_of,
    references,
    renamed,
    tree_names,
)
from simengine.builder.importers.mjcf.values import Values
from simengine.builder.importers.report import Notes
from simengine.builder.importers.xml_reader import Element
from simengine.errors import did_you_mean


class Where(NamedTuple):
    """Where elements are being read: on which body (the ``depth``-th below the world), in which frame of it, under
    which default class."""

    body: Body
    frame: Pose
    defaults: DefaultClass
    depth: int


PARTS = ("joints", "geoms", "sites", "bodies")


class TreeReader:
    """Reads the body tree of one document.

    ``copies``: how many elements replicas and attachments may still add; ``deepest``: how many bodies may stand below
    each other.
    """

    def __init__(self, document: Document, defaults: Defaults, notes: Notes, copies: int, deepest: int):
        self.document = document
        self.compiler = document.compiler
        self.defaults = defaults
        self.notes = notes
        self.copies, self.deepest = copies, deepest
        self.referring = Referring(document)
        self.sources: dict[str, Referring] = {}  # of attached models, by name
        self.assets: set[tuple[str, str]] = set()  # (model, prefix) of those taken in
        self.readers: dict[str, Callable[[Element, Where], None]] = {
            "body": self._body,
            "frame": self._frame,
            "replicate": self._replicate,
            "attach": self._attach,
            "inertial": self._inertial,
            "joint": self._joint,
            "freejoint": self._joint,
            "geom": self._geom,
            "site": self._site,
        }

    def read(self, section: Element) -> None:
        """Read a <worldbody>."""
        if section.attributes:
            raise section.error("the world has no attributes: put them on a body")
        self._children(section, Where(self.document.world, IDENTITY, self.defaults.of(section), 0))

    def finish(self) -> None:
        """Leave out what refers to originals of replicas; to be called when the whole tree is read."""
        self.referring.purge()

    def _children(self, element: Element, where: Where) -> None:
        """Read what stands in an element; its own attributes are checked with them."""
        TABLE.check(self.notes, element, tuple(self.readers))
        for child in element.children:
            if child.tag in self.readers:
                self.readers[child.tag](child, where)

    def _class(self, element: Element, where: Where) -> DefaultClass:
        """The default class of what stands in an element: its childclass, else that about it."""
        name = element.attributes.get("childclass")
        return self.defaults.named(element, name) if name else where.defaults

    def _body(self, element: Element, where: Where) -> None:
        values = Values(element, self.compiler)
        body = Body(
            element,
            values.name("name"),
            self.compiler,
            compose(where.frame, values.pose()),
            mocap=values.flag("mocap", False),
            gravity_compensation=values.number("gravcomp", 0.0),
            may_fuse=values.choice("fuse", ("false", "auto"), "auto") == "auto",
        )
        where.body.bodies.append(body)
        self._children(element, Where(body, IDENTITY, self._class(element, where), where.depth + 1))

    def _frame(self, element: Element, where: Where) -> None:
        values = Values(element, self.compiler)
        body, before = where.body, {part: len(getattr(where.body, part)) for part in PARTS}
        frame = compose(where.frame, values.pose())
        inside = Where(body, frame, self._class(element, where), where.depth)
        self._children(element, inside)
        if values.name("name"):
            content = Body(element, None, self.compiler)
            for part, start in before.items():
                getattr(content, part).extend(getattr(body, part)[start:])
            self.document.frames.append(Frame(element, values.name("name"), body, where.frame, content))

    def _inertial(self, element: Element, where: Where) -> None:
        TABLE.check(self.notes, element, ())
        self._refuse_world(element, where)
        if where.body.inertial is not None:
            raise element.error("the body has an inertial already: remove one")
        where.body.inertial = read_inertial(element, self.compiler)

    def _joint(self, element: Element, where: Where) -> None:
        TABLE.check(self.notes, element, ())
        self._refuse_world(element, where)
        if element.tag == "freejoint":
            joint = read_free_joint(element, self.compiler)
        else:
            joint = read_joint(element, self.compiler, self.defaults.of(element, where.defaults), self.notes)
        moved_joint(joint, where.frame)
        where.body.joints.append(joint)

    def _refuse_world(self, element: Element, where: Where) -> None:
        if where.body is self.document.world:
            raise element.error("the world has no joints and no inertia: put it into a body")

    def _geom(self, element: Element, where: Where) -> None:
        TABLE.check(self.notes, element, ("plugin",))
        for plugin in element.all("plugin"):
            raise plugin.error("plugins hold code, which is not run: give the geom a mesh")
        geom = read_geom(element, self.compiler, self.defaults.of(element, where.defaults))
        geom.frame = compose(where.frame, geom.frame)
        where.body.geoms.append(geom)

    def _site(self, element: Element, where: Where) -> None:
        TABLE.check(self.notes, element, ())
        site = read_site(element, self.compiler, self.defaults.of(element, where.defaults))
        site.frame = compose(where.frame, site.frame)
        where.body.sites.append(site)

    def _replicate(self, element: Element, where: Where) -> None:
        """Copies with names followed by their number, each turned and moved from the one before."""
        values = Values(element, self.compiler)
        count = values.whole("count", lowest=0)
        offset, angles = values.numbers("offset", 3, (0.0,) * 3), values.numbers("euler", 3, (0.0,) * 3)
        separator = values.given["sep"][0] if values.has("sep") else ""
        original, frames = Body(element, None, self.compiler), len(self.document.frames)
        self._children(element, Where(original, IDENTITY, self._class(element, where), where.depth))
        del self.document.frames[frames:]  # their names would be those of all copies
        if original.inertial is not None:
            raise original.inertial.element.error("an inertial stands in a body, not in a replicate")
        inside, position = tree_names([original]), (0.0, 0.0, 0.0)
        following = self.referring.following(inside)
        self._take_copies(element, count * (count_nodes(original) + len(following)))
        digits = len(str(count))
        for number in range(count):
            suffix = f"{separator}{number:0{digits}d}"

            def rename(kind: str, name: str, end: str = suffix) -> str:
                return name + end if (kind, name) in inside else name

            turn = values.euler([number * angle for angle in angles])
            self._put_copy(original, rename, where, (*position, *turn))
            added = set(inside)
            copy_referring(following, self.referring, added, lambda kind, name, end=suffix: name + end, part=True)
            position = add(position, quat_rotate(turn, offset))
        self.referring.remove(inside)

    def _take_copies(self, element: Element, count: int) -> None:
        self.copies -= count
        if self.copies < 0:
            raise element.error(
                f"makes {count} elements, more than the cap on copies leaves (option copies of add_mjcf)"
            )

    def _put_copy(self, original: Body, rename: Rename, where: Where, pose: Pose) -> Body:
        """Put what is on ``original`` on the body, under other names, ``pose`` further; returns the copy."""
        moved = renamed(original, rename)
        place = compose(where.frame, pose)
        for joint in moved.joints:
            self._refuse_world(joint.element, where)
            moved_joint(joint, place)
        for part in (moved.geoms, moved.sites, moved.bodies):
            for node in part:
                node.frame = compose(place, node.frame)
        for part in PARTS:
            getattr(where.body, part).extend(getattr(moved, part))
        return moved

    def _attach(self, element: Element, where: Where) -> None:
        """A body, a frame, or the whole world of another model, or a body or frame of this one, under new names."""
        TABLE.check(self.notes, element, ())
        values = Values(element, self.compiler)
        if values.has("body") and values.has("frame"):
            raise element.error("has body and frame: give one of them")
        source, referring = self._source(values, element)
        content, original = self._content(source, values, element)
        values.alone("prefix")
        prefix = values.given["prefix"][0]
        inside = tree_names([content])
        following = referring.following(inside)
        self._take_copies(element, count_nodes(content) + len(following))
        if where.depth + depth_of(content) > self.deepest:
            raise element.error(f"bodies would be nested more than {self.deepest} deep, counting those attached")
        foreign = source is not self.document

        def rename(kind: str, name: str) -> str:
            return prefix + name if foreign or (kind, name) in inside else name

        moved = self._put_copy(content, rename, where, IDENTITY)
        copies, left_out = copy_referring(
            following, self.referring, inside, lambda kind, name: prefix + name, part=False
        )
        for node in left_out:
            self.notes.ignore(str(node.element), element, "it refers to what is not attached")
        if foreign:
            if (values.text("model"), prefix) not in self.assets:
                self.assets.add((values.text("model"), prefix))
                self._attach_assets(source, rename, element)
            self._leave_out(source, element)
            copies += body_pairs(original, moved)
            self.document.keyframes += attached(source.keyframes, copies, lambda name: prefix + name)

    def _leave_out(self, source: Document, element: Element) -> None:
        """Note what of an attached model does not come with it."""
        if source.options or source.gravity_element or source.disabled or source.enabled or source.other:
            self.notes.ignore("<option> of an attached model", element, "those of this file hold, as in MuJoCo")
        alone = [each.name for each in source.tuples if not any(references(each))]
        for name in (*(name for name, _ in source.custom), *alone):
            self.notes.ignore(f"custom '{name}'", element, "custom data of attached models is not read")

    def _source(self, values: Values, element: Element) -> tuple[Document, Referring]:
        """The document that an <attach> takes from, and what refers to what in it."""
        if not values.has("model"):
            return self.document, self.referring
        name = values.text("model")
        if name not in self.document.models:
            hint = did_you_mean(name, self.document.models)
            raise element.error(f"model '{name}' is not an asset{hint}: add <model name=... file=...>")
        source = self.document.models[name]
        if name not in self.sources:
            self.sources[name] = Referring(source)
        return source, self.sources[name]

    def _attach_assets(self, source: Document, rename: Rename, element: Element) -> None:
        """Take in the assets of another model, once for each prefix."""
        for part in ASSETS:
            self._take_copies(element, len(getattr(source, part)))
            known = {asset.name for asset in getattr(self.document, part)}
            for asset in getattr(source, part):
                copy = renamed(asset, rename)
                if copy.name not in known:
                    getattr(self.document, part).append(copy)

    def _content(self, source: Document, values: Values, element: Element) -> tuple[Body, Body]:
        """What is attached, on a body of its own, and what it is made of: a frame leaves those that it stands in."""
        if values.has("body"):
            name = values.text("body")
            for body in source.world.tree():
                if body.name == name and body is not source.world:
                    content = Body(element, None, self.compiler, bodies=[body])
                    return content, content
            raise element.error(f"body '{name}' is not in the model '{source.name}'")
        if values.has("frame"):
            name = values.text("frame")
            for frame in source.frames:
                if frame.name == name:
                    content = renamed(frame.content, lambda kind, label: label)
                    _leave_frame(content, frame.outer)
                    return content, frame.content
            raise element.error(f"frame '{name}' is not in the model '{source.name}'")
        if source is self.document:
            raise element.error("attaches nothing: give model, body or frame")
        content = Body(element, None, self.compiler, **{part: list(getattr(source.world, part)) for part in PARTS})
        return content, content


def moved_joint(joint, frame: Pose) -> None:
    """Take a joint from a frame to the frame that this one is given in."""
    if joint.kind != "free" and frame != IDENTITY:
        joint.position = apply(frame, joint.position)
        if joint.kind != "ball":
            joint.axis = quat_rotate(frame[3:], joint.axis)


def _leave_frame(content: Body, outer: Pose) -> None:
    back = inverse(outer)
    for joint in content.joints:
        moved_joint(joint, back)
    for part in (content.geoms, content.sites, content.bodies):
        for node in part:
            node.frame = compose(back, node.frame)
