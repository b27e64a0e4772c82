// Building and refitting of trees (bvh.h), many at once: nothing waits for the host, no result depends on scheduling.
//
// 1. Primitives of each tree are sorted by the Morton code of their centres.
// 2. Neighbours in that order are merged into a binary tree (bvh_merge.h). A group of lanes takes a tile of clusters
//    and merges until a quarter is left; these are the clusters of the next stage. So all sizes are known beforehand,
//    and depth is bounded: within a quartering a cluster grows by at most 4 levels. (One that has, has at least 5 of
//    the tile's m clusters; there are at most m/5 such, less than the quarter that stays, so some other pair can always
//    merge: where none is within the window, the window is doubled.)
// 3. Subtrees of up to 4 primitives become leaves; going up, the open slots of two children are joined while they are
//    at most 8, else the child with more of them becomes a node of its own.
// 4. The numbers of primitives are packed in the order of the leaves (bvh_pack.h), and boxes made of them bottom-up:
//    whoever finishes the last child of a node goes on with the node (bvh_refit.h).
#include "bvh.h"
#include "bvh_extents.h"
#include "bvh_merge.h"
#include "bvh_morton.h"
#include "bvh_refit.h"

inline constexpr int TILE_COLUMNS = 6;   // begin, size, target, place of the first result, first node, tree or -1
inline constexpr int PIECE_COLUMNS = 3;  // begin, size, tree

// What a tree is sorted from: primitive and corners of a box.
struct PrimitiveBox {
    int primitive;
    vec3 lower, upper;

    SIM_INLINE bool good() const { return is_box(lower, upper); }
    SIM_INLINE vec3 center() const { return real(0.5) * lower + real(0.5) * upper; }
};

// Primitive i of all trees: `member` tells which it is where trees are several.
SIM_INLINE PrimitiveBox member_box(const int* member, const real* lower, const real* upper, int i) {
    const int primitive = member ? member[i] : i;
    return {primitive, load_vec3(lower + 3LL * primitive), load_vec3(upper + 3LL * primitive)};
}

// ---- 1. order ----------------------------------------------------------------------------------------------------

// A few boxes far away must not leave all others in one cell of the curve. So the curve covers the extents as far as
// they lie within four times the mean distance from the mean, along each axis; what is beyond counts as at its end.
// (Evenly spread boxes lie within twice that distance: nothing changes for them.) Means are those of a sample.
inline constexpr int SAMPLES = 512;

SIM_INLINE void cover_sample(Lanes& lanes, int begin, int size, const int* member, const real* lower, const real* upper,
                             char* memory, real* extent) {
    real* centers = (real*)memory;  // (3, SAMPLES), NaN for what is no box
    const int samples = size < SAMPLES ? size : SAMPLES, stride = size / samples;
    for_lanes_ahead<8>(
        lanes, 0, samples, [&](int i) { return member_box(member, lower, upper, begin + i * stride); },
        [&](int i, const PrimitiveBox& box) {
            const vec3 center = box.center();
            for (int a = 0; a < 3; ++a) centers[a * SAMPLES + i] = box.good() ? center[a] : quiet_nan<real>();
        });
    lanes.sync();
    const int good = lanes.scan(samples, [&](int i) { return int(centers[i] == centers[i]); });
    const real share = reciprocal(real(good > 0 ? good : 1));
    for (int a = 0; a < 3; ++a) {
        const real* places = centers + a * SAMPLES;
        const auto term = [&](int i, real from) { return places[i] == places[i] ? places[i] - from : real(0); };
        const real mean = share * lanes.sum_over(samples, [&](int i) { return term(i, real(0)); });
        const real away = share * lanes.sum_over(samples, [&](int i) { return absolute(term(i, mean)); });
        if (lanes.lane() > 0 || good == 0) continue;
        const real reach = real(4) * away + real(1e-6) * (extent[3 + a] - extent[a]);
        extent[a] = maximum(extent[a], mean - reach);
        extent[3 + a] = minimum(extent[3 + a], mean + reach);
    }
    lanes.sync();
}

