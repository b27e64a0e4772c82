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

// x^p on [0, 1]; the usual exponents without a logarithm.
SIM_FUNCTION real unit_power(real x, real p) {
    if (p == 1) return x;
    return p == 2 ? x * x : (x > 0 ? power(x, p) : real(0));
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
        if (x <= middle) y = divide(unit_power(x, exponent), unit_power(middle, exponent - 1));
        else y = 1 - divide(unit_power(1 - x, exponent), unit_power(1 - middle, exponent - 1));
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

SIM_FUNCTION void friction_row(const World& world, int row, real v, real h, DofRows& r) {
    const ModelView& model = world.model;
    r.friction_weight = r.friction_reference = r.friction_bound = 0;
    if (!(model.joint_friction[row] > 0)) return;
    const real* parameters = &model.joint_friction_impedance[5 * row];
    const ReferenceGains gains = reference_gains(&model.joint_friction_reference[2 * row], parameters[1], h);
    r.friction_weight = row_weight(impedance(parameters, real(0)), model.dof_inverse_weight[row]);
    r.friction_reference = -gains.damping * v;
    r.friction_bound = model.joint_friction[row];
}

// A drive under the implicit integrator whose effort is limited: weight h kd + h^2 kp, zero force at the reference.
SIM_FUNCTION void drive_row(const Topology& t, const World& world, const ControlView& control, int j,
                            const StepOptions& options, DofRows& r) {
    const int row = world.dof(t, j);
    r.drive_weight = r.drive_reference = r.drive_bound = 0;
    if (options.integrator != INTEGRATOR_IMPLICIT || !has_drive(world, row)) return;
    if (!is_finite(world.model.joint_effort_limit[row])) return;
    const real h = real(options.dt);
    const DriveEffort drive = drive_effort(t, world, control, j, h, h);
    r.drive_weight = drive.slope;
    r.drive_reference = divide(drive.effort, drive.slope);
    r.drive_bound = drive.limit;
}

// Rates kept inside [-limit, limit] at the end of the step: v + h a.
SIM_FUNCTION void speed_row(const World& world, int row, real v, real h, DofRows& r) {
    const real limit = world.model.joint_velocity_limit[row];
    r.speed_weight = r.slowest = r.fastest = 0;
    if (!is_finite(limit)) return;
    r.speed_weight = row_weight(SIM_MOST_IMPEDANCE, world.model.dof_inverse_weight[row]);
    r.slowest = divide(-limit - v, h);
    r.fastest = divide(limit - v, h);
}

SIM_FUNCTION DofRows dof_rows(const Topology& t, const World& world, const ControlView& control, int j,
                              const StepOptions& options) {
    DofRows r = {};
    if (is_prescribed(t, j)) return r;
    const int row = world.dof(t, j);
    const real h = real(options.dt), v = world.memory.qd[j];
    friction_row(world, row, v, h, r);
    drive_row(t, world, control, j, options, r);
    speed_row(world, row, v, h, r);
    if (t.dof_kind(j) < DOF_BALL_X) {
        const real q = world.memory.q[t.dof_coord(j)];
        const LimitRow lower = limit_row(world, row, q - world.model.joint_limit_lower[row], v, h);
        const LimitRow upper = limit_row(world, row, world.model.joint_limit_upper[row] - q, -v, h);
        r.lower_weight = lower.weight;
        r.lower_reference = lower.reference;
        r.upper_weight = upper.weight;
        r.upper_reference = -upper.reference;
    }
    const bool limited = r.lower_weight > 0 || r.upper_weight > 0 || r.speed_weight > 0;
    r.any = limited || r.friction_weight > 0 || r.drive_weight > 0;
    return r;
}

// ---- ball joints -------------------------------------------------------------------------------------------------

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

// Force -weight (a - reference) kept in [low, high]; curvature of the cost where it is inside.
SIM_INLINE void add_bounded_row(real weight, real reference, real low, real high, real a, RowResponse& r) {
    if (!(weight > 0)) return;
    const real f = weight * (reference - a);
    if (f <= low) {
        r.force += low;
    } else if (f >= high) {
        r.force += high;
    } else {
        r.force += f;
        r.curvature += weight;
    }
}

SIM_FUNCTION RowResponse dof_response(const DofRows& d, real a) {
    const real inf = infinity<real>();
    RowResponse r = {0, 0};
    if (!d.any) return r;
    add_bounded_row(d.friction_weight, d.friction_reference, -d.friction_bound, d.friction_bound, a, r);
    add_bounded_row(d.drive_weight, d.drive_reference, -d.drive_bound, d.drive_bound, a, r);
    add_bounded_row(d.lower_weight, d.lower_reference, 0, inf, a, r);
    add_bounded_row(d.upper_weight, d.upper_reference, -inf, 0, a, r);
    add_bounded_row(d.speed_weight, d.slowest, 0, inf, a, r);
    add_bounded_row(d.speed_weight, d.fastest, -inf, 0, a, r);
    return r;
}

// The cost whose negative gradient is the force: x^2/(2 R) where the force is inside its bounds, linear outside.
SIM_INLINE real bounded_row_cost(real weight, real reference, real low, real high, real a) {
    if (!(weight > 0)) return 0;
    const real x = a - reference, f = -weight * x;
    if (f <= low) return -low * multiply_add(real(0.5), divide(low, weight), x);
    if (f >= high) return -high * multiply_add(real(0.5), divide(high, weight), x);
    return real(0.5) * weight * x * x;
}

SIM_FUNCTION real dof_cost(const DofRows& d, real a) {
    if (!d.any) return 0;
    const real inf = infinity<real>();
    return bounded_row_cost(d.friction_weight, d.friction_reference, -d.friction_bound, d.friction_bound, a) +
           bounded_row_cost(d.drive_weight, d.drive_reference, -d.drive_bound, d.drive_bound, a) +
           bounded_row_cost(d.lower_weight, d.lower_reference, 0, inf, a) +
           bounded_row_cost(d.upper_weight, d.upper_reference, -inf, 0, a) +
           bounded_row_cost(d.speed_weight, d.slowest, 0, inf, a) +
           bounded_row_cost(d.speed_weight, d.fastest, -inf, 0, a);
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
