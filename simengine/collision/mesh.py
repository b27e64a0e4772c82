"""Triangle meshes for queries: rays, closest points, inside or outside (kernels_cuda/mesh_query.h, mesh_query.cu)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from simengine.collision import queries
from simengine.collision.bvh import BoxTrees
from simengine.collision.sort import KeyStarts, RadixSort
from simengine.errors import ModelError, warn_user
from simengine.fixed import Fixed
from simengine.runtime import modes
from simengine.surfaces import Edges, edges_of, heights, is_wound_inwards, welded

SIGNS = {"none": 0, "normal": 1, "winding": 2}
SOLID, SOLID_INWARDS = 3, 4
"""As in mesh_query.cu; "normal" of a closed mesh is one of the latter two."""

WARP, POINT_BLOCK = 32, 64
"""Lanes of a warp; threads of a block, as in mesh_query.cu: a small one makes room as soon as its queries are done."""

PREPARED = 32 * 20
"""Numbers of PreparedLeaves in mesh_query.h."""

PARTS = 64
"""As in mesh_query.cu."""

ROUND_OFF = 8.0
"""Times the spacing of numbers at the mesh's extent: triangles less high have normals that tell nothing."""


def late_limits(together: bool) -> tuple[int, int]:
    """Nodes after which lanes that walk together hand their points on (-1: never), and how many batches may be so."""
    return (384, 512) if together else (-1, 0)


@dataclass(frozen=True)
class RayHits:
    """What rays met first: ``t`` (n,), infinite for none; ``point`` (n, 3) in m, NaN for none; ``normal`` (n, 3) of the
    face, zero for none; ``face`` (n,) int32, -1 for none; ``uv`` (n, 2): the point is a + u (b - a) + v (c - a)."""

    t: object
    point: object
    normal: object
    face: object
    uv: object


@dataclass(frozen=True)
class ClosestPoints:
    """Closest points: ``distance`` (n,) in m, negative inside, infinite where nothing is near enough; ``point`` (n, 3);
    ``normal`` (n, 3) of the face; ``face`` (n,) int32, -1 for none; ``uv`` (n, 2) as in RayHits."""

    distance: object
    point: object
    normal: object
    face: object
    uv: object


