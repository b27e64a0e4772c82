// The contacts of any two shapes of a model: what kernels of their own collide (those of models with other shapes than
// the step's own pairs).
#pragma once

#include "collide.h"
#include "mesh_near.h"
#include "mesh_overlap_contacts.h"
#include "surface_exit.h"
#include "sweep_mesh.h"
#ifdef SIM_DISTANCE_FIELDS
#include "collide_sdf.h"
#endif

// The feature of a convex body that faces the plane, and where that was thinned, its furthest point.
template <class Writer>
SIM_STAGE void collide_plane_convex(const PlacedShape& plane, const Convex& body, const Transform& pose,
                                    Writer& write) {
    const vec3 normal = z_axis(plane), down = -inverse_rotate(pose.q, normal), centre = pose.p - plane.pose.p;
    const FeaturePolygon f = feature_polygon(body, down);
    const real lowest = dot(core_support(body, down), down);
    real found = -REAL_INFINITY;
    const int step = (f.count + CONVEX_CONTACTS - 2) / (CONVEX_CONTACTS - 1);
    int number = 0;
    for (int i = 0; i < f.count; i += f.count > CONVEX_CONTACTS ? step : 1) {
        found = maximum(found, dot(f.corner[i], down));
        plane_point(plane, normal, f.feature << 5 | i, centre + rotate(pose.q, f.corner[i]), write);
        ++number;
    }
    if (found < lowest - real(1e-4) * absolute(lowest) && number < CONVEX_CONTACTS)
        plane_point(plane, normal, NEAREST_POINTS, centre + rotate(pose.q, core_support(body, down)), write);
}

// The vertices of a mesh below the plane.
template <class Writer>
SIM_STAGE void collide_plane_mesh(const PlacedShape& plane, const MeshShape& mesh, const Transform& pose, real radius,
                                  Writer& write) {
    const ModelView& m = *mesh.model;
    const vec3 normal = z_axis(plane), up = inverse_rotate(pose.q, normal);
    const int first = m.mesh_point_start[mesh.mesh], end = m.mesh_point_start[mesh.mesh + 1];
    const real height = dot(normal, pose.p - plane.pose.p);
    ContactReduction found;
    found.begin(pose, radius, write.reach);
    for (int i = first; i < end; ++i) {
        const vec3 p = multiply(mesh.scale, load_vec3(&m.mesh_point[3 * i]));
        if (height + dot(up, p) < write.reach)
            plane_point(plane, normal, i - first, pose.p - plane.pose.p + rotate(pose.q, p), found);
    }
    write_reduced(found, radius, true, write);
}

// A triangle of a mesh as a convex body about its middle.
struct FreeTriangle {
    Convex body;
    Transform pose;  // in the world
    vec3 normal;     // in the world; zero: the corners lie on a line
};

SIM_FUNCTION FreeTriangle free_triangle(const MeshShape& s, int t, const Transform& pose) {
    const Triangle local = load_triangle(s, t, zero_vec3());
    const vec3 middle = real(0.33333333333333333333) * (local.corner[0] + local.corner[1] + local.corner[2]);
    FreeTriangle free = {{CONVEX_TRIANGLE, zero_vec3(), 0, nullptr, -1, {}, 0}, {transform_point(pose, middle), pose.q},
                         rotate(pose.q, local.normal)};
    for (int i = 0; i < 3; ++i) free.body.corner[i] = local.corner[i] - middle;
    return free;
}

// Contacts of a triangle of a second surface, which has a say as well: what would push against it from behind, or along
// one of its inner edges, is left out.
struct FacingContacts {
    ContactReduction& found;
    const MeshShape& surface;
    const Transform& pose;
    int t;
    const Triangle& triangle;
    real reach;
    vec3 tangent_hint;

    SIM_FUNCTION void operator()(int feature, vec3 point, vec3 normal, real distance) {
        const vec3 n = -inverse_rotate(pose.q, normal);
        if (!(dot(n, triangle.normal) > real(-0.1))) return;
        const vec3 place = inverse_transform_point(pose, multiply_add(distance, normal, point));
        const bool along_face = dot(n, triangle.normal) > FACE_COSINE;
        vec3 outwards;
        if (!along_face && push_of(surface, t, triangle, zero_vec3(), place, n, outwards) != PUSH_ALONG) return;
        // the numbers of both triangles, of large meshes in their last bits
        const int number = t - surface.model->mesh_triangle_start[surface.mesh];
        found((feature & 0xfffff) << 10 | (number & 1023), point, normal, distance);
    }
};

