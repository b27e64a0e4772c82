// sim.collide for many worlds of few pairs: each group of lanes takes several.

#include "few_calls.h"

#include "collide_many.h"

// Bytes that the MANY worlds of a group of lanes need, fast and slow.
extern "C" __global__ void collide_many_memory_bytes(const TopologyView topology, long long* bytes) {
    for_each(i, 1) {
        MemoryBump bump(nullptr), slow(nullptr), one_bump(nullptr), one_slow(nullptr);
        take_many_memory(bump, slow, Topology(topology));
        take_collide_memory(one_bump, one_slow, Topology(topology));
        bytes[i] = bump.used > one_bump.used ? bump.used : one_bump.used;
        bytes[i + 1] = slow.used > one_slow.used ? slow.used : one_slow.used;
    }
}

// As `collide` of collide.cu. The fast memory is to fit into shared memory.
extern "C" __global__ void __launch_bounds__(128, MANY < 4 ? 8 : 4)
    collide_many(const ModelView model, const TopologyView topology, const real* body_q, const real* body_qd, double dt,
                 const ContactsArrays contacts, const Scratch scratch) {
    const CollideInput in = {model, topology, body_q, body_qd, real(dt), contacts};
    const int groups = (topology.group_worlds + MANY - 1) / MANY;
    for_each_world(groups, scratch, [&](Lanes& lanes, int group, GroupMemory bytes) {
        char* fast = shared_memory_of_group(bytes.fast, scratch);
        collide_group(lanes, in, MANY * group, {fast, bytes.slow});
    });
}
