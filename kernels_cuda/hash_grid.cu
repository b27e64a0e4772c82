// Queries of grids of points (hash_grid.h).
#include "hash_grid.h"
#include "sort.h"

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
