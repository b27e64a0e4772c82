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

// What the scattering of chunks tells of the order within each: where each bucket begins.
struct GridTable {
    unsigned short* starts;   // (chunks, four for every word)
    int words;                // of four buckets
    int chunks, points, all;  // all points, and those of a chunk

    SIM_INLINE explicit GridTable(const GridBuild& b)
        : starts((unsigned short*)b.table),
          words((b.buckets + 3) / 4),
          chunks(b.tiles),
          points((b.n - 1) / b.tiles + 1),
          all(b.n) {}

    SIM_INLINE int begin(int chunk) const {
        const int64 from = int64(chunk) * points;
        return from < all ? int(from) : all;
    }

    // Where a bucket, or what follows the last, begins in the chunk.
    SIM_INLINE int start(int chunk, int bucket) const {
        if (bucket == 4 * words) return begin(chunk + 1) - begin(chunk);
        return starts[(int64(chunk) * words) * 4 + bucket];
    }
};

// Shared memory of a block that scatters.
struct GridStage {
    GridPoint* points;       // (rows * SIM_LANES)
    unsigned short* counts;  // (GRID_WARPS, buckets + 3)

    SIM_INLINE GridStage(char* memory, int rows)
        : points(&small_memory<GridPoint>(memory)), counts((unsigned short*)(points + rows * SIM_LANES)) {}
};

SIM_INLINE void grid_store_counts(Lanes& lanes, const GridBuild& b, const GridTable& table, int number, int size,
                                  const unsigned short* counts) {
    GridFour* row = (GridFour*)table.starts + int64(number) * table.words;
    for_lanes(w, 0, table.words) row[w] = ((const GridFour*)counts)[w];
    for_lanes(k, 0, b.buckets) {
        const int start = counts[k], end = k + 1 < b.buckets ? counts[k + 1] : size;
        if (end > start) atomicAdd(b.totals + k, end - start);
    }
}

#if __CUDA_ARCH__ >= 900
// The points of a chunk go to b.moved by themselves; their memory must not be written before grid_wait_sent().
SIM_INLINE void grid_send(Lanes& lanes, const GridBuild& b, const GridChunk& chunk, const GridPoint* points) {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    lanes.sync();
    if (lanes.lane() != 0 || chunk.size == 0) return;
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;\ncp.async.bulk.commit_group;" ::"l"(
                     b.moved + chunk.begin),
                 "r"(unsigned(__cvta_generic_to_shared(points))), "r"(chunk.size * int(sizeof(GridPoint)))
                 : "memory");
}

SIM_INLINE void grid_wait_sent(Lanes& lanes) {
    if (lanes.lane() == 0) asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
    lanes.sync();
}
#else
SIM_INLINE void grid_send(Lanes& lanes, const GridBuild& b, const GridChunk& known, const GridPoint* points) {
    lanes.sync();
    const GridChunk chunk = known.anew();
    GridPoint moved[GRID_ROWS];
    GRID_LOOP(h) {
        moved[h] = {real(0), real(0), real(0), 0};
        if (chunk.has_slot(h)) moved[h] = points[chunk.slot(h)];
    }
    GRID_LOOP(h) {
        if (chunk.has_slot(h)) b.moved[chunk.begin + chunk.slot(h)] = moved[h];
    }
}

SIM_INLINE void grid_wait_sent(Lanes& lanes) { lanes.sync(); }
#endif

// The points of a chunk in the order of their buckets, in the chunk's own place; `after` is the chunk that follows.
SIM_INLINE void grid_scatter_chunk(Lanes& lanes, const GridLayout& g, const GridBuild& b, const GridTable& table,
                                   int number, int after, int rows, const GridStage& stage) {
    const GridChunk chunk(table.begin(number), table.begin(number + 1), rows);
    vec3 p[GRID_ROWS];
    int row[GRID_ROWS];
    grid_load(g, b, chunk, p, row);
    GRID_LOOP(h) row[h] <<= GRID_PLACE_BITS;
    if (after < table.chunks) grid_ask(b.points + 3LL * table.begin(after), b.points + 3LL * table.begin(after + 1));
    grid_places<GRID_DIGIT_BITS>(lanes, chunk, b.buckets, stage.counts, row);
    grid_store_counts(lanes, b, table, number, chunk.size, stage.counts);
    grid_wait_sent(lanes);
    const GridChunk known = chunk.anew();
    GRID_LOOP(h) {
        const GridPoint point = {p[h].x, p[h].y, p[h].z, chunk.begin + chunk.position(h)};
        if (known.has(h)) stage.points[grid_row_place(row[h])] = point;
    }
    grid_send(lanes, b, chunk, stage.points);
}

SIM_INLINE void grid_scatter_tiles(Lanes& lanes, const GridLayout& g, const GridBuild& b, int slot, int slots, int rows,
                                   char* memory) {
    const GridStage stage(memory, rows);
    const GridTable table(b);
    SIM_ROLLED for (int number = slot; number < b.tiles; number += slots)
        grid_scatter_chunk(lanes, g, b, table, number, number + slots, rows, stage);
    grid_wait_sent(lanes);
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

    // Which points of a chunk begin a run of neighbours in b.moved, as bits; and for these what is to be added to a
    // position from there on to have its place in b.moved. In the memory of source and slots.
    SIM_INLINE unsigned* heads() const { return (unsigned*)source; }
    SIM_INLINE int* shifts() const { return slots; }
};

