"""Bad inputs among paths and assets: what a file may name, and what lies there."""

import io
import os
import struct
import zipfile
import zlib
from pathlib import Path

from tests.builder.importers.bad_inputs.cases import (
    GEOM,
    READ,
    TETRAHEDRON,
    WARN,
    Case,
    made,
    meshed,
    mjcf,
    mjcf_mesh,
    usd_body,
    usda,
)

WINDOWS = ("C:\\m\\a.obj", "C:/m/a.obj", "sub\\a.obj", "\\\\host\\share\\a.obj", "//host/share/a.obj", "%2e%2e/a.obj",
           "..%2fa.obj")  # fmt: skip
SCHEMES = ("file:///etc/passwd", "http://127.0.0.1:9/a.obj", "https://example.org/a.obj", "ftp://127.0.0.1/a.obj")


def link_to(target: str):
    """A symbolic link."""
    return lambda path: path.symlink_to(target)


def fifo(path: Path) -> None:
    """A pipe that nobody writes to: to open it would wait for ever."""
    os.mkfifo(path)


def folder(path: Path) -> None:
    path.mkdir()


def reference(name: str) -> str:
    """A USD stage that refers to another file."""
    return usda(f'def Xform "A" (\n    prepend references = @{name}@\n)\n{{\n}}')


def archive(*members: tuple, method=zipfile.ZIP_STORED) -> bytes:
    """A zip of (name, content), in the order given, without the alignment of a proper usdz."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as file:
        for name, content in members:
            file.writestr(name, content)
    return stream.getvalue()


def overlapping() -> bytes:
    """A zip whose two entries are the same bytes."""
    data = bytearray(archive(("a.usda", usd_body()), ("b.usda", usd_body())))
    first = data.find(b"PK\x01\x02")
    second = data.find(b"PK\x01\x02", first + 4)
    data[second + 42 : second + 46] = data[first + 42 : first + 46]  # the place of its local header
    return bytes(data)


def claims(size: int) -> bytes:
    """A stored entry that says it is larger than the archive."""
    data = bytearray(archive(("a.usda", usd_body())))
    entry = data.find(b"PK\x01\x02")
    data[entry + 20 : entry + 28] = struct.pack("<II", size, size)
    return bytes(data)


def png(width: int, height: int) -> bytes:
    """A PNG whose header claims a size, with hardly any data."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(bytes(1000))) + chunk(b"IEND", b"")
    )


def hfield(file: str) -> str:
    return mjcf(f'<asset><hfield name="h" file="{file}" size="1 1 1 1"/></asset>'
                '<worldbody><geom type="hfield" hfield="h"/></worldbody>')  # fmt: skip


