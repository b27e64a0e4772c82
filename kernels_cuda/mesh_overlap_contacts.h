// Contacts of two meshes that overlap: for each way in which the second leaves, its faces clipped along it.
#pragma once

#include "mesh_overlap_whole.h"

constexpr int MOST_WAYS = 8;
// Ways longer than this part of the smaller mesh's radius, and those after which the meshes still cross when gone
// further by it, are compared with that by which all of one mesh leaves all of the other. One that leads against it
// (cosine), and is not shorter by LATER_FACTOR, leads deeper through a thin wall.
constexpr real SUSPECT_PART = real(0.02), AGAINST = real(-0.5);

// Contacts of one way may be deeper than it by this factor, and by this part of the smaller mesh's radius.
constexpr real DEEPER_FACTOR = 2, DEEPER_PART = real(2e-3);
// How deep the clipping's slack lets a corner seem, in units of the pair: over faces that lean by up to 10 degrees.
constexpr real CLIP_DEPTH = real(0.2) * MERGED;

// Takes contacts of the frame into a reduction; remembers the deepest.
struct OverlapWriter {
    ContactReduction& found;
    Transform frame;
    vec3 normal;
    int first[2];  // triangle of all of each mesh
    real deepest;

    SIM_FUNCTION void operator()(int ta, int tb, int number, vec3 point, real distance) {
        const int both = (triangle_contact(ta - first[0], number) & 0xfffff) << 10 | ((tb - first[1]) & 1023);
        found(both, transform_point(frame, point), rotate(frame.q, normal), distance);
        deepest = minimum(deepest, distance);
    }
};

SIM_INLINE Convex triangle_about(const Triangle& t, vec3 middle) {
    return {CONVEX_TRIANGLE,
            zero_vec3(),
            0,
            nullptr,
            -1,
            {t.corner[0] - middle, t.corner[1] - middle, t.corner[2] - middle},
            0};
}

SIM_INLINE bool is_turned_away(const OverlapSide& s, real facing) {
    return (s.sense == 0 ? absolute(facing) : s.sense * facing) < real(0.05);
}

// Faces of the two meshes that lie on each other along the way, clipped against each other.
SIM_STAGE void write_faces(const MeshOverlap& o, int ta, const Triangle& a, int tb, const Triangle& b, real depth,
                           real most, OverlapWriter& write) {
    const real facing_a = dot(a.normal, write.normal), facing_b = -dot(b.normal, write.normal);
    if (is_turned_away(o.side[0], facing_a) || is_turned_away(o.side[1], facing_b)) return;
    if (maximum(absolute(facing_a), absolute(facing_b)) < FACE_COSINE) return;
    const vec3 middle = real(0.33333333333333333333) * (b.corner[0] + b.corner[1] + b.corner[2]);
    ConvexPair pair = {triangle_about(a, middle),
                       triangle_about(b, middle),
                       {unit_vector(0), unit_vector(1), unit_vector(2)},
                       zero_vec3(),
                       1};
    pair.unit = maximum(2 * core_extent(pair.b), real(1e-12));
    rescale(pair.a, reciprocal(pair.unit));
    rescale(pair.b, reciprocal(pair.unit));
    ConvexManifold m;
    manifold_along(pair, write.normal, divide(write.found.reach, pair.unit), m);
    for (int i = 0; i < m.count; ++i) {
        real distance = pair.unit * m.distance[i];
        // a corner beyond a side by the slack of the clipping, over a face that leans
        if (distance < -depth && distance > -depth - pair.unit * CLIP_DEPTH) distance = -depth;
        if (distance >= -most) write(ta, tb, m.number[i] & 1023, multiply_add(pair.unit, m.point[i], middle), distance);
    }
}

// The numbers of contacts of ways within their two triangles, above those of clipped corners.
constexpr int WAY_NUMBER = 1023 - MOST_WAYS;

