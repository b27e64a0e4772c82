// From the poses of a world's links to its contacts, in the order (pair, feature).
//
// One lane works one pair, or all of them one that takes long, and writes its contacts to the pair's own slots; a scan
// over the pairs then lists the slots in use. So neither the number nor the order of contacts depends on the lanes, and
// nothing can overflow.
#pragma once

#include "collide_box_box.h"
#include "collide_plane.h"
#include "collide_sphere_capsule.h"
#include "continuous.h"

// The first tangent: y, or z where |n.y| >= 0.5, made orthogonal to the normal; along `hint` where that is not zero and
// not along the normal.
SIM_FUNCTION vec3 contact_tangent(vec3 normal, vec3 hint) {
    const vec3 across = multiply_add(-dot(hint, normal), normal, hint);
    if (dot(across, across) > real(1e-6)) return normalize(across);
    const vec3 start = absolute(normal.y) < real(0.5) ? vec3{0, 1, 0} : vec3{0, 0, 1};
    return normalize(multiply_add(-dot(start, normal), normal, start));
}

// Takes the contacts of one pair from a routine into the pair's records, with point0 in the world.
struct ContactWriter {
    Contact* records;
    int capacity;
    int count;
    real reach;         // contacts at or beyond this distance are not kept
    vec3 tangent_hint;  // a direction that the routine prefers for the first tangent
    real time;          // of the contacts, see Contact
    const PairSweep* sweep;  // of a pair that is followed along its way; null: where it stands

    SIM_FUNCTION void operator()(int feature, vec3 point0, vec3 normal, real distance) {
        if (!(distance < reach && distance >= -REAL_MAX) || count == capacity) return;
        Contact& c = records[count++];
        c.point0 = point0;
        c.normal = normal;
        c.distance = distance;
        c.feature = feature;
        c.time = time;
    }

    SIM_FUNCTION void restart() { count = 0; }
};

// What the contacts of a pair have in common.
struct ContactPair {
    int shape0, shape1, link0, link1;
    int parameter;  // as of Contact
    real margin;
};

// Witness points of a contact that is met on the way are in the frames that the bodies have then; its distance is that
// of these points now.
SIM_STAGE void finish_contact_ahead(const PairSweep& s, const Transform& body0, const Transform& body1, Contact& c) {
    const vec3 point1 = multiply_add(c.distance, c.normal, c.point0);
    c.point0 = inverse_transform_point(moved_pose(s.body[0], body0, c.time), c.point0);
    c.point1 = inverse_transform_point(moved_pose(s.body[1], body1, c.time), point1);
    const vec3 now0 = transform_point(body0, c.point0), now1 = transform_point(body1, c.point1);
    c.distance = dot(c.normal, now1 - now0);
    c.point = real(0.5) * (now0 + now1);
}

// Fills in what the routine left of a contact: the tangent, and the witness points in the frames of the bodies.
SIM_INLINE void finish_contact(Contact& c, const ContactPair& pair, vec3 tangent_hint, const PairSweep* sweep,
                               const Transform& body0, const Transform& body1) {
    const vec3 point0 = c.point0, point1 = multiply_add(c.distance, c.normal, point0);
    c.tangent = contact_tangent(c.normal, tangent_hint);
    if (sweep && c.time > 0) {
        finish_contact_ahead(*sweep, body0, body1, c);
    } else {
        c.point0 = inverse_transform_point(body0, point0);
        c.point1 = inverse_transform_point(body1, point1);
        c.point = real(0.5) * (transform_point(body0, c.point0) + transform_point(body1, c.point1));
    }
    c.margin = pair.margin;
    c.shape0 = pair.shape0;
    c.shape1 = pair.shape1;
    c.link0 = pair.link0;
    c.link1 = pair.link1;
    c.parameter = pair.parameter;
}

