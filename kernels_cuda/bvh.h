// Bounding volume hierarchies: trees of boxes with up to eight children a node, and the walks through them.
//
// A node keeps the boxes of its children in 8 bits a plane on a grid of its own (origin, and steps that are powers of
// two; Ylitie, Karras and Laine 2017), rounded outwards: what a walk skips cannot be a result. What it does not skip is
// decided by the caller on the primitives themselves, with ties broken by index, so that no answer depends on the tree.
//
// Walks keep one entry a level: a node, and which of its children are still to be visited. By construction
// (bvh_build.cu) a path has at most BVH_STACK nodes, whatever the primitives: the stack cannot overflow.
#pragma once

#include "bits.h"
#include "bvh_eight.h"
#include "lanes.h"
#include "vector.h"

// Before loops over the three axes and the eight slots: arrays that they index stay in registers.
#ifdef SIM_GPU
#define BVH_AXES _Pragma("unroll")
#define BVH_SLOTS _Pragma("unroll")
#else
#define BVH_AXES _Pragma("GCC unroll 3")
#define BVH_SLOTS
#endif

inline constexpr int BVH_WIDTH = 8, BVH_STACK = 72;
inline constexpr int BVH_LEAF = 4;                // primitives of a leaf at most
inline constexpr int BVH_NONE = -2147483647 - 1;  // in place of a child

#ifdef SIM_DOUBLE
typedef short BvhExponent;
#else
typedef signed char BvhExponent;
#endif

// child >= 0: a node; < 0: a leaf, ~child = first * BVH_LEAF + number - 1, with `first` in the order of leaves
#ifdef SIM_GPU
struct __align__(16) BvhNode {  // it is read by few, wide loads
#else
struct BvhNode {
#endif
    real origin[3];
    BvhExponent exponent[4];    // of the steps; the fourth is the set of slots in use, one bit each
    uint64 lower[3], upper[3];  // byte c: of child c
    int child[BVH_WIDTH];
};
static_assert(sizeof(BvhNode) == (sizeof(real) == 4 ? 96 : 112), "NODE_BYTES of simengine/collision/bvh.py");

// Trees as a kernel is given them: nodes, the root of each tree (-1: nothing in it), the primitive at each place of the
// leaves, and its numbers there (width 6: a box, 9: a triangle).
struct BvhView {
    const BvhNode* nodes;
    const int* roots;
    const int* primitive;
    const real* packed;
    int width;

