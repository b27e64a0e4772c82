"""What differs between two builders: elements by label, places and directions in the world where both start.

Frames of bodies and joints may be chosen otherwise in a file, so masses, shapes and axes are compared as they stand in
the world at the initial coordinates; where a body's own frame stands is a difference of its own. Sets and tables of an
element differ by their items.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, field, fields

import numpy as np

from simengine.builder.elements import WORLD, Dof
from simengine.builder.exporters.report import ExportNotes
from simengine.builder.exporters.scene import make_scene
from simengine.builder.frames import (
    IDENTITY,
    compose,
    quat_conjugate,
    quat_from_axis_angle,
    quat_multiply,
    quat_rotate,
    rotation_matrix,
)
from simengine.builder.mechanisms import KEPT, Keyframe, SceneOptions
from simengine.builder.mesh_data import Mesh
from simengine.enums import DofKind, EqualityType, JointType, ShapeType

MESHES = (ShapeType.MESH, ShapeType.CONVEX_HULL, ShapeType.HEIGHTFIELD)
DOF_FIELDS = [f.name for f in fields(Dof) if f.name not in ("kind", "axis", "label")]
MASSLESS = 1e-12  # kg: what files are given where their format asks for a mass
CONTACT_FIELDS = ("margin", "gap", "group", "contype", "conaffinity", "mix")
MATERIAL_FIELDS = (
    "shape_friction", "shape_static_friction", "shape_torsional_friction", "shape_rolling_friction",
    "shape_restitution", "shape_reference", "shape_impedance", "shape_stiffness", "shape_dissipation",
    "shape_combine", "shape_priority", "shape_contact_dim",
)  # fmt: skip


@dataclass(frozen=True)
class Difference:
    """``kind`` of element, its label, the field, and both values.

    ``places``: how reports call the element and what it is part of ("joint 'knee'").
    """

    kind: str
    label: str
    field: str
    before: object
    after: object
    places: frozenset[str] = field(default=frozenset(), compare=False)

    def __str__(self) -> str:
        return f"{self.kind} {self.label!r}, {self.field}: {self.before!r} -> {self.after!r}"


class View:
    """A builder's world in plain values: ``tables[kind][label][field]``; ``zero``: see ``differences``."""

    def __init__(self, builder, zero: bool = False):
        self.scene = make_scene(builder, 0, ExportNotes("", "", False), ("Z",))
        self.elements = self.scene.elements
        self.starts = self.scene.initial
        if zero:
            self.scene.initial = self.scene.at_zero()
        self.poses = [*self.scene.initial.pose, IDENTITY]
        self.tables = {
            "body": {self.name("body", i): self._body(i, body) for i, body in enumerate(self.elements.bodies)},
            "joint": {self._key(joint): self._joint(i, joint) for i, joint in enumerate(self.elements.joints)},
            "shape": {shape.label: self._shape(shape) for shape in self.elements.shapes},
            "site": {site.label: self._site(site) for site in self.elements.sites},
            "equality": {self._equality_key(one): self._equality(one) for one in self.elements.equalities},
            "scene": {"": self._scene()},
        }
        for plural, kind in KEPT.items():
            self.tables[kind] = {one.label: self._kept(one) for one in getattr(self.elements, plural)}

    @functools.cache  # noqa: B019 (a view lives as long as one comparison)
    def places(self, kind: str, key: str) -> set[str]:
        """How reports call the element with this key of a table, and what it is part of."""
        elements, found = self.elements, {f"{kind} {key!r}"}
        if kind == "scene":
            return {"scene"}
        if kind == "body":
            for index in (i for i, body in enumerate(elements.bodies) if self.name("body", i) == key):
                found |= self._above(index)
        if kind == "joint":
            for joint in (joint for joint in elements.joints if self._key(joint) == key):
                found |= self._above(joint.child) | {f"joint {joint.label!r}"}
        if kind == "shape":
            for shape in (shape for shape in elements.shapes if shape.label == key):
                body = "world" if shape.body == WORLD else elements.bodies[shape.body].label
                found |= {f"link {body!r}"}
        if kind == "equality":
            found |= {f"equality {one.label!r}" for one in elements.equalities if self._equality_key(one) == key}
        if kind == "contact pair":
            for pair in (pair for pair in elements.contact_pairs if pair.label == key):
                found |= pair_places(*(elements.shapes[i].label for i in (pair.shape0, pair.shape1)))
        return found

    def _above(self, body: int) -> set[str]:
        """A body, its parent, the joint between them; and so on up from what has no mass, or is fixed."""
        found = {f"body {self.elements.bodies[body].label!r}"}
        while body != WORLD:
            joint = self.elements.joints[self.scene.joint_of[body]]
            body = joint.parent
            found.add(f"joint {joint.label!r}")
            if body != WORLD:
                found.add(f"body {self.elements.bodies[body].label!r}")
                if self.scene.masses[body].mass > MASSLESS and joint.type != JointType.FIXED:
                    break
        return found

    @functools.cache  # noqa: B019
    def shape_places(self, label: str) -> set[str]:
        """A shape, its link, and what its body hangs on."""
        found = set(self.places("shape", label))
        for shape in self.elements.shapes:
            if shape.label == label and shape.body != WORLD:
                found |= self._above(shape.body)
        return found

    def _key(self, joint) -> str:
        """The label; of joints that some formats do not name, or name by parts, the body that they move."""
        if joint.type != JointType.BALL and len(joint.dofs) != 1:
            return f"on {self.name('body', joint.child)}"
        return joint.label

    def _equality_key(self, one) -> str:
        """The label; of an equality of joints, which some formats do not name, the joint that follows."""
        return f"of {self.name('joint', one.object0)}" if one.type == EqualityType.JOINT else one.label

    def _carried(self, body: int) -> str:
        """The joint below a body that has no mass and carries one joint alone, else ""."""
        below = self.scene.below.get(body, [])
        shaped = any(shape.body == body for shape in self.elements.shapes)
        if self.scene.masses[body].mass > MASSLESS or len(below) != 1 or shaped:
            return ""
        joint = self.elements.joints[below[0]]
        return "" if joint.type == JointType.FIXED else joint.label

    def name(self, kind: str, index: int) -> str:
        if index == WORLD:
            return "WORLD"
        if kind == "body" and self._carried(index):
            return f"above {self._carried(index)}"
        plurals = {"body": "bodies", "joint": "joints", "shape": "shapes", "site": "sites", "tendon": "tendons",
                   "actuator": "actuators", "sensor": "sensors", "equality": "equalities"}  # fmt: skip
        if kind == "joint":
            return self._key(self.elements.joints[index])
        return getattr(self.elements, plurals[kind])[index].label

    def _body(self, index: int, body) -> dict:
        own, pose = self.scene.masses[index], self.poses[index]
        turn = rotation_matrix(pose[3:])
        return {
            "mass": own.mass,
            "first moment": own.mass * (turn @ own.com + pose[:3]),
            "inertia": turn @ own.inertia @ turn.T,
            **({} if self._carried(index) else {"position": np.array(pose[:3]), "orientation": turn}),
            "kinematic": body.kinematic,
            "gravity_compensation": body.gravity_compensation,
        }

    def _joint(self, index: int, joint) -> dict:
        q, frame = self.scene.initial.coords[index], compose(self.poses[joint.parent], joint.parent_xform)
        axes = []
        for i, dof in enumerate(joint.dofs):
            axes.append(quat_rotate(frame[3:], dof.axis))
            if dof.kind == DofKind.ANGULAR:
                frame = (*frame[:3], *quat_multiply(frame[3:], quat_from_axis_angle(dof.axis, q[i])))
        result = {
            "type": joint_type(joint),
            "parent": self.name("body", joint.parent),
            "child": self.name("body", joint.child),
            "axes": np.array(axes),
            "q": coordinates(joint, self.starts.coords[index]),
            "qd": np.array(self.starts.rates[index]),
            "dof labels": tuple(dof.label for dof in joint.dofs),
            "swing_limit": joint.swing_limit,
            "twist_limit": joint.twist_limit,
            "angle_limit": joint.angle_limit,
        }
        if any(dof.kind != DofKind.LINEAR for dof in joint.dofs):
            result["anchor"] = np.array(self.scene.initial.joint_frame[index])
        for name in DOF_FIELDS:
            result[name] = np.array([getattr(dof, name) for dof in joint.dofs])
        if not any(result["target_ke"]) and not any(result["target_kd"]):
            del result["target_pos"], result["target_vel"]  # of a drive that is off
        return result

    def _shape(self, shape) -> dict:
        pose = compose(self.poses[shape.body], shape.xform)
        result = {
            "type": shape.type.name,
            "body": self.name("body", shape.body),
            "collides": shape.collides,
            "visible": shape.visible,
            "color": shape.color,
        }
        if shape.collides:
            result |= {
                name: getattr(shape, name) for name in ("margin", "gap", "group", "contype", "conaffinity", "mix")
            }
            row = shape.material.row()
            result |= {f"material {name.removeprefix('shape_')}": row[name] for name in MATERIAL_FIELDS}
        if shape.type == ShapeType.HEIGHTFIELD:
            result |= {"heights": shape.heightfield.heights, "size": shape.size[:2]}
            result |= {"position": np.array(pose[:3]), "orientation": rotation_matrix(pose[3:])}
        elif shape.type in MESHES:
            result["surface"] = surface(shape.mesh, shape.size, pose)
        else:
            result |= {"size": shape.size, "position": np.array(pose[:3])}
            result["orientation"] = orientation(shape.type, rotation_matrix(pose[3:]))
        return result

    def _site(self, site) -> dict:
        pose = compose(self.poses[site.body], site.xform)
        return {
            "body": self.name("body", site.body),
            "position": np.array(pose[:3]),
            "orientation": rotation_matrix(pose[3:]),
        }

    def _equality(self, one) -> dict:
        kind = "joint" if one.type == EqualityType.JOINT else "body"
        result = {
            "type": one.type.name,
            "first": self.name(kind, one.object0),
            "second": self.name(kind, one.object1),
            "data": one.data if one.object1 != WORLD or one.type != EqualityType.JOINT else one.data[:1],
            "active": one.active,
            "reference": one.reference,
            "impedance": one.impedance,
        }
        if kind == "body":
            for end, body, xform in (("0", one.object0, one.xform0), ("1", one.object1, one.xform1)):
                pose = compose(self.poses[body], xform)
                result[f"point{end}"] = np.array(pose[:3])
            turn = quat_multiply(one.xform0[3:], quat_conjugate(one.xform1[3:]))
            if one.type in (EqualityType.WELD, EqualityType.LOOP_FIXED):
                result["turn"] = rotation_matrix(turn)
            result["torque_scale"] = one.torque_scale
        return result

    def _kept(self, one) -> dict:
        """The fields of an element, indices as labels."""
        import copy

        named = copy.copy(one)
        named.renumber(self.name)
        result = {key: value for key, value in vars(named).items() if key not in ("label", "auto_label")}
        if isinstance(one, Keyframe):
            result["joints"] = {joint: tuple(q) for joint, q, _ in named.joints}
            result["rates"] = {joint: tuple(qd) for joint, _, qd in named.joints if any(qd)}
            result["actuators"] = {name: value for name, value, _ in named.actuators if np.any(value)}
            result["bodies"] = dict(named.bodies)
            result["activations"] = {name: tuple(more) for name, _, more in named.actuators if any(more)}
        for key in ("gain", "bias", "dynamics"):
            if key in result:
                result[key] = _law(*result[key])
        return result

    def _scene(self) -> dict:
        options = self.elements.options
        result = {f"option {f.name}": getattr(options, f.name) for f in fields(SceneOptions)}
        result |= {f"option {name}": set(getattr(options, name)) for name in ("disabled", "enabled", "other")}
        allowed = np.array(self.scene.allowed_pairs())
        for pair in self.elements.contact_pairs:
            allowed[pair.shape0, pair.shape1] = allowed[pair.shape1, pair.shape0] = True
        labels = [shape.label for shape in self.elements.shapes]
        pairs = {tuple(sorted((labels[i], labels[k]))) for i, k in np.argwhere(np.triu(allowed, 1))}
        custom = {(name, _plain(value)) for name, value in self.elements.custom}
        return result | {"gravity": np.array(self.scene.gravity), "pairs": pairs, "custom": custom}