// The same of all contacts of a pair; the poses of its links are given.
SIM_STAGE void finish_contacts(const ContactWriter& write, const ContactPair& pair, const Transform& link_pose0,
                               const Transform& link_pose1) {
    const Transform body0 = contact_pose(link_pose0), body1 = contact_pose(link_pose1);
    SIM_ROLLED
    for (int k = 0; k < write.count; ++k)
        finish_contact(write.records[k], pair, write.tangent_hint, write.sweep, body0, body1);
}

// The contacts of one pair of shapes; the first has the smaller ShapeType.
template <class Writer>
SIM_FUNCTION void collide_pair(int routine, const PlacedShape& a, const PlacedShape& b, Writer& write) {
    if (Topology::has_routine(PAIR_PLANE_SPHERE) && routine == PAIR_PLANE_SPHERE)
        collide_plane_sphere(a, b, write);
    if (Topology::has_routine(PAIR_PLANE_CAPSULE) && routine == PAIR_PLANE_CAPSULE)
        collide_plane_capsule(a, b, write);
    if (Topology::has_routine(PAIR_PLANE_ELLIPSOID) && routine == PAIR_PLANE_ELLIPSOID)
        collide_plane_ellipsoid(a, b, write);
    if (Topology::has_routine(PAIR_PLANE_CYLINDER) && routine == PAIR_PLANE_CYLINDER)
        collide_plane_cylinder(a, b, write);
    if (Topology::has_routine(PAIR_PLANE_BOX) && routine == PAIR_PLANE_BOX)
        collide_plane_box(a, b, write);
    if (Topology::has_routine(PAIR_SPHERE_SPHERE) && routine == PAIR_SPHERE_SPHERE)
        collide_sphere_sphere(a, b, write);
    if (Topology::has_routine(PAIR_SPHERE_CAPSULE) && routine == PAIR_SPHERE_CAPSULE)
        collide_sphere_capsule(a, b, write);
    if (Topology::has_routine(PAIR_SPHERE_BOX) && routine == PAIR_SPHERE_BOX)
        collide_sphere_box(a, b, write);
    if (Topology::has_routine(PAIR_CAPSULE_CAPSULE) && routine == PAIR_CAPSULE_CAPSULE)
        collide_capsule_capsule(a, b, write);
    if (Topology::has_routine(PAIR_CAPSULE_BOX) && routine == PAIR_CAPSULE_BOX)
        collide_capsule_box(a, b, write);
    if (Topology::has_routine(PAIR_BOX_BOX) && routine == PAIR_BOX_BOX)
        collide_box_box(a, b, write);
}

// The pairs that a step collides by itself. A kernel of its own may collide others (collide_any.h).
struct PrimitivePairs {
    template <class Writer>
    SIM_FUNCTION static void collide(const ModelView&, int routine, int, const PlacedShape& a, int,
                                     const PlacedShape& b, Writer& write) {
        collide_pair(routine, a, b, write);
    }

    // Does the routine follow the pair by itself, piece by piece?
    SIM_FUNCTION static bool sweeps(int) { return false; }

    // Are there pairs that take so long that all lanes work them together, where they are not followed?
    static constexpr bool SHARES = false;
    SIM_FUNCTION static bool is_shared(const ModelView&, int, int, const PlacedShape&, int, const PlacedShape&, real) {
        return false;
    }

    template <class Writer>
    SIM_FUNCTION static void collide_together(Lanes&, const ModelView&, int, int, const PlacedShape&, int,
                                              const PlacedShape&, Writer&) {}
};

// Are two centres, `offset` apart, nearer than the radii of their bounding spheres?
SIM_INLINE bool spheres_touch(vec3 offset, real reach0, real reach1) {
    const real reach = reach0 + reach1;
    return int(reach > 0) & int(dot(offset, offset) < reach * reach);
}

// Is a centre, `offset` from that of a plane turned by `plane`, less than `reach` above it?
SIM_INLINE bool plane_touches(quat plane, vec3 offset, real reach) {
    return dot(rotate(plane, vec3{0, 0, 1}), offset) < reach;
}

