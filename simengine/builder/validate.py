"""What finalize asks of a template before it becomes arrays. Each message names the element and how to mend it."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from simengine import schema
from simengine.builder.elements import KINDS, WORLD, Body, Elements, Equality, Joint, Shape
from simengine.builder.frames import quat_rotate
from simengine.builder.inertia import MassProperties, breaks_triangle_inequality, combine, inertia_problem
from simengine.builder.joints import check_joint
from simengine.builder.kinematics import InitialState, largest_gap
from simengine.builder.material import CONTACT_DIMENSIONS, checked_impedance
from simengine.builder.mechanisms import KEPT, ContactPair
from simengine.builder.mesh_data import told_outward
from simengine.builder.pairs import RigidGroups, filter_indices
from simengine.builder.topology import FLOATING
from simengine.builder.values import inertia_matrix, pose, rgba
from simengine.enums import DofKind, EqualityType, JointType, ShapeType
from simengine.errors import ModelError, shortened, warn_user, with_article
from simengine.values import number, numbers

SIZES = {
    ShapeType.SPHERE: ("radius",),
    ShapeType.BOX: ("hx", "hy", "hz"),
    ShapeType.CAPSULE: ("radius", "half_height"),
    ShapeType.CYLINDER: ("radius", "half_height"),
    ShapeType.CONE: ("radius", "half_height"),
    ShapeType.ELLIPSOID: ("a", "b", "c"),
}

MASSLESS = (ShapeType.PLANE, ShapeType.HEIGHTFIELD)


def check_elements(elements: Elements) -> None:
    """Every element by itself, and that what it refers to exists; ModelError otherwise.

    Poses, vectors and axes that users put into fields become tuples, quaternions and axes of unit length.
    """
    for kind, singular in schema.ELEMENTS.items():
        _check_labels(getattr(elements, kind), singular)
    for body in elements.bodies:
        check_body(body)
    for joint in elements.joints:
        _check_references(joint, elements)
        check_joint(joint)
    for shape in elements.shapes:
        _check_body_index(shape.body, elements, f"shape {shape.label!r}, body")
        check_shape(shape)
    for site in elements.sites:
        _check_body_index(site.body, elements, f"site {site.label!r}, body")
        site.xform = pose(site.xform, f"site {site.label!r}, xform")
    for equality in elements.equalities:
        check_equality(equality, elements)
    for kind, singular in KEPT.items():
        _check_labels(getattr(elements, kind), singular)
        for element in getattr(elements, kind):
            check_kept(element, singular, elements)
    _check_pairs_once(elements.contact_pairs, elements)
    low, high = filter_indices(elements.filters)
    wrong = np.flatnonzero((low < 0) | (low >= high) | (high >= len(elements.shapes)))
    if wrong.size:
        raise ModelError(
            f"names shapes {low[wrong[0]]} and {high[wrong[0]]}; there are {len(elements.shapes)}, counted from 0",
            element="shape collision filter",
        )


def check_body(body: Body) -> None:
    """ModelError for a body's own values: mass, centre of mass, inertia, pose, velocity."""
    what = f"body {body.label!r}"
    if body.mass is not None:
        number(body.mass, f"{what}, mass", lowest=0.0)
    if body.inertia is not None and body.mass is None:
        raise ModelError("has an inertia but no mass; give mass too", element=what)
    if body.com is not None and body.inertia is None:
        raise ModelError(
            "has a centre of mass but no inertia; give mass, com and inertia together, or none of them "
            "and shapes with a density",
            element=what,
        )
    if body.com is not None:
        body.com = numbers(body.com, 3, f"{what}, com")
    if body.inertia is not None:
        body.inertia = inertia_matrix(body.inertia, f"{what}, inertia")
        problem = inertia_problem(body.mass, np.array(body.inertia).reshape(3, 3))
        if problem:
            raise ModelError(
                f"{problem}; give the inertia about the centre of mass, in the axes of the body",
                element=f"{what}, inertia",
            )
    if body.xform is not None:
        body.xform = pose(body.xform, f"{what}, xform")
    if body.velocity is not None:
        body.velocity = numbers(body.velocity, 6, f"{what}, velocity")


