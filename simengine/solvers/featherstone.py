"""The Featherstone solver: reduced coordinates, convex contact. Its kernel is kernels_cuda/featherstone.cu."""

from __future__ import annotations

import functools
import operator
import threading

import numpy as np

from simengine.collision.pipeline import collide_at_joints, launch_at_joints
from simengine.containers import to_numpy
from simengine.dynamics import require_dense
from simengine.enums import Cone, EqualityType, Integrator, JointType, StatusBit
from simengine.errors import ModelError, UnsupportedError, did_you_mean, warn_user
from simengine.runtime import modes
from simengine.runtime.kernel import Kernel
from simengine.runtime.world_launch import WorldLaunch, compile_together, lanes_for
from simengine.solvers import advise
from simengine.solvers.base import Solver, checked_dt
from simengine.solvers.elements import elements_once, shapes_in_contacts
from simengine.solvers.specialise import Forms
from simengine.values import written

TOLERANCES = {"float32": 1e-5, "float64": 1e-10}
LANES = (1, 4, 8, 16, 32)
OUTPUTS = ("joint_constraint_force", "joint_drive_force")

SUPPORTS = {
    "joints": "revolute, prismatic, ball, free, fixed, universal, d6; not distance",
    "joint armature, damping, springs, dry friction": "yes",
    "joint limits": "yes, of ball joints too: angle, swing and twist",
    "drives with effort limits": "yes",
    "velocity limits": "yes",
    "kinematic bodies": "yes",
    "equality constraints and loop joints": "no; equalities between joints (mimic joints) are left out with a warning",
    "contact dimensions": "1 and 3; not 4 and 6",
    "friction cones": "elliptic, pyramidal",
    "static friction": "yes",
    "restitution": "yes",
    "contact compliance": "time constant, damping ratio and impedance; stiffness and dissipation",
    "contact pairs": "yes, with friction, compliance, dimension, margin and gap of their own",
    "integrators": "implicit, euler",
    "particles": "no",
    "gradients": "no",
}


def options_dtype(precision: str) -> np.dtype:
    """Layout of StepOptions in kernels_cuda/solver.h."""
    reals = ("tolerance", "impratio", "stiction_speed", "restitution_speed")
    integers = ("integrator", "cone", "iterations")
    return np.dtype(
        [("dt", "f8"), *((name, precision) for name in reals), *((name, "i4") for name in integers)], align=True
    )


