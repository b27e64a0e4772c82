"""Signed distance fields: closed forms, and grids of blocks made from meshes (kernels_cuda/sdf.h, sdf.cu)."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from simengine.collision import marching_cubes, queries
from simengine.collision.mesh import Mesh
from simengine.collision.sort import ExclusiveScan
from simengine.errors import AssetError, CapacityError, ModelError
from simengine.files import as_path
from simengine.fixed import Fixed
from simengine.npz import NpzReader, write_npz
from simengine.runtime import devices
from simengine.runtime.arguments import is_array
from simengine.values import flag, number

VDB_SUFFIXES = (".vdb", ".nvdb")

FORMAT, VERSION = "simengine distance field", 1

BLOCK, NODES = 8, 9
BLOCK_NODES = NODES**3
"""As in sdf.h."""

BATCH = 1 << 20
"""Points whose distances are computed at a time."""

ON_SURFACE = 2.0**-14
"""Nodes above the level by less than this part of a voxel are inside: those that are on it but for round-off."""

MOST_CORNERS = 1 << 27
MOST_NODES = 2**31 - 1

KINDS = {"sphere": 0, "plane": 1, "box": 2, "capsule": 3, "cylinder": 4, "cone": 5, "torus": 6}
"""As SdfKind of sdf.h."""


class Primitive(Fixed):
    """The exact distance to a primitive about the origin: made by ``SDF.sphere``, ``SDF.box`` and their like.

    Axes, sizes and signs are those of the shapes of a builder: capsule, cylinder, cone and torus along z.
    """

    def __init__(self, kind: str, size, lower, upper):
        lower, upper = np.asarray(lower, float), np.asarray(upper, float)
        self._set(kind=kind, size=(*size, 0.0, 0.0, 0.0)[:3], lower=lower, upper=upper)

    def __repr__(self) -> str:
        return f"<distance to a {self.kind}>"

    def sample(self, points, device=None):
        """Distances (n,) in m at ``points`` (n, 3), negative inside, in the precision of the points."""
        device = queries.device_for(points, device)
        points = queries.vectors("points", points, queries.float_dtype(points), device)
        value = device.empty(len(points), points.dtype)
        x, y, z = self.size
        arguments = {"kind": KINDS[self.kind], "size_x": x, "size_y": y, "size_z": z, "points": points, "value": value}
        _launch("sdf_evaluate", len(points), arguments, points.dtype, device)
        return value

    def to_grid(self, voxel: float, margin: float | None = None, sparse: bool = True, precision="float32", device=None):
        """The field on a grid (an SDF), as ``SDF.from_mesh``. Raises ModelError where voxels are larger than the radius
        or half extent of the shape where it is thinnest."""
        if self.kind == "plane":
            raise ModelError("a plane has no end: give the grid's bounds with SDF.from_function(plane.sample, ...)")
        sizes = self.size[:1] if self.kind == "capsule" else self.size  # its half height adds to the radius
        voxel, thinnest = number(voxel, "voxel", positive=True), min(size for size in sizes if size > 0)
        if voxel > thinnest:
            reason = f"voxels of {voxel:g} m are larger than half of the {self.kind} where it is thinnest"
            raise ModelError(f"{reason}, of which little would be left; use {thinnest:g} m or less")
        margin = 4 * voxel if margin is None else number(margin, "margin", lowest=0.0)
        lower, upper = self.lower - margin, self.upper + margin
        return SDF.from_function(self.sample, lower, upper, voxel, sparse=sparse, precision=precision, device=device)

    def _needs_grid(self, what: str):
        return ModelError(f"{what}: an exact {self.kind} has no nodes; make a grid of it first, with to_grid(voxel)")

    def gradient(self, points):
        """Not of a closed form: raises ModelError. Grids have it, which ``to_grid`` makes."""
        raise self._needs_grid("gradient")

    def sample_with_gradient(self, points):
        """As ``gradient``."""
        raise self._needs_grid("sample_with_gradient")

    def marching_cubes(self, level: float = 0.0):
        """As ``gradient``."""
        raise self._needs_grid("marching_cubes")

    def save(self, path):
        """As ``gradient``."""
        raise self._needs_grid("save")


class SDF(Fixed):
    """A signed distance field on a grid: negative inside, interpolated linearly between its nodes.

    Made by ``SDF.from_mesh(mesh, voxel=0.01)`` and ``from_function``. The grid is cut into blocks of 8 cells an axis;
    those that the surface passes through hold a value at each node, elsewhere the values at the corners of blocks are
    interpolated. Attributes: ``origin`` (3,) float64, the first node; ``voxel`` in m; ``blocks`` (3 int); ``band`` in
    m: within it from the surface values are those of nodes (infinite where ``sparse`` is False). They stay as they are.
    """

    def __init__(self, origin, voxel: float, blocks, band: float, coarse, slot, block_of, values):
        self._set(
            origin=np.asarray(origin, np.float64),
            voxel=float(voxel),
            band=float(band),
            blocks=tuple(int(count) for count in blocks),
            device=devices.device_of(values),
            dtype=values.dtype,
        )
        self._coarse, self._slot, self._block_of, self._values = coarse, slot, block_of, values

    def __repr__(self) -> str:
        cells = " x ".join(str(BLOCK * count) for count in self.blocks)
        return f"<SDF of {cells} cells of {self.voxel} m, {len(self._values)} blocks held, {self.dtype}>"

    # closed forms

    @staticmethod
    def sphere(radius: float) -> Primitive:
        """Distance to a sphere."""
        size = _sizes("sphere", radius)
        return Primitive("sphere", size, np.negative(size * 3), size * 3)

    @staticmethod
    def plane() -> Primitive:
        """Distance to the half space below z = 0."""
        return Primitive("plane", (), [-np.inf] * 3, [np.inf] * 3)

    @staticmethod
    def box(hx: float, hy: float, hz: float) -> Primitive:
        """Distance to a box of half extents."""
        size = _sizes("box", hx, hy, hz)
        return Primitive("box", size, np.negative(size), size)

    @staticmethod
    def capsule(radius: float, half_height: float) -> Primitive:
        """Distance to a capsule along z; half height without the caps."""
        radius, half_height = _sizes("capsule", radius, half_height)
        high = [radius, radius, half_height + radius]
        return Primitive("capsule", (radius, half_height), np.negative(high), high)

    @staticmethod
    def cylinder(radius: float, half_height: float) -> Primitive:
        """Distance to a cylinder along z."""
        radius, half_height = _sizes("cylinder", radius, half_height)
        high = [radius, radius, half_height]
        return Primitive("cylinder", (radius, half_height), np.negative(high), high)

    @staticmethod
    def cone(radius: float, half_height: float) -> Primitive:
        """Distance to a cone along z, its tip at +half_height."""
        radius, half_height = _sizes("cone", radius, half_height)
        high = [radius, radius, half_height]
        return Primitive("cone", (radius, half_height), np.negative(high), high)

    @staticmethod
    def torus(radius: float, thickness: float) -> Primitive:
        """Distance to a ring of ``radius`` about z, made of a tube of radius ``thickness``, which is no wider."""
        radius, thickness = _sizes("torus", radius, thickness)
        if thickness > radius:
            raise ModelError(f"torus: a tube of radius {thickness:g} fills the hole of a ring of {radius:g}")
        high = [radius + thickness, radius + thickness, thickness]
        return Primitive("torus", (radius, thickness), np.negative(high), high)

    # grids

    @classmethod
    def from_mesh(
        cls, mesh, voxel: float, margin: float | None = None, sparse: bool = True, sign: str = "winding"
    ) -> SDF:
        """The distance to a ``sim.collision.Mesh`` on a grid of ``voxel`` m, made on the mesh's device.

        ``margin``: of the grid round the mesh's bounds, 0 or more, by default 4 voxels. ``sparse``: hold nodes only of
        blocks near the surface. ``sign``: as in ``Mesh.closest_point``; for a mesh with holes "winding" says inside
        where the winding number is beyond 1/2 either way. Raises ModelError for an empty mesh, CapacityError where the
        grid is too large.
        """
        if not isinstance(mesh, Mesh):
            raise _not_a_query_mesh(mesh)
        if len(mesh.faces) == 0:
            raise ModelError("the mesh has no faces: there is nothing to be near to")
        voxel = number(voxel, "voxel", positive=True)
        margin = 4 * voxel if margin is None else number(margin, "margin", lowest=0.0)
        vertices = mesh.vertices
        lower, upper = (to_host(bound).astype(np.float64) for bound in (vertices.min(axis=0), vertices.max(axis=0)))

        def distance(points):
            return mesh.closest_point(points, sign=sign).distance

        name, device = mesh.dtype.name, mesh.device
        return cls.from_function(
            distance, lower - margin, upper + margin, voxel, sparse=sparse, precision=name, device=device
        )

    @classmethod
    def from_function(
        cls, function: Callable, lower, upper, voxel: float, sparse: bool = True, precision="float32", device=None
    ) -> SDF:
        """A field from a function of points (n, 3) float64 on the device to distances (n,).

        The grid covers ``lower`` to ``upper`` (3,) in m, in whole blocks. ``sparse`` asks for true distances (the field
        changes by no more than the way moved); for another field give ``sparse=False``.
        """
        if not callable(function):
            raise ModelError(f"SDF.from_function wants a function of points (n, 3), got {type(function).__name__}")
        if not isinstance(precision, str) or precision not in ("float32", "float64"):
            raise ModelError(f'precision must be "float32" or "float64", got {precision!r}')
        device, dtype, voxel = devices.get_device(device), np.dtype(precision), number(voxel, "voxel", positive=True)
        sparse = flag(sparse, "sparse")
        origin, blocks = _blocks(lower, upper, voxel)
        where = {"voxel": voxel, **dict(zip("xyz", origin.tolist(), strict=True))}

        def lattice(counts, offset, n=None):
            shape = {"count_y": counts[1], "count_z": counts[2], "step": BLOCK, "offset": offset}
            return _evaluate("sdf_lattice", math.prod(counts), shape | where, function, dtype, device)

        coarse = lattice([count + 1 for count in blocks], 0)
        near = 0.5 * math.sqrt(3) * BLOCK * voxel  # from a block's center to its corners
        band = 2 * voxel if sparse else math.inf
        total = math.prod(blocks)
        flags = device.empty(total, np.int32)
        centers = lattice(blocks, BLOCK // 2) if sparse else device.zeros(total, dtype)
        within = min(near + band, 1e30)
        _launch("sdf_near_surface", total, {"distance": centers, "within": within, "flags": flags}, dtype, device)
        places = ExclusiveScan(flags)
        places()
        held = int(places.offsets[-1])
        if held * BLOCK_NODES > MOST_NODES:
            other = "or smaller bounds" if sparse else "or sparse=True, which holds nodes near the surface alone"
            reason = f"too many nodes: use a larger voxel, {other}"
            raise CapacityError(reason, buffer="sdf", needed=held * BLOCK_NODES, had=MOST_NODES)
        slot, block_of = device.empty(total, np.int32), device.empty(held, np.int32)
        slots = {"flags": flags, "places": places.offsets, "slot": slot, "block_of": block_of}
        _launch("sdf_slots", total, slots, dtype, device)
        shape = {"block_of": block_of, "blocks_y": blocks[1], "blocks_z": blocks[2]}
        values = _evaluate("sdf_block_points", held * BLOCK_NODES, shape | where, function, dtype, device, BLOCK_NODES)
        return cls(origin, voxel, blocks, band, coarse, slot, block_of, values.reshape(held, NODES, NODES, NODES))

    # samples

    def sample(self, points):
        """Distances (n,) in m at ``points`` (n, 3). Outside the grid: the value at its nearest point, plus the way."""
        return self._query(points)[0]

    def gradient(self, points):
        """The derivative (n, 3) of what ``sample`` returns; of length 1 but for the grid's coarseness."""
        return self._query(points)[1]

    def sample_with_gradient(self, points):
        """Both at once: distances (n,) and gradients (n, 3)."""
        return self._query(points)

    def _query(self, points):
        given = getattr(points, "dtype", None)
        given = given if given in (np.float32, np.float64) else self.dtype
        points = queries.vectors("points", points, given, self.device)
        count, local = len(points), self.device.empty(points.shape, self.dtype)
        _move_points("center_points", points, local, self.origin, given, self.dtype, self.device)
        value, gradient = self.device.empty(count, self.dtype), self.device.empty((count, 3), self.dtype)
        grid = {"voxel": self.voxel, "coarse": self._coarse, "slot": self._slot, "values": self._values}
        arguments = self._block_counts() | grid | {"points": local, "value": value, "gradient": gradient}
        _launch("sdf_query", count, arguments, self.dtype, self.device)
        return value, gradient

    def grid(self) -> dict[str, np.ndarray]:
        """What the field is made of, on the host: ``coarse``, the values at the corners of blocks (z fastest); ``slot``
        of each block among ``values`` (held, 9, 9, 9), -1 where it holds no nodes."""
        return {"coarse": to_host(self._coarse), "slot": to_host(self._slot), "values": to_host(self._values)}

    def _block_counts(self) -> dict:
        return dict(zip(("blocks_x", "blocks_y", "blocks_z"), self.blocks, strict=True))

    # surfaces

    def marching_cubes(self, level: float = 0.0):
        """The surface at ``level`` (m): vertices (v, 3) and faces (f, 3) int32, counter-clockwise from outside.

        Each crossed edge of the grid has one vertex, a little way from its nodes, so the surface is closed where it
        does not leave the grid, and touches itself nowhere (Lorensen and Cline 1987; ambiguous faces by a rule of the
        face alone). A node on the level is inside. Raises ModelError for a level outside
        the band of a sparse field.
        """
        level = number(level, "level")
        if not abs(level) <= self.band:
            raise ModelError(
                f"level {level} is beyond {self.band} m, where this sparse field holds nodes: use sparse=False"
            )
        nodes, cells = self._values.size, len(self._values) * BLOCK**3
        field = self._block_counts() | {
            "slot": self._slot,
            "block_of": self._block_of,
            "values": self._values,
            "bound": level + ON_SURFACE * self.voxel,
        }
        table = self.device.asarray(marching_cubes.table())
        cases = {"columns": table.shape[1], "table": table}
        vertex_counts, triangle_counts = self.device.empty(nodes, np.int32), self.device.empty(cells, np.int32)
        self._run("sdf_count_vertices", nodes, field | {"counts": vertex_counts})
        self._run("sdf_count_triangles", cells, field | cases | {"counts": triangle_counts})
        vertex_places, triangle_places = ExclusiveScan(vertex_counts), ExclusiveScan(triangle_counts)
        vertex_places()
        triangle_places()
        local = self.device.empty((int(vertex_places.offsets[-1]), 3), self.dtype)
        faces = self.device.empty((int(triangle_places.offsets[-1]), 3), np.int32)
        placed = {"counts": vertex_counts, "places": vertex_places.offsets, "vertices": local}
        self._run("sdf_vertices", nodes, field | placed | {"level": level, "voxel": self.voxel})
        joined = {"vertex_places": vertex_places.offsets, "places": triangle_places.offsets, "faces": faces}
        self._run("sdf_triangles", cells, field | cases | joined)
        vertices = self.device.empty(local.shape, self.dtype)
        _move_points("restore_points", local, vertices, self.origin, self.dtype, self.dtype, self.device)
        return vertices, faces

    def _run(self, name: str, count: int, arguments: dict) -> None:
        _launch(name, count, arguments, self.dtype, self.device)

    # files

    def save(self, path) -> None:
        """Write the field to an .npz file (a new file, renamed to ``path`` when it is whole)."""
        header = {"format": FORMAT, "version": VERSION, "precision": self.dtype.name, "voxel": self.voxel}
        header |= {"origin": self.origin.tolist(), "blocks": list(self.blocks), "held": len(self._values)}
        header |= {"sparse": math.isfinite(self.band)}
        write_npz(path, header, self.grid())

    @classmethod
    def load(cls, path, device=None) -> SDF:
        """A field from such a file; AssetError where it is damaged or something else, OpenVDB and NanoVDB files too."""
        if as_path(path).suffix.lower() in VDB_SUFFIXES:
            reason = "OpenVDB and NanoVDB files are not read; sample the grid with the program that wrote it"
            raise AssetError(f"{reason}, and give the samples, interpolated, to SDF.from_function", file=str(path))
        fields = {"precision": str, "voxel": float, "origin": list, "blocks": list, "held": int, "sparse": bool}
        with NpzReader(path, FORMAT, VERSION) as file:
            header = file.header(fields)
            blocks, held = _checked_header(file, header)
            dtype, total = np.dtype(header["precision"]), math.prod(blocks)
            file.check_names({"coarse", "slot", "values"})
            coarse = file.array("coarse", (math.prod(count + 1 for count in blocks),), dtype)
            slot = file.array("slot", (total,), np.dtype(np.int32))
            values = file.array("values", (held, NODES, NODES, NODES), dtype)
            used = np.flatnonzero(slot >= 0)
            if slot.min(initial=-1) < -1 or not np.array_equal(slot[used], np.arange(held)):
                raise file.error("its table of blocks does not count the blocks that it holds")
            if not (np.isfinite(coarse).all() and np.isfinite(values).all()):
                raise file.error("it holds values that are not finite")
        device, voxel = devices.get_device(device), header["voxel"]
        band = 2 * voxel if header["sparse"] else math.inf
        on_device = (device.asarray(array) for array in (coarse, slot, used.astype(np.int32), values))
        return cls(header["origin"], voxel, blocks, band, *on_device)


