// 3x3 matrices, general and symmetric.
#pragma once

#include "vector.h"

// rows x, y, z; m[i] is row i, m[i][j] an element
struct mat33 {
    vec3 x, y, z;

    SIM_INLINE vec3& operator[](int i) { return i == 0 ? x : i == 1 ? y : z; }
    SIM_INLINE const vec3& operator[](int i) const { return i == 0 ? x : i == 1 ? y : z; }
};

SIM_INLINE mat33 load_mat33(const real* p) { return {load_vec3(p), load_vec3(p + 3), load_vec3(p + 6)}; }
SIM_INLINE void store_mat33(real* p, const mat33& m) {
    store_vec3(p, m.x);
    store_vec3(p + 3, m.y);
    store_vec3(p + 6, m.z);
}

SIM_INLINE vec3 column(const mat33& m, int i) { return {m.x[i], m.y[i], m.z[i]}; }
SIM_INLINE mat33 from_columns(vec3 a, vec3 b, vec3 c) { return {{a.x, b.x, c.x}, {a.y, b.y, c.y}, {a.z, b.z, c.z}}; }
SIM_INLINE mat33 absolute(const mat33& m) { return {absolute(m.x), absolute(m.y), absolute(m.z)}; }
SIM_INLINE mat33 transpose(const mat33& m) { return from_columns(m.x, m.y, m.z); }

SIM_INLINE mat33 operator+(const mat33& a, const mat33& b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
SIM_INLINE mat33 operator-(const mat33& a, const mat33& b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
SIM_INLINE mat33 operator*(real s, const mat33& m) { return {s * m.x, s * m.y, s * m.z}; }
SIM_INLINE vec3 operator*(const mat33& m, vec3 v) { return {dot(m.x, v), dot(m.y, v), dot(m.z, v)}; }

// v^T M, which is M^T v
SIM_INLINE vec3 transpose_multiply(const mat33& m, vec3 v) {
    return multiply_add(v.z, m.z, multiply_add(v.y, m.y, v.x * m.x));
}

SIM_INLINE mat33 operator*(const mat33& a, const mat33& b) {
    return {transpose_multiply(b, a.x), transpose_multiply(b, a.y), transpose_multiply(b, a.z)};
}

SIM_INLINE real determinant(const mat33& m) { return dot(m.x, cross(m.y, m.z)); }

// [v]x, so that skew(v) * w = v x w
SIM_INLINE mat33 skew(vec3 v) { return {{real(0), -v.z, v.y}, {v.z, real(0), -v.x}, {-v.y, v.x, real(0)}}; }

// inverse by cofactors; not finite where the determinant is zero
SIM_INLINE mat33 inverse(const mat33& m) {
    const vec3 a = cross(m.y, m.z), b = cross(m.z, m.x), c = cross(m.x, m.y);
    const real scale = reciprocal(dot(m.x, a));
    return from_columns(scale * a, scale * b, scale * c);
}

// ------------------------------------------------------------------------------------------------ symmetric matrices

struct sym33 {
    real xx, yy, zz, xy, xz, yz;
};

SIM_INLINE sym33 zero_sym33() { return {real(0), real(0), real(0), real(0), real(0), real(0)}; }
SIM_INLINE sym33 diagonal(vec3 d) { return {d.x, d.y, d.z, real(0), real(0), real(0)}; }

// from the upper half of a matrix
SIM_INLINE sym33 symmetric(const mat33& m) { return {m.x.x, m.y.y, m.z.z, m.x.y, m.x.z, m.y.z}; }
SIM_INLINE mat33 full(const sym33& s) { return {{s.xx, s.xy, s.xz}, {s.xy, s.yy, s.yz}, {s.xz, s.yz, s.zz}}; }

SIM_INLINE sym33 operator+(const sym33& a, const sym33& b) {
    return {a.xx + b.xx, a.yy + b.yy, a.zz + b.zz, a.xy + b.xy, a.xz + b.xz, a.yz + b.yz};
}
SIM_INLINE sym33 operator-(const sym33& a, const sym33& b) {
    return {a.xx - b.xx, a.yy - b.yy, a.zz - b.zz, a.xy - b.xy, a.xz - b.xz, a.yz - b.yz};
}
SIM_INLINE sym33 operator*(real s, const sym33& a) {
    return {s * a.xx, s * a.yy, s * a.zz, s * a.xy, s * a.xz, s * a.yz};
}

// s A + B, each number with one rounding
SIM_INLINE sym33 multiply_add(real s, const sym33& a, const sym33& b) {
    return {multiply_add(s, a.xx, b.xx), multiply_add(s, a.yy, b.yy), multiply_add(s, a.zz, b.zz),
            multiply_add(s, a.xy, b.xy), multiply_add(s, a.xz, b.xz), multiply_add(s, a.yz, b.yz)};
}

SIM_INLINE vec3 operator*(const sym33& s, vec3 v) {
    return {dot({s.xx, s.xy, s.xz}, v), dot({s.xy, s.yy, s.yz}, v), dot({s.xz, s.yz, s.zz}, v)};
}

SIM_INLINE real trace(const sym33& s) { return s.xx + s.yy + s.zz; }

// v v^T
SIM_INLINE sym33 outer(vec3 v) { return {v.x * v.x, v.y * v.y, v.z * v.z, v.x * v.y, v.x * v.z, v.y * v.z}; }

// [v]x^T [v]x = |v|^2 1 - v v^T: the inertia of a unit mass at v about the origin
SIM_INLINE sym33 skew_squared(vec3 v) {
    const real xx = v.x * v.x, yy = v.y * v.y, zz = v.z * v.z;
    return {yy + zz, xx + zz, xx + yy, -(v.x * v.y), -(v.x * v.z), -(v.y * v.z)};
}

// R S R^T
SIM_INLINE sym33 rotate_symmetric(const mat33& r, const sym33& s) {
    const vec3 a = s * r.x, b = s * r.y, c = s * r.z;
    return {dot(r.x, a), dot(r.y, b), dot(r.z, c), dot(r.x, b), dot(r.x, c), dot(r.y, c)};
}

SIM_INLINE real determinant(const sym33& s) { return determinant(full(s)); }

// inverse by cofactors; not finite where the determinant is zero
SIM_INLINE sym33 inverse(const sym33& s) {
    const vec3 x = {s.xx, s.xy, s.xz}, y = {s.xy, s.yy, s.yz}, z = {s.xz, s.yz, s.zz};
    const vec3 a = cross(y, z), b = cross(z, x), c = cross(x, y);
    return reciprocal(dot(x, a)) * sym33{a.x, b.y, c.z, a.y, a.z, b.z};
}

// x with S x = b, S positive definite, by S = L D L^T; not finite where S is singular
SIM_INLINE vec3 solve(const sym33& s, vec3 b) {
    const real inverse_x = reciprocal(s.xx), l_yx = s.xy * inverse_x, l_zx = s.xz * inverse_x;
    const real inverse_y = reciprocal(multiply_add(-l_yx, s.xy, s.yy));
    const real yz = multiply_add(-l_yx, s.xz, s.yz), l_zy = yz * inverse_y;
    const real inverse_z = reciprocal(multiply_add(-l_zy, yz, multiply_add(-l_zx, s.xz, s.zz)));
    const real y = multiply_add(-l_yx, b.x, b.y);
    const real z = multiply_add(-l_zy, y, multiply_add(-l_zx, b.x, b.z)) * inverse_z;
    const real v = multiply_add(-l_zy, z, y * inverse_y);
    return {multiply_add(-l_zx, z, multiply_add(-l_yx, v, b.x * inverse_x)), v, z};
}
