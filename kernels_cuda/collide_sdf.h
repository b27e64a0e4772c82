// Contacts of shapes that are distance fields.
//
// A field is solid where it is negative, and what it says at a point is the point's distance. Other shapes are searched
// for the points where the field is least (field_patch.h), one for each part of their surface of a few voxels. Where a
// face stands for a contact, its corners and the vertices of the field's surface over it are contacts too: what rests
// on a face rests on all that touches it.
#pragma once

#include "field_patch.h"
#include "mesh_solid.h"

// Parts of a surface that get a contact of their own, in voxels.
constexpr real PART_VOXELS = 4;

// A vertex of the field's surface belongs to a face when its triangle faces it to within this (cosine).
constexpr real FACING_COSINE = real(0.7);

// Points of a face's manifold take the contact's normal where their own is as near to it (cosine).
constexpr real MANIFOLD_COSINE = real(0.9);

// Numbers of contacts: what made them, and below it which one.
enum FieldContact : int {
    FIELD_CORNER = 0,
    FIELD_VERTEX = 1 << 28,
    FIELD_LEAST = 1 << 29,
    FIELD_INNER = 1 << 30,
};

// A field that collides, and where the contacts go; the first shape of the pair counts as the surface there.
struct FieldContacts {
    FieldShape f;
    Transform pose;     // of the field's shape
    bool is_first;      // the field is the pair's first shape
    int kind;           // added to all numbers
    ContactReduction& found;

    // A point of the other shape, from the first node, with the field's value and outward normal there.
    SIM_FUNCTION void take(int number, vec3 x, real value, vec3 normal) {
        const vec3 point = transform_point(pose, x + f.origin), n = rotate(pose.q, normal);
        if (is_first) found(kind | number, multiply_add(-value, n, point), n, value);
        else found(kind | number, point, -n, value);
    }
};

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
SIM_FUNCTION vec3 contact_normal(const FieldShape& f, const Patch& patch, const FieldPlace& at, const FieldMinimum& m) {
    const vec3 slope = field_normal(f.grid, m.point);
    const vec3 facing = -(at.turn * patch_normal(patch));
    const real rim = real(1) - real(1e-4);
    const bool within = absolute(m.u) < rim && absolute(m.v) < rim && dot(facing, slope) > real(0.5);
    return within ? facing : slope;
}

// Of a curved body the point furthest along the contact is taken where the field is as low there: exact, and steady.
SIM_FUNCTION void settle_on_support(const FieldShape& f, const Convex& body, const FieldPlace& at, FieldMinimum& m,
                                    vec3& normal) {
    if (body.kind == CONVEX_BOX || body.kind == CONVEX_HULL) return;
    SIM_ROLLED
    for (int i = 0; i < 3; ++i) {
        const vec3 d = -transpose_multiply(at.turn, normal);
        const vec3 x = at.turn * multiply_add(body.radius, d, core_support(body, d)) + at.shift;
        const real value = sdf_sample(f.grid, x).value;
        if (!(value < m.value + CONTACT_SEARCH.tolerance * f.grid.voxel)) return;
        m.value = value;
        m.point = x;
        normal = field_normal(f.grid, x);
    }
}

// The corners of the feature that faces the field.
SIM_STAGE void take_corners(FieldContacts& to, const FieldPlace& at, const FeaturePolygon& face, real radius, vec3 n) {
    const vec3 d = -transpose_multiply(at.turn, n);
    for (int i = 0; i < face.count; ++i) {
        const vec3 x = at.turn * multiply_add(radius, d, face.corner[i]) + at.shift;
        const real value = sdf_sample(to.f.grid, x).value;
        if (!(value < to.found.reach)) continue;
        const vec3 slope = field_normal(to.f.grid, x);
        to.take(FIELD_CORNER | (face.feature & 0xffff) << 5 | i, x, value, dot(slope, n) > MANIFOLD_COSINE ? n : slope);
    }
}

// Vertices of the field's surface that face a flat polygon and lie over it. Corners and the unit `normal` of the
// polygon in the frame of the field's shape, counter-clockwise seen from where the normal points.
SIM_STAGE void take_vertices(FieldContacts& to, const MeshShape& surface, const vec3* corner, int count, vec3 normal) {
    vec3 lower = corner[0], upper = corner[0];
    for (int i = 1; i < count; ++i) {
        lower = minimum(lower, corner[i]);
        upper = maximum(upper, corner[i]);
    }
    const real reach = maximum(to.found.reach, real(0)) + to.f.grid.voxel;
    const MeshBox box = {lower - reach * vec3{1, 1, 1}, upper + reach * vec3{1, 1, 1}};
    visit_triangles(surface, [&] { return box; }, [&](int t) {
        const Triangle triangle = load_triangle(surface, t, zero_vec3());
        if (!(dot(triangle.normal, normal) < -FACING_COSINE)) return;
        for (int i = 0; i < 3; ++i) {
            const vec3 p = triangle.corner[i];
            const real height = dot(normal, p - corner[0]);
            bool over = height < to.found.reach;
            for (int k = 0; k < count && over; ++k) {
                const vec3 side = corner[k + 1 < count ? k + 1 : 0] - corner[k];
                over = dot(cross(normal, side), p - corner[k]) >= 0;
            }
            if (!over) continue;
            const int number = surface.model->mesh_triangle[3 * t + i];
            to.take(FIELD_VERTEX | number, multiply_add(-height, normal, p) - to.f.origin, height, -normal);
        }
    });
}

