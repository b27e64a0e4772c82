// sim.collision.shape_distance: one pair of shapes an item.

#include "collide_any.h"

// From the first shape to the second: distance, unit normal, and the point on the first; the point on the second is
// point + distance normal.
struct ShapeDistance {
    real distance;
    vec3 normal, point;
};

// A shape of the model, where it stands.
struct ModelShape {
    const ModelView& model;
    int row, type;
    Transform pose;
    real radius;
};

SIM_FUNCTION ModelShape model_shape_at(const ModelView& model, const real* body_q, int row) {
    return {model, row, model.shape_type[row], shape_pose(model, body_q, row), model.shape_radius[row]};
}

SIM_INLINE bool is_surface(int type) { return type == SHAPE_MESH || type == SHAPE_HEIGHTFIELD || type == SHAPE_SDF; }

SIM_FUNCTION ShapeDistance distance_of_convex(const ModelShape& a, const ModelShape& b) {
    const ConvexPair pair = convex_pair(convex_of(a.model, a.row), a.pose, convex_of(b.model, b.row), b.pose,
                                        a.radius, b.radius);
    const ConvexDistance d = convex_distance(pair, REAL_INFINITY);
    return {pair.unit * d.distance, rotate(a.pose.q, d.normal), transform_point(a.pose, pair.unit * d.point)};
}

// The lowest point of the shape over the plane, which is endless here.
SIM_FUNCTION ShapeDistance distance_over_plane(const ModelShape& plane, const ModelShape& shape) {
    const vec3 normal = rotate(plane.pose.q, vec3{0, 0, 1}), down = -inverse_rotate(shape.pose.q, normal);
    vec3 lowest;
    if (is_surface(shape.type)) {
        const ModelView& m = shape.model;
        const MeshShape mesh = mesh_shape(m, shape.row);
        const int first = m.mesh_point_start[mesh.mesh], end = m.mesh_point_start[mesh.mesh + 1];
        const auto vertex = [&](int i) { return multiply(mesh.scale, load_vec3(&m.mesh_point[3 * i])); };
        lowest = vertex(first);
        for (int i = first + 1; i < end; ++i)
            if (dot(vertex(i), down) > dot(lowest, down)) lowest = vertex(i);
    } else {
        const Convex body = convex_of(shape.model, shape.row);
        lowest = multiply_add(body.radius, down, core_support(body, down));
    }
    const vec3 point = transform_point(shape.pose, lowest);
    const real distance = dot(normal, point - plane.pose.p);
    return {distance, normal, multiply_add(-distance, normal, point)};
}

// Takes the nearest triangle of a surface to a convex body.
SIM_FUNCTION void nearest_triangle(const BodyOverSurface& s, int t, ShapeDistance& best) {
    const Triangle triangle = load_triangle(s.surface, t, s.origin);
    const ConvexPair pair = convex_pair(triangle_body(s, triangle), s.frame, s.body, s.pose, s.radius, s.radius);
    const ConvexDistance d = convex_distance(pair, divide(best.distance, pair.unit));
    if (d.far || !(pair.unit * d.distance < best.distance)) return;
    best = {pair.unit * d.distance, rotate(s.frame.q, d.normal), transform_point(s.frame, pair.unit * d.point)};
}

// A distance found before bounds the search.
SIM_FUNCTION void distance_to_surface(const BodyOverSurface& s, ShapeDistance& best) {
    if (s.surface.is_field) {  // the cells are looked up once: begin with a near one
        const ModelView& m = *s.surface.model;
        const int first = m.mesh_triangle_start[s.surface.mesh];
        const int count = m.mesh_triangle_start[s.surface.mesh + 1] - first;
        nearest_triangle(s, first + count / 4, best);
        const MeshBox under = unscaled_box(s.surface, s.origin, s.origin);
        int near = -1;
        visit_triangles(s.surface, [&] { return under; }, [&](int t) { near = t; });
        if (near >= 0) nearest_triangle(s, near, best);
    }
    vec3 lower, upper;
    for (int k = 0; k < 3; ++k) {
        upper[k] = body_support(s, unit_vector(k))[k];
        lower[k] = body_support(s, -unit_vector(k))[k];
    }
    const auto box = [&] {
        const vec3 reach = maximum(best.distance, real(0)) * vec3{1, 1, 1};
        return unscaled_box(s.surface, s.origin + lower - reach, s.origin + upper + reach);
    };
    visit_triangles(s.surface, box, [&](int t) { nearest_triangle(s, t, best); });
}

