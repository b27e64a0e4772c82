// Points in a grid of cells, sorted by cell: who is within a distance of a place.
//
// A cell's place in the table is (z * places along y + y) * places along x + x, so that cells along x lie side by side
// and a row of them is one range. Along each axis the table has a place for each cell of the points' extent, as far as
// it goes; where it does not suffice, an axis has 2^bits places and far cells share one, which costs time and no more:
// points are told by distance.
#pragma once

#include "vector.h"

inline constexpr int GRID_LARGEST_CELL = 1 << 30;

// Made on the device at each build (grid_build.cu).
struct GridLayout {
    real origin[3];   // of cell 0
    real inverse[3];  // 1 / size of a cell
    real period[3];   // 0: none
    int bits[4];      // of x, y, z and the group that tell places apart
    int places[4];    // in the table along each: all that are in use, or 2^bits where these are more
    int cells[3];     // cells in use along an axis: those of points are 0 .. cells - 1
    // the build sorts points into buckets, each of so many places that follow one another
    int bucket_places;
    uint64 bucket_factor;  // 2^40 / bucket_places, rounded up

    SIM_INLINE int table_places() const { return places[0] * places[1] * places[2] * places[3]; }
};

static_assert(sizeof(GridLayout) == (sizeof(real) == 4 ? 96 : 128), "LAYOUT_BYTES of collision/grid_build.py");

struct GridView {
    const GridLayout* layout;
    const int* starts;      // the first point of each place in the table, and of what follows the last
    const int* order;       // (n) the point at each place of the sorted order
    const real *x, *y, *z;  // (n) in sorted order
    const int* group;       // (n) in sorted order, or null
};

// From what HashGrid.arrays() gives a kernel.
SIM_INLINE GridView grid_view(const unsigned char* layout, const int* starts, const int* order, const real* sorted,
                              const int* sorted_group, int count) {
    return {(const GridLayout*)layout, starts, order, sorted, sorted + count, sorted + 2 * int64(count), sorted_group};
}

SIM_INLINE int grid_cell(real x, real origin, real inverse) {
    return to_int(clamp(floor_of((x - origin) * inverse), real(-GRID_LARGEST_CELL), real(GRID_LARGEST_CELL)));
}

// x brought into [0, period); NaN where it is not finite
SIM_INLINE real grid_wrapped(real x, real period) {
    if (!(period > real(0))) return x;
    const real turned = x - period * floor_of(divide(x, period));
    return turned < real(0) || turned >= period ? real(0) : turned;
}

// The shortest of a difference and its periodic images.
SIM_INLINE real grid_difference(real d, real period) {
    return period > real(0) ? d - period * floor_of(divide(d, period) + real(0.5)) : d;
}

SIM_INLINE int grid_place(const GridLayout& g, int x, int y, int z, int group) {
    const int low_x = x & ((1 << g.bits[0]) - 1), low_y = y & ((1 << g.bits[1]) - 1);
    const int low_z = z & ((1 << g.bits[2]) - 1), low_group = group & ((1 << g.bits[3]) - 1);
    return ((low_group * g.places[2] + low_z) * g.places[1] + low_y) * g.places[0] + low_x;
}

// Cells along an axis that [x - reach, x + reach] touches: `count` of them from `first` on, each place of the table
// once.
struct GridRange {
    int first, count;

    SIM_INLINE GridRange(const GridLayout& g, int axis, real x, real reach) {
        // above the rounding of x - reach and of the differences that are compared with the radius
        const real wide = reach + real(4) * REAL_EPSILON * (absolute(x) + absolute(g.origin[axis]) + reach);
        const int cells = g.cells[axis], places = g.places[axis];
        int low = grid_cell(x - wide, g.origin[axis], g.inverse[axis]);
        int high = grid_cell(x + wide, g.origin[axis], g.inverse[axis]);
        if (g.period[axis] > real(0)) {
            const bool round = wide >= real(0.5) * g.period[axis] || high - low + 1 >= cells;
            first = round ? 0 : low;
            count = round ? cells : high - low + 1;
            return;
        }
        low = low < 0 ? 0 : low;
        high = high >= cells ? cells - 1 : high;
        first = low;
        count = high < low ? 0 : high - low + 1 < places ? high - low + 1 : places;
    }

