"""Expected files of USD stages (made with OpenUSD), and how their numbers compare with a builder's."""

from __future__ import annotations

import json
import math
import warnings
from pathlib import Path

import numpy as np

from simengine.builder.builder import ModelBuilder
from simengine.builder.frames import Pose, angle_between, scale
from simengine.builder.values import AXES

FOLDERS = (
    "newton/usd_physics",
    "newton/usd_edge_cases",
    "newton/geometry_usdc",
    "newton/kamino_joints",
    "PhysX/ovphysx",
    "usd-wg/schemaTests",
    "derived/xarm7_usd",
    "derived/ur5_usd",
)
"""Folders of USD files with expected files, in the folder of assets."""


def all_expected(assets: Path, folders: tuple[str, ...] = FOLDERS) -> list[tuple[Path, dict]]:
    """(file, what is expected of it) for every USD file that has an expected file."""
    result = []
    for folder in folders:
        for path in sorted((assets / folder).glob("*.expected.json")):
            content = json.loads(path.read_text())
            if "files" in content:
                result += [(path.parent / name, one) for name, one in content["files"].items()]
            else:
                result.append((path.parent / content["file"], content))
    return result


def imported(path: Path, up_axis: str = "Z", **options):
    """A builder with the file, and the report; warnings are not looked at."""
    builder = ModelBuilder(up_axis=up_axis if up_axis in AXES else "Y")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if "schemaTests" in path.parts:  # some refer to layers beside the folder that were left out
            options["allow_paths"] = [next(folder for folder in path.parents if folder.name == "schemaTests").parent]
            options["allow_missing"] = True
        report = builder.add_usd(path, filter_overlapping=False, **options)
    return builder, report


def pose_of(world: dict, metre: float) -> Pose:
    """A pose of an expected file in m."""
    w, x, y, z = world["quat_wxyz"]
    return (*scale(tuple(world["pos"]), metre), *unit((x, y, z, w)))


def apart(one: Pose, two: Pose) -> float:
    """Distance in m plus angle in rad between two poses."""
    return math.dist(one[:3], two[:3]) + angle_between(unit(one[3:]), unit(two[3:]))


def unit(quaternion) -> tuple:
    """The quaternion of length 1."""
    q = np.array(quaternion, float)
    return tuple((q / np.linalg.norm(q)).tolist())


def number(value) -> float:
    """A number of an expected file, which writes infinities as texts."""
    return float(value)
