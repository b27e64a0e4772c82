// A group of lanes that works one world together.
//
//     for_each_world(worlds, scratch, [&](Lanes& lanes, int slot, GroupMemory memory) { ... });
//
// calls the body once for each slot 0 .. worlds-1, in every lane of the group that the slot falls to; `memory` is the
// group's scratch, holding anything (a body without a use for the spill takes a char*). Inside:
//
//     lanes.lane(), lanes.count()
//     lanes.sync()                    what the lanes wrote before is seen by all of them after
//     lanes.keep_step()               waits for the other groups of the block on a GPU, which then share the fetching
//                                     of instructions: faster, and without an effect on any value
//     lanes.keep_step(active)         likewise, for loops of unequal length: is any of these groups still active?
//     lanes.any(p)                    is p true in some lane?
//     lanes.broadcast(value, lane)    the value of one lane
//     lanes.best(value, before)       of the lanes' values the one that before(a, b) puts before all others; values
//                                     that it does not order are the same
//     lanes.max_over(n, term)         largest term(i), i < n, int or real; NaN if one is; the least number if n = 0
//     lanes.scan(n, term)             sum of the int term(i)
//     lanes.scan(n, term, each)       likewise; some lane calls each(i, sum of the terms before i), once for each i
//     lanes.sum_over(n, term)         sum of the real (or RealPair: two sums at once) term(i) ...
//     lanes.sum_over(n, term, m, other, ...)     ... and of further ranges
//     list_wanted(lanes, n, wanted, each)        calls each(i, number) for the i that are wanted, numbered in order
//
// and for_lanes(i, begin, end) { ... } is the loop over this lane's share of begin .. end-1.
//
// All lanes must come to the same calls in the same order. Terms are to be pure; the lanes evaluate them before they
// meet. So a term may read what other lanes wrote only after a sync(), and what was written before a collective may be
// read after it. `each` may write what no term of the same scan reads; its writes need a sync().
//
// keep_step() is a barrier of the whole block (__syncthreads). In each world every lane of every group must come to it
// equally often and in the same order, and while (lanes.keep_step(active)) counts as one such call, whatever the number
// of its rounds: its condition is that call alone, and a group that is done goes on round it, doing nothing. So no call
// stands under a condition, in another loop or behind a return that depends on the world. The emulation counts: it ends
// the process where the lanes of a group, or worlds that follow one another, differ.
//
// No result depends on the number of lanes. The shape of sum_over: partial p, of 32, adds term(p), term(p + 32), ... in
// order, of the first range, then of the next; then p += p + 16, p + 8, p + 4, p + 2, p + 1. A partial begins at -0,
// which adds nothing, so that what is known to be empty costs nothing.
#pragma once

#include "numeric.h"

inline constexpr int SUM_PARTIALS = 32;

// Not unrolled on a GPU: the length of the code costs more time there than the loop.
#define for_lanes(i, begin, end) SIM_ROLLED for (int i = (begin) + lanes.lane(); i < (end); i += lanes.count())

#ifdef SIM_GPU
#define SIM_AHEAD _Pragma("unroll")
#else
#define SIM_AHEAD _Pragma("GCC unroll 8")
#endif

// Memory of a group: Scratch::stride bytes that are fast, and Scratch::spill_stride bytes for what is seldom touched.
struct GroupMemory {
    char* fast;
    char* slow;
    SIM_INLINE operator char*() const { return fast; }
};

// The group's fast memory as a struct, for kernels whose groups need little of it: on every GPU it is shared memory,
// which the compiler is told (the runtime takes global memory only for what does not fit).
template <class T>
SIM_INLINE T& small_memory(char* fast) {
#ifdef SIM_GPU
    __builtin_assume(__isShared(fast));
#endif
    return *(T*)fast;
}

// One lane by itself, for work that a group may share.
struct LoneLane {
    SIM_INLINE static constexpr int lane() { return 0; }
    SIM_INLINE static constexpr int count() { return 1; }
    SIM_INLINE bool any(bool p) { return p; }

    template <class T, class Before>
    SIM_INLINE T best(const T& value, Before) {
        return value;
    }
};

// Order for max_over that gives one answer in any order of the arguments: NaN above all, 0 for both zeros.
SIM_INLINE int larger(int a, int b) { return b > a ? b : a; }
SIM_INLINE float larger(float a, float b) { return a != a ? a : b != b || b > a ? b : a; }
SIM_INLINE double larger(double a, double b) { return a != a ? a : b != b || b > a ? b : a; }
SIM_INLINE int unsigned_zero(int x) { return x; }
SIM_INLINE float unsigned_zero(float x) { return canonical(x) + 0.0f; }
SIM_INLINE double unsigned_zero(double x) { return canonical(x) + 0.0; }

template <class T> SIM_INLINE T least();
template <> SIM_INLINE int least<int>() { return -2147483647 - 1; }
template <> SIM_INLINE float least<float>() { return -infinity<float>(); }
template <> SIM_INLINE double least<double>() { return -infinity<double>(); }

// largest term of one lane's share
template <class Term>
SIM_INLINE auto largest_of_share(int lane, int count, int n, Term term) -> decltype(term(0)) {
    auto result = least<decltype(term(0))>();
    for (int i = lane; i < n; i += count) result = larger(result, term(i));
    return result;
}

// Two sums at once: what a term of sum_over may return instead of a real.
struct RealPair {
    real first, second;
    SIM_INLINE void operator+=(const RealPair& other) {
        first += other.first;
        second += other.second;
    }
};

