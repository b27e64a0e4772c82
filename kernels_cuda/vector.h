// Vectors of three numbers.
#pragma once

#include "numeric.h"

struct vec3 {
    real x, y, z;

    SIM_INLINE real& operator[](int i) { return i == 0 ? x : i == 1 ? y : z; }
    SIM_INLINE real operator[](int i) const { return i == 0 ? x : i == 1 ? y : z; }

    // number by number: compilers for CPUs else copy by wider loads than the stores before, which wait for each other
    SIM_INLINE vec3& operator=(const vec3& v) {
        x = v.x;
        y = v.y;
        z = v.z;
        return *this;
    }
};

SIM_INLINE vec3 zero_vec3() { return {real(0), real(0), real(0)}; }
SIM_INLINE vec3 load_vec3(const real* p) { return {p[0], p[1], p[2]}; }
SIM_INLINE void store_vec3(real* p, vec3 v) {
    p[0] = v.x;
    p[1] = v.y;
    p[2] = v.z;
}

SIM_INLINE vec3 operator+(vec3 a, vec3 b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
SIM_INLINE vec3 operator-(vec3 a, vec3 b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
SIM_INLINE vec3 operator-(vec3 a) { return {-a.x, -a.y, -a.z}; }
SIM_INLINE vec3 operator*(real s, vec3 v) { return {s * v.x, s * v.y, s * v.z}; }
SIM_INLINE vec3 operator*(vec3 v, real s) { return s * v; }
SIM_INLINE vec3& operator+=(vec3& a, vec3 b) { return a = a + b; }
SIM_INLINE vec3& operator-=(vec3& a, vec3 b) { return a = a - b; }
SIM_INLINE vec3& operator*=(vec3& v, real s) { return v = s * v; }

// s v + w, each component with one rounding
SIM_INLINE vec3 multiply_add(real s, vec3 v, vec3 w) {
    return {multiply_add(s, v.x, w.x), multiply_add(s, v.y, w.y), multiply_add(s, v.z, w.z)};
}

// component by component
SIM_INLINE vec3 multiply(vec3 a, vec3 b) { return {a.x * b.x, a.y * b.y, a.z * b.z}; }
SIM_INLINE vec3 minimum(vec3 a, vec3 b) { return {minimum(a.x, b.x), minimum(a.y, b.y), minimum(a.z, b.z)}; }
SIM_INLINE vec3 maximum(vec3 a, vec3 b) { return {maximum(a.x, b.x), maximum(a.y, b.y), maximum(a.z, b.z)}; }
SIM_INLINE vec3 absolute(vec3 v) { return {absolute(v.x), absolute(v.y), absolute(v.z)}; }
SIM_INLINE vec3 canonical(vec3 v) { return {canonical(v.x), canonical(v.y), canonical(v.z)}; }
SIM_INLINE bool is_zero(vec3 v) { return v.x == 0 && v.y == 0 && v.z == 0; }
SIM_INLINE bool is_finite(vec3 v) { return is_finite(v.x) && is_finite(v.y) && is_finite(v.z); }

// in lexicographic order, by x, then y, then z: below 0 where a comes first, 0 where they are equal
SIM_INLINE int compare(vec3 a, vec3 b) {
    for (int i = 0; i < 3; ++i)
        if (a[i] != b[i]) return a[i] < b[i] ? -1 : 1;
    return 0;
}

// the axis along which v is longest, of equal ones the first
SIM_INLINE int longest_axis(vec3 v) {
    const vec3 size = absolute(v);
    const int k = size.y > size.x ? 1 : 0;
    return size.z > size[k] ? 2 : k;
}

SIM_INLINE real dot(vec3 a, vec3 b) { return multiply_add(a.z, b.z, multiply_add(a.y, b.y, a.x * b.x)); }

SIM_INLINE vec3 cross(vec3 a, vec3 b) {
    return {multiply_add(a.y, b.z, -(a.z * b.y)), multiply_add(a.z, b.x, -(a.x * b.z)),
            multiply_add(a.x, b.y, -(a.y * b.x))};
}

SIM_INLINE real length_squared(vec3 v) { return dot(v, v); }
SIM_INLINE real length(vec3 v) { return square_root(dot(v, v)); }

// v / |v|, or `fallback` where |v| counts as zero: below 2^-50 (1e-15) in float, 1e-162 in double
SIM_INLINE vec3 normalize(vec3 v, vec3 fallback) {
    const real size = length(v);
    return size == real(0) ? fallback : reciprocal(size) * v;
}

// v / |v|, the zero vector where |v| counts as zero
SIM_INLINE vec3 normalize(vec3 v) { return normalize(v, zero_vec3()); }