    SIM_INLINE BvhView(const unsigned char* node_bytes, const int* tree_roots, const int* primitives,
                       const real* numbers, int numbers_each)
        : nodes((const BvhNode*)node_bytes),
          roots(tree_roots),
          primitive(primitives),
          packed(numbers),
          width(numbers_each) {}
};

// A node, on a GPU a copy by wide loads: for kernels that change none.
#ifdef SIM_GPU
SIM_INLINE BvhNode bvh_load(const BvhNode* at) {
    uint4 words[sizeof(BvhNode) / 16];
#pragma unroll
    for (int k = 0; k < int(sizeof(BvhNode) / 16); ++k) words[k] = __ldg((const uint4*)at + k);
    BvhNode node;
    memcpy(&node, words, sizeof node);
    return node;
}
#else
SIM_INLINE const BvhNode& bvh_load(const BvhNode* at) { return *at; }
#endif

SIM_INLINE int bvh_leaf_first(int child) { return int(unsigned(~child) / BVH_LEAF); }
SIM_INLINE int bvh_leaf_count(int child) { return int(unsigned(~child) % BVH_LEAF) + 1; }
SIM_INLINE unsigned bvh_slots(const BvhNode& node) { return unsigned(node.exponent[3]) & 0xffu; }

// 2^e, a normal number
SIM_INLINE real bvh_step(int e) {
#ifdef SIM_DOUBLE
    return from_bits(uint64(e + 1023) << 52);
#else
    return from_bits(unsigned(e + 127) << 23);
#endif
}

// Planes of all children, as the walks compute them: bvh_build.cu makes sure that they hold what is in them. The
// product is exact.
SIM_INLINE Eight bvh_planes(const uint64& plane, real step, real origin) {
    return Eight(plane) * Eight(step) + Eight(origin);
}

// A length above the rounding of all that is computed between a point and the contents of the node, and of the squares
// of such lengths; bytes_along and bytes_beyond have their own errors.
SIM_INLINE real bvh_slack(real reach) { return real(16) * REAL_EPSILON * reach; }

// The farthest that the contents of the node are from the point along an axis.
SIM_INLINE real bvh_reach(const BvhNode& node, vec3 point) {
    real reach = real(0);
    BVH_AXES
    for (int a = 0; a < 3; ++a)
        reach = larger_number(reach, absolute(node.origin[a] - point[a]) + real(255) * bvh_step(node.exponent[a]));
    return reach;
}

// Asks the CPU's memory for the children in `slots` before they are visited; a GPU has other walks to go on with.
SIM_INLINE void bvh_prefetch(const BvhView& bvh, const BvhNode& node, unsigned slots) {
#ifdef SIM_CPU
    for (; slots; slots &= slots - 1) {
        const int child = node.child[lowest_bit(slots)];
        const char* at = child < 0 ? (const char*)(bvh.packed + int64(bvh_leaf_first(child)) * bvh.width)
                                   : (const char*)(bvh.nodes + child);
        __builtin_prefetch(at);
        __builtin_prefetch(at + 64);
    }
#else
    (void)bvh, (void)node, (void)slots;
#endif
}

// Nodes on the way to where a walk is, with the children of each still to be visited. (The depth stands apart: it is
// then in a register where the entries are in memory.)
struct BvhStack {
    uint64 entry[BVH_STACK];

    SIM_INLINE void push(int& depth, int node, unsigned slots) {
        entry[depth++] = (uint64)(unsigned)node << 32 | slots;
    }
    SIM_INLINE bool pop(int& depth, int& node, unsigned& slots) const {
        if (depth == 0) return false;
        const uint64 last = entry[--depth];
        node = int(last >> 32);
        slots = unsigned(last);
        return true;
    }
};

// ---- boxes -------------------------------------------------------------------------------------------------------

// Calls leaf(first, number) for each leaf whose box, and the boxes above it, meet the box [lower, upper].
template <class Leaf>
SIM_INLINE void bvh_visit_box(const BvhView& bvh, int root, vec3 lower, vec3 upper, Leaf leaf) {
    BvhStack stack;
    int depth = 0, node = root;
    unsigned slots = 0;
    bool fresh = root >= 0;
    while (fresh || slots || stack.pop(depth, node, slots)) {
        if (fresh) {
            const BvhNode& at = bvh_load(bvh.nodes + node);
            unsigned found = bvh_slots(at);
            BVH_AXES
            for (int a = 0; a < 3; ++a) {
                const real origin = at.origin[a], step = bvh_step(at.exponent[a]);
                found &= not_above(bvh_planes(at.lower[a], step, origin), Eight(upper[a]));
                found &= not_above(Eight(lower[a]), bvh_planes(at.upper[a], step, origin));
            }
            slots = found;
            fresh = false;
            continue;
        }
        const int child = bvh.nodes[node].child[lowest_bit(slots)];
        slots &= slots - 1;
        if (child < 0) {
            leaf(bvh_leaf_first(child), bvh_leaf_count(child));
        } else {
            if (slots) stack.push(depth, node, slots);
            node = child;
            fresh = true;
        }
    }
}

// ---- rays --------------------------------------------------------------------------------------------------------

// Points origin + t direction, t from 0 on. `inverse` is 1 / direction, with components that are nearly 0 put at a
// distance from it that the slack covers. The largest component of a direction is to lie in [1, 2).
struct BvhRay {
    vec3 origin, inverse;
    unsigned octant;  // bit a: direction[a] is negative

