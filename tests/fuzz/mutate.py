"""Damage to files, and random files of a format, drawn from a source of random numbers."""

from __future__ import annotations

import re
from random import Random

NUMBERS = (
    "0",
    "-1",
    "1",
    "1e308",
    "-1e308",
    "1e-308",
    "nan",
    "inf",
    "1e999",
    "4294967295",
    "-2147483649",
    "2147483647",
    "99999999999999999999",
    "0.1",
    "1e15",
    "1e-9",
    "-0",
    "0.5",
    "90",
)
WORDS = (
    "a",
    "b",
    "base",
    "arm",
    "j",
    "h1",
    "m",
    "true",
    "false",
    "world",
    "../a.obj",
    "a.obj",
    "a.tet",
    "package://x/y.obj",
    "free",
    "ball",
    "hinge",
    "mesh",
    "fixed",
    "٣",
    "&lt;",
    "/World",
    "/World/Arm",
    "convexHull",
    "X",
    "0 0 0",
    "1 2",
    "3 4 5 6 7 8 9",
    "",
    "x" * 300,
)
PIECE = re.compile(rb'<[^<>]*>|"[^"]*"|[A-Za-z_:][\w:.]*|[-+.\d][\w.+-]*|\s+|.', re.DOTALL)
STAGE_VALUES = (
    *("nan", "inf", "-inf", "1e300", "1e-300", "-1", "0", "99999999999", '"x"', "true", "None", "[]", "(1, 2)"),
    *("(1, 2, 3)", "(0, 0, 0, 0)", "[1, 2, 3]", "</nowhere>", "</>", "@./x.usda@", '"X"', "(nan, 0, 0)"),
)
PATTERNS = (
    *(b"\0\0\0\0", b"\1\0\0\0", b"\0\0\0\x80", b"\xff\xff\xff\x7f", b"\xff\xff\xff\xff"),
    *(b"\0\0\x80\x7f", b"\0\0\xc0\x7f"),
)
"""Four bytes that as a number are none, one, the smallest, the largest, infinite or not a number."""
ASSIGNED = re.compile(rb" = ([^\n]*)")
ATTRIBUTE = re.compile(rb'([\w:]+)="[^"]*"')


def value(random: Random) -> str:
    """A value that an attribute may have, or may not."""
    kind = random.randrange(4)
    if kind == 0:
        return random.choice(WORDS)
    if kind == 1:
        return random.choice(NUMBERS)
    count = random.randint(1, 7)
    return " ".join(f"{random.choice((0, 1, -1, 0.5, 2, 10, 1e-3, 1e6))}" for _ in range(count))


def damaged(random: Random, data: bytes, others: list[bytes]) -> bytes:
    """The data with a few pieces dropped, doubled, exchanged, replaced or taken from other files, or bytes changed."""
    text = data[:1] in (b"<", b"#")
    steps = (_pieces, _pieces, _values, _numbers, _numbers, _lines) if text else (_numbers, _bytes)
    for _ in range(random.choice((1, 1, 1, 2, 3, 5))):
        step = random.choice(steps) if random.randrange(5) else random.choice((_bytes, _cut, _spliced))
        data = step(random, data, others)
    return data


def _pieces(random: Random, data: bytes, others: list[bytes]) -> bytes:
    pieces = PIECE.findall(data)
    if not pieces:
        return data
    i, j = random.randrange(len(pieces)), random.randrange(len(pieces))
    kind = random.randrange(4)
    if kind == 0:
        del pieces[i]
    elif kind == 1:
        pieces[i] *= random.choice((2, 3, 50))
    elif kind == 2:
        pieces[i], pieces[j] = pieces[j], pieces[i]
    else:
        pieces[min(i, j)] = pieces[max(i, j)]
    return b"".join(pieces)


def _lines(random: Random, data: bytes, others: list[bytes]) -> bytes:
    """A line dropped, moved or doubled."""
    lines = data.split(b"\n")
    line = lines[random.randrange(len(lines))]
    if random.randrange(3):
        lines.remove(line)
    if random.randrange(2):
        lines.insert(random.randrange(len(lines) + 1), line)
    return b"\n".join(lines)


def _values(random: Random, data: bytes, others: list[bytes]) -> bytes:
    """Another value for a random attribute of XML, or of a stage."""
    if data[:5] == b"#usda":
        found = list(ASSIGNED.finditer(data))
        if not found:
            return data
        one = random.choice(found)
        return data[: one.start(1)] + random.choice(STAGE_VALUES).encode() + data[one.end(1) :]
    found = list(ATTRIBUTE.finditer(data))
    if not found:
        return data
    one = random.choice(found)
    return data[: one.start()] + one.group(1) + b'="' + value(random).encode() + b'"' + data[one.end() :]


def _numbers(random: Random, data: bytes, others: list[bytes]) -> bytes:
    """Another number, of text or of four bytes."""
    found = list(re.finditer(rb"-?\d+(?:\.\d*)?(?:e-?\d+)?", data))
    if found and random.randrange(2):
        one = random.choice(found)
        return data[: one.start()] + random.choice(NUMBERS).encode() + data[one.end() :]
    if len(data) < 4:
        return data
    at = random.randrange(len(data) - 3)
    return data[:at] + random.choice(PATTERNS) + data[at + 4 :]


def _bytes(random: Random, data: bytes, others: list[bytes]) -> bytes:
    changed = bytearray(data)
    for _ in range(random.randint(1, 8)):
        if changed:
            changed[random.randrange(len(changed))] = random.randrange(256)
    return bytes(changed)


def _cut(random: Random, data: bytes, others: list[bytes]) -> bytes:
    at = random.randint(0, len(data))
    return data[:at] if random.randrange(2) else data[at:]


def _spliced(random: Random, data: bytes, others: list[bytes]) -> bytes:
    """A stretch of another file in a random place."""
    other = random.choice(others)
    start = random.randint(0, len(other))
    piece = other[start : start + random.randint(0, 200)]
    at = random.randint(0, len(data))
    return data[:at] + piece + data[at:]
