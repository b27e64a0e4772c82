// Smooth dynamics of one world: inverse dynamics (recursive Newton-Euler) and the mass matrix (composite rigid bodies).
//
// All spatial vectors of a tree are about one point that is at rest (its reference point), so the recursions are
// plain sums over the tree. Featherstone, Rigid Body Dynamics Algorithms (2008), chapters 5 and 6.
#pragma once

#include "kinematics.h"

// Inertia of each link about its tree's reference point. Ends with a barrier.
SIM_FUNCTION void link_inertias(Lanes& lanes, const Topology& t, World& world) {
    WorldMemory& m = world.memory;
    for_lanes(i, 1, t.links()) {
        const int body = world.body(t, i);
        m.link_inertia[i] = spatial_inertia(world.model.body_mass[body], m.link_com[i],
                                            symmetric(load_mat33(&world.model.body_inertia[9 * body])),
                                            mat33_from_quat(m.link_pose[i].q));
    }
    lanes.sync();
}

// Accelerations of the links, a = a_parent + sum (S qdd + dS/dt qd), starting at the world with minus gravity (so
// that gravity needs no force of its own). qdd = nullptr stands for zero. Ends with a barrier.
SIM_FUNCTION void link_accelerations(Lanes& lanes, const Topology& t, World& world, const real* qdd) {
    WorldMemory& m = world.memory;
    real* acceleration = reinterpret_cast<real*>(m.link_acceleration);
    const real* motion = reinterpret_cast<const real*>(m.dof_motion);
    const real* bias = reinterpret_cast<const real*>(m.dof_bias);
    if (lanes.lane() == 0)
        m.link_acceleration[0] = translation_along(-load_vec3(&world.model.gravity[3 * world.index]));
    lanes.sync();
    if (lanes.count() == 1) {
        for (int i = 1; i < t.links(); ++i) {
            Motion a = m.link_acceleration[t.link_parent(i)];
            const int first = t.link_dof_start(i), end = first + t.link_dof_count(i);
            for (int j = first; j < end; ++j) {
                a = a + m.dof_bias[j];
                if (qdd) a = multiply_add(qdd[j], m.dof_motion[j], a);
            }
            m.link_acceleration[i] = a;
        }
    } else {
        for_components_outward<6>(lanes, t, [&](int i, int c) {
            real a = acceleration[6 * t.link_parent(i) + c];
            const int first = t.link_dof_start(i), end = first + t.link_dof_count(i);
            for (int j = first; j < end; ++j) {
                a += bias[6 * j + c];
                if (qdd) a = multiply_add(motion[6 * j + c], qdd[j], a);
            }
            acceleration[6 * i + c] = a;
        });
    }
}

// The force that each link needs for its acceleration: f = I a + v x* (I v). Ends with a barrier.
SIM_FUNCTION void link_forces(Lanes& lanes, const Topology& t, World& world) {
    WorldMemory& m = world.memory;
    for_lanes(i, 1, t.links()) {
        const SpatialInertia& inertia = m.link_inertia[i];
        m.link_force[i] = inertia * m.link_acceleration[i] + cross(m.link_velocity[i], inertia * m.link_velocity[i]);
    }
    lanes.sync();
}

// Sums N numbers a link over its subtree, in place; trees stay apart. Ends with a barrier.
template <int N>
SIM_FUNCTION void sum_subtrees(Lanes& lanes, const Topology& t, real* values) {
    if (lanes.count() == 1) {
        for (int i = t.links() - 1; i > 0; --i)
            if (t.link_parent(i) > 0) add_numbers<N>(values + N * t.link_parent(i), values + N * i);
        return;
    }
    for_components_inward<N>(lanes, t, [&](int i, int c) {
        const int parent = t.link_parent(i);
        if (parent > 0) values[N * parent + c] += values[N * i + c];
    });
}

// Effort of each dof from the forces of the links: S . (force of the subtree). Ends with a barrier.
SIM_FUNCTION void project_forces(Lanes& lanes, const Topology& t, World& world, real* effort) {
    WorldMemory& m = world.memory;
    sum_subtrees<6>(lanes, t, reinterpret_cast<real*>(m.link_force));
    for_lanes(j, 0, t.dofs())
        effort[j] = dot(m.dof_motion[j], m.link_force[t.dof_link(j)]);
    lanes.sync();
}

// Coriolis, centrifugal and gravity effort, into memory.bias. Needs velocities and inertias. Ends with a barrier.
SIM_FUNCTION void bias_forces(Lanes& lanes, const Topology& t, World& world) {
    link_accelerations(lanes, t, world, nullptr);
    link_forces(lanes, t, world);
    project_forces(lanes, t, world, world.memory.bias);
}

