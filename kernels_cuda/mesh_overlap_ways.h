// Features of two overlapping meshes that support each other, and the nearest of the ways that they give.
#pragma once

#include "mesh_overlap.h"

// The nearest way is looked for within this part of the smaller mesh's radius first, and within so many times as much
// after that.
constexpr real FIRST_REACH = real(0.03125), REACH_GROWTH = 16;
// A vertex may be beyond the edge of its face by this part of the smaller mesh's radius.
constexpr real FOOT_SLACK = real(1e-5);

// More than this is left of a way.
SIM_INLINE real least_left(const MeshOverlap& o) {
    return o.moved > 0 ? multiply_add(CLEARED_PART, o.moved, 4 * o.clear) : -o.clear;
}

SIM_FUNCTION bool is_better(const MeshOverlap& o, const OverlapWay& best, real left, const WayName& name) {
    return left > least_left(o) && (left < best.left || (left == best.left && name.before(best.name)));
}

// How far from a feature the other one of a better way may be.
SIM_INLINE real search_reach(const MeshOverlap& o, const OverlapWay& best) {
    return minimum(o.limit, best.left + o.moved) + 4 * o.clear;
}

struct Depths {
    real least, most;
};

// How deep a better way may be that the shift has led on by `gone`, give or take `spread`: what is left of a way is its
// depth less what it has gone.
SIM_INLINE Depths search_depths(const MeshOverlap& o, const OverlapWay& best, real gone, real spread) {
    const real slack = 8 * o.clear;
    return {maximum(least_left(o) + maximum(gone - spread, -o.moved), real(0)) - slack,
            minimum(best.left + minimum(gone + spread, o.moved), o.limit) + slack};
}

// Makes a box hold all that its points reach by up to `deep` along directions that differ from `middle` by no more than
// `spread` in each axis.
SIM_INLINE void sweep_box(vec3& lower, vec3& upper, real deep, vec3 middle, vec3 spread, real slack) {
    const vec3 around = slack * vec3{1, 1, 1};
    lower = minimum(lower, lower + deep * (middle - spread)) - around;
    upper = maximum(upper, upper + deep * (middle + spread)) + around;
}

SIM_INLINE bool is_in_box(vec3 p, vec3 lower, vec3 upper) {
    const vec3 beyond = maximum(p - upper, lower - p);
    return !(maximum(beyond.x, maximum(beyond.y, beyond.z)) > 0);
}

// Do triangles at a vertex cross a face, or those at an edge those at another one? Then they have passed each other,
// even where each has come out of the other again on the far side.
SIM_FUNCTION bool cross_at_vertex(const OverlapSide& s, int t, int corner, const Triangle& face) {
    return visit_around(s.mesh, t, corner, [&](int around, int) {
               return !triangles_cross(s.triangle(around), face);
           }) == ROUND_LEFT;
}

SIM_FUNCTION bool cross_at_edges(const MeshOverlap& o, int ta, const Triangle& a, int i, int tb, const Triangle& b,
                                 int j) {
    const int across_a = triangle_across(o.side[0].mesh, ta, i), across_b = triangle_across(o.side[1].mesh, tb, j);
    const Triangle other_a = across_a < 0 ? a : o.side[0].triangle(across_a),
                   other_b = across_b < 0 ? b : o.side[1].triangle(across_b);
    return triangles_cross(a, b) || triangles_cross(a, other_b) || triangles_cross(other_a, b) ||
           triangles_cross(other_a, other_b);
}

