// Newton's method with an exact line search on the convex problem of the step, for one world.
//
// The acceleration a minimises 1/2 a.M a - b.a + (cost of the rows at J a): M is the mass matrix with the implicit
// terms on its diagonal, b the effort known beforehand. MuJoCo's documentation, "Computation", "Primal problem".
//
// Efforts are compared in the norm |x|_W^2 = sum x_j^2 / M_jj, in which metres and radians agree and whose square has
// the unit of the cost. The solve ends where the gradient g is below the tolerance relative to
// sqrt(|b|_W^2 + |cost at the start|/50), or where the Newton decrement sqrt(g . H^-1 g), the distance to the minimum
// in the problem's own norm, is. The cost stands for forces that cancel, as on a body that is squeezed.
#pragma once

#include "contact_rows.h"

struct NewtonResult {
    int iterations;
    real residual;
    bool converged;
    bool pivot_raised;
};

// What does not change during the solve of one world.
struct Problem {
    const SolverMemory& s;
    ContactSet contacts;
    int cone;
    real tolerance;
    int iterations;  // at most
};

// Accept a step length once the slope has fallen to this part of what it was.
#define SIM_LINE_TOLERANCE real(1e-3)
#define SIM_LINE_EVALUATIONS 40

// What round-off leaves of the gradient and of the decrement, relative to the same scale as the tolerance: ten epsilon
// on robots and piles, more where a body is squeezed between stiff contacts.
#define SIM_ROUND_OFF (real(1024) * REAL_EPSILON)

// ---- preparation -------------------------------------------------------------------------------------------------

// Weights of the norm. Ends with a barrier.
SIM_FUNCTION void weigh_dofs(Lanes& lanes, const Topology& t, const World& world, const SolverMemory& s) {
    for_lanes(j, 0, t.dofs())
        s.weight[j] = is_prescribed(t, j) ? real(0) : reciprocal(world.memory.mass[j * matrix_stride(t) + j]);
    lanes.sync();
}

// y = M x by one lane, a block of elements at a time. A block that begins in one tree may end in the next, whose own
// blocks come later and write those elements again; behind the last element is room for a block.
SIM_FUNCTION void multiply_mass_by_blocks(const Topology& t, const real* mass, const real* x, real* y) {
    const int stride = matrix_stride(t);
    for (int first = 0; first < t.dofs(); first = t.dof_tree_end(first)) {
        const int end = t.dof_tree_end(first);
        for (int b = first; b < end; b += BLOCK) {
            Block sum = {};
            for (int i = first; i < end; ++i) sum = multiply_add(x[i], load_block(mass + i * stride + b), sum);
            store_block(y + b, sum);
        }
    }
}

// y = M x; each element sums over the dofs of its tree in order. Both halves of M hold the same numbers, so a row
// serves as a column. Ends with a barrier.
SIM_STAGE void multiply_mass(Lanes& lanes, const Topology& t, const World& world, const SolverMemory& s, const real* x,
                             real* y) {
    if (lanes.count() == 1) {
        multiply_mass_by_blocks(t, world.memory.mass, x, y);
        return;
    }
    const int stride = matrix_stride(t);
    for_lanes(j, 0, t.dofs()) {
        const real* row = world.memory.mass + j * stride;
        const int first = t.dof_tree_start(j), end = t.dof_tree_end(j);
        real sum = 0;
        for (int i = first; i < end; ++i) sum = multiply_add(row[i], x[i], sum);
        y[j] = sum;
    }
    lanes.sync();
}

SIM_INLINE vec3 ball_values(const real* x, int j) { return {x[j], x[j + 1], x[j + 2]}; }

// M a and the residuals of a; `residual` of the contacts holds minus the reference before. Ends with a barrier.
SIM_STAGE void start_from(Lanes& lanes, const Topology& t, World& world, const Problem& p) {
    const SolverMemory& s = p.s;
    multiply_mass(lanes, t, world, s, s.acceleration, s.mass_acceleration);
    if (p.contacts.count > 0) contact_changes(lanes, t, world, s, p.contacts, s.acceleration);
}