// Of shapes that overlap: their deepest contact, as the reduction holds it.
SIM_FUNCTION void take_deepest(const ContactReduction& found, ShapeDistance& best) {
    const ReducedContact deepest = found.deepest();
    if (deepest.number >= 0) best = {deepest.distance, deepest.normal, deepest.point};
}

// Takes the contacts with a surface that overlaps, as the first body: keeps the deepest, or the shallowest.
struct OneContact {
    real reach;
    vec3 tangent_hint;
    bool shallowest;
    ShapeDistance kept;
    int number;  // -1: none

    SIM_FUNCTION void operator()(int feature, vec3 point, vec3 normal, real distance) {
        const real deeper = (shallowest ? real(-1) : real(1)) * (kept.distance - distance);
        if (number >= 0 && !(deeper > 0 || (deeper == 0 && feature < number))) return;
        kept = {distance, normal, point};
        number = feature;
    }
};

SIM_FUNCTION ShapeDistance distance_of_surface(const ModelShape& surface, const ModelShape& body) {
    const real base = field_base(surface.model, surface.row);
    BodyOverSurface s = body_over_surface(mesh_shape(surface.model, surface.row), surface.pose, base,
                                          convex_of(body.model, body.row), body.pose, body.radius);
    ShapeDistance best = {REAL_MAX, zero_vec3(), zero_vec3()};
    distance_to_surface(s, best);
    if (best.distance > 0) return best;
    s.measures = true;
    OneContact found = {0, zero_vec3(), false, best, -1};
    for (int pass = 0; pass < 2 && found.number < 0; ++pass) {
        // where no triangle is left by a way that the surface has, they share one: each has it, or a longer one
        s.turns = found.shallowest = pass == 1;
        const MeshBox box = body_box(s, 0);
        visit_triangles(s.surface, [&] { return box; }, [&](int t) { collide_triangle(s, t, found); });
    }
    return found.kept;
}

SIM_FUNCTION ShapeDistance distance_of_surfaces(const ModelShape& a, const ModelShape& b) {
    const real base = field_base(a.model, a.row);
    const MeshShape first = mesh_shape(a.model, a.row), second = mesh_shape(b.model, b.row);
    ShapeDistance best = {REAL_MAX, zero_vec3(), zero_vec3()};
    const int begin = b.model.mesh_triangle_start[second.mesh], end = b.model.mesh_triangle_start[second.mesh + 1];
    for (int t = begin; t < end && best.distance > 0; ++t) {
        const FreeTriangle free = free_triangle(second, t, b.pose);
        distance_to_surface(body_over_surface(first, a.pose, base, free.body, free.pose, core_extent(free.body)), best);
    }
    if (best.distance > 0) return best;
    ContactReduction found;
    found.begin(b.pose, b.radius, real(0));
    collide_surfaces(first, a.pose, a.radius, base, second, b.pose, b.radius, found);
    take_deepest(found, best);
    return best;
}

#ifdef SIM_DISTANCE_FIELDS
// Takes the least value of a field on a patch of the other shape, for a pair of which the field is the second.
SIM_STAGE void least_on_patch(const FieldShape& f, const Transform& field_pose, const FieldPlace& at,
                              const Patch& patch, ShapeDistance& best) {
    auto take = [&](const FieldMinimum& m) {
        best = {m.value, -rotate(field_pose.q, contact_normal(f, patch, at, m)),
                transform_point(field_pose, m.point + f.origin)};
    };
    search_patch(f, patch, at, DISTANCE_SEARCH, best.distance, REAL_INFINITY, take);
}

// The triangles of a surface in a field, the nearest of them by their tree.
SIM_FUNCTION void least_on_surface(const ModelShape& a, const ModelShape& field, ShapeDistance& best) {
    const FieldShape f = field_shape(field.model, field.row);
    const FieldPlace at = field_place(f, field.pose, a.pose);
    const MeshShape mesh = mesh_shape(a.model, a.row);
    const vec3 centre = inverse_transform_point(a.pose, field.pose.p);
    const auto take = [&](int t) {
        const Triangle triangle = load_triangle(mesh, t, zero_vec3());
        if (is_zero(triangle.normal)) return;
        const Patch patch = {PATCH_TRIANGLE, 0, {triangle.corner[0], triangle.corner[1], triangle.corner[2]}};
        least_on_patch(f, field.pose, at, patch, best);
    };
    const int first = a.model.mesh_triangle_start[mesh.mesh], end = a.model.mesh_triangle_start[mesh.mesh + 1];
    for (int i = 0; i < 8; ++i) take(first + int((long long)(end - first) * i / 8));  // begin with a near one
    const auto box = [&] {
        const vec3 reach = (field.radius + maximum(best.distance, real(0))) * vec3{1, 1, 1};
        return unscaled_box(mesh, centre - reach, centre + reach);
    };
    visit_triangles(mesh, box, take);
}