// The least values of the field on the patches of a convex body, and what lies about them.
SIM_STAGE void collide_field_patch(FieldContacts& to, const MeshShape& surface, const Convex& body,
                                   const FieldPlace& at, int number, const Patch& patch) {
    FieldMinimum least = {REAL_INFINITY, zero_vec3(), 0, 0, 0};
    vec3 n = zero_vec3();
    auto take = [&](FieldMinimum m) {
        vec3 normal = contact_normal(to.f, patch, at, m);
        settle_on_support(to.f, body, at, m, normal);
        to.take(FIELD_LEAST | (number & 0xffff) << 13 | m.code, m.point, m.value, normal);
        if (!(m.value < least.value)) return;
        least = m;
        n = normal;
    };
    search_patch(to.f, patch, at, CONTACT_SEARCH, to.found.reach, PART_VOXELS * to.f.grid.voxel, take);
    if (!(least.value < to.found.reach)) return;
    const FeaturePolygon face = feature_polygon(body, -transpose_multiply(at.turn, n));
    if (face.count < 2) return;
    take_corners(to, at, face, body.radius, n);
    if (face.count < 3 || !(-dot(at.turn * face.normal, n) > FACE_COSINE)) return;
    vec3 corner[POLYGON_CORNERS];
    for (int i = 0; i < face.count; ++i) corner[i] = at.turn * face.corner[i] + at.shift + to.f.origin;
    take_vertices(to, surface, corner, face.count, at.turn * face.normal);
}

// The ball about the deepest point of the field that the solid holds.
struct InnerBall {
    Convex body;
    Transform pose;
};

SIM_FUNCTION InnerBall inner_ball(const FieldShape& f, const Transform& pose) {
    InnerBall ball = {{CONVEX_POINT, zero_vec3(), -f.depth, nullptr, -1, {zero_vec3(), zero_vec3(), zero_vec3()}, 0},
                      {transform_point(pose, f.inner), pose.q}};
    return ball;
}

// A body that holds the field's deepest point pushes its ball out: on its surface the field need not be negative.
SIM_STAGE ConvexDistance ball_in_body(const InnerBall& ball, const Convex& body, const Transform& pose, real radius) {
    const ConvexPair pair = convex_pair(body, pose, ball.body, ball.pose, radius, ball.body.radius);
    ConvexDistance d = convex_distance(pair, 0);
    const bool holds = !d.far && pair.unit * d.distance < -ball.body.radius;
    return {holds ? pair.unit * d.distance : REAL_INFINITY, rotate(pose.q, d.normal),
            transform_point(pose, pair.unit * d.point), !holds};
}

SIM_STAGE void collide_convex_field(const Convex& body, const Transform& pose, real radius, FieldContacts& to,
                                    const MeshShape& surface) {
    const FieldPlace at = field_place(to.f, to.pose, pose);
    visit_patches(body, [&](int i, const Patch& patch) { collide_field_patch(to, surface, body, at, i, patch); });
    const ConvexDistance ball = ball_in_body(inner_ball(to.f, to.pose), body, pose, radius);
    if (!ball.far) to.found(FIELD_INNER, ball.point, ball.normal, ball.distance);
}

// The square of a plane that the shape is over.
SIM_FUNCTION Patch plane_patch(const Transform& plane, vec3 centre, real radius) {
    const vec3 under = inverse_transform_point(plane, centre);
    return {PATCH_QUAD, 0, {{under.x, under.y, 0}, {radius, 0, 0}, {0, radius, 0}}};
}

// Vertices below the plane, the point of it where the field is least, and the inner ball.
SIM_STAGE void collide_plane_field(const PlacedShape& plane, FieldContacts& to, const MeshShape& surface, real radius) {
    const ModelView& m = *surface.model;
    const vec3 up = z_axis(plane), normal = inverse_rotate(to.pose.q, up);
    const real height = dot(up, to.pose.p - plane.pose.p);
    const int first = m.mesh_point_start[surface.mesh], end = m.mesh_point_start[surface.mesh + 1];
    for (int i = first; i < end; ++i) {
        const vec3 p = load_vec3(&m.mesh_point[3 * i]);
        const real distance = height + dot(normal, p);
        if (distance < to.found.reach)
            to.take(FIELD_VERTEX | (i - first), multiply_add(-distance, normal, p) - to.f.origin, distance, -normal);
    }
    const FieldPlace at = field_place(to.f, to.pose, plane.pose);
    auto take = [&](const FieldMinimum& least) { to.take(FIELD_LEAST, least.point, least.value, -normal); };
    const Patch under = plane_patch(plane.pose, to.pose.p, radius);
    search_patch(to.f, under, at, CONTACT_SEARCH, to.found.reach, REAL_INFINITY, take);
    const real inner = height + dot(normal, to.f.inner);
    if (inner < 0)
        to.take(FIELD_INNER, multiply_add(-inner, normal, to.f.inner) - to.f.origin, inner + to.f.depth, -normal);
}

