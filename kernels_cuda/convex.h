// The signed distance of two convex bodies, its direction and the points between which it lies.
//
// Signed distance is the largest gap over all directions n, min over b of n . x - max over a of n . x: for bodies apart
// their distance, for bodies that overlap minus the least translation that parts them.
#pragma once

#include "epa.h"

// In the pair's frame and units; `point` on the first body, the one on the second is point + distance normal.
struct ConvexDistance {
    real distance;
    vec3 normal;  // from the first body to the second, unit
    vec3 point;
    bool far;     // apart by at least what was asked for: nothing else is known
};

// Gap of the cores along a unit direction.
SIM_FUNCTION real core_gap(const ConvexPair& pair, vec3 n) {
    return -dot(n, difference_support(pair, zero_vec3(), n).w);
}

// How far a second core is lifted off the first to measure from there.
#ifdef SIM_DOUBLE
constexpr real LIFT = 1e-2;
#else
constexpr real LIFT = 0.02f;
#endif
constexpr int POLISH_ITERATIONS = 24;

// Below the distance CLOSE a direction between the nearest points has lost digits that one from a lifted core has.
// Where a search between curved cores ended STUCK above the best gap, the gap is nearer the truth.
#ifdef SIM_DOUBLE
constexpr real CLOSE = 1e-6, STUCK = 1e-8;
#else
constexpr real CLOSE = 3e-3f, STUCK = 1e-5f;
#endif

// Takes a direction further the way it went, twice as far each time, as long as the gap grows: where the difference is
// nearly a sphere about the origin, single rounds of polish() go short steps.
SIM_FUNCTION void overshoot(const ConvexPair& pair, vec3 before, real& gap, vec3& normal) {
    const vec3 step = normal - before;
    SIM_ROLLED
    for (real factor = 1; factor < 1000; factor *= 2) {
        const vec3 further = normalize(multiply_add(factor, step, normal));
        const real further_gap = core_gap(pair, further);
        if (!(further_gap > gap)) return;
        gap = further_gap;
        normal = further;
    }
}

// Betters a direction whose gap is nearly the largest: the second core is moved along it until it is LIFT away from the
// first, and the direction between the nearest points there is the next one. Where the gap is `gap`, deeper (-gap) by
// less than the difference's radius of curvature R, each round leaves (LIFT - gap) / (LIFT + R) of the error; faces are
// met at once. A direction is taken only if its gap is larger. `point`: on the first core, for that direction.
SIM_FUNCTION void polish(const ConvexPair& pair, real& gap, vec3& normal, vec3& point) {
    SIM_ROLLED
    for (int i = 0; i < POLISH_ITERATIONS; ++i) {
        const GjkResult r = gjk(pair, (LIFT - gap) * normal, normal, REAL_INFINITY);
        if (r.overlap) return;
        const vec3 before = normal, change = r.normal - before;
        const real next_gap = core_gap(pair, r.normal);
        if (i == 0 || next_gap >= gap) point = r.a;
        if (!(next_gap > gap)) return;
        gap = next_gap;
        normal = r.normal;
        if (!(dot(change, change) > 64 * REAL_EPSILON * REAL_EPSILON)) return;
        if (is_curved(pair.a) || is_curved(pair.b)) overshoot(pair, before, gap, normal);
    }
}

// The shortest way out of an overlap, or of a touch; `gap` and `normal`: the best known so far.
SIM_FUNCTION void leave_overlap(const ConvexPair& pair, const GjkResult& near, real& gap, vec3& normal, vec3& point) {
    const Exit exit = least_exit(pair, zero_vec3(), near);
    const Exit known = {normal, -gap};
    normal = exit.normal;
    gap = -exit.depth;
    polish(pair, gap, normal, point);
    if (!is_curved(pair.a) && !is_curved(pair.b)) return;
    const Exit along_axis = least_exit_by_axis(pair, zero_vec3());
    for (int i = 0; i < 2; ++i) {
        const Exit& other = i == 0 ? along_axis : known;
        if (!(-other.depth > gap)) continue;
        normal = other.normal;
        gap = -other.depth;
        polish(pair, gap, normal, point);
    }
}

// `far` in the pair's units.
SIM_STAGE ConvexDistance convex_distance(const ConvexPair& pair, real far) {
    const real radii = pair.a.radius + pair.b.radius;
    const vec3 start = normalize(pair.offset, vec3{1, 0, 0});
    GjkResult near = gjk(pair, zero_vec3(), start, far + radii);
    if (near.bound >= far + radii) return {near.bound - radii, start, zero_vec3(), true};
    real gap = near.bound;
    vec3 normal = near.normal, point = near.a;
    if (near.overlap) {
        leave_overlap(pair, near, gap, normal, point);
        return {gap - radii, normal, multiply_add(pair.a.radius, normal, point), false};
    }
    const bool curved = is_curved(pair.a) || is_curved(pair.b);
    const bool ended_early = curved && near.distance - near.bound > 16 * GJK_TOLERANCE;
    if (near.distance < CLOSE || ended_early) polish(pair, gap, normal, point);
    real distance = near.distance;
    if (ended_early && distance - gap > STUCK) {
        const GjkResult again = gjk(pair, zero_vec3(), normal, REAL_INFINITY);
        if (again.overlap || again.distance < distance) near = again;
        distance = near.distance;
        if (near.overlap || gap < CLOSE) {  // they may as well overlap
            leave_overlap(pair, near, gap, normal, point);
            return {gap - radii, normal, multiply_add(pair.a.radius, normal, point), false};
        }
        // the truth lies between the distance of two points and the gap along a direction
        if (distance - gap > STUCK) distance = real(0.5) * (distance + gap);
    }
    if (distance == near.distance && distance >= CLOSE) {
        // along it the nearest points are on both bodies
        const vec3 between = -reciprocal(distance) * near.v;
        if (gap - core_gap(pair, between) < STUCK) normal = between;
    }
    return {distance - radii, normal, multiply_add(pair.a.radius, normal, near.a), false};
}
