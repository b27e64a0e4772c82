"""Equalities, loop joints and distances as MJCF's equalities, and as tendons where it has no other way."""

from __future__ import annotations

import math

from simengine.builder.elements import Equality
from simengine.builder.exporters.mjcf.joints import place, wxyz
from simengine.builder.exporters.mjcf.writer import Writer
from simengine.builder.exporters.xml_text import add, finite
from simengine.builder.frames import Pose, compose, quat_conjugate, quat_multiply, quat_rotate, scale
from simengine.builder.frames import add as plus
from simengine.builder.material import DEFAULT_IMPEDANCE, DEFAULT_REFERENCE
from simengine.builder.mechanisms import TendonEquality
from simengine.enums import EqualityType

APART = 1e-9
"""m: points that are closer than this in the reference configuration are one for MuJoCo too."""

HINGE_LENGTH = 0.1
"""m between the two points that hold a hinge's axis."""


class Constraints:
    """Writes the equalities of a scene. ``poses``: of the bodies in the reference configuration, WORLD last."""

    def __init__(self, writer: Writer, poses: list[Pose]):
        self.writer, self.poses = writer, poses

    def add(self, index: int) -> None:
        """Write one equality, or note why it cannot be."""
        equality = self.writer.scene.elements.equalities[index]
        kinds = {
            EqualityType.CONNECT: self._connect,
            EqualityType.LOOP_BALL: self._connect,
            EqualityType.WELD: self._weld,
            EqualityType.LOOP_FIXED: self._weld,
            EqualityType.JOINT: self._joint,
            EqualityType.DISTANCE: self._distance,
            EqualityType.LOOP_REVOLUTE: self._hinge,
        }
        what = f"equality {equality.label!r}"
        if equality.type not in kinds:
            self.writer.notes.lose(equality.type.name.lower().replace("_", " "), what, "MJCF has none: left out")
            return
        if equality.type in (EqualityType.LOOP_BALL, EqualityType.LOOP_FIXED):
            word = "connect" if equality.type == EqualityType.LOOP_BALL else "weld"
            self.writer.notes.rewrite("loop joint", what, f"written as a {word}")
        kinds[equality.type](index, equality, what)

    def add_tendon_equality(self, index: int) -> None:
        """Write an equality of tendons, or note that one of them is not in the file."""
        equality = self.writer.scene.elements.tendon_equalities[index]
        ends = [self.writer.names.get(("tendon", i)) for i in (equality.tendon0, equality.tendon1) if i >= 0]
        if None in ends:
            self.writer.notes.lose("tendon equality", f"tendon equality {equality.label!r}", "its tendon is left out")
            return
        tendons = dict(zip(("tendon1", "tendon2"), ends, strict=False))
        self._element("tendon", equality.label, equality, None, **tendons, polycoef=equality.polynomial)

    def _element(
        self, tag: str, label: str, equality: Equality | TendonEquality, index: int | None, **attributes
    ) -> None:
        name = self.writer.name("equality", label, index)
        active = None if equality.active else False
        softness = {
            "solref": None if tuple(equality.reference) == DEFAULT_REFERENCE else equality.reference,
            "solimp": None if tuple(equality.impedance) == DEFAULT_IMPEDANCE else equality.impedance,
        }
        add(self.writer.section("equality"), tag, name=name, **attributes, active=active, **softness)
        self.writer.notes.report.count("equalities")

    def _bodies(self, equality: Equality) -> dict:
        names = self.writer.names
        return {"body1": names["body", equality.object0], "body2": names["body", equality.object1]}

    def _site(self, body: int, pose: Pose, label: str) -> str:
        """A new site, for what stands at no element of the scene."""
        name = self.writer.name("site", label)
        add(self.writer.nodes[body], "site", name=name, **place(pose))
        return name

    def _connect(self, index: int, equality: Equality, what: str) -> None:
        self._hold_points(equality.label, equality, index, what, equality.xform0[:3], equality.xform1[:3])

    def _hold_points(self, label, equality: Equality, index, what: str, point0, point1) -> None:
        """MuJoCo takes one point, and that of the second body from the reference configuration; or two sites."""
        ends = [
            compose(self.poses[body], (*point, 0.0, 0.0, 0.0, 1.0))[:3]
            for body, point in ((equality.object0, point0), (equality.object1, point1))
        ]
        if math.dist(*ends) <= APART:
            self._element("connect", label, equality, index, **self._bodies(equality), anchor=point0)
            return
        reason = "its points are apart in the reference configuration, so they are sites in the file"
        self.writer.notes.rewrite("connect", what, reason)
        sides = zip((equality.object0, equality.object1), (point0, point1), strict=True)
        sites = [
            self._site(body, (*point, 0.0, 0.0, 0.0, 1.0), f"{label}_{end}") for end, (body, point) in enumerate(sides)
        ]
        self._element("connect", label, equality, index, site1=sites[0], site2=sites[1])

    def _weld(self, index: int, equality: Equality, what: str) -> None:
        """``anchor``: the point held, on the second body; ``relpose``: that point, and its axes, on the first.

        (MuJoCo's documentation calls it the pose of the second body, which it is without an anchor.)
        """
        turn = quat_multiply(equality.xform0[3:], quat_conjugate(equality.xform1[3:]))
        relpose = (*equality.xform0[:3], *wxyz(turn))
        self._element(
            "weld",
            equality.label,
            equality,
            index,
            **self._bodies(equality),
            relpose=relpose,
            anchor=equality.xform1[:3] if any(equality.xform1[:3]) else None,
            torquescale=None if equality.torque_scale == 1.0 else equality.torque_scale,
        )

    def _joint(self, index: int, equality: Equality, what: str) -> None:
        """MuJoCo's polynomial is between the distances of both coordinates from their references."""
        ends = [self.writer.joint_name(j) for j in (equality.object0, equality.object1) if j >= 0]
        coords = self.writer.scene.initial.coords
        shift = coords[equality.object1][0] if equality.object1 >= 0 else 0.0
        coefficients = shifted(equality.data[:5], shift)
        coefficients[0] -= coords[equality.object0][0]
        joints = dict(zip(("joint1", "joint2"), ends, strict=False))
        self._element("joint", equality.label, equality, index, **joints, polycoef=coefficients)

    def _hinge(self, index: int, equality: Equality, what: str) -> None:
        """Two points of the axis."""
        self.writer.notes.rewrite("loop hinge", what, "written as two connects, along its axis")
        for end in (0.0, HINGE_LENGTH):
            arm = scale(equality.data[:3], end)
            points = [plus(x[:3], quat_rotate(x[3:], arm)) for x in (equality.xform0, equality.xform1)]
            label = equality.label if end == 0.0 else f"{equality.label}_axis"
            self._hold_points(label, equality, index if end == 0.0 else None, what, *points)

    def _distance(self, index: int, equality: Equality, what: str) -> None:
        """A tendon between two sites, whose length has a range; where both ends are equal, a tendon equality."""
        lower, upper = equality.data[:2]
        label = equality.label
        bodies, frames = (equality.object0, equality.object1), (equality.xform0, equality.xform1)
        tendon = self.writer.name("tendon", label)
        ends = [self._site(body, x, f"{label}_{end}") for end, (body, x) in enumerate(zip(bodies, frames, strict=True))]
        self.writer.notes.rewrite("distance", what, "written as a tendon between two sites, with a range")
        limits = {"limited": "true", "range": finite(lower, upper)} if lower < upper else {}
        node = add(self.writer.section("tendon"), "spatial", name=tendon, **limits)
        for site in ends:
            add(node, "site", site=site)
        if lower == upper:
            points = [compose(self.poses[body], x)[:3] for body, x in zip(bodies, frames, strict=True)]
            offset = lower - math.dist(*points)
            self._element("tendon", label, equality, index, tendon1=tendon, polycoef=(offset, 0, 0, 0, 0))


def shifted(coefficients, by: float) -> list[float]:
    """Coefficients of p(x + by) in x (Taylor's shift, by Horner's scheme)."""
    result = list(map(float, coefficients))
    for start in range(len(result) - 1):
        for k in range(len(result) - 2, start - 1, -1):
            result[k] += by * result[k + 1]
    return result