// What the curve through each tree covers, and the first primitive that is no box (or `count`). Groups find the extents
// of pieces; the last of a tree combines them. `arrived` is 0 before and after; trees without primitives do not count.
extern "C" __global__ void bvh_extents(int pieces, int count, int trees, int filled, const int* piece /* (pieces, 3) */,
                                       const int* piece_start /* (trees + 1) */, const int* sizes /* (trees) */,
                                       const int* member /* optional */, const real* lower, const real* upper,
                                       real* piece_extents /* (pieces, 6) */, int* piece_bad /* (pieces) */,
                                       real* extents /* (trees, 6) */, int* tree_bad /* (trees) */,
                                       int* arrived /* (trees + 1) */, int* first_bad /* (1) */, Scratch scratch) {
    for_each_world(pieces, scratch, [&](Lanes& lanes, int slot, char* fast) {
        char* memory = &small_memory<char>(fast);
        const int begin = piece[PIECE_COLUMNS * slot], size = piece[PIECE_COLUMNS * slot + 1];
        const int tree = piece[PIECE_COLUMNS * slot + 2];
        const Extents of_piece = extents_of(
            lanes, size, count, memory, [&](int i) { return member_box(member, lower, upper, begin + i); },
            [&](Extents& mine, const PrimitiveBox& box) {
                if (box.good())
                    mine.add(box.center(), box.center());
                else
                    mine.add_bad(box.primitive);
            });
        if (lanes.lane() == 0) {
            store_extents(piece_extents + 6 * slot, of_piece);
            piece_bad[slot] = of_piece.bad;
        }
        const int first = piece_start[tree], of_tree = piece_start[tree + 1] - first;
        if (!arrives_last(lanes, arrived + tree, of_tree)) return;
        const auto load = [&](int i) {
            const real* e = piece_extents + 6 * (first + i);
            return Extents{load_vec3(e), load_vec3(e + 3), piece_bad[first + i]};
        };
        const Extents whole = extents_of(lanes, of_tree, count, memory, load, [](Extents& mine, const Extents& e) {
            mine.add(e.low, e.high);
            mine.add_bad(e.bad);
        });
        if (lanes.lane() == 0) {
            store_extents(extents + 6 * tree, whole);
            tree_bad[tree] = whole.bad;
        }
        cover_sample(lanes, piece[PIECE_COLUMNS * first], sizes[tree], member, lower, upper, memory,
                     extents + 6 * tree);
        if (!arrives_last(lanes, arrived + trees, filled)) return;
        const int least = -lanes.max_over(trees, [&](int i) { return -tree_bad[i]; });
        if (lanes.lane() == 0) first_bad[0] = least;
        lanes.sync();
    });
}

template <class Key>
SIM_INLINE void make_keys(int n, int bits, const int* member, const int* tree_of, const real* lower, const real* upper,
                          const real* extents, Key* keys) {
    for_each(i, n) {
        const int tree = tree_of ? tree_of[i] : 0;
        const uint64 code = morton_code(member_box(member, lower, upper, i).center(), extents + 6 * tree, bits);
        keys[i] = Key(code) | Key(tree) << (3 * bits);
    }
}

extern "C" __global__ void bvh_keys_32(int n, int bits, const int* member /* (n) optional */,
                                       const int* tree_of /* (n) optional */, const real* lower, const real* upper,
                                       const real* extents, uint32* keys /* (n) */) {
    make_keys(n, bits, member, tree_of, lower, upper, extents, (uint32*)keys);
}

extern "C" __global__ void bvh_keys_64(int n, int bits, const int* member /* (n) optional */,
                                       const int* tree_of /* (n) optional */, const real* lower, const real* upper,
                                       const real* extents, uint64* keys /* (n) */) {
    make_keys(n, bits, member, tree_of, lower, upper, extents, (uint64*)keys);
}

// ---- 2. merging --------------------------------------------------------------------------------------------------

// Threads of a block on a GPU, and blocks that a multiprocessor is to hold: registers are limited to what that allows.
inline constexpr int MERGE_BLOCK = 256, MERGE_BLOCKS = sizeof(real) == sizeof(float) ? 3 : 1;

