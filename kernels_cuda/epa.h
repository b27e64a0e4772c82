// The least translation that parts two convex cores that overlap: the expanding polytope of van den Bergen 2001.
//
// The polytope lies within the Minkowski difference, so the nearest of its faces is a bound of the depth from below,
// and the difference's own reach along a face's normal one from above. Faces whose corners lie on a line are kept, but
// are never the nearest.
#pragma once

#include "gjk.h"

#ifdef SIM_DOUBLE
constexpr int POLYTOPE_CORNERS = 96;
constexpr real EPA_TOLERANCE = 1e-12, CURVED_TOLERANCE = 1e-7, VISIBLE = 1e-14, FLAT_BODY = 1e-10;
#else
constexpr int POLYTOPE_CORNERS = 64;
constexpr real EPA_TOLERANCE = 2e-6f, CURVED_TOLERANCE = 2e-6f, VISIBLE = 2e-7f, FLAT_BODY = 1e-5f;
#endif

constexpr int POLYTOPE_FACES = 2 * POLYTOPE_CORNERS, POLYTOPE_RIM = 64;

struct PolytopeFace {
    vec3 normal;    // outwards; zero: the corners lie on a line
    real distance;  // of its plane from the origin
    unsigned char corner[4];
};

struct Polytope {
    DifferencePoint corner[POLYTOPE_CORNERS];
    PolytopeFace face[POLYTOPE_FACES];
    int corners, faces;
};

SIM_FUNCTION void add_face(Polytope& p, int i, int j, int k) {
    PolytopeFace& f = p.face[p.faces++];
    f.corner[0] = (unsigned char)i;
    f.corner[1] = (unsigned char)j;
    f.corner[2] = (unsigned char)k;
    const vec3 a = p.corner[i].w, e1 = p.corner[j].w - a, e2 = p.corner[k].w - a, n = cross(e1, e2);
    const real size = length(n), flat = FLAT_SINE * maximum(dot(e1, e1), dot(e2, e2));
    if (size > flat && size > real(1e-15)) {
        f.normal = reciprocal(size) * n;
        f.distance = dot(f.normal, a);
    } else {
        f.normal = zero_vec3();
        f.distance = REAL_INFINITY;
    }
}

SIM_FUNCTION vec3 any_normal(vec3 v) {
    const vec3 size = absolute(v);
    const bool least_x = size.x <= size.y && size.x <= size.z;
    const vec3 axis = least_x ? vec3{1, 0, 0} : size.y <= size.z ? vec3{0, 1, 0} : vec3{0, 0, 1};
    return normalize(cross(v, axis), vec3{1, 0, 0});
}

// The corner that lies furthest, by `measure`, among those along six directions about the origin: the axes of a frame
// with z along `axis`.
template <class Measure>
SIM_FUNCTION bool add_furthest(Polytope& p, const ConvexPair& pair, vec3 shift, vec3 axis, Measure measure) {
    const vec3 x = any_normal(axis), y = cross(axis, x);
    real most = FLAT_BODY;
    bool found = false;
    for (int i = 0; i < 6; ++i) {
        const vec3 way = i < 2 ? x : i < 4 ? y : axis;
        const DifferencePoint next = difference_support(pair, shift, i & 1 ? -way : way);
        const real size = measure(next.w);
        if (!(size > most)) continue;
        most = size;
        p.corner[p.corners] = next;
        found = true;
    }
    if (found) ++p.corners;
    return found;
}

// A tetrahedron from the last simplex of gjk(), which holds the origin or touches it. False where the difference has no
// volume: `normal` is then a direction across it.
SIM_FUNCTION bool first_tetrahedron(Polytope& p, const ConvexPair& pair, vec3 shift, const GjkResult& near,
                                    vec3& normal) {
    p.corners = near.count;
    p.faces = 0;
    for (int i = 0; i < near.count; ++i) p.corner[i] = near.corner[i];
    DifferencePoint* c = p.corner;
    const auto height = [&](int i) {
        return dot(c[i].w - c[0].w, normalize(cross(c[1].w - c[0].w, c[2].w - c[0].w)));
    };
    if (p.corners == 4 && absolute(height(3)) < FLAT_BODY) p.corners = 3;
    if (p.corners == 1 &&
        !add_furthest(p, pair, shift, vec3{0, 0, 1}, [&](vec3 w) { return length(w - c[0].w); }))
        return normal = vec3{1, 0, 0}, false;
    const vec3 edge = normalize(c[1].w - c[0].w, vec3{0, 0, 1});
    const auto off_edge = [&](vec3 w) { return length(cross(w - c[0].w, edge)); };
    if (p.corners >= 3 && !(off_edge(c[2].w) > FLAT_BODY)) p.corners = 2;
    if (p.corners == 2 && !add_furthest(p, pair, shift, edge, off_edge)) return normal = any_normal(edge), false;
    if (p.corners == 3) {
        const vec3 across = normalize(cross(edge, c[2].w - c[0].w), vec3{1, 0, 0});
        if (!add_furthest(p, pair, shift, across, [&](vec3 w) { return absolute(dot(w - c[0].w, across)); }))
            return normal = across, false;
    }
    const bool turned = dot(c[3].w - c[0].w, cross(c[1].w - c[0].w, c[2].w - c[0].w)) > 0;
    const int i = turned ? 2 : 1, j = turned ? 1 : 2;
    add_face(p, 0, i, j);
    add_face(p, 0, j, 3);
    add_face(p, j, i, 3);
    add_face(p, i, 0, 3);
    return true;
}

