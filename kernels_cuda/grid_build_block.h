// Building of a grid by blocks of a GPU (grid_build.h). A block takes a chunk of points, a few rows of 32 a warp, finds
// where each goes in the chunk's order, and passes them through shared memory, so that neighbours are written together.
#pragma once

inline constexpr int GRID_WARPS = SIM_LANES / 32, GRID_ROWS = sizeof(real) == 4 ? 16 : 8;  // rows of a warp, at most
inline constexpr int GRID_DIGIT_BITS = 11;  // of what a chunk is sorted by in one go, at most
inline constexpr int GRID_HALF_BITS = 7;    // likewise, where it takes two passes
inline constexpr int GRID_INDEX_BITS = 13;  // tell the points of a chunk apart
static_assert(GRID_ROWS * SIM_LANES <= 1 << GRID_INDEX_BITS, "positions in a chunk");

#define GRID_LOOP(h) _Pragma("unroll") for (int h = 0; h < GRID_ROWS; ++h)
#define GRID_LOOP_TO(h, n) _Pragma("unroll") for (int h = 0; h < (n); ++h)

SIM_INLINE real grid_warp_most(real value) {
#pragma unroll
    for (unsigned offset = 16; offset > 0; offset /= 2)
        value = larger_number(value, __shfl_xor_sync(0xffffffffu, value, offset));
    return value;
}

SIM_INLINE int grid_warp_least(int value) {
#pragma unroll
    for (unsigned offset = 16; offset > 0; offset /= 2) {
        const int other = __shfl_xor_sync(0xffffffffu, value, offset);
        value = other < value ? other : value;
    }
    return value;
}

// The largest of the lanes' numbers, which are none of them NaN, and the least of `least`: one barrier for all, where
// max_over takes two for each.
SIM_INLINE void grid_most(Lanes& lanes, real (&most)[6], int& least) {
    __shared__ real of_warps[6][GRID_WARPS];
    __shared__ int least_of_warps[GRID_WARPS];
    const int warp = lanes.lane() / 32, lane = lanes.lane() % 32, from = lane < GRID_WARPS ? lane : 0;
#pragma unroll
    for (int a = 0; a < 6; ++a) {
        const real of_warp = grid_warp_most(most[a]);
        if (lane == 0) of_warps[a][warp] = of_warp;
    }
    const int least_of_warp = grid_warp_least(least);
    if (lane == 0) least_of_warps[warp] = least_of_warp;
    lanes.sync();
#pragma unroll
    for (int a = 0; a < 6; ++a) most[a] = unsigned_zero(grid_warp_most(of_warps[a][from]));
    least = grid_warp_least(least_of_warps[from]);
    lanes.sync();
}

// The part of a tile or bucket that a block works on at once: from `begin` on, as few of `most_rows` rows a warp as do.
// What is loaded of rows beyond its end is 0: a number that is set in any case takes no register before.
struct GridChunk {
    int begin, size, rows;
    int first, left;  // this lane's first point within the chunk; behind it, a row is there for every 32
    int slots_left;   // likewise of the order in which results are written

    SIM_INLINE GridChunk(int from, int to, int most_rows) : begin(from), size(to - from) {
        const int needed = (size + SIM_LANES - 1) / SIM_LANES;
        rows = needed < most_rows ? needed : most_rows;
        size = size < rows * SIM_LANES ? size : rows * SIM_LANES;
        first = int(threadIdx.x / 32) * 32 * rows + int(threadIdx.x % 32);
        left = size - first < 32 * rows ? size - first : 32 * rows;
        slots_left = size - int(threadIdx.x);
    }

    // The same, of which the compiler knows nothing: it else keeps conditions that many rows share as bits of
    // registers, which takes more instructions than to ask again.
    SIM_INLINE GridChunk anew() const {
        GridChunk chunk = *this;
        asm volatile("" : "+r"(chunk.left), "+r"(chunk.slots_left));
        return chunk;
    }

