// Building and refitting of trees (bvh.h), many at once: nothing waits for the host, no result depends on scheduling.
//
// 1. Primitives of each tree are sorted by the Morton code of their centres.
// 2. Neighbours in that order are merged into a binary tree (Meister and Bittner 2018: of the neighbours within a
//    window, pairs that choose each other for the least area of their common box). A group of lanes takes a tile of
//    clusters and merges until a quarter is left; these are the clusters of the next stage. So all sizes are known
//    beforehand, and depth is bounded: within a quartering a cluster grows by at most 4 levels. (One that has, has at
//    least 5 of the tile's m clusters; there are at most m/5 such, less than the quarter that stays, so some
//    other pair can always merge: where none is within the window, the window is doubled.)
// 3. Subtrees of up to 4 primitives become leaves; going up, the open slots of two children are joined while they are
//    at most 8, else the child with more of them becomes a node of its own.
// 4. Boxes are made bottom-up: whoever finishes the last child of a node goes on with the node.
#include "bvh.h"
#include "bvh_extents.h"
#include "bvh_morton.h"

inline constexpr int TILE = 128, WINDOW = 4, LEVELS = 4;
inline constexpr int TILE_COLUMNS = 6;  // begin, size, target, place of the first result, first node, tree or -1

SIM_INLINE vec3 box_center(const real* lower, const real* upper, int i) {
    return real(0.5) * load_vec3(lower + 3 * i) + real(0.5) * load_vec3(upper + 3 * i);
}

SIM_INLINE bool is_box(const real* lower, const real* upper, int i) {
    const vec3 low = load_vec3(lower + 3 * i), high = load_vec3(upper + 3 * i);
    return low.x <= high.x && low.y <= high.y && low.z <= high.z && is_finite(low) && is_finite(high);
}

// ---- 1. order ----------------------------------------------------------------------------------------------------

// Extents of the centers of each piece of a tree's primitives, and the first primitive in it that is no box (or
// `count`).
extern "C" __global__ void bvh_piece_extents(int pieces, int count, const int* piece /* (pieces, 2) */,
                                             const int* member, const real* lower, const real* upper,
                                             real* extents /* (pieces, 6) */, int* bad /* (pieces) */,
                                             Scratch scratch) {
    for_each_world(pieces, scratch, [&](Lanes& lanes, int slot, char* memory) {
        const int begin = piece[2 * slot], size = piece[2 * slot + 1];
        const Extents e = extents_of(lanes, size, count, memory, [&](Extents& mine, int i) {
            const int primitive = member[begin + i];
            const vec3 center = box_center(lower, upper, primitive);
            if (is_box(lower, upper, primitive))
                mine.add(center, center);
            else
                mine.add_bad(primitive);
        });
        if (lanes.lane() == 0) {
            store_extents(extents + 6 * slot, e);
            bad[slot] = e.bad;
        }
        lanes.sync();
    });
}

// The same of whole trees, from their pieces.
extern "C" __global__ void bvh_tree_extents(int trees, const int* piece_start /* (trees + 1) */,
                                            const real* piece_extents, real* extents /* (trees, 6) */,
                                            Scratch scratch) {
    for_each_world(trees, scratch, [&](Lanes& lanes, int tree, char* memory) {
        const int begin = piece_start[tree], size = piece_start[tree + 1] - begin;
        const Extents e = extents_of(lanes, size, 0, memory, [&](Extents& mine, int i) {
            mine.add(load_vec3(piece_extents + 6 * (begin + i)), load_vec3(piece_extents + 6 * (begin + i) + 3));
        });
        if (lanes.lane() == 0) store_extents(extents + 6 * tree, e);
        lanes.sync();
    });
}

// A few boxes far away must not leave all others in one cell of the curve. So the curve covers the extents as far as
// they lie within four times the mean distance from the mean, along each axis; what is beyond counts as at its end.
// (Evenly spread boxes lie within twice that distance: nothing changes for them.) Means are of whole numbers.
inline constexpr real FRACTION = real(1 << 30);

SIM_INLINE int64 fraction(real x, real low, real high) {
    return high > low ? int64(to_int(clamp((x - low) * divide(FRACTION, high - low), real(0), FRACTION))) : 0;
}

