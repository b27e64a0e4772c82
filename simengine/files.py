"""Files that appear whole: written beside their places and then renamed, so that nobody sees half of one."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from simengine.errors import AssetError, ModelError


def as_path(path) -> Path:
    """``path`` as a Path; ModelError for what names no file."""
    if not isinstance(path, str | os.PathLike):
        raise ModelError(f"a file is named by a str or a Path, got {type(path).__name__}")
    return Path(path)


def write_new(path: str | os.PathLike, write: Callable[[BinaryIO], None]) -> None:
    """Write a file anew: ``write`` is given the opened file. On an error what stood at ``path`` stays.

    Raises AssetError, naming ``path``, where it cannot be written.
    """
    path = as_path(path)
    try:
        beside = write_beside(path, write)
        try:
            os.replace(beside, path)
        except BaseException:
            os.unlink(beside)
            raise
    except OSError as error:
        raise cannot_write(path, error) from error


def write_beside(path: Path, write: Callable[[BinaryIO], None]) -> Path:
    """A new file in the folder of ``path``, on the disk and with the modes of any new file, to be renamed to it.

    ``write`` is given the opened file. Raises OSError, and leaves nothing behind on any error.
    """
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o666 & ~_umask())
    except BaseException:
        os.unlink(name)
        raise
    return Path(name)


def cannot_write(path: Path, error: OSError) -> AssetError:
    """What a user is told of a file that could not be written."""
    reason = (error.strerror or error) if os.path.isdir(path.parent) else f"there is no folder {path.parent}"
    return AssetError(f"cannot be written: {reason}", file=path)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
