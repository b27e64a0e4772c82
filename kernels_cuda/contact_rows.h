// The rows of the contacts: their weights and references, J x without a stored Jacobian (the relative velocity of the
// two links at the contact, from a velocity pass over the tree), and J^T f as wrenches on the links.
//
// Regularisation R and reference acceleration of a contact follow constraint.h with A the sum of the two bodies'
// inverse weights, and MuJoCo's documentation for the cones: an elliptic contact's tangents have R_t = R_n / impratio;
// an edge of a pyramid has R = A (1 - d)/d (1 + F^2) 2 F^2 / impratio.
#pragma once

#include "cone.h"
#include "constraint.h"
#include "contact_stops.h"

// Impedance of the friction of a contact with a stiffness in N/m: nearly rigid, and no softer than its normal.
#define SIM_STIFF_CONTACT_TANGENT real(0.999)

// Velocity of the second link relative to the first at the contact: (normal, tangent, scaled second tangent).
SIM_FUNCTION vec3 relative_velocity(const ContactRows& c, const Motion* links) {
    const Motion a = links[c.link0], b = links[c.link1];
    const vec3 v = (b.linear + cross(b.angular, c.arm1)) - (a.linear + cross(a.angular, c.arm0));
    return {dot(c.normal, v), dot(c.tangent, v), dot(c.second_tangent(), v)};
}

// What the normal row asks for.
struct NormalRow {
    real regularisation;     // R, before a pyramid shares it among its edges
    real reference;          // acceleration
    real tangent_damping;    // the tangents' reference is -damping v
    real tangent_regularisation;
};

// f = k x (1 + c x') with the penetration x and its rate, linear in v+ about the start of the step: stiffness
// k and damping k c x0 of a spring evaluated at the end of the step.
SIM_FUNCTION void stiff_normal(const ContactMaterial& m, real past, real v, real inverse_inertia, real h,
                               NormalRow& n) {
    const real k = m.stiffness, damping = k * m.dissipation * maximum(-past, real(0));
    const real weight = h * multiply_add(h, k, damping);
    n.regularisation = reciprocal(weight);
    n.reference = -divide(multiply_add(k, multiply_add(h, v, past), damping * v), weight);
    n.tangent_damping = reciprocal(h);
    n.tangent_regularisation = minimum(n.regularisation,
                                       reciprocal(row_weight(SIM_STIFF_CONTACT_TANGENT, inverse_inertia)));
}

// Does a contact that approaches with -v bounce off within the step?
SIM_INLINE bool bounces_off(const ContactMaterial& m, real v, const StepOptions& options) {
    return m.restitution > 0 && -v > options.restitution_speed;
}

// `stops`: the contact is one of contact_stops.h, which sets its restitution.
SIM_FUNCTION NormalRow normal_row(const ContactMaterial& m, real past, real v, real inverse_inertia, bool stops,
                                  const StepOptions& options) {
    const real h = real(options.dt);
    NormalRow n;
    if (m.stiffness > 0) {
        stiff_normal(m, past, v, inverse_inertia, h, n);
    } else {
        const real d = impedance(m.impedance, past);
        const ReferenceGains gains = reference_gains(m.reference, m.impedance[1], h);
        n.regularisation = maximum(divide((1 - d) * inverse_inertia, d), SIM_LEAST_REGULARISATION);
        n.reference = multiply_add(-gains.damping, v, -gains.stiffness * d * past);
        n.tangent_damping = gains.damping;
        n.tangent_regularisation = n.regularisation;
    }
    if (bounces_off(m, v, options) || stops) {
        n.reference = -divide((1 + m.restitution) * v, h);
        n.regularisation = (1 - SIM_MOST_IMPEDANCE) * divide(inverse_inertia, SIM_MOST_IMPEDANCE);
        n.tangent_regularisation = minimum(n.tangent_regularisation, n.regularisation);
    }
    if (m.tangent_reference[0] > 0 && options.cone == CONE_ELLIPTIC)
        n.tangent_damping = reference_gains(m.tangent_reference, m.impedance[1], h).damping;
    return n;
}

