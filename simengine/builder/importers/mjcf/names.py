"""Names in an MJCF document: copies of elements under other names, and references between elements."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import fields

from simengine.builder.importers.mjcf import document as doc
from simengine.builder.importers.mjcf.document import WORLD_NAME, Document, Node, Reference
from simengine.errors import did_you_mean, shortened

KINDS: dict[type, str] = {
    doc.Body: "body",
    doc.Joint: "joint",
    doc.Geom: "geom",
    doc.Site: "site",
    doc.Tendon: "tendon",
    doc.Actuator: "actuator",
    doc.Sensor: "sensor",
    doc.Equality: "equality",
    doc.Pair: "pair",
    doc.Exclude: "exclude",
    doc.Tuple: "tuple",
    doc.Keyframe: "keyframe",
    doc.MeshAsset: "mesh",
    doc.HeightAsset: "hfield",
    doc.Material: "material",
}
"""The namespace of each class of elements."""

REFERRING = ("pairs", "excludes", "tendons", "equalities", "actuators", "sensors", "tuples")
"""Lists of a document whose elements refer to others, those that are referred to first."""
ASSETS = ("meshes", "hfields", "materials")
SHARED = ("element", "compiler")
Rename = Callable[[str, str], str]
"""(kind, name) -> new name."""


def renamed(value, rename: Rename):
    """A copy of an element with all that is in it, names and references changed."""
    if isinstance(value, Reference):
        return Reference(value.kind, rename(value.kind, value.name))
    if isinstance(value, list | tuple):
        return type(value)(renamed(item, rename) for item in value)
    if isinstance(value, doc.Body):
        return _renamed_tree(value, rename)
    return _renamed_fields(value, rename) if isinstance(value, Node | doc.PathStep) else value


def _renamed_tree(root: doc.Body, rename: Rename) -> doc.Body:
    """A copy of a body and of all below it, which may be deep."""
    result = _renamed_fields(root, rename)
    stack = [result]
    while stack:
        body = stack.pop()
        body.bodies = [_renamed_fields(child, rename) for child in body.bodies]
        stack += body.bodies
    return result


def _renamed_fields(value: Node | doc.PathStep, rename: Rename):
    """A copy of one element; of a body with those below it as they are."""
    left = (*SHARED, "bodies") if isinstance(value, doc.Body) else SHARED
    result = copy.copy(value)
    for part in fields(value):
        content = getattr(value, part.name)
        if part.name == "name":
            result.name = content and rename(KINDS[type(value)], content)
        elif part.name not in left and isinstance(content, Reference | Node | list | tuple):
            setattr(result, part.name, renamed(content, rename))
    return result


def references(value) -> Iterator[Reference]:
    """All references in an element."""
    if isinstance(value, Reference):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            if not isinstance(item, float | str):
                yield from references(item)
    elif isinstance(value, Node | doc.PathStep):
        for part in fields(value):
            if part.name not in SHARED:
                yield from references(getattr(value, part.name))


def tree_names(bodies: list[doc.Body]) -> set[tuple[str, str]]:
    """(kind, name) of all that is named on these bodies and below them."""
    result = set()
    for root in bodies:
        for body in root.tree():
            for node in (body, *body.joints, *body.geoms, *body.sites):
                if node.name:
                    result.add((KINDS[type(node)], node.name))
    return result


def count_nodes(content: doc.Body) -> int:
    """How many elements stand on a body and below it, itself left out."""
    bodies = list(content.tree())
    return len(bodies) - 1 + sum(len(body.joints) + len(body.geoms) + len(body.sites) for body in bodies)


def depth_of(content: doc.Body) -> int:
    """How many bodies stand below each other on a body, itself left out."""
    deepest, stack = 0, [(content, 0)]
    while stack:
        body, depth = stack.pop()
        deepest = max(deepest, depth)
        stack += [(child, depth + 1) for child in body.bodies]
    return deepest


class Referring:
    """What in a document refers to what: found by the names that it refers to, without a walk over all.

    ``add`` and ``remove`` keep it current; those that are removed leave the document's lists with ``purge``.
    """

    def __init__(self, document: Document):
        self.document = document
        self.removed: set[int] = set()  # ids of nodes, which the lists of the document keep alive until they are purged
        self.by_name: dict[tuple[str, str], list[tuple[int, int, Node]]] = {}
        self.count = 0
        for part, name in enumerate(REFERRING):
            for node in getattr(document, name):
                self._index(part, node)

    def _index(self, part: int, node: Node) -> None:
        for key in {(reference.kind, reference.name) for reference in references(node)}:
            self.by_name.setdefault(key, []).append((part, self.count, node))
        self.count += 1

    def add(self, part: int, node: Node) -> None:
        """Append an element to a list of the document, number ``part`` of REFERRING."""
        getattr(self.document, REFERRING[part]).append(node)
        self._index(part, node)

    def following(self, names: set[tuple[str, str]]) -> list[tuple[int, Node]]:
        """(list, element) of what refers to one of these names or to what does, in the document's order."""
        found: dict[int, tuple[int, int, Node]] = {}
        waiting = list(names)
        while waiting:
            for entry in self.by_name.get(waiting.pop(), ()):
                node = entry[2]
                if id(node) not in found and id(node) not in self.removed:
                    found[id(node)] = entry
                    if node.name:
                        waiting.append((KINDS[type(node)], node.name))
        return [(part, node) for part, _, node in sorted(found.values(), key=lambda entry: entry[:2])]

    def remove(self, names: set[tuple[str, str]]) -> list[Node]:
        """Remove what refers to one of these names, and what refers to that; returns what was removed."""
        nodes = [node for _, node in self.following(names)]
        self.removed |= set(map(id, nodes))
        return nodes

    def purge(self) -> None:
        """Take what was removed out of the lists of the document."""
        if self.removed:
            for name in REFERRING:
                nodes = getattr(self.document, name)
                nodes[:] = [node for node in nodes if id(node) not in self.removed]


