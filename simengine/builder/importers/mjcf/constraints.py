"""Contact pairs, excludes, equalities, tendons, tuples and keyframes, from XML to plain values."""

from __future__ import annotations

from simengine.builder.importers.mjcf.document import (
    Compliance,
    Equality,
    Exclude,
    Pair,
    PathStep,
    Reference,
    Tendon,
    Tuple,
)
from simengine.builder.importers.mjcf.values import Values
from simengine.builder.importers.report import Notes
from simengine.builder.importers.xml_reader import Element
from simengine.builder.material import CONTACT_DIMENSIONS, DEFAULT_IMPEDANCE, DEFAULT_REFERENCE

MEMBERS = {
    **{kind: kind for kind in ("body", "joint", "geom", "site", "mesh", "hfield", "material", "pair", "exclude")},
    **{kind: kind for kind in ("equality", "tendon", "actuator", "sensor", "tuple")},
    "xbody": "body",
    "key": "keyframe",
}
"""Kinds of members of a tuple, as MuJoCo calls them, and their kinds in ``names.KINDS``."""
TEXT_MEMBERS = ("camera", "light", "texture", "skin", "flex", "plugin", "numeric", "text")
PAIR_FRICTION, PAIR_DIMENSION = (1.0, 1.0, 0.005, 0.0001, 0.0001), 3
"""MuJoCo's defaults of a pair."""


def read_pair(values: Values) -> Pair:
    """An explicit pair; what it does not give has MuJoCo's default, whatever its geoms say."""
    geoms = tuple(Reference("geom", values.text(name)) for name in ("geom1", "geom2"))
    dimension = values.whole("condim") if values.has("condim") else PAIR_DIMENSION
    if dimension not in CONTACT_DIMENSIONS:
        raise values.alone("condim").error(f"condim is {dimension}: it is one of 1, 3, 4, 6")

    def given(name: str, default: tuple, lowest: float = -1e300):
        return values.numbers(name, len(default), default, least=1, lowest=lowest) if values.has(name) else default

    return Pair(
        values.element,
        values.name("name"),
        geoms,
        dimension,
        given("friction", PAIR_FRICTION, 0.0),
        given("solref", DEFAULT_REFERENCE),
        given("solreffriction", (0.0, 0.0)),
        given("solimp", DEFAULT_IMPEDANCE),
        values.number("margin") if values.has("margin") else 0.0,
        values.number("gap", lowest=0.0) if values.has("gap") else 0.0,
    )


def read_exclude(values: Values) -> Exclude:
    """Two bodies that do not touch."""
    bodies = tuple(Reference("body", values.text(name)) for name in ("body1", "body2"))
    return Exclude(values.element, values.name("name"), bodies)


def read_equality(values: Values) -> Equality:
    """connect and weld (by bodies or by sites), joint and tendon (with a polynomial)."""
    kind = values.element.tag
    if kind in ("joint", "tendon"):
        pair = (f"{kind}1", f"{kind}2")
        first = Reference(kind, values.text(pair[0]))
        second = Reference(kind, values.text(pair[1])) if values.name(pair[1]) else None
    else:
        first, second = _ends(values, kind)
    if first == second:
        raise values.element.error(f"joins {first.kind} '{first.name}' with itself: name two")
    equality = Equality(
        values.element,
        values.name("name"),
        kind,
        first,
        second,
        values.flag("active", True),
        Compliance(
            values.numbers("solref", 2, DEFAULT_REFERENCE, least=1),
            values.numbers("solimp", 5, DEFAULT_IMPEDANCE, least=1),
        ),
        anchor=values.numbers("anchor", 3, (0.0, 0.0, 0.0)),
        torque_scale=values.number("torquescale", 1.0, lowest=0.0),
        coefficients=values.numbers("polycoef", 5, (0.0, 1.0, 0.0, 0.0, 0.0), least=1),
    )
    if values.has("relpose"):
        pose = values.numbers("relpose", 7)
        if any(pose[3:]):  # else: the pose that the model has
            w, x, y, z = pose[3:]
            equality.pose = (*pose[:3], x, y, z, w)
    return equality


