// Rows of the constraint problem that act on one joint: dry friction, limits, velocity limits, drives with a limited
// effort, and the limits of ball joints.
//
// A row is a force -(a - reference)/R kept inside an interval: the gradient of a convex cost in the acceleration a.
// With impedance d(r) of the distance r, R = A (1 - d)/d for the inverse inertia A, and the reference acceleration is
// -B v - K d r with B = 2/(d_max tc), K = 1/(d_max tc z)^2 for time constant tc and damping ratio z. MuJoCo's
// documentation, "Computation", section "Constraint model", and "Modeling", section "Solver parameters".
#pragma once

#include "joint_forces.h"

// Bounds that keep impedances away from the ends, and R away from zero (MuJoCo's).
#define SIM_LEAST_IMPEDANCE real(0.0001)
#define SIM_MOST_IMPEDANCE real(0.9999)
#define SIM_LEAST_REGULARISATION real(1e-15)

// x^p / m^(p - 1) for 0 <= x <= m: the usual exponent without a logarithm, others of x / m, as both powers may vanish.
SIM_FUNCTION real bent_power(real x, real m, real p) {
    if (p == 2) return divide(x * x, m);
    const real part = divide(x, m);
    return part > 0 ? m * power(part, p) : real(0);
}

// d(r) = d0 + y (d_max - d0), y rising from 0 to 1 over |r| in [0, width]: a power curve bent at the midpoint.
template <class Array>
SIM_FUNCTION real impedance(const Array& p, real distance) {
    const real d0 = clamp(real(p[0]), SIM_LEAST_IMPEDANCE, SIM_MOST_IMPEDANCE);
    const real d_max = clamp(real(p[1]), SIM_LEAST_IMPEDANCE, SIM_MOST_IMPEDANCE);
    const real width = p[2], middle = clamp(real(p[3]), SIM_LEAST_IMPEDANCE, SIM_MOST_IMPEDANCE);
    const real exponent = maximum(real(p[4]), real(1));
    if (d0 == d_max || width <= real(1e-15)) return real(0.5) * (d0 + d_max);
    const real x = minimum(divide(absolute(distance), width), real(1));
    if (x == 1) return d_max;
    real y = x;
    if (exponent != 1) {
        y = x <= middle ? bent_power(x, middle, exponent) : 1 - bent_power(1 - x, 1 - middle, exponent);
    }
    return multiply_add(y, d_max - d0, d0);
}

// K and B of the reference acceleration. A time constant below 2 h is raised to it.
struct ReferenceGains {
    real stiffness, damping;
};

template <class Array>
SIM_FUNCTION ReferenceGains reference_gains(const Array& reference, real d_max, real h) {
    const real d = clamp(d_max, SIM_LEAST_IMPEDANCE, SIM_MOST_IMPEDANCE);
    const real time = maximum(real(reference[0]), 2 * h), ratio = reference[1];
    const real inverse = reciprocal(d * time), stiff = divide(inverse, ratio);
    return {stiff * stiff, 2 * inverse};
}

// 1/R for the inverse inertia A.
SIM_FUNCTION real row_weight(real impedance, real inverse_inertia) {
    return reciprocal(maximum(divide((1 - impedance) * inverse_inertia, impedance), SIM_LEAST_REGULARISATION));
}

// Weight and reference of a one-sided row at `distance` from its limit, which falls at `rate` = -v when approaching.
struct LimitRow {
    real weight, reference;
};

// The limit of the joint that holds dof `row` of the model; `distance` and `rate` are measured away from the limit.
// With stiffness ke and damping kd in SI units the force is -ke (r + h v+) - kd v+, never pulling.
SIM_FUNCTION LimitRow limit_row(const World& world, int row, real distance, real rate, real h) {
    const ModelView& model = world.model;
    const real past = distance - model.joint_limit_margin[row];
    if (!(past < 0)) return {0, 0};
    const real ke = model.joint_limit_ke[row], kd = model.joint_limit_kd[row];
    if (ke > 0) {
        const real weight = h * multiply_add(h, ke, kd);
        return {weight, -divide(multiply_add(ke, multiply_add(h, rate, past), kd * rate), weight)};
    }
    const real* parameters = &model.joint_limit_impedance[5 * row];
    const real d = impedance(parameters, past);
    const ReferenceGains gains = reference_gains(&model.joint_limit_reference[2 * row], parameters[1], h);
    return {row_weight(d, model.dof_inverse_weight[row]),
            multiply_add(-gains.damping, rate, -gains.stiffness * d * past)};
}