// Effort M qdd + bias that gives the accelerations qdd (kernel order). Ends with a barrier.
SIM_FUNCTION void inverse_dynamics(Lanes& lanes, const Topology& t, World& world, const real* qdd, real* effort) {
    link_accelerations(lanes, t, world, qdd);
    link_forces(lanes, t, world);
    project_forces(lanes, t, world, effort);
    for_lanes(j, 0, t.dofs())
        effort[j] = multiply_add(world.model.joint_armature[world.dof(t, j)], qdd[j], effort[j]);
    lanes.sync();
}

// Inertia of each link's subtree. Ends with a barrier.
SIM_FUNCTION void composite_inertias(Lanes& lanes, const Topology& t, World& world) {
    WorldMemory& m = world.memory;
    for_lanes(i, 1, t.links()) m.composite_inertia[i] = m.link_inertia[i];
    lanes.sync();
    sum_subtrees<10>(lanes, t, reinterpret_cast<real*>(m.composite_inertia));
}

// Row j of the mass matrix and the elements above the diagonal that mirror it, by one lane. Rows in order: what later
// ones mirror into this one is zero until then. What fills blocks up is zero: subnormal numbers left there would take a
// CPU a hundred times as long.
SIM_FUNCTION void mass_row(const Topology& t, const World& world, int j) {
    const WorldMemory& m = world.memory;
    const int stride = matrix_stride(t);
    real *row = m.mass + j * stride, *packed = m.packed_mass + j * stride;
    for (int b = 0; b < stride; b += BLOCK) {
        store_block(row + b, Block{});
        store_block(packed + b, Block{});
    }
    const Force f = m.composite_inertia[t.dof_link(j)] * m.dof_motion[j];
    row[j] = dot(m.dof_motion[j], f) + world.model.joint_armature[world.dof(t, j)];
    int place = t.dof_depth(j);
    for (int i = t.dof_parent(j); i >= 0; i = t.dof_parent(i))
        packed[--place] = row[i] = m.mass[i * stride + j] = dot(m.dof_motion[i], f);
}

// The mass matrix with armature, M_ji = S_i . (I_composite(j) S_j) for i on the way from j to the root, else zero.
// The lane of the larger index owns an element and writes it to both halves. Ends with a barrier.
SIM_FUNCTION void mass_matrix(Lanes& lanes, const Topology& t, World& world) {
    WorldMemory& m = world.memory;
    const int n = t.dofs(), stride = matrix_stride(t);
    if (lanes.count() == 1) {
        for (int j = 0; j < n; ++j) mass_row(t, world, j);
        return;
    }
    for_lanes(j, 0, n) {
        const Force f = m.composite_inertia[t.dof_link(j)] * m.dof_motion[j];
        const int end = TOPOLOGY_UNROLLED ? n : j;
        SIM_UNROLL
        for (int i = 0; i < end; ++i) {
            if (TOPOLOGY_UNROLLED && i >= j) continue;
            const real value = t.dof_in_path(j, i) ? dot(m.dof_motion[i], f) : real(0);
            m.mass[j * stride + i] = value;
            m.mass[i * stride + j] = value;
        }
        m.mass[j * stride + j] = dot(m.dof_motion[j], f) + world.model.joint_armature[world.dof(t, j)];
    }
    lanes.sync();
}

// Prescribed dofs do not yield to forces: their rows and columns of a matrix over the dofs, of which the lower half is
// used, become those of the unit matrix. Ends with a barrier.
SIM_FUNCTION void hold_prescribed(Lanes& lanes, const Topology& t, real* matrix, const MatrixLayout& layout) {
    const int stride = matrix_stride(t);
    for_lanes(j, 0, t.dofs())
        for (int i = j; i >= 0; i = layout.packed ? t.dof_parent(i) : i - 1)
            if (is_prescribed(t, i) || is_prescribed(t, j)) matrix[j * stride + layout.column(t, i)] = real(i == j);
    lanes.sync();
}

// Row j of the mass matrix, up to the diagonal, into one of a matrix over the dofs, by one lane; zeros behind it to the
// end of a block.
SIM_FUNCTION void copy_mass_row(const Topology& t, const World& world, const MatrixLayout& layout, int j, real* row) {
    const real* mass = world.memory.mass + j * matrix_stride(t);
    const real* source = layout.packed ? world.memory.packed_mass + j * matrix_stride(t) : mass;
    const int diagonal = layout.column(t, j);
    for (int b = 0; b <= diagonal; b += BLOCK) store_block(row + b, load_block(source + b));
    row[diagonal] = mass[j];
}

// Velocity of a link's centre of mass for a unit rate of dof j alone: column j of its Jacobian.
SIM_FUNCTION Motion com_jacobian(const Topology& t, const World& world, int link, int j) {
    const int last = last_dof(t, link);
    if (last < 0 || !t.dof_in_path(last, j)) return zero_motion();
    return shift(world.memory.dof_motion[j], world.memory.link_com[link]);
}
