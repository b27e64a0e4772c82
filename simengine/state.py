"""State, Control and Contacts: what evolves, what drives, and where shapes touch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from simengine import schema, storage
from simengine.containers import Container, dtype_of, to_numpy
from simengine.errors import ModelError, shortened
from simengine.runtime.devices import Device, get_device

if TYPE_CHECKING:
    from simengine.model import Model

CONTACT_MEMORY_CAP = 512 * 2**20
"""Bytes that the slabs of all worlds together take at most, unless ``capacity_per_world`` is given."""

MOST_SLOTS = (2**31 - 1) // 3
"""Kernels count the numbers of a row of three in 32 bits."""


class ModelContainer(Container):
    """Arrays that belong to a model: copied, assigned and moved as one."""

    def __init__(self, model: Model, device: Device | None, solvers=(), counts=None):
        super().__init__(device or model.device, model.precision, counts or model.counts(), solvers)
        self._set(model=model)

    def copy(self):
        """A new container of the same model with the same values."""
        return self._duplicate(self.device)

    def to(self, device: str | Device):
        """A copy on another device, "cpu" or "cuda:0"; the model stays where it is."""
        return self._duplicate(get_device(device))

    def _duplicate(self, device: Device):
        twin = type(self).__new__(type(self))
        ModelContainer.__init__(twin, self.model, device, self.solvers, self._counts)
        twin._fill(self._arrays if device == self.device else {name: to_numpy(a) for name, a in self._arrays.items()})
        return twin

    def world_of(self, name: str, index: int) -> int:
        """The world that entry ``index`` of the array ``name`` belongs to; -1 for what no single world has."""
        return self.model.world_of_entry(next(row.shape[0] for row in self.rows() if row.name == name), index)

    def assign(self, other) -> None:
        """Copy all values of ``other``, of the same kind and shapes, from any device.

        Raises ModelError where the two do not have the same arrays, or their models differ in structure.
        """
        if type(other) is not type(self):
            raise ModelError(f"{self.owner}.assign wants a {type(self).__name__}, got {type(other).__name__}")
        if other.precision != self.precision:
            raise ModelError(f"{self.owner}.assign: this one is {self.precision}, the other {other.precision}")
        if other.solvers != self.solvers:
            differing = ", ".join(sorted(other.solvers ^ self.solvers))
            raise ModelError(f"{self.owner}.assign: only one of the two carries the memory of {differing}")
        if other.counts() != self.counts():
            raise ModelError(f"{self.owner}.assign: sizes differ, {self.counts()} here, {other.counts()} there")
        if other.model is not self.model:
            here, there = self.model.structure_hashes(), other.model.structure_hashes()
            if differing := storage.differing_names(here, there):
                names = shortened(differing, 8)
                raise ModelError(f"{self.owner}.assign: the other is of another model; these differ: {names}")
        for name in self._arrays.keys() - self._fixed_rows():
            array, value = self._arrays[name], other._arrays[name]
            self._copy_into(name, array, value if other.device == self.device else to_numpy(value), from_host=True)


class State(ModelContainer):
    """What evolves: coordinates, rates, poses, time, random draws, status, and the memory of the model's solvers.

    Made by ``model.state()``: the model's initial state. Everything that is needed to go on bit for bit is in it.

    Poses stand in it twice: ``joint_q`` and ``joint_qd`` by joints, ``body_q`` and ``body_qd`` by bodies. A solver
    reads one of the two (``solver.coordinates``) and writes both. ``Featherstone`` reads those of joints: what is
    written to ``body_q`` or ``body_qd`` has no effect on a step until ``sim.eval_ik(model, state)`` brings it to the
    joints. After writing ``joint_q``, ``sim.eval_fk(model, state)`` does the same for the bodies, which ``sim.collide``
    and sensors read.
    """

    owner = "state"

    def __init__(self, model: Model):
        super().__init__(model, None, model.solvers)
        initial = ("joint_q", "joint_qd", "body_q", "body_qd", "random_key")
        self._fill({name: getattr(model, name) for name in initial})

    def require_rows(self, solver: str) -> None:
        """Raise ModelError unless this state carries the memory of ``solver`` (a name such as "Featherstone")."""
        if solver not in self.solvers:
            raise ModelError(
                f"this state was made before solvers.{solver} and carries no memory for it; "
                f"make the solver first, then the states: solver = solvers.{solver}(model); state = model.state()"
            )

    def save(self, path) -> None:
        """Write all arrays to an .npz file, new and then renamed; ``State.load`` resumes bit for bit."""
        storage.save_state(self, path)

    @staticmethod
    def load(model: Model, path) -> State:
        """A state from a file of ``save``.

        Raises AssetError where the file is damaged or is no saved state, ModelError where it belongs to another model
        or to other solvers; the message names what differs.
        """
        return storage.load_state(model, path)


class Control(ModelContainer):
    """What drives: efforts, forces, drive targets. Made by ``model.control()``: no efforts, the model's targets."""

    owner = "control"

    def __init__(self, model: Model):
        super().__init__(model, None)
        self._fill({})
        self.clear()

    def clear(self) -> None:
        """Back to how ``model.control()`` made it: zero efforts and forces, the model's targets, equalities active."""
        self.joint_f = 0.0
        self.body_f = 0.0
        self.joint_target_pos = self.model.joint_target_pos
        self.joint_target_vel = self.model.joint_target_vel
        self.kinematic_q = self.model.body_q
        self.equality_active = 1


