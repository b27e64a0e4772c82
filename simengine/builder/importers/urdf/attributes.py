"""The table of URDF's attributes, and of what other programs write into a URDF: what each becomes, or why not.

A kind "<gazebo> of a link" stands for the children of ``<gazebo reference="link">``, whose values are their texts.
"""

from __future__ import annotations

from simengine.builder.importers.attributes import MEDIUM, Attribute, AttributeTable, attributes

KINETICS = "a setting of Gazebo's own solver"
REAL = "the real robot, not its model"
SAFETY = "limits of the real robot's controller: in builder.custom; soft_limits=True makes them those of the joint"
FRANKA = "a parameter of Franka's own simulation"
MUJOCO_ANGLES = "MuJoCo itself reads a URDF's angles as radians about fixed axes, whatever this says"
MUJOCO_MESHES = "how MuJoCo compiles meshes; the options collision_meshes and balance_inertia decide here"
MUJOCO_INSIDE = "MuJoCo's own way of compiling"

IGNORED_ELEMENTS = {
    "gazebo": "Gazebo reads it as a child of <robot> alone",
    "transmission": "a transmission is a child of <robot>",
    "mujoco": "MuJoCo reads it as a child of <robot> alone",
    "flag": "flags of MuJoCo are read from MJCF and USD alone",
    "calibration": f"the encoder of {REAL}",
    "texture": "textures are not read",
    "verbose": "has no meaning here",
    "sensor": "sensors are not read from URDF",
    "plugin": "code is not run",
    "ros2_control": "controllers and hardware of the real robot",
    "self_filter": "the robot's outline for filtering its own camera pictures",
    "sdf": "a distance field of Bullet",
    "concave": "collision_meshes decides how meshes collide",
}


def _gazebo(kind: str, *rows: tuple, **fate) -> list[Attribute]:
    return attributes(f"<gazebo> of {kind}", *((f"<{row[0]}>", *row[1:]) for row in rows), **fate)