    SIM_INLINE BvhRay(vec3 from, vec3 direction) : origin(from), octant(0) {
        const real least = REAL_EPSILON * real(7.62939453125e-6);  // 2^-17
        BVH_AXES
        for (int a = 0; a < 3; ++a) {
            const bool negative = direction[a] < real(0);
            octant |= unsigned(negative) << a;
            const real size = maximum(absolute(direction[a]), least);
            inverse[a] = reciprocal(negative ? -size : size);
        }
    }
};

// bit (slot ^ octant) for each slot: slots lie in the octants of a node, so low bits are met first along the ray
SIM_INLINE unsigned bvh_octant_order(unsigned slots, unsigned octant) {
    if (octant & 1u) slots = ((slots & 0x55u) << 1) | ((slots >> 1) & 0x55u);
    if (octant & 2u) slots = ((slots & 0x33u) << 2) | ((slots >> 2) & 0x33u);
    if (octant & 4u) slots = ((slots & 0x0fu) << 4) | ((slots >> 4) & 0x0fu);
    return slots;
}

// The children that the ray may meet at 0 <= t <= farthest.
SIM_INLINE unsigned bvh_ray_slots(const BvhNode& node, const BvhRay& ray, real farthest) {
    const real slack = bvh_slack(bvh_reach(node, ray.origin));
    Eight first(real(0)), last(farthest);
    BVH_AXES
    for (int a = 0; a < 3; ++a) {
        const bool negative = (ray.octant >> a) & 1u;
        const real inverse = ray.inverse[a], step = bvh_step(node.exponent[a]), scale = step * inverse;
        const real error = with_byte_error(slack, step) * absolute(inverse);
        const real base = (node.origin[a] - ray.origin[a]) * inverse;
        first = maximum(first, bytes_along(negative ? node.upper[a] : node.lower[a], scale, base - error));
        last = minimum(last, bytes_along(negative ? node.lower[a] : node.upper[a], scale, base + error));
    }
    return not_above(first, last) & bvh_slots(node);
}

// On a GPU the lanes of a warp look for leaves together, until at most BVH_FEW of them have none: a leaf that is found
// waits, and so may a second.
#ifdef SIM_GPU
inline constexpr bool BVH_LEAF_WAITS = true;
inline constexpr int BVH_FEW = 4;
SIM_INLINE bool bvh_seeks_leaf(bool without) { return __popc(__ballot_sync(__activemask(), without)) > BVH_FEW; }
#else
inline constexpr bool BVH_LEAF_WAITS = false;
SIM_INLINE bool bvh_seeks_leaf(bool without) { return without; }
#endif

// Calls leaf(first, number) for leaves that the ray may meet at t <= farthest, roughly from near to far. The leaf
// may lower `farthest` (what lies exactly there is still visited); it returns true to end the walk.
template <class Leaf>
SIM_INLINE void bvh_visit_ray(const BvhView& bvh, int root, const BvhRay& ray, const real& farthest, Leaf leaf) {
    if (root < 0) return;
    BvhStack stack;
    int depth = 0, node = root, found = 0, second = 0;  // leaves are negative
    unsigned slots = bvh_octant_order(bvh_ray_slots(bvh_load(bvh.nodes + root), ray, farthest), ray.octant);
    bool more = true;
    while (more || found) {
        do {
            if (BVH_LEAF_WAITS && (!more || second)) continue;
            more = slots || stack.pop(depth, node, slots);
            if (!more) continue;
            const int child = bvh.nodes[node].child[unsigned(lowest_bit(slots)) ^ ray.octant];
            slots &= slots - 1;
            if (child < 0) {
                (found ? second : found) = child;
            } else {
                if (slots) stack.push(depth, node, slots);
                node = child;
                slots = bvh_ray_slots(bvh_load(bvh.nodes + node), ray, farthest);
                bvh_prefetch(bvh, bvh.nodes[node], slots);
                slots = bvh_octant_order(slots, ray.octant);
            }
        } while (bvh_seeks_leaf(more && !found));
        for (; found; found = second, second = 0)
            if (leaf(bvh_leaf_first(found), bvh_leaf_count(found))) return;
    }
}

// ---- distances ---------------------------------------------------------------------------------------------------

// Keys of a walk by distance: lower bounds, in units of a key's own, for the eight children of a node. What is computed
// of anything inside a child is no less than the bound on which limit() puts its key.

// Squares of distances from a point to the children's boxes.
struct NearFirst {
    vec3 point;
    real unit;  // on a GPU in float a power of two that keeps all distances below 1, else 1