// Weights of an elliptic contact or of the edges of a pyramid.
SIM_FUNCTION void contact_weights(const ContactMaterial& m, const NormalRow& n, const StepOptions& options,
                                  ContactRows& c) {
    const bool slides = m.dimension > 1 && c.friction > 0;
    c.normal_weight = reciprocal(n.regularisation);
    c.tangent_weight = slides ? options.impratio * reciprocal(n.tangent_regularisation) : real(0);
    if (slides && options.cone == CONE_PYRAMIDAL) {
        const real f2 = c.friction * c.friction;
        const real of_impedance = n.regularisation * (1 + f2) * 2 * divide(f2, options.impratio);
        const real edge = m.stiffness > 0 ? 4 * n.regularisation : of_impedance;
        c.normal_weight = reciprocal(maximum(edge, SIM_LEAST_REGULARISATION));
        c.tangent_weight = c.normal_weight;
    }
}

// What turning of the links yields at a contact.
SIM_NOINLINE real turning_inverse_inertia(const Topology& t, const World& world, const ContactRows& c) {
    real sum = 0;
    for (int side = 0; side < 2; ++side) {
        const int link = side == 0 ? c.link0 : c.link1;
        if (link == 0) continue;
        const vec3 lever = (side == 0 ? c.arm0 : c.arm1) - world.memory.link_com[link];
        sum += world.model.body_inverse_weight[2 * world.body(t, link) + 1] * length_squared(lever);
    }
    return sum;
}

// m^2: a centre of mass that yields this part of what turning yields a metre off is held, as by a hinge 0.1 mm from it.
constexpr real HELD_SQUARED = real(1e-8);

// The inverse inertia that the links of a contact show it: what their centres of mass yield, as in MuJoCo; where these
// are held, what turning yields at the contact, without which it would be endlessly stiff.
SIM_FUNCTION real inverse_inertia_at(const Topology& t, const World& world, const ContactRows& c) {
    real moving = 0, turning = 0;
    if (c.link0 > 0) {
        const real* weight = &world.model.body_inverse_weight[2 * world.body(t, c.link0)];
        moving += weight[0], turning += weight[1];
    }
    if (c.link1 > 0) {
        const real* weight = &world.model.body_inverse_weight[2 * world.body(t, c.link1)];
        moving += weight[0], turning += weight[1];
    }
    return moving > HELD_SQUARED * turning ? moving : maximum(moving, turning_inverse_inertia(t, world, c));
}

// Rows of contact i of a world; `residual` is left at minus the reference acceleration. A contact farther than its
// margin that is not stopped, or one between links that no force moves, exerts nothing. `look`: whether it may be
// stopped, or bounces off; only if `looking` its rows then are right.
template <bool looking>
SIM_FUNCTION ContactRows rows_of_contact(const Topology& t, const World& world, const ContactMemory& contacts,
                                         int count, int i, const StepOptions& options, bool& look) {
    ContactRows c = {};
    const Contact& contact = contacts[i];
    const bool moves0 = is_movable(t, contact.link0), moves1 = is_movable(t, contact.link1);
    const real past = contact.distance - contact.margin;
    if (!(moves0 || moves1)) return c;
    c.normal = contact.normal;
    c.tangent = contact.tangent;
    c.link0 = contact.link0;
    c.link1 = contact.link1;
    c.arm0 = contact.point - world.reference(t, contact.link0);
    c.arm1 = contact.point - world.reference(t, contact.link1);
    c.mover = moves0 && moves1 ? MOVES_BOTH : moves0 ? MOVES_FIRST : MOVES_SECOND;
    ContactMaterial m = contact_material(world.model, contact.shape0, contact.shape1, contact.parameter);
    c.set_second_tangent(m.friction_ratio);
    vec3 v = relative_velocity(c, world.memory.link_velocity);
    look = may_stop(world.model, contact, past, v.x, real(options.dt));
    ContactStop stop = {false, 0, v};
    if (looking && look) stop = stop_contact(t, world, contacts, count, i, past, m, options, c);
    if (past >= 0 && !stop.stops) return c;  // what is not a number goes on, to be seen
    if (stop.stops) v = stop.v;
    c.friction = tangent_length(v) < options.stiction_speed ? m.static_friction : m.friction;
    NormalRow n = normal_row(m, past, v.x, inverse_inertia_at(t, world, c), stop.stops, options);
    const bool bounces = !stop.stops && bounces_off(m, v.x, options);
    look = look || bounces;
    if (looking && bounces) n.tangent_damping = slip_damping_at(t, world, c, n.reference, real(options.dt));
    if (stop.stops) n.tangent_damping = stop.slip_damping;
    contact_weights(m, n, options, c);
    c.residual = {-n.reference, n.tangent_damping * v.y, n.tangent_damping * v.z};
    return c;
}

