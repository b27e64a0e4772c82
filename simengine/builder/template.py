"""From the elements of one world to its arrays: the template that ``finalize`` tiles."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, sqrt

import numpy as np

from simengine import schema
from simengine.builder.elements import DEFAULT_MATERIAL, WORLD, Body, Dof, Elements, Joint, Shape
from simengine.builder.inertia import MESH_TYPES, MassProperties
from simengine.builder.joints import BALL_KINDS, XYZ
from simengine.builder.kinematics import InitialState, initial_state
from simengine.builder.masses import body_masses
from simengine.builder.mechanisms import ContactPair
from simengine.builder.mesh_collision import hull_of
from simengine.builder.mesh_data import Mesh
from simengine.builder.pairs import PairRules, PairTable, choose_broad_phase, count_unsupported, list_pairs
from simengine.builder.topology import build_topology, link_order, starts
from simengine.builder.validate import check_elements, check_floating, check_masses, warn_of_poses
from simengine.enums import BodyFlag, DofKind, JointType, ShapeFlag, ShapeType


@dataclass
class Template:
    """One world as arrays: ``arrays`` by name (float64, or integers numbered within the world, -1 the world).

    ``joint_q_start`` and ``joint_qd_start`` lack their last entry. ``labels`` by kind. ``topology``: the rows of owner
    ``topology`` without ``group_world``. ``meshes``: what ``shape_mesh`` numbers. ``gravity`` (3,). ``rules``: which
    shapes may touch; ``broad_phase``: "pairs" where the topology lists them, "bvh" or "dense" where they are
    searched for, "search" where the way of it is chosen when all worlds are known.
    """

    arrays: dict[str, np.ndarray]
    labels: dict[str, tuple[str, ...]]
    counts: dict[str, int]
    topology: dict[str, np.ndarray]
    unsupported: dict[tuple[str, str], int]
    meshes: list[Mesh]
    gravity: tuple[float, ...]
    rules: PairRules
    broad_phase: str

    def search_pairs(self, broad_phase: str) -> None:
        """Leave out the list of pairs: ``sim.collide`` is to search for them, by ``broad_phase``."""
        self.topology |= PairTable.empty().arrays()
        self.broad_phase = broad_phase

    def structure_key(self) -> bytes:
        """Equal for worlds that may share a batch group: same topology, types and numbers of everything."""
        content = hashlib.blake2b(digest_size=16)
        structure = {
            name: self.arrays[name]
            for name in (
                "joint_type",
                "shape_type",
                "shape_body",
                "site_body",
                "equality_type",
                "equality_object0",
                "equality_object1",
                "contact_pair_shape0",
                "contact_pair_shape1",
            )
        }
        for name, array in (self.topology | structure).items():
            content.update(f"{name}{array.shape}".encode())
            content.update(np.ascontiguousarray(array, np.int32).tobytes())
        return content.digest()


def compile_template(
    elements: Elements, shared: Sequence[Shape], gravity: Sequence[float], broad_phase: str | None = None
) -> Template:
    """Check one world and turn it into arrays; ``shared``: the static shapes of all worlds. Raises ModelError.

    ``broad_phase``: "pairs", "bvh", "dense", or None to choose "pairs" or "search" by the number of pairs.
    """
    check_elements(elements)
    bodies, joints = elements.bodies, [*elements.joints, *floating_joints(elements)]
    order = link_order(bodies, joints)
    check_floating(bodies, joints)
    masses = body_masses(elements)
    initial = initial_state(bodies, joints, order, [tuple(map(float, own.com)) for own in masses])
    check_masses(bodies, joints, masses, order, initial)
    warn_of_poses(bodies, joints, initial)
    all_shapes = [*elements.shapes, *shared]
    explicit = [(pair.shape0, pair.shape1) for pair in elements.contact_pairs]
    rules = PairRules(bodies, joints, all_shapes, elements.filters, explicit)
    broad_phase = broad_phase or choose_broad_phase(rules)
    pairs = list_pairs(rules) if broad_phase == "pairs" else PairTable.empty()
    meshes: dict[Mesh, int] = {}
    arrays = body_arrays(bodies, joints, masses, initial)
    arrays |= joint_arrays(joints, initial)
    arrays |= shape_arrays(elements.shapes, meshes)
    own = len(elements.shapes)
    arrays |= {"shape_rigid_body": rules.rigid[:own], "shape_parent_body": rules.linked[:own]}
    arrays["shape_immovable"] = rules.immovable[:own].astype(int)
    arrays |= other_arrays(elements)
    arrays |= contact_pair_arrays(elements.contact_pairs)
    kinds = {kind: getattr(elements, kind) for kind in schema.ELEMENTS} | {"joints": joints}
    coord_start, dof_start = starts(joints)
    return Template(
        arrays=arrays,
        labels={schema.ELEMENTS[kind]: tuple(one.label for one in of_kind) for kind, of_kind in kinds.items()},
        counts={
            **{kind: len(of_kind) for kind, of_kind in kinds.items()},
            "coords": int(coord_start[-1]),
            "dofs": int(dof_start[-1]),
            "contact_pairs": len(elements.contact_pairs),
        },
        topology=build_topology(bodies, joints, all_shapes, pairs),
        unsupported=count_unsupported(rules),
        meshes=list(meshes),
        gravity=tuple(gravity),
        rules=rules,
        broad_phase=broad_phase,
    )


def floating_joints(elements: Elements) -> list[Joint]:
    """A free joint on the world for each body that no joint moves, in the order of the bodies."""
    moved = {joint.child for joint in elements.joints}
    taken = {joint.label for joint in elements.joints}
    result = []
    for index, body in enumerate(elements.bodies):
        if index not in moved:
            label = f"{body.label}_free"
            while label in taken:
                label += "_"
            taken.add(label)
            result.append(Joint(label, True, JointType.FREE, WORLD, index, dofs=free_dofs()))
    return result


def free_dofs() -> list:
    """The six degrees of freedom of a free joint: three slides, then a ball."""
    kinds = (DofKind.LINEAR,) * 3 + BALL_KINDS
    return [Dof(kind=kind, axis=axis) for kind, axis in zip(kinds, XYZ * 2, strict=True)]


def body_arrays(
    bodies: Sequence[Body], joints: Sequence[Joint], masses: Sequence[MassProperties], initial: InitialState
) -> dict[str, np.ndarray]:
    """The ``body_*`` rows; the inverse weights, which a kernel computes, are zero."""
    count = len(bodies)
    return {
        "body_mass": np.array([own.mass for own in masses]),
        "body_com": _rows([own.com for own in masses], 3),
        "body_inertia": np.array([0.5 * (own.inertia + own.inertia.T) for own in masses]).reshape(count, 3, 3),
        "body_inverse_weight": np.zeros((count, 2)),
        "body_flags": np.array([BodyFlag.KINEMATIC if body.kinematic else 0 for body in bodies], int),
        "body_q": _rows(initial.pose, 7),
        "body_qd": _rows(initial.velocity, 6),
    }


def joint_arrays(joints: Sequence[Joint], initial: InitialState) -> dict[str, np.ndarray]:
    """The ``joint_*`` rows, over joints and over degrees of freedom."""
    coord_start, dof_start = starts(joints)
    dofs = [dof for joint in joints for dof in joint.dofs]
    arrays = {
        "joint_type": np.array([joint.type for joint in joints], int),
        "joint_parent": np.array([joint.parent for joint in joints], int),
        "joint_child": np.array([joint.child for joint in joints], int),
        "joint_q_start": coord_start[:-1],
        "joint_qd_start": dof_start[:-1],
        "joint_parent_xform": _rows([joint.parent_xform for joint in joints], 7),
        "joint_child_xform": _rows([joint.child_xform for joint in joints], 7),
        "joint_swing_limit": _rows([joint.swing_limit for joint in joints], 2),
        "joint_twist_limit": _rows([joint.twist_limit for joint in joints], 2),
        "joint_angle_limit": np.array([joint.angle_limit for joint in joints], float),
        "joint_q": np.array([x for q in initial.coords for x in q], float),
        "joint_qd": np.array([x for qd in initial.rates for x in qd], float),
        "joint_axis": _rows([dof.axis for dof in dofs], 3),
        "dof_inverse_weight": np.zeros(len(dofs)),
    }
    for name in (
        "armature",
        "damping",
        "stiffness",
        "spring_ref",
        "friction",
        "target_ke",
        "target_kd",
        "target_pos",
        "target_vel",
        "effort_limit",
        "velocity_limit",
        "limit_lower",
        "limit_upper",
        "limit_ke",
        "limit_kd",
        "limit_margin",
    ):
        arrays[f"joint_{name}"] = np.array([getattr(dof, name) for dof in dofs], float)
    for name, width in (
        ("friction_reference", 2),
        ("friction_impedance", 5),
        ("limit_reference", 2),
        ("limit_impedance", 5),
    ):
        arrays[f"joint_{name}"] = _rows([getattr(dof, name) for dof in dofs], width)
    return arrays


def shape_arrays(shapes: Sequence[Shape], meshes: dict[Mesh, int]) -> dict[str, np.ndarray]:
    """The ``shape_*`` rows, of shapes on the world as to what moves them; a mesh that is not yet in ``meshes`` gets the
    next number there."""
    numbers = [-1 if shape.mesh is None else meshes.setdefault(shape.mesh, len(meshes)) for shape in shapes]
    materials = [shape.material.row() for shape in shapes]
    widths = {"shape_reference": 2, "shape_impedance": 5}
    integers = ("shape_combine", "shape_priority", "shape_contact_dim")
    arrays = {}
    for name in DEFAULT_MATERIAL.row():
        values = [row[name] for row in materials]
        arrays[name] = (
            _rows(values, widths[name]) if name in widths else np.array(values, int if name in integers else float)
        )
    return arrays | {
        "shape_type": np.array([shape.type for shape in shapes], int),
        "shape_body": np.array([shape.body for shape in shapes], int),
        "shape_flags": np.array(
            [ShapeFlag.COLLIDES * shape.collides | ShapeFlag.VISIBLE * shape.visible for shape in shapes], int
        ),
        "shape_xform": _rows([shape.xform for shape in shapes], 7),
        "shape_size": _rows([shape.size for shape in shapes], 3),
        "shape_mesh": np.array(numbers, int),
        "shape_radius": np.array([bounding_radius(shape) for shape in shapes], float),
        "shape_inradius": np.array([inscribed_radius(shape) for shape in shapes], float),
        "shape_radius_size": _rows([shape.size for shape in shapes], 3),
        "shape_margin": np.array([shape.margin for shape in shapes], float),
        "shape_gap": np.array([shape.gap for shape in shapes], float),
        "shape_contype": np.array([shape.contype for shape in shapes], np.int64).astype(np.int32),
        "shape_conaffinity": np.array([shape.conaffinity for shape in shapes], np.int64).astype(np.int32),
        "shape_rigid_body": np.full(len(shapes), -1),
        "shape_parent_body": np.full(len(shapes), -1),
        "shape_immovable": np.ones(len(shapes), int),
        "shape_group": np.array([shape.group for shape in shapes], int),
        "shape_color": _rows([shape.color for shape in shapes], 4),
    }


def other_arrays(elements: Elements) -> dict[str, np.ndarray]:
    """The ``site_*`` and ``equality_*`` rows."""
    sites, equalities = elements.sites, elements.equalities
    return {
        "site_body": np.array([site.body for site in sites], int),
        "site_xform": _rows([site.xform for site in sites], 7),
        "equality_type": np.array([e.type for e in equalities], int),
        "equality_object0": np.array([e.object0 for e in equalities], int),
        "equality_object1": np.array([e.object1 for e in equalities], int),
        "equality_xform0": _rows([e.xform0 for e in equalities], 7),
        "equality_xform1": _rows([e.xform1 for e in equalities], 7),
        "equality_data": _rows([e.data for e in equalities], 8),
    }


def contact_pair_arrays(pairs: Sequence[ContactPair]) -> dict[str, np.ndarray]:
    """The ``contact_pair_*`` rows, with the numbers that stand for what a pair leaves to its shapes."""

    def given(name: str, width: int, absent: float) -> np.ndarray:
        values = [getattr(pair, name) for pair in pairs]
        return _rows([(absent,) * width if value is None else value for value in values], width)

    return {
        "contact_pair_shape0": np.array([pair.shape0 for pair in pairs], int),
        "contact_pair_shape1": np.array([pair.shape1 for pair in pairs], int),
        "contact_pair_dim": np.array([pair.contact_dim or 0 for pair in pairs], int),
        "contact_pair_friction": given("friction", 5, -1.0),
        "contact_pair_reference": given("reference", 2, 0.0),
        "contact_pair_friction_reference": given("friction_reference", 2, 0.0),
        "contact_pair_impedance": given("impedance", 5, -1.0),
        "contact_pair_margin": np.array([-1.0 if pair.margin is None else pair.margin for pair in pairs], float),
        "contact_pair_gap": np.array([-1.0 if pair.gap is None else pair.gap for pair in pairs], float),
    }


def bounding_radius(shape: Shape) -> float:
    """Radius of the sphere about the shape's origin that holds it."""
    x, y, z = shape.size
    if shape.type == ShapeType.PLANE:
        return inf
    if shape.type == ShapeType.HEIGHTFIELD:
        return float(np.linalg.norm(shape.mesh.vertices, axis=1).max())
    if shape.type == ShapeType.SDF:  # between its vertices the surface may bulge, within a cell
        return float(np.linalg.norm(shape.mesh.vertices, axis=1).max()) + shape.mesh.field.voxel
    if shape.type == ShapeType.MESH:  # what no triangle uses does not count
        vertices = shape.mesh.vertices[shape.mesh.used]
        return float(np.linalg.norm(vertices * shape.size, axis=1).max())
    if shape.type in MESH_TYPES:
        return float(np.linalg.norm(shape.mesh.vertices * shape.size, axis=1).max())
    if shape.type == ShapeType.BOX:
        return sqrt(x * x + y * y + z * z)
    if shape.type == ShapeType.ELLIPSOID:
        return max(x, y, z)
    if shape.type == ShapeType.CAPSULE:
        return x + y
    return sqrt(x * x + y * y)


