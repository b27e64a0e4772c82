"""Model: the compiled arrays of all worlds, made by ``ModelBuilder.finalize``."""

from __future__ import annotations

import fnmatch
import functools
import hashlib
import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from simengine import enums, schema, storage, structs
from simengine.containers import Container, counts_of, require_arrays, to_numpy
from simengine.errors import ModelError, did_you_mean
from simengine.runtime.devices import Device, get_device
from simengine.state import Contacts, Control, State
from simengine.structure import check_arrays, check_groups, require_member

if TYPE_CHECKING:
    from simengine.runtime.kernel import Kernel

LABELLED = {kind: count for count, kind in schema.ELEMENTS.items()}
"""Kinds of things that have labels, and the count of each."""

COUNT_NAMES = {
    "world_count": "worlds",
    "body_count": "bodies",
    "joint_count": "joints",
    "joint_coord_count": "coords",
    "joint_dof_count": "dofs",
    "shape_count": "shapes",
    "site_count": "sites",
    "equality_count": "equalities",
    "mesh_count": "meshes",
}

PARAMETERS = {"shape_combine", "shape_priority", "shape_contact_dim", "contact_pair_dim"}
"""Integer rows that kernels read at each step; all other integer rows of a model are its structure."""


def structure_rows() -> tuple[str, ...]:
    """Names of the rows of a model that are fixed when it is made."""
    return tuple(row.name for row in schema.rows("model") if row.dtype == "int32" and row.name not in PARAMETERS)


class BatchGroup(Container):
    """Worlds of one structure: their topology as arrays on the device.

    ``tables``: the same arrays on the host (for specialised kernels). ``worlds``: indices of the worlds, on the host.
    """

    owner = "topology"

    def __init__(self, tables: Mapping[str, np.ndarray], device: Device, precision: str):
        require_arrays("topology", tables, schema.rows("topology"))
        tables = {name: np.array(table, np.int32) for name, table in tables.items()}
        counts_of("topology", tables)
        require_member("topology.dof_kind", tables["dof_kind"], enums.DofKind)
        require_member("topology.pair_routine", tables["pair_routine"], enums.PairRoutine)
        super().__init__(device, precision, structs.topology_counts(tables))
        self._fill(tables)
        for table in tables.values():
            table.flags.writeable = False
        self._set(tables=tables, worlds=tables["group_world"], _scratch_bytes={})

    def scratch_bytes(self, kernel: Kernel, lanes: int) -> dict[str, int]:
        """Bytes of ``scratch`` and ``spill`` that one world needs, asked once of ``kernel`` (topology, bytes).

        ``lanes``: those of the kernels that use the scratch; with the same ones it is the same module that answers, and
        no second one is compiled. May be asked while a capture is on: the question is not captured.
        """
        key = (kernel, lanes)
        if key not in self._scratch_bytes:
            with self.device.apart():
                measured = self.device.zeros(2, np.int64)
                arguments = {"topology": self, "bytes": measured}
                kernel.prepare(arguments, items=1, lanes=lanes, precision=self.precision, device=self.device)()
                self._scratch_bytes[key] = {"scratch": int(measured[0]), "spill": int(measured[1])}
        return self._scratch_bytes[key]

    def _fixed_rows(self) -> frozenset[str]:
        return frozenset(self._arrays)


