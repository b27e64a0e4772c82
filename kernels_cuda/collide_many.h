// The contacts of several worlds by one group of lanes: where worlds have few pairs, lanes that work one world
// (collide.h) are idle most of the time, and wait for the slowest of them. The contacts, their order and bits are the
// same.
//
// All worlds of the group go through each stage together: places of shapes; candidates, world by world, in order; their
// routines, those with planes first and then the others, so that neighbouring lanes run the same code; the number of
// contacts before each. Then each lane finishes one contact, and the lanes write them word by word. A world in which a
// shape may be fast is left to the group alone, as in collide.h.
#pragma once

#include "collide_state.h"
#include "four.h"

// Worlds of a group of lanes.
#ifndef SIM_MANY
#define SIM_MANY 4
#endif
inline constexpr int MANY = SIM_MANY;

// How many pairs a lane reads at a time.
#ifdef SIM_GPU
inline constexpr int MANY_PAIRS_AHEAD = 6;
#else
inline constexpr int MANY_PAIRS_AHEAD = 1;
#endif

// A world of the group: its rows in the arrays of the model and in Contacts.
struct WorldRows {
    int world;
    int own_shape, own_shapes;  // the first, and how many
    int shared_shape;           // first of the shared static ones
    int slab, room;             // the first row of its slab, and how many
    int fast;                   // may one of its shapes be fast?

    SIM_INLINE int shape(int i) const { return i < own_shapes ? own_shape + i : shared_shape + i - own_shapes; }
};

// What a routine finds of a contact, and the first tangent that it prefers.
struct alignas(16) FoundContact {
    vec3 point0;
    real distance;
    vec3 normal;
    real feature;  // as bits: a whole number
    vec3 tangent_hint;
};

SIM_INLINE real bits_of_feature(int feature) { return from_bits(decltype(bits_of(real(0)))(unsigned(feature))); }
SIM_INLINE int feature_of_bits(real bits) { return int(unsigned(bits_of(bits))); }

// Takes the contacts of one pair from a routine.
struct FoundWriter {
    FoundContact* records;
    int capacity;
    int count;
    real reach;
    vec3 tangent_hint;

    SIM_INLINE void operator()(int feature, vec3 point0, vec3 normal, real distance) {
        if (!(distance < reach && distance >= -REAL_MAX) || count == capacity) return;
        real* to = (real*)(records + count++);
        four(to, 0) = {point0.x, point0.y, point0.z, distance};
        four(to, 1) = {normal.x, normal.y, normal.z, bits_of_feature(feature)};
    }

    SIM_INLINE void restart() { count = 0; }
};

// Vectors of as many contacts as are finished at a time, and the rows that they go to; -1: none.
inline constexpr int FINISHED = 32;
struct FinishedContacts {
    real point0[3 * FINISHED], point1[3 * FINISHED], normal[3 * FINISHED], tangent[3 * FINISHED];
    int row[FINISHED];
};

// Memory of a group.
struct ManyMemory {
    WorldRows* world;       // MANY
    int* first;             // MANY + 1: the first candidate of each world, and their number
    int* candidate;         // pair * MANY + number of the world
    unsigned short* order;  // numbers of candidates with planes, then of the others
    unsigned short* worth;  // of these others that are worth it (numbers beyond 16 bits have no room in shared memory)
    int* before;            // there, later: contacts of the candidates before each
    unsigned char* count;   // contacts of each candidate
    Four<real>* centre;     // of each shape: its place, and how far it reaches
    Four<real>* turn;       // its quaternion
    Four<real>* size;       // its size, and its margin
    real* gap;
    FinishedContacts* finished;  // in place of the four
    FoundContact* found;         // at the slots of the pairs, in slow memory

    // the row in the model's arrays of a shape, as they are counted here
    SIM_INLINE int shape_row(int i, int shapes) const {
        const int w = int(unsigned(i) / unsigned(shapes));
        return world[w].shape(i - w * shapes);
    }