// The cost with the residuals of start_from.
SIM_STAGE real start_cost(Lanes& lanes, const Topology& t, const Problem& p) {
    const SolverMemory& s = p.s;
    if (lanes.count() == 1) dof_costs(s.dof_rows, t.dofs(), s.acceleration, s.row_cost);
    return lanes.sum_over(
        t.dofs(),
        [&](int j) {
            const real a = s.acceleration[j], rows = lanes.count() == 1 ? s.row_cost[j] : dof_cost(s.dof_rows, j, a);
            real cost = a * multiply_add(real(0.5), s.mass_acceleration[j], -s.force[j]) + rows;
            if (begins_ball_joint(t, j))
                cost += ball_cost(s.ball_rows[ball_index(t, j)], ball_values(s.acceleration, j));
            return cost;
        },
        p.contacts.count,
        [&](int i) {
            const ContactRows& c = s.contact_rows[i];
            return contact_cost(c, c.residual + c.change, p.cone);
        });
}

// Rest: no acceleration but what is prescribed. Ends with a barrier.
SIM_STAGE void start_from_rest(Lanes& lanes, const Topology& t, World& world, const Problem& p) {
    const SolverMemory& s = p.s;
    for_lanes(j, 0, t.dofs()) {
        s.acceleration[j] = is_prescribed(t, j) ? s.search[j] : real(0);
        s.mass_acceleration[j] = 0;
    }
    for_lanes(i, 0, p.contacts.count) s.contact_rows[i].change = zero_vec3();
    lanes.sync();
    if (t.kinematic_links() > 0) start_from(lanes, t, world, p);
}

// Starts from the warm start in s.search or from rest, whichever costs less; prescribed accelerations hold in both.
// Rest needs no factorisation, and bounds what a warm start gone stale can cost. Returns the cost. Ends with a barrier.
SIM_FUNCTION real choose_start(Lanes& lanes, const Topology& t, World& world, const Problem& p) {
    const SolverMemory& s = p.s;
    start_from_rest(lanes, t, world, p);
    const real rest = start_cost(lanes, t, p);
    for_lanes(j, 0, t.dofs()) s.acceleration[j] = s.search[j];
    lanes.sync();
    start_from(lanes, t, world, p);
    const real warm = start_cost(lanes, t, p);
    if (!(warm < rest)) start_from_rest(lanes, t, world, p);
    for_lanes(i, 0, p.contacts.count) s.contact_rows[i].residual += s.contact_rows[i].change;
    lanes.sync();
    return warm < rest ? warm : rest;
}

// ---- gradient and Hessian ----------------------------------------------------------------------------------------

// What the rows of dof j answer to the acceleration a: by one lane it has been found before.
SIM_INLINE RowResponse row_response(const Lanes& lanes, const SolverMemory& s, int j, real a) {
    if (lanes.count() == 1) return {s.row_force[j], s.row_curvature[j]};
    return dof_response(s.dof_rows, j, a);
}

// Force of the rows of dof j's joint on it; leaves the curvature of their cost.
SIM_FUNCTION real joint_row_force(const Lanes& lanes, const Topology& t, const SolverMemory& s, int j) {
    const RowResponse r = row_response(lanes, s, j, s.acceleration[j]);
    s.row_curvature[j] = r.curvature;
    real force = r.force;
    const int kind = t.dof_kind(j);
    if (in_ball_joint(t, j)) {
        const int first = j - (kind - DOF_BALL_X);
        force += ball_force(s.ball_rows[ball_index(t, first)], ball_values(s.acceleration, first))[kind - DOF_BALL_X];
    }
    return force;
}

