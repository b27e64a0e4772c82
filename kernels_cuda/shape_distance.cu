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

SIM_FUNCTION ConvexPair triangle_pair(const BodyOverSurface& s, int t) {
    const Convex triangle = triangle_body(s, load_triangle(s.surface, t, s.origin));
    return convex_pair(triangle, s.frame, s.body, s.pose, s.radius, s.radius);
}

// Takes the nearest triangle of a surface to a convex body.
SIM_FUNCTION void nearest_triangle(const BodyOverSurface& s, int t, ShapeDistance& best) {
    if (!(best.distance > 0)) return;  // how deep it is is another matter
    const ConvexPair pair = triangle_pair(s, t);
    const ConvexDistance d = convex_distance(pair, divide(best.distance, pair.unit));
    if (d.far || !(pair.unit * d.distance < best.distance)) return;
    best = {pair.unit * d.distance, rotate(s.frame.q, d.normal), transform_point(s.frame, pair.unit * d.point)};
}

// A body's lowest point over a face is as near to it as this part of its radius, and its foot as this part beyond the
// face's edges: then the face is the nearest there is.
constexpr real FOOT_PART = real(1e-4);

// Above an edge or a vertex of a face digits do not tell triangles apart, and the normal may lean from it. Where the
// face's own parts the body from it as far, it is that one.
SIM_FUNCTION void settle_on_face(const BodyOverSurface& s, const BodyBox& body, ShapeDistance& best) {
    const real least = best.distance - LEFT_PART * s.radius, most = best.distance + LEFT_PART * s.radius;
    const MeshBox box = body.with(s, most);
    real highest = least;
    visit_triangles(s.surface, [&] { return box; }, [&](int t) {
        const Triangle triangle = load_triangle(s.surface, t, s.origin);
        if (is_zero(triangle.normal)) return;
        const bool behind = dot(triangle.normal, inverse_rotate(s.frame.q, best.normal)) < 0;
        const vec3 n = behind ? -triangle.normal : triangle.normal, lowest = body_support(s, -n);
        const real height = dot(n, lowest - triangle.corner[0]);
        if (!(height > highest && height < most) || inset(triangle, lowest) < -FOOT_PART * s.radius) return;
        highest = height;
        best.normal = rotate(s.frame.q, n);
        best.point = transform_point(s.frame, multiply_add(-best.distance, n, lowest));
    });
}

// A distance found before bounds the search.
SIM_FUNCTION void distance_to_surface(const BodyOverSurface& s, ShapeDistance& best) {
    if (s.surface.is_field) {  // the cells are looked up once: begin with a near one
        const ModelView& m = *s.surface.model;
        const int first = m.mesh_triangle_start[s.surface.mesh];
        const int count = m.mesh_triangle_start[s.surface.mesh + 1] - first;
        nearest_triangle(s, first + count / 4, best);
        MeshBox under = unscaled_box(s.surface, s.origin, s.origin);
        under.lower.z = -REAL_MAX;
        int near = -1;
        visit_triangles(s.surface, [&] { return under; }, [&](int t) { near = t; });
        if (near >= 0) nearest_triangle(s, near, best);
    }
    const BodyBox body = box_of_body(s);
    const auto box = [&] { return body.with(s, maximum(best.distance, real(0))); };
    visit_triangles(s.surface, box, [&](int t) { nearest_triangle(s, t, best); });
    if (best.distance > 0 && best.distance < REAL_MAX && is_curved(s.body)) settle_on_face(s, body, best);
}

// Of shapes that overlap: their deepest contact, as the reduction holds it.
SIM_FUNCTION void take_deepest(const ContactReduction& found, ShapeDistance& best) {
    const ReducedContact deepest = found.deepest();
    if (deepest.number >= 0) best = {deepest.distance, deepest.normal, deepest.point};
}

// How often the way is turned, until points are opposite to this part of the body's radius.
constexpr int LIFTS = 8;
constexpr real OPPOSITE_PART = 2 * OPPOSITE;

// Of a normal that differs by digits alone.
constexpr real SAME_COSINE = real(0.999998);

