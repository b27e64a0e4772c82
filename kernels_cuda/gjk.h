// The distance of two convex cores: Gilbert, Johnson and Keerthi 1988, on the Minkowski difference.
#pragma once

#include "simplex.h"
#include "support.h"

// Where the bound from below and the distance are this near (in the pair's units) the search ends.
#ifdef SIM_DOUBLE
constexpr real GJK_TOLERANCE = 1e-13;
#else
constexpr real GJK_TOLERANCE = 1e-6f;
#endif
// Cores nearer than this may as well touch.
constexpr real TOUCHING = 32 * REAL_EPSILON;
constexpr int GJK_ITERATIONS = 128;
// Steps that bring the simplex no nearer in its last digits may still turn the direction the right way.
constexpr int GJK_IDLE_STEPS = 6;

struct GjkResult {
    DifferencePoint corner[4];  // of the last simplex
    int count;
    vec3 v;         // point of the difference nearest to the origin: from the second core to the first
    vec3 a, b;      // the nearest points of the cores, the second one's with its shift: a - b is v but for round-off
    real distance;
    vec3 normal;    // of the directions that were tried the one along which the gap is largest, unit
    real bound;     // that gap
    bool overlap;   // the cores overlap, or are as good as touching
};

// The simplex with a further corner, less those that take no part in its nearest point.
SIM_FUNCTION void take_corner(GjkResult& r, const DifferencePoint& next, const NearestOfSimplex& nearest) {
    r.corner[r.count] = next;
    int kept = 0;
    r.a = r.b = zero_vec3();
    const int corners = r.count + 1;
    for (int i = 0; i < corners; ++i) {
        if (!nearest.inside && !(nearest.weight[i] > 0)) continue;
        r.a = multiply_add(nearest.weight[i], r.corner[i].a, r.a);
        r.b = multiply_add(nearest.weight[i], r.corner[i].a - r.corner[i].w, r.b);
        if (kept < i) r.corner[kept] = r.corner[i];
        ++kept;
    }
    r.count = kept;
    r.v = nearest.point;
    r.distance = square_root(nearest.squared);
    r.overlap = nearest.inside || r.distance <= TOUCHING;
}

// Looks at the difference with the second core moved by `shift`, from the direction `start` (from the first to the
// second). Ends early where a direction parts the cores by `far`: then `bound` is at least that.
SIM_FUNCTION GjkResult gjk(const ConvexPair& pair, vec3 shift, vec3 start, real far) {
    GjkResult r;
    r.corner[0] = difference_support(pair, shift, start);
    r.count = 1;
    r.v = r.corner[0].w;
    r.a = r.corner[0].a;
    r.b = r.a - r.v;
    r.distance = length(r.v);
    r.normal = start;
    r.bound = -REAL_INFINITY;
    r.overlap = r.distance <= TOUCHING;
    int idle = 0;
    SIM_ROLLED
    for (int iteration = 0; iteration < GJK_ITERATIONS && !r.overlap; ++iteration) {
        const vec3 n = -reciprocal(r.distance) * r.v;
        const DifferencePoint next = difference_support(pair, shift, n);
        const real gap = -dot(n, next.w);
        if (gap > r.bound) r.bound = gap, r.normal = n;
        if (gap >= far || r.distance - gap <= GJK_TOLERANCE) break;
        vec3 w[4];
        bool known = false;
        for (int i = 0; i < r.count; ++i) {
            w[i] = r.corner[i].w;
            known = known || (w[i].x == next.w.x && w[i].y == next.w.y && w[i].z == next.w.z);
        }
        if (known) break;
        w[r.count] = next.w;
        const NearestOfSimplex nearest = nearest_of_simplex(w, r.count + 1);
        const real before = r.distance * r.distance;
        if (!(nearest.squared < before)) {
            if (!(nearest.squared <= (1 + 8 * REAL_EPSILON) * before) || ++idle > GJK_IDLE_STEPS) break;
        }
        take_corner(r, next, nearest);
    }
    return r;
}