// The clusters of the first stage: primitives in order. What is no box counts as the origin here; refit leaves it out.
SIM_INLINE void load_primitives(Lanes& lanes, TileMemory& m, int begin, int count, const int* order, const real* lower,
                                const real* upper) {
    for_lanes_ahead<4>(
        lanes, 0, count, [&](int i) { return member_box(order, lower, upper, begin + i); },
        [&](int i, const PrimitiveBox& box) {
            const bool good = box.good();
            m.id[i] = begin + i;
            m.info[i] = pack_info({0, 1, 0, 1});
            BVH_AXES
            for (int a = 0; a < 3; ++a) {
                m.box[a][i] = good ? box.lower[a] : real(0);
                m.box[3 + a][i] = good ? box.upper[a] : real(0);
            }
        });
}

// Those of a later stage.
SIM_INLINE void load_clusters(Lanes& lanes, TileMemory& m, const BinaryNodes& nodes, int count, const int* clusters) {
    struct Cluster {
        int id, info;
        Two<real> box[3];
    };
    const auto load = [&](int i) {
        const int id = clusters[i];
        const Two<real>* box = (const Two<real>*)(nodes.boxes + 6LL * id);
        return Cluster{id, nodes.infos[id], {box[0], box[1], box[2]}};
    };
    for_lanes_ahead<4>(lanes, 0, count, load, [&](int i, const Cluster& c) {
        m.id[i] = c.id;
        m.info[i] = c.info;
        BVH_AXES
        for (int k = 0; k < 3; ++k) {
            m.box[2 * k][i] = c.box[k].first;
            m.box[2 * k + 1][i] = c.box[k].second;
        }
    });
}

// Results of a tile; boxes of primitives among them, as those of nodes are there.
SIM_INLINE void store_clusters(Lanes& lanes, const TileMemory& m, const BinaryNodes& nodes, int primitives, int count,
                               int* clusters) {
    for_lanes(i, 0, count) {
        const int id = m.id[i];
        clusters[i] = id;
        if (id >= primitives) continue;
        nodes.infos[id] = m.info[i];
        for (int a = 0; a < 6; ++a) nodes.boxes[6LL * id + a] = m.box[a][i];
    }
}

// One stage, after so many quarterings. Tiles with a tree end it: a single cluster is left, the tree's root. `clusters`
// is null in the first.
extern "C" __global__ void __launch_bounds__(MERGE_BLOCK, MERGE_BLOCKS)
    bvh_merge(int tiles, int primitives, int quarterings, const int* tile /* (tiles, 6) */, const int* order,
              const real* lower, const real* upper, const int* clusters /* optional */, int* clusters_out,
              int* children, real* boxes, int* infos, int* marks, int* binary_root, Scratch scratch) {
    const BinaryNodes nodes = {children, boxes, infos, marks};
    for_each_world(tiles, scratch, [&](Lanes& lanes, int slot, char* memory) {
        const int* row = tile + TILE_COLUMNS * slot;
        const int begin = row[0], target = row[2], first = row[3], tree = row[5];
        int count = row[1], node = row[4], highest = LEVELS * quarterings;
        TileMemory& m = small_memory<TileMemory>(memory);
        if (clusters)
            load_clusters(lanes, m, nodes, count, clusters + begin);
        else
            load_primitives(lanes, m, begin, count, order, lower, upper);
        lanes.sync();
        while (count > target) {
            const int quarter = (count + 3) / 4, goal = quarter > target ? quarter : target;
            highest += LEVELS;
            node = merge_tile(lanes, m, nodes, count, goal, node, highest);
            count = goal;
        }
        store_clusters(lanes, m, nodes, primitives, count, clusters_out + first);
        if (lanes.lane() == 0 && tree >= 0) {
            const ClusterInfo root = unpack_info(m.info[0]);
            binary_root[tree] = m.id[0];
            marks[m.id[0]] = WIDE + (root.primitives <= BVH_LEAF ? root.primitives : root.held);
        }
        lanes.sync();
    });
}

// ---- 3. nodes of eight -------------------------------------------------------------------------------------------

// Which binary node each node of eight is made from, and the root of each tree.
extern "C" __global__ void bvh_sources(int n, int nodes, int trees, const int* marks /* (nodes) */, const int64* places,
                                       const int* binary_root /* (trees) */, int* source, int* row,
                                       int* root /* (trees) */) {
    for_each(i, n) {
        if (i < nodes && is_wide(marks[i])) source[wide_place(places[i])] = int(i);
        if (i < trees) {
            root[i] = binary_root[i] < 0 ? -1 : wide_place(places[binary_root[i]]);
            if (root[i] >= 0) row[ROW_COLUMNS * root[i]] = -1;
        }
    }
}

