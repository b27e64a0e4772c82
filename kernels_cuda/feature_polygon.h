// The feature of a convex body that faces a direction, as a polygon: a face, an edge, or a point.
#pragma once

#include "support.h"

constexpr int POLYGON_CORNERS = 16;

struct FeaturePolygon {
    vec3 corner[POLYGON_CORNERS];  // counter-clockwise seen from outside
    int count;
    vec3 normal;  // of a face, outward unit
    int feature;  // number of the face within the body
};

SIM_FUNCTION void take_point(FeaturePolygon& f, vec3 p) { f.corner[f.count++] = p; }

// Sine of the tilt below which a disc lies flat.
constexpr real LYING_TILT = real(1e-3);

// A disc at height z: eight points of its rim, from the one furthest along d on; where the disc is square to d, and
// that one a matter of round-off, from x on, so that they stay with the body.
SIM_FUNCTION void take_disc(FeaturePolygon& f, vec3 d, real radius, real z) {
    const real across = square_root(multiply_add(d.x, d.x, d.y * d.y));
    const bool lying = across < LYING_TILT;
    const real scale = lying ? 0 : reciprocal(across);
    const vec3 u = lying ? vec3{radius, 0, 0} : vec3{radius * scale * d.x, radius * scale * d.y, 0};
    const vec3 v = z < 0 ? vec3{u.y, -u.x, 0} : vec3{-u.y, u.x, 0};
    const real diagonal = real(0.70710678118654752440);
    const vec3 ways[4] = {u, diagonal * (u + v), v, diagonal * (v - u)};
    const vec3 middle = {0, 0, z};
    for (int i = 0; i < 4; ++i) f.corner[i] = middle + ways[i];
    for (int i = 0; i < 4; ++i) f.corner[4 + i] = middle - ways[i];
    f.count = 8;
    f.normal = {0, 0, z < 0 ? real(-1) : real(1)};
    f.feature = z < 0 ? 1 : 0;
}

// d laid into the x, y plane, of length r; along x where d stands on it.
SIM_INLINE vec3 laid_down(vec3 d, real r) {
    const vec3 flat = normalize(vec3{d.x, d.y, 0}, vec3{1, 0, 0});
    return {r * flat.x, r * flat.y, 0};
}

// Component along its axis above which a cylinder meets a direction with a disc, below it with a line of its side.
constexpr real DISC_COMPONENT = real(0.2);

SIM_FUNCTION void cylinder_feature(FeaturePolygon& f, const Convex& c, vec3 d) {
    if (absolute(d.z) > DISC_COMPONENT) return take_disc(f, d, c.size.x, end_towards(c.size.y, d.z));
    const vec3 side = laid_down(d, c.size.x);
    take_point(f, {side.x, side.y, c.size.y});
    take_point(f, {side.x, side.y, -c.size.y});
    f.feature = 2;
}

// Between the base's normal and the side's the choice is by which of them is nearer to d.
SIM_FUNCTION void cone_feature(FeaturePolygon& f, const Convex& c, vec3 d) {
    const real slant = inverse_square_root(multiply_add(c.size.x, c.size.x, 4 * c.size.y * c.size.y));
    const real across = square_root(multiply_add(d.x, d.x, d.y * d.y));
    const real side = slant * multiply_add(2 * c.size.y, across, c.size.x * d.z);
    if (-d.z > side) return take_disc(f, d, c.size.x, -c.size.y);
    const vec3 rim = laid_down(d, c.size.x);
    take_point(f, {0, 0, c.size.y});
    take_point(f, {rim.x, rim.y, -c.size.y});
    f.feature = 2;
}

SIM_FUNCTION void box_feature(FeaturePolygon& f, vec3 h, vec3 d) {
    const int k = longest_axis(d);
    const int k1 = (k + 1) % 3, k2 = (k + 2) % 3;
    const real side = d[k] < 0 ? real(-1) : real(1);
    for (int i = 0; i < 4; ++i) {
        vec3 p = zero_vec3();
        p[k] = side * h[k];
        p[k1] = (i == 0 || i == 3 ? h[k1] : -h[k1]);
        p[k2] = side * (i < 2 ? h[k2] : -h[k2]);
        take_point(f, p);
    }
    f.normal[k] = side;
    f.feature = 2 * k + (side < 0);
}

// A face goes through a vertex of its hull that is this near to its plane (in the pair's unit).
constexpr real HOLDS_VERTEX = real(1e-5);

// Of the faces round the vertex furthest along d the one that faces it most. A face of more corners than there is room
// for is thinned evenly.
SIM_FUNCTION void hull_feature(FeaturePolygon& f, const Convex& c, vec3 d) {
    const ModelView& m = *c.model;
    const int first = m.mesh_hull_face_start[c.mesh], end = m.mesh_hull_face_start[c.mesh + 1];
    const int point = m.mesh_hull_point_start[c.mesh];
    const vec3 highest = hull_point(c, hull_support(c, d));
    const vec3 stretch = {reciprocal(c.size.x), reciprocal(c.size.y), reciprocal(c.size.z)};
    const bool mirrored = c.size.x * c.size.y * c.size.z < 0;
    real best = -2;
    int chosen = first;
    for (int face = first; face < end; ++face) {
        const vec3 normal = normalize(multiply(stretch, load_vec3(&m.hull_face_normal[3 * face])));
        const real facing = dot(normal, d);
        if (!(facing > best)) continue;
        const vec3 corner = hull_point(c, m.hull_corner[m.hull_face_start[face]] - point);
        if (dot(normal, corner - highest) > HOLDS_VERTEX) continue;
        best = facing;
        chosen = face;
        f.normal = normal;
    }
    const int start = m.hull_face_start[chosen], corners = m.hull_face_start[chosen + 1] - start;
    const int taken = corners < POLYGON_CORNERS ? corners : POLYGON_CORNERS;
    for (int i = 0; i < taken; ++i) {
        const int k = (mirrored ? taken - 1 - i : i) * corners / taken;
        take_point(f, hull_point(c, m.hull_corner[start + k] - point));
    }
    f.feature = chosen - first;
}

SIM_FUNCTION void triangle_feature(FeaturePolygon& f, const Convex& c, vec3 d) {
    const vec3 normal = normalize(cross(c.corner[1] - c.corner[0], c.corner[2] - c.corner[0]), vec3{0, 0, 1});
    const bool front = dot(normal, d) >= 0;
    for (int i = 0; i < 3; ++i) take_point(f, c.corner[front ? i : 2 - i]);
    f.normal = front ? normal : -normal;
}

// The feature of the core that faces the unit direction d, in its own frame.
SIM_STAGE FeaturePolygon feature_polygon(const Convex& c, vec3 d) {
    FeaturePolygon f;
    f.count = 0;
    f.normal = zero_vec3();
    f.feature = 0;
    switch (c.kind) {
        case CONVEX_SEGMENT:
            take_point(f, {0, 0, c.size.y});
            take_point(f, {0, 0, -c.size.y});
            break;
        case CONVEX_BOX: box_feature(f, c.size, d); break;
        case CONVEX_CYLINDER: cylinder_feature(f, c, d); break;
        case CONVEX_CONE: cone_feature(f, c, d); break;
        case CONVEX_HULL: hull_feature(f, c, d); break;
        case CONVEX_TRIANGLE:
        case CONVEX_PRISM: triangle_feature(f, c, d); break;
        default: take_point(f, core_support(c, d));
    }
    return f;
}
