"""Contacts of all worlds from the poses of their bodies.

The kernels are kernels_cuda/collide.cu, for models of the pairs that a step collides by itself, and collide_any.cu.
"""

from __future__ import annotations

import functools

from simengine.checks import require_container
from simengine.collision.broad_phase import collide_searched
from simengine.runtime.kernel import Kernel
from simengine.runtime.world_launch import launch_of


def collide(model, state, contacts) -> None:
    """Find the contacts of every world at ``state.body_q`` and write them to ``contacts``.

    World w's contacts stand in its slab, in the order (shape pair, feature): ``contacts.count[w]`` of them from slot
    ``contacts.world_start[w]`` on. A contact is made where two shapes that may collide are nearer than the sum of
    their margins and gaps. Witness points (m) are in the frames of their bodies, normal and tangent in world axes,
    distance in m; forces are set to zero. ``contacts.needed[w]`` is how many there were: more than ``count[w]`` where
    the slab is too small, which the solver's ``check`` reports.

    The state is only read. Nothing waits for the device, and nothing is allocated after the first call, so
    it can be captured. Raises ModelError where state or contacts belong to another model or
    device.
    """
    require_container("collide", "state", state, "state", model)
    require_container("collide", "contacts", contacts, "contacts", model)
    if model.broad_phase == "bvh":
        collide_searched(model, state, contacts)
        return
    if model.collides_in_step:
        launch = launch_of(model, "collide", "collide_memory_bytes", _kernel, "pairs", "collide")
    else:
        launch = launch_of(model, "collide_any", "collide_any_memory_bytes", _any_kernel, "pairs", "collide")
    launch(body_q=state.body_q, contacts=contacts)


def collide_at_joints(model, state, contacts) -> None:
    """``collide`` at ``state.joint_q`` for a step that is given no contacts, with the checks left to it."""
    launch = launch_of(model, "collide_joints", "collide_any_memory_bytes", _any_kernel, "pairs", "collide")
    launch(joint_q=state.joint_q, joint_qd=state.joint_qd, contacts=contacts)


@functools.cache
def _kernel(name: str) -> Kernel:
    return Kernel("collide.cu", name)


@functools.cache
def _any_kernel(name: str) -> Kernel:
    return Kernel("collide_any.cu", name)
