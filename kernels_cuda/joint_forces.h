// The effort b on each dof that is known before the constraint solve, and what the implicit integrator adds to the
// diagonal of the mass matrix.
//
// `implicit` evaluates damping, springs and drives at the end of the step, v+ = v + h a and q+ = q + h v+:
//     -B v+ - K (q+ - q0) - kp (q+ - qt) - kd (v+ - vt) = known part - (h (B + kd) + h^2 (K + kp)) a
// A drive whose effort is limited is a row of the constraint problem instead (constraint.h). `euler` evaluates all
// at the start of the step and clamps the drive; the velocity update treats B (integrate.h).
#pragma once

#include "dynamics.h"
#include "solver.h"

// The rotation that leads from a target, a rotation vector, to the quaternion q.
SIM_STAGE vec3 rotation_error(quat q, vec3 target) {
    return rotation_vector(q * conjugate(quat_from_rotation_vector(target)));
}

// Coordinate minus target of dof j. For a ball joint: its component of the rotation that leads from the target to the
// coordinate, in the axes of the rates; `target` then holds a rotation vector over the ball's three dofs.
template <class Array>
SIM_FUNCTION real coordinate_error(const Topology& t, const World& world, int j, const Array& target) {
    const int kind = t.dof_kind(j), row = world.dof(t, j);
    const real* q = &world.memory.q[t.dof_coord(j)];
    if (kind < DOF_BALL_X) return *q - target[row];
    const int first = row - (kind - DOF_BALL_X);
    return rotation_error(load_quat(q), {target[first], target[first + 1], target[first + 2]})[kind - DOF_BALL_X];
}

// A drive, -kp (q - qt) - kd (v - vt), as effort at the start of the step and its fall for a unit acceleration.
struct DriveEffort {
    real effort, slope, limit;
};

SIM_FUNCTION bool has_drive(const World& world, int row) {
    return world.model.joint_target_ke[row] > 0 || world.model.joint_target_kd[row] > 0;
}

// `ahead` is the time at which the spring is evaluated: h for the end of the step, 0 for its start.
SIM_FUNCTION DriveEffort drive_effort(const Topology& t, const World& world, const ControlView& control, int j, real h,
                                      real ahead) {
    const int row = world.dof(t, j);
    const real kp = world.model.joint_target_ke[row], kd = world.model.joint_target_kd[row], v = world.memory.qd[j];
    real error = 0;
    if (kp > 0) error = multiply_add(ahead, v, coordinate_error(t, world, j, control.joint_target_pos));
    DriveEffort d;
    d.effort = multiply_add(-kp, error, -kd * (v - control.joint_target_vel[row]));
    d.slope = h * multiply_add(h, kp, kd);
    d.limit = world.model.joint_effort_limit[row];
    return d;
}

// Damping and spring of dof j: their effort; adds what they make of a unit acceleration to `slope`.
SIM_FUNCTION real passive_effort(const Topology& t, const World& world, int j, real h, real ahead, real& slope) {
    const int row = world.dof(t, j);
    const real damping = world.model.joint_damping[row], stiffness = world.model.joint_stiffness[row];
    const real v = world.memory.qd[j];
    slope = multiply_add(h, multiply_add(h, stiffness, damping), slope);
    real effort = -damping * v;
    if (stiffness > 0) {
        const real error = multiply_add(ahead, v, coordinate_error(t, world, j, world.model.joint_spring_ref));
        effort = multiply_add(-stiffness, error, effort);
    }
    return effort;
}

// Change of the gyroscopic torque of a free body, in world axes: -w x I w is replaced by -I A^-1 (w x I w) with
// A = I + h ([w]x I - [I w]x), one Newton step on Euler's equations I (w+ - w) + h w+ x I w+ = 0 in body axes
// (Catto, Numerical Methods, GDC 2015). Unlike the explicit torque it does not gain energy. The scale of I drops out of
// I A^-1: it is taken out, so that the determinant of a grain's inertia (1e-17 kg m^2) has digits.
SIM_FUNCTION vec3 gyroscopic_change(const Topology& t, const World& world, int link, real h) {
    const quat q = world.memory.link_pose[link].q;
    const mat33 inertia = load_mat33(&world.model.body_inertia[9 * world.body(t, link)]);
    const vec3 w = inverse_rotate(q, world.memory.link_velocity[link].angular), momentum = inertia * w;
    const vec3 torque = cross(w, momentum);
    const real scale = reciprocal(inertia.x.x + inertia.y.y + inertia.z.z);
    const mat33 scaled = scale * inertia, a = scaled + h * (skew(w) * scaled - skew(scale * momentum));
    return rotate(q, torque - scaled * (inverse(a) * torque));
}

// Forces on the bodies from outside, taken off link_force, which holds what the links need. Ends with a barrier.
SIM_FUNCTION void subtract_body_forces(Lanes& lanes, const Topology& t, World& world, const ControlView& control,
                                       real h, int integrator) {
    WorldMemory& m = world.memory;
    const bool turns = Topology::has_link_flag(LINK_SINGLE_FREE_BODY) && integrator == INTEGRATOR_IMPLICIT;
    for_lanes(i, 1, t.links()) {
        const int row = 6 * world.body(t, i);
        const vec3 force = load_vec3(&control.body_f[row]);
        vec3 torque = load_vec3(&control.body_f[row + 3]);
        if (turns && (t.link_flags(i) & LINK_SINGLE_FREE_BODY))
            torque += gyroscopic_change(t, world, i, h);
        m.link_force[i] = m.link_force[i] - Force{force, torque + cross(m.link_com[i], force)};
    }
    lanes.sync();
}

// b into s.force; the implicit part onto the diagonal of the mass matrix. Needs velocities, inertias and the mass
// matrix. Ends with a barrier.
SIM_FUNCTION void joint_forces(Lanes& lanes, const Topology& t, World& world, const ControlView& control,
                               const SolverMemory& s, const StepOptions& options) {
    WorldMemory& m = world.memory;
    const real h = real(options.dt);
    const bool implicit = options.integrator == INTEGRATOR_IMPLICIT;
    const real ahead = implicit ? h : real(0);
    link_accelerations(lanes, t, world, nullptr);
    link_forces(lanes, t, world);
    subtract_body_forces(lanes, t, world, control, h, options.integrator);
    project_forces(lanes, t, world, m.bias);
    for_lanes(j, 0, t.dofs()) {
        const int row = world.dof(t, j);
        real slope = 0;
        real effort = control.joint_f[row] - m.bias[j] + passive_effort(t, world, j, h, ahead, slope);
        if (has_drive(world, row)) {
            const DriveEffort drive = drive_effort(t, world, control, j, h, ahead);
            if (!implicit) {
                effort += clamp(drive.effort, -drive.limit, drive.limit);
            } else if (!is_finite(drive.limit)) {
                effort += drive.effort;
                slope += drive.slope;
            }
        }
        s.force[j] = effort;
        if (implicit) m.mass[j * matrix_stride(t) + j] += slope;
    }
    lanes.sync();
}
