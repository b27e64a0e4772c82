"""The red channel of a PNG image, for height fields: a small reader without a library (ISO/IEC 15948)."""

from __future__ import annotations

import struct
import zlib

import numpy as np

from simengine.errors import AssetError

CHANNELS = {0: 1, 2: 3, 4: 2, 6: 4}
"""Samples of a pixel by colour type: grey, colour, grey and opacity, colour and opacity."""
SIDE = 8192


def read_png_red(data: bytes, name: str, pixels: int) -> np.ndarray:
    """(rows, columns) uint8: grey, or red where the image has colours, as MuJoCo takes it; of 16 bits the upper 8.

    Raises:
        AssetError: not a PNG, more than ``pixels``, damaged, or with a palette, few bits or interlacing.
    """
    header, packed = _chunks(data, name)
    width, height, bits, kind, _, _, interlace = struct.unpack(">IIBBBBB", header)
    if not 0 < width * height <= pixels or max(width, height) > SIDE:
        reason = f"1 to {pixels} are read, {SIDE} along a side"
        raise AssetError(f"the image has {width} x {height} pixels; {reason}", file=name)
    if kind not in CHANNELS or bits not in (8, 16) or interlace:
        raise AssetError(
            "images with a palette, with fewer than 8 bits or interlaced are not read: save it as 8-bit grey", file=name
        )
    step = CHANNELS[kind] * bits // 8
    size = height * (1 + width * step)
    inflate = zlib.decompressobj()
    try:
        raw = inflate.decompress(packed, size + 1)
    except zlib.error as error:
        raise AssetError(f"the image is damaged: {error}", file=name) from None
    if len(raw) != size:
        raise AssetError(f"the image holds {len(raw)} bytes of pixels, not {size}: it is damaged", file=name)
    lines = np.frombuffer(raw, np.uint8).reshape(height, 1 + width * step)
    return _unfiltered(lines[:, 0].astype(int), lines[:, 1::step], name)


def _chunks(data: bytes, name: str) -> tuple[bytes, bytes]:
    """The header and the packed pixels."""
    header, packed, at = b"", [], 8
    while at + 8 <= len(data):
        length, kind = struct.unpack(">I4s", data[at : at + 8])
        body = data[at + 8 : at + 8 + length]
        if len(body) != length:
            break
        if kind == b"IHDR":
            header = body
        elif kind == b"IDAT":
            packed.append(body)
        elif kind == b"IEND":
            break
        at += 12 + length
    if len(header) != 13 or not packed:
        raise AssetError("is not a whole PNG image: it has no header or no pixels", file=name)
    return header, b"".join(packed)


def _unfiltered(kinds: np.ndarray, given: np.ndarray, name: str) -> np.ndarray:
    """Undo the filters of the lines of one channel: each byte was written less a guess by left (a), up (b), both (c).

    Pixels on one diagonal depend on earlier ones alone, so they are undone together.
    """
    if kinds.max() > 4:
        raise AssetError(f"line {int(kinds.argmax())} of the image has the unknown filter {kinds.max()}", file=name)
    height, width = given.shape
    result = np.zeros((height + 1, width + 1), np.int16)  # with a border of zeros above and at the left
    for diagonal in range(width + height - 1):
        row = np.arange(max(0, diagonal - width + 1), min(height, diagonal + 1))
        column = diagonal - row
        a, b, c = result[row + 1, column], result[row, column + 1], result[row, column]
        guess = np.choose(kinds[row], (0 * a, a, b, (a + b) >> 1, _paeth(a, b, c)))
        result[row + 1, column + 1] = (given[row, column] + guess) & 255
    return result[1:, 1:].astype(np.uint8)


def _paeth(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Whichever of a, b, c is nearest to a + b - c, the first of equals."""
    near_a, near_b, near_c = abs(b - c), abs(a - c), abs(a + b - 2 * c)
    return np.where((near_a <= near_b) & (near_a <= near_c), a, np.where(near_b <= near_c, b, c))