    SIM_INLINE ShapePlace place(int i) const {
        const Four<real> c = centre[i], q = turn[i];
        return {{{c.at[0], c.at[1], c.at[2]}, {q.at[0], q.at[1], q.at[2], q.at[3]}}, c.at[3], size[i].at[3], gap[i]};
    }
};

SIM_INLINE ManyMemory take_many_memory(MemoryBump& bump, MemoryBump& slow, const Topology& t) {
    const int shapes = MANY * t.shapes(), pairs = MANY * t.pairs();
    ManyMemory m;
    m.world = bump.take<WorldRows>(MANY);
    m.first = bump.take<int>(MANY + 1);
    m.candidate = bump.take<int>(pairs);
    m.before = bump.take<int>(pairs);
    m.order = (unsigned short*)m.before;
    m.worth = m.order + pairs;
    m.count = bump.take<unsigned char>(pairs);
    MemoryBump later = bump;
    m.centre = bump.take<Four<real>>(shapes);
    m.turn = bump.take<Four<real>>(shapes);
    m.size = bump.take<Four<real>>(shapes);
    m.gap = bump.take<real>(shapes);
    m.finished = later.take<FinishedContacts>(1);
    bump.used = bump.used > later.used ? bump.used : later.used;
    m.found = slow.take<FoundContact>((long long)MANY * t.contacts_max());
    return m;
}

// Pose of a body as collision sees it; of the world: -1.
SIM_INLINE Transform body_pose(const real* body_q, int body) {
    return body < 0 ? identity_transform() : load_transform(&body_q[7 * body]);
}

// The group's fast memory, which is to be shared memory: a GPU's compiler is shown that it is.
SIM_INLINE char* shared_memory_of_group(char* fast, const Scratch& scratch) {
#ifdef SIM_GPU
    extern __shared__ __align__(16) char sim_shared_memory[];
    return sim_shared_memory + int(threadIdx.x) / SIM_LANES * int(scratch.stride);
#else
    (void)scratch;
    return fast;
#endif
}

SIM_INLINE void find_worlds(Lanes& lanes, const Topology& t, const ModelView& model, int slot, int worlds,
                            const ContactsArrays& contacts, ManyMemory& m) {
    for_lanes(w, 0, worlds) {
        const int world = t.world(slot + w), shape = model.world_shape_start[world], slab = contacts.world_start[world];
        m.world[w] = {world,
                      shape,
                      model.world_shape_start[world + 1] - shape,
                      model.world_shape_start[model.worlds],
                      slab,
                      contacts.world_start[world + 1] - slab,
                      0};
    }
    lanes.sync();
}

// ---- shapes and candidates ---------------------------------------------------------------------------------------

// Places of the shapes of all worlds. Ends with a barrier.
SIM_INLINE void place_many(Lanes& lanes, const Topology& t, const ModelView& model, const real* body_q, int worlds,
                           ManyMemory& m) {
    const int shapes = t.shapes(), all = worlds * shapes;
    SIM_ROLLED
    for (int first = lanes.lane(); first < all; first += SHAPES_AHEAD * lanes.count()) {
        int body[SHAPES_AHEAD];
        ShapeRow shape[SHAPES_AHEAD];
        vec3 size[SHAPES_AHEAD];
        Transform pose[SHAPES_AHEAD];
        SIM_AHEAD
        for (int k = 0; k < SHAPES_AHEAD; ++k) {
            const int next = first + k * lanes.count(), row = m.shape_row(next < all ? next : first, shapes);
            shape[k] = shape_row(model, row);
            size[k] = load_vec3(&model.shape_size[3 * row]);
            body[k] = model.shape_body[row];
        }
        SIM_AHEAD
        for (int k = 0; k < SHAPES_AHEAD; ++k) pose[k] = body_pose(body_q, body[k]);
        SIM_AHEAD
        for (int k = 0; k < SHAPES_AHEAD; ++k) {
            const int i = first + k * lanes.count();
            if (i >= all) continue;
            const ShapePlace at = shape_place(shape[k], contact_pose(pose[k]));
            m.centre[i] = {at.pose.p.x, at.pose.p.y, at.pose.p.z, at.reach};
            m.turn[i] = {at.pose.q.x, at.pose.q.y, at.pose.q.z, at.pose.q.w};
            m.size[i] = {size[k].x, size[k].y, size[k].z, at.margin};
            m.gap[i] = at.gap;
        }
    }
    lanes.sync();
}