def _plain(value) -> object:
    """A custom value as a text or a tuple of numbers."""
    if isinstance(value, str | bool):
        return str(value).lower() if isinstance(value, bool) else value
    if isinstance(value, float | int):
        return (float(value),)
    return tuple(map(float, value)) if all(isinstance(x, float | int) for x in value) else repr(value)


def _law(kind: str, parameters: tuple) -> tuple:
    """A gain, bias or dynamics without parameters that say nothing: of none, and zeros at the end."""
    while parameters and (kind == "none" or parameters[-1] == 0.0):
        parameters = parameters[:-1]
    return kind, parameters


def coordinates(joint, q: tuple) -> np.ndarray:
    """The coordinates, a quaternion as its matrix, since q and -q are one rotation."""
    if joint.coord_count == len(joint.dofs):
        return np.array(q)
    return np.array([*q[:-4], *rotation_matrix(q[-4:]).ravel()])


def joint_type(joint) -> str:
    """The type, what is only another word for it left out."""
    kinds = [dof.kind.name for dof in joint.dofs]
    return "+".join(kinds) if joint.type in (JointType.D6, JointType.UNIVERSAL) else joint.type.name


def surface(mesh: Mesh, scale, pose) -> np.ndarray:
    """What tells a triangle surface, however its vertices are numbered: bounds, area, and moments of the area.

    Corners that are equal in single precision are one; a triangle that is there twice, the same way round, counts once.
    """
    used, triangles = np.unique(mesh.triangles, return_inverse=True)
    points = mesh.vertices[used]
    _, first, number = np.unique(points.astype(np.float32), axis=0, return_index=True, return_inverse=True)
    corners = number.reshape(-1)[triangles.reshape(-1, 3)]
    turn = (np.argmin(corners, axis=1)[:, None] + np.arange(3)) % 3
    corners = np.unique(np.take_along_axis(corners, turn, axis=1), axis=0)
    points = points[first] * np.asarray(scale) @ rotation_matrix(pose[3:]).T + pose[:3]
    area, moment, second = Mesh(points, corners).surface_moments((1.0, 1.0, 1.0))
    return np.concatenate([points.min(axis=0), points.max(axis=0), [area], moment, second.ravel()])


