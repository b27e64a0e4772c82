// A world's contacts to and from its slab of Contacts.
#pragma once

#include "contact.h"

// One contact to a row of Contacts, without force. It is taken by value: all of it is read before the first number is
// written, which might else be one of its own as far as the compiler knows.
SIM_INLINE void store_contact(const ContactsArrays& out, int row, Contact c) {
    out.shape0[row] = c.shape0;
    out.shape1[row] = c.shape1;
    out.feature[row] = c.feature;
    out.parameter[row] = c.parameter;
    store_vec3(&out.point0[3 * row], canonical(c.point0));
    store_vec3(&out.point1[3 * row], canonical(c.point1));
    store_vec3(&out.normal[3 * row], canonical(c.normal));
    store_vec3(&out.tangent[3 * row], canonical(c.tangent));
    out.distance[row] = canonical(c.distance);
    out.time[row] = canonical(c.time);
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

// The rows in use of a world's slab: those from `first` on.
template <class Slabs>
struct SlabRows {
    const ModelView& model;
    const Slabs& slabs;
    int world, first, room, count;

    SIM_FUNCTION SlabRows(const ModelView& m, const Slabs& s, int w)
        : model(m), slabs(s), world(w), first(s.world_start[w]), room(s.world_start[w + 1] - first) {
        const int listed = s.count[w] > 0 ? s.count[w] : 0;
        count = listed < room ? listed : room;
    }

    // Does row first + i name two shapes of the world, and as its parameters -1 or a contact pair of the world?
    SIM_STAGE bool is_known(int i) const {
        const int row = first + i, parameter = slabs.parameter[row];
        if (world_shape(model, world, slabs.shape0[row]) < 0 || world_shape(model, world, slabs.shape1[row]) < 0)
            return false;
        return parameter == -1 || (parameter >= model.world_contact_pair_start[world] &&
                                   parameter < model.world_contact_pair_start[world + 1]);
    }
};

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
    c.time = in.time[row];
    c.parameter = in.parameter[row];
    c.margin = pair_reach(model, c.shape0, c.shape1, c.parameter).margin;
    c.point = contact_midpoint(link_pose, c);
    return c;
}

// Reads the world's slab in its order, whoever filled it, and returns how many contacts were read, the same in all
// lanes. `lost` is how many more there were: beyond the slab (`needed` or `count` is larger) or t.contacts_max(), or
// such as is_known refuses; 1 where `count` is below 0. Ends with a barrier.
template <class Slabs>
SIM_FUNCTION int load_contacts(Lanes& lanes, const Topology& t, const ModelView& model, const Slabs& in, int world,
                               const Transform* link_pose, ContactMemory& m, int& lost) {
    const SlabRows<Slabs> rows(model, in, world);
    const int most = t.contacts_max(), listed = in.count[world] < 0 ? 1 : in.count[world];
    const int needed = in.needed[world] > rows.room ? in.needed[world] : 0;
    const int found = lanes.scan(
        rows.count, [&](int i) { return int(rows.is_known(i)); },
        [&](int i, int before) {
            if (!rows.is_known(i) || before >= most) return;
            m.slot[before] = before;
            m.records[before] = load_contact(t, model, in, world, link_pose, rows.first + i);
        });
    lanes.sync();
    const int count = found < most ? found : most;
    lost = (needed > listed ? needed : listed) - count;
    return count;
}
