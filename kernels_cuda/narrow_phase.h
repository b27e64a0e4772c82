// The contacts of candidates (broad_phase.h). `Pairs` says how a pair is collided, as for collide_world of collide.h.
#pragma once

#include "broad_dense.h"

// Are two boxes further apart than they reach along an axis of one of them? A quick no before the routine: the slack is
// more than both may be off, so that what it refuses has no contacts. Where the boxes are turned against each other by
// `turn`, the one's half extents reach |turn| h along the axes of the other.
SIM_FUNCTION bool boxes_apart(const ModelView& model, const ShapePlace* place, const Candidate& pair) {
    const Transform &a = place[pair.shape0].pose, &b = place[pair.shape1].pose;
    const vec3 ha = load_vec3(&model.shape_size[3 * pair.shape0]), hb = load_vec3(&model.shape_size[3 * pair.shape1]);
    const PairReach own = pair_reach(model, pair.shape0, pair.shape1, pair.parameter);
    const mat33 turn = mat33_from_quat(conjugate(a.q) * b.q);
    const vec3 in_a = inverse_rotate(a.q, b.p - a.p), in_b = transpose_multiply(turn, in_a);
    const real reach = multiply_add(real(1e-3), ha.x + ha.y + ha.z + hb.x + hb.y + hb.z, own.margin + own.gap);
    real most = -REAL_INFINITY;
    for (int i = 0; i < 3; ++i) {
        most = maximum(most, absolute(in_a[i]) - ha[i] - dot(absolute(turn[i]), hb));
        most = maximum(most, absolute(in_b[i]) - hb[i] - dot(absolute(column(turn, i)), ha));
    }
    return most > reach;
}

// Is the routine to be asked for the contacts of a candidate?
SIM_INLINE bool is_worth_colliding(const ModelView& model, const ShapePlace* place, const StateMotions& motions,
                                   const Candidate& pair) {
    if (pair.routine != PAIR_BOX_BOX || !boxes_apart(model, place, pair)) return true;
    return motions.dt > 0 && sweep_of_found(model, place, motions, pair).span > 0;
}

template <class Pairs>
SIM_FUNCTION int collide_found(const ModelView& model, const StateMotions& motions, const ShapePlace* place,
                               const Candidate& found, Contact* records) {
    const int body0 = model.shape_body[found.shape0], body1 = model.shape_body[found.shape1];
    const Transform pose0 = body0 < 0 ? identity_transform() : load_transform(&motions.body_q[7 * body0]);
    const Transform pose1 = body1 < 0 ? identity_transform() : load_transform(&motions.body_q[7 * body1]);
    const ContactPair pair = {found.shape0, found.shape1, 0, 0, found.parameter, 0};
    PairSweep sweep;
    sweep.span = 0;
    if (motions.dt > 0) sweep = sweep_of_found(model, place, motions, found);
    return collide_shapes<Pairs>(model, found.routine, place[found.shape0], place[found.shape1], pair, pose0, pose1,
                                 sweep.span > 0 ? &sweep : nullptr, records);
}

// The same where contacts are only counted, seldom: one piece of code for all kernels.
template <class Pairs>
SIM_NOINLINE int count_found(const ModelView& model, const StateMotions& motions, const ShapePlace* place,
                             const Candidate& found, Contact* records) {
    return collide_found<Pairs>(model, motions, place, found, records);
}

// Contacts of a tile of candidates: `list` has `count` of them. Those that are worth it are collided, one by a lane,
// the i-th of them into the `most` records from `most` i on; counts[i] are its contacts. `memory`: ints (TILE). Returns
// the contacts of all.
template <class Pairs>
SIM_FUNCTION int collide_tile(Lanes& lanes, const ModelView& model, const StateMotions& motions,
                              const ShapePlace* place, const Candidate* list, int count, int most, Contact* records,
                              int* counts, int* memory) {
    const int worth = list_wanted(
        lanes, count, [&](int i) { return is_worth_colliding(model, place, motions, list[i]); },
        [&](int i, int before) { memory[before] = i; });
    lanes.sync();
    for_lanes(i, 0, TILE) {
        counts[i] = i < worth ? collide_found<Pairs>(model, motions, place, list[memory[i]], records + i * most) : 0;
    }
    lanes.sync();
    return lanes.scan(worth, [&](int i) { return counts[i]; });
}