// Which worlds have a shape that may be fast? Ends with a barrier.
SIM_INLINE void find_fast_worlds(Lanes& lanes, const Topology& t, const StateMotions& motions, int worlds,
                                 ManyMemory& m) {
    const ModelView& model = motions.model;
    const int shapes = t.shapes();
    for_lanes_ahead<SHAPES_AHEAD>(
        lanes, 0, worlds * shapes, [&](int i) { return motions.about(0, m.shape_row(i, shapes)); },
        [&](int i, const BodyMotion& motion) {
            const int row = m.shape_row(i, shapes);
            if ((model.shape_flags[row] & SHAPE_COLLIDES) &&
                may_be_fast(model, row, m.place(i).pose.p, motion, motions.dt))
                m.world[i / shapes].fast = 1;
        });
    lanes.sync();
}

// May the shapes of a pair touch? `shape`: the first of their world.
SIM_INLINE bool spheres_may_touch(const ManyMemory& m, int shape, const ListedPair& p) {
    const int i = shape + p.shape0;
    const Four<real> a = m.centre[i], b = m.centre[shape + p.shape1];
    const vec3 offset = {b.at[0] - a.at[0], b.at[1] - a.at[1], b.at[2] - a.at[2]};
    if (a.at[3] <= REAL_MAX) return spheres_touch(offset, a.at[3], b.at[3]);
    return plane_touches(m.place(i).pose.q, offset, b.at[3] + (m.size[i].at[3] + m.gap[i]));
}

// The same in a model with contact pairs.
SIM_INLINE bool listed_may_touch(const ModelView& model, const ManyMemory& m, const WorldRows& rows, int shape,
                                 const ListedPair& p) {
    if (p.parameter < 0) return spheres_may_touch(m, shape, p);
    return pair_may_touch(model, rows.shape(p.shape0), m.place(shape + p.shape0), rows.shape(p.shape1),
                          m.place(shape + p.shape1), p.parameter);
}

// Lists the candidates of world w behind the `start` that there are; returns how many.
SIM_INLINE int list_world(Lanes& lanes, const Topology& t, const ModelView& model, int w, int start, ManyMemory& m) {
    const WorldRows rows = m.world[w];
    const int shape = w * t.shapes();
    const auto keep = [&](int p, int before) {
        m.candidate[start + before] = p * MANY + w;
        m.count[start + before] = 0;
    };
    if (rows.fast) return 0;
    if (has_contact_pairs(model))
        return list_wanted(
            lanes, t.pairs(),
            [&](int p) {
                const int parameter = pair_parameter(t, model, rows.world, p);
                return listed_may_touch(model, m, rows, shape, {t.pair_shape0(p), t.pair_shape1(p), parameter});
            },
            keep);
    return list_wanted_ahead<MANY_PAIRS_AHEAD>(
        lanes, t.pairs(), [&](int p) { return ListedPair{t.pair_shape0(p), t.pair_shape1(p), -1}; },
        [&](int, const ListedPair& pair) { return spheres_may_touch(m, shape, pair); }, keep);
}

// Lists the candidates of the worlds without fast shapes, and returns how many. Ends with a barrier.
SIM_INLINE int list_many(Lanes& lanes, const Topology& t, const ModelView& model, int worlds, ManyMemory& m) {
    int total = 0;
    SIM_ROLLED
    for (int w = 0; w < worlds; ++w) {
        if (lanes.lane() == 0) m.first[w] = total;
        total += list_world(lanes, t, model, w, total, m);
    }
    if (lanes.lane() == 0) m.first[worlds] = total;
    lanes.sync();
    return total;
}

