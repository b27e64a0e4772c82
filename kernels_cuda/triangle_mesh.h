// Triangles of a shape's mesh: where they are, which lie near a box, and from which sides each may be touched.
#pragma once

#include "contact.h"

// A shape that is made of triangles: a mesh, or the surface of a height field (whose mesh is not scaled).
struct MeshShape {
    const ModelView* model;
    int mesh;
    vec3 scale;
    bool is_field;
};

SIM_FUNCTION MeshShape mesh_shape(const ModelView& model, int shape) {
    const bool is_field = model.shape_type[shape] == SHAPE_HEIGHTFIELD;
    const vec3 scale = is_field ? vec3{1, 1, 1} : load_vec3(&model.shape_size[3 * shape]);
    return {&model, model.shape_mesh[shape], scale, is_field};
}

struct Triangle {
    vec3 corner[3];
    vec3 normal;  // unit; zero: the corners lie on a line
};

// Of the box about it.
SIM_INLINE vec3 least_corner(const Triangle& t) { return minimum(t.corner[0], minimum(t.corner[1], t.corner[2])); }
SIM_INLINE vec3 largest_corner(const Triangle& t) { return maximum(t.corner[0], maximum(t.corner[1], t.corner[2])); }

// Of a product outside these squares of lengths digits are lost.
constexpr real SMALL_SQUARE = real(1e-24), LARGE_SQUARE = real(1e24);

// The unit normal of two edges of any size; zero where they lie on a line.
SIM_FUNCTION vec3 unit_normal(vec3 first, vec3 second) {
    const vec3 n = cross(first, second);
    const real square = dot(n, n);
    if (square > SMALL_SQUARE && square < LARGE_SQUARE) return normalize(n);
    const vec3 size = maximum(absolute(first), absolute(second));
    const real longest = maximum(size.x, maximum(size.y, size.z));
    if (longest == 0) return zero_vec3();
    const real scale = reciprocal(longest);
    const vec3 scaled = cross(scale * first, scale * second);
    return dot(scaled, scaled) > 64 * REAL_EPSILON * REAL_EPSILON ? normalize(scaled) : zero_vec3();
}

// Triangle `t` (of all) of a mesh in its own frame, less `origin`.
SIM_FUNCTION Triangle load_triangle(const MeshShape& s, int t, vec3 origin) {
    const ModelView& m = *s.model;
    const int first = m.mesh_point_start[s.mesh];
    // a mirrored mesh is wound the other way
    const bool mirrored = s.scale.x * s.scale.y * s.scale.z < 0;
    Triangle result;
    for (int i = 0; i < 3; ++i) {
        const int point = first + m.mesh_triangle[3 * t + (mirrored ? 2 - i : i)];
        result.corner[i] = multiply(s.scale, load_vec3(&m.mesh_point[3 * point])) - origin;
    }
    result.normal = unit_normal(result.corner[1] - result.corner[0], result.corner[2] - result.corner[0]);
    return result;
}

// The vertex (within its mesh) at corner i of the triangle that load_triangle gives.
SIM_INLINE int mesh_corner(const MeshShape& s, int t, int i) {
    const bool mirrored = s.scale.x * s.scale.y * s.scale.z < 0;
    return s.model->mesh_triangle[3 * t + (mirrored ? 2 - i : i)];
}

// The triangle across the edge from corner i to i + 1, -1 none.
SIM_FUNCTION int triangle_across(const MeshShape& s, int t, int edge) {
    const bool mirrored = s.scale.x * s.scale.y * s.scale.z < 0;
    return s.model->mesh_neighbour[3 * t + (mirrored ? (4 - edge) % 3 : edge)];
}

// What is further apart than it reaches by more than this part of its size, and of the places of what is compared, has
// no contact, whatever round-off says.
constexpr real NEAR_PART = real(1e-3), NEAR_PLACE = real(64) * REAL_EPSILON;

// A box in the frame of the mesh, unscaled.
struct MeshBox {
    vec3 lower, upper;
};

SIM_FUNCTION MeshBox unscaled_box(const MeshShape& s, vec3 lower, vec3 upper) {
    const vec3 inverse = {reciprocal(s.scale.x), reciprocal(s.scale.y), reciprocal(s.scale.z)};
    const vec3 a = multiply(inverse, lower), b = multiply(inverse, upper);
    const vec3 slack = real(4) * REAL_EPSILON * maximum(absolute(a), absolute(b));
    return {minimum(a, b) - slack, maximum(a, b) + slack};
}

SIM_INLINE MeshBox common_box(const MeshBox& a, const MeshBox& b) {
    return {maximum(a.lower, b.lower), minimum(a.upper, b.upper)};
}

SIM_INLINE bool meet(const MeshBox& box, vec3 lower, vec3 upper) {
    return lower.x <= box.upper.x && box.lower.x <= upper.x && lower.y <= box.upper.y && box.lower.y <= upper.y &&
           lower.z <= box.upper.z && box.lower.z <= upper.z;
}