def _ends(values: Values, kind: str) -> tuple[Reference, Reference | None]:
    """By bodies, the second of which may be the world; or by two sites."""
    if values.name("body1") and (kind == "weld" or values.has("anchor")):
        second = values.name("body2") or "world"
        return Reference("body", values.text("body1")), Reference("body", second)
    if values.name("site1") and values.name("site2"):
        return Reference("site", values.text("site1")), Reference("site", values.text("site2"))
    wanted = "body1 and anchor" if kind == "connect" else "body1"
    raise values.element.error(f"give {wanted}, or site1 and site2")


def read_tendon(values: Values, steps: tuple[str, ...], notes: Notes) -> Tendon:
    """A tendon with its path; AssetError for an empty or impossible one."""
    path = [_step(child, values) for child in values.element.children if child.tag in steps]
    _check_path(path, values.element)
    spring = values.numbers("springlength", 2, (-1.0, -1.0), least=1) if values.has("springlength") else (-1.0, -1.0)
    if values.has("springlength") and len(values.given["springlength"][0].split()) == 1:
        spring = (spring[0], spring[0])
    material, color = values.name("material"), values.numbers("rgba", 4, (0.5, 0.5, 0.5, 1.0), lowest=0.0)
    return Tendon(
        values.element,
        values.name("name"),
        values.element.tag,
        path,
        values.linear("stiffness", notes),
        values.linear("damping", notes),
        values.number("frictionloss", 0.0, lowest=0.0),
        values.number("armature", 0.0, lowest=0.0),
        None if spring == (-1.0, -1.0) else spring,
        values.limits("limited", "range", notes),
        values.number("margin", 0.0, lowest=0.0),
        values.compliance("limit"),
        values.compliance("friction"),
        values.limits("actuatorfrclimited", "actuatorfrcrange", notes),
        values.number("width", 0.003, lowest=0.0),
        color if values.has("rgba") else None,
        Reference("material", material) if material else None,
    )


def _step(child: Element, values: Values) -> PathStep:
    own = Values(child, values.compiler)
    if child.tag == "pulley":
        return PathStep(child, "pulley", number=own.number("divisor", lowest=1e-12))
    target = Reference(child.tag, own.text(child.tag))
    if child.tag == "joint":
        return PathStep(child, "joint", target, number=own.number("coef"))
    side = Reference("site", own.text("sidesite")) if own.name("sidesite") else None
    return PathStep(child, child.tag, target, side)


def _check_path(path: list[PathStep], element: Element) -> None:
    """MuJoCo's rules: sites on both sides of each geom, no branch without two points."""
    if element.tag == "fixed":
        if not path:
            raise element.error("has no joints: add <joint joint=... coef=.../>")
        return
    if sum(step.kind != "pulley" for step in path) < 2:
        raise element.error("needs at least two sites: add them")
    kinds = ["pulley", *(step.kind for step in path), "pulley"]
    for i, step in enumerate(path, 1):
        if step.kind == "geom" and (kinds[i - 1], kinds[i + 1]) != ("site", "site"):
            raise step.element.error("a geom of a tendon stands between two sites")
        if step.kind == "pulley" and kinds[i + 1] == "pulley":
            raise step.element.error("a pulley starts another branch: sites must follow it")
        if step.kind == "site" and kinds[i - 1] == "pulley" == kinds[i + 1]:
            raise step.element.error("a branch of a tendon needs at least two points")


def read_tuple(values: Values) -> Tuple:
    """A custom tuple; members of a kind that is passed over, or that is custom data, are kept as text."""
    members = []
    for child in values.element.all("element"):
        own = Values(child, values.compiler)
        kind, name = own.choice("objtype", (*MEMBERS, *TEXT_MEMBERS), own.text("objtype")), own.text("objname")
        member = name if kind in TEXT_MEMBERS else Reference(MEMBERS[kind], name)
        members.append((kind, member, own.number("prm", 0.0)))
    return Tuple(values.element, values.text("name"), tuple(members))