// Can two shapes be within reach of each other, by their bounding spheres?
SIM_INLINE bool may_touch(const ShapePlace& a, const ShapePlace& b) {
    const vec3 offset = b.pose.p - a.pose.p;
    if (!(a.reach <= REAL_MAX)) return plane_touches(a.pose.q, offset, b.reach + (a.margin + a.gap));
    return spheres_touch(offset, a.reach, b.reach);
}

// The same for the two shapes of contact pair `parameter` (-1 none), which may reach further than the shapes do.
SIM_NOINLINE bool pair_may_touch(const ModelView& model, int shape0, const ShapePlace& a, int shape1,
                                 const ShapePlace& b, int parameter) {
    const PairReach own = pair_reach(model, shape0, shape1, parameter);
    ShapePlace wide = b;
    wide.reach += maximum((own.margin + own.gap) - ((a.margin + a.gap) + (b.margin + b.gap)), real(0));
    return may_touch(a, wide);
}

// What of a row of the model tells where its shape is.
struct ShapeRow {
    Transform xform;  // on its body
    real radius, margin, gap;
    int flags;
};

SIM_INLINE ShapeRow shape_row(const ModelView& model, int row) {
    return {load_transform(&model.shape_xform[7 * row]), model.shape_radius[row], model.shape_margin[row],
            model.shape_gap[row], model.shape_flags[row]};
}

// Where the shape is, on a body of pose `body` (contact_pose).
SIM_INLINE ShapePlace shape_place(const ShapeRow& s, const Transform& body) {
    return {attach(body, s.xform), s.radius + (s.margin + s.gap), s.margin, s.gap};
}

SIM_INLINE ShapePlace shape_place(const ModelView& model, int row, const Transform& body) {
    return shape_place(shape_row(model, row), body);
}

// How many shapes, and how many pairs, a lane reads at a time: a GPU waits long for each read. A specialised form has
// tables in its text.
#if defined(SIM_GPU) && !defined(SIM_SPECIALISED)
inline constexpr int SHAPES_AHEAD = 3, PAIRS_AHEAD = 7;
#else
inline constexpr int SHAPES_AHEAD = 1, PAIRS_AHEAD = 1;
#endif

// Places of the world's colliding shapes from the poses of its links. Returns whether one of the lane's shapes may be
// fast. Ends with a barrier.
template <class Motions>
SIM_FUNCTION bool place_shapes(Lanes& lanes, const Topology& t, const ModelView& model, int world,
                               const Transform* link_pose, const Motions& motions, ContactMemory& m) {
    int link = -1;
    bool fast = false;
    Transform body = identity_transform();
    const int shapes = t.shapes();
    SIM_ROLLED
    for (int first = lanes.lane(); first < shapes; first += SHAPES_AHEAD * lanes.count()) {
        ShapeRow rows[SHAPES_AHEAD];
        int links[SHAPES_AHEAD];
        SIM_AHEAD
        for (int k = 0; k < SHAPES_AHEAD; ++k) {
            const int i = first + k * lanes.count() < shapes ? first + k * lanes.count() : first;
            rows[k] = shape_row(model, model_shape(model, world, i));
            links[k] = t.shape_link(i);
        }
        SIM_AHEAD
        for (int k = 0; k < SHAPES_AHEAD; ++k) {
            const int i = first + k * lanes.count();
            if (i >= shapes || !(rows[k].flags & SHAPE_COLLIDES)) continue;
            if (links[k] != link) {
                link = links[k];
                body = contact_pose(link_pose[link]);
            }
            m.shape[i] = shape_place(rows[k], body);
            const int row = model_shape(model, world, i);
            if (motions.dt > 0)
                fast = fast || may_be_fast(model, row, m.shape[i].pose.p, motions.about(link, row), motions.dt);
        }
    }
    lanes.sync();
    return fast;
}