// The triangles of another surface in the field. Of those that are no larger than a part, which are many, the deepest
// point and the vertices; of others as of a convex body. `field_surface` null: the field's vertices are left out.
SIM_STAGE void collide_surface_field(const MeshShape& other, const Transform& pose, FieldContacts& to, real radius,
                                     const MeshShape* field_surface) {
    const ModelView& m = *other.model;
    const SdfGrid& g = to.f.grid;
    const FieldPlace at = field_place(to.f, to.pose, pose);
    const vec3 centre = inverse_transform_point(pose, to.pose.p), reach = (radius + to.found.reach) * vec3{1, 1, 1};
    const MeshBox box = unscaled_box(other, centre - reach, centre + reach);
    const real part = PART_VOXELS * g.voxel;
    real deepest = to.found.reach;
    visit_triangles(other, [&] { return box; }, [&](int t) {
        const Triangle triangle = load_triangle(other, t, zero_vec3());
        if (is_zero(triangle.normal)) return;
        const Patch patch = {PATCH_TRIANGLE, 0, {triangle.corner[0], triangle.corner[1], triangle.corner[2]}};
        const int number = (t - m.mesh_triangle_start[other.mesh]) & 0xffff;
        const vec3 a = triangle.corner[1] - triangle.corner[0], b = triangle.corner[2] - triangle.corner[0];
        const bool large = maximum(length(a), length(b)) > part;
        bool touches = false;
        auto take = [&](const FieldMinimum& least) {
            touches = true;
            deepest = minimum(deepest, least.value);
            to.take(FIELD_LEAST | number << 13 | least.code, least.point, least.value,
                    contact_normal(to.f, patch, at, least));
        };
        if (large) search_patch(to.f, patch, at, CONTACT_SEARCH, to.found.reach, part, take);
        else search_patch(to.f, patch, at, TRIANGLE_SEARCH, deepest, part, take);
        if (large && !touches) return;
        for (int i = 0; i < 3; ++i) {
            const vec3 x = at.turn * triangle.corner[i] + at.shift;
            const real value = sdf_sample(g, x).value;
            const int vertex = m.mesh_triangle[3 * t + i] & 0xfffffff;
            if (value < to.found.reach) to.take(FIELD_CORNER | vertex, x, value, field_normal(g, x));
        }
        if (!large || field_surface == nullptr) return;
        vec3 corner[3];
        for (int i = 0; i < 3; ++i) corner[i] = at.turn * triangle.corner[i] + at.shift + to.f.origin;
        take_vertices(to, *field_surface, corner, 3, at.turn * triangle.normal);
    });
}

// Pairs with a distance field; `a` has the smaller ShapeType. The frame of the smaller body keeps the contacts.
template <class Writer>
SIM_STAGE void collide_field_pair(const ModelView& model, int routine, int shape0, const PlacedShape& a, int shape1,
                                  const PlacedShape& b, Writer& write) {
    const real radius0 = model.shape_radius[shape0], radius1 = model.shape_radius[shape1];
    const bool first_smaller = radius0 < radius1;
    const real radius = first_smaller ? radius0 : radius1;
    ContactReduction found;
    found.begin(first_smaller ? a.pose : b.pose, radius, write.reach);
    found.time = write.time;
    FieldContacts to = {field_shape(model, shape1), b.pose, false, 0, found};
    const MeshShape surface = mesh_shape(model, shape1);
    switch (routine) {
        case PAIR_PLANE_SDF: collide_plane_field(a, to, surface, radius1); break;
        case PAIR_CONVEX_SDF: collide_convex_field(convex_of(model, shape0), a.pose, radius0, to, surface); break;
        case PAIR_SDF_SDF: {
            const MeshShape first = mesh_shape(model, shape0);
            collide_surface_field(first, a.pose, to, radius1, nullptr);
            FieldContacts back = {field_shape(model, shape0), a.pose, true, 1 << 27, found};
            collide_surface_field(surface, b.pose, back, radius0, nullptr);
            break;
        }
        default: {
            const MeshShape first = mesh_shape(model, shape0);
            collide_surface_field(first, a.pose, to, radius1, &surface);
            const InnerBall ball = inner_ball(to.f, b.pose);
            const real own = ball.body.radius;
            if (routine == PAIR_MESH_SDF) push_out_body(first, a.pose, ball.body, ball.pose, found);
            else collide_surface(body_over_surface(first, a.pose, a.size.z, ball.body, ball.pose, own), found);
        }
    }
    write_reduced(found, radius, true, write);
}
