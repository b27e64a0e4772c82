// Contacts of surfaces of triangles with convex bodies, triangle by triangle. A surface is touched from outside: along
// the normals of its faces, and at edges and vertices between the normals of the faces that meet there.
#pragma once

#include "collide_convex.h"
#include "contact_reduction.h"
#include "model_convex.h"
#include "triangle_mesh.h"

// What the triangles that a body cuts tell one by one of the way out of a closed surface (surface_exit.h): how deep it
// is lies between these.
struct DepthBounds {
    real least, most;

    SIM_INLINE void take(real lower, real upper) {
        least = maximum(least, lower);
        most = maximum(most, upper);
    }
};

// The box of a convex body in its own axes.
struct OwnBox {
    vec3 lower, upper;
};

SIM_FUNCTION OwnBox own_box(const Convex& c) {
    OwnBox box;
    for (int k = 0; k < 3; ++k) {
        box.upper[k] = core_support(c, unit_vector(k))[k] + c.radius;
        box.lower[k] = core_support(c, -unit_vector(k))[k] - c.radius;
    }
    return box;
}

// A convex body near a surface, in the frame of the surface's axes about the body's origin.
struct BodyOverSurface {
    MeshShape surface;
    Transform frame;  // in the world
    vec3 origin;      // of the body, in the surface's frame
    Convex body;
    Transform pose;   // of the body, in the world
    real radius;      // of the ball about the body's origin that holds it
    mat33 turn;       // from the body's axes to the frame's
    real floor;       // height fields: z below which the solid need not go
    real sunk;        // how far behind a face the whole body may be and still be pushed out
    DepthBounds* bounds;  // of a closed surface that is cut; else null
    bool* crosses;        // of two meshes: set where triangles overlap, which then have no contacts; else null
    const OwnBox* own;    // of the body; null: not known
};

SIM_FUNCTION BodyOverSurface body_over_surface(const MeshShape& surface, const Transform& surface_pose, real base,
                                               const Convex& body, const Transform& pose, real radius) {
    BodyOverSurface s = {surface, {pose.p, surface_pose.q}, inverse_transform_point(surface_pose, pose.p), body, pose,
                         radius,  mat33_from_quat(conjugate(surface_pose.q) * pose.q), 0, 0, nullptr, nullptr, nullptr};
    s.floor = minimum(-base - s.origin.z, -2 * radius);
    return s;
}

// The body's point furthest along d, with its rounding, about its origin.
SIM_FUNCTION vec3 body_support(const BodyOverSurface& s, vec3 d) {
    return multiply_add(s.body.radius, d, s.turn * core_support(s.body, transpose_multiply(s.turn, d)));
}

// The box of the body in the surface's own unscaled frame, `reach` wider, and longer by `way`.
SIM_FUNCTION MeshBox body_box(const BodyOverSurface& s, real reach, vec3 way = zero_vec3()) {
    vec3 lower, upper;
    for (int k = 0; k < 3; ++k) {
        upper[k] = body_support(s, unit_vector(k))[k] + reach;
        lower[k] = body_support(s, -unit_vector(k))[k] - reach;
    }
    return unscaled_box(s.surface, s.origin + lower + minimum(way, zero_vec3()),
                        s.origin + upper + maximum(way, zero_vec3()));
}

// Is a body that is a triangle further from one of a surface than counts, along its own normal? `reach(n)`: how far
// that is where the body lies in the direction n from the surface. Not asked of a height field, which is solid below.
template <class Reach>
SIM_FUNCTION bool is_off_facet(const BodyOverSurface& s, const Triangle& t, Reach reach) {
    if (s.body.kind != CONVEX_TRIANGLE || s.surface.is_field) return false;
    const vec3* own = s.body.corner;
    const vec3 n = s.turn * unit_normal(own[1] - own[0], own[2] - own[0]), place = s.turn * own[0];
    const real a = dot(n, t.corner[0] - place), b = dot(n, t.corner[1] - place), c = dot(n, t.corner[2] - place);
    return minimum(a, minimum(b, c)) > reach(-n) || -maximum(a, maximum(b, c)) > reach(n);
}

// Is a triangle beside the body along one of the body's own axes, by more than `reach`?
SIM_FUNCTION bool is_beside(const BodyOverSurface& s, const OwnBox& own, const Triangle& t, real reach) {
    const vec3 a = transpose_multiply(s.turn, t.corner[0]), b = transpose_multiply(s.turn, t.corner[1]),
               c = transpose_multiply(s.turn, t.corner[2]);
    const vec3 apart = maximum(minimum(a, minimum(b, c)) - own.upper, own.lower - maximum(a, maximum(b, c)));
    return maximum(apart.x, maximum(apart.y, apart.z)) > reach;
}

