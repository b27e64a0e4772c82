// The search for pairs of worlds whose pairs are not listed: places and boxes of shapes, candidates in order, and their
// contacts (narrow_phase.h) into the slabs. See simengine/collision/broad_phase.py for the order of the kernels.
#include "broad_phase.h"
#include "contact_slab.h"

extern "C" __global__ void broad_place(int n, const ModelView model, const real* body_q, const int* box_of /* (n) */,
                                       unsigned char* places, real* lower, real* upper) {
    ShapePlace* place = (ShapePlace*)(unsigned char*)places;
    for_each(i, n) {
        const int body = model.shape_body[i], box = box_of[i];
        const Transform pose = body < 0 ? identity_transform() : load_transform(&body_q[7 * body]);
        const ShapePlace at = shape_place(model, int(i), contact_pose(pose));
        place[i] = at;
        if (box < 0) continue;
        const Bounds bounds = search_bounds(model, int(i), at);
        store_vec3(&lower[3 * box], bounds.lower);
        store_vec3(&upper[3 * box], bounds.upper);
    }
}

// How many candidates each row has.
extern "C" __global__ void broad_count(int n, const ModelView model, const int* plan, const unsigned char* nodes,
                                       const int* roots, const int* primitives, const real* packed,
                                       const unsigned char* places, const int* box_of, const real* lower,
                                       const real* upper, int* counts /* (n) */) {
    const SearchView s(plan);
    const PlacedShapes at = placed_shapes(nodes, roots, primitives, packed, places, box_of, lower, upper);
    for_each(row, n) {
        int count = 0;
        search_row(s, model, at, int(row), [&](const FoundPair&) { ++count; });
        counts[row] = count;
    }
}

// The row of each world from which on its candidates do not fit into its room, and how many of them do.
extern "C" __global__ void broad_fit(int n, const int* plan, const int64* offsets, const int* room /* (n) */,
                                     int* kept_end /* (n) */, int* kept /* (n) */) {
    const SearchView s(plan);
    for_each(world, n) {
        const int begin = s.row_start[world];
        int low = begin, high = s.row_start[world + 1];
        while (low < high) {
            const int middle = low + (high - low + 1) / 2;
            const bool fits = offsets[middle] - offsets[begin] <= room[world];
            low = fits ? middle : low;
            high = fits ? high : middle - 1;
        }
        kept_end[world] = low;
        kept[world] = int(offsets[low] - offsets[begin]);
    }
}

// Keys behind those of all candidates are larger than any of them. `wide`: of 64 bits.
extern "C" __global__ void broad_clear(int n, const int64* total /* (1) */, bool wide, unsigned char* keys) {
    for_each(i, n) {
        if (i >= total[0]) store_key(keys, wide, i, ~uint64(0));
    }
}

// The keys of the candidates that fit, those of a world side by side.
extern "C" __global__ void broad_list(int n, const ModelView model, const int* plan, const unsigned char* nodes,
                                      const int* roots, const int* primitives, const real* packed,
                                      const unsigned char* places, const int* box_of, const real* lower,
                                      const real* upper, const int64* offsets, const int64* world_first,
                                      const int* kept_end, bool wide, unsigned char* keys) {
    const SearchView s(plan);
    const PlacedShapes at = placed_shapes(nodes, roots, primitives, packed, places, box_of, lower, upper);
    for_each(row, n) {
        const int world = row_world(s, model, int(row));
        if (row >= kept_end[world]) continue;
        int64 next = world_first[world] + offsets[row] - offsets[s.row_start[world]];
        search_row(s, model, at, int(row),
                   [&](const FoundPair& pair) { store_key(keys, wide, next++, pair_key(s, model, world, pair)); });
    }
}

// Contacts of the candidates, each with room for `most`, into the slabs.
extern "C" __global__ void broad_store(int n, const int* worlds_of /* (n) */, const int64* world_first,
                                       const int* counts /* (n) */, const int64* offsets, int most,
                                       const unsigned char* records, const ContactsArrays contacts) {
    const Contact* record = (const Contact*)(const unsigned char*)records;
    for_each(i, n) {
        if (counts[i] == 0) continue;
        const int world = worlds_of[i], first = contacts.world_start[world];
        const int64 room = contacts.world_start[world + 1] - first, before = offsets[i] - offsets[world_first[world]];
        for (int k = 0; k < counts[i] && before + k < room; ++k)
            store_contact(contacts, int(first + before) + k, record[int64(i) * most + k]);
    }
}

// How many contacts each world has, and needs: with those of the rows whose candidates did not fit.
extern "C" __global__ void broad_finish(int n, const int* plan, const int64* world_first, const int64* offsets,
                                        const int* kept_end /* (n) */, const int* lost, const ContactsArrays contacts) {
    const SearchView s(plan);
    for_each(world, n) {
        const int64 found = offsets[world_first[world + 1]] - offsets[world_first[world]];
        const int64 room = contacts.world_start[world + 1] - contacts.world_start[world];
        int64 needed = found;
        for (int row = kept_end[world]; row < s.row_start[world + 1]; ++row) needed += lost[row];
        contacts.count[world] = int(found < room ? found : room);
        contacts.needed[world] = int(needed < 0x7fffffff ? needed : 0x7fffffff);
    }
}
