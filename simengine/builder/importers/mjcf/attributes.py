"""The table of MJCF's attributes: of elements of the same name in different places, the kind tells them apart."""

from __future__ import annotations

from simengine.builder.importers.attributes import (
    MEDIUM,
    MIX,
    NO_EQUALITY,
    NO_SLIP,
    Attribute,
    AttributeTable,
    attributes,
)
from simengine.builder.importers.flags import OFF_BY_DEFAULT, TURNS_OFF, UNSIMULATED

VIEWER = "how MuJoCo's viewer draws"
GROUP = "groups are for MuJoCo's viewer"
OWN_SOLVER = "kept as text: a setting of MuJoCo's own solvers"
USER = "data for the user's own programs; <custom> is read"
HISTORY = "delays are not simulated"
TEXTURE = "textures are not read"
SAVING = "how MuJoCo saves files"
REMOVED = "removed from MJCF"
DEFAULTS = "default values"
NAME = "references to it"
FLAGS = "options.disabled, options.enabled"

IGNORED_ELEMENTS = {
    "visual": VIEWER,
    "statistic": "scales of MuJoCo's viewer",
    "size": "sizes of MuJoCo's memory; ours are found",
    "camera": VIEWER,
    "light": VIEWER,
    "texture": TEXTURE,
    "layer": TEXTURE,
    "skin": "skins are only drawn",
    "extension": "plugins hold code",
    "plugin": "plugins hold code",
    "lengthrange": "MuJoCo finds length ranges by simulation; ranges that are written are read",
    "flexcomp": "deformable bodies are not read yet",
    "flex": "deformable bodies are not read yet",
    "deformable": "deformable bodies are not read yet",
    "composite": "MuJoCo 4 has no composite any more",
    "flexvert": "deformable bodies are not read yet",
    "flexstrain": "deformable bodies are not read yet",
}

POSE = (
    ("pos", "{}.xform", "m", "0 0 0"),
    ("quat", "{}.xform", "", "1 0 0 0"),
    ("axisangle", "{}.xform", "angle"),
    ("xyaxes", "{}.xform"),
    ("zaxis", "{}.xform"),
    ("euler", "{}.xform", "angle"),
)


def _pose(element: str, owner: str) -> list[Attribute]:
    return attributes(element, *((name, target.format(owner), *rest) for name, target, *rest in POSE))


def _ignored(element: str, names: str, reason: str) -> list[Attribute]:
    return attributes(element, *((name,) for name in names.split()), fate="ignored", reason=reason)


def _read(element: str, names: str, target: str) -> list[Attribute]:
    return attributes(element, *((name, target) for name in names.split()))


def _flag(name: str, target: str, fate: str = "read", reason: str = "") -> Attribute:
    default = "disable" if name in OFF_BY_DEFAULT else "enable"
    return Attribute("flag", name, target, default=default, fate=fate, reason=reason)


def _top() -> list[Attribute]:
    neutral = "warmstart midphase island energy fwdinv invdiscrete"
    own = (
        "ls_tolerance noslip_tolerance ccd_tolerance sleep_tolerance o_margin o_solref o_solimp o_friction "
        "jacobian solver ls_iterations ccd_iterations sdf_iterations sdf_initpoints "
        "actuatorgroupdisable"
    )
    return [
        *attributes("mujoco", ("model", "report.name")),
        *_read("include", "file", "the elements in it"),
        *_compiler(),
        *attributes(
            "option",
            ("timestep", "options.dt", "s", "0.002"),
            ("gravity", "gravity", "m/s2", "0 0 -9.81"),
            ("integrator", "options.integrator", "", "Euler"),
            ("cone", "options.cone", "", "pyramidal"),
            ("impratio", "options.impratio", "", "1"),
            ("iterations", "options.iterations", "", "100"),
            ("tolerance", "options.tolerance", "", "1e-8"),
            ("magnetic", "options.magnetic", "", "0 -0.5 0"),
        ),
        *attributes(
            "option",
            ("density", "options.density", "kg/m3", "0"),
            ("viscosity", "options.viscosity", "Pa s", "0"),
            ("wind", "options.wind", "m/s", "0 0 0"),
            fate="kept",
            reason=MEDIUM,
        ),
        *attributes("option", ("noslip_iterations", "options.other", "", "0"), fate="kept", reason=NO_SLIP),
        *_ignored("option", "apirate collision mpr_tolerance mpr_iterations", REMOVED),
        *_ignored("flag", "sensornoise", REMOVED),
        *attributes("option", *((name, "options.other") for name in own.split()), reason=OWN_SOLVER),
        *(_flag(name, f"disabled: {what}") for name, what in TURNS_OFF.items()),
        _flag("filterparent", "disabled: a body may touch the one that it hangs on"),
        *(_flag(name, FLAGS, "read", "it changes no result") for name in neutral.split()),
        *(_flag(name, FLAGS, "kept", reason) for name, reason in UNSIMULATED.items()),
        *_read("default", "class", DEFAULTS),
        *_read("numeric", "name data size", "custom"),
        *_read("text", "name data", "custom"),
        *_read("tuple", "name", "custom"),
        *_read("tuple element", "objtype objname prm", "custom"),
        *_read("key", "name time qpos qvel act ctrl mpos mquat", "Keyframe"),
        *_ignored("key", "plastic", "plastic springs are not simulated"),
    ]


