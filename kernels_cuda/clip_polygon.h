// A convex polygon cut by the sides of another (Sutherland and Hodgman 1974), its corners numbered by the two lines
// that meet there: the numbers do not depend on the order of the cuts.
#pragma once

#include "feature_polygon.h"

constexpr int CLIPPED_CORNERS = 2 * POLYGON_CORNERS;

// Corners in space; `line[i]` is the line from corner i to the next: below POLYGON_CORNERS an edge of the polygon that
// was cut, above it a side of the other.
struct ClippedPolygon {
    vec3 corner[CLIPPED_CORNERS];
    unsigned char line[CLIPPED_CORNERS];
    int count;

    SIM_INLINE int line_before(int i) const { return line[i == 0 ? count - 1 : i - 1]; }

    SIM_INLINE int number(int i) const { return line_before(i) * CLIPPED_CORNERS + line[i]; }

    // The corner of the other polygon, of `sides` sides, at which two of these meet in corner i; -1: they do not.
    SIM_INLINE int corner_of_sides(int i, int sides) const {
        const int one = line_before(i) - POLYGON_CORNERS, other = line[i] - POLYGON_CORNERS;
        if (one < 0 || other < 0) return -1;
        if (other == (one + 1 == sides ? 0 : one + 1)) return other;
        return one == (other + 1 == sides ? 0 : other + 1) ? one : -1;
    }

    SIM_INLINE void take(vec3 p, int along) {
        if (count == CLIPPED_CORNERS) return;
        corner[count] = p;
        line[count++] = (unsigned char)along;
    }
};

// Cuts off what lies beyond the plane inwards . x = limit, whose number is `side`.
SIM_FUNCTION void cut(ClippedPolygon& polygon, vec3 outwards, real limit, int side) {
    ClippedPolygon rest;
    rest.count = 0;
    for (int i = 0; i < polygon.count; ++i) {
        const int next = i + 1 == polygon.count ? 0 : i + 1;
        const vec3 p = polygon.corner[i], q = polygon.corner[next];
        const real beyond_p = dot(outwards, p) - limit, beyond_q = dot(outwards, q) - limit;
        const bool p_in = beyond_p <= 0, q_in = beyond_q <= 0;
        const auto crossing = [&] { return multiply_add(divide(beyond_p, beyond_p - beyond_q), q - p, p); };
        if (p_in) rest.take(p, polygon.line[i]);
        if (p_in && !q_in) rest.take(crossing(), POLYGON_CORNERS + side);
        if (!p_in && q_in) rest.take(crossing(), polygon.line[i]);
    }
    polygon = rest;
}

// The part of `polygon` over the face `sides` along the direction `n`, out of the face; what is beyond a side by no
// more than `slack` is over it.
SIM_STAGE ClippedPolygon clip_polygon(const FeaturePolygon& polygon, const FeaturePolygon& sides, vec3 n, real slack) {
    ClippedPolygon rest;
    rest.count = 0;
    for (int i = 0; i < polygon.count; ++i) rest.take(polygon.corner[i], i);
    for (int i = 0; i < sides.count && rest.count > 0; ++i) {
        const vec3 p = sides.corner[i], q = sides.corner[i + 1 == sides.count ? 0 : i + 1];
        const vec3 outwards = normalize(cross(q - p, n));
        cut(rest, outwards, dot(outwards, p) + slack, i);
    }
    return rest;
}
