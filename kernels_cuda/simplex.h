// The point of a simplex of up to four corners nearest to the origin, by signed volumes (Montanari, Petrinic and
// Barbieri 2017): of a triangle it is a multiple of the normal, so its direction keeps its digits near touch. It is
// taken from a corner near it: from one far away it would lose as much to round-off as the simplex is large.
#pragma once

#include "vector.h"

// The nearest point as a mean of the corners: `weight` of corner i, 0 where it takes no part.
struct NearestOfSimplex {
    vec3 point;
    real squared;  // of its distance
    real weight[4];
    bool inside;   // the origin is within a tetrahedron
};

SIM_FUNCTION NearestOfSimplex nearest_of_corner(const vec3* w, int i) {
    NearestOfSimplex found = {w[i], dot(w[i], w[i]), {0, 0, 0, 0}, false};
    found.weight[i] = 1;
    return found;
}

SIM_FUNCTION NearestOfSimplex nearest_of_segment(const vec3* w, int i, int j) {
    const vec3 e = w[j] - w[i];
    const real size = dot(e, e), along = -dot(w[i], e);
    if (!(along > 0)) return nearest_of_corner(w, i);
    if (!(along < size)) return nearest_of_corner(w, j);
    const real inverse = reciprocal(size), t = along * inverse;
    const vec3 nearer = along < real(0.5) * size ? w[i] : w[j];
    const vec3 point = multiply_add(-dot(nearer, e) * inverse, e, nearer);
    NearestOfSimplex found = {point, dot(point, point), {0, 0, 0, 0}, false};
    found.weight[i] = 1 - t;
    found.weight[j] = t;
    return found;
}

SIM_INLINE void keep_nearer(NearestOfSimplex& best, const NearestOfSimplex& other) {
    if (other.squared < best.squared) best = other;
}

// A triangle whose height is below this part of its longest side is a segment.
constexpr real FLAT_SINE = 8 * REAL_EPSILON;

SIM_FUNCTION NearestOfSimplex nearest_of_triangle(const vec3* w, int i, int j, int k) {
    const vec3 e1 = w[j] - w[i], e2 = w[k] - w[i], n = cross(e1, e2);
    const real size = dot(n, n), flat = FLAT_SINE * maximum(dot(e1, e1), dot(e2, e2));
    if (size > flat * flat && size > real(1e-30)) {
        const real scale = reciprocal(size);
        const vec3 foot = (dot(w[i], n) * scale) * n;
        const vec3 a = w[i] - foot, b = w[j] - foot, c = w[k] - foot;
        const real wa = scale * dot(cross(b, c), n), wb = scale * dot(cross(c, a), n), wc = 1 - wa - wb;
        if (wa >= 0 && wb >= 0 && wc >= 0) {
            const vec3 nearer = wa >= wb && wa >= wc ? w[i] : wb >= wc ? w[j] : w[k];
            const vec3 point = (dot(nearer, n) * scale) * n;
            NearestOfSimplex found = {point, dot(point, point), {0, 0, 0, 0}, false};
            found.weight[i] = wa;
            found.weight[j] = wb;
            found.weight[k] = wc;
            return found;
        }
    }
    NearestOfSimplex best = nearest_of_segment(w, i, j);
    keep_nearer(best, nearest_of_segment(w, j, k));
    keep_nearer(best, nearest_of_segment(w, k, i));
    return best;
}

SIM_FUNCTION NearestOfSimplex nearest_of_tetrahedron(const vec3* w) {
    NearestOfSimplex best = {zero_vec3(), REAL_INFINITY, {0, 0, 0, 0}, false};
    bool inside = true;
    for (int opposite = 0; opposite < 4; ++opposite) {
        const int i = (opposite + 1) & 3, j = (opposite + 2) & 3, k = (opposite + 3) & 3;
        const vec3 n = cross(w[j] - w[i], w[k] - w[i]);
        const real origin = -dot(w[i], n), corner = dot(w[opposite] - w[i], n);
        if (corner != 0 && (corner > 0 ? origin >= 0 : origin <= 0)) continue;
        inside = false;
        keep_nearer(best, nearest_of_triangle(w, i, j, k));
    }
    if (inside) best.squared = 0, best.inside = true;
    return best;
}

SIM_FUNCTION NearestOfSimplex nearest_of_simplex(const vec3* w, int count) {
    switch (count) {
        case 1: return nearest_of_corner(w, 0);
        case 2: return nearest_of_segment(w, 0, 1);
        case 3: return nearest_of_triangle(w, 0, 1, 2);
        default: return nearest_of_tetrahedron(w);
    }
}