    // The place in the chunk of row h of this lane, in the order of the points; and whether a point is there.
    SIM_INLINE int position(int h) const { return first + 32 * h; }
    SIM_INLINE bool has(int h) const { return 32 * h < left; }
    // Likewise in the order in which results are written.
    SIM_INLINE static int slot(int h) { return h * SIM_LANES + int(threadIdx.x); }
    SIM_INLINE bool has_slot(int h) const { return SIM_LANES * h < slots_left; }
};

// Rows are told by their digit << 16, to which their place is added: one register for both.
inline constexpr int GRID_PLACE_BITS = 16;
SIM_INLINE int grid_digit(int row) { return row >> GRID_PLACE_BITS; }
SIM_INLINE int grid_row_place(int row) { return row & ((1 << GRID_PLACE_BITS) - 1); }

// To each row is added how many points of the same digit come before it in its warp's part; the warp's counts grow.
template <int BITS>
SIM_INLINE void grid_ranks(const GridChunk& known, unsigned short* counts, int (&row)[GRID_ROWS]) {
    const GridChunk chunk = known.anew();
    const unsigned lane = threadIdx.x % 32u, lower = (1u << lane) - 1u;
    // rows without points come along: the compiler cannot know that a condition holds for all lanes of the warp
    GRID_LOOP(h) {
        const int digit = grid_digit(row[h]), count = counts[digit];
        const unsigned same = lanes_alike<BITS>(digit, chunk.has(h));
        row[h] += count + __popc(same & lower);
        __syncwarp();
        if (chunk.has(h) && same >> lane == 1u) counts[digit] = (unsigned short)(count + __popc(same));
        __syncwarp();
    }
}

// Four counts, of digits that follow one another.
struct alignas(8) GridFour {
    unsigned low, high;  // two counts each

    SIM_INLINE void operator+=(const GridFour& other) {
        low += other.low;
        high += other.high;
    }
};

// To each row is added where it goes in the chunk in the order of the digits, below `digits`, those of a digit as they
// stand; the digits of rows without points are 0. counts[digit] becomes the place of its first, up to the next
// multiple of four of digits.
// counts: (GRID_WARPS, digits + 3), aligned to 8 bytes, which no lane may use any more
template <int BITS>
SIM_INLINE void grid_places(Lanes& lanes, const GridChunk& chunk, int digits, unsigned short* counts,
                            int (&row)[GRID_ROWS]) {
    static_assert(1 << BITS <= 4 * SIM_LANES, "a lane has four digits");
    const int words = (digits + 3) / 4, w = lanes.lane();
    GridFour* fours = (GridFour*)counts;
    unsigned short* of_warp = counts + threadIdx.x / 32 * 4 * words;
    for_lanes(i, 0, GRID_WARPS * words) fours[i] = {0, 0};
    lanes.sync();
    grid_ranks<BITS>(chunk, of_warp, row);
    lanes.sync();
    GridFour total = {0, 0};
    if (w < words) {
        GRID_LOOP_TO(warp, GRID_WARPS) total += fours[warp * words + w];
    }
    const int first = int(total.low & 0xffffu), second = first + int(total.low >> 16);
    const int third = second + int(total.high & 0xffffu), all = third + int(total.high >> 16);
    int start = 0;
    lanes.scan(SIM_LANES, [&](int) { return all; }, [&](int, int earlier) { start = earlier; });
    GridFour next = {unsigned(start) | unsigned(start + first) << 16, unsigned(start + second) | unsigned(start + third)
                                                                                                     << 16};
    constexpr int AT_ONCE = 8;  // all of them would not find registers
    SIM_ROLLED for (int base = 0; base < GRID_WARPS * words && w < words; base += AT_ONCE * words) {
        GridFour own[AT_ONCE];
        GRID_LOOP_TO(warp, AT_ONCE) own[warp] = fours[base + warp * words + w];
        GRID_LOOP_TO(warp, AT_ONCE) {
            fours[base + warp * words + w] = next;
            next += own[warp];
        }
    }
    lanes.sync();
    GRID_LOOP(h) row[h] += of_warp[grid_digit(row[h])];
}

