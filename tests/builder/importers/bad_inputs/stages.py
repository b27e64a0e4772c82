"""Bad inputs of USD alone: units, hierarchies, articulations, instancing, precedence."""

import math

import numpy as np

from tests.builder.importers.bad_inputs.cases import READ, WARN, Case, usd_body, usd_joint, usd_mesh, usda
from tests.builder.importers.bad_inputs.physics import BALL_MASS, mass_is

NESTED = usda(
    """def Xform "Outer" (
    prepend apiSchemas = ["PhysicsRigidBodyAPI"]
)
{
    def Sphere "Inner" (
        prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsCollisionAPI"]
    )
    {
        double radius = 0.1
    }
}"""
)
INSTANCES = usda(
    """def Xform "Proto" (
    instanceable = true
)
{
    def Sphere "Ball" (
        prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsCollisionAPI"]
    )
    {
        double radius = 0.1
    }
}
def Xform "A" (
    instanceable = true
    prepend references = </Proto>
)
{
}
def Xform "B" (
    instanceable = true
    prepend references = </Proto>
)
{
}"""
)
ROOTS = usda(
    """def Xform "A" (
    prepend apiSchemas = ["PhysicsArticulationRootAPI"]
)
{
    def Xform "B" (
        prepend apiSchemas = ["PhysicsArticulationRootAPI"]
    )
    {
        def Sphere "Ball" (
            prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsCollisionAPI"]
        )
        {
            double radius = 0.1
        }
    }
}"""
)


def scene(inside: str) -> str:
    """A stage of one rigid body with a physics scene."""
    return usd_body().replace('def Xform "World"', 'def PhysicsScene "Scene"\n{\n' + inside + '\n}\ndef Xform "World"')


def close(expected):
    return lambda builder, _: np.allclose(builder.gravity, expected, atol=1e-6)


CASES = [
    Case(
        "metersPerUnit or kilogramsPerUnit",
        "usd",
        {
            "a.usda": usd_body()
            .replace("metersPerUnit = 1", "metersPerUnit = 0.01")
            .replace("radius = 0.1", "radius = 10")
        },
        READ,
        check=lambda builder, _: math.isclose(builder.shapes[-1].size[0], 0.1),
    ),
    Case(
        "metersPerUnit or kilogramsPerUnit",
        "usd",
        {"a.usda": usd_body("float physics:mass = 3", metadata="kilogramsPerUnit = 0.001")},
        READ,
        check=mass_is(0.003),
    ),
    *(
        Case(
            "metersPerUnit or kilogramsPerUnit",
            "usd",
            {"a.usda": usd_body().replace("metersPerUnit = 1", f"metersPerUnit = {unit}")},
        )
        for unit in ("0", "-1", "nan", "1e300")
    ),
    Case(
        "upAxis Y vs Z",
        "usd",
        {"a.usda": usd_body().replace('upAxis = "Z"', 'upAxis = "Y"')},
        READ,
        check=close((0, 0, -9.81)),
    ),
    Case(
        "upAxis Y vs Z",
        "usd",
        {
            "a.usda": usd_body(metadata="subLayers = [@b.usda@]"),
            "b.usda": usda("").replace('upAxis = "Z"', 'upAxis = "Y"'),
        },
        WARN,
        ("upAxis",),
    ),
    Case("Nested rigid bodies", "usd", {"a.usda": NESTED}, WARN, ("Inner",)),
    Case("Nested articulation roots", "usd", {"a.usda": ROOTS}, WARN),
    Case("Instanceable prims", "usd", {"a.usda": INSTANCES}, READ, check=lambda builder, _: len(builder.bodies) == 3),
    Case(
        "Non-uniform scale",
        "usd",
        {"a.usda": usd_body('float3 xformOp:scale = (1, 2, 3)\nuniform token[] xformOpOrder = ["xformOp:scale"]')},
        READ,
        check=lambda builder, report: (
            report.warned or report.repaired or builder.shapes[-1].type.name in ("ELLIPSOID", "MESH")
        ),
    ),
    Case(
        "Time-sampled physics attributes",
        "usd",
        {"a.usda": usd_body("float physics:mass = 3\nfloat physics:mass.timeSamples = {0: 5, 1: 7}")},
        WARN,
        ("mass",),
    ),
    Case(
        "Gravity magnitude -inf",
        "usd",
        {"a.usda": scene("float physics:gravityMagnitude = -inf\nvector3f physics:gravityDirection = (0, 0, 0)")},
        READ,
        check=lambda builder, _: abs(abs(builder.gravity[2]) - 9.81) < 0.01 and builder.gravity[2] < 0,
    ),
    Case(
        "Gravity magnitude -inf",
        "usd",
        {"a.usda": scene("float physics:gravityMagnitude = 2\nvector3f physics:gravityDirection = (1, 0, 0)")},
        READ,
        check=close((2, 0, 0)),
    ),
    *(
        Case("Gravity magnitude -inf", "usd", {"a.usda": scene(f"float physics:gravityMagnitude = {number}")})
        for number in ("nan", "inf")
    ),
    Case(
        "Diagonal inertia with wrong principal axes",
        "usd",
        {"a.usda": usd_body("float physics:mass = 3\nfloat physics:density = 10")},
        READ,
        check=mass_is(3),
    ),
    Case(
        "Diagonal inertia with wrong principal axes",
        "usd",
        {"a.usda": usd_body("float physics:density = 500")},
        READ,
        check=mass_is(BALL_MASS / 2),
    ),
    Case(
        "Diagonal inertia with wrong principal axes",
        "usd",
        {"a.usda": usd_body("float physics:mass = 0\nfloat physics:density = 0")},
        READ,
        check=mass_is(BALL_MASS),
    ),  # zeros mean that nothing was set
    Case(
        "Collision approximations unknown",
        "usd",
        {"a.usda": usd_mesh('uniform token physics:approximation = "blob"', ', "PhysicsMeshCollisionAPI"')},
        WARN,
        ("blob",),
    ),
    Case(
        "Collision approximations unknown",
        "usd",
        {"a.usda": usd_mesh().replace('Scheme = "none"', 'Scheme = "catmullClark"')},
        WARN,
        ("subdivision",),
    ),
    Case(
        "Binary crate with bad offsets",
        "usd",
        {"a.usdc": b"PXR-USDC" + bytes(8) + (1 << 62).to_bytes(8, "little") + bytes(64)},
    ),
    Case("Binary crate with bad offsets", "usd", {"a.usdc": b"PXR-USDC" + b"\0\x08\0\0\0\0\0\0" + b"\xff" * 80}),
    Case("Binary crate with bad offsets", "usd", {"a.usdc": b"PXR-USDC" + bytes(20)}),
    Case("Joint without parent", "usd", {"a.usda": usd_joint(kind="PhysicsGearJoint")}, WARN, ("Gear",)),
]
