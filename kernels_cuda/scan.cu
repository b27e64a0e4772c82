// Sums of what stands before (exclusive scan) in 64 bits, what a mask keeps in order, and where keys begin.
#include "lanes.h"

// A tile's terms are below 2^31: halves of 16 and 15 bits are summed apart, so that no sum of 32 bits overflows. The
// sum of the upper halves counts 2^shift: 16 makes it the sum of the terms, 32 keeps the sums of the halves side by
// side.
inline constexpr int SCAN_TILE = 2048;

SIM_INLINE int scan_tile_end(int slot, int n) { return n - slot * SCAN_TILE < SCAN_TILE ? n : (slot + 1) * SCAN_TILE; }

extern "C" __global__ void scan_tiles(int count, int tiles, int shift, const int* terms /* (count) */,
                                      int64* sums /* (tiles) */, Scratch scratch) {
    for_each_world(tiles, scratch, [&](Lanes& lanes, int slot, char*) {
        const int begin = slot * SCAN_TILE, size = scan_tile_end(slot, count) - begin;
        const int low = lanes.scan(size, [&](int i) { return terms[begin + i] & 0xffff; });
        const int high = lanes.scan(size, [&](int i) { return terms[begin + i] >> 16; });
        if (lanes.lane() == 0) sums[slot] = (int64(high) << shift) + low;
    });
}

// One group: each lane sums its share of the tiles, then adds what the lanes before have.
extern "C" __global__ void scan_sums(int groups, int tiles, int64* sums /* (tiles) */, int64* total /* (1) */,
                                     Scratch scratch) {
    for_each_world(groups, scratch, [&](Lanes& lanes, int, char* memory) {
        int64* of_lane = (int64*)memory;
        const int share = (tiles + lanes.count() - 1) / lanes.count();
        const int begin = share * lanes.lane() < tiles ? share * lanes.lane() : tiles;
        const int end = begin + share < tiles ? begin + share : tiles;
        int64 sum = 0;
        for (int i = begin; i < end; ++i) sum += sums[i];
        of_lane[lanes.lane()] = sum;
        lanes.sync();
        int64 before = 0;
        for (int lane = 0; lane < lanes.lane(); ++lane) before += of_lane[lane];
        for (int i = begin; i < end; ++i) {
            const int64 term = sums[i];
            sums[i] = before;
            before += term;
        }
        if (lanes.lane() == lanes.count() - 1) total[0] = before;
        lanes.sync();
    });
}

extern "C" __global__ void scan_place(int count, int tiles, int shift, const int* terms /* (count) */,
                                      const int64* sums /* (tiles) */, int64* out, Scratch scratch) {
    for_each_world(tiles, scratch, [&](Lanes& lanes, int slot, char*) {
        const int begin = slot * SCAN_TILE, size = scan_tile_end(slot, count) - begin;
        const int64 base = sums[slot];
        lanes.scan(size, [&](int i) { return terms[begin + i] & 0xffff; },
                   [&](int i, int before) { out[begin + i] = base + before; });
        lanes.sync();
        lanes.scan(size, [&](int i) { return terms[begin + i] >> 16; },
                   [&](int i, int before) { out[begin + i] += int64(before) << shift; });
        lanes.sync();
    });
}

// The indices whose flag is not 0, in ascending order.
extern "C" __global__ void compact_indices(int n, const int* flags /* (n) */, const int64* places, int* out) {
    for_each(i, n) {
        if (flags[i]) out[places[i]] = int(i);
    }
}

// starts[k] is how many of the sorted keys are below k, for k = 0 .. bins. An item finds the first of its 16 bins by
// bisection, and goes on from there by steps that double.
extern "C" __global__ void key_starts(int n, int bins, int count, const uint32* keys /* (count) */,
                                      int* starts /* (bins + 1) */) {
    for_each(item, n) {
        const int first = int(item) * 16, last = first + 16 < bins + 1 ? first + 16 : bins + 1;
        int place = 0;
        for (int key = first; key < last; ++key) {
            int step = key == first ? count : 1, high = place;
            while (high < count && keys[high] < uint32(key)) {
                place = high + 1;
                high = step < count - high ? high + step : count;
                step *= 2;
            }
            while (place < high) {
                const int middle = place + (high - place) / 2;
                if (keys[middle] < uint32(key))
                    place = middle + 1;
                else
                    high = middle;
            }
            starts[key] = place;
        }
    }
}
