"""``sim.reset``: puts marked worlds back to a source state, on the device and without waiting for it."""

from __future__ import annotations

import functools

import numpy as np

from simengine.checks import checked_array, checked_mask, require_container
from simengine.errors import ModelError
from simengine.model import Model
from simengine.runtime.kernel import Kernel
from simengine.runtime.world_launch import launch_of
from simengine.state import State


def reset(model: Model, state: State, world_mask=None, source: State | None = None, rows=None) -> None:
    """Put the marked worlds of ``state`` back; all other worlds keep their bits.

    ``world_mask`` (worlds,) bool on the model's device: the worlds to reset; default all. ``source``: the State whose
    ``joint_q`` and ``joint_qd`` they take, of this model or of one with the same batch groups (a bank of poses);
    default the model's initial coordinates. ``rows`` (worlds,) int32 on the device: the world of the source that each
    world takes; default its own number.

    Time, step count, status and the memory of solvers become zero, ``body_q`` and ``body_qd`` follow by forward
    kinematics; ``random_key`` and ``draw_count`` go on. Nothing waits for the device, and the call can be captured; the
    arrays given are read when it runs. A row that the source does not have, or of another batch group, leaves the world
    as it is and sets ``StatusBit.RESET_SOURCE``. Raises ModelError for arguments of a wrong
    kind, shape, dtype or device.
    """
    _check_states(model, state, source, rows)
    launch = launch_of(model, "reset_worlds", "reset_memory_bytes", _kernel, "links", "reset")
    launch(
        source_model=model if source is None else source.model,
        source_joint_q=model.joint_q if source is None else source.joint_q,
        source_joint_qd=model.joint_qd if source is None else source.joint_qd,
        rows=None if rows is None else checked_array("reset, rows", rows, (model.world_count,), np.int32, model.device),
        world_mask=checked_mask("reset", model, world_mask),
        state=state,
    )


def _check_states(model: Model, state: State, source: State | None, rows) -> None:
    require_container("reset", "state", state, "state", model)
    if source is None:
        return
    if not isinstance(source, State):
        raise ModelError(f"reset: source must be a State, got {type(source).__name__}")
    if source is state and rows is not None:
        raise ModelError(
            "reset: source is the state itself, which changes while rows are read from it: use state.copy()"
        )
    if source.precision != model.precision or {source.device, source.model.device} != {model.device}:
        raise ModelError(
            f"reset: source is {source.precision} on {source.device}, the model {model.precision} on {model.device}"
        )
    if source.model is not model and not _same_groups(source.model, model):
        raise ModelError("reset: the source's model has other joints, or other batch groups, than this model")


def _same_groups(one: Model, other: Model) -> bool:
    """Whether the batch groups of two models have the same links and degrees of freedom, in the same order."""
    names = [name for name in one.groups[0].tables if name.startswith(("link_", "dof_"))]
    return len(one.groups) == len(other.groups) and all(
        np.array_equal(a.tables[name], b.tables[name])
        for a, b in zip(one.groups, other.groups, strict=True)
        for name in names
    )


@functools.cache
def _kernel(name: str) -> Kernel:
    return Kernel("reset.cu", name)
