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

// Fills in what the routine left: tangents, and the witness points in the frames of the bodies.
SIM_STAGE void finish_contacts(const ContactWriter& write, const ContactPair& pair, const Transform* link_pose) {
    const Transform body0 = contact_pose(link_pose[pair.link0]), body1 = contact_pose(link_pose[pair.link1]);
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

// Can two shapes be within reach of each other, by their bounding spheres?
SIM_INLINE bool may_touch(const ShapePlace& a, const ShapePlace& b) {
    const real reach = (a.margin + b.margin) + a.gap + b.gap;
    const vec3 offset = b.pose.p - a.pose.p;
    if (!(a.radius <= REAL_MAX)) return dot(rotate(a.pose.q, vec3{0, 0, 1}), offset) < b.radius + reach;
    const real radii = a.radius + b.radius + reach;
    return radii > 0 && dot(offset, offset) < radii * radii;
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
        const Transform pose = body * load_transform(&model.shape_xform[7 * row]);
        m.shape[i] = {pose, model.shape_radius[row], model.shape_margin[row], model.shape_gap[row]};
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

// Contacts of pair p into its slots; returns how many.
SIM_FUNCTION int collide_world_pair(const Topology& t, const ModelView& model, int world, const Transform* link_pose,
                                    const ContactMemory& m, int p) {
    const int local0 = t.pair_shape0(p), local1 = t.pair_shape1(p), routine = t.pair_routine(p);
    const int shape0 = model_shape(model, world, local0), shape1 = model_shape(model, world, local1);
    const ShapePlace &first = m.shape[local0], &second = m.shape[local1];
    const real margin = first.margin + second.margin, reach = margin + first.gap + second.gap;
    const PlacedShape a = {first.pose, load_vec3(&model.shape_size[3 * shape0])};
    const PlacedShape b = {second.pose, load_vec3(&model.shape_size[3 * shape1])};
    ContactWriter write = {m.records + t.pair_slot(p), pair_contacts(routine), 0, reach, zero_vec3()};
    collide_pair(routine, a, b, write);
    const ContactPair pair = {shape0, shape1, t.shape_link(local0), t.shape_link(local1), margin};
    finish_contacts(write, pair, link_pose);
    return write.count;
}

// Finds the contacts of a world and returns their number, the same in all lanes. Ends with a barrier.
SIM_FUNCTION int collide_world(Lanes& lanes, const Topology& t, const ModelView& model, int world,
                               const Transform* link_pose, ContactMemory& m) {
    place_shapes(lanes, t, model, world, link_pose, m);
    const int candidates = list_candidates(lanes, t, m);
    for_lanes(i, 0, candidates) m.pair_count[i] = collide_world_pair(t, model, world, link_pose, m, m.candidate[i]);
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
