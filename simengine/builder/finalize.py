"""From templates to the arrays of all worlds: each template is compiled once and tiled with NumPy."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from simengine import schema
from simengine.builder.elements import Shape
from simengine.builder.labels import TiledLabels
from simengine.builder.mesh_collision import collision_rows
from simengine.builder.mesh_data import Mesh
from simengine.builder.template import Template, shape_arrays
from simengine.builder.topology import FLOATING
from simengine.enums import BodyFlag, EqualityType, ShapeFlag, ShapeType
from simengine.errors import CapacityError, ModelError
from simengine.pair_routines import routine_table

REFERENCES = schema.references()
DTYPES = {"real": {"float32": np.float32, "float64": np.float64}}


MOST_NUMBERS = 2**31 - 1
"""Of an array: kernels count them with 32 bits."""


def check_room(totals: Mapping[str, int]) -> None:
    """CapacityError where a model of so many bodies, joints, shapes and so on has an array that is too long."""
    for kind, total in totals.items():
        rows = [row for owner in ("model", "state", "control") for row in schema.rows(owner) if row.over == kind]
        most = MOST_NUMBERS // max((math.prod(row.shape[1:]) for row in rows), default=1)
        if total > most:
            raise CapacityError(
                "more than the arrays of one model hold: make fewer worlds, or several models",
                buffer=kind,
                needed=int(total),
                had=most,
            )


@dataclass
class ModelData:
    """What a Model is made of: host arrays by name, labels by kind, topology of each batch group, counted gaps."""

    arrays: dict[str, np.ndarray]
    labels: dict[str, Sequence[str]]
    topologies: list[dict[str, np.ndarray]]
    unsupported_pairs: dict[tuple[str, str], int]
    broad_phase: str


def assemble(
    templates: Sequence[Template],
    template_of_world: np.ndarray,
    prefixes: dict[int, str],
    shared: Sequence[Shape],
    precision: str,
    seed: int,
) -> ModelData:
    """The arrays of all worlds.

    ``template_of_world`` (worlds,): index into ``templates``. ``prefixes``: of the labels of single worlds.
    ``shared``: static shapes of all worlds, which stand last. ``precision``: "float32" or "float64".
    """
    broad_phase = one_broad_phase(templates)
    check_small_inertias(templates, precision)
    tiler = Tiler(templates, template_of_world, precision)
    check_room({kind: int(start[-1]) for kind, start in tiler.starts.items()})
    meshes: dict[Mesh, int] = {}
    for template in templates:
        for mesh in template.meshes:
            meshes.setdefault(mesh, len(meshes))
    static = shape_arrays(shared, meshes)
    rows = {row.name: row for row in schema.rows("model")}
    arrays = {}
    for name, row in rows.items():
        if row.over in schema.PER_WORLD and name in templates[0].arrays:
            arrays[name] = tiler.tile(row, static.get(name), meshes)
    arrays |= tiler.world_arrays(len(shared), seed)
    arrays |= no_searched_pairs() if broad_phase == "pairs" else searched_pairs(tiler)
    arrays |= mesh_arrays(list(meshes), precision)
    real = DTYPES["real"][precision]
    for name, values in collision_rows(list(meshes), arrays).items():
        arrays[name] = _cast(values, real, name) if rows[name].dtype == "real" else values
    topologies, arrays["world_group"] = group_worlds(templates, tiler.template_of_world)
    labels = {
        kind: TiledLabels(
            [template.labels[kind] for template in templates],
            template_of_world,
            prefixes,
            tuple(shape.label for shape in shared) if kind == "shape" else (),
        )
        for kind in schema.ELEMENTS.values()
    }
    check_surface_sizes(arrays, labels["shape"], precision)
    missing = Counter()
    for template, worlds in zip(templates, tiler.worlds_of, strict=True):
        for types, count in template.unsupported.items():
            missing[types] += count * len(worlds)
    return ModelData(arrays, labels, topologies, dict(missing), broad_phase)


SURFACE_SIZES = {"float32": (3e-10, 2e9), "float64": (1e-15, 1e15)}
"""m: least and largest radius of a surface that collides. Products of four lengths need digits."""


def check_surface_sizes(arrays: dict[str, np.ndarray], labels: Sequence[str], precision: str) -> None:
    """ModelError for a mesh or height field that collides and whose size is beyond a precision."""
    least, most = SURFACE_SIZES[precision]
    surfaces = np.isin(arrays["shape_type"], (ShapeType.MESH, ShapeType.HEIGHTFIELD))
    surfaces &= (arrays["shape_flags"] & ShapeFlag.COLLIDES) != 0
    radius = arrays["shape_radius"]
    wrong = np.flatnonzero(surfaces & ~((radius >= least) & (radius <= most)))
    if wrong.size:
        first = int(wrong[0])
        wanted = "larger" if radius[first] < least else "smaller"
        advice = ', or finalize with precision="float64"' if precision == "float32" else ""
        raise ModelError(
            f"reaches {radius[first]:g} m from its origin; surfaces collide in {precision} from {least:g} to "
            f"{most:g} m: make it {wanted}{advice}",
            element=f"shape {labels[first]!r}",
        )


def check_small_inertias(templates: Sequence[Template], precision: str) -> None:
    """ModelError for a free body whose least moment of inertia has no inverse in the precision."""
    least = np.finfo(DTYPES["real"][precision]).tiny
    for template in templates:
        free = template.arrays["joint_child"][np.isin(template.arrays["joint_type"], FLOATING)]
        free = free[template.arrays["body_flags"][free] & BodyFlag.KINEMATIC == 0]
        moments = np.linalg.eigvalsh(template.arrays["body_inertia"][free])[:, 0]
        wrong = np.flatnonzero((moments > 0) & (moments < least))
        if wrong.size:
            raise ModelError(
                f"has a moment of inertia of {moments[wrong[0]]:g} kg m2, too small for {precision} (at least "
                f"{least:.2g}): make the body larger or heavier"
                + (', or finalize with precision="float64"' if precision == "float32" else ""),
                element=f"body {template.labels['body'][free[wrong[0]]]!r}",
            )


def one_broad_phase(templates: Sequence[Template]) -> str:
    """How pairs are found in all worlds: searched for in all where in one of them.

    Templates were all compiled for one way that a user named, or each was left to "pairs" or "search".
    """
    ways = {template.broad_phase for template in templates}
    if ways == {"pairs"}:
        return "pairs"
    (way,) = ways - {"pairs"}
    for template in templates:
        template.search_pairs(way)
    return way


DENSE_TESTS = {"cuda": 200_000_000, "cpu": 20_000_000}
"""How many boxes are compared at most, by the kind of device, before trees find pairs in less time."""


def choose_search(arrays: dict[str, np.ndarray], is_cuda: bool) -> str:
    """ "dense" where comparing every two boxes of a world is quicker than building trees, else "bvh"."""
    collides = (arrays["shape_flags"] & ShapeFlag.COLLIDES) != 0
    before = np.concatenate([[0.0], np.cumsum(collides)])
    own, shared = np.diff(before[arrays["world_shape_start"]]), before[-1] - before[arrays["world_shape_start"][-1]]
    tests = (own * (0.5 * own + shared)).sum()
    return "dense" if tests <= DENSE_TESTS["cuda" if is_cuda else "cpu"] else "bvh"


def no_searched_pairs() -> dict[str, np.ndarray]:
    """The rows of ``searched_pairs`` of a model that lists its pairs."""
    names = ("filtered_shape0", "filtered_shape1", "explicit_shape0", "explicit_shape1", "explicit_parameter")
    return {name: np.zeros(0, np.int32) for name in names}


def searched_pairs(tiler: Tiler) -> dict[str, np.ndarray]:
    """The filtered and the explicit pairs of all worlds, as shapes of the model, sorted, and the contact pair of each
    explicit one."""
    lookup = routine_table()
    found: dict[str, list[np.ndarray]] = {"filtered": [], "explicit": []}
    for template, worlds in zip(tiler.templates, tiler.worlds_of, strict=True):
        rules, start = template.rules, tiler.starts["shapes"][worlds][:, None, None]
        starts = np.concatenate([start, start, tiler.starts["contact_pairs"][worlds][:, None, None]], axis=2)
        swap = rules.type[rules.explicit]
        explicit = np.where((swap[:, 0] > swap[:, 1])[:, None], rules.explicit[:, ::-1], rules.explicit)
        known = lookup[rules.type[explicit[:, 0]], rules.type[explicit[:, 1]]] >= 0
        found["filtered"].append((np.concatenate([rules.filtered, rules.explicit]) + start).reshape(-1, 2))
        numbered = np.column_stack([explicit, rules.explicit_number])[known]
        found["explicit"].append((numbered + starts).reshape(-1, 3))
    rows = {}
    for kind, parts in found.items():
        pairs = np.unique(np.concatenate(parts), axis=0).astype(np.int32)
        names = (f"{kind}_shape0", f"{kind}_shape1", f"{kind}_parameter")[: pairs.shape[1]]
        rows |= {name: np.ascontiguousarray(pairs[:, i]) for i, name in enumerate(names)}
    return rows


class Tiler:
    """Writes the arrays of templates to the places of their worlds."""

    def __init__(self, templates: Sequence[Template], template_of_world: np.ndarray, precision: str):
        self.templates = templates
        self.template_of_world = np.asarray(template_of_world, np.int64)
        self.precision = precision
        by_template = np.argsort(self.template_of_world, kind="stable")
        ends = np.cumsum(np.bincount(self.template_of_world, minlength=len(templates)))
        self.worlds_of = np.split(by_template, ends[:-1])
        self.starts = {}
        for kind in schema.PER_WORLD:
            sizes = np.array([template.counts[kind] for template in templates], np.int64)
            self.starts[kind] = np.concatenate([[0], np.cumsum(sizes[self.template_of_world])])

    def tile(self, row: schema.Array, last: np.ndarray | None, meshes: dict[Mesh, int]) -> np.ndarray:
        """One array of the model: each world's rows, then ``last``; an array of starts ends with the total."""
        start = self.starts[row.over]
        tail = np.zeros((0, *row.shape[1:])) if last is None else last
        if row.is_offsets:
            tail = self.starts[row.indexes][-1:]
        dtype = DTYPES.get(row.dtype, {}).get(self.precision, row.dtype)
        result = np.empty((start[-1] + len(tail), *row.shape[1:]), dtype)
        result[start[-1] :] = _cast(tail, dtype, row.name)
        for template, worlds in zip(self.templates, self.worlds_of, strict=True):
            values = template.arrays[row.name]
            count = len(values)
            if not count or not len(worlds):
                continue
            if row.name == "shape_mesh" and template.meshes:
                to_model = np.array([meshes[mesh] for mesh in template.meshes])
                values = np.where(values < 0, -1, to_model[values])
            values = _cast(values, dtype, row.name)
            offsets = self._offsets(row.name, template, worlds)
            if offsets is not None:
                tiled = np.where(values >= 0, values + offsets, values)
            else:
                tiled = np.broadcast_to(values, (len(worlds), *values.shape))
            if len(worlds) == len(start) - 1:  # one template: no need to look for the places
                result[: start[-1]].reshape(tiled.shape)[...] = tiled
            else:
                result[start[worlds][:, None] + np.arange(count)] = tiled
        return result

    def _offsets(self, name: str, template: Template, worlds: np.ndarray) -> np.ndarray | None:
        """What is added to the numbers that ``name`` holds, (worlds, 1 or rows); None where they number nothing."""
        if name in ("equality_object0", "equality_object1"):
            of_joints = template.arrays["equality_type"] == EqualityType.JOINT
            joints, bodies = self.starts["joints"][worlds][:, None], self.starts["bodies"][worlds][:, None]
            return np.where(of_joints, joints, bodies)
        if name not in REFERENCES:
            return None
        return self.starts[REFERENCES[name]][worlds][:, None]

    def world_arrays(self, shared: int, seed: int) -> dict[str, np.ndarray]:
        """The rows over worlds, and those that name the world of each body and shape."""
        worlds = len(self.template_of_world)
        real = DTYPES["real"][self.precision]
        gravity = np.array([template.gravity for template in self.templates], real)
        starts = {schema.world_start(kind): self.starts[kind].astype(np.int32) for kind in schema.PER_WORLD}
        numbers = np.arange(worlds, dtype=np.int32)
        return starts | {
            "gravity": gravity[self.template_of_world],
            "random_key": random_keys(seed, worlds),
            "body_world": np.repeat(numbers, np.diff(self.starts["bodies"])),
            "shape_world": np.concatenate(
                [np.repeat(numbers, np.diff(self.starts["shapes"])), np.full(shared, -1, np.int32)]
            ),
        }


