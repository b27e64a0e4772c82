// Unit quaternions (x, y, z, w) and rigid transforms.
#pragma once

#include "matrix.h"

struct quat {
    real x, y, z, w;

    // number by number, as vec3
    SIM_INLINE quat& operator=(const quat& q) {
        x = q.x;
        y = q.y;
        z = q.z;
        w = q.w;
        return *this;
    }
};

SIM_INLINE quat identity_quat() { return {real(0), real(0), real(0), real(1)}; }
SIM_INLINE quat load_quat(const real* p) { return {p[0], p[1], p[2], p[3]}; }
SIM_INLINE void store_quat(real* p, quat q) {
    p[0] = q.x;
    p[1] = q.y;
    p[2] = q.z;
    p[3] = q.w;
}

SIM_INLINE vec3 vector_part(quat q) { return {q.x, q.y, q.z}; }
SIM_INLINE quat conjugate(quat q) { return {-q.x, -q.y, -q.z, q.w}; }
SIM_INLINE quat operator-(quat q) { return {-q.x, -q.y, -q.z, -q.w}; }
SIM_INLINE quat operator*(real s, quat q) { return {s * q.x, s * q.y, s * q.z, s * q.w}; }
SIM_INLINE quat canonical(quat q) { return {canonical(q.x), canonical(q.y), canonical(q.z), canonical(q.w)}; }
SIM_INLINE bool is_finite(quat q) { return is_finite(vector_part(q)) && is_finite(q.w); }

SIM_INLINE real dot(quat a, quat b) {
    return multiply_add(a.z, b.z, multiply_add(a.y, b.y, multiply_add(a.x, b.x, a.w * b.w)));
}

// q / |q|; the identity where |q| counts as zero (below 2^-50 in float)
SIM_INLINE quat normalize(quat q) {
    const real size = square_root(dot(q, q));
    return size == real(0) ? identity_quat() : reciprocal(size) * q;
}

// rotation by b, then by a
SIM_INLINE quat operator*(quat a, quat b) {
    return {multiply_add(-a.z, b.y, multiply_add(a.y, b.z, multiply_add(a.x, b.w, a.w * b.x))),
            multiply_add(a.z, b.x, multiply_add(a.y, b.w, multiply_add(-a.x, b.z, a.w * b.y))),
            multiply_add(a.z, b.w, multiply_add(-a.y, b.x, multiply_add(a.x, b.y, a.w * b.z))),
            multiply_add(-a.z, b.z, multiply_add(-a.y, b.y, multiply_add(-a.x, b.x, a.w * b.w)))};
}

// v turned by the unit quaternion q: v + w t + u x t with t = 2 u x v
SIM_INLINE vec3 rotate(quat q, vec3 v) {
    const vec3 u = vector_part(q), t = real(2) * cross(u, v);
    return multiply_add(q.w, t, v) + cross(u, t);
}

// The same for vectors that are often zero: from a link to its centre of mass, from a joint to its link.
SIM_INLINE vec3 rotate_unless_zero(quat q, vec3 v) { return is_zero(v) ? zero_vec3() : rotate(q, v); }

SIM_INLINE vec3 inverse_rotate(quat q, vec3 v) { return rotate(conjugate(q), v); }

// `axis` a unit vector, `angle` in rad
SIM_INLINE quat quat_from_axis_angle(vec3 axis, real angle) {
    real s, c;
    sine_cosine(real(0.5) * angle, &s, &c);
    return {s * axis.x, s * axis.y, s * axis.z, c};
}

// matrix of the unit quaternion q: mat33_from_quat(q) * v = rotate(q, v)
SIM_INLINE mat33 mat33_from_quat(quat q) {
    const real x2 = q.x + q.x, y2 = q.y + q.y, z2 = q.z + q.z;
    const real xx = x2 * q.x, yy = y2 * q.y, zz = z2 * q.z, wx = x2 * q.w, wy = y2 * q.w, wz = z2 * q.w;
    return {{real(1) - (yy + zz), multiply_add(x2, q.y, -wz), multiply_add(x2, q.z, wy)},
            {multiply_add(x2, q.y, wz), real(1) - (xx + zz), multiply_add(y2, q.z, -wx)},
            {multiply_add(x2, q.z, -wy), multiply_add(y2, q.z, wx), real(1) - (xx + yy)}};
}

