"""Small files of each format that use much of it: what fuzzers start from."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

from simengine.builder.meshes.files import FORMATS
from simengine.builder.meshes.tetra_files import TETRA_FORMATS
from tests.builder.importers.bad_inputs.cases import READ, TETRAHEDRON
from tests.builder.importers.bad_inputs.meshes import CASES as MESH_CASES
from tests.builder.importers.bad_inputs.meshes import gmsh, mujoco_msh, stl
from tests.builder.importers.bad_inputs.physics import CASES as PHYSICS_CASES
from tests.builder.importers.bad_inputs.stages import CASES as USD_CASES
from tests.builder.importers.bad_inputs.text import CASES as TEXT_CASES
from tests.builder.importers.usd.stages import HEADER, body, joint, prim, translated
from tests.builder.meshes import mesh_samples, test_files, test_ply, test_tetra_files

ASSETS = Path(__file__).resolve().parents[2] / "assets"
REFERENCE = Path(__file__).resolve().parents[3] / "shared" / "assets"
MESH_FOLDERS = ("trimesh/models", "mujoco/meshes", "ipc/tetMeshes", "IsaacGymEnvs/factory_and_tet")

URDF = """<?xml version="1.0"?>
<robot name="r">
  <material name="red"><color rgba="1 0 0 1"/></material>
  <link name="base"><visual name="v"><origin xyz="0 0 1" rpy="0 0.5 0"/><geometry><box size="1 2 3"/></geometry>
    <material name="red"/></visual>
    <collision><geometry><mesh filename="a.obj" scale="1 1 -1"/></geometry></collision></link>
  <link name="arm"><inertial><origin xyz="0 0 1" rpy="0 0 1"/><mass value="2"/>
    <inertia ixx="0.1" ixy="0.01" ixz="0" iyy="0.2" iyz="0" izz="0.25"/></inertial>
    <contact><lateral_friction value="1"/><rolling_friction value="0.1"/></contact>
    <collision><geometry><capsule radius="0.1" length="1"/></geometry></collision></link>
  <link name="tip"><collision><geometry><cylinder radius="0.1" length="1"/></geometry></collision></link>
  <link name="soft"><inertial><mass value="1"/></inertial><fem><youngs value="1e5"/><tetmesh filename="a.tet"/></fem>
    <collision><geometry><sphere radius="1"/></geometry></collision></link>
  <joint name="j" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/><origin xyz="0 0 1"/>
    <limit lower="-1" upper="2" effort="3" velocity="4"/><dynamics damping="0.1" friction="0.2"/>
    <safety_controller soft_lower_limit="-0.5" soft_upper_limit="0.5" k_position="1" k_velocity="2"/></joint>
  <joint name="k" type="prismatic"><parent link="arm"/><child link="tip"/>
    <limit lower="0" upper="1" effort="1" velocity="1"/>
    <mimic joint="j" multiplier="2" offset="0.1"/></joint>
  <joint name="p" type="planar"><parent link="base"/><child link="soft"/></joint>
  <gazebo reference="tip"><mu1>0.5</mu1><mu2>0.6</mu2><selfCollide>false</selfCollide>
    <material>Gazebo/Red</material></gazebo>
  <gazebo><joint name="l" type="revolute"><parent>base</parent><child>tip</child><pose>0 0 0 0 0 1</pose>
    <axis><xyz>0 1 0</xyz></axis></joint></gazebo>
  <transmission name="t"><type>DifferentialTransmission</type>
    <actuator name="m1"><mechanicalReduction>5</mechanicalReduction><role>actuator1</role></actuator>
    <actuator name="m2"><mechanicalReduction>-5</mechanicalReduction><role>actuator2</role></actuator>
    <joint name="j"><role>joint1</role></joint><joint name="k"><role>joint2</role></joint></transmission>
  <mujoco><compiler meshdir="m" balanceinertia="true" boundmass="0.1" settotalmass="5"/>
    <option gravity="0 0 -1"/></mujoco>
