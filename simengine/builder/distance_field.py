"""Distance fields as shapes: a grid of blocks on the host, and the mesh of its surface that carries it."""

from __future__ import annotations

import hashlib
import itertools
import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from simengine.builder.mesh_data import Mesh, as_mesh, told_outward
from simengine.collision.mesh import Mesh as QueryMesh
from simengine.collision.sdf import BLOCK, NODES, SDF, Primitive, to_host
from simengine.errors import CapacityError, ModelError

MOST_NODES = 2**28
"""Values that the fields of a model may hold at the nodes of their blocks."""

LEAST_SLOPE = 1e-3
"""Of a field, per voxel and step: what the searches for its least value divide by."""

OPPOSED_COSINE = -math.sqrt(0.5)
"""Of the outward slopes of two walls that make a thin solid, not an edge."""

BLOCKS_AT_ONCE = 1024
"""Blocks whose nodes are looked at in one piece of memory."""


@dataclass(frozen=True)
class DistanceField:
    """A grid as the model's ``mesh_field_*`` and ``field_*`` rows hold it, float64 on the host.

    ``blocks`` (3 int) of 8 cells; ``origin`` (3,), the first node, and ``voxel`` in m; ``slope``: by how much the field
    changes per m at most; ``inner`` (4,): the node at which it is least, and the value there; ``corner`` of the blocks;
    ``slot`` of each block among the ``node`` (held, 9, 9, 9), -1 none.
    """

    blocks: tuple[int, int, int]
    origin: np.ndarray
    voxel: float
    slope: float
    inner: np.ndarray
    corner: np.ndarray
    slot: np.ndarray
    node: np.ndarray

    @classmethod
    def of(cls, sdf: SDF, what: str) -> DistanceField:
        """From an SDF. ModelError, naming ``what``, where it is not solid anywhere or leaves its grid."""
        grid = sdf.grid()
        corner, slot, node = (grid[name] for name in ("coarse", "slot", "values"))
        if node.size > MOST_NODES:
            raise CapacityError("use a larger voxel", buffer=what, needed=node.size, had=MOST_NODES)
        corner, node, blocks = corner.astype(np.float64), node.astype(np.float64), sdf.blocks
        if not (np.isfinite(corner).all() and np.isfinite(node).all()):
            raise ModelError("the distance field holds numbers that are not finite", element=what)
        corners = _block_corners(corner, blocks)
        if (slot < 0).any():
            _join_blocks(corners, slot.reshape(blocks), node)
        _check_solid(corner, corners, slot, node, blocks, what)
        least = np.unravel_index(int(node.argmin()), node.shape)
        if -node[least] < 0.5 * sdf.voxel * (1 - 1e-6):
            reason = f"the solid is nowhere as thick as its voxels of {sdf.voxel:g} m: it is {-node[least]:g} m deep"
            raise ModelError(f"{reason}; use voxels of {-node[least]:g} m or less", element=what)
        block = np.flatnonzero(slot == least[0])[0]
        first = np.array(np.unravel_index(block, blocks)) * BLOCK
        inner = sdf.origin + sdf.voxel * (first + least[1:])
        slope = max(_steepest(node), _steepest(corners[slot < 0]) / BLOCK, LEAST_SLOPE) / sdf.voxel
        return cls(blocks, sdf.origin, sdf.voxel, slope, np.append(inner, node[least]), corner, slot, node)

    @cached_property
    def half_thickness(self) -> float:
        """Half (m) of what the solid is thick where it is thinnest: the least depth at which the field stops falling
        between two walls that face away from each other. Walls at less than 135 degrees are an edge, and do not count.
        """
        deepest = min(float(self.node.min()), float(self.corner.min()))
        slot = np.pad(self.slot.reshape(self.blocks), ((0, 1),) * 3, constant_values=-1)
        held = np.flatnonzero(self.slot >= 0)
        solid = held[self.node[self.slot[held]].min(axis=(1, 2, 3)) < 0]
        found = [deepest]
        for axis in range(3):
            for some in np.array_split(solid, len(solid) // BLOCKS_AT_ONCE + 1):
                place = np.unravel_index(some, self.blocks)
                after = tuple(at + (i == axis) for i, at in enumerate(place))
                own = np.moveaxis(self.node[slot[place]], axis + 1, 1)
                ahead = np.moveaxis(self.node[slot[after]], axis + 1, 1)[:, 1:3]
                ahead = np.where((slot[after] < 0)[:, None, None, None], np.nan, ahead)
                found.append(_least_ridge(np.concatenate([own, ahead], axis=1)))
        return -max(found)


def _least_ridge(node: np.ndarray) -> float:
    """The highest of the values, negative, at which ``node`` (n, k, m, m), is least between two cells that are next but
    one or less along the second axis, and whose slopes are turned away from each other; minus infinity: nowhere."""
    rise = np.diff(node, axis=1)
    rise = (rise[:, :, :-1, :-1] + rise[:, :, 1:, :-1]) + (rise[:, :, :-1, 1:] + rise[:, :, 1:, 1:])
    most = -math.inf
    for step in (1, 2):
        turns = (rise[:, :-step] < 0) & (rise[:, step:] > 0)
        first = np.argwhere(turns)
        if not len(first):
            continue
        pieces = [_cells(node, first + [0, i, 0, 0]) for i in range(step + 1)]
        below = np.min([piece.min(axis=(1, 2, 3)) for piece in pieces], axis=0)
        one, other = _slopes(pieces[0]), _slopes(pieces[-1])
        sizes = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
        faces = (below < 0) & (np.einsum("ij,ij->i", one, other) < OPPOSED_COSINE * sizes)
        most = max(most, float(below[faces].max(initial=-math.inf)))
    return most


def _cells(node: np.ndarray, first: np.ndarray) -> np.ndarray:
    """The values at the corners of cells (n, 2, 2, 2) by the indices of their first ones."""
    n, *at = first.T
    ends = np.indices((2, 2, 2)).reshape(3, 8)
    return node[(n[:, None], *(a[:, None] + e for a, e in zip(at, ends, strict=True)))].reshape(-1, 2, 2, 2)


def _slopes(cells: np.ndarray) -> np.ndarray:
    """The slopes at the middles of cells (n, 3), per cell."""
    return np.stack([np.diff(cells, axis=axis).mean(axis=(1, 2, 3)) for axis in (1, 2, 3)], axis=1)


def _block_corners(corner: np.ndarray, blocks) -> np.ndarray:
    """The values at the corners of each block (blocks, 2, 2, 2)."""
    corner = corner.reshape([count + 1 for count in blocks])
    windows = np.lib.stride_tricks.sliding_window_view(corner, (2, 2, 2))
    return windows.reshape(-1, 2, 2, 2)


def _join_blocks(corners: np.ndarray, slot: np.ndarray, node: np.ndarray) -> None:
    """Where a block that holds nodes meets one that does not, both take the values between the corners that they share:
    else the field would jump there. In place, on ``node``; those blocks are beyond the band about the surface."""
    held = np.flatnonzero(slot.ravel() >= 0)
    place = slot.ravel()[held]
    low, high = slice(0, 1), slice(1, 2)
    between = corners[held]
    rise = np.arange(NODES) / BLOCK
    for axis in range(1, 4):
        part = rise.reshape([-1 if i == axis else 1 for i in range(4)])
        ends = [tuple(side if i == axis else slice(None) for i in range(4)) for side in (low, high)]
        between = (1 - part) * between[ends[0]] + part * between[ends[1]]
    around = np.pad(slot, 1, constant_values=0)  # what is beyond the grid needs no joint
    at = np.stack(np.unravel_index(held, slot.shape), axis=1) + 1
    sides = {-1: slice(0, 1), 0: slice(None), 1: slice(NODES - 1, NODES)}
    for step in itertools.product((-1, 0, 1), repeat=3):
        if any(step):
            bare = around[tuple((at + step).T)] < 0
            where = tuple(sides[s] for s in step)
            node[(place[bare], *where)] = between[(bare, *where)]


def _check_solid(corner, corners, slot, node, blocks, what: str) -> None:
    """ModelError unless the field is negative somewhere, positive at the edge of its grid, and changes sign only where
    there are nodes."""
    reason = None
    if not (corner < 0).any() and not (node < 0).any():
        reason = "the distance field is negative nowhere: there is nothing to touch"
    elif (corner <= 0).all() and (node <= 0).all():
        reason = "the distance field is negative everywhere: it has no surface. Is its sign the other way round?"
    elif _edge(corner, slot, node, blocks).min() <= 0:
        reason = "the distance field is solid at the edge of its grid; give the grid a margin round the surface"
    elif ((corners[slot < 0].min(axis=(1, 2, 3), initial=1) < 0) & (corners[slot < 0].max(axis=(1, 2, 3)) >= 0)).any():
        reason = "the distance field changes its sign where it holds no nodes: it changes by more than the way moved"
        reason = f"{reason}, or jumps; give sparse=False"
    if reason is not None:
        raise ModelError(reason, element=what)


def _edge(corner, slot, node, blocks) -> np.ndarray:
    """All values on the outside of the grid."""
    corner = corner.reshape([count + 1 for count in blocks])
    values = [corner[[0, -1]].ravel(), corner[:, [0, -1]].ravel(), corner[:, :, [0, -1]].ravel()]
    slot = slot.reshape(blocks)
    for axis in range(3):
        for block, face in ((0, 0), (blocks[axis] - 1, NODES - 1)):
            held = np.take(slot, block, axis=axis)
            values.append(np.take(node[held[held >= 0]], face, axis=axis + 1).ravel())
    return np.concatenate(values)


def _steepest(node: np.ndarray) -> float:
    """The largest slope of the interpolant between nodes (n, k, k, k), per step from node to node.

    Its square is convex along each axis of the grid, so it is largest at a corner of a cell, where the slope is made of
    the differences along the three edges there.
    """
    low, high = slice(0, -1), slice(1, None)
    along = [np.diff(node, axis=axis) ** 2 for axis in (1, 2, 3)]
    most = 0.0
    for x, y, z in itertools.product((low, high), repeat=3):
        squared = along[0][:, :, y, z] + along[1][:, x, :, z] + along[2][:, x, y, :]
        most = max(most, float(squared.max(initial=0.0)))
    return math.sqrt(most)


class FieldMesh(Mesh):
    """The surface of a distance field, which it carries as ``field``: two are equal where the fields are."""

    def __init__(self, vertices, triangles, label: str, field: DistanceField):
        super().__init__(vertices, triangles, label)
        self._set(field=field)

    @cached_property
    def digest(self) -> bytes:
        """A hash of the field, from which all else follows."""
        content, field = hashlib.blake2b(digest_size=16), self.field
        for part in (field.blocks, field.voxel, field.origin, field.corner, field.slot, field.node):
            content.update(np.ascontiguousarray(part).tobytes())
        return content.digest()


def field_mesh(sdf, voxel: float | None, label: str) -> FieldMesh:
    """The surface of ``sdf``: an SDF; with ``voxel`` (m) also a primitive of ``SDF.sphere`` and its like, a Mesh, or
    (vertices, triangles), of which the field is made on the CPU. Raises ModelError where that is no solid."""
    what = f"distance field {label!r}"
    field = DistanceField.of(_as_sdf(sdf, voxel, what), what)
    block_of = np.flatnonzero(field.slot >= 0).astype(np.int32)
    arrays = (field.corner, field.slot, block_of, field.node)
    vertices, faces = SDF(field.origin, field.voxel, field.blocks, math.inf, *arrays).marching_cubes()
    if not len(faces):
        raise ModelError("the distance field has no surface: no cell of its grid is crossed", element=what)
    return FieldMesh(vertices, faces, label, field)


def _as_sdf(sdf, voxel: float | None, what: str) -> SDF:
    if isinstance(sdf, SDF):
        if voxel is not None:
            raise ModelError("is a grid already, with a voxel of its own; leave out voxel", element=what)
        return sdf
    if voxel is None:
        reason = "must be made of voxels: give an SDF, or a primitive or mesh and the size of a voxel (voxel=, in m)"
        raise ModelError(reason, element=what)
    if isinstance(sdf, Primitive):
        return sdf.to_grid(voxel, precision="float64", device="cpu")
    mesh = sdf if isinstance(sdf, QueryMesh) else as_mesh(sdf, what, "an SDF, a Mesh,")
    if isinstance(mesh, Mesh):
        mesh = told_outward(mesh, what)
        mesh = QueryMesh(mesh.vertices, mesh.triangles, precision="float64", device="cpu")
    if not mesh.is_closed:
        reason = f"its mesh bounds no solid: {mesh.open_edge_count} edges have no partner that runs the other way"
        mend = "Close it, use its convex hull (add_shape_convex_hull), or give a field made by SDF.from_mesh, which is"
        raise ModelError(f"{reason}. {mend} inside where the winding number is beyond 1/2 either way", element=what)
    field = SDF.from_mesh(mesh, voxel)
    thinnest = 0.5 * float(np.ptp(to_host(mesh.vertices), axis=0).min())
    if field.voxel * (1 - 1e-6) > thinnest > 0:  # but for the round-off of float32
        raise ModelError(f"its voxels are larger than half of the mesh; use {thinnest:g} m or less", element=what)
    return field
