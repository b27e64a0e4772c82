// What the collision routines share: a shape where it stands, the contact of two round bodies, and the zero of a rising
// broken line.
//
// A routine is `collide_<first>_<second>(first, second, write)`. It calls write(feature, point0, normal, distance) for
// every contact that it finds, features ascending: point0 on the first shape and the unit normal, towards the second
// shape, in world axes; the point on the second shape is point0 + distance normal. `write` keeps what lies within
// `write.reach`; a distance that is not finite is never kept. Poses have unit quaternions.
#pragma once

#include "quaternion.h"

// Pose in the world and the row of shape_size.
struct PlacedShape {
    Transform pose;
    vec3 size;
};

SIM_INLINE vec3 x_axis(const PlacedShape& s) { return rotate(s.pose.q, vec3{1, 0, 0}); }
SIM_INLINE vec3 y_axis(const PlacedShape& s) { return rotate(s.pose.q, vec3{0, 1, 0}); }
SIM_INLINE vec3 z_axis(const PlacedShape& s) { return rotate(s.pose.q, vec3{0, 0, 1}); }

// Below this length a direction between two points is noise: the routine's fallback holds.
constexpr real SMALLEST_SEPARATION = real(1e-15);

// Two contacts stand for a line of contact when its deeper one is deepest, to this fraction of the radii.
constexpr real LINE_TOLERANCE = real(1e-4);

// Spheres of radius r0 about p and r1 about p + offset; `fallback` is the normal where the centres coincide.
template <class Writer>
SIM_FUNCTION void round_contact(int feature, vec3 p, real r0, vec3 offset, real r1, vec3 fallback, Writer& write) {
    const real size = length(offset);
    const vec3 normal = size > SMALLEST_SEPARATION ? reciprocal(size) * offset : fallback;
    write(feature, multiply_add(r0, normal, p), normal, size - (r0 + r1));
}

// Below this a value of RisingZero (m) is zero: reciprocals stay within their domain.
constexpr real SMALLEST_SLOPE = real(1e-30);

// The zero of a continuous function g that never falls and is linear between its bends, on [-end, end]; the end nearer
// to the zero where there is none. Look at both ends and every bend, in any order: the last piece left is linear. Where
// g is zero on a whole piece the zero is the start of it, or an end of the interval: never a point chosen by round-off.
struct RisingZero {
    real low, low_value;
    real high, high_value;

    template <class Function>
    SIM_INLINE RisingZero(real end, Function g) : low(-end), low_value(g(-end)), high(end), high_value(g(end)) {}

    SIM_INLINE bool wants(real t) const { return low_value < 0 && high_value >= 0 && t > low && t < high; }

    SIM_INLINE void look(real t, real value) {
        if (value < 0) {
            low = t;
            low_value = value;
        } else {
            high = t;
            high_value = value;
        }
    }

    SIM_INLINE real zero() const {
        if (!(low_value < -SMALLEST_SLOPE)) return low;
        if (!(high_value > 0)) return high;
        return multiply_add(-low_value * reciprocal(high_value - low_value), high - low, low);
    }
};
