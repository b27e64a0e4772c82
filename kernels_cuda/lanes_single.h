// Lanes on the CPU: one lane.
#pragma once

#include "lanes.h"

class Lanes {
public:
    SIM_INLINE static constexpr int lane() { return 0; }
    SIM_INLINE static constexpr int count() { return 1; }
    SIM_INLINE void keep_step() {}
    SIM_INLINE bool keep_step(bool active) { return active; }
    SIM_INLINE void sync() {}
    SIM_INLINE bool any(bool p) { return p; }

    template <class T>
    SIM_INLINE T broadcast(T value, int) {
        return value;
    }

    template <class T, class Before>
    SIM_INLINE T best(const T& value, Before) {
        return value;
    }

    template <class Term>
    SIM_INLINE auto max_over(int n, Term term) {
        return unsigned_zero(largest_of_share(0, 1, n, term));
    }

    template <class Term, class Each>
    SIM_INLINE int scan(int n, Term term, Each each) {
        int total = 0;
        for (int i = 0; i < n; ++i) {
            const int value = term(i);
            each(i, total);
            total += value;
        }
        return total;
    }

    template <class Term>
    SIM_INLINE int scan(int n, Term term) {
        int total = 0;
        for (int i = 0; i < n; ++i) total += term(i);
        return total;
    }

    template <class... Ranges>
    SIM_INLINE auto sum_over(int n, Ranges... ranges) {
        return sum_by_one_lane(n, ranges...);
    }
};

template <class Body>
SIM_INLINE void for_each_world(int worlds, const Scratch& scratch, Body body) {
    const GroupMemory memory = {sim_launch->scratch, sim_launch->scratch + scratch.stride};
    Lanes lanes;
    const int end = sim_chunk_end(worlds);
    for (int slot = sim_chunk_begin(worlds); slot < end; ++slot) {
        if (sim_launch->poison)
            __builtin_memset(memory.fast, 0xff, (unsigned long)(scratch.stride + scratch.spill_stride));
        body(lanes, slot, memory);
    }
}
