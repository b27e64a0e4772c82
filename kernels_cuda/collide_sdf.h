// Contacts of shapes that are distance fields.
//
// A field is solid where it is negative, and what it says at a point is the point's distance. Other shapes are searched
// for the points where the field is least (field_patch.h), one for each part of their surface of a few voxels. Where a
// face stands for a contact, its corners and the vertices of the field's surface over it are contacts too: what rests
// on a face rests on all that touches it.
#pragma once

#include "sweep_sdf.h"

// Parts of a surface that get a contact of their own, in voxels.
constexpr real PART_VOXELS = 4;

// A vertex of the field's surface belongs to a face when its triangle faces it to within this (cosine).
constexpr real FACING_COSINE = real(0.7);

// Points of a face's manifold take the contact's normal where their own is as near to it (cosine).
constexpr real MANIFOLD_COSINE = real(0.9);

// What pushes along nearly the way of what a pair touches is beside it (cosine).
constexpr real BESIDE_COSINE = real(0.9);

// Numbers of contacts: what made them, whether the field is that of the pair's first shape, and below it which one.
constexpr int NUMBER_BITS = 28;

enum FieldContact : int {
    FIELD_CORNER = 0,
    FIELD_OF_FIRST = 1 << NUMBER_BITS,
    FIELD_VERTEX = 1 << (NUMBER_BITS + 1),
    FIELD_LEAST = 2 << (NUMBER_BITS + 1),
    FIELD_INNER = 3 << (NUMBER_BITS + 1),
};

// Bits that the parts of a patch have for their codes where a body has `count` patches.
SIM_FUNCTION int bits_of_parts(int count) {
    int bits = NUMBER_BITS;
    while (bits > 1 && count > 1 << (NUMBER_BITS - bits)) --bits;
    return bits;
}

// Of a pair that is followed, what it touches: only this, and what lies beside it, stops the pair. What is still apart
// and pushes another way is not met before the pair is slower; the next step sees it.
struct TouchedPlace {
    vec3 normal;  // from the pair's first shape to the second; zero: the pair is not followed
    real reach;   // of what touches

    SIM_INLINE bool takes(vec3 n, real distance) const {
        return is_zero(normal) || distance <= reach || dot(n, normal) > BESIDE_COSINE;
    }
};

// Of two fields, the place where they are flattest, for each direction of the reduction's normals: the normals of the
// rims of what lies there lean, and what is soft creeps under that. Angles that differ by less than a step are equal.
constexpr real FLAT_STEP = FLAT_ANGLE * real(0.1);

SIM_INLINE real flat_steps(real angle) { return floor_of(divide(angle, FLAT_STEP)); }

struct FlatPlace {
    SurfaceBend side[2];  // of the first and the second shape; both normals from the first to the second
    vec3 point[2];        // of their surfaces
    int number;           // -1: there is none

    SIM_INLINE const SurfaceBend& flatter() const { return side[side[1].angle < side[0].angle]; }
    SIM_INLINE const SurfaceBend& other() const { return side[!(side[1].angle < side[0].angle)]; }

    // Of places that are equally flat, but for round-off, the one with the smaller number stands.
    SIM_FUNCTION bool precedes(const FlatPlace& b) const {
        const real own = flat_steps(flatter().angle), known = flat_steps(b.flatter().angle);
        if (own != known) return own < known;
        const real own_other = flat_steps(other().angle), known_other = flat_steps(b.other().angle);
        return own_other != known_other ? own_other < known_other : number < b.number;
    }
};

struct FlatPlaces {
    FlatPlace place[NORMAL_BINS];

    SIM_FUNCTION void begin() {
        for (int i = 0; i < NORMAL_BINS; ++i) place[i].number = -1;
    }

    // `turn`: of the reduction's frame.
    SIM_FUNCTION void look_at(quat turn, const FlatPlace& found) {
        FlatPlace& known = place[normal_bin(inverse_rotate(turn, found.flatter().normal))];
        if (!(found.flatter().angle < FLAT_ANGLE) || (known.number >= 0 && !found.precedes(known))) return;
        known = found;
    }
};