def orientation(kind: ShapeType, turn: np.ndarray) -> np.ndarray:
    """Of a sphere nothing, of a shape about its axis that axis, else the whole rotation."""
    if kind == ShapeType.SPHERE:
        return np.zeros(3)
    if kind in (ShapeType.CAPSULE, ShapeType.CYLINDER, ShapeType.CONE):
        return turn[:, 2]
    return turn


def differences(first, second, tolerance: float = 1e-9, zero: bool = False) -> list[Difference]:
    """What differs between the builders ``first`` and ``second``; numbers relative to the largest, or 1.

    ``zero``: places are those where all coordinates are zero, but of free joints on the world.
    """
    before, after = View(first, zero), View(second, zero)
    found = []
    for kind, table in before.tables.items():
        for label in {**table, **after.tables[kind]}:
            for name, *values in _of_element(table.get(label), after.tables[kind].get(label), tolerance):
                places = before.places(kind, label) if label in table else _origins(before, after, kind, label)
                items = _item_places(before, name, values) if kind in ("scene", "keyframe") else set()
                found.append(Difference(kind, label, name, *values, frozenset(places | items)))
    return found


def _of_element(one, other, tolerance: float) -> list[tuple]:
    """(field, value, other value) of each difference."""
    if one is None or other is None:
        return [("missing" if other is None else "added", one is not None, other is not None)]
    found = []
    for name in {**one, **other}:
        value, changed = one.get(name), other.get(name)
        if isinstance(value, set) and isinstance(changed, set):
            found += [(name, item, None) for item in sorted(value - changed, key=repr)]
            found += [(name, None, item) for item in sorted(changed - value, key=repr)]
        elif isinstance(value, dict) and isinstance(changed, dict):
            keys = [key for key in {**value, **changed} if not same(value.get(key), changed.get(key), tolerance)]
            found += [(name, (key, value.get(key)), (key, changed.get(key))) for key in keys]
        elif not same(value, changed, tolerance):
            found.append((name, value, changed))
    return found


