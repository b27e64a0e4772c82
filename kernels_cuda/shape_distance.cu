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

SIM_INLINE bool is_surface(int type) { return type == SHAPE_MESH || type == SHAPE_HEIGHTFIELD; }

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

SIM_FUNCTION ShapeDistance distance_of_surface(const ModelShape& surface, const ModelShape& body) {
    const real base = field_base(surface.model, surface.row);
    const BodyOverSurface s = body_over_surface(mesh_shape(surface.model, surface.row), surface.pose, base,
                                                convex_of(body.model, body.row), body.pose, body.radius);
    ShapeDistance best = {REAL_MAX, zero_vec3(), zero_vec3()};
    distance_to_surface(s, best);
    if (best.distance > 0) return best;
    ContactReduction found;
    found.begin(body.pose, body.radius, real(0));
    collide_surface(s, found);
    take_deepest(found, best);
    return best;
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

// `a` has the smaller ShapeType.
SIM_FUNCTION ShapeDistance distance_of_shapes(const ModelShape& a, const ModelShape& b) {
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
