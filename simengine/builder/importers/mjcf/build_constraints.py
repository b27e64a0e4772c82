"""Excludes, contact pairs and equalities of an MJCF document in a builder."""

from __future__ import annotations

import numpy as np

from simengine.builder.elements import WORLD
from simengine.builder.frames import IDENTITY, NO_TURN, Pose, apply, compose, inverse
from simengine.builder.importers.mjcf.build_tree import Placed
from simengine.builder.importers.mjcf.document import WORLD_NAME, Document, Equality, Node, Pair, Reference
from simengine.builder.importers.mjcf.masses import Weighed
from simengine.builder.importers.mjcf.softness import Softness
from simengine.builder.importers.report import Notes


class Found:
    """Elements of the document by name, and where they are in the builder."""

    def __init__(self, document: Document, placed: Placed):
        self.placed = placed
        self.nodes: dict[tuple[str, str], Node] = {("body", WORLD_NAME): document.world}
        self.kept: dict[tuple[str, str], int] = {}  # tendons, actuators and sensors, when they are added
        for body in document.world.tree():
            for kind, nodes in (("body", [body]), ("joint", body.joints), ("geom", body.geoms), ("site", body.sites)):
                for node in nodes:
                    if node.name:
                        self.nodes[kind, node.name] = node

    def node(self, reference: Reference) -> Node:
        """The element itself."""
        return self.nodes[reference.kind, reference.name]

    def index(self, reference: Reference) -> int:
        """Its index in the builder; of a joint that of the joint of ours that it is part of."""
        if (reference.kind, reference.name) in self.kept:
            return self.kept[reference.kind, reference.name]
        node = self.node(reference)
        placed = self.placed
        if reference.kind == "joint":
            return placed.joints[id(node)][0]
        return {"body": placed.bodies, "geom": placed.shapes, "site": placed.sites}[reference.kind][id(node)]

    def dof(self, reference: Reference) -> int:
        """Which degree of freedom of a joint of ours a joint of the file is."""
        return self.placed.joints[id(self.node(reference))][1]


class ConstraintBuilder:
    """Adds the constraints of a document to a scratch builder."""

    def __init__(self, scratch, document: Document, found: Found, softness: Softness, notes: Notes, base: Pose):
        self.scratch, self.document, self.found = scratch, document, found
        self.softness, self.notes, self.base = softness, notes, base
        self.poses = {id(document.world): IDENTITY}  # of the file's bodies as it poses them, by id
        for body in document.world.tree():
            for child in body.bodies:
                self.poses[id(child)] = compose(self.poses[id(body)], child.frame)

    def exclude(self, weighed: Weighed) -> None:
        """Filter all shapes of two bodies from each other."""
        for exclude in self.document.excludes:
            first, second = (self.found.node(reference) for reference in exclude.bodies)
            if first is second:
                raise exclude.element.error("excludes a body from itself: name two")
            shapes = self.found.placed.shapes
            for one in weighed.solids[id(first)]:
                for other in weighed.solids[id(second)]:
                    self.scratch.add_shape_collision_filter_pair(shapes[id(one.geom)], shapes[id(other.geom)])

    def pairs(self) -> None:
        """Explicit pairs. Of two with the same geoms, which in MuJoCo push together, the first is taken."""
        seen = set()
        for pair in self.document.pairs:
            first, second = (self.found.index(reference) for reference in pair.geoms)
            if first == second:
                raise pair.element.error("names one geom twice: name two")
            if frozenset((first, second)) in seen:
                self.notes.ignore("<pair>", pair.element, "another pair has the same two geoms")
                continue
            seen.add(frozenset((first, second)))
            index = self.scratch.add_contact_pair(first, second, label=pair.name, **self._pair(pair))
            self._place(self.scratch.contact_pairs[index].label, pair)

    def _pair(self, pair: Pair) -> dict:
        reference, element = self.softness.reference, pair.element
        friction = pair.friction_reference
        if friction == (0.0, 0.0):  # MuJoCo's sign that it is as the normal direction's
            friction = None
        if pair.margin < 0.0:
            self.notes.note("warned", "margin", element, f"{pair.margin:g} is negative: taken as 0")
        return {
            "contact_dim": pair.dimension,
            "friction": pair.friction,
            "reference": reference(pair.reference, element, "solref"),
            "friction_reference": friction and reference(friction, element, "solreffriction"),
            "impedance": self.softness.impedance(pair.impedance, element, "solimp"),
            "margin": max(pair.margin, 0.0),
            "gap": pair.gap,
        }

    def _place(self, label: str, node: Node) -> None:
        self.found.placed.places.setdefault(label, node.element)

    def equalities(self) -> None:
        """connect, weld and joint; those of tendons come with the tendons."""
        for equality in self.document.equalities:
            if equality.kind != "tendon":
                index = self._equality(equality)
                added = self.scratch.equalities[index]
                added.active = equality.active
                added.reference, added.impedance = self.softness.both(equality.compliance, equality.element)
                added.torque_scale = equality.torque_scale
                self._place(added.label, equality)

    def _equality(self, equality: Equality) -> int:
        found, first, second = self.found, equality.first, equality.second
        if equality.kind == "joint":
            for reference in filter(None, (first, second)):
                if found.node(reference).kind not in ("hinge", "slide"):
                    raise equality.element.error(f"joint '{reference.name}' has not one coordinate: it must have one")
            joints = (found.index(first), found.index(second) if second else WORLD)
            return self.scratch.add_equality_joint(*joints, self._polynomial(equality), label=equality.name)
        if first.kind == "site":
            sites = [self.scratch.sites[found.index(reference)] for reference in (first, second)]
            ends, frames = [site.body for site in sites], [site.xform for site in sites]
        else:
            ends = [found.index(first), found.index(second)]
            frames = [
                compose(self.base, frame) if end == WORLD else frame
                for end, frame in zip(ends, self._body_frames(equality), strict=True)
            ]
        if equality.kind == "weld":
            return self.scratch.add_equality_weld(*ends, *frames, label=equality.name)
        return self.scratch.add_equality_connect(*ends, *(frame[:3] for frame in frames), label=equality.name)

    def _polynomial(self, equality: Equality) -> tuple[float, ...]:
        """The polynomial in the coordinates: MuJoCo's is in their differences from ``ref``.

        q0 = r0 + sum a_k (q1 - r1)^k, multiplied out.
        """
        first = self.found.node(equality.first).reference
        second = self.found.node(equality.second).reference if equality.second else 0.0
        if equality.second is None:
            return (first + equality.coefficients[0],)
        shifted = np.polynomial.Polynomial(equality.coefficients)(np.polynomial.Polynomial((-second, 1.0)))
        result = [*map(float, shifted.coef), *(0.0,) * 5][:5]
        result[0] += first
        return tuple(result)

    def _body_frames(self, equality: Equality) -> tuple[Pose, Pose]:
        """The frames on the two bodies that come together: where they are as the file poses them, or by relpose."""
        first, second = (self.poses[id(self.found.node(end))] for end in (equality.first, equality.second))
        anchor = (*equality.anchor, *NO_TURN)
        if equality.kind == "connect":  # the anchor is on the first body
            return anchor, (*apply(inverse(second), apply(first, equality.anchor)), *NO_TURN)
        if equality.pose is not None:
            return equality.pose, anchor
        return compose(inverse(first), compose(second, anchor)), anchor