// Does a face of the other mesh push out a vertex of mesh k?
SIM_STAGE void vertex_way(const MeshOverlap& o, int k, int t, int corner, vec3 p, int u, const Triangle& face,
                          real slack, OverlapWay& best) {
    const OverlapSide &own = o.side[k], &other = o.side[1 - k];
    const real height = dot(face.normal, face.corner[0] - p);
    const real sense = other.sense != 0 ? other.sense : height < 0 ? real(-1) : real(1);
    const vec3 way = sense * face.normal;
    const real depth = sense * height, left = depth - dot(way, o.shift_of(k));
    const WayName name = {k, 3 * t + corner, u};
    if (!(depth >= -o.clear && depth < o.limit) || !is_better(o, best, left, name)) return;
    if (!(inset(face, p) >= -slack) || !owns_vertex(own.mesh, t, corner)) return;
    if (!vertex_supports(own, t, corner, way)) return;
    if (!has_passed(o, own, other, p, way, depth) && !cross_at_vertex(own, t, corner, face)) return;
    if (!is_still_held(o, 1 - k, p, way)) return;
    best.point = k == 0 ? p : multiply_add(depth, way, p);
    best.normal = k == 0 ? -way : way;
    best.depth = depth, best.left = left, best.name = name;
    best.triangle[k] = t, best.triangle[1 - k] = u;
    best.sense[k] = own.sense, best.sense[1 - k] = sense;
}

// The triangle whose edges lie by `slack` outside those of a face: larger about the centre of the circle in the face.
SIM_FUNCTION Triangle widened(const Triangle& face, real slack) {
    real edge[3];
    for (int i = 0; i < 3; ++i) edge[i] = length(face.corner[(i + 2) % 3] - face.corner[(i + 1) % 3]);
    const real round = edge[0] + edge[1] + edge[2];
    const vec3 area = cross(face.corner[1] - face.corner[0], face.corner[2] - face.corner[0]);
    const vec3 sum = edge[0] * face.corner[0] + edge[1] * face.corner[1] + edge[2] * face.corner[2];
    const vec3 centre = reciprocal(round) * sum;
    const real larger = divide(slack * round, length(area));  // slack over the radius of the circle
    Triangle wide = face;
    for (int i = 0; i < 3; ++i) wide.corner[i] = multiply_add(larger, face.corner[i] - centre, face.corner[i]);
    return wide;
}

// A box about what a face pushes out, behind it, and where `sense` is 0 in front of it too.
SIM_FUNCTION TurnedBox box_behind(const Triangle& face, real sense, Depths depths) {
    TurnedBox box = box_about(face, face.normal);
    if (!(sense < 0)) box.lower[2] -= depths.most;
    if (!(sense > 0)) box.upper[2] += depths.most;
    if (sense > 0) box.upper[2] -= depths.least;
    if (sense < 0) box.lower[2] += depths.least;
    return box;
}

// Vertices of mesh k that faces of the other one push out: they are behind the face, no deeper than a better way is
// long. Of a face that may push to either side, on both sides.
SIM_FUNCTION void all_vertex_ways(const MeshOverlap& o, int k, real slack, OverlapWay& best) {
    const OverlapSide &own = o.side[k], &other = o.side[1 - k];
    const vec3 around = (search_reach(o, best) + slack) * vec3{1, 1, 1};
    other.visit(o.lower - around, o.upper + around, [&](int u) {
        const Triangle face = other.triangle(u);
        if (is_zero(face.normal)) return;
        const vec3 way = other.sense * face.normal;
        const bool either = other.sense == 0;
        const Depths depths = search_depths(o, best, dot(way, o.shift_of(k)), either ? o.moved : real(0));
        if (depths.most < depths.least) return;
        const Triangle wide = widened(face, slack);
        vec3 lower = least_corner(wide), upper = largest_corner(wide);
        sweep_box(lower, upper, depths.most, -way, either ? absolute(face.normal) : zero_vec3(), slack + 4 * o.clear);
        lower = maximum(lower, o.lower), upper = minimum(upper, o.upper);
        const vec3 room = upper - lower;
        if (minimum(room.x, minimum(room.y, room.z)) < 0) return;
        const TurnedBox prism = box_behind(wide, other.sense, depths);
        own.visit(lower, upper, prism, slack + rounding(o), [&](int t) {
            for (int i = 0; i < 3; ++i) {
                const vec3 p = own.corner(t, i);
                if (is_in_box(p, o.lower, o.upper)) vertex_way(o, k, t, i, p, u, face, slack, best);
            }
        });
    });
}

