"""The .usdz package: a zip file whose entries are stored, not compressed, checked before USD opens it."""

from __future__ import annotations

import io
import posixpath
import struct
import zipfile
from pathlib import Path

from simengine.builder.importers.paths import read_file
from simengine.builder.importers.usd.limits import UsdLimits
from simengine.errors import AssetError

ARCHIVES = (".usdz", ".zip", ".gz", ".tar", ".7z", ".bz2", ".xz", ".rar")


def read_package(path: Path, limits: UsdLimits) -> dict[str, bytes]:
    """The entries of a package by name, in its order; the first is what the package opens as.

    Raises:
        AssetError: no zip file, too many entries, one that is compressed, encrypted, overlaps another, is an archive
            itself, is named twice, or whose name leads out of the package.
    """
    data = read_file(path, limits.layer_bytes)
    file = str(path)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = archive.infolist()
    except (zipfile.BadZipFile, NotImplementedError, ValueError, struct.error, OSError) as error:
        raise AssetError(f"is no zip file: {error}", file=file) from None
    if len(entries) > limits.package_entries:
        raise AssetError(f"holds {len(entries)} files, more than the cap of {limits.package_entries}", file=file)
    if not entries:
        raise AssetError("is an empty package", file=file)
    result: dict[str, bytes] = {}
    end = 0
    for entry in sorted(entries, key=lambda entry: entry.header_offset):
        _check_name(entry, result, file)
        start = _data_offset(data, entry, file)
        if entry.header_offset < end:
            raise AssetError(f"'{entry.filename}' overlaps another file of the package", file=file)
        end = start + entry.file_size
        if end > len(data):
            raise AssetError(f"'{entry.filename}' reaches beyond the end of the package", file=file)
        if not entry.is_dir():
            result[entry.filename] = data[start:end]
    return {entry.filename: result[entry.filename] for entry in entries if not entry.is_dir()}


def _check_name(entry: zipfile.ZipInfo, taken: dict[str, bytes], file: str) -> None:
    name = entry.filename
    if entry.compress_type != zipfile.ZIP_STORED or entry.compress_size != entry.file_size:
        raise AssetError(f"'{name}' is compressed, which a .usdz does not allow: pack it anew (usdzip)", file=file)
    if entry.flag_bits & 1:
        raise AssetError(f"'{name}' is encrypted", file=file)
    parts = name.rstrip("/").split("/")
    if not name.isprintable() or "\\" in name or ":" in name or any(part in ("", ".", "..") for part in parts):
        raise AssetError(f"{name!r} is no plain name of a file in a package", file=file)
    if posixpath.splitext(name.lower())[1] in ARCHIVES:
        raise AssetError(f"'{name}' is a package in a package: unpack it", file=file)
    if name in taken:
        raise AssetError(f"holds '{name}' twice", file=file)


def _data_offset(data: bytes, entry: zipfile.ZipInfo, file: str) -> int:
    """Where the content begins: after the local header of 30 bytes, the name and the extra field."""
    at = entry.header_offset
    header = data[at : at + 30]
    if len(header) < 30 or header[:4] != b"PK\x03\x04":
        raise AssetError(f"'{entry.filename}' has no local header", file=file)
    method, sizes = struct.unpack_from("<H", header, 8)[0], struct.unpack_from("<II", header, 18)
    name_length, extra_length = struct.unpack_from("<HH", header, 26)
    name = data[at + 30 : at + 30 + name_length]
    if method != 0 or sizes != (entry.file_size, entry.file_size) or name != entry.orig_filename.encode("utf-8"):
        raise AssetError(f"'{entry.filename}' is described in two ways that differ", file=file)
    return at + 30 + name_length + extra_length