// Sums over each piece: of the places of centers between the extents or, given the means, of distances from them.
extern "C" __global__ void bvh_piece_sums(int pieces, const int* piece /* (pieces, 2) */,
                                          const int* piece_tree /* (pieces) */, const int* member, const real* lower,
                                          const real* upper, const real* extents, const int64* means /* optional */,
                                          int64* sums /* (pieces, 3) */, Scratch scratch) {
    for_each_world(pieces, scratch, [&](Lanes& lanes, int slot, char* memory) {
        const int begin = piece[2 * slot], size = piece[2 * slot + 1], tree = piece_tree[slot];
        const real* extent = extents + 6 * tree;
        int64 total[3];
        sums_of(lanes, size, memory, total, [&](int i, int64* mine) {
            const int primitive = member[begin + i];
            if (!is_box(lower, upper, primitive)) return;
            const vec3 center = box_center(lower, upper, primitive);
            for (int a = 0; a < 3; ++a) {
                const int64 place = fraction(center[a], extent[a], extent[3 + a]);
                const int64 away = place - (means ? means[3 * tree + a] : 0);
                mine[a] += away < 0 ? -away : away;
            }
        });
        if (lanes.lane() == 0)
            for (int a = 0; a < 3; ++a) sums[3 * slot + a] = total[a];
        lanes.sync();
    });
}

// Means of whole trees from the sums of their pieces; or with `extents` the extents that the curve is to cover.
extern "C" __global__ void bvh_tree_means(int trees, const int* piece_start /* (trees + 1) */,
                                          const int* sizes /* (trees) */, const int64* sums,
                                          int64* means /* (trees, 3) */, real* extents /* (trees, 6) optional */,
                                          Scratch scratch) {
    for_each_world(trees, scratch, [&](Lanes& lanes, int tree, char* memory) {
        const int begin = piece_start[tree], size = piece_start[tree + 1] - begin;
        int64 total[3];
        sums_of(lanes, size, memory, total, [&](int i, int64* mine) {
            for (int a = 0; a < 3; ++a) mine[a] += sums[3 * (begin + i) + a];
        });
        for (int a = 0; a < 3 && lanes.lane() == 0 && size > 0; ++a) {
            const int64 mean = total[a] / sizes[tree];
            if (extents) {
                real* extent = extents + 6 * tree;
                const real low = extent[a], unit = (extent[3 + a] - low) * reciprocal(FRACTION);
                const real from = low + unit * real(means[3 * tree + a] - 4 * mean - 1);
                const real to = low + unit * real(means[3 * tree + a] + 4 * mean + 1);
                extent[a] = maximum(low, from);
                extent[3 + a] = minimum(extent[3 + a], to);
            } else {
                means[3 * tree + a] = mean;
            }
        }
        lanes.sync();
    });
}

// The least index of a primitive that is no box, or what stands for none.
extern "C" __global__ void bvh_first_bad(int groups, int pieces, const int* bad /* (pieces) */, int* first /* (1) */,
                                         Scratch scratch) {
    for_each_world(groups, scratch, [&](Lanes& lanes, int, char*) {
        const int least = -lanes.max_over(pieces, [&](int i) { return -bad[i]; });
        if (lanes.lane() == 0) first[0] = least;
        lanes.sync();
    });
}

extern "C" __global__ void bvh_keys_32(int n, int bits, const int* member /* (n) */, const int* tree_of /* (n) */,
                                       const real* lower, const real* upper, const real* extents,
                                       uint32* keys /* (n) */) {
    for_each(i, n) {
        const int tree = tree_of[i];
        const uint64 code = morton_code(box_center(lower, upper, member[i]), extents + 6 * tree, bits);
        keys[i] = uint32(code) | uint32(tree) << (3 * bits);
    }
}

extern "C" __global__ void bvh_keys_64(int n, int bits, const int* member /* (n) */, const int* tree_of /* (n) */,
                                       const real* lower, const real* upper, const real* extents,
                                       uint64* keys /* (n) */) {
    for_each(i, n) {
        const int tree = tree_of[i];
        const uint64 code = morton_code(box_center(lower, upper, member[i]), extents + 6 * tree, bits);
        keys[i] = code | uint64(tree) << (3 * bits);
    }
}

