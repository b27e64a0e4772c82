// One step of the Featherstone solver: reduced coordinates, convex contact, one group of lanes a world.

#include "collide.h"
#include "contact_slab.h"
#include "integrate.h"
#include "kinematic_links.h"

struct StepMemory {
    WorldMemory world;
    ContactMemory contacts;
    SolverMemory solver;
};

SIM_INLINE StepMemory take_step_memory(MemoryBump& bump, MemoryBump& slow, const Topology& t) {
    StepMemory m;
    m.world = take_world_memory(bump, t);
    m.contacts = take_contact_memory(bump, slow, t);
    m.solver = take_solver_memory(bump, slow, t);
    return m;
}

// Bytes that one world of the group needs, fast and slow.
extern "C" __global__ void featherstone_memory_bytes(const TopologyView topology, long long* bytes) {
    for_each(i, 1) {
        MemoryBump bump(nullptr), slow(nullptr);
        take_step_memory(bump, slow, Topology(topology));
        bytes[i] = bump.used;
        bytes[i + 1] = slow.used;
    }
}

// What a world's step leaves besides its state.
struct StepReport {
    int dropped;  // contacts that the slab had no room for
    bool pivot_raised;
    NewtonResult newton;
};

// Contacts of the world from its slab, or found here where none was passed. Ends with a barrier.
SIM_FUNCTION int find_contacts(Lanes& lanes, const Topology& t, World& world, ContactMemory& m,
                               const ContactsArrays& contacts, const StepOptions& options, int& dropped) {
    dropped = 0;
    const Transform* poses = world.memory.link_pose;
    if (contacts.world_start) return load_contacts(lanes, t, world.model, contacts, world.index, poses, m, dropped);
    return collide_world(lanes, t, world.model, world.index, poses, m, LinkMotions{t, world, real(options.dt)});
}

// Rows of joints and contacts, prescribed accelerations, and what the contacts touch. Ends with a barrier.
SIM_FUNCTION ContactSet build_rows(Lanes& lanes, const Topology& t, const World& world, const ControlView& control,
                                   StepMemory& m, int count, const StepOptions& options) {
    SolverMemory& s = m.solver;
    if (lanes.count() == 1) fill_up_blocks(t, s);
    for_lanes(j, 0, t.dofs()) {
        build_dof_rows(t, world, control, j, options, s.dof_rows);
        if (begins_ball_joint(t, j)) s.ball_rows[ball_index(t, j)] = ball_rows(t, world, j, options);
        if (is_prescribed(t, j)) s.search[j] = prescribed_acceleration(t, world, control, j, real(options.dt));
    }
    const bool coupled =
        lanes.any(build_contact_rows(lanes, t, world, m.contacts, count, options, s.contact_rows));
    int present = 0;
    for (int row = 0; row < DOF_ROWS; ++row) present |= lanes.any(s.dof_rows.has(row)) << row;
    s.dof_rows.present = present;
    lanes.sync();
    return {count, list_touched(lanes, t, s, count), coupled};
}

SIM_FUNCTION void load_warm_start(Lanes& lanes, const Topology& t, const World& world, const StateView& state,
                                  const SolverMemory& s) {
    for_lanes(j, 0, t.dofs()) s.search[j] = state.featherstone_qacc[world.dof(t, j)];
    lanes.sync();
}

// Forces of the `count` contacts that load_contacts read into their rows of the slab; zero in rows that it left out.
SIM_STAGE void store_contact_forces(Lanes& lanes, const ContactsArrays& contacts, const World& world,
                                    const StepMemory& m, int count, int cone) {
    const SlabRows<ContactsArrays> rows(world.model, contacts, world.index);
    lanes.scan(
        rows.count, [&](int i) { return int(rows.is_known(i)); },
        [&](int i, int before) {
            const bool read = rows.is_known(i) && before < count;
            const vec3 force = read ? contact_world_force(m.solver.contact_rows[before], cone) : zero_vec3();
            store_vec3(&contacts.force[3 * (rows.first + i)], canonical(force));
        });
}

// Effort of the drive of dof j at the end of the step.
SIM_FUNCTION real final_drive_effort(const Topology& t, const World& world, const ControlView& control,
                                     const SolverMemory& s, int j, const StepOptions& options) {
    if (!has_drive(world, world.dof(t, j))) return 0;
    const bool implicit = options.integrator == INTEGRATOR_IMPLICIT;
    const real h = real(options.dt);
    const DriveEffort d = drive_effort(t, world, control, j, h, implicit ? h : real(0));
    const real effort = implicit ? multiply_add(-d.slope, s.acceleration[j], d.effort) : d.effort;
    return clamp(effort, -d.limit, d.limit);
}

// Optional outputs over the dofs; a null pointer where one was not asked for.
SIM_FUNCTION void store_joint_outputs(Lanes& lanes, const Topology& t, const World& world, const ControlView& control,
                                      const SolverMemory& s, const StepOptions& options, real* constraint_force,
                                      real* drive_force) {
    for_lanes(j, 0, t.dofs()) {
        const int row = world.dof(t, j);
        if (drive_force) drive_force[row] = canonical(final_drive_effort(t, world, control, s, j, options));
        if (!constraint_force) continue;
        RowResponse drive = {0, 0};
        add_dof_row<ROW_DRIVE>(s.dof_rows, j, s.acceleration[j], drive);
        constraint_force[row] = canonical(s.mass_acceleration[j] - s.force[j] - s.gradient[j] - drive.force);
    }
}

// The accelerations of the solve, for the next step to start from.
SIM_FUNCTION void store_warm_start(Lanes& lanes, const Topology& t, const World& world, const SolverMemory& s,
                                   const StateArrays& state) {
    for_lanes(j, 0, t.dofs()) state.featherstone_qacc[world.dof(t, j)] = canonical(s.acceleration[j]);
}