def _compiler() -> list[Attribute]:
    return [
        *attributes(
            "compiler",
            ("angle", "angles", "", "degree"),
            ("eulerseq", "orientations", "", "xyz"),
            ("autolimits", "ranges", "", "true"),
            ("coordinate", "poses", "", "local"),
            ("meshdir", "file names"),
            ("assetdir", "file names"),
            ("strippath", "file names", "", "false"),
            ("inertiafromgeom", "Body.mass, Body.inertia", "", "auto"),
            ("inertiagrouprange", "Body.mass, Body.inertia", "", "0 5"),
            ("boundmass", "Body.mass", "kg", "0"),
            ("boundinertia", "Body.inertia", "kg m2", "0"),
            ("balanceinertia", "Body.inertia", "", "false"),
            ("settotalmass", "Body.mass, Body.inertia", "kg", "-1"),
            ("fitaabb", "Shape.size", "", "false"),
            ("fusestatic", "Body", "", "false"),
            ("discardvisual", "Shape", "", "false"),
            ("alignfree", "Body, Joint", "", "false"),
        ),
        *_ignored("compiler", "texturedir", TEXTURE),
        *_ignored("compiler", "passthrough", TEXTURE),
        *_ignored("compiler", "usethread", "it changes no result"),
        *_ignored("compiler", "saveinertial savecompiled savecanonical", SAVING),
        *_ignored("compiler", "conflict", "options of attached models are passed over"),
        *_read("compiler", "exactmeshinertia", "Body.mass, Body.inertia"),
        *_ignored("compiler", "convexhull", REMOVED),
    ]


def _assets() -> list[Attribute]:
    return [
        *attributes(
            "mesh",
            ("name", NAME),
            ("class", DEFAULTS),
            ("file", "Shape.mesh"),
            ("vertex", "Shape.mesh", "m"),
            ("face", "Shape.mesh"),
            ("scale", "Shape.mesh", "", "1 1 1"),
            ("refpos", "Shape.mesh", "m", "0 0 0"),
            ("refquat", "Shape.mesh", "", "1 0 0 0"),
            ("inertia", "Body.mass, Body.inertia", "", "legacy"),
        ),
        *_ignored("mesh", "normal texcoord smoothnormal material", VIEWER),
        *_ignored("mesh", "content_type", "the ending of the name and the content tell the format"),
        *_ignored("mesh", "maxhullvert", "hulls are kept whole"),
        *_read("mesh", "builtin params", "Shape.mesh (sphere, hemisphere, cone, supersphere, supertorus)"),
        *attributes(
            "hfield",
            ("name", NAME),
            ("file", "Shape.heightfield"),
            ("nrow", "Shape.heightfield"),
            ("ncol", "Shape.heightfield"),
            ("size", "Shape.size, Shape.heightfield", "m"),
            ("elevation", "Shape.heightfield"),
        ),
        *_ignored("hfield", "content_type", "the ending of the name tells the format"),
        *attributes("material", ("name", NAME), ("class", DEFAULTS), ("rgba", "Shape.color", "", "1 1 1 1")),
        *_ignored("material", "texture texrepeat texuniform", TEXTURE),
        *_ignored("material", "emission specular shininess reflectance metallic roughness", VIEWER),
        *_read("model", "name file", "what is attached"),
        *_ignored("model", "content_type", "only MJCF is attached"),
    ]


