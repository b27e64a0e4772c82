"""Bad inputs of physical content: masses, joints, limits, shapes, references."""

import math

import numpy as np

import simengine as sim
from tests.builder.importers.bad_inputs.cases import (
    FIX,
    GEOM,
    INERTIAL,
    READ,
    SPHERE,
    WARN,
    Case,
    body,
    hinged,
    jointed,
    link,
    mjcf,
    urdf,
    usd_body,
    usd_joint,
)

BALL_MASS = 1000 * 4 / 3 * math.pi * 0.1**3


def mass_is(expected: float):
    """The mass of the last body, from its shapes or as given."""
    from simengine.builder.masses import body_masses

    return lambda builder, _: math.isclose(body_masses(builder._elements)[-1].mass, expected, rel_tol=1e-5)


def inertial(attributes: str) -> str:
    """An MJCF of one moving body with this inertial."""
    return body(f'<freejoint/><inertial pos="0 0 0" {attributes}/>{GEOM}')


def tensor(xx, yy, zz, xy=0, rpy="0 0 0") -> str:
    return (f'<inertial><origin xyz="0 0 0" rpy="{rpy}"/><mass value="1"/>'
            f'<inertia ixx="{xx}" iyy="{yy}" izz="{zz}" ixy="{xy}" ixz="0" iyz="0"/></inertial>')  # fmt: skip


def turned_inertia(builder, _) -> bool:
    """A quarter turn about z exchanges the moments about x and y."""
    inertia = np.reshape(builder.bodies[-1].inertia, (3, 3))
    return np.allclose(inertia, np.diag([0.2, 0.1, 0.25]), atol=1e-12)


def chain(*mimics: str) -> str:
    """A URDF of joints j0, j1, ... each with what is inside; joint i stands on line 3 + 2 i."""
    parts = ['<link name="l0"/>']
    for i, inside in enumerate(mimics):
        kind = "fixed" if inside == "fixed" else "planar" if inside == "planar" else "continuous"
        inside = "" if kind != "continuous" else inside
        parts.append(f'<link name="l{i + 1}">{INERTIAL}</link>')
        parts.append(f'<joint name="j{i}" type="{kind}"><parent link="l{i}"/><child link="l{i + 1}"/>{inside}</joint>')
    return urdf("\n".join(parts))


def advised(word: str):
    """Whether the solver's advice, which a simulation gives once, tells of what the file asks for."""

    def check(builder, _) -> bool:
        solver = sim.solvers.Featherstone(builder.finalize(device="cpu"), integrator="euler")
        return any(word in advice for advice in map(str, solver.advise(0.002)))

    return check


def mimic(name: str, more="") -> str:
    return f'<mimic joint="{name}" {more}/>'


LIGHT_TIP = hinged().replace(
    "</body>",
    '<body><joint axis="0 1 0"/><inertial pos="0 0 0" mass="1e-12" diaginertia="1e-9 1e-9 1e-9"/></body></body>',
)