</robot>
"""

MJCF = """<mujoco model="m">
  <compiler angle="degree" eulerseq="xyz" autolimits="true" meshdir="." balanceinertia="true" boundmass="0.001"/>
  <option timestep="0.002" gravity="0 0 -9.81" integrator="RK4" cone="elliptic"><flag contact="enable"/></option>
  <default><joint damping="1"/><default class="c"><geom rgba="1 0 0 1" friction="1 0.1 0.01"/></default></default>
  <asset><mesh name="m" file="a.obj" scale="1 2 1"/><material name="red" rgba="1 0 0 1"/>
    <mesh name="inline" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/>
    <hfield name="h" nrow="2" ncol="2" size="1 1 1 1" elevation="0 1 1 0"/></asset>
  <worldbody>
    <geom name="floor" type="plane" size="1 1 1"/><geom type="hfield" hfield="h"/>
    <body name="a" pos="0 0 1" euler="10 20 30" childclass="c"><freejoint name="root"/>
      <geom name="ga" type="cylinder" fromto="0 0 0 0 0 1" size="0.1"/><site name="s" pos="0 0 1"/>
      <body name="b" pos="0 0 1" axisangle="0 0 1 45"><joint name="h1" axis="0 1 0" range="-90 90" stiffness="2"/>
        <joint name="h2" type="slide" axis="1 0 0"/><geom name="gb" type="box" size="0.1 0.2 0.3" mass="1"/>
        <inertial pos="0 0 0" mass="1" diaginertia="0.1 0.1 0.1"/><site name="t"/></body>
      <frame pos="1 0 0"><body name="d"><joint name="ball" type="ball"/><geom type="mesh" mesh="m"/></body></frame>
    </body>
    <replicate count="2" offset="1 0 0"><body name="e"><geom size="0.1"/></body></replicate>
  </worldbody>
  <contact><pair geom1="ga" geom2="floor" friction="1 1 0.1 0.1 0.1"/><exclude body1="a" body2="b"/></contact>
  <equality><connect body1="a" body2="b" anchor="0 0 1"/><weld body1="a" body2="d"/><joint joint1="h1" joint2="h2"
    polycoef="0 1 0 0 0"/><tendon tendon1="f"/></equality>
  <tendon><fixed name="f"><joint joint="h1" coef="1"/><joint joint="h2" coef="-1"/></fixed>
    <spatial name="sp" range="0 2"><site site="s"/><geom geom="ga" sidesite="t"/><site site="t"/></spatial></tendon>
  <actuator><motor name="mo" joint="h1" gear="2" ctrlrange="-1 1"/><position joint="h2" kp="10"/><general tendon="f"
    gaintype="affine" gainprm="1 2 3" biastype="affine" biasprm="0 -1 -2"/><muscle tendon="sp"/></actuator>
  <sensor><jointpos joint="h1"/><gyro site="s"/><framepos objtype="body" objname="a"/><touch site="t"/></sensor>
  <keyframe><key name="home" time="1" ctrl="0 0 0 0"/></keyframe>
  <custom><numeric name="n" data="1 2"/><text name="w" data="x"/></custom>
