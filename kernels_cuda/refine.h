// The direction and the nearest points of two cores of which one is curved, by Newton's method on the gap.
//
// Of the gap g(n) = -h(n), h the support function of the difference A - B, the gradient across n is -w, the support
// point's part across n. At the largest gap some mean of the support points of directions close by has none: sampled on
// a ring of radius e about n these are those of faces, edges and curved parts alike (Burke, Lewis and Overton 2005),
// and the points of the cores that they come from, averaged alike, are opposite to each other. Along a part of
// curvature radius R they lie R e^2 / 2 below the surface.
#pragma once

#include "simplex.h"
#include "support.h"

constexpr int RING = 8, REFINE_ITERATIONS = 12;
#ifdef SIM_DOUBLE
constexpr real RING_RADIUS = 1e-5, OPPOSITE = 1e-9, AS_LARGE = 1e-8;
constexpr int CLIMB_HALVINGS = 24;
#else
constexpr real RING_RADIUS = 2e-3f, OPPOSITE = 1e-5f, AS_LARGE = 1e-6f;
constexpr int CLIMB_HALVINGS = 10;
#endif
constexpr real LONGEST_TURN = real(0.02);

// Points of the two cores, the second where it stands.
struct NearestPoints {
    vec3 a, b;
};

// What the ring about a direction tells.
struct RingSample {
    vec3 residual;         // the least mean of the parts across, in the frame (u, v)
    real uu, uv, vv;       // their slope
    NearestPoints points;  // averaged alike
};

// The point nearest to the origin of the hull of a ring's points and its middle: a mean of three of them.
struct LeastMean {
    vec3 point;
    int corner[3];
    real weight[3];
};

// From the middle on, the corner furthest towards the origin takes the place of one of the three.
SIM_FUNCTION LeastMean least_mean(const vec3* w) {
    LeastMean m = {w[RING], {RING, RING, RING}, {1, 0, 0}};
    for (int step = 0; step < RING; ++step) {
        int next = 0;
        for (int i = 1; i <= RING; ++i)
            if (dot(m.point, w[i]) < dot(m.point, w[next])) next = i;
        const LeastMean before = m;
        real squared = dot(m.point, m.point);
        for (int k = 0; k < 3; ++k) {
            LeastMean other = before;
            other.corner[k] = next;
            const vec3 corner[3] = {w[other.corner[0]], w[other.corner[1]], w[other.corner[2]]};
            const NearestOfSimplex nearest = nearest_of_triangle(corner, 0, 1, 2);
            if (!(nearest.squared < squared)) continue;
            squared = nearest.squared;
            other.point = nearest.point;
            for (int i = 0; i < 3; ++i) other.weight[i] = nearest.weight[i];
            m = other;
        }
        if (!(squared < dot(before.point, before.point))) break;
    }
    return m;
}

SIM_FUNCTION RingSample sample_ring(const ConvexPair& pair, vec3 n, vec3 u, vec3 v) {
    const real diagonal = real(0.70710678118654752440);
    DifferencePoint p[RING + 1];
    vec3 w[RING + 1];
    for (int i = 0; i <= RING; ++i) {
        const int k = i & 3;
        const real side = i < 4 ? RING_RADIUS : -RING_RADIUS;
        const real along_u = k == 0 ? side : k == 2 ? real(0) : k == 1 ? diagonal * side : -diagonal * side;
        const real along_v = k == 0 ? real(0) : k == 2 ? side : diagonal * side;
        const vec3 way = i == RING ? n : multiply_add(along_u, u, multiply_add(along_v, v, n));
        p[i] = difference_support(pair, zero_vec3(), way);
        w[i] = {dot(p[i].w, u), dot(p[i].w, v), 0};
    }
    const LeastMean least = least_mean(w);
    RingSample s = {least.point, 0, 0, 0, {zero_vec3(), zero_vec3()}};
    for (int i = 0; i < 3; ++i) {
        const DifferencePoint& corner = p[least.corner[i]];
        s.points.a = multiply_add(least.weight[i], corner.a, s.points.a);
        s.points.b = multiply_add(least.weight[i], corner.a - corner.w, s.points.b);
    }
    const real scale = reciprocal(2 * RING_RADIUS);
    s.uu = scale * (w[0].x - w[4].x);
    s.vv = scale * (w[2].y - w[6].y);
    s.uv = real(0.5) * scale * ((w[2].x - w[6].x) + (w[0].y - w[4].y));
    return s;
}

