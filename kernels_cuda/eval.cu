// The functions of simengine/dynamics.py: kinematics and smooth dynamics of the worlds of one batch group.
// Each world is worked by one group of lanes; results go to the user's order of bodies and degrees of freedom.

#include "inverse_kinematics.h"

// Memory of one world: that of kinematics and dynamics, and accelerations or efforts in kernel order.
struct EvalMemory {
    WorldMemory world;
    real* in;
    real* out;
};

SIM_FUNCTION EvalMemory take_eval_memory(MemoryBump& bump, const Topology& t) {
    EvalMemory m;
    m.world = take_world_memory(bump, t);
    m.in = bump.take<real>(t.dofs());
    m.out = bump.take<real>(t.dofs());
    return m;
}

// Bytes that one world of the group needs.
extern "C" __global__ void eval_memory_bytes(const TopologyView topology, long long* bytes) {
    for_each(i, 1) {
        MemoryBump bump(nullptr);
        take_eval_memory(bump, Topology(topology));
        bytes[i] = bump.used;
    }
}

// Calls f(lanes, t, world, memory) for each world after its forward kinematics.
template <class F>
SIM_FUNCTION void for_each_posed_world(const ModelView& model, const TopologyView& topology, const real* joint_q,
                                       const real* joint_qd, const Scratch& scratch, F f) {
    const Topology t(topology);
    for_each_world(t.worlds(), scratch, [&](Lanes& lanes, int slot, char* bytes) {
        MemoryBump bump(bytes);
        const EvalMemory memory = take_eval_memory(bump, t);
        World world(model, memory.world, t.world(slot));
        load_coordinates(lanes, t, world, joint_q, joint_qd);
        forward_kinematics(lanes, t, world);
        f(lanes, t, world, memory);
    });
}

// joint_q, joint_qd -> body_q, body_qd of all worlds, or of those that the mask marks.
extern "C" __global__ void eval_fk(const ModelView model, const TopologyView topology,
                                   const bool* world_mask,  // optional
                                   const real* joint_q, const real* joint_qd, real* body_q, real* body_qd,
                                   const Scratch scratch) {
    const Topology t(topology);
    for_each_world(t.worlds(), scratch, [&](Lanes& lanes, int slot, char* bytes) {
        if (world_mask && !world_mask[t.world(slot)]) return;
        MemoryBump bump(bytes);
        World world(model, take_eval_memory(bump, t).world, t.world(slot));
        load_coordinates(lanes, t, world, joint_q, joint_qd);
        forward_kinematics(lanes, t, world);
        link_velocities(lanes, t, world);
        store_bodies(lanes, t, world, body_q, body_qd);
    });
}

// body_q, body_qd -> joint_q, joint_qd.
extern "C" __global__ void eval_ik(const ModelView model, const TopologyView topology, const real* body_q,
                                   const real* body_qd, real* joint_q, real* joint_qd, const Scratch scratch) {
    const Topology t(topology);
    for_each_world(t.worlds(), scratch, [&](Lanes& lanes, int slot, char* bytes) {
        MemoryBump bump(bytes);
        World world(model, take_eval_memory(bump, t).world, t.world(slot));
        coordinates_from_poses(lanes, t, world, body_q);
        forward_kinematics(lanes, t, world);
        rates_from_velocities(lanes, t, world, body_qd);
        for_lanes(i, 0, t.coords())
            joint_q[world.coord_start + i] = canonical(world.memory.q[i]);
        for_lanes(i, 0, t.dofs())
            joint_qd[world.dof(t, i)] = canonical(world.memory.qd[i]);
    });
}

// Mass matrices (worlds, nv, nv).
extern "C" __global__ void eval_mass_matrix(const ModelView model, const TopologyView topology, const real* joint_q,
                                            const real* joint_qd, real* mass, const Scratch scratch) {
    for_each_posed_world(model, topology, joint_q, joint_qd, scratch,
                         [&](Lanes& lanes, const Topology& t, World& world, const EvalMemory&) {
                             link_inertias(lanes, t, world);
                             composite_inertias(lanes, t, world);
                             mass_matrix(lanes, t, world);
                             const int n = t.dofs(), stride = matrix_stride(t);
                             real* out = mass + (long long)world.index * n * n;
                             for_lanes(k, 0, n * n)
                                 out[t.dof_user(k / n) * n + t.dof_user(k % n)] =
                                     canonical(world.memory.mass[(k / n) * stride + k % n]);
                         });
}

// Jacobians (worlds, 6 bodies, nv): linear velocity of the centre of mass, then angular velocity, in world axes.
extern "C" __global__ void eval_jacobian(const ModelView model, const TopologyView topology, const real* joint_q,
                                         const real* joint_qd, real* jacobian, const Scratch scratch) {
    for_each_posed_world(model, topology, joint_q, joint_qd, scratch,
                         [&](Lanes& lanes, const Topology& t, World& world, const EvalMemory&) {
                             const int n = t.dofs(), bodies = t.links() - 1;
                             real* out = jacobian + (long long)world.index * 6 * bodies * n;
                             for_lanes(k, 0, bodies * n) {
                                 const int link = 1 + k / n, j = k % n;
                                 const Motion column = com_jacobian(t, world, link, j);
                                 for (int c = 0; c < 3; ++c) {
                                     real* row = out + (6 * t.link_body(link) + c) * n + t.dof_user(j);
                                     row[0] = canonical(column.linear[c]);
                                     row[3 * n] = canonical(column.angular[c]);
                                 }
                             }
                         });
}

// Efforts that give the accelerations joint_qdd, with gravity, Coriolis forces and armature.
extern "C" __global__ void eval_inverse_dynamics(const ModelView model, const TopologyView topology,
                                                 const real* joint_q, const real* joint_qd, const real* joint_qdd,
                                                 real* joint_f, const Scratch scratch) {
    for_each_posed_world(model, topology, joint_q, joint_qd, scratch,
                         [&](Lanes& lanes, const Topology& t, World& world, const EvalMemory& memory) {
                             for_lanes(i, 0, t.dofs())
                                 memory.in[i] = joint_qdd[world.dof(t, i)];
                             link_velocities(lanes, t, world);
                             motion_biases(lanes, t, world);
                             link_inertias(lanes, t, world);
                             inverse_dynamics(lanes, t, world, memory.in, memory.out);
                             for_lanes(i, 0, t.dofs())
                                 joint_f[world.dof(t, i)] = canonical(memory.out[i]);
                         });
}

// Coriolis, centrifugal and gravity efforts.
extern "C" __global__ void eval_bias_force(const ModelView model, const TopologyView topology, const real* joint_q,
                                           const real* joint_qd, real* joint_f, const Scratch scratch) {
    for_each_posed_world(model, topology, joint_q, joint_qd, scratch,
                         [&](Lanes& lanes, const Topology& t, World& world, const EvalMemory&) {
                             link_velocities(lanes, t, world);
                             motion_biases(lanes, t, world);
                             link_inertias(lanes, t, world);
                             bias_forces(lanes, t, world);
                             for_lanes(i, 0, t.dofs())
                                 joint_f[world.dof(t, i)] = canonical(world.memory.bias[i]);
                         });
}
