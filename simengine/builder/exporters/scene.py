"""One world of a builder as all exporters see it: checked, every body on a joint, poses and masses found."""

from __future__ import annotations

import copy
import warnings
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from simengine.builder import compose
from simengine.builder.builder import ModelBuilder
from simengine.builder.elements import WORLD, Elements, Joint
from simengine.builder.exporters.report import ExportNotes
from simengine.builder.frames import IDENTITY, Pose, quat_between, quat_rotate
from simengine.builder.frames import compose as chain
from simengine.builder.frames import inverse as inverse_of
from simengine.builder.importers.flags import holds
from simengine.builder.inertia import MassProperties
from simengine.builder.kinematics import InitialState, initial_state
from simengine.builder.masses import body_masses
from simengine.builder.pairs import may_touch
from simengine.builder.template import compile_template, floating_joints
from simengine.builder.topology import FLOATING, link_order
from simengine.builder.values import AXES
from simengine.enums import DofKind
from simengine.errors import ModelError, with_article

BALL = (DofKind.BALL_X, DofKind.BALL_Y, DofKind.BALL_Z)


@dataclass
class Scene:
    """What an exporter writes; it may be changed, the builder stays as it is.

    ``elements``: of one world, the shapes shared by all worlds last, a free joint for each body that none moves.
    ``order``: joints so that parents come first. ``joint_of``: the joint that moves each body. ``below``: joints on
    each body (WORLD: -1). ``masses``: of each body. ``gravity`` (3,). ``initial``: coordinates, and the poses of the
    bodies there. ``free_from``: how many joints the builder has itself.
    """

    elements: Elements
    gravity: tuple[float, ...]
    order: list[int]
    joint_of: list[int]
    below: dict[int, list[int]]
    masses: list[MassProperties]
    initial: InitialState
    free_from: int

    def is_anonymous(self, joint: int) -> bool:
        """Whether the joint is one that ``finalize`` adds to a body on no joint."""
        return joint >= self.free_from

    def allowed_pairs(self) -> np.ndarray:
        """(n, n) bool, symmetric: the shapes that may touch; explicit contact pairs are left out."""
        shapes = self.elements.shapes
        allowed = np.triu(may_touch(self.elements.bodies, self.elements.joints, shapes, self.elements.filters), 1)
        return allowed | allowed.T

    @cached_property
    def one_material(self) -> bool:
        """Whether all that collides is of one material, so that how two are combined makes no difference."""
        return len({shape.material for shape in self.elements.shapes if shape.collides}) <= 1

    def reference(self) -> InitialState:
        """Like ``initial``, but with balls at rest: the identity instead of their quaternions (free joints stay)."""
        joints = [copy.copy(joint) for joint in self.elements.joints]
        for joint, q in zip(joints, self.initial.coords, strict=True):
            joint.q = q
            if has_ball(joint) and not floats(joint):
                joint.q = (*q[:-4], 0.0, 0.0, 0.0, 1.0)
        return initial_state(self.elements.bodies, joints, self.order, self._coms())

    def at_zero(self) -> InitialState:
        """Poses where all coordinates are zero, but those of free joints on the world."""
        joints = [copy.copy(joint) for joint in self.elements.joints]
        for joint, q in zip(joints, self.initial.coords, strict=True):
            joint.q = q if floats(joint) else None
        return initial_state(self.elements.bodies, joints, self.order, self._coms())

    def _coms(self) -> list:
        return [tuple(map(float, own.com)) for own in self.masses]


def disabled_flags(scene: Scene, notes: ExportNotes) -> list[str]:
    """Names of the disabled flags to be written: a flag speaks of all that a file holds, and so must hold of the scene.

    What a file that was read disables is off in its own elements; others may have been added.
    """
    found = []
    for flag in scene.elements.options.disabled:
        if holds(flag, scene.elements, scene.gravity):
            found.append(flag)
        else:
            reason = "not written: a part of the scene has what it disables; it is off in what is without"
            notes.rewrite("flag", f"option {flag!r}", reason)
    return found


def has_ball(joint: Joint) -> bool:
    """Whether the joint's last coordinates are a quaternion."""
    return joint.coord_count > len(joint.dofs)


def floats(joint: Joint) -> bool:
    """Whether the joint is a free one (or a distance joint) on the world."""
    return joint.type in FLOATING and joint.parent == WORLD


def relative(base: Pose, other: Pose) -> Pose:
    """The pose ``other`` in the frame ``base``, both given in one frame."""
    return chain(inverse_of(base), other)


def make_scene(builder, world: int, notes: ExportNotes, up_axes: tuple[str, ...]) -> Scene:
    """One world of a builder, turned so that its up axis is one of the format's (else the first of ``up_axes``).

    Raises ModelError for a world that there is not and for what ``finalize`` would refuse.
    """
    if not isinstance(builder, ModelBuilder):
        reason = f"is {with_article(type(builder).__name__)}; it must be a ModelBuilder, of which models are made"
        raise ModelError(reason, element="export, builder")
    elements, gravity = _world_elements(builder, world, notes)
    if builder.up_axis not in up_axes:
        turn = (0.0, 0.0, 0.0, *quat_between(AXES[builder.up_axis], AXES[up_axes[0]]))
        elements = compose.moved(elements, turn)
        gravity = tuple(quat_rotate(turn[3:], gravity))
        notes.rewrite("up axis", "scene", f"{builder.up_axis} is up in the builder, {up_axes[0]} in the file")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # finalize says them to whoever simulates
        compile_template(elements, (), gravity)
    free_from = len(elements.joints)
    elements.joints += floating_joints(elements)
    order = link_order(elements.bodies, elements.joints)
    masses = body_masses(elements)
    coms = [tuple(map(float, own.com)) for own in masses]
    joint_of = [0] * len(elements.bodies)
    below: dict[int, list[int]] = {}
    for index, joint in enumerate(elements.joints):
        joint_of[joint.child] = index
        below.setdefault(joint.parent, []).append(index)
    initial = initial_state(elements.bodies, elements.joints, order, coms)
    return Scene(elements, gravity, order, joint_of, below, masses, initial, free_from)


def _world_elements(builder, world: int, notes: ExportNotes) -> tuple[Elements, tuple[float, ...]]:
    """A copy of the elements of one world, with the shared shapes, and its gravity."""
    count = max(builder.world_count, 1)
    if isinstance(world, bool) or not hasattr(world, "__index__") or not 0 <= world < count:
        raise ModelError(f"is {world!r}; it must be the number of one of the {count} worlds", element="export, world")
    if not builder.world_count:
        return builder._elements.copy(), builder.gravity
    numbers = [number for number, times in builder._runs for _ in range(times)]
    elements, gravity = builder._template_elements[numbers[world]]
    elements = elements.copy()
    compose.rename(elements, builder._prefixes.get(world, "").removesuffix("/"), {})
    shared = Elements(shapes=[copy.copy(shape) for shape in builder.shapes])
    taken = {shape.label for shape in elements.shapes}
    for shape in shared.shapes:
        while shape.label in taken:
            shape.label += "_"
        taken.add(shape.label)
    compose.append(elements, shared)
    if count > 1:
        alike = len(set(numbers)) == 1
        note = notes.rewrite if alike else notes.lose
        reason = f"the file holds world {world}" + ("; the others are like it" if alike else "; the others differ")
        note(f"{count} worlds", "scene", reason)
    return elements, gravity or builder.gravity


def is_identity(pose: Pose) -> bool:
    """Whether a pose is the identity, -1 as good as 1 for its w."""
    return pose[:6] == IDENTITY[:6] and abs(pose[6]) == 1.0