// The contact pair that pair p of a world is, as a row of the model; -1 none.
SIM_INLINE int pair_parameter(const Topology& t, const ModelView& model, int world, int p) {
    const int parameter = has_contact_pairs(model) ? t.pair_parameter(p) : -1;
    return parameter < 0 ? -1 : model.world_contact_pair_start[world] + parameter;
}

// How the shapes of pair p of a world move against each other within the step.
template <class Motions>
SIM_STAGE PairSweep sweep_of_pair(const Topology& t, const ModelView& model, int world, const ContactMemory& m,
                                  const Motions& motions, int p) {
    const int local0 = t.pair_shape0(p), local1 = t.pair_shape1(p);
    return begin_sweep(model, motions, t.shape_link(local0), model_shape(model, world, local0), m.shape[local0].pose,
                       t.shape_link(local1), model_shape(model, world, local1), m.shape[local1].pose);
}

// May the shapes of a pair that is followed touch on the way?
template <class Motions>
SIM_NOINLINE bool may_meet(const Topology& t, const ModelView& model, int world, const ContactMemory& m,
                           const Motions& motions, int p) {
    const int local0 = t.pair_shape0(p), local1 = t.pair_shape1(p);
    const int shape0 = model_shape(model, world, local0), shape1 = model_shape(model, world, local1);
    const PairReach own = pair_reach(model, shape0, shape1, pair_parameter(t, model, world, p));
    return spheres_meet(model, sweep_of_pair(t, model, world, m, motions, p), shape0, m.shape[local0].pose.p, shape1,
                        m.shape[local1].pose.p, own.margin + own.gap);
}

// What a pair of a world is looked at by: its shapes and contact pair.
struct ListedPair {
    int shape0, shape1, parameter;
};

// May the shapes of a pair touch where they stand?
SIM_INLINE bool is_candidate(const ModelView& model, int world, const ContactMemory& m, const ListedPair& p) {
    if (p.parameter < 0) return may_touch(m.shape[p.shape0], m.shape[p.shape1]);
    return pair_may_touch(model, model_shape(model, world, p.shape0), m.shape[p.shape0],
                          model_shape(model, world, p.shape1), m.shape[p.shape1], p.parameter);
}

// Lists the pairs that may touch, in their order, and returns how many, the same in all lanes. `fast`: where they stand
// or on their way. Ends with a barrier.
template <class Motions>
SIM_FUNCTION int list_candidates(Lanes& lanes, const Topology& t, const ModelView& model, int world,
                                 const ContactMemory& m, const Motions& motions, bool fast) {
    const bool own = has_contact_pairs(model);
    const int count = list_wanted_ahead<PAIRS_AHEAD>(
        lanes, t.pairs(),
        [&](int p) {
            return ListedPair{t.pair_shape0(p), t.pair_shape1(p), own ? pair_parameter(t, model, world, p) : -1};
        },
        [&](int p, const ListedPair& pair) {
            return is_candidate(model, world, m, pair) || (fast && may_meet(t, model, world, m, motions, p));
        },
        [&](int p, int before) { m.candidate[before] = p; });
    lanes.sync();
    return count;
}

// After contacts of a pair that is followed were found at sweep.time: whether to look again, with the shapes moved on;
// or, where they meet nothing, where they stand.
SIM_STAGE bool look_again(PairSweep& sweep, const ShapePlace& first, const ShapePlace& second, real reach,
                          PlacedShape& a, PlacedShape& b, ContactWriter& write) {
    real distance = REAL_INFINITY;
    vec3 normal = zero_vec3();
    SIM_ROLLED
    for (int k = 0; k < write.count; ++k)
        if (write.records[k].distance < distance) {
            distance = write.records[k].distance;
            normal = write.records[k].normal;
        }
    const SweepStep step = advance_sweep(sweep, distance, normal);
    if (step == SWEEP_TOUCHES) return false;
    const bool misses = step == SWEEP_MISSES;
    write.restart();
    write.time = misses ? real(0) : sweep.time;
    write.reach = misses ? reach : maximum(sweep.reach(sweep.time), reach);
    if (misses) write.sweep = nullptr;
    a.pose = misses ? first.pose : moved_pose(sweep.body[0], first.pose, sweep.time);
    b.pose = misses ? second.pose : moved_pose(sweep.body[1], second.pose, sweep.time);
    return true;
}