// Row `row` of dof j.
SIM_INLINE void set_row(DofRows& rows, int row, int j, real weight, real reference) {
    rows.weight[row * rows.stride + j] = weight;
    rows.reference[row * rows.stride + j] = reference;
    if (weight > 0) rows.present |= 1 << row;
}

SIM_INLINE void set_bounded_row(DofRows& rows, int row, int j, real weight, real reference, real bound) {
    set_row(rows, row, j, weight, reference);
    rows.bound[row * rows.stride + j] = bound;
}

SIM_FUNCTION void friction_row(const World& world, int dof, int j, real v, real h, DofRows& rows) {
    const ModelView& model = world.model;
    if (!(model.joint_friction[dof] > 0)) return;
    const real* parameters = &model.joint_friction_impedance[5 * dof];
    const ReferenceGains gains = reference_gains(&model.joint_friction_reference[2 * dof], parameters[1], h);
    const real weight = row_weight(impedance(parameters, real(0)), model.dof_inverse_weight[dof]);
    set_bounded_row(rows, ROW_FRICTION, j, weight, -gains.damping * v, model.joint_friction[dof]);
}

// A drive under the implicit integrator whose effort is limited: weight h kd + h^2 kp, zero force at the reference.
SIM_FUNCTION void drive_row(const Topology& t, const World& world, const ControlView& control, int j,
                            const StepOptions& options, DofRows& rows) {
    const int dof = world.dof(t, j);
    if (options.integrator != INTEGRATOR_IMPLICIT || !has_drive(world, dof)) return;
    if (!is_finite(world.model.joint_effort_limit[dof])) return;
    const real h = real(options.dt);
    const DriveEffort drive = drive_effort(t, world, control, j, h, h);
    set_bounded_row(rows, ROW_DRIVE, j, drive.slope, divide(drive.effort, drive.slope), drive.limit);
}

// Rates kept inside [-limit, limit] at the end of the step: v + h a.
SIM_FUNCTION void speed_rows(const World& world, int dof, int j, real v, real h, DofRows& rows) {
    const real limit = world.model.joint_velocity_limit[dof];
    if (!is_finite(limit)) return;
    const real weight = row_weight(SIM_MOST_IMPEDANCE, world.model.dof_inverse_weight[dof]);
    set_row(rows, ROW_SLOWEST, j, weight, divide(-limit - v, h));
    set_row(rows, ROW_FASTEST, j, weight, divide(limit - v, h));
}

SIM_INLINE void clear_dof_rows(int j, DofRows& rows) {
    for (int row = 0; row < DOF_ROWS; ++row) set_row(rows, row, j, 0, 0);
    for (int row = 0; row < DOF_ROWS_BOUNDED; ++row) rows.bound[row * rows.stride + j] = 0;
}

// What one lane works in blocks beyond the last dof.
SIM_FUNCTION void fill_up_blocks(const Topology& t, SolverMemory& s) {
    for (int j = t.dofs(); j < padded_dofs(t); ++j) {
        clear_dof_rows(j, s.dof_rows);
        s.acceleration[j] = s.search[j] = 0;
    }
}

// The rows of dof j, by its owner.
SIM_FUNCTION void build_dof_rows(const Topology& t, const World& world, const ControlView& control, int j,
                                 const StepOptions& options, DofRows& rows) {
    clear_dof_rows(j, rows);
    if (is_prescribed(t, j)) return;
    const int dof = world.dof(t, j);
    const real h = real(options.dt), v = world.memory.qd[j];
    friction_row(world, dof, j, v, h, rows);
    drive_row(t, world, control, j, options, rows);
    speed_rows(world, dof, j, v, h, rows);
    if (t.dof_kind(j) >= DOF_BALL_X) return;
    const real q = world.memory.q[t.dof_coord(j)];
    const LimitRow lower = limit_row(world, dof, q - world.model.joint_limit_lower[dof], v, h);
    const LimitRow upper = limit_row(world, dof, world.model.joint_limit_upper[dof] - q, -v, h);
    set_row(rows, ROW_LOWER, j, lower.weight, lower.reference);
    set_row(rows, ROW_UPPER, j, upper.weight, -upper.reference);
}

