// Pairs of shapes that may touch, found by comparing the boxes of every two shapes of a world.
//
// A row is a shape of a world, as the first of its pairs: that of the smaller type or, of two alike, of the smaller
// number (`rank` stands in that order). A group of lanes works a cell: CELL_ROWS rows of a world against a chunk of
// boxes. What meets is a bit for each row and box, then the rules of broad_phase.h leave some of the bits, which are
// kept from kernel to kernel. A chunk lies so that a lane's boxes follow one another and neighbouring lanes read
// neighbouring numbers: box k of a chunk of 32 `steps` boxes is at 32 (k % steps) + k / steps. So pairs that are listed
// by rows, chunks, lanes and bits stand in the order of contacts, without a sort.
#pragma once

#include "bits.h"
#include "broad_phase.h"

// As in simengine/collision/broad_dense.py.
inline constexpr int CELL_ROWS = 8, BOX_LANES = 32, CHUNK_STEPS = 8, BOX_COORDINATES = 6;
inline constexpr int BOX_SHARE = BOX_LANES / SIM_LANES;  // boxes of a step that one lane works, at most
inline constexpr int CELL_PAIRS = CELL_ROWS * CHUNK_STEPS * BOX_LANES;

struct Cell {
    int world, row, rows, chunk;
    int count;  // of the first row's number of pairs among all numbers; the next row's is `stride` further on
    int stride;
};

// Pieces of the array `plan` of simengine/collision/broad_dense.py.
struct DenseView {
    const Cell* cell;
    const int* cell_start;   // (worlds + 1)
    const int* count_start;  // (worlds + 1) first number of pairs of each world
    const int* row;          // shape of each row
    const int* chunk_start;  // (chunks + 1) places of boxes
    const int* member;       // shape of each place, -1 none
    const int* place_of;     // (shapes) and back
    const int* rank;         // (shapes)
    const int* routine_of;   // (types, types)
    int types;

    SIM_INLINE explicit DenseView(const int* plan)
        : cell((const Cell*)(plan + plan[1])), cell_start(plan + plan[2]), count_start(plan + plan[3]),
          row(plan + plan[4]), chunk_start(plan + plan[5]), member(plan + plan[6]), place_of(plan + plan[7]),
          rank(plan + plan[8]), routine_of(plan + plan[9]), types(plan[0]) {}
};

// The group's memory for one cell (CELL_BYTES of simengine/collision/broad_dense.py).
struct CellMemory {
    uint64 bits[BOX_LANES];
    int first[CELL_ROWS];             // place of each row's first pair in the list
    unsigned short pair[CELL_PAIRS];  // row, step and lane of what meets: pair_code
};
static_assert(sizeof(CellMemory) == 8 * BOX_LANES + 4 * CELL_ROWS + 2 * CELL_PAIRS, "CELL_BYTES");
static_assert(sizeof(Cell) == 6 * sizeof(int), "columns of DenseTables.cell");

SIM_INLINE int pair_code(int r, int step, int v) { return (r * CHUNK_STEPS + step) * BOX_LANES + v; }
SIM_INLINE int row_of(int code) { return code / (CHUNK_STEPS * BOX_LANES); }
SIM_INLINE int place_in_chunk(int code) { return code % (CHUNK_STEPS * BOX_LANES); }

// The bits of row r of a cell.
SIM_INLINE uint32 bits_of_row(uint64 bits, int r) {
    return uint32(bits >> (CHUNK_STEPS * r)) & ((1u << CHUNK_STEPS) - 1);
}
SIM_INLINE int pairs_of_row(uint64 bits, int r) { return bit_count(bits_of_row(bits, r)); }

// A box that meets none.
SIM_INLINE Bounds no_bounds() {
    const real far = REAL_MAX;
    return {{far, far, far}, {-far, -far, -far}};
}

// Where coordinate c of the box at a place stands: steps of 32 boxes lie together, coordinate by coordinate.
SIM_INLINE int box_coordinate(int place, int c) {
    return BOX_COORDINATES * (place / BOX_LANES * BOX_LANES) + BOX_LANES * c + place % BOX_LANES;
}

SIM_INLINE uint32 sign_of(real x) { return uint32(bits_of(x) >> (8 * sizeof(real) - 1)); }