SIM_INLINE bool joins_movers(const ContactRows& c) { return c.normal_weight > 0 && c.mover == MOVES_BOTH; }

// Rows of the lane's contacts that may be stopped or bounce off: apart from the usual way, whose code stays short.
// Returns whether one of them joins two moving links.
SIM_NOINLINE bool stop_contacts(Lanes& lanes, const Topology& t, const World& world, const ContactMemory& contacts,
                                int count, const StepOptions& options, ContactRowList& rows) {
    bool coupled = false;
    for_lanes(i, 0, count) {
        bool look = false;
        const ContactRows c = rows_of_contact<true>(t, world, contacts, count, i, options, look);
        if (!look) continue;
        rows[i] = c;
        coupled = coupled || joins_movers(c);
    }
    return coupled;
}

// Rows of the lane's contacts. Returns whether one of them joins two moving links.
SIM_FUNCTION bool build_contact_rows(Lanes& lanes, const Topology& t, const World& world,
                                     const ContactMemory& contacts, int count, const StepOptions& options,
                                     ContactRowList& rows) {
    bool coupled = false, looks = false;
    for_lanes(i, 0, count) {
        bool look = false;
        rows[i] = rows_of_contact<false>(t, world, contacts, count, i, options, look);
        coupled = coupled || joins_movers(rows[i]);
        looks = looks || look;
    }
    if (looks) coupled = stop_contacts(lanes, t, world, contacts, count, options, rows) || coupled;
    return coupled;
}

// The contacts of a world and the links that they touch.
struct ContactSet {
    int count;
    int touched;   // links with a contact on them or behind them
    bool coupled;  // does a contact that pushes join two moving links?
};

// Lists in s.touched the links on the way from a contact to the root; only these take part in what contacts do.
// Returns how many. Ends with a barrier.
SIM_FUNCTION int list_touched(Lanes& lanes, const Topology& t, const SolverMemory& s, int count) {
    for_lanes(i, 0, t.links()) s.is_touched[i] = 0;
    lanes.sync();
    for_lanes(k, 0, count) {  // lanes that meet on the way write the same
        if (!(s.contact_rows[k].normal_weight > 0)) continue;
        for (int i = s.contact_rows[k].link0; i > 0; i = t.link_parent(i)) s.is_touched[i] = 1;
        for (int i = s.contact_rows[k].link1; i > 0; i = t.link_parent(i)) s.is_touched[i] = 1;
    }
    lanes.sync();
    const int total = lanes.scan(
        t.links(), [&](int i) { return s.is_touched[i]; },
        [&](int i, int before) {
            if (s.is_touched[i]) s.touched[before] = i;
        });
    lanes.sync();
    return total;
}

// Visits the touched links outward or inward, N numbers each: f(link, k) by the lane that owns number k. Ends with a
// barrier.
template <int N, class F>
SIM_INLINE void for_touched_outward(Lanes& lanes, const SolverMemory& s, int touched, F f) {
    for_lanes(k, 0, N)
        for (int i = 0; i < touched; ++i) f(s.touched[i], k);
    lanes.sync();
}

template <int N, class F>
SIM_INLINE void for_touched_inward(Lanes& lanes, const SolverMemory& s, int touched, F f) {
    for_lanes(k, 0, N)
        for (int i = touched - 1; i >= 0; --i) f(s.touched[i], k);
    lanes.sync();
}

// N numbers of each touched link become zero. Ends with a barrier.
template <int N>
SIM_FUNCTION void clear_touched(Lanes& lanes, const SolverMemory& s, int touched, real* values) {
    if (lanes.count() == 1) {
        for (int i = 0; i < touched; ++i) clear_numbers<N>(values + N * s.touched[i]);
        return;
    }
    for_touched_outward<N>(lanes, s, touched, [&](int i, int k) { values[N * i + k] = 0; });
}