// Room for round-off where a triangle and a body are told apart.
SIM_FUNCTION real apart_slack(const BodyOverSurface& s, const Triangle& t) {
    const vec3 size = absolute(t.corner[0]) + absolute(t.corner[1]) + absolute(t.corner[2]);
    return multiply_add(NEAR_PART, s.radius, NEAR_PLACE * (size.x + size.y + size.z));
}

SIM_FUNCTION Convex triangle_body(const BodyOverSurface& s, const Triangle& t) {
    Convex c = {s.surface.is_field ? CONVEX_PRISM : CONVEX_TRIANGLE, zero_vec3(), 0, nullptr, -1,
                {t.corner[0], t.corner[1], t.corner[2]}, 0};
    c.floor = minimum(s.floor, minimum(t.corner[0].z, minimum(t.corner[1].z, t.corner[2].z)) - s.radius);
    return c;
}

// How far inside the triangle's edges the foot of a point on its plane lies; negative: outside.
SIM_FUNCTION real inset(const Triangle& t, vec3 p) {
    real least = REAL_INFINITY;
    for (int i = 0; i < 3; ++i) {
        const vec3 inwards = normalize(cross(t.normal, t.corner[(i + 1) % 3] - t.corner[i]));
        least = minimum(least, dot(inwards, p - t.corner[i]));
    }
    return least;
}

// Numbers of contacts of a triangle: its own in the mesh, then that within the manifold.
SIM_INLINE int triangle_contact(int triangle, int number) { return (triangle & 0xfffff) << 10 | (number & 1023); }

// Of a contact beside its triangle: the same point within another triangle comes before it.
constexpr int BESIDE_TRIANGLE = 1 << 30;

// The manifold along n. `least`: the distance along it; what clipping lets stand out of the triangle seems deeper.
template <class Writer>
SIM_FUNCTION int write_triangle_manifold(const BodyOverSurface& s, const ConvexPair& pair, int number, vec3 n,
                                         real least, Writer& write) {
    ConvexManifold m;
    manifold_along(pair, n, divide(write.reach, pair.unit), m);
    const vec3 normal = rotate(s.frame.q, n);
    for (int i = 0; i < m.count; ++i)
        write(triangle_contact(number, m.number[i]), transform_point(s.frame, pair.unit * m.point[i]), normal,
              pair.unit * maximum(m.distance[i], least));
    return m.count;
}

// The shortest way out of cores that overlap, of those about the direction `outwards`.
SIM_STAGE ConvexDistance turned_outwards(const ConvexPair& pair, vec3 outwards, const ConvexDistance& d) {
    vec3 normal = normalize(outwards, d.normal);
    real gap = core_gap(pair, normal);
    NearestPoints points = {d.point, d.point};
    polish(pair, gap, normal, points);
    return between_points(pair, gap, normal, points);
}

// The way out that the whole surface has is taken in place of one that only the triangle has, if it is not longer than
// this many times: else another triangle has it.
constexpr real TURNED_DEPTH = 6;

// A body that reaches deep behind a face (by this part of its radius), of which this part is in front of it, and which
// leaves the triangle backwards by the shortest way, has met another side of a thin solid.
constexpr real DEEP_PART = real(0.25), THIN_PART = real(0.0625), BACKWARDS = real(-0.1);

// A convex body whose lowest point is within reach of a triangle's plane, and what their contacts are written to.
template <class Writer>
struct BodyAtTriangle {
    const BodyOverSurface& s;
    Writer& write;
    const Triangle& triangle;
    int t, number;  // of the triangle, among all and in its mesh
    ConvexPair pair;
    vec3 lowest;    // the body's point furthest behind the plane
    real height;    // of that point over the plane
    real front;     // of the body's point furthest in front of it
    real inside;    // how far inside the triangle's edges the foot of the lowest point lies

    // The way out of the triangle is at least `shortest`, that out of the surface at most `upper` or the face's.
    SIM_INLINE void bound_depth(real shortest, real upper) {
        if (s.bounds && shortest > 0) s.bounds->take(shortest, minimum(upper, -height));
    }

    SIM_INLINE bool push_along_face(real slack) {
        if (write_triangle_manifold(s, pair, number, triangle.normal, -REAL_INFINITY, write) > 0) return true;
        if (!(inside >= -slack)) return false;
        const int feature = triangle_contact(number, 1023) | (inside >= 0 ? 0 : BESIDE_TRIANGLE);
        write(feature, transform_point(s.frame, multiply_add(-height, triangle.normal, lowest)),
              rotate(s.frame.q, triangle.normal), height);
        return true;
    }

    SIM_INLINE bool push_along_way(const ConvexDistance& way) {
        return write_triangle_manifold(s, pair, number, way.normal, way.distance, write) > 0;
    }

    SIM_INLINE int push_by(const ConvexDistance& way, vec3& outwards) const {
        return push_of(s.surface, t, triangle, s.origin, pair.unit * way.point, way.normal, outwards);
    }