// Where the search for the points of a part of a bucket begins: `before` of them are in the chunks before `base`.
struct GridCursor {
    int base, before;
};

inline constexpr int GRID_RUNS = 4;  // of chunks that a lane looks at in one go
static_assert(1 << GRID_DIGIT_BITS <= GRID_RUNS * SIM_LANES, "a lane has as many buckets");

// Finds the points at .. at + size - 1 of a bucket: memory.heads() and shifts().
SIM_INLINE void grid_find_runs(Lanes& lanes, const GridTable& table, int bucket, int at, int size, GridCursor& cursor,
                               const GridOrder& memory) {
    unsigned* heads = memory.heads();
    for_lanes(i, 0, GRID_ROWS * GRID_WARPS) heads[i] = 0;
    lanes.sync();
    int before = cursor.before;
    SIM_ROLLED for (int base = cursor.base; base < table.chunks && before < at + size; base += GRID_RUNS * SIM_LANES) {
        int start[GRID_RUNS], count[GRID_RUNS], own = 0;
        GRID_LOOP_TO(k, GRID_RUNS) {
            const int chunk = base + GRID_RUNS * lanes.lane() + k;
            start[k] = chunk < table.chunks ? table.start(chunk, bucket) : 0;
            count[k] = chunk < table.chunks ? table.start(chunk, bucket + 1) : 0;
        }
        GRID_LOOP_TO(k, GRID_RUNS) own += count[k] -= start[k];
        int position = 0;
        cursor = {base, before};
        before += lanes.scan(SIM_LANES, [&](int) { return own; }, [&](int, int earlier) { position = earlier; });
        position += cursor.before - at;
        GRID_LOOP_TO(k, GRID_RUNS) {
            const int head = position > 0 ? position : 0, end = position + count[k];
            if (head < end && head < size) {
                atomicOr(heads + head / 32, 1u << head % 32);
                memory.shifts()[head] = table.begin(base + GRID_RUNS * lanes.lane() + k) + start[k] - position;
            }
            position = end;
        }
    }
    lanes.sync();
}

// The last of the heads before a word of them.
SIM_INLINE int grid_head_before(const unsigned* heads, int word) {
    const int lane = int(threadIdx.x % 32);
    int head = 0;
    SIM_ROLLED for (int from = word - 32; from > -32; from -= 32) {
        const unsigned bits = from + lane >= 0 ? heads[from + lane] : 0;
        const unsigned some = __ballot_sync(0xffffffffu, bits != 0);
        if (some == 0) continue;
        const int last = 31 - __clz(int(some));
        head = 32 * (from + last) + 31 - __clz(int(__shfl_sync(0xffffffffu, bits, last)));
        break;
    }
    return head;
}

// Where the points of this lane are in b.moved.
SIM_INLINE void grid_sources(const GridChunk& chunk, const GridOrder& memory, int (&source)[GRID_ROWS]) {
    const unsigned* heads = memory.heads();
    const unsigned lane = threadIdx.x % 32u, upto = (2u << lane) - 1u;
    const int word = (chunk.first - int(lane)) / 32;
    int head = grid_head_before(heads, word);
    GRID_LOOP(h) source[h] = int(heads[word + h]);
    GRID_LOOP(h) {
        const unsigned bits = unsigned(source[h]);
        const int last = 32 * (word + h) + 31;
        source[h] = bits & upto ? last - __clz(int(bits & upto)) : head;
        head = bits ? last - __clz(int(bits)) : head;
    }
    GRID_LOOP(h) source[h] = memory.shifts()[source[h]];  // beyond the chunk: of any head
    GRID_LOOP(h) source[h] += chunk.position(h);
}

// A warp's share of the points that multiprocessors most likely take next: the buckets of a whole round of them lie
// side by side in each chunk.
struct GridAsk {
    int from, to;

    SIM_INLINE GridAsk(const GridBuild& b, const GridTable& table, int slot) : from(0), to(0) {
        int processors;
        asm("mov.u32 %0, %%nsmid;" : "=r"(processors));
        const int first = (slot / processors + 1) * processors;
        const int last = first + processors < b.buckets ? first + processors : b.buckets;
        const int chunk = slot % processors + processors * int(threadIdx.x / 32);
        if (first >= b.buckets || chunk >= table.chunks) return;
        from = table.begin(chunk) + table.start(chunk, first);
        to = table.begin(chunk) + table.start(chunk, last);
    }

    SIM_INLINE void operator()(const GridBuild& b) const {
        constexpr int LINE = 128 / sizeof(GridPoint);
        SIM_ROLLED for (int i = from + LINE * int(threadIdx.x % 32); i < to;
                        i += LINE * 32) asm volatile("prefetch.global.L2 [%0];" ::"l"(b.moved + i));
    }
};