def _not_a_query_mesh(given) -> ModelError:
    """What ``SDF.from_mesh`` raises for something else, with the way from a mesh of a builder or of another library."""
    arguments = "vertices, faces"
    for faces in ("triangles", "faces"):
        if hasattr(given, "vertices") and hasattr(given, faces):
            arguments = f"mesh.vertices, mesh.{faces}"
    got = f"{type(given).__module__}.{type(given).__name__}"
    return ModelError(f"SDF.from_mesh wants sim.collision.Mesh({arguments}), got a {got}")


def _checked_header(file: NpzReader, header: dict) -> tuple[list[int], int]:
    blocks, origin, held = header["blocks"], header["origin"], header["held"]
    good = len(blocks) == 3 and all(type(count) is int and 1 <= count <= MOST_CORNERS for count in blocks)
    good = good and math.prod(count + 1 for count in blocks) <= MOST_CORNERS and 0 <= held <= math.prod(blocks)
    good = good and len(origin) == 3 and all(type(x) is float and abs(x) <= queries.LARGEST for x in origin)
    good = good and header["precision"] in ("float32", "float64") and 0 < header["voxel"] <= queries.LARGEST
    if not good:
        raise file.error("its header has impossible sizes")
    return blocks, held


def _blocks(lower, upper, voxel: float) -> tuple[np.ndarray, list[int]]:
    """First node and number of blocks along each axis of a grid that covers the bounds."""
    lower, upper = (
        queries.table(name, bound, np.float64, devices.CPU, 1, 3)[0]
        for name, bound in (("lower", lower), ("upper", upper))
    )
    if not (lower <= upper).all() or not np.isfinite([lower, upper]).all():
        raise ModelError(
            f"lower and upper must be three finite numbers each, lower nowhere above upper: {lower}, {upper}"
        )
    with np.errstate(over="ignore"):
        wanted = np.clip(np.ceil((upper - lower) / (voxel * BLOCK)), 1, MOST_CORNERS)
    corners = float(np.prod(wanted + 1))
    if corners > MOST_CORNERS:
        raise CapacityError("too many blocks: use a larger voxel", buffer="sdf", needed=int(corners), had=MOST_CORNERS)
    middle = 0.5 * (lower + upper)
    return middle - 0.5 * wanted * voxel * BLOCK, [int(count) for count in wanted]


