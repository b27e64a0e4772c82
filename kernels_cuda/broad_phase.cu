// The search for pairs of worlds whose pairs are not listed: places and boxes of shapes, candidates in order, and their
// contacts (narrow_phase.h) into the slabs. See simengine/collision/broad_phase.py for the order of the kernels.
#include "broad_phase.h"
#include "contact_slab.h"

extern "C" __global__ void broad_place(int n, const ModelView model, const real* body_q, const real* body_qd, double dt,
                                       const int* box_of /* (n) */, unsigned char* places, real* lower, real* upper) {
    ShapePlace* place = (ShapePlace*)(unsigned char*)places;
    for_each(i, n) {
        const int body = model.shape_body[i], box = box_of[i];
        const Transform pose = body < 0 ? identity_transform() : load_transform(&body_q[7 * body]);
        const ShapePlace at = shape_place(model, int(i), contact_pose(pose));
        place[i] = at;
        if (box < 0) continue;
        const Bounds bounds = search_bounds(model, int(i), at, StateMotions{model, body_q, body_qd, real(dt)});
        store_vec3(&lower[3 * box], bounds.lower);
        store_vec3(&upper[3 * box], bounds.upper);
    }
}

// How many candidates each row has.
extern "C" __global__ void broad_count(int n, const ModelView model, const int* plan, const real* body_q,
                                       const real* body_qd, double dt, const unsigned char* nodes, const int* roots,
                                       const int* primitives, const real* packed, const unsigned char* places,
                                       const int* box_of, const real* lower, const real* upper, int* counts /* (n) */) {
    const SearchView s(plan);
    const PlacedShapes at = placed_shapes(nodes, roots, primitives, packed, places, box_of, lower, upper,
                                          StateMotions{model, body_q, body_qd, real(dt)});
    for_each(row, n) {
        int count = 0;
        search_row(s, model, at, int(row), [&](const Candidate&) { ++count; });
        counts[row] = count;
    }
}

// The row of each world from which on its candidates do not fit into its room, how many of them do, and whether any do
// not.
extern "C" __global__ void broad_fit(int n, const int* plan, const int64* offsets, const int* room /* (n) */,
                                     int* kept_end /* (n) */, int* kept /* (n) */, int* dropped /* (n) */) {
    const SearchView s(plan);
    for_each(world, n) {
        const int begin = s.row_start[world], end = s.row_start[world + 1];
        const int64 before = offsets[begin];
        int low = begin, high = end;
        if (offsets[end] - before <= room[world]) low = end;
        while (low < high) {
            const int middle = low + (high - low + 1) / 2;
            const bool fits = offsets[middle] - before <= room[world];
            low = fits ? middle : low;
            high = fits ? high : middle - 1;
        }
        kept_end[world] = low;
        kept[world] = int(offsets[low] - before);
        dropped[world] = low < end;
    }
}

// Keys behind those of all candidates are larger than any of them. `wide`: of 64 bits.
extern "C" __global__ void broad_clear(int n, const int64* total /* (1) */, bool wide, unsigned char* keys) {
    for_each(i, n) {
        if (i >= total[0]) store_key(keys, wide, i, ~uint64(0));
    }
}

// The keys of the candidates that fit, those of a world side by side.
extern "C" __global__ void broad_list(int n, const ModelView model, const int* plan, const real* body_q,
                                      const real* body_qd, double dt, const unsigned char* nodes, const int* roots,
                                      const int* primitives, const real* packed, const unsigned char* places,
                                      const int* box_of, const real* lower, const real* upper, const int64* offsets,
                                      const int64* world_first, const int* kept_end, bool wide, unsigned char* keys) {
    const SearchView s(plan);
    const PlacedShapes at = placed_shapes(nodes, roots, primitives, packed, places, box_of, lower, upper,
                                          StateMotions{model, body_q, body_qd, real(dt)});
    for_each(row, n) {
        const int world = row_world(s, model, int(row));
        if (row >= kept_end[world]) continue;
        int64 next = world_first[world] + offsets[row] - offsets[s.row_start[world]];
        search_row(s, model, at, int(row),
                   [&](const Candidate& pair) { store_key(keys, wide, next++, candidate_key(s, model, world, pair)); });
    }
}

