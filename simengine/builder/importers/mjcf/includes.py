"""<include>: elements of other files in the place of an element that names them."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from simengine.builder.importers.paths import MissingFile, PathRules
from simengine.builder.importers.xml_reader import Element, XmlLimits, read_xml
from simengine.errors import AssetError

FILES = 200  # that one file includes and attaches, and those in turn
DEPTH = 128  # of elements, includes in place, and of bodies: reading them goes that deep on the stack


@dataclass
class FileCount:
    """How many files one import has included and attached."""

    count: int = 0

    def take(self, element: Element) -> None:
        """Count the file that ``element`` names; AssetError above the cap."""
        self.count += 1
        if self.count > FILES:
            raise element.error(f"more than {FILES} files are included and attached: put them together")


def greatest_depth(limits: XmlLimits | None) -> int:
    """How deep elements may stand once includes are in place."""
    return min((limits or XmlLimits()).depth, DEPTH)


def expand_includes(root: Element, paths: PathRules, folder: str, limits: XmlLimits | None, files: FileCount) -> None:
    """Replace each <include> below ``root`` by the children of the root element (of any name) of the file it names.

    A file is looked for in ``folder``, that of the main file, then in that of the file that includes it. As in MuJoCo
    a file may be included once, so there are no cycles.

    Raises:
        AssetError: a file that is absent, outside the asset's folder, empty, included twice, or not XML; too many
            files; elements that stand too deep.
    """
    _Includes(paths, folder, limits, Path(root.file), files).expand(root)


class _Includes:
    """``known``: files read so far, the main one included."""

    def __init__(self, paths: PathRules, folder: str, limits: XmlLimits | None, main: Path, files: FileCount):
        self.paths, self.folder, self.limits, self.files = paths, folder, limits, files
        self.known = {main.resolve()}

    def expand(self, root: Element) -> None:
        deepest = greatest_depth(self.limits)
        waiting = [(root, self.folder, 1)]
        while waiting:
            parent, here, depth = waiting.pop()
            if depth > deepest:
                raise parent.error(f"elements are nested more than {deepest} deep, counting those that are included")
            expanded = list(self._children(parent, here))
            parent.children = [child for child, _ in expanded]
            waiting += [(child, folder, depth + 1) for child, folder in expanded]

    def _children(self, parent: Element, here: str) -> Iterator[tuple[Element, str]]:
        """The children of an element, those that it includes in place, each with the folder of its file."""
        for child in parent.children:
            if child.tag == "include":
                yield from self._children(*self._included(child, here))
            else:
                yield child, here

    def _included(self, element: Element, here: str) -> tuple[Element, str]:
        """The root of the file that an <include> names, and the folder of that file."""
        name = element.string("file")
        if element.children:
            raise element.error("has children: an include is empty")
        self.files.take(element)
        path, folder = self._find(element, name, here)
        if path in self.known:
            raise element.error(f"file '{name}' is included already, or includes itself: each may be included once")
        self.known.add(path)
        try:
            root = read_xml(path, None, limits=self.limits)
        except AssetError as error:
            raise element.error(f"included file: {error}") from None
        if not root.children:
            raise element.error(f"the included file '{name}' holds no elements")
        return root, folder

    def _find(self, element: Element, name: str, here: str) -> tuple[Path, str]:
        for folder in dict.fromkeys((self.folder, here)):
            reference = posixpath.join(folder, name)
            try:
                return self.paths.resolve(reference), posixpath.dirname(reference)
            except MissingFile as error:
                missing = error
            except AssetError as error:
                raise element.error(str(error)) from None
        raise element.error(str(missing))
