// Contacts that would let their shapes pass through each other within the step (continuous.h finds them ahead): where
// they act, and how far their lever lets a shape go on.
#pragma once

#include "cone.h"

// Where a contact is met on the way: from the reference point of the link's tree to a point of the link (in its frame),
// when it has moved on for `time`.
SIM_STAGE vec3 arm_ahead(const Topology& t, const World& world, int link, vec3 point, real time) {
    if (link == 0) return point;
    const vec3 com = load_vec3(&world.model.body_com[3 * world.body(t, link)]);
    const vec3 from_com = rotate(contact_pose(world.memory.link_pose[link]).q, point - com);
    const quat turn = quat_from_rotation_vector(time * world.memory.link_velocity[link].angular);
    return world.memory.link_com[link] + rotate(turn, from_com);
}

// One of the two bodies of a contact along its normal.
struct StoppedBody {
    vec3 arm;       // to the contact, from the reference point
    vec3 com;       // to the centre of mass
    real linear;    // inverse mass
    sym33 angular;  // inverse inertia: that of a free body, or the mean of what a link shows at the reference pose
    Motion velocity;

    // How much faster, along n, a unit impulse along n at the contact makes a point, for turning alone.
    SIM_FUNCTION real yield(vec3 point, vec3 n) const {
        return dot(cross(point - com, n), angular * cross(arm - com, n));
    }
};

SIM_STAGE StoppedBody stopped_body(const Topology& t, const World& world, int link, vec3 arm) {
    StoppedBody b = {arm, world.memory.link_com[link], 0, zero_sym33(), world.memory.link_velocity[link]};
    if (link == 0) return b;
    const int body = world.body(t, link);
    const real* weight = &world.model.body_inverse_weight[2 * body];
    b.linear = weight[0];
    b.angular = diagonal(weight[1] * vec3{1, 1, 1});
    if ((t.link_flags(link) & LINK_SINGLE_FREE_BODY) == 0 || !(weight[1] > 0)) return b;
    const sym33 inertia = symmetric(load_mat33(&world.model.body_inertia[9 * body]));
    const real scale = reciprocal(trace(inertia));
    const mat33 axes = mat33_from_quat(contact_pose(world.memory.link_pose[link]).q);
    b.angular = rotate_symmetric(axes, scale * inverse(scale * inertia));
    return b;
}

// The part s of its lever with which the smaller body is to be stopped. A stop beside its centre turns it, and its
// middle goes on: a contact that closes with q + s r above what ends in touch gets the impulse
//     (q + s r) / (W + s^2 A + s f),
// W the inverse inertia without the lever, A what the lever adds, f what friction's turning may take; that slows the
// middle by W + s B times as much. s is the largest up to which this is the speed g that the middle has too much.
SIM_FUNCTION real lever_part(real q, real r, real g, real w, real a, real b, real f) {
    const auto above = [&](real s) {
        return g * multiply_add(s, multiply_add(s, a, f), w) - multiply_add(s, r, q) * multiply_add(s, b, w);
    };
    if (!(g > 0 && above(1) > 0)) return 1;
    // the smallest root of square s^2 + linear s - below, below >= 0
    const real below = w * (q - g), square = multiply_add(g, a, -r * b), linear = g * f - multiply_add(q, b, r * w);
    if (!(below > 0)) return 0;
    const real root = square_root(maximum(multiply_add(linear, linear, 4 * square * below), real(0)));
    return minimum(divide(2 * below, linear + root), real(1));
}

// A contact that is stopped within the step of h: how far apart it is, its velocity, and the most friction there may
// be.
struct StoppedContact {
    real apart, v, h, friction;
};

// How fast the middle of `own`'s shape comes nearer to `other`, which lies towards n.
SIM_STAGE real speed_of_middle(vec3 middle, vec3 n, const StoppedBody& other, const StoppedBody& own) {
    const vec3 beside = other.arm + (middle - own.arm);
    return dot(n, velocity_at(own.velocity, middle) - velocity_at(other.velocity, beside));
}