def check_shape(shape: Shape) -> None:
    """ModelError for a shape's own values: size, density, margins, colour.

    A mesh that is closed and wound inwards is turned round, with a warning.
    """
    what = f"shape {shape.label!r}"
    shape.xform = pose(shape.xform, f"{what}, xform")
    shape.size = numbers(shape.size, 3, f"{what}, size")
    for name, size in zip(SIZES.get(shape.type, ()), shape.size, strict=False):
        number(size, f"{what}, {name}", positive=True)
    if shape.type == ShapeType.PLANE:
        for size in shape.size:
            number(size, f"{what}, half size", lowest=0.0)
    if shape.type == ShapeType.HEIGHTFIELD:
        for size in shape.size[:2]:
            number(size, f"{what}, half size", positive=True)
    elif shape.type == ShapeType.SDF:
        if shape.size != (1.0, 1.0, 1.0):
            raise ModelError(f"is {shape.size}; a distance field has no scale: make another", element=f"{what}, size")
    elif shape.mesh is not None:
        for factor in shape.size:
            if factor == 0:
                raise ModelError(
                    "is zero in one direction, which flattens the mesh; no factor may be zero", element=f"{what}, scale"
                )
    if shape.type == ShapeType.MESH:
        shape.mesh = told_outward(shape.mesh, what)
    number(shape.density, f"{what}, density", lowest=0.0)
    if shape.mass is not None:
        number(shape.mass, f"{what}, mass", lowest=0.0)
    if shape.thickness is not None:
        number(shape.thickness, f"{what}, thickness", positive=True)
    number(shape.margin, f"{what}, margin", lowest=0.0)
    number(shape.gap, f"{what}, gap", lowest=0.0)
    shape.color = rgba(shape.color, f"{what}, color")
    if shape.type in MASSLESS and (shape.mass or shape.density):
        kind = with_article(shape.type.name.lower())
        raise ModelError(f"{kind} has no mass; give the mass to the body", element=what)


def check_equality(equality: Equality, elements: Elements) -> None:
    """ModelError where an equality refers to what does not exist, or to one thing twice."""
    what = f"equality {equality.label!r}"
    objects = (equality.object0, equality.object1)
    if equality.type == EqualityType.JOINT:
        for index in objects if objects[1] != WORLD else objects[:1]:
            _check_index(index, len(elements.joints), f"{what}, joint")
            joint = elements.joints[index]
            if len(joint.dofs) != 1:
                raise ModelError(
                    f"joint {joint.label!r} has {len(joint.dofs)} degrees of freedom; it must have one", element=what
                )
    else:
        for body in objects:
            _check_body_index(body, elements, f"{what}, body")
    if objects[0] == objects[1]:
        raise ModelError("joins a thing with itself; give two different ones", element=what)
    equality.xform0 = pose(equality.xform0, f"{what}, first frame")
    equality.xform1 = pose(equality.xform1, f"{what}, second frame")
    equality.data = numbers(equality.data, 8, f"{what}, data", infinite=True)


def check_kept(element, singular: str, elements: Elements) -> None:
    """ModelError where one of the elements that are kept, of the kind ``singular``, refers to what does not exist."""
    what = f"{singular} {element.label!r}"
    plurals = {name: kind for kind, name in KINDS.items()}

    def existing(kind: str, index: int) -> int:
        count = len(getattr(elements, plurals[kind]))
        lowest = WORLD if kind == "body" else 0
        if not lowest <= index < count:
            raise ModelError(f"names {kind} {index}; there are {count}, counted from 0", element=what)
        return index

    try:
        element.renumber(existing)
    except (KeyError, TypeError, ValueError) as error:
        raise ModelError(f"has a malformed or unknown reference: {error}", element=what) from None
    if isinstance(element, ContactPair):
        check_contact_pair(element, elements, what)