class Model(Container):
    """Bodies, joints and shapes of all worlds, as arrays (docs/arrays.md lists them).

    Parameters such as masses and friction may be written; call ``update`` afterwards. The structure (types, parents,
    starts) is fixed. ``groups``: the batch groups. ``up_axis``: "X", "Y" or "Z".
    """

    owner = "model"

    def __init__(
        self,
        arrays: Mapping[str, np.ndarray],
        labels: Mapping[str, Sequence[str]],
        topologies: Sequence[Mapping[str, np.ndarray]],
        device: str | Device | None = None,
        precision: str = "float32",
        up_axis: str = "Z",
        unsupported_pairs: Mapping[tuple[str, str], int] | None = None,
        world_offset: np.ndarray | None = None,
        broad_phase: str = "pairs",
    ):
        """From host arrays: every row of owner "model", one dict of topology arrays for each batch group.

        ``labels``: one sequence of strings for each of body, joint, shape, site, equality. ``unsupported_pairs``: how
        many pairs of two shape types no routine collides. ``world_offset`` (worlds, 3): where viewers show each world,
        default the origin. ``broad_phase``: "pairs" where the topologies list the pairs of shapes, "bvh" or
        "dense" where they are searched for (simengine/collision/broad_phase.py). Raises ModelError where sizes
        disagree.
        """
        if precision not in ("float32", "float64"):
            raise ModelError(f'precision must be "float32" or "float64", got {precision!r}')
        if up_axis not in ("X", "Y", "Z"):
            raise ModelError(f'up_axis must be "X", "Y" or "Z", got {up_axis!r}')
        if broad_phase not in ("pairs", "bvh", "dense"):
            raise ModelError(f'broad_phase must be "pairs", "bvh" or "dense", got {broad_phase!r}')
        require_arrays("model", arrays, schema.rows("model"))
        counts = counts_of("model", arrays)
        check_arrays(arrays, counts)
        super().__init__(get_device(device), precision, counts)
        self._fill(arrays)
        starts = {name: np.asarray(arrays[schema.world_start(name)], np.int64) for name in schema.PER_WORLD}
        self._set(
            groups=[BatchGroup(tables, self.device, precision) for tables in topologies],
            up_axis=up_axis,
            broad_phase=broad_phase,
            unsupported_pairs=dict(unsupported_pairs or {}),
            world_offset=np.zeros((counts["worlds"], 3)) if world_offset is None else np.array(world_offset, float),
            particle_count=0,
            launches={},  # of kernels over the worlds, by name (simengine/runtime/world_launch.py)
            _labels=_checked_labels(labels, counts),
            _starts=starts,
            _solver_names=set(),
            _struct_hashes=None,
            **{name: counts[count] for name, count in COUNT_NAMES.items()},
        )
        self._set(**{f"{kind}_label": names for kind, names in self._labels.items()})
        check_groups([group.tables for group in self.groups], [group.counts() for group in self.groups], arrays)
        self._freeze_structure()

    def _fixed_rows(self) -> frozenset[str]:
        return frozenset(structure_rows())

    def world_of(self, name: str, index: int) -> int:
        """The world that entry ``index`` of the array ``name`` belongs to; -1 for what no single world has."""
        return self.world_of_entry(next(row.shape[0] for row in self.rows() if row.name == name), index)

    def world_of_entry(self, count: str, index: int) -> int:
        """The world that entry ``index`` of an array over ``count`` belongs to; -1 for what no single world has."""
        if count == "worlds":
            return index
        if count not in self._starts:
            return -1
        world = int(np.searchsorted(self._starts[count], index, side="right")) - 1
        return world if world < self.world_count else -1

    # containers of this model

    @property
    def solvers(self) -> frozenset[str]:
        """Solvers made for this model: states made now carry their memory."""
        return frozenset(self._solver_names)

    def add_solver_rows(self, solver: str) -> None:
        """Let states made from now on carry the memory of ``solver``; its rows must be in the table."""
        if not any(row.solver == solver for row in schema.TABLE):
            known = ", ".join(sorted({row.solver for row in schema.TABLE if row.solver}))
            raise ModelError(f"the table has no rows of solver {solver!r}; it has: {known}")
        self._solver_names.add(solver)

    def state(self) -> State:
        """A new State: the model's initial coordinates and poses, at time 0."""
        return State(self)

    def control(self) -> Control:
        """A new Control: no efforts, the model's drive targets."""
        return Control(self)

    def contacts(self, capacity_per_world: int | None = None) -> Contacts:
        """A new Contacts; ``capacity_per_world`` sets the slots of every world (default: see ``Contacts``)."""
        return Contacts(self, capacity_per_world)

    @functools.cached_property
    def collides_in_step(self) -> bool:
        """Whether all pairs of shapes are of kinds that a step collides by itself (docs/contacts.md)."""
        last = enums.LAST_PRIMITIVE_ROUTINE
        return all(bool((group.tables["pair_routine"] <= last).all()) for group in self.groups)

    @functools.cached_property
    def collides_fields(self) -> bool:
        """Whether a pair of shapes is with a distance field; where pairs are searched for, whether one may be."""
        if self.broad_phase != "pairs":
            return bool((to_numpy(self.shape_type) == enums.ShapeType.SDF).any())
        first = enums.PairRoutine.PLANE_SDF
        return any(bool((group.tables["pair_routine"] >= first).any()) for group in self.groups)

    def contacts_needed(self) -> np.ndarray:
        """The most contacts that the pairs of each world make (worlds,); where pairs are searched for, the contacts
        that a pile of so many shapes makes, with room to spare."""
        if self.broad_phase != "pairs":
            from simengine.collision.broad_phase import searched_contacts

            return searched_contacts(self)
        needed = np.zeros(self.world_count, np.int64)
        for group in self.groups:
            needed[group.worlds] = group.counts()["pair_slots"]
        return needed

    def update(self, world_mask=None) -> None:
        """Recompute on the device what depends on masses, sizes and poses: the inverse weights, and the radii of shapes
        whose ``shape_size`` was written.

        ``world_mask`` (worlds,) bool on the model's device: which worlds; default all. Shapes that all worlds share are
        looked at in any case.
        """
        from simengine.collision.bounds import update_shape_radii
        from simengine.dynamics import update_model

        update_model(self, world_mask)
        update_shape_radii(self, world_mask)

    # looking things up

    def find_bodies(self, pattern: str) -> np.ndarray:
        """Indices of the bodies whose label matches a glob such as "*_foot", ascending; ModelError where none does."""
        return self._find("body", pattern)

    def find_joints(self, pattern: str) -> np.ndarray:
        """Indices of the joints whose label matches a glob, ascending; ModelError where none does."""
        return self._find("joint", pattern)

    def find_shapes(self, pattern: str) -> np.ndarray:
        """Indices of the shapes whose label matches a glob, ascending; ModelError where none does."""
        return self._find("shape", pattern)

    def find_sites(self, pattern: str) -> np.ndarray:
        """Indices of the sites whose label matches a glob, ascending; ModelError where none does."""
        return self._find("site", pattern)

    def _find(self, kind: str, pattern: str) -> np.ndarray:
        if not isinstance(pattern, str):
            raise ModelError(f"find a {kind} by its label or a glob, a string; got {pattern!r}")
        labels = self._labels[kind]
        matches = [i for i, label in enumerate(labels) if label == pattern or fnmatch.fnmatchcase(label, pattern)]
        if not matches:
            hint = did_you_mean(pattern, itertools.islice(labels, 1000))
            raise ModelError(f"no {kind} label matches {pattern!r} among {len(labels)}{hint}")
        return np.array(matches, np.intp)

    def by_world(self, array, over: str | None = None):
        """A view (worlds, n, ...) of an array over all worlds, without a copy; for worlds of equal sizes.

        Arrays over shapes leave out the shared static ones, which stand last. ``over`` names what the array runs over
        ("worlds", "bodies", "joints", "coords", "dofs", "shapes", "sites", "equalities", "contact_pairs"); it is needed
        only where the length does not tell. Raises ModelError where worlds differ or the length fits nothing.
        """
        if not hasattr(array, "shape"):
            raise ModelError(f"by_world: give an array of the model, its state or control; got {array!r}")
        over = over or self._runs_over(array)
        if over == "worlds":
            return array.reshape(self.world_count, 1, *array.shape[1:])
        if over not in schema.PER_WORLD:
            raise ModelError(f"by_world: over={over!r} is not one of worlds, {', '.join(schema.PER_WORLD)}")
        if len(array) != self._counts[over]:
            raise ModelError(f"by_world: the array is {len(array)} long, the model has {self._counts[over]} {over}")
        each, own = self._share(over)
        if not array.flags.c_contiguous:
            raise ModelError("by_world: the array is not contiguous, so it has no such view; copy it first")
        return array[:own].reshape(self.world_count, each, *array.shape[1:])

    def _share(self, over: str) -> tuple[int, int]:
        """How many of a kind each world has and all worlds have together; ModelError where worlds differ."""
        sizes = np.diff(self._starts[over])
        differing = np.flatnonzero(sizes != sizes[0])
        if differing.size:
            odd = differing[0]
            raise ModelError(f"by_world: worlds differ: world 0 has {sizes[0]} {over}, world {odd} has {sizes[odd]}")
        return int(sizes[0]), int(self._starts[over][-1])

    def _runs_over(self, array) -> str:
        for row in schema.rows("model"):
            if self._arrays[row.name] is array and not row.is_offsets:
                return row.over
        names = [name for name in (*schema.PER_WORLD, "worlds") if self._counts[name] == len(array)]
        if not names:
            sizes = ", ".join(f"{name} {self._counts[name]}" for name in ("worlds", *schema.PER_WORLD))
            raise ModelError(f"by_world: an array of length {len(array)} fits nothing of the model: {sizes}")
        views = {self._share(name) for name in names if name != "worlds"}
        if len(views) > 1:
            raise ModelError(f"by_world: length {len(array)} may be {' or '.join(names)}; say over=...")
        return names[0]

    # files and identity

    def save(self, path) -> None:
        """Write the model to an .npz file, new and then renamed; ``Model.load`` gives it back bit for bit."""
        storage.save_model(self, path)

    @staticmethod
    def load(path, device: str | Device | None = None) -> Model:
        """A model from a file of ``save`` on ``device`` (default as in ``finalize``), of the precision it was saved in.

        Raises AssetError where the file is damaged, is no saved model, or holds numbers that do not fit one another.
        Solvers are made anew.
        """
        return storage.load_model(path, device)

    def labels(self) -> dict[str, Sequence[str]]:
        """The labels of each kind of thing: body, joint, shape, site, equality."""
        return dict(self._labels)

    def structure_hashes(self) -> dict[str, str]:
        """Hashes of the rows of the structure and of the topology of each batch group, by name: to know a model by."""
        if self._struct_hashes is None:
            hashes = {name: _hash(self._arrays[name]) for name in structure_rows()}
            for i, group in enumerate(self.groups):
                hashes |= {f"group {i} {name}": _hash(table) for name, table in group.tables.items()}
            self._set(_struct_hashes=hashes)
        return dict(self._struct_hashes)


def _hash(array) -> str:
    return hashlib.blake2b(np.ascontiguousarray(to_numpy(array)).tobytes(), digest_size=16).hexdigest()


def _checked_labels(labels: Mapping[str, Sequence[str]], counts: Mapping[str, int]) -> dict[str, Sequence[str]]:
    unknown = set(labels) - set(LABELLED)
    if unknown:
        raise ModelError(f"labels of {', '.join(sorted(unknown))}: known are {', '.join(LABELLED)}")
    found = {kind: labels.get(kind, []) for kind in LABELLED}
    for kind, names in found.items():
        if len(names) != counts[LABELLED[kind]]:
            raise ModelError(f"{len(names)} labels of kind {kind} for {counts[LABELLED[kind]]}")
    return found