// Is a box apart from a row's? The signs of six differences, which no rounding changes, cost a GPU less than comparing.
// b: its coordinates, `stride` numbers apart.
SIM_INLINE uint32 is_apart(const Bounds& row, const real* b, int stride) {
    const vec3 low = row.lower, high = row.upper;
    return sign_of(high.x - b[0]) | sign_of(high.y - b[stride]) | sign_of(high.z - b[2 * stride]) |
           sign_of(b[3 * stride] - low.x) | sign_of(b[4 * stride] - low.y) | sign_of(b[5 * stride] - low.z);
}

// Which boxes of the chunk meet those of the rows: bit CHUNK_STEPS r + s of meets[v] is that of row r and box 32 s + v.
// `extents`: of the chunks. Bodies that are numbered one after another mostly lie near each other, and so most chunks
// far from most rows.
SIM_INLINE void compare_boxes(Lanes& lanes, const DenseView& d, const real* bounds, const real* boxes,
                              const real* extents, const Cell& cell, uint64* meets) {
    Bounds rows[CELL_ROWS];
    for (int r = 0; r < CELL_ROWS; ++r) {
        const real* own = bounds + BOX_COORDINATES * d.row[cell.row + (r < cell.rows ? r : 0)];
        rows[r] = r < cell.rows ? Bounds{load_vec3(own), load_vec3(own + 3)} : no_bounds();
    }
    Bounds all = rows[0];
    for (int r = 1; r < CELL_ROWS; ++r) all = {minimum(all.lower, rows[r].lower), maximum(all.upper, rows[r].upper)};
    if (is_apart(all, extents + BOX_COORDINATES * cell.chunk, 1)) {
        for_lanes(v, 0, BOX_LANES) meets[v] = 0;
        return;
    }
    const int begin = d.chunk_start[cell.chunk], end = d.chunk_start[cell.chunk + 1];
    uint32 apart[CELL_ROWS][BOX_SHARE] = {};
    for (int place = end - BOX_LANES; place >= begin; place -= BOX_LANES) {  // so that the first step ends at bit 0
        const real* box = boxes + BOX_COORDINATES * place + lanes.lane();
        for (int r = 0; r < CELL_ROWS; ++r)
            for (int q = 0; q < BOX_LANES / lanes.count(); ++q)
                apart[r][q] = (apart[r][q] << 1) | is_apart(rows[r], box + q * lanes.count(), BOX_LANES);
    }
    const uint32 of_chunk = (1u << ((end - begin) / BOX_LANES)) - 1;
    for (int q = 0; q < BOX_LANES / lanes.count(); ++q) {
        uint64 bits = 0;
        for (int r = 0; r < CELL_ROWS; ++r) bits |= uint64(~apart[r][q] & of_chunk) << (CHUNK_STEPS * r);
        meets[q * lanes.count() + lanes.lane()] = bits;
    }
}

// What the rules read of pairs.
struct DenseRules {
    DenseView view;
    const ModelView& model;
    const ShapePlace* place;
    StateMotions motions;
};

SIM_INLINE Candidate dense_pair(const DenseView& d, const ModelView& model, int shape, int other, int parameter) {
    return {shape, other, d.routine_of[model.shape_type[shape] * d.types + model.shape_type[other]], parameter};
}

// May a row's shape touch another whose box it meets, as the first of a pair that is not explicit?
SIM_FUNCTION bool is_dense_pair(const DenseRules& at, int shape, int other) {
    const ModelView& model = at.model;
    const bool comes_first = at.view.rank[other] > at.view.rank[shape];
    const bool moves = !(model.shape_immovable[shape] & model.shape_immovable[other]);
    if (!(comes_first & moves) || !rules_allow(model, shape, other)) return false;
    return is_found(model, at.place, at.motions, dense_pair(at.view, model, shape, other, -1));
}

// The bits of the explicit pairs of a cell that fall to lane v of 32.
SIM_STAGE uint64 explicit_bits(const DenseRules& at, const Cell& cell, int v) {
    const ModelView& model = at.model;
    const int begin = at.view.chunk_start[cell.chunk], end = at.view.chunk_start[cell.chunk + 1];
    uint64 bits = 0;
    for (int r = 0; r < cell.rows; ++r) {
        const int shape = at.view.row[cell.row + r];
        for (int i = first_explicit(model, shape, 0); i < model.explicit_pairs && model.explicit_shape0[i] == shape;
             ++i) {
            const int other = model.explicit_shape1[i], place = at.view.place_of[other];
            if (place < begin || place >= end || (place - begin) % BOX_LANES != v) continue;
            if (is_found(model, at.place, at.motions,
                         dense_pair(at.view, model, shape, other, model.explicit_parameter[i])))
                bits |= uint64(1) << (CHUNK_STEPS * r + (place - begin) / BOX_LANES);
        }
    }
    return bits;
}