// A field that collides, and where the contacts go; the first shape of the pair counts as the surface there.
struct FieldContacts {
    FieldShape f;
    Transform pose;  // of the field's shape
    bool is_first;   // the field is the pair's first shape
    int kind;        // added to all numbers
    ContactReduction& found;
    const TouchedPlace& touched;
    FlatPlaces* flat;  // of two fields; else null

    SIM_INLINE SurfaceBend bend_in_world(const SurfaceBend& b) const {
        return {rotate(pose.q, is_first ? b.normal : -b.normal), b.angle};
    }

    // Looks at how flat the surfaces are where they touch, in a point of the other one.
    SIM_FUNCTION void look_at(int number, vec3 x, real value, const TouchNormal& touch) {
        if (flat == nullptr) return;
        FlatPlace at;
        at.side[!is_first] = bend_in_world(touch.field);
        at.side[is_first] = bend_in_world(touch.surface);
        at.point[!is_first] = transform_point(pose, multiply_add(-value, touch.field.normal, x) + f.origin);
        at.point[is_first] = transform_point(pose, x + f.origin);
        at.number = kind | number;
        flat->look_at(found.frame.q, at);
    }

    // How far the field's surface turns within a voxel at a point of the world.
    SIM_FUNCTION real bend_at(vec3 point) const {
        return field_bend(f.grid, inverse_transform_point(pose, point) - f.origin).angle;
    }

    // A point of the other shape, from the first node, with the field's value and outward normal there.
    SIM_FUNCTION void take(int number, vec3 x, real value, vec3 normal) {
        const vec3 point = transform_point(pose, x + f.origin), n = rotate(pose.q, normal);
        if (!touched.takes(is_first ? n : -n, value)) return;
        if (is_first) found(kind | number, multiply_add(-value, n, point), n, value);
        else found(kind | number, point, -n, value);
    }
};

// Which way a thin solid pushes a body whose surface it holds at `x`: not through itself. Where the field's outward
// normal n there would take the body the longer way (`is_back`), the point is behind the middle of the solid, and says
// nothing; on the middle itself the body goes back. Returns whether it pushes.
SIM_FUNCTION bool pushes_back(const FieldShape& f, vec3 x, real value, bool is_back, vec3& n) {
    if (!(value < 0) || is_back) return true;
    const bool on_middle = !(sdf_sample(f.grid, multiply_add(-f.grid.voxel, n, x)).value < value);
    if (on_middle) n = -n;
    return on_middle;
}

// Is less of the body behind x than ahead of it, along n?
SIM_FUNCTION bool is_way_back(const Convex& body, const FieldPlace& at, vec3 x, vec3 n) {
    const vec3 d = transpose_multiply(at.turn, n), twice = 2 * transpose_multiply(at.turn, x - at.shift);
    return dot(d, core_support(body, d) + core_support(body, -d) - twice) >= 0;
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
        if (!(dot(slope, n) > 0)) continue;
        to.take(FIELD_CORNER | face.feature << 5 | i, x, value, dot(slope, n) > MANIFOLD_COSINE ? n : slope);
    }
}

// How far behind a face a vertex of the field's surface may lie and still be one of its contacts, in voxels: at most,
// and how much further than the face is deep in the field. A corner that is further in leaves by another face.
constexpr real BEHIND_VOXELS = 2, BEHIND_LEAST_VOXELS = real(0.5);

