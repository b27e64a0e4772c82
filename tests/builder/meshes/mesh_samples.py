"""Small mesh files made in memory, and sums over meshes that do not use the code under test."""

from __future__ import annotations

import json
import struct

import numpy as np

POINTS = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], float)
FACES = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])  # of a tetrahedron, outwards
OBJ = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"


def volume(mesh) -> float:
    """By the divergence theorem."""
    a, b, c = (mesh.vertices[mesh.triangles[:, i]] for i in range(3))
    return float(np.einsum("ni,ni->", a, np.cross(b, c)) / 6)


def binary_stl(triangles, count=None, header=b"") -> bytes:
    """Triangles are (m, 3, 3) corners."""
    body = b"".join(struct.pack("<12fH", 0, 0, 0, *np.ravel(t), 0) for t in triangles)
    return header.ljust(80, b"\0") + struct.pack("<I", len(triangles) if count is None else count) + body


def ascii_stl(triangles, name="x") -> bytes:
    facets = "".join(
        "facet normal 0 0 0\nouter loop\n"
        + "".join(f"vertex {x:.9g} {y:.9g} {z:.9g}\n" for x, y, z in t)
        + "endloop\nendfacet\n"
        for t in triangles
    )
    return f"solid {name}\n{facets}endsolid {name}\n".encode()


def binary_ply(points, polygons, order="<", index="int", extra=False) -> bytes:
    """``extra``: a further property on each side of the wanted ones, and a further element with lists."""
    codes = {"int": "i", "uchar": "B", "ushort": "H"}
    lines = ["ply", f"format binary_{'little' if order == '<' else 'big'}_endian 1.0", "comment made here"]
    lines += [f"element vertex {len(points)}", *(["property uchar red"] if extra else [])]
    lines += [f"property double {axis}" for axis in "xyz"]
    lines += ["element strip 1", "property list int float numbers"] if extra else []
    lines += [f"element face {len(polygons)}", f"property list uchar {index} vertex_indices"]
    lines += ["property float quality"] if extra else []
    body = b"".join((b"\7" if extra else b"") + struct.pack(f"{order}3d", *point) for point in points)
    body += struct.pack(f"{order}i2f", 2, 1, 2) if extra else b""
    for polygon in polygons:
        body += struct.pack(f"{order}B{len(polygon)}{codes[index]}", len(polygon), *polygon)
        body += struct.pack(f"{order}f", 0.5) if extra else b""
    return "\n".join([*lines, "end_header\n"]).encode() + body


def glb(scene: dict, binary: bytes = b"") -> bytes:
    text = json.dumps(scene).encode()
    text += b" " * (-len(text) % 4)
    binary += b"\0" * (-len(binary) % 4)
    chunks = struct.pack("<II", len(text), 0x4E4F534A) + text
    chunks += struct.pack("<II", len(binary), 0x004E4942) + binary if binary else b""
    return b"glTF" + struct.pack("<II", 2, 12 + len(chunks)) + chunks


def glb_scene(points=POINTS, faces=FACES, nodes=None, **changes) -> tuple[dict, bytes]:
    """One mesh, float32 positions and uint16 indices, placed by ``nodes`` (default one node)."""
    positions = np.asarray(points, "<f4").tobytes()
    indices = np.asarray(faces, "<u2").tobytes()
    scene = {
        "asset": {"version": "2.0"},
        "scene": 0,
        "scenes": [{"nodes": [0]}],
        "nodes": nodes or [{"mesh": 0}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1}]}],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "type": "VEC3", "count": len(points)},
            {"bufferView": 1, "componentType": 5123, "type": "SCALAR", "count": np.size(faces)},
        ],
        "bufferViews": [
            {"buffer": 0, "byteLength": len(positions)},
            {"buffer": 0, "byteOffset": len(positions), "byteLength": len(indices)},
        ],
        "buffers": [{"byteLength": len(positions) + len(indices)}],
    }
    scene.update(changes)
    return scene, positions + indices


DAE_GEOMETRY = """<geometry id="g"><mesh>
<source id="p"><float_array id="p-array" count="12">{points}</float_array><technique_common>
<accessor source="#p-array" count="4" stride="3"><param name="X" type="float"/><param name="Y" type="float"/>
<param name="Z" type="float"/></accessor></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
{primitives}</mesh></geometry>"""
DAE_TRIANGLES = """<triangles count="4"><input semantic="VERTEX" source="#v" offset="1"/>
<input semantic="NORMAL" source="#n" offset="0"/><p>{indices}</p></triangles>"""


