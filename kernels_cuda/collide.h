// From the poses of a world's links to its contacts, in the order (pair, feature).
//
// One lane works one pair and writes its contacts to the pair's own slots; a scan over the pairs then lists the slots
// in use. So neither the number nor the order of contacts depends on the lanes, and nothing can overflow.
#pragma once

#include "collide_box_box.h"
#include "collide_plane.h"
#include "collide_sphere_capsule.h"
#include "contact.h"

// The first tangent: y, or z where |n.y| >= 0.5, made orthogonal to the normal; along `hint` where that is not zero and
// not along the normal.
SIM_FUNCTION vec3 contact_tangent(vec3 normal, vec3 hint) {
    const vec3 across = multiply_add(-dot(hint, normal), normal, hint);
    if (dot(across, across) > real(1e-6)) return normalize(across);
    const vec3 start = absolute(normal.y) < real(0.5) ? vec3{0, 1, 0} : vec3{0, 0, 1};
    return normalize(multiply_add(-dot(start, normal), normal, start));
}

// Takes the contacts of one pair from a routine into the pair's records, with point0 in the world.
struct ContactWriter {
    Contact* records;
    int capacity;
    int count;
    real reach;         // contacts at or beyond this distance are not kept
    vec3 tangent_hint;  // a direction that the routine prefers for the first tangent

    SIM_FUNCTION void operator()(int feature, vec3 point0, vec3 normal, real distance) {
        if (!(distance < reach && distance >= -REAL_MAX) || count == capacity) return;
        Contact& c = records[count++];
        c.point0 = point0;
        c.normal = normal;
        c.distance = distance;
        c.feature = feature;
    }

    SIM_FUNCTION void restart() { count = 0; }
};

// What the contacts of a pair have in common.
struct ContactPair {
    int shape0, shape1, link0, link1;
    real margin;
};

// Fills in what the routine left: tangents, and the witness points in the frames of the bodies, whose poses are given.
SIM_STAGE void finish_contacts(const ContactWriter& write, const ContactPair& pair, const Transform& link_pose0,
                               const Transform& link_pose1) {
    const Transform body0 = contact_pose(link_pose0), body1 = contact_pose(link_pose1);
    SIM_ROLLED
    for (int k = 0; k < write.count; ++k) {
        Contact& c = write.records[k];
        const vec3 point0 = c.point0, point1 = multiply_add(c.distance, c.normal, point0);
        c.tangent = contact_tangent(c.normal, write.tangent_hint);
        c.point0 = inverse_transform_point(body0, point0);
        c.point1 = inverse_transform_point(body1, point1);
        c.point = real(0.5) * (transform_point(body0, c.point0) + transform_point(body1, c.point1));
        c.margin = pair.margin;
        c.shape0 = pair.shape0;
        c.shape1 = pair.shape1;
        c.link0 = pair.link0;
        c.link1 = pair.link1;
    }
}

// The contacts of one pair of shapes; the first has the smaller ShapeType.
template <class Writer>
SIM_FUNCTION void collide_pair(int routine, const PlacedShape& a, const PlacedShape& b, Writer& write) {
    if (Topology::has_routine(PAIR_PLANE_SPHERE) && routine == PAIR_PLANE_SPHERE)
        collide_plane_sphere(a, b, write);
    if (Topology::has_routine(PAIR_PLANE_CAPSULE) && routine == PAIR_PLANE_CAPSULE)
        collide_plane_capsule(a, b, write);
    if (Topology::has_routine(PAIR_PLANE_ELLIPSOID) && routine == PAIR_PLANE_ELLIPSOID)
        collide_plane_ellipsoid(a, b, write);
    if (Topology::has_routine(PAIR_PLANE_CYLINDER) && routine == PAIR_PLANE_CYLINDER)
        collide_plane_cylinder(a, b, write);
    if (Topology::has_routine(PAIR_PLANE_BOX) && routine == PAIR_PLANE_BOX)
        collide_plane_box(a, b, write);
    if (Topology::has_routine(PAIR_SPHERE_SPHERE) && routine == PAIR_SPHERE_SPHERE)
        collide_sphere_sphere(a, b, write);
    if (Topology::has_routine(PAIR_SPHERE_CAPSULE) && routine == PAIR_SPHERE_CAPSULE)
        collide_sphere_capsule(a, b, write);
    if (Topology::has_routine(PAIR_SPHERE_BOX) && routine == PAIR_SPHERE_BOX)
        collide_sphere_box(a, b, write);
    if (Topology::has_routine(PAIR_CAPSULE_CAPSULE) && routine == PAIR_CAPSULE_CAPSULE)
        collide_capsule_capsule(a, b, write);
    if (Topology::has_routine(PAIR_CAPSULE_BOX) && routine == PAIR_CAPSULE_BOX)
        collide_capsule_box(a, b, write);
    if (Topology::has_routine(PAIR_BOX_BOX) && routine == PAIR_BOX_BOX)
        collide_box_box(a, b, write);
}

// The pairs that a step collides by itself. A kernel of its own may collide others (collide_any.h).
struct PrimitivePairs {
    template <class Writer>
    SIM_FUNCTION static void collide(const ModelView&, int routine, int, const PlacedShape& a, int,
                                     const PlacedShape& b, Writer& write) {
        collide_pair(routine, a, b, write);
    }
};

