"""Files that the command line is given: which format they are, and how they are read and written."""

from __future__ import annotations

import functools
import os
import re
from pathlib import Path

from simengine.errors import AssetError, ModelError, did_you_mean

SUFFIXES = {
    ".urdf": "urdf",
    ".mjcf": "mjcf",
    ".xml": "mjcf",
    **dict.fromkeys((".usd", ".usda", ".usdc", ".usdz"), "usd"),
}
"""Format by the ending of a file; an ``.xml`` whose root element is ``robot`` is URDF all the same."""

PROLOGUE_BYTES = 1 << 16
"""How much of an ``.xml`` is looked through for its root element."""
BLANKS = re.compile(rb"(?:\xef\xbb\xbf)?\s*")
PROLOGUE = {b"<?": b"?>", b"<!--": b"-->"}
"""What may stand before the root element: how it begins, and how it ends."""
NAME = re.compile(rb"<([^\s/>]+)")


def read_into(builder, name: str, options, **import_options):
    """Read the file or robot ``name`` into a builder; returns its ImportReport.

    ``options``: of the command line, those of ``_add_file``. A file outside the working folder is read in a process of
    its own, unless it is trusted. ``import_options``: of the importer; those of URDF alone are left out for others.
    """
    for option in ("package_root", "allow_path"):
        for folder in getattr(options, option):
            if not os.path.isdir(folder):
                raise ModelError(f"there is no folder {folder!r}", element=f"--{option.replace('_', '-')}")
    path = find_robot(name)
    kind = format_of(path)
    if kind != "urdf":
        import_options = {key: value for key, value in import_options.items() if key != "floating"}
    return getattr(builder, f"add_{kind}")(
        path,
        package_roots=options.package_root,
        allow_paths=options.allow_path,
        untrusted=not (options.trust or is_own(path)),
        strict=options.strict,
        **import_options,
    )


def format_of(path: Path) -> str:
    """ "urdf", "mjcf" or "usd"; AssetError for another ending."""
    kind = SUFFIXES.get(path.suffix.lower())
    if path.suffix.lower() == ".xacro":
        raise AssetError("is a xacro file, not yet a URDF: run 'xacro FILE.xacro > FILE.urdf' first", file=str(path))
    if kind is None:
        raise AssetError(f"is of no kind that is read: its ending must be one of {', '.join(SUFFIXES)}", file=str(path))
    if path.suffix.lower() == ".xml":
        with path.open("rb") as file:
            kind = "urdf" if root_name(file.read(PROLOGUE_BYTES)) == b"robot" else kind
    return kind


def root_name(data: bytes) -> bytes:
    """The name of the root element of an XML text, empty where it is not within ``data``; in linear time."""
    at = BLANKS.match(data).end()
    while begin := next((begin for begin in PROLOGUE if data.startswith(begin, at)), None):
        end = data.find(PROLOGUE[begin], at + len(begin))
        if end < 0:
            return b""
        at = BLANKS.match(data, end + len(PROLOGUE[begin])).end()
    found = NAME.match(data, at)
    return found[1] if found else b""


def is_own(path: Path) -> bool:
    """Whether a file is one of the user's own: in the working folder, or a robot that comes with simengine."""
    real = path.resolve()
    return any(real.is_relative_to(folder.resolve()) for folder in (Path.cwd(), assets_folder()))


@functools.cache
def assets_folder() -> Path:
    """The folder of the robots that come with simengine: in the installed package, or beside it in a checkout."""
    package = Path(__file__).resolve().parent
    inside = package / "assets"
    return inside if inside.is_dir() else package.parent / "assets"


def find_robot(name: str) -> Path:
    """The file of that path, or the robot of that name in ``assets``; AssetError for what is not there."""
    if not name:
        raise AssetError("is empty; give the path of a file, or the name of a robot", element="FILE")
    path = Path(name)
    if path.is_file():
        return path
    known = {file.stem: file for file in sorted(assets_folder().glob("*.urdf"))}
    if name in known:
        return known[name]
    if path.is_dir():
        raise AssetError("is a folder; give the robot's file in it", file=name)
    if path.exists():
        raise AssetError("is no regular file (a device, pipe or socket)", file=name)
    raise AssetError(
        f"there is no such file, nor a robot of that name; with simengine come {', '.join(known)}"
        f"{did_you_mean(name, known)}",
        file=name,
    )


def refuse_source(name: str, output: str, what: str) -> None:
    """ModelError, about the argument ``what``, where the file to write is the robot's own."""
    path = find_robot(name)
    if os.path.exists(output) and os.path.samefile(path, output):
        raise ModelError(f"{output!r} is the file that is read; give another name", element=what)
