"""Stable radix sort, exclusive scan and compaction on either device (kernels_cuda/sort.cu, scan.cu).

The classes hold their memory and prepared launches: calling them allocates nothing, never waits for the device and can
be captured. The functions make what they need for one call. Results do not depend on tiles, lanes or threads.
"""

from __future__ import annotations

import functools

import numpy as np

from simengine.errors import ModelError
from simengine.runtime import devices
from simengine.runtime.arguments import is_array
from simengine.runtime.kernel import Kernel
from simengine.values import whole

LANES = 32

SORT_LANES = 256
"""A tile of a sort is worked by a block on a GPU."""

HELD = 16
"""Numbers that a lane holds at once (held.h)."""

BIN_TILE = 512
"""As in scan.cu."""


def _place_bytes(key: int, on_gpu: bool) -> int:
    """Scratch of a group that places keys of ``key`` bytes: SortStage of sort.h, or the counts and digits there."""
    if on_gpu:
        return SORT_LANES * HELD * (key + 4) + 4 * (SORT_LANES // 32 + 1) * (1 << 8)
    return 4 * ((1 << 11) + LANES)


def tile_size(n: int, most: int, lanes: int = LANES) -> int:
    """Numbers of a tile: as often as needed what its lanes hold, so that there are at most ``most`` tiles."""
    chunk = lanes * HELD
    return chunk * max(1, -(-n // (chunk * most)))


@functools.cache
def _kernel(file: str, name: str) -> Kernel:
    return Kernel(file, name)


def tile_launch(file: str, name: str, arguments: dict, tiles: int, scratch: int, device, lanes: int = LANES):
    """A launch whose groups of lanes work tiles."""
    return _kernel(file, name).prepare(arguments, worlds=tiles, lanes=lanes, scratch=scratch, device=device)


class RadixSort:
    """Sorts pairs of a key and an int32 value by key, keeping the order of equal keys.

    ``keys`` (n,) uint32 or uint64 is read and never changed; ``values`` (n,) int32, or None for the positions 0 .. n-1.
    ``bits``: keys are below 2**bits. After each call ``sorted_keys`` and ``sorted_values`` hold the result. The method
    is a counting sort of at most 8 (GPU) or 11 (CPU) bits a pass, lowest first (Knuth, The Art of Computer Programming,
    5.2.5).
    """

    def __init__(self, keys, values=None, bits: int | None = None):
        device = devices.device_of(keys)
        n, width = len(keys), keys.dtype.itemsize * 8
        if keys.dtype not in (np.uint32, np.uint64) or keys.ndim != 1:
            raise ModelError(f"sort: keys must be (n,) of uint32 or uint64, got {keys.shape} of {keys.dtype}")
        bits = width if bits is None else whole(bits, "sort, bits", 0, width)
        passes = max(1, -(-bits // (8 if device.is_cuda else 11)))
        self.device = device
        self._pairs = [(device.empty(n, keys.dtype), device.empty(n, np.int32)) for _ in range(min(passes, 2))]
        self._launches: list = []
        if n:
            self._prepare(keys, values, passes, max(1, -(-bits // passes)))
        self.sorted_keys, self.sorted_values = self._pairs[(passes - 1) % 2]

    def _prepare(self, keys, values, passes: int, digit: int) -> None:
        n, device, width = len(keys), self.device, keys.dtype.itemsize * 8
        tile = tile_size(n, 1024, SORT_LANES) if device.is_cuda else max(1 << 14, -(-n // 64))
        tiles, digits = -(-n // tile), 1 << digit
        table, totals = device.empty(tiles << digit, np.int32), device.empty(digits, np.int32)

        def launch(name, arguments, groups, scratch):
            return tile_launch("sort.cu", name, arguments, groups, scratch, device, SORT_LANES)

        source = (keys, values)
        for number in range(passes):
            target = self._pairs[number % 2]
            sizes = {"count": n, "tiles": tiles, "tile": tile, "shift": number * digit, "bits": digit}
            count = sizes | {"keys": source[0], "table": table}
            rows = {"rows": digits, "tiles": tiles, "table": table, "totals": totals}
            place = count | {"values": source[1], "totals": totals, "keys_out": target[0], "values_out": target[1]}
            self._launches += [
                launch(f"sort_count_{width}", count, tiles, 4 * digits),
                launch("sort_rows", rows, digits, 0),
                launch(f"sort_place_{width}", place, tiles, _place_bytes(keys.dtype.itemsize, device.is_cuda)),
            ]
            source = target

    def __call__(self) -> None:
        for launch in self._launches:
            launch()


class ExclusiveScan:
    """``offsets`` (n+1,) int64: sums of the terms before each place, and of all; terms (n,) int32, none negative.

    ``pairs``: each term is two numbers, in its lower 16 bits and above, and so are the sums, in halves of 32 bits.
    """

    def __init__(self, terms, pairs: bool = False):
        self.device = device = devices.device_of(terms)
        n = len(terms)
        if terms.dtype != np.int32 or terms.ndim != 1:
            raise ModelError(f"scan: terms must be (n,) of int32, got {terms.shape} of {terms.dtype}")
        self.offsets = device.zeros(n + 1, np.int64)
        self._launches: list = []
        if n == 0:
            return
        tile = tile_size(n, 2048)
        tiles = -(-n // tile)
        sums, total = device.empty(tiles, np.int64), self.offsets[n:]
        of_tiles = {
            "count": n,
            "tiles": tiles,
            "tile": tile,
            "shift": 32 if pairs else 16,
            "terms": terms,
            "sums": sums,
        }
        of_sums = {"groups": 1, "tiles": tiles, "sums": sums, "total": total}
        self._launches = [
            tile_launch("scan.cu", "scan_tiles", of_tiles, tiles, 0, device),
            tile_launch("scan.cu", "scan_sums", of_sums, 1, 8 * LANES, device),
            tile_launch("scan.cu", "scan_place", of_tiles | {"out": self.offsets}, tiles, 0, device),
        ]

    def __call__(self) -> None:
        for launch in self._launches:
            launch()


class KeyStarts:
    """``starts`` (bins+1,) int32: how many of the sorted uint32 keys (n,), all below ``bins``, are below each bin."""

    def __init__(self, sorted_keys, bins: int):
        device = devices.device_of(sorted_keys)
        self.starts = device.zeros(bins + 1, np.int32)
        arguments = {"count": len(sorted_keys), "bins": bins, "keys": sorted_keys, "starts": self.starts}
        tiles = -(-(bins + 1) // BIN_TILE)
        self._launch = tile_launch("scan.cu", "key_starts", {"tiles": tiles} | arguments, tiles, 8 * BIN_TILE, device)

    def __call__(self) -> None:
        self._launch()


def sort_pairs(keys, values=None, bits: int | None = None):
    """``keys`` (n,) uint32 or uint64 in ascending order, and their values (n,) int32 in the same order.

    Stable; without ``values`` they are the positions that the keys had. ``bits`` (1 to 32 or 64, by default all of the
    dtype): all keys must be below 2**bits. Arrays stay on the device of ``keys``. Raises ModelError for other dtypes
    and bits, and on the CPU for a key that has more bits; on a GPU, where looking would cost a pass over the keys and a
    wait, such keys come in an order that means nothing.
    """
    _require_array("keys", keys)
    if bits is not None and keys.dtype in (np.uint32, np.uint64):
        whole(bits, "sort_pairs, bits", 1, keys.dtype.itemsize * 8)
        _require_few_bits(keys, bits)
    sort = RadixSort(keys, values, bits)
    sort()
    return sort.sorted_keys, sort.sorted_values


def exclusive_scan(terms):
    """Offsets (n+1,) int64 of terms (n,) int32, none negative: sums of the terms before, and of all at the end."""
    _require_array("terms", terms)
    scan = ExclusiveScan(terms)
    scan()
    return scan.offsets


def compact(mask):
    """The indices (int32, ascending) at which ``mask`` (n,) is not zero. Waits for the device to learn how many."""
    _require_array("mask", mask)
    device = devices.device_of(mask)
    flags = device.asarray(mask != 0, np.int32)
    offsets = exclusive_scan(flags)
    indices = device.empty(int(offsets[-1]), np.int32)
    arguments = {"flags": flags, "places": offsets, "out": indices}
    _kernel("scan.cu", "compact_indices").prepare(arguments, items=len(flags), device=device)()
    return indices


def _require_few_bits(keys, bits: int) -> None:
    """ModelError for a key that has more bits, where the host can see it."""
    if isinstance(keys, np.ndarray) and int(keys.max(initial=0)) >> bits:
        index = int(keys.argmax())
        raise ModelError(f"sort_pairs: keys[{index}] is {keys[index]}; with bits={bits} keys must be below 2**{bits}")


def _require_array(name: str, value) -> None:
    if not is_array(value):
        raise ModelError(f"{name} must be an array of NumPy or CuPy, got {type(value).__name__}")