template <class Pairs>
SIM_FUNCTION void collide_tiles(int tiles, const ModelView& model, const StateMotions& motions,
                                const unsigned char* places, const int* tile_world, const int* room_start,
                                const int* kept, const int* candidates, int most, unsigned char* records, int* counts,
                                int* tile_contacts, const Scratch& scratch) {
    const Candidate* list = (const Candidate*)candidates;
    for_each_world(tiles, scratch, [&](Lanes& lanes, int tile, char* memory) {
        const int world = tile_world[tile], first = TILE * tile;
        const int left = room_start[world] + kept[world] - first, count = left < TILE ? left : TILE;
        int found = 0;
        if (count > 0)
            found = collide_tile<Pairs>(lanes, model, motions, (const ShapePlace*)places, list + first, count, most,
                                        (Contact*)records + int64(first) * most, counts + first, (int*)memory);
        if (lanes.lane() == 0) tile_contacts[tile] = found;
    });
}

// Contacts of the rows whose candidates did not fit: counted alone, by `groups` groups of lanes. Records are where
// those of candidates were: each lane has `most` of its own.
template <class Pairs>
SIM_FUNCTION void count_lost(int groups, int rows, const ModelView& model, const int* plan, const PlacedShapes& at,
                             const int* kept_end, const int* dropped, int most, unsigned char* records, int* lost,
                             const Scratch& scratch) {
    const SearchView s(plan);
    for_each_world(groups, scratch, [&](Lanes& lanes, int group, char*) {
        Contact* record = (Contact*)records + int64(group * LANES_OF_RECORDS + lanes.lane()) * most;
        SIM_ROLLED
        for (int row = group * lanes.count() + lanes.lane(); row < rows; row += groups * lanes.count()) {
            const int world = row_world(s, model, row);
            if (!dropped[world]) continue;
            int count = 0;
            if (row >= kept_end[world])
                search_row(s, model, at, row, [&](const Candidate& pair) {
                    count += count_found<Pairs>(model, at.motions, at.place, pair, record);
                });
            lost[row] = count;
        }
    });
}

// The same for the pairs of the cells of broad_dense.h that did not fit.
template <class Pairs>
SIM_FUNCTION void count_lost_of_cells(int groups, int cells, const ModelView& model, const DenseView& d,
                                      const StateMotions& motions, const ShapePlace* place, const uint64* meets,
                                      const int64* offsets, const int* room, const int* dropped, int most,
                                      unsigned char* records, int* lost, const Scratch& scratch) {
    for_each_world(groups, scratch, [&](Lanes& lanes, int group, char* memory) {
        CellMemory& m = *(CellMemory*)memory;
        Contact* record = (Contact*)records + int64(group * LANES_OF_RECORDS + lanes.lane()) * most;
        const int end = int(int64(cells) * (group + 1) / groups);
        for (int i = int(int64(cells) * group / groups); i < end; ++i) {
            const Cell cell = d.cell[i];
            if (!dropped[cell.world]) {
                i = d.cell_start[cell.world + 1] - 1;  // on to the next world
                continue;
            }
            int count = 0;
            for_pairs_of_cell(lanes, d, model, cell, &meets[int64(BOX_LANES) * i], offsets, m,
                              [&](const Candidate& pair, int64 position) {
                                  if (position >= room[cell.world])
                                      count += count_found<Pairs>(model, motions, place, pair, record);
                              });
            const int sum = lanes.scan(lanes.count(), [&](int) { return count; });
            if (lanes.lane() == 0) lost[i] = sum;
        }
    });
}