CASES = [
    *(
        Case("Mesh name with ../", kind, {f"in/a.{end}": text(name), "a.obj": TETRAHEDRON})
        for kind, end, text in (("urdf", "urdf", meshed), ("mjcf", "xml", mjcf_mesh))
        for name in ("../a.obj", "sub/../../a.obj", "/etc/passwd", "/dev/zero")
    ),
    Case(
        "Mesh name with ../",
        "urdf",
        {"in/a.urdf": meshed("../a.obj", "visual"), "a.obj": TETRAHEDRON},
        words=("outside",),
    ),
    *(
        Case("Mesh name with ../", "usd", {"in/a.usda": reference(name), "b.usda": usd_body()}, words=("b.usda",))
        for name in ("../b.usda", "./../b.usda")
    ),
    Case(
        "Mesh name with ../",
        "usd",
        {"in/a.usda": usda("", "subLayers = [@../b.usda@]"), "b.usda": usd_body()},
        words=("b.usda",),
    ),
    Case("Mesh name with ../", "usd", {"in/a.usda": reference("/etc/passwd")}, words=("/etc/passwd",)),
    *(Case("Windows drive", "urdf", {"a.urdf": meshed(name)}, line=2) for name in WINDOWS),
    *(Case("Windows drive", "mjcf", {"a.xml": mjcf_mesh(name)}, line=2) for name in WINDOWS),
    *(Case("Windows drive", "usd", {"a.usda": reference(name)}) for name in WINDOWS),
    *(
        Case(
            "Symlink escaping root",
            kind,
            {f"in/a.{end}": text("b.obj"), "a.obj": TETRAHEDRON, "in/b.obj": link_to("../a.obj")},
            words=("b.obj", "outside"),
            line=2,
        )
        for kind, end, text in (("urdf", "urdf", meshed), ("mjcf", "xml", mjcf_mesh))
    ),
    Case(
        "Symlink escaping root",
        "usd",
        {"in/a.usda": reference("b.usda"), "b.usda": usd_body(), "in/b.usda": link_to("../b.usda")},
        words=("b.usda",),
    ),
    *(Case("file:, http:", "urdf", {"a.urdf": meshed(name)}, line=2) for name in SCHEMES),
    *(Case("file:, http:", "mjcf", {"a.xml": mjcf_mesh(name)}, line=2) for name in SCHEMES),
    *(Case("file:, http:", "usd", {"a.usda": reference(name)}) for name in SCHEMES),
    Case(
        "package:// or model:// unresolved",
        "urdf",
        {"a.urdf": meshed("package://p/a.obj")},
        words=("package_roots",),
        line=2,
    ),
    Case(
        "package:// or model:// unresolved",
        "urdf",
        {"a.urdf": meshed("model://p/a.obj")},
        words=("package_roots",),
        line=2,
    ),
    Case(
        "package:// or model:// unresolved",
        "urdf",
        {"a.urdf": meshed("package://p/a.obj", "visual")},
        WARN,
        ("package_roots",),
    ),
    Case("package:// or model:// unresolved", "urdf", {"a.urdf": meshed("package://../a.obj")}, line=2),
    Case("Missing mesh", "urdf", {"a.urdf": meshed("a.obj")}, words=("'a.obj' was not found",), line=2),
    Case("Missing mesh", "urdf", {"a.urdf": meshed("a.obj", "visual")}, WARN, ("'a.obj' was not found",)),
    Case("Missing mesh", "mjcf", {"a.xml": mjcf_mesh("a.obj")}, words=("a.obj", "not found"), line=2),
    Case("Missing mesh", "usd", {"a.usda": reference("b.usda")}, words=("b.usda",)),
    Case(
        "Case mismatch of file names",
        "urdf",
        {"a.urdf": meshed("A.OBJ"), "a.obj": TETRAHEDRON},
        words=("'a.obj'", "case"),
        line=2,
    ),
    Case(
        "Case mismatch of file names",
        "mjcf",
        {"a.xml": mjcf_mesh("A.OBJ"), "a.obj": TETRAHEDRON},
        words=("'a.obj'", "case"),
        line=2,
    ),
    Case(
        "Case mismatch of file names", "usd", {"a.usda": reference("B.usda"), "b.usda": usd_body()}, words=("b.usda",)
    ),
    *(
        Case("Special files", kind, {f"a.{end}": text("b.obj"), "b.obj": special}, words=("regular file",), line=2)
        for kind, end, text in (("urdf", "urdf", meshed), ("mjcf", "xml", mjcf_mesh))
        for special in (fifo, folder)
    ),
    *(
        Case("Special files", kind, {f"a.{end}": special}, words=("regular file",))
        for kind, end in (("urdf", "urdf"), ("mjcf", "xml"), ("usd", "usda"))
        for special in (fifo, folder)
    ),
    Case("Special files", "usd", {"a.usda": reference("b.usda"), "b.usda": fifo}, words=("b.usda",)),
    Case(
        "Zip/usdz bomb",
        "usd",
        {"a.usdz": made(lambda: archive(("a.usda", "#usda 1.0\n" + " " * (64 << 20)), method=zipfile.ZIP_DEFLATED))},
    ),
    Case("Zip/usdz bomb", "usd", {"a.usdz": archive(("a.usda", reference("../b.usda")), ("../b.usda", usd_body()))}),
    Case("Zip/usdz bomb", "usd", {"a.usdz": archive(("a.usda", usd_body()), ("/etc/b.usda", usd_body()))}),
    Case(
        "Zip/usdz bomb",
        "usd",
        {"a.usdz": archive(("a.usda", reference("b.usdz")), ("b.usdz", archive(("c.usda", usd_body()))))},
    ),
    Case(
        "Zip/usdz bomb",
        "usd",
        {"a.usdz": made(lambda: archive(*((f"{i}.usda", "#usda 1.0\n") for i in range(11_000))))},
    ),
    Case("Zip/usdz bomb", "usd", {"a.usdz": overlapping()}),
    Case("Zip/usdz bomb", "usd", {"a.usdz": claims(0x7FFFFFFF)}),
    Case("Zip/usdz bomb", "usd", {"a.usdz": archive(("a.usda", usd_body()))[:-30]}),
    Case("Zip/usdz bomb", "usd", {"a.usdz": b"PK\x03\x04" + bytes(100)}),
    Case("Texture 65535 x 65535", "mjcf", {"a.xml": hfield("h.png"), "h.png": png(65535, 65535)}, words=("h.png",)),
    Case("Texture 65535 x 65535", "mjcf", {"a.xml": hfield("h.png"), "h.png": png(4000, 4000)}),
    Case(
        "Texture 65535 x 65535",
        "mjcf",
        {
            "a.xml": mjcf(
                f'<asset><texture name="t" type="2d" file="t.png"/></asset><worldbody><body>{GEOM}</body></worldbody>'
            ),
            "t.png": png(65535, 65535),
        },
        READ,
    ),  # textures are not opened
    Case(
        "Two different files, same asset name",
        "mjcf",
        {
            "a.xml": mjcf('<asset><mesh name="m" file="a.obj"/><mesh name="m" file="b.obj"/></asset>'),
            "a.obj": TETRAHEDRON,
            "b.obj": TETRAHEDRON.replace("0 0 1", "0 0 2"),
        },
        words=("'m'",),
        line=2,
    ),
    Case(
        "Two different files, same asset name",
        "mjcf",
        {
            "a.xml": mjcf('<asset><mesh file="x/a.obj"/><mesh file="y/a.obj"/></asset>'),
            "x/a.obj": TETRAHEDRON,
            "y/a.obj": TETRAHEDRON,
        },
        words=("'a'",),
        line=2,
    ),
    Case(
        "Two different files, same asset name",
        "urdf",
        {
            "a.urdf": meshed("x/a.obj").replace(
                "</link>", '<collision><geometry><mesh filename="y/a.obj"/></geometry></collision></link>'
            ),
            "x/a.obj": TETRAHEDRON,
            "y/a.obj": TETRAHEDRON.replace("0 0 1", "0 0 2"),
        },
        READ,
        check=lambda builder, _: [s.mesh.vertices.max() for s in builder.shapes] == [1, 2],
    ),
]