def group_worlds(templates: Sequence[Template], template_of_world: np.ndarray):
    """Topology rows of each batch group, in the order of its first world, and ``world_group`` (worlds,)."""
    keys = [template.structure_key() for template in templates]
    numbers: dict[bytes, int] = {}
    first: list[Template] = []
    _, seen_at = np.unique(template_of_world, return_index=True)
    for t in template_of_world[np.sort(seen_at)]:
        if keys[t] not in numbers:
            numbers[keys[t]] = len(first)
            first.append(templates[t])
    group_of_template = np.array([numbers.get(key, -1) for key in keys], np.int32)
    world_group = group_of_template[template_of_world]
    topologies = [
        {"group_world": np.flatnonzero(world_group == g).astype(np.int32)} | template.topology
        for g, template in enumerate(first)
    ]
    return topologies, world_group


def _cast(values: np.ndarray, dtype, name: str) -> np.ndarray:
    """Values of an array as what the model holds; ModelError where a finite one becomes infinite by it."""
    with np.errstate(over="ignore"):
        result = values.astype(dtype)
    if result.dtype == np.float32:
        beyond = values[np.isinf(result) & np.isfinite(values)]
        if beyond.size:
            reason = f"holds {beyond[0]:g}, which single precision cannot; make it smaller, or finalize with"
            raise ModelError(f'{reason} precision="float64"', element=name)
    return result


def mesh_arrays(meshes: Sequence[Mesh], precision: str) -> dict[str, np.ndarray]:
    """The ``mesh_*`` rows: points are the vertices that a triangle uses."""
    points, triangles = [np.zeros((0, 3))], [np.zeros((0, 3), np.int32)]
    for mesh in meshes:
        points.append(mesh.vertices[mesh.used])
        triangles.append((np.cumsum(mesh.used) - 1)[mesh.triangles].astype(np.int32))
    return {
        "mesh_point_start": np.cumsum([len(part) for part in points]).astype(np.int32),
        "mesh_triangle_start": np.cumsum([len(part) for part in triangles]).astype(np.int32),
        "mesh_point": np.concatenate(points).astype(DTYPES["real"][precision]),
        "mesh_triangle": np.concatenate(triangles),
    }


def random_keys(seed: int, worlds: int) -> np.ndarray:
    """A key for each world (worlds,) uint64 from seed and index: SplitMix64 (Steele, Lea and Flood 2014).

    ModelError unless ``seed`` is a whole number.
    """
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
        raise ModelError(f"seed is {seed!r}; give a whole number")
    with np.errstate(over="ignore"):
        z = np.uint64(int(seed) % 2**64) + np.arange(1, worlds + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))
