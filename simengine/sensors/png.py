"""Writing pictures as PNG (ISO/IEC 15948): 8 bits a channel, red, green, blue."""

from __future__ import annotations

import struct
import zlib

import numpy as np

from simengine.errors import ModelError
from simengine.files import as_path, write_new


def write_png(path, picture: np.ndarray) -> None:
    """Write a picture (height, width, 3) uint8, the first row at the top; the file is written new and renamed.

    Raises ModelError for what is no such picture and for a name that does not end in .png, AssetError where the file
    cannot be written.
    """
    if as_path(path).suffix.lower() != ".png":
        raise ModelError(f"write_png: path is {path!r}; a PNG file is written: give it a name that ends in .png")
    picture = np.ascontiguousarray(picture)
    if picture.dtype != np.uint8 or picture.ndim != 3 or picture.shape[2] != 3 or not picture.size:
        raise ModelError(f"write_png: got {picture.shape} of {picture.dtype}; give (height, width, 3) of uint8")
    height, width, _ = picture.shape
    rows = np.concatenate([np.zeros((height, 1), np.uint8), picture.reshape(height, -1)], axis=1)  # filter 0: none
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    data = b"\x89PNG\r\n\x1a\n" + b"".join(
        _chunk(kind, content)
        for kind, content in ((b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes(), 6)), (b"IEND", b""))
    )
    write_new(path, lambda file: file.write(data))


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