SIM_INLINE PairReach reach_of(const ModelView& model, const ShapePlace& first, const ShapePlace& second,
                              const ContactPair& pair) {
    if (has_contact_pairs(model)) return pair_reach(model, pair.shape0, pair.shape1, pair.parameter);
    return {first.margin + second.margin, first.gap + second.gap};
}

SIM_INLINE PlacedShape placed_shape(const ModelView& model, const ShapePlace& place, int shape) {
    return {place.pose, load_vec3(&model.shape_size[3 * shape])};
}

// Contacts of two shapes into `records`, which has room for all that the routine makes; returns how many. The margin of
// `pair` is filled in. `sweep`: of a pair that is followed, else null.
template <class Pairs>
SIM_FUNCTION int collide_shapes(const ModelView& model, int routine, const ShapePlace& first, const ShapePlace& second,
                                ContactPair pair, const Transform& link_pose0, const Transform& link_pose1,
                                PairSweep* sweep, Contact* records) {
    const PairReach own = reach_of(model, first, second, pair);
    pair.margin = own.margin;
    const real reach = own.margin + own.gap;
    PlacedShape a = placed_shape(model, first, pair.shape0), b = placed_shape(model, second, pair.shape1);
    ContactWriter write = {records, pair_contacts(routine), 0, reach, zero_vec3(), 0, sweep};
    if (sweep) {
        sweep->margin = own.margin;
        write.time = SWEEP_START;
        if (!Pairs::sweeps(routine)) write.reach = maximum(sweep->reach(0), reach);
    }
    bool again;
    do {  // one place that calls the routines: their code is long
        Pairs::collide(model, routine, pair.shape0, a, pair.shape1, b, write);
        again = write.sweep && !Pairs::sweeps(routine) && look_again(*sweep, first, second, reach, a, b, write);
    } while (again);
    finish_contacts(write, pair, link_pose0, link_pose1);
    return write.count;
}

SIM_INLINE ContactPair contact_pair(const Topology& t, const ModelView& model, int world, int p) {
    const int local0 = t.pair_shape0(p), local1 = t.pair_shape1(p);
    return {model_shape(model, world, local0), model_shape(model, world, local1), t.shape_link(local0),
            t.shape_link(local1), pair_parameter(t, model, world, p), 0};
}

// Contacts of pair p into its slots; returns how many. `sweep`: of a pair that is followed, else null.
template <class Pairs>
SIM_FUNCTION int collide_world_pair(const Topology& t, const ModelView& model, int world, const Transform* link_pose,
                                    const ContactMemory& m, PairSweep* sweep, int p) {
    const ContactPair pair = contact_pair(t, model, world, p);
    return collide_shapes<Pairs>(model, t.pair_routine(p), m.shape[t.pair_shape0(p)], m.shape[t.pair_shape1(p)], pair,
                                 link_pose[pair.link0], link_pose[pair.link1], sweep, m.records + t.pair_slot(p));
}

// What stands for the number of contacts of a pair that all lanes are to work together.
constexpr int WORKED_TOGETHER = -1;

template <class Pairs>
SIM_FUNCTION bool is_worked_together(const Topology& t, const ModelView& model, int world, const ContactMemory& m,
                                     int p) {
    if (!Pairs::SHARES) return false;
    const ContactPair pair = contact_pair(t, model, world, p);
    const ShapePlace &first = m.shape[t.pair_shape0(p)], &second = m.shape[t.pair_shape1(p)];
    const PairReach own = reach_of(model, first, second, pair);
    return Pairs::is_shared(model, t.pair_routine(p), pair.shape0, placed_shape(model, first, pair.shape0), pair.shape1,
                            placed_shape(model, second, pair.shape1), own.margin + own.gap);
}