SIM_INLINE bool overlaps(const MeshBox& box, const ModelView& m, int node) {
    return meet(box, load_vec3(&m.mesh_lower[3 * node]), load_vec3(&m.mesh_upper[3 * node]));
}

// First and last cell of a row of n vertices over -half .. half that lower .. upper meets; empty where first > last.
SIM_INLINE void cell_range(real lower, real upper, real start, real end, int n, int& first, int& last) {
    const real scale = divide(real(n - 1), end - start);
    first = to_int(floor_of(scale * (lower - start)));
    last = to_int(floor_of(scale * (upper - start)));
    if (first < 0) first = 0;
    if (last > n - 2) last = n - 2;
}

// Calls visit(t) for the triangles of a mesh below the nodes of its tree that are `wanted(node)`, a row of the model,
// in the order of its leaves.
template <class Wanted, class Visit>
SIM_FUNCTION void visit_leaves(const MeshShape& s, Wanted wanted, Visit visit) {
    const ModelView& m = *s.model;
    const int first = m.mesh_triangle_start[s.mesh], count = m.mesh_triangle_start[s.mesh + 1] - first;
    const int root = m.mesh_node_start[s.mesh], leaves = (m.mesh_node_start[s.mesh + 1] - root) / 2;
    unsigned node = leaves > 0 ? 1 : 0;
    while (node != 0) {
        if (wanted(root + int(node))) {
            if (int(node) < leaves) {
                node *= 2;
                continue;
            }
            const long long leaf = (long long)node - leaves;
            const int begin = int(leaf * count / leaves), end = int((leaf + 1) * count / leaves);
            for (int k = begin; k < end; ++k) visit(m.mesh_order[first + k]);
        }
        // the next node in depth-first order that is not below this one
        ++node;
        while ((node & 1u) == 0) node >>= 1;
        if (node == 1) node = 0;
    }
}

// Calls visit(t) for every triangle whose box may meet `box()`, which is asked again at each node and may shrink. In
// the order of the leaves of the mesh's tree; of a height field by cells, with those above the box, as it is solid
// below.
template <class Box, class Visit>
SIM_FUNCTION void visit_triangles(const MeshShape& s, Box box, Visit visit) {
    const ModelView& m = *s.model;
    if (!s.is_field) return visit_leaves(s, [&](int node) { return overlaps(box(), m, node); }, visit);
    const int first = m.mesh_triangle_start[s.mesh];
    const int rows = m.mesh_grid[2 * s.mesh], columns = m.mesh_grid[2 * s.mesh + 1];
    const int points = m.mesh_point_start[s.mesh], last = m.mesh_point_start[s.mesh + 1] - 1;
    const vec3 start = load_vec3(&m.mesh_point[3 * points]), end = load_vec3(&m.mesh_point[3 * last]);
    int row, last_row, column0, last_column;
    const MeshBox near = box();
    cell_range(near.lower.y, near.upper.y, start.y, end.y, rows, row, last_row);
    cell_range(near.lower.x, near.upper.x, start.x, end.x, columns, column0, last_column);
    if (column0 > last_column) return;
    for (; row <= last_row; ++row) {
        const real* lower = &m.mesh_point[3 * (points + row * columns) + 2];  // z of this row's first vertex
        const real* upper = lower + 3 * columns;
        real left = maximum(lower[3 * column0], upper[3 * column0]), right;
        for (int column = column0; column <= last_column; ++column, left = right) {
            right = maximum(lower[3 * (column + 1)], upper[3 * (column + 1)]);
            if (maximum(left, right) < near.lower.z) continue;
            const int cell = row * (columns - 1) + column;
            visit(first + cell);
            visit(first + (rows - 1) * (columns - 1) + cell);
        }
    }
}

// The same by the lanes of a team, each its share: visit(t), of which -1 is no triangle, is called by all of them
// together. The boxes must be the same in all lanes; they may change in visit.
template <class Team, class Box, class Visit>
SIM_FUNCTION void share_triangles(Team& team, const MeshShape& s, Box box, Visit visit) {
    if (team.count() == 1) return visit_triangles(s, box, visit);
    int mine = -1, found = 0;
    visit_triangles(s, box, [&](int t) {
        if (found == team.lane()) mine = t;
        if (++found < team.count()) return;
        visit(mine);
        mine = -1;
        found = 0;
    });
    if (found > 0) visit(mine);
}

// ---- edges ---------------------------------------------------------------------------------------------------------

// Room for round-off, and for edges that are as good as flat (sine of an angle).
constexpr real WEDGE_TOLERANCE = real(0.01);

// What the rest of the surface says of a direction in which a triangle would push.
enum Push : int {
    PUSH_ALONG,  // it may
    PUSH_FACE,   // a flat or concave edge: the triangle pushes along its normal
    PUSH_NOT,    // a convex edge: another face pushes
};