// ---- 2. merging --------------------------------------------------------------------------------------------------

// What is known of a cluster besides its box: levels below it, open slots, primitives (5: more than a leaf holds).
struct ClusterInfo {
    int height, slots, primitives;
};

SIM_INLINE int pack_info(ClusterInfo c) { return c.height | c.slots << 8 | c.primitives << 16; }
SIM_INLINE ClusterInfo unpack_info(int word) { return {word & 255, (word >> 8) & 255, word >> 16}; }

// Nodes of the binary trees: 0 .. n-1 are primitives in sorted order, those from n on are made by merging.
struct BinaryNodes {
    int* children;       // (2n, 2)
    real* boxes;         // (2n, 6)
    int* infos;          // (2n)
    int* marks;          // (2n) WIDE: root of a node of eight; and primitives of a leaf, 0: not the root of a leaf
};

inline constexpr int WIDE = 1 << 16;
SIM_INLINE bool is_wide(int mark) { return mark >= WIDE; }
SIM_INLINE int leaf_size(int mark) { return mark & (WIDE - 1); }

// Marks summed in pairs (scan.cu): nodes of eight in the upper half, primitives of leaves in the lower.
SIM_INLINE int wide_place(int64 place) { return int(place >> 32); }
SIM_INLINE int leaf_place(int64 place) { return int(place & 0x7fffffff); }

// Clusters of a tile, in the group's memory.
struct Clusters {
    real* box[6];
    int* id;
    int* info;

    SIM_INLINE char* place(char* memory) {
        for (int a = 0; a < 6; ++a) box[a] = (real*)memory + a * TILE;
        memory += 6 * TILE * sizeof(real);
        id = (int*)memory;
        info = id + TILE;
        return memory + 2 * TILE * sizeof(int);
    }
};

struct TileMemory {
    Clusters clusters, next;
    real *area, *best, *closed;  // of pairs a distance apart; of the best pair; infinite where a cluster may not grow
    int *partner, *rank;         // i xor the best partner; number of the merger that a cluster leads, or -1

    SIM_INLINE explicit TileMemory(char* memory) {
        memory = next.place(clusters.place(memory));
        area = (real*)memory;
        best = area + TILE;
        closed = best + TILE;
        partner = (int*)(closed + TILE);
        rank = partner + TILE;
    }
};

// Half the area of the common box of clusters i and j; REAL_MAX where that is no number.
SIM_INLINE real union_area(const Clusters& c, int i, int j) {
    const real x = maximum(c.box[3][i], c.box[3][j]) - minimum(c.box[0][i], c.box[0][j]);
    const real y = maximum(c.box[4][i], c.box[4][j]) - minimum(c.box[1][i], c.box[1][j]);
    const real z = maximum(c.box[5][i], c.box[5][j]) - minimum(c.box[2][i], c.box[2][j]);
    const real area = multiply_add(x, y, multiply_add(y, z, z * x));
    return area <= REAL_MAX ? area : REAL_MAX;
}

// Candidates are compared by area, then by i xor j: an order of pairs, so that the first of them choose each other,
// and equal boxes pair up two by two.
SIM_INLINE void consider(real area, int partner, real& best, int& best_partner) {
    const bool better = (area < best) | ((area == best) & (partner < best_partner));
    best = better ? area : best;
    best_partner = better ? partner : best_partner;
}

SIM_INLINE void find_partners(Lanes& lanes, const TileMemory& m, int count, int window) {
    const Clusters& c = m.clusters;
    real* const area = m.area;
    real* const best = m.best;
    int* const partner = m.partner;
    for_lanes(i, 0, count) {
        best[i] = REAL_INFINITY;
        partner[i] = 0;
    }
    lanes.sync();
    for (int apart = 1; apart <= window && apart < count; ++apart) {
        for_lanes(i, 0, count - apart) {
            area[i] = union_area(c, i, i + apart) + (m.closed[i] + m.closed[i + apart]);
        }
        for_lanes(i, 0, count - apart) consider(area[i], i ^ (i + apart), best[i], partner[i]);
        lanes.sync();
        for_lanes(i, apart, count) consider(area[i - apart], i ^ (i - apart), best[i], partner[i]);
        lanes.sync();
    }
}

