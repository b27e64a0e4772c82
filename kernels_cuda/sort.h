// Stable radix sort by digits, lowest first: what one pass does to one tile of the keys.
//
// A stable sort has one answer, so neither the size of a tile nor that of a digit can be seen in the result. A pass is
// three kernels: count the digits of each tile; for each digit sum the counts of the tiles before; place each key at
//     (keys with a smaller digit) + (keys with this digit in tiles before) + (those before it in its tile).
// The last is found in the order of the keys, as many of them at once as the group has lanes.
#pragma once

#include "lanes.h"

#ifdef SIM_GPU
inline constexpr int SORT_BITS = 8;
#else
inline constexpr int SORT_BITS = 11;  // on the CPU the counts of more digits fit in the cache, and passes are saved
#endif
inline constexpr int SORT_DIGITS = 1 << SORT_BITS;

template <class Key>
SIM_INLINE int sort_digit(Key key, int shift) {
    return int((key >> shift) & Key(SORT_DIGITS - 1));
}

// Adds to a count that lanes of a group share. Integers: the order does not matter.
SIM_INLINE void add_to_shared(int* count, int value) {
#ifdef SIM_GPU
    atomicAdd(count, value);
#else
    *count += value;
#endif
}

// How many lanes before this one hold the same digit, and how many in all.
struct SortPeers {
    int before, all;
};

SIM_INLINE SortPeers sort_peers(Lanes& lanes, int digit, int* digits) {
#if defined(SIM_GPU) && SIM_LANES > 1
    const unsigned lane = threadIdx.x % 32u;
    const unsigned group = (0xffffffffu >> (32 - SIM_LANES)) << (lane - lane % SIM_LANES);
    const unsigned same = __match_any_sync(group, digit);
    return {__popc(same & ((1u << lane) - 1u)), __popc(same)};
#else
    if (lanes.count() == 1) return {0, 1};
    digits[lanes.lane()] = digit;
    lanes.sync();
    SortPeers peers = {0, 0};
    for (int lane = 0; lane < lanes.count(); ++lane) {
        if (digits[lane] != digit) continue;
        peers.before += lane < lanes.lane();
        ++peers.all;
    }
    lanes.sync();
    return peers;
#endif
}

// Numbers of the digits in keys[begin .. end) into `column`, which has a row of `tiles` for each digit.
template <class Key>
SIM_INLINE void sort_count_tile(Lanes& lanes, int begin, int end, int shift, const Key* keys, int tiles, int* column,
                                int* counts) {
    for_lanes(d, 0, SORT_DIGITS) counts[d] = 0;
    lanes.sync();
    for_lanes(i, begin, end) add_to_shared(counts + sort_digit(keys[i], shift), 1);
    lanes.sync();
    for_lanes(d, 0, SORT_DIGITS) column[(long long)d * tiles] = counts[d];
    lanes.sync();
}

// Places keys[begin .. end) and their values; `values` may be null: then the value is the key's position.
template <class Key>
SIM_INLINE void sort_place_tile(Lanes& lanes, int begin, int end, int shift, const Key* keys, const int* values,
                                int tiles, const int* column, const int* totals, Key* keys_out, int* values_out,
                                int* places) {
    int* digits = places + SORT_DIGITS;
    lanes.scan(SORT_DIGITS, [&](int d) { return totals[d]; },
               [&](int d, int before) { places[d] = before + column[(long long)d * tiles]; });
    lanes.sync();
    for (int base = begin; base < end; base += lanes.count()) {
        const int i = base + lanes.lane();
        const bool inside = i < end;
        const Key key = inside ? keys[i] : Key(0);
        const int digit = inside ? sort_digit(key, shift) : -1;
        const SortPeers peers = sort_peers(lanes, digit, digits);
        const int place = inside ? places[digit] + peers.before : 0;
        if (inside) {
            keys_out[place] = key;
            values_out[place] = values ? values[i] : i;
        }
        lanes.sync();
        if (inside && peers.before == peers.all - 1) places[digit] = place + 1;
        lanes.sync();
    }
}

// Sorts a row of indices in place, ascending: by insertion where it is short, else as a heap (Williams 1964).
SIM_INLINE void sift_down(int* row, int64 root, int64 size) {
    const int value = row[root];
    int64 child = 2 * root + 1;
    while (child < size) {
        if (child + 1 < size && row[child + 1] > row[child]) ++child;
        if (row[child] <= value) break;
        row[root] = row[child];
        root = child;
        child = 2 * root + 1;
    }
    row[root] = value;
}

SIM_INLINE void sort_row(int* row, int64 size) {
    if (size <= 48) {
        for (int64 i = 1; i < size; ++i) {
            const int value = row[i];
            int64 k = i;
            for (; k > 0 && row[k - 1] > value; --k) row[k] = row[k - 1];
            row[k] = value;
        }
        return;
    }
    for (int64 root = size / 2 - 1; root >= 0; --root) sift_down(row, root, size);
    for (int64 end = size - 1; end > 0; --end) {
        const int top = row[0];
        row[0] = row[end];
        row[end] = top;
        sift_down(row, 0, end);
    }
}
