// Loops over long arrays by a group of lanes, HELD numbers a lane at a time: all are asked for before the first is
// used, so that their ways from memory overlap.
//
//     for_held(lanes, begin, end, [&](int base) { HELD_LOOP(h) ... });
//
// Element h of a lane is held_index(), lanes side by side, as memory likes it; it may lie beyond the end.
#pragma once

#include "lanes.h"

inline constexpr int HELD = 16;

#ifdef SIM_GPU
#define HELD_LOOP(h) _Pragma("unroll") for (int h = 0; h < HELD; ++h)
#else
#define HELD_LOOP(h) for (int h = 0; h < HELD; ++h)
#endif

template <class Body>
SIM_INLINE void for_held(Lanes& lanes, int begin, int end, Body body) {
    SIM_ROLLED for (int base = begin; base < end; base += HELD * lanes.count()) body(base);
}

SIM_INLINE int held_index(const Lanes& lanes, int base, int h) { return base + h * lanes.count() + lanes.lane(); }

// Each term becomes `before` plus the sum of the terms at lesser indices; returns the sum of all, `before` included.
SIM_INLINE int scan_held(Lanes& lanes, int before, int (&term)[HELD]) {
    HELD_LOOP(h) {
        const int value = term[h];
        const auto keep = [&](int, int earlier) { term[h] = before + earlier; };
        before += lanes.scan(lanes.count(), [&](int) { return value; }, keep);
    }
    return before;
}
