// Bounding volume hierarchies: trees of boxes with up to eight children a node, and the walks through them.
//
// A node keeps the boxes of its children in 8 bits a plane on a grid of its own (origin, and steps that are powers of
// two; Ylitie, Karras and Laine 2017), rounded outwards: what a walk skips cannot be a result. What it does not skip is
// decided by the caller on the primitives themselves, with ties broken by index, so that no answer depends on the tree.
//
// Walks keep one entry a level: a node, and which of its children are still to be visited. By construction
// (bvh_build.cu) a path has at most BVH_STACK nodes, whatever the primitives: the stack cannot overflow.
#pragma once

#include "bvh_eight.h"
#include "vector.h"

// Before loops over the three axes: arrays that they index stay in registers.
#ifdef SIM_GPU
#define BVH_AXES _Pragma("unroll")
#else
#define BVH_AXES _Pragma("GCC unroll 3")
#endif

inline constexpr int BVH_WIDTH = 8, BVH_STACK = 72;
inline constexpr int BVH_LEAF = 4;           // primitives of a leaf at most
inline constexpr int BVH_NONE = -2147483647 - 1;  // in place of a child

#ifdef SIM_DOUBLE
typedef short BvhExponent;
#else
typedef signed char BvhExponent;
#endif

// child >= 0: a node; < 0: a leaf, ~child = first * BVH_LEAF + number - 1, with `first` in the order of leaves
struct BvhNode {
    real origin[3];
    BvhExponent exponent[4];  // of the steps; the fourth is the set of slots in use, one bit each
    uint64 lower[3], upper[3];  // byte c: of child c
    int child[BVH_WIDTH];
};

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

SIM_INLINE int bvh_leaf_first(int child) { return ~child / BVH_LEAF; }
SIM_INLINE int bvh_leaf_count(int child) { return ~child % BVH_LEAF + 1; }
SIM_INLINE unsigned bvh_slots(const BvhNode& node) { return unsigned(node.exponent[3]) & 0xffu; }

// 2^e, a normal number
SIM_INLINE real bvh_step(int e) {
#ifdef SIM_DOUBLE
    return from_bits(uint64(e + 1023) << 52);
#else
    return from_bits(unsigned(e + 127) << 23);
#endif
}

SIM_INLINE int lowest_bit(unsigned mask) {
#ifdef SIM_GPU
    return __ffs(int(mask)) - 1;
#else
    return __builtin_ctz(mask);
#endif
}

// Planes of all children, as the walks compute them: bvh_build.cu makes sure that they hold what is in them. The
// product is exact.
SIM_INLINE Eight bvh_planes(const uint64& plane, real step, real origin) {
    return Eight(plane) * Eight(step) + Eight(origin);
}