// ---- contacts ----------------------------------------------------------------------------------------------------

// Of two bodies neither of which is a plane: such routines are long.
SIM_INLINE bool is_of_bodies(int routine) { return routine > PAIR_PLANE_BOX; }

// Lists candidates with planes first, then the others. Returns how many have planes. Ends with a barrier.
SIM_INLINE int order_candidates(Lanes& lanes, const Topology& t, int candidates, ManyMemory& m) {
    const auto routine = [&](int k) { return t.pair_routine(m.candidate[k] / MANY); };
    const int planes = list_wanted_ahead<SHAPES_AHEAD>(
        lanes, candidates, routine, [&](int, int found) { return !is_of_bodies(found); },
        [&](int k, int before) { m.order[before] = (unsigned short)k; });
    list_wanted_ahead<SHAPES_AHEAD>(
        lanes, candidates, routine, [&](int, int found) { return is_of_bodies(found); },
        [&](int k, int before) { m.order[planes + before] = (unsigned short)k; });
    lanes.sync();
    return planes;
}

// Is the bounding sphere of capsule b out of `reach` of capsule a? The slack is more than rounding puts it off.
SIM_INLINE bool sphere_is_apart(const Transform& a, const Four<real>& size0, vec3 offset, const Four<real>& size1,
                                real reach) {
    const vec3 axis = rotate(a.q, vec3{0, 0, 1});
    const real along = clamp(dot(offset, axis), -size0.at[1], size0.at[1]);
    const vec3 apart = multiply_add(-along, axis, offset);
    const real radii = size0.at[0] + size1.at[0] + size1.at[1] + reach;
    const real most = multiply_add(real(1e-3), radii + size0.at[1], radii);
    return dot(apart, apart) > most * most;
}

// A quick no before a routine: none that has contacts is refused.
SIM_INLINE bool is_worth_colliding(const Topology& t, const ManyMemory& m, int k) {
    const int p = m.candidate[k] / MANY, shapes = m.candidate[k] % MANY * t.shapes();
    if (t.pair_routine(p) != PAIR_CAPSULE_CAPSULE) return true;
    const int i = shapes + t.pair_shape0(p), j = shapes + t.pair_shape1(p);
    const ShapePlace a = m.place(i), b = m.place(j);
    const vec3 offset = b.pose.p - a.pose.p;
    const real reach = (a.margin + b.margin) + (a.gap + b.gap);
    return !sphere_is_apart(a.pose, m.size[i], offset, m.size[j], reach) &&
           !sphere_is_apart(b.pose, m.size[j], -offset, m.size[i], reach);
}

// Lists the candidates without planes that are worth it, of `bodies`; returns how many. Ends with a barrier.
SIM_INLINE int list_worth(Lanes& lanes, const Topology& t, const ModelView& model, int planes, int bodies,
                          ManyMemory& m) {
    const bool own = has_contact_pairs(model);  // which may reach further
    const int count = list_wanted(
        lanes, bodies, [&](int i) { return own || is_worth_colliding(t, m, m.order[planes + i]); },
        [&](int i, int before) { m.worth[before] = m.order[planes + i]; });
    lanes.sync();
    return count;
}

// Contacts of candidate k to the slots of its pair.
SIM_INLINE void collide_candidate(const Topology& t, const ModelView& model, ManyMemory& m, int k) {
    const int w = m.candidate[k] % MANY, p = m.candidate[k] / MANY, routine = t.pair_routine(p);
    const int shape0 = t.pair_shape0(p), shape1 = t.pair_shape1(p), shapes = w * t.shapes();
    const ShapePlace first = m.place(shapes + shape0), second = m.place(shapes + shape1);
    const Four<real> size0 = m.size[shapes + shape0], size1 = m.size[shapes + shape1];
    PairReach own = {first.margin + second.margin, first.gap + second.gap};
    if (has_contact_pairs(model))
        own = pair_reach(model, m.world[w].shape(shape0), m.world[w].shape(shape1),
                         pair_parameter(t, model, m.world[w].world, p));
    const PlacedShape a = {first.pose, {size0.at[0], size0.at[1], size0.at[2]}};
    const PlacedShape b = {second.pose, {size1.at[0], size1.at[1], size1.at[2]}};
    FoundContact* records = m.found + w * t.contacts_max() + t.pair_slot(p);
    FoundWriter write = {records, pair_contacts(routine), 0, own.margin + own.gap, zero_vec3()};
    collide_pair(routine, a, b, write);
    SIM_ROLLED
    for (int i = 0; i < write.count; ++i) records[i].tangent_hint = write.tangent_hint;
    m.count[k] = (unsigned char)write.count;
}

