"""Which bodies of a scene become bodies of an MJCF file, and their inertias.

MuJoCo has no massless bodies that move. One that only carries the joints of the next (as the importer makes them for
joints about different points of one body) is left out: the next body gets the joints of both.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simengine.builder.elements import WORLD
from simengine.builder.exporters.report import ExportNotes
from simengine.builder.exporters.scene import Scene, floats
from simengine.builder.frames import quaternion_of
from simengine.builder.inertia import MassProperties, principal_axes
from simengine.enums import EqualityType, JointType

MOST_DOFS = 6
"""Degrees of freedom that MuJoCo lets one body have."""

SMALL = 1e-14
"""kg and kg m2: above the 1e-15 that MuJoCo asks of what moves, and without weight beside anything real."""


@dataclass
class Carrier:
    """A body of the file: ``body`` of the scene, ``chain``: its joints from its parent in the file to itself."""

    body: int
    parent: int
    chain: list[int]


def plan_bodies(scene: Scene) -> list[Carrier]:
    """The bodies of the file, parents first, each subtree together."""
    joints = scene.elements.joints
    named = _referenced(scene)
    carriers = []
    for index in scene.order:
        body = joints[index].child
        chain = [index]
        while _merges(scene, joints[chain[0]].parent, chain, named):
            chain.insert(0, scene.joint_of[joints[chain[0]].parent])
        carriers.append(Carrier(body, joints[chain[0]].parent, chain))
    left_out = {joints[j].child for carrier in carriers for j in carrier.chain[:-1]}
    return [carrier for carrier in carriers if carrier.body not in left_out]


def _merges(scene: Scene, body: int, chain: list[int], named: set[int]) -> bool:
    """Whether the body above ``chain`` is a massless one that can be left out."""
    if body == WORLD or body in named or len(scene.below[body]) != 1 or scene.masses[body].mass > 0:
        return False
    joints = scene.elements.joints
    above = joints[scene.joint_of[body]]
    both = [above, *(joints[j] for j in chain)]
    if above.type == JointType.FIXED or joints[chain[0]].type == JointType.FIXED or any(map(floats, both)):
        return False
    return sum(len(joint.dofs) for joint in both) <= MOST_DOFS


def _referenced(scene: Scene) -> set[int]:
    """Bodies that something else than a joint refers to; they must be in the file."""
    elements = scene.elements
    named = {i for i, body in enumerate(elements.bodies) if body.kinematic or body.gravity_compensation}
    named |= {element.body for element in (*elements.shapes, *elements.sites, *elements.deformables)}
    for equality in elements.equalities:
        if equality.type != EqualityType.JOINT:
            named |= {equality.object0, equality.object1}

    def note(kind: str, index: int) -> int:
        if kind == "body":
            named.add(index)
        return index

    for kept in (elements.actuators, elements.sensors, elements.keyframes):
        for element in kept:
            element.renumber(note)
    return named


def note_merged(carriers: list[Carrier], scene: Scene, notes: ExportNotes) -> None:
    """Say which bodies are left out."""
    bodies, joints = scene.elements.bodies, scene.elements.joints
    for carrier in carriers:
        for index in carrier.chain[:-1]:
            label = bodies[joints[index].child].label
            reason = f"it only carries joints: they are joints of {bodies[carrier.body].label!r} in the file"
            notes.rewrite("massless body", f"body {label!r}", reason)


def needs_mass(carrier: Carrier, scene: Scene) -> bool:
    """Whether MuJoCo asks for a mass and an inertia of the body: it has a joint, and no body fixed to it has them."""
    joints = scene.elements.joints
    if scene.elements.bodies[carrier.body].kinematic:
        return False
    if all(joints[j].type == JointType.FIXED for j in carrier.chain):
        return False
    waiting = _fixed_below(scene, carrier.body)
    while waiting:
        body = waiting.pop()
        own = scene.masses[body]
        if own.mass >= SMALL and np.linalg.eigvalsh(own.inertia)[0] >= SMALL:
            return False
        waiting += _fixed_below(scene, body)
    return True


def _fixed_below(scene: Scene, body: int) -> list[int]:
    below = (scene.elements.joints[j] for j in scene.below.get(body, []))
    return [joint.child for joint in below if joint.type == JointType.FIXED]


def inertial(own: MassProperties, needed: bool, label: str, notes: ExportNotes) -> dict:
    """Attributes of ``<inertial>``, principal moments and axes, but for what MuJoCo refuses (noted).

    ``fullinertia`` is not used: MuJoCo's own way to the principal axes stops at 1e-6. It refuses masses and inertias of
    moving bodies below 1e-15, and a principal moment above the sum of the others.
    """
    what, mass = f"body {label!r}", own.mass
    moments, axes = principal_axes(own.inertia)
    least, _, most = np.sort(moments)
    if needed and (mass < SMALL or least < SMALL):
        notes.lose("zero mass or inertia", what, f"it moves: MuJoCo asks for more, {SMALL:g} was written")
        mass, moments = max(mass, SMALL), moments.clip(SMALL)
    excess = 2.0 * most - moments.sum()
    if excess > 1e-9 * most:
        reason = f"moments {', '.join(f'{x:.4g}' for x in moments)} are those of no body: made equal, as MuJoCo asks"
        notes.lose("inertia", what, reason)
        moments = np.full(3, moments.mean())
    elif excess > -1e-12 * most and most > 0:  # a flat body: MuJoCo's round-off must not refuse it
        moments = np.where(moments == most, moments, moments + 1e-12 * most)
    x, y, z, w = quaternion_of(axes)
    quat = None if w == 1.0 else (w, x, y, z)
    return {"pos": own.com, "mass": mass, "quat": quat, "diaginertia": moments}