// An edge of each mesh, across each other: of triangle ta, with corners `at`, and of tb.
SIM_STAGE void edge_way(const MeshOverlap& o, int ta, const vec3* at, int i, int tb, const Triangle& b, int j,
                        OverlapWay& best) {
    const vec3 pa = at[i], ea = at[(i + 1) % 3] - pa, pb = b.corner[j], eb = b.corner[(j + 1) % 3] - pb;
    const vec3 across = cross(ea, eb), between = pb - pa;
    const real size = dot(across, across), height = dot(across, between), most = search_reach(o, best);
    if (height * height > most * most * size) return;
    if (!(size > CROSSED_EDGES * CROSSED_EDGES * (dot(ea, ea) * dot(eb, eb)))) return;
    const real area_a = dot(cross(between, eb), across), area_b = dot(cross(between, ea), across);
    const auto is_beyond = [&](real area) {
        return area < -2 * FOOT_SLACK * size || area > (1 + 2 * FOOT_SLACK) * size;
    };
    if (is_beyond(area_a) || is_beyond(area_b)) return;
    const vec3 n = height > 0 ? -normalize(across) : normalize(across);
    const real depth = -dot(n, between), left = depth - dot(n, o.shift);
    const WayName name = {2, 3 * ta + i, 3 * tb + j};
    if (!(depth >= -o.clear && depth < o.limit) || !is_better(o, best, left, name)) return;
    const real scale = reciprocal(size), along_a = scale * area_a, along_b = scale * area_b;
    const auto is_within = [](real x) { return x >= -FOOT_SLACK && x <= 1 + FOOT_SLACK; };
    if (!is_within(along_a) || !is_within(along_b)) return;
    const Triangle a = o.side[0].triangle(ta);
    real sense[2];
    if (!edge_supports(o.side[0], ta, a, i, n, sense[0]) || !edge_supports(o.side[1], tb, b, j, -n, sense[1])) return;
    const vec3 on_a = multiply_add(along_a, ea, pa), on_b = multiply_add(-depth, n, on_a);
    if (!have_passed(o, on_a, on_b, n, depth) && !cross_at_edges(o, ta, a, i, tb, b, j)) return;
    if (!is_still_held(o, 0, on_b, n) && !is_still_held(o, 1, on_a, -n)) return;
    best = {on_a, n, depth, left, {sense[0], sense[1]}, {ta, tb}, name};
}

// Unit directions: none differs from `middle` by more than `spread`.
struct Directions {
    vec3 middle;
    real spread;
};

// An edge's directions are bounded where the sines of its angles with its faces' other edges are above this; round-off
// in its normals and in what supports is then less than that.
constexpr real FIRM_EDGE = real(0.05), DIRECTION_SLACK = real(0.02);

// Those between the normals of the two faces at a convex edge along e, from whose start `c` and `d` lead to the faces'
// third corners: none is further from the middle of the arc's chord than its ends. All, where a face is too thin.
SIM_FUNCTION Directions directions_between(vec3 e, vec3 c, vec3 d) {
    const vec3 n = cross(e, c), m = cross(d, e);
    const real size = dot(e, e), size_n = dot(n, n), size_m = dot(m, m), firm = FIRM_EDGE * FIRM_EDGE * size;
    if (!(size_n > firm * dot(c, c) && size_m > firm * dot(d, d))) return {zero_vec3(), 1};
    const vec3 from = real(0.5) * normalize(n), to = real(0.5) * normalize(m);
    return {from + to, length(from - to) + DIRECTION_SLACK};
}

