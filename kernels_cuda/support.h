// Convex bodies by their support functions, and the Minkowski difference of two of them.
//
// A body is a core with a ball of some radius swept round it: a sphere is a point, a capsule a segment. A core is given
// in the shape's own frame, in a unit of length that is the pair's own (ConvexPair), so that tolerances are numbers.
#pragma once

#include "arrays.h"
#include "collide_shape.h"
#include "enums.h"

enum ConvexKind : int {
    CONVEX_POINT,
    CONVEX_SEGMENT,    // along z, size.y half its length
    CONVEX_BOX,        // size: half extents
    CONVEX_ELLIPSOID,  // size: semi-axes
    CONVEX_CYLINDER,   // size: radius, half height
    CONVEX_CONE,       // size: radius, half height; base below
    CONVEX_HULL,       // of mesh `mesh`, scaled by size
    CONVEX_TRIANGLE,   // corners
    CONVEX_PRISM,      // the solid under the triangle, down to z = floor
    CONVEX_POINTS,     // the hull of `mesh` points, scaled by size
};

struct Convex {
    int kind;
    vec3 size;
    real radius;  // of the ball swept round the core
    const ModelView* model;
    int mesh;
    vec3 corner[3];
    real floor;
    const vec3* points = nullptr;
};

// Vertex i of a hull, in its scale.
SIM_INLINE vec3 hull_point(const Convex& c, int i) {
    return multiply(c.size, load_vec3(&c.model->hull_point[3 * (c.model->mesh_hull_point_start[c.mesh] + i)]));
}

SIM_INLINE int hull_points(const Convex& c) {
    return c.model->mesh_hull_point_start[c.mesh + 1] - c.model->mesh_hull_point_start[c.mesh];
}

// Above this number of vertices the furthest is climbed to along edges.
constexpr int MOST_SCANNED_POINTS = 32;

// The vertex furthest along a direction, the first of equal ones, among the vertices scanned.
SIM_FUNCTION int hull_support(const Convex& c, vec3 direction) {
    const vec3 d = multiply(c.size, direction);
    const int first = c.model->mesh_hull_point_start[c.mesh], count = hull_points(c);
    const auto height = [&](int i) { return dot(load_vec3(&c.model->hull_point[3 * (first + i)]), d); };
    int best = 0;
    real highest = height(0);
    if (count <= MOST_SCANNED_POINTS) {
        for (int i = 1; i < count; ++i) {
            const real h = height(i);
            if (h > highest) best = i, highest = h;
        }
        return best;
    }
    for (bool climbing = true; climbing;) {
        climbing = false;
        const int from = first + best;
        for (int k = c.model->hull_neighbour_start[from]; k < c.model->hull_neighbour_start[from + 1]; ++k) {
            const int next = c.model->hull_neighbour[k] - first;
            const real h = height(next);
            if (h > highest) best = next, highest = h, climbing = true;
        }
    }
    return best;
}

// A point of the circle of radius r in the x, y plane, furthest along d; its middle where d stands on the plane.
SIM_INLINE vec3 circle_support(vec3 d, real r, real z) {
    const real across = square_root(multiply_add(d.x, d.x, d.y * d.y));
    if (!(across > SMALLEST_SEPARATION)) return {0, 0, z};
    const real scale = r * reciprocal(across);
    return {scale * d.x, scale * d.y, z};
}

SIM_INLINE vec3 triangle_support(const Convex& c, vec3 d) {
    const real h0 = dot(c.corner[0], d), h1 = dot(c.corner[1], d), h2 = dot(c.corner[2], d);
    return h1 > h0 ? (h2 > h1 ? c.corner[2] : c.corner[1]) : h2 > h0 ? c.corner[2] : c.corner[0];
}

SIM_FUNCTION vec3 prism_support(const Convex& c, vec3 d) {
    if (!(d.z < 0)) return triangle_support(c, d);
    const vec3 flat = triangle_support(c, {d.x, d.y, 0});
    return {flat.x, flat.y, c.floor};
}

// The first of the points furthest along d.
SIM_FUNCTION vec3 points_support(const Convex& c, vec3 d) {
    int best = 0;
    for (int i = 1; i < c.mesh; ++i)
        if (dot(c.points[i], d) > dot(c.points[best], d)) best = i;
    return multiply(c.size, c.points[best]);
}

