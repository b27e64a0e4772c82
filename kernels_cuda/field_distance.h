// How far a shape is from a distance field: the least value of the field on its surface.
#pragma once

#include "field_normal.h"
#include "mesh_solid.h"

// What is least, and where, in the world.
struct FieldDistance {
    real value;   // m
    vec3 normal;  // outwards from the other shape, into the field's
    vec3 point;   // on the other shape
};

// Takes the least value on a patch where it is below best.value.
SIM_STAGE void least_on_patch(const FieldShape& f, const Transform& field_pose, const FieldPlace& at,
                              const Patch& patch, SearchEffort effort, FieldDistance& best) {
    auto take = [&](const FieldMinimum& m) {
        best = {m.value, -rotate(field_pose.q, contact_normal(f, patch, at, m)),
                transform_point(field_pose, m.point + f.origin)};
    };
    search_patch(f, patch, at, effort, best.value, REAL_INFINITY, 1, take);
}

SIM_FUNCTION void least_on_convex(const FieldShape& f, const Transform& field_pose, const Convex& body,
                                  const Transform& pose, SearchEffort effort, FieldDistance& best) {
    const FieldPlace at = field_place(f, field_pose, pose);
    visit_patches(body, [&](int, const Patch& patch) { least_on_patch(f, field_pose, at, patch, effort, best); });
}

// The least value at the vertices of a surface, where it is below `best`.
SIM_STAGE real least_at_vertices(const MeshShape& s, const FieldShape& f, const FieldPlace& at, real radius,
                                 real best) {
    const auto look = [&](int t) {
        const FieldTriangle triangle = field_triangle(s, at, t);
        if (is_zero(triangle.normal)) return;
        for (int i = 0; i < 3; ++i) best = minimum(best, sdf_sample(f.grid, triangle.corner[i]).value);
    };
    const ModelView& m = *s.model;
    const int first = m.mesh_triangle_start[s.mesh], end = m.mesh_triangle_start[s.mesh + 1];
    for (int i = 0; i < 8; ++i) look(first + int((long long)(end - first) * i / 8));  // begin with a near one
    visit_in_field(s, f, at, radius, [&] { return best; }, look);
    return best;
}

// The lowest corner of a triangle.
SIM_FUNCTION FieldDistance lowest_corner(const FieldShape& f, const Transform& field_pose, const FieldTriangle& t) {
    real values[3];
    for (int i = 0; i < 3; ++i) values[i] = sdf_sample(f.grid, t.corner[i]).value;
    int lowest = values[1] < values[0] ? 1 : 0;
    if (values[2] < values[lowest]) lowest = 2;
    const vec3 x = t.corner[lowest];
    return {values[lowest], -rotate(field_pose.q, field_normal(f.grid, x)), transform_point(field_pose, x + f.origin)};
}

// The same of the triangles of a surface; `radius`: of the field's shape. Vertices tell first which triangles are worth
// a search, which then begins for all of them with the same value: so the order in which they are visited counts
// nothing.
SIM_FUNCTION void least_on_surface(const FieldShape& f, const Transform& field_pose, real radius, const MeshShape& s,
                                   const Transform& pose, SearchEffort effort, FieldDistance& best) {
    const FieldPlace at = field_place(f, field_pose, pose);
    const real limit = least_at_vertices(s, f, at, radius, best.value);
    const bool has_vertex = limit < best.value;
    int number = -1;
    const auto look = [&](int t) {
        const FieldTriangle triangle = field_triangle(s, at, t);
        if (!may_be_below(f, triangle, limit)) return;
        FieldDistance own = lowest_corner(f, field_pose, triangle);
        const bool at_corner = has_vertex && own.value <= limit;
        own.value = minimum(own.value, limit);
        least_on_patch(f, field_pose, at, triangle.patch, effort, own);
        if (!at_corner && !(own.value < limit)) return;
        if (!(own.value < best.value || (own.value == best.value && t < number))) return;
        best = own;
        number = t;
    };
    visit_in_field(s, f, at, radius, [&] { return limit; }, look);
}

// Of two fields: of the one on the surface of the other, and the other way round.
SIM_FUNCTION void least_of_fields(const FieldShape& f0, const MeshShape& s0, const Transform& pose0, real radius0,
                                  const FieldShape& f1, const MeshShape& s1, const Transform& pose1, real radius1,
                                  SearchEffort effort, FieldDistance& best) {
    least_on_surface(f1, pose1, radius1, s0, pose0, effort, best);
    FieldDistance back = {best.value, zero_vec3(), zero_vec3()};
    least_on_surface(f0, pose0, radius0, s1, pose1, effort, back);
    if (back.value < best.value) best = {back.value, -back.normal, multiply_add(back.value, back.normal, back.point)};
}
