// Merging of the clusters of a tile into a binary tree (Meister and Bittner 2018, Parallel Locally-Ordered Clustering).
//
// Clusters lie in the group's memory in the order of the curve, and are worked in blocks of four: the windows of a
// block end in the next one, so that a lane finds the areas of all its pairs from eight boxes. A pair is known by a
// key: its area, with the lowest bits replaced by i xor j. That is an order of pairs: the first of them choose each
// other, and equal boxes pair up two by two. Each cluster chooses the least key; pairs that chose each other merge.
#pragma once

#include "bvh.h"
#include "four.h"
#include "lanes.h"

inline constexpr int TILE = 128, WINDOW = 4, LEVELS = 4;

// ---- what is known of clusters -----------------------------------------------------------------------------------

// Besides the box: levels below, open slots, primitives in those slots that are leaves, and primitives in all (5: more
// than a leaf holds).
struct ClusterInfo {
    int height, slots, held, primitives;
};

// The height is highest, so that words of clusters compare as heights do.
SIM_INLINE int pack_info(ClusterInfo c) { return c.height << 24 | c.held << 16 | c.slots << 8 | c.primitives; }
SIM_INLINE ClusterInfo unpack_info(int word) { return {word >> 24, (word >> 8) & 255, (word >> 16) & 255, word & 255}; }
SIM_INLINE int lowest_info(int height) { return height << 24; }

// Two numbers that are loaded and stored at once: to a GPU it is the number of scattered stores that costs.
template <class T>
struct alignas(2 * sizeof(T)) Two {
    T first, second;
};

// Nodes of the binary trees: 0 .. n-1 are primitives in sorted order, those from n on are made by merging.
struct BinaryNodes {
    int* children;  // (2n, 2)
    real* boxes;    // (2n, 6)
    int* infos;     // (2n)
    int* marks;     // (2n) WIDE: root of a node of eight; and how many primitives are in the leaves of that node

    SIM_INLINE void put_box(int node, const real* low, const real* high) const {
        Two<real>* box = (Two<real>*)(boxes + 6LL * node);
        box[0] = {low[0], low[1]};
        box[1] = {low[2], high[0]};
        box[2] = {high[1], high[2]};
    }
};

inline constexpr int WIDE = 1 << 16;
SIM_INLINE bool is_wide(int mark) { return mark >= WIDE; }

// Marks summed in pairs (scan.cu): nodes of eight in the upper half, primitives of their leaves in the lower.
SIM_INLINE int wide_place(int64 place) { return int(place >> 32); }
SIM_INLINE int leaf_place(int64 place) { return int(place & 0x7fffffff); }

// What becomes of clusters below a new node; returns what is known of it.
SIM_INLINE ClusterInfo join(const BinaryNodes& nodes, int left, ClusterInfo a, int right, ClusterInfo b) {
    ClusterInfo joined = {(a.height > b.height ? a.height : b.height) + 1, 1, 0, a.primitives + b.primitives};
    bool close_left = false, close_right = false;
    if (joined.primitives > BVH_LEAF) {
        joined.primitives = BVH_LEAF + 1;
        if (a.slots + b.slots > BVH_WIDTH) {
            close_left = a.slots >= b.slots;
            close_right = b.slots > a.slots || a.slots + b.slots == 2 * BVH_WIDTH;
        }
        joined.slots = (close_left ? 1 : a.slots) + (close_right ? 1 : b.slots);
        const int of_left = a.primitives <= BVH_LEAF ? a.primitives : close_left ? 0 : a.held;
        const int of_right = b.primitives <= BVH_LEAF ? b.primitives : close_right ? 0 : b.held;
        joined.held = of_left + of_right;
    }
    nodes.marks[left] = close_left ? WIDE + a.held : 0;
    nodes.marks[right] = close_right ? WIDE + b.held : 0;
    return joined;
}

// ---- the memory of a group ---------------------------------------------------------------------------------------

#ifdef SIM_DOUBLE
typedef uint64 PairKey;
#else
typedef uint32 PairKey;
#endif
inline constexpr PairKey NO_PAIR = ~PairKey(0);
inline constexpr int IN_BLOCK = IN_FOUR, BLOCKS = TILE / IN_BLOCK;

// There is room for a block more than the tile has, so that the last one has a next.
struct alignas(16) TileMemory {
    real box[6][TILE + IN_BLOCK];
    PairKey least_before[TILE + IN_BLOCK];  // of each cluster: the least key of its pairs with the block before
    int id[TILE + IN_BLOCK], info[TILE + IN_BLOCK];
    int ranks[BLOCKS];            // four bits: who merges into an earlier one; above: how many such are before
    unsigned char partner[TILE];  // whom each chose, itself: nobody
    unsigned char leader[TILE];   // of each pair that chose each other, the first
};
static_assert(sizeof(TileMemory) == (TILE + 4) * (7 * sizeof(real) + 8) + 3 * TILE, "merge_scratch in bvh.py");

// ---- partners ----------------------------------------------------------------------------------------------------

#ifdef SIM_GPU
#define MERGE_UNROLLED _Pragma("unroll")
#else
#define MERGE_UNROLLED _Pragma("GCC unroll 8")
#endif