def _bodies() -> list[Attribute]:
    return [
        *attributes("body", ("name", "Body.label"), ("childclass", DEFAULTS), ("mocap", "Body.kinematic", "", "false")),
        *attributes(
            "body", ("gravcomp", "Body.gravity_compensation", "", "0"), fate="kept", reason="not simulated yet"
        ),
        *_pose("body", "Body"),
        *_ignored("body", "user", USER),
        *_ignored("body", "sleep", "bodies do not sleep"),
        *_ignored("body", "simple", "it changes no result"),
        *attributes("body", ("fuse", "Body", "", "auto")),
        *attributes("frame", ("name", NAME), ("childclass", DEFAULTS)),
        *_pose("frame", "what it holds"),
        *_read("replicate", "count offset euler sep childclass", "copies"),
        *_read("attach", "model body frame prefix", "copies"),
        *_pose("inertial", "Body.com"),
        *attributes(
            "inertial",
            ("mass", "Body.mass", "kg"),
            ("diaginertia", "Body.inertia", "kg m2", "0 0 0"),
            ("fullinertia", "Body.inertia", "kg m2"),
        ),
        *_joints(),
        *_geoms(),
    ]


def _joints() -> list[Attribute]:
    return [
        *attributes(
            "joint",
            ("name", "Joint.label, Dof.label"),
            ("class", DEFAULTS),
            ("type", "Joint.type", "", "hinge"),
            ("pos", "Joint.parent_xform", "m", "0 0 0"),
            ("axis", "Dof.axis", "", "0 0 1"),
            ("ref", "Joint.q, Joint.child_xform", "m or angle", "0"),
            ("range", "Dof.limit_lower, Dof.limit_upper, Joint.angle_limit", "m or angle", "0 0"),
            ("limited", "whether range holds", "", "auto"),
            ("margin", "Dof.limit_margin", "m or rad", "0"),
            ("solreflimit", "Dof.limit_reference", "s, -", "0.02 1"),
            ("solimplimit", "Dof.limit_impedance", "", "0.9 0.95 0.001 0.5 2"),
            ("stiffness", "Dof.stiffness", "N/m or N m/rad", "0"),
            ("springref", "Dof.spring_ref", "m or angle", "0"),
            ("springdamper", "Dof.stiffness, Dof.damping", "s, -", "0 0"),
            ("damping", "Dof.damping", "N s/m or N m s/rad", "0"),
            ("frictionloss", "Dof.friction", "N or N m", "0"),
            ("solreffriction", "Dof.friction_reference", "s, -", "0.02 1"),
            ("solimpfriction", "Dof.friction_impedance", "", "0.9 0.95 0.001 0.5 2"),
            ("armature", "Dof.armature", "kg or kg m2", "0"),
            ("actuatorfrcrange", "Dof.effort_limit", "N or N m", "0 0"),
            ("actuatorfrclimited", "whether actuatorfrcrange holds", "", "auto"),
        ),
        *_ignored("joint", "group", GROUP),
        *_ignored("joint", "user", USER),
        *_ignored("joint", "actuatorgravcomp", "gravity compensation is not simulated"),
        *_ignored("joint", "springyield", "plastic springs are not simulated"),
        *attributes("freejoint", ("name", "Joint.label"), ("align", "Body, Joint", "", "auto")),
        *_ignored("freejoint", "group", GROUP),
    ]


def _geoms() -> list[Attribute]:
    return [
        *attributes(
            "geom",
            ("name", "Shape.label"),
            ("class", DEFAULTS),
            ("type", "Shape.type", "", "sphere"),
            ("size", "Shape.size", "m"),
            ("fromto", "Shape.xform, Shape.size", "m"),
            ("mesh", "Shape.mesh"),
            ("hfield", "Shape.heightfield"),
            ("fitscale", "Shape.size", "", "1"),
            ("mass", "Body.mass, Body.inertia", "kg"),
            ("density", "Body.mass, Body.inertia", "kg/m3", "1000"),
            ("shellinertia", "Body.mass, Body.inertia", "", "false"),
            ("contype", "Shape.contype", "", "1"),
            ("conaffinity", "Shape.conaffinity", "", "1"),
            ("condim", "Material.contact_dim", "", "3"),
            ("priority", "Material.priority", "", "0"),
            ("friction", "Material.friction, .torsional, .rolling", "-, m, m", "1 0.005 0.0001"),
            ("solref", "Material.time_constant, .damping_ratio", "s, -", "0.02 1"),
            ("solimp", "Material.impedance", "", "0.9 0.95 0.001 0.5 2"),
            ("margin", "Shape.margin", "m", "0"),
            ("gap", "Shape.gap", "m", "0"),
            ("group", "Shape.visible (groups 0 to 2)", "", "0"),
            ("rgba", "Shape.color", "", "0.5 0.5 0.5 1"),
            ("material", "Shape.color"),
        ),
        *attributes("geom", ("solmix", "Shape.mix", "", "1"), fate="kept", reason=MIX),
        *_pose("geom", "Shape"),
        *_ignored("geom", "castshadow", VIEWER),
        *_ignored("geom", "fluidshape fluidcoef", MEDIUM),
        *_ignored("geom", "surfacevel", "moving surfaces are not simulated"),
        *_ignored("geom", "adhesion", "adhesion is not simulated"),
        *_ignored("geom", "user", USER),
        *attributes("site", ("name", "Site.label"), ("class", DEFAULTS), ("fromto", "Site.xform", "m")),
        *_pose("site", "Site"),
        *_ignored("site", "type size mesh rgba material", "a site is a frame; its shape is only drawn"),
        *_ignored("site", "group", GROUP),
        *_ignored("site", "user", USER),
    ]


