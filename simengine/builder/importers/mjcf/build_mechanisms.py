"""Tendons, actuators, sensors, keyframes and custom data of an MJCF document, kept on a builder."""

from __future__ import annotations

import math

from simengine.builder.frames import IDENTITY, NO_TURN, Pose, compose, inverse, quat_rotate
from simengine.builder.importers.mjcf.build_constraints import Found
from simengine.builder.importers.mjcf.document import (
    Actuator,
    Body,
    Document,
    Joint,
    Keyframe,
    PathStep,
    Sensor,
    Tendon,
)
from simengine.builder.importers.mjcf.keyframes import joint_widths
from simengine.builder.importers.mjcf.softness import Softness
from simengine.builder.importers.report import Notes
from simengine.builder.mechanisms import PathPoint, input_count

UNLIMITED = (-math.inf, math.inf)
NOT_SIMULATED = "on the builder; not simulated yet"


class MechanismBuilder:
    """Adds what is kept to a scratch builder."""

    def __init__(self, scratch, document: Document, found: Found, softness: Softness, notes: Notes, base: Pose):
        self.scratch, self.document, self.found = scratch, document, found
        self.softness, self.notes, self.base = softness, notes, base
        self.colors = {material.name: material.color for material in document.materials}

    def build(self) -> None:
        """All of them, those that are referred to first."""
        for kind, nodes, add in (
            ("tendon", self.document.tendons, self._tendon),
            ("actuator", self.document.actuators, self._actuator),
            ("sensor", self.document.sensors, self._sensor),
        ):
            for node in nodes:
                index = add(node)
                if node.name:
                    self.found.kept[kind, node.name] = index
                self.notes.keep(f"<{node.element.tag}>", node.element, NOT_SIMULATED)
        for equality in self.document.equalities:
            if equality.kind == "tendon":
                self._tendon_equality(equality)
        for keyframe in self.document.keyframes:
            self._keyframe(keyframe)
        self.scratch.custom = (
            *self.document.custom,
            *((each.name, self._members(each)) for each in self.document.tuples),
        )

    def _members(self, each) -> tuple:
        return tuple(
            (kind, member if isinstance(member, str) else member.name, number) for kind, member, number in each.members
        )

    def _place(self, elements: list, index: int, node) -> int:
        self.found.placed.places.setdefault(elements[index].label, node.element)
        return index

    def _tendon(self, tendon: Tendon) -> int:
        limits, friction = (
            self.softness.both(compliance, tendon.element, suffix)
            for compliance, suffix in ((tendon.limit_compliance, "limit"), (tendon.friction_compliance, "friction"))
        )
        color = tendon.color or (self.colors[tendon.material.name] if tendon.material else (0.5, 0.5, 0.5, 1.0))
        fields = {
            "stiffness": tendon.stiffness,
            "damping": tendon.damping,
            "friction": tendon.friction,
            "armature": tendon.armature,
            "spring_length": tendon.spring_length,
            "limit_margin": tendon.margin,
            "limit_reference": limits[0],
            "limit_impedance": limits[1],
            "friction_reference": friction[0],
            "friction_impedance": friction[1],
            "force_limit": tendon.force or UNLIMITED,
            "width": tendon.width,
            "color": color,
        }
        fields["limit_lower"], fields["limit_upper"] = tendon.limits or UNLIMITED
        if tendon.kind == "fixed":
            for step in tendon.path:
                if self.found.node(step.target).kind not in ("hinge", "slide"):
                    raise step.element.error(f"joint '{step.target.name}' has not one coordinate: it must have one")
            fields["terms"] = tuple((self.found.index(step.target), step.number) for step in tendon.path)
            dofs = tuple(self.found.dof(step.target) for step in tendon.path)
            fields["dofs"] = dofs if any(dofs) else ()
        else:
            fields["path"] = tuple(self._point(step) for step in tendon.path)
        return self._place(self.scratch.tendons, self.scratch.add_tendon(label=tendon.name, **fields), tendon)

    def _point(self, step: PathStep) -> PathPoint:
        if step.kind == "pulley":
            return PathPoint("pulley", divisor=step.number)
        if step.kind == "site":
            return PathPoint("site", self.found.index(step.target))
        if self.found.node(step.target).kind not in ("sphere", "cylinder"):
            raise step.element.error(f"geom '{step.target.name}' is no sphere or cylinder: tendons wrap about these")
        side = self.found.index(step.side) if step.side else -1
        return PathPoint("shape", self.found.index(step.target), side)

    def _tendon_equality(self, equality) -> None:
        first = self.found.index(equality.first)
        second = self.found.index(equality.second) if equality.second else -1
        reference, impedance = self.softness.both(equality.compliance, equality.element)
        self.scratch.add_tendon_equality(
            first,
            label=equality.name,
            tendon1=second,
            polynomial=equality.coefficients,
            active=equality.active,
            reference=reference,
            impedance=impedance,
        )
        self.notes.keep("<tendon> equality", equality.element, NOT_SIMULATED)

    def _actuator(self, actuator: Actuator) -> int:
        target = self.found.index(actuator.target)
        control, activation = self._inherited_ranges(actuator)
        fields = {
            "reference": self.found.index(actuator.reference) if actuator.reference else -1,
            "gear": actuator.gear,
            "gain": actuator.gain,
            "bias": actuator.bias,
            "dynamics": actuator.dynamics,
            "activations": actuator.activations,
            "control_range": control or UNLIMITED,
            "force_range": actuator.force or UNLIMITED,
            "activation_range": activation or UNLIMITED,
            "length_range": actuator.length_range,
            "crank_length": actuator.crank_length,
            "early": actuator.early,
            "group": actuator.group,
            "inputs": actuator.inputs,
        }
        if actuator.target.kind == "joint":
            fields["dof"] = self.found.dof(actuator.target)
        index = self.scratch.add_actuator(actuator.transmission, target, label=actuator.name, **fields)
        self._reflected(actuator, target)
        return self._place(self.scratch.actuators, index, actuator)

    def _reflected(self, actuator: Actuator, target: int) -> None:
        """Armature and damping of an actuator count at what it acts on, times its gear squared."""
        if not (actuator.armature or actuator.damping):
            return
        if actuator.target.kind == "tendon":
            parts = [self.scratch.tendons[target]]
        elif actuator.target.kind == "joint":
            joint: Joint = self.found.node(actuator.target)
            width = {"free": 6, "ball": 3}.get(joint.kind, 1)
            first = self.found.dof(actuator.target)
            parts = self.scratch.joints[target].dofs[first : first + width]
        else:
            raise actuator.element.error("armature and damping need a joint or tendon to act on")
        if len(parts) > 1:
            raise actuator.element.error("armature and damping of an actuator need a joint with one coordinate")
        square = actuator.gear[0] ** 2
        parts[0].armature += actuator.armature * square
        parts[0].damping += actuator.damping * square

    def _inherited_ranges(self, actuator: Actuator):
        """Input and activation ranges; inheritrange takes one of them from the target's, about its middle."""
        if not actuator.inherit_range:
            return actuator.control, actuator.activation
        kind, parameters = actuator.gain
        servo = kind == "pid" or (kind == "fixed" and parameters[0] == -actuator.bias[1][1])
        if not servo or actuator.bias[0] != "affine":
            return actuator.control, actuator.activation
        if actuator.target.kind == "joint":
            limits = self.found.node(actuator.target).limits
        else:
            tendon = next((each for each in self.document.tendons if each.name == actuator.target.name), None)
            limits = tendon.limits if tendon else None
        if limits is None:
            raise actuator.element.error("has inheritrange, but what it acts on has no range: give it one")
        middle, radius = 0.5 * (limits[0] + limits[1]), 0.5 * (limits[1] - limits[0]) * actuator.inherit_range
        inherited = (middle - radius, middle + radius)
        if actuator.dynamics[0] == "integrator":
            return actuator.control, inherited
        return inherited, actuator.activation

    def _sensor(self, sensor: Sensor) -> int:
        parameters = sensor.parameters
        fields = {"parameters": parameters}
        if sensor.target is not None:
            kind, reference = sensor.target
            fields |= {"object_kind": kind, "object": self.found.index(reference)}
            if kind == "joint" and self.found.dof(reference):
                fields["parameters"] = (*parameters, ("dof", self.found.dof(reference)))
        if sensor.reference is not None:
            kind, reference = sensor.reference
            fields |= {"reference_kind": kind, "reference": self.found.index(reference)}
        index = self.scratch.add_sensor(sensor.kind, label=sensor.name, **fields)
        return self._place(self.scratch.sensors, index, sensor)

    def _keyframe(self, key: Keyframe) -> None:
        bodies = [body for body in self.document.world.tree() if body is not self.document.world]
        fields = {
            "time": key.time,
            "joints": self._key_joints(key, [joint for body in bodies for joint in body.joints]),
            "actuators": self._key_actuators(key),
            "bodies": self._key_bodies(key, [body for body in bodies if body.mocap]),
        }
        self._place(self.scratch.keyframes, self.scratch.add_keyframe(label=key.name, **fields), key)

    def _key_joints(self, key: Keyframe, joints: list[Joint]) -> tuple:
        """(joint of ours, coordinates, rates), those of several of the file's joints put together."""
        given = {id(joint): rest for joint, *rest in key.joints}
        values: dict[int, tuple[tuple, tuple]] = {}
        for joint in joints:
            index, dof = self.found.placed.joints[id(joint)]
            coords, rates = given.get(id(joint), (None, None))
            coords = coords or self._initial(joint, self.scratch.joints[index].coords()[dof:])
            own = self._coordinates(joint, coords, rates or (0.0,) * joint_widths(joint)[1], key)
            before = values.get(index, ((), ()))
            values[index] = (before[0] + own[0], before[1] + own[1])
        return tuple((index, *own) for index, own in values.items())

    def _initial(self, joint: Joint, coords: tuple) -> tuple:
        """The initial coordinates of a joint, as MuJoCo writes them."""
        if joint.kind not in ("free", "ball"):
            return coords[:1]
        pose = compose(inverse(self.base), coords) if joint.kind == "free" else (*IDENTITY[:3], *coords)
        x, y, z, w = pose[3:]
        return (*pose[:3], w, x, y, z) if joint.kind == "free" else (w, x, y, z)

    def _coordinates(self, joint: Joint, q: tuple, qd: tuple, key: Keyframe) -> tuple[tuple, tuple]:
        """MuJoCo's coordinates and rates of a joint as ours: quaternions x, y, z, w; angular rates in parent axes."""
        if joint.kind not in ("free", "ball"):
            return tuple(q), tuple(qd)
        turn = self._quaternion(q[-4:], key)
        angular = quat_rotate(turn, tuple(qd[-3:]))
        if joint.kind == "ball":
            return turn, angular
        base = self.base[3:]
        return compose(self.base, (*q[:3], *turn)), (*quat_rotate(base, tuple(qd[:3])), *quat_rotate(base, angular))

    def _quaternion(self, given: tuple, key: Keyframe) -> tuple:
        """w, x, y, z as a unit quaternion x, y, z, w; MuJoCo takes no turn for a zero one, and so do we."""
        w, x, y, z = given
        length = math.sqrt(w * w + x * x + y * y + z * z)
        if length < 1e-15:
            self.notes.note("repaired", "quaternion of a keyframe", key.element, "it is zero: taken as no turn")
            return NO_TURN
        return (x / length, y / length, z / length, w / length)

    def _key_actuators(self, key: Keyframe) -> tuple:
        given = {id(actuator): rest for actuator, *rest in key.actuators}
        result = []
        for index, actuator in enumerate(self.document.actuators):
            inputs, states = given.get(id(actuator), (None, None))
            inputs = inputs or (0.0,) * input_count(actuator.gain[0], actuator.inputs)
            states = states or (0.0,) * actuator.activations
            result.append((index, inputs, states))
        return tuple(result)

    def _key_bodies(self, key: Keyframe, mocap: list[Body]) -> tuple:
        given = {id(body): rest for body, *rest in key.bodies}
        result = []
        for body in mocap:
            position, turn = given.get(id(body), (None, None))
            pose = (*(position or body.frame[:3]), *(self._quaternion(turn, key) if turn else body.frame[3:]))
            result.append((self.found.placed.bodies[id(body)], compose(self.base, pose)))
        return tuple(result)