// Brings memory into the cache that all share: it else idles while blocks compute.
SIM_INLINE void grid_ask(const void* from, const void* to) {
    for (const char* line = (const char*)from + 128 * threadIdx.x; line < (const char*)to; line += 128 * SIM_LANES)
        asm volatile("prefetch.global.L2 [%0];" ::"l"(line));
}

// ---- to the buckets ----------------------------------------------------------------------------------------------

// Wrapped points of a chunk and their buckets.
template <int ROWS>
SIM_INLINE void grid_load(const GridLayout& layout, const GridBuild& b, const GridChunk& chunk, vec3 (&p)[ROWS],
                          int (&bucket)[ROWS]) {
    const GridLayout g = layout;
    const real* points = b.points + 3LL * (chunk.begin + chunk.first);
    GRID_LOOP_TO(h, ROWS) p[h] = chunk.has(h) ? load_vec3(points + 96 * h) : zero_vec3();
    GRID_LOOP_TO(h, ROWS) bucket[h] = 0;
    if (b.groups) {
        GRID_LOOP_TO(h, ROWS) bucket[h] = chunk.has(h) ? b.groups[chunk.begin + chunk.position(h)] : 0;
    }
    if (g.period[0] > real(0) || g.period[1] > real(0) || g.period[2] > real(0)) {
        GRID_LOOP_TO(h, ROWS) p[h] = grid_wrapped(g, p[h]);
    }
    GRID_LOOP_TO(h, ROWS) bucket[h] = chunk.has(h) ? grid_bucket(g, grid_point_place(g, p[h], bucket[h])) : 0;
}

SIM_INLINE void grid_count_tile(Lanes& lanes, const GridLayout& g, const GridBuild& b, int slot, char* memory) {
    constexpr int ROWS = GRID_ROWS / 2;  // two blocks a multiprocessor have registers for these
    int* counts = &small_memory<int>(memory);
    for_lanes(k, 0, b.buckets) counts[k] = 0;
    lanes.sync();
    const int begin = b.tile_begin(slot);
    // from the end on: what was read last, for the extents, is what the cache still holds
    SIM_ROLLED for (int end = b.tile_begin(slot + 1); end > begin; end -= SIM_LANES * ROWS) {
        const GridChunk chunk(end - begin > SIM_LANES * ROWS ? end - SIM_LANES * ROWS : begin, end, ROWS);
        vec3 p[ROWS];
        int bucket[ROWS];
        grid_load(g, b, chunk, p, bucket);
        GRID_LOOP_TO(h, ROWS) {
            if (chunk.has(h)) atomicAdd(counts + bucket[h], 1);
        }
    }
    lanes.sync();
    for_lanes(k, 0, b.buckets) b.table[int64(slot) * b.buckets + k] = counts[k];
    lanes.sync();
}

// Shared memory of a block that scatters.
struct GridStage {
    GridPoint* points;        // (rows * SIM_LANES)
    int *next, *shift;        // (buckets) where the points of a bucket go; from the place in the chunk to there
    unsigned short* buckets;  // (rows * SIM_LANES)
    unsigned short* counts;   // (GRID_WARPS, buckets + 3)

    SIM_INLINE GridStage(char* memory, int rows, int of_buckets)
        : points(&small_memory<GridPoint>(memory)),
          next((int*)(points + rows * SIM_LANES)),
          shift(next + of_buckets),
          buckets((unsigned short*)(shift + of_buckets)),
          counts(buckets + rows * SIM_LANES) {}
};