    SIM_INLINE NearFirst(const BvhView& bvh, int root, vec3 from) : point(from), unit(real(1)) {
#ifdef EIGHT_MANTISSA
        if (root >= 0) unit = from_bits((253u << 23) - (bits_of(bvh_reach(bvh.nodes[root], from)) & 0x7f800000u));
#else
        (void)bvh, (void)root;
#endif
    }

    SIM_INLINE real limit(real bound) const { return bound * unit * unit; }

    SIM_INLINE Eight operator()(const BvhNode& node) const {
        vec3 origin, step;
        real reach = real(0);
        BVH_AXES
        for (int a = 0; a < 3; ++a) {
            step[a] = bvh_step(node.exponent[a]) * unit;
            origin[a] = (node.origin[a] - point[a]) * unit;
            reach = larger_number(reach, multiply_add(real(255), step[a], absolute(origin[a])));
        }
        Eight square(real(-1e-36));  // below what the least numbers lose
        BVH_AXES
        for (int a = 0; a < 3; ++a) {
            const real error = with_byte_error(bvh_slack(reach), step[a]);
            square = add_square(bytes_beyond(node.lower[a], step[a], origin[a] - error), square);
            square = add_square(bytes_beyond(node.upper[a], -step[a], -origin[a] - error), square);
        }
        return square;
    }
};

// Minus the squares of distances to the farthest corners.
struct FarFirst {
    vec3 point;

    SIM_INLINE real limit(real bound) const { return bound; }

    SIM_INLINE Eight operator()(const BvhNode& node) const {
        const real slack = bvh_slack(bvh_reach(node, point));
        Eight square(real(0));
        BVH_AXES
        for (int a = 0; a < 3; ++a) {
            const real origin = node.origin[a] - point[a], step = bvh_step(node.exponent[a]);
            const real error = with_byte_error(slack, step);
            const Eight apart = maximum(bytes_along(node.lower[a], -step, error - origin),
                                        bytes_along(node.upper[a], step, origin + error));
            square = add_square(apart, square);
        }
        return Eight(real(0)) - square;
    }
};

// Who walks a tree: one for itself, or the lanes of a group side by side (BvhTogether), each with a query of its own.
// Those visit what one of them needs: best where their queries lie close together.
struct BvhAlone {
    SIM_INLINE bool is_one() const { return true; }
    SIM_INLINE bool goes_on() { return true; }
    SIM_INLINE bool any(bool wanted) { return wanted; }
    SIM_INLINE real least(real key) { return key; }
    SIM_INLINE unsigned all_of(unsigned slots) { return slots; }
};

struct BvhTogether {
    Lanes& lanes;
    int patience;  // nodes after which they give up, negative for never

    SIM_INLINE bool is_one() const { return lanes.count() == 1; }
    SIM_INLINE bool goes_on() { return patience < 0 || patience-- > 0; }
    SIM_INLINE bool any(bool wanted) { return lanes.any(wanted); }

    // of the lanes' keys, perhaps rounded
    SIM_INLINE real least(real key) {
#if defined(SIM_GPU) && SIM_LANES == 32 && __CUDA_ARCH__ >= 800
#ifdef SIM_DOUBLE
        key = smaller_number(key, real(3e38));  // no infinity: ascending_slots would make it a NaN
#endif
        return from_bits(unsigned(__reduce_min_sync(0xffffffffu, int(bits_of(float(key))))));
#else
        return -lanes.max_over(lanes.count(), [&](int) { return -key; });
#endif
    }

