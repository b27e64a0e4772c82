// Building of a grid: points are brought into the order of their places in the table, those of a place by index.
//
// The table is cut into buckets of as many places each. One pass takes the points to their buckets, which then are
// small enough to be put in order where they lie close together (in shared memory on a GPU), so that memory is read and
// written in long runs all the way (a radix sort from the most significant digit, Knuth 5.2.5):
//     count    points of each tile in each bucket
//     sum      of the tiles before, for each bucket
//     scatter  points to their buckets, tile after tile, each with its index
//     order    the points of a bucket, and where its places begin
// Blocks of a GPU do not count first: `scatter` puts each tile in the order of the buckets where it lies, and `order`
// gathers a bucket's runs from all tiles, since runs that are read cost less than runs that are written.
// All passes keep the order of points that they do not part, so the result has nothing of tiles and buckets.
#pragma once

#include "hash_grid.h"
#include "sort.h"

// A point on its way, wrapped into the period.
struct alignas(16) GridPoint {
    real x, y, z;
    int index;
};

// Arrays of a build.
struct GridBuild {
    const real* points;  // (n, 3)
    const int* groups;   // (n) or null
    int n, buckets, tiles;
    int digit_bits;     // of a place that a pass over a bucket sorts by, at most
    int* table;         // (tiles, buckets) how many points of a tile; then of the tiles before (on a GPU: GridTable)
    int* totals;        // (buckets)
    int* bucket_start;  // (buckets + 1) of the CPU's scheme alone
    GridPoint* moved;   // (n) by buckets
    int* starts;
    int* order;
    real* sorted;       // (3, n)
    int* sorted_group;  // (n) or null

    SIM_INLINE int tile_begin(int slot) const { return int(int64(n) * slot / tiles); }
};

// The cell along an axis of a wrapped coordinate, of those in use: as grid_cell, then brought within 0 .. cells - 1.
// The last is a number without rounding: of the largest coordinate, or below 2^24 where there is a period.
SIM_INLINE int grid_point_cell(const GridLayout& g, int axis, real x) {
    const real last = real(g.cells[axis] - 1), from = (x - g.origin[axis]) * g.inverse[axis];
    const real above = from > real(0) ? from : real(0);  // NaN: 0
    return int(above < last ? above : last);
}

SIM_INLINE int grid_point_place(const GridLayout& g, vec3 p, int group) {
    return grid_place(g, grid_point_cell(g, 0, p.x), grid_point_cell(g, 1, p.y), grid_point_cell(g, 2, p.z), group);
}

SIM_INLINE int grid_bucket(const GridLayout& g, int place) { return int((uint64(place) * g.bucket_factor) >> 40); }

SIM_INLINE vec3 grid_wrapped(const GridLayout& g, vec3 p) {
    return {grid_wrapped(p.x, g.period[0]), grid_wrapped(p.y, g.period[1]), grid_wrapped(p.z, g.period[2])};
}

// A result, which the build does not read again: the cache may give it up first.
template <class T>
SIM_INLINE void grid_store_last(T* to, T value) {
#ifdef SIM_GPU
    __stcs(to, value);
#else
    *to = value;
#endif
}

SIM_INLINE void grid_store(const GridBuild& b, int place, vec3 p, int index) {
    grid_store_last(b.sorted + place, p.x);
    grid_store_last(b.sorted + int64(b.n) + place, p.y);
    grid_store_last(b.sorted + 2 * int64(b.n) + place, p.z);
    grid_store_last(b.order + place, index);
    if (b.groups) b.sorted_group[place] = b.groups[index];
}

// Each count of the places from `first` on becomes the sum of those before, which is where the places begin in the
// bucket; `starts` is where they begin among all points.
SIM_INLINE void grid_starts(Lanes& lanes, const GridBuild& b, int begin, int first, int places, int* counts) {
    int before = 0;
    for (int base = 0; base < places; base += lanes.count()) {
        const int i = base + lanes.lane(), value = i < places ? counts[i] : 0;
        const auto keep = [&](int, int earlier) {
            if (i >= places) return;
            counts[i] = before + earlier;
            b.starts[first + i] = begin + before + earlier;
        };
        before += lanes.scan(lanes.count(), [&](int) { return value; }, keep);
    }
    lanes.sync();
}

#if SIM_LANES > 32
#include "grid_build_block.h"
#else
// Where the buckets begin, from their totals, and where the points of a tile go in each.
SIM_INLINE void grid_bucket_starts(Lanes& lanes, const GridBuild& b, int slot, int* next) {
    int before = 0;
    for (int base = 0; base < b.buckets; base += lanes.count()) {
        const int i = base + lanes.lane(), value = i < b.buckets ? b.totals[i] : 0;
        const auto keep = [&](int, int earlier) {
            if (i >= b.buckets) return;
            next[i] = before + earlier + b.table[int64(slot) * b.buckets + i];
            if (slot == 0) b.bucket_start[i] = before + earlier;
        };
        before += lanes.scan(lanes.count(), [&](int) { return value; }, keep);
    }
    if (slot == 0 && lanes.lane() == 0) b.bucket_start[b.buckets] = b.n;
    lanes.sync();
}

// ---- sums over tiles ---------------------------------------------------------------------------------------------

inline constexpr int GRID_COLUMNS = 32, GRID_PARTS = 16;  // buckets of a group of lanes, and parts of their tiles

