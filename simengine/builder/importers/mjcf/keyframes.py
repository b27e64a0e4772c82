"""<key>: states of a model, each number with the joint, actuator or mocap body that it belongs to."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from simengine.builder.importers.mjcf.document import Body, Document, Joint, Keyframe, Node
from simengine.builder.importers.mjcf.values import Values
from simengine.builder.mechanisms import input_count


@dataclass
class KeyText:
    """A <key> as written: lists of numbers in MuJoCo's order."""

    values: Values

    def resolve(self, document: Document) -> Keyframe:
        """The keyframe; refused where a list has another length than the model takes. What it leaves out is None."""
        values = self.values
        bodies = [body for body in document.world.tree() if body is not document.world]
        joints = [joint for body in bodies for joint in body.joints]
        mocap = [body for body in bodies if body.mocap]
        coordinates = self._split("qpos", [joint_widths(joint)[0] for joint in joints])
        rates = self._split("qvel", [joint_widths(joint)[1] for joint in joints])
        inputs = self._split(
            "ctrl", [input_count(actuator.gain[0], actuator.inputs) for actuator in document.actuators]
        )
        states = self._split("act", [actuator.activations for actuator in document.actuators])
        positions = self._split("mpos", [3] * len(mocap))
        turns = self._split("mquat", [4] * len(mocap))
        return Keyframe(
            values.element,
            values.name("name"),
            values.number("time", 0.0),
            list(zip(joints, coordinates, rates, strict=True)),
            list(zip(document.actuators, inputs, states, strict=True)),
            list(zip(mocap, positions, turns, strict=True)),
        )

    def _split(self, name: str, widths: list[int]) -> list[tuple[float, ...] | None]:
        """A list of numbers in pieces of these lengths."""
        given = self.values.list(name)
        if not given:
            return [None] * len(widths)
        if len(given) != sum(widths):
            raise self.values.element.error(f"{name} has {len(given)} numbers, but the model takes {sum(widths)}")
        pieces, at = [], 0
        for width in widths:
            pieces.append(given[at : at + width])
            at += width
        return pieces


def attached(
    keyframes: list[Keyframe], copies: Iterable[tuple[Node, Node]], name: Callable[[str], str]
) -> list[Keyframe]:
    """Keyframes of a model for copies of a part of it, pairs (original, copy); those that hold none are left out."""
    copy_of = {id(original): copy for original, copy in copies}

    def of_copies(rows: list) -> list:
        return [(copy_of[id(node)], *rest) for node, *rest in rows if id(node) in copy_of]

    result = []
    for key in keyframes:
        parts = [of_copies(rows) for rows in (key.joints, key.actuators, key.bodies)]
        if any(parts):
            result.append(Keyframe(key.element, key.name and name(key.name), key.time, *parts))
    return result


def joint_widths(joint: Joint) -> tuple[int, int]:
    """How many coordinates and rates MuJoCo gives a joint."""
    return {"free": (7, 6), "ball": (4, 3)}.get(joint.kind, (1, 1))


def body_pairs(original: Body, copy: Body) -> list[tuple[Node, Node]]:
    """Bodies and joints of two equal trees, pair by pair."""
    pairs: list[tuple[Node, Node]] = []
    for one, other in zip(original.tree(), copy.tree(), strict=True):
        pairs += [(one, other), *zip(one.joints, other.joints, strict=True)]
    return pairs


def without_strays(document: Document) -> list[Keyframe]:
    """Remove keyframes that hold nothing of the document (of models attached inside of replicas); returns them."""
    known = {id(actuator) for actuator in document.actuators}
    for body in document.world.tree():
        known |= {id(body), *map(id, body.joints)}
    strays = [
        key
        for key in document.keyframes
        if not any(id(row[0]) in known for row in (*key.joints, *key.actuators, *key.bodies))
        and (key.joints or key.actuators or key.bodies)
    ]
    gone = set(map(id, strays))
    document.keyframes[:] = [key for key in document.keyframes if id(key) not in gone]
    return strays
