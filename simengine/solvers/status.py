"""Status words of worlds, as text and as exceptions."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from simengine.containers import to_numpy
from simengine.enums import StatusBit
from simengine.errors import CapacityError, DivergenceError, ModelError, shortened, warn_user
from simengine.solvers.parameters import first_nan

RAISED = StatusBit.NOT_FINITE | StatusBit.CONTACT_OVERFLOW | StatusBit.NOT_CONVERGED | StatusBit.RESET_SOURCE


@dataclass(frozen=True)
class Status:
    """What ``check`` found. ``worlds``: indices of the worlds that report something; ``bits``: theirs, StatusBit;
    ``message``: in words, empty where all is well."""

    worlds: tuple[int, ...] = ()
    bits: tuple[StatusBit, ...] = field(default=())
    message: str = ""

    @property
    def ok(self) -> bool:
        """Whether no world reports anything."""
        return not self.worlds


def check_status(solver, state, on_problem: str, contacts) -> Status:
    """See ``Solver.check``."""
    if on_problem not in ("raise", "warn", "ignore"):
        raise ModelError(f'check: on_problem is {on_problem!r}; it is "raise", "warn" or "ignore"')
    words = to_numpy(state.status)
    worlds = np.flatnonzero(words)
    if not worlds.size:
        _tell_of_nan(solver.model, on_problem)
        return Status()
    parts = {
        bit: _describe(bit, np.flatnonzero(words & bit), solver, state, contacts)
        for bit in StatusBit
        if (words & bit).any()
    }
    message = _joined(parts.values(), worlds, state)
    status = Status(tuple(worlds.tolist()), tuple(StatusBit(int(w)) for w in words[worlds]), message)
    if on_problem == "ignore":
        return status
    raised = [bit for bit in parts if bit & RAISED] if on_problem == "raise" else []
    warned = [bit for bit in parts if bit not in raised]
    if warned:
        text = _joined([parts[bit] for bit in warned], np.flatnonzero(words & int(sum(warned))), state)
        warn_user(f"solvers.{solver.name}: {text}")
    if raised:
        raise _exception(raised, [parts[bit] for bit in raised], words, solver, state, contacts)
    return status


def _tell_of_nan(model, on_problem: str) -> None:
    """Of a number of the model that is none, which kernels may pass over: no world reports it."""
    wrong = first_nan(model)
    if wrong and on_problem == "raise":
        raise ModelError(f"{wrong}; write a number there")
    if wrong and on_problem == "warn":
        warn_user(f"{wrong}; write a number there")


def _joined(parts, worlds, state) -> str:
    """The parts of a message, then the step at which the first of the worlds reported something first."""
    step = int(to_numpy(state.status_step)[worlds[0]])
    return f"{'; '.join(parts)}; world {worlds[0]} first reported at step {step}"


def _exception(raised, parts: list[str], words, solver, state, contacts) -> Exception:
    worlds = tuple(np.flatnonzero(words & int(sum(raised))).tolist())
    message = _joined(parts, worlds, state)
    if raised == [StatusBit.CONTACT_OVERFLOW]:
        needed, had = _contact_need(contacts, worlds)
        return CapacityError(message, buffer="contacts", needed=needed, had=had)
    step = int(to_numpy(state.status_step)[worlds[0]])
    element, quantity = _first_not_finite(solver.model, state, worlds[0])
    return DivergenceError(
        f"solvers.{solver.name}: {message}", worlds=worlds, step=step, element=element, quantity=quantity
    )


def _describe(bit: StatusBit, worlds: np.ndarray, solver, state, contacts) -> str:
    world = int(worlds[0])
    where = f"world{'s' if len(worlds) > 1 else ''} {shortened(worlds.tolist())}"
    words = solver.describe_status(bit, where, world)
    if words is not None:
        return words
    if bit == StatusBit.NOT_FINITE:
        element, quantity = _first_not_finite(solver.model, state, world)
        first = f", now first {quantity} of {element}" if element else ""
        wrong = first_nan(solver.model)
        cure = f"{wrong}: write a number there" if wrong else "reset the world, or take a smaller dt (see advise)"
        return f"numbers that are not finite in {where}{first}; {cure}"
    if bit == StatusBit.NOT_CONVERGED:
        return f"the solve of {where} did not reach its tolerance"
    if bit == StatusBit.PIVOT:
        return f"a pivot was not positive and was raised in {where}"
    if bit == StatusBit.CONTACT_OVERFLOW:
        return _describe_overflow(where, worlds, solver.model, contacts)
    return f"a reset of {where} named a source world that is not there or has other sizes; nothing was copied"


def _describe_overflow(where: str, worlds: np.ndarray, model, contacts) -> str:
    needed, had = _contact_need(contacts, worlds)
    told = f"contacts were left out in {where}"
    wrong = None if contacts is None else _wrong_contact(contacts, model, worlds)
    if wrong is not None:
        return f"{told}: {wrong}"
    if needed is not None:
        sizes, enough = f": {needed} were needed, the slab holds {had}", needed
    else:
        enough = int(model.contacts_needed()[worlds].max())
        why = "at an earlier step, or they named shapes or contact pairs of other worlds"
        sizes = f" ({why}); no more than {enough} can come"
        if contacts is not None and (contacts.capacity[worlds] >= enough).all():
            return f"{told}{sizes}, for which the slab has room"
    return f"{told}{sizes}; make them with model.contacts(capacity_per_world={enough})"


def _wrong_contact(contacts, model, worlds) -> str | None:
    """The first count or row of the worlds' contacts, as they are now, that a step does not take, in words."""
    count, start = to_numpy(contacts.count), to_numpy(contacts.world_start)
    shape_start, pair_start = to_numpy(model.world_shape_start), to_numpy(model.world_contact_pair_start)
    for world in worlds:
        if count[world] < 0:
            return f"contacts.count[{world}] is {count[world]}; it must be 0 or more"
        used = slice(int(start[world]), min(int(start[world]) + int(count[world]), int(start[world + 1])))
        for name, what, first in (
            ("shape0", "shape", shape_start),
            ("shape1", "shape", shape_start),
            ("parameter", "contact pair", pair_start),
        ):
            rows = to_numpy(getattr(contacts, name)[used])
            known = (rows >= first[world]) & (rows < first[world + 1])
            if name == "parameter":
                known |= rows == -1
            else:
                known |= (rows >= first[-1]) & (rows < model.shape_count)
            if not known.all():
                row = int(np.argmin(known))
                return f"contacts.{name}[{used.start + row}] is {rows[row]}, which is no {what} of world {world}"
    return None


