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

// Rows of a dof, each a force -weight (a - reference) kept in an interval: friction and drive in [-bound, bound]; the
// lower limit and the slowest speed only push up, the upper limit and the fastest speed down.
enum DofRow : int { ROW_FRICTION = 0, ROW_DRIVE = 1, ROW_LOWER = 2, ROW_UPPER = 3, ROW_SLOWEST = 4, ROW_FASTEST = 5,
                    DOF_ROWS = 6 };
constexpr int DOF_ROWS_BOUNDED = 2;  // the first two have a bound

// Row r of dof j lies at r * stride + j; weight 0: no such row.
struct DofRows {
    real* weight;
    real* reference;
    real* bound;
    int stride;
    int present;  // bit r: some dof has row r

    SIM_INLINE bool has(int row) const { return (present >> row & 1) != 0; }
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

// The rows of one contact. The components of residual and change are (normal, tangent, second tangent), the last one as
// second_tangent() scales it, which makes the cone a round one.
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

    // normal x tangent, times the friction along it over that along the tangent
#if defined(SIM_CONTACT_PAIRS) && !SIM_CONTACT_PAIRS
    SIM_INLINE void set_second_tangent(real) {}
    SIM_INLINE vec3 second_tangent() const { return cross(normal, tangent); }
#else
    vec3 scaled_second;
    SIM_INLINE void set_second_tangent(real ratio) { scaled_second = ratio * cross(normal, tangent); }
    SIM_INLINE vec3 second_tangent() const { return scaled_second; }
#endif
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
    real* mass_acceleration;  // M a, and behind it room for a block
    real* gradient;           // M a - b - J^T f
    real* search;             // p
    real* mass_search;        // M p, likewise
    real* weight;             // 1/M_jj, which makes norms of efforts comparable; 0 where the acceleration is prescribed
    int* touched;             // links with a contact on them or behind them, in order
    int* is_touched;          // by link
    DofRows dof_rows;
    real* row_curvature;      // of the cost of the rows of each dof, at a
    real* row_force;          // one lane: their force (both at the trial in the line search), their cost, and the trial
    real* row_cost;
    real* trial;
    BallRows* ball_rows;
    ContactRowList contact_rows;
    SpatialStiffness* link_stiffness;  // of the contacts with what does not move
    vec3* coupled_rows;       // a column of J for each dof, of one contact between moving links
    real* hessian;            // lower half, row stride matrix_stride, laid out by hessian_layout
    real* chunk;              // shares the memory of the Hessian, which is made afterwards
    real* inverse_pivot;
    real* row;                // of the factorisation by one lane
};

// Which of the world's quaternions the dofs from j on turn: each has one coordinate more than dofs.
SIM_INLINE int ball_index(const Topology& t, int j) { return t.dof_coord(j) - t.dof_user(j); }

SIM_FUNCTION SolverMemory take_solver_memory(MemoryBump& bump, MemoryBump& slow, const Topology& t) {
    const int dofs = t.dofs(), contacts = t.contacts_max();
    const int fast = contacts < FAST_CONTACTS ? contacts : FAST_CONTACTS;
    const int padded = padded_dofs(t);
    SolverMemory s;
    s.acceleration = bump.take<real>(padded);
    s.force = bump.take<real>(dofs);
    s.mass_acceleration = bump.take<real>(dofs + BLOCK);
    s.gradient = bump.take<real>(dofs);
    s.search = bump.take<real>(padded);
    s.mass_search = bump.take<real>(dofs + BLOCK);
    s.weight = bump.take<real>(dofs);
    s.touched = bump.take<int>(t.links());
    s.is_touched = bump.take<int>(t.links());
    s.dof_rows.stride = padded;
    s.dof_rows.weight = bump.take<real>(DOF_ROWS * padded);
    s.dof_rows.reference = bump.take<real>(DOF_ROWS * padded);
    s.dof_rows.bound = bump.take<real>(DOF_ROWS_BOUNDED * padded);
    s.dof_rows.present = 0;
    s.row_curvature = bump.take<real>(padded);
    s.row_force = bump.take<real>(SIM_LANES == 1 ? padded : 0);
    s.row_cost = bump.take<real>(SIM_LANES == 1 ? padded : 0);
    s.trial = bump.take<real>(SIM_LANES == 1 ? padded : 0);
    s.ball_rows = bump.take<BallRows>(t.coords() - dofs);
    s.contact_rows.fast = bump.take<ContactRows>(fast);
    s.contact_rows.slow = slow.take<ContactRows>(contacts - fast);
    s.link_stiffness = bump.take<SpatialStiffness>(t.links());
    s.coupled_rows = bump.take<vec3>(dofs);
    s.inverse_pivot = bump.take<real>(dofs);
    s.row = bump.take<real>(whole_blocks(dofs));
    const long long matrix = matrix_size(t), chunk = contacts > 0 ? 21 * CONTACT_CHUNK : 0;
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
