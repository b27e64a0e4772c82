// Contacts of two convex bodies: the direction of least overlap, then the feature of the one that faces it clipped
// against that of the other.
#pragma once

#include "clip_polygon.h"
#include "convex.h"

constexpr int CONVEX_CONTACTS = 8;

// A face stands for the contact when its normal is this near to the contact's (cosine). That of the second body is
// taken only if it is nearer by FACE_CHOICE: resting bodies keep their reference.
constexpr real FACE_COSINE = real(0.985);
constexpr real FACE_CHOICE = real(1e-3);

// Two edges are parallel below this sine.
constexpr real PARALLEL_SINE = real(0.03);

// Corners nearer to each other than this are one; edges that run along a side lie within half. In the pair's unit, but
// of a triangle that is smaller in its size: beside it, on its plane, a larger body would seem deeper than it is.
constexpr real MERGED = real(1e-3);

// A manifold stands without the nearest points when its deepest point is as deep to within this (in the pair's unit).
constexpr real MANIFOLD_TOLERANCE = real(3e-4);

// A rounded body lies on a face whose normal is this near to that of the contact, if this costs no more distance.
constexpr real SETTLED_COSINE = real(0.999);
constexpr real SETTLED_LOSS = real(1e-5);

// A face that leans no further than this from another (cosine) has points right over the other's corners.
constexpr real LEVEL_COSINE = real(0.1);

// Features of contacts at the nearest points alone.
constexpr int NEAREST_POINTS = 1 << 30;

// Contacts found so far, in the frame and unit of the pair: points of the first body.
struct ConvexManifold {
    vec3 point[CLIPPED_CORNERS];
    real distance[CLIPPED_CORNERS];
    int number[CLIPPED_CORNERS];
    int count;
    real merged;

    SIM_FUNCTION void take(vec3 p, real d, int id) {
        for (int i = 0; i < count; ++i) {
            const vec3 apart = p - point[i];
            if (dot(apart, apart) < merged * merged) return;
        }
        if (count == CLIPPED_CORNERS) return;
        point[count] = p;
        distance[count] = d;
        number[count++] = id;
    }
};

SIM_FUNCTION void transform_feature(FeaturePolygon& f, const ConvexPair& pair) {
    for (int i = 0; i < f.count; ++i) f.corner[i] = pair.turn * f.corner[i] + pair.offset;
    f.normal = pair.turn * f.normal;
}

// Moves a feature by the radius of the ball swept round its core.
SIM_FUNCTION void inflate(FeaturePolygon& f, vec3 by) {
    for (int i = 0; i < f.count; ++i) f.corner[i] = f.corner[i] + by;
}

// One feature clipped against a face; `second`: the face is the second body's. n: from the first body to the second.
SIM_FUNCTION void face_manifold(const FeaturePolygon& face, const FeaturePolygon& other, vec3 n, bool second,
                                real reach, ConvexManifold& out) {
    const real slack = real(0.5) * out.merged;
    const ClippedPolygon clipped = clip_polygon(other, face, second ? -n : n, slack);
    const real along = dot(face.normal, n), across = other.count > 2 ? dot(other.normal, n) : real(0);
    const bool level = absolute(across) > LEVEL_COSINE;
    for (int i = 0; i < clipped.count; ++i) {
        vec3 p = clipped.corner[i];
        const int corner = clipped.corner_of_sides(i, face.count);
        if (corner >= 0 && level) {  // the face's own, and not `slack` beside it
            const real off = dot(other.normal, p - face.corner[corner]);
            p = multiply_add(divide(off, across), n, face.corner[corner]);
        }
        // n . (p1 - p0), one of which is p and the other lies on the face's plane, on the line through p along n
        const real height = divide(dot(face.normal, p - face.corner[0]), along);
        const real distance = second ? -height : height;
        if (distance < reach) out.take(second ? p : multiply_add(-height, n, p), distance, clipped.number(i));
    }
}

