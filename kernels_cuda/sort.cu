// The passes of a stable radix sort (sort.h). Groups of lanes work tiles of the keys.
#include "sort.h"

// Threads of a block, and blocks that a multiprocessor is to hold, which bounds the registers.
inline constexpr int PLACE_THREADS = SIM_LANES > 32 ? SIM_LANES : 512, PLACE_BLOCKS = SIM_LANES > 32 ? 2 : 1;

SIM_INLINE int tile_end(int slot, int tile, int n) { return n - slot * tile < tile ? n : (slot + 1) * tile; }

extern "C" __global__ void sort_count_32(int count, int tiles, int tile, int shift, int bits,
                                         const uint32* keys /* (count) */, int* table, Scratch scratch) {
    for_each_world(tiles, scratch, [&](Lanes& lanes, int slot, char* memory) {
        sort_count_tile<uint32>(lanes, slot * tile, tile_end(slot, tile, count), {shift, bits}, keys, tiles,
                                table + slot, (int*)memory);
    });
}

extern "C" __global__ void sort_count_64(int count, int tiles, int tile, int shift, int bits,
                                         const uint64* keys /* (count) */, int* table, Scratch scratch) {
    for_each_world(tiles, scratch, [&](Lanes& lanes, int slot, char* memory) {
        sort_count_tile<uint64>(lanes, slot * tile, tile_end(slot, tile, count), {shift, bits}, keys, tiles,
                                table + slot, (int*)memory);
    });
}

// Each row of the table becomes the sums of what stands before in it; totals are the sums of whole rows.
extern "C" __global__ void sort_rows(int rows, int tiles, int* table, int* totals /* (rows) */, Scratch scratch) {
    for_each_world(rows, scratch, [&](Lanes& lanes, int row, char*) {
        int* counts = table + (long long)row * tiles;
        int before = 0;
        for (int base = 0; base < tiles; base += lanes.count()) {
            const int i = base + lanes.lane(), value = i < tiles ? counts[i] : 0;
            const auto keep = [&](int, int earlier) {
                if (i < tiles) counts[i] = before + earlier;
            };
            before += lanes.scan(lanes.count(), [&](int) { return value; }, keep);
        }
        if (lanes.lane() == 0) totals[row] = before;
    });
}

extern "C" __global__ void __launch_bounds__(PLACE_THREADS, PLACE_BLOCKS)
    sort_place_32(int count, int tiles, int tile, int shift, int bits, const uint32* keys /* (count) */,
                  const int* values /* (count) optional */, const int* table, const int* totals,
                  uint32* keys_out /* (count) */, int* values_out /* (count) */, Scratch scratch) {
    for_each_world(tiles, scratch, [&](Lanes& lanes, int slot, char* memory) {
        sort_place_tile<uint32>(lanes, slot * tile, tile_end(slot, tile, count), {shift, bits}, keys, values, tiles,
                                table + slot, totals, keys_out, values_out, memory);
    });
}

extern "C" __global__ void __launch_bounds__(PLACE_THREADS, PLACE_BLOCKS)
    sort_place_64(int count, int tiles, int tile, int shift, int bits, const uint64* keys /* (count) */,
                  const int* values /* (count) optional */, const int* table, const int* totals,
                  uint64* keys_out /* (count) */, int* values_out /* (count) */, Scratch scratch) {
    for_each_world(tiles, scratch, [&](Lanes& lanes, int slot, char* memory) {
        sort_place_tile<uint64>(lanes, slot * tile, tile_end(slot, tile, count), {shift, bits}, keys, values, tiles,
                                table + slot, totals, keys_out, values_out, memory);
    });
}