// At an edge a surface pushes between the normals of its faces: over the edge as seen from each of them. An edge of one
// triangle alone may push on its own side.
SIM_FUNCTION int push_of_edge(const MeshShape& s, int t, const Triangle& triangle, vec3 origin, int edge, vec3 n,
                              vec3& outwards) {
    const vec3 p = triangle.corner[edge], along = triangle.corner[(edge + 1) % 3] - p;
    const vec3 out = normalize(cross(along, triangle.normal));
    const int other = triangle_across(s, t, edge);
    const bool over = dot(n, out) > -WEDGE_TOLERANCE;
    if (other < 0) return over && dot(n, triangle.normal) > -WEDGE_TOLERANCE ? PUSH_ALONG : PUSH_FACE;
    const vec3 normal = load_triangle(s, other, origin).normal;
    outwards = outwards + normal;
    if (dot(normal, out) <= WEDGE_TOLERANCE && dot(normal, triangle.normal) > -1 + WEDGE_TOLERANCE) return PUSH_FACE;
    return over && dot(n, normalize(cross(normal, along))) > -WEDGE_TOLERANCE ? PUSH_ALONG : PUSH_NOT;
}

SIM_INLINE vec3 raw_corner(const MeshShape& s, int t, int corner) {
    const ModelView& m = *s.model;
    return load_vec3(&m.mesh_point[3 * (m.mesh_point_start[s.mesh] + mesh_corner(s, t, corner))]);
}

// How a walk round a vertex ended.
enum Round : int {
    ROUND_LEFT,    // visit returned false
    ROUND_OPEN,    // at edges of one triangle alone
    ROUND_CLOSED,  // where it began
};

// Calls visit(t, corner) for the triangles round a vertex, from the given one on, while it returns true: in the sense
// in which their corners run and, where the surface ends, the other way too. However many there are.
template <class Visit>
SIM_FUNCTION Round visit_around(const MeshShape& s, int t, int corner, Visit visit) {
    if (!visit(t, corner)) return ROUND_LEFT;
    const vec3 place = raw_corner(s, t, corner);
    const int most = s.model->mesh_triangle_start[s.mesh + 1] - s.model->mesh_triangle_start[s.mesh];
    for (int way = 0; way < 2; ++way) {
        int from = t, at = corner;
        for (int i = 0; i < most; ++i) {  // neighbours that a user has changed might lead round without end
            const int next = triangle_across(s, from, way == 0 ? (at + 2) % 3 : at);
            if (next == t) return ROUND_CLOSED;
            if (next < 0) break;
            at = 0;
            while (at < 2 && !is_zero(raw_corner(s, next, at) - place)) ++at;
            if (!visit(next, at)) return ROUND_LEFT;
            from = next;
        }
    }
    return ROUND_OPEN;
}

// At a vertex a surface pushes away from all edges that meet there.
SIM_FUNCTION int push_of_vertex(const MeshShape& s, int t, const Triangle& triangle, vec3 origin, int corner, vec3 n,
                                vec3& outwards) {
    const vec3 place = triangle.corner[corner];
    bool leaves = true, convex = false;
    const Round round = visit_around(s, t, corner, [&](int other, int at) {
        const Triangle around = other == t ? triangle : load_triangle(s, other, origin);
        for (int i = 1; i < 3; ++i) {
            const vec3 e = around.corner[(at + i) % 3] - place;
            const real size = length(e);
            leaves = leaves && dot(n, e) <= WEDGE_TOLERANCE * size;
            convex = convex || dot(triangle.normal, e) < -WEDGE_TOLERANCE * size;
        }
        if (other != t) outwards = outwards + around.normal;
        return true;
    });
    const bool closed = round == ROUND_CLOSED;
    if (closed && !convex) return PUSH_FACE;
    return leaves ? PUSH_ALONG : closed ? PUSH_NOT : PUSH_FACE;
}

// A contact's point is on an edge when its share of the opposite corner is below this.
constexpr real ON_EDGE = real(1e-3);

// May the surface push at `point` of triangle t along n, from the surface outwards? So the inner edges of a flat floor
// push upwards alone. `outwards`: the sum of the normals of the faces that meet there.
SIM_FUNCTION int push_of(const MeshShape& s, int t, const Triangle& triangle, vec3 origin, vec3 point, vec3 n,
                         vec3& outwards) {
    outwards = triangle.normal;
    const vec3 a = triangle.corner[0] - point, b = triangle.corner[1] - point, c = triangle.corner[2] - point;
    const vec3 whole = cross(triangle.corner[1] - triangle.corner[0], triangle.corner[2] - triangle.corner[0]);
    const real limit = ON_EDGE * dot(whole, whole);
    const real share[3] = {dot(cross(b, c), whole), dot(cross(c, a), whole), dot(cross(a, b), whole)};
    int edges[2] = {0, 0}, count = 0;
    for (int edge = 0; edge < 3; ++edge)
        if (share[(edge + 2) % 3] < limit && count < 2) edges[count++] = edge;
    if (count == 0) return PUSH_FACE;
    if (count == 1) return push_of_edge(s, t, triangle, origin, edges[0], n, outwards);
    return push_of_vertex(s, t, triangle, origin, edges[0] == 0 && edges[1] == 2 ? 0 : edges[1], n, outwards);
}
