// The cost of one contact as a function of its residual x = J a - reference: forces, curvature, line derivatives.
//
// Elliptic: with slip = F |x_t|, R_n = 1/D_n and R_t = 1/D_t the cost is
//   0                                          free:  x_n >= slip
//   (D_n x_n^2 + D_t |x_t|^2) / 2              stick: F^2 D_n x_n + D_t slip <= 0
//   k (x_n - slip)^2 / 2, k = 1/(R_n + F^2 R_t)  slip: between the two
// whose negative gradient is the force in the cone |f_t| <= F f_n nearest to -D x in the metric R. Pyramidal: four
// edges x_n +- F x_1, x_n +- F x_2, each with the one-sided cost D_n min(x, 0)^2 / 2. MuJoCo's documentation,
// "Computation", sections on the constraint model and on friction cones.
#pragma once

#include "solver.h"

// Symmetric 3x3 over (normal, tangent, normal x tangent).
struct ConeCurvature {
    real nn, n1, n2, t11, t12, t22;
};

SIM_INLINE vec3 operator*(const ConeCurvature& w, vec3 x) {
    return {multiply_add(w.nn, x.x, multiply_add(w.n1, x.y, w.n2 * x.z)),
            multiply_add(w.n1, x.x, multiply_add(w.t11, x.y, w.t12 * x.z)),
            multiply_add(w.n2, x.x, multiply_add(w.t12, x.y, w.t22 * x.z))};
}

enum ConeZone : int { ZONE_FREE = 0, ZONE_STICK = 1, ZONE_SLIP = 2 };

SIM_FUNCTION real tangent_length(vec3 x) { return square_root(multiply_add(x.z, x.z, x.y * x.y)); }

SIM_FUNCTION int elliptic_zone(const ContactRows& c, real normal, real slip) {
    if (normal >= slip) return ZONE_FREE;
    const real stick = multiply_add(c.friction * c.friction * c.normal_weight, normal, c.tangent_weight * slip);
    return stick <= 0 ? ZONE_STICK : ZONE_SLIP;
}

// k = 1/(R_n + F^2 R_t) = D_n D_t / (D_t + F^2 D_n).
SIM_FUNCTION real slip_weight(const ContactRows& c) {
    const real sum = multiply_add(c.friction * c.friction, c.normal_weight, c.tangent_weight);
    return c.normal_weight * divide(c.tangent_weight, sum);
}

SIM_FUNCTION vec3 frictionless_force(const ContactRows& c, vec3 x) {
    return {x.x < 0 ? -c.normal_weight * x.x : real(0), real(0), real(0)};
}

SIM_FUNCTION vec3 elliptic_force(const ContactRows& c, vec3 x) {
    const real length = tangent_length(x), slip = c.friction * length;
    const int zone = elliptic_zone(c, x.x, slip);
    if (zone == ZONE_FREE) return {real(0), real(0), real(0)};
    if (zone == ZONE_STICK) return {-c.normal_weight * x.x, -c.tangent_weight * x.y, -c.tangent_weight * x.z};
    const real normal = -slip_weight(c) * (x.x - slip), tangent = -divide(c.friction * normal, length);
    return {normal, tangent * x.y, tangent * x.z};
}

// The values of the four edges.
struct PyramidEdges {
    real x[4];
};

SIM_FUNCTION PyramidEdges pyramid_edges(const ContactRows& c, vec3 x) {
    PyramidEdges e;
    e.x[0] = multiply_add(c.friction, x.y, x.x);
    e.x[1] = multiply_add(-c.friction, x.y, x.x);
    e.x[2] = multiply_add(c.friction, x.z, x.x);
    e.x[3] = multiply_add(-c.friction, x.z, x.x);
    return e;
}

SIM_FUNCTION vec3 pyramidal_force(const ContactRows& c, vec3 x) {
    const PyramidEdges e = pyramid_edges(c, x);
    real f[4];
    for (int i = 0; i < 4; ++i) f[i] = e.x[i] < 0 ? -c.normal_weight * e.x[i] : real(0);
    return {(f[0] + f[1]) + (f[2] + f[3]), c.friction * (f[0] - f[1]), c.friction * (f[2] - f[3])};
}

// The force on the second link.
SIM_FUNCTION vec3 contact_force(const ContactRows& c, vec3 x, int cone) {
    if (c.tangent_weight == 0) return frictionless_force(c, x);
    return cone == CONE_ELLIPTIC ? elliptic_force(c, x) : pyramidal_force(c, x);
}