// Vertices of the field's surface that face a flat polygon and lie over it. Corners and the unit `normal` of the
// polygon in the frame of the field's shape, counter-clockwise seen from where the normal points; `least`: the field's
// least value on it.
SIM_STAGE void take_vertices(FieldContacts& to, const MeshShape& surface, const vec3* corner, int count, vec3 normal,
                             real least) {
    vec3 lower = corner[0], upper = corner[0];
    for (int i = 1; i < count; ++i) {
        lower = minimum(lower, corner[i]);
        upper = maximum(upper, corner[i]);
    }
    const real voxel = to.f.grid.voxel;
    const real behind =
        minimum(BEHIND_VOXELS * voxel, multiply_add(BEHIND_LEAST_VOXELS, voxel, maximum(-least, real(0))));
    const real reach = maximum(to.found.reach, behind) + voxel;
    const MeshBox box = {lower - reach * vec3{1, 1, 1}, upper + reach * vec3{1, 1, 1}};
    const auto look = [&](int t) {
        const Triangle triangle = load_triangle(surface, t, zero_vec3());
        if (!(dot(triangle.normal, normal) < -FACING_COSINE)) return;
        for (int i = 0; i < 3; ++i) {
            const vec3 p = triangle.corner[i];
            const real height = dot(normal, p - corner[0]);
            bool over = height < to.found.reach && height > -behind;
            for (int k = 0; k < count && over; ++k) {
                const vec3 side = corner[k + 1 < count ? k + 1 : 0] - corner[k];
                over = dot(cross(normal, side), p - corner[k]) >= 0;
            }
            if (!over) continue;
            const int number = mesh_corner(surface, t, i);
            to.take(FIELD_VERTEX | number, multiply_add(-height, normal, p) - to.f.origin, height, -normal);
        }
    };
    visit_triangles(surface, [&] { return box; }, look);
}