SIM_INLINE bool leads(const TileMemory& m, int i) {
    const int j = i ^ m.partner[i];
    return j > i && m.best[i] < REAL_INFINITY && (j ^ m.partner[j]) == i;
}

// What becomes of clusters below a new node; returns what is known of it.
SIM_INLINE ClusterInfo join(const BinaryNodes& nodes, int left, ClusterInfo a, int right, ClusterInfo b) {
    ClusterInfo joined = {(a.height > b.height ? a.height : b.height) + 1, 1, a.primitives + b.primitives};
    int close_left = 0, close_right = 0, leaf_left = 0, leaf_right = 0;
    if (joined.primitives > BVH_LEAF) {
        joined.primitives = BVH_LEAF + 1;
        if (a.slots + b.slots > BVH_WIDTH) {
            close_left = a.slots >= b.slots;
            close_right = b.slots > a.slots || a.slots + b.slots == 2 * BVH_WIDTH;
        }
        joined.slots = (close_left ? 1 : a.slots) + (close_right ? 1 : b.slots);
        leaf_left = a.primitives <= BVH_LEAF ? a.primitives : 0;
        leaf_right = b.primitives <= BVH_LEAF ? b.primitives : 0;
    }
    nodes.marks[left] = close_left * WIDE + leaf_left;
    nodes.marks[right] = close_right * WIDE + leaf_right;
    return joined;
}

SIM_INLINE void write_node(const BinaryNodes& nodes, int node, int left, int right, const Clusters& c, int i,
                           int info) {
    nodes.children[2 * node] = left;
    nodes.children[2 * node + 1] = right;
    nodes.infos[node] = info;
    for (int a = 0; a < 6; ++a) nodes.boxes[6LL * node + a] = c.box[a][i];
}

// Merges up to `most` pairs that chose each other; survivors keep their order. Returns how many merged.
SIM_INLINE int merge_pairs(Lanes& lanes, TileMemory& m, const BinaryNodes& nodes, int count, int most, int first_node) {
    const Clusters &from = m.clusters, &to = m.next;
    for_lanes(i, 0, count) m.rank[i] = -1;
    lanes.sync();
    const int pairs = lanes.scan(count, [&](int i) { return int(leads(m, i)); }, [&](int i, int before) {
        if (leads(m, i) && before < most) m.rank[i] = before;
    });
    lanes.sync();
    const auto stays = [&](int i) {
        const int j = i ^ m.partner[i];
        return int(j >= i || m.rank[j] < 0 || (j ^ m.partner[j]) != i);
    };
    lanes.scan(count, stays, [&](int i, int place) {
        if (!stays(i)) return;
        to.id[place] = from.id[i];
        to.info[place] = from.info[i];
        for (int a = 0; a < 6; ++a) to.box[a][place] = from.box[a][i];
        if (m.rank[i] < 0) return;
        const int j = i ^ m.partner[i], node = first_node + m.rank[i];
        for (int a = 0; a < 3; ++a) {
            to.box[a][place] = minimum(from.box[a][i], from.box[a][j]);
            to.box[3 + a][place] = maximum(from.box[3 + a][i], from.box[3 + a][j]);
        }
        const ClusterInfo joined =
            join(nodes, from.id[i], unpack_info(from.info[i]), from.id[j], unpack_info(from.info[j]));
        to.id[place] = node;
        to.info[place] = pack_info(joined);
        write_node(nodes, node, from.id[i], from.id[j], to, place, to.info[place]);
    });
    lanes.sync();
    const Clusters kept = m.clusters;
    m.clusters = m.next;
    m.next = kept;
    return pairs < most ? pairs : most;
}