def _constraints() -> list[Attribute]:
    kept = (
        ("active", "Equality.active", "", "true"),
        ("solref", "Equality.reference", "s, -", "0.02 1"),
        ("solimp", "Equality.impedance", "", "0.9 0.95 0.001 0.5 2"),
    )
    equalities = ("equality", "connect", "weld", "equality joint", "equality tendon")
    common = (("name", "Equality.label"), ("class", DEFAULTS))
    return [
        *(row for kind in equalities for row in attributes(kind, *kept, fate="kept", reason=NO_EQUALITY)),
        *attributes("connect", *common, ("anchor", "Equality.xform0", "m")),
        *_read("connect", "body1 body2 site1 site2", "Equality.object0, .object1"),
        *attributes(
            "weld", *common, ("anchor", "Equality.xform1", "m", "0 0 0"), ("relpose", "Equality.xform0", "m, -")
        ),
        *attributes("weld", ("torquescale", "Equality.torque_scale", "m", "1"), fate="kept", reason=NO_EQUALITY),
        *_read("weld", "body1 body2 site1 site2", "Equality.object0, .object1"),
        *attributes("equality joint", *common, ("polycoef", "Equality.data", "m or rad", "0 1 0 0 0")),
        *_read("equality joint", "joint1 joint2", "Equality.object0, .object1"),
        *attributes("equality tendon", *common, ("polycoef", "Equality.data", "m", "0 1 0 0 0")),
        *_read("equality tendon", "tendon1 tendon2", "Equality.object0, .object1"),
        *attributes(
            "pair",
            ("name", "ContactPair.label"),
            ("class", DEFAULTS),
            ("geom1", "ContactPair.shape0"),
            ("geom2", "ContactPair.shape1"),
        ),
        *attributes(
            "pair",
            ("condim", "ContactPair.contact_dim", "", "3"),
            ("friction", "ContactPair.friction", "-, -, m, m, m", "1 1 0.005 0.0001 0.0001"),
            ("solref", "ContactPair.reference", "s, -", "0.02 1"),
            ("solreffriction", "ContactPair.friction_reference", "s, -", "as solref"),
            ("solimp", "ContactPair.impedance", "", "0.9 0.95 0.001 0.5 2"),
            ("margin", "ContactPair.margin", "m", "0"),
            ("gap", "ContactPair.gap", "m", "0"),
        ),
        *_ignored("pair", "adhesion", "adhesion is not simulated"),
        *_read("exclude", "name body1 body2", "pairs of shapes that do not collide"),
        *_tendons(),
    ]


