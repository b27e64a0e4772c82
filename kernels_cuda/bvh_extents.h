// Extents of many points by a group of lanes: each lane over its share, then all lanes together.
#pragma once

#include "lanes.h"
#include "vector.h"

inline constexpr int EXTENTS_SCRATCH = 32 * 7;  // reals of a group's memory, of up to 32 lanes; as many ints follow

struct Extents {
    vec3 low, high;
    int bad;  // the least index of what could not be taken in, or what stands for none

    SIM_INLINE void add(vec3 from, vec3 to) {
        low = minimum(low, from);
        high = maximum(high, to);
    }
    SIM_INLINE void add_bad(int index) { bad = index < bad ? index : bad; }
};

// The extents of all lanes together, in all of them.
SIM_INLINE Extents extents_of_lanes(Lanes& lanes, const Extents& mine, char* memory) {
    real* corners = (real*)memory;
    int* bad = (int*)(corners + EXTENTS_SCRATCH);
    store_vec3(corners + 7 * lanes.lane(), -mine.low);
    store_vec3(corners + 7 * lanes.lane() + 3, mine.high);
    bad[lanes.lane()] = mine.bad;
    lanes.sync();
    real most[6];
    for (int a = 0; a < 6; ++a)
        most[a] = lanes.max_over(lanes.count(), [&](int lane) { return corners[7 * lane + a]; });
    const int first = -lanes.max_over(lanes.count(), [&](int lane) { return -bad[lane]; });
    lanes.sync();
    return {{-most[0], -most[1], -most[2]}, {most[3], most[4], most[5]}, first};
}

SIM_INLINE Extents no_extents(int none) {
    return {{REAL_MAX, REAL_MAX, REAL_MAX}, {-REAL_MAX, -REAL_MAX, -REAL_MAX}, none};
}

// The extents of what take(extents, i) adds for all i below `size`. Nothing added: low is above high.
template <class Take>
SIM_INLINE Extents extents_of(Lanes& lanes, int size, int none, char* memory, Take take) {
    Extents mine = no_extents(none);
    for_lanes(i, 0, size) take(mine, i);
    return extents_of_lanes(lanes, mine, memory);
}

// Likewise of what take(extents, load(i)) adds, where loads of several items are under way at once.
template <class Load, class Take>
SIM_INLINE Extents extents_of(Lanes& lanes, int size, int none, char* memory, Load load, Take take) {
    Extents mine = no_extents(none);
    for_lanes_ahead<8>(lanes, 0, size, load, [&](int, const decltype(load(0))& loaded) { take(mine, loaded); });
    return extents_of_lanes(lanes, mine, memory);
}

SIM_INLINE void store_extents(real* out, const Extents& e) {
    store_vec3(out, e.low);
    store_vec3(out + 3, e.high);
}
