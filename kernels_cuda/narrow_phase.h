// The contacts of candidates (broad_phase.h). `Pairs` says how a pair is collided, as for collide_world of collide.h.
#pragma once

#include "broad_phase.h"

inline constexpr int MOST_CONTACTS = 16;  // of one pair

template <class Pairs>
SIM_FUNCTION int collide_found(const ModelView& model, const real* body_q, const ShapePlace* place,
                               const FoundPair& found, Contact* records) {
    const int body0 = model.shape_body[found.shape0], body1 = model.shape_body[found.shape1];
    const Transform pose0 = body0 < 0 ? identity_transform() : load_transform(&body_q[7 * body0]);
    const Transform pose1 = body1 < 0 ? identity_transform() : load_transform(&body_q[7 * body1]);
    const ContactPair pair = {found.shape0, found.shape1, 0, 0, 0};
    return collide_shapes<Pairs>(model, found.routine, place[found.shape0], place[found.shape1], pair, pose0, pose1,
                                 records);
}

// Contacts of each candidate into its `most` records, their number, and its world; behind the last candidate: none.
template <class Pairs>
SIM_FUNCTION void collide_candidates(int n, const ModelView& model, const int* plan, const real* body_q,
                                     const unsigned char* places, const int64* total, bool wide,
                                     const unsigned char* keys, int most, unsigned char* records, int* counts,
                                     int* worlds_of) {
    const SearchView s(plan);
    Contact* record = (Contact*)records;
    for_each(i, n) {
        counts[i] = 0;
        if (i >= total[0]) continue;
        const KeyedPair at = pair_of_key(s, model, load_key(keys, wide, i));
        worlds_of[i] = at.world;
        counts[i] = collide_found<Pairs>(model, body_q, (const ShapePlace*)places, at.pair, record + int64(i) * most);
    }
}

// Contacts of the rows whose candidates did not fit: counted alone.
template <class Pairs>
SIM_FUNCTION void count_lost(int n, const ModelView& model, const int* plan, const real* body_q,
                             const PlacedShapes& at, const int* kept_end, int* lost) {
    const SearchView s(plan);
    for_each(row, n) {
        if (row < kept_end[row_world(s, model, int(row))]) continue;
        int count = 0;
        search_row(s, model, at, int(row), [&](const FoundPair& pair) {
            Contact records[MOST_CONTACTS];
            count += collide_found<Pairs>(model, body_q, at.place, pair, records);
        });
        lost[row] = count;
    }
}
