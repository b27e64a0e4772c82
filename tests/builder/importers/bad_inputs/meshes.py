"""Bad inputs among mesh files: surfaces, hulls and tetrahedra."""

import struct

import numpy as np

import simengine as sim
from simengine.builder.mesh_data import Mesh
from tests.builder.importers.bad_inputs.cases import (
    FIX,
    READ,
    TETRAHEDRON,
    WARN,
    Case,
    meshed,
    mjcf_mesh,
    usd_mesh,
)

FACES = ((0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3))
POINTS = ((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1))


def stl(count=None, header=b"", triangles=FACES) -> bytes:
    """A binary STL of a tetrahedron, with a count and a header of its own."""
    body = b"".join(struct.pack("<12fH", 0, 0, 0, *(x for i in face for x in POINTS[i]), 0) for face in triangles)
    return header.ljust(80, b"\0") + struct.pack("<I", len(triangles) if count is None else count) + body


def obj(faces: str) -> str:
    """An OBJ of the corners of a tetrahedron, with faces of one's choice."""
    return TETRAHEDRON.partition("f")[0] + faces


def tet(lines: str) -> str:
    return "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\n" + lines


def gmsh(nodes="1 4 1 4", elements="1 1 1 1", kind=4, nodal="1 2 3 4") -> str:
    """Gmsh 4.1 text of one tetrahedron, with counts of one's choice."""
    points = "\n".join(" ".join(map(str, point)) for point in POINTS)
    return (
        f"$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$Nodes\n{nodes}\n3 1 0 4\n1\n2\n3\n4\n{points}\n$EndNodes\n"
        f"$Elements\n{elements}\n3 1 {kind} 1\n1 {nodal}\n$EndElements\n"
    )


def mujoco_msh(*counts: int) -> bytes:
    """MuJoCo's own binary mesh: four counts, then data."""
    return struct.pack("<4i", *counts) + np.array(POINTS, np.float32).tobytes() + np.array(FACES, np.int32).tobytes()


def triangles(count: int):
    return lambda _, mesh: len(mesh.triangles) == count


def area_is(expected: float):
    """The area in the plane z = 0 that a mesh covers: an edge outside a concave polygon would add to it."""

    def check(_, mesh):
        a, b, c = (mesh.vertices[mesh.triangles[:, i]] for i in range(3))
        return abs(np.abs(np.cross(b - a, c - a)[:, 2]).sum() / 2 - expected) < 1e-12

    return check


def volume_is(expected: float):
    """The volume that a URDF's only mesh encloses."""

    def check(builder, _):
        return abs(builder.shapes[0].mesh.moments[0] - expected) < 1e-12

    return check


def solid() -> str:
    """A URDF whose moving link has its mass from a mesh."""
    text = meshed("a.obj")
    moving = (
        '<link name="root"/><joint name="j" type="continuous"><parent link="root"/><child link="base"/></joint></robot>'
    )
    return text.replace("</robot>", moving)


