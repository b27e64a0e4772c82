"""Files of plain arrays (.npz) with a header, written whole and read with suspicion.

A file is a zip of uncompressed .npy members: ``header`` (JSON as bytes) and one for each array. A reader says which
names, shapes and dtypes it expects; what differs is refused before anything is allocated. Nothing is unpickled,
decompressed or parsed but the JSON. A file is written beside its place and then renamed: nobody sees half of one.
"""

from __future__ import annotations

import io
import json
import math
import zipfile

import numpy as np

from simengine.errors import AssetError, shortened
from simengine.files import as_path, write_new

HEADER_LIMIT = 256 * 2**20
"""Bytes of the JSON header at most: labels of a million elements stay below."""


def write_npz(path, header: dict, arrays: dict[str, np.ndarray]) -> None:
    """Write header and arrays to a new file and rename it to ``path``; on an error nothing is left behind.

    Raises AssetError, naming ``path``, where it cannot be written.
    """
    text = np.frombuffer(json.dumps(header, indent=1).encode(), np.uint8)

    def write(file) -> None:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
            for name, array in {"header": text, **arrays}.items():
                with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, np.ascontiguousarray(array), allow_pickle=False)

    write_new(path, write)


def _beginning(shape: tuple, dtype: np.dtype) -> bytes:
    """What an .npy file of this shape and dtype begins with. Comparing it needs no parser for what a stranger wrote."""
    stream = io.BytesIO()
    fields = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(stream, fields)
    return stream.getvalue()


class NpzReader:
    """An opened file. Raises AssetError, with the file's name, for all that is not as it should be.

    ``kind`` names what the file is to hold, "simengine state" say: its header must say the same, and ``version``.
    """

    def __init__(self, path, kind: str, version: int):
        self.path, self.kind, self.version = as_path(path), kind, version
        if not self.path.is_file():
            raise self.error("is no file" if self.path.exists() else "does not exist")
        try:
            self._archive = zipfile.ZipFile(self.path)
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
            raise self.error(f"is no {kind}, or was cut short: {error}") from None

    def __enter__(self) -> NpzReader:
        return self

    def __exit__(self, *exception) -> None:
        self._archive.close()

    def error(self, message: str) -> AssetError:
        """An AssetError about this file."""
        return AssetError(message, file=self.path)

    def header(self, fields: dict[str, type]) -> dict:
        """The JSON header; ``fields`` says which it must have, and of which type."""
        length = self._entry("header").file_size - len(_beginning((0,), np.dtype(np.uint8)))
        if not 0 <= length <= HEADER_LIMIT:
            raise self.error(f"header claims {length} bytes where at most {HEADER_LIMIT} are expected")
        data = self.array("header", (length,), np.dtype(np.uint8)).tobytes()
        try:
            header = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise self.error(f"header is no JSON: {error}") from None
        if not isinstance(header, dict) or header.get("format") != self.kind:
            raise self.error(f'is no {self.kind}: its header does not say "{self.kind}"')
        if header.get("version") != self.version:
            read = f"this simengine reads version {self.version}"
            raise self.error(f"has version {header.get('version')!r}; {read}")
        for name, type_ in fields.items():
            if type(header.get(name)) is not type_:
                raise self.error(f"header lacks {name}")
        return header

    def check_names(self, expected: set[str]) -> None:
        """The file has the header and exactly these arrays."""
        found = [info.filename.removesuffix(".npy") for info in self._archive.infolist()]
        unknown, missing = set(found) - expected - {"header"}, expected - set(found)
        if missing:
            raise self.error(f"lacks {shortened(sorted(missing))}")
        if unknown:
            raise self.error(f"has unknown {shortened(sorted(unknown))}")
        if len(found) != len(set(found)):
            raise self.error("has two arrays of one name")

    def array(self, name: str, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        """One array, which must be of this shape and dtype (read-only)."""
        info, beginning = self._entry(name), _beginning(shape, dtype)
        size = math.prod(shape) * dtype.itemsize
        try:
            with self._archive.open(info) as member:
                found = member.read(len(beginning))
                if found != beginning:
                    said = found[10:].decode("latin-1").strip()
                    raise self.error(f"array {name} is {said!r} where {dtype} {shape} is expected")
                if info.file_size != len(beginning) + size:
                    held = info.file_size - len(beginning)
                    raise self.error(f"array {name} holds {held} bytes where {size} are expected")
                data = member.read()
        except (zipfile.BadZipFile, ValueError, EOFError, OSError, NotImplementedError) as error:
            raise self.error(f"array {name} is damaged: {error}") from None
        return np.frombuffer(data, dtype).reshape(shape)

    def _entry(self, name: str) -> zipfile.ZipInfo:
        """The entry of one member, which is stored as it is."""
        try:
            info = self._archive.getinfo(f"{name}.npy")
        except KeyError:
            raise self.error(f"has no array {name}: it is no {self.kind}") from None
        if info.compress_type != zipfile.ZIP_STORED or info.compress_size != info.file_size or info.flag_bits & 1:
            raise self.error(f"array {name} is compressed or encrypted; these files are plain")
        if info.file_size > self.path.stat().st_size:
            raise self.error(f"array {name} claims {info.file_size} bytes, more than the file has")
        return info