// The binary trees, as nodes of eight are made from them.
struct BinaryTrees {
    int primitives;
    const int *order, *children, *infos, *marks;
    const real *boxes, *lower, *upper;

    SIM_INLINE vec3 center(int id) const {
        const int primitive = id < primitives ? order[id] : 0;
        const real* low = id < primitives ? lower + 3LL * primitive : boxes + 6LL * id;
        const real* high = id < primitives ? upper + 3LL * primitive : boxes + 6LL * id + 3;
        return real(0.5) * load_vec3(low) + real(0.5) * load_vec3(high);
    }
};

// Memory of a group that makes a node.
struct alignas(16) NodeMemory {
    int fit[BVH_WIDTH][BVH_WIDTH];  // how well a child goes into a slot
    int found[2][BVH_WIDTH];        // the children, before and after those that are open gave way to theirs, in turn
    int left[BVH_WIDTH], right[BVH_WIDTH], size[BVH_WIDTH];
};
static_assert(sizeof(NodeMemory) == 416, "NODE_SCRATCH of simengine/collision/bvh.py");

// The binary nodes that become the children, from left to right, in m.found[turn], and in m.size the primitives of
// those that are leaves. Returns how many.
SIM_INLINE int gather_children(Lanes& lanes, NodeMemory& m, const BinaryTrees& trees, int id, int& turn) {
    turn = 0;
    if (lanes.lane() == 0) m.found[0][0] = id;
    lanes.sync();
    int count = 1, opened = 1;
    while (opened > 0) {
        for_lanes(i, 0, count) {
            const int at = m.found[turn][i];
            const bool inner = at >= trees.primitives;
            const int info = inner ? trees.infos[at] : 1, mark = inner ? trees.marks[at] : 0;
            const Two<int> below = inner ? ((const Two<int>*)trees.children)[at] : Two<int>{-1, -1};
            const int below_it = unpack_info(info).primitives, size = below_it <= BVH_LEAF ? below_it : 0;
            const bool open = size == 0 && (at == id || !is_wide(mark));
            m.size[i] = size;
            m.left[i] = open ? below.first : -1;
            m.right[i] = below.second;
        }
        const auto is_open = [&](int i) { return int(i < count && m.left[i] >= 0); };
        opened = lanes.scan(BVH_WIDTH, is_open, [&](int i, int before) {  // a constant: one round of eight lanes
            if (i >= count) return;
            const int left = m.left[i];
            m.found[1 - turn][i + before] = left >= 0 ? left : m.found[turn][i];
            if (left >= 0) m.found[1 - turn][i + before + 1] = m.right[i];
        });
        count += opened;
        turn = 1 - turn;
        lanes.sync();
    }
    return count;
}

// A float as a whole number of the same order.
SIM_INLINE int ordered_bits(float x) {
    const int bits = int(bits_of(x));
    return bits ^ ((bits >> 31) & 0x7fffffff);
}

// How well children go into slots. As many lanes as slots keep the row of their child in registers; others share all
// rows in memory.
struct SlotFits {
    NodeMemory& m;
    bool own_rows;
    int own[BVH_WIDTH];

    SIM_INLINE void put(int child, int slot, int fit) {
        if (own_rows)
            own[slot] = fit;
        else
            m.fit[child][slot] = fit;
    }
    SIM_INLINE int operator()(int child, int slot) const { return own_rows ? own[slot] : m.fit[child][slot]; }
};

// Slots are octants: bit a of a slot is the upper half. The lowest bits tell child and slot, the first of equals best.
SIM_INLINE void measure_fits(Lanes& lanes, SlotFits& fits, const BinaryTrees& trees, int id, int turn, int count) {
    const vec3 center = trees.center(id);
    for_lanes(i, 0, count) {
        const vec3 offset = trees.center(fits.m.found[turn][i]) - center;
        float part[3];
        BVH_AXES
        for (int a = 0; a < 3; ++a) part[a] = offset[a] == offset[a] ? float(offset[a]) : 0.0f;
        BVH_EIGHT
        for (int s = 0; s < BVH_WIDTH; ++s) {
            const float fit =
                (s & 1 ? part[0] : -part[0]) + (s & 2 ? part[1] : -part[1]) + (s & 4 ? part[2] : -part[2]);
            fits.put(i, s, (ordered_bits(fit == fit ? fit : 0.0f) & ~63) | (63 - (BVH_WIDTH * i + s)));
        }
    }
    lanes.sync();
}