// Can two shapes be within reach of each other, by their bounding spheres?
SIM_INLINE bool may_touch(const ShapePlace& a, const ShapePlace& b) {
    const vec3 offset = b.pose.p - a.pose.p;
    if (!(a.reach <= REAL_MAX)) return dot(rotate(a.pose.q, vec3{0, 0, 1}), offset) < b.reach + (a.margin + a.gap);
    const real reach = a.reach + b.reach;
    return reach > 0 && dot(offset, offset) < reach * reach;
}

// Where the colliding shape of a row of the model is, on a body of pose `body` (contact_pose).
SIM_INLINE ShapePlace shape_place(const ModelView& model, int row, const Transform& body) {
    const real margin = model.shape_margin[row], gap = model.shape_gap[row];
    const Transform pose = attach(body, load_transform(&model.shape_xform[7 * row]));
    return {pose, model.shape_radius[row] + (margin + gap), margin, gap};
}

// Places of the world's colliding shapes from the poses of its links. Ends with a barrier.
SIM_FUNCTION void place_shapes(Lanes& lanes, const Topology& t, const ModelView& model, int world,
                               const Transform* link_pose, ContactMemory& m) {
    int link = -1;
    Transform body = identity_transform();
    for_lanes(i, 0, t.shapes()) {
        const int row = model_shape(model, world, i);
        if (!(model.shape_flags[row] & SHAPE_COLLIDES)) continue;
        if (t.shape_link(i) != link) {
            link = t.shape_link(i);
            body = contact_pose(link_pose[link]);
        }
        m.shape[i] = shape_place(model, row, body);
    }
    lanes.sync();
}

// Lists the pairs that may touch, in their order, and returns how many, the same in all lanes. Ends with a barrier.
SIM_FUNCTION int list_candidates(Lanes& lanes, const Topology& t, const ContactMemory& m) {
    if (lanes.count() == 1) {
        int listed = 0;
        for (int p = 0; p < t.pairs(); ++p)
            if (may_touch(m.shape[t.pair_shape0(p)], m.shape[t.pair_shape1(p)])) m.candidate[listed++] = p;
        return listed;
    }
    for_lanes(p, 0, t.pairs()) m.pair_count[p] = may_touch(m.shape[t.pair_shape0(p)], m.shape[t.pair_shape1(p)]);
    lanes.sync();
    const int count = lanes.scan(
        t.pairs(), [&](int p) { return m.pair_count[p]; },
        [&](int p, int before) {
            if (m.pair_count[p]) m.candidate[before] = p;
        });
    lanes.sync();
    return count;
}

// Contacts of two shapes into `records`, which has room for all that the routine makes; returns how many. The margin of
// `pair` is filled in.
template <class Pairs>
SIM_FUNCTION int collide_shapes(const ModelView& model, int routine, const ShapePlace& first, const ShapePlace& second,
                                ContactPair pair, const Transform& link_pose0, const Transform& link_pose1,
                                Contact* records) {
    pair.margin = first.margin + second.margin;
    const real reach = pair.margin + first.gap + second.gap;
    const PlacedShape a = {first.pose, load_vec3(&model.shape_size[3 * pair.shape0])};
    const PlacedShape b = {second.pose, load_vec3(&model.shape_size[3 * pair.shape1])};
    ContactWriter write = {records, pair_contacts(routine), 0, reach, zero_vec3()};
    Pairs::collide(model, routine, pair.shape0, a, pair.shape1, b, write);
    finish_contacts(write, pair, link_pose0, link_pose1);
    return write.count;
}

// Contacts of pair p into its slots; returns how many.
template <class Pairs>
SIM_FUNCTION int collide_world_pair(const Topology& t, const ModelView& model, int world, const Transform* link_pose,
                                    const ContactMemory& m, int p) {
    const int local0 = t.pair_shape0(p), local1 = t.pair_shape1(p);
    const int link0 = t.shape_link(local0), link1 = t.shape_link(local1);
    const ContactPair pair = {model_shape(model, world, local0), model_shape(model, world, local1), link0, link1, 0};
    return collide_shapes<Pairs>(model, t.pair_routine(p), m.shape[local0], m.shape[local1], pair, link_pose[link0],
                                 link_pose[link1], m.records + t.pair_slot(p));
}

// Finds the contacts of a world and returns their number, the same in all lanes. Ends with a barrier.
template <class Pairs = PrimitivePairs>
SIM_FUNCTION int collide_world(Lanes& lanes, const Topology& t, const ModelView& model, int world,
                               const Transform* link_pose, ContactMemory& m) {
    place_shapes(lanes, t, model, world, link_pose, m);
    const int candidates = list_candidates(lanes, t, m);
    for_lanes(i, 0, candidates)
        m.pair_count[i] = collide_world_pair<Pairs>(t, model, world, link_pose, m, m.candidate[i]);
    lanes.sync();
    const int total = lanes.scan(
        candidates, [&](int i) { return m.pair_count[i]; },
        [&](int i, int before) {
            SIM_ROLLED
            for (int k = 0; k < m.pair_count[i]; ++k) m.slot[before + k] = t.pair_slot(m.candidate[i]) + k;
        });
    lanes.sync();
    return total;
}
