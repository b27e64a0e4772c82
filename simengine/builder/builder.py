"""ModelBuilder: describes bodies, joints, shapes and worlds, and compiles them into a Model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from simengine.builder import collapse, compose
from simengine.builder.elements import WORLD, Body, Elements, Equality, Joint, JointConfig, Shape, Site
from simengine.builder.finalize import assemble, check_room, choose_search
from simengine.builder.frames import IDENTITY
from simengine.builder.joint_methods import JointMethods
from simengine.builder.material import Material
from simengine.builder.mechanism_methods import MechanismMethods
from simengine.builder.shape_methods import ShapeMethods
from simengine.builder.template import compile_template
from simengine.builder.validate import check_body
from simengine.builder.values import AXES, inertia_matrix, pose
from simengine.errors import CapacityError, ModelError, UnsupportedError, did_you_mean, with_article
from simengine.fixed import Fixed
from simengine.values import flag, number, numbers

EARTH = 9.81
DEFAULTS = {"default_material": Material, "default_joint": JointConfig}


class Offsets(NamedTuple):
    """Where the elements of a merged builder begin in the builder that took them in."""

    body: int
    joint: int
    shape: int
    site: int
    equality: int


class ModelBuilder(Fixed, JointMethods, ShapeMethods, MechanismMethods):
    """A scene being described; ``finalize`` makes a Model of it.

    Methods return the index of what they add. SI units, radians; transforms are 7 numbers, position and quaternion
    (x, y, z, w); body -1 is the world; axes are "X", "-Y", ... or three numbers. A builder is one world until
    ``replicate`` or ``add_builder`` gives it worlds; then what it holds itself are static shapes that all worlds share.

    Joints take these keywords, one value for all degrees of freedom of the joint or one for each: ``limit_lower``,
    ``limit_upper`` (m or rad), ``limit_ke``, ``limit_kd`` (SI stiffness and damping of the limits) or
    ``limit_reference``, ``limit_impedance``; ``limit_margin``; ``target_pos``, ``target_vel``, ``target_ke``,
    ``target_kd`` (drive), ``effort_limit`` (of the drive), ``velocity_limit``; ``armature``, ``damping``,
    ``stiffness`` and ``spring_ref``; ``friction`` (dry, N or N m), ``friction_reference``, ``friction_impedance``.
    Besides: ``parent_xform``, ``child_xform`` (joint frame on each body), ``q``, ``qd`` (initial coordinates and
    rates), ``collide_with_parent`` (default False) and ``label``. Where a keyword is left out,
    ``builder.default_joint`` (a JointConfig) gives the value; free and distance joints take zero.

    Shapes take ``xform`` (pose on the body); ``density`` (kg/m3, default ``builder.default_density``) or ``mass`` (kg);
    ``thickness`` (m: a hollow shape, a shell of that thickness); ``material`` (default ``builder.default_material``);
    ``collides``, ``visible``; ``margin``, ``gap`` (m); ``collision_group`` (default -1, which meets every group; two
    other groups do not meet); ``contype``, ``conaffinity`` (bits; two shapes may touch where a bit of the one's
    contype is in the other's conaffinity); ``mix`` (weight of its compliance in a pair's); ``color`` (red, green,
    blue, opacity) and ``label``.

    All raise ModelError, naming the element, for values that cannot be; what concerns several elements is checked by
    ``finalize``. Labels are unique among elements of one kind of a world; where none is given one is made.
    """

    _free = ("gravity", "custom", "default_material", "default_joint", "default_density")

    def __init__(self, up_axis: str = "Z", gravity: float | Sequence[float] | None = None):
        """``gravity`` (m/s2): along the up axis (negative is down), or a vector; default -9.81."""
        if up_axis not in AXES:
            raise ModelError(f'up_axis is {up_axis!r}; it must be "X", "Y" or "Z"')
        self._set(up_axis=up_axis)
        self.default_material = Material()
        self.default_joint = JointConfig()
        self.default_density = 1000.0
        self._elements = Elements()
        self._labels: dict[str, set[str]] = {}
        self._given_gravity = None
        if gravity is not None:
            self.gravity = gravity
        self._templates: dict[tuple, int] = {}  # (content, gravity) of each distinct world, and its number
        self._template_elements: list[tuple[Elements, tuple | None]] = []
        self._runs: list[tuple[int, int]] = []  # (template, how many worlds), in order
        self._prefixes: dict[int, str] = {}
        self._offsets: list[np.ndarray] = []  # of each run: where viewers show its worlds (worlds, 3)

    def __setattr__(self, name: str, value) -> None:
        kind = DEFAULTS.get(name)
        if kind is not None and not isinstance(value, kind):
            raise ModelError(f"is {value!r}; it must be {with_article(kind.__name__)}", element=f"builder.{name}")
        super().__setattr__(name, value)

    @property
    def gravity(self) -> tuple[float, ...]:
        """Acceleration of gravity (3,) in m/s2, world axes; may be set to a number along the up axis or a vector.

        Worlds of a template take the template's where it was set there, else that of the builder they are added to.
        """
        return self._given_gravity or tuple(-EARTH * x if x else 0.0 for x in AXES[self.up_axis])

    @gravity.setter
    def gravity(self, value) -> None:
        if hasattr(value, "__len__"):
            self._given_gravity = numbers(value, 3, "gravity")
        else:
            strength = number(value, "gravity")
            self._given_gravity = tuple(strength * x if x else 0.0 for x in AXES[self.up_axis])

    @property
    def bodies(self) -> list[Body]:
        """The bodies of this builder's own world; their fields may be changed until ``finalize``."""
        return self._elements.bodies

    @property
    def joints(self) -> list[Joint]:
        """The joints of this builder's own world; their fields may be changed until ``finalize``."""
        return self._elements.joints

    @property
    def shapes(self) -> list[Shape]:
        """The shapes of this builder's own world (or the shared static ones); their fields may be changed."""
        return self._elements.shapes

    @property
    def sites(self) -> list[Site]:
        """The sites of this builder's own world; their fields may be changed until ``finalize``."""
        return self._elements.sites

    @property
    def equalities(self) -> list[Equality]:
        """The equality constraints and loop joints of this builder's own world."""
        return self._elements.equalities

    @property
    def world_count(self) -> int:
        """Worlds that were added; 0 for a builder that is one world itself."""
        return sum(count for _, count in self._runs)

    # bodies and sites

    def add_body(
        self,
        xform=None,
        *,
        mass: float | None = None,
        com=None,
        inertia=None,
        velocity=None,
        kinematic: bool = False,
        label: str | None = None,
    ) -> int:
        """Add a rigid body; without a joint it floats freely from ``xform`` (pose of the body frame in the world).

        ``inertia`` ((3, 3) or its diagonal, kg m2): about the centre of mass ``com`` (m), in the axes of the body; with
        it ``mass`` (kg) is needed and shapes add nothing. ``mass`` alone: the distribution is that of the shapes.
        Neither: mass, centre and inertia are those of the shapes. ``velocity`` (6): of the centre of mass, then
        angular, world axes, for a floating body. ``kinematic``: follows ``control.kinematic_q``, moved by nothing.
        """
        self._require_one_world("body")
        label, auto = self._label("body", label)
        what = f"body {label!r}"
        body = Body(
            label,
            auto,
            xform=None if xform is None else pose(xform, f"{what}, xform"),
            velocity=None if velocity is None else numbers(velocity, 6, f"{what}, velocity"),
            mass=None if mass is None else number(mass, f"{what}, mass", lowest=0.0),
            com=None if com is None else numbers(com, 3, f"{what}, com"),
            inertia=None if inertia is None else inertia_matrix(inertia, f"{what}, inertia"),
            kinematic=flag(kinematic, f"{what}, kinematic"),
        )
        check_body(body)
        return self._append("body", self._elements.bodies, body)

    def add_site(self, body: int, xform=None, label: str | None = None) -> int:
        """Add a named frame on a body (-1: the world); ``xform``: its pose there."""
        self._require_one_world("site")
        self._require_body(body, "site, body")
        label, auto = self._label("site", label)
        site = Site(label, auto, body, pose(xform, f"site {label!r}, xform"))
        return self._append("site", self._elements.sites, site)

    # other builders and worlds

    def merge_builder(
        self, other: ModelBuilder, xform=None, label_prefix: str | None = None, self_collision: bool = True
    ) -> Offsets:
        """Add all elements of another builder to this builder's own world.

        ``xform`` moves them; ``label_prefix`` stands before their labels with a "/"; without ``self_collision`` their
        shapes do not touch one another. Returns where their indices begin here.
        """
        if other is self:
            raise ModelError("merge_builder: a builder cannot take in itself; make another")
        self._require_mergeable(other, "merge_builder")
        moved = compose.moved(other._elements, pose(xform, "merge_builder, xform"))
        if moved.bodies or moved.joints or moved.sites or moved.equalities:
            self._require_one_world("body")
        compose.rename(moved, label_prefix, self._labels)
        offsets = Offsets(
            *(len(of_kind) for of_kind in (self.bodies, self.joints, self.shapes, self.sites, self.equalities))
        )
        compose.append(self._elements, moved)
        if not self_collision:
            self.filter_shapes(range(offsets.shape, len(self.shapes)))
        return offsets

    def add_builder(self, other: ModelBuilder, xform=None, label_prefix: str | None = None) -> int:
        """Add another builder as a new world; returns its number.

        ``xform`` moves what it holds; ``label_prefix`` stands before its labels with a "/". Bodies of different worlds
        never meet. The other builder is copied: later changes to it do not show.
        """
        world = self._add_worlds(other, 1, pose(xform, "add_builder, xform"), "add_builder")
        if label_prefix:
            self._prefixes[world] = f"{label_prefix}/"
        return world

    def replicate(self, template: ModelBuilder, count: int, spacing: float = 0.0) -> int:
        """Add ``count`` worlds like ``template``; returns the number of the first.

        Every copy starts where the template does; labels are those of the template, in each world. ``spacing`` (m) is
        for viewers alone, which show the copies on a square grid (``model.world_offset``). The template is copied:
        later changes to it do not show.
        """
        number(count, "replicate, count")
        if int(count) != count or count < 1:
            raise ModelError(f"replicate: count is {count!r}; it must be a whole number of 1 or more")
        spacing = number(spacing, "replicate, spacing", lowest=0.0)
        first = self._add_worlds(template, int(count), IDENTITY, "replicate")
        self._offsets[-1] = compose.grid(int(count), spacing, self.up_axis)
        return first

    def _add_worlds(self, other: ModelBuilder, count: int, xform, caller: str) -> int:
        if other is self:
            raise ModelError(f"{caller}: a builder cannot hold itself; make another for the worlds")
        self._require_mergeable(other, caller)
        for kind, own in (
            ("bodies", self.bodies),
            ("joints", self.joints),
            ("sites", self.sites),
            ("equalities", self.equalities),
        ):
            if own:
                raise ModelError(
                    f"{caller}: this builder holds {kind} itself ({own[0].label!r}); a builder of worlds "
                    "holds static shapes alone, so move them into a template"
                )
        elements = compose.moved(other._elements, xform)
        counts = {"bodies": elements.bodies, "joints": elements.joints, "shapes": elements.shapes}
        check_room({"worlds": count} | {kind: count * len(own) for kind, own in counts.items()})
        content = (elements.key(), other._given_gravity)
        known = self._templates.setdefault(content, len(self._template_elements))
        if known == len(self._template_elements):
            self._template_elements.append((elements, other._given_gravity))
        world = self.world_count
        self._runs.append((known, count))
        self._offsets.append(np.zeros((count, 3)))
        return world

    def _require_mergeable(self, other: ModelBuilder, caller: str) -> None:
        if not isinstance(other, ModelBuilder):
            raise ModelError(f"{caller}: got {with_article(type(other).__name__)}; it takes a ModelBuilder")
        if other._runs:
            raise ModelError(f"{caller}: the other builder has {other.world_count} worlds itself; add their templates")
        if other.up_axis != self.up_axis:
            raise ModelError(f"{caller}: up_axis is {self.up_axis!r} here and {other.up_axis!r} there; make both alike")

    def collapse_fixed_joints(self, keep: Sequence[int] = ()) -> dict[int, int]:
        """Merge each body that a fixed joint holds into its parent; joints in ``keep`` (indices) stay.

        Shapes, sites and joints move with it, mass and inertia add up by the parallel axis theorem, and pairs of shapes
        that did not touch before do not after. Bodies and joints are renumbered. Returns the new index of each body
        (-1: it became part of the world) by its old one.
        """
        elements = self._elements.copy()
        mapping = collapse.collapse_fixed_joints(elements, keep)
        self._elements = elements
        self._labels["body"] = {body.label for body in self.bodies}
        self._labels["joint"] = {joint.label for joint in self.joints}
        return mapping

    # files

    def add_urdf(self, path, **options):
        """Add a robot from a URDF file; returns an ImportReport. Options: those of ``UrdfOptions``."""
        from simengine.builder.importers.front import import_file

        return import_file(self, "urdf", path, options)

    def add_mjcf(self, path, **options):
        """Add what an MJCF file describes; returns an ImportReport. Options: those of ``MjcfOptions``."""
        from simengine.builder.importers.front import import_file

        return import_file(self, "mjcf", path, options)

    def add_usd(self, source, **options):
        """Add what a USD file or stage describes; returns an ImportReport. Options: those of ``UsdOptions``."""
        from simengine.builder.importers.front import import_file

        return import_file(self, "usd", source, options)

    def __getattr__(self, name: str):
        public = [known for known in dir(type(self)) if not known.startswith("_")]
        raise AttributeError(f"ModelBuilder has no {name!r}{did_you_mean(name, public)}")

    # compiling

    def finalize(
        self,
        device=None,
        precision: str = "float32",
        requires_grad: bool = False,
        seed: int = 0,
        broad_phase: str | None = None,
    ):
        """Check everything and make a Model on ``device`` ("cuda:0" where there is a GPU, else "cpu").

        ``precision``: "float32" or "float64". ``seed``: of the worlds' random numbers. Worlds of equal structure form a
        batch group. ``broad_phase``: "pairs" lists the pairs of shapes that may touch, which small worlds do; "bvh" and
        "dense" search for them at each ``collide``, in trees of boxes or by comparing all boxes of a world; None
        searches where a world has more than 200,000 such pairs, in the quicker way. All find the same contacts, in the
        same order and bits. The builder stays as it is and can be used again. Raises
        ModelError naming the element that is wrong, UnsupportedError for ``requires_grad``, which no solver serves yet,
        CapacityError where the arrays are too long for kernels or for the memory.
        """
        if requires_grad:
            raise UnsupportedError(
                "gradients are not there yet; finalize with requires_grad=False", property="requires_grad"
            )
        if precision not in ("float32", "float64"):
            raise ModelError(f'precision is {precision!r}; it must be "float32" or "float64"')
        from simengine.dynamics import update_model

        self._warn_of_kept()
        named = isinstance(broad_phase, str) and broad_phase in ("pairs", "bvh", "dense")
        if broad_phase is not None and not named:
            raise ModelError(f'broad_phase is {broad_phase!r}; it must be "pairs", "bvh", "dense" or None')
        try:
            model = self._model(device, precision, seed, broad_phase)
            update_model(model)
        except MemoryError as error:
            worlds = max(self.world_count, 1)
            raise CapacityError(f"the memory is too small for the model, worlds: {worlds} ({error})") from error
        return model

    def _model(self, device, precision: str, seed: int, broad_phase: str | None = None):
        """The model without its inverse weights, which ``update_model`` computes."""
        from simengine.model import Model
        from simengine.runtime.devices import get_device

        device = get_device(device)
        data = self._assemble(precision, seed, broad_phase)
        if data.broad_phase == "search":
            data.broad_phase = choose_search(data.arrays, device.is_cuda)
        return Model(
            data.arrays,
            data.labels,
            data.topologies,
            device,
            precision,
            up_axis=self.up_axis,
            unsupported_pairs=data.unsupported_pairs,
            world_offset=np.concatenate(self._offsets) if self._offsets else None,
            broad_phase=data.broad_phase,
        )

    def _assemble(self, precision: str, seed: int, broad_phase: str | None = None):
        """The host arrays of the model (ModelData)."""
        if not self._runs:
            template = compile_template(self._elements, (), self.gravity, broad_phase)
            return assemble([template], np.zeros(1, int), {}, (), precision, seed)
        templates = [
            compile_template(elements, self.shapes, gravity or self.gravity, broad_phase)
            for elements, gravity in self._template_elements
        ]
        numbers, counts = zip(*self._runs, strict=True)
        return assemble(templates, np.repeat(numbers, counts), self._prefixes, self.shapes, precision, seed)

    # names and references

    def _label(self, kind: str, label: str | None) -> tuple[str, bool]:
        """The label to use, and whether it was made here; ModelError where it is taken."""
        taken = self._labels.setdefault(kind, set())
        if label is not None:
            if not isinstance(label, str) or not label:
                raise ModelError(f"is {label!r}; it must be a string, not empty", element=f"{kind} label")
            if label in taken:
                raise ModelError(
                    "is taken; labels of one kind must differ in a world", element=f"{kind} label {label!r}"
                )
            return label, False
        index = len(taken)
        while f"{kind}_{index}" in taken:
            index += 1
        return f"{kind}_{index}", True

    def _append(self, kind: str, elements: list, element) -> int:
        self._labels[kind].add(element.label)
        elements.append(element)
        return len(elements) - 1

    def _require_one_world(self, kind: str) -> None:
        if self._runs:
            raise ModelError(
                f"{with_article(kind)} must be in a world, and this builder holds {self.world_count} of them; add it "
                "to the template, or as a world by add_builder"
            )

    def _require_body(self, body: int, what: str, world: bool = True) -> None:
        count = len(self._elements.bodies)
        if not hasattr(body, "__index__"):
            raise ModelError(f"is {body!r}; it must be the index that add_body returned", element=what)
        if not (0 <= body < count or (world and body == WORLD)):
            or_world = ", -1 for the world" if world else ""
            raise ModelError(f"is {body}; there are {count} bodies, counted from 0{or_world}", element=what)
