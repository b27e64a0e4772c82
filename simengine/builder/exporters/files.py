"""Files that appear whole: written beside their places, then renamed; a failed export leaves nothing behind."""

from __future__ import annotations

import os
import re
from pathlib import Path

from simengine.errors import AssetError, ModelError, warn_user
from simengine.files import cannot_write, write_beside

OURS = re.compile(r"[A-Za-z0-9_-]+-[0-9a-f]{10}\.obj")
"""Names of meshes as exports give them: a stem and the content's digest."""
NAMING = (".xml", ".mjcf", ".urdf")
"""Endings of main files, any of which may name meshes of a folder beside it."""


class NewFiles:
    """The main file of an export and those that it names.

    Those are named by their content, so that a file of one name always holds the same, and are renamed before the
    main file: whoever reads a main file, old or new, finds the files that belong to it. Then meshes of an older export
    are removed from the folder ``STEM_meshes``: files with names as exports give them, that neither this main file nor
    another of the same folder (``NAMING``) names.
    """

    def __init__(self, path: str | os.PathLike, suffixes: tuple[str, ...], caller: str):
        """ModelError where ``path`` is none, or does not end in one of ``suffixes``."""
        if not isinstance(path, str | os.PathLike):
            raise ModelError(f"is {path!r}; it must be a path, as a str or a Path", element=f"{caller}, path")
        if "\0" in os.fspath(path):
            raise AssetError("cannot be written: its name holds a null character", file=path)
        self.path = Path(path)
        if self.path.suffix.lower() not in suffixes:
            raise ModelError(f"is {os.fspath(path)!r}; it must end in {', '.join(suffixes)}", element=f"{caller}, path")
        if os.path.isdir(path):
            raise ModelError(f"{os.fspath(path)!r} is a folder; name a file in it", element=f"{caller}, path")
        self.folder = f"{self.path.stem}_meshes"
        self.others: dict[str, bytes] = {}

    def add(self, name: str, data: bytes) -> str:
        """A further file; returns its path from the main file, with forward slashes."""
        relative = f"{self.folder}/{name}"
        self.others[relative] = data
        return relative

    def write(self, main: bytes) -> list[str]:
        """Write everything; returns the paths, the main one last. Raises AssetError where that cannot be done."""
        targets = [(self.path.parent / name, data) for name, data in self.others.items()] + [(self.path, main)]
        folder = self.path.parent / self.folder
        made = bool(self.others) and not folder.exists()
        temporary: list[tuple[Path, Path]] = []
        try:
            if self.others:
                folder.mkdir(exist_ok=True)
            for target, data in targets:
                temporary.append((write_beside(target, lambda file, data=data: file.write(data)), target))
            while temporary:
                os.replace(*temporary[0])
                temporary.pop(0)
        except OSError as error:
            raise cannot_write(self.path, error) from error
        finally:
            for name, _ in temporary:
                os.unlink(name)
            if made and folder.is_dir() and not any(folder.iterdir()):
                folder.rmdir()
        self._remove_old(folder)
        return [os.fspath(target) for target, _ in targets]

    def _remove_old(self, folder: Path) -> None:
        """Remove meshes that no main file names any more; warns where that cannot be done."""
        if folder.is_symlink() or not folder.is_dir():
            return
        named = {Path(name).name for name in self.others}
        try:
            old = {file.name for file in folder.iterdir() if OURS.fullmatch(file.name)} - named
            for other in self.path.parent.iterdir() if old else ():
                if other.suffix.lower() in NAMING and other != self.path and other.is_file():
                    old -= {name.decode() for name in re.findall(OURS.pattern.encode(), other.read_bytes())}
            for name in old:
                (folder / name).unlink()
            if old and not any(folder.iterdir()):
                folder.rmdir()
        except OSError as error:
            warn_user(f"{folder}: meshes of an older export stay: {error.strerror}")
