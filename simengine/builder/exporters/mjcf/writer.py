"""What all parts of an MJCF export share: the document as it grows, and the names in it."""

from __future__ import annotations

from xml.etree import ElementTree

from simengine.builder.elements import KINDS, WORLD
from simengine.builder.exporters.files import NewFiles
from simengine.builder.exporters.mesh_files import MeshFiles
from simengine.builder.exporters.mjcf.joints import FileJoint
from simengine.builder.exporters.names import Names, xml_name
from simengine.builder.exporters.report import ExportNotes
from simengine.builder.exporters.scene import Scene
from simengine.builder.exporters.xml_text import Node

SECTIONS = (
    "compiler",
    "option",
    "custom",
    "asset",
    "worldbody",
    "contact",
    "equality",
    "tendon",
    "actuator",
    "sensor",
    "keyframe",
)
RESERVED = {"body": ("world",)}
UNNOTICED = ("mesh", "height field")
"""What is no element of a builder, so that its name does not matter."""


class Writer:
    """An MJCF document.

    Attributes:
        names: of elements of the scene in the file, by kind ("body", ...) and index; what is left out has none, and
            joints have those of ``joints``.
        nodes: the XML elements of bodies by index, WORLD too. joints: all joints of the file, in MuJoCo's order.
    """

    def __init__(self, scene: Scene, notes: ExportNotes, files: NewFiles, name: str):
        self.scene, self.notes, self.meshes = scene, notes, MeshFiles(files)
        self.root = ElementTree.Element("mujoco", model=name)
        self._sections: dict[str, Node] = {}
        self._names = {
            kind: Names(kind, None if kind in UNNOTICED else notes, xml_name, RESERVED.get(kind, ()))
            for kind in (*KINDS.values(), *UNNOTICED, "custom value")
        }
        self.names: dict[tuple[str, int], str] = {("body", WORLD): "world"}
        self.nodes: dict[int, Node] = {WORLD: self.section("worldbody")}
        self.joints: list[FileJoint] = []

    def section(self, tag: str) -> Node:
        """The section with this tag."""
        if tag not in self._sections:
            self._sections[tag] = ElementTree.Element(tag)
        return self._sections[tag]

    def name(self, kind: str, label: str, index: int | None = None) -> str:
        """A new name of a kind of thing; that of element ``index`` where it is one."""
        name = self._names[kind].take(label)
        if index is not None:
            self.names[kind, index] = name
        return name

    def joint_name(self, joint: int, dof: int = 0) -> str | None:
        """The file's joint of a degree of freedom; None where it has none."""
        count = {"free": 6, "ball": 3}
        for one in self.joints:
            if one.joint == joint and one.first <= dof < one.first + count.get(one.kind, 1):
                return one.name
        return None

    def find(self, kind: str, index: int, dof: int = 0) -> str | None:
        """The name of an element, or of a degree of freedom of a joint; None where it is not in the file."""
        return self.joint_name(index, dof) if kind == "joint" else self.names.get((kind, index))

    def finish(self) -> Node:
        """The whole document."""
        self.root.extend(self._sections[tag] for tag in SECTIONS if tag in self._sections and self._filled(tag))
        return self.root

    def _filled(self, tag: str) -> bool:
        section = self._sections[tag]
        return len(section) > 0 or bool(section.attrib) or tag == "worldbody"
