// Two meshes that overlap: their frame, rays through them, and what supports in a direction. mesh_overlap_ways.h finds
// the few ways in which the second leaves the first, mesh_overlap_contacts.h their contacts.
//
// The least translation that parts two solids is to the nearest facet of the boundary of their Minkowski difference. Of
// polyhedra such a facet belongs to a vertex of one and a face of the other, or to two edges, which support each other:
// along the facet's normal each is the outermost of its surface near by. For convex solids the nearest of these facets
// is the answer (Cameron and Culley 1986); here they are taken near the overlap, whatever the solids are beyond. What
// the nearest does not part, since it is deeper or lies elsewhere, is parted by the next: so a body in a corner gets a
// way for the floor and one for the wall, and a vertex near the back of a thin wall none through it.
#pragma once

#include "mesh_solid.h"

// A box of the frame with axes of its own, each of unit length or zero: then it is endless.
struct TurnedBox {
    vec3 axis[3];
    real lower[3], upper[3];

    SIM_FUNCTION void hold(vec3 p) {
        for (int i = 0; i < 3; ++i) {
            const real place = dot(axis[i], p);
            lower[i] = minimum(lower[i], place);
            upper[i] = maximum(upper[i], place);
        }
    }
};

// The same before a mesh: twice its middles and widths along directions in the mesh's own unscaled frame.
struct TurnedMeshBox {
    vec3 along[3];
    real middle[3], width[3];

    SIM_FUNCTION bool meets(vec3 least, vec3 most) const {
        const vec3 sum = least + most, size = most - least;
        for (int i = 0; i < 3; ++i)
            if (absolute(dot(along[i], sum) - middle[i]) > width[i] + dot(absolute(along[i]), size)) return false;
        return true;
    }

    SIM_FUNCTION bool meets(vec3 a, vec3 b, vec3 c) const {
        for (int i = 0; i < 3; ++i) {
            const real x = dot(along[i], a), y = dot(along[i], b), z = dot(along[i], c);
            if (2 * minimum(x, minimum(y, z)) > middle[i] + width[i]) return false;
            if (2 * maximum(x, maximum(y, z)) < middle[i] - width[i]) return false;
        }
        return true;
    }
};

// What a search among the triangles of a mesh looks for: boxes in its own unscaled frame.
struct OverlapSearch {
    const MeshShape& mesh;
    MeshBox box;
    bool is_turned;  // does the turned box count?
    TurnedMeshBox turned;

    SIM_STAGE bool meets_node(int node) const {
        const vec3 least = load_vec3(&mesh.model->mesh_lower[3 * node]),
                   most = load_vec3(&mesh.model->mesh_upper[3 * node]);
        return meet(box, least, most) && (!is_turned || turned.meets(least, most));
    }

    SIM_STAGE bool meets_triangle(int t) const {
        const vec3 a = raw_corner(mesh, t, 0), b = raw_corner(mesh, t, 1), c = raw_corner(mesh, t, 2);
        if (!meet(box, minimum(a, minimum(b, c)), maximum(a, maximum(b, c)))) return false;
        return !is_turned || turned.meets(a, b, c);
    }

    template <class Visit>
    SIM_FUNCTION void visit(Visit visit) const {
        visit_leaves(
            mesh, [&](int node) { return meets_node(node); },
            [&](int t) {
                if (meets_triangle(t)) visit(t);
            });
    }
};

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
        OverlapSearch{mesh, box_in_mesh(lower, upper), false, {}}.visit(visit);
    }

    // The same of those that meet a turned box too. `slack`: more than the round-off of places in the frame.
    template <class Visit>
    SIM_FUNCTION void visit(vec3 lower, vec3 upper, const TurnedBox& turned, real slack, Visit visit) const {
        OverlapSearch{mesh, box_in_mesh(lower, upper), true, turned_in_mesh(turned, slack)}.visit(visit);
    }

    SIM_FUNCTION TurnedMeshBox turned_in_mesh(const TurnedBox& box, real slack) const {
        TurnedMeshBox result;
        for (int i = 0; i < 3; ++i) {
            const vec3 own = transpose_multiply(turn, box.axis[i]);
            result.along[i] = multiply(mesh.scale, own);
            result.middle[i] = multiply_add(real(2), dot(own, origin), box.lower[i] + box.upper[i]);
            result.width[i] = box.upper[i] - box.lower[i] + 2 * slack;
        }
        return result;
    }

    // A box of the frame in the mesh's own unscaled frame.
    SIM_FUNCTION MeshBox box_in_mesh(vec3 lower, vec3 upper) const {
        const vec3 middle = transpose_multiply(turn, real(0.5) * (lower + upper)), half = real(0.5) * (upper - lower);
        const mat33 size = absolute(turn);
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

// Of places in the frame.
SIM_INLINE real rounding(const MeshOverlap& o) { return multiply_add(16 * REAL_EPSILON, o.far, 8 * o.clear); }

SIM_INLINE TurnedBox box_at(vec3 p, vec3 x, vec3 y, vec3 z) {
    const real at[3] = {dot(x, p), dot(y, p), dot(z, p)};
    return {{x, y, z}, {at[0], at[1], at[2]}, {at[0], at[1], at[2]}};
}

// The direction of an edge as seen along the unit vector z: square to that but for round-off, which the second of two
// projections sees to. Zero: it is seen nearly end on (by this sine).
constexpr real END_ON = real(1e-3);

SIM_FUNCTION vec3 seen_along(vec3 z, vec3 edge) {
    const vec3 once = multiply_add(-dot(edge, z), z, edge), twice = multiply_add(-dot(once, z), z, once);
    return dot(twice, twice) > END_ON * END_ON * dot(edge, edge) ? normalize(twice) : zero_vec3();
}

// A box about a triangle: along its first edge as seen along `z`, the last axis. Where the edge is seen end on, it has
// no other axes.
SIM_FUNCTION TurnedBox box_about(const Triangle& t, vec3 z) {
    const vec3 x = seen_along(z, t.corner[1] - t.corner[0]);
    TurnedBox box = box_at(t.corner[0], x, cross(z, x), z);
    for (int i = 1; i < 3; ++i) box.hold(t.corner[i]);
    return box;
}

// Calls visit(t) for every triangle of a mesh near what overlaps that may cross one of the other mesh.
template <class Visit>
SIM_FUNCTION void visit_crossing(const MeshOverlap& o, const OverlapSide& s, const Triangle& triangle, Visit visit) {
    s.visit(maximum(least_corner(triangle), o.lower), minimum(largest_corner(triangle), o.upper),
            box_about(triangle, triangle.normal), rounding(o), visit);
}

// Ways after the first are looked for no deeper than this part of the smaller mesh's radius, or than this many times
// what is deepest so far.
constexpr real LATER_PART = real(0.25), LATER_FACTOR = 4;
// Of the ways so far this part more is gone before it is asked what still overlaps.
constexpr real CLEARED_PART = real(1e-3);
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
        if (!(distance > from && distance < to && distance <= hit.distance)) return;
        const bool leaves = s.sense == 0 || s.sense * facing > 0;
        // of two faces back to back, in one plane, it leaves by the one
        hit = {distance, leaves || (distance == hit.distance && hit.leaves)};
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