template <class T> SIM_INLINE T empty_sum();
template <> SIM_INLINE real empty_sum<real>() { return real(-0.0); }
template <> SIM_INLINE RealPair empty_sum<RealPair>() { return {real(-0.0), real(-0.0)}; }

// the sum by one lane: partials are terms i % 32, then the tree
template <class T, class Term>
SIM_INLINE void begin_partials(T* partial, int n, Term term) {
    const int first = n < SUM_PARTIALS ? n : SUM_PARTIALS;
    for (int i = 0; i < first; ++i) partial[i] = term(i);
    for (int i = first; i < SUM_PARTIALS; ++i) partial[i] = empty_sum<T>();
    for (int i = SUM_PARTIALS; i < n; ++i) partial[unsigned(i) % SUM_PARTIALS] += term(i);
}

template <class T>
SIM_INLINE void add_terms(T*) {}

template <class T, class Term>
SIM_INLINE void add_terms(T* partial, int n, Term term) {
    for (int i = 0; i < n; ++i) partial[unsigned(i) % SUM_PARTIALS] += term(i);
}

template <class T, class Term, class... Ranges>
SIM_INLINE void add_terms(T* partial, int n, Term term, int m, Ranges... ranges) {
    add_terms(partial, n, term);
    add_terms(partial, m, ranges...);
}

template <class T>
SIM_INLINE T sum_of_partials(T* partial) {
    for (int offset = SUM_PARTIALS / 2; offset > 0; offset /= 2)
        for (int p = 0; p < offset; ++p) partial[p] += partial[p + offset];
    return partial[0];
}

template <class Term, class... Ranges>
SIM_INLINE auto sum_by_one_lane(int n, Term term, Ranges... ranges) {
    using T = decltype(term(0));
    T partial[SUM_PARTIALS];
    begin_partials(partial, n, term);
    add_terms(partial, ranges...);
    return sum_of_partials(partial);
}

#if defined(SIM_GPU)
#include "lanes_gpu.h"
#elif defined(SIM_EMULATED)
#include "lanes_emulated.h"
#else
#include "lanes_single.h"
#endif

// for_lanes in rounds of N items: what load(i) reads of all of them is under way before use(i, loaded) takes the first.
template <int N, class Load, class Use>
SIM_INLINE void for_lanes_ahead(Lanes& lanes, int begin, int end, Load load, Use use) {
    for (int first = begin + lanes.lane(); first < end; first += N * lanes.count()) {
        decltype(load(0)) loaded[N];
        SIM_AHEAD
        for (int k = 0; k < N; ++k) {
            const int i = first + k * lanes.count();
            loaded[k] = load(i < end ? i : first);
        }
        SIM_AHEAD
        for (int k = 0; k < N; ++k) {
            const int i = first + k * lanes.count();
            if (k == 0 || i < end) use(i, loaded[k]);  // the first is within: else its load might wait for the others
        }
    }
}

// Calls each(i, how many before i are wanted) for each i < n for which wanted(i), a pure function that reads nothing
// that `each` writes; returns how many there are. All lanes come to it; what `each` wrote needs a sync().
template <class Wanted, class Each>
SIM_INLINE int list_wanted(Lanes& lanes, int n, Wanted wanted, Each each) {
#if defined(SIM_GPU) && SIM_LANES <= 32
    int total = 0;
    SIM_ROLLED
    for (int base = 0; base < n; base += SIM_LANES) {
        const int i = base + lanes.lane();
        const bool is_wanted = i < n && wanted(i);
        const unsigned bits = lanes.ballot(is_wanted);
        if (is_wanted) each(i, total + __popc(bits & ((1u << lanes.lane()) - 1u)));
        total += __popc(bits);
    }
    return total;
#else
    if (lanes.count() == 1) {
        int total = 0;
        for (int i = 0; i < n; ++i)
            if (wanted(i)) each(i, total++);
        return total;
    }
    return lanes.scan(
        n, [&](int i) { return int(wanted(i)); },
        [&](int i, int before) {
            if (wanted(i)) each(i, before);
        });
#endif
}

// The same of what load(i) reads, for wanted(i, loaded): N items of each lane are loaded before the first is looked at.
template <int N, class Load, class Wanted, class Each>
SIM_INLINE int list_wanted_ahead(Lanes& lanes, int n, Load load, Wanted wanted, Each each) {
#if defined(SIM_GPU) && SIM_LANES <= 32
    int total = 0;
    SIM_ROLLED
    for (int base = 0; base < n; base += N * SIM_LANES) {
        decltype(load(0)) loaded[N];
        SIM_AHEAD
        for (int k = 0; k < N; ++k) {
            const int i = base + k * SIM_LANES + lanes.lane();
            loaded[k] = load(i < n ? i : n - 1);
        }
        SIM_AHEAD
        for (int k = 0; k < N; ++k) {
            const int i = base + k * SIM_LANES + lanes.lane();
            const bool is_wanted = i < n && wanted(i, loaded[k]);
            const unsigned bits = lanes.ballot(is_wanted);
            if (is_wanted) each(i, total + __popc(bits & ((1u << lanes.lane()) - 1u)));
            total += __popc(bits);
        }
    }
    return total;
#else
    return list_wanted(lanes, n, [&](int i) { return wanted(i, load(i)); }, each);
#endif
}
