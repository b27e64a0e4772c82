// Two meshes that overlap, and the few ways in which the second leaves the first.
//
// The least translation that parts two solids is to the nearest facet of the boundary of their Minkowski difference. Of
// polyhedra such a facet belongs to a vertex of one and a face of the other, or to two edges, which support each other:
// along the facet's normal each is the outermost of its surface near by. For convex solids the nearest of these facets
// is the answer (Cameron and Culley 1986); here they are taken near the overlap, whatever the solids are beyond. What
// the nearest does not part, since it is deeper or lies elsewhere, is parted by the next: so a body in a corner gets a
// way for the floor and one for the wall, and a vertex near the back of a thin wall none through it.
#pragma once

#include "mesh_solid.h"

// One of two meshes that overlap, in the frame of the pair.
struct OverlapSide {
    MeshShape mesh;
    vec3 origin;  // of the frame, in the mesh's own axes
    mat33 turn;   // from the mesh's own axes to the frame's
    bool solid;   // it closes up
    real sense;   // 1: it pushes along its normals, -1: against them; 0: open, not yet known

    SIM_FUNCTION vec3 corner(int t, int i) const {
        return turn * (multiply(mesh.scale, raw_corner(mesh, t, i)) - origin);
    }

    SIM_FUNCTION Triangle triangle(int t) const {
        Triangle result = load_triangle(mesh, t, origin);
        for (int i = 0; i < 3; ++i) result.corner[i] = turn * result.corner[i];
        result.normal = turn * result.normal;
        return result;
    }

    // Calls visit(t) for every triangle whose box meets lower .. upper of the frame, whatever the tree's leaves hold.
    template <class Visit>
    SIM_FUNCTION void visit(vec3 lower, vec3 upper, Visit visit) const {
        const MeshBox box = own_box(lower, upper);
        visit_leaves(
            mesh, [&](int node) { return overlaps(box, *mesh.model, node); },
            [&](int t) {
                const vec3 a = raw_corner(mesh, t, 0), b = raw_corner(mesh, t, 1), c = raw_corner(mesh, t, 2);
                if (meet(box, minimum(a, minimum(b, c)), maximum(a, maximum(b, c)))) visit(t);
            });
    }

    SIM_FUNCTION MeshBox own_box(vec3 lower, vec3 upper) const {
        const vec3 middle = transpose_multiply(turn, real(0.5) * (lower + upper)), half = real(0.5) * (upper - lower);
        const mat33 size = {absolute(turn.x), absolute(turn.y), absolute(turn.z)};
        const vec3 around = transpose_multiply(size, half) + real(8) * REAL_EPSILON * absolute(middle);
        return unscaled_box(mesh, origin + middle - around, origin + middle + around);
    }
};

constexpr int NO_WAY = 3;

// What a feature is found by: the order in which of two equally near ways the first is taken.
struct WayName {
    int kind;  // 0, 1: a vertex of that mesh, 2: two edges, NO_WAY: none as yet
    int one, other;

    SIM_INLINE bool before(const WayName& b) const {
        return kind != b.kind ? kind < b.kind : one != b.one ? one < b.one : other < b.other;
    }
};

struct OverlapWay {
    vec3 point;   // of the first mesh, in the frame
    vec3 normal;  // in which the second leaves
    real depth;   // along it
    real left;    // of the depth, after the ways before; infinite: there is no way
    real sense[2];
    int triangle[2];
    WayName name;
};

struct MeshOverlap {
    OverlapSide side[2];
    vec3 lower, upper;  // of a box that holds all of what overlaps
    bool asks;          // whether features that support each other have passed each other; of convex solids they have
    real limit;         // m: no way is longer
    real far;           // m: no ray through a mesh is longer
    real clear;         // m: round-off
    vec3 shift;         // of the second by the ways so far
    real moved;         // m: the length of that
    real enough = REAL_INFINITY;  // m: along some way all of one leaves all of the other, so no contact is deeper

    // How a mesh has been moved against the other.
    SIM_INLINE vec3 shift_of(int k) const { return k == 1 ? shift : -shift; }
};