// Shortens the lever of `own`, so that the ball inside of its shape, about `middle`, does not pass through the surface
// of `other` within the step: it has `room` until then, and comes nearer with `speed`. n: towards the other.
SIM_STAGE void shorten_lever(real room, real speed, vec3 middle, vec3 n, const StoppedBody& other, StoppedContact& s,
                             StoppedBody& own) {
    const real weight = own.linear + other.linear + other.yield(other.arm, n);
    const real of_centre = dot(n, velocity_at(own.velocity, own.com) - velocity_at(other.velocity, other.arm));
    const vec3 lever = own.arm - own.com, along = dot(n, lever) * n;
    const real rubbed = s.friction * length(lever) * length(own.angular * cross(lever, n));
    if (speed * s.h > room) s.apart = minimum(s.apart, room);
    const real part = lever_part(of_centre - divide(s.apart, s.h), -s.v - of_centre, speed - divide(room, s.h), weight,
                                 own.yield(own.arm, n), own.yield(middle, n), rubbed);
    own.arm = own.com + along + part * (lever - along);
}

// The friction against a slip: Coulomb's, of a pair whose second tangent has another friction that of the ellipse.
SIM_FUNCTION real friction_against(const ContactRows& c, vec3 slip, real friction) {
    const real speed = length(slip), first = dot(c.tangent, slip), second = dot(c.second_tangent(), slip);
    if (!(speed > SMALLEST_SEPARATION)) return friction;
    return friction * divide(square_root(multiply_add(first, first, second * second)), speed);
}

// The damping of slip (1/s) that friction can give while a contact is stopped with acceleration `stop`, by Coulomb's
// law for the two bodies alone; at most what ends the slip within the step h, as it does where nothing yields along the
// normal. More than that asked of it would lift the contact off: in the convex problem what slips against a row's
// reference also parts.
SIM_STAGE real slip_damping(const StoppedBody& a, const StoppedBody& b, vec3 n, vec3 slip, real friction, real stop,
                            real h) {
    const real speed = length(slip), weight = a.linear + b.linear;
    if (!(speed > SMALLEST_SEPARATION)) return reciprocal(h);
    const vec3 along = reciprocal(speed) * slip;
    const real given = friction * stop * (weight + a.yield(a.arm, along) + b.yield(b.arm, along));
    const real asked = speed * (weight + a.yield(a.arm, n) + b.yield(b.arm, n));
    return given * h < asked ? divide(given, asked) : reciprocal(h);
}

// The same of a contact that bounces off where it is, with acceleration `stop`. Within the one step of a bounce all of
// its friction acts: a damping of 1/s that does not grow as the step shrinks would let it slip on.
SIM_STAGE real slip_damping_at(const Topology& t, const World& world, const ContactRows& c, real stop, real h) {
    const StoppedBody a = stopped_body(t, world, c.link0, c.arm0), b = stopped_body(t, world, c.link1, c.arm1);
    const vec3 v = velocity_at(b.velocity, b.arm) - velocity_at(a.velocity, a.arm);
    const vec3 slip = v - dot(c.normal, v) * c.normal;
    return slip_damping(a, b, c.normal, slip, friction_against(c, slip, c.friction), stop, h);
}

// What becomes of the rows of a contact that stops.
struct ContactStop {
    bool stops;
    real slip_damping;  // 1/s
    vec3 v;             // the relative velocity, as the rows see it
};

// Is the contact to be looked at by stop_contact? `v`: at the contact's midpoint.
SIM_INLINE bool may_stop(const ModelView& model, const Contact& contact, real past, real v, real h) {
    const real deep = -multiply_add(h, v, past);
    return contact.time > 0 ||
           (deep > 0 && deep > known_depth(model, contact.shape0, contact.shape1));
}

// Does contact i of a world meet a tree that another pair touches as well? Nothing goes on through what no force moves.
SIM_NOINLINE bool is_met_elsewhere(const Topology& t, const ContactMemory& contacts, int count, int i) {
    const Contact& own = contacts[i];
    const auto shares_tree = [&](int link, int other) {
        return is_movable(t, link) && is_movable(t, other) && t.link_root(link) == t.link_root(other);
    };
    for (int k = 0; k < count; ++k) {
        const Contact& c = contacts[k];
        if (c.shape0 == own.shape0 && c.shape1 == own.shape1) continue;
        if (!(c.time > 0 || c.distance < c.margin)) continue;
        if (shares_tree(own.link0, c.link0) || shares_tree(own.link0, c.link1) || shares_tree(own.link1, c.link0) ||
            shares_tree(own.link1, c.link1))
            return true;
    }
    return false;
}

// A contact stops only if it sinks in by at least this part of the thickness within the step: what lies deep, and what
// sinks slowly, is left to its compliance.
constexpr real STOPPED_PART = real(0.0625);

