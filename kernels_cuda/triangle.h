// The point of a triangle that is nearest to a point.
#pragma once

#include "vector.h"

// Part of a triangle that a closest point lies on: the face, an edge or a corner.
enum TrianglePart { ON_FACE, ON_AB, ON_BC, ON_CA, ON_A, ON_B, ON_C };

struct ClosestHit {
    real square, u, v;  // of the distance; the point is a + u (b - a) + v (c - a)
    int part;
};

// On the edge from the corner p along e, where the triangle's coordinates are (u, v), on to (u + du, v + dv). `along`
// is -p.e and `inverse` 1 / e.e.
SIM_INLINE void try_edge(vec3 p, vec3 e, real along, real inverse, int edge, int first, int last, real u, real v,
                         real du, real dv, ClosestHit& best) {
    const real s = saturate(along * inverse);
    const vec3 q = multiply_add(s, e, p);
    const real square = dot(q, q);
    if (!(square < best.square)) return;
    best = {square, multiply_add(s, du, u), multiply_add(s, dv, v), s <= real(0) ? first : s >= real(1) ? last : edge};
}

// A triangle, and what its tests against all points have in common: 20 numbers.
struct alignas(16) PreparedTriangle {
    vec3 a, b, ab, ac;
    real ab_ab, ab_ac, ac_ac, area;  // the square of twice the area
    real inverse_ab, inverse_ac, inverse_bc, inverse_area;

    SIM_INLINE PreparedTriangle(vec3 corner_a, vec3 corner_b, vec3 corner_c)
        : a(corner_a), b(corner_b), ab(corner_b - corner_a), ac(corner_c - corner_a) {
        ab_ab = dot(ab, ab), ab_ac = dot(ab, ac), ac_ac = dot(ac, ac);
        area = multiply_add(ab_ab, ac_ac, -(ab_ac * ab_ac));
        const vec3 bc = ac - ab;
        inverse_ab = reciprocal(ab_ab), inverse_ac = reciprocal(ac_ac), inverse_bc = reciprocal(dot(bc, bc));
        inverse_area = reciprocal(area);
    }

    // The nearest of the three edges, or the projection of the point where it falls inside (Ericson 2005, 5.1.5) and is
    // nearer. Written without branches: the lanes of a GPU test a triangle side by side.
    SIM_INLINE ClosestHit closest(vec3 point) const {
        const vec3 to_a = a - point, to_b = b - point, bc = ac - ab;
        const real p_ab = -dot(to_a, ab), p_ac = -dot(to_a, ac), p_bc = -dot(to_b, bc);
        ClosestHit best = {REAL_INFINITY, real(0), real(0), ON_FACE};
        try_edge(to_a, ab, p_ab, inverse_ab, ON_AB, ON_A, ON_B, real(0), real(0), real(1), real(0), best);
        try_edge(to_b, bc, p_bc, inverse_bc, ON_BC, ON_B, ON_C, real(1), real(0), real(-1), real(1), best);
        try_edge(to_a, ac, p_ac, inverse_ac, ON_CA, ON_A, ON_C, real(0), real(0), real(0), real(1), best);
        const real weight_b = multiply_add(ac_ac, p_ab, -(ab_ac * p_ac)),
                   weight_c = multiply_add(ab_ab, p_ac, -(ab_ac * p_ab));
        const real u = weight_b * inverse_area, v = weight_c * inverse_area;
        const vec3 q = multiply_add(v, ac, multiply_add(u, ab, to_a));
        const real square = dot(q, q);
        const bool inside = weight_b > real(0) && weight_c > real(0) && weight_b + weight_c < area;
        if (inside && square < best.square) best = {square, u, v, ON_FACE};
        return best;
    }

    SIM_INLINE vec3 at(const ClosestHit& hit) const { return multiply_add(hit.v, ac, multiply_add(hit.u, ab, a)); }
};