    SIM_INLINE int cell(const GridLayout& g, int axis, int number) const {
        const int c = first + number;
        if (!(g.period[axis] > real(0))) return c;
        return c < 0 ? c + g.cells[axis] : c >= g.cells[axis] ? c - g.cells[axis] : c;
    }
};

// Calls range(begin, end), places of the sorted order, for all that may be within `reach` of the point. A group that
// the grid does not have meets points of others, which GridTest tells apart.
template <class Range>
SIM_INLINE void grid_visit(const GridView& grid, vec3 point, real reach, int group, Range range) {
    const GridLayout& g = *grid.layout;
    const GridRange along_x(g, 0, point.x, reach), along_y(g, 1, point.y, reach), along_z(g, 2, point.z, reach);
    if (along_x.count <= 0) return;
    const int places = g.places[0], mask = (1 << g.bits[0]) - 1;
    const bool rows = !(g.period[0] > real(0));
    const int low_group = group & ((1 << g.bits[3]) - 1), of_group = low_group < g.places[3] ? low_group : 0;
    for (int k = 0; k < along_z.count; ++k) {
        for (int j = 0; j < along_y.count; ++j) {
            const int row = grid_place(g, 0, along_y.cell(g, 1, j), along_z.cell(g, 2, k), of_group);
            if (!rows) {
                for (int i = 0; i < along_x.count; ++i) {
                    const int place = row + (along_x.cell(g, 0, i) & mask);
                    range(grid.starts[place], grid.starts[place + 1]);
                }
                continue;
            }
            const int first = along_x.count == places ? 0 : along_x.first & mask, last = first + along_x.count;
            range(grid.starts[row + first], grid.starts[row + (last < places ? last : places)]);
            if (last > places) range(grid.starts[row], grid.starts[row + last - places]);
        }
    }
}

// The test that decides: is the point at place k within the radius, and of the group?
struct GridTest {
    vec3 point;
    real square;
    vec3 period;
    bool periodic;
    int group;

    SIM_INLINE GridTest(const GridView& grid, vec3 p, real radius, int of_group)
        : point(p), square(radius * radius), group(of_group) {
        period = load_vec3(grid.layout->period);
        periodic = period.x > real(0) || period.y > real(0) || period.z > real(0);
    }

    SIM_INLINE bool operator()(const GridView& grid, int k) const {
        vec3 d = {grid.x[k] - point.x, grid.y[k] - point.y, grid.z[k] - point.z};
        if (periodic)
            d = {grid_difference(d.x, period.x), grid_difference(d.y, period.y), grid_difference(d.z, period.z)};
        return dot(d, d) <= square && (grid.group == nullptr || grid.group[k] == group);
    }
};

// Calls each(point index) for every point within `radius` of a place, in no order that may be relied on.
template <class Each>
SIM_INLINE void grid_neighbors(const GridView& grid, vec3 point, real radius, int group, Each each) {
    const vec3 period = load_vec3(grid.layout->period);
    const vec3 p = {grid_wrapped(point.x, period.x), grid_wrapped(point.y, period.y), grid_wrapped(point.z, period.z)};
    const GridTest near(grid, p, radius, group);
    grid_visit(grid, p, radius, group, [&](int begin, int end) {
        for (int k = begin; k < end; ++k)
            if (near(grid, k)) each(grid.order[k]);
    });
}

// How many there are: a loop without branches, which the CPU turns into vectors.
SIM_INLINE int grid_count(const GridView& grid, vec3 point, real radius, int group) {
    const vec3 period = load_vec3(grid.layout->period);
    const vec3 p = {grid_wrapped(point.x, period.x), grid_wrapped(point.y, period.y), grid_wrapped(point.z, period.z)};
    const GridTest near(grid, p, radius, group);
    int count = 0;
    grid_visit(grid, p, radius, group, [&](int begin, int end) {
        if (near.periodic || grid.group) {
            for (int k = begin; k < end; ++k) count += near(grid, k);
            return;
        }
        const real *x = grid.x, *y = grid.y, *z = grid.z, px = p.x, py = p.y, pz = p.z, square = near.square;
        int found = 0;
        for (int k = begin; k < end; ++k) {
            const real dx = x[k] - px, dy = y[k] - py, dz = z[k] - pz;
            found += multiply_add(dz, dz, multiply_add(dy, dy, dx * dx)) <= square;
        }
        count += found;
    });
    return count;
}