// `after` .. `after_end` - 1 are the points of the next chunk.
SIM_INLINE void grid_scatter_chunk(Lanes& lanes, const GridLayout& g, const GridBuild& b, const GridChunk& chunk,
                                   int after, int after_end, const GridStage& stage) {
    vec3 p[GRID_ROWS];
    int row[GRID_ROWS];
    grid_load(g, b, chunk, p, row);
    GRID_LOOP(h) row[h] <<= GRID_PLACE_BITS;
    grid_ask(b.points + 3LL * after, b.points + 3LL * after_end);
    grid_places<GRID_DIGIT_BITS>(lanes, chunk, b.buckets, stage.counts, row);
    for_lanes(k, 0, b.buckets) {
        const int start = stage.counts[k], end = k + 1 < b.buckets ? stage.counts[k + 1] : chunk.size;
        stage.shift[k] = stage.next[k] - start;
        stage.next[k] += end - start;
    }
    const GridChunk known = chunk.anew();
    GRID_LOOP(h) {
        const GridPoint point = {p[h].x, p[h].y, p[h].z, chunk.begin + chunk.position(h)};
        if (known.has(h)) stage.points[grid_row_place(row[h])] = point;
    }
    GRID_LOOP(h) {
        if (known.has(h)) stage.buckets[grid_row_place(row[h])] = (unsigned short)grid_digit(row[h]);
    }
    lanes.sync();
    GridPoint moved[GRID_ROWS];
    GRID_LOOP(h) {
        const int slot = chunk.slot(h);
        moved[h] = {real(0), real(0), real(0), 0};
        if (chunk.has_slot(h)) moved[h] = stage.points[slot];
        row[h] = chunk.has_slot(h) ? slot + stage.shift[stage.buckets[slot]] : 0;
    }
    GRID_LOOP(h) {
        if (chunk.has_slot(h)) b.moved[row[h]] = moved[h];
    }
    lanes.sync();
}

SIM_INLINE void grid_scatter_tile(Lanes& lanes, const GridLayout& g, const GridBuild& b, int slot, int rows,
                                  char* memory) {
    const GridStage stage(memory, rows, b.buckets);
    grid_bucket_starts(lanes, b, slot, stage.next);
    const int end = b.tile_begin(slot + 1), size = rows * SIM_LANES;
    SIM_ROLLED for (int begin = b.tile_begin(slot); begin < end; begin += size) {
        const int after = end - begin > size ? begin + size : end, after_end = end - after > size ? after + size : end;
        grid_scatter_chunk(lanes, g, b, GridChunk(begin, end, rows), after, after_end, stage);
    }
}

// ---- within a bucket ---------------------------------------------------------------------------------------------

// Shared memory of a block that orders a bucket. What is not needed at the same time is in the same place.
struct GridOrder {
    GridPoint* points;       // (rows * SIM_LANES) of the chunk, as they come
    int* next;               // (places) where the next point of a place goes in the bucket
    unsigned short* counts;  // (GRID_WARPS, digits + 3); what follows is in the same memory
    unsigned short* source;  // (rows * SIM_LANES) positions of the points in the order of their places
    int* slots;              // (rows * SIM_LANES) places and positions on the way there
    unsigned short* place;   // (rows * SIM_LANES) in the order of the places; with slots
    unsigned short* first;   // (places) the first of a place in the chunk; with slots

    SIM_INLINE GridOrder(char* memory, int rows, int places)
        : points(&small_memory<GridPoint>(memory)),
          next((int*)(points + rows * SIM_LANES)),
          counts((unsigned short*)(next + (places + 1) / 2 * 2)),
          source(counts),
          slots((int*)(source + rows * SIM_LANES)),
          place((unsigned short*)slots),
          first(place + rows * SIM_LANES) {}
};

// The bucket that a multiprocessor most likely takes after this one, or this one where none is left.
SIM_INLINE int grid_bucket_after(const GridBuild& b, int slot) {
    unsigned processors;
    asm("mov.u32 %0, %%nsmid;" : "=r"(processors));
    const int after = slot + int(processors);
    return after < b.buckets ? after : slot;
}