// The contacts of a way; the shift then clears the deepest of them.
SIM_STAGE void write_way(MeshOverlap& o, const OverlapWay& way, int number, real deeper, OverlapWriter& write) {
    for (int k = 0; k < 2; ++k) o.side[k].sense = way.sense[k];
    write.normal = way.normal;
    write.deepest = 0;
    write(way.triangle[0], way.triangle[1], WAY_NUMBER + number, way.point, -way.depth);
    const real most = minimum(maximum(DEEPER_FACTOR * way.depth, way.depth + deeper), o.enough);
    const vec3 gap = maximum(write.found.reach, real(0)) * vec3{1, 1, 1}, reach = most * vec3{1, 1, 1} + gap;
    // a face may have come out again on the far side
    const vec3 low = o.lower - reach, high = o.upper + reach;
    o.side[1].visit(low, high, [&](int tb) {
        const Triangle b = o.side[1].triangle(tb);
        if (is_turned_away(o.side[1], -dot(b.normal, write.normal))) return;
        const vec3 lower = maximum(least_corner(b), low), upper = minimum(largest_corner(b), high);
        o.side[0].visit(lower - reach, upper + reach,
                        [&](int ta) { write_faces(o, ta, o.side[0].triangle(ta), tb, b, way.depth, most, write); });
    });
    o.shift = multiply_add(maximum(-write.deepest - dot(way.normal, o.shift), o.clear), way.normal, o.shift);
    o.moved = length(o.shift);
}

// Do triangles that cross each other still do so after the ways so far, and a little further?
SIM_STAGE bool is_still_crossed(const MeshOverlap& o, real further) {
    const vec3 by = multiply_add(divide(further, o.moved), o.shift, o.shift);
    bool found = false;
    o.side[1].visit(o.lower, o.upper, [&](int tb) {
        if (found) return;
        const Triangle b = o.side[1].triangle(tb);
        Triangle moved = b;
        for (int i = 0; i < 3; ++i) moved.corner[i] = moved.corner[i] + by;
        visit_crossing(o, o.side[0], b, [&](int ta) {
            if (found) return;
            const Triangle a = o.side[0].triangle(ta);
            found = triangles_cross(a, b) && triangles_cross(a, moved);
        });
    });
    return found;
}

// Do the ways so far lead along or against a way?
SIM_INLINE bool is_aligned(const MeshOverlap& o, const OverlapWay& way) {
    return absolute(dot(o.shift, way.normal)) > FACE_COSINE * o.moved;
}

// Contacts of two meshes that overlap, along the ways in which the second leaves; false: there are none. Radii: of the
// meshes about their origins.
SIM_STAGE bool collide_overlap(const MeshShape& first, const Transform& pose0, real radius0, const MeshShape& second,
                             const Transform& pose1, real radius1, ContactReduction& found) {
    const real radius = minimum(radius0, radius1);
    MeshOverlap o = overlap_of(first, pose0, second, pose1, radius, 2 * (radius0 + radius1));
    const ModelView& m = *first.model;
    OverlapWriter write = {found,
                           {pose1.p, pose0.q},
                           zero_vec3(),
                           {m.mesh_triangle_start[first.mesh], m.mesh_triangle_start[second.mesh]},
                           0};
    // convex solids part by one way
    const int most = o.asks ? MOST_WAYS : 1;
    bool guessed = false, asked = false, may_look_beyond = o.asks;
    OverlapWay whole, crossing;
    whole.left = crossing.left = REAL_INFINITY;
    for (int i = 0; i < most; ++i) {
        OverlapWay best = nearest_way(o, radius);
        const bool ends = !is_way(best) && (i == 0 || is_still_crossed(o, SUSPECT_PART * radius));
        if (ends && may_look_beyond) best = way_beyond(o, radius);
        may_look_beyond = may_look_beyond && !ends;
        const bool guesses = ends && (guessed || !asked);
        if (!asked && (is_way(best) ? o.asks && best.depth > SUSPECT_PART * radius : ends)) {
            asked = true;
            crossing = way_of_crossing(o, radius);
            whole = way_of_all(o, crossing);
            o.enough = multiply_add(1 + CLEARED_PART, whole.left, 16 * o.clear);
            o.limit = minimum(o.limit, o.enough);
            if (is_way(best) && best.depth > o.enough) best = nearest_way(o, radius);
        }
        if (!is_way(best) && (i == 0 || guesses || (ends && is_aligned(o, whole)))) {
            best = i == 0 && crossing.left < whole.left ? crossing : whole;
            guessed = true;
        }
        if (!is_way(best)) return i > 0;
        if (whole.left < LATER_FACTOR * best.depth && dot(best.normal, whole.normal) < AGAINST) {
            if (i > 0 && !ends) return true;
            best = whole;
        }
        write_way(o, best, i, DEEPER_PART * radius, write);
        o.limit = minimum(o.enough, maximum(LATER_PART * radius, LATER_FACTOR * o.moved));
    }
    return true;
}
