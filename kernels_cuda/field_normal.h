// Along which way a distance field and the surface of another shape push each other.
#pragma once

#include "field_surface.h"

// The field's slope about a point, averaged over a voxel: it turns without jumps from cell to cell.
SIM_FUNCTION vec3 field_normal(const SdfGrid& g, vec3 x) {
    const real half = real(0.5) * g.voxel;
    vec3 slope;
    for (int a = 0; a < 3; ++a) {
        vec3 low = x, high = x;
        low[a] -= half;
        high[a] += half;
        slope[a] = sdf_sample(g, high).value - sdf_sample(g, low).value;
    }
    return normalize(g.inverse * slope, vec3{0, 0, 1});
}

// Within a flat patch its own normal is that of the contact: there the field is least, whatever its slope is.
SIM_FUNCTION bool is_within_flat(const Patch& patch, const FieldPlace& at, const FieldMinimum& m, vec3 slope) {
    const real rim = real(1) - real(1e-4);
    return absolute(m.u) < rim && absolute(m.v) < rim && dot(at.turn * patch_normal(patch), slope) < real(-0.5);
}

SIM_FUNCTION vec3 contact_normal(const FieldShape& f, const Patch& patch, const FieldPlace& at, const FieldMinimum& m) {
    const vec3 slope = field_normal(f.grid, m.point);
    return is_within_flat(patch, at, m, slope) ? -(at.turn * patch_normal(patch)) : slope;
}

// ---- edges and corners of surfaces --------------------------------------------------------------------------------

// A surface at a point: its outward unit normal, and about by what angle that turns within a voxel or a triangle.
struct SurfaceBend {
    vec3 normal;
    real angle;
};

// Of a field: by its Laplacian, the sum of the two curvatures, over differences of a voxel.
SIM_FUNCTION SurfaceBend field_bend(const SdfGrid& g, vec3 x) {
    real bend = 0;
    const real here = sdf_sample(g, x).value;
    for (int a = 0; a < 3; ++a) {
        vec3 low = x, high = x;
        low[a] -= g.voxel;
        high[a] += g.voxel;
        bend += (sdf_sample(g, high).value - here) + (sdf_sample(g, low).value - here);
    }
    return {field_normal(g, x), absolute(bend) * g.inverse};
}

// Of the mean of `count` unit normals.
SIM_FUNCTION SurfaceBend mean_bend(vec3 sum, int count, vec3 fallback) {
    const vec3 mean = reciprocal(real(count)) * sum;
    return {normalize(mean, fallback), square_root(maximum(1 - dot(mean, mean), real(0)))};
}

// Of triangles: the mean of those that meet at corner `corner` of triangle t.
SIM_FUNCTION SurfaceBend corner_bend(const MeshShape& s, int t, int corner) {
    vec3 sum = zero_vec3();
    int count = 0;
    visit_around(s, t, corner, [&](int around, int) {
        sum = sum + load_triangle(s, around, zero_vec3()).normal;
        ++count;
        return true;
    });
    return mean_bend(sum, count, load_triangle(s, t, zero_vec3()).normal);
}

// The same at a point of triangle t that is (u, v) of its patch.
SIM_FUNCTION SurfaceBend triangle_bend(const MeshShape& s, int t, real u, real v) {
    const real rim = real(1) - real(1e-4);
    const bool first = v < -rim, last = v > rim, across = u > rim;
    if (u < -rim) return corner_bend(s, t, 0);
    if (across && (first || last)) return corner_bend(s, t, first ? 1 : 2);
    const vec3 own = load_triangle(s, t, zero_vec3()).normal;
    const int edge = across ? 1 : first ? 0 : last ? 2 : -1;
    const int other = edge < 0 ? -1 : triangle_across(s, t, edge);
    if (other < 0) return {own, 0};
    return mean_bend(own + load_triangle(s, other, zero_vec3()).normal, 2, own);
}

// Angles below this are flat alike.
constexpr real FLAT_ANGLE = real(0.01);
// A surface has no say on a push that is further from its normal than this (cosine).
constexpr real OPPOSED_COSINE = real(0.5);

// The outward normal of the field, and how it and the other surface bend.
struct TouchNormal {
    vec3 normal;
    SurfaceBend field, surface;  // normals as the field's; of infinite angle where the surface has no say
};

// Where both surfaces are smooth it is the flatter one that says along which way they push: of a box's rounded rim on a
// floor the floor.
SIM_FUNCTION TouchNormal flatter_normal(const SurfaceBend& field, const SurfaceBend& surface) {
    if (!(dot(field.normal, surface.normal) < -OPPOSED_COSINE)) {
        const SurfaceBend none = {field.normal, REAL_INFINITY};
        return {field.normal, none, none};
    }
    const vec3 mean = (surface.angle + FLAT_ANGLE) * field.normal - (field.angle + FLAT_ANGLE) * surface.normal;
    return {normalize(mean, field.normal), field, {-surface.normal, surface.angle}};
}