// Triangles of a body this part of its radius behind a surface belong to a body that has sunk in.
constexpr real SUNK_PART = real(0.25);

// Two surfaces: each triangle of the second as a convex body against the first. `sweep`: of a pair that is followed,
// else null. `crosses`: of two meshes, set where they overlap as they stand, which is left to collide_overlap; else
// null.
SIM_STAGE void collide_surfaces(const MeshShape& first, const Transform& pose0, real radius0, real base,
                                const MeshShape& second, const Transform& pose1, real radius1,
                                ContactReduction& found, const PairSweep* sweep, bool* crosses) {
    const real way = sweep ? sweep->reach(0) : real(0);
    const bool is_solid = crosses && (first.model->mesh_solid[first.mesh] || second.model->mesh_solid[second.mesh]);
    const real sunk = is_solid ? real(0) : SUNK_PART * minimum(radius0, radius1);
    const vec3 centre = inverse_transform_point(pose1, pose0.p);
    const vec3 reach = (radius0 + maximum(found.reach, way)) * vec3{1, 1, 1};
    MeshBox box = unscaled_box(second, centre - reach, centre + reach);
    const NearMesh near = near_mesh(first, pose0, radius0, second, pose1, radius1, found.reach, sweep);
    // of a solid what is apart along any axis has no contact
    if (is_solid && !sweep) box = common_box(box, near.box_of(second));
    const auto may_be_near = [&](int node) {
        return overlaps(box, *second.model, node) && near.meets_node(*second.model, node);
    };
    visit_leaves(second, may_be_near, [&](int t) {
        if (!near.meets_triangle(second, t)) return;
        const FreeTriangle free = free_triangle(second, t, pose1);
        if (dot(free.normal, free.normal) == 0) return;
        const Triangle triangle = load_triangle(second, t, zero_vec3());
        const real extent = core_extent(free.body);
        if (sweep) {
            const MovingSurface moving = {first, pose0, base, free.body, free.pose, extent, sunk, sweep, 0};
            return sweep_surface(moving, found, [&](const BodyOverSurface& s, int u) {
                FacingContacts facing = {found, second, found.frame, t, triangle, found.reach, zero_vec3()};
                BodyOverSurface at = s;
                if (!(found.time > SWEEP_START)) at.crosses = crosses;
                collide_triangle(at, u, facing);
            });
        }
        FacingContacts facing = {found, second, pose1, t, triangle, found.reach, zero_vec3()};
        BodyOverSurface s = body_over_surface(first, pose0, base, free.body, free.pose, extent);
        s.sunk = sunk;
        s.crosses = crosses;
        const MeshBox around = body_box(s, found.reach);
        visit_triangles(first, [&] { return around; }, [&](int u) { collide_triangle(s, u, facing); });
    });
}

// Does a mesh hold the first vertex of another?
SIM_FUNCTION bool holds_vertex(const MeshShape& s, const Transform& pose, const MeshShape& other,
                               const Transform& other_pose) {
    const ModelView& m = *other.model;
    const vec3 p = multiply(other.scale, load_vec3(&m.mesh_point[3 * m.mesh_point_start[other.mesh]]));
    return way_out(s, inverse_transform_point(pose, transform_point(other_pose, p))).distance <= REAL_MAX;
}

// Scores of depth in reductions of two meshes are this many times finer than those of places.
constexpr real FINER_DEPTHS = 1000;

// Two meshes. What they touch without overlapping is found triangle by triangle, what overlaps by its ways out.
SIM_STAGE void collide_meshes(const MeshShape& first, const Transform& pose0, real radius0, const MeshShape& second,
                              const Transform& pose1, real radius1, ContactReduction& found, const PairSweep* sweep) {
    bool crosses = false;
    found.finer = FINER_DEPTHS;
    collide_surfaces(first, pose0, radius0, 0, second, pose1, radius1, found, sweep, &crosses);
    if (!crosses && found.deepest().number < 0)
        crosses = holds_vertex(first, pose0, second, pose1) || holds_vertex(second, pose1, first, pose0);
    if (!crosses) return;
    found.time = sweep ? SWEEP_START : real(0);
    if (!collide_overlap(first, pose0, radius0, second, pose1, radius1, found))
        push_out_meshes(first, pose0, second, pose1, found);
}

// An open mesh has none.
SIM_INLINE bool has_inside(const MeshShape& s) { return s.is_field || s.model->mesh_solid[s.mesh]; }