def _contact_need(contacts, worlds) -> tuple[int | None, int | None]:
    """The most contacts that one of the worlds needed at the last collision, and the room it had; None where the last
    contacts had room."""
    if contacts is None:
        return None, None
    worlds = list(worlds)
    needed, had = np.maximum(to_numpy(contacts.needed), to_numpy(contacts.count))[worlds], contacts.capacity[worlds]
    worst = int(np.argmax(needed - had))
    return (int(needed[worst]), int(had[worst])) if needed[worst] > had[worst] else (None, None)


def _first_not_finite(model, state, world: int) -> tuple[str | None, str | None]:
    """Label of the first joint with a coordinate or rate that is not finite in a world, and which of the two."""
    for quantity, start, count in (
        ("joint_q", "world_coord_start", "joint_q_start"),
        ("joint_qd", "world_dof_start", "joint_qd_start"),
    ):
        first, end = (int(v) for v in to_numpy(getattr(model, start))[world : world + 2])
        bad = np.flatnonzero(~np.isfinite(to_numpy(getattr(state, quantity))[first:end]))
        if bad.size:
            joint = int(np.searchsorted(to_numpy(getattr(model, count)), first + bad[0], side="right")) - 1
            return f"joint {model.joint_label[joint]!r}", quantity
    return None, None