// Merges the tile's clusters until `target` are left, growing none above `highest` levels. Returns the next node.
SIM_INLINE int merge_tile(Lanes& lanes, TileMemory& m, const BinaryNodes& nodes, int count, int target, int node,
                          int highest) {
    int window = WINDOW;
    while (count > target) {
        for_lanes(i, 0, count) {
            m.closed[i] = unpack_info(m.clusters.info[i]).height >= highest ? REAL_INFINITY : real(0);
        }
        lanes.sync();
        find_partners(lanes, m, count, window);
        const int merged = merge_pairs(lanes, m, nodes, count, count - target, node);
        node += merged;
        count -= merged;
        window = merged ? WINDOW : 2 * window;
    }
    return node;
}

SIM_INLINE void load_cluster(const Clusters& c, const BinaryNodes& nodes, int i, int id, int primitives,
                             const int* order, const real* lower, const real* upper) {
    c.id[i] = id;
    if (id >= primitives) {
        c.info[i] = nodes.infos[id];
        for (int a = 0; a < 6; ++a) c.box[a][i] = nodes.boxes[6LL * id + a];
        return;
    }
    const int primitive = order[id];
    c.info[i] = pack_info({0, 1, 1});
    for (int a = 0; a < 3; ++a) {
        // what is no box counts as the origin here; refit leaves it out
        const bool good = is_box(lower, upper, primitive);
        c.box[a][i] = good ? lower[3 * primitive + a] : real(0);
        c.box[3 + a][i] = good ? upper[3 * primitive + a] : real(0);
    }
}

// One stage. Tiles with a tree end it: a single cluster is left, the tree's root. `clusters` is null in the first.
extern "C" __global__ void bvh_merge(int tiles, int primitives, int stage, const int* tile /* (tiles, 6) */,
                                     const int* order, const real* lower, const real* upper,
                                     const int* clusters /* optional */, int* clusters_out, int* children, real* boxes,
                                     int* infos, int* marks, int* binary_root, Scratch scratch) {
    const BinaryNodes nodes = {children, boxes, infos, marks};
    for_each_world(tiles, scratch, [&](Lanes& lanes, int slot, char* memory) {
        const int* row = tile + TILE_COLUMNS * slot;
        const int begin = row[0], target = row[2], first = row[3], tree = row[5];
        int count = row[1], node = row[4], highest = LEVELS * stage;
        TileMemory m(memory);
        for_lanes(i, 0, count) {
            const int id = clusters ? clusters[begin + i] : begin + i;
            load_cluster(m.clusters, nodes, i, id, primitives, order, lower, upper);
        }
        lanes.sync();
        while (count > target) {
            const int quarter = (count + 3) / 4, goal = quarter > target ? quarter : target;
            highest += LEVELS;
            node = merge_tile(lanes, m, nodes, count, goal, node, highest);
            count = goal;
        }
        for_lanes(i, 0, count) clusters_out[first + i] = m.clusters.id[i];
        if (lanes.lane() == 0 && tree >= 0) {
            const int root = m.clusters.id[0], held = unpack_info(m.clusters.info[0]).primitives;
            binary_root[tree] = root;
            marks[root] = WIDE + (held <= BVH_LEAF ? held : 0);
        }
        lanes.sync();
    });
}

// ---- 3. nodes of eight -------------------------------------------------------------------------------------------

// Primitives below a binary node (at most 4) in ascending order.
SIM_INLINE int gather_primitives(const int* children, int primitives, const int* order, int id, int* found) {
    int stack[BVH_LEAF], depth = 0, count = 0;
    stack[depth++] = id;
    while (depth > 0) {
        const int next = stack[--depth];
        if (next >= primitives) {
            stack[depth++] = children[2 * next + 1];
            stack[depth++] = children[2 * next];
            continue;
        }
        const int primitive = order[next];
        int place = count++;
        for (; place > 0 && found[place - 1] > primitive; --place) found[place] = found[place - 1];
        found[place] = primitive;
    }
    return count;
}

