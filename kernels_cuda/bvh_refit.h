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
    real step[IN_FOUR], inverse[IN_FOUR];  // three of them
};
static_assert(sizeof(RefitMemory<6>) == (6 * 32 + 60) * sizeof(real) + sizeof(BvhNode), "refit_scratch in bvh.py");
static_assert(sizeof(RefitMemory<9>) == (9 * 32 + 60) * sizeof(real) + sizeof(BvhNode), "refit_scratch in bvh.py");

// The packed numbers from `begin` to `end`: a lane alone reads them where they are (offset 0), several from the group's
// memory, in which `offset` stands first.
struct LeafNumbers {
    const real* numbers;
    int offset;
    SIM_INLINE const real* operator[](int i) const { return numbers + (i - offset); }
};

// Copies to a group's memory. A GPU only starts to, so that many are under way in no registers; finish_copies() waits
// for those of this lane.
SIM_INLINE void start_copy(const Four<real>& from, Four<real>& to) {
#if __CUDA_ARCH__ >= 800
    const unsigned shared = unsigned(__cvta_generic_to_shared(&to));
#pragma unroll
    for (int k = 0; k < int(sizeof(to)); k += 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared + k), "l"((const char*)&from + k)
                     : "memory");
#else
    to = from;
#endif
}

SIM_INLINE void finish_copies() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

// Numbers from `begin` to `end`, which are there after finish_copies() and a barrier. Whole fours are copied.
template <int WIDTH>
SIM_INLINE LeafNumbers start_numbers(Lanes& lanes, RefitMemory<WIDTH>& m, const real* packed, int begin, int end) {
    if (lanes.count() == 1) return {packed, 0};
    const int from = begin / IN_FOUR, to = (end + IN_FOUR - 1) / IN_FOUR;
    constexpr int most = WIDTH * BVH_WIDTH * BVH_LEAF / IN_FOUR + 1;
    BVH_EIGHT
    for (int first = 0; first < most; first += lanes.count()) {
        const int i = first + lanes.lane();
        if (from + i < to) start_copy(four(packed, from + i), four(m.numbers, i));
    }
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
    const real q = larger_number(smaller_number(place, real(255)), real(0));  // 0 to 255, also of NaN
    return int(q) - (int(multiply_add(q, step, origin) > x) & int(q > real(0)));
}

SIM_INLINE int grid_above(real x, real origin, real step, real inverse) {
    const real place = -floor_of((origin - x) * inverse);
    const real q = larger_number(smaller_number(place, real(255)), real(0));
    return int(q) + (int(multiply_add(q, step, origin) < x) & int(q < real(255)));
}

// The node's box, to `bounds`, from those of its children, and its grid.
template <class Memory>
SIM_INLINE void make_grid(Memory& m, int a, real* bounds) {
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
    bounds[a] = low;
    bounds[3 + a] = high;
    const bool empty = !(low <= high);
    const real origin = empty ? real(0) : low;
    const int exponent = step_exponent(origin, empty ? real(0) : high);
    m.node.origin[a] = origin;
    m.node.exponent[a] = BvhExponent(exponent);
    m.step[a] = bvh_step(exponent);
    m.inverse[a] = reciprocal(bvh_step(exponent));
}

// The planes of child c on the node's grid, as bytes: all are known before the first is written, which might alias what
// is read.
template <class Memory>
SIM_INLINE void make_planes(Memory& m, int c) {
    int below[3], above[3];
    BVH_AXES
    for (int a = 0; a < 3; ++a) {
        const real low = m.lower[a][c], high = m.upper[a][c];
        const real origin = m.node.origin[a], step = m.step[a], inverse = m.inverse[a];
        const bool empty = !(low <= high);
        const int first = grid_below(low, origin, step, inverse), last = grid_above(high, origin, step, inverse);
        below[a] = empty ? 255 : first;
        above[a] = empty ? 0 : last;
    }
    BVH_AXES
    for (int a = 0; a < 3; ++a) {
        ((unsigned char*)&m.node.lower[a])[c] = (unsigned char)below[a];
        ((unsigned char*)&m.node.upper[a])[c] = (unsigned char)above[a];
    }
}

typedef uint64 __attribute__((may_alias)) HeadWord;

// Copies what stands before the children of a node, neighbouring words by neighbouring lanes.
SIM_INLINE void store_head(Lanes& lanes, const BvhNode& from, BvhNode& to) {
    constexpr int words = int((sizeof(BvhNode) - BVH_WIDTH * sizeof(int)) / sizeof(uint64));
    for_lanes(k, 0, words)((HeadWord*)&to)[k] = ((const HeadWord*)&from)[k];
}

