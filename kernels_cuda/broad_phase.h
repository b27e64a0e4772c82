// Pairs of shapes that may touch, found from trees of boxes (bvh.h), for worlds whose pairs are too many to list.
//
// A row is a shape that moves, or an explicit pair. A shape is worked against the trees of its world and of the shared
// shapes and against planes and height fields, which reach down without end and are in no tree; what two rows would
// both find belongs to the one of the lower shape. The rules are those of simengine/builder/pairs.py, and a pair must
// pass may_touch of collide.h as a listed one does: so the pairs that are worked differ from listed ones by none that
// has contacts.
#pragma once

#include "bvh_query.h"
#include "collide.h"
#include "shape_bounds.h"

// A pair of shapes, as rows of the model: the first has the smaller type or, of two alike, the smaller number.
struct Candidate {
    int shape0, shape1, routine;
    int parameter;  // as of Contact
};

// Candidates of a world are worked in tiles of TILE; where their contacts are only counted, a group of lanes has
// records for LANES_OF_RECORDS of them.
inline constexpr int TILE = 32, LANES_OF_RECORDS = 32;

// The sizes that simengine/collision/broad_phase.py makes room by.
static_assert(sizeof(Candidate) == 4 * sizeof(int), "candidates");
static_assert(sizeof(ShapePlace) == 10 * sizeof(real), "PLACE_BYTES");
static_assert(sizeof(Contact) == 18 * sizeof(real) + 6 * sizeof(int), "CONTACT_BYTES");

// What a search reads: pieces of the array `plan` of simengine/collision/broad_phase.py, which begins with the two
// numbers and with where each piece begins. Starts are over the worlds and, behind them, the shared shapes: (worlds +
// 2).
struct SearchView {
    const int* row;           // a shape, or ~i for explicit pair i; in the order of the worlds
    const int* row_start;     // (worlds + 1) first row of each world
    const int* member;        // shapes in the trees
    const int* endless;       // planes and height fields that collide
    const int* endless_start;
    const int* still;         // other colliding shapes that nothing moves
    const int* still_start;
    const int* routine_of;    // (types, types)
    int types;
    int shape_bits;           // of a shape's number within its world

    SIM_INLINE explicit SearchView(const int* plan)
        : row(plan + plan[2]), row_start(plan + plan[3]), member(plan + plan[4]), endless(plan + plan[5]),
          endless_start(plan + plan[6]), still(plan + plan[7]), still_start(plan + plan[8]), routine_of(plan + plan[9]),
          types(plan[0]), shape_bits(plan[1]) {}
};

SIM_INLINE Candidate ordered_pair(const SearchView& s, const ModelView& model, int a, int b, int parameter) {
    const int type_a = model.shape_type[a], type_b = model.shape_type[b];
    const bool swap = type_a > type_b || (type_a == type_b && a > b);
    return swap ? Candidate{b, a, s.routine_of[type_b * s.types + type_a], parameter}
                : Candidate{a, b, s.routine_of[type_a * s.types + type_b], parameter};
}

// Is (low, high) among the sorted pairs that are passed over?
SIM_INLINE bool is_filtered(const ModelView& model, int a, int b) {
    const int low = a < b ? a : b, high = a < b ? b : a;
    int begin = 0, end = model.filtered_pairs;
    while (begin < end) {
        const int middle = begin + (end - begin) / 2;
        const int first = model.filtered_shape0[middle];
        const bool before = first < low || (first == low && model.filtered_shape1[middle] < high);
        begin = before ? middle + 1 : begin;
        end = before ? end : middle;
    }
    return begin < model.filtered_pairs && model.filtered_shape0[begin] == low && model.filtered_shape1[begin] == high;
}

// The rules of bodies, joints, groups and masks, for two colliding shapes of which one moves. All is read before any of
// it is looked at: on a GPU loads that wait for each other take longest.
SIM_INLINE bool rules_allow(const ModelView& model, int a, int b) {
    const int rigid_a = model.shape_rigid_body[a], rigid_b = model.shape_rigid_body[b];
    const int parent_a = model.shape_parent_body[a], parent_b = model.shape_parent_body[b];
    const int group_a = model.shape_group[a], group_b = model.shape_group[b];
    const int masks = (model.shape_contype[a] & model.shape_conaffinity[b]) |
                      (model.shape_contype[b] & model.shape_conaffinity[a]);
    const bool joined = (rigid_a == rigid_b) | ((rigid_a >= 0) & (parent_b == rigid_a)) |
                        ((rigid_b >= 0) & (parent_a == rigid_b));
    const bool grouped = (group_a == group_b) | (group_a == -1) | (group_b == -1);
    return !joined & grouped & (masks != 0) && !is_filtered(model, a, b);
}