// A length above the rounding of all that is computed between a point and the contents of the node.
SIM_INLINE real bvh_slack(const BvhNode& node, vec3 point) {
    real reach = real(0);
BVH_AXES
    for (int a = 0; a < 3; ++a)
        reach = maximum(reach, absolute(node.origin[a] - point[a]) + real(255) * bvh_step(node.exponent[a]));
    return real(8) * REAL_EPSILON * reach;
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

struct BvhStack {
    int node[BVH_STACK];
    unsigned char slots[BVH_STACK];
    int depth = 0;

    SIM_INLINE void push(int n, unsigned s) {
        node[depth] = n;
        slots[depth++] = (unsigned char)s;
    }
    SIM_INLINE bool pop(int& n, unsigned& s) {
        if (depth == 0) return false;
        n = node[--depth];
        s = slots[depth];
        return true;
    }
};

// ---- boxes -------------------------------------------------------------------------------------------------------

// Calls leaf(first, number) for each leaf whose box, and the boxes above it, meet the box [lower, upper].
template <class Leaf>
SIM_INLINE void bvh_visit_box(const BvhView& bvh, int root, vec3 lower, vec3 upper, Leaf leaf) {
    BvhStack stack;
    int node = root;
    unsigned slots = 0;
    bool fresh = root >= 0;
    while (fresh || slots || stack.pop(node, slots)) {
        if (fresh) {
            const BvhNode& at = bvh.nodes[node];
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
            if (slots) stack.push(node, slots);
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
    const real slack = bvh_slack(node, ray.origin);
    Eight first(real(0)), last(farthest);
    BVH_AXES
    for (int a = 0; a < 3; ++a) {
        const bool negative = (ray.octant >> a) & 1u;
        const real inverse = ray.inverse[a], error = slack * absolute(inverse);
        const real base = (node.origin[a] - ray.origin[a]) * inverse;
        const Eight scale(bvh_step(node.exponent[a]) * inverse);
        const Eight near_planes(negative ? node.upper[a] : node.lower[a]);
        const Eight far_planes(negative ? node.lower[a] : node.upper[a]);
        first = maximum(first, near_planes * scale + Eight(base - error));
        last = minimum(last, far_planes * scale + Eight(base + error));
    }
    return not_above(first, last) & bvh_slots(node);
}

// Calls leaf(first, number) for leaves that the ray may meet at t <= farthest, roughly from near to far. The leaf
// may lower `farthest` (what lies exactly there is still visited); it returns true to end the walk.
template <class Leaf>
SIM_INLINE void bvh_visit_ray(const BvhView& bvh, int root, const BvhRay& ray, const real& farthest, Leaf leaf) {
    if (root < 0) return;
    BvhStack stack;
    int node = root;
    unsigned slots = bvh_octant_order(bvh_ray_slots(bvh.nodes[root], ray, farthest), ray.octant);
    while (slots || stack.pop(node, slots)) {
        const int child = bvh.nodes[node].child[unsigned(lowest_bit(slots)) ^ ray.octant];
        slots &= slots - 1;
        if (child < 0) {
            if (leaf(bvh_leaf_first(child), bvh_leaf_count(child))) return;
        } else {
            if (slots) stack.push(node, slots);
            node = child;
            slots = bvh_ray_slots(bvh.nodes[node], ray, farthest);
            bvh_prefetch(bvh, bvh.nodes[node], slots);
            slots = bvh_octant_order(slots, ray.octant);
        }
    }
}

// ---- distances ---------------------------------------------------------------------------------------------------

// Squares of distances from a point to the children's boxes, rounded down by more than what the caller may compute
// of anything inside.
struct NearFirst {
    vec3 point;

    SIM_INLINE Eight operator()(const BvhNode& node) const {
        const Eight slack(bvh_slack(node, point)), zero(real(0));
        Eight square(real(0));
        BVH_AXES
        for (int a = 0; a < 3; ++a) {
            const real origin = node.origin[a] - point[a], step = bvh_step(node.exponent[a]);
            const Eight below = bvh_planes(node.lower[a], step, origin),
                        above = bvh_planes(node.upper[a], step, origin);
            const Eight apart = maximum(zero, maximum(below, zero - above) - slack);
            square = square + apart * apart;
        }
        return square * Eight(real(1) - real(8) * REAL_EPSILON);
    }
};

// Minus the squares of distances to the farthest corners, rounded likewise.
struct FarFirst {
    vec3 point;

    SIM_INLINE Eight operator()(const BvhNode& node) const {
        const Eight slack(bvh_slack(node, point)), zero(real(0));
        Eight square(real(0));
        BVH_AXES
        for (int a = 0; a < 3; ++a) {
            const real origin = node.origin[a] - point[a], step = bvh_step(node.exponent[a]);
            const Eight below = bvh_planes(node.lower[a], step, origin),
                        above = bvh_planes(node.upper[a], step, origin);
            const Eight apart = maximum(zero - below, above) + slack;
            square = square + apart * apart;
        }
        return zero - square * Eight(real(1) + real(8) * REAL_EPSILON);
    }
};

// Calls leaf(first, number) for leaves whose boxes have keys up to `bound`, the least of a node first. The leaf may
// lower `bound` (what lies exactly there is still visited).
template <class Key, class Leaf>
SIM_INLINE void bvh_visit_ordered(const BvhView& bvh, int root, Key key, const real& bound, Leaf leaf) {
    if (root < 0) return;
    BvhStack stack;
    int node = root;
    unsigned slots = bvh_slots(bvh.nodes[root]);
    bool more = true;
    while (more) {
        const Eight keys = key(bvh.nodes[node]);
        slots &= not_above(keys, Eight(bound));
        bvh_prefetch(bvh, bvh.nodes[node], slots);
        int inner = -1;
        while (slots && inner < 0) {
            int first = lowest_bit(slots);
            real least = keys[first];
            for (unsigned rest = slots & (slots - 1); rest; rest &= rest - 1) {
                const int c = lowest_bit(rest);
                const bool less = keys[c] < least;
                first = less ? c : first;
                least = less ? keys[c] : least;
            }
            if (!(least <= bound)) {
                slots = 0;
                break;
            }
            slots &= ~(1u << first);
            const int child = bvh.nodes[node].child[first];
            if (child < 0)
                leaf(bvh_leaf_first(child), bvh_leaf_count(child));
            else
                inner = child;
        }
        if (inner >= 0) {
            if (slots) stack.push(node, slots);
            node = inner;
            slots = bvh_slots(bvh.nodes[node]);
        } else {
            more = stack.pop(node, slots);
        }
    }
}

// Leaves within the square distance `bound` of the point, nearest boxes first.
template <class Leaf>
SIM_INLINE void bvh_visit_near(const BvhView& bvh, int root, vec3 point, const real& bound, Leaf leaf) {
    bvh_visit_ordered(bvh, root, NearFirst{point}, bound, leaf);
}