def _evaluate(name: str, total: int, arguments: dict, function, dtype, device, whole: int = 1):
    """Values of a function at the points that a kernel makes, some at a time; ``whole``: in multiples of this many."""
    values = device.empty(total, dtype)
    batch = max(1, BATCH // whole) * whole if whole > 1 else total
    for first in range(0, total, max(batch, 1)):
        count = min(batch, total - first)
        points = device.empty((count, 3), np.float64)
        more = {"first": first // whole} if whole > 1 else {}
        _launch(name, count, arguments | more | {"points": points}, dtype, device)
        found = function(points)
        if not is_array(found) or tuple(found.shape) != (count,):
            got = tuple(found.shape) if is_array(found) else type(found).__name__
            raise ModelError(f"the function must return an array ({count},) of distances of as many points, got {got}")
        queries.require_numbers("distance", found)
        values[first : first + count] = found
    return values


def _move_points(name: str, points, out, origin, given, dtype, device) -> None:
    """To or from coordinates about ``origin``; ``given``: the dtype of those in world coordinates."""
    x, y, z = (float(c) for c in origin)
    arguments = {"points": points, "x": x, "y": y, "z": z, "scale": 1.0, "out": out}
    width = np.dtype(given).itemsize * 8
    _launch(f"{name}_{width}", len(points), arguments, dtype, device, "mesh_query.cu")


def _launch(name: str, count: int, arguments: dict, dtype, device, file: str = "sdf.cu") -> None:
    if count:
        kernel = queries.kernel(file, name)
        kernel.prepare(arguments | {"n": count}, items=count, precision=np.dtype(dtype).name, device=device)()


def to_host(array) -> np.ndarray:
    """An array of any device as one of NumPy."""
    return np.asarray(array.get() if hasattr(array, "get") else array)


def _sizes(kind: str, *values) -> tuple[float, ...]:
    return tuple(number(value, f"{kind}, size", positive=True) for value in values)
