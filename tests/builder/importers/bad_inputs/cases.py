"""Bad inputs as data: what a file holds, and the policy that an importer keeps with it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import simengine as sim
from simengine.builder.meshes.files import load_mesh
from simengine.builder.meshes.tetra_files import load_tetrahedra

REJECT, FIX, WARN, READ = "REJECT", "FIX", "WARN", "READ"

Content = str | bytes | Callable[[Path], None]


@dataclass
class Case:
    """One bad input.

    row: the words of the list of bad inputs, as far as they tell one row from another. kind: urdf, mjcf, usd, mesh or
    tetra. file: name of the file that is read; files: content by name, or a function that makes it at a path. policy:
    REJECT (AssetError), FIX (a note among the repairs, and a warning), WARN (a note among what is ignored or looks
    wrong) or READ (documented to be right). words: parts of the message or of the note. line: where, if told.
    """

    row: str
    kind: str
    files: dict[str, Content]
    policy: str = REJECT
    words: tuple[str, ...] = ()
    file: str = ""
    line: int | None = None
    options: dict = field(default_factory=dict)
    check: Callable | None = None  # of (builder, report), where the file is read

    def __post_init__(self):
        self.file = self.file or next(iter(self.files))

    def write(self, folder: Path) -> Path:
        """Make the files; returns the one to read."""
        for name, content in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if callable(content):
                content(path)
            else:
                path.write_bytes(content.encode() if isinstance(content, str) else content)
        return folder / self.file

    def read(self, path: Path):
        """Read the file by its importer: (builder, report), or (None, MeshFile) for meshes."""
        if self.kind == "mesh":
            return None, load_mesh(path.read_bytes(), path.name)
        if self.kind == "tetra":
            return None, load_tetrahedra(path.read_bytes(), path.name)
        builder = sim.ModelBuilder()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            options = {"filter_overlapping": False} | self.options
            return builder, getattr(builder, f"add_{self.kind}")(path, **options)


def sparse(size: int) -> Callable[[Path], None]:
    """A file of so many zeros that take no room."""

    def make(path: Path) -> None:
        with path.open("wb") as file:
            file.truncate(size)

    return make


def made(content: Callable[[], str | bytes]) -> Callable[[Path], None]:
    """A large content, which is made where it is written."""

    def make(path: Path) -> None:
        text = content()
        path.write_bytes(text.encode() if isinstance(text, str) else text)

    return make


# ---- small files of each format

INERTIAL = '<inertial><mass value="2"/><inertia ixx="0.1" ixy="0" ixz="0" iyy="0.2" iyz="0" izz="0.25"/></inertial>'
SPHERE = '<collision><geometry><sphere radius="0.1"/></geometry></collision>'
TETRAHEDRON = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
GEOM = '<geom name="g" size="0.1"/>'


def urdf(inside: str) -> str:
    """What is inside begins on line 2."""
    return f'<robot name="r">\n{inside}\n</robot>\n'


def link(inside: str, name="base") -> str:
    """A URDF of one link."""
    return urdf(f'<link name="{name}">{inside}</link>')


def jointed(inside="", kind="revolute", child=INERTIAL) -> str:
    """A URDF of two links; the joint stands on line 3."""
    return urdf(
        f'<link name="base"/><link name="arm">{child}</link>\n'
        f'<joint name="j" type="{kind}"><parent link="base"/><child link="arm"/>{inside}</joint>'
    )


def meshed(filename: str, tag="collision", extra="") -> str:
    """A URDF of one link with a mesh."""
    return link(f'<{tag}><geometry><mesh filename="{filename}" {extra}/></geometry></{tag}>')


def mjcf(inside: str) -> str:
    """What is inside begins on line 2."""
    return f'<mujoco model="m">\n{inside}\n</mujoco>\n'


def body(inside=GEOM, more="") -> str:
    """An MJCF of one body."""
    return mjcf(f'<worldbody><body name="b">{inside}</body></worldbody>{more}')


def hinged(inside="", more="") -> str:
    """An MJCF of one body on a hinge."""
    return body(f'<joint name="j" {inside}/>{GEOM}', more)


def mjcf_mesh(filename: str, attributes="") -> str:
    """An MJCF of one body with a mesh."""
    asset = f'<asset><mesh name="m" file="{filename}" {attributes}/></asset>'
    return mjcf(f'{asset}<worldbody><body name="b"><geom type="mesh" mesh="m"/></body></worldbody>')


def usda(inside: str, metadata="") -> str:
    """A USD stage in metres with Z up."""
    return f'#usda 1.0\n(\n    upAxis = "Z"\n    metersPerUnit = 1\n    {metadata}\n)\n{inside}\n'


def usd_body(inside="", schemas="", metadata="") -> str:
    """A USD stage of one rigid body, a sphere that collides."""
    return usda(
        f"""def Xform "World"
{{
    def Sphere "Ball" (
        prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsCollisionAPI", "PhysicsMassAPI"{schemas}]
    )
    {{
        double radius = 0.1
        {inside}
    }}
}}""",
        metadata,
    )


def usd_joint(inside="", kind="PhysicsRevoluteJoint", schemas="") -> str:
    """A USD stage of one rigid body on a joint to the world."""
    return usda(
        f"""def Xform "World"
{{
    def Sphere "Ball" (
        prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsCollisionAPI"]
    )
    {{
        double radius = 0.1
    }}
    def {kind} "Joint"{f" (prepend apiSchemas = [{schemas}])" if schemas else ""}
    {{
        rel physics:body1 = </World/Ball>
        uniform token physics:axis = "Z"
        {inside}
    }}
}}"""
    )


def usd_mesh(inside="", schemas="") -> str:
    """A USD stage of one static tetrahedron that collides."""
    return usda(
        f"""def Mesh "Rock" (
    prepend apiSchemas = ["PhysicsCollisionAPI"{schemas}]
)
{{
    point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
    int[] faceVertexCounts = [3, 3, 3, 3]
    int[] faceVertexIndices = [0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3]
    uniform token subdivisionScheme = "none"
    {inside}
}}"""
    )
