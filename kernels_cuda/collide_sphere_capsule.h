// Contacts among spheres and capsules: two spheres about the nearest points of their cores, which are a point and a
// segment along z.
#pragma once

#include "collide_shape.h"

// Coincident centres: the normal is the world's x.
template <class Writer>
SIM_STAGE void collide_sphere_sphere(const PlacedShape& a, const PlacedShape& b, Writer& write) {
    round_contact(0, a.pose.p, a.size.x, b.pose.p - a.pose.p, b.size.x, vec3{1, 0, 0}, write);
}

// Centre on the axis: the normal is the capsule's x.
template <class Writer>
SIM_STAGE void collide_sphere_capsule(const PlacedShape& sphere, const PlacedShape& capsule, Writer& write) {
    const vec3 axis = z_axis(capsule), to_capsule = capsule.pose.p - sphere.pose.p;
    const real along = clamp(-dot(to_capsule, axis), -capsule.size.y, capsule.size.y);
    const vec3 offset = multiply_add(along, axis, to_capsule);
    round_contact(0, sphere.pose.p, sphere.size.x, offset, capsule.size.x, x_axis(capsule), write);
}

// Two segments: a(t) = t u, |t| <= a_end, and b(s) = -w + s v, |s| <= b_end. With m = u . v and u' = u - m v, the
// nearest s to a(t) is k + t m cut to b's ends, k = w . v, and half the slope of the squared distance along a is
//     g(t) = w . u' + t |u'|^2 + (k + t m - s) m,
// which never falls, is linear between the cuts, and keeps its digits however parallel the axes are.
struct SegmentPair {
    vec3 u, v, w, across;  // across: u'
    real a_end, b_end, m, k, slope, start;

    SIM_INLINE SegmentPair(const PlacedShape& a, const PlacedShape& b)
        : u(z_axis(a)), v(z_axis(b)), w(a.pose.p - b.pose.p), a_end(a.size.y), b_end(b.size.y) {
        m = dot(u, v);
        k = dot(w, v);
        across = multiply_add(-m, v, u);
        slope = dot(across, across);
        start = dot(w, across);
    }

    SIM_INLINE real nearest(real t) const { return clamp(multiply_add(t, m, k), -b_end, b_end); }
    SIM_INLINE real value(real t) const {
        const real beyond = multiply_add(t, m, k) - nearest(t);
        return multiply_add(beyond, m, multiply_add(t, slope, start));
    }
    // from a(t) to the nearest point of b
    SIM_INLINE vec3 gap(real t) const { return multiply_add(nearest(t), v, multiply_add(-t, u, -w)); }
    // the point of a nearest to b(nearest(t))
    SIM_INLINE real returned(real t) const { return clamp(multiply_add(nearest(t), m, -dot(w, u)), -a_end, a_end); }

    // Where a(t) leaves the stretch beside b at b's end `side` (1 or -1); `otherwise` where it runs across.
    SIM_INLINE real cut(real side, real otherwise) const {
        return absolute(m) > REAL_EPSILON ? divide(multiply_add(side, b_end, -k), m) : otherwise;
    }
};

// Below this squared sine of their angle two capsules may touch along a line.
constexpr real PARALLEL_SINE_SQUARED = real(0.01);

// The nearest points of the axes, one contact. Nearly parallel capsules that lie beside each other touch at both ends
// of the common stretch (features 0 and 1, along the first one's axis), as long as one of these two is the deepest
// point: the pair stays when they roll or yaw a little. Axes that cross: the normal is along their common
// perpendicular; axes on one line: the first capsule's x.
template <class Writer>
SIM_STAGE void collide_capsule_capsule(const PlacedShape& a, const PlacedShape& b, Writer& write) {
    const SegmentPair pair(a, b);
    RisingZero root(pair.a_end, [&](real t) { return pair.value(t); });
    const real first_cut = pair.cut(-1, -pair.a_end), second_cut = pair.cut(1, pair.a_end);
    if (root.wants(first_cut)) root.look(first_cut, pair.value(first_cut));
    if (root.wants(second_cut)) root.look(second_cut, pair.value(second_cut));
    const real deepest = root.zero(), radii = a.size.x + b.size.x;
    const vec3 fallback = pair.slope > REAL_EPSILON ? normalize(cross(pair.u, pair.v), x_axis(a)) : x_axis(a);

    if (pair.slope < PARALLEL_SINE_SQUARED) {
        const real low = maximum(minimum(first_cut, second_cut), -pair.a_end);
        const real high = minimum(maximum(first_cut, second_cut), pair.a_end);
        if (high > low) {
            const real t0 = pair.returned(low), t1 = pair.returned(high);
            const real nearer = minimum(length(pair.gap(t0)), length(pair.gap(t1)));
            if (nearer <= multiply_add(LINE_TOLERANCE, radii, length(pair.gap(deepest)))) {
                round_contact(0, multiply_add(t0, pair.u, a.pose.p), a.size.x, pair.gap(t0), b.size.x, fallback, write);
                round_contact(1, multiply_add(t1, pair.u, a.pose.p), a.size.x, pair.gap(t1), b.size.x, fallback, write);
                return;
            }
        }
    }
    round_contact(0, multiply_add(deepest, pair.u, a.pose.p), a.size.x, pair.gap(deepest), b.size.x, fallback, write);
}
