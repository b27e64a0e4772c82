// Puts worlds back to a source state: the device side of sim.reset.
// Each world is worked by one group of lanes; worlds whose mask is zero are not touched.

#include "kinematics.h"
#include "solver_memory.h"

// Bytes that one world of the group needs.
extern "C" __global__ void reset_memory_bytes(const TopologyView topology, long long* bytes) {
    for_each(i, 1) {
        MemoryBump bump(nullptr);
        take_world_memory(bump, Topology(topology));
        bytes[i] = bump.used;
    }
}

// World w of `state` takes the coordinates and rates of world rows[w] of the source. Time, step count, status and
// the memory of solvers become zero; random keys and draw counts stay. Poses follow by forward kinematics.
// A row that the source does not have, or of another batch group, changes nothing but the status.
extern "C" __global__ void reset_worlds(const ModelView model, const TopologyView topology,
                                        const ModelView source_model, const real* source_joint_q,
                                        const real* source_joint_qd,
                                        const int* rows,         // optional: each world takes its own row
                                        const bool* world_mask,  // optional: all worlds
                                        const StateArrays state, const Scratch scratch) {
    const Topology t(topology);
    for_each_world(t.worlds(), scratch, [&](Lanes& lanes, int slot, char* bytes) {
        const int w = t.world(slot);
        if (world_mask && !world_mask[w]) return;
        const int from = rows ? rows[w] : w;
        const bool there = from >= 0 && from < source_model.worlds;
        if (!there || source_model.world_group[from] != model.world_group[w]) {
            if (lanes.lane() == 0) {
                if (state.status[w] == 0) state.status_step[w] = state.step_count[w];
                state.status[w] |= STATUS_RESET_SOURCE;
            }
            return;
        }
        MemoryBump bump(bytes);
        World world(model, take_world_memory(bump, t), w);
        const int coord_start = source_model.world_coord_start[from], dof_start = source_model.world_dof_start[from];
        for_lanes(i, 0, t.coords())
            state.joint_q[world.coord_start + i] = source_joint_q[coord_start + i];
        for_lanes(i, 0, t.dofs())
            state.joint_qd[world.dof_start + i] = source_joint_qd[dof_start + i];
        if (lanes.lane() == 0) {
            state.time[w] = 0;
            state.step_count[w] = 0;
            state.status[w] = 0;
            state.status_step[w] = 0;
        }
        clear_solver_memory(lanes.lane(), lanes.count(), model, state, w);
        lanes.sync();
        load_coordinates(lanes, t, world, state.joint_q, state.joint_qd);
        forward_kinematics(lanes, t, world);
        link_velocities(lanes, t, world);
        store_bodies(lanes, t, world, state.body_q, state.body_qd);
    });
}