// The first explicit pair that does not stand before (shape0, shape1); the first of a pair has the smaller type or, of
// two alike, the smaller number.
SIM_INLINE int first_explicit(const ModelView& model, int shape0, int shape1) {
    int begin = 0, end = model.explicit_pairs;
    while (begin < end) {
        const int middle = begin + (end - begin) / 2;
        const int first = model.explicit_shape0[middle];
        const bool before = first < shape0 || (first == shape0 && model.explicit_shape1[middle] < shape1);
        begin = before ? middle + 1 : begin;
        end = before ? end : middle;
    }
    return begin;
}

// The contact pair that two shapes are, -1 none.
SIM_INLINE int explicit_parameter(const ModelView& model, int shape0, int shape1) {
    const int i = first_explicit(model, shape0, shape1);
    const bool is_there =
        i < model.explicit_pairs && model.explicit_shape0[i] == shape0 && model.explicit_shape1[i] == shape1;
    return is_there ? model.explicit_parameter[i] : -1;
}

SIM_INLINE int row_world(const SearchView& s, const ModelView& model, int row) {
    return model.shape_world[s.row[row] >= 0 ? s.row[row] : model.explicit_shape0[~s.row[row]]];
}

SIM_INLINE bool is_endless(const ModelView& model, int shape) { return model.shape_type[shape] <= SHAPE_HEIGHTFIELD; }

// The box that holds all of a box on the way of the shape in it.
SIM_FUNCTION Bounds bounds_on_the_way(const ModelView& model, int shape, const Transform& pose, const Bounds& b,
                                      const StateMotions& motions) {
    const BodyMotion motion = motions(0, shape);
    const real turn = motions.dt * turning_speed(model, shape, pose, motion);
    const vec3 way = motions.dt * motion.linear, wide = {turn, turn, turn};
    if (!is_finite(way) || !is_finite(turn)) return b;  // is not followed
    return {b.lower + minimum(way, zero_vec3()) - wide, b.upper + maximum(way, zero_vec3()) + wide};
}

// A box of the trees: about the shape (of a mesh: its bounding sphere) with margin and gap, and its way where shapes
// are followed; wider by more than what distances and poses may be off. What is not a number is put at the origin,
// where may_touch refuses it.
SIM_FUNCTION Bounds search_bounds(const ModelView& model, int shape, const ShapePlace& place,
                                  const StateMotions& motions) {
    const int type = model.shape_type[shape], mesh = model.shape_mesh[shape];
    const vec3 size = load_vec3(&model.shape_size[3 * shape]), p = place.pose.p;
    const real reach = place.margin + place.gap;
    const real slack = real(1e-3) * absolute(place.reach) +
                       64 * REAL_EPSILON * maximum(absolute(p.x), maximum(absolute(p.y), absolute(p.z)));
    Bounds b;
    if (type == SHAPE_CONVEX_HULL)
        b = point_bounds(place.pose, size, model.hull_point, model.mesh_hull_point_start[mesh],
                         model.mesh_hull_point_start[mesh + 1]);
    else if (mesh >= 0)
        b = around(p, vec3{place.reach - reach, place.reach - reach, place.reach - reach});
    else
        b = solid_bounds(type, place.pose, size);
    if (motions.dt > 0) b = bounds_on_the_way(model, shape, place.pose, b, motions);
    const real wide = reach + slack, most = real(1e18);
    const vec3 lower = b.lower - vec3{wide, wide, wide}, upper = b.upper + vec3{wide, wide, wide};
    if (!(lower.x <= upper.x && lower.y <= upper.y && lower.z <= upper.z)) return {zero_vec3(), zero_vec3()};
    const vec3 corner = {most, most, most};
    return {maximum(minimum(lower, corner), -corner), maximum(minimum(upper, corner), -corner)};
}

// Where the shapes are, and the trees of their boxes.
struct PlacedShapes {
    BvhView bvh;
    const ShapePlace* place;  // (shapes)
    const int* box_of;        // (shapes) place of a shape's box, -1 none
    const real* lower;        // (boxes, 3)
    const real* upper;
    StateMotions motions;
};

SIM_INLINE PlacedShapes placed_shapes(const unsigned char* nodes, const int* roots, const int* primitives,
                                      const real* packed, const unsigned char* places, const int* box_of,
                                      const real* lower, const real* upper, const StateMotions& motions) {
    return {BvhView(nodes, roots, primitives, packed, 6), (const ShapePlace*)places, box_of, lower, upper, motions};
}