// Two edges that run alongside each other: both ends of the common stretch.
SIM_FUNCTION void edge_manifold(const FeaturePolygon& a, const FeaturePolygon& b, vec3 n, real reach,
                                ConvexManifold& out) {
    const vec3 along = a.corner[1] - a.corner[0], other = b.corner[1] - b.corner[0];
    const real size = dot(along, along);
    const vec3 across = cross(along, other);
    if (!(dot(across, across) < PARALLEL_SINE * PARALLEL_SINE * size * dot(other, other))) return;
    const real scale = reciprocal(size);
    const real t0 = scale * dot(b.corner[0] - a.corner[0], along), t1 = scale * dot(b.corner[1] - a.corner[0], along);
    const real low = maximum(minimum(t0, t1), real(0)), high = minimum(maximum(t0, t1), real(1));
    if (!(low < high)) return;
    for (int i = 0; i < 2; ++i) {
        const real t = i == 0 ? low : high;
        const vec3 p = multiply_add(t, along, a.corner[0]);
        const vec3 q = multiply_add(divide(t - t0, t1 - t0), other, b.corner[0]);
        const real distance = dot(n, q - p);
        if (distance < reach) out.take(p, distance, i);
    }
}

// Keeps at most CONVEX_CONTACTS: the deepest, and the furthest in eight directions of a frame about n that goes with
// the first body (of nearly equal ones the first).
SIM_FUNCTION void thin_out(ConvexManifold& m, vec3 n) {
    if (m.count <= CONVEX_CONTACTS) return;
    const vec3 size = absolute(n);
    const vec3 axis = size.x < real(0.6) ? vec3{1, 0, 0} : vec3{0, 1, 0};
    const vec3 u = normalize(cross(n, axis)), v = cross(n, u);
    unsigned kept = 0;
    int left = CONVEX_CONTACTS;
    const auto keep = [&](auto measure) {
        int best = 0;
        for (int i = 1; i < m.count; ++i)
            if (measure(i) > measure(best) + m.merged) best = i;
        if (left == 0 || (kept >> best & 1u)) return;
        kept |= 1u << best;
        --left;
    };
    keep([&](int i) { return -m.distance[i]; });
    const real diagonal = real(0.70710678118654752440);
    for (int way = 0; way < 8; ++way) {
        const real turn_u = way % 4 == 0 ? real(1) : way % 4 == 2 ? real(0) : diagonal;
        const real turn_v = way % 4 == 0 ? real(0) : way % 4 == 2 ? real(1) : way % 4 == 1 ? diagonal : -diagonal;
        const vec3 d = (way < 4 ? real(1) : real(-1)) * (turn_u * u + turn_v * v);
        keep([&](int i) { return dot(m.point[i], d); });
    }
    int count = 0;
    for (int i = 0; i < m.count; ++i) {
        if (!(kept >> i & 1u)) continue;
        m.point[count] = m.point[i];
        m.distance[count] = m.distance[i];
        m.number[count++] = m.number[i];
    }
    m.count = count;
}

SIM_FUNCTION void sort_by_number(ConvexManifold& m) {
    for (int i = 1; i < m.count; ++i)
        for (int k = i; k > 0 && m.number[k] < m.number[k - 1]; --k) {
            const vec3 p = m.point[k];
            const real d = m.distance[k];
            const int id = m.number[k];
            m.point[k] = m.point[k - 1], m.distance[k] = m.distance[k - 1], m.number[k] = m.number[k - 1];
            m.point[k - 1] = p, m.distance[k - 1] = d, m.number[k - 1] = id;
        }
}