// The counts of some buckets become the sums of the tiles before.
SIM_INLINE void grid_sum_tiles(Lanes& lanes, const GridBuild& b, int slot, int* sums) {
    const int first = slot * GRID_COLUMNS;
    const auto part_begin = [&](int part) { return b.tiles * part / GRID_PARTS; };
    const auto load = [&](int bucket, int base, int end, int (&held)[HELD]) {
        HELD_LOOP(h) held[h] = base + h < end ? b.table[int64(base + h) * b.buckets + bucket] : 0;
    };
    for_lanes(k, 0, GRID_COLUMNS * GRID_PARTS) {
        const int bucket = first + k % GRID_COLUMNS, part = k / GRID_COLUMNS, end = part_begin(part + 1);
        int sum = 0;
        for (int base = part_begin(part); base < end && bucket < b.buckets; base += HELD) {
            int held[HELD];
            load(bucket, base, end, held);
            HELD_LOOP(h) sum += held[h];
        }
        sums[k] = sum;
    }
    lanes.sync();
    for_lanes(k, 0, GRID_COLUMNS * GRID_PARTS) {
        const int bucket = first + k % GRID_COLUMNS, part = k / GRID_COLUMNS, end = part_begin(part + 1);
        if (bucket >= b.buckets) continue;
        int before = 0;
        for (int earlier = 0; earlier < part; ++earlier) before += sums[earlier * GRID_COLUMNS + k % GRID_COLUMNS];
        if (part == GRID_PARTS - 1) b.totals[bucket] = before + sums[k];
        for (int base = part_begin(part); base < end; base += HELD) {
            int held[HELD];
            load(bucket, base, end, held);
            HELD_LOOP(h) {
                if (base + h < end) b.table[int64(base + h) * b.buckets + bucket] = before;
                before += held[h];
            }
        }
    }
    lanes.sync();
}

// ---- by a few lanes ----------------------------------------------------------------------------------------------

// The largest of the lanes' numbers, which are none of them NaN, and the least of `least`.
SIM_INLINE void grid_most(Lanes& lanes, real (&most)[6], int& least) {
    for (int a = 0; a < 6; ++a) {
        const real mine = most[a];
        most[a] = lanes.max_over(lanes.count(), [&](int) { return mine; });
    }
    const int mine = least;
    least = -lanes.max_over(lanes.count(), [&](int) { return -mine; });
}

SIM_INLINE int grid_source_place(const GridLayout& g, const GridBuild& b, int i, vec3& p) {
    p = grid_wrapped(g, load_vec3(b.points + 3LL * i));
    return grid_point_place(g, p, b.groups ? b.groups[i] : 0);
}

// One lane adds at a time: alone, or emulated. Blocks of a GPU take grid_build_block.h.
SIM_INLINE void grid_count_tile(Lanes& lanes, const GridLayout& g, const GridBuild& b, int slot, char* memory) {
    int* counts = (int*)memory;
    for_lanes(k, 0, b.buckets) counts[k] = 0;
    lanes.sync();
    vec3 p = zero_vec3();
    for_lanes(i, b.tile_begin(slot), b.tile_begin(slot + 1)) {
        counts[grid_bucket(g, grid_source_place(g, b, i, p))] += 1;
    }
    lanes.sync();
    for_lanes(k, 0, b.buckets) b.table[int64(slot) * b.buckets + k] = counts[k];
    lanes.sync();
}

// Calls place(i, where) for the items of begin .. end - 1 in order, where next[key(i)] counts on.
template <class Key, class Place>
SIM_INLINE void grid_in_order(Lanes& lanes, int begin, int end, int* next, int* keys, Key key, Place place) {
    for (int base = begin; base < end; base += lanes.count()) {
        const int i = base + lanes.lane();
        const bool inside = i < end;
        const int of = inside ? key(i) : -1;
        const SortPeers peers = sort_peers(lanes, of, keys);
        const int where = inside ? next[of] + peers.before : 0;
        lanes.sync();
        if (inside) {
            place(i, where);
            if (peers.before == peers.all - 1) next[of] = where + 1;
        }
        lanes.sync();
    }
}

SIM_INLINE void grid_scatter_tiles(Lanes& lanes, const GridLayout& g, const GridBuild& b, int slot, int, int,
                                   char* memory) {
    int *next = (int*)memory, *keys = next + b.buckets;
    grid_bucket_starts(lanes, b, slot, next);
    vec3 p = zero_vec3();
    grid_in_order(
        lanes, b.tile_begin(slot), b.tile_begin(slot + 1), next, keys,
        [&](int i) { return grid_bucket(g, grid_source_place(g, b, i, p)); },
        [&](int i, int where) { b.moved[where] = {p.x, p.y, p.z, i}; });
}

SIM_INLINE void grid_order_bucket(Lanes& lanes, const GridLayout& g, const GridBuild& b, int slot, int, int first,
                                  int places, char* memory) {
    int *next = (int*)memory, *keys = next + places;
    const int begin = b.bucket_start[slot], end = b.bucket_start[slot + 1];
    for_lanes(k, 0, places) next[k] = 0;
    lanes.sync();
    const auto place = [&](int i) {
        const GridPoint& p = b.moved[i];
        return grid_point_place(g, {p.x, p.y, p.z}, b.groups ? b.groups[p.index] : 0) - first;
    };
    for_lanes(i, begin, end) next[place(i)] += 1;
    lanes.sync();
    grid_starts(lanes, b, begin, first, places, next);
    grid_in_order(lanes, begin, end, next, keys, place, [&](int i, int where) {
        const GridPoint& p = b.moved[i];
        grid_store(b, begin + where, {p.x, p.y, p.z}, p.index);
    });
}
#endif
