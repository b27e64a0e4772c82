"""What fuzzers give damaged files to, and what may come out."""

from __future__ import annotations

import traceback
import warnings
from pathlib import Path
from random import Random

import simengine as sim
from simengine.builder.meshes.files import FORMATS, load_mesh
from simengine.builder.meshes.tetra_files import TETRA_FORMATS, load_tetrahedra
from tests.fuzz import seeds
from tests.fuzz.grammar import generated
from tests.fuzz.mutate import damaged

TARGETS = ("urdf", "mjcf", "usd", "mesh")
METHODS = {"urdf": "add_urdf", "mjcf": "add_mjcf", "usd": "add_usd"}


class Finding(Exception):
    """Something came out of an importer that may not."""


def drawn(random: Random, kind: str, known: list[tuple[str, bytes]]) -> tuple[str, bytes]:
    """A file (name, content) to try: a damaged seed, or one made from the grammar of the format, perhaps damaged."""
    name, data = random.choice(known)
    if kind != "mesh" and random.randrange(3) == 0:
        data = generated(random, kind)
        if random.randrange(2):
            return name, data
    return name, damaged(random, data, [content for _, content in known])


def prepare(folder: Path) -> None:
    """The meshes that the seeds name, in the folder of the file that is tried."""
    for name, data in (*seeds.MESHES.items(), *seeds.TETRAHEDRA.items()):
        (folder / name.replace("t.tet", "a.tet")).write_bytes(data)


def attempt(kind: str, name: str, data: bytes, folder: Path) -> bool:
    """Try one file; True where it was read. Raises Finding for any error that is not one of those of a bad file."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if kind == "mesh":
                _mesh(name, data)
            else:
                _robot(kind, name, data, folder)
    except (sim.AssetError, sim.MissingExtraError):
        return False
    except Finding:
        raise
    except Exception as error:
        raise Finding(_described(error)) from error
    return True


def _mesh(name: str, data: bytes) -> None:
    """Read as a surface and as tetrahedra, whichever the format may hold; refused where all refuse it."""
    ending = name.rsplit(".", 1)[-1]
    readers = [reader for reader, known in ((load_mesh, FORMATS), (load_tetrahedra, TETRA_FORMATS)) if ending in known]
    refused = []
    for reader in readers:
        try:
            reader(data, name)
        except sim.AssetError as error:
            refused.append(error)
    if len(refused) == len(readers):
        raise refused[0]


def _robot(kind: str, name: str, data: bytes, folder: Path) -> None:
    path = folder / f"input.{name.rsplit('.', 1)[-1]}"
    path.write_bytes(data)
    builder = sim.ModelBuilder()
    try:
        report = getattr(builder, METHODS[kind])(path, filter_overlapping=False)
    except BaseException:
        held = (builder.bodies, builder.joints, builder.shapes, builder.equalities, builder.actuators, builder.custom)
        if any(held):
            raise Finding("an error left a builder half built") from None
        raise
    str(report)
    builder._assemble("float64", 0)  # what was read can be compiled


def _described(error: Exception) -> str:
    """The error, and the innermost line of ours that it came through."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "simengine" in frame.filename]
    place = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "?"
    return f"{type(error).__name__} at {place}: {str(error)[:200]}"