// Takes a corner into the polytope: the faces that see it go, and their rim is joined to it. False where there is no
// room, or round-off leaves no rim.
SIM_FUNCTION bool expand(Polytope& p, const DifferencePoint& next) {
    unsigned char from[POLYTOPE_RIM], to[POLYTOPE_RIM];
    int rim = 0;
    for (int f = 0; f < p.faces;) {
        const PolytopeFace face = p.face[f];
        if (!(dot(face.normal, next.w) > face.distance + VISIBLE)) {
            ++f;
            continue;
        }
        p.face[f] = p.face[--p.faces];
        for (int e = 0; e < 3; ++e) {
            const unsigned char i = face.corner[e], j = face.corner[e == 2 ? 0 : e + 1];
            int twin = rim - 1;
            while (twin >= 0 && !(from[twin] == j && to[twin] == i)) --twin;
            if (twin >= 0) {
                --rim;
                from[twin] = from[rim];
                to[twin] = to[rim];
            } else {
                if (rim == POLYTOPE_RIM) return false;
                from[rim] = i;
                to[rim++] = j;
            }
        }
    }
    if (rim < 3 || p.faces + rim > POLYTOPE_FACES) return false;
    p.corner[p.corners] = next;
    for (int e = 0; e < rim; ++e) add_face(p, from[e], to[e], p.corners);
    ++p.corners;
    return true;
}

// The direction along which the second core leaves the first by the shortest way; `depth` is how far it has to go: the
// difference's reach along it.
struct Exit {
    vec3 normal;
    real depth;
};

// The best of the axes of both cores. Where many directions are nearly as good, as in round bodies about one axis, a
// polytope may run out of corners before it comes to them.
SIM_FUNCTION Exit least_exit_by_axis(const ConvexPair& pair, vec3 shift) {
    Exit best = {vec3{1, 0, 0}, REAL_INFINITY};
    SIM_ROLLED
    for (int i = 0; i < 12; ++i) {
        vec3 axis = {real(i % 3 == 0), real(i % 3 == 1), real(i % 3 == 2)};
        if (i >= 6) axis = pair.turn * axis;
        if (i / 3 % 2 == 1) axis = -axis;
        const real reach = dot(axis, difference_support(pair, shift, axis).w);
        if (reach < best.depth) best = {axis, reach};
    }
    return best;
}

SIM_STAGE Exit least_exit(const ConvexPair& pair, vec3 shift, const GjkResult& near) {
    Polytope p;
    vec3 normal = {1, 0, 0};
    if (!first_tetrahedron(p, pair, shift, near, normal)) {
        const real up = dot(normal, difference_support(pair, shift, normal).w);
        const real down = -dot(normal, difference_support(pair, shift, -normal).w);
        return up <= down ? Exit{normal, up} : Exit{-normal, down};
    }
    Exit best = {normal, REAL_INFINITY};
    const real tolerance = is_curved(pair.a) || is_curved(pair.b) ? CURVED_TOLERANCE : EPA_TOLERANCE;
    SIM_ROLLED
    for (;;) {
        int nearest = 0;
        for (int f = 1; f < p.faces; ++f)
            if (p.face[f].distance < p.face[nearest].distance) nearest = f;
        const PolytopeFace face = p.face[nearest];
        if (!(face.distance < REAL_INFINITY)) break;
        const DifferencePoint next = difference_support(pair, shift, face.normal);
        const real reach = dot(face.normal, next.w);
        if (reach < best.depth) best = {face.normal, reach};
        if (best.depth - face.distance <= tolerance || p.corners == POLYTOPE_CORNERS) break;
        if (reach - face.distance <= VISIBLE || !expand(p, next)) break;
    }
    return best;
}