// Are any bits of a cell set?
SIM_INLINE bool meets_any(Lanes& lanes, const uint64* bits) {
    uint64 any = 0;
    for_lanes(v, 0, BOX_LANES) any |= bits[v];
    return lanes.any(any != 0);
}

// Takes from the bits of a cell those that the rules do not allow, and adds those of explicit pairs. What meets is
// dealt out to the lanes evenly: of boxes that lie in order it falls to few of them. Ends with a barrier.
SIM_FUNCTION void apply_rules(Lanes& lanes, const DenseRules& at, const Cell& cell, uint64* bits, CellMemory& m) {
    const int begin = at.view.chunk_start[cell.chunk];
    for_lanes(v, 0, BOX_LANES) m.bits[v] = bits[v];
    lanes.sync();
    const int count = lanes.scan(
        BOX_LANES, [&](int v) { return bit_count(uint32(m.bits[v])) + bit_count(uint32(m.bits[v] >> 32)); },
        [&](int v, int before) {
            for (uint64 left = m.bits[v]; left != 0; left &= left - 1)
                m.pair[before++] = (unsigned short)(lowest_bit(left) * BOX_LANES + v);
        });
    lanes.sync();
    for_lanes(i, 0, count) {
        const int code = m.pair[i], shape = at.view.row[cell.row + row_of(code)];
        m.pair[i] = is_dense_pair(at, shape, at.view.member[begin + place_in_chunk(code)]);
    }
    lanes.sync();
    lanes.scan(
        BOX_LANES, [&](int v) { return bit_count(uint32(bits[v])) + bit_count(uint32(bits[v] >> 32)); },
        [&](int v, int before) {
            uint64 left = m.bits[v], allowed = 0;
            for (; left != 0; left &= left - 1)
                if (m.pair[before++]) allowed |= left & (~left + 1);
            m.bits[v] = at.model.explicit_pairs > 0 ? allowed | explicit_bits(at, cell, v) : allowed;
        });
    lanes.sync();
    for_lanes(v, 0, BOX_LANES) bits[v] = m.bits[v];
}

// Lists the pairs of a cell by rows, lanes and bits; returns how many. Ends with a barrier.
SIM_FUNCTION int list_pairs_of_cell(Lanes& lanes, const Cell& cell, const uint64* bits, CellMemory& m) {
    for_lanes(v, 0, BOX_LANES) m.bits[v] = bits[v];
    lanes.sync();
    int total = 0;
    for (int r = 0; r < cell.rows; ++r) {
        if (lanes.lane() == 0) m.first[r] = total;
        total += lanes.scan(
            BOX_LANES, [&](int v) { return pairs_of_row(m.bits[v], r); },
            [&](int v, int before) {
                int at = total + before;
                for (uint32 left = bits_of_row(m.bits[v], r); left != 0; left &= left - 1)
                    m.pair[at++] = (unsigned short)pair_code(r, lowest_bit(left), v);
            });
    }
    lanes.sync();
    return total;
}

// Calls found(candidate, position among those of its world) for the pairs of a cell. Ends with a barrier.
template <class Found>
SIM_FUNCTION void for_pairs_of_cell(Lanes& lanes, const DenseView& d, const ModelView& model, const Cell& cell,
                                    const uint64* bits, const int64* offsets, CellMemory& m, Found found) {
    const int begin = d.chunk_start[cell.chunk];
    const int64 of_world = offsets[d.count_start[cell.world]];
    const int count = list_pairs_of_cell(lanes, cell, bits, m);
    for_lanes(i, 0, count) {
        const int code = m.pair[i], r = row_of(code);
        const int shape = d.row[cell.row + r], other = d.member[begin + place_in_chunk(code)];
        const int64 position = offsets[cell.count + r * cell.stride] - of_world + i - m.first[r];
        found(dense_pair(d, model, shape, other, explicit_parameter(model, shape, other)), position);
    }
    lanes.sync();
}

// How many pairs a world has.
SIM_INLINE int64 dense_pairs(const DenseView& d, int world, const int64* offsets) {
    return offsets[d.count_start[world + 1]] - offsets[d.count_start[world]];
}