CASES = [
    Case("STL binary count field", "mesh", {"a.stl": stl(0xFFFFFFFF)}, words=("4294967295", "bytes")),
    Case("STL binary count field", "mesh", {"a.stl": stl(3)}, words=("3 triangles",)),
    Case("STL binary count field", "mesh", {"a.stl": stl()[:-1]}),
    Case("STL binary count field", "mesh", {"a.stl": stl()[:50]}),
    Case(
        "STL binary count field",
        "urdf",
        {"a.urdf": meshed("a.stl"), "a.stl": stl(0xFFFFFFFF)},
        words=("a.stl",),
        line=2,
    ),
    Case("STL binary count field", "mjcf", {"a.xml": mjcf_mesh("a.stl"), "a.stl": stl(0xFFFFFFFF)}, words=("a.stl",)),
    Case('Binary STL starting with "solid"', "mesh", {"a.stl": stl(header=b"solid")}, READ, check=triangles(4)),
    *(
        Case("OBJ negative, zero or out-of-range index", "mesh", {"a.obj": obj(f"f 1 3 2\nf 1 2 {index}\n")}, line=line)
        for index, line in (("0", 6), ("5", 6), ("-5", 6), ("99999999999999999999", 6), ("1.5", 6), ("x", 6))
    ),
    Case(
        "OBJ negative, zero or out-of-range index",
        "mesh",
        {"a.obj": obj("f -4 -2 -3\nf 1 2 4\nf 1 4 3\nf 2 3 4\n")},
        READ,
        check=triangles(4),
    ),
    Case(
        "OBJ polygon, concave n-gon",
        "mesh",
        {"a.obj": "v 0 0 0\nv 2 0 0\nv 2 2 0\nv 1.9 0.1 0\nf 1 2 3 4\n"},
        READ,
        check=area_is(0.2),
    ),
    Case(
        "OBJ polygon, concave n-gon",
        "mesh",
        {"a.obj": "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf 1 2 3 4\n"},
        READ,
        check=triangles(2),
    ),
    Case("OBJ polygon, concave n-gon", "mesh", {"a.obj": TETRAHEDRON + "curv 0 1 1 2\n"}, FIX, ("free-form",)),
    Case("Vertex only, no faces", "mesh", {"a.obj": obj("")}, words=("no triangles",)),
    Case("Vertex only, no faces", "mesh", {"a.stl": stl(triangles=())}, words=("no triangles",)),
    Case(
        "Vertex only, no faces",
        "mesh",
        {
            "a.ply": "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\n"
            "property float y\nproperty float z\nend_header\n0 0 0\n"
        },
        words=("triangles",),
    ),
    Case(
        "Vertex only, no faces",
        "usd",
        {
            "a.usda": usd_mesh()
            .replace("= [3, 3, 3, 3]", "= []")
            .replace("= [0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3]", "= []")
        },
        words=("Rock",),
    ),
    Case(
        "Several objects/groups in one OBJ",
        "mesh",
        {
            "a.obj": "o one\n" + TETRAHEDRON + "o two\ng three\nv 5 0 0\nv 6 0 0\n"
            "v 5 1 0\nv 5 0 1\nf 5 7 6\nf 5 6 8\nf 5 8 7\nf 6 7 8\n"
        },
        READ,
        check=triangles(8),
    ),
    Case(
        "Degenerate (zero-area), sliver, duplicate",
        "mesh",
        {"a.obj": TETRAHEDRON + "f 1 1 2\nf 2 3 4\n"},
        FIX,
        ("repeated vertex", "repeated triangles"),
        check=triangles(4),
    ),
    Case(
        "Degenerate (zero-area), sliver, duplicate",
        "mesh",
        {"a.obj": TETRAHEDRON + "v 2 0 0\nf 1 2 5\n"},
        FIX,
        ("zero area",),
    ),
    Case(
        "Degenerate (zero-area), sliver, duplicate",
        "mesh",
        {"a.obj": "v 0 0 0\nv 1 0 0\nv 2 0 0\nf 1 2 3\n"},
        words=("degenerate",),
    ),
    Case(
        "Degenerate (zero-area), sliver, duplicate",
        "urdf",
        {"a.urdf": meshed("a.obj"), "a.obj": TETRAHEDRON + "f 1 1 2\n"},
        FIX,
        ("repeated vertex",),
    ),
    Case(
        "Collinear, coplanar, coincident vertex sets",
        "urdf",
        {"a.urdf": solid(), "a.obj": "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\nf 1 2 3\nf 2 4 3\n"},
        words=("coplanar", "thin box"),
        line=2,
    ),
    Case(
        "Collinear, coplanar, coincident vertex sets",
        "mjcf",
        {"a.xml": mjcf_mesh("a.obj"), "a.obj": "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\nf 1 2 3\nf 2 4 3\n"},
    ),
    Case(
        "Inconsistent winding",
        "urdf",
        {"a.urdf": solid(), "a.obj": TETRAHEDRON.replace("f 1 3 2", "f 1 2 3")},
        FIX,
        ("convex hull", "winding"),
    ),
    Case(
        "Open or non-manifold surface",
        "urdf",
        {"a.urdf": solid(), "a.obj": TETRAHEDRON.replace("f 2 3 4\n", "")},
        FIX,
        ("convex hull", "open"),
    ),
    Case(
        "Negative or mirrored scale",
        "urdf",
        {"a.urdf": meshed("a.obj", extra='scale="-1 2 3"'), "a.obj": TETRAHEDRON},
        READ,
        check=volume_is(1.0),
    ),
    Case(
        "Negative or mirrored scale",
        "mjcf",
        {"a.xml": mjcf_mesh("a.obj", 'scale="-1 2 3"'), "a.obj": TETRAHEDRON},
        READ,
        check=volume_is(1.0),
    ),
    Case(
        "Zero scale",
        "urdf",
        {"a.urdf": meshed("a.obj", extra='scale="1 0 1"'), "a.obj": TETRAHEDRON},
        words=("zero",),
        line=2,
    ),
    Case("Zero scale", "mjcf", {"a.xml": mjcf_mesh("a.obj", 'scale="1 0 1"'), "a.obj": TETRAHEDRON}),
    Case(
        "Zero scale",
        "usd",
        {"a.usda": usd_mesh('float3 xformOp:scale = (1, 0, 1)\nuniform token[] xformOpOrder = ["xformOp:scale"]')},
    ),
    Case(
        "Unit guess wrong",
        "urdf",
        {"a.urdf": meshed("a.obj"), "a.obj": TETRAHEDRON.replace("1 0 0", "500 0 0")},
        WARN,
        ("millimetres",),
    ),
    Case(
        "Left-handed or Y-up asset",
        "usd",
        {"a.usda": usd_mesh('uniform token orientation = "leftHanded"')},
        FIX,
        words=("wound inwards",),  # taken at its word, it is inside out
        check=lambda builder, _: (
            np.allclose(builder.shapes[0].mesh.moments[0], 1 / 6)
            and np.linalg.det(builder.shapes[0].mesh.vertices[builder.shapes[0].mesh.triangles[3]]) > 0
        ),
    ),
    Case(
        "Left-handed or Y-up asset",
        "mesh",
        {"a.dae": "<COLLADA><asset><up_axis>Y_UP</up_axis></asset></COLLADA>"},
        words=("triangles",),
    ),
    Case("Tet with negative/zero volume", "tetra", {"a.tet": tet("t 0 1 2 2\n")}),
    Case("Tet with negative/zero volume", "tetra", {"a.tet": tet("t 0 2 1 3\n")}, FIX),
    Case("Tet with negative/zero volume", "tetra", {"a.tet": tet("t 0 1 2 9\n")}),
    Case("Tet with negative/zero volume", "tetra", {"a.tet": tet("t 0 1 2 -1\n")}),
    Case("Tet with negative/zero volume", "tetra", {"a.tet": tet("t 0 1 2\n")}),
    Case("Gmsh/skin header sizes", "tetra", {"a.msh": gmsh()}, READ),
    Case("Gmsh/skin header sizes", "tetra", {"a.msh": gmsh(nodes="1 999999999 1 4")}),
    Case("Gmsh/skin header sizes", "tetra", {"a.msh": gmsh(nodes="1 -4 1 4")}),
    Case("Gmsh/skin header sizes", "tetra", {"a.msh": gmsh(elements="1 999999999 1 1")}),
    Case("Gmsh/skin header sizes", "tetra", {"a.msh": gmsh(nodal="1 2 3 9")}),
    Case("Gmsh/skin header sizes", "mesh", {"a.msh": mujoco_msh(4, 0, 0, 4)}, READ, check=triangles(4)),
    *(
        Case("Gmsh/skin header sizes", "mesh", {"a.msh": mujoco_msh(*counts)})
        for counts in ((2**31 - 1, 0, 0, 4), (-4, 0, 0, 4), (4, 0, 0, -1), (4, 7, 0, 4), (4, 0, 9, 4))
    ),
    Case(
        "Normals or UV count mismatch",
        "mesh",
        {"a.obj": TETRAHEDRON.replace("f 1 3 2", "vn 0 0 1\nf 1//1 3//1 2//7")},
        READ,
        check=triangles(4),
    ),  # normals are not read
    Case("Normals or UV count mismatch", "usd", {"a.usda": usd_mesh("normal3f[] normals = [(0, 0, 1)]")}, READ),
    Case(
        "Normals or UV count mismatch",
        "usd",
        {"a.usda": usd_mesh().replace("[3, 3, 3, 3]", "[3, 3, 3]")},
        words=("Rock",),
    ),
    Case(
        "Normals or UV count mismatch", "usd", {"a.usda": usd_mesh().replace("1, 2, 3]", "1, 2, 9]")}, words=("Rock",)
    ),
    Case(
        "Normals or UV count mismatch", "usd", {"a.usda": usd_mesh().replace("1, 2, 3]", "1, 2, -1]")}, words=("Rock",)
    ),
]


def flat_hull_is_refused() -> None:
    """The hull of points in one plane, by name and with the word (not an importer's own message)."""
    import pytest

    for points in (
        ((0, 0, 0), (1, 0, 0), (2, 0, 0), (3, 0, 0)),
        ((0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0)),
        ((1, 1, 1),) * 4,
    ):
        with pytest.raises(sim.ModelError, match=r"coplanar.*shell thickness"):
            sim.ModelBuilder().add_shape_convex_hull(-1, np.array(points, float), label="flat")
    assert Mesh(POINTS, FACES).solid_problem == ""