// Copies a point to shared memory, where grid_wait_brought() lets the lane that asked for it see it.
SIM_INLINE void grid_bring(const GridPoint& from, GridPoint& to) {
#if __CUDA_ARCH__ >= 800
    const unsigned at = unsigned(__cvta_generic_to_shared(&to));
#pragma unroll
    for (unsigned k = 0; k < sizeof(GridPoint); k += 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at + k), "l"((const char*)&from + k) : "memory");
#else
    to = from;
#endif
}

SIM_INLINE void grid_wait_brought() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

// Asks for the points of a chunk of a bucket, whose runs are in memory.heads() and shifts().
SIM_INLINE void grid_bring_bucket(const GridBuild& b, const GridChunk& known, const GridOrder& memory) {
    int source[GRID_ROWS];
    grid_sources(known, memory, source);
    const GridChunk chunk = known.anew();
    GRID_LOOP(h) {
        if (chunk.has(h)) grid_bring(b.moved[source[h]], memory.points[chunk.position(h)]);
    }
}

// Waits for them; packed[h] becomes the place of row h in the table, from the bucket's first on, and behind it in
// GRID_INDEX_BITS its position in the chunk.
SIM_INLINE void grid_load_bucket(Lanes& lanes, const GridLayout& layout, const GridBuild& b, const GridChunk& known,
                                 int first, const GridOrder& memory, int (&packed)[GRID_ROWS]) {
    const GridLayout g = layout;
    grid_wait_brought();
    lanes.sync();
    const GridChunk chunk = known.anew();
    GRID_LOOP(h) packed[h] = 0;
    if (b.groups) {
        GRID_LOOP(h) packed[h] = chunk.has(h) ? b.groups[memory.points[chunk.position(h)].index] : 0;
    }
    GRID_LOOP(h) {
        if (!chunk.has(h)) continue;
        const GridPoint& p = memory.points[chunk.position(h)];
        const int place = grid_point_place(g, {p.x, p.y, p.z}, packed[h]) - first;
        packed[h] = place << GRID_INDEX_BITS | chunk.position(h);
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
    asm volatile("" : "+r"(begin));  // else the addresses below are kept from where `begin` is known on
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
SIM_INLINE void grid_order_parts(Lanes& lanes, const GridLayout& g, const GridBuild& b, const GridTable& table,
                                 int bucket, int begin, int size, int rows, int first, int places,
                                 const GridOrder& memory) {
    int packed[GRID_ROWS];
    GridCursor cursor = {0, 0};
    grid_clear(lanes, memory.next, places);
    SIM_ROLLED for (int at = 0; at < size; at += rows * SIM_LANES) {
        const GridChunk chunk(at, size, rows);
        grid_find_runs(lanes, table, bucket, at, chunk.size, cursor, memory);
        grid_bring_bucket(b, chunk, memory);
        grid_load_bucket(lanes, g, b, chunk, first, memory, packed);
        grid_count_places(chunk, packed, memory.next);
        lanes.sync();
    }
    grid_starts(lanes, b, begin, first, places, memory.next);
    cursor = {0, 0};
    SIM_ROLLED for (int at = 0; at < size; at += rows * SIM_LANES) {
        const GridChunk chunk(at, size, rows);
        grid_find_runs(lanes, table, bucket, at, chunk.size, cursor, memory);
        grid_bring_bucket(b, chunk, memory);
        grid_load_bucket(lanes, g, b, chunk, first, memory, packed);
        grid_chunk_order(lanes, chunk, packed, places, b.digit_bits, memory, [](int, int) {});
        grid_write_part(lanes, g, b, chunk, memory, begin, first);
    }
}

// Points of this lane's share of the buckets before one.
SIM_INLINE int grid_points_before(Lanes& lanes, const GridBuild& b, int bucket) {
    int total[GRID_RUNS], sum = 0;
    GRID_LOOP_TO(k, GRID_RUNS) {
        const int i = k * SIM_LANES + lanes.lane();
        total[k] = i < bucket ? b.totals[i] : 0;
    }
    GRID_LOOP_TO(k, GRID_RUNS) sum += total[k];
    return sum;
}

SIM_INLINE void grid_order_bucket(Lanes& lanes, const GridLayout& g, const GridBuild& b, int slot, int rows, int first,
                                  int places, char* scratch) {
    const GridOrder memory(scratch, rows, places);
    const GridTable table(b);
    const int size = b.totals[slot], share = grid_points_before(lanes, b, slot);
    const GridAsk ask(b, table, slot);
    if (size > rows * SIM_LANES) {
        const int begin = lanes.scan(SIM_LANES, [&](int) { return share; }, [](int, int) {});
        grid_order_parts(lanes, g, b, table, slot, begin, size, rows, first, places, memory);
        return;
    }
    const GridChunk chunk(0, size, rows);
    int packed[GRID_ROWS];
    GridCursor cursor = {0, 0};
    grid_find_runs(lanes, table, slot, 0, size, cursor, memory);
    const int begin = lanes.scan(SIM_LANES, [&](int) { return share; }, [](int, int) {});
    grid_bring_bucket(b, chunk, memory);
    ask(b);
    grid_load_bucket(lanes, g, b, chunk, first, memory, packed);
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
