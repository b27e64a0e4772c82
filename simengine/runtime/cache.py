"""The cache of compiled kernels: files named by the hash of all that they were made from.

The folder is ``$SIMENGINE_CACHE_DIR``, else ``simengine`` in ``$XDG_CACHE_HOME`` or ``~/.cache``. What lies in it is
loaded as code, so it is used only if it is a folder of this user, not a link, and not writable by others; else
a private temporary one takes its place, and a warning says so once. Files are written beside and renamed.

A file is named by the key, a hash of its content and what was compiled. So one that a crash or a full disk left damaged
is known before it is loaded, and made anew.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import shutil
import stat
import tempfile
import threading
import time
from pathlib import Path

from simengine.errors import warn_user

log = logging.getLogger("simengine")

SUFFIXES = (".so", ".cubin")
MESH_SUFFIX = ".npz"  # found of meshes: builder/meshes/cache.py, builder/importers/overlaps.py

LEFTOVER_AGE = 3600.0
"""s after which the folder of a compilation whose process is gone is removed. A compilation takes seconds."""

_lock = threading.Lock()
_chosen: dict[str, Path] = {}
_private: list[tempfile.TemporaryDirectory] = []


def wanted_folder() -> Path:
    """The folder that the environment asks for; a relative one is below where this process is."""
    if named := os.environ.get("SIMENGINE_CACHE_DIR"):
        return Path(os.path.abspath(named))
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(os.path.abspath(home), "simengine")


def folder() -> Path:
    """The folder in use: the wanted one where it is safe and writable, else a private temporary one. Where it was
    removed meanwhile it is made again."""
    wanted = wanted_folder()
    with _lock:
        key = f"{os.getpid()}:{wanted}"
        if key not in _chosen or not _chosen[key].is_dir():
            problem = _problem(wanted)
            _chosen[key] = _private_folder(wanted, problem) if problem else wanted
            _remove_leftovers(_chosen[key])
        return _chosen[key]


def _problem(path: Path) -> str | None:
    """Why a folder cannot be used (it is made where it does not exist), or None."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        facts = path.lstat()
    except OSError as error:
        return f"cannot be made ({error.strerror})"
    if stat.S_ISLNK(facts.st_mode):
        return "is a link"
    if not stat.S_ISDIR(facts.st_mode):
        return "is not a folder"
    if hasattr(os, "getuid") and facts.st_uid != os.getuid():
        return f"belongs to user {facts.st_uid}, not to you"
    if facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"can be written by others (mend: chmod 700 {path})"
    try:
        handle, name = tempfile.mkstemp(dir=path)
        os.close(handle)
        os.unlink(name)
    except OSError as error:
        return f"cannot be written ({error.strerror})"
    return None


def _private_folder(wanted: Path, problem: str) -> Path:
    warn_user(
        f"the kernel cache {wanted} {problem}: kernels are compiled anew in this process; set SIMENGINE_CACHE_DIR to a "
        "folder of your own to keep them",
        RuntimeWarning,
    )
    _private.append(tempfile.TemporaryDirectory(prefix="simengine-"))
    return Path(_private[-1].name)


def key_of(*parts: str) -> str:
    """A full hash (SHA-256) of texts, in order and with their borders."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8")
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()


def find(key: str, suffix: str) -> Path | None:
    """The cached file of a key, or None. A damaged one is removed."""
    for path in sorted(folder().glob(f"{key}-*{suffix}")):
        try:
            is_file = stat.S_ISREG(path.lstat().st_mode)
            if is_file and _digest(path) == path.name.split("-")[1]:
                return path
        except OSError:  # removed meanwhile
            continue
        if is_file:
            log.warning("the cached kernel %s is damaged: it is compiled again", path)
            path.unlink(missing_ok=True)
    return None


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:32]


def work_folder() -> tempfile.TemporaryDirectory:
    """A folder for one compilation, on the file system of the cache so that its result can be renamed into place."""
    return tempfile.TemporaryDirectory(prefix=work_prefix(), dir=folder())


def work_prefix() -> str:
    """How the names of this process's work folders begin."""
    return f"work-{os.getpid()}-"


def _remove_leftovers(place: Path) -> None:
    """Remove work folders of processes that are gone: of this machine, as far as age tells."""
    for path in place.glob("work-*"):
        try:
            is_old = time.time() - path.lstat().st_mtime > LEFTOVER_AGE
        except OSError:  # gone meanwhile
            continue
        if is_old and not _is_used(path):
            shutil.rmtree(path, ignore_errors=True)


def _is_used(work: Path) -> bool:
    """Whether the process that made a work folder runs, as far as this machine can tell."""
    number = work.name.split("-")[1]
    return number.isdecimal() and _is_running(int(number))


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # another user's
        return True
    return True


def store(key: str, suffix: str, made: Path, label: str = "") -> Path:
    """Move a finished file into the cache. ``label``: what it was compiled from.

    Several processes may store the same key: the last one stands.
    """
    path = folder() / f"{key}-{_digest(made)}-{re.sub('[^A-Za-z0-9._]+', '+', label)[:80]}{suffix}"
    with open(made, "rb") as file:
        os.fsync(file.fileno())
    os.chmod(made, 0o700)
    os.replace(made, path)
    return path


def entries() -> list[dict]:
    """What the cache holds: ``name`` of the file, ``label`` (what it was compiled from), ``kind`` ("cpu" or "gpu"),
    ``bytes`` and ``modified`` (seconds since 1970)."""
    found = []
    for path in sorted(folder().iterdir()):
        if path.suffix in SUFFIXES:
            facts = path.stat()
            found.append(
                {
                    "name": path.name,
                    "label": path.stem.split("-", 2)[-1].replace("+", " "),
                    "kind": "cpu" if path.suffix == ".so" else "gpu",
                    "bytes": facts.st_size,
                    "modified": facts.st_mtime,
                }
            )
    return found


def clear() -> int:
    """Remove all that is cached, and leftovers of broken compilations; returns how many compiled kernels there were.
    What processes that run are compiling stays."""
    count = 0
    for path in list(folder().iterdir()):
        if path.suffix in SUFFIXES:
            path.unlink(missing_ok=True)
            count += 1
        elif path.suffix == MESH_SUFFIX and path.is_file():
            path.unlink(missing_ok=True)
        elif path.is_dir() and not path.is_symlink() and _is_leftover(path):
            shutil.rmtree(path, ignore_errors=True)
    return count


def _is_leftover(path: Path) -> bool:
    return path.name == "zig" or (path.name.startswith("work-") and not _is_used(path))
