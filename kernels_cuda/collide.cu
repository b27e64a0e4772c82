// sim.collide: the contacts of the worlds of one batch group, from the poses of their bodies.

#include "few_calls.h"

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

// Bytes that one world of the group needs, fast and slow.
extern "C" __global__ void collide_memory_bytes(const TopologyView topology, long long* bytes) {
    for_each(i, 1) {
        MemoryBump bump(nullptr), slow(nullptr);
        take_collide_memory(bump, slow, Topology(topology));
        bytes[i] = bump.used;
        bytes[i + 1] = slow.used;
    }
}

// body_q -> Contacts. `dt` (s): fast shapes are followed for this long along body_qd; 0: none is.
extern "C" __global__ void __launch_bounds__(128, 4)
    collide(const ModelView model, const TopologyView topology, const real* body_q, const real* body_qd, double dt,
            const ContactsArrays contacts, const Scratch scratch) {
    const Topology t(topology);
    for_each_world(t.worlds(), scratch, [&](Lanes& lanes, int slot, GroupMemory bytes) {
        MemoryBump bump(bytes.fast), slow(bytes.slow);
        CollideMemory m = take_collide_memory(bump, slow, t);
        const int world = t.world(slot), first = model.world_body_start[world];
        if (lanes.lane() == 0) m.link_pose[0] = identity_transform();
        for_lanes_ahead<SHAPES_AHEAD>(
            lanes, 1, t.links(), [&](int i) { return load_transform(&body_q[7 * (first + t.link_body(i))]); },
            [&](int i, const Transform& pose) { m.link_pose[i] = pose; });
        lanes.sync();
        const StateMotions motions = {model, body_q, body_qd, real(dt)};
        const int total = collide_world(lanes, t, model, world, m.link_pose, m.contacts, motions);
        store_contacts(lanes, contacts, world, m.contacts, total);
    });
}
