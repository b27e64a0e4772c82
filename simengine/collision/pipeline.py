"""Contacts of all worlds from the poses of their bodies.

The kernels are kernels_cuda/collide.cu, for models of the pairs that a step collides by itself, and on a GPU
collide_many.cu where these have many worlds; collide_any.cu; and collide_sdf.cu where there are distance fields too.
Where a wheel does not bring the last two compiled, a GPU is given a text with the families of routines that the model's
pairs need, which takes less time to compile; models of the same families share it.
"""

from __future__ import annotations

import functools

from simengine import enums
from simengine.checks import checked_seconds, require_container
from simengine.collision.broad_phase import collide_searched
from simengine.runtime.kernel import Kernel
from simengine.runtime.launch import RESERVED_SHARED
from simengine.runtime.world_launch import WorldLaunch, lanes_for, launch_of

MANY_WORLDS, LANES_OF_MANY = 2048, 8
"""From how many worlds on each group of lanes takes several on a GPU, and how many lanes there are for each then."""

MOST_PAIRS, MOST_SHAPES = 1024, 128
"""Of the worlds that a group takes: more would leave shared memory for few groups."""

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
        launch = _launch_of_any(model, "collide_any")
    launch(body_q=state.body_q, body_qd=state.body_qd, dt=step, contacts=contacts)


def simple_launch(model, lanes: int | None = None) -> WorldLaunch:
    """The launch for a model of pairs that a step collides by itself, which the model keeps.

    ``lanes`` for each world on a GPU: by default as many as a world has pairs, but few where there are many worlds,
    since the few pairs of a world that may touch leave more of them idle. Groups of 32 lanes then take several worlds.
    """
    launch = None
    if model.device.is_cuda:
        many = [32 // lanes if lanes else worlds_of_group(group) for group in model.groups]
        launch = launch_of_many(model, many) if max(many, default=1) > 1 and _fits(model, many) else None
    if launch is None:
        own = [lanes or lanes_for(group.counts()["pairs"]) for group in model.groups]
        kernels, constants = [_kernel] * len(own), {"model": model}
        launch = WorldLaunch(model, "collide", "collide_memory_bytes", kernels, own, "collide", constants, BLOCK)
    model.launches["collide"] = launch
    return launch


def worlds_of_group(group) -> int:
    """How many worlds 32 lanes take: 1 where there are few worlds, or where each has many pairs or shapes."""
    counts = group.counts()
    if len(group.worlds) < MANY_WORLDS:
        return 1
    many = 32 // min(lanes_for(counts["pairs"]), LANES_OF_MANY)
    while many > 1 and (many * counts["pairs"] > MOST_PAIRS or many * counts["link_shapes"] > MOST_SHAPES):
        many //= 2
    return many


def launch_of_many(model, many: list[int]) -> WorldLaunch:
    """The launch of groups of 32 lanes that take ``many`` worlds, one number for each batch group."""
    kernels, lanes, constants = [_kernel_of_many(worlds) for worlds in many], [32] * len(many), {"model": model}
    memory = "collide_many_memory_bytes"
    return WorldLaunch(model, "collide_many", memory, kernels, lanes, "collide", constants, BLOCK, many)


def _fits(model, many: list[int]) -> bool:
    """Do blocks of such groups have room in the shared memory of the GPU?"""
    room = model.device.attributes["MaxSharedMemoryPerBlockOptin"] - RESERVED_SHARED
    memory = "collide_many_memory_bytes"
    of_each = zip(model.groups, many, strict=True)
    needed = (group.scratch_bytes(_kernel_of_many(worlds)(memory), 32)["scratch"] for group, worlds in of_each)
    return all(BLOCK // 32 * bytes_of_group <= room for bytes_of_group in needed)


def collide_at_joints(model, state, contacts, dt: float) -> None:
    """``collide`` at ``state.joint_q`` for a step of ``dt`` that is given no contacts, with the checks left to it."""
    launch_at_joints(model)(joint_q=state.joint_q, joint_qd=state.joint_qd, dt=dt, contacts=contacts)


def launch_at_joints(model) -> WorldLaunch:
    """What ``collide_at_joints`` launches."""
    return _launch_of_any(model, "collide_joints")


def _launch_of_any(model, name: str) -> WorldLaunch:
    """The launch of a kernel of collide_any.cu or collide_sdf.cu, which the model keeps."""
    memory = "collide_any_memory_bytes"
    return model.launches.get(name) or launch_of(model, name, memory, _kernels(model), "pairs", "collide")


@functools.cache
def _kernel(name: str) -> Kernel:
    return Kernel("collide.cu", name)


@functools.cache
def _kernel_of_many(worlds: int):
    """What gives a kernel of collide_many.cu by name, for groups that take so many worlds."""
    return functools.cache(lambda name: Kernel("collide_many.cu", name, defines={"SIM_MANY": worlds}))


def _kernels(model):
    """What gives a kernel for any pairs by name: on the CPU of the text that a wheel brings; on a GPU too, and where it
    does not, of one for the model's own pairs, which is to be compiled now."""
    file = "collide_sdf.cu" if model.collides_fields else "collide_any.cu"
    whole = kernels_for(file, None)
    if not model.device.is_cuda or whole("collide_any").is_prebuilt(model.device, model.precision, 32):
        return whole
    return kernels_for(file, enums.family_bits([group.tables["pair_routine"] for group in model.groups]))


@functools.cache
def kernels_for(file: str, routines: int | None):
    """What gives a kernel of ``file`` by name; ``routines``: bits of ``PairRoutine`` that it can run, None: all."""
    defines = {} if routines is None else {"SIM_ROUTINES": f"{routines:#x}ull"}
    return functools.cache(lambda name: Kernel(file, name, defines=defines, quick=True))
