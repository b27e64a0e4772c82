// What the Featherstone step is asked for, and the memory of its constraint solve in one world.
#pragma once

#include "contact.h"
#include "packed_rows.h"

// The same layout stands in simengine/solvers/featherstone.py.
struct StepOptions {
    double dt;              // s
    real tolerance;         // the solve ends below this relative gradient, see newton.h
    real impratio;          // ratio of the impedances along the tangents and along the normal
    real stiction_speed;    // m/s: below this slip speed static friction holds
    real restitution_speed; // m/s: above this approach speed restitution acts
    int integrator;         // Integrator
    int cone;               // Cone
    int iterations;         // most iterations of the solve
};

// The options, of which a specialised form has some as constants of its text.
SIM_INLINE StepOptions constant_options(StepOptions options) {
#ifdef SIM_INTEGRATOR
    options.integrator = SIM_INTEGRATOR;
#endif
#ifdef SIM_CONE
    options.cone = SIM_CONE;
#endif
    return options;
}

// Rows of one dof, each a force -weight (a - reference) clamped to an interval; weight 0: no such row.
struct DofRows {
    int any;                                                   // is there a row at all?
    real friction_weight, friction_reference, friction_bound;  // in [-bound, bound]
    real drive_weight, drive_reference, drive_bound;           // in [-bound, bound]
    real lower_weight, lower_reference;                        // pushes up
    real upper_weight, upper_reference;                        // pushes down
    real speed_weight, slowest, fastest;                       // holds a between the two
};

// One-sided rows of a ball joint: a force along the direction while direction . a < reference.
enum BallRow : int { BALL_ROW_ANGLE = 0, BALL_ROW_SWING_Y = 1, BALL_ROW_SWING_Z = 2, BALL_ROW_TWIST = 3,
                    BALL_ROWS = 4 };

struct BallRows {
    real weight[BALL_ROWS];
    real reference[BALL_ROWS];
    vec3 direction[BALL_ROWS];  // in the axes of the joint's rates
};

// Which links of a contact forces can move.
enum ContactMover : int { MOVES_BOTH = 0, MOVES_FIRST = 1, MOVES_SECOND = 2 };

// The rows of one contact. The components of residual and change are (normal, tangent, normal x tangent).
struct ContactRows {
    vec3 residual;        // J a - reference
    vec3 change;          // J p of the search direction p
    vec3 normal;          // from the first link to the second, in the world
    vec3 tangent;
    vec3 arm0;            // the point of the contact, from the reference points of the two links' trees
    vec3 arm1;
    real normal_weight;   // 1/R of the normal row, of each edge of a pyramid; 0: the contact exerts nothing
    real tangent_weight;  // 1/R of the tangent rows; 0: no friction
    real friction;
    int link0;
    int link1;
    int mover;            // ContactMover
};

// The first contacts lie in the fast memory of the group, the rest in the slow one.
constexpr int FAST_CONTACTS = 24;

struct ContactRowList {
    ContactRows* fast;
    ContactRows* slow;

    SIM_INLINE ContactRows& operator[](int i) const { return i < FAST_CONTACTS ? fast[i] : slow[i - FAST_CONTACTS]; }
};

// Contacts whose contribution is written before it is added up.
constexpr int CONTACT_CHUNK = 32;

struct SolverMemory {
    real* acceleration;       // a
    real* force;              // b: the effort of everything but rows, bias included
    real* mass_acceleration;  // M a
    real* gradient;           // M a - b - J^T f
    real* search;             // p
    real* mass_search;        // M p
    real* weight;             // 1/M_jj, which makes norms of efforts comparable; 0 where the acceleration is prescribed
    int* tree_first;          // the dofs of a dof's tree lie in [tree_first, tree_end)
    int* tree_end;
    int* place;               // dofs before a dof on the way from the root
    int* touched;             // links with a contact on them or behind them, in order
    int* is_touched;          // by link
    DofRows* dof_rows;
    BallRows* ball_rows;
    ContactRowList contact_rows;
    SpatialStiffness* link_stiffness;  // of the contacts with what does not move
    vec3* coupled_rows;       // a column of J for each dof, of one contact between moving links
    real* hessian;            // lower half, row stride matrix_stride; see hessian_layout
    real* chunk;              // shares the memory of the Hessian, which is made afterwards
    real* inverse_pivot;
    real* row;                // of the factorisation by one lane
};

// Which of the world's quaternions the dofs from j on turn: each has one coordinate more than dofs.
SIM_INLINE int ball_index(const Topology& t, int j) { return t.dof_coord(j) - t.dof_user(j); }

SIM_FUNCTION SolverMemory take_solver_memory(MemoryBump& bump, MemoryBump& slow, const Topology& t) {
    const int dofs = t.dofs(), contacts = t.contacts_max();
    const int fast = contacts < FAST_CONTACTS ? contacts : FAST_CONTACTS;
    SolverMemory s;
    s.acceleration = bump.take<real>(dofs);
    s.force = bump.take<real>(dofs);
    s.mass_acceleration = bump.take<real>(dofs);
    s.gradient = bump.take<real>(dofs);
    s.search = bump.take<real>(dofs);
    s.mass_search = bump.take<real>(dofs);
    s.weight = bump.take<real>(dofs);
    s.tree_first = bump.take<int>(dofs);
    s.tree_end = bump.take<int>(dofs);
    s.place = bump.take<int>(dofs);
    s.touched = bump.take<int>(t.links());
    s.is_touched = bump.take<int>(t.links());
    s.dof_rows = bump.take<DofRows>(dofs);
    s.ball_rows = bump.take<BallRows>(t.coords() - dofs);
    s.contact_rows.fast = bump.take<ContactRows>(fast);
    s.contact_rows.slow = slow.take<ContactRows>(contacts - fast);
    s.link_stiffness = bump.take<SpatialStiffness>(t.links());
    s.coupled_rows = bump.take<vec3>(dofs);
    s.inverse_pivot = bump.take<real>(dofs);
    s.row = bump.take<real>(packed_stride(dofs));
    const int stride = packed_stride(dofs) > matrix_stride(t) ? packed_stride(dofs) : matrix_stride(t);
    const long long matrix = (long long)dofs * stride, chunk = contacts > 0 ? 21 * CONTACT_CHUNK : 0;
    s.hessian = bump.take<real>(matrix > chunk ? matrix : chunk);
    s.chunk = s.hessian;
    return s;
}

// Can forces move the link?
SIM_FUNCTION bool is_movable(const Topology& t, int link) {
    for (int j = last_dof(t, link); j >= 0; j = t.dof_parent(j))
        if (!is_prescribed(t, j)) return true;
    return false;
}