CASES = [
    # masses and inertias
    Case("Missing inertial", "urdf", {"a.urdf": jointed(child=SPHERE)}, READ, check=mass_is(BALL_MASS)),
    Case("Missing inertial", "urdf", {"a.urdf": jointed(child="")}, words=("'arm'", "mass"), line=2),
    Case("Missing inertial", "mjcf", {"a.xml": body(f"<freejoint/>{GEOM}")}, READ, check=mass_is(BALL_MASS)),
    Case("Missing inertial", "mjcf", {"a.xml": body("<freejoint/>")}, words=("'b'", "mass"), line=2),
    Case("Missing inertial", "usd", {"a.usda": usd_body()}, READ, check=mass_is(BALL_MASS)),
    Case(
        "Zero mass moving leaf",
        "urdf",
        {"a.urdf": jointed(child='<inertial><mass value="0"/></inertial>')},
        words=("mass",),
        line=2,
    ),
    Case("Zero mass moving leaf", "mjcf", {"a.xml": inertial('mass="0" diaginertia="0 0 0"')}, words=("mass",), line=2),
    Case("Negative mass", "urdf", {"a.urdf": link(INERTIAL.replace('"2"', '"-2"'))}, words=("negative mass",), line=2),
    Case("Negative mass", "mjcf", {"a.xml": inertial('mass="-2" diaginertia="1 1 1"')}, line=2),
    Case("Negative mass", "mjcf", {"a.xml": body('<geom size="0.1" mass="-1"/>')}, line=2),
    Case("Negative mass", "mjcf", {"a.xml": body('<geom size="0.1" density="-1"/>')}, line=2),
    Case("Negative mass", "usd", {"a.usda": usd_body("float physics:mass = -1")}, words=("/World/Ball", "mass")),
    Case(
        "Inertia not positive definite",
        "urdf",
        {"a.urdf": link(tensor(1, -1, 1))},
        words=("moments of inertia",),
        line=2,
    ),
    Case(
        "Inertia not positive definite",
        "urdf",
        {"a.urdf": link(tensor(1, 1, 1, xy=2))},
        words=("moments of inertia",),
        line=2,
    ),
    Case("Inertia not positive definite", "mjcf", {"a.xml": inertial('mass="1" diaginertia="1 -1 1"')}, line=2),
    Case("Inertia not positive definite", "mjcf", {"a.xml": inertial('mass="1" fullinertia="1 1 1 2 0 0"')}, line=2),
    Case(
        "Inertia not positive definite",
        "usd",
        {"a.usda": usd_body("float3 physics:diagonalInertia = (1, -1, 1)")},
        words=("Ball",),
    ),
    Case("Triangle inequality violated", "urdf", {"a.urdf": link(tensor(1, 1, 5))}, WARN, ("no body can have",)),
    Case(
        "Triangle inequality violated",
        "urdf",
        {"a.urdf": link(tensor(1, 1, 5))},
        FIX,
        ("made equal",),
        options={"balance_inertia": True},
    ),
    Case(
        "Triangle inequality violated",
        "mjcf",
        {"a.xml": inertial('mass="1" diaginertia="1 1 5"')},
        words=("inertia",),
        line=2,
    ),
    Case(
        "Triangle inequality violated",
        "mjcf",
        {
            "a.xml": inertial('mass="1" diaginertia="1 1 5"').replace(
                "<worldbody>", '<compiler balanceinertia="true"/><worldbody>'
            )
        },
        FIX,
    ),
    Case(
        "Inertia about wrong frame",
        "urdf",
        {"a.urdf": jointed(child=tensor(0.1, 0.2, 0.25, rpy="0 0 1.5707963267948966"))},
        READ,
        check=turned_inertia,
    ),
    Case(
        "Inertia about wrong frame",
        "mjcf",
        {"a.xml": inertial('mass="1" diaginertia="0.1 0.2 0.25" quat="0.7071067811865476 0 0 0.7071067811865476"')},
        READ,
        check=turned_inertia,
    ),
    Case(
        "Inertia about wrong frame",
        "usd",
        {
            "a.usda": usd_body(
                "float physics:mass = 1\nfloat3 physics:diagonalInertia = (0.1, 0.2, 0.25)\n"
                "quatf physics:principalAxes = (0.70710678, 0, 0, 0.70710678)"
            )
        },
        READ,
        check=lambda builder, _: np.allclose(
            np.reshape(builder.bodies[-1].inertia, (3, 3)), np.diag([0.2, 0.1, 0.25]), atol=1e-7
        ),
    ),
    *(
        Case("NaN/inf mass", "urdf", {"a.urdf": link(INERTIAL.replace('"2"', f'"{number}"'))}, line=2)
        for number in ("nan", "inf")
    ),
    *(
        Case("NaN/inf mass", "mjcf", {"a.xml": inertial(f'mass="{number}" diaginertia="1 1 1"')}, line=2)
        for number in ("nan", "inf")
    ),
    *(
        Case("NaN/inf mass", "usd", {"a.usda": usd_body(f"float physics:mass = {number}")}, words=("Ball",))
        for number in ("nan", "inf")
    ),
    # axes and orientations
    Case("Zero-length joint axis", "urdf", {"a.urdf": jointed('<axis xyz="0 0 0"/>')}, words=("zero length",), line=3),
    Case("Zero-length joint axis", "urdf", {"a.urdf": jointed('<axis xyz="0 0 2"/>')}, FIX, ("length 2 made 1",)),
    Case("Zero-length joint axis", "mjcf", {"a.xml": hinged('axis="0 0 0"')}, line=2),
    Case(
        "Zero-length joint axis",
        "mjcf",
        {"a.xml": hinged('axis="0 0 2"')},
        READ,
        check=lambda builder, _: builder.joints[-1].dofs[0].axis == (0, 0, 1),
    ),
    Case("Zero or non-unit quaternion", "mjcf", {"a.xml": body('<geom size="0.1" quat="0 0 0 0"/>')}, line=2),
    Case(
        "Zero or non-unit quaternion",
        "mjcf",
        {"a.xml": body('<geom type="box" size="1 1 1" quat="2 0 0 0"/>')},
        READ,
        check=lambda builder, _: builder.shapes[-1].xform[3:] == (0, 0, 0, 1),
    ),
    Case(
        "Zero or non-unit quaternion",
        "mjcf",
        {"a.xml": body('<geom size="0.1" quat="1 0 0 0" euler="0 0 1"/>')},
        line=2,
    ),
    Case(
        "Zero or non-unit quaternion",
        "usd",
        {"a.usda": usd_joint("quatf physics:localRot0 = (0, 0, 0, 0)")},
        words=("Joint",),
    ),
    # joints
    *(
        Case(
            "Joint without parent, child, type, name",
            "urdf",
            {"a.urdf": jointed().replace(part, "")},
            words=(word,),
            line=3,
        )
        for part, word in (
            ('<parent link="base"/>', "<parent>"),
            ('<child link="arm"/>', "<child>"),
            ('type="revolute"', "'type'"),
            ('name="j"', "'name'"),
        )
    ),
    Case(
        "Joint without parent, child, type, name",
        "urdf",
        {"a.urdf": jointed(kind="screw")},
        words=("screw", "unknown"),
        line=3,
    ),
    Case(
        "Joint without parent, child, type, name", "mjcf", {"a.xml": hinged('type="screw"')}, words=("screw",), line=2
    ),
    Case(
        "Joint without parent, child, type, name",
        "usd",
        {"a.usda": usd_joint().replace("rel physics:body1 = </World/Ball>", "")},
        WARN,
        ("Joint",),
    ),
    Case(
        "Joint to unknown link",
        "urdf",
        {"a.urdf": jointed().replace('child link="arm"', 'child link="arn"')},
        words=("'arn'", "did you mean 'arm'"),
        line=3,
    ),
    Case(
        "Joint to unknown link",
        "usd",
        {"a.usda": usd_joint().replace("</World/Ball>", "</World/Bull>")},
        words=("Joint",),
    ),
    Case(
        "Duplicate link, joint, body names",
        "urdf",
        {"a.urdf": urdf('<link name="a"/>\n<link name="a"/>')},
        words=("two links", "'a'"),
        line=3,
    ),
    Case(
        "Duplicate link, joint, body names",
        "urdf",
        {"a.urdf": jointed().replace("</robot>", jointed().splitlines()[2] + "</robot>")},
        words=("two joints",),
        line=4,
    ),
    Case(
        "Duplicate link, joint, body names",
        "mjcf",
        {"a.xml": mjcf(f'<worldbody><body name="b">{GEOM}</body>\n<body name="b"/></worldbody>')},
        words=("'b'",),
        line=3,
    ),
    Case("Duplicate link, joint, body names", "mjcf", {"a.xml": body(GEOM + GEOM)}, words=("'g'",), line=2),
    Case(
        "Duplicate link, joint, body names",
        "urdf",
        {"a.urdf": link(SPHERE.replace("<collision", "<collision name='c'") * 2)},
        FIX,
        ("'base/c_1'",),
    ),
    # limits
    Case(
        "Limits lower > upper",
        "urdf",
        {"a.urdf": jointed('<limit lower="1" upper="-1" effort="1" velocity="1"/>')},
        words=("above",),
        line=3,
    ),
    Case("Limits lower > upper", "mjcf", {"a.xml": hinged('range="1 -1" limited="true"')}, words=("range",), line=2),
    Case(
        "Limits lower > upper",
        "usd",
        {"a.usda": usd_joint("float physics:lowerLimit = 90\nfloat physics:upperLimit = -90")},
        words=("Joint",),
    ),
    Case(
        "Limits lower > upper",
        "urdf",
        {"a.urdf": jointed('<limit lower="-90" upper="90" effort="1" velocity="1"/>')},
        WARN,
        ("degrees",),
    ),
    Case(
        "Limits lower > upper",
        "urdf",
        {"a.urdf": jointed('<limit lower="-1" upper="1" effort="1" velocity="0"/>')},
        FIX,
        ("no limit",),
    ),
    Case(
        "Limits lower > upper",
        "urdf",
        {"a.urdf": jointed('<limit lower="-1" upper="1"/>')},
        READ,
        check=lambda builder, report: any(note.what == "effort limit" for note in report.defaulted),
    ),
    # mimic
    Case("Mimic: missing, self, unknown", "urdf", {"a.urdf": chain("", "<mimic/>")}, words=("'joint'",), line=6),
    Case("Mimic: missing, self, unknown", "urdf", {"a.urdf": chain("", mimic("j1"))}, words=("itself",), line=6),
    Case(
        "Mimic: missing, self, unknown",
        "urdf",
        {"a.urdf": chain("", mimic("j9"))},
        words=("'j9'", "not in the file"),
        line=6,
    ),
    Case("Mimic: missing, self, unknown", "urdf", {"a.urdf": chain("planar", mimic("j0"))}, WARN, ("planar",)),
    Case("Mimic: missing, self, unknown", "urdf", {"a.urdf": chain("fixed", mimic("j0"))}, WARN, ("fixed",)),
    Case(
        "Mimic: missing, self, unknown",
        "urdf",
        {"a.urdf": chain("", mimic("j0", 'multiplier="2"'), mimic("j1"))},
        READ,
        check=lambda builder, report: [m[:3] for m in report.mimics] == [("j1", "j0", 2.0), ("j2", "j1", 1.0)],
    ),
    Case("Mimic: missing, self, unknown", "urdf", {"a.urdf": chain(mimic("j1"), mimic("j0"))}, words=("circle",)),
    # negative numbers
    *(
        Case(
            "Negative damping, stiffness, friction",
            "urdf",
            {"a.urdf": jointed(f'<dynamics {name}="-1"/>')},
            words=(f"negative {name}",),
            line=3,
        )
        for name in ("damping", "friction")
    ),
    *(
        Case("Negative damping, stiffness, friction", "mjcf", {"a.xml": hinged(f'{name}="-1"')}, line=2)
        for name in ("damping", "stiffness", "frictionloss", "armature")
    ),
    Case("Negative damping, stiffness, friction", "mjcf", {"a.xml": body('<geom size="0.1" friction="-1"/>')}, line=2),
    Case(
        "Negative damping, stiffness, friction",
        "usd",
        {"a.usda": usd_joint("float drive:angular:physics:damping = -1", schemas='"PhysicsDriveAPI:angular"')},
        words=("Joint",),
    ),
    # sizes
    *(
        Case(
            "Geometry with zero/negative/NaN size",
            "urdf",
            {"a.urdf": link(SPHERE.replace('"0.1"', f'"{size}"'))},
            line=2,
        )
        for size in ("0", "-1", "nan")
    ),
    *(
        Case("Geometry with zero/negative/NaN size", "mjcf", {"a.xml": body(f'<geom size="{size}"/>')}, line=2)
        for size in ("0", "-1", "nan")
    ),
    *(
        Case(
            "Geometry with zero/negative/NaN size",
            "usd",
            {"a.usda": usd_body().replace("radius = 0.1", f"radius = {size}")},
            words=("Ball",),
        )
        for size in ("0", "-1", "nan")
    ),
    Case("Extreme ratios", "urdf", {"a.urdf": link(INERTIAL.replace('"2"', '"1e-12"'))}, WARN, ("hardly any",)),
    Case("Extreme ratios", "urdf", {"a.urdf": link(INERTIAL.replace('"2"', '"1e200"'))}, words=("1e+15",), line=2),
    Case("Extreme ratios", "mjcf", {"a.xml": LIGHT_TIP}, READ, check=advised("differ in mass")),
    Case("Extreme ratios", "mjcf", {"a.xml": hinged('stiffness="1e20"')}, READ, check=advised("stiffness")),
    # references of MJCF
    *(
        Case("Keyframe or user-data wrong length", "mjcf", {"a.xml": hinged("", more)}, line=2)
        for more in (
            '<keyframe><key qpos="1 2 3"/></keyframe>',
            '<keyframe><key qvel="1 2"/></keyframe>',
            '<keyframe><key ctrl="1"/></keyframe>',
        )
    ),
    *(
        Case("Keyframe or user-data wrong length", "mjcf", {"a.xml": hinged("", more)}, words=("'nowhere'",), line=2)
        for more in (
            '<sensor><jointpos joint="nowhere"/></sensor>',
            '<actuator><motor joint="nowhere"/></actuator>',
            '<actuator><motor site="nowhere"/></actuator>',
        )
    ),
    Case(
        "Height-field without data",
        "mjcf",
        {
            "a.xml": mjcf(
                '<asset><hfield name="h" size="1 1 1 1"/></asset>'
                '<worldbody><geom type="hfield" hfield="h"/></worldbody>'
            )
        },
        words=("h",),
        line=2,
    ),
    Case(
        "Height-field without data",
        "mjcf",
        {
            "a.xml": mjcf(
                '<asset><hfield name="h" nrow="2" ncol="2" elevation="1 2 3" size="1 1 1 1"/></asset>'
                '<worldbody><geom type="hfield" hfield="h"/></worldbody>'
            )
        },
        line=2,
    ),
    Case(
        "Height-field without data",
        "mjcf",
        {"a.xml": mjcf('<worldbody><geom type="hfield" hfield="nowhere"/></worldbody>')},
        words=("'nowhere'",),
        line=2,
    ),
    *(
        Case("Equality/tendon references unknown", "mjcf", {"a.xml": hinged("", more)}, line=2)
        for more in (
            '<equality><joint joint1="nowhere"/></equality>',
            '<equality><connect body1="nowhere" anchor="0 0 0"/></equality>',
            '<equality><weld body1="b" body2="nowhere"/></equality>',
            '<equality><tendon tendon1="nowhere"/></equality>',
            '<tendon><fixed name="t"><joint joint="nowhere" coef="1"/></fixed></tendon>',
            '<tendon><fixed name="t"/></tendon>',
            '<tendon><spatial name="t"><site site="nowhere"/></spatial></tendon>',
            '<contact><exclude body1="b" body2="nowhere"/></contact>',
            '<contact><pair geom1="g" geom2="nowhere"/></contact>',
        )
    ),
    Case(
        "Equality/tendon references unknown",
        "urdf",
        {
            "a.urdf": jointed().replace(
                "</robot>",
                '<transmission name="t"><type>SimpleTransmission'
                '</type><joint name="nowhere"/><actuator name="m"/></transmission></robot>',
            )
        },
        words=("'nowhere'",),
        line=4,
    ),
]