// ---- ball joints -------------------------------------------------------------------------------------------------

// Is dof j one of the three of a ball joint? The ball of a free joint has no limits.
SIM_INLINE bool in_ball_joint(const Topology& t, int j) {
    if (!Topology::has_ball_joints() || t.dof_kind(j) < DOF_BALL_X) return false;
    return (t.link_flags(t.dof_link(j)) & LINK_FLOATING) == 0;
}

// Is it the first of them?
SIM_INLINE bool begins_ball_joint(const Topology& t, int j) {
    return t.dof_kind(j) == DOF_BALL_X && in_ball_joint(t, j);
}

// Row k of a ball: its angle to the limit falls along -direction.
SIM_FUNCTION void ball_row(const World& world, int row, vec3 rates, int k, real distance, vec3 direction, real h,
                           BallRows& b) {
    const LimitRow limit = limit_row(world, row, distance, dot(direction, rates), h);
    b.weight[k] = limit.weight;
    b.reference[k] = limit.reference;
    b.direction[k] = direction;
}

// Swing angle 2 atan2(s, c), s = sine_part of the swing quaternion about y or z, c = |(w, x)|, against its limit on
// either side. With n = c^2 and the product p = s c the gradient is 2 (n dp - p dn) / (n^2 + p^2).
SIM_FUNCTION void swing_row(const World& world, int row, vec3 rates, quat q, int k, real limit, real h, BallRows& b) {
    const real n = multiply_add(q.x, q.x, q.w * q.w);
    const real sign = k == BALL_ROW_SWING_Y ? real(-1) : real(1);
    const real first = k == BALL_ROW_SWING_Y ? q.y : q.z, second = k == BALL_ROW_SWING_Y ? q.z : q.y;
    const real p = multiply_add(first, q.w, sign * second * q.x);
    vec3 gradient;
    for (int c = 0; c < 3; ++c) {
        const vec3 axis = {real(c == 0), real(c == 1), real(c == 2)};
        const quat dq = real(0.5) * (quat{axis.x, axis.y, axis.z, real(0)} * q);
        const real d_first = k == BALL_ROW_SWING_Y ? dq.y : dq.z, d_second = k == BALL_ROW_SWING_Y ? dq.z : dq.y;
        const real dp = d_first * q.w + first * dq.w + sign * (d_second * q.x + second * dq.x);
        const real dn = 2 * (dq.w * q.w + dq.x * q.x);
        gradient[c] = divide(2 * (n * dp - p * dn), maximum(n * n + p * p, real(1e-20)));
    }
    const real angle = 2 * arc_tangent2(p, n), side = angle < 0 ? real(-1) : real(1);
    ball_row(world, row, rates, k, limit - absolute(angle), -side * gradient, h, b);
}

// Twist angle 2 atan2(x, w) about the child's x axis, against the nearer of its limits.
SIM_FUNCTION void twist_row(const World& world, int row, vec3 rates, quat q, real lower, real upper, real h,
                            BallRows& b) {
    const quat turned = q.w < 0 ? -q : q;
    const real n = maximum(multiply_add(turned.x, turned.x, turned.w * turned.w), real(1e-20));
    const vec3 gradient = {real(1), divide(multiply_add(turned.w, turned.z, turned.x * turned.y), n),
                           divide(multiply_add(turned.x, turned.z, -turned.w * turned.y), n)};
    const real angle = 2 * arc_tangent2(turned.x, turned.w);
    const bool low = angle - lower < upper - angle;
    ball_row(world, row, rates, BALL_ROW_TWIST, low ? angle - lower : upper - angle, low ? gradient : -gradient, h, b);
}