// Contacts of the candidates, each kind of routine by lanes side by side. Ends with a barrier.
SIM_INLINE void collide_candidates(Lanes& lanes, const Topology& t, const ModelView& model, int candidates,
                                   ManyMemory& m) {
    const int planes = order_candidates(lanes, t, candidates, m);
    const int bodies = list_worth(lanes, t, model, planes, candidates - planes, m);
    const int begin = (planes + lanes.count() - 1) / lanes.count() * lanes.count();  // of the rounds without planes
    for_lanes(i, 0, begin + bodies) {
        if (i < planes || i >= begin) collide_candidate(t, model, m, i < planes ? m.order[i] : m.worth[i - begin]);
    }
    lanes.sync();
}

// Numbers the contacts in the order of worlds, pairs and features, tells how many each world has, and returns how many
// there are.
SIM_INLINE int number_contacts(Lanes& lanes, int worlds, int candidates, const ContactsArrays& contacts,
                               ManyMemory& m) {
    const int total = lanes.scan(
        candidates, [&](int k) { return int(m.count[k]); }, [&](int k, int before) { m.before[k] = before; });
    lanes.sync();
    const auto before = [&](int k) { return k < candidates ? m.before[k] : total; };
    for_lanes(w, 0, worlds) {
        const WorldRows& rows = m.world[w];
        if (rows.fast) continue;
        const int needed = before(m.first[w + 1]) - before(m.first[w]);
        contacts.count[rows.world] = needed < rows.room ? needed : rows.room;
        contacts.needed[rows.world] = needed;
    }
    return total;
}

// The candidate that contact c is of: the last with no more than c contacts before it.
SIM_INLINE int candidate_of(const ManyMemory& m, int candidates, int c) {
    int first = 0;
    SIM_ROLLED
    for (int left = candidates; left > 1; left -= left / 2)
        if (m.before[first + left / 2] <= c) first += left / 2;
    return first;
}

// Contact c of the group to Contacts, but for its vectors, which go to place i of m.finished.
SIM_INLINE void finish_found(const Topology& t, const StateMotions& motions, int candidates, int c,
                             const ContactsArrays& out, ManyMemory& m, int i) {
    const ModelView& model = motions.model;
    const int k = candidate_of(m, candidates, c), w = m.candidate[k] % MANY, p = m.candidate[k] / MANY;
    const WorldRows rows = m.world[w];
    const int number = c - m.before[m.first[w]], row = number < rows.room ? rows.slab + number : -1;
    m.finished->row[i] = row;
    if (row < 0) return;
    const FoundContact found = m.found[w * t.contacts_max() + t.pair_slot(p) + c - m.before[k]];
    const int shape0 = rows.shape(t.pair_shape0(p)), shape1 = rows.shape(t.pair_shape1(p));
    const ContactPair pair = {shape0, shape1, 0, 0, pair_parameter(t, model, rows.world, p), 0};
    Contact contact;
    contact.point0 = found.point0;
    contact.normal = found.normal;
    contact.distance = found.distance;
    contact.time = 0;
    finish_contact(contact, pair, found.tangent_hint, nullptr,
                   contact_pose(body_pose(motions.body_q, model.shape_body[shape0])),
                   contact_pose(body_pose(motions.body_q, model.shape_body[shape1])));
    store_vec3(m.finished->point0 + 3 * i, canonical(contact.point0));
    store_vec3(m.finished->point1 + 3 * i, canonical(contact.point1));
    store_vec3(m.finished->normal + 3 * i, canonical(contact.normal));
    store_vec3(m.finished->tangent + 3 * i, canonical(contact.tangent));
    out.shape0[row] = shape0;
    out.shape1[row] = shape1;
    out.feature[row] = feature_of_bits(found.feature);
    out.parameter[row] = pair.parameter;
    out.distance[row] = canonical(found.distance);
    out.time[row] = 0;
}