// Velocities of the touched links for rates x, about the reference points, into link_acceleration. Ends with a barrier.
SIM_FUNCTION const Motion* link_motions(Lanes& lanes, const Topology& t, World& world, const SolverMemory& s,
                                        int touched, const real* x) {
    WorldMemory& m = world.memory;
    real* out = reinterpret_cast<real*>(m.link_acceleration);
    const real* motion = reinterpret_cast<const real*>(m.dof_motion);
    if (lanes.lane() == 0) m.link_acceleration[0] = zero_motion();
    lanes.sync();
    if (lanes.count() == 1) {
        for (int n = 0; n < touched; ++n) {
            const int i = s.touched[n], first = t.link_dof_start(i), end = first + t.link_dof_count(i);
            Motion v = m.link_acceleration[t.link_parent(i)];
            for (int j = first; j < end; ++j) v = multiply_add(x[j], m.dof_motion[j], v);
            m.link_acceleration[i] = v;
        }
        return m.link_acceleration;
    }
    for_touched_outward<6>(lanes, s, touched, [&](int i, int c) {
        real v = out[6 * t.link_parent(i) + c];
        const int first = t.link_dof_start(i), end = first + t.link_dof_count(i);
        for (int j = first; j < end; ++j) v = multiply_add(x[j], motion[6 * j + c], v);
        out[6 * i + c] = v;
    });
    return m.link_acceleration;
}

// J x of every contact into its `change`. Ends with a barrier.
SIM_STAGE void contact_changes(Lanes& lanes, const Topology& t, World& world, const SolverMemory& s,
                               const ContactSet& set, const real* x) {
    const Motion* links = link_motions(lanes, t, world, s, set.touched, x);
    const int count = set.count;
    for_lanes(i, 0, count) {
        ContactRows& c = s.contact_rows[i];
        if (c.normal_weight > 0) c.change = relative_velocity(c, links);
    }
    lanes.sync();
}

// Sums N numbers of each touched link over its subtree, in place. Ends with a barrier.
template <int N>
SIM_FUNCTION void sum_touched_subtrees(Lanes& lanes, const Topology& t, const SolverMemory& s, int touched,
                                       real* values) {
    if (lanes.count() == 1) {
        for (int n = touched - 1; n >= 0; --n) {
            const int i = s.touched[n], parent = t.link_parent(i);
            if (parent > 0) add_numbers<N>(values + N * parent, values + N * i);
        }
        return;
    }
    for_touched_inward<N>(lanes, s, touched, [&](int i, int k) {
        const int parent = t.link_parent(i);
        if (parent > 0) values[N * parent + k] += values[N * i + k];
    });
}

// Visits the contacts in order, N numbers each: write(i, numbers) by one lane for contact i, then add(i, numbers, part)
// by the lanes that own the parts; part(sum, numbers) adds what is the lane's of OWNED numbers to a sum. Ends with a
// barrier.
template <int N, int OWNED, class Write, class Add>
SIM_FUNCTION void add_contacts(Lanes& lanes, real* chunk, int count, Write write, Add add) {
    if (lanes.count() == 1) {
        for (int i = 0; i < count; ++i) {
            real numbers[N];
            write(i, numbers);
            add(i, numbers, [](real* sum, const real* part) { add_numbers<OWNED>(sum, part); });
        }
        return;
    }
    for (int base = 0; base < count; base += CONTACT_CHUNK) {
        const int here = count - base < CONTACT_CHUNK ? count - base : CONTACT_CHUNK;
        for_lanes(i, 0, here) write(base + i, chunk + N * i);
        lanes.sync();
        for_lanes(k, 0, OWNED)
            for (int i = 0; i < here; ++i)
                add(base + i, chunk + N * i, [&](real* sum, const real* part) { sum[k] += part[k]; });
        lanes.sync();
    }
}

// Force of the contact on its second link, in the world.
SIM_FUNCTION vec3 contact_world_force(const ContactRows& c, int cone) {
    const vec3 f = contact_force(c, c.residual, cone);
    return multiply_add(f.x, c.normal, multiply_add(f.y, c.tangent, f.z * c.second_tangent()));
}

SIM_INLINE void store_force(real* out, vec3 force, vec3 moment) {
    store_vec3(out, force);
    store_vec3(out + 3, moment);
}

// J^T f of the contacts as wrenches on the touched links into link_force, summed over subtrees. Ends with a barrier.
SIM_FUNCTION void contact_wrenches(Lanes& lanes, const Topology& t, World& world, const SolverMemory& s,
                                   const ContactSet& set, int cone) {
    real* force = reinterpret_cast<real*>(world.memory.link_force);
    clear_touched<6>(lanes, s, set.touched, force);
    add_contacts<12, 6>(
        lanes, s.chunk, set.count,
        [&](int i, real* out) {
            const ContactRows& c = s.contact_rows[i];
            const vec3 f = contact_world_force(c, cone);
            store_force(out, -f, -cross(c.arm0, f));
            store_force(out + 6, f, cross(c.arm1, f));
        },
        [&](int i, const real* wrenches, auto part) {
            const ContactRows& c = s.contact_rows[i];
            if (!(c.normal_weight > 0)) return;
            if (c.link0 > 0) part(force + 6 * c.link0, wrenches);
            if (c.link1 > 0) part(force + 6 * c.link1, wrenches + 6);
        });
    sum_touched_subtrees<6>(lanes, t, s, set.touched, force);
}