class Featherstone(Solver):
    """Articulated bodies in reduced coordinates with convex contact; not the penalty solver of that name elsewhere.

    Each step finds the joint accelerations that minimise one convex cost of inertia, contacts, friction, limits and
    drives, by Newton's method with an exact line search (E. Todorov, "Convex and analytically-invertible dynamics with
    contacts and constraints", ICRA 2014). Semi-implicit: positions move with the new velocities.

    Parameters
    ----------
    model: the Model. Make the solver before the states, which carry its warm start.
    integrator: "implicit" (damping, springs and drives are evaluated at the end of the step: stiff drives are stable)
        or "euler" (at its start, but for joint damping, as MuJoCo's Euler).
    cone: "elliptic" or "pyramidal".
    impratio: ratio of friction's impedance to the normal one; larger slips less.
    iterations: most Newton iterations of a step.
    tolerance: relative gradient at which a world's solve ends (kernels_cuda/newton.h says relative to what); default
        1e-5 in float32, 1e-10 in float64.
    outputs: names among "joint_constraint_force" (efforts of contacts, limits and dry friction) and
        "joint_drive_force" (efforts of drives), each (nv,) in N or N m, that a step also writes.
    unsupported: "raise" or "warn" where the model has what the solver does not support. Pairs of shapes without a
        collision routine and equalities between joints (mimic joints of files) only warn.
    stiction_speed: m/s, the slip speed below which static friction holds.
    restitution_speed: m/s, the approach speed above which restitution acts.
    lanes: 1, 4, 8, 16 or 32 lanes work a world on a GPU; default by the number of dofs. The bits are the same for all.
    specialise: "auto" steps with kernels for any model until those for the sizes and topology of this one are compiled,
        which happens meanwhile (on the CPU after some seconds of use) and is kept in the cache; True compiles them
        now, KernelCompileError where that fails; False never does. Worlds of more than 64 degrees of freedom or 2,000
        pairs of shapes keep the general ones. The bits are the same for all.

    ``iterations`` and ``residual`` (worlds,) are those of the last step; ``max_iterations`` is the option. Threads may
    step states of their own with one solver: only these two arrays, and ``outputs``, are then of whichever came last.
    """

    name = "Featherstone"
    coordinates = "joint"

    def __init__(
        self,
        model,
        integrator: str = "implicit",
        cone: str = "elliptic",
        impratio: float = 1,
        iterations: int = 100,
        tolerance: float | None = None,
        outputs=(),
        unsupported: str = "raise",
        *,
        stiction_speed: float = 0.01,
        restitution_speed: float = 0.05,
        lanes: int | None = None,
        specialise="auto",
    ):
        super().__init__(model, unsupported)
        require_dense(model, "solvers.Featherstone")
        if model.broad_phase != "pairs":
            raise UnsupportedError(
                'needs a list of the pairs of shapes; finalize with broad_phase="pairs", or remove or filter shapes',
                solver=self.name,
                property=f'broad_phase="{model.broad_phase}"',
            )
        self._set(
            integrator=_choice("integrator", integrator, Integrator),
            cone=_choice("cone", cone, Cone),
            impratio=_number("impratio", impratio, above=0),
            max_iterations=_count("iterations", iterations),
            tolerance=_number("tolerance", TOLERANCES[model.precision] if tolerance is None else tolerance, above=0),
            stiction_speed=_number("stiction_speed", stiction_speed),
            restitution_speed=_number("restitution_speed", restitution_speed),
            iterations=model.device.zeros(model.world_count, np.int32),
            residual=model.device.zeros(model.world_count, model.precision),
            _own=threading.local(),  # of each thread that steps
        )
        if lanes is not None and (isinstance(lanes, bool) or lanes not in LANES):
            raise ModelError(f"solvers.Featherstone: lanes is {lanes!r}; it is one of {', '.join(map(str, LANES))}")
        self._lanes = [lanes or lanes_for(group.counts()["link_dofs"]) for group in model.groups]
        self._forms = Forms(
            "featherstone.cu", "featherstone_step", _kernel, model, self._lanes, specialise, self._constants()
        )
        self._outputs = self._make_outputs(outputs)
        self._launch = self._make_launch()
        if not model.collides_in_step:
            self._own.contacts = model.contacts()
        self._refuse_unsupported()
        self._has_begun = False

    def _make_outputs(self, names) -> dict:
        names = (names,) if isinstance(names, str) else tuple(names)
        for name in names:
            if name not in OUTPUTS:
                raise ModelError(
                    f"solvers.Featherstone: no output {name!r}; there are {', '.join(OUTPUTS)}"
                    f"{did_you_mean(name, OUTPUTS)}"
                )
        zeros = functools.partial(self.model.device.zeros, self.model.joint_dof_count, self.model.precision)
        return {name: zeros() for name in names}

    def _refuse_unsupported(self) -> None:
        model = self.model
        dimension, of_pairs = to_numpy(model.shape_contact_dim), to_numpy(model.contact_pair_dim)
        other = (dimension != 1) & (dimension != 3)
        if other.any():
            other &= shapes_in_contacts(model)
        shapes = elements_once(model, "shape", other)
        pairs = elements_once(model, "contact_pair", (of_pairs == 4) | (of_pairs == 6), "contact pair {}".format)
        self.report_unsupported("contact dimensions other than 1 and 3 are", shapes + pairs)
        distances = elements_once(model, "joint", to_numpy(model.joint_type) == JointType.DISTANCE)
        self.report_unsupported("distance joints are", distances)
        turns = elements_once(model, "joint", _turns_limited(model))
        self.report_unsupported("limits of the rotation of joints other than ball joints are", turns)
        mimic = to_numpy(model.equality_type) == EqualityType.JOINT
        loops = elements_once(model, "equality", ~mimic)
        self.report_unsupported("equality constraints and loop joints are", loops)
        mimics = elements_once(model, "equality", mimic)
        self.report_unsupported("equalities between joints are", mimics, always_warn=True)
        self.warn_of_pairs()

    @property
    def supports(self) -> dict[str, str]:
        """What the solver does and does not do; with the model's pairs of shapes that no routine collides, counted."""
        pairs = ", ".join(f"{a} and {b}: {count}" for (a, b), count in sorted(self.model.unsupported_pairs.items()))
        return {**SUPPORTS, "pairs of shapes without a routine": pairs or "none"}

    def __getattr__(self, name: str):
        if name in OUTPUTS:
            outputs = self.__dict__.get("_outputs", {})
            if name in outputs:
                return outputs[name]
            raise AttributeError(f"solvers.Featherstone writes no {name}: ask for it with outputs=({name!r},)")
        raise AttributeError(f"Featherstone has no {name!r}{did_you_mean(name, [*dir(type(self)), *self.__dict__])}")

    def step(self, state_in, state_out, control, contacts, dt: float) -> None:
        """Advance ``state_in`` by ``dt`` seconds into ``state_out``; reads ``control`` and, where given, ``contacts``.

        ``contacts``: as ``sim.collide`` or the user filled them for ``state_in``; their ``force`` is written. None: the
        step finds the contacts by itself, with the same result. Joint coordinates are read; body poses and velocities
        are written to match, and with SIMENGINE_DEBUG=1 a warning tells where those of ``state_in`` do not. Worlds that
        fail set a bit of ``state_out.status`` (see ``check``) and disturb no other.
        Nothing is allocated after the first step, and nothing waits for the device.

        Raises ModelError where dt is not a positive number, or a container belongs to another model or device or was
        made before the solver.
        """
        dt = checked_dt(self.name, dt)
        if self._forms.waiting:
            self._change_over(self._forms.poll())
        self._require_step(state_in, state_out, control, contacts)
        own = self._own.__dict__
        if own.get("dt") != dt:
            own.update(dt=dt, options=self._options(dt))
        if not self._has_begun and modes.capture is None:
            self._begin(dt)
        if modes.debug and modes.capture is None:
            self._warn_of_disagreement(state_in)
        if contacts is None and not self.model.collides_in_step:
            contacts = self._found_contacts(state_in, dt)
        options = own["options"]
        self._launch(state_in=state_in, state_out=state_out, control=control, contacts=contacts, options=options)

    def _found_contacts(self, state, dt: float):
        """Contacts of pairs that a step does not collide by itself, found before it by a kernel of their own."""
        own = self._own.__dict__
        if "contacts" not in own:
            with self.model.device.apart():
                own["contacts"] = self.model.contacts()
        collide_at_joints(self.model, state, own["contacts"], dt)
        return own["contacts"]

    @property
    def kernel_changes(self) -> int:
        """How often the solver has changed over to specialised kernels; looks whether more of them are compiled."""
        if self._forms.waiting:
            self._change_over(self._forms.poll())
        return self._forms.changes

    def wait_for_kernels(self) -> bool:
        """Block until no specialised kernel is to come; call it before a capture that is to last, and before timing.

        Returns whether every batch group has one. Raises LaunchError while a capture is on.
        """
        self._change_over(self._forms.wait())
        return all(form.is_specialised for form in self._forms.current)

    def _change_over(self, changed: bool) -> None:
        """Launch other kernels where their forms changed; waits for the device, which may still use the memory of the
        old ones."""
        if not changed:
            return
        self.model.device.synchronize()
        self._launch = self._make_launch()

    def _constants(self) -> dict[str, int]:
        """Options that a specialised kernel has as constants."""
        has_pairs = self.model.counts()["contact_pairs"] > 0
        return {"SIM_INTEGRATOR": self.integrator, "SIM_CONE": self.cone, "SIM_CONTACT_PAIRS": int(has_pairs)}

    def _make_launch(self) -> WorldLaunch:
        """The step by the present forms of the kernels."""
        constants = dict(
            model=self.model,
            iterations=self.iterations,
            residual=self.residual,
            constraint_force=self._outputs.get("joint_constraint_force"),
            drive_force=self._outputs.get("joint_drive_force"),
        )
        kernels = [form.kernel for form in self._forms.current]
        names = ("featherstone_step", "featherstone_memory_bytes")
        return WorldLaunch(self.model, *names, kernels, self._lanes, constants=constants)

    def describe_status(self, bit: StatusBit, where: str, world: int) -> str | None:
        """See ``Solver.describe_status``."""
        precision = self.model.precision
        if bit == StatusBit.NOT_CONVERGED:
            residual = float(to_numpy(self.residual)[world])
            limit = f"the limit of {self.max_iterations} iterations or of {precision}"
            again = ", within it again" if residual <= self.tolerance else ""
            now = f"in the last step world {world} had a residual of {residual:.1e}{again}"
            return (
                f"the constraint solve of {where} has ended above its tolerance of {self.tolerance:.1e}, at {limit} "
                f"({now}); raise iterations or tolerance, or see advise"
            )
        if bit == StatusBit.PIVOT:
            reason = f"masses are too small or too unlike for {precision}"
            return f"a pivot was not positive and was raised in {where}: {reason}"
        return None

    def advise(self, dt: float) -> list[advise.Advice]:
        """What of the model a step of ``dt`` (s) cannot resolve: element, number and a safe value of each."""
        return advise.advise(self, checked_dt(self.name, dt))

    def _options(self, dt: float) -> np.ndarray:
        values = (dt, self.tolerance, self.impratio, self.stiction_speed, self.restitution_speed)
        return np.array((*values, self.integrator, self.cone, self.max_iterations), options_dtype(self.model.precision))

    def _begin(self, dt: float) -> None:
        """Warn of advice, and compile what a first step launches."""
        self._has_begun = True
        for advice in self.advise(dt):
            warn_user(f"solvers.Featherstone: {advice}")
        if not self.model.collides_in_step:
            compile_together(self.model, [launch_at_joints(self.model), self._launch])