// Vectors of `count` finished contacts to their rows, number by number.
SIM_INLINE void store_vectors(Lanes& lanes, const FinishedContacts& from, int count, const ContactsArrays& out) {
    for_lanes(i, 0, 3 * count) {
        const int row = from.row[i / 3], to = 3 * row + i % 3;
        if (row < 0) continue;
        const real point0 = from.point0[i], point1 = from.point1[i], normal = from.normal[i], tangent = from.tangent[i];
        out.point0[to] = point0;
        out.point1[to] = point1;
        out.normal[to] = normal;
        out.tangent[to] = tangent;
        out.force[to] = 0;
    }
}

// What a group is given: references to a kernel's own parameters alone, which lie where every thread may read them.
struct CollideInput {
    const ModelView& model;
    const TopologyView& topology;
    const real* body_q;
    const real* body_qd;
    real dt;
    const ContactsArrays& contacts;

    SIM_INLINE StateMotions motions() const { return {model, body_q, body_qd, dt}; }
};

// A world with a fast shape, by itself. A call with copies of all that it is given: what is referred to by a function
// that is not inlined lies in memory all the time.
SIM_NOINLINE void collide_fast_world(Lanes lanes, CollideInput in, int slot, GroupMemory memory) {
    const Topology t(in.topology);
    collide_state(lanes, t, t.world(slot), in.motions(), memory, in.contacts);
    lanes.sync();
}

// The fast worlds, when the others are done: what the group kept is written over.
SIM_INLINE void collide_fast_worlds(Lanes& lanes, const CollideInput& in, int slot, int worlds, const ManyMemory& m,
                                    const GroupMemory& memory) {
    unsigned fast = 0;
    for (int w = 0; w < worlds; ++w) fast |= m.world[w].fast ? 1u << w : 0u;
    lanes.sync();
    SIM_ROLLED
    for (int w = 0; w < worlds; ++w)
        if (fast >> w & 1u) collide_fast_world(lanes, in, slot + w, memory);
}

// Contacts of MANY worlds of the batch group, or those that are left, from `slot` on.
SIM_INLINE void collide_group(Lanes& lanes, const CollideInput& in, int slot, const GroupMemory& memory) {
    const Topology t(in.topology);
    const StateMotions motions = in.motions();
    MemoryBump bump(memory.fast), slow(memory.slow);
    ManyMemory m = take_many_memory(bump, slow, t);
    const int left = t.worlds() - slot, worlds = left < MANY ? left : MANY;
    find_worlds(lanes, t, in.model, slot, worlds, in.contacts, m);
    place_many(lanes, t, in.model, in.body_q, worlds, m);
    if (in.dt > 0) find_fast_worlds(lanes, t, motions, worlds, m);
    const int candidates = list_many(lanes, t, in.model, worlds, m);
    collide_candidates(lanes, t, in.model, candidates, m);
    const int total = number_contacts(lanes, worlds, candidates, in.contacts, m);
    SIM_ROLLED
    for (int c = 0; c < total; c += FINISHED) {
        const int count = total - c < FINISHED ? total - c : FINISHED;
        for_lanes(i, 0, count) finish_found(t, motions, candidates, c + i, in.contacts, m, i);
        lanes.sync();
        store_vectors(lanes, *m.finished, count, in.contacts);
        lanes.sync();
    }
    if (in.dt > 0) collide_fast_worlds(lanes, in, slot, worlds, m, memory);
}