// Curvature of the contact in world axes: F^T W F with the rows of F the normal and the two tangents.
SIM_FUNCTION sym33 world_curvature(const ContactRows& c, const ConeCurvature& w) {
    const vec3 n = c.normal, a = c.tangent, b = c.second_tangent();
    const vec3 rows[3] = {{n.x, a.x, b.x}, {n.y, a.y, b.y}, {n.z, a.z, b.z}};
    const vec3 weighted[3] = {w * rows[0], w * rows[1], w * rows[2]};
    const auto element = [&](int i, int j) {
        const vec3 f = rows[i], wf = weighted[j];
        return multiply_add(f.x, wf.x, multiply_add(f.y, wf.y, f.z * wf.z));
    };
    return {element(0, 0), element(1, 1), element(2, 2), element(0, 1), element(0, 2), element(1, 2)};
}

// Contacts with what does not move: 6x6 stiffnesses of the links, summed over subtrees. Ends with a barrier.
SIM_FUNCTION void contact_stiffnesses(Lanes& lanes, const Topology& t, World& world, const SolverMemory& s,
                                      const ContactSet& set, int cone) {
    static_assert(sizeof(SpatialStiffness) == 21 * sizeof(real), "21 numbers");
    real* stiffness = reinterpret_cast<real*>(s.link_stiffness);
    clear_touched<21>(lanes, s, set.touched, stiffness);
    add_contacts<21, 21>(
        lanes, s.chunk, set.count,
        [&](int i, real* out) {
            const ContactRows& c = s.contact_rows[i];
            const sym33 w = world_curvature(c, contact_curvature(c, c.residual, cone));
            const SpatialStiffness k = stiffness_at(w, c.mover == MOVES_FIRST ? c.arm0 : c.arm1);
            const real* numbers = reinterpret_cast<const real*>(&k);
            for (int n = 0; n < 21; ++n) out[n] = numbers[n];
        },
        [&](int i, const real* numbers, auto part) {
            const ContactRows& c = s.contact_rows[i];
            const int link = c.mover == MOVES_FIRST ? c.link0 : c.link1;
            if (c.normal_weight > 0 && c.mover != MOVES_BOTH) part(stiffness + 21 * link, numbers);
        });
    sum_touched_subtrees<21>(lanes, t, s, set.touched, stiffness);
}

// H += J^T W J of one contact between moving links, J over the dofs that move the point of one of them against that of
// the other: those behind one link alone, and where the points differ (contact_stops.h) those that turn both. Ends with
// a barrier.
SIM_FUNCTION void add_coupled_contact(Lanes& lanes, const Topology& t, World& world, const SolverMemory& s,
                                      const ContactRows& c, int cone) {
    const int last0 = last_dof(t, c.link0), last1 = last_dof(t, c.link1), stride = matrix_stride(t);
    const vec3 between = c.arm1 - c.arm0, second = c.second_tangent();
    const bool apart = dot(between, between) > 0;
    const auto moves = [&](int j) {
        const bool first = t.dof_in_path(last0, j), other = t.dof_in_path(last1, j);
        return first != other || (apart && first);
    };
    for_lanes(j, 0, t.dofs()) {
        if (!moves(j)) continue;
        const Motion m = world.memory.dof_motion[j];
        const bool of_first = t.dof_in_path(last0, j), of_second = t.dof_in_path(last1, j);
        const vec3 v = of_first && of_second ? cross(m.angular, between)
                                             : m.linear + cross(m.angular, of_second ? c.arm1 : c.arm0);
        const vec3 column = {dot(c.normal, v), dot(c.tangent, v), dot(second, v)};
        s.coupled_rows[j] = of_second ? column : -column;
    }
    lanes.sync();
    const ConeCurvature w = contact_curvature(c, c.residual, cone);
    for_lanes(j, 0, t.dofs()) {
        if (!moves(j)) continue;
        const vec3 x = s.coupled_rows[j];
        const vec3 wx = w * x;
        for (int i = 0; i <= j; ++i)
            if (moves(i)) s.hessian[j * stride + i] += dot(s.coupled_rows[i], wx);
    }
    lanes.sync();
}