def inscribed_radius(shape: Shape) -> float:
    """Radius of the largest ball about the shape's origin that is in it; 0 where that is outside or it is a surface.
    Of a distance field minus half of what it is thick where it is thinnest."""
    x, y, z = shape.size
    if shape.type == ShapeType.PLANE:
        return inf
    if shape.type in (ShapeType.HEIGHTFIELD, ShapeType.MESH) or not shape.collides:
        return 0.0
    if shape.type == ShapeType.SDF:
        return -shape.mesh.field.half_thickness
    if shape.type == ShapeType.CONVEX_HULL:
        # face n . p = d becomes (n / s) . p' = d where p' = s p
        hull = hull_of(shape.mesh)
        height = np.einsum("ij,ij->i", hull.normal, hull.points[hull.corner[hull.face_start[:-1]]])
        return max(float((height / np.linalg.norm(hull.normal / shape.size, axis=1)).min()), 0.0)
    if shape.type == ShapeType.CONE and x > 0:  # the base at -y, and the side from radius x there to the tip at y
        return min(y, x * y / sqrt(4 * y * y + x * x))
    if shape.type in (ShapeType.SPHERE, ShapeType.CAPSULE):
        return x
    return min(x, y) if shape.type == ShapeType.CYLINDER else min(x, y, z)


def _rows(values: Sequence, width: int) -> np.ndarray:
    return np.array(values, float).reshape(len(values), width)