constexpr int MOST_WAYS = 8;
// The nearest way is looked for within this part of the smaller mesh's radius first, and within so many times as much
// after that.
constexpr real FIRST_REACH = real(0.03125), REACH_GROWTH = 16;
// Ways after the first are looked for no deeper than this part of the smaller mesh's radius (what moves by more in a
// step is followed), or than this many times what is deepest so far.
constexpr real LATER_PART = SURFACE_THICKNESS, LATER_FACTOR = 4;
// Ways longer than this part of the smaller mesh's radius are compared with that by which all of one mesh leaves all of
// the other. One that leads against it (cosine), and is not shorter by LATER_FACTOR, leads deeper through a thin wall.
constexpr real SUSPECT_PART = real(0.02), AGAINST = real(-0.5);
// Of the ways so far this part more is gone before it is asked what still overlaps.
constexpr real CLEARED_PART = real(1e-3);
// A vertex may be beyond the edge of its face by this part of the smaller mesh's radius.
constexpr real FOOT_SLACK = real(1e-5);
// Room for round-off in what supports (sine of an angle), and for edges that are parallel.
#ifdef SIM_DOUBLE
constexpr real SUPPORT_TOLERANCE = 1e-9, CROSSED_EDGES = 1e-7;
#else
constexpr real SUPPORT_TOLERANCE = 2e-6f, CROSSED_EDGES = 1e-3f;
#endif

// ---- rays ----------------------------------------------------------------------------------------------------------

struct SurfaceHit {
    real distance;  // infinite: none
    bool leaves;    // through the side to which the surface pushes
};

// Is the origin inside the triangle of the plane? By crossings of the axis x > 0, of which an edge has as many seen
// from both of its triangles: the products are the same to the bit.
SIM_INLINE bool crosses_axis(real px, real py, real qx, real qy) {
    if ((py > 0) == (qy > 0)) return false;
    const real area = px * qy - py * qx;
    return qy > py ? area > 0 : area < 0;
}

// The first that a ray meets of a surface between `from` and `to`; watertight at edges.
SIM_STAGE SurfaceHit first_hit(const OverlapSide& s, vec3 p, vec3 way, real from, real to) {
    const vec3 size = absolute(way);
    const vec3 u = normalize(cross(way, unit_vector(size.x < real(0.6) ? 0 : 1))), v = cross(way, u);
    const vec3 begin = multiply_add(from, way, p), end = multiply_add(to, way, p);
    SurfaceHit hit = {REAL_INFINITY, false};
    s.visit(minimum(begin, end), maximum(begin, end), [&](int t) {
        const Triangle triangle = s.triangle(t);
        real x[3], y[3];
        for (int i = 0; i < 3; ++i) {
            const vec3 c = triangle.corner[i] - p;
            x[i] = dot(c, u), y[i] = dot(c, v);
        }
        const bool inside = crosses_axis(x[0], y[0], x[1], y[1]) != crosses_axis(x[1], y[1], x[2], y[2]);
        if (inside == crosses_axis(x[2], y[2], x[0], y[0])) return;
        const real facing = dot(triangle.normal, way), height = dot(triangle.normal, triangle.corner[0] - p);
        if (facing == 0) return;
        const real distance = divide(height, facing);
        if (distance > from && distance < to && distance < hit.distance)
            hit = {distance, s.sense == 0 || s.sense * facing > 0};
    });
    return hit;
}

// Is nothing of the surface strictly between a point and that at `depth` from it?
SIM_FUNCTION bool is_free(const MeshOverlap& o, const OverlapSide& s, vec3 p, vec3 way, real depth) {
    if (depth < 16 * o.clear) return true;
    return first_hit(s, p, way, real(1e-3) * depth, real(0.999) * depth).distance > depth;
}

// Is a point inside a surface as a ray sees it, and nothing of it nearer than `depth`?
SIM_FUNCTION bool is_inside(const MeshOverlap& o, const OverlapSide& s, vec3 p, vec3 way, real depth) {
    const SurfaceHit hit = first_hit(s, p, way, 0, o.far);
    return hit.leaves && hit.distance >= depth;
}

// Does a segment pass through a triangle, and where? By the signs of the volumes that they span.
SIM_FUNCTION bool passes_through(vec3 p, vec3 q, const Triangle& t, vec3& place) {
    const real below = dot(t.normal, p - t.corner[0]), above = dot(t.normal, q - t.corner[0]);
    if (!(below * above < 0)) return false;
    const vec3 way = q - p;
    int sign = 0;
    for (int i = 0; i < 3; ++i) {
        const real volume = dot(way, cross(t.corner[i] - p, t.corner[(i + 1) % 3] - p));
        sign += (volume > 0) - (volume < 0);
    }
    place = multiply_add(divide(below, below - above), way, p);
    return sign == 3 || sign == -3;
}

