"""Files of 10 MB that are made to cost: each reader stays within 500 MB, in a process of its own that measures it."""

import random
import struct
import subprocess
import sys

import numpy as np
import pytest

from tests.builder.meshes.mesh_samples import dae, glb, glb_scene

SIZE = 10_000_000
MEGABYTES = 500
READ = """
import os, resource, sys
from simengine.builder.meshes.files import load_mesh, load_tetrahedra
from simengine.errors import AssetError
name, path = sys.argv[1:]
data = open(path, "rb").read()
resource.setrlimit(resource.RLIMIT_CPU, (60, 60))  # a reader that hangs
try:
    (load_tetrahedra if name.endswith((".tet", ".vtk")) else load_mesh)(data, name)
except AssetError as error:
    print(str(error)[:200], file=sys.stderr)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
if os.path.exists("/proc/self/status"):  # Linux counts the memory of the process that started this one in ru_maxrss
    peak = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(peak // 1024)
"""


def on_vertices(line: bytes, count: int = 20_000) -> bytes:
    """So many vertices that the number of lines is not at once absurd, then lines."""
    rng = random.Random(0)
    vertices = b"".join(b"v %.3f %.3f %.3f\n" % (rng.random(), rng.random(), rng.random()) for _ in range(count))
    return vertices + line * ((SIZE - len(vertices)) // len(line))


def random_obj() -> bytes:
    rng = np.random.default_rng(0)
    rows = rng.integers(1, 300_000, (300_000, 3)).tolist()
    vertices = b"".join(b"v %d %d %d\n" % tuple(row) for row in rng.integers(0, 999, (300_000, 3)).tolist())
    return vertices + b"".join(b"f %d %d %d\n" % tuple(row) for row in rows)


def random_glb() -> bytes:
    rng = np.random.default_rng(0)
    return glb(*glb_scene(rng.normal(size=(60_000, 3)), rng.integers(0, 60_000, (1_500_000, 3))))


def random_ply() -> bytes:
    """Triangles and quadrangles in turn, so that each has to be looked at."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(50_000, 3)).astype("<f4")
    pair = np.zeros(600_000, np.dtype([("n", "u1"), ("a", "<u2", 3), ("m", "u1"), ("b", "<u2", 4)]))
    pair["n"], pair["m"] = 3, 4
    pair["a"], pair["b"] = rng.integers(0, 50_000, (len(pair), 3)), rng.integers(0, 50_000, (len(pair), 4))
    header = "ply\nformat binary_little_endian 1.0\nelement vertex 50000\n"
    header += "".join(f"property float {axis}\n" for axis in "xyz")
    header += f"element face {2 * len(pair)}\nproperty list uchar ushort vertex_indices\nend_header\n"
    return header.encode() + points.tobytes() + pair.tobytes()


def gmsh(row: bytes) -> bytes:
    nodes = b"".join(b"%d 0.%d 0.%d 0.%d\n" % (i + 1, i, i * i, i * 7) for i in range(20_000))
    count = (SIZE - len(nodes)) // len(row)
    head = b"$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n20000\n" + nodes
    return head + b"$EndNodes\n$Elements\n%d\n" % count + row * count + b"$EndElements\n"


def vtk_cells() -> bytes:
    count = SIZE // 20
    pair = b"4 0 1 2 3\n3 0 1 2\n" * (count // 2)
    points = (
        b"# vtk DataFile Version 2.0\nx\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS 4 float\n0 0 0 1 0 0 0 1 0 0 0 1\n"
    )
    return (
        points
        + b"CELLS %d %d\n" % (count, count // 2 * 9)
        + pair
        + b"CELL_TYPES %d\n" % count
        + b"10 5\n" * (count // 2)
    )


HOSTILE = {
    "lines.obj": lambda: b"# \n" * (SIZE // 3),
    "joined.obj": lambda: b"\\\n" * (SIZE // 2),
    "words.obj": lambda: b"ab " * (SIZE // 3),
    "repeated.obj": lambda: on_vertices(b"f 1 2 3\n"),
    "slashes.obj": lambda: on_vertices(b"f 1//1 2//2 3//3\n"),
    "quadrangles.obj": lambda: on_vertices(b"f 1 2 3 4\n"),
    "polygon.obj": lambda: on_vertices(b" 1 2 3").replace(b"\n 1", b"\nf 1", 1),
    "random.obj": random_obj,
    "a.off": lambda: b"OFF\n3 1200000 0\n0 0 0\n1 0 0\n0 1 0\n" + b"3 0 1 2\n" * 1_200_000,
    "noise.stl": lambda: bytes(80) + struct.pack("<I", 200_000) + random.Random(0).randbytes(SIZE),
    "text.stl": lambda: (
        b"solid\n" + b"outer loop\nvertex 0 0 0\nvertex 0 1 0\nvertex 1 0 0\nendloop\n" * 170_000 + b"endsolid"
    ),
    "random.ply": random_ply,
    "random.glb": random_glb,
    "json.glb": lambda: glb({"a": [[0]] * 400_000}),
    "accessors.glb": lambda: glb(
        {**glb_scene()[0], "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1}] * 19_000}]},
        glb_scene()[1] + bytes(SIZE // 2),
    ),
    "elements.dae": lambda: dae(libraries="<a/>" * (SIZE // 4)),
    "indices.dae": lambda: dae(
        primitives='<triangles><input semantic="VERTEX" source="#v"/><p>' + "0 1 2 " * (SIZE // 6) + "</p></triangles>"
    ),
    "triangles.msh": lambda: gmsh(b"1 2 0 1 2 3\n"),
    "solids.msh": lambda: gmsh(b"1 4 0 1 2 3 4\n"),
    "solids.tet": lambda: on_vertices(b"t 1 2 3 4\n"),
    "cells.vtk": vtk_cells,
}


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="the standard library measures memory on POSIX alone")
@pytest.mark.parametrize("name", HOSTILE)
def test_memory_stays_within_its_limit(tmp_path, name):
    data = HOSTILE[name]()
    assert len(data) > SIZE // 5
    path = tmp_path / name
    path.write_bytes(data)
    done = subprocess.run([sys.executable, "-c", READ, name, str(path)], capture_output=True, text=True, check=True)
    assert int(done.stdout) < MEGABYTES, done.stderr
