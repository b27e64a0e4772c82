// The search for pairs by comparing all boxes of a world (broad_dense.h). See simengine/collision/broad_dense.py for
// the order of the kernels.
#include "few_calls.h"

#include "broad_dense.h"

// The box of a plane or a height field as a row: what may be at it or below it.
SIM_FUNCTION Bounds endless_bounds(const ModelView& model, int shape, const ShapePlace& place) {
    const real most = real(1e18), reach = place.margin + place.gap;
    const vec3 corner = {most, most, most}, wide = {reach, reach, reach}, p = absolute(place.pose.p);
    const real slack = 64 * REAL_EPSILON * maximum(p.x, maximum(p.y, p.z));
    const Bounds all = {-corner, corner};
    if (model.shape_type[shape] != SHAPE_PLANE) return all;
    const Bounds b = plane_bounds(place.pose);
    return {maximum(minimum(b.lower - wide - vec3{slack, slack, slack}, corner), -corner),
            maximum(minimum(b.upper + wide + vec3{slack, slack, slack}, corner), -corner)};
}

// Places of all shapes, their boxes as rows, and at their places among the boxes that rows are compared with.
extern "C" __global__ void dense_place(int n, const ModelView model, const int* plan, const real* body_q,
                                       const real* body_qd, double dt, unsigned char* places, real* bounds /* (n, 6) */,
                                       real* boxes) {
    const DenseView view(plan);
    ShapePlace* place = (ShapePlace*)(unsigned char*)places;
    for_each(i, n) {
        const int body = model.shape_body[i], to = view.place_of[i];
        const Transform pose = body < 0 ? identity_transform() : load_transform(&body_q[7 * body]);
        const ShapePlace at = shape_place(model, int(i), contact_pose(pose));
        place[i] = at;
        if (to < 0) continue;
        const bool endless = is_endless(model, int(i)), collides = model.shape_flags[i] & SHAPE_COLLIDES;
        Bounds b = no_bounds();
        if (collides)
            b = endless ? endless_bounds(model, int(i), at)
                        : search_bounds(model, int(i), at, StateMotions{model, body_q, body_qd, real(dt)});
        store_vec3(&bounds[6 * i], b.lower);
        store_vec3(&bounds[6 * i + 3], b.upper);
        if (endless) b = no_bounds();
        for (int axis = 0; axis < 3; ++axis) {
            boxes[box_coordinate(to, axis)] = b.lower[axis];
            boxes[box_coordinate(to, 3 + axis)] = b.upper[axis];
        }
    }
}

// The box that holds all boxes of a chunk, a number by each group.
extern "C" __global__ void dense_extents(int extents_of_chunks, const int* plan, const real* boxes,
                                         real* extents /* (extents_of_chunks) */, const Scratch scratch) {
    const DenseView d(plan);
    for_each_world(extents_of_chunks, scratch, [&](Lanes& lanes, int slot, char*) {
        const int chunk = slot / BOX_COORDINATES, c = slot % BOX_COORDINATES, begin = d.chunk_start[chunk];
        const real sign = c < 3 ? real(-1) : real(1);
        const real most = lanes.max_over(d.chunk_start[chunk + 1] - begin,
                                         [&](int i) { return sign * boxes[box_coordinate(begin + i, c)]; });
        if (lanes.lane() == 0) extents[slot] = sign * most;
    });
}

// Which boxes meet, as bits of each cell and lane. The numbers of pairs begin at zero: most cells have none.
extern "C" __global__ void dense_meet(int cells, int numbers, const int* plan, const real* bounds, const real* boxes,
                                      const real* extents, uint64* meets /* (cells, 32) */, int* counts /* (numbers) */,
                                      const Scratch scratch) {
    const DenseView d(plan);
    for_each_world(cells, scratch, [&](Lanes& lanes, int slot, char*) {
        const int first = CELL_ROWS * slot;
        for_lanes(i, first, first + CELL_ROWS < numbers ? first + CELL_ROWS : numbers) counts[i] = 0;
        compare_boxes(lanes, d, bounds, boxes, extents, d.cell[slot], &meets[int64(BOX_LANES) * slot]);
    });
}

// The bits of pairs that may touch, and how many pairs each row has in each chunk.
extern "C" __global__ void dense_count(int cells, const ModelView model, const int* plan, const real* body_q,
                                       const real* body_qd, double dt, const unsigned char* places, uint64* meets,
                                       int* counts, const Scratch scratch) {
    const ShapePlace* place = (const ShapePlace*)(const unsigned char*)places;
    const DenseRules at = {DenseView(plan), model, place, {model, body_q, body_qd, real(dt)}};
    for_each_world(cells, scratch, [&](Lanes& lanes, int slot, char* memory) {
        CellMemory& m = small_memory<CellMemory>(memory);
        uint64* bits = &meets[int64(BOX_LANES) * slot];
        if (!meets_any(lanes, bits) && model.explicit_pairs == 0) return;
        const Cell cell = at.view.cell[slot];
        apply_rules(lanes, at, cell, bits, m);
        for (int r = 0; r < CELL_ROWS; r += 2) {
            const int two = lanes.scan(
                BOX_LANES, [&](int v) { return pairs_of_row(m.bits[v], r) | (pairs_of_row(m.bits[v], r + 1) << 16); });
            if (lanes.lane() != 0) continue;
            if (two & 0xffff) counts[cell.count + r * cell.stride] = two & 0xffff;
            if (two >> 16) counts[cell.count + (r + 1) * cell.stride] = two >> 16;
        }
    });
}

// The pairs that fit into the room of their worlds, and how many they are of how many.
extern "C" __global__ void dense_list(int cells, const ModelView model, const int* plan, const uint64* meets,
                                      const int64* offsets, const int* room, const int* room_start, int* kept,
                                      int* dropped, int* candidates, const Scratch scratch) {
    const DenseView d(plan);
    for_each_world(cells, scratch, [&](Lanes& lanes, int slot, char* memory) {
        const uint64* bits = &meets[int64(BOX_LANES) * slot];
        const Cell cell = d.cell[slot];
        if (lanes.lane() == 0 && slot == d.cell_start[cell.world]) {
            const int64 all = dense_pairs(d, cell.world, offsets);
            kept[cell.world] = int(all < room[cell.world] ? all : room[cell.world]);
            dropped[cell.world] = all > room[cell.world];
        }
        if (!meets_any(lanes, bits)) return;
        Candidate* list = (Candidate*)(int*)candidates + room_start[cell.world];
        for_pairs_of_cell(lanes, d, model, cell, bits, offsets, small_memory<CellMemory>(memory),
                          [&](const Candidate& pair, int64 position) {
                              if (position < room[cell.world]) list[position] = pair;
                          });
    });
}
