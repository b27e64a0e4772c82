"""Where a file named inside an asset may lie: inside the asset's root, or where the user allowed more.

The root is the nearest folder above the asset that is a ROS package (it holds ``package.xml``), else the asset's own
folder. ``package://NAME/rest`` looks for NAME in the user's package roots, then among the folders above the asset.
"""

from __future__ import annotations

import functools
import os
import re
import stat
from collections.abc import Iterable
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path

from simengine.errors import AssetError, ModelError

LEVELS = 6  # folders above an asset that are looked at for its package


class MissingFile(AssetError):
    """A file that an asset names, allowed but absent. An importer may go on without it where it only shows."""


def read_file(path: Path, cap: int) -> bytes:
    """The bytes of a regular file of at most ``cap`` bytes.

    Raises:
        AssetError: absent, not a regular file (folder, device, pipe, socket), larger than the cap or not readable.
    """
    try:
        # without O_NONBLOCK the opening of a pipe would wait for a writer
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise AssetError(f"cannot be opened: {reason}", file=str(path)) from None
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise AssetError("is not a regular file (a folder, device, pipe or socket)", file=str(path))
    with os.fdopen(descriptor, "rb") as file:
        if status.st_size > cap:
            raise AssetError(f"has {status.st_size} bytes, more than the cap of {cap}", file=str(path))
        data = file.read(cap + 1)
    if len(data) > cap:
        raise AssetError(f"has more bytes than the cap of {cap}", file=str(path))
    return data