// The ends of the line in which two triangles cross; false: they do not.
SIM_FUNCTION bool crossing_line(const Triangle& a, const Triangle& b, vec3& from, vec3& to) {
    int count = 0;
    for (int i = 0; i < 6 && count < 2; ++i) {
        const Triangle &own = i < 3 ? a : b, &other = i < 3 ? b : a;
        count += passes_through(own.corner[i % 3], own.corner[(i + 1) % 3], other, count == 0 ? from : to);
    }
    return count == 2;
}

SIM_FUNCTION bool triangles_cross(const Triangle& a, const Triangle& b) {
    vec3 from, to;
    return crossing_line(a, b, from, to);
}

// Has a vertex of one mesh been pushed through a face of the other at `depth` from it? It is inside the other, or what
// is pushed through holds all of the way back.
SIM_FUNCTION bool has_passed(const MeshOverlap& o, const OverlapSide& own, const OverlapSide& other, vec3 p, vec3 way,
                             real depth) {
    if (!o.asks || is_free(o, other, p, way, depth)) return true;
    return own.solid && is_inside(o, own, multiply_add(real(1e-3) * depth, way, p), way, real(0.998) * depth);
}

// The same of two edges, the ends of the way: each mesh holds the other's edge, or one of them does.
SIM_FUNCTION bool have_passed(const MeshOverlap& o, vec3 on_a, vec3 on_b, vec3 n, real depth) {
    if (!o.asks || depth < 16 * o.clear) return true;
    const vec3 middle = real(0.5) * (on_a + on_b);
    const auto holds = [&](const OverlapSide& s, vec3 way, vec3 from) {
        return is_free(o, s, from, -way, depth) && (!s.solid || is_inside(o, s, middle, way, 0));
    };
    return holds(o.side[0], -n, on_b) || holds(o.side[1], n, on_a);
}

// Does a point of mesh 1 - k still overlap mesh k, which pushes it along `way`, after the ways so far?
SIM_FUNCTION bool is_still_held(const MeshOverlap& o, int k, vec3 p, vec3 way) {
    const vec3 moved = o.shift_of(1 - k);
    if (is_zero(moved)) return true;
    const vec3 place = p + multiply_add(1 + CLEARED_PART, moved, 4 * o.clear * normalize(moved));
    return first_hit(o.side[k], place, way, 0, o.far).leaves;
}

// ---- what supports -------------------------------------------------------------------------------------------------

// Is the triangle the first of those round the vertex?
SIM_FUNCTION bool owns_vertex(const MeshShape& s, int t, int corner) {
    return visit_around(s, t, corner, [&](int other, int) { return other >= t; }) != ROUND_LEFT;
}

// Is a vertex the outermost of its surface against `way`, with the solid behind it? By its edges, and the sign of its
// normal (the faces' sum by angles, Baerentzen and Aanaes 2005).
SIM_FUNCTION bool vertex_supports(const OverlapSide& s, int t, int corner, vec3 way) {
    vec3 normal = zero_vec3();
    const Round round = visit_around(s.mesh, t, corner, [&](int other, int at) {
        const Triangle triangle = s.triangle(other);
        const vec3 e = triangle.corner[(at + 1) % 3] - triangle.corner[at],
                   f = triangle.corner[(at + 2) % 3] - triangle.corner[at];
        normal = multiply_add(arc_tangent2(length(cross(e, f)), dot(e, f)), triangle.normal, normal);
        return dot(e, way) >= -SUPPORT_TOLERANCE * length(e) && dot(f, way) >= -SUPPORT_TOLERANCE * length(f);
    });
    return round != ROUND_LEFT && (!s.solid || dot(normal, way) < 0);
}

