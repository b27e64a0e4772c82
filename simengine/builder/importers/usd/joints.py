"""Joints of a stage as plain values: frames on bodies, degrees of freedom with limits, drives and starts."""

from __future__ import annotations

import math

import numpy as np

from simengine.builder.frames import Pose, compose, inverse, quaternion_of, rotation_matrix
from simengine.builder.importers.attributes import NO_EQUALITY
from simengine.builder.importers.usd.bodies import BodyReader
from simengine.builder.importers.usd.document import ANGULAR, LINEAR, Axis, Joint
from simengine.builder.importers.usd.frames import rotation_part
from simengine.builder.importers.usd.geometry import TURNS
from simengine.builder.importers.usd.names import labels_of
from simengine.builder.importers.usd.reading import Reader, applied
from simengine.builder.importers.usd.softness import impedance_of, reference_of
from simengine.builder.material import DEFAULT_IMPEDANCE, DEFAULT_REFERENCE

UNIT = {"X": (1.0, 0.0, 0.0), "Y": (0.0, 1.0, 0.0), "Z": (0.0, 0.0, 1.0)}
HALF_TURN = math.pi * (1.0 - 1e-6)  # limits of a whole turn leave a rotation free
SIX = tuple((f"{word}{axis}", kind, axis) for word, kind in (("trans", LINEAR), ("rot", ANGULAR)) for axis in "XYZ")
"""Names of the degrees of freedom of a generic joint, the linear ones first."""

KINDS = {
    "PhysicsFixedJoint": "fixed",
    "PhysicsRevoluteJoint": "revolute",
    "PhysicsPrismaticJoint": "prismatic",
    "PhysicsSphericalJoint": "spherical",
    "PhysicsDistanceJoint": "distance",
    "PhysicsJoint": "generic",
}