    // slots of one lane or another
    SIM_INLINE unsigned all_of(unsigned slots) {
#if defined(SIM_GPU) && SIM_LANES == 32 && __CUDA_ARCH__ >= 800
        return __reduce_or_sync(0xffffffffu, slots);
#else
        unsigned all = 0;
        for (int c = 0; c < BVH_WIDTH; ++c) all |= lanes.any((slots >> c) & 1u) ? 1u << c : 0u;
        return all;
#endif
    }
};

// Where a walk by distance begins: some of a node's slots.
struct BvhStart {
    int node;
    unsigned slots;
};

inline constexpr unsigned BVH_ALL = 0xff;

struct BvhLeaf {
    int first, number, node, slot;
};

// Whether ascending_slots takes keys of other slots as they are.
#ifdef SIM_GPU
inline constexpr bool BVH_ORDERS_SOME = false;
#else
inline constexpr bool BVH_ORDERS_SOME = true;
#endif

// The children of a node in `slots` with keys up to `limit` for one of the walkers, in the order of the least of their
// keys.
template <class Walkers, class Key>
SIM_INLINE unsigned bvh_open(Walkers& walkers, const BvhNode& node, unsigned slots, const Key& key, real limit,
                             real* kept) {
    Eight keys = key(node);
    slots &= not_above(keys, Eight(limit)) & bvh_slots(node);
    keys.store(kept);
    if (!BVH_ORDERS_SOME || !walkers.is_one()) {
        BVH_SLOTS
        for (int c = 0; c < BVH_WIDTH; ++c) keys.put(c, walkers.least((slots >> c) & 1u ? keys[c] : REAL_MAX));
        slots = walkers.all_of(slots);
    }
    return ascending_slots(keys, slots);
}

// Calls leaf(BvhLeaf) for leaves whose boxes have keys up to `bound` for one of the walkers, the least of a node first.
// The leaf may lower `bound` (what lies exactly there is still visited). False where the walkers gave up.
template <class Walkers, class Key, class Leaf>
SIM_INLINE bool bvh_visit_ordered(Walkers& walkers, const BvhView& bvh, BvhStart start, const Key& key,
                                  const real& bound, Leaf leaf) {
    if (start.node < 0) return true;
    BvhStack stack;
    real keys[BVH_STACK][BVH_WIDTH];  // of the children of the nodes in the stack, and of the one that is visited
    int depth = 0, node = start.node;
    bool fresh = true;
    unsigned order = NO_SLOTS, slots = start.slots;
    while (fresh || order != NO_SLOTS || stack.pop(depth, node, order)) {
        real* kept = keys[depth];
        const real limit = key.limit(bound);
        if (fresh) {
            if (!walkers.goes_on()) return false;
            order = bvh_open(walkers, bvh_load(bvh.nodes + node), slots, key, limit, kept);
            slots = BVH_ALL;
            fresh = false;
            continue;
        }
        const int slot = int(order & 7u);
        order >>= 3;
        if (!walkers.any(kept[slot] <= limit)) {
            if (walkers.is_one()) order = NO_SLOTS;  // the others have greater keys
            continue;
        }
        const int child = bvh.nodes[node].child[slot];
        if (child < 0) {
            leaf(BvhLeaf{bvh_leaf_first(child), bvh_leaf_count(child), node, slot});
        } else {
            if (order != NO_SLOTS) stack.push(depth, node, order);
            node = child;
            fresh = true;
        }
    }
    return true;
}

// Leaves within the square distance `bound` of the point, nearest boxes first: leaf(BvhLeaf).
template <class Leaf>
SIM_INLINE void bvh_visit_near(const BvhView& bvh, int root, vec3 point, const real& bound, Leaf leaf) {
    BvhAlone alone;
    bvh_visit_ordered(alone, bvh, {root, BVH_ALL}, NearFirst(bvh, root, point), bound, leaf);
}
