// Building of grids of points (grid_build.h).
#include "grid_build.h"

// Threads of a block, which with the blocks that a multiprocessor is to hold bounds the registers.
inline constexpr int BUILD_THREADS = SIM_LANES > 32 ? SIM_LANES : 512;

// The extents of points.
struct GridExtents {
    vec3 low, high;
    int bad;  // the first point that is not finite, or how many there are

    SIM_INLINE explicit GridExtents(int count)
        : low{REAL_MAX, REAL_MAX, REAL_MAX}, high{-REAL_MAX, -REAL_MAX, -REAL_MAX}, bad(count) {}

    SIM_INLINE void add(vec3 from, vec3 to, int first_bad) {
        low = minimum(low, from);
        high = maximum(high, to);
        bad = first_bad < bad ? first_bad : bad;
    }

    // Those of all lanes together, in all of them.
    SIM_INLINE void join(Lanes& lanes) {
        real most[6] = {-low.x, -low.y, -low.z, high.x, high.y, high.z};
        grid_most(lanes, most, bad);
        low = {-most[0], -most[1], -most[2]};
        high = {most[3], most[4], most[5]};
    }
};

// The points of a tile. On a GPU all tiles go side by side from the last point to the first: what is read after this
// begins with the first points, which the cache then still holds.
struct GridSweep {
    int count, tiles, slot;

#if SIM_LANES > 32
    SIM_INLINE int size() const { return ((count - 1) / SIM_LANES - slot + tiles) / tiles * SIM_LANES; }
    SIM_INLINE int operator()(int i) const {  // one of them more than once, which changes no extent
        const int from_last = (i / SIM_LANES * tiles + slot) * SIM_LANES + i % SIM_LANES;
        return from_last < count ? count - 1 - from_last : 0;
    }
#else
    SIM_INLINE int begin(int of) const { return int(int64(count) * of / tiles); }
    SIM_INLINE int size() const { return begin(slot + 1) - begin(slot); }
    SIM_INLINE int operator()(int i) const { return begin(slot) + i; }
#endif
};

// Extents of the points of each tile, and the first point in it that is not finite (or `count`).
extern "C" __global__ void __launch_bounds__(BUILD_THREADS, 2)
    grid_tile_extents(int extent_tiles, int count, const real* points /* (count, 3) */,
                      real* extents /* (extent_tiles, 6) */, int* bad /* (extent_tiles) */, Scratch scratch) {
    for_each_world(extent_tiles, scratch, [&](Lanes& lanes, int slot, char*) {
        const GridSweep sweep = {count, extent_tiles, slot};
        GridExtents mine(count);
        const auto load = [&](int i) { return load_vec3(points + 3LL * sweep(i)); };
        for_lanes_ahead<8>(lanes, 0, sweep.size(), load, [&](int i, const vec3& p) {
            if (is_finite(p))
                mine.add(p, p, count);
            else
                mine.bad = sweep(i) < mine.bad ? sweep(i) : mine.bad;
        });
        mine.join(lanes);
        if (lanes.lane() == 0) {
            store_vec3(extents + 6LL * slot, mine.low);
            store_vec3(extents + 6LL * slot + 3, mine.high);
            bad[slot] = mine.bad;
        }
        lanes.sync();
    });
}

SIM_INLINE int bits_for(int cells) {
    int bits = 0;
    while (bits < 30 && (1 << bits) < cells) ++bits;
    return bits;
}

// Cells along an axis from the extent of the points, or from the period.
SIM_INLINE void grid_axis(GridLayout& g, int axis, real low, real high, real cell, real period) {
    g.period[axis] = period;
    if (period > real(0)) {
        g.origin[axis] = real(0);
        g.cells[axis] = to_int(maximum(floor_of(divide(period, cell)), real(1)));
        g.inverse[axis] = divide(real(g.cells[axis]), period);
    } else {
        g.origin[axis] = low <= high ? low : real(0);
        g.inverse[axis] = reciprocal(cell);
        g.cells[axis] = low <= high ? grid_cell(high, g.origin[axis], g.inverse[axis]) + 1 : 1;
    }
    g.bits[axis] = bits_for(g.cells[axis]);
}

SIM_INLINE int grid_axis_places(const GridLayout& g, int axis) {
    return g.cells[axis] < 1 << g.bits[axis] ? g.cells[axis] : 1 << g.bits[axis];
}

// The places of the table along each axis, at most 2^bits of all groups together.
SIM_INLINE void grid_table(GridLayout& g, int bits, int groups, int buckets) {
    g.bits[3] = bits_for(groups) < bits ? bits_for(groups) : bits;
    g.places[3] = groups < 1 << g.bits[3] ? groups : 1 << g.bits[3];
    const auto places = [&](int a) { return int64(grid_axis_places(g, a)); };
    while (g.bits[0] + g.bits[1] + g.bits[2] > bits - g.bits[3]) {
        if (g.bits[0] + g.bits[1] + g.bits[2] < 60 && places(0) * places(1) * places(2) * g.places[3] <= 1LL << bits)
            break;
        const int most = g.bits[2] >= g.bits[1] && g.bits[2] >= g.bits[0] ? 2 : g.bits[1] >= g.bits[0] ? 1 : 0;
        --g.bits[most];
    }
    for (int a = 0; a < 3; ++a) {
        g.places[a] = grid_axis_places(g, a);
        // along a periodic axis no two cells may share a place: they are made larger instead
        if (!(g.period[a] > real(0)) || g.cells[a] <= 1 << g.bits[a]) continue;
        g.cells[a] = 1 << g.bits[a];
        g.inverse[a] = divide(real(g.cells[a]), g.period[a]);
    }
    g.bucket_places = (g.table_places() + buckets - 1) / buckets;
    g.bucket_factor = ((uint64(1) << 40) + uint64(g.bucket_places) - 1) / uint64(g.bucket_places);
}