// Is an edge the outermost of its surface along `way`, with the solid behind it? `sense`: 1 on the side of the normals.
SIM_FUNCTION bool edge_supports(const OverlapSide& s, int t, const Triangle& triangle, int edge, vec3 way,
                                real& sense) {
    const vec3 p = triangle.corner[edge];
    const auto is_below = [&](vec3 e) { return dot(e, way) <= SUPPORT_TOLERANCE * length(e); };
    if (!is_below(triangle.corner[(edge + 2) % 3] - p)) return false;
    const int across = triangle_across(s.mesh, t, edge);
    sense = s.sense;
    if (across < 0) return true;
    const Triangle other = s.triangle(across);
    for (int i = 0; i < 3; ++i)
        if (!is_below(other.corner[i] - p)) return false;
    const real facing = dot(triangle.normal + other.normal, way);
    sense = facing < 0 ? real(-1) : real(1);
    return s.sense == 0 || s.sense == sense;
}

SIM_INLINE bool owns_edge(const OverlapSide& s, int t, int edge) {
    const int across = triangle_across(s.mesh, t, edge);
    return across < 0 || across > t;
}

// ---- ways ----------------------------------------------------------------------------------------------------------

SIM_FUNCTION bool is_better(const MeshOverlap& o, const OverlapWay& best, real left, const WayName& name) {
    const real least = o.moved > 0 ? multiply_add(CLEARED_PART, o.moved, 4 * o.clear) : -o.clear;
    return left > least && (left < best.left || (left == best.left && name.before(best.name)));
}

