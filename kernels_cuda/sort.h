// Stable radix sort by digits, lowest first: what one pass does to one tile of the keys.
//
// A stable sort has one answer, so neither the size of a tile nor that of a digit can be seen in the result. A pass is
// three kernels: count the digits of each tile; for each digit sum the counts of the tiles before; place each key at
//     (keys with a smaller digit) + (keys with this digit in tiles before) + (those before it in its tile).
// On a GPU a block works a tile and brings its keys into their order in shared memory before it writes them, so that
// neighbours are written together: single numbers written here and there would cost ten times as much.
#pragma once

#include "held.h"

#ifdef SIM_GPU
inline constexpr int SORT_BITS = 8;
#else
inline constexpr int SORT_BITS = 11;  // on the CPU the counts of more digits fit in the cache, and passes are saved
#endif
inline constexpr int SORT_DIGITS = 1 << SORT_BITS;  // at most

// The bits of a key that a pass sorts by: `bits` of them from `shift` on.
struct SortDigit {
    int shift, bits;

    SIM_INLINE int count() const { return 1 << bits; }
    template <class Key>
    SIM_INLINE int operator()(Key key) const {
        return int((key >> shift) & Key((1 << bits) - 1));
    }
};

// Adds to a count that lanes of a group share. Integers: the order does not matter.
SIM_INLINE void add_to_shared(int* count, int value) {
#ifdef SIM_GPU
    atomicAdd(count, value);
#else
    *count += value;
#endif
}

// Numbers of the digits in keys[begin .. end) into `column`, which has a row of `tiles` for each digit.
template <class Key>
SIM_INLINE void sort_count_tile(Lanes& lanes, int begin, int end, SortDigit digit, const Key* keys, int tiles,
                                int* column, int* counts) {
    for_lanes(d, 0, digit.count()) counts[d] = 0;
    lanes.sync();
    for_held(lanes, begin, end, [&](int base) {
        Key key[HELD];
        HELD_LOOP(h) key[h] = held_index(lanes, base, h) < end ? keys[held_index(lanes, base, h)] : Key(0);
        HELD_LOOP(h) {
            if (held_index(lanes, base, h) < end) add_to_shared(counts + digit(key[h]), 1);
        }
    });
    lanes.sync();
    for_lanes(d, 0, digit.count()) column[(long long)d * tiles] = counts[d];
    lanes.sync();
}

#if SIM_LANES > 32
// ---- by a block --------------------------------------------------------------------------------------------------

inline constexpr int SORT_WARPS = SIM_LANES / 32, SORT_CHUNK = HELD * SIM_LANES;
static_assert(SORT_DIGITS <= SIM_LANES, "a lane for each digit");

// Shared memory of a block: what a chunk of a tile needs.
template <class Key>
struct SortStage {
    Key* keys;    // (SORT_CHUNK) the chunk in its order
    int* values;  // (SORT_CHUNK)
    int* counts;  // (SORT_WARPS, SORT_DIGITS) keys of each warp by digit, then where they begin in the chunk
    int* shift;   // (SORT_DIGITS) from the place in the chunk to that among all keys

    SIM_INLINE explicit SortStage(char* memory)
        : keys(&small_memory<Key>(memory)),
          values((int*)(keys + SORT_CHUNK)),
          counts(values + SORT_CHUNK),
          shift(counts + SORT_WARPS * SORT_DIGITS) {}
};

// The lanes of the warp that have the same value of a bit of the digit as this one. Four instructions, where the
// compiler makes seven of the same in C++.
SIM_INLINE unsigned lanes_with_bit(int digit, int bit) {
    unsigned lanes;
    asm volatile(
        "{\n"
        ".reg .pred own;\n"
        ".reg .b32 masked;\n"
        "and.b32 masked, %1, %2;\n"
        "setp.ne.b32 own, masked, 0;\n"
        "vote.sync.ballot.b32 %0, own, 0xffffffff;\n"
        "@!own not.b32 %0, %0;\n"
        "}"
        : "=r"(lanes)
        : "r"(digit), "r"(1 << bit));
    return lanes;
}

// The lanes of the warp with the same digit as this one, by a vote on each of its bits: __match_any_sync says the same,
// at the pace of one lane after the other.
template <int BITS>
SIM_INLINE unsigned lanes_alike(int digit, bool inside) {
    unsigned same = __ballot_sync(0xffffffffu, inside) ^ (unsigned(inside) - 1u);
#pragma unroll
    for (int bit = 0; bit < BITS; ++bit) same &= lanes_with_bit(digit, bit);
    return same;
}

// How many keys of the same digit come before each of this lane's in its warp's part of the chunk, HELD rows of 32 keys
// one after the other; the keys are added to the warp's counts. All lanes of the warp call it; digit -1: no key.
template <class Digit>
SIM_INLINE void sort_ranks(Digit digit, int* counts, int (&rank)[HELD]) {
    const unsigned lane = threadIdx.x % 32u, lower = (1u << lane) - 1u;
    unsigned same[HELD];
    HELD_LOOP(h) same[h] = lanes_alike<SORT_BITS>(digit(h), digit(h) >= 0);
    HELD_LOOP(h) {
        const int count = digit(h) >= 0 ? counts[digit(h)] : 0;
        rank[h] = count + __popc(same[h] & lower);
        __syncwarp();
        if (digit(h) >= 0 && same[h] >> lane == 1u) counts[digit(h)] = count + __popc(same[h]);  // the last of them
        __syncwarp();
    }
}