// A surface and a convex body by the lanes of a team. `size`: the radius of the smaller.
template <class Team>
SIM_STAGE void collide_still_body(Team& team, const MeshShape& surface, const Transform& surface_pose, real base,
                                  const Convex& body, const Transform& pose, real radius, real size,
                                  ContactReduction& found) {
    BodyOverSurface s = body_over_surface(surface, surface_pose, base, body, pose, radius);
    const OwnBox own = own_box(body);
    if (!surface.is_field) s.own = &own;  // below a height field it is solid
    DepthBounds depth = {0, 0};
    const auto collide = [&](DepthBounds* taken) {
        s.bounds = taken;
        collide_surface(team, s, found);
    };
    collide(has_inside(surface) ? &depth : nullptr);
    if (depth.most > 0) leave_cut(team, s, depth, size, found, [&] { collide(nullptr); });
}

// A surface and a convex body that is followed, of which the surface is the pair's first or its second shape.
SIM_STAGE void collide_moving_body(const MeshShape& surface, const Transform& surface_pose, real base,
                                   const Convex& body, const Transform& pose, real radius, real size, int side,
                                   ContactReduction& found, const PairSweep* sweep) {
    DepthBounds depth = {0, 0};
    const MovingSurface moving = {surface, surface_pose, base, body, pose, radius, 0, sweep, side};
    const auto collide = [&](DepthBounds* taken) {
        sweep_surface(moving, found, [&](const BodyOverSurface& s, int t) {
            BodyOverSurface at = s;
            if (!(found.time > SWEEP_START)) at.bounds = taken;
            collide_triangle(at, t, found);
        });
    };
    collide(has_inside(surface) ? &depth : nullptr);
    if (!(depth.most > 0)) return;
    LoneLane alone;
    found.time = SWEEP_START;
    leave_cut(alone, moving.at(0), depth, size, found, [&] { collide(nullptr); });
    found.time = 0;
}

// How far below height 0 a height field is solid; 0 for a mesh.
SIM_INLINE real field_base(const ModelView& model, int shape) {
    return model.shape_type[shape] == SHAPE_HEIGHTFIELD ? model.shape_size[3 * shape + 2] : real(0);
}

// A body whose box meets more triangles than this takes the lanes of a world less time together: for less, what they
// find has to be put together for each pair.
constexpr int SHARED_TRIANGLES = 64;

SIM_STAGE bool meets_many_triangles(const ModelView& model, int of_surface, const PlacedShape& surface, int of_body,
                                    const PlacedShape& body, real reach) {
    const BodyOverSurface s = body_over_surface(mesh_shape(model, of_surface), surface.pose, 0,
                                                convex_of(model, of_body), body.pose, model.shape_radius[of_body]);
    const MeshBox box = body_box(s, reach);
    int count = 0;
    visit_triangles(s.surface, [&] { return box; }, [&](int) { ++count; });
    return count > SHARED_TRIANGLES;
}

// A mesh or height field and a convex body. `a` has the smaller ShapeType.
template <class Team, class Writer>
SIM_STAGE void collide_surface_pair(Team& team, const ModelView& model, int routine, int shape0, const PlacedShape& a,
                                    int shape1, const PlacedShape& b, real reach, Writer& write) {
    const int side = routine == PAIR_HEIGHTFIELD_CONVEX ? 0 : 1;
    const int of_surface = side == 0 ? shape0 : shape1, of_body = side == 0 ? shape1 : shape0;
    const PlacedShape &surface = side == 0 ? a : b, &body = side == 0 ? b : a;
    const MeshShape mesh = mesh_shape(model, of_surface);
    const Convex convex = convex_of(model, of_body);
    const real radius = model.shape_radius[of_body], size = minimum(radius, model.shape_radius[of_surface]);
    const real base = side == 0 ? surface.size.z : real(0);
    ContactReduction found;
    found.begin(body.pose, size, reach);
    if (write.sweep)
        collide_moving_body(mesh, surface.pose, base, convex, body.pose, radius, size, side, found, write.sweep);
    else collide_still_body(team, mesh, surface.pose, base, convex, body.pose, radius, size, found);
    if (side == 1) push_out_body(mesh, surface.pose, convex, body.pose, found);
    write_reduced(found, size, side == 0, write);
}