def check_contact_pair(pair: ContactPair, elements: Elements, what: str) -> None:
    """ModelError for two shapes that cannot touch, and for values out of their range."""
    if pair.shape0 == pair.shape1:
        raise ModelError(f"names shape {elements.shapes[pair.shape0].label!r} twice; name two", element=what)
    for shape in (elements.shapes[pair.shape0], elements.shapes[pair.shape1]):
        if not shape.collides:
            raise ModelError(f"names shape {shape.label!r}, which does not collide; set collides=True", element=what)
    if pair.contact_dim not in (None, *CONTACT_DIMENSIONS):
        raise ModelError(f"contact_dim is {pair.contact_dim!r}; it is one of 1, 3, 4, 6", element=what)
    for value in () if pair.friction is None else numbers(pair.friction, 5, f"{what}, friction"):
        number(value, f"{what}, friction", lowest=0.0)
    for name in ("reference", "friction_reference"):
        given = getattr(pair, name)
        for value in () if given is None else numbers(given, 2, f"{what}, {name}"):
            number(value, f"{what}, {name} (time constant, damping ratio)", positive=True)
    if pair.impedance is not None:
        pair.impedance = checked_impedance(pair.impedance, f"{what}, impedance")
    for name in ("margin", "gap"):
        if getattr(pair, name) is not None:
            number(getattr(pair, name), f"{what}, {name}", lowest=0.0)


def _check_pairs_once(pairs: Sequence[ContactPair], elements: Elements) -> None:
    """ModelError where two contact pairs name the same shapes."""
    seen: dict[tuple[int, int], str] = {}
    for pair in pairs:
        both = (min(pair.shape0, pair.shape1), max(pair.shape0, pair.shape1))
        if both in seen:
            one, other = (repr(elements.shapes[i].label) for i in both)
            problem = f"names shapes {one} and {other}, which are contact pair {seen[both]!r} already; leave one out"
            raise ModelError(problem, element=f"contact pair {pair.label!r}")
        seen[both] = pair.label


def check_masses(
    bodies: Sequence[Body],
    joints: Sequence[Joint],
    masses: Sequence[MassProperties],
    order: Sequence[int],
    initial: InitialState,
) -> None:
    """ModelError where something moves that has no inertia; a warning for inertias that no body can have.

    Bodies that fixed joints hold together count as one. A group without mass may move if groups with mass hang on it;
    at the end of a chain it needs a mass, and about each axis that turns it an inertia or an armature.
    """
    rigid = RigidGroups(bodies, joints)
    parts: dict[int, list[MassProperties]] = {}
    for body, properties in enumerate(masses):
        if not np.isfinite(properties.inertia).all() or not np.isfinite(properties.mass):
            raise ModelError("its mass or inertia is too large for a number", element=f"body {bodies[body].label!r}")
        parts.setdefault(rigid.group[body], []).append(properties.moved(initial.pose[body]))
    total = {group: combine(own) for group, own in parts.items()}
    carried = {group: own.mass for group, own in total.items()}
    has_children = set()
    for j in reversed(order):
        joint = joints[j]
        group = rigid.group[joint.child]
        if joint.type == JointType.FIXED or bodies[joint.child].kinematic:
            continue
        what = f"body {bodies[joint.child].label!r}"
        if carried[group] <= 0:
            raise ModelError(
                "moves, but neither it nor what hangs on it has a mass; give it mass= and inertia=, or a shape with a "
                "density, or fix it",
                element=what,
            )
        if group not in has_children:
            _check_leaf(joint, total[group], initial, j, what)
        if joint.parent != WORLD:
            above = rigid.group[joint.parent]
            carried[above] += carried[group]
            has_children.add(above)
    odd = [body.label for body, own in zip(bodies, masses, strict=True) if breaks_triangle_inequality(own.inertia)]
    if odd:
        warn_user(
            f"{len(odd)} of {len(bodies)} bodies with a principal moment of inertia larger than the sum of the other "
            f"two, which no distribution of mass has; kept as given: {shortened(odd)}",
        )