SIM_FUNCTION int status_bits(const StepReport& report, bool finite) {
    int bits = finite ? 0 : STATUS_NOT_FINITE;
    if (!report.newton.converged) bits |= STATUS_NOT_CONVERGED;
    if (report.pivot_raised) bits |= STATUS_PIVOT;
    if (report.dropped > 0) bits |= STATUS_CONTACT_OVERFLOW;
    return bits;
}

// Coordinates and rates; returns whether all are finite. Ends with a barrier.
SIM_FUNCTION bool store_coordinates(Lanes& lanes, const Topology& t, const World& world, const StateArrays& out) {
    const WorldMemory& m = world.memory;
    bool broken = false;
    for_lanes(i, 0, t.coords()) {
        broken = broken || !is_finite(m.q[i]);
        out.joint_q[world.coord_start + i] = canonical(m.q[i]);
    }
    for_lanes(j, 0, t.dofs()) {
        broken = broken || !is_finite(m.qd[j]);
        out.joint_qd[world.dof(t, j)] = canonical(m.qd[j]);
    }
    lanes.sync();
    return !lanes.any(broken);
}

// Poses and velocities of the bodies at the stored coordinates, read as the next step reads them: contacts found from
// either have the same bits.
SIM_FUNCTION void update_bodies(Lanes& lanes, const Topology& t, World& world, const StateArrays& out) {
    load_coordinates(lanes, t, world, out.joint_q, out.joint_qd);
    forward_kinematics(lanes, t, world);
    link_velocities(lanes, t, world);
    store_bodies(lanes, t, world, out.body_q, out.body_qd);
}

// What belongs to the world as a whole.
SIM_FUNCTION void store_world(Lanes& lanes, const World& world, const StateView& in, const StateArrays& out,
                              const StepOptions& options, int bits) {
    if (lanes.lane() != 0) return;
    const int w = world.index;
    out.time[w] = in.time[w] + options.dt;
    out.step_count[w] = in.step_count[w] + 1;
    out.draw_count[w] = in.draw_count[w];
    out.random_key[w] = in.random_key[w];
    out.status[w] = in.status[w] | bits;
    out.status_step[w] = in.status[w] == 0 && bits != 0 ? out.step_count[w] : in.status_step[w];
}

SIM_FUNCTION void step_world(Lanes& lanes, const Topology& t, World& world, StepMemory& m, const StateView& in,
                             const StateArrays& out, const ControlView& control, const ContactsArrays& contacts,
                             real* constraint_force, real* drive_force, const StepOptions& options,
                             StepReport& report) {
    load_coordinates(lanes, t, world, in.joint_q, in.joint_qd);
    load_warm_start(lanes, t, world, in, m.solver);
    forward_kinematics(lanes, t, world);
    link_inertias(lanes, t, world);
    link_velocities(lanes, t, world);
    motion_biases(lanes, t, world);
    composite_inertias(lanes, t, world);
    lanes.keep_step();
    mass_matrix(lanes, t, world);
    joint_forces(lanes, t, world, control, m.solver, options);
    lanes.keep_step();
    const int count = find_contacts(lanes, t, world, m.contacts, contacts, options, report.dropped);
    lanes.keep_step();
    const ContactSet set = build_rows(lanes, t, world, control, m, count, options);
    weigh_dofs(lanes, t, world, m.solver);
    const Problem problem = {m.solver, set, options.cone, options.tolerance, options.iterations};
    report.newton = newton_solve(lanes, t, world, problem);
    report.pivot_raised = report.newton.pivot_raised;
    if (contacts.force) store_contact_forces(lanes, contacts, world, m, count, options.cone);
    store_joint_outputs(lanes, t, world, control, m.solver, options, constraint_force, drive_force);
    store_warm_start(lanes, t, world, m.solver, out);
    lanes.sync();
    if (options.integrator == INTEGRATOR_EULER)
        report.pivot_raised = damp_acceleration(lanes, t, world, m.solver, real(options.dt)) || report.pivot_raised;
    lanes.keep_step();
    integrate_coordinates(lanes, t, world, m.solver, real(options.dt));
    const bool finite = store_coordinates(lanes, t, world, out);
    lanes.keep_step();
    update_bodies(lanes, t, world, out);
    store_world(lanes, world, in, out, options, status_bits(report, finite));
}

// A step of every world of the batch group. `contacts`: those of sim.collide, whose forces are written; where its
// pointers are null each world collides by itself. `iterations` and `residual` are those of the solve.
extern "C" __global__ void featherstone_step(const ModelView model, const TopologyView topology,
                                             const StateView state_in, const StateArrays state_out,
                                             const ControlView control,
                                             const ContactsArrays contacts,  // optional
                                             int* iterations,
                                             real* residual,
                                             real* constraint_force,  // optional
                                             real* drive_force,       // optional
                                             const StepOptions options, const Scratch scratch) {
    const Topology t(topology);
    const StepOptions chosen = constant_options(options);
    for_each_world(t.worlds(), scratch, [&](Lanes& lanes, int slot, GroupMemory bytes) {
        MemoryBump bump(bytes.fast), slow(bytes.slow);
        StepMemory memory = take_step_memory(bump, slow, t);
        World world(model, memory.world, t.world(slot));
        StepReport report;
        step_world(lanes, t, world, memory, state_in, state_out, control, contacts, constraint_force, drive_force,
                   chosen, report);
        if (lanes.lane() == 0) {
            iterations[world.index] = report.newton.iterations;
            residual[world.index] = canonical(report.newton.residual);
        }
    });
}