// The binary nodes that are the children of a node of eight.
SIM_INLINE int gather_children(const int* children, const int* marks, int id, int* found) {
    int count = 1;
    found[0] = id;
    for (int i = 0; i < count;) {
        const int mark = marks[found[i]];
        const bool open = leaf_size(mark) == 0 && (found[i] == id || !is_wide(mark));
        if (!open) {
            ++i;
            continue;
        }
        const int parent = found[i];
        for (int k = count++; k > i + 1; --k) found[k] = found[k - 1];
        found[i] = children[2 * parent];
        found[i + 1] = children[2 * parent + 1];
    }
    return count;
}

SIM_INLINE vec3 node_center(const real* boxes, const real* lower, const real* upper, const int* order, int primitives,
                            int id) {
    if (id < primitives) return box_center(lower, upper, order[id]);
    const real* box = boxes + 6LL * id;
    return real(0.5) * load_vec3(box) + real(0.5) * load_vec3(box + 3);
}

// Slots by octant: again and again the child and the free slot that fit best, bit a of a slot being the upper half.
SIM_INLINE void assign_slots(const vec3* offset, int count, int* slot_of) {
    unsigned taken = 0;
    for (int i = 0; i < count; ++i) slot_of[i] = -1;
    for (int round = 0; round < count; ++round) {
        real best = -REAL_INFINITY;
        int child = -1, slot = -1;
        for (int i = 0; i < count; ++i) {
            for (int s = 0; s < BVH_WIDTH && slot_of[i] < 0; ++s) {
                const real fit = (s & 1 ? offset[i].x : -offset[i].x) + (s & 2 ? offset[i].y : -offset[i].y) +
                                 (s & 4 ? offset[i].z : -offset[i].z);
                const bool better = !((taken >> s) & 1u) && (child < 0 || fit > best);
                best = better ? fit : best;
                child = better ? i : child;
                slot = better ? s : slot;
            }
        }
        slot_of[child] = slot;
        taken |= 1u << slot;
    }
}

// Primitives in the order of leaves, and which binary node each node of eight is made from.
extern "C" __global__ void bvh_leaves(int n, int primitives, const int* order, const int* children,
                                      const int* marks /* (n) */, const int64* places,
                                      int* leaf_primitive /* (primitives) */, int* source) {
    for_each(id, n) {
        const int mark = marks[id];
        if (is_wide(mark)) source[wide_place(places[id])] = int(id);
        if (leaf_size(mark) == 0) continue;
        int found[BVH_LEAF];
        const int count = gather_primitives(children, primitives, order, int(id), found);
        for (int i = 0; i < count; ++i) leaf_primitive[leaf_place(places[id]) + i] = found[i];
    }
}

// `n`: as many nodes as there may be; `places` ends with how many there are.
extern "C" __global__ void bvh_nodes(int n, int primitives, const int* order, const real* lower, const real* upper,
                                     const int* children, const real* boxes, const int* marks, const int64* places,
                                     const int64* total /* (1) */, const int* source /* (n) */,
                                     unsigned char* node_bytes, int* parent /* (n) */, int* inner /* (n) */) {
    BvhNode* nodes = (BvhNode*)(unsigned char*)node_bytes;
    const int made = wide_place(total[0]);
    for_each(index, n) {
        if (index >= made) continue;
        const int id = source[index];
        int found[BVH_WIDTH], slot_of[BVH_WIDTH], inner_count = 0;
        vec3 offset[BVH_WIDTH];
        const int count = gather_children(children, marks, id, found);
        const vec3 center = node_center(boxes, lower, upper, order, primitives, id);
        for (int i = 0; i < count; ++i)
            offset[i] = node_center(boxes, lower, upper, order, primitives, found[i]) - center;
        assign_slots(offset, count, slot_of);
        BvhNode& node = nodes[index];
        for (int s = 0; s < BVH_WIDTH; ++s) node.child[s] = BVH_NONE;
        unsigned slots = 0;
        for (int i = 0; i < count; ++i) {
            const int size = leaf_size(marks[found[i]]);
            const int64 place = places[found[i]];
            slots |= 1u << slot_of[i];
            if (size) {
                node.child[slot_of[i]] = ~(leaf_place(place) * BVH_LEAF + size - 1);
            } else {
                node.child[slot_of[i]] = wide_place(place);
                parent[wide_place(place)] = int(index);
                ++inner_count;
            }
        }
        node.exponent[3] = BvhExponent(slots);
        inner[index] = inner_count;
    }
}

