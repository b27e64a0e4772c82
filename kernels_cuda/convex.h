// The signed distance of two convex bodies, its direction and the points between which it lies.
//
// Signed distance is the largest gap over all directions n, min over b of n . x - max over a of n . x: for bodies apart
// their distance, for bodies that overlap minus the least translation that parts them.
#pragma once

#include "epa.h"
#include "refine.h"

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

SIM_INLINE NearestPoints points_of(const GjkResult& r, vec3 shift) { return {r.a, r.b - shift}; }

// Betters a direction whose gap is nearly the largest: the second core is moved along it until it is LIFT away from the
// first, and the direction between the nearest points there is the next one. Where the gap is `gap`, deeper (-gap) by
// less than the difference's radius of curvature R, each round leaves (LIFT - gap) / (LIFT + R) of the error; faces are
// met at once. A direction is taken only if its gap is larger. `points`: those that were nearest last.
SIM_FUNCTION void polish(const ConvexPair& pair, real& gap, vec3& normal, NearestPoints& points) {
    SIM_ROLLED
    for (int i = 0; i < POLISH_ITERATIONS; ++i) {
        const vec3 shift = maximum(LIFT - gap, real(0)) * normal;
        const GjkResult r = gjk(pair, shift, normal, REAL_INFINITY);
        if (r.overlap) return;
        points = points_of(r, shift);
        const vec3 before = normal, change = r.normal - before;
        const real next_gap = core_gap(pair, r.normal);
        if (!(next_gap > gap)) return;
        gap = next_gap;
        normal = r.normal;
        if (!(dot(change, change) > 64 * REAL_EPSILON * REAL_EPSILON)) return;
        if (is_curved(pair.a) || is_curved(pair.b)) overshoot(pair, before, gap, normal);
    }
}

// The result for cores `gap` apart along `normal`. What the nearest points differ by from that is shared out: each
// moves by half of it.
SIM_FUNCTION ConvexDistance between_points(const ConvexPair& pair, real gap, vec3 normal, const NearestPoints& points) {
    const vec3 middle = real(0.5) * (points.a + points.b);
    const vec3 point = multiply_add(real(-0.5) * gap, normal, middle);
    return {gap - pair.a.radius - pair.b.radius, normal, multiply_add(pair.a.radius, normal, point), false};
}

// The shortest way out of an overlap, or of a touch; `gap` and `normal`: the best known so far.
SIM_FUNCTION ConvexDistance leave_overlap(const ConvexPair& pair, const GjkResult& near, real gap, vec3 normal) {
    const Exit exit = least_exit(pair, zero_vec3(), near);
    const Exit known = {normal, -gap};
    NearestPoints points = points_of(near, zero_vec3());
    normal = exit.normal;
    gap = -exit.depth;
    polish(pair, gap, normal, points);
    if (is_curved(pair.a) || is_curved(pair.b)) {
        const Exit along_axis = least_exit_by_axis(pair, zero_vec3());
        for (int i = 0; i < 2; ++i) {
            const Exit& other = i == 0 ? along_axis : known;
            if (!(-other.depth > gap)) continue;
            normal = other.normal;
            gap = -other.depth;
            polish(pair, gap, normal, points);
        }
        refine(pair, gap, normal, points);
    }
    return between_points(pair, gap, normal, points);
}

// Cores that touch, or of which the search ended early: what gjk() found is bettered.
SIM_FUNCTION ConvexDistance better_distance(const ConvexPair& pair, GjkResult near, bool ended_early) {
    real gap = near.bound;
    vec3 normal = near.normal;
    NearestPoints points = points_of(near, zero_vec3());
    const bool curved = is_curved(pair.a) || is_curved(pair.b);
    polish(pair, gap, normal, points);
    if (curved) refine(pair, gap, normal, points);
    real distance = minimum(near.distance, length(points.b - points.a));
    if (!ended_early || !(distance - gap > STUCK)) return between_points(pair, distance, normal, points);
    const GjkResult again = gjk(pair, zero_vec3(), normal, REAL_INFINITY);
    if (again.overlap || again.distance < distance) near = again;
    distance = minimum(near.distance, distance);
    // they may as well overlap
    if (near.overlap || gap < CLOSE) return leave_overlap(pair, near, gap, normal);
    // the truth lies between the distance of two points and the gap along a direction
    if (distance - gap > STUCK) distance = real(0.5) * (distance + gap);
    return between_points(pair, distance, normal, points);
}

// `far` in the pair's units.
SIM_STAGE ConvexDistance convex_distance(const ConvexPair& pair, real far) {
    const real radii = pair.a.radius + pair.b.radius;
    const vec3 start = normalize(pair.offset, vec3{1, 0, 0});
    const GjkResult near = gjk(pair, zero_vec3(), start, far + radii);
    if (near.bound >= far + radii) return {near.bound - radii, start, zero_vec3(), true};
    if (near.overlap) return leave_overlap(pair, near, near.bound, near.normal);
    const bool curved = is_curved(pair.a) || is_curved(pair.b);
    const bool ended_early = curved && near.distance - near.bound > 16 * GJK_TOLERANCE;
    if (near.distance < CLOSE || ended_early) return better_distance(pair, near, ended_early);
    // along it the nearest points are on both bodies
    const vec3 between = -reciprocal(near.distance) * near.v;
    if (near.bound - core_gap(pair, between) < STUCK)
        return between_points(pair, near.distance, between, points_of(near, zero_vec3()));
    if (curved) return better_distance(pair, near, false);
    return between_points(pair, near.distance, near.normal, points_of(near, zero_vec3()));
}