// May an edge of a triangle support, and in which directions? Of each edge one triangle's; not those that lie flat, nor
// of a solid in a hollow.
SIM_FUNCTION bool is_edge_out(const OverlapSide& s, int t, const Triangle& triangle, int edge, Directions& ways) {
    ways = {zero_vec3(), 1};
    const int across = triangle_across(s.mesh, t, edge);
    if (across < 0) return true;
    if (across < t) return false;
    const Triangle other = s.triangle(across);
    const vec3 p = triangle.corner[edge];
    vec3 furthest = zero_vec3();
    real bend = 0;
    for (int c = 0; c < 3; ++c) {
        const vec3 e = other.corner[c] - p;
        const real height = dot(triangle.normal, e);
        if (absolute(height) > absolute(bend)) bend = height, furthest = e;
    }
    if (absolute(bend) <= SUPPORT_TOLERANCE * length(furthest)) return false;
    if (!s.solid) return true;
    ways = directions_between(triangle.corner[(edge + 1) % 3] - p, triangle.corner[(edge + 2) % 3] - p, furthest);
    return bend < 0;
}

// Edges of the first mesh across an edge of the second, which lies along the way before them, no deeper than a better
// way is long.
SIM_FUNCTION void edge_ways(const MeshOverlap& o, int tb, const Triangle& b, int j, const Directions& ways,
                            OverlapWay& best) {
    const Depths depths = search_depths(o, best, -dot(ways.middle, o.shift), ways.spread * o.moved);
    if (depths.most < depths.least) return;
    const real slack = 2 * FOOT_SLACK * o.far;
    const vec3 reach = (search_reach(o, best) + slack) * vec3{1, 1, 1};
    const vec3 p = b.corner[j], q = b.corner[(j + 1) % 3];
    vec3 lower = minimum(p, q), upper = maximum(p, q);
    sweep_box(lower, upper, depths.most, -ways.middle, ways.spread * vec3{1, 1, 1}, slack + 4 * o.clear);
    lower = maximum(lower, maximum(least_corner(b), o.lower) - reach);
    upper = minimum(upper, minimum(largest_corner(b), o.upper) + reach);
    const vec3 x = normalize(q - p), z = normalize(ways.middle), y = cross(z, x);
    TurnedBox turned = box_at(p, x, y, z);
    turned.hold(q);
    for (int i = 0; i < 3; ++i) {
        const real along = dot(turned.axis[i], ways.middle);
        const real least = along - ways.spread, most = along + ways.spread;
        turned.lower[i] -= maximum(most, real(0)) * depths.most;
        turned.upper[i] -= least * (least > 0 ? depths.least : depths.most);
    }
    o.side[0].visit(lower, upper, turned, slack + rounding(o), [&](int ta) {
        const vec3 at[3] = {o.side[0].corner(ta, 0), o.side[0].corner(ta, 1), o.side[0].corner(ta, 2)};
        for (int i = 0; i < 3; ++i)
            if (owns_edge(o.side[0], ta, i)) edge_way(o, ta, at, i, tb, b, j, best);
    });
}

SIM_FUNCTION void all_edge_ways(const MeshOverlap& o, OverlapWay& best) {
    o.side[1].visit(o.lower, o.upper, [&](int tb) {
        const Triangle b = o.side[1].triangle(tb);
        Directions ways;
        for (int j = 0; j < 3; ++j)
            if (is_edge_out(o.side[1], tb, b, j, ways)) edge_ways(o, tb, b, j, ways, best);
    });
}