// A direction with the gap along it.
struct GapAlong {
    vec3 normal;
    real gap;
};

// From n towards n + turn, to where the gap grows no more: at once, or halving the way, since at a kink, which the ring
// may not have met, it falls behind it.
SIM_FUNCTION GapAlong climb(const ConvexPair& pair, vec3 n, vec3 turn) {
    real low = 0, high = 1, t = 1;
    SIM_ROLLED
    for (int i = 0;; ++i) {
        const vec3 next = normalize(multiply_add(t, turn, n));
        const vec3 w = difference_support(pair, zero_vec3(), next).w;
        const real gap = -dot(next, w), slope = -(dot(w, turn) + gap * dot(next, turn));
        if (i == CLIMB_HALVINGS || (i == 0 && slope >= 0)) return {next, gap};
        if (slope >= 0)
            low = t;
        else
            high = t;
        t = i + 1 == CLIMB_HALVINGS ? low : real(0.5) * (low + high);
    }
}

// Newton's turn; up the gradient where that leads to no maximum. The part across turns with the direction too, by the
// gap.
SIM_FUNCTION vec3 turn_of(const RingSample& s, real gap, bool newton, vec3 u, vec3 v) {
    const real a = s.uu + gap, c = s.vv + gap, determinant = multiply_add(a, c, -(s.uv * s.uv));
    const bool peak = newton && a > 0 && determinant > 0;
    const real scale = peak ? -reciprocal(determinant) : -REAL_MAX;
    const real turn_u = peak ? multiply_add(c, s.residual.x, -(s.uv * s.residual.y)) : s.residual.x;
    const real turn_v = peak ? multiply_add(a, s.residual.y, -(s.uv * s.residual.x)) : s.residual.y;
    const real size = square_root(multiply_add(turn_u, turn_u, turn_v * turn_v));
    const real length = -minimum(-scale * size, LONGEST_TURN) * reciprocal(size);
    return length * multiply_add(turn_u, u, turn_v * v);
}

// Turns to a direction of a larger gap; false: it is the largest.
SIM_FUNCTION bool turn_up(const ConvexPair& pair, const RingSample& s, vec3 u, vec3 v, GapAlong& at) {
    GapAlong next = climb(pair, at.normal, turn_of(s, at.gap, true, u, v));
    if (!(next.gap > at.gap)) {
        const GapAlong steepest = climb(pair, at.normal, turn_of(s, at.gap, false, u, v));
        if (steepest.gap > next.gap) next = steepest;
    }
    if (!(next.gap >= at.gap - 8 * REAL_EPSILON)) return false;
    at = next;
    return true;
}

// Betters a direction near the one of the largest gap, and takes the points there if they are more nearly opposite.
// Where the difference is nearly a sphere about the origin the gap has a ridge, along which it may still rise when the
// rounds run out: then the direction is taken whose points are most nearly opposite, if no gap is larger by AS_LARGE.
SIM_STAGE void refine(const ConvexPair& pair, real& gap, vec3& normal, NearestPoints& points) {
    const auto off_line = [](const NearestPoints& p, const GapAlong& along) {
        const vec3 off = p.b - p.a - along.gap * along.normal;
        return dot(off, off);
    };
    GapAlong now = {normal, gap};
    NearestPoints near = points;
    const auto take = [&] { gap = now.gap, normal = now.normal, points = near; };
    SIM_ROLLED
    for (int i = 0; i < REFINE_ITERATIONS; ++i) {
        if (!(off_line(near, now) > OPPOSITE * OPPOSITE)) return take();
        const vec3 axis = absolute(now.normal.x) < real(0.6) ? vec3{1, 0, 0} : vec3{0, 1, 0};
        const vec3 u = normalize(cross(now.normal, axis)), v = cross(now.normal, u);
        const RingSample s = sample_ring(pair, now.normal, u, v);
        if (off_line(s.points, now) <= off_line(near, now)) near = s.points;
        if (now.gap - gap > AS_LARGE || off_line(near, now) <= off_line(points, {normal, gap})) take();
        const bool is_level = !(dot(s.residual, s.residual) > real(0.01) * OPPOSITE * OPPOSITE);
        if (is_level || !turn_up(pair, s, u, v, now)) return take();
    }
    if (now.gap - gap > AS_LARGE) take();
}