class JointReader:
    """Reads joint prims; bodies are known already. ``velocity_limits``: whether the file's are used."""

    def __init__(self, reader: Reader, bodies: BodyReader, velocity_limits: bool, degrees: bool):
        self.reader, self.bodies, self.velocity_limits = reader, bodies, velocity_limits
        self.mjc_angle = math.pi / 180.0 if degrees else 1.0

    def read_all(self, stage, prims: list) -> dict[str, Joint]:
        """The joints by path, in the order of ``prims``; those that join nothing, or are off, are noted."""
        labels = labels_of(prims)
        joints = {}
        for prim in prims:
            joint = self._read(stage, prim, labels[str(prim.GetPath())])
            if joint is not None:
                joints[joint.path] = joint
        return joints

    def _read(self, stage, prim, label: str) -> Joint | None:
        reader, place = self.reader, self.reader.place(prim)
        type_name = str(prim.GetTypeName())
        equality = _equality(prim)
        if not reader.flag(prim, "physics:jointEnabled", True):
            reader.notes.ignore("joint", place, "jointEnabled is false")
            return None
        if type_name not in KINDS:
            reader.notes.ignore(type_name, place, "a type of joint that is not known here")
            return None
        ends = [self._end(stage, prim, number) for number in (0, 1)]
        (body0, frame0, static0), (body1, frame1, static1) = ends
        if body0 == body1:
            what = f"both of its ends are on {body0}" if body0 else "neither of its ends is on a body"
            reader.notes.ignore("joint", place, what)
            return None
        joint = Joint(
            str(prim.GetPath()),
            label,
            KINDS[type_name],
            body0,
            body1,
            frame0,
            frame1,
            excluded=reader.flag(prim, "physics:excludeFromArticulation", False) or bool(equality),
            collides=reader.flag(prim, "physics:collisionEnabled", False),
            equality=equality,
            statics=tuple(path for path in (static0, static1) if path),
        )
        if joint.excluded:
            joint.softness = equality_softness(self.reader, prim)
        self._fill(prim, joint)
        self._note_breaking(prim)
        return joint

    def _end(self, stage, prim, number: int) -> tuple[str, Pose, str]:
        """Body, joint frame on it (in the world where there is none), and the static prim that it is fixed to."""
        reader = self.reader
        name = f"physics:body{number}"
        targets = reader.targets(prim, name)
        if len(targets) > 1:
            raise reader.place(prim, name).error(f"leads to {len(targets)} prims; it must lead to one")
        position = reader.vector(prim, f"physics:localPos{number}", 3)
        turn = reader.quaternion(prim, f"physics:localRot{number}") or (0.0, 0.0, 0.0, 1.0)
        point = np.zeros(3) if position is None else position / reader.units.metre
        matrix, shift = self.bodies.frames.world()
        body, static = "", ""
        if targets:
            target = stage.GetPrimAtPath(targets[0])
            if not target:
                raise reader.place(prim, name).error(f"leads to {targets[0]}, where there is no prim")
            matrix, shift = self.bodies.frames.affine(target)
            body = self.bodies.body_of(target)
            static = "" if body else str(targets[0])
            if not body and "PhysicsRigidBodyAPI" in applied(target):
                reason = (
                    f"{targets[0]} is a body that is not read (see prim_path, rigidBodyEnabled): fixed to the world"
                )
                reader.notes.note("warned", "joint", reader.place(prim, name), reason)
        rotation = rotation_part(matrix) @ rotation_matrix(turn)
        frame = (*(matrix @ point + shift).tolist(), *quaternion_of(rotation))
        if body:
            frame = compose(inverse(self.bodies.scene.bodies[body].pose), frame)
        return body, frame, static

    def _fill(self, prim, joint: Joint) -> None:
        """The degrees of freedom by the type of the joint."""
        kind, joint.kind = joint.kind, "axes"
        if kind in ("revolute", "prismatic"):
            turns = kind == "revolute"
            axis = self._axis(prim, "angular" if turns else "linear", ANGULAR if turns else LINEAR, self._token(prim))
            axis.lower = self.reader.number(prim, "physics:lowerLimit", -math.inf, turns, infinite=True)
            axis.upper = self.reader.number(prim, "physics:upperLimit", math.inf, turns, infinite=True)
            self._check_range(prim, axis)
            joint.axes.append(axis)
        elif kind == "generic":
            self._fill_generic(prim, joint)
        elif kind == "spherical":
            self._fill_spherical(prim, joint)
        elif kind == "distance":
            lower, upper = (
                self.reader.number(prim, f"physics:{end}Distance", -1.0, infinite=True) for end in ("min", "max")
            )
            joint.kind, joint.distance = "distance", (max(lower, 0.0), upper if upper >= 0.0 else math.inf)
            if joint.distance[0] > joint.distance[1]:
                raise self.reader.place(prim).error(f"its distances are {lower:g} to {upper:g}: swap them")
        else:
            joint.kind = "fixed"

    def _fill_generic(self, prim, joint: Joint) -> None:
        """Six axes, of which those stay whose limits leave them free to move."""
        for name, kind, letter in SIX:
            lower = self.reader.number(prim, f"limit:{name}:physics:low", -math.inf, kind == ANGULAR, infinite=True)
            upper = self.reader.number(prim, f"limit:{name}:physics:high", math.inf, kind == ANGULAR, infinite=True)
            if lower > upper or lower == upper == 0.0:  # both are ways to lock an axis
                continue
            axis = self._axis(prim, name, kind, letter)
            axis.lower, axis.upper = lower, upper
            joint.axes.append(axis)
        if prim.GetAttribute("limit:distance:physics:high") or prim.GetAttribute("limit:distance:physics:low"):
            self.reader.notes.ignore(
                "distance limit", self.reader.place(prim), "of a generic joint: use a DistanceJoint"
            )
        turning = [axis for axis in joint.axes if axis.kind == ANGULAR]
        if not joint.axes:
            joint.kind = "fixed"
        elif len(turning) == 3 and all(axis.lower <= -HALF_TURN and axis.upper >= HALF_TURN for axis in turning):
            joint.kind = "ball"

    def _fill_spherical(self, prim, joint: Joint) -> None:
        """A ball whose twist is about X of its frame: the frames are turned so that X lies along the joint's axis.

        coneAngle0 bounds the tilt of the axis towards the next axis, a turn about the one after; coneAngle1 the other.
        """
        letter = self._token(prim)
        before = {"X": "Z", "Y": "X", "Z": "Y"}[letter]
        turn = (0.0, 0.0, 0.0, *quaternion_of(TURNS[before]))  # leads X to the axis after that: the joint's own
        joint.frame0, joint.frame1 = compose(joint.frame0, turn), compose(joint.frame1, turn)
        cones = [self.reader.number(prim, f"physics:coneAngle{i}Limit", -1.0, infinite=True) for i in (0, 1)]
        towards_next, towards_second = (cone if cone >= 0.0 else math.inf for cone in cones)
        if 0.0 in (towards_next, towards_second):
            reason = "a cone of no angle: taken as 0.001 rad"
            self.reader.notes.note("repaired", "cone limit", self.reader.place(prim), reason)
        joint.kind = "ball"
        joint.cone = (max(towards_second, 0.001), max(towards_next, 0.001))
        joint.axes = [self._axis(prim, f"rot{letter}", ANGULAR, letter) for letter in "XYZ"]

    def _token(self, prim) -> str:
        letter = self.reader.word(prim, "physics:axis", "X")
        if letter not in UNIT:
            raise self.reader.place(prim, "physics:axis").error(f"is {letter!r}; it must be X, Y or Z")
        return letter

    def _axis(self, prim, name: str, kind: str, letter: str) -> Axis:
        """One degree of freedom with all but its limits."""
        axis = Axis(kind, name, UNIT[letter])
        turns = kind == ANGULAR
        self._drive(prim, axis, turns)
        self._resistance(prim, axis, turns)
        self._limit_springs(prim, axis, turns)
        reader = self.reader
        if reader.raw(prim, f"state:{name}:physics:position") is not None:
            axis.position = reader.number(prim, f"state:{name}:physics:position", 0.0, turns)
        if reader.raw(prim, f"state:{name}:physics:velocity") is not None:
            axis.rate = reader.number(prim, f"state:{name}:physics:velocity", 0.0, turns)
        return axis

    def _drive(self, prim, axis: Axis, turns: bool) -> None:
        """Target, gains and limit of the drive; gains of an acceleration drive are for each kg or kg m2."""
        reader, prefix = self.reader, f"drive:{axis.name}:physics"
        kind = reader.word(prim, f"{prefix}:type", "force")
        if kind not in ("force", "acceleration"):
            raise reader.place(prim, f"{prefix}:type").error(f"is {kind!r}; it must be force or acceleration")
        axis.accelerates = kind == "acceleration"
        gains = {
            "target_ke": reader.least(prim, f"{prefix}:stiffness", 0.0, turns),
            "target_kd": reader.least(prim, f"{prefix}:damping", 0.0, turns),
        }
        if axis.accelerates:
            factor = reader.units.factor("force/distance or torque/degree", turns)
            wanted = reader.units.factor("1/s2 or 1/(degree s2)", turns)
            gains = {name: value * wanted / factor for name, value in gains.items()}
        values = gains | {
            "target_pos": reader.number(prim, f"{prefix}:targetPosition", 0.0, turns),
            "target_vel": reader.number(prim, f"{prefix}:targetVelocity", 0.0, turns),
            "effort_limit": reader.least(prim, f"{prefix}:maxForce", math.inf, turns, infinite=True),
        }
        if any(reader.raw(prim, f"{prefix}:{name}") is not None for name in ("stiffness", "damping", "maxForce")):
            axis.dof |= values
        else:
            axis.dof |= {
                name: value for name, value in values.items() if name in ("target_pos", "target_vel") and value
            }

    def _resistance(self, prim, axis: Axis, turns: bool) -> None:
        """Armature, damping, friction, springs and largest speed: Newton's attribute, else PhysX's, else MuJoCo's."""
        names = {
            "armature": ("newton:armature", "physxJointAxis:*:armature", "physxJoint:armature", "mjc:armature"),
            "damping": ("newton:damping", "physxJointAxis:*:viscousFrictionCoefficient", "mjc:damping"),
            "friction": ("newton:friction", "physxJointAxis:*:dynamicFrictionEffort", "mjc:frictionloss"),
            "stiffness": ("mjc:stiffness",),
        }
        for field, attributes in names.items():
            for name in (name.replace("*", axis.name) for name in attributes):
                if self.reader.raw(prim, name) is not None:
                    axis.dof.setdefault(field, self.reader.least(prim, name, 0.0, turns))
        angle = self.mjc_angle if turns else 1.0
        if (rest := self.reader.number(prim, "mjc:springref", 0.0, turns)) and axis.dof.get("stiffness"):
            axis.dof["spring_ref"] = rest * angle
        for name in (
            f"physxJointAxis:{axis.name}:maxJointVelocity",
            "newton:velocityLimit",
            "physxJoint:maxJointVelocity",
        ):
            speed = self.reader.least(prim, name, math.inf, turns, infinite=True)
            if self.velocity_limits and 0.0 < speed < math.inf:
                axis.dof.setdefault("velocity_limit", speed)

    def _limit_springs(self, prim, axis: Axis, turns: bool) -> None:
        """How limits give way: springs of Newton or PhysX, else MuJoCo's time constant and impedance."""
        reader = self.reader
        physx = tuple(f"physxLimit:{axis.name}:{what}" for what in ("stiffness", "damping"))
        for stiff, damp in (("newton:limitStiffness", "newton:limitDamping"), physx):
            ke = reader.least(prim, stiff, 0.0, turns, infinite=True)
            kd = reader.least(prim, damp, 0.0, turns)
            if 0.0 < ke < math.inf:
                axis.dof |= {"limit_ke": ke, "limit_kd": kd}
                return
            if kd:
                reason = "it acts only where the limit has a stiffness"
                reader.notes.ignore("limit damping", reader.place(prim, damp), reason)
        for what in ("limit", "friction"):
            if (value := reference_of(reader, prim, f"mjc:solref{what}")) is not None:
                axis.dof[f"{what}_reference"] = value
            if (value := impedance_of(reader, prim, f"mjc:solimp{what}")) is not None:
                axis.dof[f"{what}_impedance"] = value
        if margin := reader.least(prim, "mjc:margin", 0.0, turns):
            axis.dof["limit_margin"] = margin * (self.mjc_angle if turns else 1.0)

    def _check_range(self, prim, axis: Axis) -> None:
        if axis.lower > axis.upper:
            raise self.reader.place(prim, "physics:lowerLimit").error(
                f"its limits, {self.reader.raw(prim, 'physics:lowerLimit')} and "
                f"{self.reader.raw(prim, 'physics:upperLimit')}, leave nothing between them: swap them"
            )
        if axis.lower == math.inf or axis.upper == -math.inf:
            raise self.reader.place(prim, "physics:lowerLimit").error("its limits hold no coordinate")

    def _note_breaking(self, prim) -> None:
        """A joint that breaks never does here; one that would never break is as it should be."""
        for name in ("physics:breakForce", "physics:breakTorque"):
            if math.isfinite(value := self.reader.number(prim, name, math.inf, infinite=True)):
                self.reader.notes.ignore(name, self.reader.place(prim), f"joints do not break (at {value:g})")


def equality_softness(reader: Reader, prim) -> dict:
    """What MjcEqualityAPI says of a constraint, as fields of the builder's equality."""
    result = {}
    if (reference := reference_of(reader, prim, "mjc:solref")) is not None:
        result["reference"] = reference
    if (impedance := impedance_of(reader, prim, "mjc:solimp")) is not None:
        result["impedance"] = impedance
    if reader.raw(prim, "mjc:torqueScale") is not None:
        result["torque_scale"] = reader.number(prim, "mjc:torqueScale", 1.0)
    defaults = {"reference": DEFAULT_REFERENCE, "impedance": DEFAULT_IMPEDANCE, "torque_scale": 1.0}
    if any(value != defaults[name] for name, value in result.items()):
        reader.notes.keep("softness of an equality", reader.place(prim), NO_EQUALITY)
    return result


def _equality(prim) -> str:
    schemas = applied(prim)
    for kind in ("Connect", "Weld"):
        if f"MjcEquality{kind}API" in schemas:
            return kind.lower()
    return ""
