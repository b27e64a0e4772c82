// Queries of trees over boxes. Lists are made in two launches: the first, without `out`, writes `counts`; the second is
// given where each list begins, and sorts it by index.
#include "bvh_morton.h"
#include "bvh_query.h"
#include "sort.h"

SIM_INLINE int tree_root(const BvhView& bvh, const int* tree, int64 i) { return bvh.roots[tree ? tree[i] : 0]; }

SIM_INLINE IndexRow begin_row(int* out, const int64* offsets, int64 i) { return {out ? out + offsets[i] : nullptr, 0}; }

SIM_INLINE void finish_row(const IndexRow& row, int* counts, int64 i) {
    if (row.out)
        sort_row(row.out, row.count);
    else
        counts[i] = int(row.count);
}

// Numbers by which queries are put in order: worked in it, those that follow one another touch the same nodes.

// The grid of a node's planes, as extents.
SIM_INLINE void node_extents(const BvhNode& node, real* extents /* 6 */) {
    for (int a = 0; a < 3; ++a) {
        extents[a] = node.origin[a];
        extents[3 + a] = multiply_add(real(255), bvh_step(node.exponent[a]), node.origin[a]);
    }
}

// Places of points along a Morton curve through the tree.
extern "C" __global__ void bvh_query_keys(int n, const unsigned char* nodes, const int* roots,
                                          const real* point /* (n, 3) */, int bits, uint32* keys /* (n) */) {
    const BvhNode& root = ((const BvhNode*)(const unsigned char*)nodes)[roots[0]];
    real extents[6];
    node_extents(root, extents);
    for_each(i, n) keys[i] = uint32(morton_code(load_vec3(point + 3LL * i), extents, bits));
}

extern "C" __global__ void bvh_query_box(int n, const unsigned char* nodes, const int* roots, const int* primitives,
                                         const real* packed, const int* tree /* (n) optional */,
                                         const real* lower /* (n, 3) */, const real* upper /* (n, 3) */,
                                         const int64* offsets /* optional */, int* counts /* (n) */,
                                         int* out /* optional */) {
    const BvhView bvh(nodes, roots, primitives, packed, 6);
    for_each(i, n) {
        const vec3 low = load_vec3(lower + 3LL * i), high = load_vec3(upper + 3LL * i);
        IndexRow row = begin_row(out, offsets, i);
        bvh_visit_box(bvh, tree_root(bvh, tree, i), low, high, [&](int first, int number) {
            for (int k = first; k < first + number; ++k)
                if (boxes_meet(bvh.packed + 6 * k, low, high)) row.add(bvh.primitive[k]);
        });
        finish_row(row, counts, i);
    }
}

extern "C" __global__ void bvh_query_sphere(int n, const unsigned char* nodes, const int* roots, const int* primitives,
                                            const real* packed, const int* tree /* (n) optional */,
                                            const real* center /* (n, 3) */, const real* radius /* (n) */,
                                            const int64* offsets /* optional */, int* counts /* (n) */,
                                            int* out /* optional */) {
    const BvhView bvh(nodes, roots, primitives, packed, 6);
    for_each(i, n) {
        const vec3 point = load_vec3(center + 3LL * i);
        const real bound = radius[i] * radius[i];
        IndexRow row = begin_row(out, offsets, i);
        bvh_visit_near(bvh, tree_root(bvh, tree, i), point, bound, [&](const BvhLeaf& leaf) {
            for (int k = leaf.first; k < leaf.first + leaf.number; ++k)
                if (box_distance_squared(bvh.packed + 6 * k, point) <= bound) row.add(bvh.primitive[k]);
        });
        finish_row(row, counts, i);
    }
}