    // Of a way that the surface does not have: takes one turned outwards in its place where the surface has that.
    SIM_INLINE int turn(vec3 outwards, ConvexDistance& way) const {
        const ConvexDistance turned = turned_outwards(pair, outwards, way);
        const real deepest = TURNED_DEPTH * way.distance;
        int push = PUSH_NOT;
        if (turned.distance > deepest) push = push_by(turned, outwards), way = turned;
        return push == PUSH_NOT && inside >= 0 && height > pair.unit * deepest ? PUSH_FACE : push;
    }

    // Has the body, which leaves the triangle backwards, met another side of a thin solid?
    SIM_INLINE bool is_of_other_side(real facing) const {
        return facing < BACKWARDS && -height > DEEP_PART * s.radius && front < THIN_PART * -height &&
               !s.surface.is_field;
    }

    SIM_FUNCTION void push_by_shortest_way() {
        ConvexDistance d = convex_distance(pair, divide(write.reach, pair.unit));
        if (s.crosses && !(d.distance > 0)) {
            *s.crosses = true;
            return;
        }
        if (d.far || !(pair.unit * d.distance < write.reach)) return;
        const bool facet = s.body.kind == CONVEX_TRIANGLE;  // of another surface: it has no inside
        const real facing = dot(d.normal, triangle.normal);
        // no way is shorter than that out of the triangle alone; its face has one, and so has a feature that pushes
        const real shortest = -pair.unit * d.distance;
        if (!facet && is_of_other_side(facing)) return bound_depth(shortest, -height);
        vec3 outwards;
        int push = push_by(d, outwards);
        // a convex edge or vertex in a face of the body, which may be far larger, has that face's normal
        const bool stands_on_body = !facet && push != PUSH_FACE;
        if (facing > FACE_COSINE && ((!stands_on_body && (push_along_face(0) || facet)) ||
                                     (push == PUSH_NOT && push_along_way(d))))
            return bound_depth(shortest, -height);
        if (push == PUSH_NOT && !facet && d.distance < -pair.b.radius) push = turn(outwards, d);
        bound_depth(shortest, push == PUSH_ALONG ? -pair.unit * d.distance : -height);
        if (push == PUSH_ALONG && !push_along_way(d))
            write(triangle_contact(number, 1022), transform_point(s.frame, pair.unit * d.point),
                  rotate(s.frame.q, d.normal), pair.unit * d.distance);
        if (push == PUSH_FACE && (facing > FACE_COSINE || d.distance < 0))
            push_along_face(facet ? real(0) : WEDGE_TOLERANCE * s.radius);
    }
};

template <class Writer>
SIM_STAGE void collide_triangle(const BodyOverSurface& s, int t, Writer& write) {
    const Triangle triangle = load_triangle(s.surface, t, s.origin);
    const vec3 n = triangle.normal;
    if (dot(n, n) == 0) return;
    const vec3 lowest = body_support(s, -n), highest = body_support(s, n);
    const real height = dot(n, lowest - triangle.corner[0]), front = dot(n, highest - triangle.corner[0]);
    if (height >= write.reach) return;
    const bool behind = front < 0 && !s.surface.is_field;
    if (behind && !(height > -s.sunk)) return;
    const real apart = maximum(write.reach, s.sunk) + apart_slack(s, triangle);
    if (is_off_facet(s, triangle, [&](vec3) { return apart; })) return;
    const int number = t - s.surface.model->mesh_triangle_start[s.surface.mesh];
    const Convex face = triangle_body(s, triangle);
    BodyAtTriangle<Writer> body = {
        s, write, triangle, t, number, convex_pair(face, s.frame, s.body, s.pose, s.radius, s.radius),
        lowest, height, front, inset(triangle, lowest)};
    // the normal is the shortest way out, or the only one
    if (behind || (body.inside >= maximum(-height, real(0)) && !(s.crosses && height < 0))) {
        body.push_along_face(0);
        body.bound_depth(-height, -height);
        return;
    }
    if (s.own && is_beside(s, *s.own, triangle, apart)) return;
    body.push_by_shortest_way();
}

// Contacts of a convex body with a surface, into a reduction; the surface counts as the first body.
template <class Team>
SIM_FUNCTION void collide_surface(Team& team, const BodyOverSurface& s, ContactReduction& found) {
    const MeshBox box = body_box(s, found.reach);
    share_triangles(team, s.surface, [&] { return box; }, [&](int t) {
        if (t >= 0) collide_triangle(s, t, found);
    });
    merge_reductions(team, found);
    if (!s.bounds) return;
    const auto larger = [](real a, real b) { return a > b; };
    *s.bounds = {team.best(s.bounds->least, larger), team.best(s.bounds->most, larger)};
}