extern "C" __global__ void bvh_roots(int n, const int* binary_root /* (n) */, const int64* places, int* root /* (n) */,
                                     int* parent) {
    for_each(tree, n) {
        root[tree] = binary_root[tree] < 0 ? -1 : wide_place(places[binary_root[tree]]);
        if (root[tree] >= 0) parent[root[tree]] = -1;
    }
}

// ---- 4. boxes ----------------------------------------------------------------------------------------------------

struct Box {
    vec3 lower, upper;

    SIM_INLINE void add(vec3 low, vec3 high) {  // what is no number is left out
        lower = minimum(lower, low);
        upper = maximum(upper, high);
    }
};

SIM_INLINE Box empty_box() {
    return {{REAL_INFINITY, REAL_INFINITY, REAL_INFINITY}, {-REAL_INFINITY, -REAL_INFINITY, -REAL_INFINITY}};
}

SIM_INLINE Box child_box(int child, const int* leaf_primitive, const real* lower, const real* upper,
                         const real* bounds) {
    Box box = empty_box();
    if (child == BVH_NONE) return box;
    if (child >= 0) {
        box.add(load_vec3(bounds + 6LL * child), load_vec3(bounds + 6LL * child + 3));
        return box;
    }
    for (int i = 0; i < bvh_leaf_count(child); ++i) {
        const int primitive = leaf_primitive[bvh_leaf_first(child) + i];
        if (is_box(lower, upper, primitive))
            box.add(load_vec3(lower + 3 * primitive), load_vec3(upper + 3 * primitive));
    }
    return box;
}

// Exponent of the least power of two with origin + 255 steps >= upper.
SIM_INLINE int step_exponent(real origin, real upper) {
#ifdef SIM_DOUBLE
    const int least = -1000;
    const real size = (upper - origin) * real(1.0 / 255.0);
    int e = size > real(0) ? int(bits_of(size) >> 52) - 1023 : least;
#else
    const int least = -120;
    const real size = (upper - origin) * real(1.0 / 255.0);
    int e = size > real(0) ? int(bits_of(size) >> 23) - 127 : least;
#endif
    e = e < least ? least : e;
    while (multiply_add(real(255), bvh_step(e), origin) < upper) ++e;
    return e;
}

SIM_INLINE int grid_below(real x, real origin, real step, real inverse) {
    int q = to_int(clamp(floor_of((x - origin) * inverse), real(0), real(255)));
    while (q > 0 && multiply_add(real(q), step, origin) > x) --q;
    return q;
}

SIM_INLINE int grid_above(real x, real origin, real step, real inverse) {
    int q = to_int(clamp(-floor_of((origin - x) * inverse), real(0), real(255)));
    while (q < 255 && multiply_add(real(q), step, origin) < x) ++q;
    return q;
}

// Memory of a group: the boxes of eight children, the node's box, and the planes as bytes.
struct RefitMemory {
    Box* child;
    real* bounds;  // lower, upper
    unsigned char* planes;
    int* goes_on;

    SIM_INLINE explicit RefitMemory(char* memory) {
        child = (Box*)memory;
        bounds = (real*)(memory + BVH_WIDTH * sizeof(Box));
        planes = (unsigned char*)(bounds + 6);
        goes_on = (int*)(planes + 6 * BVH_WIDTH);
    }
};