// Where a rounded body touches a face the normal is the face's, and the point that of the body furthest against it:
// exact, and steady while the body rolls.
SIM_FUNCTION void settle_on_face(const ConvexPair& pair, ConvexDistance& d) {
    FeaturePolygon a = feature_polygon(pair.a, d.normal);
    FeaturePolygon b = feature_polygon(pair.b, -transpose_multiply(pair.turn, d.normal));
    const bool on_first = a.count > 2 && b.count == 1, on_second = b.count > 2 && a.count == 1;
    if (!on_first && !on_second) return;
    const vec3 n = on_first ? a.normal : -(pair.turn * b.normal);
    if (!(dot(n, d.normal) > SETTLED_COSINE)) return;
    const DifferencePoint furthest = difference_support(pair, zero_vec3(), n);
    const real distance = -dot(n, furthest.w) - pair.a.radius - pair.b.radius;
    if (!(distance > d.distance - SETTLED_LOSS)) return;
    const vec3 on_b = multiply_add(-pair.b.radius, n, furthest.a - furthest.w);
    d.point = on_first ? multiply_add(-distance, n, on_b) : multiply_add(pair.a.radius, n, furthest.a);
    d.normal = n;
    d.distance = distance;
}

SIM_FUNCTION real merged_within(const Convex& c) {
    if (c.kind != CONVEX_TRIANGLE) return MERGED;
    const real size = maximum(length(c.corner[1] - c.corner[0]), length(c.corner[2] - c.corner[0]));
    return MERGED * minimum(size, real(1));
}

// All contacts along the direction n, nearer than `reach`. Features: the number within the manifold, and above it those
// of the two faces and which one was clipped against.
SIM_STAGE void manifold_along(const ConvexPair& pair, vec3 n, real reach, ConvexManifold& out) {
    out.count = 0;
    out.merged = merged_within(pair.a);
    FeaturePolygon a = feature_polygon(pair.a, n);
    FeaturePolygon b = feature_polygon(pair.b, -transpose_multiply(pair.turn, n));
    transform_feature(b, pair);
    if (a.count < 2 || b.count < 2) return;
    inflate(a, pair.a.radius * n);
    inflate(b, -pair.b.radius * n);
    const real facing_a = a.count > 2 ? dot(a.normal, n) : real(0);
    const real facing_b = b.count > 2 ? -dot(b.normal, n) : real(0);
    const bool second = facing_b > facing_a + FACE_CHOICE;
    const bool face = maximum(facing_a, facing_b) > FACE_COSINE;
    if (face && second) face_manifold(b, a, n, true, reach, out);
    else if (face) face_manifold(a, b, n, false, reach, out);
    else if (a.count == 2 && b.count == 2) edge_manifold(a, b, n, reach, out);
    const int faces = (a.feature & 255) << 19 | (b.feature & 255) << 11 | (second ? 1 << 10 : 0);
    for (int i = 0; i < out.count; ++i) out.number[i] |= faces;
    thin_out(out, n);
    sort_by_number(out);
}

// Contacts of the pair, and where its manifold does not reach as deep as the bodies do, one at their nearest points.
// `write` works in the world and in m.
template <class Writer>
SIM_FUNCTION void collide_convex(const ConvexPair& pair, const Transform& pose, Writer& write) {
    const real reach = divide(write.reach, pair.unit);
    ConvexDistance d = convex_distance(pair, reach);
    if (d.far || !(d.distance < reach)) return;
    settle_on_face(pair, d);
    ConvexManifold m;
    manifold_along(pair, d.normal, reach, m);
    const vec3 normal = rotate(pose.q, d.normal);
    real deepest = REAL_INFINITY;
    for (int i = 0; i < m.count; ++i) deepest = minimum(deepest, m.distance[i]);
    const bool stands = deepest <= d.distance + MANIFOLD_TOLERANCE;
    const int kept = stands || m.count < CONVEX_CONTACTS ? m.count : CONVEX_CONTACTS - 1;
    for (int i = 0; i < kept; ++i)
        write(m.number[i], transform_point(pose, pair.unit * m.point[i]), normal, pair.unit * m.distance[i]);
    if (!stands) write(NEAREST_POINTS, transform_point(pose, pair.unit * d.point), normal, pair.unit * d.distance);
}