SIM_STAGE PairSweep sweep_of_found(const ModelView& model, const ShapePlace* place, const StateMotions& motions,
                                   const Candidate& pair) {
    return begin_sweep(model, motions, 0, pair.shape0, place[pair.shape0].pose, 0, pair.shape1,
                       place[pair.shape1].pose);
}

// May the shapes of a pair touch, where they stand or on their way?
SIM_FUNCTION bool is_found(const ModelView& model, const ShapePlace* place, const StateMotions& motions,
                           const Candidate& pair) {
    const ShapePlace &a = place[pair.shape0], &b = place[pair.shape1];
    if (pair.routine < 0) return false;
    if (pair_may_touch(model, pair.shape0, a, pair.shape1, b, pair.parameter)) return true;
    if (!(motions.dt > 0)) return false;
    const PairReach own = pair_reach(model, pair.shape0, pair.shape1, pair.parameter);
    return spheres_meet(model, sweep_of_found(model, place, motions, pair), pair.shape0, a.pose.p, pair.shape1,
                        b.pose.p, own.margin + own.gap);
}

// Calls found(pair) for each pair of a row that may touch, in any order.
template <class Found>
SIM_INLINE void search_row(const SearchView& s, const ModelView& model, const PlacedShapes& at, int row, Found found) {
    const int shape = s.row[row];
    const auto consider = [&](const Candidate& pair) {
        if (is_found(model, at.place, at.motions, pair)) found(pair);
    };
    if (shape < 0) {
        const int i = ~shape;
        return consider(
            ordered_pair(s, model, model.explicit_shape0[i], model.explicit_shape1[i], model.explicit_parameter[i]));
    }
    const int world = model.shape_world[shape];
    const auto visit = [&](int other) {
        if (!model.shape_immovable[other] && !is_endless(model, other) && other <= shape) return;
        if (rules_allow(model, shape, other)) consider(ordered_pair(s, model, shape, other, -1));
    };
    const bool endless = is_endless(model, shape);
    const int* list = endless ? s.still : s.endless;
    const int* start = endless ? s.still_start : s.endless_start;
    for (int part = 0; part < 2; ++part) {
        const int group = part == 0 ? world : model.worlds;
        for (int i = start[group]; i < start[group + 1]; ++i) visit(list[i]);
        if (endless) continue;
        const int box = 3 * at.box_of[shape];
        const vec3 low = load_vec3(&at.lower[box]), high = load_vec3(&at.upper[box]);
        bvh_visit_box(at.bvh, at.bvh.roots[group], low, high, [&](int first, int number) {
            for (int k = first; k < first + number; ++k)
                if (boxes_meet(at.bvh.packed + 6 * k, low, high)) visit(s.member[at.bvh.primitive[k]]);
        });
    }
}

// A pair as a number: its world, then its two shapes within the world, so that numbers stand in the order of contacts.
SIM_INLINE uint64 candidate_key(const SearchView& s, const ModelView& model, int world, const Candidate& pair) {
    const uint64 first = uint64(world_shape(model, world, pair.shape0));
    const uint64 second = uint64(world_shape(model, world, pair.shape1));
    return (uint64(world) << (2 * s.shape_bits)) | (first << s.shape_bits) | second;
}

struct KeyedCandidate {
    int world;
    Candidate pair;
};

SIM_INLINE KeyedCandidate candidate_of_key(const SearchView& s, const ModelView& model, uint64 key) {
    const int mask = (1 << s.shape_bits) - 1, world = int(key >> (2 * s.shape_bits));
    const int shape0 = model_shape(model, world, int(key >> s.shape_bits) & mask);
    const int shape1 = model_shape(model, world, int(key) & mask);
    const int routine = s.routine_of[model.shape_type[shape0] * s.types + model.shape_type[shape1]];
    return {world, {shape0, shape1, routine, explicit_parameter(model, shape0, shape1)}};
}

// Keys are of 32 bits where that is enough.
SIM_INLINE void store_key(unsigned char* keys, bool wide, int64 i, uint64 key) {
    if (wide) ((uint64*)keys)[i] = key;
    else ((uint32*)keys)[i] = uint32(key);
}

SIM_INLINE uint64 load_key(const unsigned char* keys, bool wide, int64 i) {
    return wide ? ((const uint64*)keys)[i] : uint64(((const uint32*)keys)[i]);
}
