// Where a ray meets the surface of a shape, in the shape's own frame.
//
// A ray is origin + t direction with a unit direction, t >= 0. Each function lowers `hit` to the first meeting with the
// surface from either side that is nearer than `hit.t`; the normal points out of the shape. Discriminants are written
// with the distance between the ray and an axis, so that a far ray does not lose its digits.
#pragma once

#include "vector.h"

struct SurfaceHit {
    real t;
    vec3 normal;
};

struct Ray {
    vec3 origin, direction;

    SIM_INLINE vec3 at(real t) const { return multiply_add(t, direction, origin); }
};

// Below this a component of a unit direction counts as zero: its reciprocal and products stay inside their domains.
constexpr real SMALLEST_SLOPE = real(1e-15);

SIM_INLINE bool is_parallel(real slope) { return absolute(slope) < SMALLEST_SLOPE; }

// Is t a meeting in front of the origin, and nearer than the one known?
SIM_INLINE bool is_nearer(const SurfaceHit& hit, real t) { return t >= 0 && t < hit.t; }

// Roots t0 <= t1 of a t^2 + 2 b t + c = 0 with a > 0 and discriminant d = b^2 - a c >= 0, without cancellation.
struct Roots {
    real t[2];
};

SIM_FUNCTION Roots quadratic_roots(real a, real b, real c, real d) {
    const real root = square_root(d);
    const real q = b > 0 ? -(b + root) : root - b;
    const real first = divide(q, a), second = q == 0 ? first : divide(c, q);
    return first < second ? Roots{{first, second}} : Roots{{second, first}};
}

SIM_FUNCTION void ray_plane(const Ray& ray, vec3 size, SurfaceHit& hit) {
    if (is_parallel(ray.direction.z)) return;
    const real t = divide(-ray.origin.z, ray.direction.z);
    if (!is_nearer(hit, t)) return;
    const vec3 p = ray.at(t);
    if (size.x > 0 && absolute(p.x) > size.x) return;
    if (size.y > 0 && absolute(p.y) > size.y) return;
    hit = {t, vec3{0, 0, 1}};
}

// A sphere of radius r about `centre`, of which the part counts where keep(point - centre) holds.
template <class Keep>
SIM_FUNCTION void ray_ball(const Ray& ray, vec3 centre, real r, SurfaceHit& hit, Keep keep) {
    const vec3 from = ray.origin - centre;
    const real b = dot(from, ray.direction);
    const vec3 nearest = multiply_add(-b, ray.direction, from);
    const real d = multiply_add(r, r, -dot(nearest, nearest));
    if (!(d >= 0)) return;
    const Roots roots = quadratic_roots(real(1), b, dot(from, from) - r * r, d);
    for (int i = 0; i < 2; ++i) {
        const vec3 p = multiply_add(roots.t[i], ray.direction, from);
        if (is_nearer(hit, roots.t[i]) && keep(p)) hit = {roots.t[i], normalize(p, -ray.direction)};
    }
}

SIM_FUNCTION void ray_sphere(const Ray& ray, vec3 size, SurfaceHit& hit) {
    ray_ball(ray, zero_vec3(), size.x, hit, [](vec3) { return true; });
}

// The side of a cylinder of radius r about z, between -h and h.
SIM_FUNCTION void ray_tube(const Ray& ray, real r, real h, SurfaceHit& hit) {
    const vec3 o = ray.origin, d = ray.direction;
    const real a = multiply_add(d.x, d.x, d.y * d.y);
    if (a < SMALLEST_SLOPE * SMALLEST_SLOPE) return;
    const real across = multiply_add(o.x, d.y, -(o.y * d.x));  // the distance from the axis, times sqrt(a)
    const real discriminant = multiply_add(a * r, r, -(across * across));
    if (!(discriminant >= 0)) return;
    const real b = multiply_add(o.x, d.x, o.y * d.y), c = multiply_add(o.x, o.x, multiply_add(o.y, o.y, -(r * r)));
    const Roots roots = quadratic_roots(a, b, c, discriminant);
    for (int i = 0; i < 2; ++i) {
        const vec3 p = ray.at(roots.t[i]);
        if (is_nearer(hit, roots.t[i]) && absolute(p.z) <= h)
            hit = {roots.t[i], normalize(vec3{p.x, p.y, 0}, -ray.direction)};
    }
}

// A disc of radius r at height z whose normal is (0, 0, side).
SIM_FUNCTION void ray_disc(const Ray& ray, real r, real z, real side, SurfaceHit& hit) {
    if (is_parallel(ray.direction.z)) return;
    const real t = divide(z - ray.origin.z, ray.direction.z);
    if (!is_nearer(hit, t)) return;
    const vec3 p = ray.at(t);
    if (multiply_add(p.x, p.x, p.y * p.y) <= r * r) hit = {t, vec3{0, 0, side}};
}

SIM_FUNCTION void ray_cylinder(const Ray& ray, vec3 size, SurfaceHit& hit) {
    ray_tube(ray, size.x, size.y, hit);
    ray_disc(ray, size.x, size.y, real(1), hit);
    ray_disc(ray, size.x, -size.y, real(-1), hit);
}

