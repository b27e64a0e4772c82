// Spatial (six-dimensional) vectors: velocity and force of a rigid body, its inertia, and the stiffness of a contact
// (Featherstone, Rigid Body Dynamics Algorithms, 2008, chapter 2; here the linear part comes first).
//
// All are in world axes about one reference point O. A position r is counted from O.
#pragma once

#include "quaternion.h"

// velocity of the body-fixed point at O, and angular velocity
struct Motion {
    vec3 linear, angular;
};

// force, and moment about O
struct Force {
    vec3 linear, angular;
};

SIM_INLINE Motion zero_motion() { return {zero_vec3(), zero_vec3()}; }
SIM_INLINE Force zero_force() { return {zero_vec3(), zero_vec3()}; }

SIM_INLINE Motion operator+(const Motion& a, const Motion& b) { return {a.linear + b.linear, a.angular + b.angular}; }
SIM_INLINE Motion operator-(const Motion& a, const Motion& b) { return {a.linear - b.linear, a.angular - b.angular}; }
SIM_INLINE Motion operator*(real s, const Motion& a) { return {s * a.linear, s * a.angular}; }
SIM_INLINE Motion& operator+=(Motion& a, const Motion& b) { return a = a + b; }
SIM_INLINE Motion multiply_add(real s, const Motion& a, const Motion& b) {
    return {multiply_add(s, a.linear, b.linear), multiply_add(s, a.angular, b.angular)};
}

SIM_INLINE Force operator+(const Force& a, const Force& b) { return {a.linear + b.linear, a.angular + b.angular}; }
SIM_INLINE Force operator-(const Force& a, const Force& b) { return {a.linear - b.linear, a.angular - b.angular}; }
SIM_INLINE Force operator*(real s, const Force& a) { return {s * a.linear, s * a.angular}; }
SIM_INLINE Force& operator+=(Force& a, const Force& b) { return a = a + b; }
SIM_INLINE Force multiply_add(real s, const Force& a, const Force& b) {
    return {multiply_add(s, a.linear, b.linear), multiply_add(s, a.angular, b.angular)};
}

// number i of six: linear x, y, z, angular x, y, z
SIM_INLINE real component(const Motion& m, int i) { return i < 3 ? m.linear[i] : m.angular[i - 3]; }
SIM_INLINE real component(const Force& f, int i) { return i < 3 ? f.linear[i] : f.angular[i - 3]; }

// power
SIM_INLINE real dot(const Motion& m, const Force& f) {
    real sum = dot(m.linear, f.linear);
    sum = multiply_add(m.angular.x, f.angular.x, sum);
    sum = multiply_add(m.angular.y, f.angular.y, sum);
    return multiply_add(m.angular.z, f.angular.z, sum);
}
SIM_INLINE real dot(const Force& f, const Motion& m) { return dot(m, f); }

// motion x motion: the rate of b as it is carried along by a
SIM_INLINE Motion cross(const Motion& a, const Motion& b) {
    return {cross(a.angular, b.linear) + cross(a.linear, b.angular), cross(a.angular, b.angular)};
}

// motion x* force: the rate of f as it is carried along by a
SIM_INLINE Force cross(const Motion& a, const Force& f) {
    return {cross(a.angular, f.linear), cross(a.angular, f.angular) + cross(a.linear, f.linear)};
}

// velocity of the body-fixed point at r
SIM_INLINE vec3 velocity_at(const Motion& m, vec3 r) { return m.linear + cross(m.angular, r); }

// the same about the new reference point O + r
SIM_INLINE Motion shift(const Motion& m, vec3 r) { return {velocity_at(m, r), m.angular}; }
SIM_INLINE Force shift(const Force& f, vec3 r) { return {f.linear, f.angular - cross(r, f.linear)}; }

// a force that acts at r, and a couple
SIM_INLINE Force force_at(vec3 force, vec3 r) { return {force, cross(r, force)}; }

// a rotation with unit rate about a line through r, and a translation with unit speed
SIM_INLINE Motion rotation_about(vec3 axis, vec3 r) { return {cross(r, axis), axis}; }
SIM_INLINE Motion translation_along(vec3 axis) { return {axis, zero_vec3()}; }

// ----------------------------------------------------------------------------------------------------------- inertia

// mass, first moment (mass times centre of mass, from O) and rotational inertia about O: ten numbers
struct SpatialInertia {
    real mass;
    vec3 moment;
    sym33 inertia;
};

// `com` from O; `inertia` about the centre of mass, in the axes that `rotation` turns into the world's
SIM_INLINE SpatialInertia spatial_inertia(real mass, vec3 com, const sym33& inertia, const mat33& rotation) {
    return {mass, mass * com, multiply_add(mass, skew_squared(com), rotate_symmetric(rotation, inertia))};
}

SIM_INLINE SpatialInertia operator+(const SpatialInertia& a, const SpatialInertia& b) {
    return {a.mass + b.mass, a.moment + b.moment, a.inertia + b.inertia};
}
SIM_INLINE SpatialInertia& operator+=(SpatialInertia& a, const SpatialInertia& b) { return a = a + b; }

// momentum: force m v - h x w, moment h x v + I w
SIM_INLINE Force operator*(const SpatialInertia& i, const Motion& v) {
    return {multiply_add(i.mass, v.linear, -cross(i.moment, v.angular)),
            i.inertia * v.angular + cross(i.moment, v.linear)};
}

// ---------------------------------------------------------------------------------------- symmetric 6x6: 21 numbers

// [[linear, mixed], [mixed^T, angular]]: from a Motion to a Force
struct SpatialStiffness {
    sym33 linear;
    mat33 mixed;
    sym33 angular;
};

// X^T W X, where X takes a Motion to the velocity at r: linear W, mixed -W [r]x, angular [r]x W [r]x^T.
// Row i of W [r]x is (row i of W) x r.
SIM_INLINE SpatialStiffness stiffness_at(const sym33& w, vec3 r) {
    const mat33 rows = full(w);
    const mat33 mixed = {cross(r, rows.x), cross(r, rows.y), cross(r, rows.z)};
    const vec3 a = column(mixed, 0), b = column(mixed, 1), c = column(mixed, 2);  // rows of [r]x W
    const vec3 first = cross(r, a), second = cross(r, b), third = cross(r, c);
    return {w, mixed, {first.x, second.y, third.z, first.y, first.z, second.z}};
}

SIM_INLINE SpatialStiffness operator+(const SpatialStiffness& a, const SpatialStiffness& b) {
    return {a.linear + b.linear, a.mixed + b.mixed, a.angular + b.angular};
}
SIM_INLINE SpatialStiffness& operator+=(SpatialStiffness& a, const SpatialStiffness& b) { return a = a + b; }

SIM_INLINE Force operator*(const SpatialStiffness& k, const Motion& v) {
    return {k.linear * v.linear + k.mixed * v.angular, transpose_multiply(k.mixed, v.linear) + k.angular * v.angular};
}