// The same of a world in which a pair may have to be followed: apart from the usual way, whose code stays short.
template <class Pairs, class Motions>
SIM_NOINLINE int collide_fast_pair(const Topology& t, const ModelView& model, int world, const Transform* link_pose,
                                   const ContactMemory& m, const Motions& motions, int p, bool shares) {
    PairSweep sweep = sweep_of_pair(t, model, world, m, motions, p);
    const bool follows = sweep.span > 0;
    if (shares && !follows && is_worked_together<Pairs>(t, model, world, m, p)) return WORKED_TOGETHER;
    return collide_world_pair<Pairs>(t, model, world, link_pose, m, follows ? &sweep : nullptr, p);
}

// A pair, where it stands, by all lanes: the first one writes the contacts.
template <class Pairs>
SIM_STAGE void collide_together(Lanes& lanes, const Topology& t, const ModelView& model, int world,
                                const Transform* link_pose, const ContactMemory& m, int i) {
    const int p = m.candidate[i], routine = t.pair_routine(p);
    ContactPair pair = contact_pair(t, model, world, p);
    const ShapePlace &first = m.shape[t.pair_shape0(p)], &second = m.shape[t.pair_shape1(p)];
    const PairReach own = reach_of(model, first, second, pair);
    pair.margin = own.margin;
    const int room = lanes.lane() == 0 ? pair_contacts(routine) : 0;
    ContactWriter write = {m.records + t.pair_slot(p), room, 0, own.margin + own.gap, zero_vec3(), 0, nullptr};
    Pairs::collide_together(lanes, model, routine, pair.shape0, placed_shape(model, first, pair.shape0), pair.shape1,
                            placed_shape(model, second, pair.shape1), write);
    finish_contacts(write, pair, link_pose[pair.link0], link_pose[pair.link1]);
    lanes.sync();  // all have read what stood there
    if (lanes.lane() == 0) m.candidate_contacts[i] = write.count;
}

// Finds the contacts of a world and returns their number, the same in all lanes. Ends with a barrier.
template <class Pairs = PrimitivePairs, class Motions = NoMotions>
SIM_FUNCTION int collide_world(Lanes& lanes, const Topology& t, const ModelView& model, int world,
                               const Transform* link_pose, ContactMemory& m, const Motions& motions = Motions()) {
    const bool fast = lanes.any(place_shapes(lanes, t, model, world, link_pose, motions, m));
    const int candidates = list_candidates(lanes, t, model, world, m, motions, fast);
    const bool shares = Pairs::SHARES && lanes.count() > 1;
    for_lanes(i, 0, candidates) {
        const int p = m.candidate[i];
        m.candidate_contacts[i] =
            fast ? collide_fast_pair<Pairs>(t, model, world, link_pose, m, motions, p, shares)
            : shares && is_worked_together<Pairs>(t, model, world, m, p)
                ? WORKED_TOGETHER
                : collide_world_pair<Pairs>(t, model, world, link_pose, m, nullptr, p);
    }
    if (shares) {
        lanes.sync();
        for (int i = 0; i < candidates; ++i)
            if (m.candidate_contacts[i] == WORKED_TOGETHER)
                collide_together<Pairs>(lanes, t, model, world, link_pose, m, i);
    }
    lanes.sync();
    const int total = lanes.scan(
        candidates, [&](int i) { return m.candidate_contacts[i]; },
        [&](int i, int before) {
            SIM_ROLLED
            for (int k = 0; k < m.candidate_contacts[i]; ++k) m.slot[before + k] = t.pair_slot(m.candidate[i]) + k;
        });
    lanes.sync();
    return total;
}
