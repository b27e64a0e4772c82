"""<default>: classes of attributes, each over its parent's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from simengine.builder.importers.mjcf.actuators import ActuatorFields, below, read_actuator
from simengine.builder.importers.mjcf.attributes import IGNORED_ELEMENTS, SHORTCUTS, TABLE
from simengine.builder.importers.mjcf.document import Compiler
from simengine.builder.importers.mjcf.values import Given, merged
from simengine.builder.importers.report import Notes
from simengine.builder.importers.xml_reader import Element
from simengine.errors import did_you_mean

MAIN = "main"
KINDS = ("mesh", "material", "joint", "geom", "site", "pair", "equality", "tendon")
PASSED_OVER = ("texture", "camera", "light")


@dataclass
class DefaultClass:
    """What a class gives: attributes for each kind of element, and the fields of actuators of any kind."""

    values: dict[str, Mapping[str, Given]] = field(default_factory=dict)
    actuator: ActuatorFields = field(default_factory=ActuatorFields)

    def of(self, kind: str) -> Mapping[str, Given]:
        """The attributes given to one kind of element."""
        return self.values.get(kind, {})


class Defaults:
    """The classes of one file, by name."""

    def __init__(self, compiler: Compiler, notes: Notes):
        self.compiler = compiler
        self.notes = notes
        self.classes = {MAIN: DefaultClass()}

    def read(self, element: Element) -> None:
        """Take in a top-level <default>; there may be several, which add up.

        Raises:
            AssetError: a class without a name, a name given twice, another name than main at the top.
        """
        name = element.attributes.get("class", MAIN) or MAIN
        if name != MAIN:
            raise element.error(f"the top-level default class is '{name}': it must be 'main', or have no name")
        waiting = [(element, MAIN)]
        while waiting:
            section, name = waiting.pop()
            self._section(section, self.classes[name])
            nested = []
            for child in section.all("default"):
                class_name = child.string("class")
                if class_name in self.classes:
                    raise child.error(f"default class '{class_name}' is defined already: use another name")
                above = self.classes[name]
                self.classes[class_name] = DefaultClass(dict(above.values), below(above.actuator))
                nested.append((child, class_name))
            waiting += reversed(nested)

    def _section(self, section: Element, into: DefaultClass) -> None:
        TABLE.check(self.notes, section, ("default", *KINDS, *SHORTCUTS, *PASSED_OVER))
        for child in section.children:
            if child.tag in KINDS:
                TABLE.check(self.notes, child, ())
                into.values[child.tag] = merged(into.of(child.tag), child)
            elif child.tag in SHORTCUTS:
                TABLE.check(self.notes, child, ())
                into.actuator = read_actuator(child, self.compiler, into.actuator)
            elif child.tag in PASSED_OVER:
                self.notes.ignore(f"<{child.tag}>", child, IGNORED_ELEMENTS[child.tag])
                self.notes.count_subtree(child, "ignored")

    def named(self, element: Element, name: str) -> DefaultClass:
        """The class of that name; refused where there is none."""
        if name not in self.classes:
            raise element.error(f"default class '{name}' is not defined{did_you_mean(name, self.classes)}")
        return self.classes[name]

    def of(self, element: Element, inherited: DefaultClass | None = None) -> DefaultClass:
        """The class that an element names, else ``inherited`` (default: main)."""
        name = element.attributes.get("class")
        if name:
            return self.named(element, name)
        return inherited or self.classes[MAIN]