// A body that touches a surface or cuts it has its nearest points and its normal where it is LIFT of its radius away
// from it, along the normal: there both are right to more digits. `least`: cosine of how far the normal may turn.
SIM_FUNCTION ShapeDistance lifted_distance(const BodyOverSurface& s, const Transform& surface_pose, real base,
                                           const ShapeDistance& d, real least) {
    const real lift = LIFT * s.radius;
    ShapeDistance best = d;
    real nearest = REAL_INFINITY;
    vec3 normal = d.normal;
    SIM_ROLLED
    for (int i = 0; i < LIFTS && nearest > OPPOSITE_PART * s.radius; ++i) {
        const vec3 way = (lift - d.distance) * normal;
        const Transform lifted = {s.pose.p + way, s.pose.q};
        ShapeDistance near = {2 * lift, zero_vec3(), zero_vec3()};
        distance_to_surface(body_over_surface(s.surface, surface_pose, base, s.body, lifted, s.radius), near);
        if (!(near.distance > 0 && near.distance < 2 * lift)) break;
        if (dot(near.normal, d.normal) > least) normal = near.normal;
        // each point moves by half of what they are not opposite
        const vec3 off = near.distance * near.normal - way - d.distance * normal;
        if (!(length(off) < nearest)) break;
        nearest = length(off);
        best = {d.distance, normal, multiply_add(real(0.5), off, near.point)};
    }
    // of a touch the point is known whatever the normal
    if (d.distance > 0 && nearest > 2 * d.distance) best.point = d.point;
    return best;
}

SIM_FUNCTION ShapeDistance distance_of_surface(const ModelShape& surface, const ModelShape& body) {
    const real base = field_base(surface.model, surface.row);
    const BodyOverSurface s = body_over_surface(mesh_shape(surface.model, surface.row), surface.pose, base,
                                                convex_of(body.model, body.row), body.pose, body.radius);
    ShapeDistance best = {REAL_MAX, zero_vec3(), zero_vec3()};
    distance_to_surface(s, best);
    if (best.distance > real(0.5) * LIFT * s.radius) return best;
    if (best.distance > 0) return lifted_distance(s, surface.pose, base, best, real(-1));
    LoneLane alone;
    const SurfaceExit exit = exit_of_body(alone, s);
    if (!(exit.depth > -REAL_MAX)) return best;
    const ShapeDistance cut = {-exit.depth, rotate(s.frame.q, exit.normal), transform_point(s.frame, exit.point)};
    return lifted_distance(s, surface.pose, base, cut, SAME_COSINE);
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
    if (first.is_field)
        collide_surfaces(first, a.pose, a.radius, base, second, b.pose, b.radius, found, nullptr, nullptr);
    else
        collide_meshes(first, a.pose, a.radius, second, b.pose, b.radius, found, nullptr);
    take_deepest(found, best);
    return best;
}

#ifdef SIM_DISTANCE_FIELDS
// To a field from a shape of a smaller ShapeType.
SIM_FUNCTION ShapeDistance distance_to_field(const ModelShape& a, const ModelShape& b) {
    const FieldShape f = field_shape(b.model, b.row);
    const InnerBall inner = inner_ball(f, b.pose);
    FieldDistance best = {REAL_MAX, zero_vec3(), zero_vec3()};
    if (a.type == SHAPE_PLANE) {
        const ShapeDistance over = distance_over_plane(a, b);
        best = {over.distance, over.normal, over.point};
        const vec3 up = best.normal;
        least_on_patch(f, b.pose, field_place(f, b.pose, a.pose), plane_patch(a.pose, b.pose.p, b.radius),
                       DISTANCE_SEARCH, best);
        const real height = dot(up, inner.pose.p - a.pose.p), distance = height + f.depth;
        if (height < 0 && distance < best.value) best = {distance, up, multiply_add(-height, up, inner.pose.p)};
        return {best.value, up, best.point};
    }
    if (a.type == SHAPE_SDF) {
        least_of_fields(field_shape(a.model, a.row), mesh_shape(a.model, a.row), a.pose, a.radius, f,
                        mesh_shape(b.model, b.row), b.pose, b.radius, DISTANCE_SEARCH, best);
    } else if (is_surface(a.type)) {
        least_on_surface(f, b.pose, b.radius, mesh_shape(a.model, a.row), a.pose, DISTANCE_SEARCH, best);
    } else {
        const Convex body = convex_of(a.model, a.row);
        least_on_convex(f, b.pose, body, a.pose, DISTANCE_SEARCH, best);
        const ConvexDistance held = ball_in_body(inner, body, a.pose, a.radius);
        if (!held.far && held.distance < best.value) best = {held.distance, held.normal, held.point};
    }
    return {best.value, best.normal, best.point};
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
