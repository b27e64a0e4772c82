// The contacts of one world from the poses of its bodies in a state.
#pragma once

#include "collide.h"
#include "contact_slab.h"

struct CollideMemory {
    Transform* link_pose;
    ContactMemory contacts;
};

SIM_FUNCTION CollideMemory take_collide_memory(MemoryBump& bump, MemoryBump& slow, const Topology& t) {
    CollideMemory m;
    m.link_pose = bump.take<Transform>(t.links());
    m.contacts = take_contact_memory(bump, slow, t);
    return m;
}

// A group of lanes finds the contacts of a world and writes them to its slab.
SIM_FUNCTION void collide_state(Lanes& lanes, const Topology& t, int world, const StateMotions& motions,
                                GroupMemory bytes, const ContactsArrays& contacts) {
    MemoryBump bump(bytes.fast), slow(bytes.slow);
    CollideMemory m = take_collide_memory(bump, slow, t);
    const int first = motions.model.world_body_start[world];
    if (lanes.lane() == 0) m.link_pose[0] = identity_transform();
    for_lanes_ahead<SHAPES_AHEAD>(
        lanes, 1, t.links(), [&](int i) { return load_transform(&motions.body_q[7 * (first + t.link_body(i))]); },
        [&](int i, const Transform& pose) { m.link_pose[i] = pose; });
    lanes.sync();
    const int total = collide_world(lanes, t, motions.model, world, m.link_pose, m.contacts, motions);
    store_contacts(lanes, contacts, world, m.contacts, total);
}
