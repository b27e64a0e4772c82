// sim.collide: the contacts of the worlds of one batch group, from the poses of their bodies.

#include "few_calls.h"

#include "collide_state.h"

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
    const StateMotions motions = {model, body_q, body_qd, real(dt)};
    for_each_world(t.worlds(), scratch, [&](Lanes& lanes, int slot, GroupMemory bytes) {
        collide_state(lanes, t, t.world(slot), motions, bytes, contacts);
    });
}