def dae(nodes='<node><instance_geometry url="#g"/></node>', asset="", primitives=None, libraries="") -> bytes:
    """A tetrahedron in a scene. ``asset``: unit and up axis."""
    if primitives is None:
        primitives = DAE_TRIANGLES.format(indices=" ".join(f"9 {i}" for i in FACES.ravel()))
    geometry = DAE_GEOMETRY.format(points=" ".join(f"{x:g}" for x in POINTS.ravel()), primitives=primitives)
    return f"""<?xml version="1.0"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1"><asset>{asset}</asset>
<library_geometries>{geometry}</library_geometries>{libraries}
<library_visual_scenes><visual_scene id="s">{nodes}</visual_scene></library_visual_scenes>
<scene><instance_visual_scene url="#s"/></scene></COLLADA>""".encode()


def mujoco_msh(points=POINTS, faces=FACES, normals=0, coordinates=0) -> bytes:
    head = struct.pack("<4i", len(points), normals, coordinates, len(faces))
    tables = np.zeros(3 * normals + 2 * coordinates, "<f4").tobytes()
    return head + np.asarray(points, "<f4").tobytes() + tables + np.asarray(faces, "<i4").tobytes()


def gmsh_22(points, elements, kind=4, binary=False, order="<", tags=(1, 2)) -> bytes:
    """Nodes are numbered 10, 20, ... so that a number is no index."""
    numbers = 10 * (1 + np.asarray(elements))
    head = f"$MeshFormat\n2.2 {int(binary)} 8\n"
    if not binary:
        nodes = "".join(
            f"{10 * (i + 1)} {x!r} {y!r} {z!r}\n" for i, (x, y, z) in enumerate(np.asarray(points).tolist())
        )
        rows = "".join(
            f"{i + 1} {kind} {len(tags)} {' '.join(map(str, (*tags, *row)))}\n"
            for i, row in enumerate(numbers.tolist())
        )
        return (
            f"{head}$EndMeshFormat\n$Nodes\n{len(points)}\n{nodes}$EndNodes\n"
            f"$Elements\n{len(elements)}\n{rows}$EndElements\n"
        ).encode()
    nodes = b"".join(struct.pack(f"{order}i3d", 10 * (i + 1), *point) for i, point in enumerate(points))
    rows = struct.pack(f"{order}3i", kind, len(elements), len(tags))
    rows += b"".join(
        struct.pack(f"{order}{1 + len(tags) + len(row)}i", i + 1, *tags, *row) for i, row in enumerate(numbers.tolist())
    )
    return b"".join(
        [head.encode(), struct.pack(f"{order}i", 1), b"\n$EndMeshFormat\n$Nodes\n", str(len(points)).encode(), b"\n"]
        + [nodes, b"\n$EndNodes\n$Elements\n", str(len(elements)).encode(), b"\n", rows, b"\n$EndElements\n"]
    )


def vtk(points, cells, types, binary=False, by_offsets=False) -> bytes:
    """``cells``: lists of indices."""
    flat = [index for cell in cells for index in cell]
    offsets = np.cumsum([0, *(len(cell) for cell in cells)])

    def table(values, dtype):
        array = np.asarray(values, dtype).reshape(-1)
        return (array.tobytes() if binary else " ".join(map(str, array.tolist())).encode()) + b"\n"

    parts = [b"# vtk DataFile Version " + (b"5.1" if by_offsets else b"2.0"), b"\na title with POINTS in it\n"]
    parts += [b"BINARY\n" if binary else b"ASCII\n", b"DATASET UNSTRUCTURED_GRID\n"]
    parts += [b"POINTS %d double\n" % len(points), table(points, ">f8")]
    if by_offsets:
        parts += [b"METADATA\nINFORMATION 0\n\n", b"CELLS %d %d\n" % (len(offsets), len(flat))]
        parts += [b"OFFSETS vtktypeint64\n", table(offsets, ">i8"), b"CONNECTIVITY vtktypeint64\n", table(flat, ">i8")]
    else:
        mixed = [number for cell in cells for number in (len(cell), *cell)]
        parts += [b"CELLS %d %d\n" % (len(cells), len(mixed)), table(mixed, ">i4")]
    parts += [b"CELL_TYPES %d\n" % len(types), table(types, ">i4"), b"CELL_DATA 1\n"]
    return b"".join(parts)