</mujoco>
"""

MJCF_OF_ALL = """<mujoco><compiler angle="radian"/><default><geom size=".1"/><joint damping="1"/></default>
<asset><mesh name="m" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/><hfield name="h" nrow="2" ncol="2" size="1 1 1 1"/></asset>
<worldbody><geom type="hfield" hfield="h"/>
<replicate count="2" offset="1 0 0"><body name="a" euler="1 2 3"><joint name="j" range="-1 1"/>
<joint name="k" axis="1 0 0" pos="0 1 0"/><geom name="g" type="mesh" mesh="m"/><site name="s"/></body></replicate>
<body name="b" pos="0 0 1"><freejoint/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>
<geom type="capsule" fromto="0 0 0 1 1 1"/></body></worldbody>
<contact><exclude body1="a0" body2="b"/><pair geom1="g0" geom2="g1"/></contact>
<equality><connect body1="a0" body2="b" anchor="0 0 0"/><joint joint1="j0" joint2="k1" polycoef="0 1"/></equality>
<tendon><fixed name="t"><joint joint="j0" coef="1"/></fixed>
<spatial><site site="s0"/><site site="s1"/></spatial></tendon>
<actuator><position joint="j0" kp="3" dampratio="1"/><muscle tendon="t" lengthrange="0 1"/></actuator>
<sensor><jointpos joint="j0"/></sensor><keyframe><key qpos="0 0 0 0 1 2 3 1 0 0 0"/></keyframe></mujoco>"""
"""Has something of every section."""

USDA = """#usda 1.0
(
    upAxis = "Y"
    metersPerUnit = 0.01
    kilogramsPerUnit = 1
    defaultPrim = "World"
)
def PhysicsScene "Scene"
{
    vector3f physics:gravityDirection = (0, -1, 0)
    float physics:gravityMagnitude = 981
}
def Xform "World" (prepend apiSchemas = ["PhysicsArticulationRootAPI"])
{
    def Cube "Base" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsCollisionAPI", "PhysicsMassAPI"])
    {
        double size = 20
        float physics:mass = 3
        float3 physics:diagonalInertia = (100, 100, 100)
        double3 xformOp:translate = (0, 50, 0)
        float3 xformOp:rotateXYZ = (10, 20, 30)
        float3 xformOp:scale = (1, 2, 1)
        uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:rotateXYZ", "xformOp:scale"]
        rel material:binding:physics = </World/Rubber>
    }
    def Capsule "Arm" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsCollisionAPI"])
    {
        double radius = 5
        double height = 30
        uniform token axis = "X"
    }
    def Mesh "Rock" (prepend apiSchemas = ["PhysicsCollisionAPI", "PhysicsMeshCollisionAPI"])
    {
        point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
        int[] faceVertexCounts = [3, 3, 3, 3]
        int[] faceVertexIndices = [0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3]
        uniform token subdivisionScheme = "none"
        uniform token physics:approximation = "convexHull"
    }
    def Material "Rubber" (prepend apiSchemas = ["PhysicsMaterialAPI"])
    {
        float physics:dynamicFriction = 0.5
        float physics:restitution = 0.1
    }
    def PhysicsFixedJoint "Root"
    {
        rel physics:body1 = </World/Base>
    }
    def PhysicsRevoluteJoint "Hinge" (prepend apiSchemas = ["PhysicsDriveAPI:angular"])
    {
        rel physics:body0 = </World/Base>
        rel physics:body1 = </World/Arm>
        uniform token physics:axis = "Z"
        point3f physics:localPos0 = (0, 10, 0)
        quatf physics:localRot0 = (1, 0, 0, 0)
        float physics:lowerLimit = -90
        float physics:upperLimit = 90
        float drive:angular:physics:stiffness = 10
        float drive:angular:physics:damping = 1
    }
}
"""

PLY = (
    "ply\nformat ascii 1.0\nelement vertex 4\nproperty float x\nproperty float y\nproperty float z\n"
    "element face 4\nproperty list uchar int vertex_indices\nend_header\n"
    "0 0 0\n1 0 0\n0 1 0\n0 0 1\n3 0 2 1\n3 0 1 3\n3 0 3 2\n3 1 2 3\n"
)
OFF = "OFF\n4 4 6\n0 0 0\n1 0 0\n0 1 0\n0 0 1\n3 0 2 1\n3 0 1 3\n3 0 3 2\n3 1 2 3\n"
VTK = (
    "# vtk DataFile Version 3.0\nx\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS 4 float\n0 0 0\n1 0 0\n0 1 0\n0 0 1\n"
    "CELLS 1 5\n4 0 1 2 3\nCELL_TYPES 1\n10\n"
)
DAE = """<COLLADA xmlns="x" version="1.4.1"><asset><unit meter="0.01"/><up_axis>Y_UP</up_axis></asset>
<library_geometries><geometry id="g"><mesh><source id="p">
<float_array id="f" count="12">0 0 0 1 0 0 0 1 0 0 0 1</float_array>
<technique_common><accessor source="#f" count="4" stride="3"/></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
<triangles count="4"><input semantic="VERTEX" source="#v" offset="0"/><p>0 2 1 0 1 3 0 3 2 1 2 3</p></triangles>
</mesh></geometry></library_geometries><library_visual_scenes><visual_scene id="s"><node><translate>1 2 3</translate>
<rotate>0 0 1 90</rotate><instance_geometry url="#g"/></node></visual_scene></library_visual_scenes>
<scene><instance_visual_scene url="#s"/></scene></COLLADA>"""


def stage() -> str:
    """A stage with something of everything that the USD importer reads."""
    tetra = {
        "points_points": "[(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]",
        "tetVertexIndices_int4[]": "[(0, 1, 2, 3)]",
    }
    faces = {"faceVertexCounts_ints": "[3, 3, 3, 3]", "faceVertexIndices_ints": "[0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3]"}
    hull = {"physics__approximation_token": '"convexHull"', "points_points": tetra["points_points"], **faces}
    mesh = prim("Mesh", "mesh", "PhysicsCollisionAPI", "PhysicsMeshCollisionAPI", **hull)
    drive = {"drive__angular__physics__stiffness_float": 2.0, "drive__angular__physics__type_token": '"acceleration"'}
    limits = {"physics__lowerLimit_float": -30.0, "physics__upperLimit_float": 30.0, "newton__damping_float": 0.1}
    generic = {
        f"limit__{axis}__physics__{end}_float": 1.0 if end == "low" else -1.0
        for axis in ("transX", "rotY")
        for end in ("low", "high")
    }
    return HEADER.format(up="Y", metre=0.01, kilogram=1) + "".join(
        (
            prim(
                "PhysicsScene",
                "scene",
                physics__gravityMagnitude_float=981.0,
                physics__gravityDirection_v3="(0, -1, 0)",
            ),
            prim("Material", "m", "PhysicsMaterialAPI", physics__dynamicFriction_float=0.5, physics__density_float=1.0),
            body("a", inside=mesh, physics__centerOfMass_p3="(0, 0, 0)", physics__velocity_v3="(1, 0, 0)"),
            body(
                "b",
                inside=prim(
                    "Capsule", "c", "PhysicsCollisionAPI", "MaterialBindingAPI", material__binding__physics_rel="</m>"
                ),
            ),
            body("d", (1, 2, 3), inside=prim("Cube", "e", "PhysicsCollisionAPI", **translated(1, 0, 0))),
            joint("PhysicsRevoluteJoint", "j", "/a", "/b", "PhysicsDriveAPI:angular", **drive, **limits),
            joint("PhysicsJoint", "k", "/b", "/d", "NewtonMimicAPI", newton__mimicJoint_rel="</j>", **generic),
            joint("PhysicsSphericalJoint", "l", "/d", "/a", physics__coneAngle0Limit_float=20.0),
            prim("TetMesh", "soft", **tetra),
            prim(
                "MjcActuator",
                "motor",
                mjc__target_rel="</j>",
                mjc__gainPrm_doubles="[1, 0]",
                mjc__ctrlRange__max_double=2.0,
            ),
            prim(
                "PhysicsCollisionGroup",
                "g",
                "CollectionAPI:colliders",
                collection__colliders__includes_rel="</a>",
                physics__filteredGroups_rel="</g>",
            ),
        )
    )


def glb() -> bytes:
    """A binary glTF of a tetrahedron."""
    points = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)], np.float32).tobytes()
    faces = np.array([0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3], np.uint16).tobytes()
    text = (
        '{"asset":{"version":"2.0"},"scene":0,"scenes":[{"nodes":[0]}],"nodes":[{"mesh":0,"translation":[1,2,3]}],'
        '"meshes":[{"primitives":[{"attributes":{"POSITION":0},"indices":1}]}],"buffers":[{"byteLength":72}],'
        '"bufferViews":[{"buffer":0,"byteOffset":0,"byteLength":48},{"buffer":0,"byteOffset":48,"byteLength":24}],'
        '"accessors":[{"bufferView":0,"componentType":5126,"count":4,"type":"VEC3","min":[0,0,0],"max":[1,1,1]},'
        '{"bufferView":1,"componentType":5123,"count":12,"type":"SCALAR"}]}'
    )
    json = text.encode()
    json += b" " * (-len(json) % 4)
    chunks = struct.pack("<I4s", len(json), b"JSON") + json + struct.pack("<I4s", 72, b"BIN\0") + points + faces
    return struct.pack("<4sII", b"glTF", 2, 12 + len(chunks)) + chunks


MESHES = {
    "a.obj": TETRAHEDRON.encode(),
    "a.stl": stl(),
    "b.stl": b"solid x\nfacet normal 0 0 0\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\n"
    b"endfacet\nendsolid\n",
    "a.ply": PLY.encode(),
    "b.ply": PLY.split("end_header\n")[0].replace("ascii", "binary_little_endian").encode()
    + b"end_header\n"
    + np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)], "<f4").tobytes()
    + b"".join(struct.pack("<B3i", 3, *face) for face in ((0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3))),
    "a.off": OFF.encode(),
    "a.dae": DAE.encode(),
    "a.glb": glb(),
    "a.msh": mujoco_msh(4, 0, 0, 4),
}
SURFACES = {
    **{name.lower(): data for name, data in test_files.SAMPLES.items()},
    "mixed.ply": mesh_samples.binary_ply(test_ply.CUBE, test_ply.MIXED, ">", extra=True),
    "text.ply": test_ply.TEXT.encode(),
    "nodes.glb": mesh_samples.glb(*mesh_samples.glb_scene(nodes=[{"children": [1]}, {"mesh": 0, "scale": [1, -1, 1]}])),
    "instances.dae": mesh_samples.dae(
        '<node id="n"><instance_geometry url="#g"/></node><node><instance_node url="#n"/></node>'
    ),
}
TETRAHEDRA = {
    "t.msh": gmsh().encode(),
    "t.tet": b"v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nt 0 1 2 3\n",
    "t.vtk": VTK.encode(),
}


def of(kind: str) -> list[tuple[str, bytes]]:
    """(name, content) of the seeds of a target: urdf, mjcf, usd or mesh (tetrahedra too)."""
    if kind == "mesh":
        return [*MESHES.items(), *SURFACES.items(), *TETRAHEDRA.items(), *test_tetra_files.SAMPLES.items()]
    own = {"urdf": ("a.urdf", URDF), "mjcf": ("a.xml", MJCF), "usd": ("a.usda", USDA)}[kind]
    seeds = [(own[0], own[1].encode())]
    if kind == "mjcf":
        seeds.append(("a.xml", MJCF_OF_ALL.encode()))
    if kind == "usd":
        seeds.append(("a.usda", stage().encode()))
    if kind == "urdf":
        seeds += [("a.urdf", path.read_bytes()) for path in sorted(ASSETS.glob("*.urdf"))]
    cases = (*MESH_CASES, *PHYSICS_CASES, *TEXT_CASES, *USD_CASES)
    for case in cases:
        content = case.files[case.file]
        if case.kind == kind and case.policy == READ and not callable(content):
            seeds.append((Path(case.file).name, content.encode() if isinstance(content, str) else content))
    return seeds


def of_reference_data(kind: str) -> list[tuple[str, bytes]]:
    """Small mesh files of the reference data beside the repository, where it is there; for long runs."""
    found = []
    for folder in MESH_FOLDERS if kind == "mesh" else ():
        for path in sorted((REFERENCE / folder).rglob("*")):
            if path.suffix[1:].lower() in (*FORMATS, *TETRA_FORMATS) and path.stat().st_size < 40_000:
                found.append((path.name.lower(), path.read_bytes()))
    return found
