"""The topology of one world: links in order, degrees of freedom along them, shape pairs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from simengine.builder.elements import WORLD, Body, Joint, Shape
from simengine.builder.pairs import PairTable
from simengine.enums import DENSE_DOFS, DofKind, JointType, LinkFlag
from simengine.errors import ModelError, shortened

FLOATING = (JointType.FREE, JointType.DISTANCE)
MASK_BITS = 32


def link_order(bodies: Sequence[Body], joints: Sequence[Joint]) -> list[int]:
    """Joints in the order of the links that they move: depth first, siblings in the order of the joints.

    Where the joints already stand so, their order is kept. Every tree and subtree is a range of links. Raises
    ModelError naming the bodies of a cycle, and of a body that two joints move.
    """
    below: dict[int, list[int]] = {}
    moved_by: dict[int, int] = {}
    for j, joint in enumerate(joints):
        if joint.child in moved_by:
            first = joints[moved_by[joint.child]].label
            raise ModelError(
                f"is the child of two joints, {first!r} and {joint.label!r}; make one of them a loop joint "
                "(add_loop_joint_*) or an equality (add_equality_*)",
                element=f"body {bodies[joint.child].label!r}",
            )
        moved_by[joint.child] = j
        below.setdefault(joint.parent, []).append(j)
    order = []
    waiting = below.get(WORLD, [])[::-1]
    while waiting:
        j = waiting.pop()
        order.append(j)
        waiting.extend(below.get(joints[j].child, [])[::-1])
    if len(order) < len(joints):
        raise ModelError(_describe_cycle(bodies, joints, set(range(len(joints))) - set(order), moved_by))
    return order


def _describe_cycle(bodies, joints, unreached: set[int], moved_by: dict[int, int]) -> str:
    seen: list[int] = []
    j = min(unreached)
    while j not in seen:
        seen.append(j)
        j = moved_by[joints[j].parent]
    cycle = seen[seen.index(j) :][::-1]
    names = " -> ".join(repr(bodies[joints[j].child].label) for j in (*cycle, cycle[0]))
    labels = shortened(repr(joints[j].label) for j in cycle)
    return f"joints {labels} form a cycle: {names}; make one of them a loop joint (add_loop_joint_*)"


def build_topology(
    bodies: Sequence[Body], joints: Sequence[Joint], shapes: Sequence[Shape], pairs: PairTable
) -> dict[str, np.ndarray]:
    """The rows of owner ``topology`` for one world, without ``group_world``.

    ``joints``: one for each body. ``shapes``: the world's own, then the shared static ones. Link 0 is the world.
    """
    order = link_order(bodies, joints)
    link_of_body = {WORLD: 0} | {joints[j].child: i for i, j in enumerate(order, 1)}
    coord_start, dof_start = starts(joints)
    links = {
        name: [value]
        for name, value in dict(
            link_parent=-1,
            link_body=-1,
            link_joint=-1,
            link_dof_start=0,
            link_dof_count=0,
            link_root=0,
            link_depth=0,
            link_flags=0,
        ).items()
    }
    dofs: dict[str, list[int]] = {name: [] for name in ("dof_link", "dof_kind", "dof_user", "dof_coord", "dof_parent")}
    last_dof = [-1]  # of each link: the last dof on the way from the root to it, itself included
    for link, j in enumerate(order, 1):
        joint = joints[j]
        parent = link_of_body[joint.parent]
        root = link if parent == 0 else links["link_root"][parent]
        links["link_parent"].append(parent)
        links["link_body"].append(joint.child)
        links["link_joint"].append(j)
        links["link_dof_start"].append(len(dofs["dof_link"]))
        links["link_dof_count"].append(len(joint.dofs))
        links["link_root"].append(root)
        links["link_depth"].append(links["link_depth"][parent] + 1)
        kinematic = LinkFlag.KINEMATIC if bodies[joint.child].kinematic else 0
        links["link_flags"].append(kinematic | (LinkFlag.FLOATING if joint.type in FLOATING else 0))
        last_dof.append(last_dof[parent])
        for i, dof in enumerate(joint.dofs):
            in_ball = dof.kind >= DofKind.BALL_X
            dofs["dof_link"].append(link)
            dofs["dof_kind"].append(dof.kind)
            dofs["dof_user"].append(dof_start[j] + i)
            dofs["dof_coord"].append(coord_start[j] + i - (dof.kind - DofKind.BALL_X if in_ball else 0))
            dofs["dof_parent"].append(last_dof[link])
            last_dof[link] = len(dofs["dof_link"]) - 1
    parents_used = set(links["link_parent"])
    for link, j in enumerate(order, 1):
        if joints[j].type in FLOATING and joints[j].parent == WORLD and link not in parents_used:
            links["link_flags"][link] |= LinkFlag.SINGLE_FREE_BODY
    table = {name: np.array(values, np.int32) for name, values in (links | dofs).items()}
    table |= dof_trees(table["dof_parent"])
    dense = len(table["dof_parent"]) <= DENSE_DOFS
    table["dof_mask"] = path_masks(table["dof_parent"]) if dense else np.zeros(0, np.int32)
    table["shape_link"] = np.array([link_of_body[shape.body] for shape in shapes], np.int32)
    return table | pairs.arrays()


def starts(joints: Sequence[Joint]) -> tuple[np.ndarray, np.ndarray]:
    """First coordinate and first dof of each joint in the user's order, and the totals: two arrays (joints + 1,)."""
    coords = np.cumsum([0, *(joint.coord_count for joint in joints)])
    dofs = np.cumsum([0, *(len(joint.dofs) for joint in joints)])
    return coords, dofs


def dof_trees(dof_parent: np.ndarray) -> dict[str, np.ndarray]:
    """``dof_depth``, ``dof_tree_start`` and ``dof_tree_end`` of dofs that are numbered depth first."""
    depth, start = np.zeros_like(dof_parent), np.zeros_like(dof_parent)
    for j, parent in enumerate(dof_parent):
        depth[j] = 0 if parent < 0 else depth[parent] + 1
        start[j] = j if parent < 0 else start[parent]
    end = np.searchsorted(start, start, side="right").astype(dof_parent.dtype)
    return {"dof_depth": depth, "dof_tree_start": start, "dof_tree_end": end}


def path_masks(dof_parent: np.ndarray) -> np.ndarray:
    """Rows of ceil(dofs / 32) words, flat: bit i of row j says that dof i is j or lies between j and the root."""
    count = len(dof_parent)
    words = -(-count // MASK_BITS)
    masks = np.zeros((count, words), np.uint32)
    for j, parent in enumerate(dof_parent):
        if parent >= 0:
            masks[j] = masks[parent]
        masks[j, j // MASK_BITS] |= np.uint32(1 << (j % MASK_BITS))
    return masks.reshape(-1).view(np.int32)
