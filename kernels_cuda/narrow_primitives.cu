// Contacts of candidates that are all of the pairs that a step collides by itself (narrow_phase.h).
#include "narrow_phase.h"

// Contacts of the candidates, in the order of their keys.
extern "C" __global__ void narrow_candidates(int n, const ModelView model, const int* plan, const real* body_q,
                                             const unsigned char* places, const int64* total /* (1) */, bool wide,
                                             const unsigned char* keys, int most, unsigned char* records,
                                             int* counts /* (n) */, int* worlds_of /* (n) */) {
    collide_candidates<PrimitivePairs>(n, model, plan, body_q, places, total, wide, keys, most, records, counts,
                                       worlds_of);
}

// Contacts of the rows of pairs that had no room among the candidates.
extern "C" __global__ void narrow_lost(int n, const ModelView model, const int* plan, const real* body_q,
                                       const unsigned char* nodes, const int* roots, const int* primitives,
                                       const real* packed, const unsigned char* places, const int* box_of,
                                       const real* lower, const real* upper, const int* kept_end, int* lost /* (n) */) {
    const PlacedShapes at = placed_shapes(nodes, roots, primitives, packed, places, box_of, lower, upper);
    count_lost<PrimitivePairs>(n, model, plan, body_q, at, kept_end, lost);
}
