"""The kernels through which tests reach vector.h, matrix.h, quaternion.h and spatial.h: one item a row."""

TEXT = """
#include "spatial.h"

SIM_INLINE sym33 load_symmetric(const real* p) { return {p[0], p[1], p[2], p[3], p[4], p[5]}; }
SIM_INLINE void store_symmetric(real* p, const sym33& s) {
    p[0] = s.xx; p[1] = s.yy; p[2] = s.zz; p[3] = s.xy; p[4] = s.xz; p[5] = s.yz;
}
SIM_INLINE Motion load_motion(const real* p) { return {load_vec3(p), load_vec3(p + 3)}; }
SIM_INLINE Force load_force(const real* p) { return {load_vec3(p), load_vec3(p + 3)}; }
SIM_INLINE void store_motion(real* p, const Motion& m) { store_vec3(p, m.linear); store_vec3(p + 3, m.angular); }
SIM_INLINE void store_force(real* p, const Force& f) { store_vec3(p, f.linear); store_vec3(p + 3, f.angular); }

// a (3), b (3) -> 32 numbers
extern "C" __global__ void vectors(const real* a, const real* b, real* out, int n) {
    for_each(i, n) {
        const vec3 v = load_vec3(a + 3 * i), w = load_vec3(b + 3 * i);
        real* o = out + 32 * i;
        store_vec3(o, v + w);
        store_vec3(o + 3, v - w);
        store_vec3(o + 6, cross(v, w));
        o[9] = dot(v, w);
        o[10] = length(v);
        o[11] = length_squared(v);
        store_vec3(o + 12, normalize(v));
        store_vec3(o + 15, normalize(v, w));
        store_vec3(o + 18, multiply_add(w.x, v, w));
        store_vec3(o + 21, multiply(v, w));
        store_vec3(o + 24, minimum(v, w));
        store_vec3(o + 27, maximum(absolute(v), -w));
        vec3 indexed = {v[2], v[0], v[1]};
        indexed[1] = real(7);
        o[30] = indexed.x + indexed.y + indexed.z;
        o[31] = is_finite(v) ? real(1) : real(0);
    }
}

// matrix m (9), symmetric s (6), vector v (3) -> 80 numbers
extern "C" __global__ void matrices(const real* m, const real* s, const real* v, real* out, int n) {
    for_each(i, n) {
        const mat33 a = load_mat33(m + 9 * i);
        const sym33 b = load_symmetric(s + 6 * i);
        const vec3 x = load_vec3(v + 3 * i);
        real* o = out + 80 * i;
        store_vec3(o, a * x);
        store_vec3(o + 3, transpose_multiply(a, x));
        store_mat33(o + 6, a * transpose(a));
        store_mat33(o + 15, inverse(a));
        o[24] = determinant(a);
        store_mat33(o + 25, skew(x));
        store_vec3(o + 34, b * x);
        store_vec3(o + 37, solve(b, x));
        store_symmetric(o + 40, inverse(b));
        store_symmetric(o + 46, rotate_symmetric(a, b));
        store_symmetric(o + 52, skew_squared(x));
        store_symmetric(o + 58, outer(x));
        o[64] = determinant(b);
        o[65] = trace(b);
        store_symmetric(o + 66, multiply_add(x.x, b, symmetric(full(b) + full(b))));
        store_vec3(o + 72, column(a, 2));
        o[75] = a[1][2];
    }
}

// quaternions p, q (4), vector v (3), angle (1) -> 48 numbers
extern "C" __global__ void quaternions(const real* p, const real* q, const real* v, const real* angle,
                                       real* out, int n) {
    for_each(i, n) {
        const quat a = normalize(load_quat(p + 4 * i)), b = normalize(load_quat(q + 4 * i));
        const vec3 x = load_vec3(v + 3 * i);
        real* o = out + 48 * i;
        store_quat(o, a * b);
        store_vec3(o + 4, rotate(a, x));
        store_vec3(o + 7, inverse_rotate(a, x));
        store_mat33(o + 10, mat33_from_quat(a));
        store_quat(o + 19, quat_from_mat33(mat33_from_quat(a)));
        store_quat(o + 23, quat_from_axis_angle(normalize(x), angle[i]));
        store_vec3(o + 27, rotation_vector(a));
        store_quat(o + 30, quat_from_rotation_vector(x));
        store_quat(o + 34, integrate(a, x, angle[i]));
        store_quat(o + 38, a);
    }
}

// rotation vectors there and back (3 -> 3)
extern "C" __global__ void rotation_round_trip(const real* v, real* out, int n) {
    for_each(i, n) store_vec3(out + 3 * i, rotation_vector(quat_from_rotation_vector(load_vec3(v + 3 * i))));
}

// any quaternion: normalised (4), its rotation vector (3)
extern "C" __global__ void raw_quaternions(const real* q, real* out, int n) {
    for_each(i, n) {
        const quat a = load_quat(q + 4 * i);
        store_quat(out + 7 * i, normalize(a));
        store_vec3(out + 7 * i + 4, rotation_vector(a));
    }
}

// poses a, b (7), point v (3) -> 27 numbers
extern "C" __global__ void transforms(const real* a, const real* b, const real* v, real* out, int n) {
    for_each(i, n) {
        const Transform s = load_pose(a + 7 * i), t = load_pose(b + 7 * i);
        const vec3 x = load_vec3(v + 3 * i);
        real* o = out + 27 * i;
        store_transform(o, s * t);
        store_transform(o + 7, s * inverse(s));
        store_vec3(o + 14, transform_point(s, x));
        store_vec3(o + 17, inverse_transform_point(s, transform_point(s, x)));
        store_transform(o + 20, s);
    }
}

// motions a, b (6), force f (6), position r (3) -> 50 numbers
extern "C" __global__ void spatial_vectors(const real* a, const real* b, const real* f, const real* r,
                                           real* out, int n) {
    for_each(i, n) {
        const Motion u = load_motion(a + 6 * i), w = load_motion(b + 6 * i);
        const Force g = load_force(f + 6 * i);
        const vec3 x = load_vec3(r + 3 * i);
        real* o = out + 50 * i;
        store_motion(o, cross(u, w));
        store_force(o + 6, cross(u, g));
        o[12] = dot(u, g);
        o[13] = dot(shift(u, x), shift(g, x));
        store_motion(o + 14, shift(u, x));
        store_force(o + 20, shift(g, x));
        store_force(o + 26, force_at(g.linear, x));
        store_motion(o + 32, rotation_about(w.angular, x));
        store_motion(o + 38, multiply_add(x.x, u, w) - translation_along(x));
        for (int c = 0; c < 3; ++c) {
            o[44 + c] = component(u, 2 * c);
            o[47 + c] = component(g, 2 * c + 1);
        }
    }
}

// mass (1), centre (3), inertia (6), rotation (9), stiffness w (6), position r (3), motion v (6) -> 28 numbers
extern "C" __global__ void spatial_matrices(const real* mass, const real* com, const real* inertia,
                                            const real* rotation, const real* w, const real* r, const real* v,
                                            real* out, int n) {
    for_each(i, n) {
        const SpatialInertia body = spatial_inertia(mass[i], load_vec3(com + 3 * i), load_symmetric(inertia + 6 * i),
                                                    load_mat33(rotation + 9 * i));
        const SpatialStiffness contact = stiffness_at(load_symmetric(w + 6 * i), load_vec3(r + 3 * i));
        const Motion u = load_motion(v + 6 * i);
        real* o = out + 28 * i;
        store_force(o, body * u);
        store_force(o + 6, contact * u);
        store_force(o + 12, (contact + contact) * u);
        store_force(o + 18, (body + body) * u);
    }
}
"""