// Unit quaternion of a rotation matrix. Of the four numbers 4 q_i^2 (a diagonal of 1 + ...) the largest is taken, so
// no small one is divided by (Shepperd 1978).
SIM_FUNCTION quat quat_from_mat33(const mat33& m) {
    const real x = real(1) + m.x.x - m.y.y - m.z.z, y = real(1) - m.x.x + m.y.y - m.z.z;
    const real z = real(1) - m.x.x - m.y.y + m.z.z, w = real(1) + m.x.x + m.y.y + m.z.z;
    const real a = m.z.y - m.y.z, b = m.x.z - m.z.x, c = m.y.x - m.x.y;
    const real d = m.x.y + m.y.x, e = m.x.z + m.z.x, f = m.y.z + m.z.y;
    quat q;
    if (w >= x && w >= y && w >= z) {
        q = {a, b, c, w};
    } else if (x >= y && x >= z) {
        q = {x, d, e, a};
    } else if (y >= z) {
        q = {d, y, f, b};
    } else {
        q = {e, f, z, c};
    }
    return normalize(q);
}

// Rotation vector (axis times angle, angle in [0, pi]) of q or -q, q of any length: u (2 atan2(|u|, w)) / |u|.
// Its relative error stays at a few units in the last place as the angle goes to zero.
SIM_FUNCTION vec3 rotation_vector(quat q) {
    if (q.w < real(0)) q = -q;
    const vec3 u = vector_part(q);
    const real size = length(u);
    const real factor = size == real(0) ? divide(real(2), q.w) : divide(real(2) * arc_tangent2(size, q.w), size);
    return factor * u;
}

// unit quaternion of a rotation vector: the inverse of rotation_vector, v of any length
SIM_FUNCTION quat quat_from_rotation_vector(vec3 v) {
    const real angle = length(v);
    real s, c;
    sine_cosine(real(0.5) * angle, &s, &c);
    const real factor = angle == real(0) ? real(0.5) : divide(s, angle);
    return {factor * v.x, factor * v.y, factor * v.z, c};
}

// q after turning for the time dt with angular velocity `omega` in the turning frame's own axes (exact for a constant
// one); from a velocity in the fixed axes pass inverse_rotate(q, omega)
SIM_FUNCTION quat integrate(quat q, vec3 omega, real dt) {
    return normalize(q * quat_from_rotation_vector(dt * omega));
}

// --------------------------------------------------------------------------------------------------- rigid transforms

// x -> p + rotate(q, x); seven numbers in arrays: position, quaternion
struct Transform {
    vec3 p;
    quat q;
};

SIM_INLINE Transform identity_transform() { return {zero_vec3(), identity_quat()}; }

// with the quaternion as it stands, and normalised
SIM_INLINE Transform load_transform(const real* p) { return {load_vec3(p), load_quat(p + 3)}; }
SIM_INLINE Transform load_pose(const real* p) { return {load_vec3(p), normalize(load_quat(p + 3))}; }
SIM_INLINE void store_transform(real* p, const Transform& t) {
    store_vec3(p, t.p);
    store_quat(p + 3, t.q);
}

SIM_INLINE Transform canonical(const Transform& t) { return {canonical(t.p), canonical(t.q)}; }

SIM_INLINE vec3 transform_point(const Transform& t, vec3 x) { return t.p + rotate(t.q, x); }
SIM_INLINE vec3 inverse_transform_point(const Transform& t, vec3 x) { return inverse_rotate(t.q, x - t.p); }

// b, then a
SIM_INLINE Transform operator*(const Transform& a, const Transform& b) { return {transform_point(a, b.p), a.q * b.q}; }

// The same where b often does not turn, or does not shift.
SIM_INLINE Transform attach(const Transform& a, const Transform& b) {
    return {a.p + rotate_unless_zero(a.q, b.p), is_zero(vector_part(b.q)) ? a.q : a.q * b.q};
}

SIM_INLINE Transform inverse(const Transform& t) { return {inverse_rotate(t.q, -t.p), conjugate(t.q)}; }