def copy_referring(
    following: list[tuple[int, Node]], target: Referring, inside: set[tuple[str, str]], rename: Rename, part: bool
):
    """Copy into ``target`` what refers to something ``inside``, with the names of these changed.

    ``following``: what may, as ``Referring.following`` finds it. ``part``: what also refers to something outside is
    copied too (it keeps that reference); else it is left out. Names of what is copied join ``inside``, so that
    actuators follow their tendons. Returns pairs (original, copy), and the elements left out.
    """
    copies: list[tuple[Node, Node]] = []
    left_out: list[Node] = []

    def change(kind: str, name: str) -> str:
        return rename(kind, name) if (kind, name) in inside else name

    for number, node in following:
        refers = [(ref.kind, ref.name) in inside for ref in references(node) if ref.name != WORLD_NAME]
        if not any(refers):
            continue
        if not (part or all(refers)):
            left_out.append(node)
            continue
        if node.name:
            inside.add((KINDS[type(node)], node.name))
        copies.append((node, renamed(node, change)))
        target.add(number, copies[-1][1])
    return copies, left_out


def all_nodes(document: Document) -> Iterator[Node]:
    """Every element that has a name of its own."""
    for name in (*ASSETS, *REFERRING, "keyframes"):
        yield from getattr(document, name)
    for body in document.world.tree():
        if body is not document.world:
            yield body
        yield from (*body.joints, *body.geoms, *body.sites)


def unknown_references(document: Document) -> set[tuple[str, str]]:
    """(kind, name) of references that lead nowhere."""
    known = {(KINDS[type(node)], node.name) for node in all_nodes(document)} | {("body", WORLD_NAME)}
    found = {(ref.kind, ref.name) for part in REFERRING for node in getattr(document, part) for ref in references(node)}
    return found - known


def check_names(document: Document) -> None:
    """That names of one kind differ and that references lead somewhere; AssetError with the line otherwise."""
    known: dict[tuple[str, str], Node] = {("body", WORLD_NAME): document.world}
    for node in all_nodes(document):
        if node.name:
            key = (KINDS[type(node)], node.name)
            if key in known:
                first = known[key].element
                raise node.element.error(f"the {key[0]} name '{node.name}' is taken ({first} line {first.line})")
            known[key] = node
    for node in all_nodes(document):
        if isinstance(node, doc.Body | doc.Keyframe):
            continue  # what they hold comes by itself
        for reference in references(node):
            if (reference.kind, reference.name) not in known:
                names = [name for kind, name in known if kind == reference.kind]
                hint = did_you_mean(reference.name, names) or f"; there are {shortened(names) or 'none'}"
                raise node.element.error(f"{reference.kind} '{reference.name}' is not in the file{hint}")