// A box of the frame about a mesh, and where it is open about what it may push out.
SIM_FUNCTION void box_in_frame(const MeshOverlap& o, int k, vec3& lower, vec3& upper) {
    const OverlapSide& s = o.side[k];
    const ModelView& m = *s.mesh.model;
    const int root = m.mesh_node_start[s.mesh.mesh] + 1;
    const vec3 p = multiply(s.mesh.scale, load_vec3(&m.mesh_lower[3 * root])),
               q = multiply(s.mesh.scale, load_vec3(&m.mesh_upper[3 * root]));
    const vec3 middle = s.turn * (real(0.5) * (p + q) - s.origin),
               half = absolute(s.turn) * (real(0.5) * absolute(q - p)) + (s.solid ? real(0) : o.limit) * vec3{1, 1, 1};
    lower = middle - half;
    upper = middle + half;
}

SIM_FUNCTION MeshOverlap overlap_of(const MeshShape& first, const Transform& pose0, const MeshShape& second,
                                    const Transform& pose1, real radius, real far) {
    const ModelView& m = *first.model;
    const bool solid0 = m.mesh_solid[first.mesh] != 0, solid1 = m.mesh_solid[second.mesh] != 0;
    const bool convex = m.mesh_solid[first.mesh] == 2 && m.mesh_solid[second.mesh] == 2;
    const mat33 turn = mat33_from_quat(conjugate(pose0.q) * pose1.q);
    MeshOverlap o = {{{first,
                       inverse_transform_point(pose0, pose1.p),
                       {unit_vector(0), unit_vector(1), unit_vector(2)},
                       solid0,
                       real(solid0)},
                      {second, zero_vec3(), turn, solid1, real(solid1)}},
                     zero_vec3(),
                     zero_vec3(),
                     !convex,
                     2 * radius,
                     far,
                     64 * REAL_EPSILON * radius,
                     zero_vec3(),
                     0};
    vec3 lower, upper;
    box_in_frame(o, 0, o.lower, o.upper);
    box_in_frame(o, 1, lower, upper);
    const vec3 slack = real(16) * o.clear * vec3{1, 1, 1};
    o.lower = maximum(o.lower, lower) - slack;
    o.upper = minimum(o.upper, upper) + slack;
    return o;
}

SIM_FUNCTION void all_ways(const MeshOverlap& o, real radius, OverlapWay& best) {
    for (int k = 0; k < 2; ++k) all_vertex_ways(o, k, FOOT_SLACK * radius, best);
    all_edge_ways(o, best);
}

// Looks for a better way, near by first: where one is found within reach, none is further away.
SIM_FUNCTION void search_ways(const MeshOverlap& o, real radius, OverlapWay& best) {
    for (real reach = FIRST_REACH * radius;; reach *= REACH_GROWTH) {
        const bool is_last = best.name.kind != NO_WAY || !(reach + o.moved < o.limit);
        if (best.name.kind == NO_WAY) best.left = is_last ? REAL_INFINITY : reach;
        all_ways(o, radius, best);
        if (is_last || best.name.kind != NO_WAY) return;
    }
}

SIM_FUNCTION void widen_box(MeshOverlap& o, real by) {
    o.lower = o.lower - by * vec3{1, 1, 1};
    o.upper = o.upper + by * vec3{1, 1, 1};
}

// Features within the box of what overlaps; of convex solids also beyond it.
SIM_STAGE OverlapWay nearest_way(MeshOverlap& o, real radius) {
    OverlapWay best;
    best.left = REAL_INFINITY;
    best.name = {NO_WAY, 0, 0};
    search_ways(o, radius, best);
    if (!o.asks) {
        widen_box(o, search_reach(o, best));
        search_ways(o, radius, best);
    }
    return best;
}

SIM_INLINE bool is_way(const OverlapWay& way) { return way.left <= REAL_MAX; }

// The nearest way of features that have come out again on the far side, beyond the box of what overlaps. Where there is
// one, the box stays wide.
SIM_FUNCTION OverlapWay way_beyond(MeshOverlap& o, real radius) {
    const vec3 lower = o.lower, upper = o.upper;
    widen_box(o, o.limit);
    const OverlapWay way = nearest_way(o, radius);
    if (!is_way(way)) o.lower = lower, o.upper = upper;
    return way;
}