// Again and again the child and the free slot that fit best. Returns the slots, four bits a child; `taken`: one bit a
// slot.
SIM_INLINE uint32 assign_slots(Lanes& lanes, const SlotFits& fits, int count, unsigned& taken) {
    unsigned done = 0;
    uint32 slots = 0;
    taken = 0;
    for (int round = 0; round < count; ++round) {
        const auto best_of = [&](int i) {
            int most = least<int>();
            BVH_EIGHT
            for (int s = 0; s < BVH_WIDTH; ++s) {
                const int fit = taken >> s & 1u ? least<int>() : fits(i, s);
                most = fit > most ? fit : most;
            }
            return i >= count || (done >> i & 1u) ? least<int>() : most;
        };
        const int own = fits.own_rows ? best_of(lanes.lane()) : 0;
        const int best = lanes.max_over(BVH_WIDTH, [&](int i) { return fits.own_rows ? own : best_of(i); });
        const int child = (63 - (best & 63)) / BVH_WIDTH, slot = (63 - (best & 63)) % BVH_WIDTH;
        slots |= uint32(slot) << (4 * child);
        done |= 1u << child;
        taken |= 1u << slot;
    }
    return slots;
}

// Writes the `size` primitives below a binary node in ascending order.
SIM_INLINE void write_leaf(const BinaryTrees& trees, int id, int size, int* out) {
    int found[BVH_LEAF] = {id, -1, -1, -1}, primitive[BVH_LEAF];
    BVH_EIGHT
    for (int round = 0; round < BVH_LEAF - 1; ++round) {
        if (round + 1 >= size) continue;
        int open = 0;
        BVH_EIGHT
        for (int k = 1; k < BVH_LEAF; ++k) open = k <= round && found[k] >= trees.primitives ? k : open;
        int at = found[0];
        BVH_EIGHT
        for (int k = 1; k < BVH_LEAF; ++k) at = k == open ? found[k] : at;
        const Two<int> below = ((const Two<int>*)trees.children)[at];
        BVH_EIGHT
        for (int k = 0; k < BVH_LEAF; ++k) found[k] = k == open ? below.first : found[k];
        found[round + 1] = below.second;
    }
    const int none = 2147483647;
    BVH_EIGHT
    for (int k = 0; k < BVH_LEAF; ++k) primitive[k] = k < size ? trees.order[found[k]] : none;
    const int swaps[5][2] = {{0, 1}, {2, 3}, {0, 2}, {1, 3}, {1, 2}};  // a sorting network
    BVH_EIGHT
    for (int k = 0; k < 5; ++k) {
        const int a = primitive[swaps[k][0]], b = primitive[swaps[k][1]];
        primitive[swaps[k][0]] = a < b ? a : b;
        primitive[swaps[k][1]] = a < b ? b : a;
    }
    BVH_EIGHT
    for (int k = 0; k < BVH_LEAF; ++k)
        if (k < size) out[k] = primitive[k];
}

