"""Random files of a format, made from the importers' tables of elements and attributes: well formed, seldom right."""

from __future__ import annotations

from random import Random
from xml.sax.saxutils import quoteattr

from simengine.builder.importers.mjcf.attributes import SHORTCUTS
from simengine.builder.importers.mjcf.attributes import TABLE as MJCF
from simengine.builder.importers.mjcf.sensors import SENSORS
from simengine.builder.importers.urdf.attributes import TABLE as URDF
from simengine.builder.importers.usd.attributes import TABLE as USD
from tests.fuzz.mutate import value

URDF_CHILDREN = {
    "robot": ("link", "link", "link", "joint", "joint", "material", "gazebo", "transmission", "mujoco"),
    "link": ("inertial", "visual", "collision", "contact", "fem"),
    "inertial": ("origin", "mass", "inertia"),
    "visual": ("origin", "geometry", "material"),
    "collision": ("origin", "geometry"),
    "geometry": ("box", "sphere", "cylinder", "capsule", "mesh"),
    "material": ("color", "texture"),
    "joint": ("origin", "parent", "child", "axis", "limit", "dynamics", "mimic", "safety_controller"),
    "gazebo": ("mu1", "mu2", "selfCollide", "material", "joint", "springStiffness", "kp", "plugin"),
    "transmission": ("type", "joint", "actuator", "mechanicalReduction"),
    "mujoco": ("compiler", "option", "size"),
    "contact": ("lateral_friction", "restitution"),
    "fem": ("origin", "youngs", "tetmesh"),
}
MJCF_CHILDREN = {
    tag: tuple(children.split())
    for tag, children in {
        "mujoco": "worldbody asset default option compiler contact equality tendon actuator sensor keyframe custom "
        "include visual",
        "worldbody": "body body geom site frame replicate",
        "body": "body joint freejoint geom geom site inertial frame replicate attach camera light",
        "frame": "body geom site",
        "replicate": "body geom",
        "asset": "mesh hfield material texture model",
        "default": f"default geom joint site mesh material pair equality tendon {' '.join(SHORTCUTS)}",
        "option": "flag",
        "contact": "pair exclude",
        "equality": "connect weld joint tendon flex",
        "tendon": "fixed spatial",
        "fixed": "joint",
        "spatial": "site geom pulley",
        "actuator": " ".join(SHORTCUTS),
        "sensor": " ".join(SENSORS),
        "keyframe": "key",
        "custom": "numeric text tuple",
        "tuple": "element",
    }.items()
}
ROOTS = {"urdf": ("robot", URDF_CHILDREN, URDF), "mjcf": ("mujoco", MJCF_CHILDREN, MJCF)}
REQUIRED = {
    "urdf": {"link": ("name",), "joint": ("name", "type"), "parent": ("link",), "child": ("link",), "mass": ("value",),
             "inertia": ("ixx", "iyy", "izz"), "box": ("size",), "sphere": ("radius",), "mesh": ("filename",),
             "cylinder": ("radius", "length")},
    "mjcf": {"geom": ("size",), "inertial": ("pos", "mass", "diaginertia"), "key": ("qpos",)},
}  # fmt: skip
TYPES = [
    "float",
    "float3",
    "double",
    "bool",
    "token",
    "int",
    "string",
    "float[]",
    "quatf",
    "rel",
    "point3f[]",
    "vector3f",
]
PRIMS = [
    "Xform",
    "Sphere",
    "Cube",
    "Capsule",
    "Cylinder",
    "Cone",
    "Plane",
    "Mesh",
    "PhysicsScene",
    "PhysicsRevoluteJoint",
    "PhysicsFixedJoint",
    "PhysicsPrismaticJoint",
    "PhysicsJoint",
    "PhysicsSphericalJoint",
    "Material",
    "Scope",
    "TetMesh",
    "PhysicsCollisionGroup",
    "BasisCurves",
    "Points",
]
NAMES = ["name", "link", "joint", "reference", "body1", "body2", "joint1", "joint2", "geom1", "geom2", "site", "tendon"]


def generated(random: Random, kind: str) -> bytes:
    """A random file of a format: urdf, mjcf or usd."""
    if kind == "usd":
        return _usda(random)
    root, children, table = ROOTS[kind]
    attributes: dict[str, list[str]] = {}
    for element, name in table.rows:
        attributes.setdefault(element.split()[-1] if element not in children else element, []).append(name.strip("<>"))
    lines = _element(random, root, children, attributes, REQUIRED[kind], 0)
    return "\n".join(lines).encode()