class Contacts(ModelContainer):
    """Contacts of all worlds: world w owns the slots from ``world_start[w]`` to ``world_start[w + 1]``.

    Made by ``model.contacts()``. A slab holds every contact that the world's pairs can make, unless all slabs together
    would take more than 512 MB: then each is cut to an equal share (``cut`` is true, ``capacity`` says the sizes) and a
    world with more contacts reports an overflow. Where pairs are searched for (``broad_phase`` is not "pairs"), a slab
    holds 32 contacts for each shape that moves. Arrays are writable, so that contacts of another engine can be fed in:
    fill the slots and ``count``. Where the model has contact pairs fill ``parameter`` too: -1 (as it is at first), or
    the contact pair of the contact's world whose parameters are to act. ``normal`` and ``tangent`` must be of length 1
    and square to each other, which no step looks at: a contact with a normal of zero pushes nothing.
    """

    owner = "contacts"

    def __init__(self, model: Model, capacity_per_world: int | None = None):
        needed = model.contacts_needed()
        capacity = slab_sizes(needed, model.precision, capacity_per_world)
        starts = np.concatenate(([0], np.cumsum(capacity, dtype=np.int64)))
        if starts[-1] > MOST_SLOTS:
            raise ModelError(f"{starts[-1]} contact slots are more than {MOST_SLOTS}; give a lower capacity_per_world")
        super().__init__(model, None, (), {**model.counts(), "contact_slots": int(starts[-1])})
        self._fill({"world_start": starts.astype(np.int32), "parameter": np.full(starts[-1], -1, np.int32)})
        cut = bool((capacity < needed).any()) or model.broad_phase != "pairs"
        self._set(capacity=capacity, cut=cut, searches={})  # searches: simengine/collision/broad_phase.py
        self._freeze_structure()

    def _duplicate(self, device: Device):
        twin = super()._duplicate(device)
        twin._set(capacity=self.capacity, cut=self.cut, searches={})
        twin._freeze_structure()
        return twin

    def same_arrays(self) -> Contacts:
        """A container of the very same arrays: what a search that this one keeps may hold, so that both can go."""
        twin = type(self).__new__(type(self))
        twin._set(**self.__dict__ | {"searches": {}})
        return twin

    def _fixed_rows(self) -> frozenset[str]:
        return frozenset({"world_start"})

    def world_of(self, name: str, index: int) -> int:
        """The world in whose slab entry ``index`` lies, or whose entry of ``count`` it is."""
        if len(self._arrays[name]) != self.counts()["contact_slots"]:
            return super().world_of(name, index)
        return int(np.searchsorted(np.cumsum(self.capacity), index, side="right"))

    def assign(self, other) -> None:
        """Copy all values of ``other``; its slabs must be of the same sizes."""
        if isinstance(other, Contacts) and not np.array_equal(self.capacity, other.capacity):
            raise ModelError("contacts.assign: the slabs of the two differ; make both with the same capacity_per_world")
        super().assign(other)


def slab_sizes(needed: np.ndarray, precision: str, capacity_per_world: int | None) -> np.ndarray:
    """Slots of each world's slab (worlds,) int64, from the contacts that its pairs can make.

    Without ``capacity_per_world`` the worst case, cut to one share for all such that the memory stays under
    ``CONTACT_MEMORY_CAP``; a share is at least one slot.
    """
    if capacity_per_world is not None:
        if (
            not isinstance(capacity_per_world, (int, np.integer))
            or capacity_per_world is True
            or not 1 <= capacity_per_world < 2**31
        ):
            raise ModelError(f"capacity_per_world must be a positive integer of 31 bits, got {capacity_per_world!r}")
        return np.full(len(needed), int(capacity_per_world), np.int64)
    budget = CONTACT_MEMORY_CAP // bytes_per_slot(precision)
    if needed.sum() <= budget:
        return needed.astype(np.int64)
    # the largest share s with sum(min(needed, s)) <= budget: worlds in ascending order of need get all, the rest s
    ordered = np.sort(needed)
    before = np.concatenate(([0], np.cumsum(ordered)[:-1]))
    shares = (budget - before) // np.arange(len(needed), 0, -1)
    share = max(int(shares[np.argmax(shares < ordered)]), 1)
    return np.minimum(needed, share).astype(np.int64)


def bytes_per_slot(precision: str) -> int:
    """Bytes of one contact in all arrays of Contacts."""
    slot_rows = [row for row in schema.rows("contacts") if row.shape[0] == "contact_slots"]
    return sum(int(np.prod(row.shape[1:], dtype=int)) * dtype_of(row, precision).itemsize for row in slot_rows)
