// Boxes of the nodes of trees (bvh.h), made bottom-up from the packed numbers of their leaves (bvh_pack.h).
#pragma once

#include "bvh.h"
#include "bvh_pack.h"
#include "four.h"
#include "lanes.h"

// Before loops over children.
#ifdef SIM_GPU
#define BVH_EIGHT _Pragma("unroll")
#else
#define BVH_EIGHT _Pragma("GCC unroll 8")
#endif

// Tells a GPU's compiler the range of lanes: what eight lanes do over eight children is then no loop.
SIM_INLINE void assume_range([[maybe_unused]] const Lanes& lanes) {
#ifdef SIM_GPU
    __builtin_assume(lanes.lane() >= 0 && lanes.lane() < lanes.count());
#endif
}

// Where a node stands: its parent (-1: none), how many of its children are nodes, and the places of the primitives in
// its leaves.
struct alignas(16) NodeRow {
    int parent, inner, first, count;
};
inline constexpr int ROW_COLUMNS = 4;

// Memory of a group: the packed numbers of the node's leaves (several lanes only), the boxes of eight children, the
// grid of the node, and the node as it becomes.
template <int WIDTH>
struct alignas(16) RefitMemory {
    real numbers[WIDTH * BVH_WIDTH * BVH_LEAF + IN_FOUR];
    real lower[3][BVH_WIDTH], upper[3][BVH_WIDTH];
    BvhNode node;
    real step[3], inverse[3], bounds[6];
};

// The packed numbers from `begin` to `end`: a lane alone reads them where they are (offset 0), several from the group's
// memory, in which `offset` stands first. Whole fours are copied.
struct LeafNumbers {
    const real* numbers;
    int offset;
    SIM_INLINE const real* operator[](int i) const { return numbers + (i - offset); }
};

template <class Memory>
SIM_INLINE LeafNumbers leaf_numbers(Lanes& lanes, Memory& m, const real* packed, int begin, int end) {
    if (lanes.count() == 1) return {packed, 0};
    const int from = begin / IN_FOUR, to = (end + IN_FOUR - 1) / IN_FOUR;
    for_lanes_ahead<5>(
        lanes, from, to, [&](int i) { return four(packed, i); },
        [&](int i, const Four<real>& numbers) { four(m.numbers, i - from) = numbers; });
    return {m.numbers, IN_FOUR * from};
}

// The box of a leaf.
template <class Source>
SIM_INLINE Box leaf_box(const LeafNumbers& numbers, int child) {
    const int first = bvh_leaf_first(child), count = bvh_leaf_count(child);
    Box box = empty_box();
    BVH_EIGHT
    for (int k = 0; k < BVH_LEAF; ++k) {
#ifdef SIM_CPU
        if (k == count) break;
#endif
        box.add(Source::box(numbers[Source::WIDTH * (first + (k < count ? k : count - 1))]));  // or the last one again
    }
    return box;
}

// ---- nodes -------------------------------------------------------------------------------------------------------

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

// The last plane of the grid that is not above x, and the first that is not below. (Division by a step is exact, and so
// is a plane's sum but for one rounding; that of x - origin puts the number of the plane at most one off.)
SIM_INLINE int grid_below(real x, real origin, real step, real inverse) {
    const real place = floor_of((x - origin) * inverse);
    const int q = to_int(larger_number(smaller_number(place, real(255)), real(0)));
    return q - (int(multiply_add(real(q), step, origin) > x) & int(q > 0));
}

SIM_INLINE int grid_above(real x, real origin, real step, real inverse) {
    const real place = -floor_of((origin - x) * inverse);
    const int q = to_int(larger_number(smaller_number(place, real(255)), real(0)));
    return q + (int(multiply_add(real(q), step, origin) < x) & int(q < 255));
}

// The node's box from those of its children, and its grid.
template <class Memory>
SIM_INLINE void make_grid(Memory& m, int a) {
    real low = REAL_INFINITY, high = -REAL_INFINITY;
    BVH_EIGHT
    for (int half = 0; half < BVH_WIDTH / IN_FOUR; ++half) {
        const Four<real> lower = four(m.lower[a], half), upper = four(m.upper[a], half);
        BVH_EIGHT
        for (int c = 0; c < IN_FOUR; ++c) {
            low = smaller_number(low, lower.at[c]);
            high = larger_number(high, upper.at[c]);
        }
    }
    m.bounds[a] = low;
    m.bounds[3 + a] = high;
    const bool empty = !(low <= high);
    const real origin = empty ? real(0) : low;
    const int exponent = step_exponent(origin, empty ? real(0) : high);
    m.node.origin[a] = origin;
    m.node.exponent[a] = BvhExponent(exponent);
    m.step[a] = bvh_step(exponent);
    m.inverse[a] = reciprocal(bvh_step(exponent));
}

