"""Contacts of all worlds from the poses of their bodies.

The kernels are kernels_cuda/collide.cu, for models of the pairs that a step collides by itself, collide_any.cu, and
collide_sdf.cu where there are distance fields too.
"""

from __future__ import annotations

import functools

from simengine.checks import checked_seconds, require_container
from simengine.collision.broad_phase import collide_searched
from simengine.runtime.kernel import Kernel
from simengine.runtime.world_launch import WorldLaunch, lanes_for, launch_of

FEW_LANES, MANY_WORLDS = 8, 2048
"""Lanes that work a world on a GPU where a batch group has at least so many worlds."""

BLOCK = 128
"""Threads of a block on a GPU: worlds take different times, and small blocks do not wait for each other."""


def collide(model, state, contacts, dt: float | None = None) -> None:
    """Find the contacts of every world at ``state.body_q`` and write them to ``contacts``.

    World w's contacts stand in its slab, in the order (shape pair, feature): ``contacts.count[w]`` of them from slot
    ``contacts.world_start[w]`` on. A contact is made where two shapes that may collide are nearer than the sum of
    their margins and gaps. Witness points (m) are in the frames of their bodies, normal and tangent in world axes,
    distance in m; forces are set to zero. ``contacts.needed[w]`` is how many there were: more than ``count[w]`` where
    the slab is too small, which the solver's ``check`` reports.

    ``dt`` (s): of the step that is to come. Pairs that would move further against each other in it, at
    ``state.body_qd``, than half of what they are thick are followed along their way (docs/contacts.md); ``time`` of
    what they meet is when. None: no pair is followed, and a body may pass through a thin wall within a step.

    The state is only read. Nothing waits for the device, and nothing is allocated after the first call, so
    it can be captured. Raises ModelError where state or contacts belong to another model or
    device, or dt is not a positive number.
    """
    step = 0.0 if dt is None else checked_seconds("collide: dt", dt)
    require_container("collide", "state", state, "state", model)
    require_container("collide", "contacts", contacts, "contacts", model)
    if model.broad_phase != "pairs":
        collide_searched(model, state, contacts, step)
        return
    if model.collides_in_step:
        launch = model.launches.get("collide") or simple_launch(model)
    else:
        launch = launch_of(model, "collide_any", "collide_any_memory_bytes", _kernels(model), "pairs", "collide")
    launch(body_q=state.body_q, body_qd=state.body_qd, dt=step, contacts=contacts)


def simple_launch(model, lanes: int | None = None) -> WorldLaunch:
    """The launch for a model of pairs that a step collides by itself, which the model keeps.

    ``lanes`` that work a world on a GPU: by default as many as a world has pairs, but few where there are many worlds,
    since the few pairs of a world that may touch leave more of them idle.
    """
    chosen = []
    for group in model.groups:
        own = lanes_for(group.counts()["pairs"])
        chosen.append(lanes or (min(own, FEW_LANES) if len(group.worlds) >= MANY_WORLDS else own))
    kernels = [_kernel] * len(chosen)
    launch = WorldLaunch(
        model, "collide", "collide_memory_bytes", kernels, chosen, "collide", {"model": model}, block=BLOCK
    )
    model.launches["collide"] = launch
    return launch


def collide_at_joints(model, state, contacts, dt: float) -> None:
    """``collide`` at ``state.joint_q`` for a step of ``dt`` that is given no contacts, with the checks left to it."""
    launch = launch_of(model, "collide_joints", "collide_any_memory_bytes", _kernels(model), "pairs", "collide")
    launch(joint_q=state.joint_q, joint_qd=state.joint_qd, dt=dt, contacts=contacts)


@functools.cache
def _kernel(name: str) -> Kernel:
    return Kernel("collide.cu", name)


@functools.cache
def _any_kernel(name: str) -> Kernel:
    return Kernel("collide_any.cu", name, quick=True)


@functools.cache
def _field_kernel(name: str) -> Kernel:
    return Kernel("collide_sdf.cu", name, quick=True)


def _kernels(model):
    return _field_kernel if model.collides_fields else _any_kernel