// The least values of the field on the patches of a convex body, and what lies about them.
SIM_STAGE void collide_field_patch(FieldContacts& to, const MeshShape& surface, const Convex& body,
                                   const FieldPlace& at, int number, int bits, const Patch& patch) {
    FieldMinimum least = {REAL_INFINITY, zero_vec3(), 0, 0, 0};
    vec3 n = zero_vec3();
    auto take = [&](FieldMinimum m) {
        vec3 normal = contact_normal(to.f, patch, at, m);
        settle_on_support(to.f, body, at, m, normal);
        if (!pushes_back(to.f, m.point, m.value, is_way_back(body, at, m.point, normal), normal)) return;
        to.take(FIELD_LEAST | number << bits | m.code, m.point, m.value, normal);
        if (!(m.value < least.value)) return;
        least = m;
        n = normal;
    };
    search_patch(to.f, patch, at, CONTACT_SEARCH, to.found.reach, PART_VOXELS * to.f.grid.voxel, bits, take);
    if (!(least.value < to.found.reach)) return;
    const FeaturePolygon face = feature_polygon(body, -transpose_multiply(at.turn, n));
    if (face.count < 2) return;
    take_corners(to, at, face, body.radius, n);
    if (face.count < 3 || !(-dot(at.turn * face.normal, n) > FACE_COSINE)) return;
    vec3 corner[POLYGON_CORNERS];
    for (int i = 0; i < face.count; ++i) corner[i] = at.turn * face.corner[i] + at.shift + to.f.origin;
    take_vertices(to, surface, corner, face.count, at.turn * face.normal, least.value);
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

// Takes the contacts of that ball with a surface of triangles; of the numbers of very many the last bits stay.
// Of a pair that is followed all of them, not only those beside what it touches: they are distances of a ball, true in
// every direction, so that what lies ahead elsewhere stops the pair where they would meet. (With the rest left out more
// of what flies into bumps and cliffs of height fields at 60 m/s got behind their surface.)
struct InnerContacts {
    ContactReduction& found;
    real reach;

    SIM_FUNCTION void operator()(int number, vec3 point, vec3 normal, real distance) {
        found(FIELD_INNER | (number & ((1 << NUMBER_BITS) - 1)), point, normal, distance);
    }
};

SIM_FUNCTION void collide_inner_ball(const BodyOverSurface& s, ContactReduction& found) {
    InnerContacts inner = {found, found.reach};
    const MeshBox box = body_box(s, found.reach);
    visit_triangles(s.surface, [&] { return box; }, [&](int t) { collide_triangle(s, t, inner); });
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
    const int bits = bits_of_parts(most_patches(body));
    visit_patches(body, [&](int i, const Patch& patch) { collide_field_patch(to, surface, body, at, i, bits, patch); });
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
    search_patch(to.f, under, at, CONTACT_SEARCH, to.found.reach, REAL_INFINITY, 1, take);
    const real inner = height + dot(normal, to.f.inner);
    if (inner < 0)
        to.take(FIELD_INNER, multiply_add(-inner, normal, to.f.inner) - to.f.origin, inner + to.f.depth, -normal);
}

// A surface and a field.
struct FieldSurface {
    const MeshShape& other;
    const FieldShape* own;   // the field of which the surface is that; null: a mesh
    const MeshShape* field;  // the field's surface; null: its vertices are left out
    FieldPlace at;
    int bits;       // of parts
    bool is_small;  // no larger than the field's shape
    vec3 middle;    // of a small one: a point among its vertices, from the first node

    // Is less of the surface behind x than ahead of it, along n? `own`: the outward normal of the triangle there; of a
    // large surface it tells where the solid is.
    SIM_FUNCTION bool is_way_back(vec3 x, vec3 own, vec3 n) const {
        return dot(n, own) < -OPPOSED_COSINE || (is_small ? dot(n, middle - x) >= 0 : dot(n, own) <= 0);
    }
};

// The outward normal of the field where `x` of triangle t touches, which is (u, v) of its patch, or its corner.
SIM_FUNCTION TouchNormal normal_on_surface(const FieldShape& f, const FieldSurface& s, int t, vec3 x, real u, real v,
                                           int corner) {
    const vec3 local = transpose_multiply(s.at.turn, x - s.at.shift);
    SurfaceBend bend = s.own != nullptr ? field_bend(s.own->grid, local - s.own->origin)
                       : corner < 0     ? triangle_bend(s.other, t, u, v)
                                        : corner_bend(s.other, t, corner);
    bend.normal = s.at.turn * bend.normal;
    return flatter_normal(field_bend(f.grid, x), bend);
}

SIM_STAGE void take_least(FieldContacts& to, const FieldSurface& s, const FieldTriangle& triangle, int t,
                          const FieldMinimum& least) {
    const int number = t - s.other.model->mesh_triangle_start[s.other.mesh];
    const bool within = is_within_flat(triangle.patch, s.at, least, field_normal(to.f.grid, least.point));
    vec3 n = -triangle.normal;
    if (!within) n = normal_on_surface(to.f, s, t, least.point, least.u, least.v, -1).normal;
    if (!pushes_back(to.f, least.point, least.value, s.is_way_back(least.point, triangle.normal, n), n)) return;
    to.take(FIELD_LEAST | number << s.bits | least.code, least.point, least.value, n);
}

// A triangle that is larger than a part: as the patch of a convex body.
SIM_STAGE void collide_large_triangle(FieldContacts& to, const FieldSurface& s, const FieldTriangle& triangle, int t) {
    real deepest = REAL_INFINITY;
    auto take = [&](const FieldMinimum& least) {
        deepest = minimum(deepest, least.value);
        take_least(to, s, triangle, t, least);
    };
    const real part = PART_VOXELS * to.f.grid.voxel;
    search_patch(to.f, triangle.patch, s.at, CONTACT_SEARCH, to.found.reach, part, s.bits, take);
    if (!(deepest < REAL_INFINITY) || s.field == nullptr) return;
    vec3 corner[3];
    for (int i = 0; i < 3; ++i) corner[i] = triangle.corner[i] + to.f.origin;
    take_vertices(to, *s.field, corner, 3, triangle.normal, deepest);
}

// A triangle: its vertices, and the least of the field where that is deeper than they are; of a large triangle of all
// parts.
SIM_STAGE void collide_triangle_field(FieldContacts& to, const FieldSurface& s, int t) {
    const FieldTriangle triangle = field_triangle(s.other, s.at, t);
    if (!may_be_below(to.f, triangle, to.found.reach)) return;
    real deepest = REAL_INFINITY;
    for (int i = 0; i < 3; ++i) {
        const vec3 x = triangle.corner[i];
        const real value = sdf_sample(to.f.grid, x).value;
        deepest = minimum(deepest, value);
        if (!(value < to.found.reach)) continue;
        const TouchNormal touch = normal_on_surface(to.f, s, t, x, 0, 0, i);
        vec3 n = touch.normal;
        to.look_at(FIELD_CORNER | mesh_corner(s.other, t, i), x, value, touch);
        if (!pushes_back(to.f, x, value, s.is_way_back(x, triangle.normal, n), n)) continue;
        to.take(FIELD_CORNER | mesh_corner(s.other, t, i), x, value, n);
    }
    if (triangle.longest > PART_VOXELS * to.f.grid.voxel) return collide_large_triangle(to, s, triangle, t);
    auto take = [&](const FieldMinimum& least) { take_least(to, s, triangle, t, least); };
    const real limit = minimum(to.found.reach, multiply_add(-TRIANGLE_SEARCH.tolerance, to.f.grid.voxel, deepest));
    search_patch(to.f, triangle.patch, s.at, TRIANGLE_SEARCH, limit, REAL_INFINITY, 1, take);
}

// The mean of eight vertices of a mesh.
SIM_FUNCTION vec3 among_vertices(const MeshShape& s) {
    const ModelView& m = *s.model;
    const int first = m.mesh_point_start[s.mesh], count = m.mesh_point_start[s.mesh + 1] - first;
    vec3 sum = zero_vec3();
    for (int i = 0; i < 8; ++i) sum = sum + load_vec3(&m.mesh_point[3 * (first + int((long long)count * i / 8))]);
    return multiply(real(0.125) * s.scale, sum);
}

// The triangles of another surface, of `own_radius`, in the field. `radius`: of the field's shape; the pointers as of
// FieldSurface.
SIM_STAGE void collide_surface_field(const MeshShape& other, const FieldShape* own, const Transform& pose,
                                     real own_radius, FieldContacts& to, real radius, const MeshShape* field) {
    const ModelView& m = *other.model;
    const int count = m.mesh_triangle_start[other.mesh + 1] - m.mesh_triangle_start[other.mesh];
    const FieldPlace at = field_place(to.f, to.pose, pose);
    const bool is_small = own_radius <= radius && !other.is_field;
    const vec3 middle = is_small ? at.turn * among_vertices(other) + at.shift : zero_vec3();
    const FieldSurface s = {other, own, field, at, bits_of_parts(count), is_small, middle};
    visit_in_field(
        other, to.f, s.at, radius, [&] { return to.found.reach; }, [&](int t) { collide_triangle_field(to, s, t); });
}

// The rim of a flat place of two fields is as high as it, to within this part of a voxel; by how much its normals may
// lean (cosine).
constexpr real RIM_VOXELS = real(0.0625), RIM_COSINE = real(0.7);

// Within a voxel of the rim of a face the grid tells too little of how deep a point is, down to nothing at the rim, so
// that the middle of a face would carry all. What is in there, and lies in a flat face itself (to within this part of a
// voxel), is as deep as it is behind the plane of the other's.
constexpr real FACE_VOXELS = real(1e-3);

SIM_FUNCTION void measure_to_plane(const FieldContacts& to, real voxel, const FlatPlace& place, ReducedContact& c) {
    if (!(c.distance < 0 && flat_steps(place.other().angle) == 0)) return;
    const int own = to.is_first;  // the shape on whose surface the contact was found
    const vec3 x = own == 0 ? c.point : multiply_add(c.distance, c.normal, c.point), n = place.side[1 - own].normal;
    const real off_face = dot(place.side[own].normal, x - place.point[own]);
    if (!(absolute(off_face) < FACE_VOXELS * voxel && to.bend_at(x) > FLAT_ANGLE)) return;
    const real distance = own == 0 ? dot(n, place.point[1] - x) : dot(n, x - place.point[0]);
    if (!(distance < c.distance)) return;
    c.distance = distance;
    if (own == 1) c.point = multiply_add(-distance, place.flatter().normal, x);
}

// Contacts of two fields on the rim of a flat place take its normal. `to`, `back`: those found on the surface of the
// first shape, and of the second.
SIM_STAGE void straighten_rims(const FieldContacts& to, const FieldContacts& back, const FlatPlaces& flat) {
    const real voxel = maximum(to.f.grid.voxel, back.f.grid.voxel);
    for (int i = 0; i < NORMAL_BINS * BIN_SLOTS; ++i) {
        ReducedContact& c = to.found.slot[i];
        const FlatPlace& place = flat.place[i / BIN_SLOTS];
        if (c.number < 0 || place.number < 0) continue;
        const vec3 n = place.flatter().normal;
        const bool level = absolute(dot(n, c.point - place.point[0])) < RIM_VOXELS * voxel;
        if (!level || !(dot(c.normal, n) > RIM_COSINE)) continue;
        measure_to_plane(c.number & FIELD_OF_FIRST ? back : to, voxel, place, c);
        c.normal = n;
    }
}

// Into `found`; `a` has the smaller ShapeType.
SIM_STAGE void collide_with_field(const ModelView& model, int routine, int shape0, const Transform& pose0, int shape1,
                                  const Transform& pose1, const PlacedShape& a, const TouchedPlace& touched,
                                  ContactReduction& found) {
    const real radius0 = model.shape_radius[shape0], radius1 = model.shape_radius[shape1];
    FieldContacts to = {field_shape(model, shape1), pose1, false, 0, found, touched, nullptr};
    const MeshShape surface = mesh_shape(model, shape1);
    if (routine == PAIR_PLANE_SDF) return collide_plane_field(a, to, surface, radius1);
    if (routine == PAIR_CONVEX_SDF) return collide_convex_field(convex_of(model, shape0), pose0, radius0, to, surface);
    const MeshShape first = mesh_shape(model, shape0);
    if (routine == PAIR_SDF_SDF) {
        FlatPlaces flat;
        flat.begin();
        to.flat = &flat;
        FieldContacts back = {field_shape(model, shape0), pose0, true, FIELD_OF_FIRST, found, touched, &flat};
        collide_surface_field(first, &back.f, pose0, radius0, to, radius1, nullptr);
        collide_surface_field(surface, &to.f, pose1, radius1, back, radius0, nullptr);
        return straighten_rims(to, back, flat);
    }
    collide_surface_field(first, nullptr, pose0, radius0, to, radius1, &surface);
    const InnerBall ball = inner_ball(to.f, pose1);
    const real own = ball.body.radius;
    if (routine == PAIR_MESH_SDF) push_out_body(first, pose0, ball.body, ball.pose, found);
    else collide_inner_ball(body_over_surface(first, pose0, a.size.z, ball.body, ball.pose, own), found);
}

// Pairs with a distance field; `a` has the smaller ShapeType. The frame of the smaller body keeps the contacts.
template <class Writer>
SIM_STAGE void collide_field_pair(const ModelView& model, int routine, int shape0, const PlacedShape& a, int shape1,
                                  const PlacedShape& b, Writer& write) {
    const real radius0 = model.shape_radius[shape0], radius1 = model.shape_radius[shape1];
    const bool first_smaller = radius0 < radius1;
    const real radius = first_smaller ? radius0 : radius1;
    Transform pose0 = a.pose, pose1 = b.pose;
    FieldTouch touch = {-1, zero_vec3(), 0};
    if (write.sweep) touch = first_touch(MovingField{model, shape0, shape1, pose0, pose1}, *write.sweep);
    const real time = touch.time;
    if (time > 0) {
        pose0 = moved_pose(write.sweep->body[0], pose0, time);
        pose1 = moved_pose(write.sweep->body[1], pose1, time);
    }
    ContactReduction found;
    found.begin(first_smaller ? pose0 : pose1, radius, write.reach);
    if (time >= 0) {
        found.reach = maximum(reach_at_touch(*write.sweep, touch), write.reach);
        found.time = maximum(time, SWEEP_START);
        found.way = time * write.sweep->speed;
    }
    const TouchedPlace touched = {touch.normal, touch.reach};
    collide_with_field(model, routine, shape0, pose0, shape1, pose1, a, touched, found);
    write.reach = maximum(found.reach, write.reach);
    write_reduced(found, radius, true, write);
}
