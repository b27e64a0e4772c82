// Building of grids of points (hash_grid.h), and queries of them.
#include "bvh_extents.h"
#include "hash_grid.h"
#include "sort.h"

// Extents of the points of each tile, and the first point in it that is not finite (or `count`).
extern "C" __global__ void grid_tile_extents(int tiles, int tile, int count, const real* points /* (count, 3) */,
                                             real* extents /* (tiles, 6) */, int* bad /* (tiles) */, Scratch scratch) {
    for_each_world(tiles, scratch, [&](Lanes& lanes, int slot, char* memory) {
        const int begin = slot * tile, size = count - begin < tile ? count - begin : tile;
        struct Point {
            vec3 at;
            int index;
        };
        const auto load = [&](int i) { return Point{load_vec3(points + 3LL * (begin + i)), begin + i}; };
        const Extents e = extents_of(lanes, size, count, memory, load, [&](Extents& mine, const Point& p) {
            if (is_finite(p.at))
                mine.add(p.at, p.at);
            else
                mine.add_bad(p.index);
        });
        if (lanes.lane() == 0) {
            store_extents(extents + 6 * slot, e);
            bad[slot] = e.bad;
        }
        lanes.sync();
    });
}

SIM_INLINE int bits_for(int cells) {
    int bits = 0;
    while (bits < 30 && (1 << bits) < cells) ++bits;
    return bits;
}

// The layout from the extents of all tiles.
extern "C" __global__ void grid_layout(int groups, int tiles, int count, const real* extents /* (tiles, 6) */,
                                       const int* bad /* (tiles) */, int bits, int group_bits, real cell, real period_x,
                                       real period_y, real period_z, unsigned char* layout, int* first_bad /* (1) */,
                                       Scratch scratch) {
    GridLayout& g = *(GridLayout*)(unsigned char*)layout;
    const real periods[3] = {period_x, period_y, period_z};
    for_each_world(groups, scratch, [&](Lanes& lanes, int, char* memory) {
        const auto load = [&](int i) {
            return Extents{load_vec3(extents + 6 * i), load_vec3(extents + 6 * i + 3), bad[i]};
        };
        const Extents e = extents_of(lanes, tiles, count, memory, load, [&](Extents& mine, const Extents& tile) {
            mine.add(tile.low, tile.high);
            mine.add_bad(tile.bad);
        });
        if (lanes.lane() == 0) {
            first_bad[0] = e.bad;
            g.bits[3] = group_bits < bits ? group_bits : bits;
            int left = bits - g.bits[3];
            for (int a = 0; a < 3; ++a) {
                const real period = periods[a];
                g.period[a] = period;
                if (period > real(0)) {
                    g.origin[a] = real(0);
                    g.cells[a] = to_int(maximum(floor_of(divide(period, cell)), real(1)));
                    g.inverse[a] = divide(real(g.cells[a]), period);
                } else {
                    g.origin[a] = e.low[a] <= e.high[a] ? e.low[a] : real(0);
                    g.inverse[a] = reciprocal(cell);
                    g.cells[a] = e.low[a] <= e.high[a] ? grid_cell(e.high[a], g.origin[a], g.inverse[a]) + 1 : 1;
                }
                g.bits[a] = bits_for(g.cells[a]);
            }
            while (g.bits[0] + g.bits[1] + g.bits[2] > left) {
                const int most = g.bits[2] >= g.bits[1] && g.bits[2] >= g.bits[0] ? 2 : g.bits[1] >= g.bits[0] ? 1 : 0;
                --g.bits[most];
            }
            // along a periodic axis no two cells may share a place: they are made larger instead
            for (int a = 0; a < 3; ++a) {
                if (!(periods[a] > real(0)) || g.cells[a] <= 1 << g.bits[a]) continue;
                g.cells[a] = 1 << g.bits[a];
                g.inverse[a] = divide(real(g.cells[a]), periods[a]);
            }
        }
        lanes.sync();
    });
}

extern "C" __global__ void grid_keys(int n, const unsigned char* layout, const real* points /* (n, 3) */,
                                     const int* groups /* (n) optional */, uint32* keys /* (n) */) {
    const GridLayout& g = *(const GridLayout*)(const unsigned char*)layout;
    for_each(i, n) {
        int cell[3];
        for (int a = 0; a < 3; ++a) {
            const int c = grid_cell(grid_wrapped(points[3LL * i + a], g.period[a]), g.origin[a], g.inverse[a]);
            cell[a] = c < 0 ? 0 : c >= g.cells[a] ? g.cells[a] - 1 : c;
        }
        keys[i] = grid_place(g, cell[0], cell[1], cell[2], groups ? groups[i] : 0);
    }
}

extern "C" __global__ void grid_gather(int n, const unsigned char* layout, const real* points /* (n, 3) */,
                                       const int* groups /* (n) optional */, const int* order /* (n) */,
                                       real* sorted /* (3, n) */, int* sorted_group /* (n) optional */) {
    const GridLayout& g = *(const GridLayout*)(const unsigned char*)layout;
    for_each(i, n) {
        const vec3 p = load_vec3(points + 3LL * order[i]);
        sorted[i] = grid_wrapped(p.x, g.period[0]);
        sorted[int64(n) + i] = grid_wrapped(p.y, g.period[1]);
        sorted[2 * int64(n) + i] = grid_wrapped(p.z, g.period[2]);
        if (groups) sorted_group[i] = groups[order[i]];
    }
}

// Counts of neighbours, or with `out` the neighbours themselves by index, of places given by `point`; where it is null,
// of the grid's own points, in their sorted order, so that those that follow one another touch the same memory.
extern "C" __global__ void grid_query(int n, const unsigned char* layout, const int* starts, const int* order,
                                      const real* sorted, const int* sorted_group /* optional */, int count,
                                      const real* point /* (n, 3) optional */, const real* radius /* (n) */,
                                      const int* group /* (n) optional */, const int64* offsets /* optional */,
                                      int* counts /* (n) */, int* out /* optional */) {
    const GridView grid = grid_view(layout, starts, order, sorted, sorted_group, count);
    for_each(item, n) {
        const int k = int(item), i = point ? k : order[k];
        const vec3 p = point ? load_vec3(point + 3LL * k) : vec3{grid.x[k], grid.y[k], grid.z[k]};
        const int of = group ? group[k] : !point && sorted_group ? sorted_group[k] : 0;
        if (!out) {
            counts[i] = grid_count(grid, p, radius[i], of);
            continue;
        }
        int* row = out + offsets[i];
        int64 found = 0;
        grid_neighbors(grid, p, radius[i], of, [&](int index) { row[found++] = index; });
        sort_row(row, found);
    }
}
