// The kernels that collide candidates (narrow_phase.h), for a file that says with NarrowPairs how a pair is collided.
#pragma once

#include "narrow_phase.h"

// Contacts of the candidates, in their order.
extern "C" __global__ void __launch_bounds__(128, 4)
    narrow_candidates(int tiles, const ModelView model, const real* body_q, const real* body_qd,
                                             double dt, const unsigned char* places,
                                             const int* tile_world /* (tiles) */, const int* room_start,
                                             const int* kept, const int* candidates, int most, unsigned char* records,
                                             int* counts, int* tile_contacts /* (tiles) */, const Scratch scratch) {
    collide_tiles<NarrowPairs>(tiles, model, StateMotions{model, body_q, body_qd, real(dt)}, places, tile_world,
                               room_start, kept, candidates, most, records, counts, tile_contacts, scratch);
}

// Contacts of the rows of pairs that had no room among the candidates.
extern "C" __global__ void narrow_lost(int groups, int rows, const ModelView model, const int* plan, const real* body_q,
                                       const real* body_qd, double dt, const unsigned char* nodes, const int* roots,
                                       const int* primitives, const real* packed, const unsigned char* places,
                                       const int* box_of, const real* lower, const real* upper, const int* kept_end,
                                       const int* dropped, int most, unsigned char* records, int* lost /* (rows) */,
                                       const Scratch scratch) {
    const PlacedShapes at = placed_shapes(nodes, roots, primitives, packed, places, box_of, lower, upper,
                                          StateMotions{model, body_q, body_qd, real(dt)});
    count_lost<NarrowPairs>(groups, rows, model, plan, at, kept_end, dropped, most, records, lost, scratch);
}

// The same for pairs that are found by comparing all boxes.
extern "C" __global__ void narrow_lost_dense(int groups, int cells, const ModelView model, const int* plan,
                                             const real* body_q, const real* body_qd, double dt,
                                             const unsigned char* places, const uint64* meets, const int64* offsets,
                                             const int* room, const int* dropped, int most, unsigned char* records,
                                             int* lost /* (cells) */, const Scratch scratch) {
    const ShapePlace* place = (const ShapePlace*)(const unsigned char*)places;
    count_lost_of_cells<NarrowPairs>(groups, cells, model, DenseView(plan),
                                     StateMotions{model, body_q, body_qd, real(dt)}, place, meets, offsets, room,
                                     dropped, most, records, lost, scratch);
}
