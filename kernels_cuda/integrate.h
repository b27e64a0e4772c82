// Semi-implicit Euler: v+ = v + h a, then positions with v+; quaternions turn by the exponential map.
#pragma once

#include "newton.h"

// What the euler integrator applies: (M + h B) a' = M a, joint damping taken at the end of the step (MuJoCo's
// documentation, "Computation", "Numerical integration"). Into s.acceleration; prescribed accelerations stay. Ends
// with a barrier.
SIM_FUNCTION bool damp_acceleration(Lanes& lanes, const Topology& t, const World& world, const SolverMemory& s,
                                    real h) {
    const MatrixLayout layout = hessian_layout(lanes, false);
    const int stride = matrix_stride(t);
    bool damped = false;
    for_lanes(j, 0, t.dofs()) damped = damped || world.model.joint_damping[world.dof(t, j)] > 0;
    if (!lanes.any(damped)) return false;
    for_lanes(j, 0, t.dofs()) {
        real* row = s.hessian + j * stride;
        const real* mass = world.memory.mass + j * stride;
        if (lanes.count() == 1) copy_mass_row(t, world, layout, j, row);
        else
            for (int i = j; i >= 0; i = t.dof_parent(i)) row[i] = mass[i];
        const real damping = h * world.model.joint_damping[world.dof(t, j)];
        row[layout.column(t, j)] += damping;
        s.search[j] = is_prescribed(t, j) ? real(0) : -damping * s.acceleration[j];
    }
    lanes.sync();
    const bool raised = solve_direction(lanes, t, s, false);
    for_lanes(j, 0, t.dofs()) s.acceleration[j] += s.search[j];
    lanes.sync();
    return raised;
}

// Rates and coordinates at the end of the step, in place. Ends with a barrier.
SIM_FUNCTION void integrate_coordinates(Lanes& lanes, const Topology& t, World& world, const SolverMemory& s, real h) {
    WorldMemory& m = world.memory;
    for_lanes(j, 0, t.dofs()) m.qd[j] = multiply_add(h, s.acceleration[j], m.qd[j]);
    lanes.sync();
    for_lanes(j, 0, t.dofs()) {
        real* q = &m.q[t.dof_coord(j)];
        const int kind = t.dof_kind(j);
        if (kind < DOF_BALL_X) *q = multiply_add(h, m.qd[j], *q);
        if (kind == DOF_BALL_X) {
            const quat turned = load_quat(q);
            store_quat(q, integrate(turned, inverse_rotate(turned, vec3{m.qd[j], m.qd[j + 1], m.qd[j + 2]}), h));
        }
    }
    lanes.sync();
}