// The key of a pair from half the area of its common box, all of whose bits but the sign count as a whole number.
SIM_INLINE PairKey pair_key(real area, int both) {
    return (bits_of(area) & (NO_PAIR >> 1) & ~PairKey(TILE - 1)) | PairKey(both);
}

SIM_INLINE real half_area(real x, real y, real z) { return multiply_add(x, y, multiply_add(y, z, z * x)); }

// The clusters of a block and of the next, and their least keys.
struct BlockPairs {
    real box[6][2 * IN_BLOCK];
    PairKey closed[2 * IN_BLOCK];  // all bits: takes part in no pair
    PairKey least[2 * IN_BLOCK];

    SIM_INLINE BlockPairs(const TileMemory& m, int block, int count, int highest) {
        MERGE_UNROLLED
        for (int half = 0; half < 2; ++half) {
            MERGE_UNROLLED
            for (int a = 0; a < 6; ++a) {
                const Four<real> numbers = four(m.box[a], block + half);
                MERGE_UNROLLED
                for (int k = 0; k < IN_BLOCK; ++k) box[a][half * IN_BLOCK + k] = numbers.at[k];
            }
            const Four<int> infos = four(m.info, block + half);
            MERGE_UNROLLED
            for (int k = 0; k < IN_BLOCK; ++k) {
                const bool open = infos.at[k] < lowest_info(highest) && (block + half) * IN_BLOCK + k < count;
                closed[half * IN_BLOCK + k] = open ? 0 : NO_PAIR;
                least[half * IN_BLOCK + k] = NO_PAIR;
            }
        }
    }

    // All pairs up to WINDOW apart that begin in the block.
    SIM_INLINE void find(int block) {
        const int across = IN_BLOCK * (block ^ (block + 1));
        MERGE_UNROLLED
        for (int apart = 1; apart <= WINDOW; ++apart) {
            MERGE_UNROLLED
            for (int i = 0; i < IN_BLOCK; ++i) {
                const int j = i + apart;
                real size[3];
                MERGE_UNROLLED
                for (int a = 0; a < 3; ++a)
                    size[a] = larger_number(box[3 + a][i], box[3 + a][j]) - smaller_number(box[a][i], box[a][j]);
                const int both = j < IN_BLOCK ? i ^ j : across | (i ^ (j - IN_BLOCK));
                const PairKey key = pair_key(half_area(size[0], size[1], size[2]), both) | closed[i] | closed[j];
                least[i] = key < least[i] ? key : least[i];
                least[j] = key < least[j] ? key : least[j];
            }
        }
    }
};

static_assert(WINDOW <= IN_BLOCK, "pairs end in the next block");

SIM_INLINE int chosen(int i, PairKey least) { return least == NO_PAIR ? i : i ^ int(least & PairKey(TILE - 1)); }

// Whom each cluster chooses, of the clusters within the window.
SIM_INLINE void find_partners(Lanes& lanes, TileMemory& m, int count, int highest) {
    const int blocks = (count + IN_BLOCK - 1) / IN_BLOCK;
    for (int first = 0; first < blocks; first += lanes.count()) {
        const int block = first + lanes.lane();
        PairKey least[IN_BLOCK] = {};
        if (block < blocks) {
            BlockPairs pairs(m, block, count, highest);
            pairs.find(block);
            Four<PairKey> next;
            MERGE_UNROLLED
            for (int k = 0; k < IN_BLOCK; ++k) {
                least[k] = pairs.least[k];
                next.at[k] = pairs.least[IN_BLOCK + k];
            }
            four(m.least_before, block + 1) = next;
            if (block == 0) four(m.least_before, 0) = {{NO_PAIR, NO_PAIR, NO_PAIR, NO_PAIR}};
        }
        lanes.sync();
        if (block < blocks) {
            const Four<PairKey> before = four(m.least_before, block);
            uint32 partners = 0;
            MERGE_UNROLLED
            for (int k = 0; k < IN_BLOCK; ++k) {
                const PairKey key = before.at[k] < least[k] ? before.at[k] : least[k];
                partners |= uint32(chosen(IN_BLOCK * block + k, key)) << (8 * k);
            }
            ((uint32*)m.partner)[block] = partners;
        }
    }
    lanes.sync();
}

// Likewise with a wider window, where nobody within the common one may merge: seldom, so without haste.
SIM_INLINE void find_far_partners(Lanes& lanes, TileMemory& m, int count, int highest, int window) {
    const auto open = [&](int i) { return i < count && m.info[i] < lowest_info(highest); };
    for_lanes(i, 0, (count + IN_BLOCK - 1) / IN_BLOCK * IN_BLOCK) {
        PairKey least = NO_PAIR;
        const int end = i + window < count ? i + window + 1 : count;
        SIM_ROLLED
        for (int j = i > window ? i - window : 0; j < end; ++j) {
            if (j == i || !open(i) || !open(j)) continue;
            real size[3];
            for (int a = 0; a < 3; ++a)
                size[a] = larger_number(m.box[3 + a][i], m.box[3 + a][j]) - smaller_number(m.box[a][i], m.box[a][j]);
            const PairKey key = pair_key(half_area(size[0], size[1], size[2]), i ^ j);
            least = key < least ? key : least;
        }
        m.partner[i] = (unsigned char)chosen(i, least);
    }
    lanes.sync();
}