// The furthest point of the core along a direction of any length, in its own frame.
SIM_FUNCTION vec3 core_support(const Convex& c, vec3 d) {
    switch (c.kind) {
        case CONVEX_SEGMENT: return {0, 0, end_towards(c.size.y, d.z)};
        case CONVEX_BOX: return {end_towards(c.size.x, d.x), end_towards(c.size.y, d.y), end_towards(c.size.z, d.z)};
        case CONVEX_ELLIPSOID: return multiply(c.size, normalize(multiply(c.size, d)));
        case CONVEX_CYLINDER: return circle_support(d, c.size.x, end_towards(c.size.y, d.z));
        case CONVEX_CONE: {
            const vec3 rim = circle_support(d, c.size.x, -c.size.y);
            return 2 * c.size.y * d.z > multiply_add(rim.x, d.x, rim.y * d.y) ? vec3{0, 0, c.size.y} : rim;
        }
        case CONVEX_HULL: return hull_point(c, hull_support(c, d));
        case CONVEX_TRIANGLE: return triangle_support(c, d);
        case CONVEX_PRISM: return prism_support(c, d);
        case CONVEX_POINTS: return points_support(c, d);
        default: return zero_vec3();
    }
}

// Is the core curved, so that nearest points are approached and not reached?
SIM_INLINE bool is_curved(const Convex& c) {
    return c.kind == CONVEX_ELLIPSOID || c.kind == CONVEX_CYLINDER || c.kind == CONVEX_CONE;
}

// Radius of a ball about the origin that holds the core.
SIM_FUNCTION real core_extent(const Convex& c) {
    switch (c.kind) {
        case CONVEX_POINT: return 0;
        case CONVEX_SEGMENT: return c.size.y;
        case CONVEX_BOX: return length(c.size);
        case CONVEX_ELLIPSOID: return maximum(c.size.x, maximum(c.size.y, c.size.z));
        case CONVEX_CYLINDER:
        case CONVEX_CONE: return square_root(multiply_add(c.size.x, c.size.x, c.size.y * c.size.y));
        case CONVEX_HULL: {
            real most = 0;
            for (int i = 0; i < hull_points(c); ++i) most = maximum(most, length_squared(hull_point(c, i)));
            return square_root(most);
        }
        default: return maximum(length(c.corner[0]), maximum(length(c.corner[1]), length(c.corner[2])));
    }
}

// Two bodies in the first one's frame, in units of `unit` (m).
struct ConvexPair {
    Convex a, b;
    mat33 turn;   // from the second one's axes to the first one's
    vec3 offset;  // of the second one's origin
    real unit;
};

SIM_FUNCTION void rescale(Convex& c, real factor) {
    c.size = factor * c.size;
    c.radius = factor * c.radius;
    for (int i = 0; i < 3; ++i) c.corner[i] = factor * c.corner[i];
    c.floor = factor * c.floor;
}

// `extent`: radii of balls about the two origins that hold the bodies, in m.
SIM_FUNCTION ConvexPair convex_pair(const Convex& a, const Transform& pose_a, const Convex& b, const Transform& pose_b,
                                    real extent_a, real extent_b) {
    ConvexPair pair = {a, b, mat33_from_quat(conjugate(pose_a.q) * pose_b.q),
                       inverse_transform_point(pose_a, pose_b.p), maximum(extent_a + extent_b, real(1e-12))};
    const real factor = reciprocal(pair.unit);
    rescale(pair.a, factor);
    rescale(pair.b, factor);
    pair.offset = factor * pair.offset;
    return pair;
}

// A point w = a - b of the difference of the cores, and the point a of the first that it comes from.
struct DifferencePoint {
    vec3 w, a;
};

// The point of the difference furthest along d, with the second core moved by `shift`.
SIM_FUNCTION DifferencePoint difference_support(const ConvexPair& pair, vec3 shift, vec3 d) {
    const vec3 a = core_support(pair.a, d);
    const vec3 b = pair.turn * core_support(pair.b, -transpose_multiply(pair.turn, d)) + pair.offset + shift;
    return {a - b, a};
}
