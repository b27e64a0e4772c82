"""Keyframes of MjcPhysics: named states, whose numbers stand in the order of MuJoCo's bodies."""

from __future__ import annotations

from simengine.builder.frames import compose
from simengine.builder.importers.front import Import
from simengine.builder.importers.usd.build import Build
from simengine.builder.importers.usd.names import labels_of
from simengine.builder.values import pose
from simengine.enums import DofKind, JointType


class Keyframes:
    """Adds keyframes. ``base``: where the stage's origin is in the builder's world."""

    def __init__(self, job: Import, build: Build, base: tuple):
        self.job, self.build, self.base = job, build, base
        self.builder, self.reader = build.builder, build.reader

    def add(self, prims: list) -> None:
        """Add a keyframe for each MjcKeyframe whose numbers fit the joints and actuators."""
        found = [prim for prim in prims if str(prim.GetTypeName()) == "MjcKeyframe"]
        labels = labels_of(found)
        for prim in found:
            self._add(prim, labels[str(prim.GetPath())])

    def _add(self, prim, label: str) -> None:
        reader, place = self.reader, self.reader.place(prim)
        joints = self._joints()
        sizes = {
            "mjc:qpos": sum(joint.coord_count for _, joint in joints),
            "mjc:qvel": sum(len(joint.dofs) for _, joint in joints),
            "mjc:ctrl": len(self.builder.actuators),
        }
        values = {}
        for name, size in sizes.items():
            values[name] = reader.numbers(prim, name) or ()
            if values[name] and len(values[name]) != size:
                reason = f"{name} has {len(values[name])} numbers; the joints and actuators have {size}"
                reader.notes.ignore("keyframe", place, reason)
                return
        if not values["mjc:qpos"]:
            reader.notes.ignore("keyframe", place, "it has no mjc:qpos")
            return
        states, at, rate = [], 0, 0
        for index, joint in joints:
            coords = self._coords(joint, values["mjc:qpos"][at : at + joint.coord_count], place)
            rates = self._rates(joint, values["mjc:qvel"][rate : rate + len(joint.dofs)])
            states.append((index, coords, rates))
            at, rate = at + joint.coord_count, rate + len(joint.dofs)
        inputs = tuple((number, (value,), ()) for number, value in enumerate(values["mjc:ctrl"]))
        self.builder.add_keyframe(label, joints=tuple(states), actuators=inputs)
        reader.notes.note("kept", "keyframe", place, "a named state: nothing takes it by itself")

    def _joints(self) -> list[tuple]:
        """(index, joint) in the order of their bodies on the stage, which is MuJoCo's."""
        order = {body: number for number, body in enumerate(self.build.bodies.values())}
        moving = [(index, joint) for index, joint in enumerate(self.builder.joints) if joint.dofs]
        return sorted(moving, key=lambda pair: order[pair[1].child])

    def _coords(self, joint, values: tuple, place) -> tuple[float, ...]:
        """Coordinates in SI; poses of free bodies in the builder's world; quaternions as x, y, z, w."""
        metre = self.reader.units.metre
        if joint.type == JointType.FREE:
            w, x, y, z = values[3:]
            own = (*(metre * value for value in values[:3]), x, y, z, w)
            return compose(self.base, pose(own, f"keyframe at {place.where}, free joint"))
        kinds = [dof.kind for dof in joint.dofs]
        linear = sum(kind == DofKind.LINEAR for kind in kinds)
        result = [metre * value for value in values[:linear]]
        if DofKind.BALL_X in kinds:
            w, x, y, z = values[linear:]
            return (*result, x, y, z, w)
        return (*result, *values[linear:])

    def _rates(self, joint, values: tuple) -> tuple[float, ...]:
        """Rates in SI; none where the file has none, and of free and ball joints, whose axes differ from MuJoCo's."""
        if not values or any(dof.kind == DofKind.BALL_X for dof in joint.dofs):
            return ()
        metre = self.reader.units.metre
        return tuple(
            value * (metre if dof.kind == DofKind.LINEAR else 1.0)
            for value, dof in zip(values, joint.dofs, strict=True)
        )