// Nodes but for their boxes, and the order of primitives in leaves: those of a node are together. `places` ends with
// how many nodes there are.
extern "C" __global__ void bvh_nodes(int most, int primitives, const int* order, const real* lower, const real* upper,
                                     const int* children, const real* boxes, const int* infos, const int* marks,
                                     const int64* places, const int64* total /* (1) */, const int* source /* (most) */,
                                     unsigned char* node_bytes, int* row /* (most, 4): NodeRow */,
                                     int* leaf_primitive /* (primitives) */, Scratch scratch) {
    const BinaryTrees trees = {primitives, order, children, infos, marks, boxes, lower, upper};
    BvhNode* nodes = (BvhNode*)(unsigned char*)node_bytes;
    const int made = wide_place(total[0]) < most ? wide_place(total[0]) : most;
    for_each_world(made, scratch, [&](Lanes& lanes, int index, char* memory) {
        assume_range(lanes);
        NodeMemory& m = small_memory<NodeMemory>(memory);
        const int id = source[index], first = leaf_place(places[id]);
        int turn = 0;
        const int count = gather_children(lanes, m, trees, id, turn);
        SlotFits fits = {m, lanes.count() == BVH_WIDTH, {}};
        measure_fits(lanes, fits, trees, id, turn, count);
        unsigned taken = 0;
        const uint32 slots = assign_slots(lanes, fits, count, taken);
        BvhNode& node = nodes[index];
        for_lanes(s, 0, BVH_WIDTH) {
            if (!(taken >> s & 1u)) node.child[s] = BVH_NONE;
        }
        const auto kind = [&](int i) {  // a leaf's size; or a node
            return i >= count ? 0 : m.size[i] > 0 ? m.size[i] : 1 << 8;
        };
        const int kinds = lanes.scan(BVH_WIDTH, kind, [&](int i, int before) {
            if (i >= count) return;
            const int size = m.size[i], slot = slots >> (4 * i) & 15u;
            if (size > 0) {
                const int place = first + (before & 255);
                node.child[slot] = ~(place * BVH_LEAF + size - 1);
                write_leaf(trees, m.found[turn][i], size, leaf_primitive + place);
            } else {
                const int child = wide_place(places[m.found[turn][i]]);
                node.child[slot] = child;
                row[ROW_COLUMNS * child] = index;
            }
        });
        if (lanes.lane() == 0) node.exponent[3] = BvhExponent(taken);
        for_lanes(k, 1, ROW_COLUMNS) row[ROW_COLUMNS * index + k] = k == 1 ? kinds >> 8 : k == 2 ? first : kinds & 255;
        lanes.sync();
    });
}

// ---- 4. boxes ----------------------------------------------------------------------------------------------------

extern "C" __global__ void bvh_pack_boxes(int tiles, int n, const int* leaf_primitive, const real* lower,
                                          const real* upper, real* packed, Scratch scratch) {
    pack_all(BoxSource{lower, upper}, tiles, n, leaf_primitive, packed, scratch);
}

extern "C" __global__ void bvh_pack_triangles(int tiles, int n, const int* leaf_primitive, const int* faces,
                                              const real* vertices, real* packed, Scratch scratch) {
    pack_all(TriangleSource{faces, vertices}, tiles, n, leaf_primitive, packed, scratch);
}

// `arrived` is 0 before and after; `total` as for bvh_nodes.
extern "C" __global__ void bvh_refit_boxes(int most, const int64* total /* (1) */, const real* packed,
                                           unsigned char* node_bytes, const int* row /* (most, 4) */, int* arrived,
                                           real* bounds /* (most, 6) nonfinite */, Scratch scratch) {
    const int made = wide_place(total[0]) < most ? wide_place(total[0]) : most;
    BvhNode* nodes = (BvhNode*)(unsigned char*)node_bytes;
    refit_all<BoxSource>(made, {packed, (const NodeRow*)(const int*)row, nodes, arrived, bounds}, scratch);
}

extern "C" __global__ void bvh_refit_triangles(int most, const int64* total /* (1) */, const real* packed,
                                               unsigned char* node_bytes, const int* row /* (most, 4) */, int* arrived,
                                               real* bounds /* (most, 6) nonfinite */, Scratch scratch) {
    const int made = wide_place(total[0]) < most ? wide_place(total[0]) : most;
    BvhNode* nodes = (BvhNode*)(unsigned char*)node_bytes;
    refit_all<TriangleSource>(made, {packed, (const NodeRow*)(const int*)row, nodes, arrived, bounds}, scratch);
}

extern "C" __global__ void bvh_take(int n, const real* lower /* (n, 3) */, const real* upper /* (n, 3) */,
                                    real* lower_out /* (n, 3) */, real* upper_out /* (n, 3) */) {
    for_each(i, n) {
        store_vec3(lower_out + 3LL * i, load_vec3(lower + 3LL * i));
        store_vec3(upper_out + 3LL * i, load_vec3(upper + 3LL * i));
    }
}