SIM_FUNCTION void ray_capsule(const Ray& ray, vec3 size, SurfaceHit& hit) {
    ray_tube(ray, size.x, size.y, hit);
    ray_ball(ray, vec3{0, 0, size.y}, size.x, hit, [](vec3 p) { return p.z >= 0; });
    ray_ball(ray, vec3{0, 0, -size.y}, size.x, hit, [](vec3 p) { return p.z <= 0; });
}

// Base of radius r at -h, apex at h: x^2 + y^2 = k^2 (h - z)^2 with k = r / (2 h). The ray counts from its point next
// to the apex, so that the digits there tell on which side it passes; what it meets above by round-off is the apex.
SIM_FUNCTION void ray_cone(const Ray& ray, vec3 size, SurfaceHit& hit) {
    const real r = size.x, h = size.y, k = divide(r, real(2) * h);
    ray_disc(ray, r, -h, real(-1), hit);
    const vec3 d = ray.direction, from_apex = ray.origin - vec3{0, 0, h};
    const real near = -dot(from_apex, d);
    const vec3 o = multiply_add(near, d, from_apex);
    const real w = -k * o.z, v = -k * d.z;  // the radius of the cone along the ray: w + v t
    real a = multiply_add(d.x, d.x, d.y * d.y) - v * v;
    real b = multiply_add(o.x, d.x, o.y * d.y) - w * v;
    real c = multiply_add(o.x, o.x, o.y * o.y) - w * w;
    // b^2 - a c as squares of two-dimensional cross products: (o x d)^2 counts against the cone's opening
    const real across = multiply_add(o.x, d.y, -(o.y * d.x));
    const real ox = multiply_add(d.x, w, -(o.x * v)), oy = multiply_add(d.y, w, -(o.y * v));
    const real discriminant = multiply_add(ox, ox, oy * oy) - across * across;
    if (!(discriminant >= 0)) return;
    real t[2];
    if (absolute(a) < SMALLEST_SLOPE) {
        if (absolute(b) < SMALLEST_SLOPE) return;
        t[0] = t[1] = divide(-c, real(2) * b);
    } else {
        if (a < 0) a = -a, b = -b, c = -c;
        const Roots roots = quadratic_roots(a, b, c, discriminant);
        t[0] = roots.t[0], t[1] = roots.t[1];
    }
    for (int i = 0; i < 2; ++i) {
        const vec3 p = multiply_add(t[i], d, o);
        if (!is_nearer(hit, near + t[i]) || p.z > REAL_EPSILON * h || p.z < -2 * h) continue;
        const real rho = square_root(multiply_add(p.x, p.x, p.y * p.y));
        hit = {near + t[i], rho == 0 ? vec3{0, 0, 1} : normalize(vec3{p.x, p.y, k * rho}, vec3{0, 0, 1})};
    }
}

// In the frame in which the ellipsoid is the unit sphere the direction has length |d / s|.
SIM_FUNCTION void ray_ellipsoid(const Ray& ray, vec3 size, SurfaceHit& hit) {
    const vec3 inverse = {reciprocal(size.x), reciprocal(size.y), reciprocal(size.z)};
    const vec3 scaled = multiply(ray.direction, inverse);
    const real stretch = length(scaled);
    if (stretch == 0) return;
    const Ray unit = {multiply(ray.origin, inverse), reciprocal(stretch) * scaled};
    SurfaceHit found = {hit.t * stretch, zero_vec3()};
    const real before = found.t;
    ray_ball(unit, zero_vec3(), real(1), found, [](vec3) { return true; });
    if (found.t < before) hit = {divide(found.t, stretch), normalize(multiply(found.normal, inverse), -ray.direction)};
}

// Slabs: the ray is inside between the last entry and the first exit.
SIM_FUNCTION void ray_box(const Ray& ray, vec3 size, SurfaceHit& hit) {
    real entry = -REAL_MAX, exit = REAL_MAX;
    int entry_axis = 0, exit_axis = 0;
    for (int i = 0; i < 3; ++i) {
        const real d = ray.direction[i], o = ray.origin[i], h = size[i];
        if (is_parallel(d)) {
            if (absolute(o) > h) return;
            continue;
        }
        const real inverse = reciprocal(d);
        const real low = (-h - o) * inverse, high = (h - o) * inverse;
        const real near_side = minimum(low, high), far_side = maximum(low, high);
        if (near_side > entry) entry = near_side, entry_axis = i;
        if (far_side < exit) exit = far_side, exit_axis = i;
    }
    if (entry > exit) return;
    const bool outside = entry >= 0;
    const real t = outside ? entry : exit;
    if (!is_nearer(hit, t)) return;
    const int axis = outside ? entry_axis : exit_axis;
    const real side = (ray.direction[axis] > 0) == outside ? real(-1) : real(1);
    hit = {t, vec3{axis == 0 ? side : real(0), axis == 1 ? side : real(0), axis == 2 ? side : real(0)}};
}