// A node to be made: where it stands, and what is known of it beforehand.
struct RefitNode {
    int index;
    NodeRow row;
    int child;  // of this lane
    BvhExponent slots;
};

// A tree's arrays.
struct RefitArrays {
    const real* packed;
    const NodeRow* rows;
    BvhNode* nodes;
    int* arrived;
    real* bounds;

    SIM_INLINE RefitNode node(const Lanes& lanes, int index) const {
        const BvhNode& node = nodes[index];
        const int child = lanes.lane() < BVH_WIDTH ? node.child[lanes.lane()] : BVH_NONE;
        return {index, rows[index], child, node.exponent[3]};
    }
};

// The box of child c to the group's memory.
template <class Memory>
SIM_INLINE void put_box(Memory& m, int c, const Box& box) {
    BVH_AXES
    for (int a = 0; a < 3; ++a) {
        m.lower[a][c] = box.lower[a] + real(0);  // 0, not -0, on every machine
        m.upper[a][c] = box.upper[a] + real(0);
    }
}

// The boxes of the children of a node, its own, and its grid, which needs a barrier. Those of nodes are loaded while
// the numbers of leaves are on their way.
template <class Source>
SIM_INLINE void make_boxes(Lanes& lanes, RefitMemory<Source::WIDTH>& m, const RefitArrays& a, const RefitNode& at) {
    const auto child_of = [&](int c) { return c == lanes.lane() ? at.child : a.nodes[at.index].child[c]; };
    const int begin = Source::WIDTH * at.row.first, end = begin + Source::WIDTH * at.row.count;
    const LeafNumbers numbers = start_numbers(lanes, m, a.packed, begin, end);
    for_lanes(c, 0, BVH_WIDTH) {
        const int child = child_of(c);
        if (child == BVH_NONE)
            put_box(m, c, empty_box());
        else if (child >= 0)
            put_box(m, c, {load_vec3(a.bounds + 6LL * child), load_vec3(a.bounds + 6LL * child + 3)});
    }
    finish_copies();
    lanes.sync();
    for_lanes(c, 0, BVH_WIDTH) {
        const int child = child_of(c);
        if (child < 0 && child != BVH_NONE) put_box(m, c, leaf_box<Source>(numbers, child));
    }
    if (lanes.lane() == 0) m.node.exponent[3] = at.slots;
    lanes.sync();
    for_lanes(axis, 0, 3) make_grid(m, axis, a.bounds + 6LL * at.index);
}

// ---- the way up --------------------------------------------------------------------------------------------------

// Tells a counter that one of `all` is done, with what was written before: true for the last, who sees what the others
// wrote; the count begins anew. (One operation that releases and acquires: fences round it would be waited for twice.)
SIM_INLINE bool arrive(int* count, int all) {
#ifdef SIM_GPU
    int before;
    asm volatile("atom.acq_rel.gpu.global.add.s32 %0, [%1], 1;" : "=r"(before) : "l"(count) : "memory");
    if (before != all - 1) return false;
    *count = 0;
#else
    if (__atomic_fetch_add(count, 1, __ATOMIC_ACQ_REL) != all - 1) return false;
    __atomic_store_n(count, 0, __ATOMIC_RELAXED);
#endif
    return true;
}

// The last of `all` groups that come to a counter: true in all of its lanes, which see what the others wrote.
SIM_INLINE bool arrives_last(Lanes& lanes, int* count, int all) {
    lanes.sync();
    return lanes.broadcast(lanes.lane() == 0 && arrive(count, all), 0);
}

// Boxes of all nodes. The group that begins at a node makes, if no child of it is a node, its boxes, then those of
// nodes above, as far as it is the last to come to them. The way up to the root is what takes longest: the parent is
// loaded while a node is made, its own box is written first, and what no other group reads after the others know.
template <class Source>
SIM_INLINE void refit_all(int nodes, const RefitArrays& a, const Scratch& scratch) {
    for_each_world(nodes, scratch, [&](Lanes& lanes, int first, char* memory) {
        assume_range(lanes);
        auto& m = small_memory<RefitMemory<Source::WIDTH>>(memory);
        RefitNode at = a.node(lanes, first);
        bool more = at.row.inner == 0;
        while (more) {
            const int parent = at.row.parent;
            const RefitNode above = a.node(lanes, parent >= 0 ? parent : at.index);
            make_boxes<Source>(lanes, m, a, at);
            lanes.sync();
            for_lanes(c, 0, BVH_WIDTH) make_planes(m, c);
            lanes.sync();
            more = parent >= 0;
            if (lanes.lane() == 0 && more && above.row.inner > 1) more = arrive(a.arrived + parent, above.row.inner);
            store_head(lanes, m.node, a.nodes[at.index]);
            more = lanes.broadcast(more, 0);
            at = above;
        }
    });
}