SIM_INLINE void make_boxes(Lanes& lanes, const RefitMemory& m, BvhNode& node, const int* leaf_primitive,
                           const real* lower, const real* upper, real* bounds) {
    for_lanes(c, 0, BVH_WIDTH) m.child[c] = child_box(node.child[c], leaf_primitive, lower, upper, bounds);
    lanes.sync();
    for_lanes(a, 0, 3) {
        real low = REAL_INFINITY, high = -REAL_INFINITY;
        for (int c = 0; c < BVH_WIDTH; ++c) {
            low = minimum(low, m.child[c].lower[a]);
            high = maximum(high, m.child[c].upper[a]);
        }
        m.bounds[a] = low;
        m.bounds[3 + a] = high;
        const bool empty = !(low <= high);
        node.origin[a] = empty ? real(0) : low;
        node.exponent[a] = BvhExponent(step_exponent(empty ? real(0) : low, empty ? real(0) : high));
    }
    lanes.sync();
    for_lanes(k, 0, 3 * BVH_WIDTH) {
        const int a = k / BVH_WIDTH, c = k % BVH_WIDTH;
        const real low = m.child[c].lower[a], high = m.child[c].upper[a];
        const real origin = m.bounds[a], step = bvh_step(step_exponent(origin, m.bounds[3 + a]));
        const bool empty = !(low <= high);
        m.planes[k] = (unsigned char)(empty ? 255 : grid_below(low, origin, step, reciprocal(step)));
        m.planes[3 * BVH_WIDTH + k] = (unsigned char)(empty ? 0 : grid_above(high, origin, step, reciprocal(step)));
    }
    lanes.sync();
    for_lanes(k, 0, 6) {
        uint64 word = 0;
        for (int c = 0; c < BVH_WIDTH; ++c) word |= uint64(m.planes[k * BVH_WIDTH + c]) << (8 * c);
        (k < 3 ? node.lower[k] : node.upper[k - 3]) = word;
    }
}

// Tells a node that one of its children is done: true for the last of `children`, who sees what the others wrote.
SIM_INLINE bool arrive(int* count, int children) {
#ifdef SIM_GPU
    __threadfence();
    const bool last = atomicAdd(count, 1) == children - 1;
    __threadfence();
    if (last) atomicExch(count, 0);
#else
    const bool last = __atomic_fetch_add(count, 1, __ATOMIC_ACQ_REL) == children - 1;
    if (last) __atomic_store_n(count, 0, __ATOMIC_RELAXED);
#endif
    return last;
}

// `arrived` is 0 before and after; `total` as for bvh_nodes. Groups begin at the nodes without inner children.
extern "C" __global__ void bvh_refit(int most, const int64* total /* (1) */, const int* leaf_primitive,
                                     const real* lower, const real* upper, unsigned char* node_bytes, const int* parent,
                                     const int* inner, int* arrived, real* bounds, Scratch scratch) {
    BvhNode* nodes = (BvhNode*)(unsigned char*)node_bytes;
    for_each_world(most, scratch, [&](Lanes& lanes, int slot, char* memory) {
        const RefitMemory m(memory);
        int node = slot < wide_place(total[0]) && inner[slot] == 0 ? slot : -1;
        while (node >= 0) {
            make_boxes(lanes, m, nodes[node], leaf_primitive, lower, upper, bounds);
            lanes.sync();
            if (lanes.lane() == 0) {
                for (int a = 0; a < 6; ++a) bounds[6LL * node + a] = m.bounds[a];
                const int above = parent[node];
                m.goes_on[0] = above >= 0 && arrive(arrived + above, inner[above]) ? above : -1;
            }
            lanes.sync();
            node = m.goes_on[0];
            lanes.sync();
        }
    });
}

// Boxes in the order of the leaves. What is no box becomes one that nothing meets, wherever a walk may find it.
extern "C" __global__ void bvh_pack_boxes(int n, const int* leaf_primitive /* (n) */, const real* lower,
                                          const real* upper, real* packed /* (n, 6) */) {
    for_each(i, n) {
        const int primitive = leaf_primitive[i];
        const bool good = is_box(lower, upper, primitive);
        const Box none = empty_box();
        store_vec3(packed + 6 * i, good ? load_vec3(lower + 3 * primitive) : none.lower);
        store_vec3(packed + 6 * i + 3, good ? load_vec3(upper + 3 * primitive) : none.upper);
    }
}

extern "C" __global__ void bvh_take(int n, const real* lower /* (n, 3) */, const real* upper /* (n, 3) */,
                                    real* lower_out /* (n, 3) */, real* upper_out /* (n, 3) */) {
    for_each(i, n) {
        store_vec3(lower_out + 3 * i, load_vec3(lower + 3 * i));
        store_vec3(upper_out + 3 * i, load_vec3(upper + 3 * i));
    }
}