// Keeps the points of a chunk of a bucket; packed[h] becomes the place of row h in the table, from the bucket's first
// on, and behind it in GRID_INDEX_BITS its position in the chunk.
SIM_INLINE void grid_load_bucket(const GridLayout& layout, const GridBuild& b, const GridChunk& chunk, int first,
                                 const GridOrder& memory, int (&packed)[GRID_ROWS]) {
    const GridLayout g = layout;
    const GridPoint* moved = b.moved + chunk.begin + chunk.first;
    GridPoint p[GRID_ROWS];
    GRID_LOOP(h) {
        p[h] = {real(0), real(0), real(0), 0};
        if (chunk.has(h)) p[h] = moved[32 * h];
    }
    GRID_LOOP(h) {
        if (chunk.has(h)) memory.points[chunk.position(h)] = p[h];
    }
    GRID_LOOP(h) packed[h] = 0;
    if (b.groups) {
        GRID_LOOP(h) packed[h] = chunk.has(h) ? b.groups[p[h].index] : 0;
    }
    GRID_LOOP(h) {
        const int place = grid_point_place(g, {p[h].x, p[h].y, p[h].z}, packed[h]) - first;
        packed[h] = chunk.has(h) ? place << GRID_INDEX_BITS | chunk.position(h) : 0;
    }
}

// By two passes, each over half of the bits of a place: memory.source.
SIM_INLINE void grid_order_twice(Lanes& lanes, const GridChunk& chunk, int (&packed)[GRID_ROWS], int places,
                                 const GridOrder& memory) {
    int bits = 1, row[GRID_ROWS];
    while (1 << 2 * bits < places) ++bits;
    SIM_ROLLED for (int shift = GRID_INDEX_BITS; shift <= GRID_INDEX_BITS + bits; shift += bits) {
        GRID_LOOP(h) row[h] = ((packed[h] >> shift) & ((1 << bits) - 1)) << GRID_PLACE_BITS;
        grid_places<GRID_HALF_BITS>(lanes, chunk, 1 << bits, memory.counts, row);
        lanes.sync();
        GRID_LOOP(h) {
            if (chunk.has(h)) memory.slots[grid_row_place(row[h])] = packed[h];
        }
        lanes.sync();
        GRID_LOOP(h) packed[h] = chunk.has(h) ? memory.slots[chunk.position(h)] : 0;
        lanes.sync();
    }
    GRID_LOOP(h) {
        if (chunk.has(h)) memory.source[chunk.position(h)] = (unsigned short)(packed[h] & ((1 << GRID_INDEX_BITS) - 1));
    }
    lanes.sync();
}

// memory.source of a chunk. Calls each(place, first in the chunk) for every place where one pass does.
template <class Each>
SIM_INLINE void grid_chunk_order(Lanes& lanes, const GridChunk& known, int (&packed)[GRID_ROWS], int places,
                                 int digit_bits, const GridOrder& memory, Each each) {
    if (places > 1 << digit_bits) {
        grid_order_twice(lanes, known, packed, places, memory);
        return;
    }
    GRID_LOOP(h) packed[h] = packed[h] >> GRID_INDEX_BITS << GRID_PLACE_BITS;
    grid_places<GRID_DIGIT_BITS>(lanes, known, places, memory.counts, packed);
    for_lanes(place, 0, places) each(place, int(memory.counts[place]));
    lanes.sync();
    const GridChunk chunk = known.anew();
    GRID_LOOP(h) {
        if (chunk.has(h)) memory.source[grid_row_place(packed[h])] = (unsigned short)chunk.position(h);
    }
    lanes.sync();
}

// Writes the points in the order memory.source, whose row h goes to target(h) from `begin` on.
template <class Target>
SIM_INLINE void grid_write_points(Lanes& lanes, const GridBuild& b, const GridChunk& known, const GridOrder& memory,
                                  int begin, Target target) {
    const GridChunk chunk = known.anew();
    GridPoint p[GRID_ROWS];
    GRID_LOOP(h) {
        p[h] = {real(0), real(0), real(0), 0};
        if (chunk.has_slot(h)) p[h] = memory.points[memory.source[chunk.slot(h)]];
    }
    GRID_LOOP(h) {
        if (chunk.has_slot(h)) grid_store(b, begin + target(h), {p[h].x, p[h].y, p[h].z}, p[h].index);
    }
    lanes.sync();
}