// The planes of child c on the node's grid, as bytes.
template <class Memory>
SIM_INLINE void make_planes(Memory& m, int c) {
    BVH_AXES
    for (int a = 0; a < 3; ++a) {
        const real low = m.lower[a][c], high = m.upper[a][c], origin = m.node.origin[a];
        const bool empty = !(low <= high);
        const int below = grid_below(low, origin, m.step[a], m.inverse[a]);
        const int above = grid_above(high, origin, m.step[a], m.inverse[a]);
        ((unsigned char*)&m.node.lower[a])[c] = (unsigned char)(empty ? 255 : below);
        ((unsigned char*)&m.node.upper[a])[c] = (unsigned char)(empty ? 0 : above);
    }
}

typedef uint64 __attribute__((may_alias)) HeadWord;

// Copies what stands before the children of a node, neighbouring words by neighbouring lanes.
SIM_INLINE void store_head(Lanes& lanes, const BvhNode& from, BvhNode& to) {
    constexpr int words = int((sizeof(BvhNode) - BVH_WIDTH * sizeof(int)) / sizeof(uint64));
    for_lanes(k, 0, words)((HeadWord*)&to)[k] = ((const HeadWord*)&from)[k];
}

template <class Source>
SIM_INLINE void make_boxes(Lanes& lanes, RefitMemory<Source::WIDTH>& m, BvhNode& node, int index, const NodeRow& row,
                           const real* packed, real* bounds) {
    // on their way while the numbers are: the child of this lane, and the slots in use
    const int own = lanes.lane() < BVH_WIDTH ? node.child[lanes.lane()] : BVH_NONE;
    const BvhExponent slots = node.exponent[3];
    const int begin = Source::WIDTH * row.first;
    const LeafNumbers numbers = leaf_numbers(lanes, m, packed, begin, begin + Source::WIDTH * row.count);
    if (lanes.lane() == 0) m.node.exponent[3] = slots;
    lanes.sync();
    for_lanes(c, 0, BVH_WIDTH) {
        const int child = c == lanes.lane() ? own : node.child[c];
        Box box = empty_box();
        if (child >= 0)
            box = {load_vec3(bounds + 6LL * child), load_vec3(bounds + 6LL * child + 3)};
        else if (child != BVH_NONE)
            box = leaf_box<Source>(numbers, child);
        BVH_AXES
        for (int a = 0; a < 3; ++a) {
            m.lower[a][c] = box.lower[a] + real(0);  // 0, not -0, on every machine
            m.upper[a][c] = box.upper[a] + real(0);
        }
    }
    lanes.sync();
    for_lanes(a, 0, 3) make_grid(m, a);
    lanes.sync();
    for_lanes(c, 0, BVH_WIDTH) make_planes(m, c);
    lanes.sync();
    store_head(lanes, m.node, node);
    for_lanes(k, 0, 6) bounds[6LL * index + k] = m.bounds[k];
}

// Tells a node that one of its children is done: true for the last of `children`, who sees what the others wrote.
SIM_INLINE bool arrive(int* count, int children) {
#ifdef SIM_GPU
    asm volatile("fence.acq_rel.gpu;" ::: "memory");  // __threadfence() orders more than is needed, and takes longer
    const bool last = atomicAdd(count, 1) == children - 1;
    if (!last) return false;
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
    *count = 0;
#else
    const bool last = __atomic_fetch_add(count, 1, __ATOMIC_ACQ_REL) == children - 1;
    if (last) __atomic_store_n(count, 0, __ATOMIC_RELAXED);
#endif
    return last;
}

// The last of `all` groups that come to a counter: true in all of its lanes, which see what the others wrote.
SIM_INLINE bool arrives_last(Lanes& lanes, int* count, int all) {
    lanes.sync();
    return lanes.broadcast(lanes.lane() == 0 && arrive(count, all), 0);
}

// Boxes of all nodes. The group that begins at a node makes, if no child of it is a node, its boxes, then those of
// nodes above, as far as it is the last to come to them.
template <class Source>
SIM_INLINE void refit_all(int nodes, const real* packed, const NodeRow* rows, BvhNode* node, int* arrived, real* bounds,
                          const Scratch& scratch) {
    for_each_world(nodes, scratch, [&](Lanes& lanes, int first, char* memory) {
        assume_range(lanes);
        auto& m = small_memory<RefitMemory<Source::WIDTH>>(memory);
        int at = first;
        NodeRow row = rows[at];
        bool more = row.inner == 0;
        while (more) {
            const NodeRow above = rows[row.parent >= 0 ? row.parent : at];  // on its way while boxes are made
            make_boxes<Source>(lanes, m, node[at], at, row, packed, bounds);
            more = row.parent >= 0 && arrives_last(lanes, arrived + row.parent, above.inner);
            at = row.parent;
            row = above;
        }
    });
}