def _tendons() -> list[Attribute]:
    rows = []
    for kind in ("tendon", "spatial", "fixed"):
        rows += attributes(
            kind,
            ("name", "Tendon.label"),
            ("class", DEFAULTS),
            ("range", "Tendon.limit_lower, .limit_upper", "m or rad", "0 0"),
            ("limited", "whether range holds", "", "auto"),
            ("margin", "Tendon.limit_margin", "m or rad", "0"),
            ("solreflimit", "Tendon.limit_reference", "s, -", "0.02 1"),
            ("solimplimit", "Tendon.limit_impedance", "", "0.9 0.95 0.001 0.5 2"),
            ("solreffriction", "Tendon.friction_reference", "s, -", "0.02 1"),
            ("solimpfriction", "Tendon.friction_impedance", "", "0.9 0.95 0.001 0.5 2"),
            ("stiffness", "Tendon.stiffness", "N/m or N m/rad", "0"),
            ("damping", "Tendon.damping", "N s/m or N m s/rad", "0"),
            ("springlength", "Tendon.spring_length", "m or rad", "-1"),
            ("frictionloss", "Tendon.friction", "N or N m", "0"),
            ("armature", "Tendon.armature", "kg or kg m2", "0"),
            ("actuatorfrcrange", "Tendon.force_limit", "N or N m", "0 0"),
            ("actuatorfrclimited", "whether actuatorfrcrange holds", "", "auto"),
            ("width", "Tendon.width", "m", "0.003"),
            ("rgba", "Tendon.color", "", "0.5 0.5 0.5 1"),
            ("material", "Tendon.color"),
        )
        rows += _ignored(kind, "group", GROUP)
        rows += _ignored(kind, "user", USER)
        rows += _ignored(kind, "springyield", "plastic springs are not simulated")
    return [
        *rows,
        *_read("tendon site", "site", "Tendon.path"),
        *_read("tendon geom", "geom sidesite", "Tendon.path"),
        *_read("pulley", "divisor", "Tendon.path"),
        *_read("tendon joint", "joint coef", "Tendon.terms"),
    ]


GAINS = "Actuator.gain, .bias, .dynamics"
SHORTCUTS = {
    "general": "gaintype gainprm biastype biasprm dyntype dynprm actdim actearly inheritrange velrange ffrange input",
    "motor": "",
    "position": "kp kv dampratio timeconst inheritrange",
    "velocity": "kv",
    "intvelocity": "kp kv dampratio inheritrange",
    "orientation": "kp kv dampratio input",
    "pid": "kp ki kv dampratio imax slewmax posrange velrange ffrange inheritrange input",
    "damper": "kv",
    "cylinder": "timeconst area diameter bias",
    "muscle": "timeconst tausmooth range force scale lmin lmax vmax fpmax fvmax",
    "adhesion": "gain",
    "dcmotor": ("motorconst resistance nominal saturation inductance cogging controller thermal lugre input"),
}
"""The attributes of each kind of actuator that say how it makes its force."""


def _actuators() -> list[Attribute]:
    rows = []
    for kind, own in SHORTCUTS.items():
        rows += attributes(
            kind,
            ("name", "Actuator.label"),
            ("class", DEFAULTS),
            ("group", "Actuator.group", "", "0"),
            ("ctrlrange", "Actuator.control_range", "", "0 0"),
            ("ctrllimited", "whether ctrlrange holds", "", "auto"),
            ("forcerange", "Actuator.force_range", "N or N m", "0 0"),
            ("forcelimited", "whether forcerange holds", "", "auto"),
            ("actrange", "Actuator.activation_range", "", "0 0"),
            ("actlimited", "whether actrange holds", "", "auto"),
            ("lengthrange", "Actuator.length_range", "m or rad", "0 0"),
            ("gear", "Actuator.gear", "", "1 0 0 0 0 0"),
            ("cranklength", "Actuator.crank_length", "m", "0"),
            ("armature", "Dof.armature or Tendon.armature, times gear squared", "kg or kg m2", "0"),
            ("damping", "Dof.damping or Tendon.damping, times gear squared", "N s/m or N m s/rad", "0"),
        )
        rows += _read(kind, "joint jointinparent tendon site body cranksite", "Actuator.transmission, .target")
        rows += _read(kind, "refsite slidersite", "Actuator.reference")
        rows += _read(kind, own, GAINS)
        rows += _ignored(kind, "nsample interp delay", HISTORY)
        rows += _ignored(kind, "user", USER)
    return rows


def _sensors() -> list[Attribute]:
    target = "site joint tendon actuator body objtype objname geom geom1 geom2 body1 body2 subtree1 subtree2 camera"
    return [
        *_read("sensor", "name", "Sensor.label"),
        *_read("sensor", target, "Sensor.object"),
        *_read("sensor", "reftype refname", "Sensor.reference"),
        *_read("sensor", "cutoff noise data reduce num enclosed dim datatype needstage mesh", "Sensor.parameters"),
        *_ignored("sensor", "delay interp interval nsample", HISTORY),
        *_ignored("sensor", "user", USER),
        *_ignored("sensor", "plugin instance", "plugins hold code"),
    ]


TABLE = AttributeTable(
    "MJCF",
    (*_top(), *_assets(), *_bodies(), *_constraints(), *_actuators(), *_sensors()),
    IGNORED_ELEMENTS,
)