// Is one of the routines from `first` to `last` among those that this text is for? What is not costs no compiling.
SIM_INLINE constexpr bool has_routines(int first, int last) {
    return first <= last && (Topology::has_routine(first) || has_routines(first + 1, last));
}
constexpr bool HAS_PRIMITIVES = has_routines(PAIR_PLANE_SPHERE, PAIR_BOX_BOX);
constexpr bool HAS_SURFACE_PAIRS = has_routines(PAIR_HEIGHTFIELD_CONVEX, PAIR_CONVEX_MESH);

// How a pair of a general kernel is collided. `a` has the smaller ShapeType.
template <class Writer>
SIM_STAGE void collide_other_pair(const ModelView& model, int routine, int shape0, const PlacedShape& a, int shape1,
                                  const PlacedShape& b, Writer& write) {
    const real radius0 = model.shape_radius[shape0], radius1 = model.shape_radius[shape1];
    const real size = minimum(radius0, radius1), reach = write.reach;
    if (write.sweep) write.reach = maximum(write.sweep->reach(0), reach);
    if constexpr (Topology::has_routine(PAIR_PLANE_CONVEX))
        if (routine == PAIR_PLANE_CONVEX) collide_plane_convex(a, convex_of(model, shape1), b.pose, write);
    if constexpr (Topology::has_routine(PAIR_PLANE_MESH))
        if (routine == PAIR_PLANE_MESH) collide_plane_mesh(a, mesh_shape(model, shape1), b.pose, radius1, write);
    if constexpr (Topology::has_routine(PAIR_CONVEX_CONVEX))
        if (routine == PAIR_CONVEX_CONVEX) {
            const Convex first = convex_of(model, shape0), second = convex_of(model, shape1);
            collide_convex(convex_pair(first, a.pose, second, b.pose, radius0, radius1), a.pose, write);
        }
    if constexpr (HAS_SURFACE_PAIRS)
        if (routine == PAIR_HEIGHTFIELD_CONVEX || routine == PAIR_CONVEX_MESH) {
            LoneLane alone;
            collide_surface_pair(alone, model, routine, shape0, a, shape1, b, reach, write);
        }
    if constexpr (has_routines(PAIR_HEIGHTFIELD_MESH, PAIR_MESH_MESH))
        if (routine == PAIR_HEIGHTFIELD_MESH || routine == PAIR_MESH_MESH) {
            const MeshShape first = mesh_shape(model, shape0), second = mesh_shape(model, shape1);
            ContactReduction found;
            found.begin(b.pose, size, reach);
            if (routine == PAIR_MESH_MESH)
                collide_meshes(first, a.pose, radius0, second, b.pose, radius1, found, write.sweep);
            else
                collide_surfaces(first, a.pose, radius0, a.size.z, second, b.pose, radius1, found, write.sweep,
                                 nullptr);
            write_reduced(found, size, true, write);
        }
}

// All pairs: what PrimitivePairs is to the step (collide.h).
struct AllPairs {
    template <class Writer>
    SIM_FUNCTION static void collide(const ModelView& model, int routine, int shape0, const PlacedShape& a, int shape1,
                                     const PlacedShape& b, Writer& write) {
        if (routine < PAIR_PLANE_CONVEX) {
            if constexpr (HAS_PRIMITIVES) collide_pair(routine, a, b, write);
        }
#ifdef SIM_DISTANCE_FIELDS
        else if (routine >= PAIR_PLANE_SDF) collide_field_pair(model, routine, shape0, a, shape1, b, write);
#endif
        else collide_other_pair(model, routine, shape0, a, shape1, b, write);
    }

    SIM_FUNCTION static bool sweeps(int routine) {
        return routine >= PAIR_HEIGHTFIELD_CONVEX;
    }

    static constexpr bool SHARES = HAS_SURFACE_PAIRS;
    SIM_FUNCTION static bool is_shared(const ModelView& model, int routine, int shape0, const PlacedShape& a,
                                       int shape1, const PlacedShape& b, real reach) {
        if constexpr (SHARES) {
            if (routine == PAIR_HEIGHTFIELD_CONVEX) return meets_many_triangles(model, shape0, a, shape1, b, reach);
            if (routine == PAIR_CONVEX_MESH) return meets_many_triangles(model, shape1, b, shape0, a, reach);
        }
        return false;
    }

    template <class Writer>
    SIM_FUNCTION static void collide_together(Lanes& lanes, const ModelView& model, int routine, int shape0,
                                              const PlacedShape& a, int shape1, const PlacedShape& b, Writer& write) {
        if constexpr (SHARES)
            collide_surface_pair(lanes, model, routine, shape0, a, shape1, b, write.reach, write);
    }
};