// The rows of the ball whose first dof is j.
SIM_FUNCTION BallRows ball_rows(const Topology& t, const World& world, int j, const StepOptions& options) {
    BallRows b = {};
    if (is_prescribed(t, j)) return b;
    const ModelView& model = world.model;
    const int row = world.dof(t, j), joint = world.joint(t, t.dof_link(j));
    const real h = real(options.dt);
    const quat q = load_quat(&world.memory.q[t.dof_coord(j)]);
    const vec3 rates = {world.memory.qd[j], world.memory.qd[j + 1], world.memory.qd[j + 2]};
    if (is_finite(model.joint_angle_limit[joint])) {
        const vec3 turn = rotation_vector(q);
        const real angle = length(turn);
        ball_row(world, row, rates, BALL_ROW_ANGLE, model.joint_angle_limit[joint] - angle, -normalize(turn), h, b);
    }
    for (int k = 0; k < 2; ++k) {
        const real limit = model.joint_swing_limit[2 * joint + k];
        if (is_finite(limit)) swing_row(world, row, rates, q, BALL_ROW_SWING_Y + k, limit, h, b);
    }
    const real lower = model.joint_twist_limit[2 * joint], upper = model.joint_twist_limit[2 * joint + 1];
    if (is_finite(lower) || is_finite(upper)) twist_row(world, row, rates, q, lower, upper, h, b);
    return b;
}

// ---- their cost as a function of the acceleration ----------------------------------------------------------------

struct RowResponse {
    real force, curvature;
};

// Force -weight (a - reference) kept in [low, high], and curvature of the cost where it is inside. Selects of one
// condition each, which compilers make for a block at once.
SIM_INLINE void add_bounded_row(real weight, real reference, real low, real high, real a, RowResponse& r) {
    const real f = weight * (reference - a);
    const bool below = f <= low, above = f >= high;
    const real kept = below ? low : above ? high : f;
    const real not_below = below ? real(0) : weight, inside = above ? real(0) : not_below;
    r.force += weight > 0 ? kept : real(0);
    r.curvature += weight > 0 ? inside : real(0);
}

// The interval of the force of a row with a bound, or of one without.
template <int row>
SIM_INLINE real lowest_force(real bound) {
    return row < DOF_ROWS_BOUNDED ? -bound : row == ROW_LOWER || row == ROW_SLOWEST ? real(0) : -infinity<real>();
}

template <int row>
SIM_INLINE real highest_force(real bound) {
    return row < DOF_ROWS_BOUNDED ? bound : row == ROW_LOWER || row == ROW_SLOWEST ? infinity<real>() : real(0);
}

// x^2/(2 R) where the force is inside its bounds, linear outside: its negative gradient is the force. Zero where a
// one-sided row does not push.
template <int row>
SIM_INLINE real dof_row_cost(real weight, real reference, real bound, real a) {
    const real x = a - reference, f = -weight * x;
    const bool below = f <= lowest_force<row>(bound), above = f >= highest_force<row>(bound);
    const real end = below ? -bound : bound;
    const real outside = row < DOF_ROWS_BOUNDED ? -end * multiply_add(real(0.5), divide(end, weight), x) : real(0);
    const real not_below = below ? outside : real(0.5) * weight * x * x, cost = above ? outside : not_below;
    return weight > 0 ? cost : real(0);
}

// Calls f(row) for the rows that some dof has, in order; `row` is a constant.
template <int row>
struct RowNumber {
    static constexpr int value = row;
};

template <class F>
SIM_INLINE void for_present_rows(const DofRows& rows, F f) {
    if (rows.has(ROW_FRICTION)) f(RowNumber<ROW_FRICTION>());
    if (rows.has(ROW_DRIVE)) f(RowNumber<ROW_DRIVE>());
    if (rows.has(ROW_LOWER)) f(RowNumber<ROW_LOWER>());
    if (rows.has(ROW_UPPER)) f(RowNumber<ROW_UPPER>());
    if (rows.has(ROW_SLOWEST)) f(RowNumber<ROW_SLOWEST>());
    if (rows.has(ROW_FASTEST)) f(RowNumber<ROW_FASTEST>());
}

template <int row>
SIM_INLINE void add_dof_row(const DofRows& rows, int j, real a, RowResponse& r) {
    const int at = row * rows.stride + j;
    const real bound = row < DOF_ROWS_BOUNDED ? rows.bound[at] : real(0);
    add_bounded_row(rows.weight[at], rows.reference[at], lowest_force<row>(bound), highest_force<row>(bound), a, r);
}

