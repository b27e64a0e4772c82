// Closed meshes as solids: what they hold wholly inside, which their surface does not touch, and the nearest way out.
#pragma once

#include "collide_mesh.h"
#include "triangle.h"

// From a point inside a mesh to its surface.
struct WayOut {
    vec3 point;     // on the surface
    vec3 normal;    // the unit way there
    real distance;  // infinite: the point is not inside a closed mesh
    int triangle;
};

// Squared distances that differ from the least by less than this part are equal: at an edge that triangle tells inside
// from outside which faces the point most.
constexpr real EQUAL_DISTANCE = real(64) * REAL_EPSILON;

// `p` in the frame of the mesh.
SIM_STAGE WayOut way_out(const MeshShape& s, vec3 p) {
    const ModelView& m = *s.model;
    WayOut out = {zero_vec3(), zero_vec3(), REAL_INFINITY, -1};
    const MeshBox at = unscaled_box(s, p, p);
    if (!m.mesh_solid[s.mesh] || !overlaps(at, m, m.mesh_node_start[s.mesh] + 1)) return out;
    real nearest = REAL_MAX, facing = 0;
    const auto point_of = [&](const Triangle& triangle) {
        const PreparedTriangle prepared(triangle.corner[0], triangle.corner[1], triangle.corner[2]);
        return prepared.at(prepared.closest(p));
    };
    const auto come_nearer = [&](int t) {
        const vec3 way = point_of(load_triangle(s, t, zero_vec3())) - p;
        nearest = minimum(dot(way, way), nearest);
    };
    const auto face = [&](int t) {
        const Triangle triangle = load_triangle(s, t, zero_vec3());
        const vec3 point = point_of(triangle), way = point - p;
        const real side = dot(triangle.normal, way), more = absolute(side) - absolute(facing);
        if (!(dot(way, way) <= nearest * (1 + EQUAL_DISTANCE))) return;
        if (out.triangle >= 0 && !(more > 0 || (more == 0 && t < out.triangle))) return;
        facing = side;
        out = {point, triangle.normal, 0, t};
    };
    const int first = m.mesh_triangle_start[s.mesh], count = m.mesh_triangle_start[s.mesh + 1] - first;
    for (int i = 0; i < 8; ++i) come_nearer(first + int((long long)count * i / 8));  // begin with a near one
    const auto box = [&] {
        const vec3 reach = square_root(nearest) * real(1.001) * vec3{1, 1, 1};
        return unscaled_box(s, p - reach, p + reach);
    };
    visit_triangles(s, box, come_nearer);
    visit_triangles(s, box, face);
    out.distance = facing >= 0 ? square_root(nearest) : REAL_INFINITY;
    out.normal = normalize(out.point - p, out.normal);
    return out;
}

// A point within a body, in its frame: of a hull the mean of its vertices, any of which may lie on what the body meets.
SIM_FUNCTION vec3 inner_point(const Convex& body) {
    if (body.kind != CONVEX_HULL) return zero_vec3();
    const int count = hull_points(body);
    vec3 sum = zero_vec3();
    for (int i = 0; i < count; ++i) sum = sum + hull_point(body, i);
    return reciprocal(real(count)) * sum;
}

// Pushes a body out of a mesh that holds it, when no triangle touches it. Contacts as of collide_surface.
SIM_STAGE void push_out_body(const MeshShape& mesh, const Transform& mesh_pose, const Convex& body,
                             const Transform& pose, ContactReduction& found) {
    if (found.deepest().number >= 0) return;
    const vec3 own = inner_point(body);
    const WayOut out = way_out(mesh, inverse_transform_point(mesh_pose, transform_point(pose, own)));
    if (!(out.distance <= REAL_MAX)) return;
    const vec3 n = rotate(mesh_pose.q, out.normal), back = -inverse_rotate(pose.q, n);
    const real furthest = dot(back, core_support(body, back) - own) + body.radius;
    const int number = out.triangle - mesh.model->mesh_triangle_start[mesh.mesh];
    found(triangle_contact(number, 1021), transform_point(mesh_pose, out.point), n, -(out.distance + furthest));
}

// The same of a second mesh; returns whether the first holds it. `flip`: the normal is to point into the first.
SIM_STAGE bool push_out_mesh(const MeshShape& first, const Transform& pose0, const MeshShape& second,
                             const Transform& pose1, bool flip, ContactReduction& found) {
    const ModelView& m = *second.model;
    const int begin = m.mesh_point_start[second.mesh], end = m.mesh_point_start[second.mesh + 1];
    const auto vertex = [&](int i) { return multiply(second.scale, load_vec3(&m.mesh_point[3 * i])); };
    const WayOut out = way_out(first, inverse_transform_point(pose0, transform_point(pose1, vertex(begin))));
    if (!(out.distance <= REAL_MAX)) return false;
    const vec3 n = rotate(pose0.q, out.normal), back = -inverse_rotate(pose1.q, n);
    real furthest = 0;
    for (int i = begin; i < end; ++i) furthest = maximum(furthest, dot(back, vertex(i) - vertex(begin)));
    const int number = triangle_contact(out.triangle - m.mesh_triangle_start[first.mesh], 1021);
    const real distance = -(out.distance + furthest);
    const vec3 point = transform_point(pose0, out.point);
    if (flip) found(number, multiply_add(distance, n, point), -n, distance);
    else found(number, point, n, distance);
    return true;
}

// Of two meshes the one that the other holds.
SIM_FUNCTION void push_out_meshes(const MeshShape& first, const Transform& pose0, const MeshShape& second,
                                  const Transform& pose1, ContactReduction& found) {
    if (found.deepest().number >= 0 || push_out_mesh(first, pose0, second, pose1, false, found)) return;
    push_out_mesh(second, pose1, first, pose0, true, found);
}