// g = M a - b - J^T f, zero where the acceleration is prescribed. Ends with a barrier.
SIM_FUNCTION void evaluate_gradient(Lanes& lanes, const Topology& t, World& world, const Problem& p) {
    const SolverMemory& s = p.s;
    if (p.contacts.count > 0) contact_wrenches(lanes, t, world, s, p.contacts, p.cone);
    if (lanes.count() == 1) dof_responses(s.dof_rows, t.dofs(), s.acceleration, s.row_force, s.row_curvature);
    for_lanes(j, 0, t.dofs()) {
        real g = s.mass_acceleration[j] - s.force[j] - joint_row_force(lanes, t, s, j);
        const int link = t.dof_link(j);
        if (s.is_touched[link]) g -= dot(world.memory.dof_motion[j], world.memory.link_force[link]);
        s.gradient[j] = is_prescribed(t, j) ? real(0) : g;
    }
    lanes.sync();
}

SIM_FUNCTION real weighted_square(Lanes& lanes, const Topology& t, const SolverMemory& s, const real* x) {
    return lanes.sum_over(t.dofs(), [&](int j) { return x[j] * x[j] * s.weight[j]; });
}

// Adds the rows of the ball whose first dof is `first` to row j of the Hessian, which is one of the ball's; `row`
// begins at the ball.
SIM_FUNCTION void add_ball_curvature(const Topology& t, const SolverMemory& s, int first, int j, real* row) {
    const sym33 h = ball_curvature(s.ball_rows[ball_index(t, first)], ball_values(s.acceleration, first));
    const mat33 m = full(h);
    for (int i = 0; i <= j - first; ++i) row[i] += m[j - first][i];
}

// Packed where one lane works a matrix with the sparsity of the tree.
SIM_INLINE MatrixLayout hessian_layout(const Lanes& lanes, bool coupled) { return {lanes.count() == 1 && !coupled}; }

// Row j of H = M + J^T W J by its owner, without coupled contacts.
SIM_FUNCTION void hessian_row(const Lanes& lanes, const Topology& t, const World& world, const Problem& p, int j) {
    const SolverMemory& s = p.s;
    const WorldMemory& m = world.memory;
    const MatrixLayout layout = hessian_layout(lanes, p.contacts.coupled);
    const int kind = t.dof_kind(j);
    real* row = s.hessian + j * matrix_stride(t);
    const real* mass = m.mass + j * matrix_stride(t);
    const bool touched = s.is_touched[t.dof_link(j)];
    const Force f = touched ? s.link_stiffness[t.dof_link(j)] * m.dof_motion[j] : zero_force();
    const auto value = [&](int i) { return touched ? mass[i] + dot(m.dof_motion[i], f) : mass[i]; };
    if (lanes.count() == 1) {
        copy_mass_row(t, world, layout, j, row);
        for (int i = touched ? j : -1; i >= 0; i = t.dof_parent(i)) row[layout.column(t, i)] = value(i);
    } else if (TOPOLOGY_UNROLLED) {
        SIM_UNROLL
        for (int i = 0; i < t.dofs(); ++i) {
            if (i > j) continue;
            row[i] = t.dof_in_path(j, i) ? value(i) : real(0);
        }
    } else {
        if (p.contacts.coupled)
            for (int i = 0; i < j; ++i) row[i] = 0;
        for (int i = j; i >= 0; i = t.dof_parent(i)) row[i] = value(i);
    }
    row[layout.column(t, j)] += s.row_curvature[j];
    if (in_ball_joint(t, j)) {
        const int first = j - (kind - DOF_BALL_X);
        add_ball_curvature(t, s, first, j, row + layout.column(t, first));
    }
}

// Factors the Hessian and solves H p = -g into s.search: along the tree where no contact couples its branches.
// Returns whether a pivot was raised. Ends with a barrier.
SIM_FUNCTION bool solve_direction(Lanes& lanes, const Topology& t, const SolverMemory& s, bool coupled) {
    const MatrixLayout layout = hessian_layout(lanes, coupled);
    const int n = t.dofs(), stride = matrix_stride(t);
    if (t.kinematic_links() > 0) hold_prescribed(lanes, t, s.hessian, layout);
    bool raised;
    if (lanes.count() > 1) {
        const LaneCoupling coupling = {t, coupled};
        raised = factor_by_lanes(lanes, n, s.hessian, stride, s.inverse_pivot, coupling);
        solve_by_lanes(lanes, n, s.hessian, stride, s.inverse_pivot, s.search, coupling);
    } else if (layout.packed) {
        const PackedRows rows = {t, s.hessian, stride};
        raised = factor_packed(n, rows, s.inverse_pivot, s.row);
        solve_packed(n, rows, s.inverse_pivot, s.search, s.row);
    } else {
        raised = factor(n, s.hessian, stride, s.inverse_pivot, s.row, DenseCoupling{});
        solve(n, s.hessian, stride, s.inverse_pivot, s.search, s.row, DenseCoupling{});
    }
    return raised;
}

