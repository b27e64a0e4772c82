// The passes of a stable radix sort (sort.h). Groups of lanes work tiles of the keys.
#include "sort.h"

SIM_INLINE int tile_end(int slot, int tile, int n) { return n - slot * tile < tile ? n : (slot + 1) * tile; }

extern "C" __global__ void sort_count_32(int count, int tiles, int tile, int shift, const uint32* keys /* (count) */,
                                         int* table, Scratch scratch) {
    for_each_world(tiles, scratch, [&](Lanes& lanes, int slot, char* memory) {
        sort_count_tile<uint32>(lanes, slot * tile, tile_end(slot, tile, count), shift, keys, tiles, table + slot,
                                (int*)memory);
    });
}

extern "C" __global__ void sort_count_64(int count, int tiles, int tile, int shift, const uint64* keys /* (count) */,
                                         int* table, Scratch scratch) {
    for_each_world(tiles, scratch, [&](Lanes& lanes, int slot, char* memory) {
        sort_count_tile<uint64>(lanes, slot * tile, tile_end(slot, tile, count), shift, keys, tiles, table + slot,
                                (int*)memory);
    });
}

// Each row of the table becomes the sums of what stands before in it; totals are the sums of whole rows.
extern "C" __global__ void sort_rows(int rows, int tiles, int* table, int* totals /* (rows) */, Scratch scratch) {
    for_each_world(rows, scratch, [&](Lanes& lanes, int row, char* memory) {
        int* counts = (int*)memory;
        int* out = table + (long long)row * tiles;
        for_lanes(i, 0, tiles) counts[i] = out[i];
        lanes.sync();
        const int total =
            lanes.scan(tiles, [&](int i) { return counts[i]; }, [&](int i, int before) { out[i] = before; });
        if (lanes.lane() == 0) totals[row] = total;
        lanes.sync();
    });
}

extern "C" __global__ void sort_place_32(int count, int tiles, int tile, int shift, const uint32* keys /* (count) */,
                                         const int* values /* (count) optional */, const int* table, const int* totals,
                                         uint32* keys_out /* (count) */, int* values_out /* (count) */,
                                         Scratch scratch) {
    for_each_world(tiles, scratch, [&](Lanes& lanes, int slot, char* memory) {
        sort_place_tile<uint32>(lanes, slot * tile, tile_end(slot, tile, count), shift, keys, values, tiles,
                                table + slot, totals, keys_out, values_out, (int*)memory);
    });
}

extern "C" __global__ void sort_place_64(int count, int tiles, int tile, int shift, const uint64* keys /* (count) */,
                                         const int* values /* (count) optional */, const int* table, const int* totals,
                                         uint64* keys_out /* (count) */, int* values_out /* (count) */,
                                         Scratch scratch) {
    for_each_world(tiles, scratch, [&](Lanes& lanes, int slot, char* memory) {
        sort_place_tile<uint64>(lanes, slot * tile, tile_end(slot, tile, count), shift, keys, values, tiles,
                                table + slot, totals, keys_out, values_out, (int*)memory);
    });
}