STANDARD = [
    *attributes("robot", ("name", "ImportReport.name"), ("version", "the version of the format")),
    *attributes("material", ("name", "a colour to refer to")),
    *attributes("color", ("rgba", "Shape.color")),
    *attributes("link", ("name", "Body.label")),
    *attributes("link", ("type",), fate="ignored", reason="has no meaning in the format any more"),
    *attributes("origin", ("xyz", "position", "m", "0 0 0"), ("rpy", "orientation", "rad", "0 0 0")),
    *attributes("mass", ("value", "Body.mass", "kg")),
    *attributes("inertia", *((name, "Body.inertia", "kg m2") for name in ("ixx", "iyy", "izz"))),
    *attributes("inertia", *((name, "Body.inertia", "kg m2", "0") for name in ("ixy", "ixz", "iyz"))),
    *attributes("visual", ("name", "Shape.label", "", "visual")),
    *attributes("collision", ("name", "Shape.label", "", "collision")),
    *attributes("box", ("size", "Shape.size", "m, whole edges")),
    *attributes("sphere", ("radius", "Shape.size", "m")),
    *attributes("cylinder", ("radius", "Shape.size", "m"), ("length", "Shape.size", "m")),
    *attributes("capsule", ("radius", "Shape.size", "m"), ("length", "Shape.size", "m, of the cylinder")),
    *attributes("mesh", ("filename", "Shape.mesh"), ("scale", "Shape.mesh", "", "1 1 1")),
    *attributes("joint", ("name", "Joint.label"), ("type", "Joint.type")),
    *attributes("parent", ("link", "Joint.parent")),
    *attributes("child", ("link", "Joint.child")),
    *attributes("axis", ("xyz", "Dof.axis", "", "1 0 0")),
    *attributes(
        "limit",
        ("lower", "Dof.limit_lower", "rad or m", "none; 0 where upper is given"),
        ("upper", "Dof.limit_upper", "rad or m", "none; 0 where lower is given"),
        ("effort", "Dof.effort_limit", "N m or N", "none"),
        ("velocity", "Dof.velocity_limit, with velocity_limits=True", "rad/s or m/s", "none"),
    ),
    *attributes("limit", ("acceleration",), ("jerk",), ("deceleration",), fate="ignored", reason="for planners"),
    *attributes(
        "dynamics",
        ("damping", "Dof.damping", "N m s/rad or N s/m", "builder.default_joint"),
        ("friction", "Dof.friction", "N m or N", "builder.default_joint"),
    ),
    *attributes("dynamics", ("D",), ("K",), ("mu_coulomb",), ("mu_viscous",), fate="ignored", reason=FRANKA),
    *attributes(
        "mimic",
        ("joint", "Equality.object1"),
        ("multiplier", "Equality.data[1]", "", "1"),
        ("offset", "Equality.data[0]", "rad or m", "0"),
    ),
]
SAFETY_NAMES = ("soft_lower_limit", "soft_upper_limit", "k_position", "k_velocity")
SAFETY_ROWS = [
    *attributes("safety_controller", *((name, "builder.custom") for name in SAFETY_NAMES), fate="kept", reason=SAFETY),
    *attributes(
        "safety_controller, with soft_limits=True",
        ("soft_lower_limit", "Dof.limit_lower", "rad or m", "0"),
        ("soft_upper_limit", "Dof.limit_upper", "rad or m", "0"),
    ),
    *attributes(
        "safety_controller, with soft_limits=True",
        ("k_position",),
        ("k_velocity",),
        fate="ignored",
        reason="gains of the real robot's controller",
    ),
]
TRANSMISSION = [
    *attributes("transmission", ("name", "Actuator.label"), ("type", "kind of transmission")),
    *attributes("actuator of a transmission", ("name", "Actuator.label")),
    *attributes("joint of a transmission", ("name", "Actuator.target, or a term of its tendon")),
    *attributes(
        "transmission",
        ("<type>", "kind of transmission"),
        ("<joint>", "Actuator.target"),
        ("<actuator>", "an Actuator"),
        ("<mechanicalReduction>", "Actuator.gear", "", "1"),
    ),
    *attributes(
        "actuator of a transmission",
        ("<mechanicalReduction>", "Actuator.gear", "", "1"),
        ("<hardwareInterface>", "builder.custom"),
        ("<role>", "which of two"),
    ),
    *attributes(
        "actuator of a transmission",
        ("<motorTorqueConstant>",),
        ("<maximumOutputTorque>",),
        fate="ignored",
        reason=f"electronics of {REAL}",
    ),
    *attributes(
        "joint of a transmission",
        ("<mechanicalReduction>", "coefficient of the tendon", "", "1"),
        ("<hardwareInterface>", "builder.custom"),
        ("<role>", "which of two"),
    ),
    *attributes(
        "joint of a transmission", ("<offset>",), fate="ignored", reason="zero of the motor's encoder; moves no joint"
    ),
]
CONTACT = [
    *attributes(
        "<contact> of Bullet",
        ("<lateral_friction>", "Material.friction"),
        ("<spinning_friction>", "Material.torsional", "m"),
        ("<rolling_friction>", "Material.rolling", "m"),
        ("<restitution>", "Material.restitution"),
    ),
    *attributes(
        "<contact> of Bullet",
        ("<stiffness>",),
        ("<damping>",),
        ("<contact_cfm>",),
        ("<contact_erp>",),
        ("<inertia_scaling>",),
        ("<friction_anchor>",),
        fate="ignored",
        reason="a setting of Bullet's solver",
    ),
]
FEM = [
    *attributes(
        "fem",
        ("<origin>", "Deformable.vertices"),
        ("<density>", "Deformable.parameters", "kg/m3"),
        ("<youngs>", "Deformable.parameters", "Pa"),
        ("<poissons>", "Deformable.parameters"),
        ("<damping>", "Deformable.parameters"),
        ("<attachDistance>", "Deformable.parameters", "m"),
        ("<tetmesh>", "Deformable.vertices, .elements"),
    ),
    *attributes("tetmesh", ("filename", "Deformable.vertices, .elements")),
]
GAZEBO = [
    *attributes("gazebo", ("reference", "the link or joint that is meant; none: the robot")),
    *_gazebo(
        "a link",
        ("mu1", "Material.friction"),
        ("mu2", "Material.friction"),
        ("selfCollide", "pairs of shapes that do not touch, where false"),
        ("material", "Shape.color, where the visual has none"),
        ("gravity", "Body.gravity_compensation, where false"),
        ("turnGravityOff", "Body.gravity_compensation, where true"),
    ),
    *_gazebo(
        "a link",
        ("kp",),
        ("kd",),
        ("maxVel",),
        ("minDepth",),
        ("maxContacts",),
        ("fdir1",),
        ("dampingFactor",),
        ("max_contacts",),
        fate="ignored",
        reason=f"{KINETICS}, whose meaning depends on its step",
    ),
    *_gazebo("a link", ("laserRetro",), ("sensor",), ("plugin",), fate="ignored", reason="sensors are not read"),
    *_gazebo(
        "a link", ("light",), ("projector",), ("audio_sink",), fate="ignored", reason="belongs to Gazebo's pictures"
    ),
    *_gazebo("a link", ("implicitSpringDamper",), fate="ignored", reason="belongs to a joint"),
    *_gazebo("a link", ("visual",), ("collision",), fate="ignored", reason="settings of Gazebo in its own format, SDF"),
    *_gazebo(
        "a joint",
        ("springStiffness", "Dof.stiffness", "N m/rad or N/m"),
        ("springReference", "Dof.spring_ref", "rad or m"),
    ),
    *_gazebo("a joint", ("implicitSpringDamper",), fate="ignored", reason="damping and springs are implicit here"),
    *_gazebo("a joint", ("provideFeedback",), ("sensor",), ("plugin",), fate="ignored", reason="sensors are not read"),
    *_gazebo(
        "a joint",
        ("preserveFixedJoint",),
        ("disableFixedJointLumping",),
        fate="ignored",
        reason="the option collapse_fixed_joints decides",
    ),
    *_gazebo("a joint", ("stopCfm",), ("stopErp",), ("fudgeFactor",), fate="ignored", reason=KINETICS),
    *_gazebo(
        "the robot",
        ("selfCollide", "pairs of shapes that do not touch, where false"),
        ("material", "Shape.color, where the visual has none"),
        ("joint", "a loop joint"),
    ),
    *_gazebo("the robot", ("static",), fate="ignored", reason="the option floating decides"),
    *_gazebo("the robot", ("plugin",), fate="ignored", reason="code is not run"),
    *_gazebo("the robot", ("sensor",), ("pose",), fate="ignored", reason="belongs to a world of Gazebo"),
    *attributes("<joint> of Gazebo", ("name", "Equality.label"), ("type", "Equality.type")),
    *_gazebo(
        "the robot, joint",
        ("parent", "Equality.object0"),
        ("child", "Equality.object1"),
        ("pose", "Equality.xform1, on the child", "m, rad", "0 0 0 0 0 0"),
        ("axis", "Equality.data"),
    ),
]
MUJOCO = [
    *attributes(
        "compiler of MuJoCo",
        ("meshdir", "where meshes lie that are not where the URDF says"),
        ("assetdir", "as meshdir"),
        ("strippath", "whether folders of mesh names are dropped there", "", "true"),
        ("balanceinertia", "as balance_inertia=True", "", "false"),
        ("boundmass", "least Body.mass", "kg", "0"),
        ("boundinertia", "least principal moment of Body.inertia", "kg m2", "0"),
        ("settotalmass", "sum of Body.mass of what moves", "kg", "-1"),
        ("inertiafromgeom", "as ignore_inertial=True, where true", "", "auto"),
    ),
    *attributes("compiler of MuJoCo", ("angle",), ("eulerseq",), fate="ignored", reason=MUJOCO_ANGLES),
    *attributes(
        "compiler of MuJoCo",
        ("discardvisual",),
        fate="ignored",
        reason="visuals show, and collide with nothing, here as well",
    ),
    *attributes(
        "compiler of MuJoCo", ("fusestatic",), fate="ignored", reason="the option collapse_fixed_joints decides"
    ),
    *attributes("compiler of MuJoCo", ("autolimits",), fate="ignored", reason="a URDF's joint type tells"),
    *attributes(
        "compiler of MuJoCo",
        ("convexhull",),
        ("fitaabb",),
        ("exactmeshinertia",),
        ("inertiagrouprange",),
        ("alignfree",),
        fate="ignored",
        reason=MUJOCO_MESHES,
    ),
    *attributes(
        "compiler of MuJoCo",
        ("usethread",),
        ("coordinate",),
        ("saveinertial",),
        ("texturedir",),
        ("conflict",),
        fate="ignored",
        reason=MUJOCO_INSIDE,
    ),
    *attributes(
        "option of MuJoCo",
        ("timestep", "SceneOptions.dt", "s"),
        ("gravity", "ModelBuilder.gravity", "m/s2"),
        ("integrator", "SceneOptions.integrator"),
        ("cone", "SceneOptions.cone"),
        ("impratio", "SceneOptions.impratio"),
        ("iterations", "SceneOptions.iterations"),
        ("tolerance", "SceneOptions.tolerance"),
        ("magnetic", "SceneOptions.magnetic"),
    ),
    *attributes(
        "option of MuJoCo",
        ("density", "SceneOptions.density", "kg/m3", "0"),
        ("viscosity", "SceneOptions.viscosity", "Pa s", "0"),
        ("wind", "SceneOptions.wind", "m/s", "0 0 0"),
        fate="kept",
        reason=MEDIUM,
    ),
]

TABLE = AttributeTable(
    "URDF",
    [*STANDARD, *SAFETY_ROWS, *TRANSMISSION, *CONTACT, *FEM, *GAZEBO, *MUJOCO],
    IGNORED_ELEMENTS,
)