SIM_FUNCTION ConeCurvature elliptic_curvature(const ContactRows& c, vec3 x) {
    const real length = tangent_length(x), slip = c.friction * length;
    const int zone = elliptic_zone(c, x.x, slip);
    if (zone == ZONE_FREE) return {0, 0, 0, 0, 0, 0};
    if (zone == ZONE_STICK) return {c.normal_weight, 0, 0, c.tangent_weight, 0, c.tangent_weight};
    const real k = slip_weight(c), inverse = reciprocal(length), u1 = x.y * inverse, u2 = x.z * inverse;
    const real cross_term = -k * c.friction;                                   // d2/dx_n dx_t, along u
    const real along = k * c.friction * c.friction;                            // along u
    const real across = -k * (x.x - slip) * (c.friction * inverse);            // at right angles to u, positive
    return {k,
            cross_term * u1,
            cross_term * u2,
            multiply_add(along * u1, u1, across * u2 * u2),
            (along - across) * u1 * u2,
            multiply_add(along * u2, u2, across * u1 * u1)};
}

SIM_FUNCTION ConeCurvature pyramidal_curvature(const ContactRows& c, vec3 x) {
    const PyramidEdges e = pyramid_edges(c, x);
    real d[4];
    for (int i = 0; i < 4; ++i) d[i] = e.x[i] < 0 ? c.normal_weight : real(0);
    const real f = c.friction;
    return {(d[0] + d[1]) + (d[2] + d[3]), f * (d[0] - d[1]), f * (d[2] - d[3]), f * f * (d[0] + d[1]), 0,
            f * f * (d[2] + d[3])};
}

SIM_FUNCTION ConeCurvature contact_curvature(const ContactRows& c, vec3 x, int cone) {
    if (c.tangent_weight == 0) return {x.x < 0 ? c.normal_weight : real(0), 0, 0, 0, 0, 0};
    return cone == CONE_ELLIPTIC ? elliptic_curvature(c, x) : pyramidal_curvature(c, x);
}

SIM_FUNCTION RealPair elliptic_line(const ContactRows& c, vec3 x) {
    const vec3 p = c.change;
    const real length = tangent_length(x), slip = c.friction * length;
    const int zone = elliptic_zone(c, x.x, slip);
    if (zone == ZONE_FREE) return {0, 0};
    const real tangent_product = multiply_add(x.z, p.z, x.y * p.y), tangent_square = multiply_add(p.z, p.z, p.y * p.y);
    if (zone == ZONE_STICK)
        return {multiply_add(c.tangent_weight, tangent_product, c.normal_weight * x.x * p.x),
                multiply_add(c.tangent_weight, tangent_square, c.normal_weight * p.x * p.x)};
    const real k = slip_weight(c), inverse = reciprocal(length), stretch = tangent_product * inverse;
    const real gap = x.x - slip, rate = multiply_add(-c.friction, stretch, p.x);
    const real turning = maximum(multiply_add(-stretch, stretch, tangent_square), real(0));
    return {k * gap * rate, k * multiply_add(rate, rate, -gap * c.friction * inverse * turning)};
}

SIM_FUNCTION RealPair pyramidal_line(const ContactRows& c, vec3 x) {
    const PyramidEdges e = pyramid_edges(c, x), p = pyramid_edges(c, c.change);
    RealPair sum = {0, 0};
    for (int i = 0; i < 4; ++i) {
        if (e.x[i] < 0) {
            sum.first = multiply_add(c.normal_weight * e.x[i], p.x[i], sum.first);
            sum.second = multiply_add(c.normal_weight * p.x[i], p.x[i], sum.second);
        }
    }
    return sum;
}

// First and second derivative of the contact's cost along its change, at residual + alpha change.
SIM_FUNCTION RealPair contact_line(const ContactRows& c, real alpha, int cone) {
    const vec3 x = multiply_add(alpha, c.change, c.residual);
    if (c.tangent_weight == 0) {
        if (!(x.x < 0)) return {0, 0};
        return {c.normal_weight * x.x * c.change.x, c.normal_weight * c.change.x * c.change.x};
    }
    return cone == CONE_ELLIPTIC ? elliptic_line(c, x) : pyramidal_line(c, x);
}

SIM_FUNCTION real elliptic_cost(const ContactRows& c, vec3 x) {
    const real length = tangent_length(x), slip = c.friction * length, gap = x.x - slip;
    const int zone = elliptic_zone(c, x.x, slip);
    if (zone == ZONE_FREE) return 0;
    if (zone == ZONE_SLIP) return real(0.5) * slip_weight(c) * gap * gap;
    return real(0.5) * multiply_add(c.tangent_weight * length, length, c.normal_weight * x.x * x.x);
}

SIM_FUNCTION real contact_cost(const ContactRows& c, vec3 x, int cone) {
    if (c.tangent_weight == 0) return x.x < 0 ? real(0.5) * c.normal_weight * x.x * x.x : real(0);
    if (cone == CONE_ELLIPTIC) return elliptic_cost(c, x);
    const PyramidEdges e = pyramid_edges(c, x);
    real sum = 0;
    for (int i = 0; i < 4; ++i)
        if (e.x[i] < 0) sum = multiply_add(real(0.5) * c.normal_weight * e.x[i], e.x[i], sum);
    return sum;
}