SIM_FUNCTION ShapeDistance distance_of_fields(const ModelShape& a, const ModelShape& b) {
    ShapeDistance best = {REAL_MAX, zero_vec3(), zero_vec3()};
    least_on_surface(a, b, best);
    ShapeDistance back = {best.distance, zero_vec3(), zero_vec3()};
    least_on_surface(b, a, back);
    if (!(back.distance < best.distance)) return best;
    return {back.distance, -back.normal, multiply_add(back.distance, back.normal, back.point)};
}

// To a field from a shape of a smaller ShapeType.
SIM_FUNCTION ShapeDistance distance_to_field(const ModelShape& a, const ModelShape& b) {
    if (a.type == SHAPE_SDF) return distance_of_fields(a, b);
    const FieldShape f = field_shape(b.model, b.row);
    const FieldPlace at = field_place(f, b.pose, a.pose);
    const InnerBall inner = inner_ball(f, b.pose);
    ShapeDistance best = {REAL_MAX, zero_vec3(), zero_vec3()};
    if (a.type == SHAPE_PLANE) {
        best = distance_over_plane(a, b);
        const vec3 up = best.normal;
        least_on_patch(f, b.pose, at, plane_patch(a.pose, b.pose.p, b.radius), best);
        best.normal = up;
        const real height = dot(up, inner.pose.p - a.pose.p), distance = height + f.depth;
        if (height < 0 && distance < best.distance) best = {distance, up, multiply_add(-height, up, inner.pose.p)};
        return best;
    }
    if (is_surface(a.type)) {
        least_on_surface(a, b, best);
        return best;
    }
    const Convex body = convex_of(a.model, a.row);
    visit_patches(body, [&](int, const Patch& patch) { least_on_patch(f, b.pose, at, patch, best); });
    const ConvexDistance held = ball_in_body(inner, body, a.pose, a.radius);
    if (!held.far && held.distance < best.distance) best = {held.distance, held.normal, held.point};
    return best;
}
#endif

// `a` has the smaller ShapeType.
SIM_FUNCTION ShapeDistance distance_of_shapes(const ModelShape& a, const ModelShape& b) {
#ifdef SIM_DISTANCE_FIELDS
    if (b.type == SHAPE_SDF) return distance_to_field(a, b);
#endif
    if (a.type == SHAPE_PLANE) return distance_over_plane(a, b);
    if (is_surface(a.type) && is_surface(b.type)) return distance_of_surfaces(a, b);
    if (a.type == SHAPE_HEIGHTFIELD) return distance_of_surface(a, b);
    if (b.type != SHAPE_MESH) return distance_of_convex(a, b);
    const ShapeDistance d = distance_of_surface(b, a);
    return {d.distance, -d.normal, multiply_add(d.distance, d.normal, d.point)};
}

extern "C" __global__ void shape_distance(int n, const ModelView model, const real* body_q,
                                          const int* pairs,  // (n, 2)
                                          real* distance,    // (n)
                                          real* point0,      // (n, 3)
                                          real* point1,      // (n, 3)
                                          real* normal       // (n, 3)
) {
    for_each(i, n) {
        const ModelShape a = model_shape_at(model, body_q, pairs[2 * i]);
        const ModelShape b = model_shape_at(model, body_q, pairs[2 * i + 1]);
        const bool swapped = a.type > b.type;
        const ShapeDistance d = swapped ? distance_of_shapes(b, a) : distance_of_shapes(a, b);
        const vec3 other = multiply_add(d.distance, d.normal, d.point);
        distance[i] = canonical(d.distance);
        store_vec3(&normal[3 * i], canonical(swapped ? -d.normal : d.normal));
        store_vec3(&point0[3 * i], canonical(swapped ? other : d.point));
        store_vec3(&point1[3 * i], canonical(swapped ? d.point : other));
    }
}