// ---- merging -----------------------------------------------------------------------------------------------------

// One bit for each cluster of a block: does it pair with an earlier one that chose it, too?
SIM_INLINE int second_of_pairs(const TileMemory& m, int block) {
    const uint32 partners = ((const uint32*)m.partner)[block];
    int other[IN_BLOCK], bits = 0;
    MERGE_UNROLLED
    for (int k = 0; k < IN_BLOCK; ++k) other[k] = m.partner[partners >> (8 * k) & 255u];
    MERGE_UNROLLED
    for (int k = 0; k < IN_BLOCK; ++k) {
        const int i = IN_BLOCK * block + k;
        bits |= int((other[k] == i) & (int(partners >> (8 * k) & 255u) < i)) << k;
    }
    return bits;
}

// Numbers the pairs that chose each other, in the order of their second clusters. Returns how many there are.
SIM_INLINE int rank_pairs(Lanes& lanes, TileMemory& m, int count) {
    const int blocks = (count + IN_BLOCK - 1) / IN_BLOCK;
    for_lanes(block, 0, blocks) m.ranks[block] = second_of_pairs(m, block);
    const auto number = [&](int block, int before) {
        const int bits = m.ranks[block];
        int rank = before;
        MERGE_UNROLLED
        for (int k = 0; k < IN_BLOCK; ++k)
            if (bits >> k & 1) m.leader[rank++] = m.partner[IN_BLOCK * block + k];
        m.ranks[block] = before << IN_BLOCK | bits;
    };
    const int pairs = lanes.scan(blocks, [&](int block) { return bit_count(unsigned(m.ranks[block])); }, number);
    lanes.sync();
    return pairs;
}

// Pair number `rank` becomes a node, in the place of its first cluster.
SIM_INLINE void merge_pair(TileMemory& m, const BinaryNodes& nodes, int rank, int node) {
    const int i = m.leader[rank], j = m.partner[i], left = m.id[i], right = m.id[j];
    const int info = pack_info(join(nodes, left, unpack_info(m.info[i]), right, unpack_info(m.info[j])));
    ((Two<int>*)nodes.children)[node] = {left, right};
    nodes.infos[node] = info;
    real low[3], high[3];
    BVH_AXES
    for (int a = 0; a < 3; ++a) {
        m.box[a][i] = low[a] = minimum(m.box[a][i], m.box[a][j]);
        m.box[3 + a][i] = high[a] = maximum(m.box[3 + a][i], m.box[3 + a][j]);
    }
    nodes.put_box(node, low, high);
    m.id[i] = node;
    m.info[i] = info;
}

// Moves up the clusters that stay, in their order, into the places of those that merged into an earlier one. A round of
// blocks is read before it is written, and written no further on than it has been read.
SIM_INLINE void close_gaps(Lanes& lanes, TileMemory& m, int count, int merged) {
    const int blocks = (count + IN_BLOCK - 1) / IN_BLOCK;
    for (int first = 0; first < blocks; first += lanes.count()) {
        const int block = first + lanes.lane();
        Four<real> box[6] = {};
        Four<int> id = {}, info = {};
        int ranks = 0;
        if (block < blocks) {
            MERGE_UNROLLED
            for (int a = 0; a < 6; ++a) box[a] = four(m.box[a], block);
            id = four(m.id, block);
            info = four(m.info, block);
            ranks = m.ranks[block];
        }
        lanes.sync();
        int gone = ranks >> IN_BLOCK < merged ? ranks >> IN_BLOCK : merged;  // of those before
        MERGE_UNROLLED
        for (int k = 0; k < IN_BLOCK; ++k) {
            const int i = IN_BLOCK * block + k, place = i - gone;
            const bool goes = (ranks >> k & 1) && gone < merged;
            gone += goes;
            if (goes || i >= count) continue;
            m.id[place] = id.at[k];
            m.info[place] = info.at[k];
            MERGE_UNROLLED
            for (int a = 0; a < 6; ++a) m.box[a][place] = box[a].at[k];
        }
        lanes.sync();
    }
}

// Merges the tile's clusters until `target` are left, growing none above `highest` levels. Returns the next node.
SIM_INLINE int merge_tile(Lanes& lanes, TileMemory& m, const BinaryNodes& nodes, int count, int target, int node,
                          int highest) {
    int window = WINDOW;
    while (count > target) {
        if (window == WINDOW)
            find_partners(lanes, m, count, highest);
        else
            find_far_partners(lanes, m, count, highest, window);
        const int pairs = rank_pairs(lanes, m, count), merged = pairs < count - target ? pairs : count - target;
        for_lanes(rank, 0, merged) merge_pair(m, nodes, rank, node + rank);
        lanes.sync();
        close_gaps(lanes, m, count, merged);
        node += merged;
        count -= merged;
        window = merged ? WINDOW : 2 * window;
    }
    return node;
}