// The candidates in the order of their keys, each world's at its room.
extern "C" __global__ void broad_unpack(int n, const ModelView model, const int* plan, const int64* total /* (1) */,
                                        bool wide, const unsigned char* sorted_keys, const int64* world_first,
                                        const int* room_start, int* candidates) {
    const SearchView s(plan);
    Candidate* list = (Candidate*)(int*)candidates;
    for_each(i, n) {
        if (i >= total[0]) continue;
        const KeyedCandidate at = candidate_of_key(s, model, load_key(sorted_keys, wide, i));
        list[room_start[at.world] + (i - world_first[at.world])] = at.pair;
    }
}

// Contacts of the tiles of candidates (narrow_phase.h) into the slabs, one by a lane.
extern "C" __global__ void broad_store(int tiles, const int* tile_world /* (tiles) */, const int* tile_start,
                                       const int64* tile_offsets /* (tiles + 1) */, const int* counts, int most,
                                       const unsigned char* records, const ContactsArrays contacts,
                                       const Scratch scratch) {
    const Contact* record = (const Contact*)(const unsigned char*)records;
    for_each_world(tiles, scratch, [&](Lanes& lanes, int tile, char* memory) {
        const int64 begin = tile_offsets[tile], end = tile_offsets[tile + 1];
        if (end == begin) return;
        const int world = tile_world[tile], first = contacts.world_start[world];
        const int64 before_tile = begin - tile_offsets[tile_start[world]];
        const int64 room = contacts.world_start[world + 1] - first - before_tile;
        int* record_of = (int*)memory;  // of each contact of the tile
        lanes.scan(
            TILE, [&](int i) { return counts[TILE * tile + i]; },
            [&](int i, int before) {
                for (int k = 0; k < counts[TILE * tile + i]; ++k) record_of[before + k] = i * most + k;
            });
        lanes.sync();
        const int all = int(end - begin), count = all < room ? all : int(room > 0 ? room : 0);
        for_lanes(c, 0, count)
            store_contact(contacts, int(first + before_tile) + c, record[int64(TILE) * tile * most + record_of[c]]);
    });
}

// The sum of n terms of at most 31 bits, scanned in two parts and so few at a time that no sum of parts needs more.
template <class Term>
SIM_FUNCTION int64 long_sum(Lanes& lanes, int n, Term term) {
    constexpr int LOW_BITS = 15, AT_ONCE = 1 << 14;
    int64 sum = 0;
    for (int begin = 0; begin < n; begin += AT_ONCE) {
        const int count = n - begin < AT_ONCE ? n - begin : AT_ONCE;
        sum += lanes.scan(count, [&](int i) { return term(begin + i) & ((1 << LOW_BITS) - 1); });
        sum += int64(lanes.scan(count, [&](int i) { return term(begin + i) >> LOW_BITS; })) << LOW_BITS;
    }
    return sum;
}

// How many contacts each world has, and needs: with those of candidates that had no room, of each row (or cell).
extern "C" __global__ void broad_finish(int worlds, const int* tile_start, const int64* tile_offsets,
                                        const int* dropped /* (worlds) */, const int* lost_start /* (worlds + 1) */,
                                        const int* lost, const ContactsArrays contacts, const Scratch scratch) {
    for_each_world(worlds, scratch, [&](Lanes& lanes, int world, char*) {
        const int64 found = tile_offsets[tile_start[world + 1]] - tile_offsets[tile_start[world]];
        const int64 room = contacts.world_start[world + 1] - contacts.world_start[world];
        int64 needed = found;
        if (dropped[world]) {
            const int begin = lost_start[world];
            needed += long_sum(lanes, lost_start[world + 1] - begin, [&](int i) { return lost[begin + i]; });
        }
        if (lanes.lane() != 0) return;
        contacts.count[world] = int(found < room ? found : room);
        contacts.needed[world] = int(needed < 0x7fffffff ? needed : 0x7fffffff);
    });
}
