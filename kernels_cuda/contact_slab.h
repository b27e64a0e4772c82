// A world's contacts to and from its slab of Contacts.
#pragma once

#include "contact.h"

// One contact to a row of Contacts, without force.
SIM_INLINE void store_contact(const ContactsArrays& out, int row, const Contact& c) {
    out.shape0[row] = c.shape0;
    out.shape1[row] = c.shape1;
    out.feature[row] = c.feature;
    store_vec3(&out.point0[3 * row], canonical(c.point0));
    store_vec3(&out.point1[3 * row], canonical(c.point1));
    store_vec3(&out.normal[3 * row], canonical(c.normal));
    store_vec3(&out.tangent[3 * row], canonical(c.tangent));
    out.distance[row] = canonical(c.distance);
    store_vec3(&out.force[3 * row], zero_vec3());
}

// Writes `total` contacts to the world's slab; those that it has no room for are left out, and `needed` tells how many
// there were. Forces are zero until a solver writes them. No barrier.
SIM_FUNCTION void store_contacts(Lanes& lanes, const ContactsArrays& out, int world, const ContactMemory& m,
                                 int total) {
    const int first = out.world_start[world], room = out.world_start[world + 1] - first;
    const int count = total < room ? total : room;
    if (lanes.lane() == 0) {
        out.count[world] = count;
        out.needed[world] = total;
    }
    for_lanes(i, 0, count) store_contact(out, first + i, m[i]);
}

// Contact of a row of Contacts; its shapes are shapes of the world.
template <class Slabs>
SIM_FUNCTION Contact load_contact(const Topology& t, const ModelView& model, const Slabs& in, int world,
                                  const Transform* link_pose, int row) {
    Contact c;
    c.shape0 = in.shape0[row];
    c.shape1 = in.shape1[row];
    c.link0 = t.shape_link(world_shape(model, world, c.shape0));
    c.link1 = t.shape_link(world_shape(model, world, c.shape1));
    c.feature = in.feature[row];
    c.point0 = load_vec3(&in.point0[3 * row]);
    c.point1 = load_vec3(&in.point1[3 * row]);
    c.normal = load_vec3(&in.normal[3 * row]);
    c.tangent = load_vec3(&in.tangent[3 * row]);
    c.distance = in.distance[row];
    c.margin = model.shape_margin[c.shape0] + model.shape_margin[c.shape1];
    c.point = contact_midpoint(link_pose, c);
    return c;
}

// Reads the world's slab in its order, whoever filled it, and returns how many contacts were read, the same in all
// lanes. `lost` is how many more there were: beyond the slab (`needed` or `count` is larger) or t.contacts_max(), or of
// shapes that are not in this world.
// Record i is row world_start + i as long as none was lost. Ends with a barrier.
template <class Slabs>
SIM_FUNCTION int load_contacts(Lanes& lanes, const Topology& t, const ModelView& model, const Slabs& in, int world,
                               const Transform* link_pose, ContactMemory& m, int& lost) {
    const int first = in.world_start[world], room = in.world_start[world + 1] - first, most = t.contacts_max();
    const int listed = in.count[world] > 0 ? in.count[world] : 0, held = listed < room ? listed : room;
    const int needed = in.needed[world] > room ? in.needed[world] : 0;
    const auto known = [&](int i) {
        const int shape0 = world_shape(model, world, in.shape0[first + i]);
        return int(shape0 >= 0 && world_shape(model, world, in.shape1[first + i]) >= 0);
    };
    const int found = lanes.scan(held, known, [&](int i, int before) {
        if (!known(i) || before >= most) return;
        m.slot[before] = before;
        m.records[before] = load_contact(t, model, in, world, link_pose, first + i);
    });
    lanes.sync();
    const int count = found < most ? found : most;
    lost = (needed > listed ? needed : listed) - count;
    return count;
}