// Field by field, so that the bytes between them stay 0.
SIM_INLINE void grid_store_layout(GridLayout& out, const GridLayout& g) {
    for (int a = 0; a < 3; ++a) {
        out.origin[a] = g.origin[a];
        out.inverse[a] = g.inverse[a];
        out.period[a] = g.period[a];
        out.cells[a] = g.cells[a];
    }
    for (int a = 0; a < 4; ++a) {
        out.bits[a] = g.bits[a];
        out.places[a] = g.places[a];
    }
    out.bucket_places = g.bucket_places;
    out.bucket_factor = g.bucket_factor;
}

// The layout from the extents of all tiles.
extern "C" __global__ void __launch_bounds__(BUILD_THREADS)
    grid_layout(int groups_of_lanes, int extent_tiles, int count, const real* extents /* (extent_tiles, 6) */,
                const int* bad /* (extent_tiles) */, int bits, int group_count, int buckets, real cell, real period_x,
                real period_y, real period_z, unsigned char* layout, int* first_bad /* (1) */,
                int* totals /* (buckets) */, Scratch scratch) {
    for_each_world(groups_of_lanes, scratch, [&](Lanes& lanes, int, char*) {
        GridExtents all(count);
        for_lanes(i, 0, buckets) totals[i] = 0;
        for_lanes(i, 0, extent_tiles) all.add(load_vec3(extents + 6LL * i), load_vec3(extents + 6LL * i + 3), bad[i]);
        all.join(lanes);
        if (lanes.lane() == 0) {
            first_bad[0] = all.bad;
            GridLayout g;
            grid_axis(g, 0, all.low.x, all.high.x, cell, period_x);
            grid_axis(g, 1, all.low.y, all.high.y, cell, period_y);
            grid_axis(g, 2, all.low.z, all.high.z, cell, period_z);
            grid_table(g, bits, group_count, buckets);
            grid_store_layout(*(GridLayout*)(unsigned char*)layout, g);
        }
        lanes.sync();
    });
}

#if SIM_LANES <= 32
extern "C" __global__ void __launch_bounds__(BUILD_THREADS, 2)
    grid_count(int tiles, int count, int buckets, const unsigned char* layout, const real* points,
               const int* groups /* optional */, int* table /* (tiles, buckets) */, Scratch scratch) {
    GridBuild b = {};
    b.points = points, b.groups = groups, b.n = count, b.buckets = buckets, b.tiles = tiles, b.table = table;
    const GridLayout& g = *(const GridLayout*)(const unsigned char*)layout;
    for_each_world(tiles, scratch,
                   [&](Lanes& lanes, int slot, char* memory) { grid_count_tile(lanes, g, b, slot, memory); });
}

extern "C" __global__ void __launch_bounds__(BUILD_THREADS)
    grid_sum(int parts, int tiles, int buckets, int* table /* (tiles, buckets) */, int* totals /* (buckets) */,
             Scratch scratch) {
    GridBuild b = {};
    b.buckets = buckets, b.tiles = tiles, b.table = table, b.totals = totals;
    for_each_world(parts, scratch,
                   [&](Lanes& lanes, int slot, char* memory) { grid_sum_tiles(lanes, b, slot, (int*)memory); });
}
#endif

extern "C" __global__ void __launch_bounds__(BUILD_THREADS, 1)
    grid_scatter(int scatter_groups, int tiles, int row_words, int count, int buckets, int rows,
                 const unsigned char* layout, const real* points, const int* groups /* optional */,
                 int* table /* (tiles, row_words) */, int* totals /* (buckets) */,
                 int* bucket_start /* (buckets + 1) */, unsigned char* moved, Scratch scratch) {
    GridBuild b = {};
    b.points = points, b.groups = groups, b.n = count, b.buckets = buckets, b.tiles = tiles, b.table = table;
    b.totals = totals, b.bucket_start = bucket_start, b.moved = (GridPoint*)(unsigned char*)moved;
    const GridLayout& g = *(const GridLayout*)(const unsigned char*)layout;
    for_each_world(scatter_groups, scratch, [&](Lanes& lanes, int slot, char* memory) {
        grid_scatter_tiles(lanes, g, b, slot, scatter_groups, rows, memory);
    });
}

extern "C" __global__ void __launch_bounds__(BUILD_THREADS, 1)
    grid_order(int buckets, int tiles, int row_words, int count, int rows, int digit_bits, const unsigned char* layout,
               const int* groups /* optional */, int* table /* (tiles, row_words) */, int* totals /* (buckets) */,
               int* bucket_start /* (buckets + 1) */, unsigned char* moved, int* starts, int* order /* (count) */,
               real* sorted /* (3, count) */, int* sorted_group /* (count) optional */, Scratch scratch) {
    GridBuild b = {};
    b.groups = groups, b.n = count, b.buckets = buckets, b.bucket_start = bucket_start;
    b.moved = (GridPoint*)(unsigned char*)moved, b.starts = starts, b.order = order, b.sorted = sorted;
    b.sorted_group = sorted_group, b.digit_bits = digit_bits;
    b.table = table, b.totals = totals, b.tiles = tiles;
    const GridLayout& g = *(const GridLayout*)(const unsigned char*)layout;
    for_each_world(buckets, scratch, [&](Lanes& lanes, int slot, char* memory) {
        const int first = slot * g.bucket_places, left = g.table_places() - first;
        if (left <= 0) return;
        const int places = left < g.bucket_places ? left : g.bucket_places;
        grid_order_bucket(lanes, g, b, slot, rows, first, places, memory);
        if (places == left && lanes.lane() == 0) starts[first + places] = count;
    });
}
