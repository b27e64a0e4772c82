"""Actuators and tendons of MjcPhysics, PhysxSchema and Newton: kept on the builder."""

from __future__ import annotations

import math

from simengine.builder.frames import apply, inverse
from simengine.builder.importers.usd.attributes import row_of
from simengine.builder.importers.usd.bodies import BodyReader
from simengine.builder.importers.usd.build import Build
from simengine.builder.importers.usd.document import ANGULAR
from simengine.builder.importers.usd.names import labels_of
from simengine.builder.importers.usd.reading import applied, instances
from simengine.builder.importers.usd.softness import impedance_of, reference_of
from simengine.builder.mechanisms import PathPoint
from simengine.enums import DofKind

KEPT = "{} are not simulated yet"
ACTIVATED = ("integrator", "filter", "filterexact", "muscle")
"""Dynamics with an activation of their own."""


class Mechanisms:
    """Adds tendons, then the actuators that may act through them. ``sites``: index by path."""

    def __init__(self, build: Build, bodies: BodyReader, sites: dict[str, int]):
        self.build, self.bodies, self.sites = build, bodies, sites
        self.builder, self.reader = build.builder, build.reader
        self.tendons: dict[str, int] = {}

    def add(self, prims: list) -> None:
        """Add all of the stage."""
        of_type = {
            kind: [prim for prim in prims if str(prim.GetTypeName()) == kind]
            for kind in ("MjcTendon", "MjcActuator", "NewtonActuator")
        }
        for kind, method in (
            ("MjcTendon", self._tendon),
            ("MjcActuator", self._actuator),
            ("NewtonActuator", self._pd),
        ):
            labels = labels_of(of_type[kind])
            for prim in of_type[kind]:
                method(prim, labels[str(prim.GetPath())])
        self._physx_fixed(prims)
        self._physx_spatial(prims)

    # MjcPhysics

    def _tendon(self, prim, label: str) -> None:
        reader = self.reader
        path = reader.targets(prim, "mjc:path")
        order = [int(i) for i in reader.numbers(prim, "mjc:path:indices") or range(len(path))]
        self._check_indices(prim, "mjc:path", order, len(path), least=0)
        targets = [str(path[i]) for i in order]
        fields = self._tendon_fields(prim)
        if reader.word(prim, "mjc:type", "spatial") == "fixed":
            weights = reader.numbers(prim, "mjc:path:coef") or (1.0,) * len(targets)
            if len(weights) != len(targets):
                raise reader.place(prim, "mjc:path:coef").error(f"has {len(weights)} numbers for {len(targets)} joints")
            places = [self._joint(prim, at) for at in targets]
            fields["terms"] = tuple((joint, weight) for (joint, _), weight in zip(places, weights, strict=True))
            if any(dof for _, dof in places):
                fields["dofs"] = tuple(dof for _, dof in places)
        else:
            fields["path"] = self._path(prim, targets)
        self.tendons[str(prim.GetPath())] = self.builder.add_tendon(label, **fields)
        reader.notes.keep("tendon", reader.place(prim), KEPT.format("tendons"))

    def _tendon_fields(self, prim) -> dict:
        reader = self.reader
        fields = {
            "stiffness": reader.least(prim, "mjc:stiffness", 0.0),
            "damping": reader.least(prim, "mjc:damping", 0.0),
            "friction": reader.least(prim, "mjc:frictionloss", 0.0),
            "armature": reader.least(prim, "mjc:armature", 0.0),
            "limit_margin": reader.least(prim, "mjc:margin", 0.0),
            "width": reader.least(prim, "mjc:width", 0.003),
        }
        fields["limit_lower"], fields["limit_upper"] = self._range(prim, "mjc:limited", "mjc:range")
        lengths = reader.numbers(prim, "mjc:springlength")
        if lengths and lengths[0] >= 0.0:
            fields["spring_length"] = (lengths[0], lengths[-1])
        for what in ("limit", "friction"):
            if (value := reference_of(reader, prim, f"mjc:solref{what}")) is not None:
                fields[f"{what}_reference"] = value
            if (value := impedance_of(reader, prim, f"mjc:solimp{what}")) is not None:
                fields[f"{what}_impedance"] = value
        return fields

    def _path(self, prim, targets: list[str]) -> tuple[PathPoint, ...]:
        """Sites, shapes that the tendon wraps about, and pulleys where a new segment begins."""
        reader = self.reader
        segments = reader.numbers(prim, "mjc:path:segments") or (0.0,) * len(targets)
        divisors = reader.numbers(prim, "mjc:path:divisors") or ()
        if len(segments) != len(targets):
            raise reader.place(prim, "mjc:path:segments").error(
                f"has {len(segments)} numbers for {len(targets)} points"
            )
        points: list[PathPoint] = []
        last = segments[0] if segments else 0.0
        for target, segment, side in zip(targets, segments, self._sides(prim, len(targets)), strict=True):
            if segment != last:
                divisor = divisors[int(segment)] if int(segment) < len(divisors) else 1.0
                points.append(PathPoint("pulley", divisor=divisor))
                last = segment
            if target in self.sites:
                points.append(PathPoint("site", self.sites[target]))
                if side >= 0:
                    reader.notes.ignore("side site", reader.place(prim), f"{target} is no shape to wrap about")
            elif target in self.build.shapes:
                points.append(PathPoint("shape", self.build.shapes[target][0], side))
            else:
                raise reader.place(prim, "mjc:path").error(f"leads to {target}, which is neither a site nor a shape")
        return tuple(points)

    def _sides(self, prim, count: int) -> list[int]:
        """For each point the site on whose side the tendon wraps about the shape there; -1: the shorter way."""
        sites = self.reader.targets(prim, "mjc:sideSites")
        order = [int(i) for i in self.reader.numbers(prim, "mjc:sideSites:indices") or ()]
        if not sites and not order:
            return [-1] * count
        if len(order) != count:
            place = self.reader.place(prim, "mjc:sideSites:indices")
            raise place.error(f"has {len(order)} numbers for {count} points")
        self._check_indices(prim, "mjc:sideSites", order, len(sites), least=-1)
        return [self._site(prim, str(sites[i])) if i >= 0 else -1 for i in order]

    def _check_indices(self, prim, name: str, indices: list[int], count: int, least: int) -> None:
        if any(not least <= i < count for i in indices):
            raise self.reader.place(prim, f"{name}:indices").error(f"are {indices}; {name} has {count} targets")

    def _range(self, prim, limited: str, name: str) -> tuple[float, float]:
        """A range, infinite where it is not limited ("auto": where both ends are equal)."""
        reader = self.reader
        lower, upper = reader.number(prim, f"{name}:min", 0.0), reader.number(prim, f"{name}:max", 0.0)
        word = reader.word(prim, limited, "auto")
        if word == "false" or (word == "auto" and lower == upper):
            return -math.inf, math.inf
        return lower, upper

    def _actuator(self, prim, label: str) -> None:
        reader = self.reader
        transmission, target, dof = self._transmission(prim, reader.targets(prim, "mjc:target"))
        dynamics = reader.word(prim, "mjc:dynType", "none")
        activations = reader.number(prim, "mjc:actDim", -1.0)
        fields = {
            "gear": reader.numbers(prim, "mjc:gear") or (1.0, 0.0, 0.0, 0.0, 0.0, 0.0),
            "gain": (reader.word(prim, "mjc:gainType", "fixed"), reader.numbers(prim, "mjc:gainPrm") or (1.0,)),
            "bias": (reader.word(prim, "mjc:biasType", "none"), reader.numbers(prim, "mjc:biasPrm") or ()),
            "dynamics": (dynamics, reader.numbers(prim, "mjc:dynPrm") or ()),
            "activations": int(activations) if activations >= 0.0 else int(dynamics in ACTIVATED),
            "control_range": self._range(prim, "mjc:ctrlLimited", "mjc:ctrlRange"),
            "force_range": self._range(prim, "mjc:forceLimited", "mjc:forceRange"),
            "activation_range": self._range(prim, "mjc:actLimited", "mjc:actRange"),
            "length_range": tuple(reader.number(prim, f"mjc:lengthRange:{end}", 0.0) for end in ("min", "max")),
            "crank_length": reader.least(prim, "mjc:crankLength", 0.0),
            "dof": dof,
            "early": reader.flag(prim, "mjc:actEarly", False),
            "group": int(reader.number(prim, "mjc:group", 0.0)),
        }
        for name, kind in (("mjc:sliderSite", "slider_crank"), ("mjc:refSite", transmission)):
            for site in reader.targets(prim, name):
                fields["reference"], transmission = self._site(prim, str(site)), kind
        self.builder.add_actuator(transmission, target, label, **fields)
        reader.notes.keep("actuator", reader.place(prim), KEPT.format("actuators"))

    def _transmission(self, prim, targets: list) -> tuple[str, int, int]:
        """What an actuator acts through, the index of it, and of a joint which degree of freedom."""
        if len(targets) != 1:
            raise self.reader.place(prim, "mjc:target").error(f"leads to {len(targets)} prims; it must lead to one")
        target = str(targets[0])
        if (joint := self.build.dof_of(target)) is not None:
            in_parent = self.reader.flag(prim, "mjc:jointInParent", False)
            return ("joint_in_parent" if in_parent else "joint"), *joint
        for kind, known in (("tendon", self.tendons), ("site", self.sites), ("body", self.build.bodies)):
            if target in known:
                return kind, known[target], 0
        raise self.reader.place(prim, "mjc:target").error(
            f"leads to {target}: no joint of a tree, tendon, site or body"
        )

    def _joint(self, prim, path: str) -> tuple[int, int]:
        """Index of a joint and its degree of freedom."""
        found = self.build.dof_of(path)
        if found is None:
            raise self.reader.place(prim).error(f"names {path}, which is no joint of a tree")
        return found

    def _site(self, prim, path: str) -> int:
        if path not in self.sites:
            raise self.reader.place(prim).error(f"names {path}, which is no site")
        return self.sites[path]

    # Newton

    def _pd(self, prim, label: str) -> None:
        """A controller kp (target - q) - kd v + constant: a gain kp and an affine bias."""
        reader = self.reader
        targets = reader.targets(prim, "newton:targets")
        if "NewtonPDControlAPI" not in applied(prim) or len(targets) != 1:
            reason = "only PD controllers of one joint are read"
            reader.notes.ignore("actuator", reader.place(prim), reason)
            return
        joint, dof = self._joint(prim, str(targets[0]))
        turns = self.builder.joints[joint].dofs[dof].kind == DofKind.ANGULAR
        kp, kd = (reader.least(prim, f"newton:{name}", 0.0, turns) for name in ("kp", "kd"))
        constant = reader.number(prim, "newton:constEffort", 0.0, turns)
        fields = {"gain": ("fixed", (kp,)), "bias": ("affine", (constant, -kp, -kd)), "dof": dof}
        self.builder.add_actuator("joint", joint, label, **fields)
        reader.notes.keep("actuator", reader.place(prim), KEPT.format("actuators"))

    # PhysxSchema

    def _physx_fields(self, prim, name: str) -> dict:
        reader, prefix = self.reader, f"physxTendon:{name}"
        return {
            "stiffness": reader.least(prim, f"{prefix}:stiffness", 0.0),
            "damping": reader.least(prim, f"{prefix}:damping", 0.0),
        }

    def _physx_ends(self, prim, name: str, offset: float) -> dict:
        """Limits, and the length at rest, less the offset that PhysX adds to the tendon's length."""
        reader, prefix = self.reader, f"physxTendon:{name}"
        rest = reader.number(prim, f"{prefix}:restLength", 0.0) - offset
        return {
            "limit_lower": reader.number(prim, f"{prefix}:lowerLimit", -math.inf, infinite=True),
            "limit_upper": reader.number(prim, f"{prefix}:upperLimit", math.inf, infinite=True),
            "spring_length": (rest, rest),
        }

    def _physx_fixed(self, prims: list) -> None:
        """Fixed tendons: the joints with an axis of the same name, each with its gearing."""
        joints = [prim for prim in prims if str(prim.GetPath()) in self.build.joints]
        followers: dict[str, list] = {}
        for prim in joints:
            for name in instances(prim, "PhysxTendonAxisAPI"):
                followers.setdefault(name, []).append(prim)
        for root in joints:
            for name in instances(root, "PhysxTendonAxisRootAPI"):
                if not self.reader.flag(root, f"physxTendon:{name}:tendonEnabled", True):
                    continue
                members = [root, *followers.get(name, [])]
                terms = tuple((self._joint(one, str(one.GetPath()))[0], self._gearing(one, name)) for one in members)
                offset = self.reader.number(root, f"physxTendon:{name}:offset", 0.0)
                fields = self._physx_fields(root, name) | self._physx_ends(root, name, offset)
                self.builder.add_tendon(f"{root.GetPath()}:{name}", terms=terms, **fields)
                self.reader.notes.keep("tendon", self.reader.place(root), KEPT.format("tendons"))

    def _gearing(self, prim, name: str) -> float:
        attribute = f"physxTendon:{name}:gearing"
        values = self.reader.raw(prim, attribute)
        first = values[0] if values is not None and len(values) else 1.0
        turns = any(axis.kind == ANGULAR for axis in self.build.tree[str(prim.GetPath())].axes)
        self.reader.raw(prim, f"physxTendon:{name}:jointAxis")
        return float(first) * self.reader.units.factor(row_of(attribute).unit, turns)

    def _physx_spatial(self, prims: list) -> None:
        """Spatial tendons: for each leaf one, along the attachments from the root to it; each attachment is a site."""
        held: dict[str, tuple] = {}
        kinds = ("Root", "", "Leaf")
        for prim in prims:
            for kind in kinds:
                for name in instances(prim, f"PhysxTendonAttachment{kind}API"):
                    held[name] = (prim, kind, self._attachment(prim, name))
        for name, (prim, kind, _) in held.items():
            if kind == "Leaf":
                self._add_spatial(name, prim, held)

    def _attachment(self, prim, name: str) -> int:
        body, pose = self.bodies.pose_on_body(prim)
        point = self.reader.vector(prim, f"physxTendon:{name}:localPos", 3)
        if point is not None:
            matrix, shift = self.bodies.frames.affine(prim)
            at = matrix @ (point / self.reader.units.metre) + shift
            owner = self.bodies.scene.bodies[body].pose if body else None
            pose = (*_inside(owner, tuple(at.tolist())), 0.0, 0.0, 0.0, 1.0)
        return self.builder.add_site(self.build.index(body), pose, label=f"{prim.GetPath()}:{name}")

    def _add_spatial(self, leaf: str, prim, held: dict) -> None:
        reader = self.reader
        chain, at = [leaf], reader.word(prim, f"physxTendon:{leaf}:parentAttachment", "")
        while at in held and at not in chain:
            chain.append(at)
            at = reader.word(held[at][0], f"physxTendon:{at}:parentAttachment", "")
        root = chain[-1]
        root_prim = held[root][0]
        for name in chain:
            reader.targets(held[name][0], f"physxTendon:{name}:parentLink")
            if reader.number(held[name][0], f"physxTendon:{name}:gearing", 1.0) != 1.0:
                reason = "gearing of attachments: each piece of the tendon counts once"
                reader.notes.note("warned", "tendon", reader.place(held[name][0]), reason)
        if held[root][1] != "Root":
            raise reader.place(prim).error(f"the tendon of attachment '{leaf}' leads to no root")
        offset = reader.number(root_prim, f"physxTendon:{root}:offset", 0.0)
        fields = self._physx_fields(root_prim, root) | self._physx_ends(prim, leaf, offset)
        path = tuple(PathPoint("site", held[name][2]) for name in reversed(chain))
        self.builder.add_tendon(f"{root_prim.GetPath()}:{root}:{leaf}", path=path, **fields)
        reader.notes.keep("tendon", reader.place(prim), KEPT.format("tendons"))


def _inside(owner, point: tuple) -> tuple:
    return point if owner is None else apply(inverse(owner), point)