// From the counts of the warps to places in the chunk; `next` is where the keys of this lane's digit go, and moves on.
template <class Key>
SIM_INLINE void sort_arrange(Lanes& lanes, int digits, const SortStage<Key>& stage, int& next) {
    const int d = lanes.lane();
    int of_warp[SORT_WARPS], total = 0;
#pragma unroll
    for (int warp = 0; warp < SORT_WARPS; ++warp) {
        of_warp[warp] = total;
        total += d < digits ? stage.counts[warp * SORT_DIGITS + d] : 0;
    }
    int start = 0;
    lanes.scan(SIM_LANES, [&](int) { return total; }, [&](int, int before) { start = before; });
    if (d >= digits) return;
#pragma unroll
    for (int warp = 0; warp < SORT_WARPS; ++warp) stage.counts[warp * SORT_DIGITS + d] = start + of_warp[warp];
    stage.shift[d] = next - start;
    next += total;
}

// `WHOLE`: the chunk is full, and nothing need be asked.
template <bool WHOLE, class Key>
SIM_INLINE void sort_place_chunk(Lanes& lanes, int begin, int end, SortDigit digit, const Key* keys, const int* values,
                                 Key* keys_out, int* values_out, const SortStage<Key>& stage, int& next) {
    const int warp = lanes.lane() / 32, first = begin + warp * 32 * HELD + lanes.lane() % 32;
    int* counts = stage.counts + warp * SORT_DIGITS;
    const auto inside = [&](int i) { return WHOLE || i < end; };
    Key key[HELD];
    int value[HELD], place[HELD];
    HELD_LOOP(h) key[h] = inside(first + 32 * h) ? keys[first + 32 * h] : Key(0);
    for (int i = lanes.lane(); i < SORT_WARPS * SORT_DIGITS; i += SIM_LANES) stage.counts[i] = 0;
    lanes.sync();
    sort_ranks([&](int h) { return inside(first + 32 * h) ? digit(key[h]) : -1; }, counts, place);
    HELD_LOOP(h) value[h] = values && inside(first + 32 * h) ? values[first + 32 * h] : first + 32 * h;
    lanes.sync();
    sort_arrange(lanes, digit.count(), stage, next);
    lanes.sync();
    HELD_LOOP(h) place[h] += counts[digit(key[h])];
    HELD_LOOP(h) {
        if (!inside(first + 32 * h)) continue;
        stage.keys[place[h]] = key[h];
        stage.values[place[h]] = value[h];
    }
    lanes.sync();
    HELD_LOOP(h) {
        const int i = h * SIM_LANES + lanes.lane();
        key[h] = stage.keys[i];
        value[h] = stage.values[i];
    }
    HELD_LOOP(h) place[h] = h * SIM_LANES + lanes.lane() + stage.shift[digit(key[h])];
    HELD_LOOP(h) {
        if (!inside(begin + h * SIM_LANES + lanes.lane())) continue;
        keys_out[place[h]] = key[h];
        values_out[place[h]] = value[h];
    }
    lanes.sync();
}

// Places keys[begin .. end) and their values; `values` may be null: then the value is the key's position.
template <class Key>
SIM_INLINE void sort_place_tile(Lanes& lanes, int begin, int end, SortDigit digit, const Key* keys, const int* values,
                                int tiles, const int* column, const int* totals, Key* keys_out, int* values_out,
                                char* memory) {
    const SortStage<Key> stage(memory);
    const int d = lanes.lane(), total = d < digit.count() ? totals[d] : 0;
    int next = d < digit.count() ? column[(long long)d * tiles] : 0;
    lanes.scan(SIM_LANES, [&](int) { return total; }, [&](int, int before) { next += before; });
    SIM_ROLLED for (; end - begin >= SORT_CHUNK; begin += SORT_CHUNK)
        sort_place_chunk<true>(lanes, begin, end, digit, keys, values, keys_out, values_out, stage, next);
    if (begin < end) sort_place_chunk<false>(lanes, begin, end, digit, keys, values, keys_out, values_out, stage, next);
}
#else
// ---- by a few lanes ----------------------------------------------------------------------------------------------

// How many lanes before this one hold the same digit, and how many in all.
struct SortPeers {
    int before, all;
};

SIM_INLINE SortPeers sort_peers(Lanes& lanes, int digit, int* digits) {
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
}

// Places keys[begin .. end) and their values; `values` may be null: then the value is the key's position.
template <class Key>
SIM_INLINE void sort_place_tile(Lanes& lanes, int begin, int end, SortDigit digit, const Key* keys, const int* values,
                                int tiles, const int* column, const int* totals, Key* keys_out, int* values_out,
                                char* memory) {
    int* places = (int*)memory;
    int* digits = places + SORT_DIGITS;
    lanes.scan(
        digit.count(), [&](int d) { return totals[d]; },
        [&](int d, int before) { places[d] = before + column[(long long)d * tiles]; });
    lanes.sync();
    for (int base = begin; base < end; base += lanes.count()) {
        const int i = base + lanes.lane();
        const bool inside = i < end;
        const Key key = inside ? keys[i] : Key(0);
        const int of = inside ? digit(key) : -1;
        const SortPeers peers = sort_peers(lanes, of, digits);
        const int place = inside ? places[of] + peers.before : 0;
        lanes.sync();
        if (inside) {
            keys_out[place] = key;
            values_out[place] = values ? values[i] : i;
            if (peers.before == peers.all - 1) places[of] = place + 1;
        }
        lanes.sync();
    }
}
#endif

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