SIM_FUNCTION RowResponse dof_response(const DofRows& rows, int j, real a) {
    RowResponse r = {0, 0};
    for_present_rows(rows, [&](auto row) { add_dof_row<row.value>(rows, j, a, r); });
    return r;
}

SIM_FUNCTION real dof_cost(const DofRows& rows, int j, real a) {
    real cost = 0;
    for_present_rows(rows, [&](auto number) {
        constexpr int row = number.value;
        const int at = row * rows.stride + j;
        cost += dof_row_cost<row>(rows.weight[at], rows.reference[at], row < DOF_ROWS_BOUNDED ? rows.bound[at] : 0, a);
    });
    return cost;
}

// ---- the same for all n dofs by one lane, in blocks --------------------------------------------------------------

// What a row of a block of dofs is made of.
struct RowBlock {
    Block weight, reference, bound;

    template <int row>
    SIM_INLINE static RowBlock load(const DofRows& rows, RowNumber<row>, int b) {
        const int at = row * rows.stride + b;
        return {load_block(rows.weight + at), load_block(rows.reference + at),
                row < DOF_ROWS_BOUNDED ? load_block(rows.bound + at) : Block{}};
    }
};

SIM_FUNCTION void dof_responses(const DofRows& rows, int n, const real* a, real* force, real* curvature) {
    for (int b = 0; b < n; b += BLOCK) {
        store_block(force + b, Block{});
        store_block(curvature + b, Block{});
    }
    for_present_rows(rows, [&](auto number) {
        constexpr int row = number.value;
        for (int b = 0; b < n; b += BLOCK) {
            const RowBlock r = RowBlock::load(rows, number, b);
            const Block x = load_block(a + b);
            Block f = load_block(force + b), c = load_block(curvature + b);
            for (int i = 0; i < BLOCK; ++i) {
                RowResponse sum = {f.v[i], c.v[i]};
                const real low = lowest_force<row>(r.bound.v[i]), high = highest_force<row>(r.bound.v[i]);
                add_bounded_row(r.weight.v[i], r.reference.v[i], low, high, x.v[i], sum);
                f.v[i] = sum.force;
                c.v[i] = sum.curvature;
            }
            store_block(force + b, f);
            store_block(curvature + b, c);
        }
    });
}

SIM_FUNCTION void dof_costs(const DofRows& rows, int n, const real* a, real* cost) {
    for (int b = 0; b < n; b += BLOCK) store_block(cost + b, Block{});
    for_present_rows(rows, [&](auto number) {
        constexpr int row = number.value;
        for (int b = 0; b < n; b += BLOCK) {
            const RowBlock r = RowBlock::load(rows, number, b);
            const Block x = load_block(a + b);
            Block sum = load_block(cost + b);
            for (int i = 0; i < BLOCK; ++i)
                sum.v[i] += dof_row_cost<row>(r.weight.v[i], r.reference.v[i], r.bound.v[i], x.v[i]);
            store_block(cost + b, sum);
        }
    });
}

// Weight times residual of row k at the ball's acceleration, zero where the row does not push.
SIM_INLINE real ball_residual(const BallRows& b, int k, vec3 a) {
    if (!(b.weight[k] > 0)) return 0;
    const real x = dot(b.direction[k], a) - b.reference[k];
    return x < 0 ? x : real(0);
}

SIM_FUNCTION vec3 ball_force(const BallRows& b, vec3 a) {
    vec3 f = zero_vec3();
    for (int k = 0; k < BALL_ROWS; ++k) {
        const real x = ball_residual(b, k, a);
        if (x < 0) f = multiply_add(-b.weight[k] * x, b.direction[k], f);
    }
    return f;
}

SIM_FUNCTION sym33 ball_curvature(const BallRows& b, vec3 a) {
    sym33 h = zero_sym33();
    for (int k = 0; k < BALL_ROWS; ++k)
        if (ball_residual(b, k, a) < 0) h = multiply_add(b.weight[k], outer(b.direction[k]), h);
    return h;
}

SIM_FUNCTION real ball_cost(const BallRows& b, vec3 a) {
    real sum = 0;
    for (int k = 0; k < BALL_ROWS; ++k) {
        const real x = ball_residual(b, k, a);
        if (x < 0) sum = multiply_add(real(0.5) * b.weight[k] * x, x, sum);
    }
    return sum;
}