// The Newton direction into s.search. Ends with a barrier.
SIM_FUNCTION bool newton_direction(Lanes& lanes, const Topology& t, World& world, const Problem& p) {
    const SolverMemory& s = p.s;
    if (p.contacts.count > 0) contact_stiffnesses(lanes, t, world, s, p.contacts, p.cone);
    for_lanes(j, 0, t.dofs()) {
        hessian_row(lanes, t, world, p, j);
        s.search[j] = -s.gradient[j];
    }
    lanes.sync();
    if (p.contacts.coupled) {
        for (int i = 0; i < p.contacts.count; ++i) {
            const ContactRows& c = s.contact_rows[i];
            if (c.mover == MOVES_BOTH && c.normal_weight > 0) add_coupled_contact(lanes, t, world, s, c, p.cone);
        }
    }
    return solve_direction(lanes, t, s, p.contacts.coupled);
}

// ---- line search -------------------------------------------------------------------------------------------------

// First and second derivative of the rows of dof j along p at a + alpha p.
SIM_FUNCTION RealPair dof_line(const Lanes& lanes, const Topology& t, const SolverMemory& s, int j, real alpha) {
    const real p = s.search[j];
    const RowResponse r = row_response(lanes, s, j, multiply_add(alpha, p, s.acceleration[j]));
    RealPair d = {-r.force * p, r.curvature * p * p};
    if (begins_ball_joint(t, j)) {
        const BallRows& rows = s.ball_rows[ball_index(t, j)];
        const vec3 direction = ball_values(s.search, j);
        const vec3 a = multiply_add(alpha, direction, ball_values(s.acceleration, j));
        d.first -= dot(ball_force(rows, a), direction);
        d.second += dot(direction, ball_curvature(rows, a) * direction);
    }
    return d;
}

// (slope, curvature) of all rows along p at a + alpha p.
SIM_FUNCTION RealPair row_derivatives(Lanes& lanes, const Topology& t, const Problem& p, real alpha) {
    const SolverMemory& s = p.s;
    if (lanes.count() == 1) {
        for (int b = 0; b < t.dofs(); b += BLOCK)
            store_block(s.trial + b, multiply_add(alpha, load_block(s.search + b), load_block(s.acceleration + b)));
        dof_responses(s.dof_rows, t.dofs(), s.trial, s.row_force, s.row_curvature);
    }
    return lanes.sum_over(
        t.dofs(), [&](int j) { return dof_line(lanes, t, s, j, alpha); }, p.contacts.count,
        [&](int i) { return contact_line(s.contact_rows[i], alpha, p.cone); });
}

// The step length that minimises the cost along s.search: Newton's method on its derivative, which grows, inside a
// bracket. `slope0` is the derivative at 0, negative. Returns 0 where no length lowers the cost.
SIM_FUNCTION real line_search(Lanes& lanes, const Topology& t, const Problem& p, real slope0) {
    const SolverMemory& s = p.s;
    const real linear = lanes.sum_over(t.dofs(),
                                       [&](int j) { return s.search[j] * (s.mass_acceleration[j] - s.force[j]); });
    const real quadratic = lanes.sum_over(t.dofs(), [&](int j) { return s.search[j] * s.mass_search[j]; });
    real alpha = 1, low = 0, high = infinity<real>();
    for (int i = 0; i < SIM_LINE_EVALUATIONS; ++i) {
        const RealPair rows = row_derivatives(lanes, t, p, alpha);
        const real slope = multiply_add(alpha, quadratic, linear) + rows.first;
        if (absolute(slope) <= SIM_LINE_TOLERANCE * absolute(slope0)) return alpha;
        if (slope < 0) low = alpha;
        else high = alpha;
        const real curvature = quadratic + rows.second;
        real next = alpha - divide(slope, curvature);
        if (!(next > low && next < high)) next = is_finite(high) ? real(0.5) * (low + high) : 2 * alpha;
        if (next == alpha || !is_finite(next)) break;
        alpha = next;
    }
    return low;
}

