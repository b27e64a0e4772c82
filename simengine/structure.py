"""Checks that the integer arrays of a model agree with one another, so that no kernel reads outside its arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from simengine import enums, schema
from simengine.builder.topology import path_masks
from simengine.enums import ShapeType
from simengine.errors import ModelError
from simengine.pair_routines import routine_table

ENUMERATED = {
    "joint_type": enums.JointType,
    "shape_type": enums.ShapeType,
    "equality_type": enums.EqualityType,
}


def check_arrays(arrays: Mapping[str, np.ndarray], counts: Mapping[str, int]) -> None:
    """Raise ModelError naming the row of owner "model" that holds an impossible number."""
    for row in schema.rows("model"):
        if row.is_offsets:
            _check_starts(row, arrays[row.name], counts[row.indexes])
        elif row.indexes:
            require_range(f"model.{row.name}", arrays[row.name], row.least, counts[row.indexes])
    of_joints = np.asarray(arrays["equality_type"]) == enums.EqualityType.JOINT
    for name in ("equality_object0", "equality_object1"):
        objects = np.asarray(arrays[name])
        require_range(f"model.{name}, joints", objects[of_joints], -1, counts["joints"])
        require_range(f"model.{name}, bodies", objects[~of_joints], -1, counts["bodies"])
    for name, kind in ENUMERATED.items():
        require_member(f"model.{name}", arrays[name], kind)
    require_range("model.shape_immovable", arrays["shape_immovable"], 0, 2)
    _check_meshes(arrays)
    _check_searched_pairs(arrays)


def _check_searched_pairs(arrays: Mapping[str, np.ndarray]) -> None:
    """Filtered pairs are sorted; explicit ones are of one world and of types, in order, that a routine collides."""
    low, high = (np.asarray(arrays[f"filtered_shape{i}"], np.int64) for i in (0, 1))
    if (low >= high).any() or (np.diff(low * len(arrays["shape_type"]) + high) <= 0).any():
        raise ModelError("model.filtered_shape0 and filtered_shape1 must be pairs in ascending order, the lower first")
    pair = [np.asarray(arrays[f"explicit_shape{i}"]) for i in (0, 1)]
    world, kind = ([np.asarray(arrays[name])[i] for i in pair] for name in ("shape_world", "shape_type"))
    if ((world[0] != world[1]) | (world[0] < 0)).any() or (np.diff(world[0]) < 0).any():
        raise ModelError(
            "model.explicit_shape0 and explicit_shape1 must be two shapes of one world, in order of worlds"
        )
    if (np.diff(pair[0].astype(np.int64) * len(arrays["shape_type"]) + pair[1]) <= 0).any():
        raise ModelError("model.explicit_shape0 and explicit_shape1 must be pairs in ascending order")
    collides = np.asarray(arrays["shape_flags"]) & enums.ShapeFlag.COLLIDES
    if not (collides[pair[0]] & collides[pair[1]]).all():
        raise ModelError("model.explicit_shape0 and explicit_shape1 must be shapes that collide")
    number, start = np.asarray(arrays["explicit_parameter"]), np.asarray(arrays[schema.world_start("contact_pairs")])
    if ((number < start[world[0]]) | (number >= start[world[0] + 1])).any():
        raise ModelError("model.explicit_parameter must name contact pairs of the world of the shapes")
    if (routine_table()[kind[0], kind[1]] < 0).any() or (pair[0] == pair[1]).any():
        raise ModelError("model.explicit_shape0 and explicit_shape1 are of types that no routine collides")


def _check_meshes(arrays: Mapping[str, np.ndarray]) -> None:
    """Meshes name points and triangles of their own, and shapes have what they collide by."""
    first = {name: np.asarray(arrays[f"mesh_{name}_start"], np.int64) for name in ("point", "triangle", "node")}
    points, triangles, nodes = (np.diff(first[name]) for name in ("point", "triangle", "node"))
    mesh = np.repeat(np.arange(len(triangles)), triangles)
    begin, end = first["triangle"][mesh], first["triangle"][mesh + 1]
    neighbour = np.asarray(arrays["mesh_neighbour"])
    for name, low, high in (
        ("mesh_triangle", 0, points[mesh][:, None]),
        ("mesh_order", begin, end),
        ("mesh_neighbour", np.where(neighbour < 0, -1, begin[:, None]), end[:, None]),
    ):
        values = np.asarray(arrays[name])
        if values.size and ((values < low) | (values >= high)).any():
            raise ModelError(f"model.{name} names what another mesh has")
    if (nodes & (nodes - 1)).any() or (nodes == 1).any():
        raise ModelError("model.mesh_node_start must give each mesh no node, or twice a power of two")
    rows, columns = np.asarray(arrays["mesh_grid"], np.int64).T
    cells = (rows - 1) * (columns - 1)
    fits = (rows >= 2) & (columns >= 2) & (rows * columns == points) & (2 * cells == triangles)
    if ((rows != 0) & ~fits).any():
        raise ModelError("model.mesh_grid does not fit the vertices and triangles of its mesh")
    hulls = [np.diff(np.asarray(arrays[f"mesh_hull_{name}_start"])) for name in ("point", "face")]
    field = _check_fields(arrays) & (nodes > 0)
    _check_colliding(arrays, nodes > 0, (hulls[0] > 0) & (hulls[1] > 0), rows > 0, field)


def _check_fields(arrays: Mapping[str, np.ndarray]) -> np.ndarray:
    """Distance fields have the corners and blocks of their grids; returns (meshes,) whether a mesh has one."""
    blocks = np.asarray(arrays["mesh_field_blocks"], np.int64)
    counts = [np.diff(np.asarray(arrays[f"mesh_field_{name}_start"], np.int64)) for name in ("block", "corner")]
    has = (blocks > 0).all(axis=1)
    fits = (blocks.prod(axis=1) == counts[0]) & (np.where(has, (blocks + 1).prod(axis=1), 0) == counts[1])
    if (blocks < 0).any() or (blocks > 2**20).any() or not fits.all():
        raise ModelError("model.mesh_field_blocks does not fit the corners and blocks of its mesh's grid")
    for name in ("voxel", "slope"):
        sizes = np.asarray(arrays[f"mesh_field_{name}"])
        if not (np.isfinite(sizes) & ((sizes > 0) | ~has)).all():
            raise ModelError(f"model.mesh_field_{name} must be positive for a mesh with a distance field")
    if has.any() and not len(arrays["field_node"]):
        raise ModelError("model.field_node is empty, though there are distance fields")
    return has


def _check_colliding(arrays: Mapping[str, np.ndarray], tree, hull, grid, field) -> None:
    """Shapes that collide as triangles, hulls, height and distance fields have meshes with what these collide by, and
    height fields that are only seen the grid that rays ask for."""
    kinds, used = np.asarray(arrays["shape_type"]), np.asarray(arrays["shape_mesh"])
    collides = (np.asarray(arrays["shape_flags"]) & enums.ShapeFlag.COLLIDES) != 0
    needed = {ShapeType.MESH: tree, ShapeType.CONVEX_HULL: hull, ShapeType.HEIGHTFIELD: grid, ShapeType.SDF: field}
    for kind, has in needed.items():
        meshes = used[(collides | (kind == ShapeType.HEIGHTFIELD)) & (kinds == kind)]
        if not np.append(has, False)[meshes].all():  # -1, no mesh, is the last
            raise ModelError(f"a shape of type {kind.name.lower()} has a mesh without what such shapes collide by")


def _check_starts(row: schema.Array, starts: np.ndarray, end: int) -> None:
    """Offsets rise from 0 to the number of things; those of shapes end before the shared static ones."""
    starts, most = np.asarray(starts), "at most " * (row.name == schema.world_start("shapes"))
    if starts[0] != 0 or (starts[-1] > end if most else starts[-1] != end) or (np.diff(starts) < 0).any():
        raise ModelError(f"model.{row.name} must rise from 0 to {most}{end}, the number of {row.indexes}")


def check_groups(
    groups: Sequence[Mapping[str, np.ndarray]],
    group_counts: Sequence[Mapping[str, int]],
    arrays: Mapping[str, np.ndarray],
) -> None:
    """Raise ModelError unless the topology tables of all batch groups fit themselves and the worlds that they name."""
    worlds = len(arrays["world_group"])
    found = np.sort(np.concatenate([np.zeros(0, np.int32), *(tables["group_world"] for tables in groups)]))
    if not np.array_equal(found, np.arange(worlds)):
        raise ModelError(f"the batch groups must hold each of the {worlds} worlds once")
    for i, (tables, counts) in enumerate(zip(groups, group_counts, strict=True)):
        where = f"batch group {i}"
        if (np.asarray(arrays["world_group"])[tables["group_world"]] != i).any():
            raise ModelError(f"world_group must be {i} for the worlds of {where}")
        _check_sizes(where, tables, counts, arrays)
        _check_links(where, tables, counts)
        _check_dofs(where, tables, counts)
        _check_pairs(where, tables, counts)
        own = np.diff(np.asarray(arrays[schema.world_start("contact_pairs")]))[tables["group_world"]]
        require_range(f"{where}: pair_parameter", tables["pair_parameter"], -1, int(own.max(initial=0)))


def require_range(where: str, values, least: int, end: int) -> None:
    """Raise ModelError unless least <= values < end."""
    values = np.asarray(values)
    wrong = np.flatnonzero((values < least) | (values >= end))
    if wrong.size:
        i = int(wrong[0])
        raise ModelError(f"{where}[{i}] is {values.ravel()[i]}; it must be from {least} to {end - 1}")


def require_member(where: str, values, kind) -> None:
    """Raise ModelError unless all values are of an enumeration."""
    values = np.asarray(values)
    wrong = np.flatnonzero(~np.isin(values, [int(member) for member in kind]))
    if wrong.size:
        raise ModelError(f"{where}[{int(wrong[0])}] is {values[wrong[0]]}, which is no {kind.__name__}")


def _require_equal(where: str, values: np.ndarray, expected) -> None:
    wrong = np.flatnonzero(values != np.asarray(expected))
    if wrong.size:
        i = int(wrong[0])
        raise ModelError(f"{where}[{i}] is {values[i]}; it must be {np.asarray(expected)[i]}")


def _check_sizes(where: str, tables, counts, arrays) -> None:
    """The worlds of the group have the bodies, degrees of freedom, coordinates and shapes that its tables speak of."""
    first = tables["group_world"]
    static = len(arrays["shape_type"]) - int(arrays["world_shape_start"][-1])
    expected = {
        "world_body_start": counts["links"] - 1,
        "world_joint_start": counts["links"] - 1,
        "world_shape_start": counts["link_shapes"] - static,
        "world_coord_start": counts["link_coords"],
        "world_dof_start": counts["link_dofs"],
    }
    for kind in (
        "sites",
        "equalities",
        "contact_pairs",
    ):  # the tables do not speak of them; they are to be as many in each world
        name = schema.world_start(kind)
        expected[name] = np.diff(np.asarray(arrays[name]))[first].max(initial=0)
    for name, size in expected.items():
        sizes = np.diff(np.asarray(arrays[name]))[first]
        if (sizes != size).any():
            world = int(first[np.argmax(sizes != size)])
            raise ModelError(f"{where} is of worlds with {size} entries by {name}; world {world} differs")


def _check_links(where: str, tables, counts) -> None:
    """Link 0 is the world, parents come first, and what follows from the parents is so."""
    links, dofs = counts["links"], counts["link_dofs"]
    parent = tables["link_parent"]
    if links < 1 or parent[0] != -1:
        raise ModelError(f"{where}: link 0 must be the world, with parent -1")
    each = np.arange(links)
    if (parent[1:] < 0).any() or (parent[1:] >= each[1:]).any():
        raise ModelError(f"{where}: the parent of a link must come before it")
    for name in ("link_body", "link_joint"):
        if not np.array_equal(np.sort(tables[name]), each - 1) or tables[name][0] != -1:
            raise ModelError(f"{where}: {name} must be -1 for link 0 and name each of {links - 1} once")
    depth, root = np.zeros(links, int), np.zeros(links, int)
    for i in range(1, links):
        depth[i] = depth[parent[i]] + 1
        root[i] = i if parent[i] == 0 else root[parent[i]]
    for name, values in (("link_depth", depth), ("link_root", root)):
        _require_equal(f"{where}: {name}", tables[name], values)
    count = tables["link_dof_count"]
    require_range(f"{where}: link_dof_count", count, 0, 7)
    _require_equal(f"{where}: link_dof_start", tables["link_dof_start"], np.cumsum(count) - count)
    if count.sum() != dofs:
        raise ModelError(f"{where}: the links have {count.sum()} degrees of freedom, the tables {dofs}")
    _require_equal(f"{where}: dof_link", tables["dof_link"], np.repeat(each, count))


def _check_dofs(where: str, tables, counts) -> None:
    """Balls are three in a row with one quaternion; paths and masks follow from the links."""
    dofs = counts["link_dofs"]
    kind, coord, link = tables["dof_kind"], tables["dof_coord"], tables["dof_link"]
    require_member(f"{where}: dof_kind", kind, enums.DofKind)
    require_range(f"{where}: dof_coord", coord, 0, counts["link_coords"])
    if not np.array_equal(np.sort(tables["dof_user"]), np.arange(dofs)):
        raise ModelError(f"{where}: dof_user must name each of {dofs} degrees of freedom once")
    last = np.full(counts["links"], -1)
    depth, start = np.zeros(dofs, int), np.arange(dofs)
    i = 0
    for j in range(dofs):
        in_ball = kind[j] - enums.DofKind.BALL_X
        if in_ball > 0 and (j == 0 or kind[j - 1] != kind[j] - 1 or coord[j - 1] != coord[j] or link[j - 1] != link[j]):
            raise ModelError(f"{where}: dof {j} is {enums.DofKind(kind[j]).name} but does not follow the one before it")
        if 0 <= in_ball < 2 and (j + 1 == dofs or kind[j + 1] != kind[j] + 1):
            raise ModelError(f"{where}: the ball that begins before dof {j + 1} is not complete")
        while i < link[j]:  # links in order: each begins where its parent ends
            i += 1
            last[i] = last[tables["link_parent"][i]]
        if tables["dof_parent"][j] != last[i]:
            raise ModelError(f"{where}: dof_parent[{j}] is {tables['dof_parent'][j]}; it must be {last[i]}")
        if last[i] >= 0:
            depth[j], start[j] = depth[last[i]] + 1, start[last[i]]
        last[i] = j
    _require_equal(f"{where}: dof_depth", tables["dof_depth"], depth)
    _require_equal(f"{where}: dof_tree_start", tables["dof_tree_start"], start)
    _require_equal(f"{where}: dof_tree_end", tables["dof_tree_end"], np.searchsorted(start, start, side="right"))
    masks = path_masks(tables["dof_parent"]) if dofs <= enums.DENSE_DOFS else np.zeros(0, np.int32)
    if not np.array_equal(tables["dof_mask"], masks):
        raise ModelError(f"{where}: dof_mask does not say what dof_parent says")


def _check_pairs(where: str, tables, counts) -> None:
    """Shapes and links are there, and each pair begins where the one before it ends."""
    require_range(f"{where}: shape_link", tables["shape_link"], 0, counts["links"])
    for name in ("pair_shape0", "pair_shape1"):
        require_range(f"{where}: {name}", tables[name], 0, counts["link_shapes"])
    slots = enums.pair_contacts(tables["pair_routine"])
    _require_equal(f"{where}: pair_slot", tables["pair_slot"], np.cumsum(slots) - slots)