// Looks at contact i of a world, which is `past` its margin (before its arms are settled) and approaches. Would it end
// the step deeper than half of what its shapes are thick, or the middle of the smaller one beyond the surface of the
// other by as much, so that it might come out on the other side? Such a contact stops at the surface, or bounces off;
// all others are left to their compliance, and to what they do when they touch. The contact acts where its points are
// at its time, with the smaller body's lever shortened if need be. The restitution of its material becomes the part of
// the approach speed with which it parts, negative where it still comes nearer.
SIM_STAGE ContactStop stop_contact(const Topology& t, const World& world, const ContactMemory& contacts, int count,
                                   int i, real past, ContactMaterial& m, const StepOptions& options, ContactRows& c) {
    const ModelView& model = world.model;
    const Contact& contact = contacts[i];
    StoppedBody a = stopped_body(t, world, c.link0, c.arm0), b = stopped_body(t, world, c.link1, c.arm1);
    if (contact.time > 0) {
        a.arm = arm_ahead(t, world, c.link0, contact.point0, contact.time);
        b.arm = arm_ahead(t, world, c.link1, contact.point1, contact.time);
    }
    const vec3 n = c.normal;
    const auto velocity = [&] { return velocity_at(b.velocity, b.arm) - velocity_at(a.velocity, a.arm); };
    StoppedContact s = {maximum(past, real(0)), dot(n, velocity()), real(options.dt),
                        maximum(m.friction, m.static_friction)};
    const bool second = model.shape_radius[contact.shape1] <= model.shape_radius[contact.shape0];
    const int shape = second ? contact.shape1 : contact.shape0, link = second ? c.link1 : c.link0;
    const vec3 towards = second ? -n : n, origin = load_vec3(&model.shape_xform[7 * shape]);
    const vec3 middle = arm_ahead(t, world, link, origin, contact.time);
    const vec3 now =
        arm_ahead(t, world, link, second ? contact.point1 : contact.point0, 0) - arm_ahead(t, world, link, origin, 0);
    const real room = past + dot(towards, now) - absolute(model.shape_inradius[shape]);
    const real speed = speed_of_middle(middle, towards, second ? a : b, second ? b : a);
    const real thickness = pair_thickness(model, contact.shape0, contact.shape1), further = -s.h * s.v;
    const real least = STOPPED_PART * thickness, way = speed * s.h;
    // with MuJoCo's integrators what lies deep but is not fast is left as MuJoCo leaves it
    const bool counts_depth = contact.time > 0 || options.integrator == INTEGRATOR_IMPLICIT;
    const bool sinks = further - (counts_depth ? past : s.apart) > thickness && further - s.apart > least;
    const bool passes = counts_depth && way - room > thickness && way - maximum(room, real(0)) > least;
    if (!sinks && !passes) return {false, 0, zero_vec3()};
    shorten_lever(maximum(room, real(0)), speed, middle, towards, second ? a : b, s, second ? b : a);
    c.arm0 = a.arm;
    c.arm1 = b.arm;
    const vec3 v = velocity();
    const real vn = dot(n, v);
    const bool bounces = m.restitution > 0 && -vn > options.restitution_speed;
    if (!bounces) m.restitution = vn < 0 ? divide(s.apart, s.h * vn) : real(0);
    const vec3 slip = v - vn * n, of_rows = {vn, dot(c.tangent, v), dot(c.second_tangent(), v)};
    const real friction = length(slip) < options.stiction_speed ? m.static_friction : m.friction;
    const real damping = slip_damping(a, b, n, slip, friction_against(c, slip, friction),
                                      -divide((1 + m.restitution) * vn, s.h), s.h);
    // Where a tree is met in several directions what slips on against one lifts off another. There a contact has no
    // more friction than that with which standing still satisfies its rows, and no energy comes in. Surfaces and fields
    // may be met so by one pair.
    const real slips = multiply_add(-damping, s.h, real(1)) * length(slip) * s.h;
    if (bounces || !(friction * slips > s.apart)) return {true, damping, of_rows};
    const bool is_surface =
        !(minimum(model.shape_inradius[contact.shape0], model.shape_inradius[contact.shape1]) > 0);
    if (is_surface || is_met_elsewhere(t, contacts, count, i))
        m.friction = m.static_friction = divide(s.apart, slips);
    return {true, damping, of_rows};
}
