// Sums of what stands before (exclusive scan) in 64 bits, what a mask keeps in order, and where keys begin.
#include "held.h"

// Terms are below 2^31: halves of 16 and 15 bits are summed apart, so that no sum of 32 bits overflows. The sum of the
// upper halves counts 2^shift: 16 makes it the sum of the terms, 32 keeps the sums of the halves side by side.
struct ScanHalves {
    int64 total;
    int low[HELD], high[HELD];

    // Terms of this lane from `base` on: low and high become the sums of the halves before each, within the chunk.
    SIM_INLINE void take(Lanes& lanes, const int* terms, int base, int end, int shift) {
        HELD_LOOP(h) {
            const int i = held_index(lanes, base, h), term = i < end ? terms[i] : 0;
            low[h] = term & 0xffff;
            high[h] = term >> 16;
        }
        const int of_high = scan_held(lanes, 0, high), of_low = scan_held(lanes, 0, low);
        total = (int64(of_high) << shift) + of_low;
    }
};

SIM_INLINE int scan_tile_end(int slot, int tile, int n) { return n - slot * tile < tile ? n : (slot + 1) * tile; }

extern "C" __global__ void scan_tiles(int count, int tiles, int tile, int shift, const int* terms /* (count) */,
                                      int64* sums /* (tiles) */, Scratch scratch) {
    for_each_world(tiles, scratch, [&](Lanes& lanes, int slot, char*) {
        const int end = scan_tile_end(slot, tile, count);
        int64 sum = 0;
        for_held(lanes, slot * tile, end, [&](int base) {
            int low = 0, high = 0;
            HELD_LOOP(h) {
                const int term = held_index(lanes, base, h) < end ? terms[held_index(lanes, base, h)] : 0;
                low += term & 0xffff;
                high += term >> 16;
            }
            const int of_high = lanes.scan(lanes.count(), [&](int) { return high; });
            const int of_low = lanes.scan(lanes.count(), [&](int) { return low; });
            sum += (int64(of_high) << shift) + of_low;
        });
        if (lanes.lane() == 0) sums[slot] = sum;
    });
}

// One group: sums become the sums of those before.
extern "C" __global__ void scan_sums(int groups, int tiles, int64* sums /* (tiles) */, int64* total /* (1) */,
                                     Scratch scratch) {
    for_each_world(groups, scratch, [&](Lanes& lanes, int, char* memory) {
        int64* of_lane = (int64*)memory;
        int64 before = 0;
        for_held(lanes, 0, tiles, [&](int base) {
            const int first = base + HELD * lanes.lane();  // a lane's terms lie side by side here
            int64 term[HELD], sum = 0;
            HELD_LOOP(h) term[h] = first + h < tiles ? sums[first + h] : 0;
            HELD_LOOP(h) sum += term[h];
            of_lane[lanes.lane()] = sum;
            lanes.sync();
            int64 mine = before;
            for (int lane = 0; lane < lanes.count(); ++lane) {
                mine += lane < lanes.lane() ? of_lane[lane] : 0;
                before += of_lane[lane];
            }
            HELD_LOOP(h) {
                if (first + h < tiles) sums[first + h] = mine;
                mine += term[h];
            }
            lanes.sync();
        });
        if (lanes.lane() == 0) total[0] = before;
    });
}

extern "C" __global__ void scan_place(int count, int tiles, int tile, int shift, const int* terms /* (count) */,
                                      const int64* sums /* (tiles) */, int64* out, Scratch scratch) {
    for_each_world(tiles, scratch, [&](Lanes& lanes, int slot, char*) {
        const int end = scan_tile_end(slot, tile, count);
        int64 before = sums[slot];
        for_held(lanes, slot * tile, end, [&](int base) {
            ScanHalves halves;
            halves.take(lanes, terms, base, end, shift);
            HELD_LOOP(h) {
                const int i = held_index(lanes, base, h);
                if (i < end) out[i] = before + (int64(halves.high[h]) << shift) + halves.low[h];
            }
            before += halves.total;
        });
    });
}

// The indices whose flag is not 0, in ascending order.
extern "C" __global__ void compact_indices(int n, const int* flags /* (n) */, const int64* places, int* out) {
    for_each(i, n) {
        if (flags[i]) out[places[i]] = int(i);
    }
}

// How many of the sorted keys are below `key`: all lanes probe at once, and keep the part between two probes.
SIM_INLINE int keys_below(Lanes& lanes, const uint32* keys, int count, uint32 key) {
    int low = 0, high = count;
    while (low < high) {
        const int64 span = high - low, parts = lanes.count() + 1;
        const auto probe = [&](int lane) { return low + int(span * (lane + 1) / parts); };
        const auto below = [&](int lane) { return int(probe(lane) < high && keys[probe(lane)] < key); };
        const int found = lanes.scan(lanes.count(), below);
        high = found < lanes.count() && probe(found) < high ? probe(found) : high;
        low = found > 0 ? probe(found - 1) + 1 : low;
    }
    return low;
}

inline constexpr int BIN_TILE = 512;

// starts[k] is how many of the sorted keys are below k, for k = 0 .. bins. A tile finds its first key, notes where the
// run of each key begins and ends, and sums their lengths.
extern "C" __global__ void key_starts(int tiles, int count, int bins, const uint32* keys /* (count) */,
                                      int* starts /* (bins + 1) */, Scratch scratch) {
    for_each_world(tiles, scratch, [&](Lanes& lanes, int slot, char* memory) {
        int *first = (int*)memory, *last = first + BIN_TILE;
        const int bin = slot * BIN_TILE, size = bins + 1 - bin < BIN_TILE ? bins + 1 - bin : BIN_TILE;
        for_lanes(k, 0, size) first[k] = last[k] = 0;
        const int begin = keys_below(lanes, keys, count, uint32(bin));
        const int end = keys_below(lanes, keys, count, uint32(bin + size));
        lanes.sync();
        for_held(lanes, begin, end, [&](int base) {
            uint32 key[HELD], before[HELD], after[HELD];
            HELD_LOOP(h) {
                const int i = held_index(lanes, base, h);
                key[h] = i < end ? keys[i] : uint32(bin);
                before[h] = i < end && i > begin ? keys[i - 1] : ~key[h];
                after[h] = i < end - 1 ? keys[i + 1] : ~key[h];
            }
            HELD_LOOP(h) {
                const int i = held_index(lanes, base, h);
                if (i < end && before[h] != key[h]) first[key[h] - bin] = i;
                if (i < end && after[h] != key[h]) last[key[h] - bin] = i + 1;
            }
        });
        lanes.sync();
        int before = begin;
        for_held(lanes, 0, size, [&](int base) {
            int term[HELD];
            HELD_LOOP(h) {
                const int k = held_index(lanes, base, h);
                term[h] = k < size ? last[k] - first[k] : 0;
            }
            before = scan_held(lanes, before, term);
            HELD_LOOP(h) {
                const int k = held_index(lanes, base, h);
                if (k < size) starts[bin + k] = term[h];
            }
        });
        lanes.sync();
    });
}