// a += alpha p, with all that is linear in a. Ends with a barrier.
SIM_FUNCTION void take_step(Lanes& lanes, const Topology& t, const Problem& p, real alpha) {
    const SolverMemory& s = p.s;
    for_lanes(j, 0, t.dofs()) {
        s.acceleration[j] = multiply_add(alpha, s.search[j], s.acceleration[j]);
        s.mass_acceleration[j] = multiply_add(alpha, s.mass_search[j], s.mass_acceleration[j]);
    }
    for_lanes(i, 0, p.contacts.count) {
        ContactRows& c = s.contact_rows[i];
        c.residual = multiply_add(alpha, c.change, c.residual);
    }
    lanes.sync();
}

// ---- the solve ---------------------------------------------------------------------------------------------------

// One iteration from s.acceleration; false where it is the minimum, or as near as can be: where no step along the
// direction lowers the cost, or the last one was too short to change a digit, the solve has converged if no more is
// left than round-off. `scale` is what the residual is relative to.
SIM_FUNCTION bool newton_iteration(Lanes& lanes, const Topology& t, World& world, const Problem& p, real scale,
                                   NewtonResult& result) {
    const SolverMemory& s = p.s;
    const real before = result.residual;
    evaluate_gradient(lanes, t, world, p);
    result.residual = divide(square_root(weighted_square(lanes, t, s, s.gradient)), scale);
    if (!(result.residual > p.tolerance)) return false;
    if (result.iterations > 0 && result.residual == before) {
        result.converged = result.residual <= SIM_ROUND_OFF;
        return false;
    }
    result.converged = result.iterations < p.iterations;
    if (!result.converged) return false;
    result.pivot_raised = newton_direction(lanes, t, world, p) || result.pivot_raised;
    const real slope = lanes.sum_over(t.dofs(), [&](int j) { return s.gradient[j] * s.search[j]; });
    const real decrement = divide(square_root(maximum(-slope, real(0))), scale);
    if (!(decrement > p.tolerance)) {
        result.residual = decrement;
        return false;
    }
    multiply_mass(lanes, t, world, s, s.search, s.mass_search);
    if (p.contacts.count > 0) contact_changes(lanes, t, world, s, p.contacts, s.search);
    const real alpha = line_search(lanes, t, p, slope);
    if (!(alpha > 0)) {
        result.residual = minimum(result.residual, decrement);
        result.converged = result.residual <= SIM_ROUND_OFF;
        return false;
    }
    take_step(lanes, t, p, alpha);
    ++result.iterations;
    return true;
}

// The acceleration into s.acceleration; s.search holds the warm start, with prescribed accelerations in their places.
// The gradient is that of the result. Numbers that are not finite end the solve and make all accelerations NaN, so that
// they are seen. Every lane returns the same. Ends with a barrier.
SIM_FUNCTION NewtonResult newton_solve(Lanes& lanes, const Topology& t, World& world, const Problem& p) {
    const SolverMemory& s = p.s;
    NewtonResult result = {0, 0, true, false};
    const real cost = choose_start(lanes, t, world, p);
    const real known = weighted_square(lanes, t, s, s.force);
    const real scale = maximum(square_root(multiply_add(real(0.02), absolute(cost), known)), real(1e-20));
    bool active = true;
    while (lanes.keep_step(active)) active = active && newton_iteration(lanes, t, world, p, scale, result);
    if (!is_finite(result.residual))
        for_lanes(j, 0, t.dofs()) s.acceleration[j] = quiet_nan<real>();
    lanes.sync();
    return result;
}