def _element(random: Random, tag: str, children: dict, attributes: dict, required: dict, depth: int) -> list[str]:
    known = attributes.get(tag, ["name"])
    names = set(required.get(tag, ())) if random.randrange(8) else set()
    names |= {random.choice(known) for _ in range(random.randint(0, 3))}
    text = "".join(f" {name}={quoteattr(_likely(random, tag, name))}" for name in sorted(names))
    inside = []
    if depth < 6:
        known = children.get(tag, ())
        chosen = [child for child in known if random.randrange(max(2, len(known) // 6)) == 0]
        for child in chosen:
            inside += _element(random, child, children, attributes, required, depth + 1)
    if not inside:
        word = value(random) if random.randrange(6) == 0 else ""
        return [f"<{tag}{text}>{word.replace('&', '').replace('<', '')}</{tag}>"]
    return [f"<{tag}{text}>", *inside, f"</{tag}>"]


KINDS = {"joint": ("revolute", "fixed", "prismatic", "hinge", "slide", "ball", "free", "planar"),
         "geom": ("sphere", "box", "capsule", "mesh", "plane", "ellipsoid", "hfield")}  # fmt: skip


def _likely(random: Random, tag: str, name: str) -> str:
    """Mostly a value that makes sense, so that the file is not refused at its first line."""
    if random.randrange(5) == 0:
        return value(random)
    if name == "type":
        return random.choice(KINDS.get(tag, ("sphere",)))
    if name in (
        "name",
        "link",
        "joint",
        "reference",
        "body1",
        "body2",
        "joint1",
        "joint2",
        "geom1",
        "geom2",
        "site",
        "tendon",
    ):
        return random.choice("abcdef")
    if name in ("filename", "file"):
        return random.choice(("a.obj", "a.stl", "b.obj"))
    return " ".join("1" for _ in range({"xyz": 3, "rpy": 3, "size": 3, "rgba": 4, "pos": 3, "quat": 4}.get(name, 1)))


def _usda(random: Random) -> bytes:
    up, unit = random.choice(("Y", "Z", "X")), random.choice(("1", "0.01", "0", value(random)))
    head = f'#usda 1.0\n(\n    upAxis = "{up}"\n    metersPerUnit = {unit}\n)\n'
    return (head + "\n".join(_prim(random, f"P{i}", 0) for i in range(random.randint(1, 4)))).encode()


def _prim(random: Random, name: str, depth: int) -> str:
    rows = list(USD.rows)
    schemas = sorted({element for element, _ in rows if element.endswith("API")})
    applied = ", ".join(f'"{random.choice(schemas)}"' for _ in range(random.randint(0, 3)))
    lines = [f'def {random.choice(PRIMS)} "{name}" (prepend apiSchemas = [{applied}])' if applied else
             f'def {random.choice(PRIMS)} "{name}"', "{"]  # fmt: skip
    for attribute in {random.choice(rows)[1] for _ in range(random.randint(0, 5))}:
        lines.append(f"    {_typed(random, attribute)}")
    if depth < 4:
        lines += [_prim(random, f"P{i}", depth + 1) for i in range(random.randint(0, 2))]
    return "\n".join([*lines, "}"])


def _typed(random: Random, name: str) -> str:
    kind = random.choice(TYPES)
    name = "".join(letter for letter in name if letter.isalnum() or letter in ":_") or "x"
    number = random.choice(("0", "1", "-1", "1e38", "nan", "inf", "-inf", "90", "0.5"))
    if kind == "rel":
        return f"rel {name} = </{random.choice(('P0', 'P1', 'P0/P0', 'P0/P1', 'Nowhere'))}>"
    if kind in ("token", "string"):
        return f'{kind} {name} = "{random.choice(("X", "Z", "convexHull", "none", "", "angular"))}"'
    if kind == "bool":
        return f"bool {name} = {random.choice(('true', 'false'))}"
    if kind in ("float3", "vector3f"):
        return f"{kind} {name} = ({number}, 1, 0)"
    if kind == "quatf":
        return f"quatf {name} = ({number}, 0, 0, 0)"
    if kind == "float[]":
        return f"float[] {name} = [{number}, 1]"
    if kind == "point3f[]":
        return f"point3f[] {name} = [(0, 0, {number}), (1, 0, 0), (0, 1, 0)]"
    return f"{kind} {name} = {number if kind != 'int' else random.choice(('0', '-1', '7'))}"
