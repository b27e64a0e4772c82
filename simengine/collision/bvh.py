"""Bounding volume hierarchies over boxes (kernels_cuda/bvh.h, bvh_build.cu, bvh_query.cu)."""

from __future__ import annotations

import numpy as np

from simengine.collision import queries
from simengine.collision.sort import LANES, ExclusiveScan, RadixSort
from simengine.errors import CapacityError, ModelError
from simengine.fixed import Fixed
from simengine.runtime import modes
from simengine.values import whole

TILE, LEVELS, STACK, EXTENTS_SCRATCH, SAMPLES = 128, 4, 72, 32 * 7, 512
"""As in bvh_merge.h, bvh.h, bvh_extents.h and bvh_build.cu."""

NODE_LANES = 8
"""Lanes that make a node: one for each child."""

PACK_TILE = 32
"""Primitives that a group of lanes packs, as in bvh_pack.h; and those of a node at most."""

PACK_BLOCK, REFIT_BLOCK = 128, 32
"""Threads of a block on a GPU that packs, and of one that refits: it holds its memory until its last group is done, and
some groups go up to the root."""

PIECE = 1024
"""Primitives whose extents a group of lanes finds."""

NODE_BYTES = {np.dtype(np.float32): 96, np.dtype(np.float64): 112}
"""sizeof(BvhNode)."""

NODE_SCRATCH = 416
"""sizeof(NodeMemory) of bvh_build.cu. The kernels' headers assert these sizes."""


def merge_scratch(item: int) -> int:
    """sizeof(TileMemory) of bvh_merge.h, for numbers of ``item`` bytes."""
    return (TILE + 4) * (7 * item + 2 * 4) + 3 * TILE


def refit_scratch(width: int, item: int, node: int) -> int:
    """sizeof(RefitMemory<width>) of bvh_refit.h, for numbers of ``item`` and nodes of ``node`` bytes."""
    return (width * PACK_TILE + 4 + 48 + 8) * item + node


MOST_PRIMITIVES = 1 << 27
"""Places of numbers in the leaves, 9 a triangle, are counted in 32 bits."""

MOST_GROUPS = 1 << 24
"""Each group, empty ones too, takes a hundred bytes or more."""

MOST_NEAREST = 1 << 20
"""The largest k of ``nearest``."""

NO_FARTHEST = np.inf

WORTH_SORTING, QUERY_BITS = 4096, 7
"""From how many points on they are worked in the order of a Morton curve, and its bits an axis."""