ITEMS = {"joints": "joint", "rates": "joint", "actuators": "actuator", "activations": "actuator", "bodies": "body"}
"""Tables of keyframes, and the kind of element that their keys are labels of."""


def _item_places(view: View, name: str, values: list) -> set[str]:
    """What an item of a set or table is about."""
    item = values[1] if values[0] is None else values[0]
    if name == "pairs":
        return pair_places(*item).union(*map(view.shape_places, item))
    if name in ITEMS:
        return view.places(ITEMS[name], item[0]) if isinstance(item, tuple) else set()
    if name == "custom":
        return {f"custom {item[0]!r}"}
    if name in ("option disabled", "option enabled", "option other"):
        return {f"option {(item if isinstance(item, str) else item[0])!r}"}
    return set()


def _origins(before: View, after: View, kind: str, label: str) -> set[str]:
    """Of an element that was added: what is called so, or so without the endings that names of parts get."""
    found = set(after.places(kind, label))
    found |= before.places("joint", label) if kind == "joint" else set()
    child = label.removeprefix("on ")
    if kind == "joint" and child in before.tables["body"]:
        found |= before.places("body", child)
    stem = re.sub("^(above|on|of) ", "", label)
    found |= {f"shape {stem.partition('/')[2]!r}"} if kind == "shape" else set()
    while (shorter := re.sub(r"_(\d+|drive|axis|site)$", "", stem)) != stem:
        stem = shorter
        found |= {f"{one} {name!r}" for one in before.tables for name in (stem, stem.partition("/")[2])}
    return found


def pair_places(first: str, second: str) -> set[str]:
    """How reports call two shapes."""
    return {f"shapes {a!r} and {b!r}" for a, b in ((first, second), (second, first))}


def same(one, other, tolerance: float) -> bool:
    """Equal up to ``tolerance`` where they are numbers, or tables of them; infinities equal themselves."""
    if one is None or other is None:
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key], tolerance) for key in one)
    if isinstance(one, set | str | bool) or isinstance(other, set | str | bool):
        return one == other
    try:
        a, b = np.asarray(one, float), np.asarray(other, float)
    except (TypeError, ValueError):
        if isinstance(one, tuple) and isinstance(other, tuple):
            return len(one) == len(other) and all(same(x, y, tolerance) for x, y in zip(one, other, strict=True))
        return one == other if not hasattr(one, "__dataclass_fields__") else same(
            tuple(vars(one).values()), tuple(vars(other).values()), tolerance)  # fmt: skip
    if a.shape != b.shape:
        return False
    with np.errstate(invalid="ignore"):
        finite = [x[np.isfinite(x)] for x in (a, b)]
        size = max(1.0, *(float(np.abs(x).max(initial=0.0)) for x in finite))
        return bool(((np.abs(a - b) <= tolerance * size) | (a == b)).all())
