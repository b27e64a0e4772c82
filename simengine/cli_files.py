"""Files that the command line is given."""

from __future__ import annotations

import functools
from pathlib import Path

from simengine.errors import AssetError, did_you_mean

NOT_YET = {".xml": "MJCF", ".mjcf": "MJCF", ".sdf": "SDF", **dict.fromkeys((".usd", ".usda", ".usdc", ".usdz"), "USD")}


def asset_options(options) -> dict[str, list[str]]:
    """The options of ``add_urdf`` that say where the files may lie that a robot's file names."""
    return {"package_roots": options.package_root, "allow_paths": options.allow_path}


@functools.cache
def assets_folder() -> Path:
    """The folder of the robots that come with simengine: in the installed package, or beside it in a checkout."""
    package = Path(__file__).resolve().parent
    inside = package / "assets"
    return inside if inside.is_dir() else package.parent / "assets"


def find_robot(name: str) -> Path:
    """The file of that path, or the robot of that name in ``assets``; AssetError for what is not there or not read."""
    path = Path(name)
    if path.is_file():
        kind = NOT_YET.get(path.suffix.lower())
        if kind:
            raise AssetError(f"{kind} files are not read yet, only URDF", file=name)
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
