"""From the XML of an MJCF file to a Document: its sections in MuJoCo's order, the body tree last."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, field, replace

from simengine.builder.importers.mjcf.actuators import make_actuator, read_actuator
from simengine.builder.importers.mjcf.assets import read_hfield, read_material, read_mesh
from simengine.builder.importers.mjcf.attributes import SHORTCUTS, TABLE
from simengine.builder.importers.mjcf.constraints import (
    read_equality,
    read_exclude,
    read_pair,
    read_tendon,
    read_tuple,
)
from simengine.builder.importers.mjcf.defaults import Defaults
from simengine.builder.importers.mjcf.document import Body, Compiler, Document
from simengine.builder.importers.mjcf.includes import FileCount, expand_includes, greatest_depth
from simengine.builder.importers.mjcf.keyframes import KeyText, without_strays
from simengine.builder.importers.mjcf.names import Referring, check_names, unknown_references
from simengine.builder.importers.mjcf.options import read_compiler, read_option
from simengine.builder.importers.mjcf.sensors import SENSORS, read_sensor
from simengine.builder.importers.mjcf.tree import TreeReader
from simengine.builder.importers.mjcf.values import Values
from simengine.builder.importers.paths import PathRules
from simengine.builder.importers.report import Notes
from simengine.builder.importers.xml_reader import Element, XmlLimits, read_xml
from simengine.errors import AssetError

SECTIONS = (
    *("compiler", "option", "default", "custom", "asset", "contact", "equality", "tendon", "actuator", "sensor"),
    *("keyframe", "worldbody"),
)
MODELS_DEEP = 8  # models that attach models


@dataclass
class Context:
    """What the reading of a file and of the models that it attaches share."""

    paths: PathRules
    notes: Notes
    limits: XmlLimits | None
    copies: int
    depth: int = 0
    files: FileCount = field(default_factory=FileCount)


def parse_mjcf(path, context: Context, folder: str = "") -> Document:
    """Read a file; ``folder``: where it lies, relative to the main file.

    Raises:
        AssetError: it cannot be read, or is malformed: file, line and element.
    """
    root = read_xml(path, "mujoco", limits=context.limits)
    expand_includes(root, context.paths, folder, context.limits, context.files)
    TABLE.check(context.notes, root, SECTIONS)
    reader = _DocumentReader(root, context, folder)
    reader.read()
    check_names(reader.document)
    return reader.document


class _DocumentReader:
    def __init__(self, root: Element, context: Context, folder: str):
        self.root = root
        self.context = context
        self.notes = context.notes
        self.compiler = Compiler(folder=folder)
        world = Body(root, None, self.compiler)
        self.document = Document(root.attributes.get("model", ""), root, self.compiler, world)
        self.defaults = Defaults(self.compiler, self.notes)
        self.keys: list[KeyText] = []

    def read(self) -> None:
        for section in self.root.all("compiler"):
            TABLE.check(self.notes, section, ())
            read_compiler(section, self.compiler)
        for section in self.root.all("option"):
            read_option(section, self.document, self.notes)
        for section in self.root.all("default"):
            self.defaults.read(section)
        for tag, read in (
            ("custom", self._custom),
            ("asset", self._asset),
            ("contact", self._contact),
            ("equality", self._equality),
            ("tendon", self._tendon),
            ("actuator", self._actuator),
            ("sensor", self._sensor),
            ("keyframe", self._keyframe),
        ):
            for section in self.root.all(tag):
                for child in self._known(section, read):
                    read(child)
        depth = greatest_depth(self.context.limits)
        tree = TreeReader(self.document, self.defaults, self.notes, self.context.copies, depth)
        for section in self.root.all("worldbody"):
            tree.read(section)
        tree.finish()
        self.context.copies = tree.copies
        self._leave_out()

    def _leave_out(self) -> None:
        """What refers to actuators of plugins goes with them; keyframes go where coordinates or inputs are left out."""
        plugins = [child for section in self.root.all("actuator") for child in section.all("plugin")]
        names = {("actuator", child.attributes["name"]) for child in plugins if child.attributes.get("name")}
        referring = Referring(self.document)
        for node in referring.remove(names):
            self.notes.ignore(
                str(node.element), node.element, "it refers to an actuator of a plugin, which is not read"
            )
        deformable = _holds(self.root, DEFORMABLE)
        if deformable:  # they bring bodies of their own
            for node in referring.remove(unknown_references(self.document)):
                self.notes.ignore(str(node.element), node.element, "it refers to a part of a deformable body")
        referring.purge()
        if plugins or deformable:
            for key in self.keys:
                reason = "some of its numbers belong to what is not read"
                self.notes.ignore("<key>", key.values.element, reason)
        else:  # those of attached models follow
            self.document.keyframes[:0] = [key.resolve(self.document) for key in self.keys]
        for key in without_strays(self.document):
            self.notes.ignore("<key>", key.element, "it belongs to a model that is attached inside of a replica")

    def _known(self, section: Element, read) -> list[Element]:
        """The children of a section that are read; others are noted."""
        known = KNOWN[section.tag]
        TABLE.check(self.notes, section, known)
        return [child for child in section.children if child.tag in known]

    def _check(self, element: Element, children: tuple[str, ...] = (), kind: str = "") -> None:
        TABLE.check(self.notes, element, children, kind)

    def _values(self, element: Element, kind: str) -> Values:
        return Values(element, self.compiler, self.defaults.of(element).of(kind))

    def _asset(self, child: Element) -> None:
        self._check(child, ("plugin", "layer") if child.tag == "material" else ())
        if child.tag == "mesh":
            self.document.meshes.append(read_mesh(self._values(child, "mesh")))
        elif child.tag == "hfield":
            self.document.hfields.append(read_hfield(Values(child, self.compiler)))
        elif child.tag == "material":
            self.document.materials.append(read_material(self._values(child, "material")))
        else:
            self._model(child)

    def _model(self, element: Element) -> None:
        if self.context.depth >= MODELS_DEEP:
            raise element.error(f"models attach models more than {MODELS_DEEP} deep")
        reference = posixpath.join(self.compiler.folder, element.string("file"))
        try:
            path = self.context.paths.resolve(reference)
        except AssetError as error:
            raise element.error(str(error)) from None
        self.context.files.take(element)
        self.context.depth += 1
        model = parse_mjcf(path, self.context, posixpath.dirname(reference))
        self.context.depth -= 1
        name = element.attributes.get("name") or model.name
        if not name or name in self.document.models:
            raise element.error(f"the model name '{name}' is empty or taken: give it another name")
        self.document.models[name] = model

    def _contact(self, child: Element) -> None:
        self._check(child)
        if child.tag == "pair":
            self.document.pairs.append(read_pair(self._values(child, "pair")))
        else:
            self.document.excludes.append(read_exclude(Values(child, self.compiler)))

    def _equality(self, child: Element) -> None:
        kind = {"joint": "equality joint", "tendon": "equality tendon"}.get(child.tag, "")
        self._check(child, kind=kind)
        self.document.equalities.append(read_equality(self._values(child, "equality")))

    def _tendon(self, child: Element) -> None:
        steps = ("joint",) if child.tag == "fixed" else ("site", "geom", "pulley")
        self._check(child, steps)
        for step in child.children:
            if step.tag in steps:
                self._check(step, kind="pulley" if step.tag == "pulley" else f"tendon {step.tag}")
        self.document.tendons.append(read_tendon(self._values(child, "tendon"), steps, self.notes))

    def _actuator(self, child: Element) -> None:
        self._check(child)
        fields = read_actuator(child, self.compiler, self.defaults.of(child).actuator)
        self.document.actuators.append(make_actuator(child, self.compiler, fields, self.notes))

    def _sensor(self, child: Element) -> None:
        self._check(child, ("config",) if child.tag == "plugin" else (), "sensor")
        self.document.sensors.append(read_sensor(Values(child, self.compiler)))

    def _keyframe(self, child: Element) -> None:
        self._check(child)
        self.keys.append(KeyText(Values(child, self.compiler)))

    def _custom(self, child: Element) -> None:
        values = Values(child, self.compiler)
        name = values.text("name")
        if child.tag == "tuple":
            self._check(child, ("element",))
            for member in child.all("element"):
                self._check(member, kind="tuple element")
            self.document.tuples.append(read_tuple(values))
            return
        if child.tag == "text":  # MJCF takes the data as an attribute or as text
            self._check(replace(child, text=""))
            self.document.custom.append((name, values.given["data"][0] if values.has("data") else child.text))
            return
        self._check(child)
        numbers = values.list("data") or ()
        size = values.whole("size", len(numbers), lowest=0)
        if not len(numbers) <= size <= 1_000_000:
            raise child.error(f"size is {size} for {len(numbers)} numbers: it must be as large, and below a million")
        self.document.custom.append((name, (*numbers, *(0.0,) * (size - len(numbers)))))


DEFORMABLE = ("flexcomp", "composite", "flex")
"""Elements that would bring coordinates of their own."""


def _holds(root: Element, tags: tuple[str, ...]) -> bool:
    """Whether an element of one of these tags stands anywhere."""
    stack = [root]
    while stack:
        element = stack.pop()
        if element.tag in tags:
            return True
        stack += element.children
    return False


KNOWN = {
    "custom": ("numeric", "text", "tuple"),
    "asset": ("mesh", "hfield", "material", "model"),
    "contact": ("pair", "exclude"),
    "equality": ("connect", "weld", "joint", "tendon"),
    "tendon": ("spatial", "fixed"),
    "actuator": tuple(SHORTCUTS),
    "sensor": SENSORS,
    "keyframe": ("key",),
}
"""The children of each section that are read."""
