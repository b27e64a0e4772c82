// The contacts of the worlds of one batch group in which other shapes meet than those that a step collides by itself.

#include "collide_any.h"
#include "contact_slab.h"
#include "kinematics.h"

struct CollideMemory {
    WorldMemory world;
    ContactMemory contacts;
};

SIM_FUNCTION CollideMemory take_collide_memory(MemoryBump& bump, MemoryBump& slow, const Topology& t) {
    CollideMemory m;
    m.world = take_world_memory(bump, t);
    m.contacts = take_contact_memory(bump, slow, t);
    return m;
}

// Bytes that one world of the group needs, fast and slow.
extern "C" __global__ void collide_any_memory_bytes(const TopologyView topology, long long* bytes) {
    for_each(i, 1) {
        MemoryBump bump(nullptr), slow(nullptr);
        take_collide_memory(bump, slow, Topology(topology));
        bytes[i] = bump.used;
        bytes[i + 1] = slow.used;
    }
}

template <class Motions>
SIM_FUNCTION void collide_and_store(Lanes& lanes, const Topology& t, const ModelView& model, int world,
                                    CollideMemory& m, const Motions& motions, const ContactsArrays& contacts) {
    const int total = collide_world<AllPairs>(lanes, t, model, world, m.world.link_pose, m.contacts, motions);
    store_contacts(lanes, contacts, world, m.contacts, total);
}

// body_q -> Contacts. `dt` (s): fast shapes are followed for this long along body_qd; 0: none is.
extern "C" __global__ void collide_any(const ModelView model, const TopologyView topology, const real* body_q,
                                       const real* body_qd, double dt, const ContactsArrays contacts,
                                       const Scratch scratch) {
    const Topology t(topology);
    for_each_world(t.worlds(), scratch, [&](Lanes& lanes, int slot, GroupMemory bytes) {
        MemoryBump bump(bytes.fast), slow(bytes.slow);
        CollideMemory m = take_collide_memory(bump, slow, t);
        const int world = t.world(slot), first = model.world_body_start[world];
        for_lanes(i, 0, t.links()) m.world.link_pose[i] =
            i == 0 ? identity_transform() : load_transform(&body_q[7 * (first + t.link_body(i))]);
        lanes.sync();
        collide_and_store(lanes, t, model, world, m, StateMotions{model, body_q, body_qd, real(dt)}, contacts);
    });
}

// The same from joint_q and joint_qd, for solvers that read joint coordinates.
extern "C" __global__ void collide_joints(const ModelView model, const TopologyView topology, const real* joint_q,
                                          const real* joint_qd, double dt, const ContactsArrays contacts,
                                          const Scratch scratch) {
    const Topology t(topology);
    for_each_world(t.worlds(), scratch, [&](Lanes& lanes, int slot, GroupMemory bytes) {
        MemoryBump bump(bytes.fast), slow(bytes.slow);
        CollideMemory m = take_collide_memory(bump, slow, t);
        World world(model, m.world, t.world(slot));
        load_coordinates(lanes, t, world, joint_q, joint_qd);
        forward_kinematics(lanes, t, world);
        link_velocities(lanes, t, world);
        collide_and_store(lanes, t, model, world.index, m, LinkMotions{t, world, real(dt)}, contacts);
    });
}
