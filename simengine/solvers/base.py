"""What all solvers have in common: checks of what a step is given, unsupported properties, status."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from simengine.checks import checked_seconds, require_container, require_model
from simengine.containers import to_numpy
from simengine.enums import ShapeFlag, ShapeType, StatusBit
from simengine.errors import ModelError, UnsupportedError, shortened, warn_user
from simengine.fixed import Fixed
from simengine.solvers.coordinates import disagreement
from simengine.solvers.elements import Element, number_in_words
from simengine.solvers.status import Status, check_status


class Solver(Fixed):
    """Advances a State by a step. Made before the states of its model, so that they carry its memory.

    ``coordinates``: "joint" or "body", those that the solver reads; it writes both. ``supports``: what the solver
    does and does not do, by feature. ``kernel_changes``: how often the solver has changed over to other, faster kernels
    with the same results: a graph that was captured before keeps the old ones.

    Options are given to the constructor and stay: prepared launches and captured graphs hold them. To set an attribute
    raises AttributeError; arrays may be written in place.
    """

    name = ""
    coordinates = ""
    supports: Mapping[str, str] = {}
    kernel_changes = 0

    def __init__(self, model, unsupported: str = "raise"):
        """``unsupported``: "raise" or "warn", where the model has what the solver does not support."""
        require_model(f"solvers.{self.name}", model)
        if unsupported not in ("raise", "warn"):
            raise ModelError(f'solvers.{self.name}: unsupported is {unsupported!r}; it is "raise" or "warn"')
        self._set(model=model, unsupported=unsupported)
        self._disagreed = False
        self._step_name = f"solvers.{self.name}.step"
        self._fitting = [object(), object(), object(), None]  # the states, control and contacts of the last step
        model.add_solver_rows(self.name)

    def step(self, state_in, state_out, control, contacts, dt: float) -> None:
        """Advance ``state_in`` by ``dt`` seconds into ``state_out``."""
        raise NotImplementedError

    def check(self, state, on_problem: str = "raise") -> Status:
        """Read the status words of ``state`` and report what went wrong in which world since its last reset.

        ``on_problem``: "raise" raises DivergenceError (numbers that are not finite, a solve that did not converge) or
        CapacityError (contacts that a slab had no room for), and warns of raised pivots; "warn" warns of all;
        "ignore" only returns. A NaN in the model's arrays that kernels passed over, so that no world reports anything,
        raises ModelError or warns. Waits for the device.
        """
        require_container(f"solvers.{self.name}.check", "state", state, "state", self.model)
        return check_status(self, state, on_problem, self._fitting[3])

    def describe_status(self, bit: StatusBit, where: str, world: int) -> str | None:
        """What a status bit of this solver's kernels means and what to do; None for the words common to all solvers.

        ``where``: the worlds that have it, in words; ``world``: the first of them.
        """
        return None

    # checks

    def report_unsupported(self, what: str, elements: list[Element], always_warn: bool = False) -> None:
        """Raise UnsupportedError, or warn once, that the solver does not support ``what`` of the elements."""
        if not elements:
            return
        names = [element.name for element in elements]
        if self.unsupported == "raise" and not always_warn:
            raise UnsupportedError(
                f'{what} not supported; remove them, or pass unsupported="warn" to go on without',
                solver=self.name,
                property=what,
                elements=names,
            )
        message = f"solvers.{self.name}: {what} ignored: {number_in_words(elements)} ({shortened(names)})"
        warn_user(message)

    def warn_of_pairs(self) -> None:
        """Warn of all kinds of pairs of shapes that pass through each other, those with the unmoving world first."""
        model = self.model
        if not model.unsupported_pairs:
            return
        unmoving = ((to_numpy(model.shape_flags) & ShapeFlag.COLLIDES) != 0) & (to_numpy(model.shape_body) < 0)
        of_world = {ShapeType(kind).name.lower() for kind in np.unique(to_numpy(model.shape_type)[unmoving])}
        first, then = [], []
        for (one, other), count in sorted(model.unsupported_pairs.items()):
            if one in of_world:
                first.append(f"{other} through {one} ({count}, with shapes of the unmoving world)")
            elif other in of_world:
                first.append(f"{one} through {other} ({count}, with shapes of the unmoving world)")
            else:
                then.append(f"{other} through {one} ({count})")
        warn_user(
            f"solvers.{self.name}: these pairs of shapes have no collision routine and pass through each other: "
            f"{', '.join(first + then)}",
        )

    def _require_step(self, state_in, state_out, control, contacts) -> None:
        """Raise ModelError unless the arguments of a step fit the model and each other."""
        one, other, last_control, last_contacts = self._fitting
        if state_in is state_out:
            problem = "state_out is state_in; a step never changes its input, give a second state"
            raise ModelError(f"{self._step_name}: {problem}")
        if state_in is not one and state_in is not other:
            self._require_state("state_in", state_in)
        if state_out is not one and state_out is not other:
            self._require_state("state_out", state_out)
        if control is not last_control:
            require_container(self._step_name, "control", control, "control", self.model)
        if contacts is not last_contacts and contacts is not None:
            require_container(self._step_name, "contacts", contacts, "contacts", self.model)
        self._fitting[:] = state_in, state_out, control, contacts

    def _require_state(self, parameter: str, state) -> None:
        require_container(self._step_name, parameter, state, "state", self.model)
        state.require_rows(self.name)

    def _warn_of_disagreement(self, state) -> None:
        """Warn, once, where bodies are not where the joint coordinates put them, which the step reads alone."""
        found = None if self._disagreed else disagreement(state)
        if found is not None:
            self._disagreed = True
            warn_user(
                f"solvers.{self.name} reads joint_q and joint_qd alone, and {found}: "
                "call sim.eval_ik after writing bodies, sim.eval_fk after writing joints",
            )


def checked_dt(solver: str, dt) -> float:
    """``dt`` as a float; ModelError unless it is a finite, positive number of seconds."""
    return checked_seconds(f"solvers.{solver}: dt", dt)