// How far from a feature the other one of a better way may be.
SIM_INLINE real search_reach(const MeshOverlap& o, const OverlapWay& best) {
    return minimum(o.limit, best.left + o.moved) + 4 * o.clear;
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

// A vertex of mesh k that a face of the other one pushes out.
SIM_STAGE void vertex_ways(const MeshOverlap& o, int k, int t, int corner, vec3 p, real slack, OverlapWay& best) {
    const OverlapSide &own = o.side[k], &other = o.side[1 - k];
    const vec3 reach = search_reach(o, best) * vec3{1, 1, 1};
    other.visit(p - reach, p + reach, [&](int u) {
        const Triangle face = other.triangle(u);
        if (is_zero(face.normal)) return;
        const real height = dot(face.normal, face.corner[0] - p);
        const real sense = other.sense != 0 ? other.sense : height < 0 ? real(-1) : real(1);
        const vec3 way = sense * face.normal;
        const real depth = sense * height, left = depth - dot(way, o.shift_of(k));
        const WayName name = {k, 3 * t + corner, u};
        if (!(depth >= -o.clear && depth < o.limit) || !is_better(o, best, left, name)) return;
        if (!(inset(face, p) >= -slack) || !vertex_supports(own, t, corner, way)) return;
        if (!has_passed(o, own, other, p, way, depth) && !cross_at_vertex(own, t, corner, face)) return;
        if (!is_still_held(o, 1 - k, p, way)) return;
        best.point = k == 0 ? p : multiply_add(depth, way, p);
        best.normal = k == 0 ? -way : way;
        best.depth = depth, best.left = left, best.name = name;
        best.triangle[k] = t, best.triangle[1 - k] = u;
        best.sense[k] = own.sense, best.sense[1 - k] = sense;
    });
}

SIM_FUNCTION void all_vertex_ways(const MeshOverlap& o, int k, real slack, OverlapWay& best) {
    o.side[k].visit(o.lower, o.upper, [&](int t) {
        const Triangle triangle = o.side[k].triangle(t);
        for (int i = 0; i < 3; ++i) {
            const vec3 p = triangle.corner[i], beyond = maximum(p - o.upper, o.lower - p);
            if (maximum(beyond.x, maximum(beyond.y, beyond.z)) > 0 || !owns_vertex(o.side[k].mesh, t, i)) continue;
            vertex_ways(o, k, t, i, p, slack, best);
        }
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

SIM_INLINE vec3 least_corner(const Triangle& t) { return minimum(t.corner[0], minimum(t.corner[1], t.corner[2])); }
SIM_INLINE vec3 largest_corner(const Triangle& t) { return maximum(t.corner[0], maximum(t.corner[1], t.corner[2])); }

// Which edges of a triangle may support, of each edge one triangle's: bit i those that do not lie flat, nor of a solid
// in a hollow.
SIM_FUNCTION int edges_out(const OverlapSide& s, int t, const Triangle& triangle) {
    int mask = 0;
    for (int i = 0; i < 3; ++i) {
        const int across = triangle_across(s.mesh, t, i);
        if (across >= 0 && across < t) continue;
        real bend = across < 0 ? real(-1) : real(0), size = 0;
        if (across >= 0) {
            const Triangle other = s.triangle(across);
            for (int c = 0; c < 3; ++c) {
                const vec3 e = other.corner[c] - triangle.corner[i];
                const real height = dot(triangle.normal, e);
                if (absolute(height) > absolute(bend)) bend = height, size = length(e);
            }
        }
        const bool flat = absolute(bend) <= SUPPORT_TOLERANCE * size;
        if (!flat && (bend < 0 || !s.solid)) mask |= 1 << i;
    }
    return mask;
}

SIM_FUNCTION void all_edge_ways(const MeshOverlap& o, OverlapWay& best) {
    o.side[1].visit(o.lower, o.upper, [&](int tb) {
        const Triangle b = o.side[1].triangle(tb);
        const int edges_b = edges_out(o.side[1], tb, b);
        if (edges_b == 0) return;
        const vec3 reach = search_reach(o, best) * vec3{1, 1, 1};
        const vec3 lower = maximum(least_corner(b), o.lower) - reach,
                   upper = minimum(largest_corner(b), o.upper) + reach;
        o.side[0].visit(lower, upper, [&](int ta) {
            const vec3 at[3] = {o.side[0].corner(ta, 0), o.side[0].corner(ta, 1), o.side[0].corner(ta, 2)};
            for (int i = 0; i < 3; ++i) {
                if (!owns_edge(o.side[0], ta, i)) continue;
                for (int j = 0; j < 3; ++j)
                    if (edges_b >> j & 1) edge_way(o, ta, at, i, tb, b, j, best);
            }
        });
    });
}

// ---- contacts ------------------------------------------------------------------------------------------------------

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

// Faces of the two meshes that lie on each other along the way, clipped against each other.
SIM_STAGE void write_faces(const MeshOverlap& o, int ta, const Triangle& a, int tb, const Triangle& b, real depth,
                           real most, OverlapWriter& write) {
    const auto is_turned_away = [](const OverlapSide& s, real facing) {
        return (s.sense == 0 ? absolute(facing) : s.sense * facing) < real(0.05);
    };
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
        const vec3 lower = maximum(least_corner(b), low), upper = minimum(largest_corner(b), high);
        o.side[0].visit(lower - reach, upper + reach,
                        [&](int ta) { write_faces(o, ta, o.side[0].triangle(ta), tb, b, way.depth, most, write); });
    });
    o.shift = multiply_add(maximum(-write.deepest - dot(way.normal, o.shift), o.clear), way.normal, o.shift);
    o.moved = length(o.shift);
}

// A box of the frame about a mesh, and where it is open about what it may push out.
SIM_FUNCTION void box_in_frame(const MeshOverlap& o, int k, vec3& lower, vec3& upper) {
    const OverlapSide& s = o.side[k];
    const ModelView& m = *s.mesh.model;
    const int root = m.mesh_node_start[s.mesh.mesh] + 1;
    const vec3 p = multiply(s.mesh.scale, load_vec3(&m.mesh_lower[3 * root])),
               q = multiply(s.mesh.scale, load_vec3(&m.mesh_upper[3 * root]));
    const mat33 size = {absolute(s.turn.x), absolute(s.turn.y), absolute(s.turn.z)};
    const vec3 middle = s.turn * (real(0.5) * (p + q) - s.origin),
               half = size * (real(0.5) * absolute(q - p)) + (s.solid ? real(0) : o.limit) * vec3{1, 1, 1};
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

// Looks for a better way, near by first: where one is found that is well within reach, none is further away.
SIM_FUNCTION void search_ways(const MeshOverlap& o, real radius, OverlapWay& best) {
    const real furthest = o.limit + o.moved;
    for (real reach = FIRST_REACH * radius;; reach *= REACH_GROWTH) {
        const bool is_last = best.name.kind != NO_WAY || !(reach < furthest);
        if (best.name.kind == NO_WAY) best.left = is_last ? REAL_INFINITY : reach;
        all_ways(o, radius, best);
        if (is_last || best.left <= real(0.5) * reach) return;
    }
}

SIM_STAGE OverlapWay nearest_way(MeshOverlap& o, real radius) {
    OverlapWay best;
    best.left = REAL_INFINITY;
    best.name = {NO_WAY, 0, 0};
    search_ways(o, radius, best);
    if (!o.asks) {  // what has come out again on the far side is beyond the box
        const vec3 reach = search_reach(o, best) * vec3{1, 1, 1};
        o.lower = o.lower - reach;
        o.upper = o.upper + reach;
        search_ways(o, radius, best);
    }
    return best;
}

// Of surfaces that cross with no features that have passed each other: the way in which what both hold grows less
// fastest, as long as the lines in which they cross are high. It is the area vector of the first's part in the second,
// which is that of its outline: half the sum of p x q over the pieces p to q of those lines. In whole numbers: the
// order of the pieces does not matter. Where the lines cancel each other (a rod that goes all the way through a plate)
// what is left is round-off, which tells no way.
SIM_STAGE OverlapWay way_of_crossing(const MeshOverlap& o, real radius) {
    const vec3 middle = real(0.5) * (o.lower + o.upper);
    const real size = length(o.upper - o.lower), scale = divide(real(1 << 28), size * size);
    const real rounding = multiply_add(4 * REAL_EPSILON * scale, size * radius, real(1));  // of a piece
    int64 area[3] = {0, 0, 0};
    int pieces = 0;
    OverlapWay way;
    way.left = REAL_INFINITY;
    const auto visit_lines = [&](auto visit) {
        o.side[1].visit(o.lower, o.upper, [&](int tb) {
            const Triangle b = o.side[1].triangle(tb);
            o.side[0].visit(least_corner(b), largest_corner(b), [&](int ta) {
                const Triangle a = o.side[0].triangle(ta);
                vec3 from, to;
                if (!crossing_line(a, b, from, to)) return;
                const bool forth = dot(to - from, cross(a.normal, b.normal)) > 0;
                visit(ta, tb, forth ? from : to, forth ? to : from);
            });
        });
    };
    visit_lines([&](int, int, vec3 from, vec3 to) {
        const vec3 part = scale * cross(from - middle, to - middle);
        for (int i = 0; i < 3; ++i) area[i] += to_int(part[i]);
        ++pieces;
    });
    const vec3 sum = {real(area[0]), real(area[1]), real(area[2])};
    way.normal = zero_vec3();
    if (!(length(sum) > rounding * real(pieces))) return way;
    way.normal = normalize(sum);
    real lowest = REAL_INFINITY, highest = -REAL_INFINITY;
    visit_lines([&](int ta, int tb, vec3 from, vec3 to) {
        const real low = minimum(dot(way.normal, from), dot(way.normal, to)), high = dot(way.normal, from);
        lowest = minimum(lowest, low);
        const WayName name = {2, ta, tb};
        if (!(high > highest || (high == highest && name.before(way.name)))) return;
        highest = high;
        way.point = from;
        way.triangle[0] = ta, way.triangle[1] = tb, way.name = name;
    });
    way.depth = way.left = highest - lowest;
    way.sense[0] = o.side[0].sense, way.sense[1] = o.side[1].sense;
    return way;
}

// ---- as wholes -----------------------------------------------------------------------------------------------------

// The point of a mesh that is furthest along a direction, in the frame.
SIM_STAGE vec3 furthest_point(const OverlapSide& s, vec3 way) {
    const ModelView& m = *s.mesh.model;
    const vec3 own = transpose_multiply(s.turn, way), along = multiply(s.mesh.scale, own);
    const real start = dot(own, s.origin);
    real highest = -REAL_INFINITY;
    vec3 best = zero_vec3();
    const auto may_be_higher = [&](int node) {
        const vec3 lower = multiply(along, load_vec3(&m.mesh_lower[3 * node])),
                   upper = multiply(along, load_vec3(&m.mesh_upper[3 * node])), top = maximum(lower, upper);
        const vec3 size = maximum(absolute(lower), absolute(upper));
        const real slack = real(16) * REAL_EPSILON * (size.x + size.y + size.z + absolute(start));
        return top.x + top.y + top.z - start + slack >= highest;
    };
    visit_leaves(s.mesh, may_be_higher, [&](int t) {
        for (int i = 0; i < 3; ++i) {
            const vec3 p = s.corner(t, i);
            const real height = dot(way, p);
            if (!(height > highest || (height == highest && compare(p, best) < 0))) continue;
            highest = height;
            best = p;
        }
    });
    return best;
}

// Along the normal of a face of mesh k which the other one crosses: by how much that has to go until all of it is in
// front of all of mesh k.
SIM_STAGE void way_by_whole_face(const MeshOverlap& o, int k, int t, const Triangle& face, int across,
                                 OverlapWay& best) {
    const vec3 n = face.normal, own = furthest_point(o.side[k], n);
    // where it crosses the face it is behind it
    if (dot(n, own - face.corner[0]) - o.clear > best.depth) return;
    const vec3 lowest = furthest_point(o.side[1 - k], -n);
    const real depth = dot(n, own - lowest);
    const vec3 normal = k == 0 ? n : -n;
    const WayName name = {k, t, across};
    const int by_normal = compare(normal, best.normal);
    const bool first = by_normal < 0 || (by_normal == 0 && name.before(best.name));
    if (!(depth < best.depth || (depth == best.depth && first))) return;
    best.normal = normal;
    best.name = name;
    best.depth = best.left = depth;
    best.point = k == 0 ? multiply_add(depth, n, lowest) : lowest;
    best.triangle[k] = t, best.triangle[1 - k] = across;
}

// The least triangle of mesh 1 - k that crosses triangle t of mesh k; -1: none.
SIM_FUNCTION int triangle_crossing(const MeshOverlap& o, int k, const Triangle& triangle) {
    int first = -1;
    o.side[1 - k].visit(maximum(least_corner(triangle), o.lower), minimum(largest_corner(triangle), o.upper),
                        [&](int u) {
        if ((first < 0 || u < first) && triangles_cross(triangle, o.side[1 - k].triangle(u))) first = u;
    });
    return first;
}

// The shortest way along the normal of a closed mesh's face that is crossed, by which all of the second mesh leaves all
// of the first. However they are shaped and have passed each other, they need go no further.
SIM_STAGE OverlapWay way_of_wholes(const MeshOverlap& o) {
    OverlapWay best;
    best.depth = best.left = REAL_INFINITY;
    best.normal = zero_vec3();
    best.name = {NO_WAY, 0, 0};
    for (int k = 0; k < 2; ++k) best.sense[k] = o.side[k].sense;
    for (int k = 0; k < 2; ++k)
        if (o.side[k].solid) o.side[k].visit(o.lower, o.upper, [&](int t) {
            const Triangle face = o.side[k].triangle(t);
            if (is_zero(face.normal)) return;
            const int across = triangle_crossing(o, k, face);
            if (across >= 0) way_by_whole_face(o, k, t, face, across, best);
        });
    return best;
}

// Is a point in front of or behind a triangle as seen along n?
SIM_FUNCTION bool is_over(const Triangle& t, vec3 p, vec3 n) {
    int sign = 0;
    for (int i = 0; i < 3; ++i) {
        const real area = dot(n, cross(t.corner[i] - p, t.corner[(i + 1) % 3] - p));
        sign += (area > 0) - (area < 0);
    }
    return sign == 3 || sign == -3;
}

// How far triangle b goes along n until all of it is beyond a, at the point of a that it leaves last; negative
// infinity: it passes by. Where the two lie over each other as seen along n: at a corner of one, or where two edges
// cross.
SIM_STAGE real shift_beyond(const Triangle& a, const Triangle& b, vec3 n, vec3& last) {
    real most = -REAL_INFINITY;
    const auto look = [&](real shift, vec3 point) {
        if (!(shift > most)) return;
        most = shift;
        last = point;
    };
    const real facing_a = dot(a.normal, n), facing_b = dot(b.normal, n);
    const auto faces = [](real facing) { return absolute(facing) > CROSSED_EDGES; };
    for (int i = 0; i < 3; ++i) {
        const vec3 pa = a.corner[i], pb = b.corner[i];
        if (faces(facing_a) && is_over(a, pb, n)) {
            const real shift = divide(dot(a.normal, a.corner[0] - pb), facing_a);
            look(shift, multiply_add(shift, n, pb));
        }
        if (faces(facing_b) && is_over(b, pa, n)) look(divide(dot(b.normal, pa - b.corner[0]), facing_b), pa);
        const vec3 ea = a.corner[(i + 1) % 3] - pa;
        for (int j = 0; j < 3; ++j) {
            const vec3 eb = b.corner[(j + 1) % 3] - b.corner[j], between = b.corner[j] - pa, across = cross(ea, eb);
            const real size = dot(across, n), along_a = dot(cross(between, eb), n),
                       along_b = dot(cross(between, ea), n);
            const auto is_within = [&](real x) { return size > 0 ? x >= 0 && x <= size : x <= 0 && x >= size; };
            const bool crossed = size * size > CROSSED_EDGES * CROSSED_EDGES * (dot(ea, ea) * dot(eb, eb));
            if (!crossed || !is_within(along_a) || !is_within(along_b)) continue;
            look(-divide(dot(between, across), size), multiply_add(divide(along_a, size), ea, pa));
        }
    }
    return most;
}

// The way along n by which all of the second of two closed meshes comes beyond all of the first; left is infinite where
// it is not shorter than `most`.
SIM_STAGE OverlapWay way_along(const MeshOverlap& o, vec3 n, real most) {
    OverlapWay way;
    way.depth = 0;
    way.left = REAL_INFINITY;
    way.normal = n;
    way.name = {NO_WAY, 0, 0};
    for (int k = 0; k < 2; ++k) way.sense[k] = o.side[k].sense;
    if (is_zero(n)) return way;
    vec3 lower, upper;
    box_in_frame(o, 0, lower, upper);
    const real slack = CLEARED_PART * o.far;  // above the round-off of what is seen nearly edge on
    const vec3 far = o.far * n;
    o.side[1].visit(minimum(lower, lower - far), maximum(upper, upper - far), [&](int tb) {
        if (!(way.depth < most)) return;
        const Triangle b = o.side[1].triangle(tb);
        const vec3 low = least_corner(b), high = largest_corner(b), near = (way.depth - slack) * n;
        const vec3 from = minimum(low + near, low + far), to = maximum(high + near, high + far);
        o.side[0].visit(maximum(from, lower), minimum(to, upper), [&](int ta) {
            vec3 last;
            const real shift = shift_beyond(o.side[0].triangle(ta), b, n, last);
            const WayName name = {2, ta, tb};
            if (!(shift > way.depth || (shift == way.depth && name.before(way.name)))) return;
            way.depth = shift;
            way.point = last;
            way.triangle[0] = ta, way.triangle[1] = tb, way.name = name;
        });
    });
    if (way.depth > 0 && way.depth < most) way.left = way.depth;
    return way;
}

// The shortest way that is known by which all of one mesh leaves all of the other: along the normal of a face that is
// crossed or, of closed meshes, along that of the crossing. That one then becomes as long as it has to be, if it is not
// much longer.
SIM_STAGE OverlapWay way_of_all(const MeshOverlap& o, OverlapWay& crossing) {
    const OverlapWay whole = way_of_wholes(o);
    if (!o.side[0].solid || !o.side[1].solid) return whole;
    const OverlapWay along = way_along(o, crossing.normal, whole.left);
    if (along.left < LATER_FACTOR * crossing.left) crossing = along;
    return along.left < whole.left ? along : whole;
}

// Contacts of two meshes that overlap, along the ways in which the second leaves; false: there are none. Radii: of the
// meshes about their origins.
SIM_STAGE bool leave_overlap(const MeshShape& first, const Transform& pose0, real radius0, const MeshShape& second,
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
    bool may_ask = o.asks;
    OverlapWay whole, crossing;
    whole.left = crossing.left = REAL_INFINITY;
    for (int i = 0; i < most; ++i) {
        OverlapWay best = nearest_way(o, radius);
        const bool none = best.left > REAL_MAX;
        if (none ? i == 0 : may_ask && best.depth > SUSPECT_PART * radius) {
            may_ask = false;
            crossing = way_of_crossing(o, radius);
            whole = way_of_all(o, crossing);
            o.enough = multiply_add(1 + CLEARED_PART, whole.left, 16 * o.clear);
            o.limit = minimum(o.limit, o.enough);
            if (!none && best.depth > o.enough) best = nearest_way(o, radius);
        }
        if (best.left > REAL_MAX && i == 0) best = crossing.left < whole.left ? crossing : whole;
        if (best.left > REAL_MAX) return i > 0;
        if (whole.left < LATER_FACTOR * best.depth && dot(best.normal, whole.normal) < AGAINST) {
            if (i > 0) return true;
            best = whole;
        }
        write_way(o, best, i, DEEPER_PART * radius, write);
        o.limit = minimum(o.enough, maximum(LATER_PART * radius, LATER_FACTOR * o.moved));
    }
    return true;
}