def _check_leaf(joint: Joint, own: MassProperties, initial: InitialState, index: int, what: str) -> None:
    """That the rotation of a group at the end of a chain meets an inertia."""
    angular = [dof for dof in joint.dofs if dof.kind != DofKind.LINEAR]
    if not angular:
        return
    inertia = own.inertia if joint.type in FLOATING else own.about(initial.joint_frame[index])
    if not np.isfinite(inertia).all():
        raise ModelError(f"its inertia about joint {joint.label!r} is too large for a number", element=what)
    scale = max(np.abs(inertia).max(), 1e-300)
    if angular[0].kind == DofKind.BALL_X:
        least = np.linalg.eigvalsh(inertia)[0] + min(dof.armature for dof in angular)
    else:  # the last dof turns the group alone, whatever the others do
        turned = quat_rotate(joint.child_xform[3:], angular[-1].axis)
        axis = np.array(quat_rotate(initial.pose[joint.child][3:], turned))
        least = axis @ inertia @ axis + angular[-1].armature
    if least <= 1e-12 * scale:
        raise ModelError(
            f"turns about joint {joint.label!r} without any inertia there; give it inertia= (or the joint armature=)",
            element=what,
        )


def check_floating(bodies: Sequence[Body], joints: Sequence[Joint]) -> None:
    """ModelError where a body that joints hold is kinematic or was given a velocity."""
    for joint in joints:
        body = bodies[joint.child]
        what = f"body {body.label!r}"
        on_world = joint.type in FLOATING and joint.parent == WORLD
        if body.kinematic and not (on_world and joint.type == JointType.FREE):
            raise ModelError(
                f"is kinematic, but joint {joint.label!r} ({joint.type.name.lower()}) moves it; leave out the joint, "
                "or make it a free joint on the world",
                element=what,
            )
        if body.velocity is not None and not on_world:
            raise ModelError(f"has a velocity, but joint {joint.label!r} moves it; give the joint qd=", element=what)
        if body.velocity is not None and joint.qd is not None:
            raise ModelError(f"has a velocity, and joint {joint.label!r} rates; give one of them", element=what)


def warn_of_poses(bodies: Sequence[Body], joints: Sequence[Joint], initial: InitialState) -> None:
    """A warning names the bodies that were given a pose that their joints' coordinates do not lead to."""
    apart = []
    for joint in joints:
        body, reached = bodies[joint.child], initial.pose[joint.child]
        size = 1.0 + math.dist(reached[:3], (0.0, 0.0, 0.0))
        if body.xform is not None and largest_gap(body.xform, reached) > 1e-5 * size:
            apart.append(f"{body.label!r} at {tuple(round(x, 4) for x in reached[:3])}")
    if apart:
        warn_user(
            f"{len(apart)} of {len(bodies)} bodies not at the given xform, but where their joints' coordinates put "
            f"them; set q= of the joint or leave out xform: {shortened(apart)}",
        )


def _check_labels(elements: Sequence, kind: str) -> None:
    seen = set()
    for element in elements:
        if element.label in seen:
            raise ModelError(
                "stands twice in one world; labels of one kind must differ", element=f"{kind} label {element.label!r}"
            )
        seen.add(element.label)


def _check_references(joint: Joint, elements: Elements) -> None:
    what = f"joint {joint.label!r}"
    _check_body_index(joint.parent, elements, f"{what}, parent")
    _check_index(joint.child, len(elements.bodies), f"{what}, child")
    if joint.parent == joint.child:
        raise ModelError(
            f"joins body {elements.bodies[joint.child].label!r} with itself; parent and child must differ", element=what
        )


def _check_body_index(index: int, elements: Elements, what: str) -> None:
    if index != WORLD:
        _check_index(index, len(elements.bodies), what)


def _check_index(index: int, count: int, what: str) -> None:
    if not 0 <= index < count:
        have = f"there are {count}, counted from 0" if count else "there are none yet"
        raise ModelError(f"is {index}; {have}", element=what)
