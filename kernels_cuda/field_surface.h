// Surfaces of triangles in a distance field: which triangles may be where the field is low, by the field itself.
#pragma once

#include "field_patch.h"
#include "triangle_mesh.h"

// The steepest that the field is anywhere: beyond the grid it grows by the way from there, square to what it does along
// the grid's side. So at a point of value L > 0 the solid is at least L / steepest away.
SIM_INLINE real steepest(const FieldShape& f) { return square_root(multiply_add(f.slope, f.slope, real(1))); }

// Room for the round-off of a bound, as a part of the numbers that it is made of.
constexpr real BOUND_SLACK = real(64) * REAL_EPSILON;

// Below the field on the ball of radius r about x, from the first node.
SIM_FUNCTION real ball_bound(const FieldShape& f, vec3 x, real r) {
    const SdfGrid& g = f.grid;
    real beyond = 0, inset = REAL_INFINITY;
    for (int a = 0; a < 3; ++a) {
        const real end = real(g.blocks[a] * SDF_BLOCK) * g.voxel;
        const real outside = maximum(-x[a], x[a] - end);
        inset = minimum(inset, -outside);
        beyond = multiply_add(maximum(outside, real(0)), maximum(outside, real(0)), beyond);
    }
    const real slack = BOUND_SLACK * (sum_of_absolutes(x) + r + real(SDF_BLOCK) * g.voxel);
    const real steep = inset >= r ? f.slope : steepest(f);
    const real near = multiply_add(-steep, r, sdf_sample(g, x).value);
    const real outside = square_root(beyond) - r;  // of the grid, all over whose sides the field is positive
    return (outside > near && outside > 0 ? outside : near) - slack;
}

// Calls visit(t) for every triangle on which the field may be below `limit()`, which may shrink, and for others.
// `radius`: of the field's shape.
template <class Limit, class Visit>
SIM_FUNCTION void visit_in_field(const MeshShape& s, const FieldShape& f, const FieldPlace& at, real radius,
                                 Limit limit, Visit visit) {
    const ModelView& m = *s.model;
    if (!s.is_field) {
        const auto wanted = [&](int node) {
            const vec3 lower = load_vec3(&m.mesh_lower[3 * node]), upper = load_vec3(&m.mesh_upper[3 * node]);
            const vec3 middle = multiply(real(0.5) * s.scale, lower + upper);
            const vec3 half = multiply(real(0.5) * s.scale, upper - lower);
            return ball_bound(f, at.turn * middle + at.shift, length(half)) < limit();
        };
        return visit_leaves(s, wanted, visit);
    }
    const vec3 centre = -transpose_multiply(at.turn, f.origin + at.shift);
    const auto box = [&] {
        const vec3 reach = (radius + maximum(limit(), real(0))) * vec3{1, 1, 1};
        return unscaled_box(s, centre - reach, centre + reach);
    };
    visit_triangles(s, box, visit);
}

// A triangle in a field.
struct FieldTriangle {
    Patch patch;     // in the frame of its surface
    vec3 corner[3];  // from the first node
    vec3 normal;     // in the frame of the field's shape; zero: the corners lie on a line
    real longest;    // of the two edges from the first corner
};

SIM_FUNCTION FieldTriangle field_triangle(const MeshShape& s, const FieldPlace& at, int t) {
    const Triangle local = load_triangle(s, t, zero_vec3());
    FieldTriangle f = {{PATCH_TRIANGLE, 0, {local.corner[0], local.corner[1], local.corner[2]}}, {}, {}, 0};
    f.normal = at.turn * local.normal;
    for (int i = 0; i < 3; ++i) f.corner[i] = at.turn * local.corner[i] + at.shift;
    f.longest = maximum(length(f.corner[1] - f.corner[0]), length(f.corner[2] - f.corner[0]));
    return f;
}

// May the field be below `limit` on the triangle? All of it is in the ball about its first corner.
SIM_INLINE bool may_be_below(const FieldShape& f, const FieldTriangle& t, real limit) {
    return !is_zero(t.normal) && ball_bound(f, t.corner[0], t.longest) < limit;
}
