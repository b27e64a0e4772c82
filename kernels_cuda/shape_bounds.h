// The smallest box along the axes of the world that holds a shape where it stands.
#pragma once

#include "enums.h"
#include "quaternion.h"

struct Bounds {
    vec3 lower, upper;
};

SIM_INLINE Bounds around(vec3 centre, vec3 reach) { return {centre - reach, centre + reach}; }
SIM_INLINE Bounds merged(const Bounds& a, const Bounds& b) {
    return {minimum(a.lower, b.lower), maximum(a.upper, b.upper)};
}

// How far a disc of radius r reaches along each axis of the world; `axis`: its unit normal. The square root of 1 - a^2
// is that of (1 - a)(1 + a), which keeps its digits where a is near 1.
SIM_INLINE vec3 disc_reach(vec3 axis, real r) {
    return {r * square_root(maximum((real(1) - axis.x) * (real(1) + axis.x), real(0))),
            r * square_root(maximum((real(1) - axis.y) * (real(1) + axis.y), real(0))),
            r * square_root(maximum((real(1) - axis.z) * (real(1) + axis.z), real(0)))};
}

// A sphere, capsule, cylinder, cone, ellipsoid or box of `size` (as in shape_size) with the unit quaternion of `pose`.
SIM_FUNCTION Bounds solid_bounds(int type, const Transform& pose, vec3 size) {
    const vec3 p = pose.p;
    if (type == SHAPE_SPHERE) return around(p, vec3{size.x, size.x, size.x});
    const vec3 x = rotate(pose.q, vec3{1, 0, 0}), y = rotate(pose.q, vec3{0, 1, 0}), z = rotate(pose.q, vec3{0, 0, 1});
    switch (type) {
        case SHAPE_CAPSULE: return around(p, multiply_add(size.y, absolute(z), vec3{size.x, size.x, size.x}));
        case SHAPE_CYLINDER: return around(p, multiply_add(size.y, absolute(z), disc_reach(z, size.x)));
        case SHAPE_CONE: {
            const vec3 tip = multiply_add(size.y, z, p), base = multiply_add(-size.y, z, p);
            return merged(Bounds{tip, tip}, around(base, disc_reach(z, size.x)));
        }
        case SHAPE_ELLIPSOID: {
            const vec3 a = size.x * x, b = size.y * y, c = size.z * z;
            const vec3 squared = multiply(a, a) + multiply(b, b) + multiply(c, c);
            return around(p, vec3{square_root(squared.x), square_root(squared.y), square_root(squared.z)});
        }
        default:
            return around(p,
                          multiply_add(size.x, absolute(x), multiply_add(size.y, absolute(y), size.z * absolute(z))));
    }
}

// A plane, behind which all is solid: where its normal is along an axis, all that lies on its side; else everything.
SIM_FUNCTION Bounds plane_bounds(const Transform& pose) {
    const vec3 z = rotate(pose.q, vec3{0, 0, 1}), everywhere = {REAL_INFINITY, REAL_INFINITY, REAL_INFINITY};
    Bounds bounds = {-everywhere, everywhere};
    for (int i = 0; i < 3; ++i) {
        if (z[i] == real(1)) bounds.upper[i] = pose.p[i];
        if (z[i] == real(-1)) bounds.lower[i] = pose.p[i];
    }
    return bounds;
}

// Points first to last of a table, scaled, then moved by `pose`.
SIM_FUNCTION Bounds point_bounds(const Transform& pose, vec3 scale, const real* points, int first, int last) {
    const vec3 everywhere = {REAL_INFINITY, REAL_INFINITY, REAL_INFINITY};
    Bounds bounds = {everywhere, -everywhere};
    for (int i = first; i < last; ++i) {
        const vec3 p = transform_point(pose, multiply(scale, load_vec3(&points[3 * i])));
        bounds = merged(bounds, Bounds{p, p});
    }
    return bounds;
}