@dataclass
class PathRules:
    """What the files that one asset names may be.

    Args:
        asset: path of the asset itself.
        package_roots: folders that hold packages (``package://NAME/...`` is NAME inside one of them), or the package
            folders themselves.
        allow_paths: True allows any place; a list of folders allows these besides the asset's root.
    """

    asset: Path
    package_roots: list[Path] = field(default_factory=list)
    allow_paths: bool | list[Path] = False

    def __post_init__(self):
        self.folder = Path(os.path.abspath(self.asset)).parent
        self.package_roots = [Path(os.path.abspath(root)) for root in _list(self.package_roots)]
        self.anywhere = self.allow_paths is True
        self.ancestors = _ancestors(self.folder)
        # what is asked of a folder once an import, as its files are many and a file system may be slow
        self._spelled: set[str] = set()  # folders that _check_case has passed
        self._names = functools.cache(_names)
        self._real_folder = functools.cache(os.path.realpath)
        extra = [] if isinstance(self.allow_paths, bool) else _list(self.allow_paths)
        allowed = [Path(os.path.abspath(root)) for root in extra]
        self.roots = [asset_root(self.folder), *allowed]
        for root in [*self.package_roots, *allowed]:
            if not root.is_dir():
                raise ModelError(f"'{root}' is not a folder", element="package_roots or allow_paths")

    def resolve(self, reference: str) -> Path:
        """The file that ``reference`` names.

        The errors say nothing of the line: who calls knows it, and adds it.

        Raises:
            MissingFile: the place is allowed but there is no such file or package.
            AssetError: refused: outside the roots, another scheme, a drive, backslash, percent code or control
                character, a name that differs in case only (the right one is told), or not a regular file.
        """
        self._check_text(reference)
        scheme, separator, rest = reference.partition("://")
        if separator:
            if scheme not in ("package", "model"):
                raise AssetError(f"'{reference}': only package:// and plain file names are read, not {scheme}://")
            name, _, inside = rest.partition("/")
            if name in ("", ".", "..") or not inside.strip("/"):
                raise AssetError(f"'{reference}' does not name a file in a package")
            root = self._package(name, reference)
            path, roots = root / inside.lstrip("/"), [root, *self.roots]
        else:
            path, roots = self.folder / reference, self.roots
        lexical = Path(os.path.normpath(path))
        self._confine(lexical, roots, reference)
        self._check_case(lexical, reference)
        real = self._real(lexical)
        self._confine(real, [Path(self._real_folder(root)) for root in roots], reference)
        try:
            mode = os.stat(real).st_mode
        except OSError:
            raise MissingFile(f"'{reference}' was not found (it is a link that leads nowhere)") from None
        if not stat.S_ISREG(mode):
            raise AssetError(f"'{reference}' is not a regular file (a folder, device, pipe or socket)")
        return real

    def _real(self, path: Path) -> Path:
        """Where ``path`` leads, links followed."""
        if path.is_symlink():
            return Path(os.path.realpath(path))
        return Path(self._real_folder(path.parent), path.name)

    def _check_text(self, reference: str) -> None:
        if any(ord(letter) < 32 or ord(letter) == 127 for letter in reference):
            raise AssetError(f"file name {reference!r} holds a control character")
        if "\\" in reference:
            raise AssetError(f"'{reference}' holds a backslash: write / between folders")
        if re.match(r"[A-Za-z]:", reference):
            raise AssetError(f"'{reference}' starts with a drive letter: write a path relative to the file")
        if re.match(r"[A-Za-z][A-Za-z0-9+.-]*:(?!//)", reference):
            raise AssetError(f"'{reference}': only package:// and plain file names are read")
        if re.search(r"%[0-9A-Fa-f]{2}", reference):
            raise AssetError(f"'{reference}' holds a percent code: write the name itself")

    def _package(self, name: str, reference: str) -> Path:
        for root in self.package_roots:
            if (root / name).is_dir():
                return root / name
            if root.name == name:
                return root
        for ancestor in self.ancestors:
            if ancestor.name == name:
                return ancestor
        raise MissingFile(
            f"package '{name}' of '{reference}' was not found: give the folder that holds it in package_roots "
            "(--package-root)"
        )

    def _confine(self, path: Path, roots: list[Path], reference: str) -> None:
        if self.anywhere or any(path.is_relative_to(root) for root in roots):
            return
        raise AssetError(
            f"'{reference}' leads to {path}, outside the asset's folder {roots[0]}: move it inside, or allow its "
            "folder with allow_paths=[...] (--allow-path)"
        )

    def _check_case(self, path: Path, reference: str) -> None:
        """Each part must be there as written, letter by letter: a file system that ignores case would hide it."""
        for place in (*reversed(path.parents), path):
            folder = place.parent
            if place == folder or str(place) in self._spelled:
                continue
            names = self._names(folder)  # empty where the folder may be entered but not listed
            if not os.path.lexists(place) or (names and place.name not in names):
                raise self._missing(folder, place.name, names, reference)
            if place != path:
                self._spelled.add(str(place))

    def _missing(self, folder: Path, part: str, names: list[str], reference: str) -> AssetError:
        message = f"'{reference}' was not found ('{part}' is not in {folder})"
        same = [name for name in names if name.casefold() == part.casefold()]
        if same:
            return AssetError(f"{message}: there is '{same[0]}', which differs in case: write it so")
        close = get_close_matches(part, names, n=1)
        return MissingFile(message + (f": did you mean '{close[0]}'?" if close else ""))


def asset_root(folder: Path) -> Path:
    """The nearest folder at or above ``folder`` that holds ``package.xml``, else ``folder`` itself."""
    for ancestor in _ancestors(folder):
        if (ancestor / "package.xml").is_file():
            return ancestor
    return folder


def _ancestors(folder: Path) -> list[Path]:
    """``folder`` and those above it, at most LEVELS, none that holds the user's home or a whole file system.

    A file may name any of them as its package and so read meshes below it: a home folder is too much to give away.
    """
    home = Path(os.path.expanduser("~"))
    result = []
    for ancestor in [folder, *folder.parents][:LEVELS]:
        if ancestor == ancestor.parent or home.is_relative_to(ancestor):
            break
        result.append(ancestor)
    return result


def _names(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def _list(value) -> list[Path]:
    items = [value] if isinstance(value, str | os.PathLike) else value
    if not isinstance(items, Iterable) or not all(isinstance(item, str | os.PathLike) for item in items):
        raise ModelError(f"is {value!r}; it must be a list of folders", element="package_roots or allow_paths")
    return [Path(item) for item in items]