extern "C" __global__ void bvh_query_ray(int n, const unsigned char* nodes, const int* roots, const int* primitives,
                                         const real* packed, const int* tree /* (n) optional */,
                                         const real* origin /* (n, 3) */, const real* direction /* (n, 3) */,
                                         const real* max_distance /* (n) */, const int64* offsets /* optional */,
                                         int* counts /* (n) */, int* out /* optional */) {
    const BvhView bvh(nodes, roots, primitives, packed, 6);
    for_each(i, n) {
        const ScaledRay ray(load_vec3(origin + 3LL * i), load_vec3(direction + 3LL * i));
        const real farthest = minimum(max_distance[i] * reciprocal(ray.scale), REAL_MAX);
        IndexRow row = begin_row(out, offsets, i);
        if (ray.valid)
            bvh_visit_ray(bvh, tree_root(bvh, tree, i), BvhRay(ray.origin, ray.direction), farthest,
                          [&](int first, int number) {
                              real enter;
                              for (int k = first; k < first + number; ++k)
                                  if (ray_meets_box(ray, bvh.packed + 6 * k, farthest, enter))
                                      row.add(bvh.primitive[k]);
                              return false;
                          });
        finish_row(row, counts, i);
    }
}

// The box that a ray enters first (of equal ones that with the least index), or -1; with `any` set any box that it
// meets, as 0.
extern "C" __global__ void bvh_ray_first(int n, const unsigned char* nodes, const int* roots, const int* primitives,
                                         const real* packed, const int* tree /* (n) optional */,
                                         const real* origin /* (n, 3) */, const real* direction /* (n, 3) */,
                                         const real* max_distance /* (n) */, int any, int* index /* (n) */,
                                         real* distance /* (n) nonfinite */) {
    const BvhView bvh(nodes, roots, primitives, packed, 6);
    for_each(i, n) {
        const ScaledRay ray(load_vec3(origin + 3LL * i), load_vec3(direction + 3LL * i));
        real farthest = minimum(max_distance[i] * reciprocal(ray.scale), REAL_MAX);
        int best = -1;
        if (ray.valid)
            bvh_visit_ray(bvh, tree_root(bvh, tree, i), BvhRay(ray.origin, ray.direction), farthest,
                          [&](int first, int number) {
                              for (int k = first; k < first + number; ++k) {
                                  real enter;
                                  const int found = bvh.primitive[k];
                                  if (!ray_meets_box(ray, bvh.packed + 6 * k, farthest, enter)) continue;
                                  if (best >= 0 && enter == farthest && found > best) continue;
                                  best = found;
                                  farthest = enter;
                                  if (any) return true;
                              }
                              return false;
                          });
        index[i] = best < 0 ? -1 : any ? 0 : best;
        distance[i] = best < 0 || any ? REAL_INFINITY : farthest * ray.scale;
    }
}

// The k boxes nearest to a point by (distance, index), in that order; -1 and infinity where there are fewer.
extern "C" __global__ void bvh_nearest(int n, const unsigned char* nodes, const int* roots, const int* primitives,
                                       const real* packed, const int* tree /* (n) optional */, int k,
                                       const real* point /* (n, 3) */, const real* max_distance /* (n) */,
                                       const int* turn /* (n) optional */, int* index /* (n, k) */,
                                       real* distance /* (n, k) nonfinite */) {
    const BvhView bvh(nodes, roots, primitives, packed, 6);
    for_each(item, n) {
        const int i = turn ? turn[item] : int(item);
        const vec3 p = load_vec3(point + 3LL * i);
        int* best = index + int64(i) * k;
        real* square = distance + int64(i) * k;
        const real limit = minimum(max_distance[i] * max_distance[i], REAL_MAX);
        real bound = limit;
        int count = 0;
        bvh_visit_near(bvh, tree_root(bvh, tree, i), p, bound, [&](const BvhLeaf& leaf) {
            for (int place = leaf.first; place < leaf.first + leaf.number; ++place) {
                const real d = box_distance_squared(bvh.packed + 6 * place, p);
                const int found = bvh.primitive[place];
                if (!(d <= limit)) continue;
                if (count == k && (d > square[k - 1] || (d == square[k - 1] && found > best[k - 1]))) continue;
                int slot = count < k ? count++ : k - 1;
                for (; slot > 0 && (square[slot - 1] > d || (square[slot - 1] == d && best[slot - 1] > found));
                     --slot) {
                    square[slot] = square[slot - 1];
                    best[slot] = best[slot - 1];
                }
                square[slot] = d;
                best[slot] = found;
                if (count == k) bound = square[k - 1];
            }
        });
        for (int slot = 0; slot < k; ++slot) {
            if (slot >= count) best[slot] = -1;
            square[slot] = slot < count ? square_root(square[slot]) : REAL_INFINITY;
        }
    }
}