// A chunk of a bucket that is larger than a chunk: its points go behind those of earlier chunks, place by place.
SIM_INLINE void grid_write_part(Lanes& lanes, const GridLayout& layout, const GridBuild& b, const GridChunk& chunk,
                                const GridOrder& memory, int begin, int first) {
    const GridLayout g = layout;
    const unsigned short* places = memory.place;
    for_lanes(i, 0, chunk.size) {
        const GridPoint& p = memory.points[memory.source[i]];
        const int place = grid_point_place(g, {p.x, p.y, p.z}, b.groups ? b.groups[p.index] : 0) - first;
        memory.place[i] = (unsigned short)place;
    }
    lanes.sync();
    for_lanes(i, 0, chunk.size) {
        if (i == 0 || places[i - 1] != places[i]) memory.first[places[i]] = (unsigned short)i;
    }
    lanes.sync();
    int target[GRID_ROWS];
    GRID_LOOP(h) {
        const int i = chunk.slot(h);
        target[h] = chunk.has_slot(h) ? memory.next[places[i]] + i - memory.first[places[i]] : 0;
    }
    lanes.sync();
    for_lanes(i, 0, chunk.size) {
        const int place = places[i];
        if (i == chunk.size - 1 || places[i + 1] != place) memory.next[place] += i + 1 - memory.first[place];
    }
    lanes.sync();
    grid_write_points(lanes, b, chunk, memory, begin, [&](int h) { return target[h]; });
}

SIM_INLINE void grid_count_places(const GridChunk& known, const int (&packed)[GRID_ROWS], int* counts) {
    const GridChunk chunk = known.anew();
    GRID_LOOP(h) {
        if (chunk.has(h)) atomicAdd(counts + (packed[h] >> GRID_INDEX_BITS), 1);
    }
}

SIM_INLINE void grid_clear(Lanes& lanes, int* numbers, int count) {
    for_lanes(k, 0, count) numbers[k] = 0;
    lanes.sync();
}

// A bucket of several chunks, read twice.
SIM_INLINE void grid_order_parts(Lanes& lanes, const GridLayout& g, const GridBuild& b, int begin, int end, int rows,
                                 int first, int places, const GridOrder& memory) {
    int packed[GRID_ROWS];
    grid_clear(lanes, memory.next, places);
    SIM_ROLLED for (int at = begin; at < end; at += rows * SIM_LANES) {
        const GridChunk chunk(at, end, rows);
        grid_load_bucket(g, b, chunk, first, memory, packed);
        grid_count_places(chunk, packed, memory.next);
        lanes.sync();
    }
    grid_starts(lanes, b, begin, first, places, memory.next);
    SIM_ROLLED for (int at = begin; at < end; at += rows * SIM_LANES) {
        const GridChunk chunk(at, end, rows);
        grid_load_bucket(g, b, chunk, first, memory, packed);
        grid_chunk_order(lanes, chunk, packed, places, b.digit_bits, memory, [](int, int) {});
        grid_write_part(lanes, g, b, chunk, memory, begin, first);
    }
}

SIM_INLINE void grid_order_bucket(Lanes& lanes, const GridLayout& g, const GridBuild& b, int slot, int rows, int first,
                                  int places, char* scratch) {
    const GridOrder memory(scratch, rows, places);
    const int begin = b.bucket_start[slot], end = b.bucket_start[slot + 1];
    const int after = grid_bucket_after(b, slot);
    const int after_begin = b.bucket_start[after], after_end = b.bucket_start[after + 1];
    if (end - begin > rows * SIM_LANES) {
        grid_order_parts(lanes, g, b, begin, end, rows, first, places, memory);
        return;
    }
    const GridChunk chunk(begin, end, rows);
    int packed[GRID_ROWS];
    grid_load_bucket(g, b, chunk, first, memory, packed);
    if (after > slot) grid_ask(b.moved + after_begin, b.moved + after_end);
    if (places > 1 << b.digit_bits) {
        grid_clear(lanes, memory.next, places);
        grid_count_places(chunk, packed, memory.next);
        lanes.sync();
        grid_starts(lanes, b, begin, first, places, memory.next);
    }
    grid_chunk_order(lanes, chunk, packed, places, b.digit_bits, memory,
                     [&](int place, int start) { b.starts[first + place] = begin + start; });
    grid_write_points(lanes, b, chunk, memory, begin, [&](int h) { return chunk.slot(h); });
}