class Mesh(Fixed):
    """A triangle mesh that answers queries: ``sim.collision.Mesh(vertices, faces)``.

    ``vertices`` (v, 3) in m; ``faces`` (f, 3) vertex indices, counter-clockwise seen from outside; ``velocities``
    (v, 3) of the vertices, optional. ``precision``: "float32" or "float64", by default that of the vertices. The mesh
    is kept about ``center``, the middle of its bounds (float64), and points are brought there in float64: give far-away
    points as float64 and a float32 mesh keeps its digits. Answers have the precision of the points given. (A mesh below
    0.2 mm or above 1,000 km is kept times a power of two, ``scale``.)

    Faces are kept as they are given, and numbered so; they stay, and vertices move by ``refit`` and ``rebuild`` alone.
    Triangles without area are met by no ray, but have closest points. Of faces that are met at the same t, or are
    equally near, to the last bit, the first is told; of those that share an edge or a vertex see ``closest_point``.
    Raises ModelError for wrong shapes, numbers that are not finite, indices that lead nowhere.
    """

    def __init__(self, vertices, faces, velocities=None, precision: str | None = None, device=None):
        device = queries.device_for(vertices, device)
        if precision is not None and (not isinstance(precision, str) or precision not in ("float32", "float64")):
            raise ModelError(f'precision must be "float32" or "float64", got {precision!r}')
        given = queries.vectors("vertices", vertices, queries.float_dtype(vertices), device)
        dtype = np.dtype(precision) if precision else given.dtype
        center, scale = _middle_and_scale(given)
        self._set(device=device, dtype=dtype, faces=_faces(faces, len(given), device), center=center, scale=scale)
        self._vertices = self._local(given)
        shape = (len(self.faces), 3)
        self._lower, self._upper = device.empty(shape, self.dtype), device.empty(shape, self.dtype)
        corners = {"faces": self.faces, "vertices": self._vertices}
        numbers = {"lower": self._lower.reshape(-1), "upper": self._upper.reshape(-1)}
        self._bounds = self._prepare("triangle_bounds", 3 * shape[0], corners | numbers)
        self._bounds()
        self._trees = BoxTrees(self._lower, self._upper, None, 1, device, corners)
        self._trees.build()
        self._velocities = device.zeros(given.shape, self.dtype)
        if velocities is not None:
            self._take_velocities(velocities)

    def __repr__(self) -> str:
        return f"<Mesh of {len(self._vertices)} vertices and {len(self.faces)} faces, {self.dtype} on {self.device}>"

    @property
    def vertices(self):
        """The vertices (v, 3) in m, as they are now; a copy."""
        return self._world(self._vertices, self.dtype)

    def arrays(self) -> dict:
        """``nodes``, ``roots``, ``primitives``, ``packed``: what ``BvhView`` of bvh.h takes, with a width of 9.

        They hold the mesh about ``center``, times ``scale``. mesh_query.h has the queries.
        """
        return self._trees.arrays()

    # moving

    def refit(self, vertices, velocities=None) -> None:
        """Move the vertices (v, 3), keeping faces and the tree's shape; may be captured.

        Vertices of a capture are of the mesh's dtype or float64. The center stays, and so does what tells the sides
        (``closest_point``): where a mesh moves far from there, is mirrored or pressed flat, make a new one.
        """
        self._move(vertices)
        self._trees.refit()
        if velocities is not None:
            self._take_velocities(velocities)

    def rebuild(self, vertices, velocities=None) -> None:
        """As ``refit``, with the tree built anew: for vertices that moved far against each other; may be captured."""
        self._move(vertices)
        self._bounds()
        self._trees.build()
        if velocities is not None:
            self._take_velocities(velocities)

    def _move(self, vertices) -> None:
        vertices = queries.vectors("vertices", vertices, self._given_dtype(vertices), self.device, len(self._vertices))
        self._center_into(vertices, self._vertices)

    def _take_velocities(self, velocities) -> None:
        given = queries.vectors("velocities", velocities, self.dtype, self.device, len(self._vertices))
        self._coordinates("center_points", given, self._velocities, np.zeros(3), 1.0)

    # rays

    def ray_cast(self, origin, direction, max_distance=np.inf) -> RayHits:
        """The first face that each ray origin + t direction, 0 <= t <= max_distance, meets, from either side.

        ``origin``, ``direction`` (n, 3); ``max_distance`` one number or (n,), in units of the direction's length. A ray
        through an edge or a vertex of a surface without holes meets it once (Woop, Benthin and Wald,
        Watertight Ray/Triangle Intersection, 2013, with exact signs). Of faces met at the same t it is the first.

        Rays that follow one another and are neighbours, as a camera's are, are faster than the same in any order.
        """
        rays, count, dtype = self._rays(origin, direction, max_distance)
        out = self._outputs(count, t=(), face=None, uv=(2,), point=(3,), normal=(3,))
        self._query("mesh_ray_cast", count, rays | out)
        return RayHits(**self._finished(out, dtype, "point"))

    def ray_any(self, origin, direction, max_distance=np.inf):
        """Whether each ray meets a face at all: (n,) bool."""
        rays, count, _ = self._rays(origin, direction, max_distance)
        hits = self.device.empty(count, np.bool_)
        self._query("mesh_ray_any", count, rays | {"hits": hits})
        return hits

    def ray_all(self, origin, direction, max_distance=np.inf):
        """All faces that each ray meets: offsets (n+1,) int64 and faces int32, ascending for each ray."""
        rays, count, _ = self._rays(origin, direction, max_distance)

        def prepare(offsets, counts, out):
            lists = {"offsets": offsets, "counts": counts, "out": out}
            return self._prepare("mesh_ray_all", count, self._trees.arrays() | rays | lists)

        return queries.lists(prepare, count, self.device)

    def _rays(self, origin, direction, max_distance):
        dtype = self._given_dtype(origin)
        origin = queries.vectors("origin", origin, dtype, self.device)
        direction = queries.vectors("direction", direction, self.dtype, self.device, len(origin))
        queries.require_directions("direction", direction)
        farthest = queries.numbers("max_distance", max_distance, self.dtype, self.device, len(origin))
        if self.scale != 1:
            direction = direction * self.dtype.type(self.scale)
        rays = {"origin": self._local(origin), "direction": direction, "max_distance": farthest}
        return rays, len(origin), dtype

    # points

    def closest_point(self, points, max_distance=np.inf, sign: str | None = None) -> ClosestPoints:
        """The closest point of the surface to each of ``points`` (n, 3), and the signed distance.

        ``sign``: "normal" by angle-weighted normals (Baerentzen and Aanaes, 2005), right for closed surfaces that do
        not cross or touch themselves and whose triangles all have area; "winding" by the winding number, for any mesh;
        "none". By default "normal" where the mesh is closed, two triangles meet at each edge, and all have area, else
        "winding". A closed mesh that is wound inwards is negative inside too; a warning tells of it, once.

        Of faces that share the closest point, a vertex or one on an edge, any may be told, with its normal and uv: they
        are equally near but for round-off. Only of those that are so to the last bit it is the first.
        """
        if sign is None:
            sign = "normal" if self._has_sides else "winding"
        if not isinstance(sign, str) or sign not in SIGNS:
            raise ModelError(f'sign must be "normal", "winding", "none" or None, got {sign!r}')
        dtype = self._given_dtype(points)
        points = queries.vectors("points", points, dtype, self.device)
        count = len(points)
        farthest = queries.numbers("max_distance", max_distance, self.dtype, self.device, count)
        out = self._outputs(count, distance=(), face=None, uv=(2,), closest=(3,), normal=(3,))
        farthest = farthest * self.dtype.type(self.scale)
        code = SIGNS[sign]
        if sign == "normal" and self.is_closed:
            code = SOLID_INWARDS if self._told_inwards else SOLID
        arguments = {"faces": self.faces, "vertices": self._vertices, "sign": code, "max_distance": farthest}
        arguments |= self._topology if sign == "normal" else dict.fromkeys(("welded", "corner_start", "corner"))
        arguments |= self._boundary_arguments(sign == "winding")
        points = self._local(points)
        arguments |= {"point": points, "turn": self._trees.turn(points)} | out
        if count:
            self._closest_launch(count, arguments)()
        out["point"] = out.pop("closest")
        out["distance"] = out["distance"] / self.dtype.type(self.scale)
        return ClosestPoints(**self._finished(out, dtype, "point"))

    def farthest_point(self, points):
        """The vertex of a face that is farthest from each of ``points`` (n, 3): vertex (n,) int32, distance (n,) in m.

        Of vertices equally far it is the first; -1 and minus infinity where the mesh has no faces.
        """
        dtype = self._given_dtype(points)
        points = queries.vectors("points", points, dtype, self.device)
        out = self._outputs(len(points), vertex=None, distance=())
        self._query("mesh_farthest", len(points), {"faces": self.faces, "point": self._local(points)} | out)
        distance = out["distance"] / self.dtype.type(self.scale)
        return out["vertex"], distance.astype(dtype, copy=False)

    def winding_number(self, points):
        """How often the surface winds round each of ``points`` (n, 3): 1 inside, 0 outside of a closed surface.

        Between for a surface with holes (Jacobson, Kavan and Sorkine-Hornung, 2013). Exact but for rounding: crossings
        of a ray, and the solid angle of what would close the boundary; time grows with the number of boundary edges.
        """
        dtype = self._given_dtype(points)
        points = queries.vectors("points", points, dtype, self.device)
        number = self.device.empty(len(points), self.dtype)
        arguments = {"vertices": self._vertices, "point": self._local(points), "number": number}
        self._query("mesh_winding", len(points), arguments | self._boundary_arguments(True))
        return number

    def contains(self, points):
        """Whether each of ``points`` (n, 3) is inside, (n,) bool: the winding number is above 1/2 or, where the faces
        are turned the other way round, below -1/2."""
        return abs(self.winding_number(points)) > 0.5

    # faces

    def position_at(self, face, uv):
        """Points (n, 3) at coordinates ``uv`` (n, 2) of ``face`` (n,), as in RayHits; zero for face -1."""
        face, out = self._interpolate(self._vertices, face, uv)
        world = self._world(out, self.dtype)
        world[face < 0] = 0
        return world

    def velocity_at(self, face, uv):
        """Velocities (n, 3) in m/s at such points, of the velocities given last (zero if none were)."""
        return self._interpolate(self._velocities, face, uv)[1]

    def _interpolate(self, values, face, uv):
        face = queries.indices("face", face, self.device, None, len(self.faces), -1)
        count = len(face)
        uv = queries.table("uv", uv, self.dtype, self.device, count, 2)
        out = self.device.empty((count, 3), self.dtype)
        arguments = {"faces": self.faces, "values": values, "face": face, "uv": uv, "out": out}
        if len(face):
            self._prepare("mesh_interpolate", len(face), arguments)()
        return face, out

    # what is made when it is first needed

    @cached_property
    def _welded(self) -> np.ndarray:
        """Faces (f, 3) on the host by the first vertex at each place: files repeat vertices for each triangle."""
        modes.refuse_while_capturing("the neighbourhood of a mesh was made")
        return welded(_host(self._vertices), _host(self.faces)).astype(np.int32)

    @cached_property
    def _topology(self) -> dict:
        """Faces by welded vertices and the corners round each vertex."""
        device = self.device
        welded = device.asarray(self._welded)
        sort = RadixSort(welded.reshape(-1).astype(np.uint32))
        sort()
        starts = KeyStarts(sort.sorted_keys, len(self._vertices))
        starts()
        return {"welded": welded, "corner_start": starts.starts, "corner": sort.sorted_values}

    @cached_property
    def _edges(self) -> Edges:
        return edges_of(self._welded, len(self._vertices))

    @property
    def is_closed(self) -> bool:
        """Whether every edge is used as often in one sense as in the other: the surface has no boundary."""
        return self.open_edge_count == 0

    @property
    def open_edge_count(self) -> int:
        """How many edges are used more often in one sense than in the other."""
        return len(self._edges.open)

    @cached_property
    def is_wound_inwards(self) -> bool:
        """Whether it is closed and its faces, as a whole, run clockwise seen from outside, when first asked."""
        modes.refuse_while_capturing("the sides of a mesh were found")
        return self.is_closed and is_wound_inwards(_host(self._vertices), _host(self.faces))

    @cached_property
    def _told_inwards(self) -> bool:
        """``is_wound_inwards``, of which a warning tells."""
        if self.is_wound_inwards:
            reason = "is closed and wound inwards: its normals point into it, but distances are negative inside"
            warn_user(f"{self!r} {reason}; for normals that point out give faces[:, ::-1]")
        return self.is_wound_inwards

    @cached_property
    def _has_sides(self) -> bool:
        """Whether it is closed, two triangles meet at each edge, and none is flat up to the round-off of its vertices:
        normals tell the side."""
        modes.refuse_while_capturing("the sides of a mesh were found")
        if not self.is_closed or not len(self.faces):
            return self.is_closed
        if self._edges.most > 2:
            return False
        vertices = _host(self._vertices).astype(np.float64)
        least = ROUND_OFF * float(np.finfo(self.dtype).eps) * float(np.ptp(vertices, axis=0).max())
        return bool(heights(vertices, _host(self.faces))[0].min() > least)

    @cached_property
    def _boundary_arrays(self) -> dict:
        edges, weights = self.device.asarray(self._edges.open), self.device.asarray(self._edges.excess)
        return {"boundary_count": len(weights), "boundary_edge": edges, "boundary_weight": weights}

    def _boundary_arguments(self, wanted: bool) -> dict:
        return (
            self._boundary_arrays if wanted else {"boundary_count": 0, "boundary_edge": None, "boundary_weight": None}
        )

    # coordinates and launches

    def _given_dtype(self, points) -> np.dtype:
        dtype = getattr(points, "dtype", None)
        return dtype if dtype in (np.float32, np.float64) else self.dtype

    def _coordinates(self, name: str, points, out, center, scale: float, dtype=None) -> None:
        """Center or restore points; ``dtype``: of those in world coordinates."""
        width = (dtype or points.dtype).itemsize * 8
        x, y, z = (float(c) for c in center)
        arguments = {"points": points, "x": x, "y": y, "z": z, "scale": scale, "out": out}
        if len(points):
            self._prepare(f"{name}_{width}", len(points), arguments)()

    def _center_into(self, points, out) -> None:
        self._coordinates("center_points", points, out, self.center, self.scale)

    def _local(self, points):
        out = self.device.empty(points.shape, self.dtype)
        self._center_into(points, out)
        if self.scale != 1:
            queries.require_numbers("points, in units of the mesh's size,", out)
        return out

    def _world(self, points, dtype):
        out = self.device.empty(points.shape, dtype)
        self._coordinates("restore_points", points, out, self.center, self.scale, np.dtype(dtype))
        return out

    def _outputs(self, count: int, **shapes) -> dict:
        return {
            name: self.device.empty((count, *(shape or ())), np.int32 if shape is None else self.dtype)
            for name, shape in shapes.items()
        }

    def _finished(self, out: dict, dtype, point: str) -> dict:
        out[point] = self._world(out[point], dtype)
        return {
            name: array if array.dtype == np.int32 else array.astype(dtype, copy=False) for name, array in out.items()
        }

    def _prepare(self, name: str, count: int, arguments: dict):
        kernel = queries.kernel("mesh_query.cu", name)
        return kernel.prepare(arguments | {"n": count}, items=count, precision=self.dtype.name, device=self.device)

    def _closest_launch(self, count: int, arguments: dict):
        """What to call for closest points.

        On a GPU the lanes of a warp walk the tree together where points are in order, else each for itself.
        """
        together = self.device.is_cuda and arguments["turn"] is not None
        share = 1 if self.device.is_cuda and not together else WARP
        groups = -(-count // share)
        patience, capacity = late_limits(together)
        capacity = min(capacity, groups)
        sizes = {"share": share, "n": count, "patience": patience, "capacity": capacity}
        given = self._trees.arrays() | arguments | sizes | self._late_batches(capacity, share)
        launches = [self._of_groups("mesh_closest", groups, share, given)]
        if capacity:
            launches.append(self._of_groups("mesh_closest_part", PARTS * capacity, share, given))
            launches.append(self._of_groups("mesh_closest_join", capacity, share, given))

        def launch() -> None:
            for each in launches:
                each()

        return launch

    def _late_batches(self, capacity: int, share: int) -> dict:
        """Memory for points that are handed on: LateBatches of mesh_query.cu."""
        if not capacity:
            return dict.fromkeys(("late_count", "late_first", "late_square", "late_place"))
        found, device = (capacity, 1 + PARTS, share), self.device
        late = {"late_count": device.zeros(2, np.int32), "late_first": device.empty(capacity, np.int32)}
        return late | {"late_square": device.empty(found, self.dtype), "late_place": device.empty(found, np.int32)}

    def _of_groups(self, name: str, groups: int, lanes: int, given: dict):
        kernel = queries.kernel("mesh_query.cu", name)
        arguments = {
            p.name: groups if p.name == "groups" else given[p.name] for p in kernel.parameters if p.kind != "scratch"
        }
        how = {"worlds": groups, "lanes": lanes, "block": POINT_BLOCK, "precision": self.dtype.name}
        scratch = PREPARED * self.dtype.itemsize if lanes > 1 else 0
        return kernel.prepare(arguments, **how, scratch=scratch, device=self.device)

    def _query(self, name: str, count: int, arguments: dict) -> None:
        if count:
            self._prepare(name, count, self._trees.arrays() | arguments)()


def _faces(faces, vertices: int, device):
    """Checked faces (f, 3) int32 on the device."""
    host = queries.on_host("faces", faces)
    if host.size == 0:
        host = np.zeros((0, 3), np.int32)
    if host.ndim != 2 or host.shape[1] != 3 or host.dtype.kind not in "iu":
        raise ModelError(f"faces must be whole numbers of shape (f, 3), got {host.dtype} {host.shape}")
    wrong = ((host < 0) | (host >= vertices)).any(axis=1)
    if wrong.any():
        index = int(wrong.argmax())
        raise ModelError(f"faces[{index}] is {host[index].tolist()}; there are {vertices} vertices, counted from 0")
    return device.asarray(host.astype(np.int32))


def _host(array) -> np.ndarray:
    return np.asarray(array.get() if hasattr(array, "get") else array)


def _middle_and_scale(points) -> tuple[np.ndarray, float]:
    """The middle of the bounds (float64, host), and a power of two that brings their size into a middle range."""
    if not len(points):
        return np.zeros(3), 1.0
    low, high = _host(points.min(axis=0)).astype(np.float64), _host(points.max(axis=0)).astype(np.float64)
    size = float((high - low).max())
    ordinary = size == 0 or 2.0**-12 <= size <= 2.0**20
    return 0.5 * low + 0.5 * high, 1.0 if ordinary else 2.0 ** -math.frexp(size)[1]