class Plan:
    """The tiles of every stage of a build: whole trees by their sizes, known before anything runs.

    ``stages``: for each an array (tiles, 6) of int32, as bvh_build.cu reads it; each quarters the clusters. ``nodes``:
    binary nodes in all, primitives included.
    """

    def __init__(self, sizes: np.ndarray):
        self.stages: list[np.ndarray] = []
        self.nodes = int(sizes.sum())
        trees = np.flatnonzero(sizes)
        left = sizes[trees].astype(np.int64)
        most = 0
        while len(trees):
            table, left, ended = self._stage(trees, left)
            most = max(most, len(self.stages) + _quarterings(int(table[table[:, 5] >= 0, 1].max(initial=1))))
            self.stages.append(table)
            trees, left = trees[~ended], left[~ended]
        if LEVELS * most > STACK:
            message = "a tree would be deeper than walks allow"
            raise CapacityError(message, buffer="bvh", needed=most, had=STACK // LEVELS)

    def _stage(self, trees, left):
        tiles = -(-left // TILE)
        of_tree = np.repeat(np.arange(len(trees)), tiles)
        number = np.arange(len(of_tree)) - np.repeat(np.cumsum(tiles) - tiles, tiles)
        starts = np.cumsum(left) - left
        table = np.zeros((len(of_tree), 6), np.int64)
        table[:, 0] = starts[of_tree] + number * TILE
        table[:, 1] = np.minimum(left[of_tree] - number * TILE, TILE)
        last = tiles[of_tree] == 1
        table[:, 2] = np.where(last, 1, -(-table[:, 1] // 4))
        # clusters of trees that end here come last, so that the others stand side by side in the next stage
        results = np.where(last, 0, table[:, 2])
        table[:, 3] = np.cumsum(results) - results
        table[last, 3] = results.sum() + np.arange(int(last.sum()))
        made = table[:, 1] - table[:, 2]
        table[:, 4] = self.nodes + np.cumsum(made) - made
        self.nodes += int(made.sum())
        table[:, 5] = np.where(last, trees[of_tree], -1)
        after = np.bincount(of_tree, weights=table[:, 2], minlength=len(trees)).astype(np.int64)
        return table.astype(np.int32), after, tiles == 1


def pieces_of(sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Trees cut into pieces of at most PIECE primitives: begin, size, tree (pieces, 3); a tree's first (trees+1,)."""
    counts = -(-sizes // PIECE)
    starts = np.concatenate([[0], np.cumsum(counts)])
    tree = np.repeat(np.arange(len(sizes)), counts)
    number = np.arange(len(tree)) - starts[tree]
    begin = (np.cumsum(sizes) - sizes)[tree] + number * PIECE
    size = np.minimum(sizes[tree] - number * PIECE, PIECE)
    return np.stack([begin, size, tree], axis=1).astype(np.int32), starts.astype(np.int32)


def _quarterings(count: int) -> int:
    times = 0
    while count > 1:
        count, times = -(-count // 4), times + 1
    return times


class BoxTrees:
    """Trees over boxes that are given later: the memory, the launches that build and refit them, and their arrays.

    ``lower``, ``upper``: (n, 3), read at every build. ``groups`` (n,) or None: the tree of each box, of ``count``
    trees. ``triangles``: what refits read, ``faces`` (n, 3) and ``vertices``; None: the boxes. ``packed`` has the
    numbers of the primitives, 9 or 6 each, in the order of the leaves.
    """

    def __init__(self, lower, upper, groups, count: int, device, triangles: dict | None = None):
        self.lower, self.upper, self.device, self.count = lower, upper, device, count
        n = self.size = len(lower)
        dtype = self.dtype = lower.dtype
        if n >= MOST_PRIMITIVES:
            raise CapacityError("has too many boxes", buffer="bvh", needed=n, had=MOST_PRIMITIVES - 1)
        host = np.zeros(n, np.int64) if groups is None else groups
        sizes = np.bincount(host, minlength=count)
        self._plan = Plan(sizes)
        most = n // 4 + count
        self.nodes = device.zeros(max(most, 1) * NODE_BYTES[dtype], np.uint8)
        self.roots = device.asarray(np.full(count, -1, np.int32))
        self.primitives = device.zeros(n, np.int32)
        self._width = 9 if triangles else 6
        # whole fours, as they are read
        self.packed = device.zeros(-(-self._width * n // 4) * 4, dtype)[: self._width * n].reshape(n, self._width)
        self.first_bad = device.zeros(1, np.int32)
        self._build: list = []
        if n:
            # groups for as many nodes as are usual: where there are more, groups take several
            self._most_nodes, self._node_groups = most, most // 3 + 1
            self._make_order(host, sizes, groups is None)
            self._make_nodes()
            self._make_refit(triangles)

    def _launch(self, name, arguments, *, worlds=None, items=None, scratch=0, lanes=LANES, block=None):
        of_worlds = {"worlds": worlds, "scratch": scratch, "lanes": lanes, "block": block}
        of_worlds = of_worlds if worlds is not None else {"items": items}
        precision = {"precision": self.dtype.name, "device": self.device}
        return queries.kernel("bvh_build.cu", name).prepare(arguments, **of_worlds, **precision)

    def _make_order(self, groups, sizes, single: bool) -> None:
        """Primitives of each tree in the order of the Morton codes of their centres."""
        device, n, trees = self.device, self.size, self.count
        member = tree_of = None
        if not single:
            member = device.asarray(np.argsort(groups, kind="stable").astype(np.int32))
            tree_of = device.asarray(np.sort(groups).astype(np.int32))
        piece, starts = (device.asarray(array) for array in pieces_of(sizes))
        extents, pieces = device.empty((trees, 6), self.dtype), len(piece)
        boxes = {"member": member, "lower": self.lower, "upper": self.upper}
        arguments = {"pieces": pieces, "count": n, "trees": trees, "filled": int((sizes > 0).sum()), "piece": piece}
        arguments |= {"piece_start": starts, "sizes": device.asarray(sizes.astype(np.int32)), "extents": extents}
        arguments |= {"piece_extents": device.empty((pieces, 6), self.dtype), "first_bad": self.first_bad}
        arguments |= {"piece_bad": device.empty(pieces, np.int32), "arrived": device.zeros(trees + 1, np.int32)}
        arguments |= {"tree_bad": device.asarray(np.full(trees, n, np.int32))}
        scratch = max(EXTENTS_SCRATCH * (self.dtype.itemsize + 4), 3 * SAMPLES * self.dtype.itemsize)
        self._check = self._launch("bvh_extents", arguments | boxes, worlds=pieces, scratch=scratch)
        tree_bits = (trees - 1).bit_length()
        # few primitives are sorted finely, for what clusters in a corner; for many that would cost more than it saves
        wide = n <= 1 << 18 or n > 1 << 21 or tree_bits > 2
        bits = min(21 if n > 1 << 21 else 16, (64 - tree_bits) // 3) if wide else 10
        keys = device.empty(n, np.uint64 if wide else np.uint32)
        key_arguments = {"bits": bits, "tree_of": tree_of, "extents": extents, "keys": keys} | boxes
        make_keys = self._launch(f"bvh_keys_{64 if wide else 32}", key_arguments, items=n)
        sort = RadixSort(keys, member, 3 * bits + tree_bits)
        self._order = sort.sorted_values
        self._build += [self._check, make_keys, sort]

    def _make_nodes(self) -> None:
        """Binary trees by merging, then nodes of eight."""
        device, n, total, most = self.device, self.size, self._plan.nodes, self._most_nodes
        children, infos = device.zeros((total, 2), np.int32), device.zeros(total, np.int32)
        boxes, marks = device.zeros((total, 6), self.dtype), device.zeros(total, np.int32)
        binary_root = device.asarray(np.full(self.count, -1, np.int32))
        prepared = {"primitives": n, "order": self._order, "lower": self.lower, "upper": self.upper}
        binary = {"children": children, "boxes": boxes, "marks": marks}
        scratch = merge_scratch(self.dtype.itemsize)
        clusters = None
        for quarterings, table in enumerate(self._plan.stages):
            results = device.empty(int(table[:, 2].sum()), np.int32)
            arguments = {"tiles": len(table), "quarterings": quarterings, "tile": device.asarray(table)}
            arguments |= {"clusters": clusters, "clusters_out": results, "binary_root": binary_root, "infos": infos}
            merge = self._launch("bvh_merge", prepared | binary | arguments, worlds=len(table), scratch=scratch)
            self._build.append(merge)
            clusters = results
        places = ExclusiveScan(marks, pairs=True)
        self._total = places.offsets[total:]
        self._rows = device.zeros((most, 4), np.int32)  # NodeRow
        source = device.zeros(most, np.int32)
        sources = {"marks": marks, "places": places.offsets, "source": source, "row": self._rows}
        nodes = prepared | binary | sources | {"most": most, "infos": infos, "total": self._total}
        nodes |= {"node_bytes": self.nodes, "leaf_primitive": self.primitives}
        roots = {"nodes": total, "trees": self.count, "binary_root": binary_root, "root": self.roots}
        items = max(total, self.count)
        self._build += [
            places,
            self._launch("bvh_sources", sources | roots | {"n": items}, items=items),
            self._launch("bvh_nodes", nodes, worlds=self._node_groups, scratch=NODE_SCRATCH, lanes=NODE_LANES),
        ]

    def _make_refit(self, triangles: dict | None) -> None:
        """The numbers of primitives to their places, then the boxes of nodes."""
        device, n, most, width, item = self.device, self.size, self._most_nodes, self._width, self.dtype.itemsize
        tiles, kind = -(-n // PACK_TILE), "triangles" if triangles else "boxes"
        pack = {"tiles": tiles, "n": n, "leaf_primitive": self.primitives, "packed": self.packed}
        pack |= triangles or {"lower": self.lower, "upper": self.upper}
        self._bounds = device.empty((most, 6), self.dtype)
        nodes = {"most": most, "total": self._total, "packed": self.packed, "node_bytes": self.nodes}
        nodes |= {"row": self._rows, "arrived": device.zeros(most, np.int32), "bounds": self._bounds}
        pack_scratch = PACK_TILE * (3 * 4 if triangles else width * item)
        scratch = refit_scratch(width, item, NODE_BYTES[self.dtype])
        self._refit = [
            self._launch(f"bvh_pack_{kind}", pack, worlds=tiles, scratch=pack_scratch, block=PACK_BLOCK),
            self._launch(
                f"bvh_refit_{kind}",
                nodes,
                worlds=self._node_groups,
                scratch=scratch,
                lanes=NODE_LANES,
                block=REFIT_BLOCK,
            ),
        ]

    def build(self) -> None:
        """Trees anew from the boxes as they are."""
        for launch in self._build:
            launch()
        self.refit()

    def refit(self) -> None:
        """The same trees with the boxes, or triangles, as they are."""
        if self.size:
            for launch in self._refit:
                launch()

    def check(self) -> None:
        """Look for what is no box, as a build does: ``first_bad`` is then its index, or the number of boxes."""
        if self.size:
            self._check()

    def turn(self, points):
        """The order (n,) in which points are best worked: neighbours after one another. None where it does not matter:
        few of them, a small tree, or several."""
        if min(len(points), self.size) < WORTH_SORTING or self.count != 1:
            return None
        order = QueryOrder(self, points)
        order()
        return order.turn

    def node_count(self) -> int:
        """How many nodes there are. Waits for the device."""
        return int(self._total[0]) >> 32 if self.size else 0

    def arrays(self) -> dict:
        """The arguments of a query's kernel."""
        return {"nodes": self.nodes, "roots": self.roots, "primitives": self.primitives, "packed": self.packed}


class QueryOrder:
    """Sorts points along a Morton curve through one tree: after each call ``turn`` (n,) is their order."""

    def __init__(self, trees: BoxTrees, points):
        n, device = len(points), trees.device
        keys = device.empty(n, np.uint32)
        arguments = {"nodes": trees.nodes, "roots": trees.roots, "point": points}
        arguments |= {"n": n, "bits": QUERY_BITS, "keys": keys}
        kernel = queries.kernel("bvh_query.cu", "bvh_query_keys")
        self._keys = kernel.prepare(arguments, items=n, precision=trees.dtype.name, device=device)
        self._sort = RadixSort(keys, None, 3 * QUERY_BITS)
        self.turn = self._sort.sorted_values

    def __call__(self) -> None:
        self._keys()
        self._sort()


class Bvh(Fixed):
    """A bounding volume hierarchy over boxes: ``sim.collision.Bvh(lower, upper)``.

    ``lower``, ``upper``: corners of the boxes (n, 3) in m, float64 where one of them is, else float32. ``groups``
    (n,) whole numbers: one tree for each of 0 .. groups.max() (or ``group_count``), all built together; queries name
    theirs by ``group``. ``device``: that of the arrays. Other boxes come by ``refit`` or ``rebuild``; all else stays.

    The answers are those of testing every box, with ties broken by index: they depend neither on the tree nor on its
    history. Raises ModelError, with the index, for boxes that are not finite or upside down; queries refuse what is
    not finite likewise. The tree is built by merging neighbours in Morton order (Meister and Bittner, Parallel
    Locally-Ordered Clustering, 2018), and packed into compressed nodes of eight (Ylitie, Karras and Laine, 2017).
    """

    def __init__(self, lower, upper, groups=None, group_count: int | None = None, device=None):
        device = queries.device_for(lower, device)
        dtype = queries.float_dtype(lower, upper)
        self._lower = queries.vectors("lower", lower, dtype, device).copy()
        self._upper = queries.vectors("upper", upper, dtype, device, len(self._lower)).copy()
        groups, group_count = checked_groups(groups, group_count, len(self._lower), device)
        self._set(device=device, dtype=dtype, group_count=group_count)
        self._trees = BoxTrees(self._lower, self._upper, groups, group_count, device)
        self._trees.build()
        self.check()

    def __len__(self) -> int:
        return len(self._lower)

    def rebuild(self, lower, upper) -> None:
        """Take other boxes, as many as before, and build the tree anew. May be captured (then ``check`` later)."""
        self._take(lower, upper)
        self._trees.build()
        self.check()

    def refit(self, lower, upper) -> None:
        """Take other boxes, as many as before, and keep the tree's shape. May be captured (then ``check`` later)."""
        self._take(lower, upper)
        if modes.capture is None:
            self._trees.check()
        self._trees.refit()
        self.check()

    def _take(self, lower, upper) -> None:
        n = len(self)
        if n == 0:
            return
        lower = queries.vectors("lower", lower, self.dtype, self.device, n)
        upper = queries.vectors("upper", upper, self.dtype, self.device, n)
        arguments = {"lower": lower, "upper": upper, "lower_out": self._lower, "upper_out": self._upper}
        queries.kernel("bvh_build.cu", "bvh_take").prepare(arguments, items=n, device=self.device)()

    def check(self) -> None:
        """Raise ModelError where the last build that looked found a box that is not finite or upside down.

        Waits for the device; does nothing while a capture is on. Such boxes are in no answer.
        """
        if modes.capture is not None or len(self) == 0:
            return
        bad = int(self._trees.first_bad[0])
        if bad < len(self):
            low, high = self._lower[bad].tolist(), self._upper[bad].tolist()
            raise ModelError(f"box {bad} is {low} to {high}: lower must be finite and nowhere above upper")

    def arrays(self) -> dict:
        """``nodes``, ``roots``, ``primitives``, ``packed``: what ``BvhView`` of bvh.h takes, with a width of 6."""
        return self._trees.arrays()

    # queries

    def _prepare(self, name: str, count: int, dtype_arguments: dict, group):
        tree = None if group is None else queries.indices("group", group, self.device, count, self.group_count)
        if tree is None and self.group_count > 1:
            raise ModelError(
                f"this Bvh holds {self.group_count} groups: say which with group=, an index for each query"
            )
        arguments = self._trees.arrays() | dtype_arguments | {"n": count, "tree": tree}
        kernel = queries.kernel("bvh_query.cu", name)
        return kernel.prepare(arguments, items=count, precision=self.dtype.name, device=self.device)

    def _lists(self, name: str, count: int, arguments: dict, group):
        def prepare(offsets, counts, out):
            more = {"offsets": offsets, "counts": counts, "out": out}
            return self._prepare(name, count, arguments | more, group)

        return queries.lists(prepare, count, self.device)

    def _vectors(self, name: str, values, count: int | None = None):
        return queries.vectors(name, values, self.dtype, self.device, count)

    def _rays(self, origin, direction, max_distance):
        origin = self._vectors("origin", origin)
        direction = self._vectors("direction", direction, len(origin))
        queries.require_directions("direction", direction)
        farthest = queries.numbers("max_distance", max_distance, self.dtype, self.device, len(origin))
        return {"origin": origin, "direction": direction, "max_distance": farthest}

    def query_aabb(self, lower, upper, group=None):
        """Boxes that meet the boxes (m, 3) to (m, 3), faces included: offsets (m+1,) int64, indices int32.

        ModelError where ``lower`` is above ``upper``, with the index.
        """
        lower = self._vectors("lower", lower)
        upper = self._vectors("upper", upper, len(lower))
        queries.require_ordered(lower, upper)
        return self._lists("bvh_query_box", len(lower), {"lower": lower, "upper": upper}, group)

    def query_sphere(self, center, radius, group=None):
        """Boxes within ``radius`` (m,) or one number of ``center`` (m, 3): offsets (m+1,) int64, indices int32."""
        center = self._vectors("center", center)
        radius = queries.numbers("radius", radius, self.dtype, self.device, len(center))
        return self._lists("bvh_query_sphere", len(center), {"center": center, "radius": radius}, group)

    def query_ray(self, origin, direction, max_distance=NO_FARTHEST, group=None):
        """Boxes that rays meet at origin + t direction, 0 <= t <= max_distance: offsets (m+1,) int64, indices int32."""
        rays = self._rays(origin, direction, max_distance)
        return self._lists("bvh_query_ray", len(rays["origin"]), rays, group)

    def ray_first(self, origin, direction, max_distance=NO_FARTHEST, group=None):
        """The box that each ray enters first: index (m,) int32, -1 for none, and t (m,), infinite for none.

        t is 0 where the ray begins inside; of boxes entered at the same t it is that with the least index.
        """
        return self._first(origin, direction, max_distance, group, False)

    def ray_any(self, origin, direction, max_distance=NO_FARTHEST, group=None):
        """Whether each ray meets a box at all: (m,) bool."""
        return self._first(origin, direction, max_distance, group, True)[0] == 0

    def _first(self, origin, direction, max_distance, group, any_hit: bool):
        rays = self._rays(origin, direction, max_distance)
        count = len(rays["origin"])
        index, distance = self.device.empty(count, np.int32), self.device.empty(count, self.dtype)
        outputs = {"any": int(any_hit), "index": index, "distance": distance}
        if count:
            self._prepare("bvh_ray_first", count, rays | outputs, group)()
        return index, distance

    def nearest(self, points, k: int = 1, max_distance=NO_FARTHEST, group=None):
        """The k boxes nearest to ``points`` (m, 3): index (m, k) int32 and distance (m, k), nearest first.

        ``k``: at most 1,048,576. Order is by (distance, index); the distance from inside a box is 0. Where fewer are
        within ``max_distance``, -1 and infinity.
        """
        k = whole(k, "k", 1, MOST_NEAREST)
        points = self._vectors("points", points)
        count = len(points)
        farthest = queries.numbers("max_distance", max_distance, self.dtype, self.device, count)
        index, distance = self.device.empty((count, k), np.int32), self.device.empty((count, k), self.dtype)
        turn = self._trees.turn(points)
        outputs = {"k": k, "index": index, "distance": distance, "turn": turn}
        if count:
            self._prepare("bvh_nearest", count, {"point": points, "max_distance": farthest} | outputs, group)()
        return index, distance


def checked_groups(groups, group_count, count: int, device):
    """Groups (count,) as int64 on the host or None, and how many there are."""
    if groups is None:
        if group_count not in (None, 1):
            raise ModelError(f"group_count={group_count} needs groups: the group of each box")
        return None, 1
    modes.refuse_while_capturing("a structure with groups was made")
    groups = queries.on_host("groups", groups)
    if groups.shape != (count,) or groups.dtype.kind not in "iu":
        raise ModelError(f"groups must be whole numbers of shape ({count},), got {groups.dtype} {groups.shape}")
    most = int(groups.max(initial=-1)) + 1
    group_count = max(most, 1) if group_count is None else whole(group_count, "group_count", 1, MOST_GROUPS)
    if most > MOST_GROUPS:
        message = f"groups go up to {most - 1}: number them from 0 on without gaps"
        raise CapacityError(message, buffer="groups", needed=most, had=MOST_GROUPS)
    if groups.min(initial=0) < 0 or most > group_count:
        index = int(((groups < 0) | (groups >= group_count)).argmax())
        raise ModelError(f"groups[{index}] is {groups[index]}; it must be 0 to {group_count - 1}")
    return groups.astype(np.int64), group_count
