// Bits of whole numbers.
#pragma once

#include "platform.h"

// The place of the lowest bit that is set; there must be one.
SIM_INLINE int lowest_bit(uint32 bits) {
#ifdef SIM_GPU
    return __ffs(int(bits)) - 1;
#else
    return __builtin_ctz(bits);
#endif
}

SIM_INLINE int lowest_bit(uint64 bits) {
#ifdef SIM_GPU
    return __ffsll((long long)bits) - 1;
#else
    return __builtin_ctzll(bits);
#endif
}

// How many bits are set.
SIM_INLINE int bit_count(uint32 bits) {
#ifdef SIM_GPU
    return __popc(bits);
#else
    return __builtin_popcount(bits);
#endif
}