@functools.cache
def _kernel(name: str) -> Kernel:
    """A kernel in the form that serves every model: the first step waits for it, a specialised one takes its place."""
    return Kernel("featherstone.cu", name, quick=True)


def _turns_limited(model) -> np.ndarray:
    """Which joints have a limit that only a ball joint can have and are none."""
    limited = np.isfinite(to_numpy(model.joint_angle_limit))
    for name in ("joint_swing_limit", "joint_twist_limit"):
        limited = limited | np.isfinite(to_numpy(getattr(model, name))).any(axis=1)
    return limited & (to_numpy(model.joint_type) != JointType.BALL)


def _choice(parameter: str, value, kinds) -> int:
    names = [kind.name.lower() for kind in kinds]
    if value not in names:
        raise ModelError(
            f"solvers.Featherstone: {parameter} is {value!r}; it is one of {', '.join(names)}"
            f"{did_you_mean(value, names)}"
        )
    return int(kinds[value.upper()])


def _count(parameter: str, value) -> int:
    try:
        count = operator.index(value)
    except TypeError:
        count = 0
    if isinstance(value, bool) or not 1 <= count < 2**31:
        raise ModelError(f"solvers.Featherstone: {parameter} is {value!r}; give a whole number from 1 to {2**31 - 1}")
    return count


def _number(parameter: str, value, above: float | None = None) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise ModelError(f"solvers.Featherstone: {parameter} is {written(value)}; give a number") from None
    if not np.isfinite(number) or (number <= above if above is not None else number < 0):
        kind = "non-negative" if above is None else "positive"
        raise ModelError(f"solvers.Featherstone: {parameter} is {value!r}; give a finite, {kind} number")
    return number
